"""``subscape explore``: every honest grouping of a table, on one page."""

from __future__ import annotations

import errno
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from subscape.arrays.backend import active
from subscape.core.errors import ShapeMismatchError, SubscapeError, count, listing
from subscape.parallel.interruption import PromptStop, leave
from subscape.tables.columns import is_number
from subscape.tables.readers.boundary import printable
from subscape.tables.readers.dialect import NAMES
from subscape.tables.table import Table

from .columns_file import read_columns, write_columns
from .inputs import of_text, text_options
from .output import columns, short

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
              help="What the columns are: the file that --check writes, edited.")  # fmt: skip
@click.option("--id", "id_column", help="Column with the names of the rows.")
@click.option("--transpose", is_flag=True, help="Group the columns instead of the rows.")
@click.option("--search-rows", type=click.IntRange(min=10), default=20_000, show_default=True,
              help="Rows that are searched; all others are put in afterwards.")  # fmt: skip
@click.option("-k", "--groups", "asked", type=click.IntRange(min=2), metavar="N",
              help="Also give N groups, whether the table has them or not; marked as asked for.",
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
@text_options
def explore(table: str, output: str | None, check: bool, **options: Any) -> None:
    """Find every honest grouping of TABLE and show it on a page.

    TABLE is a CSV or other text, a workbook (xlsx, ods), Parquet, Feather, ARFF, NPY or h5ad.
    """

    began = time.perf_counter()
    if options["cluster"] and not check:
        from subscape.parallel.distributed import connected

        # Connected until the command ends, and before the table is read, which may take long.
        click.get_current_context().with_resource(connected(options["cluster"], kernels=active))
    data = read_table(
        table, options["columns"], options["id_column"], options["transpose"], **of_text(options)
    )
    click.echo(reading(data), err=True)
    if check:
        say_plan(data, None if output is None else Path(output), options)
        return
    folder = Path(output or f"{Path(table).name.partition('.')[0]}-study")
    if options["resume"] and not folder.is_dir():
        raise FileNotFoundError(f"there is no study in {folder} to go on with; leave out --resume")
    for note in data.notes:
        click.echo(f"note: {printable(note)}", err=True)
    from subscape.exploration.exploration import Exploration
    from subscape.report.page import make_ready, write_report

    annotated = None
    if options["h5ad"] is not None:
        annotated = AnnotatedCopy(table, options["h5ad"], options["transpose"])
    # What can fail, and what takes time, before the search: afterwards somebody waits for it.
    make_ready()
    if options["asked"] is not None:
        from subscape.exploration.asked import check_asked

        check_asked(options["asked"], min(data.n_rows, options["search_rows"]))
    live = LiveLine()
    click.get_current_context().call_on_close(live.clear)

    def end(study: Any) -> None:
        live.clear()
        if options["levels"]:
            study.write_labels(folder / "labels.csv", levels=True)
        page = write_report(study, folder / "report.html", embed_ids=options["embed_ids"])
        for note in data.unused_numeric_notes:
            click.echo(f"Not used: {printable(note)}")
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
                if options["asked"] is not None:
                    from subscape.exploration.asked import with_asked

                    study = with_asked(job, study, options["asked"])
                    study.save(folder)
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
    """

    def __init__(self, heartbeat: float = 20.0) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._phase = ""
        self._text = "reading the table"
        self._began = self._printed = time.monotonic()
        self._heartbeat = heartbeat
        self._end = threading.Event()
        if not self._is_terminal:
            # A single run may take minutes, and says nothing until it ends.
            threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while not self._end.wait(self._heartbeat / 4):
            now = time.monotonic()
            if now - self._printed >= self._heartbeat:
                self._printed = now
                click.echo(f"{now - self._began:5.0f} s  still {self._text}", err=True)

    def __call__(self, step: Any) -> None:
        total = "" if step.total is None else f"/{step.total}"
        self._text = f"{step.message} ({step.done}{total})"
        text = f"{step.seconds:5.0f} s  {self._text}"
        if self._is_terminal:
            click.echo(f"\r\033[K{text[:110]}", nl=False, err=True)
            return
        phase = step.message.partition(":")[0]
        if phase != self._phase:
            self._phase = phase
            self._printed = time.monotonic()
            click.echo(text, err=True)

    def clear(self) -> None:
        """Take the line away, and be silent from now on."""
        self._end.set()
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


#: Seconds that exploring takes on one core of 2024: per planned run and for the tables without
#: groups, of which each is searched anew; these grow with the cells that are searched.
PER_RUN, PER_TABLE = 0.06, 0.2
SMALL_TABLE = 2000


def rough_seconds(n_runs: int, n_tables: int, n_rows: int, n_columns: int) -> float:
    """About how long an exploration takes on one core; half and double are as likely.

    >>> rough_seconds(36, 20, 200, 6) < rough_seconds(36, 20, 5000, 20)
    True
    """
    cells = n_rows * n_columns
    null_cells = min(n_rows, 2000) * n_columns
    # Half of the runs again for winners, what is left and samples; other ideas, too, draw tables.
    runs = 2.0 * n_runs * PER_RUN * (1 + cells / SMALL_TABLE) ** 0.8
    return runs + 1.5 * n_tables * PER_TABLE * (1 + null_cells / SMALL_TABLE) ** 0.8


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


def say_plan(table: Table, folder: Path | None, options: dict[str, Any]) -> None:
    """Print roles, plan and how long it takes; write ``columns.csv`` into the folder if given."""
    from subscape.exploration.plan import make_plan
    from subscape.exploration.preparation import prepare
    from subscape.exploration.rows import check_rows

    for note in table.notes:
        click.echo(printable(note))
    lines = [("column", "role", "kept as", "missing", "")]
    for place, column in enumerate(table.schema[:LISTED]):
        gone = int(table.profile.n_missing[place])
        name, kind = printable(short(column.name)), column.kind
        kind = f"{kind} ({column.unit})" if column.unit else kind
        note = printable(column.unused or column.note)
        lines.append((name, column.role, kind, str(gone), note))
    click.echo("")
    for line in columns(lines, right="lllr"):
        click.echo(line)
    if len(table.schema) > LISTED:
        click.echo(f"… and {len(table.schema) - LISTED} more columns")
    # First, because roles may be what has to be changed before anything can be planned.
    if folder is None:
        click.echo("\nTo change roles: --check -o FOLDER writes columns.csv, to edit and pass with "
                   "--columns\n")  # fmt: skip
    else:
        said = {} if options["columns"] is None else read_columns(options["columns"])
        path = write_columns(table, folder, options["columns"], said)
        click.echo(f"\nEdit the roles in {path} and pass  --columns {path}\n")
    check_rows(table)
    ready = prepare(table)
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
    click.echo(f"  then the rest without the best ones, {plan.rounds} rounds")
    click.echo(f"  then up to {plan.n_null} tables without groups")
    seconds = rough_seconds(plan.n_runs, plan.n_null, rows, ready.X.shape[1])
    jobs = options["jobs"] if options["jobs"] > 0 else os.cpu_count() or 1
    click.echo(
        f"takes about {in_words(seconds / min(jobs, 8))} with {count(jobs, 'parallel job')} (a "
        "rough guess; --time sets a limit)"
    )


# -- reading the table, the roles of its columns, and known groupings, for the main job ------------


def read_table(
    path: str,
    columns: str | None = None,
    id_column: str | None = None,
    transpose: bool = False,
    **text: Any,
) -> Table:
    """The table of a file, with the roles of a ``columns.csv`` if there is one.

    ``text`` are the delimiter, the encoding and so on of a text file, as in ``Table.read``.
    """
    said = None if columns is None else read_columns(columns)
    table = Table.read(path, id=id_column, columns=said, **text)
    return transposed(table) if transpose else table


def reading(table: Table) -> str:
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


def read_known(path: str | None, table: Table, what: str) -> dict[str, Any] | None:
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
    groups = [c.name for c in known.schema if c.role not in ("id", "date")]
    if not groups:
        raise SubscapeError(f"{path} has no column of labels")
    order = _joined(known, table, path)
    labels = {name: _labels(known, name)[order] for name in groups}
    return {name if len(groups) > 1 else f"{what} ({name})": v for name, v in labels.items()}


def _labels(known: Table, name: str) -> Any:
    """Groups of a column; rows with a negative whole number are in none."""
    labels, column = known.labels(name), known.column(name)
    if column.kind == "number":
        values = known.values(name)
        present = values[~np.isnan(values)]
        if (present == np.floor(present)).all():
            return np.where(values < 0, -1, labels)
    return labels


def _joined(known: Table, table: Table, path: str) -> Any:
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
