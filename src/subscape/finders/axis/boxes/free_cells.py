"""Which cells of a table are still to be explained while clusters are found one after another."""

from __future__ import annotations

import numpy as np

from subscape.arrays.bitsets import count, pack
from subscape.core.types import BoolArray, IntArray

__all__ = ["FreeCells"]


class FreeCells:
    """The cells that no cluster has used up, packed by rows and by features.

    Parameters
    ----------
    n_rows, n_features : int
        The shape of the table; all cells are free at first.

    Attributes
    ----------
    by_row : (n_rows, ceil(n_features / 64)) array of uint64
        The free features of each row.
    by_feature : (n_features, ceil(n_rows / 64)) array of uint64
        The free rows of each feature.
    """

    def __init__(self, n_rows: int, n_features: int) -> None:
        self.n_rows, self.n_features = n_rows, n_features
        self.by_row = np.tile(pack(np.ones(n_features, dtype=bool)), (n_rows, 1))
        self.by_feature = np.tile(pack(np.ones(n_rows, dtype=bool)), (n_features, 1))

    def use(self, rows: BoolArray, features: IntArray) -> None:
        """Mark the cells of some rows in some features as used."""
        used = np.zeros(self.n_features, dtype=bool)
        used[features] = True
        self.by_row[rows] &= ~pack(used)
        self.by_feature[features] &= ~pack(rows)

    def rows(self) -> IntArray:
        """Rows that have a free cell."""
        return np.flatnonzero(self.by_row.any(axis=1))

    def rows_free_in(self, features: IntArray) -> BoolArray:
        """Say which rows are free in all of some features."""
        needed = np.zeros(self.n_features, dtype=bool)
        needed[features] = True
        words = pack(needed)
        return ((self.by_row & words) == words).all(axis=1)

    def per_row(self) -> IntArray:
        """Number of free cells of every row."""
        return count(self.by_row)
