"""Delimited text: what the file is (encoding, delimiter, header), and its columns."""

from __future__ import annotations

import csv
import gzip
import io
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from subscape.core.errors import FileFormatError, SubscapeError, count
from subscape.tables.columns import check_unique, is_number
from subscape.tables.roles import MARKERS

#: Delimiters that are recognised.
DELIMITERS = (",", ";", "\t", "|")
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "blank"}

#: How much of a file is looked at before it is read.
SAMPLE_BYTES, SAMPLE_ROWS, SAMPLE_CELLS = 1 << 22, 200, 50_000

#: After this many columns that looked numeric at first and were not, all others are read as text.
MOST_SURPRISES = 5

_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+", re.ASCII)
_CONVERSION = re.compile(r"column #(\d+)")


class TextOptions(NamedTuple):
    """What the user said about a text file; None means: find out."""

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None


class Layout(NamedTuple):
    """What a delimited file is."""

    delimiter: str
    decimal: str
    encoding: str
    names: list[str]
    skip: int
    rows: list[list[str]]
    notes: list[str]


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if they are gzipped."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path, "rb")) if packed else path.open("rb")


def detect_encoding(sample: bytes, asked: str | None, name: str) -> str:
    """The encoding of a text by its first bytes; an error where it is no text."""
    if asked is not None:
        return asked
    if sample.startswith(BOM_UTF8):
        return "utf-8-sig"
    if sample.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in sample:
        raise FileFormatError(
            f"{name} is not text (it has zero bytes); if it is UTF-16 without a byte-order mark, "
            "say encoding='utf-16-le'"
        )
    for encoding in ("utf-8", "cp1252"):
        try:
            getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def decode(sample: bytes, encoding: str, name: str) -> str:
    """The text of a sample whose last character may be cut."""
    try:
        return getincrementaldecoder(encoding)().decode(sample)
    except LookupError:
        raise SubscapeError(f"there is no encoding {encoding!r}") from None
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{name} is not {encoding}: {error.reason} at byte {error.start}; say encoding=…"
        ) from None


