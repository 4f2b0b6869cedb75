"""Delimited text: what is detected, what is read, and what is refused."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subscape.core.errors import FileFormatError
from subscape.tables.readers import delimited, dialect
from subscape.tables.readers import sources as readers
from subscape.tables.table import Table
from subscape.tables.texts import MARKERS

NAN = np.nan


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


# --- delimited text ---


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
def test_delimiters_and_gzip(write, delimiter, packed):
    text = "age,city,height\n31,Oslo,1.5\n44,Rome,1.6\n50,Oslo,1.7\n".replace(",", delimiter)
    data = gzip.compress(text.encode()) if packed else text.encode()
    table = Table.read(write(data, "data.csv.gz" if packed else "data.txt"))
    assert table.roles == {"age": "numeric", "city": "nominal", "height": "numeric"}
    np.testing.assert_array_equal(table.X, [[31, 1.5], [44, 1.6], [50, 1.7]])
    assert table.column("city").levels == ("Oslo", "Rome")
    assert table.source["delimiter"] == delimiter
    assert table.source["path"] == ("data.csv.gz" if packed else "data.txt")
    assert table.source["rows"] == 3


def test_the_source_names_the_file_but_not_the_folder(write):
    path = write("a,b\n1,2\n")
    table = Table.read(str(path))
    assert str(path.parent) not in repr(dict(table.source))


def test_decimal_comma(write):
    table = Table.read(write("a;b\n1,5;-2\n2,25;1e3\n"))
    np.testing.assert_array_equal(table.X, [[1.5, -2], [2.25, 1000]])
    assert table.source["decimal"] == ","
    headless = Table.read(write("1,5;2,5\n3,5;4,5\n"))
    np.testing.assert_array_equal(headless.X, [[1.5, 2.5], [3.5, 4.5]])
    asked = Table.read(write("a\tb\n1,234\t5\n"), decimal=",")
    np.testing.assert_array_equal(asked.X, [[1.234, 5]])


def test_a_thousands_sign_is_not_taken_for_a_decimal_comma(write):
    table = Table.read(write("a\tb\n1,234\t5\n2,345\t6\n1,234\t7\n"))
    np.testing.assert_array_equal(table.values("a"), [1234, 2345, 1234])
    assert table.source["decimal"] == "."
    assert any("'1,234' could be two numbers and was read as 1234" in note for note in table.notes)


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("cp1252", "cp1252"),
    ],
)
def test_encodings(write, encoding, said):
    table = Table.read(write("größe,ort\n1,Zürich\n2,Orléans\n3,Zürich\n", encoding=encoding))
    assert table.feature_names == ("größe", "ort")
    assert table.column("ort").levels == ("Orléans", "Zürich")
    assert table.source["encoding"] == said
    assert any("not UTF-8" in note for note in table.notes) == (encoding == "cp1252")


@pytest.mark.parametrize("bad", ['9,8,"7', '"9,8,7', '9,"8,7'])
@pytest.mark.parametrize("ragged", [None, "pad"])
def test_a_quotation_mark_that_is_never_closed_swallows_nothing_in_silence(write, bad, ragged):
    rows = [f"{i},{i % 3},a" for i in range(30)]
    path = write("\n".join(["x,y,z", *rows[:8], bad, *rows[8:]]) + "\n")
    with pytest.raises(
        FileFormatError, match="line 10: a quotation mark that opens there is never"
    ):
        Table.read(path, ragged=ragged)
    whole = write("\n".join(["x,y,z", *rows, '1,2,"two\nlines"', ""]))
    assert Table.read(whole).shape[0] == 31


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<html><table><tr><td>1</td></tr></table></html>\n", "an HTML or XML page"),
        ('\n<?xml version="1.0"?>\n<Workbook>\n</Workbook>\n', "an HTML or XML page"),
        ('[{"x": 1, "y": 2},\n {"x": 3, "y": 4}]\n', "is JSON; pandas.read_json"),
        ('{"x": [1, 2], "y": [3, 4]}', "is JSON; pandas.read_json"),
    ],
)
def test_texts_that_are_no_tables_are_called_by_their_names(write, text, what):
    with pytest.raises(FileFormatError, match=what):
        Table.read(write(text))


def test_zeros_in_front_of_numbers_are_said(write):
    lines = [f"{400 + 37 * i:05d},{i}.5" for i in range(30)]
    table = Table.read(write("\n".join(["zip,x", *lines]) + "\n"))
    assert any("'00400' begins with zeros and was read as 400" in note for note in table.notes)
    kept = Table.read(write("\n".join(["zip,x", *lines]) + "\n"), roles={"zip": "nominal"})
    assert "00400" in kept.values("zip") and not any("zeros" in note for note in kept.notes)
    plain = Table.read(write("\n".join(["a,x", *(f"{i},0.{i}" for i in range(30))]) + "\n"))
    assert not any("zeros" in note for note in plain.notes)


def test_bytes_that_cp1252_lacks_are_latin_1(write):
    table = Table.read(write(b"a,b\n1,\x81\n2,\x81\n"))
    assert table.source["encoding"] == "latin-1"


def test_an_encoding_that_only_shows_later(write, monkeypatch):
    monkeypatch.setattr(dialect, "SAMPLE_BYTES", 64)
    rows = "".join(f"{i},x\n" for i in range(40))
    table = Table.read(write(b"a,b\n" + rows.encode() + b"41,\xe9\n"))
    assert table.source["encoding"] == "cp1252"
    assert table.values("b")[-1] == "é"
    with pytest.raises(ValueError, match="is not utf-8"):
        Table.read(write(b"a,b\n" + rows.encode() + b"41,\xe9\n"), encoding="utf-8")


def test_encoding_can_be_said(write):
    path = write("a,b\n1,x\n2,x\n", encoding="utf-16-le")
    with pytest.raises(ValueError, match=r"zero bytes.*utf-16-le"):
        Table.read(path)
    assert Table.read(path, encoding="utf-16-le").feature_names == ("a", "b")
    with pytest.raises(ValueError, match="no encoding 'utf-99'"):
        Table.read(path, encoding="utf-99")


def test_missing_markers(write):
    text = "n,t\n1,a\nNA,NA\n,\n?,?\nNULL,null\nnan,NaN\n-,-\n 2 , a \n"
    table = Table.read(write(text))
    np.testing.assert_array_equal(table.X[:, 0], [1, NAN, NAN, NAN, NAN, NAN, NAN, 2])
    assert table.values("t").tolist() == ["a", None, None, None, None, None, "-", "a"]
    assert table.column("t").levels == ("-", "a")


def test_numbers_first_then_text(write, monkeypatch):
    monkeypatch.setattr(dialect, "SAMPLE_ROWS", 5)
    names = list("abcdefgh")
    rows = [[str(i)] * 8 for i in range(1, 31)]
    rows[20][1:] = rows[21][1:] = ["many"] * 7
    table = Table.read(write("\n".join(",".join(row) for row in [names, *rows])))
    assert table.numeric_names == ("a",)
    np.testing.assert_array_equal(table.X[:, 0], np.arange(1, 31))
    assert table.values("b").tolist() == [row[1] for row in rows]
    assert {table.roles[name] for name in "bcdefgh"} == {"ignore"}  # 29 different texts in 30 rows


def test_text_first_then_numbers(write, monkeypatch):
    monkeypatch.setattr(dialect, "SAMPLE_ROWS", 2)
    table = Table.read(write("a,b\nx,?\ny,?\nx,1.5\n"))
    np.testing.assert_array_equal(table.X[:, 0], [NAN, NAN, 1.5])


def test_quoted_cells(write):
    text = '"a b","c, d"\n"1.5","x\ny"\n"2","x ""q"""\n"3","x\ny"\n'
    table = Table.read(write(text))
    assert table.feature_names == ("a b", "c, d")
    np.testing.assert_array_equal(table.X[:, 0], [1.5, 2, 3])
    assert table.column("c, d").levels == ("x\ny", 'x "q"')


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_and_blank_lines(write, newline):
    table = Table.read(write(newline.join(["", "a,b", "1,2", "", "3,4", "", ""])))
    assert table.feature_names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


