"""DiSH: a hierarchy of subspace clusters."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.arrays.bitsets import count, intersection_counts, pack
from subscape.core.checks import constant_columns
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.axis.boxes.neighbourhoods import SortedFeatures, run_sets, sort_features
from subscape.finders.axis.boxes.windows import best_box
from subscape.finders.axis.brevity import evenly_spaced, nats_saved
from subscape.finders.base import Found, SubspaceFinder, Watch

from .walk import Walk, begin_walk, walk_on

__all__ = [
    "DiSH",
    "Extracted",
    "common_preferences",
    "extract_clusters",
    "nested_rows",
    "parents_of",
]


#: Rows between two looks at the clock; fixed, so that the result doesn't depend on ``n_jobs``.
BATCH = 200
#: Radii tried by default, as shares of a feature's range; of settings that are as good the first.
RADII = (0.05, 0.025, 0.1)
#: Defaults of min_samples protect clusters of up to one of these shares of the rows ...
LARGEST_SHARES = (0.25, 0.5, 1.0)
#: ... up to so many standard deviations, from features that fit by chance.
SAFETY = 3.5
#: Settings are tried on at most so many rows, and none is begun after this share of ``max_time``.
SEARCH_ROWS, TRIAL_TIME = 1000, 0.25


class DiSH(SubspaceFinder):
    """DiSH: subspace clusters inside subspace clusters.

    Every row prefers the largest set of features in which it has enough close neighbours. A walk
    through the rows, like that of OPTICS, brings rows together that prefer the same features;
    clusters are read off it, and those with fewer features may contain those with more. A cluster
    can lie inside several others.

    Parameters
    ----------
    eps : float or None
        How close rows are neighbours in a single feature (ε), as a share of the feature's range;
        in the units of the table if ``scale`` is false. About four standard deviations of the
        clusters is right. By default .025, .05 and .1 of the range are tried, and the one taken
        whose clusters describe the rows most briefly.
    min_samples : int or None
        Neighbours, itself included, that a row needs in the features it prefers (μ), and rows
        that a cluster needs. By default the least number that keeps a cluster of a quarter, of half
        or of all of the rows from picking up features by chance, whichever describes the rows most
        briefly.
    search : {"exact", "greedy"}, default="exact"
        How the preferred features are found: the largest set there is, by branch and bound, or one
        feature at a time, which is faster and misses some.
    overlap : bool, default=False
        If true, a cluster also holds the rows of the clusters inside it; otherwise every row is
        in the most specific one only.
    scale : bool, default=True
        Divide every feature by its range first.
    max_candidates : int, default=10000
        Sets of features that are tried per row ("exact").
    max_time : float or None
        Seconds after which the search stops with the best clusters so far.
    n_jobs : int or None
        Rows whose preferences are searched at the same time; the same result for any value.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Axis-aligned clusters, those with the most features first; disjoint in rows unless
        ``overlap`` is true.
    labels_ : array of shape (n_rows,)
        The most specific cluster of each row, -1 for noise.
    parents_ : list of arrays
        For each cluster the clusters directly above it.
    preference_ : array of bool, shape (n_rows, n_features)
        The features that each row prefers.
    eps_, min_samples_ : float and int
        The values used.
    n_settings_ : int
        Pairs of them that were tried.
    ordering_ : array of shape (n_rows,)
        The rows in the order of the walk.
    reachability_dims_, reachability_ : arrays of shape (n_rows,)
        How far it was to each row: features not preferred in common, and the distance in them.
    predecessor_ : array of shape (n_rows,)
        The row from which each row was reached, -1 for the first.
    n_iter_ : int
        Steps of the walk.

    See Also
    --------
    HARP : A dendrogram of clusters with features.
    SUBCLU : Clusters in every subspace.

    Notes
    -----
    The time grows with the square of the number of rows.

    Differences from the paper
    --------------------------
    - The exact search by branch and bound is ours; the paper adds one feature at a time
      (``search="greedy"``).
    - Features are divided by their ranges first; as published, ``eps`` is in the units of the table
      (``scale=False``).
    - The defaults of ``eps`` and ``min_samples`` are ours, and so is the choice among several, by
      greedy searches of at most 1,000 rows.
    - Always, where the paper is silent or open: the step between two rows is the larger, by both
      parts, of their distance and the distance to the ``min_samples``-th nearest row; a row is put
      where the better of the steps to it and from it leads; rows of clusters that are too small
      join the most specific cluster within 2 eps.
    - What that gains: mean CE 0.04 as published (eps=0.05, min_samples=20), 0.00 by default, on
      five generated tables (300 x 12, four clusters of four features, a tenth of noise;
      ``benchmarks/published.py``).

    References
    ----------
    .. [1] E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, I. Müller-Gorman, A. Zimek, "Detection and
       visualization of subspace cluster hierarchies", DASFAA 2007, 152-163,
       doi:10.1007/978-3-540-71703-4_15.

    Examples
    --------
    A plane (one feature fixed) with a line in it (two features fixed), and noise:

    >>> import numpy as np
    >>> from subscape.finders import DiSH
    >>> X = np.random.default_rng(0).uniform(size=(500, 3))
    >>> X[:200, 2] = 0.5
    >>> X[:100, 1] = 0.3
    >>> finder = DiSH(eps=0.02, min_samples=40).fit(X)
    >>> [finder.clustering_.cluster(k).features.tolist() for k in range(2)]
    [[1, 2], [2]]
    >>> [above.tolist() for above in finder.parents_]
    [[1], []]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "eps": [Interval(Real, 0, None, closed="neither"), None],
        "min_samples": [Interval(Integral, 2, None, closed="left"), None],
        "search": [StrOptions({"exact", "greedy"})],
        "overlap": ["boolean"],
        "scale": ["boolean"],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        *,
        eps: float | None = None,
        min_samples: int | None = None,
        search: str = "exact",
        overlap: bool = False,
        scale: bool = True,
        max_candidates: int = 10_000,
        max_time: float | None = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.search = search
        self.overlap = overlap
        self.scale = scale
        self.max_candidates = max_candidates
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.min_samples is not None and self.min_samples > n_rows:
            raise SubscapeError(
                f"min_samples={self.min_samples} is more than the {n_rows} rows of the table"
            )

    def _search(self, table: Any, watch: Watch) -> Found:
        kept = np.flatnonzero(~constant_columns(table))
        found = super()._search(table, watch)
        attributes = dict(found.attributes) or _of_one_cluster(len(table))
        preference = np.zeros(table.shape, dtype=bool)
        preference[:, kept] = attributes["preference_"]
        attributes["preference_"] = preference
        return found._replace(attributes=attributes)

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        table = (X - X.min(axis=0)) / np.ptp(X, axis=0) if self.scale else X
        setting, tried = self._settled(table, watch)
        run = self._run(table, setting, watch)
        attributes = {
            "parents_": run.parents,
            "preference_": run.preference,
            "eps_": setting.eps,
            "min_samples_": setting.min_samples,
            "n_settings_": tried,
            "ordering_": run.order,
            "reachability_dims_": run.walk.dims,
            "reachability_": run.walk.distance,
            "predecessor_": run.walk.predecessor,
        }
        n_steps = int((run.walk.order >= 0).sum())
        found = _clustering(run.extracted, run.parents if self.overlap else None)
        return Found(found, max(1, n_steps), attributes)

    def _settled(self, table: FloatArray, watch: Watch) -> tuple[_Setting, int]:
        """The setting whose clusters describe some of the rows most briefly, and how many tried."""
        kinds = self._kinds(table)
        if len(kinds) == 1:
            return kinds[0].of(len(table)), 1
        # Every few of the sorted rows: the same ones whatever their order was.
        places = np.lexsort(table.T[::-1])[evenly_spaced(len(table), SEARCH_ROWS)]
        sample = np.ascontiguousarray(table[np.sort(places)])
        best, most, tried = kinds[0], -math.inf, 0
        for kind in kinds:
            run = self._run(sample, kind.of(len(sample)), watch, is_trial=True)
            saved = nats_saved(sample, _clustering(run.extracted))
            tried += 1
            if saved > most:
                best, most = kind, saved
            if watch.out_of_time() or watch.seconds > TRIAL_TIME * (self.max_time or math.inf):
                break
        return best.of(len(table)), tried

    def _kinds(self, table: FloatArray) -> list[_Kind]:
        """The settings to choose from, for tables of any number of rows."""
        typical = float(np.median(np.ptp(table, axis=0)))
        radii = [r * typical for r in RADII] if self.eps is None else [float(self.eps)]
        if self.min_samples is not None:
            given = int(self.min_samples) / len(table)
            return [_Kind(eps, given, by_chance=False) for eps in radii]
        within = [min(1.0, 2 * eps / typical) for eps in radii]
        return [
            _Kind(eps, largest * share)
            for eps, share in zip(radii, within, strict=True)
            for largest in LARGEST_SHARES
        ]

    def _run(
        self, table: FloatArray, setting: _Setting, watch: Watch, *, is_trial: bool = False
    ) -> _Run:
        """DiSH with one setting; a trial is greedy, and being cut short not worth a warning."""
        eps, min_samples = setting
        preference = self._preferences(table, setting, watch, is_trial)
        walk = self._walk(table, preference, setting, watch, is_trial)
        reach = 2 * eps
        common = common_preferences(table, preference, walk, reach)
        walked = walk.order[walk.order >= 0]
        order = np.concatenate([walked, np.setdiff1d(np.arange(len(table)), walked)])
        extracted = extract_clusters(table, common, order, reach, min_samples)
        parents = parents_of(extracted.masks, extracted.centres, reach)
        return _Run(preference, walk, order, extracted, parents)

    def _preferences(
        self, table: FloatArray, setting: _Setting, watch: Watch, is_trial: bool
    ) -> BoolArray:
        """The features that each row prefers; none for rows there was no time for."""
        n_rows = len(table)
        preference = np.zeros(table.shape, dtype=bool)
        ordered = sort_features(table, setting.eps)
        complete = np.ones(n_rows, dtype=bool)
        greedy = is_trial or self.search == "greedy"

        def search(start: int) -> None:
            if start and watch.out_of_time():
                return
            for row in range(start, min(start + BATCH, n_rows)):
                found = self._preference(ordered, row, setting.min_samples, greedy)
                preference[row, found.features] = True
                complete[row] = found.complete
            if not is_trial:
                watch.step("preferences", min(start + BATCH, n_rows), n_rows)

        starts = range(0, n_rows, BATCH)
        if effective_n_jobs(self.n_jobs) == 1 or len(starts) == 1:
            for start in starts:
                search(start)
        else:
            Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(search)(s) for s in starts)
        if not is_trial and not complete.all():
            watch.cut(
                f"the preferred features of some rows were not settled within "
                f"max_candidates={self.max_candidates} sets of features; raise it, raise "
                "min_samples, or lower eps"
            )
        return preference

    def _preference(
        self, ordered: SortedFeatures, row: int, min_samples: int, greedy: bool
    ) -> _Preferred:
        near = run_sets(ordered.order, ordered.prefixes, ordered.first[row], ordered.last[row])
        if greedy:
            return _Preferred(_greedy_features(near, min_samples), True)
        everyone = pack(np.ones(ordered.order.shape[1], dtype=bool))
        # One more feature is worth any loss of rows, so that the largest set wins.
        gain = math.log(ordered.order.shape[1]) + 1.0
        box = best_box(near, everyone, min_samples, gain, 0.0, self.max_candidates)
        return _Preferred(box.features, box.complete)

    def _walk(
        self,
        table: FloatArray,
        preference: BoolArray,
        setting: _Setting,
        watch: Watch,
        is_trial: bool,
    ) -> Walk:
        n_rows = len(table)
        walk = begin_walk(*table.shape)
        distinct, which = np.unique(pack(preference), axis=0, return_inverse=True)
        which = which.reshape(-1).astype(np.int64, copy=False)
        for start in range(0, n_rows, BATCH):
            if watch.out_of_time():
                break
            stop = min(start + BATCH, n_rows)
            reach, least = 2 * setting.eps, setting.min_samples
            walk_on(table, distinct, which, reach, least, walk, start, stop)
            if not is_trial:
                watch.step("walk", stop, n_rows)
        return walk


