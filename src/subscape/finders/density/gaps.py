"""Groups that wide gaps part: single linkage of mutual reachability, cut where the gap is widest.

Valleys of a density estimate are blurred where shapes are narrow and close to each other, such as
parallel lines: a neighbourhood large enough for a sure estimate reaches across. A gap needs no
estimate: all links within the groups are shorter than any between them.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import binom

from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray

from .graph import connected_parts, shortest_tree

#: Distances are to at least the neighbour of this rank, so that no chain of single rows is a link
#: (as min_samples of HDBSCAN).
CORE = 5
#: A group has at least this share of the rows, and so many.
SMALLEST_SHARE = 0.02
FEWEST_ROWS = 5
#: Of the links within a group, all but this share are shorter than the gap is compared with: a few
#: rows at the rim have long ones.
RIM = 0.05
#: Rows that may be left out of all groups.
MOST_NOISE = 0.2
#: Probability with which one group may be taken for two because rows along it come at random; and
#: how far, in units of its narrowest place, a gap is followed.
BROKEN = 0.01
WITHIN_REACH = 1.5
#: Rows at the rim of a group are no ends of a gap if they are so many times as far from others as
#: all but the few at the rim; at the end of a line that is less than twice.
FAR_OUT = 2.0
#: Parts of a gap's length that are looked at on either side of it.
PARTS = np.array([1.0, 2.0, 4.0, 8.0])


class Gap(NamedTuple):
    """Result of :func:`widest_gap`.

    Attributes
    ----------
    width : float
        Logarithm of the ratio of the shortest link between groups to the long links within them,
        times the share of rows in groups; 0 if there are no two groups.
    labels : int array of shape (n_rows,)
        -1 for rows in no group.
    """

    width: float
    labels: IntArray

    @property
    def entropy(self) -> float:
        """Nats that the labels tell."""
        sizes = np.bincount(self.labels[self.labels >= 0])
        shares = sizes[sizes > 0] / max(int(sizes.sum()), 1)
        return float(-(shares * np.log(shares)).sum())

    @property
    def score(self) -> float:
        """The width times the nats that the labels tell: many groups at once, or equal ones."""
        return self.width * self.entropy


def widest_gap(points: ArrayLike, most_nats: float = np.inf) -> Gap:
    """Cut the tree of links where most groups lie farthest apart, compared with what holds them.

    Parameters
    ----------
    points : array-like of shape (n_rows, d)
        Time and memory grow with the square of the rows.
    most_nats : float, optional
        What labels tell beyond counts for nothing. With that of two equal groups, the one widest
        gap is looked for, and groups of very unequal size still count less.

    Returns
    -------
    Gap

    References
    ----------
    R. J. G. B. Campello, D. Moulavi, J. Sander, "Density-based clustering based on hierarchical
    density estimates", PAKDD 2013, doi:10.1007/978-3-642-37456-2_14 (mutual reachability).

    Examples
    --------
    >>> import numpy as np
    >>> along = np.linspace(0, 1, 60)
    >>> lines = np.r_[np.c_[along, 0 * along], np.c_[along, 0 * along + 0.3]]
    >>> gap = widest_gap(lines)
    >>> int(gap.labels.max()) + 1, gap.width > 1
    (2, True)
    """
    points = np.asarray(points, dtype=np.float64)
    n = len(points)
    fewest = max(FEWEST_ROWS, SMALLEST_SHARE * n)
    nothing = Gap(0.0, np.zeros(n, dtype=np.int64))
    if n < 2 * fewest:
        return nothing
    ends, lengths = spanning_tree(points)
    best, highest = nothing, 0.0
    for height in _splits(ends, lengths, n, fewest)[:40]:
        inside = lengths < height
        labels = connected_parts(ends[inside], n)[1]
        sizes = np.bincount(labels)
        number = np.full(len(sizes), -1, dtype=np.int64)
        large = np.flatnonzero(sizes >= fewest)
        number[large] = np.arange(len(large))
        labels = number[labels]
        covered = float((labels >= 0).mean())
        if len(large) < 2 or covered < 1 - MOST_NOISE:
            continue
        home = labels[ends[inside, 0]]
        longest = max(
            float(np.quantile(lengths[inside][home == k], 1 - RIM)) for k in range(len(large))
        )
        width = covered * float(np.log(height / max(longest, 1e-300)))
        found = Gap(width, labels)
        score = width * min(found.entropy, most_nats)
        if score > highest:
            best, highest = found, score
    return best


def gap_groups(points: ArrayLike, least: float) -> Gap:
    """Groups parted by gaps, and groups within these, down to the narrowest gap that counts.

    Groups that chance alone parts are one: a long thin group breaks somewhere (:func:`surprise`).

    Parameters
    ----------
    points : array-like of shape (n_rows, d)
    least : float
        The smallest width that counts, for instance what chance reaches.

    Returns
    -------
    Gap
        With the width of the first gap; rows in no group are with the nearest one.

    Examples
    --------
    >>> import numpy as np
    >>> along = np.linspace(0, 1, 60)
    >>> lines = [np.c_[along, 0 * along + height] for height in (0, 0.3, 2)]
    >>> int(gap_groups(np.concatenate(lines), 0.5).labels.max()) + 1
    3
    """
    points = np.asarray(points, dtype=np.float64)
    width, labels, between = _parted(points, least)
    return Gap(width, _mended(points, labels, ~between & ~_at_the_rim(points, labels)))


def _parted(points: FloatArray, least: float) -> tuple[float, IntArray, BoolArray]:
    """The first gap's width, groups down to the narrowest gap, and rows that were in none."""
    n = len(points)
    # One gap after the other: several at once would take a thin place of a long group along.
    first = widest_gap(points, most_nats=float(np.log(2)))
    if not first.width >= max(least, 1e-9):
        return first.width, np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    between = first.labels < 0
    labels = _with_nearest(points, first.labels)
    fewest = max(FEWEST_ROWS, SMALLEST_SHARE * n)
    done = np.full(n, -1, dtype=np.int64)
    number = 0
    for k in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == k)
        _, inner, outside = _parted(points[rows], least)
        if np.bincount(inner).min() < fewest:
            inner = np.zeros(len(rows), dtype=np.int64)
        else:
            between[rows] |= outside
        done[rows] = number + inner
        number += int(inner.max()) + 1
    return first.width, done, between


