"""Views are independent, separated as stated, and live in the stated subspaces."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from subscape.datasets import planted_views


def unrotated_views(made):
    """Each view's rows in its own coordinates, and what is left as noise."""
    table = made.X @ made.rotation
    widths = [int(truth.subspaces.dims[0]) for truth in made.clusterings]
    return np.split(table, np.cumsum(widths), axis=1)


@pytest.mark.parametrize(
    ("n_clusters", "p"), [((3, 3), 10), ((4, 3), 10), ((5, 4, 3), 10), ((5, 4, 3), 30), ((2,), 3)]
)
def test_views_are_as_stated(n_clusters, p):
    for seed in range(3):
        made = planted_views(1000, p, n_clusters=n_clusters, random_state=seed)
        X, truths = made
        assert X.shape == (1000, p)
        np.testing.assert_allclose(made.rotation.T @ made.rotation, np.eye(p), atol=1e-12)
        *views, noise = unrotated_views(made)
        np.testing.assert_allclose(noise.std(axis=0), 1, rtol=0.12)
        start = 0
        for k, truth, view, centers in zip(n_clusters, truths, views, made.centers, strict=True):
            width = min(2, k - 1)
            assert truth.kind == "oriented"
            assert truth.is_partition
            assert np.ptp(truth.sizes) <= 1
            assert truth.n_clusters == k
            assert view.shape[1] == width
            basis = made.rotation[:, start : start + width]
            for stored in truth.subspaces.bases:
                np.testing.assert_array_equal(stored, basis)
            labels = truth.labels()
            means = np.array([view[labels == i].mean(axis=0) for i in range(k)])
            np.testing.assert_allclose(means, centers @ basis, atol=0.35)
            gaps = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(k, 1)]
            assert gaps.min() == pytest.approx(6.0)
            residuals = view - (centers @ basis)[labels]
            np.testing.assert_allclose(residuals.std(axis=0), 1, rtol=0.12)
            start += width


def test_views_are_independent_and_each_shows_in_its_own_subspace_only():
    made = planted_views(1000, 10, n_clusters=(4, 3, 2), random_state=0)
    labels = made.label_matrix
    assert labels.shape == (1000, 3)
    for i, (truth, centers) in enumerate(zip(made.clusterings, made.centers, strict=True)):
        basis = truth.subspaces.bases[0]
        gaps = np.linalg.norm((made.X @ basis)[:, None] - centers @ basis, axis=2)
        assert adjusted_rand_score(labels[:, i], gaps.argmin(axis=1)) > 0.97
        for j, other in enumerate(made.clusterings):
            if i == j:
                continue
            assert normalized_mutual_info_score(labels[:, i], labels[:, j]) < 0.02
            view = made.X @ other.subspaces.bases[0]
            means = np.array([view[labels[:, i] == k].mean(axis=0) for k in range(len(centers))])
            assert (means[labels[:, i]].var(axis=0) < 0.02 * view.var(axis=0)).all()


def test_rotation_hides_the_views_from_the_features():
    made = planted_views(1000, 10, random_state=0)
    relevance = made.clusterings[0].subspaces.relevance[0]
    assert relevance.sum() == pytest.approx(2)
    assert relevance.max() < 0.9


def test_without_rotation_views_are_sets_of_features():
    made = planted_views(500, 7, n_clusters=(3, 4), dims=(2, 3), rotate=False, random_state=0)
    assert [truth.kind for truth in made.clusterings] == ["axis", "axis"]
    first, second = (truth.subspaces.masks for truth in made.clusterings)
    assert np.flatnonzero(first[0]).tolist() == [0, 1]
    assert np.flatnonzero(second[0]).tolist() == [2, 3, 4]
    assert (first == first[0]).all() and (second == second[0]).all()
    assert (made.rotation == np.eye(7)).all()
    labels = made.clusterings[1].labels()
    means = np.array([made.X[labels == i].mean(axis=0) for i in range(4)])
    np.testing.assert_allclose(means, made.centers[1] + means * ~second[0], atol=0.4)


