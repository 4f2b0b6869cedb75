"""How fast the finders are: beside ELKI on the same tables, and against the number of rows.

    python benchmarks/finders_speed.py             ELKI's slow runs are stopped after 60 s
    python benchmarks/finders_speed.py --patient   … after 120 s of the processor
    python benchmarks/finders_speed.py --quick     a tenth of the rows, no ELKI
    python benchmarks/finders_speed.py --parts elki --finders DOC --rows 1000    these lines; the
                                                                   others stay in the page

Seconds are the processor's, one thread each; ours after a fit of 500 rows, ELKI's without start and
parsing, or its own by the clock where those are fewer. Every finder runs twice, as published with
ELKI's settings and by default; a ratio is printed only where both sides did the same work, and ours
is at least as good.
Writes benchmarks/results/finders_speed.md, line by line.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import elki
import numpy as np
from pages import Page, Sections
from ratios import Ratio, Side, finder_work, peer_work, said_when
from sklearn.base import clone

from subscape.datasets import planted_axes
from subscape.finders import CLIQUE, DOC, LAC, P3C, PROCLUS, SUBCLU, DiSH, MineClus, PreDeCon
from subscape.measures import clustering_error

RESULTS = Path(__file__).parent / "results"


def table(n_rows):
    """Ten clusters of eight dims in 50 features."""
    return planted_axes(n_rows, 50, n_clusters=10, dims=8, random_state=0)


def error(found, truth):
    if found is None or not found.n_clusters:
        return 1.0
    return clustering_error(found, truth, mass="unit" if found.kind == "weighted" else None)


def timed(finder, X, truth):
    """CE and seconds of one fit; None for the seconds if a budget cut it short."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        found = finder.fit(X).clustering_
        seconds = time.process_time() - start
    cut = any("best result so far" in str(w.message) for w in caught)
    return error(found, truth), None if cut else seconds


#: Our defaults, ELKI's flags, and how many seeds each side runs.
PAIRS = {
    "PROCLUS": (
        lambda: PROCLUS(n_clusters=10, avg_dims=8, n_init=1),
        {"projectedclustering.k": 10, "projectedclustering.l": 8}, "proclus.seed",
    ),
    "CLIQUE": (
        lambda: CLIQUE(n_bins=10, density_threshold=0.06),
        {"clique.xsi": 10, "clique.tau": 0.06, "clique.prune": False}, None,
    ),
    "SUBCLU": (lambda: SUBCLU(), {"subclu.epsilon": 0.01, "subclu.minpts": 300}, None),
    "DOC": (
        lambda: DOC(n_clusters=10),
        {"doc.alpha": 0.08, "doc.beta": 0.25, "doc.w": 0.05}, "doc.random-seed",
    ),
    "P3C": (lambda: P3C(), {"p3c.threshold": 1e-4}, None),
    "DiSH": (lambda: DiSH(), {"dish.epsilon": 0.02, "dish.mu": 200}, None),
    "PreDeCon": (
        lambda: PreDeCon(),
        {"dbscan.epsilon": 0.5, "dbscan.minpts": 50, "predecon.delta": 0.01,
         "predecon.kappa": 100, "predecon.lambda": 10}, None,
    ),
}  # fmt: skip
SEEDS = 3
#: Numbers of rows among the settings; those above are for so many rows of the table.
COUNTS, OF_ROWS = ("subclu.minpts", "dish.mu", "dbscan.minpts"), 10_000
#: The tables beside ELKI, and who runs on them: all, those that need no patience with many rows,
#: and those that ELKI doesn't end on the first.
TABLES = {
    10_000: tuple(PAIRS),
    50_000: ("PROCLUS", "CLIQUE"),
    1_000: ("DOC", "P3C", "DiSH"),
}
HEADER = "| finder | variant | table | CE | seconds | ELKI CE | ELKI seconds | ratio |"


def flags_for(name, n_rows):
    """ELKI's flags for a table of so many rows."""
    return {
        flag: max(2, round(value * n_rows / OF_ROWS)) if flag in COUNTS else value
        for flag, value in PAIRS[name][1].items()
    }


def several(runs):
    """Median CE and summed seconds of some runs; no seconds if one of them did not end."""
    seconds = [s for _, s in runs]
    ended = all(s is not None for s in seconds)
    return float(np.median([ce for ce, _ in runs])), sum(seconds) if ended else None