def _at_the_rim(points: FloatArray, labels: IntArray) -> BoolArray:
    """The few rows of every group that are surely farther from others of it than most are."""
    rim = np.zeros(len(points), dtype=bool)
    for k in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == k)
        near = cKDTree(points[rows]).query(points[rows], k=[min(CORE, len(rows) - 1) + 1])[0][:, 0]
        rim[rows] = near > FAR_OUT * np.quantile(near, 1 - RIM)
    return rim


def _mended(points: FloatArray, labels: IntArray, members: BoolArray) -> IntArray:
    """Groups joined, the least surely parted first, until no gap is left that chance would make.

    A gap may be at any of the rows, so that it is as unlikely as :data:`BROKEN` says only if the
    probability of this one is smaller by their number. Of a group without a single row that is
    surely its own, all rows are.
    """
    labels = labels.copy()
    members = members | (np.bincount(labels, weights=members) == 0)[labels]
    enough = float(np.log(len(points) / BROKEN))

    def judged(a: int, b: int) -> float:
        first, second = (points[members & (labels == k)] for k in (a, b))
        return surprise(first, second, points[~members])

    numbers = np.flatnonzero(np.bincount(labels)).tolist()
    known = {pair: judged(*pair) for pair in combinations(numbers, 2)}
    while known:
        (a, b), least = min(known.items(), key=lambda each: each[1])
        if least >= enough:
            break
        labels[labels == b] = a
        known = {pair: nats for pair, nats in known.items() if b not in pair}
        known.update({pair: judged(*pair) for pair in known if a in pair})
    return np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)


