"""Delimited text as columns: by arrow's reader where the file is clean, row by row where not."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from subscape.core.errors import FileFormatError, SubscapeError, count
from subscape.tables.texts import AMONG_NUMBERS, MARKERS

from . import dialect
from .boundary import DEFAULT, Limits, guarded
from .compression import PIECE, open_bytes, packing_of
from .dialect import NAMES, counts_as_number, split
from .layout import Layout, TextOptions, is_remark, layout

__all__ = ["LineNumbers", "TextOptions", "read_delimited"]

#: After this many columns that looked numeric at first and were not, all others are read as text.
MOST_SURPRISES = 2

#: Rows longer than this are read row by row.
LONGEST_FOR_ARROW = 1 << 27

#: Of wider tables this many columns are read in one go.
COLUMNS_AT_ONCE = 2048

#: In larger files rows are counted, not lines.
MOST_TO_COUNT = 1 << 27

#: Bytes of text that are handed to arrow in one piece; what is larger is read in blocks.
MOST_IN_MEMORY = 1 << 26

#: Bytes of a sample of long lines: while it is split, a letter takes eight.
LARGEST_SAMPLE = 1 << 25

#: From here on, float64 has no longer every whole number.
LARGEST_WHOLE = float(2**53)

#: A number that may be a code: it begins with a zero, or a letter in it says a power of ten.
_CODE = re.compile(r"0\d+|\d+[eE]\d{1,3}", re.ASCII)

#: What may stand around a name: blanks, and the byte-order mark of a file that was joined on.
_AROUND = " \t\r\n\u00a0\ufeff"

_CONVERSION = re.compile(r"column #(\d+)")


def read_delimited(
    path: Path, options: TextOptions, literal: frozenset[str], limits: Limits = DEFAULT
) -> tuple[Layout, list[Any]]:
    """The layout of a delimited file and its columns as arrow arrays of numbers or text."""
    if options.ragged not in (None, "refuse", "pad"):
        raise SubscapeError(f"ragged is 'refuse' or 'pad', not {options.ragged!r}")
    sample, complete = _sample(path, limits)
    found = layout(sample, complete, options, path.name, limits)
    limits.check_columns(len(found.names), path.name)
    del sample
    numeric = guess_types(found, literal)
    surprises = 0
    while True:
        try:
            found, arrays = _read_columns(path, found, numeric, options, limits)
        except UnicodeDecodeError:
            found = _next_encoding(found, options, path.name)
            continue
        except FileFormatError:
            raise
        except ValueError as error:
            place = _CONVERSION.search(str(error))
            if "invalid UTF8" in str(error):
                found = _next_encoding(found, options, path.name)
            elif place and numeric[int(place[1])]:
                surprises += 1
                numeric[int(place[1])] = False
                if surprises >= MOST_SURPRISES:
                    numeric = [False] * len(numeric)
            elif not found.end and (end := _remarks_begin(path, found, limits)):
                found = found._replace(end=end)
            else:
                raise _ragged(path, found, error, limits) from None
            continue
        too_long = [j for j, number in enumerate(numeric) if number and _holds_keys(arrays[j])]
        if not too_long:
            break
        for j in too_long:
            numeric[j] = False
    found, arrays = _without_header(path, found, arrays, limits)
    if found.again:
        numeric = guess_types(found, literal)
    if found.encoding in ("cp1252", "latin-1") and options.encoding is None:
        _check_one_encoding(path, found, limits)
    if arrays and "\n" in _last_text(arrays[-1]):
        _check_quotes(path, found, limits)
    zeros = _leading_zeros(found, numeric, literal)
    return found._replace(notes=[*found.notes, *zeros]), arrays


def _sample(path: Path, limits: Limits) -> tuple[bytes, bool]:
    """The beginning of a file, with some whole lines in it, and whether that is all."""
    size = dialect.SAMPLE_BYTES
    with open_bytes(path, limits) as file:
        sample = file.read(size)
        while len(sample) == size:
            lines = sample.count(b"\n") + sample.count(b"\r")
            if lines >= dialect.SAMPLE_LINES or (lines and size >= LARGEST_SAMPLE):
                return sample, False
            if size > limits.line:
                raise FileFormatError(
                    f"{path.name} has no line break in its first {size:,} bytes; is it a table? "
                    "Lift the limit by limits=Limits(line=…)"
                )
            sample += file.read(size)
            size *= 2
    return sample, True


def guess_types(found: Layout, literal: frozenset[str]) -> list[bool]:
    """Which columns look numeric in the sample."""
    numeric = [name not in literal and not found.is_mixed for name in found.names]
    for row in found.rows:
        for j, cell in enumerate(row[: len(numeric)]):
            if numeric[j] and not counts_as_number(cell, found.decimal):
                numeric[j] = False
    return numeric


def _without_header(
    path: Path, found: Layout, arrays: list[Any], limits: Limits
) -> tuple[Layout, list[Any]]:
    """The columns without the rows that are the header once more, as where files were joined.

    Such a row makes a text of every column, and each of its names stands nowhere else in its
    column: else they are levels, and the file has no header.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    names = _bare(found.header)
    named = [j for j, name in enumerate(names) if name]
    if len(named) < 2 or len(names) != len(arrays):
        return found, arrays
    again = None
    for j in named:
        if arrays[j].type != pa.string():
            return found, arrays
        bare = pc.utf8_lower(pc.utf8_trim(arrays[j], _AROUND))
        here = np.asarray(pc.equal(bare, names[j]))
        if not here.any() or (again is not None and (here != again).any()):
            return found, arrays
        again = here
    if again is None or again.all():
        return found, arrays
    kept = pa.array(~again)
    arrays = [cells.filter(kept) for cells in arrays]
    rows = [row for row in found.rows if _bare(row) != names]
    lines = [line for line, cells in _lines(path, found, limits) if _bare(cells) == names]
    said = ", ".join(map(str, lines[:3])) + (", …" if len(lines) > 3 else "")
    note = (
        f"the names of the columns come again in {count(len(lines), 'row')} (line {said}), "
        "left out there"
    )
    found = found._replace(rows=rows, notes=[*found.notes, note], again=frozenset(lines))
    return found, arrays


