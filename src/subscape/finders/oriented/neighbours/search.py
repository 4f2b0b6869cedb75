"""Who is close to whom: all pairs within a radius, and the k nearest rows."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray, IntArray

from .pairs import close_pairs

#: More pairs than this are not stored (8 bytes each).
MOST_PAIRS = 60_000_000
#: Beyond so many features a search tree looks at nearly all rows, and plain products are faster.
WIDEST_TREE = 15
#: Distances computed in one go.
BLOCK = 4_000_000
#: Axes of the grid that holds candidates for close pairs.
GRID_AXES = 3


class ClosePairs(NamedTuple):
    """Rows in another order and rotation, and the pairs of them that are close."""

    rows: FloatArray
    """(n, p) array; distances are those of the table."""
    pairs: NDArray[np.int32]
    """(t, 2) array of positions in ``rows``."""
    order: IndexArray
    """(n,) array: ``rows[i]`` is row ``order[i]`` of the table."""

    def original(self) -> NDArray[np.int32]:
        """The pairs as rows of the table."""
        return self.order.astype(np.int32)[self.pairs]


def pairs_within(X: FloatArray, radius: float) -> ClosePairs:
    """All pairs of rows at most ``radius`` apart.

    Rows are put into the cells of a grid, of the radius' width, along the table's widest
    directions; only rows of touching cells are compared.
    """
    rows = X @ np.linalg.eigh(X.T @ X)[1][:, ::-1]
    cells = grid_cells(rows[:, :GRID_AXES], radius)
    # The last axis runs fastest, so the cells c - 1, c, c + 1 of it are one range of rows.
    order = np.lexsort(cells.T[::-1])
    rows, cells = np.ascontiguousarray(rows[order]), cells[order]
    # Each axis gets a margin of one empty cell at both ends, so that neighbours never wrap around.
    widths = cells.max(axis=0) + 3
    spans = np.array([np.prod(widths[axis + 1 :], dtype=np.int64) for axis in range(len(widths))])
    keys = (cells + 1) @ spans
    steps = np.array(list(product((-1, 0, 1), repeat=len(widths) - 1)), np.int64)
    middle = keys[:, None] + steps @ spans[:-1]
    starts = np.searchsorted(keys, middle - 1, "left")
    stops = np.searchsorted(keys, middle + 1, "right")
    pairs = close_pairs(rows, starts, stops, radius, MOST_PAIRS)
    if len(pairs) > MOST_PAIRS:
        raise SubscapeError(
            f"more than {MOST_PAIRS // 1_000_000} million pairs of rows are within eps={radius:g} "
            f"of each other ({len(X)} rows): choose a smaller eps, or fit a sample of the rows"
        )
    return ClosePairs(rows, pairs, order)


def grid_cells(columns: FloatArray, width: float) -> IntArray:
    """Numbers of the cells that rows fall into; at most about a million per axis."""
    low, high = columns.min(axis=0), columns.max(axis=0)
    width = np.maximum(width * (1 + 1e-6), (high - low) * 1e-6)
    return np.floor((columns - low) / np.maximum(width, np.finfo(float).tiny)).astype(np.int64)


def nearest_rows(X: FloatArray, k: int) -> IndexArray:
    """The k nearest rows of every row, itself among them, nearest first: (n, k)."""
    n, p = X.shape
    if p <= WIDEST_TREE:
        from scipy.spatial import cKDTree

        near = cKDTree(X, balanced_tree=False).query(X, k)[1]
        return np.ascontiguousarray(near.reshape(n, k), dtype=np.intp)
    near = np.empty((n, k), np.intp)
    squares = np.einsum("ij,ij->i", X, X)
    size = max(1, BLOCK // n)
    for start in range(0, n, size):
        apart = squares - 2 * (X[start : start + size] @ X.T)
        if k < n:
            some = np.argpartition(apart, k - 1, axis=1)[:, :k]
        else:
            some = np.tile(np.arange(n), (len(apart), 1))
        order = np.argsort(np.take_along_axis(apart, some, axis=1), axis=1, kind="stable")
        near[start : start + size] = np.take_along_axis(some, order, axis=1)
    return near
