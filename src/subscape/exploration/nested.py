"""Groups within groups: each cluster of a view that is sure is a table of its own, searched again.

A view that beats chance says that the table has groups; of a finer grouping the same test says
little, since anything finer than groups that are there beats a table without any. So every cluster
is asked by itself: its rows are searched, and held against tables without groups that are like
them. Clusters that are two or more are replaced by what they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.finders.density.valleys import merge_without_valley
from subscape.validation.criteria import DISSOLVED, SIGNIFICANCE_LEVEL
from subscape.validation.fitted_tails import Interval
from subscape.validation.max_statistic import NullMaxima
from subscape.validation.stability.clusters import best_jaccard

from .assess import ViewStability, best_scores
from .clouds import CloudSearch, ladder
from .select import choose_views
from .separation import GroupingScorer, Separation
from .slices import is_sliced

#: Clusters of a view that are searched, the largest first; p-values are multiplied by this.
MOST_SEARCHED = {"quick": 4, "normal": 10, "thorough": 20}
#: A cluster must have so many rows to be searched.
FEWEST_ROWS = 40
#: Numbers of clusters within one.
MOST_WITHIN = 6
#: From so many rows on valleys are seen in a few directions (two hundred rows a group), and what
#: none of them parts are pieces of a group that is no cloud.
FEWEST_TO_SEE = 400
MOST_DIRECTIONS = 4

#: What chance gives in a table: its columns, the few-valued ones among them, numbers of clusters,
#: the scores that it shall be clear about, where the grouping is seen, and a name.
Chance = Callable[
    [FloatArray, IndexArray, Sequence[int], tuple[float, float], FloatArray, str], NullMaxima
]


class Within(NamedTuple):
    """What a table shows as its clearest grouping.

    Attributes
    ----------
    labels : int array
    told : Separation
        In the columns of the table.
    """

    labels: IntArray
    told: Separation


@dataclass(frozen=True, eq=False)
class Split:
    """A cluster that is several.

    Attributes
    ----------
    rows : int array
    n_groups : int
    p_value : float
        Times the number of clusters that may be searched.
    basis : array of shape (n_columns, d)
        Where they are told apart.
    interval : Interval or None
        Where the p-value is, if a tail was fitted for it.
    """

    rows: IndexArray
    n_groups: int
    p_value: float
    basis: FloatArray
    interval: Interval | None = None


def find_splits(
    X: FloatArray,
    labels: IntArray,
    few_valued: IndexArray,
    effort: str,
    seed: int,
    chance: Chance,
    where: FloatArray | None = None,
) -> tuple[IntArray, list[Split]]:
    """Replace clusters that hold groups of their own by these.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    labels : int array of shape (n_rows,)
        Of a grouping that is sure; -1 is noise.
    few_valued : int array
        Columns that take few values.
    effort : str
    seed : int
    chance : callable
        See :data:`Chance`.
    where : array of shape (n_columns, d), optional
        Where groups of any shape are seen. One of them may be bent there, and however it is cut,
        its pieces are no groups: what it holds must be parted by valleys. (Of rings and curves
        tables without groups are drawn, too.) So must what a cluster of many rows holds anywhere.

    Returns
    -------
    labels : int array
        From 0 on; the same where nothing was split.
    splits : list of Split
    """
    current = np.asarray(labels, dtype=np.int64).copy()
    queue = [np.flatnonzero(current == k) for k in np.unique(current[current >= 0])]
    splits: list[Split] = []
    most = MOST_SEARCHED[effort]
    for number in range(most):
        queue = sorted(queue, key=lambda rows: (-len(rows), rows[0]))
        if not queue or len(queue[0]) < FEWEST_ROWS:
            break
        rows = queue.pop(0)
        columns = np.flatnonzero(X[rows].std(axis=0) > 1e-12)
        if not len(columns):
            continue
        part = np.ascontiguousarray(X[np.ix_(rows, columns)])
        few = np.flatnonzero(np.isin(columns, few_valued))
        found = clearest(part, few, seed)
        if found is None:
            continue
        seen = found.told.basis
        parts = found.labels
        if where is not None:
            seen = np.linalg.qr(where[columns])[0]
            parts = parted(part, parts, seen, found.told.basis)
        elif len(rows) >= FEWEST_TO_SEE:
            parts = parted(part, parts, seen[:, :MOST_DIRECTIONS])
        if not parts.any():
            continue
        numbers = ladder(len(part), MOST_WITHIN)
        reached = best_scores(part, seed, few, numbers=numbers)
        score = min(found.told.score, reached.score)
        normal = min(found.told.normal_score, reached.normal)
        held = chance(part, few, numbers, (score, normal), seen, f"within {number}")
        p_value = min(1.0, most * held.p_value(score, normal))
        interval = held.interval(score, normal).times(most)
        if not p_value <= SIGNIFICANCE_LEVEL:
            continue
        basis = np.zeros((X.shape[1], found.told.basis.shape[1]))
        basis[columns] = found.told.basis
        groups = [rows[parts == k] for k in np.unique(parts)]
        splits.append(Split(rows, len(groups), p_value, basis, interval))
        for group in groups[1:]:
            current[group] = current.max() + 1
        queue += groups
    numbers_left, places = np.unique(current, return_inverse=True)
    return places.astype(np.int64) - int(numbers_left[0] < 0), splits


def parted(X: FloatArray, labels: IntArray, *bases: FloatArray) -> IntArray:
    """Groups of rows that valleys of low density part, seen in the span of the bases.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    labels : int array of shape (n_rows,)
        Groups, some of which may be pieces of one.
    *bases : arrays of shape (n_columns, d)

    Returns
    -------
    int array of shape (n_rows,)
        From 0 on; 0 throughout where no valley parts any two.

    Examples
    --------
    >>> angle = np.random.default_rng(0).uniform(0, np.pi, 300)
    >>> arch = 5 * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> thirds = np.digitize(angle, [np.pi / 3, 2 * np.pi / 3])
    >>> int(parted(arch, thirds, np.eye(2)).max())
    0
    >>> gone = thirds != 1
    >>> np.bincount(parted(arch[gone], thirds[gone], np.eye(2))).tolist()
    [84, 121]
    """
    seen = X @ np.linalg.qr(np.column_stack(bases))[0]
    merged = merge_without_valley(seen, labels).labels
    return np.unique(merged, return_inverse=True)[1].ravel().astype(np.int64)


def clearest(X: FloatArray, few_valued: IndexArray, seed: int, n_groups: int = 0) -> Within | None:
    """The grouping of a table that is reported first; of ``n_groups``, if that is given."""
    finder = CloudSearch(MOST_WITHIN, tuple(few_valued.tolist()), seed).fit(X)
    options = [one.labels() for one in finder.clusterings_]
    if n_groups:
        options = [one for one in options if one.max() + 1 == n_groups] or options
    scorer = GroupingScorer(X, few_valued)
    options = [
        one for one in options if scorer(one).gain > 0 and not is_sliced(scorer, one, options)
    ]
    chosen = choose_views(scorer, options)
    if not chosen:
        return None
    labels = options[chosen[0].place]
    return Within(labels, scorer(labels))


def split_again(
    X: FloatArray,
    rows: IndexArray,
    found: IntArray,
    splits: Sequence[Split],
    few_valued: IndexArray,
    seed: int,
) -> IntArray:
    """What is found on a sample, with its part of every cluster that is several split again.

    Parameters
    ----------
    X : array
        All rows.
    rows : int array
        The sample.
    found : int array of the shape of ``rows``
        What was found there.
    splits : sequence of Split
    few_valued : int array
    seed : int
    """
    own = found.astype(np.int64).copy()
    for split in splits:
        inside = np.isin(rows, split.rows)
        if not inside.any() or not (own[inside] >= 0).any():
            continue
        # The cluster of the sample that is most of this one.
        values, counts = np.unique(own[inside & (own >= 0)], return_counts=True)
        places = np.flatnonzero(own == values[counts.argmax()])
        columns = np.flatnonzero(X[rows[places]].std(axis=0) > 1e-12)
        if len(places) < 2 * split.n_groups or not len(columns):
            continue
        part = np.ascontiguousarray(X[np.ix_(rows[places], columns)])
        again = clearest(part, np.flatnonzero(np.isin(columns, few_valued)), seed, split.n_groups)
        if again is not None:
            own[places] = np.where(again.labels > 0, own.max() + again.labels, own[places])
    return own


def steady_splits(
    splits: Sequence[Split],
    labels: IntArray,
    before: ViewStability | None,
    after: ViewStability | None,
) -> list[Split]:
    """The splits that are shown: not those whose parts dissolve, and come back less than the whole.

    A p-value says that some split is there, samples say whether this one is. A split within which
    another one is shown is shown, too.

    Parameters
    ----------
    splits : sequence of Split
        Each one after those that it lies in.
    labels : int array of shape (n_rows,)
        With all of them.
    before, after : ViewStability or None
        How the view came back without any of them, and with all.
    """
    if before is None or after is None:
        return list(splits)
    shown: list[Split] = []
    for split in reversed(splits):
        inside = np.zeros(len(labels), dtype=bool)
        inside[split.rows] = True
        parts = labels == np.unique(labels[split.rows])[:, None]
        holds_shown = any(inside[inner.rows].all() for inner in shown)
        least = min(DISSOLVED, _mean_jaccard(inside[None], before))
        if holds_shown or _mean_jaccard(parts, after) >= least:
            shown.insert(0, split)
    return shown


def _mean_jaccard(memberships: BoolArray, found: ViewStability) -> float:
    """How well clusters come back on samples, in the mean of clusters and samples; else 1."""
    overlaps = [best_jaccard(memberships[:, rows], labels).mean() for rows, labels in found.samples]
    return float(np.mean(overlaps)) if overlaps else 1.0


def undone(labels: IntArray, splits: Sequence[Split]) -> IntArray:
    """Labels with the parts of each split as one cluster again.

    >>> undone(np.array([0, 0, 2, 1]), [Split(np.array([0, 1, 2]), 2, 0.0, np.zeros((1, 1)))])
    array([0, 0, 0, 1])
    """
    whole = labels.copy()
    for split in splits:
        whole[split.rows] = whole[split.rows].min()
    numbers, places = np.unique(whole, return_inverse=True)
    return places.astype(np.int64) - int(numbers[0] < 0)
