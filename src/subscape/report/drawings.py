"""Where things lie in the page's pictures: geometry only, the templates draw it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram, linkage

from subscape.core.types import FloatArray, IndexArray
from subscape.exploration.explain import drawn_features
from subscape.exploration.study import all_views, column_of
from subscape.exploration.views import SAME
from subscape.files.labels import harmless
from subscape.validation.criteria import SIGNIFICANCE_LEVEL, STABLE

if TYPE_CHECKING:
    from subscape.exploration.study import Result, Study, View


#: Results in the dendrogram; of more, the clearest are taken.
MOST_LEAVES = 300


class Dot(NamedTuple):
    """One result on the map."""

    x: float
    y: float
    radius: float
    result: Result


class Badge(NamedTuple):
    """A view's number in a picture."""

    x: float
    y: float
    number: int


class ResultsMap(NamedTuple):
    """All results as dots, the alike close to each other."""

    width: int
    height: int
    dots: list[Dot]
    badges: list[Badge]


def results_map(study: Study, width: int = 560, height: int = 400) -> ResultsMap:
    """Place the results; larger dots are clearer groupings."""
    if not study.results:
        return ResultsMap(width, height, [], [])
    places = np.nan_to_num(np.array([(r.x, r.y) for r in study.results], dtype=np.float64))
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    reach = np.maximum(np.ptp(places, axis=0), 1e-12)
    # One scale for both directions: distances on the map mean the same everywhere.
    scale = min((width - 60) / reach[0], (height - 70) / reach[1])
    scale = min(scale, 1e9)
    drawn = (places - middle) * scale * (1, -1) + (width / 2, height / 2 + 8)
    scores = np.maximum(np.nan_to_num([r.score for r in study.results]), 0.0)
    radii = 3.0 + 6.0 * np.sqrt(scores / max(scores.max(), 1e-12))
    order = np.argsort(-radii, kind="stable")
    dots = [
        Dot(float(drawn[i, 0]), float(drawn[i, 1]), float(radii[i]), study.results[i])
        for i in order
    ]
    badges = []
    for view in study.views:
        own = [dot for dot in dots if dot.result.view == view.number]
        if own:
            x = float(np.mean([dot.x for dot in own]))
            y = min(dot.y - dot.radius for dot in own) - 11
            badges.append(Badge(x, max(y, 10.0), view.number))
    return ResultsMap(width, height, dots, badges)


class Tree(NamedTuple):
    """Results in the order of a dendrogram.

    Attributes
    ----------
    results : list of Result
    paths : list of str
        Lines of the dendrogram; leaves at 0.5, 1.5, … from the top, joined at ``reach`` minus
        their distance.
    matrix : array
        Distances above the diagonal, row by row, in 255 steps up to 1.
    reach : float
        Where the leaves are; a distance of 1 is at 0.
    same : float
        Where results begin to count as the same grouping.
    n_left_out : int
    """

    results: list[Result]
    paths: list[str]
    matrix: FloatArray
    reach: float
    same: float
    n_left_out: int


def tree(study: Study, reach: float = 160.0) -> Tree | None:
    """Dendrogram of the results (average linkage), or None for fewer than two."""
    scores = np.nan_to_num([r.score for r in study.results])
    kept = np.sort(np.argsort(-scores, kind="stable")[:MOST_LEAVES])
    if len(kept) < 2:
        return None
    distances = np.nan_to_num(np.asarray(study.distances, dtype=np.float64)[np.ix_(kept, kept)])
    upper = np.triu_indices(len(kept), 1)
    merges = linkage(distances[upper], "average")
    drawn = dendrogram(merges, no_plot=True)
    leaves = np.array(drawn["leaves"])
    largest = max(float(merges[:, 2].max()), SAME)
    paths = []
    for across, along in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        # SciPy puts leaves at 5, 15, 25, …
        y = [round(value / 10, 2) for value in across]
        x = [round(reach * (1 - value / largest), 1) for value in along]
        paths.append(f"M{x[0]} {y[0]}H{x[1]}V{y[2]}H{x[3]}")
    ordered = distances[np.ix_(leaves, leaves)]
    return Tree(
        results=[study.results[kept[i]] for i in leaves],
        paths=paths,
        matrix=np.rint(255 * np.clip(ordered[upper], 0, 1)),
        reach=reach,
        same=round(reach * (1 - SAME / largest), 1),
        n_left_out=len(study.results) - len(kept),
    )


class ChanceStrip(NamedTuple):
    """Scores of tables without groups as stacked dots, those of the views as marks.

    ``misses`` are the places of candidates that are no views; ``elsewhere`` the views that follow
    another idea, whose scores are on scales of their own.
    """

    width: int
    height: int
    ground: float
    dots: list[tuple[float, float]]
    marks: list[Badge]
    ticks: list[tuple[float, str]]
    misses: list[float]
    elsewhere: list[int]


