"""Mean squared residues against their definition, and deletions against plain ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.finders.cocluster.cheng_church.residues import (
    block_residues,
    cross_residues,
    delete_nodes,
)

CASES = st.tuples(
    st.integers(2, 15), st.integers(2, 12), st.sampled_from([0.0, 0.2]), st.integers(0, 2**32 - 1)
)


def random_table(n, p, missing, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[rng.random((n, p)) < missing] = np.nan
    X[0, 0] = 1.0
    return X


def residues_by_definition(X):
    n, p = X.shape
    there = ~np.isnan(X)

    def mean(values):
        values = [v for v in values if not np.isnan(v)]
        return sum(values) / len(values) if values else np.nan

    rows = [mean(X[i]) for i in range(n)]
    columns = [mean(X[:, j]) for j in range(p)]
    whole = mean(X.ravel())
    squares = np.array(
        [[(X[i, j] - rows[i] - columns[j] + whole) ** 2 for j in range(p)] for i in range(n)]
    )
    return (
        [mean(squares[i]) if there[i].any() else np.inf for i in range(n)],
        [mean(squares[:, j]) if there[:, j].any() else np.inf for j in range(p)],
        mean(squares.ravel()),
    )


@given(CASES)
@settings(deadline=None, max_examples=40)
def test_residues_by_definition(case):
    X = random_table(*case)
    found = block_residues(X, np.arange(X.shape[0]), np.arange(X.shape[1]))
    rows, columns, mean = residues_by_definition(X)
    np.testing.assert_allclose(found.rows, rows, atol=1e-12)
    np.testing.assert_allclose(found.columns, columns, atol=1e-12)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)


@given(CASES)
@settings(deadline=None, max_examples=20)
def test_row_plus_column_effects_leave_no_residue(case):
    n, p, _, seed = case
    rng = np.random.default_rng(seed)
    X = 100 * rng.normal(size=(n, 1)) + 100 * rng.normal(size=p)
    assert block_residues(X, np.arange(n), np.arange(p)).mean < 1e-20


@given(CASES)
@settings(deadline=None, max_examples=25)
def test_rows_and_columns_outside_are_judged_by_the_block(case):
    X = random_table(*case)
    n, p = X.shape
    rows, columns = np.arange(n - n // 3), np.arange(p - p // 3)
    found = cross_residues(X, rows, columns, np.arange(n), np.arange(p))
    inside = block_residues(X, rows, columns)
    np.testing.assert_allclose(found.rows[rows], inside.rows, atol=1e-12)
    np.testing.assert_allclose(found.columns[columns], inside.columns, atol=1e-12)
    if np.isnan(X).any():
        return
    block = X[np.ix_(rows, columns)]
    last = X[-1, columns] - X[-1, columns].mean() - block.mean(axis=0) + block.mean()
    np.testing.assert_allclose(found.rows[-1], np.mean(last**2), atol=1e-12)
    last = X[rows, -1] - block.mean(axis=1) - X[rows, -1].mean() + block.mean()
    np.testing.assert_allclose(found.columns[-1], np.mean(last**2), atol=1e-12)


@given(CASES, st.floats(0, 1))
@settings(deadline=None, max_examples=40)
def test_twins_delete_the_same_nodes(case, level):
    X = random_table(*case)
    X.flags.writeable = False
    args = (X, np.arange(X.shape[0]), np.arange(X.shape[1]), level)
    fast, plain = delete_nodes(*args), delete_nodes.reference(*args)
    np.testing.assert_array_equal(fast.rows, plain.rows)
    np.testing.assert_array_equal(fast.columns, plain.columns)
    np.testing.assert_allclose(fast.trace, plain.trace, atol=1e-12)


@given(CASES, st.floats(0.01, 1))
@settings(deadline=None, max_examples=25)
def test_what_deletions_leave(case, level):
    X = random_table(*case)
    left = delete_nodes(X, np.arange(X.shape[0]), np.arange(X.shape[1]), level)
    assert len(left.rows) >= 2
    assert len(left.columns) >= 2
    assert left.trace[-1].tolist() == [
        left.trace[-1, 0], len(left.rows), len(left.columns)
    ]  # fmt: skip
    if left.trace[-1, 0] > level:
        assert (len(left.rows), len(left.columns)) == (2, 2)
    assert (left.trace[:-1, 0] > level).all()
    # One row or column at a time.
    assert (np.diff(left.trace[:, 1] + left.trace[:, 2]) == -1).all()


def test_the_worst_row_or_column_goes_first():
    X = np.add.outer(np.arange(6.0), np.arange(5.0) ** 2)
    X[2] += [9, -9, 9, -9, 9]
    left = delete_nodes(X, np.arange(6), np.arange(5), 1e-9)
    assert left.rows.tolist() == [0, 1, 3, 4, 5]
    assert left.columns.tolist() == [0, 1, 2, 3, 4]
