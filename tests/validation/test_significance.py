"""Scores of clusters, the maximum test, significance and replication."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from tests.validation.finders import Halves

from subscape import SubspaceClustering
from subscape.core import OrientedSubspaces
from subscape.core.errors import SubscapeError
from subscape.datasets import planted_axes, planted_oriented, structureless
from subscape.finders import LAC, P3C
from subscape.validation import (
    max_statistic_test,
    replicate,
    robust_scale,
    score_clusters,
    significance,
)
from subscape.validation.cluster_scores import column_scores, humped_columns
from subscape.validation.nulls import NullModel, normal_scores

# -- scores ---------------------------------------------------------------------------------------


def test_score_is_the_formula():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(30, 4))
    masks = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)
    labels = np.repeat([0, 1, -1], 10)
    scores = score_clusters(X, SubspaceClustering.from_labels(labels, masks=masks))
    Z = normal_scores(X)
    for k in range(2):
        part = Z[labels == k][:, masks[k]]
        wide = Z[:, masks[k]].var(axis=0)
        narrow = (10 * part.var(axis=0) + wide) / 11
        gain = 10 * 0.5 * np.log(wide / narrow).sum()
        assert scores.gain[k] == pytest.approx(gain)
        assert scores.statistic[k] == pytest.approx(gain / np.sqrt(10))
    assert scores.total == pytest.approx(scores.gain.sum())
    assert scores.largest == scores.statistic.max()


@pytest.mark.parametrize("complement", [False, True])
def test_oriented_score_is_the_formula(complement):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) + 100
    basis = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    labels = np.repeat([0, -1], 15)
    clustering = SubspaceClustering.from_labels(
        labels, bases=OrientedSubspaces([basis], complement=complement)
    )
    projector = basis @ basis.T
    if complement:
        projector = np.eye(3) - projector
    dims = round(np.trace(projector))
    broad = np.trace(projector @ np.cov(X.T, bias=True))
    tight = (15 * np.trace(projector @ np.cov(X[:15].T, bias=True)) + broad) / 16
    expected = 15 * dims / 2 * np.log(broad / tight)
    assert score_clusters(X, clustering).gain[0] == pytest.approx(expected)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_shape_of_the_features_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    clustering = SubspaceClustering.from_labels(
        np.concatenate([[0, 1], rng.integers(-1, 2, 23)]), masks=[[1, 1, 0], [0, 1, 1]]
    )
    scores = score_clusters(X, clustering)
    stretched = score_clusters(np.exp(X) * [1, 10, 0.1] - 5, clustering)
    np.testing.assert_allclose(stretched.gain, scores.gain, rtol=1e-9)
    order = rng.permutation(25)
    shuffled = score_clusters(X[order], clustering.restrict(order))
    np.testing.assert_allclose(np.sort(shuffled.gain), np.sort(scores.gain), rtol=1e-9)


def test_weights_missing_values_and_constants():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(40, 3)), np.ones(40)])
    labels = np.arange(40) % 2
    mask = np.array([[1, 1, 0, 1]] * 2, bool)
    axis = SubspaceClustering.from_labels(labels, masks=mask)
    without = SubspaceClustering.from_labels(labels, masks=mask & [[1, 1, 1, 0]])
    np.testing.assert_allclose(score_clusters(X, axis).gain, score_clusters(X, without).gain)
    np.testing.assert_allclose(
        score_clusters(X, without.as_weighted()).gain, score_clusters(X, without).gain
    )
    holes = X.copy()
    holes[::5, 0] = np.nan
    present = ~np.isnan(holes[:, 0])
    first = SubspaceClustering.from_labels(labels, masks=np.array([[1, 0, 0, 0]] * 2, bool))
    alone = SubspaceClustering.from_labels(labels[present], masks=np.ones((2, 1), bool))
    np.testing.assert_allclose(
        score_clusters(holes, first).gain, score_clusters(X[present][:, :1], alone).gain
    )


def test_shared_rows_count_once_in_the_total():
    X = structureless("gaussian", 30, 2, random_state=0)
    X[:10] *= 0.1
    once = SubspaceClustering.from_clusters([(range(10), [0, 1])], (30, 2))
    twice = SubspaceClustering.from_clusters([(range(10), [0, 1])] * 2, (30, 2))
    assert score_clusters(X, twice).total == pytest.approx(score_clusters(X, once).total)


def test_no_clusters_and_two_equal_rows_are_no_evidence():
    X = structureless("gaussian", 50, 5, random_state=0)
    nothing = score_clusters(X, np.full(50, -1))
    assert (nothing.total, nothing.largest, len(nothing.gain)) == (0.0, 0.0, 0)
    X[1] = X[0]
    pair = SubspaceClustering.from_clusters([([0, 1], range(5))], (50, 5))
    assert score_clusters(X, pair).gain[0] <= 5 * np.log(3)


def two_groups_in_one_column(seed, n=150):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[: n // 2, 0] += 6
    return X / X.std(axis=0)


def test_a_gap_in_one_feature_counts():
    """By rank alone, the halves of a feature are as narrow with a gap between them as without."""
    X = two_groups_in_one_column(0)
    labels = np.repeat([0, 1], 75)
    clustering = SubspaceClustering.from_labels(labels, masks=[[1, 0, 0, 0]] * 2)
    closed = X.copy()
    closed[np.argsort(X[:, 0]), 0] = np.sort(np.random.default_rng(1).normal(size=150))
    with_gap, without = (score_clusters(table, clustering) for table in (X, closed))
    assert with_gap.total > 1.5 * without.total
    np.testing.assert_allclose(
        without.gain, score_clusters(np.exp(closed), clustering).gain, rtol=1e-9
    )


def test_columns_with_humps_are_scored_in_one_hump():
    X = two_groups_in_one_column(0)
    X[::10, 0] = np.nan
    model = NullModel(X, "unimodal")
    assert humped_columns(model.table, model.values).tolist() == [0]
    # What null tables have in its place is normal, as it is by rank.
    drawn = model.draw(0)
    assert len(column_scores(drawn, ())) == 1
    np.testing.assert_array_equal(column_scores(drawn, ())[0], normal_scores(drawn))
    there = ~np.isnan(X[:, 0])
    first = np.arange(150)[there] < 75
    ways = column_scores(X, [0])
    spreads = []
    for one in ways:
        np.testing.assert_array_equal(one[:, 1:], normal_scores(X)[:, 1:])
        assert np.isnan(one[~there, 0]).all()
        own = one[there, 0]
        assert (np.diff(own[np.argsort(X[there, 0])]) >= 0).all()
        spreads.append([own[first].std(), own[~first].std()])
    # Each of the two groups is narrow where the other one is kept.
    assert len(ways) == 2
    assert (np.min(spreads, axis=0) < 0.7 * np.max(spreads, axis=0)).all()


# -- the maximum test -----------------------------------------------------------------------------


def test_p_values_count_maxima():
    p = max_statistic_test([[3.0, 0.0], [1.0, 2.0]], [0.5, 1.0, 2.0])
    assert p.tolist() == [[0.25, 1.0], [0.75, 0.5]]
    assert max_statistic_test([2.0 - 1e-14], [2.0])[0] == 1.0
    with pytest.raises(SubscapeError, match="no null table"):
        max_statistic_test([1.0], [])
    with pytest.raises(SubscapeError, match="NaN"):
        max_statistic_test([np.nan], [1.0])


def test_p_values_hold_for_all_statistics_at_once():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        values = rng.normal(size=(40, 12))
        alarms += max_statistic_test(values[0], values[1:].max(axis=1)).min() <= 0.05
    assert 6 <= alarms <= 34  # 20 expected


def test_scales_are_robust_and_fair():
    rng = np.random.default_rng(0)
    values = rng.normal(5, 3, size=(1001, 2))
    values[0] = 1e6
    scale = robust_scale(values)
    np.testing.assert_allclose(scale.centre, 5, atol=0.5)
    np.testing.assert_allclose(scale.width, 3, atol=0.4)
    order = rng.permutation(1001)
    np.testing.assert_allclose(robust_scale(values[order]).width, scale.width)
    assert np.isfinite(robust_scale(np.zeros((5, 1)))(np.zeros((5, 1)))).all()


# -- significance ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted():
    return planted_axes(200, 10, n_clusters=3, dims=4, noise=0.1, random_state=1)


@pytest.fixture(scope="module")
def tested(planted):
    return significance(LAC(3), planted.X, n_null=39, random_state=0)


def test_planted_clusters_are_significant(tested, planted):
    assert tested.p_value == 1 / 40
    assert tested.significant_clusters(0.05) == [0, 1, 2]
    # With 39 tables nothing can be as rare as one in a hundred.
    assert tested.significant_clusters() == []
    assert tested.observed > tested.null.max()
    assert tested.n_null == 39 and tested.failures == ()
    assert tested.clustering.n_clusters == 3
    expected = score_clusters(planted.X, tested.clustering).statistic
    np.testing.assert_allclose(tested.cluster_statistics[0], expected)
    assert "p = 0.025 against 39 unimodal tables" in repr(tested)


def test_records_have_a_line_per_cluster(tested):
    records = tested.to_records()
    assert [record["cluster"] for record in records] == [0, 1, 2]
    assert all(record["p_value"] == 1 / 40 for record in records)
    assert sum(record["rows"] for record in records) == 200


def test_clusters_that_are_chance_are_not_significant(planted):
    """One planted cluster beside many made of noise."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 10))
    X[:80, :4] = 0.5 + 0.03 * rng.normal(size=(80, 4))
    result = significance(LAC(4, n_init=3), X, n_null=39, random_state=0)
    truth = np.arange(300) < 80
    labels = result.clustering.labels()
    shares = np.array([truth[labels == k].mean() for k in range(result.clustering.n_clusters)])
    assert result.significant_clusters() == np.flatnonzero(shares > 0.5).tolist()


