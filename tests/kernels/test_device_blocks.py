"""Tables on a device, read in blocks: what they say in memory, and what becomes of them there."""

from __future__ import annotations

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import seeds

from subscape.arrays.blocks import as_blocks, check_blocks, is_source
from subscape.arrays.device import blocks as device_blocks
from subscape.arrays.device import sums as device_sums
from subscape.arrays.device.array_api import equal, to_numpy
from subscape.arrays.device.blocks import DeviceBlocks, fold_on_device, is_on_device, same_device
from subscape.arrays.device.sums import column_sums, row_counts, row_product
from subscape.core.errors import SubscapeError

ELSEWHERE = xp.Device("device1")


class OutOfMemoryError(RuntimeError):
    """Called as those of torch and cupy are."""


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 rows of 4 columns, sums over runs of 16."""
    monkeypatch.setattr(device_blocks, "MOST_VALUES", 256)
    for module in (device_blocks, device_sums):
        monkeypatch.setattr(module, "RUN", 16)


def table(seed=0, n=150, p=4, dtype=np.float64):
    return (np.random.default_rng(seed).normal(size=(n, p)) * 3 + 7).astype(dtype)


def whole(blocks, size=50):
    return np.concatenate([to_numpy(block) for _, block in blocks.parts(size)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_a_source_like_any_other(dtype):
    X = table(dtype=dtype)
    here, there = as_blocks(X), as_blocks(xp.asarray(X))
    assert is_source(xp.asarray(X)) and isinstance(there, DeviceBlocks) and is_on_device(there)
    assert not is_on_device(here)
    assert (there.shape, there.dtype, there.names) == (here.shape, here.dtype, None)
    np.testing.assert_array_equal(there.to_numpy(), X)
    np.testing.assert_array_equal(there.take([3, 0, 3]), X[[3, 0, 3]])
    np.testing.assert_array_equal(there.column(2), X[:, 2])
    np.testing.assert_array_equal(there.ranges.low, X.min(axis=0))
    np.testing.assert_array_equal(there.ranges.high, X.max(axis=0))
    np.testing.assert_allclose(there.means, here.means, rtol=1e-6)
    assert there.ranges.finite
    mapped = there.map(lambda block: block * 2)
    assert not is_on_device(mapped)
    np.testing.assert_array_equal(mapped.to_numpy(), X.astype(np.float64) * 2)
    np.testing.assert_array_equal(mapped.ranges.low, 2 * X.astype(np.float64).min(axis=0))


def test_columns_and_origin_are_those_of_numpy(small_blocks):
    X, factor = table(1), np.array([1.0, 2.0, 0.5])
    here = as_blocks(X).select([0, 2, 3])
    there = as_blocks(xp.asarray(X)).select([0, 2, 3])
    expected = here.recentred(here.ranges.low, here.means)
    found = there.recentred(there.ranges.low, there.means)
    np.testing.assert_allclose(whole(found), expected.to_numpy(), atol=1e-13)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), atol=1e-13)
    scaled = found.scaled(factor)
    np.testing.assert_allclose(whole(scaled), expected.scaled(factor).to_numpy(), atol=1e-13)
    np.testing.assert_allclose(
        to_numpy(scaled.rows(xp.asarray([5, 1]))), scaled.take([5, 1]), atol=1e-13
    )


def test_whole_numbers_become_float64():
    X = np.arange(12).reshape(4, 3)
    there = as_blocks(xp.asarray(X))
    assert next(iter(there.parts(4)))[1].dtype == xp.float64
    np.testing.assert_array_equal(there.to_numpy(), X.astype(np.float64))
    assert there.sample.dtype == xp.float64 and not there.single


def test_bad_values_are_found_and_named():
    X = table(2)
    X[7, 1], X[9, 3], X[:, 2] = np.nan, np.inf, np.nan
    low, high, finite = as_blocks(xp.asarray(X)).ranges
    expected = as_blocks(X).ranges
    np.testing.assert_array_equal(low, expected.low)
    np.testing.assert_array_equal(high, expected.high)
    assert not finite
    with pytest.raises(SubscapeError, match="NaN"):
        check_blocks(as_blocks(xp.asarray(X)), "LAC")
    with pytest.raises(TypeError, match="complex"):
        as_blocks(xp.asarray(table() * 1j))
    with pytest.raises(SubscapeError, match="2D"):
        as_blocks(xp.asarray(X[0]))


@given(seeds, st.integers(1, 90), st.booleans())
@settings(deadline=None, max_examples=30)
def test_sums_over_rows(seed, n, single):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    left, right = (rng.normal(size=(n, width)).astype(dtype) for width in (3, 5))
    before, device_sums.RUN = device_sums.RUN, 16
    try:
        found = row_product(xp.asarray(left), xp.asarray(right))
        sums = column_sums(xp.asarray(right))
        counts = row_counts(xp.asarray(left > 0), xp.asarray(right > 0))
    finally:
        device_sums.RUN = before
    assert found.dtype == sums.dtype == xp.float64
    exact = left.T.astype(np.float64) @ right.astype(np.float64)
    np.testing.assert_allclose(to_numpy(found), exact, atol=1e-5 if single else 1e-12)
    np.testing.assert_allclose(to_numpy(sums), right.sum(axis=0, dtype=np.float64), atol=1e-5)
    np.testing.assert_array_equal(to_numpy(counts), (left > 0).T.astype(int) @ (right > 0))


def test_sums_of_float32_keep_their_digits():
    """A million values near 1000 in one float32 sum would lose four digits."""
    X = (1000 + np.random.default_rng(0).normal(size=(200_000, 1))).astype(np.float32)
    found = float(column_sums(xp.asarray(X))[0])
    assert found == pytest.approx(X.sum(dtype=np.float64), rel=2e-7)


def test_folding_takes_smaller_blocks_where_memory_is_short(small_blocks):
    X, seen = table(3), []

    def stats(block, rows):
        seen.append(rows)
        if block.shape[0] > 20:
            raise OutOfMemoryError
        return column_sums(block), xp.asarray(block.shape[0])

    total, number = fold_on_device(stats, as_blocks(xp.asarray(X)), 4, "the sum")
    assert [rows.stop - rows.start for rows in seen[:3]] == [64, 32, 16]
    assert int(number) == 150
    np.testing.assert_allclose(to_numpy(total), X.sum(axis=0), rtol=1e-12)

    def never(block, rows):
        raise OutOfMemoryError

    with pytest.raises(MemoryError, match=r"the sum does not fit.*16 rows at a time"):
        fold_on_device(never, as_blocks(xp.asarray(X)), 4, "the sum")


def test_without_memory_for_a_copy_rows_are_moved_block_by_block(monkeypatch):
    X = table(4)
    there = as_blocks(xp.asarray(X)).recentred(X.mean(axis=0))

    class Little:
        """A library whose device has no room for new arrays of this size."""

        def __getattr__(self, name):
            return getattr(xp, name)

        def empty(self, shape, **options):
            raise OutOfMemoryError

    monkeypatch.setattr(device_blocks, "shared_namespace", lambda **arrays: Little())
    np.testing.assert_allclose(whole(there), X - X.mean(axis=0), atol=1e-13)
    assert there.held is None

    class Broken(Little):
        def empty(self, shape, **options):
            raise KeyError

    monkeypatch.setattr(device_blocks, "shared_namespace", lambda **arrays: Broken())
    with pytest.raises(KeyError):
        whole(as_blocks(xp.asarray(X)).recentred(X.mean(axis=0)))


def test_labels_elsewhere_are_refused():
    there = as_blocks(xp.asarray(table()))
    with pytest.raises(SubscapeError, match=r"X on .*CPU_DEVICE.*labels on .*device1"):
        same_device(there, labels=xp.zeros(150, device=ELSEWHERE))
    same_device(there, labels=xp.zeros(150))
    same_device(there, labels=np.zeros(150))
    same_device(as_blocks(table()), labels=xp.zeros(150, device=ELSEWHERE))


def test_equal_arrays():
    here, there = np.array([1, 2]), xp.asarray([1, 2], device=ELSEWHERE)
    assert equal(there, there) and equal(here, there) and equal(here, here)
    assert not equal(there, xp.asarray([1, 3], device=ELSEWHERE))
    assert not equal(there, xp.asarray([1, 2, 3], device=ELSEWHERE))
