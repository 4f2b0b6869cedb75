"""Reading the table, the roles of its columns, and known groupings, for the main job."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from subscape.core import Table
from subscape.core.errors import ShapeMismatchError, SubscapeError, listing


def read_table(
    path: str, columns: str | None = None, id_column: str | None = None, transpose: bool = False
) -> Table:
    """The table of a file, with the roles of a ``columns.csv`` if there is one."""
    before = _stamp(path)
    table = Table.read(path, id=id_column, roles=None if columns is None else read_roles(columns))
    if _stamp(path) != before:
        raise SubscapeError(f"{path} changed while it was read; try again when it is complete")
    return transposed(table) if transpose else table


def _stamp(path: str) -> tuple[int, int] | None:
    file = Path(path)
    if not file.is_file():
        return None
    stat = file.stat()
    return stat.st_mtime_ns, stat.st_size


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
    return Table.from_array(table.to_numpy().T, feature_names=names, row_names=table.feature_names)


def read_known(path: str | None, table: Table, what: str) -> dict[str, Any] | None:
    """Groupings of a file by name, joined to the table by the names of the rows, else by order."""
    if path is None:
        return None
    known = Table.read(path)
    groups = [c.name for c in known.schema if c.role not in ("id", "date")]
    if not groups:
        raise SubscapeError(f"{path} has no column of labels")
    order = _joined(known, table, path)
    labels = {name: known.labels(name)[order] for name in groups}
    return {name if len(groups) > 1 else f"{what} ({name})": v for name, v in labels.items()}


def _joined(known: Table, table: Table, path: str) -> Any:
    ids, names = known.row_names, table.row_names
    if ids is not None and names is not None:
        place = {name: i for i, name in enumerate(ids)}
        missing = [name for name in names if name not in place]
        if not missing:
            return np.array([place[name] for name in names])
        if len(missing) < len(names):
            raise ShapeMismatchError(
                f"{path} has no line for {len(missing)} rows of the table: {listing(missing)}"
            )
    if known.n_rows != table.n_rows:
        raise ShapeMismatchError(
            f"{path} has {known.n_rows} lines, the table {table.n_rows} rows; without names of the "
            "rows in both they are joined by order, so there must be one line per row"
        )
    return np.arange(table.n_rows)
