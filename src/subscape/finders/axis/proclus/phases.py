"""The phases of PROCLUS as functions: candidates, dimensions, hill climbing, outliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from subscape.arrays.blocks import Blocks, as_blocks, fold
from subscape.arrays.row_values import (
    brought,
    each_row,
    fold_rows,
    is_distant,
    order_statistics,
    row_counts,
)
from subscape.core.types import BoolArray, FloatArray, IndexArray

from .segmental import (
    Nearest,
    ball_deviations,
    centroids,
    city_block,
    cluster_deviations,
    nearest_point,
    own_distances,
)

#: Polishing rounds after the climb; they end as soon as the objective stops falling.
LAST_ROUNDS = 5
#: Typical rows of a cluster are found from this nearest share of them, in at most so many rounds.
NEAREST, MOST_BOUNDS = 0.2, 10
#: Rows count in the objective as no farther than this, in mean absolute deviations of the columns.
FARTHEST = 1.5
#: Features that every cluster gets before the rest is shared out.
LEAST_DIMS = 2
#: Distances kept in memory (256 MB of them); older ones are computed again when needed.
KEPT_DISTANCES = 2**25


class Partition(NamedTuple):
    """A medoid set and the clusters it makes."""

    medoids: IndexArray
    """Row of each medoid."""
    masks: BoolArray
    """(k, p): the features of each cluster."""
    labels: IndexArray
    """Cluster of every row."""
    core: IndexArray
    """The same, but -1 for rows too far from their medoid to be typical of the cluster."""
    objective: float
    """Mean segmental distance of the rows to their cluster's centroid; noise counts little."""


class Climb(NamedTuple):
    """Where one hill climbing ended."""

    partition: Partition
    objective: float
    n_trials: int
    raw: Partition | None = None
    """The same medoids before any of them was moved, if they were."""


def far_points(X: FloatArray, size: int, rng: np.random.Generator) -> IndexArray:
    """Pick rows that are far from each other: the first at random, each next the farthest.

    Stops early where every row left is a copy of one picked already.
    """
    chosen = [int(rng.integers(len(X)))]
    gap = city_block(X, X[chosen[0]])
    while len(chosen) < size:
        farthest = int(gap.argmax())
        if gap[farthest] <= 0:
            break
        chosen.append(farthest)
        np.minimum(gap, city_block(X, X[farthest]), out=gap)
    return np.array(chosen, np.intp)


def choose_dimensions(deviations: FloatArray, total: int) -> BoolArray:
    """Share ``total`` features out to the clusters, least standardised deviation first.

    Every cluster gets its two best features, then the smallest z-scores of the whole table follow.
    No other choice of ``total`` features with two per cluster has a smaller sum of z-scores.

    Parameters
    ----------
    deviations : (k, p) array
        Mean absolute deviation of the rows around each medoid, by feature.
    total : int
        Features to give out, counted once per cluster.

    Examples
    --------
    >>> import numpy as np
    >>> choose_dimensions(np.array([[1.0, 1.0, 9.0, 9.0], [5.0, 4.0, 6.0, 4.5]]), 5).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 1]])
    """
    k, p = deviations.shape
    away = deviations - deviations.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.square(away).sum(axis=1, keepdims=True) / max(p - 1, 1))
    # Equal deviations tell nothing about the features; they must not become NaN.
    z = np.divide(away, scale, out=np.zeros_like(away), where=scale > 0)
    masks = np.zeros((k, p), bool)
    least = np.argsort(z, axis=1, kind="stable")[:, :LEAST_DIMS]
    masks[np.arange(k)[:, None], least] = True
    extra = total - int(masks.sum())
    if extra > 0:
        rest = np.where(masks, np.inf, z).ravel()
        masks.ravel()[np.argsort(rest, kind="stable")[:extra]] = True
    return masks


