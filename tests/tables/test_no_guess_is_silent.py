"""What of a file is taken for something, left out or kept is said; nothing happens in silence."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables.workbooks import xlsx

from subscape.core.errors import FileFormatError
from subscape.tables import Table
from subscape.tables.dates import parse_day
from subscape.tables.numbers import has_more_than_a_number, read_numbers
from subscape.tables.profile import far_ends
from subscape.tables.readers.dialect import find_escape

N = 40
X = [round(3.1 * i - 7, 1) for i in range(N)]
KEYS = [f"K{i}" for i in range(N)]
ROWS = [f"{key},{x},{i % 4}" for i, (key, x) in enumerate(zip(KEYS, X, strict=True))]
HEAD = "key,x,n"


def read(tmp_path, *lines, name="t.csv", **options):
    (tmp_path / name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    return Table.read(tmp_path / name, **options)


def told(table):
    return "\n".join(table.notes)


def of_cells(tmp_path, cells, **options):
    """A table of a column ``value`` and a number."""
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    return read(
        tmp_path, "value,b", *(f"{cell},{i % 7}" for i, cell in enumerate(quoted)), **options
    )


# --- rows that are none of the table ---


def test_sums_below_the_table_are_left_out_together(tmp_path):
    table = read(tmp_path, HEAD, *ROWS, "Summe,2139,60", "Mittelwert,53.5,1.5")
    np.testing.assert_array_equal(table.values("x"), X)
    assert "the last 2 rows, which begin with 'Summe', 'Mittelwert', were left out" in told(table)
    # A mean without a sum may be the name of a row.
    assert read(tmp_path, HEAD, *ROWS, "Mean,53.5,1.5").n_rows == N + 1


@pytest.mark.parametrize("word", ["Subtotal", "TOTAL", "Oslo Total", "Zwischensumme", "Ergebnis:"])
def test_sums_within_the_table_are_kept_and_said(tmp_path, word):
    table = read(
        tmp_path, HEAD, *ROWS[:20], f"{word},530,30", *ROWS[20:], f"{word},1600,30", "Z,1,1"
    )
    assert table.n_rows == N + 3
    assert f"column 'key' has 2 cells such as {word!r} (the first in line 22)" in told(table)
    assert "take them out" in told(table)


def test_words_that_only_begin_like_a_sum_are_names(tmp_path):
    names = ["Totalenergies", "Summerville", "Total loss of sight", "Gesamtschule"]
    rows = [f"{names[i % 4]},{x},{i % 4}" for i, x in enumerate(X)]
    assert "such as" not in told(read(tmp_path, HEAD, *rows))


def test_sums_in_a_workbook_are_said_with_their_row(tmp_path):
    rows = [["city", "n"], *([f"c{i}", i] for i in range(9)), ["Subtotal", 36], ["z", 3], ["y", 4]]
    (tmp_path / "t.xlsx").write_bytes(xlsx({"a": rows}))
    table = Table.read(tmp_path / "t.xlsx")
    assert "1 cell such as 'Subtotal' (the first in row 11 of the sheet)" in told(table)


def test_the_header_again_in_other_letters_is_left_out(tmp_path):
    table = read(tmp_path, "Key,X,Kind", *(f"k{i},{x},{'ab'[i % 2]}" for i, x in enumerate(X)),
                 "KEY,X ,kind", "k99,3.5,a")  # fmt: skip
    assert table.n_rows == N + 1 and table.column("Kind").levels == ("a", "b")
    assert f"come again in 1 row (line {N + 2}), left out there" in told(table)


def test_footnotes_with_delimiters_in_them_are_left_out(tmp_path):
    table = read(tmp_path, HEAD, *ROWS, "", "* provisional", "Source: the office, 2024")
    assert table.n_rows == N
    assert f"left out, from line {N + 4} on" in told(table) or "from line" in told(table)
    told_once = read(tmp_path, HEAD, *ROWS, "", "Source: the office, 2024")
    assert told_once.n_rows == N and f"from line {N + 3} on" in told(told_once)
    # A last row that was cut is no footnote.
    with pytest.raises(FileFormatError, match=f"line {N + 2}: 2 cells where the first row has 3"):
        read(tmp_path, HEAD, *ROWS, "some place,2.5")


def test_databases_and_markdown_draw_rules(tmp_path):
    rows = [f" {key} | {x} | {i}" for i, (key, x) in enumerate(zip(KEYS, X, strict=True))]
    for rule in ("-----+-----+----", ":----|----:|---:"):
        table = read(tmp_path, " key | x | n", rule, *rows, f"({N} rows)")
        np.testing.assert_array_equal(table.values("x"), X)
        assert table.feature_names == ("x", "n")
        assert "line 2, a rule below the names, was left out" in told(table)
        assert f"left out, from line {N + 3} on" in told(table)
    # Dashes that mean no value stand among values.
    dashed = read(tmp_path, HEAD, "K,---,---", *ROWS)
    assert dashed.n_rows == N + 1 and "rule" not in told(dashed)


def test_the_end_of_a_file_of_dos_is_no_row(tmp_path):
    assert read(tmp_path, "x,n", *(f"{x},{i}" for i, x in enumerate(X)), "\x1a").n_rows == N


# --- names ---


def test_names_in_two_lines_are_joined_where_the_upper_ones_tell_the_lower_apart(tmp_path):
    rows = [f"s{i},{x},{i},{-x},{i % 3}" for i, x in enumerate(X)]
    table = read(tmp_path, ",2023,,2024,", "Store,Sales,Cost,Sales,Cost", *rows)
    assert [c.name for c in table.schema] == [
        "Store", "2023 Sales", "2023 Cost", "2024 Sales", "2024 Cost"
    ]  # fmt: skip
    np.testing.assert_array_equal(table.values("2024 Sales"), -np.array(X))
    assert "the names of the columns stand in lines 1 and 2, and were joined" in told(table)
    # A title above different names tells nothing apart.
    plain = read(tmp_path, ",Report,,of May,", "Store,Sales,Cost,Gain,Tax", *rows)
    assert "joined" not in told(plain)


def test_a_head_as_wide_as_the_table_ends_at_a_blank_line(tmp_path):
    head = ["Instrument,XR-5,ok", "Operator,Jo,", ""]
    table = read(tmp_path, *head, HEAD, *ROWS)
    assert table.feature_names == ("x", "n")
    np.testing.assert_array_equal(table.values("x"), X)
    assert "2 lines before the table left out: 'Instrument XR-5 ok; Operator Jo'" in told(table)
    # Below data, a blank line and names are another table, and no header.
    twice = read(tmp_path, HEAD, *ROWS, "", "name,y,m", *ROWS)
    assert twice.n_rows == 2 * N + 1 and "'y' in line" in told(twice)


def test_a_plain_index_read_twice_names_rows_twice(tmp_path):
    rows = [f"{i},{i},{x}" for i, x in enumerate(X)]
    table = read(tmp_path, "Unnamed: 0.1,Unnamed: 0,x", *rows)
    assert table.feature_names == ("x",)


# --- quotation marks and columns ---


def test_quotation_marks_behind_backslashes(tmp_path):
    rows = [f'{x},"say \\"yes, {i}\\", please",{i % 3}' for i, x in enumerate(X)]
    table = read(tmp_path, "x,note,n", *rows)
    np.testing.assert_array_equal(table.values("x"), X)
    assert table.values("note")[7] == 'say "yes, 7", please'
    assert "behind a backslash were read as part of their cells" in told(table)
    paths = read(tmp_path, "x,note,n", *(f'{x},"C:\\dir{i}\\",{i % 3}' for i, x in enumerate(X)))
    assert paths.values("note")[7] == "C:\\dir7\\" and "backslash" not in told(paths)


@given(st.lists(st.tuples(st.text('ab,"\\ ', max_size=8), st.integers(0, 9)), min_size=3))
def test_doubled_quotation_marks_are_never_taken_for_escaped_ones(rows):
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    assert find_escape(out.getvalue(), ",", True) == ""


def test_single_quotes_that_would_be_torn_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"line 2: a cell in single quotes .* 39 more; quote"):
        read(tmp_path, "x,note", *(f"{x},'a, b {i % 3}'" for i, x in enumerate(X)))
    kept = read(tmp_path, "x,note", *(f"{x},'a {i % 3}'" for i, x in enumerate(X)))
    assert kept.n_rows == N


def test_columns_aligned_by_blanks_are_refused_where_they_cannot_be_told_apart(tmp_path):
    cities = ["New York", "Bern", "Los Angeles"]
    rows = [f"{cities[i % 3]:<14}{x:>12}{i:>6}" for i, x in enumerate(X)]
    with pytest.raises(FileFormatError, match=r"fixed width.*save it with a delimiter"):
        read(tmp_path, *rows)


# --- cells ---


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["Rs. 12,34,567/-", "500/-"], [1234567, 500]),
        (["٣", "٤٢"], [3, 42]),
        (["१,२३४.५", "५"], [1234.5, 5]),
        (["3 °C", "4 ° C"], [3, 4]),
        (["1 year", "2 years"], [1, 2]),
        (["1 Tag", "4 Tage"], [1, 4]),
    ],
)
def test_numbers_of_more_people(tmp_path, cells, values):
    table = of_cells(tmp_path, cells * 15)
    np.testing.assert_array_equal(table.values("value"), values * 15)


def test_a_fraction_is_no_unit():
    found = read_numbers(["3½", "4½"], np.array([5, 5]))
    assert not found.good.any()


@pytest.mark.parametrize(
    "mark", ["\\N", "(null)", "#NV", "#WERT!", "…", "n.d.", "(blank)", "1.#IND"]
)
def test_more_signs_for_no_value(tmp_path, mark):
    table = of_cells(tmp_path, [mark if i % 5 == 2 else str(x) for i, x in enumerate(X)])
    gone = np.arange(N) % 5 == 2
    np.testing.assert_array_equal(table.values("value"), np.where(gone, np.nan, X))


@pytest.mark.parametrize(
    "cells",
    [
        [f"{x} ({x - 1:.1f} to {x + 1:.1f})" for x in X],
        [f"[{x}, {i}]" for i, x in enumerate(X)],
        [f"{abs(x)} × 10³" for x in X],
        [f"${abs(x)}B" for x in X],
        [f"{abs(x)} Mio. €" for x in X],
        [f"{i + 1} {i % 3 + 1}/4" for i in range(N)],
    ],
)
def test_a_number_and_more_is_not_used_and_said(tmp_path, cells):
    (note,) = of_cells(tmp_path, cells).unused_numeric_notes
    assert "40 cells hold a number and more: " in note and "in a column of its own" in note


def test_dates_and_codes_are_not_a_number_and_more():
    for text in ("10.0.0.1", "+49 30 1234", "K12 (a)", "2024-12-31", "A/1", "17"):
        assert not has_more_than_a_number(text)


def test_levels_of_figures_have_no_order_and_it_is_said(tmp_path):
    ages = ["18-25", "26-35", "36-50", "50+"]
    table = of_cells(tmp_path, [ages[i % 4] for i in range(N)])
    assert "levels such as '18-25', '26-35', '36-50' and 1 more have no order" in told(table)
    said = table.column("value").note
    assert "(columns=…)" in said
    ordered = of_cells(
        tmp_path, [ages[i % 4] for i in range(N)], columns={"value": {"order": ages}}
    )
    np.testing.assert_array_equal(ordered.values("value")[:5], [1, 2, 3, 4, 1])
    words = of_cells(tmp_path, [("low", "mid", "high")[i % 3] for i in range(N)])
    assert words.column("value").note == ""


def test_levels_that_differ_in_capitals_are_kept_apart_and_said(tmp_path):
    table = of_cells(tmp_path, [("Bern", "bern", "Oslo")[i % 3] for i in range(N)])
    assert table.column("value").levels == ("Bern", "Oslo", "bern")
    assert "differ in capitals or blanks only are kept apart: 'Bern', 'bern'" in told(table)


def test_numbers_that_may_be_codes(tmp_path):
    table = read(tmp_path, "sku,x", *(f"{i % 9 + 1}E{i % 4},{x}" for i, x in enumerate(X)))
    assert "column 'sku': '1E0' has an exponent and was read as 1; if these are codes" in told(
        table
    )


def test_what_is_left_as_text_has_a_way_out_that_works(tmp_path):
    cells = ["x" if i % 10 == 3 else str(x) for i, x in enumerate(X)]
    (note,) = of_cells(tmp_path, cells).unused_numeric_notes
    assert (
        "36 of 40 cells are numbers, 4 are not: 'x'; give it the role numeric (columns=…)" in note
    )
    table = of_cells(tmp_path, cells, columns={"value": {"role": "numeric"}})
    np.testing.assert_array_equal(np.isnan(table.values("value")), np.arange(N) % 10 == 3)


# --- dates ---

DAY = date(2023, 4, 3)


@pytest.mark.parametrize(
    "text",
    ["Monday, 03 April 2023", "Mo, 3. April 2023", "3 avr. 2023", "3 de abril de 2023",
     "2023年4月3日", "Mon 3 Apr 2023", "lun. 3 avr. 2023", "Monday, April 3, 2023"],
)  # fmt: skip
def test_days_in_words(text):
    days = (DAY - date(1970, 1, 1)).days
    assert {parse_day(text, order) for order in ("ymd", "dmy", "mdy")} == {days}


def test_what_stands_before_a_date_must_be_a_day_of_the_week():
    assert parse_day("rue 3 mai 2023", "dmy") is None


def test_years_in_front_are_read_among_days_in_front(tmp_path):
    days = [DAY + timedelta(days=17 * i) for i in range(N)]
    cells = [day.isoformat() if i % 2 else f"{day:%d.%m.%Y}" for i, day in enumerate(days)]
    table = of_cells(tmp_path, cells)
    np.testing.assert_array_equal(
        table.values("value").astype("datetime64[D]"), np.array(days, "datetime64[D]")
    )
    assert "two digits" not in told(table)


def test_dates_that_are_too_few_are_said(tmp_path):
    days = [DAY + timedelta(days=17 * i) for i in range(N)]
    cells = [f"{day:%d/%m/%Y}" if i % 4 else f"week {i}" for i, day in enumerate(days)]
    table = of_cells(tmp_path, cells)
    assert table.roles["value"] != "date"
    assert "30 of 40 cells are dates in the order d/m/y, 10 are not: 'week 0'" in told(table)
    table = of_cells(tmp_path, cells, roles={"value": "date"})
    assert np.isnat(table.values("value")).sum() == 10


# --- values ---


def test_codes_for_no_value_are_said_and_the_advice_works(tmp_path):
    cells = [-999 if i % 10 == 3 else i % 7 for i in range(N)]
    table = read(tmp_path, "v,x", *(f"{c},{x}" for c, x in zip(cells, X, strict=True)))
    (note,) = [n for n in table.notes if n.startswith("-999")]
    assert note.endswith("(0 to 6): if it means that there is none, say missing=-999")
    assert np.isnan(
        read(tmp_path, "v,x", *(f"{c},{x}" for c, x in zip(cells, X, strict=True)), missing=-999)
        .values("v")
    ).sum() == 4  # fmt: skip


@pytest.mark.parametrize(
    ("values", "is_code"),
    [
        ([1, 2, 3, 9999, 9999, 5], True),
        ([1.5, 2, -99, 3, -99, 2], True),
        ([0, 1, 2**16 - 1, 2**16 - 1, 2], True),
        ([20, 50, 99, 99, 80, 3], False),  # as far from the others as these from each other
        ([1, 2, 3, 4, 5, 999], False),  # once
        ([1, 2, 3, 1000, 1000, 5], False),  # no nines
        ([99, 99, 99, 99, 99, 99], False),
        ([5, 5, 99, 99, 5, 5], False),  # two values are levels
    ],
)
def test_which_numbers_may_be_codes(values, is_code):
    assert bool(far_ends(["v"], np.array(values, float)[:, None])) == is_code


def test_rows_without_any_value_are_said(tmp_path):
    table = read(tmp_path, "x,y", *(f"{x},{i}" for i, x in enumerate(X)), ",", "?,n/a", "1,2")
    assert "2 rows without any value among the features" in table.notes


def test_letters_that_may_be_wrong_have_a_way_out(tmp_path):
    (tmp_path / "t.csv").write_bytes("city,x\nŁódź,1\nWrocław,2\n".encode("cp1250"))
    assert "read as cp1252 (where letters look wrong, say encoding=…)" in told(
        Table.read(tmp_path / "t.csv")
    )
    mended = Table.read(tmp_path / "t.csv", encoding="cp1250")
    assert mended.values("city").tolist() == ["Łódź", "Wrocław"]


# --- workbooks ---


def of_sheet(tmp_path, rows, **options):
    (tmp_path / "t.xlsx").write_bytes(xlsx({"a": rows}, **options))
    return Table.read(tmp_path / "t.xlsx")


def test_names_again_in_a_sheet_of_words(tmp_path):
    words = [["mf"[i % 2], "abc"[i % 3]] for i in range(N)]
    again = of_sheet(tmp_path, [["sex", "kind"], *words[:20], ["Sex", "KIND"], *words[20:]])
    assert again.n_rows == N and again.column("sex").levels == ("f", "m")
    assert "the names of the columns come again in 1 row (the first is row 22 of" in told(again)
    assert "empty rows" not in told(again)
    # Where one of them stands among other cells, too, it is a level.
    levels = of_sheet(tmp_path, [["sex", "kind"], *words, ["sex", "kind"], ["m", "kind"]])
    assert levels.n_rows == N + 2 and "come again" not in told(levels)


def test_years_merged_over_names_are_joined_with_them(tmp_path):
    rows = [[f"S{i}", x, i, -x, i % 3] for i, x in enumerate(X)]
    head = [[None, 2023, None, 2024, None], ["Store", "Sales", "Cost", "Sales", "Cost"]]
    table = of_sheet(tmp_path, head + rows, merged=["B1:C1", "D1:E1"])
    assert table.feature_names == ("2023 Sales", "2023 Cost", "2024 Sales", "2024 Cost")
    assert table.n_rows == N and "come again" not in told(table)
    assert "the names of the columns stand in rows 1 and 2, and were joined" in told(table)


def test_a_file_that_is_not_there_has_a_neighbour(tmp_path):
    (tmp_path / "groups.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(FileNotFoundError, match=r"no file '.*grups\.csv'; did you mean '.*groups"):
        Table.read(tmp_path / "grups.csv")
    with pytest.raises(FileNotFoundError, match=r"no file '.*other\.csv'$"):
        Table.read(tmp_path / "other.csv")
    with pytest.raises(FileNotFoundError, match=r"no file '.*grups\.csv'$"):
        Table.read(tmp_path / "nowhere" / "grups.csv")


def test_a_sign_at_few_numbers_is_no_unit_of_all(tmp_path):
    cells = [f"{x} b" if i % 10 == 3 else str(x) for i, x in enumerate(X)]
    table = of_cells(tmp_path, cells)
    np.testing.assert_array_equal(table.values("value"), X)
    assert table.column("value").unit == ""
    assert "'b' at 4 numbers left out, as no unit of the rest" in told(table)
    half = of_cells(tmp_path, [f"{x} kg" if i % 2 else str(x) for i, x in enumerate(X)])
    assert half.column("value").unit == "kg"
    few = of_cells(tmp_path, cells, columns={"value": {"unit": "b"}})
    assert few.column("value").unit == "b"


def test_files_that_were_joined_with_their_byte_order_marks(tmp_path):
    table = read(tmp_path, HEAD, *ROWS[:20], "\ufeff" + HEAD, *ROWS[20:])
    np.testing.assert_array_equal(table.values("x"), X)
    assert "come again in 1 row (line 22)" in told(table)


def test_rules_around_a_list(tmp_path):
    rows = [f"|{key:<6}|{x:>8}|" for key, x in zip(KEYS, X, strict=True)]
    rule = "-" * 17
    table = read(tmp_path, "List of May", rule, "|key   |       x|", rule, *rows, rule)
    np.testing.assert_array_equal(table.values("x"), X)


def test_keys_of_which_one_is_missing_are_no_feature(tmp_path):
    rows = [f"{1000 + 7 * i},{x}" for i, x in enumerate(X)]
    table = read(tmp_path, "Respondent ID,x", ",", *rows)
    assert table.feature_names == ("x",)
    assert "keys that differ in every row but those that have none" in told(table)
