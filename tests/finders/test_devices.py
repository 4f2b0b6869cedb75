"""Finders over tensors: the same clusters as over NumPy arrays, and tensors beside the table."""

from __future__ import annotations

import array_api_strict as xp
import numpy as np
import pytest

from subscape.arrays.blocks import as_blocks
from subscape.arrays.device.array_api import is_device_array, to_numpy
from subscape.arrays.device.blocks import DeviceBlocks
from subscape.core.errors import ConstantFeatureWarning, FewDistinctRowsWarning, SubscapeError
from subscape.datasets import planted_axes, planted_oriented
from subscape.finders import LAC, PROCLUS, KFlats

ELSEWHERE = xp.Device("device1")


class OutOfMemoryError(RuntimeError):
    """Called as those of torch and cupy are."""


@pytest.fixture(scope="module")
def boxes():
    X, _ = planted_axes(6500, 8, n_clusters=3, dims=4, random_state=1)
    return np.asarray(X) + 5.0


@pytest.fixture(scope="module")
def flats():
    X, _ = planted_oriented(5, ((1, 3500), (2, 3500)), noise=0.03, random_state=0)
    return np.asarray(X) + 3.0


def tensor(X, dtype=np.float64, device=ELSEWHERE):
    return xp.asarray(X.astype(dtype), device=device)


@pytest.fixture
def passes(monkeypatch):
    """Counts the passes that were made on the device."""
    made, in_blocks = [], DeviceBlocks.in_blocks

    def counted(X, work, width, what):
        if what.startswith("a pass over"):
            made.append(len(X))
        return in_blocks(X, work, width, what)

    monkeypatch.setattr(DeviceBlocks, "in_blocks", counted)
    return made


# -- LAC -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("objective", ["monotone", "lac"])
def test_lac(boxes, passes, dtype, objective):
    settings = {"n_clusters": 3, "objective": objective, "n_init": 4, "random_state": 0}
    here = LAC(**settings).fit(boxes.astype(dtype))
    there = LAC(**settings).fit(tensor(boxes, dtype))
    assert passes and set(passes) == {len(boxes)}
    for array in (there.labels_, there.weights_, there.cluster_centers_, there.scale_):
        assert array.device == ELSEWHERE
    np.testing.assert_array_equal(to_numpy(there.labels_), here.labels_)
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    for name in ("weights_", "cluster_centers_", "scale_"):
        np.testing.assert_allclose(
            to_numpy(getattr(there, name)), getattr(here, name), atol=tolerance
        )
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-5)
    assert there.clustering_.rows_only() == here.clustering_.rows_only()
    np.testing.assert_allclose(
        there.clustering_.subspaces.weights, here.clustering_.subspaces.weights, atol=tolerance
    )


def test_new_rows_for_lac(boxes, passes):
    here = LAC(3, n_init=3, random_state=0).fit(boxes)
    there = LAC(3, n_init=3, random_state=0).fit(tensor(boxes))
    expected = here.predict(boxes[:99])
    passes.clear()
    placed = there.predict(tensor(boxes[:99]))
    assert placed.device == ELSEWHERE and passes == [99]
    np.testing.assert_array_equal(to_numpy(placed), expected)
    np.testing.assert_array_equal(there.predict(boxes[:99]), expected)
    np.testing.assert_array_equal(to_numpy(here.predict(tensor(boxes[:99]))), expected)
    with pytest.raises(SubscapeError, match="3 features, but LAC was fitted with 8"):
        there.predict(tensor(boxes[:9, :3]))


def test_soft_memberships_and_constant_columns(boxes):
    wide = np.column_stack([boxes, np.full(len(boxes), 2.0)])
    settings = {"n_clusters": 3, "assignment": "soft", "n_init": 3, "random_state": 0}
    with pytest.warns(ConstantFeatureWarning):
        here = LAC(**settings).fit(wide)
    with pytest.warns(ConstantFeatureWarning):
        there = LAC(**settings).fit(tensor(wide))
    np.testing.assert_array_equal(to_numpy(there.labels_), here.labels_)
    assert there.clustering_.isclose(here.clustering_)
    assert float(xp.max(xp.abs(there.weights_[:, 8]))) == 0.0


def test_given_centres_and_one_that_nobody_is_near(boxes, passes):
    start = boxes[[0, 1, 2, 3]]
    start[3] = 1e3
    here = LAC(4, init=start, max_iter=30).fit(boxes)
    for given in (start, tensor(start)):
        there = LAC(4, init=given, max_iter=30).fit(tensor(boxes))
        np.testing.assert_array_equal(to_numpy(there.labels_), here.labels_)
    assert here.clustering_.n_clusters == 4 and passes
    with pytest.raises(SubscapeError, match=r"X on .*device1.*init on .*CPU_DEVICE"):
        LAC(4, init=tensor(start, device=None)).fit(tensor(boxes))


