"""Sums over the rows of a block on a device.

They are taken over short runs of rows in the precision of the table and added up in float64, so
that float32 loses nothing that matters over many rows.
"""

from __future__ import annotations

from typing import Any

from subscape.core.types import library_of

from .array_api import device_of, shared_namespace

__all__ = ["RUN", "column_sums", "one_hot", "row_counts", "row_product"]

#: Rows whose sums are taken in the precision of the table. Half floats count no further.
RUN = 2048


def row_product(left: Any, right: Any) -> Any:
    """``left.T @ right`` of two arrays with as many rows, in float64, on their device.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.device.sums import row_product
    >>> rows = xp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=xp.float32)
    >>> row_product(rows, rows)
    Array([[10., 14.],
           [14., 20.]], dtype=array_api_strict.float64)
    """
    xp = shared_namespace(left=left, right=right)
    n = left.shape[0]
    whole = n // RUN * RUN
    total = xp.zeros((left.shape[1], right.shape[1]), dtype=xp.float64, device=device_of(left))
    if whole:
        runs = [xp.reshape(side[:whole, :], (-1, RUN, side.shape[1])) for side in (left, right)]
        parts = xp.matmul(xp.matrix_transpose(runs[0]), runs[1])
        total = total + xp.sum(parts, axis=0, dtype=xp.float64)
    if whole < n:
        total = total + xp.astype(xp.matmul(left[whole:, :].T, right[whole:, :]), xp.float64)
    return total


def column_sums(block: Any) -> Any:
    """(p,) sum of each column, in float64.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.device.sums import column_sums
    >>> column_sums(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    Array([4., 6.], dtype=array_api_strict.float64)
    """
    # As a product: libraries sum in another precision by way of a copy.
    xp = shared_namespace(block=block)
    ones = xp.ones((block.shape[0], 1), dtype=block.dtype, device=device_of(block))
    return row_product(ones, block)[0, :]


def row_counts(left: Any, right: Any) -> Any:
    """(a, b) rows in which a column of ``left`` and one of ``right`` are both true; exact.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.device.sums import row_counts
    >>> row_counts(xp.asarray([[True], [True]]), xp.asarray([[True, False], [True, True]]))
    Array([[2, 1]], dtype=array_api_strict.int64)
    """
    xp = shared_namespace(left=left, right=right)
    # Half floats, where the matrix units take them, are fewer bytes.
    half = library_of(left) == "torch" and left.is_cuda
    narrow = xp.float16 if half else xp.float32
    return xp.astype(row_product(xp.astype(left, narrow), xp.astype(right, narrow)), xp.int64)


def one_hot(labels: Any, size: int) -> Any:
    """(n, size) whether a row has a label; a negative one is none of them.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.device.sums import one_hot
    >>> one_hot(xp.asarray([1, -1]), 2)
    Array([[False,  True],
           [False, False]], dtype=array_api_strict.bool)
    """
    xp = shared_namespace(labels=labels)
    numbers = xp.arange(size, dtype=labels.dtype, device=device_of(labels))
    return labels[:, None] == numbers[None, :]
