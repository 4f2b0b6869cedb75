"""Files as instruments, surveys, banks and programs for genes write them, read as they meant."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from tests.tables.test_no_guess_is_silent import HEAD, KEYS, ROWS, N, X, of_cells, read, told
from tests.tables.workbooks import xlsx

from subscape.core.errors import FileFormatError
from subscape.tables import Table
from subscape.tables.angles import read_angles
from subscape.tables.dates import parse_day, read_dates, read_periods, read_times
from subscape.tables.numbers import is_two_numbers

DAYS = [date(2023, 1, 5) + timedelta(days=3 * i) for i in range(N)]
THREE = [
    f"{key},{x},{i % 7},{'abc'[i % 3]}" for i, (key, x) in enumerate(zip(KEYS, X, strict=True))
]


# --- rows below the names ---


@pytest.mark.parametrize(
    "rows",
    [
        [",mg/L,1/min,"],
        ["Units,kg,cm,-"],
        [",[kg],[%],"],
        ["Name,float,int,string"],
        ["What is it?,How much?,How many?,Of which kind?", '{"id":1},{"id":2},{"id":3},{"id":4}'],
        ["Name of it,kg,,Group"],
        [",kg,,"],
    ],
)
def test_rows_below_the_names_that_say_more_of_the_columns(tmp_path, rows):
    table = read(tmp_path, "key,x,n,kind", *rows, *THREE)
    np.testing.assert_array_equal(table.values("x"), X)
    assert table.n_rows == N and table.column("kind").levels == ("a", "b", "c")
    number = f"{len(rows)} row{'s' * (len(rows) > 1)} below the names (line 2"
    assert number in told(table) and "left out: " in told(table)
    # Lines are told as they stand in the file.
    odd = read(tmp_path, "key,x,n,kind", *rows, *THREE, "K99,bad,3,a")
    assert f"'bad' in line {N + len(rows) + 2}" in told(odd)


@pytest.mark.parametrize(
    "row",
    [
        "K99,broken,5,a",  # one cell is a number
        "K99,broken,,a",  # of a level that comes again
        "K99,n.q.,n.q.,a",  # so, too
        "K99,?,?,b",  # cells without a value
        ",,,a",
    ],
)
def test_a_first_row_like_the_others_is_a_row(tmp_path, row):
    table = read(tmp_path, "key,x,n,kind", row, *THREE)
    assert table.n_rows == N + 1 and "below the names" not in told(table)


def test_signs_that_come_again_are_no_units(tmp_path):
    table = read(tmp_path, "key,x,n,kind", "K99,err,err,z", *THREE, "K98,err,3,a")
    assert table.n_rows == N + 2 and "below the names" not in told(table)


def test_few_rows_tell_no_units(tmp_path):
    assert read(tmp_path, "key,x,n,kind", ",kg,cm,", *THREE[:4]).n_rows == 5


def test_units_in_a_sheet(tmp_path):
    rows = [[key, x, i % 7] for i, (key, x) in enumerate(zip(KEYS, X, strict=True))]
    (tmp_path / "t.xlsx").write_bytes(
        xlsx({"a": [["key", "x", "n"], [None, "kg", "cm"], *rows, ["K99", "bad", 1]]})
    )
    table = Table.read(tmp_path / "t.xlsx")
    np.testing.assert_array_equal(table.values("x")[:N], X)
    assert "1 row below the names (row 2 of the sheet) says more of the columns" in told(table)
    assert f"'bad' in row {N + 3} of the sheet" in told(table)


def test_years_below_what_they_are_of(tmp_path):
    rows = [f"S{i};{x};{i};{-x};{i % 3};{x + 1};1{i}" for i, x in enumerate(X)]
    table = read(tmp_path, ";Sales;;;Cost;;", "Store;2021;2022;2023;2021;2022;2023", *rows)
    assert table.feature_names == (
        "Sales 2021", "Sales 2022", "Sales 2023", "Cost 2021", "Cost 2022", "Cost 2023"
    )  # fmt: skip
    np.testing.assert_array_equal(table.values("Cost 2021"), [i % 3 for i in range(N)])


# --- names behind # ---


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["#,Name,HP"], ("#", "Name", "HP")),
        (["# made by x", "#chrom,start,score"], ("chrom", "start", "score")),
        (["##v=1,2,3", "#OTU ID,s1,s2"], ("OTU ID", "s1", "s2")),
    ],
)
def test_names_behind_a_comment_sign(tmp_path, lines, names):
    rows = [f"{i + 1},M{i % 9},{x}" for i, x in enumerate(X)]
    table = read(tmp_path, *lines, *rows)
    assert tuple(c.name for c in table.schema) == names and table.n_rows == N
    np.testing.assert_array_equal(table.values(names[2]), X)
    assert "the names of the columns were taken from a comment" in told(table)


def test_names_behind_a_number_sign_above_units(tmp_path):
    table = read(tmp_path, "#,x,n", ",kg,cm", *(f"{i + 1},{x},{i % 4}" for i, x in enumerate(X)))
    assert table.feature_names == ("x", "n") and table.n_rows == N and table.roles["#"] == "id"
    assert "1 row below the names (line 2) says more of the columns" in told(table)


def test_a_comment_above_names_is_a_comment(tmp_path):
    table = read(tmp_path, "# written by x, on Monday, in May", HEAD, *ROWS)
    assert table.feature_names == ("x", "n") and "1 comment line (#) left out" in told(table)
    years = read(tmp_path, "# by x, in May, at home", "place,2019,2020", *ROWS)
    assert years.feature_names == ("2019", "2020")
    # Where no column holds numbers nothing tells, and the line is a comment.
    words = read(
        tmp_path, "# by x, today", "a,b", *(f"{'uv'[i % 2]},{'wz'[i % 2]}" for i in range(9))
    )
    assert [c.name for c in words.schema] == ["a", "b"]


# --- lines ---


def test_rows_that_end_with_a_delimiter_more_than_the_names(tmp_path):
    table = read(tmp_path, HEAD, *(f"{row}," for row in ROWS))
    np.testing.assert_array_equal(table.values("x"), X)
    assert table.feature_names == ("x", "n")


@pytest.mark.parametrize("sign", [",", ";"])
def test_lines_in_quotation_marks_are_refused_with_what_to_do(tmp_path, sign):
    lines = [f'"{row.replace(",", sign)}"' for row in (HEAD, *ROWS)]
    with pytest.raises(
        FileFormatError, match=r"each line stands in quotation marks .* 3 columns; t"
    ):
        read(tmp_path, *lines)
    names = read(tmp_path, '"name"', *(f'"Last{i}, First"' for i in range(N)))
    assert names.n_rows == N


def test_names_aligned_above_cells_with_blanks_are_refused(tmp_path):
    rows = [f"{'Name ' + str(i):<14}{x:>8}{i:>8}" for i, x in enumerate(X)]
    with pytest.raises(
        FileFormatError, match=r"line 1: the names seem to be aligned .*fixed width"
    ):
        read(tmp_path, "NAME            VALUE   OTHER", *rows)
    # R leaves the place above the names of rows empty.
    printed = [f"K{i:<13}{x:>8}{i:>8}" for i, x in enumerate(X)]
    np.testing.assert_array_equal(
        read(tmp_path, " " * 17 + "VALUE   OTHER", *printed).values("VALUE"), X
    )


def test_a_last_row_that_alone_has_no_name_is_said(tmp_path):
    table = read(tmp_path, HEAD, *ROWS, ",2139,60")
    assert table.n_rows == N + 1
    assert f"the last row (line {N + 2}) is the only one without a value in 'key'" in told(table)
    assert "the last row" not in told(read(tmp_path, HEAD, ",1,1", *ROWS, ",2139,60"))


def test_another_table_below_is_refused_with_its_line(tmp_path):
    with pytest.raises(
        FileFormatError,
        match=rf"line {N + 3}: 2 cells from there to the end where the first row has 3",
    ):
        read(tmp_path, HEAD, *ROWS, "", "day,views", "1,5", "2,7")


def test_lines_of_json_are_read_as_the_message_says(tmp_path):
    import pandas as pd

    path = tmp_path / "t.json"
    path.write_text("".join(f'{{"x": {x}, "n": {i}}}\n' for i, x in enumerate(X)))
    with pytest.raises(FileFormatError, match="with lines=True where each line is one row"):
        Table.read(path)
    pd.read_json(path, lines=True).to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_array_equal(Table.read(tmp_path / "t.csv").values("x"), X)


# --- cells ---


def test_exponents_of_fortran(tmp_path):
    cells = [f"{x:.4E}".replace("E", "D") for x in X]
    np.testing.assert_allclose(of_cells(tmp_path, cells).values("value"), X)
    lines = [f"  {cell}  {cell.lower()}" for cell in cells]
    (tmp_path / "t.dat").write_text("\n".join([*lines, ""]))
    np.testing.assert_allclose(Table.read(tmp_path / "t.dat").values("x1"), X)
    assert of_cells(tmp_path, [f"{i % 9}D" for i in range(N)]).column("value").unit == "D"


def test_degrees_of_maps(tmp_path):
    cells = [f"{10 + i}°{i:02d}'{i / 2:.1f}\"{'NS'[i % 2]}" for i in range(N)]
    table = of_cells(tmp_path, cells)
    signs = np.where(np.arange(N) % 2, -1, 1)
    i = np.arange(N)
    np.testing.assert_allclose(table.values("value"), signs * (10 + i + i / 60 + i / 7200))
    assert table.column("value").unit == "°"
    assert "degrees, south and west negative" in told(table)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("52°30'N", 52.5), ("N 52°30'", 52.5), ("33.5° W", -33.5), ("-1°30'", -1.5),
        ("52º30\u203236\u2033 S", -52.51), ("20°", np.nan), ("20 N", np.nan), ("-5°S", np.nan),
        ("N52°N", np.nan), ("52°61'N", np.nan), ("52°30'O", np.nan),
    ],
)  # fmt: skip
def test_one_angle(text, value):
    np.testing.assert_allclose(read_angles([text])[0], [value])


def test_latitudes_are_not_beside_longitudes():
    assert not read_angles(["52°30'N", "13°24'E"])[1].any()


@pytest.mark.parametrize(
    ("text", "belongs"),
    [
        ("48.03, 11.78", True), ("-33.7;150.7", True), ("POINT (11.5 48.1)", True),
        ("(1.5, 2.5, 3.5)", True), ("1,5 2,5", True), ("1,5;2,5", True), ("10.0.0.1", False),
        ("v1.2.3", False), ("1,234.50", False), ("12.05.2024 on", False),
    ],
)  # fmt: skip
def test_several_decimal_numbers_in_a_cell(text, belongs):
    assert is_two_numbers(text) == belongs


def test_coordinates_in_one_cell_are_said(tmp_path):
    (note,) = of_cells(tmp_path, [f"{40 + i / 7:.4f}, {-x:.4f}" for i, x in enumerate(X)]
                       ).unused_numeric_notes  # fmt: skip
    assert "40 cells hold two numbers" in note and "in a column for each they are used" in note


@pytest.mark.parametrize(
    ("texts", "hours"),
    [
        (["PT1H30M", "PT90M", "P1DT1H", "PT36S"], [1.5, 1.5, 25, 0.01]),
        (["0 days 01:30:00", "1 day, 1:30:00", "-1 days +23:30:00"], [1.5, 25.5, -0.5]),
        (["2d 3h", "4h 30m"], [51, 4.5]),
        (["45:00", "1:15:00"], [0.75, 1.25]),  # minutes and seconds, beyond 23
        (["9:30", "9:30:36"], [9.5, 9.51]),
        (["100:30", "1:30:00"], [100.5, 1.5]),  # no minutes, beyond 59
        (["45:00", "30:15:00"], [45, 30.25]),  # hours on both sides
        (["7:30 Uhr", "7:30 h"], [7.5, 7.5]),
        (["P12", "PT", "5 d", "3 days"], [np.nan] * 4),
    ],
)
def test_durations(texts, hours):
    np.testing.assert_allclose(read_times(texts).values, hours)


def test_how_times_of_two_parts_were_read_is_said(tmp_path):
    assert "'7:00' read as hours and minutes" in told(of_cells(tmp_path, ["7:00", "8:30"] * 20))
    races = of_cells(tmp_path, ["52:10", "1:02:10"] * 20)
    assert "'52:10' read as minutes and seconds" in told(races)


@pytest.mark.parametrize(
    "text",
    ["2023-04-03 10:30 GMT+1", "2023-04-03 10:30:00 UTC+01:00", "2023-04-03 10:30 CET",
     "2023-04-03 04:30 EST", "Mon Apr 03 10:30:00 CET 2023", "Mon Apr 3 09:30:00 +0000 2023",
     "2023-04-03 09:30 GMT", "2023-04-03T10:30+01"],
)  # fmt: skip
def test_zones(text):
    moment = (date(2023, 4, 3) - date(1970, 1, 1)).days + 9.5 / 24
    assert parse_day(text, "ymd") == pytest.approx(moment, abs=1e-9)
    assert read_dates([text], np.array([1])) is not None


@pytest.mark.parametrize(("form", "order"), [("%d.%m.%y", "dmy"), ("%y/%m/%d", "ymd")])
def test_of_years_of_two_digits_the_order_with_fewest_years(form, order):
    texts = [format(day, form) for day in DAYS if day.month < 8]
    found = read_dates(texts, np.ones(len(texts), dtype=int))
    assert found.order == order and found.is_ambiguous and found.short_years


def test_months_with_years_of_two_digits(tmp_path):
    table = of_cells(tmp_path, ["Jan-20", "Feb-21", "Mrz 22", "Dec '99"] * 10)
    assert table.roles["value"] == "date"
    assert "months, as the day on which they begin; two digits behind a month taken as" in told(
        table
    )
    levels = of_cells(tmp_path, ["Jan-20", "Feb-21"] * 20, roles={"value": "nominal"})
    assert levels.column("value").levels == ("Feb-21", "Jan-20")
    # Of one word the figures are a number; of one or two they may be a day.
    assert not read_periods(["Set 10", "Set 12"]).good.any()
    assert not read_periods(["Jan 3", "Feb 4"]).good.any()


def test_a_sign_that_multiplies_is_not_in_numbers_without_it(tmp_path):
    cells = [f"{i + 1.5}K" if i % 3 else str(900 + i) for i in range(N)]
    (note,) = of_cells(tmp_path, cells).unused_numeric_notes
    assert "numbers in several units: K (26), none (14)" in note
    few = of_cells(tmp_path, ["950", *(f"{i}.5k" for i in range(1, N))])
    assert np.isnan(few.values("value")[0]) and "'950' in line 2" in told(few)


@pytest.mark.parametrize(
    "mark", ["MISSING", "not available", "NOT AVAILABLE", "sin dato", "No Data"]
)
def test_words_for_no_value_in_any_capitals(tmp_path, mark):
    table = of_cells(tmp_path, [mark if i % 5 == 2 else str(x) for i, x in enumerate(X)])
    assert np.isnan(table.values("value")).sum() == 8


def test_codes_whose_power_of_ten_is_large_are_said(tmp_path):
    table = of_cells(tmp_path, [f"{i % 9 + 1}E{10 + i % 9}" for i in range(N)])
    assert "column 'value': '1E10' has an exponent and was read as 10000000000" in told(table)


def test_several_choices_in_a_cell_are_said(tmp_path):
    levels = ["Bus, Car", "Bus", "Car, Bike", "Bike", "Bus, Bike", "Car"]
    table = of_cells(tmp_path, [levels[i % 6] for i in range(N)])
    assert "levels that seem to be several choices each ('Bus, Car', 'Car, Bike' and 1" in told(
        table
    )
    places = of_cells(tmp_path, [("Lyon, France", "Paris, France", "Rome, Italy")[i % 3]
                                 for i in range(N)])  # fmt: skip
    assert "choices" not in told(places)
    names = of_cells(tmp_path, [f"Last{i % 4}, First{i % 3}" for i in range(N)])
    assert "choices" not in told(names)


# --- keys and times ---


def test_keys_that_repeat_are_said_where_they_are_used(tmp_path):
    table = read(tmp_path, "patient_id,x", *(f"{i // 2},{x}" for i, x in enumerate(X)))
    assert "column 'patient_id': called like a key, but its values repeat" in told(table)
    names = read(tmp_path, "patient_id,x", *(f"P{i // 4},{x}" for i, x in enumerate(X)))
    assert "column 'patient_id': called like a key, but its values repeat" in told(names)


def test_columns_that_rise_from_row_to_row_are_said(tmp_path):
    table = read(tmp_path, "ts,y", *(f"{1672531200 + 60 * i},{i % 7}" for i in range(N)))
    assert "'ts' rises from each row to the next, as times" in told(table)
    table = read(tmp_path, "ts,y", *(f"{1672531200 + 60 * i},{i % 7}" for i in range(N)), "1,1")
    assert "rises" not in told(table)


def test_a_number_sign_counts_rows(tmp_path):
    table = read(tmp_path, '"#",x', *(f"{i + 1},{x}" for i, x in enumerate(X)))
    assert table.roles["#"] == "id"


def test_a_first_column_without_name_and_values(tmp_path):
    table = read(tmp_path, "|x|n|", *(f"|{x}|{i % 7}|" for i, x in enumerate(X)))
    assert "column 'index': has no values" in told(table)


def test_what_is_the_same_of_many_columns_is_said_once(tmp_path):
    table = read(tmp_path, "x,n" + "," * 5, *(f"{x},{i % 4}" + "," * 5 for i, x in enumerate(X)))
    (note,) = [note for note in table.notes if "has no values" in note]
    assert note.startswith("5 columns ('column2', 'column3',")


def test_a_row_of_numbers_can_be_said_to_be_names(tmp_path):
    table = read(tmp_path, "1990,2000", *(f"{x},{i % 4}" for i, x in enumerate(X)))
    assert table.n_rows == N + 1 and "header=True reads it as names" in told(table)
    named = read(tmp_path, "1990,2000", *(f"{x},{i % 4}" for i, x in enumerate(X)), header=True)
    assert named.feature_names == ("1990", "2000")
