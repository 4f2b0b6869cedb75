"""What files may hold, and one sentence for every fault of a parser."""

from __future__ import annotations

import gzip
import io
import time
import tokenize
import warnings
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from subscape.core.errors import FileFormatError, SubscapeError
from subscape.tables.readers import boundary, delimited
from subscape.tables.readers.boundary import (
    Limits,
    check_nesting,
    guarded,
    parsed_json,
    printable,
    probed,
)
from subscape.tables.readers.compression import PIECE, _Limited, open_bytes
from subscape.tables.table import Table
from subscape.testing.damage import crafted, outcome

FAULTS = [
    tokenize.TokenError("EOF in multi-line statement"), zlib.error("invalid block"),
    RuntimeError("File is encrypted, password required"), OSError(5, "Input/output error"),
    KeyError("shape"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), TypeError("no"),
    RecursionError("maximum recursion depth"), OverflowError("too large"), MemoryError(),
    NotImplementedError("compression type 99"), zipfile.BadZipFile("no"), AssertionError(),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_every_fault_becomes_one_sentence_that_keeps_its_cause(fault):
    sentence = r"^t\.bin is not a readable thing .*; \S+"
    with pytest.raises(FileFormatError, match=sentence) as caught, guarded("t.bin", "thing"):
        raise fault
    assert caught.value.__cause__ is fault
    assert "\n" not in str(caught.value)


class Panic(BaseException):
    """What libraries in Rust raise."""


def test_panics_are_faults_but_interrupts_and_our_own_errors_pass():
    with pytest.raises(FileFormatError, match="Panic: at the disco"), guarded("t"):
        raise Panic("at the disco")
    for passed in (KeyboardInterrupt(), SubscapeError("mine"), FileNotFoundError("gone")):
        with pytest.raises(type(passed)) as caught, guarded("t"):
            raise passed
        assert caught.value is passed


def test_limits_on_what_unpacks():
    limits = Limits(ratio=200, unpacked=1000)
    limits.check_ratio(1000, 1, "t")
    limits.check_ratio(200_000, 1000, "t")
    with pytest.raises(FileFormatError, match=r"t unpacks to more than 200 times.*Limits\.lifted"):
        limits.check_ratio(200_001, 1000, "t")
    Limits.lifted().check_ratio(10**15, 1, "t")


@pytest.mark.parametrize("packing", ["gzip", "zip"])
def test_a_bomb_is_refused_and_can_be_allowed(tmp_path, packing):
    text = b"a,b\n" + b"0,0\n" * 1_000_000
    path = tmp_path / "t.csv.packed"
    if packing == "gzip":
        path.write_bytes(gzip.compress(text, mtime=0))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", text)
    strict = Limits(unpacked=1 << 20)
    with pytest.raises(FileFormatError, match="times its size"):
        Table.read(path, limits=strict)
    assert Table.read(path, limits=Limits.lifted()).n_rows == 1_000_000
    assert Table.read(path).n_rows == 1_000_000  # 4 MB are below what is always allowed


def test_archives_that_are_no_table(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    with pytest.raises(FileFormatError, match=r"ZIP archive of 2 files \('a.csv', 'b.csv'\)"):
        Table.read(path)
    np.savez(tmp_path / "t.npz", a=np.eye(2))
    with pytest.raises(FileFormatError, match=r"NPZ.*numpy\.save"):
        Table.read(tmp_path / "t.npz")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag that says: encrypted
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="is encrypted; unpack it with its password"):
        Table.read(path)


def test_wide_files_are_read(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 60_000)).round(3)
    path = tmp_path / "wide.csv"
    names = [f"a rather long name of feature number {j}" for j in range(60_000)]
    assert len(",".join(names)) > 2 << 20
    lines = [",".join(names), *(",".join(map(str, row)) for row in X)]
    path.write_text("\n".join(lines))
    table = Table.read(path)
    assert table.shape == (30, 60_000)
    np.testing.assert_array_equal(table.X, X)
    with pytest.raises(FileFormatError, match=r"60,000 columns, more than 50,000"):
        Table.read(path, limits=Limits(columns=50_000))


def test_one_long_line_among_short_ones(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,x\n" * 20 + "2," + "y" * 4_000_000 + "\n3,x\n")
    table = Table.read(path)
    assert table.n_rows == 22 and len(table.values("b")[20]) == 4_000_000
    path.write_text("a,b\n" + "1,2\n" * 20 + "9," * 500_000 + "\n")
    with pytest.raises(FileFormatError, match="line 22: 500001 cells where the first row has 2"):
        Table.read(path)


def test_a_file_without_a_line_break(tmp_path):
    path = tmp_path / "t.csv"
    for content in (b"x" * 8_000_000, b"1," * 4_000_000, b'"' + b"x" * 8_000_000):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"no line break|columns"):
            Table.read(path)
    with pytest.raises(FileFormatError, match="no line break in its first"):
        Table.read(path, limits=Limits(line=1 << 20))