def beside_elki(n_rows, names, with_elki, timeout):
    """Two lines per finder, ours as published with ELKI's settings and as it comes, beside ELKI.

    A ratio stands only where both sides did the same work (``ratios.py``).
    """
    X, truth = table(n_rows)
    for name in names:
        default, _, seed = PAIRS[name]
        flags = flags_for(name, n_rows)
        named = elki.settings(name, flags)
        seeds = range(SEEDS) if seed else (None,)
        theirs, their_seconds, note = None, None, ""
        if with_elki:
            runs = []
            for s in seeds:
                runs.append(elki.run(name, flags | ({} if s is None else {seed: s}), X, timeout))
                if runs[-1].seconds is None:
                    break
            note = runs[-1].note
            if runs[-1].seconds is not None:
                theirs, their_seconds = several(
                    [(error(run.clustering(X.shape), truth), run.seconds) for run in runs]
                )
        same = {"SUBCLU": SUBCLU, "DiSH": DiSH, "P3C": P3C, "PreDeCon": PreDeCon, "DOC": DOC,
                "CLIQUE": CLIQUE, "PROCLUS": PROCLUS}[name]  # fmt: skip
        variants = {
            "as published, same settings": lambda same=same, named=named: same.as_published(
                **named
            ),
            "default": default,
        }
        for variant, make in variants.items():
            done = []
            for s in seeds:
                finder = make()
                known = finder.get_params()
                extra = {"random_state": s, "max_time": timeout}
                finder.set_params(
                    **{k: v for k, v in extra.items() if k in known and v is not None}
                )
                if not done:
                    # What is imported at first use is start, which ELKI's seconds lack, too.
                    timed(clone(finder), *table(500))
                done.append(timed(finder, X, truth))
                if done[-1][1] is None:
                    break
            ours, seconds = several(done)
            ratio = ""
            if seconds and their_seconds:
                work = finder_work(finder, X.shape, named, runs=len(seeds))
                their_work = peer_work(X.shape, named, runs=len(seeds))
                both = Ratio(
                    Side("ours", seconds, work, ours),
                    Side("ELKI", their_seconds, their_work, theirs),
                )
                ratio = f"{both.value:.1f}x" if both.is_comparable else str(both)
            yield (
                f"| {name} | {variant} | {n_rows} x 50 | {ours:.3f} | "
                f"{'cut short' if seconds is None else f'{seconds:.2f}'} | "
                f"{'' if theirs is None else f'{theirs:.3f}'} | "
                f"{note if their_seconds is None else f'{their_seconds:.2f}'} | {ratio} |"
            )


def settings_lines():
    """What each side was told."""
    yield ""
    yield (
        "Settings, by our names; 'as published' is `as_published` with just these, 'default' the "
        f"class as it stands in the code. Finders that draw at random and ELKI's run {SEEDS} seeds "
        f"each: median CE, summed seconds. Counts of rows are those for {OF_ROWS} rows, and in "
        "proportion for others. CLIQUE prunes no subspaces: ELKI's pruning takes the mean at every "
        "place for that at the cut. Its clusters join units that are next to each other in some "
        "feature, the paper's those with a common face. DOC can have no ratio: around every seed "
        "the paper draws 8.5e9 samples of 7 rows, ELKI 1,728 of 2, since its formula has beta / 2 "
        "in place of 2 beta and rounds down."
    )
    yield ""
    yield "| finder | settings | default |"
    yield "|---|---|---|"
    for name, (default, flags, _) in PAIRS.items():
        named = ", ".join(f"{k}={v}" for k, v in elki.settings(name, flags).items())
        yield f"| {name} | {named} | `{' '.join(repr(default()).split())}` |"


GROWING = {
    "PROCLUS": lambda: PROCLUS(n_clusters=10, avg_dims=8, random_state=0),
    "LAC": lambda: LAC(n_clusters=10, random_state=0),
    "DOC": lambda: DOC(n_clusters=10, random_state=0),
    "MineClus": lambda: MineClus(n_clusters=10, random_state=0),
    "CLIQUE": lambda: CLIQUE(n_bins=10, density_threshold=0.06, max_dims=3),
}


