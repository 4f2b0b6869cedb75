"""Distances between subspace clusterings, counted in cells of the data matrix.

After A. Patrikainen, *Methods for Comparing Subspace Clusterings* (licentiate's thesis, Helsinki
University of Technology, 2005), and A. Patrikainen and M. Meila, *Comparing Subspace Clusterings*,
IEEE Transactions on Knowledge and Data Engineering 18 (2006), doi:10.1109/TKDE.2006.106. Logarithms
are natural.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy

from subscape.arrays.device.array_api import shared_namespace, tensor_twin
from subscape.arrays.device.counts import cross_table_on_device
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, UnsupportedKindError
from subscape.core.types import FloatArray, IndexArray

from .overlap import Overlap, PreparedClustering, matching_pair, overlap_of, overlap_of_sides

#: Entries of a table that is counted on a device: 1 GB.
MOST_CELLS_ON_DEVICE = 2**27


class CellScores(NamedTuple):
    """Share of the first clustering's cells that the second has too, the converse, and their mean.

    ``f1`` is the harmonic mean; the thesis' F-measure is ``geometric``.

    See Also
    --------
    cell_scores : Makes them.
    """

    precision: float
    recall: float
    f1: float
    geometric: float


class Matching(NamedTuple):
    """The best one-to-one matching of clusters: ``a[i]`` of the first goes with ``b[i]``.

    See Also
    --------
    match_clusters : Makes it.
    """

    a: IndexArray
    b: IndexArray
    shared: FloatArray

    @property
    def total(self) -> float:
        """Mass shared by the matched clusters (the thesis' D_max)."""
        return float(self.shared.sum())


def best_matching(table: FloatArray) -> Matching:
    """Matching of rows and columns that shares the most; pairs that share nothing are left out."""
    rows, columns = linear_sum_assignment(table, maximize=True)
    shared = table[rows, columns]
    kept = shared > 0
    return Matching(rows[kept], columns[kept], shared[kept])


def clustering_error(
    a: Any,
    b: Any,
    *,
    overlap: str | None = None,
    mass: str | None = None,
    row_weights: ArrayLike | None = None,
    column_weights: ArrayLike | None = None,
) -> float:
    """Clustering error (CE): share of cells not covered alike after the best matching of clusters.

    CE = (|U| − D_max) / |U| (thesis eq. 4.1), where D_max is the largest mass that a one-to-one
    matching of the clusters shares. The only one of the thesis' four distances that is a metric:
    on axis-aligned, weighted and soft clusterings, overlapping or not, and on oriented and mixed
    ones with ``overlap="trace"``. Never below :func:`rnia`.

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
        Any kinds, overlapping or soft. A label vector takes the other side's features.
    overlap : {"cos2", "trace"}, optional
        How oriented subspaces share mass: Σcos²θ of the principal angles (the thesis; default where
        defined: hard and disjoint), or Σ(1 − sin θ), which also serves overlapping clusters and
        mixed kinds and keeps the triangle inequality.
    mass : {"cells", "unit"}, optional
        Whether a cluster weighs by its dims or every subspace counts 1; needed where weighted
        clusterings meet other kinds.
    row_weights, column_weights : array-like, optional
        Importance of rows and features; a cell weighs the product.

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    rnia : The same without regard to how cells are grouped.
    match_clusters : The matching behind it.
    cell_scores : Precision and recall of the cells.
    subscape.measures.p_value : Whether chance gives such a distance.
    subscape.measures.label_error : The same for rows alone.

    Notes
    -----
    The thesis' §5.1 speaks of "angles" σ where their cosines are meant, and its worked example
    (§5.1.3) sums σ instead of σ²; here it is Σσ². For co-clusterings its Proposition 3 is an upper
    bound only: the best matching of blocks need not be a product of a row and a column matching.

    The thesis proves the triangle inequality for disjoint masks. It holds far beyond: let D be the
    summed norm distance of the rows' operators and E the cost of the best matching of the clusters
    (unmatched ones cost their mass), both metrics. Then CE = F / |U| with F = (D + E) / 2 and
    |U| = (|S| + |S'| + D) / 2. For any A, B, C let s = (D_AB + D_BC − D_AC) / 2 ≥ 0. Then U_AB and
    U_BC are at most U_AC + s and F_AB + F_BC ≥ F_AC + s, so CE_AB + CE_BC ≥ (F_AC + s) / (U_AC + s)
    ≥ CE_AC.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.measures import clustering_error
    >>> truth = SubspaceClustering.from_clusters([([0, 1, 2, 3], [0, 1])], (6, 4))
    >>> found = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1, 2])], (6, 4))
    >>> round(clustering_error(truth, found), 4)
    0.4545
    """
    table = overlap_of(
        a, b, overlap=overlap, mass=mass, row_weights=row_weights, column_weights=column_weights
    )
    return error_of(table)


def error_of(table: Overlap) -> float:
    """CE of a finished overlap table."""
    rows, columns = linear_sum_assignment(table.table, maximize=True)
    return _share(table.union - table.table[rows, columns].sum(), table.union)


def rnia(
    a: Any,
    b: Any,
    *,
    overlap: str | None = None,
    mass: str | None = None,
    row_weights: ArrayLike | None = None,
    column_weights: ArrayLike | None = None,
) -> float:
    """Relative non-intersecting area (RNIA): share of the covered cells that only one side covers.

    RNIA = (|U| − |I|) / |U| (thesis eq. 4.2). It ignores how cells are grouped: two partitions of
    the same cells have distance 0. With ``overlap="trace"`` a pseudometric for every kind; with
    Σcos²θ the triangle inequality fails for oriented clusterings.

    Parameters
    ----------
    a, b, overlap, mass, row_weights, column_weights
        As in :func:`clustering_error`.

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    clustering_error : Also sees how cells are grouped.

    Notes
    -----
    The thesis prints 19/25 for its Fig. 4.1 in §4.3.4; that is CE, RNIA is 13/25.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.measures import rnia
    >>> one = SubspaceClustering.from_clusters([([0, 1, 2, 3], [0, 1])], (4, 2))
    >>> two = SubspaceClustering.from_clusters([([0, 1], [0, 1]), ([2], [0])], (4, 2))
    >>> rnia(one, two)
    0.375
    """
    table = overlap_of(
        a, b, overlap=overlap, mass=mass, row_weights=row_weights, column_weights=column_weights
    )
    return rnia_of(table)


def rnia_of(table: Overlap) -> float:
    """RNIA of a finished overlap table."""
    return _share(table.union - table.intersection, table.union)


def variation_of_information(
    a: Any,
    b: Any,
    *,
    overlap: str | None = None,
    mass: str | None = None,
    row_weights: ArrayLike | None = None,
    column_weights: ArrayLike | None = None,
) -> float:
    """Variation of information (VI) between disjoint subspace clusterings, in nats.

    Cells that only one side covers count as singleton clusters of the other (thesis eq. A.1; with
    row or column weights these singletons weigh what their cells do, so that weights which are all
    equal change nothing). Neither scale invariant nor a metric on subspace clusterings; on
    partitions of the same cells it is Meila's VI. Zero for different clusterings only where
    one-cell clusters are involved.

    Parameters
    ----------
    a, b, overlap, mass, row_weights, column_weights
        As in :func:`clustering_error`; both sides hard and disjoint, of one kind.

    Returns
    -------
    float, at least 0

    See Also
    --------
    vi_with_area : For clusterings that cover different cells.
    label_vi : Rows alone.

    Examples
    --------
    >>> from subscape.measures import variation_of_information
    >>> round(variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    1.3863
    """
    a, b = matching_pair(a, b)
    require_comparable([a, b], "variation_of_information")
    table = overlap_of(
        a, b, overlap=overlap, mass=mass, row_weights=row_weights, column_weights=column_weights
    )
    if row_weights is None and column_weights is None:
        return vi_of(table)
    return vi_of(table, _singleton_entropy(a, b, overlap, mass, row_weights, column_weights))


def vi_of(table: Overlap, singletons: float = 0.0) -> float:
    """VI of a finished overlap table of disjoint clusterings.

    ``singletons`` is Σ w log w over the cells that one side only covers: 0 where cells weigh 1.
    """
    entropy = xlogy(table.sizes_a, table.sizes_a).sum() + xlogy(table.sizes_b, table.sizes_b).sum()
    entropy -= 2 * xlogy(table.table, table.table).sum() + singletons
    return max(0.0, float(entropy) / table.union) if table.union > 0 else 0.0


def _singleton_entropy(
    a: SubspaceClustering,
    b: SubspaceClustering,
    overlap: str | None,
    mass: str | None,
    row_weights: ArrayLike | None,
    column_weights: ArrayLike | None,
) -> float:
    """Σ mass · log weight over the cells that one side only covers."""
    rows = None if row_weights is None else np.asarray(row_weights, np.float64)
    columns = None if column_weights is None else np.asarray(column_weights, np.float64)
    # log(r · c) = log r + log c, and all masses are linear in either weight.
    tilted = [
        *([] if rows is None else [(xlogy(rows, rows), columns)]),
        *([] if columns is None else [(rows, xlogy(columns, columns))]),
    ]
    total = 0.0
    for weights in tilted:
        table = overlap_of_sides(
            PreparedClustering(a, mass, *weights), PreparedClustering(b, mass, *weights), overlap
        )
        total += table.total_a + table.total_b - 2 * float(table.table.sum())
    return total


def cell_scores(
    a: Any,
    b: Any,
    *,
    overlap: str | None = None,
    mass: str | None = None,
    row_weights: ArrayLike | None = None,
    column_weights: ArrayLike | None = None,
) -> CellScores:
    """Precision, recall and F1 of the cells that ``a`` finds, where ``b`` is the truth.

    precision = |I| / |S|, recall = |I| / |S'|. The thesis (§4.3.4) calls the geometric mean
    F-measure; ``f1`` is the usual harmonic one and both are returned.

    Returns
    -------
    CellScores
        Shares of cells, as a named tuple.

    See Also
    --------
    clustering_error : A distance.
    e4sc_score : By clusters.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.measures import cell_scores
    >>> truth = SubspaceClustering.from_clusters([([0, 1, 2, 3], [0, 1])], (6, 4))
    >>> found = SubspaceClustering.from_clusters([([0, 1], [0, 1])], (6, 4))
    >>> scores = cell_scores(found, truth)
    >>> scores.precision, scores.recall
    (1.0, 0.5)
    """
    table = overlap_of(
        a, b, overlap=overlap, mass=mass, row_weights=row_weights, column_weights=column_weights
    )
    precision = _share(table.intersection, table.total_a)
    recall = _share(table.intersection, table.total_b)
    both = precision + recall
    f1 = 2 * precision * recall / both if both > 0 else 0.0
    return CellScores(precision, recall, f1, float(np.sqrt(precision * recall)))


def match_clusters(a: Any, b: Any, **options: Any) -> Matching:
    """The one-to-one matching of clusters that shares the most mass (that of CE).

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
    **options
        As in :func:`clustering_error`.

    Returns
    -------
    Matching

    See Also
    --------
    intersection_table : What clusters share.
    clustering_error : The distance made of it.

    Examples
    --------
    >>> from subscape.measures import match_clusters
    >>> matching = match_clusters([0, 0, 0, 1, 1], [1, 1, 0, 0, 0])
    >>> matching.a, matching.b, matching.total
    (array([0, 1]), array([1, 0]), 4.0)
    """
    return best_matching(overlap_of(a, b, **options).table)


def _shared_on_device(a: Any, b: Any, **options: Any) -> Any:
    """Rows that clusters of two label tensors share, where these can be counted on the device."""
    found = None if options else cross_table_on_device(a, b, MOST_CELLS_ON_DEVICE)
    if found is None:
        return NotImplemented
    xp = shared_namespace(a=a, b=b)
    used = [xp.nonzero(xp.any(found.table > 0, axis=axis)[1:])[0] + 1 for axis in (1, 0)]
    if 0 in (used[0].shape[0], used[1].shape[0]):
        return NotImplemented
    table = xp.take(xp.take(found.table, used[0], axis=0), used[1], axis=1)
    return xp.astype(table, xp.float64)


@tensor_twin(_shared_on_device)
def intersection_table(a: Any, b: Any, **options: Any) -> Any:
    """The cluster intersection matrix T: mass that each pair of clusters shares.

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
        Two label vectors may be torch or cupy tensors: rows are counted on their device, and the
        table is a tensor there.
    **options
        As in :func:`clustering_error`.

    Returns
    -------
    array of shape (clusters of a, clusters of b)
        Mass that each pair of clusters shares.

    See Also
    --------
    match_clusters : The best matching in it.
    subscape.plots.IntersectionsDisplay : The table as a picture.

    Examples
    --------
    >>> from subscape.measures import intersection_table
    >>> intersection_table([0, 0, 1, 1], [0, 1, 1, 1])
    array([[1., 1.],
           [0., 2.]])
    """
    return overlap_of(a, b, **options).table


def vi_with_area(a: Any, b: Any, *, penalty: float = 1.0) -> float:
    """VI on the cells that both sides cover, plus a penalty for those that only one does.

    The thesis' outlook (chapter 7) suggests it as a better behaved VI: no singleton clusters are
    needed, so it is scale invariant, and area covered by one side only always costs. Here
    (|I|·VI_I + penalty·|U∖I|) / |U|, where VI_I compares the groupings of the shared cells.

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
        Hard, disjoint, of one kind.
    penalty : float, default=1.0
        Nats that a cell costs which only one side covers.

    Returns
    -------
    float, at least 0

    See Also
    --------
    variation_of_information : Without the penalty.

    Examples
    --------
    >>> from subscape.measures import vi_with_area
    >>> round(vi_with_area([0, 0, 1, 1], [0, 0, 1, -1]), 4)
    0.25
    """
    if not penalty >= 0:
        raise SubscapeError(f"penalty must be at least 0, got {penalty!r}")
    a, b = matching_pair(a, b)
    require_comparable([a, b], "vi_with_area")
    table = overlap_of(a, b)
    shared = table.table
    entropy = xlogy(shared.sum(axis=1), shared.sum(axis=1)).sum()
    entropy += xlogy(shared.sum(axis=0), shared.sum(axis=0)).sum()
    grouped = max(0.0, float(entropy - 2 * xlogy(shared, shared).sum()))
    alone = max(0.0, table.union - table.intersection)
    return (grouped + penalty * alone) / table.union if table.union > 0 else 0.0


def require_comparable(sides: Sequence[SubspaceClustering], who: str) -> None:
    """Refuse what VI and Rand are not defined for: soft, overlapping and mixed clusterings."""
    places = ("first", "second") if len(sides) == 2 else range(len(sides))
    for place, side in zip(places, sides, strict=True):
        name = f"the {place} one" if isinstance(place, str) else f"number {place}"
        if not side.is_hard:
            raise UnsupportedKindError(
                f"{who} is not defined for soft clusterings, and {name} is soft; harden it with "
                "from_labels(clustering.labels(), ...) or use clustering_error or rnia"
            )
        if not side.is_disjoint:
            raise UnsupportedKindError(
                f"{who} needs disjoint clusters, but some of {name} share cells: with overlaps "
                "even a clustering and itself would differ. Use clustering_error or rnia"
            )
    kinds = sorted({side.kind for side in sides})
    if len(kinds) > 1:
        raise UnsupportedKindError(
            f"{who} compares clusterings of one kind, got {' and '.join(kinds)}; convert with "
            "as_weighted() or as_oriented(), or use clustering_error"
        )


def _share(part: float, whole: float) -> float:
    """part / whole within [0, 1]; 0 where there is nothing."""
    return min(1.0, max(0.0, float(part / whole))) if whole > 0 else 0.0
