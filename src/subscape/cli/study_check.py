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
    ready = prepare(table)
    click.echo("")
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
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "columns.csv"
    text = _as_csv(table)
    write_text_atomically(path, text, force=True)
    click.echo(f"\nwritten to {path}; edit the roles and pass --columns {path}")


def _as_csv(table: Table) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["column", "role", "note"])
    for column in table.schema:
        writer.writerow([harmless(column.name), column.role, harmless(column.note)])
    return buffer.getvalue()
