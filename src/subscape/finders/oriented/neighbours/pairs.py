"""Pairs of close rows: find them, their neighbourhoods' covariances, the groups they connect.

Pairs are (t, 2) arrays of int32, each pair once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IndexArray

__all__ = [
    "close_pairs",
    "connect_pairs",
    "local_covariances",
    "pair_covariances",
    "pairs_on_flats",
]

Pairs = NDArray[np.int32]

#: Pairs that the NumPy versions look at in one go.
BLOCK = 20_000


@compiled("_pairs")
def close_pairs(
    X: FloatArray, starts: IndexArray, stops: IndexArray, radius: float, most: int
) -> Pairs:
    """Find the pairs of rows that are at most ``radius`` apart, among candidates.

    Parameters
    ----------
    X : (n, p) array
        Rows; distances are summed column by column, so the widest columns should come first.
    starts, stops : (n, r) array
        Ranges of rows that may be close to each row; only later rows are tried.
    radius : float
    most : int
        The search ends when more pairs than this were found.

    Returns
    -------
    (t, 2) array of int32
        At most ``most + 1`` pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.neighbours.pairs import close_pairs
    >>> X = np.array([[0.0], [1.0], [1.5], [9.0]])
    >>> close_pairs(X, np.zeros((4, 1), np.intp), np.full((4, 1), 4), 1.0, 10)
    array([[0, 1],
           [1, 2]], dtype=int32)
    """
    found, total = [np.zeros((0, 2), np.int32)], 0
    for i in range(len(X)):
        for start, stop in zip(starts[i], stops[i], strict=True):
            others = np.arange(max(start, i + 1), stop)
            near = others[np.square(X[others] - X[i]).sum(axis=1) <= radius * radius]
            found.append(np.stack([np.full(len(near), i), near], axis=1).astype(np.int32))
            total += len(near)
        if total > most:
            break
    return np.concatenate(found)[: most + 1]


@compiled("_pairs")
def pair_covariances(X: FloatArray, pairs: Pairs) -> FloatArray:
    """Covariance (with 1 / n) of each row's neighbourhood: the row and all it makes a pair with.

    Coordinates are taken relative to the row in the middle, so that no digits are lost where
    neighbourhoods are small and far from the origin.

    Parameters
    ----------
    X : (n, p) array
    pairs : (t, 2) array of int32

    Returns
    -------
    (n, p, p) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.neighbours.pairs import pair_covariances
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [7.0, 3.0]])
    >>> pair_covariances(X, np.array([[0, 1]], np.int32))[:2].tolist()
    [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]
    """
    n, p = X.shape
    counts = 1.0 + np.bincount(pairs.ravel(), minlength=n)
    sums, products = np.zeros((n, p)), np.zeros((n, p, p))
    for start in range(0, len(pairs), BLOCK):
        i, j = pairs[start : start + BLOCK].T
        away = X[j] - X[i]
        outer = away[:, :, None] * away[:, None, :]
        np.add.at(sums, i, away)
        np.subtract.at(sums, j, away)
        np.add.at(products, i, outer)
        np.add.at(products, j, outer)
    means = sums / counts[:, None]
    return products / counts[:, None, None] - means[:, :, None] * means[:, None, :]


@compiled("_pairs")
def local_covariances(X: FloatArray, neighbours: IndexArray) -> FloatArray:
    """Covariance (with 1 / k) of the k neighbours of each row, around their own mean.

    Parameters
    ----------
    X : (n, p) array
    neighbours : (m, k) array
        Rows; the first of each line is the origin of the coordinates in which sums are taken.

    Returns
    -------
    (m, p, p) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.neighbours.pairs import local_covariances
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 3.0]])
    >>> local_covariances(X, np.array([[0, 1]])).tolist()
    [[[1.0, 0.0], [0.0, 0.0]]]
    """
    m, k = neighbours.shape
    result = np.empty((m, X.shape[1], X.shape[1]))
    size = max(1, BLOCK // k)
    for start in range(0, m, size):
        near = neighbours[start : start + size]
        away = X[near] - X[near[:, :1]]
        away -= away.mean(axis=1, keepdims=True)
        result[start : start + size] = away.transpose(0, 2, 1) @ away / k
    return result


@compiled("_pairs")
def pairs_on_flats(
    X: FloatArray, pairs: Pairs, axes: FloatArray, strong: IndexArray, kappa: float, radius: float
) -> BoolArray:
    """Tell which pairs stay close, from both ends, when steps across the flats count more.

    Each row has a flat through it, along its strong directions. The squared distance of a step v
    is |v|² + (kappa − 1) |across(v)|², where across(v) is what the flat leaves out; the larger of
    the two rows' distances counts.

    Parameters
    ----------
    X : (n, p) array
    pairs : (t, 2) array of int32
    axes : (n, p, p) array
        Orthonormal directions of each row, one per line, the strong ones last.
    strong : (n,) array
        How many of them are strong.
    kappa, radius : float

    Returns
    -------
    (t,) array of bool

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.neighbours.pairs import pairs_on_flats
    >>> X = np.array([[0.0, 0.0], [0.9, 0.0], [0.0, 0.9]])
    >>> axes = np.tile(np.eye(2)[::-1], (3, 1, 1))
    >>> pairs_on_flats(X, np.array([[0, 1], [0, 2]], np.int32), axes, np.ones(3, np.intp), 50, 1.0)
    array([ True, False])
    """
    p = X.shape[1]
    result = np.empty(len(pairs), bool)
    for start in range(0, len(pairs), BLOCK):
        block = slice(start, start + BLOCK)
        away = X[pairs[block, 1]] - X[pairs[block, 0]]
        far = np.zeros(len(away))
        for rows in pairs[block].T:
            squares = np.square(np.einsum("tj,tij->ti", away, axes[rows]))
            weak = np.arange(p) < p - strong[rows][:, None]
            far = np.maximum(far, (squares * np.where(weak, kappa, 1.0)).sum(axis=1))
        result[block] = far <= radius * radius
    return result


@compiled("_pairs")
def connect_pairs(pairs: Pairs, core: BoolArray) -> IndexArray:
    """Group core rows that pairs connect; every other row joins the first core row it pairs with.

    Parameters
    ----------
    pairs : (t, 2) array of int32
    core : (n,) array of bool

    Returns
    -------
    (n,) array of int
        Groups, numbered by their first core rows, -1 for rows without any.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.neighbours.pairs import connect_pairs
    >>> pairs = np.array([[0, 1], [1, 4], [2, 3]], np.int32)
    >>> connect_pairs(pairs, np.array([False, True, False, False, True]))
    array([ 0,  0, -1, -1,  0])
    """
    n = len(core)
    i, j = pairs.T.astype(np.intp)
    inner = core[i] & core[j]
    # Every core row takes the smallest name among itself and its partners until names are stable.
    name = np.arange(n)
    while True:
        before = name.copy()
        np.minimum.at(name, i[inner], name[j[inner]])
        np.minimum.at(name, j[inner], name[i[inner]])
        name = name[name]
        if np.array_equal(name, before):
            break
    labels = np.full(n, -1, np.intp)
    if core.any():
        labels[core] = np.unique(name[core], return_inverse=True)[1]
    host = np.full(n, n)
    np.minimum.at(host, i[core[j] & ~core[i]], j[core[j] & ~core[i]])
    np.minimum.at(host, j[core[i] & ~core[j]], i[core[i] & ~core[j]])
    guests = np.flatnonzero(host < n)
    labels[guests] = labels[host[guests]]
    return labels
