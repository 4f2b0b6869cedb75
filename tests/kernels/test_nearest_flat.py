"""The nearest flat: the compiled twin, NumPy and the definition agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.finders.oriented.kflats.nearest_flat import FlatRuler, nearest_by_products

CASES = st.tuples(
    st.integers(1, 40), st.integers(1, 9), st.integers(1, 5), st.integers(0, 2**32 - 1)
)


def random_flats(p, k, rng):
    bases = [
        np.linalg.qr(rng.normal(size=(p, p)))[0][:, : rng.integers(0, p + 1)] for _ in range(k)
    ]
    return rng.normal(size=(k, p)), bases


@given(CASES)
@settings(deadline=None, max_examples=50)
def test_twins_agree(case):
    n, p, k, seed = case
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X.flags.writeable = False
    starts = np.cumsum([k, *rng.integers(0, 4, k)])
    products, along = rng.normal(size=(n, starts[-1] + 2)), rng.normal(size=starts[-1])
    args = X, products, rng.random(k), along, starts
    fast, plain = nearest_by_products(*args), nearest_by_products.reference(*args)
    np.testing.assert_array_equal(fast.labels, plain.labels)
    np.testing.assert_allclose(fast.distances, plain.distances, rtol=1e-12, atol=1e-12)
    assert fast.labels.dtype == plain.labels.dtype == np.int32


@given(CASES)
@settings(deadline=None, max_examples=30)
def test_distances_by_definition(case):
    n, p, k, seed = case
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    centres, bases = random_flats(p, k, rng)
    expected = np.empty((n, k))
    for i, (centre, basis) in enumerate(zip(centres, bases, strict=True)):
        away = X - centre
        expected[:, i] = np.square(away - away @ basis @ basis.T).sum(axis=1)
    ruler = FlatRuler(centres, bases)
    for rows in (slice(0, n), slice(0, n // 2 + 1)):  # several blocks, the last one shorter
        found = ruler.nearest(np.ascontiguousarray(X[rows]))
        np.testing.assert_allclose(found.distances, expected[rows].min(axis=1), atol=1e-11)
        own = expected[rows][np.arange(len(found.labels)), found.labels]
        np.testing.assert_allclose(own, found.distances, atol=1e-11)


@pytest.mark.parametrize("version", [nearest_by_products, nearest_by_products.reference])
def test_ties_go_to_the_first_flat(version):
    X = np.array([[0.0, 1.0]])
    found = version(X, np.zeros((1, 2)), np.ones(2), np.zeros(2), np.array([2, 2, 2]))
    assert found.labels.tolist() == [0] and found.distances.tolist() == [2.0]
