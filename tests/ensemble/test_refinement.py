from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import seeds

from subscape import SubspaceClustering, WeightedSubspaces
from subscape.arrays.tanimoto import projective_similarities
from subscape.core.errors import DroppedClusterWarning
from subscape.datasets import planted_axes
from subscape.ensemble import ClusterBasedPCE, generate
from subscape.ensemble.cluster_based import Likeness
from subscape.ensemble.metaclusters import member_groups, representatives
from subscape.finders import LAC
from subscape.measures import psi_projective
from subscape.measures.stacked_clusters import stack


def drawn(rng, k, rows=12, features=4, hard=False):
    """A random projective clustering."""
    gamma = rng.dirichlet(np.ones(k) * 0.5, rows).T
    if hard:
        gamma = np.eye(k)[gamma.argmax(axis=0)].T
        gamma = gamma[gamma.sum(axis=1) > 0]
    weights = rng.dirichlet(np.ones(features), len(gamma))
    return SubspaceClustering(gamma, WeightedSubspaces(weights))


@pytest.fixture(scope="module")
def mixed():
    """Members of all four representations and of several numbers of clusters."""
    X, _ = planted_axes(250, 10, n_clusters=5, dims=3, random_state=4)
    finder = LAC(n_init=1, init="random", objective="lac")
    return generate(X, finder, 40, vary={"n_clusters": range(3, 9)}, random_state=1)


class TestLikeness:
    @given(seeds)
    @settings(deadline=None, max_examples=40)
    def test_is_the_similarity_within_one_stack(self, seed):
        rng = np.random.default_rng(seed)
        members = [drawn(rng, int(rng.integers(2, 5)), hard=bool(rng.integers(2))) for _ in "abc"]
        one = drawn(rng, 3, hard=True)
        clusters, own = stack(members), stack([one])
        everything = stack([one, *members])
        for how in ("tanimoto", "fast"):
            found = Likeness(clusters, how).to(own.memberships.toarray(), own.weights)
            whole = projective_similarities(everything.memberships, everything.weights, how)
            np.testing.assert_allclose(found, whole[: one.n_clusters, one.n_clusters :], rtol=1e-6)

    def test_without_weights_rows_are_compared(self):
        members = [drawn(np.random.default_rng(i), 3) for i in range(3)]
        clusters = stack(members, features=False)
        found = Likeness(clusters).to(clusters.memberships[:3].toarray(), None)
        whole = projective_similarities(clusters.memberships, None)
        np.testing.assert_allclose(found, whole[:3], rtol=1e-6)


class TestRepresentatives:
    @given(seeds)
    @settings(deadline=None, max_examples=30)
    def test_every_next_one_serves_the_others_best(self, seed):
        rng = np.random.default_rng(seed)
        S = rng.random((9, 9))
        S = np.maximum(S, S.T)
        np.fill_diagonal(S, 1)
        near = rng.random(9) / 2
        chosen = representatives(S, near, 3)
        assert len(set(chosen)) == 3
        for number in range(3):
            before = np.maximum(near, S[chosen[:number]].max(axis=0, initial=0))
            served = [np.maximum(before, S[c]).sum() for c in range(9)]
            assert served[chosen[number]] == pytest.approx(max(served))

    def test_blocks_change_nothing(self, monkeypatch):
        S = np.random.default_rng(0).random((30, 30))
        whole = representatives(S, None, 5)
        monkeypatch.setattr("subscape.ensemble.metaclusters.BLOCK", 7)
        assert representatives(S, None, 5) == whole

    def test_only_those_among_which_to_choose(self):
        S = np.random.default_rng(1).random((8, 8))
        assert set(representatives(S, None, 2, np.array([3, 5, 6]))) <= {3, 5, 6}


