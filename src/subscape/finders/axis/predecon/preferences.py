"""Rows within a radius, how they deviate feature by feature, and who stays near when that counts.

Neighbours of consecutive rows are stored one after the other: those of row ``start + i`` are
``indices[indptr[i]:indptr[i + 1]]``, in ascending order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IntArray

__all__ = ["Neighbours", "mutual_distances", "neighbour_blocks", "squared_deviations"]


#: Distances that are held at a time.
BLOCK = 4_000_000


class Neighbours(NamedTuple):
    """The neighbours of some consecutive rows."""

    start: int
    """The first of the rows."""
    indptr: IntArray
    indices: IntArray

    @property
    def counts(self) -> IntArray:
        return np.diff(self.indptr)


def neighbour_blocks(X: FloatArray, radius: float, axis: int) -> Iterator[Neighbours]:
    """Find all rows within a Euclidean distance of each row, block by block.

    Distances come from matrix products; those that rounding might have put on the wrong side are
    computed again, so that the result does not depend on the linear algebra in use.

    Parameters
    ----------
    X : (n, p) array
        Centred, so that products lose few digits, and sorted by the column ``axis``.
    radius : float
    axis : int
        Rows that are farther apart than the radius in this column are not looked at.

    Yields
    ------
    Neighbours
        Every row is its own neighbour, too.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.predecon.preferences import neighbour_blocks
    >>> X = np.array([[-1.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.5, 3.0]])
    >>> block, = neighbour_blocks(X, 1.0, 0)
    >>> block.indptr, block.indices
    (array([0, 2, 5, 7, 8]), array([0, 1, 0, 1, 2, 1, 2, 3]))
    """
    n, p = X.shape
    limit = radius * radius
    norms = np.einsum("ij,ij->i", X, X)
    doubtful = 16 * (p + 4) * np.finfo(float).eps * (2 * norms.max() + limit)
    along = X[:, axis]
    # A little wider than the radius: the sum of squares decides, not this difference.
    reach = radius * (1 + 1e-9)
    start = 0
    while start < n:
        stop = min(n, start + max(1, BLOCK // n))
        first = int(np.searchsorted(along, along[start] - reach, side="left"))
        last = int(np.searchsorted(along, along[stop - 1] + reach, side="right"))
        width = last - first
        excess = X[start:stop] @ X[first:last].T
        excess *= -2.0
        excess += norms[start:stop, None] - limit
        excess += norms[first:last]
        near = (excess <= 0.0).ravel()
        np.abs(excess, out=excess)
        unsure = np.flatnonzero(excess.ravel() <= doubtful)
        if len(unsure):
            away = _ordered_sum(X[start + unsure // width], X[first + unsure % width], None)
            near[unsure] = away <= limit
        found = np.flatnonzero(near)
        indptr = np.searchsorted(found, np.arange(stop - start + 1) * width).astype(np.int64)
        found %= width
        found += first
        yield Neighbours(start, indptr, found.astype(np.int64, copy=False))
        start = stop


def _ordered_sum(a: FloatArray, b: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Sums of (weighted) squared differences, added up in the order of the features."""
    total = np.zeros(len(a))
    for j in range(a.shape[1]):
        squares = np.square(a[:, j] - b[:, j])
        total += squares if weights is None else weights[:, j] * squares
    return total


@compiled("_preferences")
def squared_deviations(
    X: FloatArray, start: int, indptr: IntArray, indices: IntArray
) -> FloatArray:
    """Add up, per feature, the squared differences of rows from their neighbours.

    Parameters
    ----------
    X : (n, p) array
    start : int
        The first of the rows.
    indptr, indices : arrays of int
        Their neighbours.

    Returns
    -------
    (m, p) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.predecon.preferences import squared_deviations
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 0.0]])
    >>> squared_deviations(X, 0, np.array([0, 3]), np.array([0, 1, 2]))
    array([[10.,  4.]])
    """
    sums = np.zeros((len(indptr) - 1, X.shape[1]))
    for i in range(len(sums)):
        near = indices[indptr[i] : indptr[i + 1]]
        sums[i] = np.square(X[near] - X[start + i]).sum(axis=0)
    return sums


@compiled("_preferences")
def mutual_distances(
    X: FloatArray,
    preferred: BoolArray,
    weight: float,
    radius: float,
    start: int,
    indptr: IntArray,
    indices: IntArray,
) -> FloatArray:
    """Measure the distance to each neighbour where preferred features count more.

    The squared distance from a row weighs the features it prefers by ``weight`` and all others by
    1; of the two distances, from the one row and from the other, the larger counts.

    Parameters
    ----------
    X : (n, p) array
    preferred : (n, p) array of bool
    weight : float
        At least 1.
    radius : float
    start : int
    indptr, indices : arrays of int
        Neighbours of the rows.

    Returns
    -------
    (t,) array
        One squared distance per neighbour; infinite where it exceeds the squared radius.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.predecon.preferences import mutual_distances
    >>> X = np.array([[0.0, 0.0], [0.1, 0.8], [0.8, 0.1]])
    >>> preferred = np.tile([True, False], (3, 1))
    >>> mutual_distances(X, preferred, 10.0, 1.0, 0, np.array([0, 3]), np.arange(3)).round(2)
    array([0.  , 0.74,  inf])
    """
    limit = radius * radius
    weights = np.where(preferred, weight, 1.0)
    result = np.empty(len(indices))
    owner = np.repeat(np.arange(len(indptr) - 1) + start, np.diff(indptr))
    size = max(1, BLOCK // max(1, X.shape[1]))
    for begin in range(0, len(indices), size):
        part = slice(begin, begin + size)
        a, b = owner[part], indices[part]
        result[part] = np.maximum(
            _ordered_sum(X[a], X[b], weights[a]), _ordered_sum(X[a], X[b], weights[b])
        )
    result[result > limit] = np.inf
    return result
