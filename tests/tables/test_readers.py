"""Reading tables: roles, data frames, Parquet, NPY, AnnData."""

from __future__ import annotations

import sys

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from subscape.core.errors import SubscapeError
from subscape.tables.readers import sources as readers
from subscape.tables.table import Table

NAN = np.nan


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


# --- roles ---


def people(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "member": rng.choice([True, False], n),
            "joined": [f"2020-01-{1 + i % 28:02d}" for i in range(n)],
            "remark": [f"text {i // 2 if i < 4 else i}" for i in range(n)],
            "class": rng.integers(0, 3, n),
        }
    )


ROLES = {
    "name": "id",
    "age": "numeric",
    "city": "nominal",
    "member": "nominal",
    "joined": "date",
    "remark": "ignore",
    "class": "label",
}


@pytest.mark.parametrize("how", ["csv", "pandas", "polars", "arrow", "parquet", "lazy"])
def test_roles_are_found_in_every_source(tmp_path, how):
    frame = people()
    if how == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
        source = tmp_path / "t.csv"
    elif how == "parquet":
        frame.to_parquet(tmp_path / "t.parquet")
        source = tmp_path / "t.parquet"
    else:
        source = {
            "pandas": lambda: frame,
            "polars": lambda: pl.from_pandas(frame),
            "arrow": lambda: pa.Table.from_pandas(frame),
            "lazy": lambda: pl.from_pandas(frame).lazy(),
        }[how]()
    table = Table.read(source)
    assert table.roles == ROLES
    assert table.column("member").levels == ("False", "True")
    np.testing.assert_array_equal(table.values("age"), frame["age"])
    np.testing.assert_array_equal(table.labels(), frame["class"])
    assert table.values("joined")[0] == np.datetime64("2020-01-01")
    assert table.row_names == tuple(frame["name"])
    assert any("'remark': text with 38 different values in 40 rows" in n for n in table.notes)
    assert any("'class': taken as a label" in n for n in table.notes)


def test_roles_can_be_said():
    table = Table.read(people(), roles={"class": "nominal", "age": "ignore"}, label="city")
    assert table.roles == ROLES | {"class": "nominal", "age": "ignore", "city": "label"}
    table = Table.read(people(), id="remark", label=["city", "member"])
    assert table.roles["name"] == "ignore"
    assert table.roles["class"] == "numeric"  # labels were said, so none is guessed
    assert table.roles["member"] == "label"
    with pytest.raises(ValueError, match="no column 'klass'; did you mean 'class'"):
        Table.read(people(), label="klass")
    with pytest.raises(ValueError, match="'age' is both numeric and id"):
        Table.read(people(), roles={"age": "numeric"}, id="age")


def test_said_roles_keep_leading_zeros(write):
    path = write("zip,a\n00123,1\n00042,2\n00123,3\n")
    assert Table.read(path).roles["zip"] == "numeric"
    table = Table.read(path, roles={"zip": "nominal"})
    assert table.column("zip").levels == ("00042", "00123")


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("id", [3, 1, 2], "id"),
        ("customer_id", [1001, 17, 5], "id"),
        ("customerId", [1001, 17, 5], "id"),
        ("id", [1, 1, 2], "numeric"),
        ("id", [0.5, 1.5, 2.5], "numeric"),
        ("index", [0, 1, 2], "id"),
        ("index", [1, 2, 3], "id"),
        ("index", [10, 20, 30], "numeric"),
        ("count", [1, 2, 3], "numeric"),
        ("paid", [1, 2, 3], "numeric"),
        ("name", ["x", "y", "z"], "id"),
        ("city", ["x", "y", "z"], "nominal"),
        ("word", list("abcdefghijklm"), "id"),
        ("target", [0.1, 0.7, 0.3, 0.9], "numeric"),
        ("target", [0, 1, 1, 0], "label"),
        ("class_2", ["a", "a", "b"], "label"),
        ("long", [2**60 + i for i in range(12)], "id"),
        ("long", [2**60] * 3, "nominal"),
        ("empty", [None, None, None], "ignore"),
        ("few", [1, 2, 1, 2], "numeric"),
    ],
)
def test_roles_by_name_and_values(name, values, role):
    table = Table.read(pd.DataFrame({name: values, "x": np.linspace(0, 1, len(values))}))
    assert table.roles == {name: role, "x": "numeric"}


