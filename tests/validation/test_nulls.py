"""Null tables keep what they promise and nothing else."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, multivariate_t, norm, rankdata, t
from sklearn.covariance import ledoit_wolf_shrinkage

from subscape.core.errors import SubscapeError
from subscape.datasets import structureless
from subscape.finders import LAC
from subscape.validation import NullModel, null_table, significance
from subscape.validation.classes import CopulaNull, LevelTable
from subscape.validation.nulls import (
    NULLS,
    common_tails,
    indicator_blocks,
    ledoit_wolf,
    normal_scores,
)
from subscape.validation.unimodality import is_multimodal


def correlations(X):
    return np.corrcoef(normal_scores(X), rowvar=False)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from(["copula", "permuted"]),
)
def test_features_keep_their_values(seed, n, p, kind):
    X = np.random.default_rng(seed).integers(0, 4, size=(n, p)).astype(float)
    drawn = null_table(X, kind, seed)
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(X, axis=0))


@pytest.mark.parametrize("shape", [(60, 4), (12, 30)])
def test_gaussian_tables_keep_means_and_covariances_exactly(shape):
    X = structureless("lognormal", *shape, random_state=0)
    drawn = NullModel(X, "gaussian", shrinkage=0).draw(1)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=1e-9)
    assert not np.allclose(drawn, X, atol=0.1)


@pytest.mark.parametrize("rounded", [False, True])
def test_copula_keeps_correlations(rounded):
    X = structureless("lognormal", 300, 4, correlation=0.8, random_state=0)
    if rounded:
        X = np.round(np.log(X))
    model = NullModel(X)
    mean = np.mean([correlations(model.draw(i)) for i in range(30)], axis=0)
    np.testing.assert_allclose(mean, correlations(X), atol=0.02)


def test_one_hump_is_the_copula_unless_a_feature_has_several():
    X = structureless("gaussian", 300, 3, correlation=0.6, random_state=0)
    np.testing.assert_array_equal(null_table(X, "unimodal", 1), null_table(X, "copula", 1))
    X[:, 0] += np.where(X[:, 0] > 0, 4, -4)
    drawn = null_table(X, "unimodal", 1)
    assert is_multimodal(X[:, 0]) and not is_multimodal(drawn[:, 0])
    np.testing.assert_array_equal(np.sort(drawn[:, 1:], axis=0), np.sort(X[:, 1:], axis=0))
    np.testing.assert_allclose(correlations(drawn), correlations(X), atol=0.05)


def test_copula_keeps_correlations_of_many_features():
    X = structureless("gaussian", 40, 60, correlation=0.7, random_state=0)
    wanted = correlations(X)
    model = NullModel(X)
    drawn = np.mean([correlations(model.draw(i)) for i in range(20)], axis=0)
    apart = ~np.eye(60, dtype=bool)
    slope = (drawn * wanted)[apart].sum() / np.square(wanted)[apart].sum()
    assert slope == pytest.approx(1, abs=0.02)


def test_permuted_columns_and_boxes_are_independent():
    X = structureless("gaussian", 2000, 2, correlation=1.0, random_state=3)
    X[:, 1] = X[:, 0]
    for kind in ("permuted", "uniform"):
        assert abs(np.corrcoef(null_table(X, kind, 0).T)[0, 1]) < 0.1
    box = null_table(X, "uniform", 0)
    assert (box.min(axis=0) >= X.min(axis=0)).all() and (box.max(axis=0) <= X.max(axis=0)).all()
    assert abs(np.corrcoef(null_table(X, "copula", 0).T)[0, 1]) > 0.99


def test_rotations_are_uniform():
    """The place of a row's largest value is any row, with the same chance."""
    X = np.arange(5.0)[:, None] ** 2
    model = NullModel(X, "gaussian")
    places = [int(np.argmax(model.draw(i))) for i in range(1000)]
    assert np.bincount(places, minlength=5).min() > 150