def test_sizes_separation_and_noise():
    made = planted_views(
        1000,
        6,
        n_clusters=(3, 2),
        dims=2,
        sizes=((0.5, 0.3, 0.2), None),
        separation=3.5,
        noise_sd=5.0,
        random_state=1,
    )
    assert made.clusterings[0].sizes.tolist() == [500, 300, 200]
    assert made.clusterings[1].sizes.tolist() == [500, 500]
    for k, centers in zip((3, 2), made.centers, strict=True):
        gaps = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(k, 1)]
        assert gaps.min() == pytest.approx(3.5)
    np.testing.assert_allclose(unrotated_views(made)[-1].std(axis=0), 5, rtol=0.1)


def test_number_of_features_follows_from_the_views_and_noise():
    assert planted_views(50, None, n_clusters=(3, 3), noise_dims=3, random_state=0).X.shape[1] == 7
    assert planted_views(50, None, n_clusters=3, random_state=0).X.shape[1] == 2
    assert planted_views(50, 9, n_clusters=(3, 3), noise_dims=5, random_state=0).X.shape[1] == 9


def test_missing_at_random():
    complete = planted_views(2000, 10, random_state=0)
    made = planted_views(2000, 10, missing=0.2, random_state=0)
    absent = np.isnan(made.X)
    assert absent.sum() == 4000
    assert (made.X[~absent] == complete.X[~absent]).all()
    assert all(a == b for a, b in zip(made.clusterings, complete.clusterings, strict=True))
    z = (complete.X - complete.X.mean(axis=0)) / complete.X.std(axis=0)
    assert abs(z[absent].mean()) < 0.05


def test_missing_not_at_random_prefers_large_values():
    complete = planted_views(2000, 10, random_state=0)
    made = planted_views(2000, 10, missing=0.2, missing_at_random=False, random_state=0)
    absent = np.isnan(made.X)
    assert absent.sum() == 4000
    z = (complete.X - complete.X.mean(axis=0)) / complete.X.std(axis=0)
    assert z[absent].mean() > 0.7
    assert z[~absent].mean() < -0.1
    # Still chance: some small values are missing, some large ones are not.
    assert z[absent].min() < -0.5 and z[~absent].max() > 1.5


def test_seeds():
    a, b, c = (planted_views(random_state=seed) for seed in (1, 1, 2))
    assert (a.X == b.X).all()
    assert a.clusterings[1] == b.clusterings[1]
    assert a.clusterings[1] != c.clusterings[1]
    assert a.clusterings[0].labels().tolist() != a.clusterings[1].labels().tolist()
    assert repr(a) == "PlantedViews(1000 x 10, views of 3, 3 clusters)"


def test_tiny_missing_share_of_a_tiny_table_is_none():
    made = planted_views(5, None, n_clusters=2, missing=0.01, random_state=0)
    assert not np.isnan(made.X).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(n_clusters=(3, 1)), "n_clusters must be at least 2 .*noise dimension"),
        (dict(n_clusters=()), "one per view"),
        (dict(n_clusters=(3, 3), n_rows=2), "need as many rows"),
        (dict(dims=(2, 2, 2)), "one number per view, 2, got 3"),
        (dict(dims=0), "dims must be at least 1"),
        (dict(dims=6), "views need 12 dimensions, but n_features is 10"),
        (dict(noise_dims=4), "do not add up to n_features=10"),
        (dict(noise_dims=-1), "noise_dims must be"),
        (dict(separation=-1), "separation must be"),
        (dict(noise_sd=-1), "noise_sd must be"),
        (dict(sizes=((0.5, 0.5),)), "one entry per view, 2, got 1"),
        (dict(sizes=((0.5, 0.5), None)), "sizes of view 0 must hold 3 numbers"),
        (dict(sizes=(None, (500, 300, 100))), "sizes of view 1 add up to 900"),
        (dict(missing=1.0), "missing must be"),
    ],
)
def test_bad_values_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        planted_views(**parameters)


@pytest.mark.parametrize(
    ("n_rows", "said"),
    [(0, "n_rows must be"), (1, "n_clusters=3 clusters need as many rows, got n_rows=1"),
     (2, "got n_rows=2")],
)  # fmt: skip
def test_as_many_rows_as_clusters(n_rows, said):
    with pytest.raises(ValueError, match=said):
        planted_views(n_rows, 6, n_clusters=(2, 3))
    X, truths = planted_views(3, 6, n_clusters=(2, 3), random_state=0)
    assert X.shape == (3, 6) and [truth.n_clusters for truth in truths] == [2, 3]
