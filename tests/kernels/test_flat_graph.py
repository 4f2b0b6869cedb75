"""Rows on each other's flats: the twins agree, and both agree with all distances."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from subscape.finders.oriented.copac.flat_graph import count_mutual, grow_mutual


def random_case(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 60)), int(rng.integers(1, 6))
    c = int(rng.integers(1, p + 1))
    X = rng.normal(size=(n, p))
    axes = np.linalg.qr(rng.normal(size=(n, p, p)))[0]
    if seed % 2:
        # Flats within a few degrees of each other: many mutual rows.
        axes = np.linalg.qr(axes[0] + 0.05 * rng.normal(size=(n, p, p)))[0]
    across = np.ascontiguousarray(axes[:, :c])
    # Every third case leaves the directions of the flats out.
    along = np.ascontiguousarray(axes[:, p if seed % 3 == 0 else c :])
    return X, across, along, float(rng.uniform(0.05, 2)), float(rng.uniform(0, 0.1)), rng


def mutual(X, across, along, radius, turn):
    """All pairs of rows, one by one."""
    n = len(X)
    far, tilt = np.empty((n, n)), np.zeros((n, n))
    for i in range(n):
        far[i] = np.linalg.norm((X - X[i]) @ across[i].T, axis=1)
        for j in range(n):
            for direction in along[j]:
                off = direction - along[i].T @ (along[i] @ direction)
                tilt[i, j] = max(tilt[i, j], off @ off)
    return (np.maximum(far, far.T) <= radius) & (np.maximum(tilt, tilt.T) <= turn)


@pytest.mark.parametrize("seed", range(40))
def test_twins_agree(seed):
    X, across, along, radius, turn, rng = random_case(seed)
    n = len(X)
    rows = np.flatnonzero(rng.random(n) < 0.7)
    order, enough = rng.permutation(n), int(rng.integers(1, 8))
    args = X, across, along, rows, order, radius, turn, enough
    np.testing.assert_array_equal(count_mutual(*args), count_mutual.reference(*args))
    core = rng.random(n) < 0.6
    args = X, across, along, core, radius, turn
    np.testing.assert_array_equal(grow_mutual(*args), grow_mutual.reference(*args))


@pytest.mark.parametrize("seed", range(20))
def test_counts_and_groups_against_all_distances(seed):
    X, across, along, radius, turn, rng = random_case(seed)
    n = len(X)
    near = mutual(X, across, along, radius, turn)
    counts = count_mutual(X, across, along, np.arange(n), rng.permutation(n), radius, turn, n)
    np.testing.assert_array_equal(counts, near.sum(axis=1))
    core = near.sum(axis=1) >= 3
    labels = grow_mutual(X, across, along, core, radius, turn)
    component = connected_components(near & core & core[:, None], directed=False)[1]
    cores = np.flatnonzero(core)
    np.testing.assert_array_equal(
        labels[cores][:, None] == labels[cores], component[cores][:, None] == component[cores]
    )
    for i in np.flatnonzero(~core):
        hosts = np.flatnonzero(near[i] & core)
        assert labels[i] == (labels[hosts[0]] if len(hosts) else -1)
