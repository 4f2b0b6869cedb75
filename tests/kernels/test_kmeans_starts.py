"""k-means from many starts: both kernels, and what a step of Lloyd's must be."""

import numpy as np
import pytest

from subscape.arrays.kmeans_starts import kmeans_labels


def starts(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, (n, 1))
    sizes = np.array([2, 3, 5, 5], dtype=np.int64)
    return Z, sizes, rng.random((4, 5))


@pytest.mark.parametrize("seed", range(8))
def test_twins_agree(seed):
    Z, sizes, chances = starts(seed)
    for rounds in (1, 3, 30):
        fast = kmeans_labels(Z, sizes, chances, rounds)
        np.testing.assert_array_equal(fast, kmeans_labels.reference(Z, sizes, chances, rounds))


def test_rows_are_with_the_nearest_middle_at_the_end():
    Z, sizes, chances = starts(1)
    for labels, k in zip(kmeans_labels(Z, sizes, chances, 100), sizes, strict=True):
        centres = np.array([Z[labels == j].mean(axis=0) for j in range(k)])
        away = np.square(Z[:, None] - centres).sum(axis=2)
        np.testing.assert_array_equal(away.argmin(axis=1), labels)


def test_starts_are_far_from_each_other_and_differ():
    Z = np.repeat([[0.0], [1.0], [50.0]], 20, axis=0)
    labels = kmeans_labels(Z, np.array([2, 2]), np.array([[0.0, 0.9], [0.99, 0.01]]), 1)
    assert labels[0].tolist() == [0] * 40 + [1] * 20
    assert labels[1].tolist() == [1] * 40 + [0] * 20


def test_one_cluster_and_tied_rows():
    Z = np.zeros((5, 2))
    assert kmeans_labels(Z, np.array([1, 3]), np.zeros((2, 3)), 5).tolist() == [[0] * 5] * 2
