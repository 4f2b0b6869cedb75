"""Clusters of a view in the columns of the table: which features tell, where they lie, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import count
from subscape.core.prototypes import describe, interval_text
from subscape.core.subspaces import AxisSubspaces, WeightedSubspaces
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.tables.table import Table
from subscape.validation.features import feature_tests

from .parted_tables import PartedTable
from .preparation import Prepared, shown_numbers

#: A feature is one of a cluster's own if it tells at least so many nats about it …
TELLING = 0.3
#: … and at least this share of what the cluster's most telling feature does.
SHARE_OF_BEST = 0.2
#: Spreads are floored at this share of the column's own.
SMALLEST_SPREAD = 1e-3
#: Features are named for sure up to this rate of false discoveries.
FALSE_DISCOVERIES = 0.05
#: Features named in a sentence.
NAMED = 5
#: Cohen's word for a difference that nobody overlooks, in standard deviations.
LARGE_EFFECT = 0.8
#: Rows of a cluster from which its features can be tested.
FEWEST_TESTED = 2
#: Features of a cluster that are tested, the most telling.
MOST_TESTED = 500
#: A column has a floor if at least this share of its cells are equal to its smallest value, as
#: counts and expression are 0 where a thing is absent …
FLOOR_SHARE = 0.2
#: … and if it has more values than these: else its values are levels.
FEW_VALUES = 5
#: Bars of a histogram, and facts of a cluster that have one.
BARS, MOST_HISTOGRAMS = 16, 30
#: Facts kept for a cluster, the most telling; the relevance of all features is in its clustering.
MOST_FACTS = 1000


@dataclass(frozen=True)
class FeatureFact:
    """One feature of one cluster.

    Attributes
    ----------
    feature : str
    information : float
        Nats per row that the feature tells about the cluster (Kullback-Leibler divergence of the
        cluster's rows from all rows, as normal distributions or as shares of levels).
    is_own : bool
        Whether the feature belongs to the cluster's subspace.
    low, high : float or None
        Interval of the middle 90 % of its rows.
    overall_low, overall_high : float or None
        The same of all rows.
    effect : float or None
        Difference to the other rows, in standard deviations (Cohen's d).
    level : str or None
        For nominal features, the level that is most typical of the cluster.
    share, elsewhere : float or None
        Its share in the cluster and among the other rows.
    imputed : float
        Share of the cluster's cells that were missing.
    p_value : float or None
        As of :func:`subscape.validation.feature_tests`, before it is corrected for the number of
        tests.
    q_value : float or None
        False discovery rate at which the feature is named, decided on rows and values that did not
        make the cluster (:func:`subscape.validation.feature_tests`); None where that was not asked.
    effect_low, effect_high : float or None
        Interval (95 %) of the difference, computed so: in standard deviations, of columns with two
        values in shares.
    floor : float or None
        The smallest value of a column in which it is frequent: 0 in counts and expression, where a
        thing is absent.
    above, above_elsewhere : float or None
        Share of the cluster's rows, and of the others, above the floor.
    median_above : float or None
        Median of the cluster's values above the floor.
    bars, overall_bars : tuple of int
        Histogram of the cluster's values and of all, over ``bars_low`` to ``bars_high``; empty for
        nominal features and for those that tell little.
    bars_low, bars_high : float or None

    See Also
    --------
    subscape.exploration.View : The view whose clusters they explain.
    """

    feature: str
    information: float
    is_own: bool
    low: float | None = None
    high: float | None = None
    overall_low: float | None = None
    overall_high: float | None = None
    effect: float | None = None
    level: str | None = None
    share: float | None = None
    elsewhere: float | None = None
    imputed: float = 0.0
    p_value: float | None = None
    q_value: float | None = None
    effect_low: float | None = None
    effect_high: float | None = None
    floor: float | None = None
    above: float | None = None
    above_elsewhere: float | None = None
    median_above: float | None = None
    bars: tuple[int, ...] = ()
    overall_bars: tuple[int, ...] = ()
    bars_low: float | None = None
    bars_high: float | None = None

    @property
    def is_absent(self) -> bool:
        """Whether the cluster lacks what other rows have: fewer of its values are above the floor.

        What a group has tells people more than what it has not.
        """
        if self.floor is None or self.above is None or self.above_elsewhere is None:
            return False
        return self.above < self.above_elsewhere or (
            self.above == self.above_elsewhere and not (self.effect or 0.0) >= 0
        )

    @property
    def is_sure(self) -> bool:
        """Whether rows and values that did not make the cluster show the difference, too."""
        return self.q_value is None or self.q_value <= FALSE_DISCOVERIES

    def words(self) -> str:
        """The fact as a few words.

        Returns
        -------
        str
        """
        if self.level is not None:
            return f"{self.feature} = {self.level} ({self.share:.0%}, others {self.elsewhere:.0%})"
        if self.low is None or self.high is None or not np.isfinite(self.low):
            return f"{self.feature} unknown"
        if self.floor is not None and self.above is not None:
            shares = f"{self.above:.0%} (others {self.above_elsewhere:.0%})"
            middle = "" if self.median_above is None else f", there about {self.median_above:.3g}"
            if self.is_absent:
                return f"less {self.feature}: above {self.floor:.3g} in {shares}"
            return f"{self.feature} above {self.floor:.3g} in {shares}{middle}"
        return f"{self.feature} in {interval_text(self.low, self.high)}"


def in_table_columns(
    table: Table | PartedTable,
    ready: Prepared,
    memberships: BoolArray,
    everyone: BoolArray | sparse.csr_array,
    own: BoolArray | None = None,
) -> tuple[SubspaceClustering, FloatArray]:
    """The clusters over the features of the table, and how much each feature tells.

    Parameters
    ----------
    table : Table
        The whole table.
    ready : Prepared
        The rows that were searched.
    memberships, everyone : bool arrays of shape (n_clusters, n_rows)
        Members among the rows that were searched, and among all; the latter may be sparse.
    own : bool array of shape (n_clusters, n_columns), optional
        The columns searched that are each cluster's own, where that is known.

    Returns
    -------
    clustering : SubspaceClustering
        Axis-aligned where every cluster has features that tell on their own; weighted where it
        takes several together.
    information : array of shape (n_clusters, n_features)
        Nats per row.
    """
    information = _information(ready, memberships)
    best = information.max(axis=1, initial=0.0)
    members = sparse.csr_array(everyone)
    if own is not None or len(best) == 0 or (best >= TELLING).mean() >= 0.5:
        masks = (information >= TELLING) & (information >= SHARE_OF_BEST * best[:, None])
        if own is not None:
            masks = ready.fold(own.astype(np.float64)) > 0
        weak = np.flatnonzero(~masks.any(axis=1))
        masks[weak, information[weak].argmax(axis=1)] = True
        subspaces: Any = AxisSubspaces(masks)
    else:
        weights = np.maximum(information, 0.0) + 1e-12 * ready.searched
        subspaces = WeightedSubspaces(weights / weights.sum(axis=1, keepdims=True))
    clustering = SubspaceClustering(
        members, subspaces, feature_names=table.feature_names, row_names=table.row_names
    )
    return clustering, information


def _information(ready: Prepared, memberships: BoolArray) -> FloatArray:
    """Divergence of each cluster from all rows, column by column, folded to features.

    Imputed cells are left out: what they hold was told by other columns.
    """
    X, n_columns = ready.X, ready.X.shape[1]
    present = ~ready.absent[:, ready.origin]
    nominal = np.ones(n_columns, dtype=bool)
    nominal[ready.numeric] = False
    per_column = np.zeros((len(memberships), n_columns))
    # Of a column with a floor, whether a row is above it tells something, and then where it is: by
    # its spread alone, a thing that is absent from a cluster would tell most.
    floors = has_floor(X, present) & ~nominal
    above = present & ~(floors & (np.where(present, X, np.inf).min(axis=0) >= X))
    every = _moments(X, above)
    n_every, n_above = present.sum(axis=0), above.sum(axis=0)
    for k, rows in enumerate(memberships):
        per_column[k] = _normal_terms(_moments(X[rows], above[rows]), every)
        if floors.any():
            n_inside, n_there = present[rows].sum(axis=0), above[rows].sum(axis=0)
            p, q = (n_there + 0.5) / (n_inside + 1.0), (n_above + 0.5) / (n_every + 1.0)
            p, q = p[floors], q[floors]
            told = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
            # Where hardly a row is above the floor, nothing can be said of where.
            normal = np.where(n_there[floors] > FEWEST_TESTED, per_column[k, floors], 0.0)
            per_column[k, floors] = told + p * normal
        if nominal.any():
            per_column[k, nominal] = _level_terms(ready, X, present, rows)[nominal]
    return ready.fold(per_column)


def has_floor(X: FloatArray, present: BoolArray) -> BoolArray:
    """Columns in which the smallest value is frequent, and that have more than a few values.

    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 3.0], [1.0, 4.0], [2.0, 5.0], [4, 6], [5, 7]])
    >>> has_floor(X, np.ones(X.shape, dtype=bool)).tolist()
    [True, False]
    """
    lowest = np.where(present, X, np.inf).min(axis=0)
    number = np.maximum(present.sum(axis=0), 1)
    found = (present & (lowest >= X)).sum(axis=0) >= np.maximum(FLOOR_SHARE * number, 2)
    for j in np.flatnonzero(found):
        found[j] = len(np.unique(X[present[:, j], j])) > FEW_VALUES
    return found


def _normal_terms(
    inside: tuple[FloatArray, FloatArray], every: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Divergence of normal distributions with these means and spreads, column by column."""
    (mean, spread), (middle, wide) = inside, every
    narrow = np.maximum(spread, SMALLEST_SPREAD * wide)
    ratio = np.divide(narrow, wide, out=np.ones_like(narrow), where=wide > 0)
    shift = np.divide(mean - middle, wide, out=np.zeros_like(mean), where=wide > 0)
    return -np.log(ratio) + 0.5 * (np.square(ratio) + np.square(shift) - 1.0)