def growth(sizes):
    """Seconds against rows, 20 features."""
    for name, make in GROWING.items():
        row = []
        for n_rows in sizes:
            X, truth = planted_axes(n_rows, 20, n_clusters=5, dims=6, random_state=0)
            finder = make()
            if "n_clusters" in finder.get_params():
                finder.set_params(n_clusters=5)
            row.append(timed(finder, X, truth)[1])
        cells = ["cut" if s is None else f"{s:.2f}" for s in row]
        yield f"| {name} | " + " | ".join(cells) + " |"


def wide():
    """72 x 7,129, as in gene expression: time and memory of a few rows in many features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(72, 7129))
    X[:38, :300] += 3
    for name in ("PROCLUS", "LAC", "DOC", "MineClus"):
        finder = GROWING[name]().set_params(n_clusters=2)
        start = time.process_time()
        found = finder.fit(X).clustering_
        yield f"| {name} | {time.process_time() - start:.2f} | {found.n_clusters} |"


def kept_rows(page, **cells):
    """The lines of a page that have these cells."""
    for row in Page(page).find(**cells):
        if "ratio" in row:
            yield (
                "| " + " | ".join(row[name.strip()] for name in HEADER.strip("|").split("|")) + " |"
            )


def kept_whens(page):
    """When each line was measured, as the page says."""
    lines = (line[2:].partition(": ") for line in page.splitlines() if line.startswith("- "))
    return {place: told for place, _, told in lines if " x 50" in place}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, no ELKI")
    parser.add_argument("--patient", action="store_true", help="give ELKI 120 s")
    parser.add_argument("--limit", type=int, help="give ELKI so many seconds")
    parser.add_argument("--rows", type=int, choices=TABLES, help="this table beside ELKI only")
    parser.add_argument("--finders", help="these beside ELKI only, comma-separated")
    parser.add_argument("--parts", default="elki,growth,wide", help="comma-separated")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    with_elki = elki.available() and not options.quick
    timeout = options.limit or (120 if options.patient else 60)
    RESULTS.mkdir(exist_ok=True)
    head = ["# Speed of the finders", "", "One thread. The two sides of a ratio were measured one "
            "after the other in one run; seconds are the processor's, ours after a fit of 500 "
            "rows, ELKI's without start and parsing, or its own by the clock where those are "
            "fewer."]  # fmt: skip
    beside, growing, few = (
        "Beside ELKI", "Seconds against rows (20 features), defaults", "72 x 7,129, defaults"
    )  # fmt: skip
    path, when = RESULTS / "finders_speed.md", said_when()
    old = path.read_text() if path.exists() else ""
    page = Sections(None if options.quick else path, head, (beside, growing, few))

    wanted = options.finders.split(",") if options.finders else list(PAIRS)
    jobs = [
        (rows, name)
        for rows, names in TABLES.items()
        for name in names
        if name in wanted and options.rows in (None, rows)
    ]

    def all_beside():
        yield "Ten clusters of 8 dims in 50 features."
        yield from settings_lines()
        yield from ("", HEADER, "|---" * 8 + "|")
        for rows, names in TABLES.items():
            for name in names:
                place = {"finder": name, "table": f"{rows // scale} x 50"}
                if (rows, name) in jobs:
                    yield from beside_elki(rows // scale, [name], with_elki, timeout)
                else:
                    yield from kept_rows(old, **place)
        yield ""
        whens = kept_whens(old) | {
            f"{name}, {rows // scale} x 50": f"at most {timeout} s a fit. {when}"
            for rows, name in jobs
        }
        yield from (f"- {place}: {told}" for place, told in whens.items())

    def all_growth():
        sizes = [n // scale for n in (10_000, 100_000, 1_000_000)]
        yield from (f"| finder | {' | '.join(map(str, sizes))} |", "|---|---|---|---|")
        yield from growth(sizes)

    def all_wide():
        yield from ("| finder | seconds | clusters |", "|---|---|---|")
        yield from wide()

    parts = {"elki": (beside, all_beside), "growth": (growing, all_growth), "wide": (few, all_wide)}
    for part in options.parts.split(","):
        title, measure = parts[part]
        # Beside ELKI every line has its own.
        page.measure(title, measure(), "" if part == "elki" else when)


if __name__ == "__main__":
    main()
