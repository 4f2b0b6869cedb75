from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone
from tests.strategies import random_weighted, seeds

from subscape import SubspaceClustering, WeightedSubspaces
from subscape.core.errors import DroppedClusterWarning, UnsupportedKindError
from subscape.datasets import planted_oriented
from subscape.ensemble import ClusterBasedPCE, Ensemble
from subscape.ensemble.metaclusters import METHODS, cut, medoid_groups, metaclusters, tree
from subscape.measures import adjusted_rand_score, lac_weights, psi_projective
from subscape.measures.stacked_clusters import stack


@pytest.mark.parametrize("distance", ["tanimoto", "fast"])
@pytest.mark.parametrize("method", ["members", *METHODS])
def test_copies_of_one_clustering_give_it_back(planted, distance, method):
    X, truth = planted
    truth = SubspaceClustering(truth.members, WeightedSubspaces(lac_weights(X, truth, scale="std")))
    rng = np.random.default_rng(0)
    copies = [truth.select(rng.permutation(3)) for _ in range(7)]
    found = ClusterBasedPCE(3, distance=distance, metaclustering=method, random_state=0).fit(copies)
    assert found.clustering_.isclose(truth)
    np.testing.assert_array_equal(found.support_.max(axis=0), 1.0)


def test_planted_rows_and_subspaces_come_back(planted, members):
    _, truth = planted
    found = ClusterBasedPCE(3, random_state=0).fit(members)
    assert adjusted_rand_score(found.labels_, truth.labels()) > 0.95
    weights = found.clustering_.subspaces.weights
    order = [int(truth.labels()[found.labels_ == k][0]) for k in range(3)]
    for k, true in enumerate(order):
        relevant = truth.subspaces.masks[true]
        assert weights[k, relevant].min() > 2 * weights[k, ~relevant].max()


def test_closer_to_the_members_than_they_are_to_each_other(members):
    found = ClusterBasedPCE(3, random_state=0).fit(members).clustering_
    mean = np.mean([psi_projective(member, members) for member in members])
    assert psi_projective(found, members) < mean


@given(seeds)
@settings(deadline=None, max_examples=30)
def test_memberships_and_weights_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    members = []
    for _ in range(4):
        k = int(rng.integers(2, 4))
        gamma = rng.dirichlet(np.ones(k) * 0.5, 9).T
        members.append(SubspaceClustering(gamma, WeightedSubspaces(rng.dirichlet(np.ones(4), k))))
    for rule in ("mean", "paper"):
        found = ClusterBasedPCE(
            2, assignment="soft", feature_rule=rule, metaclustering="average"
        ).fit(members)
        np.testing.assert_allclose(found.clustering_.memberships.sum(axis=0), 1, atol=1e-6)
        np.testing.assert_allclose(found.clustering_.subspaces.weights.sum(axis=1), 1)


def test_soft_rows_are_shared_as_equation_12_says():
    a = SubspaceClustering([[0.8, 0.1], [0.2, 0.9]], np.ones((2, 1), bool))
    b = SubspaceClustering([[0.6, 0.3], [0.4, 0.7]], np.ones((2, 1), bool))
    found = ClusterBasedPCE(2, assignment="auto", random_state=0).fit([a, b]).clustering_
    A = 1 - np.array([[0.7, 0.2], [0.3, 0.8]])
    expected = (1 / A) / (1 / A).sum(axis=0)
    np.testing.assert_allclose(found.memberships.toarray(), expected, rtol=1e-6)


def test_auto_is_hard_only_if_all_members_are():
    hard = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=2)
    soft = SubspaceClustering([[0.9, 0.8, 0.1, 0.2], [0.1, 0.2, 0.9, 0.8]], np.ones((2, 2), bool))
    make = ClusterBasedPCE(2, assignment="auto", random_state=0)
    assert make.fit([hard, hard]).clustering_.is_hard
    assert not make.fit([hard, soft]).clustering_.is_hard


def test_vote_by_share_or_by_count():
    """One group has three clusters, two with row 2; the other a single one, which has it."""
    from subscape.ensemble.voting import ballot, count_votes, winners

    members = [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]]
    clusters = stack([SubspaceClustering.from_labels(m) for m in members], features=False)
    groups = np.array([0, 1, 0, 1, 0, 2])
    votes = count_votes(ballot(clusters), clusters, groups, 3)
    np.testing.assert_allclose(votes.shares[:, 2], [2 / 3, 0, 1])
    np.testing.assert_allclose(votes.counts[:, 2], [2 / 3, 0, 1 / 3])
    assert winners(votes.shares, votes.sums)[2] == 2
    assert winners(votes.counts, votes.sums)[2] == 0


