"""Tests of feature_tests: no naming without groups, naming of planted ones, intervals, edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind
from sklearn.cluster import KMeans

from subscape.validation.features import _rule, _welch, benjamini_hochberg, feature_tests


def _groups(rng, n=300, p=10, q=3, sep=3.0, k=2):
    g = rng.integers(0, k, n)
    X = rng.normal(size=(n, p))
    X[:, :q] += sep * g[:, None]
    return X, g


def _labels(X, k, seed=0):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return KMeans(k, n_init=3, random_state=seed).fit_predict(Z)


def test_planted_columns_are_named_and_no_others():
    rng = np.random.default_rng(0)
    X, _ = _groups(rng)
    found = feature_tests(X, _labels(X, 2))
    assert [sorted(c) for c in found.named()] == [[0, 1, 2]] * 2


def test_one_column_is_named_by_its_valley():
    rng = np.random.default_rng(1)
    X, g = _groups(rng, q=1, sep=6.0)
    found = feature_tests(X, g)
    assert found.named() == [[0], [0]]
    assert (found.by_others[:, 0] > 0.01).all() and (found.by_valley[:, 0] < 1e-6).all()


def test_columns_of_another_grouping_are_not_named():
    """They have a valley, and medians that lie on either side of it by chance."""
    named = np.zeros(8)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        own, other = rng.integers(0, 2, (2, 200))
        X = rng.normal(size=(200, 8))
        X[:, :3] += 6 * own[:, None]
        X[:, 3:6] += 6 * other[:, None]
        named += (feature_tests(X, own).q_value <= 0.05).any(axis=0)
    assert named[:3].tolist() == [20, 20, 20]
    assert named[3:].sum() <= 1


def test_counts_that_are_above_zero_by_chance_are_not_named():
    wrong = right = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        groups = np.arange(240) % 3
        means = np.where(rng.random(60) < 0.5, 0.7, 2.0) * np.ones((3, 1))
        means[np.repeat([0, 1, 2], 3), np.arange(9)] = 9.0
        # Cells of one kind differ, and every one has a library size of its own.
        size = rng.lognormal(0, 0.4, (240, 1)) * rng.gamma(5, 0.2, (240, 60))
        X = np.log1p(rng.poisson(means[groups] * size) / size.mean(axis=1, keepdims=True))
        sure = feature_tests(X, groups).q_value <= 0.05
        right += int(sure[np.repeat([0, 1, 2], 3), np.arange(9)].sum())
        wrong += int(sure[:, 9:].sum())
    assert right == 45
    assert wrong <= 0.05 * (right + wrong)


@pytest.mark.parametrize("kind", ["normal", "factor", "lognormal", "binary", "poisson", "series"])
def test_tables_without_groups_name_nothing(kind):
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 8))
        if kind == "factor":
            X += 1.5 * rng.normal(size=(200, 1))
        elif kind == "lognormal":
            X = np.exp(X)
        elif kind == "binary":
            X = (X > 0).astype(float)
        elif kind == "poisson":
            X = rng.poisson(3, size=X.shape).astype(float)
        elif kind == "series":
            for i in range(1, len(X)):
                X[i] += 0.7 * X[i - 1]
        found = feature_tests(X, _labels(X, 3, seed), random_state=seed)
        assert found.naive_q_value.min() < 0.05
        wrong += bool((found.q_value <= 0.05).any())
    assert wrong <= 3


def test_intervals_cover_where_naive_effects_are_too_large():
    hit, naive = [], []
    for seed in range(30):
        X, _ = _groups(np.random.default_rng(seed), n=600, q=3, sep=2.0)
        labels = _labels(X, 2, seed)
        found = feature_tests(X, labels, n_splits=1)
        hit.extend((found.low[0, :3] < -2) & (found.high[0, :3] > -2))
        hit.extend((found.low[0, :3] < 2) & (found.high[0, :3] > 2))
        naive.extend(np.abs(found.naive_effect[0, :3]))
    assert np.mean(hit) * 2 >= 0.88
    assert np.mean(naive) > 2.05


def test_leaving_a_column_out_of_a_rule_is_learning_without_it():
    rng = np.random.default_rng(2)
    X, g = _groups(rng, n=80, p=6)
    member = (g[:, None] == np.arange(2)).astype(float)
    rule = _rule(X, member)
    Z = (X - rule.centre) / rule.spread
    scatter = np.linalg.inv(rule.inverse)
    means = scatter @ rule.weights
    for J in (np.array([2]), np.array([0, 3])):
        rest = np.setdiff1d(np.arange(6), J)
        direct = np.linalg.solve(scatter[np.ix_(rest, rest)], means[rest])
        solved = np.linalg.solve(rule.corner(J), rule.weights[J])
        quick = Z @ rule.weights - rule.times_inverse(Z)[:, J] @ solved
        np.testing.assert_allclose(quick, Z[:, rest] @ direct, atol=1e-9)
        np.testing.assert_allclose(
            (means * rule.weights).sum(0) - (rule.weights[J] * solved).sum(0),
            (means[rest] * direct).sum(0),
        )


def test_more_columns_than_rows_gives_the_same_rule():
    rng = np.random.default_rng(3)
    X, g = _groups(rng, n=30, p=40)
    member = (g[:, None] == np.arange(2)).astype(float)
    rule = _rule(X, member)
    residuals = (X - member @ ((member.T @ X) / member.sum(0)[:, None])) / rule.spread
    scatter = (1 - rule.ridge) / 28 * residuals.T @ residuals + rule.ridge * np.eye(40)
    inverse = np.linalg.inv(scatter)
    np.testing.assert_allclose(rule.times_inverse(X), X @ inverse, atol=1e-8)
    np.testing.assert_allclose(rule.diagonal(), np.diag(inverse), atol=1e-8)
    np.testing.assert_allclose(rule.corner(np.arange(3)), inverse[:3, :3], atol=1e-8)


def test_indicators_of_one_column_are_left_out_together():
    rng = np.random.default_rng(4)
    level = rng.integers(0, 3, 300)
    X = np.hstack([np.eye(3)[level], rng.normal(size=(300, 4))])
    apart = feature_tests(X, level)
    together = feature_tests(X, level, origin=[0, 0, 0, 1, 2, 3, 4])
    assert apart.is_share[:3].all() and not apart.is_share[3:].any()
    assert any(apart.named())
    assert not any(together.named())


def test_scale_shift_and_names_do_not_matter():
    rng = np.random.default_rng(5)
    X, g = _groups(rng, n=150)
    one = feature_tests(X, g)
    two = feature_tests(1000 * X - 5e4, np.where(g == 0, 3, 8))
    np.testing.assert_allclose(one.p_value, two.p_value, rtol=1e-5)
    np.testing.assert_allclose(one.effect, two.effect, rtol=1e-5)
    assert two.clusters.tolist() == [3, 8]


def test_missing_cells_noise_constants_and_tiny_clusters():
    rng = np.random.default_rng(6)
    X, g = _groups(rng, n=300)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 8] = 1.0
    X[:, 9] = np.nan
    labels = g.copy()
    labels[:30] = -1
    labels[30:33] = 2
    found = feature_tests(X, labels)
    assert found.p_value.shape == (3, 10)
    assert np.isfinite(found.p_value).all() and (found.p_value[2] == 1).all()
    assert (found.p_value[:, 8:] == 1).all()
    assert sorted(found.named()[0]) == [0, 1, 2]


@pytest.mark.parametrize("labels", [np.zeros(50, int), np.full(50, -1)])
def test_no_clusters_to_tell_apart(labels):
    found = feature_tests(np.random.default_rng(0).normal(size=(50, 3)), labels)
    assert not any(found.named())


def test_wrong_arguments():
    X = np.zeros((5, 2))
    with pytest.raises(ValueError, match="one per row"):
        feature_tests(X, [0, 1])
    with pytest.raises(ValueError, match="infinite"):
        feature_tests(X + np.inf, [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="n_splits"):
        feature_tests(X, [0, 1, 0, 1, 0], n_splits=0)
    with pytest.raises(ValueError, match="origin"):
        feature_tests(X, [0, 1, 0, 1, 0], origin=[0])


def test_naive_and_q_values():
    rng = np.random.default_rng(7)
    X, g = _groups(rng, n=60, sep=0.5)
    member = (g[:, None] == np.arange(2)).astype(float)
    theirs = ttest_ind(X[g == 1], X[g == 0], equal_var=False).pvalue
    np.testing.assert_allclose(_welch(X, np.ones(X.shape, bool), member)[1], theirs, rtol=1e-9)
    assert benjamini_hochberg(np.zeros((0, 3))).shape == (0, 3)


def test_same_seed_same_result():
    X, g = _groups(np.random.default_rng(8), n=100)
    one, two = (feature_tests(X, g, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.p_value, two.p_value)
