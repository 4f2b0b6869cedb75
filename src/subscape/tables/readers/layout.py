"""What a delimited text is: its encoding, delimiter, decimal sign, header, and what precedes it."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from subscape.core.errors import FileFormatError, SubscapeError, count, listing
from subscape.tables.columns import is_number
from subscape.tables.dates import parse_day
from subscape.tables.numbers import parse_number
from subscape.tables.texts import AMONG_NUMBERS, MARKERS

from .boundary import DEFAULT, Limits, printable

#: Delimiters that are recognised; blanks only where nothing else is.
DELIMITERS = (",", ";", "\t", "|")
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "blank"}

#: How much of a file is looked at before it is read.
SAMPLE_BYTES, SAMPLE_ROWS, SAMPLE_CELLS = 1 << 22, 200, 50_000

#: Lines that a sample shall have, if they are not too long.
SAMPLE_LINES = 20

#: Longer first lines are looked at before they are split.
LONG_LINE = 1 << 20

_SEP = re.compile(r'\ufeff?"?sep=(.)"?\s*', re.IGNORECASE)
_POWER = r"(?:[eE][+-]?\d+)?"
_ONLY_POINT = re.compile(
    r"[+-]?(?:\d*\.(?!\d{3}$)\d+|0+\.\d+|\d{4,}\.\d+|[1-9]\d{0,2}(?:[,' ]\d{3})+\.\d+|"
    r"[1-9]\d{0,2}(?:,\d{3}){2,})" + _POWER,
    re.ASCII,
)
_ONLY_COMMA = re.compile(
    r"[+-]?(?:\d*,(?!\d{3}$)\d+|0+,\d+|\d{4,},\d+|[1-9]\d{0,2}(?:[.' ]\d{3})+,\d+|"
    r"[1-9]\d{0,2}(?:\.\d{3}){2,})" + _POWER,
    re.ASCII,
)
_GROUPED_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_FIGURES = re.compile(r"[+-]?[\d.,' ]+(?:[eE][+-]?\d+)?", re.ASCII)


class TextOptions(NamedTuple):
    """What the user said about a text file; None means: find out."""

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    ragged: str | None = None


class Layout(NamedTuple):
    """What a delimited file is.

    Attributes
    ----------
    delimiter, decimal, encoding : str
    names : list of str
        Of the columns, made distinct.
    skip : int
        Lines before the first row of data.
    rows : list of list of str
        The first rows of data.
    notes : list of str
    row_names : bool
        Whether the first column has no name: it names the rows.
    is_sure : bool
        Whether the decimal sign was said.
    is_mixed : bool
        Whether some numbers have a decimal comma and others a point.
    has_comments : bool
        Whether lines among the data begin with ``#``.
    longest : int
        Letters of the longest line that was seen.
    """

    delimiter: str
    decimal: str
    encoding: str
    names: list[str]
    skip: int
    rows: list[list[str]]
    notes: list[str]
    row_names: bool = False
    is_sure: bool = False
    is_mixed: bool = False
    has_comments: bool = False
    longest: int = 0


Row = tuple[int, list[str]]


# -- encodings ------------------------------------------------------------------------------------


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
    except (LookupError, AttributeError):
        raise SubscapeError(f"there is no encoding {encoding!r}") from None
    except (UnicodeDecodeError, UnicodeError) as error:
        reason = getattr(error, "reason", error)
        place = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise FileFormatError(
            f"{name} is not {encoding}: {reason}{place}; say encoding=…"
        ) from None


# -- rows -----------------------------------------------------------------------------------------


def split(
    lines: Iterable[str], delimiter: str, limits: Limits = DEFAULT
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not blank."""
    blank = delimiter == " "
    if blank:
        lines = (line.rstrip() + "\n" for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=blank)
    before = csv.field_size_limit(min(limits.line, 2**31 - 1))
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield reader.line_num, cells
    except csv.Error as error:
        raise FileFormatError(f"line {reader.line_num}: {error}") from None
    finally:
        csv.field_size_limit(before)


def _sample_rows(text: str, delimiter: str, complete: bool) -> list[Row]:
    rows: list[Row] = []
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
    """Whether a cell is a plain number, or missing."""
    cell = cell.strip()
    if cell in MARKERS or cell in AMONG_NUMBERS:
        return True
    return is_number(cell if decimal == "." else cell.replace(decimal, "."))