def _bare(cells: Sequence[str]) -> tuple[str, ...]:
    """Cells without blanks around them and without capitals."""
    return tuple(cell.strip(_AROUND).lower() for cell in cells)


def _holds_keys(cells: Any) -> bool:
    """Whether a column holds whole numbers so large that neighbours became equal."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if cells.type != pa.float64():
        return False
    ends = pc.min_max(cells).as_py()
    if max(abs(ends["min"] or 0.0), abs(ends["max"] or 0.0)) < LARGEST_WHOLE:
        return False
    values = np.asarray(cells, dtype=np.float64)
    large = values[np.isfinite(values) & (np.abs(values) >= LARGEST_WHOLE)]
    # Written with all digits, whole numbers end before 10^25; beyond, they have an exponent.
    return bool(len(large) and (np.abs(large) < 1e25).any())


def _leading_zeros(found: Layout, numeric: Sequence[bool], literal: frozenset[str]) -> list[str]:
    """What is said of columns whose numbers may be codes, such as 00501."""
    notes = []
    for j, name in enumerate(found.names[: len(numeric)]):
        cells = [row[j].strip() for row in found.rows if j < len(row)]
        # Powers of ten may be too large for numbers that tell neighbours apart.
        may_be = numeric[j] or (name not in literal and all(map(counts_as_number, cells)))
        codes = cells if may_be else ()
        code = next((cell for cell in codes if _CODE.fullmatch(cell)), None)
        if code is not None:
            how = (
                f"has an exponent and was read as {float(code):.15g}"
                if "E" in code.upper()
                else f"begins with zeros and was read as {int(code)}"
            )
            notes.append(
                f"column {name!r}: {code!r} {how}; if these are codes, give it the role nominal or "
                "id (columns=…)"
            )
    return notes


def _last_text(column: Any) -> str:
    """The last cell of a column of text."""
    import pyarrow as pa

    if column.type != pa.string() or not len(column):
        return ""
    return str(column[len(column) - 1].as_py() or "")


def _check_quotes(path: Path, found: Layout, limits: Limits) -> None:
    """Refuse a file of which a quotation mark that is never closed swallowed the rest."""
    with open_bytes(path, limits) as file:
        text = io.TextIOWrapper(file, found.encoding, errors="replace", newline="")
        end = ""
        for line in text:
            end = line if line.strip() else end
    if end.rstrip().endswith('"'):
        return
    *others, _ = [number for number, _ in _lines(path, found, limits)]
    begin = 1 + (others[-1] if others else found.skip)
    raise FileFormatError(
        f"{path.name}, line {begin}: a quotation mark that opens there is never closed, and all "
        "lines behind it are one cell; close it, or take it out"
    )


def _next_encoding(found: Layout, options: TextOptions, name: str) -> Layout:
    """What to try where a later part of the file contradicts its beginning."""
    if options.encoding is not None or found.encoding == "latin-1":
        raise FileFormatError(f"{name} is not {found.encoding}; say another encoding=…")
    encoding = "cp1252" if found.encoding.startswith("utf") else "latin-1"
    return found._replace(encoding=encoding)


def _check_one_encoding(path: Path, found: Layout, limits: Limits) -> None:
    """Refuse a file of which some lines are UTF-8 and others are not."""
    good = bad = None
    with open_bytes(path, limits) as file:
        for number, line in enumerate(file, 1):
            if line.isascii():
                continue
            try:
                line.decode("utf-8")
                good = good or number
            except UnicodeDecodeError as error:
                if bad is None:
                    column = line[: error.start].count(found.delimiter.encode())
                    bad = (number, column)
            if good and bad:
                break
    if good and bad:
        wrong, column = bad
        name = found.names[column] if column < len(found.names) else str(column + 1)
        raise FileFormatError(
            f"{path.name} mixes encodings: line {good} is UTF-8, line {wrong} (column {name!r}) is "
            "not; save it in one encoding, or say encoding='cp1252' and check the letters"
        )


def _read_columns(
    path: Path, found: Layout, numeric: Sequence[bool], options: TextOptions, limits: Limits
) -> tuple[Layout, list[Any]]:
    odd = found.delimiter == " " or found.has_comments or options.ragged == "pad"
    odd |= found.end > 0
    if odd or found.longest > LONGEST_FOR_ARROW:
        return _read_rows(path, found, options.ragged == "pad", limits)
    return found, _read_by_arrow(path, found, numeric, limits)


def _read_by_arrow(path: Path, found: Layout, numeric: Sequence[bool], limits: Limits) -> list[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    keys = [str(j) for j in range(len(found.names))]
    kinds = {
        key: pa.float64() if number else pa.string()
        for key, number in zip(keys, numeric, strict=True)
    }
    # A block must hold the longest row, else arrow gives up.
    block = min(max(1 << 20, 8 * found.longest), 1 << 30)
    columns = []
    # Arrow needs some 60 kB for every column while it reads, however few rows there are.
    for begin in range(0, len(keys), COLUMNS_AT_ONCE):
        some = keys[begin : begin + COLUMNS_AT_ONCE]
        with _for_arrow(path, found.encoding, limits) as (file, encoding):
            table = arrow_csv.read_csv(
                file,
                read_options=arrow_csv.ReadOptions(
                    column_names=keys,
                    skip_rows=found.skip,
                    encoding=encoding,
                    block_size=block,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=found.delimiter,
                    newlines_in_values=True,
                    escape_char=found.escape or False,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={key: kinds[key] for key in some},
                    include_columns=some,
                    null_values=sorted(MARKERS | AMONG_NUMBERS),
                    strings_can_be_null=False,
                    decimal_point=found.decimal,
                ),
            )
        columns += [table.column(key) for key in some]
    return columns


@contextlib.contextmanager
def _for_arrow(path: Path, encoding: str, limits: Limits) -> Iterator[tuple[Any, str]]:
    """A file as arrow shall read it, and in which encoding.

    Threads of arrow read ahead, also after an error. One that waits for Python while the
    interpreter ends brings the whole process down, so they get bytes, or a file of their own, where
    that is possible.
    """
    import pyarrow as pa

    plain = encoding.startswith("utf-8")
    with open_bytes(path, limits) as file:
        head = file.read(MOST_IN_MEMORY + 1)
        if len(head) <= MOST_IN_MEMORY:
            yield pa.BufferReader(head if plain else head.decode(encoding).encode()), "utf8"
            return
    del head
    if plain and not packing_of(path):
        with pa.OSFile(str(path), "rb") as own:
            yield own, "utf8"
        return
    with open_bytes(path, limits) as file:
        yield file, "utf8" if plain else encoding


def _lines(path: Path, found: Layout, limits: Limits) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row of data."""
    with (
        open_bytes(path, limits) as file,
        io.TextIOWrapper(file, found.encoding, newline="") as text,
    ):
        for _ in range(found.skip):
            text.readline()
        for line, cells in split(text, found.delimiter, limits, found.escape):
            if found.end and found.skip + line >= found.end:
                return
            yield found.skip + line, cells


