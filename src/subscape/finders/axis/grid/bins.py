"""Tables cut into bins, and the clusters of dense units in one subspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.bitsets import WORD, pack, unpack
from subscape.arrays.blocks import Blocks
from subscape.arrays.discretize import assign_bins
from subscape.arrays.row_bits import rows_where
from subscape.core.types import BitArray, FloatArray, IntArray

from .units import face_components, pack_items, refine_units

__all__ = ["BinGrid", "Items", "UnitCluster", "clusters_in", "dense_items", "joined", "make_grid"]


Subspace = tuple[int, ...]
"""Columns in ascending order."""


class BinGrid(NamedTuple):
    """A table whose columns are cut into bins."""

    edges: list[FloatArray]
    """The limits of each column's bins."""
    bins: NDArray[np.uint16] | PackedBins
    """(p, n): the bin of every row in every column."""
    counts: list[IntArray]
    """Rows in each bin of each column."""
    least: list[IntArray]
    """Fewest rows that a dense unit with this bin may have."""

    @property
    def n_rows(self) -> int:
        return self.bins.shape[1]

    @property
    def n_columns(self) -> int:
        return self.bins.shape[0]

    def column(self, j: int) -> tuple[NDArray[np.uint16], IntArray]:
        """The bin of every row in a column, and the fewest rows that each bin asks for.

        Of a table in blocks, rows of bins that are not dense are in one more, which never is.
        """
        if isinstance(self.bins, PackedBins):
            return self.bins[j], np.append(self.least[j], self.n_rows + 1)
        return self.bins[j], self.least[j]


