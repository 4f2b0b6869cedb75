"""Every finder on the benchmark sets of OpenSubspace and ELKI, beside those two programs.

    SUBSCAPE_DATA=folder python benchmarks/opensubspace.py [--sets os_D20,os_N30] [--finders DOC]
    SUBSCAPE_DATA=folder python benchmarks/opensubspace.py --quick     two sets, no ELKI
    SUBSCAPE_DATA=folder python benchmarks/opensubspace.py --sets os_D20 --merge     one set anew
    SUBSCAPE_DATA=folder python benchmarks/opensubspace.py --finders MAFIA --merge --elki-time 0

The sets with their true subspace clusters are read from the folder named by SUBSCAPE_DATA; they are
not on OpenML. Three rows per finder: *as published* with the best of a small grid by CE, as the
other two programs were run; *default*, one setting, told the number of clusters and the average
dims where it asks for them; and *default, overlap*, in which clusters may share rows. Finders of
oriented flats and of co-clusters answer another question and are left out. Seconds are the
processor's. Writes benchmarks/results/opensubspace.md, set by set; with --merge the lines that
were not run stay, and so do the numbers of other programs that were not run again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import elki
import numpy as np
from joblib import Parallel, delayed
from ratios import said_when

from subscape import SubspaceClustering
from subscape.datasets import load_real
from subscape.finders.catalogue import CATALOGUE, of_role
from subscape.measures import clustering_error, e4sc_score, object_f1_score, rnia

RESULTS = Path(__file__).parent / "results"

SETS = (
    "elki_overlap_3_4d", "elki_subspace_simple", "elki_subspaces_10d", "elki_subspaces_4d",
    "os_D05", "os_D10", "os_D15", "os_D20", "os_D50", "os_N10", "os_N30", "os_N70",
    "os_S1500", "os_S2500", "os_S3500", "os_S5500",
    "elki_axis_parallel_6d", "elki_subspace_hierarchy", "os_real_breast", "os_real_diabetes",
    "os_real_glass", "os_real_liver", "os_real_pendigits",
)  # fmt: skip

#: Cell CE that OpenSubspace's programs reach on the first 16, best of a small grid with k and
#: average dims given.
OPENSUBSPACE = {
    "MineClus": (0.142, 0.000, 0.000, 0.293, 0.203, 0.158, 0.203, 0.158, 0.154, 0.090, 0.091,
                 0.764, 0.094, 0.094, 0.093, 0.096),
    "DOC": (0.395, 0.000, 0.061, 0.327, 0.231, 0.271, 0.196, 0.207, None, None, 0.169, None,
            None, 0.200, None, None),
    "PROCLUS": (0.030, 0.634, 0.441, 0.348, 0.533, 0.366, 0.405, 0.322, 0.386, 0.276, 0.400,
                0.775, 0.419, 0.384, 0.382, 0.350),
}  # fmt: skip


def known_of(finder: str, name: str) -> float | None:
    """OpenSubspace's CE, where it was run."""
    row = OPENSUBSPACE.get(finder, ())
    place = SETS.index(name) if name in SETS else len(row)
    return row[place] if place < len(row) else None


PUBLISHED, DEFAULT, OVERLAP = "as published", "default", "default, overlap"


