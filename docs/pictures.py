"""Draw the pictures of the guide pages: ``python docs/pictures.py``, or ``… proclus``.

Every page with a picture has an entry in ``PICTURES``; the file is docs/images/<entry>.png.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from subscape import finders, plots, validation
from subscape.datasets import planted_axes, planted_cocluster, planted_oriented, planted_views
from subscape.ensemble import ClusterBasedPCE, generate
from subscape.plots.cells import row_order

IMAGES = Path(__file__).parent / "images"
#: Flats as pairs of dimensions and rows: of different dimensions, or for finders of one, lines.
MIXED = ((1, 150), (2, 250), (1, 150))
LINES = ((1, 150), (1, 150), (1, 150))


def table_and_cells(finder: Any, X: Any) -> Any:
    """The table with its rows ordered by cluster, and beside it the cells of the clusters."""
    finder.fit(X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
    left.imshow(X[row_order(finder.clustering_)], aspect="auto", cmap="Greys")
    left.set_xlabel("features")
    left.set_xticks([])
    left.set_yticks([])
    left.set_title("the table, rows ordered by cluster")
    found = plots.CellsDisplay.from_clustering(finder, ax=right, title="clusters found")
    found.ax_.set_ylabel("")
    return figure


def boxes(name: str, **parameters: Any) -> Callable[[], Any]:
    def draw() -> Any:
        X, _ = planted_axes(400, 12, n_clusters=4, dims=5, noise=0.1, random_state=3)
        return table_and_cells(_finder(name, parameters), X)

    return draw


def blocks(name: str, **parameters: Any) -> Callable[[], Any]:
    def draw() -> Any:
        X, _ = planted_cocluster((120, 40), 3, 2, random_state=0)
        X = X - min(X.min(), 0) + 0.01
        return table_and_cells(_finder(name, parameters), X)

    return draw


def flats(name: str, planted: tuple = MIXED, **parameters: Any) -> Callable[[], Any]:
    def draw() -> Any:
        X, _ = planted_oriented(3, planted, noise=0.08, random_state=2)
        finder = _finder(name, parameters).fit(X)
        shown = plots.FlatsDisplay.from_clustering(X, finder)
        shown.figure_.set_size_inches(5.2, 4.0)
        return shown.figure_

    return draw


def views(name: str, **parameters: Any) -> Callable[[], Any]:
    def draw() -> Any:
        X, _ = planted_views(500, 8, n_clusters=(4, 3), random_state=1)
        finder = _finder(name, parameters).fit(X)
        return plots.ViewsDisplay.from_clusterings(X, finder).figure_

    return draw


def beside_known(name: str, **parameters: Any) -> Callable[[], Any]:
    def draw() -> Any:
        X, (known, _) = planted_views(300, 5, n_clusters=(3, 3), random_state=1)
        finder = _finder(name, parameters).fit(X, given=known)
        both = [known.labels(), finder.labels_]
        return plots.ViewsDisplay.from_clusterings(X, both, names=["given", "found"]).figure_

    return draw


def one_view() -> Any:
    X, _ = planted_views(500, 8, n_clusters=(4, 3), random_state=1)
    found = finders.SubKMeans(4, random_state=0).fit(X)
    seen = found.transform(X)[:, :2]
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.6, 3.2), layout="constrained")
    left.scatter(X[:, 0], X[:, 1], c=found.labels_, cmap="tab10", s=8)
    left.set_title("two features of eight")
    right.scatter(seen[:, 0], seen[:, 1], c=found.labels_, cmap="tab10", s=8)
    right.set_title("two directions of the subspace found")
    return figure


def classes() -> Any:
    rng = np.random.default_rng(0)
    usual = rng.random((3, 16)) < 0.5
    truth = rng.integers(3, size=200)
    answers = np.where(rng.random((200, 16)) < 0.85, usual[truth], ~usual[truth]).astype(float)
    return table_and_cells(finders.LatentClasses(random_state=0), answers)


def shapes() -> Any:
    from sklearn.datasets import make_moons

    X, _ = make_moons(500, noise=0.08, random_state=0)
    found = finders.DensityTree().fit(X)
    figure, ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    ax.scatter(X[:, 0], X[:, 1], c=found.labels_, cmap="tab10", s=8, vmax=9)
    ax.set_title("clusters found")
    return figure


def neighbourhoods() -> Any:
    from sklearn.datasets import make_blobs

    X, _ = make_blobs(400, centers=5, n_features=30, cluster_std=4, random_state=1)
    found = finders.Leiden(random_state=0).fit(X)
    _, _, directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    seen = (X - X.mean(axis=0)) @ directions[:2].T
    figure, ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    ax.scatter(seen[:, 0], seen[:, 1], c=found.labels_, cmap="tab10", s=8, vmax=9)
    ax.set_title("communities, in two principal components")
    return figure


def stability_curve() -> Any:
    X, _ = planted_axes(250, 12, n_clusters=4, dims=6, random_state=0)
    grid = {"n_clusters": [2, 3, 4, 5, 6]}
    curve = validation.resampling_stability(
        finders.LAC(n_init=5, random_state=0), X, grid, n_samples=8
    )
    return plots.StabilityCurveDisplay.from_curves(curve).figure_


def back_in_samples() -> Any:
    X, _ = planted_axes(250, 12, n_clusters=4, dims=6, random_state=0)
    finder = finders.LAC(5, n_init=5, random_state=0)
    grid = {"n_clusters": [5]}
    found = validation.resampling_stability(finder, X, grid, n_samples=8)
    return plots.ClusterStabilityDisplay.from_stability(found.clusters[0]).figure_


def null_distribution() -> Any:
    X, _ = planted_axes(200, 10, n_clusters=3, dims=4, random_state=0)
    test = validation.significance(finders.LAC(3, random_state=0), X, n_null=39)
    return plots.NullDistributionDisplay.from_significance(test).figure_


def coassociation() -> Any:
    X, _ = planted_axes(200, 10, n_clusters=4, dims=4, random_state=0)
    ensemble = generate(X, finders.LAC(4), size=30, random_state=0)
    consensus = ClusterBasedPCE(4, random_state=0).fit(ensemble)
    return plots.CoassociationDisplay.from_ensemble(ensemble, consensus).figure_


def distances() -> Any:
    X, truth = planted_axes(300, 12, n_clusters=4, dims=5, random_state=1)
    found = {"truth": truth}
    for k in (3, 4, 5):
        found[f"PROCLUS {k}"] = finders.PROCLUS(k, random_state=0).fit(X).clustering_
        found[f"SSPC {k}"] = finders.SSPC(k, random_state=0).fit(X).clustering_
        labels = KMeans(k, n_init=5, random_state=0).fit_predict(X)
        found[f"k-means {k}"] = type(truth).from_labels(labels, n_features=12)
    return plots.DistanceMatrixDisplay.from_clusterings(
        list(found.values()), names=list(found)
    ).figure_


def loss_curve() -> Any:
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import minmax_scale

    X = minmax_scale(load_wine().data)
    return plots.LossCurveDisplay.from_clusterings(
        X, {"one cluster": np.zeros(len(X), int), "three flats": finders.KFlats(3).fit(X)}
    ).figure_


PICTURES: dict[str, Callable[[], Any]] = {
    "clique": boxes("CLIQUE"),
    "dish": boxes("DiSH"),
    "doc": boxes("DOC"),
    "harp": boxes("HARP", n_clusters=4),
    "lac": boxes("LAC", n_clusters=4),
    "ewkm": boxes("EWKM", n_clusters=4),
    "sparsekmeans": boxes("SparseKMeans", n_clusters=4),
    "mafia": boxes("MAFIA"),
    "mineclus": boxes("MineClus"),
    "p3c": boxes("P3C"),
    "predecon": boxes("PreDeCon"),
    "proclus": boxes("PROCLUS", n_clusters=4),
    "sspc": boxes("SSPC", n_clusters=4),
    "subclu": boxes("SUBCLU"),
    "cheng_church": blocks("ChengChurch"),
    "itcc": blocks("ITCC", n_row_clusters=3, n_column_clusters=2),
    "cash": flats("CASH"),
    "copac": flats("COPAC"),
    "eric": flats("ERiC"),
    "fourc": flats("FourC"),
    "kflats": flats("KFlats", LINES, n_clusters=3),
    "lmclus": flats("LMCLUS"),
    "orclus": flats("ORCLUS", LINES, n_clusters=3),
    "ensc": flats("EnSC", LINES, n_clusters=3, affine=True, flat_dim=1, noise=0.08),
    "lsr": flats("LSR", LINES, n_clusters=3, affine=True, flat_dim=1, noise=0.08),
    "ssc": flats("SSC", LINES, n_clusters=3, affine=True, flat_dim=1, noise=0.08),
    "hddc": flats("HDDC", n_clusters=3),
    "mfa": flats("MFA", LINES, n_clusters=4, flat_dim=1),
    "mppca": flats("MPPCA", LINES, n_clusters=4, flat_dim=1),
    "tsc": flats("TSC", LINES, n_clusters=3, affine=True, flat_dim=1, noise=0.08),
    "latent_classes": classes,
    "density_tree": shapes,
    "leiden": neighbourhoods,
    "subkmeans": one_view,
    "nrkmeans": views("NrKMeans", n_clusters=(4, 3, 1)),
    "autonr": views("AutoNR"),
    "maximus": beside_known("MAXIMUS"),
    "residual_kmeans": beside_known("ResidualKMeans"),
    "coala": beside_known("COALA"),
    "cib": beside_known("CIB"),
    "condens": beside_known("CondEns"),
    "metaclustering": views("MetaClustering", n_alternatives=2),
    "stability": stability_curve,
    "choose": back_in_samples,
    "significance": null_distribution,
    "ensemble": coassociation,
    "subspaces": distances,
    "sre": loss_curve,
}


def _finder(name: str, parameters: dict[str, Any]) -> Any:
    finder = getattr(finders, name)(**parameters)
    return finder.set_params(random_state=0) if "random_state" in finder.get_params() else finder


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(IMAGES / f"{name}.png", dpi=80, metadata={"Software": None})
        plt.close(figure)
        print(f"docs/images/{name}.png", flush=True)


if __name__ == "__main__":
    main()
