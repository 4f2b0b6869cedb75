"""Spreadsheets: one sheet of an Excel or OpenDocument workbook, read by calamine."""

from __future__ import annotations

import itertools
import mmap
import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

from subscape.core.errors import FileFormatError, SubscapeError, count, listing
from subscape.tables.numbers import read_numbers
from subscape.tables.texts import AMONG_NUMBERS, MARKERS

from .boundary import DEFAULT, Limits, guarded, printable
from .layout import distinct_names, find_header, rows_about, texts_come_again, told_about

Cell = Any
#: How the container of old and of locked workbooks begins, and names of what it may hold.
_CONTAINER = b"\xd0\xcf\x11\xe0"
_LOCKED, _OLD_MACROS = (name.encode("utf-16-le") for name in ("EncryptedPackage", "_VBA_PROJECT"))
#: Parts of a packed workbook that hold macros: of Excel, of OpenDocument.
_MACROS = re.compile(r"(?:.*/)?vbaProject\.bin|(?:Basic|Scripts)/.+", re.IGNORECASE)


class Sheet(NamedTuple):
    """One sheet: its name, the names of its columns, and the columns as arrow arrays.

    ``lines`` says in which row of the sheet each row stands, ``again`` in which the names come
    again.
    """

    name: str
    names: list[str]
    arrays: list[Any]
    notes: list[str]
    row_names: bool
    lines: list[int]
    again: frozenset[int] = frozenset()

    def line_of(self, row: int) -> str:
        """The place of a row in words."""
        return f"row {self.lines[row]} of the sheet"

    def gaps(self, n_rows: int) -> str:
        """What is said of empty rows among the first of the table; they may part two tables."""
        lines = itertools.pairwise(self.lines[:n_rows])
        below = [
            line
            for before, line in lines
            if not all(between in self.again for between in range(before + 1, line))
        ]
        if not below:
            return ""
        shown = ", ".join(map(str, below[:3])) + ", …" * (len(below) > 3)
        return f"what stands below empty rows (row {shown}) was read as part of the same table"


class _Filled(NamedTuple):
    """What of a sheet has something in it: rows, merged ranges, and its first row and column."""

    name: str
    cells: list[list[Cell]]
    merged: list[tuple[tuple[int, int], tuple[int, int]]]
    start: tuple[int, int]


