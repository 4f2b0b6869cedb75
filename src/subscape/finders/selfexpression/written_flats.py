"""Flats that rows write: what the rows span that one row is written with, if many others lie there.

A row of a flat that is written with rows of the same flat only shows the whole flat. Where flats
cross nearly everywhere that happens seldom, but a flat that is shown by chance has hardly any
other rows on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray, IntArray

from .pursuit import bases_of_rows

__all__ = ["gains_of_flats", "groups_on_written_flats"]

#: Rows whose flats are looked at, and rows that are held against them, at most.
WRITERS, READERS = 200, 1000
#: The largest dimension.
MOST_DIMENSIONS = 16
#: Squared distances are told apart by powers of two down to this one (about 1e-8).
LEVELS = 27


class Written(NamedTuple):
    """The flats of some rows, and where other rows are."""

    places: FloatArray
    """(c, n, s) coordinates of the rows; the first d are those on the flat of dimension d."""
    own: IntArray
    """(c, n) 1 for the rows that a flat is made of, else 0."""


def groups_on_written_flats(
    U: FloatArray, coefficients: sparse.csr_array, k: int, rng: np.random.Generator
) -> IndexArray:
    """Up to k groups of rows on flats that rows write, the best flat first; -1 are all others.

    A flat is the better, the more rows are near it and the nearer they are
    (:func:`gains_of_flats`); the best decides on the dimension of all.

    Parameters
    ----------
    U : (m, p) array
        Rows of length 1.
    coefficients : (m, m) array
        How each of them is written by the others.
    k : int
    rng : Generator
        Draws the rows that are looked at, of many.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from subscape.finders.selfexpression.written_flats import groups_on_written_flats
    >>> angles = np.array([0.3, 1.0, 2.0, 2.8, 0.7, 1.4])
    >>> plane = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(6)])
    >>> U = np.vstack([plane, plane[:, [0, 2, 1]]])
    >>> links = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    >>> rng = np.random.default_rng(0)
    >>> groups_on_written_flats(U, sparse.csr_array(links), 2, rng).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    """
    m, p = U.shape
    found = np.full(m, -1, np.intp)
    if p < 2 or not coefficients.nnz:
        return found
    readers = _drawn(m, READERS, rng)
    places, own = written_flats(U, coefficients, _drawn(m, WRITERS, rng), readers)
    labels = np.full(len(readers), -1, np.intp)
    for group in range(k):
        free = labels < 0
        gains, levels = gains_of_flats(places, own, free.astype(np.uint8), p)
        if not group:
            dim = int(gains.max(axis=0).argmax()) + 1
            # The other dimensions need not be looked at again.
            places, p = folded(places, dim), p - dim + 1
            gains, levels = gains[:, dim - 1 :], levels[:, dim - 1 :]
        flat = int(gains[:, 0].argmax())
        if gains[flat, 0] <= 0:
            break
        near = _levels(1.0 - np.square(places[flat, :, 0])) >= levels[flat, 0]
        labels[free & (near | (own[flat] > 0))] = group
    found[readers] = labels
    return found


def _drawn(n: int, most: int, rng: np.random.Generator) -> IndexArray:
    return np.sort(rng.choice(n, most, replace=False)) if n > most else np.arange(n)


@compiled("_written_flats")
def folded(places: FloatArray, dim: int) -> FloatArray:
    """(c, n, 1) coordinates: one with the length of the first few.

    >>> import numpy as np
    >>> from subscape.finders.selfexpression.written_flats import folded
    >>> folded(np.array([[[0.6, 0.8, 0.0], [0.0, 0.5, 0.5]]]), 2).tolist()
    [[[1.0], [0.5]]]
    """
    first = places[:, :, :dim]
    return np.asarray(np.sqrt(np.minimum(np.einsum("cns,cns->cn", first, first), 1.0))[:, :, None])


def written_flats(
    U: FloatArray, coefficients: sparse.csr_array, writers: IndexArray, readers: IndexArray
) -> Written:
    """The flats of some rows: what those span that each is written with, the most needed first."""
    p = U.shape[1]
    links = sparse.csr_array(coefficients[writers]) if len(writers) < len(U) else coefficients
    each = np.repeat(np.arange(len(writers)), np.diff(links.indptr))
    order = np.lexsort((-np.abs(links.data), each))
    rank = np.arange(len(order)) - links.indptr[each]
    most = min(p - 1, MOST_DIMENSIONS, int(np.diff(links.indptr).max()))
    first = rank < most
    of_whom, atoms = each[first], links.indices[order[first]]
    place = np.zeros((len(writers), most), np.intp)
    place[of_whom, rank[first]] = atoms
    number = np.minimum(np.diff(links.indptr).astype(np.intp), most)
    bases = bases_of_rows(U, place, number)
    own = np.zeros((len(writers), len(U)), np.uint8)
    own[of_whom, atoms] = 1
    own[np.arange(len(writers)), writers] = 1
    # One product for all flats, whose directions follow each other.
    places = (bases.reshape(-1, p) @ U[readers].T).reshape(len(writers), most, -1)
    return Written(places.transpose(0, 2, 1), np.ascontiguousarray(own[:, readers]))


@compiled("_written_flats")
def gains_of_flats(
    places: FloatArray, own: IntArray, free: IntArray, p: int
) -> tuple[FloatArray, IntArray]:
    """How much shorter rows are described if some of them lie near a flat, in nats times two.

    All rows are as far as the mean, or the near ones as far as theirs; which rows are near has
    its price. Rows that a flat is made of say nothing for it.

    Parameters
    ----------
    places : (c, n, s) array
        Coordinates of rows of length 1; the first d are those on the flat of dimension d.
    own : (c, n) uint8 array
        1 for the rows that a flat is made of.
    free : (n,) uint8 array
        1 for rows that may be near.
    p : int
        Features.

    Returns
    -------
    gains : (c, s) array
    levels : (c, s) array
        Rows are near if their squared distance is at most ``2**-level``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.selfexpression.written_flats import gains_of_flats
    >>> places = np.zeros((1, 8, 1))
    >>> places[0, :4] = 1.0
    >>> none, all_rows = np.zeros((1, 8), np.uint8), np.ones(8, np.uint8)
    >>> gains, levels = gains_of_flats(places, none, all_rows, 3)
    >>> gains.round(1).tolist(), levels.tolist()
    ([[133.1]], [[1]])
    """
    c, n, s = places.shape
    gains, levels = np.empty((c, s)), np.empty((c, s), np.int64)
    number = np.arange(c)[:, None] * (LEVELS + 1)
    left = np.ones((c, n))
    weight = 1 - own
    counted = weight * free
    for d in range(s):
        left = left - places[:, :, d] ** 2
        far = np.maximum(left, 2.0**-LEVELS)
        typical = np.maximum((far * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1), 1e-300)
        at = (number + _levels(far)).ravel()
        rows = np.bincount(at, counted.ravel(), c * (LEVELS + 1)).reshape(c, -1)
        sums = np.bincount(at, (counted * far).ravel(), c * (LEVELS + 1)).reshape(c, -1)
        rows, sums = (np.cumsum(each[:, ::-1], axis=1)[:, ::-1] for each in (rows, sums))
        total = rows[:, :1]
        share = rows / np.maximum(total, 1.0)
        nearer = np.log(typical)[:, None] - np.log(
            np.divide(sums, rows, out=np.ones_like(sums), where=rows > 0)
        )
        which = xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)
        gain = (p - d - 1) * rows * nearer + 2.0 * total * which
        levels[:, d] = gain.argmax(axis=1)
        gains[:, d] = gain.max(axis=1)
    return gains, levels


def _levels(far: FloatArray) -> IntArray:
    """The power of two under each number, down to the last: 0 from 1/2 up, 1 from 1/4 up, ..."""
    powers = np.frexp(np.maximum(far, 2.0**-LEVELS))[1]
    return np.clip(-powers, 0, LEVELS).astype(np.int64)
