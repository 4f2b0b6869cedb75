"""Arrays become tables, and tables become arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from tests.tables.tables import mixed

from subscape.tables.columns import Column
from subscape.tables.table import Table

NAN = np.nan


# --- from arrays ---


def test_from_array_names_and_shape():
    table = Table.from_array([[1, 2], [3, 4], [5, 6]])
    assert table.feature_names == table.numeric_names == ("x0", "x1")
    assert table.shape == (3, 2)
    assert table.row_names is None
    assert table.X.dtype == np.float64
    named = Table.from_array([[1, 2]], feature_names=["a", 7], row_names=["r"])
    assert named.feature_names == ("a", "7")
    assert named.row_names == ("r",)


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1, 2], [3, 4]], dtype=np.int8),
        np.array([[1, 2], [3, 4]], dtype=np.float32),
        np.array([[1, 2], [3, 4]], dtype=object),
        np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
        np.array([[1, 0, 2], [3, 0, 4]], dtype=np.float64)[:, ::2],
        [[1, 2], [3, 4]],
    ],
)
def test_any_array_of_numbers_becomes_float64(values):
    table = Table.from_array(values)
    np.testing.assert_array_equal(table.X, [[1.0, 2.0], [3.0, 4.0]])
    assert table.X.flags.c_contiguous


def test_booleans_none_and_masks():
    np.testing.assert_array_equal(Table.from_array([[True], [False]]).X, [[1.0], [0.0]])
    objects = np.array([[1, None], [2.5, 3]], dtype=object)
    np.testing.assert_array_equal(Table.from_array(objects).X, [[1.0, NAN], [2.5, 3.0]])
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(Table.from_array(masked).X, [[1.0, NAN], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1.0, 2.0], ValueError, r"shape \(2,\).*reshape"),
        (np.zeros((2, 2, 2)), ValueError, "rows and columns"),
        (np.zeros((0, 3)), ValueError, "no rows"),
        (np.zeros((3, 0)), ValueError, "no columns"),
        (sparse.csr_array((0, 3)), ValueError, "no rows"),
        (np.array([[1 + 2j]]), ValueError, "complex"),
        (np.array([[1 + 2j]], dtype=object), ValueError, "complex"),
        (sparse.csr_array(np.array([[1j]])), ValueError, "complex"),
        (np.array([["a", "b"]]), TypeError, "2 columns.*'column 0', 'column 1'.*Table.read"),
        (np.array([[1.0, "b"], [2.0, 3]], dtype=object), TypeError, "1 column .*'column 1'"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), TypeError, "datetime64"),
        (np.zeros((2, 2), dtype=[("a", float)]), TypeError, "data frame"),
        ("data.csv", TypeError, "Table.read takes paths"),
    ],
)
def test_arrays_that_are_no_tables(values, error, message):
    with pytest.raises(error, match=message):
        Table.from_array(values)


def test_text_columns_are_named():
    with pytest.raises(TypeError, match="'city'"):
        Table.from_array(np.array([[1, "x"]], dtype=object), feature_names=["age", "city"])


def test_names_must_fit():
    with pytest.raises(ValueError, match="3 feature names for 2 columns"):
        Table.from_array(np.zeros((1, 2)), feature_names="abc")
    with pytest.raises(ValueError, match=r"2 column names more than once: 'a', 'b'"):
        Table.from_array(np.zeros((1, 5)), feature_names=list("aabbc"))
    with pytest.raises(ValueError, match="1 row names were given for 2 rows"):
        Table.from_array(np.zeros((2, 2)), row_names=["r"])
    with pytest.raises(ValueError, match="distinct, repeated: 'r'"):
        Table.from_array(np.zeros((2, 2)), row_names=["r", "r"])


# --- numbers only ---


def test_nominal_features_must_be_decided_on():
    with pytest.raises(TypeError, match=r"1 column .*'colour'.*'drop', 'codes' or 'onehot'"):
        mixed().to_numpy()
    with pytest.raises(ValueError, match="not 'dummy'"):
        mixed().encode("dummy")


def test_drop_and_codes():
    dropped = mixed().encode("drop")
    np.testing.assert_array_equal(dropped.X, mixed().X)
    assert dropped.feature_names == ("age", "height")
    np.testing.assert_array_equal(dropped.origin, [0, 2])
    coded = mixed().encode("codes")
    assert coded.feature_names == ("age", "colour", "height")
    np.testing.assert_array_equal(coded.X[:, 1], [2.0, 0.0, NAN, 2.0])
    np.testing.assert_array_equal(coded.X[:, [0, 2]], mixed().X)


def test_onehot():
    found = mixed().encode("onehot")
    assert found.feature_names == ("age", "colour=blue", "colour=red", "height")
    np.testing.assert_array_equal(found.origin, [0, 1, 1, 2])
    scale = 1 / np.sqrt(1 - (1 / 9 + 4 / 9))
    np.testing.assert_allclose(
        found.X[:, 1:3], scale * np.array([[0, 1], [1, 0], [NAN, NAN], [0, 1]]), rtol=1e-12
    )
    np.testing.assert_array_equal(mixed().to_numpy(nominal="onehot"), found.X)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-1, 5), min_size=2, max_size=40))
def test_indicators_weigh_like_one_standardised_column(codes):
    codes = np.array(codes, dtype=np.int32)
    table = Table(
        (Column("c", "nominal", "text", tuple("abcdef")),), np.empty((len(codes), 0)), {"c": codes}
    )
    used = np.unique(codes[codes >= 0])
    block = table.encode("onehot").X
    assert block.shape == (len(codes), len(used))
    np.testing.assert_array_equal(np.isnan(block).all(axis=1), codes < 0)
    if len(used) > 1:
        assert np.isclose(np.nanvar(block, axis=0).sum(), 1.0)
    present = codes >= 0
    np.testing.assert_array_equal(
        used[block[present].argmax(axis=1)] if len(used) else [], codes[present]
    )


def test_indicator_names_stay_distinct():
    schema = (Column("c=a"), Column("c", "nominal", "text", ("a", "b")))
    table = Table(schema, np.zeros((2, 1)), {"c": np.array([0, 1], dtype=np.int32)})
    assert table.encode("onehot").feature_names == ("c=a", "c=a (2)", "c=b")


def test_sparse_tables_encode():
    S = sparse.csr_array([[0.0, 1.0], [5.0, 0.0]])
    table = Table.from_array(S)
    assert sparse.issparse(table.encode().X)
    np.testing.assert_array_equal(table.to_numpy(), S.toarray())
    coded = table.with_roles({"x0": "nominal"}).encode("codes")
    np.testing.assert_array_equal(coded.X.toarray(), [[0.0, 1.0], [1.0, 0.0]])


def test_a_numeric_table_is_an_array():
    table = Table.from_array(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(np.asarray(table), table.X)
    assert np.asarray(table, dtype=np.float32).dtype == np.float32
    copy = np.array(table)
    copy[0, 0] = 7
    assert table.X[0, 0] == 0
    np.testing.assert_allclose(StandardScaler().fit_transform(table).mean(axis=0), 0, atol=1e-12)
