"""ELKI's clusters of small generated tables, written down for the tests.

    python benchmarks/elki_golden.py

Writes tests/papers/elki.json: what ELKI 0.7.1 finds with the settings below on the same tables,
with numbers of six decimals. tests/papers/test_elki.py holds the published variants of our finders
against it, cluster by cluster.
"""

from __future__ import annotations

import json
from pathlib import Path

import elki
import numpy as np

from subscape.datasets import planted_axes, planted_oriented

RECORD = Path(__file__).parents[1] / "tests" / "papers" / "elki.json"


def boxes():
    """200 x 5 on the unit cube: three clusters of three features, a tenth of noise."""
    X = planted_axes(200, 5, n_clusters=3, dims=3, noise=0.1, spread=(0.05, 0.1), random_state=0).X
    return np.round((X - X.min(axis=0)) / np.ptp(X, axis=0), 6)


def flats():
    """Two lines and a plane in space."""
    return np.round(
        planted_oriented(3, ((1, 60), (1, 60), (2, 100)), noise=0.05, random_state=1).X, 6
    )


#: Name -> table, ELKI's algorithm, its flags, and the same for ours.
CASES = {
    "CLIQUE": (boxes, {"clique.xsi": 10, "clique.tau": 0.1},
               {"n_bins": 10, "density_threshold": 0.1}),
    "SUBCLU": (boxes, {"subclu.epsilon": 0.05, "subclu.minpts": 15},
               {"eps": 0.05, "min_samples": 15}),
    "PreDeCon": (boxes, {"dbscan.epsilon": 0.4, "dbscan.minpts": 8, "predecon.delta": 0.01,
                         "predecon.kappa": 100, "predecon.lambda": 3},
                 {"eps": 0.4, "min_samples": 8, "delta": 0.01, "kappa": 100, "max_pref_dims": 3}),
    "PROCLUS": (boxes, {"projectedclustering.k": 3, "projectedclustering.l": 3, "proclus.seed": 0},
                {"n_clusters": 3, "avg_dims": 3}),
    "COPAC": (flats, {"copac.knn": 15, "dbscan.epsilon": 0.05, "dbscan.minpts": 8},
              {"n_neighbors": 15, "eps": 0.05, "min_samples": 8}),
    "ERiC": (flats, {"eric.k": 15, "dbscan.minpts": 8, "ericdf.delta": 0.1, "ericdf.tau": 0.05},
             {"n_neighbors": 15, "eps": 0.05, "min_samples": 8, "delta": 0.1}),
    "FourC": (flats, {"dbscan.epsilon": 0.1, "dbscan.minpts": 6, "pca.filter.delta": 0.1,
                      "predecon.kappa": 50, "predecon.lambda": 2},
              {"eps": 0.1, "min_samples": 6, "delta": 0.1, "kappa": 50, "max_dim": 2}),
    "DiSH": (boxes, {"dish.epsilon": 0.05, "dish.mu": 15}, {"eps": 0.05, "min_samples": 15}),
    "P3C": (boxes, {"p3c.threshold": 1e-4}, {"poisson_threshold": 1e-4}),
    "ORCLUS": (flats, {"projectedclustering.k": 3, "projectedclustering.l": 2, "orclus.seed": 0},
               {"n_clusters": 3, "subspace_dim": 2}),
}  # fmt: skip
#: Seeds of the algorithms that draw at random.
SEEDED = {"PROCLUS": "proclus.seed", "ORCLUS": "orclus.seed"}
SEEDS = range(5)


def clusters(run):
    return [
        {"rows": sorted(map(int, rows)), "dims": None if dims is None else sorted(map(int, dims))}
        for rows, dims in run.clusters
        if len(rows)
    ]


def main() -> None:
    found = {}
    for name, (table, flags, _) in CASES.items():
        seeds = [{SEEDED[name]: seed} for seed in SEEDS] if name in SEEDED else [{}]
        runs = [elki.run(name, flags | seed, table()) for seed in seeds]
        found[name] = {"flags": flags, "runs": [clusters(run) for run in runs]}
        print(name, [[len(c["rows"]) for c in run] for run in found[name]["runs"]], flush=True)
    RECORD.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
