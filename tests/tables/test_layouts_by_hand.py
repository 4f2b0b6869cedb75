"""What a delimited text is, step by step: each step asked on texts made for it."""

from __future__ import annotations

import csv
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

import pytest

from subscape.core.errors import FileFormatError, SubscapeError
from subscape.tables.readers import dialect, layout
from subscape.tables.readers.boundary import DEFAULT
from subscape.tables.readers.layout import TextOptions

# -- encodings and rows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "known"),
    [
        (b"a,b", "utf-8"), (BOM_UTF8 + b"a", "utf-8-sig"), (BOM_UTF16_LE + b"a\0", "utf-16"),
        (BOM_UTF16_BE + b"\0a", "utf-16"), ("Zürich".encode(), "utf-8"),
        ("Zürich".encode()[:2], "utf-8"),  # cut in the middle of a letter
        ("Zürich".encode("cp1252"), "cp1252"), (b"a\x81b", "latin-1"),
    ],
)  # fmt: skip
def test_encodings_by_their_first_bytes(sample, known):
    assert dialect.detect_encoding(sample, None, "f") == known
    assert dialect.detect_encoding(sample, "koi8-r", "f") == "koi8-r"


def test_what_is_no_text():
    with pytest.raises(FileFormatError, match=r"f is not text .*zero bytes"):
        dialect.detect_encoding(b"a\0b", None, "f")
    assert dialect.decode("Zü".encode()[:2], "utf-8", "f") == "Z"
    with pytest.raises(SubscapeError, match="there is no encoding 'nothing'"):
        dialect.decode(b"a", "nothing", "f")
    with pytest.raises(FileFormatError, match=r"f is not ascii: .* at byte 1; say encoding"):
        dialect.decode(b"a\xff", "ascii", "f")


def test_rows_with_the_number_of_their_last_line():
    before = csv.field_size_limit()
    text = ["a,b\n", "\n", "   \n", '"1\n', '2",3\n', "4\n", ",\n"]
    rows = list(dialect.split(text, ","))
    assert rows == [(1, ["a", "b"]), (5, ["1\n2", "3"]), (6, ["4"]), (7, ["", ""])]
    assert csv.field_size_limit() == before
    # Between blanks none is a cell, and none stands at the end.
    assert list(dialect.split(["1   2  \n", ' 3 "4 5"\n'], " ")) == [
        (1, ["1", "2"]), (2, ["3", "4 5"]),
    ]  # fmt: skip
    assert list(dialect.split(["1,  2\n"], ",")) == [(1, ["1", "  2"])]
    with pytest.raises(FileFormatError, match="line 2: field larger than field limit"):
        list(dialect.split(["a\n", "b" * 40 + "\n"], ",", DEFAULT._replace(line=30)))
    assert csv.field_size_limit() == before


def test_a_sample_of_the_rows(monkeypatch):
    text = "".join(f"{i},x\n" for i in range(300))
    assert [line for line, _ in dialect.sample_rows(text, ",", True)] == list(range(1, 201))
    # The last one may be cut, unless that is all.
    assert len(dialect.sample_rows("a\nb\nc", ",", False)) == 2
    assert len(dialect.sample_rows("a\nb\nc", ",", True)) == 3
    assert len(dialect.sample_rows("a", ",", False)) == 1
    assert len(dialect.sample_rows("a\nb", ",", False)) == 1
    # Of wide tables fewer, but ten.
    monkeypatch.setattr(dialect, "SAMPLE_CELLS", 60)
    assert len(dialect.sample_rows("1,2,3,4\n" * 99, ",", True)) == 15
    assert len(dialect.sample_rows("1,2,3,4,5,6,7\n" * 99, ",", True)) == 10


@pytest.mark.parametrize(
    ("cell", "decimal", "known"),
    [
        ("1.5", ".", True), (" 1.5 ", ".", True), ("1,5", ".", False), ("1,5", ",", True),
        ("1.5", ",", True), ("x", ".", False), ("", ".", True), ("NA", ".", True),
        ("-1e-3", ".", True), ("12 kg", ".", False),
    ],
)  # fmt: skip
def test_cells_that_are_numbers_or_missing(cell, decimal, known):
    assert dialect.counts_as_number(cell, decimal) is known