def surprise(first: FloatArray, second: FloatArray, strays: FloatArray | None = None) -> float:
    """How unlikely it is that chance alone leaves a gap between two groups, in nats.

    The gap is covered, from its narrowest place on, by balls between nearest rows of the two that
    don't meet. If the groups were one and rows came at random, a row of the ball, or of the s-th
    part of as long a way on either side, would be in the ball with probability s / (s + 2), so that
    a binomial distribution says how often no more than are would be. Of several s the smallest
    probability is taken, times their number. (So it is along a curve; in clouds, fewer would be in
    a ball, but gaps between them are so much wider than the ways between their rows that it doesn't
    matter.)

    Parameters
    ----------
    first, second : arrays of shape (n_rows, d)
    strays : array of shape (n_strays, d), optional
        Rows that are in no group, but may lie in the gap.

    Examples
    --------
    >>> along = np.arange(100.0)
    >>> line = np.c_[along, 0 * along]
    >>> round(surprise(line[:48], line[52:]), 2), round(surprise(line, line + [0, 4]), 1)
    (2.67, 156.7)
    """
    apart = cdist(first, second)
    pairs = {(i, int(j)) for i, j in enumerate(apart.argmin(axis=1))}
    pairs |= {(int(i), j) for j, i in enumerate(apart.argmin(axis=0))}
    ordered = sorted(pairs, key=lambda pair: (apart[pair], pair))
    reach = WITHIN_REACH * apart[ordered[0]]
    centres, radii = np.empty((0, first.shape[1])), np.empty(0)
    inside, beside = 0, np.zeros(len(PARTS), dtype=np.int64)
    for i, j in ordered:
        length = float(apart[i, j])
        if length > reach:
            break
        centre = (first[i] + second[j]) / 2
        if (np.linalg.norm(centres - centre, axis=1) < radii + length / 2).any():
            continue
        centres, radii = np.vstack([centres, centre]), np.append(radii, length / 2)
        for side, end in ((first, i), (second, j)):
            away = np.linalg.norm(side - side[end], axis=1)
            beside += (away[:, None] <= length / PARTS).sum(axis=0) - 1
        if strays is not None and len(strays):
            away = np.linalg.norm(strays - centre, axis=1)
            inside += int(np.count_nonzero(away < length / 2))
    nats = -binom.logcdf(inside, inside + beside, PARTS / (PARTS + 2))
    return max(0.0, float(nats.max() - np.log(len(PARTS))))


def _with_nearest(points: FloatArray, labels: IntArray) -> IntArray:
    """Labels in which rows of no group are with the group of the nearest row that has one."""
    out = labels < 0
    if not out.any() or out.all():
        return np.maximum(labels, 0)
    _, near = cKDTree(points[~out]).query(points[out])
    full = labels.copy()
    full[out] = labels[~out][near]
    return full


def spanning_tree(points: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Shortest tree of all rows by mutual reachability: ends and lengths of its links (Prim)."""
    n = len(points)
    squares = np.square(points).sum(axis=1)
    apart = squares[:, None] + squares - 2 * (points @ points.T)
    apart = np.sqrt(np.maximum(apart, 0.0))
    core = np.partition(apart, min(CORE, n - 1), axis=1)[:, min(CORE, n - 1)]
    ends, lengths = shortest_tree(apart, core)
    order = np.argsort(lengths, kind="stable")
    return ends[order], lengths[order]


def _splits(ends: IndexArray, lengths: FloatArray, n: int, fewest: float) -> list[float]:
    """Lengths of the links at which two large groups meet, the longest first."""
    root = list(range(n))
    size = [1] * n

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    heights = []
    for (a, b), length in zip(ends.tolist(), lengths.tolist(), strict=True):
        a, b = find(a), find(b)
        if min(size[a], size[b]) >= fewest:
            heights.append(length)
        root[b] = a
        size[a] += size[b]
    return heights[::-1]
