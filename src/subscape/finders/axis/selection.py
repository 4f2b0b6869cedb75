"""Which of many overlapping clusters to report: informative ones that don't repeat each other."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from subscape.arrays.bitsets import WORD, count, intersection_counts, unpack
from subscape.arrays.blocks import Blocks
from subscape.core.clustering import SubspaceClustering
from subscape.core.subspaces import AxisSubspaces
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.base import Watch

__all__ = [
    "Candidates",
    "Ends",
    "bits_of_share",
    "column_ends",
    "information",
    "interest",
    "log2_choose",
    "nonredundant",
    "to_clustering",
]


#: A cluster is redundant if more than this share of its cells, or of its rows in a cluster with a
#: common feature, is reported already.
REPEATED = 0.5
#: What is new of a cluster must be so many times what is expected: with many rows, tiny differences
#: save bits too.
SURPLUS = 1.5
#: Clusters looked at together: at first few, because each choice makes others redundant, later as
#: many as fit into this many words of packed rows.
FIRST_BATCH, BATCH_WORDS = 16, 1 << 20
#: Except a cluster in further features of a reported one: this share of its cells must be new.
NEW_WHEN_NESTED = 0.25


class Candidates(NamedTuple):
    """Clusters to choose from."""

    columns: Sequence[tuple[int, ...]]
    sizes: IntArray
    """Rows of each cluster."""
    expected: FloatArray
    """Share of all rows expected in its place if its columns were independent, or if rows were
    spread evenly: the larger of the two."""
    cost: FloatArray
    """Bits it takes to say where the cluster is."""
    rows: Callable[[Sequence[int]], BitArray]
    """Packed rows of some clusters, one line each."""


def to_clustering(
    rows: Sequence[NDArray[np.integer]],
    columns: Sequence[Sequence[int]],
    shape: tuple[int, int],
) -> SubspaceClustering:
    """Make a clustering of clusters whose rows are known to be distinct and in order."""
    starts = np.concatenate([[0], np.cumsum([len(part) for part in rows], dtype=np.int64)])
    indices = np.concatenate([np.empty(0, dtype=np.int32), *rows]).astype(np.int32)
    members = csr_array(
        (np.ones(len(indices), dtype=bool), indices, starts), shape=(len(rows), shape[0])
    )
    masks = np.zeros((len(rows), shape[1]), dtype=bool)
    for mask, features in zip(masks, columns, strict=True):
        mask[list(features)] = True
    return SubspaceClustering(members, AxisSubspaces(masks))


def log2_choose(n: int, k: int) -> float:
    """Bits needed to name ``k`` of ``n`` things."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def bits_of_share(share: float, expected: float, n_rows: int) -> float:
    """:func:`information` for single numbers, where arrays would be slow."""
    v = min(max(expected, sys.float_info.min), 1 - 1e-12)
    if share <= v:
        return 0.0
    bits = share * math.log2(share / v)
    if share < 1:
        bits += (1 - share) * math.log2((1 - share) / (1 - v))
    return n_rows * bits


