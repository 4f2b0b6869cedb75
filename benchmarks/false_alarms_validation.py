"""Groups confirmed in tables without any: how often `validate` and `choose` are fooled.

    python benchmarks/false_alarms_validation.py [--quick] [--tables N] [--kind NAME ...]

The kinds of tables are those of `false_alarms.py`. On each table LAC finds three clusters;
`significance`, the test behind `subscape validate`, says whether they are more than chance (the
clustering, and any cluster of it), and `choose(by="significance")` picks a number of clusters from
2 to 4, or none. At a level of 1 % about one in a hundred tables is expected. Columns of levels are
one-hot coded, as these commands do it.
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
from false_alarms import KINDS
from scipy.stats import beta

from subscape.finders import LAC
from subscape.tables import Table
from subscape.validation import choose, significance
from subscape.validation.criteria import SIGNIFICANCE_LEVEL


def interval(claims: int, n: int) -> str:
    """The rate that so many claims speak for, with 95 % confidence (Clopper and Pearson)."""
    low = beta.ppf(0.025, claims, n - claims + 1) if claims else 0.0
    high = beta.ppf(0.975, claims + 1, n - claims) if claims < n else 1.0
    return f"{claims} ({low:.3f}–{high:.3f})"


def numbers(table: object) -> np.ndarray:
    """A table as `validate` and `choose` see it: numbers, each column with a spread of one."""
    X = Table.read(table).to_numpy(nominal="onehot")
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)


def main() -> None:
    """Test tables without groups and count what is confirmed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two tables of three kinds")
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    n = 2 if options.quick else options.tables
    kinds = options.kind or (list(KINDS)[:3] if options.quick else list(KINDS))
    lines = [
        f"| kind | tables | p ≤ {SIGNIFICANCE_LEVEL:g} | any cluster | chosen | seconds |",
        "|---|---:|---|---|---|---:|",
    ]
    print("\n".join(lines), flush=True)
    for kind in kinds:
        began, counts = time.process_time(), np.zeros(3, dtype=int)
        for i in range(n):
            X = numbers(
                KINDS[kind](np.random.default_rng([options.seed, list(KINDS).index(kind), i]))
            )
            finder = LAC(3, n_init=2, random_state=i)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tested = significance(finder, X, random_state=i)
                chosen = choose(
                    finder, X, {"n_clusters": [2, 3, 4]}, by="significance", random_state=i
                )
            counts += (
                tested.p_value <= SIGNIFICANCE_LEVEL,
                bool(tested.significant_clusters()),
                chosen.clustering is not None,
            )
        told = " | ".join(interval(int(count), n) for count in counts)
        each = (time.process_time() - began) / n
        lines.append(f"| {kind} | {n} | {told} | {each:.1f} |")
        print(lines[-1], flush=True)
    if not options.quick and options.kind is None:
        page = Path(__file__).parent / "results" / "false_alarms_validation.md"
        title = "# Groups confirmed in tables without any"
        text = "Counts, with 95 % intervals of the rate; processor seconds of one table."
        page.write_text("\n".join([title, "", text, "", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
