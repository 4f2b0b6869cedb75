from __future__ import annotations

import threading
import time
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.validation.finders import Halves, KilledOnce, rows_and_seed

from subscape.core.errors import FileFormatError
from subscape.datasets import planted_axes
from subscape.finders import ITCC, LAC, PROCLUS
from subscape.parallel.recorded_warnings import recorded_warnings
from subscape.runs import Run, RunStore, Task, fingerprint, run_all

X = planted_axes(90, 6, n_clusters=3, dims=3, random_state=5).X


def contents(run: Run):
    """Everything of a run but how long it took and where it came from."""
    return (run.id, run.clusterings, run.scores, run.warnings, run.error, run.provenance, run.shape)


def some_tasks():
    rng = np.random.default_rng(0)
    rows = [np.sort(rng.choice(90, 60, replace=False)) for _ in range(3)]
    return [
        *(Task(PROCLUS(n_clusters=3), X, rows=r, columns=[0, 2, 3, 5], seed=1) for r in rows),
        Task(LAC(n_clusters=3), X, seed=4),
        Task(Halves(fault="raise", where=2), X, seed=2),
        Task(Halves(fault="warn", where=3), X, seed=3),
    ]


def test_results_come_in_the_order_of_the_tasks_whatever_does_them(tmp_path):
    alone = [contents(run) for run in run_all(some_tasks())]
    assert [entry[4] for entry in alone] == [None] * 4 + ["RuntimeError: no luck", None]
    assert alone[5][3] == ("UserWarning: hm",)
    assert [c.shape for entry in alone[:3] for c in entry[1]] == [(60, 4)] * 3
    assert [contents(run) for run in run_all(some_tasks(), n_jobs=2)] == alone
    with joblib.parallel_config(backend="threading"):
        assert [contents(run) for run in run_all(some_tasks(), n_jobs=3)] == alone
    assert [contents(run) for run in run_all(some_tasks(), tmp_path, n_jobs=2)] == alone
    again = run_all(some_tasks(), tmp_path)
    assert [contents(run) for run in again] == alone
    assert all(run.is_restored for run in again)


def test_runs_on_a_dask_cluster_are_the_same():
    alone = [contents(run) for run in run_all(some_tasks())]
    with warnings.catch_warnings():
        # Of the cluster itself: ports in use, sockets closed late.
        warnings.simplefilter("ignore")
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
            ) as cluster,
            Client(cluster),
            joblib.parallel_config(backend="dask"),
        ):
            assert [contents(run) for run in run_all(some_tasks())] == alone


def test_a_sample_is_put_back_into_its_table():
    rows, columns = np.array([7, 3, 50, 51, 4, 8]), np.array([4, 1])
    (run,) = run_all([Task(Halves(), X, rows=rows, columns=columns, seed=0)])
    (wide,) = run.in_table()
    assert wide.shape == X.shape
    inner = run.clustering
    for k in range(2):
        assert set(wide.cluster(k).rows) == set(rows[inner.cluster(k).rows])
        assert set(wide.cluster(k).features) == {1, 4}
    low = rows[np.argsort(X[rows, 4])[:3]]
    assert set(wide.cluster(0).rows) == set(low)


