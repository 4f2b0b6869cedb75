"""NrKMeans over arrays that follow the standard gives what it gives over NumPy arrays."""

from __future__ import annotations

import warnings

import array_api_strict as xp
import numpy as np
import pytest

from subscape.arrays.device import sums as device_sums
from subscape.arrays.device.array_api import is_device_array, to_numpy
from subscape.arrays.device.blocks import DeviceBlocks
from subscape.core.errors import ConstantFeatureWarning, SubscapeError
from subscape.datasets import planted_views
from subscape.finders import NrKMeans
from subscape.finders.views.nrkmeans import device_rows as device_views
from subscape.finders.views.nrkmeans.device_rows import DeviceRows
from subscape.finders.views.nrkmeans.steps import iterate

ELSEWHERE = xp.Device("device1")


@pytest.fixture(scope="module")
def views():
    X, _ = planted_views(3000, 10, n_clusters=(4, 3), random_state=0)
    return X + 5.0


@pytest.fixture(scope="module")
def of_numpy(views):
    return NrKMeans((4, 3, 1), random_state=0).fit(views)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_views_as_numpy(views, of_numpy, dtype):
    found = NrKMeans((4, 3, 1), random_state=0).fit(xp.asarray(views.astype(dtype)))
    for array in (found.labels_, found.label_matrix_, *found.components_, *found.cluster_centers_):
        assert is_device_array(array)
    np.testing.assert_array_equal(to_numpy(found.label_matrix_), of_numpy.label_matrix_)
    assert found.clusterings_[1].isclose(of_numpy.clusterings_[1]) or dtype == np.float32
    tolerance = 1e-9 if dtype == np.float64 else 1e-3
    for name in ("components_", "cluster_centers_", "importances_"):
        for there, here in zip(getattr(found, name), getattr(of_numpy, name), strict=True):
            np.testing.assert_allclose(to_numpy(there), here, rtol=0, atol=tolerance)
    assert found.inertia_ == pytest.approx(of_numpy.inertia_, rel=1e-5)
    np.testing.assert_array_equal(found.dims_, of_numpy.dims_)


def test_new_rows_on_the_device(views, of_numpy):
    found = NrKMeans((4, 3, 1), random_state=0).fit(xp.asarray(views))
    new = xp.asarray(views[:50])
    expected = of_numpy.predict(views[:50], view="all")
    np.testing.assert_array_equal(to_numpy(found.predict(new, view="all")), expected)
    np.testing.assert_array_equal(found.predict(views[:50], view="all"), expected)
    for view in (0, "noise", None):
        inside = found.transform(new, view)
        assert is_device_array(inside)
        np.testing.assert_allclose(
            np.square(to_numpy(inside)).sum(axis=1),
            np.square(of_numpy.transform(views[:50], view)).sum(axis=1),
            rtol=1e-9,
        )
    with pytest.raises(SubscapeError, match="3 features, but NrKMeans was fitted with 10"):
        found.predict(new[:, :3])


def test_outliers_and_all_dimensions(views):
    for options in ({"noise": True}, {"noise_space": "rank"}):
        here = NrKMeans((4, 3, 1), random_state=1, **options).fit(views)
        there = NrKMeans((4, 3, 1), random_state=1, **options).fit(xp.asarray(views))
        np.testing.assert_array_equal(to_numpy(there.label_matrix_), here.label_matrix_)


def test_tables_that_are_searched_as_a_whole(views):
    few = views[:300]
    here = NrKMeans((4, 3, 1), random_state=0).fit(few)
    there = NrKMeans((4, 3, 1), random_state=0).fit(xp.asarray(few, device=ELSEWHERE))
    assert there.labels_.device == ELSEWHERE
    np.testing.assert_array_equal(to_numpy(there.label_matrix_), here.label_matrix_)
    constant = np.column_stack([views, np.ones(len(views))])
    with pytest.warns(ConstantFeatureWarning):
        wide = NrKMeans((4, 3, 1), random_state=0).fit(xp.asarray(constant))
    assert wide.components_[0].shape[0] == 11
    assert float(xp.max(xp.abs(wide.components_[0][10, :]))) == 0.0


def test_missing_values_are_refused(views):
    holes = views.copy()
    holes[5, 1] = np.nan
    with pytest.raises(SubscapeError, match=r"NaN \(1 value in 'column 1'\)"):
        NrKMeans(random_state=0).fit(xp.asarray(holes))


def test_a_start_on_another_device_is_refused(views):
    basis = xp.eye(10, device=ELSEWHERE)
    start = ([basis[:, :1], basis[:, 1:2]], [xp.zeros((2, 10), device=ELSEWHERE)] * 2)
    with pytest.raises(SubscapeError, match="different devices"):
        NrKMeans((2, 2, 1), init=start).fit(xp.asarray(views))


