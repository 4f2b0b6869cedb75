"""What a finder knows of rows and columns of a table holds in samples of it too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.validation.finders import Halves

from subscape.core import SubspaceClustering
from subscape.datasets import planted_axes
from subscape.finders import SSPC
from subscape.runs import RunStore, Task, run_all
from subscape.runs.samples import frame_library
from subscape.tables import Table
from subscape.validation import resampling_stability

X, TRUTH = planted_axes(120, 8, n_clusters=3, dims=3, random_state=0)
LABELS = TRUTH.labels()
NAMES = list("abcdefgh")
FRAME = pd.DataFrame(X, columns=NAMES)
ROWS = np.random.default_rng(3).permutation(120)[:70]
COLUMNS = np.array([7, 2, 5, 0, 3, 1])


class Told(BaseEstimator):
    """Records what a run made of its parameters: known rows and features become clusters."""

    _row_parameters = ("known_rows",)
    _feature_parameters = ("known_features",)

    def __init__(self, known_rows=None, known_features=None):
        self.known_rows = known_rows
        self.known_features = known_features

    def parameters_in_sample(self, shape, feature_names=None, rows=None, columns=None):
        assert shape == (120, 8)
        told = {}
        if rows is not None:
            told["known_rows"] = np.flatnonzero(np.isin(rows, self.known_rows))
        if columns is not None:
            told["known_features"] = np.flatnonzero(np.isin(columns, self.known_features))
        return told

    def fit(self, X, y=None):
        known = [(self.known_rows, self.known_features)]
        self.clustering_ = SubspaceClustering.from_clusters(known, X.shape)
        return self


def known_rows(per_cluster=8):
    return {k: TRUTH.cluster(k).rows[-per_cluster:] for k in range(3)}


def fitted_by_hand(table, **parameters):
    return SSPC(3, n_init=1, random_state=0, **parameters).fit(table).clustering_


def one_run(finder, table=X, **task):
    (run,) = run_all([Task(finder, table, seed=0, **task)])
    assert run.error is None
    return run


def test_rows_and_features_are_those_of_the_table():
    known, features = [ROWS[3], ROWS[50], 0], [7, 3, 4]
    run = one_run(Told(known, features), rows=ROWS, columns=COLUMNS)
    cluster = run.in_table()[0].cluster(0)
    assert set(cluster.rows) == {*known} & {*ROWS}
    assert set(cluster.features) == {7, 3}
    whole = one_run(Told(known, features)).clustering.cluster(0)
    assert set(whole.rows) == {*known}
    assert set(whole.features) == {*features}


@pytest.mark.parametrize("as_labels", [False, True])
def test_labelled_rows_are_carried_to_a_sample(as_labels):
    # Wrong labels, so that nothing but the labels can put these rows into these clusters.
    wrong = {k: rows[rows != 0] for k, rows in known_rows().items()}
    wrong = {(k + 1) % 3: rows for k, rows in wrong.items()}
    labels = np.full(120, -1)
    for k, rows in wrong.items():
        labels[rows] = k
    given = labels if as_labels else wrong
    finder = SSPC(3, labelled_rows=given, pin_labels=True, n_init=1)
    run = one_run(finder, rows=ROWS)
    pinned = labels[ROWS] >= 0
    assert pinned.sum() > 5
    assert run.clustering.labels()[pinned].tolist() == labels[ROWS][pinned].tolist()
    by_hand = fitted_by_hand(X[ROWS], labelled_rows=labels[ROWS], pin_labels=True)
    assert run.clustering == by_hand
    assert finder.labelled_rows is given
    # The whole table needs no translation.
    whole = one_run(finder).clustering
    assert whole == fitted_by_hand(X, labelled_rows=labels, pin_labels=True)


def test_a_sample_without_any_labelled_row_is_searched_without_labels():
    rest = np.setdiff1d(np.arange(120), np.concatenate(list(known_rows().values())))
    run = one_run(SSPC(3, labelled_rows=known_rows(), pin_labels=True, n_init=1), rows=rest)
    assert run.clustering == fitted_by_hand(X[rest])


def test_right_labels_never_make_samples_less_stable():
    finder = SSPC(3, labelled_rows=known_rows(), pin_labels=True, n_init=2)
    found = resampling_stability(finder, X, n_samples=3, random_state=0)
    assert found.values.tolist() == [0.0]
    for run in found.runs[0]:
        # Labelled rows fix the numbers of the clusters.
        assert run.clustering.labels().tolist() == LABELS[run.rows].tolist()


def test_labelled_dims_are_carried_to_a_sample_of_the_columns():
    dims = {0: [2, 4], 2: [0, 7]}
    here = {0: [1], 2: [3, 0]}
    given = dict(rows=ROWS, columns=COLUMNS)
    part = X[np.ix_(ROWS, COLUMNS)]
    expected = fitted_by_hand(part, labelled_dims=here)
    assert one_run(SSPC(3, labelled_dims=dims, n_init=1), **given).clustering == expected
    listed = [[2, 4], [], [0, 7]]
    assert one_run(SSPC(3, labelled_dims=listed, n_init=1), **given).clustering == expected
    named = {k: [NAMES[j] for j in features] for k, features in dims.items()}
    for table in (FRAME, pl.DataFrame(X, schema=NAMES), Table.from_array(X, feature_names=NAMES)):
        run = one_run(SSPC(3, labelled_dims=named, n_init=1), table, **given)
        assert run.clustering == expected.with_names([NAMES[j] for j in COLUMNS])


def test_names_work_in_runs_as_in_fits():
    named = {k: [NAMES[j] for j in TRUTH.cluster(k).features] for k in range(3)}
    run = one_run(SSPC(3, labelled_dims=named, n_init=1), FRAME)
    assert run.clustering == fitted_by_hand(FRAME, labelled_dims=named)
    (failed,) = run_all([Task(SSPC(3, labelled_dims={0: ["nobody"]}), FRAME, seed=0)])
    assert "unknown feature names: 'nobody'" in failed.error


def test_mistakes_are_told_in_positions_of_the_table():
    tasks = [
        Task(SSPC(3, labelled_rows={0: [120]}), X, rows=ROWS, seed=0),
        Task(SSPC(3, labelled_rows=LABELS[:70]), X, rows=ROWS, seed=0),
        Task(SSPC(3, labelled_dims={0: [8]}), X, columns=COLUMNS, seed=0),
        Task(SSPC("three", labelled_rows={0: [1]}), X, rows=ROWS, seed=0),
    ]
    wrong, short, beyond, text = [run.error for run in run_all(tasks)]
    assert "row numbers between 0 and 119" in wrong
    assert "120 whole numbers" in short
    assert "feature 8 lies outside 0..7" in beyond
    assert "'n_clusters' parameter of SSPC must be an int" in text


def test_inside_a_pipeline_rows_are_carried_and_columns_refused():
    known = {(k + 1) % 3: rows for k, rows in known_rows().items()}
    inner = SSPC(3, labelled_rows=known, pin_labels=True, n_init=1, labelled_dims={0: [1, 2]})
    run = one_run(make_pipeline(StandardScaler(), inner), rows=ROWS)
    labels = np.full(120, -1)
    for k, rows in known.items():
        labels[rows] = k
    pinned = labels[ROWS] >= 0
    assert run.clustering.labels()[pinned].tolist() == labels[ROWS][pinned].tolist()
    pipeline = make_pipeline(StandardScaler(), inner)
    (refused,) = run_all([Task(pipeline, X, columns=COLUMNS, seed=0)])
    assert "labelled_dims of SSPC speaks of columns inside a pipeline" in refused.error


def test_columns_taken_by_position_are_refused_in_a_sample_of_the_columns():
    def pipeline(columns, *before):
        part = ColumnTransformer([("part", "passthrough", columns)])
        return make_pipeline(*before, part, KMeans(2, n_init=1))

    given = dict(columns=COLUMNS, seed=0)
    for columns in ([1, 0], slice(0, 2), 1, np.arange(8) < 3):
        for before in ([], [StandardScaler()]):
            (run,) = run_all([Task(pipeline(columns, *before), FRAME, **given)])
            assert "takes the columns of 'part' by position" in run.error
    one_run(pipeline([1, 0]), rows=ROWS)
    one_run(pipeline([1, 0], PCA(2)), columns=COLUMNS)
    run = one_run(pipeline(["a", "c"]), FRAME, columns=COLUMNS)
    labels = KMeans(2, n_init=1, random_state=0).fit(X[:, [0, 2]]).labels_
    assert run.clustering.labels().tolist() == labels.tolist()


@pytest.mark.parametrize("frame", [FRAME, pl.DataFrame(X, schema=NAMES)])
def test_pipelines_get_the_names_of_a_data_frame(frame):
    choice = ColumnTransformer([("some", StandardScaler(), ["g", "b", "c"])])
    for last in (KMeans(3, n_init=1), GaussianMixture(3)):
        pipeline = make_pipeline(choice, last)
        run = one_run(pipeline, frame, rows=ROWS)
        assert run.warnings == ()
        part = FRAME.iloc[ROWS]
        again = clone(pipeline).set_params(**{f"{pipeline.steps[-1][0]}__random_state": 0})
        expected = again.fit(part).predict(part)
        assert run.clustering.labels().tolist() == expected.tolist()


def test_names_change_no_bit_of_a_result():
    pipeline = make_pipeline(StandardScaler(), PCA(3), GaussianMixture(3))
    for table in (FRAME, X):
        run = one_run(pipeline, table, rows=ROWS, score=soft_sum)
        assert run.scores == {"contiguous": 1.0, "array": 1.0}
    labels = [one_run(pipeline, t, rows=ROWS).clustering.labels().tolist() for t in (FRAME, X)]
    assert labels[0] == labels[1]


def soft_sum(part, clustering):
    """A score sees the same array, whatever the finder was given."""
    return {"contiguous": part.flags.c_contiguous, "array": type(part) is np.ndarray}


def test_finders_of_others_still_get_arrays():
    assert one_run(Halves(), FRAME).clustering.feature_names == tuple(NAMES)
    numbered = pd.DataFrame(X)  # names that are no text are no names
    assert one_run(make_pipeline(StandardScaler(), KMeans(2, n_init=1)), numbered).ok


def test_runs_kept_before_labels_were_carried_are_not_taken(tmp_path, monkeypatch):
    labels = np.where(np.arange(120) < 60, LABELS, -1)
    tasks = [
        Task(SSPC(3, labelled_rows=labels, n_init=1), X, rows=ROWS, seed=0),
        Task(SSPC(3, labelled_rows=labels, n_init=1), X, seed=0),
        Task(SSPC(3, n_init=1), X, rows=ROWS, seed=0),
    ]
    with monkeypatch.context() as patch:
        patch.setattr("subscape.runs.execution.speaks_of_table", lambda *_: False)
        run_all(tasks, tmp_path)
    assert [run.is_restored for run in run_all(tasks, tmp_path)] == [False, True, True]
    assert len(RunStore(tmp_path)) == 4


def test_pipelines_get_frames_whose_columns_have_names():
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert frame_library(frame) == "pandas" and frame_library(pl.DataFrame(frame)) == "polars"
    assert frame_library(frame.rename(columns={"b": 1})) is None
    assert frame_library(frame["a"]) is None and frame_library(np.eye(2)) is None
