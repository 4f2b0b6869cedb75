"""Count the members of clusters in the bins of every column, in one pass over the table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IntArray

from .backend import compiled

__all__ = ["ColumnRanges", "column_ranges", "count_in_bins", "ranges_of"]

#: Entries summed as floating-point numbers at a time: sums of 30-bit weights stay exact.
EXACT_ENTRIES = 2**22


class ColumnRanges(NamedTuple):
    """Smallest and largest value of each column, and whether all values are finite."""

    low: FloatArray
    high: FloatArray
    finite: bool


def ranges_of(X: NDArray[Any]) -> ColumnRanges:
    """Smallest and largest value of each column, NaN left out; NaN where there is nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.bin_counts import ranges_of
    >>> ranges_of(np.array([[3.0, 1.0], [2.0, np.nan]]))
    ColumnRanges(low=array([2., 1.]), high=array([3., 1.]), finite=False)
    """
    return ColumnRanges(*column_ranges(X))


@compiled("_bin_counts")
def column_ranges(
    X: NDArray[Any],
) -> tuple[FloatArray, FloatArray, bool]:
    """Smallest and largest value of each column, NaN left out, and whether all are finite.

    Parameters
    ----------
    X : (n, p) C-contiguous array of float32 or float64

    Returns
    -------
    low, high : (p,) array
        NaN where a column holds nothing else.
    finite : bool
        No value is NaN or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.bin_counts import column_ranges
    >>> column_ranges(np.array([[3.0, 1.0], [2.0, 5.0]]))
    (array([2., 1.]), array([3., 5.]), True)
    """
    low = np.fmin.reduce(X, axis=0).astype(np.float64)
    high = np.fmax.reduce(X, axis=0).astype(np.float64)
    return low, high, bool(np.isfinite(X).all())


@compiled("_bin_counts")
def count_in_bins(
    X: NDArray[Any],
    limits: FloatArray,
    starts: IntArray,
    row_starts: IntArray,
    clusters: NDArray[np.int32],
    weights: IntArray,
    n_clusters: int,
    missing_bin: bool,
) -> IntArray:
    """Sum the weights of each cluster's rows in every bin of every column.

    A value's bin is the number of its column's limits at or below it.

    Parameters
    ----------
    X : (n, p) C-contiguous array of float32 or float64
        The table; NaN is missing.
    limits : (m,) array
        The inner limits of all columns, one column after the other, ascending within each.
    starts : (p + 1,) array of int64
        Where each column's limits begin.
    row_starts : (n + 1,) array of int64
        Row r is in ``clusters[row_starts[r]:row_starts[r + 1]]``.
    clusters : (e,) array of int32
        The clusters of all rows, one row after the other.
    weights : (e,) array of int64, or empty
        How much each of them counts; empty where all count 1.
    n_clusters : int
        Number of clusters.
    missing_bin : bool
        Whether every column has one more bin, its last, for missing values. Otherwise they count
        nowhere.

    Returns
    -------
    (n_clusters, m + p) array of int64, p more columns with ``missing_bin``
        The bins of all columns, one column after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.bin_counts import count_in_bins
    >>> X = np.array([[0.1, 5.0], [0.9, 5.0], [0.5, 7.0]])
    >>> limits, starts = np.array([0.5, 6.0]), np.array([0, 1, 2])
    >>> rows, clusters = np.array([0, 1, 2, 3]), np.array([0, 0, 1], np.int32)
    >>> count_in_bins(X, limits, starts, rows, clusters, np.empty(0, np.int64), 2, False)
    array([[1, 1, 2, 0],
           [0, 1, 0, 1]])
    """
    n = len(X)
    sizes = np.diff(starts) + 1 + missing_bin
    counts = np.zeros((n_clusters, int(sizes.sum())), dtype=np.int64)
    row = np.repeat(np.arange(n), np.diff(row_starts))
    column = 0
    for j, size in enumerate(sizes.tolist()):
        values = X[:, j].astype(np.float64)
        absent = np.isnan(values)
        bins = np.searchsorted(limits[starts[j] : starts[j + 1]], values, side="right")
        bins[absent] = size - 1
        for first in range(0, len(row), EXACT_ENTRIES):
            part = slice(first, first + EXACT_ENTRIES)
            cells = clusters[part].astype(np.int64) * size + bins[row[part]]
            counted = np.ones(len(cells)) if weights.size == 0 else weights[part].astype(float)
            if not missing_bin:
                counted[absent[row[part]]] = 0.0
            sums = np.bincount(cells, counted, minlength=n_clusters * size)
            counts[:, column : column + size] += sums.astype(np.int64).reshape(n_clusters, size)
        column += size
    return counts
