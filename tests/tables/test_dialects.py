"""Files as different programs write them are read as their writers meant."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from tests.tables.business import MEASURES, business_export

from subscape.tables.table import Table

NAN = np.nan
N = 12
CITY = ["Zürich", "Oslo", "São Paulo"] * 4
AMOUNT = [1234.5, -0.25, 17.75, 2500000.125, 3.5, -12.5, 0.5, 99.25, 1000.75, 8.5, 7.25, 61.5]
COUNT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
FRAME = pd.DataFrame({"city": CITY, "amount": AMOUNT, "count": COUNT})


def lines(delimiter=",", decimal=".", quote=csv.QUOTE_MINIMAL, end="\n", head=True, thousands=""):
    """The table by Python's own writer."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=quote, lineterminator=end)
    if head:
        writer.writerow(["city", "amount", "count"])
    for city, amount, count in zip(CITY, AMOUNT, COUNT, strict=True):
        text = f"{amount:,.3f}".replace(",", "T").replace(".", decimal).replace("T", thousands)
        writer.writerow([city, text, count])
    return out.getvalue()


def by_r(delimiter=" ", names=True, decimal="."):
    """The table by R's ``write.table`` and its kin: the row names have no name."""
    head = delimiter.join(f'"{name}"' for name in FRAME.columns)
    body = [
        delimiter.join([f'"{i + 1}"', f'"{c}"', str(a).replace(".", decimal), str(n)])
        for i, (c, a, n) in enumerate(zip(CITY, AMOUNT, COUNT, strict=True))
    ]
    return "\n".join([head if names else f'""{delimiter}{head}', *body, ""])


def by_pandas(**how):
    return FRAME.to_csv(**how)


def by_polars(**how):
    return pl.from_pandas(FRAME).write_csv(**how)


def by_arrow(**how):
    sink = io.BytesIO()
    arrow_csv.write_csv(pa.table(FRAME), sink, arrow_csv.WriteOptions(**how))
    return sink.getvalue()


def zipped(text):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", text)
    return sink.getvalue()


def zstandard(text):
    return pa.Codec("zstd").compress(text.encode(), asbytes=True)


PLAIN = lines()
NUMBERED = FRAME.set_index(pd.Index(range(100, 100 + 10 * N, 10)))
NAMED = FRAME.set_index(pd.Index([f"r{i}" for i in range(N)], name="who"))
FILES = {
    "comma": PLAIN,
    "semicolon": lines(";"),
    "tab": lines("\t"),
    "pipe": lines("|"),
    "blank": lines(" ", quote=csv.QUOTE_NONNUMERIC),
    "all quoted": lines(quote=csv.QUOTE_ALL),
    "semicolon, all quoted": lines(";", quote=csv.QUOTE_ALL),
    "carriage return and line feed": lines(end="\r\n"),
    "carriage return": lines(end="\r"),
    "no line end at the end": PLAIN.rstrip("\n"),
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "German Excel": lines(";", ",").encode("cp1252"),
    "German Excel with thousands": lines(";", ",", thousands=".").encode("cp1252"),
    "French Excel with thousands": lines(";", ",", thousands="\u202f"),
    "Swiss Excel with thousands": lines(";", ".", thousands="'"),
    "English Excel with thousands": lines(",", ".", thousands=","),
    "tabs and decimal commas": lines("\t", ","),
    "commas in quotes": lines(",", ",", quote=csv.QUOTE_NONNUMERIC),
    "byte-order mark": lines().encode("utf-8-sig"),
    "UTF-16": lines(";", ",").encode("utf-16"),
    "UTF-16, big end first": b"\xfe\xff" + lines("\t").encode("utf-16-be"),
    "latin-1": lines().encode("latin-1"),
    "Excel's sep line": "sep=;\r\n" + lines(";", ",", end="\r\n"),
    "Excel's sep line, tab": "sep=\t\n" + lines("\t"),
    "R write.csv": by_r(",", names=False),
    "R write.csv2": by_r(";", names=False, decimal=","),
    "R write.table": by_r(" "),
    "R write.table with tabs": by_r("\t"),
    "R write.table with commas": by_r(","),
    "R without row names": lines(quote=csv.QUOTE_NONNUMERIC),
    "pandas": by_pandas(index=False),
    "pandas with its index": by_pandas(),
    "pandas with numbers as index": NUMBERED.to_csv(),
    "pandas with a named index": NAMED.to_csv(),
    "pandas, its index read and written again": by_pandas().replace(",city", "Unnamed: 0,city", 1),
    "pandas with tabs": by_pandas(sep="\t", index=False),
    "pandas with semicolons and commas": by_pandas(sep=";", decimal=",", index=False),
    "polars": by_polars,
    "polars with semicolons": partial(by_polars, separator=";"),
    "polars, always quoted": partial(by_polars, quote_style="always"),
    "arrow": by_arrow(),
    "arrow with tabs": by_arrow(delimiter="\t", quoting_style="none"),
    "a title": "Sales of the year\n" + PLAIN,
    "a title and a blank line": "Sales of the year\nby city\n\n" + lines(";", ","),
    "a title padded with delimiters": "Sales of the year,,\n,,\n" + PLAIN,
    "comments before": "# made by a machine\n# version 3, beta\n" + PLAIN,
    "comments between": PLAIN.replace("Oslo,-0", "# look, here, and, there\nOslo,-0").replace(
        "Zürich,2500000.125,1\n", "Zürich,2500000.125,1\n# the large one\n"
    ),
    "gzip": gzip.compress(PLAIN.encode(), mtime=0),
    "bzip2": bz2.compress(PLAIN.encode()),
    "xz": lzma.compress(PLAIN.encode()),
    "zip": zipped(PLAIN),
    "zstd": zstandard(PLAIN * 1),
}


