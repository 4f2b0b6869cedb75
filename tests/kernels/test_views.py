"""Kernels for several clusterings at once: the compiled twin and a plain loop agree."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.finders.views.nrkmeans.kernel import cell_sums, far_rows, nearest_in_views, settle
from subscape.finders.views.nrkmeans.steps import iterate


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


def greedy(inside, k, first, chances):
    """Greedy k-means++, row by row."""
    rows = [first]
    for chance in chances[: k - 1]:
        closest = np.min([np.square(inside - inside[r]).sum(axis=1) for r in rows], axis=0)
        places = np.cumsum(closest)
        if places[-1] == 0:
            break
        tried = np.minimum(np.searchsorted(places, chance * places[-1]), len(inside) - 1)
        left = [
            np.minimum(closest, np.square(inside - inside[row]).sum(axis=1)).sum() for row in tried
        ]
        rows.append(tried[int(np.argmin(left))])
    return rows


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("d", [1, 3, 8])
def test_far_rows_are_the_textbooks(seed, d):
    rng = np.random.default_rng(seed)
    inside = rng.normal(size=(90, d)) + 5 * rng.integers(0, 3, (90, 1))
    chances = rng.random((5, 3))
    wanted = greedy(inside, 6, 4, chances)
    assert far_rows(inside, 6, 4, chances).tolist() == wanted
    assert far_rows.reference(inside, 6, 4, chances).tolist() == wanted


def test_far_rows_end_where_all_places_are_taken():
    inside = np.repeat([[0.0], [2.0]], 4, axis=0)
    for run in (far_rows, far_rows.reference):
        assert run(inside, 5, 1, np.full((4, 2), 0.5)).tolist() in ([1, 4], [1, 5])
    assert far_rows(inside, 1, 3, np.zeros((0, 2))).tolist() == [3]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("d", [1, 4])
def test_settled_starts_are_those_of_the_steps(seed, d):
    rng = np.random.default_rng(seed)
    inside = rng.normal(size=(120, d)) + 4 * rng.integers(0, 3, (120, 1))
    starts = rng.normal(size=(3, 4, d)) * 3
    starts[2, 3] = 1e3  # loses all its rows
    found, slow = settle(inside, starts, 20), settle.reference(inside, starts, 20)
    assert found.emptied.tolist() == slow.emptied.tolist()
    assert found.emptied[2]
    np.testing.assert_array_equal(found.labels[~found.emptied], slow.labels[~found.emptied])
    np.testing.assert_allclose(
        found.factors[~found.emptied], slow.factors[~found.emptied], atol=1e-12
    )
    for start, labels, factor, emptied in zip(starts, *found, strict=True):
        run = iterate(inside, (np.eye(d),), (start,), False, 0.0, 20, turning=False)
        if not emptied:
            np.testing.assert_array_equal(run.labels[:, 0], labels)
            assert run.explained == pytest.approx(np.square(factor).sum(), rel=1e-12)
