"""The iterations of K flats: from a start, over swaps, to the settling of a long table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.algorithms.progress import Watch
from subscape.kernels.blocks import Blocks, fold

from .flats import Flat, FloatArray, fitted_flat, flat_of_scatter, squared_residuals

Labels = NDArray[np.int64]

#: Up to so many features the flats of a long table are fitted to all of its rows.
WIDEST_SETTLED = 2000


class Fit(NamedTuple):
    """Flats, the rows of each, and the summed squared distance."""

    flats: list[Flat]
    labels: Labels
    cost: float
    n_iter: int

    @property
    def objective(self) -> float:
        return self.cost


def settled(
    X: FloatArray | Blocks, searched: FloatArray, fit: Fit, dims: list[int], spared: int,
    max_iter: int, watch: Watch,
) -> Fit:  # fmt: skip
    """Continue on all rows from flats that were found on some, one pass after the other.

    Every pass assigns the rows and sums up what the next flats are made of. Of tables wider than
    2000 features the rows are assigned, and the flats stay.
    """
    labels, near = np.full(len(X), -2, np.int32), np.empty(len(X))
    flats, n_iter, last = fit.flats, 0, X.shape[1] > WIDEST_SETTLED
    while True:
        n_iter += 1
        before = labels.copy()
        last = last or n_iter == max_iter or (n_iter > 1 and watch.out_of_time())
        # Which rows are spared is known after a pass only, so that there the sums take another.
        sums = _assigned(X, flats, labels, near, sum_up=not (spared or last))
        if spared:
            labels[np.argsort(near, kind="stable")[len(X) - spared :]] = -1
        if last or np.array_equal(labels, before):
            cost = float(near.sum() if not spared else near[labels >= 0].sum())
            return Fit(flats, labels.astype(np.int64), cost, fit.n_iter + n_iter)
        if sums is None:
            sums = _summed(X, flats, labels)
        flats = [_refitted_flat(sums, k, dim, flats, searched) for k, dim in enumerate(dims)]


class _Sums(NamedTuple):
    """Rows of each flat, and sums of their differences to its centre."""

    counts: NDArray[np.int64]
    first: FloatArray
    scatter: FloatArray


def _assigned(
    X: FloatArray | Blocks, flats: list[Flat], labels: NDArray[np.int32], near: FloatArray,
    sum_up: bool,
) -> _Sums | None:  # fmt: skip
    """Write the closest flat of every row, and how far it is; the sums over the rows of each."""

    def assign(block: FloatArray, rows: slice) -> _Sums | int:
        closest, near[rows] = _closest(squared_residuals(block, flats))
        labels[rows] = closest
        return _sums(block, closest, flats) if sum_up else 0

    sums = fold(assign, X)
    return sums if isinstance(sums, _Sums) else None


def _closest(residuals: FloatArray) -> tuple[NDArray[np.int32], FloatArray]:
    """The closest flat of every row, the first of several, and how far it is."""
    # Column by column, many rows at a time; argmin takes row by row.
    closest, near = np.zeros(len(residuals), np.int32), residuals[:, 0].copy()
    for k in range(1, residuals.shape[1]):
        closer = residuals[:, k] < near
        closest[closer] = k
        np.minimum(near, residuals[:, k], out=near)
    return closest, near


def _summed(X: FloatArray | Blocks, flats: list[Flat], labels: NDArray[np.int32]) -> _Sums:
    return fold(lambda block, rows: _sums(block, labels[rows], flats), X)


def _sums(block: FloatArray, labels: NDArray[np.integer], flats: list[Flat]) -> _Sums:
    p = block.shape[1]
    counts = np.zeros(len(flats), np.int64)
    first, scatter = np.zeros((len(flats), p)), np.zeros((len(flats), p, p))
    for k, flat in enumerate(flats):
        away = block.take(np.flatnonzero(labels == k), axis=0)
        away -= flat.centre
        counts[k], first[k], scatter[k] = len(away), np.ones(len(away)) @ away, away.T @ away
    return _Sums(counts, first, scatter)


def _refitted_flat(sums: _Sums, k: int, dim: int, flats: list[Flat], searched: FloatArray) -> Flat:
    number = int(sums.counts[k])
    if number <= dim:
        # Too few rows to hold it: start anew around the row, of those searched, that fits worst.
        worst = squared_residuals(searched, flats).min(axis=1).argmax()
        return _local_flat(searched, int(worst), dim)
    off = sums.first[k] / number
    scatter = sums.scatter[k] - number * np.outer(off, off)
    return flat_of_scatter(flats[k].centre + off, scatter, dim)


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


def _refitted(X: FloatArray, labels: Labels, k: int, dim: int, old: Flat, near: FloatArray) -> Flat:
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