def content(dialect):
    text = FILES[dialect]
    # Polars works in threads, which whoever only collects tests does without.
    text = text() if callable(text) else text
    return text if isinstance(text, bytes) else text.encode()


def test_there_are_many_dialects():
    contents = [content(dialect) for dialect in FILES]
    assert len(set(contents)) >= 40


@pytest.mark.parametrize("dialect", FILES)
def test_files_are_read_as_their_writers_meant(tmp_path, dialect):
    path = tmp_path / "t.txt"
    path.write_bytes(content(dialect))
    table = Table.read(path)
    assert table.feature_names == ("city", "amount", "count")
    assert table.roles["city"] == "nominal"
    assert table.values("city").tolist() == CITY
    np.testing.assert_allclose(table.values("amount"), AMOUNT, rtol=1e-15)
    np.testing.assert_array_equal(table.values("count"), COUNT)
    assert table.unused_numeric_notes == ()
    indexed = "write.csv" in dialect or "write.table" in dialect or "its index" in dialect
    assert (table.row_names is not None) == (indexed or " index" in dialect)
    if dialect == "pandas with numbers as index":
        assert table.row_names == tuple(str(100 + 10 * i) for i in range(N))
    if "title" in dialect or "comments" in dialect:
        assert any("left out" in note for note in table.notes)


def test_feather(tmp_path):
    feather.write_feather(NAMED, tmp_path / "t.feather")
    table = Table.read(tmp_path / "t.feather")
    assert table.source["format"] == "feather"
    assert table.row_names == tuple(f"r{i}" for i in range(N))
    np.testing.assert_array_equal(table.values("amount"), AMOUNT)


def test_numpy_puts_its_names_into_a_comment(tmp_path):
    X = np.arange(12.0).reshape(4, 3) / 4
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c")
    table = Table.read(tmp_path / "t.csv")
    assert table.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(table.X, X)
    np.savetxt(tmp_path / "t.txt", X)
    np.testing.assert_array_equal(Table.read(tmp_path / "t.txt").X, X)


def test_quoted_line_breaks_in_every_row(tmp_path):
    rows = [["note", "x"], *([f"line one\nline {i}, two", i] for i in range(20))]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    table = Table.read(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.values("x"), np.arange(20))
    assert table.values("note")[3] == "line one\nline 3, two"


def test_decimal_commas_with_units_do_not_make_the_comma_a_delimiter(tmp_path):
    # Each row has as many commas as the next, and behind the last one stands a digit alone.
    lines = [f"K{i};{i}.200.300;{i % 9},5 %;{i + 10},50 €;{i},{i % 10}" for i in range(1, 41)]
    text = "Bericht 2024;;;;\nvom 3.1.2025;;;;\nKunde;Umsatz;Marge;Gebühr;Größe\n"
    (tmp_path / "t.csv").write_text(text + "\n".join(lines) + "\n", encoding="cp1252")
    table = Table.read(tmp_path / "t.csv")
    assert table.source["delimiter"] == ";" and table.source["decimal"] == ","
    assert table.feature_names == ("Umsatz", "Marge", "Gebühr", "Größe")
    assert table.values("Umsatz")[0] == 1_200_300 and table.values("Größe")[1] == 2.2


def test_titles_above_two_columns(tmp_path):
    lines = ["Report 2024;", "made by Jo;", "x;y", *(f"{i};{i % 7}" for i in range(30))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    table = Table.read(tmp_path / "t.csv")
    assert table.feature_names == ("x", "y") and table.shape == (30, 2)
    unnamed = ["x;", *(f"{i};{i % 7}" for i in range(30))]
    (tmp_path / "t.csv").write_text("\n".join(unnamed) + "\n")
    assert Table.read(tmp_path / "t.csv").shape == (30, 2)


def test_a_header_full_of_another_delimiter(tmp_path):
    head = '"' + ";".join("abcdefghijklmno") + '",x,y\n'
    (tmp_path / "t.csv").write_text(head + "".join(f"t{i % 3},{i},{i * i}\n" for i in range(30)))
    table = Table.read(tmp_path / "t.csv")
    assert table.source["delimiter"] == "," and table.shape == (30, 3)
    from subscape.files.formats import read_clusterings

    labels = "row,label;a;b;c;d;e;f;g;h;i;j;k;l;m\n" + "".join(f"{i},{i % 2}\n" for i in range(9))
    (tmp_path / "l.csv").write_text(labels)
    [found] = read_clusterings(tmp_path / "l.csv")
    np.testing.assert_array_equal(found.labels(), np.arange(9) % 2)


# --- each kind of dirt alone ---


def column(tmp_path, cells, *, encoding="utf-8", **options):
    """A column of these cells beside a number, after a trip through a file."""
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows([["x", "k"], *([cell, i] for i, cell in enumerate(cells))])
    return Table.read(path, **options)


NUMBERS = [
    (["3,750,728", "12,001", "1"], [3750728, 12001, 1], ""),
    (["1 234", "12 345 678", "1"], [1234, 12345678, 1], ""),
    (["1.234.567,89", "0,5", "12"], [1234567.89, 0.5, 12], ""),
    (["1'234.5", "0.5", "12"], [1234.5, 0.5, 12], ""),
    (["12,34,567", "1,234.5", "12"], [1234567, 1234.5, 12], ""),
    (["18.7%", "3 %", "-4%"], [18.7, 3, -4], "%"),
    (["€ 39.10", "€1,200.5", "-€ 5"], [39.1, 1200.5, -5], "EUR"),
    (["$1,200", "$ 3.50", "($7.25)"], [1200, 3.5, -7.25], "$"),
    (["39,10 €", "1.200,00 EUR", "5 €"], [39.1, 1200, 5], "EUR"),
    (["CHF 1'200.50", "CHF 39.-", "Fr. 5.25"], [1200.5, 39, 5.25], "CHF"),
    (["12kg", "3.5 kg", "1,200 Kg"], [12, 3.5, 1200], "kg"),
    (["3.5 cm", "12 cm", "7.25cm"], [3.5, 12, 7.25], "cm"),
    (["20 °C", "-3.5°C", "7 °C"], [20, -3.5, 7], "°C"),
    (["9.8 m/s²", "3 m/s²", "1.5 m/s²"], [9.8, 3, 1.5], "m/s²"),
    (["(1,200)", "35", "(0.5)"], [-1200, 35, -0.5], ""),
    (["1,200-", "35", "0.5-"], [-1200, 35, -0.5], ""),
    (["−5", "+3", "\u22121.5"], [-5, 3, -1.5], ""),
    (["0,5", "12,25", "3"], [0.5, 12.25, 3], ""),
    (["1.5e3", "2E-2", "7"], [1500, 0.02, 7], ""),
    (["7:30", "12:05:36", "0:15"], [7.5, 12.09333333333333, 0.25], "h"),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "values", "unit"), NUMBERS, ids=lambda x: str(x)[:30])
