"""Kernels for several clusterings at once: the compiled twin and a plain loop agree."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.finders.views.nrkmeans.kernel import cell_sums, nearest_in_views


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(1,), (3,), (2, 4), (5, 4, 3)])
def test_twins_agree(dtype, sizes):
    rng = np.random.default_rng(len(sizes))
    scores = rng.integers(0, 4, size=(50, sum(sizes))).astype(dtype)  # many ties
    starts = np.cumsum([0, *sizes], dtype=np.intp)
    labels = nearest_in_views(scores, starts)
    np.testing.assert_array_equal(labels, nearest_in_views.reference(scores, starts))
    assert labels.dtype == np.int32 and labels.shape == (50, len(sizes))
    X = rng.normal(size=(50, 7)).astype(dtype)
    X.flags.writeable = False
    found = cell_sums(X, labels, np.array(sizes))
    expected = cell_sums.reference(X, labels, np.array(sizes))
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.sums, expected.sums, atol=1e-12)
    assert found.sums.dtype == np.float64


def test_nearest_by_a_plain_loop():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(30, 9))
    starts = np.array([0, 2, 5, 9])
    labels = nearest_in_views(scores, starts)
    for r in range(30):
        for s in range(3):
            part = scores[r, starts[s] : starts[s + 1]].tolist()
            assert labels[r, s] == part.index(min(part))


@pytest.mark.parametrize("kernel", [cell_sums, cell_sums.reference])
def test_sums_of_views_are_sums_over_cells_and_unlabelled_rows_are_left_out(kernel):
    rng = np.random.default_rng(4)
    sizes = (3, 2, 4)
    labels = np.column_stack([rng.integers(0, k, 60) for k in sizes]).astype(np.int32)
    labels[:5, 1] = -1
    X = rng.normal(size=(60, 3))
    cells = kernel(X, labels, np.array(sizes))
    assert cells.counts.sum() == 55
    cube = cells.sums.reshape(*sizes, 3)
    for i in range(4):
        rows = (labels[:, 2] == i) & (labels[:, 1] >= 0)
        np.testing.assert_allclose(cube.sum(axis=(0, 1))[i], X[rows].sum(axis=0), atol=1e-12)