def test_few_false_alarms():
    """30 tables without clusters: more than 5 alarms at 5 % have a chance of 0.3 %."""
    p_values, clusters = [], []
    for seed in range(30):
        X = structureless(("uniform", "gaussian", "lognormal")[seed % 3], 60, 4, random_state=seed)
        result = significance(LAC(3, n_init=1), X, n_null=19, random_state=1000 + seed)
        p_values.append(result.p_value)
        clusters.append(result.cluster_p_values[0].min())
    assert (np.array(p_values) <= 0.05).sum() <= 5
    assert (np.array(clusters) <= 0.05).sum() <= 5
    assert 0.3 < np.mean(p_values) < 0.75


def test_permuted_columns_call_correlation_significant():
    """Which is why the copula is the default."""
    X = structureless("gaussian", 200, 6, correlation=0.9, random_state=0)
    finder = KMeans(3, n_init=1)
    assert significance(finder, X, null="permuted", n_null=19, random_state=0).p_value == 0.05
    assert significance(finder, X, null="copula", n_null=19, random_state=0).p_value > 0.05


def test_best_of_many_runs(planted):
    useless = KMeans(2, n_init=1, max_iter=1)
    both = significance([useless, LAC(3)], planted.X, n_null=19, random_state=0)
    assert both.p_value == both.run_p_values.min() == 0.05
    assert both.run_p_values[1] == 0.05
    assert [len(p) for p in both.cluster_p_values] == [2, 3]
    assert {record["run"] for record in both.to_records()} == {0, 1}
    nothing = structureless("gaussian", 80, 4, random_state=5)
    many = [KMeans(k, n_init=1) for k in (2, 3, 4, 5)]
    assert significance(many, nothing, n_null=19, random_state=0).p_value > 0.05


