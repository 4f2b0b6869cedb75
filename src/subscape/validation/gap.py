"""The Gap statistic: how many clusters make rows closer than in tables without clusters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from subscape.core.errors import SubscapeError, count
from subscape.core.markup import ShownAsTable
from subscape.core.types import FloatArray, IntArray
from subscape.measures.compactness.groups import distances_to_centroid, point_groups
from subscape.parallel.seeds import seed_sequence
from subscape.runs.store import Run, RunStore, Task, run_all
from subscape.validation.stability.resampling import table_of, whole_number

from .nulls import NullModel


@dataclass(frozen=True, eq=False)
class GapCurve(ShownAsTable):
    """What :func:`gap_statistic` returns; arrays have one entry per number of clusters.

    Attributes
    ----------
    n_clusters : array of int
    gap : array
        Mean over null tables of log W, minus log W of the table; large is good.
    error : array
        Standard error of ``gap``, the simulation included (s_k).
    log_dispersion : array
        Log W of the table; NaN where the finder failed.
    null_log_dispersion : array of shape (len(n_clusters), n_null)
    chosen : int or None
        The number of clusters by the paper's rule; None if no value is known.
    clusterings : tuple of SubspaceClustering or None
        What the finder found in the table, for each number.
    null_kind, space : str
    failures : tuple of str

    See Also
    --------
    gap_statistic : Makes it.
    """

    n_clusters: IntArray
    gap: FloatArray
    error: FloatArray
    log_dispersion: FloatArray
    null_log_dispersion: FloatArray
    chosen: int | None
    clusterings: tuple[Any, ...]
    null_kind: str
    space: str
    failures: tuple[str, ...] = field(default=())

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per number of clusters, ready for ``pandas.DataFrame``.

        Returns
        -------
        list of dict
        """
        return [
            {
                "n_clusters": int(k),
                "gap": float(self.gap[i]),
                "error": float(self.error[i]),
                "log_dispersion": float(self.log_dispersion[i]),
                "chosen": bool(k == self.chosen),
            }
            for i, k in enumerate(self.n_clusters)
        ]

    def __repr__(self) -> str:
        tried = f"{self.n_clusters[0]} to {self.n_clusters[-1]}"
        return f"{self.chosen} clusters of {tried}, by the gap to {self.null_kind} tables"


