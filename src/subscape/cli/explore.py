"""``subscape explore``: every honest grouping of a table, on one page."""

from __future__ import annotations

import errno
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from subscape.arrays.backend import active
from subscape.core.errors import ShapeMismatchError, SubscapeError, count, listing
from subscape.files.labels import beside_labels
from subscape.parallel.interruption import PromptStop, leave
from subscape.tables.columns import is_number
from subscape.tables.readers.boundary import printable
from subscape.tables.readers.dialect import NAMES
from subscape.tables.table import Table

from .columns_file import read_columns, write_columns
from .inputs import columns_option, of_text, text_options
from .output import columns, json_option, print_json, short
from .wording import as_options

if TYPE_CHECKING:
    from subscape.exploration.parted_tables import PartedTable

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
              help="Labels to compare with at the end, in place of the table's own label columns; "
              "the search never sees them.")  # fmt: skip
@columns_option
@click.option("--id", "id_column", help="Column with the names of the rows.")
@click.option("--label", "labels", multiple=True, help="Column to leave out of the search.")
@click.option("--transpose", is_flag=True, help="Group the columns instead of the rows.")
@click.option("--search-rows", type=click.IntRange(min=10), default=20_000, show_default=True,
              help="Rows that are searched; all others are put in afterwards.")  # fmt: skip
@click.option("-k", "--clusters", "asked", type=click.IntRange(min=2), metavar="N",
              help="Also give N clusters, whether the table has them or not; marked as asked for.",
              )  # fmt: skip
@click.option("--levels", is_flag=True,
              help="Put the levels of every view into labels.csv, too: view_1_at_3 and so on.",
              )  # fmt: skip
@click.option("--embed-ids", is_flag=True, help="Put the names of the rows into the page.")
@click.option("--check", is_flag=True,
              help="Only say what the columns are taken for, what is planned and about how long it "
              "takes; with -o, write columns.csv there to edit.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with the study in the folder.")
