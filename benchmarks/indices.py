"""Indices of compactness: memory at 50,000 rows, and the silhouette beside scikit-learn's.

    python benchmarks/indices.py            50,000 rows, every index (several minutes)
    python benchmarks/indices.py --quick    5,000 rows

Each index runs in a process of its own; its peak is that of the whole process, table included.
Writes benchmarks/results/indices.md as it goes (not with --quick).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from ratios import Ratio, Side
from sklearn.metrics import silhouette_score as theirs

from subscape import measures
from subscape.datasets import planted_axes

RESULTS = Path(__file__).parent / "results"
INDICES = (
    "silhouette_score",
    "generalized_dunn",
    "modified_hubert_gamma",
    "dunn_index",
    "goodman_kruskal_gamma",
    "c_index",
)
#: Rows and features of the tables on which the silhouettes are compared.
SHAPES = ((4000, 10), (4000, 100), (10_000, 20))


def one_index(name: str, n_rows: int) -> None:
    X, truth = planted_axes(n_rows, 5, n_clusters=4, dims=3, random_state=0)
    start = time.process_time()
    value = getattr(measures, name)(X, truth.labels())
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {name} | {value:.4f} | {seconds:.1f} | {peak:.0f} |")


def silhouettes(quick: bool) -> list[str]:
    lines = ["", "| table | ours (s) | scikit-learn (s) | ratio (goal <= 2) |", "|---|---|---|---|"]
    for n_rows, n_features in SHAPES[:1] if quick else SHAPES:
        X, truth = planted_axes(n_rows, n_features, n_clusters=4, dims=4, random_state=0)
        labels = truth.labels()
        seconds, values = np.empty((3, 2)), np.empty((3, 2))
        for turn in range(3):
            for side, function in enumerate((measures.silhouette_score, theirs)):
                start = time.process_time()
                values[turn, side] = function(X, labels)
                seconds[turn, side] = time.process_time() - start
        ours, other = np.median(seconds, axis=0)
        sides = [
            Side(name, 1.0, {"table": X.shape, "value": round(float(value), 9)})
            for name, value in zip(("ours", "scikit-learn"), values[0], strict=True)
        ]
        both = Ratio(*sides)
        ratio = f"{np.median(seconds[:, 0] / seconds[:, 1]):.2f}"
        ratio = ratio if both.is_comparable else str(both)
        lines.append(f"| {n_rows} x {n_features} | {ours:.2f} | {other:.2f} | {ratio} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_index(options.one[0], int(options.one[1]))
        return
    n_rows = 5000 if options.quick else 50_000
    lines = [
        f"# Indices at {n_rows} x 5",
        "",
        "| index | value | seconds | peak MB (goal < 1,000) |",
    ]
    lines.append("|---|---|---|---|")
    compared = silhouettes(options.quick)
    for name in INDICES:
        call = [sys.executable, __file__, "--one", name, str(n_rows)]
        lines.append(
            subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()
        )
        print(lines[-1], flush=True)
        if not options.quick:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / "indices.md").write_text("\n".join([*lines, *compared]) + "\n")


if __name__ == "__main__":
    main()
