"""The rows of each group side by side, so that one product per group gives its scatter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray

__all__ = [
    "Gathered",
    "Scatter",
    "ScatterChanges",
    "ScatterPart",
    "add_scatter",
    "gather",
    "scatter_part",
]


class Gathered(NamedTuple):
    """Rows by groups, as differences to the centre of their group."""

    rows: FloatArray
    """(m, p) the rows of group 0, then those of group 1, …, each in their order."""
    counts: IndexArray
    """(k,) rows per group; they sum to m."""
    sums: FloatArray
    """(k, p) sums of the differences."""


class Scatter:
    """Sums over the rows of each group of their differences to its centre.

    Attributes
    ----------
    counts : (k,) array
        Rows per group.
    sums : (k, p) array
        Sums of the differences.
    products : (k, p, p) array
        Sums of their products.
    n_changed : int
        Rows that were counted as changed on the way.
    """

    def __init__(
        self, counts: IndexArray, sums: FloatArray, products: FloatArray, n_changed: int = 0
    ) -> None:
        self.counts, self.sums, self.products = counts, sums, products
        self.n_changed = n_changed

    @classmethod
    def nothing(cls, k: int, p: int) -> Scatter:
        """Of no rows."""
        return cls(np.zeros(k, np.intp), np.zeros((k, p)), np.zeros((k, p, p)))

    def fresh(self) -> Scatter:
        """A copy."""
        arrays = self.counts.copy(), self.sums.copy(), self.products.copy()
        return Scatter(*arrays, self.n_changed)

    def __add__(self, changes: ScatterChanges) -> Scatter:
        """Take up what a block changes, in place: sums of products are large."""
        for part in changes.parts:
            add = np.add if part.sign > 0 else np.subtract
            add(self.counts, part.counts, out=self.counts)
            add(self.sums, part.sums, out=self.sums)
            for k, product in part.products:
                add(self.products[k], product, out=self.products[k])
        self.n_changed += changes.n_changed
        return self


class ScatterPart(NamedTuple):
    """The scatter of the rows of one block."""

    counts: IndexArray
    sums: FloatArray
    products: list[tuple[int, FloatArray]]
    """Of the groups that have rows there."""
    sign: int
    """-1 where it is to be taken away."""


class ScatterChanges(NamedTuple):
    """What a block adds to a :class:`Scatter` and takes away from it."""

    parts: tuple[ScatterPart, ...]
    n_changed: int


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
    total + ScatterChanges((scatter_part(X, labels, centres, room, sign),), 0)


def scatter_part(
    X: FloatArray,
    labels: NDArray[np.int32],
    centres: FloatArray,
    room: FloatArray,
    sign: int = 1,
) -> ScatterPart:
    """The scatter of the rows of each group; the parameters are those of :func:`gather`."""
    found = gather(X, labels, centres, room)
    products, end = [], 0
    for k, count in enumerate(found.counts):
        start, end = end, end + int(count)
        if count:
            products.append((k, found.rows[start:end].T @ found.rows[start:end]))
    return ScatterPart(found.counts, found.sums, products, sign)