def read_sheet(
    path: Path, sheet: str | None = None, header: bool | None = None, limits: Limits = DEFAULT
) -> Sheet:
    """Read one sheet of a workbook.

    Parameters
    ----------
    path : Path
        An ``.xlsx``, ``.xlsm``, ``.xlsb``, ``.xls`` or ``.ods`` file.
    sheet : str, optional
        Its name; else the first one that holds a table, and the others are said.
    header : bool, optional
        Whether the first row holds the names.
    limits : Limits
    """
    try:
        import python_calamine as calamine
    except ImportError:
        raise ImportError(
            f"{path.name} is a workbook; reading it needs python-calamine: "
            "pip install 'subscape[excel]'"
        ) from None
    protected = FileFormatError(
        f"{path.name} is protected by a password; open it and save it without one"
    )
    notes: list[str] = []
    with guarded(path.name, "workbook", "open it in a spreadsheet and save the sheet as CSV"):
        is_locked, has_macros = _locks_and_macros(path)
        if is_locked:
            raise protected
        try:
            book = calamine.CalamineWorkbook.from_path(str(path))
            name, cells, merged, start = _chosen(book, sheet, path.name, notes)
        except calamine.PasswordError:
            raise protected from None
    if has_macros:
        notes.append("macros in the workbook were not looked at and never run")
    rows = [
        (i, row) for i, row in enumerate(cells, 1 + start[0]) if any(_text(cell) for cell in row)
    ]
    if not rows:
        raise FileFormatError(f"{path.name}: sheet {name!r} is empty")
    limits.check_columns(len(rows[0][1]), path.name)
    every = [line for line, _ in rows]
    rows = _one_table(rows, start[1], path.name, name, notes)
    left = frozenset(every) - {line for line, _ in rows}
    texts = [(i, [_text(cell) for cell in row]) for i, row in rows[:200]]
    top, _ = find_header(texts, ".") if header is not False else (0, False)
    over = None if header is False else _names_above(rows, top, merged)
    groups: list[str] = []
    if over is not None:
        line = rows[over][0]
        groups = _spread(rows[over][1], line, start[1], merged)
        merged = [one for one in merged if one[0][0] + 1 != line]
        notes.append(
            f"the names of the columns stand in rows {line} and {line + 1}, and were joined"
        )
        rows, texts, top = rows[:over] + rows[over + 1 :], texts[:over] + texts[over + 1 :], over
    if top:
        lost = "; ".join(" ".join(row).strip()[:40] for _, row in texts[:top])
        notes.append(f"{count(top, 'row')} above the table left out: {printable(lost)!r}")
    rows = rows[top:]
    merged = [one for one in merged if one[1][0] + 1 >= rows[0][0]]  # titles are merged, too
    if merged:
        shown = [f"{_letters(a[1])}{a[0] + 1}:{_letters(b[1])}{b[0] + 1}" for a, b in merged[:3]]
        notes.append(
            f"{count(len(merged), 'merged range')} in the sheet ({', '.join(shown)}): only "
            "the first cell of each has its value, the others are missing; unmerge them and fill in"
        )
    first = rows[0][1]
    data = [[_text(cell) for cell in row] for _, row in rows[:200]]
    again = texts_come_again(data[0], data[1:], [not _is_name(cell) for cell in first])
    named = header is not False and (header or (any(map(_is_name, first)) and not again))
    if named:
        raw = [_text(cell) for cell in first]
        if groups:
            raw = [f"{above} {own}".strip() for above, own in zip(groups, raw, strict=True)]
        names, said = distinct_names(raw)
        notes += said
        about = rows_about(data[0], data[1:])
        if about:
            which = ", ".join(str(line) for line, _ in rows[1 : 1 + about])
            notes.append(told_about(data[1 : 1 + about], f"row {which} of the sheet"))
        rows = rows[1 + about :]
    else:
        raw = names = [f"x{j}" for j in range(len(first))]
        if header is None:
            notes.append(
                "the first row holds no names, so the columns are called x0, x1, …; header=True "
                "reads it as names"
            )
    arrays = [_arrow([row[j] for _, row in rows]) for j in range(len(names))]
    lines = [line for line, _ in rows]
    return Sheet(name, names, arrays, notes, raw[0] == "" and len(names) > 1, lines, left)


def _names_above(
    rows: Sequence[tuple[int, list[Cell]]], top: int, merged: Sequence[Any]
) -> int | None:
    """The row above the names that holds what several columns have in common, merged over them."""
    for place in (top, top - 1):
        if not 0 <= place < len(rows) - 2:
            continue
        (line, above), (next_line, names) = rows[place], rows[place + 1]
        spans = [one for one in merged if one[0][0] == one[1][0] == line - 1]
        several = sum(bool(_text(cell)) for cell in above) > 1  # one alone is a title
        if spans and several and next_line == line + 1 and all(map(_is_name_or_gap, names)):
            return place
    return None


def _is_name_or_gap(cell: Cell) -> bool:
    return _is_name(cell) or not _text(cell)


def _spread(row: Sequence[Cell], line: int, first: int, merged: Sequence[Any]) -> list[str]:
    """The texts of a row, those of merged cells in all their columns."""
    texts = [_text(cell) for cell in row]
    for (r, begin), (_, end) in merged:
        if r == line - 1 and 0 <= begin - first < len(texts):
            for j in range(begin - first, min(end - first + 1, len(texts))):
                texts[j] = texts[begin - first]
    return texts


