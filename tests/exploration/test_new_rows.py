"""New rows are read in the kinds and levels of the table that was explored."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.exploration.new_rows import like_before, matched, new_rows, read_as_explored
from subscape.exploration.preparation import prepare
from subscape.exploration.study import as_table
from subscape.tables import Table
from subscape.testing.studies import planted_study


def explored(levels, role="nominal"):
    """What was learned from a column with these levels beside a number, and its schema."""
    z = np.resize(np.array(levels), 60)
    frame = pd.DataFrame({"x": np.linspace(-1, 1, 60), "z": z})
    table = Table.read(frame, roles={"z": role})
    schema = [{"name": c.name, "role": c.role} for c in table.schema]
    return prepare(table), schema


def indicators(ready, X):
    """For each row, the levels whose indicators are on."""
    nominal = [j for j, recipe in enumerate(ready.recipes) if recipe.levels is not None]
    return [
        [ready.recipes[j].levels for j in nominal if row[j] > 0]
        if not np.isnan(row).all()
        else None
        for row in X
    ]


@pytest.mark.parametrize(
    ("levels", "new", "expected"),
    [
        (["01", "02", "A3"], [1, 2, 1], ["01", "02", "01"]),
        (["1.0", "2.0", "x"], [1.0, 2.0, 1.0], ["1.0", "2.0", "1.0"]),
        ([True, False], [1, 0, 1], ["True", "False", "True"]),
        ([True, False], ["true", "false", "TRUE"], ["True", "False", "True"]),
        (["yes", "true", "false"], [True, False, True], ["true", "false", "true"]),
        ([0, 1], [True, False, True], ["1", "0", "1"]),
        ([0.1, 0.2], np.array([0.1, 0.2, 0.1], np.float32), ["0.1", "0.2", "0.1"]),
        (np.array([0.1, 0.2], np.float32), [0.2, 0.1, 0.1],
         ["0.200000002980232", "0.100000001490116", "0.100000001490116"]),
        ([0.1 + 0.2, 0.5], ["0.30000000000000004", "0.5", "0.3"], ["0.3", "0.5", "0.3"]),
        (["2020-01-01", "x"], ["2020-01-01"] * 3, ["2020-01-01"] * 3),
    ],
)  # fmt: skip
def test_levels_are_matched_by_value(levels, new, expected):
    ready, _ = explored(levels)
    table = Table.read(pd.DataFrame({"x": [0.0] * 3, "z": new}))
    X, notes = new_rows(ready.recipes, table)
    assert indicators(ready, X) == [[(level,)] for level in expected]
    assert notes == ()


def test_a_text_that_is_a_level_is_never_another_one():
    # Both are the number 1: which one a file means can only be told by its text.
    ready, schema = explored(["01", "1", "x"])
    frame = pd.DataFrame({"x": [0.0] * 3, "z": ["01", "1", "01"]})
    X = like_before(ready.recipes, read_as_explored(frame, schema))
    assert indicators(ready, X) == [[("01",)], [("1",)], [("01",)]]
    X = like_before(ready.recipes, Table.read(pd.DataFrame({"x": [0.0], "z": ["1.00"]})))
    assert indicators(ready, X) == [[("1",)]]


@pytest.mark.parametrize(
    ("texts", "levels"),
    [
        (["1.0"], ["01", "1"]),  # two levels are this number
        (["true"], ["1", "2"]),  # numbers, not truth values
        (["yes"], ["True", "False"]),
        (["0.1000000001"], ["0.1"]),  # near, but no single precision
        (["0.99999999999", "1e-300"], ["1", "0"]),
        (["nan", "NaN"], ["NA", "0"]),
        (["9007199254740993"], ["9007199254740992"]),
        (["red"], ["Red"]),
    ],
)
def test_what_is_no_spelling_of_a_level(texts, levels):
    assert matched(texts, levels) == {}


SPELLINGS = ["0", "00", "1", "01", "1.0", "True", "true", "FALSE", "0.1", "0.10", "-0", "a", "A"]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(SPELLINGS), max_size=8))
def test_every_level_matches_itself(levels):
    levels = list(dict.fromkeys(levels))
    assert matched(levels, levels) == {level: level for level in levels}


def test_missing_values_and_new_levels_are_told_apart():
    ready, _ = explored(["a", "b"])
    frame = pd.DataFrame({"x": [0.0] * 5, "z": ["a", None, "c", "c", "d"]})
    X, notes = new_rows(ready.recipes, Table.read(frame))
    assert np.isnan(X[1, 1:]).all() and not np.isnan(X[[0, 2, 3, 4]]).any()
    assert indicators(ready, X)[2:] == [[], [], []]
    (note,) = notes
    assert note.startswith("column 'z': 3 of 4 values match no level of the study ('c', 'd'; it ")
    nothing = pd.DataFrame({"x": [0.0] * 2, "z": [None, None]})
    X, notes = new_rows(ready.recipes, Table.read(nothing))
    assert np.isnan(X[:, 1:]).all() and notes == ()


def test_pooled_levels_are_matched_too():
    z = np.array(["01"] * 60 + ["02"] * 57 + ["03", "04", "x"])
    frame = pd.DataFrame({"x": np.linspace(0, 1, 120), "z": z})
    ready = prepare(Table.read(frame, roles={"z": "nominal"}))
    pooled = ("03", "04", "x")
    assert pooled in [recipe.levels for recipe in ready.recipes]
    X = like_before(ready.recipes, Table.read(pd.DataFrame({"x": [0.0] * 2, "z": [4, 1]})))
    assert indicators(ready, X) == [[pooled], [("01",)]]


def test_truth_values_where_numbers_were():
    ready, _ = explored([0, 1, 5], role="numeric")
    frame = pd.DataFrame({"x": [0.0] * 3, "z": pd.array([True, False, None], dtype="boolean")})
    X = like_before(ready.recipes, Table.read(frame))
    again = like_before(ready.recipes, Table.read(frame.astype({"z": "Float64"})))
    np.testing.assert_array_equal(X, again)
    assert np.isnan(X[2, 1]) and X[0, 1] > X[1, 1]


def test_truth_values_beside_numbers_are_no_numbers():
    """Only where all levels are truth values they stand for 1 and 0."""
    ready, _ = explored([0, 1, 5], role="numeric")
    frame = pd.DataFrame({"x": [0.0] * 4, "z": ["true", "5", "0", "1"]})
    with pytest.raises(TypeError, match="'true' is no number"):
        like_before(ready.recipes, Table.read(frame, roles={"z": "nominal"}))


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas"])
def test_columns_are_read_in_the_roles_of_the_study(tmp_path, kind):
    """Few rows of a table whose columns look otherwise: codes as numbers, levels as names."""
    rows = 12
    frame = pd.DataFrame(
        {
            "key": [f"{i:03}" for i in range(rows)],
            "code": ["01", "02"] * (rows // 2),
            "size": [f"level {i}" for i in range(rows)],
            "number": np.arange(rows),
        }
    )
    schema = [
        {"name": "key", "role": "id"}, {"name": "code", "role": "nominal"},
        {"name": "size", "role": "nominal"}, {"name": "number", "role": "numeric"},
        {"name": "gone", "role": "nominal"},
    ]  # fmt: skip
    source = frame
    if kind != "pandas":
        source = tmp_path / f"new.{kind}"
        write = frame.to_csv if kind == "csv" else frame.to_parquet
        write(source, index=False)
    table = read_as_explored(source, schema)
    assert table.roles == {"key": "id", "code": "nominal", "size": "nominal", "number": "numeric"}
    assert table.row_names == tuple(frame["key"])
    assert table.column("code").levels == ("01", "02")
    assert read_as_explored(source, schema, id="size").row_names == tuple(frame["size"])


def test_studies_warn_of_levels_they_do_not_know():
    ready, schema = explored(["01", "02", "A3"])
    study = planted_study(60)
    study = replace(study, recipes=ready.recipes, table_schema=tuple(schema))
    frame = pd.DataFrame({"x": [0.0] * 3, "z": ["01", "02", "B7"]})
    with pytest.warns(UserWarning, match=r"'z': 1 of 3 values matches no level .* \('B7'"):
        X = study.prepared(frame)
    assert indicators(ready, X) == [[("01",)], [("02",)], []]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert indicators(ready, study.prepared(frame[:2])) == [[("01",)], [("02",)]]
    assert as_table(frame[:2], None, schema).column("z").levels == ("01", "02")
