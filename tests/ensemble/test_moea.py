from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from tests.strategies import seeds

from subscape import SubspaceClustering, WeightedSubspaces
from subscape.ensemble import MOEAPCE
from subscape.ensemble.moea import (
    Archive,
    Judge,
    ParetoSolution,
    crossed,
    from_member,
    mutated,
    nearest_to_ideal,
    random_solution,
)
from subscape.measures import adjusted_rand_score, psi_features, psi_objects
from subscape.measures.stacked_clusters import stack


@pytest.fixture(scope="module")
def fitted(members):
    return MOEAPCE(3, population=12, max_iter=60, random_state=0).fit(members)


def test_the_hypervolume_never_falls(fitted):
    assert len(fitted.hypervolumes_) == fitted.n_iter_ + 1 == 61
    assert (np.diff(fitted.hypervolumes_) >= -1e-12).all()
    assert fitted.hypervolumes_[-1] > fitted.hypervolumes_[0]


def test_no_solution_of_the_front_beats_another(fitted):
    points = fitted.front_distances_
    assert len(fitted.front_) == len(points)
    for i, point in enumerate(points):
        others = np.delete(points, i, axis=0)
        assert not ((others <= point).all(axis=1) & (others < point).any(axis=1)).any()
    assert (np.diff(points[:, 0]) > 0).all() and (np.diff(points[:, 1]) < 0).all()


def test_distances_of_the_front_are_those_of_the_measures(fitted, members):
    for solution, point in zip(fitted.front_, fitted.front_distances_, strict=True):
        assert psi_objects(solution, members) / len(members) == pytest.approx(point[0], abs=1e-5)
        assert psi_features(solution, members) / len(members) == pytest.approx(point[1], abs=1e-5)


def test_planted_rows_come_back(fitted, planted):
    assert adjusted_rand_score(fitted.labels_, planted[1].labels()) > 0.9
    np.testing.assert_allclose(fitted.clustering_.subspaces.weights.sum(axis=1), 1)


def test_the_same_seed_gives_the_same_bits(members):
    first, second = (MOEAPCE(3, max_iter=10, random_state=4).fit(members) for _ in range(2))
    assert first.clustering_ == second.clustering_
    assert first.front_ == second.front_
    np.testing.assert_array_equal(first.hypervolumes_, second.hypervolumes_)


def test_a_single_member_is_found_at_once(planted):
    found = MOEAPCE(3, max_iter=3, random_state=0).fit([planted[1]])
    np.testing.assert_allclose(found.front_distances_, 0, atol=1e-7)
    assert found.clustering_.rows_only() == planted[1].rows_only()


def test_its_objectives_don_t_see_swapped_subspaces():
    gamma = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], np.float32)
    delta = np.array([[0.8, 0.2], [0.1, 0.9]])
    member = SubspaceClustering(gamma, WeightedSubspaces(delta))
    clusters = stack([member])
    judge = Judge(clusters.memberships, clusters)
    solutions = [ParetoSolution(gamma, delta), ParetoSolution(gamma, delta[::-1].copy())]
    np.testing.assert_allclose(judge(solutions), 0, atol=1e-12)


def test_sparse_and_dense_judges_agree(members, monkeypatch):
    clusters = stack(list(members))
    rng = np.random.default_rng(0)
    solutions = [random_solution(3, 240, 8, rng) for _ in range(4)]
    dense = Judge(clusters.memberships, clusters)(solutions)
    monkeypatch.setattr("subscape.ensemble.moea.MOST_BYTES", 0)
    np.testing.assert_allclose(Judge(clusters.memberships, clusters)(solutions), dense, atol=1e-6)


@given(seeds)
@settings(deadline=None, max_examples=25)
def test_the_archive_keeps_its_hypervolume(seed):
    rng = np.random.default_rng(seed)
    archive, before = Archive(4), 0.0
    solution = random_solution(2, 3, 2, rng)
    for _ in range(30):
        archive.add([solution], rng.random((1, 2)))
        assert len(archive.solutions) == len(archive.distances) <= 4
        assert archive.hypervolume() >= before - 1e-12
        before = archive.hypervolume()