def _moments(X: FloatArray, present: BoolArray) -> tuple[FloatArray, FloatArray]:
    counts = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, X, 0.0).sum(axis=0) / counts
    squares = np.where(present, np.square(X - mean), 0.0).sum(axis=0) / counts
    return mean, np.sqrt(squares)


def _level_terms(ready: Prepared, X: FloatArray, present: BoolArray, rows: BoolArray) -> FloatArray:
    """p log(p / q) for every indicator column, p within the rows and q in all."""
    heights = np.array([r.height / r.scale for r in ready.recipes])
    bottoms = np.array([-r.centre / r.scale for r in ready.recipes])
    on = (X - bottoms) > 0.5 * heights
    inside = present & rows[:, None]
    q = (on & present).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    p = (on & inside).sum(axis=0) / np.maximum(inside.sum(axis=0), 1)
    terms = np.zeros(len(p))
    both = (p > 0) & (q > 0)
    terms[both] = p[both] * np.log(p[both] / q[both])
    return terms


class FeatureEvidence(NamedTuple):
    """Which features tell each cluster, by rows and values that did not make it.

    Arrays of shape (n_clusters, n_features): the p-value, the rate of false discoveries at which a
    feature is named, and the interval of its effect (NaN where none was computed). ``of_levels``
    has the interval of each level, by cluster, feature and level.
    """

    p_value: FloatArray
    q_value: FloatArray
    low: FloatArray
    high: FloatArray
    of_levels: dict[tuple[int, int, str], tuple[float, float]]