def test_numbers_in_text_and_markers_in_frames():
    frame = pd.DataFrame({"a": ["1.5", "?", "-"], "b": ["?", "x", "x"], "c": ["NA", "y", None]})
    table = Table.read(frame)
    np.testing.assert_array_equal(table.values("a"), [1.5, NAN, NAN])
    assert table.values("b").tolist() == ["?", "x", "x"]  # a frame says itself what is missing
    assert table.values("c").tolist() == ["NA", "y", None]


# --- data frames ---


def test_pandas_index_names_the_rows():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["r", "s"])
    assert Table.read(frame).row_names == ("r", "s")
    assert Table.read(frame.reset_index(drop=True)).row_names is None
    twice = Table.read(pd.DataFrame({"a": [1.0, 2.0]}, index=["r", "r"]))
    assert twice.row_names is None
    assert any("index of the frame repeats" in note for note in twice.notes)
    pairs = pd.MultiIndex.from_tuples([("r", 1), ("s", 2)])
    assert Table.read(frame.set_axis(pairs)).row_names == ("r/1", "s/2")


def test_pandas_kinds():
    frame = pd.DataFrame(
        {
            3: pd.array([1, None, 3], dtype="Int64"),
            "cat": pd.Categorical(["lo", "hi", None], categories=["lo", "mid", "hi"], ordered=True),
            "when": pd.to_datetime(["2020-01-01", None, "2020-01-02 12:00"], format="ISO8601"),
            "zone": pd.to_datetime(["1970-01-02"] * 2 + [None]).tz_localize("Europe/Oslo"),
            "span": pd.to_timedelta(["1s", "2s", None]),
            "mixed": [1, "x", None],
            "na": ["x", 1, pd.NA],
            "half": np.array([1, 2, 3], dtype=np.float16),
            "num": pd.Categorical([1, 2, 1]),
        }
    )
    table = Table.read(frame)
    assert table.column("cat").levels == ("lo", "mid", "hi")
    np.testing.assert_array_equal(table.nominal["cat"], [0, 2, -1])
    np.testing.assert_array_equal(table.values("3"), [1, NAN, 3])
    assert table.values("when")[2] == np.datetime64("2020-01-02T12:00")
    assert table.values("zone")[0] == np.datetime64("1970-01-01T23:00")
    np.testing.assert_array_equal(table.values("span"), [1, 2, NAN])
    assert table.values("mixed").tolist() == ["1", "x", None]
    assert table.values("na").tolist() == ["x", "1", None]
    np.testing.assert_array_equal(table.values("half"), [1, 2, 3])
    assert table.column("num").levels == ("1", "2")


def test_polars_kinds():
    frame = pl.DataFrame(
        {
            "enum": pl.Series(["u", "v", None], dtype=pl.Enum(["v", "u"])),
            "cat": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "day": pl.Series(["2020-01-01", "2020-01-02", None]).str.to_date(),
            "int": pl.Series([1, None, 3], dtype=pl.UInt8),
            "list": [[1], [2], [3]],
        }
    )
    table = Table.read(frame)
    assert table.column("enum").levels == ("v", "u")
    np.testing.assert_array_equal(table.nominal["enum"], [1, 0, -1])
    assert table.values("cat").tolist() == ["x", "y", "x"]
    assert table.roles["day"] == "date"
    np.testing.assert_array_equal(table.values("int"), [1, NAN, 3])
    assert "list" not in table.roles
    assert any("left out" in note and "'list'" in note for note in table.notes)