def test_clusters_are_lost():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * 0.1 + np.repeat([[0, 0], [5, 5]], 100, axis=0)
    drawn = null_table(X, "gaussian", 0)
    middle = np.abs(drawn[:, 0] - 2.5) < 1
    assert middle.sum() > 30 and (np.abs(X[:, 0] - 2.5) < 1).sum() == 0


def test_missing_values_and_constant_columns_stay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[:, 3] = 7.0
    X[rng.random((40, 4)) < 0.2] = np.nan
    X[:, 2] = np.nan
    with pytest.raises(SubscapeError, match="without missing values"):
        null_table(X, "aligned", 0)
    for kind in ("copula", "unimodal", "permuted", "gaussian", "uniform"):
        drawn = null_table(X, kind, 0)
        np.testing.assert_array_equal(np.isnan(drawn), np.isnan(X))
        assert set(drawn[~np.isnan(drawn[:, 3]), 3]) == {7.0}


@pytest.mark.parametrize("kind", NULLS)
def test_same_seed_same_table_and_the_input_is_left_alone(kind):
    X = structureless("gaussian", 20, 3, random_state=0)
    before = X.copy()
    X.flags.writeable = False
    np.testing.assert_array_equal(null_table(X, kind, 5), null_table(X, kind, 5))
    assert not np.array_equal(null_table(X, kind, 5), null_table(X, kind, 6))
    np.testing.assert_array_equal(X, before)


def test_shrinkage_is_ledoit_and_wolfs():
    X = structureless("gaussian", 30, 80, random_state=0)
    X = X - X.mean(axis=0)
    expected = ledoit_wolf_shrinkage(X, assume_centered=True)
    assert ledoit_wolf(X) == pytest.approx(expected)
    assert NullModel(X).shrinkage == 0
    assert 0 < NullModel(X, shrinkage="ledoit_wolf").shrinkage < 1
    assert NullModel(X, shrinkage=0.25).shrinkage == 0.25


def test_full_shrinkage_leaves_no_correlation():
    X = structureless("gaussian", 500, 2, correlation=1.0, random_state=3)
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    assert abs(correlations(null_table(X, random_state=0, shrinkage=1.0))[0, 1]) < 0.2


def test_wide_tables_need_no_square_of_features():
    X = structureless("gaussian", 20, 5000, random_state=0)
    tracemalloc.start()
    null_table(X, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # 5000 x 5000 would be 200 MB


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 1), (3, 3), (2, 5)])
@pytest.mark.parametrize("kind", NULLS)
def test_smallest_tables(shape, kind):
    X = np.random.default_rng(0).normal(size=shape)
    drawn = null_table(X, kind, 0)
    assert drawn.shape == shape and np.isfinite(drawn).all()


def test_aligned_boxes_follow_the_axes():
    X = structureless("gaussian", 1000, 2, correlation=1.0, random_state=3) * 0.1
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    drawn = null_table(X, "aligned", 0)
    assert np.corrcoef(drawn.T)[0, 1] > 0.95
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.05)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    old, new = ((table - X.mean(axis=0)) @ axes.T for table in (X, drawn))
    assert (new.min(axis=0) >= old.min(axis=0)).all() and (new.max(axis=0) <= old.max(axis=0)).all()


def test_bad_arguments():
    with pytest.raises(SubscapeError, match="null must be one of"):
        null_table([[1.0]], "normal")
    for wrong in (2, "some"):
        with pytest.raises(SubscapeError, match="shrinkage"):
            null_table([[1.0]], shrinkage=wrong)
    with pytest.raises(SubscapeError, match="infinity"):
        null_table([[np.inf]])


# -- levels ---------------------------------------------------------------------------------------


