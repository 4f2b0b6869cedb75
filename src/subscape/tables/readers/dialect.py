"""How a delimited text is written: its encoding, its rows, its delimiter, its decimal sign."""

from __future__ import annotations

import csv
import io
import itertools
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from subscape.core.errors import FileFormatError, SubscapeError, count
from subscape.tables.columns import is_number
from subscape.tables.dates import read_times
from subscape.tables.numbers import number_of, parse_number
from subscape.tables.texts import AMONG_NUMBERS, MARKERS

from .boundary import DEFAULT, Limits

#: Delimiters that are recognised; blanks only where nothing else is.
DELIMITERS = (",", ";", "\t", "|")
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "blank"}

#: Delimiters that are only proposed: they are as often part of the cells.
RARE_DELIMITERS = (":", "^", "~", "!", "\x01", "\x1f")

#: How much of a file is looked at before it is read.
SAMPLE_BYTES, SAMPLE_ROWS, SAMPLE_CELLS = 1 << 22, 200, 50_000

#: Lines that a sample shall have, if they are not too long.
SAMPLE_LINES = 20

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
_GROUPED_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_FIGURES = re.compile(r"[+-]?[\d.,' ]+(?:[eE][+-]?\d+)?", re.ASCII)


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
    lines: Iterable[str], delimiter: str, limits: Limits = DEFAULT, escape: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not blank."""
    blank = delimiter == " "
    if blank:
        lines = (line.rstrip() + "\n" for line in lines)
    reader = csv.reader(
        lines, delimiter=delimiter, skipinitialspace=blank, escapechar=escape or None
    )
    before = csv.field_size_limit(min(limits.line, 2**31 - 1))
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield reader.line_num, cells
    except csv.Error as error:
        raise FileFormatError(f"line {reader.line_num}: {error}") from None
    finally:
        csv.field_size_limit(before)


def sample_rows(text: str, delimiter: str, complete: bool, escape: str = "") -> list[Row]:
    rows: list[Row] = []
    try:
        for row in split(io.StringIO(text, newline=""), delimiter, escape=escape):
            rows.append(row)
            most = min(SAMPLE_ROWS, max(10, SAMPLE_CELLS // len(rows[0][1])))
            if len(rows) > most:
                return rows[:-1]
    except FileFormatError:
        return rows
    # The last row of a sample may be cut in the middle.
    return rows if complete or len(rows) < 2 else rows[:-1]


def find_escape(text: str, delimiter: str, complete: bool) -> str:
    """The sign before quotation marks that are part of a cell, as MySQL and Spark write it.

    It is one where more rows are equally wide if it is than if it is not: a path such as
    ``"C:\\"`` ends in the same sign.

    >>> find_escape('a,b\\n1,"say \\\\"yes, please\\\\""\\n', ",", True)
    '\\\\'
    >>> find_escape('a,b\\n1,"C:\\\\"\\n', ",", True)
    ''
    """
    if '\\"' not in text:
        return ""

    def share(escape: str) -> float:
        widths = Counter(len(cells) for _, cells in sample_rows(text, delimiter, complete, escape))
        return max(widths.values(), default=0) / max(sum(widths.values()), 1)

    return "\\" if share("\\") > share("") else ""


def counts_as_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a plain number, or missing."""
    cell = cell.strip()
    if cell in MARKERS or cell in AMONG_NUMBERS:
        return True
    return is_number(cell if decimal == "." else cell.replace(decimal, "."))


# -- the delimiter --------------------------------------------------------------------------------


def find_delimiter(text: str, complete: bool = True) -> str:
    """The delimiter that splits most lines into equally many cells.

    >>> find_delimiter("a;b;c;d\\n1,5\\n2,5\\n3,5\\n")
    ','
    >>> find_delimiter("x y\\n1 2\\n3 4\\n")
    ' '
    """
    fits = {
        d: _score([cells for _, cells in sample_rows(text, d, complete)], d) for d in DELIMITERS
    }
    best = max(DELIMITERS, key=fits.__getitem__)
    if best == "," and _only_decimal_commas(text, complete):
        return ";"
    if fits[best][-1] < 2:
        rows = [cells for _, cells in sample_rows(text, " ", complete)]
        if _blank_fits(rows, '\n"' in text):
            return " "
    return best


def _score(rows: Sequence[list[str]], delimiter: str) -> tuple[float, float, float, int]:
    """How well a delimiter fits: equal widths first, then cells that are numbers, then width.

    Nearly equal widths are equal at first, because a title or a torn line proves nothing.
    """
    if not rows:
        return (0.0, 0.0, 0.0, 0)
    width, times = Counter(map(len, rows)).most_common(1)[0]
    if width == 1:
        return (0.0, 0.0, 0.0, 1)
    # Names are no numbers, and how many there are says nothing of the cells.
    cells = [cell for row in rows[len(rows) > 1 :] for cell in row]
    numeric = sum(counts_as_number(cell) or _holds_number(cell, delimiter) for cell in cells)
    share = times / len(rows)
    return (round(share, 1), numeric / len(cells), share, width)


