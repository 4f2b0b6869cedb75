"""Many fits, in parallel, each kept in a file of its own as soon as it is done."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from subscape.core.errors import FileFormatError, SubscapeError
from subscape.files.archive import read_archive, save
from subscape.parallel.progress import Watch
from subscape.tables.readers.boundary import guarded

from .execution import performed, prepared
from .task import Run, Score, Task

__all__ = ["Run", "RunStore", "Score", "Task", "run_all"]


class RunStore:
    """A folder of finished runs, one file each, complete or not there.

    Parameters
    ----------
    folder : path
        Made if it isn't there. Runs are in ``runs/<id>.subscape`` below it.

    See Also
    --------
    run_all : Keeps its runs in one.

    Examples
    --------
    >>> import tempfile
    >>> from subscape.finders import PROCLUS
    >>> from subscape.datasets import planted_axes
    >>> from subscape.runs import RunStore, Task, run_all
    >>> X, truth = planted_axes(100, 8, n_clusters=2, dims=4, random_state=0)
    >>> store = RunStore(tempfile.mkdtemp())
    >>> tasks = [Task(PROCLUS(n_clusters=2), X, seed=s) for s in range(3)]
    >>> [run.is_restored for run in run_all(tasks[:2], store)]
    [False, False]
    >>> [run.is_restored for run in run_all(tasks, store)]
    [True, True, False]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.runs_folder = self.folder / "runs"
        self.runs_folder.mkdir(parents=True, exist_ok=True)

    def path(self, run_id: str) -> Path:
        """Where a run is or would be.

        Returns
        -------
        Path
        """
        if not run_id or not all(letter in "0123456789abcdef" for letter in run_id):
            raise SubscapeError(f"{run_id!r} is no name of a run")
        return self.runs_folder / f"{run_id}.subscape"

    def ids(self) -> list[str]:
        """Names of the runs that are here, sorted.

        Returns
        -------
        list of str
        """
        return sorted(path.stem for path in self.runs_folder.glob("[0-9a-f]*.subscape"))

    def __contains__(self, run_id: str) -> bool:
        return self.path(run_id).exists()

    def __len__(self) -> int:
        return len(self.ids())

    def __iter__(self) -> Iterator[Run]:
        return (self.read(run_id) for run_id in self.ids())

    def write(self, run: Run) -> Path:
        """Keep a run; one that is there already is replaced, at once.

        Returns
        -------
        Path
            Where it is kept.
        """
        record = {
            "id": run.id,
            "seconds": run.seconds,
            "scores": {name: _as_text(value) for name, value in run.scores.items()},
            "warnings": run.warnings,
            "error": run.error,
            "provenance": run.provenance,
            "rows": None if run.rows is None else run.rows.tolist(),
            "columns": None if run.columns is None else run.columns.tolist(),
            "shape": run.shape,
            "feature_names": run.feature_names,
            "note": run.note,
        }
        return save(self.path(run.id), run.clusterings, metadata={"run": record}, force=True)

    def read(self, run_id: str) -> Run:
        """A run that was kept; refused with the reason if its file is damaged.

        Returns
        -------
        Run
        """
        path = self.path(run_id)
        clusterings, manifest = read_archive(path)
        with guarded(path.name, "run", "it is done again by --resume"):
            record = manifest["metadata"]["run"]
            if record["id"] != run_id:
                raise FileFormatError(f"{path.name} holds the run {record['id']!r}")
            sample = {
                side: None if record[side] is None else np.array(record[side], np.int64)
                for side in ("rows", "columns")
            }
            return Run(
                id=run_id,
                clusterings=tuple(clusterings),
                seconds=float(record["seconds"]),
                scores={name: float(value) for name, value in record["scores"].items()},
                warnings=tuple(record["warnings"]),
                error=record["error"],
                provenance=record["provenance"],
                shape=(int(record["shape"][0]), int(record["shape"][1])),
                feature_names=record["feature_names"] and tuple(record["feature_names"]),
                note=record["note"],
                is_restored=True,
                **sample,
            )


def _as_text(value: float) -> float | str:
    """Numbers that JSON has no word for, such as NaN, as text that ``float`` reads."""
    return value if np.isfinite(value) else repr(float(value))


def run_all(
    tasks: Sequence[Task],
    store: RunStore | str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[Any], Any] | bool | None = None,
    *,
    retry_failed: bool = False,
) -> list[Run]:
    """Do all fits, in parallel, and return their runs in the order of the tasks.

    A finder that raises or warns stops nothing: errors and warnings are kept with the run. Tasks
    that are the same run are done once. Results don't depend on ``n_jobs`` or on the backend of
    joblib, which may also be a cluster: ``with joblib.parallel_config(backend="dask")``.

    Parameters
    ----------
    tasks : sequence of Task
    store : RunStore or path, optional
        Runs found there are read instead of done; the others are kept there as soon as they are
        done. Whatever interrupts the work leaves whole files only, and the next call goes on.
    n_jobs : int, optional
        Parallel processes (joblib). If a process is killed, the runs that were in it are tried
        once more, each in a process of its own, and count as failed if that is killed too.
    progress : callable, True or None
        Called with a :class:`subscape.parallel.progress.Step` after every run; True shows a bar.
    retry_failed : bool, default=False
        Do those runs again that the store has as failed.

    Returns
    -------
    list of Run

    See Also
    --------
    RunStore : Where runs are kept.
    subscape.validation.resampling_stability : Uses it for samples.

    Examples
    --------
    >>> from subscape.finders import PROCLUS
    >>> from subscape.datasets import planted_axes
    >>> from subscape.runs import Task, run_all
    >>> X, truth = planted_axes(100, 8, n_clusters=2, dims=4, random_state=0)
    >>> found, failed = run_all([Task(PROCLUS(n_clusters=k), X, seed=0) for k in (2, 101)])
    >>> found.clustering
    SubspaceClustering(2 axis-aligned clusters, 100 rows x 8 features, partition)
    >>> failed.error
    'SubscapeError: n_clusters=101 is more than the 100 rows of the table (n_samples=100)'
    """
    kept = RunStore(store) if isinstance(store, (str, os.PathLike)) else store
    jobs = prepared(tasks, kept is not None)
    done: dict[str, Run] = {}
    if kept is not None:
        done = _restored(kept, {job.run.id for job in jobs}, retry_failed)
    missing = {job.run.id: job for job in jobs if job.run.id not in done}
    watch = Watch("runs", progress)
    total = len(done) + len(missing)
    if done:
        watch.step("restored", len(done), total)
    with closing(performed(list(missing.values()), n_jobs)) as finished:
        for run in finished:
            if kept is not None:
                kept.write(run)
            done[run.id] = run
            watch.step(run.provenance["finder"].rpartition(".")[2], len(done), total)
    watch.close()
    # The same run under several tasks differs in their notes only.
    return [replace(done[job.run.id], note=job.run.note) for job in jobs]


def _restored(store: RunStore, wanted: set[str], retry_failed: bool) -> dict[str, Run]:
    done = {}
    for name in sorted(wanted):
        if name not in store:
            continue
        try:
            run = store.read(name)
        except SubscapeError as error:
            warnings.warn(f"a kept run can't be read and is done again: {error}", stacklevel=3)
            continue
        if run.ok or not retry_failed:
            done[name] = run
    return done
