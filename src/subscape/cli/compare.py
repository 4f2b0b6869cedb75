"""``subscape compare``: how different two clusterings are, and which clusters correspond."""

from __future__ import annotations

import json

import click

from .comparison import match, of_rows, score
from .comparison_output import as_json, as_text, direction_of, range_of
from .inputs import Axis, read_files, shape_option, the_only
from .tables import columns

EXAMPLES = """\b
Examples:
  subscape compare found.subscape truth.true
  subscape compare found.elki classes.csv --measure ce --measure ari
  subscape compare a.csv b.csv --measure all --p-value
  subscape compare results.csv#run1 results.csv#run2
"""


def _list_measures(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from subscape.measures.registry import MEASURES

    rows = [(m.name, range_of(m), direction_of(m), m.sentence) for m in MEASURES.values()]
    click.echo("\n".join(columns([("measure", "range", "direction", "what it says"), *rows])))
    ctx.exit()


@click.command(epilog=EXAMPLES)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--measure",
    "names",
    multiple=True,
    metavar="NAME",
    help="A measure, or 'all'; may be given several times.",
)
@click.option("--rows-only", is_flag=True, help="Forget the subspaces, compare groups of rows.")
@click.option("--columns-only", is_flag=True, help="Forget the rows, compare the subspaces.")
@click.option("--p-value", "wants_p", is_flag=True, help="How often chance agrees as well.")
@click.option(
    "--null",
    type=click.Choice(["labels", "subspaces", "both"]),
    help="What chance shuffles in B for --p-value: its rows (default), its subspaces, or both.",
)
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=999,
    show_default=True,
    help="Shuffles for --p-value.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For --p-value.")
@click.option(
    "--mass",
    type=click.Choice(["cells", "unit"]),
    help="Whether a cluster weighs by its dimensions or every subspace counts 1.",
)
@click.option(
    "--overlap",
    type=click.Choice(["cos2", "trace"]),
    help="How oriented subspaces share: by squared cosines, or by the trace norm.",
)
@shape_option
@click.option("--json", "wants_json", is_flag=True, help="Print JSON and nothing else.")
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_measures,
    help="List the measures and exit.",
)
def compare(
    a: str,
    b: str,
    names: tuple[str, ...],
    rows_only: bool,
    columns_only: bool,
    wants_p: bool,
    null: str | None,
    samples: int,
    seed: int,
    mass: str | None,
    overlap: str | None,
    shape: tuple[int, int] | None,
    wants_json: bool,
) -> None:
    """Say how different the clusterings in the files A and B are.

    A file may be .subscape, labels (CSV, TSV, NPY), an ELKI result (text or folder) or an
    OpenSubspace .true or .clu file; FILE#NAME is one of several clusterings in it. Measures that
    tell found clusters from true ones take A as found and B as true.
    """
    if rows_only and columns_only:
        raise ValueError("--rows-only and --columns-only leave nothing; give one of them")
    if rows_only and null not in (None, "labels"):
        raise ValueError(f"--rows-only leaves no subspaces for --null {null} to shuffle")
    only: Axis | None = "rows" if rows_only else "columns" if columns_only else None
    files = read_files([a, b], shape, only)
    # What was typed tells people more than the short names that tell files apart.
    sources = [
        the_only(file, typed)._replace(name=typed)
        for file, typed in zip(files, (a, b), strict=True)
    ]
    pair = [source.clustering for source in sources]
    if rows_only:
        pair = of_rows([clustering.rows_only() for clustering in pair])
    if columns_only:
        pair = [clustering.columns_only() for clustering in pair]
    options = {k: v for k, v in (("mass", mass), ("overlap", overlap)) if v is not None}
    chance = None
    if wants_p:
        shuffled = null or ("subspaces" if columns_only else "labels")
        chance = {
            "null": "both" if shuffled == "both" else f"random {shuffled}",
            "n_samples": samples,
            "random_state": seed,
        }
    scores, left_out = score(pair, names, options, chance)
    matches = match(pair, options)
    if wants_json:
        click.echo(json.dumps(as_json(sources, pair, scores, left_out, matches), indent=1))
    else:
        click.echo("\n".join(as_text(sources, pair, scores, left_out, matches)))
