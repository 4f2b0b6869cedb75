"""Bins: the twins agree, limits belong to the upper bin, and fitted bins follow the histogram."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.discretize import (
    CHANCE,
    _merged_by_chance,
    adaptive_edges,
    assign_bins,
    count_limits_below,
    equal_width_edges,
)


@pytest.mark.parametrize("seed", range(20))
def test_twins_agree(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(int(rng.integers(1, 1300)), 3)), 1)  # values on the limits
    parts = [np.unique(np.round(rng.normal(size=int(rng.integers(0, 9))), 1)) for _ in range(3)]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    case = (X, np.concatenate(parts), starts)
    fast, slow = count_limits_below(*case), count_limits_below.reference(*case)
    np.testing.assert_array_equal(fast, slow)
    assert fast.dtype == slow.dtype == np.uint16


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40).filter(lambda v: min(v) < max(v)),
    st.integers(2, 30),
)
def test_every_value_is_between_the_limits_of_its_bin(values, n_bins):
    X = np.array(values)[:, None]
    edges = equal_width_edges(X.min(axis=0), X.max(axis=0), n_bins)
    bins = assign_bins(X, edges)[0]
    assert (edges[0][bins] <= X[:, 0]).all()
    below = X[:, 0] < edges[0][bins + 1]
    assert (below | (bins == n_bins - 1)).all()
    assert bins[X[:, 0].argmax()] == n_bins - 1


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(5, 60), st.floats(0.05, 0.95))
def test_fitted_bins_tile_the_column(seed, n_fine, tolerance):
    values = np.random.default_rng(seed).normal(size=80)
    n_windows = max(2, n_fine // 3)
    found = adaptive_edges(
        values, n_fine=n_fine, n_windows=n_windows, tolerance=tolerance, n_flat=4
    )
    assert found.edges[0] == values.min()
    assert found.edges[-1] == values.max()
    assert (np.diff(found.edges) > 0).all()
    bins = assign_bins(values[:, None], [found.edges])[0]
    assert np.bincount(bins, minlength=len(found.counts)).tolist() == found.counts.tolist()


def test_flat_columns_get_equal_bins():
    found = adaptive_edges(
        np.linspace(0, 1, 1000), n_fine=100, n_windows=20, tolerance=0.3, n_flat=5
    )
    assert found.flat
    np.testing.assert_allclose(found.edges, np.linspace(0, 1, 6))


def test_a_step_in_the_histogram_is_a_limit():
    values = np.concatenate([np.linspace(0, 1, 1000), np.linspace(0.3, 0.5, 1000)])
    found = adaptive_edges(values, n_fine=100, n_windows=50, tolerance=0.4, n_flat=5)
    assert not found.flat
    np.testing.assert_allclose(found.edges, [0, 0.3, 0.5, 1], atol=0.021)


def test_empty_and_filled_windows_are_not_merged():
    values = np.concatenate([np.linspace(0, 0.1, 50), np.linspace(0.9, 1, 50)])
    found = adaptive_edges(values, n_fine=10, n_windows=10, tolerance=0.99, n_flat=5)
    assert found.counts.tolist() == [50, 0, 50]


def test_windows_are_merged_as_far_as_chance_explains_them():
    first = np.array([0, 10])

    def parted(before, height):
        return len(_merged_by_chance(first, np.array([before, height]))) == 2

    for before in (0, 1, 4, 30):
        # The variance of a difference of counts: of the bin so far, and of the window; at least 1.
        for height in range(120):
            variance = max(before, 1) + max(before, height, 1)
            assert parted(before, height) == ((height - before) ** 2 > CHANCE**2 * variance)
    # A mean of two windows varies half as much.
    starts = _merged_by_chance(np.array([0, 1, 2]), np.array([30, 30, 61]))
    assert starts.tolist() == ([0] if CHANCE**2 * (15 + 61) >= 31**2 else [0, 2])
