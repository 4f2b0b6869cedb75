import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.cluster import KMeans

from subscape.core.errors import SubscapeError
from subscape.datasets import planted_oriented
from subscape.finders import KFlats
from subscape.finders.oriented.flats import Flat, fitted_flat, squared_residuals
from subscape.finders.oriented.kflats.descent import descend
from subscape.finders.oriented.kflats.rows import HeldFlatRows
from subscape.measures import adjusted_rand_score, clustering_error


def crossing_lines(n=60):
    t = np.linspace(-1, 1, n)[:, None]
    return np.concatenate([t * [[1.0, 1.0, 0.0]], t * [[1.0, -1.0, 0.5]]]) + 3.0


def test_residuals_are_distances_to_the_flat():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    basis = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    flat = Flat(rng.normal(size=5), basis)
    projector = np.eye(5) - basis @ basis.T
    expected = np.square((X - flat.centre) @ projector).sum(axis=1)
    np.testing.assert_allclose(squared_residuals(X, [flat])[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(40, 6), (5, 30)])
def test_a_fitted_flat_is_the_best_one(shape):
    X = np.random.default_rng(1).normal(size=shape)
    flat = fitted_flat(X, 2)
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert squared_residuals(X, [flat]).sum() == pytest.approx(np.square(singular[2:]).sum())
    np.testing.assert_allclose(flat.basis.T @ flat.basis, np.eye(2), atol=1e-12)


def test_noiseless_lines_are_recovered_exactly():
    X = crossing_lines()
    finder = KFlats(n_clusters=2, flat_dim=1, random_state=0).fit(X)
    assert finder.inertia_ == pytest.approx(0, abs=1e-12)
    flats = finder.clustering_.complement().subspaces
    truth = [np.array([[1.0], [1.0], [0.0]]), np.array([[1.0], [-1.0], [0.5]])]
    closest = [min(subspace_angles(b, t).max() for b in flats.spanning().bases) for t in truth]
    assert max(closest) < 1e-6
    assert finder.clustering_.subspaces.dims.tolist() == [2, 2]


def test_points_instead_of_flats_are_k_means():
    X, _ = planted_oriented(4, ((1, 60), (2, 60)), random_state=2)
    start = X[:3] - X.mean(axis=0)
    flats = [Flat(c, np.zeros((4, 0))) for c in start]
    ours = descend(HeldFlatRows(X - X.mean(axis=0), [0, 0, 0], 0), flats, 300)
    theirs = KMeans(3, init=start, n_init=1, tol=0).fit(X - X.mean(axis=0))
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    assert ours.cost == pytest.approx(theirs.inertia_)


def test_cost_never_rises():
    X, _ = planted_oriented(5, ((1, 50), (2, 80)), random_state=0)
    X = X - X.mean(axis=0)
    rng = np.random.default_rng(0)
    flats = [fitted_flat(X[rng.choice(len(X), 3)], 1) for _ in range(3)]
    costs = [descend(HeldFlatRows(X, [1, 1, 1], 0), flats, steps).cost for steps in range(1, 15)]
    assert (np.diff(costs) <= 1e-12).all()


def test_rows_end_with_their_closest_flat_however_few_the_steps():
    X, _ = planted_oriented(5, ((1, 50), (2, 80)), random_state=0)
    X = X - X.mean(axis=0)
    rng = np.random.default_rng(0)
    flats = [fitted_flat(X[rng.choice(len(X), 3)], 1) for _ in range(3)]
    for steps in (1, 2, 5):
        fit = descend(HeldFlatRows(X, [1, 1, 1], 10), flats, steps)
        residuals = squared_residuals(X, fit.flats)
        kept = fit.labels >= 0
        assert fit.n_iter == steps and (~kept).sum() == 10
        np.testing.assert_array_equal(fit.labels[kept], residuals.argmin(axis=1)[kept])
        assert fit.cost == pytest.approx(residuals.min(axis=1)[kept].sum())


@pytest.mark.parametrize("seed", range(3))
def test_planted_flats_in_ten_dimensions(seed):
    X, truth = planted_oriented(10, ((2, 100),) * 4, noise=0.1, random_state=seed)
    finder = KFlats(n_clusters=4, flat_dim=2, noise=0.1, random_state=0).fit(X)
    assert clustering_error(finder.clustering_, truth) < 0.02


def test_lines_and_a_plane_with_noise():
    X, truth = planted_oriented(3, ((1, 300), (1, 300), (2, 400)), noise=0.1, random_state=2)
    finder = KFlats(n_clusters=3, flat_dim=(1, 1, 2), noise=0.1, random_state=0).fit(X)
    assert adjusted_rand_score(truth, finder.labels_) > 0.9
    assert sorted(finder.flat_dims_) == [1, 1, 2]


def test_rotating_the_data_rotates_the_result():
    X, _ = planted_oriented(4, ((1, 80), (2, 80)), noise=0.0, random_state=1)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    one = KFlats(2, flat_dim=(1, 2), random_state=0).fit(X)
    two = KFlats(2, flat_dim=(1, 2), random_state=0).fit(X @ turn)
    assert adjusted_rand_score(one.labels_, two.labels_) == 1
    assert one.inertia_ == pytest.approx(two.inertia_)


def test_predict_agrees_with_the_fit():
    X = crossing_lines()
    finder = KFlats(2, random_state=0).fit(X)
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)


def test_bad_parameters():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(SubscapeError, match="flat_dim=3 fills a table of 3 features"):
        KFlats(2, flat_dim=3).fit(X)
    with pytest.raises(SubscapeError, match="3 entries for n_clusters=2"):
        KFlats(2, flat_dim=(1, 1, 1)).fit(X)