@click.option("--h5ad", type=click.Path(dir_okay=False),
              help="For a table in h5ad: a file to write it to again, with the clusters in obs, "
              "obsm and varm.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the study that is in the folder.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@json_option
@text_options
def explore(
    table: str, output: str | None, check: bool, wants_json: bool, force: bool, quiet: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Find every honest grouping of TABLE and show it on a page.

    TABLE is a CSV or other text, a workbook (xlsx, ods), Parquet, Feather, ARFF, NPY or h5ad; or a
    folder of Parquet files, which is read in parts.
    """

    began = time.perf_counter()
    if options["cluster"] and not check:
        from subscape.parallel.distributed import connected

        # Connected until the command ends, and before the table is read, which may take long.
        click.get_current_context().with_resource(connected(options["cluster"], kernels=active))
    live = LiveLine(began=began)
    click.get_current_context().call_on_close(live.clear)
    if quiet or check:
        live.clear()
    data = read_table(
        table, options["id_column"], options["transpose"],
        label=list(options["labels"]) or None, **of_text(options),
    )  # fmt: skip
    live.doing("preparing the search")
    click.echo(reading(data), err=True)
    if check:
        say_plan(data, None if output is None else Path(output), options, wants_json)
        return
    folder = Path(output or f"{Path(table).name.partition('.')[0]}-study")
    if options["resume"] and not folder.is_dir():
        raise FileNotFoundError(f"there is no study in {folder} to go on with; leave out --resume")
    if force and options["resume"]:
        raise ValueError("--force begins anew and --resume goes on; give one of them")
    for note in data.notes:
        click.echo(f"note: {printable(as_options(note))}", err=True)
    from subscape.exploration.exploration import Exploration
    from subscape.report.page import make_ready, write_report

    annotated = None
    if options["h5ad"] is not None:
        annotated = AnnotatedCopy(table, options["h5ad"], options["transpose"])
    # What can fail, and what takes time, before the search: afterwards somebody waits for it.
    make_ready()
    if options["asked"] is not None:
        from subscape.exploration.requested_groups import check_asked

        check_asked(options["asked"], min(data.n_rows, options["search_rows"]))
    if force:
        clear_study(folder)

    def paged(study: Any) -> Path:
        try:
            return write_report(study, folder / "report.html", embed_ids=options["embed_ids"])
        except PermissionError:
            # Somebody protects it, or has it open where that locks it.
            page = write_report(study, folder / "report-new.html", embed_ids=options["embed_ids"])
            click.echo(f"note: report.html can't be replaced; the page is {page}", err=True)
            return page

    looks: list[Path] = []

    def update(study: Any) -> None:
        page = paged(study)
        if not looks and not (quiet or wants_json):
            live.wipe()
            seconds = time.perf_counter() - began
            click.echo(f"{study.verdict} ({seconds:.1f} s; {page} shows it, and renews)", err=True)
        looks.append(page)

    def end(study: Any) -> None:
        live.clear()
        if options["levels"] and not study.part_lengths:
            study.write_labels(folder / "labels.csv", levels=True)
        page = paged(study)
        seconds = time.perf_counter() - began
        if wants_json:
            copy = annotated is not None and not study.is_provisional
            files = {"folder": str(folder), "page": str(page)}
            files |= {"h5ad": str(annotated.write(study))} if annotated and copy else {}
            unused = [as_options(note) for note in data.unused_numeric_notes]
            print_json(study_json(study) | {"not_used": unused, "seconds": seconds, **files})
            return
        for note in data.unused_numeric_notes:
            click.echo(f"Not used: {printable(as_options(note))}")
        tell(study)
        click.echo(f"\n{seconds:.0f} s. The page: {page}")
        if study.is_provisional:
            click.echo("stopped; the same command with --resume goes on", err=True)
        elif annotated is not None:
            click.echo(f"The table with its clusters: {annotated.write(study)}")

    job: Exploration | None = None

    def stop() -> None:
        if job is not None:
            end(job.provisional())
        else:
            live.clear()
            click.echo("stopped before the search began", err=True)

    with room_for(folder):
        try:
            with PromptStop(stop):
                job = Exploration(
                    data,
                    effort=options["effort"],
                    time=options["seconds"],
                    given=read_known(options["given"], data, "given"),
                    truth=compared_with(options["truth"], data),
                    search_rows=options["search_rows"],
                    folder=folder,
                    resume=options["resume"],
                    n_jobs=options["jobs"],
                    random_state=options["seed"],
                    progress=False if quiet else live,
                    on_update=update,
                )
                live.expect(expected_seconds(job, options["jobs"]))
                study = job.complete()
                if options["asked"] is not None:
                    from subscape.exploration.requested_groups import with_asked

                    study = with_asked(job, study, options["asked"])
                    study.save(folder)
        except KeyboardInterrupt:
            stop()
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
    honest = study.significant_views
    for view in honest or study.views[:1]:
        click.echo(f"\nView {view.number}: {_trust(study, view)}found by {listed(view.finders)}")
        if view.idea_note:
            click.echo(f"  {printable(view.idea_note)}")
        _say_clusters(view, is_claimed=bool(honest))
    if study.asked is not None:
        n_groups, how = study.asked.n_clusters, study.asked.idea_note
        click.echo(f"\nAsked for, not claimed: {n_groups} groups ({how})")
        _say_clusters(study.asked, is_claimed=False)
    if not honest and study.near_misses:
        others = count(len(study.near_misses), "candidate")
        click.echo(f"\n{others} that came nearest, and why not claimed: on the page")
    if study.truth and study.views:
        click.echo("")
    for known in study.truth:
        best = max(range(len(study.views)), key=lambda i: known["views"][i]["ari"], default=None)
        if best is not None:
            ari = known["views"][best]["ari"]
            click.echo(f"{known['name']}: most like view {best + 1} (adjusted Rand {ari:.2f})")


def study_json(study: Any) -> dict[str, Any]:
    """A study as JSON: the verdict, every view with its clusters, and what is known of the table.

    Clusters and views are counted from 1. The whole study is in ``study.json``.
    """
    records = study.to_records()
    views = [
        {
            "view": view.number,
            "n_clusters": view.n_clusters,
            "p_value": view.p_value,
            "p_value_is_fitted": view.is_fitted,
            "p_value_interval": None if view.p_interval is None else list(view.p_interval),
            "is_better_than_chance": bool(view.p_value <= study.LEVEL),
            "stability": view.stability,
            "idea": view.idea,
            "finders": list(view.finders),
            "telling_features": view.telling_features(),
            "n_outside": int((view.labels < 0).sum()),
            "clusters": [
                {key: value for key, value in record.items() if not key.startswith("view")}
                for record in records
                if record["view"] == view.number
            ],
        }
        for view in study.views
    ]
    asked = study.asked
    return {
        "verdict": study.verdict,
        "rows": study.shape[0],
        "features": study.shape[1],
        "is_provisional": study.is_provisional,
        "views": views,
        "asked": None
        if asked is None
        else {"n_clusters": asked.n_clusters, "clusters": list(asked.descriptions)},
        "near_misses": len(study.near_misses),
        "null_tables": len(study.chance) + len(study.curve_chance),
        "truth": list(study.truth),
        "notes": list(study.notes),
    }


#: What a study consists of, in its folder; all else there is somebody else's.
STUDY_FILES = (
    "study.json", "report.html", "labels.csv", "labels", "clusters.csv", "timings.json",
    "plan.json", "decisions.jsonl", "views", "runs", "figures",
)  # fmt: skip


def clear_study(folder: Path) -> None:
    """Take a study out of its folder; refused if there is something that does not belong to it."""
    import shutil

    if not any((folder / name).exists() for name in ("plan.json", "study.json")):
        return
    strange = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    strange -= {*STUDY_FILES, "columns.csv"}
    if strange:
        raise FileExistsError(
            f"{folder} holds more than a study ({', '.join(sorted(strange)[:3])}), so --force does "
            "not replace it; choose another folder"
        )
    for name in STUDY_FILES:
        path = folder / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)


def _say_clusters(view: Any, *, is_claimed: bool) -> None:
    for text, is_sure in list(zip(view.descriptions, view.claimed_clusters, strict=True))[:8]:
        click.echo(f"  {printable(text)}{' (not claimed)' * (is_claimed and not is_sure)}")
    more = len(view.descriptions) - 8
    if more > 0:
        click.echo(f"  and {count(more, 'more cluster')}")
    alone = int((view.labels < 0).sum())
    if alone:
        click.echo(f"  in none of them: {count(alone, 'row')}")


def _trust(study: Any, view: Any) -> str:
    if math.isnan(view.p_value):
        return ""
    chance = "" if view.p_value <= study.LEVEL else " (no better than chance)"
    return f"{view.chance}{chance}, stability {view.stability:.2f}, "


def listed(finders: Sequence[str], most: int = 4) -> str:
    """The first of the finders, and how many more."""
    more = f" and {len(finders) - most} more" if len(finders) > most else ""
    return ", ".join(finders[:most]) + more


class LiveLine:
    """One line on a terminal that says what runs; elsewhere a line per phase, and a heartbeat.

    Parameters
    ----------
    heartbeat : float
        Seconds after which another line is printed where nobody sees the first one move.
    began : float, optional
        When the command began, by ``time.perf_counter``; all seconds are counted from there.
    """

    def __init__(self, heartbeat: float = 20.0, began: float | None = None) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._phase = ""
        self._text = "reading the table"
        self._printed = time.perf_counter()
        self._began = self._printed if began is None else began
        self._heartbeat = heartbeat
        self.expected: float | None = None
        self._end = threading.Event()
        if not self._is_terminal:
            # A single run may take minutes, and says nothing until it ends.
            threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while not self._end.wait(self._heartbeat / 4):
            now = time.perf_counter()
            if now - self._printed >= self._heartbeat:
                self._printed = now
                click.echo(f"{self._gone():5.0f} s  still {self._text}{self._left()}", err=True)

    def _gone(self) -> float:
        return time.perf_counter() - self._began

    def doing(self, text: str) -> None:
        """Say what runs where no steps are counted."""
        self._text = text

    def expect(self, seconds: float) -> None:
        """Say how much longer it takes from now on."""
        self.expected = self._gone() + seconds

    def _left(self) -> str:
        """About how much longer it takes; a guess that is kept as rough as it is."""
        if self.expected is None:
            return ""
        left = self.expected - self._gone()
        return ", longer than guessed" if left <= 0 else f", about {round_time(left)} left"

    def __call__(self, step: Any) -> None:
        total = "" if step.total is None else f"/{step.total}"
        self._text = f"{step.message} ({step.done}{total})"
        text = f"{self._gone():5.0f} s  {self._text}"
        if self._is_terminal:
            click.echo(f"\r\033[K{(text + self._left())[:110]}", nl=False, err=True)
            return
        phase = step.message.partition(":")[0]
        if phase != self._phase:
            self._phase = phase
            self._printed = time.perf_counter()
            click.echo(text + self._left(), err=True)

    def clear(self) -> None:
        """Take the line away, and be silent from now on."""
        self._end.set()
        self.wipe()

    def wipe(self) -> None:
        """Take the line away for something else to be printed; it comes again."""
        if self._is_terminal:
            click.echo("\r\033[K", nl=False, err=True)


# -- the h5ad file that was explored, written again with what was found ----------------------------


class AnnotatedCopy:
    """A copy of an h5ad file with the clusters of a study in it.

    Parameters
    ----------
    source, target : path
        The file that is explored, and the one to be written; refused at once if there is
        something in the way.
    transpose : bool
        Whether the variables were grouped instead of the observations.
    """

    def __init__(self, source: str, target: str, transpose: bool) -> None:
        self.source, self.target, self.transpose = Path(source), Path(target), transpose
        with open(source, "rb") as stream:
            if not stream.read(8).startswith(b"\x89HDF"):
                raise ValueError(f"--h5ad is for tables in h5ad; {source} is none")
        if self.target.exists():
            raise FileExistsError(f"{target} exists; choose another name for --h5ad")
        if not self.target.absolute().parent.is_dir():
            raise FileNotFoundError(f"the folder {self.target.parent} does not exist")

    def write(self, study: Any) -> Path:
        """Write it, complete or not at all."""
        import anndata

        adata = anndata.read_h5ad(self.source)
        adata = adata.T if self.transpose else adata
        study.write_anndata(adata)
        adata = adata.T if self.transpose else adata
        with tempfile.TemporaryDirectory(prefix=".", dir=self.target.absolute().parent) as beside:
            path = Path(beside, self.target.name)
            adata.write_h5ad(path)
            os.replace(path, self.target)
        return self.target


# -- ``subscape explore --check``: what the columns are taken for, and what is planned -------------


#: Columns listed on the terminal; the file has all of them.
LISTED = 40


#: Seconds that a planned run and a table without groups take on one core, with one row and one
#: column; how they grow with rows and columns. Fitted to explorations of 150 x 5 to 5,000 x 10 and
#: 600 x 300, with and without groups.
PER_RUN, PER_TABLE = 0.0006, 0.0004
BY_ROWS, BY_COLUMNS = 0.65, 0.4


def rough_seconds(n_runs: int, n_tables: int, n_rows: int, n_columns: int) -> float:
    """About how long an exploration takes on one core; half and double are as likely.

    >>> rough_seconds(38, 40, 200, 6) < rough_seconds(38, 40, 5000, 20)
    True
    """
    # Winners, what is left and samples cost about what the planned runs do: that is in PER_RUN.
    runs = n_runs * PER_RUN * n_rows**BY_ROWS
    tables = n_tables * PER_TABLE * min(n_rows, 2000) ** BY_ROWS
    return float((runs + tables) * n_columns**BY_COLUMNS)


def expected_seconds(job: Any, n_jobs: int) -> float:
    """The same for an exploration that is about to begin."""
    jobs = _parallel_jobs(n_jobs)
    plan, columns = job.plan, job.ready.X.shape[1]
    whole = rough_seconds(plan.n_runs, plan.n_null, len(job.rows), columns) / min(jobs, 8)
    whole *= busy()
    return whole if job.time is None else min(whole, float(job.time))


def _parallel_jobs(n_jobs: int) -> int:
    return n_jobs if n_jobs > 0 else os.cpu_count() or 1


def busy() -> float:
    """How many times as long things take on a machine that does so much else; 1 if unknown."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return 1.0
    return max(1.0, load / (os.cpu_count() or 1))


def round_time(seconds: float) -> str:
    """A span of time, rounded as a guess deserves.

    >>> round_time(7), round_time(48), round_time(200), round_time(8000)
    ('10 s', '50 s', '3 min', '2 h')
    """
    if seconds < 90:
        return f"{max(10, round(seconds / 10) * 10)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


def in_words(seconds: float) -> str:
    """A rough span of time.

    >>> in_words(25), in_words(400), in_words(9000)
    ('10 s to 1 min', '3 to 13 min', '1 to 5 h')
    """
    low, high = seconds / 2, seconds * 2
    if seconds < 90:
        return f"{max(5, round(low / 5) * 5):.0f} s to {max(1, round(high / 60)):.0f} min"
    if seconds < 5400:
        return f"{max(1, low / 60):.0f} to {high / 60:.0f} min"
    return f"{max(1, low / 3600):.0f} to {high / 3600:.0f} h"


def say_plan(
    table: Table | PartedTable,
    folder: Path | None,
    options: dict[str, Any],
    wants_json: bool = False,
) -> None:
    """Print roles, plan and how long it takes; write ``columns.csv`` into the folder if given."""
    from subscape.exploration.plan import make_plan
    from subscape.exploration.preparation import prepare
    from subscape.exploration.rows import check_rows

    if wants_json:
        say_plan_as_json(table, folder, options)
        return
    for note in table.notes:
        click.echo(printable(as_options(note)))
    lines = [("column", "role", "kept as", "missing", "")]
    for place, column in enumerate(table.schema[:LISTED]):
        gone = int(table.profile.n_missing[place])
        name, kind = printable(short(column.name)), column.kind
        kind = f"{kind} ({column.unit})" if column.unit else kind
        note = printable(as_options(column.unused or column.note))
        lines.append((name, column.role, kind, str(gone), note))
    click.echo("")
    for line in columns(lines, right="lllr"):
        click.echo(line)
    if len(table.schema) > LISTED:
        click.echo(f"… and {len(table.schema) - LISTED} more columns")
    # First, because roles may be what has to be changed before anything can be planned.
    if folder is None:
        click.echo("\nTo change roles, units, decimal signs: --check -o FOLDER writes columns.csv, "
                   "to edit and pass with --columns\n")  # fmt: skip
    else:
        said = {} if options["columns"] is None else read_columns(options["columns"])
        path = write_columns(table, folder, options["columns"], said)
        click.echo(f"\nEdit roles, units, decimal signs in {path} and pass  --columns {path}\n")
    check_rows(table)
    ready = prepare(_to_search(table, options))
    for note in ready.notes:
        click.echo(note)
    rows = min(table.n_rows, options["search_rows"])
    plan = make_plan(
        rows, ready.X.shape[1], len(ready.numeric), effort=options["effort"], seed=options["seed"]
    )
    click.echo(f"\nplanned ({plan.effort}): {plan.n_runs} runs on {rows} rows")
    for rung in plan.rungs:
        finders = list(dict.fromkeys(entry.finder for entry in rung.entries))
        click.echo(f"  {rung.name}: {', '.join(finders)}")
    if plan.not_run:
        click.echo(f"  not run on this table: {plan.not_run_in_words()}")
    click.echo(f"  then the rest without the best ones, {plan.rounds} rounds")
    click.echo(f"  then up to {plan.n_null} tables without groups")
    seconds = rough_seconds(plan.n_runs, plan.n_null, rows, ready.X.shape[1])
    jobs = _parallel_jobs(options["jobs"])
    click.echo(
        f"takes about {in_words(seconds / min(jobs, 8) * busy())} with "
        f"{count(jobs, 'parallel job')} (a rough guess; --time sets a limit)"
    )


def say_plan_as_json(
    table: Table | PartedTable, folder: Path | None, options: dict[str, Any]
) -> None:
    """The same for machines."""
    from subscape.exploration.plan import make_plan
    from subscape.exploration.preparation import prepare
    from subscape.exploration.rows import check_rows

    check_rows(table)
    ready = prepare(_to_search(table, options))
    rows, width = min(table.n_rows, options["search_rows"]), ready.X.shape[1]
    plan = make_plan(
        rows, width, len(ready.numeric), effort=options["effort"], seed=options["seed"]
    )
    written = []
    if folder is not None:
        said = {} if options["columns"] is None else read_columns(options["columns"])
        written = [str(write_columns(table, folder, options["columns"], said))]
    missing = table.profile.n_missing
    print_json(
        {
            "rows": table.n_rows,
            "columns": [
                {
                    "name": c.name, "role": c.role, "kind": c.kind, "unit": c.unit,
                    "missing": int(missing[j]), "note": as_options(c.unused or c.note),
                }
                for j, c in enumerate(table.schema)
            ],
            "notes": [as_options(note) for note in (*table.notes, *ready.notes)],
            "plan": {
                "effort": plan.effort, "runs": plan.n_runs, "null_tables": plan.n_null,
                "not_run": dict(plan.not_run),
                "seconds_on_one_core": rough_seconds(plan.n_runs, plan.n_null, rows, width),
            },
            "written": written,
        }
    )  # fmt: skip


# -- reading the table, the roles of its columns, and known groupings, for the main job ------------


def read_table(
    path: str, id_column: str | None = None, transpose: bool = False, **text: Any
) -> Table | PartedTable:
    """The table of a file.

    ``text`` are the delimiter, the encoding and so on of a text file, as in ``Table.read``.
    """
    from subscape.exploration.parted_tables import is_parted

    if (Path(path).is_dir() or "://" in path) and is_parted(path):
        return _parted(path, id_column, transpose, text)
    table = Table.read(path, id=id_column, **text)
    return transposed(table) if transpose else table


def _parted(
    path: str, id_column: str | None, transpose: bool, text: Mapping[str, Any]
) -> PartedTable:
    """A folder of Parquet files, which is not read into memory."""
    from subscape.exploration.parted_tables import PartedTable

    asked = [name for name, said in text.items() if said not in (None, "none", "auto", {}, ())]
    strange = [name for name in asked if name not in ("label", "roles", "columns")]
    if transpose or strange:
        what = "--transpose" if transpose else f"--{strange[0]}"
        raise SubscapeError(f"{what} is for a table in one file, and {path} is in parts")
    said = {name: "label" for name in text.get("label") or ()} | dict(text.get("roles") or {})
    for name, about in dict(text.get("columns") or {}).items():
        unlike = sorted({key for key in about if about[key]} - {"role"})
        if unlike:
            raise SubscapeError(f"only the role of {name!r} can be said, as {path} is in parts")
        said |= {name: about["role"]} if about.get("role") else {}
    return PartedTable.of(path).with_roles(said | ({id_column: "id"} if id_column else {}))


def _to_search(table: Table | PartedTable, options: Mapping[str, Any]) -> Table:
    """The table, or of one in parts the rows that would be searched."""
    from subscape.exploration.rows import searched_rows

    if isinstance(table, Table):
        return table
    return table.take(searched_rows(table.shape, options["search_rows"], options["seed"]))


def reading(table: Table | PartedTable) -> str:
    """What was read, and what the file was taken for."""
    source = table.source
    said = [count(table.n_rows, "row"), count(len(table.schema), "column")]
    if source.get("format") == "delimited":
        delimiter = source["delimiter"]
        said.append(f"{NAMES.get(delimiter, repr(delimiter))}-delimited")
        said.append("decimal comma" * (source["decimal"] == ","))
        said.append(str(source["encoding"]))
    elif source.get("format") == "workbook":
        said.append(f"sheet {source['sheet']!r} of a workbook")
    elif "format" in source:
        said.append(str(source["format"]))
    told = f"{source.get('path', 'table')}: {', '.join(part for part in said if part)}"
    if source.get("format") == "delimited" and len(table.schema) == 1:
        told += "; if there are more columns than one, say --delimiter"
    return told


def transposed(table: Table) -> Table:
    """The table turned around: its features become rows. All of them must be numbers."""
    if table.nominal:
        raise SubscapeError(
            f"only numbers can be transposed; text is in {listing(list(table.nominal))}. Give "
            "these columns the role 'ignore' or 'id' (--columns)"
        )
    names = table.row_names or [f"row {i}" for i in range(table.n_rows)]
    turned = Table.from_array(
        table.to_numpy().T, feature_names=names, row_names=table.feature_names
    )
    return replace(turned, source=table.source)


#: Levels of a column of labels with which views are compared.
MOST_GROUPS = 100


def compared_with(path: str | None, table: Table | PartedTable) -> dict[str, Any] | None:
    """Groupings that the search never sees: of a file, else of the table, and Leiden's of cells."""
    known = read_known(path, table, "truth") or labels_of(table) or {}
    if table.source.get("format") == "anndata":
        from subscape.exploration.known_groupings import leiden_groupings

        known = {**leiden_groupings(table), **known}
    return known or None


def labels_of(table: Table | PartedTable) -> dict[str, Any] | None:
    """The label columns of the table itself, which the search never sees, to compare with.

    Such as the classes of a CSV file, or the clusterings of other programs in ``obs`` of h5ad.
    """
    names = [column.name for column in table.schema if column.role == "label"]
    found = {name: _labels(table, name) for name in names}
    return {
        name: groups
        for name, groups in found.items()
        if 2 <= len(np.unique(groups[groups >= 0])) <= min(MOST_GROUPS, table.n_rows // 2)
    } or None


def read_known(path: str | None, table: Table | PartedTable, what: str) -> dict[str, Any] | None:
    """Groupings of a file by name, joined to the table by the names of the rows, else by order."""
    if path is None:
        return None
    known = Table.read(path)
    ids = [c.name for c in table.schema if c.role == "id"]
    named = [c.name for c in known.schema if c.name in ids]
    if len(named) == 1:
        # The table knows which column has the names, and they are kept letter by letter.
        known = Table.read(path, id=named[0])
        if known.row_names is None and table.row_names is not None:
            raise SubscapeError(f"{path} names rows twice in {named[0]!r}; leave one line of each")
    beside = beside_labels([c.name for c in known.schema])
    groups = [c.name for c in known.schema if c.role not in ("id", "date") and c.name not in beside]
    if not groups:
        raise SubscapeError(f"{path} has no column of labels")
    order = _joined(known, table, path)
    labels = {name: _labels(known, name)[order] for name in groups}
    return {name if len(groups) > 1 else f"{what} ({name})": v for name, v in labels.items()}


def _labels(known: Table | PartedTable, name: str) -> Any:
    """Groups of a column; rows with a negative whole number are in none."""
    labels, column = known.labels(name), known.column(name)
    if column.kind == "number":
        values = known.values(name)
        present = values[~np.isnan(values)]
        if (present == np.floor(present)).all():
            return np.where(values < 0, -1, labels)
    return labels


def _joined(known: Table, table: Table | PartedTable, path: str) -> Any:
    if known.row_names is not None and table.row_names is not None:
        lines, rows = known.row_names, table.row_names
        if not set(rows) <= set(lines):
            # One side may have been read as numbers: 007 is 7 there.
            numbers = _as_numbers(lines), _as_numbers(rows)
            if all(len(set(each)) == len(each) for each in numbers):
                lines, rows = numbers
        place = {name: i for i, name in enumerate(lines)}
        missing = [table.row_names[i] for i, name in enumerate(rows) if name not in place]
        if not missing:
            return np.array([place[name] for name in rows])
        if len(missing) < len(rows):
            raise ShapeMismatchError(
                f"{path} has no line for {len(missing)} rows of the table: {listing(missing)}"
            )
        raise ShapeMismatchError(
            f"{path} has a line for none of the table's {len(rows)} rows: they have names such as "
            f"{missing[0]!r}, its lines such as {known.row_names[0]!r}. Give both the same names, "
            "or take the names out of it to join by order"
        )
    if known.n_rows != table.n_rows:
        raise ShapeMismatchError(
            f"{path} has {known.n_rows} lines, the table {table.n_rows} rows; without names of the "
            "rows in both they are joined by order, so there must be one line per row"
        )
    return np.arange(table.n_rows)


def _as_numbers(names: Sequence[str]) -> tuple[str, ...]:
    """Names that are numbers in one spelling."""
    return tuple(f"{float(name):.15g}" if is_number(name) else name for name in names)
