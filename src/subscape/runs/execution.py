"""Tasks made ready, and done: in this process, in others, or on a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from subscape.core.checks import check_table, column_names
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.types import IntArray
from subscape.parallel.local import Lost, Shared, finished
from subscape.parallel.recorded_warnings import recorded_warnings
from subscape.parallel.threads import one_thread
from subscape.tables.table import Table

from .identity import Naming, class_name, environment, fingerprint, run_id, seeds_of
from .samples import (
    as_given,
    for_sample,
    frame_library,
    in_table_columns,
    is_pipeline,
    sampled_names,
    speaks_of_table,
)
from .task import Run, Score, Task


@dataclass(frozen=True, eq=False)
class Job:
    """A task made ready: its estimator, its table, and the run it will be but for the result."""

    finder: Any
    X: Any
    score: Score | None
    run: Run
    #: Of the data frame that the table was given as.
    library: str | None = None


def prepared(tasks: Sequence[Task], repeatable: bool) -> list[Job]:
    """Jobs in the order of the tasks; what can't be run, or kept, is refused."""
    tables: dict[int, tuple[Any, tuple[str, ...] | None, str]] = {}
    jobs = []
    for i, task in enumerate(tasks):
        if not isinstance(task, Task):
            raise TypeError(f"entry {i} is a {type(task).__name__}, not a Task")
        if id(task.X) not in tables:
            values = task.X.to_numpy() if isinstance(task.X, Table) else task.X
            table = check_table(values, "run_all", sparse=True, missing=True)
            listed = column_names(task.X)
            names = None if listed is None else tuple(listed)
            tables[id(task.X)] = table, names, fingerprint(table, names)
        job = _job(task, *tables[id(task.X)], repeatable, i)
        jobs.append(replace(job, library=frame_library(task.X)))
    return jobs


def _job(
    task: Task, table: Any, names: tuple[str, ...] | None, print_of_table: str,
    repeatable: bool, place: int,
) -> Job:  # fmt: skip
    finder = clone(task.finder)
    seeds = seeds_of(finder)
    if task.seed is not None and seeds:
        finder.set_params(**dict.fromkeys(seeds, int(task.seed)))
        seeds = dict.fromkeys(seeds, int(task.seed))
    loose = [name for name, seed in seeds.items() if not isinstance(seed, (int, np.integer))]
    if loose and repeatable:
        raise SubscapeError(
            f"task {place} ({class_name(finder)}) has {loose[0]}={seeds[loose[0]]!r}, so a kept "
            "run could never be recognised as the same; give the Task a seed"
        )
    rows = _sample(task.rows, table.shape[0], "rows", place)
    columns = _sample(task.columns, table.shape[1], "columns", place)
    naming = Naming()
    provenance = {
        "finder": naming.class_of(finder),
        "parameters": naming.parameters_of(finder),
        "seed": None if task.seed is None else int(task.seed),
        "table": print_of_table,
        "sampled_rows": None if rows is None else len(rows),
        "sampled_columns": None if columns is None else len(columns),
        "score": naming.of(task.score, "score"),
        **environment(),
    }
    if naming.unnamed and repeatable:
        raise SubscapeError(
            f"task {place} ({class_name(finder)}) has something that can't be recognised later, "
            f"so its run can't be kept: {naming.unnamed[0]}; give it as a function or class of a "
            "module, a functools.partial of one, a dataclass or an estimator with get_params"
        )
    identity = {
        **provenance,
        "rows": None if rows is None else fingerprint(rows),
        "columns": None if columns is None else fingerprint(columns),
    }
    if loose or naming.unnamed:
        # Without a seed, or with something that has no name, two runs are never the same run.
        identity["place"] = place
    identity.pop("seed")  # it is among the parameters; a finder without one has no use for it
    run = Run(
        id="", clusterings=(), seconds=0.0, scores={}, warnings=(), error=None,
        provenance=provenance, rows=rows, columns=columns, shape=tuple(table.shape),
        feature_names=names, note=dict(task.note),
    )  # fmt: skip
    # Runs that were kept before these were said of the sample, or of the table, are others.
    if speaks_of_table(finder, run):
        identity["parameters_in"] = "sample"
    if is_pipeline(finder):
        identity["subspaces_in"] = "table"
    return Job(finder, table, task.score, replace(run, id=run_id(identity)))


