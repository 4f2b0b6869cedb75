"""ARFF: tricky but valid files, and faults with their line numbers."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from subscape.tables.readers.arff import parse_arff
from subscape.tables.table import Table

NAN = np.nan


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


ARFF = """% a comment
@RELATION 'my data'

@attribute 'first name' string
@attribute height REAL
@Attribute count integer % not a comment's place, but harmless
@attribute colour {red, 'dark blue', "it's", green}
@attribute "when" date "yyyy-MM-dd HH:mm"
@attribute class {no,yes}
@DATA
% another comment
ann, 1.5, 3, red, "1970-01-02 00:00", yes

'bob \\'b\\'', ?, -2, 'dark blue', ?, no
?,1e2,0,"it's",'1970-01-01 12:00',?
"cyd, d", .5, 1, green, ?, yes, {0.5}
"""


def test_arff(write):
    table = Table.read(write(ARFF, "t.arff"))
    assert table.source["relation"] == "my data"
    assert table.roles == {
        "first name": "nominal",
        "height": "numeric",
        "count": "numeric",
        "colour": "nominal",
        "when": "date",
        "class": "label",
    }
    assert table.values("first name").tolist() == ["ann", "bob 'b'", None, "cyd, d"]
    np.testing.assert_array_equal(table.X, [[1.5, 3], [NAN, -2], [100, 0], [0.5, 1]])
    assert table.column("colour").levels == ("red", "dark blue", "it's", "green")
    np.testing.assert_array_equal(table.nominal["colour"], [0, 1, 2, 3])
    days = table.values("when")
    assert days[0] == np.datetime64("1970-01-02")
    assert days[2] == np.datetime64("1970-01-01T12:00")
    assert np.isnat(days[[1, 3]]).all()
    np.testing.assert_array_equal(table.labels(), [1, 0, -1, 1])
    assert any("weights of 1 row" in note for note in table.notes)


def test_arff_is_known_by_its_content(write):
    assert Table.read(write(gzip.compress(ARFF.encode()), "data")).source["format"] == "arff"
    assert Table.read(write(ARFF, "t.txt", "utf-16")).source["encoding"] == "utf-16"


def test_sparse_arff():
    text = """@relation s
@attribute a numeric
@attribute b {x, y}
@attribute c numeric
@attribute s string
@data
{0 1.5, 2 -3}
{}
{1 y, 3 'some, text'}
{0 ?, 1 ?}, {2.0}
"""
    found = parse_arff(text, "s.arff")
    columns = {n: a.to_pylist() for n, a in zip(found.names, found.arrays, strict=True)}
    np.testing.assert_array_equal(columns["a"], [1.5, 0, 0, NAN])
    assert columns["b"] == ["x", "x", "y", None]
    np.testing.assert_array_equal(columns["c"], [-3, 0, 0, 0])
    assert columns["s"] == [None, None, "some, text", None]
    assert found.notes == ["the weights of 1 row were not read"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("1 x", [1.0, "x"]),
        ("1\tx", [1.0, "x"]),
        ("  1 ,x  ", [1.0, "x"]),
        ("1,x % the end", [1.0, "x"]),
        ("1,'x'", [1.0, "x"]),
        ("1,?", [1.0, None]),
        ("1,'?'", [1.0, "?"]),
        ("1,'%'", [1.0, "%"]),
        ('1,"\\\\"', [1.0, "\\"]),
        ("1,New York", [1.0, "New York"]),
        ("1,50%", [1.0, "50%"]),
        ("1,O'Brien", [1.0, "O'Brien"]),
    ],
)
def test_arff_rows(row, expected):
    text = f"@relation r\n@attribute a real\n@attribute b string\n@data\n{row}\n"
    found = parse_arff(text, "r.arff")
    assert [array.to_pylist()[0] for array in found.arrays] == expected


def test_arff_attributes():
    text = (
        "@relation r\n@attribute a{x,y}\n@attribute b { p ,\n q,'r }' }\n@attribute 'c\\td' real\n"
    )
    found = parse_arff(text + "@data\ny,q,1\n", "r.arff")
    assert found.names == ["a", "b", "c\td"]
    assert found.arrays[0].chunk(0).dictionary.to_pylist() == ["x", "y"]
    assert found.arrays[1].chunk(0).dictionary.to_pylist() == ["p", "q", "r }"]


def test_arff_dates():
    text = "@relation r\n@attribute a date\n@attribute b date 'dd.MM.yy'\n@attribute c date 'EEE'\n"
    found = parse_arff(text + "@data\n1970-01-02T00:00:01,03.01.70,Mon\n", "r.arff")
    stamps = [array.to_pylist()[0] for array in found.arrays]
    assert str(stamps[0]) == "1970-01-02 00:00:01"
    assert str(stamps[1]) == "1970-01-03 00:00:00"
    assert stamps[2] == "Mon"  # a pattern that is not known stays text


HEAD = "@relation r\n@attribute a real\n@attribute b {x,y}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "no @data"),
        ("@relation r\n@data\n1\n", "line 2: @data comes before any @attribute"),
        ("@relation r\n@attribute a relational\n@data\n", "line 2: attribute 'a' has the type"),
        ("@relation r\n@attribute a {x,\n", "line 2: the levels have no closing }"),
        ("@relation r\n@attribute\n@data\n", "line 2: .* names no attribute"),
        ("@relation r\nhello\n", "line 2: 'hello' is none of"),
        (HEAD + "@attribute a real\n@data\n", "more than once: 'a'"),
        (HEAD + "@data\n1,x\n1\n", "line 6: 1 cell, where 2 attributes"),
        (HEAD + "@data\n1,x,3\n", "line 5: 3 cells"),
        (HEAD + "@data\n1,,x\n", "line 5: empty or badly quoted"),
        (HEAD + "@data\n1,'x\n", "line 5: empty or badly quoted"),
        (HEAD + "@data\nmany,x\n", "line 5: 'many' of attribute 'a' is no number"),
        (HEAD + "@data\n1_0,x\n", "'1_0' of attribute 'a' is no number"),
        (HEAD + "@data\n1,z\n", "line 5: 'z' of attribute 'b' is none of the levels 'x', 'y'"),
        (HEAD + "@data\n{0 1, 7 2}\n", "line 5: index 7 is beyond the last, 1"),
        (HEAD + "@data\n{0 1, 0 2}\n", "line 5: index 0 occurs twice"),
        (HEAD + "@data\n{0 1\n", "line 5: the sparse row has no closing }"),
        (HEAD + "@data\n{zero 1}\n", "line 5: a sparse row is"),
        (HEAD + "@data\n", "no rows"),
    ],
)
def test_bad_arff(write, text, message):
    with pytest.raises(ValueError, match=message):
        Table.read(write(text, "t.arff"))


def test_arff_takes_no_delimiter(write):
    with pytest.raises(ValueError, match="is ARFF"):
        Table.read(write(ARFF, "t.arff"), delimiter=",")
