"""Gullo, Domeniconi, Tagarelli (SIGMOD 2011): what can be checked with numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.strategies import random_weighted, seeds

from subscape import AxisSubspaces, SubspaceClustering, WeightedSubspaces
from subscape.ensemble import ClusterBasedPCE
from subscape.ensemble.cluster_based import feature_votes
from subscape.ensemble.voting import shared_mass
from subscape.measures import (
    ensemble_ratio,
    lac_weights,
    nmi_projective,
    psi_features,
    psi_objects,
    psi_projective,
    reference_gain,
)


@pytest.mark.parametrize("soft", [False, True])
def test_example_of_section_3_1_swapped_subspaces(soft):
    gamma = np.array([[0.9, 0.7, 0.6, 0.1], [0.1, 0.3, 0.4, 0.9]])
    gamma = gamma if soft else (gamma > 0.5).astype(float)
    delta = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    right = SubspaceClustering(gamma, WeightedSubspaces(delta))
    swapped = SubspaceClustering(gamma, WeightedSubspaces(delta[::-1]))
    for candidate in (right, swapped):
        assert psi_objects(candidate, [right]) == pytest.approx(0, abs=1e-12)
        assert psi_features(candidate, [right]) == pytest.approx(0, abs=1e-12)
    assert psi_projective(right, [right]) == pytest.approx(0, abs=1e-12)
    assert psi_projective(swapped, [right]) > 0.4


def test_cluster_based_pce_tells_the_swapped_subspaces_apart():
    """With both in the ensemble the majority's subspaces win, cluster by cluster."""
    right = SubspaceClustering.from_labels([0, 0, 0, 1, 1, 1], masks=[[1, 0], [0, 1]])
    swapped = SubspaceClustering.from_labels([0, 0, 0, 1, 1, 1], masks=[[0, 1], [1, 0]])
    found = ClusterBasedPCE(2, random_state=0).fit([right, right, right, swapped]).clustering_
    np.testing.assert_array_equal(found.labels(), [0, 0, 0, 1, 1, 1])
    assert (found.subspaces.weights.argmax(axis=1) == [0, 1]).all()


def brute_psi(a, b, similarity):
    table = np.array([[similarity(a, i, b, j) for j in range(len(b))] for i in range(len(a))])
    return ((1 - table.max(axis=1)).mean() + (1 - table.max(axis=0)).mean()) / 2


def tanimoto(u, v):
    shared = (u * v).sum()
    return shared / ((u * u).sum() + (v * v).sum() - shared)


def projective(c, k):
    return np.outer(
        c.memberships.toarray()[k].astype(float), c.as_weighted().subspaces.relevance[k]
    )


@given(seeds, st.booleans())
@settings(deadline=None, max_examples=30)
def test_psi_by_definition(seed, soft):
    rng = np.random.default_rng(seed)
    a, b, c = (random_weighted(rng, (7, 4), soft=soft) for _ in range(3))
    cases = {
        psi_projective: lambda x, i, y, j: tanimoto(projective(x, i), projective(y, j)),
        psi_objects: lambda x, i, y, j: tanimoto(
            x.memberships.toarray()[i].astype(float), y.memberships.toarray()[j].astype(float)
        ),
        psi_features: lambda x, i, y, j: tanimoto(x.subspaces.weights[i], y.subspaces.weights[j]),
    }
    for measure, similarity in cases.items():
        expected = brute_psi(a, b, similarity) + brute_psi(a, c, similarity)
        assert measure(a, [b, c]) == pytest.approx(expected, abs=1e-12)


def brute_nmi_of(a, b):
    """The formula of section 4.1.3, on whole matrices."""
    X, Y = ([projective(c, k) for k in range(len(c))] for c in (a, b))
    n = a.n_rows
    T = (sum(X) * sum(Y)).sum()
    entropy = [-sum(M.sum() / n * np.log(M.sum() / n) for M in side) for side in (X, Y)]
    information = 0.0
    for x in X:
        for y in Y:
            shared = (x * y).sum()
            if shared > 0:
                information += shared / T * np.log(n**2 * shared / (T * x.sum() * y.sum()))
    return information / np.sqrt(entropy[0] * entropy[1])


@given(seeds)
@settings(deadline=None, max_examples=30)
def test_nmi_of_by_definition(seed):
    rng = np.random.default_rng(seed)

    def draw():
        k = int(rng.integers(2, 4))
        gamma = rng.dirichlet(np.ones(k), 8).T.astype(np.float32)
        return SubspaceClustering(gamma, WeightedSubspaces(rng.dirichlet(np.ones(3), k)))

    a, b = draw(), draw()
    assert nmi_projective(a, b) == pytest.approx(brute_nmi_of(a, b), abs=1e-5)