def test_groups_that_one_column_shows_are_significant():
    for seed in range(4):
        X = two_groups_in_one_column(seed)
        result = significance(LAC(2, random_state=0), X, random_state=0)
        assert result.p_value == 0.01 and result.significant_clusters() == [0, 1]
    by_copula = significance(LAC(2, random_state=0), X, null="copula", random_state=0)
    assert by_copula.p_value > 0.05  # part of the column's own distribution


def test_nothing_found_is_not_significant():
    X = structureless("uniform", 60, 4, random_state=0)
    result = significance(P3C(), X, n_null=9, random_state=0)
    assert result.clustering.n_clusters == 0
    assert result.p_value == 1.0
    assert result.significant_clusters() == [] and result.to_records() == []


def test_same_bits_for_any_n_jobs_and_backend(planted):
    from joblib import parallel_config

    def bits(**options):
        result = significance(LAC(3, n_init=2), planted.X, n_null=4, random_state=3, **options)
        return result.null.tobytes(), result.observed, result.cluster_null.tobytes()

    alone = bits()
    assert bits(n_jobs=2) == alone
    with parallel_config(backend="threading"):
        assert bits(n_jobs=2) == alone


def test_a_finder_that_fails_on_null_tables_is_counted(monkeypatch):
    X = structureless("gaussian", 40, 2, random_state=0)
    result = significance(FailsOnSome(), X, n_null=9, random_state=0)
    assert result.n_null + len(result.failures) == 9
    assert 0 < len(result.failures) < 9
    assert "bad luck" in result.failures[0]
    with pytest.raises(SubscapeError, match="fails on the table itself"):
        significance(Halves(fault="raise", where=0, random_state=0), X, n_null=3)


