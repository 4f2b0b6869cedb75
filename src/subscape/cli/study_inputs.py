"""Reading the table, the roles of its columns, and known groupings, for the main job."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from subscape.core import Table
from subscape.core.columns import is_number
from subscape.core.delimited import NAMES
from subscape.core.errors import ShapeMismatchError, SubscapeError, count, listing


def read_table(
    path: str,
    columns: str | None = None,
    id_column: str | None = None,
    transpose: bool = False,
    **text: Any,
) -> Table:
    """The table of a file, with the roles of a ``columns.csv`` if there is one.

    ``text`` are the delimiter, the encoding and so on of a text file, as in ``Table.read``.
    """
    roles = None if columns is None else read_roles(columns)
    table = Table.read(path, id=id_column, roles=roles, **text)
    return transposed(table) if transpose else table


def reading(table: Table) -> str:
    """What was read, and what the file was taken for."""
    source = table.source
    said = [count(table.n_rows, "row"), count(len(table.schema), "column")]
    if source.get("format") == "delimited":
        delimiter = source["delimiter"]
        said.append(f"{NAMES.get(delimiter, repr(delimiter))}-delimited")
        said.append("decimal comma" * (source["decimal"] == ","))
        said.append(str(source["encoding"]))
    elif "format" in source:
        said.append(str(source["format"]))
    told = f"{source.get('path', 'table')}: {', '.join(part for part in said if part)}"
    if source.get("format") == "delimited" and len(table.schema) == 1:
        told += "; if there are more columns than one, say --delimiter"
    return told


def read_roles(path: str) -> dict[str, str]:
    """Roles by column, from a file with the columns ``column`` and ``role``."""
    with open(path, newline="", encoding="utf-8-sig") as stream:
        reader = csv.DictReader(stream)
        if not {"column", "role"} <= set(reader.fieldnames or ()):
            raise SubscapeError(
                f"{path} must have the columns 'column' and 'role'; --check writes such a file"
            )
        return {_bare(line["column"]): line["role"].strip() for line in reader}


def _bare(cell: str) -> str:
    """A name without the mark that keeps spreadsheets from taking it for a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@") else cell


def transposed(table: Table) -> Table:
    """The table turned around: its features become rows. All of them must be numbers."""
    if table.nominal:
        raise SubscapeError(
            f"only numbers can be transposed; text is in {listing(list(table.nominal))}. Give "
            "these columns the role 'ignore' or 'id' (--columns)"
        )
    names = table.row_names or [f"row {i}" for i in range(table.n_rows)]
    turned = Table.from_array(
        table.to_numpy().T, feature_names=names, row_names=table.feature_names
    )
    return replace(turned, source=table.source)


def read_known(path: str | None, table: Table, what: str) -> dict[str, Any] | None:
    """Groupings of a file by name, joined to the table by the names of the rows, else by order."""
    if path is None:
        return None
    known = Table.read(path)
    ids = [c.name for c in table.schema if c.role == "id"]
    named = [c.name for c in known.schema if c.name in ids]
    if len(named) == 1:
        # The table knows which column has the names, and they are kept letter by letter.
        known = Table.read(path, id=named[0])
        if known.row_names is None and table.row_names is not None:
            raise SubscapeError(f"{path} names rows twice in {named[0]!r}; leave one line of each")
    groups = [c.name for c in known.schema if c.role not in ("id", "date")]
    if not groups:
        raise SubscapeError(f"{path} has no column of labels")
    order = _joined(known, table, path)
    labels = {name: _labels(known, name)[order] for name in groups}
    return {name if len(groups) > 1 else f"{what} ({name})": v for name, v in labels.items()}


def _labels(known: Table, name: str) -> Any:
    """Groups of a column; rows with a negative whole number are in none."""
    labels, column = known.labels(name), known.column(name)
    if column.kind == "number":
        values = known.values(name)
        present = values[~np.isnan(values)]
        if (present == np.floor(present)).all():
            return np.where(values < 0, -1, labels)
    return labels


def _joined(known: Table, table: Table, path: str) -> Any:
    if known.row_names is not None and table.row_names is not None:
        lines, rows = known.row_names, table.row_names
        if not set(rows) <= set(lines):
            # One side may have been read as numbers: 007 is 7 there.
            numbers = _as_numbers(lines), _as_numbers(rows)
            if all(len(set(each)) == len(each) for each in numbers):
                lines, rows = numbers
        place = {name: i for i, name in enumerate(lines)}
        missing = [table.row_names[i] for i, name in enumerate(rows) if name not in place]
        if not missing:
            return np.array([place[name] for name in rows])
        if len(missing) < len(rows):
            raise ShapeMismatchError(
                f"{path} has no line for {len(missing)} rows of the table: {listing(missing)}"
            )
        raise ShapeMismatchError(
            f"{path} has a line for none of the table's {len(rows)} rows: they have names such as "
            f"{missing[0]!r}, its lines such as {known.row_names[0]!r}. Give both the same names, "
            "or take the names out of it to join by order"
        )
    if known.n_rows != table.n_rows:
        raise ShapeMismatchError(
            f"{path} has {known.n_rows} lines, the table {table.n_rows} rows; without names of the "
            "rows in both they are joined by order, so there must be one line per row"
        )
    return np.arange(table.n_rows)


def _as_numbers(names: Sequence[str]) -> tuple[str, ...]:
    """Names that are numbers in one spelling."""
    return tuple(f"{float(name):.15g}" if is_number(name) else name for name in names)
