"""k-means from many starts: against the textbook, both kernels, and what a step must be."""

import numpy as np
import pytest

from subscape.arrays import kmeans_starts
from subscape.arrays.kmeans_starts import (
    kmeans_labels,
    labels_along,
    labels_on_line,
    move_centres,
    move_rows,
    seed_rows,
)


def starts(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, (n, 1))
    sizes = np.array([2, 3, 5, 5], dtype=np.int64)
    return Z, sizes, rng.random((4, 5))


def lloyd(Z, k, chances, rounds):
    """The textbook's k-means from one start."""
    n = len(Z)
    centres = [Z[min(int(chances[0] * n), n - 1)]]
    for chance in chances[1:k]:
        near = np.min([np.square(Z - each).sum(axis=1) for each in centres], axis=0)
        reached = np.cumsum(near)
        row = np.searchsorted(reached, chance * reached[-1], side="left")
        centres.append(Z[min(int(row), n - 1)])
    centres = np.array(centres)
    labels = np.full(n, -1)
    for _ in range(rounds):
        now = np.square(Z[:, None] - centres).sum(axis=2).argmin(axis=1)
        if (now == labels).all():
            break
        labels = now
        for j in range(k):
            if (labels == j).any():
                centres[j] = Z[labels == j].mean(axis=0)
    return labels


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("d", [1, 2, 7])
def test_labels_are_the_textbooks(seed, d, monkeypatch):
    monkeypatch.setattr(kmeans_starts, "CELLS_AT_ONCE", 150)  # several blocks of rows
    Z, sizes, chances = starts(seed, d=d)
    Z -= Z.mean(axis=0)
    for rounds in (1, 3, 30):
        found = kmeans_labels(Z, sizes, chances, rounds)
        for labels, k, chance in zip(found, sizes, chances, strict=True):
            np.testing.assert_array_equal(labels, lloyd(Z, k, chance, rounds))


@pytest.mark.parametrize("seed", range(8))
def test_values_that_repeat_go_where_the_textbook_puts_them(seed):
    # Ties between two centres, centres in one place, clusters that lose their rows.
    rng = np.random.default_rng(seed)
    Z = rng.integers(0, 6, (40, 1)).astype(float)
    sizes = np.array([2, 3, 4, 6], dtype=np.int64)
    chances = rng.random((4, 6))
    for labels, k, chance in zip(kmeans_labels(Z, sizes, chances, 20), sizes, chances, strict=True):
        np.testing.assert_array_equal(labels, lloyd(Z, k, chance, 20))


@pytest.mark.parametrize("seed", range(8))
def test_twins_agree(seed):
    Z, sizes, chances = starts(seed)
    rows = seed_rows(Z, sizes, chances)
    np.testing.assert_array_equal(rows, seed_rows.reference(Z, sizes, chances))
    column = Z[:, 1]
    np.testing.assert_array_equal(
        labels_on_line(column, sizes, rows, 30), labels_on_line.reference(column, sizes, rows, 30)
    )
    centres = Z[np.concatenate([rows[1, :3], rows[3, :5]])]
    ends, chosen = np.array([3, 8]), np.array([1, 3])
    results = []
    for run in (move_rows, move_rows.reference):
        labels = np.full((4, 60), -1)
        labels[3, 30:] = 4
        counts = np.zeros((4, 5), dtype=np.int64)
        counts[3, 4] = 30
        sums = np.zeros((4, 5, 3))
        sums[3, 4] = Z[30:].sum(axis=0)
        block = Z[20:50]
        moved = run(block, centres @ block.T, centres, ends, chosen, 20, labels, counts, sums)
        results.append((moved, labels, counts, sums))
    for fast, slow in zip(*results, strict=True):
        np.testing.assert_allclose(fast, slow, atol=1e-12)
    assert results[0][2][3].sum() == 40  # ten rows more than had a label


