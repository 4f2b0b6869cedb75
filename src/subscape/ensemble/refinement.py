"""Groups of clusters whose consensus lies near to the ensemble.

How near is what projective ensembles minimise (Ψ of the paper, eqs. 5 and 6): how much the clusters
of the consensus and those of every member resemble the likest one on the other side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.kernels.tanimoto import cross_products, tanimoto
from subscape.measures.projective import psi_of
from subscape.measures.stacked import Stack, squared_norms

from .metaclusters import renumbered

Floats = NDArray[np.float64]
Groups = NDArray[np.intp]

#: How many members the search starts from, each by itself.
STARTS = 5
#: Rounds from every start, rounds for the best of them, and how many of these may pass without
#: coming nearer.
FIRST_ROUNDS, ROUNDS, PATIENCE = 3, 20, 3
#: Clusters that are weighed at a time when a group is made anew.
BLOCK = 512


class Draft(NamedTuple):
    """A consensus that a search has come by.

    Attributes
    ----------
    groups : array of shape (c,)
        Group of each cluster of the ensemble.
    missing : int
        Groups that won no row.
    distance : float
        Mean distance from the members.
    """

    groups: Groups
    missing: int
    distance: float

    @property
    def rank(self) -> tuple[int, float]:
        """As many clusters as asked for come first, then the distance."""
        return self.missing, self.distance


class Likeness:
    """Similarities of any clusters to all clusters of an ensemble.

    Parameters
    ----------
    clusters : Stack
    how : {"tanimoto", "fast"}
        As in :func:`subscape.kernels.tanimoto.projective_similarities`.
    """

    def __init__(self, clusters: Stack, how: str = "tanimoto") -> None:
        self.clusters = clusters
        self.how = how
        self._rows = squared_norms(clusters, "objects")
        self._features = squared_norms(clusters, "features")

    def to(self, memberships: Floats, weights: Floats | None) -> Floats:
        """Of clusters with (K, n) memberships, best most of them 0, and (K, p) weights: (K, c)."""
        given = self.clusters
        rows = cross_products(given.memberships, sparse.csr_array(memberships)).T
        own_rows = np.square(memberships).sum(axis=1)
        if weights is None or given.weights is None:
            return tanimoto(rows, own_rows, self._rows)
        features = cross_products(weights, given.weights)
        own_features = np.square(weights).sum(axis=1)
        if self.how == "fast":
            both = tanimoto(rows, own_rows, self._rows)
            both += tanimoto(features, own_features, self._features)
            return both / 2
        return tanimoto(rows * features, own_rows * own_features, self._rows * self._features)


def member_groups(similarity: Floats, starts: Groups, k: int, number: int = STARTS) -> list[Groups]:
    """Groups around the clusters of single members, those nearest to the ensemble first.

    Members with k clusters come first. Of a member with more the k that stand for the others best
    are taken, to one with fewer the best clusters of other members are added.

    Parameters
    ----------
    similarity : (c, c) array in [0, 1]
    starts : (m + 1,) array
        Where the members' clusters begin.
    k : int
    number : int
        How many members.

    Returns
    -------
    list of (c,) arrays with values in 0 .. k-1

    Examples
    --------
    >>> S = np.array([[1.0, 0.1, 0.9, 0.2], [0.1, 1.0, 0.0, 0.8],
    ...               [0.9, 0.0, 1.0, 0.1], [0.2, 0.8, 0.1, 1.0]])
    >>> member_groups(S, np.array([0, 2, 4]), 2, number=1)
    [array([0, 1, 0, 1])]
    """
    spans = list(itertools.pairwise(starts))
    away = [abs(int(b - a) - k) for a, b in spans]
    distances = [psi_of(similarity[a:b], starts).sum() for a, b in spans]
    chosen = np.lexsort((distances, away))[:number]
    found = []
    for a, b in (spans[i] for i in chosen):
        own = np.arange(a, b)
        centres = list(own) if len(own) <= k else representatives(similarity, None, k, own)
        if len(centres) < k:
            near = similarity[centres].max(axis=0)
            centres += representatives(similarity, near, k - len(centres))
        found.append(similarity[:, centres].argmax(axis=1))
    return found


def representatives(
    similarity: Floats, near: Floats | None, number: int, among: Groups | None = None
) -> list[int]:
    """Clusters that stand for all others best beside those that are there, one after another.

    Parameters
    ----------
    similarity : (c, c) array
    near : (c,) array or None
        How much each cluster resembles what is there already; None: nothing is.
    number : int
    among : array, optional
        The clusters to choose from, all by default.

    Examples
    --------
    >>> S = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 1.0]])
    >>> representatives(S, None, 2)
    [1, 2]
    """
    near = np.zeros(len(similarity)) if near is None else near
    among = np.arange(len(similarity)) if among is None else among
    chosen: list[int] = []
    for _ in range(number):
        gains = np.concatenate([
            np.maximum(similarity[among[i : i + BLOCK]] - near, 0.0).sum(axis=1)
            for i in range(0, len(among), BLOCK)
        ])  # fmt: skip
        gains[np.isin(among, chosen)] = -1.0
        chosen.append(int(among[gains.argmax()]))
        near = np.maximum(near, similarity[chosen[-1]])
    return chosen


def refined(
    starts: Sequence[Groups],
    k: int,
    similarity: Floats,
    likeness: Likeness,
    vote: Callable[[Groups], tuple[Floats, Floats | None]],
) -> Groups:
    """The groups whose consensus comes nearest to the ensemble, by steps from each start.

    In every round the groups vote, and each cluster goes to the group whose consensus it resembles
    most. A group that wins no row is made anew around the cluster that stands best for those that
    are badly served. Of several starts the one that is ahead after a few rounds goes on.

    Parameters
    ----------
    starts : sequence of (c,) arrays
        Groups to begin with, values in 0 .. k-1.
    k : int
    similarity : (c, c) array
        Of all clusters of the ensemble.
    likeness : Likeness
    vote : callable
        From groups to (k, n) memberships and (k, p) weights, or None for the weights.

    Returns
    -------
    (c,) array
        Numbered by their first clusters.
    """

    def search(groups: Groups, rounds: int) -> Draft:
        return _search(groups, k, similarity, likeness, vote, rounds)

    if len(starts) == 1:
        return search(starts[0], ROUNDS).groups
    ahead = min((search(groups, FIRST_ROUNDS) for groups in starts), key=lambda draft: draft.rank)
    return search(ahead.groups, ROUNDS).groups


def _search(
    groups: Groups,
    k: int,
    similarity: Floats,
    likeness: Likeness,
    vote: Callable[[Groups], tuple[Floats, Floats | None]],
    rounds: int,
) -> Draft:
    best: Draft | None = None
    idle = 0
    groups = renumbered(groups)  # votes that are level go to the lower number
    for _ in range(rounds):
        memberships, weights = vote(groups)
        kept = np.flatnonzero(memberships.sum(axis=1) > 0)
        if not len(kept):  # every row is noise
            return Draft(groups, k, 1.0)
        alike = likeness.to(memberships[kept], None if weights is None else weights[kept])
        distance = float(psi_of(alike, likeness.clusters.starts).mean())
        draft = Draft(groups, k - len(kept), distance)
        if best is None or draft.rank < best.rank:
            best, idle = draft, 0
        else:
            idle += 1
        moved = _regrouped(alike, kept, k, similarity)
        if idle >= PATIENCE or (moved == groups).all():
            break
        groups = moved
    assert best is not None
    return best


def _regrouped(alike: Floats, kept: Groups, k: int, similarity: Floats) -> Groups:
    """Each cluster with the consensus cluster it resembles most; lost groups are made anew."""
    groups, near = kept[alike.argmax(axis=0)], alike.max(axis=0)
    lost = np.setdiff1d(np.arange(k), kept)
    for group, centre in zip(lost, representatives(similarity, near, len(lost)), strict=True):
        moved = similarity[centre] > near
        groups[moved] = group
        near[moved] = similarity[centre][moved]
    return renumbered(groups)
