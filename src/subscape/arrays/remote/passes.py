"""A pass over a table on a cluster: every stretch of rows is visited where it lies.

The table is cut into stretches, each of whole blocks. Whoever holds the rows of a stretch computes
the statistics of its blocks; rows of files are dealt out, so that all workers are busy, and every
worker has all its calls of a pass from the start. The sum then walks from stretch to stretch, in
the order of the rows, and takes up one block after the other: no order changes, nobody holds the
statistics of all blocks, and a single sum comes to the client. Entries per row, such as labels,
stay on the workers from pass to pass. What a dead worker held is computed again by others.
"""

from __future__ import annotations

import ctypes
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import active
from subscape.arrays.row_blocks import Blocks, Origin, ordered_sum
from subscape.arrays.sources import checked_chunk
from subscape.core.errors import SubscapeError
from subscape.core.types import IndexArray
from subscape.parallel.distributed import Carried, awaited, on_worker
from subscape.version import __version__

__all__ = ["Cut", "Piece", "Stretch", "TableView", "Visit", "visit_all"]


@cache
def build() -> tuple[str, str]:
    """Version and kernels of this process: what the bits depend on."""
    return __version__, active()


class Piece(NamedTuple):
    """Neighbouring rows of one chunk or row group."""

    chunk: int
    first: int
    stop: int


class Stretch(NamedTuple):
    """Rows of the table that are visited together; whole blocks, the last one aside."""

    start: int
    stop: int
    pieces: tuple[Piece, ...]


