"""A walk through the rows in which rows that prefer the same features come together.

Every row has a packed set of preferred features. Two rows are compared by the features that they
prefer in common: the pair (d1, d2) is the number of features they do *not* prefer in common, plus
one if they lie too far apart in those they do, and the distance in all other features. Pairs are
compared by d1 first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.arrays.bitsets import count, unpack
from subscape.core.types import BitArray, FloatArray, IntArray

__all__ = ["Walk", "begin_walk", "walk_on"]


class Walk(NamedTuple):
    """A walk through the rows: what was reached when, from where, and how far it was."""

    order: IntArray
    """(n,): the rows as they were reached; -1 for steps not yet made."""
    predecessor: IntArray
    """(n,): per row the row it is reached from, -1 for the first."""
    dims: IntArray
    """(n,): d1 of the step to each row; p + 2 for the first."""
    distance: FloatArray
    """(n,): d2 of the step; infinite for the first."""


def begin_walk(n_rows: int, n_features: int) -> Walk:
    """A walk before its first step, which is to row 0.

    Examples
    --------
    >>> from subscape.finders.axis.dish.walk import begin_walk
    >>> begin_walk(3, 2).order
    array([-1, -1, -1])
    """
    return Walk(
        np.full(n_rows, -1, np.int64),
        np.full(n_rows, -1, np.int64),
        np.full(n_rows, n_features + 2, np.int64),
        np.full(n_rows, np.inf),
    )


@compiled("_subspace_order")
def walk_on(
    X: FloatArray,
    distinct: BitArray,
    which: IntArray,
    reach: float,
    min_samples: int,
    walk: Walk,
    start: int,
    stop: int,
) -> None:
    """Make some steps of a walk, each to the row that is closest to those reached before.

    As in OPTICS, a step from a row is at least as long as the distance to its ``min_samples``-th
    nearest row (itself counted), by both parts of the pair. Ties go to the lower row number.

    Parameters
    ----------
    X : (n, p) array
    distinct : (m, ceil(p / 64)) array of uint64
        The packed sets of features that rows prefer.
    which : (n,) array of int64
        The set that each row prefers.
    reach : float
        Rows are too far apart, if one prefers all features that the other does, when their
        Euclidean distance in the common ones exceeds this.
    min_samples : int
        From 1 to n.
    walk : Walk
        Its arrays are written to.
    start, stop : int
        Steps to make; those before ``start`` have been made.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.bitsets import pack
    >>> from subscape.finders.axis.dish.walk import begin_walk, walk_on
    >>> X = np.array([[0.0, 0.1], [0.2, 0.9], [0.0, 0.8]])
    >>> distinct, which = pack([[True, False], [False, True]]), np.array([0, 1, 0])
    >>> walk = begin_walk(3, 2)
    >>> walk_on(X, distinct, which, 0.1, 1, walk, 0, 3)
    >>> walk.order, walk.dims
    (array([0, 2, 1]), array([4, 2, 1]))
    """
    n, p = X.shape
    order, predecessor, dims, distance = walk
    masks = unpack(distinct, p)[which]
    sizes = count(distinct)[which]
    left = np.ones(n, bool)
    left[order[:start]] = False
    limit = reach * reach
    for step in range(start, stop):
        here = 0
        if step:
            tied = np.flatnonzero(left & (dims == dims[left].min()))
            here = int(tied[distance[tied].argmin()])
        left[here] = False
        order[step] = here
        common = masks & masks[here]
        shared = count(distinct & distinct[which[here]])[which]
        squares = np.square(X - X[here])
        within = np.where(common, squares, 0.0).sum(axis=1)
        nested = (shared == sizes[here]) | (shared == sizes)
        d1 = p - shared + (nested & (within > limit))
        d2 = np.sqrt(np.where(common, 0.0, squares).sum(axis=1))
        core1, core2 = _ranked(d1, d2, min_samples)
        step1 = np.maximum(d1, core1)
        step2 = np.where(d1 < core1, core2, np.where(d1 > core1, d2, np.maximum(d2, core2)))
        better = left & ((step1 < dims) | ((step1 == dims) & (step2 < distance)))
        dims[better], distance[better] = step1[better], step2[better]
        predecessor[better] = here


def _ranked(d1: IntArray, d2: FloatArray, rank: int) -> tuple[int, float]:
    """The pair of this rank, counted from 1."""
    chosen = np.lexsort((d2, d1))[rank - 1]
    return int(d1[chosen]), float(d2[chosen])