@pytest.mark.parametrize("method", ["members", *METHODS])
def test_the_same_seed_gives_the_same_bits(members, method):
    make = ClusterBasedPCE(3, metaclustering=method, random_state=5)
    first, second = clone(make).fit(members), clone(make).fit(members)
    assert first.clustering_ == second.clustering_
    np.testing.assert_array_equal(first.metaclusters_, second.metaclusters_)


def test_the_number_of_clusters_is_the_members_by_default(members):
    assert ClusterBasedPCE(random_state=0).fit(members).clustering_.n_clusters == 3


def test_names_travel(planted):
    names = [f"c{j}" for j in range(8)]
    member = planted[1].with_names(feature_names=names, row_names=[f"r{i}" for i in range(240)])
    found = ClusterBasedPCE(3, random_state=0).fit([member, planted[1]]).clustering_
    assert found.feature_names == tuple(names) and found.row_names[3] == "r3"
    assert found.provenance["algorithm"] == "ClusterBasedPCE"


class TestOriented:
    def test_members_vote_on_rows_and_weights_come_from_the_table(self):
        X, truth = planted_oriented(5, [(1, 70), (2, 80)], noise=0, random_state=0)
        assert truth.kind == "oriented"
        axis = SubspaceClustering.from_labels(truth.labels(), n_features=5)
        found = ClusterBasedPCE(2, random_state=0).fit([truth, truth, axis], X).clustering_
        np.testing.assert_array_equal(found.rows_only().labels(), truth.labels())
        np.testing.assert_allclose(found.subspaces.weights, lac_weights(X, found, scale="std"))

    def test_without_the_table_they_are_refused(self):
        X, truth = planted_oriented(4, [(1, 30), (2, 30)], noise=0, random_state=0)
        with pytest.raises(UnsupportedKindError, match=r"1 of 2 members has .* pass the table"):
            ClusterBasedPCE(2).fit([truth, truth.rows_only()])
        with pytest.raises(ValueError, match="60 rows x 3 features"):
            ClusterBasedPCE(2).fit([truth], X[:, :3])


class TestNoise:
    labels = ([0, 0, 0, 1, 1, 1, -1, -1], [0, 0, 0, 1, 1, 1, -1, 0], [0, 0, -1, 1, 1, 1, -1, -1])

    def test_more_than_half_make_a_row_noise(self):
        found = ClusterBasedPCE(2, random_state=0).fit(self.labels)
        np.testing.assert_array_equal(found.labels_, [0, 0, 0, 1, 1, 1, -1, -1])

    def test_or_only_all(self):
        found = ClusterBasedPCE(2, noise="abstain", random_state=0).fit(self.labels)
        np.testing.assert_array_equal(found.labels_, [0, 0, 0, 1, 1, 1, -1, 0])

    def test_whoever_leaves_a_row_out_abstains_on_it(self):
        """Row 2: one member leaves it out, two have it in the first cluster: full support."""
        found = ClusterBasedPCE(2, random_state=0).fit(self.labels)
        np.testing.assert_allclose(found.support_[0, :3], 1.0)

    def test_a_row_in_two_clusters_shares_its_vote(self):
        a = SubspaceClustering.from_clusters([([0, 1, 2], [0]), ([2, 3], [1])], (4, 2))
        b = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
        found = ClusterBasedPCE(2, random_state=0).fit([a, b])
        np.testing.assert_allclose(found.support_[:, 2], [0.25, 0.75])


class TestMetaclusters:
    def test_a_cut_gives_just_as_many_groups(self):
        similarity = np.eye(6)  # every merge at the same height
        for k in range(1, 7):
            assert len(np.unique(cut(tree(similarity), k))) == k

    def test_medoids_against_all_choices(self):
        from itertools import combinations

        rng = np.random.default_rng(3)
        points = rng.random((12, 2))
        distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
        best = min(distances[:, list(c)].min(axis=1).sum() for c in combinations(range(12), 3))
        found = medoid_groups(distances, 3, np.random.default_rng(0), n_init=30)
        assert found.objective <= best * 1.05
        nearest = distances[:, found.medoids].argmin(axis=1)
        np.testing.assert_array_equal(found.groups, nearest)

    @pytest.mark.parametrize("method", ["members", *METHODS])
    def test_blocks_are_found(self, method):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 4, 40)
        similarity = 0.7 * (truth[:, None] == truth) + 0.1 * rng.random((40, 40))
        similarity = (similarity + similarity.T) / 2
        np.fill_diagonal(similarity, 1)
        assert adjusted_rand_score(truth, metaclusters(similarity, 4, method, rng)) == 1

    def test_too_many_clusters_are_refused(self, monkeypatch):
        monkeypatch.setattr("subscape.ensemble.metaclusters.MOST_CLUSTERS", 5)
        with pytest.raises(ValueError, match="fewer members, or EMPCE or HBGF"):
            ClusterBasedPCE(2).fit([[0, 1, 2], [0, 1, 2]])
        ClusterBasedPCE(2).fit([[0, 1, 2], [0, 1, 1]])  # five are not too many


