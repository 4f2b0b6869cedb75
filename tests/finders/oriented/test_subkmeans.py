import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.cluster import KMeans, kmeans_plusplus

from subscape.datasets import planted_views
from subscape.finders import SubKMeans
from subscape.finders.oriented.subkmeans import (
    HeldRows,
    PassedRows,
    lloyd,
    shared_directions,
    spread_rows,
    starting_centres,
)
from subscape.measures import adjusted_rand_score, clustering_error


def textbook(X, labels, k, steps):
    """The published steps from given labels: rotate by the eigenvectors, assign in the subspace."""
    total = (X - X.mean(0)).T @ (X - X.mean(0))
    path = []
    for _ in range(steps):
        means = np.array([X[labels == i].mean(0) for i in range(k)])
        within = sum((X[labels == i] - means[i]).T @ (X[labels == i] - means[i]) for i in range(k))
        values, vectors = np.linalg.eigh(within - total)
        V = vectors[:, values < -1e-10 * np.abs(values).max()]
        labels = np.square((X @ V)[:, None] - means @ V).sum(2).argmin(1)
        path.append(labels)
    return path


@pytest.mark.parametrize("seed", range(4))
def test_the_labels_follow_the_published_steps(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 6)) + 2 * rng.integers(0, 2, size=(120, 6))
    labels = rng.integers(0, 3, 120)
    path = textbook(X, labels, 3, 14)
    centres = np.array([X[labels == i].mean(0) for i in range(3)])
    for steps in (1, 2, 5, 12):
        model = KMeans(3, init=centres, n_init=1, max_iter=steps, tol=0).fit(X)
        # scikit-learn assigns once more after its last step unless it has converged.
        assert any(np.array_equal(model.labels_, p) for p in path[steps - 1 : steps + 1])


def test_the_subspace_is_that_of_the_between_scatter():
    X, truths = planted_views(400, 8, n_clusters=(4,), dims=3, random_state=0)
    finder = SubKMeans(4, random_state=0).fit(X)
    assert adjusted_rand_score(truths[0], finder.labels_) > 0.95
    assert finder.dim_ == 3
    assert clustering_error(finder.clustering_, truths[0]) < 0.15
    true = truths[0].subspaces.spanning().bases[0]
    assert np.degrees(subspace_angles(finder.components_, true).max()) < 15


def test_at_most_k_minus_one_directions_strongest_first():
    rng = np.random.default_rng(0)
    centres, labels = rng.normal(size=(4, 9)), rng.integers(0, 4, 200)
    directions = shared_directions(centres, labels)
    assert directions.shape == (9, 3)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-12)
    counts = np.bincount(labels)
    middle = counts @ centres / counts.sum()
    spread = np.square((centres - middle) @ directions).T @ counts
    assert (np.diff(spread) <= 1e-9).all()


def test_predict_and_transform():
    X, _ = planted_views(200, 5, n_clusters=(3,), random_state=1)
    finder = SubKMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)
    np.testing.assert_allclose(finder.transform(X), X @ finder.components_)


def test_a_start_never_ends_worse_than_it_began():
    X, _ = planted_views(200, 6, n_clusters=(3,), random_state=2)
    centres = starting_centres(X, 3, np.random.SeedSequence(0))
    before = np.square(X[:, None] - centres).sum(axis=2).min(axis=1).sum()
    assert lloyd(HeldRows(X), centres, 300).inertia <= before + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_rows_held_and_rows_passed_over_take_the_same_steps(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 7)) ** 3
    X -= X.mean(axis=0)
    centres = X[rng.choice(300, 5, replace=False)]
    for steps in (1, 3, 300):
        held, passed = (lloyd(kind(X), centres, steps) for kind in (HeldRows, PassedRows))
        np.testing.assert_array_equal(held.labels, passed.labels)
        np.testing.assert_allclose(held.centres, passed.centres, atol=1e-12)
        assert held.inertia == pytest.approx(passed.inertia)
        assert held.n_iter == passed.n_iter <= steps
        away = np.square(X[:, None] - held.centres).sum(axis=2)
        np.testing.assert_array_equal(held.labels, away.argmin(axis=1))
        assert held.inertia == pytest.approx(away.min(axis=1).sum())


def test_a_centre_without_rows_gets_the_farthest_one():
    X = np.array([[0.0], [1.0], [2.0], [9.0]]) - 3.0
    run = lloyd(HeldRows(X), np.array([[0.0], [100.0]]), 10)
    assert run.labels.tolist() == [0, 0, 0, 1] and run.inertia == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [1, 3, 12])
def test_rows_to_begin_with_are_those_that_scikit_learn_draws(seed, k):
    X = np.random.default_rng(seed).normal(size=(80, 7))
    X -= X.mean(axis=0)
    other = kmeans_plusplus(X, k, random_state=seed)[1]
    np.testing.assert_array_equal(spread_rows(X, k, seed), other)


def test_rows_to_begin_with_are_told_where_all_are_alike():
    assert (spread_rows(np.ones((4, 2)), 3, 0) < 4).all()
