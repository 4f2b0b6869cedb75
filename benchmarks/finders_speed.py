"""How fast the finders are: beside ELKI on the same tables, and against the number of rows.

    python benchmarks/finders_speed.py             ELKI's slow runs are stopped after 60 s
    python benchmarks/finders_speed.py --patient   … after 240 s
    python benchmarks/finders_speed.py --quick     a tenth of the rows, no ELKI
    python benchmarks/finders_speed.py --rows 2000 --parts elki    fewer rows, one part; the
                                                                   others stay in the page

ELKI's seconds are its own (start and parsing excluded), ours the wall time of ``fit``; one thread
each. Every finder runs twice, as published with ELKI's settings and by default; a ratio is printed
only where both sides did the same work, and ours is at least as good.
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
from pages import Sections
from ratios import Ratio, Side, finder_work, peer_work, said_when

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
        start = time.perf_counter()
        found = finder.fit(X).clustering_
        seconds = time.perf_counter() - start
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
        {"clique.xsi": 10, "clique.tau": 0.06, "clique.prune": True}, None,
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
HEADER = "| finder | variant | table | CE | seconds | ELKI CE | ELKI seconds | ratio |"


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
        default, flags, seed = PAIRS[name]
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
        "each: median CE, summed seconds."
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
        start = time.perf_counter()
        found = finder.fit(X).clustering_
        yield f"| {name} | {time.perf_counter() - start:.2f} | {found.n_clusters} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, no ELKI")
    parser.add_argument("--patient", action="store_true", help="give ELKI 240 s")
    parser.add_argument("--limit", type=int, help="give ELKI so many seconds")
    parser.add_argument("--rows", type=int, default=10_000, help="rows beside ELKI")
    parser.add_argument("--parts", default="elki,growth,wide", help="comma-separated")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    with_elki = elki.available() and not options.quick
    timeout = options.limit or (240 if options.patient else 60)
    RESULTS.mkdir(exist_ok=True)
    head = ["# Speed of the finders", "", "One thread. The two sides of a ratio were measured one "
            "after the other in one run; wall time."]  # fmt: skip
    beside, growing, few = (
        "Beside ELKI", "Seconds against rows (20 features), defaults", "72 x 7,129, defaults"
    )  # fmt: skip
    page = Sections(
        None if options.quick else RESULTS / "finders_speed.md", head, (beside, growing, few)
    )

    def all_beside():
        yield (f"Ten clusters of 8 dims in 50 features; both sides at most {timeout} s a fit.")
        yield from settings_lines()
        yield from ("", HEADER, "|---" * 8 + "|")
        yield from beside_elki(options.rows // scale, list(PAIRS), with_elki, timeout)
        if options.rows == 10_000:
            yield from beside_elki(50_000 // scale, ["PROCLUS", "CLIQUE"], with_elki, timeout)

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
        page.measure(title, measure(), said_when())


if __name__ == "__main__":
    main()
