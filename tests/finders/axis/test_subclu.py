"""SUBCLU against DBSCAN in every subspace, and planted clusters."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import DBSCAN
from sklearn.exceptions import ConvergenceWarning

from subscape.datasets import planted_axes
from subscape.finders import SUBCLU
from subscape.measures import clustering_error


def random_table(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(30, 150)), int(rng.integers(2, 6))
    X = rng.uniform(size=(n_rows, n_columns))
    for _ in range(3):
        rows = rng.choice(n_rows, n_rows // 4, replace=False)
        columns = rng.choice(n_columns, int(rng.integers(1, n_columns + 1)), replace=False)
        X[np.ix_(rows, columns)] = rng.uniform(size=len(columns)) + 0.05 * rng.normal(
            size=(len(rows), len(columns))
        )
    return X, float(rng.choice([0.05, 0.1, 0.15])), int(rng.integers(2, 8))


def brute_force(X, eps, min_samples, metric="euclidean"):
    """DBSCAN in every subspace, with all rows in reach of core rows: (columns, rows, cores)."""
    found = set()
    for d in range(1, X.shape[1] + 1):
        for columns in combinations(range(X.shape[1]), d):
            distance = cdist(X[:, columns], X[:, columns], metric)
            theirs = DBSCAN(eps=eps, min_samples=min_samples, metric="precomputed").fit(distance)
            core = np.zeros(len(X), dtype=bool)
            core[theirs.core_sample_indices_] = True
            for label in range(theirs.labels_.max() + 1):
                inner = core & (theirs.labels_ == label)
                rows = (distance[:, inner] <= eps).any(axis=1) & (inner | ~core)
                found.add((columns, tuple(np.flatnonzero(rows)), tuple(np.flatnonzero(inner))))
    return found


def clusters_of(finder):
    found = finder.clustering_
    return {
        (tuple(found.cluster(k).features), tuple(found.cluster(k).rows), tuple(cores))
        for k, cores in enumerate(finder.core_rows_)
    }


@pytest.mark.parametrize("seed", range(40))
def test_all_clusters_of_all_subspaces_are_found(seed):
    X, eps, min_samples = random_table(seed)
    finder = SUBCLU(eps, min_samples, report="all").fit(X)
    expected = brute_force(X, eps, min_samples)
    assert clusters_of(finder) == expected
    assert finder.clustering_.n_clusters == len(expected)


@pytest.mark.parametrize(("metric", "theirs"), [("manhattan", "cityblock"), ("chebyshev",) * 2])
@pytest.mark.parametrize("seed", range(5))
def test_other_distances(seed, metric, theirs):
    X, eps, min_samples = random_table(seed)
    finder = SUBCLU(eps, min_samples, metric=metric, report="all").fit(X)
    assert clusters_of(finder) == brute_force(X, eps, min_samples, theirs)


@pytest.mark.parametrize("seed", range(5))
def test_maximal_clusters_are_not_repeated_in_more_features(seed):
    X, eps, min_samples = random_table(seed)
    every = clusters_of(SUBCLU(eps, min_samples, report="all").fit(X))
    finder = SUBCLU(eps, min_samples, report="maximal").fit(X)

    def repeated(columns, rows):
        return any(
            set(columns) < set(other) and len(set(rows) & set(others)) >= 0.9 * len(rows)
            for other, others, _ in every
        )

    assert clusters_of(finder) == {c for c in every if not repeated(c[0], c[1])}


def test_parts_of_planted_subspaces_hold_their_clusters():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 100, size=(500, 10))
    planted = {(0, 1): range(100), (3, 4, 5): range(100, 200), (6, 7, 8, 9): range(200, 300)}
    for columns, rows in planted.items():
        X[np.ix_(rows, columns)] = rng.uniform(20, 80, len(columns)) + rng.normal(
            size=(len(rows), len(columns))
        )
    found = clusters_of(SUBCLU(4.0, 20, report="all").fit(X))
    for columns, rows in planted.items():
        for d in range(1, len(columns) + 1):
            for part in combinations(columns, d):
                assert any(c == part and set(rows) <= set(members) for c, members, _ in found)
    default = SUBCLU().fit(X).clustering_
    assert {tuple(default.cluster(k).features) for k in range(len(default))} == set(planted)


def test_uniform_noise_has_no_clusters_in_several_features():
    X = np.random.default_rng(0).uniform(size=(500, 5))
    found = clusters_of(SUBCLU(0.02, 8, report="all").fit(X))
    assert all(len(columns) == 1 for columns, _, _ in found)
    assert SUBCLU().fit(X).clustering_.n_clusters == 0


@pytest.mark.parametrize("dims", [4, 8, 12, 18])
def test_defaults_find_planted_clusters(dims):
    X, truth = planted_axes(500, 20, n_clusters=5, dims=dims, random_state=2)
    finder = SUBCLU().fit(X)
    assert clustering_error(finder.clustering_, truth) <= 0.02
    assert finder.clustering_.n_clusters == 5
    masks = {tuple(mask) for mask in finder.clustering_.subspaces.masks}
    assert masks == {tuple(mask) for mask in truth.subspaces.masks}


def test_clusters_of_any_shape():
    """A ring in two features, which no box and no centre describes."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(900, 4))
    angle = rng.uniform(0, 2 * np.pi, 600)
    X[:600, 1] = np.cos(angle) + 0.03 * rng.normal(size=600)
    X[:600, 3] = np.sin(angle) + 0.03 * rng.normal(size=600)
    finder = SUBCLU(0.15, 12, report="all", min_dims=2, max_dims=2).fit(X)
    largest = [
        k
        for k in range(len(finder.clustering_))
        if finder.clustering_.cluster(k).features.tolist() == [1, 3]
    ]
    sizes = finder.clustering_.sizes[largest]
    ring = finder.clustering_.cluster(largest[int(sizes.argmax())])
    assert np.isin(np.arange(600), ring.rows).all()
    assert len(ring.rows) < 720


