"""Segmental distances: the compiled twins and plain loops agree with the NumPy versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.finders.axis.proclus import segmental

CASES = st.tuples(
    st.integers(1, 40), st.integers(1, 11), st.integers(1, 6), st.integers(0, 2**32 - 1)
)


def random_case(n: int, p: int, k: int, seed: int):
    rng = np.random.default_rng(seed)
    X, points = rng.normal(size=(n, p)), rng.normal(size=(k, p))
    masks = rng.random((k, p)) < 0.5
    masks[np.arange(k), rng.integers(p, size=k)] = True
    labels = rng.integers(-1, k, size=n)
    X.flags.writeable = False
    return X, points, masks, labels


@given(CASES)
@settings(deadline=None, max_examples=50)
def test_twins_agree(case):
    X, points, masks, labels = random_case(*case)
    away = segmental.city_block.reference(X, points[0])
    radius = float(np.sort(away)[len(away) // 2])
    for kernel, args in (
        (segmental.city_block, (X, points[0])),
        (segmental.ball_deviations, (X, points[0], away, radius)),
        (segmental.cluster_deviations, (X, labels, points)),
        (segmental.centroids, (X, labels, masks)),
        (segmental.own_distances, (X, labels, points, masks)),
    ):
        np.testing.assert_allclose(
            kernel(*args), kernel.reference(*args), rtol=1e-12, atol=1e-12, err_msg=str(kernel)
        )
    fast, plain = (
        f(X, points, masks) for f in (segmental.nearest_point, segmental.nearest_point.reference)
    )
    np.testing.assert_array_equal(fast.labels, plain.labels)
    np.testing.assert_allclose(fast.distances, plain.distances, rtol=1e-12)


@given(CASES)
@settings(deadline=None, max_examples=25)
def test_distances_by_hand(case):
    X, points, masks, labels = random_case(*case)
    n, k = len(X), len(points)
    by_hand = np.array(
        [
            [
                np.mean([abs(x[j] - points[i][j]) for j in np.flatnonzero(masks[i])])
                for i in range(k)
            ]
            for x in X
        ]
    )
    found = segmental.nearest_point(X, points, masks)
    np.testing.assert_array_equal(found.labels, by_hand.argmin(axis=1))
    np.testing.assert_allclose(found.distances, by_hand.min(axis=1), rtol=1e-12)
    own = np.where(labels >= 0, by_hand[np.arange(n), labels], 0.0)
    np.testing.assert_allclose(segmental.own_distances(X, labels, points, masks), own, rtol=1e-12)


def test_ties_go_to_the_first_point():
    X = np.zeros((2, 3))
    points = np.array([[1.0, 5.0, 5.0], [5.0, -1.0, 5.0], [1.0, 1.0, 1.0]])
    masks = np.array([[True, False, False], [False, True, False], [True, True, True]])
    for version in (segmental.nearest_point, segmental.nearest_point.reference):
        assert version(X, points, masks).labels.tolist() == [0, 0]


def test_clusters_without_rows_have_zeros():
    X = np.ones((3, 2))
    labels, points = np.array([1, 1, -1]), np.full((3, 2), 4.0)
    for version in (segmental.cluster_deviations, segmental.cluster_deviations.reference):
        np.testing.assert_array_equal(version(X, labels, points), [[0, 0], [3, 3], [0, 0]])
    masks = np.array([[True, True], [False, True], [True, False]])
    for version in (segmental.centroids, segmental.centroids.reference):
        np.testing.assert_array_equal(version(X, labels, masks), [[0, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("p", [1, 3, 4, 5, 8, 9])
def test_every_column_is_counted(p):
    X = np.arange(1.0, 2 * p + 1).reshape(2, p)
    assert segmental.city_block(X, np.zeros(p)).tolist() == X.sum(axis=1).tolist()
