"""From a plan to labels as MAXIMUS has it: constrained k-means in every region, then a vote."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from subscape.core.types import FloatArray, IntArray
from subscape.finders.alternatives.regions import Regions

from .placing import means_of, squared_distances
from .plans import SimilarityPlan

__all__ = ["assign_within_capacities", "vote"]

#: Regions up to this many rows are assigned at the least cost; larger ones nearest first.
EXACT_ROWS = 300


def vote(
    X: FloatArray,
    regions: Regions,
    plan: SimilarityPlan,
    centres: FloatArray,
    max_iter: int,
    rng: np.random.Generator | None = None,
) -> IntArray:
    """Cluster the rows of every region as planned, and give each row its most frequent label.

    Parameters
    ----------
    X : (n, p) array
    regions : Regions
    plan : SimilarityPlan
    centres : (k, p) array
        Where the clusters start in every region, so that labels mean the same in all of them; they
        also break ties of the vote.
    max_iter : int
        Rounds in each region.
    rng : Generator, optional
        Start from random rows of each region instead, as the paper does.

    Returns
    -------
    (n,) int array
    """
    n, k = len(X), len(centres)
    votes = np.zeros((n, k))
    for region in range(regions.n_regions):
        attribute = regions.attribute[region]
        rows = np.flatnonzero(regions.codes[:, attribute] == region)
        start = centres if rng is None else X[rng.choice(rows, k)]
        labels = _local_kmeans(X[rows], plan.counts[:, region], start, max_iter)
        votes[rows, labels] += 1
    distances = squared_distances(X, centres)
    winners = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(np.where(winners, distances, np.inf).argmin(axis=1))


def _local_kmeans(
    X: FloatArray, capacities: IntArray, centres: FloatArray, max_iter: int
) -> IntArray:
    """k-means with cluster sizes given; the best round counts, since nearest first may go up."""
    best = before = np.empty(0, np.int64)
    least = np.inf
    for _ in range(max_iter):
        distances = squared_distances(X, centres)
        labels = assign_within_capacities(distances, capacities)
        cost = float(distances[np.arange(len(X)), labels].sum())
        if cost < least:
            best, least = labels, cost
        if np.array_equal(labels, before):
            break
        before = labels
        centres = means_of(X, labels, centres)
    return best


def assign_within_capacities(costs: FloatArray, capacities: IntArray) -> IntArray:
    """Give each row a cluster so that every cluster takes as many rows as planned.

    Few rows are assigned at the least cost, many as the paper does: always the smallest cost that
    is left, unless its cluster is full.

    Parameters
    ----------
    costs : (m, k) array
    capacities : (k,) int array
        They add up to m.

    Returns
    -------
    (m,) int array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.alternatives.maximus.voting import assign_within_capacities
    >>> assign_within_capacities(np.array([[0.0, 1.0], [0.0, 5.0], [0.0, 2.0]]), np.array([1, 2]))
    array([1, 0, 1])
    """
    if len(costs) <= EXACT_ROWS:
        places = np.repeat(np.arange(len(capacities)), capacities)
        rows, columns = linear_sum_assignment(costs[:, places])
        return np.asarray(places[columns[np.argsort(rows)]], dtype=np.int64)
    return nearest_first(costs, capacities)


def nearest_first(costs: FloatArray, capacities: IntArray) -> IntArray:
    """Take the smallest cost that is left, again and again, unless its cluster is full.

    Between two clusters that fill up nothing but the order matters, so that all rows in between are
    assigned at once.
    """
    m, k = costs.shape
    labels = np.full(m, -1, np.int64)
    left = capacities.astype(np.int64).copy()
    while True:
        waiting = np.flatnonzero(labels < 0)
        if not len(waiting):
            return labels
        offered = np.where(left > 0, costs[waiting], np.inf)
        choice = offered.argmin(axis=1)
        value = offered[np.arange(len(waiting)), choice]
        order = np.lexsort((choice, waiting, value))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        # The place in the order at which each cluster takes its last row.
        full = [
            np.sort(rank[choice == c])[left[c] - 1] if 0 < left[c] <= (choice == c).sum() else m
            for c in range(k)
        ]
        taken = rank <= min(full)
        labels[waiting[taken]] = choice[taken]
        left -= np.bincount(choice[taken], minlength=k)
