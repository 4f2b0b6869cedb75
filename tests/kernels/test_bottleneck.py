"""The sequential bottleneck: twins agree, sums stay right, the information never falls."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from subscape.finders.alternatives.cib.bottleneck import bottleneck_sweep
from subscape.finders.alternatives.cib.cib import kept_information, sums_of


def problem(seed, n=25, p=6, k=3, n_groups=2):
    rng = np.random.default_rng(seed)
    P = rng.random((n, p)) * (rng.random((n, p)) < 0.6)
    P[np.arange(n), rng.integers(0, p, n)] += 0.1
    rows = sparse.csr_array(P / (P.sum(axis=1, keepdims=True) * n))
    labels = rng.permutation(np.arange(n) % k)
    return rows, rng.integers(0, n_groups, n), labels, rng.permutation(n)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 5.0]), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_a_sweep(seed, coordination, k):
    rows, groups, start, order = problem(seed, k=k)
    groups[0] = 1  # both groups are there
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    ends = []
    for version in (bottleneck_sweep, bottleneck_sweep.reference):
        labels, sums = start.copy(), sums_of(rows, groups, start, k)
        before = kept_information(sums, coordination)
        for _ in range(3):
            previous = labels.copy()
            moved = version(indptr, indices, rows.data, groups, order, coordination, labels, *sums)
            assert moved == (labels != previous).sum()
            after = kept_information(sums, coordination)
            assert after >= before - 1e-12
            before = after
        for ours, anew in zip(sums, sums_of(rows, groups, labels, k), strict=True):
            np.testing.assert_allclose(ours, anew, atol=1e-12)
        assert len(np.unique(labels)) == k
        ends.append(labels)
    np.testing.assert_array_equal(*ends)


def test_each_move_gains_what_the_objective_gains():
    rows, groups, labels, _ = problem(3)
    sums = sums_of(rows, groups, labels, 3)
    for row in range(25):
        best = max(
            kept_information(sums_of(rows, groups, np.where(np.arange(25) == row, c, labels), 3), 1)
            for c in range(3)
        )
        bottleneck_sweep(
            rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data, groups,
            np.array([row]), 1.0, labels, *sums,
        )  # fmt: skip
        assert abs(kept_information(sums, 1) - best) < 1e-9
