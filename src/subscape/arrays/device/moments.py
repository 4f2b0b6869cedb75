"""First and second moments of some rows of a table on a device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from subscape.arrays.blocks import ordered_sum
from subscape.core.types import FloatArray

from .array_api import beside, from_numpy, is_device_array, shared_namespace, slices, to_numpy
from .blocks import DeviceBlocks, fold_on_device
from .sums import RUN, column_sums, one_hot, row_product

__all__ = ["RowMoments", "group_means_on_device", "moments_on_device"]


#: Rows whose mean is the point that sums are taken about.
SOME_ROWS = 2**16


class RowMoments(NamedTuple):
    """Sums about a point."""

    shift: FloatArray
    """(p,) that point, among the rows."""
    first: FloatArray
    """(p,) sum of the differences to it."""
    second: FloatArray
    """(p, p) sum of their products, or (p,) of their squares."""


def moments_on_device(
    X: DeviceBlocks, rows: Any, memberships: FloatArray | None, products: bool
) -> RowMoments:
    """Sums of some rows, weighted by their memberships.

    Parameters
    ----------
    X : DeviceBlocks
    rows : array of int, of NumPy or beside the table
        Their numbers, at least one.
    memberships : array, optional
        How much each of them counts; 1 by default.
    products : bool
        Whether columns are multiplied with each other or with themselves only.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.arrays.device.moments import moments_on_device
    >>> X = as_blocks(xp.asarray([[1.0, 0.0], [9.0, 9.0], [3.0, 4.0]]))
    >>> moments_on_device(X, np.array([0, 2], np.int32), None, True)._asdict()
    {'shift': array([2., 2.]), 'first': array([0., 0.]), 'second': array([[2., 4.],
           [4., 8.]])}
    """
    xp, p = shared_namespace(X=X.values), X.shape[1]
    shift = from_numpy(np.zeros(p), X.values)

    def sums(part: slice) -> tuple[Any, Any]:
        nonlocal shift
        block = X.rows(rows[part] if is_device_array(rows) else from_numpy(rows[part], X.values))
        if part.start == 0:
            # Sums about a point among the rows lose no digits to a large offset.
            some = block[: min(SOME_ROWS, block.shape[0]), :]
            middle = column_sums(some) / some.shape[0]
            shift = xp.astype(xp.astype(middle, block.dtype), xp.float64)
        block = block - xp.astype(shift, block.dtype)
        weighted = block
        if memberships is not None:
            weighted = block * from_numpy(memberships[part], block, block.dtype)[:, None]
        second = row_product(weighted, block) if products else column_sums(weighted * block)
        return column_sums(weighted), second

    def work(size: int) -> tuple[Any, Any]:
        return ordered_sum(sums(part) for part in slices(rows.shape[0], size))

    first, second = X.in_blocks(work, 4 * p + products * p * p // RUN, "the sums over a cluster")
    return RowMoments(to_numpy(shift), to_numpy(first), to_numpy(second))


def group_means_on_device(X: DeviceBlocks, labels: Any, size: int) -> FloatArray:
    """(size, p) means of the rows with each label, of NumPy or beside the table; −1 is left out.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.arrays.device.moments import group_means_on_device
    >>> X = as_blocks(xp.asarray([[1.0], [2.0], [5.0]]))
    >>> group_means_on_device(X, xp.asarray([0, 0, -1]), 1)
    array([[1.5]])
    """
    labels = beside(labels, X.values)
    xp = shared_namespace(X=X.values, labels=labels)
    low, means = X.ranges.low, X.means

    def sums(block: Any, rows: slice) -> tuple[Any, Any]:
        members = one_hot(labels[rows], size)
        return (
            xp.count_nonzero(members, axis=0),
            row_product(xp.astype(members, block.dtype), block),
        )

    centred = X.recentred(low, means).fleeting()
    counts, first = fold_on_device(
        sums, centred, 3 * X.shape[1] + 2 * size, "the means of clusters"
    )
    return to_numpy(first) / to_numpy(counts)[:, None] + (low + means)
