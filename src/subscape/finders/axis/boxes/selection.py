"""Which of the boxes found are clusters: more than chance, and not explained by the others."""

from __future__ import annotations

import math

import numpy as np

from subscape.core.types import BoolArray, FloatArray, IntArray

from .refinement import Box, hold, quantiles

__all__ = [
    "beats_chance",
    "covered_cells",
    "irredundant",
    "share_by_chance",
    "share_of_counts",
    "with_dims",
]

#: A box needs this many times the rows expected by chance,
SURPLUS = 2.0
#: and the probability of one like it, over all boxes there are, has to be below exp(-MARGIN).
MARGIN = 7.0
#: Widths among which an interval is chosen, for the number of boxes there are.
CHOICES = 10.0
#: A feature whose distinct values are this many times fewer than the rows is not continuous;
#: so many rows are enough to tell.
FEW_VALUES, FIRST_LOOK = 5, 2000
#: Quantile level of minus one standard deviation of a normal distribution.
ONE_DEVIATION = 0.1587
#: A box is redundant if other boxes cover this share of it in each of its features.
COVERED = 0.8


def beats_chance(table: FloatArray, box: Box, found: int, n_left: int, scales: FloatArray) -> bool:
    """Say whether a box holds clearly more rows than independent features would put there.

    The rows are compared with a binomial count. Its probability is the product over the features
    of the interval's share: of the feature's range, of its values if they are few, or of the rows
    outside the box, whichever is largest. The bound on the tail allows for the choice of the seed
    and of the features.

    Parameters
    ----------
    table : (n, p) array of float
        The table.
    box : Box
        The box in question.
    found : int
        The rows for which the box is new.
    n_left : int
        The rows among which they were found.
    scales : (p,) array of float
        The ranges of the features.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.refinement import Box
    >>> from subscape.finders.axis.boxes.selection import beats_chance
    >>> table = np.random.default_rng(0).uniform(size=(500, 10))
    >>> box = Box(np.array([1, 4]), np.array([0.4, 0.4]), np.array([0.5, 0.5]))
    >>> [beats_chance(table, box, found, 500, np.ones(10)) for found in (12, 60)]
    [False, True]
    """
    if found == 0:
        return False
    values = table[:, box.features]
    inside = (values >= box.low) & (values <= box.high)
    others = inside[~inside.all(axis=1)]
    shares = (others.sum(axis=0) + 1) / (len(others) + 2)
    lengths = (box.high - box.low) / scales[box.features]
    steps = [_share_of_values(values[:, j], inside[:, j]) for j in range(len(box.features))]
    shares = np.minimum(np.maximum(np.maximum(shares, lengths), steps), 1.0)
    expected = n_left * float(np.exp(np.log(shares).sum()))
    if found < SURPLUS * expected:
        return False
    evidence = found * math.log(found / expected) - (found - expected)
    p, d = table.shape[1], len(box.features)
    boxes = math.log(n_left) + d * math.log(CHOICES * math.e * p / d)
    return evidence > boxes + MARGIN


def _share_of_values(values: FloatArray, inside: BoolArray) -> float:
    """Share of a feature's distinct values that lie in an interval; 0 if nearly all are distinct.

    A feature with a few values has many rows at each of them, which is no discovery.
    """
    first = values[:FIRST_LOOK]
    if FEW_VALUES * len(np.unique(first)) > len(first):
        return 0.0
    return len(np.unique(values[inside])) / len(np.unique(values))


def irredundant(table: FloatArray, boxes: list[Box]) -> list[int]:
    """Leave out the boxes that others explain, such as the intersection of two clusters.

    Parameters
    ----------
    table : (n, p) array of float
        The table.
    boxes : list of Box
        The boxes found so far.

    Returns
    -------
    list of int
        The boxes that stay, in their order. A box goes if in each of its features most of its
        rows are in other boxes with that feature; the smallest are looked at first.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.refinement import Box
    >>> from subscape.finders.axis.boxes.selection import irredundant
    >>> table = np.random.default_rng(0).uniform(size=(500, 2))
    >>> one, other = (Box(np.array([j]), np.zeros(1), np.full(1, 0.5)) for j in range(2))
    >>> both = Box(np.array([0, 1]), np.zeros(2), np.full(2, 0.5))
    >>> irredundant(table, [both, one]), irredundant(table, [both, one, other])
    ([0, 1], [1, 2])
    """
    inside = [hold(table, box) for box in boxes]
    cells = [int(rows.sum()) * len(box.features) for rows, box in zip(inside, boxes, strict=True)]
    staying = list(range(len(boxes)))
    for k in sorted(staying, key=lambda k: (cells[k], -k)):
        covered = covered_cells(boxes, inside, k, [other for other in staying if other != k])
        if len(covered) == 0 or covered.mean(axis=0).min() >= COVERED:
            staying.remove(k)
    return staying


