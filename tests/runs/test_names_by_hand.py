"""Names of things part by part, and columns behind transformers, worked out by hand."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from subscape.core import SubspaceClustering
from subscape.runs import fingerprint
from subscape.runs import samples as sampled
from subscape.runs.identity import Naming, class_name, run_id, seeds_of

# -- fingerprints ---------------------------------------------------------------------------------


def digest(*parts):
    made = hashlib.blake2b(digest_size=12)
    for part in parts:
        made.update(part)
    return made.hexdigest()


def head(shape, kind, names=None):
    return json.dumps([*shape, kind, names]).encode()


def test_a_fingerprint_is_a_digest_of_shape_type_names_and_values():
    X = np.arange(6.0).reshape(3, 2)
    assert fingerprint(X) == digest(head((3, 2), "<f8"), X.tobytes())
    assert fingerprint(X.T) == digest(head((2, 3), "<f8"), X.T.copy().tobytes())
    named = fingerprint(X, ("a", "b"))
    assert named == digest(head((3, 2), "<f8", ["a", "b"]), X.tobytes()) and len(named) == 24
    days = np.array(["2020-01-01", "2020-01-03"], dtype="M8[D]")
    assert fingerprint(days) == digest(head((2,), "<M8[D]"), days.view(np.int64).tobytes())
    texts = np.array(["a", None], dtype=object)
    assert fingerprint(texts) == digest(head((2,), "|O"), json.dumps(["'a'", "None"]).encode())
    assert fingerprint(np.empty((0, 2))) == digest(head((0, 2), "<f8"))


def test_large_arrays_are_fed_by_blocks():
    X = np.arange(3.0 * 2**21).reshape(3, -1)  # a row is as large as a block
    assert fingerprint(X) == digest(head(X.shape, "<f8"), X.tobytes())
    assert fingerprint(X[::-1]) == digest(head(X.shape, "<f8"), X[::-1].tobytes())


def test_a_sparse_table_has_one_fingerprint():
    own = sparse.csr_array(([1.0, 2.0, 3.0], [2, 2, 0], [0, 2, 3]), shape=(2, 3))
    known = digest(
        head((2, 3), "<f8"), np.array([0, 1, 2]).tobytes(), np.array([2, 0]).tobytes(),
        np.array([3.0, 3.0]).tobytes(),
    )  # fmt: skip
    assert fingerprint(own) == known == fingerprint(own.tocsc()) == fingerprint(own.tocoo())
    assert own.nnz == 3  # it was not touched


def test_a_run_is_named_by_all_it_is_made_of():
    known = hashlib.blake2b(b'{"a": 1, "b": [2, null]}', digest_size=12).hexdigest()
    assert run_id({"b": [2, None], "a": 1}) == known
    assert class_name(KMeans()) == class_name(KMeans) == "sklearn.cluster._kmeans.KMeans"


def test_seeds_by_their_places():
    both = make_pipeline(PCA(random_state=3), KMeans(random_state=4))
    assert seeds_of(both) == {"kmeans__random_state": 4, "pca__random_state": 3}
    assert seeds_of(StandardScaler()) == {}


def test_parameters_by_their_own_names_alone():
    """Those of an estimator within one are told where it stands, and nowhere else."""
    told = Naming().parameters_of(make_pipeline(StandardScaler(), KMeans(3, n_init=2)))
    assert set(told) <= {"steps", "memory", "transform_input"} and "steps" in told
    (_, scaler), (_, kmeans) = told["steps"]
    assert kmeans["parameters"]["n_clusters"] == 3 and "verbose" not in kmeans["parameters"]
    assert scaler["class"].endswith("StandardScaler")
    naming = Naming()
    assert naming.parameters_of(KMeans(random_state=np.random.default_rng(0)))["random_state"] == (
        "numpy.random._generator.Generator"
    )
    assert naming.parameters_of(KMeans(random_state=3))["random_state"] == 3
    assert naming.unnamed == []


# -- names of values ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    left: int
    right: str


X = np.arange(4.0).reshape(2, 2)


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (None, None), (True, True), (3, 3), ("a", "a"), (np.float64(2.5), 2.5),
        (np.array(7), {"scalar": 7}), ((1, [2]), [1, [2]]),
        (X, {"array": fingerprint(X)}),
        (sparse.csr_array(X), {"array": fingerprint(sparse.csr_array(X))}),
        (np.array([["a", 1]], dtype=object), {"array": [1, 2], "items": ["a", 1]}),
        (np.ma.array([1.0, 2.0], mask=[0, 1], fill_value=9.0),
         {"mask": fingerprint(np.array([False, True])),
          "array": fingerprint(np.array([1.0, 9.0]))}),
        ({"b": 1, "a": (2,)}, {"b": 1, "a": [2]}),
        (OrderedDict([(2, "b"), (1, "a")]), {"items": [[1, "a"], [2, "b"]]}),
        ({3, 1, 2}, {"set": [1, 2, 3]}), (frozenset("ba"), {"set": ["a", "b"]}),
        (Pair(1, "x"), {"class": f"{__name__}.Pair", "of": {"left": 1, "right": "x"}}),
        (partial(max, 3, key=None), {"partial": "builtins.max", "of": [3, {"key": None}]}),
        (np.mean, "numpy.mean"), (KMeans, "sklearn.cluster._kmeans.KMeans"),
    ],
)  # fmt: skip
def test_values_by_what_they_hold(value, known):
    naming = Naming()
    assert naming.of(value) == known and naming.unnamed == []


def test_mappings_that_look_like_names_are_written_out():
    assert Naming().of({"array": 1}) == {"items": [["array", 1]]}
    assert Naming().of({"class": 1, "b": 2}) == {"items": [["b", 2], ["class", 1]]}


def test_data_frames_by_columns_types_values_and_index():
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [3, 4]}, index=["r", "s"])
    told = Naming().of(frame)
    assert told["class"].startswith("pandas") and told["class"].endswith("DataFrame")
    assert told["columns"] == ["a", "b"]
    assert told["values"] == [
        ["float64", {"array": fingerprint(np.array([1.5, 2.5]))}],
        ["int64", {"array": fingerprint(np.array([3, 4]))}],
    ]
    assert "values" in told["index"] and told["index"]["name"] is None
    series = Naming().of(frame["b"])
    assert series["name"] == "b" and series["values"] == told["values"][1]
    assert Naming().of(pd.NA)["is"] == "<NA>"
    other = Naming().of(pl.DataFrame({"a": [1, 2]}))
    assert other["columns"] == [["a", "Int64"]]
    assert other["values"] == [{"array": fingerprint(np.array([1, 2]))}]
    assert Naming().of(pl.Series("b", [1, 2]))["columns"] == [["b", "Int64"]]


def test_what_has_no_name_is_told_with_its_place():
    naming = Naming()
    value = object()
    assert naming.of(value, "parameter x") == {"class": "builtins.object", "is": ""}
    assert naming.of([].append) == {"class": "builtins.builtin_function_or_method",
                                    "is": "list.append"}  # fmt: skip
    told = naming.of(lambda: 0)
    assert told["class"] == "builtins.function" and told["is"].endswith("<lambda>")
    assert naming.unnamed[0] == "parameter x: an object of class object"
    assert naming.unnamed[1] == "the bound method list.append"
    assert naming.unnamed[2].startswith("the lambda ")


def test_a_clustering_by_its_contents_alone():
    one = SubspaceClustering.from_labels([0, 1], n_features=2, provenance={"a": 1})
    two = SubspaceClustering.from_labels([0, 1], n_features=2, provenance={"a": 2})
    assert Naming().of(one) == Naming().of(two)
    assert Naming().of(one) != Naming().of(SubspaceClustering.from_labels([0, 0], n_features=2))


# -- columns --------------------------------------------------------------------------------------

TABLE = np.random.default_rng(0).normal(size=(12, 4))
TABLE[:, 1] = 0.0


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        ([], [0, 1, 2, 3]), (["passthrough", None], [0, 1, 2, 3]),
        ([StandardScaler().fit(TABLE)], [0, 1, 2, 3]),
        ([VarianceThreshold().fit(TABLE)], [0, 2, 3]),
        ([make_pipeline(VarianceThreshold(), StandardScaler()).fit(TABLE)], [0, 2, 3]),
        ([ColumnTransformer([("b", "passthrough", [3, 0])]).fit(TABLE)], [3, 0]),
        ([ColumnTransformer([("b", "passthrough", [3, 0]), ("p", PCA(1), [2, 0]),
                             ("v", VarianceThreshold(), [1, 2])]).fit(TABLE)], [3, 0, -1, 2]),
        ([PCA(2).fit(TABLE)], [-1, -1]),
        ([FunctionTransformer(np.exp).fit(TABLE)], [0, 1, 2, 3]),
        ([FunctionTransformer(None).fit(TABLE)], [0, 1, 2, 3]),
        ([FunctionTransformer(lambda X: X).fit(TABLE)], None),
        # Fitted to more columns than there are.
        ([VarianceThreshold().fit(TABLE), VarianceThreshold().fit(TABLE)], None),
    ],
)  # fmt: skip
def test_columns_behind_transformers(steps, known):
    found = sampled.seen_columns(steps, 4)
    assert (None if found is None else found.tolist()) == known


def test_clusters_are_put_back_into_the_columns_of_the_table():
    found = SubspaceClustering.from_labels([0, 1, -1], masks=[[1, 0], [0, 1]])
    back = sampled._put_back(found, np.array([2, 0]), 3)
    assert back.subspaces.masks.astype(int).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert back.labels().tolist() == [0, 1, -1]
    assert sampled._put_back(found, np.array([0, 1]), 2) is found
    # Mixtures, a column twice, others than were seen, or nothing known: rows alone.
    for columns in (np.array([2, -1]), np.array([1, 1]), np.array([0, 1, 2]), None):
        rows = sampled._put_back(found, columns, 3)
        assert rows.labels().tolist() == [0, 1, -1] and rows.subspaces.masks.all()
        assert rows.n_features == 3


def test_samples_are_given_as_the_table_was():
    run = type("R", (), {"feature_names": ("a", "b", "c"), "columns": np.array([2, 0])})
    pipeline, part = make_pipeline(KMeans()), TABLE[:3, :2]
    assert sampled.sampled_names(run) == ["c", "a"]
    for library, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        frame = sampled.as_given(part, pipeline, run, library)
        assert isinstance(frame, kind) and list(frame.columns) == ["c", "a"]
        np.testing.assert_array_equal(np.asarray(frame), part)
    assert sampled.as_given(part, pipeline, run, None) is part
    assert sampled.as_given(part, KMeans(), run, "pandas") is part
    packed = sparse.csr_array(part)
    assert sampled.as_given(packed, pipeline, run, "pandas") is packed
    run.columns = None
    assert sampled.sampled_names(run) == ["a", "b", "c"]
    run.feature_names = None
    assert sampled.sampled_names(run) == []
    assert sampled.frame_library(pd.DataFrame({"a": [1]})) == "pandas"
    assert sampled.frame_library(pl.DataFrame({"a": [1]})) == "polars"
    for other in (pd.DataFrame({0: [1]}), pd.Series([1], name="a"), TABLE):
        assert sampled.frame_library(other) is None
    assert sampled.is_pipeline(pipeline) and not sampled.is_pipeline(KMeans())


def test_known_groupings_in_a_sample():
    finder = sampled.KnowingFinder(KMeans(), [[0, 1, 2], ["a", "b", "c"]])
    assert finder.parameters_in_sample((2, 2)) == {}
    told = finder.parameters_in_sample((2, 2), rows=[2, 0])
    assert [each.tolist() for each in told["given"]] == [[2, 0], ["c", "a"]]


def test_a_chain_of_steps_is_one_that_has_some():
    assert sampled.is_pipeline(make_pipeline(StandardScaler(), KMeans()))
    assert not sampled.is_pipeline(KMeans())
    assert not sampled.is_pipeline(SimpleNamespace(steps=[]))


class SpeaksOfRows(BaseEstimator):
    """An estimator that may name rows."""

    def __init__(self, rows=None):
        self.rows = rows

    def parameters_in_sample(self):
        """What samples ask of whoever may name rows or columns."""


def test_whoever_may_speak_of_rows_is_found_at_any_depth():
    part = SpeaksOfRows()
    assert list(sampled._bound(part)) == [(part, "")]
    nested = Pipeline([("scale", StandardScaler()), ("inner", Pipeline([("find", part)]))])
    assert list(sampled._bound(nested)) == [(part, "inner__find")]
    # A class that has not been made yet speaks of nothing.
    assert list(sampled._bound(FunctionTransformer(func=SpeaksOfRows))) == []
    assert list(sampled._bound(make_pipeline(StandardScaler(), KMeans()))) == []
