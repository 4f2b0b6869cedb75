"""What every picture of a small result draws: lines, areas, dots, bars, images, texts and axes.

``python -m tests.plots.pictures`` compares with what was written down in ``pictures.json``;
``--write`` writes it anew. Look at the difference before you do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import collections, colors, image, lines, patches, text

from subscape import SubspaceClustering
from subscape.ensemble import agreement
from subscape.measures import Bins, DensityProfile, DQScore
from subscape.plots import (
    AdcoOverTimeDisplay,
    AgreementDisplay,
    CellsDisplay,
    ClusterMapDisplay,
    ClusterStabilityDisplay,
    CoassociationDisplay,
    DistanceMatrixDisplay,
    FlatsDisplay,
    IntersectionsDisplay,
    LossCurveDisplay,
    NullDistributionDisplay,
    ReconstructionErrorDisplay,
    StabilityCurveDisplay,
    TradeOffDisplay,
    ViewsDisplay,
)
from subscape.plots.views import Plane
from subscape.report import figures
from subscape.testing.studies import planted_study
from subscape.validation import ClusterStability

KNOWN = Path(__file__).with_name("pictures.json")

# -- what is drawn --------------------------------------------------------------------------------


def drawn(figure: Any) -> dict[str, Any]:
    """A figure in words and numbers, without what only matplotlib decides."""
    figure.canvas.draw()
    return {
        "size": figure.get_size_inches().tolist(),
        "axes": [_axes(ax) for ax in figure.axes],
    }


def _axes(ax: Any) -> dict[str, Any]:
    legend = ax.get_legend()
    told: dict[str, Any] = {
        "title": ax.get_title(),
        "on": ax.axison,
        "labels": [ax.get_xlabel(), ax.get_ylabel()],
        "limits": [*ax.get_xlim(), *ax.get_ylim()],
        "scale": ax.get_yscale(),
        "ticks": [_ticks(ax.xaxis), _ticks(ax.yaxis)],
        "spines": [side.get_visible() for side in ax.spines.values()],
        "things": [_thing(each) for each in ax.get_children() if _counts(each, ax)],
    }
    if hasattr(ax, "zaxis"):
        told["third"] = [ax.get_zlabel(), *ax.get_zlim()]
        for thing in told["things"]:  # by depth, which near ties settle by the last bits
            del thing["order"]
    if legend is not None:
        told["legend"] = {
            "title": legend.get_title().get_text(),
            "texts": [each.get_text() for each in legend.get_texts()],
            "size": legend.get_texts()[0].get_fontsize(),
            "frame": legend.get_frame_on(),
            "marks": [_mark(each) for each in legend.legend_handles],
            "place": [legend._loc, *legend.get_bbox_to_anchor()._bbox.bounds[:2]]
            if legend._loc == 2
            else legend._loc,
        }
    return told


def _ticks(axis: Any) -> dict[str, Any]:
    labels = axis.get_ticklabels()
    return {
        "at": axis.get_ticklocs().tolist(),
        "names": [each.get_text() for each in labels],
        "turned": [each.get_rotation() for each in labels[:1]],
        "length": [each.tick1line.get_markersize() for each in axis.get_major_ticks()[:1]],
    }


def _mark(each: Any) -> list[Any]:
    """What stands before a text of a legend; where it stands is matplotlib's."""
    if isinstance(each, lines.Line2D):
        line = [colors.to_hex(each.get_color()), each.get_linestyle(), each.get_linewidth()]
        return [*line, str(each.get_marker()), each.get_markersize()]
    sizes = np.asarray(getattr(each, "get_sizes", list)()).tolist()
    face = np.atleast_2d(each.get_facecolor())
    return [[colors.to_hex(one, keep_alpha=True) for one in face], each.get_alpha(), sizes]


def _counts(thing: Any, ax: Any) -> bool:
    kinds = (lines.Line2D, collections.Collection, patches.Patch, image.AxesImage, text.Text)
    empty = isinstance(thing, text.Text) and not thing.get_text()
    titles = (ax.title, ax._left_title, ax._right_title)
    return isinstance(thing, kinds) and thing is not ax.patch and not empty and (
        thing not in titles
    )  # fmt: skip


