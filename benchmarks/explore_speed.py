"""Explore beside what a user would run instead: a sweep of k-means and of mixtures.

    python benchmarks/explore_speed.py [--quick]

Processor time of one thread each, in one run. The sweep: k-means with the silhouette and Gaussian
mixtures with BIC, for 2 to 15 clusters. Explore does more (it looks for several groupings, in their
features, and holds them against chance and samples), so the ratio says what that costs.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
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

#: Table -> times the sweep that quick and normal effort may take.
EFFORTS = ("quick", "normal")
GOALS = {"Iris, 150 x 4": (4, 12), "500 x 10": (6, 12), "5,000 x 50": (3, 6)}


def table(name: str) -> np.ndarray:
    """A table by its name."""
    if name.startswith("Iris"):
        return load_iris().data
    rows, columns = (500, 10) if name.startswith("500") else (5000, 50)
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


def beside_sweep(X: np.ndarray, effort: str) -> tuple[float, float]:
    """Processor time of a sweep and of an exploration, which has a sweep before it and after it.

    What else the machine does slows both; small tables are explored several times.
    """
    repeats = 4 if X.size < 10_000 else 1
    swept = explored = 0.0
    for _ in range(repeats):
        before = sweep(X)
        explored += explore(X, effort)
        swept += (before + sweep(X)) / 2
    return swept / repeats, explored / repeats


def main() -> None:
    """Measure both sides on each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Iris at quick effort only")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines = [
        "| table | effort | sweep, s | explore, s | times | goal |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, goals in list(GOALS.items())[: 1 if args.quick else None]:
        X = table(name)
        subscape.explore(X[:60], effort="quick", n_jobs=1)  # imports are nobody's work
        sweep(X[:60])
        for effort, goal in list(zip(EFFORTS, goals, strict=True))[: 1 if args.quick else None]:
            swept, explored = beside_sweep(X, effort)
            lines.append(
                f"| {name} | {effort} | {swept:.2f} | {explored:.2f} "
                f"| {explored / swept:.1f} | {goal} |"
            )
            print(lines[-1], flush=True)
    if not args.quick:
        page = Path(__file__).parent / "results" / "explore_speed.md"
        text = ["# Explore beside a sweep of k-means and mixtures", "", *lines, ""]
        page.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
