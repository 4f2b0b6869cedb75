"""``subscape fit``: run one finder on one table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from subscape.core.errors import count

from .finder_inputs import (
    clusters_option,
    complete_finder,
    finder_parameters,
    given_option,
    read_known,
    read_matrix,
    table_options,
    with_clusters_asked,
)
from .inputs import of_text
from .output import facts_of, json_option, print_json

#: What the command runs, and what several clusterings are called in a file.
TITLES = {"finder": "clustering", "views": "view", "alternative": "alternative"}
#: Headings of the list of finders, where they are no kinds of subspaces.
GROUPS = {"views": "several views at once", "alternative": "alternatives to what is known"}

EXAMPLES = """\b
Examples:
  subscape fit PROCLUS data.csv -k 5 -o result.subscape
  subscape fit PROCLUS data.csv -p n_clusters=5 -p avg_dims=4 --as-published
  subscape fit NrKMeans data.csv -p "n_clusters=(4, 3, 1)" -o views.subscape
  subscape fit MAXIMUS data.csv --given labels.csv -o other.subscape
"""


@click.command(epilog=EXAMPLES)
@click.argument("algorithm", required=False, shell_complete=complete_finder)
@click.argument("table", required=False, type=click.Path())
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
              help="A parameter of the finder; may be repeated.")  # fmt: skip
@clusters_option
@click.option("--as-published", is_flag=True,
              help="The algorithm of the paper, without what was added to it.")  # fmt: skip
@given_option
@click.option(
    "-o", "--output", type=click.Path(), help="Write what was found (.subscape, .csv, …)."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
@click.option("--jobs", type=int, default=None, help="Parallel jobs; -1 takes all cores.")
@table_options
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@json_option
@click.option("--list", "wants_list", is_flag=True, help="List the finders and what they look for.")
def fit(
    algorithm: str | None,
    table: str | None,
    parameters: tuple[str, ...],
    clusters: str | None,
    as_published: bool,
    given: tuple[str, ...],
    output: str | None,
    seed: int,
    jobs: int | None,
    id_column: str | None,
    labels: tuple[str, ...],
    nominal: str | None,
    missing: str | None,
    scale: str,
    force: bool,
    wants_json: bool,
    wants_list: bool,
    **text: Any,
) -> None:
    """Find the clusters of TABLE with ALGORITHM."""
    if wants_list or algorithm is None or table is None:
        _list_finders(wants_json and wants_list)
        if not wants_list:
            raise click.UsageError("name a finder and a table, e.g.  subscape fit PROCLUS data.csv")
        return
    from subscape.core.prototypes import describe
    from subscape.files.formats import format_for
    from subscape.finders.catalogue import find, of_role

    entry = find(algorithm, *TITLES)
    if given and "given" not in entry.takes:
        takers = [one.name for one in of_role(*TITLES).values() if "given" in one.takes]
        raise ValueError(f"{entry.name} can't make use of --given; {', '.join(sorted(takers))} can")
    if output is not None:
        # Before the search, which may take long.
        format_for(Path(output))
        if Path(output).exists() and not force:
            raise FileExistsError(f"{output} exists; pass --force to replace it")
    finder = entry.make()
    chosen = finder_parameters(finder, with_clusters_asked(parameters, clusters), seed, jobs)
    finder = finder.as_published(**chosen) if as_published else finder.set_params(**chosen)
    matrix = read_matrix(table, id_column, labels, nominal, missing, **of_text(text))
    prepared, matrix = matrix.scaled(scale, entry.kind)
    known, _ = read_known(given, matrix)
    start = time.perf_counter()
    finder.fit(prepared, **({"given": known} if known else {}))
    seconds = time.perf_counter() - start
    several = entry.role != "finder"
    found = list(finder.clusterings_) if several else [finder.clustering_]
    names = [f"{TITLES[entry.role]}_{place}" for place in range(1, len(found) + 1)]
    if output is not None:
        from subscape.files.formats import write_clusterings

        results = [matrix.result(each, given) for each in found]
        write_clusterings(output, results, names=names if several else None, force=force)
    if wants_json:
        print_json(
            {
                "finder": entry.name,
                "seconds": seconds,
                "clusterings": [
                    {"name": name, **facts_of(each), "words": describe(matrix.X, each).sentences()}
                    for name, each in zip(names, found, strict=True)
                ],
                "written": [] if output is None else [output],
            }
        )
        return
    if several:
        click.echo(f"{entry.name}: {count(len(found), TITLES[entry.role])}, {seconds:.2f} s")
    for name, each in zip(names, found, strict=True):
        head = name if several else entry.name
        click.echo(f"{head}: {each!r}" + ("" if several else f", {seconds:.2f} s"))
        for sentence in describe(matrix.X, each).sentences():
            click.echo(f"  {sentence}")
        if each.n_clusters == 0:
            click.echo(_nothing_found(entry, finder))
    if output is not None:
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


def _list_finders(wants_json: bool = False) -> None:
    from subscape.finders.catalogue import of_role

    known = of_role(*TITLES)
    if wants_json:
        told = [(one.name, one.role, one.kind, one.sentence) for one in known.values()]
        print_json([dict(zip(("name", "role", "kind", "what"), one, strict=True)) for one in told])
        return
    width = max(map(len, known))
    groups: dict[str, list[Any]] = {}
    for entry in known.values():
        group = entry.kind if entry.role == "finder" else GROUPS[entry.role]
        groups.setdefault(group, []).append(entry)
    for group, members in groups.items():
        click.echo(f"{group}:")
        for entry in sorted(members, key=lambda entry: entry.name):
            click.echo(f"  {entry.name:{width}}  {entry.sentence}")
