"""Units of a grid: the twins agree, and closed units are those of a full enumeration."""

from itertools import product

import numpy as np
import pytest

from subscape.arrays.bitsets import count
from subscape.finders.axis.grid import units as kernels


def random_grid(seed):
    """Bins, items in descending order of the rows they ask for, and these numbers."""
    rng = np.random.default_rng(seed)
    n, p, b = int(rng.integers(5, 90)), int(rng.integers(1, 6)), int(rng.integers(2, 5))
    bins = rng.integers(0, b, size=(p, n)).astype(np.uint16)
    if rng.random() < 0.5:
        bins[:, : n // 2] = bins[:, :1]
    column = np.repeat(np.arange(p), b).astype(np.int32)
    value = np.tile(np.arange(b), p).astype(np.int32)
    uneven = rng.random() < 0.5
    least = rng.integers(1, 8, p * b) if uneven else np.full(p * b, rng.integers(1, 5))
    order = np.argsort(-least, kind="stable")
    return bins, column[order], value[order], least[order].astype(np.int64)


def every_row(bins):
    return np.arange(bins.shape[1], dtype=np.int32)


def assert_same(fast, slow):
    for a, b in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def closed_by_enumeration(bins, column, value, least):
    """All closed dense units with their rows, and whether they are maximal."""
    choices = [[-1, *np.flatnonzero(column == j)] for j in range(len(bins))]
    dense = {}
    for choice in product(*choices):
        unit = frozenset(int(item) for item in choice if item >= 0)
        if not unit:
            continue
        inside = np.all([bins[column[k]] == value[k] for k in unit], axis=0)
        if inside.sum() >= max(least[k] for k in unit):
            dense[unit] = int(inside.sum())
    larger = {unit: [other for other in dense if other > unit] for unit in dense}
    return {
        tuple(sorted(unit)): (size, not larger[unit])
        for unit, size in dense.items()
        if all(dense[other] < size for other in larger[unit])
    }


@pytest.mark.parametrize("seed", range(40))
def test_twins_agree(seed):
    rng = np.random.default_rng(seed)
    bins, column, value, least = random_grid(seed)
    some = np.sort(rng.choice(bins.shape[1], int(rng.integers(0, bins.shape[1])), replace=False))
    packing = (bins, some.astype(np.int32), column, value)
    np.testing.assert_array_equal(
        kernels.pack_items(*packing), kernels.pack_items.reference(*packing)
    )
    items = kernels.pack_items(bins, every_row(bins), column, value)
    units = rng.integers(0, len(items), size=(30, 3)).astype(np.int32)
    np.testing.assert_array_equal(
        kernels.count_units(items, units), kernels.count_units.reference(items, units)
    )
    for root in range(len(items)):
        for limit in (40, 10**9):
            case = (items, least, root, limit, 1e9)
            assert_same(kernels.closed_units(*case), kernels.closed_units.reference(*case))
    unit = rng.integers(0, 3, size=len(some)).astype(np.int32)
    case = (bins[0], some.astype(np.int32), unit, rng.integers(1, 9, 3), rng.integers(1, 9, 5))
    assert_same(kernels.refine_units(*case), kernels.refine_units.reference(*case))
    cells = np.unique(rng.integers(0, 4, size=(25, 3)), axis=0).astype(np.int32)
    rng.shuffle(cells)
    np.testing.assert_array_equal(
        kernels.face_components(cells), kernels.face_components.reference(cells)
    )


@pytest.mark.parametrize("seed", range(40))
def test_closed_units_are_complete(seed):
    bins, column, value, least = random_grid(seed)
    items = kernels.pack_items(bins, every_row(bins), column, value)
    found = {}
    for root in range(len(items)):
        branch = kernels.closed_units(items, least, root, 10**9, 1e9)
        assert branch.complete
        for u, unit in enumerate(np.split(branch.items, branch.starts[1:-1])):
            if len(branch.counts):
                assert tuple(unit) not in found
                found[tuple(unit)] = (branch.counts[u], branch.maximal[u])
    assert found == closed_by_enumeration(bins, column, value, least)


def test_closed_units_stop_at_their_limits():
    bins, column, value, least = random_grid(1)
    items = kernels.pack_items(bins, every_row(bins), column, value)
    assert not kernels.closed_units(items, least, 0, 0, 1e9).complete
    assert not kernels.closed_units(items, least, 0, 10**9, -1.0).complete


def test_counts_of_long_units():
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 2, size=(6, 40_000)).astype(np.uint16)  # several blocks of words
    column, value = np.arange(6, dtype=np.int32), np.zeros(6, dtype=np.int32)
    items = kernels.pack_items(bins, every_row(bins), column, value)
    units = np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 3, 4, 5], [1, 2, 3, 4]], dtype=np.int32)
    expected = [(bins[unit] == 0).all(axis=0).sum() for unit in units]
    assert kernels.count_units(items, units).tolist() == expected
    assert count(items).tolist() == (bins == 0).sum(axis=1).tolist()
    ones = np.arange(6, dtype=np.int32)[:, None]
    assert kernels.count_units(items, ones).tolist() == count(items).tolist()
