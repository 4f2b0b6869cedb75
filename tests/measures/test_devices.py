"""Scores and tables over tensors are those over NumPy arrays."""

from __future__ import annotations

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import seeds

from subscape import SubspaceClustering
from subscape.arrays.device.array_api import to_numpy
from subscape.arrays.device.blocks import DeviceBlocks
from subscape.core.errors import EmptyClusteringError, ShapeMismatchError, SubscapeError
from subscape.datasets import planted_axes, planted_oriented
from subscape.finders import LAC
from subscape.measures import (
    DensityProfile,
    adjusted_rand_score,
    clustering_error,
    description_length,
    feature_losses,
    intersection_table,
    loss_by_dim,
    normalized_mutual_info_score,
    rnia,
    sre,
)
from subscape.measures.density import profile as member_counts
from subscape.measures.flats import fitting as part_sums

ELSEWHERE = xp.Device("device1")


class OutOfMemoryError(RuntimeError):
    """Called as those of torch and cupy are."""


def tensor(X, dtype=None, device=ELSEWHERE):
    return xp.asarray(np.asarray(X) if dtype is None else np.asarray(X, dtype), device=device)


@pytest.fixture(scope="module")
def flats():
    X, truth = planted_oriented(4, ((1, 900), (2, 700)), noise=0.1, random_state=3)
    return np.asarray(X) + 20.0, truth


@pytest.fixture(scope="module")
def soft():
    X, _ = planted_axes(900, 6, n_clusters=3, dims=3, random_state=2)
    X = np.asarray(X)
    return X, LAC(3, assignment="soft", n_init=2, random_state=0).fit(X).clustering_