def test_headerless_numbers(write):
    table = Table.read(write("1,2.5\n3,4.5\n"))
    assert table.feature_names == ("x0", "x1")
    np.testing.assert_array_equal(table.X, [[1, 2.5], [3, 4.5]])
    assert any("x0, x1" in note for note in table.notes)
    with_bom = Table.read(write("1,2.5\n3,4.5\n", encoding="utf-8-sig"))
    np.testing.assert_array_equal(with_bom.X, table.X)


def test_running_numbers_are_a_header(write):
    table = Table.read(write(",0,1,2\n0,5,6,7\n1,8,9,10\n"))
    assert table.roles == {"index": "id", "0": "numeric", "1": "numeric", "2": "numeric"}
    assert table.row_names == ("0", "1")


def test_texts_that_come_again_below_are_no_names(write):
    for text in ("5.1,3.5,setosa\n4.9,3.0,setosa\n6.0,2.9,other\n",
                 "rep,y,n\nrep,n,y\ndem,y,n\ndem,n,n\n"):  # fmt: skip
        table = Table.read(write(text))
        assert table.feature_names == ("x0", "x1", "x2")
        assert table.n_rows == text.count("\n")
        assert any("texts that come again below, no names" in note for note in table.notes)


def test_names_that_are_levels_by_chance_or_come_again_on_every_page_are_names(write):
    for text in ("a,b\na,a\nb,b\na,b\nb,a\n", "x,y,z\na,b,1\nb,a,2\nx,y,z\na,a,3\n",
                 "x\nx\ny\nx\n"):  # fmt: skip
        table = Table.read(write(text))
        names = text.partition("\n")[0].split(",")
        assert [column.name for column in table.schema] == names


