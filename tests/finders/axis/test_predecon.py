"""PreDeCon against its definition, against DBSCAN, and on planted tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.exceptions import ConvergenceWarning

from subscape.arrays.bitsets import unpack
from subscape.core import ConstantFeatureWarning
from subscape.datasets import planted_axes, thesis_6_1
from subscape.finders import PreDeCon
from subscape.finders.axis.predecon import predecon, preferences
from subscape.finders.axis.predecon import predecon as preference_graph
from subscape.finders.axis.predecon.feature_neighbours import row_preferences
from subscape.finders.base import Watch
from subscape.measures import clustering_error


def by_definition(X, eps, min_samples, delta, kappa, most):
    """Core rows, clusters of cores, preferences and, for other rows, the clusters in reach."""
    n = len(X)
    squares = np.square(X[:, None] - X)
    near = squares.sum(axis=2) <= eps**2
    variance = np.array([squares[i][near[i]].mean(axis=0) for i in range(n)])
    preferred = variance <= delta
    weights = np.where(preferred, kappa, 1.0)
    own = np.einsum("ijk,ik->ij", squares, weights)
    away = np.maximum(own, own.T)
    close = away <= eps**2
    eligible = preferred.sum(axis=1) <= most
    core = eligible & (close.sum(axis=1) >= min_samples)
    cluster = np.arange(n)
    changed = True
    while changed:
        changed = False
        for i in np.flatnonzero(core):
            for j in np.flatnonzero(core & close[i]):
                low = min(cluster[i], cluster[j])
                if cluster[i] != low or cluster[j] != low:
                    cluster[[i, j]] = low
                    changed = True
    labels = np.where(core, cluster, -1)
    for i in np.flatnonzero(eligible & ~core):
        hosts = np.flatnonzero(core & close[i])
        if len(hosts):
            labels[i] = cluster[hosts[away[i, hosts].argmin()]]
    return labels, core, preferred


def same_groups(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.2, 0.4]),
    st.sampled_from([2, 4]),
    st.sampled_from([0.002, 0.01, 1.0]),
    st.sampled_from([5.0, 100.0]),
    st.sampled_from([1, 2, 3]),
)
@settings(deadline=None, max_examples=50)
def test_against_the_definition(seed, eps, min_samples, delta, kappa, most):
    rng = np.random.default_rng(seed)
    X = rng.random((40, 3))
    X[:15, 0] = 0.3 + 0.01 * rng.normal(size=15)
    X[10:25, 1:] = 0.6 + 0.01 * rng.normal(size=(15, 2))
    finder = PreDeCon(
        eps=eps, min_samples=min_samples, delta=delta, kappa=kappa, max_pref_dims=most, scale=False
    ).fit(X)
    labels, core, preferred = by_definition(X, eps, min_samples, delta, kappa, most)
    np.testing.assert_array_equal(finder.preference_, preferred)
    # What isn't ours: clusters in which no feature is preferred by half of the cores are left out.
    for label in set(labels[labels >= 0].tolist()):
        shares = preferred[core & (labels == label)].mean(axis=0)
        if (shares < 0.5).all():
            core = core & (labels != label)
            labels = np.where(labels == label, -1, labels)
    np.testing.assert_array_equal(finder.core_sample_indices_, np.flatnonzero(core))
    np.testing.assert_array_equal(finder.labels_ >= 0, labels >= 0)
    assert same_groups(finder.labels_, labels)
    for k in range(finder.clustering_.n_clusters):
        rows = finder.labels_ == k
        expected = preferred[rows & core].mean(axis=0) >= 0.5
        np.testing.assert_array_equal(finder.clustering_.subspaces.masks[k], expected)


def test_without_weights_it_is_dbscan():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.4, size=(60, 3)) for c in (0, 3, 6)] + [rng.random((30, 3)) * 6])
    finder = PreDeCon(eps=0.1, min_samples=5, delta=1e9, kappa=1.0).fit(X)
    plain = DBSCAN(eps=0.1, min_samples=5).fit(X / np.ptp(X, axis=0))
    np.testing.assert_array_equal(finder.core_sample_indices_, plain.core_sample_indices_)
    np.testing.assert_array_equal(finder.labels_ < 0, plain.labels_ < 0)
    cores = plain.core_sample_indices_
    assert same_groups(finder.labels_[cores], plain.labels_[cores])
    assert len(set(finder.labels_[cores])) > 2
    assert finder.clustering_.subspaces.masks.all()


def test_crossing_groups_are_told_apart():
    line = np.linspace(0, 1, 200)
    X = np.vstack([np.c_[line, np.full(200, 0.31)], np.c_[np.full(200, 0.71), line]])
    finder = PreDeCon(eps=0.1, min_samples=5, delta=0.002, kappa=1000).fit(X)
    assert finder.clustering_.subspaces.masks.tolist() == [[False, True], [True, False]]
    assert (finder.labels_[:200] != 1).all()
    assert (finder.labels_[200:] != 0).all()
    assert len(set(DBSCAN(eps=0.1, min_samples=5).fit(X).labels_)) == 1


@pytest.mark.parametrize(
    "table",
    [
        {"n_rows": 1000, "n_features": 6, "n_clusters": 3, "dims": 4, "noise": 0.1},
        {"n_rows": 1000, "n_features": 8, "n_clusters": 4, "dims": 6, "noise": 0.2},
        {"n_rows": 500, "n_features": 20, "n_clusters": 5, "dims": 14},
    ],
)
def test_planted_clusters_with_the_defaults(table):
    X, truth = planted_axes(random_state=0, **table)
    found = PreDeCon().fit(X).clustering_
    assert found.columns_only() == truth.columns_only()
    assert clustering_error(found, truth) < 0.01


def test_most_features_of_twenty():
    X, truth = thesis_6_1(18, random_state=0)
    found = PreDeCon(eps=0.9, min_samples=5, delta=0.002).fit(X).clustering_
    assert found.columns_only() == truth.columns_only()
    assert clustering_error(found, truth) < 0.01


def test_the_order_of_rows_and_columns_does_not_matter():
    X, _ = planted_axes(400, 8, n_clusters=3, dims=5, noise=0.2, random_state=1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(400), rng.permutation(8)
    plain = PreDeCon().fit(X)
    moved = PreDeCon().fit(X[np.ix_(rows, columns)])
    assert moved.clustering_ == plain.clustering_.restrict(rows, columns)
    np.testing.assert_array_equal(moved.preference_, plain.preference_[np.ix_(rows, columns)])
    assert plain.clustering_.n_clusters == 3


def test_units_do_not_matter_unless_asked_to():
    X, _ = planted_axes(400, 8, n_clusters=3, dims=5, noise=0.2, random_state=1)
    units = 2.0 ** np.arange(8)
    assert PreDeCon().fit(X * units).clustering_ == PreDeCon().fit(X).clustering_
    scaled = X / np.ptp(X, axis=0)
    assert PreDeCon(scale=False).fit(scaled).clustering_ == PreDeCon().fit(X).clustering_
    assert PreDeCon(scale=False).fit(X * units).clustering_ != PreDeCon().fit(X).clustering_


@pytest.mark.parametrize(("block", "most"), [(5000, 20_000_000), (5000, 100), (4_000_000, 100)])
def test_memory_limits_do_not_change_the_result(monkeypatch, block, most):
    X, _ = planted_axes(300, 8, n_clusters=3, dims=5, noise=0.2, random_state=2)
    plain = PreDeCon(neighbourhoods="all").fit(X)
    monkeypatch.setattr(preferences, "BLOCK", block)
    monkeypatch.setattr(preference_graph, "MOST_KEPT", most)
    limited = PreDeCon(neighbourhoods="all").fit(X)
    assert limited.clustering_ == plain.clustering_
    np.testing.assert_array_equal(limited.core_sample_indices_, plain.core_sample_indices_)


def test_too_many_preferences():
    X, _ = thesis_6_1(18, random_state=0)
    narrow = PreDeCon(eps=0.9, min_samples=5, delta=0.002, max_pref_dims=17).fit(X)
    assert (narrow.preference_[narrow.labels_ >= 0].sum(axis=1) <= 17).all()
    assert (narrow.labels_ == -1).sum() > 300


def test_a_constant_column_is_nobodys_preference():
    X, _ = planted_axes(300, 5, n_clusters=2, dims=4, noise=0.2, random_state=0)
    plain = PreDeCon().fit(X)
    with pytest.warns(ConstantFeatureWarning):
        finder = PreDeCon().fit(np.insert(X, 2, 7.0, axis=1))
    assert finder.preference_.shape == (300, 6)
    assert not finder.preference_[:, 2].any()
    np.testing.assert_array_equal(np.delete(finder.preference_, 2, axis=1), plain.preference_)
    np.testing.assert_array_equal(finder.labels_, plain.labels_)


def test_copies_of_rows():
    X = np.repeat(np.random.default_rng(0).random((6, 3)), 20, axis=0)
    finder = PreDeCon().fit(X)
    np.testing.assert_array_equal(finder.labels_, np.repeat(np.arange(6), 20))
    assert finder.clustering_.subspaces.masks.all()


def test_out_of_time():
    X, _ = planted_axes(300, 8, n_clusters=3, dims=5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = PreDeCon(max_time=1e-9).fit(X)
    assert finder.labels_.shape == (300,)


def test_parameters_that_do_not_fit_the_table():
    X = np.random.default_rng(0).random((20, 4))
    with pytest.raises(ValueError, match="max_pref_dims=5 is more than the n_features=4"):
        PreDeCon(max_pref_dims=5).fit(X)
    with pytest.raises(ValueError, match="min_samples=21 is more than the 20 rows"):
        PreDeCon(min_samples=21).fit(X)
    with pytest.raises(ValueError, match="kappa"):
        PreDeCon(kappa=0.5).fit(X)


@pytest.mark.parametrize("dims", [10, 14, 18])
def test_neighbours_in_all_features_find_clusters_in_half_of_them_and_more(dims):
    X, truth = thesis_6_1(dims=dims, random_state=7)
    finder = PreDeCon(neighbourhoods="all").fit(X)
    assert clustering_error(finder.clustering_, truth) < 0.05
    assert finder.n_iter_ == 9
    again = PreDeCon(eps=finder.eps_, kappa=finder.kappa_, min_samples=finder.min_samples_)
    assert again.fit(X).clustering_ == finder.clustering_
    assert again.n_iter_ == 1


@pytest.mark.parametrize("dims", [4, 6, 8, 12, 16])
def test_defaults_find_clusters_in_few_of_many_features(dims):
    X, truth = thesis_6_1(dims=dims, random_state=300 + dims)
    finder = PreDeCon().fit(X)
    assert finder.clustering_.columns_only() == truth.columns_only()
    assert clustering_error(finder.clustering_, truth) < 0.01
    assert finder.n_iter_ == 3 and finder.kappa_ == np.inf
    again = PreDeCon(neighbourhoods="features", eps=finder.eps_).fit(X)
    assert again.clustering_ == finder.clustering_
    assert again.n_iter_ == 1


def test_many_clusters_much_noise_and_more_rows_than_are_searched():
    X, truth = planted_axes(6000, 20, n_clusters=10, dims=4, noise=0.5, random_state=301)
    finder = PreDeCon().fit(X)
    found = finder.clustering_
    assert {tuple(mask) for mask in found.subspaces.masks} == {
        tuple(mask) for mask in truth.subspaces.masks
    }
    assert clustering_error(found, truth) < 0.02
    assert len(finder.core_sample_indices_) <= predecon.SEARCH_ROWS
    for k in range(found.n_clusters):
        cluster = found.cluster(k)
        assert (finder.preference_[cluster.rows].mean(axis=0)[cluster.features] > 0.5).all()


def test_nothing_is_preferred_in_single_features_without_clusters():
    X = np.random.default_rng(0).uniform(size=(500, 12))
    finder = PreDeCon(neighbourhoods="features").fit(X)
    assert finder.clustering_.n_clusters == 0
    assert finder.preference_.any(axis=1).mean() < 0.05


def test_neighbours_in_single_features_by_definition():
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(300, 6))
    X[:80, 1:4] = 0.4 + 0.03 * rng.uniform(size=(80, 3))
    X[80:150, 3:6] = 0.7 + 0.03 * rng.uniform(size=(70, 3))
    found = row_preferences(X, 0.05, Watch())
    near = np.abs(X[:, None] - X) <= 0.05
    for row in range(300):
        inside = near[row][:, found.preferred[row]].all(axis=1)
        inside &= found.preferred[row].any()
        np.testing.assert_array_equal(unpack(found.neighbours[row], 300), inside)
    assert (found.preferred[:80] == [0, 1, 1, 1, 0, 0]).all(axis=1).mean() > 0.9
    assert (found.preferred[80:150] == [0, 0, 0, 1, 1, 1]).all(axis=1).mean() > 0.9
    assert not found.preferred[150:].all(axis=1).any()


@pytest.mark.parametrize("given", [{"eps": 0.3}, {"delta": 0.01}, {"kappa": 10.0}])
def test_parameters_of_the_paper_mean_its_neighbourhoods(given):
    X, _ = planted_axes(200, 6, n_clusters=2, dims=4, noise=0.1, random_state=0)
    plain = PreDeCon(**given).fit(X)
    named = PreDeCon(neighbourhoods="all", **given).fit(X)
    assert plain.clustering_ == named.clustering_
    np.testing.assert_array_equal(plain.preference_, named.preference_)
    assert np.isfinite(plain.kappa_) and np.isfinite(plain.delta_)


def test_more_features_than_can_be_paired():
    X, truth = planted_axes(200, 600, n_clusters=2, dims=150, noise=0.1, random_state=0)
    found = PreDeCon(neighbourhoods="features").fit(X).clustering_
    assert found.n_clusters == 2
    assert clustering_error(found, truth) < 0.05


def test_settings_are_chosen_on_a_sample_of_the_rows(monkeypatch):
    X, truth = planted_axes(900, 10, n_clusters=3, dims=7, noise=0.1, random_state=4)
    whole = PreDeCon().fit(X)
    monkeypatch.setattr(predecon, "SEARCH_ROWS", 400)
    finder = PreDeCon().fit(X)
    order = np.random.default_rng(0).permutation(900)
    shuffled = PreDeCon().fit(X[order])
    assert shuffled.clustering_.embed(rows=order, shape=X.shape) == finder.clustering_
    assert clustering_error(finder.clustering_, truth) < 0.1
    assert clustering_error(whole.clustering_, truth) < 0.1
    assert shuffled.eps_ == finder.eps_ and shuffled.kappa_ == finder.kappa_