def test_columns_and_rows_in_any_order():
    X, _ = planted_axes(300, 8, n_clusters=3, dims=3, random_state=5)
    plain = SUBCLU().fit(X).clustering_
    columns = np.random.default_rng(0).permutation(8)
    moved = SUBCLU().fit(X[:, columns]).clustering_
    assert moved.embed(features=columns, shape=X.shape) == plain
    rows = np.random.default_rng(1).permutation(300)
    shuffled = SUBCLU().fit(X[rows]).clustering_
    assert shuffled.embed(rows=rows, shape=X.shape) == plain


def test_units_of_measurement_matter_only_with_a_given_radius():
    X, _ = planted_axes(300, 8, n_clusters=3, dims=3, random_state=5)
    stretched = X * 2.0 ** np.arange(8)
    plain = SUBCLU().fit(X)
    assert SUBCLU().fit(stretched).clustering_ == plain.clustering_
    np.testing.assert_array_equal(SUBCLU().fit(X).labels_, plain.labels_)
    assert SUBCLU(0.05).fit(stretched).clustering_ != SUBCLU(0.05).fit(X).clustering_


def test_reported_clusters_are_density_connected():
    X, _ = planted_axes(400, 10, n_clusters=3, dims=4, noise=0.2, random_state=1)
    finder = SUBCLU(0.06, 8).fit(X)
    assert finder.clustering_.n_clusters == 3
    for k, cores in enumerate(finder.core_rows_):
        cluster = finder.clustering_.cluster(k)
        points = X[np.ix_(cluster.rows, cluster.features)]
        theirs = DBSCAN(eps=0.06, min_samples=8).fit(points)
        assert (theirs.labels_ == 0).all()
        np.testing.assert_array_equal(cluster.rows[theirs.core_sample_indices_], cores)
    assert (finder.radii_ == 0.06).all()


def test_dims_are_kept_within_limits():
    X, _ = planted_axes(300, 8, n_clusters=3, dims=4, random_state=5)
    dims = SUBCLU(min_dims=2, max_dims=3).fit(X).clustering_.subspaces.masks.sum(axis=1)
    assert len(dims) and dims.min() >= 2 and dims.max() <= 3
    with pytest.raises(ValueError, match="min_dims=9"):
        SUBCLU(min_dims=9).fit(X)


@pytest.mark.parametrize("report", ["nonredundant", "all"])
def test_too_many_subspaces_end_the_search_with_a_warning(report):
    X, _ = planted_axes(300, 20, n_clusters=3, dims=12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_candidates"):
        finder = SUBCLU(report=report, max_candidates=300).fit(X)
    assert finder.clustering_.n_clusters > 0


def test_time_ends_the_search_with_a_warning():
    X, _ = planted_axes(400, 25, n_clusters=3, dims=20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = SUBCLU(0.1, 5, report="all", max_time=0.3).fit(X)
    assert finder.clustering_.n_clusters > 0
