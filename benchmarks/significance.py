"""False alarms and power of the default test against tables without clusters.

    python benchmarks/significance.py             up to 1,000 tables per finder, 20 minutes
    python benchmarks/significance.py --quick     two minutes

Writes benchmarks/results/significance.md. False alarms: on small tables without clusters, how often
the p-value of the clustering, and the smallest p-value of a cluster, is at most 5 %. Power: how
often planted clusters are called significant, at the same level. Real tables behind the copula
come from scikit-learn.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.stats import beta
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from subscape.datasets import planted_axes, structureless
from subscape.finders import LAC, P3C, MineClus, SubKMeans
from subscape.measures import overlap_of
from subscape.validation import null_table, significance

RESULTS = Path(__file__).parent / "results"
LEVEL = 0.05
KINDS = ("uniform", "gaussian", "lognormal", "copula of real data")
#: Finders of the false alarms, few starts each, and on how many tables.
SEARCHES = {
    "KMeans": (lambda: KMeans(3, n_init=1), 1000),
    "LAC": (lambda: LAC(3, n_init=1), 1000),
    "best of KMeans, LAC and P3C": (
        lambda: [KMeans(3, n_init=1), LAC(3, n_init=1), P3C()],
        400,
    ),
    "SubKMeans": (lambda: SubKMeans(3, n_init=1), 400),
}
#: Finders of the power, with their defaults; seeds are fixed, so that the best of all reuses fits.
POWER_SEARCHES = {
    "LAC": lambda: [LAC(random_state=0)],
    "P3C": lambda: [P3C()],
    "MineClus": lambda: [MineClus(random_state=0)],
    "best of the three": lambda: [LAC(random_state=0), P3C(), MineClus(random_state=0)],
}
PLANTED = {
    "6 of 20 dims, spread 0.04": {"dims": 6, "spread": 0.04},
    "3 of 20 dims, spread 0.1": {"dims": 3, "spread": 0.1},
    "4 of 20 dims, spread 0.2, 20 % noise": {"dims": 4, "spread": 0.2, "noise": 0.2},
    "sizes 140 to 20, 3 to 5 dims, spread 0.1, 30 % noise": {
        "dims": (3, 4, 5, 4, 3), "sizes": (140, 90, 60, 40, 20), "spread": 0.1, "noise": 0.3,
    },
    "normal background, 5 dims, spread 0.1": {"dims": 5, "spread": 0.1, "background": "normal"},
}  # fmt: skip
HEAD = """# Significance: false alarms and power

p-values at 5 % against {n_null} copula tables: `significance(finder, X, n_null={n_null})`.

## False alarms

Tables of 50 to 150 rows and 3 to 10 features without clusters. Goal: at most 7 %.

| finder | tables are | tables | clustering | 95 % interval | any cluster |
|---|---|---|---|---|---|
(power)
## Power

{n_sets} planted sets of 500 x 20 with 5 clusters per row of the table. Spread: of a cluster, in
standard deviations of the feature. Found: planted clusters with a match of Jaccard index (of rows)
above one half. Sure: those whose own p-value, corrected for all clusters and finders, is at most
5 %. Goal: above 90 % of the sets.

