"""k-means whose clusters must not match known ones: rows are placed by a linear program."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog

from .base import Watch
from .matching import Known
from .plans import solver_options

__all__ = ["Limits", "Placed", "filled", "place_rows", "placed_kmeans"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: Rows that a program decides on at once; the others are fixed first where they are surest.
MOST_ROWS = 800
#: Programs keep this share of the limit free, since rounding takes some of it.
MARGIN = 1e-3
#: Rounds with a program end when the inertia falls by less than this share.
LEAST_GAIN = 1e-3


class Placed(NamedTuple):
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


class Limits(NamedTuple):
    """How similar to each known clustering the rows may be placed.

    Attributes
    ----------
    most : list of float
        What must not be exceeded.
    aims : list of float
        What programs aim at: a little less, since rounding to whole rows takes some of it.
    """

    most: list[float]
    aims: list[float]

    @classmethod
    def above(cls, least: list[float], room: list[float]) -> Limits:
        """At most so much above the least similarity possible."""
        both = list(zip(least, room, strict=True))
        return cls(
            [value + free for value, free in both],
            [value + max(free - MARGIN * value, free / 2) for value, free in both],
        )


def placed_kmeans(
    X: FloatArray,
    centres: FloatArray,
    known: list[Known],
    limits: Limits,
    max_iter: int,
    watch: Watch,
) -> Placed:
    """Alternate between placing the rows within the limits of similarity and moving the centres.

    Parameters
    ----------
    X : (n, p) array
    centres : (k, p) array
        Where to start.
    known : list of Known
    limits : Limits
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
    best = Placed(np.empty(0, np.int64), centres, np.inf, np.inf, 0)
    for done in range(1, max_iter + 1):
        labels, prices = place_rows(squared_distances(X, centres), known, limits, watch, prices)
        centres = means_of(X, labels, centres)
        inertia = float(np.square(X - centres[labels]).sum())
        placed = Placed(labels, centres, inertia, excess(labels, known, limits.most, k), done)
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
    limits: Limits,
    watch: Watch,
    prices: list[FloatArray] | None = None,
) -> tuple[IntArray, list[FloatArray] | None]:
    """Place every row in a cluster at the least cost that keeps the limits of similarity.

    Where the nearest clusters already keep them, no program is needed. Otherwise a linear program
    is solved, whose solution splits few rows only: they go where the larger part of them is, and
    single rows are moved until the limits hold again. Of many rows a sample finds the prices of
    similarity, and the program decides on the rows that these prices leave in doubt.

    Parameters
    ----------
    costs : (n, k) array
    known : list of Known
    limits : Limits
    watch : Watch
    prices : list of arrays, optional
        From an earlier call with other costs.

    Returns
    -------
    labels : (n,) int array
    prices : list of (n_known, k) arrays, or None
        What overlaps cost in the program; None if there was none.
    """
    n, k = costs.shape
    labels = np.asarray(costs.argmin(axis=1))
    if n < k or (
        excess(labels, known, limits.most, k) == 0 and np.bincount(labels, minlength=k).all()
    ):
        return labels, None
    doubt = np.arange(n)
    if n > MOST_ROWS:
        if prices is None:
            sample = np.sort(np.random.default_rng(0).permutation(n)[:MOST_ROWS])
            none = [np.zeros((each.n_clusters, k)) for each in known]
            solved = _program(costs, known, limits.aims, sample, none, n / len(sample), watch)
            prices = none if solved is None else solved.prices
        priced = costs.copy()
        for each, price in zip(known, prices, strict=True):
            priced += each.weights @ price
        labels = np.asarray(priced.argmin(axis=1))
        doubt = np.argsort(_sureness(priced, labels), kind="stable")
    size = MOST_ROWS
    while True:
        active = np.sort(doubt[:size])
        fixed = np.ones(n, bool)
        fixed[active] = False
        placed = [_overlaps(each, labels, fixed, k) for each in known]
        solved = _program(costs, known, limits.aims, active, placed, 1.0, watch)
        if solved is not None:
            labels[active] = solved.shares.argmax(axis=1)
            return _repaired(labels, costs, known, limits.most), solved.prices
        if size >= n:
            watch.cut(
                "the program that places the rows was not solved; allow more similarity (slack) or "
                "more time"
            )
            return _repaired(labels, costs, known, limits.most), prices
        # The rows fixed leave too little room.
        size *= 2


def _sureness(costs: FloatArray, labels: IntArray) -> FloatArray:
    """What each row would lose in its second best cluster."""
    others = costs.copy()
    others[np.arange(len(costs)), labels] = np.inf
    return np.asarray(others.min(axis=1) - costs[np.arange(len(costs)), labels])


