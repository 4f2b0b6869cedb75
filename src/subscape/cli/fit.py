"""``subscape fit``: run one finder on one table."""

from __future__ import annotations

import ast
import time
from pathlib import Path
from typing import Any

import click


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
@click.option("--id", "id_column", help="Column with the names of the rows.")
@click.option("--label", "labels", multiple=True, help="Column to leave out of the search.")
@click.option("--nominal", type=click.Choice(["drop", "codes", "onehot"]),
              help="What to do with text columns.")  # fmt: skip
@click.option("--missing", type=click.Choice(["median", "drop"]),
              help="Fill missing values with the median, or drop rows that have any.")  # fmt: skip
@click.option("--scale", type=click.Choice(["standard", "minmax", "none"]), default="standard",
              show_default=True, help="Bring the columns to one scale first.")  # fmt: skip
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
) -> None:
    """Find the clusters of TABLE (CSV, Parquet, ARFF, NPY) with ALGORITHM."""
    if wants_list or algorithm is None or table is None:
        _list_finders()
        if not wants_list:
            raise click.UsageError("name a finder and a table, e.g.  subscape fit PROCLUS data.csv")
        return
    from subscape.algorithms.registry import find

    entry = find(algorithm)
    if output is not None and Path(output).exists() and not force:
        raise FileExistsError(f"{output} exists; pass --force to replace it")
    finder = entry.make()
    finder.set_params(**_parameters(finder, parameters, seed, jobs))
    X, names, rows = _matrix(table, id_column, labels, nominal, missing)
    scaled = _scaled(X, "none" if entry.kind == "cocluster" and scale == "standard" else scale)
    start = time.perf_counter()
    found = finder.fit(scaled).clustering_
    seconds = time.perf_counter() - start
    from subscape.core import describe

    found = found.with_names(feature_names=names, row_names=rows)
    click.echo(f"{entry.name}: {found!r}, {seconds:.2f} s")
    for sentence in describe(X, found).sentences():
        click.echo(f"  {sentence}")
    if output is not None:
        from subscape.core.formats import write_clusterings

        write_clusterings(output, [found], force=force)
        click.echo(f"written to {output}")


def _list_finders() -> None:
    from subscape.algorithms.registry import FINDERS

    width = max(map(len, FINDERS))
    for kind in ("axis", "weighted", "oriented", "cocluster"):
        members = [entry for entry in FINDERS.values() if entry.kind == kind]
        if members:
            click.echo(f"{kind}:")
        for entry in sorted(members, key=lambda entry: entry.name):
            click.echo(f"  {entry.name:{width}}  {entry.sentence}")


def _parameters(finder: Any, given: tuple[str, ...], seed: int, jobs: int | None) -> dict[str, Any]:
    known = finder.get_params()
    chosen: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
    if jobs is not None and "n_jobs" in known:
        chosen["n_jobs"] = jobs
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="-p")
        if name not in known:
            raise ValueError(
                f"{type(finder).__name__} has no parameter {name!r}; it has "
                + ", ".join(sorted(known))
            )
        try:
            chosen[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            chosen[name] = value
    return chosen


def _matrix(
    path: str, id_column: str | None, labels: tuple[str, ...], nominal: str | None,
    missing: str | None,
) -> tuple[Any, tuple[str, ...], tuple[str, ...] | None]:  # fmt: skip
    """Numbers, their names and the names of the rows of a table file."""
    import numpy as np

    from subscape.core import Table

    table = Table.read(path, id=id_column, label=list(labels) or None)
    for note in table.notes:
        click.echo(f"note: {note}", err=True)
    text = [column.name for column in table.schema if column.role == "nominal"]
    if text and nominal is None:
        raise ValueError(
            f"{path} has text columns ({', '.join(text[:5])}{' …' if len(text) > 5 else ''}): pass "
            "--nominal drop to leave them out, or --nominal onehot to treat them as nominal"
        )
    encoded = table.encode(nominal=nominal)
    X, rows = np.asarray(encoded.X, float), table.row_names
    absent = np.isnan(X)
    if absent.any() and missing is None:
        columns = [encoded.feature_names[j] for j in np.flatnonzero(absent.any(axis=0))]
        raise ValueError(
            f"{path} has {int(absent.sum())} missing values (in {', '.join(columns[:5])}"
            f"{' …' if len(columns) > 5 else ''}): pass --missing median or --missing drop"
        )
    if missing == "median" and absent.any():
        X = np.where(absent, np.nanmedian(X, axis=0), X)
    elif missing == "drop" and absent.any():
        kept = ~absent.any(axis=1)
        click.echo(f"note: {int((~kept).sum())} rows with missing values are left out", err=True)
        X = X[kept]
        rows = tuple(np.array(rows)[kept]) if rows is not None else None
    return X, tuple(encoded.feature_names), rows


def _scaled(X: Any, how: str) -> Any:
    if how == "none":
        return X
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    return (StandardScaler() if how == "standard" else MinMaxScaler()).fit_transform(X)
