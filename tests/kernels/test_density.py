"""Density-connected sets: the twins agree, and both agree with scikit-learn's DBSCAN."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from subscape.finders.axis.subclu.density import density_clusters


def random_case(seed, order=2.0):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 120)), int(rng.integers(1, 5))
    columns = rng.uniform(0, rng.choice([2, 5, 10]), size=(p, n))
    if rng.random() < 0.3:
        columns = np.round(columns * 2) / 2  # many rows at distance 1 exactly, and duplicates
    rows = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False)).astype(np.int32)
    dims = np.sort(rng.choice(p, int(rng.integers(1, p + 1)), replace=False)).astype(np.int32)
    return columns, rows, dims, rng.random(n) < 0.9, int(rng.integers(1, 6)), order


@pytest.mark.parametrize("order", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", range(60))
def test_twins_agree(seed, order):
    case = random_case(seed, order)
    for fast, slow in zip(density_clusters(*case), density_clusters.reference(*case), strict=True):
        np.testing.assert_array_equal(fast, slow)
        assert fast.dtype == slow.dtype


@pytest.mark.parametrize("seed", range(20))
def test_core_rows_and_components_are_those_of_dbscan(seed):
    columns, rows, dims, _, min_samples, _ = random_case(seed)
    everything = np.ones(columns.shape[1], dtype=bool)
    found = density_clusters(columns, rows, dims, everything, min_samples, 2.0)
    points = columns[np.ix_(dims, rows)].T
    theirs = DBSCAN(eps=1.0, min_samples=min_samples).fit(points)
    cores = np.split(found.rows[found.core], np.cumsum(_cores_per_cluster(found))[:-1])
    expected = [
        rows[theirs.core_sample_indices_][theirs.labels_[theirs.core_sample_indices_] == label]
        for label in range(theirs.labels_.max() + 1)
    ]
    assert {tuple(part) for part in cores if len(part)} == {tuple(part) for part in expected}


def _cores_per_cluster(found):
    return [
        found.core[first:end].sum()
        for first, end in zip(found.starts[:-1], found.starts[1:], strict=True)
    ]


@pytest.mark.parametrize("find", [density_clusters, density_clusters.reference])
def test_a_border_row_is_in_all_its_clusters(find):
    columns = np.array([[0.0, 0.1, 0.2, 1.15, 2.1, 2.2, 2.3]])
    every = np.arange(7, dtype=np.int32)
    found = find(columns, every, np.zeros(1, np.int32), np.ones(7, bool), 4, 2.0)
    assert [found.rows[:4].tolist(), found.rows[4:].tolist()] == [[0, 1, 2, 3], [3, 4, 5, 6]]
    assert found.rows[~found.core].tolist() == [0, 1, 3, 3, 5, 6]


@pytest.mark.parametrize("find", [density_clusters, density_clusters.reference])
def test_nothing_is_dense(find):
    none = find(
        np.zeros((1, 3)), np.empty(0, np.int32), np.zeros(1, np.int32), np.ones(3, bool), 2, 2.0
    )
    assert none.starts.tolist() == [0]
    apart = find(
        np.array([[0.0, 5.0, 10.0]]),
        np.arange(3, dtype=np.int32),
        np.zeros(1, np.int32),
        np.ones(3, bool),
        2,
        2.0,
    )
    assert apart.starts.tolist() == [0]
    assert len(apart.rows) == len(apart.core) == 0


@pytest.mark.parametrize("spread", [1e-9, 1.0, 1e6, 1e12])
def test_cells_do_not_depend_on_the_spread(spread):
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(3, 300)) * 0.2
    columns[:, 150:] += spread
    case = (
        np.ascontiguousarray(columns),
        np.arange(300, dtype=np.int32),
        np.arange(3, dtype=np.int32),
        np.ones(300, bool),
        5,
        2.0,
    )
    for fast, slow in zip(density_clusters(*case), density_clusters.reference(*case), strict=True):
        np.testing.assert_array_equal(fast, slow)
