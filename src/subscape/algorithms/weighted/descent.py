"""The iterations of LAC as functions: start centres, weights, and the descent from one start."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, xlogy

from subscape.kernels.array_api import equal, to_numpy
from subscape.kernels.blocks import Blocks, fold
from subscape.kernels.device_blocks import is_there
from subscape.kernels.device_weighted import nearest_weighted_there
from subscape.kernels.weighted import WeightedPass, nearest_weighted, weighted_costs

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
#: A table in memory, or one that is read in blocks of rows.
Rows = Floats | Blocks


class Descent(NamedTuple):
    """Where the iterations from one start ended."""

    labels: Ints
    centres: Floats
    weights: Floats
    objective: float
    """Per row; smaller is better."""
    history: list[float]
    """The objective after every round."""
    converged: bool


def weights_of(dispersions: Floats, h: float) -> Floats:
    """Weights that minimise each row's ``sum(w * dispersion + h * w * log(w))``; they sum to 1.

    >>> import numpy as np
    >>> weights_of(np.array([[1.0, 1.0], [0.0, 50.0]]), 1.0).round(3)
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return np.asarray(softmax(-dispersions / h, axis=1))


def start_centres(X: Floats, k: int, how: str, rng: np.random.Generator) -> Floats:
    """Rows to start from.

    "kmeans++" draws each with a probability in proportion to its squared distance from those
    drawn before, "scattered" takes the farthest one, "random" any. No row is drawn twice, and no
    copy of one while there are others.
    """
    if how == "random":
        chosen = rng.choice(len(X), k, replace=False)
        if len(np.unique(X[chosen], axis=0)) == k:
            return X[chosen]
    rows = [int(rng.integers(len(X)))]
    gap = np.full(len(X), np.inf)
    even = np.ones((1, X.shape[1]))
    while len(rows) < k:
        np.minimum(gap, weighted_costs(X, X[rows[-1:]], even)[:, 0], out=gap)
        if how == "scattered" or not gap.any():
            rows.append(int(gap.argmax()))
        else:
            sums = np.cumsum(gap)
            drawn = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
            # Rounding might point past the last row that counts.
            rows.append(min(drawn, int(np.flatnonzero(gap)[-1])))
    return X[rows]


def descend(
    X: Rows,
    centres: Floats,
    h: float,
    *,
    balanced: bool = True,
    max_iter: int = 100,
    tol: float = 1e-6,
    weights: Floats | None = None,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Descent:
    """Alternate between assigning the rows and fitting centres and weights, from one start.

    Parameters
    ----------
    X : (n, p) array or Blocks
    centres : (k, p) array
        Where to start.
    h : float
        How much the weights are spread out, in squared units of ``X``.
    balanced : bool, default=True
        The assignment minimises the objective, entropy included, which never rises; if false,
        rows go to the nearest centre and the weights are fitted around the old one, as in the
        paper.
    max_iter, tol : int, float
        Rounds, and the change of the objective, relative to the mean weighted distance, that ends
        them.
    weights : (k, p) array, optional
        To start with; equal by default.
    out_of_time : callable
        Asked after every round; True ends them.

    Returns
    -------
    Descent

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.algorithms.weighted.descent import descend
    >>> X = np.array([[0.0, 5.0], [0.1, 9.0], [4.0, -2.0], [-4.0, -2.1]])
    >>> found = descend(X, X[[0, 2]], h=1.0)
    >>> found.labels, found.weights.round(2).tolist()
    (array([0, 0, 1, 1]), [[0.98, 0.02], [0.0, 1.0]])
    """
    k, p = centres.shape
    centres = np.ascontiguousarray(centres, np.float64)
    w = np.full((k, p), 1.0 / p) if weights is None else np.ascontiguousarray(weights)
    labels = np.full(len(X), -1, np.intp)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter and not (history and out_of_time()):
        entropy = h * xlogy(w, w).sum(axis=1)
        groups = group_rows(X, centres, w, entropy if balanced else np.zeros(k))
        if not balanced:
            w = weights_of(groups.around_centre, h)
            groups = group_rows(X, groups.centres, w, np.zeros(k))
        centres = groups.means
        if balanced:
            w = weights_of(groups.around_mean, h)
        distances = float(groups.counts @ (w * groups.around_mean).sum(axis=1)) / len(X)
        entropies = float(groups.counts @ xlogy(w, w).sum(axis=1)) / len(X)
        history.append(distances + h * entropies)
        change = abs(history[-1] - history[-2]) if len(history) > 1 else np.inf
        still = len(history) > 1 and equal(groups.labels, labels)
        small = change <= tol * distances
        # With the paper's objective a small change may be a turning point of a cycle.
        converged = (still or small) if balanced else (still and small)
        labels = groups.labels
    found = to_numpy(labels).astype(np.intp, copy=False)
    return Descent(found, centres, w, history[-1], history, converged)


class Groups(NamedTuple):
    """The rows of each centre, none of them empty."""

    labels: Ints
    counts: Ints
    centres: Floats
    means: Floats
    around_centre: Floats
    around_mean: Floats


def _pass(X: Rows, centres: Floats, weights: Floats, offsets: Floats) -> WeightedPass:
    """One pass over the rows, in blocks; labels and costs stay on the device of a table there."""
    if is_there(X):
        return nearest_weighted_there(X, centres, weights, offsets)
    labels, costs = np.empty(len(X), np.intp), np.empty(len(X))

    def sums(block: Floats, rows: slice) -> tuple[Ints, Floats, Floats]:
        found = nearest_weighted(block, centres, weights, offsets)
        labels[rows], costs[rows] = found.labels, found.costs
        return found.counts, found.sums, found.squares

    return WeightedPass(labels, costs, *fold(sums, X))


def group_rows(X: Rows, centres: Floats, weights: Floats, offsets: Floats) -> Groups:
    """Assign every row by its weighted distance plus offset, and average; one pass."""
    found = _pass(X, centres, weights, offsets)
    if not found.counts.all():
        if is_there(X):
            labels, costs = to_numpy(found.labels), to_numpy(found.costs)
            found = found._replace(labels=labels.astype(np.intp), costs=costs.astype(np.float64))
        centres = _fill_empty(X, centres, found, offsets)
    shift = found.sums / found.counts[:, None]
    around = found.squares / found.counts[:, None]
    return Groups(
        found.labels,
        found.counts,
        centres,
        centres + shift,
        around,
        np.maximum(around - np.square(shift), 0.0),
    )


def _fill_empty(X: Rows, centres: Floats, found: WeightedPass, offsets: Floats) -> Floats:
    """Give every empty centre the row that costs most where it is; changes ``found``.

    The row then costs as little as a row can, so the objective doesn't rise.
    """
    centres = centres.copy()
    costs = found.costs + offsets[found.labels]
    for empty in np.flatnonzero(found.counts == 0):
        row = int(np.where(found.counts[found.labels] > 1, costs, -np.inf).argmax())
        donor = found.labels[row]
        taken = X.take([row], axis=0)[0]
        away = taken - centres[donor]
        found.sums[donor] -= away
        found.squares[donor] -= np.square(away)
        found.counts[donor] -= 1
        found.labels[row], found.counts[empty] = empty, 1
        centres[empty] = taken
        costs[row] = -np.inf
    return centres