def _clustering(extracted: Extracted, parents: list[IntArray] | None = None) -> SubspaceClustering:
    """Clusters without the rows of those inside them, or with them if their parents are given."""
    shape = (len(extracted.labels), extracted.masks.shape[1])
    if parents is None:
        inside = extracted.labels == np.arange(len(extracted.masks))[:, None]
    else:
        inside = nested_rows(extracted.labels, parents)
    return SubspaceClustering.from_clusters(
        [
            (np.flatnonzero(rows), np.flatnonzero(mask))
            for rows, mask in zip(inside, extracted.masks, strict=True)
        ],
        shape,
    )


class _Setting(NamedTuple):
    """The radius in a single feature, and how many neighbours a row needs."""

    eps: float
    min_samples: int


class _Kind(NamedTuple):
    """A setting for tables of any number of rows."""

    eps: float
    share: float
    """Of the rows: the neighbours needed, or those that a row has by chance."""
    by_chance: bool = True

    def of(self, n_rows: int) -> _Setting:
        neighbours = self.share * n_rows
        if self.by_chance:
            needed = math.ceil(neighbours + SAFETY * math.sqrt(neighbours))
        else:
            needed = round(neighbours)
        return _Setting(self.eps, min(n_rows, max(2, needed)))


class _Preferred(NamedTuple):
    """The features that a row prefers, and whether the search for them came to its end."""

    features: Any
    complete: bool


