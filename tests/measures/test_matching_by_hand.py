"""The best matching of very many clusters: what is settled at once, and the rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from subscape.measures.labels import matching
from subscape.measures.labels.matching import Gains


def gains(*triples):
    return Gains(*np.array(triples, dtype=np.int64).reshape(-1, 3).T)


@pytest.mark.parametrize(
    ("group", "value", "best", "second"),
    [
        # One entry alone has no second; of equal ones one is the best, the other the second.
        ([0], [5], [1], [0]), ([0, 1], [5, 7], [1, 1], [0, 0]),
        ([0, 0], [5, 7], [0, 1], [5, 5]), ([2, 0, 2, 0, 2], [3, 9, 8, 4, 6], [0, 1, 1, 0, 0],
                                           [6, 4, 6, 4, 6]),
        ([0, 1, 1], [9, 2, 1], [1, 1, 0], [0, 1, 1]), ([1, 1, 3], [2, 1, 9], [1, 0, 1], [1, 1, 0]),
    ],
)  # fmt: skip
def test_the_best_two_of_each_group(group, value, best, second):
    found = matching._best_two(np.array(group), np.array(value))
    assert found[0].astype(int).tolist() == best and found[1].tolist() == second


def test_equal_values_have_one_best():
    best, second = matching._best_two(np.array([0, 0, 0]), np.array([4, 4, 1]))
    assert best.sum() == 1 and second.tolist() == [4, 4, 4]


def test_pairs_that_are_best_for_both_by_far_are_settled():
    # 9 is worth at least as much as the seconds of its row and column together.
    settled, rest = matching._settle(gains((0, 0, 9), (0, 1, 4), (1, 0, 5), (1, 1, 2)))
    assert settled == 9 + 2 and len(rest.value) == 0
    settled, rest = matching._settle(gains((0, 0, 8), (0, 1, 5), (1, 0, 5), (1, 1, 1)))
    assert settled == 0 and len(rest.value) == 4


@pytest.mark.parametrize("seed", range(25))
def test_every_way_finds_the_best_total(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 12, (rng.integers(1, 9), rng.integers(1, 9)))
    dense[rng.random(dense.shape) < 0.5] = 0
    row, col = np.nonzero(dense)
    given = Gains(row * 3 + 1, col * 2, dense[row, col])
    known = dense[linear_sum_assignment(dense, maximize=True)].sum()
    assert matching._best_total(given) == known
    monkeypatch.setattr(matching, "SMALL", -1)
    assert matching._best_total(given) == known
    settled, rest = matching._settle(given)
    assert settled + matching._solve_sparse(matching._renumbered(rest)) == known


def test_numbers_without_gaps():
    found = matching._renumbered(gains((7, 4, 1), (3, 4, 2), (7, 9, 3)))
    assert (found.row.tolist(), found.col.tolist()) == ([1, 0, 1], [0, 0, 1])
    assert found.value.tolist() == [1, 2, 3]
    assert matching._length(np.array([2, 0])) == 3 and matching._length(np.array([], int)) == 0
