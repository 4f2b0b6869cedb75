"""``subscape explore --check``: what the columns are taken for, and what is planned."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import click

from subscape.core import Table
from subscape.core.atomic import write_text_atomically
from subscape.core.format_labels import harmless

from .tables import columns, short

#: Columns listed on the terminal; the file has all of them.
LISTED = 40


def say_plan(table: Table, folder: Path, options: dict[str, Any]) -> None:
    """Print roles and plan, and write ``columns.csv`` into the folder."""
    from subscape.studies import make_plan, prepare
    from subscape.studies.searched_rows import check_rows

    for note in table.notes:
        click.echo(note)
    lines = [("column", "role", "kept as", "missing", "")]
    for place, column in enumerate(table.schema[:LISTED]):
        gone = int(table.profile.n_missing[place])
        lines.append((short(column.name), column.role, column.kind, str(gone), column.note))
    click.echo("")
    for line in columns(lines, right="lllr"):
        click.echo(line)
    if len(table.schema) > LISTED:
        click.echo(f"… and {len(table.schema) - LISTED} more columns")
    # First, because roles may be what has to be changed before anything can be planned.
    path = _written(table, folder, options["columns"])
    click.echo(f"\nEdit the roles in {path} and pass  --columns {path}\n")
    check_rows(table)
    ready = prepare(table)
    for note in ready.notes:
        click.echo(note)
    rows = min(table.n_rows, options["search_rows"])
    plan = make_plan(
        rows, ready.X.shape[1], len(ready.numeric), effort=options["effort"], seed=options["seed"]
    )
    click.echo(f"\nplanned ({plan.effort}): {plan.n_runs} runs on {rows} rows")
    for rung in plan.rungs:
        finders = list(dict.fromkeys(entry.finder for entry in rung.entries))
        click.echo(f"  {rung.name}: {', '.join(finders)}")
    click.echo(f"  then the rest without the best ones, {plan.rounds} rounds")
    click.echo(f"  then {plan.n_null} tables without groups")


def _written(table: Table, folder: Path, given: str | None) -> Path:
    """The file with the roles; one that somebody may have edited is not replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "columns.csv"
    text = _as_csv(table)
    is_given = given is not None and path.exists() and path.samefile(given)
    if path.exists() and not is_given and path.read_text(encoding="utf-8") != text:
        raise FileExistsError(
            f"{path} has other roles than these and is kept; use it (--columns {path}), or "
            "remove it"
        )
    write_text_atomically(path, text, force=True)
    return path


def _as_csv(table: Table) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["column", "role", "note"])
    for column in table.schema:
        writer.writerow([harmless(column.name), column.role, harmless(column.note)])
    return buffer.getvalue()