class _Run(NamedTuple):
    """What one setting gave."""

    preference: BoolArray
    walk: Walk
    order: IntArray
    extracted: Extracted
    parents: list[IntArray]


def _greedy_features(near: BitArray, min_samples: int) -> list[int]:
    """Features taken in one at a time, always that which keeps the most neighbours."""
    chosen: list[int] = []
    sizes = count(near)
    inside = near[0]
    while len(chosen) < len(near):
        best = int(sizes.argmax())
        if sizes[best] < min_samples:
            break
        inside = near[best] & inside if chosen else near[best]
        chosen.append(best)
        sizes = intersection_counts(near, inside)
        sizes[chosen] = -1
    return chosen


def _of_one_cluster(n_rows: int) -> dict[str, Any]:
    """Attributes where all rows are identical."""
    return {
        "parents_": [np.zeros(0, np.int64)],
        "preference_": np.zeros((n_rows, 0), dtype=bool),
        "eps_": 0.0,
        "min_samples_": min(2, n_rows),
        "n_settings_": 1,
        "ordering_": np.arange(n_rows),
        "reachability_dims_": np.zeros(n_rows, np.int64),
        "reachability_": np.zeros(n_rows),
        "predecessor_": np.arange(n_rows) - 1,
    }


# -- from DiSH's walk to clusters: rows with the same preferred features, and which clusters -------