def _remarks_begin(path: Path, found: Layout, limits: Limits) -> int:
    """The line from which on there are only remarks, such as the source of the data; else 0."""
    begin, before, width = 0, found.skip, len(found.names)
    try:
        for line, cells in _lines(path, found, limits):
            alone = [cell.strip() for cell in cells if cell.strip()]
            gap = line - sum(cell.count("\n") for cell in cells) > before + 1
            before = line
            if begin == 0 and len(cells) == width:
                continue
            if alone != ["\x1a"] and width < 3:
                return 0
            if len(alone) == 1 and (begin or is_remark(alone[0])):
                begin = begin or line
                continue
            # A sentence with commas in it, which is no row that was cut.
            text = found.delimiter.join(cells).strip()
            if len(cells) == width or not (begin or gap) or not is_remark(text):
                return 0
            begin = begin or line
    except (FileFormatError, UnicodeDecodeError):
        return 0
    return begin


def _read_rows(path: Path, found: Layout, pad: bool, limits: Limits) -> tuple[Layout, list[Any]]:
    """All columns as text, row by row: for comments among the data, blanks, and rows to pad."""
    import pyarrow as pa

    if packing_of(path):  # rows are slow: what unpacks to too much is refused before
        with open_bytes(path, limits) as file:
            while file.read(PIECE):
                pass
    width, names, notes = len(found.names), list(found.names), list(found.notes)
    columns: list[list[str]] = [[] for _ in names]
    short: list[int] = []
    n, end = 0, ""
    for line, cells in _lines(path, found, limits):
        if found.has_comments and cells[0].startswith("#") and len(cells) != width:
            continue
        end = cells[-1]
        if len(cells) != width:
            if not pad:
                raise _unequal(path, found, line, len(cells), 0)
            short.append(line)
            while len(columns) < len(cells):
                columns.append([""] * n)
                names.append(f"column{len(names)}")
            cells = cells + [""] * (len(columns) - len(cells))
        elif len(columns) > width:
            cells = cells + [""] * (len(columns) - width)
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
        n += 1
    if "\n" in end:
        _check_quotes(path, found, limits)
    if found.end:
        notes.append(f"what stands below the table was left out, from line {found.end} on")
    if short:
        first = ", ".join(map(str, short[:3])) + (", …" if len(short) > 3 else "")
        notes.append(
            f"{count(len(short), 'row')} of another length than the header padded with missing "
            f"cells (line {first})"
        )
    arrays = [pa.chunked_array([pa.array(column, type=pa.string())]) for column in columns]
    return found._replace(names=names, notes=notes), arrays


