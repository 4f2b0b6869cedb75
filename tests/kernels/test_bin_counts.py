"""Counting in bins: the twins agree exactly, whatever the limits, the values and the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.bin_counts import column_ranges, count_in_bins, ranges_of

NONE = np.empty(0, np.int64)


def even(rng, m):
    low, width = rng.choice([0.0, -3.5, 1e4, 1e9, -1e-7]), 10.0 ** rng.integers(-8, 6)
    return np.linspace(low, low + width, m + 2)[1:-1]


def uneven(rng, m):
    return np.sort(rng.choice([rng.normal(size=m), rng.normal(size=m) ** 5, rng.integers(0, 4, m)]))


def case(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 400)), int(rng.integers(1, 7))
    parts, columns = [], []
    for _ in range(p):
        limits = (even if rng.random() < 0.5 else uneven)(rng, int(rng.integers(0, 30)))
        near = limits if len(limits) else np.zeros(1)
        span = np.ptp(near) or 1.0
        values = rng.uniform(near.min() - span, near.max() + span, n)
        # On the limits and right beside them: where counting off could go wrong.
        on = rng.random(n) < 0.4
        values[on] = rng.choice(near, on.sum())
        beside = rng.random(n) < 0.2
        values[beside] = np.nextafter(values[beside], rng.choice([-np.inf, np.inf]))
        values[rng.random(n) < rng.choice([0.0, 0.1])] = np.nan
        parts.append(limits)
        columns.append(values)
    each = rng.choice([rng.integers(0, 2, n), rng.integers(0, 4, n), np.ones(n, np.int64)])
    row_starts = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
    n_clusters = int(rng.integers(1, 6))
    clusters = rng.integers(0, n_clusters, row_starts[-1]).astype(np.int32)
    weights = rng.integers(0, 2**30, row_starts[-1]) if rng.random() < 0.5 else NONE
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    X = np.ascontiguousarray(np.column_stack(columns).astype(dtype))
    limits = np.concatenate(parts).astype(float)
    return X, limits, starts, row_starts, clusters, weights, n_clusters, bool(rng.random() < 0.5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(60))
def test_twins_agree(seed, dtype):
    given_ = case(seed, dtype)
    fast, slow = count_in_bins(*given_), count_in_bins.reference(*given_)
    np.testing.assert_array_equal(fast, slow)
    assert fast.dtype == slow.dtype == np.int64


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6))
def test_brute_force(seed):
    X, limits, starts, rows, clusters, weights, n_clusters, missing_bin = case(seed)
    X = X[:20]
    sizes = np.diff(starts) + 1 + missing_bin
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    expected = np.zeros((n_clusters, offsets[-1]), np.int64)
    for r in range(len(X)):
        for e in range(rows[r], rows[r + 1]):
            for j in range(X.shape[1]):
                own = limits[starts[j] : starts[j + 1]]
                if np.isnan(X[r, j]):
                    place = len(own) + 1 if missing_bin else None
                else:
                    place = sum(limit <= X[r, j] for limit in own)
                if place is not None:
                    weight = weights[e] if len(weights) else 1
                    expected[clusters[e], offsets[j] + place] += weight
    kept = rows[: len(X) + 1]
    short = clusters[: kept[-1]], weights[: kept[-1]]
    found = count_in_bins(X, limits, starts, kept, *short, n_clusters, missing_bin)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e307])
def test_extreme_scales(scale):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2)) * scale
    limits = np.concatenate([np.linspace(-0.8, 0.8, 9), np.array([-0.9, 0.0, 0.1])]) * scale
    given_ = (X, limits, np.array([0, 9, 12]), np.arange(201), np.zeros(200, np.int32), NONE, 1)
    found = count_in_bins(*given_, False)
    np.testing.assert_array_equal(found, count_in_bins.reference(*given_, False))
    assert (found[0, :10] > 0).all()


def test_infinite_values_end_in_the_outer_bins():
    X = np.array([[np.inf, np.inf], [-np.inf, -np.inf]])
    given_ = (X, np.array([1.0, 2.0, 3.0, 0.0, 5.0]), np.array([0, 3, 5]), np.arange(3))
    rest = (np.zeros(2, np.int32), NONE, 1, False)
    found = count_in_bins(*given_, *rest)
    np.testing.assert_array_equal(found, [[1, 0, 0, 1, 1, 0, 1]])
    np.testing.assert_array_equal(found, count_in_bins.reference(*given_, *rest))


@pytest.mark.parametrize("shape", [(0, 3), (3, 1)])
def test_nothing_to_count(shape):
    X, rows = np.zeros(shape), np.zeros(shape[0] + 1, np.int64)
    starts = np.zeros(shape[1] + 1, np.int64)
    for n_clusters in (0, 2):
        given_ = (X, np.empty(0), starts, rows, np.empty(0, np.int32), NONE, n_clusters, False)
        found = count_in_bins(*given_)
        assert found.shape == (n_clusters, shape[1])
        assert not found.any()
        np.testing.assert_array_equal(found, count_in_bins.reference(*given_))


def test_soft_weights_add_up_exactly_in_any_order():
    rng = np.random.default_rng(1)
    n = 3000
    X, weights = rng.random((n, 2)), rng.integers(1, 2**30, n)
    limits, starts = np.tile(np.linspace(0.1, 0.9, 9), 2), np.array([0, 9, 18])
    zeros = np.zeros(n, np.int32)
    found = count_in_bins(X, limits, starts, np.arange(n + 1), zeros, weights, 1, False)
    order = rng.permutation(n)
    turned = count_in_bins(
        X[order], limits, starts, np.arange(n + 1), zeros, weights[order], 1, False
    )
    np.testing.assert_array_equal(found, turned)
    assert found[0, :10].sum() == weights.sum()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(10))
def test_ranges_agree(seed, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(1, 60)), 4)).astype(dtype)
    X[rng.random(X.shape) < 0.3 * (seed % 2)] = np.nan
    if seed % 3 == 0:
        X[0, 2] = np.inf
    if seed % 5 == 0:
        X[:, 1] = np.nan
    X.flags.writeable = False
    fast, slow = column_ranges(X), column_ranges.reference(X)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)
    assert ranges_of(X).finite == bool(np.isfinite(X).all())
