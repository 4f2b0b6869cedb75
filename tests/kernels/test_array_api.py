"""The kernels that take arrays of other libraries, held to what NumPy gives."""

from __future__ import annotations

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import seeds

from subscape.arrays import tanimoto as kernel
from subscape.arrays.device.array_api import (
    from_numpy,
    in_smaller_blocks,
    is_device_array,
    shared_namespace,
    to_numpy,
)
from subscape.arrays.tanimoto import (
    cross_products,
    intersections,
    products,
    projective_similarities,
    tanimoto,
)
from subscape.core.errors import SubscapeError

ELSEWHERE = xp.Device("device1")


def same(found, expected, atol=1e-12):
    assert is_device_array(found)
    np.testing.assert_allclose(to_numpy(found), expected, rtol=0, atol=atol)


def clusters(seed, hard):
    rng = np.random.default_rng(seed)
    memberships = rng.random((7, 30)) < 0.4
    memberships = memberships if hard else memberships * rng.random((7, 30))
    weights = rng.dirichlet(np.ones(5), 7)
    return memberships, weights


@given(seeds, st.booleans(), st.sampled_from(["tanimoto", "fast"]), st.booleans())
@settings(deadline=None, max_examples=40)
def test_similarities_are_those_of_numpy(seed, hard, how, with_weights):
    memberships, weights = clusters(seed, hard)
    memberships[0] = 0  # a cluster that lost its rows
    expected = projective_similarities(memberships, weights if with_weights else None, how)
    found = projective_similarities(
        xp.asarray(memberships), xp.asarray(weights) if with_weights else None, how
    )
    same(found, expected)


def test_zero_vectors_have_nothing_in_common():
    found = tanimoto(xp.zeros((2, 2)), xp.asarray([0.0, 1.0]), xp.asarray([0.0, 1.0]))
    np.testing.assert_array_equal(to_numpy(found), 0.0)


@pytest.mark.parametrize("dtype", [np.bool_, np.int64, np.float64])
def test_products_of_any_type(dtype, monkeypatch):
    monkeypatch.setattr(kernel, "MOST_VALUES", 7 * 8)
    monkeypatch.setattr(kernel, "LEAST_COLUMNS", 4)
    memberships, _ = clusters(3, hard=True)
    given_rows = memberships.astype(dtype)
    exact = given_rows.astype(float) @ given_rows.T.astype(float)
    same(products(xp.asarray(given_rows)), exact, atol=0)
    same(cross_products(xp.asarray(given_rows), xp.asarray(given_rows[:3])), exact[:, :3], atol=0)


def test_single_precision_stays_single():
    memberships, weights = clusters(4, hard=False)
    single = [xp.asarray(side.astype(np.float32)) for side in (memberships, weights)]
    found = projective_similarities(*single)
    assert found.dtype == xp.float32
    same(found, projective_similarities(memberships, weights), atol=1e-5)


def test_intersections_count_cells():
    rng = np.random.default_rng(5)
    rows, masks = rng.random((6, 20)) < 0.5, rng.random((6, 4)) < 0.5
    cells = np.einsum("cn,cp->cnp", rows, masks).reshape(6, -1).astype(float)
    same(intersections(xp.asarray(rows), xp.asarray(masks)), cells @ cells.T, atol=0)
    np.testing.assert_array_equal(intersections(rows, masks), cells @ cells.T)


def test_mixed_devices_are_named():
    here, there = xp.ones((2, 3)), xp.ones((2, 3), device=ELSEWHERE)
    with pytest.raises(SubscapeError, match=r"memberships on .*CPU_DEVICE.*weights on .*device1"):
        projective_similarities(here, there)
    with pytest.raises(SubscapeError, match=r"masks on numpy cpu"):
        intersections(here, np.ones((2, 3)))
    with pytest.raises(SubscapeError, match="different devices"):
        cross_products(np.ones((2, 3)), here)


def test_results_stay_on_their_device():
    memberships, weights = clusters(6, hard=True)
    found = projective_similarities(
        xp.asarray(memberships, device=ELSEWHERE), xp.asarray(weights, device=ELSEWHERE)
    )
    assert found.device == ELSEWHERE
    same(found, projective_similarities(memberships, weights))


def test_copies_there_and_back():
    values = np.arange(6.0).reshape(2, 3)
    there = from_numpy(values, xp.ones(1, device=ELSEWHERE))
    assert there.device == ELSEWHERE
    np.testing.assert_array_equal(to_numpy(there), values)
    assert to_numpy(values) is values


def test_a_library_that_is_missing_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"subscape\[gpu\]"):
        shared_namespace(X=xp.ones(2))


class OutOfMemoryError(RuntimeError):
    """Called as those of torch and cupy are."""


def test_out_of_memory_takes_smaller_blocks_then_says_so():
    tried = []

    def work(rows):
        tried.append(rows)
        if rows > 100:
            raise OutOfMemoryError
        return "done"

    assert in_smaller_blocks(work, 1000, 10, "it") == "done"
    assert tried == [1000, 500, 250, 125, 62]
    with pytest.raises(MemoryError, match=r"the sum does not fit.*1000 rows at a time"):
        in_smaller_blocks(work, 1000, 600, "the sum")


def test_other_errors_pass():
    def work(rows):
        raise KeyError(rows)

    with pytest.raises(KeyError):
        in_smaller_blocks(work, 10, 1, "it")
