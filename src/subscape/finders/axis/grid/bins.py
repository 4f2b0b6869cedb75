"""Tables cut into bins, and the clusters of dense units in one subspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.discretize import assign_bins
from subscape.core.types import BitArray, FloatArray, IntArray

from .units import face_components, pack_items, refine_units

__all__ = ["Grid", "Items", "UnitCluster", "clusters_in", "dense_items", "joined", "make_grid"]


Subspace = tuple[int, ...]
"""Columns in ascending order."""


class Grid(NamedTuple):
    """A table whose columns are cut into bins."""

    edges: list[FloatArray]
    """The limits of each column's bins."""
    bins: NDArray[np.uint16]
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


class Items(NamedTuple):
    """The dense bins of all columns, in descending order of the rows they ask for."""

    column: NDArray[np.int32]
    value: NDArray[np.int32]
    least: IntArray

    def __len__(self) -> int:
        return len(self.column)

    def pack(self, bins: NDArray[np.uint16], rows: NDArray[np.int32]) -> BitArray:
        """Pack the rows of each item."""
        return pack_items(bins, rows, self.column, self.value)


class UnitCluster(NamedTuple):
    """Dense units of one subspace that hang together."""

    columns: Subspace
    units: NDArray[np.int32]
    """(u, d): the bin of each unit in each of the columns."""
    counts: IntArray
    """Rows in each unit."""


def make_grid(X: FloatArray, edges: Sequence[FloatArray], least: Sequence[IntArray]) -> Grid:
    """Put the rows of ``X`` into bins."""
    bins = assign_bins(X, edges)
    counts = [
        np.bincount(column, minlength=len(limits) - 1)
        for column, limits in zip(bins, edges, strict=True)
    ]
    return Grid(list(edges), bins, counts, list(least))


def dense_items(grid: Grid) -> Items:
    """List the dense bins: those that ask for more rows first, then the fuller ones."""
    column = np.repeat(np.arange(grid.n_columns), [len(counts) for counts in grid.counts])
    value = np.concatenate([np.arange(len(counts)) for counts in grid.counts])
    counts, least = np.concatenate(grid.counts), np.concatenate(grid.least)
    dense = np.flatnonzero(counts >= least)
    order = dense[np.lexsort((value[dense], column[dense], -counts[dense], -least[dense]))]
    return Items(
        column[order].astype(np.int32), value[order].astype(np.int32), least[order].astype(np.int64)
    )


def clusters_in(grid: Grid, subspaces: Iterable[Subspace]) -> Iterator[UnitCluster]:
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


def _refined(grid: Grid, above: _Level | None, column: int) -> _Level:
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
    found = refine_units(grid.bins[column], above.rows, above.unit, above.least, grid.least[column])
    units = np.column_stack([above.units[found.parent], found.value])
    least = np.maximum(above.least[found.parent], grid.least[column][found.value])
    return _Level(column, found.rows, found.unit, units, found.counts, least)