def feature_evidence(ready: Prepared, labels: IntArray, information: FloatArray) -> FeatureEvidence:
    """Test the columns of the prepared table, and fold them to the features of the table.

    A nominal feature counts by its most telling level. ``information`` is what each feature tells
    about each cluster.
    """
    shape = (len(information), ready.n_features)
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    found = FeatureEvidence(np.ones(shape), np.ones(shape), low, high, {})
    numbers, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if len(numbers) < 2 or sizes.min() < FEWEST_TESTED:
        return found
    # Of wide tables those that tell most: what is not tested counts as not telling.
    columns = np.flatnonzero(np.isin(ready.origin, _most_telling(information)))
    X = np.where(ready.absent[:, ready.origin[columns]], np.nan, ready.X[:, columns])
    tested = feature_tests(X, labels, origin=ready.origin[columns])
    share = len(columns) / len(ready.origin)
    for row, k in enumerate(tested.clusters.tolist()):
        order = np.argsort(-tested.p_value[row], kind="stable")  # the most telling one last
        for j in order:
            feature = ready.origin[columns[j]]
            found.p_value[k, feature] = tested.p_value[row, j]
            found.q_value[k, feature] = min(1.0, tested.q_value[row, j] / share)
            found.low[k, feature] = tested.low[row, j]
            found.high[k, feature] = tested.high[row, j]
            levels = ready.recipes[columns[j]].levels
            if levels is not None and len(levels) == 1:
                interval = float(tested.low[row, j]), float(tested.high[row, j])
                found.of_levels[k, int(feature), levels[0]] = interval
    return found