# -- delimiters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("a,b\n1,2\n", ","), ("a;b\n1,5;2\n3,5;4\n", ";"), ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"), ("a b\n1 2\n3 4\n", " "), ("a\nb\nc\n", ","),
        ("one two three\nfour five six\n", ","),  # sentences
        # Half of the cells are numbers: only quoted texts beside them make columns.
        ('x y\n"a" 1\n"b" 2\n', " "), ("x y\na 1\nb 2\n", ","),
        # R puts no name above row names: sure where they are quoted or there are three columns.
        ('"x"\n"1" 2\n"2" 5\n', " "), ("x\n1 2\n2 5\n", ","), ("x y\n1 2 3\n4 5 6\n", " "),
        # Most rows must be as wide.
        ("a b\n" + "1 2\n" * 9 + "1 2 3\n", " "), ("a b\n" + "1 2\n" * 8 + "1 2 3\n", ","),
        ("1 2\n", ","),
    ],
)  # fmt: skip
def test_delimiters(text, known):
    assert dialect.find_delimiter(text) == known


def test_how_well_a_delimiter_fits():
    assert dialect._score([], ",") == (0.0, 0.0, 0.0, 0)
    assert dialect._score([["a"], ["b"]], ",") == (0.0, 0.0, 0.0, 1)
    rows = [["a", "b"], ["1", "2"], ["3 kg", "x"], ["1", "2", "3"]]
    # Names are not counted.
    assert dialect._score(rows, ";") == (0.8, 6 / 7, 0.75, 2)
    # 1,5 is a number, but not where the comma delimits.
    assert dialect._score([["1,5 kg", "x"]], ";") == (1.0, 0.5, 1.0, 2)
    assert dialect._score([["1,5 kg", "x"]], ",") == (1.0, 0.0, 1.0, 2)


def test_one_column_that_holds_another_delimiter():
    rows = [(1, ["a;b"]), (2, ["1;2"])]
    with pytest.raises(FileFormatError, match="split at every comma, has one column, but each row "
                                              "holds 1 semicolon; say delimiter=';'"):  # fmt: skip
        dialect.check_single_column(rows, ",", "f", is_said=False)
    with pytest.raises(FileFormatError, match="holds 2 blanks; say delimiter=' '"):
        dialect.check_single_column([(1, [" a b c "]), (2, ["1 2 3"])], ",", "f", is_said=True)
    for fine in ([(1, ["a;b"])], [(1, ["a;b"]), (2, ["1"])], [(1, ["a"]), (2, ["b"])]):
        dialect.check_single_column(fine, ",", "f", is_said=False)
    dialect.check_single_column(rows, ";", "f", is_said=False)


# -- decimal signs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "delimiter", "sign", "is_mixed"),
    [
        (["1.5"], ";", ".", False), (["1,5"], ";", ",", False), (["1,5", "2.5"], ";", ".", True),
        (["1,5", "2,5", "2.5"], ";", ",", True), (["1"], ";", ".", False),
        # Three figures behind a sign may be thousands, unless there is another sign, a leading
        # zero, more than three figures before it, or it comes twice.
        (["1.234"], ",", ".", False), (["1,234"], ",", ".", False), (["0,234"], ";", ",", False),
        (["1234,567"], "\t", ",", False), (["1.234,5"], ";", ",", False),
        (["1,234.5"], ";", ".", False), (["1.234.567"], ";", ",", False),
        (["1,234,567"], ";", ".", False), (["1'234,5"], ";", ",", False),
        (["1,5 kg"], ";", ",", False), (["a, b"], ";", ".", False), (["1,5e-3"], ";", ",", False),
    ],
)  # fmt: skip
def test_decimal_signs(cells, delimiter, sign, is_mixed):
    found = dialect.find_decimal([cells, ["x", "7"]], delimiter)
    assert (found.sign, found.is_mixed, found.note) == (sign, is_mixed, "")


