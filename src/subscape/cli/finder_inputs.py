"""The table and the parameters that commands hand to a finder."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import click

_TABLE_OPTIONS = (
    click.option("--id", "id_column", help="Column with the names of the rows."),
    click.option("--label", "labels", multiple=True, help="Column to leave out of the search."),
    click.option(
        "--nominal",
        type=click.Choice(["drop", "codes", "onehot"]),
        help="What to do with text columns.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["median", "drop"]),
        help="Fill missing values with the median, or drop rows that have any.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["standard", "minmax", "none"]),
        default="standard",
        show_default=True,
        help="Bring the columns to one scale first.",
    ),
)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how its table is read."""
    for option in reversed(_TABLE_OPTIONS):
        command = option(command)
    return command


def typed_value(text: str) -> Any:
    """A value as Python would read it; what it can't read is text.

    >>> typed_value("3"), typed_value("0.5"), typed_value("None"), typed_value("auto")
    (3, 0.5, None, 'auto')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def finder_parameters(
    finder: Any, given: tuple[str, ...], seed: int, jobs: int | None
) -> dict[str, Any]:
    """Parameters typed as NAME=VALUE, with the seed and the jobs where the finder has them."""
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
        chosen[name] = typed_value(value)
    return chosen


def read_matrix(
    path: str, id_column: str | None, labels: tuple[str, ...], nominal: Any,
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


def scaled(X: Any, how: str) -> Any:
    """The columns on one scale."""
    if how == "none":
        return X
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    return (StandardScaler() if how == "standard" else MinMaxScaler()).fit_transform(X)
