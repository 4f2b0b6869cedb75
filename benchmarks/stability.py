"""Stability: section 6.2 of Patrikainen (2005), and how often a criterion finds the planted number.

    python benchmarks/stability.py             five samples, all parameters; 20 planted sets
    python benchmarks/stability.py --quick     two samples, few parameters; 4 planted sets

Writes benchmarks/results/stability_*.md and the figures beside them, one file per part (--part):

thesis     SSPC and PROCLUS over samples of 90 % of the rows and columns and over parameters, beside
           what the thesis found
planted    number of clusters found in 20 planted sets by stability, description length and SRE
significance  the same by significance
methods    the same by all other methods: Lange et al. (one classifier, and the best of four),
           prediction strength (rows, and cells), Clest, Model Explorer, Levine and Domany, Gap
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt
import numpy as np
from ratios import said_when

from subscape.datasets import planted_axes, thesis_6_2
from subscape.finders import PROCLUS, SSPC
from subscape.measures import clustering_error, rnia
from subscape.plots import DistanceMatrixDisplay, StabilityCurveDisplay
from subscape.validation import (
    choose,
    clest,
    gap_statistic,
    lange_stability,
    levine_domany,
    model_explorer,
    prediction_strength,
    resampling_stability,
)

RESULTS = Path(__file__).parent / "results"

INTRODUCTION = """\
1000 x 100, five clusters of 10 dims, {samples} samples of 90 % of the rows and columns; SSPC over
max_variance (its scheme m, as in the paper of its time), PROCLUS over avg_dims. Mean distance
between samples at equal parameters, between parameters in one sample, and to the truth. "common":
compared on the rows and columns that both samples have; "union": over all of either, so that the
tenth that a sample lacks counts as different. The thesis does not say which it used.