def covered_cells(
    boxes: list[Box], inside: list[BoolArray], k: int, others: list[int]
) -> BoolArray:
    """Say which cells of a box other boxes hold.

    Parameters
    ----------
    boxes : list of Box
        All boxes.
    inside : list of (n,) arrays of bool
        The rows in each of them.
    k : int
        The box in question.
    others : list of int
        The boxes that may cover it.

    Returns
    -------
    (m, d) array of bool
        For its rows and features.
    """
    features = boxes[k].features
    covered = np.zeros((int(inside[k].sum()), len(features)), dtype=bool)
    for other in others:
        common = np.isin(features, boxes[other].features)
        covered[:, common] |= inside[other][inside[k]][:, None]
    return covered


def share_by_chance(table: FloatArray, others: BoolArray, box: Box, scales: FloatArray) -> float:
    """Share of rows that independent features would put into a box.

    Parameters
    ----------
    table : (n, p) array of float
        The table.
    others : (n,) array of bool
        The rows that show how the features are spread.
    box : Box
        The box.
    scales : (p,) array of float
        The ranges of the features.

    Returns
    -------
    float
        The product over the features of the interval's share of these rows or of the range,
        whichever is larger.
    """
    values = table[np.ix_(others, box.features)]
    inside = (values >= box.low) & (values <= box.high)
    return share_of_counts(inside.sum(axis=0), len(values), box, scales)


def share_of_counts(inside: IntArray, n_others: int, box: Box, scales: FloatArray) -> float:
    """The same from how many of so many other rows each feature puts between the ends."""
    shares = (inside + 1) / (n_others + 2)
    lengths = (box.high - box.low) / scales[box.features]
    return float(np.minimum(np.maximum(shares, lengths), 1.0).prod())


def with_dims(table: FloatArray, boxes: list[Box], total: int) -> list[Box]:
    """Give the boxes a number of features in total, those in which their rows vary the least.

    Parameters
    ----------
    table : (n, p) array of float
        The table.
    boxes : list of Box
        The clusters; a row in two boxes counts for the first.
    total : int
        Features of all boxes together; every box keeps at least one.

    Returns
    -------
    list of Box
        A box reaches over all its rows in a feature that is new to it.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.boxes.refinement import Box
    >>> from subscape.finders.axis.boxes.selection import with_dims
    >>> table = np.random.default_rng(0).uniform(size=(100, 3)) * [1.0, 1.0, 0.5]
    >>> table[0, 2] = 1.0
    >>> box = Box(np.array([0]), np.array([0.2]), np.array([0.4]))
    >>> [found.features.tolist() for found in with_dims(table, [box], 1)]
    [[0]]
    """
    if not boxes:
        return []
    low, high = quantiles(table, ONE_DEVIATION)
    whole = np.where(high > low, high - low, np.inf)
    spread = np.full((len(boxes), table.shape[1]), np.inf)
    members, taken = [], np.zeros(len(table), dtype=bool)
    for k, box in enumerate(boxes):
        rows = hold(table, box)
        members.append(rows & ~taken if (rows & ~taken).any() else rows)
        taken |= rows
        low, high = quantiles(table[members[k]], ONE_DEVIATION)
        spread[k] = (high - low) / whole
    spread = np.where(np.isnan(spread), np.inf, spread)
    first = spread.argmin(axis=1)
    spread[np.arange(len(boxes)), first] = -np.inf
    order = np.argsort(spread, axis=None, kind="stable")[: max(total, len(boxes))]
    chosen = np.zeros(spread.shape, dtype=bool)
    chosen.flat[order] = True
    return [_with_features(table, *each) for each in zip(boxes, members, chosen, strict=True)]


def _with_features(table: FloatArray, box: Box, rows: BoolArray, chosen: BoolArray) -> Box:
    features = np.flatnonzero(chosen)
    low = np.fmin.reduce(table[np.ix_(rows, features)], axis=0)
    high = np.fmax.reduce(table[np.ix_(rows, features)], axis=0)
    _, place, origin = np.intersect1d(features, box.features, return_indices=True)
    low[place], high[place] = box.low[origin], box.high[origin]
    return Box(features, low, high)
