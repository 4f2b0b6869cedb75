import numpy as np
import pytest

from subscape.core.errors import SubscapeError
from subscape.finders import ORCLUS
from subscape.finders.oriented.orclus import (
    OrientedRun,
    cluster_sums,
    joint_energies,
    merged_down,
    nearest,
    orclus,
    without_outliers,
)
from subscape.measures import adjusted_rand_score, clustering_error


def tight_clusters(seed, k=5, p=10, tight=3, n=150):
    """Gaussian clusters of deviation 0.05 in random directions and 1 in the others."""
    rng = np.random.default_rng(seed)
    parts, bases = [], []
    for _ in range(k):
        turn = np.linalg.qr(rng.normal(size=(p, p)))[0]
        spread = np.r_[np.full(tight, 0.05), np.ones(p - tight)]
        parts.append(rng.normal(size=(n, p)) * spread @ turn.T + rng.normal(scale=2, size=p))
        bases.append(turn[:, :tight])
    return np.concatenate(parts), np.repeat(np.arange(k), n), bases


def test_covariances_follow_from_the_sums():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    sums = cluster_sums(X, labels, 3)
    for k in range(3):
        np.testing.assert_allclose(
            sums.covariances()[k], np.cov(X[labels == k].T, bias=True), atol=1e-12
        )
    merged = sums.merged(0, 2)
    np.testing.assert_allclose(
        merged.covariances()[0], np.cov(X[labels != 1].T, bias=True), atol=1e-12
    )


def test_merging_follows_the_smallest_energy():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(60, 3)), np.repeat(np.arange(4), 15)
    sums = cluster_sums(X, labels, 4)
    energies = {}
    for i in range(4):
        for j in range(i + 1, 4):
            joint = X[(labels == i) | (labels == j)]
            energies[i, j] = np.linalg.eigvalsh(np.cov(joint.T, bias=True))[:2].sum()
            np.testing.assert_allclose(
                joint_energies(sums, i, np.array([j]), 2), [energies[i, j]], atol=1e-12
            )
    i, j = min(energies, key=energies.get)
    expected = sums.merged(i, j)
    np.testing.assert_allclose(merged_down(sums, 3, 2).sums, expected.sums)


def test_nearest_measures_in_each_subspace():
    rng = np.random.default_rng(2)
    X, centres = rng.normal(size=(40, 5)), rng.normal(size=(3, 5))
    bases = np.array([np.linalg.qr(rng.normal(size=(5, 2)))[0] for _ in range(3)])
    lengths = [np.square((X - c) @ b).sum(axis=1) for c, b in zip(centres, bases, strict=True)]
    np.testing.assert_array_equal(nearest(X, centres, bases), np.argmin(lengths, axis=0))
    eye = np.broadcast_to(np.eye(5), (3, 5, 5))
    full = np.square(X[:, None] - centres).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest(X, centres, eye), full)


def test_a_run_ends_with_just_k_clusters_of_the_wanted_dimension():
    X, _, _ = tight_clusters(0)
    run = orclus(X, 5, 3, 60, 0.5, 20, np.random.default_rng(0))
    assert len(np.unique(run.labels)) == 5
    assert run.bases.shape == (5, 10, 3)
    energy = 0.0
    for k in range(5):
        part = X[run.labels == k]
        energy += len(part) * np.linalg.eigvalsh(np.cov(part.T, bias=True))[:3].sum()
    assert run.energy == pytest.approx(energy / len(X))


@pytest.mark.parametrize("seed", range(3))
def test_tight_clusters_and_their_subspaces_are_found(seed):
    X, truth, bases = tight_clusters(seed)
    finder = ORCLUS(5, subspace_dim=3, random_state=0).fit(X)
    assert adjusted_rand_score(truth, finder.labels_) > 0.9
    from subscape import SubspaceClustering

    true = SubspaceClustering.from_labels(truth, bases=bases)
    assert clustering_error(finder.clustering_, true) < 0.1
    assert finder.flat_dims_.tolist() == [7] * 5
    assert finder.sparsity_coefficient_ < 0.05


def test_few_rows_in_many_features():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(2, 300)), 10, axis=0) + 0.01 * rng.normal(size=(20, 300))
    finder = ORCLUS(2, subspace_dim=300, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 10), finder.labels_) == 1
    assert finder.clustering_.subspaces.dims.tolist() == [300, 300]


def test_outliers_are_farther_than_the_nearest_other_centre():
    centres = np.array([[0.0, 0.0], [4.0, 0.0]])
    bases = np.array([[[1.0], [0.0]], [[0.0], [1.0]]])
    X = np.array([[3.9, 9.0], [4.1, 0.0], [4.0, 0.0], [4.0, 0.1]])
    run = OrientedRun(np.array([0, 0, 1, 1]), centres, bases, bases, 0.0, 1)
    # The other centre is 4 away from the first one along x, and 0 away from the second along y.
    assert without_outliers(X, run).tolist() == [0, -1, 1, -1]


def test_too_many_dimensions():
    with pytest.raises(SubscapeError, match="subspace_dim=4 is more than the 3 features"):
        ORCLUS(2, subspace_dim=4).fit(np.random.default_rng(0).normal(size=(20, 3)))
