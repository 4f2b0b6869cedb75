"""The passes of K flats over the rows: closest flats, what these are fitted to, and means.

Each runs where the rows lie: held in memory, block by block, or on a device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import Blocks, as_blocks, device_twin, fold
from subscape.arrays.device.array_api import equal, from_numpy, shared_namespace, to_numpy
from subscape.arrays.device.blocks import DeviceBlocks, fold_on_device
from subscape.arrays.device.moments import group_means_on_device, moments_on_device
from subscape.arrays.row_values import (
    Listed,
    change_rows,
    each_row,
    equal_rows,
    fold_rows,
    handed_out,
    is_distant,
    order_statistics,
    row_counts,
)
from subscape.core.types import FloatArray, IntArray
from subscape.finders.oriented.flats import (
    Flat,
    fitted_flat,
    flat_of_scatter,
    squared_residuals,
)

from .gathering import Scatter, ScatterChanges, ScatterPart, scatter_part
from .nearest_flat import FlatRuler

__all__ = ["Closest", "FlatSums", "closest_flats_on_device", "flat_rows", "flat_sums_on_device"]


class FlatSums(NamedTuple):
    """Sums over the rows of each flat."""

    counts: IntArray
    around: FloatArray
    """(k, p) the point that differences are taken to, among the rows of the flat."""
    first: FloatArray
    """(k, p) sums of the differences."""
    scatter: FloatArray
    """(k, p, p) sums of their products."""


class FlatRows(Protocol):
    """Rows with their flats, as the iterations see them: held in memory, in blocks, on a device."""

    def assign(self, flats: list[Flat], sum_up: bool) -> bool:
        """Give every row to its closest flat, those to be spared (the farthest ones) to none.

        Parameters
        ----------
        flats : list of Flat
        sum_up : bool
            Whether :meth:`refitted` will be asked for.

        Returns
        -------
        bool
            Whether a label has changed.
        """

    def refitted(self, flats: list[Flat]) -> list[Flat]:
        """The flats closest to the rows that each was given.

        One with too few rows to hold it begins anew around the row that fits worst.
        """

    @property
    def labels(self) -> Any:
        """(n,) flat of each row, −1 for none, as row values."""

    @property
    def cost(self) -> float:
        """Summed squared distance of the rows to their flats."""


def local_flat(X: FloatArray, row: int, dim: int, wide: int = 2) -> Flat:
    """The flat of the nearest neighbours of a row."""
    number = min(len(X), wide * (dim + 2) + 1)
    squared = np.square(X - X[row]).sum(axis=1)
    near = np.argpartition(squared, number - 1)[:number]
    return fitted_flat(X[near], dim)


# -- rows held in memory: those that are searched --------------------------------------------------


class HeldFlatRows:
    """Rows held in memory, the distances to all flats at once.

    Parameters
    ----------
    X : array of shape (n, p)
    dims : sequence of int
        Dimension of each flat.
    spared : int
        Rows that no flat gets.
    """

    def __init__(self, X: FloatArray, dims: Sequence[int], spared: int) -> None:
        self._X, self._dims, self._spared = X, dims, spared
        self._rows = np.arange(len(X))
        self._near = np.zeros(len(X))
        self.labels: IntArray = np.full(len(X), -2)
        self.cost = np.inf

    def assign(self, flats: list[Flat], sum_up: bool) -> bool:
        residuals = squared_residuals(self._X, flats)
        nearest = residuals.argmin(axis=1)
        near = residuals[self._rows, nearest]
        if self._spared:
            spare_farthest(nearest, near, self._spared)
        self.cost = float(near[nearest >= 0].sum())
        changed = not np.array_equal(nearest, self.labels)
        self.labels, self._near = nearest, near
        return changed

    def refitted(self, flats: list[Flat]) -> list[Flat]:
        return [self._refitted(k, dim) for k, dim in enumerate(self._dims)]

    def _refitted(self, k: int, dim: int) -> Flat:
        rows = np.flatnonzero(self.labels == k)
        if len(rows) > dim:
            return fitted_flat(self._X[rows], dim)
        worst = int(np.where(self.labels >= 0, self._near, -1.0).argmax())
        return local_flat(self._X, worst, dim)


# -- rows of long tables: flats come from sums over them -------------------------------------------


class SummedRows(ABC):
    """Rows of which only sums are at hand, and some rows to begin anew from.

    Parameters
    ----------
    dims : sequence of int
        Dimension of each flat.
    searched : array of shape (m, p)
        Some of the rows.
    """

    def __init__(self, dims: Sequence[int], searched: FloatArray) -> None:
        self._dims, self._searched = dims, searched

    @abstractmethod
    def assign(self, flats: list[Flat], sum_up: bool) -> bool: ...

    @abstractmethod
    def sums(self, flats: list[Flat]) -> FlatSums:
        """What the next flats are fitted to, by the labels of the last pass."""

    @property
    @abstractmethod
    def labels(self) -> Any: ...

    @property
    @abstractmethod
    def cost(self) -> float: ...

    def refitted(self, flats: list[Flat]) -> list[Flat]:
        sums = self.sums(flats)
        return [self._refitted(sums, k, dim, flats) for k, dim in enumerate(self._dims)]

    def _refitted(self, sums: FlatSums, k: int, dim: int, flats: list[Flat]) -> Flat:
        number = int(sums.counts[k])
        if number <= dim:
            worst = squared_residuals(self._searched, flats).min(axis=1).argmax()
            return local_flat(self._searched, int(worst), dim)
        off = sums.first[k] / number
        scatter = sums.scatter[k] - number * np.outer(off, off)
        return flat_of_scatter(sums.around[k] + off, scatter, dim)


# -- rows on a device ------------------------------------------------------------------------------


class Closest(NamedTuple):
    """Rows by their closest flat, on the device."""

    labels: Any
    """(n,) closest flat of each row; ties go to the first."""
    near: Any
    """(n,) squared distance to it."""


def closest_flats_on_device(
    X: DeviceBlocks, centres: FloatArray, bases: Sequence[FloatArray]
) -> Closest:
    """The closest flat of every row, in one pass.

    Parameters
    ----------
    X : DeviceBlocks
        Centred.
    centres : (k, p) array
    bases : k arrays (p, q_k)
        Orthonormal directions of each flat.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.finders.oriented.kflats.rows import closest_flats_on_device
    >>> X = as_blocks(xp.asarray([[3.0, 0.0], [0.0, 5.0], [-2.0, 1.0]]))
    >>> lines = [np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
    >>> closest_flats_on_device(X, np.zeros((2, 2)), lines).labels
    Array([0, 1, 0], dtype=array_api_strict.int32)
    """
    xp = shared_namespace(X=X.values)
    k, p = centres.shape
    owner = np.repeat(np.arange(k), [basis.shape[1] for basis in bases])
    directions = np.hstack(list(bases))
    like = X.sample
    products = from_numpy(np.hstack([centres.T, directions]), like, like.dtype)
    along_centre = from_numpy(np.einsum("dj,jd->d", centres[owner], directions), like, like.dtype)
    lengths = from_numpy(np.einsum("kj,kj->k", centres, centres), like, like.dtype)
    of_flat = from_numpy(np.equal.outer(owner, np.arange(k)), like, like.dtype)
    parts: list[tuple[Any, Any]] = []

    def assigned(block: Any, rows: slice) -> int:
        if rows.start == 0:
            parts.clear()  # of blocks that were too large
        found = xp.matmul(block, products)
        residuals = xp.sum(block * block, axis=1)[:, None] - 2.0 * found[:, :k] + lengths
        if len(owner):
            along = found[:, k:] - along_centre
            residuals = residuals - xp.matmul(along * along, of_flat)
        closest = xp.argmin(residuals, axis=1)
        near = xp.clip(xp.min(residuals, axis=1), 0.0)
        parts.append((xp.astype(closest, xp.int32), near))
        return 0

    fold_on_device(assigned, X, 2 * p + 4 * k + 3 * len(owner), "a pass over the flats")
    labels, near = zip(*parts, strict=True)
    return Closest(xp.concat(labels), xp.concat(near))


def flat_sums_on_device(X: DeviceBlocks, labels: Any, n_flats: int) -> FlatSums:
    """What flats are fitted to; −1 is left out.

    Each row is multiplied once, with the others of its flat.

    >>> import array_api_strict as xp
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.finders.oriented.kflats.rows import flat_sums_on_device
    >>> X, labels = as_blocks(xp.asarray([[1.0], [4.0], [9.0]])), xp.asarray([0, 0, -1])
    >>> sums = flat_sums_on_device(X, labels, 1)
    >>> sums.counts, sums.around, sums.first, sums.scatter
    (array([2]), array([[2.5]]), array([[0.]]), array([[[4.5]]]))
    """
    xp, p = shared_namespace(X=X.values, labels=labels), X.shape[1]
    sums = FlatSums(
        np.zeros(n_flats, np.int64),
        *(np.zeros((n_flats, *shape)) for shape in ((p,), (p,), (p, p))),
    )
    for k in range(n_flats):
        rows = xp.nonzero(labels == k)[0]
        if rows.shape[0]:
            moments = moments_on_device(X, rows, None, products=True)
            sums.counts[k] = rows.shape[0]
            sums.around[k], sums.first[k], sums.scatter[k] = moments
    return sums


class DeviceFlatRows(SummedRows):
    """Rows on a device; labels and distances stay there."""

    def __init__(
        self, X: DeviceBlocks, dims: Sequence[int], spared: int, searched: FloatArray
    ) -> None:
        super().__init__(dims, searched)
        self._X, self._spared = X, spared
        self._labels: Any = None
        self._near: Any = None

    def assign(self, flats: list[Flat], sum_up: bool) -> bool:
        xp, before = shared_namespace(X=self._X.values), self._labels
        centres, bases = np.array([flat.centre for flat in flats]), [flat.basis for flat in flats]
        labels, self._near = closest_flats_on_device(self._X, centres, bases)
        if self._spared:
            # Of equal ones the last.
            ranks = xp.argsort(xp.argsort(self._near, stable=True), stable=True)
            labels = xp.where(ranks >= len(self._X) - self._spared, -1, labels)
        self._labels = labels
        return before is None or not equal(labels, before)

    def sums(self, flats: list[Flat]) -> FlatSums:
        return flat_sums_on_device(self._X, self._labels, len(self._dims))

    @property
    def labels(self) -> IntArray:
        return to_numpy(self._labels).astype(np.int64)

    @property
    def cost(self) -> float:
        xp = shared_namespace(X=self._X.values)
        return float(xp.sum(xp.where(self._labels >= 0, self._near, 0.0), dtype=xp.float64))


def place_on_device(X: DeviceBlocks, centres: FloatArray, bases: Sequence[FloatArray]) -> Any:
    """:func:`place` where the table lies."""
    middle = centres.mean(axis=0)
    moved = X.recentred(middle).fleeting()
    return closest_flats_on_device(moved, centres - middle, bases).labels


# -- rows in memory, or read block by block --------------------------------------------------------


class BlockFlatRows(SummedRows):
    """Rows in memory or read block by block.

    The first pass sums up all rows, the others only those that change their flat.
    """

    def __init__(self, X: Blocks, dims: Sequence[int], spared: int, searched: FloatArray) -> None:
        super().__init__(dims, searched)
        self._X, self._spared = X, spared
        self._labels = X.row_values(np.int32, -2)
        self._near = X.row_values(np.float64)
        self._around = np.zeros((0, X.shape[1]))
        self._total = Scatter.nothing(*self._around.shape)
        self._current = self._summed_up = False

    def assign(self, flats: list[Flat], sum_up: bool) -> bool:
        spared = self._spared
        before = self._labels.copy() if spared else None
        # Which rows are spared is known after a pass only, so that there the sums take another.
        self._current = sum_up and not spared
        anew = not self._summed_up
        if self._current and anew:
            self._begin(flats)
        ruler = FlatRuler(np.array([f.centre for f in flats]), [f.basis for f in flats])
        around = self._around if self._current else None
        total = self._pass(Assigning(ruler, around, anew), (), (self._labels, self._near))
        if not spared:
            return total.n_changed > 0
        spare_farthest(self._labels, self._near, spared)
        return not equal_rows(self._labels, before)

    def sums(self, flats: list[Flat]) -> FlatSums:
        if not self._current:
            self._begin(flats)
            self._pass(Summing(self._around), (self._labels,), ())
        total = self._total
        if (total.counts <= self._dims).any():
            # A flat begins elsewhere: sums around its old place would lose digits.
            self._summed_up = False
        return FlatSums(total.counts, self._around, total.sums, total.products)

    @property
    def labels(self) -> Any:
        return each_row(lambda rows, own: own, self._labels, dtype=np.int64)

    @property
    def cost(self) -> float:
        return fold_rows(
            lambda rows, own, near: float(near[own >= 0].sum()),
            self._labels,
            self._near,
            step=self._X.block_rows,
        )

    def _begin(self, flats: list[Flat]) -> None:
        self._around = np.array([flat.centre for flat in flats])
        self._total = Scatter.nothing(*self._around.shape)
        self._summed_up = True

    def _pass(self, stats: Any, reads: tuple[Any, ...], writes: tuple[Any, ...]) -> Scatter:
        self._total.n_changed = 0
        self._total = self._X.fold(stats, reads=reads, writes=writes, start=self._total)
        return self._total


class Summing:
    """What a block adds to the sums of each flat.

    Parameters
    ----------
    around : (k, p) array or None
        What differences are taken to; None where nothing is summed.
    """

    def __init__(self, around: FloatArray | None) -> None:
        self._around = around
        self._room: FloatArray | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_room": None}

    def __call__(self, block: FloatArray, rows: slice, labels: NDArray[np.int32]) -> ScatterChanges:
        return ScatterChanges(tuple(self._parts(block, labels)), 0)

    def _parts(
        self, block: FloatArray, labels: NDArray[np.int32], sign: int = 1
    ) -> Iterator[ScatterPart]:
        if self._around is None or not (labels >= 0).any():
            return
        if self._room is None or len(self._room) < len(block):
            self._room = np.empty(block.shape)
        yield scatter_part(block, labels, self._around, self._room, sign)


class Assigning(Summing):
    """Gives the rows of a block to their closest flats; what changes is summed up.

    Parameters
    ----------
    ruler : FlatRuler
    around : (k, p) array or None
    anew : bool
        Whether all rows are summed, or only those that change their flat.
    """

    def __init__(self, ruler: FlatRuler, around: FloatArray | None, anew: bool) -> None:
        super().__init__(around)
        self._ruler, self._anew = ruler, anew

    def __call__(  # type: ignore[override]
        self, block: FloatArray, rows: slice, labels: NDArray[np.int32], near: FloatArray
    ) -> ScatterChanges:
        closest, near[:] = self._ruler.nearest(block)
        moved = closest != labels
        if self._anew:
            parts = tuple(self._parts(block, closest))
        else:
            parts = (
                *self._parts(block, np.where(moved, closest, np.int32(-1))),
                *self._parts(block, np.where(moved, labels, np.int32(-1)), -1),
            )
        labels[:] = closest
        return ScatterChanges(parts, int(np.count_nonzero(moved)))


def spare_farthest(labels: Any, near: Any, spared: int) -> None:
    """Give the farthest rows to no flat; of equally far ones the last."""
    if not is_distant(labels):
        labels[np.argsort(near, kind="stable")[len(near) - spared :]] = -1
        return
    all_rows = each_row(lambda rows, own: np.zeros(len(own)), labels, dtype=np.int32)
    limit = order_statistics(near, all_rows, {0: len(near) - spared})[0]
    beyond = int(fold_rows(lambda rows, own: int((own > limit).sum()), near, step=len(near)))
    # Of those at the limit the first ones stay; how many come before each part is counted first.
    at_limit = fold_rows(
        lambda rows, own: Listed([(rows.start, int((own == limit).sum()))]), near, step=len(near)
    ).entries
    staying = sum(count for _, count in at_limit) - (spared - beyond)
    counts = accumulate((count for _, count in at_limit), initial=0)
    before = dict(zip([at for at, _ in at_limit], counts, strict=False))

    def mark(rows: slice, own: FloatArray, labels: NDArray[np.int32]) -> None:
        ties = np.flatnonzero(own == limit)
        labels[own > limit] = -1
        labels[ties[max(staying - before[rows.start], 0) :]] = -1

    change_rows(mark, near, changes=labels)


@device_twin(DeviceFlatRows)
def flat_rows(
    X: FloatArray | Blocks, dims: Sequence[int], spared: int, searched: FloatArray
) -> SummedRows:
    """The rows of a long table, wherever it lies; see :class:`SummedRows`."""
    return BlockFlatRows(as_blocks(X), dims, spared, searched)


@device_twin(place_on_device)
def place(X: Blocks, centres: FloatArray, bases: Sequence[FloatArray]) -> IntArray:
    """(n,) number of the closest flat for each row."""
    middle = centres.mean(axis=0)
    flats = [Flat(c - middle, b) for c, b in zip(centres, bases, strict=True)]
    moved = as_blocks(X).map(lambda block: block - middle)
    placed = moved.mapped(
        lambda block, rows: squared_residuals(block, flats).argmin(axis=1), np.int64
    )
    return handed_out(placed, np.int64)


@device_twin(group_means_on_device)
def group_means(X: FloatArray | Blocks, labels: Any, size: int) -> FloatArray:
    """(size, p) means of the rows with each label; −1 is left out."""

    def sums(block: FloatArray, rows: slice, own: IntArray) -> FloatArray:
        inside = [block[own == k].sum(axis=0) for k in range(size)]
        return np.array(inside).reshape(size, block.shape[1])

    return fold(sums, X, reads=(labels,)) / row_counts(labels, size)[:, None]
