"""The pictures of a study as files, for papers and slides."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from subscape.core.errors import SubscapeError
from subscape.files.atomic import write_atomically
from subscape.plots.canvas import cluster_colours, pyplot, ticks
from subscape.plots.cells import CellsDisplay
from subscape.plots.distance_matrix import DistanceMatrixDisplay

from .cards import TELLING_FEATURES, information
from .drawings import MOST_LEAVES, direction
from .palette import VIEW_HUES
from .wording import short

if TYPE_CHECKING:
    from subscape.exploration.study import Study, View

#: What is left out of the files, so that the same study gives the same bytes.
DATES: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None},
    "svg": {"Date": None},
    "png": {},
}
GREY = "#b5b3ad"


def write_figures(study: Study, folder: str | os.PathLike[str], format: str = "pdf") -> list[Path]:
    """Write the pictures of a study, one file each.

    There are, for each view, a scatter in its best two directions, its cells and what each feature
    tells about each cluster; and for all results their map and their distances. Files that are
    there are replaced.

    Parameters
    ----------
    study : Study
    folder : path
        Made if it isn't there.
    format : {"pdf", "svg", "png"}

    Returns
    -------
    list of Path

    See Also
    --------
    write_report : The page.

    Examples
    --------
    >>> import tempfile
    >>> from subscape.report import write_figures
    >>> from subscape.testing.studies import planted_study
    >>> study = planted_study(60, n_clusters=(2,), n_results=5)
    >>> [path.name for path in write_figures(study, tempfile.mkdtemp(), "svg")]
    ['view-1-scatter.svg', 'view-1-cells.svg', 'view-1-features.svg', 'map.svg', 'distances.svg']
    """
    if format not in DATES:
        raise SubscapeError(f"format is one of {', '.join(DATES)}, not {format!r}")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    drawings: dict[str, Callable[[], Any]] = {}
    for view in study.views:
        for name, draw in (("scatter", scatter), ("cells", cells), ("features", features)):
            drawings[f"view-{view.number}-{name}"] = partial(draw, study, view)
    if study.results:
        drawings["map"] = partial(results_map, study)
    if len(study.results) > 1:
        drawings["distances"] = partial(distances, study)
    return [_write(draw(), target / f"{name}.{format}", format) for name, draw in drawings.items()]


def _write(figure: Any, path: Path, format: str) -> Path:
    from matplotlib import rc_context

    def write(stream: BinaryIO) -> None:
        # Names inside an SVG are random but for the salt.
        with rc_context({"svg.hashsalt": "subscape", "pdf.fonttype": 42}):
            figure.savefig(stream, format=format, dpi=200, metadata=DATES[format])

    return write_atomically(path, write, force=True)


def _axes(width: float, height: float) -> tuple[Any, Any]:
    pyplot()  # says how to get matplotlib where it is missing
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def scatter(study: Study, view: View) -> Any:
    """The shown rows in the two directions that tell a view's clusters apart best."""
    figure, ax = _axes(4.8, 4.2)
    labels = view.labels[np.asarray(study.shown_rows)]
    places = np.asarray(view.coordinates)
    size = 4 if len(labels) > 2000 else 12
    outside = labels < 0
    if outside.any():
        ax.scatter(*places[outside].T, s=size, facecolors="none", edgecolors=GREY, linewidths=0.6,
                   label="none")  # fmt: skip
    for k, colour in enumerate(cluster_colours(view.n_clusters)):
        inside = labels == k
        ax.scatter(*places[inside].T, s=size, color=[colour], alpha=0.75, linewidths=0, label=k + 1)
    if view.n_clusters <= 12:
        ax.legend(title="cluster", frameon=False, fontsize="small", markerscale=2,
                  loc="upper left", bbox_to_anchor=(1.0, 1.0))  # fmt: skip
    ax.set_xlabel(_axis_words(study, view, 0))
    ax.set_ylabel(_axis_words(study, view, 1))
    _open_frame(ax)
    return figure


def _axis_words(study: Study, view: View, which: int) -> str:
    parts = direction(study.feature_names, np.asarray(view.loadings)[:, which], most=2)
    if (np.asarray(view.loadings) < 0).any():
        words = " ".join(f"{sign} {weight} {short(name, 16)}" for sign, weight, name in parts)
    else:
        words = ", ".join(f"{short(name, 16)} {weight}" for _, weight, name in parts)
    # Names are data: a dollar sign must not start mathematics.
    return words.removeprefix("+ ").replace("$", r"\$")


def _open_frame(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize="small", color="#999999")


def cells(study: Study, view: View) -> Any:
    """Rows by cluster x features; each cluster colours the cells of its own features."""
    figure, ax = _axes(5.4, 4.4)
    CellsDisplay.from_clustering(view.clustering, ax=ax)
    legend = ax.get_legend()
    for k, text in enumerate(legend.get_texts() if legend is not None else (), 1):
        text.set_text(f"{k}  ({view.clustering.sizes[k - 1]:g} rows)")
    return figure


def features(study: Study, view: View) -> Any:
    """How much each feature tells about each cluster, in nats per row."""
    told = information(study, view)
    order = np.argsort(-told.max(axis=0, initial=0.0), kind="stable")[:TELLING_FEATURES]
    figure, ax = _axes(2.6 + 0.4 * min(view.n_clusters, 20), 1.2 + 0.22 * len(order))
    image = ax.imshow(told[:, order].T, cmap="Blues", vmin=0, aspect="auto")
    ticks(ax.yaxis, [study.feature_names[j] for j in order])
    ticks(ax.xaxis, [str(k + 1) for k in range(view.n_clusters)])
    ax.set_xlabel("cluster")
    figure.colorbar(image, ax=ax, label="nats per row")
    return figure


def results_map(study: Study) -> Any:
    """All results; near ones group the rows alike, colours are the views."""
    figure, ax = _axes(5.2, 4.2)
    numbers = np.array([r.view for r in study.results])
    places = np.array([(r.x, r.y) for r in study.results])
    scores = np.maximum(np.nan_to_num([r.score for r in study.results]), 0.0)
    sizes = 12 + 90 * scores / max(scores.max(), 1e-12)
    for number in np.unique(numbers)[::-1]:
        own = numbers == number
        hue = VIEW_HUES[(number - 1) % len(VIEW_HUES)] if number else GREY
        ax.scatter(*places[own].T, s=sizes[own], color=hue, alpha=0.65, linewidths=0,
                   label=f"view {number}" if number else "no view")  # fmt: skip
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    ax.set_xticks([])
    ax.set_yticks([])
    return figure


def distances(study: Study) -> Any:
    """Distances of the results (of many, the clearest) with their dendrogram."""
    scores = np.nan_to_num([r.score for r in study.results])
    kept = np.sort(np.argsort(-scores, kind="stable")[:MOST_LEAVES])
    display = DistanceMatrixDisplay.from_distances(
        np.asarray(study.distances)[np.ix_(kept, kept)],
        names=[study.results[i].title for i in kept],
    )
    pyplot().close(display.figure_)
    return display.figure_
