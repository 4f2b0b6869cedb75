"""What happens to the views after the search: trimmed, freed of outliers, put in order."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.row_values import change_rows, each_row, equal_rows, first_rows, fold_rows
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, count
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.oriented.flats import bases_of

from .kernel import CellSums, cell_sums
from .rotation import Bases
from .rows import Labels, Rows, rows_of
from .search import Start, ViewSearch
from .steps import Solution

#: A direction belongs to its view if its clusters differ in it by so many times what chance gives.
BEYOND_CHANCE = 1.5
#: Rounds in which outliers are looked for.
OUTLIER_ROUNDS = 20


class FoundView(NamedTuple):
    """One finished view."""

    labels: Labels
    """(n,) clusters, -1 for outliers."""
    basis: FloatArray
    """(p, m) the direction that separates most first."""
    importances: FloatArray
    """(m,) scatter between the clusters along each direction."""
    size: int
    """Clusters, also those that have lost their rows."""


def in_order(solution: Solution) -> Solution:
    """Turn each view inside itself: the direction with most scatter between clusters first."""
    bases = []
    for basis, factor in zip(solution.bases, solution.groups.factors, strict=True):
        _, _, right = np.linalg.svd(factor @ basis, full_matrices=True)
        turned = basis @ right.T
        # A direction has no sign of its own: its largest entry is made positive.
        largest = np.abs(turned).argmax(axis=0)
        bases.append(turned * np.sign(turned[largest, np.arange(turned.shape[1])]))
    return solution._replace(bases=tuple(bases))


def chance_edge(k: int, free: int) -> float:
    """Scatter between k groups of random rows in the best of ``free`` directions, in variances."""
    return BEYOND_CHANCE * float((np.sqrt(k - 1) + np.sqrt(free)) ** 2)


def beyond_chance(X: NDArray[np.floating] | Rows, solution: Solution) -> Bases:
    """The leading directions of each view in which its clusters differ more than by chance.

    The centres of k groups of rows drawn at random differ in k − 1 directions too. With q
    directions to choose from, the scatter between them reaches about (√(k − 1) + √q)² times the
    variance in the best one (the edge of the Marchenko-Pastur law).
    """
    n, p = X.shape
    taken = [basis.shape[1] for basis in solution.bases]
    kept = []
    squares = rows_of(X).squares_along(solution.bases)
    for basis, factor, total in zip(solution.bases, solution.groups.factors, squares, strict=True):
        free = p - sum(taken) + basis.shape[1]
        between = np.square(factor @ basis).sum(axis=0)
        inside = total - between
        clear = between * n > chance_edge(len(factor), free) * inside
        clear[0] = True
        kept.append(basis[:, : len(clear) if clear.all() else int(clear.argmin())])
    return tuple(kept)


def trimmed(task: ViewSearch, solution: Solution) -> Solution:
    """The views without directions of chance, in order, settled in what is left of them."""
    best = in_order(solution)
    bases = beyond_chance(task.X, best)
    if all(a.shape == b.shape for a, b in zip(bases, best.bases, strict=True)):
        return best
    settled = task.run(Start(bases, best.groups.centres), turning=False)
    return in_order(settled._replace(n_iter=best.n_iter + settled.n_iter))


def mark_outliers(X: NDArray[np.floating] | Rows, solution: Solution) -> Labels:
    """Labels with -1 for the rows that no cluster of a view explains.

    A row is an outlier if it takes fewer bits to say where it lies in the box around the view than
    where it lies in the round normal distribution that the clusters share.
    """
    rows, labels, n = rows_of(X), solution.labels.copy(), X.shape[0]
    for j, basis in enumerate(solution.bases):
        m, k = basis.shape[1], len(solution.groups.centres[j])
        ends = rows.fold_along(
            lambda part, place: ViewEnds(part.min(axis=0), part.max(axis=0)), basis
        )
        box = float(np.log(np.maximum(ends.high - ends.low, 1e-300)).sum())
        centres = solution.groups.centres[j] @ basis
        own, away = solution.labels[:, j], rows.row_values(np.float64)
        normal = each_row(lambda place, own: np.ones(len(own), bool), own, dtype=np.bool_)
        for _ in range(OUTLIER_ROUNDS):
            rows.fold_along(Away(centres), basis, reads=(own,), writes=(away,))
            total, number = fold_rows(
                lambda place, away, normal: (float(away[normal].sum()), int(normal.sum())),
                away,
                normal,
                step=rows.block_rows,
            )
            variance = max(total / number / m, 1e-300)
            limit = 2 * (box + np.log(n) - np.log(k)) - m * np.log(2 * np.pi * variance)
            # The row nearest to its centre always stays, so that no cluster gets lost.
            inliers = inside_limit(away, own, max(limit, m) * variance, nearest_rows(away, own, k))
            if equal_rows(inliers, normal):
                break
            normal = inliers
            found = rows.fold_along(InlierSums(k), basis, reads=(own, normal))
            centres = found.sums / found.counts[:, None]
        change_rows(partial(_mark, j), normal, changes=labels)
    return labels


def _mark(view: int, place: slice, normal: Any, labels: Any) -> None:
    labels[~normal, view] = -1


class ViewEnds:
    """Smallest and largest coordinates; the sum of two holds both."""

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        self.low, self.high = low, high

    def __add__(self, other: ViewEnds) -> ViewEnds:
        return ViewEnds(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Away:
    """Writes down how far rows are from the centres of their clusters."""

    def __init__(self, centres: FloatArray) -> None:
        self._centres = centres

    def __call__(self, part: FloatArray, place: slice, own: Any, away: FloatArray) -> int:
        away[:] = np.square(part - self._centres[own]).sum(axis=1)
        return 0


class InlierSums:
    """Sums of the rows of each cluster, outliers left out."""

    def __init__(self, k: int) -> None:
        self._size = np.array([k], dtype=np.intp)

    def __call__(self, part: FloatArray, place: slice, own: Any, normal: Any) -> CellSums:
        numbers = np.where(normal, own, -1).astype(np.int32)[:, None]
        return cell_sums(part, numbers, self._size)


class _Nearest:
    """Of each cluster the least distance and its first row; the sum of two is the nearer one."""

    def __init__(self, away: FloatArray, rows: IndexArray) -> None:
        self.away, self.rows = away, rows

    def __add__(self, other: _Nearest) -> _Nearest:
        nearer = other.away < self.away
        return _Nearest(
            np.where(nearer, other.away, self.away), np.where(nearer, other.rows, self.rows)
        )


def nearest_rows(away: Any, own: Any, k: int) -> IndexArray:
    """The row of each cluster that is nearest to its centre, the first of equal ones."""

    def nearest(place: slice, away: FloatArray, own: Any) -> _Nearest:
        least, rows = np.full(k, np.inf), np.zeros(k, np.intp)
        for i in range(k):
            members = np.flatnonzero(own == i)
            if len(members):
                row = members[away[members].argmin()]
                least[i], rows[i] = away[row], row + place.start
        return _Nearest(least, rows)

    return fold_rows(nearest, away, own, step=len(away)).rows


def inside_limit(away: Any, own: Any, limit: float, staying: IndexArray) -> Any:
    """Which rows are no farther than the limit, or stay anyhow."""

    def inside(place: slice, away: FloatArray, own: Any) -> Any:
        found = away <= limit
        here = staying[(staying >= place.start) & (staying < place.stop)]
        found[here - place.start] = True
        return found

    return each_row(inside, away, own, dtype=np.bool_)


def without_lost(task: ViewSearch, solution: Solution) -> Solution:
    """The solution without the views that no direction was left for, settled again.

    Rows may differ in fewer directions than there are views.
    """
    if not solution.n_lost:
        return solution
    kept = [j for j, basis in enumerate(solution.bases) if basis.shape[1]]
    warnings.warn(
        f"{count(solution.n_lost, 'view')} of {len(solution.bases)} found no direction of its own "
        "and was left out; ask for fewer views",
        DroppedClusterWarning,
        stacklevel=2,
    )
    smaller = task._replace(sizes=tuple(task.sizes[j] for j in kept))
    bases = tuple(solution.bases[j] for j in kept)
    centres = tuple(solution.groups.centres[j] for j in kept)
    return smaller.run(Start(bases, centres))


def finished_views(solution: Solution, labels: Labels) -> list[FoundView]:
    """The views one by one; of those with as many clusters the one that explains most first."""
    views = [
        FoundView(labels[:, j], basis, np.square(factor @ basis).sum(axis=0), len(factor))
        for j, (basis, factor) in enumerate(
            zip(solution.bases, solution.groups.factors, strict=True)
        )
    ]
    sizes = [len(factor) for factor in solution.groups.factors]
    clearest = sorted(range(len(views)), key=lambda j: -views[j].importances.sum())
    waiting = {size: iter([j for j in clearest if sizes[j] == size]) for size in sizes}
    return [views[next(waiting[size])] for size in sizes]


def clustering_of(view: FoundView) -> SubspaceClustering:
    """The clusters of a view, numbered by their first rows, each in the subspace of the view."""
    first = first_rows(view.labels, view.size)
    used = np.flatnonzero(first < len(view.labels))
    # The last entry is for outliers: −1 points there.
    number = np.full(view.size + 1, -1, dtype=np.int32)
    number[used[np.argsort(first[used])]] = np.arange(len(used))
    labels = each_row(lambda rows, own: number[own], view.labels, dtype=np.int32)
    return SubspaceClustering.from_labels(labels, bases=[view.basis] * len(used))


def basis_of(clustering: SubspaceClustering) -> FloatArray:
    """The directions that all clusters of a view share."""
    spaces = clustering.subspaces
    if isinstance(spaces, OrientedSubspaces) and spaces.is_complement:
        return np.zeros((clustering.n_features, 0))
    return np.array(bases_of(clustering)[0])


def means(X: FloatArray, clustering: SubspaceClustering) -> FloatArray:
    """Means of the clusters over all features."""
    members = clustering.memberships.astype(np.float64)
    return np.asarray((members @ X) / clustering.sizes[:, None])
