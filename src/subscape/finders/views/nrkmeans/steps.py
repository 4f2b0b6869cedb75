"""The steps of Nr-Kmeans: assign in every view, refill lost clusters, move centres, turn views.

A *view* is a clustering with the subspace it is judged in. The noise space, if there is one, is
never stored: it is what the views leave over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.row_values import Farthest, equal_rows
from subscape.core.types import FloatArray

from .rotation import Bases, ViewGroups, explained_scatter, summed_up
from .rows import Labels, Rows, RowsStep, rows_of


class Solution(NamedTuple):
    """Views at the end of some iterations."""

    labels: Labels
    """(n, S) cluster of each row in each view."""
    bases: Bases
    """(p, m_j) orthonormal directions of each view, orthogonal to those of the others."""
    groups: ViewGroups
    explained: float
    """Scatter between clusters, summed over views: total scatter less the cost."""
    n_iter: int
    converged: bool

    @property
    def n_lost(self) -> int:
        """Views that no direction is left for."""
        return sum(basis.shape[1] == 0 for basis in self.bases)

    @property
    def objective(self) -> tuple[int, float]:
        """Lost views first, then what is not explained: smaller is better."""
        return self.n_lost, -self.explained


def iterate(
    X: NDArray[np.floating] | Rows,
    bases: Bases,
    centres: tuple[FloatArray, ...],
    noise: bool,
    least: float,
    max_iter: int,
    turning: bool = True,
) -> Solution:
    """Assign, move and turn until no label changes.

    Parameters
    ----------
    X : (n, p) array or Rows
        Centred.
    bases, centres : of each view
        Start; the centres lie in the full space.
    noise : bool
        Whether there is a noise space.
    least : float
        Scatter between centres that counts as none.
    max_iter : int
    turning : bool
        False: the views stay where they are, and each is clustered by k-means.
    """
    rows, sizes = rows_of(X), tuple(len(centre) for centre in centres)
    views = rows.rotation(bases, centres, noise, least, turning)
    labels = rows.no_labels(sizes)
    n_iter, converged, lost = 0, False, False
    while n_iter < max_iter and not converged and not lost:
        if n_iter and rows.out_of_time():
            break
        n_iter += 1
        step = rows.assign(views, sizes, labels)
        if step.n_changed == 0:
            converged = True
            break
        if any((counts == 0).any() for counts in step.counts):
            step = refill(rows, step, views.bases)
            # The rows that left their clusters empty may have been put back.
            converged = equal_rows(step.labels, labels)
        labels = step.labels
        # The centres move, every direction goes to the view that it helps most, and what helps
        # none to the noise space.
        views.update(step.sums, step.counts)
        lost = any(basis.shape[1] == 0 for basis in views.bases)
    bases, groups = views.result()
    explained = explained_scatter(bases, groups.factors)
    return Solution(rows.in_memory(labels), bases, groups, explained, n_iter, converged)


def refill(rows: Rows, step: RowsStep, bases: Bases) -> RowsStep:
    """Give every empty cluster the row that is farthest from its centre in that view."""
    for view, basis in enumerate(bases):
        for empty in np.flatnonzero(step.counts[view] == 0):
            row = farthest(rows, step, view, basis)
            if row < 0:
                break  # fewer distinct rows in this view than clusters
            step = rows.move(step, view, row, int(empty))
    return step


def farthest(rows: Rows, step: RowsStep, view: int, basis: FloatArray) -> int:
    """The row that is farthest from its centre, of clusters with several; -1 if none is away."""
    counts, own = step.counts[view], rows.of_view(step.labels, view)
    centres = summed_up([step.sums[view]], [counts]).centres[0] @ basis

    def most(inside: FloatArray, part: slice, own: NDArray[np.signedinteger]) -> Farthest:
        away = np.square(inside - centres[own]).sum(axis=1)
        away[counts[own] < 2] = -1.0
        row = int(away.argmax())
        return Farthest(float(away[row]), part.start + row)

    found = rows.fold_along(most, basis, reads=(own,))
    return found.row if found.value > 0.0 else -1
