"""The rows of each group side by side, so that one product per group gives its scatter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray

__all__ = ["Gathered", "Scatter", "add_scatter", "gather"]


class Gathered(NamedTuple):
    """Rows by groups, as differences to the centre of their group."""

    rows: FloatArray
    """(m, p) the rows of group 0, then those of group 1, …, each in their order."""
    counts: IndexArray
    """(k,) rows per group; they sum to m."""
    sums: FloatArray
    """(k, p) sums of the differences."""


class Scatter(NamedTuple):
    """Sums over the rows of each group of their differences to its centre."""

    counts: IndexArray
    """(k,) rows per group."""
    sums: FloatArray
    """(k, p) sums of the differences."""
    products: FloatArray
    """(k, p, p) sums of their products."""

    @classmethod
    def nothing(cls, k: int, p: int) -> Scatter:
        """Of no rows."""
        return cls(np.zeros(k, np.intp), np.zeros((k, p)), np.zeros((k, p, p)))


@compiled("_gathering")
def gather(
    X: FloatArray, labels: NDArray[np.int32], centres: FloatArray, room: FloatArray
) -> Gathered:
    """Write the rows of each group, less its centre, side by side.

    Parameters
    ----------
    X : (n, p) array
    labels : (n,) array
        Groups ``0 .. k-1``; rows with a negative label are left out.
    centres : (k, p) array
    room : (at least n, p) array
        Memory that is written to; fresh memory would cost more than what is done here.

    Returns
    -------
    Gathered
        Its rows are the first of ``room``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.kflats.gathering import gather
    >>> X, labels = np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1], np.int32)
    >>> found = gather(X, labels, np.array([[2.0], [0.0]]), np.empty((3, 1)))
    >>> found.rows.ravel(), found.counts, found.sums.ravel()
    (array([0., 1., 4.]), array([1, 2]), array([0., 5.]))
    """
    counts = np.bincount(labels[labels >= 0], minlength=len(centres))
    order = np.argsort(labels, kind="stable")[len(labels) - counts.sum() :]
    rows = room[: len(order)]
    np.subtract(X[order], centres[labels[order]], out=rows)
    groups = np.split(rows, np.cumsum(counts)[:-1])
    return Gathered(rows, counts, np.array([group.sum(axis=0) for group in groups]))


def add_scatter(
    total: Scatter,
    X: FloatArray,
    labels: NDArray[np.int32],
    centres: FloatArray,
    room: FloatArray,
    sign: int = 1,
) -> None:
    """Add the scatter of the rows of each group to ``total``, or take it away (``sign=-1``).

    The other parameters are those of :func:`gather`.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.kflats.gathering import Scatter, add_scatter
    >>> total = Scatter.nothing(2, 1)
    >>> X, labels = np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1], np.int32)
    >>> add_scatter(total, X, labels, np.zeros((2, 1)), np.empty((3, 1)))
    >>> total.counts, total.products.ravel()
    (array([1, 2]), array([ 4., 17.]))
    """
    found = gather(X, labels, centres, room)
    add = np.add if sign > 0 else np.subtract
    add(total.counts, found.counts, out=total.counts)
    add(total.sums, found.sums, out=total.sums)
    end = 0
    for k, count in enumerate(found.counts):
        start, end = end, end + int(count)
        if count:
            product = found.rows[start:end].T @ found.rows[start:end]
            add(total.products[k], product, out=total.products[k])
