"""Elastic nets of many rows, each over its own set of rows, by coordinate descent."""

from __future__ import annotations

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray

__all__ = ["elastic_net"]


@compiled("_elastic_net")
def elastic_net(
    U: FloatArray,
    Y: FloatArray,
    columns: IndexArray,
    values: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    sweeps: int,
    precision: float,
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``|y - c U|^2 / 2 + l1 |c|_1 + l2 |c|^2 / 2`` for every row y of ``Y``.

    Parameters
    ----------
    U : (m, p) array
        Rows of length 1.
    Y : (b, p) array
    columns : (b, s) array
        Rows of ``U`` that each row of ``Y`` may use. One that stands there twice is harmless if
        its later value is 0, since what it could explain is explained.
    values : (b, s) array
        Coefficients to start from.
    l1, l2 : (b,) arrays
    sweeps : int
        Rounds over all columns, at most; between them the coefficients that are not 0 take turns.
    precision : float
        A solution ends when no coefficient changes by more than this share of the largest.

    Returns
    -------
    coefficients : (b, s) array
    left : (b, p) array
        What they leave of ``Y``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.selfexpression.elastic_net import elastic_net
    >>> U, y = np.eye(2), np.array([[0.8, 0.1]])
    >>> net, one = np.array([[0, 1]]), np.ones(1)
    >>> elastic_net(U, y, net, np.zeros((1, 2)), 0.2 * one, 0.5 * one, 10, 1e-9)[0].round(6)
    array([[0.4, 0. ]])
    """
    coefficients, left = np.array(values, np.float64), np.array(Y, np.float64)
    for row in range(len(Y)):
        c, r = coefficients[row], left[row]
        atoms = U[columns[row]]
        r -= c @ atoms
        every = range(len(c))
        for _ in range(sweeps):
            if _sweep(c, r, atoms, every, l1[row], l2[row]) <= precision * np.abs(c).max():
                break
            inside = np.flatnonzero(c)
            for _ in range(sweeps):
                change = _sweep(c, r, atoms, inside, l1[row], l2[row])
                if change <= precision * np.abs(c).max():
                    break
    return coefficients, left


def _sweep(c: FloatArray, r: FloatArray, atoms: FloatArray, turns: object, *price: float) -> float:
    l1, l2 = price
    largest = 0.0
    for j in turns:  # type: ignore[attr-defined]
        old = c[j]
        fit = atoms[j] @ r + old
        new = np.sign(fit) * max(abs(fit) - l1, 0.0) / (1.0 + l2)
        if new != old:
            r -= (new - old) * atoms[j]
            c[j] = new
            largest = max(largest, abs(new - old))
    return largest
