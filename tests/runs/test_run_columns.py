"""Subspaces that a pipeline found are told in the columns of its table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from tests.validation.finders import Halves

from subscape.datasets import planted_axes
from subscape.finders import LAC, SSPC
from subscape.runs import Task, run_all
from subscape.runs.samples import seen_columns

X, TRUTH = planted_axes(100, 5, n_clusters=2, dims=3, random_state=0)
NAMES = list("abcde")
FRAME = pd.DataFrame(X, columns=NAMES)
TURNED = [4, 2, 0, 1, 3]


def reversed_columns(Z):
    return np.asarray(Z)[:, ::-1]


def masks_by_rows(clustering):
    """Masks in an order that doesn't depend on the numbers of the clusters."""
    order = np.argsort([clustering.cluster(k).rows[0] for k in range(clustering.n_clusters)])
    return clustering.subspaces.masks[order].tolist()


def found(*steps, table=X, **task):
    (run,) = run_all([Task(make_pipeline(*steps, SSPC(2)), table, seed=0, **task)])
    assert run.error is None
    return run.clustering


def in_order(*columns, **more):
    return ColumnTransformer(
        [(f"part{i}", "passthrough", c) for i, c in enumerate(columns)], **more
    )


@pytest.mark.parametrize("table", [X, FRAME])
@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        ["passthrough"],
        [in_order(TURNED)],
        [in_order([4], [1, 3], remainder="passthrough")],
        [in_order(TURNED, verbose_feature_names_out=False), RobustScaler()],
        [in_order(TURNED), in_order(TURNED)],
        [make_pipeline(StandardScaler(), in_order(TURNED))],
        [ColumnTransformer([("a", StandardScaler(), [3, 0]), ("b", RobustScaler(), [4, 1, 2])])],
        [FunctionTransformer(np.arctan)],
        [FunctionTransformer()],
        [SimpleImputer()],
    ],
)  # fmt: skip
def test_columns_in_any_order_are_put_back(steps, table):
    clustering = found(*steps, table=table)
    assert masks_by_rows(clustering) == masks_by_rows(TRUTH)
    assert clustering.feature_names == (tuple(NAMES) if table is FRAME else None)


def test_columns_left_out_are_irrelevant():
    wide = np.column_stack([np.zeros(100), X, np.ones(100)])
    expected = [[False, *mask, False] for mask in masks_by_rows(TRUTH)]
    assert masks_by_rows(found(VarianceThreshold(), table=wide)) == expected
    gone = found(in_order([3, 1, 2]))
    assert gone.n_features == 5
    assert not gone.subspaces.masks[:, [0, 4]].any()
    assert gone.subspaces.masks.any()


@pytest.mark.parametrize("names", [NAMES, [f"pca{j}" for j in range(5)]])
@pytest.mark.parametrize(
    "steps",
    [
        [PCA()],
        [PCA(2)],
        [StandardScaler(), PCA(), StandardScaler()],
        [ColumnTransformer([("mixed", PCA(), [0, 1, 2]), ("kept", "passthrough", [3, 4])])],
        [ColumnTransformer([("mixed", PCA(), [0, 1])], verbose_feature_names_out=False)],
        [in_order([0, 1, 2], [1, 3])],
        [FunctionTransformer(reversed_columns)],
        [FeatureUnion([("all", StandardScaler()), ("again", StandardScaler())])],
        [PolynomialFeatures(2, include_bias=False)],
    ],
)
def test_mixed_columns_give_no_feature_a_name(steps, names):
    clustering = found(*steps, table=pd.DataFrame(X, columns=names))
    assert clustering.feature_names == tuple(names)
    assert clustering.n_clusters == 2
    assert clustering.subspaces.masks.all()
    assert found(*steps).subspaces.masks.all()


def test_weights_and_names_go_along():
    pipeline = make_pipeline(in_order(["e", "b"], ["a"]), LAC(2))
    (run,) = run_all([Task(pipeline, FRAME, seed=0)])
    alone = LAC(2, random_state=0).fit(X[:, [4, 1, 0]]).clustering_
    weights = np.zeros((2, 5))
    weights[:, [4, 1, 0]] = alone.subspaces.weights
    assert run.clustering.subspaces.weights.tolist() == weights.tolist()
    assert run.clustering.feature_names == tuple(NAMES)


def test_a_sample_of_the_columns_is_put_back_in_two_steps():
    (run,) = run_all([
        Task(make_pipeline(in_order(["d", "a", "c"]), SSPC(2)), FRAME, columns=[3, 2, 0], seed=0)
    ])  # fmt: skip
    assert run.clustering.feature_names == ("d", "c", "a")
    alone = SSPC(2, random_state=0).fit(FRAME[["d", "a", "c"]]).clustering_
    assert run.clustering.subspaces.masks.tolist() == alone.subspaces.masks[:, [0, 2, 1]].tolist()
    (wide,) = run.in_table()
    assert wide.subspaces.masks[:, [3, 0, 2]].tolist() == alone.subspaces.masks.tolist()


def test_encoded_columns_come_from_no_column_alone():
    codes = np.arange(12).reshape(6, 2) % 3
    assert seen_columns([OneHotEncoder().fit(codes)], 2).tolist() == [-1] * 6
    assert seen_columns([FunctionTransformer(reversed_columns).fit(codes)], 2) is None
    with_missing = np.array([[np.nan, 1.0, np.nan], [np.nan, 2.0, 3.0]])
    filled = SimpleImputer(add_indicator=True)
    with pytest.warns(UserWarning, match="without any observed values"):
        filled.fit_transform(with_missing)
    assert seen_columns([filled], 3).tolist() == [1, 2, -1, -1]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.permutations(range(4)), min_size=1, max_size=3), st.integers(1, 4))
def test_columns_are_followed_by_their_values(orders, kept):
    row = np.arange(4.0)[None]
    steps, moved = [], row
    for order in orders:
        step = in_order(list(order)).fit(moved)
        steps.append(step)
        moved = step.transform(moved)
    last = in_order(list(range(kept))).fit(moved)
    assert seen_columns([*steps, last], 4).tolist() == last.transform(moved)[0].tolist()


def test_an_empty_clustering_stays_empty():
    for columns in (TURNED, [0, 0]):
        pipeline = make_pipeline(in_order(columns), Halves(fault="nothing", where=0))
        (run,) = run_all([Task(pipeline, X, seed=0)])
        assert run.clustering.n_clusters == 0
        assert run.clustering.shape == X.shape


@pytest.mark.parametrize("step", [None, "passthrough", StandardScaler()])
def test_steps_that_leave_columns_where_they_are(step):
    assert seen_columns([step], 3).tolist() == [0, 1, 2]
    assert seen_columns([step, make_pipeline("passthrough")], 2).tolist() == [0, 1]
