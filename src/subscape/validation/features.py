"""Which features tell a cluster, decided without the values that made it.

Clusters are made so that their rows differ. A test of that difference on the same values says
nothing: it calls features telling in tables without groups. Here a feature is held against
clusters that the *other* columns tell, by rules that were learned from *other* rows, and only what
one hump, however correlated its columns, would not show counts as evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit
from scipy.stats import rankdata

from subscape.core.types import BoolArray, FloatArray, IndexArray

#: The rules are learned from all parts of the rows but one.
N_FOLDS = 5
#: At most so many neighbouring rows of a cluster go into a part together: rows may be in an order.
CHUNK = 10
#: The labels were made from all rows, so a little of every row has slipped into every rule, and
#: it tells the more, the more groups and rows there are. T-statistics beyond one hump are divided
#: by one plus so much for each group after the first, and for each doubling of a hundred rows
#: (fitted to tables without groups).
LEAK_PER_GROUP = 0.1
LEAK_PER_DOUBLING = 0.05
#: Share of the level that goes to valleys, which are plain if they are there.
VALLEY_SHARE = 0.2
#: Clusters with fewer rows aren't tested.
FEWEST_ROWS = 6
#: Columns with fewer different values aren't looked at for valleys.
FEWEST_VALUES = 11
#: Spreads within clusters are floored at this share of the column's own.
SMALLEST_SPREAD = 0.05
#: Values that are farther out (in standard deviations) count as if they were there, in rules.
FAR = 5.0
#: Steps of the mixture that tells how sure memberships are, and how far it may go away from them.
EM_STEPS = 10
ROUNDS = 6
LEAST_AGREEMENT = 0.7
#: Cells of the largest array made at a time.
BLOCK_CELLS = 500_000


@dataclass(frozen=True, eq=False)
class FeatureTests:
    """Result of :func:`feature_tests`; arrays are of shape (n_clusters, n_columns).

    Attributes
    ----------
    clusters : int array of shape (n_clusters,)
        The labels of the clusters.
    effect : array
        Difference of the cluster to all other rows: in standard deviations (Cohen's d, pooled from
        both), or of shares where ``is_share``. Rows count as far as they are sure to belong to the
        cluster, so it isn't enlarged by cutting the rows where they are dense.
    low, high : array
        Confidence interval of the effect.
    p_value : array
        Probability of such evidence if the column has one hump and nothing but its linear
        correlations (of normal scores) to do with what tells the cluster.
    q_value : array
        The same for all clusters and columns together (Benjamini-Hochberg).
    by_others : array
        The part of the p-value that comes from clusters as the other columns tell them.
    by_valley : array
        The part that comes from a valley in the column itself, between the cluster and another.
    naive_effect, naive_p_value, naive_q_value : array
        As if the labels had not been made from these values (Welch's test). For comparison: the
        p-values are much too small.
    is_share : bool array of shape (n_columns,)
        Columns with two values.

    See Also
    --------
    feature_tests : Makes it.
    """

    clusters: NDArray[Any]
    effect: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray
    q_value: FloatArray
    by_others: FloatArray
    by_valley: FloatArray
    naive_effect: FloatArray
    naive_p_value: FloatArray
    naive_q_value: FloatArray
    is_share: BoolArray

    def named(self, q: float = 0.05) -> list[list[int]]:
        """For each cluster the columns that tell it, the largest effect first.

        Returns
        -------
        list of list of int
            Positions of columns with a false discovery rate of at most ``q``.
        """
        order = np.argsort(-np.abs(self.effect), axis=1, kind="stable")
        return [
            [int(j) for j in order[k] if self.q_value[k, j] <= q] for k in range(len(self.clusters))
        ]


def feature_tests(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    origin: ArrayLike | None = None,
    n_splits: int = 3,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> FeatureTests:
    r"""Test which columns tell each cluster from the other rows, without double dipping.

    There are two ways for a column to be named.

    *By others.* A linear rule (shrunken linear discriminant analysis) is learned from the labels of
    four fifths of the rows, in all columns but the one in question, and gives for the rows of the
    last fifth the probability of each cluster. The column, in normal scores, is regressed on these
    probabilities (1) alone, (2) together with the discriminant scores themselves, and (3) so, less
    what the other columns predict of it within clusters. All three must find the same sign, and the
    largest p-value counts. In one hump that has linear correlations (any normal copula), the
    scores say all that the other columns have to say, and probabilities made from them add nothing
    in (2), however large the difference of (1) is; with groups they do, as the relation of the
    column to the scores has steps. A column that is correlated with another within groups only
    gets opposite signs in (1) and (2).

    *By a valley.* Between the medians that a cluster and another have in four fifths of the rows,
    the column has fewer of the other rows halfway than around both medians; which is not so where
    it has one hump (binomial tests). And more of the cluster's rows than of the other's lie on its
    side of the valley; which is not so in a column with several humps, such as zero and above it
    in counts, that has nothing to do with the clusters (two shares; the larger p-value counts). So
    clusters that are told by one column are not missed.

    The smaller of both p-values counts, each by its share of the level (Bonferroni).

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Numbers; levels of nominal columns as indicators. NaN where missing: such cells are not
        tested.
    labels : int array-like of shape (n_rows,)
        -1 is noise, which is part of every cluster's rest, but no cluster.
    origin : int array-like of shape (n_columns,), optional
        Columns with the same number are left out together (indicators of a nominal column).
    n_splits : int, default=3
        How often the rows are split; statistics are averaged.
    confidence : float, default=0.95
        Of the intervals.
    random_state : int, Generator or None, default=0

    Returns
    -------
    FeatureTests

    See Also
    --------
    subscape.describe : Where the clusters lie.
    score_clusters : How narrow they are.

    Notes
    -----
    What is tested is not whether cluster means differ (cut through one cloud, all columns along the
    cut differ, and the effect says so) but whether there is evidence that groups make them
    differ. Relations within one hump that no monotone change of single columns makes linear
    (a bent cloud; strongly correlated columns of two values each) can pass for groups.

    References
    ----------
    .. [1] L. L. Gao, J. Bien, D. Witten. *Selective inference for hierarchical clustering*. JASA
       119, 2024. https://doi.org/10.1080/01621459.2022.2116331
    .. [2] V. Chernozhukov et al. *Double/debiased machine learning for treatment and structural
       parameters*. Econometrics Journal 21, 2018. https://doi.org/10.1111/ectj.12097
    .. [3] R. L. Berger. *Multiparameter hypothesis testing and acceptance sampling*. Technometrics
       24, 1982. https://doi.org/10.1080/00401706.1982.10487790
    .. [4] Y. Benjamini, Y. Hochberg. *Controlling the false discovery rate*. JRSS B 57, 1995.
       https://doi.org/10.1111/j.2517-6161.1995.tb02031.x

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 5))
    >>> X[:, :3] += 3 * labels[:, None]
    >>> found = feature_tests(X, labels)
    >>> [sorted(columns) for columns in found.named()]
    [[0, 1, 2], [0, 1, 2]]

    One cloud, cut through the middle: the naive test is sure of what is not there.

    >>> Y = rng.normal(size=(200, 5))
    >>> cut = (Y[:, 0] + Y[:, 1] > 0).astype(int)
    >>> found = feature_tests(Y, cut)
    >>> bool(found.naive_q_value.min() < 1e-6), found.named()
    (True, [[], []])
    """
    values = np.array(X, dtype=np.float64)
    tags = np.asarray(labels)
    if values.ndim != 2 or tags.shape != (len(values),):
        raise ValueError(
            f"X must be a table and labels one per row; got shapes {values.shape}, {tags.shape}"
        )
    if np.isinf(values).any():
        raise ValueError("X has infinite values")
    if n_splits < 1 or not 0 < confidence < 1:
        raise ValueError("n_splits must be at least 1 and confidence between 0 and 1")
    blocks = np.arange(values.shape[1]) if origin is None else np.asarray(origin)
    if blocks.shape != (values.shape[1],):
        raise ValueError("origin must have one number per column")
    rng = np.random.default_rng(random_state)
    clusters = np.unique(tags[tags >= 0])
    groups, n_groups = _numbered(tags, clusters)
    present = ~np.isnan(values)
    _fill(values, present)
    is_share = _n_values(values, present) == 2
    member = (groups[:, None] == np.arange(n_groups)).astype(np.float64)
    sizes = member.sum(axis=0)[: len(clusters)]
    testable = np.minimum(sizes, len(tags) - sizes) >= FEWEST_ROWS
    spread = values.std(axis=0)
    usable = spread > 0
    standard = (values - values.mean(axis=0)) / np.where(usable, spread, 1.0)

    shape = (len(clusters), values.shape[1])
    by_others, by_valley = np.ones(shape), np.ones(shape)
    sure = member
    if n_groups >= 2 and testable.any():
        scores = np.where(present, _normal_scores(values), 0.0)
        jittered = _jittered(values, present, rng)
        found = np.zeros((3, *shape))
        valley = np.zeros(shape)
        for _ in range(n_splits):
            parts = _parts(groups, rng)
            rules = _rules(scores, member, parts)
            found += _against_others(scores, present, rules, parts, blocks, len(clusters))
            valley += ndtri(np.clip(_valleys(jittered, present, groups, shape, parts), 1e-300, 1))
        free = np.maximum(present.sum(axis=0) - 1 - n_groups, 1)
        by_others = _worst(found / n_splits, free, _leak(len(values), n_groups))
        by_valley = ndtr(valley / n_splits)
        sure = _memberships(np.clip(standard, -FAR, FAR), member, parts)
        by_others[~testable], by_valley[~testable] = 1.0, 1.0
        by_others[:, ~usable], by_valley[:, ~usable] = 1.0, 1.0
    p_value = np.minimum(by_others / (1.0 - VALLEY_SHARE), by_valley / VALLEY_SHARE)
    p_value = np.minimum(p_value, 1.0)
    effect, low, high = _effects(values, present, sure[:, : len(clusters)], is_share, confidence)
    member = member[:, : len(clusters)]
    naive_effect, _, _ = _effects(values, present, member, is_share, confidence)
    naive = _welch(values, present, member)
    return FeatureTests(
        clusters=clusters,
        effect=effect,
        low=low,
        high=high,
        p_value=p_value,
        q_value=benjamini_hochberg(p_value),
        by_others=by_others,
        by_valley=by_valley,
        naive_effect=naive_effect,
        naive_p_value=naive,
        naive_q_value=benjamini_hochberg(naive),
        is_share=is_share,
    )


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Q-values: the smallest rate of false discoveries at which each would be one.

    >>> benjamini_hochberg([0.01, 0.02, 0.9, 0.04]).round(3)
    array([0.04 , 0.04 , 0.9  , 0.053])
    """
    p = np.asarray(p_values, dtype=np.float64)
    flat = p.ravel()
    order = np.argsort(flat, kind="stable")
    raised = flat[order] * len(flat) / np.arange(1, len(flat) + 1)
    q = np.empty_like(flat)
    q[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return q.reshape(p.shape)


# -- the table ------------------------------------------------------------------------------------


def _numbered(tags: NDArray[Any], clusters: NDArray[Any]) -> tuple[IndexArray, int]:
    """Clusters as 0, 1, …, and noise, if there, as the number after them."""
    groups = np.searchsorted(clusters, tags)
    noise = tags < 0
    groups[noise] = len(clusters)
    return groups.astype(np.intp), len(clusters) + bool(noise.any())


def _fill(values: FloatArray, present: BoolArray) -> None:
    """Put the column's median into missing cells."""
    for j in np.flatnonzero(~present.all(axis=0)):
        known = values[present[:, j], j]
        values[~present[:, j], j] = np.median(known) if len(known) else 0.0


def _n_values(values: FloatArray, present: BoolArray) -> IndexArray:
    ordered = np.sort(np.where(present, values, np.inf), axis=0)
    new = (ordered[1:] > ordered[:-1]) & np.isfinite(ordered[1:])
    return np.asarray(new.sum(axis=0) + np.isfinite(ordered[0]), dtype=np.intp)


def _normal_scores(values: FloatArray, axis: int = 0) -> FloatArray:
    """Normal quantiles of the ranks along an axis, centred and of variance one."""
    order = np.argsort(values, axis=axis)
    if (np.diff(np.take_along_axis(values, order, axis=axis), axis=axis) > 0).all():
        # Without ties, as mostly, ranks are had for less.
        ranks = np.empty(values.shape)
        sides = [1] * values.ndim
        sides[axis] = -1
        steps = np.arange(1.0, values.shape[axis] + 1).reshape(sides)
        np.put_along_axis(ranks, order, np.broadcast_to(steps, values.shape), axis=axis)
    else:
        ranks = rankdata(values, axis=axis)
    scores = ndtri((ranks - 0.375) / (values.shape[axis] + 0.25))
    scores -= scores.mean(axis=axis, keepdims=True)
    spread = scores.std(axis=axis, keepdims=True)
    return np.asarray(scores / np.where(spread > 0, spread, 1.0))


def _jittered(values: FloatArray, present: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Counts and rounded numbers spread evenly over their steps; NaN in columns of few values."""
    jittered = values.copy()
    n_values, n_present = _n_values(values, present), present.sum(axis=0)
    jittered[:, n_values < FEWEST_VALUES] = np.nan
    for j in np.flatnonzero((n_values >= FEWEST_VALUES) & (n_values < 0.9 * n_present)):
        step = np.median(np.diff(np.unique(values[present[:, j], j])))
        jittered[:, j] += step * (rng.random(len(values)) - 0.5)
    return jittered


def _parts(groups: IndexArray, rng: np.random.Generator) -> IndexArray:
    """Number of the part of each row; neighbours among the rows of a cluster stay together."""
    parts = np.empty(len(groups), dtype=np.intp)
    start = 0
    for g in range(int(groups.max()) + 1):
        rows = np.flatnonzero(groups == g)
        n_chunks = min(N_FOLDS * -(-len(rows) // (N_FOLDS * CHUNK)), len(rows))
        if n_chunks == 0:
            continue
        deal = [rng.permutation(N_FOLDS) for _ in range(-(-n_chunks // N_FOLDS))]
        chunk = np.arange(len(rows)) * n_chunks // len(rows)
        parts[rows] = (np.concatenate(deal)[chunk] + start) % N_FOLDS
        start += n_chunks
    return parts


# -- clusters as the other columns tell them ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rule:
    """Linear discriminant analysis learned without one part of the rows.

    With the inverse scatter matrix O and the weights w = O m of the means m (columns in units of
    their spread within clusters), leaving out the columns J takes O[:, J] O[J, J]^-1 w[J] away from
    the weights, and half of w[J]' O[J, J]^-1 w[J] is added to the constants.
    """

    centre: FloatArray
    spread: FloatArray
    weights: FloatArray
    constants: FloatArray
    inverse: FloatArray | None
    residuals: FloatArray
    dual: FloatArray
    ridge: float

    def times_inverse(self, Z: FloatArray) -> FloatArray:
        """Rows in units of spread, times O."""
        if self.inverse is not None:
            return Z @ self.inverse
        return (Z - (Z @ self.residuals.T) @ self.dual) / self.ridge

    def corner(self, columns: IndexArray) -> FloatArray:
        """O[J, J]."""
        if self.inverse is not None:
            return self.inverse[np.ix_(columns, columns)]
        cross = self.residuals[:, columns].T @ self.dual[:, columns]
        return np.asarray((np.eye(len(columns)) - cross) / self.ridge)

    def diagonal(self) -> FloatArray:
        """Diagonal of O."""
        if self.inverse is not None:
            return np.diagonal(self.inverse)
        return np.asarray((1.0 - (self.residuals * self.dual).sum(axis=0)) / self.ridge)


def _rules(Z: FloatArray, member: FloatArray, parts: IndexArray) -> list[_Rule]:
    """Rules for the rows of each part, learned from the rows of the others."""
    return [_rule(Z[parts != part], member[parts != part]) for part in range(N_FOLDS)]


def _rule(Z: FloatArray, member: FloatArray) -> _Rule:
    (n_rows, n_columns), n_groups = Z.shape, member.shape[1]
    counts = member.sum(axis=0)
    centre = Z.mean(axis=0)
    means = (member.T @ Z) / np.maximum(counts, 1.0)[:, None]
    residuals = Z - member @ means
    free = max(n_rows - n_groups, 1)
    wide = np.maximum(Z.std(axis=0), 1e-300)
    between = counts @ np.square(means - centre)
    spread = np.sqrt(np.maximum(n_rows * np.square(wide) - between, 0.0) / free)
    spread = np.maximum(spread, SMALLEST_SPREAD * wide)
    spread = np.where(wide > 1e-300, spread, 1.0)
    residuals /= spread
    means = (means - centre) / spread
    means[counts == 0] = 0.0
    ridge = n_columns / (n_columns + n_rows)
    kept = (1.0 - ridge) / free
    inverse, dual = None, np.empty((0, n_columns))
    if n_columns <= n_rows:
        # Total less between, as memberships may be unsure.
        centred = (Z - centre) / spread
        within = centred.T @ centred - (means.T * counts) @ means
        inverse = np.linalg.inv(kept * within + ridge * np.eye(n_columns))
        weights = inverse @ means.T
    else:
        gram = residuals @ residuals.T / ridge
        gram[np.diag_indices(n_rows)] += 1.0 / kept
        dual = np.linalg.solve(gram, residuals) / ridge
        weights = (means.T - residuals.T @ (dual @ means.T)) / ridge
    constants = np.log(np.maximum(counts, 0.5) / n_rows) - 0.5 * (means.T * weights).sum(axis=0)
    return _Rule(centre, spread, weights, constants, inverse, residuals, dual, ridge)


def _whole_scores(Z: FloatArray, rules: list[_Rule], parts: IndexArray) -> FloatArray:
    """Discriminant scores in all columns."""
    scores = np.empty((len(Z), len(rules[0].constants)))
    for part, rule in enumerate(rules):
        rows = parts == part
        scores[rows] = (Z[rows] - rule.centre) / rule.spread @ rule.weights + rule.constants
    return scores


def _against_others(
    Z: FloatArray,
    present: BoolArray,
    rules: list[_Rule],
    parts: IndexArray,
    blocks: NDArray[Any],
    n_clusters: int,
) -> FloatArray:
    """The three t-statistics, of shape (3, n_clusters, n_columns)."""
    n_rows, n_columns = Z.shape
    n_groups = len(rules[0].constants)
    whole = _whole_scores(Z, rules, parts)
    away = np.empty((n_rows, n_columns))  # what is not predicted by the others, in units of spread
    shift = np.empty((N_FOLDS, n_columns, n_groups))
    slope = np.empty((N_FOLDS, n_columns, n_groups))
    rest = np.empty((n_rows, n_columns))
    _, first, size = np.unique(blocks, return_index=True, return_counts=True)
    together = [np.flatnonzero(blocks == blocks[j]) for j in first[size > 1]]
    for part, rule in enumerate(rules):
        rows = parts == part
        away[rows] = rule.times_inverse((Z[rows] - rule.centre) / rule.spread)
        diagonal = rule.diagonal()
        slope[part] = rule.weights / diagonal[:, None]
        shift[part] = 0.5 * np.square(rule.weights) / diagonal[:, None]
        rest[rows] = away[rows] / diagonal * rule.spread
    found = np.empty((3, n_clusters, n_columns))
    step = max(1, BLOCK_CELLS // (n_rows * (n_groups + 2)))
    alone = np.ones(n_columns, dtype=bool)
    for columns in together:
        alone[columns] = False
    single = np.flatnonzero(alone)
    for start in range(0, len(single), step):
        some = single[start : start + step]
        T = np.empty((len(some), n_groups, n_rows))
        for part in range(N_FOLDS):
            rows = np.flatnonzero(parts == part)
            taken = away[np.ix_(rows, some)].T[:, None, :] * slope[part, some][:, :, None]
            T[:, :, rows] = whole[rows].T - taken + shift[part, some][:, :, None]
        found[:, :, some] = _statistics(
            Z[:, some].T, rest[:, some].T, present[:, some].T, T, n_clusters
        )
    for columns in together:
        T = np.empty((1, n_groups, n_rows))
        left = np.empty((n_rows, len(columns)))
        for part, rule in enumerate(rules):
            rows = parts == part
            solved = np.linalg.solve(rule.corner(columns), rule.weights[columns])
            taken = away[np.ix_(rows, columns)]
            more = 0.5 * (rule.weights[columns] * solved).sum(axis=0)
            T[0][:, rows] = (whole[rows] - taken @ solved + more).T
            left[rows] = np.linalg.solve(rule.corner(columns), taken.T).T * rule.spread[columns]
        found[:, :, columns] = _statistics(
            Z[:, columns].T,
            left.T,
            present[:, columns].T,
            np.repeat(T, len(columns), axis=0),
            n_clusters,
        )
    return found


def _statistics(
    x: FloatArray, rest: FloatArray, present: BoolArray, T: FloatArray, n_clusters: int
) -> FloatArray:
    """T-statistics of columns against the probabilities that scores stand for.

    ``x``, ``rest`` and ``present`` are of shape (n_columns, n_rows), ``T`` of shape (n_columns,
    n_groups, n_rows).
    """
    n_groups = T.shape[1]
    odds = np.exp(T - T.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    scores = T - T.mean(axis=1, keepdims=True)
    scores -= scores.mean(axis=2, keepdims=True)
    _, vectors = np.linalg.eigh(scores @ scores.transpose(0, 2, 1))
    # Scores of groups add up to nothing, so one direction is empty.
    basis = _normal_scores(vectors[:, :, 1:].transpose(0, 2, 1) @ scores, axis=2)
    both = np.concatenate([odds[:, :n_clusters], x[:, None], rest[:, None]], axis=1)
    n_present = np.maximum(present.sum(axis=1), 1.0)[:, None]
    if present.all():
        both -= both.mean(axis=2, keepdims=True)
    else:
        here = present[:, None, :].astype(np.float64)
        for part in (basis, both):
            part -= (part * here).sum(axis=2, keepdims=True) / n_present[:, :, None]
            part *= here
    turned = basis.transpose(0, 2, 1)
    gram = basis @ turned + 1e-6 * n_present[:, :, None] * np.eye(n_groups - 1)
    left = both - np.linalg.solve(gram, basis @ both.transpose(0, 2, 1)).transpose(0, 2, 1) @ basis
    free = n_present - 2
    k = n_clusters
    return np.stack(
        [
            _t(both[:, :k], both[:, k : k + 1], free),
            _t(left[:, :k], left[:, k : k + 1], free - n_groups),
            _t(left[:, :k], left[:, k + 1 :], free - n_groups),
        ]
    )


def _t(t: FloatArray, y: FloatArray, free: FloatArray) -> FloatArray:
    """T-statistics of the slopes of y on each t, by the larger of two variances.

    Arrays are of shape (n_columns, n_clusters, n_rows); the result is (n_clusters, n_columns).
    """
    n_rows = t.shape[2]
    free = np.maximum(free, 1.0)
    squares = np.einsum("jki,jki->jk", t, t)
    enough = squares > 1e-8 * n_rows
    squares = np.where(enough, squares, 1.0)
    slope = (t @ y.transpose(0, 2, 1))[:, :, 0] / squares
    error = y - slope[:, :, None] * t
    errors = np.maximum(np.einsum("jki,jki->jk", error, error), 1e-300)
    # Rows alike because of their order: the variance if both were autoregressive.
    alike = np.einsum("jki,jki->jk", t[:, :, 1:], t[:, :, :-1]) / squares
    alike *= np.einsum("jki,jki->jk", error[:, :, 1:], error[:, :, :-1]) / errors
    alike = np.clip(alike, 0.0, 0.95)
    error *= t
    plain = errors / free / squares
    robust = np.einsum("jki,jki->jk", error, error) * (n_rows / free) / np.square(squares)
    variance = np.maximum(plain, robust) * (1.0 + alike) / (1.0 - alike)
    return np.where(enough, slope / np.sqrt(np.maximum(variance, 1e-300)), 0.0).T


def _leak(n_rows: int, n_groups: int) -> float:
    doublings = float(np.log2(max(n_rows / 100, 1.0)))
    return 1.0 + LEAK_PER_GROUP * (n_groups - 1) + LEAK_PER_DOUBLING * doublings


def _worst(found: FloatArray, free: IndexArray, leak: float) -> FloatArray:
    """The largest of the three p-values, where signs agree."""
    alone, beyond, rest = found
    agree = (alone * beyond > 0) & (alone * rest > 0)
    least = np.minimum(np.abs(alone), np.minimum(np.abs(beyond), np.abs(rest)) / leak)
    return np.where(agree, 2.0 * stdtr(free.astype(np.float64), -least), 1.0)


# -- valleys --------------------------------------------------------------------------------------


def _valleys(
    X: FloatArray,
    present: BoolArray,
    groups: IndexArray,
    shape: tuple[int, int],
    parts: IndexArray,
) -> FloatArray:
    """P-values for a valley between a cluster and one of the others; the smallest, times these.

    A valley in the column parts these two only if their rows lie on its two sides: columns of
    counts have one above 0, and columns of another grouping theirs, whatever the clusters are.
    """
    n_clusters, n_columns = shape
    there = np.where(present, X, np.nan)
    sizes = np.bincount(groups, minlength=n_clusters)
    fit = np.flatnonzero(sizes[:n_clusters] >= FEWEST_ROWS)
    halfway = np.zeros((n_clusters, n_clusters, n_columns))
    around = np.zeros((n_clusters, n_clusters, n_columns))  # [k, l]: around k, on the way to l
    # [k, l]: rows of k on the side of k's median, where l's is on the other.
    beside = np.zeros((n_clusters, n_clusters, n_columns))
    sizes_there = np.zeros((n_clusters, n_columns))
    for part in range(N_FOLDS):
        rows = parts == part
        medians = np.full((n_clusters, n_columns), np.nan)
        for k in fit:
            inside = X[~rows & (groups == k)]
            if len(inside):
                # Missing cells hold the median of all; columns of few values are NaN throughout.
                medians[k] = np.median(inside, axis=0)
        ordered = np.sort(there[rows], axis=0)
        seen = {k: there[rows & (groups == k)] for k in fit}
        for place, k in enumerate(fit):
            sizes_there[k] += (~np.isnan(seen[k])).sum(axis=0)
            for other in fit[place + 1 :]:
                low = np.minimum(medians[k], medians[other])
                width = np.abs(medians[k] - medians[other]) / 2
                ends = low + width * np.array([-0.5, 0.5, 1.5, 2.5])[:, None]
                below = _n_below(ordered, ends)
                counts = np.diff(below, axis=0) * (width > 0)
                k_low = medians[k] <= medians[other]
                halfway[k, other] += counts[1]
                halfway[other, k] += counts[1]
                around[k, other] += np.where(k_low, counts[0], counts[2])
                around[other, k] += np.where(k_low, counts[2], counts[0])
                for one, another, is_low in ((k, other, k_low), (other, k, ~k_low)):
                    side = np.where(is_low, seen[one] < low + width, seen[one] > low + width)
                    beside[one, another] += side.sum(axis=0)
    p = bdtr(halfway, (halfway + around).astype(np.int64), 0.5)
    p = np.where(around > 0, p, 1.0)
    apart = _apart(beside, sizes_there)
    p = np.maximum(np.maximum(p, p.transpose(1, 0, 2)), apart)
    p[np.arange(n_clusters), np.arange(n_clusters)] = 1.0
    return np.asarray(np.minimum(1.0, p.min(axis=1) * max(len(fit) - 1, 1)))


def _apart(beside: FloatArray, sizes: FloatArray) -> FloatArray:
    """P-values for two clusters being on either side no oftener than any rows (two shares, z)."""
    mine = np.broadcast_to(sizes[:, None], beside.shape)
    theirs = mine.transpose(1, 0, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        here = beside / mine
        there = 1.0 - beside.transpose(1, 0, 2) / theirs  # of the other, on this side
        pooled = (beside + theirs - beside.transpose(1, 0, 2)) / (mine + theirs)
        step = 1.0 / mine + 1.0 / theirs
        z = (here - there - step / 2) / np.sqrt(pooled * (1 - pooled) * step)
    p = np.where(np.isfinite(z), ndtr(-z), 1.0)
    return np.asarray(np.maximum(p, p.transpose(1, 0, 2)))


def _n_below(ordered: FloatArray, ends: FloatArray) -> FloatArray:
    """How many values of each column (sorted) are below each end."""
    if len(ordered) * len(ends) * ordered.shape[1] <= BLOCK_CELLS:
        return np.asarray((ordered[None] < ends[:, None]).sum(axis=1), dtype=np.float64)
    below = np.empty(ends.shape)
    for j in range(ordered.shape[1]):
        below[:, j] = np.searchsorted(ordered[:, j], ends[:, j])
    return below


# -- effects --------------------------------------------------------------------------------------


def _memberships(Z: FloatArray, member: FloatArray, parts: IndexArray) -> FloatArray:
    """How sure each row is in each group: normal distributions of one shape, fitted by EM.

    Labels cut the rows where clusters meet, which makes clusters look narrower and farther apart
    than they are; probabilities don't. The distributions are fitted to discriminant scores; rules
    for these are learned again from the probabilities.
    """
    sure = member
    for _ in range(ROUNDS if Z.shape[1] <= len(Z) // 2 else 1):
        sure = _mixture(_whole_scores(Z, _rules(Z, sure, parts), parts), sure)
        if (sure * member).sum() < LEAST_AGREEMENT * len(member):
            return member
    return sure


def _mixture(scores: FloatArray, sure: FloatArray) -> FloatArray:
    seen = scores - scores.mean(axis=1, keepdims=True)
    seen -= seen.mean(axis=0)
    _, vectors = np.linalg.eigh(seen.T @ seen)
    seen = seen @ vectors[:, 1:]
    seen /= np.maximum(seen.std(axis=0), 1e-300)
    for _ in range(EM_STEPS):
        counts = np.maximum(sure.sum(axis=0), 1e-6)
        centres = sure.T @ seen / counts[:, None]
        within = seen.T @ seen - (centres.T * counts) @ centres
        within = within / len(seen) + 1e-6 * np.eye(len(within))
        solved = np.linalg.solve(within, centres.T)
        logs = seen @ solved - 0.5 * (centres.T * solved).sum(axis=0) + np.log(counts / len(seen))
        logs -= logs.max(axis=1, keepdims=True)
        sure = np.exp(logs)
        sure /= sure.sum(axis=1, keepdims=True)
    return sure


def _effects(
    values: FloatArray,
    present: BoolArray,
    sure: FloatArray,
    is_share: BoolArray,
    confidence: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Effects of clusters against the rest, and their intervals (by influence of rows)."""
    shape = (sure.shape[1], values.shape[1])
    effect, half = np.zeros(shape), np.full(shape, np.nan)
    n = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0.0).sum(axis=0) / n
    x = np.where(present, values - mean, 0.0)
    variance = np.square(x).sum(axis=0) / n
    height = np.where(is_share, np.ptp(values, axis=0), 1.0)
    quantile = stdtrit(np.maximum(n - 2, 1), 0.5 + confidence / 2)
    for k in range(shape[0]):
        tau = np.where(present, sure[:, k, None], 0.0)
        share = tau.sum(axis=0) / n
        both = (share > 0) & (share < 1) & (variance > 0)
        share = np.where(both, share, 0.5)
        inside = (tau * x).sum(axis=0) / n / share
        outside = -share * inside / (1 - share)
        gap = inside - outside
        spill = np.where(present, tau * (x - inside) / share, 0.0)
        spill -= np.where(present, (1 - tau) * (x - outside) / (1 - share), 0.0)
        within = np.maximum(variance - share * (1 - share) * np.square(gap), 1e-12 * variance)
        within = np.where(both, within, 1.0)
        root = np.sqrt(within)
        turn = np.where(present, np.square(x) - variance, 0.0)
        turn = turn - 2 * share * (1 - share) * gap * spill
        moved = np.where(present, tau - share, 0.0)
        turn -= (1 - 2 * share) * np.square(gap) * moved
        influence = spill / root - 0.5 * gap / root**3 * turn
        influence = np.where(is_share, spill / height, influence)
        effect[k] = np.where(both, np.where(is_share, gap / height, gap / root), 0.0)
        few = np.minimum(share, 1 - share) * n
        error = (
            np.sqrt(np.square(influence).sum(axis=0)) / n * np.sqrt(few / np.maximum(few - 1, 1))
        )
        # Where memberships are unsure, they were found together with the means, and all the more
        # by the columns that tell them (the exponent was fitted to generated tables).
        known = np.square(moved).sum(axis=0) / n / (share * (1 - share))
        told = np.where(both, 1 - within / np.where(both, variance, 1.0), 0.0)
        error /= np.clip(known, 0.1, 1.0) ** (1 + 4 * told)
        half[k] = np.where(both, quantile * error, np.nan)
    return effect, effect - half, effect + half


def _welch(values: FloatArray, present: BoolArray, member: FloatArray) -> FloatArray:
    """P-values of Welch's test of each cluster against the rest."""
    here = present.astype(np.float64)
    x = np.where(present, values - values.mean(axis=0), 0.0)
    sums, squares, counts = member.T @ x, member.T @ np.square(x), member.T @ here
    p = np.ones(sums.shape)
    n, n_out = counts, here.sum(axis=0) - counts
    good = (n >= 2) & (n_out >= 2)
    n, n_out = np.where(good, n, 2.0), np.where(good, n_out, 2.0)
    inside, outside = sums / n, (x.sum(axis=0) - sums) / n_out
    v = np.maximum(squares - n * np.square(inside), 0.0) / (n - 1) / n
    rest = np.square(x).sum(axis=0) - squares
    v_out = np.maximum(rest - n_out * np.square(outside), 0.0) / (n_out - 1) / n_out
    whole = v + v_out
    good &= whole > 0
    whole = np.where(good, whole, 1.0)
    free = np.square(whole) / np.maximum(
        np.square(v) / (n - 1) + np.square(v_out) / (n_out - 1), 1e-300
    )
    p[good] = (2.0 * stdtr(free, -np.abs(inside - outside) / np.sqrt(whole)))[good]
    return p
