"""Whether what a finder finds is more than it finds in tables without clusters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.checks import check_table
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, count
from subscape.core.markup import ShownAsTable
from subscape.core.types import FloatArray
from subscape.measures.flats.description_length import description_length
from subscape.parallel.progress import Step, Watch
from subscape.parallel.seeds import seed_sequence
from subscape.runs.identity import seeds_of
from subscape.runs.store import Run, RunStore, Task, run_all
from subscape.tables.table import Table
from subscape.validation.stability.resampling import Work, whole_number

from .cluster_scores import ClusterScores, column_scores, humped_columns, scored_clusters
from .criteria import FEWEST_NULL_TABLES, NULL, SIGNIFICANCE_LEVEL
from .max_statistic import max_statistic_test, robust_scale
from .nulls import NullModel

#: A statistic of a whole clustering: large where there is something.
Statistic = Callable[[Any, SubspaceClustering], float]

#: Bytes of null tables that are held at the same time.
BATCH_BYTES = 100_000_000


@dataclass(frozen=True, eq=False)
class Significance(ShownAsTable):
    """What :func:`significance` returns.

    Attributes
    ----------
    p_value : float
        Of everything that was found: how often tables without clusters give as much, the best of
        the runs being taken there too.
    run_p_values : array of shape (n_runs,)
        Of every finder's clustering, corrected for the number of finders.
    cluster_p_values : tuple of arrays
        Of every cluster of every run (one after another where a finder has several clusterings),
        corrected for the number of clusters and finders.
    clusterings : tuple of tuples of SubspaceClustering
        What each finder found.
    cluster_statistics : tuple of arrays
        Statistic of every cluster; see :func:`score_clusters`.
    observed : float
        The statistic behind ``p_value``: for "evidence" in robust standard deviations from what is
        usual in null tables.
    null : array of shape (n_null,)
        The same for the null tables.
    cluster_observed, cluster_null : tuple of arrays, array of shape (n_null,)
        The same for clusters: standardised statistics, and the largest of each null table.
    statistic, null_kind : str
    failures : tuple of str
        Errors of finders on null tables, which are left out.

    See Also
    --------
    significance : Makes it.
    subscape.plots.NullDistributionDisplay : As a picture.
    """

    p_value: float
    run_p_values: FloatArray
    cluster_p_values: tuple[FloatArray, ...]
    clusterings: tuple[tuple[SubspaceClustering, ...], ...]
    cluster_statistics: tuple[FloatArray, ...]
    observed: float
    null: FloatArray
    cluster_observed: tuple[FloatArray, ...]
    cluster_null: FloatArray
    statistic: str
    null_kind: str
    failures: tuple[str, ...] = field(default=())

    @property
    def n_null(self) -> int:
        """Number of null tables that count."""
        return len(self.null)

    @property
    def clustering(self) -> SubspaceClustering:
        """What the first finder found."""
        return self.clusterings[0][0]

    def significant_clusters(self, level: float = SIGNIFICANCE_LEVEL, run: int = 0) -> list[int]:
        """Numbers of the clusters of a run whose p-value is at most ``level``.

        Returns
        -------
        list of int
            Counted from 0, over all clusterings of the run.
        """
        return np.flatnonzero(self.cluster_p_values[run] <= level).tolist()

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per cluster, ready for ``pandas.DataFrame``.

        Returns
        -------
        list of dict
            Of run, cluster (both from 0), rows, dims, statistic, p_value and run_p_value.
        """
        records = []
        for run, found in enumerate(self.clusterings):
            sizes = np.concatenate([np.asarray(one.sizes) for one in found])
            dims = np.concatenate([np.asarray(one.subspaces.dims) for one in found])
            for k, p in enumerate(self.cluster_p_values[run]):
                records.append(
                    {
                        "run": run,
                        "cluster": k,
                        "rows": float(sizes[k]),
                        "dims": float(dims[k]),
                        "statistic": float(self.cluster_statistics[run][k]),
                        "p_value": float(p),
                        "run_p_value": float(self.run_p_values[run]),
                    }
                )
        return records

    def __repr__(self) -> str:
        clusters = sum(len(p) for p in self.cluster_p_values)
        beyond = sum(int((p <= SIGNIFICANCE_LEVEL).sum()) for p in self.cluster_p_values)
        return (
            f"p = {self.p_value:.3g} against {count(self.n_null, f'{self.null_kind} table')}; "
            f"{beyond} of {count(clusters, 'cluster')} beyond chance at {SIGNIFICANCE_LEVEL:.0%}"
        )


