"""Groupings claimed in tables without any: how often explore is fooled, kind by kind.

    python benchmarks/false_alarms.py [--quick] [--tables N] [--kind NAME ...] [--effort quick]

Every kind is a way in which tables without groups differ from a normal cloud. At a level of 1 % at
most two claims in a hundred tables of each kind are expected (binomial, 95 %).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.stats import beta

import subscape

N, P = 200, 6


def _normal(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(N, P)) @ rng.normal(size=(P, P))


def _heavy(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_t(3, size=(N, P))


def _log_normal(rng: np.random.Generator) -> np.ndarray:
    return np.exp(rng.normal(size=(N, P)))


def _autocorrelated(rng: np.random.Generator) -> np.ndarray:
    noise = rng.normal(size=(N, P))
    for j in range(1, P):
        noise[:, j] = 0.9 * noise[:, j - 1] + np.sqrt(1 - 0.81) * noise[:, j]
    return noise


def _bent(rng: np.random.Generator) -> np.ndarray:
    along = rng.uniform(-1, 1, N)
    return np.c_[along, along**2, along**3] + rng.normal(0, 0.08, (N, 3))


def _cube(rng: np.random.Generator) -> np.ndarray:
    return rng.random((N, P))


def _counts(rng: np.random.Generator) -> np.ndarray:
    totals = np.exp(rng.normal(3, 0.7, (N, 1)))
    shares = rng.dirichlet(np.full(P, 3.0))
    return rng.poisson(totals * shares * P).astype(float)


def _compositions(rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.full(P, 4.0), size=N)


def _one_trait(rng: np.random.Generator) -> np.ndarray:
    trait = rng.normal(size=(N, 1))
    return np.digitize(trait + rng.normal(size=(N, 10)), [-1.0, 0.0, 1.0]).astype(float)


def _bits(rng: np.random.Generator) -> np.ndarray:
    return (rng.random((N, 10)) < 0.5).astype(float)


def _mixed(rng: np.random.Generator) -> object:
    import pandas as pd

    numbers = pd.DataFrame(rng.normal(size=(N, 4))).add_prefix("x")
    for j in range(3):
        numbers[f"level{j}"] = rng.choice(list("abcd"), N)
    return numbers


def _funnel(rng: np.random.Generator) -> np.ndarray:
    along = rng.uniform(0, 1, (N, 1))
    return np.c_[along, along + (0.05 + 0.4 * along) * rng.normal(size=(N, 3))]


KINDS: dict[str, Callable[[np.random.Generator], object]] = {
    "normal": _normal,
    "t, 3 degrees": _heavy,
    "log-normal": _log_normal,
    "AR(1) columns": _autocorrelated,
    "bent curve": _bent,
    "uniform cube": _cube,
    "counts, unequal totals": _counts,
    "compositions": _compositions,
    "one-trait answers": _one_trait,
    "random 0/1": _bits,
    "mixed, random levels": _mixed,
    "gradient, unequal noise": _funnel,
}


def main() -> None:
    """Explore tables without groups and count the claims."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two tables of each kind")
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    n_tables = 2 if args.quick else args.tables
    lines = [
        "| kind | tables | claimed | 95 % interval | seconds each |",
        "|---|---:|---:|---|---:|",
    ]
    for number, kind in enumerate(args.kind or KINDS):
        start, claimed = time.perf_counter(), []
        for i in range(n_tables):
            table = KINDS[kind](np.random.default_rng([args.seed, number, i]))
            study = subscape.explore(table, effort=args.effort, random_state=i, n_jobs=1)
            if study.significant_views:
                claimed.append((i, study.significant_views[0].idea))
        low = beta.ppf(0.025, len(claimed), n_tables - len(claimed) + 1) if claimed else 0.0
        high = beta.ppf(0.975, len(claimed) + 1, n_tables - len(claimed))
        each = (time.perf_counter() - start) / n_tables
        lines.append(
            f"| {kind} | {n_tables} | {len(claimed)} | {low:.3f}–{high:.3f} | {each:.1f} |"
        )
        print(lines[-1], claimed, flush=True)
    if not args.quick and args.kind is None:
        title = f"Groupings claimed in tables without any ({args.effort} effort)"
        page = Path(__file__).parent / "results" / "false_alarms.md"
        page.write_text("\n".join([f"# {title}", "", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