def with_levels(n=120, seed=0):
    """Two columns of numbers, the second of which goes with four levels, and their indicators."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 4, n)
    numbers = np.column_stack([rng.normal(size=n), levels + 0.3 * rng.normal(size=n)])
    return np.column_stack([numbers, np.eye(4)[levels]])


@pytest.mark.parametrize("kind", ["copula", "unimodal"])
def test_every_row_of_a_null_table_has_one_level(kind):
    X = with_levels()
    X[:, 2:] = 7 * X[:, 2:] - 2  # standardised indicators have other values
    drawn = NullModel(X, kind).draw(0)
    assert ((drawn[:, 2:] == 5).sum(axis=1) == 1).all()
    assert np.isin(drawn[:, 2:], [-2, 5]).all()
    np.testing.assert_array_equal((drawn == 5).sum(axis=0)[2:], (X == 5).sum(axis=0)[2:])
    loose = NullModel(X, kind, exclusive=False).draw(0)
    assert ((loose[:, 2:] == 5).sum(axis=1) != 1).any()
    # Who has which level still goes with the numbers, as in the table.
    place = drawn[:, 2:].argmax(axis=1)
    assert np.corrcoef(place, drawn[:, 1])[0, 1] > 0.5 > abs(np.corrcoef(place, drawn[:, 0])[0, 1])


def test_missing_levels_stay_missing():
    X = with_levels()
    X[5:9, 2:] = np.nan
    drawn = NullModel(X, "copula").draw(1)
    np.testing.assert_array_equal(np.isnan(drawn), np.isnan(X))
    assert (np.delete(drawn, range(5, 9), axis=0)[:, 2:].sum(axis=1) == 1).all()


def test_indicators_are_recognised_and_nothing_else():
    levels = np.eye(3)[[0, 1, 2, 1, 0]]
    assert indicator_blocks(np.c_[levels, levels[:, ::-1]]) == [slice(0, 3), slice(3, 6)]
    assert indicator_blocks(np.c_[levels[:, :2], np.arange(5.0)]) == []  # a row has none
    assert indicator_blocks(np.array([[0.0, 0], [1, 1], [0, 1]])) == []  # a row has two
    answers = np.random.default_rng(0).integers(0, 2, (40, 6)).astype(float)
    assert indicator_blocks(answers) == []
    assert indicator_blocks(np.empty((0, 3))) == []


def test_random_levels_are_no_clusters():
    found = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        indicators = [np.eye(4)[rng.integers(0, 4, 150)] for _ in range(3)]
        X = np.column_stack([rng.normal(size=(150, 4)), *indicators])
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        tested = significance(LAC(3, n_init=2, random_state=seed), X, n_null=49, random_state=seed)
        found += tested.p_value <= 0.02
    assert found <= 1  # with rows that have no level, or two, four of five


# -- rows that are far out in all directions -------------------------------------------------------


def noisy_where_small(n=300, p=5, seed=0):
    """Counts whose totals vary widely, as logarithms: few counts are noisy ones."""
    rng = np.random.default_rng(seed)
    totals = np.exp(rng.normal(3, 0.8, (n, 1)))
    return np.log(rng.poisson(totals * rng.dirichlet(np.full(p, 3.0)) * p) + rng.random((n, p)))


def test_the_gain_of_a_t_copula_is_that_of_densities_by_scipy():
    X = np.random.default_rng(3).standard_t(3, (120, 3)) @ np.array(
        [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]
    )
    found = common_tails(np.exp(X))  # ranks alone count
    shares = rankdata(X, axis=0) / 121
    normal = norm.ppf(shares)
    R = (1 - 1e-3) * np.corrcoef(normal.T) + 1e-3 * np.eye(3)
    without = multivariate_normal(np.zeros(3), R).logpdf(normal).sum() - norm.logpdf(normal).sum()
    gains = {}
    for degrees in (3, 4, 6, 8, 12, 20, 40):
        values = t.ppf(shares, degrees)
        joint = multivariate_t(np.zeros(3), R, df=degrees).logpdf(values).sum()
        gains[degrees] = joint - t.logpdf(values, degrees).sum() - without
    assert found.degrees == max(gains, key=gains.get)
    assert found.gain == pytest.approx(max(gains.values()), rel=1e-8)


def test_tables_without_groups_have_the_tails_that_columns_have_in_common():
    X = noisy_where_small()
    model = NullModel(X, "unimodal")
    assert model.degrees < np.inf
    assert NullModel(X, "copula").degrees == np.inf

    def far_out(table):
        scores = normal_scores(table)
        away = np.einsum("ij,jk,ik->i", scores, np.linalg.inv(np.cov(scores.T)), scores)
        return np.sort(away)[-6:].mean()

    drawn = np.mean([far_out(model.draw(s)) for s in range(20)])
    model.degrees = np.inf
    without = np.mean([far_out(model.draw(s)) for s in range(20)])
    assert without < drawn and abs(drawn - far_out(X)) < 0.6 * (far_out(X) - without)
    # Every column has its own values all the same.
    model.degrees = 4.0
    assert (np.sort(model.draw(0), axis=0) == np.sort(model.values, axis=0)).all()


def test_where_a_normal_copula_does_the_draws_are_as_they_were():
    rng = np.random.default_rng(0)
    several = sum(
        NullModel(np.exp(rng.normal(size=(150, 5))), "unimodal").degrees < np.inf for _ in range(60)
    )
    assert several <= 1
    two = np.repeat([0.0, 9.0], 100)[:, None] + rng.normal(size=(200, 3))
    assert NullModel(two, "unimodal").degrees == np.inf


def test_too_few_rows_ties_and_gaps_tell_nothing_of_tails():
    rng = np.random.default_rng(1)
    heavy = rng.normal(size=(100, 4)) * rng.lognormal(size=(100, 1))
    assert common_tails(heavy).gain > 10
    assert common_tails(heavy[:19]) == (0.0, np.inf) and common_tails(heavy[:20]).gain != 0
    tied = np.where(rng.random((100, 4)) < 0.5, 0.0, heavy)
    assert common_tails(tied) == (0.0, np.inf)
    assert common_tails(heavy[:, :1]) == (0.0, np.inf)
    gaps = heavy.copy()
    gaps[:10, 0] = np.nan
    assert common_tails(gaps) == common_tails(heavy[10:])
    assert common_tails(np.full((5, 2), np.nan)) == (0.0, np.inf)


def test_columns_that_go_together_closely_are_compared_with_tables_of_a_normal_copula():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) for _ in range(80)]
    alone = [table for table in tables if 2 * common_tails(table).gain > 10.83]
    taken = [table for table in alone if NullModel(table, "unimodal").degrees < np.inf]
    # Their ranks alone make rows lie far out, and a likelihood ratio is fooled by it.
    assert len(alone) >= 8 and len(taken) <= len(alone) / 2


@pytest.mark.parametrize("kind", ["gaussian", "copula", "unimodal"])
def test_what_is_drawn_does_not_hang_on_rounding_where_columns_give_others(kind, monkeypatch):
    """Indicators of all levels of a column sum to one: of the last only rounding is left.

    Later columns must not be shared out along that rest.
    """
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 3, size=(80, 3))
    X = np.column_stack([np.eye(3)[column] for column in levels.T] + [rng.normal(size=(80, 2))])
    drawn = NullModel(X, kind).draw(1)
    qr = np.linalg.qr

    def otherwise(columns):
        """Rounded differently."""
        nudged = columns * (1 + 1e-14 * rng.normal(size=columns.shape))
        return qr(nudged)

    monkeypatch.setattr("subscape.validation.nulls.np.linalg.qr", otherwise)
    assert np.allclose(NullModel(X, kind).draw(1), drawn, atol=1e-6)


def test_levels_that_are_drawn_do_not_hang_on_the_signs_of_axes(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 5)) + rng.normal(size=(200, 1)) > 0.3).astype(float)
    table = LevelTable.of(X)
    drawn = CopulaNull(X, table).draw(np.random.default_rng(1))
    eigh = np.linalg.eigh

    def otherwise(matrix):
        values, vectors = eigh(matrix)
        return values, vectors * np.where(np.arange(len(values)) % 2, 1.0, -1.0)

    monkeypatch.setattr("subscape.validation.classes.np.linalg.eigh", otherwise)
    assert np.array_equal(CopulaNull(X, table).draw(np.random.default_rng(1)), drawn)
