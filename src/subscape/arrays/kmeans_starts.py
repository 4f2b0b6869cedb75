"""Kernel: k-means from many starts and for many numbers of clusters at once."""

from __future__ import annotations

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray, IntArray

__all__ = ["kmeans_labels"]


@compiled("_kmeans_starts")
def kmeans_labels(Z: FloatArray, sizes: IndexArray, chances: FloatArray, rounds: int) -> IntArray:
    """Labels of Lloyd's k-means [1]_, one line per start.

    Centres begin in rows drawn by their squared distance from those drawn before (k-means++
    [2]_), and stay where they are if they lose all their rows.

    Parameters
    ----------
    Z : float64 array of shape (n, d)
    sizes : int64 array of shape (m,)
        Number of clusters of each start.
    chances : float64 array of shape (m, largest size)
        Numbers from 0 to 1 that choose the rows.
    rounds : int
        Rounds at most.

    Returns
    -------
    int64 array of shape (m, n)

    References
    ----------
    .. [1] S. P. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information
       Theory 28 (1982), doi:10.1109/TIT.1982.1056489.
    .. [2] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007,
       doi:10.5555/1283383.1283494.

    Examples
    --------
    >>> Z = np.repeat([[0.0], [9.0]], 5, axis=0)
    >>> kmeans_labels(Z, np.array([2]), np.array([[0.0, 0.5]]), 10).tolist()
    [[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]]
    """
    n = len(Z)
    labels = np.zeros((len(sizes), n), dtype=np.int64)
    for start, k in enumerate(sizes):
        centres = np.empty((k, Z.shape[1]))
        centres[0] = Z[min(int(chances[start, 0] * n), n - 1)]
        near = np.full(n, np.inf)
        for j in range(1, k):
            near = np.minimum(near, np.square(Z - centres[j - 1]).sum(axis=1))
            reached = np.cumsum(near)
            row = int(np.searchsorted(reached, chances[start, j] * reached[-1], side="left"))
            centres[j] = Z[min(row, n - 1)]
        before = np.full(n, -1)
        for _ in range(rounds):
            away = np.square(Z[:, None, :] - centres).sum(axis=2)
            now = away.argmin(axis=1)
            if (now == before).all():
                break
            before = now
            for j in range(k):
                inside = now == j
                if inside.any():
                    centres[j] = Z[inside].mean(axis=0)
        labels[start] = before
    return labels
