"""Sheets of workbooks: what is read, what is said, what is refused."""

from __future__ import annotations

import sys
from datetime import date

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tables.workbooks import ods, xlsx

from subscape.tables.readers.workbook import _locks_and_macros
from subscape.tables.table import Table
from subscape.testing.damage import KINDS, Specimen, damaged, outcome

NAN = np.nan
ROWS = [
    ["who", "age", "city", "joined", "member", "fee"],
    *(
        [f"p{i}", 20 + i, "Oslo" if i % 2 else "Rome", date(2020, 1, 1 + i), i % 3 == 0,
         f"€ {i},50" if i != 5 else "n/a"]
        for i in range(12)
    ),
]  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.xlsx"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_kinds_of_cells(write):
    table = Table.read(write(xlsx({"people": ROWS})))
    assert table.roles == {
        "who": "id", "age": "numeric", "city": "nominal", "joined": "date", "member": "nominal",
        "fee": "numeric",
    }  # fmt: skip
    np.testing.assert_array_equal(table.values("age"), np.arange(20, 32))
    assert table.values("joined")[3] == np.datetime64("2020-01-04")
    assert table.column("member").levels == ("False", "True")
    fees = [NAN if i == 5 else i + 0.5 for i in range(12)]
    np.testing.assert_array_equal(table.values("fee"), fees)
    assert table.source["format"] == "workbook" and table.source["sheet"] == "people"
    assert table.column("fee").unit == "EUR"


def test_open_document(write):
    rows = [row[:3] for row in ROWS]
    table = Table.read(write(ods(rows), "t.ods"))
    assert table.roles == {"who": "id", "age": "numeric", "city": "nominal"}
    np.testing.assert_array_equal(table.values("age"), np.arange(20, 32))