class Extracted(NamedTuple):
    """Clusters that are disjoint in rows, those with the most features first."""

    labels: IntArray
    """(n,): cluster of each row, -1 for noise."""
    masks: BoolArray
    """(n_clusters, p): features of each cluster."""
    centres: FloatArray
    """(n_clusters, p): means of the clusters."""


def common_preferences(X: FloatArray, preference: BoolArray, walk: Walk, reach: float) -> BoolArray:
    """The features that each row prefers in common with its neighbour in the walk.

    Of the step to a row and the steps that start from it, the one with the most common features
    counts, but only if the two rows lie within ``reach`` in these. Rows that a walk cut short did
    not get to keep their own preferences.

    Parameters
    ----------
    X : (n, p) array
    preference : (n, p) array of bool
    walk : Walk
    reach : float

    Returns
    -------
    (n, p) array of bool
    """
    common = np.zeros_like(preference)
    reached = np.flatnonzero(walk.predecessor >= 0)
    origin = walk.predecessor[reached]
    shared = preference[reached] & preference[origin]
    away = np.where(shared, np.square(X[reached] - X[origin]), 0.0).sum(axis=1)
    shared[away > reach * reach] = False
    common[reached] = shared
    # The first row of a cluster was reached from elsewhere: its successor knows better. Latest
    # steps first, so that of equally good steps the earliest has the last word.
    sizes, best = shared.sum(axis=1), common.sum(axis=1)
    place = np.empty(len(X), np.int64)
    walked = walk.order[walk.order >= 0]
    place[walked] = np.arange(len(walked))
    for step in np.argsort(place[reached], kind="stable"):
        if sizes[step] > best[origin[step]]:
            best[origin[step]] = sizes[step]
            common[origin[step]] = shared[step]
    missed = np.ones(len(X), dtype=bool)
    missed[walked] = False
    common[missed] = preference[missed]
    return common


