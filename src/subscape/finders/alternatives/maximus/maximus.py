"""MAXIMUS: alternatives whose density profiles differ most from the known ones."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
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
    run_numbers,
)
from subscape.finders.alternatives.matching import Known, known_profiles
from subscape.finders.alternatives.regions import Regions
from subscape.finders.views.base import Watch
from subscape.measures.compactness.dq import dq_measure
from subscape.parallel.threads import one_thread

from .placing import Limits, Placed, filled, means_of, placed_kmeans, squared_distances
from .plans import Plan, least_similarities, plan_regions
from .voting import vote

__all__ = ["MAXIMUS", "Start", "best_start", "unexplained"]

#: Rows can't be halved: an excess up to this share of the limit is no failure. A row of a small
#: table weighs more.
WHOLE_ROWS = 0.005
#: The way that ``slack`` is a share of, at most, relative to the least similarity.
LONGEST_WAY = 0.3
#: Values times clusters over all starts that are placed within the limits; at least one is.
MOST_WORK = 1_000_000


class MAXIMUS(AlternativeFinder):
    """MAXIMUS: alternatives that lie elsewhere than what is known, as measured by ADCO.

    Every attribute is cut into bins, and a clustering is described by how many rows of each cluster
    lie in each bin. A program finds the profile least similar to the known ones, and rows are
    placed accordingly, near to centres that the known clusters don't explain [1]_.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters (K); None: as many as the first known clustering has.
    n_alternatives : int, default=1
        How many to find (M); each one differs from those before it, too.
    slack : float, default=1/3
        How similar to each known clustering an alternative may be in exchange for compact clusters,
        for ``realise="points"``: a share of the way from the least similarity possible to that of
        the known clustering with itself, or to 1.3 times the least if that is nearer. The default
        thus allows 1.1 times the least similarity, or less. Whole rows may take up to 0.5 % more,
        in tables of few rows one row per cluster.
    realise : {"points", "regions"}, default="points"
        How rows get their labels. "points": k-means whose rows are placed by a linear program that
        keeps the similarity within the limit. "regions": the paper's way, k-means in every region
        with the cluster sizes planned for it, and a vote of the attributes.
    n_bins : int, default=10
        Bins of each attribute (Q).
    binning : {"uniform", "quantile", "mdl"}, default="uniform"
        Bins of equal width, of equally many rows, or fitted to what is known (Fayyad and Irani).
    integer : {"round", "milp"}, default="round"
        How the plan gets whole numbers: by rounding and exchanges, or by the solver, which may take
        long.
    init : {"global", "random"}, default="global"
        For ``realise="regions"``: where k-means starts in each region, from the same centres
        everywhere or, as in the paper, from random rows, so that labels mean different things.
    n_init : int, default=10
        Starts of the k-means that finds the centres. Of small tables all are placed within the
        limit, and of those as compact as any the one with the largest DQ is kept
        (:func:`subscape.measures.dq_measure`, by distances to the other centroid); of large tables
        only the best of several.
    max_iter : int, default=20
        Rounds of placing rows and moving centres, for each region or all rows.
    cycles : int, default=0
        With several alternatives: how often each of them is placed again, now knowing the later
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
        Similarity of the planned profile: the value of the program.
    similarity_ : array of shape (n_alternatives,)
        Similarity of the labels.
    adco_ : array of shape (n_alternatives,)
        Mean ADCO with what is known: 1 for equal profiles.
    inertia_ : array of shape (n_alternatives,)
        Squared distances of the rows to their cluster means.
    plans_ : tuple of arrays of shape (n_clusters, n_regions)
        Planned rows of each cluster in each bin that holds any, attribute after attribute.
    n_iter_ : int
        Rounds of the slowest alternative.

    Notes
    -----
    Averaged over all matchings of clusters the similarity is the same for all clusterings, so the
    least possible one is known in advance (``certificate_``), and many plans reach it. Which one is
    taken decides on the quality: ours is the nearest to the profile of k-means clusters of X minus
    what the known clusterings explain.

    Differences from the paper
    --------------------------
    - The placing of single rows within a ``slack`` is ours altogether, and so are further
      ``cycles``; the paper has ``realise="regions"``.
    - There, k-means starts from random rows in every region (``init="random"``), and the solver
      makes the numbers whole (``integer="milp"``).
    - Always: cluster sizes agree over the attributes; the best matching is written by its dual,
      with K² constraints instead of K!; each known clustering has a matching of its own; votes that
      tie go to the nearest centre; and rows of no known cluster (−1) count as new ones.

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
    >>> (finder.target_similarity_ / finder.certificate_).round(2)
    array([1.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RESTART_CONSTRAINTS,
        "slack": [Interval(Real, 0, None, closed="left")],
        "realise": [StrOptions({"points", "regions"})],
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
        realise: str = "points",
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
        for_starts, for_regions = seed.spawn(2)
        profiles = known_profiles(regions, known, n_clusters)
        residuals = unexplained(X, known)
        least = least_similarities(regions, profiles, n_clusters, watch)
        limits = Limits.above(least, self._room(profiles, least))
        n_starts = 1
        if self.realise == "points":
            n_starts = min(self.n_init, max(1, MOST_WORK // (X.size * n_clusters)))
        children = for_starts.spawn(n_starts)

        def start(number: int) -> Start | None:
            if number > 0 and watch.out_of_time():
                return None
            n_init = -(-self.n_init // n_starts)
            wished = self._clusters_of(residuals, n_clusters, n_init, children[number])
            if self.realise == "regions":
                return Start(wished, None)
            return Start(wished, self._placed(X, wished, profiles, limits, watch))

        tolerance = max(WHOLE_ROWS, n_clusters / len(X))
        starts = [each for each in run_numbers(start, n_starts, self.n_jobs) if each is not None]
        best = best_start(X, known, starts, tolerance)
        plan = plan_regions(
            regions,
            profiles,
            regions.profile(best.wished, n_clusters),
            least,
            watch,
            exact=self.integer == "milp",
        )
        watch.step("plan")
        if best.placed is None:
            centres = means_of(X, best.wished, np.zeros((n_clusters, X.shape[1])))
            rng = np.random.default_rng(for_regions) if self.init == "random" else None
            labels = vote(X, regions, plan, centres, self.max_iter, rng)
            return _Realised(filled(labels, squared_distances(X, centres)), self.max_iter, plan)
        if best.placed.excess > tolerance:
            watch.cut(
                f"the limit of the similarity is exceeded by {best.placed.excess:.2%}; allow more "
                "similarity (slack) or time"
            )
        return _Realised(best.placed.labels, best.placed.n_iter, plan)

    def _placed(
        self, X: FloatArray, start: IntArray, known: list[Known], limits: Limits, watch: Watch
    ) -> Placed:
        """k-means within the limits, from the means of some clusters."""
        centres = means_of(X, start, np.zeros((int(start.max()) + 1, X.shape[1])))
        return placed_kmeans(X, centres, known, limits, self.max_iter, watch)

    def _room(self, known: list[Known], least: list[float]) -> list[float]:
        """How much more similar than the least possible an alternative may be to each known one."""
        ways = [
            min(float(np.square(each.profile).sum()) - value, LONGEST_WAY * value)
            for each, value in zip(known, least, strict=True)
        ]
        return [self.slack * max(way, 0.0) for way in ways]

    def _clusters_of(
        self, X: FloatArray, n_clusters: int, n_init: int, seed: np.random.SeedSequence
    ) -> IntArray:
        start = np.random.RandomState(seed.generate_state(4))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # few distinct rows
            model = KMeans(n_clusters, n_init=n_init, random_state=start).fit(X)
        return filled(model.labels_.astype(np.int64), squared_distances(X, model.cluster_centers_))

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
        placed = self._placed(X, found.labels, profiles, Limits.above(least, room), watch)
        if placed.excess > 0 or placed.inertia >= _inertia(X, found.labels, k):
            return found
        return found._replace(labels=placed.labels, n_iter=found.n_iter + placed.n_iter)


class _Realised(NamedTuple):
    labels: IntArray
    n_iter: int
    plan: Plan


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
        "adco_": float(np.mean(np.array(similarities) / largest)),
        "inertia_": _inertia(X, labels, k),
        "plans_": found.plan.counts,
    }


def _inertia(X: FloatArray, labels: IntArray, n_clusters: int) -> float:
    centres = means_of(X, labels, np.zeros((n_clusters, X.shape[1])))
    return float(np.square(X - centres[labels]).sum())


# -- where MAXIMUS starts from, and which of its starts is kept ------------------------------------


#: Starts are as compact as the best one up to this share of its inertia.
AS_COMPACT = 1.02


def unexplained(X: FloatArray, known: list[IntArray]) -> FloatArray:
    """What is left of a table when the means of all known clusters are taken off, added up.

    >>> unexplained(np.array([[0.0], [2.0], [7.0], [9.0]]), [np.array([0, 0, 1, 1])]).ravel()
    array([-1.,  1., -1.,  1.])
    """
    indicators = [np.ones((len(X), 1))]
    for labels in known:
        indicators.append((labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64))
    H = np.hstack(indicators)
    effects, *_ = np.linalg.lstsq(H, X, rcond=None)
    return np.asarray(X - H @ effects)


class Start(NamedTuple):
    """Clusters that the known ones don't explain, and what the limits left of them."""

    wished: IntArray
    placed: Placed | None


def best_start(
    X: FloatArray, known: list[IntArray], starts: list[Start], tolerance: float
) -> Start:
    """The start with the largest DQ among those that keep the limits and are as compact as any.

    DQ alone would split off single rows: compact clusters come first.
    """
    if len(starts) == 1:
        return starts[0]
    placed = [each.placed for each in starts if each.placed is not None]
    over = np.array([max(each.excess - tolerance, 0.0) for each in placed])
    inertias = np.where(over == over.min(), [each.inertia for each in placed], np.inf)
    scores = [
        dq_measure(X, known, each.labels, separation="to_centroid").dq
        if inertia <= AS_COMPACT * inertias.min()
        else -1.0
        for each, inertia in zip(placed, inertias, strict=True)
    ]
    return starts[int(np.argmax(scores))]
