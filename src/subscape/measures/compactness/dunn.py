"""Dunn's index and its generalisations: separation of the clusters over their diameter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray

from .groups import PointGroups, clusters_within, distance_blocks, point_groups

#: How far apart two clusters are, in Bezdek and Pal's order δ1, ..., δ6.
SEPARATIONS = ("single", "complete", "average", "centroid", "to_centroid", "hausdorff")
#: How wide a cluster is, in their order Δ1, Δ2, Δ3.
DIAMETERS = ("complete", "average", "centroid")


def generalized_dunn(
    X: ArrayLike,
    clustering: Any,
    *,
    separation: str = "average",
    diameter: str = "centroid",
    space: str = "full",
    metric: str = "euclidean",
) -> float:
    """Smallest separation of two clusters over the largest diameter of one; large is good [1]_.

    Averages are far more robust to outliers than single distances, hence the defaults.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    clustering : SubspaceClustering, fitted finder or label vector
        Each row in at most one cluster (of soft memberships the largest counts); noise is left
        out.
    separation : {"single", "complete", "average", "centroid", "to_centroid", "hausdorff"}
        Distance of two clusters (δ1, ..., δ6): the smallest, the largest or the mean distance of
        their rows; the distance of their centroids; the mean distance of the rows of both to the
        other's centroid; the Hausdorff distance.
    diameter : {"complete", "average", "centroid"}
        Width of a cluster (Δ1, Δ2, Δ3): the largest or the mean distance of two of its rows; twice
        the mean distance to its centroid. A single row has width 0.
    space : {"full", "subspace"}, default="full"
        "subspace": clusters are measured in their own subspaces, two clusters in both of theirs,
        per dimension; see :mod:`subscape.measures.compactness.indices`.
    metric : str, default="euclidean"
        Any that ``scipy.spatial.distance.cdist`` knows; only "euclidean" in subspaces. Centroids
        are means whatever the metric.

    Returns
    -------
    float
        At least 0 and not bounded by 1; infinite if all clusters have width 0 (NaN if two of them
        are moreover at distance 0).

    See Also
    --------
    dunn_index : The classic one.
    compactness_report : All such indices at once.

    Notes
    -----
    "centroid" for both costs n p, "to_centroid" k times as much; the others look at all pairs of
    rows, block by block, in n^2 p time and little memory.

    References
    ----------
    .. [1] J. C. Bezdek, N. R. Pal, "Some new indexes of cluster validity", IEEE Transactions on
       Systems, Man, and Cybernetics B 28 (1998), doi:10.1109/3477.678624.

    Examples
    --------
    >>> from subscape.measures import generalized_dunn
    >>> X = [[0.0, 0], [0, 2], [10, 0], [10, 2]]
    >>> generalized_dunn(X, [0, 0, 1, 1], separation="centroid")
    5.0
    """
    if separation not in SEPARATIONS:
        raise SubscapeError(f"separation must be one of {SEPARATIONS}, got {separation!r}")
    if diameter not in DIAMETERS:
        raise SubscapeError(f"diameter must be one of {DIAMETERS}, got {diameter!r}")
    if metric != "euclidean" and space != "full":
        raise SubscapeError(f"metric={metric!r} is known in the full space only; use 'euclidean'")
    groups = point_groups(X, clustering, space, "generalized_dunn")
    between = _Pairs(groups, metric)
    apart = between.separations(separation)
    apart = apart[~np.eye(groups.n_clusters, dtype=bool)].min()
    wide = between.diameters(diameter).max()
    if wide == 0:
        return float("inf") if apart > 0 else float("nan")
    return float(apart / wide)


def dunn_index(
    X: ArrayLike, clustering: Any, *, space: str = "full", metric: str = "euclidean"
) -> float:
    """Dunn's index: the smallest distance between clusters over the largest diameter [1]_.

    :func:`generalized_dunn` with ``separation="single"`` and ``diameter="complete"``: the oldest
    variant, and the one that outliers spoil most easily.

    Parameters
    ----------
    X, clustering, space, metric
        As in :func:`generalized_dunn`.

    Returns
    -------
    float

    See Also
    --------
    generalized_dunn : Less sensitive to single rows.
    compactness_report : All such indices at once.

    References
    ----------
    .. [1] J. C. Dunn, "Well-separated clusters and optimal fuzzy partitions", Journal of
       Cybernetics 4 (1974), doi:10.1080/01969727408546059.

    Examples
    --------
    >>> from subscape.measures import dunn_index
    >>> dunn_index([[0.0], [1.0], [4.0], [6.0]], [0, 0, 1, 1])
    1.5
    """
    return generalized_dunn(
        X, clustering, separation="single", diameter="complete", space=space, metric=metric
    )


class _Pairs:
    """Separations and diameters of all clusters; passes over the pairs of rows are made once."""

    def __init__(self, groups: PointGroups, metric: str) -> None:
        self.groups = groups
        self.metric = metric
        self._tables: dict[str, FloatArray] = {}

    def separations(self, kind: str) -> FloatArray:
        groups = self.groups
        if kind == "average":
            return self._table("sum") / np.multiply.outer(groups.sizes, groups.sizes)
        if kind == "centroid":
            if self.metric == "euclidean":
                return groups.centroid_distances()
            centroids = groups.centroids()
            return np.asarray(cdist(centroids, centroids, self.metric))
        if kind == "to_centroid":
            sums = _sums_to_centroids(groups, self.metric)
            return (sums + sums.T) / np.add.outer(groups.sizes, groups.sizes)
        return self._table({"single": "min", "complete": "max"}.get(kind, kind))

    def diameters(self, kind: str) -> FloatArray:
        groups = self.groups
        if kind == "complete":
            return np.diag(self._table("max"))
        if kind == "average":
            pairs = groups.sizes * (groups.sizes - 1)
            return np.diag(self._table("sum")) / np.maximum(pairs, 1)
        return 2 * np.diag(_sums_to_centroids(groups, self.metric, own=True)) / groups.sizes

    def _table(self, kind: str) -> FloatArray:
        if kind not in self._tables:
            self._tables[kind] = (
                _hausdorff(self.groups, self.metric)
                if kind == "hausdorff"
                else _reduced(self.groups, self.metric, *_START[kind])
            )
        return self._tables[kind]


def _reduced(groups: PointGroups, metric: str, reduce: np.ufunc, start: float) -> FloatArray:
    """The smallest, largest or summed distance between the rows of any two clusters."""
    table = np.full((groups.n_clusters, groups.n_clusters), start)
    for rows, columns, block in distance_blocks(groups, exact=True, metric=metric):
        left, left_starts = clusters_within(groups, rows)
        right, right_starts = clusters_within(groups, columns)
        found = reduce.reduceat(reduce.reduceat(block, right_starts, axis=1), left_starts, axis=0)
        cells = np.ix_(left, right)
        table[cells] = reduce(table[cells], found)
    return table


def _hausdorff(groups: PointGroups, metric: str) -> FloatArray:
    """Hausdorff distances, by the nearest point of every cluster to every point."""
    nearest = np.full((len(groups.points), groups.n_clusters), np.inf)
    for rows, columns, block in distance_blocks(groups, exact=True, metric=metric):
        right, starts = clusters_within(groups, columns)
        nearest[rows, right[0] : right[-1] + 1] = np.minimum.reduceat(block, starts, axis=1)
    farthest = np.maximum.reduceat(nearest, groups.starts[:-1], axis=0)
    return np.maximum(farthest, farthest.T)


_START = {"min": (np.minimum, np.inf), "max": (np.maximum, 0.0), "sum": (np.add, 0.0)}


def _sums_to_centroids(groups: PointGroups, metric: str, own: bool = False) -> FloatArray:
    """Entry (s, t): distances of the points of s to the centroid of t, summed."""
    number, centroids = groups.n_clusters, groups.centroids()
    sums = np.zeros((number, number))
    for s in range(number):
        points = groups.of(s)
        for t in [s] if own else range(number):
            if groups.subspaces is None:
                distances = cdist(points, centroids[[t]], metric)
            else:
                shifted = groups.seen(points - centroids[t], s, t)
                distances = np.sqrt(np.square(shifted).sum(axis=1))
            sums[s, t] = distances.sum()
    return sums