def test_names_of_a_data_frame_are_kept(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    task = Task(Halves(), frame, columns=[1, 3], seed=0)
    for _ in range(2):
        (run,) = run_all([task], tmp_path)
        assert run.clustering.feature_names == ("b", "d")
        assert run.in_table()[0].feature_names == tuple("abcdef")
    other = frame.rename(columns={"b": "B"})
    assert run_all([Task(Halves(), other, columns=[1, 3], seed=0)])[0].id != run.id


def test_everything_that_matters_is_in_the_id():
    def name(finder=None, table=X, **task):
        return run_all([Task(finder or Halves(), table, **({"seed": 0} | task))])[0].id

    base = name()
    assert name(Halves(n_jobs=2)) == base
    assert name(table=X.copy()) == base
    assert name(table=np.asfortranarray(X)) == base
    assert name(note={"a": 1}) == base
    other = [
        name(Halves(n_clusters=3)),
        name(KMeans(2)),
        name(seed=1),
        name(rows=np.arange(89)),
        name(rows=np.arange(90)[::-1]),
        name(columns=np.arange(5)),
        name(table=X.astype(np.float32)),
        name(table=np.where(X.max() == X, X + 1e-9, X)),
        name(score=rows_and_seed),
    ]
    assert len({base, *other}) == len(other) + 1


def test_version_and_kernels_are_in_the_id(monkeypatch):
    first = run_all([Task(Halves(), X, seed=0)])[0]
    assert first.provenance["kernels"] in {"cython", "numpy", "mixed"}
    monkeypatch.setattr(
        "subscape.runs.execution.environment", lambda: {"version": "9", "kernels": "numpy"}
    )
    assert run_all([Task(Halves(), X, seed=0)])[0].id != first.id


def test_parameters_of_any_type_have_a_stable_name():
    def name(value):
        return run_all([Task(Halves(fault=value), X, seed=1)])[0].id

    values = [
        np.array([1, 2]), np.array([1, 3]), [1, 2], {"a": 1}, {1, 2}, max, PROCLUS,
        PROCLUS(n_clusters=2), PROCLUS(n_clusters=3), partial(max, 1), sparse.eye_array(2).tocsr(),
    ]  # fmt: skip
    names = [name(value) for value in values]
    assert len(set(names)) == len(values)
    assert names == [name(value) for value in values]


def test_scores_come_back_also_if_json_has_no_word_for_them(tmp_path):
    task = Task(Halves(), X, rows=np.arange(40), seed=0, score=rows_and_seed)
    for _ in range(2):
        (run,) = run_all([task], tmp_path)
        assert run.scores["rows"] == 40
        assert np.isnan(run.scores["nan"])
        assert run.scores["inf"] == np.inf


def test_estimators_of_others_and_sparse_tables():
    runs = run_all(
        [
            Task(KMeans(3, n_init=1), X, seed=0),
            Task(GaussianMixture(3), X, seed=0),
            Task(make_pipeline(StandardScaler(), KMeans(3, n_init=1)), X, seed=0),
            Task(make_pipeline(StandardScaler(), PROCLUS(3)), X, seed=0),
            Task(make_pipeline(PCA(2), PROCLUS(3)), X, seed=0),
            Task(ITCC(2, 2), sparse.csr_array(np.abs(X)), rows=np.arange(50), seed=0),
        ]
    )
    assert [run.error for run in runs] == [None] * 6
    assert [run.clustering.n_clusters for run in runs] == [3, 3, 3, 3, 3, 4]
    assert not runs[3].clustering.subspaces.masks.all()
    assert runs[4].clustering.shape == X.shape
    assert runs[5].shape == X.shape
    assert runs[5].clustering.n_rows == 50


def test_the_same_run_is_done_once_and_keeps_both_notes(tmp_path):
    steps = []
    tasks = [Task(Halves(), X, seed=0, note={"i": i}) for i in range(3)]
    runs = run_all(tasks, tmp_path, progress=steps.append)
    assert [run.note for run in runs] == [{"i": 0}, {"i": 1}, {"i": 2}]
    assert [(step.message, step.done, step.total) for step in steps] == [("Halves", 1, 1)]
    assert len(RunStore(tmp_path)) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_whole_files_and_the_next_call_goes_on(tmp_path, n_jobs):
    fault = f"interrupt after {tmp_path}"
    tasks = [Task(Halves(fault=fault, where=6), X, seed=s) for s in range(9)]
    with pytest.raises(KeyboardInterrupt):
        run_all(tasks, tmp_path, n_jobs=n_jobs)
    store = RunStore(tmp_path)
    assert 1 <= len(store) <= 8
    assert {path.name for path in store.runs_folder.iterdir()} == {
        f"{name}.subscape" for name in store.ids()
    }
    assert all(run.ok for run in store)
    before = store.ids()
    rest = run_all([task for task in tasks if task.seed != 6], tmp_path)
    assert sum(run.is_restored for run in rest) == len(before)
    assert len(store) == 8


def test_a_killed_worker_is_tried_again(tmp_path):
    marker = str(tmp_path / "killed")
    tasks = [Task(KilledOnce(fault=marker, where=3), X, seed=s) for s in range(8)]
    runs = run_all(tasks, tmp_path / "store", n_jobs=2)
    assert all(run.ok for run in runs)
    assert len(RunStore(tmp_path / "store")) == 8


def test_a_run_that_kills_its_worker_twice_has_failed_and_no_other(tmp_path):
    tasks = [Task(Halves(fault="kill", where=3), X, seed=s) for s in range(8)]
    runs = run_all(tasks, tmp_path, n_jobs=2)
    assert [run.ok for run in runs] == [s != 3 for s in range(8)]
    assert "killed twice" in runs[3].error
    assert runs[3].clustering is None
    again = run_all(tasks, tmp_path)
    assert [contents(run) for run in again] == [contents(run) for run in runs]


def test_failed_runs_are_kept_and_done_again_on_demand(tmp_path):
    task = Task(Halves(fault="raise", where=0), X, seed=0)
    assert not run_all([task], tmp_path)[0].is_restored
    assert run_all([task], tmp_path)[0].is_restored
    (again,) = run_all([task], tmp_path, retry_failed=True)
    assert not again.is_restored
    assert again.error == "RuntimeError: no luck"


@pytest.mark.parametrize("damage", ["truncate", "other", "rename"])
def test_a_damaged_file_is_done_again(tmp_path, damage):
    tasks = [Task(Halves(), X, seed=s) for s in range(2)]
    good = run_all(tasks, tmp_path)
    store = RunStore(tmp_path)
    path, other = store.path(good[0].id), store.path(good[1].id)
    if damage == "truncate":
        path.write_bytes(path.read_bytes()[:200])
    elif damage == "other":
        path.write_text("not a file of ours")
    else:
        path.write_bytes(other.read_bytes())
    with pytest.raises(FileFormatError):
        store.read(good[0].id)
    with pytest.warns(UserWarning, match="done again"):
        runs = run_all(tasks, tmp_path)
    assert [run.is_restored for run in runs] == [False, True]
    assert store.read(good[0].id).clusterings == good[0].clusterings


def test_a_run_without_a_seed_is_never_kept(tmp_path):
    with pytest.raises(ValueError, match=r"task 0 .*random_state=None.*seed"):
        run_all([Task(PROCLUS(n_clusters=2), X)], tmp_path)
    first, second = run_all([Task(KMeans(2, n_init=1), X) for _ in range(2)])
    assert first.ok and second.ok
    assert first.id != second.id


@pytest.mark.parametrize(
    "task, cause",
    [
        (dict(rows=[0, 90]), "rows of task 0 must be positions from 0 to 89"),
        (dict(rows=[]), "at least one"),
        (dict(rows=[-1]), "positions"),
        (dict(columns=[0.5]), "columns"),
        (dict(columns=[1, 1]), "columns twice"),
        (dict(X=[1.0, 2.0]), "2D"),
        (dict(X=[["a"]]), "text"),
    ],
)
def test_bad_tasks_are_refused_before_any_work(task, cause):
    with pytest.raises((ValueError, TypeError), match=cause):
        run_all([Task(**({"finder": Halves(), "X": X, "seed": 0} | task))])


def test_what_is_not_a_task_or_not_a_name_is_refused(tmp_path):
    with pytest.raises(TypeError, match="not a Task"):
        run_all([Halves()])
    with pytest.raises(ValueError, match="no name of a run"):
        RunStore(tmp_path).path("../../etc")
    assert run_all([]) == []


def test_warnings_of_threads_are_kept_apart_and_filters_restored():
    before = warnings.filters[:]
    both = threading.Barrier(2)
    seen = {}

    def work(name):
        with recorded_warnings() as mine:
            both.wait()
            warnings.warn(f"from {name}", RuntimeWarning, stacklevel=1)
            both.wait()
        seen[name] = set(map(str, mine))

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {name: {f"RuntimeWarning: from {name}"} for name in "ab"}
    assert warnings.filters == before


def test_fingerprint_of_a_sparse_table_is_that_of_its_values():
    dense = np.where(X > 0.5, X, 0)
    csr = sparse.csr_array(dense)
    assert fingerprint(csr) == fingerprint(sparse.csr_array(sparse.coo_array(dense)))
    assert fingerprint(csr) != fingerprint(csr * 2)


def test_a_run_says_how_long_it_took():
    began = time.perf_counter()
    (run,) = run_all([Task(LAC(n_clusters=3), X, seed=4)])
    assert 0 < run.seconds <= time.perf_counter() - began
