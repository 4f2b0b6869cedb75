"""What a delimited text is: what stands before its header, its names, and where its data begin."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from subscape.core.errors import FileFormatError, SubscapeError, count, listing
from subscape.tables.dates import parse_day
from subscape.tables.numbers import ALMOST_ALL, parse_number
from subscape.tables.texts import AMONG_NUMBERS, MARKERS

from . import dialect
from .boundary import DEFAULT, Limits, printable
from .dialect import (
    DELIMITERS,
    Row,
    check_not_aligned,
    check_quotes_are_double,
    check_single_column,
    counts_as_number,
    decode,
    detect_encoding,
    find_decimal,
    find_delimiter,
    find_escape,
    sample_rows,
)

#: Rows below the names that may say more of the columns, and how many must stand below these.
MOST_ROWS_ABOUT, FEWEST_BELOW = 3, 5

#: Longer first lines are looked at before they are split.
LONG_LINE = 1 << 20

_ROWS_TOLD = re.compile(r"\(?\d+ (?:row|record|zeile|ligne|fila)", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d", re.ASCII)
_SEP = re.compile(r'\ufeff?"?sep=(.)"?\s*', re.IGNORECASE)


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
    end : int
        The line with which remarks below the table begin; 0 if there are none.
    header : tuple of str
        The row of names as it stands in the file, stripped; empty where none does.
    again : frozenset of int
        Lines further down in which it stands once more.
    escape : str
        The sign before quotation marks that are part of a cell; empty where they are doubled.
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
    end: int = 0
    header: tuple[str, ...] = ()
    again: frozenset[int] = frozenset()
    escape: str = ""


def _is_data(cell: str, decimal: str) -> bool:
    """Whether a cell can't be the name of a column: a number in any form, or a date."""
    cell = cell.strip()
    if counts_as_number(cell, decimal) or parse_number(cell) is not None:
        return True
    return any(parse_day(cell, order) is not None for order in ("ymd", "dmy", "mdy"))


