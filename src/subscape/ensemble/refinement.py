"""Groups of clusters whose consensus lies near to the ensemble.

How near is what projective ensembles minimise (Ψ of the paper, eqs. 5 and 6): how much the clusters
of the consensus and those of every member resemble the likest one on the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.kernels.tanimoto import tanimoto
from subscape.measures.projective import psi_of
from subscape.measures.stacked import Stack, shared_masses, squared_norms

from .metaclusters import renumbered, representatives

Floats = NDArray[np.float64]
Groups = NDArray[np.intp]

#: Rounds from every start, rounds for the best of them, and how many of these may pass without
#: coming nearer.
FIRST_ROUNDS, ROUNDS, PATIENCE = 3, 20, 3


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
    """Similarities of any clusters to all clusters of an ensemble, whose norms are known.

    Parameters
    ----------
    clusters : Stack
    how : {"tanimoto", "fast"}
        As in :func:`subscape.kernels.tanimoto.projective_similarities`.
    """

    def __init__(self, clusters: Stack, how: str = "tanimoto") -> None:
        self.clusters = clusters
        if clusters.weights is None:
            self.sides: tuple[str, ...] = ("objects",)
        else:
            self.sides = ("objects", "features") if how == "fast" else ("both",)
        self._norms = {side: squared_norms(clusters, side) for side in self.sides}

    def to(self, memberships: Floats, weights: Floats | None) -> Floats:
        """Of clusters with (K, n) memberships, best most of them 0, and (K, p) weights: (K, c)."""
        own = Stack(sparse.csr_array(memberships), weights, np.array([0, len(memberships)]))
        alike = [
            tanimoto(
                shared_masses(own, self.clusters, side), squared_norms(own, side), self._norms[side]
            )
            for side in self.sides
        ]
        return np.asarray(sum(alike) / len(alike))


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
