"""From many candidates to a few views: groups of like results, one consensus each, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform

from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray

from .candidates import Candidate
from .select import choose_views
from .separation import GroupingScorer

#: Candidates closer than this, on average, are the same grouping.
SAME = 0.1
#: A row belongs to a cluster if at least this share of the votes says so.
MAJORITY = 0.5


@dataclass(frozen=True, eq=False)
class Consensus:
    """What the candidates of a view agree on.

    Attributes
    ----------
    members : list of Candidate
        The best first.
    places : list of int
        Their places among all candidates.
    memberships : bool array of shape (n_clusters, n_rows)
    labels : array
    row_confidence : array
        Share of the (weighted) votes that put a row where it is.
    score, gain, entropy : float
        See :class:`subscape.exploration.separation.Separation`.
    basis : array
    """

    members: list[Candidate]
    places: list[int]
    memberships: BoolArray
    labels: IntArray
    row_confidence: FloatArray
    score: float
    gain: float
    entropy: float
    basis: FloatArray


def group(candidates: Sequence[Candidate], distances: FloatArray) -> list[list[int]]:
    """Places of the candidates in groups of like ones, each with the best first."""
    if not candidates:
        return []
    if len(candidates) == 1:
        return [[0]]
    tree = linkage(squareform(distances, checks=False), method="average")
    numbers = fcluster(tree, SAME, criterion="distance")
    groups: dict[int, list[int]] = {}
    for place in sorted(range(len(candidates)), key=lambda i: (-candidates[i].score, i)):
        groups.setdefault(int(numbers[place]), []).append(place)
    return list(groups.values())


def weighted_vote(
    candidates: Sequence[Candidate], places: list[int], scorer: GroupingScorer
) -> Consensus:
    """Let the candidates of a group vote, cluster by cluster, about every row.

    The clusters are those of the best candidate; the others' are matched to them. The vote of a
    candidate weighs as much as its score. Where the outcome of the vote stands out less than the
    best candidate itself, that one is kept.
    """
    members = [candidates[i] for i in places]
    best = members[0]
    base = best.clustering.memberships.astype(np.float64)
    votes = np.zeros(base.shape)
    total = 0.0
    for member in members:
        weight = max(member.score / best.score, 1e-3) ** 2
        votes += weight * matched(base, member.clustering.memberships.astype(np.float64))
        total += weight
    votes /= total
    memberships = _decided(votes, overlapping=not best.clustering.is_row_disjoint)
    kept = memberships.any(axis=1)
    memberships, votes = memberships[kept], votes[kept]
    labels = labels_of(memberships, votes)
    verdict = scorer(labels, memberships)
    if verdict.score < best.score or len(memberships) < 2:
        memberships = best.clustering.memberships.toarray() > 0
        labels, verdict = best.labels, scorer(best.labels, memberships)
        votes = votes if len(votes) == len(memberships) else memberships.astype(np.float64)
    return Consensus(
        members=members,
        places=places,
        memberships=memberships,
        labels=labels,
        row_confidence=_confidence(votes, memberships),
        score=verdict.score,
        gain=verdict.gain,
        entropy=verdict.entropy,
        basis=verdict.basis,
    )


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
    settled = votes.max(axis=0) >= np.maximum(out_of_all, 1e-12)
    memberships[winner[settled], np.flatnonzero(settled)] = True
    return memberships


def labels_of(memberships: BoolArray, votes: FloatArray) -> IntArray:
    """Row labels: the cluster with most votes among those a row is in; -1 for none."""
    shares = np.where(memberships, votes, -1.0)
    labels = shares.argmax(axis=0) if len(shares) else np.zeros(memberships.shape[1], int)
    return np.where(memberships.any(axis=0), labels, -1)


def _confidence(votes: FloatArray, memberships: BoolArray) -> FloatArray:
    inside = np.where(memberships, votes, 0.0).max(axis=0, initial=0.0)
    outside = np.maximum(1.0 - votes.sum(axis=0), 0.0)
    return np.clip(np.where(memberships.any(axis=0), inside, outside), 0.0, 1.0)


def ranked(
    views: Sequence[Consensus], scorer: GroupingScorer, given: Sequence[NDArray[Any]] = ()
) -> list[Consensus]:
    """Views that tell something new, the clearest first.

    Parameters
    ----------
    views : sequence of Consensus
    scorer : GroupingScorer
        Of the rows that were searched.
    given : sequence of label vectors
        Known groupings that shall not be reported again.
    """
    chosen = choose_views(
        scorer, [view.labels for view in views], given, [view.memberships for view in views]
    )
    return [replace(views[one.place], score=one.score) for one in chosen]


def in_order(view: Consensus) -> IndexArray:
    """Clusters of a view from the largest to the smallest."""
    return np.argsort(-view.memberships.sum(axis=1), kind="stable")


__all__ = ["Consensus", "group", "in_order", "matched", "ranked", "weighted_vote"]