def start_of(p, sizes, rng):
    turned = np.linalg.qr(rng.normal(size=(p, p)))[0]
    bases = (turned[:, :2], turned[:, 2:4])
    return bases, tuple(rng.normal(size=(size, p)) for size in sizes)


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_those_of_numpy(seed, monkeypatch):
    """Also with blocks and runs that don't divide the rows, and with clusters that run empty."""
    monkeypatch.setattr(device_views, "MOST_ROWS", 130)
    monkeypatch.setattr(device_views, "RUN", 32)
    monkeypatch.setattr(device_sums, "RUN", 32)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 6))
    X -= X.mean(axis=0)
    bases, centres = start_of(6, (4, 3), rng)
    centres[0][0] = 100.0  # nobody's nearest: refilled in the first step
    expected = iterate(X, bases, centres, True, 1e-9, 12)
    found = iterate(DeviceRows(xp.asarray(X)), bases, centres, True, 1e-9, 12)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert (found.n_iter, found.converged) == (expected.n_iter, expected.converged)
    assert found.explained == pytest.approx(expected.explained, rel=1e-12)
    for mine, theirs in zip(found.groups.counts, expected.groups.counts, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.min() > 0


class TwoPlaces:
    """Steps that write their labels to two places in turn, as those of the fused kernel do."""

    def __init__(self, X, sizes):
        self.X, self.sizes, self.places = X, tuple(sizes), [None, None]

    def step(self, weights, offsets, old):
        before = next((i for i, place in enumerate(self.places) if place is old), 0)
        found = device_views.product_step(self.X, weights, offsets, self.sizes, old)
        if self.places[1 - before] is None:
            self.places[1 - before] = found.labels
        self.places[1 - before][...] = found.labels
        return (self.places[1 - before], *found[1:])


@pytest.mark.parametrize("seed", range(3))
def test_labels_in_memory_that_is_written_to_again(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 6))
    X -= X.mean(axis=0)
    bases, centres = start_of(6, (4, 3), rng)
    centres[0][0] = 100.0  # nobody's nearest: refilled in the first step
    rows = DeviceRows(xp.asarray(X))
    expected = iterate(rows, bases, centres, True, 1e-9, 40)
    of_fewer = iterate(rows, bases[1:], centres[1:], True, 1e-9, 40)
    monkeypatch.setattr(device_views, "packed_halves", TwoPlaces)
    fused = DeviceRows(xp.asarray(X))
    found = iterate(fused, bases, centres, True, 1e-9, 40)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert (found.n_iter, found.explained) == (expected.n_iter, expected.explained)
    # A view that was lost is left out, and the rows are packed for the others.
    fewer = iterate(fused, bases[1:], centres[1:], True, 1e-9, 40)
    assert fused.packed((3,)).sizes == (3,)
    np.testing.assert_array_equal(fewer.labels, of_fewer.labels)


def test_more_clusters_than_fit_into_a_byte():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    start = (np.eye(2)[:, :1],), (X[:200].copy(),)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = iterate(DeviceRows(xp.asarray(X)), *start, True, 1e-9, 3)
    np.testing.assert_array_equal(found.labels, iterate(X, *start, True, 1e-9, 3).labels)


class OutOfMemoryError(RuntimeError):
    """Called as those of torch and cupy are."""


def test_out_of_memory_goes_on_in_blocks(views, of_numpy, monkeypatch):
    members, refused = device_views.one_hot, []

    def little_memory(labels, size):
        if labels.shape[0] > 700:
            refused.append(labels.shape[0])
            raise OutOfMemoryError
        return members(labels, size)

    monkeypatch.setattr(device_views, "one_hot", little_memory)
    monkeypatch.setattr(device_views, "RUN", 128)
    monkeypatch.setattr(device_views, "MOST_ROWS", 2048)
    found = NrKMeans((4, 3, 1), random_state=0).fit(xp.asarray(views))
    assert refused
    np.testing.assert_array_equal(to_numpy(found.label_matrix_), of_numpy.label_matrix_)
    monkeypatch.setattr(device_views, "RUN", 600)
    with pytest.raises(MemoryError, match="does not fit into the device's memory"):
        NrKMeans((4, 3, 1), random_state=0).fit(xp.asarray(views))


def test_a_copy_that_does_not_fit_is_said(views, monkeypatch):
    monkeypatch.setattr(DeviceBlocks, "held", None)
    with pytest.raises(MemoryError, match=r"centred copy of the table, and 3000 x 10 more values"):
        NrKMeans((4, 3, 1), random_state=0).fit(xp.asarray(views))
