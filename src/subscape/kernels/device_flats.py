"""Passes of K flats over a table on a device: closest flats, and the scatter of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.kernels.array_api import from_numpy, shared_namespace
from subscape.kernels.blocks import Floats
from subscape.kernels.device_blocks import DeviceBlocks, fold_there
from subscape.kernels.device_moments import moments_there

__all__ = ["Closest", "FlatSums", "closest_flats_there", "flat_sums_there"]


class Closest(NamedTuple):
    """Rows by their closest flat, on the device."""

    labels: Any
    """(n,) closest flat of each row; ties go to the first."""
    near: Any
    """(n,) squared distance to it."""


class FlatSums(NamedTuple):
    """Sums over the rows of each flat."""

    counts: NDArray[np.int64]
    around: Floats
    """(k, p) the point that differences are taken to, among the rows of the flat."""
    first: Floats
    """(k, p) sums of the differences."""
    scatter: Floats
    """(k, p, p) sums of their products."""


def closest_flats_there(X: DeviceBlocks, centres: Floats, bases: Sequence[Floats]) -> Closest:
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
    >>> from subscape.kernels.blocks import as_blocks
    >>> from subscape.kernels.device_flats import closest_flats_there
    >>> X = as_blocks(xp.asarray([[3.0, 0.0], [0.0, 5.0], [-2.0, 1.0]]))
    >>> lines = [np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
    >>> closest_flats_there(X, np.zeros((2, 2)), lines).labels
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

    fold_there(assigned, X, 2 * p + 4 * k + 3 * len(owner), "a pass over the flats")
    labels, near = zip(*parts, strict=True)
    return Closest(xp.concat(labels), xp.concat(near))


def flat_sums_there(X: DeviceBlocks, labels: Any, n_flats: int) -> FlatSums:
    """What flats are fitted to; −1 is left out.

    Each row is multiplied once, with the others of its flat.

    >>> import array_api_strict as xp
    >>> from subscape.kernels.blocks import as_blocks
    >>> from subscape.kernels.device_flats import flat_sums_there
    >>> X, labels = as_blocks(xp.asarray([[1.0], [4.0], [9.0]])), xp.asarray([0, 0, -1])
    >>> sums = flat_sums_there(X, labels, 1)
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
            moments = moments_there(X, rows, None, products=True)
            sums.counts[k] = rows.shape[0]
            sums.around[k], sums.first[k], sums.scatter[k] = moments
    return sums
