"""Comparing clusterings: our time beside the straightforward way, both in one run.

    python benchmarks/compare.py            the full sizes
    python benchmarks/compare.py --quick    a tenth of them, for CI

Every row names what both sides computed, and the run stops if they disagree. One thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from itertools import combinations, product

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from ratios import Ratio, Side, record
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from subscape import OrientedSubspaces, SubspaceClustering
from subscape.core.oriented import squared_cosines, trace_overlaps
from subscape.datasets import thesis_6_2
from subscape.measures import clustering_error, pairwise_distances


def seconds(function, repeats=5):
    """The processor's seconds, best of several runs, and the result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def same(ours, theirs, what):
    if not np.allclose(ours, theirs, atol=1e-9):
        sys.exit(f"{what}: the two sides differ ({ours} and {theirs}); no ratio is printed")


def label_error(scale):
    """CE of two label vectors beside scikit-learn's contingency matrix and SciPy's assignment."""
    n = int(1_000_000 * scale)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 50, n), rng.integers(0, 50, n)

    def reference():
        table = contingency_matrix(a, b)
        rows, columns = linear_sum_assignment(table, maximize=True)
        return 1 - table[rows, columns].sum() / n

    theirs, expected = seconds(reference)
    ours, found = seconds(lambda: clustering_error(a, b))
    same(found, expected, "label CE")
    work = {"rows": n, "clusters": 50, "value": round(found, 9), "threads": 1}
    ratio = Ratio(Side("ours", ours, work), Side("theirs", theirs, work)).inverse()
    record("compare", "label_ce", ratio, quick=scale < 1)
    return "label CE, n=1e6, K=50", ours, "sklearn + scipy", theirs, ratio.value, "<= 1.5"


def set_based_error(a, b):
    """CE by sets of cells, as one would write it down first."""
    cells_a, cells_b = (
        [
            set(product(c.cluster(k).rows.tolist(), c.cluster(k).features.tolist()))
            for k in range(c.n_clusters)
        ]
        for c in (a, b)
    )
    table = [[len(x & y) for y in cells_b] for x in cells_a]
    union = len(set().union(*cells_a, *cells_b))
    rows, columns = linear_sum_assignment(table, maximize=True)
    return 1 - np.asarray(table)[rows, columns].sum() / union


def distance_matrix(scale):
    """All CE distances among clusterings like those of the thesis' section 6.2."""
    number = max(12, int(96 * scale))
    members = []
    for seed in range(number):
        truth = thesis_6_2(random_state=seed % 5).clustering
        rng = np.random.default_rng(seed)
        labels = np.where(rng.random(1000) < 0.2, rng.integers(0, 5, 1000), truth.labels())
        masks = truth.subspaces.masks ^ (rng.random(truth.subspaces.masks.shape) < 0.02)
        members.append(SubspaceClustering.from_labels(labels, masks=masks))

    def reference():
        matrix = np.zeros((number, number))
        for i, j in combinations(range(number), 2):
            matrix[i, j] = matrix[j, i] = set_based_error(members[i], members[j])
        return matrix

    theirs, expected = seconds(reference, 1)
    ours, found = seconds(lambda: pairwise_distances(members))
    same(found, expected, "distance matrix")
    work = {"clusterings": number, "rows": 1000, "columns": 100, "threads": 1}
    ratio = Ratio(Side("ours", ours, work), Side("sets", theirs, work))
    record("compare", "distance_matrix", ratio, quick=scale < 1)
    return f"{number} x {number} CE", ours, "set-based loop", theirs, ratio.value, ">= 20"


MEMORY_PROBE = """
import resource, sys
import numpy as np
from subscape import AxisSubspaces, SubspaceClustering
from subscape.measures import rnia
n, p, k = (int(x) for x in sys.argv[1:])
def clustering(seed):
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(n, n // 20, replace=False)) for _ in range(k)]
    from subscape.core.memberships import Memberships
    return SubspaceClustering(Memberships.from_rows(rows, n),
                              AxisSubspaces(rng.random((k, p)) < 0.05))
a, b = clustering(0), clustering(1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
value = rnia(a, b)
print(value, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def big_overlap(scale):
    """RNIA of two overlapping clusterings of 1e6 x 1000: extra memory, in a process of its own."""
    sizes = [str(int(1_000_000 * scale)), "1000", "100"]
    start = time.perf_counter()
    output = subprocess.run(
        [sys.executable, "-c", MEMORY_PROBE, *sizes], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = time.perf_counter() - start
    work = dict(zip(("rows", "columns", "clusters"), map(int, sizes), strict=True))
    record("compare", "rnia_memory", float(output[1]), quick=scale < 1, work=work)
    return (
        "RNIA, overlapping, 1e6 x 1000, 100 clusters",
        ours,
        "extra MB",
        float(output[1]),
        float(output[1]),
        "<= 500 MB",
    )


def oriented_table(scale, trace=False):
    """T of oriented clusterings beside the matrix product it contains."""
    rng = np.random.default_rng(0)
    sides = [
        OrientedSubspaces([np.linalg.qr(rng.normal(size=(200, 10)))[0] for _ in range(50)])
        for _ in range(2)
    ]
    product_time, whole = seconds(lambda: sides[0].stack.T @ sides[1].stack, 20)
    table = trace_overlaps if trace else squared_cosines
    ours, found = seconds(lambda: table(*sides), 20)
    block = whole[:10, :10]
    cosines = np.linalg.svd(block, compute_uv=False)
    expected = (1 - np.sqrt(1 - cosines**2)).sum() if trace else (cosines**2).sum()
    same(found[0, 0], expected, "oriented T")
    name = "oriented T (trace)" if trace else "oriented T (cos2)"
    limit = "(no goal)" if trace else "<= 3"
    if not trace:
        work = {"clusters": 50, "columns": 200, "dims": 10, "threads": 1}
        ratio = Ratio(Side("ours", ours, work), Side("product", product_time, work)).inverse()
        # The same size in either mode.
        record("compare", "oriented_t", ratio)
    return (
        f"{name}, 50 x 50, p=200, d=10",
        ours,
        "matrix product",
        product_time,
        ours / product_time,
        limit,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    scale = 0.1 if parser.parse_args().quick else 1.0
    print(f"{'what':46} {'ours':>10}  {'beside':18} {'theirs':>10} {'ratio':>8}  goal")
    jobs = (
        lambda: label_error(scale),
        lambda: distance_matrix(scale),
        lambda: oriented_table(scale),
        lambda: oriented_table(scale, trace=True),
        lambda: big_overlap(scale),
    )
    for job in jobs:
        what, ours, beside, theirs, ratio, goal = job()
        unit = f"{theirs:8.0f} MB" if "MB" in beside else f"{theirs:9.4f} s"
        print(f"{what:46} {ours:9.4f}s  {beside:18} {unit:>11} {ratio:8.2f}  {goal}", flush=True)


if __name__ == "__main__":
    main()