class FailsOnSome(Halves):
    """Fails where the first value is below -0.3, which depends on the table."""

    def fit(self, X, y=None):
        if X[0, 0] < -0.3 and X[1, 1] != 0:
            raise RuntimeError("bad luck")
        return super().fit(X)


def test_other_statistics(planted):
    bits = significance(LAC(3), planted.X, statistic="description_length", n_null=9, random_state=0)
    assert bits.p_value == 0.1 and bits.statistic == "description_length"
    constant = significance(
        LAC(3), planted.X, statistic=lambda X, c: float(c.n_clusters), n_null=9, random_state=0
    )
    assert constant.p_value == 1.0
    with pytest.raises(SubscapeError, match="statistic must be"):
        significance(LAC(3), planted.X, statistic="luck")


def test_oriented_clusters():
    X = planted_oriented(5, ((1, 80), (1, 80)), noise=0, random_state=0).X
    from subscape.finders import KFlats

    result = significance(KFlats(2, n_init=2), X, n_null=19, random_state=0)
    assert result.p_value == 0.05


def test_a_store_makes_it_resumable(tmp_path, planted):
    options = {"n_null": 4, "random_state": 0, "store": tmp_path}
    steps = []
    first = significance(LAC(3), planted.X, **options, progress=steps.append)
    assert steps[-1].done == steps[-1].total == 5
    assert len(list((tmp_path / "runs").glob("*.subscape"))) == 5
    again = significance(LAC(3), planted.X, **options)
    assert again.null.tobytes() == first.null.tobytes()


def test_names_of_features_stay(planted):
    import pandas as pd

    names = [f"f{j}" for j in range(10)]
    frame = pd.DataFrame(planted.X, columns=names)
    named = significance(LAC(3), frame, n_null=3, random_state=0)
    plain = significance(LAC(3), planted.X, n_null=3, random_state=0)
    assert list(named.clustering.feature_names) == names
    assert named.null.tolist() == plain.null.tolist() and named.observed == plain.observed


def test_batches_change_nothing(planted, monkeypatch):
    from subscape.validation import null_test

    whole = significance(LAC(3), planted.X, n_null=5, random_state=0)
    monkeypatch.setattr(null_test, "BATCH_BYTES", 1)
    assert significance(LAC(3), planted.X, n_null=5, random_state=0).null.tolist() == (
        whole.null.tolist()
    )


def test_bad_arguments(planted):
    with pytest.raises(SubscapeError, match="n_null"):
        significance(LAC(3), planted.X, n_null=0)
    with pytest.raises(SubscapeError, match="no finder"):
        significance([], planted.X)
    with pytest.raises(SubscapeError, match="null must be"):
        significance(LAC(3), planted.X, null="none")


# -- replication ----------------------------------------------------------------------------------


def test_planted_clusters_replicate():
    X = planted_axes(300, 8, n_clusters=3, dims=4, random_state=0).X
    result = replicate(P3C(), X, n_splits=2, n_null=9, random_state=0)
    assert result.p_value == 0.1
    assert result.mean > 0.8 > result.null_agreement.max()
    assert result.cluster_recovery.shape == (2, 3)
    assert (result.cluster_means > 0.6).all()
    assert [record["cluster"] for record in result.to_records()] == [0, 1, 2]
    assert "agreement" in repr(result)


def test_noise_does_not_replicate():
    X = structureless("lognormal", 120, 5, random_state=0)
    result = replicate(LAC(3), X, n_splits=2, n_null=19, random_state=0)
    assert result.p_value > 0.05


def test_replication_without_null_tables_or_clusters():
    X = structureless("uniform", 60, 4, random_state=0)
    result = replicate(P3C(), X, n_splits=2, n_null=0, random_state=0)
    assert result.agreement.tolist() == [0.0, 0.0]
    assert np.isnan(result.p_value) and result.cluster_recovery.shape == (2, 0)
    with pytest.raises(SubscapeError, match="between 0 and 1"):
        replicate(P3C(), X, measure="variation_of_information")
