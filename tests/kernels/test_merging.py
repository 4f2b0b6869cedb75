"""Agglomeration with loosening thresholds against a literal, slow one."""

from __future__ import annotations

from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.finders.axis.harp import agglomeration as merging
from subscape.finders.axis.harp.agglomeration import agglomerate, meet, schedule


def relevance(a, b):
    """Relevance of every feature to two groups of rows, each seen from the other's centre."""
    gap = (a.mean(axis=0) - b.mean(axis=0)) ** 2
    spread = [g.var(axis=0, ddof=1) if len(g) > 1 else np.zeros(g.shape[1]) for g in (a, b)]
    return ((1 - spread[0] - gap) + (1 - spread[1] - gap)) / 2


def slow(Z, n_steps):
    """Step by step: lower the demands, then merge the best allowed pair until none is left."""
    n, p = Z.shape
    last = max(p if n_steps is None else n_steps, 2) - 1
    groups = {i: [i] for i in range(n)}
    done = []
    for step in [*range(last + 1), "force"]:
        while len(groups) > 1:
            best = None
            for i, j in combinations(sorted(groups), 2):
                r = relevance(Z[groups[i]], Z[groups[j]])
                allowed = last if step == "force" else step
                chosen = r >= 1 - allowed / last - 1e-12
                if chosen.sum() >= p - (allowed * (p - 1)) // last:
                    key = (r[chosen].sum(), chosen.sum(), -i, -j, allowed)
                elif step == "force":
                    key = (r.sum() - 1e6, 0, -i, -j, last + 1)
                else:
                    continue
                best = max(best, key) if best else key
            if best is None:
                break
            score, n_dims, i, j, at = best[0], best[1], -best[2], -best[3], best[4]
            groups[i] += groups.pop(j)
            done.append((i, j, at, score + 1e6 * (at > last), n_dims))
    return done


@given(
    st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 5), st.sampled_from([None, 2, 3, 7])
)
@settings(deadline=None, max_examples=50)
def test_merges_are_those_of_the_literal_loop(seed, n, p, n_steps):
    Z = np.random.default_rng(seed).normal(size=(n, p))
    expected = slow(Z, n_steps)
    for version in (meet, meet.reference):
        with mock.patch.object(merging, "meet", version):
            merges = agglomerate(Z, n_steps)
        for name, column in zip(merges._fields, zip(*expected, strict=True), strict=True):
            np.testing.assert_allclose(getattr(merges, name), column, atol=1e-7, err_msg=name)


def test_twin_agrees_to_the_last_bit():
    rng = np.random.default_rng(0)
    for n, p in [(1, 1), (40, 1), (60, 5), (30, 70)]:
        plan = schedule(p, 4)
        means, variances = rng.normal(size=(n, p)), rng.gamma(1.0, 0.3, (n, p))
        means[n // 2 :] = np.round(means[n // 2 :])
        for current in (0, 2):
            found = []
            for kernel in (meet, meet.reference):
                cache = np.full(n, -1), np.full(n, 5), np.full(n, -np.inf), np.zeros(n, np.int64)
                for slot in range(0, n, 3):
                    kernel(
                        means,
                        variances,
                        slot,
                        np.arange(n),
                        4,
                        plan.first_step,
                        plan.n_dims,
                        current,
                        *cache,
                    )
                found.append(cache)
            for fast, reference in zip(*found, strict=True):
                np.testing.assert_array_equal(fast, reference)


@pytest.mark.parametrize("values", ["distinct", "tied"])
def test_whole_dendrogram_is_the_same_with_numpy(monkeypatch, values):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(80, 6)) if values == "distinct" else rng.integers(0, 3, (80, 6)) / 2
    fast = agglomerate(np.asfortranarray(Z, dtype=float), 5)
    monkeypatch.setattr(merging, "meet", meet.reference)
    for a, b in zip(fast, agglomerate(Z.astype(float), 5), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("p", [1, 2, 5, 40])
@pytest.mark.parametrize("n_steps", [None, 2, 5, 100])
def test_demands_only_loosen(p, n_steps):
    plan = schedule(p, n_steps)
    assert plan.relevance[0] == 1 and plan.relevance[-1] == 0
    assert plan.n_dims[0] == p and plan.n_dims[-1] == 1
    assert (np.diff(plan.relevance) < 0).all() and (np.diff(plan.n_dims) <= 0).all()
    for m, first in enumerate(plan.first_step, start=1):
        assert first == np.flatnonzero(plan.n_dims <= m)[0]


def test_steps_never_fall_and_every_row_is_merged():
    Z = np.random.default_rng(2).normal(size=(50, 4))
    merges = agglomerate(Z)
    assert sorted([*merges.right, 0]) == list(range(50))
    assert (merges.left < merges.right).all()
    # A union may be allowed earlier than what came before it, but is made at the step reached.
    allowed = merges.step[merges.step < 4]
    assert (np.diff(allowed) >= 0).all()


def test_equal_rows_go_first_with_all_features():
    Z = np.random.default_rng(3).normal(size=(20, 3))
    Z[[4, 11, 17]] = Z[4]
    merges = agglomerate(Z)
    np.testing.assert_array_equal(merges.left[:2], [4, 4])
    np.testing.assert_array_equal(merges.right[:2], [11, 17])
    np.testing.assert_array_equal(merges.n_dims[:2], [3, 3])
    np.testing.assert_allclose(merges.score[:2], 3)


def test_stops_when_told_to():
    Z = np.random.default_rng(4).normal(size=(30, 3))
    whole = agglomerate(Z)
    part = agglomerate(Z, keep_going=lambda n_merges: n_merges < 10)
    assert len(part.left) == 10
    for a, b in zip(part, whole, strict=True):
        np.testing.assert_array_equal(a, b[:10])
    assert len(agglomerate(Z, keep_going=lambda n_merges: False).left) == 0
