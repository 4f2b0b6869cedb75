import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import seeds

from subscape.core.errors import SubscapeError
from subscape.datasets import planted_cocluster
from subscape.finders import ITCC
from subscape.finders.cocluster.itcc import (
    best_single_move,
    block_sums,
    grouped,
    merged_rows,
    mutual_information,
    table_information,
)
from subscape.measures import clustering_error

PAPER = np.array(
    [[0.05, 0.05, 0.05, 0, 0, 0]] * 2
    + [[0, 0, 0, 0.05, 0.05, 0.05]] * 2
    + [[0.04, 0.04, 0, 0.04, 0.04, 0.04], [0.04, 0.04, 0.04, 0, 0.04, 0.04]]
)


def best_by_enumeration(p, k, m):
    """Most information that any pair of partitions keeps."""

    def partitions(n, k):
        return [c for c in np.ndindex(*(k,) * n) if set(c) == set(range(k))]

    return max(
        mutual_information(block_sums(grouped(p, np.array(c), m), np.array(r), k))
        for r in partitions(p.shape[0], k)
        for c in partitions(p.shape[1], m)
    )


def approximation(p, finder):
    """q(x, y) = P(block) p(x | row group) p(y | column group)."""
    rows, columns = finder.row_labels_, finder.column_labels_
    px, py = p.sum(1), p.sum(0)
    P = finder.block_
    share_x = px / P.sum(1)[rows]
    share_y = py / P.sum(0)[columns]
    return P[np.ix_(rows, columns)] * np.outer(share_x, share_y)


def test_the_papers_example_loses_0957_bits():
    finder = ITCC(3, 2, random_state=0).fit(PAPER)
    assert finder.loss_ / np.log(2) == pytest.approx(0.0957, abs=5e-5)
    rows = finder.row_labels_
    assert rows[0] == rows[1] and rows[2] == rows[3] and rows[4] == rows[5]
    assert len(set(rows)) == 3
    assert finder.column_labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    q = approximation(PAPER, finder)
    np.testing.assert_allclose(q[0], [0.054, 0.054, 0.042, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(q[4], [0.036, 0.036, 0.028, 0.028, 0.036, 0.036], atol=1e-12)
    np.testing.assert_allclose(np.sort(finder.block_.ravel()), [0, 0, 0.2, 0.2, 0.3, 0.3])


def test_a_single_start_finds_the_papers_example():
    losses = [ITCC(3, 2, n_init=1, random_state=s).fit(PAPER).loss_ for s in range(20)]
    assert sum(loss / np.log(2) < 0.0958 for loss in losses) >= 18


@settings(max_examples=12)
@given(seeds)
def test_finds_the_best_of_all_small_partitions(seed):
    p = np.random.default_rng(seed).gamma(0.5, size=(5, 4))
    finder = ITCC(2, 2, n_init=10, random_state=0).fit(p)
    best = best_by_enumeration(p / p.sum(), 2, 2)
    assert finder.mutual_information_ - finder.loss_ == pytest.approx(best, abs=1e-9)


@settings(max_examples=25)
@given(seeds, st.integers(1, 4), st.integers(1, 4))
def test_loss_never_rises_and_is_the_divergence_from_q(seed, k, m):
    p = np.random.default_rng(seed).gamma(0.3, size=(12, 9)) + 1e-9
    p /= p.sum()
    finder = ITCC(k, m, n_init=2, random_state=seed).fit(p)
    assert (np.diff(finder.loss_history_) <= 1e-12).all()
    q = approximation(p, finder)
    divergence = (p * np.log(p / q)).sum()
    assert finder.loss_ == pytest.approx(divergence, abs=1e-10)
    np.testing.assert_allclose(q.sum(0), p.sum(0), atol=1e-12)
    np.testing.assert_allclose(q.sum(1), p.sum(1), atol=1e-12)


def test_extreme_numbers_of_clusters():
    p = np.random.default_rng(0).random((6, 5))
    assert ITCC(6, 5, random_state=0).fit(p).loss_ == pytest.approx(0, abs=1e-12)
    finder = ITCC(1, 1, random_state=0).fit(p)
    assert finder.loss_ == pytest.approx(finder.mutual_information_)


@pytest.mark.parametrize("seed", range(3))
def test_planted_blocks_are_found(seed):
    X, truth = planted_cocluster((120, 90), 3, 4, counts=True, random_state=seed)
    finder = ITCC(3, 4, random_state=0).fit(X)
    assert clustering_error(finder.clustering_, truth) <= 0.02
    assert finder.clustering_.is_coclustering
    np.testing.assert_array_equal(finder.labels_, finder.row_labels_)


def test_sparse_input_stays_sparse_and_gives_the_same():
    X, _ = planted_cocluster(counts=True, random_state=3)
    dense = ITCC(random_state=0).fit(X)
    thin = ITCC(random_state=0).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_array_equal(dense.column_labels_, thin.column_labels_)


def test_scaling_changes_nothing_and_transposing_swaps():
    X, _ = planted_cocluster((40, 30), 3, 2, counts=True, random_state=1)
    one = ITCC(3, 2, random_state=0).fit(X)
    np.testing.assert_array_equal(one.labels_, ITCC(3, 2, random_state=0).fit(8 * X).labels_)
    turned = ITCC(2, 3, random_state=0).fit(X.T)
    assert turned.loss_ == pytest.approx(one.loss_, abs=1e-12)


def test_rows_and_columns_without_mass_are_noise():
    X, _ = planted_cocluster((20, 15), 2, 2, counts=True, random_state=0)
    X[3] = 0
    X[:, 5] = 0
    finder = ITCC(2, 2, random_state=0).fit(X)
    assert finder.row_labels_[3] == -1
    assert finder.column_labels_[5] == -1
    assert not finder.clustering_.subspaces.masks[:, 5].any()


def test_single_move_gain_is_exact():
    rng = np.random.default_rng(0)
    p = rng.random((8, 6))
    p /= p.sum()
    rows, columns = rng.integers(0, 3, 8), rng.integers(0, 2, 6)
    rows[:3] = [0, 1, 2]
    T = grouped(p, columns, 2)
    gain, row, cluster = best_single_move(T, rows, 3)
    moved = rows.copy()
    moved[row] = cluster
    change = mutual_information(block_sums(T, moved, 3)) - mutual_information(
        block_sums(T, rows, 3)
    )
    assert gain == pytest.approx(change, abs=1e-12)


def test_merging_equal_rows_keeps_the_information():
    p = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [3.0, 1.0]]) / 10
    merged, places = merged_rows(p)
    np.testing.assert_allclose(merged, [[0.2, 0.4], [0.3, 0.1]])
    assert places.tolist() == [0, 0, -1, 1]
    assert table_information(merged) == pytest.approx(table_information(p))


def test_bad_input():
    with pytest.raises(SubscapeError, match="smallest -1"):
        ITCC().fit([[1.0, -1.0], [1.0, 2.0]])
    with pytest.raises(SubscapeError, match="all values are 0"):
        ITCC().fit(np.zeros((3, 3)))
    with pytest.raises(SubscapeError, match="n_column_clusters=7 is more than the 2 columns"):
        ITCC(n_column_clusters=7).fit(np.ones((3, 2)))
