"""How tasks become jobs and jobs runs, worked out by hand."""

from __future__ import annotations

import os
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subscape import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.finders import PROCLUS
from subscape.parallel.local import Lost
from subscape.parallel.threads import _blas_libraries
from subscape.runs import RunStore, Task
from subscape.runs import execution as done
from subscape.runs.identity import fingerprint

X = np.arange(24.0).reshape(6, 4)


class Finder(BaseEstimator):
    """Finds two halves, warns, says what it saw, or fails."""

    seen: list = []  # noqa: RUF012

    def __init__(self, random_state=None, fault=None, several=False):
        self.random_state = random_state
        self.fault = fault
        self.several = several

    def fit(self, X, y=None):
        self.seen.append((np.array(X), self.random_state, {b.num_threads for b in LIBRARIES}))
        warnings.warn("b", stacklevel=1)
        warnings.warn("a", RuntimeWarning, stacklevel=1)
        if self.fault is not None:
            raise self.fault
        found = SubspaceClustering.from_labels(np.arange(len(X)) % 2, n_features=X.shape[1])
        self.clustering_ = found
        if self.several:
            self.clusterings_ = [found, found.select([1])]
        return self


LIBRARIES = _blas_libraries()


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(Finder, "seen", [])


def job(repeatable=False, **task):
    finder = task.pop("finder", Finder())
    return done.prepared([Task(finder, task.pop("X", X), **task)], repeatable)[0]


def fitted(home=None, **task):
    made = job(**task)
    return done._perform(made, made.X, os.getpid() if home is None else home)


# -- made ready -----------------------------------------------------------------------------------


def test_what_is_known_before_a_run():
    run = job(rows=[5, 1, 3], columns=[2, 0], seed=7, note={"why": 1}).run
    told = run.provenance
    assert (told["seed"], told["sampled_rows"], told["sampled_columns"]) == (7, 3, 2)
    assert told["table"] == fingerprint(X) and told["finder"].endswith("Finder")
    assert told["parameters"]["random_state"] == 7 and told["score"] is None
    assert run.rows.tolist() == [5, 1, 3] and run.columns.tolist() == [2, 0]
    assert (run.shape, run.feature_names, run.note) == ((6, 4), None, {"why": 1})
    assert (run.clusterings, run.scores, run.warnings, run.error) == ((), {}, (), None)
    assert not run.is_restored and run.seconds == 0
    plain = job(seed=7).run.provenance
    assert plain["sampled_rows"] is plain["sampled_columns"] is None
    assert job().run.provenance["seed"] is None


def test_a_table_is_read_once_for_all_its_tasks(monkeypatch):
    asked = []
    monkeypatch.setattr(done, "fingerprint", lambda *given: asked.append(given) or "print")
    jobs = done.prepared([Task(Finder(), X, seed=s) for s in range(3)], True)
    assert len(asked) == 1 and jobs[0].X is jobs[2].X
    assert len({each.run.id for each in jobs}) == 3
    frame = pd.DataFrame(X, columns=list("abcd"))
    (named,) = done.prepared([Task(Finder(), frame, seed=1)], True)
    assert named.library == "pandas" and named.run.feature_names == tuple("abcd")
    assert jobs[0].library is None


def test_tasks_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="entry 1 is a str, not a Task"):
        done.prepared([Task(Finder(), X), "b"], False)


def test_runs_without_a_seed_are_told_apart_by_their_place():
    tasks = [Task(Finder(), X), Task(Finder(), X)]
    first, second = (each.run.id for each in done.prepared(tasks, False))
    assert first != second
    assert [first, second] == [each.run.id for each in done.prepared(tasks, False)]
    with pytest.raises(SubscapeError, match=r"task 1 \(.*Finder\) has random_state=None, so"):
        done.prepared([Task(Finder(), X, seed=3), Task(Finder(), X)], True)
    # One without a random_state needs none, and its seed makes no other run.
    ids = {done.prepared([Task(StandardScaler(), X, seed=s)], True)[0].run.id for s in (1, 2)}
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("given", "known"),
    [(None, None), ([3, 0], [3, 0]), (np.array([True, False] * 3), [0, 2, 4]), ([5], [5]),
     (np.array([1, 2], np.uint8), [1, 2])],
)  # fmt: skip
def test_samples_are_places(given, known):
    found = done._sample(given, 6, "rows", 4)
    assert (None if found is None else found.tolist()) == known
    assert found is None or found.dtype == np.int64


@pytest.mark.parametrize(
    "given", [[], [6], [-1, 2], [0.5], [[1, 2]], "ab", np.array([True, False]), np.zeros(6, bool)]
)
def test_samples_outside_the_table_are_refused(given):
    with pytest.raises(SubscapeError, match="the rows of task 4 must be positions from 0 to 5"):
        done._sample(given, 6, "rows", 4)


def test_samples_that_name_a_row_twice_are_refused():
    with pytest.raises(SubscapeError, match="the columns of task 2 name some columns twice"):
        done._sample([1, 1], 6, "columns", 2)


# -- done -----------------------------------------------------------------------------------------


def test_a_run_sees_its_sample_with_its_seed():
    run = fitted(rows=[5, 1, 3], columns=[2, 0], seed=7)
    ((seen, seed, _),) = Finder.seen
    np.testing.assert_array_equal(seen, X[[5, 1, 3]][:, [2, 0]])
    assert seed == 7 and run.error is None and run.seconds > 0
    assert run.clusterings[0].labels().tolist() == [0, 1, 0]
    assert run.warnings == ("RuntimeWarning: a", "UserWarning: b")
    assert run.in_table()[0].labels().tolist() == [-1, 1, -1, 0, -1, 0]


