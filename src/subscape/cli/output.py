"""Records, such as the clusters of a result, as text and as CSV."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

json_option = click.option(
    "--json", "wants_json", is_flag=True, help="Print JSON and nothing else."
)
"""The option of every command that prints something."""


def print_json(result: Any) -> None:
    """Print a result as JSON; what is no number is null."""
    import json

    from subscape.core.plain_values import without_nan

    click.echo(json.dumps(without_nan(result), indent=1))


def progress_for(is_silent: bool) -> Any:
    """What a command gives its long work as ``progress``: a bar where somebody watches, else lines.

    Nothing where it was asked to be quiet.
    """
    if is_silent:
        return None
    return True if sys.stderr.isatty() else Heartbeat()


class Heartbeat:
    """A line when a piece of work begins, and now and then how far it is: for pipes and logs.

    Parameters
    ----------
    every : float
        Seconds between two lines about one piece of work.
    """

    def __init__(self, every: float = 20.0) -> None:
        self.every = every
        self._work = ""
        self._printed = 0.0

    def __call__(self, step: Any) -> None:
        """Told of every step; prints few of them."""
        if step.algorithm == self._work and step.seconds - self._printed < self.every:
            return
        begins = step.algorithm != self._work
        self._work, self._printed = step.algorithm, step.seconds
        total = "" if step.total is None else f" of {step.total}"
        left = ""
        if not begins and step.total and step.done:
            left = f", about {_span(step.seconds / step.done * (step.total - step.done))} left"
        click.echo(f"{step.seconds:5.0f} s  {step.algorithm}: {step.done}{total}{left}", err=True)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


#: Endings of pictures.
PICTURES = (".png", ".pdf", ".svg")


def check_picture(path: str | None) -> None:
    """Refuse, before any work, a picture that could not be drawn at the end of it."""
    from importlib.util import find_spec

    if path is None:
        return
    if not path.lower().endswith(PICTURES):
        raise ValueError(f"{path}: pictures end in {', '.join(PICTURES)}")
    try:
        found = find_spec("matplotlib")
    except (ImportError, ValueError):  # it was taken out of sys.modules
        found = None
    if found is None:
        raise ValueError("--plot needs matplotlib: pip install 'subscape[report]'")


def facts_of(clustering: Any) -> dict[str, Any]:
    """What JSON says of any clustering: its kind and size, and rows and features of its clusters.

    Clusters are counted from 1, as wherever people read them.
    """
    return {
        "kind": clustering.kind,
        "n_rows": clustering.n_rows,
        "n_features": clustering.n_features,
        "n_clusters": clustering.n_clusters,
        "n_noise": int((clustering.labels() < 0).sum()) if clustering.n_clusters else None,
        "clusters": [
            {"cluster": k + 1, "rows": float(size), "dims": float(dims)}
            for k, (size, dims) in enumerate(
                zip(clustering.sizes, clustering.subspaces.dims, strict=True)
            )
        ],
    }


def number(value: float, digits: int = 4) -> str:
    """A number as a table shows it; nothing for what is unknown.

    >>> number(0.123456), number(1234567.8), number(3.0), number(float("nan"))
    ('0.1235', '1234568', '3', '')
    """
    if value is None or math.isnan(value):
        return ""
    if float(value).is_integer() or abs(value) >= 10**digits:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def write_records(path: str, records: Sequence[Mapping[str, Any]], *, force: bool = False) -> None:
    """Write records as CSV; text that a spreadsheet would take for a formula is made harmless."""
    from subscape.files.atomic import write_text_atomically
    from subscape.files.labels import harmless

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if records:
        writer.writerow([harmless(str(name)) for name in records[0]])
    for record in records:
        writer.writerow(
            [harmless(item) if isinstance(item, str) else _blank(item) for item in record.values()]
        )
    write_text_atomically(path, buffer.getvalue(), force=force)


def _blank(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


# -- plain tables on the terminal ------------------------------------------------------------------


def columns(rows: Sequence[Sequence[str]], right: str = "", gap: str = "  ") -> list[str]:
    """Lines of cells under each other; ``right`` has an ``r`` for columns aligned right.

    >>> for line in columns([("measure", "value"), ("rnia", "0.5")], right="lr"):
    ...     print(line)
    measure  value
    rnia       0.5
    """
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return [
        gap.join(
            cell.rjust(width) if right[j : j + 1] == "r" else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def short(text: str, most: int = 40) -> str:
    """A text of at most ``most`` letters, cut in its middle.

    >>> short("a_rather_long_name", 9)
    'a_ra…name'
    """
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"
