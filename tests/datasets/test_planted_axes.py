"""The planted axis-aligned clusters are where the truth says, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.datasets import planted_axes, thesis_6_1, thesis_6_2
from subscape.datasets.axes import _relevant_features, _shared_per_cluster


def ratios(X, truth):
    """Standard deviation of each cluster over that of the column, (n_clusters, n_features)."""
    within = np.array([X[truth.cluster(k).rows].std(axis=0) for k in range(truth.n_clusters)])
    return within / X.std(axis=0)


def assert_narrow_exactly_where_relevant(X, truth, low, high, wide=0.4):
    narrow = ratios(X, truth)
    masks = truth.subspaces.masks
    assert narrow[masks].min() >= low * (1 - 1e-9)
    assert narrow[masks].max() <= high * (1 + 1e-9)
    assert narrow[~masks].min(initial=np.inf) > wide


@pytest.mark.parametrize("seed", range(10))
def test_three_clusters_in_a_row_have_no_feature_in_common_if_that_can_be(seed):
    widths, shared = np.full(6, 4), np.full(5, 2)
    masks = _relevant_features(widths, shared, 8, np.random.default_rng(seed))
    assert (masks.sum(axis=1) == widths).all()
    assert ((masks[1:] & masks[:-1]).sum(axis=1) == shared).all()
    assert not (masks[2:] & masks[1:-1] & masks[:-2]).any()
    # With three shared of four there must be some: as few as there can be.
    masks = _relevant_features(widths, np.full(5, 3), 8, np.random.default_rng(seed))
    assert ((masks[1:] & masks[:-1]).sum(axis=1) == 3).all()
    assert ((masks[2:] & masks[1:-1] & masks[:-2]).sum(axis=1) == 2).all()


def test_shared_features_between_those_that_must_be_and_those_that_can_be():
    # Two clusters of 4 and of 3 of 5 features: they have at least 2 in common, and at most 3.
    widths = np.array([4, 3])
    for value in (2, 3):
        assert _shared_per_cluster(value, widths, 5, fewest=False).tolist() == [value]
    for value in (1, 4):
        with pytest.raises(ValueError, match="shared_dims must be between 2 and 3 for clusters of"):
            _shared_per_cluster(value, widths, 5, fewest=False)
    assert _shared_per_cluster(None, widths, 5, fewest=True).tolist() == [2]
    assert _shared_per_cluster(None, widths, 9, fewest=True).tolist() == [0]
    assert _shared_per_cluster(None, widths, 5, fewest=False) is None


@pytest.mark.parametrize("dims", range(4, 20, 2))
def test_thesis_6_1_has_the_numbers_of_the_thesis(dims):
    for seed in range(5):
        X, truth = thesis_6_1(dims, random_state=seed)
        assert X.shape == truth.shape == (500, 20)
        assert X.dtype == np.float64
        assert truth.kind == "axis"
        assert truth.n_clusters == 5
        assert truth.is_partition
        assert (truth.subspaces.dims == dims).all()
        assert truth.sizes.min() >= 0.15 * 500
        assert truth.sizes.max() <= 0.25 * 500
        assert_narrow_exactly_where_relevant(X, truth, 0.03, 0.05)


def test_thesis_6_1_sizes_use_the_whole_range():
    sizes = np.concatenate([thesis_6_1(4, seed).clustering.sizes for seed in range(40)])
    assert sizes.min() < 82
    assert sizes.max() > 118


def test_thesis_6_2_has_the_numbers_of_the_thesis():
    for seed in range(3):
        X, truth = thesis_6_2(random_state=seed)
        assert X.shape == (1000, 100)
        assert truth.n_clusters == 5
        assert truth.is_partition
        assert (truth.subspaces.dims == 10).all()
        assert np.abs(truth.sizes - 200).max() <= 10
        assert_narrow_exactly_where_relevant(X, truth, 0.03, 0.05)


@pytest.mark.parametrize("background", ["uniform", "normal"])
def test_background_and_centers(background):
    made = planted_axes(
        2000, 8, n_clusters=3, dims=3, noise=0.4, background=background, random_state=3
    )
    X, truth = made
    noise = X[truth.labels() == -1]
    assert len(noise) == 800
    expected = 12**-0.5 if background == "uniform" else 1.0
    np.testing.assert_allclose(noise.std(axis=0), expected, rtol=0.08)
    if background == "uniform":
        assert noise.min() >= 0 and noise.max() <= 1
    means = np.array([X[truth.cluster(k).rows].mean(axis=0) for k in range(3)])
    masks = truth.subspaces.masks
    np.testing.assert_array_equal(np.isnan(made.centers), ~masks)
    np.testing.assert_allclose(means[masks], made.centers[masks], atol=1e-12)
    assert_narrow_exactly_where_relevant(X, truth, 0.03, 0.05)


def test_residuals_are_normal():
    from scipy.stats import kstest

    made = planted_axes(3000, 4, n_clusters=2, dims=2, spread=0.04, random_state=1)
    for k in range(2):
        cluster = made.clustering.cluster(k)
        for j in cluster.features:
            values = made.X[cluster.rows, j]
            z = (values - values.mean()) / values.std()
            assert kstest(z, "norm").pvalue > 1e-3


def test_sizes_dims_and_spread_as_given():
    X, truth = planted_axes(
        100,
        10,
        n_clusters=3,
        dims=(2, 5, 7),
        sizes=(20, 30, 40),
        noise=0.1,
        spread=0.1,
        random_state=0,
    )
    assert truth.sizes.tolist() == [20, 30, 40]
    assert truth.subspaces.dims.tolist() == [2, 5, 7]
    np.testing.assert_allclose(ratios(X, truth)[truth.subspaces.masks], 0.1, rtol=1e-9)
    _, truth = planted_axes(100, 10, n_clusters=3, sizes=(0.2, 0.3, 0.5), noise=0.2, random_state=0)
    assert truth.sizes.tolist() == [16, 24, 40]


def test_a_pair_of_dims_is_a_range_unless_there_are_two_clusters():
    _, truth = planted_axes(200, 10, n_clusters=30, dims=(2, 4), random_state=0)
    assert set(truth.subspaces.dims) == {2, 3, 4}
    _, truth = planted_axes(n_clusters=2, dims=(9, 2), random_state=0)
    assert truth.subspaces.dims.tolist() == [9, 2]


def test_overlap_obeys_both_clusters():
    for seed in range(5):
        X, truth = planted_axes(
            1000, 20, n_clusters=5, dims=6, overlap=0.2, noise=0.1, random_state=seed
        )
        per_row = truth.memberships.toarray().sum(axis=0)
        assert np.bincount(per_row).tolist() == [100, 700, 200]
        masks = truth.subspaces.masks
        assert not (masks[1:] & masks[:-1]).any()
        shared = truth.memberships.toarray().astype(int)
        shared = shared @ shared.T
        assert (shared[np.triu_indices(5, 2)] == 0).all()
        assert (np.diag(shared, 1) > 0).all()
        assert_narrow_exactly_where_relevant(X, truth, 0.03, 0.05)


def test_overlapping_clusters_agree_in_the_features_they_share():
    made = planted_axes(
        1000, 20, n_clusters=5, dims=6, overlap=0.2, shared_dims=2, noise=0.1, random_state=0
    )
    masks = made.clustering.subspaces.masks
    both = masks[1:] & masks[:-1]
    assert (both.sum(axis=1) == 2).all()
    assert (made.centers[1:][both] == made.centers[:-1][both]).all()
    narrow = ratios(*made)[masks]
    assert narrow.min() > 0.03 * 0.8 and narrow.max() < 0.05 * 1.2
    assert ratios(*made)[~masks].min() > 0.4


def test_unavoidable_sharing_is_kept_to_neighbours():
    for seed in range(20):
        _, truth = planted_axes(300, 20, n_clusters=4, dims=12, overlap=0.2, random_state=seed)
        masks = truth.subspaces.masks
        assert ((masks[1:] & masks[:-1]).sum(axis=1) == 4).all()
        assert not (masks[2:] & masks[1:-1] & masks[:-2]).any()


def test_shared_dims_without_overlap_have_their_own_centers():
    made = planted_axes(500, 20, n_clusters=4, dims=6, shared_dims=3, random_state=0)
    masks = made.clustering.subspaces.masks
    both = masks[1:] & masks[:-1]
    assert (both.sum(axis=1) == 3).all()
    assert (made.centers[1:][both] != made.centers[:-1][both]).all()
    assert_narrow_exactly_where_relevant(*made, 0.03, 0.05)


@settings(deadline=None, max_examples=50)
@given(
    n=st.integers(12, 80),
    p=st.integers(2, 12),
    k=st.integers(2, 5),
    noise=st.sampled_from([0.0, 0.1, 0.3]),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_any_parameters_give_what_they_say(n, p, k, noise, seed, data):
    low = data.draw(st.integers(1, p))
    high = data.draw(st.integers(low, p))
    dims = low if k == 2 else (low, high)
    X, truth = planted_axes(
        n, p, n_clusters=k, dims=dims, noise=noise, spread=(0.01, 0.2), random_state=seed
    )
    assert np.isfinite(X).all()
    assert truth.shape == (n, p)
    assert truth.n_clusters == k
    assert int((truth.labels() == -1).sum()) == round(noise * n)
    assert truth.subspaces.dims.min() >= low
    assert truth.subspaces.dims.max() <= (low if k == 2 else high)
    equal = (n - round(noise * n)) / k
    assert np.abs(truth.sizes - equal).max() <= 0.25 * equal + 1
    narrow = ratios(X, truth)[(truth.sizes > 1)[:, None] & truth.subspaces.masks]
    assert (narrow >= 0.01 - 1e-9).all()
    assert (narrow <= 0.2 + 1e-9).all()


def test_seeds():
    a, b, c = (planted_axes(random_state=seed) for seed in (1, 1, 2))
    assert (a.X == b.X).all()
    assert a.clustering == b.clustering
    assert a.clustering != c.clustering
    from_generator = planted_axes(random_state=np.random.default_rng(1))
    assert (a.X == from_generator.X).all()
    assert planted_axes(overlap=0.1, random_state=0).clustering == (
        planted_axes(overlap=0.1, random_state=0).clustering
    )
    assert not np.array_equal(planted_axes().X, planted_axes().X)


def test_smallest_tables():
    X, truth = planted_axes(2, 1, n_clusters=2, dims=1, random_state=0)
    assert X.shape == (2, 1)
    assert truth.sizes.tolist() == [1, 1]
    X, truth = planted_axes(10, 2, n_clusters=1, dims=2, noise=0.5, spread=0, random_state=0)
    assert (X[truth.cluster(0).rows].std(axis=0) < 1e-15).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(dims=21), "dims must be between 1 and 20 .n_features is 20., got 21"),
        (dict(dims=0), "dims must be between 1 and 20"),
        (dict(dims=(3, 4, 5)), "5 numbers, one per cluster"),
        (dict(dims=(5, 3)), "low <= high"),
        (dict(sizes=(100, 100)), "sizes must hold 5 numbers"),
        (dict(sizes=(100, 100, 100, 100, 90)), "add up to 490 rows, but 500 rows are in clusters"),
        (dict(sizes=(100, 100, 100, 100, 100), noise=0.1), "but 450 rows are in clusters"),
        (dict(sizes=(100, 200, 300, 0, -100)), "at least 1 row each"),
        (dict(sizes=(0.2, 0.2, 0.2, 0.2, 0.1)), "add up to 1, got .* .sum 0.9."),
        (dict(sizes=(0.999, 0.001), n_clusters=2, n_rows=20), "cluster 1 without a row"),
        (dict(n_clusters=0), "n_clusters must be at least 1"),
        (dict(n_clusters=600), "600 clusters need at least 600 rows, but only 500"),
        (dict(noise=1.0), "noise must be at least 0 and less than 1"),
        (dict(noise=-0.1), "noise must be at least 0"),
        (dict(overlap=0.6), "overlap must be at least 0 and at most 0.5"),
        (dict(overlap=0.4, noise=0.7), "asks for 200 rows in two clusters, but only 150"),
        (dict(overlap=0.1, n_clusters=1), "overlap needs at least two clusters"),
        (dict(overlap=0.1, dims=20), "relevant to all rows at one centre"),
        (dict(n_clusters=1), "relevant to all rows at one centre"),
        (dict(shared_dims=7), "between 0 and 6"),
        (dict(shared_dims=3, dims=15), "between 10 and 15"),
        (dict(shared_dims=1, n_clusters=1), "shared_dims needs at least two clusters"),
        (dict(spread=(0.05, 0.03)), "low <= high"),
        (dict(spread=1.0), "spread must be at least 0 and less than 1"),
        (dict(spread=(0.1, 0.2, 0.3)), "a number or a pair"),
        (dict(spread=float("nan")), "spread must be"),
        (dict(background="poisson"), "'uniform' or 'normal'"),
        (dict(n_rows=0), "n_rows must be at least 1"),
        (dict(random_state=-1), "random_state must be"),
    ],
)
def test_bad_values_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        planted_axes(**{"random_state": 0, **parameters})


@pytest.mark.parametrize(
    "parameters",
    [
        dict(n_rows=10.5),
        dict(dims="many"),
        dict(noise="none"),
        dict(sizes=["a"] * 5),
        dict(n_clusters=True),
    ],
)
def test_bad_types_are_refused(parameters):
    with pytest.raises((TypeError, ValueError), match=next(iter(parameters))):
        planted_axes(**parameters)