class LineNumbers:
    """Where the rows of a file stand; looked up in one go when first asked.

    Parameters
    ----------
    path : Path
    found : Layout
    limits : Limits
    """

    def __init__(self, path: Path, found: Layout, limits: Limits = DEFAULT) -> None:
        self._source = path, found, limits
        self._lines: list[int] | None = None

    def __call__(self, row: int) -> str:
        """The place of a row in words."""
        if self._lines is None:
            path, found, limits = self._source
            small = path.stat().st_size <= MOST_TO_COUNT
            width = len(found.names)
            self._lines = [
                line
                for line, cells in (_lines(path, found, limits) if small else ())
                if (len(cells) == width or not (found.has_comments and cells[0].startswith("#")))
                and line not in found.again
            ]
        return f"line {self._lines[row]}" if row < len(self._lines) else f"row {row + 1}"


def _ragged(path: Path, found: Layout, error: Exception, limits: Limits) -> FileFormatError:
    """Where the rows stop having as many cells as the header."""
    width = len(found.names)
    odd: list[tuple[int, int]] = []
    below = 0
    cells: list[str] = []
    with guarded(path.name), open_bytes(path, limits) as file:
        text = io.TextIOWrapper(file, found.encoding, errors="replace", newline="")
        for _ in range(found.skip):
            text.readline()
        for line, cells in split(text, found.delimiter, limits, found.escape):
            if len(cells) != width:
                odd.append((found.skip + line, len(cells)))
            below += bool(odd)
    if cells and "\n" in cells[-1]:
        _check_quotes(path, found, limits)
    if not odd:
        return FileFormatError(f"{path.name} cannot be read: {error}")
    line, other = odd[0]
    if (
        len(odd) == below > 1
        and other > 1
        and {n for _, n in odd} == {other}
        and line > found.skip + 1
    ):
        return FileFormatError(
            f"{path.name}, line {line}: {other} cells from there to the end where the first row "
            f"has {width}; if another table begins there, leave it in a file of its own"
        )
    return _unequal(path, found, *odd[0], len(odd) - 1)


def _unequal(path: Path, found: Layout, line: int, cells: int, others: int) -> FileFormatError:
    more = f", and {count(others, 'other row')} differ" if others else ""
    return FileFormatError(
        f"{path.name}, line {line}: {count(cells, 'cell')} where the first row has "
        f"{len(found.names)}{more}; mend the file, say ragged='pad' to fill up what is short, or "
        f"delimiter=… (found: {NAMES.get(found.delimiter, found.delimiter)})"
    )