def _is_data(cell: str, decimal: str) -> bool:
    """Whether a cell can't be the name of a column: a number in any form, or a date."""
    cell = cell.strip()
    if counts_as_number(cell, decimal) or parse_number(cell) is not None:
        return True
    return any(parse_day(cell, order) is not None for order in ("ymd", "dmy", "mdy"))


# -- the delimiter --------------------------------------------------------------------------------


def find_delimiter(text: str, complete: bool = True) -> str:
    """The delimiter that splits most lines into equally many cells.

    >>> find_delimiter("a;b;c;d\\n1,5\\n2,5\\n3,5\\n")
    ','
    >>> find_delimiter("x y\\n1 2\\n3 4\\n")
    ' '
    """
    fits = {
        d: _score([cells for _, cells in _sample_rows(text, d, complete)], d) for d in DELIMITERS
    }
    best = max(DELIMITERS, key=fits.__getitem__)
    if fits[best][2] < 2:
        rows = [cells for _, cells in _sample_rows(text, " ", complete)]
        if _blank_fits(rows, '\n"' in text):
            return " "
    return best


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


def _blank_fits(rows: Sequence[list[str]], quoted: bool) -> bool:
    """Whether blanks split lines into columns, and not sentences into words, or units off."""
    if len(rows) < 2:
        return False
    width, times = Counter(map(len, rows[1:])).most_common(1)[0]
    # R puts no name above its row names.
    headed = len(rows[0]) == width or (len(rows[0]) == width - 1 and (quoted or width > 2))
    if width < 2 or times < 0.9 * (len(rows) - 1) or not headed:
        return False
    cells = [cell for row in rows[1:] for cell in row]
    share = sum(counts_as_number(cell) for cell in cells) / len(cells)
    return share > 0.5 or (quoted and share == 0.5)


def _check_single_column(rows: Sequence[Row], used: str, name: str) -> None:
    """Refuse a single column whose cells all hold the same number of another delimiter."""
    for other in (*DELIMITERS, " "):
        times = {cells[0].strip().count(other) for _, cells in rows}
        if other != used and len(rows) > 1 and len(times) == 1 and times != {0}:
            raise FileFormatError(
                f"{name}, split at every {NAMES.get(used, used)}, has one column, but each row "
                f"holds {count(times.pop(), NAMES[other])}; say delimiter={other!r}"
            )


# -- the decimal sign -----------------------------------------------------------------------------


class Decimal(NamedTuple):
    """The decimal sign of a file, and how sure that is."""

    sign: str
    is_mixed: bool = False
    note: str = ""


def find_decimal(rows: Sequence[Sequence[str]], delimiter: str) -> Decimal:
    """The decimal sign of most cells that allow only one.

    >>> find_decimal([["1.234", "0,5"]], ";").sign
    ','
    """
    points, commas, grouped = 0, 0, ""
    for row in rows:
        for cell in row:
            if "," not in cell and "." not in cell:
                continue
            core = cell.strip()
            if not _FIGURES.fullmatch(core):
                token = parse_number(core)
                if token is None:
                    continue
                core = token.core
            if _ONLY_POINT.fullmatch(core):
                points += 1
            elif _ONLY_COMMA.fullmatch(core):
                commas += 1
            elif not grouped and _GROUPED_COMMA.fullmatch(core):
                grouped = core
    if points or commas:
        return Decimal("," if commas > points else ".", bool(points and commas))
    # 1,234 under tabs is more likely a thousand; under semicolons the comma is the decimal sign.
    if grouped and delimiter == ";":
        value = grouped.replace(",", ".")
        note = f"{grouped!r} was read as {value}, with a decimal comma; decimal='.' reads thousands"
        return Decimal(",", note=note)
    return Decimal(".")


# -- the header, and what stands before it --------------------------------------------------------


