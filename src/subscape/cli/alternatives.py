"""``subscape alternatives``: other groupings of a table than the ones already known."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from subscape.finders.catalogue import of_role

from .finder_inputs import (
    clusters_option,
    finder_parameters,
    read_known,
    read_matrix,
    table_options,
    with_clusters_asked,
)
from .inputs import of_text
from .output import columns, facts_of, json_option, print_json

#: Name -> entry of the catalogue.
METHODS = of_role("alternative")


@click.command(
    epilog="Example:  subscape alternatives data.csv --given labels.csv -n 3 -o found.subscape"
)
@click.argument("table", type=click.Path())
@click.option("-g", "--given", multiple=True, type=click.Path(), metavar="FILE",
              help="What is known: labels or clusterings in any format; may be repeated. Without "
              "it, k-means makes one.")  # fmt: skip
@click.option("-n", "--number", type=click.IntRange(1), default=1, show_default=True,
              help="How many alternatives to find.")  # fmt: skip
@click.option("--method", type=click.Choice(tuple(METHODS), case_sensitive=False),
              default="ResidualKMeans", show_default=True,
              help="How to find them; the default finds hidden groupings most often, MAXIMUS keeps "
              "a limit of similarity.")  # fmt: skip
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
              help="A parameter of the method; may be repeated.")  # fmt: skip
@clusters_option
@click.option("-o", "--output", "outputs", multiple=True, type=click.Path(),
              help="Write the alternatives (.subscape, or .csv for labels); may be "
              "repeated.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
@click.option("--jobs", type=int, default=None, help="Parallel jobs; -1 takes all cores.")
@table_options
@json_option
@click.option("--force", is_flag=True, help="Replace existing output files.")
def alternatives(
    table: str,
    given: tuple[str, ...],
    number: int,
    method: str,
    parameters: tuple[str, ...],
    clusters: str | None,
    outputs: tuple[str, ...],
    seed: int,
    jobs: int | None,
    id_column: str | None,
    labels: tuple[str, ...],
    nominal: str | None,
    missing: str | None,
    scale: str,
    wants_json: bool,
    force: bool,
    **text: Any,
) -> None:
    """Find groupings of TABLE that differ from those GIVEN.

    Rows of the given files are matched by name if both sides name them (--id), else by their order
    in TABLE, rows that --missing drop leaves out included.
    """
    from subscape.files.formats import write_clusterings
    from subscape.measures.compactness.dq import dq_measure

    for output in outputs:
        if Path(output).exists() and not force:
            raise FileExistsError(f"{output} exists; pass --force to replace it")
    finder = METHODS[method].make(n_alternatives=number)
    finder.set_params(
        **finder_parameters(finder, with_clusters_asked(parameters, clusters), seed, jobs)
    )
    matrix = read_matrix(table, id_column, labels, nominal, missing, **of_text(text))
    known, names = read_known(given, matrix)
    prepared, matrix = matrix.scaled(scale)
    start = time.perf_counter()
    finder.fit(prepared, given=known or None)
    seconds = time.perf_counter() - start
    found = list(finder.clusterings_)
    before: list[Any] = [each.labels() for each in finder.given_]
    what = ", ".join(names) or "k-means"
    records = []
    lines: list[tuple[str, ...]] = [("", "sizes of the clusters", "dissimilarity", "quality", "DQ")]
    for place, each in enumerate(found, 1):
        score = dq_measure(prepared.to_numpy(), before, each)
        sizes = ", ".join(f"{size:g}" for size in each.sizes)
        lines.append((str(place), sizes, *(f"{value:.3f}" for value in score)))
        before.append(each.labels())
        told = dict(zip(("dissimilarity", "quality", "dq"), map(float, score), strict=True))
        records.append({"name": f"alternative_{place}", **facts_of(each), **told})
    for output in outputs:
        titles = [f"alternative_{place}" for place in range(1, len(found) + 1)]
        results = [matrix.result(each, given) for each in found]
        write_clusterings(output, results, names=titles, force=force)
    if wants_json:
        print_json({"method": method, "given": names, "seconds": seconds, "clusterings": records,
                    "written": list(outputs)})  # fmt: skip
        return
    click.echo(f"{method}: alternatives to {what}, {seconds:.2f} s")
    for line in columns(lines, right="rlrrr"):
        click.echo(line)
    for output in outputs:
        click.echo(f"written to {output}")