def _filled(cells: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def find_header(rows: list[Row], decimal: str) -> tuple[int, bool]:
    """Where the table begins, and whether the name of its first column is left out, as by R."""
    if len(rows) < 2:
        return 0, False
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    if width == 1:
        return 0, False
    below_a_gap = _names_below_a_gap(rows, width, decimal)
    if below_a_gap:
        return below_a_gap, False
    for i, (_, cells) in enumerate(rows[:-1]):
        following = [c for _, c in rows[i + 1 :]]
        short = len(cells) == width - 1 and all(len(c) == width for c in following)
        if short and _filled(cells) == len(cells) and any(c[-1].strip() for c in following):
            data = any(_is_data(cell, decimal) for cell in following[0][1:])
            if data or (i == 0 and width > 2):
                return i, True
        if _names_above(rows[i:], decimal) is not None:
            return i, False
        sparse = _filled(cells) <= (1 if width < 6 else 2)
        title = width > 2 and len(cells) == width and sparse
        title |= width == 2 and _above_two_names(cells, following, decimal)
        title |= width > 2 and _filled(cells) <= 2 and _above_names(following, width, decimal)
        # A narrow line is a title only above wider ones: below, it would be a row that is cut.
        narrow = len(cells) < width and (len(cells) == 1 or _filled(cells) <= width // 2)
        if not title and not narrow:
            return i, False
    return 0, False


def _names_below_a_gap(rows: list[Row], width: int, decimal: str) -> int:
    """Where a row of names stands below a blank line, and no data above it; 0 if nowhere.

    So instruments write: lines of names and values as wide as the table, a blank line, the table.
    """
    for i in range(1, len(rows) - 1):
        (before, _), (line, cells), (_, following) = rows[i - 1 : i + 2]
        named = [cell.strip() for cell in cells]
        gap = line - sum(cell.count("\n") for cell in cells) > before + 1
        if not gap or len(cells) != width or not all(named[1:]) or len(set(named)) < width:
            continue
        data = [j for j, cell in enumerate(following) if cell.strip() and _is_data(cell, decimal)]
        if not data or any(_is_data(cell, decimal) for cell in named if cell):
            continue
        above = (row[j] for _, row in rows[:i] for j in data if j < len(row) and row[j].strip())
        if not any(_is_data(cell, decimal) for cell in above):
            return i
    return 0


def _names_above(rows: list[Row], decimal: str) -> list[str] | None:
    """Names in two rows joined: above, once for several columns, what tells those below apart."""
    if len(rows) < 3:
        return None
    (_, above), (_, below), (_, data) = rows[:3]
    named = [cell.strip() for cell in below]
    filled = [cell for cell in named if cell]
    if len(above) != len(below) or _filled(above) < 2 or len(set(filled)) == len(filled):
        return None
    if _filled(above) == len(above) == len({cell.strip() for cell in above}):
        return None  # these are names themselves
    # Years are names where nothing stands above the first name, and all others are years.
    years = [cell for cell in filled if _YEAR.fullmatch(cell)]
    are_years = bool(years) and not above[0].strip() and len(years) == len(filled) - 1
    if any(_is_data(cell, decimal) for cell in filled if not (are_years and cell in years)):
        return None
    if not any(_is_data(cell, decimal) for cell in data if cell.strip()):
        return None
    groups, last = [], ""
    for cell in above:
        last = cell.strip() or last
        groups.append(last)
    joined = [f"{group} {name}".strip() for group, name in zip(groups, named, strict=True)]
    return joined if len(set(joined)) == len(joined) else None


def rows_about(header: Sequence[str], rows: Sequence[Sequence[str]], decimal: str = ".") -> int:
    """How many rows right below the names say more of the columns: units, questions, kinds.

    Where the columns hold numbers, dates or levels further down they hold other texts, none of
    which comes again.

    >>> body = [["K", "12", "5"]] * 9
    >>> rows_about(["name", "w", "n"], [["", "kg", "cm"], *body])
    1
    >>> rows_about(["name", "w", "n"], [["L", "broken", "5"], *body])
    0
    """
    about = 0
    for row in rows[:MOST_ROWS_ABOUT]:
        below = [cells for cells in rows[about + 1 :] if len(cells) == len(row)]
        if len(row) != len(header) or len(below) < FEWEST_BELOW:
            break
        texts, levels, is_about = 0, 0, True
        for j, cell in enumerate(row):
            cell = cell.strip()
            if not cell or cell in MARKERS or cell in AMONG_NUMBERS:
                continue
            column = [cells[j].strip() for cells in below]
            if _is_data(cell, decimal) or cell in column:
                is_about = False
                break
            if not any(_is_data(one, decimal) for one in {column[-1], column[len(column) // 2]}):
                levels += min(Counter(column).values()) > 1
                continue
            filled = [one for one in column if one and one not in MARKERS]
            texts += sum(_is_data(one, decimal) for one in filled) >= ALMOST_ALL * len(filled) > 0
        alone = texts == _filled(row) == 1
        if not is_about or not texts or not (texts + levels > 1 or alone):
            break
        about += 1
    return about


def told_about(rows: Sequence[Sequence[str]], place: str) -> str:
    """What is said of such rows, which are left out."""
    shown = "; ".join(cell.strip()[:40] for cells in rows for cell in cells if cell.strip())
    says, was = ("says", "was") if len(rows) == 1 else ("say", "were")
    return (
        f"{count(len(rows), 'row')} below the names ({place}) {says} more of the columns and {was} "
        f"left out: {printable(shown)[:120]!r}"
    )


def _is_rule(cells: Sequence[str]) -> bool:
    """Whether a row is a line drawn below the names, as databases and Markdown have it."""
    drawn = [cell.strip() for cell in cells if cell.strip()]
    return bool(drawn) and all(re.fullmatch(r":?[-=+]{3,}:?", cell) for cell in drawn)


def _above_two_names(
    cells: Sequence[str], following: Sequence[Sequence[str]], decimal: str
) -> bool:
    """Whether a row of a table of two columns is a title: a row of two names comes, then data."""
    if _filled(cells) != 1 or not cells[0].strip():
        return False
    place = next((i for i, row in enumerate(following) if _filled(row) == 2), len(following))
    if place + 1 >= len(following) or any(_is_data(cell, decimal) for cell in following[place]):
        return False
    return any(_is_data(cell, decimal) for cell in following[place + 1] if cell.strip())


def _above_names(following: Sequence[Sequence[str]], width: int, decimal: str) -> bool:
    """Whether sparse lines end at a full row of names with data below, as behind a report's head.

    Then lines such as ``Created;01.02.2023`` say something of the file, and head no columns.
    """
    for place, row in enumerate(following[:-1]):
        named = [cell.strip() for cell in row]
        if len(row) == width and all(named[1:]):
            below = [cell for cell in following[place + 1] if cell.strip()]
            return (
                len(set(named)) == width
                and not any(_is_data(cell, decimal) for cell in named if cell)
                and any(_is_data(cell, decimal) for cell in below)
            )
        if _filled(row) > 2:
            return False
    return False


def is_remark(text: str) -> bool:
    """Whether a cell that stands alone is a sentence below a table, and no row that was cut.

    >>> is_remark("Source: office of statistics"), is_remark("K12"), is_remark("12.5 kg")
    (True, False, False)
    """
    # The end of a file of DOS, what was counted, and a line that is drawn.
    if text == "\x1a" or _ROWS_TOLD.match(text) or re.fullmatch(r"[-=+_*|]{3,}", text):
        return True
    is_sentence = len(text.split()) > 1 and any(map(str.isalpha, text))
    return is_sentence and "\n" not in text and not _is_data(text, ".")


def texts_come_again(
    first: Sequence[str], following: Sequence[Sequence[str]], are_data: Sequence[bool]
) -> bool:
    """Whether every text of a row stands in its column again, as levels do and names do not.

    Rows that are the same are no evidence: names may come again on every page. Two texts alone, or
    one, may be names that are levels by chance.
    """
    places = [j for j, is_data in enumerate(are_data) if not is_data]
    if not places or (len(places) < 3 and len(places) == len(first)):
        return False
    others = [row for row in following if list(row) != list(first)]
    below = ({row[j] for row in others if j < len(row)} for j in places)
    return all(first[j] in seen for j, seen in zip(places, below, strict=True))


def _is_header(first: list[str], decimal: str, following: Sequence[Sequence[str]] = ()) -> bool:
    """Whether the first row holds names: it does unless all its cells are numbers or dates.

    It holds data, too, where all its texts come again below.
    """
    cells = [cell.strip() for cell in first]
    if texts_come_again(first, following, [_is_data(cell, decimal) for cell in cells]):
        return False
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


def _comment_header(text: str, delimiter: str, rows: list[Row], decimal: str) -> list[str] | None:
    """Names in the last comment before the data, as NumPy and programs for genes write them.

    They are names where the first row is like the rows below it: where these hold numbers it does.
    With ``#`` as its first cell the line is no comment.
    """
    if not rows:
        return None
    named, alone = None, False
    for line in text.splitlines()[: rows[0][0]]:
        if not line.startswith("#"):
            break
        bare = line.lstrip("#")
        # # alone is a name, too, but not between blanks.
        alone = delimiter != " " and bare.startswith(delimiter)
        bare = "#" + bare if alone else bare.strip()
        [*cells] = csv.reader([bare], delimiter=delimiter)
        named = cells[0] if cells else None
    (_, first), *others = rows
    width = len(first)
    if named is None or len(named) != width or width < 2:
        return None
    if not _is_header(first, decimal):
        return named
    if alone and not any(_is_data(cell, decimal) for cell in named):
        return named
    below = [cells for _, cells in others if len(cells) == width]
    of_data = [
        j
        for j in range(width)
        if below and all(_is_data(cells[j], decimal) for cells in below)
        and any(cells[j].strip() not in MARKERS for cells in below)
    ]  # fmt: skip
    is_row = of_data and all(_is_data(first[j], decimal) for j in of_data)
    if all(_YEAR.fullmatch(first[j].strip()) for j in of_data):
        return None  # years may be names
    return named if is_row and not any(_is_data(named[j], decimal) for j in of_data) else None


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
    escape = find_escape(body, delimiter, complete)
    if escape:
        notes.append("quotation marks behind a backslash were read as part of their cells")
    split_rows = sample_rows(body, delimiter, complete, escape)
    rows = [(first + line, cells) for line, cells in split_rows]
    if not rows:
        raise FileFormatError(f"{name}: no complete row in its first {len(sample)} bytes")
    # The first rows: a single long one among others is told by its line.
    limits.check_columns(min(len(cells) for _, cells in rows[:2]), name)
    has_comments = False
    named: list[str] | None = None
    if comments:
        rows, named, has_comments = _without_comments(rows, body, delimiter, options, notes)
        if not rows:
            raise FileFormatError(f"{name} holds comments only (lines that begin with #)")
    if len(rows[0][1]) == 1:
        check_single_column(
            rows, delimiter, name, is_said=options.delimiter is not None, lines=_head(body)
        )
    check_quotes_are_double(rows, name)
    found = find_decimal([cells for _, cells in rows], delimiter)
    sign = options.decimal or found.sign
    if found.note and options.decimal is None:
        notes.append(found.note)
    start, shifted = (0, False) if options.header is False else find_header(rows, sign)
    if start:
        lost = "; ".join(" ".join(cells).strip()[:40] for _, cells in rows[:start])
        notes.append(f"{count(start, 'line')} before the table left out: {printable(lost)!r}")
    rows = rows[start:]
    if shifted and delimiter == " ":
        check_not_aligned(body, rows[0][0] - first, name)
    upper = None if options.header is False or shifted else _names_above(rows, sign)
    if upper is not None:
        notes.append(
            f"the names of the columns stand in lines {rows[0][0]} and {rows[1][0]}, and were "
            "joined"
        )
        rows = [(rows[1][0], upper), *rows[2:]]
    ruled = len(rows) > 2 and _is_rule(rows[1][1])
    if ruled:
        notes.append(f"line {rows[1][0]}, a rule below the names, was left out")
        rows = [(rows[1][0], rows[0][1]), *rows[2:]]
    longest = max((len(line) for line in _head(body)), default=0)
    width = len(rows[0][1]) + 1
    if len(rows) > 1 and all(len(c) == width and not c[-1].strip() for _, c in rows[1:]):
        rows[0] = (rows[0][0], [*rows[0][1], ""])  # each row ends with a delimiter but the header
    data = [cells for _, cells in rows]
    rest: dict[str, Any] = {
        "is_sure": options.decimal is not None,
        "is_mixed": found.is_mixed and options.decimal is None,
        "has_comments": has_comments,
        "longest": longest,
        "escape": escape,
    }
    header = named is None and (
        _is_header(data[0], sign, data[1:]) if options.header is None else options.header
    )
    if named is not None or not header:
        names = [f"x{j}" for j in range(len(data[0]))]
        if named is not None:
            names, said = distinct_names([cell.strip() for cell in named])
            notes += ["the names of the columns were taken from a comment", *said]
            if about := rows_about(names, data, sign):
                lines = ", ".join(str(line) for line, _ in rows[:about])
                notes.append(told_about(data[:about], f"line {lines}"))
                rows, data = rows[about:], data[about:]
        elif options.header is None:
            only = all(_is_data(cell, sign) for cell in data[0])
            why = "holds numbers only" if only else "holds texts that come again below, no names"
            notes.append(
                f"the first row {why}, so the columns are called x0, x1, …; header=True reads it "
                "as names"
            )
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
            f"the first row was taken as names, though {count(len(numbers), 'cell')} in it "
            f"{'is a number' if len(numbers) == 1 else 'are numbers'}; header=False reads it as "
            "data"
        )
    if about := rows_about(data[0], data[1:], sign):
        lines = ", ".join(str(line) for line, _ in rows[1 : 1 + about])
        notes.append(told_about(data[1 : 1 + about], f"line {lines}"))
    several = len(names) > 1
    return Layout(
        delimiter, sign, encoding, names, rows[about][0], data[1 + about :], notes,
        row_names=unnamed and several, header=tuple(raw), **rest,
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
    return text[: 1 << 26].splitlines()[: dialect.SAMPLE_ROWS * 5]


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
    if kept and options.header is None:
        sign = options.decimal or find_decimal([cells for _, cells in kept], delimiter).sign
        named = _comment_header(text, delimiter, kept, sign)
    dropped = top + len(below) - (named is not None)
    if dropped:
        more = " and perhaps more further down" if below else ""
        notes.append(f"{count(dropped, 'comment line')} (#) left out{more}")
    return kept, named, bool(below)
