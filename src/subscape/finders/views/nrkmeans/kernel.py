"""One pass over the rows for several clusterings at once: nearest centres and group sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray, IntArray

__all__ = ["CellSums", "cell_sums", "nearest_in_views"]


class CellSums(NamedTuple):
    """Sums over the rows that share their labels in all views."""

    sums: FloatArray
    """(cells, p) sum of the rows of each cell, in float64."""
    counts: IntArray
    """(cells,) rows of each cell."""


@compiled("_views")
def nearest_in_views(scores: NDArray[np.floating], starts: IndexArray) -> NDArray[np.int32]:
    """Find for every row and view the cluster with the least score.

    Parameters
    ----------
    scores : (n, K) array of float32 or float64
        The clusters of all views side by side.
    starts : (S + 1,) array
        View s has the columns ``starts[s]`` to ``starts[s + 1]``, at least one.

    Returns
    -------
    (n, S) array
        Ties go to the first cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.nrkmeans.kernel import nearest_in_views
    >>> nearest_in_views(np.array([[3.0, 1.0, 2.0, 2.0, 1.0]]), np.array([0, 2, 5]))
    array([[1, 2]], dtype=int32)
    """
    labels = np.empty((len(scores), len(starts) - 1), dtype=np.int32)
    for s in range(labels.shape[1]):
        labels[:, s] = scores[:, starts[s] : starts[s + 1]].argmin(axis=1)
    return labels


@compiled("_views")
def cell_sums(X: NDArray[np.floating], labels: NDArray[np.int32], sizes: IndexArray) -> CellSums:
    """Sum the rows of each cell, that is, of each combination of clusters.

    The sums of the clusters of one view are sums over cells, so one pass serves all views.

    Parameters
    ----------
    X : (n, p) array of float32 or float64
    labels : (n, S) array
        Clusters ``0 .. sizes[s] - 1``; rows with a negative label are left out.
    sizes : (S,) array
        Number of clusters of each view; cells are numbered with the last view fastest.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.nrkmeans.kernel import cell_sums
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> found = cell_sums(X, np.array([[0, 1], [1, 0], [1, 0]], np.int32), np.array([2, 2]))
    >>> found.sums.ravel(), found.counts
    (array([0., 1., 6., 0.]), array([0, 1, 2, 0]))
    """
    inside = (labels >= 0).all(axis=1)
    cells = np.ravel_multi_index(tuple(labels[inside].T), tuple(int(size) for size in sizes))
    n_cells = int(np.prod(sizes))
    rows = X[inside]
    sums = np.empty((n_cells, X.shape[1]))
    for j in range(X.shape[1]):
        sums[:, j] = np.bincount(cells, rows[:, j], minlength=n_cells)
    return CellSums(sums, np.bincount(cells, minlength=n_cells).astype(np.int64))