def _chosen(book: Any, sheet: str | None, file: str, notes: list[str]) -> _Filled:
    names = list(book.sheet_names)
    hidden = {one.name for one in book.sheets_metadata if not str(one.visible).endswith(".Visible")}
    if sheet is not None and sheet not in names:
        raise SubscapeError(f"{file} has no sheet {sheet!r}; it has {listing(names, 8)}")
    if sheet is not None:
        return _filled(sheet, book.get_sheet_by_name(sheet))
    every = [_filled(name, book.get_sheet_by_name(name)) for name in names]
    filled = [one for one in every if any(_text(cell) for row in one.cells for cell in row)]
    if not filled:
        raise FileFormatError(f"{file} has no sheet with anything in it")
    # The first sheet is where people put their table, behind a page of notes; the others are said.
    shown = [one for one in filled if one.name not in hidden] or filled
    used = next((one for one in shown if _is_table(one.cells)), shown[0])
    others = [one.name for one in filled if one.name != used.name]
    if others:
        seen = [name for name in others if name not in hidden]
        unseen = [name for name in others if name in hidden]
        told = [*([listing(seen)] if seen else []), *([f"hidden {listing(unseen)}"] * bool(unseen))]
        notes.append(
            f"the sheet {used.name!r} was read; there {'is' if len(others) == 1 else 'are'} "
            f"also {' and '.join(told)} (sheet=…)"
        )
    return used


def _is_table(cells: Sequence[Sequence[Cell]]) -> bool:
    """Whether a sheet has two rows and two columns of something: less is a note."""
    rows = [row for row in cells if any(_text(cell) for cell in row)]
    filled = {j for row in rows for j, cell in enumerate(row) if _text(cell)}
    return len(rows) > 1 and len(filled) > 1


def _filled(name: str, sheet: Any) -> _Filled:
    merged = sorted(getattr(sheet, "merged_cell_ranges", None) or [])
    start = getattr(sheet, "start", None) or (0, 0)
    return _Filled(name, sheet.to_python(skip_empty_area=True), merged, start)


def _letters(column: int) -> str:
    """A column as spreadsheets call it.

    >>> _letters(0), _letters(27)
    ('A', 'AB')
    """
    text = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


def _one_table(
    rows: list[tuple[int, list[Cell]]], first: int, file: str, sheet: str, notes: list[str]
) -> list[tuple[int, list[Cell]]]:
    """The rows of a sheet that holds one table, without its header where that is repeated below.

    Refused are several tables: with an empty column between them, or with an empty row, and below
    it names in a column of numbers.
    """
    width = len(rows[0][1])
    filled = [any(_text(row[j]) for _, row in rows) for j in range(width)]
    gaps = [j for j in range(1, width - 1) if not filled[j] and any(filled[:j])
            and any(filled[j + 1 :])]  # fmt: skip
    way = "leave one of them in a sheet of its own"
    if gaps:
        raise FileFormatError(
            f"{file}: sheet {sheet!r} holds several tables side by side (column "
            f"{_letters(first + gaps[0])} between them is empty); {way}"
        )
    texts = {place: [_text(cell) for cell in row] for place, (_, row) in enumerate(rows)
             if all(_is_name(cell) for cell in row if _text(cell))}  # fmt: skip
    head = next((place for place, cells in texts.items() if sum(map(bool, cells)) > 1), -1)
    names = _bare(texts[head]) if head >= 0 else []
    are_levels = any(
        name and _text(row[j]).strip().lower() == name
        for place, (_, row) in enumerate(rows)
        if place not in texts or _bare(texts[place]) != names
        for j, name in enumerate(names)
    )
    again: list[int] = []
    numbers = [0] * width  # of each column, above the row that is looked at
    for place, (line, row) in enumerate(rows):
        if place > head + 1 > 0 and place in texts and _bare(texts[place]) == names:
            if any(numbers) or not are_levels:
                again.append(place)
                continue
        elif place in texts and 0 < place < len(rows) - 1 and any(numbers):
            named = [j for j in range(width) if numbers[j] > 1 and texts[place][j]
                     and texts[place][j] not in (MARKERS | AMONG_NUMBERS)]  # fmt: skip
            top = place  # a title may stand between the gap and the names
            while sum(map(bool, texts.get(top - 1, ()))) == 1 and not _gap_above(rows, top):
                top -= 1
            below = any(isinstance(cell, int | float) for cell in rows[place + 1][1])
            if named and below and sum(map(bool, texts[place])) > 1:
                if _gap_above(rows, top):
                    raise FileFormatError(
                        f"{file}: sheet {sheet!r} holds several tables, one below the other (the "
                        f"second begins at row {rows[top][0]}); {way}"
                    )
                if len({texts[place][j] for j in named}) == len(named) > 1:
                    notes.append(
                        f"row {line} of the sheet has names where numbers stand above; if another "
                        "table begins there, leave it in a sheet of its own"
                    )
        for j, cell in enumerate(row):
            if isinstance(cell, int | float) and not isinstance(cell, bool):
                numbers[j] += 1
    if again:
        notes.append(
            f"the names of the columns come again in {count(len(again), 'row')} (the first is row "
            f"{rows[again[0]][0]} of the sheet), left out there"
        )
    return [row for place, row in enumerate(rows) if place not in set(again)]


