"""The passes of K flats over all rows: closest flats, sums over their rows, and means.

Each runs where the table lies: in memory block by block, or on a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import Blocks, as_blocks, device_twin, fold, one_blas_thread
from subscape.arrays.device.array_api import equal, from_numpy, shared_namespace, to_numpy
from subscape.arrays.device.blocks import DeviceBlocks, fold_on_device
from subscape.arrays.device.moments import group_means_on_device, moments_on_device
from subscape.core.types import FloatArray, IntArray
from subscape.finders.oriented.flats import Flat, squared_residuals

from .gathering import Scatter, add_scatter
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


class DeviceFlatRows:
    """:class:`FlatRows` of a table on a device; labels and distances stay there."""

    def __init__(self, X: DeviceBlocks, dims: Sequence[int]) -> None:
        self._X, self._n_flats = X, len(dims)
        self._labels: Any = None
        self._near: Any = None

    def assign(self, flats: list[Flat], spared: int, sum_up: bool) -> bool:
        xp, before = shared_namespace(X=self._X.values), self._labels
        centres, bases = np.array([flat.centre for flat in flats]), [flat.basis for flat in flats]
        labels, self._near = closest_flats_on_device(self._X, centres, bases)
        if spared:
            # Of equal ones the last.
            ranks = xp.argsort(xp.argsort(self._near, stable=True), stable=True)
            labels = xp.where(ranks >= len(self._X) - spared, -1, labels)
        self._labels = labels
        return before is None or not equal(labels, before)

    def sums(self, flats: list[Flat]) -> FlatSums:
        return flat_sums_on_device(self._X, self._labels, self._n_flats)

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


class FlatRows:
    """All rows with their labels and distances, and sums over the rows of each flat.

    The first pass sums up all rows, the others only those that change their flat.

    Parameters
    ----------
    X : Blocks
    dims : sequence of int
        Dimension of each flat.
    """

    def __init__(self, X: Blocks, dims: Sequence[int]) -> None:
        self._X, self._dims = X, dims
        self._labels, self._near = np.full(len(X), -2, np.int32), np.empty(len(X))
        self._room = np.empty((min(len(X), X.block_rows), X.shape[1]))
        self._around = np.zeros((0, X.shape[1]))
        self._total = Scatter.nothing(*self._around.shape)
        self._current = self._summed_up = False

    def assign(self, flats: list[Flat], spared: int, sum_up: bool) -> bool:
        """Give every row to its closest flat, the ``spared`` farthest ones to none.

        Parameters
        ----------
        flats : list of Flat
        spared : int
        sum_up : bool
            Whether :meth:`sums` will be asked for.

        Returns
        -------
        bool
            Whether a label has changed.
        """
        before = self._labels.copy()
        # Which rows are spared is known after a pass only, so that there the sums take another.
        self._current = sum_up and not spared
        anew = not self._summed_up
        if self._current and anew:
            self._begin(flats)
        ruler = FlatRuler(np.array([f.centre for f in flats]), [f.basis for f in flats])
        with one_blas_thread():
            for rows, block in self._X:
                closest, self._near[rows] = ruler.nearest(block)
                if self._current:
                    self._change(block, self._labels[rows], closest, anew)
                self._labels[rows] = closest
        if spared:
            farthest = np.argsort(self._near, kind="stable")[len(self._X) - spared :]
            self._labels[farthest] = -1
        return not np.array_equal(self._labels, before)

    def sums(self, flats: list[Flat]) -> FlatSums:
        """What the next flats are fitted to, by the labels of the last pass."""
        if not self._current:
            self._begin(flats)
            with one_blas_thread():
                for rows, block in self._X:
                    self._add(block, self._labels[rows])
        counts, first, scatter = self._total
        if (counts <= self._dims).any():
            # A flat begins elsewhere: sums around its old place would lose digits.
            self._summed_up = False
        return FlatSums(counts, self._around, first, scatter)

    @property
    def labels(self) -> IntArray:
        """(n,) flat of each row, −1 for none."""
        return self._labels.astype(np.int64)

    @property
    def cost(self) -> float:
        """Summed squared distance of the rows to their flats."""
        return float(self._near[self._labels >= 0].sum())

    def _begin(self, flats: list[Flat]) -> None:
        self._around = np.array([flat.centre for flat in flats])
        self._total = Scatter.nothing(*self._around.shape)
        self._summed_up = True

    def _change(
        self, block: FloatArray, old: NDArray[np.int32], new: NDArray[np.int32], anew: bool
    ) -> None:
        if anew:
            self._add(block, new)
            return
        moved = new != old
        self._add(block, np.where(moved, new, np.int32(-1)))
        self._add(block, np.where(moved, old, np.int32(-1)), -1)

    def _add(self, block: FloatArray, labels: NDArray[np.int32], sign: int = 1) -> None:
        if (labels >= 0).any():
            add_scatter(self._total, block, labels, self._around, self._room, sign)


@device_twin(DeviceFlatRows)
def flat_rows(X: FloatArray | Blocks, dims: Sequence[int]) -> FlatRows:
    """The rows of a table, wherever it lies."""
    return FlatRows(as_blocks(X), dims)


@device_twin(place_on_device)
def place(X: Blocks, centres: FloatArray, bases: Sequence[FloatArray]) -> IntArray:
    """(n,) number of the closest flat for each row."""
    middle = centres.mean(axis=0)
    flats = [Flat(c - middle, b) for c, b in zip(centres, bases, strict=True)]
    moved = as_blocks(X).map(lambda block: block - middle)
    return np.concatenate([squared_residuals(block, flats).argmin(axis=1) for _, block in moved])


@device_twin(group_means_on_device)
def group_means(X: FloatArray | Blocks, labels: IntArray, size: int) -> FloatArray:
    """(size, p) means of the rows with each label; −1 is left out."""

    def sums(block: FloatArray, rows: slice) -> FloatArray:
        inside = [block[labels[rows] == k].sum(axis=0) for k in range(size)]
        return np.array(inside).reshape(size, block.shape[1])

    return fold(sums, X) / np.bincount(labels[labels >= 0], minlength=size)[:, None]