def test_theta_and_upsilon_are_what_equations_25_and_26_say():
    rng = np.random.default_rng(0)
    consensus, reference, *members = (random_weighted(rng, (20, 4)) for _ in range(6))
    for on in ("both", "objects", "features"):
        gains = [nmi_projective(consensus, reference, on) - nmi_projective(m, reference, on)
                 for m in members]  # fmt: skip
        assert reference_gain(consensus, members, reference, on) == pytest.approx(np.mean(gains))
        close = np.mean([nmi_projective(consensus, m, on) for m in members])
        among = [nmi_projective(a, b, on) for a in members for b in members if a is not b]
        assert ensemble_ratio(consensus, members, on) == pytest.approx(close / np.mean(among))
        everything = [nmi_projective(a, b, on) for a in members for b in members]
        assert ensemble_ratio(consensus, members, on, self_pairs=True) == pytest.approx(
            close / np.mean(everything)
        )


@given(seeds, st.floats(1.2, 4))
@settings(deadline=None, max_examples=25)
def test_theorem_1_against_a_solver(seed, alpha):
    costs = np.random.default_rng(seed).uniform(0.05, 1, 4)
    found = shared_mass(costs[:, None], alpha)[:, 0]
    assert found.sum() == pytest.approx(1)
    solved = minimize(
        lambda g: (np.abs(g) ** alpha * costs).sum(),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda g: g.sum() - 1},
    )
    assert (found**alpha * costs).sum() <= solved.fun + 1e-7


def test_erratum_zero_costs_share_all_mass_equally():
    """Theorems 1 and 2 divide by A = 0; the minimum there is 0, reached on the zero entries."""
    shares = shared_mass(np.array([[0.0, 0.3, 0.0], [0.0, 0.6, 0.2], [0.5, 0.9, 0.1]]), 2.0)
    np.testing.assert_allclose(shares[:, 0], [0.5, 0.5, 0])
    np.testing.assert_allclose(shares[:, 2], [1, 0, 0])
    np.testing.assert_allclose(shares[:, 1], np.array([6, 3, 2]) / 11)


def test_close_to_alpha_1_the_least_cost_takes_all():
    np.testing.assert_allclose(
        shared_mass(np.array([[0.2], [0.3], [0.9]]), 1.01)[:, 0], [1, 0, 0], atol=1e-12
    )


def test_erratum_equation_22_flattens_the_subspaces():
    """60 features, 6 relevant: eq. 22 gives them 1.2 times the weight of others, the mean all."""
    relevant = np.arange(60) < 6
    weights = np.tile(relevant / 6, (5, 1))
    groups = np.zeros(5, int)
    [printed] = feature_votes(weights, groups, 1, "paper")
    [plain] = feature_votes(weights, groups, 1, "mean")
    assert printed[0] / printed[-1] == pytest.approx(1.2)
    np.testing.assert_allclose(plain, relevant / 6)


@pytest.mark.parametrize("rule", ["paper", "mean"])
def test_the_features_of_a_group_are_those_of_its_own_clusters(rule):
    """Whatever other groups there are, and however many clusters they have."""
    weights = np.array([[0.8, 0.2, 0.0], [0.5, 0.3, 0.2], [0.9, 0.0, 0.1], [0.1, 0.1, 0.8]])
    groups = np.array([0, 0, 1, 0])
    together = feature_votes(weights, groups, 2, rule)
    for group in (0, 1):
        own = weights[groups == group]
        [alone] = feature_votes(own, np.zeros(len(own), int), 1, rule)
        np.testing.assert_allclose(together[group], alone)
    np.testing.assert_allclose(together.sum(axis=1), 1)
    mean = weights[groups == 0].mean(axis=0)
    costs = 1 - (weights[[2]] if rule == "paper" else mean)
    if rule == "paper":  # eq. 22: in proportion to the inverse of what they cost, at beta = 2
        np.testing.assert_allclose(together[1], (1 / costs / (1 / costs).sum())[0])
    else:
        np.testing.assert_allclose(together[0], mean)


def test_features_that_all_members_choose_alone_take_all_weight():
    """B = 0: every cluster of the group puts weight 1 on one feature."""
    masks = AxisSubspaces([[1, 0, 0], [0, 1, 0]])
    member = SubspaceClustering([[1, 1, 0, 0], [0, 0, 1, 1]], masks)
    found = ClusterBasedPCE(2, feature_rule="paper").fit([member] * 3).clustering_
    np.testing.assert_array_equal(found.subspaces.weights, [[1, 0, 0], [0, 1, 0]])


def test_weights_of_reference_classes():
    """Delta of section 4.1.3, feature by feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * [0.1, 0.5, 2.0]
    labels = np.repeat([0, 1], 15)
    expected = np.exp(-np.array([X[labels == k].var(axis=0) for k in (0, 1)]) / 0.2)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(lac_weights(X, labels, 0.2), expected, rtol=1e-10)
    scaled = lac_weights(X / X.std(axis=0), labels, 0.2, scale=None)
    np.testing.assert_allclose(lac_weights(X, labels, 0.2, scale="std"), scaled, rtol=1e-10)
