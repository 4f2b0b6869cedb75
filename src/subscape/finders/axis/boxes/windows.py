"""Boxes: which rows lie in which windows, and the best box the windows allow.

Given one window (an interval) per feature, a box is a set of features; it holds the rows that lie
in the windows of all of them. Its quality is ``log(rows) + features * gain``: with
``gain = log(1 / beta)``, one more feature is worth losing all but a fraction ``beta`` of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.backend import compiled
from subscape.arrays.bitsets import count, intersection_counts, pack, unpack
from subscape.core.types import BitArray, FloatArray, IntArray

__all__ = ["BestBox", "best_box", "match_columns", "match_rows", "shared_features"]

TIE = 1e-9
"""Qualities closer than this are equal: rounding must not choose between boxes."""


FEW_CELLS = 1 << 15
"""Steps of the search with so few rows and features are bounded by looking at every cell."""


class BestBox(NamedTuple):
    """The best box of a search."""

    features: IntArray
    """Its features, ascending; empty if no box beats the floor."""
    support: int
    """How many rows it holds."""
    nodes: int
    """How many sets of features were looked at."""
    complete: bool
    """False if the search was cut at ``max_nodes``."""


@compiled("_boxes")
def match_columns(columns: FloatArray, low: FloatArray, high: FloatArray) -> BitArray:
    """Find for every feature the rows inside its window.

    Parameters
    ----------
    columns : (p, n) array of float
        The table, one feature per line.
    low, high : (p,) array of float
        The ends of the windows; both belong to them.

    Returns
    -------
    (p, ceil(n / 64)) array of uint64
        Per feature the packed set of rows inside; a row with a missing value never is.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.windows import match_columns
    >>> columns = np.array([[0.0, 0.1, 0.9], [0.5, 0.9, 0.4]])
    >>> match_columns(columns, np.array([0.0, 0.3]), np.array([0.2, 0.7]))
    array([[3],
           [5]], dtype=uint64)
    """
    return pack((columns >= low[:, None]) & (columns <= high[:, None]))


@compiled("_boxes")
def match_rows(rows: FloatArray, low: FloatArray, high: FloatArray) -> BitArray:
    """Find for every row the features in whose window it lies.

    Parameters
    ----------
    rows : (m, p) array of float
        Rows of the table.
    low, high : (p,) array of float
        The ends of the windows; both belong to them.

    Returns
    -------
    (m, ceil(p / 64)) array of uint64
        Per row the packed set of features.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.windows import match_rows
    >>> rows = np.array([[0.0, 0.5], [0.1, 0.9], [0.9, 0.4]])
    >>> match_rows(rows, np.array([0.0, 0.3]), np.array([0.2, 0.7]))
    array([[3],
           [1],
           [2]], dtype=uint64)
    """
    return pack((rows >= low) & (rows <= high))


@compiled("_boxes")
def shared_features(matches: BitArray, samples: IntArray, least: int) -> BitArray:
    """Intersect the feature sets of sampled rows and keep the large intersections.

    Parameters
    ----------
    matches : (m, w) array of uint64
        Packed feature sets of rows, from :func:`match_rows`.
    samples : (s, r) array of int64
        Each line names ``r`` rows of ``matches``.
    least : int
        Intersections with fewer features are dropped.

    Returns
    -------
    (t, w) array of uint64
        The intersections that are left, in the order of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.windows import shared_features
    >>> matches = np.array([[7], [5], [2]], dtype=np.uint64)
    >>> shared_features(matches, np.array([[0, 1], [1, 2]]), 1)
    array([[5]], dtype=uint64)
    """
    shared = np.bitwise_and.reduce(matches[samples], axis=1)
    return shared[count(shared) >= least]


class _Level(NamedTuple):
    """One step of the depth-first search: a set of features and how it may grow."""

    chosen: list[int]
    rows: BitArray
    items: IntArray
    """Features that may be added, the most frequent first."""
    counts: IntArray
    """Rows left after adding each of them."""
    with_items: IntArray
    """Rows that have at least 0, 1, 2 ... of them."""

    def bound(self, t: int, min_support: int, gain: float) -> float:
        """Quality that no box reached by item ``t`` and later ones exceeds.

        With ``h`` items the support is at most the ``h``-th largest, and no more than the rows
        that have so many of the items.
        """
        most = np.minimum(self.counts[t:], self.with_items[1 : len(self.counts) - t + 1])
        most = most[most >= min_support]
        if len(most) == 0:
            return -np.inf
        return float((np.log(most) + (len(self.chosen) + 1 + np.arange(len(most))) * gain).max())


@compiled("_boxes")
def best_box(
    matches: BitArray,
    rows: BitArray,
    min_support: int,
    gain: float,
    floor: float,
    max_nodes: int,
) -> BestBox:
    """Find the box of highest quality: exact branch and bound.

    Parameters
    ----------
    matches : (p, w) array of uint64
        Per feature the packed set of rows inside its window, from :func:`match_columns`.
    rows : (w,) array of uint64
        The packed set of rows that count.
    min_support : int
        A box with fewer rows is no candidate; at least 1.
    gain : float
        The worth of one more feature, log(1 / beta); above 0.
    floor : float
        Only boxes of a higher quality are wanted: ``log(rows) + features * gain > floor``.
    max_nodes : int
        Stop after this many sets of features and return the best so far.

    Returns
    -------
    BestBox
        Ties in quality go to the box met first; features are tried in the order of falling
        support, so that good boxes are met early.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.bitsets import pack
    >>> from subscape.finders.axis.boxes.windows import best_box
    >>> matches = pack([[1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 0, 1]])
    >>> best = best_box(matches, pack([1, 1, 1, 1]), 2, np.log(4.0), -np.inf, 1000)
    >>> best.features, best.support
    (array([0, 1]), 3)
    """
    if matches.shape[1] != len(rows):
        raise ValueError(f"sets of {matches.shape[1]} words against one of {len(rows)} words")
    best_value, best_features, best_support = floor, np.zeros(0, dtype=np.int64), 0
    nodes, complete = 0, True
    stack: list[_Level] = []
    place: list[int] = []

    def enter(chosen: list[int], rows: NDArray, support: int, items: NDArray) -> None:
        nonlocal best_value, best_features, best_support, nodes
        nodes += 1
        counts = intersection_counts(np.ascontiguousarray(matches[items]), rows)
        # A feature that all rows match costs nothing, so it belongs to the best box below here.
        chosen = chosen + items[counts == support].tolist()
        value = float(np.log(support)) + len(chosen) * gain
        if chosen and value > best_value + TIE:
            best_value, best_support = value, support
            best_features = np.array(chosen, dtype=np.int64)
        growing = (counts < support) & (counts >= min_support)
        items, counts = items[growing], counts[growing]
        order = np.argsort(-counts, kind="stable")
        items, counts = items[order], counts[order]
        if len(items) == 0:
            return
        with_items = np.full(len(items) + 1, support, dtype=np.int64)
        if support * len(items) <= FEW_CELLS:
            per_row = unpack(matches[items] & rows, 64 * len(rows)).sum(axis=0)
            at_most = np.cumsum(np.bincount(per_row, minlength=len(items) + 1))
            with_items[1:] = 64 * len(rows) - at_most[:-1]
        stack.append(_Level(chosen, rows, items, counts, with_items))
        place.append(0)

    support = int(count(rows))
    if support >= max(min_support, 1):
        enter([], rows, support, np.arange(len(matches), dtype=np.int64))
    while stack:
        level, t = stack[-1], place[-1]
        if t == len(level.items) or level.bound(t, min_support, gain) <= best_value + TIE:
            stack.pop()
            place.pop()
            continue
        if nodes >= max_nodes:
            complete = False
            break
        place[-1] += 1
        item = level.items[t]
        enter(
            [*level.chosen, int(item)],
            level.rows & matches[item],
            int(level.counts[t]),
            level.items[t + 1 :],
        )
    return BestBox(np.sort(best_features), best_support, nodes, complete)