def test_three_figures_behind_every_point_under_semicolons_are_said():
    found = dialect.find_decimal([["1.234", "12.345"]], ";")
    assert found.sign == "." and not found.is_mixed
    assert found.note.startswith("'1.234' was read as 1.234, with a decimal point; decimal=','")
    assert dialect.find_decimal([["1.234", "0.345"]], ";").note == ""


def test_a_thousand_under_semicolons_is_a_decimal_comma_and_said():
    found = dialect.find_decimal([["1,234", "2,345"]], ";")
    assert found.sign == "," and found.is_mixed is False
    assert found.note.startswith("'1,234' was read as 1.234, with a decimal comma; decimal='.'")
    assert dialect.find_decimal([["1,234"]], "\t") == dialect.Decimal(".")
    assert dialect.find_decimal([["1,234", "1.5"]], ";") == dialect.Decimal(".")


# -- where the table begins -----------------------------------------------------------------------


def rows(*texts):
    return [(i, text.split(",")) for i, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        (["a,b,c", "1,2,3"], (0, False)), (["a"], (0, False)), (["a", "b", "c"], (0, False)),
        # Titles: narrow lines, or wide ones with a cell or two.
        (["A table", "a,b,c", "1,2,3", "4,5,6"], (1, False)),
        (["A table,,", "a,b,c", "1,2,3"], (1, False)),
        (["A,table,", "a,b,c", "1,2,3"], (1, False)),
        (["A,x,,,,", "a,b,c,d,e,f", "1,2,3,4,5,6"], (1, False)),
        (["A,x,,,", "a,b,c,d,e", "1,2,3,4,5"], (1, False)),
        (["A,x,y,,", "a,b,c,d,e", "1,2,3,4,5"], (0, False)),
        (["A,x,,,", "a,a,c,d,e", "1,2,3,4,5"], (0, False)),
        (["A,x,,,", "a,2,c,d,e", "1,2,3,4,5"], (0, False)),
        (["A,x", "a,b,c,d", "1,2,3,4", "5,6,7,8"], (1, False)),
        (["A,x", "a,b,c", "1,2,3", "4,5,6"], (0, True)),
        (["A,x,y", "a,b,c,d,e", "1,2,3,4,5", "5,6,7,8,9"], (0, False)),
        (["one", "two", "a,b,c", "1,2,3", "4,5,6"], (2, False)),
        # The name above row names is left out.
        (["a,b", "r,1,2", "s,3,4"], (0, True)), (["a,b", "r,x,y", "s,z,w"], (0, True)),
        (["a", "r,1", "s,2"], (0, True)), (["a", "r,x", "s,y"], (1, False)),
        (["a,b", "r,1,", "s,3,"], (0, False)), (["a,b", "r,1,", "s,3,4"], (0, True)),
        (["x,,", "y,,", "z,,"], (0, False)), (["a,", "r,1,2", "s,3,4"], (1, False)),
        (["T", "a,b", "r,1,2", "s,3,4"], (1, True)), (["T", "a,b", "r,x,y", "s,z,w"], (1, False)),
        # Two columns: a title is followed by two names and data.
        (["Sales,", "a,b", "1,2"], (1, False)), (["Sales,", "a,b", "c,d"], (0, False)),
        (["Sales,", "1,2", "3,4"], (0, False)), (["a,b", "1,2"], (0, False)),
        (["Sales,", "x,", "a,b", "1,2"], (2, False)), (["Sales,", "a,b"], (0, False)),
    ],
)  # fmt: skip
def test_where_a_table_begins(texts, known):
    assert layout.find_header(rows(*texts), ".") == known


@pytest.mark.parametrize(
    ("first", "known"),
    [
        ("a,b", True), ("1,b", True), ("1,2", False), ("2024-01-31,2", False), ("1 kg,2", False),
        (",a", True), (",1", False), ("0,1", False), ("0,1,2", True), ("1,2,3", False),
        (",0,1,2", True), (",0,1", False), ("31.12.2024,3", False), ("12/31/2024,3", False),
    ],
)  # fmt: skip
def test_first_rows_that_are_names(first, known):
    assert layout._is_header(first.split(","), ".") is known


