"""Rows of a table in the groups of a clustering, and distances between them, block by block.

Indices of compactness look at distances between rows. They can be taken in the full space, or in
the clusters' own subspaces: then the squared distance of two rows is the mean of their squared
distances in the subspaces of their two clusters, each divided by its mass (the number of its
dimensions; 1 for weights). That is a squared distance *per dimension*, so that clusters of few and
of many dimensions can be compared; rows of one cluster are compared in its subspace alone, and
where all subspaces are the full space, it is the full distance up to a common factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from subscape.core.checks import check_table
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, UnsupportedKindError, count
from subscape.core.oriented import OrientedSubspaces
from subscape.core.subspaces import Subspaces
from subscape.core.types import FloatArray, IndexArray
from subscape.measures.flats.fitting import clustering_of
from subscape.tables.table import Table

SPACES = ("full", "subspace")
#: Distances of one block: 8 MB, so that a block stays near the processor.
BLOCK_PAIRS = 1_000_000


@dataclass(frozen=True, eq=False)
class PointGroups:
    """Rows in clusters, ordered by cluster; rows in no cluster are left out.

    Attributes
    ----------
    points : array of shape (rows in clusters, n_features)
        Their values, shifted so that 0 is in the middle of every feature.
    order : array
        Row of the table that each point is.
    starts : array of shape (n_clusters + 1,)
        Cluster k is ``points[starts[k]:starts[k + 1]]``.
    subspaces : Subspaces or None
        None for the full space.
    n_rows : int
        Rows of the table, noise included.
    """

    points: FloatArray
    order: IndexArray
    starts: IndexArray
    subspaces: Subspaces | None
    n_rows: int

    @property
    def n_clusters(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> IndexArray:
        return np.diff(self.starts)

    @property
    def codes(self) -> IndexArray:
        """Cluster of each point."""
        return np.repeat(np.arange(self.n_clusters), self.sizes)

    def of(self, k: int) -> FloatArray:
        """Points of cluster ``k``."""
        return self.points[self.starts[k] : self.starts[k + 1]]

    def centroids(self) -> FloatArray:
        """Mean of every cluster, in all features."""
        sums = np.add.reduceat(self.points, self.starts[:-1], axis=0)
        return np.asarray(sums / self.sizes[:, None])

    def seen(self, points: FloatArray, s: int, t: int) -> FloatArray:
        """Points whose Euclidean distances are those between clusters ``s`` and ``t``."""
        if self.subspaces is None:
            return points
        if isinstance(self.subspaces, OrientedSubspaces):
            parts = [_projected(points, self.subspaces, k) for k in sorted({s, t})]
            return np.hstack(parts) / np.sqrt(len(parts))
        weights = (self._unit_weights(s) + self._unit_weights(t)) / 2
        used = np.flatnonzero(weights)
        return np.asarray(points[:, used] * np.sqrt(weights[used]))

    def _unit_weights(self, k: int) -> FloatArray:
        relevance: FloatArray = self.subspaces.relevance[k]  # type: ignore[union-attr]
        return np.asarray(relevance / relevance.sum())

    def centroid_distances(self) -> FloatArray:
        """Distances between the centroids of all clusters."""
        centroids, number = self.centroids(), self.n_clusters
        if self.subspaces is None:
            return cdist(centroids, centroids)
        distances = np.zeros((number, number))
        for s in range(number):
            for t in range(s + 1, number):
                one, other = self.seen(centroids[[s, t]], s, t)
                distances[s, t] = distances[t, s] = np.sqrt(np.square(one - other).sum())
        return distances


def point_groups(X: Any, clustering: Any, space: str, who: str, least: int = 2) -> PointGroups:
    """Read the arguments of an index, or say what is wrong with them.

    Parameters
    ----------
    X, clustering
        The table and what was found in it; soft memberships count for the cluster with the
        largest.
    space : {"full", "subspace"}
    who : str
        Name of the index, for messages.
    least : int
        Clusters that the index needs.
    """
    if space not in SPACES:
        raise SubscapeError(f"space must be 'full' or 'subspace', got {space!r}")
    table = check_table(X.to_numpy() if isinstance(X, Table) else X, who)
    given = clustering_of(clustering, table, X)
    if given.is_hard and given.n_clusters and given.members.clusters_per_row().max() > 1:
        raise UnsupportedKindError(
            f"{who} needs each row in at most one cluster, and here clusters share rows; select "
            "clusters that don't, pass clustering.labels(), or use description_length"
        )
    labels = given.labels()
    kept = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=given.n_clusters))
    if len(kept) < least:
        raise SubscapeError(
            f"{who} compares clusters and needs at least {count(least, 'cluster')}, got "
            f"{len(kept)} (noise is none)"
        )
    order = np.argsort(labels, kind="stable")
    order = order[np.count_nonzero(labels < 0) :]
    sizes = np.bincount(labels[order], minlength=given.n_clusters)[kept]
    values = np.array(table[order], dtype=np.float64)
    if len(values):
        # A value in the middle, not the mean: an offset then leaves no trace of rounding, and equal
        # distances stay equal.
        values -= np.partition(values, len(values) // 2, axis=0)[len(values) // 2]
    subspaces = None if space == "full" else _subspaces(given, kept, who)
    return PointGroups(
        points=values,
        order=order,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        subspaces=subspaces,
        n_rows=given.n_rows,
    )


def distance_blocks(
    groups: PointGroups, exact: bool = False, metric: str = "euclidean"
) -> Iterator[tuple[slice, slice, FloatArray]]:
    """Distances between all points, as blocks (rows, columns, distances).

    In the full space a block spans all columns, in subspaces those of one cluster; its rows are of
    one cluster in subspaces only. ``exact`` subtracts coordinates one by one, which costs more but
    loses no digits where rows nearly coincide.
    """
    number = len(groups.points)
    if groups.subspaces is None:
        every = slice(0, number)
        for rows in _slices(0, number, number):
            yield rows, every, _distances(groups.points, groups.points, rows, exact, metric, True)
        return
    for s in range(groups.n_clusters):
        for t in range(groups.n_clusters):
            left = groups.seen(groups.of(s), s, t)
            right = left if s == t else groups.seen(groups.of(t), s, t)
            columns = slice(int(groups.starts[t]), int(groups.starts[t + 1]))
            for inner in _slices(0, len(left), len(right)):
                block = _distances(left, right, inner, exact, metric, s == t)
                start = int(groups.starts[s])
                yield slice(start + inner.start, start + inner.stop), columns, block


def clusters_within(groups: PointGroups, part: slice) -> tuple[IndexArray, IndexArray]:
    """Clusters that a run of points touches, and where in the run each of them begins."""
    first = int(np.searchsorted(groups.starts, part.start, side="right")) - 1
    last = int(np.searchsorted(groups.starts, part.stop, side="left"))
    clusters = np.arange(first, last)
    return clusters, np.maximum(groups.starts[first:last] - part.start, 0)


def distances_to_centroid(groups: PointGroups, k: int, centroid: FloatArray) -> FloatArray:
    """Distances of the points of cluster ``k`` to a point, in the cluster's own subspace."""
    own = groups.seen(groups.of(k) - centroid, k, k)
    return np.asarray(np.sqrt(np.square(own).sum(axis=1)))


