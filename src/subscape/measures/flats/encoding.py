"""A clustering as a code: rows become coordinates on the flats of their clusters, and come back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.types import FloatArray, IndexArray

from .fitting import numbers
from .reconstruction import FlatDims, fitted_parts


class EncodedCluster(NamedTuple):
    """One cluster as coordinates on its flat.

    Attributes
    ----------
    rows : array of shape (m,)
        Positions of its rows in the table.
    memberships : array of shape (m,) or None
        None where all of them are 1.
    origin : array of shape (n_features,)
        Mean of the cluster (O).
    basis : array of shape (d, n_features) or None
        Orthonormal directions of the flat (Γ); fewer than its dimension where so many rows span
        fewer. None where the flat is spanned by features.
    features : array of shape (d,) or None
        The features that span the flat.
    coordinates : array of shape (m, d)
        The rows on the flat, seen from the origin (M).

    See Also
    --------
    encode : Makes them.
    """

    rows: NDArray[np.int32]
    memberships: FloatArray | None
    origin: FloatArray
    basis: FloatArray | None
    features: IndexArray | None
    coordinates: FloatArray

    def reconstruction(self) -> FloatArray:
        """The rows as the flat has them, (m, n_features).

        Returns
        -------
        array of shape (m, n_features)
        """
        if self.basis is not None:
            return np.asarray(self.coordinates @ self.basis + self.origin)
        result = np.tile(self.origin, (len(self.rows), 1))
        if self.features is not None:
            result[:, self.features] += self.coordinates
        return result

    @property
    def n_numbers(self) -> int:
        """How many numbers are kept."""
        kept = self.origin.size + self.coordinates.size
        for array in (self.basis, self.features, self.memberships):
            kept += 0 if array is None else array.size
        return int(kept)


class EncodedTable(NamedTuple):
    """A table as the flats of a clustering have it: a piecewise linear approximation.

    Attributes
    ----------
    clusters : tuple of EncodedCluster
        Where some rows are noise, they are the last: a flat of dimension 0, their mean.
    shape : (int, int)
        Rows and features of the table.

    See Also
    --------
    encode : Makes it.
    decode : Makes a table of it again.
    """

    clusters: tuple[EncodedCluster, ...]
    shape: tuple[int, int]

    @property
    def n_numbers(self) -> int:
        """How many numbers are kept, one label per row included."""
        return sum(cluster.n_numbers for cluster in self.clusters) + self.shape[0]

    @property
    def ratio(self) -> float:
        """Numbers kept over numbers in the table: below 1 the table was compressed."""
        return self.n_numbers / (self.shape[0] * self.shape[1])


def encode(X: ArrayLike, clustering: Any, flat_dims: FlatDims = None) -> EncodedTable:
    """Replace every row by its coordinates on the flat of its cluster.

    Definitions 2 and 3 of [1]_: origin, main directions and coordinates of each cluster, together a
    piecewise linear approximation of the table; :func:`decode` makes a table of it again. What is
    lost on the way is the loss of :func:`sre`.

    Parameters
    ----------
    X, clustering, flat_dims
        As in :func:`sre`. Rows in no cluster are kept as their mean.

    Returns
    -------
    EncodedTable

    See Also
    --------
    decode : The way back.
    description_length : The number of bits.

    References
    ----------
    .. [1] D. Kazempour, A. Beer, P. Kröger, T. Seidl, "I fold you so! An internal evaluation
       measure for arbitrary oriented subspace clustering", LMU Munich, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import decode, encode
    >>> X, truth = planted_oriented(10, ((1, 100), (2, 100)), noise=0, random_state=0)
    >>> small = encode(X, truth)
    >>> round(small.ratio, 2)
    0.28
    >>> bool(np.abs(decode(small) - X).max() < 0.03)
    True
    """
    table = numbers(X, "encode")
    clusters = []
    for part, flat in fitted_parts(X, table, clustering, flat_dims, "encode"):
        rows = table.take(part.rows, axis=0).astype(np.float64) - flat.moments.mean
        if flat.features is not None:
            basis, coordinates = None, rows[:, flat.features]
        else:
            basis, coordinates = np.ascontiguousarray(flat.basis.T), rows @ flat.basis
        clusters.append(
            EncodedCluster(
                part.rows,
                part.memberships,
                flat.moments.mean,
                basis,
                flat.features,
                coordinates,
            )
        )
    return EncodedTable(tuple(clusters), (table.shape[0], table.shape[1]))


def decode(encoded: EncodedTable) -> FloatArray:
    """Make a table of coordinates on flats (definition 4 of the paper; see :func:`encode`).

    Parameters
    ----------
    encoded : EncodedTable

    Returns
    -------
    array of shape (n_rows, n_features)
        Every row as the flat of its cluster has it; a row in several clusters as the mean of what
        they make of it, weighted by its memberships.

    See Also
    --------
    encode : The way there.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.measures import decode, encode
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [9.0, 5.0]])
    >>> decode(encode(X, [0, 0, 0, 1], flat_dims=1)).round(6) + 0.0
    array([[0., 0.],
           [1., 1.],
           [2., 2.],
           [9., 5.]])
    """
    table, weights = np.zeros(encoded.shape), np.zeros(encoded.shape[0])
    for cluster in encoded.clusters:
        part = cluster.reconstruction()
        if cluster.memberships is None:
            table[cluster.rows] += part
            weights[cluster.rows] += 1.0
        else:
            table[cluster.rows] += part * cluster.memberships[:, None]
            weights[cluster.rows] += cluster.memberships
    return np.asarray(table / weights[:, None])
