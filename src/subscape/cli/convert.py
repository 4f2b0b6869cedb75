"""``subscape convert``: a clustering in another format."""

from __future__ import annotations

from pathlib import Path

import click

from .inputs import read_files, shape_option
from .output import facts_of, json_option, print_json

FORMATS = ("subscape", "labels", "elki", "opensubspace")

EXAMPLES = """\b
Examples:
  subscape convert elki-output/ found.subscape
  subscape convert found.subscape found.true
  subscape convert truth.true truth.subscape --shape 1500,20
  subscape convert results.subscape#2 labels.csv
"""


@click.command(epilog=EXAMPLES)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="Format of OUT, if its suffix does not tell.",
)
@shape_option
@click.option("--lossy", is_flag=True, help="Write what the format can hold, drop the rest.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@json_option
def convert(
    source: str,
    target: str,
    format: str | None,
    shape: tuple[int, int] | None,
    lossy: bool,
    force: bool,
    wants_json: bool,
) -> None:
    """Write the clusterings of IN in the format of OUT.

    IN may be .subscape, labels (CSV, TSV, NPY), an ELKI result (text or folder) or an OpenSubspace
    file; IN#NAME is one of several clusterings in it. OUT ends in .subscape, .csv or .tsv
    (labels), .elki, .true or .clu. Only .subscape holds everything.
    """
    from subscape.files.formats import write_clusterings

    out = Path(target)
    if out.exists() and not force:
        raise FileExistsError(f"{out} exists; --force replaces it")
    (sources,) = read_files([source], shape)
    clusterings = [one.clustering for one in sources]
    names = [one.name.rpartition("#")[2] for one in sources] if len(sources) > 1 else None
    write_clusterings(
        out,
        clusterings if names else clusterings[0],
        names=names,
        format=format,
        force=force,
        lossy=lossy,
    )
    if wants_json:
        print_json({"clusterings": [{"name": s.name, **facts_of(s.clustering)} for s in sources],
                    "written": [str(out)]})  # fmt: skip
        return
    for one in sources:
        facts = repr(one.clustering).partition("(")[2].removesuffix(")")
        click.echo(f"{one.name}: {facts}")
    click.echo(f"Written: {out}")
