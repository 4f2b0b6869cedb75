"""DiSH: a hierarchy of subspace clusters."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.algorithms.axis.dish_clusters import (
    Extracted,
    common_preferences,
    extract_clusters,
    nested_rows,
    parents_of,
)
from subscape.algorithms.base import Found, SubspaceFinder, Watch
from subscape.core import SubspaceClustering
from subscape.core.checks import constant_columns
from subscape.core.errors import SubscapeError
from subscape.kernels.bitsets import count, intersection_counts, pack
from subscape.kernels.boxes import best_box
from subscape.kernels.subspace_order import Walk, begin_walk, walk_on
from subscape.kernels.windows import SortedFeatures, run_sets, sort_features

__all__ = ["DiSH"]

FloatArray = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Rows between two looks at the clock; fixed, so that the result doesn't depend on ``n_jobs``.
BATCH = 200
#: The default of min_samples protects clusters of up to this share of the rows ...
LARGEST_SHARE = 0.25
#: ... up to so many standard deviations, from features that fit by chance.
SAFETY = 3.5


class DiSH(SubspaceFinder):
    """DiSH: subspace clusters inside subspace clusters.

    Every row prefers the largest set of features in which it has enough close neighbours. A walk
    through the rows, like that of OPTICS, brings rows together that prefer the same features;
    clusters are read off it, and those with fewer features may contain those with more. A cluster
    can lie inside several others.

    Parameters
    ----------
    eps : float, default=0.05
        How close rows are neighbours in a single feature (ε), as a share of the feature's range;
        in the units of the table if ``scale`` is false. About four standard deviations of the
        clusters is right.
    min_samples : int or None
        Neighbours, itself included, that a row needs in the features it prefers (μ), and rows
        that a cluster needs. By default the least number that keeps a cluster of a quarter of the
        rows from picking up features by chance.
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
    min_samples_ : int
        The value used.
    ordering_ : array of shape (n_rows,)
        The rows in the order of the walk.
    reachability_dims_, reachability_ : arrays of shape (n_rows,)
        How far it was to each row: features not preferred in common, and the distance in them.
    predecessor_ : array of shape (n_rows,)
        The row from which each row was reached, -1 for the first.
    n_iter_ : int
        Steps of the walk.

    Notes
    -----
    Where the paper is silent or open: the step between two rows is the larger, by both parts, of
    their distance and the distance to the ``min_samples``-th nearest row; a row is put where the
    better of the steps to it and from it leads; rows of clusters that are too small join the most
    specific cluster within 2 eps. The default of ``min_samples`` and the exact search are ours.
    The time grows with the square of the number of rows.

    References
    ----------
    .. [1] E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, I. Müller-Gorman, A. Zimek, "Detection and
       visualization of subspace cluster hierarchies", DASFAA 2007, 152-163,
       doi:10.1007/978-3-540-71703-4_15.

    Examples
    --------
    A plane (one feature fixed) with a line in it (two features fixed), and noise:

    >>> import numpy as np
    >>> from subscape.algorithms import DiSH
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
        "eps": [Interval(Real, 0, None, closed="neither")],
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
        eps: float = 0.05,
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
        min_samples = self._least_neighbours(table)
        preference = self._preferences(table, min_samples, watch)
        walk = self._walk(table, preference, min_samples, watch)
        reach = 2 * self.eps
        common = common_preferences(table, preference, walk, reach)
        walked = walk.order[walk.order >= 0]
        order = np.concatenate([walked, np.setdiff1d(np.arange(len(X)), walked)])
        extracted = extract_clusters(table, common, order, reach, min_samples)
        parents = parents_of(extracted.masks, extracted.centres, reach)
        attributes = {
            "parents_": parents,
            "preference_": preference,
            "min_samples_": min_samples,
            "ordering_": order,
            "reachability_dims_": walk.dims,
            "reachability_": walk.distance,
            "predecessor_": walk.predecessor,
        }
        return Found(self._clustering(extracted, parents), max(1, len(walked)), attributes)

    def _least_neighbours(self, table: FloatArray) -> int:
        if self.min_samples is not None:
            return int(self.min_samples)
        share = min(1.0, 2 * self.eps / float(np.median(np.ptp(table, axis=0))))
        by_chance = LARGEST_SHARE * len(table) * share
        return min(len(table), max(2, math.ceil(by_chance + SAFETY * math.sqrt(by_chance))))

    def _preferences(self, table: FloatArray, min_samples: int, watch: Watch) -> Flags:
        """The features that each row prefers; none for rows there was no time for."""
        n_rows = len(table)
        preference = np.zeros(table.shape, dtype=bool)
        ordered = sort_features(table, self.eps)

        def search(start: int) -> None:
            if start and watch.out_of_time():
                return
            for row in range(start, min(start + BATCH, n_rows)):
                preference[row] = self._preference(ordered, row, min_samples, watch)
            watch.step("preferences", min(start + BATCH, n_rows), n_rows)

        starts = range(0, n_rows, BATCH)
        if effective_n_jobs(self.n_jobs) == 1 or len(starts) == 1:
            for start in starts:
                search(start)
        else:
            Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(search)(s) for s in starts)
        return preference

    def _preference(
        self, ordered: SortedFeatures, row: int, min_samples: int, watch: Watch
    ) -> Flags:
        near = run_sets(ordered.order, ordered.prefixes, ordered.first[row], ordered.last[row])
        preferred = np.zeros(len(near), dtype=bool)
        if self.search == "greedy":
            preferred[_greedy_features(near, min_samples)] = True
            return preferred
        everyone = pack(np.ones(ordered.order.shape[1], dtype=bool))
        # One more feature is worth any loss of rows, so that the largest set wins.
        gain = math.log(ordered.order.shape[1]) + 1.0
        box = best_box(near, everyone, min_samples, gain, 0.0, self.max_candidates)
        if not box.complete:
            watch.cut(
                f"the preferred features of some rows were not settled within "
                f"max_candidates={self.max_candidates} sets of features; raise it, raise "
                "min_samples, or lower eps"
            )
        preferred[box.features] = True
        return preferred

    def _walk(self, table: FloatArray, preference: Flags, min_samples: int, watch: Watch) -> Walk:
        n_rows = len(table)
        walk = begin_walk(*table.shape)
        distinct, which = np.unique(pack(preference), axis=0, return_inverse=True)
        which = which.reshape(-1).astype(np.int64, copy=False)
        for start in range(0, n_rows, BATCH):
            if watch.out_of_time():
                break
            stop = min(start + BATCH, n_rows)
            walk_on(table, distinct, which, 2 * self.eps, min_samples, walk, start, stop)
            watch.step("walk", stop, n_rows)
        return walk

    def _clustering(
        self, extracted: Extracted, parents: list[NDArray[np.int64]]
    ) -> SubspaceClustering:
        shape = (len(extracted.labels), extracted.masks.shape[1])
        if self.overlap:
            inside = nested_rows(extracted.labels, parents)
        else:
            inside = extracted.labels == np.arange(len(parents))[:, None]
        return SubspaceClustering.from_clusters(
            [
                (np.flatnonzero(rows), np.flatnonzero(mask))
                for rows, mask in zip(inside, extracted.masks, strict=True)
            ],
            shape,
        )


def _greedy_features(near: NDArray[np.uint64], min_samples: int) -> list[int]:
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
        "min_samples_": min(2, n_rows),
        "ordering_": np.arange(n_rows),
        "reachability_dims_": np.zeros(n_rows, np.int64),
        "reachability_": np.zeros(n_rows),
        "predecessor_": np.arange(n_rows) - 1,
    }
