"""Damaged files for tests: each is damaged where it is said, and the whole ones can be read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest

from subscape.testing import damage
from subscape.testing.damage import KINDS, crafted, damaged, outcome, specimens

TEXT = bytes(range(1, 201))


@pytest.mark.parametrize(
    ("kind", "place", "other", "expected"),
    [
        ("cut", 0.5, 0.9, TEXT[:100]),
        ("cut", 0.0, 0.9, b""),
        ("splice", 0.25, 0.75, TEXT[:50] + TEXT[150:]),
        ("splice", 0.75, 0.25, TEXT[:50] + TEXT[150:]),
        ("repeat", 0.25, 0.75, TEXT[:150] + TEXT[50:]),
        ("zero", 0.25, 0.4, TEXT[:50] + bytes(30) + TEXT[80:]),
        ("zero", 0.25, 1.0, TEXT[:50] + bytes(64) + TEXT[114:]),
        ("flip", 0.25, 0.9, TEXT[:50] + bytes([51 ^ 255]) + TEXT[51:]),
        ("flip", 1.0, 0.9, TEXT[:-1] + bytes([200 ^ 255])),
    ],
)
def test_damages(kind, place, other, expected):
    assert damaged(TEXT, kind, place, other) == expected
    assert kind in KINDS


def test_a_flipped_byte_is_another():
    assert damaged(b"abc", "flip", 0.4, 0, 1) == b"a" + bytes([ord("b") ^ 1]) + b"c"
    assert damaged(b"abc", "flip", 0.4, 0, 0) == b"a" + bytes([ord("b") ^ 255]) + b"c"


@pytest.fixture(scope="module")
def whole():
    return {each.name: each for each in specimens()}


def test_every_format_has_a_specimen(whole):
    assert {name.partition(".")[2] for name in whole if name.startswith("t.")} == {
        "csv", "semicolons", "utf16", "gz", "bz2", "xz", "zst", "arff", "npy", "parquet",
        "feather", "zip", "xlsx", "ods", "h5ad",
    }  # fmt: skip
    assert {"c.subscape", "c.true", "c.elki", "c.csv"} < set(whole)
    assert {"s.study", "s.timings", "s.arrays", "s.view"} < set(whole)
    assert [each.name for each in specimens(["zip", "npy"])] == ["t.zip", "t.npy"]


def test_whole_specimens_are_read(whole, tmp_path):
    for each in whole.values():
        assert outcome(each, each.content, tmp_path) == "read", each.name


def test_all_tables_hold_the_same_numbers(whole, tmp_path):
    """Three normal columns of twelve rows with two decimals, and a city where texts can be."""
    X = np.random.default_rng(0).normal(size=(12, 3)).round(2)
    for name, each in whole.items():
        if not name.startswith("t.") or name == "t.arff":
            continue
        (tmp_path / name).write_bytes(each.content)
        if name == "t.semicolons":  # they are known by their first letters alone
            read = np.genfromtxt(io.StringIO(each.content.decode()), str, delimiter=";")
            assert np.array_equal(np.char.replace(read[1:, :3], ",", ".").astype(float), X)
            continue
        table = each.read(tmp_path / name)
        numbers = table.X if hasattr(table, "X") else None
        width = 2 if name in ("t.parquet", "t.feather") else 3
        assert np.allclose(numbers, X[:, :width]), name
        if name not in ("t.npy", "t.xlsx", "t.ods", "t.h5ad"):
            assert table.values("city").tolist() == ["Oslo", "Rome", "Zürich"] * 4
        if name not in ("t.npy", "t.h5ad"):
            assert table.feature_names[:2] == ("a", "b")


def test_packed_specimens_hold_the_plain_one(whole):
    text = whole["t.csv"].content
    assert gzip.decompress(whole["t.gz"].content) == text
    assert bz2.decompress(whole["t.bz2"].content) == text
    assert lzma.decompress(whole["t.xz"].content) == text
    assert whole["t.utf16"].content.decode("utf-16").encode() == text
    with zipfile.ZipFile(io.BytesIO(whole["t.zip"].content)) as archive:
        assert archive.read("t.csv") == text
        assert archive.infolist()[0].compress_type == zipfile.ZIP_DEFLATED


def test_all_clusterings_are_the_same(whole, tmp_path):
    expected = [[0, 1, 2], [3, 4]]
    for name in ("c.subscape", "c.true", "c.elki"):
        (tmp_path / name).write_bytes(whole[name].content)
        (found,) = whole[name].read(tmp_path / name)
        assert [found.cluster(k).rows.tolist() for k in range(2)] == expected, name
        assert [found.cluster(k).features.tolist() for k in range(2)] == [[0, 1], [2]], name


def test_a_part_of_a_study_is_damaged_among_whole_ones(whole, tmp_path):
    for name in ("s.study", "s.arrays", "s.view"):
        assert outcome(whole[name], whole[name].content[:30], tmp_path) == "refused"
    study = tmp_path / "s.study"
    study.write_bytes(whole["s.study"].content)
    read = whole["s.study"].read(study)
    assert read.shape[0] == 40 and len(read.results) == 4 and read[1].n_clusters == 2


def test_errors_of_others_are_raised(tmp_path):
    def inner(path):
        raise KeyError(path.name)

    def foreign(path):
        raise ValueError("somebody else's")

    def typed(path):
        raise TypeError("somebody else's")

    for read, error in ((inner, KeyError), (foreign, ValueError), (typed, TypeError)):
        with pytest.raises(error):
            outcome(damage.Specimen("x", b"", read), b"abc", tmp_path)
    assert (tmp_path / "x").read_bytes() == b"abc"


@pytest.fixture(scope="module")
def lies():
    return {each.name: each.content for each in crafted()}


def test_sizes_that_are_stated_and_not_there(lies):
    for name, shape, kind in (
        ("size.npy", (10**6, 10**6), "<f8"), ("minus.npy", (-1, 3), "<f8"),
        ("overflow.npy", (2**40, 2**40), "<f8"), ("object.npy", (2, 2), "|O"),
    ):  # fmt: skip
        content = lies[name]
        length = int.from_bytes(content[8:10], "little")
        assert content[:8] == b"\x93NUMPY\x01\x00" and (10 + length) % 64 == 0
        head = eval(content[10 : 10 + length])
        assert (head["shape"], head["descr"]) == (shape, kind)
        assert content[10 + length :] == bytes(64) and content[9 + length : 10 + length] == b"\n"


def test_depth_and_length(lies):
    assert lies["deep.json"] == b"[" * 100_000 + b"]" * 100_000
    assert max(map(len, lies["line.csv"].splitlines())) > 4_000_000
    assert b"\n" not in lies["no_line.csv"] and len(lies["no_line.csv"]) == 4_000_000
    assert lies["wide.csv"].count(b",") == 59_999 and lies["quotes.csv"].count(b'"') == 500_001
    assert lies["nulls.csv"].count(b"\0") == 10**6
    assert lies["many.arff"].count(b"@attribute") == 50_000
    assert len(lies["wide.true"]) > 4_000_000 and lies["labels.csv"].count(b"9") == 1000
    with zipfile.ZipFile(io.BytesIO(lies["deep.subscape"])) as archive:
        assert archive.read("manifest.json") == lies["deep.json"]
    with zipfile.ZipFile(io.BytesIO(lies["digits.subscape"])) as archive:
        assert archive.read("manifest.json") == b"[" + b"9" * 10**6 + b"]"
    with zipfile.ZipFile(io.BytesIO(lies["text.subscape"])) as archive:
        assert len(archive.read("manifest.json")) > 10**6
    with zipfile.ZipFile(io.BytesIO(lies["up.subscape"])) as archive:
        assert archive.namelist() == ["../manifest.json"]


def unpacked_size(content):
    total, rest = 0, content
    while rest:
        piece = zlib_object()
        total += len(piece.decompress(rest))
        rest = piece.unused_data
    return total


def zlib_object():
    import zlib

    return zlib.decompressobj(wbits=31)


def test_bombs(lies):
    assert unpacked_size(lies["bomb.gz"]) == 10**8
    for name, unpack in (("bomb.bz2", bz2.BZ2Decompressor), ("bomb.xz", lzma.LZMADecompressor)):
        assert len(unpack().decompress(lies[name])) == 10**8
    with zipfile.ZipFile(io.BytesIO(lies["bomb.subscape"])) as archive:
        assert archive.infolist()[0].file_size == 10**8 + 2
    piece = damage._gzipped(b"1,2\n", 3)
    assert unpacked_size(piece) == 3 * 10**6
    assert gzip.decompress(piece) == b"1,2\n" * 750_000
    for name in ("rows", "blanks", "zeros", "letters", "commas", "lines"):
        assert len(lies[f"{name}.gz"]) < 6_000_000, name  # a gigabyte
        size = len(lies[f"{name}.gz"])
        assert size == 1000 * (size // 1000)
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = parquet.ParquetFile(io.BytesIO(lies["zeros.parquet"])).metadata.num_rows
    with pa.ipc.open_file(io.BytesIO(lies["zeros.feather"])) as file:
        assert rows == 125_000_000 == sum(5_000_000 for _ in range(file.num_record_batches))


@pytest.mark.parametrize(
    ("name", "match"),
    [("locked.zip", "encrypted"), ("locked.subscape", "encrypted"), ("packing.zip", "compression"),
     ("packing.subscape", "compression")],
)  # fmt: skip
def test_archives_that_say_something_else(lies, name, match):
    with (
        zipfile.ZipFile(io.BytesIO(lies[name])) as archive,
        pytest.raises((RuntimeError, NotImplementedError), match=match),
    ):
        archive.read(archive.namelist()[0])
    # Nothing else is said otherwise.
    assert lies[name].count(b"PK\3\4") == lies[name].count(b"PK\1\2") == 1
