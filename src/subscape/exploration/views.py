"""From many candidates to a few views: groups of like results, one consensus each, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.ensemble.weighted_vote import confidence, weighted_vote

from .candidates import ROUNDING, Candidate, best_first
from .select import choose_views
from .separation import GroupingScorer

#: Candidates closer than this, on average, are the same grouping.
SAME = 0.1


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
    normal_score : float
        The score over one normal distribution, where it counts.
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
    normal_score: float = -np.inf


def group(candidates: Sequence[Candidate], distances: FloatArray) -> list[list[int]]:
    """Places of the candidates in groups of like ones, each with the best first."""
    if not candidates:
        return []
    if len(candidates) == 1:
        return [[0]]
    tree = linkage(squareform(distances, checks=False), method="average")
    numbers = fcluster(tree, SAME, criterion="distance")
    groups: dict[int, list[int]] = {}
    for place in best_first(candidates):
        groups.setdefault(int(numbers[place]), []).append(place)
    return list(groups.values())


def consensus_of(
    candidates: Sequence[Candidate], places: list[int], scorer: GroupingScorer
) -> Consensus:
    """What the candidates of a group agree on, by a vote in which each weighs as its score.

    Where the outcome of the vote stands out less than the best candidate itself, that one is kept.
    """
    members = [candidates[i] for i in places]
    best = members[0]
    weights = [max(member.score / best.score, 1e-3) ** 2 for member in members]
    memberships, labels, votes = weighted_vote(
        [member.clustering.memberships.astype(np.float64) for member in members],
        weights,
        overlapping=not best.clustering.is_row_disjoint,
    )
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
        row_confidence=confidence(votes, memberships),
        score=verdict.score,
        gain=verdict.gain,
        entropy=verdict.entropy,
        basis=verdict.basis,
        normal_score=verdict.normal_score,
    )


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
    return [_with_score(views[one.place], one.score) for one in chosen]


def _with_score(view: Consensus, score: float) -> Consensus:
    """A view with its score in what the better ones leave of the table."""
    # Of the gain over one normal distribution nothing is known there.
    normal = view.normal_score if score >= view.score - ROUNDING else -np.inf
    return replace(view, score=score, normal_score=normal)


def in_order(view: Consensus) -> IndexArray:
    """Clusters of a view from the largest to the smallest."""
    return np.argsort(-view.memberships.sum(axis=1), kind="stable")
