"""DiSH: preferences against all sets of features, hierarchies, and planted tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from subscape.core import ConstantFeatureWarning, SubspaceClustering
from subscape.datasets import planted_axes, thesis_6_1
from subscape.finders import DiSH
from subscape.finders.axis.dish.dish import (
    common_preferences,
    extract_clusters,
    nested_rows,
    parents_of,
)
from subscape.finders.axis.dish.walk import Walk
from subscape.measures import clustering_error


def largest_preferences(X, row, eps, min_samples):
    """Size of the largest set of features with enough neighbours, and their number at best."""
    near = np.abs(X - X[row]) <= eps
    for size in range(X.shape[1], 0, -1):
        support = max(
            int(near[:, list(features)].all(axis=1).sum())
            for features in combinations(range(X.shape[1]), size)
        )
        if support >= min_samples:
            return size, support
    return 0, len(X)


@given(st.integers(0, 2**32 - 1), st.integers(3, 8))
@settings(deadline=None, max_examples=15)
def test_preferences_are_the_largest_sets_with_enough_neighbours(seed, min_samples):
    rng = np.random.default_rng(seed)
    X = rng.random((40, 5))
    X[:15, :3] = 0.5 + 0.05 * rng.normal(size=(15, 3))
    exact = DiSH(eps=0.1, min_samples=min_samples, scale=False).fit(X)
    greedy = DiSH(eps=0.1, min_samples=min_samples, scale=False, search="greedy").fit(X)
    for row in range(40):
        near = np.abs(X - X[row]) <= 0.1
        size, support = largest_preferences(X, row, 0.1, min_samples)
        assert exact.preference_[row].sum() == size
        assert near[:, exact.preference_[row]].all(axis=1).sum() == support
        chosen = greedy.preference_[row]
        if chosen.any():
            assert near[:, chosen].all(axis=1).sum() >= min_samples
        for other in np.flatnonzero(~chosen):
            more = np.append(np.flatnonzero(chosen), other)
            assert near[:, more].all(axis=1).sum() < min_samples


def test_two_lines_in_a_plane():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 3))
    X[:600, 2] = 0.5
    X[:150, 1] = 0.2
    X[150:300, 0] = 0.7
    finder = DiSH(eps=0.02, min_samples=60).fit(X)
    found = finder.clustering_
    features = [found.cluster(k).features.tolist() for k in range(found.n_clusters)]
    assert sorted(features[:2]) == [[0, 2], [1, 2]]
    assert features[2:] == [[2]]
    assert [above.tolist() for above in finder.parents_] == [[2], [2], []]
    for k in range(2):
        line = np.arange(150) if features[k] == [1, 2] else np.arange(150, 300)
        assert np.isin(line, found.cluster(k).rows).mean() > 0.95
    assert np.isin(np.arange(300, 600), found.cluster(2).rows).mean() > 0.9
    assert (finder.labels_[600:] == -1).mean() > 0.85


def test_a_line_where_two_planes_meet_has_two_parents():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(900, 3))
    X[:300, 0] = 0.4
    X[300:600, 1] = 0.6
    X[600:750, :2] = [0.4, 0.6]
    finder = DiSH(eps=0.02, min_samples=60).fit(X)
    found = finder.clustering_
    assert [found.cluster(k).features.tolist() for k in range(3)] == [[0, 1], [0], [1]] or [
        found.cluster(k).features.tolist() for k in range(3)
    ] == [[0, 1], [1], [0]]
    assert [above.tolist() for above in finder.parents_] == [[1, 2], [], []]
    nested = DiSH(eps=0.02, min_samples=60, overlap=True).fit(X).clustering_
    for k in (1, 2):
        assert np.isin(nested.cluster(0).rows, nested.cluster(k).rows).all()
    assert nested.cluster(0).rows.tolist() == found.cluster(0).rows.tolist()
    assert found.is_row_disjoint
    assert not nested.is_row_disjoint


def test_parents_are_direct():
    masks = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    centres = np.zeros((4, 3))
    parents = parents_of(masks, centres, 0.1)
    assert [above.tolist() for above in parents] == [[1, 3], [2], [], []]
    centres[1, 1] = 0.5
    assert [above.tolist() for above in parents_of(masks, centres, 0.1)] == [[2, 3], [2], [], []]
    inside = nested_rows(np.array([0, 1, 2, 3, -1]), parents)
    assert inside.astype(int).tolist() == [
        [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 0, 0, 1, 0]
    ]  # fmt: skip


def test_the_first_row_of_a_cluster_learns_from_its_successor():
    X = np.array([[0.0, 0.9], [0.5, 0.1], [0.5, 0.4]])
    preference = np.array([[0, 1], [1, 0], [1, 0]], bool)
    walk = Walk(np.array([0, 1, 2]), np.array([-1, 0, 1]), np.array([4, 2, 1]), np.zeros(3))
    common = common_preferences(X, preference, walk, 0.1)
    assert common.tolist() == [[False, False], [True, False], [True, False]]
    # Too far apart in what they prefer: nothing in common.
    X[2, 0] = 0.9
    assert not common_preferences(X, preference, walk, 0.1).any()
    # A walk cut short: rows not reached keep their own preferences.
    cut = walk._replace(order=np.array([0, 1, -1]), predecessor=np.array([-1, 0, -1]))
    assert common_preferences(X, preference, cut, 0.1)[2].tolist() == [True, False]


def test_rows_of_small_clusters_find_a_home():
    X = np.array([[0.5, 0.1], [0.5, 0.2], [0.5, 0.3], [0.51, 0.9], [0.9, 0.3]])
    common = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 0]], bool)
    found = extract_clusters(X, common, np.arange(5), 0.1, 3)
    assert found.labels.tolist() == [0, 0, 0, 0, -1]
    assert found.masks.tolist() == [[True, False]]
    np.testing.assert_allclose(found.centres, [[0.5, 0.2]])


@pytest.mark.parametrize("dims", [4, 8, 12, 18])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_tables_of_the_thesis(dims, seed):
    X, truth = thesis_6_1(dims, random_state=seed)
    found = DiSH().fit(X).clustering_
    assert found.columns_only() == truth.columns_only()
    assert clustering_error(found, truth) <= 0.01


@pytest.mark.parametrize(
    "table",
    [
        {"n_rows": 1000, "n_features": 15, "n_clusters": 4, "dims": 3, "noise": 0.1},
        {"n_rows": 500, "n_features": 60, "n_clusters": 4, "dims": 10},
        {"n_rows": 100, "n_features": 10, "n_clusters": 3, "dims": 4},
    ],
)
def test_planted_clusters_with_the_defaults(table):
    X, truth = planted_axes(random_state=0, **table)
    found = DiSH().fit(X).clustering_
    assert found.columns_only() == truth.columns_only()
    assert clustering_error(found, truth) <= 0.02


def test_the_order_of_rows_and_columns_and_the_units_do_not_matter():
    X, _ = planted_axes(400, 10, n_clusters=4, dims=5, noise=0.1, random_state=3)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(400), rng.permutation(10)
    plain = DiSH().fit(X)
    moved = DiSH().fit((X * 2.0 ** np.arange(10))[np.ix_(rows, columns)])
    assert moved.clustering_ == plain.clustering_.restrict(rows, columns)
    np.testing.assert_array_equal(moved.preference_, plain.preference_[np.ix_(rows, columns)])
    assert plain.clustering_.n_clusters == 4


def test_the_walk_is_reported():
    X, _ = planted_axes(300, 8, n_clusters=3, dims=4, random_state=0)
    finder = DiSH().fit(X)
    assert sorted(finder.ordering_.tolist()) == list(range(300))
    place = np.argsort(finder.ordering_)
    later = finder.ordering_[1:]
    assert (place[finder.predecessor_[later]] < place[later]).all()
    assert finder.predecessor_[finder.ordering_[0]] == -1
    # In a cluster of 4 features, 4 are not preferred in common.
    assert np.median(finder.reachability_dims_) == 4
    assert finder.n_iter_ == 300


def test_the_same_result_for_any_number_of_jobs():
    X, _ = planted_axes(700, 8, n_clusters=3, dims=4, noise=0.2, random_state=0)
    plain, threads = DiSH(n_jobs=1).fit(X), DiSH(n_jobs=3).fit(X)
    assert plain.clustering_ == threads.clustering_
    np.testing.assert_array_equal(plain.preference_, threads.preference_)


def test_min_samples_protects_from_features_that_fit_by_chance():
    X, truth = planted_axes(400, 15, n_clusters=4, dims=5, random_state=0)
    finder = DiSH().fit(X)
    assert finder.min_samples_ == int(np.ceil(10 + 3.5 * np.sqrt(10)))
    clustered = truth.subspaces.masks[truth.labels()]
    assert (finder.preference_ == clustered).all(axis=1).mean() > 0.9
    low = DiSH(eps=0.05, min_samples=10).fit(X)
    assert (low.preference_ == clustered).all(axis=1).mean() < 0.5


def test_a_constant_column_is_nobodys_preference():
    X, _ = planted_axes(200, 5, n_clusters=2, dims=3, random_state=0)
    plain = DiSH().fit(X)
    with pytest.warns(ConstantFeatureWarning):
        finder = DiSH().fit(np.insert(X, 2, 7.0, axis=1))
    assert not finder.preference_[:, 2].any()
    np.testing.assert_array_equal(finder.labels_, plain.labels_)


def test_searches_that_are_cut_short_say_so():
    X, _ = planted_axes(500, 10, n_clusters=3, dims=4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_candidates=2 "):
        DiSH(max_candidates=2).fit(X)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = DiSH(max_time=1e-9).fit(X)
    assert finder.labels_.shape == (500,)
    assert sorted(finder.ordering_.tolist()) == list(range(500))


def test_parameters_that_do_not_fit_the_table():
    X = np.random.default_rng(0).random((20, 4))
    with pytest.raises(ValueError, match="min_samples=21 is more than the 20 rows"):
        DiSH(min_samples=21).fit(X)
    with pytest.raises(ValueError, match="eps"):
        DiSH(eps=0).fit(X)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k", "dims"), [(2, 2), (4, 4), (10, 4)])
def test_settings_suit_few_large_and_many_small_clusters(k, dims, seed):
    X, truth = planted_axes(600, 8, n_clusters=k, dims=dims, noise=0.1, random_state=200 + seed)
    finder = DiSH().fit(X)
    assert finder.clustering_.n_clusters == k
    assert clustering_error(finder.clustering_, truth) <= 0.03
    assert finder.n_settings_ == 9


def test_a_cluster_of_two_thirds_picks_up_no_features():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 3))
    X[:400, 0] = 0.5 + 0.01 * rng.normal(size=400)
    X[400:, 1:] = [0.2, 0.8] + 0.01 * rng.normal(size=(200, 2))
    pairs = [(range(400), [0]), (range(400, 600), [1, 2])]
    truth = SubspaceClustering.from_clusters(pairs, X.shape)
    assert clustering_error(DiSH().fit(X).clustering_, truth) < 0.05
    # Enough for a quarter of the rows only:
    assert clustering_error(DiSH(eps=0.05, min_samples=29).fit(X).clustering_, truth) > 0.3


def test_what_is_given_is_not_tried():
    X = planted_axes(200, 5, n_clusters=2, dims=3, random_state=0).X
    both = DiSH(eps=0.04, min_samples=15).fit(X)
    assert (both.eps_, both.min_samples_, both.n_settings_) == (0.04, 15, 1)
    radius = DiSH(eps=0.04).fit(X)
    assert (radius.eps_, radius.n_settings_) == (0.04, 3)
    number = DiSH(min_samples=15).fit(X)
    assert (number.min_samples_, number.n_settings_) == (15, 3)
    assert number.eps_ in (0.025, 0.05, 0.1)


def test_settings_are_chosen_on_some_rows_of_a_large_table():
    X, truth = planted_axes(3000, 8, n_clusters=2, dims=2, noise=0.1, random_state=5)
    finder = DiSH().fit(X)
    assert clustering_error(finder.clustering_, truth) <= 0.03
    few, many = (DiSH(eps=finder.eps_)._kinds(X[:n]) for n in (1000, 3000))
    numbers = [kind.of(n).min_samples for kinds, n in ((few, 1000), (many, 3000)) for kind in kinds]
    assert finder.min_samples_ > min(numbers)


def test_units_of_the_table_do_not_matter_to_the_choice():
    X = planted_axes(300, 6, n_clusters=2, dims=2, noise=0.1, random_state=1).X
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    one, other = DiSH(scale=False).fit(X), DiSH(scale=False).fit(64 * X)
    assert other.eps_ == 64 * one.eps_
    assert one.labels_.tolist() == other.labels_.tolist()