def test_sizes_that_arrays_state_are_not_believed(tmp_path):
    sink = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        sink, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
    )
    (tmp_path / "t.npy").write_bytes(sink.getvalue() + bytes(800))
    with pytest.raises(FileFormatError, match=r"takes 8,000,000,000,000,000 bytes, there are 800"):
        Table.read(tmp_path / "t.npy")


def test_sizes_that_parquet_states_are_checked_against_memory(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"a": np.zeros(100_000)}), tmp_path / "t.parquet")
    assert Table.read(tmp_path / "t.parquet").n_rows == 100_000
    monkeypatch.setattr(boundary, "memory_size", lambda: 500_000)
    with pytest.raises(FileFormatError, match=r"100,000 rows of 1 columns, which takes"):
        Table.read(tmp_path / "t.parquet")


def test_deep_json_is_refused_before_it_is_parsed():
    assert parsed_json('{"a": [[1]], "b": "[[[[["}', "t", Limits(nesting=3)) == {
        "a": [[1]],
        "b": "[[[[[",
    }
    with pytest.raises(FileFormatError, match="t is nested more than 64 levels"):
        parsed_json("[" * 100_000, "t")
    with pytest.raises(FileFormatError, match="t is not a readable JSON text"):
        parsed_json("{", "t")
    check_nesting('"' + "[" * 1000 + '"', "t")


def test_a_child_that_hangs_or_crashes_is_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "t.h5ad"
    path.write_bytes(b"x")
    probed("", path, "h5ad file")
    with pytest.raises(FileFormatError, match=r"not a readable h5ad file \(it is broken\)"):
        probed("sys.exit('it is broken')", path, "h5ad file")
    with pytest.raises(FileFormatError, match="the reader crashed with -11"):
        probed("import os; os.kill(os.getpid(), 11)", path, "h5ad file")
    with pytest.raises(FileFormatError, match="MemoryError"):
        probed("x = bytearray(100 * 2**30)", path, "h5ad file")
    with pytest.raises(FileFormatError, match="MemoryError"):
        probed("x = bytearray(2**30)", path, "h5ad file")
    probed("x = bytearray(2**29)", path, "h5ad file")
    monkeypatch.setattr(boundary, "CHILD_SECONDS", 1.0)
    with pytest.raises(FileFormatError, match="did not end within 1 s"):
        probed("while True: pass", path, "h5ad file")
    monkeypatch.setattr(boundary, "CHILD_PATIENCE", 1.0)
    with pytest.raises(FileFormatError, match="did not end within 1 s"):
        probed("import time; time.sleep(60)", path, "h5ad file")


def test_a_dataset_of_hdf5_that_states_too_much(tmp_path):
    import h5py

    path = tmp_path / "t.h5ad"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(10**6, 10**6), chunks=(1000, 1000), dtype="f8")
    with pytest.raises(FileFormatError, match=r"X states 8000000000000 bytes"):
        Table.read(path)


def test_foreign_files_are_named(tmp_path):
    for start, what in ((b"$FL2@(#)", "SPSS"), (b"<stata_dta>", "Stata"), (b"RDX3\n", "R work")):
        (tmp_path / "t").write_bytes(start + bytes(50))
        with pytest.raises(FileFormatError, match=what):
            Table.read(tmp_path / "t")


def test_control_characters_do_not_get_through(tmp_path):
    assert printable("\x1b[2J\u202eabc\x07") == "�[2J�abc�"
    (tmp_path / "t.csv").write_text("a\x1b[31m,b\x07\n1,2\n3,4\n")
    table = Table.read(tmp_path / "t.csv")
    assert table.feature_names == ("a�[31m", "b�")
    assert any("control characters in 2 column names" in note for note in table.notes)


