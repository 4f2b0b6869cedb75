"""Mean squared residues of blocks of a table: how far they are from row effects + column effects.

The residue of a cell is what is left of its value after subtracting the mean of its row and of its
column within the block and adding the mean of the block. Missing values (NaN) are left out of all
means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IntArray

__all__ = ["Deletion", "Residues", "block_residues", "delete_nodes"]


class Residues(NamedTuple):
    """Mean squared residues of a block, its rows and its columns."""

    rows: FloatArray
    """One per row; infinite where all values are missing."""
    columns: FloatArray
    mean: float
    """That of the whole block (H)."""


def block_residues(X: FloatArray, rows: IntArray, columns: IntArray) -> Residues:
    """Measure how far a block is from the sum of row effects and column effects.

    Parameters
    ----------
    X : (n, p) array
    rows, columns : arrays of int
        The block; neither is empty.

    Returns
    -------
    Residues

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.cocluster.cheng_church.residues import block_residues
    >>> X = np.add.outer([1.0, 5.0, 2.0], [0.0, 3.0, 4.0])
    >>> X[0, 0] += 9
    >>> everything = np.arange(3)
    >>> block_residues(X, everything, everything).mean
    4.0
    >>> block_residues(X, everything[1:], everything).mean
    0.0
    """
    return cross_residues(X, rows, columns, rows, columns)


def cross_residues(
    X: FloatArray, rows: IntArray, columns: IntArray, all_rows: IntArray, all_columns: IntArray
) -> Residues:
    """Residues of rows and columns, also outside the block, with the effects of the block.

    Parameters
    ----------
    X : (n, p) array
    rows, columns : arrays of int
        The block.
    all_rows, all_columns : arrays of int
        Rows and columns that are judged by the block.

    Returns
    -------
    Residues
        ``rows`` is over ``all_rows``, ``columns`` over ``all_columns``.
    """
    block = X[np.ix_(rows, columns)]
    row_means, column_means = _means(block, 1), _means(block, 0)
    mean = float(_means(block.ravel(), 0))
    inner = np.square(block - row_means[:, None] - column_means + mean)
    wide = block if all_rows is rows else X[np.ix_(all_rows, columns)]
    across = np.square(wide - _means(wide, 1)[:, None] - column_means + mean)
    tall = block if all_columns is columns else X[np.ix_(rows, all_columns)]
    down = np.square(tall - row_means[:, None] - _means(tall, 0) + mean)
    by_row, by_column = _means(across, 1), _means(down, 0)
    for residues in (by_row, by_column):
        residues[np.isnan(residues)] = np.inf
    return Residues(by_row, by_column, float(_means(inner.ravel(), 0)))


def _means(values: FloatArray, axis: int) -> FloatArray:
    """Means of the values that are there; NaN where there are none."""
    there = ~np.isnan(values)
    if there.all():
        return np.asarray(values.mean(axis=axis))
    counts = there.sum(axis=axis)
    sums = np.where(there, values, 0.0).sum(axis=axis)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


class Deletion(NamedTuple):
    """What single deletions leave of a block, and how they got there."""

    rows: IntArray
    columns: IntArray
    trace: FloatArray
    """(steps + 1, 3): residue of the block, its rows and its columns, before each step and at
    the end."""


@compiled("_residues")
def delete_nodes(X: FloatArray, rows: IntArray, columns: IntArray, level: float) -> Deletion:
    """Delete the worst row or column, one at a time, until the residue is at most ``level``.

    Parameters
    ----------
    X : (n, p) array
    rows, columns : arrays of int
        The block to begin with.
    level : float
        Largest mean squared residue (δ).

    Returns
    -------
    Deletion
        At least 2 rows and 2 columns stay, so that the last residue may exceed the level. Of a
        row and a column that are equally bad the row goes, of two rows the first.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.cocluster.cheng_church.residues import delete_nodes
    >>> X = np.add.outer([1.0, 5.0, 2.0, 0.0], [0.0, 3.0, 4.0, 1.0])
    >>> X[1] = [7.0, -3.0, 2.0, 9.0]
    >>> delete_nodes(X, np.arange(4), np.arange(4), 0.01).rows
    array([0, 2, 3])
    """
    rows, columns = rows.copy(), columns.copy()
    trace = []
    while True:
        residues = block_residues(X, rows, columns)
        trace.append((residues.mean, len(rows), len(columns)))
        worst_row = residues.rows.max() if len(rows) > 2 else -1.0
        worst_column = residues.columns.max() if len(columns) > 2 else -1.0
        if residues.mean <= level or max(worst_row, worst_column) < 0:
            return Deletion(rows, columns, np.array(trace))
        if worst_row >= worst_column:
            rows = np.delete(rows, residues.rows.argmax())
        else:
            columns = np.delete(columns, residues.columns.argmax())
