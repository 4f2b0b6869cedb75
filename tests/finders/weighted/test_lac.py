"""LAC: its formulas against optimisers and plain loops, planted clusters, invariances."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import xlogy
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subscape.core.errors import ConstantFeatureWarning, FewDistinctRowsWarning
from subscape.datasets import planted_axes
from subscape.finders import LAC
from subscape.finders.weighted.lac import descend, start_centres, weights_of
from subscape.measures import clustering_error


def costs_by_hand(X, centres, weights):
    pairs = list(zip(centres, weights, strict=True))
    return np.array([[sum(w * (x - c) ** 2) for c, w in pairs] for x in X])


def mixture(n_features, seed, n_rows=1500, k=3, dims=5):
    """Normal columns; each cluster tight in a few of them."""
    rng = np.random.default_rng(seed)
    labels, X = rng.integers(k, size=n_rows), rng.normal(size=(n_rows, n_features))
    relevant = [np.sort(rng.choice(n_features, dims, replace=False)) for _ in range(k)]
    for i, features in enumerate(relevant):
        rows = np.flatnonzero(labels == i)
        tight = rng.normal(size=dims) + 0.1 * rng.normal(size=(len(rows), dims))
        X[np.ix_(rows, features)] = tight
    return X, labels, relevant


def top_features(finder, labels, relevant):
    """The heaviest features of the cluster that holds each planted one."""
    for i, features in enumerate(relevant):
        cluster = np.bincount(finder.labels_[labels == i]).argmax()
        yield set(np.argsort(-finder.weights_[cluster])[: len(features)]), set(features)


# -- formulas -----------------------------------------------------------------------------------


# SciPy 1.15 steps out of the bounds by rounding, says so, and steps back.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("h", [0.05, 0.3, 2.0])
def test_weights_minimise_the_objective(h):
    rng = np.random.default_rng(0)
    for dispersions in rng.uniform(0, 1, size=(5, 4)):
        best = minimize(
            lambda w, x=dispersions: w @ x + h * xlogy(w, w).sum(),
            np.full(4, 0.25),
            bounds=[(1e-9, 1)] * 4,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"ftol": 1e-14},
        ).x
        np.testing.assert_allclose(weights_of(dispersions[None], h)[0], best, atol=1e-4)


def test_weights_survive_any_h():
    dispersions = np.array([[3.0, 1.0, 2.0], [0.0, 0.0, 7.0]])
    np.testing.assert_array_equal(weights_of(dispersions, 1e-12), [[0, 1, 0], [0.5, 0.5, 0]])
    np.testing.assert_allclose(weights_of(dispersions, 1e12), 1 / 3)


@given(
    st.integers(5, 60),
    st.integers(1, 8),
    st.integers(1, 5),
    st.floats(1e-3, 10),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=50)
def test_objective_never_rises(n, p, k, h, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).round(1)
    found = descend(X, X[rng.choice(n, k)], h, tol=0.0)
    assert all(
        later <= earlier + 1e-12 * max(abs(earlier), h)
        for earlier, later in zip(found.history, found.history[1:], strict=False)
    )
    assert len(np.unique(found.labels)) == k


def test_descent_ends_where_nothing_can_be_better():
    X = np.random.default_rng(1).normal(size=(200, 4))
    found = descend(X, X[:3], h=0.3, tol=0.0)
    assert found.converged
    entropy = 0.3 * xlogy(found.weights, found.weights).sum(axis=1)
    costs = costs_by_hand(X, found.centres, found.weights) + entropy
    np.testing.assert_array_equal(found.labels, costs.argmin(axis=1))
    assert found.objective == pytest.approx(costs.min(axis=1).mean(), rel=1e-12)
    for i in range(3):
        rows = X[found.labels == i]
        np.testing.assert_allclose(found.centres[i], rows.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.weights[i], weights_of(rows.var(axis=0)[None], 0.3)[0])


def test_rounds_of_the_paper():
    X = np.random.default_rng(2).normal(size=(150, 5))
    centres, h = X[:4].copy(), 0.4
    weights = np.full((4, 5), 0.2)
    for _ in range(3):
        labels = costs_by_hand(X, centres, weights).argmin(axis=1)
        spread = [np.square(X[labels == i] - centres[i]).mean(axis=0) for i in range(4)]
        weights = weights_of(np.array(spread), h)
        labels = costs_by_hand(X, centres, weights).argmin(axis=1)
        centres = np.array([X[labels == i].mean(axis=0) for i in range(4)])
    found = descend(X, X[:4], h, balanced=False, max_iter=3, tol=0.0)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres, centres, atol=1e-12)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-10)
    own = costs_by_hand(X, centres, weights)[np.arange(150), labels]
    entropy = h * xlogy(weights, weights).sum(axis=1)[labels]
    assert found.objective == pytest.approx((own + entropy).mean())


@pytest.mark.parametrize("objective", ["monotone", "lac"])
def test_large_h_is_k_means(objective):
    X = np.random.default_rng(3).normal(size=(300, 4))
    X -= X.mean(axis=0)
    ours = LAC(4, h=1e9, init=X[:4], scale=None, objective=objective, tol=0.0).fit(X)
    theirs = KMeans(4, init=X[:4], n_init=1, tol=0.0, max_iter=1000).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(ours.weights_, 0.25, rtol=1e-6)


def test_empty_clusters_get_the_worst_row():
    X = np.array([[0.0, 0.0], [0.1, 0.1], [0.0, 0.2], [9.0, 9.0], [5.0, 5.1]])
    found = descend(X, np.zeros((3, 2)), h=1.0, max_iter=1)
    assert found.labels.tolist() == [0, 0, 0, 1, 2]
    np.testing.assert_allclose(found.centres[1:], X[3:])
    np.testing.assert_allclose(found.weights[1:], 0.5)


@pytest.mark.parametrize("how", ["kmeans++", "scattered", "random"])
def test_start_centres_are_different_rows(how):
    X = np.repeat(np.arange(4.0)[:, None] * [1.0, 2.0], [50, 1, 1, 1], axis=0)
    for seed in range(20):
        centres = start_centres(X, 4, how, np.random.default_rng(seed))
        assert sorted(centres[:, 0]) == [0, 1, 2, 3]


def test_scattered_start_takes_the_farthest_row():
    X = np.random.default_rng(0).normal(size=(50, 3))
    centres = start_centres(X, 5, "scattered", np.random.default_rng(0))
    apart = np.square(X[:, None] - centres[None]).sum(axis=2)
    for m in range(1, 5):
        farthest = apart[:, :m].min(axis=1).argmax()
        np.testing.assert_array_equal(centres[m], X[farthest])


def test_kmeans_plus_plus_draws_in_proportion_to_squared_distance():
    X = np.array([[0.0], [1.0], [3.0]])
    rng = np.random.default_rng(0)
    pairs = [tuple(start_centres(X, 2, "kmeans++", rng)[:, 0]) for _ in range(6000)]
    after_zero = [b for a, b in pairs if a == 0.0]
    assert np.mean(np.array(after_zero) == 3.0) == pytest.approx(0.9, abs=0.03)


# -- planted clusters ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [10, 20, 50])
@pytest.mark.parametrize("h", ["auto", 0.5])
def test_clusters_and_weights_are_found(n_features, h):
    X, labels, relevant = mixture(n_features, seed=n_features)
    finder = LAC(n_clusters=3, h=h, random_state=0).fit(X)
    # A few rows are as near to another cluster's centre by chance.
    assert clustering_error(labels, finder.labels_) <= 0.01
    for heaviest, planted in top_features(finder, labels, relevant):
        assert heaviest == planted


@pytest.mark.parametrize("dims", [4, 10, 18])
def test_thesis_like_clusters(dims):
    X, truth = planted_axes(500, 20, n_clusters=5, dims=dims, random_state=dims)
    finder = LAC(n_clusters=5, random_state=0).fit(X)
    assert clustering_error(truth.labels(), finder.labels_) <= 0.005
    relevant = [np.flatnonzero(mask) for mask in truth.subspaces.masks]
    for heaviest, planted in top_features(finder, truth.labels(), relevant):
        assert heaviest == planted


def test_the_scheme_of_the_paper_finds_them_too():
    X, labels, relevant = mixture(20, seed=5)
    finder = LAC(n_clusters=3, objective="lac", init="scattered", random_state=0).fit(X)
    assert clustering_error(labels, finder.labels_) <= 0.01
    for heaviest, planted in top_features(finder, labels, relevant):
        assert heaviest == planted


def test_rows_outside_the_sample_take_part():
    X, truth = planted_axes(4000, 12, n_clusters=4, dims=5, random_state=0)
    finder = LAC(n_clusters=4, search_rows=300, random_state=0).fit(X)
    assert clustering_error(truth.labels(), finder.labels_) <= 0.005
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    for i in range(4):
        within = rows[finder.labels_ == i].var(axis=0)
        np.testing.assert_allclose(finder.weights_[i], weights_of(within[None], finder.h_)[0])


def test_many_more_columns_than_rows():
    X, truth = planted_axes(60, 4000, n_clusters=3, dims=400, random_state=0)
    finder = LAC(n_clusters=3, random_state=0).fit(X)
    assert clustering_error(truth.labels(), finder.labels_) == 0
    assert finder.weights_.shape == (3, 4000)


# -- what is returned ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(8).normal(size=(300, 6)) * [1, 10, 0.1, 1, 5, 1] + 100


def test_result_is_consistent(table):
    finder = LAC(n_clusters=4, random_state=0).fit(table)
    assert finder.clustering_.kind == "weighted" and finder.clustering_.is_partition
    np.testing.assert_allclose(finder.weights_.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(finder.clustering_.subspaces.weights, finder.weights_)
    np.testing.assert_allclose(finder.scale_, table.std(axis=0))
    assert finder.h_ == pytest.approx(0.2)
    means = [table[finder.labels_ == i].mean(axis=0) for i in range(4)]
    np.testing.assert_allclose(finder.cluster_centers_, means)
    rows, centres = table / finder.scale_, finder.cluster_centers_ / finder.scale_
    own = costs_by_hand(rows, centres, finder.weights_)[np.arange(300), finder.labels_]
    entropy = finder.h_ * xlogy(finder.weights_, finder.weights_).sum(axis=1)
    assert finder.objective_ == pytest.approx((own + entropy[finder.labels_]).mean())
    assert finder.objective_ == finder.history_[-1] and finder.n_iter_ == len(finder.history_)


def test_h_follows_the_variances_of_the_columns(table):
    finder = LAC(n_clusters=4, scale=None, random_state=0).fit(table)
    assert finder.h_ == pytest.approx(0.2 * np.median(table.var(axis=0)))
    np.testing.assert_array_equal(finder.scale_, 1)


def test_soft_memberships(table):
    hard = LAC(n_clusters=4, random_state=0).fit(table)
    soft = LAC(n_clusters=4, assignment="soft", random_state=0).fit(table)
    assert not soft.clustering_.is_hard
    np.testing.assert_array_equal(soft.labels_, hard.labels_)
    np.testing.assert_array_equal(soft.weights_, hard.weights_)
    memberships = soft.clustering_.memberships.toarray()
    np.testing.assert_allclose(memberships.sum(axis=0), 1, atol=1e-6)
    rows, centres = table / soft.scale_, soft.cluster_centers_ / soft.scale_
    costs = costs_by_hand(rows, centres, soft.weights_)
    typical = costs[np.arange(300), soft.labels_].mean()
    costs += soft.h_ * xlogy(soft.weights_, soft.weights_).sum(axis=1)
    expected = np.exp(-(costs - costs.min(axis=1, keepdims=True)) / (2 * typical))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(memberships.T, expected, atol=3e-4)


def test_soft_memberships_of_rows_on_their_centres_are_hard():
    X = np.repeat([[0.0, 1.0], [4.0, 2.0], [8.0, 9.0]], 5, axis=0)
    finder = LAC(n_clusters=3, assignment="soft", random_state=0).fit(X)
    assert finder.clustering_.is_partition
    assert sorted(np.bincount(finder.labels_)) == [5, 5, 5]


@pytest.mark.parametrize("objective", ["monotone", "lac"])
def test_predict(table, objective):
    finder = LAC(n_clusters=4, objective=objective, tol=0.0, random_state=0).fit(table)
    np.testing.assert_array_equal(finder.predict(table), finder.labels_)
    rows, centres = (part / finder.scale_ for part in (table + 0.3, finder.cluster_centers_))
    costs = costs_by_hand(rows, centres, finder.weights_)
    if objective == "monotone":
        costs += finder.h_ * xlogy(finder.weights_, finder.weights_).sum(axis=1)
    np.testing.assert_array_equal(finder.predict(table + 0.3), costs.argmin(axis=1))
    with pytest.raises(ValueError, match="features"):
        finder.predict(table[:, :3])


def test_constant_columns_weigh_nothing(table):
    wide = np.insert(table, 3, 7.0, axis=1)
    with pytest.warns(ConstantFeatureWarning):
        finder = LAC(n_clusters=4, random_state=0).fit(wide)
    plain = LAC(n_clusters=4, random_state=0).fit(table)
    np.testing.assert_array_equal(finder.labels_, plain.labels_)
    np.testing.assert_array_equal(np.delete(finder.weights_, 3, axis=1), plain.weights_)
    np.testing.assert_array_equal(finder.weights_[:, 3], 0)
    np.testing.assert_array_equal(finder.cluster_centers_[:, 3], 7)
    np.testing.assert_array_equal(finder.predict(wide), finder.labels_)


def test_identical_rows_are_one_weighted_cluster():
    with pytest.warns(FewDistinctRowsWarning):
        finder = LAC(n_clusters=3).fit(np.full((4, 3), 2.0))
    assert finder.clustering_.kind == "weighted" and finder.clustering_.n_clusters == 1
    assert finder.predict([[2.0, 2.0, 2.0]]).tolist() == [0]


# -- invariances --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted():
    return planted_axes(400, 12, n_clusters=4, dims=4, random_state=7)


@pytest.fixture(scope="module")
def fitted(planted):
    return LAC(n_clusters=4, random_state=0).fit(planted.X)


def test_column_order(planted, fitted):
    order = np.random.default_rng(1).permutation(12)
    turned = LAC(n_clusters=4, random_state=0).fit(planted.X[:, order])
    np.testing.assert_array_equal(turned.labels_, fitted.labels_)
    np.testing.assert_allclose(turned.weights_, fitted.weights_[:, order], rtol=1e-9)


def test_units_and_offsets(planted, fitted):
    units, offsets = np.logspace(-5, 6, 12), np.linspace(-1e4, 1e4, 12)
    other = LAC(n_clusters=4, random_state=0).fit((planted.X + offsets) * units)
    np.testing.assert_array_equal(other.labels_, fitted.labels_)
    np.testing.assert_allclose(other.weights_, fitted.weights_, rtol=1e-6)


def test_row_order(planted, fitted):
    order = np.random.default_rng(1).permutation(400)
    turned = LAC(n_clusters=4, random_state=0).fit(planted.X[order])
    assert turned.clustering_.isclose(fitted.clustering_.restrict(rows=order))


def test_single_precision(planted, fitted):
    single = LAC(n_clusters=4, random_state=0).fit(planted.X.astype(np.float32))
    np.testing.assert_array_equal(single.labels_, fitted.labels_)
    np.testing.assert_allclose(single.weights_, fitted.weights_, rtol=1e-3)


def test_same_bits_for_any_n_jobs(planted, fitted):
    for n_jobs in (1, 2):
        again = LAC(n_clusters=4, random_state=0, n_jobs=n_jobs).fit(planted.X)
        np.testing.assert_array_equal(again.labels_, fitted.labels_)
        np.testing.assert_array_equal(again.weights_, fitted.weights_)
        assert again.history_ == fitted.history_


# -- limits and bad parameters ------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["monotone", "lac"])
def test_tiny_h_gives_no_nan(table, objective):
    with warnings.catch_warnings():
        # The scheme of the paper may well cycle here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        finder = LAC(n_clusters=4, h=1e-12, objective=objective, random_state=0).fit(table)
    assert np.isfinite(finder.weights_).all()
    np.testing.assert_allclose(finder.weights_.max(axis=1), 1)


def test_rounds_and_time_are_limited(table):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LAC(n_clusters=4, max_iter=1, random_state=0).fit(table)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = LAC(n_clusters=4, max_time=1e-9, random_state=0).fit(table)
    assert finder.clustering_.n_clusters == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"h": 0}, "h"),
        ({"init": np.zeros((5, 2))}, r"init has shape \(5, 2\)"),
        ({"init": np.full((5, 6), np.nan)}, "init holds NaN"),
        ({"init": "best"}, "init"),
        ({"assignment": "fuzzy"}, "assignment"),
        ({"n_clusters": 301}, "n_clusters=301"),
    ],
)
def test_bad_parameters(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        LAC(**parameters).fit(table)
