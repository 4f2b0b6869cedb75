"""Elastic nets: the compiled twin agrees with NumPy, and nothing near is better."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.finders.selfexpression.elastic_net import elastic_net

CASES = st.tuples(
    st.integers(1, 6), st.integers(1, 9), st.integers(1, 8), st.integers(0, 2**32 - 1)
)


def random_case(b, p, s, seed):
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(s + 3, p))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    Y = rng.normal(size=(b, p))
    columns = np.array([rng.choice(s + 3, s, replace=False) for _ in range(b)])
    return U, Y, columns, rng.normal(size=(b, s)), rng.random(b), rng.random(b)


@given(CASES)
@settings(deadline=None, max_examples=40)
def test_twins_agree(case):
    args = (*random_case(*case), 6, 0.0)
    fast, plain = elastic_net(*args), elastic_net.reference(*args)
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@given(CASES)
@settings(deadline=None, max_examples=40)
def test_nothing_near_is_better(case):
    U, Y, columns, start, l1, l2 = random_case(*case)
    found, left = elastic_net(U, Y, columns, start, l1, l2, 5000, 1e-14)
    rng = np.random.default_rng(case[-1])
    for i, c in enumerate(found):
        atoms = U[columns[i]]

        def cost(c, i=i, atoms=atoms):
            off = Y[i] - c @ atoms
            return off @ off / 2 + l1[i] * np.abs(c).sum() + l2[i] * c @ c / 2

        np.testing.assert_allclose(left[i], Y[i] - c @ atoms, atol=1e-9)
        least = cost(c)
        for scale in (1e-3, 1e-1):
            for _ in range(20):
                assert cost(c + scale * rng.normal(size=len(c))) >= least - 1e-9
