"""Tables of levels and numbers without classes, and whether classes are more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.finders.classes.class_score import ClassGain, ClassScorer
from subscape.finders.classes.latent_classes import grow
from subscape.finders.classes.level_table import LevelTable
from subscape.finders.classes.trait_model import Trait, draw_trait, normal_level_scores, row_scores
from subscape.parallel.seeds import seed_sequence
from subscape.parallel.threads import one_blas_thread
from subscape.validation.fitted_tails import (
    Interval,
    largest,
    pearson_holds,
    pearson_interval,
    pearson_tail,
)
from subscape.validation.nulls import normal_scores
from subscape.validation.unimodality import unimodal_table

#: Tables drawn of each kind.
N_TABLES = 40
#: No more are drawn once so many of a kind gain as much as the table.
ENOUGH = 5
#: Nor after so many tables of each kind if classes are this sure.
FEWEST = 10
SURE = 1e-3
#: Starts per number of classes, on the table and on those drawn alike.
N_INIT = 4
MAX_ITER = 40
TOL = 1e-4
#: The search ends after so many steps that were of no use.
PATIENCE = 2
#: Correlations of normal variables are looked for up to this size.
LARGEST_CORRELATION = 0.98
#: Terms of the series in these correlations.
TERMS = 60
#: The levels of a column are put in another order if scores of rows explain so much more of them.
BETTER_ORDER = 1.15
AXES = 3


class CopulaNull:
    """Draws tables with a table's levels, numbers and correlations, and nothing else.

    Each column is the step function of a normal variable, with the table's own number of rows on
    each step, or (numbers) a rising function of one, with the table's own values after what makes
    them pile up in several places is smoothed away. Correlations of the normal variables are such
    that those of the columns are the table's, less what is chance in these. Levels without an
    order are put in the one that the other columns suggest. Gaps stay where they are.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    table : LevelTable
        The same.

    Attributes
    ----------
    correlations : array of shape (n_features, n_features)
        Of the normal variables.

    References
    ----------
    U. Olsson, "Maximum likelihood estimation of the polychoric correlation coefficient",
    Psychometrika 44 (1979), doi:10.1007/BF02296207. Here correlations come from moments: those of
    two step functions of normal variables are a power series in the correlation of these (Mehler),
    H. O. Lancaster, "Some properties of the bivariate normal distribution considered in the form
    of a contingency table", Biometrika 44 (1957), doi:10.1093/biomet/44.1-2.289.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> normal = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=4000)
    >>> X = (normal > [0, 1]).astype(float)
    >>> null = CopulaNull(X, LevelTable.of(X))
    >>> null.correlations.round(1)
    array([[1. , 0.6],
           [0.6, 1. ]])
    >>> null.draw(np.random.default_rng(1)).mean(axis=0) == X.mean(axis=0)
    array([ True,  True])
    """

    def __init__(self, X: FloatArray, table: LevelTable) -> None:
        X = np.asarray(X, dtype=np.float64)
        self.present = ~np.isnan(X)
        n, p = X.shape
        scores = np.zeros((n, p))
        series = np.zeros((p, TERMS))
        self._sorted: list[FloatArray] = [np.zeros(0)] * p
        axes = row_scores(table, min(AXES, p))
        for j, start, levels in zip(table.levelled, table.starts, table.values, strict=True):
            inside = table.design[:, start : start + len(levels)]
            order = _order(inside, axes)
            counts = inside.sum(axis=0)[order]
            own = normal_level_scores(counts)
            scores[:, j] = inside[:, order] @ own
            series[j] = step_series(counts, own)
            self._sorted[j] = np.repeat(levels[order], counts.astype(np.intp))
        if len(table.numbers):
            numbers = X[:, table.numbers]
            ranked = np.nan_to_num(normal_scores(numbers))
            spread = np.sqrt(
                np.square(ranked).sum(axis=0)
                / np.maximum(self.present[:, table.numbers].sum(axis=0), 1)
            )
            scores[:, table.numbers] = ranked / np.where(spread > 0, spread, 1.0)
            series[table.numbers, 0] = 1.0
            smooth = unimodal_table(numbers)
            for place, j in enumerate(table.numbers):
                column = smooth[:, place]
                self._sorted[j] = np.sort(column[~np.isnan(column)])
        known = self.present.astype(np.float64)
        together = np.maximum(known.T @ known, 1.0)
        seen = np.clip(scores.T @ scores / together, -1, 1)
        self.correlations = _normal_correlations(seen, series, together)
        values, vectors = np.linalg.eigh(self.correlations)
        # The symmetric root: signs and turns of the vectors, which are LAPACK's, drop out of it.
        self._root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """A new table."""
        latent = rng.normal(size=self.present.shape) @ self._root
        return with_values(latent, self.present, self._sorted)


class TraitNull:
    """Draws tables in which all columns depend on one or two normal traits.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    table : LevelTable
        The same.
    trait : Trait
        Fitted to it.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 3, size=(100, 5)).astype(float)
    >>> judge = ClassScorer(X)
    >>> TraitNull(X, judge.table, judge.best_trait).draw(np.random.default_rng(0)).shape
    (100, 5)
    """

    def __init__(self, X: FloatArray, table: LevelTable, trait: Trait) -> None:
        self.table, self.trait = table, trait
        self.present = ~np.isnan(np.asarray(X, dtype=np.float64))
        smooth = unimodal_table(X[:, table.numbers]) if len(table.numbers) else np.zeros((0, 0))
        self._sorted = []
        for place in range(len(table.numbers)):
            column = smooth[:, place]
            self._sorted.append(np.sort(column[~np.isnan(column)]))

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """A new table."""
        drawn = draw_trait(self.trait, self.table, rng)
        numbers = self.table.numbers
        if len(numbers):
            drawn[:, numbers] = with_values(
                drawn[:, numbers], self.present[:, numbers], self._sorted
            )
        drawn[~self.present] = np.nan
        return drawn


def with_values(
    ranking: FloatArray, present: BoolArray, values: Sequence[FloatArray]
) -> FloatArray:
    """These values (sorted), column by column, in the order of ``ranking``."""
    drawn = np.full(ranking.shape, np.nan)
    for j, column in enumerate(values):
        rows = np.flatnonzero(present[:, j])
        drawn[rows[np.argsort(ranking[rows, j], kind="stable")], j] = column
    return drawn


def step_series(counts: FloatArray, scores: FloatArray) -> FloatArray:
    """Coefficients of a step function of a normal variable in normalised Hermite polynomials.

    >>> step_series(np.array([5.0, 5.0]), np.array([-1.0, 1.0]))[:3].round(3)
    array([ 0.798,  0.   , -0.326])
    """
    ends = np.cumsum(counts)[:-1] / max(counts.sum(), 1.0)
    inner = ndtri(np.clip(ends, 1e-12, 1 - 1e-12))
    density = np.exp(-0.5 * np.square(inner)) / np.sqrt(2 * np.pi)
    steps = np.diff(scores)
    series = np.empty(TERMS)
    before, polynomial = np.zeros_like(inner), np.ones_like(inner)
    for m in range(1, TERMS + 1):
        # The integral of a Hermite polynomial over the tail is the one before, at the threshold.
        series[m - 1] = (steps * polynomial * density).sum() / np.sqrt(m)
        following = (inner * polynomial - np.sqrt(m - 1) * before) / np.sqrt(m)
        before, polynomial = polynomial, following
    return series


def _normal_correlations(seen: FloatArray, series: FloatArray, together: FloatArray) -> FloatArray:
    """Correlations of normal variables from those of their step functions, less chance."""
    p = len(seen)
    products = series[:, None, :] * series[None, :, :]

    def value(r: FloatArray) -> FloatArray:
        total = np.zeros_like(r)
        for m in range(TERMS - 1, -1, -1):
            total = (total + products[:, :, m]) * r
        return total

    low = np.full((p, p), -LARGEST_CORRELATION)
    high = np.full((p, p), LARGEST_CORRELATION)
    for _ in range(30):
        middle = (low + high) / 2
        less = value(middle) < seen
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    r = (low + high) / 2
    # Chance alone makes correlations of this size; tables drawn add as much again.
    first = np.maximum(np.abs(np.outer(series[:, 0], series[:, 0])), 0.1)
    chance = 1 / (together * np.square(first)) * np.square(1 - np.square(r))
    off = ~np.eye(p, dtype=bool)
    whole = float(np.square(r[off]).sum())
    keep = np.sqrt(max(0.0, 1 - float(chance[off].sum()) / whole)) if whole > 0 else 0.0
    r = r * keep
    np.fill_diagonal(r, 1.0)
    values, vectors = np.linalg.eigh(r)
    r = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    spread = np.sqrt(np.diag(r))
    return np.asarray(r / np.outer(spread, spread))


def _order(inside: FloatArray, axes: FloatArray) -> IndexArray:
    """Order of the levels of a column: their own, unless rows' scores explain another better."""
    counts = inside.sum(axis=0)
    own = np.arange(len(counts))
    if len(counts) < 3:
        return own
    means = inside.T @ axes / np.maximum(counts, 1.0)[:, None]
    n = len(inside)

    def explained(order: IndexArray) -> float:
        scores = normal_level_scores(counts[order])
        return float(np.square((counts[order] * scores) @ means[order] / n).sum())

    options = [np.argsort(means[:, a], kind="stable") for a in range(means.shape[1])]
    best = max(options, key=explained)
    return best if explained(best) > BETTER_ORDER * explained(own) else own


