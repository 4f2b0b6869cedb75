"""What is left out below a table, and what is no table, by hand."""

from __future__ import annotations

import gzip
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from subscape import Table
from subscape.tables.readers import sources
from subscape.tables.readers.sources import without_remarks, without_total


def columns(*lists):
    return [pa.chunked_array([each]) for each in lists]


def left(function, *lists):
    notes = []
    return [each.to_pylist() for each in function(columns(*lists), notes)], notes


# -- below a table --------------------------------------------------------------------------------


def test_sentences_below_a_table():
    found, notes = left(
        without_remarks, ["a", "b", "c", "As of May", "Source: us"], [1, 2, 3, None, None],
        [4, 5, 6, None, None],
    )  # fmt: skip
    assert found == [["a", "b", "c"], [1, 2, 3], [4, 5, 6]]
    assert notes == ["2 rows below the table left out: 'As of May; Source: us'"]


@pytest.mark.parametrize(
    "last",
    [("Source: us", 1, None), ("x7", None, None), (None, None, None), (" ", None, 3)],
)
def test_rows_that_are_no_sentences_stay(last):
    lists = [[*"abc", last[0]], [1, 2, 3, last[1]], [1, 2, 3, last[2]]]
    assert left(without_remarks, *lists) == (lists, [])


def test_of_narrow_and_short_tables_nothing_is_left_out():
    narrow = [["a", "b", "c", "Source: us"], [1, 2, 3, None]]
    assert left(without_remarks, *narrow) == (narrow, [])
    # Three rows are kept whatever they say.
    short = [["a", "b", "Source: us"], [1, 2, None], [1, 2, None]]
    assert left(without_remarks, *short) == (short, [])
    many = [["a", *["Source: us"] * 4], [1, *[None] * 4], [1, *[None] * 4]]
    found, notes = left(without_remarks, *many)
    assert [len(each) for each in found] == [3] * 3 and notes[0].startswith("2 rows below")


def test_a_long_remark_is_cut():
    text = "word " * 40
    _, (note,) = left(without_remarks, [*"abc", text], [1, 2, 3, None], [1, 2, 3, None])
    told = note.partition("left out: ")[2]
    assert told == repr(text[:80])


@pytest.mark.parametrize("word", ["Total", "TOTALS", "grand total", "Sum:", " Summe ", "合计"])
def test_a_row_that_adds_up_the_others(word):
    found, notes = left(without_total, ["a", "b", word], [1, 2, 3])
    assert found == [["a", "b"], [1, 2]] and len(notes) == 1 and "left out" in notes[0]


@pytest.mark.parametrize(
    "lists",
    [
        (["a", "Total", "Total"], [1, 2, 3]),  # one that stands among the others
        (["a", "b", "Total"], [1, 2, None]),  # nothing beside it
        (["a", "Total"], [1, 2]),  # two rows
        (["a", "b", "Totally"], [1, 2, 3]), ([1, 2, 3], ["a", "b", "Total"]),
        (["a", "b", "Total of a"], [1, 2, 3]),
    ],
)  # fmt: skip
def test_rows_that_add_up_nothing_stay(lists):
    assert left(without_total, *lists) == ([*lists], [])


def test_a_total_may_begin_further_right():
    found, _ = left(without_total, ["a", "b", None], ["x", "y", "Total"], [1, 2, 3])
    assert found == [["a", "b"], ["x", "y"], [1, 2]]
    assert left(without_total) == ([], [])


# -- what is no table -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty"), (gzip.compress(b"", mtime=0), "is empty"),
        (b"<!DOCTYPE html><p>", "an HTML or XML page"), (b"  <table><tr>", "an HTML or XML page"),
        (b'<?xml version="1.0"?>', "an HTML or XML page"),
        (b'[{"a": 1}]', r"is JSON; pandas\.read_json"), (b'{"a": [1]}', "is JSON"),
        (b" [ [1, 2]]", "is JSON"),
    ],
)  # fmt: skip
def test_what_is_no_table(tmp_path, content, match):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(ValueError, match=match):
        Table.read(tmp_path / "t.csv")


def test_archives_of_other_things(tmp_path):
    with zipfile.ZipFile(tmp_path / "c.subscape", "w") as archive:
        archive.writestr("manifest.json", "{}")
    with pytest.raises(ValueError, match=r"holds clusterings \(\.subscape\), not a table"):
        Table.read(tmp_path / "c.subscape")
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match=r"is a ZIP archive of arrays \(NPZ\)"):
        Table.read(tmp_path / "a.npz")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Table.read(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="is a folder; give one file"):
        Table.read(tmp_path)


