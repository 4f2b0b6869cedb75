"""Clusters of clusters: groups of clusters that mean the same."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import by_first_row
from subscape.measures.projective import psi_of

from .graphs import spectral_parts

LINKAGES = ("average", "complete", "weighted")
METHODS = ("kmedoids", "spectral", *LINKAGES)

#: How many members' clusters are tried as centres, each member by itself.
STARTS = 5
#: Clusters that are weighed as centres at a time.
BLOCK = 512

#: More clusters than this would need more than 6 GB for their distances.
MOST_CLUSTERS = 20_000


def check_number(total: int) -> None:
    """Refuse ensembles whose clusters can't be compared pair by pair."""
    if total > MOST_CLUSTERS:
        raise SubscapeError(
            f"the members have {total:,} clusters together; comparing all pairs would need "
            f"{total**2 * 16 / 2**30:.0f} GiB. Use fewer members, or EMPCE or HBGF, which compare "
            "no pairs"
        )


def metaclusters(
    similarity: FloatArray, k: int, method: str, rng: np.random.Generator
) -> IndexArray:
    """Group clusters by their similarities.

    Parameters
    ----------
    similarity : (c, c) array in [0, 1]
    k : int
        Number of groups.
    method : {"kmedoids", "spectral", "average", "complete", "weighted"}
        Medoids, a normalised cut, or the linkage of a dendrogram that is cut.
    rng : Generator
        The linkages don't need it.

    Returns
    -------
    (c,) array
        Groups ``0 .. k-1``, numbered by their first clusters; sometimes fewer than k.

    Examples
    --------
    >>> S = np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]])
    >>> metaclusters(S, 2, "average", np.random.default_rng(0))
    array([0, 1, 0])
    """
    if k >= len(similarity):
        return np.arange(len(similarity))
    if method in LINKAGES:
        return cut(tree(similarity, method), k)
    if method == "kmedoids":
        return renumbered(medoid_groups(1.0 - similarity, k, rng).groups)
    return renumbered(spectral_parts(similarity, k, rng))


def tree(similarity: FloatArray, method: str = "average") -> FloatArray:
    """Dendrogram of the clusters."""
    distances = squareform(1.0 - similarity, checks=False)
    return np.asarray(linkage(np.maximum(distances, 0.0, out=distances), method))


def cut(merges: FloatArray, k: int) -> IndexArray:
    """Groups of a dendrogram cut into k, numbered by their first clusters.

    Unlike a cut at a height, merges at the same height don't go together: there are k groups.
    """
    number = len(merges) + 1
    parent = np.arange(2 * number - 1)
    for i, (a, b) in enumerate(merges[: number - k, :2].astype(np.intp)):
        parent[[a, b]] = number + i
    for node in range(2 * number - 2, -1, -1):
        parent[node] = parent[parent[node]]
    return renumbered(np.unique(parent[:number], return_inverse=True)[1])


def member_groups(
    similarity: FloatArray, starts: IndexArray, k: int, number: int = STARTS
) -> list[IndexArray]:
    """Groups around the clusters of single members, those nearest to the ensemble first.

    Members with k clusters come first. Of a member with more the k that stand for the others best
    are taken, to one with fewer the best clusters of other members are added.

    Parameters
    ----------
    similarity : (c, c) array in [0, 1]
    starts : (m + 1,) array
        Where the members' clusters begin.
    k : int
    number : int
        How many members.

    Returns
    -------
    list of (c,) arrays with values in 0 .. k-1

    Examples
    --------
    >>> S = np.array([[1.0, 0.1, 0.9, 0.2], [0.1, 1.0, 0.0, 0.8],
    ...               [0.9, 0.0, 1.0, 0.1], [0.2, 0.8, 0.1, 1.0]])
    >>> member_groups(S, np.array([0, 2, 4]), 2, number=1)
    [array([0, 1, 0, 1])]
    """
    spans = list(itertools.pairwise(starts))
    away = [abs(int(b - a) - k) for a, b in spans]
    distances = [psi_of(similarity[a:b], starts).sum() for a, b in spans]
    chosen = np.lexsort((distances, away))[:number]
    found = []
    for a, b in (spans[i] for i in chosen):
        own = np.arange(a, b)
        centres = list(own) if len(own) <= k else representatives(similarity, None, k, own)
        if len(centres) < k:
            near = similarity[centres].max(axis=0)
            centres += representatives(similarity, near, k - len(centres))
        found.append(similarity[:, centres].argmax(axis=1))
    return found


def representatives(
    similarity: FloatArray, near: FloatArray | None, number: int, among: IndexArray | None = None
) -> list[int]:
    """Clusters that stand for all others best beside those that are there, one after another.

    Parameters
    ----------
    similarity : (c, c) array
    near : (c,) array or None
        How much each cluster resembles what is there already; None: nothing is.
    number : int
    among : array, optional
        The clusters to choose from, all by default.

    Examples
    --------
    >>> S = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 1.0]])
    >>> representatives(S, None, 2)
    [1, 2]
    """
    near = np.zeros(len(similarity)) if near is None else near
    among = np.arange(len(similarity)) if among is None else among
    chosen: list[int] = []
    for _ in range(number):
        gains = np.concatenate([
            np.maximum(similarity[among[i : i + BLOCK]] - near, 0.0).sum(axis=1)
            for i in range(0, len(among), BLOCK)
        ])  # fmt: skip
        gains[np.isin(among, chosen)] = -1.0
        chosen.append(int(among[gains.argmax()]))
        near = np.maximum(near, similarity[chosen[-1]])
    return chosen


class MedoidGroups(NamedTuple):
    """Groups around medoids."""

    groups: IndexArray
    medoids: IndexArray
    objective: float


def medoid_groups(
    distances: FloatArray,
    k: int,
    rng: np.random.Generator,
    *,
    n_init: int = 10,
    max_iter: int = 100,
) -> MedoidGroups:
    """k-medoids from medoids drawn apart as in k-means++; the best of several starts."""
    starts = (_descend(distances, _seeds(distances, k, rng), max_iter) for _ in range(n_init))
    return min(starts, key=lambda found: found.objective)


def _descend(distances: FloatArray, medoids: IndexArray, max_iter: int) -> MedoidGroups:
    groups = distances[:, medoids].argmin(axis=1)
    for _ in range(max_iter):
        for i in range(len(medoids)):
            rows = np.flatnonzero(groups == i)
            if len(rows):
                medoids[i] = rows[distances[np.ix_(rows, rows)].sum(axis=0).argmin()]
        moved = distances[:, medoids].argmin(axis=1)
        if (moved == groups).all():
            break
        groups = moved
    cost = float(distances[np.arange(len(groups)), medoids[groups]].sum())
    return MedoidGroups(groups, medoids, cost)


def _seeds(distances: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    chosen = [int(rng.integers(len(distances)))]
    nearest = distances[chosen[0]].copy()
    while len(chosen) < k:
        weights = np.square(nearest)
        total = weights.sum()
        drawn = rng.choice(len(weights), p=weights / total) if total > 0 else len(chosen)
        chosen.append(int(drawn))
        np.minimum(nearest, distances[drawn], out=nearest)
    return np.array(chosen)


def renumbered(groups: IndexArray) -> IndexArray:
    """Groups 0, 1, … by their first clusters, without gaps.

    >>> renumbered(np.array([4, 1, 4, 2]))
    array([0, 1, 0, 2])
    """
    groups = np.unique(groups, return_inverse=True)[1]
    return np.asarray(np.argsort(by_first_row(groups))[groups])