def _thing(each: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": type(each).__name__,
        "alpha": each.get_alpha(),
        "order": each.get_zorder(),
    }
    if isinstance(each, lines.Line2D):
        told |= {
            "data": np.array(each.get_data(), dtype=float).tolist(),
            "colour": colors.to_hex(each.get_color()),
            "width": each.get_linewidth(),
            "style": each.get_linestyle(),
            "marker": [str(each.get_marker()), each.get_markersize()],
        }
    elif isinstance(each, collections.Collection):
        ends = [path.get_extents().bounds for path in each.get_paths()]
        # How dots in space fade with their distance is matplotlib's, and differs by its version.
        parts = 3 if type(each).__name__ == "Path3DCollection" else 4
        told |= {
            "at": np.ma.filled(each.get_offsets(), np.nan).tolist(),
            "sizes": getattr(each, "get_sizes", list)(),
            "faces": np.asarray(each.get_facecolor())[:, :parts].tolist(),
            "edges": np.asarray(each.get_edgecolor())[:, :parts].tolist(),
            "widths": np.asarray(each.get_linewidth()).tolist(),
            "inside": len(ends) if type(each) is _DOTS else ends,
        }
        told["sizes"] = np.asarray(told["sizes"]).tolist()
    elif isinstance(each, image.AxesImage):
        told |= {
            "cells": np.ma.filled(each.get_array(), np.nan).tolist(),
            "range": each.get_clim(),
            "colours": each.get_cmap().name,
            "extent": each.get_extent(),
            "smooth": each.get_interpolation(),
        }
    elif isinstance(each, text.Text):
        told |= {
            "text": each.get_text(),
            "at": each.get_position(),
            "colour": colors.to_hex(each.get_color()),
            "size": each.get_fontsize(),
            "aligned": [each.get_ha(), each.get_va()],
        }
    else:
        told |= {
            "corners": each.get_path().vertices.tolist(),
            "moved": each.get_patch_transform().get_matrix().tolist(),
            "face": colors.to_hex(each.get_facecolor(), keep_alpha=True),
            "edge": colors.to_hex(each.get_edgecolor(), keep_alpha=True),
            "width": each.get_linewidth(),
            "filled": each.get_fill(),
        }
    return told


_DOTS = collections.PathCollection

# -- small results --------------------------------------------------------------------------------

LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2, -1, 2])
MEMBERS = [
    np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2]),
    np.array([0, 0, 1, 1, 1, 1, 2, 2, -1, 2]),
    np.array([1, 1, 1, 0, 0, -1, 0, 0, -1, 2]),
    np.array([0, 0, 0, 0, 1, 1, 1, 2, -1, -1]),
]
AXIS = SubspaceClustering.from_labels(LABELS, masks=[[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
#: Whole numbers: sums and products of these are the same everywhere.
X = np.array(
    [[0, 1, 7, 3], [1, 2, 3, 9], [0, 2, 5, 1], [6, 8, 4, 2], [7, 9, 5, 4], [6, 9, 4, 8],
     [3, 7, 12, 15], [2, 0, 13, 14], [20, 4, 8, 6], [4, 3, 12, 16]], dtype=float
)  # fmt: skip


def _cells() -> Any:
    overlapping = SubspaceClustering.from_clusters(
        [([4, 2, 0], [0, 2]), ([2, 1], [1, 2]), ([3], [0])], (6, 3)
    )
    return CellsDisplay.from_clustering(overlapping, title="cells")


def _wide_cells() -> Any:
    names = [f"feature {j}" for j in range(4)]
    weights = [[0.6, 0.2, 0.2, 0.0], [0.1, 0.4, 0.4, 0.1], [0.0, 0.0, 0.3, 0.7]]
    given = SubspaceClustering.from_labels(LABELS, weights=weights, feature_names=names)
    return CellsDisplay.from_clustering(given, legend=False)


def _stability_of_clusters(sort: bool) -> Any:
    jaccard = np.array([[0.5, 0.9, np.nan], [0.7, 1.0, np.nan], [0.6, 0.8, np.nan]])
    found = ClusterStability(jaccard, np.array([0.1, 0.2, 0.3]))
    return ClusterStabilityDisplay.from_stability(found, sort=sort, names=["one", "$two", "three"])


def _curve(better: str = "low", chosen: int | None = 1, numbers: Any = (2, 3, 5)) -> Any:
    values = np.array([0.3, 0.1, 0.4])
    return SimpleNamespace(
        settings=[{"n_clusters": k} for k in numbers], values=values, low=values - 0.05,
        high=values + 0.1, replicates=values[:, None] + np.array([-0.04, 0.04]), chosen=chosen,
        better=better, method="made up", labels=[f"k {k}" for k in numbers],
    )  # fmt: skip


def _distances() -> np.ndarray:
    points = np.array([0.0, 1.0, 5.0, 7.0, 7.5, 20.0])
    return np.asarray(np.abs(points[:, None] - points) / 20)


def _windows() -> dict[str, DensityProfile]:
    bins = Bins(["x0", "x1"], [np.linspace(-1, 21, 5)] * 2)
    shifts = {"first": 0, "se$ond": 1, "third": 6}
    return {
        name: DensityProfile.of(X[:, :2] + shift, LABELS, bins=bins)
        for name, shift in shifts.items()
    }


def _significance(clusters: bool) -> Any:
    found = SimpleNamespace(
        null=np.array([0.0, 0.5, 0.5, 1.0, 2.0, 1.5, 0.25]), observed=3.0, p_value=0.125,
        cluster_null=np.arange(12.0), cluster_observed=(np.array([1.0]), np.array([2.0, 9.0])),
        cluster_p_values=(np.array([0.5]), np.array([0.25, 0.0125])), clusterings=((1,),),
    )  # fmt: skip
    return NullDistributionDisplay.from_significance(found, clusters=clusters, run=int(clusters))


def _many_names() -> Any:
    names = [f"${j}$ {'long ' * 5}" for j in range(41)]
    return ReconstructionErrorDisplay(np.eye(3, 41), names, ["1", "2", "noise"], False).plot()


#: A point, a line and an area, as corners in one, two or three dimensions.
PATCHES = (X[[1]], X[[3, 5]], X[[6, 7, 9, 4]])


def _flats(features: list[int], **options: Any) -> Any:
    # Made by hand: which way principal directions point is not the same everywhere.
    names = [f"$ {j}" for j in features]
    patches = [each[:, features] for each in PATCHES]
    return FlatsDisplay(X[:, features], LABELS, patches, names).plot(**options)


def _views(names: list[str]) -> Any:
    planes = [
        Plane(np.array([[0.6, 0.0], [0.8, 0.0], [0.0, 1e-3], [0.0, -1.0]]), X[:, [0, 3]], 2),
        Plane(np.array([[0.1, 0.0], [-0.7, 0.0], [0.7, 0.0], [0.0, 1.0]]), X[:, [1, 2]], 1),
    ]
    features = ["a", "b much longer", "$c", "d"]
    return ViewsDisplay(planes, np.column_stack([LABELS, MEMBERS[0] % 2]), names, features).plot()


def _plainly_stable() -> Any:
    found = ClusterStability(np.array([[0.5, 1.0], [1.0, 0.25]]), np.array([0.5, 0.0]))
    return ClusterStabilityDisplay.from_stability(found, title="stable")


def _by_samples(order: str) -> Any:
    names = {
        "sample": ["sample 1: k=2", "sample 1: k=3", "sample 2: k=2", "sample 2: k=3"],
        "parameter": ["sample 1: k=2", "sample 2: k=2", "sample 1: k=3", "sample 2: k=3"],
    }[order]
    stability = SimpleNamespace(all_distances=lambda order: (_distances()[:4, :4], names))
    return DistanceMatrixDisplay.from_stability(stability, order=order)


def _many_groups() -> Any:
    places = np.arange(45.0)
    distances = np.abs(places[:, None] - places) / 45
    groups = [f"$ {i // 2} {'long ' * 5}" for i in range(45)]
    return DistanceMatrixDisplay.from_distances(distances, groups=groups)


def _with_a_gap() -> Any:
    distances = _distances()
    distances[1, 2] = distances[2, 1] = np.nan
    return DistanceMatrixDisplay.from_distances(distances, method="single")


def _overlaps(values: bool | None, n: int = 3) -> Any:
    rows = np.arange(60)
    a = SubspaceClustering.from_labels(rows % n, masks=np.ones((n, 2), bool))
    b = SubspaceClustering.from_labels(rows // (60 // n) % n, masks=[[1, k % 2] for k in range(n)])
    display = IntersectionsDisplay.from_clusterings(a, b)
    return display.plot(values=values)


def _many_votes() -> Any:
    """Thirteen clusters, of which one comes twice, and rows in none."""
    labels = np.repeat(np.arange(13), 3)
    labels[-1] = -1
    return CoassociationDisplay.from_ensemble([labels, labels, np.roll(labels, 3)], labels)


def _views_by_columns() -> Any:
    """Steps of a half: centres and directions are the same everywhere."""
    table = np.array([[i % 2 * 6, i // 2 % 2 * 4, i // 4 % 2] for i in range(8)], dtype=float)
    views = [
        SubspaceClustering.from_labels(np.arange(8) % 2, masks=[[1, 0, 0]] * 2),
        SubspaceClustering.from_labels([0, 0, 1, 1, 0, 0, -1, 1], masks=[[0, 1, 1]] * 2),
    ]
    planes = [
        Plane(np.eye(3)[:, [0, 1]], table[:, :2] - table[:, :2].mean(axis=0), 1),
        Plane(np.array([[0, 0], [-0.25, 0], [0, 0.5]]), table[:, 1:] - 2, 0),
    ]
    labels = np.column_stack([view.labels() for view in views])
    return ViewsDisplay(planes, labels, ["a" * 14, "b"], ["x", "a name too long", "z"]).plot()


def _of_many_clusters() -> Any:
    found = SimpleNamespace(
        cluster_null=np.arange(100.0), cluster_observed=(np.arange(21.0),),
        cluster_p_values=(np.arange(21.0) / 1000,),
    )  # fmt: skip
    return NullDistributionDisplay.from_significance(found, clusters=True, title="many")


def _of_many_runs() -> Any:
    found = SimpleNamespace(
        null=np.linspace(-1, 1, 9), observed=0.5, p_value=0.0123456, clusterings=(1, 2)
    )
    return NullDistributionDisplay.from_significance(found)


def _into_axes(draw: Callable[[Any], Any]) -> Any:
    """Into axes that are there; also a picture without a title."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(3, 2))
    display = draw(ax)
    assert display.ax_ is ax
    return display


def _curves_of_many() -> Any:
    settings = [{"k": 2, "eps": 0.5}, {"k": 3, "eps": 0.25}] * 4
    values = np.arange(8) / 8
    curve = SimpleNamespace(
        settings=settings, values=values, low=values, high=values + 0.5, chosen=7, better="high",
        replicates=values[:, None] + np.zeros((8, 3)), method="m",
        labels=[f"s{i}" for i in range(8)],
    )  # fmt: skip
    return StabilityCurveDisplay.from_curves(curve, title="eight")


def _curve_of_shares() -> Any:
    curve = _curve(numbers=(0.25, 0.5, 1.0))
    return StabilityCurveDisplay.from_curves({"only": curve}, replicates=True)


def _of_study(name: str, n_clusters: int = 3, untidy: bool = False, **changes: Any) -> Any:
    """A picture of a study that was made by hand, as its page has it."""
    study = planted_study(30, n_clusters=(n_clusters, 2), n_results=7, untidy=untidy, **changes)
    view = study.views[1] if untidy else study.views[0]
    draw = getattr(figures, name)
    return SimpleNamespace(figure_=draw(study, view) if name in OF_VIEWS else draw(study))


#: Pictures of a study that are of one view.
OF_VIEWS = ("scatter", "cells", "features")


def _flags() -> Any:
    return StabilityCurveDisplay.from_curves(_curve(numbers=(False, True, 2)))


CASES: dict[str, Callable[[], Any]] = {
    "adco over time": lambda: AdcoOverTimeDisplay.from_profiles(_windows(), reference=1),
    "adco of two": lambda: AdcoOverTimeDisplay.from_profiles(
        list(_windows().values())[:2], reference=-1
    ),
    "adco of nine": lambda: AdcoOverTimeDisplay(
        np.arange(9) / 10, np.arange(9) / 9, [f"w{i}" for i in range(9)], 4
    ).plot(title="nine"),
    "adco of eight": lambda: AdcoOverTimeDisplay(
        np.arange(8) / 10, np.arange(8) / 9, [f"w{i}" for i in range(8)], 4
    ).plot(),
    "agreement": lambda: AgreementDisplay.from_agreement(agreement(LABELS, MEMBERS), title="a"),
    "cells": _cells,
    "cells by weight": _wide_cells,
    "cluster map": lambda: ClusterMapDisplay.from_ensemble(MEMBERS, LABELS, title="map"),
    "cluster stability": lambda: _stability_of_clusters(False),
    "cluster stability, sorted": lambda: _stability_of_clusters(True),
    "coassociation": lambda: CoassociationDisplay.from_ensemble(MEMBERS, LABELS, title="c"),
    "distances": lambda: DistanceMatrixDisplay.from_distances(
        _distances(), names=["a", "b", "$c", "d", "e", "f"]
    ),
    "distances in groups": lambda: DistanceMatrixDisplay.from_distances(
        _distances(), groups=["a", "a", "b", "b", "b", "a"]
    ),
    "flats": lambda: _flats([0, 2], title="flats"),
    "flats in space": lambda: _flats([0, 1, 3]),
    "flats without a legend": lambda: _flats([1, 3], legend=False),
    "intersections": lambda: IntersectionsDisplay.from_clusterings(
        AXIS, SubspaceClustering.from_labels(MEMBERS[1], masks=[[1, 1, 0, 0]] * 3), names=("x", "y")
    ),
    "loss curve": lambda: LossCurveDisplay.from_clusterings(
        X, {"$a": LABELS, "b": MEMBERS[0]}, title="loss"
    ),
    "no loss": lambda: LossCurveDisplay({"a": np.zeros(3)}, np.zeros(3)).plot(),
    "null tables": lambda: _significance(False),
    "null tables of clusters": lambda: _significance(True),
    "reconstruction error": lambda: ReconstructionErrorDisplay.from_clustering(
        X, LABELS, flat_dims=1, title="errors"
    ),
    "reconstruction error of many": _many_names,
    "study: scatter": lambda: _of_study("scatter"),
    "study: scatter with noise": lambda: _of_study("scatter", untidy=True),
    "study: scatter of thirteen": lambda: _of_study("scatter", 13),
    "study: cells": lambda: _of_study("cells"),
    "study: features": lambda: _of_study("features"),
    "study: features of an untidy view": lambda: _of_study("features", untidy=True),
    "study: map": lambda: _of_study("results_map"),
    "study: distances": lambda: _of_study("distances"),
    "stability curve": lambda: StabilityCurveDisplay.from_curves(_curve()),
    "stability curves": lambda: StabilityCurveDisplay.from_curves(
        {"a": _curve(), "b": _curve("high", None)}, title="two"
    ),
    "stability by name": lambda: StabilityCurveDisplay.from_curves(
        _curve("high", 0, ("x", "y", "z")), replicates=False
    ),
    "trade-off": lambda: TradeOffDisplay(
        {"$a": DQScore(0.25, 0.5, 1 / 3), "b": DQScore(0.75, 0.125, 0.2)}
    ).plot(title="t"),
    "views": lambda: _views(["one", "$two$"]),
    "agreement in axes": lambda: _into_axes(
        lambda ax: AgreementDisplay.from_ensemble(MEMBERS[:2], LABELS, ax=ax)
    ),
    "cells of one cluster": lambda: _into_axes(
        lambda ax: CellsDisplay.from_clustering(
            SubspaceClustering.from_labels([0, -1, 0], masks=[[1, 0]]), ax=ax
        )
    ),
    "cluster map in axes": lambda: _into_axes(
        lambda ax: ClusterMapDisplay.from_ensemble(MEMBERS[:3], MEMBERS[0], ax=ax)
    ),
    "cluster map by features": lambda: ClusterMapDisplay.from_ensemble(
        [AXIS, SubspaceClustering.from_labels(MEMBERS[0], masks=[[1, 1, 0, 0]] * 3)], AXIS
    ),
    "cluster stability, plain": _plainly_stable,
    "coassociation of many": _many_votes,
    "distances by number": lambda: DistanceMatrixDisplay.from_distances(
        _distances(), reorder=False, method="complete"
    ),
    "distances of many groups": _many_groups,
    "distances of one": lambda: DistanceMatrixDisplay.from_distances(np.zeros((1, 1))),
    "distances of clusterings": lambda: DistanceMatrixDisplay.from_clusterings(
        MEMBERS[:3], metric="rand_distance"
    ),
    "distances of samples": lambda: _by_samples("sample"),
    "distances of parameters": lambda: _by_samples("parameter"),
    "distances with a gap": _with_a_gap,
    "intersections with numbers": lambda: _overlaps(True, 13),
    "intersections without": lambda: _overlaps(False),
    "intersections of many": lambda: _overlaps(None, 20),
    "loss curve in axes": lambda: _into_axes(
        lambda ax: LossCurveDisplay.from_clusterings(X, {"a": LABELS}, ax=ax)
    ),
    "null tables of many clusters": _of_many_clusters,
    "null tables of many runs": _of_many_runs,
    "stability curve of many": _curves_of_many,
    "stability curve of shares": _curve_of_shares,
    "stability curve of flags": _flags,
    "trade-off of nothing": lambda: TradeOffDisplay({}).plot(),
    "trade-off of alternatives": lambda: TradeOffDisplay.from_alternatives(
        X, LABELS, [MEMBERS[0], MEMBERS[3]]
    ),
    "views by columns": _views_by_columns,
}


def made(name: str) -> Any:
    """A case as what JSON holds, of numbers with nine digits."""
    import matplotlib.pyplot as plt

    with mpl.rc_context(mpl.rcParamsDefault | {"backend": "agg"}):
        display = CASES[name]()
        told = drawn(display.figure_)
        plt.close("all")
    return json.loads(
        json.dumps(told, default=float),
        parse_constant=str,
        parse_float=lambda digits: float(f"{float(digits):.9g}"),
    )


def differences(known: Any, now: Any, place: str = "") -> list[str]:
    """Where two descriptions differ; numbers may do so in the seventh digit."""
    if isinstance(known, dict) and isinstance(now, dict) and known.keys() == now.keys():
        return [
            each for key in known for each in differences(known[key], now[key], f"{place}/{key}")
        ]
    if isinstance(known, list) and isinstance(now, list) and len(known) == len(now):
        both = enumerate(zip(known, now, strict=True))
        return [each for i, (a, b) in both for each in differences(a, b, f"{place}/{i}")]
    numbers = all(type(each) in (int, float) for each in (known, now))
    if known == now or (numbers and abs(known - now) <= 1e-6 * max(1e-3, abs(known))):
        return []
    return [f"{place}: {str(known)[:80]} is {str(now)[:80]} now"]


def main() -> None:
    """Compare, or write anew."""
    found = {name: made(name) for name in CASES}
    if "--write" in sys.argv:
        lines_ = [f" {json.dumps(name)}: {json.dumps(told)}" for name, told in found.items()]
        KNOWN.write_text("{\n" + ",\n".join(lines_) + "\n}\n", encoding="utf-8")
        return
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    for name, told in found.items():
        for each in differences(known.get(name), told):
            print(f"{name}{each}")


if __name__ == "__main__":
    main()
