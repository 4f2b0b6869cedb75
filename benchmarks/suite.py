"""All benchmarks in one go: us and every peer that is installed, into RESULTS.md.

    python benchmarks/suite.py             small sizes (about 20 minutes on two cores)
    python benchmarks/suite.py --full      the sizes of the goals (many hours)
    python benchmarks/suite.py --gather    nothing is run, only RESULTS.md is written anew
    python benchmarks/suite.py compare indices    these only

Small sizes leave the pages in results/ alone: they are run in a copy of this folder, and their
numbers stand in RESULTS.md only where there is none of the full size. Data sets come from the
folder that SUBSCAPE_DATA names; what needs them, or a peer that is missing, says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import ratios
from goals import TARGETS, TOPICS, Target
from pages import Page
from ratios import Goal

HERE = Path(__file__).parent
#: A benchmark that takes longer at small sizes is stopped, and none is begun after the second.
QUICK_SECONDS, ALL_QUICK_SECONDS = 300.0, 2400.0


class Benchmark(NamedTuple):
    """A script, what it is given at small and at full sizes, and what it needs."""

    name: str
    quick: tuple[str, ...] = ("--quick",)
    full: tuple[str, ...] = ()
    needs_data: bool = False
    modules: tuple[str, ...] = ()


BENCHMARKS = (
    Benchmark("compare"),
    Benchmark("peers"),
    Benchmark("indices"),
    Benchmark("many_fits", modules=("distributed",)),
    Benchmark("one_table", quick=("--quick", "--kills", "2"), modules=("distributed",)),
    Benchmark("finders_speed", full=("--patient",)),
    Benchmark("oriented", full=("--patient",)),
    Benchmark("schools"),
    Benchmark("nrkmeans"),
    Benchmark("scale", full=("--full",)),
    Benchmark("stability"),
    Benchmark("significance"),
    Benchmark("explore", quick=("--quick", "--part", "planted", "--part", "kill")),
    Benchmark("explore_speed"),
    Benchmark("thesis_ch6"),
    Benchmark("opensubspace", needs_data=True),
    Benchmark("adco_paper", needs_data=True),
    Benchmark("published", quick=("PROCLUS", "HARP")),
    Benchmark("maximus"),
    Benchmark("alternatives_paper", needs_data=True),
    Benchmark("pce_paper", needs_data=True),
    Benchmark("pce_settings", needs_data=True),
    Benchmark("pce_defaults"),
    Benchmark("sre_paper"),
    Benchmark("gpu", modules=("torch",)),
)


class Outcome(NamedTuple):
    """How a run of a benchmark ended."""

    seconds: float
    note: str


def run(benchmark: Benchmark, folder: Path, full: bool) -> Outcome:
    """Run one benchmark in a folder of scripts; what goes wrong is noted and ends nothing."""
    import importlib.util

    for module in benchmark.modules:
        if importlib.util.find_spec(module) is None:
            return Outcome(0.0, f"left out: {module} is missing")
    if benchmark.needs_data and not os.environ.get("SUBSCAPE_DATA"):
        return Outcome(0.0, "left out: SUBSCAPE_DATA names no folder")
    script = folder / f"{benchmark.name}.py"
    call = [sys.executable, str(script), *(benchmark.full if full else benchmark.quick)]
    start = time.perf_counter()
    # In a session of its own, so that its worker processes can be ended together with it.
    process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _, errors = process.communicate(timeout=None if full else QUICK_SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome(QUICK_SECONDS, f"stopped after {QUICK_SECONDS:g} s")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    seconds = time.perf_counter() - start
    if process.returncode == 0:
        return Outcome(seconds, "done")
    sys.stderr.write(errors)
    last = (errors.strip().splitlines() or ["no message"])[-1]
    return Outcome(seconds, f"failed: {last[:150]}")


def run_all(chosen: Sequence[Benchmark], full: bool) -> dict[str, Outcome]:
    """Run the benchmarks one after the other; small ones in a copy, to leave the pages alone."""
    outcomes = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = HERE
        if not full:
            folder = Path(scratch, "benchmarks")
            shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("results", "__pycache__"))
            (folder / "results").mkdir()
        began = time.monotonic()
        for benchmark in chosen:
            print(f"\n== {benchmark.name}", flush=True)
            if not full and time.monotonic() - began > ALL_QUICK_SECONDS:
                outcomes[benchmark.name] = Outcome(0.0, "left out: the time is over")
            else:
                outcomes[benchmark.name] = run(benchmark, folder, full)
            print(f"-- {benchmark.name}: {outcomes[benchmark.name].note}", flush=True)
        if not full:
            keep_small(folder / "results", ratios.RESULTS)
    return outcomes


def keep_small(there: Path, here: Path) -> None:
    """Take over the records of small sizes, but none in the place of one of the full size."""
    for path in sorted(there.glob("*.json")):
        own = here / path.name
        known = json.loads(own.read_text()) if own.exists() else {}
        for key, entry in json.loads(path.read_text()).items():
            if entry["quick"] and (key not in known or known[key]["quick"]):
                known[key] = entry
        own.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


# -- RESULTS.md -----------------------------------------------------------------------------------


class Measured(NamedTuple):
    """What is known of a goal."""

    value: float | None
    note: str
    source: str
    where: str = ""
    is_small: bool = False

    def verdict(self, goal: Goal) -> str:
        """Whether a goal is met, as far as one can say."""
        if self.value is None:
            return "–"
        met = goal.is_met(self.value)
        if self.is_small:
            return "yes, small" if met else "no, small"
        return "yes" if met else "**no**"


def measured(target: Target, folder: Path) -> Measured:
    """The number of a goal: as recorded, or read in a page; without one if there is none."""
    path = folder / f"{target.benchmark}.json"
    entry = json.loads(path.read_text()).get(target.key) if path.exists() else None
    if entry is not None and not entry["quick"]:
        return _recorded(entry)
    page = target.page or target.benchmark
    found = Page.read(folder / f"{page}.md")
    value = target.read(found) if found is not None and target.read is not None else None
    if isinstance(value, str):
        # In words why there is no number.
        return Measured(
            None, value, f"[page](results/{page}.md), {_written(folder / f'{page}.md')}"
        )
    if value is not None:
        return Measured(value, "", f"[page](results/{page}.md), {_written(folder / f'{page}.md')}")
    if entry is not None:
        return _recorded(entry)
    return Measured(None, "not measured" if found is None else "not in its page", "")


def _recorded(entry: dict) -> Measured:
    size = ", small sizes" if entry["quick"] else ""
    where = f"{entry['machine']}; {entry['versions']}"
    return Measured(entry["value"], entry["note"], entry["when"] + size, where, entry["quick"])


def _written(path: Path) -> str:
    """The days on which a page says that it was measured; else when it was committed or written."""
    days = re.findall(r"[Mm]easured (?:on )?(\d{4}-\d\d-\d\d)", path.read_text(encoding="utf-8"))
    if days:
        return min(days) if len(set(days)) == 1 else f"{min(days)} to {max(days)}"
    call = ["git", "log", "-1", "--format=%cs", "--", path.name]
    try:
        done = subprocess.run(call, cwd=path.parent, capture_output=True, text=True, check=False)
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--", path.name],
            cwd=path.parent, capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        if done.stdout.strip() and not changed.strip():
            return done.stdout.strip()
    except OSError:
        pass
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d")


def results_page(folder: Path, outcomes: dict[str, Outcome]) -> str:
    """RESULTS.md: every goal with its number, whether it is met, and how to measure it again."""
    rows = [(target, measured(target, folder)) for target in TARGETS]
    verdicts = [found.verdict(Goal.of(target.goal)) for target, found in rows]
    met, missed = verdicts.count("yes"), verdicts.count("**no**")
    places = list(dict.fromkeys(m.where for _, m in rows if m.where))
    lines = [
        "# Results of the benchmarks",
        "",
        "Gathered by `suite.py` from what the benchmarks wrote, which `make bench` runs at small "
        "sizes and `make bench-full` at those of the goals. A ratio stands here only if both sides "
        "did the same work: the same table, rows searched, variant, parameters, steps "
        "and precision, and ours no worse a result in the three digits printed; otherwise the "
        "reason stands in its place. Numbers of pages were measured when the page was written, on "
        "the machine it names; those of small sizes say so, and prove nothing for the goal's size.",
        "",
        f"{met} of {len(rows)} goals met, {missed} missed, {len(rows) - met - missed} without a "
        "number of their full size.",
        "",
        *_tables(rows, places),
        *(f"[{i}] {place}" for i, place in enumerate(places, 1)),
        "",
        "## This run",
        "",
        f"{ratios.circumstances()['when']} UTC, {ratios.machine()}. "
        + ", ".join(f"{name} {found}" for name, found in ratios.versions(ratios.PACKAGES).items())
        + ".",
        "",
        "Peers: " + ", ".join(f"{name} {found}" for name, found in ratios.peers().items()) + ".",
        "",
    ]
    if outcomes:
        lines += ["| benchmark | seconds | how it ended |", "|---|---:|---|"]
        lines += [f"| {name} | {o.seconds:.0f} | {o.note} |" for name, o in outcomes.items()]
        lines.append("")
    return "\n".join(lines)


def _tables(rows: Sequence[tuple[Target, Measured]], places: Sequence[str]) -> Iterator[str]:
    for topic in sorted({target.topic for target, _ in rows}):
        yield f"## {TOPICS[topic]}"
        yield ""
        yield "| what | variant and settings | goal | measured | met | command | when |"
        yield "|---|---|---|---:|---|---|---|"
        for target, found in rows:
            if target.topic != topic:
                continue
            goal = Goal.of(target.goal)
            if found.value is None:
                number = found.note
            else:
                number = f"{found.value:.3g}" if abs(found.value) < 1000 else f"{found.value:.0f}"
            mark = f" [{places.index(found.where) + 1}]" if found.where else ""
            cells = (
                target.what, target.settings, goal, number, found.verdict(goal),
                f"`{command(target)}`", f"{found.source}{mark}",
            )  # fmt: skip
            yield "| " + " | ".join(map(str, cells)) + " |"
        yield ""


def command(target: Target) -> str:
    """What measures a goal at its full size."""
    full = next((b.full for b in BENCHMARKS if b.name == target.benchmark), ())
    return " ".join([f"{target.benchmark}.py", *full])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="benchmarks; all by default")
    parser.add_argument("--full", action="store_true", help="the sizes of the goals")
    parser.add_argument("--gather", action="store_true", help="run nothing")
    options = parser.parse_args()
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        sys.exit(f"no benchmark is called {unknown[0]!r}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.names] or list(BENCHMARKS)
    outcomes = {} if options.gather else run_all(chosen, options.full)
    path = HERE / "RESULTS.md"
    path.write_text(results_page(ratios.RESULTS, outcomes), encoding="utf-8")
    print(f"\n{path}")


if __name__ == "__main__":
    main()
