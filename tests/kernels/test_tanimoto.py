from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import seeds

from subscape.arrays import tanimoto as kernel
from subscape.arrays.tanimoto import cross_products, products, projective_similarities, tanimoto


def clusters(rng, hard, count=7, n=30, p=6):
    """Random memberships (float32, as stored) and weights."""
    memberships = rng.random((count, n)) < 0.4
    memberships[np.arange(count), rng.integers(0, n, count)] = True
    values = memberships if hard else memberships * rng.random((count, n))
    weights = rng.dirichlet(np.ones(p), count) * (rng.random((count, p)) < 0.7)
    weights[np.arange(count), rng.integers(0, p, count)] += 0.1
    return values.astype(np.float32), weights / weights.sum(axis=1, keepdims=True)


def by_definition(memberships, weights):
    """Eq. 8 on the (n, p) matrices themselves."""
    X = np.einsum("cn,cp->cnp", memberships.astype(np.float64), weights)
    count = len(X)
    found = np.empty((count, count))
    for i in range(count):
        for j in range(count):
            shared = (X[i] * X[j]).sum()
            found[i, j] = shared / ((X[i] ** 2).sum() + (X[j] ** 2).sum() - shared)
    return found


@given(seeds, st.booleans(), st.booleans())
@settings(deadline=None, max_examples=50)
def test_rank_one_products_give_the_tanimoto_of_whole_matrices(seed, hard, stored_sparse):
    memberships, weights = clusters(np.random.default_rng(seed), hard)
    given_rows = sparse.csr_array(memberships) if stored_sparse else memberships
    found = projective_similarities(given_rows, weights)
    np.testing.assert_allclose(found, by_definition(memberships, weights), rtol=0, atol=1e-12)


def test_fast_is_the_mean_of_both_sides():
    memberships, weights = clusters(np.random.default_rng(0), hard=False)
    ones = np.ones((len(weights), 1))
    rows = by_definition(memberships, ones)
    features = by_definition(weights, ones)
    found = projective_similarities(memberships, weights, "fast")
    np.testing.assert_allclose(found, (rows + features) / 2, atol=1e-12)
    rows_only = projective_similarities(memberships, None)
    np.testing.assert_allclose(rows_only, rows, atol=1e-12)


@pytest.mark.parametrize(("bytes_", "share"), [(0, 0.0), (10**9, 0.0), (0, 1.1)])
def test_every_way_of_multiplying_gives_the_same(monkeypatch, bytes_, share):
    rng = np.random.default_rng(1)
    dense = (rng.random((9, 2500)) * (rng.random((9, 2500)) < 0.3)).astype(np.float32)
    monkeypatch.setattr(kernel, "MOST_BYTES", bytes_)
    monkeypatch.setattr(kernel, "SPARSE_BELOW", share)
    exact = dense.astype(np.float64) @ dense.astype(np.float64).T
    np.testing.assert_allclose(products(sparse.csr_array(dense)), exact, rtol=1e-13)


def test_float64_keeps_its_digits():
    dense = np.random.default_rng(2).random((4, 50))
    np.testing.assert_allclose(products(sparse.csr_array(dense)), dense @ dense.T, rtol=1e-14)


def test_zero_vectors_have_nothing_in_common():
    found = tanimoto(np.zeros((2, 2)), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(found, 0.0)


def test_products_of_two_sides():
    rng = np.random.default_rng(3)
    a, b = rng.random((3, 8)), rng.random((5, 8))
    np.testing.assert_allclose(cross_products(sparse.csr_array(a), b), a @ b.T, rtol=1e-14)
    np.testing.assert_allclose(cross_products(a, b), a @ b.T, rtol=1e-14)
