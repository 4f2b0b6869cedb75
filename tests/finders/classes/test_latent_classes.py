"""Latent classes: the estimator, the score, and tables without classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from subscape.core.errors import SubscapeError
from subscape.finders import LatentClasses
from subscape.finders.classes.class_score import ClassScorer
from subscape.finders.classes.latent_classes import likeliest_classes
from subscape.finders.classes.level_table import LevelTable, columns_of_levels, evidence
from subscape.finders.classes.trait_model import _Problem, fit_trait, independent
from subscape.measures import adjusted_rand_score
from subscape.testing.finders import FINDER_CHECKS
from subscape.validation.classes import CopulaNull, TraitNull, class_test, gamma_p_value


def answers(n=300, p=12, k=3, right=0.85, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    usual = rng.integers(0, 2, (k, p))
    table = np.where(rng.random((n, p)) < right, usual[truth], 1 - usual[truth]).astype(float)
    table[rng.random((n, p)) < gaps] = np.nan
    return table, truth


def one_trait(n=300, p=10, seed=0):
    rng = np.random.default_rng(seed)
    trait = rng.normal(size=(n, 1))
    return np.digitize(trait + rng.normal(size=(n, p)), [-1, 0, 1]).astype(float)


def mixed(n=240, seed=0):
    table, truth = answers(n, 6, 2, seed=seed)
    rng = np.random.default_rng(seed + 1)
    numbers = rng.normal(size=(n, 3)) + 2 * truth[:, None]
    return np.column_stack([table, numbers]), truth


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_finds_the_classes(k, gaps):
    table, truth = answers(600, 20, k, gaps=gaps, seed=k)
    found = LatentClasses(random_state=0).fit(table)
    assert found.n_clusters_ == k
    assert adjusted_rand_score(truth, found.labels_) > 0.85


def test_finds_no_classes_in_random_answers():
    table = np.random.default_rng(0).integers(0, 3, (300, 10))
    assert LatentClasses(random_state=0).fit(table).n_clusters_ == 1


def test_finds_many_classes():
    table, truth = answers(2000, 40, 24, right=0.92)
    found = LatentClasses(random_state=0).fit(table)
    assert abs(found.n_clusters_ - 24) <= 1
    assert adjusted_rand_score(truth, found.labels_) > 0.9


def test_mixed_columns_and_their_relevance():
    table, truth = mixed()
    noise = np.random.default_rng(5).integers(0, 3, (len(table), 2))
    found = LatentClasses(random_state=0).fit(np.column_stack([table, noise]))
    assert adjusted_rand_score(truth, found.labels_) > 0.9
    assert (found.relevance_[-2:] == 0).all()
    assert (found.relevance_[6:9] > 10).all()
    assert found.clustering_.subspaces.weights[:, -2:].max() < 0.05


def test_numbers_only_agree_with_a_diagonal_mixture():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 100)
    table = rng.normal(size=(3, 6))[truth] * 3 + rng.normal(size=(300, 6))
    found = LatentClasses(random_state=0).fit(table)
    mixture = GaussianMixture(3, covariance_type="diag", n_init=5, random_state=0)
    assert found.n_clusters_ == 3
    assert adjusted_rand_score(mixture.fit_predict(table), found.labels_) > 0.97


@pytest.mark.parametrize("criterion", ["evidence", "bic", "icl"])
def test_criteria(criterion):
    table, _ = answers(400, 15, 3, right=0.9)
    found = LatentClasses(criterion=criterion, random_state=0).fit(table)
    assert found.n_clusters_ == 3
    assert found.bic_ < 0
    assert found.history_[3] == max(found.history_.values())


def test_predict_agrees_with_the_fit_and_takes_gaps_and_new_levels():
    table, _ = answers(gaps=0.1)
    found = LatentClasses(3, random_state=0).fit(table)
    assert (found.predict(table) == found.labels_).all()
    np.testing.assert_allclose(found.predict_proba(table), found.memberships_, atol=1e-3)
    odd = np.full((1, table.shape[1]), 7.0)
    np.testing.assert_allclose(found.predict_proba(odd)[0], found.shares_, atol=1e-9)


def test_affine_changes_of_numbers_and_names_of_levels_do_not_matter():
    table, _ = mixed()
    changed = table.copy()
    changed[:, 6:] = 1e5 - 40 * table[:, 6:]
    changed[:, :6] = 9 - 3 * table[:, :6]
    a = LatentClasses(2, random_state=0).fit(table).labels_
    b = LatentClasses(2, random_state=0).fit(changed).labels_
    assert adjusted_rand_score(a, b) == 1


def test_which_columns_hold_levels():
    table = np.column_stack([np.tile([0, 1], 30), np.arange(60)]).astype(float)
    assert columns_of_levels(table, "auto").tolist() == [0]
    assert columns_of_levels(table, [True, True]).tolist() == [0, 1]
    assert columns_of_levels(table, [1]).tolist() == [1]
    assert columns_of_levels(table, []).tolist() == []
    for wrong in ("yes", [2], [True]):
        with pytest.raises(SubscapeError):
            columns_of_levels(table, wrong)


def test_evidence_of_levels_is_the_product_of_predictions():
    column = np.array([0, 1, 1, 0, 1, 1, 1, 0, 1.0])
    table = LevelTable.of(column[:, None], [0])
    total, counts = 0.0, np.full(2, 0.5)
    for value in column.astype(int):
        total += np.log(counts[value] / counts.sum())
        counts[value] += 1
    assert evidence(table, table.design.sum(axis=0)[:, None])[0, 0] == pytest.approx(total)


def test_evidence_of_numbers_is_that_of_the_conjugate_prior():
    from scipy.integrate import dblquad
    from scipy.stats import invgamma, norm

    column = np.array([-1.0, 0.2, 0.8])
    table = LevelTable.of(column[:, None], [])
    z = (column - table.centre) / table.scale
    prior = 0.1 / 1.1

    def joint(mean, variance):
        known = norm.pdf(z, mean, np.sqrt(variance)).prod()
        known *= norm.pdf(mean, 0, np.sqrt(variance / 0.1))
        return known * invgamma.pdf(variance, 0.5, scale=prior / 2)

    whole, _ = dblquad(joint, 1e-6, 60, -30, 30, epsabs=1e-7)
    got = evidence(table, table.design.sum(axis=0)[:, None])[0, 0]
    assert got == pytest.approx(np.log(whole), abs=0.02)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("dims", [1, 2])
def test_gradient_of_the_trait_model(dims, ordered):
    table, _ = mixed(60)
    table[:, 0] = np.random.default_rng(0).integers(0, 3, 60)
    table[3, 1] = np.nan
    problem = _Problem(LevelTable.of(table), dims, ordered)
    x = problem.start()
    gradient = problem(x)[1]
    for j in range(0, len(x), 3):
        step = 1e-5 * (np.arange(len(x)) == j)
        numeric = (problem(x + step)[0] - problem(x - step)[0]) / 2e-5
        assert gradient[j] == pytest.approx(numeric, abs=1e-7)


def test_one_trait_describes_one_trait_better_than_classes_do():
    judge = ClassScorer(one_trait())
    found = LatentClasses(random_state=0).fit(one_trait())
    assert found.n_clusters_ > 1
    assert judge(found.labels_).without == "traits"
    assert judge(found.labels_).gain < 0


def test_true_classes_gain_and_others_do_not():
    table, truth = answers(gaps=0.1)
    judge = ClassScorer(table)
    noise = np.where(np.arange(len(truth)) % 10 == 0, -1, truth)
    assert judge(truth).gain > max(0, judge(noise).gain)
    assert judge(np.random.default_rng(0).permutation(truth)).gain < 0
    assert judge(np.zeros(len(truth), int)).gain <= 0
    assert judge(truth).columns.shape == (12,)


def test_copies_of_one_column_make_no_classes():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (300, 10))
    table[:, 1] = table[:, 0]
    assert ClassScorer(table)(table[:, 0]).gain < 0


def test_null_tables_keep_levels_gaps_and_correlations():
    X = one_trait(2000)
    X[::7, 2] = np.nan
    table = LevelTable.of(X)
    trait = fit_trait(table)
    assert trait.log_likelihood > independent(table)
    seen = np.ma.corrcoef(np.ma.masked_invalid(X).T)
    for null in (CopulaNull(X, table), TraitNull(X, table, trait)):
        drawn = null.draw(np.random.default_rng(1))
        assert (np.isnan(drawn) == np.isnan(X)).all()
        again = np.ma.corrcoef(np.ma.masked_invalid(drawn).T)
        assert np.abs(seen - again).max() < 0.12
        assert abs(np.nanmean(drawn) - np.nanmean(X)) < 0.08


def test_nominal_levels_keep_what_they_share():
    codes = np.array([2, 0, 3, 1])
    X = codes[one_trait(1500).astype(int)].astype(float)
    drawn = LevelTable.of(CopulaNull(X, LevelTable.of(X)).draw(np.random.default_rng(0)))
    ratio = ClassScorer(drawn).without["tree"] / ClassScorer(X).without["tree"]
    assert 0.7 < ratio < 1.3


def test_class_test():
    table, truth = answers(gaps=0.1)
    sure = class_test(table, n_tables=10, random_state=0)
    assert sure.p_value() < 0.01
    assert replace(sure, evidence=0.0).p_value() == 1.0
    assert replace(sure, evidence=1e-9).p_value() > sure.p_value()
    assert adjusted_rand_score(truth, sure.labels) > 0.8
    again = class_test(table, n_tables=10, random_state=0)
    assert all((sure.maxima[kind] == again.maxima[kind]).all() for kind in sure.maxima)
    assert class_test(one_trait(200), n_tables=10, random_state=0).p_value() > 0.01


def test_tail_falls_and_meets_what_was_seen():
    maxima = np.random.default_rng(0).normal(size=40)
    p = [gamma_p_value(gain, maxima) for gain in np.linspace(-3, 8, 50)]
    assert (np.diff(p) <= 1e-12).all()
    assert p[0] == 1 and p[-1] < 1e-5


@pytest.mark.parametrize("name", list(FINDER_CHECKS))
def test_finder(name):
    FINDER_CHECKS[name](LatentClasses())


@parametrize_with_checks([LatentClasses()])
def test_sklearn(estimator, check):
    check(estimator)


def test_the_likeliest_class_of_other_rows_is_bayes_rule_by_those_that_are_known():
    X, truth = answers(400, 8, 3, right=0.8, seed=4)
    rng = np.random.default_rng(0)
    X = np.column_stack([X, truth + rng.normal(size=400)])
    table = LevelTable.of(X, np.arange(9) < 8)
    rows = np.arange(0, 400, 3)
    found = likeliest_classes(table, rows, truth[rows])
    # By hand: one row like all others beside those of each class.
    own, other = X[rows], X[:, 8]
    likely = np.zeros((400, 3))
    for k in range(3):
        inside = own[truth[rows] == k]
        yes = (inside[:, :8].sum(axis=0) + X[:, :8].mean(axis=0)) / (len(inside) + 1)
        likely[:, k] = np.log(len(inside))
        likely[:, k] += (X[:, :8] * np.log(yes) + (1 - X[:, :8]) * np.log(1 - yes)).sum(axis=1)
        mean, spread = inside[:, 8].mean(), inside[:, 8].std()
        likely[:, k] += -0.5 * ((other - mean) / spread) ** 2 - np.log(spread)
    assert (found == likely.argmax(axis=1)).mean() > 0.985


@pytest.mark.parametrize("larger", [0, 1])
def test_a_row_of_which_nothing_is_known_is_in_the_larger_class(larger):
    X = np.array([[1.0, 1], [1, 1], [1, 1], [0, 0], [np.nan, np.nan], [1, np.nan], [0, np.nan]])
    known = np.array([larger] * 3 + [1 - larger])
    found = likeliest_classes(LevelTable.of(X), np.arange(4), known)
    assert found.tolist() == [*known.tolist(), larger, larger, 1 - larger]