def significance(
    finder: Any,
    X: ArrayLike,
    *,
    statistic: str | Statistic = "evidence",
    null: str = NULL,
    n_null: int = FEWEST_NULL_TABLES,
    shrinkage: float | str = 0.0,
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Any = None,
) -> Significance:
    """Test whether a finder finds more in a table than in tables without clusters.

    The finder searches the table and ``n_null`` null tables in the same way. A p-value is the share
    of the tables that give at least as much. Clusters are tested by the largest statistic of a
    cluster in each null table, which corrects for their number [1]_.

    Parameters
    ----------
    finder : estimator, or a sequence of them
        Of several, the best counts, on the null tables too: the maximum over the same runs. A
        ``random_state`` that is None is set anew on every table.
    X : array-like of shape (n_rows, n_features)
    statistic : {"evidence", "description_length"} or callable, default="evidence"
        What is compared for a whole clustering. "evidence": the larger of the total gain and the
        largest statistic of a cluster of :func:`score_clusters`, each in robust standard
        deviations. "description_length": bits saved. A callable is called as
        ``statistic(X, clustering)`` and returns a number that is large where there is something.
        Clusters are always tested by :func:`score_clusters`; what one feature shows by its several
        humps counts with the null "unimodal", and not with others.
    null : {"copula", "unimodal", "permuted", "gaussian", "uniform", "aligned"}, default="unimodal"
        What null tables keep; see :func:`null_table`.
    n_null : int, default=99
        Number of null tables; the smallest p-value is 1 / (n_null + 1).
    shrinkage : float or "ledoit_wolf", default=0
        Of the correlations of null tables; see :func:`null_table`.
    store : RunStore or path, optional
        Keeps finished fits, so that an interrupted test goes on where it was.
    n_jobs : int, optional
        Parallel fits (joblib).
    random_state : int, Generator or None
        Seed. The result is the same for any ``n_jobs``.
    progress : callable, True or None
        Called after every fit; True shows a bar.

    Returns
    -------
    Significance

    See Also
    --------
    replicate : Whether both halves show the same.
    null_table : A table of the kind that it is held against.
    subscape.plots.NullDistributionDisplay : As a picture.

    Notes
    -----
    Null tables on which a finder fails are left out and listed in ``failures``. An error on the
    table itself is raised.

    References
    ----------
    .. [1] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993.

    Examples
    --------
    >>> from subscape.finders import P3C
    >>> from subscape.datasets import planted_axes, structureless
    >>> from subscape.validation import significance
    >>> X, truth = planted_axes(120, 6, n_clusters=2, dims=3, random_state=0)
    >>> significance(P3C(), X, random_state=0)
    p = 0.01 against 99 unimodal tables; 2 of 2 clusters beyond chance at 1%
    >>> nothing = structureless("lognormal", 100, 4, random_state=0)
    >>> significance(P3C(), nothing, n_null=19, random_state=0).p_value > 0.05
    True
    """
    whole_number(n_null, "n_null", 1)
    measure, name = _statistic(statistic)
    finders = list(finder) if isinstance(finder, Sequence) else [finder]
    if not finders:
        raise SubscapeError("there is no finder to test; give at least one")
    values = X.to_numpy() if isinstance(X, Table) else X
    table = np.asarray(check_table(values, "significance", missing=True), np.float64)
    drawing, seeding = seed_sequence(random_state).spawn(2)
    model = NullModel(table, null, shrinkage=shrinkage)
    humped = humped_columns(model.table, model.values)
    work = Work(store, n_jobs, progress)
    rows: list[_Searched] = []
    failures: list[str] = []
    searches = _searches(finders, X, model, drawing.spawn(n_null), seeding, work)
    for number, (searched, runs) in enumerate(searches):
        broken = [run.error for run in runs if run.error is not None]
        if broken and number == 0:
            raise SubscapeError(f"a finder fails on the table itself: {broken[0]}")
        if broken:
            failures.extend(broken)
            continue
        # Columns of null tables have no humps that their ranks would hide.
        scores = column_scores(searched, humped if number == 0 else ())
        rows.append(_Searched.of(searched, runs, scores, measure))
    if len(rows) < 2:
        raise SubscapeError(f"a finder fails on every null table: {failures[0]}")
    return _result(rows, name, null, tuple(failures))