@pytest.mark.parametrize(
    ("given", "known", "said"),
    [
        (["a", "b"], ["a", "b"], []),
        (["", "a"], ["index", "a"], []), (["", "index"], ["column0", "index"], []),
        (["a", ""], ["a", "column1"], []), ([" a  b ", "c"], ["a b", "c"], []),
        (["a", "a", "a"], ["a", "a (2)", "a (3)"],
         ["2 column names occurred more than once and got a number: 'a (2)', 'a (3)'"]),
        (["a", "a (2)", "a"], ["a", "a (2)", "a (3)"],
         ["1 column name occurred more than once and got a number: 'a (3)'"]),
        (["column1", ""], ["column1", "column1 (2)"],
         ["1 column name occurred more than once and got a number: 'column1 (2)'"]),
        (["a\x00", "b\x1b"], ["a�", "b�"],
         ["control characters in 2 column names were replaced by �"]),
        (["a�"], ["a�"], []),
    ],
)  # fmt: skip
def test_names_that_differ(given, known, said):
    names, notes = layout.distinct_names(given)
    assert names == known and [note.replace('"', "'") for note in notes] == said


# -- the whole ------------------------------------------------------------------------------------


def found(text, complete=True, **options):
    return layout.layout(text.encode(), complete, TextOptions(**options), "f")


def test_a_plain_table():
    seen = found("a;b\n1,5;x\n2,5;y\n")
    assert seen[:6] == (";", ",", "utf-8", ["a", "b"], 1, [["1,5", "x"], ["2,5", "y"]])
    assert seen[6:] == ([], False, False, False, False, 5, 0, ("a", "b"), frozenset(), "")


def test_a_line_that_says_the_delimiter():
    for first in ("sep=|", '"sep=|"', "\ufeffSEP=|"):
        seen = found(f"{first}\na|b;c\n1|2;3\n")
        assert (seen.delimiter, seen.names, seen.skip) == ("|", ["a", "b;c"], 2)
    assert found("sep=|\na|b\n1|2\n", delimiter="b").delimiter == "b"
    seen = found("sep=|\n1|2\n3|4\n")
    assert (seen.names, seen.skip, seen.rows) == (["x0", "x1"], 1, [["1", "2"], ["3", "4"]])
    with pytest.raises(SubscapeError, match="one character, not ';;'"):
        found("a;;b\n", delimiter=";;")


def test_names_are_made_where_there_are_none():
    seen = found("1,2\n3,4\n")
    assert seen.names == ["x0", "x1"] and seen.skip == 0 and len(seen.rows) == 2
    assert seen.notes == [
        "the first row holds numbers only, so the columns are called x0, x1, …; header=True reads "
        "it as names"
    ]
    assert found("a,b\n1,2\n", header=False)[3:7] == (
        ["x0", "x1"], 0, [["a", "b"], ["1", "2"]], []
    )  # fmt: skip
    seen = found("1.5,2\n3,4\n", header=True)
    assert seen.names == ["1.5", "2"] and seen.notes == [] and seen.rows == [["3", "4"]]
    assert found('T\n\n1,"2\n3"\n4,5\n', header=False, delimiter=",").skip == 0
    assert found('\n\n1,"2\n3"\n4,5\n', header=False).skip == 2  # the row begins on the third line


def test_the_first_column_names_the_rows():
    for text in ("a,b\nr,1,2\ns,3,4\n", ",a,b\nr,1,2\n", "Unnamed: 0,a,b\nr,1,2\n",
                 "rownames,a,b\nr,1,2\n"):  # fmt: skip
        assert found(text).row_names is True
    assert found("a,b\nr,1,2\ns,3,4\n").names == ["index", "a", "b"]
    assert found("a,b\nr,1,2\ns,3,4\n").notes == [
        "the first column has no name in the header: it names the rows"
    ]
    assert found("rows,a\nr,1\n").row_names is False
    assert found("rownames\nr\ns\n").row_names is False  # it is the only one


