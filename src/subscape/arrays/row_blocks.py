"""Blocks: a table cut into blocks of rows, and sums over them in a fixed order.

The number of rows in a block follows from the number of columns alone, sums run in the order of the
blocks, and BLAS has one thread: the bits of a result depend neither on where the table lies nor on
how it is cut there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError
from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.parallel.threads import one_blas_thread

from .backend import compiled
from .bin_counts import ColumnRanges, ranges_of
from .sources import Source

Statistics = TypeVar("Statistics")

#: Cells of a block: 4 MB of float64, so that a few arrays of a block's size stay in the cache.
CELLS = 2**19
#: Even of a very wide table so many rows are read at a time.
LEAST_ROWS = 16


def rows_per_block(n_features: int) -> int:
    """Rows of one block of a table with so many columns.

    >>> from subscape.arrays.blocks import rows_per_block
    >>> rows_per_block(50), rows_per_block(10**6)
    (10485, 16)
    """
    return max(LEAST_ROWS, CELLS // n_features)


class Origin(NamedTuple):
    """Where the rows are moved to, see :meth:`Blocks.recentred`."""

    low: FloatArray
    means: FloatArray
    factor: FloatArray
    dtype: np.dtype[Any]


class Blocks:
    """A table that is read in blocks of rows, any number of times; use :func:`as_blocks`.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    columns : array of int, optional
        Columns to keep; all by default.
    origin : Origin, optional
        Where the rows are moved to first.
    change : callable, optional
        What is done to every block, maybe in place, before anybody sees it.

    Attributes
    ----------
    shape : (n_rows, n_features)
    dtype : float32 or float64
        Of the blocks.
    names : tuple of str or None
        Names of the columns, where the source has them.
    block_rows : int
        Rows of every block but the last.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> X = as_blocks(np.arange(6.0).reshape(3, 2))
    >>> [(rows, block.tolist()) for rows, block in X]
    [(slice(0, 3, None), [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])]
    """

    def __init__(
        self,
        source: Source,
        columns: IndexArray | None = None,
        origin: Origin | None = None,
        change: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self._source, self._columns = source, columns
        self._origin, self._change = origin, change
        names = source.names
        width = source.shape[1] if columns is None else len(columns)
        self.shape = (source.shape[0], width)
        self.dtype = source.dtype if change is None else np.dtype(np.float64)
        if origin is not None:
            self.dtype = origin.dtype
        if names is not None and columns is not None:
            names = tuple(names[j] for j in columns)
        self.names = names
        self.block_rows = rows_per_block(width)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Every block with the rows it holds, C-contiguous.

        It must not be written to, and holds until the next one only.
        """
        start = 0
        # Fresh memory for every block would cost more than what is done to it.
        room = self._room(min(self.block_rows, len(self)))
        for piece in _resliced(self._source.chunks(self.block_rows), self.block_rows):
            yield slice(start, start + len(piece)), self._changed(piece, room)
            start += len(piece)
        if start != len(self):
            raise SubscapeError(
                f"the table had {len(self)} rows and now has {start}: it has been changed while "
                "it was read"
            )

    def map(self, change: Callable[[FloatArray], FloatArray]) -> Self:
        """The table with every block changed, row by row; blocks are float64.

        ``change`` may write into the block it is given and return it.

        >>> import numpy as np
        >>> from subscape.arrays.blocks import as_blocks
        >>> as_blocks(np.array([[1.0], [4.0]])).map(np.sqrt).to_numpy().tolist()
        [[1.0], [2.0]]
        """
        before = self._change
        both = change if before is None else (lambda block: change(before(block)))
        return type(self)(self._source, self._columns, self._origin, both)

    def recentred(
        self,
        low: FloatArray,
        means: FloatArray | None = None,
        factor: FloatArray | None = None,
        dtype: Any = np.float64,
    ) -> Self:
        """The table as ``(x - low - means) * factor``, computed in float64.

        ``means`` is 0 and ``factor`` 1 by default; the blocks are of ``dtype``. Comes before any
        :meth:`map`.

        >>> import numpy as np
        >>> from subscape.arrays.blocks import as_blocks
        >>> X = as_blocks(np.array([[1.0], [4.0]]))
        >>> X.recentred(np.array([1.0]), np.array([1.5])).to_numpy().tolist()
        [[-1.5], [1.5]]
        """
        if self._change is not None or self._origin is not None:
            raise TypeError("blocks are recentred once, before they are changed")
        p = self.shape[1]
        origin = Origin(
            np.asarray(low, np.float64),
            np.zeros(p) if means is None else np.asarray(means, np.float64),
            np.ones(p) if factor is None else np.asarray(factor, np.float64),
            np.dtype(dtype),
        )
        return type(self)(self._source, self._columns, origin)

    def scaled(self, factor: FloatArray, dtype: Any = np.float64) -> Self:
        """The recentred table with every column multiplied by a number.

        >>> import numpy as np
        >>> from subscape.arrays.blocks import as_blocks
        >>> X = as_blocks(np.array([[1.0, 2.0]])).recentred(np.zeros(2))
        >>> X.scaled(np.array([3.0, 4.0])).to_numpy().tolist()
        [[3.0, 8.0]]
        """
        if self._change is not None or self._origin is None or (self._origin.factor != 1).any():
            raise TypeError("blocks are scaled once, after they are recentred")
        scaled = self._origin._replace(factor=np.asarray(factor), dtype=np.dtype(dtype))
        return type(self)(self._source, self._columns, scaled)

    @property
    def source(self) -> Source:
        """Where the rows come from."""
        return self._source

    def in_steps(self, block_rows: int) -> Self:
        """The same table in blocks of so many rows."""
        same = type(self)(self._source, self._columns, self._origin, self._change)
        same.block_rows = block_rows
        return same

    def select(self, columns: Any) -> Self:
        """The table with these columns only, before any :meth:`map`.

        The blocks are cut anew, as for any table of so many columns.
        """
        if self._change is not None:
            raise TypeError("columns are selected before blocks are changed")
        kept = np.arange(self.shape[1])[columns]
        chosen = type(self)(self._source, kept if self._columns is None else self._columns[kept])
        if "ranges" in vars(self):
            low, high, finite = self.ranges
            chosen.ranges = ColumnRanges(low[kept], high[kept], finite)
        return chosen

    def take(self, rows: Any, axis: int = 0) -> NDArray[Any]:
        """Some rows in memory; it takes a pass where they lie in files or chunks."""
        wanted = np.asarray(rows, np.intp)
        direct = self._source.take(wanted)
        if direct is not None:
            return self._changed(direct, self._room(len(wanted)))
        found = np.empty((len(wanted), self.shape[1]), self.dtype)
        order = np.argsort(wanted, kind="stable")
        first = 0
        for part, block in self:
            last = int(np.searchsorted(wanted, part.stop, sorter=order))
            found[order[first:last]] = block[wanted[order[first:last]] - part.start]
            first = last
            if first == len(wanted):
                break
        return found

    # -- passes ------------------------------------------------------------------------------------

    def fold(
        self,
        stats: Callable[..., Statistics],
        dtype: Any = None,
        *,
        reads: Sequence[Any] = (),
        writes: Sequence[Any] = (),
        start: Any = None,
    ) -> Statistics:
        """Sum of what ``stats`` says of each block, in the order of the blocks; one pass.

        Parameters
        ----------
        stats : callable
            Given a block, the slice of the table it is, and the rows of that slice of everything
            in ``reads`` and ``writes``. Its sums are those of :func:`ordered_sum`. It may be called
            in another process: of what lies around it, it changes only its rows of ``writes``.
        dtype : dtype, optional
            What the blocks are converted to.
        reads, writes : sequences of row values
            Made by :meth:`row_values` or :meth:`mapped`, or arrays with an entry per row.
        start : optional
            What the first block is added to.
        """
        kept, beside = self.dtype if dtype is None else dtype, (*reads, *writes)
        parts = (
            stats(block.astype(kept, copy=False), rows, *(values[rows] for values in beside))
            for rows, block in self
        )
        return ordered_sum(parts, start)

    def collect(self, function: Callable[..., Any], *, reads: Sequence[Any] = ()) -> list[Any]:
        """What a function, called as in :meth:`fold`, says of each block, as a list; one pass."""
        return [function(block, rows, *(each[rows] for each in reads)) for rows, block in self]

    def at_rows(
        self, function: Callable[..., Any], rows: Any, *, reads: Sequence[Any] = ()
    ) -> list[Any]:
        """What a function says of the blocks that some rows are in, called as in :meth:`fold`.

        >>> import numpy as np
        >>> from subscape.arrays.blocks import as_blocks
        >>> as_blocks(np.arange(3.0)[:, None]).at_rows(lambda block, rows: float(block[1, 0]), [1])
        [1.0]
        """
        asked = set((np.asarray(rows) // self.block_rows).tolist())
        found = []
        for part, block in self:
            if part.start // self.block_rows in asked:
                found.append(function(block, part, *(each[part] for each in reads)))
            if len(found) == len(asked):
                break
        return found

    def row_values(self, dtype: Any, fill: Any = 0, width: tuple[int, ...] = ()) -> Any:
        """An entry, or ``width`` of them, for every row, kept where the rows are.

        >>> import numpy as np
        >>> from subscape.arrays.blocks import as_blocks
        >>> as_blocks(np.zeros((3, 2))).row_values(np.int32, -1)
        array([-1, -1, -1], dtype=int32)
        """
        return np.full((len(self), *width), fill, dtype)

    def mapped(
        self,
        function: Callable[..., Any],
        dtype: Any,
        width: tuple[int, ...] = (),
        *,
        reads: Sequence[Any] = (),
    ) -> Any:
        """Row values computed from the rows; one pass.

        >>> import numpy as np
        >>> from subscape.arrays.blocks import as_blocks
        >>> X = as_blocks(np.array([[1.0, 5.0], [3.0, 2.0]]))
        >>> X.mapped(lambda block, rows: block.argmax(axis=1), np.int64)
        array([1, 0])
        """
        found = self.row_values(dtype, 0, width)
        self.fold(_Written(function), reads=reads, writes=(found,))
        return found

    @cached_property
    def ranges(self) -> ColumnRanges:
        """Smallest and largest value of each column, and whether all are finite; one pass."""
        return self.fold(lambda block, rows: _Ranges(ranges_of(block))).found

    @cached_property
    def means(self) -> FloatArray:
        """Mean of every column above its smallest value, NaN left out; one pass."""
        shifted = self.recentred(self.ranges.low)
        total, present = shifted.fold(lambda block, rows: column_sums(block))
        return np.asarray(total / present)

    def column_squares(self) -> FloatArray:
        """Sum of the squares of each column; one pass.

        >>> import numpy as np
        >>> from subscape.arrays.blocks import as_blocks
        >>> as_blocks(np.array([[1.0, 2.0], [2.0, 0.0]])).column_squares()
        array([5., 4.])
        """
        return self.fold(lambda block, rows: np.einsum("ij,ij->j", block, block), np.float64)

    @cached_property
    def square(self) -> float:
        """Sum of the squares of all values; one pass."""
        return self.fold(lambda block, rows: float(np.einsum("ij,ij->", block, block)), np.float64)

    @property
    def constant(self) -> BoolArray:
        """Which columns hold a single value, or none at all (NaN aside)."""
        low, high, _ = self.ranges
        return np.asarray((low == high) | np.isnan(high))

    def column(self, j: int) -> NDArray[Any]:
        """One column in memory."""
        return np.concatenate(self.collect(lambda block, rows: block[:, j].copy()))

    def to_numpy(self) -> NDArray[Any]:
        """The whole table in memory."""
        whole = np.empty(self.shape, self.dtype)
        for rows, block in self:
            whole[rows] = block
        return whole

    def within_reach(self) -> Self | NDArray[Any]:
        """The table where NumPy gets at it: as it is, or copied from a device into memory."""
        return self

    def _room(self, n_rows: int) -> NDArray[Any]:
        """Memory that blocks are changed in."""
        plain = self._change is None and self._origin is None
        return np.empty((0 if plain else n_rows, self.shape[1]), self.dtype)

    def _changed(self, piece: NDArray[Any], room: NDArray[Any]) -> NDArray[Any]:
        if self._columns is not None:
            piece = piece[:, self._columns]
        if self._change is None and self._origin is None:
            return np.ascontiguousarray(piece, self._source.dtype)
        block = room[: len(piece)]
        if self._origin is None:
            block[:] = piece
        else:
            low, means, factor, _ = self._origin
            recentre(np.ascontiguousarray(piece, self._source.dtype), low, means, factor, block)
        return block if self._change is None else np.ascontiguousarray(self._change(block))


class _Written:
    """What a function says of each block, written down beside its rows."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, block: NDArray[Any], rows: slice, *beside: Any) -> int:
        *reads, found = beside
        found[:] = self._function(block, rows, *reads)
        return 0


class _Ranges:
    """Ranges of columns; their sum is what holds both."""

    def __init__(self, found: ColumnRanges) -> None:
        self.found = found

    def __add__(self, other: _Ranges) -> _Ranges:
        one, two = self.found, other.found
        low, high = np.fmin(one.low, two.low), np.fmax(one.high, two.high)
        return _Ranges(ColumnRanges(low, high, one.finite and two.finite))


def ordered_sum(parts: Iterable[Statistics], total: Any = None) -> Statistics:
    """Sum statistics in the order in which they come, as :func:`fold` does.

    ``total`` is the sum of those that came before. What adds up in place instead of making a new
    sum has a method ``fresh`` that returns a copy.

    >>> from subscape.arrays.blocks import ordered_sum
    >>> ordered_sum((i, 2 * i) for i in range(4))
    (6, 12)
    """
    with one_blas_thread():
        for part in parts:
            total = part if total is None else _added(total, part)
    return cast(Statistics, total)


def _added(total: Any, part: Any) -> Any:
    if not isinstance(total, tuple):
        return total + part
    sums = [_added(one, other) for one, other in zip(total, part, strict=True)]
    return type(total)(*sums) if hasattr(total, "_fields") else tuple(sums)


def _resliced(chunks: Iterator[NDArray[Any]], size: int) -> Iterator[NDArray[Any]]:
    """The same rows in pieces of ``size``, the last one aside."""
    held: list[NDArray[Any]] = []
    have = 0
    for chunk in chunks:
        while len(chunk):
            piece, chunk = chunk[: size - have], chunk[size - have :]
            held.append(piece)
            have += len(piece)
            if have == size:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, have = [], 0
    if held:
        yield held[0] if len(held) == 1 else np.concatenate(held)


# -- rows moved to another origin and scale: the first thing that is done to every block -----------


@compiled("_recentring")
def recentre(
    X: NDArray[np.floating],
    low: FloatArray,
    means: FloatArray,
    factor: FloatArray,
    out: NDArray[np.floating],
) -> None:
    """Write ``(X - low - means) * factor``, computed in float64, into ``out``.

    Parameters
    ----------
    X : (n, p) array of float32 or float64
    low : (p,) array
        A value of each column: subtracted first, and exactly, so that an offset of the column
        leaves no trace of rounding.
    means : (p,) array
        Means of what is left.
    factor : (p,) array
    out : (n, p) array of float32 or float64

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.blocks import recentre
    >>> out = np.empty((2, 1))
    >>> recentre(np.array([[7.0], [9.0]]), np.array([7.0]), np.ones(1), np.array([0.5]), out)
    >>> out.ravel()
    array([-0.5,  0.5])
    """
    moved = out if out.dtype == np.float64 else np.empty(X.shape)
    np.subtract(X, low, out=moved)
    moved -= means
    moved *= factor
    if moved is not out:
        out[:] = moved


def column_sums(block: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Sum of every column of a block and how many values it has, NaN left out."""
    block = block.astype(np.float64, copy=False)
    total = block.sum(axis=0)
    if not np.isnan(total).any():
        return total, np.full(len(total), len(block), np.intp)
    present = np.count_nonzero(~np.isnan(block), axis=0)
    return np.nansum(block, axis=0), present
