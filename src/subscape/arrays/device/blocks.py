"""Tables of torch, cupy and the like: blocks of rows that stay on their device.

To whoever only knows :class:`subscape.arrays.blocks.Blocks` such a table is one more source, whose
blocks are copied to the computer's memory. Passes that know better ask for the blocks where they
lie, and only sums come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.bin_counts import ColumnRanges
from subscape.arrays.row_blocks import Blocks, ordered_sum
from subscape.arrays.sources import check_two_dims
from subscape.core.types import FloatArray, IndexArray

from .array_api import (
    device_of,
    from_numpy,
    in_smaller_blocks,
    is_device_array,
    is_memory_error,
    shared_namespace,
    slices,
    to_numpy,
)
from .sums import RUN, column_sums

__all__ = [
    "DeviceBlocks",
    "DeviceSource",
    "fold_on_device",
    "is_on_device",
    "map_on_device",
    "same_device",
]

#: Values of a block and of what is made of it at the same time, 1 GB in float32.
MOST_VALUES = 2**28

Statistics = TypeVar("Statistics")


class DeviceSource:
    """An array of another library, as :class:`subscape.arrays.sources.Source`."""

    names: tuple[str, ...] | None = None

    def __init__(self, values: Any) -> None:
        check_two_dims(tuple(values.shape))
        self._xp = shared_namespace(X=values)
        if not self._xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
            raise TypeError(f"numbers are needed, but the table holds {values.dtype}")
        single = values.dtype == self._xp.float32
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        self.shape = (int(values.shape[0]), int(values.shape[1]))
        # Of torch: nothing is to be derived from what is done here.
        self.values = values.detach() if hasattr(values, "detach") else values

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        for part in slices(self.shape[0], size):
            yield to_numpy(self.numbers(self.values[part, :]))

    def take(self, rows: IndexArray) -> NDArray[Any]:
        chosen = from_numpy(rows, self.values)
        return to_numpy(self.numbers(self._xp.take(self.values, chosen, axis=0)))

    def numbers(self, block: Any) -> Any:
        """A block in float32 or float64."""
        dtype = self._xp.float32 if self.dtype == np.float32 else self._xp.float64
        return block if block.dtype == dtype else self._xp.astype(block, dtype)


class DeviceBlocks(Blocks):
    """A table on a device; made by :func:`subscape.arrays.blocks.as_blocks`.

    Where it lies it is worked on in its own precision: float32, or float64 for everything else.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> X = as_blocks(xp.asarray([[1.0], [4.0]]))
    >>> X.ranges.high, X.to_numpy().tolist()
    (array([4.]), [[1.0], [4.0]])
    >>> [block for _, block in X.recentred(np.array([1.0])).parts(1)]
    [Array([[0.]], dtype=array_api_strict.float64), Array([[3.]], dtype=array_api_strict.float64)]
    """

    _source: DeviceSource

    @property
    def values(self) -> Any:
        """The array as it was given."""
        return self._source.values

    @property
    def single(self) -> bool:
        """Whether blocks there are float32."""
        return self._source.dtype == np.float32

    @property
    def sample(self) -> Any:
        """A little of the table, of the type and on the device of its blocks."""
        return self._source.numbers(self.values[:1, :1])

    @property
    def on_device(self) -> bool:
        """Whether blocks are to be had there: not once NumPy functions change them."""
        return self._change is None

    def parts(self, size: int) -> Iterator[tuple[slice, Any]]:
        """Blocks of at most ``size`` rows on the device, with the rows they are."""
        whole = self.held
        for part in slices(len(self), size):
            yield part, self._moved(self.values[part, :]) if whole is None else whole[part, :]

    def rows(self, chosen: Any) -> Any:
        """Some rows on the device; ``chosen`` are their numbers, there too."""
        xp, whole = shared_namespace(X=self.values, rows=chosen), self.held
        if whole is not None:
            return xp.take(whole, chosen, axis=0)
        return self._moved(xp.take(self.values, chosen, axis=0))

    def fleeting(self) -> Self:
        """The same table for one pass: it is recentred block by block, without a copy."""
        vars(self)["held"] = None
        return self

    @cached_property
    def held(self) -> Any:
        """The table recentred, on the device; None where there is no room for a second one.

        None, too, of a table that is as it was given.
        """
        if self._columns is None and self._origin is None:
            return None
        xp = shared_namespace(X=self.values)
        first = self._moved(self.values[:1, :])
        size = max(1, MOST_VALUES // self.shape[1])
        try:
            whole = xp.empty(self.shape, dtype=first.dtype, device=device_of(first))
            for part in slices(len(self), size):
                whole[part, :] = self._moved(self.values[part, :])
        except Exception as error:
            if not is_memory_error(error):
                raise
            return None
        return whole

    def _moved(self, block: Any) -> Any:
        block = self._source.numbers(block)
        xp = shared_namespace(X=block)
        if self._columns is not None:
            block = xp.take(block, from_numpy(self._columns, block), axis=1)
        if self._origin is not None:
            low, means, factor, _ = self._origin
            origin = low + means
            near = origin.astype(self._source.dtype)
            block = block - from_numpy(near, block)
            if (near != origin).any():
                # What is left of a mean that was rounded to the precision of the table.
                block = block - from_numpy(origin - near, block, block.dtype)
            if (factor != 1).any():
                block = block * from_numpy(factor, block, block.dtype)
        return block

    @cached_property
    def ranges(self) -> ColumnRanges:
        """Smallest and largest value of each column, and whether all are finite; one pass."""
        if not self.on_device:
            return super().ranges
        xp = shared_namespace(X=self.values)

        def work(size: int) -> ColumnRanges:
            low, high, finite, inf = [], [], True, float("inf")
            for _, block in self.parts(size):
                if bool(xp.all(xp.isfinite(block))):
                    low.append(xp.min(block, axis=0))
                    high.append(xp.max(block, axis=0))
                    continue
                finite, absent = False, xp.isnan(block)
                low.append(xp.min(xp.where(absent, inf, block), axis=0))
                high.append(xp.max(xp.where(absent, -inf, block), axis=0))
            lowest = to_numpy(xp.min(xp.stack(low), axis=0)).astype(np.float64)
            highest = to_numpy(xp.max(xp.stack(high), axis=0)).astype(np.float64)
            nothing = lowest > highest
            lowest[nothing] = highest[nothing] = np.nan
            return ColumnRanges(lowest, highest, finite)

        return self.in_blocks(work, 2 * self.shape[1], "the ranges of the columns")

    @cached_property
    def means(self) -> FloatArray:
        """Mean of every column above its smallest value; one pass."""
        if not self.on_device or not self.ranges.finite:
            return super().means
        above = self.recentred(self.ranges.low).fleeting()
        total = fold_on_device(
            lambda block, rows: column_sums(block), above, 2 * self.shape[1], "the means"
        )
        return to_numpy(total) / len(self)

    def column_squares(self) -> FloatArray:
        """Sum of the squares of each column; one pass."""
        if not self.on_device:
            return super().column_squares()

        def squares(block: Any, rows: slice) -> Any:
            return column_sums(block * block)

        # For one pass no copy is made that is not there.
        once = self
        if "held" not in vars(self):
            once = type(self)(self._source, self._columns, self._origin).fleeting()
        width, what = 2 * self.shape[1], "the squares of the columns"
        return to_numpy(fold_on_device(squares, once, width, what))

    @cached_property
    def square(self) -> float:
        """Sum of the squares of all values; one pass."""
        return float(self.column_squares().sum()) if self.on_device else super().square

    def within_reach(self) -> NDArray[Any]:
        return self.to_numpy()

    def in_blocks(self, work: Callable[[int], Statistics], width: int, what: str) -> Statistics:
        """``work`` with as many rows at a time as memory allows; see :func:`fold_on_device`."""
        least = max(1, min(RUN, len(self)))
        rows = max(least, min(len(self), MOST_VALUES // max(width, 1) // RUN * RUN))
        return in_smaller_blocks(work, rows, least, what)


def is_on_device(X: Any) -> TypeGuard[DeviceBlocks]:
    """Whether a table is to be worked on where it lies."""
    return isinstance(X, DeviceBlocks) and X.on_device


def same_device(X: Any, **others: Any) -> None:
    """Refuse arrays that lie on another device than the table; NumPy arrays go with any.

    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.device.blocks import same_device
    >>> same_device(xp.zeros((2, 1)), labels=np.zeros(2), init=xp.zeros(2))
    """
    table = X.values if isinstance(X, DeviceBlocks) else X
    if is_device_array(table):
        shared_namespace(
            X=table, **{name: each for name, each in others.items() if is_device_array(each)}
        )


def fold_on_device(
    stats: Callable[[Any, slice], Statistics], X: DeviceBlocks, width: int, what: str
) -> Statistics:
    """Sum statistics of the blocks of a table on its device, in the order of the blocks.

    Parameters
    ----------
    stats : callable
        Given a block there and the slice of the table it is, returns an array of the device, or a
        tuple of these.
    X : DeviceBlocks
    width : int
        Values per row that exist at the same time. Where the device has no memory left, fewer
        rows are taken at a time.
    what : str
        What is done, for the message if even a few rows are too many.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.arrays.device.blocks import fold_on_device
    >>> X = as_blocks(xp.asarray([[1.0], [4.0]]))
    >>> fold_on_device(lambda block, rows: xp.sum(block), X, 1, "the sum")
    Array(5., dtype=array_api_strict.float64)
    """

    def work(size: int) -> Statistics:
        return ordered_sum(stats(block, rows) for rows, block in X.parts(size))

    return X.in_blocks(work, width, what)


def map_on_device(change: Callable[[Any], Any], X: DeviceBlocks, width: int, what: str) -> Any:
    """What is made of the blocks of a table on its device, one below another.

    The parameters are those of :func:`fold_on_device`, but for ``change``, which is given a block
    alone and returns an array of the device with as many rows.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.arrays.device.blocks import map_on_device
    >>> map_on_device(lambda block: block[:, 0], as_blocks(xp.asarray([[1.0], [4.0]])), 1, "a copy")
    Array([1., 4.], dtype=array_api_strict.float64)
    """
    xp = shared_namespace(X=X.values)
    return X.in_blocks(
        lambda size: xp.concat([change(block) for _, block in X.parts(size)]), width, what
    )
