"""What a small table in parts says of itself."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from tests.table_sources import write_folder

from subscape.core.errors import SubscapeError
from subscape.exploration import parted_tables
from subscape.exploration.parted_tables import PartedTable, in_memory, is_parted
from subscape.tables.columns import Column


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4))
    X[:, 2] = np.repeat([3.0, 5.0, 4.0], 4)
    X[:, 3] = np.nan
    return X


@pytest.fixture(scope="module")
def table(X):
    return PartedTable.of(da.from_array(X, chunks=(5, 4)))


def test_columns_and_rows(table, X):
    assert (table.shape, table.n_rows, table.part_lengths) == ((12, 3), 12, (5, 5, 2))
    assert [column.name for column in table.schema] == ["x0", "x1", "x2", "x3"]
    assert table.schema[3] == Column("x3", "ignore", note="has no values")
    assert [column.role for column in table.schema[:3]] == ["numeric"] * 3
    assert table.column("x2") is table.schema[2] and table._place("x1") == 1
    np.testing.assert_array_equal(table.values("x1"), X[:, 1])
    assert table.values("x1").dtype == np.float64
    assert table.nominal == {} and table.row_names is None and table.unused_numeric_notes == ()
    assert dict(table.source) == {"format": "parts", "rows": 12}
    assert repr(table).startswith("PartedTable(") and "12 rows" in repr(table)
    for ask in (table.column, table.values, table.labels):
        with pytest.raises((SubscapeError, KeyError), match="nothing"):
            ask("nothing")


def test_where_it_comes_from(X, tmp_path):
    folder = write_folder(X[:, :3], tmp_path / "parts", [4])
    found = PartedTable.of(folder)
    assert dict(found.source) == {"path": str(folder), "format": "parts", "rows": 12}
    assert found.part_lengths == (4, 8) and found.n_rows == 12
    assert is_parted("https://example.org/x.parquet") and not is_parted("nowhere")
    assert is_parted(folder) and not is_parted(tmp_path / "nothing") and not is_parted(X)
    assert is_parted(da.from_array(X)) and not is_parted([1, 2])


def test_other_roles(table, X):
    other = table.with_roles({"x2": "label", "x0": "ignore"})
    assert [column.role for column in other.schema] == ["ignore", "numeric", "label", "ignore"]
    assert other.schema[1] is table.schema[1] and other.blocks is table.blocks
    assert other.with_roles({"x2": "label"}).schema == other.schema
    labels = other.labels("x2")
    assert labels.tolist() == [0] * 4 + [2] * 4 + [1] * 4
    with pytest.raises(SubscapeError, match="column 'x1' of a table in parts can't be nominal"):
        table.with_roles({"x0": "label", "x1": "nominal"})
    with pytest.raises((SubscapeError, KeyError), match="nothing"):
        table.with_roles({"nothing": "label"})


def test_rows_in_memory(table, X):
    found = table.take([7, 2])
    np.testing.assert_array_equal(found.X, X[[7, 2]][:, :3])
    assert found.X.flags.c_contiguous and dict(found.source) == dict(table.source)
    np.testing.assert_array_equal(found.others["x3"], [np.nan, np.nan])
    block = np.asfortranarray(X[:3])
    made = in_memory(block, table.schema)
    assert made.X.flags.c_contiguous and dict(made.source) == {}
    assert not np.shares_memory(made.others["x3"], block)


def test_its_contents_have_a_name(table, X):
    assert len(table.fingerprint) == 24
    same = PartedTable.of(da.from_array(X.copy(), chunks=(3, 4)))
    assert same.fingerprint == table.fingerprint
    changed = X.copy()
    changed[11, 1] += 1e-9
    others = [
        PartedTable.of(da.from_array(each, chunks=(5, 4)))
        for each in (changed, X[:11], X[:, [1, 0, 2, 3]])
    ]
    others.append(table.with_roles({"x0": "ignore"}))
    names = {each.fingerprint for each in others}
    assert len(names) == 4 and table.fingerprint not in names


def test_counts_are_made_in_one_pass(table, monkeypatch):
    counts = table.counts
    assert [each.n_missing for each in counts] == [0, 0, 0, 12]
    again = table.with_roles({"x0": "ignore"})
    monkeypatch.setattr(type(again.blocks), "fold", None)
    assert again.counts is counts


def noted(X, roles=None):
    table = PartedTable.of(da.from_array(X, chunks=(5, X.shape[1])))
    return table.with_roles(roles or {}).notes


def test_notes_of_near_copies_and_names(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))
    asked = []

    def near(names, part, copies):
        asked.append((names, part, copies))
        return ["near"]

    monkeypatch.setattr(parted_tables.profiles, "near_copies_in", near)
    assert noted(X)[-1] == "near" and asked[0][0] == ("x0", "x1", "x2")
    np.testing.assert_array_equal(asked[0][1], X)
    assert asked[0][2] == set()
    assert "near" not in noted(X[:9])
    assert noted(X[:, :2])[-1] == "near" and "near" not in noted(X[:, :1])
    X[:, 2] = X[:, 0]
    noted(X)
    assert asked[-1][2] == {"x2"}
    said = noted(X, {"x1": "id"})
    assert said[-1] == ("the table is in parts: its rows are numbered, and not called by their id")
    np.testing.assert_array_equal(asked[-1][1], X[:, [0, 2]])
    monkeypatch.setattr(
        parted_tables.profiles, "step_for", lambda shape: 3 * (shape == (10, 3)) or 1
    )
    noted(X)
    np.testing.assert_array_equal(asked[-1][1], X[::3])


def test_what_a_rule_says_of_every_row(table, X, monkeypatch):
    monkeypatch.setattr(parted_tables, "BLOCK", 5)
    seen = []

    def like_before(recipes, known):
        seen.append((recipes, known.X.copy()))
        return known.X

    monkeypatch.setattr(parted_tables, "like_before", like_before)
    found = table.assigned("recipes", lambda known: (known[:, 2].astype(int), known[:, 0]))
    labels, sure = found.here()
    assert labels.tolist() == X[:, 2].astype(int).tolist() and labels.dtype == np.int32
    np.testing.assert_array_equal(sure, X[:, 0])
    assert [len(part) for _, part in seen] == [5, 5, 2] and seen[0][0] == "recipes"
