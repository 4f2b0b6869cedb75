"""``columns.csv``: what the columns of a table are taken for, to be edited and handed back."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from subscape.core.errors import SubscapeError, listing
from subscape.files.atomic import write_text_atomically
from subscape.files.labels import harmless
from subscape.tables.parts import ColumnOptions, column_options
from subscape.tables.readers.boundary import guarded
from subscape.tables.readers.dialect import decode, detect_encoding, find_delimiter
from subscape.tables.table import Table

from .wording import as_options

if TYPE_CHECKING:
    from subscape.exploration.parted_tables import PartedTable

#: What can be said of a column, in the order of the file.
FIELDS = ("role", "unit", "order", "transform", "decimal", "dates", "missing")


def read_columns(path: str) -> dict[str, ColumnOptions]:
    """What was said about each column, from a file with at least ``column`` and ``role``.

    Further columns are ``unit``, ``order`` (levels with ``|`` between them, lowest first),
    ``transform``, ``decimal``, ``dates`` and ``missing``; ``note`` is not read.
    """
    with guarded(path, "file of columns"):
        # Spreadsheets write it in their own dialect.
        content = Path(path).read_bytes()
        text = decode(content, detect_encoding(content, None, path), path)
        lines = io.StringIO(text, newline="")
        reader = csv.DictReader(lines, delimiter=find_delimiter(text.partition("\n")[0] + "\n"))
        have = [name.strip() for name in reader.fieldnames or ()]
        if not {"column", "role"} <= set(have):
            raise SubscapeError(
                f"{path} must have the columns 'column' and 'role'; --check writes such a file"
            )
        strange = sorted(set(have) - {"column", "note", *FIELDS, ""})
        if strange:
            raise SubscapeError(
                f"{path} has the columns {listing(strange)}, which say nothing; known are "
                f"{', '.join(('column', *FIELDS, 'note'))}"
            )
        said: dict[str, ColumnOptions] = {}
        for line, row in enumerate(reader, 2):
            name = _bare(row.get("column") or "")
            if name in said:
                raise SubscapeError(f"{path}, line {line}: column {name!r} stands there twice")
            given = {field: _bare((row.get(field) or "").strip()) for field in FIELDS}
            said[name] = column_options(given, name)
        return said


def write_columns(
    table: Table | PartedTable, folder: Path, given: str | None, said: Mapping[str, ColumnOptions]
) -> Path:
    """Write the file into a folder; one that somebody may have edited is not replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "columns.csv"
    text = as_csv(table, said)
    is_given = given is not None and path.exists() and path.samefile(given)
    if path.exists() and not is_given and path.read_text(encoding="utf-8") != text:
        raise FileExistsError(
            f"{path} has other roles than these and is kept; use it (--columns {path}), or "
            "remove it"
        )
    write_text_atomically(path, text, force=True)
    return path


def as_csv(table: Table | PartedTable, said: Mapping[str, ColumnOptions]) -> str:
    """The text of the file.

    >>> print(as_csv(Table.from_array([[1.0], [2.0]], ["x"]), {}))
    column,role,unit,order,transform,decimal,dates,missing,note
    x,numeric,,,,,,,
    <BLANKLINE>
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["column", *FIELDS, "note"])
    for column in table.schema:
        options = said.get(column.name, ColumnOptions())
        cells = [
            column.role,
            column.unit,
            "|".join(options.order or column.order),
            column.transform,
            options.decimal,
            options.dates,
            "|".join(options.missing),
            as_options(column.unused or column.note),
        ]
        writer.writerow([harmless(column.name), *map(harmless, cells)])
    return buffer.getvalue()


def _bare(cell: str) -> str:
    """A name without the mark that keeps spreadsheets from taking it for a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@") else cell
