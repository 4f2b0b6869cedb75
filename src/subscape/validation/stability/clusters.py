"""Which clusters come back when the table or the seed changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import SubscapeError
from subscape.core.markup import ShownAsTable
from subscape.core.plain_values import without_nan
from subscape.core.types import BoolArray, FloatArray, IntArray
from subscape.runs.store import Run
from subscape.validation.criteria import DISSOLVED, STABLE

from .comparison import (
    Comparison,
    Metric,
    Sampled,
    check_place,
    distance,
    distances_within,
    recovery,
)

#: Jaccard indices from which a cluster counts as recovered, and below which as dissolved.
RECOVERED = STABLE


@dataclass(frozen=True, eq=False)
class ClusterStability(ShownAsTable):
    """Which clusters come back in reruns, and how like the whole is.

    Attributes
    ----------
    jaccard : array of shape (n_reruns, n_clusters)
        For each rerun and cluster the best Jaccard index of cells with one of the rerun's clusters;
        NaN where the sample had nothing of the cluster or the rerun failed.
    distances : array of shape (n_reruns,)
        Distance of the whole clustering to each rerun.
    stability : array of shape (n_clusters,)
        Mean Jaccard index; NaN for a cluster that no rerun could have found.
    recovered, dissolved : arrays of shape (n_clusters,)
        Share of the reruns with an index of at least 0.75, and below 0.5.
    whole : float
        1 less the mean distance.
    n_failed : int
        Reruns that failed.

    See Also
    --------
    cluster_stability : Makes it.
    subscape.plots.ClusterStabilityDisplay : As a picture.
    """

    jaccard: FloatArray
    distances: FloatArray
    n_failed: int = 0

    @property
    def n_clusters(self) -> int:
        return self.jaccard.shape[1]

    @property
    def stability(self) -> FloatArray:
        return _mean(self.jaccard)

    @property
    def recovered(self) -> FloatArray:
        return _share(self.jaccard >= RECOVERED, self.jaccard)

    @property
    def dissolved(self) -> FloatArray:
        return _share(self.jaccard < DISSOLVED, self.jaccard)

    @property
    def whole(self) -> float:
        return 1.0 - float(_mean(self.distances[:, None])[0])

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per cluster.

        Returns
        -------
        list of dict
            Of cluster (from 0), stability, recovered, dissolved and reruns.
        """
        columns = (self.stability, self.recovered, self.dissolved)
        reruns = (~np.isnan(self.jaccard)).sum(axis=0)
        return [
            {
                "cluster": k,
                "stability": float(columns[0][k]),
                "recovered": float(columns[1][k]),
                "dissolved": float(columns[2][k]),
                "reruns": int(reruns[k]),
            }
            for k in range(self.n_clusters)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The records and the whole, as plain values that JSON can hold.

        Returns
        -------
        dict
            Of whole, failed, clusters, distances and jaccard.
        """
        return {
            "whole": without_nan(self.whole),
            "failed": self.n_failed,
            "clusters": without_nan(self.to_records()),
            "distances": without_nan(self.distances.tolist()),
            "jaccard": without_nan(self.jaccard.tolist()),
        }

    def __repr__(self) -> str:
        head = f"stability {self.whole:.2f} over {len(self.distances)} reruns"
        if self.n_failed:
            head += f" ({self.n_failed} failed)"
        lines = [
            f"  cluster {k}: {value:.2f}" if value == value else f"  cluster {k}: never sampled"
            for k, value in enumerate(self.stability, 1)
        ]
        return "\n".join([head, *lines])


def cluster_stability(
    clustering: Any,
    reruns: Sequence[Any],
    *,
    measure: Metric = "clustering_error",
    compare: str = "common",
    mass: str | None = None,
    overlap: str | None = None,
) -> ClusterStability:
    """Say which clusters of a clustering come back in others of the same table.

    A cluster is stable if most reruns have one much like it: the Jaccard index of two clusters is
    the number of cells in both over that in either (T over |A| + |B| − T, with the overlaps of the
    thesis for every kind of subspace). For rows alone this is Hennig's cluster-wise assessment
    [1]_, who counts clusters of index 0.75 as recovered and below 0.5 as dissolved.

    Parameters
    ----------
    clustering : SubspaceClustering, fitted finder or label vector
        Of the whole table.
    reruns : sequence of Run, SubspaceClustering or label vectors
        Runs may be of samples of the table: the clustering is then restricted to them. Failed
        runs are counted and left out; a run that found nothing has lost every cluster.
    measure, mass, overlap
        The distance of the whole, as in :func:`subscape.measures.pairwise_distances`.
    compare : {"common", "union"}
        Whether the whole is compared on what a sample has, or over all of the table.

    Returns
    -------
    ClusterStability

    See Also
    --------
    resampling_stability : Makes the reruns.
    subscape.plots.ClusterStabilityDisplay : As a picture.

    References
    ----------
    .. [1] C. Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics and
       Data Analysis 52 (2007), doi:10.1016/j.csda.2006.11.025.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.validation import cluster_stability
    >>> first = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([3, 4], [2])], (6, 3))
    >>> again = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([4, 5], [0])], (6, 3))
    >>> cluster_stability(first, [first, again]).stability
    array([1. , 0.5])
    """
    reference = as_clustering(clustering)
    if not len(reruns):
        raise SubscapeError("no reruns given: nothing can be said about stability")
    place = check_place(compare)
    chosen = Comparison(measure, mass, overlap).check()
    others = [_sampled(rerun, reference) for rerun in reruns]
    whole = Sampled(reference, None, None, reference.shape)
    jaccard = np.stack([recovery(reference, other, chosen) for other in others])
    distances = np.array([distance(whole, other, chosen, place) for other in others])
    failed = sum(other.clustering is None for other in others)
    return ClusterStability(jaccard, distances, failed)


def nearest_clusterings(clustering: SubspaceClustering, runs: Sequence[Run]) -> list[Run]:
    """Runs of a finder of several clusterings, each with the one that is most like this one.

    Parameters
    ----------
    clustering : SubspaceClustering
        Of the whole table.
    runs : sequence of Run
        Of samples of the table.
    """
    found = []
    for run in runs:
        alone = [replace(run, clusterings=(one,)) for one in run.clusterings]
        distances = [cluster_stability(clustering, [one]).distances[0] for one in alone]
        # A clustering that has nothing in common with the sample says nothing.
        known = [value if value == value else np.inf for value in distances]
        found.append(alone[int(np.argmin(known))] if len(alone) > 1 else run)
    return found


def distance_between_runs(runs: Sequence[Run]) -> float:
    """Mean distance between the clusterings of two runs, over all pairs; NaN if none is known."""
    compare = Comparison("clustering_error", None, None).check()
    members = [Sampled.of_run(run) for run in runs]
    distances = distances_within(members, compare, check_place("common"))
    values = distances[np.triu_indices(len(members), 1)]
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _sampled(rerun: Any, reference: SubspaceClustering) -> Sampled:
    if isinstance(rerun, Run):
        if rerun.shape != reference.shape:
            raise SubscapeError(
                f"a run is of a table of {rerun.shape[0]} x {rerun.shape[1]}, the clustering of "
                f"{reference.n_rows} x {reference.n_features}; compare runs of one table"
            )
        return Sampled.of_run(rerun)
    return Sampled(as_clustering(rerun, like=reference), None, None, reference.shape)


def _mean(values: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    total = known.sum(axis=0)
    summed = np.where(known, values, 0.0).sum(axis=0)
    return np.where(total > 0, summed / np.maximum(total, 1), np.nan)


def _share(hit: BoolArray, values: FloatArray) -> FloatArray:
    return _mean(np.where(np.isnan(values), np.nan, hit.astype(np.float64)))


def best_jaccard(memberships: BoolArray, labels: IntArray) -> FloatArray:
    """For each cluster (rows of ``memberships``), the largest Jaccard index with one of ``labels``.

    >>> best_jaccard(np.array([[True, True, False], [False, False, True]]), np.array([4, 4, 4]))
    array([0.66666667, 0.33333333])
    """
    found = labels[labels >= 0]
    if not len(found):
        return np.zeros(len(memberships))
    other = (labels == np.unique(found)[:, None]).astype(np.float64)
    inside = memberships.astype(np.float64)
    common = inside @ other.T
    union = inside.sum(axis=1)[:, None] + other.sum(axis=1) - common
    return np.asarray((common / np.maximum(union, 1)).max(axis=1))
