"""MineClus: exact by enumeration, planted clusters with their features, invariances, limits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from subscape.core import SubspaceClustering
from subscape.core.errors import ConstantFeatureWarning
from subscape.datasets import planted_axes, thesis_6_1
from subscape.finders.axis.mineclus import MineClus
from subscape.measures import clustering_error


def error(X, truth, **parameters):
    return clustering_error(truth, MineClus(random_state=0, **parameters).fit(X).clustering_)


# -- the search -----------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.25, 0.6]), st.sampled_from([0.1, 0.3]))
@settings(deadline=None, max_examples=15)
def test_the_first_box_is_the_best_there_is(seed, beta, width):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(25, 5))
    half = np.full(5, width)
    best = -np.inf
    for centre in X:
        near = np.abs(X - centre) <= half
        for size in range(1, 6):
            for features in combinations(range(5), size):
                rows = int(near[:, features].all(axis=1).sum())
                if rows >= 3:
                    best = max(best, np.log(rows) - size * np.log(beta))
    finder = MineClus(
        1, width=half, alpha=0.1, beta=beta, n_seeds=25, refine=False, random_state=seed
    ).fit(X)
    assert finder.quality_[0] == pytest.approx(best)
    found = finder.clustering_
    rows, features = found.sizes[0], found.subspaces.dims[0]
    assert np.log(rows) - features * np.log(beta) == pytest.approx(best)


def test_a_box_holds_all_rows_close_to_its_seed():
    X, _ = planted_axes(300, 10, n_clusters=3, dims=4, random_state=0)
    half = np.linspace(0.03, 0.1, 10)
    finder = MineClus(5, width=half, refine=False, overlap=True, random_state=0).fit(X)
    assert finder.clustering_.n_clusters == 5
    for k in range(5):
        features = finder.clustering_.subspaces.masks[k]
        centre = X[finder.seeds_[k]]
        np.testing.assert_array_equal(finder.low_[k, features], (centre - half)[features])
        np.testing.assert_array_equal(finder.high_[k, features], (centre + half)[features])
        assert np.isinf(finder.low_[k, ~features]).all()
        assert np.isinf(finder.high_[k, ~features]).all()
        inside = (finder.low_[k] <= X) & (finder.high_[k] >= X)
        np.testing.assert_array_equal(
            finder.clustering_.memberships[[k]].toarray()[0], inside.all(axis=1)
        )


def test_without_refinement_rows_are_taken_once_and_clusters_are_dense():
    X = np.random.default_rng(0).uniform(size=(200, 6))
    finder = MineClus(6, width=0.1, alpha=0.05, refine=False, random_state=0).fit(X)
    found = finder.clustering_
    assert found.is_row_disjoint and found.n_clusters == 6
    assert found.sizes.min() >= 10


# -- planted clusters -----------------------------------------------------------------------------


@pytest.mark.parametrize("dims", range(4, 20, 2))
def test_the_tables_of_the_thesis(dims):
    errors = [error(*thesis_6_1(dims=dims, random_state=draw), n_clusters=5) for draw in range(3)]
    assert np.median(errors) <= 0.005 and max(errors) <= 0.02


@pytest.mark.parametrize(
    "table",
    [
        {"noise": 0.6, "n_rows": 1000},
        {"noise": 0.1, "background": "normal"},
        {"noise": 0.1, "dims": [2, 3, 5, 8, 13]},
        {"noise": 0.1, "sizes": [0.5, 0.25, 0.13, 0.08, 0.04], "n_rows": 1000},
        {"noise": 0.1, "spread": 0.01},
        {"n_rows": 200, "n_features": 300, "n_clusters": 3, "dims": 25, "noise": 0.1},
        {"n_rows": 100, "n_features": 8, "n_clusters": 3, "dims": 4},
    ],
    ids=["noise", "normal", "dims", "sizes", "narrow", "wide", "small"],
)
def test_clusters_and_their_number_are_found(table):
    X, truth = planted_axes(**table, random_state=1)
    finder = MineClus(max_candidates=2000, random_state=0).fit(X)
    assert finder.clustering_.n_clusters == truth.n_clusters
    assert clustering_error(truth, finder.clustering_) <= 0.015


def test_skewed_features():
    X, truth = planted_axes(500, 20, n_clusters=5, dims=6, noise=0.1, random_state=0)
    assert error(np.exp(3 * X), truth, n_clusters=5) <= 0.01


@pytest.mark.parametrize("n_clusters", [None, 5])
def test_clusters_that_share_rows(n_clusters):
    X, truth = planted_axes(1000, 20, n_clusters=5, dims=6, overlap=0.2, noise=0.1, random_state=0)
    assert error(X, truth, n_clusters=n_clusters, overlap=True) == 0.0
    finder = MineClus(n_clusters, random_state=0).fit(X)
    # One of the two clusters gets the shared rows: the least error without overlap.
    assert finder.clustering_.is_row_disjoint
    assert clustering_error(truth, finder.clustering_) == pytest.approx(2 / 11, abs=0.005)


def test_a_cluster_within_a_cluster():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 12))
    X[:200, :4] = 0.3 + 0.01 * rng.normal(size=(200, 4))
    X[:90, 4:9] = 0.7 + 0.01 * rng.normal(size=(90, 5))
    truth = SubspaceClustering.from_clusters(
        [(np.arange(90), np.arange(9)), (np.arange(200), np.arange(4))], X.shape
    )
    finder = MineClus(overlap=True, random_state=0).fit(X)
    assert finder.clustering_ == truth
    disjoint = MineClus(random_state=0).fit(X).clustering_
    assert disjoint.sizes.tolist() == [90, 110]
    assert disjoint.subspaces.dims.tolist() == [9, 4]


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("values", ["uniform", "normal", "integers"])
def test_noise_has_no_clusters(values, overlap):
    rng = np.random.default_rng(0)
    X = {
        "uniform": rng.uniform(size=(400, 10)),
        "normal": rng.normal(size=(400, 10)),
        "integers": rng.integers(0, 4, size=(400, 10)).astype(float),
    }[values]
    finder = MineClus(overlap=overlap, random_state=0).fit(X)
    assert finder.clustering_.n_clusters == 0
    assert (finder.labels_ == -1).all() and (finder.predict(X) == -1).all()
    assert finder.low_.shape == finder.high_.shape == (0, 10)


def test_no_more_clusters_than_asked_for():
    X, truth = planted_axes(500, 20, n_clusters=5, dims=6, random_state=0)
    found = MineClus(2, random_state=0).fit(X).clustering_
    assert found.n_clusters == 2
    everything = MineClus(random_state=0).fit(X).clustering_
    assert clustering_error(everything, truth) == 0
    assert clustering_error(found, everything.select([0, 1])) == 0


def test_merging_to_the_number_of_clusters():
    X, truth = planted_axes(500, 20, n_clusters=5, dims=6, noise=0.1, random_state=0)
    assert error(X, truth, n_clusters=5, merge=True) == 0.0
    # Windows much narrower than the clusters cut each of them into several boxes.
    parts = MineClus(width=0.02, refine=False, random_state=0).fit(X).clustering_
    assert parts.n_clusters > 5
    merged = MineClus(5, width=0.02, refine=False, merge=True, random_state=0).fit(X).clustering_
    assert merged.n_clusters == 5
    assert clustering_error(truth, merged) < clustering_error(truth, parts)


# -- the same whatever the units and the order ----------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return planted_axes(400, 12, n_clusters=4, dims=5, noise=0.15, random_state=3)


def test_units_do_not_matter(table):
    X, _ = table
    plain = MineClus(random_state=0).fit(X)
    scales = 2.0 ** np.arange(-6, 6)
    scaled = MineClus(random_state=0).fit(X * scales + 3.0 * scales)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    assert scaled.clustering_ == plain.clustering_
    np.testing.assert_allclose(scaled.low_, plain.low_ * scales + 3 * scales)


def test_order_does_not_matter(table):
    X, truth = table
    rng = np.random.default_rng(0)
    rows, features = rng.permutation(400), rng.permutation(12)
    mixed = MineClus(random_state=0).fit(X[np.ix_(rows, features)])
    assert mixed.clustering_ == truth.restrict(rows, features)


def test_the_same_bits_for_any_number_of_workers(table):
    X, _ = table
    first = MineClus(random_state=5).fit(X)
    for n_jobs in (1, 2, -1):
        again = MineClus(random_state=5, n_jobs=n_jobs).fit(X)
        for name in ("labels_", "low_", "high_", "quality_", "seeds_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(first, name))


def test_rows_are_put_into_the_boxes(table):
    X, _ = table
    finder = MineClus(random_state=0).fit(X)
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)
    row = X[finder.labels_ == 1].mean(axis=0)
    assert finder.predict([row]) == [1]
    features = finder.clustering_.subspaces.masks[1]
    row[~features] = 1e6
    assert finder.predict([row]) == [1]
    row[np.flatnonzero(features)[0]] += 0.5
    assert finder.predict([row]) == [-1]


# -- parameters and limits ------------------------------------------------------------------------


def test_widths_by_feature(table):
    X, truth = table
    wide = np.column_stack([X[:, :5], np.full(400, 7.0), X[:, 5:]])
    widths = np.full(13, 0.06)
    with pytest.warns(ConstantFeatureWarning):
        finder = MineClus(width=widths, random_state=0).fit(wide)
    kept = np.delete(np.arange(13), 5)
    assert finder.clustering_ == truth.embed(features=kept, shape=(400, 13))
    assert np.isinf(finder.low_[:, 5]).all() and finder.low_.shape == (4, 13)
    with pytest.raises(ValueError, match=r"shape \(3,\), but the table has 12 features"):
        MineClus(width=[0.1, 0.2, 0.3]).fit(X)
    with pytest.raises(ValueError, match="1 are not, the first of them feature 4"):
        MineClus(width=np.where(np.arange(12) == 4, -1.0, 0.1)).fit(X)


def test_the_average_number_of_features(table):
    X, truth = table
    assert MineClus(avg_dims=5, random_state=0).fit(X).clustering_ == truth
    for avg_dims in (2.5, 7):
        finder = MineClus(avg_dims=avg_dims, random_state=0).fit(X)
        found = finder.clustering_
        assert found.subspaces.dims.sum() == 4 * avg_dims
        np.testing.assert_array_equal(finder.predict(X), finder.labels_)
        part = found.subspaces.masks & truth.subspaces.masks[_order(truth, found)]
        assert part.sum() == min(4 * avg_dims, 20)
    with pytest.raises(ValueError, match="avg_dims=13 is more than the 12 features"):
        MineClus(avg_dims=13).fit(X)


def _order(truth, found):
    """For each cluster found, the true one with which it shares most rows."""
    return np.asarray(
        (found.memberships.astype(int) @ truth.memberships.T.astype(int)).todense()
    ).argmax(axis=1)


@pytest.mark.parametrize("name, value", [("width", 0.0), ("alpha", 1.5), ("beta", 1.0)])
def test_parameters_out_of_range(table, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of MineClus"):
        MineClus(**{name: value}).fit(table.X)


def test_missing_values_never_match(table):
    X, truth = table
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.01] = np.nan
    finder = MineClus(random_state=0).fit(X)
    found = finder.clustering_
    assert found.n_clusters == 4
    for k in range(4):
        rows = found.memberships[[k]].toarray()[0]
        assert not np.isnan(X[np.ix_(rows, found.subspaces.masks[k])]).any()
    assert clustering_error(truth, found) < 0.08
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)


def test_a_large_table_is_searched_in_a_sample():
    X, truth = planted_axes(3000, 12, n_clusters=4, dims=5, noise=0.1, random_state=0)
    finder = MineClus(search_rows=500, random_state=0).fit(X)
    assert clustering_error(truth, finder.clustering_) <= 0.01
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)
    assert len(set(finder.seeds_)) == 4 and finder.seeds_.max() > 500


def test_a_search_that_explodes_is_cut():
    X = np.random.default_rng(0).uniform(size=(60, 60))
    plain = {"width": 0.3, "max_candidates": 50, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="max_candidates=50"):
        finder = MineClus(2, refine=False, **plain).fit(X)
    assert finder.clustering_.n_clusters == 2
    assert (finder.clustering_.subspaces.dims > 0).all()
    MineClus(2, **plain).fit(X)  # a box that is fitted anyway need not be the best


def test_time_is_limited(table):
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = MineClus(max_time=1e-9, random_state=0).fit(table.X)
    assert finder.clustering_.n_clusters == 1


def test_progress_counts_clusters(table):
    steps = []
    MineClus(4, random_state=0, progress=steps.append).fit(table.X)
    assert [step.done for step in steps][:4] == [1, 2, 3, 4]
    assert {step.total for step in steps} == {4}
