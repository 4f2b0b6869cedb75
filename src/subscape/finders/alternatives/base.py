"""What the finders of alternatives to known clusterings share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils._param_validation import Interval

from subscape.core.checks import check_n_jobs
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import FewDistinctRowsWarning, count
from subscape.core.types import FloatArray, IntArray
from subscape.finders.base import by_first_row
from subscape.finders.views.base import Found, MultiClusteringFinder, Watch, found_several
from subscape.parallel.threads import one_thread

__all__ = [
    "COUNT",
    "RESTART_CONSTRAINTS",
    "SHARED_CONSTRAINTS",
    "Alternative",
    "AlternativeFinder",
    "Alternatives",
    "joined",
    "numbered",
    "run_numbers",
]

#: Clusters of the reference and of the alternative where neither is told.
USUAL_CLUSTERS = 3
#: What the parameters that all of them have may be; and those of finders with several starts.
COUNT = Interval(Integral, 1, None, closed="left")
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "n_clusters": [COUNT, None],
    "n_alternatives": [Interval(Integral, 1, 10**4, closed="both")],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "random_state": [object],
    "progress": [callable, "boolean", None],
}
RESTART_CONSTRAINTS = SHARED_CONSTRAINTS | {"n_init": [COUNT], "n_jobs": [Integral, None]}


class Alternative(NamedTuple):
    """One alternative, and what ``fit`` keeps of how it was found."""

    labels: IntArray
    n_iter: int = 1
    attributes: dict[str, Any] = {}  # noqa: RUF012 - never written to


class Alternatives(NamedTuple):
    """Several alternatives, and what ``fit`` keeps of how they were found."""

    labels: list[IntArray]
    n_iter: int
    attributes: dict[str, Any]


class AlternativeFinder(MultiClusteringFinder):
    """Base of the estimators that find one alternative after the other.

    A subclass has the parameters ``n_clusters`` (None: as many as the first known clustering) and
    ``n_alternatives``, and implements :meth:`_alternative`. Each alternative found is known to the
    search for the next. What :meth:`_alternative` says in its attributes is kept with one entry
    per alternative: numbers as an array, the rest as a tuple.

    See Also
    --------
    subscape.finders.views.base.MultiClusteringFinder : Its base.
    subscape.measures.dq_measure : How different and how good alternatives are.
    """

    #: Set by the parameters of the subclasses.
    n_clusters: int | None
    n_alternatives: int

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        first, *seeds = seed.spawn(self.n_alternatives + 1)
        wanted = self._n_wanted(len(X))
        n_distinct = _distinct_rows(X, wanted)
        if n_distinct <= wanted:
            return self._only_clustering(X, wanted, n_distinct, first)
        known = [each.labels() for each in self._references(X, wanted, first)]
        found = self._alternatives(X, known, wanted, seeds, watch)
        return found_several(
            [over_all_features(labels, X.shape[1]) for labels in found.labels],
            found.n_iter,
            **found.attributes,
        )

    def _alternatives(
        self,
        X: FloatArray,
        known: list[IntArray],
        n_clusters: int,
        seeds: list[np.random.SeedSequence],
        watch: Watch,
    ) -> Alternatives:
        """Find one clustering per seed; here one after the other."""
        found: list[Alternative] = []
        for number, child in enumerate(seeds):
            if found and watch.out_of_time():
                break
            watch.step("alternatives", number, len(seeds))
            before = known + [each.labels for each in found]
            found.append(self._alternative(X, before, n_clusters, child, watch))
        watch.step("alternatives", len(found), len(seeds))
        return Alternatives(
            [each.labels for each in found],
            max(each.n_iter for each in found),
            by_alternative([each.attributes for each in found]),
        )

    def _n_wanted(self, n_rows: int) -> int:
        """Number of clusters to look for."""
        if self.n_clusters is not None:
            return int(self.n_clusters)
        return self.given_[0].n_clusters if self.given_ else min(USUAL_CLUSTERS, n_rows)

    def _only_clustering(
        self, X: FloatArray, wanted: int, n_distinct: int, seed: np.random.SeedSequence
    ) -> Found:
        """The clustering into equal rows: with so few of them it is the only one there is."""
        if n_distinct > 1:
            warnings.warn(
                f"the table has {count(n_distinct, 'distinct row')} for {wanted} clusters: there "
                "is one clustering only that keeps equal rows together, and no alternative to it",
                FewDistinctRowsWarning,
                stacklevel=5,
            )
        labels = numbered(np.unique(X, axis=0, return_inverse=True)[1].ravel())
        self._references(X, n_distinct, seed)
        return found_several([over_all_features(labels, X.shape[1])])

    def _alternative(
        self,
        X: FloatArray,
        known: list[IntArray],
        n_clusters: int,
        seed: np.random.SeedSequence,
        watch: Watch,
    ) -> Alternative:
        """Find one clustering of ``X`` that differs from the ``known`` ones (−1: unknown)."""
        raise NotImplementedError(f"{type(self).__name__} must implement _alternative")


def run_numbers(task: Callable[[int], Any], number: int, n_jobs: int | None) -> list[Any]:
    """Results of ``task(0), task(1), …``, in threads; each on one core, for the same bits."""
    check_n_jobs(n_jobs)
    with one_thread():
        if effective_n_jobs(n_jobs) == 1:
            return [task(i) for i in range(number)]
        return list(
            Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(task)(i) for i in range(number))
        )


def numbered(labels: IntArray) -> IntArray:
    """The same clusters, numbered by their first rows; numbers without rows vanish.

    >>> numbered(np.array([7, 7, 2, -1, 2, 0]))
    array([ 0,  0,  1, -1,  1,  2])
    """
    used, codes = np.unique(labels, return_inverse=True)
    codes = codes.astype(np.int64) - int(used[0] < 0)
    new = np.empty(len(used), np.int64)
    order = by_first_row(codes)
    new[order] = np.arange(len(order))
    return np.where(codes < 0, -1, new[codes])


def joined(known: list[IntArray]) -> IntArray:
    """One labelling that keeps apart what any of the known ones does; −1 where all are unknown.

    A row that some of them don't know is grouped by the others.

    >>> joined([np.array([0, 0, 1, -1]), np.array([0, 1, 1, -1])])
    array([ 0,  1,  2, -1])
    """
    table = np.column_stack(known)
    codes = np.unique(table, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    codes[(table < 0).all(axis=1)] = -1
    return numbered(codes)


def over_all_features(labels: IntArray, n_features: int) -> SubspaceClustering:
    """Label vectors as clusters over all features."""
    return SubspaceClustering.from_labels(labels, n_features=n_features)


def _distinct_rows(X: FloatArray, enough: int) -> int:
    """Number of distinct rows; counting ends above ``enough``."""
    seen: set[bytes] = set()
    for row in X:
        seen.add((row + 0.0).tobytes())  # -0 is 0
        if len(seen) > enough:
            break
    return len(seen)


def by_alternative(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """One entry per alternative: numbers as arrays, the rest as tuples."""
    names = attributes[0]
    kept = {name: [each[name] for each in attributes] for name in names}
    return {
        name: np.array(values) if isinstance(values[0], (int, float)) else tuple(values)
        for name, values in kept.items()
    }
