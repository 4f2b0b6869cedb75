"""Passes over a table on a device, held to the kernels for arrays in memory."""

from __future__ import annotations

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import seeds

from subscape.arrays.bin_counts import count_in_bins
from subscape.arrays.blocks import as_blocks
from subscape.arrays.contingency import count_pairs
from subscape.arrays.device import blocks as device_blocks
from subscape.arrays.device import sums as device_sums
from subscape.arrays.device.array_api import to_numpy
from subscape.arrays.device.counts import (
    count_in_bins_on_device,
    count_pairs_on_device,
    cross_table_on_device,
)
from subscape.arrays.device.moments import group_means_on_device, moments_on_device
from subscape.arrays.device.sums import one_hot
from subscape.arrays.device.weighted_kmeans import nearest_weighted_on_device
from subscape.arrays.weighted_kmeans import nearest_weighted
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.finders.oriented.flats import Flat, squared_residuals
from subscape.finders.oriented.kflats.rows import closest_flats_on_device, flat_sums_on_device

ELSEWHERE = xp.Device("device1")
TOLERANCE = {np.float64: 1e-10, np.float32: 2e-4}
dtypes = st.sampled_from([np.float64, np.float32])


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Blocks and runs that don't divide the rows."""
    kept = device_blocks.MOST_VALUES, device_sums.RUN
    device_blocks.MOST_VALUES, device_blocks.RUN, device_sums.RUN = 1500, 16, 16
    yield
    device_blocks.MOST_VALUES, device_sums.RUN = kept
    device_blocks.RUN = kept[1]


def there(X):
    return as_blocks(xp.asarray(X, device=ELSEWHERE))


@given(seeds, dtypes)
@settings(deadline=None, max_examples=20)
def test_weighted_pass(seed, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6)).astype(dtype)
    centres, weights = rng.normal(size=(4, 6)), rng.dirichlet(np.ones(6), 4)
    offsets = rng.random(4)
    expected = nearest_weighted(X.astype(np.float64), centres, weights, offsets)
    found = nearest_weighted_on_device(there(X), centres, weights, offsets)
    assert found.labels.device == found.costs.device == ELSEWHERE
    np.testing.assert_array_equal(to_numpy(found.labels), expected.labels)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for name in ("costs", "sums", "squares"):
        np.testing.assert_allclose(
            to_numpy(getattr(found, name)), getattr(expected, name), atol=TOLERANCE[dtype]
        )
    squares = there(X).column_squares()
    np.testing.assert_allclose(squares, np.square(X.astype(np.float64)).sum(axis=0), rtol=1e-6)


@given(seeds, dtypes, st.lists(st.integers(0, 3), min_size=1, max_size=4))
@settings(deadline=None, max_examples=20)
def test_flats(seed, dtype, dims):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 5)).astype(dtype)
    flats = [
        Flat(rng.normal(size=5), np.linalg.qr(rng.normal(size=(5, 5)))[0][:, :dim]) for dim in dims
    ]
    residuals = squared_residuals(X.astype(np.float64), flats)
    centres = np.array([flat.centre for flat in flats])
    labels, near = closest_flats_on_device(there(X), centres, [flat.basis for flat in flats])
    assert labels.device == near.device == ELSEWHERE
    np.testing.assert_allclose(to_numpy(near), residuals.min(axis=1), atol=TOLERANCE[dtype])
    if dtype == np.float64:
        np.testing.assert_array_equal(to_numpy(labels), residuals.argmin(axis=1))


def test_sums_of_flats_leave_out_noise_and_empty_flats():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(200, 3)) + 5, rng.integers(-1, 3, 200)
    labels[labels == 1] = -1
    sums = flat_sums_on_device(there(X), xp.asarray(labels, device=ELSEWHERE), 3)
    np.testing.assert_array_equal(sums.counts, [(labels == k).sum() for k in range(3)])
    for k in (0, 2):
        away = X[labels == k] - sums.around[k]
        np.testing.assert_allclose(sums.first[k], away.sum(axis=0), atol=1e-10)
        np.testing.assert_allclose(sums.scatter[k], away.T @ away, atol=1e-10)
    assert not sums.scatter[1].any()


