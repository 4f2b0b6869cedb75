"""The search for boxes: against enumeration, and the compiled kernels against NumPy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.bitsets import pack, unpack
from subscape.finders.axis.boxes.windows import best_box, match_columns, match_rows, shared_features

EVERYTHING = 10**9
seeds = st.integers(0, 2**32 - 1)


def both(kernel):
    return kernel, kernel.reference


def quality(support, n_features, gain):
    return np.log(support) + n_features * gain


@given(st.integers(1, 150), st.integers(1, 70), seeds)
@settings(max_examples=30)
def test_matches_are_the_rows_inside(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, p)).astype(float)
    X[rng.random((n, p)) < 0.1] = np.nan
    low = rng.integers(0, 4, size=p).astype(float)
    high = low + rng.integers(-1, 3, size=p)
    inside = (low <= X) & (high >= X)
    for kernel in both(match_rows):
        np.testing.assert_array_equal(unpack(kernel(X, low, high), p), inside)
    for kernel in both(match_columns):
        columns = np.ascontiguousarray(X.T)
        np.testing.assert_array_equal(unpack(kernel(columns, low, high), n), inside.T)


@given(st.integers(1, 40), st.integers(1, 130), st.integers(1, 4), st.integers(0, 5), seeds)
@settings(max_examples=30)
def test_samples_share_features(m, p, length, least, seed):
    rng = np.random.default_rng(seed)
    sets = rng.random((m, p)) < 0.4
    samples = rng.integers(m, size=(25, length))
    expected = sets[samples].all(axis=1)
    expected = expected[expected.sum(axis=1) >= least]
    for kernel in both(shared_features):
        np.testing.assert_array_equal(unpack(kernel(pack(sets), samples, least), p), expected)


@given(
    st.integers(1, 40),
    st.integers(1, 7),
    st.integers(1, 4),
    st.floats(0.05, 3),
    st.floats(0.1, 0.9),
    seeds,
)
def test_no_set_of_features_is_better(n, p, min_support, gain, density, seed):
    rng = np.random.default_rng(seed)
    matches, rows = rng.random((p, n)) < density, rng.random(n) < 0.9
    best = -np.inf
    for size in range(1, p + 1):
        for features in combinations(range(p), size):
            support = (matches[list(features)].all(axis=0) & rows).sum()
            if support >= min_support:
                best = max(best, quality(support, size, gain))
    for kernel in both(best_box):
        found = kernel(pack(matches), pack(rows), min_support, gain, -np.inf, EVERYTHING)
        assert found.complete
        if best == -np.inf:
            assert len(found.features) == 0 and found.support == 0
            continue
        assert found.support == (matches[found.features].all(axis=0) & rows).sum()
        assert found.support >= min_support
        assert quality(found.support, len(found.features), gain) == pytest.approx(best)


@given(st.integers(1, 100), st.integers(1, 80), st.sampled_from([1, 3, 50, EVERYTHING]), seeds)
@settings(max_examples=40)
def test_compiled_and_numpy_search_alike(n, p, max_nodes, seed):
    rng = np.random.default_rng(seed)
    matches = pack(rng.random((p, n)) < rng.uniform(0.05, 0.5))
    rows = pack(rng.random(n) < 0.8)
    least, gain = max(2, n // 8), float(rng.uniform(0.5, 2))
    floor = float(rng.choice([-np.inf, 3.0]))
    fast, slow = (kernel(matches, rows, least, gain, floor, max_nodes) for kernel in both(best_box))
    np.testing.assert_array_equal(fast.features, slow.features)
    assert fast[1:] == slow[1:]


def test_only_better_boxes_are_wanted():
    matches, rows = pack([[1, 1, 1, 0], [1, 1, 0, 0]]), pack([1, 1, 1, 1])
    for kernel in both(best_box):
        best = kernel(matches, rows, 1, 1.0, -np.inf, EVERYTHING)
        assert best.features.tolist() == [0, 1] and best.support == 2
        worth = quality(2, 2, 1.0)
        assert len(kernel(matches, rows, 1, 1.0, worth, EVERYTHING).features) == 0
        assert len(kernel(matches, rows, 1, 1.0, worth - 1e-6, EVERYTHING).features) == 2


def test_a_cut_search_says_so_and_keeps_the_best():
    rng = np.random.default_rng(0)
    matches, rows = pack(rng.random((40, 60)) < 0.5), pack(np.ones(60))
    for kernel in both(best_box):
        cut = kernel(matches, rows, 5, 1.0, -np.inf, 10)
        full = kernel(matches, rows, 5, 1.0, -np.inf, EVERYTHING)
        assert cut.nodes == 10 and not cut.complete and full.complete
        assert cut.support >= 5 and len(cut.features) > 0
        assert quality(cut.support, len(cut.features), 1.0) <= quality(
            full.support, len(full.features), 1.0
        )


def test_lengths_have_to_agree():
    for kernel in both(best_box):
        with pytest.raises(ValueError, match="sets of 2 words against one of 1 words"):
            kernel(np.zeros((2, 2), np.uint64), np.zeros(1, np.uint64), 1, 1.0, 0.0, 10)