def test_numbers_as_people_write_them(tmp_path, cells, values, unit):
    table = column(tmp_path, cells * 4)
    assert table.roles["x"] == "numeric"
    np.testing.assert_allclose(table.values("x"), values * 4, rtol=1e-14)
    assert table.column("x").unit == unit


MARKS = ["n/a", "NA", "-", "?", "none", "null", "#N/A", ".", "", "N.A.", "--", "k.A.", "unknown"]


@pytest.mark.parametrize("mark", MARKS)
def test_one_sign_for_no_value_does_not_cost_the_column(tmp_path, mark):
    table = column(tmp_path, [*(f"{i}.5" for i in range(60)), mark])
    np.testing.assert_array_equal(table.values("x"), [*(i + 0.5 for i in range(60)), NAN])
    assert not any("no number" in note for note in table.notes)


def test_what_is_no_number_is_counted_named_and_placed(tmp_path):
    cells = [*map(str, range(95)), "abc", "abc", "see remark", "12 or 13", "<5"]
    table = column(tmp_path, cells)
    assert table.roles["x"] == "numeric"
    np.testing.assert_array_equal(table.values("x"), [*range(95), *[NAN] * 5])
    [note] = [note for note in table.notes if note.startswith("column 'x'")]
    assert (
        "5 cells that are no numbers taken as missing: 'abc', '12 or 13', '<5' and 1 more" in note
    )
    assert "('abc' in line 97)" in note
    table = column(tmp_path, [*cells, "one more"])
    assert table.roles["x"] != "numeric"
    [said] = table.unused_numeric_notes
    assert "95 of 101 cells are numbers, 6 are not: 'abc'" in said
    assert table.notes[0] == said


def test_minus_999_is_a_number_unless_it_is_said(tmp_path):
    cells = ["1", "-999", "3", "-999.0"]
    np.testing.assert_array_equal(column(tmp_path, cells).values("x"), [1, -999, 3, -999])
    told = column(tmp_path, cells, missing=-999)
    np.testing.assert_array_equal(told.values("x"), [1, NAN, 3, NAN])
    mine = column(tmp_path, cells, columns={"x": {"missing": "-999"}})
    np.testing.assert_array_equal(mine.values("x"), [1, NAN, 3, NAN])


def test_mixed_units_are_said_and_not_guessed(tmp_path):
    cells = [*(f"{i} kg" for i in range(20)), *(f"{i} lb" for i in range(10))]
    table = column(tmp_path, cells)
    [said] = table.unused_numeric_notes
    assert "several units: kg (20), lb (10)" in said and "line 22" in said
    repaired = column(tmp_path, cells, columns={"x": {"unit": "kg"}})
    np.testing.assert_array_equal(repaired.values("x"), [*range(20), *[NAN] * 10])
    assert repaired.unused_numeric_notes == ()
    assert any("10 cells in another unit taken as missing: '0 lb'" in n for n in repaired.notes)
    few = column(tmp_path, [*(f"{i} kg" for i in range(60)), "7 lb", "soon"])
    [said] = [note for note in few.notes if note.startswith("column 'x'")]
    assert "1 cell that is no number taken as missing: 'soon'" in said
    assert "1 cell in another unit taken as missing: '7 lb' ('7 lb' in line 62)" in said
    shares = column(tmp_path, ["18.7%", "0.187", "3%", "0.03"] * 5)
    assert "several units: % (10), none (10)" in shares.unused_numeric_notes[0]


