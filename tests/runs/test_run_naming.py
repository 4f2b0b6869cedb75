"""Two runs are one run only if all that they were made of is the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, special
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.validation.finders import Halves, clusters_to_the, rows_and_seed

from subscape.core import SubspaceClustering
from subscape.datasets import planted_axes
from subscape.finders import LAC, SSPC
from subscape.runs import RunStore, Task, fingerprint, run_all
from subscape.runs.identity import Naming
from subscape.tables import Table
from subscape.validation import resampling_stability

X, TRUTH = planted_axes(60, 5, n_clusters=2, dims=3, random_state=0)


class Power:
    """A score as an object that holds its setting."""

    def __init__(self, power):
        self.power = power

    def __call__(self, X, clustering):
        return {"value": float(clustering.n_clusters**self.power)}

    def score(self, X, clustering):
        return self(X, clustering)

    @classmethod
    def of_class(cls, X, clustering):
        return {"value": 0.0}

    def __repr__(self):
        return "Power"


class Squared(Power):
    pass


@dataclass(frozen=True)
class Frozen:
    power: int
    values: np.ndarray

    def __call__(self, X, clustering):
        return {"value": float(self.power)}


def closure(power):
    def score(X, clustering):
        return {"value": float(clustering.n_clusters**power)}

    return score


def partials(power):
    return partial(clusters_to_the, power=power)


NAMELESS = {
    "lambda": lambda power: lambda X, c: {"value": float(c.n_clusters**power)},
    "closure": closure,
    "object": Power,
    "bound method": lambda power: Power(power).score,
    "partial of a closure": lambda power: partial(closure(power)),
}


def scores(make, store=None):
    tasks = [Task(Halves(), X, seed=0, score=make(power)) for power in (1, 2, 3)]
    return [run.scores["value"] for run in run_all(tasks, store)]


@pytest.mark.parametrize("make", [partials, *NAMELESS.values()])
def test_each_score_is_that_of_its_own_task(make):
    assert scores(make) == [2.0, 4.0, 8.0]


def test_partials_are_kept_and_known_again(tmp_path):
    assert scores(partials, tmp_path) == [2.0, 4.0, 8.0]
    assert len(RunStore(tmp_path)) == 3
    tasks = [Task(Halves(), X, seed=0, score=partials(power)) for power in (3, 1)]
    runs = run_all(tasks, tmp_path)
    assert all(run.is_restored for run in runs)
    assert [run.scores["value"] for run in runs] == [8.0, 2.0]


@pytest.mark.parametrize("kind", NAMELESS)
def test_what_has_no_name_is_not_kept(tmp_path, kind):
    with pytest.raises(ValueError, match=r"task 0 .*score: .*function or class of a module"):
        scores(NAMELESS[kind], tmp_path)
    task = Task(Halves(fault={"deep": [NAMELESS[kind](2)]}), X, seed=0)
    with pytest.raises(ValueError, match=r"task 0 .*parameter fault of Halves: .*partial"):
        run_all([task], tmp_path)
    assert len(RunStore(tmp_path)) == 0


def test_functions_as_parameters_make_other_runs():
    def first(Z):
        return Z[:, [0]]

    pick = [first, lambda Z: Z[:, [1]], lambda Z: Z[:, [2]]]
    finders = [make_pipeline(FunctionTransformer(f), KMeans(2, n_init=1)) for f in pick]
    runs = run_all([Task(finder, X, seed=0) for finder in finders])
    alone = [KMeans(2, n_init=1, random_state=0).fit(X[:, [j]]).labels_.tolist() for j in range(3)]
    assert [run.clustering.labels().tolist() for run in runs] == alone
    grid = [{"functiontransformer__func": f} for f in pick]
    together = resampling_stability(finders[0], X, grid, n_samples=3, random_state=0).values
    each = [resampling_stability(f, X, n_samples=3, random_state=0).values[0] for f in finders]
    assert together.tolist() == each
    assert len(set(each)) > 1


def test_local_classes_of_one_name_are_not_one_class(tmp_path):
    def make(fewer):
        class Local(Halves):
            def fit(self, X, y=None):
                self.n_clusters -= fewer
                return super().fit(X)

        return Local(4)

    tasks = [Task(make(fewer), X, seed=0) for fewer in (0, 1)]
    assert [run.clustering.n_clusters for run in run_all(tasks)] == [4, 3]
    with pytest.raises(ValueError, match=r"the class .*Local, which no module has"):
        run_all(tasks, tmp_path)


def changed(values, at, to):
    values = values.copy()
    values[at] = to
    return values


MANY = np.arange(3000)
#: Pairs that differ in one place only, too deep for a shortened text.
PAIRS = {
    "array": (MANY, changed(MANY, 1500, -1)),
    "array of objects": (np.array([1, "a"], object), np.array([1, "b"], object)),
    "array of dates": (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-02"], "M8[D]")),
    "scalar array": (np.array(1), np.array([1])),
    "masked array": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "sparse": (sparse.csr_array(np.eye(3)), sparse.csr_array(2 * np.eye(3))),
    "Series": (pd.Series(MANY), pd.Series(changed(MANY, 1500, -1))),
    "index of a Series": (pd.Series(MANY), pd.Series(MANY, index=MANY[::-1])),
    "nullable Series": (pd.Series([1, None], dtype="Int64"), pd.Series([1, 2], dtype="Int64")),
    "DataFrame": (
        pd.DataFrame(MANY.reshape(300, 10)),
        pd.DataFrame(changed(MANY, 1500, -1).reshape(300, 10)),
    ),
    "columns": (pd.DataFrame({"a": [1], "b": [1]}), pd.DataFrame({"a": [1], "c": [1]})),
    "polars Series": (pl.Series("a", MANY), pl.Series("a", changed(MANY, 1500, -1))),
    "polars DataFrame": (pl.DataFrame({"a": ["x", "y"]}), pl.DataFrame({"a": ["x", "z"]})),
    "Arrow table": (pa.table({"a": MANY}), pa.table({"a": changed(MANY, 1500, -1)})),
    "Table": (Table.from_array(X), Table.from_array(X + 1)),
    "clustering": (TRUTH, TRUTH.select([1, 0])),
    "subspaces": (
        SubspaceClustering.from_labels([0, 1], masks=[[1, 0], [0, 1]]),
        SubspaceClustering.from_labels([0, 1], masks=[[1, 1], [0, 1]]),
    ),
    "keys": ({1: 2}, {"1": 2}),
    "keys that look like ours": ({1, 2}, {"set": [1, 2]}),
    "partial": (partial(max, 1), partial(max, 2)),
    "function of a partial": (partial(max, 1), partial(min, 1)),
    "dataclass": (Frozen(1, MANY), Frozen(1, changed(MANY, 1500, -1))),
    "ufunc": (np.log, np.log1p),
    "special function": (special.expit, special.logit),
    "date": (date(2020, 1, 1), np.datetime64("2020-01-02")),
    "path": (Path("a"), Path("b")),
    "complex": (1j, 2j),
    "method of a class": (Power.of_class, Power.score),
    "LAC": (LAC(init=MANY[:4].reshape(2, 2)), LAC(init=MANY[1:5].reshape(2, 2))),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_names_differ_where_things_differ(kind):
    naming = Naming()
    one, other, again = (
        json.dumps(naming.of(value), sort_keys=True) for value in (*PAIRS[kind], PAIRS[kind][0])
    )
    assert one != other
    assert one == again
    assert naming.unnamed == []
    assert "0x" not in one


def test_the_provenance_of_a_clustering_is_no_part_of_its_name():
    told = TRUTH.with_names(provenance={"seconds": 3})
    assert Naming().of(told) == Naming().of(TRUTH)


@pytest.mark.parametrize(
    "thing",
    [object(), Power(1), Power(1).score, [].append, np.frompyfunc(abs, 1, 1), Squared.of_class],
)
def test_things_without_a_name_are_told(thing):
    naming = Naming()
    told = json.dumps(naming.of(thing, "here"))
    assert len(naming.unnamed) == 1
    assert naming.unnamed[0].startswith("here: ")
    assert "0x" not in told
    if type(thing) is object:
        assert naming.unnamed == ["here: an object of class object"]


def test_labels_as_a_series_make_other_runs():
    labels = TRUTH.labels()
    given = [pd.Series(np.full(60, -1)) for _ in range(2)]
    given[0][25:28], given[1][30:33] = labels[25:28], 1 - labels[30:33]
    tasks = [
        Task(SSPC(2, labelled_rows=one, pin_labels=True, n_init=1), X, seed=0) for one in given
    ]
    first, second = run_all(tasks)
    assert first.id != second.id
    assert second.clustering.labels()[30:33].tolist() == given[1][30:33].tolist()


def test_fingerprints_of_objects_are_those_of_their_values():
    values = np.array([[1, "a"], [None, 2.5]], object)
    again = np.array(json.loads(json.dumps(values.tolist())), object)
    assert fingerprint(values) == fingerprint(again)
    assert fingerprint(values) != fingerprint(values.T)


def test_ids_of_ordinary_runs_stay_as_they_are(monkeypatch):
    # Otherwise nothing in the folders that people have would be found again.
    fixed = {"version": "1", "kernels": "numpy"}
    monkeypatch.setattr("subscape.runs.execution.environment", lambda: fixed)
    finder = Halves(fault={"a": [1, (2.5, None)], "b": {"x"}}, where=np.arange(3))
    table = np.arange(12.0).reshape(4, 3)
    (run,) = run_all([Task(finder, table, rows=[0, 1, 3], seed=7, score=rows_and_seed)])
    assert run.id == "3f4ad7ecf94fb97e1991276c"