def gap_statistic(
    finder: Any,
    X: ArrayLike,
    n_clusters: Sequence[int] = range(1, 9),
    *,
    null: str = "aligned",
    n_null: int = 20,
    space: str = "full",
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Any = None,
) -> GapCurve:
    """Choose the number of clusters by the Gap statistic of Tibshirani, Walther and Hastie [1]_.

    W is the sum of the squared distances of all rows to the centroids of their clusters; the rows
    in no cluster count as one more. It falls with every cluster, but where there is something to be
    found faster than in tables without clusters. The smallest number is chosen whose gap is within
    one standard error of the next one's.

    Parameters
    ----------
    finder : estimator with the parameter ``n_clusters``
    X : array-like of shape (n_rows, n_features)
    n_clusters : sequence of int, default=range(1, 9)
        Numbers to try, increasing.
    null : {"aligned", "uniform", "copula", "permuted", "gaussian"}, default="aligned"
        Tables without clusters; see :func:`null_table`. The paper has "uniform" (its choice a) and
        "aligned" (b).
    n_null : int, default=20
        Number of null tables (B).
    space : {"full", "subspace"}, default="full"
        "subspace": squared distances are taken in each cluster's own subspace, per dimension; see
        :mod:`subscape.measures.compactness.indices`.
    store, n_jobs, random_state, progress
        As in :func:`significance`.

    Returns
    -------
    GapCurve

    See Also
    --------
    choose : Several criteria at once.
    clest : By stability.

    References
    ----------
    .. [1] R. Tibshirani, G. Walther, T. Hastie, "Estimating the number of clusters in a data set
       via the gap statistic", Journal of the Royal Statistical Society B 63 (2001),
       doi:10.1111/1467-9868.00293.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from subscape.validation import gap_statistic
    >>> X, _ = make_blobs(120, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    >>> gap_statistic(KMeans(n_init=2), X, range(1, 6), n_null=8, random_state=0)
    3 clusters of 1 to 5, by the gap to aligned tables
    """
    whole_number(n_null, "n_null", 2)
    numbers = np.array([whole_number(k, "n_clusters", 1) for k in n_clusters], dtype=np.int64)
    if not len(numbers) or (np.diff(numbers) <= 0).any():
        raise SubscapeError("n_clusters must list increasing numbers, at least one")
    table = np.asarray(table_of(X, "gap_statistic"), np.float64)
    model = NullModel(table, null)
    drawing, seeding = seed_sequence(random_state).spawn(2)
    tables = [table, *(model.draw(child) for child in drawing.spawn(n_null))]
    seeds = [int(child.generate_state(1)[0]) for child in seeding.spawn(len(tables))]
    tasks = [
        Task(clone(finder).set_params(n_clusters=int(k)), one, seed=seed)
        for k in numbers
        for one, seed in zip(tables, seeds, strict=True)
    ]
    runs = run_all(tasks, store, n_jobs, progress)
    if not any(run.ok for run in runs):
        raise SubscapeError(f"the finder failed in every one of {count(len(runs), 'run')}: "
                            f"{runs[0].error}")  # fmt: skip
    logs = np.array(
        [_log_dispersion(tables[i % len(tables)], run, space) for i, run in enumerate(runs)]
    ).reshape(len(numbers), len(tables))
    known = ~np.isnan(logs[:, 1:])
    used = np.maximum(known.sum(axis=1), 1)
    mean = np.where(known, logs[:, 1:], 0.0).sum(axis=1) / used
    spread = np.sqrt(
        np.where(known, np.square(logs[:, 1:] - mean[:, None]), 0.0).sum(axis=1) / used
    )
    gap = np.where(known.any(axis=1), mean, np.nan) - logs[:, 0]
    error = spread * np.sqrt(1 + 1 / used)
    return GapCurve(
        n_clusters=numbers,
        gap=gap,
        error=error,
        log_dispersion=logs[:, 0],
        null_log_dispersion=logs[:, 1:],
        chosen=_chosen(numbers, gap, error),
        clusterings=tuple(run.clustering for run in runs[:: len(tables)]),
        null_kind=null,
        space=space,
        failures=tuple(run.error for run in runs if run.error is not None),
    )


def _chosen(numbers: IntArray, gap: FloatArray, error: FloatArray) -> int | None:
    """The smallest number whose gap is within an error of the next; else the largest gap's."""
    known = np.flatnonzero(~np.isnan(gap))
    if not len(known):
        return None
    for this, following in pairwise(known):
        if gap[this] >= gap[following] - error[following]:
            return int(numbers[this])
    return int(numbers[known[np.argmax(gap[known])]])


def dispersion(X: ArrayLike, clustering: Any, *, space: str = "full") -> float:
    """Sum of squared distances of the rows to their centroids (W); noise is one more cluster.

    >>> dispersion([[0.0], [2.0], [7.0], [8.0]], [0, 0, -1, -1])
    2.5
    """
    table = np.asarray(table_of(X, "dispersion"), np.float64)
    labels = clustering.labels() if hasattr(clustering, "labels") else np.asarray(clustering)
    noise = table[labels < 0]
    away = np.square(noise - noise.mean(axis=0)).sum() if len(noise) else 0.0
    if space == "subspace":
        away /= table.shape[1]
    if (labels < 0).all():
        return float(away)
    groups = point_groups(table, clustering, space, "dispersion", least=1)
    centroids = groups.centroids()
    within = (
        float(np.square(distances_to_centroid(groups, k, centroids[k])).sum())
        for k in range(groups.n_clusters)
    )
    return float(away) + sum(within)


def _log_dispersion(table: FloatArray, run: Run, space: str) -> float:
    if run.clustering is None:
        return float("nan")
    # Rows that all coincide with their centroids: as small as can be told from 0.
    least = np.finfo(float).eps * max(float(np.square(table).sum()), 1e-300)
    return float(np.log(max(dispersion(table, run.clustering, space=space), least)))