def test_reading_leaves_no_open_file_behind(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n", mtime=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        Table.read(tmp_path / "t.csv.gz")


def test_wide_files_are_read_in_parts(tmp_path, monkeypatch):
    """Arrow's reader takes memory for each column; how many it has at once changes nothing."""
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,d,e\n1,x,2.5,,7\n2,y,-,4,8\n3,x,1.5,6,9\n")
    whole = Table.read(path)
    for n in (1, 2, 3):
        monkeypatch.setattr(delimited, "COLUMNS_AT_ONCE", n)
        part = Table.read(path)
        assert part.feature_names == whole.feature_names and part.notes == whole.notes
        np.testing.assert_array_equal(
            part.to_numpy(nominal="onehot"), whole.to_numpy(nominal="onehot")
        )


def test_limits_on_the_cells_of_what_unpacks():
    limits = Limits(ratio=200, table=1600)
    limits.check_cells(100, 1, "t")  # 1600 bytes are always allowed
    limits.check_cells(12_500, 1000, "t")  # 200 times the size of the file
    with pytest.raises(FileFormatError, match=r"t \(1,000 bytes\) unpacks to 12,501 cells"):
        limits.check_cells(12_501, 1000, "t")
    Limits.lifted().check_cells(10**15, 1, "t")


@pytest.mark.parametrize("row", [b"1,2\n", b"1;2\n", b"1\t2\n", b"1|2\n", b"1 2\n"])
def test_a_table_may_take_much_more_than_its_text(tmp_path, row):
    """The text is within the limits, the table of numbers is not."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a" + row[1:2] + b"b\n" + row * 20_000, mtime=0))
    size = path.stat().st_size
    assert 200 * size < 16 * 2 * 20_000  # below 64 MB the text itself is always allowed
    with pytest.raises(FileFormatError, match="cells or more, which take"):
        Table.read(path, limits=Limits(table=1000))
    assert Table.read(path).shape == (20_000, 2)


def test_whoever_asks_for_all_of_a_bomb_gets_no_more_than_is_honest(tmp_path):
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(bytes(10**6), mtime=0) * 50)
    limits = Limits(unpacked=4 << 20)
    with open_bytes(path, limits) as file, pytest.raises(FileFormatError, match="times its size"):
        file.read()
    stream = Counted()
    limited = _Limited(stream, 1, "t", "gzip", limits)
    with pytest.raises(FileFormatError, match="times its size"):
        io.BufferedReader(limited, 1 << 20).read(1 << 30)
    assert stream.given <= (4 << 20) + PIECE


class Counted:
    """An endless stream that counts what it gave."""

    given = 0

    def read(self, n):
        self.given += n
        return bytes(n)

    def close(self):
        """Asked for when the reader around it goes."""


@pytest.mark.parametrize("write", ["parquet", "feather"])
def test_zeros_in_files_of_arrow(tmp_path, write):
    path, table = tmp_path / "t.bin", pa.table({"a": np.zeros(500_000), "b": np.zeros(500_000)})
    if write == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path, compression="zstd")
    with pytest.raises(FileFormatError, match=r"unpacks to 1,000,000 cells|unpacks to \d+,\d+ cel"):
        Table.read(path, limits=Limits(table=1000))
    assert Table.read(path).shape == (500_000, 2)


def test_feather_files_are_refused_before_all_of_them_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "t.feather"
    table = pa.table({"a": np.zeros(500_000), "b": np.zeros(500_000)})
    feather.write_feather(table, path, compression="zstd", chunksize=1000)
    seen = []
    check = Limits.check_cells
    monkeypatch.setattr(
        Limits, "check_cells", lambda self, *given: (seen.append(given[0]), check(self, *given))[1]
    )
    with pytest.raises(FileFormatError):
        Table.read(path, limits=Limits(table=16 * 10_000, ratio=1.0))
    assert seen[:2] == [2000, 4000] and max(seen) < 100_000


def test_bombs_of_blanks_are_refused_before_any_row_is_read(tmp_path, monkeypatch):
    path = tmp_path / "t.txt.gz"
    path.write_bytes(gzip.compress(b"a b\n" + b"1 2\n" * 200_000, mtime=0))
    monkeypatch.setattr(delimited, "_lines", None)
    with pytest.raises(FileFormatError, match="cells or more"):
        Table.read(path, limits=Limits(table=16 * 100_000))


def test_stated_sizes_that_no_table_has(monkeypatch):
    monkeypatch.setattr(boundary, "memory_size", lambda: 2**40)
    for shape in ((0, 0), (0, 3), (3, 0), (2**31 - 1, 3)):
        Limits().check_shape(*shape, 2, "t")
    for shape in ((-1, 3), (3, -1), (2**31, 3)):
        with pytest.raises(FileFormatError, match="which no table has; it is damaged"):
            Limits().check_shape(*shape, 2, "t")
    # Eight bytes for a row, and one for a feature of a cluster, if there is one.
    monkeypatch.setattr(boundary, "memory_size", lambda: 1000)
    limits = Limits(memory=0.5)
    for shape in ((60, 10, 2), (61, 12, 0), (61, 12, 1)):
        limits.check_shape(*shape, "t")
    for shape in ((60, 11, 2), (61, 13, 0), (61, 13, 1)):
        with pytest.raises(FileFormatError, match=r"t states .* rows and .* features, which"):
            limits.check_shape(*shape, "t")


def test_stated_features_take_memory_too():
    limits = Limits(table=1000)
    limits.check_shape(10, 500, 2, "t")
    with pytest.raises(FileFormatError, match=r"t states 501 features.*Limits\.lifted"):
        limits.check_shape(10, 501, 2, "t")
    Limits.lifted().check_shape(10, 501, 2, "t")
    with pytest.raises(FileFormatError, match=r"t states 1,001 features"):
        limits.check_shape(10, 1001, 0, "t")


@pytest.mark.parametrize("file", crafted(), ids=lambda file: file.name)
def test_files_that_lie_are_read_or_refused(tmp_path, file):
    began = time.process_time()
    assert outcome(file, file.content, tmp_path) == (
        "read" if file.name == "line.csv" else "refused"
    )
    assert time.process_time() - began < 5
