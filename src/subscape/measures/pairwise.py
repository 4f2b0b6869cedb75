"""All distances among many clusterings, and the one in their middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import EmptyClusteringError, SubscapeError, UnsupportedKindError
from subscape.core.types import FloatArray
from subscape.measures.cells.distances import error_of, require_comparable, rnia_of, vi_of
from subscape.measures.cells.overlap import (
    Overlap,
    PreparedClustering,
    _same_table,
    overlap_of_sides,
)

#: Measures that need nothing but an overlap table, which is built once for all pairs.
FROM_TABLE: dict[str, Callable[[Overlap], float]] = {
    "clustering_error": error_of,
    "rnia": rnia_of,
    "variation_of_information": vi_of,
}


def pairwise_distances(
    clusterings: Sequence[Any],
    metric: str | Callable[[Any, Any], float] = "clustering_error",
    *,
    mass: str | None = None,
    overlap: str | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Symmetric matrix of the distances between clusterings of one table.

    Hard disjoint axis-aligned clusterings, the common case, are compared by two matrix products
    for all pairs together; others pair by pair.

    Parameters
    ----------
    clusterings : sequence of SubspaceClustering or label vectors
        All over the same rows and features.
    metric : str or callable, default="clustering_error"
        A distance of :mod:`subscape.measures` by name, or a function of two clusterings.
    mass, overlap
        As in :func:`clustering_error`, one choice for the whole matrix. ``mass`` is needed where
        weighted clusterings meet other kinds; where oriented clusterings can't all be compared by
        "cos2", "trace" is used for all pairs.
    n_jobs : int, optional
        Pairs in parallel (joblib).

    Returns
    -------
    array of shape (n, n), zero on the diagonal

    See Also
    --------
    medoid_index : The clustering in the middle.
    subscape.plots.DistanceMatrixDisplay : As a picture.

    Examples
    --------
    >>> from subscape.measures import pairwise_distances
    >>> pairwise_distances([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1]])
    array([[0.  , 0.  , 0.25],
           [0.  , 0.  , 0.25],
           [0.25, 0.25, 0.  ]])
    """
    members = same_table(clusterings)
    if callable(metric) or metric not in FROM_TABLE:
        function = metric if callable(metric) else _named(metric)
        if mass is not None or overlap is not None:
            raise SubscapeError(
                f"mass and overlap belong to {', '.join(FROM_TABLE)}; pass a function that has them"
                " built in, e.g. functools.partial"
            )
        return _fill(len(members), _each_pair(members, function, n_jobs))
    _check_words(mass, overlap)
    score = FROM_TABLE[metric]
    if metric == "variation_of_information":
        require_comparable(members, metric)
    kinds = {c.kind for c in members}
    if mass is None and "weighted" in kinds and len(kinds) > 1:
        raise UnsupportedKindError(
            f'kinds {sorted(kinds)} are mixed: say mass="unit" or mass="cells" for the whole matrix'
        )
    if all(_plain(c) for c in members):
        return _fill(len(members), [score(t) for t in _stacked_tables(members, mass)])
    sides = [PreparedClustering(c, mass) for c in members]
    if overlap is None and "oriented" in kinds:
        squared = all(side.disjoint and side.kind != "weighted" for side in sides)
        overlap = "cos2" if squared else "trace"

    def compare(pair: tuple[int, int]) -> float:
        return score(overlap_of_sides(sides[pair[0]], sides[pair[1]], overlap))

    return _fill(len(members), _run(compare, len(members), n_jobs))


def medoid_index(
    clusterings: Sequence[Any],
    metric: str | Callable[[Any, Any], float] = "clustering_error",
    **options: Any,
) -> int:
    """Position of the clustering with the smallest summed distance to all others.

    Parameters
    ----------
    clusterings, metric, **options
        As in :func:`pairwise_distances`.

    Returns
    -------
    int

    See Also
    --------
    pairwise_distances : The distances.

    Examples
    --------
    >>> from subscape.measures import medoid_index
    >>> medoid_index([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    0
    """
    return int(np.argmin(pairwise_distances(clusterings, metric, **options).sum(axis=1)))


def same_table(clusterings: Sequence[Any]) -> list[SubspaceClustering]:
    """Clusterings over the same rows and features; label vectors take the others' features."""
    if len(clusterings) == 0:
        raise SubscapeError("no clusterings given")
    first = next((c for c in clusterings if isinstance(c, SubspaceClustering)), None)
    members = [as_clustering(c, like=first) for c in clusterings]
    for i, member in enumerate(members):
        if member.n_clusters == 0:
            raise EmptyClusteringError(f"clustering {i} is empty; leave it out")
        _same_table(members[0], member)
    return members


def _plain(clustering: SubspaceClustering) -> bool:
    return clustering.kind == "axis" and clustering.is_hard and clustering.is_disjoint


def _check_words(mass: str | None, overlap: str | None) -> None:
    if mass not in (None, "cells", "unit"):
        raise SubscapeError(f'mass must be "cells" or "unit", got {mass!r}')
    if overlap not in (None, "cos2", "trace"):
        raise SubscapeError(f'overlap must be "cos2" or "trace", got {overlap!r}')


def _stacked_tables(members: list[SubspaceClustering], mass: str | None) -> list[Overlap]:
    """Overlap tables of all pairs out of one product over rows and one over features."""
    sides = [PreparedClustering(c, mass) for c in members]
    stacked = sparse.vstack([c.members.to_scipy(np.int32) for c in members], format="csr")
    masks = np.concatenate([c.subspaces.relevance for c in members])
    scale = np.concatenate([side.scale for side in sides])
    table = (stacked @ stacked.T).toarray() * (masks @ masks.T)
    table *= np.minimum(scale[:, None], scale[None, :])
    ends = np.cumsum([0] + [c.n_clusters for c in members])
    tables = []
    for i, j in combinations(range(len(members)), 2):
        block = table[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
        shared = float(block.sum())
        union = float(sides[i].sizes.sum() + sides[j].sizes.sum() - shared)
        tables.append(Overlap(sides[i].sizes, sides[j].sizes, block, shared, union))
    return tables


def _each_pair(
    members: list[SubspaceClustering], metric: Callable[[Any, Any], float], n_jobs: int | None
) -> list[float]:
    def compare(pair: tuple[int, int]) -> float:
        return float(metric(members[pair[0]], members[pair[1]]))

    return _run(compare, len(members), n_jobs)


def _run(
    compare: Callable[[tuple[int, int]], float], number: int, n_jobs: int | None
) -> list[float]:
    pairs = list(combinations(range(number), 2))
    if effective_n_jobs(n_jobs) == 1:
        return [compare(pair) for pair in pairs]
    # Also beside a cluster: a pair is compared in less time than it takes to send it there.
    return list(Parallel(n_jobs=n_jobs, require="sharedmem")(map(delayed(compare), pairs)))


def _fill(number: int, values: list[float]) -> FloatArray:
    matrix = np.zeros((number, number))
    upper = np.triu_indices(number, 1)
    matrix[upper] = values
    return matrix + matrix.T


def _named(metric: str) -> Callable[[Any, Any], float]:
    from .registry import distance

    return distance(metric)