class Cut(NamedTuple):
    """How a table is cut into stretches."""

    step: int
    """Rows of a block."""
    stretches: tuple[Stretch, ...]

    @property
    def bounds(self) -> tuple[int, ...]:
        """The first row of each stretch, and the number of rows."""
        return (*(each.start for each in self.stretches), self.stretches[-1].stop)

    @property
    def lengths(self) -> list[int]:
        """Rows of each stretch."""
        return [each.stop - each.start for each in self.stretches]

    @classmethod
    def of(cls, lengths: Sequence[int], step: int, wanted: float = 1) -> Cut:
        """Cut a table that lies in chunks of these lengths into stretches of whole blocks.

        A stretch begins with the first block that begins in its first chunk. It ends with rows of
        the next chunk, where a block reaches over the border. Chunks are visited together, so that
        a stretch has about ``wanted`` rows.

        >>> cut = Cut.of([5, 5], 4)
        >>> [(each.start, each.stop) for each in cut.stretches]
        [(0, 8), (8, 10)]
        >>> cut.stretches[0].pieces
        (Piece(chunk=0, first=0, stop=5), Piece(chunk=1, first=0, stop=3))
        """
        ends = np.cumsum(lengths)
        n_rows = int(ends[-1])
        possible = np.unique(np.minimum(-(-ends // step) * step, n_rows))
        if wanted > step:
            # The nearest ones to multiples: what one stretch has too much, others have less.
            targets = np.arange(wanted, n_rows, wanted)
            after = np.searchsorted(possible, targets).clip(1, len(possible) - 1)
            before = after - (targets - possible[after - 1] < possible[after] - targets)
            possible = np.unique([*possible[before], n_rows])
        borders = [0, *possible[possible > 0].tolist()]
        starts = ends - np.asarray(lengths)
        stretches = [
            Stretch(start, stop, tuple(_pieces(starts, ends, start, stop)))
            for start, stop in pairwise(borders)
        ]
        return cls(step, tuple(stretches))


def _pieces(starts: IndexArray, ends: IndexArray, start: int, stop: int) -> Iterator[Piece]:
    first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, stop)
    for chunk in range(int(first), int(last)):
        begin = int(starts[chunk])
        piece = Piece(chunk, max(start - begin, 0), min(stop, int(ends[chunk])) - begin)
        if piece.stop > piece.first:
            yield piece


class TableView(NamedTuple):
    """What a block is made of, and of what: the same as for a table in memory."""

    width: int
    dtype: np.dtype[Any]
    columns: IndexArray | None
    origin: Origin | None
    change: Callable[..., Any] | None


class Visit(NamedTuple):
    """What is done with every block; the same for all stretches."""

    function: Callable[..., Any]
    view: TableView | None
    """None where only row values are looked at."""
    step: int
    kept: Any
    """What blocks are converted to."""
    fresh: tuple[tuple[Any, Any, tuple[int, ...]] | None, ...]
    """Of each of the row values that are written: dtype, fill and width if there are none yet."""
    asked: frozenset[int] | None = None
    """First rows of the blocks that are visited; all if None."""


class PieceOutcome(NamedTuple):
    """What comes of a stretch."""

    parts: list[Any]
    """The statistics of each block."""
    written: list[NDArray[Any]]
    """Its rows of the row values that were written."""


#: Bytes of a function and its state that go along with every call; more goes to each worker once.
WITH_EACH_CALL = 2**16


#: Stretches of one worker whose statistics are added up by one task.
SUMMED_TOGETHER = 4


def dealt(lengths: Sequence[int], threads: Mapping[str, int]) -> list[str]:
    """Who reads each stretch of a file: neighbouring ones, and as many rows for every thread.

    As a worker's stretches follow each other, a sum goes to the next worker only once.

    >>> dealt([5, 5, 5, 5], {"a": 1, "b": 1})
    ['a', 'a', 'b', 'b']
    >>> dealt([5, 5, 5, 5], {"a": 3, "b": 1})
    ['a', 'a', 'a', 'b']
    """
    places = sorted(threads)
    shares = np.cumsum([threads[place] for place in places]) / sum(threads.values())
    ends = np.cumsum(lengths)
    middles = (ends - np.asarray(lengths) / 2) / ends[-1]
    return [places[i] for i in np.searchsorted(shares[:-1], middles)]


def _summed_together(places: Sequence[str | None]) -> Iterator[range]:
    """Neighbouring stretches that are summed by one task, where their worker is known."""
    first = 0
    for i in range(1, len(places) + 1):
        full = i - first == SUMMED_TOGETHER
        if i == len(places) or full or places[i] is None or places[i] != places[first]:
            yield range(first, i)
            first = i


def visit_all(
    client: Any,
    visit: Visit,
    stretches: Sequence[Stretch],
    rows_of: Callable[[Stretch], Sequence[Any]],
    beside: Sequence[Sequence[Any]],
    *,
    places: Sequence[str] | None = None,
    graph: Mapping[Any, Any] | None = None,
    collect: bool = False,
    start: Any = None,
) -> tuple[Any, list[list[Any]]]:
    """Visit the stretches of a table on a cluster.

    Parameters
    ----------
    client : distributed.Client
    visit : Visit
    stretches : sequence of Stretch
    rows_of : callable
        Where the rows of a stretch come from: keys of the graph, futures or readers.
    beside : sequence of sequences
        For each of the row values, its future or array for each stretch; None where they are fresh.
        Those that are written come last.
    places : sequence of str, optional
        Address of the worker that is to visit each stretch, as long as it lives. By default it is
        one that has rows of the stretch.
    graph : mapping, optional
        The tasks behind the keys.
    collect : bool
        Bring the statistics of all blocks as a list instead of their sum.
    start : optional
        What the first block is added to.

    Returns
    -------
    The sum or the list, and for each of the values that were written its futures
    """
    # By the first words of its name Dask knows how long a task takes.
    mark = uuid.uuid4().hex
    hows, visits, sums, kept_rows = (
        f"subscape_{kind}-{mark}" for kind in ("how", "visit", "sum", "rows")
    )
    tasks = _PlacedTasks(graph)
    carried = Carried((visit, build()))
    here: Sequence[str | None] = places or [None] * len(stretches)
    how: dict[str | None, Any] = dict.fromkeys(here, carried)
    if getsizeof(carried) > WITH_EACH_CALL:
        for j, place in enumerate(how):
            tasks.add(place, (hows, j), (_carried, carried))
            how[place] = (hows, j)
    wanted: list[Any] = []
    n_written = len(visit.fresh)
    for i, (stretch, place) in enumerate(zip(stretches, here, strict=True)):
        own = [values[i] for values in beside]
        rows = rows_of(stretch)
        call = (_visited, how[place], stretch.start, stretch.stop, len(rows), *rows, *own)
        tasks.add(place, (visits, i), call)
        if collect:
            tasks.add(place, (sums, i), (_parts, (visits, i)), first=True)
            wanted.append((sums, i))
        for j in range(n_written):
            tasks.add(place, (kept_rows, i, j), (_rows, (visits, i), j), first=True)
    if not collect:
        before: Any = Carried(start)
        for group in _summed_together(here):
            own = [(visits, i) for i in group]
            tasks.add(here[group[0]], (sums, group[0]), (_summed, before, *own), first=True)
            before = (sums, group[0])
        wanted.append(before)
    states = [(kept_rows, i, j) for j in range(n_written) for i in range(len(stretches))]
    futures = client.get(tasks.graph(), wanted + states, sync=False)
    answers, kept = futures[: len(wanted)], futures[len(wanted) :]
    found = awaited(client, answers)
    size = len(stretches)
    written = [kept[j * size : (j + 1) * size] for j in range(n_written)]
    if collect:
        return [part for parts in found for part in parts], written
    return found[0], written


class _PlacedTasks:
    """Tasks with the worker that is to do them, if it is there."""

    def __init__(self, free: Mapping[Any, Any] | None) -> None:
        self._free = dict(free or {})
        self._placed: dict[tuple[str | None, bool], dict[Any, Any]] = {}

    def add(self, place: str | None, key: Any, task: Any, first: bool = False) -> None:
        """One more task; those of ``first`` come before all others, as memory is freed by them."""
        self._placed.setdefault((place, first), {})[key] = task

    def graph(self) -> Any:
        from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

        layers = {"free": MaterializedLayer(self._free)}
        for number, ((place, first), tasks) in enumerate(self._placed.items()):
            notes: dict[str, Any] = {"priority": 1} if first else {}
            if place is not None:
                notes |= {"workers": [place], "allow_other_workers": True}
            layers[f"subscape-{number}"] = MaterializedLayer(tasks, annotations=notes or None)
        return HighLevelGraph(layers, {name: set() for name in layers})


# -- on the workers --------------------------------------------------------------------------------


#: Options of the C library's mallopt, and what a process without any setting comes to by itself.
MALLOC_OPTIONS = {-3: 32 * 2**20, -1: 64 * 2**20}


@cache
def keep_freed_memory() -> bool:
    """Let a worker use memory of one block again for the next; whether that was told.

    Dask starts its workers with ``MALLOC_TRIM_THRESHOLD_``, by which the C library hands every
    array of a block back to the system: all its pages are then made, and cleared, anew for each
    block, which took as long as the sums. 64 MB at most are kept in return.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # another C library, or another system
        return False
    return all(mallopt(option, value) for option, value in MALLOC_OPTIONS.items())


def _carried(how: Carried) -> Carried:
    return how


def _visited(how: Carried, start: int, stop: int, n_pieces: int, *given: Any) -> PieceOutcome:
    # A copy of its own for every call: functions may keep room to work in.
    visit, (version, kernels) = how.fresh()
    if (version, kernels) != build():
        raise SubscapeError(
            f"a worker would not give the same results: the client runs subscape {version} with "
            f"the kernels of {kernels}, and there it is {__version__} with those of {build()[1]}; "
            "install the same build there, or set SUBSCAPE_KERNELS alike"
        )
    keep_freed_memory()
    try:
        with on_worker():
            return _done(visit, start, stop, given[:n_pieces], list(given[n_pieces:]))
    except MemoryError as error:
        raise MemoryError(
            f"a worker has no memory left for rows {start} to {stop - 1} ({error}); give each "
            "worker more (its memory_limit) or fewer threads, and a Dask array or data frame "
            "smaller chunks"
        ) from None


def _done(
    visit: Visit, start: int, stop: int, pieces: Sequence[Any], beside: list[Any]
) -> PieceOutcome:
    first = len(beside) - len(visit.fresh)
    for j, fresh in enumerate(visit.fresh, first):
        if fresh is not None:
            dtype, fill, width = fresh
            beside[j] = np.full((stop - start, *width), fill, dtype)
        else:
            # What Dask holds is not written to: another pass may need it, or make it again.
            beside[j] = np.array(beside[j])
    parts: list[Any] = []
    asked = visit.asked
    last = stop if asked is None else max(row for row in asked if start <= row < stop)
    for rows, block in _blocks(visit, stop - start, pieces):
        place = slice(rows.start + start, rows.stop + start)
        if place.start > last:
            break  # what is left needn't be read
        if asked is not None and place.start not in asked:
            continue
        own = [place, *(values[rows] for values in beside)]
        if block is not None:
            own = [block.astype(visit.kept, copy=False), *own]
        parts.append(visit.function(*own))
    return PieceOutcome(parts, beside[first:])


def _blocks(
    visit: Visit, n_rows: int, pieces: Sequence[Any]
) -> Iterator[tuple[slice, NDArray[Any] | None]]:
    if visit.view is None:
        for start in range(0, n_rows, visit.step):
            yield slice(start, min(start + visit.step, n_rows)), None
        return
    width, dtype, columns, origin, change = visit.view
    source = StretchSource(pieces, (n_rows, width), dtype)
    table = Blocks(source, columns, origin, change)
    table.block_rows = visit.step
    yield from table


class StretchSource:
    """The rows of one stretch, as :class:`subscape.arrays.sources.Source`."""

    names: tuple[str, ...] | None = None

    def __init__(self, pieces: Sequence[Any], shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._pieces, self.shape, self.dtype = pieces, shape, dtype

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        for piece in self._pieces:
            # Files are read here, block by block; chunks are here already.
            if hasattr(piece, "chunks"):
                yield from piece.chunks(size)
            else:
                yield checked_chunk(piece, self.dtype, self.shape[1])

    def take(self, rows: IndexArray) -> None:
        return None


def _parts(outcome: PieceOutcome) -> list[Any]:
    return outcome.parts


def _rows(outcome: PieceOutcome, j: int) -> NDArray[Any]:
    return outcome.written[j]


def _summed(before: Any, *outcomes: PieceOutcome) -> Any:
    total = before.fresh() if hasattr(before, "fresh") else before
    return ordered_sum(chain.from_iterable(each.parts for each in outcomes), total)
