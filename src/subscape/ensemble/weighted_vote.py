"""A weighted vote of clusterings that mean the same: cluster by cluster, about every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from subscape.core.types import BoolArray, FloatArray, IntArray

#: A row belongs to a cluster if at least this share of the votes says so.
MAJORITY = 0.5


class RowVote(NamedTuple):
    """Outcome of :func:`weighted_vote`.

    Attributes
    ----------
    memberships : bool array of shape (n_clusters, n_rows)
        Clusters that no row is in are left out.
    labels : int array of shape (n_rows,)
        The cluster with most votes among those a row is in; -1 for none.
    votes : array of shape (n_clusters, n_rows)
        Share of the votes that put a row into a cluster.

    See Also
    --------
    consensus_rows : Merges clusterings of any kind.
    """

    memberships: BoolArray
    labels: IntArray
    votes: FloatArray


def weighted_vote(
    members: Sequence[Any], weights: Sequence[float], *, overlapping: bool = False
) -> RowVote:
    """Let clusterings that are alike vote about every row.

    The clusters are those of the first; the others' are matched to them one to one, and what is
    left over goes to the cluster that it shares most rows with.

    Parameters
    ----------
    members : sequence of (n_clusters, n_rows) arrays or sparse matrices
        Memberships of each clustering.
    weights : sequence of float
        What the vote of each counts.
    overlapping : bool, default=False
        Whether a row may end up in several clusters: in all that have a majority, instead of the
        one with most votes.

    Returns
    -------
    RowVote

    Examples
    --------
    >>> one = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    >>> other = np.array([[0.0, 0, 0, 1], [1, 1, 1, 0]])  # its clusters have other numbers
    >>> weighted_vote([one, other], [2.0, 1.0]).labels
    array([0, 0, 1, 1])
    >>> weighted_vote([one, other, other], [1.0, 1.0, 1.0]).labels
    array([0, 0, 0, 1])
    """
    base = members[0]
    votes = np.zeros(base.shape)
    for member, weight in zip(members, weights, strict=True):
        votes += weight * matched(base, member)
    votes /= sum(weights)
    memberships = _decided(votes, overlapping=overlapping)
    kept = memberships.any(axis=1)
    memberships, votes = memberships[kept], votes[kept]
    return RowVote(memberships, labels_of(memberships, votes), votes)


def matched(base: Any, other: Any) -> FloatArray:
    """Memberships of ``other`` (clusters x rows) put under the clusters of ``base``."""
    common = (base @ other.T).toarray() if sparse.issparse(base) else base @ other.T
    rows, columns = linear_sum_assignment(-common)
    out = np.zeros(base.shape)
    dense = other.toarray() if sparse.issparse(other) else other
    used = common[rows, columns] > 0
    out[rows[used]] = dense[columns[used]]
    # A cluster that is left over is a part of the one it shares most with, or none of ours.
    for extra in np.setdiff1d(np.arange(other.shape[0]), columns[used]):
        home = int(common[:, extra].argmax())
        if common[home, extra] > MAJORITY * dense[extra].sum():
            out[home] = np.maximum(out[home], dense[extra])
    return out


def _decided(votes: FloatArray, *, overlapping: bool) -> BoolArray:
    if overlapping:
        return votes >= MAJORITY
    memberships = np.zeros(votes.shape, dtype=bool)
    winner = votes.argmax(axis=0)
    out_of_all = np.maximum(1.0 - votes.sum(axis=0), 0.0)
    has_won = votes.max(axis=0) >= np.maximum(out_of_all, 1e-12)
    memberships[winner[has_won], np.flatnonzero(has_won)] = True
    return memberships


def labels_of(memberships: BoolArray, votes: FloatArray) -> IntArray:
    """Row labels: the cluster with most votes among those a row is in; -1 for none."""
    shares = np.where(memberships, votes, -1.0)
    labels = shares.argmax(axis=0) if len(shares) else np.zeros(memberships.shape[1], int)
    return np.where(memberships.any(axis=0), labels, -1)


def confidence(votes: FloatArray, memberships: BoolArray) -> FloatArray:
    """Share of the votes that put each row where it is."""
    inside = np.where(memberships, votes, 0.0).max(axis=0, initial=0.0)
    outside = np.maximum(1.0 - votes.sum(axis=0), 0.0)
    return np.clip(np.where(memberships.any(axis=0), inside, outside), 0.0, 1.0)
