"""The walk by subspace distances: twins agree, and both with a walk written down plainly."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.bitsets import pack
from subscape.finders.axis.dish.walk import begin_walk, walk_on

CASES = st.tuples(
    st.integers(1, 30), st.integers(1, 70), st.floats(0, 1), st.integers(0, 2**32 - 1)
)


def random_case(n, p, share, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    masks = rng.random((n, p)) < share
    # Copies of some preferences: rows that prefer the same features are what it is about.
    masks[rng.integers(n, size=n // 2)] = masks[0]
    return X, masks, int(rng.integers(1, n + 1)), float(rng.random())


def distinct_sets(masks):
    distinct, which = np.unique(pack(masks), axis=0, return_inverse=True)
    return distinct, which.reshape(-1)


def plain_walk(X, masks, reach, min_samples):
    n, p = X.shape

    def pair(a, b):
        common = masks[a] & masks[b]
        d1 = p - common.sum()
        nested = (common == masks[a]).all() or (common == masks[b]).all()
        if nested and np.linalg.norm((X[a] - X[b])[common]) > reach:
            d1 += 1
        return int(d1), float(np.linalg.norm((X[a] - X[b])[~common]))

    best = {0: ((p + 2, np.inf), -1)}
    order, steps, origins = [], {}, {}
    left = set(range(n))
    for _ in range(n):
        here = min(left, key=lambda q: (best.get(q, ((p + 2, np.inf), -1))[0], q))
        steps[here], origins[here] = best.get(here, ((p + 2, np.inf), -1))
        left.remove(here)
        order.append(here)
        core = sorted(pair(here, q) for q in range(n))[min_samples - 1]
        for q in left:
            length = max(core, pair(here, q))
            if q not in best or length < best[q][0]:
                best[q] = (length, here)
    return order, [origins[q] for q in range(n)], [steps[q] for q in range(n)]


@given(CASES)
@settings(deadline=None, max_examples=40)
def test_twins_agree_with_a_plain_walk(case):
    X, masks, min_samples, reach = random_case(*case)
    n, p = X.shape
    order, origins, steps = plain_walk(X, masks, reach, min_samples)
    for kernel in (walk_on, walk_on.reference):
        walk = begin_walk(n, p)
        kernel(X, *distinct_sets(masks), reach, min_samples, walk, 0, n)
        assert walk.order.tolist() == order
        assert walk.predecessor.tolist() == origins
        assert walk.dims.tolist() == [d1 for d1, _ in steps]
        np.testing.assert_allclose(walk.distance, [d2 for _, d2 in steps], rtol=1e-12)


@given(CASES, st.integers(0, 30))
@settings(deadline=None, max_examples=25)
def test_a_walk_can_be_interrupted(case, pause):
    X, masks, min_samples, reach = random_case(*case)
    n, p = X.shape
    pause = min(pause, n)
    X.flags.writeable = False
    for kernel in (walk_on, walk_on.reference):
        whole, parts = begin_walk(n, p), begin_walk(n, p)
        kernel(X, *distinct_sets(masks), reach, min_samples, whole, 0, n)
        kernel(X, *distinct_sets(masks), reach, min_samples, parts, 0, pause)
        assert (parts.order[pause:] == -1).all()
        kernel(X, *distinct_sets(masks), reach, min_samples, parts, pause, n)
        for a, b in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_that_prefer_the_same_features_come_together():
    rng = np.random.default_rng(1)
    masks = np.zeros((40, 6), bool)
    masks[:20, :3] = masks[20:, 3:] = True
    X = rng.random((40, 6))
    X[masks] = 0.5
    mixed = rng.permutation(40)
    walk = begin_walk(40, 6)
    walk_on(X[mixed], *distinct_sets(masks[mixed]), 0.1, 3, walk, 0, 40)
    groups = (mixed[walk.order] < 20).astype(int)
    assert np.abs(np.diff(groups)).sum() == 1
    assert sorted(walk.dims.tolist()) == [3] * 38 + [6, 8]