def test_two_conventions_in_one_column_are_said_and_not_guessed(tmp_path):
    cells = [*(f"{i}.5" for i in range(20)), *(f"{i},25" for i in range(20))]
    table = column(tmp_path, cells)
    [said] = table.unused_numeric_notes
    assert "two conventions: '0,25' beside '0.5'" in said and "line 22" in said
    repaired = column(tmp_path, cells, columns={"x": {"decimal": ","}})
    np.testing.assert_array_equal(
        repaired.values("x"), [*[NAN] * 20, *(i + 0.25 for i in range(20))]
    )
    few = column(tmp_path, [*(f"{i}.5" for i in range(60)), "1.234,5"])
    assert np.isnan(few.values("x")[60])
    said = "1 cell with another decimal sign taken as missing: '1.234,5' ('1.234,5' in line 62)"
    assert any(said in note for note in few.notes)


def test_what_could_be_two_numbers_is_said(tmp_path):
    table = column(tmp_path, ["1,234", "2,345"] * 5)
    np.testing.assert_array_equal(table.values("x"), [1234, 2345] * 5)
    assert any("'1,234' could be two numbers and was read as 1234" in note for note in table.notes)
    sure = column(tmp_path, ["1,234", "2,345", "12,345.5"] * 5)
    assert sure.values("x")[2] == 12345.5
    assert not any("could be" in note for note in sure.notes)
    told = column(tmp_path, ["1,234", "2,345"] * 5, decimal=",")
    np.testing.assert_array_equal(told.values("x"), [1.234, 2.345] * 5)


def test_thousands_in_one_column_and_decimals_in_another(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1.234;0,5\n2.345;1,5\n")
    table = Table.read(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[1234, 0.5], [2345, 1.5]])


def test_large_integers_do_not_collapse_in_silence(tmp_path):
    cells = [str(2**62 + i) for i in range(40)]
    table = column(tmp_path, cells)
    assert table.values("x").tolist() == cells
    assert "neighbours would become equal" in table.unused_numeric_notes[0]
    # Also where they come after the part of the file that is looked at first.
    (tmp_path / "t.csv").write_text("x,k\n" + "7,1\n" * 500 + "\n".join(f"{c},2" for c in cells))
    table = Table.read(tmp_path / "t.csv")
    assert table.values("x").tolist() == ["7"] * 500 + cells
    frame = Table.read(pd.DataFrame({"x": [2**62 + i for i in range(40)], "k": range(40)}))
    assert frame.values("x").tolist() == cells and frame.unused_numeric_notes
    asked = Table.read(tmp_path / "t.csv", roles={"x": "numeric"})
    assert asked.values("x")[0] == 7 and asked.roles["x"] == "numeric"
    assert any("40 whole numbers of 16 digits and more rounded, 39" in n for n in asked.notes)
    # A few among many other numbers don't cost the column, but are said.
    few = column(tmp_path, [*map(str, range(900)), *cells])
    assert few.roles["x"] == "numeric" and few.values("x")[-1] == 2.0**62
    assert any("39 different ones became equal" in note for note in few.notes)


DATES = [
    (["2024-12-31", "2024-02-03"], ["2024-12-31", "2024-02-03"]),
    (["2024/12/31", "2024/02/03"], ["2024-12-31", "2024-02-03"]),
    (["31.12.2024", "3.2.2024"], ["2024-12-31", "2024-02-03"]),
    (["31/12/2024", "03/02/2024"], ["2024-12-31", "2024-02-03"]),
    (["12/31/2024", "02/03/2024"], ["2024-12-31", "2024-02-03"]),
    (["12/31/24", "02/03/24"], ["2024-12-31", "2024-02-03"]),
    (["31-Dec-2024", "3 Feb 2024"], ["2024-12-31", "2024-02-03"]),
    (["Dec 31, 2024", "February 3, 2024"], ["2024-12-31", "2024-02-03"]),
    (["31. Dezember 2024", "3. März 2024"], ["2024-12-31", "2024-03-03"]),
    (["31.12.2024 18:30", "3.2.2024 6:00"], ["2024-12-31T18:30", "2024-02-03T06:00"]),
    (["12/31/2024 6:30 PM", "2/3/2024 12:00 am"], ["2024-12-31T18:30", "2024-02-03"]),
    (["2024-12-31T18:30:00Z", "2024-02-03T06:00:00+01:00"],
     ["2024-12-31T18:30", "2024-02-03T05:00"]),
    (["2024-12-31T18:30:07.250", "2024-02-03 06:00:00,5 -02:30"],
     ["2024-12-31T18:30:07.250", "2024-02-03T08:30:00.500"]),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "days"), DATES, ids=lambda x: str(x)[:30])
def test_dates_in_the_usual_orders(tmp_path, cells, days):
    table = column(tmp_path, cells * 5)
    assert table.roles["x"] == "date"
    expected = np.array(days * 5, dtype="datetime64[ms]")
    np.testing.assert_array_equal(table.values("x"), expected)
    assert not any("exchanged" in note for note in table.notes)


def test_dates_that_could_be_two_are_said_and_can_be_told(tmp_path):
    cells = ["01/02/2024", "03/04/2024"] * 5
    table = column(tmp_path, cells)
    assert any(
        "day and month could be exchanged; read in the order d/m/y" in n for n in table.notes
    )
    assert table.values("x")[0] == np.datetime64("2024-02-01")
    told = column(tmp_path, cells, columns={"x": {"dates": "mdy"}})
    assert told.values("x")[0] == np.datetime64("2024-01-02")
    assert not any("exchanged" in note for note in told.notes)


def test_a_date_among_dates_that_is_none(tmp_path):
    cells = [*(f"{i % 28 + 1}.3.2024" for i in range(40)), "soon", "n/a"]
    table = column(tmp_path, cells)
    assert table.roles["x"] == "date" and np.isnat(table.values("x")[-2:]).all()
    assert any("1 cell that is no date taken as missing: 'soon'" in note for note in table.notes)


