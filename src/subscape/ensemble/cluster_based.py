"""CB-PCE and FCB-PCE: cluster the clusters of an ensemble, then let each group vote."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.algorithms.base import Found
from subscape.algorithms.progress import Watch
from subscape.kernels.tanimoto import projective_similarities
from subscape.measures.stacked import Stack, stack

from .base import COMMON, ConsensusMethod, Floats, assembled, by_first_choice, knows_features
from .members import Ensemble
from .metaclusters import (
    METHODS,
    STARTS,
    check_number,
    member_groups,
    metaclusters,
    renumbered,
)
from .refinement import Likeness, refined
from .voting import Ballot, Votes, ballot, count_votes, shared_mass, widened, winners


class ClusterBasedPCE(ConsensusMethod):
    """CB-PCE and FCB-PCE: the consensus of projective clusterings by groups of their clusters.

    The clusters of all members are grouped by their similarity in rows and features together; each
    group becomes a cluster of the consensus, whose rows and feature weights its members vote on
    [1]_. CB-PCE compares the products of memberships and feature weights; since these matrices have
    rank one, that costs no more than the approximation FCB-PCE that the paper makes for speed.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters (K). None: the median number of the members.
    distance : {"tanimoto", "fast"}, default="tanimoto"
        How clusters are compared: "tanimoto" is CB-PCE (eq. 8), "fast" FCB-PCE (eq. 24).
    metaclustering : {"members", "kmedoids", "spectral", "average", "complete", "weighted"}
        How the clusters are grouped, which the paper leaves open: around the clusters of the
        members that are nearest to the whole ensemble, the default, around medoids, by a normalised
        cut, or by a linkage, which tends to set odd clusters apart as groups.
    refine : bool, default=True
        Go on from these groups, as long as it brings the consensus nearer to the ensemble (the
        distance that the paper minimises): each cluster goes to the group whose consensus it
        resembles most, and groups that win no row are made anew. Looked at are rows that go to one
        cluster and mean weights, whatever is returned. False: vote once, as published.
    assignment : {"hard", "soft", "auto"}, default="hard"
        Whether a row goes to one cluster or is shared (eq. 12). "auto" is the paper's rule: hard if
        all members are. Shared rows say little: of ten clusters the one that 90 % of the members
        agree on gets about half.
    alpha : float, default=2.0
        How evenly soft memberships are shared (α), larger than 1.
    feature_rule : {"mean", "paper"}, default="mean"
        Feature weights of a consensus cluster: the mean of the weights in its group, or eq. 22,
        which flattens them the more features there are.
    beta : float, default=2.0
        How evenly eq. 22 shares the weights (β), larger than 1.
    vote : {"share", "count"}, default="share"
        What decides about a row: what share of the group's clusters have it, as the paper's formula
        says, or how many of them, as its words say. They agree where every member has one cluster
        in every group.
    noise : {"majority", "abstain"}, default="majority"
        A member abstains on rows that are its noise. A row is noise in the consensus if more than
        half of the members leave it out, or only if all do.
    random_state : int, Generator, RandomState or None
        Only "kmedoids" and "spectral" need it.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Weighted clusters.
    labels_ : array of shape (n_rows,)
        Cluster of each row, -1 for noise.
    metaclusters_ : array of shape (total_clusters,)
        Cluster of the consensus that each cluster of the ensemble went into, members one after
        another; -1 for groups that won no row.
    support_ : array of shape (n_clusters, n_rows)
        Share of the voting members that have the row in a cluster of the group.

    Notes
    -----
    A row in several clusters of one member shares its vote among them. Where A or B is 0 (Theorems
    1 and 2 divide by them) the zero entries share all mass equally. Groups that win no row are
    dropped with a warning. Where members are oriented all are compared by rows only.

    The defaults were chosen on tables, real and planted, that the paper doesn't use. Groups of one
    vote, however they are made, may hold shared-out clusters only, which then win no row and are
    lost; the steps from the nearest members lose few. Where one vote around medoids loses none,
    both come equally near to the classes. The plain mean gave much better feature weights than
    eq. 22.

    References
    ----------
    .. [1] F. Gullo, C. Domeniconi, A. Tagarelli, "Advancing data clustering via projective
       clustering ensembles", SIGMOD 2011, 733-744, doi:10.1145/1989323.1989400.

    Examples
    --------
    >>> from subscape.algorithms import LAC
    >>> from subscape.datasets import planted_axes
    >>> from subscape.ensemble import ClusterBasedPCE, generate
    >>> X, truth = planted_axes(300, 8, n_clusters=3, dims=3, random_state=1)
    >>> finder = LAC(n_clusters=3, n_init=1, init="random")
    >>> members = generate(X, finder, size=20, flavours=None, random_state=0)
    >>> consensus = ClusterBasedPCE(n_clusters=3, random_state=0).fit(members)
    >>> consensus.clustering_.rows_only() == truth.rows_only()
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": COMMON["n_clusters"],
        "distance": [StrOptions({"tanimoto", "fast"})],
        "metaclustering": [StrOptions({"members", *METHODS})],
        "refine": ["boolean"],
        "assignment": [StrOptions({"auto", "hard", "soft"})],
        "alpha": [Interval(Real, 1, None, closed="neither")],
        "feature_rule": [StrOptions({"mean", "paper"})],
        "beta": [Interval(Real, 1, None, closed="neither")],
        "vote": [StrOptions({"count", "share"})],
        "noise": COMMON["noise"],
        "random_state": COMMON["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distance: str = "tanimoto",
        metaclustering: str = "members",
        refine: bool = True,
        assignment: str = "hard",
        alpha: float = 2.0,
        feature_rule: str = "mean",
        beta: float = 2.0,
        vote: str = "share",
        noise: str = "majority",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance = distance
        self.metaclustering = metaclustering
        self.refine = refine
        self.assignment = assignment
        self.alpha = alpha
        self.feature_rule = feature_rule
        self.beta = beta
        self.vote = vote
        self.noise = noise
        self.random_state = random_state

    def _combine(
        self, ensemble: Ensemble, X: Floats | None, seed: np.random.SeedSequence, watch: Watch
    ) -> Found:
        k = self._k(ensemble)
        check_number(ensemble.total_clusters)
        clusters = stack(list(ensemble), features=not ensemble.is_oriented)
        similarity = projective_similarities(clusters.memberships, clusters.weights, self.distance)
        watch.step("compared", 1, 3)
        cast = ballot(clusters, self.noise)
        groups = self._groups(clusters, similarity, cast, k, np.random.default_rng(seed))
        watch.step("grouped", 2, 3)
        hard = self.assignment == "hard" or (
            self.assignment == "auto" and all(member.is_hard for member in ensemble)
        )
        formed = int(groups.max()) + 1  # may be fewer than k
        votes = count_votes(cast, clusters, groups, formed)
        memberships = self._rows(votes, cast, hard)
        weights = None
        if knows_features(ensemble):
            weights = feature_votes(clusters.weights, groups, formed, self.feature_rule, self.beta)
        order = by_first_choice(memberships)
        order = order[memberships[order].sum(axis=1) > 0]
        weights = None if weights is None else weights[order]
        found = assembled(memberships[order], weights, X, ensemble.n_features, k)
        number = np.full(formed, -1)
        number[order] = np.arange(len(order))
        return Found(
            found,
            attributes={"metaclusters_": number[groups], "support_": votes.counts[order]},
        )

    def _without_clusters(self, ensemble: Ensemble) -> dict[str, Any]:
        return {"metaclusters_": np.full(ensemble.total_clusters, -1),
                "support_": np.zeros((0, ensemble.n_rows))}  # fmt: skip

    def _groups(
        self,
        clusters: Stack,
        similarity: Floats,
        cast: Ballot,
        k: int,
        rng: np.random.Generator,
    ) -> NDArray[np.intp]:
        """The group of every cluster of the ensemble."""
        if k >= len(similarity):
            return np.arange(len(similarity))
        if self.metaclustering == "members":
            number = STARTS if self.refine else 1
            starts = member_groups(similarity, clusters.starts, k, number)
        else:
            starts = [metaclusters(similarity, k, self.metaclustering, rng)]
        if not self.refine:
            return renumbered(starts[0])
        # Both products of every round are in float64: this spares a copy for each.
        wide = widened(clusters.memberships)
        same = cast.memberships is clusters.memberships
        cast = cast._replace(memberships=wide if same else widened(cast.memberships))

        def vote(groups: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
            memberships = self._rows(count_votes(cast, clusters, groups, k), cast, hard=True)
            if clusters.weights is None:
                return memberships, None
            return memberships, feature_votes(clusters.weights, groups, k)

        likeness = Likeness(clusters._replace(memberships=wide), self.distance)
        return refined(starts, k, similarity, likeness, vote)

    def _rows(self, votes: Votes, cast: Ballot, hard: bool) -> Floats:
        """Memberships of the consensus."""
        decisive = votes.counts if self.vote == "count" else votes.shares
        if hard:
            memberships = np.zeros_like(decisive)
            memberships[winners(decisive, votes.sums), np.arange(decisive.shape[1])] = 1.0
        else:
            memberships = shared_mass(1.0 - decisive, self.alpha)
        memberships[:, cast.noise] = 0.0
        return memberships


def feature_votes(
    weights: Floats, groups: NDArray[np.intp], k: int, rule: str = "mean", beta: float = 2.0
) -> Floats:
    """Feature weights of every group of clusters.

    Parameters
    ----------
    weights : (c, p) array
        Of all clusters; rows sum to 1.
    groups : (c,) array
    k : int
    rule : {"mean", "paper"}
        The mean of the group, or eq. 22.
    beta : float
        β of eq. 22.

    Returns
    -------
    (k, p) array
        Rows sum to 1.

    Examples
    --------
    >>> feature_votes(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 0]), 1)
    array([[0.75, 0.25]])
    """
    means = np.zeros((k, weights.shape[1]))
    np.add.at(means, groups, weights)
    means /= np.maximum(np.bincount(groups, minlength=k), 1)[:, None]
    if rule == "paper":
        return shared_mass(np.maximum(1.0 - means.T, 0.0), beta).T
    sums = means.sum(axis=1, keepdims=True)
    return np.asarray(
        np.divide(means, sums, out=np.full_like(means, 1 / means.shape[1]), where=sums > 0)
    )
