"""``subscape explore``: every honest grouping of a table, on one page."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click


@click.command(epilog="Example:  subscape explore data.csv -o study")
@click.argument("table", type=click.Path())
@click.option("-o", "--output", type=click.Path(file_okay=False),
              help="Folder for the study; by default the table's name and '-study'.")  # fmt: skip
@click.option("--effort", type=click.Choice(["quick", "normal", "thorough"]), default="normal",
              show_default=True, help="How much is tried.")  # fmt: skip
@click.option("--time", "seconds", type=click.FloatRange(min=1),
              help="Seconds after which nothing further is begun.")  # fmt: skip
@click.option("--jobs", type=int, default=-1, show_default=True,
              help="Parallel jobs; -1 takes all cores.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Seed of the random numbers.")  # fmt: skip
@click.option("--given", type=click.Path(exists=True, dir_okay=False),
              help="Labels that are known: find something else.")  # fmt: skip
@click.option("--truth", type=click.Path(exists=True, dir_okay=False),
              help="Labels to compare with at the end; the search never sees them.")  # fmt: skip
@click.option("--columns", type=click.Path(exists=True, dir_okay=False),
              help="Roles of the columns, as --check writes them.")  # fmt: skip
@click.option("--id", "id_column", help="Column with the names of the rows.")
@click.option("--transpose", is_flag=True, help="Group the columns instead of the rows.")
@click.option("--search-rows", type=click.IntRange(min=10), default=20_000, show_default=True,
              help="Rows that are searched; all others are put in afterwards.")  # fmt: skip
@click.option("--embed-ids", is_flag=True, help="Put the names of the rows into the page.")
@click.option("--check", is_flag=True,
              help="Only say what the columns are taken for and what is planned, and write "
              "columns.csv to edit.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with the study in the folder.")
def explore(table: str, output: str | None, check: bool, **options: Any) -> None:
    """Find every honest grouping of TABLE (CSV, Parquet, ARFF, NPY, h5ad) and show it on a page."""
    from .study_inputs import read_known, read_table

    began = time.perf_counter()
    data = read_table(table, options["columns"], options["id_column"], options["transpose"])
    if check:
        from .study_check import say_plan

        say_plan(data, Path(output or "."), options)
        return
    folder = Path(output or f"{Path(table).name.partition('.')[0]}-study")
    for note in data.notes:
        click.echo(f"note: {note}", err=True)
    from subscape.report import write_report
    from subscape.studies import Exploration, Interrupted

    live = LiveLine()
    provisional = False
    try:
        job = Exploration(
            data,
            effort=options["effort"],
            time=options["seconds"],
            given=read_known(options["given"], data, "given"),
            truth=read_known(options["truth"], data, "truth"),
            search_rows=options["search_rows"],
            folder=folder,
            resume=options["resume"],
            n_jobs=options["jobs"],
            random_state=options["seed"],
            progress=live,
        )
        study = job.run()
    except Interrupted as stopped:
        study, provisional = stopped.study, True
    finally:
        live.clear()
    page = write_report(study, folder / "report.html", embed_ids=options["embed_ids"])
    tell(study)
    click.echo(f"\n{time.perf_counter() - began:.0f} s. The page: {page}")
    if provisional:
        click.echo(f"stopped; go on with  subscape explore {table} -o {folder} --resume", err=True)
        sys.exit(130)


def tell(study: Any) -> None:
    """The answer on the terminal: the verdict, and the clusters of the views better than chance."""
    click.echo(study.verdict)
    for view in study.honest_views or study.views[:1]:
        chance = "" if view.p_value <= study.LEVEL else "  (no better than chance)"
        click.echo(
            f"\nView {view.number}: p = {view.p_value:.2g}, stability {view.stability:.2f}, found "
            f"by {', '.join(view.finders[:4])}{chance}"
        )
        for text in view.descriptions[:8]:
            click.echo(f"  {text}")
        more = len(view.descriptions) - 8
        if more > 0:
            click.echo(f"  and {more} more clusters")
    for known in study.truth:
        best = max(range(len(study.views)), key=lambda i: known["views"][i]["ari"], default=None)
        if best is not None:
            ari = known["views"][best]["ari"]
            click.echo(f"\n{known['name']}: most like view {best + 1} (adjusted Rand {ari:.2f})")


class LiveLine:
    """One line on a terminal that says what runs; silent elsewhere but for the phases."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._phase = ""

    def __call__(self, step: Any) -> None:
        total = "" if step.total is None else f"/{step.total}"
        text = f"{step.seconds:5.0f} s  {step.message} ({step.done}{total})"
        if self._is_terminal:
            click.echo(f"\r\033[K{text[:110]}", nl=False, err=True)
            return
        phase = step.message.partition(":")[0]
        if phase != self._phase:
            self._phase = phase
            click.echo(text, err=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_terminal:
            click.echo("\r\033[K", nl=False, err=True)