def _slices(start: int, stop: int, width: int) -> Iterator[slice]:
    step = max(1, BLOCK_PAIRS // max(width, 1))
    for begin in range(start, stop, step):
        yield slice(begin, min(begin + step, stop))


def _distances(
    left: FloatArray, right: FloatArray, rows: slice, exact: bool, metric: str, same: bool
) -> FloatArray:
    if exact or metric != "euclidean":
        return np.asarray(cdist(left[rows], right, metric))
    block = left[rows] @ right.T
    block *= -2.0
    block += np.einsum("ij,ij->i", left[rows], left[rows])[:, None]
    block += np.einsum("ij,ij->i", right, right)
    np.maximum(block, 0.0, out=block)
    np.sqrt(block, out=block)
    if same:
        own = np.arange(rows.start, rows.stop)
        block[own - rows.start, own] = 0.0
    return np.asarray(block)


def _projected(points: FloatArray, subspaces: OrientedSubspaces, k: int) -> FloatArray:
    """Points within an oriented subspace, per dimension."""
    basis = subspaces.bases[k]
    mass = float(subspaces.mass[k])
    within = points @ basis
    if subspaces.is_complement:
        within = points - within @ basis.T
    return np.asarray(within / np.sqrt(mass))


def _subspaces(given: SubspaceClustering, kept: IndexArray, who: str) -> Subspaces:
    subspaces = given.subspaces if len(kept) == given.n_clusters else given.select(kept).subspaces
    empty = np.flatnonzero(subspaces.mass == 0)
    if len(empty):
        raise SubscapeError(
            f"the subspace of cluster {kept[empty[0]]} has no dimension, so {who} can't measure "
            "distances in it; use space='full'"
        )
    return subspaces


def pair_values(groups: PointGroups, exact: bool = False) -> Iterator[tuple[bool, FloatArray]]:
    """Distances of all pairs of points, each once, in parts: (within a cluster?, distances)."""
    every = len(groups.points)
    for s in range(groups.n_clusters):
        start, stop = int(groups.starts[s]), int(groups.starts[s + 1])
        own = groups.seen(groups.of(s), s, s)
        for rows in _slices(0, len(own), len(own)):
            block = _distances(own, own, rows, exact, "euclidean", True)
            later = np.arange(len(own)) > np.arange(rows.start, rows.stop)[:, None]
            yield True, block[later]
        if groups.subspaces is None:
            # The clusters that follow, all in one.
            others = [groups.points[stop:every]] if stop < every else []
        else:
            others = [groups.seen(groups.of(t), s, t) for t in range(s + 1, groups.n_clusters)]
        for t, other in enumerate(others, s + 1):
            mine = groups.seen(groups.points[start:stop], s, t)
            for rows in _slices(0, len(mine), len(other)):
                block = _distances(mine, other, rows, exact, "euclidean", False)
                yield False, block.ravel()


def farthest(groups: PointGroups) -> float:
    """A number that is above all distances, and above 0."""
    radius = 0.0
    for k in range(1 if groups.subspaces is None else groups.n_clusters):
        lengths = np.square(groups.seen(groups.points, k, k)).sum(axis=1)
        radius = max(radius, float(np.sqrt(lengths.max())))
    return 2.001 * radius or 1.0
