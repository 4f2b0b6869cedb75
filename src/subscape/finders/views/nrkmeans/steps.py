"""The alternating steps of Nr-Kmeans: assign in every view, move the centres, turn the views.

A *view* is a clustering with the subspace it is judged in. The noise space, if there is one, is
never stored: it is what the views leave over. All that the rotation needs to know of the rows are
the centres: with :math:`B_j = U_j^T U_j` the scatter between the clusters of view j, the cost is
the total scatter less :math:`\\sum_j \\|U_j V_j\\|^2`, so no step makes a (p, p) array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.oriented.between import leading_directions

from .device_kernel import DeviceTable
from .kernel import CellSums, cell_sums, nearest_in_views

if TYPE_CHECKING:
    from .blocks import BlockTable

Labels = NDArray[np.int32]
Bases = tuple[FloatArray, ...]

#: Rows per block of the assignment: scores stay in the cache.
BLOCK_ROWS = 4096

#: With more combinations of clusters than this, the views are summed one by one.
MOST_CELLS = 1024

#: Share of the largest eigenvalue below which the sign of an eigenvalue is rounding.
ROUNDING = 1e-13


class Groups(NamedTuple):
    """What the rows of each cluster of each view add up to."""

    centres: tuple[FloatArray, ...]
    """(k_j, p) means in the full space."""
    counts: tuple[IntArray, ...]
    factors: tuple[FloatArray, ...]
    """(k_j, p) centres times the root of the count: U_j."""


class Solution(NamedTuple):
    """Views at the end of some iterations."""

    labels: Labels
    """(n, S) cluster of each row in each view."""
    bases: Bases
    """(p, m_j) orthonormal directions of each view, orthogonal to those of the others."""
    groups: Groups
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


class Scoring(NamedTuple):
    """What gives the scores of a row: the least in each view is its cluster."""

    weights: NDArray[np.floating]
    """(p, K) what a row is multiplied by, the clusters of all views side by side."""
    offsets: NDArray[np.floating]
    """(K,) what is added."""
    starts: IndexArray
    """(S + 1,) the first cluster of each view, and K."""

    @classmethod
    def of(cls, bases: Bases, centres: tuple[FloatArray, ...], dtype: Any) -> Scoring:
        weights, offsets = scoring(bases, centres)
        starts = np.cumsum([0, *(len(centre) for centre in centres)], dtype=np.intp)
        return cls(np.ascontiguousarray(weights, dtype=dtype), offsets.astype(dtype), starts)


def assign(X: NDArray[np.floating], bases: Bases, centres: tuple[FloatArray, ...]) -> Labels:
    """Nearest centre of every row in every view, from one product for all views."""
    return nearest(X, Scoring.of(bases, centres, X.dtype))


def nearest(X: NDArray[np.floating], by: Scoring) -> Labels:
    """The cluster with the least score, of every row in every view."""
    weights, offsets, starts = by
    blocks = []
    for at in range(0, len(X), BLOCK_ROWS):
        # Squared distances in the views, less what is the same for all centres of a view.
        scores = X[at : at + BLOCK_ROWS] @ weights
        scores += offsets
        blocks.append(nearest_in_views(scores, starts))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def scoring(bases: Bases, centres: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray]:
    """What a row is multiplied by, and what is added, for its scores in all views."""
    projected = [centre @ basis for centre, basis in zip(centres, bases, strict=True)]
    back = np.concatenate([c @ basis.T for c, basis in zip(projected, bases, strict=True)])
    return -2.0 * back.T, np.concatenate([np.einsum("ij,ij->i", c, c) for c in projected])


def group(X: NDArray[np.floating], labels: Labels, sizes: tuple[int, ...]) -> Groups:
    """Centres and counts of all clusters, from one pass over the rows."""
    return summed_up(*by_view(sums_of_rows(X, labels, sizes), sizes))


def sums_of_rows(
    X: NDArray[np.floating], labels: Labels, sizes: tuple[int, ...]
) -> tuple[CellSums, ...]:
    """Sums over the combinations of clusters, or over the clusters of each view if these are fewer.

    Those of several blocks of rows add up.
    """
    if np.prod([float(size) for size in sizes]) > MOST_CELLS:
        return tuple(
            cell_sums(X, np.ascontiguousarray(labels[:, [j]]), np.array([size], dtype=np.intp))
            for j, size in enumerate(sizes)
        )
    return (cell_sums(X, labels, np.array(sizes, dtype=np.intp)),)


def by_view(
    parts: tuple[CellSums, ...], sizes: tuple[int, ...]
) -> tuple[list[FloatArray], list[IntArray]]:
    """Sums and counts of the clusters of each view."""
    if len(parts) == len(sizes):
        return [part.sums for part in parts], [part.counts for part in parts]
    cells = parts[0]
    cube, cubed = cells.sums.reshape(*sizes, -1), cells.counts.reshape(sizes)
    views = range(len(sizes))
    others = [tuple(other for other in views if other != j) for j in views]
    return [cube.sum(axis=rest) for rest in others], [cubed.sum(axis=rest) for rest in others]


def summed_up(sums: Sequence[FloatArray], counts: Sequence[IntArray]) -> Groups:
    """Centres out of the sums of the rows of each cluster."""
    roots = [np.sqrt(np.maximum(count, 1))[:, None] for count in counts]
    factors = tuple(total / root for total, root in zip(sums, roots, strict=True))
    centres = tuple(factor / root for factor, root in zip(factors, roots, strict=True))
    return Groups(centres, tuple(counts), factors)


def explained_scatter(bases: Bases, factors: tuple[FloatArray, ...]) -> float:
    """Scatter between the clusters of each view inside its subspace, summed."""
    return float(
        sum(np.square(factor @ basis).sum() for factor, basis in zip(factors, bases, strict=True))
    )


def turn(bases: Bases, factors: tuple[FloatArray, ...], noise: bool, least: float) -> Bases:
    """Give every direction to the view it helps most, pair by pair; the cost never rises.

    Parameters
    ----------
    bases, factors : of each view
    noise : bool
        Whether what helps no view goes to a noise space, the last of all spaces.
    least : float
        Scatter between centres that counts as none.
    """
    new = list(bases)
    for a in range(len(new)):
        for b in range(a + 1, len(new)):
            new[a], new[b] = share(new[a], new[b], factors[a], factors[b])
        if noise:
            free = outside(factors[a], [*new[:a], *new[a + 1 :]])
            new[a] = leading_directions(free, least)
    return tuple(new)


def outside(rows: FloatArray, bases: Sequence[FloatArray]) -> FloatArray:
    """The part of each row that lies in none of these orthonormal bases."""
    for basis in bases:
        rows = rows - (rows @ basis) @ basis.T
    return rows


def share(
    basis_a: FloatArray, basis_b: FloatArray, factor_a: FloatArray, factor_b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Turn and divide the directions of two views so that their common cost is least."""
    both = np.concatenate([basis_a, basis_b], axis=1)
    if both.shape[1] == 0:
        return basis_a, basis_b
    of_a, of_b = factor_a @ both, factor_b @ both
    values, vectors = np.linalg.eigh(of_b.T @ of_b - of_a.T @ of_a)
    n_a = int((values < -ROUNDING * max(-values[0], values[-1])).sum())
    turned = both @ vectors
    return turned[:, :n_a], turned[:, n_a:][:, ::-1]


