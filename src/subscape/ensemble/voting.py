"""How the clusters of a metacluster vote on rows and features, and what to make of the votes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.measures.stacked_clusters import Stack


class Ballot(NamedTuple):
    """One vote per member and row.

    Attributes
    ----------
    memberships : sparse array of shape (c, n)
        Memberships of all clusters; a row in several clusters of one member shares its vote (in
        float64, so that votes that are level stay so).
    present : array of shape (m, n), bool, or None
        Which member has the row in some cluster; None if all have all rows.
    noise : array of shape (n,), bool
        Rows that are noise in the consensus.
    """

    memberships: sparse.csr_array
    present: BoolArray | None
    noise: BoolArray

    @property
    def voters(self) -> Any:
        """Members that vote on each row, or their number if it is the same for all."""
        return None if self.present is None else self.present.sum(axis=0)


def ballot(clusters: Stack, noise: str = "majority") -> Ballot:
    """The votes of the members: whoever leaves a row out as noise abstains on it.

    Parameters
    ----------
    clusters : Stack
    noise : {"majority", "abstain"}
        A row is noise in the consensus if more than half of the members leave it out, or only if
        all of them do.
    """
    memberships = clusters.memberships
    m, n = clusters.n_clusterings, memberships.shape[1]
    owner = _indicator(clusters.owners, m)
    totals = sparse.csr_array(owner @ memberships)
    if totals.nnz == m * n and totals.data.max() <= 1 + 1e-5:
        return Ballot(memberships, None, np.zeros(n, bool))
    if totals.data.max() > 1 + 1e-5:
        scale = totals.toarray()
        np.divide(1.0, scale, out=scale, where=scale > 1)
        entries = memberships.tocoo()
        data = (
            entries.data * np.where(scale > 0, scale, 1)[clusters.owners[entries.row], entries.col]
        )
        memberships = sparse.csr_array(
            (data, memberships.indices, memberships.indptr), memberships.shape
        )
    present = totals.toarray() > 0
    absent = m - present.sum(axis=0)
    left_out = absent * 2 > m if noise == "majority" else absent == m
    return Ballot(memberships, None if present.all() else present, left_out)


class Votes(NamedTuple):
    """What the clusters of each metacluster say about each row."""

    sums: FloatArray
    """(K, n) summed memberships."""
    shares: FloatArray
    """(K, n) mean membership over the clusters of the metacluster whose member votes on the row."""
    counts: FloatArray
    """(K, n) summed memberships over the number of members that vote on the row."""


def count_votes(
    votes: Ballot, clusters: Stack, groups: IndexArray, k: int, weights: Any = None
) -> Votes:
    """Add up the votes of the clusters of every metacluster.

    Parameters
    ----------
    votes : Ballot
    clusters : Stack
    groups : (c,) array
        Metacluster of each cluster.
    k : int
        Number of metaclusters.
    weights : (m,) array, optional
        Weight of each member; all alike by default.
    """
    m = clusters.n_clusterings
    weigh = np.ones(m) if weights is None else np.asarray(weights, np.float64)
    joint = _indicator(groups, k) * weigh[clusters.owners]
    sums = np.asarray((joint @ votes.memberships.astype(np.float64, copy=False)).toarray())
    # How many clusters of each member a metacluster holds.
    held = np.zeros((k, m))
    np.add.at(held, (groups, clusters.owners), weigh[clusters.owners])
    if votes.present is None:
        size, voters = held.sum(axis=1, keepdims=True), weigh.sum()
    else:
        size, voters = held @ votes.present, weigh @ votes.present
    shares = np.divide(sums, size, out=np.zeros_like(sums), where=size > 0)
    counts = np.divide(sums, voters, out=np.zeros_like(sums), where=voters > 0)
    return Votes(sums, np.minimum(shares, 1.0), np.minimum(counts, 1.0))


def winners(votes: FloatArray, sums: FloatArray) -> IndexArray:
    """Metacluster with the largest vote per row; ties to the larger sum, then the lower index.

    >>> winners(np.array([[0.5, 0.2], [0.5, 0.8]]), np.array([[1.0, 1.0], [3.0, 2.0]]))
    array([1, 1])
    """
    first = votes >= votes.max(axis=0)
    return np.asarray(np.where(first, sums, -1.0).argmax(axis=0))


def shared_mass(costs: FloatArray, power: float) -> FloatArray:
    """Shares g of each column, summing to 1, with the least Σ g^power · cost (Theorems 1 and 2).

    Where costs are 0 they share all mass equally: the theorems divide by them.

    Parameters
    ----------
    costs : (k, n) array, at least 0
    power : float
        α or β, larger than 1; the larger, the more even the shares.

    Returns
    -------
    (k, n) array

    Examples
    --------
    >>> shared_mass(np.array([[0.2, 0.0], [0.8, 0.5], [0.8, 0.0]]), 2.0).round(4)
    array([[0.6667, 0.5   ],
           [0.1667, 0.    ],
           [0.1667, 0.5   ]])
    """
    least = costs.min(axis=0)
    free = least <= 0
    scaled = costs / np.where(free, 1.0, least)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        shares = np.where(free, costs <= 0, scaled ** (-1.0 / (power - 1.0)))
    return np.asarray(shares / shares.sum(axis=0))


def widened(memberships: sparse.csr_array) -> sparse.csr_array:
    """The same in float64; where the entries are is not copied."""
    parts = memberships.data.astype(np.float64), memberships.indices, memberships.indptr
    return sparse.csr_array(parts, memberships.shape)


def _indicator(groups: IndexArray, k: int) -> sparse.csr_array:
    """(k, c) matrix with a 1 where a cluster belongs to a group."""
    number = len(groups)
    return sparse.csr_array((np.ones(number), (groups, np.arange(number))), (k, number))
