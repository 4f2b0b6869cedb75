"""ERiC by its definition, on planted flats, and the hierarchy of flats within flats."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from subscape import OrientedSubspaces, SubspaceClustering
from subscape.datasets import planted_oriented
from subscape.finders import COPAC, ERiC
from subscape.finders.oriented.eric import parents_of
from subscape.measures import clustering_error


def by_definition(X, k, eps, min_samples, explained, delta):
    """Labels with one pair of rows at a time, as the paper defines them."""
    n, p = X.shape
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    dims, along, across = np.zeros(n, int), [], []
    for i in range(n):
        near = X[np.argsort(apart[i], kind="stable")[:k]]
        values, axes = np.linalg.eigh(np.cov(near.T, ddof=0))
        shares = np.cumsum(values[::-1]) / values.sum()
        dims[i] = 1 + int(np.argmax(shares >= explained - 1e-12))
        across.append(axes[:, : p - dims[i]])
        along.append(axes[:, p - dims[i] :])

    def alike(i, j):
        if dims[i] != dims[j] or dims[i] == p:
            return False
        step = X[j] - X[i]
        for a, b in ((i, j), (j, i)):
            off = along[b] - along[a] @ (along[a].T @ along[b])
            if np.linalg.norm(off, axis=0).max() > delta:
                return False
            if np.linalg.norm(across[a].T @ step) > eps:
                return False
        return True

    near = np.array([[i == j or alike(i, j) for j in range(n)] for i in range(n)])
    core = (near.sum(axis=1) >= min_samples) & (dims < p)
    labels, number = np.full(n, -1), 0
    for i in np.flatnonzero(core):
        if labels[i] >= 0:
            continue
        queue = [i]
        while queue:
            j = queue.pop()
            if labels[j] < 0:
                labels[j] = number
                queue += np.flatnonzero(near[j] & core & (labels < 0)).tolist()
        number += 1
    for i in np.flatnonzero(~core):
        hosts = np.flatnonzero(near[i] & core)
        labels[i] = labels[hosts[0]] if len(hosts) else -1
    return labels, dims


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", [0.2, 0.6])
def test_the_definition_pair_by_pair(seed, delta):
    X, _ = planted_oriented(3, ((1, 60), (2, 60)), noise=0.2, spread=0.01, random_state=seed)
    finder = ERiC(12, 0.05, 5, explained_variance=0.85, delta=delta, refine=False).fit(X)
    labels, dims = by_definition(X, 12, 0.05, 5, 0.85, delta)
    np.testing.assert_array_equal(finder.local_dims_, dims)
    np.testing.assert_array_equal(finder.labels_ < 0, labels < 0)
    assert adjusted_rand_score(finder.labels_, labels) == 1
    assert finder.clustering_.n_clusters > 0


def test_with_any_directions_it_is_copac():
    X, _ = planted_oriented(4, ((1, 100), (2, 150)), noise=0.1, random_state=1)
    settings = dict(n_neighbors=15, eps=0.05, min_samples=8, explained_variance=0.85, refine=False)
    np.testing.assert_array_equal(
        ERiC(delta=1.0, **settings).fit(X).labels_, COPAC(**settings).fit(X).labels_
    )


def test_lines_that_cross_are_told_apart_by_their_directions():
    rng = np.random.default_rng(0)
    along = rng.uniform(-1, 1, (2, 300))
    X = np.zeros((600, 2))
    X[:300, 0], X[300:, 1] = along
    X += 0.002 * rng.normal(size=X.shape)
    finder = ERiC(10, 0.02, 10, explained_variance=0.9, delta=0.3, refine=False).fit(X)
    assert finder.flat_dims_.tolist() == [1, 1]
    assert np.mean(finder.labels_[:300] == finder.labels_[0]) > 0.95
    assert finder.labels_[0] != finder.labels_[-1]


@pytest.mark.parametrize("seed", range(3))
def test_defaults_find_rows_and_flats(seed):
    X, truth = planted_oriented(4, ((1, 150), (2, 250)), noise=0.1, random_state=200 + seed)
    finder = ERiC().fit(X)
    assert sorted(finder.flat_dims_.tolist()) == [1, 2]
    assert clustering_error(finder.clustering_, truth) < 0.05


def nested(*bases, shifts):
    """A few rows on each of several flats in 5 dimensions."""
    rng = np.random.default_rng(0)
    rows = [
        shift + rng.normal(size=(20, basis.shape[1])) @ basis.T
        for basis, shift in zip(bases, shifts, strict=True)
    ]
    labels = np.repeat(np.arange(len(bases)), 20)
    flats = OrientedSubspaces(list(bases), complement=True)
    return np.concatenate(rows), SubspaceClustering.from_labels(labels, bases=flats)


def test_a_line_in_a_plane_in_a_space():
    axes = np.eye(5)
    X, clustering = nested(
        axes[:, :3], axes[:, :1], axes[:, :2], axes[:, 3:4], shifts=[np.zeros(5)] * 4
    )
    # The line is in the plane, the plane in the space; the other line is in none of them.
    parents = [above.tolist() for above in parents_of(X, clustering, 0.1, 0.5)]
    assert parents == [[], [2], [0], []]


def test_parallel_flats_are_not_in_each_other():
    axes = np.eye(5)
    shifts = [np.zeros(5), 3.0 * axes[4]]
    X, clustering = nested(axes[:, :2], axes[:, :1], shifts=shifts)
    assert [len(above) for above in parents_of(X, clustering, 0.1, 0.5)] == [0, 0]
    assert [len(above) for above in parents_of(X, clustering, 0.1, 3.5)] == [0, 1]


def test_a_turned_line_is_in_a_plane_up_to_delta():
    axes = np.eye(5)
    turned = (np.cos(0.2) * axes[0] + np.sin(0.2) * axes[4])[:, None]
    X, clustering = nested(axes[:, :2], turned, shifts=[np.zeros(5)] * 2)
    assert len(parents_of(X, clustering, 0.25, 1.0)[1]) == 1
    assert len(parents_of(X, clustering, 0.15, 1.0)[1]) == 0


def test_nothing_found_has_no_hierarchy():
    X = np.random.default_rng(0).normal(size=(150, 3))
    finder = ERiC(30, 1e-9, 5, explained_variance=0.85).fit(X)
    assert finder.clustering_.n_clusters == 0
    assert finder.parents_ == []
