"""Affine flats: fit them to rows, and measure how far rows are from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Up to so many features a flat is fitted through the covariance, beyond by a thin SVD.
WIDEST_COVARIANCE = 400


class Flat(NamedTuple):
    """The points ``centre + basis @ t``."""

    centre: FloatArray
    basis: FloatArray

    @property
    def dim(self) -> int:
        return int(self.basis.shape[1])


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
        basis = np.linalg.eigh(centred.T @ centred)[1][:, : -dim - 1 : -1]
    else:
        basis = np.linalg.svd(centred, full_matrices=False)[2][:dim].T
    return Flat(centre, np.ascontiguousarray(basis))


def squared_residuals(X: FloatArray, flats: list[Flat]) -> FloatArray:
    """Squared distance of every row to every flat, (n_rows, n_flats).

    ‖x − c‖² − ‖Uᵀ(x − c)‖²; the rows should be centred, so that little cancels.
    """
    lengths = np.einsum("ij,ij->i", X, X)
    result = np.empty((len(X), len(flats)))
    for k, flat in enumerate(flats):
        along = X @ flat.basis - flat.centre @ flat.basis
        squared = lengths - 2 * (X @ flat.centre) + flat.centre @ flat.centre
        result[:, k] = squared - np.einsum("ij,ij->i", along, along)
    return np.maximum(result, 0.0, out=result)