def test_header_can_be_said(write):
    path = write("5.1,3.5,first\n4.9,3.0,setosa\n6.0,2.9,other\n")
    guessed = Table.read(path)
    assert guessed.feature_names == ("5.1", "3.5", "first")
    assert any("header=False" in note for note in guessed.notes)
    told = Table.read(path, header=False)
    assert told.feature_names == ("x0", "x1", "x2")
    assert told.shape == (3, 3)
    assert Table.read(write("1,2\n3,4\n"), header=True).feature_names == ("1", "2")


def test_nameless_columns_get_names(write):
    table = Table.read(write("index,,b\n1,2,3\n4,5,6\n"))
    assert [c.name for c in table.schema] == ["index", "column1", "b"]


def test_single_column(write):
    assert Table.read(write("a\n1\n2\n")).shape == (2, 1)
    assert Table.read(write("a\n1.5\n")).X.tolist() == [[1.5]]


def test_a_csv_of_many_chunks(tmp_path):
    X = np.random.default_rng(5).integers(0, 1000, size=(150_000, 4))
    path = tmp_path / "big.csv"
    np.savetxt(path, X, fmt="%d", delimiter=",", header="a,b,c,d", comments="")
    _, arrays = delimited.read_delimited(path, delimited.TextOptions(), frozenset())
    assert arrays[0].num_chunks > 1
    np.testing.assert_array_equal(Table.read(path).X, X)


CELLS = st.one_of(
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.integers(-(2**40), 2**40).map(float),
)


