"""Replication: are the clusters of one half of the rows found again in the other half?"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, count
from subscape.core.markup import ShownAsTable
from subscape.core.types import FloatArray
from subscape.parallel.seeds import seed_sequence
from subscape.runs.store import RunStore, Task, run_all
from subscape.validation.criteria import NULL
from subscape.validation.max_statistic import max_statistic_test
from subscape.validation.nulls import NullModel

from .comparison import Comparison, Metric, Sampled, recovery
from .lange import Outcome, split_runs
from .resampling import Work, table_of, whole_number


@dataclass(frozen=True, eq=False)
class Replication(ShownAsTable):
    """What :func:`replicate` returns.

    Attributes
    ----------
    agreement : array of shape (n_splits,)
        1 - the distance of the clustering carried over from one half and the one found in the
        other; 0 where one of them has no clusters.
    null_agreement : array of shape (n_null,)
        Mean agreement over the splits of each null table.
    p_value : float
        How often null tables replicate as well; NaN without null tables.
    clustering : SubspaceClustering
        Found in the whole table.
    cluster_recovery : array of shape (n_splits, n_clusters)
        Jaccard index (of cells) of each cluster of ``clustering`` with its best match among the
        clusters carried over from the other half; NaN where a split has none of its rows.
    null_kind : str
    failures : tuple of str
        Null tables on which the finder failed; they are left out.

    See Also
    --------
    replicate : Makes it.
    """

    agreement: FloatArray
    null_agreement: FloatArray
    p_value: float
    clustering: SubspaceClustering
    cluster_recovery: FloatArray
    null_kind: str
    failures: tuple[str, ...] = field(default=())

    @property
    def mean(self) -> float:
        """Mean agreement."""
        return float(self.agreement.mean())

    @property
    def cluster_means(self) -> FloatArray:
        """How well each cluster replicates, on average."""
        known = ~np.isnan(self.cluster_recovery)
        sums = np.where(known, self.cluster_recovery, 0.0).sum(axis=0)
        return np.where(known.any(axis=0), sums / np.maximum(known.sum(axis=0), 1), np.nan)

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per cluster, ready for ``pandas.DataFrame``.

        Returns
        -------
        list of dict
            Of cluster (from 0), rows and recovery.
        """
        return [
            {"cluster": k, "rows": float(size), "recovery": float(mean)}
            for k, (size, mean) in enumerate(
                zip(self.clustering.sizes, self.cluster_means, strict=True)
            )
        ]

    def __repr__(self) -> str:
        text = f"agreement {self.mean:.2f} over {count(len(self.agreement), 'split')}"
        if not len(self.null_agreement):
            return text
        usual = float(np.median(self.null_agreement))
        return f"{text}, {usual:.2f} in {self.null_kind} tables; p = {self.p_value:.3g}"


def replicate(
    finder: Any,
    X: ArrayLike,
    *,
    n_splits: int = 5,
    measure: Metric = "clustering_error",
    null: str = NULL,
    n_null: int = 19,
    shrinkage: float | str = 0.0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Any = None,
) -> Replication:
    """Test whether clusters found in one half of the rows are found in the other half too.

    A second opinion beside :func:`significance`, which asks whether clusters are narrower than
    chance. Here the finder searches both halves, the clusters of the first are carried over to the
    second by where they lie (``describe`` and ``assign``), and the two are compared, subspaces
    included. Any finder that cuts a smooth table at the same place each time replicates well, so
    the agreement is compared with that in null tables.

    Parameters
    ----------
    finder : estimator
    X : array-like of shape (n_rows, n_features)
    n_splits : int, default=5
        How often the rows are split in two.
    measure : str or callable, default="clustering_error"
        Distance of the two clusterings, from 0 to 1; see :mod:`subscape.measures.registry`.
    null, shrinkage
        What null tables keep; see :func:`null_table`.
    n_null : int, default=19
        Number of null tables; 0 for none and no p-value.
    store, n_jobs, random_state, progress
        As in :func:`significance`.

    Returns
    -------
    Replication

    See Also
    --------
    significance : Whether clusters are narrower than chance.
    resampling_stability : Samples instead of halves.

    Examples
    --------
    >>> from subscape.finders import P3C
    >>> from subscape.datasets import planted_axes
    >>> from subscape.validation import replicate
    >>> X, truth = planted_axes(200, 8, n_clusters=3, dims=4, random_state=0)
    >>> replicate(P3C(), X, n_splits=2, n_null=9, random_state=0).p_value
    0.1
    """
    whole_number(n_null, "n_null", 0)
    compare = Comparison(measure).check().need_unit_range("replicate")
    table = np.asarray(table_of(X, "replicate"), np.float64)
    work = Work(store, n_jobs, progress)
    whole_seed, drawing, *streams = seed_sequence(random_state).spawn(3 + n_null)
    seed = int(whole_seed.generate_state(1)[0])
    (whole,) = run_all([Task(finder, X, seed=seed)], *work)
    if whole.clustering is None:
        raise SubscapeError(f"the finder fails on the table itself: {whole.error}")
    seeds = [_whole(stream) for stream in streams]
    outcome = _halved(finder, X, n_splits, seeds[0], work)
    agreement = _agreement(outcome, compare)
    recoveries = [
        recovery(
            whole.clustering,
            Sampled(pair.predicted, outcome.runs[0][2 * i + 1].rows, None, table.shape),
            compare,
        )
        for i, pair in enumerate(outcome.halves[0])
    ]
    model = NullModel(table, null, shrinkage=shrinkage) if n_null else None
    levels, failures = [], []
    for b, draw in enumerate(drawing.spawn(n_null)):
        try:
            found = _halved(finder, model.draw(draw), n_splits, seeds[b + 1], work)  # type: ignore[union-attr]
        except SubscapeError as error:
            failures.append(str(error))
            continue
        levels.append(float(_agreement(found, compare).mean()))
    p_value = float("nan")
    if levels:
        p_value = float(max_statistic_test(agreement.mean(), levels))
    return Replication(
        agreement=agreement,
        null_agreement=np.array(levels),
        p_value=p_value,
        clustering=whole.clustering,
        cluster_recovery=np.array(recoveries).reshape(n_splits, whole.clustering.n_clusters),
        null_kind=null,
        failures=tuple(failures),
    )


def _whole(stream: np.random.SeedSequence) -> int:
    return int(stream.generate_state(1)[0])


def _halved(finder: Any, X: Any, n_splits: int, seed: int, work: Work) -> Outcome:
    return split_runs(finder, X, [{}], n_splits, 0.5, "rows", "prototype", seed, work)


def _agreement(outcome: Outcome, compare: Comparison) -> FloatArray:
    distances = np.array([compare(*pair) for pair in outcome.halves[0]])
    # Nothing found twice is no cluster found twice.
    return np.where(np.isnan(distances), 0.0, 1.0 - distances)
