"""From DiSH's walk to clusters: rows with the same preferred features, and which clusters nest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.kernels.subspace_order import Walk

__all__ = ["Extracted", "common_preferences", "extract_clusters", "nested_rows", "parents_of"]

FloatArray = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Extracted(NamedTuple):
    """Clusters that are disjoint in rows, those with the most features first."""

    labels: NDArray[np.int64]
    """(n,): cluster of each row, -1 for noise."""
    masks: Flags
    """(n_clusters, p): features of each cluster."""
    centres: FloatArray
    """(n_clusters, p): means of the clusters."""


def common_preferences(X: FloatArray, preference: Flags, walk: Walk, reach: float) -> Flags:
    """The features that each row prefers in common with its neighbour in the walk.

    Of the step to a row and the steps that start from it, the one with the most common features
    counts, but only if the two rows lie within ``reach`` in these. Rows that a walk cut short did
    not get to keep their own preferences.

    Parameters
    ----------
    X : (n, p) array
    preference : (n, p) array of bool
    walk : Walk
    reach : float

    Returns
    -------
    (n, p) array of bool
    """
    common = np.zeros_like(preference)
    reached = np.flatnonzero(walk.predecessor >= 0)
    origin = walk.predecessor[reached]
    shared = preference[reached] & preference[origin]
    away = np.where(shared, np.square(X[reached] - X[origin]), 0.0).sum(axis=1)
    shared[away > reach * reach] = False
    common[reached] = shared
    # The first row of a cluster was reached from elsewhere: its successor knows better. Latest
    # steps first, so that of equally good steps the earliest has the last word.
    sizes, best = shared.sum(axis=1), common.sum(axis=1)
    place = np.empty(len(X), np.int64)
    walked = walk.order[walk.order >= 0]
    place[walked] = np.arange(len(walked))
    for step in np.argsort(place[reached], kind="stable"):
        if sizes[step] > best[origin[step]]:
            best[origin[step]] = sizes[step]
            common[origin[step]] = shared[step]
    missed = np.ones(len(X), dtype=bool)
    missed[walked] = False
    common[missed] = preference[missed]
    return common


def extract_clusters(
    X: FloatArray, common: Flags, order: NDArray[np.int64], reach: float, min_samples: int
) -> Extracted:
    """Gather rows with the same common preferences that lie close together in these.

    Rows come in the order of the walk and join the first cluster whose centre is within ``reach``.
    Clusters of less than ``min_samples`` rows are dissolved: their rows, and those without any
    preference, join the cluster with the most features whose centre is within reach, or are noise.

    Parameters
    ----------
    X : (n, p) array
    common : (n, p) array of bool
        From :func:`common_preferences`.
    order : (n,) array
    reach : float
    min_samples : int

    Returns
    -------
    Extracted
    """
    limit = reach * reach
    groups: dict[bytes, list[_Gathering]] = {}
    gatherings: list[_Gathering] = []
    some = np.asarray(common.any(axis=1))
    for row in order[some[order]]:
        group = groups.setdefault(common[row].tobytes(), [])
        features = group[0].features if group else np.flatnonzero(common[row])
        place = X[row, features]
        for gathering in group:
            if np.square(place - gathering.total / len(gathering.rows)).sum() <= limit:
                gathering.rows.append(int(row))
                np.add(gathering.total, place, out=gathering.total)
                break
        else:
            gathering = _Gathering(features, [int(row)], place.copy())
            group.append(gathering)
            gatherings.append(gathering)
    large = [gathering for gathering in gatherings if len(gathering.rows) >= min_samples]
    large.sort(key=lambda gathering: (-len(gathering.features), min(gathering.rows)))
    labels = np.full(len(X), -1, np.int64)
    masks = np.zeros((len(large), X.shape[1]), dtype=bool)
    centres = np.zeros((len(large), X.shape[1]))
    for k, gathering in enumerate(large):
        labels[gathering.rows] = k
        masks[k, gathering.features] = True
        centres[k] = X[gathering.rows].mean(axis=0)
    _adopt(X, labels, masks, centres, limit)
    return Extracted(labels, masks, centres)


class _Gathering(NamedTuple):
    """A cluster in the making."""

    features: NDArray[np.int64]
    rows: list[int]
    total: FloatArray


def _adopt(
    X: FloatArray, labels: NDArray[np.int64], masks: Flags, centres: FloatArray, limit: float
) -> None:
    """Give each row without a label to the most specific cluster within reach."""
    homeless = np.flatnonzero(labels < 0)
    nearest = np.full(len(homeless), np.inf)
    most = np.zeros(len(homeless), np.int64)
    for k, mask in enumerate(masks):
        away = np.square(X[np.ix_(homeless, np.flatnonzero(mask))] - centres[k, mask]).sum(axis=1)
        size = int(mask.sum())
        better = (away <= limit) & ((size > most) | ((size == most) & (away < nearest)))
        labels[homeless[better]] = k
        nearest[better], most[better] = away[better], size


def parents_of(masks: Flags, centres: FloatArray, reach: float) -> list[NDArray[np.int64]]:
    """For each cluster the clusters directly above it in the hierarchy.

    A cluster is above another if its features are a proper part of the other's and their centres
    are within ``reach`` in these; it is directly above if nothing is in between.

    Parameters
    ----------
    masks : (n_clusters, p) array of bool
        Clusters with the most features first.
    centres : (n_clusters, p) array
    reach : float

    Returns
    -------
    list of arrays
    """
    sizes = masks.sum(axis=1)
    above = np.zeros((len(masks), len(masks)), dtype=bool)
    for i, mask in enumerate(masks):
        part = (sizes < sizes[i]) & ~(masks & ~mask).any(axis=1)
        away = np.where(masks, np.square(centres - centres[i]), 0.0).sum(axis=1)
        above[i] = part & (away <= reach * reach)
    # "Above" need not be transitive, because distances add up; what is implied is left out.
    steps = above.astype(np.int64)
    implied = (steps @ steps) > 0
    return [np.flatnonzero(line) for line in above & ~implied]


def nested_rows(labels: NDArray[np.int64], parents: list[NDArray[np.int64]]) -> Flags:
    """(n_clusters, n): the rows of each cluster and of all clusters below it."""
    inside = labels == np.arange(len(parents))[:, None]
    # Parents come after their children, so that one pass hands rows all the way up.
    for child, above in enumerate(parents):
        inside[above] |= inside[child]
    return inside