def _overlaps(
    known: Known, labels: IntArray, fixed: NDArray[np.bool_], n_clusters: int
) -> FloatArray:
    sums = np.zeros((n_clusters, known.n_clusters))
    np.add.at(sums, labels[fixed], known.weights[fixed])
    return sums.T


class _Solved(NamedTuple):
    """Share of each row in each cluster, and for each known clustering the prices of overlaps."""

    shares: FloatArray
    prices: list[FloatArray]


def _program(
    costs: FloatArray,
    known: list[Known],
    limits: list[float],
    active: IntArray,
    placed: list[FloatArray],
    factor: float,
    watch: Watch,
) -> _Solved | None:
    """Place some rows, in fractions, at the least cost; None if there is no way or no time.

    The similarity is the value of a best matching, and so by duality the least sum of prices u of
    the known clusters and v of the new ones with u + v at least the overlap of each pair: k²
    constraints in place of k! matchings.

    Parameters
    ----------
    active : (m,) int array
        The rows to place.
    placed : list of (n_known, k) arrays
        Overlaps by the rows that are placed already.
    factor : float
        How many rows each of them stands for.
    """
    m, k = len(active), costs.shape[1]
    unit = float(costs.mean()) or 1.0
    n_duals = [each.n_clusters + k for each in known]
    width = m * k + sum(n_duals)
    upper: list[Any] = []
    bounds: list[Any] = []
    dual_bounds: list[tuple[float | None, float | None]] = []
    at = m * k
    for each, limit, base, size in zip(known, limits, placed, n_duals, strict=True):
        q = each.n_clusters
        inside = (factor / limit) * each.weights[active]
        overlap = sparse.vstack(
            [sparse.kron(inside[:, i][None], sparse.eye_array(k)) for i in range(q)]
        )
        prices = -sparse.hstack(
            [
                sparse.kron(sparse.eye_array(q), np.ones((k, 1))),
                sparse.kron(np.ones((q, 1)), sparse.eye_array(k)),
            ]
        )
        total = sparse.csr_array(np.ones((1, size)))
        before, after = at - m * k, width - at - size
        pads = [(sparse.csr_array((q * k, before)), sparse.csr_array((q * k, after)))]
        upper.append(sparse.hstack([overlap, pads[0][0], prices, pads[0][1]]))
        upper.append(
            sparse.hstack([sparse.csr_array((1, at)), total, sparse.csr_array((1, after))])
        )
        bounds += [-base.ravel() / limit, [1.0]]
        # With unequal numbers some clusters stay unmatched, and matching none is worth 0.
        dual_bounds += [(None, None) if q == k else (0, None)] * size
        at += size
    each_row = sparse.kron(sparse.eye_array(m), np.ones((1, k)))
    solution = linprog(
        np.concatenate([costs[active].ravel() / unit, np.zeros(sum(n_duals))]),
        A_ub=sparse.vstack(upper).tocsr(),
        b_ub=np.concatenate(bounds),
        A_eq=sparse.hstack([each_row, sparse.csr_array((m, sum(n_duals)))]).tocsr(),
        b_eq=np.ones(m),
        bounds=[(0, None)] * (m * k) + dual_bounds,
        method="highs-ds",
        options=solver_options(watch),
    )
    if solution.x is None:
        return None
    marginals, prices_of, at = solution.ineqlin.marginals, [], 0
    for each, limit in zip(known, limits, strict=True):
        size = each.n_clusters * k
        prices_of.append(-marginals[at : at + size].reshape(-1, k) * unit / limit)
        at += size + 1
    return _Solved(solution.x[: m * k].reshape(m, k), prices_of)


def _repaired(
    labels: IntArray, costs: FloatArray, known: list[Known], limits: list[float]
) -> IntArray:
    """Move single rows, the cheapest for what it helps, until the limits hold; fill empty ones."""
    n, k = costs.shape
    labels = filled(labels, costs)
    sizes = np.bincount(labels, minlength=k)
    overlaps = [each.overlaps(labels, k) for each in known]
    movable = np.ones(n, bool)
    best, least = labels.copy(), np.inf
    for _ in range(n):
        worst, matched = _worst(overlaps, limits)
        over = worst.excess
        if over < least:
            best, least = labels.copy(), over
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
        for each, table in zip(known, overlaps, strict=True):
            table[:, labels[row]] -= each.weights[row]
            table[:, to] += each.weights[row]
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