# -- the test -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassTest:
    """Result of :func:`class_test`.

    Attributes
    ----------
    labels : array of shape (n_rows,)
        The likeliest classes, as many as have the largest evidence.
    found : ClassGain
        What they gain if the class of every row is part of the description.
    evidence : float
        Nats per row that the best classes gain over the best description without, if the class of
        a row may be unknown: the statistic.
    maxima : dict of str to array
        The largest evidence on each table without classes, by kind of table; none are drawn if
        ``evidence`` is not above 0.

    See Also
    --------
    class_test : Makes it.
    """

    labels: IndexArray
    found: ClassGain
    evidence: float
    maxima: dict[str, FloatArray]
    n_rows: int

    def p_value(self) -> float:
        """Probability that a search of tables without classes finds as much; the largest by kind.

        It is 1 if one or two traits describe the table better than any classes do: a trait that is
        not normal, say, differs from the tables without classes, too.

        Returns
        -------
        float
        """
        if not self.evidence > 0:
            return 1.0
        return max(
            gamma_p_value(self.evidence, each, 1 / self.n_rows) for each in self.maxima.values()
        )

    def interval(self) -> Interval:
        """Where that probability is (95 %), if the tail that was fitted holds.

        Returns
        -------
        Interval
        """
        if not self.evidence > 0 or not self.maxima:
            return Interval(1.0, 1.0)
        return largest(
            *(gamma_interval(self.evidence, each, 1 / self.n_rows) for each in self.maxima.values())
        )


