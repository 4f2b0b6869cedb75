"""The iterations of K flats: from a start, over swaps, to the settling of a long table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import Blocks, as_blocks, one_blas_thread
from subscape.arrays.device.blocks import is_on_device
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.oriented.flats import Flat, fitted_flat, flat_of_scatter, squared_residuals
from subscape.parallel.progress import Watch

from .gathering import Scatter, add_scatter
from .nearest_flat import FlatRuler

#: Up to so many features the flats of a long table are fitted to all of its rows.
WIDEST_SETTLED = 2000


class Fit(NamedTuple):
    """Flats, the rows of each, and the summed squared distance."""

    flats: list[Flat]
    labels: IntArray
    cost: float
    n_iter: int

    @property
    def objective(self) -> float:
        return self.cost


def finish_on_all_rows(
    X: FloatArray | Blocks, searched: FloatArray, fit: Fit, dims: list[int], spared: int,
    max_iter: int, watch: Watch,
) -> Fit:  # fmt: skip
    """Continue on all rows from flats that were found on some, one pass after the other.

    Every pass assigns the rows and sums up what the next flats are made of. Of tables wider than
    2000 features the rows are assigned, and the flats stay.
    """
    if is_on_device(X):
        # Here, since that module is built on this one.
        from .device import finish_on_device

        return finish_on_device(X, searched, fit, dims, spared, max_iter, watch)
    labels, near = np.full(len(X), -2, np.int32), np.empty(len(X))
    flats, n_iter, last = fit.flats, 0, X.shape[1] > WIDEST_SETTLED
    passes = _Passes(X, labels, near)
    while True:
        n_iter += 1
        before = labels.copy()
        last = last or n_iter == max_iter or (n_iter > 1 and watch.out_of_time())
        # Which rows are spared is known after a pass only, so that there the sums take another.
        passes.assign(flats, sum_up=not (spared or last))
        if spared:
            labels[np.argsort(near, kind="stable")[len(X) - spared :]] = -1
        if last or np.array_equal(labels, before):
            cost = float(near.sum() if not spared else near[labels >= 0].sum())
            return Fit(flats, labels.astype(np.int64), cost, fit.n_iter + n_iter)
        if spared:
            passes.sum_up(flats)
        flats = passes.refitted(flats, dims, searched)


class Sums(NamedTuple):
    """Rows of each flat, and sums of their differences to its centre."""

    counts: IndexArray
    first: FloatArray
    scatter: FloatArray


class _Passes:
    """Passes over all rows: labels, distances, and sums over the rows of each flat.

    The first pass sums up all rows, the others only those that change their flat.
    """

    def __init__(self, X: FloatArray | Blocks, labels: NDArray[np.int32], near: FloatArray) -> None:
        self._X, self._labels, self._near = as_blocks(X), labels, near
        self._room = np.empty((min(len(X), self._X.block_rows), X.shape[1]))
        self._around = np.zeros((0, X.shape[1]))
        self._total = Scatter.nothing(*self._around.shape)
        self._summed_up = False

    def assign(self, flats: list[Flat], sum_up: bool) -> None:
        """Write the closest flat of every row, and how far it is; bring the sums up to date."""
        anew = not self._summed_up
        if sum_up and anew:
            self._begin(flats)
        ruler = FlatRuler(np.array([f.centre for f in flats]), [f.basis for f in flats])
        with one_blas_thread():
            for rows, block in self._X:
                closest, self._near[rows] = ruler.nearest(block)
                if sum_up:
                    self._change(block, self._labels[rows], closest, anew)
                self._labels[rows] = closest

    def sum_up(self, flats: list[Flat]) -> None:
        """Sum up the rows by their labels."""
        self._begin(flats)
        with one_blas_thread():
            for rows, block in self._X:
                self._add(block, self._labels[rows])

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

    def refitted(self, flats: list[Flat], dims: list[int], searched: FloatArray) -> list[Flat]:
        """The flats closest to their rows."""
        sums = Sums(*self._total)
        if (sums.counts <= dims).any():
            # A flat begins elsewhere: sums around its old place would lose digits.
            self._summed_up = False
        return [
            refitted_flat(sums, k, dim, flats, searched, self._around[k])
            for k, dim in enumerate(dims)
        ]


def refitted_flat(
    sums: Sums,
    k: int,
    dim: int,
    flats: list[Flat],
    searched: FloatArray,
    around: FloatArray | None = None,
) -> Flat:
    """The flat closest to the rows of flat k, by their sums around its centre or another point."""
    number = int(sums.counts[k])
    if number <= dim:
        # Too few rows to hold it: start anew around the row, of those searched, that fits worst.
        worst = squared_residuals(searched, flats).min(axis=1).argmax()
        return _local_flat(searched, int(worst), dim)
    off = sums.first[k] / number
    scatter = sums.scatter[k] - number * np.outer(off, off)
    return flat_of_scatter((flats[k].centre if around is None else around) + off, scatter, dim)


def descend(X: FloatArray, flats: list[Flat], dims: list[int], spared: int, max_iter: int) -> Fit:
    """Assign and refit until the labels repeat."""
    labels = np.full(len(X), -2)
    cost, n_iter = np.inf, 0
    while n_iter < max_iter:
        n_iter += 1
        residuals = squared_residuals(X, flats)
        nearest = residuals.argmin(axis=1)
        near = residuals[np.arange(len(X)), nearest]
        if spared:
            nearest[np.argsort(near, kind="stable")[len(X) - spared :]] = -1
        cost = float(near[nearest >= 0].sum())
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        flats = [_refitted(X, labels, k, dim, flats[k], near) for k, dim in enumerate(dims)]
    return Fit(flats, labels, cost, n_iter)


def _refitted(
    X: FloatArray, labels: IntArray, k: int, dim: int, old: Flat, near: FloatArray
) -> Flat:
    rows = np.flatnonzero(labels == k)
    if len(rows) > dim:
        return fitted_flat(X[rows], dim)
    # Too few rows to hold it: start anew around the row that fits worst.
    return _local_flat(X, int(np.where(labels >= 0, near, -1.0).argmax()), dim)


def swapped(
    X: FloatArray, fit: Fit, dims: list[int], spared: int, max_iter: int, n_swaps: int,
    rng: np.random.Generator, watch: Watch,
) -> Fit:  # fmt: skip
    """Move the flat that is missed least to rows that fit badly, while that lowers the cost."""
    if len(dims) < 2:
        return fit
    for _ in range(n_swaps):
        if watch.out_of_time():
            break
        residuals = squared_residuals(X, fit.flats)
        order = np.partition(residuals, 1, axis=1)
        missed = np.bincount(
            residuals.argmin(axis=1), order[:, 1] - order[:, 0], minlength=len(dims)
        )
        victim = int(missed.argmin())
        near = order[:, 0] * (fit.labels >= 0)
        if near.sum() <= 0:
            break
        seed = int(rng.choice(len(X), p=near / near.sum()))
        flats = list(fit.flats)
        flats[victim] = _local_flat(X, seed, dims[victim])
        other = descend(X, flats, dims, spared, max_iter)
        if other.cost < fit.cost * (1 - 1e-9):
            fit = other
    return fit


def seed_flat(X: FloatArray, dim: int, rng: np.random.Generator) -> Flat:
    """A flat through a random row: its neighbourhood's, or one through random other rows."""
    if rng.random() < 0.7:
        return _local_flat(X, int(rng.integers(len(X))), dim, int(rng.integers(1, 5)))
    rows = rng.choice(len(X), size=min(len(X), dim + 1), replace=False)
    return fitted_flat(X[rows], dim)


def _local_flat(X: FloatArray, row: int, dim: int, wide: int = 2) -> Flat:
    """The flat of the nearest neighbours of a row."""
    number = min(len(X), wide * (dim + 2) + 1)
    squared = np.square(X - X[row]).sum(axis=1)
    near = np.argpartition(squared, number - 1)[:number]
    return fitted_flat(X[near], dim)
