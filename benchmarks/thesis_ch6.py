"""Chapter 6 of Patrikainen (2005): the algorithms it compares, by the distances it proposes.

    python benchmarks/thesis_ch6.py             all dims, nine draws, ELKI if it is installed
    python benchmarks/thesis_ch6.py --quick     three dims, two draws, no ELKI
    python benchmarks/thesis_ch6.py --finders MAFIA,PreDeCon    only their lines of section 6.1

Writes benchmarks/results/thesis_ch6.md and the figures beside it. Section 6.1: CE and RNIA of the
best clustering of each algorithm's parameter grid, for subspaces, rows and columns (Figs. 6.1-6.3).
Section 6.2: 96 clusterings of five samples, their distances to the truth and to each other
(Figs. 6.4, 6.5).
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["MPLBACKEND"] = "Agg"

import elki
import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed

from subscape.datasets import thesis_6_1, thesis_6_2
from subscape.finders import DOC, HARP, MAFIA, ORCLUS, PROCLUS, SSPC, FastDOC, MineClus, PreDeCon
from subscape.measures import clustering_error, pairwise_distances, rnia
from subscape.plots import CellsDisplay, DistanceMatrixDisplay

RESULTS = Path(__file__).parent / "results"

#: Subspace CE of the best clustering of each algorithm, as the thesis prints it.
THESIS = {
    "HARP": {4: 0.34, 10: 0.10, 18: 0.23},
    "PROCLUS": {4: 0.65, 10: 0.01, 18: 0.10},
    "FastDOC": {4: 0.80, 10: 0.85, 18: 0.88},
}

#: Algorithms that are too slow for all draws.
MOST_DRAWS = {"ORCLUS": 3}

#: Half widths of FastDOC's boxes, as shares of a column's range.
FASTDOC_WIDTHS = (0.03, 0.05, 0.1, 0.2)


def grids(dims: int) -> dict[str, list]:
    """Every algorithm with its parameter grid; the number of clusters is known, as there."""
    around = sorted({max(2, dims - 2), dims, min(20, dims + 2)})
    return {
        "HARP": [HARP(n_clusters=5)],
        "PROCLUS": [PROCLUS(n_clusters=5, avg_dims=d, random_state=0) for d in around],
        "FastDOC": [FastDOC(n_clusters=5, width=w, random_state=0) for w in FASTDOC_WIDTHS],
        "DOC": [DOC(n_clusters=5, random_state=0)],
        "MineClus": [MineClus(n_clusters=5, random_state=0)],
        "SSPC": [SSPC(n_clusters=5, random_state=0)],
        "MAFIA": [MAFIA()],
        "PreDeCon": [PreDeCon()],
        "ORCLUS": [ORCLUS(n_clusters=5, subspace_dim=d, n_init=3, random_state=0) for d in around],
    }


def views(clustering):
    """A clustering as subspaces, rows and columns; oriented ones have no columns."""
    found = {"subspace": clustering, "rows": clustering.rows_only()}
    if clustering.kind == "axis":
        found["columns"] = clustering.columns_only()
    return found


def scores(found, truth) -> dict[str, float]:
    """CE and RNIA of the three views; 1 where nothing was found, NaN where it is not defined."""
    result = {f"{label} {name}": 1.0 for name in views(truth) for label in ("CE", "RNIA")}
    if found is None or found.n_clusters == 0:
        return result
    true_views = views(truth if found.kind == "axis" else truth.as_oriented())
    found_views = views(found)
    for name in views(truth):
        for label, measure in (("CE", clustering_error), ("RNIA", rnia)):
            defined = name in found_views
            result[f"{label} {name}"] = (
                measure(found_views[name], true_views[name]) if defined else np.nan
            )
    return result


def elki_proclus(X, truth, dims) -> dict[str, list[float]]:
    """ELKI's PROCLUS and DOC, best and median over seeds."""
    runs = []
    for seed in range(5):
        flags = {"projectedclustering.k": 5, "projectedclustering.l": dims, "proclus.seed": seed}
        found = elki.run("PROCLUS", flags, X).clustering(X.shape)
        runs.append(scores(found, truth)["CE subspace"])
    return {"PROCLUS": runs}


def one_draw(dims, draw, with_elki, names=None):
    """Best scores, seconds and clusterings of every algorithm on one table, and ELKI's CE."""
    X, truth = thesis_6_1(dims, random_state=draw)
    best, seconds, pictures = {}, {}, {"truth": truth}
    for name, finders in grids(dims).items():
        if draw >= MOST_DRAWS.get(name, draw + 1) or (names and name not in names):
            continue
        start = time.perf_counter()
        found = [finder.fit(X).clustering_ for finder in finders]
        seconds[name] = time.perf_counter() - start
        all_scores = [scores(clustering, truth) for clustering in found]
        best[name] = {key: min(s[key] for s in all_scores) for key in all_scores[0]}
        pictures[name] = min(
            zip(found, all_scores, strict=True), key=lambda pair: pair[1]["CE subspace"]
        )[0]
    beside = elki_proclus(X, truth, dims) if with_elki and draw < 2 else {}
    return best, seconds, pictures, beside