@given(seeds, dtypes, st.booleans(), st.booleans())
@settings(deadline=None, max_examples=20)
def test_moments(seed, dtype, soft, products):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(200, 4)) + 100).astype(dtype)
    rows = np.flatnonzero(rng.random(200) < 0.6).astype(np.int32)
    weights = rng.random(len(rows)) if soft else None
    found = moments_on_device(there(X), rows, weights, products)
    away = X[rows].astype(np.float64) - found.shift
    counted = np.ones(len(rows)) if weights is None else weights
    np.testing.assert_allclose(found.first, counted @ away, atol=TOLERANCE[dtype])
    second = (away.T * counted) @ away
    expected = second if products else np.diag(second)
    np.testing.assert_allclose(found.second, expected, atol=TOLERANCE[dtype] * 10)
    assert np.abs(found.shift - 100).max() < 3


def test_means_of_groups_far_from_the_origin():
    """In float32, sums of such values themselves would be off by more than the spread."""
    rng = np.random.default_rng(2)
    X, labels = (rng.normal(size=(5000, 2)) + 1e4).astype(np.float32), rng.integers(-1, 2, 5000)
    found = group_means_on_device(there(X), xp.asarray(labels, device=ELSEWHERE), 2)
    expected = [X[labels == k].mean(axis=0, dtype=np.float64) for k in range(2)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3)


@given(seeds, dtypes, st.booleans(), st.booleans())
@settings(deadline=None, max_examples=20)
def test_counts_in_bins_are_exact(seed, dtype, soft, missing_bin):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    inner = [np.sort(rng.normal(size=size)) for size in (0, 3, 5)]
    inner[1][1] = X[np.flatnonzero(~np.isnan(X[:, 1]))[0], 1]  # a limit that is a value
    limits = np.concatenate([np.sort(part) for part in inner])
    starts = np.array([0, 0, 3, 8])
    clusters, units = rng.integers(0, 4, 200), rng.integers(0, 2**30, 200)
    weights = units if soft else np.empty(0, np.int64)
    expected = count_in_bins(
        X, limits, starts, np.arange(201), clusters.astype(np.int32), weights, 4, missing_bin
    )
    members = np.equal.outer(clusters, np.arange(4))
    shares = xp.asarray(members * units[:, None].astype(float) if soft else members)
    blocks = as_blocks(xp.asarray(X))
    found = count_in_bins_on_device(
        blocks, limits, starts, lambda rows: shares[rows, :], 4, missing_bin
    )
    np.testing.assert_array_equal(found, expected)


@given(seeds, st.integers(1, 9), st.integers(1, 9), st.integers(0, 120))
@settings(deadline=None, max_examples=30)
def test_pairs_of_labels(seed, n_a, n_b, n):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-1, n_a, n), rng.integers(-1, n_b, n)
    found = count_pairs_on_device(
        xp.asarray(a, device=ELSEWHERE), xp.asarray(b, device=ELSEWHERE), n_a, n_b
    )
    assert found.device == ELSEWHERE
    np.testing.assert_array_equal(to_numpy(found), count_pairs(a, b, n_a, n_b))


def test_pairs_that_can_not_be_counted():
    a = xp.asarray([0, 1, 2])
    with pytest.raises(ShapeMismatchError, match="3 and 2 rows"):
        count_pairs_on_device(a, a[:2], 3, 3)
    with pytest.raises(SubscapeError, match="go up to 2 and 2, but there are 3 and 2"):
        count_pairs_on_device(a, a, 3, 2)
    with pytest.raises(SubscapeError, match="different devices"):
        count_pairs_on_device(a, xp.asarray([0, 1, 2], device=ELSEWHERE), 3, 3)


def test_tables_that_are_left_to_numpy():
    a = xp.asarray([0, 10**6])
    assert cross_table_on_device(a, a, 10**6) is None
    assert cross_table_on_device(a, xp.asarray([0.0, 1.0]), 10**9) is None
    assert cross_table_on_device(a[:0], a[:0], 10**9) is None
    assert cross_table_on_device(xp.asarray([-1, -2]), xp.asarray([3, 4]), 10).first_b == 3


def test_a_label_for_each_row():
    found = to_numpy(one_hot(xp.asarray([2, -1, 0]), 3))
    np.testing.assert_array_equal(found, [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
