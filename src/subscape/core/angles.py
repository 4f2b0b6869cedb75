"""How much two oriented subspaces share, through their principal angles.

Nothing here makes a (p, p) array: complements enter by their stored directions. With B, D the
stored bases of the two subspaces and σ the singular values of BᵀD, the cosines of the principal
angles θ between the *stored* spans:

==============  ==================  =============================
stored spans    tr(P Q)             mass shared in the nuclear norm
==============  ==================  =============================
both subspaces  Σσ²                 min(b, d) − Σ sin θ
one complement  b − Σσ²             b − Σ cos θ
both            p − b − d + Σσ²     p − max(b, d) − Σ sin θ
==============  ==================  =============================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .oriented import OrientedSubspaces

#: 1 − σ² below this is rounding: subspaces this close count as equal (an angle of 1e-7).
ROUNDING = 1e-14


def squared_cosines(a: OrientedSubspaces, b: OrientedSubspaces) -> NDArray[np.float64]:
    """tr(P_i Q_j) for every pair of clusters: the thesis' Σσ², as (n_clusters_a, n_clusters_b).

    >>> import numpy as np
    >>> line = lambda t: np.array([[np.cos(t)], [np.sin(t)]])
    >>> a, b = OrientedSubspaces([line(0.0)]), OrientedSubspaces([line(np.pi / 3)])
    >>> squared_cosines(a, b).round(6)
    array([[0.25]])
    """
    product = a.stack.T @ b.stack
    shared = _block_sums(np.square(product, out=product), a.offsets, b.offsets)
    width_a, width_b = a.widths[:, None], b.widths[None, :]
    if a.is_complement and b.is_complement:
        return a.n_features - width_a - width_b + shared
    if a.is_complement:
        return width_b - shared
    if b.is_complement:
        return width_a - shared
    return shared


def trace_overlaps(a: OrientedSubspaces, b: OrientedSubspaces) -> NDArray[np.float64]:
    """(tr P + tr Q − ‖P − Q‖_*) / 2 for every pair of clusters: Σ(1 − sin θ) for two subspaces.

    >>> import numpy as np
    >>> line = lambda t: np.array([[np.cos(t)], [np.sin(t)]])
    >>> a, b = OrientedSubspaces([line(0.0)]), OrientedSubspaces([line(np.pi / 6)])
    >>> trace_overlaps(a, b).round(6)
    array([[0.5]])
    """
    mixed = a.is_complement != b.is_complement
    product = a.stack.T @ b.stack
    sums = np.zeros((a.n_clusters, b.n_clusters))
    for width_a in np.unique(a.widths):
        rows = np.flatnonzero(a.widths == width_a)
        for width_b in np.unique(b.widths):
            columns = np.flatnonzero(b.widths == width_b)
            if width_a == 0 or width_b == 0:
                continue
            take_a = (a.offsets[rows][:, None] + np.arange(width_a)).ravel()
            take_b = (b.offsets[columns][:, None] + np.arange(width_b)).ravel()
            blocks = product[np.ix_(take_a, take_b)]
            blocks = blocks.reshape(len(rows), width_a, len(columns), width_b).swapaxes(1, 2)
            cosines = np.linalg.svd(blocks, compute_uv=False)
            if mixed:
                angles = cosines
            else:
                squared_sines = 1.0 - np.square(cosines)
                angles = np.sqrt(np.where(squared_sines > ROUNDING, squared_sines, 0.0))
            sums[np.ix_(rows, columns)] = angles.sum(axis=-1)
    width_a, width_b = a.widths[:, None], b.widths[None, :]
    if mixed:
        return (width_b if a.is_complement else width_a) - sums
    if a.is_complement:
        return a.n_features - np.maximum(width_a, width_b) - sums
    return np.minimum(width_a, width_b) - sums


def _block_sums(
    matrix: NDArray[np.float64], row_offsets: NDArray[np.int64], column_offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Sums over the blocks that the offsets cut; blocks may be empty."""
    rows = _segment_sums(matrix, row_offsets)
    return _segment_sums(rows.T, column_offsets).T


def _segment_sums(matrix: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    sums = np.zeros((len(offsets) - 1, matrix.shape[1]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(matrix, offsets[filled], axis=0)
    return sums