def grid(name: str, k: int, dims: float) -> dict[str, list[dict[str, object]]]:
    """Settings by variant: a grid as published, one setting by default."""
    # Oriented finders and co-clusterings answer another question.
    if CATALOGUE[name].kind in ("oriented", "cocluster"):
        return {}
    seed, told = {"random_state": 0}, {"n_clusters": k}
    both = told | {"avg_dims": max(1.0, dims)} | seed
    boxes = [told | seed | {"alpha": a, "width": w} for a in (0.05, 0.1) for w in (0.05, 0.1)]
    papers: dict[str, list[dict[str, object]]] = {
        "PROCLUS": [told | {"avg_dims": max(2.0, dims), "random_state": s} for s in range(5)],
        "LAC": [told | {"random_state": s} for s in range(3)],
        "SSPC": [told | {"max_variance": m} | seed for m in (0.3, 0.5, 0.7)],
        "HARP": [told],
        "DOC": boxes,
        "FastDOC": boxes,
        "MineClus": boxes,
        "CLIQUE": [{"n_bins": 10, "density_threshold": t} for t in (0.06, 0.14)],
        "MAFIA": [{"alpha": a} for a in (1.5, 2.0)],
        "PreDeCon": [{"eps": 0.3, "min_samples": 30, "delta": 0.01, "kappa": 100.0,
                      "max_pref_dims": max(1, round(dims))}],
        "DiSH": [{"eps": 0.02, "min_samples": 30}],
        "P3C": [{"poisson_threshold": 1e-4}],
        "SUBCLU": [{"eps": 0.02, "min_samples": 50}],
        "EWKM": [told | seed | {"gamma": g} for g in (0.5, 2.0)],
        "SparseKMeans": [told | seed | {"bound": b} for b in (1.2, 1.8)],
        "LatentClasses": [told | seed],
    }  # fmt: skip
    ours: dict[str, dict[str, object]] = {
        "PROCLUS": told | {"avg_dims": max(2.0, dims)} | seed,
        "LAC": told | seed,
        "SSPC": told | seed,
        "HARP": told,
        "DOC": both,
        "FastDOC": both,
        "MineClus": both,
        "EWKM": told | seed,
        "SparseKMeans": told | seed,
    }
    default = ours.get(name, {})
    found = {PUBLISHED: papers.get(name, []), DEFAULT: [default]}
    if name in ("DOC", "FastDOC", "MineClus", "DiSH", "P3C"):
        found[OVERLAP] = [default | {"overlap": True}]
    return {variant: settings for variant, settings in found.items() if settings}


def elki_grid(name: str, k: int, dims: float) -> list[dict[str, object]]:
    """Flags to try with ELKI's version of the same algorithm (tables are scaled to [0, 1])."""
    grids: dict[str, list[dict[str, object]]] = {
        "PROCLUS": [
            {"projectedclustering.k": k, "projectedclustering.l": max(2, round(dims)),
             "proclus.seed": seed} for seed in range(5)
        ],
        "DOC": [
            {"doc.alpha": a, "doc.beta": 0.25, "doc.w": w, "doc.random-seed": 0}
            for a in (0.05, 0.1) for w in (0.05, 0.1)
        ],
        "CLIQUE": [{"clique.xsi": 10, "clique.tau": t} for t in (0.06, 0.14)],
        "P3C": [{"p3c.threshold": 1e-4}],
        "DiSH": [{"dish.epsilon": 0.02, "dish.mu": 30}],
        "SUBCLU": [{"subclu.epsilon": 0.02, "subclu.minpts": 50}],
        "PreDeCon": [{"dbscan.epsilon": 0.3, "dbscan.minpts": 30, "predecon.delta": 0.01,
                      "predecon.kappa": 100, "predecon.lambda": max(1, round(dims))}],
    }  # fmt: skip
    return grids.get(name, [])


