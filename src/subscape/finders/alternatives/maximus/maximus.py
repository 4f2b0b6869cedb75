"""MAXIMUS: alternatives whose density profiles differ most from the known ones."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.types import FloatArray, IntArray
from subscape.finders.alternatives.base import (
    COUNT,
    RESTART_CONSTRAINTS,
    AlternativeFinder,
    Alternatives,
    by_alternative,
    joined,
    numbered,
)
from subscape.finders.alternatives.matching import Known, known_profiles
from subscape.finders.alternatives.regions import Regions
from subscape.finders.alternatives.residual_kmeans import kmeans_clusters, unexplained
from subscape.finders.views.base import Watch
from subscape.parallel.threads import one_thread

from .placing import SimilarityLimits, excess, filled, means_of, placed_kmeans, squared_distances
from .plans import SimilarityPlan, least_similarities, plan_regions
from .realising import Realised, distance_to_plan, realise_plan
from .voting import vote

__all__ = ["MAXIMUS"]

#: Rows can't be halved: an excess up to this share of the limit is no failure. A row of a small
#: table weighs more.
WHOLE_ROWS = 0.005
#: The way that ``slack`` is a share of, at most, relative to the least similarity.
LONGEST_WAY = 0.3
#: Share of the rows, over all attributes, that may be elsewhere than planned; one row per cluster
#: in small tables.
TOLERANCE = 0.01
#: Plans made at most. Where rows that are elsewhere than planned are too similar to what is
#: known, the next plan leaves room for as much.
MOST_PLANS = 4


class MAXIMUS(AlternativeFinder):
    """MAXIMUS: alternatives that lie elsewhere than what is known, as measured by ADCO.

    Every attribute is cut into bins, and a clustering is described by its profile: how many rows of
    each cluster lie in each bin. A program plans a profile that is hardly similar to the known
    ones; then rows get labels such that their profile is the planned one [1]_.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters (K); None: as many as the first known clustering has.
    n_alternatives : int, default=1
        How many to find (M); each one differs from those before it, too.
    slack : float, default=1/3
        How similar to each known clustering a plan may be in exchange for compact clusters, for
        ``realise="rows"``: a share of the way from the least similarity possible to that of the
        known clustering with itself, or to 1.3 times the least if that is nearer. The default thus
        allows 1.1 times the least similarity, or less; 0 plans the least similarity. Whole rows may
        take up to 0.5 % more, in tables of few rows one row per cluster.
    realise : {"rows", "regions"}, default="rows"
        How a profile is planned and realised. "rows": planned such that there are rows for it, near
        to the centres that k-means finds in what the known clusters don't explain; rows then move
        from the nearest of these centres to others, the cheapest first, until their profile is
        the planned one. "regions": the paper's way, planned region by region; k-means in every
        region with the cluster sizes planned for it, and a vote of the attributes.
    n_bins : int, default=10
        Bins of each attribute (Q).
    binning : {"uniform", "quantile", "mdl"}, default="uniform"
        Bins of equal width, of equally many rows, or fitted to what is known (Fayyad and Irani).
    integer : {"round", "milp"}, default="round"
        For ``realise="regions"``: how the plan gets whole numbers, by rounding and exchanges, or by
        the solver, which may take long.
    init : {"global", "random"}, default="global"
        For ``realise="regions"``: where k-means starts in each region, from the same centres
        everywhere or, as in the paper, from random rows, so that labels mean different things.
    n_init : int, default=10
        Starts of the k-means that finds the centres; the one with the least inertia is taken.
    max_iter : int, default=20
        For ``realise="regions"``: rounds of k-means in each region.
    cycles : int, default=0
        With several alternatives: how often each of them is planned again, now knowing the later
        ones too; kept where it gets more compact.
    max_time : float or None
        Seconds after which programs and rounds stop with the best so far.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        k-means starts at the same time.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clusterings_ : tuple of SubspaceClustering
        The alternatives, over all features.
    label_matrix_ : array of shape (n_rows, n_alternatives)
    clustering_, labels_
        The first alternative.
    given_ : tuple of SubspaceClustering
        What they are alternatives to.
    certificate_ : array of shape (n_alternatives,)
        No clustering is less similar to what is known than this; summed over what is known to each
        alternative, as are the next two.
    target_similarity_ : array of shape (n_alternatives,)
        Similarity of the planned profile.
    similarity_ : array of shape (n_alternatives,)
        Similarity of the labels.
    plan_distance_ : array of shape (n_alternatives,)
        Share of the rows, over all attributes, that the labels have elsewhere than the plan. With
        ``realise="rows"`` at most 1 %, or one row per cluster; where more is left there is a
        warning that says how much.
    adco_ : array of shape (n_alternatives,)
        Mean ADCO with what is known: 1 for equal profiles.
    inertia_ : array of shape (n_alternatives,)
        Squared distances of the rows to their cluster means.
    plans_ : tuple of arrays of shape (n_clusters, n_regions)
        Planned rows of each cluster in each bin that holds any, attribute after attribute.
    n_iter_ : int
        Rounds of the slowest alternative.

    See Also
    --------
    COALA : By pairs of rows.
    subscape.measures.adco_similarity : The similarity that it keeps small.
    subscape.measures.dq_measure : How good an alternative is.

    Notes
    -----
    Averaged over all matchings of clusters the similarity is the same for all clusterings, so the
    least possible one is known in advance (``certificate_``), and many plans reach it. Which one is
    taken decides on the quality: ours is the nearest to k-means clusters of X minus what the known
    clusterings explain. Those clusters themselves, without a plan, are
    :class:`~subscape.finders.ResidualKMeans`, which finds hidden views more often.

    Differences from the paper
    --------------------------
    - The paper plans each region by itself and lets the attributes vote (``realise="regions"``). No
      rows may exist for such a plan, and the vote is far from it; by default plans are made for
      rows, within a ``slack``, and realised. Further ``cycles`` are ours, too.
    - There, k-means starts from random rows in every region (``init="random"``), and the solver
      makes the numbers whole (``integer="milp"``).
    - Always: cluster sizes agree over the attributes; the best matching is written by its dual,
      with K² constraints instead of K!; each known clustering has a matching of its own; votes that
      tie go to the nearest centre; and rows of no known cluster (−1) count as new ones.
    - What that gains: mean 1 − NMI with the other 0.41 as published (nothing set), 0.01 by default,
      on five generated tables (200 x 6, two views of three clusters, one of them known;
      ``benchmarks/published.py``).

    References
    ----------
    .. [1] E. Bae, J. Bailey, G. Dong, "A clustering comparison measure using density profiles and
       its application to the discovery of alternate clusterings", Data Mining and Knowledge
       Discovery 21, 2010, doi:10.1007/s10618-009-0164-z.

    Examples
    --------
    >>> from subscape.finders import MAXIMUS
    >>> from subscape.datasets import planted_views
    >>> from subscape.measures import adjusted_rand_score
    >>> X, (known, hidden) = planted_views(300, 6, n_clusters=(3, 3), random_state=0)
    >>> finder = MAXIMUS(random_state=0).fit(X, given=known)
    >>> adjusted_rand_score(hidden, finder.labels_) > 0.95
    True
    >>> bool(finder.plan_distance_[0] <= 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RESTART_CONSTRAINTS,
        "slack": [Interval(Real, 0, None, closed="left")],
        "realise": [StrOptions({"rows", "regions"})],
        "n_bins": [Interval(Integral, 1, 65535, closed="both")],
        "binning": [StrOptions({"uniform", "quantile", "mdl"})],
        "integer": [StrOptions({"round", "milp"})],
        "init": [StrOptions({"global", "random"})],
        "max_iter": [COUNT],
        "cycles": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        n_alternatives: int = 1,
        slack: float = 1 / 3,
        realise: str = "rows",
        n_bins: int = 10,
        binning: str = "uniform",
        integer: str = "round",
        init: str = "global",
        n_init: int = 10,
        max_iter: int = 20,
        cycles: int = 0,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_alternatives = n_alternatives
        self.slack = slack
        self.realise = realise
        self.n_bins = n_bins
        self.binning = binning
        self.integer = integer
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.cycles = cycles
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _alternatives(
        self,
        X: FloatArray,
        known: list[IntArray],
        n_clusters: int,
        seeds: list[np.random.SeedSequence],
        watch: Watch,
    ) -> Alternatives:
        # More threads might add up in another order.
        with one_thread():
            return self._one_by_one(X, known, n_clusters, seeds, watch)

    def _one_by_one(
        self,
        X: FloatArray,
        known: list[IntArray],
        n_clusters: int,
        seeds: list[np.random.SeedSequence],
        watch: Watch,
    ) -> Alternatives:
        regions = Regions.of(X, self.n_bins, self.binning, joined(known))
        found: list[_Realised] = []
        for number, seed in enumerate(seeds):
            if found and watch.out_of_time():
                break
            watch.step("alternatives", number, len(seeds))
            before = known + [each.labels for each in found]
            found.append(self._found(X, regions, before, n_clusters, seed, watch))
        for _ in range(self.cycles if len(found) > 1 else 0):
            for number, each in enumerate(found):
                others = [other.labels for i, other in enumerate(found) if i != number]
                found[number] = self._placed_again(X, regions, known + others, each, watch)
        watch.step("alternatives", len(found), len(seeds))
        reports = [
            _report(X, each, known_profiles(regions, known + earlier, n_clusters), regions)
            for each, earlier in zip(found, _before([each.labels for each in found]), strict=True)
        ]
        return Alternatives(
            [numbered(each.labels) for each in found],
            max(each.n_iter for each in found),
            by_alternative(reports),
        )

    def _found(
        self,
        X: FloatArray,
        regions: Regions,
        known: list[IntArray],
        n_clusters: int,
        seed: np.random.SeedSequence,
        watch: Watch,
    ) -> _Realised:
        for_centres, for_regions = seed.spawn(2)
        profiles = known_profiles(regions, known, n_clusters)
        residuals = unexplained(X, known)
        wished = kmeans_clusters(residuals, n_clusters, self.n_init, for_centres, self.n_jobs)
        least = least_similarities(regions, profiles, n_clusters, watch)
        if self.realise == "rows":
            return self._by_rows(residuals, regions, wished, profiles, least, watch)
        plan = plan_regions(
            regions,
            profiles,
            regions.profile(wished, n_clusters),
            least,
            watch,
            exact=self.integer == "milp",
        )
        watch.step("plan")
        centres = means_of(X, wished, np.zeros((n_clusters, X.shape[1])))
        rng = np.random.default_rng(for_regions) if self.init == "random" else None
        labels = vote(X, regions, plan, centres, self.max_iter, rng)
        labels = filled(labels, squared_distances(X, centres))
        return _Realised(labels, self.max_iter, plan)

    def _by_rows(
        self,
        X: FloatArray,
        regions: Regions,
        wished: IntArray,
        known: list[Known],
        least: list[float],
        watch: Watch,
        room: list[float] | None = None,
    ) -> _Realised:
        """A plan that there are rows for, and labels with its profile.

        The labels know the plan and the centres; of the rows that the plan was made for they know
        nothing.
        """
        k = int(wished.max()) + 1
        centres = means_of(X, wished, np.zeros((k, X.shape[1])))
        room = self._room(known, least) if room is None else room
        most = SimilarityLimits.above(least, room).most
        costs = squared_distances(X, centres)
        start = filled(costs.argmin(axis=1), costs)
        tolerance = max(TOLERANCE, k / len(X))
        free, best = list(room), None
        for _ in range(MOST_PLANS):
            plan, planned = self._plan(
                X, regions, centres, known, SimilarityLimits.above(least, free), watch
            )
            watch.step("plan")
            found = realise_plan(costs, regions, plan, start, watch)
            over = excess(found.labels, known, most, k)
            if best is None or over < best.over:
                best = _Tried(found, plan, planned, over)
            if over == 0 or watch.out_of_time():
                break
            # The next plan leaves as much room as whole rows took too much; it is not far.
            start = found.labels
            free = [max(0.0, each - over * limit) for each, limit in zip(free, most, strict=True)]
        assert best is not None
        self._warn(best, k / len(X), tolerance, watch)
        return _Realised(best.found.labels, best.found.n_iter, best.plan)

    def _warn(self, tried: _Tried, one_row: float, tolerance: float, watch: Watch) -> None:
        """Say what could not be kept."""
        if tried.planned > max(WHOLE_ROWS, one_row):
            watch.cut(
                f"the limit of the similarity is exceeded by {tried.planned:.2%}; allow more "
                "similarity (slack) or time"
            )
        if tried.found.distance > tolerance:
            watch.cut(
                f"{tried.found.distance:.1%} of the rows, over all attributes, are elsewhere than "
                "planned; fewer bins (n_bins) leave more rows to choose from"
            )

    def _plan(
        self,
        X: FloatArray,
        regions: Regions,
        centres: FloatArray,
        known: list[Known],
        limits: SimilarityLimits,
        watch: Watch,
    ) -> tuple[SimilarityPlan, float]:
        """The profile of rows placed near the centres, and by how much it exceeds the limits."""
        k = len(centres)
        placed = placed_kmeans(X, centres, known, limits, 1, watch)
        counts = np.rint(regions.profile(placed.labels, k)).astype(np.int64)
        similarities = tuple(each.similarity(placed.labels, k) for each in known)
        return SimilarityPlan(counts, similarities), placed.excess

    def _room(self, known: list[Known], least: list[float]) -> list[float]:
        """How much more similar than the least possible an alternative may be to each known one."""
        ways = [
            min(float(np.square(each.profile).sum()) - value, LONGEST_WAY * value)
            for each, value in zip(known, least, strict=True)
        ]
        return [self.slack * max(way, 0.0) for way in ways]

    def _placed_again(
        self,
        X: FloatArray,
        regions: Regions,
        known: list[IntArray],
        found: _Realised,
        watch: Watch,
    ) -> _Realised:
        """The same alternative with all the others known; as before where that is no better."""
        k = int(found.labels.max()) + 1
        profiles = known_profiles(regions, known, k)
        least = least_similarities(regions, profiles, k, watch)
        # The later ones were placed within limits of this one: they need not be narrower now.
        room = [
            max(free, each.similarity(found.labels, k) - value)
            for free, each, value in zip(self._room(profiles, least), profiles, least, strict=True)
        ]
        residuals = unexplained(X, known)
        again = self._by_rows(residuals, regions, found.labels, profiles, least, watch, room)
        if _inertia(X, again.labels, k) >= _inertia(X, found.labels, k):
            return found
        return again._replace(n_iter=found.n_iter + again.n_iter)


class _Tried(NamedTuple):
    """Labels of a plan; by how much the plan, and they, exceed the limits."""

    found: Realised
    plan: SimilarityPlan
    planned: float
    over: float


class _Realised(NamedTuple):
    labels: IntArray
    n_iter: int
    plan: SimilarityPlan


def _before(items: list[Any]) -> list[list[Any]]:
    return [items[:i] for i in range(len(items))]


def _report(
    X: FloatArray, found: _Realised, known: list[Known], regions: Regions
) -> dict[str, Any]:
    """What is kept of an alternative."""
    labels, k = found.labels, len(found.plan.counts)
    similarities = [each.similarity(labels, k) for each in known]
    own = float(np.square(regions.profile(labels, k)).sum())
    largest = [max(own, float(np.square(each.profile).sum())) for each in known]
    return {
        "certificate_": sum(each.certificate for each in known),
        "target_similarity_": sum(found.plan.similarities),
        "similarity_": sum(similarities),
        "plan_distance_": distance_to_plan(regions, found.plan, labels),
        "adco_": float(np.mean(np.array(similarities) / largest)),
        "inertia_": _inertia(X, labels, k),
        "plans_": found.plan.counts,
    }


def _inertia(X: FloatArray, labels: IntArray, n_clusters: int) -> float:
    centres = means_of(X, labels, np.zeros((n_clusters, X.shape[1])))
    return float(np.square(X - centres[labels]).sum())