def _most_telling(information: FloatArray) -> IndexArray:
    """Features that are among the most telling of some cluster."""
    first = np.argsort(-information, axis=1, kind="stable")[:, :MOST_TESTED]
    return np.unique(first)


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def facts(
    table: Table,
    ready: Prepared,
    clustering: SubspaceClustering,
    information: FloatArray,
    memberships: BoolArray,
    told: FeatureEvidence | None = None,
) -> tuple[tuple[FeatureFact, ...], ...]:
    """Facts about every cluster; features not searched are left out.

    First those that are sure, and of these the most telling. Of counts and the like, what a cluster
    surely or plainly has more of comes before what it surely lacks. At most :data:`MOST_FACTS` for
    each.
    """
    names = table.feature_names
    numeric = {name: j for j, name in enumerate(table.numeric_names)}
    own = own_features(clustering)
    located, has_absences = None, False
    if numeric:
        numbers, power = shown_numbers(table, ready)
        whole = AxisSubspaces(np.ones((len(memberships), numbers.shape[1]), dtype=bool))
        located = describe(numbers, SubspaceClustering(sparse.csr_array(memberships), whole))
        ends = _middle(numbers)
        floors = has_floor(numbers, ~np.isnan(numbers))
        has_absences = bool(floors.mean() > 0.5)
        lowest = np.fmin.reduce(numbers, axis=0, initial=np.inf)
    every = []
    for k, rows in enumerate(memberships):
        listed: list[FeatureFact] = []
        order = np.argsort(-information[k], kind="stable")
        for j in order[ready.searched[order]][:MOST_FACTS]:
            name = names[j]
            fact = {
                "feature": name,
                "information": float(information[k, j]),
                "is_own": bool(own[k, j]),
                "imputed": float(ready.absent[rows, j].mean()) if rows.any() else 0.0,
            }
            if name in numeric and located is not None:
                place = numeric[name]
                fact |= {
                    "low": float(np.ldexp(located.low[k, place], power[place])),
                    "high": float(np.ldexp(located.high[k, place], power[place])),
                    "overall_low": float(np.ldexp(ends[0, place], power[place])),
                    "overall_high": float(np.ldexp(ends[1, place], power[place])),
                    "effect": float(located.effect[k, place]),
                }
                if floors[place]:
                    column, scale = numbers[:, place], int(power[place])
                    fact |= _above_floor(column, rows, float(lowest[place]), scale)
                if len(listed) < MOST_HISTOGRAMS:
                    fact |= histogram(numbers[:, place], rows, int(power[place]))
            else:
                fact |= _typical_level(table, name, rows)
            if told is not None:
                low, high = float(told.low[k, j]), float(told.high[k, j])
                if "level" in fact:  # the one that is shown; another may tell as much, or more
                    low, high = told.of_levels.get((k, int(j), fact["level"]), (np.nan, np.nan))
                fact |= {
                    "p_value": float(told.p_value[k, j]),
                    "q_value": float(told.q_value[k, j]),
                    "effect_low": _or_none(low),
                    "effect_high": _or_none(high),
                }
            listed.append(FeatureFact(**fact))
        # Stable: by what they tell within each kind.
        every.append(tuple(sorted(listed, key=lambda one: _kind_of_fact(one, has_absences))))
    return tuple(every)


def _kind_of_fact(fact: FeatureFact, has_absences: bool) -> int:
    """What is sure comes first, but where things may be absent, what is plainly there does.

    Few columns leave little to hold one of them against, so that a plain marker can stay unsure;
    that the cluster lacks the markers of all others is sure, and says less.
    """
    lower = fact.floor is None and fact.effect is not None and fact.effect < 0
    lacks = fact.is_absent or (has_absences and lower)
    if fact.is_sure:
        return 2 if lacks else 0
    is_plain = (fact.effect or 0.0) >= LARGE_EFFECT and (fact.effect_low or 0.0) > 0
    has_more = fact.floor is not None or has_absences
    return 1 if has_more and is_plain and not lacks else 3


def _above_floor(column: FloatArray, rows: BoolArray, floor: float, power: int) -> dict[str, Any]:
    """How many values of the cluster, and of the others, are above the floor, and about where."""
    present = ~np.isnan(column)
    above = present & (column > floor)
    inside, outside = present & rows, present & ~rows
    there = column[above & rows]
    return {
        "floor": float(np.ldexp(floor, power)),
        "above": float(above[inside].mean()) if inside.any() else 0.0,
        "above_elsewhere": float(above[outside].mean()) if outside.any() else 0.0,
        "median_above": float(np.ldexp(np.median(there), power)) if len(there) else None,
    }


def histogram(column: FloatArray, rows: BoolArray, power: int = 0) -> dict[str, Any]:
    """Bars of the cluster's values and of all, over the middle 98 % of all; others in the last."""
    present = column[~np.isnan(column)]
    if len(present) == 0:
        return {}
    low, high = (float(end) for end in np.quantile(present, (0.01, 0.99)))
    if not high > low:
        low, high = float(present.min()), float(present.max())
    if not high > low:
        return {}
    inside = column[rows & ~np.isnan(column)]
    bars, overall = (
        np.histogram(np.clip(values, low, high), BARS, (low, high))[0]
        for values in (inside, present)
    )
    return {
        "bars": tuple(bars.tolist()),
        "overall_bars": tuple(overall.tolist()),
        "bars_low": float(np.ldexp(low, power)),
        "bars_high": float(np.ldexp(high, power)),
    }