def overlapping(n):
    return SubspaceClustering.from_clusters(
        [(range(n // 2), [0, 1]), (range(n // 3, n - 5), [1, 2])], (n, 4)
    )


# -- SRE -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sre(flats, dtype):
    X, truth = flats
    X, labels = X.astype(dtype), truth.labels()
    tolerance = {"rel": 1e-12 if dtype == np.float64 else 1e-5}
    for given_as in (truth, overlapping(len(X))):
        expected, found = sre(X, given_as), sre(tensor(X), given_as)
        assert found.total == pytest.approx(expected.total, **tolerance)
        # Of small residuals float32 keeps the digits that the whole variance, about 1, has.
        digits = 1e-14 if dtype == np.float64 else 1e-7
        np.testing.assert_allclose(found.cluster_losses, expected.cluster_losses, 1e-9, digits)
        np.testing.assert_array_equal(found.flat_dims, expected.flat_dims)
    for dims in (None, 2, 4):
        expected = sre(X, labels, flat_dims=dims, units="variance")
        for vector in (labels, tensor(labels)):
            found = sre(tensor(X), vector, flat_dims=dims, units="variance")
            assert found.total == pytest.approx(expected.total, **tolerance)


def test_sre_of_soft_memberships(soft):
    X, clustering = soft
    assert sre(tensor(X), clustering).total == pytest.approx(sre(X, clustering).total, rel=1e-12)


def test_the_sums_are_taken_there(flats, monkeypatch):
    def refused(*arguments):
        raise AssertionError("rows were copied")

    monkeypatch.setattr(part_sums, "_dealt", refused)
    X, truth = flats
    assert np.isfinite(sre(tensor(X), truth).total)


def test_other_scores_of_flats(flats):
    X, truth = flats
    np.testing.assert_allclose(feature_losses(tensor(X), truth), feature_losses(X, truth))
    np.testing.assert_allclose(loss_by_dim(tensor(X), truth), loss_by_dim(X, truth), atol=1e-12)
    expected = description_length(X, truth).total
    assert description_length(tensor(X), truth).total == pytest.approx(expected, rel=1e-12)


def test_more_columns_than_rows():
    X = np.random.default_rng(0).normal(size=(12, 30))
    labels = [0] * 7 + [1] * 5
    expected = sre(X, labels, flat_dims=3).total
    assert sre(tensor(X), labels, flat_dims=3).total == pytest.approx(expected, rel=1e-12)


# -- density profiles ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("binning", ["uniform", "quantile", "mdl"])
def test_profiles(flats, dtype, binning):
    X, truth = flats
    X = X.astype(dtype)
    for given_as in (truth, truth.labels(), overlapping(len(X))):
        expected = DensityProfile.of(X, given_as, 7, binning=binning)
        assert DensityProfile.of(tensor(X), given_as, 7, binning=binning) == expected
    assert DensityProfile.of(tensor(X), tensor(truth.labels()), 7) == DensityProfile.of(X, truth, 7)


@pytest.mark.parametrize("missing", ["bin", "ignore"])
def test_profiles_of_soft_memberships_with_missing_values(soft, missing):
    X, clustering = soft
    holes = X.copy()
    holes[3, 1] = holes[8, 1] = holes[100, 4] = np.nan
    expected = DensityProfile.of(holes, clustering, missing=missing)
    assert DensityProfile.of(tensor(holes), clustering, missing=missing) == expected
    with pytest.raises(SubscapeError, match="missing='bin'"):
        DensityProfile.of(tensor(holes), clustering)


def test_profiles_in_given_bins(flats):
    X, truth = flats
    first = DensityProfile.of(X[:800], truth.labels()[:800])
    rest = X[800:], truth.labels()[800:]
    expected = DensityProfile.of(*rest, bins=first)
    assert DensityProfile.of(tensor(rest[0]), rest[1], bins=first) == expected


def test_many_bins_are_counted_in_memory(flats, monkeypatch):
    X, truth = flats

    def refused(*arguments):
        raise AssertionError("so many comparisons take longer than the copy")

    monkeypatch.setattr(member_counts, "count_in_bins_on_device", refused)
    assert DensityProfile.of(tensor(X), truth, 100) == DensityProfile.of(X, truth, 100)


# -- tables of labels ------------------------------------------------------------------------------


@given(seeds, st.integers(1, 60), st.integers(1, 6), st.integers(0, 3))
@settings(deadline=None, max_examples=40)
def test_intersection_tables(seed, n, k, first):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-1, k, n), rng.integers(-2, k, n)
    a[a >= 0] += first  # numbers that nobody has, which make no cluster
    if a.max() < 0 or b.max() < 0:
        with pytest.raises(EmptyClusteringError):
            intersection_table(tensor(a), tensor(b))
        return
    found = intersection_table(tensor(a), tensor(b))
    assert found.device == ELSEWHERE and found.dtype == xp.float64
    np.testing.assert_array_equal(to_numpy(found), intersection_table(a, b))


def test_weights_are_taken_in_memory():
    a, b, weights = [0, 0, 1], [1, 0, 0], [0.5, 1.0, 2.0]
    found = intersection_table(tensor(a), tensor(b), row_weights=weights)
    np.testing.assert_array_equal(found, intersection_table(a, b, row_weights=weights))


@given(seeds, st.integers(2, 60), st.sampled_from(["singletons", "cluster"]))
@settings(deadline=None, max_examples=40)
def test_label_measures(seed, n, noise):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-1, 4, n), rng.integers(2, 9, n)
    for measure in (adjusted_rand_score, normalized_mutual_info_score):
        expected = measure(a, b, noise=noise)
        assert measure(tensor(a), tensor(b), noise=noise) == expected
        assert measure(tensor(a), b, noise=noise) == expected
    real = measure(tensor(a, np.float64), tensor(b, np.float64), noise=noise)
    assert real == expected


def test_comparisons_take_label_tensors():
    a, b = np.array([0, 0, 1, 1, -1]), np.array([0, 1, 1, 1, 0])
    truth = SubspaceClustering.from_labels(a, masks=[[1, 0], [1, 1]])
    assert clustering_error(tensor(a), tensor(b)) == clustering_error(a, b)
    assert rnia(truth, tensor(b)) == rnia(truth, b)
    assert SubspaceClustering.from_labels(tensor(a)) == SubspaceClustering.from_labels(a)


# -- bad input -------------------------------------------------------------------------------------


def test_mixed_devices_are_named(flats):
    X, truth = flats
    labels = tensor(truth.labels(), device=None)
    for score in (sre, DensityProfile.of):
        with pytest.raises(SubscapeError, match=r"X on .*device1.*labels on .*CPU_DEVICE"):
            score(tensor(X), labels)
    with pytest.raises(SubscapeError, match="different devices"):
        intersection_table(tensor(truth.labels()), labels)
    with pytest.raises(SubscapeError, match="different devices"):
        adjusted_rand_score(tensor(truth.labels()), labels)


def test_wrong_lengths_and_values(flats):
    X, truth = flats
    with pytest.raises(ShapeMismatchError):
        sre(tensor(X[:-1]), truth)
    with pytest.raises(ShapeMismatchError):
        intersection_table(tensor([0, 1]), tensor([0, 1, 1]))
    broken = X.copy()
    broken[4, 2] = np.inf
    for score in (sre, DensityProfile.of):
        with pytest.raises(SubscapeError, match="infin"):
            score(tensor(broken), truth)


@pytest.mark.parametrize("score", [sre, DensityProfile.of])
def test_out_of_memory_is_said(flats, monkeypatch, score):
    def no_memory(self, *arguments):
        raise OutOfMemoryError

    for name in ("parts", "rows"):
        monkeypatch.setattr(DeviceBlocks, name, no_memory)
    X, truth = flats
    with pytest.raises(MemoryError, match="does not fit into the device's memory"):
        score(tensor(X), truth)