| planted | finder | sets significant | planted clusters | found | sure |
|---|---|---|---|---|---|
"""


def small_table(kind, seed):
    """A table of 50 to 150 rows and 3 to 10 features without clusters."""
    rng = np.random.default_rng([2, seed])
    n, p = int(rng.integers(50, 151)), int(rng.integers(3, 11))
    if kind in KINDS[:3]:
        return structureless(kind, n, p, random_state=rng)
    real = (load_wine, load_breast_cancer, load_iris)[seed % 3]().data
    rows = rng.choice(len(real), min(n, len(real)), replace=False)
    columns = rng.choice(real.shape[1], min(p, real.shape[1]), replace=False)
    return null_table(real[np.ix_(rows, columns)], "copula", rng)


def interval(hits, total):
    """95 % interval of a share (Clopper and Pearson's)."""
    low = beta.ppf(0.025, hits, total - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, total - hits) if hits < total else 1.0
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def false_alarms(make, n_tables, n_null):
    """By kind: tables, alarms of the clustering, of any cluster."""
    counts = {}
    for kind in KINDS:
        whole = single = 0
        for seed in range(n_tables // len(KINDS)):
            X = small_table(kind, seed)
            result = significance(make(), X, n_null=n_null, random_state=seed)
            whole += result.p_value <= LEVEL
            single += min((p.min() for p in result.cluster_p_values if len(p)), default=1) <= LEVEL
        counts[kind] = n_tables // len(KINDS), int(whole), int(single)
    return counts


def power(make, parameters, n_sets, n_null, store):
    """Sets called significant; planted clusters found, and found and significant."""
    hits, planted, found, confirmed = 0, 0, 0, 0
    for seed in range(n_sets):
        X, truth = planted_axes(500, 20, **parameters, random_state=100 + seed)
        result = significance(make(), X, n_null=n_null, random_state=seed, store=store)
        hits += result.p_value <= LEVEL
        best = [(0.0, False)] * truth.n_clusters
        for run, clusterings in enumerate(result.clusterings):
            passed = 0
            for clustering in clusterings:
                number = clustering.n_clusters
                p_values = result.cluster_p_values[run][passed : passed + number]
                passed += number
                if number:
                    best = matched(truth, clustering, p_values, best)
        planted += truth.n_clusters
        found += sum(similarity > 0.5 for similarity, _ in best)
        confirmed += sum(similarity > 0.5 and sure for similarity, sure in best)
    return int(hits), planted, found, confirmed


def matched(truth, clustering, p_values, best):
    """For each planted cluster the Jaccard index (of rows) of its best match, and if it is sure."""
    shared = overlap_of(truth.rows_only(), clustering.rows_only())
    table = shared.table / (shared.sizes_a[:, None] + shared.sizes_b - shared.table)
    likest = table.argmax(axis=1)
    new = [(float(table[k, j]), bool(p_values[j] <= LEVEL)) for k, j in enumerate(likest)]
    return [max(old, one) for old, one in zip(best, new, strict=True)]


def alarm_lines(quick, n_null):
    """Rows of the table of false alarms, as they are known."""
    for name, (make, n_tables) in SEARCHES.items():
        start = time.perf_counter()
        counts = false_alarms(make, 80 if quick else n_tables, n_null)
        counts["all"] = tuple(np.sum(list(counts.values()), axis=0).tolist())
        for kind, (total, whole, single) in counts.items():
            yield (
                f"| {name} | {kind} | {total} | {100 * whole / total:.1f} % | "
                f"{interval(whole, total)} | {100 * single / total:.1f} % |"
            )
        print(f"  {time.perf_counter() - start:.0f} s", flush=True)


def power_lines(n_sets, n_null):
    """Rows of the table of power."""
    for planted, parameters in PLANTED.items():
        with tempfile.TemporaryDirectory() as store:
            for name, make in POWER_SEARCHES.items():
                hits, clusters, found, sure = power(make, parameters, n_sets, n_null, store)
                share = f"{hits} of {n_sets}"
                yield f"| {planted} | {name} | {share} | {clusters} | {found} | {sure} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few tables")
    parser.add_argument("--sets", type=int, default=6, help="planted sets per row")
    given = parser.parse_args()
    quick, n_null = given.quick, 19
    n_sets = 2 if quick else given.sets
    warnings.simplefilter("ignore")
    head = HEAD.format(n_null=n_null, n_sets=n_sets)
    alarms, powers = head.split("(power)\n")
    RESULTS.mkdir(exist_ok=True)
    lines = {alarms: [], powers: []}
    for part, rows in ((alarms, alarm_lines(quick, n_null)), (powers, power_lines(n_sets, n_null))):
        for row in rows:
            print(row, flush=True)
            lines[part].append(row + "\n")
            # Written as it grows: the whole takes long.
            text = "\n".join(title + "".join(body) for title, body in lines.items())
            (RESULTS / "significance.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