class TestMemberGroups:
    def test_begin_with_the_member_nearest_to_the_others(self, mixed):
        same = [m for m in mixed if m.n_clusters == 5]
        clusters = stack(same)
        S = projective_similarities(clusters.memberships, clusters.weights)
        first = member_groups(S, clusters.starts, 5, 1)[0]
        nearest = int(np.argmin([psi_projective(m, same) for m in same]))
        own = np.arange(clusters.starts[nearest], clusters.starts[nearest + 1])
        np.testing.assert_array_equal(first, S[:, own].argmax(axis=1))

    @pytest.mark.parametrize("k", [1, 2, 5, 12])
    def test_have_as_many_groups_as_asked_for(self, mixed, k):
        clusters = stack(list(mixed))
        S = projective_similarities(clusters.memberships, clusters.weights)
        found = member_groups(S, clusters.starts, k)
        assert len(found) == 5
        for groups in found:
            np.testing.assert_array_equal(np.unique(groups), np.arange(k))


class TestConsensus:
    @pytest.mark.filterwarnings("ignore::subscape.core.errors.DroppedClusterWarning")
    @pytest.mark.parametrize("distance", ["tanimoto", "fast"])
    @pytest.mark.parametrize("method", ["members", "kmedoids", "average"])
    @pytest.mark.parametrize("k", [3, 5, 7])
    def test_never_ends_with_fewer_clusters_or_farther_away(self, mixed, distance, method, k):
        one_vote, refined = (
            ClusterBasedPCE(k, distance=distance, metaclustering=method, refine=refine,
                            random_state=0).fit(mixed).clustering_
            for refine in (False, True)
        )  # fmt: skip
        assert refined.n_clusters >= one_vote.n_clusters
        if distance == "tanimoto" and refined.n_clusters == one_vote.n_clusters:
            assert psi_projective(refined, mixed) <= psi_projective(one_vote, mixed) + 1e-9

    @pytest.mark.filterwarnings("ignore::subscape.core.errors.DroppedClusterWarning")
    @given(seeds)
    @settings(deadline=None, max_examples=50)
    def test_level_votes_are_decided_as_they_were_in_the_search(self, seed):
        rng = np.random.default_rng(seed)
        members = [rng.integers(0, int(rng.integers(2, 5)), 10) for _ in range(4)]
        k = int(rng.integers(2, 5))
        one_vote, refined = (
            ClusterBasedPCE(k, refine=refine).fit(members).clustering_ for refine in (False, True)
        )
        assert refined.n_clusters >= one_vote.n_clusters
        if refined.n_clusters == one_vote.n_clusters:
            assert psi_projective(refined, members) <= psi_projective(one_vote, members) + 1e-9

    def test_members_with_all_features_are_compared_on_one_scale(self, mixed, monkeypatch):
        """With "fast" equal features count as 1 on both sides, and never on one alone."""
        seen = []
        to = Likeness.to

        def spied(self, memberships, weights):
            seen.append(to(self, memberships, weights))
            return seen[-1]

        monkeypatch.setattr(Likeness, "to", spied)
        ClusterBasedPCE(5, distance="fast").fit([member.labels() for member in mixed])
        assert min(alike.min() for alike in seen) >= 0.5

    def test_groups_that_win_no_row_are_made_anew(self, mixed):
        with pytest.warns(DroppedClusterWarning, match="6 clusters, 7 were asked for"):
            ClusterBasedPCE(7, refine=False).fit(mixed)
        assert ClusterBasedPCE(7).fit(mixed).clustering_.n_clusters == 7

    def test_needs_no_seed(self, mixed):
        found = [ClusterBasedPCE(5, random_state=seed).fit(mixed) for seed in (0, 1)]
        assert found[0].clustering_ == found[1].clustering_

    def test_order_of_the_members_does_not_matter_for_distinct_ones(self, mixed):
        there = ClusterBasedPCE(5).fit(mixed).clustering_
        back = ClusterBasedPCE(5).fit(list(mixed)[::-1]).clustering_
        assert there.rows_only() == back.rows_only()

    def test_exhaustive_search_on_a_tiny_ensemble(self):
        """No clustering of the six rows into two is nearer to the members."""
        members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
        members = [SubspaceClustering.from_labels(m) for m in members]
        found = ClusterBasedPCE(2).fit(members).clustering_
        every = (labels for labels in itertools.product((0, 1), repeat=6) if len(set(labels)) == 2)
        best = min(psi_projective(SubspaceClustering.from_labels(one), members) for one in every)
        assert psi_projective(found, members) == pytest.approx(best)