def test_numbers_among_names_are_said():
    seen = found("a,1.5,2\n1,2,3\n")
    assert seen.names == ["a", "1.5", "2"]
    assert seen.notes == [
        "the first row was taken as names, though 1 cell in it is a number; header=False reads "
        "it as data"
    ]
    assert found("a,1.5,2\n1,2,3\n", header=True).notes == []


def test_lines_above_the_table():
    seen = found("A title\nof two lines\na,b,c\n1,2,3\n4,5,6\n")
    assert seen.names == ["a", "b", "c"] and seen.skip == 3
    assert seen.notes == ["2 lines before the table left out: 'A title; of two lines'"]
    seen = found(f"{'t' * 50}\na,b,c\n1,2,3\n4,5,6\n")
    assert seen.notes == [f"1 line before the table left out: {'t' * 40!r}"]
    assert found("T\na,b,c\n1,2,3\n4,5,6\n", header=False).names == ["x0"]


def test_decimals_that_are_said():
    assert found("a;b\n1,5;2.5\n").is_mixed and not found("a;b\n1,5;2.5\n").is_sure
    seen = found("a;b\n1,5;2.5\n", decimal=",")
    assert seen.decimal == "," and seen.is_sure and not seen.is_mixed
    assert len(found("a;b\n1,234;2\n").notes) == 1
    assert found("a;b\n1,234;2\n", decimal=".").notes == []


def test_comments():
    seen = found("# one\n# two\na,b\n1,2\n# three\n3,4\n")
    assert seen.names == ["a", "b"] and seen.rows == [["1", "2"], ["3", "4"]]
    assert seen.notes == ["3 comment lines (#) left out and perhaps more further down"]
    assert seen.has_comments is True and seen.skip == 3
    seen = found("# one\na,b\n1,2\n")
    assert seen.notes == ["1 comment line (#) left out"] and seen.has_comments is False
    # Names in the last one, where the data have none.
    seen = found("# of us\n# a,b\n1,2\n3,4\n")
    assert seen.names == ["a", "b"] and len(seen.rows) == 2
    assert seen.notes == [
        "1 comment line (#) left out", "the names of the columns were taken from a comment"
    ]  # fmt: skip
    assert found("# a,b\n1,2\n3,4\n").notes == [
        "the names of the columns were taken from a comment"
    ]
    assert found("# a,b\n1,2\n", header=False).names == ["x0", "x1"]
    assert found("# a,b,c\n1,2\n3,4\n").names == ["x0", "x1"]
    assert found("# a\n1\n3\n").names == ["x0"]
    # A row as wide as the others is data, whatever it begins with.
    seen = found("a,b\n#1,2\n#3,4\n5,6\n")
    assert seen.rows == [["#1", "2"], ["#3", "4"], ["5", "6"]] and not seen.has_comments
    seen = found("a,b\nx,y,z\n5,6\n7,8\n")
    assert len(seen.rows) == 3 and not seen.has_comments
    with pytest.raises(FileFormatError, match="f holds comments only"):
        found("# a\n# b\n")


def test_what_is_no_table(monkeypatch):
    with pytest.raises(FileFormatError, match="f is empty"):
        found(" \n ")
    monkeypatch.setattr(layout, "LONG_LINE", 10)
    with pytest.raises(FileFormatError, match="f has no line break in 13 letters"):
        found("1,2,3,4,5,6,7")
    assert found("1,2,3,4,5,6,7\r2,3,4,5,6,7,8\r").names == [f"x{j}" for j in range(7)]
    assert found("1,2,3,4,5,6,7\n").names[-1] == "x6"
    few = DEFAULT._replace(columns=6)
    for text, complete in (("1,2,3,4,5,6,7\n1,2,3,4,5,6,7\n", True), ("1;2;3;4;5;6;7", False)):
        with pytest.raises(FileFormatError, match="7 columns"):
            layout.layout(text.encode(), complete, TextOptions(), "f", few)
    # One long row among others is no wide table.
    monkeypatch.setattr(layout, "LONG_LINE", 1 << 20)
    assert layout.layout(b"a,b\n1,2,3,4,5,6,7\n3,4\n", True, TextOptions(), "f", few)