def refill(
    X: NDArray[np.floating], labels: Labels, bases: Bases, groups: Groups, sizes: tuple[int, ...]
) -> tuple[Labels, Groups]:
    """Give every empty cluster the row that is farthest from its centre in that view."""
    labels = labels.copy()
    for j, counts in enumerate(groups.counts):
        for empty in np.flatnonzero(counts == 0):
            inside = X @ bases[j].astype(X.dtype)
            away = np.square(inside - (groups.centres[j] @ bases[j])[labels[:, j]]).sum(axis=1)
            away[np.bincount(labels[:, j], minlength=sizes[j])[labels[:, j]] < 2] = -1.0
            row = int(away.argmax())
            if away[row] <= 0:
                break  # fewer distinct rows in this view than clusters
            labels[row, j] = empty
            groups = group(X, labels, sizes)
    return labels, groups


def iterate(
    X: NDArray[np.floating] | DeviceTable | BlockTable,
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
    X : (n, p) array, DeviceTable or BlockTable
        Centred.
    bases, centres : of each view
        Start; the centres lie in the full space.
    noise : bool
        Whether there is a noise space.
    least : float
        See :func:`turn`.
    max_iter : int
    turning : bool
        False: the views stay where they are, and each is clustered by k-means.
    """
    if isinstance(X, DeviceTable):
        from .device import iterate_on_device

        return iterate_on_device(X, bases, centres, noise, least, max_iter, turning)
    if not isinstance(X, np.ndarray):
        from .blocks import iterate_in_blocks

        return iterate_in_blocks(X, bases, centres, noise, least, max_iter, turning)
    sizes = tuple(len(centre) for centre in centres)
    labels, groups = np.full((len(X), len(sizes)), -1, dtype=np.int32), Groups((), (), ())
    steps, converged, lost = 0, False, False
    while steps < max_iter and not converged and not lost:
        steps += 1
        old, labels = labels, assign(X, bases, centres)
        if np.array_equal(labels, old):
            converged = True
            break
        groups = group(X, labels, sizes)
        if any((counts == 0).any() for counts in groups.counts):
            labels, groups = refill(X, labels, bases, groups, sizes)
            converged = np.array_equal(labels, old)
        if turning:
            bases = turn(bases, groups.factors, noise, least)
        centres, lost = groups.centres, any(basis.shape[1] == 0 for basis in bases)
    value = explained_scatter(bases, groups.factors)
    return Solution(labels, bases, groups, value, steps, converged)
