"""Distances between subspace clusterings that count pairs of cells.

After A. Patrikainen, *Methods for Comparing Subspace Clusterings* (licentiate's thesis, Helsinki
University of Technology, 2005), §4.3.2 and chapter 7; see also doi:10.1109/TKDE.2006.106.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from subscape.core.errors import UnsupportedKindError

from .distances import require_comparable
from .overlap import Overlap, matching_pair, overlap_of


def rand_distance(a: Any, b: Any) -> float:
    """1 − Rand index over pairs of cells, for disjoint axis-aligned clusterings.

    Cells that only one side covers are singleton clusters of the other (thesis §4.3.2, eq. A.3).
    The counts are exact integers.

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
        Hard, disjoint and axis-aligned.

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    four_class_rand_distance : With four classes of pairs.
    label_rand_distance : Rows alone.

    Examples
    --------
    >>> from subscape.measures import rand_distance
    >>> round(rand_distance([0, 0, 1, 1], [0, 0, 0, 1]), 4)
    0.5
    """
    counts = cell_pair_counts(a, b)
    return (counts.n10 + counts.n01) / max(1, sum(counts))


class CellPairCounts(NamedTuple):
    """Pairs of cells of the union: together in both, in the first only, second only, neither.

    See Also
    --------
    cell_pair_counts : Makes them.
    """

    n11: int
    n10: int
    n01: int
    n00: int


def cell_pair_counts(a: Any, b: Any) -> CellPairCounts:
    """Pairs of cells that both, one or neither of two disjoint axis-aligned clusterings join.

    The thesis swaps the ranges of the sums for N10 and N01 (after §3.1.2); N10 are the pairs that
    the *first* clustering joins and the second separates.

    Returns
    -------
    CellPairCounts

    See Also
    --------
    rand_distance : The distance made of them.
    pair_counts : Pairs of rows.

    Examples
    --------
    >>> from subscape.measures import cell_pair_counts
    >>> cell_pair_counts([0, 0, 1], [0, 1, 1])
    CellPairCounts(n11=0, n10=1, n01=1, n00=1)
    """
    table, total = _whole_cells(a, b, "rand_distance")
    n11 = sum(_pairs(int(t)) for t in table.table.flat)
    n10 = sum(_pairs(int(size)) for size in table.sizes_a) - n11
    n01 = sum(_pairs(int(size)) for size in table.sizes_b) - n11
    return CellPairCounts(n11, n10, n01, _pairs(total) - n11 - n10 - n01)


def four_class_rand_distance(a: Any, b: Any, *, background: bool = False) -> float:
    """1 − the four-class Rand index of the thesis' outlook (chapter 7).

    A pair of cells is in different clusters (class 0), in one cluster (1), half in the background
    (2) or in the background (3); the index is the share of pairs that both clusterings put into
    the same class. No singleton clusters are needed.

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
        Hard, disjoint and axis-aligned.
    background : bool, default=False
        Count the pairs of all cells of the table rather than of those that some side covers. Only
        so is it a metric, but the distance then shrinks with every noise row.

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    rand_distance : With two classes of pairs.

    Examples
    --------
    >>> from subscape.measures import four_class_rand_distance
    >>> round(four_class_rand_distance([0, 0, 1, -1], [0, 0, 1, 1]), 4)
    0.5
    """
    table, total = _whole_cells(a, b, "four_class_rand_distance")
    shared = round(table.intersection)
    only_a = round(table.total_a) - shared
    only_b = round(table.total_b) - shared
    outside = 0
    if background:
        a, b = matching_pair(a, b)
        outside = a.n_rows * a.n_features - total
    together = sum(_pairs(int(t)) for t in table.table.flat)
    apart = _pairs(shared) + together
    apart -= sum(_pairs(int(t)) for t in table.table.sum(axis=1))
    apart -= sum(_pairs(int(t)) for t in table.table.sum(axis=0))
    half = shared * outside + only_a * only_b
    pairs = _pairs(total + outside)
    return 1.0 - (together + apart + half + _pairs(outside)) / pairs if pairs else 0.0


def _whole_cells(a: Any, b: Any, who: str) -> tuple[Overlap, int]:
    """Overlap table in whole cells, and the number of cells in the union."""
    a, b = matching_pair(a, b)
    for side in (a, b):
        if side.kind != "axis":
            raise UnsupportedKindError(
                f"{who} counts pairs of whole cells, which a clustering with {side.kind} subspaces "
                "does not have; use clustering_error or rnia"
            )
    require_comparable([a, b], who)
    table = overlap_of(a, b)
    return table, round(table.union)


def _pairs(number: int) -> int:
    return number * (number - 1) // 2