def test_options_of_other_formats_are_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"t\.npy is no text file: delimiter, encoding … do not"):
        Table.read(tmp_path / "t.npy", delimiter=";")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"t\.csv is no workbook: sheet does not apply"):
        Table.read(tmp_path / "t.csv", sheet="s")
    for option in ({"layer": "x"}, {"use_rep": "X_pca"}):
        with pytest.raises(ValueError, match="layer and use_rep are for AnnData only"):
            Table.read(tmp_path / "t.csv", **option)
        with pytest.raises(ValueError, match="layer and use_rep are for AnnData only"):
            Table.read(np.zeros((2, 2)), **option)
    (tmp_path / "t.arff").write_text("@relation r\n@attribute a real\n@data\n1\n")
    with pytest.raises(ValueError, match="is ARFF: delimiter, decimal and header do not apply"):
        Table.read(tmp_path / "t.arff", delimiter=",")
    assert Table.read(tmp_path / "t.arff", encoding="utf-8").n_rows == 1


def test_where_a_table_came_from(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;x\n2,5;y\n3,5;x\n")
    told = Table.read(tmp_path / "t.csv").source
    assert told == {
        "path": "t.csv", "format": "delimited", "delimiter": ";", "decimal": ",",
        "encoding": told["encoding"], "rows": 3,
    }  # fmt: skip
    np.save(tmp_path / "t.npy", np.zeros((4, 2)))
    told = Table.read(tmp_path / "t.npy").source
    assert (told["path"], told["format"], told["rows"]) == ("t.npy", "npy", 4)
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    for name in ("parquet", "feather"):
        table = Table.read(tmp_path / f"t.{name}")
        assert table.source["format"] == name and table.to_numpy().tolist() == [[1, 3], [2, 4]]


def test_arrays_and_sparse_tables_are_tables():
    X = np.arange(6.0).reshape(3, 2)
    for given in (X, X.tolist(), sparse.csr_array(X), sparse.coo_matrix(X)):
        assert np.array_equal(Table.read(given).to_numpy(), X)


def test_large_arrays_are_mapped(tmp_path, monkeypatch):
    X = np.arange(20.0).reshape(10, 2)
    np.save(tmp_path / "t.npy", X)
    size = (tmp_path / "t.npy").stat().st_size
    for limit, is_mapped in ((size, False), (size - 1, True)):
        monkeypatch.setattr(sources, "MAPPED_BYTES", limit)
        found = Table.read(tmp_path / "t.npy").X
        base = found
        while base is not None and not isinstance(base, np.memmap):
            base = getattr(base, "base", None)
        assert (base is not None) is is_mapped and np.array_equal(found, X)


def test_a_file_that_changes_meanwhile(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    read = sources._read_content

    def slow(*given):
        found = read(*given)
        os.utime(path, (1, 1))
        return found

    monkeypatch.setattr(sources, "_read_content", slow)
    with pytest.raises(ValueError, match=r"t\.csv changed while it was read; read it again"):
        Table.read(path)


def test_a_note_where_the_encoding_was_guessed(tmp_path):
    (tmp_path / "t.csv").write_bytes("city,n\nZürich,1\nGenève,2\n".encode("cp1252"))
    table = Table.read(tmp_path / "t.csv")
    assert any("the file is not UTF-8; it was read as cp1252" in note for note in table.notes)
    told = Table.read(tmp_path / "t.csv", encoding="cp1252")
    assert not any("not UTF-8" in note for note in told.notes)


@pytest.mark.parametrize(
    ("name", "role"), [("value", "ignore"), ("name", "id"), ("sample_name", "id"), ("gene", "id")]
)
def test_numbers_of_which_many_are_badly_written_are_no_names(tmp_path, name, role):
    cells = [f"{i}.5" for i in range(40)] + ["a7", "7b7", "c", "1.2.3", "8;8"]
    lines = "".join(f'"{cell}",{i % 9}.5\n' for i, cell in enumerate(cells))
    (tmp_path / "t.csv").write_text(f"{name},b\n{lines}")
    table = Table.read(tmp_path / "t.csv")
    assert table.roles == {name: role, "b": "numeric"}
    (column, _) = table.schema
    assert "40 of" in column.unused or "5 of" in column.unused
