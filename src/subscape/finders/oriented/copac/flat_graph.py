"""Rows that lie on each other's flats: how many there are, and the groups they form.

Every row has a flat through it, given by the directions ``across`` it and, where these matter,
those ``along`` it. Two rows are mutual if each lies within ``radius`` of the other's flat, however
far along it, and if no direction of one flat leaves the other by more than ``turn``: the squared
sine of the angle between them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IndexArray

__all__ = ["count_mutual", "grow_mutual"]


#: Numbers that the NumPy versions hold at a time.
BLOCK = 4_000_000


@compiled("_flat_graph")
def count_mutual(
    X: FloatArray,
    across: FloatArray,
    along: FloatArray,
    rows: IndexArray,
    order: IndexArray,
    radius: float,
    turn: float,
    enough: int,
) -> IndexArray:
    """Count the mutual rows of each row, itself included, up to ``enough``.

    Parameters
    ----------
    X : (n, p) array
    across : (n, c, p) array
        Orthonormal directions across the flat of each row, the most telling first.
    along : (n, d, p) array
        Orthonormal directions of the flat of each row, d = p - c; none (d = 0) if they need not
        agree.
    rows : (m,) array
        The rows to count for.
    order : (n,) array
        All rows, in the order in which they are tried; the counts do not depend on it, but a
        shuffled one gets to ``enough`` sooner where equal rows lie side by side.
    radius, turn : float
    enough : int
        Counting stops here.

    Returns
    -------
    (m,) array of int

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.copac.flat_graph import count_mutual
    >>> X = np.array([[0.0, 0.0], [5.0, 0.1], [0.0, 3.0]])
    >>> across = np.tile([0.0, 1.0], (3, 1, 1))
    >>> count_mutual(X, across, across[:, :0], np.arange(3), np.arange(3), 0.5, 1.0, 10)
    array([2, 2, 1])
    """
    blocks = _mutual_blocks(X, across, along, rows, radius, turn)
    counts = [mutual.sum(axis=1) for _, mutual in blocks]
    return np.minimum(np.concatenate([np.zeros(0, np.intp), *counts]), enough).astype(np.intp)


@compiled("_flat_graph")
def grow_mutual(
    X: FloatArray,
    across: FloatArray,
    along: FloatArray,
    core: BoolArray,
    radius: float,
    turn: float,
) -> IndexArray:
    """Group core rows that mutual pairs connect; other rows join a core row they are mutual with.

    Parameters
    ----------
    X : (n, p) array
    across : (n, c, p) array
        Orthonormal directions across the flat of each row.
    along : (n, d, p) array
        Orthonormal directions of the flat of each row, d = p - c; none (d = 0) if they need not
        agree.
    core : (n,) array of bool
    radius, turn : float

    Returns
    -------
    (n,) array of int
        Groups, numbered by their first core rows; a row that is no core row gets the group of the
        first core row it is mutual with, -1 if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.copac.flat_graph import grow_mutual
    >>> X = np.array([[0.0, 0.0], [5.0, 0.1], [0.0, 3.0]])
    >>> across = np.tile([0.0, 1.0], (3, 1, 1))
    >>> grow_mutual(X, across, across[:, :0], np.array([False, True, False]), 0.5, 1.0)
    array([ 0,  0, -1])
    """
    labels = np.full(len(X), -1, np.intp)
    cores = np.flatnonzero(core)
    if not len(cores):
        return labels
    # Sets of connected cores, joined whenever a row of the adjacency touches several.
    parent = np.arange(len(cores))
    for rows, mutual in _mutual_blocks(X, across, along, cores, radius, turn):
        for i, touched in zip(np.searchsorted(cores, rows), mutual[:, cores], strict=True):
            sets = np.unique(parent[touched | (np.arange(len(cores)) == i)])
            parent[np.isin(parent, sets)] = sets[0]
    labels[cores] = np.unique(parent, return_inverse=True)[1]
    others = np.flatnonzero(~core)
    for rows, mutual in _mutual_blocks(X, across, along, others, radius, turn):
        touched = mutual[:, cores]
        some = touched.any(axis=1)
        labels[rows[some]] = labels[cores[touched[some].argmax(axis=1)]]
    return labels


def _mutual_blocks(
    X: FloatArray,
    across: FloatArray,
    along: FloatArray,
    rows: IndexArray,
    radius: float,
    turn: float,
) -> Iterator[tuple[IndexArray, BoolArray]]:
    """Pairs (some of the rows, which of all rows they are mutual with)."""
    (n, c, p), d = across.shape, along.shape[1]
    height = np.einsum("ncp,np->nc", across, X)
    size = max(1, BLOCK // max(1, n * max(c, d * d)))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        there = X @ across[part].reshape(-1, p).T
        there = there.reshape(n, len(part), c) - height[part]
        back = (across.reshape(-1, p) @ X[part].T).reshape(n, c, len(part)) - height[:, :, None]
        farthest = np.maximum(np.square(there).sum(axis=2), np.square(back).sum(axis=1))
        mutual = farthest <= radius * radius
        if d and turn < 1:
            cosines = along.reshape(-1, p) @ along[part].reshape(-1, p).T
            inside = np.square(cosines).reshape(n, d, len(part), d)
            # The direction that fits worst decides.
            mutual &= 1 - inside.sum(axis=3).min(axis=1) <= turn
            mutual &= 1 - inside.sum(axis=1).min(axis=2) <= turn
        yield part, mutual.T
