from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.strategies import random_oriented, seeds

from subscape import SubspaceClustering, WeightedSubspaces
from subscape.ensemble import EMPCE
from subscape.ensemble.em import descend, deviations, meeting_alpha, row_statistics
from subscape.ensemble.voting import ballot
from subscape.measures import adjusted_rand_score, lac_weights
from subscape.measures.stacked_clusters import stack
from subscape.parallel.progress import Watch


def soft_members(rng, number=5, n=14, p=4):
    return [
        SubspaceClustering(
            rng.dirichlet(np.ones(k) * 0.5, n).T, WeightedSubspaces(rng.dirichlet(np.ones(p), k))
        )
        for k in rng.integers(2, 5, number)
    ]


def known_of(members):
    clusters = stack(members)
    cast = ballot(clusters)
    return row_statistics(cast, clusters.weights, np.arange(members[0].n_rows)), clusters


@given(seeds)
@settings(deadline=None, max_examples=25)
def test_deviations_by_definition(seed):
    rng = np.random.default_rng(seed)
    members = soft_members(rng)
    known, clusters = known_of(members)
    weights = rng.dirichlet(np.ones(4), 3)
    gamma = clusters.memberships.toarray().astype(float)
    away = ((weights[:, None, :] - clusters.weights[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(deviations(known, weights), away @ gamma, atol=1e-10)


@given(seeds, st.floats(1.005, 4))
@settings(deadline=None, max_examples=30)
def test_the_objective_never_rises(seed, alpha):
    rng = np.random.default_rng(seed)
    known, _ = known_of(soft_members(rng))
    start = rng.dirichlet(np.ones(4), 3)
    found = descend(known, start, alpha, 100, 1e-9, Watch())
    steps = np.array([*found.history, found.objective])
    assert (np.diff(steps) <= 1e-9 * steps[0]).all()
    np.testing.assert_allclose(found.memberships.sum(axis=0), 1)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=1e-6)
    expected = (found.memberships**alpha * deviations(known, found.weights)).sum()
    assert found.objective == pytest.approx(expected)


@given(seeds)
@settings(deadline=None, max_examples=25)
def test_clusters_meet_above_an_alpha_and_part_below_it(seed):
    rng = np.random.default_rng(seed)
    known, _ = known_of(soft_members(rng, number=12, n=40))
    bound = meeting_alpha(known)
    assert 1 < bound < 2
    centre = np.average(known.weights / known.totals[:, None], axis=0, weights=known.totals)
    near = rng.normal(size=(3, 4)) * 1e-6
    near -= near.mean(axis=0)
    near -= near.mean(axis=1, keepdims=True)

    def apart(alpha, rounds):
        found = descend(known, centre + near, alpha, rounds, -1, Watch())
        return np.linalg.norm(found.weights - found.weights.mean(axis=0))

    assert apart(1 + 1.2 * (bound - 1), 60) < apart(1 + 1.2 * (bound - 1), 10)
    assert apart(1 + 0.8 * (bound - 1), 60) > apart(1 + 0.8 * (bound - 1), 10)


def uncertain_members():
    """Members that agree on three groups of rows and little on the features."""
    rng = np.random.default_rng(5)
    truth = np.repeat(np.arange(3), 20)
    members = []
    for _ in range(20):
        labels = np.where(rng.random(60) < 0.2, rng.integers(3, size=60), truth)
        weights = (rng.dirichlet(np.ones(6), 3) + 0.4 * np.eye(3, 6)) / 1.4
        members.append(SubspaceClustering.from_labels(labels, weights=weights))
    return members, truth


def test_the_paper_s_alpha_makes_one_cluster_of_all_and_ours_does_not():
    members, truth = uncertain_members()
    ours = EMPCE(3, random_state=0).fit(members)
    with pytest.warns(ConvergenceWarning, match=r"alpha exceeds 1\.\d+, and it is 2; choose"):
        theirs = EMPCE(3, alpha=2, assignment="soft", tol=1e-12, random_state=0).fit(members)
    assert adjusted_rand_score(ours.labels_, truth) == 1
    np.testing.assert_allclose(theirs.memberships_, 1 / 3, atol=1e-3)
    # No bad optimum: where all is alike the objective is less than at the truth.
    known, _ = known_of(members)
    own = [(known.weights / known.totals[:, None])[truth == k].mean(axis=0) for k in range(3)]
    costs = deviations(known, np.array(own))
    assert theirs.objective_ < (1 / (1 / costs).sum(axis=0)).sum()


def test_copies_of_one_clustering_give_it_back(planted):
    X, truth = planted
    member = SubspaceClustering(
        truth.members, WeightedSubspaces(lac_weights(X, truth, scale="std"))
    )
    found = EMPCE(3, random_state=0).fit([member] * 6)
    assert found.clustering_.isclose(member, atol=1e-5)
    assert found.objective_ == pytest.approx(0, abs=1e-6)


def test_planted_clusters_with_features_of_their_own(planted, members):
    _, truth = planted
    found = EMPCE(3, random_state=0).fit(members)
    assert adjusted_rand_score(found.labels_, truth.labels()) > 0.9
    for k in range(3):
        true = truth.labels()[found.labels_ == k][0]
        best = np.argsort(-found.clustering_.subspaces.weights[k])[:3]
        assert truth.subspaces.masks[true, best].all()


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_same_bits_for_any_number_of_jobs(members, n_jobs):
    first = EMPCE(3, random_state=7).fit(members)
    again = EMPCE(3, random_state=7, n_jobs=n_jobs).fit(members)
    assert first.clustering_ == again.clustering_
    np.testing.assert_array_equal(first.memberships_, again.memberships_)
    assert first.history_ == again.history_


def test_soft_assignment_keeps_the_shares(members):
    found = EMPCE(3, assignment="soft", random_state=0).fit(members)
    assert not found.clustering_.is_hard
    np.testing.assert_allclose(
        found.clustering_.memberships.toarray(), found.memberships_, atol=1e-6
    )


def test_noise_rows_take_no_part():
    labels = [[0, 0, 0, 1, 1, 1, -1], [0, 0, -1, 1, 1, 1, -1]]
    masks = [[1, 0], [0, 1]]
    members = [SubspaceClustering.from_labels(m, masks=masks) for m in labels]
    found = EMPCE(2, random_state=0).fit(members)
    np.testing.assert_array_equal(found.labels_, [0, 0, 0, 1, 1, 1, -1])
    np.testing.assert_array_equal(found.memberships_[:, 6], 0)
    np.testing.assert_allclose(found.clustering_.subspaces.weights, masks, atol=1e-6)


def test_members_with_the_same_features_everywhere_leave_nothing_to_group_by():
    with (
        pytest.warns(ConvergenceWarning, match="same feature weights"),
        pytest.warns(UserWarning, match="1 cluster, 2 were asked for"),
    ):
        EMPCE(2, random_state=0).fit([[0, 0, 1, 1], [0, 1, 1, 1]])
    # Also if the features differ in weight, as long as they do so in the same way everywhere.
    weights = [[0.7, 0.2, 0.1]] * 2
    alike = [
        SubspaceClustering.from_labels(m, weights=weights) for m in ([0, 0, 1, 1], [0, 1, 1, 1])
    ]
    with (
        pytest.warns(ConvergenceWarning, match="same feature weights"),
        pytest.warns(UserWarning, match="1 cluster, 2 were asked for"),
    ):
        EMPCE(2, random_state=0).fit(alike)


def test_oriented_members_take_part_with_weights_from_the_table():
    rng = np.random.default_rng(0)
    X = rng.random((30, 4))
    members = [random_oriented(rng, (30, 4)) for _ in range(4)]
    weighted = [SubspaceClustering(m.members, WeightedSubspaces(lac_weights(X, m, scale="std")))
                for m in members]  # fmt: skip
    found = EMPCE(2, random_state=0).fit(members, X)
    assert found.clustering_ == EMPCE(2, random_state=0).fit(weighted).clustering_
    with pytest.raises(TypeError, match="pass the table"):
        EMPCE(2).fit(members)


def test_rounds_that_don_t_do_are_told(members):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        EMPCE(3, max_iter=1, tol=0, random_state=0).fit(members)


@pytest.mark.parametrize("bad", [{"alpha": 1}, {"n_init": 0}, {"tol": -1}, {"n_clusters": 500}])
def test_bad_parameters(members, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        EMPCE(**bad).fit(members)
