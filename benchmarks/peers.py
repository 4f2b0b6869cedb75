"""What other packages compute too: our time beside theirs, where the values are the same.

    python benchmarks/peers.py            20,000 rows for comparisons, 3,000 for indices
    python benchmarks/peers.py --quick    a tenth of them

scikit-learn, genieclust, clusim and pyclustering, as far as they are installed. One thread; best of
three in turn. Writes benchmarks/results/peers.md (not with --quick).
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
import ratios
from ratios import Ratio, Side

from subscape import measures
from subscape.datasets import planted_axes

#: What it is, our function, theirs, and the arguments of each.
Pair = tuple[str, Callable[..., float], Callable[..., float], tuple[Any, ...], tuple[Any, ...]]


def of_sklearn(labels, table) -> Iterator[Pair]:
    from sklearn import metrics

    for what, ours, theirs, data in (
        ("ARI", measures.adjusted_rand_score, metrics.adjusted_rand_score, labels),
        (
            "NMI",
            measures.normalized_mutual_info_score,
            metrics.normalized_mutual_info_score,
            labels,
        ),
        ("silhouette", measures.silhouette_score, metrics.silhouette_score, table),
        ("Davies-Bouldin", measures.davies_bouldin_index, metrics.davies_bouldin_score, table),
        (
            "Calinski-Harabasz",
            measures.calinski_harabasz_score,
            metrics.calinski_harabasz_score,
            table,
        ),
    ):
        yield what, ours, theirs, data, data


def of_genieclust(labels, table) -> Iterator[Pair]:
    from genieclust import cluster_validity as index
    from genieclust import compare_partitions as compare

    for what, ours, theirs, data in (
        ("ARI", measures.adjusted_rand_score, compare.adjusted_rand_score, labels),
        ("silhouette", measures.silhouette_score, index.silhouette_index, table),
        (
            "Calinski-Harabasz",
            measures.calinski_harabasz_score,
            index.calinski_harabasz_index,
            table,
        ),
    ):
        yield what, ours, theirs, data, data


def of_clusim(labels, table) -> Iterator[Pair]:
    from clusim import sim
    from clusim.clustering import Clustering

    # Made beforehand: building them takes longer than most comparisons.
    theirs = tuple(Clustering().from_membership_list(each.tolist()) for each in labels)

    def vi_in_bits(a, b):
        return measures.label_vi(a, b) / np.log(2)

    yield "ARI", measures.adjusted_rand_score, sim.adjrand_index, labels, theirs
    yield "Rand", measures.label_rand_score, sim.rand_index, labels, theirs
    yield "VI", vi_in_bits, sim.vi, labels, (*theirs, "none")


def of_pyclustering(labels, table) -> Iterator[Pair]:
    from pyclustering.cluster.silhouette import silhouette
    from pyclustering.utils.metric import distance_metric, type_metric

    X, own = table
    clusters = [np.flatnonzero(own == k).tolist() for k in range(own.max() + 1)]

    def theirs(**options: Any) -> float:
        return float(np.mean(silhouette(X.tolist(), clusters, **options).process().get_score()))

    def euclidean() -> float:
        return theirs(metric=distance_metric(type_metric.EUCLIDEAN))

    yield "silhouette", measures.silhouette_score, euclidean, table, ()
    # Squared distances, which is something else.
    yield "silhouette, its default", measures.silhouette_score, theirs, table, ()


PEERS = {
    "scikit-learn": of_sklearn,
    "genieclust": of_genieclust,
    "clusim": of_clusim,
    "pyclustering": of_pyclustering,
}


def timed(ours: Callable[[], float], theirs: Callable[[], float]) -> list[tuple[float, float]]:
    """Seconds and value of both sides, measured in turn so that both meet the machine alike."""
    best, values = [np.inf, np.inf], [np.nan, np.nan]
    for _ in range(3):
        for side, function in enumerate((ours, theirs)):
            start = time.perf_counter()
            values[side] = float(function())
            best[side] = min(best[side], time.perf_counter() - start)
    return list(zip(best, values, strict=True))


def lines_of(peer: str, labels: tuple, table: tuple) -> Iterator[str]:
    rows = len(labels[0]), len(table[0])
    for what, ours, theirs, our_data, their_data in PEERS[peer](labels, table):
        found = timed(partial(ours, *our_data), partial(theirs, *their_data))
        sides = [
            Side(name, seconds, {"rows": rows, "value": f"{value:.9g}"})
            for name, (seconds, value) in zip(("ours", peer), found, strict=True)
        ]
        cells = [f"{side.seconds:.4f}" for side in sides]
        yield f"| {peer} | {what} | " + " | ".join(cells) + f" | {Ratio(*sides)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    scale = 10 if parser.parse_args().quick else 1
    rng = np.random.default_rng(0)
    n = 20_000 // scale
    a = rng.integers(0, 10, n)
    b = np.where(rng.random(n) < 0.3, rng.integers(0, 10, n), a)
    X, truth = planted_axes(3000 // scale, 10, n_clusters=4, dims=5, noise=0, random_state=0)
    lines = [
        "# Beside other packages",
        "",
        f"Comparisons of two labellings of {n} rows, indices on {len(X)} × {X.shape[1]}; "
        f"one thread. {ratios.machine()}; "
        + ", ".join(f"{name} {found}" for name, found in ratios.peers().items()),
        "",
        "| peer | what | ours (s) | theirs (s) | times faster |",
        "|---|---|---:|---:|---:|",
    ]
    for peer in PEERS:
        try:
            importlib.import_module({"scikit-learn": "sklearn"}.get(peer, peer))
            new = list(lines_of(peer, (a, b), (X, truth.labels())))
        except ImportError as error:
            new = [f"| {peer} | missing: {error} | | | |"]
        print("\n".join(new), flush=True)
        lines += new
    if scale == 1:
        ratios.RESULTS.mkdir(exist_ok=True)
        (ratios.RESULTS / "peers.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
