from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from tests.strategies import random_oriented

from subscape import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning
from subscape.ensemble import (
    CSPA,
    EMPCE,
    HBGF,
    HGPA,
    MCLA,
    MOEAPCE,
    WBPA,
    WSPA,
    ClusterBasedPCE,
    EvidenceAccumulation,
)
from subscape.ensemble.accumulation import coassociation, longest_lived
from subscape.ensemble.graphs import bipartite_parts, factor_parts, metis_parts, spectral_parts
from subscape.ensemble.voting import ballot
from subscape.ensemble.weighted_graphs import nearness
from subscape.measures import adjusted_rand_score, lac_weights
from subscape.measures.stacked_clusters import stack

GRAPHS = [CSPA, HGPA, MCLA, HBGF]
BOTH = ["spectral", "metis"]


def every(k, partitioner="spectral"):
    made = [m(k, partitioner=partitioner, random_state=0) for m in GRAPHS]
    return [*made, EvidenceAccumulation(k)]


@pytest.mark.parametrize("partitioner", BOTH)
def test_copies_of_one_partition_give_it_back(partitioner):
    truth = np.repeat([0, 1, 2], 20)
    rng = np.random.default_rng(0)
    copies = [rng.permutation(3)[truth] for _ in range(6)]
    for method in every(3, partitioner):
        np.testing.assert_array_equal(method.fit(copies).labels_, truth, err_msg=repr(method))


@pytest.mark.parametrize("partitioner", BOTH)
def test_flipped_copies_of_a_truth(flipped, partitioner):
    copies, truth = flipped
    for method in every(5, partitioner):
        found = method.fit(copies).labels_
        assert adjusted_rand_score(found, truth) > 0.95, method


def test_missing_labels(flipped):
    copies, truth = flipped
    rng = np.random.default_rng(1)
    holes = [np.where(rng.random(200) < 0.2, -1, c) for c in copies]
    for method in every(5):
        assert adjusted_rand_score(method.fit(holes).labels_, truth) > 0.9, method


@pytest.mark.parametrize("partitioner", BOTH)
def test_names_of_labels_don_t_count_and_seeds_decide_all(flipped, partitioner):
    copies, _ = flipped
    rng = np.random.default_rng(2)
    renamed = [rng.permutation(5)[c] for c in copies]
    for method in every(5, partitioner):
        first = method.fit(copies).labels_
        np.testing.assert_array_equal(first, method.fit(copies).labels_)
        if partitioner == "spectral":
            np.testing.assert_array_equal(first, method.fit(renamed).labels_)


def test_metis_makes_equal_parts(flipped):
    copies, _ = flipped
    for method in (CSPA, HGPA, HBGF):
        labels = method(4, partitioner="metis", random_state=0).fit(copies).labels_
        sizes = np.bincount(labels)
        assert len(sizes) == 4 and sizes.max() <= 60, method  # 200 rows in five true groups


def test_noise_everywhere_stays_noise():
    members = [[0, 0, 1, 1, -1, -1], [0, 0, 1, 1, 0, -1], [0, 0, 1, 1, -1, -1]]
    for method in every(2):
        np.testing.assert_array_equal(method.fit(members).labels_, [0, 0, 1, 1, -1, -1])
        method.set_params(noise="abstain")
        np.testing.assert_array_equal(method.fit(members).labels_, [0, 0, 1, 1, 0, -1])


@pytest.mark.parametrize(
    "method", [ClusterBasedPCE, EMPCE, MOEAPCE, CSPA, HGPA, MCLA, HBGF, EvidenceAccumulation]
)
def test_all_rows_noise_by_majority_leaves_nothing(method):
    members = [[0, -1, -1], [-1, 0, -1], [-1, -1, 0]]
    with pytest.warns(DroppedClusterWarning, match='noise="abstain"'):
        found = method(1).fit(members)
    np.testing.assert_array_equal(found.labels_, -1)
    assert found.clustering_.n_clusters == 0


def test_fewer_patterns_than_clusters():
    for method in (CSPA(3, random_state=0), HBGF(3, random_state=0)):
        with pytest.warns(DroppedClusterWarning, match="2 clusters, 3 were asked for"):
            found = method.fit([[0, 0, 1, 1]] * 3)
        np.testing.assert_array_equal(found.labels_, [0, 0, 1, 1])


