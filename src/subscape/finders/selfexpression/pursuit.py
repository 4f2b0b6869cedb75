"""A step of orthogonal matching pursuit for many rows at once, and the coefficients in the end."""

from __future__ import annotations

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray

__all__ = ["bases_of_rows", "coefficients_of", "take_atoms"]

#: What is left of a row's direction, beside those chosen before, to count as another one.
DEPENDENT = 1e-9


@compiled("_pursuit")
def take_atoms(
    U: FloatArray,
    todo: IndexArray,
    best: IndexArray,
    step: int,
    tol: float,
    chosen: IndexArray,
    basis: FloatArray,
    triangle: FloatArray,
    along: FloatArray,
    left: FloatArray,
) -> IndexArray:
    """Take one more row each for some rows that are being written; what is known changes in place.

    Parameters
    ----------
    U : (m, p) array
        Rows of length 1.
    todo : (t,) array
        Which of the b rows are written further.
    best : (t,) array
        The row of ``U`` that each of them takes.
    step : int
        How many each has taken before.
    tol : float
        Rows of which no more than this is left, in squared length, are done.
    chosen : (b, most) array
        What each row has taken.
    basis : (b, most, p) array
        Orthonormal directions of that.
    triangle : (b, most, most) array
        Chosen rows in terms of the basis, one beside the other; the identity where there is none.
    along : (b, most) array
        The rows in terms of the basis.
    left : (b, p) array
        What is left of the rows.

    Returns
    -------
    array
        Which rows of ``todo`` are not done; those to which nothing could be added are done, too.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.selfexpression.pursuit import take_atoms
    >>> U, todo = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), np.array([0])
    >>> chosen, triangle = np.zeros((1, 1), np.intp), np.eye(1)[None]
    >>> basis, along, left = np.zeros((1, 1, 2)), np.zeros((1, 1)), U[1:2].copy()
    >>> best = np.array([2])
    >>> more = take_atoms(U, todo, best, 0, 0.1, chosen, basis, triangle, along, left)
    >>> more.tolist(), along.tolist(), left.tolist()
    ([0], [[0.8]], [[0.6, 0.0]])
    """
    fresh, inside, length = _beside(U, todo, best, step, basis)
    useful = length > DEPENDENT
    todo, best, inside = todo[useful], best[useful], inside[useful]
    fresh = fresh[useful] / length[useful, None]
    chosen[todo, step], basis[todo, step] = best, fresh
    triangle[todo, :step, step], triangle[todo, step, step] = inside, length[useful]
    along[todo, step] = np.einsum("tp,tp->t", fresh, left[todo])
    left[todo] -= along[todo, step, None] * fresh
    return np.asarray(todo[np.square(left[todo]).sum(axis=1) > tol])


@compiled("_pursuit")
def bases_of_rows(U: FloatArray, places: IndexArray, number: IndexArray) -> FloatArray:
    """Orthonormal directions of some rows each, one after the other; zeros for those that depend.

    Parameters
    ----------
    U : (m, p) array
        Rows of length 1.
    places : (b, most) array
        Which rows of ``U``.
    number : (b,) array
        How many of them count.

    Returns
    -------
    (b, most, p) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.selfexpression.pursuit import bases_of_rows
    >>> U = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> bases_of_rows(U, np.array([[0, 1, 0]]), np.array([2])).tolist()
    [[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]
    """
    bases = np.zeros((*places.shape, U.shape[1]))
    for step in range(places.shape[1]):
        todo = np.flatnonzero(number > step)
        fresh, _, length = _beside(U, todo, places[todo, step], step, bases)
        useful = length > DEPENDENT
        bases[todo[useful], step] = fresh[useful] / length[useful, None]
    return bases


def _beside(
    U: FloatArray, todo: IndexArray, best: IndexArray, step: int, basis: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What is left of rows beside their bases, what is not, and the lengths of the first."""
    fresh, inside = U[best], np.zeros((len(todo), step))
    before = basis[todo, :step]
    for _ in range(2 if step else 0):  # twice is enough
        part = np.einsum("tsp,tp->ts", before, fresh)
        fresh -= np.einsum("ts,tsp->tp", part, before)
        inside += part
    return fresh, inside, np.linalg.norm(fresh, axis=1)


@compiled("_pursuit")
def coefficients_of(triangle: FloatArray, along: FloatArray) -> FloatArray:
    """(b, s) coefficients of rows in terms of those chosen, from both in terms of a basis.

    Parameters
    ----------
    triangle : (b, s, s) array
        The rows chosen, one beside the other: nothing below the diagonal.
    along : (b, s) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.selfexpression.pursuit import coefficients_of
    >>> coefficients_of(np.array([[[1.0, 0.5], [0.0, 2.0]]]), np.array([[2.0, 2.0]])).tolist()
    [[1.5, 1.0]]
    """
    return np.asarray(np.linalg.solve(triangle, along[:, :, None])[:, :, 0])
