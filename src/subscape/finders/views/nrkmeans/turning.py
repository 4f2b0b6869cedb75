"""What Nr-Kmeans does between two passes over a table on a device, with few small products.

There a pass over ten million rows takes a millisecond, so that what the processor does in between
counts: less by its operations, which are few, than by the number of calls. The rules are those of
``turn`` and ``scoring`` in ``steps``; the directions of a view are
carried along with the coordinates of all centres in them, and the directions in which centres
differ come from the scalar products of these few.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsyevd

from subscape.core.types import BoolArray, FloatArray
from subscape.finders.oriented.between import leading_directions

from .steps import ROUNDING, Bases, scoring, summed_up, turn

#: Share of the largest scatter below which directions are looked for without squaring.
SQUARED = 1e-6


class Turning:
    """Views between two steps.

    Parameters
    ----------
    bases, centres : of each view
        Start; the centres lie in the full space.
    noise, least : see ``view_kmeans.turn``
    turning : bool, default=True
        False: the views stay where they are.

    Attributes
    ----------
    bases : of each view
        Those of ``view_kmeans.turn``, but for rounding and signs.
    weights, offsets : (p, K) and (K,) arrays
        What gives the scores of the rows, see ``view_kmeans.scoring``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.views.nrkmeans.turning import Turning
    >>> start = np.eye(3)[:, 1:2], np.eye(3)[:, :1]
    >>> views = Turning(start, (np.zeros((2, 3)), np.zeros((2, 3))), True, 1e-9)
    >>> sums = np.array([[3.0, 0.0, 0.1], [-3.0, 0.0, 0.1], [0.0, 2.0, 0.0], [0.0, -2.0, 0.0]])
    >>> views.update(sums, np.ones(4))
    >>> [np.abs(basis).round(3).ravel().tolist() for basis in views.bases]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    >>> views.offsets.round(3)
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
        self.bases = bases
        self.weights, self.offsets = scoring(bases, centres)
        self._settings = noise, least, turning
        self._sizes = tuple(len(centre) for centre in centres)
        self._rows = [slice(*ends) for ends in pairwise(np.cumsum([0, *self._sizes]).tolist())]
        p = len(self.weights)
        # Times a basis: the basis itself and, below it, the coordinates of all factors in it.
        self._lift = np.concatenate([np.eye(p), np.zeros((sum(self._sizes), p))])

    def update(self, sums: FloatArray, counts: NDArray[Any]) -> None:
        """Move the centres and turn the views, given the rows of all clusters.

        Parameters
        ----------
        sums : (K, p) array
            The clusters of all views under each other.
        counts : (K,) array
        """
        noise, least, turning = self._settings
        if max(self._sizes) > len(self.weights):
            # More centres than features: their scalar products are no shortcut.
            groups = summed_up([sums[rows] for rows in self._rows], [counts[r] for r in self._rows])
            self.bases = turn(self.bases, groups.factors, noise, least) if turning else self.bases
            self.weights, self.offsets = scoring(self.bases, groups.centres)
            return
        roots = np.sqrt(np.maximum(counts, 1))[:, None]
        factors = sums / roots
        self._lift[len(self.weights) :] = factors
        frames = [self._lift @ basis for basis in self.bases]
        if turning:
            self._turn(frames, factors, noise, least)
        p = len(self.weights)
        self.bases = tuple(frame[:p] for frame in frames)
        every = np.concatenate(frames, axis=1)
        own = _owned(self._sizes, tuple(frame.shape[1] for frame in frames))
        centres = every[p:] * own / roots
        self.weights = every[:p] @ (-2.0 * centres).T
        self.offsets = np.einsum("ij,ij->i", centres, centres)

    def _turn(
        self, frames: list[FloatArray], factors: FloatArray, noise: bool, least: float
    ) -> None:
        p = len(self.weights)
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