def information(
    share: ArrayLike, expected: ArrayLike, n_rows: int | NDArray[np.integer]
) -> FloatArray:
    """Bits by which the rows tell a share from the one expected; 0 if it is not larger.

    Parameters
    ----------
    share, expected : array of float
        Shares of rows, observed and expected.
    n_rows : int
        Number of rows.

    Returns
    -------
    array of float
        ``n_rows`` times the Kullback-Leibler divergence of the two shares, in bits.

    Examples
    --------
    >>> from subscape.finders.axis.selection import information
    >>> information([0.5, 0.1], [0.25, 0.25], 100).round(1)
    array([20.8,  0. ])
    """
    q = np.asarray(share, dtype=np.float64)
    v = np.clip(expected, np.finfo(np.float64).tiny, 1 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(q > 0, q * np.log2(q / v), 0.0)
        outside = np.where(q < 1, (1 - q) * np.log2((1 - q) / (1 - v)), 0.0)
    return np.where(q > v, n_rows * (inside + outside), 0.0)


def interest(found: Candidates, n_rows: int) -> FloatArray:
    """Bits that each cluster saves: what it tells about its rows, less what it costs to state."""
    return information(found.sizes / n_rows, found.expected, n_rows) - found.cost


def nonredundant(
    X: FloatArray | Blocks, found: Candidates, max_clusters: int | None, watch: Watch
) -> list[int]:
    """Choose clusters greedily by interest, leaving out those that repeat chosen ones.

    A cluster is left out if it saves no bits, or is no longer much more than expected once the
    cells already reported (cells are row-feature pairs) are taken away; if more than half of its
    cells are reported; or if more than half of its rows are in one reported cluster with a common
    feature. The last two don't hold for a cluster that lies in a reported one and has further
    features, if within that cluster these features are more than independent and a quarter of its
    cells is new. Clusters in a single feature come last, for rows that are in no other cluster.

    Parameters
    ----------
    X : (n, p) array
        The table.
    found : Candidates
        The clusters to choose from.
    max_clusters : int or None
        Most clusters to choose.
    watch : Watch
        Knows when the time is up.

    Returns
    -------
    list of int
        Numbers of the chosen clusters, the most interesting first.
    """
    n_rows = len(X)
    score = interest(found, n_rows)
    single = np.array([len(columns) == 1 for columns in found.columns], dtype=bool)
    order = np.lexsort((-score, single))
    order = order[score[order] > 0]
    chosen = _Chosen(X, found)
    first, step = 0, FIRST_BATCH
    while first < len(order):
        watch.step("choosing clusters", first, len(order))
        if first and watch.out_of_time():
            break
        batch = order[first : first + step]
        rows = found.rows(batch.tolist())
        # Nearly all candidates repeat a chosen cluster; they are dropped together.
        for position in np.flatnonzero(chosen.tells_something(batch, rows)):
            if max_clusters is not None and len(chosen.numbers) >= max_clusters:
                return chosen.numbers
            chosen.consider(int(batch[position]), rows[position])
        first += step
        step = max(FIRST_BATCH, min(2 * step, BATCH_WORDS // rows.shape[1]))
    return chosen.numbers


class _Chosen:
    """The clusters chosen so far, and what they cover."""

    def __init__(self, X: FloatArray | Blocks, found: Candidates) -> None:
        self.X, self.found = X, found
        self.n_rows, self.n_columns = X.shape
        n_words = -(-self.n_rows // WORD)
        self.numbers: list[int] = []
        self.rows = np.empty((0, n_words), dtype=np.uint64)
        self.masks = np.empty((0, self.n_columns), dtype=bool)
        self.covered = np.zeros((self.n_columns, n_words), dtype=np.uint64)
        self.somewhere = np.zeros((1, n_words), dtype=np.uint64)

    def new_share(self, batch: IntArray, rows: BitArray) -> FloatArray:
        """Share of each cluster's cells (with one column: of its rows) that is in no chosen one."""
        dims = np.array([len(self.found.columns[i]) for i in batch])
        shared = np.empty(len(batch))
        for n_dims in np.unique(dims):
            which = np.flatnonzero(dims == n_dims)
            if n_dims == 1:
                shared[which] = count(rows[which] & self.somewhere)
                continue
            columns = np.array([self.found.columns[i] for i in batch[which]])
            shared[which] = sum(
                count(rows[which] & self.covered[columns[:, position]])
                for position in range(n_dims)
            )
        return 1 - shared / (dims * self.found.sizes[batch])

    def tells_something(self, batch: IntArray, rows: BitArray) -> BoolArray:
        """Whether enough of each cluster is new, and what is new is more than expected."""
        new = self.new_share(batch, rows)
        share, expected = new * self.found.sizes[batch] / self.n_rows, self.found.expected[batch]
        saved = information(share, expected, self.n_rows)
        surplus = share > SURPLUS * expected
        return (new >= NEW_WHEN_NESTED) & (saved > self.found.cost[batch]) & surplus

    def consider(self, i: int, rows: BitArray) -> None:
        """Choose a cluster unless it repeats what is chosen."""
        columns = np.array(self.found.columns[i])
        size, cost = int(self.found.sizes[i]), float(self.found.cost[i])
        alone = np.array([i])
        if not self.tells_something(alone, rows[None])[0]:
            return
        mask = np.zeros(self.n_columns, dtype=bool)
        mask[columns] = True
        shared = intersection_counts(self.rows, rows) if len(self.rows) else np.empty(0)
        nested = False
        for k in np.flatnonzero(shared > REPEATED * size):
            if not (mask & self.masks[k]).any():
                continue
            if not self._refines(int(k), mask, rows, cost):
                return
            nested = True
        if nested or self.new_share(alone, rows[None])[0] >= 1 - REPEATED:
            self.numbers.append(i)
            self.rows = np.vstack([self.rows, rows])
            self.masks = np.vstack([self.masks, mask])
            self.covered[columns] |= rows
            self.somewhere |= rows

    def _refines(self, k: int, mask: BoolArray, rows: BitArray, cost: float) -> bool:
        """Whether a cluster with further features tells more than chosen cluster ``k`` does."""
        further = np.flatnonzero(mask & ~self.masks[k])
        if (self.masks[k] & ~mask).any() or len(further) == 0:
            return False
        inner, outer = unpack(rows, self.n_rows), unpack(self.rows[k], self.n_rows)
        n_outer = int(outer.sum())
        share = count(rows & self.rows[k]) / n_outer
        inside = _inside_counts(self.X, inner, outer, further) / n_outer
        return bool(information(share, inside.prod(), n_outer) > cost)


def _inside_counts(
    X: FloatArray | Blocks, inner: BoolArray, outer: BoolArray, columns: NDArray[np.integer]
) -> IntArray:
    """In each column, how many of the outer rows lie within the ends of the inner ones."""
    if not isinstance(X, Blocks):
        ends = column_ends(X[np.ix_(inner, columns)])
        values = X[np.ix_(outer, columns)]
        return np.asarray(((values >= ends[0]) & (values <= ends[1])).sum(axis=0))

    def own_ends(block: FloatArray, rows: slice, own: BoolArray) -> Ends:
        values = block[np.ix_(own, columns)]
        return Ends(values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf))

    found = X.fold(own_ends, reads=(inner,))
    low, high = found.low, found.high

    def inside(block: FloatArray, rows: slice, own: BoolArray) -> IntArray:
        values = block[np.ix_(own, columns)]
        return np.asarray(((values >= low) & (values <= high)).sum(axis=0))

    return X.fold(inside, reads=(outer,))


class Ends:
    """Smallest and largest values of columns; the sum of two holds both."""

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        self.low, self.high = low, high

    def __add__(self, other: Ends) -> Ends:
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def column_ends(X: FloatArray | Blocks) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column of a table without missing values.

    >>> import numpy as np
    >>> from subscape.finders.axis.selection import column_ends
    >>> column_ends(np.array([[1.0, 5.0], [2.0, 3.0]]))
    (array([1., 3.]), array([2., 5.]))
    """
    if isinstance(X, Blocks):
        low, high, _ = X.ranges
        return low, high
    return X.min(axis=0), X.max(axis=0)