def test_sheets_by_name(write):
    path = write(xlsx({"notes": [], "first": ROWS, "second": [["a", "b"], [1, 2], [3, 4]]}))
    table = Table.read(path)
    assert table.source["sheet"] == "first"
    assert any("'first' was read; there is also 'second'" in note for note in table.notes)
    np.testing.assert_array_equal(Table.read(path, sheet="second").X, [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="no sheet 'third'; it has 'notes', 'first', 'second'"):
        Table.read(path, sheet="third")
    with pytest.raises(ValueError, match="is empty"):
        Table.read(path, sheet="notes")


def test_a_sheet_of_notes_is_not_the_table(write):
    book = {"read me": [["The data are on the next sheet"], ["Ask Jo"]], "data": ROWS}
    table = Table.read(write(xlsx(book)))
    assert table.source["sheet"] == "data"
    assert any("'data' was read; there is also 'read me'" in note for note in table.notes)


def test_a_title_above_the_table_and_no_names(write):
    titled = [["Members 2020", *[None] * 5], [None] * 6, *ROWS]
    table = Table.read(write(xlsx({"s": titled})))
    assert table.shape[0] == 12 and "age" in table.roles
    assert any("above the table left out: 'Members 2020'" in note for note in table.notes)
    bare = Table.read(write(xlsx({"s": [[1, 2], [3, 4], [5, 6]]})))
    assert bare.feature_names == ("x0", "x1") and bare.shape == (3, 2)


def test_merged_cells_are_said(write):
    table = Table.read(write(xlsx({"s": ROWS}, merged=["C2:C4"])))
    assert any("1 merged range in the sheet (C2:C4)" in note for note in table.notes)
    assert any("unmerge them" in note for note in table.notes)


def test_a_merged_title_is_a_title(write):
    titled = [["Members 2020", *[None] * 5], *ROWS]
    table = Table.read(write(xlsx({"s": titled}, merged=["A1:F1"])))
    assert not any("merged" in note for note in table.notes)
    assert any("'Members 2020'" in note for note in table.notes)


def test_typed_numbers_beside_texts_with_decimal_commas(write):
    rows = [["a", "b"], *([f"{i},5" if i % 2 else i + 0.25, i] for i in range(20))]
    table = Table.read(write(xlsx({"s": rows})))
    np.testing.assert_array_equal(
        table.values("a"), [i + 0.5 if i % 2 else i + 0.25 for i in range(20)]
    )


def test_remarks_below_and_empty_rows_between_are_said(write):
    rows = [*ROWS, [None] * 6, ["Source: the club", *[None] * 5]]
    table = Table.read(write(xlsx({"s": rows})))
    assert table.n_rows == 12
    assert "1 row below the table left out: 'Source: the club'" in table.notes
    assert not any("empty rows" in note for note in table.notes)
    texts = [["a", "b"], *[["x", "y"]] * 5, [None, None], ["c", "d"], *[["u", "v"]] * 5]
    table = Table.read(write(xlsx({"s": texts})))
    assert any("below empty rows (row 8) was read as part of the same" in n for n in table.notes)


def test_a_sheet_without_names(write):
    table = Table.read(write(xlsx({"s": [[i, 2.5 * i, "pq"[i % 2]] for i in range(12)]})))
    assert table.feature_names == ("x0", "x1", "x2") and table.n_rows == 12


def test_names_in_two_rows_are_joined(write):
    head = [["who", "2023", None, "2024", None], [None, "sales", "cost", "sales", "cost"]]
    rows = [*head, *([f"p{i}", i, 2 * i, i % 5, i % 3] for i in range(12))]
    merged = ["A1:A2", "B1:C1", "D1:E1"]
    table = Table.read(write(xlsx({"s": rows}, merged=merged)))
    assert table.row_names is not None and table.shape[0] == 12
    assert table.feature_names == ("2023 sales", "2023 cost", "2024 sales", "2024 cost")
    assert "the names of the columns stand in rows 1 and 2, and were joined" in table.notes
    assert not any("merged range" in note for note in table.notes)
    titled = Table.read(write(xlsx({"s": [["Members", None, None], *rows[1:]]}, merged=["A1:E1"])))
    assert "sales" in titled.feature_names


def test_places_are_those_of_the_sheet(write):
    odd = [["x", "y"], *([i, i % 7] for i in range(40))]
    odd[12] = ["about ten", 3]
    table = Table.read(write(xlsx({"s": [[None, None], ["Title", None], [None, None], *odd]})))
    assert any("'about ten' in row 16 of the sheet" in note for note in table.notes)


def test_several_tables_in_one_sheet_are_refused(write):
    beside = [[1.0, 2.0, None, 3.0, 4.0] for _ in range(5)]
    beside.insert(0, ["a", "b", None, "c", "d"])
    with pytest.raises(ValueError, match=r"side by side \(column C between them is empty\)"):
        Table.read(write(xlsx({"s": beside})))
    below = [["a", "b"], [1, 2], [3, 4], [None, None], ["c", "d"], [5, 6], [7, 8]]
    with pytest.raises(ValueError, match=r"one below the other .* begins at row 5.*of its own"):
        Table.read(write(xlsx({"s": below})))


def test_a_second_table_of_other_columns_under_a_title_of_its_own(write):
    first = [["name", "x", None], *([f"n{i}", i % 7, None] for i in range(20)), [None] * 3]
    second = [["city", "area", "people"], *([f"c{i}", i, 2 * i] for i in range(20))]
    for title in ([], [["Cities", None, None]], [["Cities", None, None], [None] * 3]):
        begins = 23 if len(title) < 2 else 25
        with pytest.raises(ValueError, match=f"the second begins at row {begins}"):
            Table.read(write(xlsx({"s": [*first, *title, *second]})))


def test_gaps_and_remarks_make_no_second_table(write):
    rows = [["name", "x", "y"], *([f"n{i}", i % 7, i % 5] for i in range(40))]
    rows[20] = ["n19", "n/a", "-"]
    table = Table.read(write(xlsx({"s": [*rows[:20], [None] * 3, *rows[20:]]})))
    assert table.shape == (40, 2) and np.isnan(table.X[19]).all()
    for remarks in (["see below", "see below"], ["see below", 3], ["see below", None]):
        rows[20] = ["n19", *remarks]
        table = Table.read(write(xlsx({"s": rows})))
        assert table.shape == (40, 2)
        assert not any("another table" in note for note in table.notes)


def test_names_that_come_again_on_every_page_are_left_out(write):
    head, rows = ["name", "x", "y"], [[f"n{i}", i % 7, i % 5] for i in range(40)]
    pages = [head, *rows[:15], head, *rows[15:30], head, *rows[30:]]
    table = Table.read(write(xlsx({"s": pages})))
    assert table.shape == (40, 2) and table.roles["x"] == "numeric"
    assert any(
        "come again in 2 rows (the first is row 17 of the sheet), left out" in note
        for note in table.notes
    )


def test_other_names_right_below_are_said(write):
    rows = [["a", "b"], *([i, i % 7] for i in range(30)), ["c", "d"], *([i, 2] for i in range(30))]
    table = Table.read(write(xlsx({"s": rows})))
    assert any("row 32 of the sheet has names where numbers stand above" in n for n in table.notes)


def test_a_row_of_sums_is_left_out_and_said(write, tmp_path):
    rows = [["city", "x", "y"], *([f"c{i}", i, i % 5] for i in range(20))]
    for last in (["Total", 190, 40], ["Gesamtsumme:", 190, None]):
        table = Table.read(write(xlsx({"s": [*rows, [None] * 3, last]})))
        assert table.shape == (20, 2)
        assert any(f"begins with {last[0]!r}, was left out" in note for note in table.notes)
    text = "\n".join(";".join(map(str, row)) for row in [*rows, ["Insgesamt", "190", ""]])
    (tmp_path / "t.csv").write_text(text + "\n")
    table = Table.read(tmp_path / "t.csv")
    assert table.shape == (20, 2) and any("'Insgesamt', was left out" in n for n in table.notes)
    # One of the levels of a column, or the only cell of its row, is no such word.
    for last in (["Total", 190, 40], ["Total", None, None]):
        ends = [["Total", 5, 6], last] if last[1] else [last]
        table = Table.read(write(xlsx({"s": [*rows, *ends]})))
        assert table.shape[0] == 20 + len(ends)


def test_a_hidden_sheet_is_not_the_table(write):
    book = {"old": [["a", "b"], [1, 2], [3, 4]], "now": ROWS}
    table = Table.read(write(xlsx(book, hidden=["old"])))
    assert table.source["sheet"] == "now"
    assert any("'now' was read; there is also hidden 'old'" in note for note in table.notes)
    only = Table.read(write(xlsx({"old": ROWS}, hidden=["old"])))
    assert only.source["sheet"] == "old"


@pytest.mark.parametrize("far", [500, 3_000_000])
def test_a_password_is_refused_with_the_way_out(write, far):
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    locked = container + bytes(far) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(ValueError, match="protected by a password; open it and save it without"):
        Table.read(write(locked))


def test_a_password_of_open_document(write):
    with pytest.raises(ValueError, match=r"t\.ods is protected by a password; open it and save it"):
        Table.read(write(ods([row[:3] for row in ROWS], locked=True), "t.ods"))


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (xlsx({"s": ROWS}, parts={"xl/vbaProject.bin": b"Auto_Open"}), "t.xlsm"),
        # The name says nothing of them.
        (xlsx({"s": ROWS}, parts={"xl/vbaProject.bin": b"Auto_Open"}), "t.xlsx"),
        (ods([row[:3] for row in ROWS], parts={"Basic/Standard/M.xml": b"Sub Main"}), "t.ods"),
    ],
    ids=["xlsm", "xlsx", "ods"],
)
def test_macros_are_never_run_and_that_is_said(write, content, name):
    table = Table.read(write(content, name))
    assert table.shape[0] == 12
    assert any("macros in the workbook were not looked at" in note for note in table.notes)


