"""Table as a value: frozen, with roles, labels and ways to change it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from tests.tables.tables import mixed

from subscape.tables.columns import Column
from subscape.tables.table import Table

NAN = np.nan


# --- a frozen value ---


def test_arrays_are_read_only_and_the_input_is_left_alone():
    X = np.arange(6.0).reshape(3, 2)
    table = Table.from_array(X)
    with pytest.raises(ValueError, match="read-only"):
        table.X[0, 0] = 9
    with pytest.raises(AttributeError):
        table.X = X
    X[0, 0] = 99
    assert table.X[0, 0] == 0
    for data in mixed().others.values():
        assert not data.flags.writeable
    assert not mixed().missing.flags.writeable


def test_read_only_input_is_not_copied():
    X = np.arange(6.0).reshape(3, 2)
    X.flags.writeable = False
    assert np.shares_memory(Table.from_array(X).X, X)


def test_sparse_arrays_are_read_only():
    S = sparse.csc_array(np.arange(24.0).reshape(6, 4) % 5)
    table = Table.from_array(S)
    assert sparse.issparse(table.X)
    assert table.X.format == "csr"
    np.testing.assert_array_equal(table.X.toarray(), S.toarray())
    assert not table.X.data.flags.writeable
    S.data[:] = 0
    assert table.X.nnz > 0
    assert table.X.toarray().any()


@pytest.mark.parametrize("make", [mixed, lambda: Table.from_array(sparse.eye_array(3))])
def test_pickling_keeps_everything(make):
    table = make()
    again = pickle.loads(pickle.dumps(table))
    assert again == table
    assert again.row_names == table.row_names
    assert dict(again.source) == dict(table.source)
    X = again.X.data if sparse.issparse(again.X) else again.X
    assert not X.flags.writeable
    assert all(not data.flags.writeable for data in again.others.values())


def test_equality_is_about_content():
    assert mixed() == mixed()
    assert mixed() != mixed().take([0, 1, 2])
    assert mixed() != mixed().with_roles({"age": "ignore"})
    assert Table.from_array([[1.0]]) != Table.from_array([[2.0]])
    assert Table.from_array([[1.0]]) != Table.from_array(sparse.csr_array([[1.0]]))
    assert Table.from_array([[1.0]]) != "table"


@pytest.mark.parametrize(
    ("schema", "X", "others", "message"),
    [
        ((), np.zeros((1, 0)), {}, "no columns"),
        ((Column("a"),), np.zeros((2, 2)), {}, "1 columns are numeric"),
        ((Column("a"),), np.zeros((2, 1)), {"b": np.zeros(2)}, "disagree on columns 'b'"),
        ((Column("a", "date", "date"),), np.zeros((2, 0)), {"a": np.zeros(3)}, "2 values"),
        ((Column("a"), Column("a")), np.zeros((1, 2)), {}, "more than once: 'a'"),
    ],
)
def test_parts_must_fit_together(schema, X, others, message):
    with pytest.raises(ValueError, match=message):
        Table(schema, X, others)


def test_columns_must_make_sense():
    with pytest.raises(ValueError, match="no role 'feature', choose one of 'numeric'"):
        Column("a", "feature")
    with pytest.raises(ValueError, match="text has levels"):
        Column("a", "nominal", "text")
    with pytest.raises(ValueError, match="cannot be nominal"):
        Column("a", "nominal", "number")


# --- reading it ---


def test_a_mixed_table():
    table = mixed()
    assert table.shape == (4, 3)
    assert table.feature_names == ("age", "colour", "height")
    assert table.numeric_names == ("age", "height")
    assert table.roles["born"] == "date"
    assert table.row_names == ("ann", "bob", "cyd", "dan")
    assert list(table.nominal) == ["colour"]
    np.testing.assert_array_equal(table.nominal["colour"], [2, 0, -1, 2])
    np.testing.assert_array_equal(
        table.missing,
        [[False, False, False], [True, False, False], [False, True, False], [False] * 3],
    )
    assert repr(table) == (
        "Table(4 rows x 6 columns: 2 numeric, 1 nominal, 1 date, 1 id, 1 label; 2 missing)"
    )


def test_values_are_as_read():
    table = mixed()
    assert table.values("colour").tolist() == ["red", "blue", None, "red"]
    np.testing.assert_array_equal(table.values("age"), [31.0, NAN, 55.0, 40.0])
    dates = table.values("born")
    assert np.isnat(dates[1])
    assert dates[2] == np.datetime64("1970-01-02")


def test_row_names_with_a_missing_id():
    table = Table.from_array([[1.0, 7.0], [2.0, NAN]], feature_names=["a", "no"])
    assert table.with_roles({"no": "id"}).row_names == ("7", "row 1")


def test_repeating_ids_name_no_rows():
    table = Table.from_array([[1.0, 7.0], [2.0, 7.0]], feature_names=["a", "no"])
    table = table.with_roles({"no": "id"})
    assert table.row_names is None
    assert "the values of the id column repeat, so the rows have no names" in table.notes


def test_unknown_columns_are_refused_with_a_hint():
    with pytest.raises(ValueError, match="no column 'colors'; did you mean 'colour'"):
        mixed().column("colors")
    with pytest.raises(ValueError, match="it has 'who', 'age'"):
        mixed().select(["zzz"])
    with pytest.raises(ValueError, match="no column 'agee'"):
        mixed().with_roles({"agee": "id"})


def test_labels():
    table = mixed()
    np.testing.assert_array_equal(table.labels(), [1, 0, 1, -1])
    np.testing.assert_array_equal(table.labels("colour"), [1, 0, -1, 1])  # green does not occur
    np.testing.assert_array_equal(table.labels("age"), [0, -1, 2, 1])
    assert table.labels().dtype == np.int64


def test_integer_labels_keep_minus_one_as_noise():
    table = Table.from_array([[5.0], [-1.0], [9.0], [5.0]], feature_names=["class"])
    np.testing.assert_array_equal(table.labels("class"), [0, -1, 1, 0])
    halves = Table.from_array([[0.5], [-1.0]], feature_names=["class"])
    np.testing.assert_array_equal(halves.labels("class"), [1, 0])


def test_labels_need_one_label_column():
    with pytest.raises(ValueError, match="has none"):
        Table.from_array([[1.0]]).labels()
    two = mixed().with_roles({"colour": "label"})
    with pytest.raises(ValueError, match="has 'colour', 'group'"):
        two.labels()


# --- changing it ---


def test_select_keeps_the_order_asked_for():
    table = mixed().select(["height", "group", "age"])
    assert [c.name for c in table.schema] == ["height", "group", "age"]
    np.testing.assert_array_equal(table.X, mixed().X[:, [1, 0]])
    assert table.select("age").numeric_names == ("age",)
    with pytest.raises(ValueError, match="more than once: 'age'"):
        table.select(["age", "age"])
    with pytest.raises(ValueError, match="no columns"):
        table.select([])


def test_take_rows():
    table = Table.from_array(np.arange(8.0).reshape(4, 2), row_names="abcd")
    some = table.take(np.array([False, True, False, True]))
    assert some.row_names == ("b", "d")
    np.testing.assert_array_equal(some.X, [[2.0, 3.0], [6.0, 7.0]])
    assert mixed().take([-1, 0]).values("colour").tolist() == ["red", "red"]
    assert mixed().take([-1, 0]).row_names == ("dan", "ann")
    assert table.take(["d", "a"]).row_names == ("d", "a")
    assert table.take(slice(2)).row_names == ("a", "b")
    with pytest.raises(ValueError, match="no rows"):
        table.take([])
    with pytest.raises(ValueError, match=r"row 4 lies outside 0\.\.3"):
        table.take([4])


def test_numbers_become_levels_and_back():
    table = Table.from_array([[10.0], [9.0], [NAN], [0.5]], feature_names=["a"])
    nominal = table.with_roles({"a": "nominal"})
    assert nominal.column("a").levels == ("0.5", "9", "10")
    np.testing.assert_array_equal(nominal.nominal["a"], [2, 1, -1, 0])
    assert nominal.X.shape == (4, 0)
    assert nominal.with_roles({"a": "numeric"}) == table


def test_roles_move_columns_in_and_out_of_the_features():
    table = mixed().with_roles({"age": "label", "born": "numeric", "who": "nominal"})
    assert table.numeric_names == ("born", "height")
    np.testing.assert_array_equal(table.X[:, 0], [0.0, NAN, 1.0, 19000.0])
    assert table.feature_names == ("who", "colour", "born", "height")
    np.testing.assert_array_equal(table.labels("age"), mixed().labels("age"))
    assert mixed().with_roles({}) == mixed()


def test_dates_become_levels():
    table = mixed().with_roles({"born": "nominal"})
    assert table.column("born").levels == ("1970-01-01", "1970-01-02", "2022-01-08")
    assert table.with_roles({"born": "date"}) == mixed()


def test_roles_that_do_not_fit_the_values():
    with pytest.raises(TypeError, match="'colour' cannot be numeric: 'blue', 'green', 'red'"):
        mixed().with_roles({"colour": "numeric"})
    with pytest.raises(TypeError, match="'colour' cannot be a date"):
        mixed().with_roles({"colour": "date"})
    with pytest.raises(TypeError, match="'age' cannot be a date"):
        mixed().with_roles({"age": "date"})
    with pytest.raises(ValueError, match="no role 'feature'"):
        mixed().with_roles({"age": "feature"})


def test_unordered_text_is_sorted_when_it_becomes_levels():
    column = Column("a", "ignore", "text", ("10", "9", "100"))
    table = Table((column,), np.empty((3, 0)), {"a": np.array([0, 1, 2], dtype=np.int32)})
    assert table.with_roles({"a": "nominal"}).column("a").levels == ("9", "10", "100")
    assert table.with_roles({"a": "nominal"}).values("a").tolist() == ["10", "9", "100"]


def test_sparse_tables_change_roles_too():
    S = sparse.csr_array([[0.0, 1.0, 2.0], [0.0, NAN, 3.0]])
    table = Table.from_array(S).with_roles({"x2": "nominal"})
    assert sparse.issparse(table.X)
    assert table.X.shape == (2, 2)
    assert table.column("x2").levels == ("2", "3")
    back = table.with_roles({"x2": "numeric"})
    np.testing.assert_array_equal(back.X.toarray(), S.toarray())
    assert table.missing.toarray().tolist() == [[False, False, False], [False, True, False]]