def test_feature_weights_are_means_over_the_rows():
    labels = np.repeat([0, 1, 2], 80)
    a = SubspaceClustering.from_labels(labels, weights=np.eye(8)[:3])
    b = SubspaceClustering.from_labels(labels, weights=np.eye(8)[[0, 1, 3]])
    for method in every(3):
        found = method.fit([a, a, b]).clustering_
        expected = np.eye(8)[:3].copy()
        expected[2, [2, 3]] = 2 / 3, 1 / 3
        np.testing.assert_allclose(found.subspaces.weights, expected, atol=1e-12)


def test_oriented_members_vote_on_rows():
    rng = np.random.default_rng(0)
    X, labels = rng.random((30, 4)), np.repeat([0, 1], 15)
    oriented = random_oriented(rng, (30, 4)).as_oriented()
    plain = SubspaceClustering.from_labels(labels, n_features=4)
    ensemble = [plain, plain, plain, oriented]
    bare = HBGF(2, random_state=0).fit(ensemble).clustering_
    assert bare.kind == "axis" and bare.subspaces.masks.all()
    full = HBGF(2, random_state=0).fit(ensemble, X).clustering_
    np.testing.assert_allclose(full.subspaces.weights, lac_weights(X, full, scale="std"))


class TestGraphs:
    def test_a_factor_gives_the_same_cut_as_the_whole_graph(self, flipped):
        copies, _ = flipped
        clusters = stack([SubspaceClustering.from_labels(c) for c in copies], features=False)
        H = clusters.memberships.T.astype(float)
        whole = spectral_parts((H @ H.T).toarray(), 5, np.random.default_rng(0))
        assert adjusted_rand_score(factor_parts(H, 5, np.random.default_rng(0)), whole) == 1

    def test_iterative_vectors_give_the_same_cut(self, flipped, monkeypatch):
        copies, _ = flipped
        clusters = stack([SubspaceClustering.from_labels(c) for c in copies], features=False)
        H = clusters.memberships.T.astype(float)
        direct = bipartite_parts(H, 5, np.random.default_rng(0))
        monkeypatch.setattr("subscape.ensemble.graphs.EXACT_BELOW", 10)
        for a, b in zip(direct, bipartite_parts(H, 5, np.random.default_rng(0)), strict=True):
            assert adjusted_rand_score(a, b) == 1

    def test_metis_cuts_the_weakest_edges(self):
        graph = np.kron(np.eye(3), np.ones((5, 5))) + 0.01
        parts = metis_parts(graph, 3)
        assert adjusted_rand_score(parts, np.repeat([0, 1, 2], 5)) == 1

    def test_without_pymetis_a_sentence_says_what_to_install(self, flipped, monkeypatch):
        monkeypatch.setitem(sys.modules, "pymetis", None)
        for method in GRAPHS:
            with pytest.raises(ImportError, match=r"pip install 'subscape\[graph\]'"):
                method(5, partitioner="metis").fit(flipped[0])

    def test_too_many_rows_for_pairs(self, flipped, monkeypatch):
        monkeypatch.setattr("subscape.ensemble.classic.MOST_METIS_ROWS", 100)
        with pytest.raises(ValueError, match='partitioner="spectral"'):
            CSPA(5, partitioner="metis").fit(flipped[0])
        monkeypatch.setattr("subscape.ensemble.accumulation.MOST_ROWS", 100)
        with pytest.raises(ValueError, match="HBGF or consensus_rows"):
            EvidenceAccumulation(5).fit(flipped[0])


