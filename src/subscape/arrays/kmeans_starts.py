"""k-means from many starts and for many numbers of clusters at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray

__all__ = ["kmeans_labels", "labels_along"]

#: Products of rows and centres that are held at once: they stay in the processor's cache.
CELLS_AT_ONCE = 1 << 16


def kmeans_labels(Z: FloatArray, sizes: IndexArray, chances: FloatArray, rounds: int) -> IntArray:
    """Labels of Lloyd's k-means [1]_, one line per start.

    Centres begin in rows drawn by their squared distance from those drawn before (k-means++
    [2]_), and stay where they are if they lose all their rows. All starts that still move meet the
    rows in one product of matrices; along a line, rows are sorted once and a step moves no more
    than the ends of the clusters.

    Parameters
    ----------
    Z : float64 array of shape (n, d)
        Best centred: distances are taken from products.
    sizes : int64 array of shape (m,)
        Number of clusters of each start.
    chances : float64 array of shape (m, largest size)
        Numbers from 0 to 1 that choose the rows.
    rounds : int
        Rounds at most.

    Returns
    -------
    int64 array of shape (m, n)

    References
    ----------
    .. [1] S. P. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information
       Theory 28 (1982), doi:10.1109/TIT.1982.1056489.
    .. [2] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007,
       doi:10.5555/1283383.1283494.

    Examples
    --------
    >>> Z = np.repeat([[0.0], [9.0]], 5, axis=0)
    >>> kmeans_labels(Z, np.array([2]), np.array([[0.0, 0.5]]), 10).tolist()
    [[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]]
    """
    sizes = np.ascontiguousarray(sizes, dtype=np.int64)
    if Z.shape[1] == 1:
        return labels_on_line(Z[:, 0], sizes, seed_rows(Z, sizes, chances), rounds)
    return _settled(Z, sizes, chances, rounds)


@compiled("_kmeans_starts")
def labels_along(
    lines: FloatArray, sizes: IndexArray, chances: FloatArray, rounds: int
) -> IntArray:
    """The same along each column by itself: one line per column and start.

    Parameters
    ----------
    lines : float64 array of shape (n, q)
    sizes : int64 array of shape (m,)
    chances : float64 array of shape (q, m, largest size)
    rounds : int

    Returns
    -------
    int64 array of shape (q * m, n)

    Examples
    --------
    >>> lines = np.column_stack([np.repeat([0.0, 9.0], 3), np.tile([5.0, 0.0], 3)])
    >>> labels_along(lines, np.array([2]), np.array([[[0.0, 0.5]]] * 2), 10).tolist()
    [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]]
    """
    return np.concatenate(
        [
            labels_on_line(column[:, 0], sizes, seed_rows(column, sizes, own), rounds)
            for column, own in zip(np.ascontiguousarray(lines.T)[..., None], chances, strict=True)
        ]
    )


class _Groups(NamedTuple):
    """The rows of the clusters of all starts, and what they add up to."""

    labels: IntArray
    counts: IntArray
    sums: FloatArray

    @classmethod
    def none(cls, sizes: IntArray, shape: tuple[int, ...]) -> _Groups:
        """Before any row has a cluster."""
        n_rows, d = shape
        most = len(sizes), int(sizes.max(initial=1))
        return cls(
            np.full((len(sizes), n_rows), -1, dtype=np.int64),
            np.zeros(most, dtype=np.int64),
            np.zeros((*most, d)),
        )


def _settled(Z: FloatArray, sizes: IntArray, chances: FloatArray, rounds: int) -> IntArray:
    """Labels, by centres that all starts hold one after the other."""
    rows = seed_rows(Z, sizes, chances)
    centres = Z[np.concatenate([rows[start, :k] for start, k in enumerate(sizes)])]
    groups = _Groups.none(sizes, Z.shape)
    moving, ends = np.arange(len(sizes)), np.cumsum(sizes)
    for _ in range(rounds):
        moved = _step(Z, centres, ends, moving, groups)
        if not moved.all():
            if not moved.any():
                break
            # What has settled takes no part any more.
            centres = centres[np.repeat(moved, sizes[moving])]
            moving = moving[moved]
            ends = np.cumsum(sizes[moving])
        move_centres(centres, sizes[moving], moving, groups.counts, groups.sums)
    return groups.labels


def _step(
    Z: FloatArray, centres: FloatArray, ends: IntArray, moving: IndexArray, groups: _Groups
) -> BoolArray:
    """Put every row to its nearest centre, in all starts that move; say which of them did."""
    height = max(1, CELLS_AT_ONCE // len(centres))
    moved = np.zeros(len(moving), dtype=bool)
    for first in range(0, len(Z), height):
        block = Z[first : first + height]
        moved |= move_rows(block, centres @ block.T, centres, ends, moving, first, *groups)
    return moved


@compiled("_kmeans_starts")
def seed_rows(Z: FloatArray, sizes: IntArray, chances: FloatArray) -> IntArray:
    """Rows in which centres begin, by k-means++; of shape (m, largest size).

    >>> seed_rows(np.array([[0.0], [1.0], [9.0]]), np.array([2]), np.array([[0.0, 0.9]])).tolist()
    [[0, 2]]
    """
    n = len(Z)
    rows = np.zeros((len(sizes), int(sizes.max(initial=1))), dtype=np.int64)
    for start, k in enumerate(sizes):
        rows[start, 0] = min(int(chances[start, 0] * n), n - 1)
        near = np.full(n, np.inf)
        for j in range(1, k):
            near = np.minimum(near, np.square(Z - Z[rows[start, j - 1]]).sum(axis=1))
            reached = np.cumsum(near)
            row = int(np.searchsorted(reached, chances[start, j] * reached[-1], side="left"))
            rows[start, j] = min(row, n - 1)
    return rows


@compiled("_kmeans_starts")
def move_rows(
    block: FloatArray,
    products: FloatArray,
    centres: FloatArray,
    ends: IntArray,
    starts: IndexArray,
    first: int,
    labels: IntArray,
    counts: IntArray,
    sums: FloatArray,
) -> BoolArray:
    """Put the rows of a block to their nearest centres; which of the starts have changed.

    Parameters
    ----------
    block : array of shape (h, d)
    products : array of shape (q, h)
        Of the centres of all these starts with the rows.
    centres : array of shape (q, d)
    ends : int64 array of shape (a,)
        Where the centres of each start end among the q.
    starts : int array of shape (a,)
        Lines of ``labels``, ``counts`` and ``sums``, which are brought up to date in place.
    first : int
        The first row of the block.
    """
    moved = np.zeros(len(starts), dtype=bool)
    away = 0.5 * np.square(centres).sum(axis=1)[:, None] - products
    here = slice(first, first + len(block))
    for place, start in enumerate(starts):
        begin = ends[place - 1] if place else 0
        now = away[begin : ends[place]].argmin(axis=0)
        before = labels[start, here]
        changed = np.flatnonzero(now != before)
        moved[place] = len(changed) > 0
        np.add.at(sums[start], now[changed], block[changed])
        np.add.at(counts[start], now[changed], 1)
        old = changed[before[changed] >= 0]
        np.subtract.at(sums[start], before[old], block[old])
        np.subtract.at(counts[start], before[old], 1)
        labels[start, here] = now
    return moved


@compiled("_kmeans_starts")
def move_centres(
    centres: FloatArray, sizes: IntArray, starts: IndexArray, counts: IntArray, sums: FloatArray
) -> None:
    """Put every centre in the middle of its rows; one without rows stays.

    Parameters
    ----------
    centres : array of shape (q, d)
        Of these starts, one start after the other; changed in place.
    sizes : int64 array of shape (a,)
        How many of them each start has.
    starts : int array of shape (a,)
        Lines of ``counts`` and ``sums``.

    >>> centres = np.array([[5.0], [7.0]])
    >>> counts, sums = np.array([[2, 0]]), np.array([[[3.0], [0.0]]])
    >>> move_centres(centres, np.array([2]), np.array([0]), counts, sums)
    >>> centres.ravel().tolist()
    [1.5, 7.0]
    """
    begin = 0
    for start, k in zip(starts, sizes, strict=True):
        taken = np.flatnonzero(counts[start, :k])
        centres[begin + taken] = sums[start, taken] / counts[start, taken][:, None]
        begin += k


@compiled("_kmeans_starts")
def labels_on_line(column: FloatArray, sizes: IntArray, rows: IntArray, rounds: int) -> IntArray:
    """The same for values on a line, where clusters are stretches of the sorted values.

    >>> values = np.array([0.0, 9.0, 1.0, 8.0])
    >>> labels_on_line(values, np.array([2]), np.array([[0, 2]]), 10).tolist()
    [[0, 1, 0, 1]]
    """
    labels = np.zeros((len(sizes), len(column)), dtype=np.int64)
    for start, k in enumerate(sizes):
        centres = column[rows[start, :k]].copy()
        before = np.full(len(column), -1)
        for _ in range(rounds):
            now = np.square(column[:, None] - centres).argmin(axis=1)
            if (now == before).all():
                break
            before = now
            for j in range(k):
                inside = now == j
                if inside.any():
                    centres[j] = column[inside].mean()
        labels[start] = before
    return labels
