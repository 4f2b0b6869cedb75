"""One pass over the rows for several clusterings at once: nearest centres and group sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray, IntArray

__all__ = ["CellSums", "Settled", "cell_sums", "far_rows", "nearest_in_views", "settle"]


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


@compiled("_views")
def far_rows(inside: FloatArray, k: int, first: int, chances: FloatArray) -> IntArray:
    """k rows, far from each other, by greedy k-means++.

    Parameters
    ----------
    inside : (n, d) array
    k : int
    first : int
        The first row.
    chances : (k - 1, t) array
        Numbers from 0 to 1: each further row is the best of t that they choose.

    Returns
    -------
    int64 array
        Fewer than k where all rows lie in places that are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.nrkmeans.kernel import far_rows
    >>> far_rows(np.array([[0.0], [1.0], [9.0]]), 2, 0, np.array([[0.05, 0.9]]))
    array([0, 2])
    """
    n = len(inside)
    rows = [first]
    lengths = np.square(inside).sum(axis=1)
    closest = _squared_distances(inside, lengths, rows)[:, 0]
    for chance in chances[: k - 1]:
        places = np.cumsum(closest)
        if not places[-1] > 0:
            break
        tried = np.searchsorted(places, chance * places[-1]).clip(max=n - 1)
        reached = np.minimum(closest[:, None], _squared_distances(inside, lengths, tried))
        best = int(reached.sum(axis=0).argmin())
        rows.append(int(tried[best]))
        closest = reached[:, best]
    return np.array(rows, dtype=np.int64)


def _squared_distances(inside: FloatArray, lengths: FloatArray, rows: Any) -> FloatArray:
    apart = lengths[:, None] - 2 * (inside @ inside[rows].T) + lengths[rows]
    return np.maximum(apart, 0.0)


class Settled(NamedTuple):
    """Where k-means ended from several starts."""

    labels: NDArray[np.int32]
    """(S, n) cluster of each row."""
    factors: FloatArray
    """(S, k, d) sums of the rows of each cluster by the root of their number."""
    emptied: NDArray[np.bool_]
    """(S,) whether a cluster lost all its rows on the way; the steps end there."""


@compiled("_views")
def settle(inside: FloatArray, centres: FloatArray, max_iter: int) -> Settled:
    """k-means from several starts, in a space that does not turn.

    Parameters
    ----------
    inside : (n, d) array
    centres : (S, k, d) array
    max_iter : int

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.nrkmeans.kernel import settle
    >>> settle(np.array([[0.0], [1.0], [9.0]]), np.array([[[1.0], [2.0]]]), 10).labels
    array([[0, 0, 1]], dtype=int32)
    """
    n_starts, k, _ = centres.shape
    labels = np.full((n_starts, len(inside)), -1, dtype=np.int32)
    factors, emptied = np.zeros(centres.shape), np.zeros(n_starts, dtype=bool)
    for start, middle in enumerate(centres):
        for _ in range(max_iter):
            now = (np.square(middle).sum(axis=1) - 2 * inside @ middle.T).argmin(axis=1)
            if (now == labels[start]).all():
                break
            labels[start] = now
            counts = np.bincount(now, minlength=k)
            if not counts.all():
                emptied[start] = True
                break
            sums = np.array([np.bincount(now, column, minlength=k) for column in inside.T]).T
            root = np.sqrt(counts)[:, None]
            factors[start] = sums / root
            middle = factors[start] / root
    return Settled(labels, factors, emptied)
