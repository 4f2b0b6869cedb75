"""k-means whose clusters must not match known ones: similarity to them has its price."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from subscape.core.types import FloatArray, IntArray
from subscape.finders.alternatives.matching import Known
from subscape.finders.views.base import Watch

from .prices import Prices, similarity_prices

__all__ = ["PlacedRows", "SimilarityLimits", "excess", "filled", "place_rows", "placed_kmeans"]

#: A row with a larger share in one cluster than this is whole.
CLEAR = 0.99
#: How often the aims are lowered because whole rows exceed the limits.
MOST_AIMS = 6
#: How often rows that are shared are divided anew at most.
MOST_PASSES = 10
#: Moves without success after which the limits are given up.
MOST_FAILURES = 100
#: Moves to cheaper clusters that are tried at most.
MOST_TRIES = 500
#: Prices keep this share of the limit free, since rounding takes some of it.
MARGIN = 1e-3
#: Rounds with prices end when the inertia falls by less than this share.
LEAST_GAIN = 1e-3


class PlacedRows(NamedTuple):
    """Rows placed in clusters.

    Attributes
    ----------
    labels : (n,) int array
    centres : (k, p) array
        Means of the clusters.
    inertia : float
        Squared distances to them.
    excess : float
        By how much the limit of the similarity is exceeded, relative to it; 0 if it is kept.
    n_iter : int
    """

    labels: IntArray
    centres: FloatArray
    inertia: float
    excess: float
    n_iter: int


class SimilarityLimits(NamedTuple):
    """How similar to each known clustering the rows may be placed.

    Attributes
    ----------
    most : list of float
        What must not be exceeded.
    aims : list of float
        What prices aim at: a little less, since rounding to whole rows takes some of it.
    least : list of float
        What rows in fractions could reach.
    """

    most: list[float]
    aims: list[float]
    least: list[float]

    @classmethod
    def above(cls, least: list[float], room: list[float]) -> SimilarityLimits:
        """At most so much above the least similarity possible."""
        both = list(zip(least, room, strict=True))
        return cls(
            [value + free for value, free in both],
            [value + max(free - MARGIN * value, free / 2) for value, free in both],
            least,
        )

    def lower(self, aims: list[float], excess: float) -> list[float]:
        """Aims farther from the limit, by what was exceeded; never all the way to the least."""
        return [
            max(aim - max(excess, MARGIN / 2) * most, (aim + least) / 2)
            for aim, most, least in zip(aims, self.most, self.least, strict=True)
        ]


def placed_kmeans(
    X: FloatArray,
    centres: FloatArray,
    known: list[Known],
    limits: SimilarityLimits,
    max_iter: int,
    watch: Watch,
) -> PlacedRows:
    """Alternate between placing the rows within the limits of similarity and moving the centres.

    Parameters
    ----------
    X : (n, p) array
    centres : (k, p) array
        Where to start.
    known : list of Known
    limits : SimilarityLimits
    max_iter : int
        At least 1.
    watch : Watch

    Returns
    -------
    Placed
        The best round: the one that keeps the limits, then the one with the least inertia.
    """
    k = len(centres)
    prices = None
    best = PlacedRows(np.empty(0, np.int64), centres, np.inf, np.inf, 0)
    for done in range(1, max_iter + 1):
        labels, prices = place_rows(squared_distances(X, centres), known, limits, watch, prices)
        centres = means_of(X, labels, centres)
        inertia = float(np.square(X - centres[labels]).sum())
        placed = PlacedRows(labels, centres, inertia, excess(labels, known, limits.most, k), done)
        gain = best.inertia - inertia
        if (placed.excess, inertia) >= (best.excess, best.inertia):
            break
        best = placed
        # Where rows go to their nearest centres, rounds are cheap and end by themselves.
        if watch.out_of_time() or (prices is not None and gain < LEAST_GAIN * inertia):
            break
    return best


def squared_distances(X: FloatArray, centres: FloatArray) -> FloatArray:
    """Squared distances of all rows to all centres."""
    # Centred first, so that the differences of large numbers don't hurt.
    shift = centres.mean(axis=0)
    A, B = X - shift, centres - shift
    squares = np.square(A).sum(axis=1)[:, None] - 2 * A @ B.T + np.square(B).sum(axis=1)
    return np.maximum(squares, 0.0)


def means_of(X: FloatArray, labels: IntArray, before: FloatArray) -> FloatArray:
    """Means of the clusters; one without rows stays where it was."""
    k, n = len(before), len(X)
    sizes = np.bincount(labels, minlength=k)
    members = sparse.csr_array((np.ones(n), (labels, np.arange(n))), shape=(k, n))
    return np.where(sizes[:, None] > 0, (members @ X) / np.maximum(sizes, 1)[:, None], before)


def excess(labels: IntArray, known: list[Known], limits: list[float], n_clusters: int) -> float:
    """By how much the worst limit is exceeded, relative to it."""
    worst = max(
        each.similarity(labels, n_clusters) / limit - 1
        for each, limit in zip(known, limits, strict=True)
    )
    return max(worst, 0.0)


def place_rows(
    costs: FloatArray,
    known: list[Known],
    limits: SimilarityLimits,
    watch: Watch,
    prices: Prices | None = None,
) -> tuple[IntArray, Prices | None]:
    """Place every row in a cluster at the least cost that keeps the limits of similarity.

    Where the nearest clusters already keep them, nothing is to be done. Otherwise similarity gets
    prices at which the rows keep the limits; the few rows that these leave between two clusters are
    divided so that the overlaps stay as they are. At last single rows are moved, until the limits
    hold or to where it is cheaper.

    Parameters
    ----------
    costs : (n, k) array
    known : list of Known
    limits : SimilarityLimits
    watch : Watch
    prices : Prices, optional
        From an earlier call with other costs.

    Returns
    -------
    labels : (n,) int array
    prices : Prices or None
        What overlaps cost; None if they cost nothing.
    """
    n, k = costs.shape
    labels = np.asarray(costs.argmin(axis=1))
    if n < k or (
        excess(labels, known, limits.most, k) == 0 and np.bincount(labels, minlength=k).all()
    ):
        return labels, None
    aims, best, least = limits.aims, labels, np.inf
    for again in range(MOST_AIMS):
        prices = similarity_prices(costs, known, aims, watch, prices, same_costs=again > 0)
        labels = filled(_whole(prices.shares, known, limits.most), costs)
        over = excess(labels, known, limits.most, k)
        if over < least:
            best, least = labels, over
        if over == 0 or watch.out_of_time():
            break
        # Whole rows took more than was left for them.
        aims = limits.lower(aims, over)
    else:
        best = _repaired(best, costs, known, limits.most)
    return _cheaper(best, costs, known, limits.most), prices


def _whole(shares: FloatArray, known: list[Known], limits: list[float]) -> IntArray:
    """Whole rows with about the overlaps of the shares.

    Rows that are shared go one by one to the cluster, among their own ones, that leaves the least
    difference between their overlaps and those of the shares. Rows alike follow each other, so that
    what one row takes too much, the next one gives. It is done again until
    the limits hold.
    """
    k = shares.shape[1]
    labels = np.asarray(shares.argmax(axis=1))
    weights = np.hstack([_telling(each, k) for each in known])
    shared = np.flatnonzero(shares.max(axis=1) < CLEAR)
    shared = shared[np.lexsort(weights[shared].T)]
    squares = np.square(weights).sum(axis=1)
    # What the clusters lack; in the first pass every shared row goes from its largest share.
    behind = weights.T @ (shares - np.eye(k)[labels])
    best, least = labels, np.inf
    for _ in range(MOST_PASSES):
        for row in shared:
            behind[:, labels[row]] += weights[row]
            # The square of what is left after taking the row off a column, up to what is the same.
            change = squares[row] - 2 * weights[row] @ behind
            to = np.where(shares[row] > 1 - CLEAR, change, np.inf).argmin()
            behind[:, to] -= weights[row]
            labels[row] = to
        over = excess(labels, known, limits, k)
        if over < least:
            best, least = labels.copy(), over
        if over == 0:
            break
    return best


def _telling(known: Known, n_clusters: int) -> FloatArray:
    """What each row adds to the overlaps, in units of the certificate.

    If all new clusters are matched, what a row adds to all known ones alike is the same for every
    matching, and is left out.
    """
    weights = known.weights / known.certificate
    if known.n_clusters < n_clusters:
        return weights
    return np.asarray(weights - weights.mean(axis=1, keepdims=True))


def _cheaper(
    labels: IntArray, costs: FloatArray, known: list[Known], limits: list[float]
) -> IntArray:
    """Move single rows to cheaper clusters as long as the limits hold, the best first."""
    n, k = costs.shape
    overlaps = [each.overlaps(labels, k) for each in known]
    if _worst(overlaps, limits)[0].excess > 0:
        return labels
    labels, sizes = labels.copy(), np.bincount(labels, minlength=k)
    gain = costs[np.arange(n), labels][:, None] - costs
    order = np.argsort(-gain, axis=None, kind="stable")[:MOST_TRIES]
    for row, to in zip(*np.unravel_index(order, gain.shape), strict=True):
        here = labels[row]
        if not costs[row, to] < costs[row, here] or sizes[here] == 1:
            continue
        _move(row, here, to, overlaps, known)
        if _worst(overlaps, limits)[0].excess > 0:
            _move(row, to, here, overlaps, known)
            continue
        sizes[here] -= 1
        sizes[to] += 1
        labels[row] = to
    return labels


def _move(row: int, here: int, there: int, overlaps: list[FloatArray], known: list[Known]) -> None:
    for each, table in zip(known, overlaps, strict=True):
        table[:, here] -= each.weights[row]
        table[:, there] += each.weights[row]


def _repaired(
    labels: IntArray, costs: FloatArray, known: list[Known], limits: list[float]
) -> IntArray:
    """Move single rows, the cheapest for what it helps, until the limits hold."""
    n, k = costs.shape
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=k)
    overlaps = [each.overlaps(labels, k) for each in known]
    movable = np.ones(n, bool)
    best, least, failures = labels.copy(), np.inf, 0
    while failures < MOST_FAILURES:
        worst, matched = _worst(overlaps, limits)
        over = worst.excess
        failures += 1
        if over < least:
            best, least, failures = labels.copy(), over, 0
        if over <= 0:
            break
        # Known cluster that each new one is matched with; none counts 0.
        weights = known[worst.place].weights
        gained = np.where(matched >= 0, weights[:, np.maximum(matched, 0)], 0.0)
        helps = gained[np.arange(n), labels][:, None] - gained
        rising = costs - costs[np.arange(n), labels][:, None]
        allowed = (helps > 0) & (movable & (sizes[labels] > 1))[:, None]
        if not allowed.any():
            break
        price = np.where(allowed, np.maximum(rising, 0.0) / np.where(allowed, helps, 1.0), np.inf)
        row, to = np.unravel_index(price.argmin(), price.shape)
        _move(int(row), int(labels[row]), int(to), overlaps, known)
        sizes[labels[row]] -= 1
        sizes[to] += 1
        labels[row] = to
        movable[row] = False
    return best


def filled(labels: IntArray, costs: FloatArray) -> IntArray:
    """Give every empty cluster the row that loses least by moving there."""
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=costs.shape[1])
    for empty in np.flatnonzero(sizes == 0):
        free = np.flatnonzero(sizes[labels] > 1)
        row = free[(costs[free, empty] - costs[free, labels[free]]).argmin()]
        sizes[labels[row]] -= 1
        sizes[empty] += 1
        labels[row] = empty
    return labels


class _Worst(NamedTuple):
    place: int
    excess: float


def _worst(overlaps: list[FloatArray], limits: list[float]) -> tuple[_Worst, IntArray]:
    """The limit that is exceeded most, and what each new cluster is matched with there."""
    found, partner = _Worst(0, -np.inf), np.empty(0, np.int64)
    for place, (table, limit) in enumerate(zip(overlaps, limits, strict=True)):
        rows, columns = linear_sum_assignment(table, maximize=True)
        over = float(table[rows, columns].sum()) / limit - 1
        if over > found.excess:
            found = _Worst(place, over)
            partner = np.full(table.shape[1], -1, np.int64)
            partner[columns] = rows
    return found, partner
