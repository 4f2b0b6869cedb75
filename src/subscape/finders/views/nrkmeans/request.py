"""What NrKMeans is asked for and starts from: checked before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from subscape.arrays.blocks import Blocks, as_blocks
from subscape.core.errors import SubscapeError, count
from subscape.core.types import FloatArray, IntArray
from subscape.finders.oriented.centre_directions import leading_directions

from .finish import chance_edge
from .kernel import cell_sums
from .rows import BlockRows
from .search import Start

#: How far from orthonormal a basis given as start may be.
ORTHONORMAL = 1e-6


def asked_sizes(n_clusters: Any) -> tuple[int, ...]:
    """Numbers of clusters of all spaces; refuses what can't be one.

    >>> asked_sizes(4), asked_sizes([4, 3])
    ((4, 1), (4, 3))
    """
    if isinstance(n_clusters, Integral):
        n_clusters = (n_clusters, 1) if int(n_clusters) > 1 else (n_clusters,)
    given = list(np.ravel(n_clusters))
    if not given or not all(isinstance(size, Integral) for size in given):
        raise SubscapeError(f"n_clusters must be whole numbers, one per view, got {n_clusters!r}")
    sizes = tuple(int(size) for size in given)
    if min(sizes) < 1:
        raise SubscapeError(f"every view needs at least one cluster, got n_clusters={n_clusters!r}")
    if 1 in sizes[:-1]:
        raise SubscapeError(
            f"n_clusters={n_clusters!r}: a space of one cluster is the noise space; there is at "
            "most one, and it comes last"
        )
    return sizes


def check_views(n_views: int, n_features: int) -> None:
    """Every view needs a dimension of its own."""
    if n_views > n_features:
        raise SubscapeError(
            f"n_clusters asks for {count(n_views, 'view')}, each with a direction of its own, but "
            f"the table has {count(n_features, 'column')} that vary (n_features={n_features}); ask "
            "for fewer views"
        )


def checked_start(init: Any, sizes: Sequence[int], n_features: int, noise: bool) -> Start:
    """The start given by the user, or what is wrong with it."""
    if len(init) != 2 or len(init[0]) != len(sizes) or len(init[1]) != len(sizes):
        raise SubscapeError(
            "init must be (bases, centres), each with one array for each of the "
            f"{count(len(sizes), 'view')}"
        )
    bases = tuple(np.array(basis, dtype=np.float64) for basis in init[0])
    centres = tuple(np.array(centre, dtype=np.float64) for centre in init[1])
    for j, (basis, centre, size) in enumerate(zip(bases, centres, sizes, strict=True)):
        if centre.shape != (size, n_features):
            raise SubscapeError(
                f"init: the centres of view {j} must have shape {(size, n_features)}, got "
                f"{centre.shape}"
            )
        if basis.ndim != 2 or basis.shape[0] != n_features or basis.shape[1] == 0:
            raise SubscapeError(
                f"init: the basis of view {j} must have shape ({n_features}, dimensions), got "
                f"{basis.shape}"
            )
    every = np.concatenate(bases, axis=1)
    if not np.allclose(every.T @ every, np.eye(every.shape[1]), atol=ORTHONORMAL):
        raise SubscapeError("init: the directions of all views together must be orthonormal")
    if not noise and every.shape[1] < n_features:
        raise SubscapeError(
            f"init: without a noise space the views must share out all {n_features} dimensions, "
            f"got {every.shape[1]}"
        )
    return Start(bases, centres)


def free_directions(X: FloatArray | Blocks, given: Sequence[IntArray]) -> FloatArray | None:
    """Orthonormal (p, r) directions in which to look, or None for all of them.

    More columns than rows leave directions in which nothing varies; directions in which the given
    clusterings differ (by more than chance) are not to be looked at again.
    """
    n, p = X.shape
    lift = None
    if p >= n and not isinstance(X, Blocks):
        _, lengths, right = np.linalg.svd(X, full_matrices=False)
        lift = np.ascontiguousarray(right[lengths > 1e-10 * lengths[0]].T)
    for labels in given:
        known = known_directions(BlockRows(as_blocks(X), lift), labels)
        free = np.linalg.qr(known, mode="complete")[0][:, known.shape[1] :]
        lift = free if lift is None else lift @ free
    if lift is not None and lift.shape[1] == 0:
        raise SubscapeError(
            "the given clusterings differ in every direction of the table: none is left for "
            "another view"
        )
    return lift


def known_directions(table: BlockRows, labels: IntArray) -> FloatArray:
    """Directions in which the clusters differ by more than chance explains; two passes."""
    k = int(labels.max()) + 1
    size = np.array([k], dtype=np.intp)
    found = table.fold(
        lambda block, rows, own: cell_sums(block, own.astype(np.int32)[:, None], size),
        reads=(labels,),
    )
    n_rows = found.counts.sum()
    middle = found.sums.sum(axis=0) / n_rows
    sums = found.sums - found.counts[:, None] * middle
    factor = sums / np.sqrt(np.maximum(found.counts, 1))[:, None]
    directions = leading_directions(factor, 1e-10 * float(np.square(factor).sum()))
    between = np.square(factor @ directions).sum(axis=0)
    total = table.fold(
        lambda block, rows, own: np.square((block[own >= 0] - middle) @ directions).sum(axis=0),
        reads=(labels,),
    )
    clear = between * n_rows > chance_edge(k, table.shape[1]) * (total - between)
    return directions[:, clear]