def test_chunked_arrow_columns():
    first = pa.table({"a": [1, 2], "t": pa.array(["x", "y"]).dictionary_encode()})
    second = pa.table({"a": [3], "t": pa.array(["z"]).dictionary_encode()})
    table = Table.read(pa.concat_tables([first, second]))
    np.testing.assert_array_equal(table.X[:, 0], [1, 2, 3])
    assert table.values("t").tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (pd.DataFrame({"a": [1 + 2j, 0]}), ValueError, "'a' holds complex"),
        (pd.DataFrame({"a": []}), ValueError, "no rows"),
        (pd.DataFrame(index=[1, 2]), ValueError, "no columns"),
        (pd.DataFrame({"a": [[1], [2]]}), ValueError, "no column holds numbers"),
        (pd.Series([1, 2]), TypeError, "not from pandas"),
        ({"a": [1]}, TypeError, r"not from builtins\.dict"),
        (3, TypeError, r"not from builtins\.int"),
    ],
)
def test_bad_frames(frame, error, message):
    with pytest.raises(error, match=message):
        Table.read(frame)


def test_arrays_and_tables_are_read_too():
    table = Table.read(np.eye(2), label="x1")
    assert table.roles == {"x0": "numeric", "x1": "label"}
    assert Table.read(table) is table
    assert sparse.issparse(Table.read(sparse.eye_array(3)).X)


# --- Parquet and NPY ---


def test_parquet_index(tmp_path):
    frame = pd.DataFrame({"a": [1.0, NAN]}, index=["r", "s"])
    frame.to_parquet(tmp_path / "t.bin")
    table = Table.read(tmp_path / "t.bin")
    assert table.row_names == ("r", "s")
    assert table.feature_names == ("a",)
    np.testing.assert_array_equal(table.X[:, 0], [1.0, NAN])
    assert table.source["format"] == "parquet"


def test_broken_parquet(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="not a readable Parquet file"):
        Table.read(tmp_path / "t.parquet")


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.int16).reshape(3, 2))
    table = Table.read(tmp_path / "x.npy")
    np.testing.assert_array_equal(table.X, [[0, 1], [2, 3], [4, 5]])
    assert table.source == {"path": "x.npy", "format": "npy", "rows": 3}


def test_large_npy_is_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "MAPPED_BYTES", 100)
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.save(tmp_path / "x.npy", X)
    table = Table.read(tmp_path / "x.npy")
    base = table.X
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    np.testing.assert_array_equal(table.X, X)


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.array([[{}]], dtype=object), ValueError, "pickled objects, which are never opened"),
        (np.zeros(3), ValueError, "reshape"),
        (np.zeros((2, 2), dtype=complex), ValueError, "complex"),
        (np.array([["a"]]), TypeError, "text"),
    ],
)
def test_bad_npy(tmp_path, array, error, message):
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    with pytest.raises(error, match=message):
        Table.read(tmp_path / "x.npy")


def test_truncated_npy(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((50, 2)))
    whole = (tmp_path / "x.npy").read_bytes()
    for length in (20, len(whole) - 8):
        (tmp_path / "x.npy").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="not a readable NPY"):
            Table.read(tmp_path / "x.npy")


# --- AnnData ---


def cells() -> anndata.AnnData:
    rng = np.random.default_rng(1)
    X = sparse.csr_array(rng.normal(size=(12, 5)) * (rng.random((12, 5)) < 0.4))
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["t", "b", "t"] * 4),
            "depth": np.arange(12.0),
            "gene0": ["a", "b", "c"] * 4,
        },
        index=[f"cell{i}" for i in range(12)],
    )
    var = pd.DataFrame(index=[f"gene{j}" for j in range(5)])
    adata = anndata.AnnData(X, obs=obs, var=var)
    adata.layers["counts"] = sparse.csc_array(X * 2)
    adata.obsm["X_pca"] = rng.normal(size=(12, 2))
    adata.obsm["frame"] = pd.DataFrame({"u": np.arange(12.0)}, index=adata.obs_names)
    return adata


