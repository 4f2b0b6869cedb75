"""First and second moments of the rows of each cluster, summed in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.kernels.blocks import Blocks, one_blas_thread
from subscape.kernels.device_blocks import DeviceBlocks, is_there
from subscape.kernels.device_moments import moments_there

FloatArray = NDArray[np.float64]
#: A table in memory, or one that is read in blocks of rows.
Numbers = NDArray[Any] | Blocks

#: Cells of one block of rows: small enough for the cache, so that a pass reads the table once.
BLOCK_CELLS = 200_000
#: Cells of the blocks and sums that are gathered in one pass over a table that is not in memory.
PASS_CELLS = 2**25


class Part(NamedTuple):
    """Rows of a cluster (or of the noise) and their memberships; None where all of them are 1."""

    rows: NDArray[np.int32]
    memberships: FloatArray | None

    @property
    def weight(self) -> float:
        """Number of rows, or their summed memberships."""
        return float(len(self.rows) if self.memberships is None else self.memberships.sum())


class Moments(NamedTuple):
    """Weight, mean and (with 1 / weight) variance of every column of some rows."""

    weight: float
    mean: FloatArray
    variances: FloatArray

    @property
    def square(self) -> float:
        """Mean squared length of the rows: not finite where some value isn't."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.variances.sum() + np.square(self.mean).sum())


def blocks(table: Numbers, part: Part) -> Iterator[tuple[FloatArray, FloatArray | None]]:
    """Rows of a part as float64, and their memberships, block by block.

    A block may be written to, and is overwritten by the next one.
    """
    if isinstance(table, Blocks):
        for _, block, memberships in _dealt(table, [part]):
            yield block, memberships
        return
    rows, p = part.rows, table.shape[1]
    step = _step(p)
    # Neighbouring rows are sliced: fetching them one by one costs as much as the sums.
    run = len(rows) > 0 and int(rows[-1]) - int(rows[0]) + 1 == len(rows)
    room = np.empty((min(step, len(rows)), p))
    direct = table.dtype == np.float64
    for start in range(0, len(rows), step):
        chosen = rows[start : start + step]
        block = room[: len(chosen)]
        if run:
            block[:] = table[chosen[0] : chosen[-1] + 1]
        elif direct:
            # Row numbers are in range; saying so spares NumPy a copy through a buffer.
            np.take(table, chosen, axis=0, out=block, mode="clip")
        else:
            block[:] = table.take(chosen, axis=0)
        memberships = part.memberships
        yield block, None if memberships is None else memberships[start : start + step]


def _step(p: int) -> int:
    return max(64, BLOCK_CELLS // p)


def _dealt(
    table: Blocks, parts: Sequence[Part]
) -> Iterator[tuple[int, FloatArray, FloatArray | None]]:
    """Number of the part, block and memberships, for all parts in one pass over the table.

    Each part has the blocks that :func:`blocks` makes of a table in memory, so that sums over
    them have the same bits.
    """
    p = table.shape[1]
    step = _step(p)
    rooms = [np.empty((min(step, len(part.rows)), p)) for part in parts]
    done = np.zeros(len(parts), np.int64)
    ends = [len(part.rows) for part in parts]
    if not any(ends):
        return
    for span, rows in table:
        # A number of another type would have all row numbers converted, block after block.
        stop = np.int32(span.stop)
        for k, part in enumerate(parts):
            first, last = int(done[k]), int(np.searchsorted(part.rows, stop))
            while first < last:
                begin = first % step
                chosen = part.rows[first : min(last, first - begin + step)]
                many = len(chosen)
                rooms[k][begin : begin + many] = rows.take(chosen - span.start, axis=0)
                first += many
                if begin + many == step or first == len(part.rows):
                    memberships = part.memberships
                    whole = slice(first - begin - many, first)
                    yield (
                        k,
                        rooms[k][: begin + many],
                        None if memberships is None else memberships[whole],
                    )
            done[k] = last
        if done.tolist() == ends:
            break


class Sums:
    """First and second moments of a part, while its blocks come in."""

    def __init__(self, part: Part, p: int, products: bool) -> None:
        self._weight = part.weight
        self._shift: FloatArray | None = None
        self._first, self._second = np.zeros(p), np.zeros(p)
        self._full = products
        self._products = np.zeros((p, p) if products else (0, 0))

    def add(self, block: FloatArray, memberships: FloatArray | None) -> None:
        if self._shift is None:
            # Sums about a point among the rows lose no digits to a large offset.
            self._shift = block.mean(axis=0)
        block -= self._shift
        ones = np.ones(len(block)) if memberships is None else memberships
        self._first += ones @ block
        if not self._full:
            self._second += ones @ np.square(block, out=block)
            return
        if memberships is not None:
            block *= np.sqrt(memberships)[:, None]
        self._products += block.T @ block

    def add_there(self, table: DeviceBlocks, part: Part) -> None:
        """All rows of a part of a table on a device."""
        if len(part.rows) == 0:
            return
        found = moments_there(table, part.rows, part.memberships, self._full)
        self._shift, self._first = found.shift, found.first
        if self._full:
            self._products = found.second
        else:
            self._second = found.second

    def moments(self) -> Moments:
        """Mean and variance of every column."""
        if self._shift is None:
            p = len(self._first)
            return Moments(0.0, np.zeros(p), np.zeros(p))
        with np.errstate(over="ignore", invalid="ignore"):
            off = self._first / self._weight
            second = np.diag(self._products) if self._full else self._second
            variances = np.maximum(second / self._weight - np.square(off), 0.0)
            return Moments(self._weight, self._shift + off, variances)

    def covariance(self) -> FloatArray:
        """(p, p) covariance with 1 / weight."""
        with np.errstate(over="ignore", invalid="ignore"):
            off = self._first / self._weight
            return np.asarray(self._products / self._weight - np.outer(off, off))


def sums_of(table: Numbers, parts: Sequence[Part], products: Sequence[bool]) -> Iterator[Sums]:
    """Sums of every part.

    Of a table in memory one part after the other; one that is not is read once for as many parts
    as find room.
    """
    p = table.shape[1]
    if is_there(table):
        for part, full in zip(parts, products, strict=True):
            sums_there = Sums(part, p, full)
            with np.errstate(over="ignore", invalid="ignore"):
                sums_there.add_there(table, part)
            yield sums_there
        return
    at_once = 1
    if isinstance(table, Blocks):
        at_once = max(1, PASS_CELLS // (_step(p) * p + p * p * any(products)))
    for i in range(0, len(parts), at_once):
        group = parts[i : i + at_once]
        sums = [Sums(part, p, products[i + k]) for k, part in enumerate(group)]
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            if isinstance(table, Blocks):
                for k, block, memberships in _dealt(table, group):
                    sums[k].add(block, memberships)
            else:
                for block, memberships in blocks(table, group[0]):
                    sums[0].add(block, memberships)
        yield from sums


def moments_of(table: Numbers, part: Part) -> Moments:
    """Mean and variance of every column."""
    return next(sums_of(table, [part], [False])).moments()


def covariance_of(table: Numbers, part: Part) -> tuple[Moments, FloatArray]:
    """Mean, variances and the (p, p) covariance with 1 / weight; memory O(p²)."""
    sums = next(sums_of(table, [part], [True]))
    return sums.moments(), sums.covariance()
