"""Density-connected sets of rows (DBSCAN) in a few columns of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from subscape.kernels.backend import compiled

__all__ = ["DensityClusters", "density_clusters"]


class DensityClusters(NamedTuple):
    """Clusters of rows, which may share border rows."""

    starts: NDArray[np.int64]
    """(k + 1,): where the rows of each cluster begin."""
    rows: NDArray[np.int32]
    """The rows of all clusters, ascending within each."""
    core: NDArray[np.bool_]
    """Which of them are core rows."""


@compiled("_density")
def density_clusters(
    columns: NDArray[np.float64],
    rows: NDArray[np.int32],
    dims: NDArray[np.int32],
    may_be_core: NDArray[np.bool_],
    min_samples: int,
    order: float,
) -> DensityClusters:
    """Find the density-connected sets of some rows in some columns, at radius 1.

    A row is core if at least ``min_samples`` rows, itself included, are within distance 1. Core
    rows within distance 1 are in the same cluster, and so is every other row within distance 1
    of a core row: a border row belongs to each such cluster, not only to the first one found.

    Parameters
    ----------
    columns : (p, n) array
        The table, one line per column, in units of the radius.
    rows : (r,) array of int32
        The rows to cluster, ascending.
    dims : (d,) array of int32
        The columns in which distances are measured.
    may_be_core : (n,) array of bool
        False for rows that are known not to be core.
    min_samples : int
        Rows in the neighbourhood of a core row.
    order : float
        1 for Manhattan, 2 for Euclidean, infinity for maximum distances.

    Returns
    -------
    DensityClusters
        The clusters in the order of their first core rows.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.kernels.density import density_clusters
    >>> columns = np.array([[0.0, 0.9, 1.8, 9.0, 9.1, 50.0]])
    >>> every = np.arange(6, dtype=np.int32)
    >>> found = density_clusters(columns, every, np.array([0], dtype=np.int32),
    ...                          np.ones(6, dtype=bool), 2, 2.0)
    >>> np.split(found.rows, found.starts[1:-1])
    [array([0, 1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    close = _within_reach(columns[np.ix_(dims, rows)], order)
    core = (close.sum(axis=1) >= min_samples) & may_be_core[rows]
    if not core.any():
        return DensityClusters(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, bool))
    inner = np.flatnonzero(core)
    n_groups, group = connected_components(close[np.ix_(inner, inner)], directed=False)
    # SciPy numbers components in the order of their first members.
    members = [
        np.flatnonzero(close[:, inner[group == g]].any(axis=1) & (~core | _is_in(core, inner, group, g)))
        for g in range(n_groups)
    ]
    starts = np.cumsum([0, *(len(cluster) for cluster in members)]).astype(np.int64)
    positions = np.concatenate(members)
    return DensityClusters(starts, rows[positions], core[positions])


def _within_reach(points: NDArray[np.float64], order: float) -> NDArray[np.bool_]:
    """Which pairs of points are at most 1 apart; one line per column."""
    n = points.shape[1]
    total = np.zeros((n, n))
    for values in points:
        apart = np.abs(values[:, None] - values)
        if order == 1:
            total += apart
        elif order == 2:
            total += apart * apart
        else:
            total = np.maximum(total, apart)
    return total <= 1.0


def _is_in(
    core: NDArray[np.bool_], inner: NDArray[np.intp], group: NDArray[np.int32], g: int
) -> NDArray[np.bool_]:
    flags = np.zeros(len(core), dtype=bool)
    flags[inner[group == g]] = True
    return flags