def _only_decimal_commas(text: str, complete: bool) -> bool:
    """Whether the lines below a name without a comma are one number each, such as 1.202,05.

    Names of rows that run from 0 or 1 on, as R writes them, make two columns of it.
    """
    rows = [cells for _, cells in sample_rows(text, ",", complete)]
    if len(rows) < 3 or len(rows[0]) != 1 or '"' in text[: 1 << 16]:
        return False
    lines = [",".join(cells) for cells in rows[1:]]
    if any(len(cells) > 2 for cells in rows[1:]) or not any("," in line for line in lines):
        return False
    tokens = [parse_number(line) for line in lines if line.strip() not in MARKERS]
    if not all(token is not None and number_of(token.core, ",") is not None for token in tokens):
        return False
    first = [cells[0].strip() for cells in rows[1:]]
    return all(first != [str(i + k) for i in range(len(first))] for k in (0, 1))


def _holds_number(cell: str, delimiter: str) -> bool:
    """Whether a cell is a number as people write it: with a unit, a decimal comma, thousands."""
    token = parse_number(cell) if any(map(str.isdigit, cell)) else None
    return token is not None and (delimiter != "," or "," not in token.core)


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
    are_numbers = [counts_as_number(cell) or parse_number(cell) is not None for cell in cells]
    share = sum(are_numbers) / len(cells)
    return share > 0.5 or (quoted and share == 0.5)


def check_not_aligned(text: str, line: int, name: str) -> None:
    """Refuse names that are aligned by blanks and fewer than the cells: some have blanks in them.

    R prints a data frame so, too, but leaves the place above the names of its rows empty.
    """
    header = next(itertools.islice(io.StringIO(text), line - 1, None), "").rstrip()
    if header[:1].strip() and "  " in header and '"' not in header:
        raise FileFormatError(
            f"{name}, line {line}: the names seem to be aligned by blanks (fixed width), and there "
            "are fewer than cells below, which have blanks in them; save it with a delimiter, such "
            "as CSV"
        )


def check_single_column(
    rows: Sequence[Row], used: str, name: str, *, is_said: bool, lines: Sequence[str] = ()
) -> None:
    """Refuse a single column whose cells all hold the same number of another delimiter.

    Unless they are what they are: ``2 kg`` or ``12:30``. Rare delimiters are not proposed to those
    who said one. Columns that are aligned by blanks are refused, too: names in them have blanks;
    and lines that stand in quotation marks as a whole.
    """
    texts = [cells[0].strip() for _, cells in rows]
    tokens = [parse_number(text) for text in texts[1:]]
    if read_times(texts[1:])[1].all() or all(
        token is not None and any(number_of(token.core, sign) is not None for sign in ".,")
        for token in tokens
    ):
        return
    if len(texts) > 1 and sum("  " in text for text in texts) > 0.9 * len(texts):
        raise FileFormatError(
            f"{name} has one column, and its lines hold several blanks each: they seem to align "
            "columns (fixed width), which is not read; save it with a delimiter, such as CSV"
        )
    whole = [line.strip() for line in lines if line.strip()]
    is_whole = len(rows) > 1 and bool(whole) and all(map(_is_quoted, whole))
    for other in DELIMITERS if is_whole else ():
        times = {len(next(csv.reader([text], delimiter=other), ())) for text in texts}
        if len(times) == 1 and times.pop() > 1:
            raise FileFormatError(
                f"{name}: each line stands in quotation marks as a whole, so that the table is one "
                f"column, not {count(len(next(csv.reader([texts[0]], delimiter=other))), 'column')}"
                "; take the outer marks away, and make one of doubled ones"
            )
    for other in (*DELIMITERS, " ", *(() if is_said else RARE_DELIMITERS)):
        times = {text.count(other) for text in texts}
        if other != used and len(rows) > 1 and len(times) == 1 and times != {0}:
            raise FileFormatError(
                f"{name}, split at every {NAMES.get(used, used)}, has one column, but each row "
                f"holds {_times(times.pop(), other)}; say delimiter={other!r}"
            )


def check_quotes_are_double(rows: Sequence[Row], name: str) -> None:
    """Refuse cells in single quotes that have delimiters in them: they would be split."""
    torn = [
        line
        for line, cells in rows
        if any(cell.lstrip()[:1] == "'" and cell.rstrip()[-1:] != "'" for cell in cells[:-1])
        and any(cell.rstrip()[-1:] == "'" and cell.lstrip()[:1] != "'" for cell in cells[1:])
    ]
    if len(torn) > 1 and 2 * len(torn) > len(rows):
        raise FileFormatError(
            f"{name}, line {torn[0]}: a cell in single quotes is split at a delimiter in it, and "
            f"so in {len(torn) - 1} more; quote cells by double quotation marks"
        )


def _is_quoted(line: str) -> bool:
    return len(line) > 1 and line[0] == line[-1] == '"'


def _times(number: int, sign: str) -> str:
    return count(number, NAMES[sign]) if sign in NAMES else f"{sign!r} {count(number, 'time')}"


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
    points, commas, grouped, pointed = 0, 0, "", ""
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
            elif not pointed and _GROUPED_POINT.fullmatch(core):
                pointed = core
    if points or commas:
        return Decimal("," if commas > points else ".", bool(points and commas))
    # 1,234 under tabs is more likely a thousand; under semicolons the comma is the decimal sign.
    if grouped and delimiter == ";":
        value = grouped.replace(",", ".")
        note = f"{grouped!r} was read as {value}, with a decimal comma; decimal='.' reads thousands"
        return Decimal(",", note=note)
    if pointed and delimiter == ";" and not grouped:
        note = (
            f"{pointed!r} was read as {float(pointed):.15g}, with a decimal point; decimal=',' "
            "reads thousands"
        )
        return Decimal(".", note=note)
    return Decimal(".")
