"""The settling of K flats on a table that lies on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.algorithms.progress import Watch
from subscape.kernels.array_api import equal, shared_namespace, to_numpy
from subscape.kernels.device_blocks import DeviceBlocks
from subscape.kernels.device_flats import closest_flats_there, flat_sums_there

from .flat_descent import WIDEST_SETTLED, Fit, Sums, refitted_flat
from .flats import FloatArray


def settled_there(
    X: DeviceBlocks, searched: FloatArray, fit: Fit, dims: list[int], spared: int, max_iter: int,
    watch: Watch,
) -> Fit:  # fmt: skip
    """``flat_descent.settled`` with all rows, their labels and distances on the device."""
    xp = shared_namespace(X=X.values)
    flats, n_iter, last, before = fit.flats, 0, X.shape[1] > WIDEST_SETTLED, None
    while True:
        n_iter += 1
        last = last or n_iter == max_iter or (n_iter > 1 and watch.out_of_time())
        centres = np.array([flat.centre for flat in flats])
        bases = [flat.basis for flat in flats]
        labels, near = closest_flats_there(X, centres, bases)
        if spared:
            labels = xp.where(_farthest(xp, near, spared), -1, labels)
        if last or (before is not None and equal(labels, before)):
            kept = xp.where(labels >= 0, near, 0.0)
            cost = float(xp.sum(kept, dtype=xp.float64))
            return Fit(flats, to_numpy(labels).astype(np.int64), cost, fit.n_iter + n_iter)
        before = labels
        counts, around, *sums = flat_sums_there(X, labels, len(dims))
        flats = [
            refitted_flat(Sums(counts, *sums), k, dim, flats, searched, around[k])
            for k, dim in enumerate(dims)
        ]


def _farthest(xp: Any, near: Any, many: int) -> Any:
    """Which rows are the farthest ones; of equal ones the last."""
    ranks = xp.argsort(xp.argsort(near, stable=True), stable=True)
    return ranks >= near.shape[0] - many
