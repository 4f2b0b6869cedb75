"""Clusters of a view in the columns of the table: which features tell, where they lie, in words."""

from __future__ import annotations

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
#: Rows of a cluster from which its features can be tested.
FEWEST_TESTED = 2
#: Features of a cluster that are tested, the most telling.
MOST_TESTED = 500
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
    q_value : float or None
        False discovery rate at which the feature is named, decided on rows and values that did not
        make the cluster (:func:`subscape.validation.feature_tests`); None where that was not asked.
    effect_low, effect_high : float or None
        Interval (95 %) of the difference, computed so: in standard deviations, of columns with two
        values in shares.
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
    q_value: float | None = None
    effect_low: float | None = None
    effect_high: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether rows and values that did not make the cluster show the difference, too."""
        return self.q_value is None or self.q_value <= FALSE_DISCOVERIES

    def words(self) -> str:
        """The fact as a few words."""
        if self.level is not None:
            return f"{self.feature} = {self.level} ({self.share:.0%}, others {self.elsewhere:.0%})"
        if self.low is None or self.high is None or not np.isfinite(self.low):
            return f"{self.feature} unknown"
        return f"{self.feature} in {interval_text(self.low, self.high)}"


def in_table_columns(
    table: Table,
    ready: Prepared,
    memberships: BoolArray,
    everyone: BoolArray,
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
        Members among the rows that were searched, and among all.
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
    every = _moments(X, present)
    for k, rows in enumerate(memberships):
        inside = _moments(X[rows], present[rows])
        mean, spread = inside
        wide = every[1]
        narrow = np.maximum(spread, SMALLEST_SPREAD * wide)
        ratio = np.divide(narrow, wide, out=np.ones_like(narrow), where=wide > 0)
        shift = np.divide(mean - every[0], wide, out=np.zeros_like(mean), where=wide > 0)
        per_column[k] = -np.log(ratio) + 0.5 * (np.square(ratio) + np.square(shift) - 1.0)
        if nominal.any():
            per_column[k, nominal] = _level_terms(ready, X, present, rows)[nominal]
    return ready.fold(per_column)


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

    Arrays of shape (n_clusters, n_features): the rate of false discoveries at which a feature is
    named, and the interval of its effect (NaN where none was computed).
    """

    q_value: FloatArray
    low: FloatArray
    high: FloatArray


def feature_evidence(ready: Prepared, labels: IntArray, information: FloatArray) -> FeatureEvidence:
    """Test the columns of the prepared table, and fold them to the features of the table.

    A nominal feature counts by its most telling level. ``information`` is what each feature tells
    about each cluster.
    """
    shape = (len(information), ready.n_features)
    found = FeatureEvidence(np.ones(shape), np.full(shape, np.nan), np.full(shape, np.nan))
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
            found.q_value[k, feature] = min(1.0, tested.q_value[row, j] / share)
            found.low[k, feature] = tested.low[row, j]
            found.high[k, feature] = tested.high[row, j]
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
    """Facts about every cluster, the most telling feature first; features not searched left out.

    At most :data:`MOST_FACTS` for each.
    """
    names = table.feature_names
    numeric = {name: j for j, name in enumerate(table.numeric_names)}
    own = own_features(clustering)
    located = None
    if numeric:
        numbers, power = shown_numbers(table, ready)
        whole = AxisSubspaces(np.ones((len(memberships), numbers.shape[1]), dtype=bool))
        located = describe(numbers, SubspaceClustering(sparse.csr_array(memberships), whole))
        ends = _middle(numbers)
    every = []
    for k, rows in enumerate(memberships):
        listed = []
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
            else:
                fact |= _typical_level(table, name, rows)
            if told is not None:
                fact |= {
                    "q_value": float(told.q_value[k, j]),
                    "effect_low": _or_none(told.low[k, j]),
                    "effect_high": _or_none(told.high[k, j]),
                }
            listed.append(FeatureFact(**fact))
        every.append(tuple(listed))
    return tuple(every)


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