def section_6_1(all_dims, draws, with_elki, n_jobs, write, names=None):
    """Best-of-grid scores per algorithm and dims: {algorithm: {dims: [scores per draw]}}.

    What is known so far is written after each number of dims.
    """
    table: dict[str, dict[int, list[dict[str, float]]]] = {}
    seconds: dict[str, list[float]] = {}
    beside: dict[str, dict[int, list[float]]] = {}
    pictures = {}
    for dims in all_dims:
        jobs = (delayed(one_draw)(dims, draw, with_elki, names) for draw in range(draws))
        for draw, (best, took, found, others) in enumerate(Parallel(n_jobs)(jobs)):
            for name, values in best.items():
                table.setdefault(name, {}).setdefault(dims, []).append(values)
                seconds.setdefault(name, []).append(took[name])
            for name, values in others.items():
                beside.setdefault(name, {}).setdefault(dims, []).extend(values)
            if draw == 0:
                pictures[dims] = found
        write(lines_6_1(table, seconds, beside, draws))
        print(f"  dims {dims} done", flush=True)
    return table, seconds, beside, pictures


def lines_6_1(table, seconds, beside, draws) -> list[str]:
    """Section 6.1 as a table, for the dims that were run."""
    all_dims = sorted(next(iter(table.values())))
    lines = [
        "# The thesis' chapter 6",
        "",
        f"Section 6.1: 500 x 20, 5 clusters, {draws} draws. Subspace CE of the best of each grid: "
        "median over the draws (worst draw in brackets). ORCLUS against the true subspaces as "
        "oriented ones, 3 draws. Seconds of a whole grid on one table, one thread.",
        "",
        "| algorithm | " + " | ".join(f"{d} dims" for d in all_dims) + " | seconds |",
        "|---|" + "---|" * (len(all_dims) + 1),
    ]
    for name, by_dims in table.items():
        cells = []
        for dims in all_dims:
            values = [s["CE subspace"] for s in by_dims[dims]]
            cells.append(f"{np.median(values):.3f} ({max(values):.2f})")
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {np.median(seconds[name]):.2f} |")
    for name, by_dims in THESIS.items():
        cells = [f"{by_dims[d]:.2f}" if d in by_dims else "" for d in all_dims]
        lines.append(f"| {name}, thesis | " + " | ".join(cells) + " | |")
    for name, by_dims in beside.items():
        cells = [f"{np.median(by_dims[d]):.3f} (best {min(by_dims[d]):.2f})" for d in all_dims]
        lines.append(f"| {name}, ELKI (true dims, over seeds) | " + " | ".join(cells) + " | |")
    lines += ["", "Row CE, median:", "", "| algorithm | " + " | ".join(map(str, all_dims)) + " |",
              "|---|" + "---|" * len(all_dims)]  # fmt: skip
    for name, by_dims in table.items():
        cells = [f"{np.median([s['CE rows'] for s in by_dims[d]]):.3f}" for d in all_dims]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def merged(page, lines, names):
    """The page with the lines of some algorithms put in, in both tables of section 6.1."""
    result = page.splitlines()
    for head in ("| algorithm | 4 dims", "| algorithm | 4 |"):
        top = next(i for i, line in enumerate(lines) if line.startswith(head))
        place = next(i for i, line in enumerate(result) if line.startswith(head)) + 2
        end = place
        while end < len(result) and result[end].startswith("|") and "thesis" not in result[end]:
            end += 1
        kept = [line for line in result[place:end] if line.split("|")[1].strip() not in names]
        new = lines[top + 2 : top + 2 + len(names)]
        result[place:end] = kept + new
    return "\n".join(result) + "\n"


