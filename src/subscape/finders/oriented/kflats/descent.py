"""The iterations of K flats: from a start, over swaps, to the settling of a long table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.blocks import Blocks
from subscape.core.types import FloatArray, IntArray
from subscape.finders.oriented.flats import Flat, fitted_flat, flat_of_scatter, squared_residuals
from subscape.parallel.progress import Watch

from .rows import FlatSums, flat_rows

#: Up to so many features the flats of a long table are fitted to all of its rows.
WIDEST_SETTLED = 2000


class FlatsFit(NamedTuple):
    """Flats, the rows of each, and the summed squared distance."""

    flats: list[Flat]
    labels: IntArray
    cost: float
    n_iter: int

    @property
    def objective(self) -> float:
        return self.cost


def finish_on_all_rows(
    X: FloatArray | Blocks, searched: FloatArray, fit: FlatsFit, dims: list[int], spared: int,
    max_iter: int, watch: Watch,
) -> FlatsFit:  # fmt: skip
    """Continue on all rows from flats that were found on some, one pass after the other.

    Every pass assigns the rows and sums up what the next flats are made of. Of tables wider than
    2000 features the rows are assigned, and the flats stay.
    """
    rows, flats, n_iter = flat_rows(X, dims), fit.flats, 0
    last = X.shape[1] > WIDEST_SETTLED
    while True:
        n_iter += 1
        last = last or n_iter == max_iter or (n_iter > 1 and watch.out_of_time())
        changed = rows.assign(flats, spared, sum_up=not last)
        if last or not changed:
            return FlatsFit(flats, rows.labels, rows.cost, fit.n_iter + n_iter)
        sums = rows.sums(flats)
        flats = [refitted_flat(sums, k, dim, flats, searched) for k, dim in enumerate(dims)]


def refitted_flat(
    sums: FlatSums, k: int, dim: int, flats: list[Flat], searched: FloatArray
) -> Flat:
    """The flat closest to the rows of flat k, by their sums around some point."""
    number = int(sums.counts[k])
    if number <= dim:
        # Too few rows to hold it: start anew around the row, of those searched, that fits worst.
        worst = squared_residuals(searched, flats).min(axis=1).argmax()
        return _local_flat(searched, int(worst), dim)
    off = sums.first[k] / number
    scatter = sums.scatter[k] - number * np.outer(off, off)
    return flat_of_scatter(sums.around[k] + off, scatter, dim)


def descend(
    X: FloatArray, flats: list[Flat], dims: list[int], spared: int, max_iter: int
) -> FlatsFit:
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
    return FlatsFit(flats, labels, cost, n_iter)


def _refitted(
    X: FloatArray, labels: IntArray, k: int, dim: int, old: Flat, near: FloatArray
) -> Flat:
    rows = np.flatnonzero(labels == k)
    if len(rows) > dim:
        return fitted_flat(X[rows], dim)
    # Too few rows to hold it: start anew around the row that fits worst.
    return _local_flat(X, int(np.where(labels >= 0, near, -1.0).argmax()), dim)


def swapped(
    X: FloatArray, fit: FlatsFit, dims: list[int], spared: int, max_iter: int, n_swaps: int,
    rng: np.random.Generator, watch: Watch,
) -> FlatsFit:  # fmt: skip
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
