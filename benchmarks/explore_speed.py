"""Explore beside what a user would run instead, and what it costs on tables of all sizes.

    python benchmarks/explore_speed.py [--quick] [--part sweep ...] [--folder FOLDER]

Parts: ``sweep``, processor time of one thread each beside a sweep of k-means with the silhouette
and of Gaussian mixtures with BIC, for 2 to 15 clusters, in one run; explore does more (it looks for
several groupings, in their features, and holds them against chance and samples), so the ratio says
what that costs. ``shell``, seconds from the start of the command to its first look and to its end.
``time``, whether ``--time`` keeps its word. ``large``, seconds and memory on large and wide tables.
``cores``, two jobs beside one. ``growth``, processor time against rows, columns and effort. Each
part has a table of its own in benchmarks/results/explore_speed.md. In ``--folder`` the largest
table is kept from one run to the next.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

import subscape
from subscape.datasets import planted_views
from subscape.report import write_report

RESULTS = Path(__file__).parent / "results" / "explore_speed.md"
#: Table -> times the sweep that quick and normal effort may take.
EFFORTS = ("quick", "normal")
GOALS = {"Iris, 150 x 4": (4, 12), "500 x 10": (6, 12), "5,000 x 50": (3, 6)}
#: Times the sweep that may go by until the first page.
FIRST_PAGE = 1.5
#: Seconds of ``--time``, and tables: rows and columns.
SECONDS = 30
TIMED = ((5000, 50), (20_000, 100), (100_000, 100))
#: Rows and columns, and the seconds that it may take.
LARGE = ((64, 6830, 30), (100_000, 100, 60), (2_000_000, 120, 60))
#: More numbers than these come from a folder of Parquet files, so many rows in each.
IN_MEMORY = 100_000_000
ROWS_PER_FILE = 100_000
#: Rows and columns that are searched with one job and with two.
SHARED = ((5000, 50), (100_000, 100))
#: Rows and columns against which time is measured.
ROWS, COLUMNS = (250, 1000, 4000, 16_000), (5, 10, 20, 40, 80)
MIDDLE = (1000, 10)


def table(name: str) -> np.ndarray:
    """A table by its name."""
    if name.startswith("Iris"):
        return load_iris().data
    rows, columns = (500, 10) if name.startswith("500") else (5000, 50)
    return planted(rows, columns)


def planted(rows: int, columns: int) -> np.ndarray:
    """Two groupings in a table of this shape; in wide ones a grouping in one of twenty columns."""
    if columns > rows:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, columns))
        X[:, ::20] += 2 * rng.normal(size=(4, X[:, ::20].shape[1]))[np.arange(rows) % 4]
        return X
    return planted_views(rows, columns, n_clusters=(4, 3), random_state=0).X


def sweep(X: np.ndarray) -> float:
    """Processor time of the sweep."""
    Z = StandardScaler().fit_transform(X)
    start = time.process_time()
    for k in range(2, 16):
        labels = KMeans(k, n_init=5, random_state=0).fit_predict(Z)
        silhouette_score(Z[:2000], labels[:2000])
        GaussianMixture(k, random_state=0, reg_covar=1e-4).fit(Z).bic(Z)
    return time.process_time() - start


def explore(X: np.ndarray, effort: str) -> float:
    """Processor time of an exploration."""
    start = time.process_time()
    subscape.explore(X, effort=effort, n_jobs=1, random_state=0)
    return time.process_time() - start


class Seen(Exception):
    """The first page is there."""


def first_page(X: np.ndarray, effort: str) -> float:
    """Processor time until the first page is written."""
    with tempfile.TemporaryDirectory() as folder:

        def stop(study: subscape.Study) -> None:
            write_report(study, Path(folder, "report.html"))
            raise Seen

        start = time.process_time()
        with contextlib.suppress(Seen):
            subscape.explore(X, effort=effort, n_jobs=1, random_state=0, on_update=stop)
        return time.process_time() - start


def beside_sweep(X: np.ndarray, effort: str) -> tuple[float, float, float]:
    """Processor time of a sweep, an exploration and its first page; the sweep before and after.

    What else the machine does slows all; small tables are explored several times.
    """
    repeats = 4 if X.size < 10_000 else 1
    swept = explored = seen = 0.0
    for _ in range(repeats):
        before = sweep(X)
        explored += explore(X, effort)
        seen += first_page(X, effort)
        swept += (before + sweep(X)) / 2
    return swept / repeats, explored / repeats, seen / repeats


def beside_sweeps(options: argparse.Namespace) -> Iterator[str]:
    """Both sides on each table."""
    page = f"first page, s | times (goal {FIRST_PAGE})"
    yield f"| table | effort | sweep, s | explore, s | times | goal | {page} |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    few = 1 if options.quick else None
    for name, goals in list(GOALS.items())[:few]:
        X = table(name)
        subscape.explore(X[:60], effort="quick", n_jobs=1)  # imports are nobody's work
        first_page(X[:60], "quick")
        sweep(X[:60])
        for effort, goal in list(zip(EFFORTS, goals, strict=True))[:few]:
            swept, explored, seen = beside_sweep(X, effort)
            yield (
                f"| {name} | {effort} | {swept:.2f} | {explored:.2f} "
                f"| {explored / swept:.1f} | {goal} | {seen:.2f} | {seen / swept:.1f} |"
            )


def in_shell(path: Path) -> tuple[float, float]:
    """Seconds until the first look is printed, and until the end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-u", "-m", "subscape", "explore", str(path), "-o"]
        start = time.perf_counter()
        process = subprocess.Popen(
            [*command, f"{folder}/study"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        seen = np.inf
        for line in process.stderr or ():
            if line.startswith("A first look"):
                seen = min(seen, time.perf_counter() - start)
        if process.wait():
            raise SystemExit(f"explore {path.name} failed")
        return seen, time.perf_counter() - start


def from_the_shell(options: argparse.Namespace) -> Iterator[str]:
    """The command on each table; of three runs the middle one, after one that nobody times."""
    yield "| table | first look, s (goal < 3) | end, s |"
    yield "|---|---:|---:|"
    with tempfile.TemporaryDirectory() as folder:
        for name in list(GOALS)[: 1 if options.quick else None]:
            X, path = table(name), Path(folder, "table.csv")
            names = ",".join(f"c{j}" for j in range(X.shape[1]))
            np.savetxt(path, X, delimiter=",", header=names, comments="", fmt="%.6g")
            runs = [in_shell(path) for _ in range(4 if X.size < 10_000 else 2)][1:]
            seen, end = np.median(runs, axis=0)
            yield f"| {name} | {seen:.1f} | {end:.1f} |"


def within_time(options: argparse.Namespace) -> Iterator[str]:
    """Thorough explorations that are told how long they may take."""
    yield f"| table | seconds of the clock with --time {SECONDS} (goal <= {1.1 * SECONDS:.0f}) |"
    yield "|---|---:|"
    for rows, columns in TIMED[: 1 if options.quick else None]:
        if options.table not in f"{rows:,} x {columns}":
            continue
        X = planted(rows, columns)
        start = time.perf_counter()
        subscape.explore(X, effort="thorough", time=SECONDS, n_jobs=2, random_state=0)
        yield f"| {rows:,} x {columns} | {time.perf_counter() - start:.1f} |"


def parquet_folder(folder: Path, rows: int, columns: int) -> Path:
    """The table in Parquet files, made once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = folder / f"{rows}x{columns}"
    if not place.exists():
        place.mkdir(parents=True)
        X = planted(rows, columns)
        for first in range(0, rows, ROWS_PER_FILE):
            part = X[first : first + ROWS_PER_FILE]
            named = pa.table({f"c{j}": part[:, j] for j in range(columns)})
            pq.write_table(named, place / f"{first:09d}.parquet")
    return place


def large(options: argparse.Namespace) -> Iterator[str]:
    """Each in a process of its own, so that its memory is known; normal effort, two jobs."""
    yield "| table | seconds of the clock | goal | peak memory, GB |"
    yield "|---|---:|---:|---:|"
    for rows, columns, goal in LARGE[: 1 if options.quick else None]:
        name = f"{rows:,} x {columns:,}"
        if options.table not in name:
            continue
        from_file = rows * columns > IN_MEMORY
        path = "-"
        if from_file:
            # The memory of whoever starts a process counts as its own.
            path = str(Path(options.folder, f"{rows}x{columns}"))
            made = [sys.executable, __file__, "--make-folder", str(rows), str(columns)]
            subprocess.run([*made, "--folder", options.folder], check=True)
        told = subprocess.run(
            [sys.executable, __file__, "--one-large", str(rows), str(columns), path],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        where = ", from Parquet files" if from_file else ""
        yield f"| {name}{where} | {told[0]} | {goal} | {told[1]} |"


def one_large(rows: int, columns: int, path: str) -> None:
    """Say seconds, and the most memory that this process or one of its workers had."""
    import resource

    X = planted(rows, columns) if path == "-" else path
    start = time.perf_counter()
    subscape.explore(X, n_jobs=2, random_state=0)
    seconds = time.perf_counter() - start
    own, workers = (
        resource.getrusage(who).ru_maxrss / 2**20
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"{seconds:.1f} {max(own, workers):.2f}")


def cores(options: argparse.Namespace) -> Iterator[str]:
    """The same study with one job and with two."""
    yield "| table | one job, s | two jobs, s | times (goal 1.7) |"
    yield "|---|---:|---:|---:|"
    for rows, columns in SHARED[: 1 if options.quick else None]:
        if options.table not in f"{rows:,} x {columns}":
            continue
        X = planted(rows, columns)
        subscape.explore(X[:200], effort="quick", n_jobs=2)  # workers are started once
        seconds = []
        for jobs in (1, 2):
            start = time.perf_counter()
            subscape.explore(X, n_jobs=jobs, random_state=0)
            seconds.append(time.perf_counter() - start)
        one, two = seconds
        yield f"| {rows:,} x {columns} | {one:.1f} | {two:.1f} | {one / two:.2f} |"


def growth(options: argparse.Namespace) -> Iterator[str]:
    """Processor time of one core against rows, columns and effort."""
    yield "| rows | columns | quick, s | normal, s |"
    yield "|---:|---:|---:|---:|"
    shapes = [(rows, MIDDLE[1]) for rows in ROWS] + [(MIDDLE[0], columns) for columns in COLUMNS]
    subscape.explore(planted(60, 4), effort="quick", n_jobs=1)
    for rows, columns in dict.fromkeys(shapes[:1] if options.quick else shapes):
        X = planted(rows, columns)
        quick, normal = (explore(X, effort) for effort in EFFORTS)
        yield f"| {rows:,} | {columns} | {quick:.1f} | {normal:.1f} |"


PARTS: dict[str, tuple[str, Callable[[argparse.Namespace], Iterator[str]]]] = {
    "sweep": ("Processor time beside the sweep", beside_sweeps),
    "shell": ("From the shell", from_the_shell),
    "time": ("With a limit of time", within_time),
    "large": ("Large and wide tables, normal effort, two jobs", large),
    "cores": ("Two cores, normal effort", cores),
    "growth": ("Against rows, columns and effort, processor time", growth),
}


def write(title: str, lines: list[str], load: float) -> None:
    """Put a part into the page; other parts stay, and so do tables of it that are not in it."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    parts = dict(re.findall(r"^## (.+)\n\n((?:.+\n)+(?:\nLoad.+\n)?)", text, flags=re.M))
    new = {line.split("|")[1]: line for line in lines}
    old = [line for line in parts.get(title, "").splitlines() if line.startswith("|")]
    if old[:1] == lines[:1] and title != PARTS["sweep"][0] and title != PARTS["growth"][0]:
        lines = [new.pop(line.split("|")[1], line) for line in old] + list(new.values())
    told = f"Load of the machine when it began: {load:.1f}, on {os.cpu_count()} cores."
    parts[title] = "\n".join([*lines, "", told, ""])
    all_told = [f"## {each}\n\n{parts[each]}" for each, _ in PARTS.values() if each in parts]
    page = ["# Explore beside a sweep of k-means and mixtures, and what it costs\n", *all_told]
    RESULTS.write_text("\n".join(page), encoding="utf-8")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the smallest table of each part")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--table", default="", help="of large, time and cores, the tables so named")
    parser.add_argument("--one-large", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--make-folder", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.make_folder:
        parquet_folder(Path(options.folder), *options.make_folder)
        return
    if options.one_large:
        rows, columns, path = options.one_large
        one_large(int(rows), int(columns), path)
        return
    for part in options.part or (["sweep"] if options.quick else PARTS):
        title, measure = PARTS[part]
        lines, load = [], os.getloadavg()[0]
        for line in measure(options):
            lines.append(line)
            print(line, flush=True)
        if not options.quick:
            write(title, lines, load)


if __name__ == "__main__":
    main()
