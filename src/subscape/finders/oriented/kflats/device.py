"""The settling of K flats on a table that lies on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from subscape.arrays.device.array_api import equal, from_numpy, shared_namespace, to_numpy
from subscape.arrays.device.blocks import DeviceBlocks, fold_on_device
from subscape.arrays.device.moments import moments_on_device
from subscape.core.types import FloatArray, IntArray
from subscape.parallel.progress import Watch

from .descent import WIDEST_SETTLED, Fit, Sums, refitted_flat

__all__ = ["Closest", "FlatSums", "closest_flats_on_device", "flat_sums_on_device"]


def finish_on_device(
    X: DeviceBlocks, searched: FloatArray, fit: Fit, dims: list[int], spared: int, max_iter: int,
    watch: Watch,
) -> Fit:  # fmt: skip
    """``finish_on_all_rows`` with all rows, their labels and distances on the device."""
    xp = shared_namespace(X=X.values)
    flats, n_iter, last, before = fit.flats, 0, X.shape[1] > WIDEST_SETTLED, None
    while True:
        n_iter += 1
        last = last or n_iter == max_iter or (n_iter > 1 and watch.out_of_time())
        centres = np.array([flat.centre for flat in flats])
        bases = [flat.basis for flat in flats]
        labels, near = closest_flats_on_device(X, centres, bases)
        if spared:
            labels = xp.where(_farthest(xp, near, spared), -1, labels)
        if last or (before is not None and equal(labels, before)):
            kept = xp.where(labels >= 0, near, 0.0)
            cost = float(xp.sum(kept, dtype=xp.float64))
            return Fit(flats, to_numpy(labels).astype(np.int64), cost, fit.n_iter + n_iter)
        before = labels
        counts, around, *sums = flat_sums_on_device(X, labels, len(dims))
        flats = [
            refitted_flat(Sums(counts, *sums), k, dim, flats, searched, around[k])
            for k, dim in enumerate(dims)
        ]


def _farthest(xp: Any, near: Any, many: int) -> Any:
    """Which rows are the farthest ones; of equal ones the last."""
    ranks = xp.argsort(xp.argsort(near, stable=True), stable=True)
    return ranks >= near.shape[0] - many


# -- passes of K flats over a table on a device: closest flats, and the scatter of their row -------


class Closest(NamedTuple):
    """Rows by their closest flat, on the device."""

    labels: Any
    """(n,) closest flat of each row; ties go to the first."""
    near: Any
    """(n,) squared distance to it."""


class FlatSums(NamedTuple):
    """Sums over the rows of each flat."""

    counts: IntArray
    around: FloatArray
    """(k, p) the point that differences are taken to, among the rows of the flat."""
    first: FloatArray
    """(k, p) sums of the differences."""
    scatter: FloatArray
    """(k, p, p) sums of their products."""


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
    >>> from subscape.finders.oriented.kflats.device import closest_flats_on_device
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
    >>> from subscape.finders.oriented.kflats.device import flat_sums_on_device
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