def _searches(
    finders: list[Any],
    X: Any,
    model: NullModel,
    draws: list[np.random.SeedSequence],
    seeding: np.random.SeedSequence,
    work: Work,
) -> Iterator[tuple[FloatArray, list[Run]]]:
    """The table, then the null tables, each with what the finders found in it."""
    width, n_tables = len(finders), len(draws) + 1
    seeds = seeding.generate_state(n_tables * width, np.uint64) >> np.uint64(33)
    watch = Watch("significance", work.progress)
    batch = max(1, int(BATCH_BYTES // max(model.table.nbytes, 1)))
    for start in range(0, n_tables, batch):
        places = range(start, min(start + batch, n_tables))
        tables = [model.table if b == 0 else model.draw(draws[b - 1]) for b in places]
        tasks = [
            _task(one, X if b == 0 else table, int(seeds[b * width + r]))
            for b, table in zip(places, tables, strict=True)
            for r, one in enumerate(finders)
        ]

        def report(step: Step, before: int = start * width) -> None:
            watch.step("fits", before + step.done, n_tables * width)

        runs = run_all(tasks, work.store, work.n_jobs, report)
        for i, table in enumerate(tables):
            yield table, runs[i * width : (i + 1) * width]
    watch.close()


@dataclass(frozen=True, eq=False)
class _Searched:
    """What the finders found in one table, in numbers."""

    clusterings: tuple[tuple[SubspaceClustering, ...], ...]
    scores: tuple[tuple[ClusterScores, ...], ...]
    largest: list[float]
    whole: list[list[float]]

    @classmethod
    def of(
        cls, table: FloatArray, runs: list[Run], scores: list[FloatArray], measure: Statistic | None
    ) -> _Searched:
        scored = tuple(
            tuple(scored_clusters(table, one, scores) for one in run.clusterings) for run in runs
        )
        largest = [max((one.largest for one in run), default=0.0) for run in scored]
        if measure is None:
            totals = [sum(one.total for one in run) for run in scored]
            whole = [totals, largest]
        else:
            whole = [[_best(measure, table, run.clusterings) for run in runs]]
        return cls(tuple(run.clusterings for run in runs), scored, largest, whole)


def _best(
    measure: Statistic, table: FloatArray, clusterings: Sequence[SubspaceClustering]
) -> float:
    return max(float(measure(table, one)) for one in clusterings)


def _task(finder: Any, table: Any, seed: int) -> Task:
    open_ended = any(value is None for value in seeds_of(finder).values())
    return Task(finder, table, seed=seed if open_ended else None)


def _statistic(given: str | Statistic) -> tuple[Statistic | None, str]:
    if given == "evidence":
        return None, "evidence"
    if given == "description_length":
        return _saved_bits, "description_length"
    if callable(given):
        return given, getattr(given, "__name__", type(given).__name__)
    raise SubscapeError(
        f"statistic must be 'evidence', 'description_length' or a callable, got {given!r}"
    )


def _saved_bits(X: Any, clustering: SubspaceClustering) -> float:
    if clustering.n_clusters == 0:
        return 0.0
    bits = description_length(X, clustering)
    return bits.null - bits.total


def _result(rows: list[_Searched], name: str, null: str, failures: tuple[str, ...]) -> Significance:
    # Statistics of one kind have one unit, so that searches can be compared; kinds can't.
    kinds = np.array([row.whole for row in rows]).transpose(1, 0, 2)
    by_run = np.max([robust_scale(kind)(kind) for kind in kinds], axis=0)
    maxima = by_run.max(axis=1)
    empty = np.array([all(len(one.gain) == 0 for one in run) for run in rows[0].scores])
    run_p_values = np.where(empty, 1.0, max_statistic_test(by_run[0], maxima[1:]))
    largest = np.array([row.largest for row in rows])
    statistics = tuple(np.concatenate([one.statistic for one in run]) for run in rows[0].scores)
    scale = robust_scale(largest)
    cluster_null = scale(largest)[1:].max(axis=1)
    scaled = tuple(
        (values - scale.centre[run]) / scale.width[run] for run, values in enumerate(statistics)
    )
    return Significance(
        p_value=float(run_p_values.min()),
        run_p_values=run_p_values,
        cluster_p_values=tuple(max_statistic_test(one, cluster_null) for one in scaled),
        clusterings=rows[0].clusterings,
        cluster_statistics=statistics,
        observed=float(maxima[0]),
        null=maxima[1:],
        cluster_observed=scaled,
        cluster_null=cluster_null,
        statistic=name,
        null_kind=null,
        failures=failures,
    )