def test_anndata_stays_sparse():
    adata = cells()
    table = Table.read(adata)
    assert sparse.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), adata.X.toarray())
    assert table.feature_names == tuple(adata.var_names)
    assert table.row_names == tuple(adata.obs_names)
    assert table.roles["kind"] == "label"
    assert table.roles["depth"] == "ignore"
    assert table.roles["obs/gene0"] == "label"
    np.testing.assert_array_equal(table.labels("kind"), [1, 0, 1] * 4)
    np.testing.assert_array_equal(table.values("depth"), np.arange(12.0))
    assert table.take([3, 1]).X.shape == (2, 5)


def test_anndata_layer_and_representation():
    adata = cells()
    counts = Table.read(adata, layer="counts")
    np.testing.assert_allclose(counts.X.toarray(), 2 * adata.X.toarray())
    pca = Table.read(adata, use_rep="X_pca", label="depth")
    assert pca.feature_names == ("X_pca_0", "X_pca_1")
    np.testing.assert_array_equal(pca.X, adata.obsm["X_pca"])
    assert pca.roles["depth"] == "label"
    assert Table.read(adata, use_rep="frame").feature_names == ("u",)
    assert Table.read(adata).source["used"] == "X"
    with pytest.raises(ValueError, match="layers has no 'raw'; it has 'counts'"):
        Table.read(adata, layer="raw")
    with pytest.raises(ValueError, match="obsm has no 'X_umap'; it has 'X_pca', 'frame'"):
        Table.read(adata, use_rep="X_umap")
    with pytest.raises(ValueError, match="not both"):
        Table.read(adata, layer="counts", use_rep="X_pca")


def test_anndata_without_x_and_with_repeated_names():
    adata = cells()
    adata.X = None
    with pytest.raises(ValueError, match="no X; give layer or use_rep: 'counts', 'X_pca'"):
        Table.read(adata)
    twice = anndata.AnnData(np.eye(2), var=pd.DataFrame(index=["g", "h"]))
    twice.var_names = ["g", "g"]
    with pytest.raises(ValueError, match=r"more than once: 'g'.*var_names_make_unique"):
        Table.read(twice)


@pytest.mark.parametrize("backed", [None, "r"])
def test_h5ad(tmp_path, backed):
    path = tmp_path / "cells.h5ad"
    adata = cells()
    del adata.obsm["frame"]
    adata.write_h5ad(path)
    source = path if backed is None else anndata.read_h5ad(path, backed="r")
    table = Table.read(source)
    np.testing.assert_array_equal(table.X.toarray(), adata.X.toarray())
    assert table.row_names == tuple(adata.obs_names)


def test_h5ad_without_anndata_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"subscape\[anndata\]"):
        Table.read(write(b"\x89HDF\r\n\x1a\n" + bytes(100), "x.h5ad"))


def test_a_frame_with_repeated_names_gets_numbers_and_says_so():
    frame = pd.DataFrame([[1, 2.5, "a"], [3, 4.5, "b"], [5, 6.0, "a"]], columns=["x", "x", "y"])
    table = Table.read(frame)
    assert table.feature_names[:2] == ("x", "x (2)")
    np.testing.assert_array_equal(table.values("x (2)"), [2.5, 4.5, 6.0])
    assert any("occurred more than once and got a number: 'x (2)'" in n for n in table.notes)
    assert list(frame.columns) == ["x", "x", "y"]


def test_layers_are_for_anndata_only(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    for options in ({"layer": "counts"}, {"use_rep": "X_pca"}):
        with pytest.raises(SubscapeError, match="layer and use_rep are for AnnData only"):
            Table.read(path, **options)
        with pytest.raises(SubscapeError, match="layer and use_rep are for AnnData only"):
            Table.read(np.eye(3), **options)