def test_in_another_process_there_is_one_thread():
    run = fitted(home=-1)
    assert run.error is None and Finder.seen[0][2] == {1}
    assert run.clusterings[0].n_clusters == 2


def test_scores_are_of_the_sample_and_the_first_clustering():
    def score(part, clustering):
        return {"rows": len(part), "clusters": np.float32(clustering.n_clusters)}

    run = fitted(finder=Finder(several=True), rows=[0, 2, 4], score=score)
    assert run.scores == {"rows": 3.0, "clusters": 2.0}
    assert all(type(value) is float for value in run.scores.values())
    assert [c.n_clusters for c in run.clusterings] == [2, 1]


@pytest.mark.parametrize(
    ("fault", "said"),
    [(ValueError("no"), "ValueError: no"), (KeyError(), "KeyError")],
)
def test_faults_are_part_of_the_run(fault, said):
    run = fitted(finder=Finder(fault=fault))
    assert (run.error, run.clusterings, run.scores) == (said, (), {})
    assert run.warnings == ("RuntimeWarning: a", "UserWarning: b")

    def score(part, clustering):
        raise fault

    run = fitted(score=score)
    assert (run.error, run.clusterings) == (said, ())


@pytest.mark.parametrize(("seed", "who"), [(None, "Finder"), (3, "Finder with seed 3")])
def test_a_run_whose_worker_is_lost(seed, who):
    run = done._failed(job(seed=seed), Lost(2, "the process"))
    assert run.error.startswith(f"LostWorkerError: {who}: the process was killed twice")
    assert run.error.endswith("; retry_failed=True does the run again")


@pytest.mark.filterwarnings("ignore:[ab]$")
def test_what_estimators_found():
    labels = [0, 0, 1, -1]
    clustering = SubspaceClustering.from_labels(labels, n_features=3)
    table = np.zeros((4, 3))
    several = SimpleNamespace(clusterings_=[clustering, clustering], clustering_=None)
    assert done.clusterings_of(several, table) == (clustering, clustering)
    assert done.clusterings_of(SimpleNamespace(clustering_=clustering), table) == (clustering,)
    for plain in (SimpleNamespace(labels_=labels), SimpleNamespace(predict=lambda X: labels)):
        (found,) = done.clusterings_of(plain, table)
        assert found.labels().tolist() == labels and found.n_features == 3
    pipeline = make_pipeline(StandardScaler(), KMeans(2, n_init=1, random_state=0)).fit(X)
    (found,) = done.clusterings_of(pipeline, X)
    assert found.labels().tolist() == pipeline[-1].labels_.tolist() and found.n_features == 4
    pipeline = make_pipeline(StandardScaler(), Finder()).fit(X)
    assert done.clusterings_of(pipeline, X)[0].shape == (6, 4)


def test_results_have_the_names_of_the_sample():
    clustering = SubspaceClustering.from_labels([0, 1], n_features=2)
    run = SimpleNamespace(feature_names=("a", "b", "c"), columns=np.array([2, 0]))
    assert done._named((clustering,), run)[0].feature_names == ("c", "a")
    run.feature_names = None
    assert done._named((clustering,), run)[0] is clustering


# -- kept -----------------------------------------------------------------------------------------


def test_a_kept_run_comes_back_field_by_field(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    run = fitted(
        X=frame, rows=[5, 1, 3], columns=[2, 0], seed=7, note={"k": 2},
        score=lambda part, clustering: {"a": 0.5, "inf": np.inf},
    )  # fmt: skip
    store = RunStore(tmp_path / "deep" / "er")
    assert store.write(run) == store.path(run.id) and run.id in store and len(store) == 1
    again = store.read(run.id)
    for name in ("id", "seconds", "scores", "warnings", "error", "provenance", "shape",
                 "feature_names", "note"):  # fmt: skip
        assert getattr(again, name) == getattr(run, name), name
    assert again.clusterings == run.clusterings and again.is_restored
    assert again.rows.tolist() == [5, 1, 3] and again.columns.tolist() == [2, 0]
    assert again.rows.dtype == np.int64
    assert [each.id for each in store] == store.ids() == [run.id]
    whole = fitted(finder=PROCLUS(2, avg_dims=2, n_init=1), seed=1)
    again = store.read(store.write(whole).stem)
    assert again.rows is again.columns is again.feature_names is None and len(store) == 2


@pytest.mark.parametrize("name", ["", "xyz", "../abc", "ABC"])
def test_what_is_no_name_of_a_run(tmp_path, name):
    with pytest.raises(SubscapeError, match="is no name of a run"):
        RunStore(tmp_path).path(name)


def test_a_run_in_words():
    run = fitted(seed=7)
    assert repr(run).startswith(f"Run({run.id[:8]}: Finder, 0.")
    assert repr(run).endswith(f", {run.clusterings[0]!r})") and run.ok
    failed = fitted(finder=Finder(fault=ValueError("no")))
    assert repr(failed).endswith(" s, ValueError: no)") and not failed.ok
    assert failed.clustering is None and run.clustering is run.clusterings[0]
    assert repr(job().run).endswith("0.00 s, not done)")
