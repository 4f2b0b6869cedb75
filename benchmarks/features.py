"""Which features tell a cluster: false ones among those named, and true ones missed.

    python benchmarks/features.py [--quick] [--tables 25] [--seed 0]

Eight kinds of tables, 25 of each. Clusters are those of k-means, told their number, on the very
values that are then tested: three of them in tables without groups, where every feature named is
false, and the planted ones elsewhere, where columns that the groups do not differ in are. Beside
:func:`subscape.validation.feature_tests` stands the naive test (Welch's, as if the labels had not
been made from these values). The goal is a mean false discovery rate of at most 6 % at a level of
5 %. Writes benchmarks/results/features.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sklearn.cluster import KMeans

from subscape.validation import feature_tests

RESULTS = Path(__file__).parent / "results"
ROWS, COLUMNS, TELLING = 240, 12, 4
LEVEL, GOAL = 0.05, 0.06

#: A table, the columns that its clusters are made from, and the columns in which groups differ.
Made = tuple[np.ndarray, np.ndarray, np.ndarray]


def _nothing(X: np.ndarray) -> Made:
    every = np.arange(X.shape[1])
    return X, every, every[:0]


def _normal(rng: np.random.Generator) -> Made:
    return _nothing(rng.normal(size=(ROWS, COLUMNS)) @ rng.normal(size=(COLUMNS, COLUMNS)))


def _heavy(rng: np.random.Generator) -> Made:
    return _nothing(rng.standard_t(3, size=(ROWS, COLUMNS)))


def _log_normal(rng: np.random.Generator) -> Made:
    return _nothing(np.exp(0.7 * rng.normal(size=(ROWS, COLUMNS))))


def _middles(rng: np.random.Generator, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Groups of the rows, and where they lie in each telling column."""
    groups = rng.integers(3, size=ROWS)
    steps = np.array([rng.permutation(3) for _ in range(TELLING)]).T - 1.0
    return groups, apart * steps


def _planted(rng: np.random.Generator) -> Made:
    groups, middles = _middles(rng, 3.0)
    X = rng.normal(size=(ROWS, COLUMNS))
    X[:, :TELLING] += middles[groups]
    return X, np.arange(COLUMNS), np.arange(TELLING)


def _near(rng: np.random.Generator) -> Made:
    groups, middles = _middles(rng, 1.8)
    X = rng.normal(size=(ROWS, COLUMNS))
    X[:, :TELLING] += middles[groups]
    return X, np.arange(COLUMNS), np.arange(TELLING)


def _correlated(rng: np.random.Generator) -> Made:
    X, every, telling = _planted(rng)
    return X + 0.8 * rng.normal(size=(ROWS, 1)), every, telling


def _counts(rng: np.random.Generator) -> Made:
    groups, middles = _middles(rng, 1.0)
    rates = np.full((ROWS, COLUMNS), 3.0)
    rates[:, :TELLING] *= np.exp(middles[groups])
    return np.log1p(rng.poisson(rates)).astype(float), np.arange(COLUMNS), np.arange(TELLING)


def _two_groupings(rng: np.random.Generator) -> Made:
    X, every, telling = _planted(rng)
    groups, middles = _middles(rng, 3.0)
    X[:, -TELLING:] += middles[groups]
    return X, every[:-TELLING], telling


KINDS: dict[str, Callable[[np.random.Generator], Made]] = {
    "no groups, correlated": _normal,
    "no groups, t with 3 degrees": _heavy,
    "no groups, log-normal": _log_normal,
    "groups in 4 of 12 columns": _planted,
    "the same, near each other": _near,
    "the same, all columns correlated within groups": _correlated,
    "counts, groups in 4 of 12 columns": _counts,
    "4 columns have groups of another kind": _two_groupings,
}


def rates(named: np.ndarray, telling: np.ndarray, n_columns: int) -> tuple[float, float]:
    """Share of false ones among the pairs of cluster and column named, and of true columns named.

    >>> rates(np.array([[True, False, True], [True, False, False]]), np.array([0, 1]), 3)
    (0.3333333333333333, 0.5)
    """
    false = np.setdiff1d(np.arange(n_columns), telling)
    wrong = int(named[:, false].sum())
    power = float(named[:, telling].any(axis=0).mean()) if len(telling) else np.nan
    return wrong / max(int(named.sum()), 1), power


def main() -> int:
    """Test the features of the clusters of all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two tables of each kind, no page")
    parser.add_argument("--tables", type=int, default=25, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    n_tables = 2 if args.quick else args.tables
    lines = [
        "| kind | tables | false among named | true columns named | naive: false among named | "
        "naive: true columns named |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    everything, start = [], time.process_time()
    for number, (kind, make) in enumerate(KINDS.items()):
        found = []
        for i in range(n_tables):
            X, used, telling = make(np.random.default_rng([args.seed, number, i]))
            Z = (X - X.mean(axis=0)) / X.std(axis=0)
            labels = KMeans(3, n_init=5, random_state=i).fit_predict(Z[:, used])
            tests = feature_tests(X, labels, random_state=i)
            found.append(
                rates(tests.q_value <= LEVEL, telling, COLUMNS)
                + rates(tests.naive_q_value <= LEVEL, telling, COLUMNS)
            )
        everything += found
        told = " | ".join("–" if np.isnan(x) else f"{x:.1%}" for x in np.mean(found, axis=0))
        lines.append(f"| {kind} | {n_tables} | {told} |")
        print(lines[-1], flush=True)
    false, power, naive_false, naive_power = np.nanmean(everything, axis=0)
    error = np.std([each[0] for each in everything]) / np.sqrt(len(everything))
    lines.append(
        f"\nOf all {len(everything)} tables: false among named {false:.1%} (standard error "
        f"{error:.1%}; goal at most {GOAL:.0%}), true columns named {power:.1%}; naive "
        f"{naive_false:.1%} and {naive_power:.1%}. "
        f"{(time.process_time() - start) / len(everything):.2f} s of processor time each."
    )
    print(lines[-1], flush=True)
    if not args.quick:
        text = "\n".join(lines)
        command = f"`python benchmarks/features.py --tables {n_tables} --seed {args.seed}`"
        page = f"# Which features tell a cluster (q <= {LEVEL:g})\n\n{command}\n\n{text}\n"
        (RESULTS / "features.md").write_text(page, encoding="utf-8")
    return int(args.quick and (false > 2 * GOAL or power < 0.5))


if __name__ == "__main__":
    sys.exit(main())