def test_groups_that_win_no_row_are_dropped_with_a_warning():
    members = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    with pytest.warns(DroppedClusterWarning, match="1 cluster, 3 were asked for"):
        found = ClusterBasedPCE(3, random_state=0).fit(members)
    np.testing.assert_array_equal(found.labels_, 0)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"n_clusters": 5}, "n_clusters=5 is more than the 4 clusters of all members"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"alpha": 1.0}, "alpha"),
        ({"beta": 0.5}, "beta"),
        ({"distance": "cosine"}, "distance"),
        ({"metaclustering": "metis"}, "metaclustering"),
        ({"noise": "vote"}, "noise"),
    ],
)
def test_bad_parameters(parameters, text):
    with pytest.raises(ValueError, match=text):
        ClusterBasedPCE(**parameters).fit([[0, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 0]])


def test_bad_ensembles():
    with pytest.raises(ValueError, match="ensemble is empty"):
        ClusterBasedPCE(2).fit([])
    with pytest.raises(ValueError, match="rows"):
        ClusterBasedPCE(2).fit([[0, 1, 1], [0, 1]])
    with pytest.raises(ValueError, match="member 1 has no clusters"):
        ClusterBasedPCE(2).fit([[0, 1, 1], [-1, -1, -1]])


def test_plain_labels_get_their_weights_from_the_table(planted):
    X, truth = planted
    found = ClusterBasedPCE(3, random_state=0).fit([truth.labels()] * 3, X).clustering_
    order = [truth.labels()[np.argmax(found.labels() == k)] for k in range(3)]
    np.testing.assert_allclose(found.subspaces.weights, lac_weights(X, truth, scale="std")[order])
    bare = ClusterBasedPCE(3, random_state=0).fit([truth.labels()] * 3).clustering_
    assert bare.kind == "axis" and bare.subspaces.masks.all()


def test_one_member_is_its_own_consensus():
    rng = np.random.default_rng(0)
    member = random_weighted(rng, (12, 4))
    found = ClusterBasedPCE(random_state=0).fit(Ensemble([member])).clustering_
    assert found.isclose(member, atol=1e-6)


def test_metaclusters_are_the_clusters_of_the_consensus():
    rng = np.random.default_rng(6)
    members = [rng.integers(0, 3, 12) for _ in range(4)]
    make = ClusterBasedPCE(5, refine=False, metaclustering="average")
    with pytest.warns(DroppedClusterWarning):
        found = make.fit(members)
    lost = found.metaclusters_ == -1
    assert 0 < lost.sum() < len(lost)
    assert set(found.metaclusters_[~lost]) == set(range(found.clustering_.n_clusters))
    assert (np.diff(np.unique(found.labels_, return_index=True)[1]) > 0).all()
    clusters = stack([SubspaceClustering.from_labels(member) for member in members])
    for k in range(found.clustering_.n_clusters):
        share = clusters.memberships[found.metaclusters_ == k].sum(axis=0) / 4
        np.testing.assert_allclose(found.support_[k], share)


def test_rows_are_in_one_cluster_if_that_is_said_or_all_members_say_so():
    a, b = (SubspaceClustering.from_labels(labels) for labels in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1]))
    soft = SubspaceClustering(
        np.array([[0.9, 0.8, 0.6, 0.1, 0], [0.1, 0.2, 0.4, 0.9, 1]]), a.subspaces
    )
    for members, assignment, is_hard in (
        ([a, b], "auto", True), ([a, b], "hard", True), ([a, b], "soft", False),
        ([a, soft], "auto", False), ([a, soft], "hard", True),
    ):  # fmt: skip
        found = ClusterBasedPCE(2, assignment=assignment, random_state=0).fit(members)
        assert found.clustering_.is_hard is is_hard, (assignment, is_hard)
