"""Tables on a cluster: Dask arrays and data frames, and files that the workers read themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from subscape.arrays import row_blocks
from subscape.arrays.backend import active
from subscape.arrays.row_blocks import Blocks
from subscape.arrays.sources import Source
from subscape.core.errors import ShapeMismatchError
from subscape.parallel.distributed import check_workers, table_client, threads_of

from .passes import Cut, Piece, Stretch, TableView, Visit, dealt, visit_all
from .rows import RemoteRows

__all__ = ["RemoteBlocks", "RemoteSource", "labels_beside", "remote_blocks"]

Statistics = TypeVar("Statistics")

#: Calls of a pass for each thread where workers read the rows: enough to deal them out evenly, and
#: for a slow worker to be helped; few enough to be long beside what sending one takes.
CALLS = 4


class RemoteSource(Source, Protocol):
    """A table that workers of a cluster hold in chunks, or can read in parts."""

    lengths: Sequence[int]
    """Rows of each chunk or row group."""
    cells_together: int
    """Up to so many cells are visited by one call; 0 where each chunk has a place of its own."""

    def graph(self) -> dict[Any, Any]:
        """The tasks behind the chunks; empty where workers read files."""

    def piece(self, piece: Piece, last: bool) -> tuple[Any, dict[Any, Any]]:
        """What stands for some rows in a call, and further tasks that it takes.

        ``last`` is true of rows that are needed by somebody who has none of the chunk's others.
        """


def remote_blocks(source: Source) -> Blocks | None:
    """The table as it lies on the cluster that is connected; None if there is none."""
    if not hasattr(source, "lengths"):
        return None
    client = table_client()
    if client is None:
        return None
    check_workers(client, active)
    return RemoteBlocks(source)


def labels_beside(table: Any, labels: Any) -> Any:
    """A Dask array of labels as row values of a table on a cluster; anything else as it is."""
    from_dask = type(labels).__module__.split(".")[0] == "dask" and hasattr(labels, "chunks")
    if not from_dask or not isinstance(table, RemoteBlocks):
        return labels
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or np.isnan(labels.shape[0]):
        return labels
    keys = list(labels.__dask_keys__())
    pieces = table.client.get(dict(labels.__dask_graph__()), keys, sync=False)
    bounds = np.cumsum([0, *labels.chunks[0]]).tolist()
    return RemoteRows(table.client, bounds, labels.dtype, 0, (), pieces)


class RemoteBlocks(Blocks):
    """A table on a cluster; made by :func:`subscape.arrays.blocks.as_blocks`.

    Passes run on the workers, and sums come back; row values stay there. To whoever only knows
    :class:`subscape.arrays.blocks.Blocks` it is one more table, whose blocks come here one after
    the other.
    """

    _source: RemoteSource

    @property
    def client(self) -> Any:
        return table_client()

    @property
    def _cut(self) -> Cut:
        # All views of a table that are cut alike share it.
        known = vars(self._source).setdefault("_cuts", {})
        if self.block_rows not in known:
            source, wanted = self._source, 1.0
            if source.cells_together:
                n_rows, width = source.shape
                threads = max(sum(threads_of(self.client).values()), 1)
                # Of many columns the statistics are what needs memory: p² numbers for each cluster
                # and block. Those of a stretch are then as large as one block for each cluster.
                together = min(
                    source.cells_together // width,
                    row_blocks.CELLS // width**2 * self.block_rows,
                )
                calls = max(CALLS, -(-n_rows // (threads * max(together, self.block_rows))))
                wanted = max(n_rows / (threads * calls), self.block_rows)
            known[self.block_rows] = Cut.of(source.lengths, self.block_rows, wanted)
        return known[self.block_rows]

    def _places(self) -> list[str] | None:
        """Who visits each stretch; None where that follows from where the chunks lie."""
        threads = threads_of(self.client) if self._source.cells_together else {}
        return dealt(self._cut.lengths, threads) if threads else None

    def fold(
        self,
        stats: Callable[..., Statistics],
        dtype: Any = None,
        *,
        reads: Sequence[Any] = (),
        writes: Sequence[Any] = (),
        start: Any = None,
    ) -> Statistics:
        found, written = self._visit(stats, dtype, reads, writes, start=start)
        for values, pieces in zip(writes, written, strict=True):
            values.bounds, values.pieces = self._cut.bounds, pieces
        return found

    def collect(self, function: Callable[..., Any], *, reads: Sequence[Any] = ()) -> list[Any]:
        return self._visit(function, None, reads, (), collect=True)[0]

    def row_values(self, dtype: Any, fill: Any = 0, width: tuple[int, ...] = ()) -> RemoteRows:
        return RemoteRows(self.client, self._cut.bounds, dtype, fill, width)

    def _visit(
        self,
        function: Callable[..., Any],
        dtype: Any,
        reads: Sequence[Any],
        writes: Sequence[RemoteRows],
        collect: bool = False,
        only: Sequence[Stretch] | None = None,
        start: Any = None,
        asked: frozenset[int] | None = None,
    ) -> tuple[Any, list[list[Any]]]:
        cut, source = self._cut, self._source
        stretches = cut.stretches if only is None else only
        places = self._places()
        beside: list[Any] = [self._beside(each).made() for each in reads]
        for values in writes:
            placed = self._beside(values)
            values.bounds, values.pieces = placed.bounds, placed.pieces
            beside.append(values.pieces or [None] * len(stretches))
        if only is not None:
            numbers = [cut.stretches.index(each) for each in only]
            beside = [[pieces[i] for i in numbers] for pieces in beside]
            places = places and [places[i] for i in numbers]
        view = TableView(source.shape[1], source.dtype, self._columns, self._origin, self._change)
        kept = self.dtype if dtype is None else np.dtype(dtype)
        fresh = tuple(each.fresh for each in writes)
        visit = Visit(function, view, cut.step, kept, fresh, asked)
        graph = source.graph()
        rows: dict[Stretch, list[Any]] = {}
        for stretch in stretches:
            most = max(piece.stop - piece.first for piece in stretch.pieces)
            own = []
            for piece in stretch.pieces:
                part, more = source.piece(piece, piece.stop - piece.first < most)
                own.append(part)
                graph.update(more)
            rows[stretch] = own
        return visit_all(
            self.client,
            visit,
            stretches,
            rows.__getitem__,
            beside,
            places=places,
            graph=graph,
            collect=collect,
            start=start,
        )

    def placed(self, values: Any) -> RemoteRows:
        """Row values, or an array with an entry per row, beside the rows of this table."""
        return self._beside(values)

    def _beside(self, values: Any) -> RemoteRows:
        if len(values) != len(self):
            raise ShapeMismatchError(
                f"the table has {len(self)} rows, what lies beside it {len(values)}"
            )
        if isinstance(values, RemoteRows):
            return values.cut(self._cut.bounds)
        return RemoteRows.of(np.asarray(values), self.client, self._cut.bounds)

    def _holding(self, rows: NDArray[Any]) -> list[Stretch]:
        """The stretches that some rows are in."""
        bounds = np.array(self._cut.bounds)
        chosen = np.unique(np.searchsorted(bounds, rows, side="right") - 1)
        return [self._cut.stretches[i] for i in chosen]

    def take(self, rows: Any, axis: int = 0) -> NDArray[Any]:
        wanted = np.asarray(rows, np.intp)
        order = np.argsort(wanted, kind="stable")
        ordered = wanted[order]

        def chosen(block: NDArray[Any], part: slice) -> NDArray[Any]:
            first, last = np.searchsorted(ordered, [part.start, part.stop])
            return block[ordered[first:last] - part.start]

        found = np.empty((len(wanted), self.shape[1]), self.dtype)
        if len(wanted):
            there = self._holding(ordered)
            first = np.unique(ordered // self.block_rows) * self.block_rows
            asked = frozenset(first.tolist())
            parts, _ = self._visit(chosen, None, (), (), collect=True, only=there, asked=asked)
            found[order] = np.concatenate(parts)
        return found

    def at_rows(
        self, function: Callable[..., Any], rows: Any, *, reads: Sequence[Any] = ()
    ) -> list[Any]:
        """What a function says of the blocks that some rows are in, called as in :meth:`fold`."""
        first = np.unique(np.asarray(rows) // self.block_rows) * self.block_rows
        found, _ = self._visit(
            function,
            None,
            reads,
            (),
            collect=True,
            only=self._holding(first),
            asked=frozenset(first.tolist()),
        )
        return list(found)

    def __iter__(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Every block, brought here; the first one by itself: often no other is asked for."""
        (first,) = self.at_rows(lambda block, part: block.copy(), [0])
        yield slice(0, len(first)), first
        for stretch in self._cut.stretches:
            blocks, _ = self._visit(
                lambda block, part: (part, block.copy()), None, (), (), collect=True, only=[stretch]
            )
            yield from (each for each in blocks if each[0].start)