@pytest.mark.parametrize(
    ("cells", "levels"),
    [
        (["yes", "no"], ("no", "yes")),
        (["Y", "n", "y", "N"], ("n", "Y")),
        (["ja", "Nein", "nein", "J"], ("Nein", "ja")),
        (["True", "FALSE", "true", "false"], ("FALSE", "True")),
        (["oui", "non", "Oui"], ("non", "oui")),
    ],
)
def test_yes_and_no_in_words(tmp_path, cells, levels):
    table = column(tmp_path, cells * 5)
    assert table.roles["x"] == "nominal"
    assert set(table.column("x").levels) == set(levels)
    assert len(np.unique(table.nominal["x"])) == 2


def test_words_that_are_no_yes_or_no_keep_their_spelling(tmp_path):
    table = column(tmp_path, ["N", "S", "n", "W"] * 5)
    assert set(table.column("x").levels) == {"N", "S", "n", "W"}


def test_none_is_a_level_among_words(tmp_path):
    table = column(tmp_path, ["none", "some", "many"] * 5)
    assert table.column("x").levels == ("many", "none", "some")


def test_free_text_keys_constants_and_copies_are_listed_with_the_reason(tmp_path):
    rng = np.random.default_rng(0)
    celsius = rng.normal(20, 5, 40).round(2)
    frame = pd.DataFrame(
        {
            "sku": [f"A{i}" for i in range(40)],
            "remark": [f"the customer wrote letter {i // 2 if i < 4 else i}" for i in range(40)],
            "mandant": ["0815"] * 40,
            "celsius": celsius,
            "fahrenheit": 32 + 1.8 * celsius,
            "again": celsius,
        }
    )
    frame.drop(columns="again").to_csv(tmp_path / "t.csv", index=False)
    table = Table.read(tmp_path / "t.csv")
    assert table.roles["sku"] == "id" and table.roles["remark"] == "ignore"
    said = "\n".join(table.notes)
    assert "column 'sku': text that differs in every row" in said
    assert "column 'remark': free text with 38 different values in 40 rows" in said
    assert "1 feature with a single value: 'mandant'" in said
    assert "1 near copy: 'fahrenheit' follows 'celsius'" in said
    said = "\n".join(Table.read(frame).notes)
    assert "'again' repeats 'celsius'" in said
    assert "1 near copy: 'fahrenheit' follows 'celsius'" in said
    # Gaps of the one are gaps of the other; columns that have only those in common are no copies.
    frame["other"] = rng.normal(size=40)
    frame.loc[[3, 17, 30], ["celsius", "fahrenheit", "other"]] = np.nan
    said = "\n".join(Table.read(frame.drop(columns="again")).notes)
    assert "1 near copy: 'fahrenheit' follows 'celsius'" in said


def test_names_that_repeat_get_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a,a (2),b\n1,2,3,4,5\n6,7,8,9,0\n")
    table = Table.read(tmp_path / "t.csv")
    assert len(set(table.feature_names)) == 5 and table.feature_names[:2] == ("a", "b")
    np.testing.assert_array_equal(table.X[0], [1, 2, 3, 4, 5])
    assert any("2 column names occurred more than once" in note for note in table.notes)


