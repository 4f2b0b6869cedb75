"""From a plan to labels whose profile is the planned one: rows move, the cheapest first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.core.types import FloatArray, IntArray
from subscape.finders.alternatives.regions import Regions
from subscape.finders.views.base import Watch

from .plans import SimilarityPlan

__all__ = ["Realised", "distance_to_plan", "realise_plan"]

#: Rows of each of two clusters that are tried for an exchange.
MOST_PARTNERS = 60
#: Rounds without a limit of time; each moves many rows, or exchanges two.
MOST_ROUNDS = 2_000


class Realised(NamedTuple):
    """Labels, how far their profile is from the plan, and the rounds it took."""

    labels: IntArray
    distance: float
    n_iter: int


def distance_to_plan(regions: Regions, plan: SimilarityPlan, labels: IntArray) -> float:
    """Share of the rows, over all attributes, that are not where the plan has them.

    0 if the profile of the labels is the planned one; 1 if they have no row in common.
    """
    away = regions.profile(labels, len(plan.counts)) - plan.counts
    return float(np.abs(away).sum()) / (2 * regions.codes.size)


def realise_plan(
    costs: FloatArray, regions: Regions, plan: SimilarityPlan, start: IntArray, watch: Watch
) -> Realised:
    """Labels whose profile is as near to the plan as moves and exchanges of rows bring it.

    Rows move to other clusters, and pairs of rows change places, as long as that lowers the sum of
    squared differences between the profile and the plan; what lowers it most for what it costs
    comes first. No cluster is left empty.

    Parameters
    ----------
    costs : (n, k) array
        What it costs to have a row in a cluster, e.g. its squared distance to the centre.
    regions : Regions
    plan : SimilarityPlan
    start : (n,) int array
        Labels to begin with.
    watch : Watch

    Returns
    -------
    Realised
    """
    n, k = costs.shape
    n_attributes = regions.n_attributes
    labels = start.copy()
    away = regions.profile(labels, k) - plan.counts
    unit = max(float(np.median(np.ptp(costs, axis=1))), np.finfo(float).tiny) if k > 1 else 1.0
    batch, rounds, everyone = max(1, n // 20), 0, np.arange(n)
    while rounds < MOST_ROUNDS and away.any() and not (rounds and watch.out_of_time()):
        rounds += 1
        crowded = _crowding(away, regions)
        # Squares change by twice this, and by two per attribute.
        change = n_attributes + crowded - crowded[everyone, labels][:, None]
        change[everyone, labels] = 0.0
        rising = np.maximum(costs - costs[everyone, labels][:, None], 0.0) / unit
        worth = np.where(change < 0, -change / (rising + 0.05), 0.0)
        sizes = np.bincount(labels, minlength=k)
        worth[sizes[labels] == 1] = 0.0
        to = worth.argmax(axis=1)
        best = worth[everyone, to]
        rows = np.argsort(-best, kind="stable")[:batch]
        rows = rows[best[rows] > 0]
        if len(rows):
            tried = labels.copy()
            tried[rows] = to[rows]
            moved = regions.profile(tried, k) - plan.counts
            full = (np.bincount(tried, minlength=k) > 0).all()
            if full and np.square(moved).sum() < np.square(away).sum():
                labels, away = tried, moved
                continue
            if batch > 1:
                # Too many at once: they get into each other's way.
                batch = max(1, min(batch, len(rows)) // 2)
                continue
        if not _exchange(labels, away, crowded, costs / unit, regions):
            break
    return Realised(labels, distance_to_plan(regions, plan, labels), max(1, rounds))


def _crowding(away: FloatArray, regions: Regions) -> FloatArray:
    """How many rows too many each cluster has in the regions of every row, (n, k)."""
    crowded = np.zeros((len(regions.codes), len(away)))
    for codes in regions.codes.T:
        crowded += away[:, codes].T
    return crowded


def _exchange(
    labels: IntArray, away: FloatArray, crowded: FloatArray, costs: FloatArray, regions: Regions
) -> bool:
    """Let the two rows of different clusters change places that help most; False if none do."""
    k, codes = len(away), regions.codes
    best, pair = 0.0, None
    for a in range(k):
        for b in range(a):
            there, back = crowded[:, b] - crowded[:, a], crowded[:, a] - crowded[:, b]
            first = _smallest(np.flatnonzero(labels == a), there)
            second = _smallest(np.flatnonzero(labels == b), back)
            shared = (codes[first][:, None, :] == codes[second][None, :, :]).sum(axis=2)
            change = there[first][:, None] + back[second][None, :]
            change += 2 * (codes.shape[1] - shared)
            rising = (costs[first, b] - costs[first, a])[:, None]
            rising = rising + (costs[second, a] - costs[second, b])[None, :]
            worth = np.where(change < 0, -change / (np.maximum(rising, 0.0) + 0.05), 0.0)
            if worth.size and worth.max() > best:
                best = float(worth.max())
                i, j = np.unravel_index(int(worth.argmax()), worth.shape)
                pair = int(first[i]), int(second[j])
    if pair is None:
        return False
    one, other = pair
    a, b = int(labels[one]), int(labels[other])
    away[a, codes[one]] -= 1
    away[b, codes[one]] += 1
    away[b, codes[other]] -= 1
    away[a, codes[other]] += 1
    labels[one], labels[other] = b, a
    return True


def _smallest(rows: IntArray, values: FloatArray) -> IntArray:
    order = np.argsort(values[rows], kind="stable")[:MOST_PARTNERS]
    return np.asarray(rows[order], np.int64)