def class_test(
    X: ArrayLike,
    categorical: Any = "auto",
    *,
    n_tables: int = N_TABLES,
    max_classes: int = 40,
    random_state: Any = None,
) -> ClassTest:
    """Search a table for classes, and tables like it that have none.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        NaN where a cell is missing.
    categorical : "auto", mask or list of column numbers, default="auto"
    n_tables : int, default=40
        Tables without classes of each of two kinds, a copula and traits.
    max_classes : int, default=40
    random_state : int, SeedSequence, Generator or None

    Returns
    -------
    ClassTest

    See Also
    --------
    subscape.finders.LatentClasses : Finds the classes.
    split_test : Humps along a line.

    References
    ----------
    J. Besag, P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991),
    doi:10.1093/biomet/78.2.301: why the search may end as soon as chance has done as well five
    times.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1, 2], 60)
    >>> usual = rng.integers(0, 2, size=(3, 12))
    >>> answers = np.where(rng.random((180, 12)) < 0.9, usual[truth], 1 - usual[truth])
    >>> bool(class_test(answers, n_tables=10, random_state=0).p_value() < 0.01)
    True
    """
    X = np.asarray(X, dtype=np.float64)
    seeds = seed_sequence(random_state).spawn(1 + 2 * n_tables)
    with one_blas_thread():
        table = LevelTable.of(X, categorical)
        judge = ClassScorer(table)
        best = best_classes(judge, np.random.default_rng(seeds[0]), max_classes)
        if not best.evidence > 0:
            return ClassTest(best.labels, best.found, best.evidence, {}, len(X))
        kinds: dict[str, CopulaNull | TraitNull] = {"copula": CopulaNull(X, table)}
        if judge.traits:
            kinds["traits"] = TraitNull(X, table, judge.best_trait)
        gains: dict[str, list[float]] = {name: [] for name in kinds}
        for t in range(n_tables):
            for place, (name, null) in enumerate(kinds.items()):
                rng = np.random.default_rng(seeds[1 + 2 * t + place])
                drawn = ClassScorer(table.like(null.draw(rng)), like=judge)
                gains[name].append(best_classes(drawn, rng, max_classes).evidence)
            if _is_decided(best.evidence, list(gains.values()), 1 / len(X)):
                break
        maxima = {name: np.array(own) for name, own in gains.items()}
    return ClassTest(best.labels, best.found, best.evidence, maxima, len(X))