class TestEvidenceAccumulation:
    def test_coassociation_by_definition(self):
        rng = np.random.default_rng(0)
        members = [np.where(rng.random(20) < 0.2, -1, rng.integers(0, 3, 20)) for _ in range(6)]
        members = [np.where(np.arange(20) < 3, np.arange(20), m) for m in members]
        clusters = stack([SubspaceClustering.from_labels(m) for m in members], features=False)
        found = coassociation(ballot(clusters, "abstain"), np.arange(20))
        for i in range(20):
            for j in range(20):
                both = [m for m in members if m[i] >= 0 and m[j] >= 0]
                share = np.mean([m[i] == m[j] for m in both]) if both else 0.0
                assert found[i, j] == pytest.approx(share if i != j else 1.0)

    def test_the_longest_lived_number_of_clusters(self, flipped):
        copies, truth = flipped
        found = EvidenceAccumulation().fit(copies)
        assert adjusted_rand_score(found.labels_, truth) > 0.95
        assert longest_lived(np.array([0.1, 0.1, 0.2, 0.95])) == 2
        assert longest_lived(np.array([0.1, 0.15, 0.2])) == 1
        assert longest_lived(np.array([0.1, 0.5, 0.9])) == 2  # a tie: the fewest of 2 and 3

    @pytest.mark.parametrize("method", ["single", "average", "complete"])
    def test_it_is_the_linkage_of_the_rows(self, flipped, method):
        from scipy.cluster.hierarchy import fcluster

        copies, _ = flipped
        together = np.mean([c[:, None] == c for c in copies], axis=0)
        merges = linkage(squareform(1 - together, checks=False), method)
        found = EvidenceAccumulation(5, linkage=method).fit(copies).labels_
        expected = fcluster(merges, 5, "maxclust")
        if len(np.unique(expected)) == 5:  # fcluster makes fewer where heights tie
            assert adjusted_rand_score(found, expected) == 1
        assert len(np.unique(found)) == 5

    def test_soft_members_count_by_their_shares(self):
        soft = SubspaceClustering([[0.9, 0.8, 0.1], [0.1, 0.2, 0.9]], np.ones((2, 1), bool))
        found = coassociation(ballot(stack([soft], features=False)), np.arange(3))
        assert found[0, 1] == pytest.approx(0.9 * 0.8 + 0.1 * 0.2, abs=1e-6)
        assert found[0, 0] == 1


class TestWeighted:
    def test_nearness_by_definition(self, planted, members):
        X, _ = planted
        clusters = stack(list(members[:2]))
        found = nearness(X, clusters)
        table = (X - X.mean(axis=0)) / X.std(axis=0)
        for i, member in enumerate(members[:2]):
            gamma = member.memberships.toarray().astype(float)
            centres = gamma @ table / gamma.sum(axis=1, keepdims=True)
            w = member.as_weighted().subspaces.weights
            d = np.sqrt((w * (table[:, None] - centres) ** 2).sum(axis=2))
            D, k = d.max(axis=1, keepdims=True), d.shape[1]
            expected = (D - d + 1) / (k * D + k - d.sum(axis=1, keepdims=True))
            mine = found[:, clusters.starts[i] : clusters.starts[i + 1]]
            np.testing.assert_allclose(mine, expected, rtol=1e-6)
            np.testing.assert_allclose(mine.sum(axis=1), 1)

    @pytest.mark.parametrize("method", [WSPA, WBPA])
    @pytest.mark.parametrize("partitioner", BOTH)
    def test_planted_rows_come_back(self, planted, members, method, partitioner):
        X, truth = planted
        found = method(3, partitioner=partitioner, random_state=0).fit(members, X)
        least = 0.9 if partitioner == "spectral" else 0.5  # METIS makes parts of equal size
        assert adjusted_rand_score(found.labels_, truth.labels()) > least
        assert found.clustering_.kind == "weighted"

    def test_they_need_the_table_and_feature_weights(self, planted, members):
        with pytest.raises(ValueError, match=r"fit\(ensemble, X\)"):
            WSPA(3).fit(members)
        oriented = random_oriented(np.random.default_rng(0), (240, 8))
        with pytest.raises(ValueError, match="CSPA or HBGF"):
            WBPA(3).fit([*members, oriented], planted[0])


@pytest.mark.parametrize("bad", [{"partitioner": "kahypar"}, {"n_clusters": 0}, {"noise": "x"}])
def test_bad_parameters(flipped, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        HBGF(**bad).fit(flipped[0])


def test_more_clusters_than_the_members_have(flipped):
    for method in GRAPHS:
        with pytest.raises(ValueError, match="n_clusters=150 is more than the 100 clusters"):
            method(150).fit(flipped[0])
    with pytest.raises(ValueError, match="200 rows"):
        EvidenceAccumulation(201).fit(flipped[0])