def chance_strip(study: Study, width: int = 640, height: int = 150) -> ChanceStrip | None:
    """Place the scores on one line, or None without any."""
    every = (*study.chance, *study.curve_chance)
    null = np.array([s for s in every if np.isfinite(s)], dtype=np.float64)
    views = [view for view in study.views if view.idea in ("clouds", "boxes")]
    views = [view for view in views if np.isfinite(view.score)]
    misses = [miss.score for miss in study.near_misses if np.isfinite(miss.score)]
    if not len(null):
        return None
    top = max([*null, *(view.score for view in views), *misses, 1e-12]) * 1.04
    low = min(0.0, float(null.min()), *misses)

    def place(score: float) -> float:
        return 20 + (width - 40) * (score - low) / (top - low)

    ground = height - 24.0
    stacks: dict[int, int] = {}
    dots = []
    for score in np.sort(null):
        column = int(place(score) // 7)
        level = stacks.get(column, 0)
        stacks[column] = level + 1
        dots.append((7.0 * column + 3.5, ground - 5 - 6.5 * min(level, 12)))
    marks: list[Badge] = []
    for view in views:
        x = place(view.score)
        # Badges of near scores go one above the other.
        taken = {m.y for m in marks if abs(m.x - x) < 20}
        y = next((y for y in range(12, int(ground) - 20, 20) if y not in taken), 12)
        marks.append(Badge(x, float(y), view.number))
    step = _step((top - low) / 6)
    ticks = [
        (place(v), f"{v + 0.0:g}")  # no "-0"
        for v in np.round(np.arange(np.ceil(low / step), top / step) * step, 9)
    ]
    elsewhere = [view.number for view in study.views if view.idea not in ("clouds", "boxes")]
    places = [place(score) for score in misses]
    return ChanceStrip(width, height, ground, dots, marks, ticks, places, elsewhere)


# -- groups within groups -------------------------------------------------------------------------


class LevelLine(NamedTuple):
    """One level of a view: what merging down to it loses, and what is left.

    ``lost`` is what the last merge loses, in nats per row; ``merged`` are the clusters that it puts
    together, each with all that were merged into it before.
    """

    n_clusters: int
    lost: float
    p_value: float
    stability: float
    merged: str
    is_own: bool
    is_recommended: bool
    p_interval: tuple[float, float] | None = None


class ViewTree(NamedTuple):
    """The clusters of a view merged step by step, from left to right.

    Attributes
    ----------
    width, height : float
    leaves : list of (float, int)
        Height in the picture, and cluster.
    paths : list of str
    bands : list of (float, float, int)
        Where to cut for a number of clusters: begin, width, number.
    levels : list of LevelLine
    """

    width: float
    height: float
    leaves: list[tuple[float, int]]
    paths: list[str]
    bands: list[tuple[float, float, int]]
    levels: list[LevelLine]


def view_tree(view: View, width: float = 300.0, step: float = 20.0) -> ViewTree | None:
    """The dendrogram of a view's levels, or None if it has but one."""
    if not view.merges:
        return None
    groups = {k: [k] for k in range(view.n_clusters)}
    best = _recommended(view)
    levels = [LevelLine(view.n_clusters, 0.0, view.p_value, view.stability, "", True,
                        best == view.n_clusters, view.p_interval)]  # fmt: skip
    for merge in view.merges:
        words = " and ".join(
            "+".join(str(k + 1) for k in sorted(groups[each]))
            for each in (merge.first, merge.second)
        )
        groups[merge.first] = groups[merge.first] + groups.pop(merge.second)
        levels.append(LevelLine(merge.n_clusters, merge.lost, merge.p_value, merge.stability, words,
                                False, best == merge.n_clusters,
                                merge.p_interval))  # fmt: skip
    order = [k for members in groups.values() for k in members]
    where = {k: step * (i + 0.5) for i, k in enumerate(order)}
    leaves = [(where[k], k) for k in order]
    heights = np.cumsum([max(merge.lost, 0.0) for merge in view.merges])
    reach = max(float(heights[-1]) * 1.15, 1e-12)
    places = [float(width * height / reach) for height in heights]
    begin = dict.fromkeys(where, 0.0)
    paths = []
    for merge, x in zip(view.merges, places, strict=True):
        a, b = merge.first, merge.second
        paths.append(f"M{begin[a]:.1f} {where[a]:.1f}H{x:.1f}V{where[b]:.1f}H{begin[b]:.1f}")
        where[a], begin[a] = (where[a] + where[b]) / 2, x
    paths += [f"M{begin[k]:.1f} {where[k]:.1f}H{width:.1f}" for k in groups]
    ends = [*places, width]
    begins = [0.0, *places]
    numbers = [level.n_clusters for level in levels]
    bands = [(x, end - x, k) for x, end, k in zip(begins, ends, numbers, strict=True)]
    return ViewTree(width, step * len(order), leaves, paths, bands, levels)


def _recommended(view: View) -> int | None:
    """The level that is recommended; None if none is both better than chance and comes back."""
    levels = zip(
        view.levels,
        [view.p_value, *(merge.p_value for merge in view.merges)],
        [view.stability, *(merge.stability for merge in view.merges)],
        strict=True,
    )
    for n_clusters, p_value, stability in levels:
        if n_clusters == view.recommended:
            fits = stability >= STABLE and not p_value > SIGNIFICANCE_LEVEL
            return n_clusters if fits else None
    return None


def cluster_numbers(view: View, n_clusters: int) -> tuple[list[int], list[int]]:
    """What each cluster of a view is called at a level, and after which cluster it is coloured.

    The numbers are those of ``view.at(n_clusters)``; -1 for a cluster that no row is called after.
    """
    labels = view.labels
    sizes = np.bincount(labels[labels >= 0], minlength=view.n_clusters)
    first = np.arange(view.n_clusters)
    for merge in view.merges[: view.n_clusters - n_clusters]:
        first[first == merge.second] = merge.first
    summed = np.bincount(first, weights=sizes, minlength=view.n_clusters)
    used = np.flatnonzero(summed > 0)
    order = used[np.argsort(-summed[used], kind="stable")]
    place = {int(k): i for i, k in enumerate(order)}
    return [place.get(int(k), -1) for k in first], [int(k) for k in order]


def _step(rough: float) -> float:
    """A round number near to this one."""
    size = 10.0 ** np.floor(np.log10(rough))
    return float(size * next(m for m in (1, 2, 5, 10) if m * size >= rough))


class Loading(NamedTuple):
    """How much a feature takes part in the two directions of a scatter, from -1 to 1."""

    feature: str
    first: float
    second: float


def strongest(names: Any, loadings: Any, most: int) -> list[Loading]:
    """The features with the largest loadings, relative to the largest of all."""
    values = np.nan_to_num(np.asarray(loadings, dtype=np.float64))
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return []
    size = np.abs(values).max(axis=1) / largest
    order = [int(j) for j in np.argsort(-size, kind="stable")[:most] if size[j] > 0.02]
    return [Loading(names[j], *(values[j] / largest).tolist()) for j in order]


def direction(names: Any, loadings: FloatArray, most: int = 3) -> list[tuple[str, str, str]]:
    """The features that make up a direction: sign, weight and name of each."""
    values = np.nan_to_num(np.asarray(loadings, dtype=np.float64))
    norm = np.linalg.norm(values)
    if norm == 0:
        return []
    values = values / norm
    order = np.argsort(-np.abs(values), kind="stable")[:most]
    # Where a direction is made of many features, none has much weight.
    least = min(0.15, 0.5 * float(np.abs(values[order[0]])))
    return [
        ("−" if values[j] < 0 else "+", f"{abs(values[j]):.2f}", names[j])
        for j in order
        if abs(values[j]) >= least
    ]


# -- the numbers that the page's scripts draw from -------------------------------------------------


#: Rows that a page holds at most.
MOST_ROWS = 5000
#: Coordinates are stored in so many steps.
STEPS = 65535


def shown_rows(study: Study) -> IndexArray:
    """Positions within ``study.shown_rows`` of the rows that the page holds."""
    number = len(study.shown_rows)
    if number <= MOST_ROWS:
        return np.arange(number)
    return np.linspace(0, number - 1, MOST_ROWS).astype(np.intp)


def payload(study: Study, *, embed_ids: bool = False) -> dict[str, Any]:
    """Rows, labels, places and tables of pairs, packed.

    Cells of the label file are made harmless here, so that no script needs to know how.
    """

    kept = shown_rows(study)
    rows = np.asarray(study.shown_rows)[kept]
    named = embed_ids and study.row_names is not None
    names = study.row_names or ()
    drawn = tree(study)
    return {
        "total": study.shape[0],
        # As people type it; where it lies is nobody's business.
        "folder": Path(study.folder).name if study.folder else "STUDY",
        "rows": rows.tolist(),
        "ids": [names[i] for i in rows] if named else None,
        "cells": [harmless(names[i]) for i in rows] if named else None,
        "views": [_view(study, view, kept, rows) for view in all_views(study)],
        "pairs": _pairs(study),
        "matrix": _packed(drawn.matrix, np.uint8) if drawn else None,
        "results": [[r.title, r.view, r.n_clusters] for r in drawn.results] if drawn else [],
    }


def script_json(value: Any) -> str:
    """JSON that is safe inside ``<script>`` and the same for the same value.

    >>> script_json({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _view(study: Study, view: View, kept: IndexArray, rows: IndexArray) -> dict[str, Any]:
    coordinates = np.asarray(view.coordinates, dtype=np.float64)[kept]
    levels = []
    for k in view.levels[1:]:
        numbers, hues = cluster_numbers(view, k)
        levels.append({"k": k, "to": numbers, "hues": hues})
    return {
        "number": view.number,
        "name": column_of(study, view),
        "levels": levels,
        "pale": pale_clusters(study, view),
        "k": view.n_clusters,
        "labels": _packed(view.labels[rows] + 1, np.uint16),
        "sure": _packed(np.rint(100 * np.nan_to_num(view.row_confidence[rows])), np.uint8),
        "x": _packed(_steps(coordinates[:, 0]), np.uint16),
        "y": _packed(_steps(coordinates[:, 1]), np.uint16),
        "several": _several(view, rows),
        "names": list(view.names),
        "heat": _heat(study, view, kept),
    }


#: Rows in the picture of the values.
MOST_HEATED = 900


def _heat(study: Study, view: View, kept: IndexArray) -> dict[str, Any] | None:
    """Values of the view's most telling features for some of the rows on the page, in 254 steps.

    Step 0 is a missing value. Steps are between the 2 % and 98 % of all rows, so that a few far
    values don't take all the colour.
    """
    names = [name for name in drawn_features(view.facts) if name in study.value_features]
    if not names or len(study.values) != len(study.shown_rows):
        return None
    few = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_HEATED)).astype(np.intp)]
    spot = {int(row): i for i, row in enumerate(kept)}
    columns = [study.value_features.index(name) for name in names]
    packed, ends = [], []
    for j in columns:
        values = np.asarray(study.values)[:, j]
        present = values[np.isfinite(values)]
        low, high = np.quantile(present, (0.02, 0.98)) if len(present) else (0.0, 1.0)
        if not high > low and len(present):
            low, high = float(present.min()), float(present.max())
        width = float(high - low) or 1.0
        part = values[few]
        steps = 1 + 254 * np.clip((np.nan_to_num(part) - low) / width, 0, 1)
        packed.append(np.where(np.isfinite(part), np.rint(steps), 0))
        ends.append([float(f"{end:.4g}") for end in (low, high)])
    return {
        "names": names,
        "ends": ends,
        "rows": [spot[int(row)] for row in few],
        "steps": _packed(np.concatenate(packed), np.uint8),
    }


def pale_clusters(study: Study, view: View) -> list[int]:
    """Clusters of a claimed view that are not claimed themselves."""
    if view is study.asked or not view.p_value <= study.LEVEL:
        return []
    return [int(k) for k in np.flatnonzero(~view.claimed_clusters)]


def _several(view: View, rows: IndexArray) -> list[list[Any]]:
    """Rows in more than one cluster: their place on the page, and the clusters."""
    members = view.clustering.memberships[:, rows].astype(bool).tocsc()
    counts = np.diff(members.indptr)
    return [
        [int(i), sorted(members.indices[members.indptr[i] : members.indptr[i + 1]].tolist())]
        for i in np.flatnonzero(counts > 1)
    ]


def _steps(values: FloatArray) -> FloatArray:
    """Values as steps between the smallest and the largest."""
    finite = np.isfinite(values)
    if not finite.any():
        return np.full(len(values), STEPS // 2, dtype=np.float64)
    low, high = values[finite].min(), values[finite].max()
    middle = np.where(finite, values, (low + high) / 2)
    if high <= low:
        return np.full(len(values), STEPS // 2, dtype=np.float64)
    return np.rint((middle - low) / (high - low) * STEPS)


def _packed(values: NDArray[Any], kind: Any) -> str:
    little = np.dtype(kind).newbyteorder("<")
    limited = np.clip(values, 0, np.iinfo(kind).max)
    return base64.b64encode(limited.astype(little).tobytes()).decode()


def _pairs(study: Study) -> dict[str, list[list[int]]]:
    """For every two views, rows that any two of their clusters share; the last are in none."""
    tables = {}
    members = [_with_none(view) for view in study.views]
    for i in range(len(members)):
        for j in range(i + 1, len(members)):
            shared = (members[i] @ members[j].T).toarray()
            tables[f"{i + 1}-{j + 1}"] = shared.astype(int).tolist()
    return tables


def _with_none(view: View) -> Any:
    from scipy import sparse

    members = view.clustering.memberships.astype(bool).astype(np.int64)
    none = np.asarray(members.sum(axis=0)).ravel() == 0
    return sparse.csr_array(sparse.vstack([members, none[None, :].astype(np.int64)]))