@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(1, 5).flatmap(
        lambda p: st.lists(st.lists(CELLS, min_size=p, max_size=p), min_size=1, max_size=8)
    ),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_is_written_is_read(tmp_path, rows, delimiter, encoding):
    names = [f"név {j}" for j in range(len(rows[0]))]
    with (tmp_path / "t.csv").open("w", encoding=encoding, newline="") as file:
        out = csv.writer(file, delimiter=delimiter)
        out.writerow(names)
        out.writerows([["NA" if cell is None else repr(cell) for cell in row] for row in rows])
    table = Table.read(tmp_path / "t.csv")
    expected = np.array([[NAN if cell is None else cell for cell in row] for row in rows])
    found = np.column_stack([table.values(name) for name in names])
    np.testing.assert_array_equal(found, expected)
    assert table.source["rows"] == len(rows)


@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), min_size=2
    )
)
def test_texts_are_read_letter_by_letter(tmp_path, texts):
    path = tmp_path / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["n", "t"], *([i, text] for i, text in enumerate(texts))])
    table = Table.read(path, roles={"t": "nominal"}, delimiter=",")
    expected = [None if text in MARKERS else text for text in texts]
    if any(text is not None for text in expected):
        assert table.values("t").tolist() == expected


# --- bad delimited text ---


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "data.csv is empty"),
        (b"  \n\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"a,b\n", "2 columns but no rows"),
        (
            b"a,b\n1,2\n3\n4,5\n6,7,8\n",
            r"line 3: 1 cell where the first row has 2, and 1 other row",
        ),
        (b"a,b,c\n1,2\n3,4\n", "line 2: 2 cells where the first row has 3"),
        (b"\x00\x01\x02\x03" * 10, "not text"),
        (b"PK\x03\x04abcdef", "ZIP archive"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"\x80\x04\x95pickle", "pickle, which is never opened"),
        (b"BZh91AY", "bzip2"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)[:-20], "cannot be unpacked"),
    ],
)
def test_bad_files(write, content, message):
    with pytest.raises(ValueError, match=message):
        Table.read(write(content))


def test_ragged_row_after_quoted_line_breaks(write):
    with pytest.raises(ValueError, match="line 5: 3 cells"):
        Table.read(write('a,b\n1,"x\ny"\n2,z\n3,z,9\n'))


def test_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nowhere\.csv"):
        Table.read(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="is a folder"):
        Table.read(tmp_path)


def test_the_wrong_delimiter(write):
    with pytest.raises(ValueError, match=r"split at every semicolon.*2 commas; say delimiter=','"):
        Table.read(write("a,b,c\n1,2,3\n4,5,6\n"), delimiter=";")
    with pytest.raises(ValueError, match="holds 1 blank; say delimiter=' '"):
        Table.read(write("red apple\ngreen pear\n"))
    assert Table.read(write("1 2\n3 4\n")).source["delimiter"] == " "
    assert Table.read(write("1 2\n3 4\n"), delimiter=" ").shape == (2, 2)
    with pytest.raises(ValueError, match="one character"):
        Table.read(write("a,b\n1,2\n"), delimiter=", ")


def test_a_file_that_changes_while_it_is_read(write, monkeypatch):
    path = write("a,b\n1,2\n")
    real = readers._read_content

    def meddle(*args):
        table = real(*args)
        path.write_text("a,b\n1,2\n3,4\n")
        return table

    monkeypatch.setattr(readers, "_read_content", meddle)
    with pytest.raises(ValueError, match="changed while it was read"):
        Table.read(path)


def test_options_for_the_wrong_source(write):
    frame = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(ValueError, match="text files only"):
        Table.read(frame, delimiter=",")
    with pytest.raises(ValueError, match="for AnnData only"):
        Table.read(frame, layer="counts")
    with pytest.raises(ValueError, match="for AnnData only"):
        Table.read(write("a,b\n1,2\n"), use_rep="X_pca")
    np.save(write("").with_name("x.npy"), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no text file"):
        Table.read(write("").with_name("x.npy"), delimiter=",")
