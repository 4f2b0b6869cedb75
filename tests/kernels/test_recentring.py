"""Rows moved to another origin: the compiled twin does the same operations, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.blocks import recentre


@given(
    st.integers(0, 30),
    st.integers(1, 9),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=50)
def test_twins_agree(n, p, given_type, made_type, seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) * 10.0 ** rng.integers(-5, 6)).astype(given_type)
    X.flags.writeable = False
    low, means, factor = rng.normal(size=(3, p))
    fast, plain = np.empty((n, p), made_type), np.empty((n, p), made_type)
    recentre(X, low, means, factor, fast)
    recentre.reference(X, low, means, factor, plain)
    np.testing.assert_array_equal(fast, plain)
    by_hand = np.array(
        [(float(X[i, j]) - low[j] - means[j]) * factor[j] for i in range(n) for j in range(p)]
    )
    np.testing.assert_array_equal(fast, by_hand.reshape(n, p).astype(made_type))


@pytest.mark.parametrize("version", [recentre, recentre.reference])
def test_missing_values_stay_missing(version):
    out = np.empty((2, 1))
    version(np.array([[np.nan], [3.0]]), np.ones(1), np.ones(1), np.full(1, 2.0), out)
    np.testing.assert_array_equal(out, [[np.nan], [2.0]])


def test_an_offset_leaves_no_trace():
    X = np.arange(8.0).reshape(4, 2)
    results = []
    for offset in (0.0, 2.0**40):
        out = np.empty(X.shape)
        moved = X + offset
        recentre(moved, moved.min(axis=0), np.full(2, 1 / 3), np.ones(2), out)
        results.append(out)
    np.testing.assert_array_equal(*results)
