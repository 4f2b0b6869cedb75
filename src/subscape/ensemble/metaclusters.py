"""Clusters of clusters: groups of clusters that mean the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from subscape.algorithms.numbering import by_first_row
from subscape.core.errors import SubscapeError

from .graphs import spectral_parts

Floats = NDArray[np.float64]

LINKAGES = ("average", "complete", "weighted")
METHODS = ("kmedoids", "spectral", *LINKAGES)

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
    similarity: Floats, k: int, method: str, rng: np.random.Generator
) -> NDArray[np.intp]:
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


def tree(similarity: Floats, method: str = "average") -> Floats:
    """Dendrogram of the clusters."""
    distances = squareform(1.0 - similarity, checks=False)
    return np.asarray(linkage(np.maximum(distances, 0.0, out=distances), method))


def cut(merges: Floats, k: int) -> NDArray[np.intp]:
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


class MedoidGroups(NamedTuple):
    """Groups around medoids."""

    groups: NDArray[np.intp]
    medoids: NDArray[np.intp]
    objective: float


def medoid_groups(
    distances: Floats, k: int, rng: np.random.Generator, *, n_init: int = 10, max_iter: int = 100
) -> MedoidGroups:
    """k-medoids from medoids drawn apart as in k-means++; the best of several starts."""
    starts = (_descend(distances, _seeds(distances, k, rng), max_iter) for _ in range(n_init))
    return min(starts, key=lambda found: found.objective)


def _descend(distances: Floats, medoids: NDArray[np.intp], max_iter: int) -> MedoidGroups:
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


def _seeds(distances: Floats, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    chosen = [int(rng.integers(len(distances)))]
    nearest = distances[chosen[0]].copy()
    while len(chosen) < k:
        weights = np.square(nearest)
        total = weights.sum()
        drawn = rng.choice(len(weights), p=weights / total) if total > 0 else len(chosen)
        chosen.append(int(drawn))
        np.minimum(nearest, distances[drawn], out=nearest)
    return np.array(chosen)


def renumbered(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Groups 0, 1, … by their first clusters, without gaps.

    >>> renumbered(np.array([4, 1, 4, 2]))
    array([0, 1, 0, 2])
    """
    groups = np.unique(groups, return_inverse=True)[1]
    return np.asarray(np.argsort(by_first_row(groups))[groups])
