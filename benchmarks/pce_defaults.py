"""How CB-PCE groups clusters, measured on tables that Gullo et al. (2011) don't use.

    SUBSCAPE_DATA=folder python benchmarks/pce_defaults.py            15 tables: minutes
    SUBSCAPE_DATA=folder python benchmarks/pce_defaults.py --quick    two planted tables

Writes benchmarks/results/pce_defaults.md. Three sorts of ensembles per table: as in the paper, its
hard members alone, and members with half to twice as many clusters as there are classes.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from pce_ensembles import Judge, Setting, drawn, member
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import adjusted_rand_score

from subscape import SubspaceClustering
from subscape.datasets import load_real, planted_axes
from subscape.ensemble import HBGF, ClusterBasedPCE, generate
from subscape.measures import lac_weights, psi_projective

PAGE = Path(__file__).parent / "results" / "pce_defaults.md"
REAL = ("vehicle", "sonar", "ionosphere", "pima_diabetes", "os_real_pendigits", "alizadeh2000v3",
        "yeast_cho", "os_real_breast")  # fmt: skip
#: Rows, features, clusters, features per cluster.
PLANTED = ((400, 10, 4, 3), (500, 20, 6, 4), (800, 12, 8, 3), (600, 30, 10, 5), (300, 8, 3, 2))
SORTS = ("as in the paper", "hard members", "other numbers of clusters")
FIGURES = ("NMI_o", "NMI_of", "NMI_f", "ARI", "psi_of", "clusters of those asked for")


def methods(k: int, seed: int) -> dict[str, Any]:
    """Ways to group clusters, by one vote and refined, and a method that looks at rows only."""
    found: dict[str, Any] = {}
    for distance in ("tanimoto", "fast"):
        common: dict[str, Any] = {"distance": distance, "random_state": seed}
        found |= {
            f"{distance}, default": ClusterBasedPCE(k, **common),
            f"{distance}, nearest member, one vote": ClusterBasedPCE(k, refine=False, **common),
        }
        for how in ("kmedoids", "average"):
            for refine in (False, True):
                name = f"{distance}, {how}, {'refined' if refine else 'one vote'}"
                found[name] = ClusterBasedPCE(k, metaclustering=how, refine=refine, **common)
    return found | {"HBGF": HBGF(k, random_state=seed)}


def tables(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, table, classes (-1: none)."""
    for i, (n, p, k, dims) in enumerate(PLANTED):
        if not quick or n < 500:
            X, truth = planted_axes(n, p, n_clusters=k, dims=dims, random_state=i)
            yield f"planted {i}", X, truth.labels()
    if quick:
        return
    for name, load in (("digits", load_digits), ("breast cancer", load_breast_cancer)):
        yield name, *load(return_X_y=True)
    for name in REAL:
        try:
            table, labels, _ = load_real(name)
        except (OSError, ValueError) as error:
            print(f"{name} left out: {error}")
            continue
        y = np.unique(next(iter(labels.values())), return_inverse=True)[1]
        yield name, np.asarray(table.to_numpy(), np.float64), y


def ensemble(X: np.ndarray, k: int, sort: str, size: int, seed: int) -> list[Any]:
    if sort == SORTS[2]:
        numbers = list(range(max(2, k // 2), 2 * k + 1))
        vary = {"h": (Setting().low, Setting().high), "n_clusters": numbers}
        return list(generate(X, member(k), size, vary=vary, random_state=seed))
    members = drawn(X, k, size, seed, Setting())
    return members if sort == SORTS[0] else [m for m in members if m.is_hard]


def figures(
    X: np.ndarray, y: np.ndarray, sort: str, size: int, seed: int
) -> dict[str, list[float]]:
    """Method -> the figures on one ensemble."""
    spread = X.std(axis=0)
    X = (X - X.min(axis=0)) / np.where(spread > 0, spread, 1.0)
    known = y >= 0
    k = len(np.unique(y[known]))
    reference = SubspaceClustering.from_labels(y, weights=lac_weights(X, y, h=0.2, scale=None))
    members = ensemble(X, k, sort, size, seed)
    found = {name: m.fit(members, X).clustering_ for name, m in methods(k, seed).items()}
    told = Judge(members, reference).figures(list(found.values()))
    return {
        name: [*(figure["nmi"][side] for side in ("o", "of", "f")),
               adjusted_rand_score(y[known], one.labels()[known]),
               psi_projective(one, members) / len(members), one.n_clusters / k]
        for (name, one), figure in zip(found.items(), told, strict=True)
    }  # fmt: skip


def page(results: dict[str, dict[str, list[list[float]]]], names: list[str], settings: Any) -> str:
    lines = [
        "# How CB-PCE groups clusters", "",
        f"Means over {len(names)} tables ({', '.join(names)}), {settings.ensembles} ensembles of "
        f"{settings.size} members each (hard members: half of them). Columns scaled to deviation "
        "1. Small psi_of is near to the members, the distance that the paper minimises; all other "
        "figures are with the classes.", "",
    ]  # fmt: skip
    for sort, by_method in results.items():
        lines += [f"## {sort[0].upper()}{sort[1:]}", "", "| method | " + " | ".join(FIGURES) + " |",
                  "|---" * (len(FIGURES) + 1) + "|"]  # fmt: skip
        lines += [f"| {method} | " + " | ".join(f"{v:.3f}" for v in np.mean(rows, axis=0)) + " |"
                  for method, rows in by_method.items()]  # fmt: skip
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small planted tables")
    parser.add_argument("--ensembles", type=int, default=3)
    parser.add_argument("--size", type=int, default=100, help="members per ensemble")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    settings = parser.parse_args()
    if settings.quick:
        settings.ensembles, settings.size = 1, 20
    warnings.simplefilter("ignore")  # dropped clusters, constant columns
    results: dict[str, dict[str, list[list[float]]]] = {sort: {} for sort in SORTS}
    names: list[str] = []
    for name, X, y in tables(settings.quick):
        names.append(name)
        for sort in SORTS:
            for seed in range(settings.ensembles):
                for method, row in figures(X, y, sort, settings.size, seed).items():
                    results[sort].setdefault(method, []).append(row)
        settings.output.parent.mkdir(exist_ok=True)
        settings.output.write_text(page(results, names, settings))
        print(name, flush=True)


if __name__ == "__main__":
    main()
