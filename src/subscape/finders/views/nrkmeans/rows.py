"""The passes of Nr-Kmeans over the rows of a table, in memory or block by block.

:class:`ArrayRows`, :class:`BlockRows` and ``DeviceRows`` in ``device_rows`` give the steps the same
few things, so that these know nothing of where the rows lie.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import Blocks, ordered_sum
from subscape.arrays.row_values import entry, put_entry
from subscape.core.types import FloatArray, IndexArray, IntArray

from .kernel import CellSums, cell_sums, nearest_in_views
from .rotation import Bases, Rotation, ViewGroups, summed_up

Labels = NDArray[np.int32]
Sizes = tuple[int, ...]
#: Coordinates of the rows in some directions, block by block, any number of times.
Inside = Iterable[tuple[slice, FloatArray]]

#: Rows per block of the assignment: scores stay in the cache.
BLOCK_ROWS = 4096
#: With more combinations of clusters than this, the views are summed one by one.
MOST_CELLS = 1024


class RowsStep(NamedTuple):
    """Where the rows went in one pass, and what they add up to."""

    labels: Any
    """Cluster of each row in each view, where the rows lie."""
    sums: list[FloatArray]
    """(k_j, p) for each view; nothing if no label changed."""
    counts: list[IntArray]
    n_changed: int
    """Labels that differ from the ones before."""


class Rows(ABC):
    """What the steps ask of a table.

    Labels are held as the table likes them, here as an array (n, S).
    """

    #: What turns the views between two passes.
    rotation: type[Rotation] = Rotation
    shape: tuple[int, int]
    dtype: Any
    #: Asked after every step; True ends them.
    out_of_time: Callable[[], bool] = staticmethod(lambda: False)

    @property
    @abstractmethod
    def square(self) -> float:
        """Sum of the squares of all values."""

    @abstractmethod
    def no_labels(self, sizes: Sizes) -> Any:
        """Labels before the first step."""

    @abstractmethod
    def assign(self, views: Rotation, sizes: Sizes, old: Any) -> RowsStep:
        """Give every row to the nearest centre of every view, and sum the rows of each cluster."""

    @abstractmethod
    def along(self, basis: FloatArray) -> Inside:
        """Where the rows lie in a view."""

    def fold_along(
        self,
        stats: Callable[..., Any],
        basis: FloatArray,
        *,
        reads: Sequence[Any] = (),
        writes: Sequence[Any] = (),
    ) -> Any:
        """Sum of what is said of the rows in a view; called as for ``Blocks.fold``."""
        beside = (*reads, *writes)
        return ordered_sum(
            stats(inside, rows, *(values[rows] for values in beside))
            for rows, inside in self.along(basis)
        )

    def row_values(self, dtype: Any) -> Any:
        """An entry per row, where the rows are or in memory."""
        return np.zeros(self.shape[0], dtype)

    @property
    def block_rows(self) -> int:
        """Rows of the blocks that sums over row values are made of."""
        return self.shape[0]

    def squares_along(self, bases: Bases) -> list[FloatArray]:
        """Sum of the squares along every direction of each view."""
        return [np.square(inside).sum(axis=0) for basis in bases for _, inside in self.along(basis)]

    @abstractmethod
    def move(self, step: RowsStep, view: int, row: int, cluster: int) -> RowsStep:
        """The step with a row in another cluster of a view; may change what it was given."""

    def of_view(self, labels: Any, view: int) -> NDArray[np.signedinteger]:
        """The labels of one view in memory."""
        return labels[:, view]

    def in_memory(self, labels: Any) -> Labels:
        """(n, S) the labels of all views in memory."""
        return labels


class BlockRows(Rows):
    """A table of many rows; iterating gives blocks with the rows they are.

    Each block is assigned, and its sums are added to those of the blocks before. Of all rows only
    the labels are held, two bytes for each row and view.

    Parameters
    ----------
    blocks : Blocks
        Centred, most values about 1.
    lift : (p, r) array, optional
        Directions to look in; the features themselves by default.
    dtype : float32 or float64
        In which the rows are multiplied, that of the blocks by default; sums run in float64.
    """

    def __init__(self, blocks: Blocks, lift: FloatArray | None = None, dtype: Any = None) -> None:
        self._blocks, self._lift = blocks, lift
        self.dtype = np.dtype(blocks.dtype if dtype is None else dtype)
        self.shape = (len(blocks), blocks.shape[1] if lift is None else lift.shape[1])

    def __iter__(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        for rows, block in self._blocks:
            inside = block if self._lift is None else block @ self._lift
            yield rows, inside.astype(self.dtype, copy=False)

    def fold(
        self,
        stats: Callable[..., Any],
        *,
        reads: Sequence[Any] = (),
        writes: Sequence[Any] = (),
    ) -> Any:
        """Sum of what is said of each block, as ``Blocks.fold`` does."""
        lifted = _Lifted(stats, self._lift, self.dtype)
        return self._blocks.fold(lifted, reads=reads, writes=writes)

    @cached_property
    def square(self) -> float:
        return float(self.fold(lambda block, rows: _sum_of_squares(block)))

    def no_labels(self, sizes: Sizes) -> Any:
        # A negative number, as long as there is no label.
        return self._blocks.row_values(np.min_scalar_type(-max(sizes)), -1, (len(sizes),))

    def row_values(self, dtype: Any) -> Any:
        return self._blocks.row_values(dtype)

    @property
    def block_rows(self) -> int:
        return self._blocks.block_rows

    def assign(self, views: Rotation, sizes: Sizes, old: Any) -> RowsStep:
        by = Scoring.of(views, sizes, self.dtype)
        labels = self._blocks.row_values(old.dtype, -1, (len(sizes),))

        def one(
            block: NDArray[Any], rows: slice, old: Any, labels: Any
        ) -> tuple[tuple[CellSums, ...], int]:
            labels[:] = found = nearest(block, by)
            return sums_of_rows(block, found, sizes), int(np.count_nonzero(found != old))

        parts, n_changed = self.fold(one, reads=(old,), writes=(labels,))
        return RowsStep(labels, *by_view(parts, sizes), n_changed)

    def along(self, basis: FloatArray) -> Inside:
        raise NotImplementedError("rows that are read in blocks are passed over by fold_along")

    def fold_along(
        self,
        stats: Callable[..., Any],
        basis: FloatArray,
        *,
        reads: Sequence[Any] = (),
        writes: Sequence[Any] = (),
    ) -> Any:
        narrow = np.ascontiguousarray(basis, dtype=self.dtype)

        def inside(block: NDArray[Any], rows: slice, *own: Any) -> Any:
            return stats(np.asarray(block @ narrow, dtype=np.float64), rows, *own)

        return self.fold(inside, reads=reads, writes=writes)

    def squares_along(self, bases: Bases) -> list[FloatArray]:
        squares = self.fold_along(
            lambda block, rows: np.einsum("ij,ij->j", block, block), np.concatenate(bases, axis=1)
        )
        return np.split(squares, np.cumsum([basis.shape[1] for basis in bases])[:-1])

    def move(self, step: RowsStep, view: int, row: int, cluster: int) -> RowsStep:
        alone = _Lifted(
            lambda block, rows: block[row - rows.start].astype(np.float64), self._lift, self.dtype
        )
        (values,) = self._blocks.at_rows(alone, [row])
        transfer(step, view, entry(step.labels, row)[view], cluster, values)
        put_entry(step.labels, row, cluster, view)
        return step


class _Lifted:
    """A function of blocks, called with the rows in the directions to look in."""

    def __init__(
        self, stats: Callable[..., Any], lift: FloatArray | None, dtype: np.dtype[Any]
    ) -> None:
        self._stats, self._lift, self._dtype = stats, lift, dtype

    def __call__(self, block: NDArray[Any], rows: slice, *own: Any) -> Any:
        inside = block if self._lift is None else block @ self._lift
        return self._stats(inside.astype(self._dtype, copy=False), rows, *own)


class ArrayRows(Rows):
    """A table in memory, as one block.

    Parameters
    ----------
    values : (n, p) array of float32 or float64
        Centred.
    """

    def __init__(self, values: NDArray[np.floating]) -> None:
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    @property
    def square(self) -> float:
        return _sum_of_squares(self.values)

    def no_labels(self, sizes: Sizes) -> Labels:
        return np.full((len(self.values), len(sizes)), -1, dtype=np.int32)

    def assign(self, views: Rotation, sizes: Sizes, old: Any) -> RowsStep:
        labels = nearest(self.values, Scoring.of(views, sizes, self.dtype))
        n_changed = int(np.count_nonzero(labels != old))
        if n_changed == 0:
            return RowsStep(labels, [], [], 0)
        return RowsStep(
            labels, *by_view(sums_of_rows(self.values, labels, sizes), sizes), n_changed
        )

    def along(self, basis: FloatArray) -> Inside:
        inside = np.asarray(self.values @ basis.astype(self.dtype), dtype=np.float64)
        return [(slice(0, len(inside)), inside)]

    def move(self, step: RowsStep, view: int, row: int, cluster: int) -> RowsStep:
        step.labels[row, view] = cluster
        sizes = tuple(len(counts) for counts in step.counts)
        # Summed anew: a sum that a row is taken from would lose digits.
        sums, counts = by_view(sums_of_rows(self.values, step.labels, sizes), sizes)
        return step._replace(sums=sums, counts=counts)


def rows_of(X: NDArray[np.floating] | Rows) -> Rows:
    """The rows of an array; what gives rows is passed on."""
    return ArrayRows(X) if isinstance(X, np.ndarray) else X


def transfer(step: RowsStep, view: int, old: int, new: int, values: FloatArray) -> None:
    """Take a row out of the sums of a cluster and add it to those of another one."""
    sums, counts = step.sums[view], step.counts[view]
    sums[old] -= values
    sums[new] += values
    counts[old] -= 1
    counts[new] += 1


# -- blocks in memory: assigned, and summed --------------------------------------------------------


class Scoring(NamedTuple):
    """What gives the scores of a row: the least in each view is its cluster."""

    weights: NDArray[np.floating]
    """(p, K) what a row is multiplied by, the clusters of all views side by side."""
    offsets: NDArray[np.floating]
    """(K,) what is added."""
    starts: IndexArray
    """(S + 1,) the first cluster of each view, and K."""

    @classmethod
    def of(cls, views: Rotation, sizes: Sizes, dtype: Any) -> Scoring:
        weights, offsets = views.scoring()
        starts = np.cumsum([0, *sizes], dtype=np.intp)
        return cls(np.ascontiguousarray(weights, dtype=dtype), offsets.astype(dtype), starts)


def nearest(X: NDArray[np.floating], by: Scoring) -> Labels:
    """The cluster with the least score, of every row in every view."""
    weights, offsets, starts = by
    blocks = []
    for at in range(0, len(X), BLOCK_ROWS):
        # Squared distances in the views, less what is the same for all centres of a view.
        scores = X[at : at + BLOCK_ROWS] @ weights
        scores += offsets
        blocks.append(nearest_in_views(scores, starts))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def sums_of_rows(
    X: NDArray[np.floating], labels: Labels, sizes: tuple[int, ...]
) -> tuple[CellSums, ...]:
    """Sums over the combinations of clusters, or over the clusters of each view if these are fewer.

    Those of several blocks of rows add up.
    """
    if np.prod([float(size) for size in sizes]) > MOST_CELLS:
        return tuple(
            cell_sums(X, np.ascontiguousarray(labels[:, [j]]), np.array([size], dtype=np.intp))
            for j, size in enumerate(sizes)
        )
    return (cell_sums(X, labels, np.array(sizes, dtype=np.intp)),)


def by_view(
    parts: tuple[CellSums, ...], sizes: tuple[int, ...]
) -> tuple[list[FloatArray], list[IntArray]]:
    """Sums and counts of the clusters of each view."""
    if len(parts) == len(sizes):
        return [part.sums for part in parts], [part.counts for part in parts]
    cells = parts[0]
    cube, cubed = cells.sums.reshape(*sizes, -1), cells.counts.reshape(sizes)
    views = range(len(sizes))
    others = [tuple(other for other in views if other != j) for j in views]
    return [cube.sum(axis=rest) for rest in others], [cubed.sum(axis=rest) for rest in others]


def group(X: NDArray[np.floating], labels: Labels, sizes: tuple[int, ...]) -> ViewGroups:
    """Centres and counts of all clusters, from one pass over the rows."""
    return summed_up(*by_view(sums_of_rows(X, labels, sizes), sizes))


def _sum_of_squares(values: NDArray[Any]) -> float:
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))
