"""Counting on a device, by products of zeros and ones: rows in bins, rows in pairs of clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from subscape.arrays.blocks import ordered_sum
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.core.types import FloatArray, IntArray

from .array_api import (
    device_of,
    from_numpy,
    in_smaller_blocks,
    is_device_array,
    shared_namespace,
    slices,
    to_numpy,
)
from .blocks import MOST_VALUES, DeviceBlocks, fold_on_device
from .sums import RUN, one_hot, row_counts, row_product

__all__ = [
    "MOST_LIMITS",
    "CrossTable",
    "count_in_bins_on_device",
    "count_pairs_on_device",
    "cross_table_on_device",
]

#: Columns with more limits are better searched than compared with each of them.
MOST_LIMITS = 64


def count_in_bins_on_device(
    X: DeviceBlocks,
    limits: FloatArray,
    starts: IntArray,
    shares: Callable[[slice], Any],
    n_clusters: int,
    missing_bin: bool,
) -> IntArray:
    """:func:`subscape.arrays.bin_counts.count_in_bins` where the table lies; the same numbers.

    The rows at or above each limit are counted by one product for all clusters and columns; bins
    are the differences.

    Parameters
    ----------
    X : DeviceBlocks
    limits, starts, missing_bin
        As there.
    shares : callable
        For a slice of the rows, (rows, n_clusters) whether they count, or whole numbers in float64
        how much; on the device.
    n_clusters : int

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.arrays.device.counts import count_in_bins_on_device
    >>> X = as_blocks(xp.asarray([[0.1, 5.0], [0.9, 5.0], [0.5, 7.0]]))
    >>> members = xp.asarray([[True, False], [True, False], [False, True]])
    >>> limits, starts = np.array([0.5, 6.0]), np.array([0, 1, 2])
    >>> count_in_bins_on_device(X, limits, starts, lambda rows: members[rows, :], 2, False)
    array([[1, 1, 2, 0],
           [0, 1, 0, 1]])
    """
    xp, p = shared_namespace(X=X.values), X.shape[1]
    like = X.sample
    levels = [from_numpy(level, like, like.dtype) for level in _levels(limits, starts, X.single)]

    def counted(block: Any, rows: slice) -> Any:
        members = shares(rows)
        hard = xp.isdtype(members.dtype, "bool")

        def product(inside: Any) -> Any:
            if hard:
                return row_counts(members, inside)
            return xp.astype(row_product(members, xp.astype(inside, xp.float64)), xp.int64)

        # Comparisons with NaN are false: missing values are in no bin.
        above = [product(block == block), *(product(block >= level) for level in levels)]
        everything = product(xp.ones((block.shape[0], 1), dtype=xp.bool, device=device_of(block)))
        return xp.stack(above), everything

    width = 4 * p + 2 * n_clusters
    above, everything = (
        to_numpy(part) for part in fold_on_device(counted, X, width, "the count of rows in bins")
    )
    # Above the last limit of a column there is nothing.
    bins = above - np.concatenate([above[1:], np.zeros_like(above[:1])])
    parts = []
    for j, many in enumerate(np.diff(starts).tolist()):
        parts.append(bins[: many + 1, :, j].T)
        if missing_bin:
            parts.append(everything - above[0, :, j, None])
    return np.hstack(parts)


def _levels(limits: FloatArray, starts: IntArray, single: bool) -> FloatArray:
    """(most limits, p) the first limit of every column, the second ...; NaN where there is none."""
    sizes = np.diff(starts)
    levels = np.full((int(sizes.max(initial=0)), len(sizes)), np.nan)
    for j, many in enumerate(sizes.tolist()):
        levels[:many, j] = limits[starts[j] : starts[j + 1]]
    if not single:
        return levels
    # The smallest float32 that is no less: whatever is at or above one is so above the other.
    with np.errstate(over="ignore"):
        rounded = levels.astype(np.float32)
    less = rounded < levels
    rounded[less] = np.nextafter(rounded[less], np.float32(np.inf))
    return rounded.astype(np.float64)


def count_pairs_on_device(a: Any, b: Any, n_a: int, n_b: int) -> Any:
    """:func:`subscape.arrays.contingency.count_pairs` of labels on a device; the table lies there.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.device.counts import count_pairs_on_device
    >>> count_pairs_on_device(xp.asarray([0, 0, 1, -1]), xp.asarray([0, 1, 1, 1]), 2, 2)
    Array([[1, 1],
           [0, 1]], dtype=array_api_strict.int64)
    """
    xp = shared_namespace(a=a, b=b)
    if a.shape != b.shape:
        raise ShapeMismatchError(
            f"the two labellings have {a.shape[0]} and {b.shape[0]} rows; they need the same"
        )
    n = a.shape[0]
    if n and (int(xp.max(a)) >= n_a or int(xp.max(b)) >= n_b):
        raise SubscapeError(
            f"labels go up to {int(xp.max(a))} and {int(xp.max(b))}, but there are {n_a} and "
            f"{n_b} clusters"
        )
    nothing = xp.zeros((n_a, n_b), dtype=xp.int64, device=device_of(a))

    def counted(rows: slice) -> Any:
        return row_counts(one_hot(a[rows], n_a), one_hot(b[rows], n_b))

    def work(size: int) -> Any:
        return ordered_sum([nothing, *(counted(rows) for rows in slices(n, size))])

    width = 2 * (n_a + n_b) + n_a * n_b // RUN + 1
    rows = max(RUN, min(n, MOST_VALUES // width // RUN * RUN))
    return in_smaller_blocks(work, rows, RUN, "the count of pairs")


class CrossTable(NamedTuple):
    """Rows by their labels on two sides."""

    table: Any
    """Row and column 0 are noise, the others the labels from the first one on; on the device."""
    first_a: int
    first_b: int


def cross_table_on_device(a: Any, b: Any, most: int) -> CrossTable | None:
    """Count the rows with each pair of labels, any negative one being noise.

    None where not both of them lie on a device, are no whole numbers, or spread so far that the
    table would have more than ``most`` entries.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.device.counts import cross_table_on_device
    >>> cross_table_on_device(xp.asarray([7, 7, 8, -1]), xp.asarray([0, 1, 1, 1]), 100)
    CrossTable(table=Array([[0, 0, 1],
           [0, 1, 1],
           [0, 0, 1]], dtype=array_api_strict.int64), first_a=7, first_b=0)
    """
    sides = (a, b)
    if not all(is_device_array(side) for side in sides):
        return None
    xp = shared_namespace(a=a, b=b)
    if not all(side.ndim == 1 and side.shape[0] for side in sides):
        return None
    if not all(xp.isdtype(side.dtype, "integral") for side in sides):
        return None
    first = [max(int(xp.min(xp.where(side < 0, xp.max(side), side))), 0) for side in sides]
    sizes = [max(int(xp.max(side)) - low + 2, 1) for side, low in zip(sides, first, strict=True)]
    if sizes[0] * sizes[1] > most:
        return None
    moved = [xp.astype(side, xp.int64) for side in sides]
    codes = [
        xp.where(side < 0, 0, side - (low - 1)) for side, low in zip(moved, first, strict=True)
    ]
    return CrossTable(count_pairs_on_device(*codes, *sizes), *first)