def _bare(cells: Sequence[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def _gap_above(rows: Sequence[tuple[int, list[Cell]]], place: int) -> bool:
    return place > 0 and rows[place][0] > rows[place - 1][0] + 1


def _locks_and_macros(path: Path) -> tuple[bool, bool]:
    """Whether a workbook is locked by a password, and whether it has macros, by its parts."""
    with path.open("rb") as file:
        if file.read(4) == _CONTAINER:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(_LOCKED) >= 0, content.find(_OLD_MACROS) >= 0
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
            listed = b""
            if "META-INF/manifest.xml" in names:
                with archive.open("META-INF/manifest.xml") as file:
                    listed = file.read(1 << 20)
    except BadZipFile:
        return False, False  # whoever reads it says what is wrong
    return b"encryption-data" in listed, any(_MACROS.fullmatch(name) for name in names)


def _is_name(cell: Cell) -> bool:
    return isinstance(cell, str) and bool(cell.strip())


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, int | float):
        return f"{cell:.15g}"
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return f"{cell.total_seconds():.15g}"
    return str(cell).strip()


def _sign_of(texts: Sequence[str]) -> str:
    """The decimal sign of numbers that are texts."""
    levels = sorted({text.strip() for text in texts})
    return read_numbers(levels, np.ones(len(levels), dtype=np.int64)).decimal if levels else "."


def _arrow(cells: list[Cell]) -> Any:
    """A column of cells as an arrow array of one kind, else of texts."""
    import pyarrow as pa

    present = [cell for cell in cells if _text(cell)]
    values = [cell if _text(cell) else None for cell in cells]
    if present and all(isinstance(cell, bool) for cell in present):
        array = pa.array(values, type=pa.bool_())
    elif present and all(isinstance(c, int | float) and not isinstance(c, bool) for c in present):
        array = pa.array([None if c is None else float(c) for c in values], type=pa.float64())
    elif present and all(isinstance(cell, datetime | date) for cell in present):
        stamps = [
            None if c is None else c if isinstance(c, datetime) else datetime(*c.timetuple()[:3])
            for c in values
        ]
        array = pa.array(stamps, type=pa.timestamp("us"))
    else:
        texts = [None if c is None else _text(c) for c in values]
        if any(isinstance(cell, float) for cell in present):
            # Typed numbers have no decimal sign; beside texts they take the one that these have.
            sign = _sign_of([c for c in present if isinstance(c, str)])
            texts = [
                t.replace(".", sign) if t is not None and isinstance(c, float) else t
                for t, c in zip(texts, values, strict=True)
            ]
        array = pa.array(texts, type=pa.string())
    return pa.chunked_array([array])
