"""Where single features hold more rows than an even spread would put there: P3C's intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from subscape.arrays.bitsets import count, pack
from subscape.arrays.blocks import Blocks, as_blocks
from subscape.arrays.discretize import assign_bins, equal_width_edges
from subscape.arrays.row_bits import rows_where
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.axis.selection import Ends, column_ends

__all__ = [
    "EvenScale",
    "IntervalBins",
    "Intervals",
    "cluster_bins",
    "concentrated_features",
    "default_n_bins",
    "even_scale",
    "histograms",
    "marked_bins",
    "relevant_intervals",
]


#: Fewer bins can't show where a cluster lies.
LEAST_BINS = 4
#: The normal background is fitted to these quantiles: clusters lie between them, not beyond.
TAIL = 0.01
#: A normal background must explain this much more than an even one to be preferred.
CLEARLY = 0.85


@dataclass(frozen=True, eq=False)
class IntervalBins:
    """Intervals as bins of features; called with rows, says which of them are inside."""

    features: IntArray
    first: IntArray
    last: IntArray
    """The bin after the last one."""
    n_bins: int

    def __call__(self, scaled: FloatArray, outside: BoolArray | None = None) -> BoolArray:
        bins = _bin_of(scaled, self.n_bins)[self.features]
        inside = (bins >= self.first[:, None]) & (bins < self.last[:, None])
        return inside if outside is None else inside & outside


class Intervals(NamedTuple):
    """Intervals of single features, ordered by feature and position."""

    features: IntArray
    low: FloatArray
    """Where each begins, on the scale of 0 to 1."""
    high: FloatArray
    rows: BitArray
    """Per interval the packed set of rows inside."""
    support: IntArray
    """How many rows that is."""
    where: IntervalBins | None = None
    """The same as bins."""

    @property
    def width(self) -> FloatArray:
        """Share of the rows that an even spread puts inside."""
        return self.high - self.low


def default_n_bins(n_rows: int) -> int:
    """Bins per feature: Rice's rule, twice the cube root of the number of rows.

    >>> default_n_bins(1000)
    20
    """
    return max(LEAST_BINS, int(2 * n_rows ** (1 / 3) + 1e-9))


@dataclass(frozen=True, eq=False)
class EvenScale:
    """Maps every feature to 0..1 such that the background is spread evenly."""

    low: FloatArray
    high: FloatArray
    """Smallest and largest values of the table."""
    normal: NormalScale | None = None
    """None where the background is uniform."""

    def __call__(self, block: FloatArray) -> FloatArray:
        """Some rows on the new scale."""
        uniform = (block - self.low) / (self.high - self.low)
        if self.normal is None:
            return uniform
        middle, spread, least, most, flat = self.normal
        scaled = ndtr((block - middle) / spread)
        scaled = (scaled - least) / np.where(flat, 1.0, most - least)
        scaled[:, flat] = uniform[:, flat]
        return scaled


class NormalScale(NamedTuple):
    """Distribution function of the normal with the same outer quantiles, stretched to 0..1."""

    middle: FloatArray
    spread: FloatArray
    least: FloatArray
    most: FloatArray
    flat: BoolArray
    """Features for which there is none."""


def even_scale(X: Blocks, background: str, alpha: float, n_bins: int | None) -> EvenScale:
    """Find a scale on which the background of every feature is spread evenly.

    Parameters
    ----------
    X : Blocks
        No feature is constant.
    background : {"uniform", "normal", "auto"}
        Values in no cluster: uniform over the range; normal, with mean and spread from the outer
        quantiles; or whichever leaves fewer bins that stick out.
    alpha : float
        Significance level of the test on bins.
    n_bins : int or None

    Returns
    -------
    EvenScale
    """
    uniform = EvenScale(*column_ends(X))
    if background == "uniform":
        return uniform
    normal = EvenScale(uniform.low, uniform.high, _normal_scale(X))
    if background == "normal":
        return normal
    bins = n_bins or default_n_bins(len(X))

    def counted(block: FloatArray, rows: slice) -> tuple[IntArray, IntArray]:
        return histograms(uniform(block), bins), histograms(normal(block), bins)

    share = [marked_bins(counts, alpha).mean() for counts in X.fold(counted)]
    return normal if share[1] < CLEARLY * share[0] else uniform


def _normal_scale(X: Blocks) -> NormalScale:
    # One column at a time, so that there is never more of the table in memory.
    ends = [np.quantile(X.column(j), [TAIL, 1 - TAIL]) for j in range(X.shape[1])]
    low, high = np.array(ends).T
    spread = (high - low) / (2 * ndtri(1 - TAIL))
    flat = spread == 0
    middle, spread = (low + high) / 2, np.where(flat, 1.0, spread)

    def ranges(block: FloatArray, rows: slice) -> Ends:
        scaled = ndtr((block - middle) / spread)
        return Ends(scaled.min(axis=0), scaled.max(axis=0))

    found = X.fold(ranges)
    flat |= found.low == found.high
    return NormalScale(middle, spread, found.low, found.high, flat)


def _bin_of(scaled: FloatArray, n_bins: int) -> NDArray[np.uint16]:
    p = scaled.shape[1]
    return assign_bins(scaled, equal_width_edges(np.zeros(p), np.ones(p), n_bins))


def histograms(scaled: FloatArray, n_bins: int) -> IntArray:
    """Rows in each of ``n_bins`` bins from 0 to 1, one line per feature."""
    return _bin_counts(_bin_of(scaled, n_bins), n_bins)


def _bin_counts(bins: NDArray[np.uint16], n_bins: int) -> IntArray:
    p = len(bins)
    counts = [np.bincount(feature, minlength=n_bins) for feature in bins]
    return np.array(counts, dtype=np.int64).reshape(p, n_bins)


def marked_bins(counts: IntArray, alpha: float) -> BoolArray:
    """Mark bins, the fullest first, until the others pass a chi-square test of uniformity.

    Parameters
    ----------
    counts : (p, n_bins) array of int
        Rows per bin, one line per feature.
    alpha : float
        Significance level of the test.

    Returns
    -------
    (p, n_bins) array of bool
        At least one bin of each feature stays unmarked.

    Examples
    --------
    >>> import numpy as np
    >>> marked_bins(np.array([[10, 60, 9, 11], [20, 22, 19, 21]]), 0.001).astype(int)
    array([[0, 1, 0, 0],
           [0, 0, 0, 0]])
    """
    marked = np.zeros(counts.shape, dtype=bool)
    left = counts.astype(np.float64)
    size = np.full(len(counts), counts.shape[1])
    active = np.arange(len(counts))
    while len(active):
        rest = left[active]
        total, squares = rest.sum(axis=1), np.square(rest).sum(axis=1)
        mean = total / size[active]
        statistic = (squares - total * mean) / np.where(mean > 0, mean, 1.0)
        uneven = chdtrc(size[active] - 1.0, np.maximum(statistic, 0.0)) < alpha
        active = active[uneven & (mean > 0) & (size[active] > 1)]
        fullest = np.where(marked[active], -1.0, left[active]).argmax(axis=1)
        marked[active, fullest] = True
        left[active, fullest] = 0.0
        size[active] -= 1
    return marked


def relevant_intervals(
    scaled: FloatArray | Blocks, alpha: float, n_bins: int, outside: Any = None
) -> Intervals:
    """Find the intervals in which features hold too many rows.

    Runs of marked bins become intervals, which reach into the bins beside them: the tails of a
    cluster are too thin to mark a bin, and every feature of a core would cut them off.

    Parameters
    ----------
    scaled : (n, p) array or Blocks
        Values from 0 to 1, from :func:`even_scale`.
    alpha : float
    n_bins : int
    outside : row values of bool, optional
        Rows to look at; by default all.

    Returns
    -------
    Intervals
    """
    table = as_blocks(scaled)
    reads = () if outside is None else (outside,)

    def counted(block: FloatArray, rows: slice, *own: BoolArray) -> IntArray:
        return histograms(block[own[0]] if own else block, n_bins)

    marked = marked_bins(table.fold(counted, reads=reads), alpha)
    features, firsts, lasts = [], [], []
    for j in np.flatnonzero(marked.any(axis=1)):
        starts, stops = _runs(marked[j])
        firsts.append(np.maximum(starts - 1, np.append(0, stops[:-1])))
        lasts.append(np.minimum(stops + 1, np.append(starts[1:], n_bins)))
        features.append(np.full(len(starts), j))
    if not features:
        none, empty = np.zeros(0, np.int64), np.zeros(0)
        words = pack(np.zeros((0, len(table)), bool))
        return Intervals(none, empty, empty, words, none)
    where = IntervalBins(
        np.concatenate(features), np.concatenate(firsts), np.concatenate(lasts), n_bins
    )
    packed = rows_where(table, where, len(where.features), reads)
    return Intervals(
        where.features, where.first / n_bins, where.last / n_bins, packed, count(packed), where
    )


def cluster_bins(n_rows: int) -> int:
    """Bins in which the rows of a cluster are counted: Sturges' rule."""
    return max(LEAST_BINS, int(1 + np.log2(max(n_rows, 1))))


def concentrated_features(counts: IntArray, alpha: float, share: float) -> BoolArray:
    """Tell in which features the rows of a cluster lie mostly in one short interval.

    Parameters
    ----------
    counts : (p, n_bins) array of int
        The rows of the cluster in bins, on the scale of the whole table (:func:`histograms`).
    alpha : float
        Significance level of the test that the rows are spread evenly.
    share : float
        How many of the rows, beyond chance, have to be in one interval.

    Returns
    -------
    (p,) array of bool
    """
    n_features, n_bins = counts.shape
    n_rows = int(counts[0].sum())
    marked = marked_bins(counts, alpha)
    relevant = np.zeros(n_features, dtype=bool)
    for j in np.flatnonzero(marked.any(axis=1)):
        starts, stops = _runs(marked[j])
        sums = np.append(0, np.cumsum(counts[j]))
        inside = (sums[stops] - sums[starts]) / n_rows
        by_chance = (stops - starts) / n_bins
        relevant[j] = bool((inside - by_chance >= share * (1 - by_chance)).any())
    return relevant


def _runs(marked: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last-plus-one position of each run of marks."""
    edges = np.diff(np.concatenate([[0], marked.astype(np.int8), [0]]))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
