"""Leiden: its modularity against a loop, its communities against all partitions and the paper."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from subscape.datasets import planted_axes
from subscape.finders import Leiden
from subscape.finders.density.leiden import (
    MOST_EXACT,
    communities,
    modularity,
    neighbour_graph,
    principal_scores,
)


def seed(number=0):
    return np.random.SeedSequence(number)


def by_hand(weights, labels, resolution):
    """Modularity by its definition, pair by pair."""
    total = weights.sum()
    strengths = weights.sum(axis=1)
    return sum(
        weights[i, j] - resolution * strengths[i] * strengths[j] / total
        for i, j in itertools.product(range(len(weights)), repeat=2)
        if labels[i] == labels[j]
    ) / total  # fmt: skip


def partitions(n):
    """All label vectors of n rows, each partition once."""
    if n == 1:
        yield [0]
        return
    for labels in partitions(n - 1):
        for label in range(max(labels) + 2):
            yield [*labels, label]


def random_weights(n, number, density=0.5):
    rng = np.random.default_rng(number)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return upper + upper.T


def ring_of_cliques(number, size):
    weights = np.kron(np.eye(number), 1 - np.eye(size))
    for c in range(number):
        a, b = c * size, ((c + 1) % number) * size + 1
        weights[a, b] = weights[b, a] = 1
    return weights, np.repeat(np.arange(number), size)


@pytest.mark.parametrize("resolution", [0.3, 1.0, 2.5])
def test_modularity_is_that_of_the_definition(resolution):
    for number in range(5):
        weights = random_weights(9, number) + np.diag(np.arange(9) % 2)
        labels = np.random.default_rng(number).integers(3, size=9)
        told = modularity(csr_array(weights), labels, resolution)
        assert told == pytest.approx(by_hand(weights, labels, resolution), abs=1e-12)


def test_a_graph_without_links_has_none():
    assert modularity(csr_array((4, 4)), [0, 0, 1, 1]) == 0
    assert communities(csr_array((4, 4)), 1.0, seed()).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("resolution", [0.5, 1.0, 1.5])
def test_communities_are_nearly_the_best_of_all_partitions(resolution):
    reached = []
    for number in range(12):
        weights = random_weights(7, number)
        best = max(by_hand(weights, labels, resolution) for labels in partitions(7))
        found = communities(csr_array(weights), resolution, seed(number))
        told = by_hand(weights, found, resolution)
        assert told <= best + 1e-12
        reached.append(best - told)
    assert np.mean(np.array(reached) < 1e-9) >= 0.75
    assert max(reached) < 0.05


@pytest.mark.parametrize("number", range(6))
def test_what_the_paper_guarantees(number):
    """Communities hang together, and no row gains by moving to another or staying alone."""
    weights = random_weights(40, number, density=0.12)
    found = communities(csr_array(weights), 1.0, seed(number))
    for k in range(found.max() + 1):
        inside = found == k
        assert connected_components(csr_array(weights[np.ix_(inside, inside)]))[0] == 1
    told = by_hand(weights, found, 1.0)
    for i in range(40):
        for label in range(found.max() + 2):
            moved = found.copy()
            moved[i] = label
            assert by_hand(weights, moved, 1.0) <= told + 1e-9


def test_cliques_in_a_ring_are_told_apart_at_a_fine_resolution():
    weights, truth = ring_of_cliques(30, 5)
    fine = communities(csr_array(weights), 4.0, seed())
    assert adjusted_rand_score(truth, fine) == 1
    # Modularity's known limit: two neighbours at a time are better at resolution 1.
    coarse = communities(csr_array(weights), 1.0, seed())
    assert coarse.max() + 1 < 30
    assert modularity(csr_array(weights), coarse) > modularity(csr_array(weights), truth)


def test_links_weigh_the_share_of_common_neighbours():
    X = np.random.default_rng(0).normal(size=(30, 3))
    graph = neighbour_graph(X, 4).toarray()
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)
    near = [set(np.argsort(row)[:5].tolist()) for row in apart]  # the row itself comes first
    for i, j in itertools.product(range(30), repeat=2):
        linked = i != j and (j in near[i] or i in near[j])
        expected = len(near[i] & near[j]) / len(near[i] | near[j]) if linked else 0
        assert graph[i, j] == pytest.approx(expected)


def test_principal_components_keep_the_distances_that_they_can():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 20))
    flat -= flat.mean(axis=0)
    scores = principal_scores(flat, 3, seed())
    ratio = np.linalg.norm(flat[:40] - flat[40:], axis=1)
    ratio /= np.linalg.norm(scores[:40] - scores[40:], axis=1)
    assert scores.shape == (80, 3)
    np.testing.assert_allclose(ratio, ratio[0])
    assert np.log2(ratio[0]) == pytest.approx(round(np.log2(ratio[0])), abs=1e-9)


def test_many_rows_and_columns_have_the_same_components_by_the_quick_way():
    rng = np.random.default_rng(0)
    n = MOST_EXACT + 20
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, n)) * 10 + rng.normal(size=(n, n)) * 0.01
    X -= X.mean(axis=0)
    quick = principal_scores(X, 4, seed())
    left, lengths, _ = np.linalg.svd(X, full_matrices=False)
    exact = left[:, :4] * lengths[:4]
    factor = np.abs(exact).max() / np.abs(quick).max()
    np.testing.assert_allclose(np.abs(quick) * factor, np.abs(exact), rtol=0, atol=1e-3 * factor)


@pytest.mark.parametrize("resolution", [0.5, 1.0])
def test_planted_groups_come_back(resolution):
    X, truth = make_blobs(400, centers=5, n_features=80, cluster_std=3, random_state=1)
    found = Leiden(resolution=resolution, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_) == 1
    assert found.modularity_ == pytest.approx(
        by_hand(found.graph_.toarray(), found.labels_, resolution)
    )
    # All features: the graph has no subspaces.
    assert found.clustering_.subspaces.masks.all()


def test_groups_of_any_shape():
    X, truth = make_moons(400, noise=0.05, random_state=0)
    found = Leiden(n_neighbors=40, resolution=0.05, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_) == 1


def test_a_higher_resolution_gives_more_and_smaller_clusters():
    X = planted_axes(300, 8, n_clusters=3, dims=5, random_state=0).X
    numbers = [
        Leiden(resolution=r, random_state=0).fit(X).clustering_.n_clusters for r in (0.2, 1, 4)
    ]
    assert numbers == sorted(numbers) and numbers[0] < numbers[-1]


def test_clusters_are_numbered_by_size():
    X = planted_axes(300, 8, n_clusters=3, dims=5, random_state=0).X
    sizes = np.bincount(Leiden(random_state=0).fit(X).labels_)
    assert (np.diff(sizes) <= 0).all()


def test_a_seed_decides_everything():
    X = np.random.default_rng(0).normal(size=(200, 6))
    one, two = (Leiden(random_state=3).fit(X).labels_ for _ in range(2))
    assert np.array_equal(one, two)
    others = [Leiden(random_state=s).fit(X).labels_ for s in range(5)]
    assert any(not np.array_equal(one, other) for other in others)


def test_repetitions_do_not_make_it_worse_and_end():
    X = np.random.default_rng(1).normal(size=(300, 5))
    once = Leiden(max_iter=1, random_state=0).fit(X)
    often = Leiden(max_iter=20, random_state=0).fit(X)
    assert once.n_iter_ == 1 <= often.n_iter_ < 20
    assert often.modularity_ >= once.modularity_


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_tables(n):
    X = np.arange(2.0 * n).reshape(n, 2) ** 2
    labels = Leiden(random_state=0).fit(X).labels_ if n > 1 else np.zeros(1, int)
    assert labels.shape == (n,) and labels.min() == 0
