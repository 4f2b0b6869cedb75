"""The weighted k-means pass: the compiled twin agrees with NumPy and with plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.weighted_kmeans import nearest_weighted, weighted_costs

CASES = st.tuples(
    st.integers(1, 40), st.integers(1, 11), st.integers(1, 6), st.integers(0, 2**32 - 1)
)


def random_case(n: int, p: int, k: int, seed: int):
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(n, p)), rng.normal(size=(k, p))
    weights = rng.dirichlet(np.ones(p), size=k)
    X.flags.writeable = False
    return X, centres, weights, rng.normal(size=k)


@given(CASES)
@settings(deadline=None, max_examples=50)
def test_twins_agree(case):
    args = random_case(*case)
    fast, plain = nearest_weighted(*args), nearest_weighted.reference(*args)
    np.testing.assert_array_equal(fast.labels, plain.labels)
    np.testing.assert_array_equal(fast.counts, plain.counts)
    for name in ("costs", "sums", "squares"):
        np.testing.assert_allclose(
            getattr(fast, name), getattr(plain, name), rtol=1e-12, atol=1e-12, err_msg=name
        )
    np.testing.assert_allclose(
        weighted_costs(*args[:3]), weighted_costs.reference(*args[:3]), rtol=1e-12, atol=1e-12
    )


@given(CASES)
@settings(deadline=None, max_examples=25)
def test_pass_by_hand(case):
    X, centres, weights, offsets = random_case(*case)
    pairs = list(zip(centres, weights, strict=True))
    costs = np.array([[sum(w * (x - c) ** 2) for c, w in pairs] for x in X])
    found = nearest_weighted(X, centres, weights, offsets)
    np.testing.assert_array_equal(found.labels, (costs + offsets).argmin(axis=1))
    np.testing.assert_allclose(found.costs, costs[np.arange(len(X)), found.labels], rtol=1e-12)
    assert found.counts.sum() == len(X)
    for i, centre in enumerate(centres):
        away = X[found.labels == i] - centre
        np.testing.assert_allclose(found.sums[i], away.sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.squares[i], (away**2).sum(axis=0), atol=1e-12)


def test_ties_go_to_the_first_centre():
    X, centres = np.zeros((2, 2)), np.array([[1.0, 3.0], [3.0, 1.0]])
    weights = np.array([[1.0, 0.0], [0.0, 1.0]])
    for version in (nearest_weighted, nearest_weighted.reference):
        assert version(X, centres, weights, np.zeros(2)).labels.tolist() == [0, 0]
        assert version(X, centres, weights, np.array([0.5, 0.0])).labels.tolist() == [1, 1]
