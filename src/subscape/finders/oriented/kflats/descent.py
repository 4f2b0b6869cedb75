"""The iterations of K flats: from a start, over swaps, to the settling of a long table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.blocks import Blocks
from subscape.core.types import FloatArray, IntArray
from subscape.finders.oriented.flats import Flat, fitted_flat, squared_residuals
from subscape.parallel.progress import Watch

from .rows import FlatRows, HeldFlatRows, flat_rows, local_flat

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


def descend(
    rows: FlatRows, flats: list[Flat], max_iter: int, watch: Watch | None = None
) -> FlatsFit:
    """Assign and refit until the labels repeat, wherever the rows lie.

    After ``max_iter`` refits, or when time is up, rows are assigned once more and the flats stay.
    """
    n_iter = 0
    while True:
        late = watch is not None and n_iter > 0 and watch.out_of_time()
        last = late or n_iter == max_iter
        n_iter += 1
        changed = rows.assign(flats, sum_up=not last)
        if last or not changed:
            return FlatsFit(flats, rows.labels, rows.cost, max(1, min(n_iter, max_iter)))
        flats = rows.refitted(flats)


def finish_on_all_rows(
    X: FloatArray | Blocks, searched: FloatArray, fit: FlatsFit, dims: list[int], spared: int,
    max_iter: int, watch: Watch,
) -> FlatsFit:  # fmt: skip
    """Continue on all rows from flats that were found on some, one pass after the other.

    Of tables wider than 2000 features the rows are assigned, and the flats stay.
    """
    rows = flat_rows(X, dims, spared, searched)
    refits = max_iter if X.shape[1] <= WIDEST_SETTLED else 0
    found = descend(rows, fit.flats, refits, watch)
    return found._replace(n_iter=fit.n_iter + found.n_iter)


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
        flats[victim] = local_flat(X, seed, dims[victim])
        other = descend(HeldFlatRows(X, dims, spared), flats, max_iter)
        if other.cost < fit.cost * (1 - 1e-9):
            fit = other
    return fit


def seed_flat(X: FloatArray, dim: int, rng: np.random.Generator) -> Flat:
    """A flat through a random row: its neighbourhood's, or one through random other rows."""
    if rng.random() < 0.7:
        return local_flat(X, int(rng.integers(len(X))), dim, int(rng.integers(1, 5)))
    rows = rng.choice(len(X), size=min(len(X), dim + 1), replace=False)
    return fitted_flat(X[rows], dim)