The thesis found: SSPC varies less across samples than PROCLUS; parameters matter more than samples
for both; most SSPC clusterings are closer to the truth; small avg_dims are closer than large ones.
"""


def section_6_2(samples, variances, dims, folder):
    X, truth = thesis_6_2(random_state=0)
    finders = {
        "SSPC": (SSPC(5, chance=None), {"max_variance": variances}),
        "PROCLUS": (PROCLUS(5), {"avg_dims": dims}),
    }
    lines = [
        INTRODUCTION.format(samples=samples),
        "| distance | compared | finder | between samples | between parameters | to the truth |",
        "|---|---|---|---|---|---|",
    ]
    curves = {}
    effects = {}
    for label, measure in (("CE", clustering_error), ("RNIA", rnia)):
        for place in ("common", "union"):
            for name, (finder, grid) in finders.items():
                found = resampling_stability(
                    finder, X, grid, n_samples=samples, sampling="both", share=0.9,
                    measure=measure, compare=place, store=folder, reference=False,
                )  # fmt: skip
                both = found.effects()
                to_truth = np.mean(
                    [
                        measure(run.clustering, truth.restrict(run.rows, run.columns))
                        if place == "common"
                        else measure(run.in_table()[0], truth)
                        for row in found.runs
                        for run in row
                    ]
                )
                effects[label, place, name] = both
                numbers = (both["sample"], both["parameter"], to_truth)
                cells = " | ".join(f"{value:.3f}" for value in numbers)
                lines.append(f"| {label} | {place} | {name} | {cells} |")
                if (label, place) == ("CE", "common"):
                    curves[name] = found
                    draw(found, name)
    verdicts = []
    for place in ("common", "union"):
        sspc, proclus = (effects["CE", place, name] for name in ("SSPC", "PROCLUS"))
        more = "more" if sspc["sample"] < proclus["sample"] else "not more"
        matter = " and ".join(
            f"{'more' if both['parameter'] > both['sample'] else 'less'} than samples for {name}"
            for name, both in (("SSPC", sspc), ("PROCLUS", proclus))
        )
        verdicts.append(
            f"By CE, {place}: SSPC is {more} stable than PROCLUS across samples; parameters "
            f"matter {matter}."
        )
    return [*lines, "", *verdicts, ""]


def draw(found, name):
    for order in ("sample", "parameter"):
        display = DistanceMatrixDisplay.from_stability(found, order=order)
        display.figure_.savefig(RESULTS / f"stability_{name}_by_{order}.png", dpi=60)
        plt.close(display.figure_)
    display = StabilityCurveDisplay.from_curves(found, title=f"{name}: distance between samples")
    display.figure_.savefig(RESULTS / f"stability_{name}_curve.png", dpi=60)
    plt.close(display.figure_)


# -- how many clusters ----------------------------------------------------------------------------


def planted(seed):
    """A set of 250 x 12 with 3 to 6 clusters of 4 to 7 dims and up to a tenth of noise."""
    rng = np.random.default_rng(seed)
    k, dims = int(rng.integers(3, 7)), int(rng.integers(4, 8))
    noise = float(rng.choice([0.0, 0.05, 0.1]))
    X, truth = planted_axes(
        250, 12, n_clusters=k, dims=dims, noise=noise, random_state=int(rng.integers(2**31))
    )
    return X, truth, f"{k} clusters of {dims} dims, {noise:.0%} noise"


def cheap(X, grid, folder):
    """The number of clusters by criteria that share their runs, and how sure each is.

    Clusters are counted in what is found at the chosen setting: SSPC may return fewer than it was
    asked for.
    """
    found = {}
    for by in ("stability", "description_length", "sre"):
        choice = choose(SSPC(n_init=2), X, grid, by=by, n_samples=5, store=folder)
        found[by] = choice.clustering and choice.clustering.n_clusters, choice.sure
    return found


def by_significance(X, grid, folder):
    """The same by significance: the setting that is farthest from tables without clusters."""
    choice = choose(SSPC(n_init=2), X, grid, by="significance", n_null=19, store=folder)
    return {"significance": (choice.clustering and choice.clustering.n_clusters, choice.sure)}


METHODS = (
    ("Lange et al.", lange_stability, {"n_splits": 5}),
    ("Lange et al., best of 4 classifiers", lange_stability, {"n_splits": 5, "transfer": "best"}),
    ("prediction strength", prediction_strength, {"n_splits": 5}),
    ("prediction strength, cells", prediction_strength, {"n_splits": 5, "measure": "cells"}),
    ("Clest", clest, {"n_splits": 5, "n_nulls": 3}),
    ("Model Explorer", model_explorer, {"n_pairs": 5}),
    ("Levine and Domany", levine_domany, {"n_samples": 5, "pairs": "together"}),
)


def other_methods(X, grid, folder):
    """The same by the rules of other stability methods, and by the Gap statistic."""
    finder, found = SSPC(n_init=2), {}
    for name, method, options in METHODS:
        curve = method(finder, X, grid, store=folder, **options)
        number = None if curve.chosen is None else round(curve.n_clusters[curve.chosen])
        found[name] = number, float("nan")
    for space in ("full", "subspace"):
        gap = gap_statistic(
            finder, X, grid["n_clusters"], n_null=5, space=space, store=folder, random_state=0
        )
        found[f"Gap, {space}"] = gap.chosen, float("nan")
    return found


def numbers_of_clusters(criteria, n_sets, effort):
    grid = {"n_clusters": list(range(2, 9))}
    tables, right, near = [], {}, {}
    for seed in range(n_sets):
        X, truth, words = planted(seed)
        with tempfile.TemporaryDirectory() as folder:
            found = criteria(X, grid, folder)
        for name, (k, _) in found.items():
            right[name] = right.get(name, 0) + (k == truth.n_clusters)
            near[name] = near.get(name, 0) + (k is not None and abs(k - truth.n_clusters) <= 1)
        cells = [
            ("none" if k is None else str(k)) + ("" if np.isnan(sure) else f" ({sure:.0%})")
            for k, sure in found.values()
        ]
        tables.append(f"| {seed} | {words} | " + " | ".join(cells) + " |")
        print(f"  set {seed}: {words}: {found}", flush=True)
    names = list(right)
    return [
        f"SSPC(n_init=2) on {n_sets} planted sets of 250 x 12, 2 to 8 clusters asked for; "
        f"{effort}.",
        "",
        "| criterion | planted number found | at most one off |",
        "|---|---|---|",
        *(f"| {name} | {right[name]} of {n_sets} | {near[name]} of {n_sets} |" for name in names),
        "",
        "Clusters found at the chosen setting (share of samples that agree):",
        "",
        "| set | planted | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
        *tables,
        "",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two samples, 4 planted sets")
    parser.add_argument(
        "--part", choices=["thesis", "planted", "significance", "methods"], help="one part only"
    )
    parser.add_argument("--sets", type=int, help="planted sets of a part")
    options = parser.parse_args()
    quick = options.quick
    RESULTS.mkdir(exist_ok=True)

    def thesis():
        samples = 2 if quick else 5
        variances = [0.1, 0.5, 0.9] if quick else [round(v, 2) for v in np.linspace(0.05, 0.95, 10)]
        dims = [10, 50, 90] if quick else list(range(10, 91, 10))
        with tempfile.TemporaryDirectory() as folder:
            return section_6_2(samples, variances, dims, folder)

    def planted_sets():
        return numbers_of_clusters(cheap, options.sets or (4 if quick else 20), "5 samples")

    def methods():
        effort = "5 samples, splits or pairs; Clest 3 null tables, Gap 5"
        return numbers_of_clusters(other_methods, options.sets or (1 if quick else 20), effort)

    def significance():
        return numbers_of_clusters(
            by_significance, options.sets or (1 if quick else 20), "19 tables without clusters"
        )

    parts = {
        "thesis": ("Stability: the thesis' section 6.2", thesis),
        "planted": ("How many clusters?", planted_sets),
        "significance": ("How many clusters, by significance?", significance),
        "methods": ("How many clusters? Other methods of stability", methods),
    }
    for name, (title, work) in parts.items():
        if options.part not in (None, name):
            continue
        start = time.perf_counter()
        text = "\n".join([f"# {title}", "", said_when(), "", *work()])
        (RESULTS / f"stability_{name}.md").write_text(text)
        print(text)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