@pytest.mark.parametrize("run", [move_rows, move_rows.reference])
def test_rows_that_move_leave_their_group(run):
    """Two groups, the first at 0 and the second at 10; of three rows two change."""
    block, centres = np.array([[1.0], [9.0], [2.0]]), np.array([[0.0], [10.0]])
    labels = np.array([[0, 0, 1]])
    counts, sums = np.array([[2, 1]]), np.array([[[10.0], [2.0]]])
    chosen, ends = np.array([0]), np.array([2])
    given = block, centres @ block.T, centres, ends, chosen, 0, labels, counts, sums
    assert run(*given).tolist() == [True]
    assert (labels.tolist(), counts.tolist()) == ([[0, 1, 0]], [[2, 1]])
    assert sums.tolist() == [[[3.0], [9.0]]]
    assert run(*given).tolist() == [False] and counts.tolist() == [[2, 1]]


def test_centres_move_to_the_middle_of_their_rows():
    rng = np.random.default_rng(0)
    counts = np.array([[9, 9, 9], [2, 0, 4], [5, 1, 0]])
    sums, before = rng.normal(size=(3, 3, 2)), rng.normal(size=(5, 2))
    # The second start has three centres, the third two; the first does not move.
    results = []
    for run in (move_centres, move_centres.reference):
        centres = before.copy()
        run(centres, np.array([3, 2]), np.array([1, 2]), counts, sums)
        results.append(centres)
    np.testing.assert_array_equal(*results)
    expected = [sums[1, 0] / 2, before[1], sums[1, 2] / 4, sums[2, 0] / 5, sums[2, 1]]
    np.testing.assert_array_equal(results[0], expected)


def test_seeds_of_more_rows_than_are_measured_side_by_side():
    Z, sizes, chances = starts(3, n=1300, d=2)
    np.testing.assert_array_equal(
        seed_rows(Z, sizes, chances), seed_rows.reference(Z, sizes, chances)
    )


def test_along_lines_as_along_each_of_them():
    Z, sizes, _ = starts(4)
    chances = np.random.default_rng(1).random((3, 4, 5))
    found = labels_along(Z, sizes, chances, 20)
    each = [kmeans_labels(Z[:, [j]], sizes, chances[j], 20) for j in range(3)]
    np.testing.assert_array_equal(found, np.concatenate(each))
    np.testing.assert_array_equal(found, labels_along.reference(Z, sizes, chances, 20))


def test_more_rows_than_are_compared_side_by_side():
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(1100, 2)) + 4 * rng.integers(0, 2, (1100, 1))
    sizes = np.array([2, 4], dtype=np.int64)
    chances = rng.random((2, 4))
    for labels, k, chance in zip(kmeans_labels(Z, sizes, chances, 9), sizes, chances, strict=True):
        np.testing.assert_array_equal(labels, lloyd(Z, k, chance, 9))


def test_rows_are_with_the_nearest_middle_at_the_end():
    Z, sizes, chances = starts(1)
    for labels, k in zip(kmeans_labels(Z, sizes, chances, 100), sizes, strict=True):
        centres = np.array([Z[labels == j].mean(axis=0) for j in range(k)])
        away = np.square(Z[:, None] - centres).sum(axis=2)
        np.testing.assert_array_equal(away.argmin(axis=1), labels)


def test_starts_are_far_from_each_other_and_differ():
    Z = np.repeat([[0.0], [1.0], [50.0]], 20, axis=0)
    labels = kmeans_labels(Z, np.array([2, 2]), np.array([[0.0, 0.9], [0.99, 0.01]]), 1)
    assert labels[0].tolist() == [0] * 40 + [1] * 20
    assert labels[1].tolist() == [1] * 40 + [0] * 20


def test_one_cluster_and_tied_rows():
    for d in (1, 2):
        found = kmeans_labels(np.zeros((5, d)), np.array([1, 3]), np.zeros((2, 3)), 5)
        assert found.tolist() == [[0] * 5] * 2
