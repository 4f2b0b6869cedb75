"""What happens to the views after the search: trimmed, freed of outliers, put in order."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.blocks import ordered_sum
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, count
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray
from subscape.finders.oriented.flats import bases_of

from .kernel import cell_sums
from .rotation import Bases
from .rows import Labels, Rows, rows_of
from .search import Start, Task
from .steps import Solution

#: A direction belongs to its view if its clusters differ in it by so many times what chance gives.
BEYOND_CHANCE = 1.5
#: Rounds in which outliers are looked for.
OUTLIER_ROUNDS = 20


class View(NamedTuple):
    """One finished view."""

    labels: Labels
    """(n,) clusters, -1 for outliers."""
    basis: FloatArray
    """(p, m) the direction that separates most first."""
    importances: FloatArray
    """(m,) scatter between the clusters along each direction."""


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


def trimmed(task: Task, solution: Solution) -> Solution:
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
        inside = rows.along(basis)
        m, k = basis.shape[1], len(solution.groups.centres[j])
        ends = [(part.min(axis=0), part.max(axis=0)) for _, part in inside]
        wide = np.max([high for _, high in ends], axis=0) - np.min([low for low, _ in ends], axis=0)
        box = float(np.log(np.maximum(wide, 1e-300)).sum())
        centres = solution.groups.centres[j] @ basis
        own = solution.labels[:, j]
        normal, size = np.ones(n, dtype=bool), np.array([k], dtype=np.intp)
        for _ in range(OUTLIER_ROUNDS):
            away = np.concatenate(
                [np.square(part - centres[own[place]]).sum(axis=1) for place, part in inside]
            )
            variance = max(float(away[normal].mean()) / m, 1e-300)
            limit = 2 * (box + np.log(n) - np.log(k)) - m * np.log(2 * np.pi * variance)
            inliers = away <= max(limit, m) * variance
            # The row nearest to its centre always stays, so that no cluster gets lost.
            for i in range(k):
                members = np.flatnonzero(own == i)
                inliers[members[away[members].argmin()]] = True
            if np.array_equal(inliers, normal):
                break
            normal = inliers
            numbers = np.where(normal, own, -1).astype(np.int32)[:, None]
            found = ordered_sum(cell_sums(part, numbers[place], size) for place, part in inside)
            centres = found.sums / found.counts[:, None]
        labels[~normal, j] = -1
    return labels


def without_lost(task: Task, solution: Solution) -> Solution:
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


def finished_views(solution: Solution, labels: Labels) -> list[View]:
    """The views one by one; of those with as many clusters the one that explains most first."""
    views = [
        View(labels[:, j], basis, np.square(factor @ basis).sum(axis=0))
        for j, (basis, factor) in enumerate(
            zip(solution.bases, solution.groups.factors, strict=True)
        )
    ]
    sizes = [len(factor) for factor in solution.groups.factors]
    clearest = sorted(range(len(views)), key=lambda j: -views[j].importances.sum())
    waiting = {size: iter([j for j in clearest if sizes[j] == size]) for size in sizes}
    return [views[next(waiting[size])] for size in sizes]


def clustering_of(view: View) -> SubspaceClustering:
    """The clusters of a view, numbered by their first rows, each in the subspace of the view."""
    used = np.flatnonzero(np.bincount(view.labels[view.labels >= 0]))
    first = [int(np.argmax(view.labels == i)) for i in used]
    # The last entry is for outliers: −1 points there.
    number = np.full(int(used[-1]) + 2, -1, dtype=np.int32)
    number[used[np.argsort(first)]] = np.arange(len(used))
    return SubspaceClustering.from_labels(number[view.labels], bases=[view.basis] * len(used))


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
