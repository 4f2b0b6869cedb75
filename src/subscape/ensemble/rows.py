"""One grouping of the rows out of many, whatever their subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.arrays.tanimoto import projective_similarities
from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import SubscapeError, count
from subscape.core.markup import ShownAsText
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.base import by_first_row
from subscape.measures.stacked_clusters import Stack, stack
from subscape.parallel.seeds import seed_sequence

from .graphs import parts_of, spectral_vectors
from .members import check_member, listed
from .metaclusters import check_number
from .voting import ballot, count_votes, winners

#: More clusters than this are not tried when the number is left open.
MOST_TRIED = 30


@dataclass(frozen=True, eq=False)
class RowConsensus(ShownAsText):
    """What many clusterings agree on about the rows.

    Attributes
    ----------
    labels : array of shape (n_rows,)
        Clusters ``0 .. K-1``, -1 for noise.
    votes : array of shape (n_clusters, n_rows)
        Share of the members voting on the row that have it in this cluster.
    row_agreement : array of shape (n_rows,)
        The vote for the row's own cluster; for noise the share of members that leave it out.
    cluster_agreement : array of shape (n_clusters,)
        Mean agreement of the cluster's rows.
    agreement : float
        Mean agreement of the rows.
    fits : dict
        Number of clusters tried -> mean adjusted Rand index of the consensus with the members.
    clustering : SubspaceClustering
        The labels over all features.

    See Also
    --------
    consensus_rows : Makes it.
    """

    labels: IntArray
    votes: FloatArray
    row_agreement: FloatArray
    cluster_agreement: FloatArray
    fits: dict[int, float]
    clustering: SubspaceClustering

    @property
    def n_clusters(self) -> int:
        return len(self.votes)

    @property
    def agreement(self) -> float:
        return float(self.row_agreement.mean())

    def __repr__(self) -> str:
        return (
            f"RowConsensus({count(self.n_clusters, 'cluster')}, {count(len(self.labels), 'row')}, "
            f"agreement {self.agreement:.2f})"
        )


def consensus_rows(
    clusterings: Sequence[Any],
    n_clusters: int | None = None,
    *,
    weights: ArrayLike | None = None,
    noise: str = "majority",
    random_state: Any = None,
) -> RowConsensus:
    """Merge clusterings of any kind into one grouping of the rows.

    Clusters of all members are grouped by the Tanimoto similarity of their rows with a normalised
    cut, and each row goes to the group that the largest share of clusters puts it in: CB-PCE on
    rows [1]_.

    Parameters
    ----------
    clusterings : sequence of SubspaceClustering, fitted finders or label vectors
        Over the same rows; their features, and whether they are axis-aligned, weighted or oriented,
        don't count. A row in several clusters of one member shares its vote; a co-clustering votes
        with its row groups.
    n_clusters : int or None, default=None
        Number of clusters. None: the number, from 2 to the largest of a member (30 at most), whose
        consensus has the largest mean adjusted Rand index with the members.
    weights : array-like of shape (n_members,), optional
        How much each member's vote counts, such as 1 over the number of runs of its finder.
    noise : {"majority", "abstain"}, default="majority"
        A member abstains on rows that are its noise. A row is noise in the consensus if more than
        half of the members leave it out, whatever their weights, or only if all do. Members
        without any cluster (all rows noise) count here and nowhere else.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the cut; None is another one every time.

    Returns
    -------
    RowConsensus
        With fewer than ``n_clusters`` clusters where some win no row.

    See Also
    --------
    generate : Makes an ensemble.
    agreement : How far the members agree with it.
    ClusterBasedPCE : A consensus about features, too.

    References
    ----------
    .. [1] F. Gullo, C. Domeniconi, A. Tagarelli, "Advancing data clustering via projective
       clustering ensembles", SIGMOD 2011, 733-744, doi:10.1145/1989323.1989400.

    Examples
    --------
    >>> from subscape.ensemble import consensus_rows
    >>> found = consensus_rows([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, -1]], 2)
    >>> found.labels
    array([0, 0, 0, 1, 1, 1])
    >>> found.row_agreement.round(2)
    array([1.  , 1.  , 0.67, 1.  , 1.  , 1.  ])
    """
    if n_clusters is not None and (
        isinstance(n_clusters, bool) or not isinstance(n_clusters, Integral)
    ):
        raise TypeError(f"n_clusters must be a whole number or None, got {n_clusters!r}")
    if noise not in ("majority", "abstain"):
        raise SubscapeError(f'noise must be "majority" or "abstain", got {noise!r}')
    members, weigh = _members(clusterings, weights)
    voting = [i for i, member in enumerate(members) if member.n_clusters]
    if not voting:
        raise SubscapeError("no member has a cluster: every row is noise in all of them")
    clusters = stack([members[i] for i in voting], features=False)
    total = int(clusters.starts[-1])
    check_number(total)
    if n_clusters is not None and not 1 <= n_clusters <= total:
        raise SubscapeError(
            f"n_clusters must lie between 1 and the {count(total, 'cluster')} of all members, got "
            f"{n_clusters}"
        )
    cast = ballot(clusters, noise)
    voters = np.full(members[0].n_rows, len(voting)) if cast.voters is None else cast.voters
    absent = len(members) - voters
    is_noise = (2 * absent > len(members)) if noise == "majority" else voters == 0
    rng = np.random.default_rng(seed_sequence(random_state))
    tried = [n_clusters] if n_clusters is not None else _candidates(clusters)
    vectors = spectral_vectors(projective_similarities(clusters.memberships, None), max(tried), rng)
    outcomes = []
    for k in tried:
        groups = np.arange(total) if k >= total else parts_of(vectors, k, rng)
        votes = count_votes(cast, clusters, groups, k, weigh[voting])
        labels = np.where(is_noise, -1, winners(votes.shares, votes.sums))
        outcomes.append((mean_rand(labels, clusters, weigh[voting]), labels, votes.counts))
    # Equal fits differ by rounding only: the fewest clusters win.
    _, labels, counts = max(outcomes, key=lambda outcome: round(outcome[0], 9))
    fits = {k: outcome[0] for k, outcome in zip(tried, outcomes, strict=True)}
    return _summary(labels, counts, absent / len(members), members, fits)


def _members(
    clusterings: Any, weights: ArrayLike | None
) -> tuple[list[SubspaceClustering], FloatArray]:
    members = [
        member if isinstance(member, SubspaceClustering) else as_clustering(member)
        for member in listed(clusterings)
    ]
    if not members:
        raise SubscapeError("the ensemble is empty: it needs at least one clustering")
    for i, member in enumerate(members):
        if member.n_clusters or member.n_rows != members[0].n_rows:
            check_member(members[0], member, i, features=False)
    members = [member.rows_only() if member.is_coclustering else member for member in members]
    weigh = np.ones(len(members)) if weights is None else np.asarray(weights, np.float64)
    if weigh.shape != (len(members),) or not np.isfinite(weigh).all() or (weigh <= 0).any():
        raise SubscapeError(
            f"weights must be {len(members)} positive numbers, one per member, got {weights!r}"
        )
    return members, weigh


def _candidates(clusters: Stack) -> list[int]:
    largest = int(np.diff(clusters.starts).max())
    return list(range(min(2, largest), min(largest, MOST_TRIED) + 1))


def mean_rand(labels: NDArray[Any], clusters: Stack, weights: FloatArray | None = None) -> float:
    """Mean adjusted Rand index of labels with the members, over the rows in clusters of both.

    Soft members count by their soft contingency tables.
    """
    k, starts = int(labels.max(initial=0)) + 1, clusters.starts[:-1]
    rows = np.flatnonzero(labels >= 0)
    hot = np.zeros((clusters.memberships.shape[1], k))
    hot[rows, labels[rows]] = 1.0
    table = np.asarray(clusters.memberships @ hot)  # (c, k)
    total = np.add.reduceat(table.sum(axis=1), starts)
    joint = np.add.reduceat(np.square(table).sum(axis=1), starts)
    ours = np.square(np.add.reduceat(table, starts, axis=0)).sum(axis=1)
    theirs = np.add.reduceat(np.square(table.sum(axis=1)), starts)
    both, a, b = ((part - total) / 2 for part in (joint, ours, theirs))
    pairs = total * (total - 1) / 2
    expected = np.divide(a * b, pairs, out=np.zeros_like(a), where=pairs > 0)
    span = (a + b) / 2 - expected
    scores = np.divide(both - expected, span, out=np.ones_like(span), where=np.abs(span) > 1e-12)
    return float(np.average(scores, weights=weights))


def _summary(
    labels: IndexArray,
    counts: FloatArray,
    absence: FloatArray,
    members: list[SubspaceClustering],
    fits: dict[int, float],
) -> RowConsensus:
    """Number the clusters by their first rows and add up who agrees."""
    used, compact = np.unique(labels[labels >= 0], return_inverse=True)
    order = by_first_row(compact)
    votes = counts[used[order]]
    clustered = np.flatnonzero(labels >= 0)
    numbers = np.full(len(labels), -1, np.int64)
    numbers[clustered] = np.argsort(order)[compact]
    agreement = absence.astype(np.float64)
    agreement[clustered] = votes[numbers[clustered], clustered]
    per_cluster = np.array([agreement[numbers == i].mean() for i in range(len(order))])
    same = len({(member.n_features, member.feature_names) for member in members}) == 1
    rows = next((m.row_names for m in members if m.row_names is not None), None)
    clustering = SubspaceClustering.from_labels(
        numbers,
        n_features=members[0].n_features if same else 1,
        feature_names=members[0].feature_names if same else None,
        row_names=rows,
        provenance={"algorithm": "consensus_rows", "members": len(members)},
    )
    return RowConsensus(numbers, votes, agreement, per_cluster, fits, clustering)