def draw_6_1(pictures, path):
    """Figs. 6.1 and 6.2: the true clustering and the best of each algorithm."""
    names = ["truth", "HARP", "PROCLUS", "FastDOC", "MineClus"]
    chosen = [dims for dims in (4, 10, 18) if dims in pictures]
    figure, axes = plt.subplots(
        len(chosen), len(names), figsize=(2.6 * len(names), 2.8 * len(chosen)),
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for row, dims in zip(axes, chosen, strict=True):
        for ax, name in zip(row, names, strict=True):
            found = pictures[dims][name]
            error = clustering_error(found, pictures[dims]["truth"]) if found.n_clusters else 1.0
            title = f"{dims} dims" if name == "truth" else f"{name}: CE {error:.2f}"
            CellsDisplay.from_clustering(found, ax=ax, title=title, legend=False)
            ax.set_xlabel("")
            ax.set_ylabel("")
    figure.savefig(path, dpi=70)
    plt.close(figure)


def draw_6_3(table, path):
    """Fig. 6.3: six distances against the dims of the clusters, medians over the draws."""
    kinds = [f"{m} {v}" for v in ("subspace", "rows", "columns") for m in ("CE", "RNIA")]
    figure, axes = plt.subplots(3, 2, figsize=(9, 10), layout="constrained", sharex=True)
    for ax, kind in zip(axes.ravel(), kinds, strict=True):
        for name, by_dims in table.items():
            dims = sorted(by_dims)
            values = [np.median([s[kind] for s in by_dims[d]]) for d in dims]
            ax.plot(dims, values, marker="o", label=name)
        ax.set_title(kind)
        ax.set_ylim(-0.03, 1.03)
    axes[0, 0].legend(fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel("dims of the clusters")
    figure.savefig(path, dpi=70)
    plt.close(figure)


def section_6_2(n_samples, n_jobs):
    """The truth, SSPC over 10 and PROCLUS over 9 parameters on samples of rows and columns."""
    X, truth = thesis_6_2(random_state=0)
    rng = np.random.default_rng(0)
    samples = [
        (np.sort(rng.choice(1000, 900, replace=False)), np.sort(rng.choice(100, 90, replace=False)))
        for _ in range(n_samples)
    ]
    sspc = [
        SSPC(n_clusters=5, max_variance=m, chance=None, random_state=0)
        for m in np.linspace(0.05, 0.95, 10)
    ]
    proclus = [PROCLUS(n_clusters=5, avg_dims=d, random_state=0) for d in range(10, 91, 10)]
    runs = [
        (f"{label} sample {s} {finder.get_params()}"[:60], finder, rows, columns)
        for label, finders in (("SSPC", sspc), ("PROCLUS", proclus))
        for s, (rows, columns) in enumerate(samples)
        for finder in finders
    ]

    def found(finder, rows, columns):
        small = finder.fit(X[np.ix_(rows, columns)]).clustering_
        return small.embed(rows, columns, shape=X.shape)

    members = Parallel(n_jobs)(delayed(found)(*run[1:]) for run in runs)
    return [truth, *members], ["truth", *(run[0] for run in runs)]


def effects(distances, n_samples, n_sspc=10, n_proclus=9):
    """Mean distance between samples at equal parameters, and between parameters in one sample."""
    result = {}
    start = 1
    for label, number in (("SSPC", n_sspc), ("PROCLUS", n_proclus)):
        block = distances[start : start + n_samples * number, start : start + n_samples * number]
        grid = block.reshape(n_samples, number, n_samples, number)
        pairs = [(s, t) for s in range(n_samples) for t in range(s)]
        across = np.mean([grid[s, i, t, i] for s, t in pairs for i in range(number)])
        within = np.mean(
            [grid[s, i, s, j] for s in range(n_samples) for i in range(number) for j in range(i)]
        )
        to_truth = distances[0, start : start + n_samples * number].mean()
        result[label] = (across, within, to_truth)
        start += n_samples * number
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three dims, two draws, no ELKI")
    parser.add_argument("--finders", help="comma-separated; only their lines of section 6.1")
    parser.add_argument("--jobs", type=int, default=-1, help="tables at a time")
    options = parser.parse_args()
    quick = options.quick
    RESULTS.mkdir(exist_ok=True)
    all_dims = (4, 10, 18) if quick else tuple(range(4, 19, 2))
    draws, n_samples = (2, 2) if quick else (9, 5)
    with_elki = elki.available() and not quick

    def write(lines):
        text = "\n".join(lines) + "\n"
        (RESULTS / "thesis_ch6.md").write_text(text)
        return text

    if options.finders:
        names = options.finders.split(",")
        found = section_6_1(all_dims, draws, False, options.jobs, lambda lines: None, names)
        lines = lines_6_1(*found[:3], draws)
        page = RESULTS / "thesis_ch6.md"
        if not quick:
            page.write_text(merged(page.read_text(), lines, names))
        print("\n".join(lines))
        return
    table, seconds, beside, pictures = section_6_1(all_dims, draws, with_elki, options.jobs, write)
    lines = lines_6_1(table, seconds, beside, draws)
    draw_6_1(pictures, RESULTS / "thesis_fig_6_1.png")
    draw_6_3(table, RESULTS / "thesis_fig_6_3.png")
    members, names = section_6_2(n_samples, options.jobs)
    lines += ["", f"Section 6.2: 1000 x 100, {n_samples} samples of 90 % of rows and columns, "
              f"{len(members)} clusterings.", "",
              "| distance | algorithm | between samples | between parameters | to the truth |",
              "|---|---|---|---|---|"]  # fmt: skip
    for metric in ("clustering_error", "rnia"):
        distances = pairwise_distances(members, metric)
        for label, values in effects(distances, n_samples).items():
            lines.append(f"| {metric} | {label} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
        display = DistanceMatrixDisplay.from_distances(distances, names=names, method="single")
        display.figure_.savefig(RESULTS / f"thesis_fig_6_5_{metric}.png", dpi=60)
        plt.close(display.figure_)
    print(write(lines))


if __name__ == "__main__":
    main()
