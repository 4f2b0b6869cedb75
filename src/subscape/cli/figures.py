"""``subscape figures``: the pictures of a study as files."""

from __future__ import annotations

from pathlib import Path

import click

from .output import json_option, print_json


@click.command(epilog="Example:  subscape figures study/ --format svg -o paper/")
@click.argument("study", type=click.Path(file_okay=False))
@click.option("--format", "kind", type=click.Choice(["pdf", "svg", "png"]), default="pdf",
              show_default=True, help="Kind of file.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(file_okay=False),
              help="Folder for the pictures.  [default: STUDY/figures]")  # fmt: skip
@json_option
def figures(study: str, kind: str, output: str | None, wants_json: bool) -> None:
    """Draw the pictures of STUDY, a folder that 'subscape explore' wrote."""
    from subscape.exploration.study import load_study
    from subscape.report.figures import write_figures

    written = write_figures(load_study(study), output or Path(study) / "figures", kind)
    if wants_json:
        print_json({"written": [str(path) for path in written]})
        return
    for path in written:
        click.echo(str(path))
