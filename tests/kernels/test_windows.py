"""Runs of sorted rows: equal to a comparison with every row, compiled or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.bitsets import pack
from subscape.finders.axis.boxes.neighbourhoods import run_sets, sort_features

CASES = st.tuples(
    st.integers(1, 200), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32 - 1)
)


@given(CASES, st.sampled_from([0.05, 0.1, 0.3, 2.0]))
@settings(deadline=None, max_examples=50)
def test_runs_are_the_rows_within_the_radius(case, radius):
    n, p, digits, seed = case
    # Few digits make ties, and differences that round to either side of the radius.
    X = np.round(np.random.default_rng(seed).random((n, p)), digits)
    ordered = sort_features(X, radius)
    for row in range(0, n, 7):
        args = (ordered.order, ordered.prefixes, ordered.first[row], ordered.last[row])
        near = np.abs(X - X[row]) <= radius
        np.testing.assert_array_equal(run_sets.reference(*args), pack(near.T))
        np.testing.assert_array_equal(run_sets(*args), pack(near.T))


def test_read_only_input():
    X = np.random.default_rng(0).random((150, 3))
    ordered = sort_features(X, 0.1)
    for array in ordered:
        array.flags.writeable = False
    sets = run_sets(ordered.order, ordered.prefixes, ordered.first[5], ordered.last[5])
    np.testing.assert_array_equal(sets, pack((np.abs(X - X[5]) <= 0.1).T))
