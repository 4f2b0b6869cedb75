"""Rows on each other's flats: the twins agree, and both agree with all distances."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from subscape.kernels.flat_graph import count_mutual, grow_mutual


def random_case(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 60)), int(rng.integers(1, 6))
    c = int(rng.integers(1, p + 1))
    X = rng.normal(size=(n, p))
    axes = np.linalg.qr(rng.normal(size=(n, p, p)))[0]
    if seed % 2:
        axes[:] = axes[0]  # parallel flats: many mutual rows
    across = np.ascontiguousarray(axes[:, :c])
    return X, across, float(rng.uniform(0.05, 2)), rng


def mutual(X, across, radius):
    n = len(X)
    far = np.empty((n, n))
    for i in range(n):
        far[i] = np.linalg.norm((X - X[i]) @ across[i].T, axis=1)
    return np.maximum(far, far.T) <= radius


@pytest.mark.parametrize("seed", range(40))
def test_twins_agree(seed):
    X, across, radius, rng = random_case(seed)
    n = len(X)
    rows = np.flatnonzero(rng.random(n) < 0.7)
    order, enough = rng.permutation(n), int(rng.integers(1, 8))
    args = X, across, rows, order, radius, enough
    np.testing.assert_array_equal(count_mutual(*args), count_mutual.reference(*args))
    core = rng.random(n) < 0.6
    np.testing.assert_array_equal(
        grow_mutual(X, across, core, radius), grow_mutual.reference(X, across, core, radius)
    )


@pytest.mark.parametrize("seed", range(20))
def test_counts_and_groups_against_all_distances(seed):
    X, across, radius, rng = random_case(seed)
    n = len(X)
    near = mutual(X, across, radius)
    every = np.arange(n)
    np.testing.assert_array_equal(
        count_mutual(X, across, every, rng.permutation(n), radius, n), near.sum(axis=1)
    )
    core = near.sum(axis=1) >= 3
    labels = grow_mutual(X, across, core, radius)
    component = connected_components(near & core & core[:, None], directed=False)[1]
    cores = np.flatnonzero(core)
    np.testing.assert_array_equal(
        labels[cores][:, None] == labels[cores], component[cores][:, None] == component[cores]
    )
    for i in np.flatnonzero(~core):
        hosts = np.flatnonzero(near[i] & core)
        assert labels[i] == (labels[hosts[0]] if len(hosts) else -1)