def test_rows_of_unequal_length_can_be_padded(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,2,3\n4,5\n6,7,8\n9\n")
    with pytest.raises(ValueError, match=r"line 3: 2 cells where the first row has 3, and 1 other"):
        Table.read(path)
    table = Table.read(path, ragged="pad")
    np.testing.assert_array_equal(table.X, [[1, 2, 3], [4, 5, NAN], [6, 7, 8], [9, NAN, NAN]])
    assert any("2 rows of another length" in n and "line 3, 5" in n for n in table.notes)
    with pytest.raises(ValueError, match="'refuse' or 'pad'"):
        Table.read(path, ragged="cut")


def test_two_encodings_in_one_file_are_refused_with_the_place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("k,ort\n1,Zürich\n2,Genf\n".encode() + "3,Orléans\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"line 2 is UTF-8, line 4 \(column 'ort'\) is not"):
        Table.read(path)
    assert Table.read(path, encoding="cp1252").values("ort")[2] == "Orléans"


def test_what_is_said_of_a_column_is_done(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size,w\n" + "small,1\nbig,10\nmiddle,100\nhuge,1000\n" * 5)
    said = {"size": {"order": "small|middle|big"}, "w": {"transform": "log", "unit": "g"}}
    table = Table.read(path, columns=said)
    np.testing.assert_array_equal(table.values("size")[:4], [1, 3, 2, NAN])
    np.testing.assert_allclose(table.values("w")[:4], np.log([1, 10, 100, 1000]))
    assert table.column("w").unit == "g" and table.column("size").order[0] == "small"
    assert any("5 cells not in the order that was said" in note for note in table.notes)
    levels = Table.read(
        path, columns={"size": {"order": "small|middle|big|huge", "role": "nominal"}}
    )
    assert levels.column("size").levels == ("small", "middle", "big", "huge")
    for wrong, message in [
        ({"w": {"colour": "red"}}, "nothing called 'colour'"),
        ({"w": {"transform": "cube"}}, "no transform 'cube'"),
        ({"w": {"dates": "ddd"}}, "no order of dates 'ddd'"),
        ({"size": {"order": "a|a"}}, "twice in its order"),
        ({"v": {"unit": "g"}}, "no column 'v'"),
    ]:
        with pytest.raises(ValueError, match=message):
            Table.read(path, columns=wrong)
    path.write_text("w\n0\n1\n")
    with pytest.raises(ValueError, match="has the value 0, of which there is no log"):
        Table.read(path, columns={"w": {"transform": "log"}})


# --- all of it in one file ---


def test_a_business_export(tmp_path):
    export = business_export()
    (tmp_path / "kunden.csv").write_bytes(export.content)
    table = Table.read(tmp_path / "kunden.csv")
    assert table.row_names == tuple(export.ids)
    for name in MEASURES:
        np.testing.assert_allclose(table.values(name), export.values[name], rtol=1e-12)
    units = {name: table.column(name).unit for name in MEASURES}
    assert units == dict(zip(MEASURES, ["EUR", "%", "kg", "", ""], strict=True))
    assert table.roles["Seit"] == "date" and table.roles["Bemerkung"] == "id"
    assert len(table.column("Aktiv").levels) == 2
    said = "\n".join(table.notes)
    assert "line before the table left out: 'Auswertung Kunden'" in said
    assert "1 column name occurred more than once and got a number: 'Bemerkung (2)'" in said
    assert "'Mandant'" in said and "4 spellings of yes and no" in said
    unused = "\n".join(table.unused_numeric_notes)
    assert "'Paket'" in unused and "several units" in unused
    assert "'Schlüssel'" in unused and "become equal" in unused
    assert len(table.unused_numeric_notes) == 2
    X = np.column_stack([table.values(name) for name in MEASURES])
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    X = np.log(np.abs(X))
    found = KMeans(3, n_init=5, random_state=0).fit_predict((X - X.mean(0)) / X.std(0))
    assert adjusted_rand_score(export.groups, found) > 0.9


# -- what offices and others write, one at a time --------------------------------------------------


def test_decimal_commas_in_the_only_column_make_no_second_one(tmp_path):
    values = [1202.05, 88.5, 2653090.13, 0.75, 13.0, 4.25]
    cells = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in values]
    (tmp_path / "t.csv").write_text("\n".join(["Preis", *cells, ""]))
    table = Table.read(tmp_path / "t.csv")
    assert table.roles == {"Preis": "numeric"}
    np.testing.assert_array_equal(table.values("Preis"), values)
    # As R writes names of rows without quotes: they run from 1 on.
    (tmp_path / "t.csv").write_text("x\n1,50\n2,75\n3,20\n4,35\n")
    table = Table.read(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.values("x"), [50, 75, 20, 35])


@pytest.mark.parametrize("sign", [";", "\t"])
def test_of_two_equal_delimiters_the_one_that_splits_the_header_too(tmp_path, sign):
    lines = [f"C{i}{sign}{i + 1}\u00a0202,0{i} kr" for i in range(9)]
    (tmp_path / "t.csv").write_text("\n".join([f"k{sign}kwota", *lines, ""]), "utf-8")
    table = Table.read(tmp_path / "t.csv")
    np.testing.assert_allclose(
        table.values("kwota"), [1000 * (i + 1) + 202 + i / 100 for i in range(9)]
    )


def test_a_head_of_names_and_values_stands_above_the_table(tmp_path):
    head = "Report;;;\nCreated;01.02.2023;;\nBy;Jo;;\n;;;\n"
    lines = [f"x{i};{i},5;{i} %;{'AB'[i % 2]}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join([head + "Name;Umsatz;Anteil;Ort", *lines, ""]))
    table = Table.read(tmp_path / "t.csv")
    assert table.feature_names == ("Umsatz", "Anteil", "Ort") and table.n_rows == 12
    assert any("'Report; Created 01.02.2023; By Jo; '" in note for note in table.notes)
    # Two names over four columns are names, if no better ones stand below.
    (tmp_path / "t.csv").write_text("a;b;;\n1;2;3;4\n5;6;7;8\n9;1;2;4\n")
    assert Table.read(tmp_path / "t.csv").feature_names == ("a", "b", "column2", "column3")


@pytest.mark.parametrize("end", ["\nSource: office of statistics\nAs of 2023\n",
                                 "Source: office of statistics,,\nAs of 2023,,\n"])  # fmt: skip
def test_remarks_below_the_table_are_left_out_and_said(tmp_path, end):
    lines = [f"x{i % 4},{i},{i / 8}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *lines, end]))
    table = Table.read(tmp_path / "t.csv")
    assert table.n_rows == 12
    assert any("below the table" in note and "left out" in note for note in table.notes)


@pytest.mark.parametrize("last", ["x3", "x3,7", "1 500", '"a sentence\nof two lines"'])
def test_a_row_that_was_cut_is_no_remark(tmp_path, last):
    lines = [f"x{i % 4},{i},{i / 8}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *lines, last, ""]))
    with pytest.raises(ValueError, match=r"line 1[45]: \d cells? where the first row has 3"):
        Table.read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("cells", "example"),
    [
        ([f"~{i * 37}" for i in range(20)], "~"),
        ([f"<{i}.5" for i in range(20)], "<"),
        ([f"0.{i:02d}{'*' * (1 + i % 3)}" for i in range(20)], "*"),
        ([f"{i}.5 ± 0.1" for i in range(20)], "±"),
        ([f'"=""{i:03d}"""' for i in range(20)], '=""'),
    ],
)
def test_numbers_with_signs_at_them_are_not_used_and_that_is_said(tmp_path, cells, example):
    table = written(tmp_path, cells)
    (note,) = table.unused_numeric_notes
    assert "20 of 20 cells are numbers with other signs at them" in note
    assert example.replace('""', '"') in note and "in line 2" in note


@pytest.mark.parametrize(
    "cells",
    [
        [f"{110 + i}/{70 + i % 9}" for i in range(20)],
        [f"52.{i:02d} -13.4" for i in range(20)],
        [f"{i % 11}-{12 + i % 11}" for i in range(20)],
    ],
)
def test_two_numbers_in_a_cell_are_not_used_and_that_is_said(tmp_path, cells):
    (note,) = written(tmp_path, cells).unused_numeric_notes
    assert "20 cells hold two numbers" in note and repr(min(cells)) in note


def test_codes_and_levels_of_figures_are_not_called_numbers(tmp_path):
    few = written(tmp_path, [("20-29", "30-39", "40-49")[i % 3] for i in range(20)])
    assert not few.unused_numeric_notes and "value" in few.nominal
    for cell in ("A{}-{}", "{} of {} days late", "no {}/{}"):
        table = written(tmp_path, [cell.format(100 + i, i % 9) for i in range(20)])
        assert not table.unused_numeric_notes
    # Almost all cells must be such: here four of five are.
    some = [f"{110 + i}/{70 + i}" if i % 5 else f"word {chr(97 + i)}" for i in range(20)]
    assert not written(tmp_path, some).unused_numeric_notes


def written(tmp_path, cells):
    lines = [f"{cell},{i % 7}" for i, cell in enumerate(cells)]
    (tmp_path / "t.csv").write_text("\n".join(["value,b", *lines, ""]), "utf-8")
    return Table.read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "cells",
    [
        [f"+49 30 {1000000 + 37 * i}" for i in range(20)],
        [f"10.0.{i}.1" for i in range(20)],
        [f"2023-Q{1 + i % 4}" for i in range(20)],
        [("18-25", "26-35", "36-50", "51+")[i % 4] for i in range(20)],
        [f"#{i}" for i in range(20)],
    ],
    ids=["phones", "addresses", "quarters", "ranges", "orders"],
)
def test_what_only_has_figures_in_it_is_not_said_to_be_numbers(tmp_path, cells):
    assert written(tmp_path, cells).unused_numeric_notes == ()


def test_a_minus_behind_a_number_is_none_before_a_word(tmp_path):
    answers = ("1 - never", "2", "3", "4", "5 - always")
    table = written(tmp_path, [answers[i % 5] for i in range(20)])
    (note,) = table.unused_numeric_notes
    assert "12 of 20 cells are numbers, 8 are not: '1 - never', '5 - always'" in note
    table = written(tmp_path, [f"{i}50- €" for i in range(1, 21)])
    np.testing.assert_array_equal(table.values("value"), [-(i * 100 + 50) for i in range(1, 21)])


def test_wide_signs_are_signs(tmp_path):
    table = written(tmp_path, [f"\uffe5{i}\uff18\uff10" for i in range(1, 21)])
    np.testing.assert_array_equal(table.values("value"), [i * 100 + 80 for i in range(1, 21)])
    assert written(tmp_path, [f"{i}.5\uff05" for i in range(20)]).column("value").unit == "%"


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        ([f"2023{1 + i % 12:02d}{1 + i:02d}" for i in range(20)], "2023-01-01"),
        ([f"2023-{1 + i % 12:02d}" for i in range(20)], "2023-01-01"),
        ([f"{1 + i % 12}/2023" for i in range(20)], "2023-01-01"),
        ([("März 2023", "April 2024")[i % 2] for i in range(20)], "2023-03-01"),
        ([f"2023-W{1 + i % 4:02d}" for i in range(20)], "2023-01-02"),
        ([f"2021KW{1 + i}" for i in range(20)], "2021-01-04"),
        ([f"2023-Q{2 + i % 3}" for i in range(20)], "2023-04-01"),
        ([f"Q{4 - i % 4} 2023" for i in range(20)], "2023-10-01"),
        ([f"{3 - i % 3}Q2023" for i in range(20)], "2023-07-01"),
    ],
    ids=["eight figures", "year-month", "month/year", "names of months", "weeks", "KW", "quarters",
         "Q4 first", "3Q"],
)  # fmt: skip
def test_dates_without_signs_and_months(tmp_path, cells, first):
    table = written(tmp_path, cells)
    assert table.roles["value"] == "date"
    assert str(table.values("value")[0])[:10] == first
    assert any("column 'value'" in note for note in table.notes)


def test_periods_are_called_by_their_names(tmp_path):
    for cells, said in (
        ([f"2023-W{1 + i % 4:02d}" for i in range(20)], "weeks, as the day on which they begin"),
        ([f"2023-Q{1 + i % 4}" for i in range(20)], "quarters, as the day on which they begin"),
    ):
        assert any(said in note for note in written(tmp_path, cells).notes)
    late = [*(f"2021-W{1 + i:02d}" for i in range(52)), "2021-W53"]  # 2021 had 52 weeks
    (note,) = (n for n in written(tmp_path, late).notes if "weeks" in n)
    assert "1 cell that is no week taken as missing: '2021-W53'" in note
    for cells in (["Q1", "Q2", "Q3", "Q4"] * 5, ["W1", "W2"] * 10, ["2023-A1", "2023-A2"] * 10):
        assert written(tmp_path, cells).roles["value"] == "nominal"


def test_eight_figures_that_are_no_days_are_numbers(tmp_path):
    for cells in (
        [f"2023{1 + i % 13:02d}{1 + i:02d}" for i in range(20)],  # a thirteenth month
        ["20230101", "20230102"] * 10,  # too few to tell
        [f"1{i:02d}/1000" for i in range(20)],
    ):
        assert written(tmp_path, cells).roles["value"] != "date"
    (tmp_path / "t.csv").write_text("d\n" + "".join(f"202301{i:02d}\n" for i in range(1, 20)))
    assert Table.read(tmp_path / "t.csv").roles == {"d": "date"}
    assert Table.read(tmp_path / "t.csv", roles={"d": "numeric"}).roles == {"d": "numeric"}


def test_hours_and_minutes_by_their_letters(tmp_path):
    table = written(tmp_path, [f"{i}h {3 * i}m" if i else "45 min" for i in range(20)])
    np.testing.assert_allclose(
        table.values("value"), [0.75, *(i + 3 * i / 60 for i in range(1, 20))]
    )
    assert written(tmp_path, [f"{i} m" for i in range(20)]).column("value").unit == "m"


@pytest.mark.parametrize("name_and_cell", ["a b/2 kg", "a:b/12:30", "a:b:c/10:30:15"])
def test_one_column_of_numbers_with_blanks_or_colons_is_one(tmp_path, name_and_cell):
    name, cell = name_and_cell.split("/")
    (tmp_path / "t.csv").write_text(f"{name}\n" + f"{cell}\n" * 9)
    assert Table.read(tmp_path / "t.csv").roles == {name: "numeric"}


def test_another_delimiter_is_proposed_and_one_that_is_said_is_believed(tmp_path):
    (tmp_path / "t.csv").write_text("a:b\n" + "".join(f"{i}.5:x{i}\n" for i in range(9)))
    with pytest.raises(ValueError, match=r"has one column, but each row holds ':' 1 time; say"):
        Table.read(tmp_path / "t.csv")
    assert len(Table.read(tmp_path / "t.csv", delimiter=":").schema) == 2
    assert len(Table.read(tmp_path / "t.csv", delimiter=",").schema) == 1


def joined(tmp_path, row, header="kind,size,when,code", at=(3, 7), n=12, end="\n"):
    lines = [header]
    for i in range(n):
        if i in at:
            lines.append(header)
        lines.append(row(i))
    (tmp_path / "t.csv").write_bytes((end.join(lines) + end).encode())
    return Table.read(tmp_path / "t.csv")


def of_four(i):
    return f"{'ab'[i % 2]},{i}.5,2023-01-{1 + i:02d},00{100 + i}"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_header_that_comes_again_is_left_out_and_said(tmp_path, end):
    table = joined(tmp_path, of_four, end=end)
    assert table.n_rows == 12
    assert table.roles == {"kind": "nominal", "size": "numeric", "when": "date", "code": "numeric"}
    assert table.column("kind").levels == ("a", "b")
    np.testing.assert_array_equal(table.values("size"), np.arange(12) + 0.5)
    said = "the names of the columns come again in 2 rows (line 5, 10), left out there"
    assert said in table.notes
    assert any("'00100' begins with zeros" in note for note in table.notes)
    assert not any("no numbers" in note for note in table.notes)


@pytest.mark.parametrize(
    ("at", "said"),
    [((3,), "1 row (line 5)"), ((3, 7, 9), "3 rows (line 5, 10, 13)"),
     ((3, 5, 7, 9), "4 rows (line 5, 8, 11, …)")],
)  # fmt: skip
def test_three_lines_of_headers_are_named(tmp_path, at, said):
    table = joined(tmp_path, of_four, at=at)
    assert f"the names of the columns come again in {said}, left out there" in table.notes


def test_a_header_that_comes_again_keeps_the_numbers_of_lines(tmp_path):
    def row(i):
        return "a,what,2023-01-30,00999" if i == 11 else of_four(i % 20)

    table = joined(tmp_path, row, n=40)
    (note,) = (n for n in table.notes if "'size'" in n and "number" in n)
    assert "'what' in line 15" in note  # twelve rows, and the header three times


@pytest.mark.parametrize("first", ["#a remark\n", ""])
def test_a_header_that_comes_again_in_a_file_read_row_by_row(tmp_path, first):
    body = "kind,size\n" + "".join(f"{'ab'[i % 2]},{i}\n" for i in range(9))
    (tmp_path / "t.csv").write_text(body + first + body)
    table = Table.read(tmp_path / "t.csv")
    assert table.n_rows == 18 and table.roles == {"kind": "nominal", "size": "numeric"}
    line = 12 if first else 11
    assert any(f"come again in 1 row (line {line})" in note for note in table.notes)


def test_a_header_that_comes_again_with_an_index(tmp_path):
    table = joined(tmp_path, lambda i: f"{i},{'ab'[i % 2]},{i}.5", header=",kind,size")
    assert table.n_rows == 12 and table.column("kind").levels == ("a", "b")
    assert list(table.roles)[1:] == ["kind", "size"]


def test_levels_that_are_names_elsewhere_stay(tmp_path):
    # The file has no header: its first row holds levels, which come in other rows apart.
    cells = [("yes", "no")[i % 2] + "," + ("yes", "no")[i // 2 % 2] for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(cells) + "\n")
    table = Table.read(tmp_path / "t.csv")
    assert table.n_rows == 19 and not any("come again in" in note for note in table.notes)
    assert Table.read(tmp_path / "t.csv", header=False).n_rows == 20
