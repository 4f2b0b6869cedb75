"""Settle clusters on flats: join the pieces of a flat, and put every row where it fits best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.parallel.progress import Watch

from .description import PARAMETER_COST, Description, Moments
from .flats import Flat, squared_residuals

#: Up to so many clusters all pairs are tried for merging, beyond only those with close centres.
MOST_ALL_PAIRS = 40
CLOSE_CENTRES = 10
#: Cost of a parameter in the rounds of joining pieces and moving rows. At first it is low: small
#: pieces, hardly worth their parameters, must not join with what is no piece of their flat.
COSTS = (0.5, 1.0, PARAMETER_COST, PARAMETER_COST, PARAMETER_COST)
#: Steps of moving rows in each round.
MOST_STEPS = 30


class FlatClusters(NamedTuple):
    """Labels (-1 noise), the dimension of each cluster's flat, and the nats it all takes."""

    labels: IndexArray
    dims: IndexArray
    nats: float


def refine_flats(
    X: FloatArray,
    labels: IndexArray,
    describe: Description,
    *,
    min_size: int = 2,
    watch: Watch | None = None,
) -> FlatClusters:
    """Join, move, drop: shorten the description of the rows until nothing helps.

    Parameters
    ----------
    X : (n, p) array
        The table, centred.
    labels : (n,) array
        Clusters to begin with, -1 for noise.
    describe : Description
        Lengths of descriptions of this table.
    min_size : int
        Clusters with fewer rows become noise.
    watch : Watch, optional
        Ends the rounds when its time is up.
    """
    for cost in COSTS:
        before = labels
        labels = drop_small_clusters(merge_flats(X, labels, describe, cost), min_size)
        labels = drop_small_clusters(reassign_rows(X, labels, describe, cost), min_size)
        settles = cost == PARAMETER_COST and np.array_equal(labels, before)
        if settles or (watch is not None and watch.out_of_time()):
            break
    dims = describe.clusters(Moments.of(X, labels)).dims
    return FlatClusters(labels, dims, describe.total(X, labels))


def drop_small_clusters(labels: IndexArray, min_size: int) -> IndexArray:
    """Clusters with fewer rows than this become noise; the others keep their order."""
    sizes = np.bincount(labels[labels >= 0])
    large = sizes >= max(1, min_size)
    number = np.append(np.where(large, np.cumsum(large) - 1, -1), -1)
    return number[labels]


def merge_flats(
    X: FloatArray, labels: IndexArray, describe: Description, cost: float = PARAMETER_COST
) -> IndexArray:
    """Join two clusters as long as the description gets shorter; then give up clusters as noise.

    Pieces of a flat may be too small to be worth their parameters, so joining comes first.
    """
    moments = Moments.of(X, labels)
    k = len(moments.counts)
    if k == 0:
        return labels
    own = describe.clusters(moments, cost).nats
    alive = np.ones(k, bool)
    name = np.arange(k)
    partners = _partners(moments)
    gains = np.full((k, k), -np.inf)
    first, second = np.nonzero(np.triu(partners, 1))
    if len(first):
        together = describe.clusters(moments.joined(first, second), cost).nats
        gains[first, second] = own[first] + own[second] - together
    while True:
        i, j = np.unravel_index(gains.argmax(), gains.shape)
        if gains[i, j] <= 0:
            break
        for part in moments:
            part[i] += part[j]
        own[i] = describe.clusters(Moments(*(part[i : i + 1] for part in moments)), cost).nats[0]
        name[name == j] = i
        alive[j] = False
        partners[i] |= partners[j]
        partners[:, i] |= partners[:, j]
        gains[[i, j], :] = gains[:, [i, j]] = -np.inf
        others = np.flatnonzero(alive & partners[i] & (np.arange(k) != i))
        if len(others):
            together = describe.clusters(moments.joined(np.full(len(others), i), others), cost).nats
            gains[np.minimum(i, others), np.maximum(i, others)] = own[i] + own[others] - together
    noise = float(np.count_nonzero(labels < 0))
    left = np.flatnonzero(alive)
    while len(left):
        larger = noise + moments.counts[left]
        as_noise = moments.counts[left] * describe.noise
        as_noise += describe.labels(larger) - describe.labels(np.array(noise))
        worst = int((own[left] - as_noise).argmax())
        if own[left[worst]] <= as_noise[worst]:
            break
        name[name == left[worst]] = -1
        noise = larger[worst]
        left = np.delete(left, worst)
    return drop_small_clusters(np.append(name, -1)[labels], 1)


def _partners(moments: Moments) -> BoolArray:
    """Which pairs of clusters are worth trying."""
    k = len(moments.counts)
    if k <= MOST_ALL_PAIRS:
        return np.ones((k, k), bool)
    means = moments.means()
    squares = np.square(means).sum(axis=1)
    apart = squares[:, None] + squares - 2 * means @ means.T
    close = np.zeros((k, k), bool)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : CLOSE_CENTRES + 1]
    np.put_along_axis(close, nearest, True, axis=1)
    return close | close.T


def reassign_rows(
    X: FloatArray, labels: IndexArray, describe: Description, cost: float = PARAMETER_COST
) -> IndexArray:
    """Put every row into the cluster, or the noise, where it is most likely; until none moves."""
    n, p = X.shape
    for _ in range(MOST_STEPS):
        moments = Moments.of(X, labels)
        k = len(moments.counts)
        if k == 0:
            break
        dims = describe.clusters(moments, cost).dims
        values, axes = np.linalg.eigh(moments.covariances())
        values = np.maximum(values, describe.smallest)
        means = moments.means()
        costs = np.empty((n, k + 1))
        for i, dim in enumerate(dims):
            basis = axes[i][:, p - dim :]
            across = min(values[i, : p - dim].mean(), describe.largest)
            along = values[i, p - dim :]
            costs[:, i] = squared_residuals(X, [Flat(means[i], basis)])[:, 0] / across
            steps = X @ basis - means[i] @ basis
            costs[:, i] += np.square(steps) @ (1 / along)
            costs[:, i] += np.log(along).sum() + (p - dim) * np.log(across)
        costs[:, :k] = 0.5 * (costs[:, :k] + p * np.log(2 * np.pi))
        costs[:, k] = describe.noise
        sizes = np.append(moments.counts, max(1, n - moments.counts.sum()))
        costs -= np.log(sizes / n)
        nearest = costs.argmin(axis=1)
        nearest[nearest == k] = -1
        nearest = drop_small_clusters(nearest, 1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels
