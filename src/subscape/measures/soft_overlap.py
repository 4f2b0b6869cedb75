"""T_ij of soft clusterings: Σ_r Σ_f min(a_r w_f, b_r v_f), by sorting ratios."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subscape.core import SubspaceClustering

FloatArray = NDArray[np.float64]


def soft_overlaps(
    a: SubspaceClustering,
    cells_a: FloatArray,
    b: SubspaceClustering,
    cells_b: FloatArray,
    row_weights: FloatArray | None = None,
) -> FloatArray:
    """Sum of cell minima for every pair of clusters, O((n + p) log p) per pair.

    ``cells_a`` and ``cells_b`` are the (n_clusters, n_features) masses of the features.
    """
    table = np.zeros((a.n_clusters, b.n_clusters))
    dense = np.zeros(a.n_rows)
    for i in range(a.n_clusters):
        dense[a.members.rows(i)] = a.members.weights(i)
        for j in range(b.n_clusters):
            rows = b.members.rows(j)
            mine, theirs = dense[rows], b.members.weights(j).astype(np.float64)
            both = mine > 0
            counts = None if row_weights is None else row_weights[rows[both]]
            table[i, j] = minima(mine[both], cells_a[i], theirs[both], cells_b[j], counts)
        dense[a.members.rows(i)] = 0.0
    return table


def minima(
    a: FloatArray, w: FloatArray, b: FloatArray, v: FloatArray, counts: FloatArray | None = None
) -> float:
    """Σ_r Σ_f counts_r · min(a_r w_f, b_r v_f) for positive a, b.

    The first term is the smaller one just where w_f / v_f ≤ b_r / a_r: with the features sorted by
    that ratio, every row needs one binary search and two prefix sums.

    >>> import numpy as np
    >>> minima(np.array([1.0]), np.array([0.5, 0.5]), np.array([0.5]), np.array([0.2, 0.8]))
    0.5
    """
    shared = (w > 0) & (v > 0)
    w, v = w[shared], v[shared]
    ratio = w / v
    order = np.argsort(ratio, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(w[order])])
    above = np.concatenate([np.cumsum(v[order][::-1])[::-1], [0.0]])
    place = np.searchsorted(ratio[order], b / a, side="right")
    shares = a * below[place] + b * above[place]
    return float(shares.sum() if counts is None else shares @ counts)
