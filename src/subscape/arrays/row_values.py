"""An entry per row, such as labels or distances, wherever the rows lie: in memory or on a cluster.

Row values are made by :meth:`subscape.arrays.blocks.Blocks.row_values` and filled in passes. What
is asked of them here gives the same bits in both places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IndexArray

from .device.array_api import equal
from .remote import rows as remote
from .remote.rows import RemoteRows
from .row_blocks import ordered_sum

__all__ = [
    "Farthest",
    "Listed",
    "brought",
    "change_rows",
    "each_row",
    "entry",
    "equal_rows",
    "farthest_row",
    "first_rows",
    "fold_rows",
    "handed_out",
    "is_distant",
    "order_statistics",
    "put_entry",
    "row_counts",
]


def is_distant(values: Any) -> bool:
    """Whether row values lie on a cluster."""
    return isinstance(values, RemoteRows)


def brought(values: Any) -> NDArray[Any]:
    """Row values in memory."""
    return values.to_numpy() if is_distant(values) else values


def handed_out(values: Any, dtype: Any) -> Any:
    """Row values as users get them: an array, or a Dask array where they lie on a cluster."""
    return values.to_dask(dtype) if is_distant(values) else values.astype(dtype, copy=False)


def fold_rows(stats: Callable[..., Any], *values: Any, step: int) -> Any:
    """Sum of what ``stats`` says of the rows of each block.

    Parameters
    ----------
    stats : callable
        Given a slice of rows, and these rows of all values.
    values : row values
        All in the same place.
    step : int
        Rows of a block, see :attr:`subscape.arrays.blocks.Blocks.block_rows`.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.row_values import fold_rows
    >>> fold_rows(lambda rows, own: float(own.sum()), np.arange(10.0), step=4)
    45.0
    """
    if is_distant(values[0]):
        return remote.fold_rows(stats, *values, step=step)
    n_rows = len(values[0])
    # No rows are one empty block.
    starts = range(0, n_rows, step) if n_rows else (0,)
    slices = [slice(at, min(at + step, n_rows)) for at in starts]
    return ordered_sum(stats(rows, *(each[rows] for each in values)) for rows in slices)


def each_row(
    function: Callable[..., Any], *values: Any, dtype: Any, width: tuple[int, ...] = ()
) -> Any:
    """New row values: what a function makes of the rows of others, however they are cut.

    >>> import numpy as np
    >>> from subscape.arrays.row_values import each_row
    >>> each_row(lambda rows, own: own % 2, np.arange(4), dtype=np.int32)
    array([0, 1, 0, 1], dtype=int32)
    """
    if is_distant(values[0]):
        return remote.each_row(function, *values, dtype=dtype, width=width)
    found = function(slice(0, len(values[0])), *values)
    return np.asarray(found).astype(dtype, copy=False)


def change_rows(function: Callable[..., Any], *values: Any, changes: Any) -> None:
    """Let a function write into rows of ``changes``, which come after those of the other values."""

    def write(rows: slice, *own: Any) -> int:
        function(rows, *own)
        return 0

    if is_distant(changes):
        remote.change_rows(write, *values, changes=changes)
    else:
        write(slice(0, len(changes)), *values, changes)


def equal_rows(a: Any, b: Any) -> bool:
    """Whether all entries of two row values are the same, also on a device."""
    if not is_distant(a):
        return bool(equal(a, b))
    return int(fold_rows(lambda rows, x, y: int((x != y).sum()), a, b, step=len(a))) == 0


def row_counts(labels: Any, number: int) -> IndexArray:
    """How many rows have each label ``0 .. number - 1``."""
    return np.asarray(
        fold_rows(
            lambda rows, own: np.bincount(own[own >= 0], minlength=number), labels, step=len(labels)
        )
    )


class Listed:
    """Entries one after the other; the sum of two is both of them."""

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def __add__(self, other: Listed) -> Listed:
        return Listed(self.entries + other.entries)


class _First:
    """The first row of each label; the sum of two is the earlier one of each."""

    def __init__(self, rows: IndexArray) -> None:
        self.rows = rows

    def __add__(self, other: _First) -> _First:
        return _First(np.minimum(self.rows, other.rows))


def first_rows(labels: Any, number: int, lowest: int = 0) -> IndexArray:
    """The first row with each of ``number`` labels, the number of rows where there is none.

    The labels count from ``lowest``.

    >>> import numpy as np
    >>> from subscape.arrays.row_values import first_rows
    >>> first_rows(np.array([-1, 2, 2, 0]), 3)
    array([3, 4, 1])
    >>> first_rows(np.array([-1, 2, 2, 0]), 2, lowest=-1)
    array([0, 3])
    """
    n_rows = len(labels)

    def first(rows: slice, own: NDArray[Any]) -> _First:
        found = np.full(number, n_rows, np.intp)
        present, at = np.unique(own, return_index=True)
        present = present.astype(np.intp) - lowest
        inside = (present >= 0) & (present < number)
        found[present[inside]] = at[inside] + rows.start
        return _First(found)

    return fold_rows(first, labels, step=n_rows).rows


class Farthest:
    """A value and its row; the sum of two is the larger one, or the first of equal ones."""

    def __init__(self, value: float, row: int) -> None:
        self.value, self.row = value, row

    def __add__(self, other: Farthest) -> Farthest:
        return other if other.value > self.value else self


def entry(values: Any, row: int) -> Any:
    """The entry of one row."""
    return values.get(row) if is_distant(values) else values[row]


def put_entry(values: Any, row: int, value: Any, column: int | None = None) -> None:
    """Write the entry of one row, of one column if there are several."""
    if is_distant(values):
        values.put(row, () if column is None else column, value)
    else:
        values[row if column is None else (row, column)] = value


def farthest_row(values: Callable[..., FloatArray], *given: Any) -> tuple[float, int]:
    """The largest of what a function computes from a slice and its row values; its first row.

    >>> import numpy as np
    >>> from subscape.arrays.row_values import farthest_row
    >>> farthest_row(lambda rows, own: -own, np.array([3.0, 1.0, 1.0]))
    (-1.0, 1)
    """

    def largest(rows: slice, *own: Any) -> Farthest:
        found = values(rows, *own)
        row = int(found.argmax())
        return Farthest(float(found[row]), rows.start + row)

    found = fold_rows(largest, *given, step=len(given[0]))
    return found.value, found.row


# -- order statistics ------------------------------------------------------------------------------

#: Bits that are settled in one pass over the values.
DIGIT = 16


def order_statistics(values: Any, labels: Any, ranks: dict[int, int]) -> dict[int, float]:
    """The value of a rank among the rows of each label, without sorting or moving them.

    Numbers that are not negative are ordered as their bits are: four passes settle sixteen of
    these each.

    Parameters
    ----------
    values : row values of float64
        None negative.
    labels : row values of int
    ranks : dict
        Of each label that is asked for, the rank, counted from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.row_values import order_statistics
    >>> values, labels = np.array([5.0, 1.0, 3.0, 2.0]), np.array([0, 0, 1, 0])
    >>> order_statistics(values, labels, {0: 1, 1: 0})
    {0: 2.0, 1: 3.0}
    """
    asked = list(ranks)
    left = np.array([ranks[each] for each in asked], np.int64)
    known = np.zeros(len(asked), np.uint64)
    for shift in range(64 - DIGIT, -1, -DIGIT):

        def digits(
            rows: slice, own: FloatArray, label: Any, known: Any = known, shift: int = shift
        ) -> NDArray[np.int64]:
            bits = np.abs(own).view(np.uint64)
            found = np.zeros((len(asked), 2**DIGIT), np.int64)
            for i, each in enumerate(asked):
                mine = bits[label == each]
                if shift + DIGIT < 64:
                    mine = mine[mine >> np.uint64(shift + DIGIT) == known[i]]
                digit = (mine >> np.uint64(shift)) & np.uint64(2**DIGIT - 1)
                found[i] = np.bincount(digit.astype(np.intp), minlength=2**DIGIT)
            return found

        counts = fold_rows(digits, values, labels, step=len(values))
        below = np.cumsum(counts, axis=1)
        for i in range(len(asked)):
            digit = int(np.searchsorted(below[i], left[i], side="right"))
            left[i] -= below[i, digit - 1] if digit else 0
            known[i] = (known[i] << np.uint64(DIGIT)) | np.uint64(digit)
    return dict(zip(asked, known.view(np.float64).tolist(), strict=True))