def typical_total(X: FloatArray, partition: Partition) -> int:
    """Count the features in which clusters are narrow, from the clusters themselves.

    The spread of a cluster in a feature is compared with that of the whole column. These ratios
    are split in two groups, one around a mean of its own, one around 1, such that the sum of
    squared differences is least; the first group are the relevant features.
    """
    k, p = partition.masks.shape
    everything = np.ones((k, p), bool)
    points = centroids(X, partition.core, everything)
    within = cluster_deviations(X, partition.core, points)
    whole = cluster_deviations(X, np.zeros(len(X), np.intp), X.mean(axis=0, keepdims=True))
    known = np.bincount(partition.core[partition.core >= 0], minlength=k) > 1
    if not known.any():
        return LEAST_DIMS * k
    ratios = np.sort(np.minimum(within[known] / whole, 1.0), axis=None)
    count = np.arange(1, len(ratios) + 1)
    sums, squares = np.cumsum(ratios), np.cumsum(np.square(ratios))
    around_one = np.cumsum(np.square(1 - ratios)[::-1])[::-1]
    cost = squares - np.square(sums) / count + np.append(around_one[1:], 0.0)
    return round((int(cost.argmin()) + 1) / known.sum() * k)


def bounds_of_core(labels: IndexArray, distances: FloatArray, k: int, reach: float) -> FloatArray:
    """Distance up to which rows are typical of each cluster: ``reach`` times the median of them.

    Found in rounds that begin with the nearest fifth of the rows, so that noise, even if it is most
    of what a medoid is nearest to, has no say in what is typical.
    """
    if is_distant(labels):
        return _bounds_with_workers(labels, distances, k, reach)
    bounds = np.zeros(k)
    for i in range(k):
        away = np.sort(distances[labels == i])
        if not len(away):
            continue
        bound = reach * away[int(NEAREST * len(away))]
        for _ in range(MOST_BOUNDS):
            inside = int(np.searchsorted(away, bound, side="right"))
            wider = reach * away[inside // 2]
            if wider == bound:
                break
            bound = wider
        # Where most rows equal their medoid the median says nothing about the others.
        bounds[i] = bound or reach * float(away.mean())
    return bounds


def _bounds_with_workers(labels: Any, distances: Any, k: int, reach: float) -> FloatArray:
    """:func:`bounds_of_core` of rows on a cluster, by ranks: nothing is sorted or moved."""
    counts = row_counts(labels, k)
    ranks = {i: int(NEAREST * counts[i]) for i in range(k) if counts[i]}
    bounds = np.zeros(k)
    for i, value in order_statistics(distances, labels, ranks).items():
        bounds[i] = reach * value
    left = list(ranks)
    for _ in range(MOST_BOUNDS):
        if not left:
            break
        inside = fold_rows(
            lambda rows, own, away: np.bincount(
                own[(own >= 0) & (away <= bounds[own])], minlength=k
            ),
            labels,
            distances,
            step=len(labels),
        )
        wider = order_statistics(distances, labels, {i: int(inside[i]) // 2 for i in left})
        left = [i for i in left if reach * wider[i] != bounds[i]]
        for i in left:
            bounds[i] = reach * wider[i]
    nothing = [i for i in ranks if not bounds[i]]
    if nothing:
        here, away = brought(labels), brought(distances)
        for i in nothing:
            bounds[i] = reach * float(np.sort(away[here == i]).mean())
    return bounds


def sphere_radii(points: FloatArray, masks: BoolArray) -> FloatArray:
    """Distance of each medoid to the nearest other one, in its own features."""
    k = len(points)
    radii = np.full(k, np.inf)
    for i in range(k if k > 1 else 0):
        away = np.abs(points[:, masks[i]] - points[i, masks[i]]).mean(axis=1)
        radii[i] = np.delete(away, i).min()
    return radii


def outside_all(
    X: FloatArray, points: FloatArray, masks: BoolArray, radii: FloatArray
) -> BoolArray:
    """Which rows lie in no medoid's sphere."""
    outside = np.ones(len(X), bool)
    for i, radius in enumerate(radii):
        labels = np.full(len(X), i, np.intp)
        outside &= own_distances(X, labels, points, masks) > radius
    return outside


class Climber:
    """Hill climbing over medoid sets drawn from a list of candidates.

    Distances from a candidate to all rows are computed once, and so are the deviations in its
    locality for each nearest other medoid: between two trials most medoids stay the same.
    """

    def __init__(
        self, X: FloatArray, candidates: IndexArray, k: int, total: int, reach: float, refine: bool
    ) -> None:
        self.X, self.candidates, self.k, self.total = X, candidates, k, total
        self.reach, self.refine = reach, refine
        self._farthest = np.inf
        if refine:
            self._farthest = FARTHEST * float(np.abs(X - X.mean(axis=0)).mean())
        self._distances: dict[int, FloatArray] = {}
        self._deviations: dict[tuple[int, int], FloatArray] = {}

    def climb(
        self,
        rng: np.random.Generator,
        min_deviation: float,
        max_no_improve: int,
        out_of_time: Callable[[], bool],
    ) -> Climb:
        """Replace bad medoids by random candidates until that stops helping."""
        seeds = rng.choice(self.candidates, self.k, replace=False)
        kept, best = seeds, self.partition_of(seeds)
        n_trials, stale = 1, 0
        while stale < max_no_improve and not out_of_time():
            spare = np.setdiff1d(self.candidates, kept)
            if self.refine and stale % 2:
                bad = rng.integers(self.k, size=1)
            else:
                bad = bad_medoids(best.labels, self.k, min_deviation)
            bad = bad[: len(spare)]
            if not len(bad):
                break
            seeds = kept.copy()
            seeds[bad] = rng.choice(spare, len(bad), replace=False)
            trial = self.partition_of(seeds)
            n_trials += 1
            stale += 1
            if trial.objective < best.objective:
                kept, best, stale = seeds, trial, 0
        best = self._finish(best)
        raw = self._plain(kept) if self.refine else None
        return Climb(best, best.objective, n_trials, raw)

    def partition_of(self, seeds: IndexArray) -> Partition:
        """One trial: localities, their dimensions, assignment, and a polishing round."""
        partition = self._plain(seeds)
        return self._polished(partition) if self.refine else partition

    def _plain(self, seeds: IndexArray) -> Partition:
        """Localities, their dimensions, and the assignment."""
        masks = choose_dimensions(self._locality_deviations(seeds), self.total)
        return self._assigned(seeds, masks)

    def _finish(self, partition: Partition) -> Partition:
        if not self.refine:
            return self._refined(partition)
        for _ in range(LAST_ROUNDS):
            better = self._polished(partition)
            if better.objective >= partition.objective:
                break
            partition = better
        return partition

    def _polished(self, partition: Partition) -> Partition:
        """Move every medoid to the middle of its cluster, then refine."""
        centres = centroids(self.X, partition.core, partition.masks)
        away = own_distances(self.X, partition.core, centres, partition.masks)
        medoids = partition.medoids.copy()
        for i in range(self.k):
            members = np.flatnonzero(partition.core == i)
            if len(members) > 2:
                medoids[i] = members[away[members].argmin()]
        return self._refined(partition._replace(medoids=medoids))

    def _refined(self, partition: Partition) -> Partition:
        """Phase 3: dimensions from the clusters instead of the localities, new assignment."""
        members = partition.core if self.refine else partition.labels
        deviations = cluster_deviations(self.X, members, self.X[partition.medoids])
        return self._assigned(partition.medoids, choose_dimensions(deviations, self.total))

    def _assigned(self, medoids: IndexArray, masks: BoolArray) -> Partition:
        labels, core = assign(self.X, self.X[medoids], masks, self.reach)
        # A medoid stays in its own cluster whatever the ties, so that no cluster is empty.
        labels[medoids] = core[medoids] = np.arange(self.k)
        centres = centroids(self.X, core if self.refine else labels, masks)
        away = own_distances(self.X, labels, centres, masks)
        objective = float(np.minimum(away, self._farthest).mean())
        return Partition(medoids, masks, labels, core, objective)

    def _locality_deviations(self, seeds: IndexArray) -> FloatArray:
        """Mean deviation of the rows no farther from each medoid than the next medoid is."""
        deviations = np.empty((self.k, self.X.shape[1]))
        for i, seed in enumerate(seeds.tolist()):
            distances = self._from(seed)
            to_others = distances[seeds]
            to_others[i] = np.inf
            nearest = int(to_others.argmin())
            key = (seed, int(seeds[nearest]))
            if key not in self._deviations:
                self._deviations[key] = ball_deviations(
                    self.X, self.X[seed], distances, float(to_others[nearest])
                )
            deviations[i] = self._deviations[key]
        return deviations

    def _from(self, row: int) -> FloatArray:
        if row not in self._distances:
            if len(self._distances) * len(self.X) > KEPT_DISTANCES:
                del self._distances[next(iter(self._distances))]
            self._distances[row] = city_block(self.X, self.X[row])
        return self._distances[row]


def bad_medoids(labels: IndexArray, k: int, min_deviation: float) -> IndexArray:
    """Medoids of the smallest cluster, and of all far below an equal share of the rows."""
    sizes = np.bincount(labels, minlength=k)
    small = sizes < len(labels) / k * min_deviation
    small[sizes.argmin()] = True
    return np.flatnonzero(small)


def assign(
    X: FloatArray, points: FloatArray, masks: BoolArray, reach: float
) -> tuple[IndexArray, IndexArray]:
    """Labels by the nearest medoid, and the same with rows too far from it taken out."""
    labels, distances = nearest_point(X, points, masks)
    return labels, core_of(labels, distances, len(points), reach)


def core_of(labels: IndexArray, distances: FloatArray, k: int, reach: float) -> IndexArray:
    """The labels, but -1 for rows too far from their medoid to be typical of the cluster."""
    bounds = bounds_of_core(labels, distances, k, reach)
    return each_row(
        lambda rows, own, away: np.where(away <= bounds[own], own, -1),
        labels,
        distances,
        dtype=np.intp,
    )


# -- the last phase of PROCLUS over all rows of a long table, block by block -----------------------


#: A table in memory, or one that is read in blocks of rows.
Rows = FloatArray | Blocks


def nearest_of(X: Rows, points: FloatArray, masks: BoolArray) -> Nearest:
    """The nearest point of every row, and how far it is."""
    table = as_blocks(X)
    labels, distances = table.row_values(np.intp), table.row_values(np.float64)

    def assign(block: FloatArray, rows: slice, labels: IndexArray, distances: FloatArray) -> int:
        labels[:], distances[:] = nearest_point(block, points, masks)
        return 0

    table.fold(assign, writes=(labels, distances))
    return Nearest(labels, distances)


def distances_to_own(
    X: Rows, labels: IndexArray, points: FloatArray, masks: BoolArray
) -> FloatArray:
    """Segmental distance of every row to the point of its own cluster."""
    return as_blocks(X).mapped(
        lambda block, rows, own: own_distances(block, own, points, masks),
        np.float64,
        reads=(labels,),
    )


def inside_mean(values: Any, labels: Any, step: int) -> float:
    """Mean over the rows that are in a cluster."""

    def sums(rows: slice, away: FloatArray, own: IndexArray) -> tuple[float, int]:
        inside = own >= 0
        return float(away[inside].sum()), int(inside.sum())

    total, number = fold_rows(sums, values, labels, step=step)
    return total / number


def outside_of(X: Rows, points: FloatArray, masks: BoolArray, radii: FloatArray) -> BoolArray:
    """Which rows lie in no medoid's sphere."""
    return as_blocks(X).mapped(
        lambda block, rows: outside_all(block, points, masks, radii), np.bool_
    )


def centroids_of(X: Rows, labels: IndexArray, masks: BoolArray) -> FloatArray:
    """Average the rows of each cluster over the features of its mask."""
    return _averages(lambda block, inside: centroids(block, inside, masks), X, labels, len(masks))


def deviations_of(X: Rows, labels: IndexArray, points: FloatArray) -> FloatArray:
    """Average, feature by feature, how far the rows of each cluster are from its point."""
    return _averages(
        lambda block, inside: cluster_deviations(block, inside, points), X, labels, len(points)
    )


def _averages(
    average: Callable[[FloatArray, IndexArray], FloatArray], X: Rows, labels: IndexArray, k: int
) -> FloatArray:
    """An average over the rows of each cluster, out of those of the blocks."""
    table = as_blocks(X)
    if len(table) <= table.block_rows:
        return average(next(iter(table))[1], brought(labels))

    def sums(block: FloatArray, rows: slice, inside: IndexArray) -> tuple[FloatArray, IndexArray]:
        counts = np.bincount(inside[inside >= 0], minlength=k)
        means = average(block, inside)
        return np.where(counts[:, None] > 0, means * counts[:, None], 0.0), counts

    total, counts = fold(sums, table, reads=(labels,))
    return np.asarray(total / np.maximum(counts, 1)[:, None])
