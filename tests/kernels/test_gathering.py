"""Rows by groups and their scatter: the compiled twin, NumPy and plain loops agree."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.finders.oriented.kflats.gathering import Scatter, add_scatter, gather

CASES = st.tuples(
    st.integers(1, 40), st.integers(1, 7), st.integers(1, 5), st.integers(0, 2**32 - 1)
)


def random_case(n, p, k, seed):
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(n, p)), rng.normal(size=(k, p))
    labels = rng.integers(-1, k, n).astype(np.int32)
    X.flags.writeable = labels.flags.writeable = False
    return X, labels, centres


@given(CASES)
@settings(deadline=None, max_examples=50)
def test_twins_agree(case):
    X, labels, centres = random_case(*case)
    fast = gather(X, labels, centres, np.empty(X.shape))
    plain = gather.reference(X, labels, centres, np.empty(X.shape))
    np.testing.assert_array_equal(fast.rows, plain.rows)
    np.testing.assert_array_equal(fast.counts, plain.counts)
    np.testing.assert_allclose(fast.sums, plain.sums, rtol=1e-12, atol=1e-12)


@given(CASES)
@settings(deadline=None, max_examples=30)
def test_rows_of_each_group_in_their_order(case):
    X, labels, centres = random_case(*case)
    found = gather(X, labels, centres, np.empty((len(X) + 3, X.shape[1])))
    expected = [X[labels == k] - centre for k, centre in enumerate(centres)]
    np.testing.assert_array_equal(found.rows, np.concatenate(expected))
    np.testing.assert_array_equal(found.counts, [len(part) for part in expected])


@given(CASES, CASES)
@settings(deadline=None, max_examples=30)
def test_scatter_adds_up_and_is_taken_away(case, other):
    X, labels, centres = random_case(*case)
    n, _, _, seed = other
    Y, more, _ = random_case(n, *centres.shape[::-1], seed)
    total, room = Scatter.nothing(*centres.shape), np.empty((40, X.shape[1]))
    add_scatter(total, X, labels, centres, room)
    for k, centre in enumerate(centres):
        away = X[labels == k] - centre
        assert total.counts[k] == len(away)
        np.testing.assert_allclose(total.sums[k], away.sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(total.products[k], away.T @ away, atol=1e-12)
    before = total.fresh()
    add_scatter(total, Y, more, centres, room)
    assert total.counts.sum() == (labels >= 0).sum() + (more >= 0).sum()
    add_scatter(total, Y, more, centres, room, -1)
    for name in ("counts", "sums", "products"):
        np.testing.assert_allclose(getattr(total, name), getattr(before, name), atol=1e-11)
