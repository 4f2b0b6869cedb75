"""Every finder on the benchmark sets of OpenSubspace and ELKI, beside those two programs.

    SUBSCAPE_DATA=folder python benchmarks/opensubspace.py [--sets os_D20,os_N30] [--finders DOC]
    SUBSCAPE_DATA=folder python benchmarks/opensubspace.py --quick     two sets, no ELKI

The sets with their true subspace clusters are read from the folder named by SUBSCAPE_DATA; they are
not on OpenML. Each finder gets a small grid with the true number of clusters and the average dims
where it asks for them; the best run by CE counts. Writes benchmarks/results/opensubspace.md.
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

from subscape.algorithms import registry
from subscape.datasets import load_real
from subscape.measures import clustering_error, e4sc_score, object_f1_score, rnia

RESULTS = Path(__file__).parent / "results"

SETS = (
    "elki_overlap_3_4d", "elki_subspace_simple", "elki_subspaces_10d", "elki_subspaces_4d",
    "os_D05", "os_D10", "os_D15", "os_D20", "os_D50", "os_N10", "os_N30", "os_N70",
    "os_S1500", "os_S2500", "os_S3500", "os_S5500",
)  # fmt: skip

#: Cell CE that OpenSubspace's programs reach, best of a small grid with k and average dims given.
OPENSUBSPACE = {
    "MineClus": (0.142, 0.000, 0.000, 0.293, 0.203, 0.158, 0.203, 0.158, 0.154, 0.090, 0.091,
                 0.764, 0.094, 0.094, 0.093, 0.096),
    "DOC": (0.395, 0.000, 0.061, 0.327, 0.231, 0.271, 0.196, 0.207, None, None, 0.169, None,
            None, 0.200, None, None),
    "PROCLUS": (0.030, 0.634, 0.441, 0.348, 0.533, 0.366, 0.405, 0.322, 0.386, 0.276, 0.400,
                0.775, 0.419, 0.384, 0.382, 0.350),
}  # fmt: skip


def grid(name: str, k: int, dims: float) -> list[dict[str, object]]:
    """Parameters to try, as a user would who knows k and the average dims."""
    seed = {"random_state": 0}
    boxes = [{"n_clusters": k} | seed, {"n_clusters": k, "alpha": 0.02} | seed,
             {"n_clusters": k, "overlap": True} | seed]  # fmt: skip
    grids: dict[str, list[dict[str, object]]] = {
        "PROCLUS": [{"n_clusters": k, "avg_dims": max(2.0, dims)} | seed, {"n_clusters": k} | seed],
        "LAC": [{"n_clusters": k} | seed],
        "SSPC": [{"n_clusters": k} | seed],
        "HARP": [{"n_clusters": k}],
        "DOC": boxes,
        "FastDOC": boxes,
        "MineClus": boxes,
        "CLIQUE": [{}, {"n_bins": 10, "density_threshold": 0.06}, {"n_bins": 20}],
        "MAFIA": [{}, {"alpha": 2.0}],
        "DiSH": [{}, {"overlap": True}],
        "P3C": [{}, {"overlap": True}],
        # Oriented finders and co-clusterings answer another question.
        "ITCC": [],
        "ChengChurch": [],
        "KFlats": [],
        "ORCLUS": [],
        "SubKMeans": [],
        "FourC": [],
        "COPAC": [],
        "CASH": [],
        "LMCLUS": [],
    }
    return grids.get(name, [{}])


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


def best_run(entry, X, truth, k, dims, max_time):
    """CE, RNIA, F1, E4SC, seconds of the best run of the grid."""
    best = None
    for parameters in grid(entry.name, k, dims):
        finder = entry.make()
        known = finder.get_params()
        chosen = {key: value for key, value in parameters.items() if key in known}
        if "max_time" in known:
            chosen["max_time"] = max_time
        start = time.perf_counter()
        found = finder.set_params(**chosen).fit(X).clustering_
        seconds = time.perf_counter() - start
        row = (error(found, truth), found, seconds, chosen)
        if best is None or row[0] < best[0]:
            best = row
    if best is None:
        return None
    ce, found, seconds, chosen = best
    if not found.n_clusters:
        return ce, 1.0, 0.0, 0.0, seconds, chosen
    mass = {"mass": "unit"} if found.kind != "axis" else {}
    return (ce, rnia(found, truth, **mass), object_f1_score(found, truth),
            e4sc_score(found, truth, **mass), seconds, chosen)  # fmt: skip


def best_elki(name, X, truth, k, dims, timeout):
    best = None
    for flags in elki_grid(name, k, dims):
        run = elki.run(name, flags, X, timeout=timeout)
        if run.seconds is None:
            best = best or (1.0, None, run.note)
            continue
        ce = error(run.clustering(X.shape), truth)
        if best is None or ce < best[0]:
            best = (ce, run.seconds, "")
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sets, no ELKI")
    parser.add_argument("--sets", help="comma-separated sets")
    parser.add_argument("--finders", help="comma-separated finders")
    parser.add_argument("--max-time", type=float, default=60.0, help="seconds per fit")
    options = parser.parse_args()
    if not os.environ.get("SUBSCAPE_DATA"):
        sys.exit("set SUBSCAPE_DATA to the folder with the os_* and elki_* sets")
    sets = ("os_D05", "elki_subspaces_10d") if options.quick else SETS
    sets = tuple(options.sets.split(",")) if options.sets else sets
    names = options.finders.split(",") if options.finders else sorted(registry.FINDERS)
    RESULTS.mkdir(exist_ok=True)
    lines = ["# Benchmark sets with true subspace clusters", "",
             "Best of a small grid by CE (0 is best); k and average dims given.", "",
             "| set | finder | CE | RNIA | F1 | E4SC | seconds | OpenSubspace CE | ELKI CE | "
             "ELKI s |", "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name in sets:
        data = load_real(name)
        X, truth = scaled(np.asarray(data.table.X, float)), data.truth
        k, dims = truth.n_clusters, float(truth.subspaces.dims.mean())
        for finder in names:
            entry = registry.FINDERS[finder]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = best_run(entry, X, truth, k, dims, options.max_time)
            if row is None:
                continue
            peers = OPENSUBSPACE.get(finder)
            known = peers[SETS.index(name)] if peers and name in SETS else None
            beside = None
            if elki.available() and not options.quick:
                beside = best_elki(finder, X, truth, k, dims, options.max_time)
            cells = [f"{value:.3f}" for value in row[:4]] + [f"{row[4]:.2f}"]
            cells.append("" if known is None else f"{known:.3f}")
            cells += (
                ["", ""]
                if beside is None
                else [
                    f"{beside[0]:.3f}",
                    f"{beside[1]:.2f}" if beside[1] is not None else beside[2],
                ]
            )
            line = f"| {name} | {finder} | " + " | ".join(cells) + " |"
            lines.append(line)
            print(line, row[5], flush=True)
    if not options.sets and not options.finders:
        (RESULTS / "opensubspace.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
