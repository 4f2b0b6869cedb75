"""The program of MAXIMUS: how many rows of each region every new cluster shall take."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.alternatives.matching import Known, best_matching
from subscape.finders.alternatives.regions import Regions
from subscape.finders.views.base import Watch

__all__ = ["SimilarityPlan", "least_similarities", "plan_regions"]

#: Plans are good enough once they are this near to the least similarity possible.
NEAR_ENOUGH = 1e-3
#: Beyond this another start is tried.
FAR = 4e-3
#: How much of it is left to the second objective, the wish.
ROOM = 5e-4
#: Larger plans start from the wish itself; exchanges alone bring them near the least similarity.
MOST_COUNTS = 20_000
#: Exchanges that each attribute may make; one in plans that are too large for the program.
MOST_PASSES = 10_000
#: How far from the best a plan in whole numbers may be, relative to it.
WHOLE_GAP = 0.1


class SimilarityPlan(NamedTuple):
    """Rows that each cluster shall take from each region.

    Attributes
    ----------
    counts : (k, n_regions) int array
        They add up to the rows of each region and, within each attribute, to the cluster sizes.
    similarities : tuple of float
        Similarity of the planned profile to each known clustering.
    """

    counts: IntArray
    similarities: tuple[float, ...]


def least_similarities(
    regions: Regions, known: list[Known], n_clusters: int, watch: Watch
) -> list[float]:
    """The least similarity to each known clustering that a plan in fractions reaches.

    Where there are at least as many new clusters as known ones, spreading every region evenly over
    them reaches the certificate: nothing is left to solve. With fewer, a program finds the least
    sum; if it were too large, the certificate has to do.
    """
    too_large = regions.n_regions * n_clusters > MOST_COUNTS
    if too_large or all(each.n_clusters <= n_clusters for each in known):
        return [each.certificate for each in known]
    even = _even(regions, n_clusters)
    solution = _solved(regions, known, n_clusters, even, [np.inf] * len(known), watch)
    if solution is None:
        watch.cut("the program for the least similarity was not solved; allow more time")
        solution = even
    return [best_matching(each.profile @ solution.T) for each in known]


def plan_regions(
    regions: Regions,
    known: list[Known],
    wish: FloatArray,
    least: list[float],
    watch: Watch,
    *,
    exact: bool = False,
) -> SimilarityPlan:
    """Plan clusters of the least similarity to the known ones, as near as possible to a wish.

    Parameters
    ----------
    regions : Regions
    known : list of Known
    wish : (k, n_regions) array
        The profile of good clusters: the plan moves as few rows as it must.
    least : list of float
        From :func:`least_similarities`.
    watch : Watch
    exact : bool
        Ask the solver for whole numbers; otherwise fractions are rounded, and pairs of rows are
        exchanged until the plan is near the least similarity again.

    Returns
    -------
    Plan
    """
    k = len(wish)
    limits = [(1 + ROOM) * value for value in least]
    solution: FloatArray | None = wish
    if wish.size <= MOST_COUNTS:
        solution = _solved(regions, known, k, wish, limits, watch)
    if solution is None:
        watch.cut("the program was not solved, and its plan starts from k-means; allow more time")
        solution = wish
    counts = None
    if exact:
        near = [(1 + NEAR_ENOUGH) * value for value in least]
        whole = _solved(regions, known, k, wish, near, watch, whole=True)
        if whole is None:
            watch.cut(
                "the program in whole numbers was not solved, and its fractions were rounded; "
                'allow more time or use integer="round"'
            )
        else:
            counts = np.rint(whole).astype(np.int64)
    if counts is not None:
        return SimilarityPlan(counts, _similarities(counts, known))
    plans = []
    # Exchanges keep the sizes. Where those of the first start are in the way, even ones are not.
    for start in (solution, _even(regions, k)):
        counts = _exchanged(_rounded(start, regions), regions, known, least)
        plans.append(SimilarityPlan(counts, _similarities(counts, known)))
        if sum(plans[-1].similarities) <= (1 + FAR) * sum(least):
            break
    return min(plans, key=lambda plan: sum(plan.similarities))


def _similarities(counts: IntArray, known: list[Known]) -> tuple[float, ...]:
    return tuple(best_matching(each.profile @ counts.T) for each in known)


def _solver_options(watch: Watch) -> dict[str, float]:
    """The time that is left, for the solver."""
    left = watch.seconds_left()
    return {} if left is None else {"time_limit": max(left, 0.05)}


def _even(regions: Regions, n_clusters: int) -> FloatArray:
    return np.tile(regions.counts / n_clusters, (n_clusters, 1))


def _solved(
    regions: Regions,
    known: list[Known],
    k: int,
    wish: FloatArray,
    limits: list[float],
    watch: Watch,
    whole: bool = False,
) -> FloatArray | None:
    """Solve the program; None if there is no solution, or none in time.

    Unknown are the rows that each cluster takes from each region beyond what was wished for, or
    leaves; the sizes of the clusters; and, for every known clustering, prices u and v of its
    clusters and of the new ones. The similarity is a best matching, by duality the least sum of
    prices with u + v at least the overlap of each pair: k² constraints in place of k! matchings.
    Rows taken beyond the wish are the objective; where there are no limits, the sum of the
    similarities, each in units of its certificate.
    """
    g, r = regions.n_regions, regions.n_attributes
    n_duals = [each.n_clusters + k for each in known]
    rest = sum(n_duals)
    width = 2 * k * g + k + rest
    eye, empty = sparse.eye_array, sparse.csr_array
    of_attribute = empty((np.ones(g), (regions.attribute, np.arange(g))), shape=(r, g))

    def on_counts(matrix: Any, others: list[Any]) -> Any:
        """Constraints on the planned rows: on those taken, less those left."""
        return sparse.hstack([matrix, -matrix, *others]).tocsc()

    sums = sparse.kron(np.ones((1, k)), eye(g))
    open_rows = regions.counts - wish.sum(axis=0)
    parts = sparse.kron(eye(k), of_attribute)
    sizes = -sparse.kron(eye(k), np.ones((r, 1)))
    wished_sizes = parts @ wish.ravel()
    constraints = [
        LinearConstraint(on_counts(sums, [empty((g, k + rest))]), open_rows, open_rows),
        LinearConstraint(
            on_counts(parts, [sizes, empty((k * r, rest))]), -wished_sizes, -wished_sizes
        ),
    ]
    low = np.concatenate([np.zeros(2 * k * g), np.ones(k), np.full(rest, -np.inf)])
    high = np.full(width, np.inf)
    high[k * g : 2 * k * g] = wish.ravel()
    objective = np.zeros(width)
    at = 2 * k * g + k
    for each, limit, size in zip(known, limits, n_duals, strict=True):
        q, unit = each.n_clusters, each.certificate
        after = width - at - size
        overlap = sparse.vstack(
            [sparse.kron(eye(k), each.profile[i][None] / unit) for i in range(q)]
        )
        prices = -sparse.hstack(
            [sparse.kron(eye(q), np.ones((k, 1))), sparse.kron(np.ones((q, 1)), eye(k))]
        )
        others = [empty((q * k, at - 2 * k * g)), prices, empty((q * k, after))]
        wished = (each.profile @ wish.T).ravel() / unit
        constraints.append(LinearConstraint(on_counts(overlap, others), -np.inf, -wished))
        total = np.zeros(width)
        total[at : at + size] = 1.0
        if np.isfinite(limit):
            constraints.append(LinearConstraint(total[None], -np.inf, limit / unit))
        else:
            objective += total
        if q != k:
            # Some clusters stay unmatched, and matching none is worth 0.
            low[at : at + size] = 0.0
        at += size
    if np.isfinite(limits).all():
        objective[: k * g] = 1.0 / len(regions.codes)
    solution = milp(
        objective,
        constraints=constraints,
        bounds=Bounds(low, high),
        integrality=np.arange(width) < 2 * k * g if whole else None,
        options={**_solver_options(watch), **({"mip_rel_gap": WHOLE_GAP} if whole else {})},
    )
    if solution.x is None:
        return None
    taken, left = solution.x[: 2 * k * g].reshape(2, k, g)
    return np.asarray(wish + taken - left)


def _rounded(solution: FloatArray, regions: Regions) -> IntArray:
    """Whole numbers near a plan in fractions that keep its sums, one attribute after the other."""
    n = len(regions.codes)
    floors = np.floor(solution + 1e-9)
    parts = np.clip(solution - floors, 0.0, 1.0)
    first = regions.attribute == 0
    sizes = _largest_parts(solution[:, first].sum(axis=1), n)
    counts = floors.astype(np.int64)
    for attribute in range(regions.n_attributes):
        inside = np.flatnonzero(regions.attribute == attribute)
        missing_rows = np.rint(regions.counts[inside]).astype(np.int64) - counts[:, inside].sum(0)
        missing_sizes = sizes - counts[:, inside].sum(axis=1)
        if not missing_rows.any() and not missing_sizes.any():
            continue
        # Sizes were rounded for all attributes at once: here one may be exceeded.
        for cluster in np.flatnonzero(missing_sizes < 0):
            for _ in range(-missing_sizes[cluster]):
                region = counts[cluster, inside].argmax()
                counts[cluster, inside[region]] -= 1
                missing_rows[region] += 1
        missing_sizes = np.maximum(missing_sizes, 0)
        which = np.repeat(np.arange(len(inside)), missing_rows)
        whom = np.repeat(np.arange(len(sizes)), missing_sizes)
        gain = parts[np.ix_(whom, inside[which])]
        taken, given = linear_sum_assignment(gain, maximize=True)
        np.add.at(counts, (whom[taken], inside[which[given]]), 1)
    return counts


def _largest_parts(values: FloatArray, total: int) -> IntArray:
    """Whole numbers, at least 1, near some values that add up to a whole number."""
    whole = np.maximum(np.floor(values + 1e-9), 1).astype(np.int64)
    order = np.argsort(-(values - whole), kind="stable")
    missing = total - int(whole.sum())
    for i in range(abs(missing)):
        if missing > 0:
            whole[order[i % len(order)]] += 1
        else:
            whole[whole.argmax()] -= 1
    return whole


def _exchanged(
    counts: IntArray, regions: Regions, known: list[Known], least: list[float]
) -> IntArray:
    """Exchange rows of two clusters between two regions until the plan is near the least.

    The similarity is least when no known cluster prefers a new one. The sum of the squares of such
    preferences falls with every exchange; sums over regions and sizes stay as they are.
    """
    counts = counts.copy()
    k = len(counts)
    starts = np.cumsum([0, *(each.n_clusters for each in known)])
    profiles = np.vstack([each.profile / each.certificate for each in known])
    overlaps = profiles @ counts.T
    blocks = np.searchsorted(regions.attribute, np.arange(regions.n_attributes + 1))
    # Without as many known clusters as new ones, the new ones must be alike altogether.
    centre = [each.n_clusters >= k for each in known]
    done = _near(overlaps, starts, known, least)
    idle, passes = 0, 0
    most = MOST_PASSES if counts.size <= MOST_COUNTS else 1
    while not done and idle < regions.n_attributes and passes < most:
        passes += 1
        for first, end in pairwise(blocks):
            moved = _best_exchange(
                counts[:, first:end], profiles[:, first:end], overlaps, starts, centre
            )
            idle = 0 if moved else idle + 1
            done = moved and _near(overlaps, starts, known, least)
            if done or idle >= regions.n_attributes:
                break
    return counts


def _near(overlaps: FloatArray, starts: IndexArray, known: list[Known], least: list[float]) -> bool:
    return all(
        best_matching(overlaps[first:end]) * each.certificate <= (1 + NEAR_ENOUGH) * value
        for (first, end), each, value in zip(pairwise(starts), known, least, strict=True)
    )


def _centred(table: FloatArray, starts: IndexArray, centre: list[bool]) -> FloatArray:
    """Take the mean over the known clusters off, within each known clustering where asked."""
    table = table.copy()
    for (first, end), wanted in zip(pairwise(starts), centre, strict=True):
        if wanted:
            table[first:end] -= table[first:end].mean(axis=0)
    return table


def _best_exchange(
    counts: IntArray,
    profiles: FloatArray,
    overlaps: FloatArray,
    starts: IndexArray,
    centre: list[bool],
) -> bool:
    """Make the exchange within one attribute that lowers the squares most; False if none does."""
    if counts.shape[1] < 2:
        return False
    step = _centred(profiles, starts, centre)
    preference = _centred(overlaps, starts, centre)
    preference -= preference.mean(axis=1, keepdims=True)
    pull = step.T @ preference
    own = counts.T
    # For regions a, b: a cluster leaves a for b, another leaves b for a.
    difference = pull[:, None] - pull[None]
    leaving = np.where(own[:, None] > 0, difference, -np.inf)
    coming = np.where(own[None] > 0, difference, np.inf)
    k_out, k_in = leaving.argmax(axis=2), coming.argmin(axis=2)
    size = np.square(step[:, :, None] - step[:, None, :]).sum(axis=0)
    most_out = np.take_along_axis(leaving, k_out[..., None], 2)[..., 0]
    least_in = np.take_along_axis(coming, k_in[..., None], 2)[..., 0]
    drop = most_out - least_in
    change = np.where((k_out != k_in) & np.isfinite(drop), 2 * size - 2 * drop, np.inf)
    a, b = np.unravel_index(change.argmin(), change.shape)
    if not change[a, b] < -1e-15:
        return False
    out, come = int(k_out[a, b]), int(k_in[a, b])
    most = min(own[a, out], own[b, come])
    amount = int(min(most, max(1, np.floor(drop[a, b] / (2 * size[a, b])))))
    counts[out, a] -= amount
    counts[out, b] += amount
    counts[come, b] -= amount
    counts[come, a] += amount
    vector = amount * (profiles[:, a] - profiles[:, b])
    overlaps[:, out] -= vector
    overlaps[:, come] += vector
    return True
