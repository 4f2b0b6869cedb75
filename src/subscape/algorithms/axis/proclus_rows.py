"""The last phase of PROCLUS over all rows of a long table, block by block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from subscape.algorithms.axis.proclus_search import Bools, Floats, Ints, outside_all
from subscape.kernels.blocks import Blocks, as_blocks, fold
from subscape.kernels.segmental import (
    Nearest,
    centroids,
    cluster_deviations,
    nearest_point,
    own_distances,
)

#: A table in memory, or one that is read in blocks of rows.
Rows = Floats | Blocks


def nearest_of(X: Rows, points: Floats, masks: Bools) -> Nearest:
    """The nearest point of every row, and how far it is."""
    labels, distances = np.empty(len(X), np.intp), np.empty(len(X))
    for rows, block in as_blocks(X):
        labels[rows], distances[rows] = nearest_point(block, points, masks)
    return Nearest(labels, distances)


def distances_to_own(X: Rows, labels: Ints, points: Floats, masks: Bools) -> Floats:
    """Segmental distance of every row to the point of its own cluster."""
    parts = [own_distances(block, labels[rows], points, masks) for rows, block in as_blocks(X)]
    return np.concatenate(parts)


def outside_of(X: Rows, points: Floats, masks: Bools, radii: Floats) -> Bools:
    """Which rows lie in no medoid's sphere."""
    return np.concatenate([outside_all(block, points, masks, radii) for _, block in as_blocks(X)])


def centroids_of(X: Rows, labels: Ints, masks: Bools) -> Floats:
    """Average the rows of each cluster over the features of its mask."""
    return _averages(lambda block, inside: centroids(block, inside, masks), X, labels, len(masks))


def deviations_of(X: Rows, labels: Ints, points: Floats) -> Floats:
    """Average, feature by feature, how far the rows of each cluster are from its point."""
    return _averages(
        lambda block, inside: cluster_deviations(block, inside, points), X, labels, len(points)
    )


def _averages(average: Callable[[Floats, Ints], Floats], X: Rows, labels: Ints, k: int) -> Floats:
    """An average over the rows of each cluster, out of those of the blocks."""
    table = as_blocks(X)
    if len(table) <= table.block_rows:
        return average(next(iter(table))[1], labels)

    def sums(block: Floats, rows: slice) -> tuple[Floats, Ints]:
        inside = labels[rows]
        counts = np.bincount(inside[inside >= 0], minlength=k)
        means = average(block, inside)
        return np.where(counts[:, None] > 0, means * counts[:, None], 0.0), counts

    total, counts = fold(sums, table)
    return np.asarray(total / np.maximum(counts, 1)[:, None])
