"""``subscape fit``: run one finder on one table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from .finder_inputs import finder_parameters, read_matrix, table_options
from .inputs import of_text


@click.command(epilog="Example:  subscape fit PROCLUS data.csv -p n_clusters=5 -o result.subscape")
@click.argument("algorithm", required=False)
@click.argument("table", required=False, type=click.Path())
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
              help="A parameter of the finder; may be repeated.")  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(), help="Write the clustering (.subscape, .csv, …)."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
@click.option("--jobs", type=int, default=None, help="Parallel jobs; -1 takes all cores.")
@table_options
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@click.option("--list", "wants_list", is_flag=True, help="List the finders and what they look for.")
def fit(
    algorithm: str | None,
    table: str | None,
    parameters: tuple[str, ...],
    output: str | None,
    seed: int,
    jobs: int | None,
    id_column: str | None,
    labels: tuple[str, ...],
    nominal: str | None,
    missing: str | None,
    scale: str,
    force: bool,
    wants_list: bool,
    **text: Any,
) -> None:
    """Find the clusters of TABLE (CSV, Parquet, ARFF, NPY) with ALGORITHM."""
    if wants_list or algorithm is None or table is None:
        _list_finders()
        if not wants_list:
            raise click.UsageError("name a finder and a table, e.g.  subscape fit PROCLUS data.csv")
        return
    from subscape.files.formats import format_for
    from subscape.finders.registry import find

    entry = find(algorithm)
    if output is not None:
        # Before the search, which may take long.
        format_for(Path(output))
        if Path(output).exists() and not force:
            raise FileExistsError(f"{output} exists; pass --force to replace it")
    finder = entry.make()
    finder.set_params(**finder_parameters(finder, parameters, seed, jobs))
    matrix = read_matrix(table, id_column, labels, nominal, missing, **of_text(text))
    prepared, matrix = matrix.scaled(scale, entry.kind)
    start = time.perf_counter()
    found = finder.fit(prepared).clustering_
    seconds = time.perf_counter() - start
    from subscape.core.prototypes import describe

    click.echo(f"{entry.name}: {found!r}, {seconds:.2f} s")
    for sentence in describe(matrix.X, found).sentences():
        click.echo(f"  {sentence}")
    if found.n_clusters == 0:
        click.echo(_nothing_found(entry, finder))
    if output is not None:
        from subscape.files.formats import write_clusterings

        write_clusterings(output, [matrix.result(found)], force=force)
        click.echo(f"written to {output}")


def _nothing_found(entry: Any, finder: Any) -> str:
    """What to try where a finder calls all rows noise."""
    own = [
        name
        for name in finder.get_params()
        if name not in ("random_state", "n_jobs", "n_init", "progress", "max_time")
    ]
    return (
        f"  {entry.name} calls all rows noise here. Other values of its parameters may find more "
        f"(-p NAME=VALUE: {', '.join(own)}); 'subscape explore' tries many finders."
    )


def _list_finders() -> None:
    from subscape.finders.registry import FINDERS

    width = max(map(len, FINDERS))
    for kind in ("axis", "weighted", "oriented", "cocluster"):
        members = [entry for entry in FINDERS.values() if entry.kind == kind]
        if members:
            click.echo(f"{kind}:")
        for entry in sorted(members, key=lambda entry: entry.name):
            click.echo(f"  {entry.name:{width}}  {entry.sentence}")
