"""``subscape demo``: the main job on generated data, in less than a minute."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import click

from subscape.files.atomic import write_text_atomically

from .output import json_option, print_json

FEATURES = (
    "age", "income", "rent", "commute", "steps", "sleep", "coffee", "screen", "books", "travel",
)  # fmt: skip


@click.command()
@click.option("-o", "--output", type=click.Path(file_okay=False), default="subscape-demo",
              show_default=True, help="Folder for the study and its page.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Seed of the random numbers.")  # fmt: skip
@click.option("--jobs", type=int, default=-1, show_default=True,
              help="Parallel jobs; -1 takes all cores.")  # fmt: skip
@json_option
def demo(output: str, seed: int, jobs: int, wants_json: bool) -> None:
    """Plant three independent groupings in a table, and explore it without being told."""
    from subscape.exploration.exploration import Exploration
    from subscape.report.page import write_report

    from .explore import LiveLine, expected_seconds, study_json, tell

    began = time.perf_counter()
    table, truth = planted_table(seed)
    say = (lambda text: None) if wants_json else click.echo
    say(f"A table of {table.n_rows} people and {table.shape[1]} features. Three groupings")
    say("are hidden in it, each in features of its own: people who are together in one are")
    say("not in the others. The search is told neither how many there are nor where.\n")
    folder = fresh(Path(output))
    live = LiveLine(began=began)
    try:
        job = Exploration(
            table, effort="quick", truth=truth, folder=folder, n_jobs=jobs, random_state=seed,
            progress=live,
        )  # fmt: skip
        live.expect(expected_seconds(job, jobs))
        study = job.run()
    finally:
        live.clear()
    page = write_report(study, folder / "report.html")
    seconds = time.perf_counter() - began
    file = write_table(table, folder / "people.csv")
    if wants_json:
        where = {"folder": str(folder), "page": str(page), "table": str(file)}
        print_json(study_json(study) | {"seconds": seconds, **where})
        return
    tell(study)
    click.echo(f"\n{seconds:.0f} s. Look at the page:\n  {page}")
    click.echo("Then try it on a file, this table or your own:")
    click.echo(f"  {this_command()} explore {shlex.quote(str(file))}")


def write_table(table: Any, path: Path) -> Path:
    """The table as a CSV file."""
    lines = [",".join(table.feature_names)]
    lines += [",".join(f"{value:g}" for value in row) for row in table.to_numpy()]
    return write_text_atomically(path, "\n".join(lines) + "\n")


def this_command() -> str:
    """How this program is called from here: by its name if that is on the path.

    In an environment that is not active, the name would find nothing, or another version.
    """
    program = Path(sys.argv[0])
    found = shutil.which("subscape")
    if program.stem != "subscape" or not program.is_file():
        return "subscape" if found else f"{shlex.quote(sys.executable)} -m subscape"
    if found is not None and Path(found).resolve() == program.resolve():
        return "subscape"
    near = program.absolute()
    near = near.relative_to(Path.cwd()) if near.is_relative_to(Path.cwd()) else near
    return shlex.quote(str(near))


def planted_table(seed: int) -> tuple[Any, dict[str, Any]]:
    """The table of the demo and its hidden groupings."""
    from subscape.datasets import planted_views
    from subscape.tables.table import Table

    X, truths = planted_views(
        500, len(FEATURES), n_clusters=(3, 3, 3), dims=(3, 3, 3), separation=7, rotate=False,
        random_state=seed,
    )  # fmt: skip
    table = Table.from_array((X * 6 + 40).round(2), feature_names=FEATURES)
    return table, {f"hidden grouping {i}": t.labels() for i, t in enumerate(truths, 1)}


def fresh(folder: Path) -> Path:
    """The folder if it is not there yet, else the next free one beside it."""
    candidate, number = folder, 2
    while candidate.exists():
        candidate = folder.with_name(f"{folder.name}-{number}")
        number += 1
    return candidate
