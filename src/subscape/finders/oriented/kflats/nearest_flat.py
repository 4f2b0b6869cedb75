"""The nearest of several affine flats, for every row of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray

__all__ = ["FlatRuler", "NearestFlat", "nearest_by_products"]


#: Products with a multiple of so many columns run at full speed.
ALIGNED = 8


class NearestFlat(NamedTuple):
    """The nearest flat of each row, the first of several, and how far it is."""

    labels: NDArray[np.int32]
    """(n,) flats."""
    distances: FloatArray
    """(n,) squared distances."""


class FlatRuler:
    """Measures how far rows are from flats, block after block.

    ‖x − c‖² − ‖Uᵀ(x − c)‖²; the rows should be centred, so that little cancels.

    Parameters
    ----------
    centres : (k, p) array
        A point on each flat.
    bases : sequence of k (p, d) arrays
        Orthonormal directions of each flat.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.kflats.nearest_flat import FlatRuler
    >>> ruler = FlatRuler(np.array([[0.0, 0.0], [5.0, 5.0]]), [np.eye(2, 1), np.zeros((2, 0))])
    >>> found = ruler.nearest(np.array([[9.0, 1.0], [5.0, 4.0]]))
    >>> found.labels, found.distances
    (array([0, 1], dtype=int32), array([1., 1.]))
    """

    def __init__(self, centres: FloatArray, bases: Sequence[FloatArray]) -> None:
        directions = np.hstack(bases)
        used = len(centres) + directions.shape[1]
        self._by = np.zeros((centres.shape[1], -(-used // ALIGNED) * ALIGNED))
        self._by[:, : len(centres)] = centres.T
        self._by[:, len(centres) : used] = directions
        self._starts = np.cumsum([len(centres), *(basis.shape[1] for basis in bases)])
        self._squares = np.einsum("ij,ij->i", centres, centres)
        along = [centre @ basis for centre, basis in zip(centres, bases, strict=True)]
        self._along = np.concatenate([np.zeros(len(centres)), *along])
        self._room = np.empty((0, self._by.shape[1]))

    def nearest(self, X: FloatArray) -> NearestFlat:
        """The nearest flat of every row."""
        if len(self._room) < len(X):
            self._room = np.empty((len(X), self._by.shape[1]))
        products = np.matmul(X, self._by, out=self._room[: len(X)])
        return nearest_by_products(X, products, self._squares, self._along, self._starts)


@compiled("_nearest_flat")
def nearest_by_products(
    X: FloatArray, products: FloatArray, squares: FloatArray, along: FloatArray, starts: IndexArray
) -> NearestFlat:
    """The nearest flat of every row, from its products with centres and directions.

    Parameters
    ----------
    X : (n, p) array
    products : (n, at least m) array
        With the k centres, then with the directions of the first flat, of the second one, ….
    squares : (k,) array
        Squared lengths of the centres.
    along : (m,) array
        Product of every direction with the centre of its flat; the first k entries are not used.
    starts : (k + 1,) array
        The first column of each flat's directions in ``products``, and the end of the last one's.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.kflats.nearest_flat import nearest_by_products
    >>> X, centre = np.array([[3.0, 4.0]]), np.array([1.0, 0.0])
    >>> products = np.column_stack([X @ centre, X[:, 1]])
    >>> nearest_by_products(X, products, np.ones(1), np.zeros(2), np.array([1, 2])).distances
    array([4.])
    """
    k = len(squares)
    apart = np.einsum("ij,ij->i", X, X)[:, None] - 2 * products[:, :k] + squares
    inside = np.square(products[:, k : len(along)] - along[k:])
    for i in range(k):
        apart[:, i] -= inside[:, starts[i] - k : starts[i + 1] - k].sum(axis=1)
    labels = apart.argmin(axis=1)
    distances = np.maximum(apart[np.arange(len(X)), labels], 0.0)
    return NearestFlat(labels.astype(np.int32), distances)
