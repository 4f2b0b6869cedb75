"""Rows lie near the planted flats, spread along them, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.datasets import planted_oriented


def test_default():
    X, truth = planted_oriented(random_state=0)
    assert X.shape == truth.shape == (1111, 3)
    assert truth.kind == "oriented"
    assert truth.sizes.tolist() == [300, 300, 400]
    assert int((truth.labels() == -1).sum()) == 111
    assert truth.is_row_disjoint
    assert truth.subspaces.dims.tolist() == [2, 2, 1]
    assert truth.complement().subspaces.dims.tolist() == [1, 1, 2]


@pytest.mark.parametrize("p", [2, 3, 10])
@pytest.mark.parametrize("spread", [0.0, 0.005, 0.05])
def test_rows_are_alike_across_the_flat_and_spread_along_it(p, spread):
    flats = [(q, 2000 + q) for q in range(min(p, 5))]
    made = planted_oriented(p, flats, spread=spread, random_state=p)
    subspaces = made.clustering.subspaces
    flat_bases = made.clustering.complement().subspaces.bases
    assert subspaces.is_complement
    for k, (q, size) in enumerate(flats):
        rows = made.X[made.clustering.cluster(k).rows] - made.centers[k]
        assert len(rows) == size
        assert flat_bases[k].shape == (p, q)
        across = rows - rows @ flat_bases[k] @ flat_bases[k].T
        # Every direction across the flat has the stated spread ...
        eigenvalues = np.linalg.eigvalsh(across.T @ across / size)[q:]
        np.testing.assert_allclose(np.sqrt(eigenvalues), spread, rtol=0.12, atol=1e-12)
        # ... and rows are uniform in a unit cube along it.
        along = rows @ flat_bases[k]
        assert np.abs(along).max(initial=0) <= 0.5 + 1e-12
        covariance = along.T @ along / size
        np.testing.assert_allclose(covariance, np.eye(q) / 12, atol=0.01)


def test_truth_is_the_small_eigenvectors_of_the_rows():
    made = planted_oriented(5, ((2, 500), (3, 500)), random_state=4)
    for k, q in enumerate((2, 3)):
        rows = made.X[made.clustering.cluster(k).rows]
        _, vectors = np.linalg.eigh(np.cov(rows.T))
        estimated = vectors[:, : 5 - q] @ vectors[:, : 5 - q].T
        flat = made.clustering.complement().subspaces.bases[k]
        np.testing.assert_allclose(estimated, np.eye(5) - flat @ flat.T, atol=0.01)


def test_noise_fills_the_bounding_box_of_the_rest():
    X, truth = planted_oriented(3, ((1, 500), (2, 500)), noise=0.5, random_state=0)
    labels = truth.labels()
    noise, rest = X[labels == -1], X[labels >= 0]
    assert len(noise) == len(rest) == 1000
    low, high = rest.min(axis=0), rest.max(axis=0)
    assert (noise >= low).all() and (noise <= high).all()
    np.testing.assert_allclose(noise.std(axis=0), (high - low) * 12**-0.5, rtol=0.08)


def test_rows_are_in_random_order():
    _, truth = planted_oriented(random_state=0)
    assert 300 < np.count_nonzero(np.diff(truth.labels())) < 1000


def test_box_only_scales_and_moves():
    unit = planted_oriented(random_state=5)
    moved = planted_oriented(box=(-100, 100), random_state=5)
    np.testing.assert_allclose(moved.X, 200 * unit.X - 100, atol=1e-9)
    assert unit.clustering == moved.clustering
    middle = np.array([planted_oriented(random_state=s).centers for s in range(20)])
    assert middle.min() >= 0.35 and middle.max() <= 0.65


def test_a_line_in_many_dimensions_stays_one_vector():
    X, truth = planted_oriented(5000, ((1, 10),), noise=0.0, random_state=0)
    assert X.shape == (10, 5000)
    assert truth.subspaces.bases[0].shape == (5000, 1)
    assert truth.subspaces.dims.tolist() == [4999]
    assert truth.is_partition


def test_seeds():
    a, b, c = (planted_oriented(random_state=seed) for seed in (1, 1, 2))
    assert (a.X == b.X).all()
    assert a.clustering == b.clustering
    assert a.clustering != c.clustering
    assert (planted_oriented(random_state=np.random.default_rng(1)).X == a.X).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(flats=()), "at least one"),
        (dict(flats=((3, 10),)), "dimension of flat 0 must be between 0 and 2 .n_features is 3"),
        (dict(flats=((1, 10), (-1, 10))), "dimension of flat 1"),
        (dict(flats=((1, 0),)), "number of rows of flat 0 must be at least 1"),
        (dict(flats=(1, 2)), "must be pairs"),
        (dict(flats=((1, 2, 3),)), "must be pairs"),
        (dict(noise=1.0), "noise must be"),
        (dict(spread=-0.1), "spread must be"),
        (dict(spread=np.inf), "spread must be"),
        (dict(box=(1, 0)), "low < high"),
        (dict(box=(0, 1, 2)), "low < high"),
        (dict(box=(0, np.inf)), "box must be"),
        (dict(n_features=0), "n_features must be at least 1"),
    ],
)
def test_bad_values_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        planted_oriented(**parameters)


def test_bad_types_are_refused():
    with pytest.raises(TypeError, match="dimension of flat 0 must be an integer"):
        planted_oriented(flats=((1.5, 10),))
