"""Affine flats: fit them to rows, and measure how far rows are from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import UnsupportedKindError
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray

#: Up to so many features a flat is fitted through the covariance, beyond by a thin SVD.
WIDEST_COVARIANCE = 400


class Flat(NamedTuple):
    """The points ``centre + basis @ t``."""

    centre: FloatArray
    basis: FloatArray

    @property
    def dim(self) -> int:
        return int(self.basis.shape[1])


def bases_of(clustering: SubspaceClustering) -> list[FloatArray]:
    """The basis of each cluster of a finder whose subspaces are oriented.

    >>> import numpy as np
    >>> from subscape import SubspaceClustering
    >>> from subscape.finders.oriented.flats import bases_of
    >>> lines = SubspaceClustering.from_labels([0, 0], bases=[np.array([[1.0], [0.0]])])
    >>> bases_of(lines)[0].tolist()
    [[1.0], [0.0]]
    """
    spaces = clustering.subspaces
    if not isinstance(spaces, OrientedSubspaces):
        raise UnsupportedKindError(
            f"only oriented subspaces have bases, and these are of kind {spaces.kind!r}; turn axes "
            "into directions by as_oriented()"
        )
    return spaces.bases


def fitted_flat(rows: FloatArray, dim: int) -> Flat:
    """The flat of this dimension closest to the rows: their mean and main directions.

    Fewer rows than it takes give a flat through all of them, of lower dimension.
    """
    centre = rows.mean(axis=0)
    centred = rows - centre
    dim = min(dim, len(rows) - 1, rows.shape[1])
    if dim <= 0:
        return Flat(centre, np.zeros((rows.shape[1], 0)))
    if rows.shape[1] <= WIDEST_COVARIANCE and len(rows) > rows.shape[1]:
        return flat_of_scatter(centre, centred.T @ centred, dim)
    basis = np.linalg.svd(centred, full_matrices=False)[2][:dim].T
    return Flat(centre, np.ascontiguousarray(basis))


def flat_of_scatter(centre: FloatArray, scatter: FloatArray, dim: int) -> Flat:
    """The flat of this dimension closest to rows of which only mean and (p, p) scatter are known.

    >>> import numpy as np
    >>> from subscape.finders.oriented.flats import flat_of_scatter
    >>> np.abs(flat_of_scatter(np.zeros(2), np.diag([4.0, 1.0]), 1).basis).tolist()
    [[1.0], [0.0]]
    """
    basis = np.linalg.eigh(scatter)[1][:, : -dim - 1 : -1] if dim else np.zeros((len(centre), 0))
    return Flat(centre, np.ascontiguousarray(basis))


def squared_residuals(X: FloatArray, flats: list[Flat]) -> FloatArray:
    """Squared distance of every row to every flat, (n_rows, n_flats).

    ‖x − c‖² − ‖Uᵀ(x − c)‖²; the rows should be centred, so that little cancels.
    """
    centres = np.array([flat.centre for flat in flats])
    bases = np.hstack([flat.basis for flat in flats])
    owner = np.repeat(np.arange(len(flats)), [flat.dim for flat in flats])
    # One product for all flats, with a row for each direction: what follows runs along the rows.
    products = np.hstack([centres.T, bases]).T @ X.T
    lengths = np.einsum("ij,ij->i", X, X)
    result = products[: len(flats)]
    for k, centre in enumerate(centres):
        result[k] *= -2
        result[k] += lengths
        result[k] += centre @ centre
    moved = bool(centres.any())
    for k, basis, along in zip(owner.tolist(), bases.T, products[len(flats) :], strict=True):
        if moved:
            along -= centres[k] @ basis
        result[k] -= np.square(along, out=along)
    return np.maximum(result, 0.0, out=result).T
