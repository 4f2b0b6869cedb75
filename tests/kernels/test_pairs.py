"""Pairs of close rows: the twins agree, and each step agrees with plain NumPy and SciPy."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist

from subscape.finders.oriented.neighbours import pairs as kernels
from subscape.finders.oriented.neighbours.search import nearest_rows, pairs_within

#: Equal distances must not be parted by rounding, here as in the finders.
SLACK = 1 + 1e-9


def random_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(2, 60)), int(rng.integers(1, 5))))
    if seed % 3 == 0:
        X = np.round(X)  # copies, and rows at equal distances
    return X - X.mean(axis=0), rng


def as_set(pairs):
    return {frozenset(pair) for pair in pairs.tolist()}


def plain_pairs(X, radius):
    i, j = np.triu_indices(len(X), 1)
    return np.stack([i, j], axis=1)[pdist(X) <= radius].astype(np.int32)


@pytest.mark.parametrize("seed", range(30))
def test_twins_agree(seed):
    X, rng = random_rows(seed)
    n, p = X.shape
    starts = np.sort(rng.integers(0, n, (n, 2)), axis=1).astype(np.intp)
    stops = np.stack([starts[:, 1], np.full(n, n)], axis=1).astype(np.intp)
    for most in (10_000, 3):
        args = X, starts, stops, 0.8, most
        np.testing.assert_array_equal(
            kernels.close_pairs(*args), kernels.close_pairs.reference(*args)
        )
    pairs = plain_pairs(X, 1.0)
    near = np.stack([rng.permutation(n)[: min(n, 4)] for _ in range(n)]).astype(np.intp)
    axes = np.linalg.qr(rng.normal(size=(n, p, p)))[0]
    strong = rng.integers(0, p + 1, n).astype(np.intp)
    core = rng.random(n) < 0.6
    for name, args in [
        ("pair_covariances", (X, pairs)),
        ("local_covariances", (X, near)),
        ("pairs_on_flats", (X, pairs, axes, strong, 50.0, SLACK)),
        ("connect_pairs", (pairs, core)),
    ]:
        kernel = getattr(kernels, name)
        np.testing.assert_allclose(
            kernel(*args), kernel.reference(*args), rtol=1e-12, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("radius", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(10))
def test_all_pairs_within_a_radius(seed, radius):
    X, _ = random_rows(seed)
    radius *= SLACK
    found = pairs_within(X, radius)
    assert as_set(found.original()) == as_set(plain_pairs(X, radius))
    assert len(as_set(found.pairs)) == len(found.pairs)
    np.testing.assert_allclose(pdist(found.rows), pdist(X[found.order]), atol=1e-10)


@pytest.mark.parametrize("p", [2, 20])
def test_nearest_rows(p):
    X = np.random.default_rng(p).normal(size=(80, p))
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    np.testing.assert_array_equal(nearest_rows(X, 7), np.argsort(apart, axis=1)[:, :7])
    np.testing.assert_array_equal(nearest_rows(X, 80), np.argsort(apart, axis=1))


@pytest.mark.parametrize("seed", range(10))
def test_covariances_of_neighbourhoods(seed):
    X, _ = random_rows(seed)
    pairs = plain_pairs(X, 1.0)
    found = kernels.pair_covariances(X + 1e4, pairs)
    for i in range(len(X)):
        near = np.unique(np.append(pairs[(pairs == i).any(axis=1)], i))
        expected = np.atleast_2d(np.cov(X[near].T, ddof=0)) if len(near) > 1 else 0.0
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_weighted_distances_from_both_ends(seed):
    X, rng = random_rows(seed)
    n, p = X.shape
    pairs = plain_pairs(X, 2.0)
    axes = np.linalg.qr(rng.normal(size=(n, p, p)))[0]
    strong = rng.integers(0, p + 1, n).astype(np.intp)
    found = kernels.pairs_on_flats(X, pairs, axes, strong, 20.0, 2.0 * SLACK)
    for close, (i, j) in zip(found, pairs, strict=True):
        step, far = X[j] - X[i], []
        for row in (i, j):
            weights = np.r_[np.full(p - strong[row], 20.0), np.ones(strong[row])]
            far.append(step @ (axes[row].T * weights) @ axes[row] @ step)
        assert close == (max(far) <= 4.0 * SLACK)


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_core_rows(seed):
    X, rng = random_rows(seed)
    n, pairs, core = len(X), plain_pairs(X, 0.7), rng.random(len(X)) < 0.5
    labels = kernels.connect_pairs(pairs, core)
    inner = pairs[core[pairs].all(axis=1)]
    graph = coo_array((np.ones(len(inner)), tuple(inner.T)), shape=(n, n))
    component = connected_components(graph, directed=False)[1]
    cores = np.flatnonzero(core)
    np.testing.assert_array_equal(
        labels[cores][:, None] == labels[cores], component[cores][:, None] == component[cores]
    )
    first = [int(np.argmax(labels[cores] == k)) for k in range(labels.max(initial=-1) + 1)]
    assert first == sorted(first)
    for i in np.flatnonzero(~core):
        partners = np.setdiff1d(pairs[(pairs == i).any(axis=1)], [i])
        hosts = partners[core[partners]]
        assert labels[i] == (labels[hosts[0]] if len(hosts) else -1)


@pytest.mark.parametrize("kernel", [kernels.close_pairs, kernels.close_pairs.reference])
def test_rows_just_as_far_as_the_radius_are_close(kernel):
    """Whole numbers: nothing is rounded. 3, 4 and 5 make a right angle."""
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 5.0], [9.0, 9.0]])
    everywhere = np.zeros((4, 1), np.intp), np.full((4, 1), 4)
    assert kernel(X, *everywhere, 5.0, 10).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert kernel(X, *everywhere, 4.999, 10).tolist() == [[1, 2]]
    # The search ends once there are more than asked for.
    assert len(kernel(X, *everywhere, 5.0, 1)) == 2
