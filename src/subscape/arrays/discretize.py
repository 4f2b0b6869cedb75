"""Cut the values of each column into bins: equal ones, or ones fitted to the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IntArray

from .backend import compiled

__all__ = ["AdaptiveBins", "adaptive_edges", "assign_bins", "equal_width_edges", "merged_bars"]


#: Standard deviations by which counts differ if that is not chance.
CHANCE = 2.0


def equal_width_edges(low: FloatArray, high: FloatArray, n_bins: int) -> FloatArray:
    """Cut each range into bins of equal width.

    Parameters
    ----------
    low, high : (p,) array
        Smallest and largest value of each column.
    n_bins : int
        Bins per column.

    Returns
    -------
    (p, n_bins + 1) array
        The limits of the bins, from ``low`` to ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.discretize import equal_width_edges
    >>> equal_width_edges(np.array([0.0]), np.array([10.0]), 4)
    array([[ 0. ,  2.5,  5. ,  7.5, 10. ]])
    """
    return np.linspace(low, high, n_bins + 1, axis=1)


def assign_bins(X: FloatArray, edges: Sequence[FloatArray] | FloatArray) -> NDArray[np.uint16]:
    """Put every value into the bin it falls into.

    Bins hold their lower limit but not their upper one, the last bin holds both. Values outside
    the limits go to the first or last bin.

    Parameters
    ----------
    X : (n, p) array
        The table.
    edges : sequence of p arrays, or (p, m + 1) array
        For each column the limits of its bins in ascending order.

    Returns
    -------
    (p, n) array of uint16
        The bin of every value, one row per column of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.discretize import assign_bins
    >>> assign_bins(np.array([[0.0], [0.5], [1.0]]), [np.array([0.0, 0.5, 1.0])])
    array([[0, 1, 1]], dtype=uint16)
    """
    inner = [np.asarray(limits, dtype=np.float64)[1:-1] for limits in edges]
    starts = np.concatenate([[0], np.cumsum([len(limits) for limits in inner])]).astype(np.int64)
    limits = np.concatenate(inner) if inner else np.empty(0)
    return count_limits_below(np.ascontiguousarray(X, dtype=np.float64), limits, starts)


@compiled("_discretize")
def count_limits_below(X: FloatArray, limits: FloatArray, starts: IntArray) -> NDArray[np.uint16]:
    """Count, for every value, the limits of its column that it reaches.

    Parameters
    ----------
    X : (n, p) array
        The table.
    limits : (m,) array
        The limits of all columns, one column after the other, ascending within each.
    starts : (p + 1,) array of int64
        Where each column's limits begin.

    Returns
    -------
    (p, n) array of uint16
        How many limits are at or below each value.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.discretize import count_limits_below
    >>> count_limits_below(np.array([[1.0], [3.0]]), np.array([1.0, 2.0]), np.array([0, 2]))
    array([[1, 2]], dtype=uint16)
    """
    n, p = X.shape
    reached = np.empty((p, n), dtype=np.uint16)
    for j in range(p):
        reached[j] = np.searchsorted(limits[starts[j] : starts[j + 1]], X[:, j], side="right")
    return reached


class AdaptiveBins(NamedTuple):
    """The fitted bins of one column."""

    edges: FloatArray
    counts: IntArray
    flat: bool


def adaptive_edges(
    values: FloatArray, *, n_fine: int, n_windows: int, tolerance: float | None, n_flat: int
) -> AdaptiveBins:
    """Fit the bins of one column to its histogram, as MAFIA does.

    A fine histogram is summed up in windows by its highest bar, and neighbouring windows of
    similar height are merged. Without a tolerance, windows are merged whose counts differ no more
    than chance makes them. A column that ends up as one bin is flat and is cut into equal bins.

    Parameters
    ----------
    values : (n,) array
        The column; not constant.
    n_fine : int
        Bars of the fine histogram.
    n_windows : int
        Windows of neighbouring bars; at most ``n_fine``.
    tolerance : float or None
        Largest relative difference of heights that are merged; None: two standard deviations of
        counts by chance.
    n_flat : int
        Equal bins of a flat column.

    Returns
    -------
    AdaptiveBins
        ``edges`` of the bins, ``counts`` of values in them, and whether the column is ``flat``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.discretize import adaptive_edges
    >>> values = np.r_[np.linspace(0, 1, 100), np.linspace(0.4, 0.6, 100)]
    >>> adaptive_edges(values, n_fine=10, n_windows=10, tolerance=0.3, n_flat=5).edges.round(2)
    array([0. , 0.4, 0.6, 1. ])
    >>> adaptive_edges(values, n_fine=10, n_windows=10, tolerance=None, n_flat=5).edges.round(2)
    array([0. , 0.4, 0.6, 1. ])
    """
    fine = np.linspace(values.min(), values.max(), n_fine + 1)
    bar = np.searchsorted(fine[1:-1], values, side="right")
    heights = np.bincount(bar, minlength=n_fine)
    return merged_bars(fine, heights, n_windows=n_windows, tolerance=tolerance, n_flat=n_flat)


def merged_bars(
    fine: FloatArray, heights: IntArray, *, n_windows: int, tolerance: float | None, n_flat: int
) -> AdaptiveBins:
    """The same from the fine histogram itself: the limits of its bars, and their heights."""
    n_fine = len(heights)
    first = np.linspace(0, n_fine, n_windows + 1).astype(np.int64)[:-1]
    if tolerance is None:
        starts = _merged_by_chance(first, np.add.reduceat(heights, first))
    else:
        starts = _merged(first, np.maximum.reduceat(heights, first), tolerance)
    flat = len(starts) == 1
    if flat:
        starts = np.linspace(0, n_fine, n_flat + 1).astype(np.int64)[:-1]
    return AdaptiveBins(
        fine[np.append(starts, n_fine)], np.add.reduceat(heights, starts).astype(np.int64), flat
    )


def _merged(first: IntArray, heights: IntArray, tolerance: float) -> IntArray:
    """Merge windows from left to right while their heights differ little from the bin's so far."""
    starts = [int(first[0])]
    highest = float(heights[0])
    for start, height in zip(first[1:].tolist(), heights[1:].tolist(), strict=True):
        low, high = min(highest, height), max(highest, height)
        if high == 0 or 1 - low / high <= tolerance:
            highest = high
        else:
            starts.append(start)
            highest = float(height)
    return np.array(starts, dtype=np.int64)


def _merged_by_chance(first: IntArray, counts: IntArray) -> IntArray:
    """Merge windows from left to right while their counts may well have the mean of the bin."""
    starts = [int(first[0])]
    total, n_merged = float(counts[0]), 1
    for start, height in zip(first[1:].tolist(), counts[1:].tolist(), strict=True):
        mean = total / n_merged
        # Counts vary as their mean; the mean of the bin varies less, the more windows it has.
        variance = max(mean, 1.0) / n_merged + max(mean, height, 1.0)
        if (height - mean) ** 2 <= CHANCE**2 * variance:
            total, n_merged = total + height, n_merged + 1
        else:
            starts.append(start)
            total, n_merged = float(height), 1
    return np.array(starts, dtype=np.int64)
