"""``subscape predict``: new rows in the clusters of a study."""

from __future__ import annotations

import csv
import io
from typing import Any

import click

from .inputs import columns_option, of_text, text_options
from .output import json_option, print_json


@click.command(epilog="Example:  subscape predict study new.csv -o labels.csv")
@click.argument("study", type=click.Path(exists=True, file_okay=False))
@click.argument("table", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="File for the labels; else the screen.")
@click.option("--view", "views", multiple=True, type=int, help="View; all if left out.")
@click.option("--id", "id_column", help="Column with the names of the rows.")
@json_option
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@columns_option
@text_options
def predict(
    study: str, table: str, output: str | None, views: tuple[int, ...], id_column: str | None,
    wants_json: bool, force: bool, **text: Any,
) -> None:  # fmt: skip
    """Put the rows of TABLE into the clusters of a STUDY."""
    from subscape.exploration.new_rows import new_rows, read_as_explored
    from subscape.exploration.study import load_study
    from subscape.files.atomic import write_text_atomically
    from subscape.files.labels import harmless

    found = load_study(study)
    options = of_text(text)
    if options.get("normalize") == "auto" and found.settings.get("library_size"):
        options["normalize"] = found.settings["library_size"]
    new = read_as_explored(table, found.table_schema, id=id_column, **options)
    X, notes = new_rows(found.recipes, new)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    chosen = [found[number] for number in views] or list(found.views)
    if not chosen:
        raise ValueError(f"the study in {study} has no views to put rows into")
    for view in chosen:
        if not view.p_value <= found.LEVEL:
            click.echo(f"note: view {view.number} is not claimed: {view.chance}", err=True)
    results = [view.rule(X) for view in chosen]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    head = ["row"]
    for view in chosen:
        name = f"view_{view.number}"
        head += [name, *([f"{name}_name"] * bool(view.names)), f"{name}_confidence"]
    every = []
    for i in range(new.n_rows):
        cells: list[Any] = [harmless(new.row_names[i]) if new.row_names else i + 1]
        for view, (labels, sure) in zip(chosen, results, strict=True):
            # As on the page, clusters are counted from 1; -1 is none of them.
            k = int(labels[i])
            cells.append(k + 1 if k >= 0 else -1)
            if view.names:
                cells.append(harmless(view.names[k]) if k >= 0 else "")
            cells.append(round(float(sure[i]), 4))
        every.append(cells)
    writer.writerows([head, *every])
    lines = buffer.getvalue()
    if output is not None:
        write_text_atomically(output, lines, force=force)
    if wants_json:
        records = [dict(zip(head, cells, strict=True)) for cells in every]
        print_json({"rows": records, "written": [] if output is None else [output]})
        return
    if output is None:
        click.echo(lines, nl=False)
        return
    click.echo(f"written to {output}")
