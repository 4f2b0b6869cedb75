"""The Gap statistic against its definition, and on tables whose number of clusters is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from tests.validation.finders import Halves

from subscape import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.datasets import structureless
from subscape.validation import gap_statistic
from subscape.validation.gap import _chosen, dispersion


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)[0]


@pytest.fixture(scope="module")
def curve(blobs):
    return gap_statistic(KMeans(n_init=2), blobs, range(1, 6), n_null=10, random_state=0)


def test_dispersion_is_half_the_mean_of_squared_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) + 50
    labels = np.arange(20) % 3
    expected = 0.0
    for k in range(3):
        part = X[labels == k]
        squares = np.square(part[:, None] - part[None]).sum()
        expected += squares / (2 * len(part))
    assert dispersion(X, labels) == pytest.approx(expected)
    noisy = np.where(labels == 2, -1, labels)
    assert dispersion(X, noisy) == pytest.approx(expected)
    assert dispersion(X, np.full(20, -1)) == pytest.approx(dispersion(X, np.zeros(20, int)))


def test_dispersion_in_subspaces_is_per_dimension():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    masks = np.array([[1, 1, 0, 0], [0, 0, 0, 1]], bool)
    labels = np.repeat([0, 1], 10)
    truth = SubspaceClustering.from_labels(labels, masks=masks)
    expected = 10 * X[:10, :2].var(axis=0).sum() / 2 + 10 * X[10:, 3].var()
    assert dispersion(X, truth, space="subspace") == pytest.approx(expected)
    full = SubspaceClustering.from_labels(labels, n_features=4)
    assert dispersion(X, full, space="subspace") == pytest.approx(dispersion(X, labels) / 4)


def test_the_planted_number_is_chosen(curve, blobs):
    assert curve.chosen == 3
    assert "3 clusters of 1 to 5" in repr(curve)
    assert curve.null_log_dispersion.shape == (5, 10)
    mean, spread = curve.null_log_dispersion.mean(axis=1), curve.null_log_dispersion.std(axis=1)
    np.testing.assert_allclose(curve.gap, mean - curve.log_dispersion)
    np.testing.assert_allclose(curve.error, spread * np.sqrt(1.1))
    found = curve.clusterings[2]
    assert curve.log_dispersion[2] == pytest.approx(np.log(dispersion(blobs, found)))
    assert [record["n_clusters"] for record in curve.to_records() if record["chosen"]] == [3]


def test_no_clusters_are_one():
    X = structureless("gaussian", 80, 3, random_state=1)
    assert gap_statistic(KMeans(n_init=2), X, range(1, 5), n_null=10, random_state=0).chosen == 1


def test_rule_of_the_paper():
    numbers = np.array([1, 2, 3, 4])
    error = np.full(4, 0.1)
    assert _chosen(numbers, np.array([0.0, 0.5, 0.55, 0.2]), error) == 2
    assert _chosen(numbers, np.array([0.0, 0.5, 0.7, 0.9]), error) == 4
    assert _chosen(numbers, np.array([np.nan, 0.5, np.nan, 0.2]), error) == 2
    assert _chosen(numbers, np.full(4, np.nan), error) is None


def test_same_bits_and_store(blobs, curve, tmp_path):
    again = gap_statistic(
        KMeans(n_init=2), blobs, range(1, 6), n_null=10, random_state=0, store=tmp_path
    )
    assert again.gap.tobytes() == curve.gap.tobytes()
    assert len(list((tmp_path / "runs").glob("*.subscape"))) == 55


def test_failures_and_bad_arguments(blobs):
    failing = gap_statistic(KMeans(n_init=1), blobs[:6], [2, 5, 7], n_null=2, random_state=0)
    assert np.isnan(failing.gap[2]) and not np.isnan(failing.gap[:2]).any()
    assert len(failing.failures) == 3
    with pytest.raises(SubscapeError, match="increasing"):
        gap_statistic(Halves(), blobs, [3, 2])
    with pytest.raises(SubscapeError, match="n_null"):
        gap_statistic(Halves(), blobs, n_null=1)
    with pytest.raises(SubscapeError, match="failed in every one"):
        gap_statistic(KMeans(), blobs[:3], [5], n_null=2)
