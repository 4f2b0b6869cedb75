"""The clusters of many clusterings of one table, stacked for products over all of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subscape.arrays.tanimoto import cross_products, products, tanimoto
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import UnsupportedKindError
from subscape.core.types import FloatArray, IndexArray


class Stack(NamedTuple):
    """Clusters of all clusterings under each other.

    Attributes
    ----------
    memberships : sparse array of shape (c, n), float32
    weights : array of shape (c, p), or None
        Feature weights, each row summing to 1; None if only rows were asked for.
    starts : array of shape (m + 1,)
        Clustering ``i`` owns the clusters ``starts[i] … starts[i + 1] - 1``.
    """

    memberships: sparse.csr_array
    weights: Any
    starts: IndexArray

    @property
    def n_clusterings(self) -> int:
        return len(self.starts) - 1

    @property
    def owners(self) -> IndexArray:
        """The clustering of each cluster."""
        return np.repeat(np.arange(self.n_clusterings), np.diff(self.starts))

    @property
    def sizes(self) -> FloatArray:
        """Summed memberships of each cluster."""
        return np.asarray(self.memberships.sum(axis=1, dtype=np.float64)).ravel()


def stack(clusterings: Sequence[SubspaceClustering], *, features: bool = True) -> Stack:
    """Stack the clusters of clusterings of one table.

    >>> from subscape import SubspaceClustering
    >>> both = [SubspaceClustering.from_labels(labels, n_features=2) for labels in ([0, 1], [0, 0])]
    >>> stack(both).starts
    array([0, 2, 3])
    """
    if features:
        for i, member in enumerate(clusterings):
            if member.kind == "oriented":
                raise UnsupportedKindError(
                    f"clustering {i} has oriented subspaces, which are no feature weights: look at "
                    'rows only (on="objects"), or turn it into weights with as_weighted()'
                )
    starts = np.cumsum([0, *(member.n_clusters for member in clusterings)])
    rows = [member.members.to_scipy(np.float32) for member in clusterings]
    weights = None
    if features:
        weights = np.concatenate(
            [member.as_weighted().subspaces.relevance for member in clusterings]
        )
    return Stack(sparse.vstack(rows, format="csr"), weights, starts)


def block_sums(table: FloatArray, starts_a: IndexArray, starts_b: IndexArray) -> FloatArray:
    """Sum a (clusters, clusters) table over the pairs of clusterings."""
    over_rows = np.add.reduceat(table, starts_a[:-1], axis=0)
    return np.asarray(np.add.reduceat(over_rows, starts_b[:-1], axis=1))


def shared_masses(first: Stack, second: Stack, on: str = "both") -> FloatArray:
    """Scalar products of the clusters' (rows, features) matrices, or of one side of them.

    Parameters
    ----------
    first, second : Stack
    on : {"both", "objects", "features"}
    """

    def side(name: str) -> FloatArray:
        mine, theirs = getattr(first, name), getattr(second, name)
        return products(mine) if first is second else cross_products(mine, theirs)

    if on == "both":
        return side("memberships") * side("weights")
    return side("memberships" if on == "objects" else "weights")


def squared_norms(given: Stack, on: str = "both") -> FloatArray:
    """Squared norms of the clusters' (rows, features) matrices, or of one side of them."""
    squares = np.ones(given.starts[-1])
    if on != "features":
        rows = given.memberships
        # Cluster by cluster: no wider copy of all memberships.
        squares *= [
            np.square(rows.data[start:end], dtype=np.float64).sum()
            for start, end in itertools.pairwise(rows.indptr)
        ]
    if on != "objects" and given.weights is not None:
        squares *= np.square(given.weights).sum(axis=1)
    return squares


def similarities(first: Stack, second: Stack, on: str = "both") -> FloatArray:
    """Tanimoto similarities of all clusters of one stack with all of the other."""
    norms = squared_norms(first, on), squared_norms(second, on)
    return tanimoto(shared_masses(first, second, on), *norms)
