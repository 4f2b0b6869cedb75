"""``subscape choose``: number of clusters, dims or any other parameter of a finder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from subscape.validation.criteria import FEWEST_NULL_TABLES

from .finder_inputs import (
    complete_finder,
    finder_parameters,
    read_matrix,
    table_options,
    typed_value,
    with_clusters_asked,
)
from .inputs import of_text, suggestion
from .output import (
    check_picture,
    columns,
    json_option,
    number,
    print_json,
    progress_for,
    write_records,
)

EXAMPLES = """\b
Examples:
  subscape choose PROCLUS data.csv -k 2:10
  subscape choose PROCLUS data.csv --grid n_clusters=2:10 avg_dims=3:12
  subscape choose SSPC data.csv --grid n_clusters=2:10 --by description_length -o best.subscape
  subscape choose KFlats data.csv --grid n_clusters=2,3,5 --grid flat_dim=1:3 --by significance

A range 2:10 means 2, 3, ..., 10; 0.1:0.5:0.1 has a step; 2,3,5 is a list.
"""

HEADINGS = {"stability": "instability"}


@click.command(epilog=EXAMPLES)
@click.argument("algorithm", shell_complete=complete_finder)
@click.argument("table", type=click.Path())
@click.argument("more", nargs=-1, metavar="[NAME=RANGE]...")
@click.option("--grid", "ranges", multiple=True, metavar="NAME=RANGE",
              help="Values of a parameter to choose from; may be repeated.")  # fmt: skip
@click.option("-k", "--clusters", metavar="RANGE",
              help="Numbers of clusters to choose from; the same as --grid n_clusters=RANGE.",
              )  # fmt: skip
@click.option("--by", type=click.Choice(["stability", "sre", "description_length", "significance"]),
              default="stability", show_default=True, help="The criterion.")  # fmt: skip
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
              help="Any other parameter of the finder; may be repeated.")  # fmt: skip
@click.option("--samples", type=click.IntRange(2), default=10, show_default=True,
              help="Samples of the rows that are clustered for each setting.")  # fmt: skip
@click.option("--share", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.8,
              show_default=True, help="Share of the rows in a sample.")  # fmt: skip
@click.option("--nulls", type=click.IntRange(1), default=FEWEST_NULL_TABLES, show_default=True,
              help="Tables without clusters, for --by significance.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), help="Write the chosen clustering.")
@click.option("--table-output", type=click.Path(), help="Write the table of settings (CSV).")
@click.option("--plot", type=click.Path(), help="Draw the curve (--by stability).")
@click.option("--store", type=click.Path(file_okay=False),
              help="Folder that keeps finished runs; another criterion can use them.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="Seed of the random numbers.")  # fmt: skip
@click.option("--jobs", type=int, default=None, help="Parallel jobs; -1 takes all cores.")
@table_options
@json_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--force", is_flag=True, help="Replace existing output files.")
def choose(
    algorithm: str,
    table: str,
    more: tuple[str, ...],
    ranges: tuple[str, ...],
    clusters: str | None,
    by: str,
    parameters: tuple[str, ...],
    samples: int,
    share: float,
    nulls: int,
    output: str | None,
    table_output: str | None,
    plot: str | None,
    store: str | None,
    seed: int,
    jobs: int | None,
    id_column: str | None,
    labels: tuple[str, ...],
    nominal: str | None,
    missing: str | None,
    scale: str,
    wants_json: bool,
    quiet: bool,
    force: bool,
    **text: Any,
) -> None:
    """Choose the parameters of ALGORITHM for TABLE, and say how sure the choice is."""
    from subscape.finders.catalogue import find

    entry = find(algorithm, "finder")
    finder = entry.make()
    grid = parsed_grid([*with_clusters_asked(ranges, clusters), *more], finder.get_params())
    if plot is not None and by != "stability":
        raise ValueError("--plot draws the stability over the settings; use it with --by stability")
    check_picture(plot)
    if output is not None:
        from subscape.files.formats import format_for

        format_for(Path(output))
    for path in (output, table_output, plot):
        if path is not None and Path(path).exists() and not force:
            raise FileExistsError(f"{path} exists; pass --force to replace it")
    finder.set_params(**finder_parameters(finder, parameters, seed, None))
    matrix = read_matrix(table, id_column, labels, nominal, missing, **of_text(text))
    prepared, matrix = matrix.scaled(scale, entry.kind)
    from subscape.validation.selection import choose as choose_setting

    choice = choose_setting(
        finder, prepared, grid, by=by, n_samples=samples, share=share, n_null=nulls,
        random_state=seed, store=store, n_jobs=jobs,
        progress=progress_for(quiet or wants_json),
    )  # fmt: skip
    if wants_json:
        print_json(choice.to_dict())
    else:
        click.echo("\n".join(_as_text(choice, list(grid))))
    if table_output is not None:
        write_records(table_output, choice.to_records(), force=force)
    if plot is not None:
        from subscape.plots.stability_curve import StabilityCurveDisplay

        if choice.curve is not None:
            StabilityCurveDisplay.from_curves(choice.curve).figure_.savefig(plot)
    if output is not None:
        if choice.clustering is None:
            raise ValueError(f"{choice.sentence()}, so there is no clustering to write")
        from subscape.files.formats import write_clusterings

        write_clusterings(output, [matrix.result(choice.clustering)], force=force)
        if not wants_json:
            click.echo(f"written to {output}")


def parsed_grid(given: list[str], known: dict[str, Any]) -> dict[str, list[Any]]:
    """Values by parameter, from ``n_clusters=2:10`` and the like.

    >>> parsed_grid(["k=2:4", "w=0.1:0.3:0.1", "how=a,b"], {"k": 1, "w": 1, "how": ""})
    {'k': [2, 3, 4], 'w': [0.1, 0.2, 0.3], 'how': ['a', 'b']}
    """
    if not given:
        raise ValueError("say what to choose from, e.g.  -k 2:10, or --grid n_clusters=2:10")
    grid = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise ValueError(f"{text!r} is not NAME=RANGE, such as n_clusters=2:10")
        if name not in known:
            raise ValueError(
                f"there is no parameter {name!r} to choose.{suggestion(name, known)} There are "
                + ", ".join(sorted(known))
            )
        if name in grid:
            raise ValueError(f"the parameter {name!r} is given twice")
        grid[name] = _values(values, text)
    return grid


def _values(text: str, whole: str) -> list[Any]:
    if ":" not in text:
        return [typed_value(part.strip()) for part in text.split(",") if part.strip()]
    ends = [typed_value(part) for part in text.split(":")]
    if len(ends) not in (2, 3) or not all(
        isinstance(end, (int, float)) and not isinstance(end, bool) for end in ends
    ):
        raise ValueError(f"{whole!r} is not a range; write FIRST:LAST or FIRST:LAST:STEP")
    first, last = ends[:2]
    step = ends[2] if len(ends) == 3 else 1
    if step <= 0 or last < first:
        raise ValueError(f"the range of {whole!r} is empty; write FIRST:LAST with a step above 0")
    count = int((last - first) / step + 1e-9) + 1
    if count > 10_000:
        raise ValueError(f"{whole!r} asks for {count} values; a grid of so many is never finished")
    if all(isinstance(end, int) for end in (first, step)):
        return [first + i * step for i in range(count)]
    # As typed: 0.1 + 0.1 + 0.1 would be 0.30000000000000004.
    return [round(first + i * step, 12) for i in range(count)]


def _as_text(choice: Any, names: list[str]) -> list[str]:
    # Of stability the distance between samples is shown, which is small where it is high.
    head = ["rank", *names, HEADINGS.get(choice.by, choice.by), "behind", "first in", "clusters"]
    rows = []
    trouble = bool(choice.n_failed.any() or choice.n_empty.any())
    for record in choice.to_records():
        cells = [str(record["rank"]), *(str(record[name]) for name in names)]
        cells += [number(record[choice.by]), number(record["behind"])]
        wins = record["wins"]
        cells += ["" if wins != wins else f"{wins:.0%}", number(record["found_clusters"])]
        if trouble:
            cells += [str(record["failed"]), str(record["found_nothing"])]
        rows.append(cells)
    if trouble:
        head += ["failed", "found nothing"]
    lines = columns([head, *rows], "r" * len(head))
    return [*lines, "", choice.sentence(), f"Rule: {choice.rule}."]
