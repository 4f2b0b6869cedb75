"""What the clusters of a clustering look like together: empty, orthogonal, a grid, equal."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from .angles import squared_cosines
from .errors import SubscapeError
from .memberships import Memberships
from .oriented import OrientedSubspaces
from .subspaces import AxisSubspaces, Subspaces


def refuse_empty_clusters(members: Memberships, subspaces: Subspaces) -> None:
    """A cluster has at least one row, and a mask at least one feature."""
    empty = np.flatnonzero(np.diff(members.indptr) == 0)
    if len(empty):
        raise SubscapeError(f"cluster {empty[0]} has no rows{_and_more(empty)}; leave it out")
    if isinstance(subspaces, AxisSubspaces):
        bare = np.flatnonzero(~subspaces.masks.any(axis=1))
        if len(bare):
            raise SubscapeError(
                f"cluster {bare[0]} has no features{_and_more(bare)}; leave it out or give it one"
            )


def _and_more(found: NDArray[np.intp]) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""


def share_no_cell(members: Memberships, subspaces: Subspaces) -> bool:
    """Whether clusters that share rows have orthogonal subspaces."""
    if members.n_clusters < 2 or (members.clusters_per_row() <= 1).all():
        return True
    rows = members.to_scipy(np.float32)
    shared = (rows @ rows.T).toarray() > 0
    np.fill_diagonal(shared, False)
    return not bool((shared & ~_orthogonal(subspaces)).any())


def _orthogonal(subspaces: Subspaces) -> NDArray[np.bool_]:
    """Which pairs of subspaces share nothing, as a (n_clusters, n_clusters) matrix."""
    if isinstance(subspaces, OrientedSubspaces):
        return squared_cosines(subspaces, subspaces) <= 1e-9
    return (subspaces.relevance @ subspaces.relevance.T) == 0


def row_groups(members: Memberships, subspaces: Subspaces) -> NDArray[np.intp] | None:
    """Row group of each cluster if they form a co-clustering with several column groups.

    They do if the masks are disjoint, the row sets are disjoint, and every row set occurs with
    every mask just once.
    """
    if not isinstance(subspaces, AxisSubspaces) or not members.is_hard or not members.n_clusters:
        return None
    columns, of_column = np.unique(subspaces.masks, axis=0, return_inverse=True)
    if len(columns) < 2 or members.n_clusters % len(columns) or columns.sum(axis=0).max() > 1:
        return None
    seen: dict[bytes, int] = {}
    group = np.array(
        [seen.setdefault(members.rows(k).tobytes(), len(seen)) for k in range(members.n_clusters)]
    )
    pairs = set(zip(group.tolist(), of_column.ravel().tolist(), strict=True))
    if not len(pairs) == members.n_clusters == len(seen) * len(columns):
        return None
    first = np.unique(group, return_index=True)[1]
    return group if (members.select(first).clusters_per_row() <= 1).all() else None


def contents(members: Memberships, subspaces: Subspaces) -> list[bytes]:
    """A digest per cluster, sorted: equal lists mean equal clusters in whatever order."""
    digests = []
    for k in range(members.n_clusters):
        digest = hashlib.blake2b(members.rows(k).tobytes(), digest_size=16)
        digest.update(members.weights(k).tobytes())
        digest.update(subspaces.content(k))
        digests.append(digest.digest())
    return sorted(digests)


def close_clusters(
    a: tuple[Memberships, Subspaces], b: tuple[Memberships, Subspaces], atol: float
) -> bool:
    """Whether the clusters are the same up to rounding, order and the choice of bases."""
    free = list(range(b[0].n_clusters))
    for k in range(a[0].n_clusters):
        match = next(
            (j for j in free if _close_rows(a[0], k, b[0], j, atol)
             and _close_subspaces(a[1], k, b[1], j, atol)),
            None,
        )  # fmt: skip
        if match is None:
            return False
        free.remove(match)
    return not free


def _close_rows(a: Memberships, k: int, b: Memberships, j: int, atol: float) -> bool:
    return np.array_equal(a.rows(k), b.rows(j)) and np.allclose(
        a.weights(k), b.weights(j), rtol=0, atol=max(atol, 1e-6)
    )


def _close_subspaces(a: Subspaces, k: int, b: Subspaces, j: int, atol: float) -> bool:
    if not (isinstance(a, OrientedSubspaces) and isinstance(b, OrientedSubspaces)):
        return np.allclose(a.relevance[k], b.relevance[j], rtol=0, atol=atol)
    if a.dims[k] != b.dims[j]:
        return False
    left, right = a.bases[k], b.bases[j]
    if a.is_complement == b.is_complement:
        residual = right - left @ (left.T @ right)
    else:
        residual = left.T @ right
    return bool(np.abs(residual).max(initial=0.0) <= atol)
