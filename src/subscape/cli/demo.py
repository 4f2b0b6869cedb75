"""``subscape demo``: the main job on generated data, in half a minute."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

FEATURES = (
    "age", "income", "rent", "commute", "steps", "sleep", "coffee", "screen", "books", "travel",
    "sport", "music",
)  # fmt: skip


@click.command()
@click.option("-o", "--output", type=click.Path(file_okay=False), default="subscape-demo",
              show_default=True, help="Folder for the pictures and results.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
def demo(output: str, seed: int) -> None:
    """Plant five groups, each in features of its own, and let several finders look for them."""
    from subscape.core import describe, save
    from subscape.datasets import planted_axes
    from subscape.measures import median

    start = time.perf_counter()
    X, truth = planted_axes(800, 12, n_clusters=5, dims=(3, 6), noise=0.1, random_state=seed)
    X = X * 60 + 20
    truth = truth.with_names(feature_names=FEATURES)
    click.echo("A table of 800 rows and 12 features. Five groups are hidden in it, each of them")
    click.echo("alike in a few features only, and a tenth of the rows belongs nowhere.\n")
    runs = _runs(X, seed)
    _score_board(runs, truth)
    members = [_like(found.with_names(feature_names=FEATURES), truth) for found in runs.values()]
    middle = median(members)
    found = members[middle]
    click.echo(f"\nThe clustering closest to all others is that of {list(runs)[middle]}:")
    for sentence in describe(X, found).sentences(most=4):
        click.echo(f"  {sentence}")
    folder = Path(output)
    folder.mkdir(exist_ok=True)
    save(folder / "found.subscape", found, force=True)
    save(folder / "truth.subscape", truth, force=True)
    pictures = _draw(folder, truth, dict(zip(runs, members, strict=True)), found)
    click.echo(f"\n{time.perf_counter() - start:.1f} s. Look at:")
    for path in pictures:
        click.echo(f"  {path}")
    click.echo("Then try:")
    click.echo(f"  subscape compare {folder}/truth.subscape {folder}/found.subscape")


def _runs(X: Any, seed: int) -> dict[str, Any]:
    from sklearn.cluster import KMeans

    from subscape.algorithms import DOC, PROCLUS, MineClus
    from subscape.core import SubspaceClustering

    finders = {
        "PROCLUS": PROCLUS(n_clusters=5, random_state=seed),
        "DOC": DOC(n_clusters=5, random_state=seed),
        "MineClus": MineClus(n_clusters=5, random_state=seed),
    }
    runs = {name: finder.fit(X).clustering_ for name, finder in finders.items()}
    labels = KMeans(5, n_init=10, random_state=seed).fit_predict(X)
    runs["k-means"] = SubspaceClustering.from_labels(labels, n_features=X.shape[1])
    return runs


def _like(found: Any, truth: Any) -> Any:
    """The same clusters, in the order of the hidden groups they match, so that colours agree."""
    from subscape.measures import match_clusters

    if not found.n_clusters:
        return found
    matching = match_clusters(truth, found)
    taken = {a: b for a, b in zip(matching.a.tolist(), matching.b.tolist(), strict=True)}
    rest = iter([k for k in range(found.n_clusters) if k not in taken.values()])
    size = max(found.n_clusters, truth.n_clusters)
    order = [taken[a] if a in taken else next(rest, None) for a in range(size)]
    return found.select([k for k in order if k is not None])


def _score_board(runs: dict[str, Any], truth: Any) -> None:
    from subscape.measures import clustering_error

    click.echo("Distance to the hidden groups (clustering error, 0 = identical):")
    click.echo(f"  {'finder':10} {'subspaces':>10} {'rows only':>10}  clusters")
    for name, found in runs.items():
        if not found.n_clusters:
            click.echo(f"  {name:10} {'':>10} {'':>10}  nothing found")
            continue
        whole = clustering_error(found, truth)
        rows = clustering_error(found.rows_only(), truth.rows_only())
        click.echo(f"  {name:10} {whole:10.3f} {rows:10.3f}  {found.n_clusters}")


def _draw(folder: Path, truth: Any, runs: dict[str, Any], found: Any) -> list[Path]:
    from matplotlib.figure import Figure

    from subscape.plots import CellsDisplay, IntersectionsDisplay

    figure = Figure(figsize=(3.4 * (len(runs) + 1), 4.2), layout="constrained")
    axes = figure.subplots(1, len(runs) + 1)
    pairs = {"hidden groups": truth, **runs}
    for ax, (name, clustering) in zip(axes, pairs.items(), strict=True):
        CellsDisplay.from_clustering(clustering, ax=ax, title=name, legend=False)
        ax.set_xlabel("")
        if ax is not axes[0]:
            ax.set_ylabel("")
    figure.savefig(folder / "cells.png", dpi=80)
    figure = Figure(figsize=(5, 4), layout="constrained")
    IntersectionsDisplay.from_clusterings(
        truth, found, names=("the hidden groups", "the result"), ax=figure.subplots()
    )
    figure.savefig(folder / "shared.png", dpi=80)
    return [folder / "cells.png", folder / "shared.png"]