def split(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not blank."""
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield reader.line_num, cells
    except csv.Error as error:
        raise FileFormatError(f"line {reader.line_num}: {error}") from None


def _sample_rows(text: str, delimiter: str, complete: bool) -> list[tuple[int, list[str]]]:
    rows: list[tuple[int, list[str]]] = []
    try:
        for row in split(io.StringIO(text, newline=""), delimiter):
            rows.append(row)
            most = min(SAMPLE_ROWS, max(10, SAMPLE_CELLS // len(rows[0][1])))
            if len(rows) > most:
                return rows[:-1]
    except FileFormatError:
        return rows
    # The last row of a sample may be cut in the middle.
    return rows if complete or len(rows) < 2 else rows[:-1]


def counts_as_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a number, or missing."""
    cell = cell.strip()
    if cell in MARKERS or cell == "-":
        return True
    return is_number(cell if decimal == "." else cell.replace(decimal, "."))


def _score(rows: Sequence[list[str]], delimiter: str) -> tuple[float, float, int]:
    """How well a delimiter fits: equal widths first, then cells that are numbers, then width."""
    if not rows:
        return (0.0, 0.0, 0)
    width, times = Counter(map(len, rows)).most_common(1)[0]
    if width == 1:
        return (0.0, 0.0, 1)
    cells = [cell for row in rows for cell in row]
    marks = ".," if delimiter != "," else "."
    numeric = sum(any(counts_as_number(cell, mark) for mark in marks) for cell in cells)
    return (round(times / len(rows), 1), numeric / len(cells), width)


def _decimal(rows: Sequence[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    if not commas or any(_DECIMAL_POINT.fullmatch(cell) for cell in cells):
        return "."
    # 1,234 under tabs is more likely a thousand; under semicolons the comma is the decimal sign.
    if delimiter != ";" and all(_THOUSANDS.fullmatch(cell) for cell in commas):
        return "."
    return ","


def _is_header(first: list[str], decimal: str) -> bool:
    """Whether the first row holds names: it does unless all its cells are numbers."""
    cells = [cell.strip() for cell in first]
    if not all(counts_as_number(cell, decimal) for cell in cells):
        return True
    numbered = cells[1:] if cells[0] == "" else cells
    # Data frames without names are written with 0, 1, 2, … as their header.
    return len(numbered) >= 3 and numbered == [str(j) for j in range(len(numbered))]


def layout(sample: bytes, complete: bool, options: TextOptions, name: str) -> Layout:
    """Find out what a delimited file is from its beginning."""
    encoding = detect_encoding(sample, options.encoding, name)
    text = decode(sample, encoding, name)
    if not text.strip():
        raise FileFormatError(f"{name} is empty")
    if options.delimiter is not None:
        if len(options.delimiter) != 1:
            raise SubscapeError(f"a delimiter is one character, not {options.delimiter!r}")
        delimiter = options.delimiter
    else:
        fits = {d: _score([c for _, c in _sample_rows(text, d, complete)], d) for d in DELIMITERS}
        delimiter = max(DELIMITERS, key=fits.__getitem__)
    rows = _sample_rows(text, delimiter, complete)
    if not rows:
        raise FileFormatError(f"{name}: no complete row in its first {len(sample)} bytes")
    notes: list[str] = []
    if len(rows[0][1]) == 1:
        _check_single_column(rows, delimiter, name)
    data = [cells for _, cells in rows]
    decimal = options.decimal or _decimal(data, delimiter)
    header = _is_header(data[0], decimal) if options.header is None else options.header
    if not header:
        names = [f"x{j}" for j in range(len(data[0]))]
        if options.header is None:
            notes.append("the first row holds numbers only, so the columns are called x0, x1, …")
        return Layout(delimiter, decimal, encoding, names, 0, data, notes)
    names = _named([cell.strip() for cell in data[0]])
    numbers = [
        cell for cell in data[0] if re.search(r"\d\.\d", cell) and counts_as_number(cell, decimal)
    ]
    if numbers and options.header is None:
        notes.append(
            f"the first row was taken as names, though {count(len(numbers), 'cell')} in it are "
            "numbers; header=False reads it as data"
        )
    try:
        check_unique(names)
    except SubscapeError as error:
        raise SubscapeError(f"{name}: {error} (if the first row is data: header=False)") from None
    return Layout(delimiter, decimal, encoding, names, rows[0][0], data[1:], notes)


def _named(names: list[str]) -> list[str]:
    """Names for the columns that have none; a nameless first column is an index."""
    taken = set(names)
    out = []
    for j, name in enumerate(names):
        if not name:
            name = "index" if j == 0 and "index" not in taken else f"column{j}"
        out.append(name)
    return out


def _check_single_column(rows: Sequence[tuple[int, list[str]]], used: str, name: str) -> None:
    """Refuse a single column whose cells all hold the same number of another delimiter."""
    for other in (*DELIMITERS, " "):
        times = {cells[0].strip().count(other) for _, cells in rows}
        if other != used and len(rows) > 1 and len(times) == 1 and times != {0}:
            raise FileFormatError(
                f"{name}, split at every {NAMES.get(used, used)}, has one column, but each row "
                f"holds {count(times.pop(), NAMES[other])}; say delimiter={other!r}"
            )


def guess_types(found: Layout, literal: frozenset[str]) -> list[bool]:
    """Which columns look numeric in the sample."""
    numeric = [name not in literal for name in found.names]
    for row in found.rows:
        for j, cell in enumerate(row[: len(numeric)]):
            if numeric[j] and not counts_as_number(cell, found.decimal):
                numeric[j] = False
    return numeric


def read_delimited(
    path: Path, options: TextOptions, literal: frozenset[str]
) -> tuple[Layout, list[Any]]:
    """The layout of a delimited file and its columns as arrow arrays of numbers or text."""
    with open_bytes(path) as file:
        sample = file.read(SAMPLE_BYTES)
    found = layout(sample, len(sample) < SAMPLE_BYTES, options, path.name)
    numeric = guess_types(found, literal)
    surprises = 0
    while True:
        try:
            return found, _read(path, found, numeric)
        except UnicodeDecodeError:
            found = _next_encoding(found, options, path.name)
        except ValueError as error:
            place = _CONVERSION.search(str(error))
            if "invalid UTF8" in str(error):
                found = _next_encoding(found, options, path.name)
            elif place:
                surprises += 1
                numeric[int(place[1])] = False
                if surprises >= MOST_SURPRISES:
                    numeric = [False] * len(numeric)
            else:
                raise _ragged(path, found, error) from None


def _next_encoding(found: Layout, options: TextOptions, name: str) -> Layout:
    """What to try where a later part of the file contradicts its beginning."""
    if options.encoding is not None or found.encoding == "latin-1":
        raise FileFormatError(f"{name} is not {found.encoding}; say another encoding=…")
    encoding = "cp1252" if found.encoding.startswith("utf") else "latin-1"
    return found._replace(encoding=encoding)


def _read(path: Path, found: Layout, numeric: Sequence[bool]) -> list[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    keys = [str(j) for j in range(len(found.names))]
    kinds = {
        key: pa.float64() if number else pa.string()
        for key, number in zip(keys, numeric, strict=True)
    }
    with open_bytes(path) as file:
        table = arrow_csv.read_csv(
            file,
            read_options=arrow_csv.ReadOptions(
                column_names=keys,
                skip_rows=found.skip,
                encoding="utf8" if found.encoding.startswith("utf-8") else found.encoding,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=found.delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=kinds,
                null_values=sorted({*MARKERS, "-"}),
                strings_can_be_null=False,
                decimal_point=found.decimal,
            ),
        )
    return [table.column(key) for key in keys]


def _ragged(path: Path, found: Layout, error: Exception) -> FileFormatError:
    """Where the rows stop having as many cells as the header."""
    width = len(found.names)
    with (
        open_bytes(path) as file,
        io.TextIOWrapper(file, found.encoding, errors="replace", newline="") as text,
    ):
        odd = [
            (line, len(cells))
            for line, cells in split(text, found.delimiter)
            if len(cells) != width
        ]
    if not odd:
        return FileFormatError(f"{path.name} cannot be read: {error}")
    line, cells = odd[0]
    more = f", and {count(len(odd) - 1, 'other row')} differ" if len(odd) > 1 else ""
    return FileFormatError(
        f"{path.name}, line {line}: {count(cells, 'cell')} where the first row has {width}{more}; "
        f"mend the file, or say delimiter=… (found: {NAMES.get(found.delimiter, found.delimiter)})"
    )