def _is_decided(gain: float, drawn: Sequence[Sequence[float]], least_spread: float) -> bool:
    if any(sum(each >= gain for each in own) >= ENOUGH for own in drawn):
        return True
    return len(drawn[0]) >= FEWEST and all(
        gamma_p_value(gain, own, least_spread) < SURE for own in drawn
    )


@dataclass(frozen=True, eq=False)
class Best:
    """The classes of a table with the largest evidence, for any number of them.

    ``evidence`` is what they gain if the class of a row may be unknown, ``found`` if it is told.
    """

    found: ClassGain
    labels: IndexArray
    evidence: float


def best_classes(judge: ClassScorer, rng: np.random.Generator, max_classes: int = 40) -> Best:
    """Search a table for the classes with the largest evidence.

    Parameters
    ----------
    judge : ClassScorer
        Of the table.
    rng : Generator
    max_classes : int, default=40
    """
    table = judge.table
    labels = np.zeros(table.n_rows, dtype=np.intp)
    most = min(max_classes, table.n_rows)
    top = -np.inf
    wait = 0
    for found in grow(table, rng, first=2, n_init=N_INIT, max_iter=MAX_ITER, tol=TOL):
        if found.k > most:
            break
        evidence = judge.evidence_gain(found.evidence)
        if evidence > top:
            labels, top, wait = found.labels, evidence, 0
        else:
            wait += 1
        if wait >= PATIENCE or found.k == most:
            break
    return Best(judge(labels), labels, top)


def gamma_p_value(gain: float, maxima: ArrayLike, least_spread: float = 0.0) -> float:
    """Probability that the largest gain on a table without classes reaches ``gain``.

    Within the gains seen it is their share (plus one, of all plus one). Beyond them it is read from
    the gamma distribution with their mean, spread and skewness (Pearson's third type), the last
    at least by a standard error, as the probability that one more table gains as much
    (:func:`~subscape.validation.fitted_tails.pearson_tail`): differences of log-likelihoods are
    nearly normal where columns depend on each other, and skewed where not. If the gains are surely
    more skewed than the exponential law, it is the share, too.

    >>> gamma_p_value(0.0, [1.0, 2.0, 3.0])
    1.0
    >>> 0 < gamma_p_value(40.0, [1.0, 2.0, 3.0, 2.0, 1.5]) < 0.01
    True
    """
    values = np.asarray(maxima, dtype=np.float64)
    n = len(values)
    counted = (1 + int((values >= gain).sum())) / (1 + n)
    if counted > 1 / (1 + n) or n < 3:
        return float(counted)
    spread = max(float(values.std(ddof=1)), least_spread)
    beyond = pearson_tail(gain, values, spread, _gamma_shape(values, spread))
    if not beyond < counted or not pearson_holds(values):
        return float(counted)
    return float(beyond)


def gamma_interval(gain: float, maxima: ArrayLike, least_spread: float = 0.0) -> Interval:
    """Where the probability of :func:`gamma_p_value` is (95 %), for a tail that was fitted.

    >>> found = gamma_interval(9.0, [1.0, 2.0, 3.0, 2.5, 1.2, 1.9])
    >>> found.low < gamma_p_value(9.0, [1.0, 2.0, 3.0, 2.5, 1.2, 1.9]) < found.high
    True
    """
    p_value = gamma_p_value(gain, maxima, least_spread)
    values = np.asarray(maxima, dtype=np.float64)
    if not p_value < 1 / (1 + len(values)):
        return Interval(p_value, p_value)
    spread = max(float(values.std(ddof=1)), least_spread)
    return pearson_interval(gain, values, spread, _gamma_shape(values, spread)).holding(p_value)


def _gamma_shape(values: FloatArray, spread: float) -> float:
    """Shape of the gamma law with the skewness seen, at least its standard error."""
    seen = float(np.power(values - values.mean(), 3).mean()) / spread**3
    return 4 / max(seen, float(np.sqrt(6 / len(values)))) ** 2
