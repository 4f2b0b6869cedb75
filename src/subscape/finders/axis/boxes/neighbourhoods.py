"""Rows within a distance of one row, feature by feature, as packed sets.

The rows near a row in one feature are a run of that feature's sorted order. Sets of the first 64,
128, ... rows of each order are stored, so that a run is the difference of two of them and a few
bits more, instead of a comparison with every row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.arrays.bitsets import pack
from subscape.core.types import BitArray, FloatArray, IntArray

__all__ = ["SortedFeatures", "run_sets", "sort_features"]

#: Rows from one stored set to the next.
STEP = 64


class SortedFeatures(NamedTuple):
    """The rows in the order of each feature."""

    order: IntArray
    """(p, n): the rows by value."""
    first: IntArray
    """(n, p): where in the order the rows near each row begin."""
    last: IntArray
    """(n, p): where they end, plus one."""
    prefixes: BitArray
    """(p, n // STEP + 1, w): packed sets of the first 0, 64, 128, ... rows of each order."""


def sort_features(X: FloatArray, radius: float) -> SortedFeatures:
    """Sort every feature and find for every row the run of rows within the radius.

    Parameters
    ----------
    X : (n, p) array
    radius : float

    Returns
    -------
    SortedFeatures

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.neighbourhoods import run_sets, sort_features
    >>> X = np.array([[0.0], [0.3], [0.1]])
    >>> ordered = sort_features(X, 0.15)
    >>> ordered.order, (ordered.last - ordered.first).ravel()
    (array([[0, 2, 1]]), array([2, 1, 2]))
    """
    n, p = X.shape
    order = np.argsort(X.T, axis=1, kind="stable").astype(np.int64)
    first, last = np.empty((n, p), np.int64), np.empty((n, p), np.int64)
    prefixes = np.empty((p, n // STEP + 1, -(-n // 64)), np.uint64)
    stops = np.arange(n // STEP + 1) * STEP
    for j in range(p):
        values = X[order[j], j]
        # Differences decide, as they do elsewhere: x - radius would round otherwise.
        first[:, j] = _first_within(values, X[:, j], radius)
        last[:, j] = n - _first_within(-values[::-1], -X[:, j], radius)
        rank = np.empty(n, np.int64)
        rank[order[j]] = np.arange(n)
        for b, stop in enumerate(stops):
            prefixes[j, b] = pack(rank < stop)
    return SortedFeatures(order, first, last, prefixes)


def _first_within(values: FloatArray, of: FloatArray, radius: float) -> IntArray:
    """First of the ascending values that are at most ``radius`` below each of ``of``."""
    place = np.searchsorted(values, of - radius, side="left")
    last = len(values) - 1
    while True:
        lower = (place > 0) & (of - values[np.maximum(place - 1, 0)] <= radius)
        higher = (place <= last) & (of - values[np.minimum(place, last)] > radius)
        if not (lower | higher).any():
            return place
        place = place - lower + (higher & ~lower)


@compiled("_windows")
def run_sets(
    order: IntArray,
    prefixes: BitArray,
    first: IntArray,
    last: IntArray,
) -> BitArray:
    """Pack the rows of one run per feature.

    Parameters
    ----------
    order : (p, n) array
        The rows in the order of each feature.
    prefixes : (p, n // STEP + 1, w) array of uint64
        Sets of the first rows of each order, from :func:`sort_features`.
    first, last : (p,) array
        Where the run begins in each order, and where it ends, plus one.

    Returns
    -------
    (p, w) array of uint64

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.neighbourhoods import run_sets, sort_features
    >>> X = np.array([[0.0], [0.3], [0.1]])
    >>> ordered = sort_features(X, 0.15)
    >>> run_sets(ordered.order, ordered.prefixes, ordered.first[0], ordered.last[0])
    array([[5]], dtype=uint64)
    """
    p, n = order.shape
    inside = np.zeros((p, n), dtype=bool)
    for j in range(p):
        inside[j, order[j, first[j] : last[j]]] = True
    return pack(inside)
