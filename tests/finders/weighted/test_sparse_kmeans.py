"""Sparse k-means and EWKM: their formulas against optimisers and loops, planted features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from subscape.datasets import planted_axes
from subscape.finders import EWKM, SparseKMeans
from subscape.finders.weighted.lac import descend, start_centres
from subscape.finders.weighted.sparse_kmeans import bounded_weights, sparse_kmeans
from subscape.measures import adjusted_rand_score


def planted(n=120, p=60, informative=6, shift=2.0, seed=0):
    """Three clusters that differ in the first features."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % 3)
    X = rng.normal(size=(n, p))
    X[:, :informative] += (
        shift * rng.permuted(np.tile([-1, 0, 1], (informative, 1)), axis=1).T[labels]
    )
    return X, labels


def f1(found, informative):
    right = np.count_nonzero(found < informative)
    return 2 * right / (len(found) + informative)


@given(st.integers(1, 8), st.floats(1, 3), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_no_other_weights_within_the_bound_are_better(p, bound, seed):
    rng = np.random.default_rng(seed)
    gains = rng.exponential(size=p)
    w = bounded_weights(gains, bound)
    assert (w >= 0).all() and np.linalg.norm(w) == pytest.approx(1)
    assert w.sum() <= bound + 1e-6
    for _ in range(200):
        other = np.abs(rng.normal(size=p)) * (rng.random(p) < 0.6)
        if not other.any():
            continue
        other /= np.linalg.norm(other)
        if other.sum() <= bound:
            assert other @ gains <= w @ gains + 1e-6


@given(st.integers(0, 2**32 - 1), st.floats(1, 4))
@settings(deadline=None, max_examples=25)
def test_the_objective_never_falls(seed, bound):
    X, _ = planted(60, 16, 4, 1.0, seed)
    X = X - X.mean(axis=0)
    start = start_centres(X, 3, "kmeans++", np.random.default_rng(seed))
    found = sparse_kmeans(X, start, bound, 50)
    assert (np.diff(found.history) >= -1e-9 * found.history[-1]).all()
    # It is the weighted sum of squares between the clusters.
    own = [X[found.labels == k] for k in range(3)]
    between = sum(len(rows) * np.square(rows.mean(axis=0)) for rows in own)
    assert found.weights @ between == pytest.approx(found.history[-1], rel=1e-6)


def test_planted_features_are_found():
    reached = []
    for seed in range(5):
        X, labels = planted(seed=seed)
        found = SparseKMeans(3, random_state=0).fit(X)
        assert adjusted_rand_score(labels, found.labels_) > 0.95
        reached.append(f1(found.features_, 6))
        assert (np.diff(found.feature_weights_[found.features_]) <= 0).all()
        np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert np.mean(reached) >= 0.95


def test_a_bound_of_one_leaves_one_feature():
    X, _ = planted()
    found = SparseKMeans(3, bound=1, random_state=0).fit(X)
    assert len(found.features_) == 1
    assert len(SparseKMeans(3, bound=100.0, random_state=0).fit(X).features_) == 60


# -- EWKM -----------------------------------------------------------------------------------------


def objective_by_hand(X, found, h):
    total = 0.0
    for k in range(len(found.centres)):
        rows = X[found.labels == k]
        total += (np.square(rows - found.centres[k]) @ found.weights[k]).sum()
        total += h * xlogy(found.weights[k], found.weights[k]).sum()
    return total / len(X)


@given(st.integers(0, 2**32 - 1), st.floats(0.5, 50))
@settings(deadline=None, max_examples=25)
def test_the_objective_of_ewkm_never_rises(seed, h):
    X, _ = planted(60, 8, 3, 2.0, seed)
    start = start_centres(X, 3, "kmeans++", np.random.default_rng(seed))
    found = descend(X, start, h, by_sums=True, tol=0.0)
    assert (np.diff(found.history) <= 1e-9 * np.abs(found.history[0])).all()
    assert objective_by_hand(X, found, h) == pytest.approx(found.history[-1], rel=1e-9)


def test_weights_of_ewkm_follow_sums_of_squares():
    X, _ = planted(90, 6, 3)
    found = EWKM(3, gamma=20.0, scale=None, random_state=0).fit(X)
    for k in range(3):
        rows = X[found.labels_ == k]
        sums = np.square(rows - rows.mean(axis=0)).sum(axis=0)
        expected = np.exp(-(sums - sums.min()) / 20.0)
        np.testing.assert_allclose(found.weights_[k], expected / expected.sum(), atol=1e-3)


def test_ewkm_finds_planted_clusters_also_from_a_sample():
    X, truth = planted_axes(900, 10, n_clusters=3, dims=4, random_state=0)
    whole = EWKM(3, random_state=0).fit(X)
    part = EWKM(3, search_rows=300, random_state=0).fit(X)
    for found in (whole, part):
        assert adjusted_rand_score(truth, found.labels_) > 0.97
        for k, weights in enumerate(found.weights_):
            own = np.bincount(truth.labels()[found.labels_ == k]).argmax()
            top = set(np.argsort(-weights)[:3])
            assert top <= set(truth.cluster(own).features)
