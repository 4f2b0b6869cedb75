"""COPAC by its definition, on whole lines and planes, and with rows of every local dimension."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from subscape.datasets import planted_oriented
from subscape.finders import COPAC
from subscape.finders.oriented.copac.copac import local_flats
from subscape.measures import clustering_error


def by_definition(X, k, eps, min_samples, explained):
    """Labels and local dimensions with one row at a time, as the paper defines them."""
    n, p = X.shape
    dims, across = np.zeros(n, int), []
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    for i in range(n):
        near = X[np.argsort(apart[i], kind="stable")[:k]]
        values, axes = np.linalg.eigh(np.cov(near.T, ddof=0))
        shares = np.cumsum(values[::-1]) / values.sum()
        dims[i] = 1 + int(np.argmax(shares >= explained - 1e-12))
        across.append(axes[:, : p - dims[i]])
    far = np.array([np.linalg.norm((X - X[i]) @ across[i], axis=1) for i in range(n)])
    near = np.maximum(far, far.T) <= eps * (1 + 1e-9)
    near &= (dims[:, None] == dims) & (dims < p)
    core = near.sum(axis=1) >= min_samples
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


@pytest.mark.parametrize("seed", range(6))
def test_the_definition_row_by_row(seed):
    X, _ = planted_oriented(3, ((1, 60), (2, 60)), noise=0.2, spread=0.01, random_state=seed)
    finder = COPAC(12, 0.05, 6, explained_variance=0.85, refine=False).fit(X)
    labels, dims = by_definition(X, 12, 0.05, 6, 0.85)
    np.testing.assert_array_equal(finder.local_dims_, dims)
    assert adjusted_rand_score(finder.labels_, labels) == 1
    np.testing.assert_array_equal(finder.labels_ < 0, labels < 0)
    for k, dim in enumerate(finder.flat_dims_):
        assert set(dims[finder.labels_ == k]) == {dim}


def test_local_dimensions_part_a_line_from_a_plane():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    line = 4 * axes[2] + rng.uniform(-1, 1, (300, 1)) * axes[0]
    plane = rng.uniform(-1, 1, (400, 2)) @ axes[:2]
    X = np.concatenate([line, plane]) + 0.005 * rng.normal(size=(700, 3))
    finder = COPAC(20, 0.05, 20, explained_variance=0.85, refine=False).fit(X)
    assert np.mean(finder.local_dims_[:300] == 1) > 0.9
    assert np.mean(finder.local_dims_[300:] == 2) > 0.9
    assert finder.flat_dims_.tolist() == [1, 2]
    flats = finder.clustering_.complement().subspaces.bases
    assert abs(axes[0] @ flats[0][:, 0]) > 0.999
    assert np.linalg.norm(axes[2] @ flats[1]) < 0.02
    X, truth = planted_oriented(3, ((1, 300), (2, 400)), noise=0.1, random_state=5)
    assert clustering_error(COPAC().fit(X).clustering_, truth) < 0.03


def test_two_lines_in_noise_as_the_paper_would():
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    along = rng.uniform(-5, 5, (2, 300, 1))
    lines = np.concatenate([along[0] * directions[0], along[1] * directions[1] + [0, 2, 1]])
    X = np.concatenate([lines + 0.03 * rng.normal(size=(600, 3)), rng.uniform(-5, 5, (100, 3))])
    truth = np.repeat([0, 1, -1], [300, 300, 100])
    finder = COPAC(20, 0.15, 20, explained_variance=0.85, refine=False).fit(X)
    assert finder.clustering_.n_clusters == 2
    assert adjusted_rand_score(finder.labels_, truth) > 0.9
    for k, basis in enumerate(finder.clustering_.complement().subspaces.bases):
        here = truth[finder.labels_ == k]
        line = directions[np.bincount(here[here >= 0]).argmax()]
        assert abs(line @ basis[:, 0]) > 0.999


@pytest.mark.parametrize("refine", [False, True])
def test_two_pieces_of_one_line_are_one_cluster(refine):
    rng = np.random.default_rng(0)
    direction = np.array([1.0, 2.0, -1.0]) / np.sqrt(6)
    along = np.concatenate([rng.uniform(0, 1, 150), rng.uniform(9, 10, 150)])
    X = along[:, None] * direction + 0.005 * rng.normal(size=(300, 3))
    X = np.concatenate([X, rng.uniform(X.min(axis=0), X.max(axis=0), (60, 3))])
    finder = COPAC(20, 0.05, 10, explained_variance=0.85, refine=refine).fit(X)
    both = finder.labels_[:300]
    assert np.mean(both == np.bincount(both[both >= 0]).argmax()) > 0.95
    main = finder.clustering_.complement().subspaces.bases[int(np.bincount(both + 1).argmax()) - 1]
    assert abs(direction @ main[:, 0]) > 0.999


@pytest.mark.parametrize("seed", range(4))
def test_defaults_find_rows_and_flats(seed):
    X, truth = planted_oriented(
        4, ((1, 150), (1, 150), (2, 250)), noise=0.1, random_state=100 + seed
    )
    finder = COPAC().fit(X)
    assert sorted(finder.flat_dims_.tolist()) == [1, 1, 2]
    assert clustering_error(finder.clustering_, truth) < 0.05


def test_labels_move_and_turn_with_the_table():
    X, _ = planted_oriented(3, ((1, 100), (2, 100)), random_state=2)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    settings = dict(explained_variance=0.9, refine=False)
    plain = COPAC(15, 0.03, 8, **settings).fit(X)
    turned = COPAC(15, 0.03, 8, **settings).fit(X @ rotation - 3)
    larger = COPAC(15, 0.12, 8, **settings).fit(4 * X)
    assert plain.clustering_.n_clusters > 0
    np.testing.assert_array_equal(turned.labels_, plain.labels_)
    np.testing.assert_array_equal(larger.labels_, plain.labels_)


def test_rows_without_a_proper_flat_are_noise():
    X = np.random.default_rng(0).normal(size=(200, 3))
    finder = COPAC(30, 0.5, 5, explained_variance=0.999, refine=False).fit(X)
    assert (finder.local_dims_ == 3).all()
    assert finder.clustering_.n_clusters == 0
    assert (finder.labels_ == -1).all()


def test_shares_of_variance_are_met_exactly():
    """Two directions of equal variance explain exactly one half each."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    local = local_flats(X, 4)
    assert (local.dims(0.5) == 1).all()
    assert (local.dims(0.51) == 2).all()


def test_more_neighbours_than_rows():
    X, _ = planted_oriented(3, ((1, 30),), noise=0, random_state=0)
    finder = COPAC(500).fit(X)
    assert finder.n_neighbors_ == 30
    assert finder.clustering_.n_clusters == 1
    assert finder.flat_dims_.tolist() == [1]