def _middle(numbers: FloatArray) -> FloatArray:
    """Where the middle 90 % of each column begin and end; NaN for a column without values."""
    ends = np.full((2, numbers.shape[1]), np.nan)
    gaps = np.isnan(numbers)
    whole, some = ~gaps.any(axis=0), gaps.any(axis=0) & ~gaps.all(axis=0)
    # Columns without gaps at once: the way around NaN goes column by column, and is slow.
    ends[:, whole] = np.quantile(numbers[:, whole], (0.05, 0.95), axis=0)
    ends[:, some] = np.nanquantile(numbers[:, some], (0.05, 0.95), axis=0)
    return ends


def own_features(clustering: SubspaceClustering) -> BoolArray:
    """For each cluster, the features of its subspace (those with much weight, if weighted)."""
    relevance = clustering.subspaces.relevance
    if clustering.kind == "axis":
        return relevance > 0
    return relevance >= SHARE_OF_BEST * relevance.max(axis=1, keepdims=True)


def _typical_level(table: Table, name: str, rows: BoolArray) -> dict[str, Any]:
    codes = table.nominal[name]
    levels = table.column(name).levels or ()
    inside = np.bincount(codes[rows & (codes >= 0)], minlength=len(levels))
    outside = np.bincount(codes[~rows & (codes >= 0)], minlength=len(levels))
    share = inside / max(int(inside.sum()), 1)
    elsewhere = outside / max(int(outside.sum()), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(share > 0, share * np.log(share / np.maximum(elsewhere, 1e-3)), -1.0)
    best = int(surprise.argmax())
    return {
        "level": levels[best],
        "share": float(share[best]),
        "elsewhere": float(elsewhere[best]),
    }


def sentence(
    number: int,
    size: int,
    n_rows: int,
    listed: tuple[FeatureFact, ...],
    n_own: int | None = None,
) -> str:
    """``cluster 2: 214 rows (21 %); age in [31, 44], colour = red (80 %, others 12 %)``.

    ``number`` is the cluster's in Python, from 0; people count from 1.
    ``n_own`` is the number of its own features where not all of them are listed. Features that only
    the rows that made the cluster show are not named, unless there is no other.
    """
    own = [fact for fact in listed if fact.is_own]
    sure = [fact for fact in own if fact.is_sure]
    parts = [fact.words() for fact in sure[:NAMED]]
    if not sure and own:
        parts = [f"perhaps {fact.words()}" for fact in own[:1]]
    more = (len(own) if n_own is None else n_own) - len(parts)
    if more > 0:
        parts.append(f"and {count(more, 'more feature')}")
    text = f"cluster {number + 1}: {count(size, 'row')} ({size / max(n_rows, 1):.0%})"
    return f"{text}; {', '.join(parts)}" if parts else text


# -- the values behind the pictures ---------------------------------------------------------------


#: Features of a view whose values are kept for its pictures, and of each cluster at least.
MOST_DRAWN, DRAWN_OF_EACH = 24, 3


def drawn_features(listed: Sequence[Sequence[FeatureFact]]) -> list[str]:
    """The numeric features that a picture of the clusters needs: the first ones of each cluster.

    In the order of the clusters, so that features of one lie side by side.
    """
    each = max(DRAWN_OF_EACH, MOST_DRAWN // max(len(listed), 1))
    chosen: dict[str, None] = {}
    for told in listed:
        own = [fact.feature for fact in told if fact.is_own and fact.level is None]
        for feature in own[:each]:
            chosen.setdefault(feature)
    return list(chosen)[:MOST_DRAWN]


def shown_values(
    table: Table, facts_of_views: Sequence[Sequence[Sequence[FeatureFact]]], rows: IndexArray
) -> tuple[tuple[str, ...], FloatArray]:
    """Names and values of the features that the pictures of some views need, for the shown rows."""
    wanted = {name for listed in facts_of_views for name in drawn_features(listed)}
    place = {name: j for j, name in enumerate(table.numeric_names)}
    names = [name for name in table.numeric_names if name in wanted]
    part = table.X[rows][:, [place[name] for name in names]]
    values = part.toarray() if sparse.issparse(part) else np.asarray(part)
    # The digits of single precision are enough for pictures; its range is not, for all tables.
    digits, powers = np.frexp(np.asarray(values, dtype=np.float64))
    return tuple(names), np.ldexp(digits.astype(np.float32).astype(np.float64), powers)