def scaled(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def error(found, truth) -> float:
    return (
        clustering_error(found, truth, mass="unit" if found.kind != "axis" else None)
        if (found is not None and found.n_clusters)
        else 1.0
    )


def best_run(entry, variant, X, truth, parameter_sets, max_time):
    """CE, RNIA, F1, E4SC, seconds and parameters of the best run; all runs are in the seconds."""
    best, seconds = None, 0.0
    for parameters in parameter_sets:
        cls = entry.load()
        finder = cls.as_published(**parameters) if variant == PUBLISHED else cls(**parameters)
        if "max_time" in finder.get_params():
            finder.set_params(max_time=max_time)
        start = time.process_time()
        found = finder.fit(X).clustering_
        seconds += time.process_time() - start
        row = (error(found, truth), found, parameters)
        if best is None or row[0] < best[0]:
            best = row
    ce, found, chosen = best
    if not found.n_clusters:
        return ce, 1.0, 0.0, 0.0, seconds, chosen
    mass = {"mass": "unit"} if found.kind != "axis" else {}
    return (ce, rnia(found, truth, **mass), object_f1_score(found, truth),
            e4sc_score(found, truth, **mass), seconds, chosen)  # fmt: skip


def best_elki(name, X, truth, k, dims, timeout):
    """CE, seconds and remark of ELKI's best run; None where ELKI lacks the algorithm."""
    best = None
    for flags in elki_grid(name, k, dims):
        run = elki.run(name, flags, X, timeout=timeout)
        if run.seconds is None:
            # What was too slow once is so with other parameters too.
            return best or (None, None, run.note)
        ce = error(run.clustering(X.shape), truth)
        if best is None or ce < best[0]:
            best = (ce, run.seconds, "")
    return best


def rows_of(name, finders, max_time, elki_time):
    """The lines of one set."""
    data = load_real(name)
    X, truth = scaled(np.asarray(data.table.X, float)), data.truth
    k, dims = truth.n_clusters, float(truth.subspaces.dims.mean())
    lines = []
    for finder in finders:
        beside = best_elki(finder, X, truth, k, dims, elki_time) if elki_time else None
        for variant, parameter_sets in grid(finder, k, dims).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = best_run(CATALOGUE[finder], variant, X, truth, parameter_sets, max_time)
            cells = [f"{value:.3f}" for value in row[:4]] + [f"{row[4]:.2f}"]
            known = known_of(finder, name) if variant != OVERLAP else None
            cells.append("" if known is None else f"{known:.3f}")
            ce, seconds, note = beside if beside and variant != OVERLAP else (None, None, "")
            cells.append("" if ce is None else f"{ce:.3f}")
            cells.append(note if seconds is None else f"{seconds:.2f}")
            lines.append(f"| {name} | {finder} | {variant} | " + " | ".join(cells) + " |")
    return lines


def disjoint_bound(truth):
    """The least CE of clusters that share no rows: each row in the truth's widest cluster."""
    rows = truth.memberships.toarray() > 0
    widest = np.where(rows, truth.subspaces.masks.sum(axis=1)[:, None], -1).argmax(axis=0)
    kept = rows & (np.arange(len(rows))[:, None] == widest)
    some = kept.any(axis=1)
    return clustering_error(truth, SubspaceClustering(kept[some], truth.subspaces.masks[some]))


def summary(lines):
    """The best finder of every set, as published and by default, beside MineClus there."""
    by_set: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for line in lines:
        name, finder, variant, ce = (cell.strip() for cell in line.split("|")[1:5])
        by_set.setdefault(name, {}).setdefault(variant, []).append((float(ce), finder))
    yield (
        "| set | best as published | best default | best default, overlap | OpenSubspace "
        "MineClus | bound of disjoint rows |"
    )
    yield "|---|---|---|---|---|---|"
    for name, runs in by_set.items():
        best = [min(runs.get(v, [(1.0, "none")])) for v in (PUBLISHED, DEFAULT, OVERLAP)]
        cells = [f"{finder} {ce:.3f}" for ce, finder in best]
        peer = known_of("MineClus", name)
        cells.append("" if peer is None else f"{peer:.3f}")
        cells.append(f"{disjoint_bound(load_real(name).truth):.4f}")
        yield f"| {name} | " + " | ".join(cells) + " |"


def cells_of(line):
    return [cell.strip() for cell in line.split("|")[1:-1]]


def merged(old, lines):
    """The lines of the page, those that were run in the place of the old ones."""
    known = {tuple(cells_of(line)[:3]): cells_of(line) for line in old}
    for line in lines:
        new = cells_of(line)
        before = known.get(tuple(new[:3]), [""] * len(new))
        # Other programs that were not run again keep their numbers.
        known[tuple(new[:3])] = new[:8] + [n or o for n, o in zip(new[8:], before[8:], strict=True)]
    order = (PUBLISHED, DEFAULT, OVERLAP)
    places = sorted(known, key=lambda key: (SETS.index(key[0]), key[1], order.index(key[2])))
    return ["| " + " | ".join(known[key]) + " |" for key in places]


def read_page(path):
    """The lines of the table of a page, and when its sets were run."""
    text = path.read_text().splitlines() if path.exists() else []
    table = [line for line in text if line.startswith("|") and cells_of(line)[0] in SETS]
    whens = [line[2:].partition(": ") for line in text if line.startswith("- ")]
    return (
        [line for line in table if len(cells_of(line)) == 11],
        {name: when for name, _, when in whens if name in SETS},
    )


def settings_lines(names):
    """All settings, with k and dims for the numbers of a set."""
    yield "Settings (`k`: clusters, `dims`: average dims of the set):"
    yield ""
    for name in names:
        for variant, sets in grid(name, -1, -2.0).items():
            words = "; ".join(
                ", ".join(f"{key}={_told(key, value)}" for key, value in each.items()) or "none"
                for each in sets
            )
            yield f"- {name}, {variant}: {words}"


def _told(key, value):
    return {"n_clusters": "k", "avg_dims": "dims", "max_pref_dims": "dims"}.get(key, value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sets, no ELKI")
    parser.add_argument("--sets", help="comma-separated sets")
    parser.add_argument("--finders", help="comma-separated finders")
    parser.add_argument("--merge", action="store_true", help="put the lines run into the page")
    parser.add_argument("--max-time", type=float, default=30.0, help="seconds per fit")
    parser.add_argument("--elki-time", type=float, default=10.0, help="seconds per run of ELKI")
    parser.add_argument("--jobs", type=int, default=-1, help="sets at a time")
    options = parser.parse_args()
    if not os.environ.get("SUBSCAPE_DATA"):
        sys.exit("set SUBSCAPE_DATA to the folder with the os_* and elki_* sets")
    sets = ("os_D05", "elki_subspaces_10d") if options.quick else SETS
    sets = tuple(options.sets.split(",")) if options.sets else sets
    names = options.finders.split(",") if options.finders else sorted(of_role("finder"))
    elki_time = options.elki_time if elki.available() and not options.quick else 0.0
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "opensubspace.md"
    lines, whens = read_page(path) if options.merge else ([], {})
    jobs = (delayed(rows_of)(name, names, options.max_time, elki_time) for name in sets)
    for new in Parallel(options.jobs, return_as="generator")(jobs):
        print("\n".join(new), flush=True)
        lines = merged(lines, new)
        if not options.finders:
            patience = f"{elki_time:g} s of the processor a run" if elki_time else "not run anew"
            limits = f"At most {options.max_time:g} s a fit, ELKI {patience}."
            whens[cells_of(new[0])[0]] = f"{limits} {said_when()}"
        if not options.quick and (options.merge or not options.finders):
            path.write_text("\n".join(page(lines, whens)) + "\n")
    print("\n".join(summary(lines)))


def page(lines, whens):
    names = sorted({cells_of(line)[1] for line in lines})
    done = len({cells_of(line)[0] for line in lines})
    yield from ("# Benchmark sets with true subspace clusters", "")
    yield (
        f"{done} of {len(SETS)} sets, scaled to [0, 1]. CE 0 is best. *As published*: the best of "
        "a small grid by CE, like OpenSubspace's and ELKI's; *default*: one setting, k and "
        "average dims told where asked for. Seconds are the processor's, of the whole grid. "
        "OpenSubspace's figures were measured on these sets elsewhere; it is not run here. "
        "Finders of oriented flats and of co-clusters answer another question and are left out."
    )
    yield from ("", *settings_lines(names), "")
    yield (
        "| set | finder | variant | CE | RNIA | F1 | E4SC | seconds | OpenSubspace CE | "
        "ELKI CE | ELKI s |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    yield from (*lines, "", *summary(lines), "", "When:", "")
    yield from (f"- {name}: {whens[name]}" for name in SETS if name in whens)


if __name__ == "__main__":
    main()
