"""Other ideas of a group than a cloud or a box: classes in levels, and shapes; and which one fits.

Every idea is searched for in the table and in tables without groups of a kind that suits it, so
that what it gains is held against what chance gives the same search. The p-values of all ideas
that were tried are multiplied by their number (Bonferroni): one table, one chance to be fooled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.metrics import adjusted_rand_score

from subscape.core.errors import count
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.finders.classes.class_score import ClassScorer
from subscape.finders.classes.latent_classes import likeliest_classes
from subscape.finders.classes.level_table import LevelTable, columns_of_levels
from subscape.finders.density.subspaces import standardised
from subscape.finders.density.valleys import valley_score
from subscape.tables.table import Table
from subscape.validation.classes import best_classes, class_test
from subscape.validation.fitted_tails import Interval
from subscape.validation.stability.clusters import best_jaccard
from subscape.validation.valley_lines import split_test

from .assess import ViewStability
from .clouds import climb
from .information import canonical, novelty
from .preparation import FEW_VALUES, Prepared
from .separation import GroupingScorer
from .shapes import MOST_COLUMNS, find_shapes, shapes_again

#: Classes are looked for if so many columns hold levels, and they are this share of all.
FEWEST_LEVELLED = 3
LEAST_LEVELLED = 0.25
#: … and if the rows are no more than this (a sample of them, else) and the columns, too.
MOST_CLASS_ROWS = 1000
MOST_CLASS_COLUMNS = 300
#: A grouping is a version of another if it tells at most this share of its information beyond it.
VERSION = 0.35
#: Shapes are looked for among at least so many rows.
FEWEST_ROWS = 20


@dataclass(frozen=True, eq=False)
class IdeaView:
    """A grouping that follows another idea than clouds or boxes.

    Attributes
    ----------
    idea : {"classes", "shapes", "nested"}
    labels : int array of shape (n_rows,)
        Of the rows searched.
    score : float
        What it gains, per row.
    p_value : float
        Not yet corrected for the number of ideas.
    maxima : tuple of float
        What was gained in tables without groups.
    columns : int array
        Columns of the prepared table that take part.
    basis : array of shape (n_columns, d)
        Where the grouping is seen, in prepared columns.
    finders : tuple of str
    note : str
        What the idea is, in words.
    again : callable
        Given positions of rows, the labels that the same search finds there.
    gain : callable
        What labels of all rows searched gain.
    n_tables : int
        Tables without groups of each kind.
    interval : Interval or None
        Where the p-value is, if a tail was fitted for it.
    """

    idea: str
    labels: IntArray
    score: float
    p_value: float
    maxima: tuple[float, ...]
    columns: IndexArray
    basis: FloatArray
    finders: tuple[str, ...]
    note: str
    again: Callable[[IndexArray], IntArray]
    gain: Callable[[IntArray], float]
    n_tables: int = 0
    interval: Interval | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(np.unique(self.labels[self.labels >= 0]))


# -- classes --------------------------------------------------------------------------------------


def as_levels(table: Table, ready: Prepared) -> tuple[FloatArray, BoolArray]:
    """Features as codes of levels and numbers, NaN where missing; and which hold levels.

    Numbers are normal scores: within a class they are taken to be normal, and a long tail is none.
    """
    codes = table.nominal
    numbers = ready.in_normal_scores()
    names = [name for name, used in zip(table.feature_names, ready.searched, strict=True) if used]
    features = np.flatnonzero(ready.searched)
    columns, levelled = [], []
    for feature, name in zip(features, names, strict=True):
        if name in codes:
            column = codes[name].astype(np.float64)
            column[column < 0] = np.nan
            levelled.append(True)
        else:
            place = int(np.flatnonzero(ready.origin == feature)[0])
            column = ready.X[:, place].copy()
            if not len(columns_of_levels(column[:, None], "auto")):
                column = numbers[:, place].copy()
            column[ready.absent[:, feature]] = np.nan
            levelled.append(False)
        columns.append(column)
    values = np.column_stack(columns)
    mask = np.array(levelled)
    automatic = np.zeros(len(mask), dtype=bool)
    automatic[columns_of_levels(values, "auto")] = True
    return values, mask | automatic


def can_have_classes(table: Table, ready: Prepared) -> bool:
    """Whether enough columns hold levels for classes to be looked for."""
    values, levelled = as_levels(table, ready)
    enough = levelled.sum() >= max(FEWEST_LEVELLED, LEAST_LEVELLED * len(levelled))
    return bool(enough and len(levelled) <= MOST_CLASS_COLUMNS and len(values) >= FEWEST_ROWS)


def find_classes(table: Table, ready: Prepared, *, n_tables: int, seed: int) -> IdeaView | None:
    """Classes of a table of levels, or of levels and numbers, held against tables without.

    None if it has a single class.
    """
    values, levelled = as_levels(table, ready)
    rng = np.random.default_rng([seed, 31])
    rows = np.arange(len(values))
    if len(rows) > MOST_CLASS_ROWS:
        rows = np.sort(rng.choice(len(rows), MOST_CLASS_ROWS, replace=False))
    tested = class_test(values[rows], levelled, n_tables=n_tables, random_state=seed)
    scorer = ClassScorer(LevelTable.of(values, levelled))
    known = tested.labels.astype(np.int64)
    labels = known
    if len(rows) < len(values):
        labels = likeliest_classes(scorer.table, rows, known)
        labels[rows] = known

    def again(sample: IndexArray) -> IntArray:
        sub = ClassScorer(scorer.table.rows(sample), like=scorer)
        found = best_classes(sub, np.random.default_rng([seed, 37, len(sample), int(sample[0])]))
        return found.labels.astype(np.int64)

    n_groups = len(np.unique(labels))
    if n_groups < 2:
        return None
    without = {"tree": "pairs of columns", "traits": "one or two traits"}.get(
        tested.found.without, "columns by themselves"
    )
    return IdeaView(
        idea="classes",
        labels=canonical(labels),
        score=float(tested.evidence),
        p_value=tested.p_value(),
        maxima=tuple(float(x) for own in tested.maxima.values() for x in own),
        columns=np.arange(ready.X.shape[1]),
        basis=np.eye(ready.X.shape[1]),
        finders=("LatentClasses",),
        note=(
            f"{count(n_groups, 'class', 'classes')}: within each, the columns say nothing more "
            f"about each other; held against what {without} tell without classes"
        ),
        again=again,
        gain=lambda given: float(scorer(given).gain),
        n_tables=min(map(len, tested.maxima.values()), default=0),
        interval=tested.interval(),
    )


# -- shapes ---------------------------------------------------------------------------------------


def numbers_of(ready: Prepared) -> IndexArray:
    """Columns that hold numbers with more than a few values."""
    return np.setdiff1d(ready.numeric, ready.few_valued)


def shape_columns(ready: Prepared) -> IndexArray:
    """Numbers among which shapes are looked for; none if they are too many.

    Columns in one unit count as numbers even if they are yes and no, but these have no shape: rows
    lie on each other, and any two such columns have four heaps.
    """
    columns = numbers_of(ready)
    if len(columns) > MOST_COLUMNS:
        return columns[:0]
    many = [len(np.unique(ready.X[:, j])) > FEW_VALUES for j in columns]
    return columns[np.array(many, dtype=bool)]


def can_have_shapes(ready: Prepared) -> bool:
    """Whether there are enough numbers for shapes to be looked for."""
    return len(ready.X) >= FEWEST_ROWS and len(shape_columns(ready)) >= 2


def shapes_view(
    ready: Prepared,
    *,
    n_tables: int,
    seed: int,
    tell: Callable[[int, int], Any] | None = None,
    is_known: Callable[[IntArray], bool] | None = None,
) -> IdeaView | None:
    """Groups of any shape among the numbers of a table; None if there are none that are new."""
    X, columns = ready.X, shape_columns(ready)
    found = find_shapes(X[:, columns], n_tables=n_tables, seed=seed, tell=tell, is_known=is_known)
    if found.n_groups < 2:
        return None
    spread = np.maximum(X[:, columns].std(axis=0), 1e-300)
    basis = np.zeros((X.shape[1], found.basis.shape[1]))
    basis[columns] = found.basis / spread[:, None]
    points = standardised(X[:, columns]) @ found.basis

    def again(sample: IndexArray) -> IntArray:
        return shapes_again(standardised(X[np.ix_(sample, columns)]), found)

    def gain(labels: IntArray) -> float:
        return float(valley_score(points, labels).gain)

    part = "valleys of low density" if found.by == "valleys" else "gaps without rows"
    return IdeaView(
        idea="shapes",
        labels=canonical(found.labels),
        score=found.score,
        p_value=found.p_value,
        maxima=tuple(x for own in found.maxima.values() for x in own),
        columns=columns[list(found.columns)] if found.columns else columns,
        basis=basis,
        finders=("DensityTree",) if found.by == "valleys" else ("single linkage",),
        note=f"{count(found.n_groups, 'group')} of any shape, parted by {part}",
        again=again,
        gain=gain,
        n_tables=min(map(len, found.maxima.values()), default=0),
        interval=found.interval(),
    )


# -- a valley along a line -------------------------------------------------------------------------


def line_view(ready: Prepared, *, seed: int) -> IdeaView | None:
    """Two groups on the sides of a valley along a line of the numbers; None if there is none.

    The line is chosen by one half of the rows and tested on the other, so that no tables without
    groups are needed, and heavy tails do no harm. Numbers are looked at as they are and as normal
    scores, and the surer valley is taken, its p-value doubled.
    """
    columns = numbers_of(ready)
    if not len(columns) or len(ready.X) < FEWEST_ROWS:
        return None
    looks = [ready.X[:, columns], ready.in_normal_scores()[:, columns]]
    tested = [split_test(look, seed) for look in looks]
    which = int(np.argmin([each.p_value for each in tested]))
    found, seen = tested[which], looks[which]
    if len(np.unique(found.labels)) < 2:
        return None
    basis = np.zeros((ready.X.shape[1], 1))
    basis[columns, 0] = found.direction
    p_value = min(1.0, 2 * found.p_value)
    return IdeaView(
        idea="shapes",
        labels=sides(seen, found.labels),
        score=-float(np.log(max(p_value, 1e-300))) / len(seen),
        p_value=p_value,
        maxima=(),
        columns=columns,
        basis=basis,
        finders=("split test",),
        note="two groups parted by a valley along a line that other rows chose",
        again=lambda sample: sides(seen[sample], split_test(seen[sample], seed).labels),
        gain=lambda labels: float(valley_score(seen @ found.direction[:, None], labels).gain),
        n_tables=0,
    )


def sides(X: FloatArray, labels: IntArray) -> IntArray:
    """The two sides of a valley, with rows where they are described best.

    A line shows that there are two groups; where each row belongs all columns say together.
    """
    if len(np.unique(labels)) < 2:
        return canonical(labels)
    return canonical(climb(X, labels, GroupingScorer(X))[1])


# -- how an idea comes back on samples ------------------------------------------------------------


def returned(view: IdeaView, X: FloatArray, samples: Sequence[IndexArray]) -> ViewStability:
    """Search samples of the rows again; the first two are the halves."""
    found = [view.again(rows) for rows in samples]
    memberships = np.array([view.labels == k for k in range(view.n_groups)])
    agreements, overlaps = [], []
    for rows, labels in zip(samples[2:], found[2:], strict=True):
        agreements.append(float(adjusted_rand_score(view.labels[rows], labels)))
        overlaps.append(best_jaccard(memberships[:, rows], labels))
    seen = X @ view.basis
    near = cKDTree(seen[samples[0]]).query(seen[samples[1]])[1]
    return ViewStability(
        stability=float(np.mean(agreements)) if agreements else float("nan"),
        clusters=np.mean(overlaps, axis=0) if overlaps else np.full(view.n_groups, np.nan),
        replication=float(adjusted_rand_score(found[0][near], found[1])),
        samples=tuple(zip(samples[2:], found[2:], strict=True)),
        halves=tuple(zip(samples[:2], found[:2], strict=True)),
    )


# -- which idea fits ------------------------------------------------------------------------------


def is_version(a: IntArray, b: IntArray) -> bool:
    """Whether one of two groupings is told by the other."""
    return min(novelty(a, b), novelty(b, a)) <= VERSION