def extract_clusters(
    X: FloatArray, common: BoolArray, order: IntArray, reach: float, min_samples: int
) -> Extracted:
    """Gather rows with the same common preferences that lie close together in these.

    Rows come in the order of the walk and join the first cluster whose centre is within ``reach``.
    Clusters of less than ``min_samples`` rows are dissolved: their rows, and those without any
    preference, join the cluster with the most features whose centre is within reach, or are noise.

    Parameters
    ----------
    X : (n, p) array
    common : (n, p) array of bool
        From :func:`common_preferences`.
    order : (n,) array
    reach : float
    min_samples : int

    Returns
    -------
    Extracted
    """
    limit = reach * reach
    groups: dict[bytes, list[_Gathering]] = {}
    gatherings: list[_Gathering] = []
    some = np.asarray(common.any(axis=1))
    for row in order[some[order]]:
        group = groups.setdefault(common[row].tobytes(), [])
        features = group[0].features if group else np.flatnonzero(common[row])
        place = X[row, features]
        for gathering in group:
            if np.square(place - gathering.total / len(gathering.rows)).sum() <= limit:
                gathering.rows.append(int(row))
                np.add(gathering.total, place, out=gathering.total)
                break
        else:
            gathering = _Gathering(features, [int(row)], place.copy())
            group.append(gathering)
            gatherings.append(gathering)
    large = [gathering for gathering in gatherings if len(gathering.rows) >= min_samples]
    large.sort(key=lambda gathering: (-len(gathering.features), min(gathering.rows)))
    labels = np.full(len(X), -1, np.int64)
    masks = np.zeros((len(large), X.shape[1]), dtype=bool)
    centres = np.zeros((len(large), X.shape[1]))
    for k, gathering in enumerate(large):
        labels[gathering.rows] = k
        masks[k, gathering.features] = True
        centres[k] = X[gathering.rows].mean(axis=0)
    _adopt(X, labels, masks, centres, limit)
    return Extracted(labels, masks, centres)


class _Gathering(NamedTuple):
    """A cluster in the making."""

    features: IntArray
    rows: list[int]
    total: FloatArray


def _adopt(
    X: FloatArray, labels: IntArray, masks: BoolArray, centres: FloatArray, limit: float
) -> None:
    """Give each row without a label to the most specific cluster within reach."""
    homeless = np.flatnonzero(labels < 0)
    nearest = np.full(len(homeless), np.inf)
    most = np.zeros(len(homeless), np.int64)
    for k, mask in enumerate(masks):
        away = np.square(X[np.ix_(homeless, np.flatnonzero(mask))] - centres[k, mask]).sum(axis=1)
        size = int(mask.sum())
        better = (away <= limit) & ((size > most) | ((size == most) & (away < nearest)))
        labels[homeless[better]] = k
        nearest[better], most[better] = away[better], size


def parents_of(masks: BoolArray, centres: FloatArray, reach: float) -> list[IntArray]:
    """For each cluster the clusters directly above it in the hierarchy.

    A cluster is above another if its features are a proper part of the other's and their centres
    are within ``reach`` in these; it is directly above if nothing is in between.

    Parameters
    ----------
    masks : (n_clusters, p) array of bool
        Clusters with the most features first.
    centres : (n_clusters, p) array
    reach : float

    Returns
    -------
    list of arrays
    """
    sizes = masks.sum(axis=1)
    above = np.zeros((len(masks), len(masks)), dtype=bool)
    for i, mask in enumerate(masks):
        part = (sizes < sizes[i]) & ~(masks & ~mask).any(axis=1)
        away = np.where(masks, np.square(centres - centres[i]), 0.0).sum(axis=1)
        above[i] = part & (away <= reach * reach)
    # "Above" need not be transitive, because distances add up; what is implied is left out.
    steps = above.astype(np.int64)
    implied = (steps @ steps) > 0
    return [np.flatnonzero(line) for line in above & ~implied]


def nested_rows(labels: IntArray, parents: list[IntArray]) -> BoolArray:
    """(n_clusters, n): the rows of each cluster and of all clusters below it."""
    inside = labels == np.arange(len(parents))[:, None]
    # Parents come after their children, so that one pass hands rows all the way up.
    for child, above in enumerate(parents):
        inside[above] |= inside[child]
    return inside
