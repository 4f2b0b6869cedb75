"""Neighbours of all rows block by block, and the groups that core rows form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from subscape.algorithms.base import Watch
from subscape.kernels.preferences import Neighbours, neighbour_blocks

__all__ = ["NeighbourGraph", "linked", "typical_radius"]

FloatArray = NDArray[np.float64]
Flags = NDArray[np.bool_]
Labels = NDArray[np.int64]

#: Neighbours are found once and kept if there are no more than this.
MOST_KEPT = 20_000_000
#: Rows of which the distances are measured to set the radius.
SAMPLE = 500


class NeighbourGraph:
    """Neighbours of all rows, block by block: kept if they are few, else found again."""

    def __init__(self, table: FloatArray, eps: float, axis: int, watch: Watch) -> None:
        self.table, self.eps, self.axis, self.watch = table, eps, axis, watch
        self._kept: list[Neighbours] | None = []
        self._complete = False

    def blocks(self, message: str) -> Iterator[Neighbours]:
        """Go through the blocks; stops when the time is up."""
        if self._complete and self._kept is not None:
            source: Iterable[Neighbours] = self._kept
        else:
            source = neighbour_blocks(self.table, self.eps, self.axis)
        size = 0
        for block in source:
            if not self._complete and self._kept is not None:
                size += len(block.indices)
                self._kept.append(block)
                if size > MOST_KEPT:
                    self._kept = None
            yield block
            self.watch.step(message, block.start + len(block.counts), len(self.table))
            if self.watch.out_of_time():
                self._kept = None
                return
        self._complete = True


def linked(
    blocks: Iterable[Neighbours],
    distances: Callable[[Neighbours], FloatArray],
    core: Flags,
    eligible: Flags,
) -> Labels:
    """Connect cores that are near each other, and give other rows to their nearest core."""
    n = len(core)
    group = np.arange(n)
    host = np.full(n, -1, np.int64)
    for block in blocks:
        away = distances(block)
        owner = np.repeat(np.arange(len(block.counts)) + block.start, block.counts)
        near = np.isfinite(away)
        near &= core[block.indices]
        both = near & core[owner]
        group = _merged(group, owner[both], block.indices[both])
        border = near & ~core[owner] & eligible[owner]
        rows, cores, lengths = owner[border], block.indices[border], away[border]
        # The nearest core comes first among those of each row.
        best = np.lexsort((cores, lengths, rows))
        rows, first = np.unique(rows[best], return_index=True)
        host[rows] = cores[best][first]
    labels = np.full(n, -1, np.int64)
    labels[core] = group[core]
    reached = host >= 0
    labels[reached] = group[host[reached]]
    return labels


def _merged(group: Labels, left: Labels, right: Labels) -> Labels:
    """Groups, named by their first rows, after joining rows on the left with rows on the right."""
    n = len(group)
    rows = np.concatenate([np.arange(n), left])
    columns = np.concatenate([group, right])
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
    _, joined = connected_components(graph, directed=False)
    _, first = np.unique(joined, return_index=True)
    return first[joined]


def typical_radius(table: FloatArray, share: float, least: int) -> float:
    """Median distance to the neighbour at a share of all rows, from a sample of rows.

    Parameters
    ----------
    table : (n, p) array
        The table.
    share : float
        Share of all rows that are nearer.
    least : int
        The neighbour counted at least.

    Returns
    -------
    float
        Positive, rounded to six digits.
    """
    n = len(table)
    rank = min(n - 1, max(least, int(share * n)))
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    norms = np.einsum("ij,ij->i", table, table)
    squares = norms[rows, None] - 2.0 * (table[rows] @ table.T) + norms
    squares[np.arange(len(rows)), rows] = 0.0
    ranked = np.sqrt(np.maximum(np.partition(squares, rank, axis=1)[:, rank], 0.0))
    # Copies of a row are at distance 0, up to the rounding of the products.
    ranked[ranked <= 1e-6 * ranked.max()] = 0.0
    typical = float(np.median(ranked))
    if typical == 0.0:
        # Most rows have copies: only these are neighbours.
        typical = float(ranked[ranked > 0].min(initial=1.0)) / 2
    # Six digits: some pair lies exactly at this distance, and rounding must not decide on it.
    return float(f"{typical:.6g}")