class PackedBins:
    """The dense bins of a table in blocks: a bit for each of them and each row.

    Parameters
    ----------
    packed : (m, ceil(n / 64)) array of uint64
        The packed rows of each dense bin.
    column, value : (m,) arrays of int
        Which column, and which bin of it, each is.
    n_bins : sequence of int
        Bins of each column.
    n_rows : int
    """

    def __init__(
        self,
        packed: BitArray,
        column: NDArray[np.int32],
        value: NDArray[np.int32],
        n_bins: Sequence[int],
        n_rows: int,
    ) -> None:
        self.packed, self._column, self._value = packed, column, value
        self._n_bins = n_bins
        self.shape = (len(n_bins), n_rows)

    def __getitem__(self, j: int) -> NDArray[np.uint16]:
        """The bin of every row in a column; the number of bins for all that are not dense."""
        found = np.full(self.shape[1], self._n_bins[j], np.uint16)
        for place in np.flatnonzero(self._column == j):
            found[unpack(self.packed[place], self.shape[1])] = self._value[place]
        return found

    def sets(
        self, rows: NDArray[np.int32], column: NDArray[np.int32], value: NDArray[np.int32]
    ) -> BitArray:
        """The same as :func:`pack_items`."""
        places = {
            (int(a), int(b)): i
            for i, (a, b) in enumerate(zip(self._column, self._value, strict=True))
        }
        chosen = [places[int(a), int(b)] for a, b in zip(column, value, strict=True)]
        if len(rows) == self.shape[1]:
            return self.packed if chosen == list(range(len(self.packed))) else self.packed[chosen]
        sets = np.empty((len(chosen), -(-len(rows) // WORD)), np.uint64)
        for i, place in enumerate(chosen):
            sets[i] = pack(unpack(self.packed[place], self.shape[1])[rows])
        return sets


class Items(NamedTuple):
    """The dense bins of all columns, in descending order of the rows they ask for."""

    column: NDArray[np.int32]
    value: NDArray[np.int32]
    least: IntArray

    def __len__(self) -> int:
        return len(self.column)

    def pack(self, bins: NDArray[np.uint16] | PackedBins, rows: NDArray[np.int32]) -> BitArray:
        """Pack the rows of each item."""
        if isinstance(bins, PackedBins):
            return bins.sets(rows, self.column, self.value)
        return pack_items(bins, rows, self.column, self.value)


class UnitCluster(NamedTuple):
    """Dense units of one subspace that hang together."""

    columns: Subspace
    units: NDArray[np.int32]
    """(u, d): the bin of each unit in each of the columns."""
    counts: IntArray
    """Rows in each unit."""


def make_grid(
    X: FloatArray | Blocks, edges: Sequence[FloatArray], least: Sequence[IntArray]
) -> BinGrid:
    """Put the rows of ``X`` into bins.

    The rows of a table in blocks are counted where they are, and of those in dense bins a bit for
    each comes here.
    """
    if isinstance(X, Blocks):
        return _grid_of_blocks(X, list(edges), list(least))
    bins = assign_bins(X, edges)
    counts = [
        np.bincount(column, minlength=len(limits) - 1)
        for column, limits in zip(bins, edges, strict=True)
    ]
    return BinGrid(list(edges), bins, counts, list(least))


def _grid_of_blocks(X: Blocks, edges: list[FloatArray], least: list[IntArray]) -> BinGrid:
    n_bins = [len(limits) - 1 for limits in edges]

    def counted(block: FloatArray, rows: slice) -> tuple[IntArray, ...]:
        return tuple(
            np.bincount(column, minlength=size)
            for column, size in zip(assign_bins(block, edges), n_bins, strict=True)
        )

    counts = list(X.fold(counted))
    dense = [np.flatnonzero(number >= few) for number, few in zip(counts, least, strict=True)]
    column = np.repeat(np.arange(len(dense)), [len(each) for each in dense]).astype(np.int32)
    value = np.concatenate(dense).astype(np.int32)
    packed = rows_where(
        X, lambda block: assign_bins(block, edges)[column] == value[:, None], len(column)
    )
    return BinGrid(edges, PackedBins(packed, column, value, n_bins, len(X)), counts, least)


def dense_items(grid: BinGrid) -> Items:
    """List the dense bins: those that ask for more rows first, then the fuller ones."""
    column = np.repeat(np.arange(grid.n_columns), [len(counts) for counts in grid.counts])
    value = np.concatenate([np.arange(len(counts)) for counts in grid.counts])
    counts, least = np.concatenate(grid.counts), np.concatenate(grid.least)
    dense = np.flatnonzero(counts >= least)
    order = dense[np.lexsort((value[dense], column[dense], -counts[dense], -least[dense]))]
    return Items(
        column[order].astype(np.int32), value[order].astype(np.int32), least[order].astype(np.int64)
    )


def clusters_in(grid: BinGrid, subspaces: Iterable[Subspace]) -> Iterator[UnitCluster]:
    """Find the clusters of each subspace: dense units, joined where they share a face.

    Subspaces in lexicographic order are fastest, because the units of common first columns are
    found once.
    """
    path: list[_Level] = []
    for columns in subspaces:
        shared = 0
        while shared < min(len(path), len(columns)) and path[shared].column == columns[shared]:
            shared += 1
        del path[shared:]
        for column in columns[shared:]:
            path.append(_refined(grid, path[-1] if path else None, column))
        yield from joined(columns, path[-1].units, path[-1].counts)


def joined(columns: Subspace, units: NDArray[np.int32], counts: IntArray) -> Iterator[UnitCluster]:
    """Join units of one subspace that share a face."""
    if len(units) == 0:
        return
    group = face_components(units)
    for k in range(int(group.max()) + 1):
        members = group == k
        yield UnitCluster(columns, units[members], counts[members])


class _Level(NamedTuple):
    """The dense units over the first columns of a subspace, and the rows in them."""

    column: int
    rows: NDArray[np.int32]
    unit: NDArray[np.int32]
    units: NDArray[np.int32]
    counts: IntArray
    least: IntArray


def _refined(grid: BinGrid, above: _Level | None, column: int) -> _Level:
    if above is None:
        everything = np.arange(grid.n_rows, dtype=np.int32)
        above = _Level(
            -1,
            everything,
            np.zeros_like(everything),
            np.empty((1, 0), dtype=np.int32),
            np.array([grid.n_rows]),
            np.zeros(1, dtype=np.int64),
        )
    bins, asked = grid.column(column)
    found = refine_units(bins, above.rows, above.unit, above.least, asked)
    units = np.column_stack([above.units[found.parent], found.value])
    least = np.maximum(above.least[found.parent], asked[found.value])
    return _Level(column, found.rows, found.unit, units, found.counts, least)
