"""The rotation of Nr-Kmeans: every direction goes to the view it helps most, the rest to noise.

All that it needs to know of the rows are the centres: with :math:`B_j = U_j^T U_j` the scatter
between the clusters of view j, the cost is the total scatter less :math:`\\sum_j \\|U_j V_j\\|^2`,
so no step makes a (p, p) array.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsyevd

from subscape.core.types import BoolArray, FloatArray, IntArray
from subscape.finders.oriented.centre_directions import leading_directions

Bases = tuple[FloatArray, ...]

#: Share of the largest eigenvalue below which the sign of an eigenvalue is rounding.
ROUNDING = 1e-13
#: Share of the largest scatter below which directions are looked for without squaring.
SQUARED = 1e-6


class ViewGroups(NamedTuple):
    """What the rows of each cluster of each view add up to."""

    centres: tuple[FloatArray, ...]
    """(k_j, p) means in the full space."""
    counts: tuple[IntArray, ...]
    factors: tuple[FloatArray, ...]
    """(k_j, p) centres times the root of the count: U_j."""


def summed_up(sums: Sequence[FloatArray], counts: Sequence[IntArray]) -> ViewGroups:
    """Centres out of the sums of the rows of each cluster."""
    roots = [np.sqrt(np.maximum(count, 1))[:, None] for count in counts]
    factors = tuple(total / root for total, root in zip(sums, roots, strict=True))
    centres = tuple(factor / root for factor, root in zip(factors, roots, strict=True))
    return ViewGroups(centres, tuple(counts), factors)


def explained_scatter(bases: Bases, factors: tuple[FloatArray, ...]) -> float:
    """Scatter between the clusters of each view inside its subspace, summed."""
    return float(
        sum(np.square(factor @ basis).sum() for factor, basis in zip(factors, bases, strict=True))
    )


def scoring(bases: Bases, centres: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray]:
    """What a row is multiplied by, and what is added, for its scores in all views."""
    projected = [centre @ basis for centre, basis in zip(centres, bases, strict=True)]
    back = np.concatenate([c @ basis.T for c, basis in zip(projected, bases, strict=True)])
    return -2.0 * back.T, np.concatenate([np.einsum("ij,ij->i", c, c) for c in projected])


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


class Rotation:
    """The views between two passes over the rows: where they lie, and how rows are scored there.

    Parameters
    ----------
    bases, centres : of each view
        Start; the centres lie in the full space.
    noise, least : see :func:`turn`
    turning : bool, default=True
        False: the views stay where they are.

    Attributes
    ----------
    bases : of each view
    """

    def __init__(
        self,
        bases: Bases,
        centres: tuple[FloatArray, ...],
        noise: bool,
        least: float,
        turning: bool = True,
    ) -> None:
        self.bases, self._centres = bases, centres
        self._groups = ViewGroups((), (), ())
        self._settings = noise, least, turning

    def scoring(self) -> tuple[FloatArray, FloatArray]:
        """What gives the scores of the rows, see :func:`scoring`."""
        return scoring(self.bases, self._centres)

    def update(self, sums: Sequence[FloatArray], counts: Sequence[IntArray]) -> None:
        """Move the centres and turn the views, given the rows of the clusters of each view."""
        noise, least, turning = self._settings
        self._groups = summed_up(sums, counts)
        self._centres = self._groups.centres
        if turning:
            self.bases = turn(self.bases, self._groups.factors, noise, least)

    def result(self) -> tuple[Bases, ViewGroups]:
        """Where the last update left the views, and what it was told."""
        return self.bases, self._groups


class GramRotation(Rotation):
    """A :class:`Rotation` with few small products, for tables on a device.

    There a pass over ten million rows takes a millisecond, so that what the processor does in
    between counts: less by its operations, which are few, than by the number of calls. The
    directions of a view are carried along with the coordinates of all centres in them, and the
    directions in which centres differ come from the scalar products of these few.

    The parameters are those of :class:`Rotation`.

    Attributes
    ----------
    bases : of each view
        Those of :class:`Rotation`, but for rounding and signs.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.nrkmeans.rotation import GramRotation
    >>> start = np.eye(3)[:, 1:2], np.eye(3)[:, :1]
    >>> views = GramRotation(start, (np.zeros((2, 3)), np.zeros((2, 3))), True, 1e-9)
    >>> first, second = np.array([[3.0, 0.0, 0.1], [-3.0, 0.0, 0.1]]), np.array([[0.0, 2.0, 0.0]])
    >>> views.update([first, np.concatenate([second, -second])], [np.ones(2), np.ones(2)])
    >>> [np.abs(basis).round(3).ravel().tolist() for basis in views.bases]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    >>> views.scoring()[1].round(3)
    array([9., 9., 4., 4.])
    """

    def __init__(
        self,
        bases: Bases,
        centres: tuple[FloatArray, ...],
        noise: bool,
        least: float,
        turning: bool = True,
    ) -> None:
        super().__init__(bases, centres, noise, least, turning)
        self._before = bases
        self._totals: tuple[Sequence[FloatArray], Sequence[NDArray[Any]]] = [], []
        self._weights, self._offsets = scoring(bases, centres)
        self._sizes = tuple(len(centre) for centre in centres)
        self._rows = [slice(*ends) for ends in pairwise(np.cumsum([0, *self._sizes]).tolist())]
        p = len(self._weights)
        # Times a basis: the basis itself and, below it, the coordinates of all factors in it.
        self._lift = np.concatenate([np.eye(p), np.zeros((sum(self._sizes), p))])

    def scoring(self) -> tuple[FloatArray, FloatArray]:
        """What gives the scores of the rows, see :func:`scoring`."""
        return self._weights, self._offsets

    def update(self, sums: Sequence[FloatArray], counts: Sequence[NDArray[Any]]) -> None:
        """Move the centres and turn the views, given the rows of the clusters of each view."""
        self._before, self._totals = self.bases, (sums, counts)
        noise, least, turning = self._settings
        p = len(self._weights)
        if max(self._sizes) > p:
            # More centres than features: their scalar products are no shortcut.
            groups = summed_up(sums, counts)
            self.bases = turn(self.bases, groups.factors, noise, least) if turning else self.bases
            self._weights, self._offsets = scoring(self.bases, groups.centres)
            return
        roots = np.sqrt(np.maximum(np.concatenate(counts), 1))[:, None]
        factors = np.concatenate(sums) / roots
        self._lift[p:] = factors
        frames = [self._lift @ basis for basis in self.bases]
        if turning:
            self._turn(frames, factors, noise, least)
        self.bases = tuple(frame[:p] for frame in frames)
        every = np.concatenate(frames, axis=1)
        own = _owned(self._sizes, tuple(frame.shape[1] for frame in frames))
        centres = every[p:] * own / roots
        self._weights = every[:p] @ (-2.0 * centres).T
        self._offsets = np.einsum("ij,ij->i", centres, centres)

    def result(self) -> tuple[Bases, ViewGroups]:
        """Where the last update left the views, turned once more with all digits."""
        noise, least, turning = self._settings
        groups = summed_up(*self._totals)
        if not turning:
            return self._before, groups
        return turn(self._before, groups.factors, noise, least), groups

    def _turn(
        self, frames: list[FloatArray], factors: FloatArray, noise: bool, least: float
    ) -> None:
        p = len(self._weights)
        coordinates = [slice(p + rows.start, p + rows.stop) for rows in self._rows]
        for a, of_a in enumerate(coordinates):
            for b in range(a + 1, len(frames)):
                both = np.concatenate((frames[a], frames[b]), axis=1)
                if both.shape[1] == 0:
                    continue
                mine, theirs = both[of_a], both[coordinates[b]]
                values, vectors, _ = dsyevd(theirs.T @ theirs - mine.T @ mine)
                many = int(values.searchsorted(-ROUNDING * max(-values[0], values[-1])))
                both = both @ vectors
                frames[a], frames[b] = both[:, :many], both[:, many:][:, ::-1]
            if noise:
                others = np.concatenate([*frames[:a], *frames[a + 1 :], frames[a][:, :0]], axis=1)
                free = factors[self._rows[a]] - others[of_a] @ others[:p].T
                frames[a] = self._lift @ _leading(free, least)


def _leading(free: FloatArray, least: float) -> FloatArray:
    """``leading_directions`` by way of the scalar products of the rows."""
    values, vectors, _ = dsyevd(free @ free.T)
    # They ascend; k rows around their mean span k - 1 directions at most.
    weak = max(int(values.searchsorted(least, side="right")), 1)
    if weak < len(free) and values[weak] < SQUARED * values[-1]:
        return leading_directions(free, least)
    strong = vectors[:, weak:] / np.sqrt(values[weak:])
    return free.T @ strong[:, ::-1]


@lru_cache(maxsize=64)
def _owned(sizes: tuple[int, ...], dims: tuple[int, ...]) -> BoolArray:
    """Which coordinates of all centres in all views are those of a centre in its own view."""
    views = np.arange(len(sizes))
    return np.equal.outer(np.repeat(views, sizes), np.repeat(views, dims))