def test_a_workbook_without_macros_is_not_said_to_have_some(write):
    for name in ("t.xlsx", "t.xlsm"):
        assert not any(
            "macros" in note for note in Table.read(write(xlsx({"s": ROWS}), name)).notes
        )


def test_macros_of_old_workbooks(write):
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000_000)
    assert _locks_and_macros(write(old, "t.xls")) == (False, False)
    path = write(old + "_VBA_PROJECT_CUR".encode("utf-16-le"), "t.xls")
    assert _locks_and_macros(path) == (False, True)


def test_a_damaged_workbook(write):
    whole = xlsx({"s": ROWS})
    with pytest.raises(ValueError, match=r"t\.xlsx"):
        Table.read(write(whole[: len(whole) // 2]))


def test_options_that_do_not_apply(write):
    with pytest.raises(ValueError, match="is a workbook: delimiter"):
        Table.read(write(xlsx({"s": ROWS})), delimiter=",")
    with pytest.raises(ValueError, match="is no workbook: sheet does not apply"):
        Table.read(write(b"a,b\n1,2\n", "t.csv"), sheet="s")


def test_without_calamine_it_is_said_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"subscape\[excel\]"):
        Table.read(write(xlsx({"s": ROWS})))


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_damaged_workbooks_are_read_or_refused(tmp_path, kind):
    whole = xlsx({"s": ROWS}) if kind == "xlsx" else ods([row[:3] for row in ROWS])
    specimen = Specimen(f"t.{kind}", whole, Table.read)
    seen = set()

    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(KINDS), st.floats(0, 1), st.floats(0, 1), st.integers(1, 255))
    def damage(how, place, other, value):
        seen.add(outcome(specimen, damaged(whole, how, place, other, value), tmp_path))

    damage()
    assert outcome(specimen, whole, tmp_path) == "read"
    assert "refused" in seen