@given(seeds)
@settings(deadline=None, max_examples=25)
def test_children_are_projective_clusterings(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, 20)
    member = SubspaceClustering.from_labels(
        np.unique(labels, return_inverse=True)[1],
        weights=rng.dirichlet(np.ones(3), len(np.unique(labels))),
    )
    for k in (2, 3, 6):
        a = from_member(member.memberships, member.subspaces.weights, k, rng)
        b = random_solution(k, 20, 3, rng)
        for couple in (True, False):
            child = mutated(crossed(a, b, couple, rng), 0.5, 0.3, rng)
            assert child.memberships.shape == (k, 20) and child.weights.shape == (k, 3)
            np.testing.assert_allclose(child.memberships.sum(axis=0), 1, atol=1e-5)
            np.testing.assert_allclose(child.weights.sum(axis=1), 1)


def test_coupled_children_keep_rows_and_features_together():
    rng = np.random.default_rng(0)
    a, b = random_solution(4, 10, 3, rng), random_solution(4, 10, 3, rng)
    pairs = {tuple(np.round(w, 9)): i for i, w in enumerate(np.concatenate([a.weights, b.weights]))}
    rows = np.concatenate([a.memberships, b.memberships])
    child = crossed(a, b, True, rng)
    chosen = rows[[pairs[tuple(np.round(w, 9))] for w in child.weights]]
    np.testing.assert_allclose(child.memberships, chosen / chosen.sum(axis=0), rtol=1e-5)


def test_the_chosen_solution_is_nearest_to_both_bests():
    points = np.array([[0.1, 0.9], [0.15, 0.3], [0.6, 0.25]])
    assert nearest_to_ideal(points) == 1
    assert nearest_to_ideal(points[:1]) == 0


def test_noise_rows(members):
    labels = [[0, 0, 0, 1, 1, 1, -1], [0, 0, -1, 1, 1, 1, -1]]
    noisy = [SubspaceClustering.from_labels(m, masks=[[1, 0], [0, 1]]) for m in labels]
    found = MOEAPCE(2, max_iter=5, random_state=0).fit(noisy)
    np.testing.assert_array_equal(found.labels_, [0, 0, 0, 1, 1, 1, -1])
    assert all(c.members.clusters_per_row()[6] == 0 for c in found.front_)


def test_time_runs_out(members):
    with pytest.warns(UserWarning, match="max_time"):
        found = MOEAPCE(3, max_iter=10**6, max_time=0.2, random_state=0).fit(members)
    assert found.n_iter_ < 10**6


def test_without_moocore_a_sentence_says_what_to_install(members, monkeypatch):
    monkeypatch.setitem(sys.modules, "moocore", None)
    with pytest.raises(ImportError, match=r"pip install 'subscape\[pareto\]'"):
        MOEAPCE(3).fit(members)


@pytest.mark.parametrize("bad", [{"population": 1}, {"max_iter": 0}, {"mutation_rate": 2}])
def test_bad_parameters(members, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        MOEAPCE(**bad).fit(members)


def test_the_two_most_similar_clusters_of_a_member_are_merged():
    members = np.array([[1.0, 1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0, 0.0], [0, 0, 0, 0, 1.0]])
    weights = np.array([[0.5, 0.5], [0.7, 0.3], [0.1, 0.9]])
    found = from_member(sparse.csr_array(members), weights, 2, np.random.default_rng(0))
    np.testing.assert_allclose(found.memberships, [[1, 1, 1, 1, 0], [0, 0, 0, 0, 1]])
    # Weights by size: 2.5 and 1.5 rows.
    merged = (2.5 * weights[0] + 1.5 * weights[1]) / 4
    np.testing.assert_allclose(found.weights, [merged, weights[2]])
