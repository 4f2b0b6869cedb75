"""Where MAXIMUS starts from, and which of its starts is kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.measures import dq_measure

from .placing import Placed

__all__ = ["Start", "best_start", "unexplained"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: Starts are as compact as the best one up to this share of its inertia.
AS_COMPACT = 1.02


def unexplained(X: FloatArray, known: list[IntArray]) -> FloatArray:
    """What is left of a table when the means of all known clusters are taken off, added up.

    >>> unexplained(np.array([[0.0], [2.0], [7.0], [9.0]]), [np.array([0, 0, 1, 1])]).ravel()
    array([-1.,  1., -1.,  1.])
    """
    indicators = [np.ones((len(X), 1))]
    for labels in known:
        indicators.append((labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64))
    H = np.hstack(indicators)
    effects, *_ = np.linalg.lstsq(H, X, rcond=None)
    return np.asarray(X - H @ effects)


class Start(NamedTuple):
    """Clusters that the known ones don't explain, and what the limits left of them."""

    wished: IntArray
    placed: Placed | None


def best_start(
    X: FloatArray, known: list[IntArray], starts: list[Start], tolerance: float
) -> Start:
    """The start with the largest DQ among those that keep the limits and are as compact as any.

    DQ alone would split off single rows: compact clusters come first.
    """
    if len(starts) == 1:
        return starts[0]
    placed = [each.placed for each in starts if each.placed is not None]
    over = np.array([max(each.excess - tolerance, 0.0) for each in placed])
    inertias = np.where(over == over.min(), [each.inertia for each in placed], np.inf)
    scores = [
        dq_measure(X, known, each.labels, separation="to_centroid").dq
        if inertia <= AS_COMPACT * inertias.min()
        else -1.0
        for each, inertia in zip(placed, inertias, strict=True)
    ]
    return starts[int(np.argmax(scores))]
