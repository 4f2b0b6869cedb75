"""The best one-to-one matching of the clusters of two labellings that have been counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from subscape.core.types import BoolArray, IntArray

from .counting import LabelTable

# Up to so many cells the dense solver wins, beyond it the sparse one, whatever the table.
SMALL = 2**14


class Gains(NamedTuple):
    """What the matching of each pair of clusters is worth, where it is worth anything."""

    row: IntArray
    col: IntArray
    value: IntArray


def matched_rows(table: LabelTable) -> int:
    """Count the rows that agree under the best matching.

    A noise row that is a cluster of its own agrees if it is noise on both sides; if not, it can be
    matched with the cluster it is in on the other side, for one row. So every cluster that has
    such rows is worth one row without a partner, and a partner is worth what it adds to that.
    """
    alone_a, alone_b = table.lonely_a > 0, table.lonely_b > 0
    value = table.counts - alone_a[table.row] - alone_b[table.col]
    gains = _where(Gains(table.row, table.col, value), value > 0)
    unpartnered = table.both_noise + int(alone_a.sum()) + int(alone_b.sum())
    return unpartnered + _best_total(gains)


def _best_total(gains: Gains) -> int:
    """Return the largest sum of gains with no two in one row or column."""
    if len(np.unique(gains.row)) * len(np.unique(gains.col)) <= SMALL:
        return _solve_dense(_renumbered(gains))
    settled, rest = _settle(gains)
    return settled + _solve_sparse(_renumbered(rest))


def _solve_dense(gains: Gains) -> int:
    dense = np.zeros((_length(gains.row), _length(gains.col)))
    dense[gains.row, gains.col] = gains.value
    return round(float(dense[linear_sum_assignment(dense, maximize=True)].sum()))


def _solve_sparse(gains: Gains) -> int:
    row, col, value = gains
    if len(value) == 0:
        return 0
    if row.max() > col.max():
        row, col = col, row
    n_rows, n_cols = _length(row), _length(col)
    # The solver gives every row a partner, so each has a stand-in that gains nothing. Zeros count
    # as missing, so all values are one larger.
    stand_in = np.arange(n_rows)
    graph = sparse.csr_array(
        (
            np.concatenate((value + 1.0, np.ones(n_rows))),
            (np.concatenate((row, stand_in)), np.concatenate((col, n_cols + stand_in))),
        ),
        shape=(n_rows, n_cols + n_rows),
    )
    best = min_weight_full_bipartite_matching(graph, maximize=True)
    return round(float(graph[best].sum())) - n_rows


def _settle(gains: Gains) -> tuple[int, Gains]:
    """Match the pairs that are best whatever happens elsewhere, and return what is left.

    A pair that gains as much as the next best pair of its row and that of its column together is
    in some best matching. Between similar labellings that is nearly every pair, while the
    solver's time grows with the square of the number of clusters.
    """
    settled = 0
    while len(gains.value):
        best_in_row, next_in_row = _best_two(gains.row, gains.value)
        best_in_col, next_in_col = _best_two(gains.col, gains.value)
        sure = best_in_row & best_in_col & (gains.value >= next_in_row + next_in_col)
        settled += int(gains.value[sure].sum())
        done_rows = np.zeros(_length(gains.row), bool)
        done_cols = np.zeros(_length(gains.col), bool)
        done_rows[gains.row[sure]] = True
        done_cols[gains.col[sure]] = True
        left = ~(done_rows[gains.row] | done_cols[gains.col])
        gains = _where(gains, left)
        if 100 * sure.sum() < len(sure):  # long chains settle one by one: leave them to the solver
            break
    return settled, gains


def _best_two(group: IntArray, value: IntArray) -> tuple[BoolArray, IntArray]:
    """Mark one largest value per group, and give for each entry its group's second largest."""
    order = np.lexsort((value, group))
    sorted_group, sorted_value = group[order], value[order]
    last = np.flatnonzero(np.append(sorted_group[1:] != sorted_group[:-1], True))
    best = np.zeros(len(value), bool)
    best[order[last]] = True
    second = np.zeros(_length(group), np.int64)
    has_second = np.append(-1, last[:-1]) < last - 1
    second[sorted_group[last[has_second]]] = sorted_value[last[has_second] - 1]
    return best, second[group]


def _where(gains: Gains, keep: BoolArray) -> Gains:
    return Gains(*(part[keep] for part in gains))


def _renumbered(gains: Gains) -> Gains:
    """Number the rows and columns that occur without gaps."""
    row, col = (np.unique(part, return_inverse=True)[1] for part in (gains.row, gains.col))
    return Gains(row, col, gains.value)


def _length(index: IntArray) -> int:
    return int(index.max()) + 1 if len(index) else 0