def _filled(cells: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def find_header(rows: list[Row], decimal: str) -> tuple[int, bool]:
    """Where the table begins, and whether the name of its first column is left out, as by R."""
    if len(rows) < 2:
        return 0, False
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    if width == 1:
        return 0, False
    for i, (_, cells) in enumerate(rows[:-1]):
        following = [c for _, c in rows[i + 1 :]]
        short = len(cells) == width - 1 and all(len(c) == width for c in following)
        if short and _filled(cells) == len(cells) and any(c[-1].strip() for c in following):
            data = any(_is_data(cell, decimal) for cell in following[0][1:])
            if data or (i == 0 and width > 2):
                return i, True
        sparse = _filled(cells) <= (1 if width < 6 else 2)
        title = width > 2 and len(cells) == width and sparse
        # A narrow line is a title only above wider ones: below, it would be a row that is cut.
        narrow = len(cells) < width and (len(cells) == 1 or _filled(cells) <= width // 2)
        if not title and not narrow:
            return i, False
    return 0, False


def _is_header(first: list[str], decimal: str) -> bool:
    """Whether the first row holds names: it does unless all its cells are numbers or dates."""
    cells = [cell.strip() for cell in first]
    if not all(_is_data(cell, decimal) for cell in cells):
        return True
    numbered = cells[1:] if cells[0] == "" else cells
    # Data frames without names are written with 0, 1, 2, … as their header.
    return len(numbered) >= 3 and numbered == [str(j) for j in range(len(numbered))]


def distinct_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names for the columns that have none, and numbers behind those that repeat; what was done.

    >>> distinct_names(["", "a", "a", "b\\x1b"])[0]
    ['index', 'a', 'a (2)', 'b�']
    """
    notes = []
    clean = [" ".join(printable(name).split()) for name in names]
    strange = sum("�" in new and "�" not in old for new, old in zip(clean, names, strict=True))
    if strange:
        notes.append(f"control characters in {count(strange, 'column name')} were replaced by �")
    taken, out, twice = set(clean), [], []
    seen: set[str] = set()
    for j, given in enumerate(clean):
        name = given or ("index" if j == 0 and "index" not in taken else f"column{j}")
        new, k = name, 2
        while new in seen or (new != given and new in taken and new != name):
            new, k = f"{name} ({k})", k + 1
        if new != name:
            twice.append(new)
        seen.add(new)
        out.append(new)
    if twice:
        notes.append(
            f"{count(len(twice), 'column name')} occurred more than once and got a number: "
            f"{listing(twice)}"
        )
    return out, notes


def _comment_header(text: str, delimiter: str, rows: list[Row]) -> list[str] | None:
    """Names in the last comment before the data, as NumPy writes them."""
    if not rows:
        return None
    named = None
    for line in text.splitlines()[: rows[0][0]]:
        if not line.startswith("#"):
            break
        [*cells] = csv.reader([line.lstrip("#").strip()], delimiter=delimiter)
        named = cells[0] if cells else None
    width = len(rows[0][1])
    if named is None or len(named) != width or width < 2:
        return None
    return named


def layout(
    sample: bytes, complete: bool, options: TextOptions, name: str, limits: Limits = DEFAULT
) -> Layout:
    """Find out what a delimited file is from its beginning."""
    encoding = detect_encoding(sample, options.encoding, name)
    text = decode(sample, encoding, name)
    if not text.strip():
        raise FileFormatError(f"{name} is empty")
    notes: list[str] = []
    stated = _SEP.fullmatch(text.partition("\n")[0].rstrip("\r"))
    body = text.partition("\n")[2] if stated else text
    first = int(bool(stated))
    _check_lines(body, complete, name, limits)
    comments = [line for line in _head(body) if line.startswith("#")]
    if options.delimiter is not None:
        if len(options.delimiter) != 1:
            raise SubscapeError(f"a delimiter is one character, not {options.delimiter!r}")
        delimiter = options.delimiter
    else:
        delimiter = stated[1] if stated else find_delimiter(_uncommented(body), complete)
    rows = [(first + line, cells) for line, cells in _sample_rows(body, delimiter, complete)]
    if not rows:
        raise FileFormatError(f"{name}: no complete row in its first {len(sample)} bytes")
    limits.check_columns(max(len(cells) for _, cells in rows), name)
    has_comments = False
    named: list[str] | None = None
    if comments:
        rows, named, has_comments = _without_comments(rows, body, delimiter, options, notes)
        if not rows:
            raise FileFormatError(f"{name} holds comments only (lines that begin with #)")
    if len(rows[0][1]) == 1:
        _check_single_column(rows, delimiter, name)
    found = find_decimal([cells for _, cells in rows], delimiter)
    sign = options.decimal or found.sign
    if found.note and options.decimal is None:
        notes.append(found.note)
    start, shifted = (0, False) if options.header is False else find_header(rows, sign)
    if start:
        lost = "; ".join(" ".join(cells).strip()[:40] for _, cells in rows[:start])
        notes.append(f"{count(start, 'line')} before the table left out: {printable(lost)!r}")
    rows = rows[start:]
    longest = max((len(line) for line in _head(body)), default=0)
    data = [cells for _, cells in rows]
    rest: dict[str, Any] = {
        "is_sure": options.decimal is not None,
        "is_mixed": found.is_mixed and options.decimal is None,
        "has_comments": has_comments,
        "longest": longest,
    }
    header = named is None and (
        _is_header(data[0], sign) if options.header is None else options.header
    )
    if named is not None or not header:
        names = [f"x{j}" for j in range(len(data[0]))]
        if named is not None:
            names, said = distinct_names([cell.strip() for cell in named])
            notes += ["the names of the columns were taken from a comment", *said]
        elif options.header is None:
            notes.append("the first row holds numbers only, so the columns are called x0, x1, …")
        skip = _lines_before(rows[0], first)
        return Layout(delimiter, sign, encoding, names, skip, data, notes, **rest)
    raw = [cell.strip() for cell in data[0]]
    unnamed = shifted or raw[0] == "" or raw[0] in ("Unnamed: 0", "rownames")
    names, said = distinct_names(["", *raw] if shifted else raw)
    notes += said
    if shifted:
        notes.append("the first column has no name in the header: it names the rows")
    numbers = [c for c in data[0] if re.search(r"\d\.\d", c) and counts_as_number(c, sign)]
    if numbers and options.header is None:
        notes.append(
            f"the first row was taken as names, though {count(len(numbers), 'cell')} in it are "
            "numbers; header=False reads it as data"
        )
    several = len(names) > 1
    return Layout(
        delimiter, sign, encoding, names, rows[0][0], data[1:], notes,
        row_names=unnamed and several, **rest,
    )  # fmt: skip


def _check_lines(text: str, complete: bool, name: str, limits: Limits) -> None:
    """Refuse a text of one endless line before it is split at anything."""
    end = text.find("\n")
    first = text if end < 0 else text[:end]
    if len(first) > LONG_LINE:
        if complete and end < 0 and "\r" not in text:
            raise FileFormatError(
                f"{name} has no line break in {len(text):,} letters; a table has a line for each "
                "row"
            )
        limits.check_columns(1 + max(first.count(sign) for sign in DELIMITERS), name)


def _head(text: str) -> list[str]:
    """The first lines of a text."""
    return text[: 1 << 26].splitlines()[: SAMPLE_ROWS * 5]


def _uncommented(text: str) -> str:
    if "#" not in text:
        return text
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def _lines_before(row: Row, first: int) -> int:
    """Lines before a row of data: none but those that were skipped on purpose."""
    line, cells = row
    return max(line - 1 - sum(cell.count("\n") for cell in cells), first)


def _without_comments(
    rows: list[Row], text: str, delimiter: str, options: TextOptions, notes: list[str]
) -> tuple[list[Row], list[str] | None, bool]:
    """Rows that are no comments, names that stood in one, and whether there are more below."""
    width = Counter(len(c) for _, c in rows if not c[0].startswith("#")).most_common(1)
    wide = width[0][0] if width else 0
    top = 0
    while top < len(rows) and rows[top][1][0].startswith("#"):
        top += 1
    below = [r for r in rows[top:] if r[1][0].startswith("#") and len(r[1]) != wide]
    kept = [r for r in rows[top:] if not (r[1][0].startswith("#") and len(r[1]) != wide)]
    if not top and not below:
        return rows, None, False
    named = None
    if kept and options.header is None and not _is_header(kept[0][1], options.decimal or "."):
        named = _comment_header(text, delimiter, kept)
    dropped = top + len(below) - (named is not None)
    if dropped:
        more = " and perhaps more further down" if below else ""
        notes.append(f"{count(dropped, 'comment line')} (#) left out{more}")
    return kept, named, bool(below)
