"""``subscape figures``: the pictures of a study as files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="Example:  subscape figures study/ --format svg -o paper/")
@click.argument("study", type=click.Path(file_okay=False))
@click.option("--format", "kind", type=click.Choice(["pdf", "svg", "png"]), default="pdf",
              show_default=True, help="Kind of file.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(file_okay=False),
              help="Folder for the pictures.  [default: STUDY/figures]")  # fmt: skip
def figures(study: str, kind: str, output: str | None) -> None:
    """Draw the pictures of STUDY, a folder that 'subscape explore' wrote."""
    from subscape.exploration.study import load_study
    from subscape.report.figures import write_figures

    for path in write_figures(load_study(study), output or Path(study) / "figures", kind):
        click.echo(str(path))
