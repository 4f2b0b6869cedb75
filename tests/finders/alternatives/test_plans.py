"""The parts of MAXIMUS: plans, placed rows, votes; against what can be enumerated."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from subscape.finders.alternatives.matching import best_matching, known_profiles
from subscape.finders.alternatives.maximus.placing import (
    SimilarityLimits,
    place_rows,
    placed_kmeans,
    squared_distances,
)
from subscape.finders.alternatives.maximus.plans import (
    SimilarityPlan,
    least_similarities,
    plan_regions,
)
from subscape.finders.alternatives.maximus.prices import similarity_prices
from subscape.finders.alternatives.maximus.voting import (
    assign_within_capacities,
    nearest_first,
    vote,
)
from subscape.finders.alternatives.regions import Regions
from subscape.finders.base import Watch


def setting(seed, n=60, p=3, k=3, n_known=1, n_bins=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    known = [rng.permutation(np.arange(n) % k) for _ in range(n_known)]
    regions = Regions.of(X, n_bins, "uniform", known[0])
    return X, regions, known_profiles(regions, known, k), known


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
@settings(deadline=None, max_examples=50)
def test_the_similarity_is_the_best_of_all_matchings_and_above_the_certificate(seed, q, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    known, labels = rng.permutation(np.arange(20) % q), rng.permutation(np.arange(20) % k)
    regions = Regions.of(X, 3, "uniform", known)
    (profile,) = known_profiles(regions, [known], k)
    M = profile.profile @ regions.profile(labels, k).T
    np.testing.assert_allclose(profile.overlaps(labels, k), M)
    short, wide = (M, M.T)[q > k], max(q, k)
    best = max(
        sum(short[i, j] for i, j in enumerate(pick))
        for pick in permutations(range(wide), min(q, k))
    )
    assert profile.similarity(labels, k) == pytest.approx(best)
    assert best >= profile.certificate * (1 - 1e-12)


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 2))
@settings(deadline=None, max_examples=25)
def test_plans_keep_their_sums_and_come_near_the_certificate(seed, k, n_known):
    _, regions, known, _ = setting(seed, 120, k=k, n_known=n_known)
    wish = regions.profile(np.random.default_rng(seed).permutation(np.arange(120) % k), k)
    watch = Watch()
    least = least_similarities(regions, known, k, watch)
    assert least == [each.certificate for each in known]
    plan = plan_regions(regions, known, wish, least, watch)
    np.testing.assert_array_equal(plan.counts.sum(axis=0), regions.counts)
    for attribute in range(3):
        inside = plan.counts[:, regions.attribute == attribute]
        np.testing.assert_array_equal(
            inside.sum(axis=1), plan.counts[:, regions.attribute == 0].sum(axis=1)
        )
    assert (plan.counts >= 0).all() and (plan.counts[:, regions.attribute == 0].sum(1) > 0).all()
    for each, similarity in zip(known, plan.similarities, strict=True):
        assert similarity == best_matching(each.profile @ plan.counts.T)
        assert each.certificate * (1 - 1e-12) <= similarity <= 1.005 * each.certificate
    assert not watch.was_cut


def test_a_plan_of_few_rows_against_all_of_them():
    """K = 2, one attribute of three bins: all plans can be listed."""
    X = np.repeat([0.0, 1.0, 2.0], [4, 3, 3])[:, None]
    known_labels = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
    regions = Regions.of(X, 3, "uniform", known_labels)
    known = known_profiles(regions, [known_labels], 2)
    best = min(
        best_matching(known[0].profile @ np.array([x, regions.counts - x]).T)
        for x in product(range(5), range(4), range(4))
        if 0 < sum(x) < 10
    )
    least = [known[0].certificate]
    wish = regions.profile(np.arange(10) % 2, 2)
    plan = plan_regions(regions, known, wish, least, Watch(), exact=False)
    assert plan.similarities[0] <= best * 1.05
    assert best >= known[0].certificate


def test_fewer_new_clusters_than_known_ones():
    _, regions, _, labels = setting(0, k=4)
    known = known_profiles(regions, labels, 2)
    watch = Watch()
    (least,) = least_similarities(regions, known, 2, watch)
    assert least >= known[0].certificate * (1 - 1e-9)
    values = []
    for seed in range(200):
        x = np.random.default_rng(seed).random((2, regions.n_regions))
        x = x / x.sum(axis=0) * regions.counts
        values.append(best_matching(known[0].profile @ x.T))
    assert least <= min(values)


def test_a_program_without_time_still_plans():
    _, regions, known, _ = setting(1, 200, p=6, k=4, n_bins=10)
    watch = Watch("MAXIMUS", None, 1e-9)
    wish = regions.profile(np.arange(200) % 4, 4)
    plan = plan_regions(regions, known, wish, [known[0].certificate], watch, exact=True)
    np.testing.assert_array_equal(plan.counts.sum(axis=0), regions.counts)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=20)
def test_rows_are_placed_near_the_least_cost(seed):
    _, _, known, _ = setting(seed, 10, 2, 2, n_bins=3)
    costs = np.random.default_rng(seed).random((10, 2))
    limits = SimilarityLimits.above([known[0].certificate], [0.05 * known[0].certificate])
    labels, _ = place_rows(costs, known, limits, Watch())
    allowed = [
        costs[np.arange(10), each].sum()
        for each in map(np.array, product((0, 1), repeat=10))
        if known[0].similarity(each, 2) <= limits.most[0] and 0 < each.sum() < 10
    ]
    if known[0].similarity(labels, 2) <= limits.most[0]:
        cost = costs[np.arange(10), labels].sum()
        assert cost >= min(allowed) - 1e-12
        assert cost <= min(allowed) + 1.5  # two or so rows elsewhere
    assert set(labels) == {0, 1}


@pytest.mark.parametrize(("q", "k", "n_known"), [(3, 3, 1), (3, 3, 2), (2, 4, 1), (4, 2, 1)])
def test_prices_solve_the_linear_program(q, k, n_known):
    """Shares keep the limits, and cost what the program that has every row in it costs."""
    X, regions, _, labels = setting(5, 200, 3, q, n_known)
    known = known_profiles(regions, labels, k)
    costs = squared_distances(X, X[:k])
    free = costs.argmin(axis=1)
    least = least_similarities(regions, known, k, Watch())
    limits = [
        value + 0.3 * max(each.similarity(free, k) - value, 0.01 * value)
        for each, value in zip(known, least, strict=True)
    ]
    found = similarity_prices(costs, known, limits, Watch())
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    for each, limit in zip(known, limits, strict=True):
        assert best_matching(each.weights.T @ found.shares) <= 1.002 * limit
    assert (found.shares * costs).sum() == pytest.approx(least_cost(costs, known, limits), rel=5e-3)
    again = similarity_prices(costs, known, limits, Watch(), found)
    np.testing.assert_allclose(
        (again.shares * costs).sum(), (found.shares * costs).sum(), rtol=2e-3
    )


def least_cost(costs, known, limits):
    """The program as it stands: one constraint per matching."""
    n, k = costs.shape
    rows = []
    for each, limit in zip(known, limits, strict=True):
        short, wide = min(k, each.n_clusters), max(k, each.n_clusters)
        for pick in permutations(range(wide), short):
            row = np.zeros((n, k))
            for i, j in enumerate(pick):
                a, b = (i, j) if k >= each.n_clusters else (j, i)
                row[:, b] = each.weights[:, a]
            rows.append(row.ravel() / limit)
    once = np.kron(np.eye(n), np.ones(k))
    solution = linprog(costs.ravel(), np.array(rows), np.ones(len(rows)), once, np.ones(n))
    return solution.fun


def test_many_rows_are_placed_by_prices():
    X, _, known, _ = setting(3, 3000, 4, 3)
    centres = X[:3]
    limits = SimilarityLimits.above([known[0].certificate], [0.002 * known[0].certificate])
    costs = squared_distances(X, centres)
    assert known[0].similarity(costs.argmin(axis=1), 3) > limits.most[0]
    placed = placed_kmeans(X, centres, known, limits, 5, Watch())
    assert placed.excess == 0
    assert placed.inertia < 1.2 * ((X - X[costs.argmin(axis=1)].mean(axis=0)) ** 2).sum()


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 4))
@settings(deadline=None, max_examples=50)
def test_capacities(seed, m, k):
    rng = np.random.default_rng(seed)
    costs = rng.random((m, k))
    capacities = np.bincount(rng.integers(0, k, m), minlength=k)
    exact, greedy = assign_within_capacities(costs, capacities), nearest_first(costs, capacities)
    for labels in (exact, greedy):
        np.testing.assert_array_equal(np.bincount(labels, minlength=k), capacities)
    literal, left = np.full(m, -1), capacities.copy()
    for i, c in sorted(product(range(m), range(k)), key=lambda ic: costs[ic]):
        if literal[i] < 0 and left[c] > 0:
            literal[i] = c
            left[c] -= 1
    np.testing.assert_array_equal(greedy, literal)
    rows = np.arange(m)
    assert costs[rows, exact].sum() <= costs[rows, greedy].sum() + 1e-12


def test_a_vote_realises_a_plan_that_can_be_realised():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 3)) * 0.2 + 5 * truth[:, None]
    regions = Regions.of(X, 5, "uniform", truth)
    known = known_profiles(regions, [np.arange(100) % 2], 2)
    centres = np.array([X[:50].mean(axis=0), X[50:].mean(axis=0)])
    plan = SimilarityPlan(regions.profile(truth, 2).astype(int), (0.0,))
    np.testing.assert_array_equal(vote(X, regions, plan, centres, 20), truth)
    assert known[0].similarity(truth, 2) < 1.1 * known[0].certificate