def _sample(given: ArrayLike | None, size: int, what: str, place: int) -> IntArray | None:
    if given is None:
        return None
    positions = np.asarray(given)
    if positions.dtype == bool and positions.shape == (size,):
        positions = np.flatnonzero(positions)
    sound = positions.ndim == 1 and len(positions) > 0 and positions.dtype.kind in "iu"
    if not sound or positions.min() < 0 or positions.max() >= size:
        raise SubscapeError(
            f"the {what} of task {place} must be positions from 0 to {size - 1}, at least one"
        )
    if len(np.unique(positions)) < len(positions):
        raise SubscapeError(f"the {what} of task {place} name some {what} twice")
    return positions.astype(np.int64)


# -- doing ----------------------------------------------------------------------------------------


def performed(jobs: list[Job], n_jobs: int | None) -> Generator[Run, None, None]:
    """Runs as they are finished, in any order."""
    tables = {id(job.X): Shared(job.X) for job in jobs}
    # The table is an argument of its own, which is sent or mapped only once.
    calls = [(replace(job, X=None), tables[id(job.X)], os.getpid()) for job in jobs]
    with one_thread(), closing(finished(_perform, calls, n_jobs)) as outcomes:
        for i, outcome in outcomes:
            yield _failed(jobs[i], outcome) if isinstance(outcome, Lost) else outcome


def _failed(job: Job, lost: Lost) -> Run:
    name = job.run.provenance["finder"].rpartition(".")[2]
    seed = job.run.provenance["seed"]
    which = name if seed is None else f"{name} with seed {seed}"
    advice = "retry_failed=True does the run again"
    return replace(job.run, error=f"LostWorkerError: {which}: {lost}; {advice}")


def _perform(job: Job, X: Any, home: int) -> Run:
    """Fit; errors and warnings become part of the run."""
    if os.getpid() != home:
        # Sums of several threads may differ in their last bits.
        with one_thread():
            return _fit(job, X)
    return _fit(job, X)


def _fit(job: Job, X: Any) -> Run:
    clusterings: tuple[SubspaceClustering, ...] = ()
    scores: dict[str, float] = {}
    error = None
    part = X
    if job.run.rows is not None:
        part = part[job.run.rows]
    if job.run.columns is not None:
        part = part[:, job.run.columns]
    start = time.perf_counter()
    with recorded_warnings() as seen:
        try:
            finder = for_sample(job.finder, job.run)
            given = as_given(part, finder, job.run, job.library)
            clusterings = _named(clusterings_of(finder.fit(given), given), job.run)
            if job.score is not None:
                scores = {
                    name: float(value) for name, value in job.score(part, clusterings[0]).items()
                }
        except Exception as fault:
            clusterings = ()
            error = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    return replace(
        job.run,
        clusterings=clusterings,
        seconds=time.perf_counter() - start,
        scores=scores,
        warnings=tuple(sorted(map(str, seen))),
        error=error,
    )


def clusterings_of(finder: Any, X: Any) -> tuple[SubspaceClustering, ...]:
    """What a fitted estimator found; labels become clusters over all features."""
    last = finder[-1] if is_pipeline(finder) else None
    if hasattr(last, "clustering_") or hasattr(last, "clusterings_"):
        return in_table_columns(clusterings_of(last, X), finder, X.shape[1])
    several = getattr(finder, "clusterings_", None)
    if several is not None:
        return tuple(several)
    if hasattr(finder, "clustering_"):
        return (finder.clustering_,)
    labels = finder.labels_ if hasattr(finder, "labels_") else finder.predict(X)
    return (SubspaceClustering.from_labels(labels, n_features=X.shape[1]),)


def _named(found: tuple[SubspaceClustering, ...], run: Run) -> tuple[SubspaceClustering, ...]:
    if run.feature_names is None:
        return found
    names = sampled_names(run)
    return tuple(clustering.with_names(feature_names=names) for clustering in found)
