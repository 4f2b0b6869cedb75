"""Density-connected sets of rows (DBSCAN) in a few columns of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IntArray

__all__ = ["DensityClusters", "density_clusters"]

#: Rows whose distances the NumPy version holds at a time, and how far away in one column others may
#: be: the radius and a rounding error.
BLOCK, REACH = 256, 1.0 + 1e-9


class DensityClusters(NamedTuple):
    """Clusters of rows, which may share border rows."""

    starts: IntArray
    """(k + 1,): where the rows of each cluster begin."""
    rows: NDArray[np.int32]
    """The rows of all clusters, ascending within each."""
    core: BoolArray
    """Which of them are core rows."""


@compiled("_density")
def density_clusters(
    columns: FloatArray,
    rows: NDArray[np.int32],
    dims: NDArray[np.int32],
    may_be_core: BoolArray,
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
    >>> from subscape.finders.axis.subclu.density import density_clusters
    >>> columns = np.array([[0.0, 0.9, 1.8, 9.0, 9.1, 50.0]])
    >>> every = np.arange(6, dtype=np.int32)
    >>> found = density_clusters(columns, every, np.array([0], dtype=np.int32),
    ...                          np.ones(6, dtype=bool), 2, 2.0)
    >>> np.split(found.rows, found.starts[1:-1])
    [array([0, 1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    near = _near_pairs(columns[np.ix_(dims, rows)], order)
    core = (np.diff(near.indptr) >= min_samples) & may_be_core[rows]
    inner = np.flatnonzero(core)
    to_inner = near[:, inner]
    # SciPy numbers components in the order of their first members.
    n_groups, group = connected_components(to_inner[inner], directed=False)
    in_group = csr_array(
        (np.ones(len(inner), dtype=np.int64), (np.arange(len(inner)), group)),
        shape=(len(inner), n_groups),
    )
    # A core row is near core rows of its own group only, so it comes out in that group alone.
    member, of = (to_inner.astype(np.int64) @ in_group).nonzero()
    arranged = np.lexsort((member, of))
    member = member[arranged]
    sizes = np.bincount(of, minlength=n_groups)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return DensityClusters(starts, rows[member], core[member])


def _near_pairs(points: FloatArray, order: float) -> csr_array:
    """Which pairs of points (the columns of the array) are at most 1 apart."""
    n = points.shape[1]
    if n == 0:
        return csr_array((0, 0), dtype=bool)
    widest = points[np.argmax(np.ptp(points, axis=1))]
    position = np.argsort(widest, kind="stable")
    ascending = widest[position]
    left, right = [], []
    for first in range(0, n, BLOCK):
        block = position[first : first + BLOCK]
        last = min(first + BLOCK, n) - 1
        low = np.searchsorted(ascending, ascending[first] - REACH)
        high = np.searchsorted(ascending, ascending[last] + REACH, side="right")
        others = position[low:high]
        distance = np.zeros((len(block), len(others)))
        for values in points:
            apart = np.abs(values[block, None] - values[others])
            if order == 1:
                distance += apart
            elif order == 2:
                distance += apart * apart
            else:
                distance = np.maximum(distance, apart)
        i, j = np.nonzero(distance <= 1.0)
        left.append(block[i])
        right.append(others[j])
    pairs = (np.concatenate(left), np.concatenate(right))
    return csr_array((np.ones(len(pairs[0]), dtype=bool), pairs), shape=(n, n))