# -- KFlats ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_kflats(flats, passes, dtype, noise):
    settings = {"n_clusters": 2, "flat_dim": (1, 2), "noise": noise, "n_init": 3, "n_swaps": 2}
    here = KFlats(**settings, random_state=0).fit(flats.astype(dtype))
    there = KFlats(**settings, random_state=0).fit(tensor(flats, dtype))
    assert passes and set(passes) == {len(flats)}
    assert there.labels_.device == there.centres_.device == ELSEWHERE
    np.testing.assert_array_equal(to_numpy(there.labels_), here.labels_)
    assert (here.labels_ < 0).sum() == round(noise * len(flats))
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(to_numpy(there.centres_), here.centres_, atol=tolerance)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-9 if dtype == np.float64 else 1e-2)
    for mine, theirs in zip(
        there.clustering_.subspaces.bases, here.clustering_.subspaces.bases, strict=True
    ):
        np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=tolerance)


def test_new_rows_for_kflats(flats, passes):
    settings = {"n_clusters": 2, "flat_dim": (1, 2), "n_init": 3, "n_swaps": 2, "random_state": 0}
    here, there = KFlats(**settings).fit(flats), KFlats(**settings).fit(tensor(flats))
    passes.clear()
    placed = there.predict(tensor(flats[:80]))
    assert placed.device == ELSEWHERE and passes == [80]
    np.testing.assert_array_equal(to_numpy(placed), here.predict(flats[:80]))
    np.testing.assert_array_equal(there.predict(flats[:80]), here.predict(flats[:80]))


def test_a_flat_that_runs_empty_starts_anew(flats):
    from subscape.finders.base import Watch
    from subscape.finders.oriented.flats import Flat
    from subscape.finders.oriented.kflats.descent import FlatsFit, finish_on_all_rows

    X = flats - flats.mean(axis=0)
    far = Flat(np.full(5, 1e4), np.eye(5)[:, :1])
    start = FlatsFit([Flat(np.zeros(5), np.eye(5)[:, :1]), far], np.zeros(0, np.int64), 0.0, 0)
    arguments = X[:400], start, [1, 1], 0, 20, Watch("KFlats", None, None)
    here = finish_on_all_rows(as_blocks(X), *arguments)
    there = finish_on_all_rows(as_blocks(tensor(X)), *arguments)
    np.testing.assert_array_equal(there.labels, here.labels)
    assert len(np.unique(here.labels)) == 2
    assert (there.n_iter, there.cost) == (here.n_iter, pytest.approx(here.cost, rel=1e-9))


# -- all of them -----------------------------------------------------------------------------------


def test_small_tables_are_searched_in_memory(boxes, passes):
    few = boxes[:400]
    here, there = (LAC(3, random_state=0).fit(X) for X in (few, tensor(few)))
    np.testing.assert_array_equal(to_numpy(there.labels_), here.labels_)
    assert there.labels_.device == ELSEWHERE and not passes


def test_few_distinct_rows():
    X = np.repeat([[0.0, 1.0], [2.0, 5.0]], 40, axis=0)
    with pytest.warns(FewDistinctRowsWarning):
        found = LAC(3, random_state=0).fit(tensor(X))
    assert found.clustering_.n_clusters == 2
    with pytest.warns(FewDistinctRowsWarning):
        found = KFlats(2, random_state=0).fit(tensor(np.ones((30, 3))))
    assert is_device_array(found.centres_) and found.centres_.shape == (1, 3)


def test_missing_values_are_refused(boxes):
    holes = boxes.copy()
    holes[5, 1] = np.nan
    for finder in (LAC(3), KFlats(2)):
        with pytest.raises(SubscapeError, match="contains NaN"):
            finder.fit(tensor(holes))


def test_a_finder_without_passes_there_copies_the_rows(boxes):
    here, there = (PROCLUS(3, random_state=0).fit(X) for X in (boxes, tensor(boxes)))
    assert isinstance(there.labels_, np.ndarray)
    np.testing.assert_array_equal(there.labels_, here.labels_)


@pytest.mark.parametrize(
    "finder", [LAC(3, n_init=2, random_state=0), KFlats(2, n_init=2, n_swaps=1, random_state=0)]
)
def test_out_of_memory_takes_smaller_blocks(finder, boxes, monkeypatch):
    expected = finder.fit(boxes).labels_
    refused, parts = [], DeviceBlocks.parts

    def little_memory(self, size):
        for rows, block in parts(self, size):
            if block.shape[0] > 3300:
                refused.append(block.shape[0])
                raise OutOfMemoryError
            yield rows, block

    monkeypatch.setattr(DeviceBlocks, "parts", little_memory)
    np.testing.assert_array_equal(to_numpy(finder.fit(tensor(boxes)).labels_), expected)
    assert refused

    def no_memory(self, size):
        raise OutOfMemoryError

    monkeypatch.setattr(DeviceBlocks, "parts", no_memory)
    with pytest.raises(MemoryError, match="does not fit into the device's memory"):
        finder.fit(tensor(boxes))
