"""``subscape explore``: every honest grouping of a table, on one page."""

from __future__ import annotations

import errno
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from subscape.core.errors import count

from .interruption import PromptStop, leave
from .text_options import of_text, text_options

#: What the system says when nothing more can be written.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
@click.option("--cluster", metavar="ADDRESS",
              help="Scheduler of a Dask cluster that does the work, such as tcp://10.0.0.5:8786.",
              )  # fmt: skip
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
@click.option("--h5ad", type=click.Path(dir_okay=False),
              help="For a table in h5ad: a file to write it to again, with the clusters in obs, "
              "obsm and varm.")  # fmt: skip
@text_options
def explore(table: str, output: str | None, check: bool, **options: Any) -> None:
    """Find every honest grouping of TABLE (CSV, Parquet, ARFF, NPY, h5ad) and show it on a page."""
    from .study_inputs import read_known, read_table, reading

    began = time.perf_counter()
    if options["cluster"] and not check:
        from subscape.core.cluster import connected

        # Connected until the command ends, and before the table is read, which may take long.
        click.get_current_context().with_resource(connected(options["cluster"]))
    data = read_table(
        table, options["columns"], options["id_column"], options["transpose"], **of_text(options)
    )
    click.echo(reading(data), err=True)
    if check:
        from .study_check import say_plan

        say_plan(data, Path(output or "."), options)
        return
    folder = Path(output or f"{Path(table).name.partition('.')[0]}-study")
    if options["resume"] and not folder.is_dir():
        raise FileNotFoundError(f"there is no study in {folder} to go on with; leave out --resume")
    for note in data.notes:
        click.echo(f"note: {note}", err=True)
    from subscape.report import write_report
    from subscape.report.page import make_ready
    from subscape.studies import Exploration

    annotated = None
    if options["h5ad"] is not None:
        from .annotated import AnnotatedCopy

        annotated = AnnotatedCopy(table, options["h5ad"], options["transpose"])
    # What can fail, and what takes time, before the search: afterwards somebody waits for it.
    make_ready()
    live = LiveLine()

    def end(study: Any) -> None:
        live.clear()
        page = write_report(study, folder / "report.html", embed_ids=options["embed_ids"])
        tell(study)
        click.echo(f"\n{time.perf_counter() - began:.0f} s. The page: {page}")
        if study.is_provisional:
            click.echo("stopped; the same command with --resume goes on", err=True)
        elif annotated is not None:
            click.echo(f"The table with its clusters: {annotated.write(study)}")

    with room_for(folder):
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
        try:
            with PromptStop(lambda: end(job.provisional())):
                study = job.complete()
        except KeyboardInterrupt:
            end(job.provisional())
            leave()
        end(study)


@contextmanager
def room_for(folder: Path) -> Iterator[None]:
    """Say what to do when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(
            f"no space left for {folder} ({error.strerror}). Nothing that was finished is lost: "
            "make room, then go on by the same command with --resume"
        ) from None


def tell(study: Any) -> None:
    """The answer on the terminal: the verdict, and the clusters of the views better than chance."""
    click.echo(study.verdict)
    for view in study.honest_views or study.views[:1]:
        click.echo(f"\nView {view.number}: {_trust(study, view)}found by {listed(view.finders)}")
        for text in view.descriptions[:8]:
            click.echo(f"  {text}")
        more = len(view.descriptions) - 8
        if more > 0:
            click.echo(f"  and {count(more, 'more cluster')}")
        alone = int((view.labels < 0).sum())
        if alone:
            click.echo(f"  in none of them: {count(alone, 'row')}")
    if study.truth and study.views:
        click.echo("")
    for known in study.truth:
        best = max(range(len(study.views)), key=lambda i: known["views"][i]["ari"], default=None)
        if best is not None:
            ari = known["views"][best]["ari"]
            click.echo(f"{known['name']}: most like view {best + 1} (adjusted Rand {ari:.2f})")


def _trust(study: Any, view: Any) -> str:
    from subscape.studies.verdict import probability

    if math.isnan(view.p_value):
        return ""
    chance = "" if view.p_value <= study.LEVEL else " (no better than chance)"
    return f"{probability(view.p_value)}{chance}, stability {view.stability:.2f}, "


def listed(finders: Sequence[str], most: int = 4) -> str:
    """The first of the finders, and how many more."""
    more = f" and {len(finders) - most} more" if len(finders) > most else ""
    return ", ".join(finders[:most]) + more


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
