"""PROCLUS: its phases against brute force, planted clusters, invariances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning

from subscape.core.errors import ConstantFeatureWarning, FewDistinctRowsWarning
from subscape.datasets import planted_axes, thesis_6_1
from subscape.finders.axis.proclus.phases import (
    Climber,
    Partition,
    bad_medoids,
    bounds_of_core,
    choose_dimensions,
    far_points,
    typical_total,
)
from subscape.finders.axis.proclus.proclus import PROCLUS
from subscape.measures import clustering_error

PAPER = {"refine": False, "noise": "spheres", "search_rows": None}


def segmental(x, y, mask):
    return np.abs(x[mask] - y[mask]).mean()


# -- phases -------------------------------------------------------------------------------------


@given(
    arrays(np.float64, st.tuples(st.just(2), st.integers(2, 5)), elements=st.integers(0, 20)),
    st.data(),
)
@settings(deadline=None, max_examples=50)
def test_no_choice_of_dimensions_is_better(deviations, data):
    k, p = deviations.shape
    total = data.draw(st.integers(2 * k, k * p))
    masks = choose_dimensions(deviations, total)
    assert masks.sum() == total and masks.sum(axis=1).min() >= 2
    spread = deviations.std(axis=1, ddof=1, keepdims=True)
    z = (deviations - deviations.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    every = np.array(list(product([False, True], repeat=k * p))).reshape(-1, k, p)
    allowed = every[(every.sum(axis=(1, 2)) == total) & (every.sum(axis=2).min(axis=1) >= 2)]
    assert (z * masks).sum() == pytest.approx((z * allowed).sum(axis=(1, 2)).min(), abs=1e-9)


def test_equal_deviations_say_nothing():
    masks = choose_dimensions(np.array([[3.0, 3.0, 3.0], [0.0, 9.0, 0.0]]), 4)
    np.testing.assert_array_equal(masks, [[1, 1, 0], [1, 0, 1]])


def test_one_feature_is_enough_for_a_table_of_one():
    np.testing.assert_array_equal(choose_dimensions(np.ones((3, 1)), 3), np.ones((3, 1)))


def test_far_points_are_far():
    X = np.random.default_rng(0).normal(size=(40, 3))
    chosen = far_points(X, 8, np.random.default_rng(1))
    apart = np.abs(X[:, None] - X[None]).sum(axis=2)
    for m in range(1, 8):
        gap = apart[:, chosen[:m]].min(axis=1)
        assert gap[chosen[m]] == pytest.approx(gap.max())


def test_copies_are_no_candidates():
    X = np.repeat(np.arange(3.0)[:, None], 4, axis=0)
    chosen = far_points(X, 10, np.random.default_rng(0))
    assert sorted(X[chosen, 0]) == [0, 1, 2]


def test_bad_medoids():
    labels = np.repeat([0, 1, 2, 3], [50, 44, 4, 2])
    assert bad_medoids(labels, 4, 0.1).tolist() == [3]
    assert bad_medoids(labels, 4, 0.2).tolist() == [2, 3]
    assert bad_medoids(np.repeat([0, 1], 5), 2, 0.1).tolist() == [0]


def test_core_is_bounded_by_the_median():
    labels, distances = np.array([0, 0, 0, 1, 1, 1]), np.array([1.0, 2.0, 9.0, 0.0, 0.0, 3.0])
    bounds = bounds_of_core(labels, distances, 3, 3.0)
    # Most rows of cluster 1 equal the medoid: the mean stands in for their median of 0.
    np.testing.assert_allclose(bounds, [6.0, 3.0, 0.0])


def test_locality_is_what_is_nearer_than_the_next_medoid():
    X = np.random.default_rng(3).normal(size=(60, 4))
    seeds = np.array([5, 17, 40])
    climber = Climber(X, np.arange(60), 3, 6, 3.0, refine=False)
    found = climber._locality_deviations(seeds)
    for i, seed in enumerate(seeds):
        away = np.abs(X - X[seed]).mean(axis=1)
        radius = min(away[s] for s in seeds if s != seed)
        np.testing.assert_allclose(found[i], np.abs(X[away <= radius] - X[seed]).mean(axis=0))
    again = climber._locality_deviations(seeds[::-1])
    np.testing.assert_array_equal(again, found[::-1])


def test_distances_forgotten_are_computed_again(monkeypatch):
    monkeypatch.setattr("subscape.finders.axis.proclus.phases.KEPT_DISTANCES", 100)
    X = np.random.default_rng(3).normal(size=(60, 4))
    seeds = np.array([5, 17, 40, 3])
    forgetful = Climber(X, np.arange(60), 4, 8, 3.0, refine=False)
    found = forgetful._locality_deviations(seeds)
    assert len(forgetful._distances) < 4
    monkeypatch.undo()
    keeping = Climber(X, np.arange(60), 4, 8, 3.0, refine=False)
    np.testing.assert_array_equal(found, keeping._locality_deviations(seeds))


@pytest.mark.parametrize("dims", [1, 3, 7, 10])
def test_number_of_features_is_read_off_the_clusters(dims):
    rng = np.random.default_rng(dims)
    labels = np.repeat([0, 1, 2], 100)
    X = rng.uniform(size=(300, 10))
    for i in range(3):
        for j in rng.choice(10, dims, replace=False):
            X[labels == i, j] = rng.uniform(0.1, 0.9) + 0.02 * rng.normal(size=100)
    partition = Partition(np.array([0, 100, 200]), np.ones((3, 10), bool), labels, labels, 0.0)
    assert typical_total(X, partition) == 3 * dims


# -- planted clusters ---------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [4, 6, 8, 10, 12, 14, 16, 18])
def test_thesis_setting(dims):
    X, truth = thesis_6_1(dims, random_state=dims)
    known = PROCLUS(n_clusters=5, avg_dims=dims, random_state=0).fit(X)
    assert clustering_error(truth, known.clustering_) <= 0.02
    unknown = PROCLUS(n_clusters=5, random_state=0).fit(X)
    assert unknown.avg_dims_ == dims
    assert clustering_error(truth, unknown.clustering_) <= 0.02


@pytest.mark.parametrize("dims", [4, 10, 18])
def test_the_search_of_the_paper_finds_them_too(dims):
    X, truth = thesis_6_1(dims, random_state=dims)
    found = PROCLUS(n_clusters=5, avg_dims=dims, random_state=0, **PAPER).fit(X)
    assert clustering_error(truth, found.clustering_) <= 0.05


def test_clusters_of_different_dimensionality():
    X, truth = planted_axes(
        2000, 20, n_clusters=5, dims=[2, 3, 4, 6, 7], noise=0.05, random_state=2
    )
    found = PROCLUS(n_clusters=5, random_state=0).fit(X)
    assert clustering_error(truth, found.clustering_) <= 0.05
    sizes = sorted(found.clustering_.subspaces.masks.sum(axis=1))
    assert sizes == [2, 3, 4, 6, 7]


def test_clusters_that_fill_all_features():
    X, truth = planted_axes(400, 8, n_clusters=4, dims=8, random_state=1)
    found = PROCLUS(n_clusters=4, random_state=0).fit(X)
    assert found.clustering_ == truth


def test_rows_outside_the_sample_are_placed():
    X, truth = planted_axes(6000, 15, n_clusters=4, dims=5, random_state=0)
    found = PROCLUS(n_clusters=4, search_rows=400, random_state=0).fit(X)
    assert clustering_error(truth, found.clustering_) <= 0.01
    np.testing.assert_array_equal(
        sorted(found.clustering_.subspaces.masks.tolist()), sorted(truth.subspaces.masks.tolist())
    )


def test_noise_is_found():
    X, truth = planted_axes(1000, 20, n_clusters=4, dims=6, noise=0.15, random_state=5)
    found = PROCLUS(n_clusters=4, random_state=0).fit(X)
    planted, labels = truth.labels() == -1, found.labels_ == -1
    assert (labels & planted).sum() >= 0.9 * planted.sum()
    assert (labels & ~planted).sum() <= 0.01 * len(X)
    assert (PROCLUS(n_clusters=4, noise=None, random_state=0).fit(X).labels_ >= 0).all()


# -- what is returned ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    return planted_axes(500, 10, n_clusters=3, dims=(3, 5), noise=0.1, random_state=4).X


@pytest.mark.parametrize("noise", ["far", "spheres", None])
@pytest.mark.parametrize("refine", [True, False])
def test_result_is_consistent(noisy, noise, refine):
    finder = PROCLUS(n_clusters=3, avg_dims=3.7, noise=noise, refine=refine, random_state=1)
    finder.fit(noisy)
    masks, labels = np.asarray(finder.clustering_.subspaces.masks), finder.labels_
    assert finder.avg_dims_ == pytest.approx(11 / 3)
    assert masks.sum() == 11 and masks.sum(axis=1).min() >= 2
    np.testing.assert_array_equal(finder.medoids_, noisy[finder.medoid_indices_])
    assert labels[finder.medoid_indices_].tolist() == [0, 1, 2]
    firsts = [np.flatnonzero(labels == i)[0] for i in range(3)]
    assert firsts == sorted(firsts)

    away = np.array(
        [
            [segmental(x, m, mask) for m, mask in zip(finder.medoids_, masks, strict=True)]
            for x in noisy
        ]
    )
    nearest = away.argmin(axis=1)
    np.testing.assert_array_equal(labels[labels >= 0], nearest[labels >= 0])
    if noise == "far":
        limits = []
        for i, radius in enumerate(finder.radii_):
            typical = np.sort(away[(nearest == i) & (away[:, i] <= radius * (1 + 1e-12)), i])
            limits.append(3 * typical[len(typical) // 2])
        outside = away.min(axis=1) > np.array(limits)[nearest]
    elif noise == "spheres":
        limits = [
            min(
                segmental(finder.medoids_[i], finder.medoids_[j], masks[i])
                for j in range(3)
                if j != i
            )
            for i in range(3)
        ]
        outside = (away > np.array(limits)).all(axis=1)
    else:
        limits, outside = [np.inf] * 3, np.zeros(len(noisy), bool)
    np.testing.assert_allclose(finder.radii_, limits)
    np.testing.assert_array_equal(labels == -1, outside)

    inside = [
        segmental(noisy[r], noisy[labels == labels[r]].mean(axis=0), masks[labels[r]])
        for r in np.flatnonzero(labels >= 0)
    ]
    assert finder.objective_ == pytest.approx(np.mean(inside), rel=1e-12)
    np.testing.assert_array_equal(finder.predict(noisy), labels)


def test_predict_tells_outliers(noisy):
    finder = PROCLUS(n_clusters=3, random_state=1).fit(noisy)
    far = finder.medoids_ + 100.0
    new = np.vstack([finder.medoids_[::-1], far])
    assert finder.predict(new).tolist() == [2, 1, 0, -1, -1, -1]
    with pytest.raises(ValueError, match="features"):
        finder.predict(noisy[:, :4])


def test_restarts_never_make_it_worse():
    X = np.random.default_rng(0).uniform(size=(300, 6))
    settings_ = {"n_clusters": 4, "avg_dims": 3, "noise": None, "random_state": 3}
    few, many = (PROCLUS(n_init=n, **settings_).fit(X).objective_ for n in (1, 8))
    assert many <= few


# -- invariances --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted():
    return planted_axes(400, 12, n_clusters=4, dims=4, noise=0.05, random_state=7)


@pytest.fixture(scope="module")
def fitted(planted):
    return PROCLUS(n_clusters=4, random_state=0).fit(planted.X)


def test_scale(planted, fitted):
    for factor in (1e-6, 3.0, 1e50):
        scaled = PROCLUS(n_clusters=4, random_state=0).fit(factor * planted.X)
        assert scaled.clustering_ == fitted.clustering_
        assert scaled.objective_ == pytest.approx(factor * fitted.objective_)


def test_offset(planted, fitted):
    moved = PROCLUS(n_clusters=4, random_state=0).fit(planted.X + np.arange(12) * 1e3)
    assert moved.clustering_ == fitted.clustering_


def test_column_order(planted, fitted):
    order = np.random.default_rng(1).permutation(12)
    turned = PROCLUS(n_clusters=4, random_state=0).fit(planted.X[:, order])
    np.testing.assert_array_equal(turned.labels_, fitted.labels_)
    np.testing.assert_array_equal(
        turned.clustering_.subspaces.masks, fitted.clustering_.subspaces.masks[:, order]
    )


def test_row_order(planted, fitted):
    order = np.random.default_rng(1).permutation(400)
    turned = PROCLUS(n_clusters=4, random_state=0).fit(planted.X[order])
    # Other rows become medoids, so single rows at the rim may differ.
    assert clustering_error(turned.clustering_, fitted.clustering_.restrict(rows=order)) <= 0.02
    assert turned.clustering_.columns_only() == fitted.clustering_.columns_only()


def test_same_bits_for_any_n_jobs(planted, fitted):
    for n_jobs in (1, 2):
        again = PROCLUS(n_clusters=4, random_state=0, n_jobs=n_jobs).fit(planted.X)
        np.testing.assert_array_equal(again.labels_, fitted.labels_)
        np.testing.assert_array_equal(again.medoid_indices_, fitted.medoid_indices_)
        assert again.objective_ == fitted.objective_
        assert again.clustering_ == fitted.clustering_


# -- odd tables and bad parameters --------------------------------------------------------------


def test_one_cluster():
    X, truth = planted_axes(200, 6, n_clusters=1, dims=3, noise=0.2, random_state=0)
    found = PROCLUS(n_clusters=1, random_state=0).fit(X)
    np.testing.assert_array_equal(found.clustering_.subspaces.masks, truth.subspaces.masks)


def test_as_many_clusters_as_rows():
    X = np.random.default_rng(0).normal(size=(6, 3))
    found = PROCLUS(n_clusters=6, random_state=0).fit(X)
    assert sorted(found.labels_) == list(range(6))
    assert found.objective_ == 0


def test_constant_columns_are_never_relevant():
    X, truth = planted_axes(300, 10, n_clusters=3, dims=4, random_state=0)
    with pytest.warns(ConstantFeatureWarning):
        found = PROCLUS(n_clusters=3, random_state=0).fit(np.insert(X, 2, 5.0, axis=1))
    masks = found.clustering_.subspaces.masks
    assert not masks[:, 2].any()
    np.testing.assert_array_equal(
        sorted(np.delete(masks, 2, axis=1).tolist()), sorted(truth.subspaces.masks.tolist())
    )
    np.testing.assert_array_equal(found.predict(np.insert(X, 2, 5.0, axis=1)), found.labels_)


def test_nearly_all_rows_are_copies():
    X = np.zeros((3000, 3))
    X[-3:] = np.eye(3)
    found = PROCLUS(n_clusters=4, search_rows=50, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 4
    assert sorted(X[found.medoid_indices_].tolist()) == sorted(np.unique(X, axis=0).tolist())


def test_fewer_kinds_of_rows_than_clusters():
    X = np.repeat([[0.0, 1.0, 0.0], [5.0, 1.5, 2.0]], 10, axis=0)
    with pytest.warns(FewDistinctRowsWarning):
        found = PROCLUS(n_clusters=5, random_state=0).fit(X)
    assert sorted(np.bincount(found.labels_)) == [10, 10]
    with pytest.warns(FewDistinctRowsWarning):
        one = PROCLUS(n_clusters=5, random_state=0).fit(np.ones((5, 2)))
    assert one.predict(np.ones((2, 2))).tolist() == [0, 0]


def test_many_more_columns_than_rows():
    X, truth = planted_axes(60, 3000, n_clusters=3, dims=200, random_state=0)
    found = PROCLUS(n_clusters=3, avg_dims=200, n_init=1, random_state=0).fit(X)
    assert clustering_error(truth, found.clustering_) <= 0.02


def test_time_limit():
    X = np.random.default_rng(0).normal(size=(200, 5))
    with pytest.warns(ConvergenceWarning, match="max_time"):
        found = PROCLUS(n_clusters=3, max_time=1e-9, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"avg_dims": 11}, "avg_dims=11 .* n_features=10"),
        ({"avg_dims": 1}, "avg_dims"),
        ({"avg_dims": "few"}, "avg_dims"),
        ({"medoid_factor": 40}, "medoid_factor=40"),
        ({"reach": 0.5}, "reach"),
        ({"noise": "some"}, "noise"),
        ({"n_clusters": 501}, "n_clusters=501"),
    ],
)
def test_bad_parameters(noisy, parameters, message):
    with pytest.raises(ValueError, match=message):
        PROCLUS(**parameters).fit(noisy)


@pytest.mark.parametrize("noise", [0.3, 0.5])
@pytest.mark.parametrize("avg_dims", ["auto", 6])
def test_half_of_the_rows_may_be_noise(noise, avg_dims):
    errors = []
    for seed in range(3):
        X, truth = planted_axes(
            1000, 20, n_clusters=5, dims=6, noise=noise, random_state=100 + seed
        )
        found = PROCLUS(n_clusters=5, avg_dims=avg_dims, random_state=0).fit(X).clustering_
        errors.append(clustering_error(found, truth))
    assert np.median(errors) < 0.02


def test_typical_rows_of_a_cluster():
    distances = np.concatenate([np.linspace(0.8, 1.2, 31), np.linspace(9, 11, 60)])
    labels = np.zeros(91, np.intp)
    assert bounds_of_core(labels, distances, 2, 3.0).tolist() == pytest.approx([3.0, 0.0])
    # Copies of the medoid only: the mean tells where the others are.
    few = np.array([0.0] * 9 + [1.0])
    assert bounds_of_core(labels[:10], few, 1, 3.0)[0] == pytest.approx(0.3)
