"""Dendrograms as clusterings that contain each other, and by their heights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.cluster.hierarchy import cophenet, fcluster, linkage
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.metrics import fowlkes_mallows_score
from tests.strategies import seeds

from subscape.core import ShapeMismatchError, SubscapeError, SubspaceClustering
from subscape.measures import (
    cophenetic_similarity,
    dendrogram_distance,
    dendrogram_layers,
    hop_similarity,
)

LEFT = linkage([[0.0], [1.0], [10.0], [12.0]])
#: Pairs 0-2 and 1-3 instead of 0-1 and 2-3.
RIGHT = linkage([[0.0], [10.0], [1.0], [12.0]])


def merges(tree):
    """Row sets of all merges."""
    below = [{row} for row in range(len(tree) + 1)]
    for left, right in tree[:, :2].astype(int):
        below.append(below[left] | below[right])
    return below[len(tree) + 1 :]


def random_tree(rng, n_rows):
    return linkage(rng.normal(size=(n_rows, 2)), "average")


@given(seeds)
def test_clusters_are_the_merges(seed):
    tree = random_tree(np.random.default_rng(seed), 7)
    clusters = SubspaceClustering.from_linkage(tree)
    found = [set(clusters.members.rows(k).tolist()) for k in range(clusters.n_clusters)]
    assert found == merges(tree)


@given(seeds)
def test_rnia_counts_in_how_many_clusters_the_rows_are(seed):
    rng = np.random.default_rng(seed)
    a, b = random_tree(rng, 7), random_tree(rng, 7)
    depth = [np.sum([[row in m for row in range(7)] for m in merges(tree)], axis=0)
             for tree in (a, b)]  # fmt: skip
    expected = np.abs(depth[0] - depth[1]).sum() / np.maximum(*depth).sum()
    assert dendrogram_distance(a, b, measure="rnia") == pytest.approx(expected)
    assert expected <= dendrogram_distance(a, b) <= 1


@given(seeds)
def test_a_metric_of_tree_shapes(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (random_tree(rng, 6) for _ in range(3))
    assert dendrogram_distance(a, a) == 0
    assert dendrogram_distance(a, b) == dendrogram_distance(b, a)
    assert (dendrogram_distance(a, b) == 0) == (
        sorted(map(sorted, merges(a))) == sorted(map(sorted, merges(b)))
    )
    via = dendrogram_distance(a, b) + dendrogram_distance(b, c)
    assert dendrogram_distance(a, c) <= via + 1e-12


def test_worked_example():
    """The root agrees (4 rows); one row of each pair can be matched: 2 of 8 cells are left."""
    assert dendrogram_distance(LEFT, RIGHT) == 2 / 8
    assert dendrogram_distance(LEFT, RIGHT, measure="rnia") == 0


def test_heights_do_not_matter_to_the_distance():
    taller = LEFT.copy()
    taller[:, 2] *= 3
    assert dendrogram_distance(LEFT, taller) == 0


@given(seeds)
def test_cophenetic_similarity_is_a_correlation_of_heights(seed):
    rng = np.random.default_rng(seed)
    a, b = random_tree(rng, 6), random_tree(rng, 6)
    expected = np.corrcoef(cophenet(a), cophenet(b))[0, 1]
    assert cophenetic_similarity(a, b) == pytest.approx(expected)
    taller = a.copy()
    taller[:, 2] *= 7
    assert cophenetic_similarity(a, taller) == pytest.approx(1)


def test_trees_of_one_height():
    flat = linkage([[0.0], [1.0], [2.0]])
    uneven = linkage([[0.0], [1.0], [5.0]])
    assert cophenetic_similarity(flat, flat) == 1
    assert cophenetic_similarity(flat, uneven) == 0
    assert cophenetic_similarity(linkage([[0.0], [1.0]]), linkage([[0.0], [9.0]])) == 1


class TestBadInput:
    def test_different_rows(self):
        for measure in (dendrogram_distance, cophenetic_similarity):
            with pytest.raises(ShapeMismatchError, match="over 4 and 3 rows"):
                measure(LEFT, LEFT[:2])

    def test_no_linkage_matrix(self):
        for measure in (dendrogram_distance, cophenetic_similarity):
            with pytest.raises(SubscapeError, match="not a linkage matrix"):
                measure(LEFT[:, :3], LEFT[:, :3])
            with pytest.raises(SubscapeError, match="not a linkage matrix"):
                measure(np.empty((0, 4)), np.empty((0, 4)))

    def test_unknown_measure(self):
        with pytest.raises(SubscapeError, match="measure must be one of"):
            dendrogram_distance(LEFT, RIGHT, measure="vi")


# -- layer by layer, as partitions, by hops --------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_layers_are_those_of_fowlkes_and_mallows(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, 14, 2))
    a, b = linkage(X, "average"), linkage(Y, "complete")
    found = dendrogram_layers(a, b)
    for k, score in zip(range(2, 14), found, strict=True):
        cuts = [fcluster(tree, k, "maxclust") for tree in (a, b)]
        assert score == pytest.approx(fowlkes_mallows_score(*cuts))
    np.testing.assert_allclose(dendrogram_layers(a, a), 1)


@pytest.mark.parametrize("seed", range(3))
def test_a_dendrogram_is_n_partitions(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, 8, 2))
    a, b = linkage(X, "average"), linkage(Y, "average")
    assert dendrogram_distance(a, a, clusters="partitions") == 0
    found = dendrogram_distance(a, b, clusters="partitions")
    assert found == dendrogram_distance(b, a, clusters="partitions")
    # All layers at once: every row is in n clusters, and pairs are matched over all layers.
    sides = [
        [set(np.flatnonzero(cut == c)) for k in range(1, 9)
         for cut in [fcluster(tree, k, "maxclust")] for c in np.unique(cut)]
        for tree in (a, b)
    ]  # fmt: skip
    shared = np.array([[len(one & other) for other in sides[1]] for one in sides[0]])
    rows, columns = linear_sum_assignment(shared, maximize=True)
    assert found == pytest.approx(1 - shared[rows, columns].sum() / 64)
    with pytest.raises(SubscapeError, match="RNIA is always 0"):
        dendrogram_distance(a, b, measure="rnia", clusters="partitions")
    with pytest.raises(SubscapeError, match="clusters must be"):
        dendrogram_distance(a, b, clusters="layers")


@pytest.mark.parametrize("seed", range(3))
def test_hops_are_edges_of_the_tree(seed):
    rng = np.random.default_rng(seed)
    trees = [linkage(rng.normal(size=(9, 2)), "single") for _ in range(2)]
    ways = []
    for tree in trees:
        edges = [(int(child), 9 + m) for m, row in enumerate(tree) for child in row[:2]]
        i, j = np.array(edges).T
        graph = coo_array((np.ones(len(edges)), (i, j)), shape=(17, 17))
        lengths = shortest_path(graph, directed=False, unweighted=True)[:9, :9]
        ways.append(lengths[np.triu_indices(9, 1)])
    assert hop_similarity(*trees) == pytest.approx(np.corrcoef(*ways)[0, 1])
    assert hop_similarity(trees[0], trees[0]) == pytest.approx(1)
