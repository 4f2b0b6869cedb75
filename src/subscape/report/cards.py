"""What the page says about one view."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subscape.core.errors import count
from subscape.core.prototypes import interval_text
from subscape.core.types import FloatArray
from subscape.exploration.explain import own_features
from subscape.exploration.verdict import IDEAS, ideas_tried, joined
from subscape.plots.cells import row_order
from subscape.validation.criteria import DISSOLVED, SIGNIFICANCE_LEVEL, STABLE

from .drawings import Loading, ViewTree, direction, pale_clusters, shown_rows, strongest, view_tree
from .wording import compared, number, share

if TYPE_CHECKING:
    from subscape.exploration.explain import FeatureFact
    from subscape.exploration.study import Study, View

#: Clusters with a row in the table of a card.
MOST_CLUSTERS = 40
#: Features listed for a cluster at once, and behind "more".
FIRST_FEATURES, MOST_FEATURES = 5, 25
#: Features in the picture of what tells, in that of the cells, and of the loadings.
TELLING_FEATURES, CELL_FEATURES, LOADED_FEATURES = 24, 48, 12
#: Kinds of rows told apart in the picture of the cells.
MOST_SEGMENTS = 60
#: Runs listed.
MOST_RUNS = 30
#: Shares of imputed cells that are worth a word.
MANY_IMPUTED = 0.05

#: What a group is, by the idea that a view follows.
MEANINGS = {
    "clouds": "A group is a cloud here: rows around a middle, told apart in a few directions.",
    "boxes": "A group is a box here: its rows are alike in a few features of its own.",
    "classes": "A group is a class here: within it, one column says nothing about another.",
    "shapes": "A group may have any shape here: few rows lie between it and the others.",
    "nested": "Groups within groups: clusters that hold groups of their own are replaced by these.",
}


class FeatureLine(NamedTuple):
    """One feature of one cluster: text, and a bar from 0 to 100 of the cluster within all rows."""

    name: str
    text: str
    effect: str
    begin: float
    end: float
    all_begin: float
    all_end: float
    is_level: bool
    imputed: str
    bars: tuple[tuple[float, float, float, float], ...] = ()
    span: str = ""
    doubt: str = ""
    is_absent: bool = False


class ClusterRow(NamedTuple):
    """One cluster in the table of a card."""

    number: int
    size: int
    share: float
    stability: float
    p_value: float
    features: list[FeatureLine]
    more: list[FeatureLine]
    n_hidden: int
    description: str
    against: str
    name: str = ""
    p_interval: tuple[float, float] | None = None


class Cell(NamedTuple):
    """A coloured rectangle: place, cluster, strength, and the feature."""

    x: float
    y: float
    width: float
    height: float
    cluster: int
    strength: float
    feature: str


class Grid(NamedTuple):
    """A picture made of cells."""

    width: float
    height: float
    names: list[tuple[float, str]]
    cells: list[Cell]
    marks: list[tuple[float, float, int]]
    n_features: int
    n_left_out: int


class Card(NamedTuple):
    """One view."""

    view: View
    is_honest: bool
    sizes: list[tuple[float, float, int]]
    n_outside: int
    n_shared: int
    kind: str
    telling: list[str]
    clusters: list[ClusterRow]
    n_hidden: int
    cells: Grid
    relevance: Grid
    loadings: list[Loading]
    axes: list[list[tuple[str, str, str]]]
    is_signed: bool
    runs: list[str]
    n_more_runs: int
    sure: str
    idea: str
    tree: ViewTree | None
    pale: list[int]
    is_asked: bool = False


def cards(study: Study) -> list[Card]:
    """A card for every view."""
    return [_card(study, view) for view in study.views]


def asked_card(study: Study) -> Card | None:
    """The card of the grouping that was asked for, if one was."""
    if study.asked is None:
        return None
    card = _card(study, study.asked)
    words = f"{count(study.asked.n_clusters, 'group')} because somebody asked for so many"
    return card._replace(
        is_asked=True,
        is_honest=False,
        sure=f"not claimed: {words}",
        clusters=[row._replace(against="") for row in card.clusters],
    )


def _card(study: Study, view: View) -> Card:
    n_rows = study.shape[0]
    per_row = np.asarray(view.clustering.memberships.astype(bool).sum(axis=0)).ravel()
    told = information(study, view)
    return Card(
        view=view,
        is_honest=view.p_value <= study.LEVEL,
        sizes=_size_bar(view),
        n_outside=int((per_row == 0).sum()),
        n_shared=int((per_row > 1).sum()),
        kind=view.clustering.kind,
        telling=view.telling_features(),
        clusters=[
            _cluster(view, k, n_rows, view.p_value <= study.LEVEL)
            for k in range(min(view.n_clusters, MOST_CLUSTERS))
        ],
        n_hidden=max(0, view.n_clusters - MOST_CLUSTERS),
        cells=_cells(study, view, told),
        relevance=_relevance(study, view, told),
        loadings=strongest(study.feature_names, view.loadings, LOADED_FEATURES),
        axes=[direction(study.feature_names, view.loadings[:, j]) for j in (0, 1)],
        is_signed=bool((np.asarray(view.loadings) < 0).any()),
        runs=list(view.titles[:MOST_RUNS]),
        n_more_runs=max(0, len(view.titles) - MOST_RUNS),
        sure=_sure(view, view.p_value <= study.LEVEL),
        idea=idea_words(study, view),
        tree=view_tree(view),
        pale=pale_clusters(study, view),
    )


def idea_words(study: Study, view: View) -> str:
    """Which idea of a group the view follows, and why not another."""
    parts = [MEANINGS.get(view.idea, "")]
    note = view.idea_note.strip().rstrip(".")
    if note:
        parts.append(f"{note[:1].upper()}{note[1:]}.")
    others = [IDEAS.get(idea, idea) for idea in ideas_tried(study) if idea != view.idea]
    if others and not note:
        parts.append(f"Looked for as well, and nothing here fits better: {joined(others)}.")
    return " ".join(part for part in parts if part)


def not_claimed(view: View, k: int) -> str:
    """Why a cluster of a claimed view is not claimed itself; nothing if it is."""
    if view.claimed_clusters[k]:
        return ""
    reasons = []
    if view.cluster_p_values[k] > SIGNIFICANCE_LEVEL:
        reasons.append("tables without groups have clusters as clear")
    if view.cluster_stability[k] < DISSOLVED:
        reasons.append("it dissolves on samples")
    return f"not claimed: {' and '.join(reasons)}"


# -- candidates that are not claimed: what speaks for each, and what against it --------------------


class Unclaimed(NamedTuple):
    """One candidate; ``number`` is that of its view, or None where it is none."""

    number: int | None
    title: str
    what: str
    speaks_for: list[str]
    against: list[str]


def unclaimed(study: Study) -> list[Unclaimed]:
    """Views no better than chance, and the clearest groupings that are no views."""
    views = [
        _unclaimed(view.number, ", ".join(view.finders[:2]), view.telling_features(), view)
        for view in study.views
        if not view.p_value <= study.LEVEL
    ]
    return views + [
        _unclaimed(None, miss.title, list(miss.features), miss) for miss in study.near_misses
    ]


def _unclaimed(place: int | None, title: str, features: list[str], one: Any) -> Unclaimed:
    speaks_for, against = [], []
    if one.stability >= STABLE:
        speaks_for.append(f"comes back on samples (stability {number(one.stability)})")
    elif one.stability < DISSOLVED:
        against.append(f"does not come back on samples (stability {number(one.stability)})")
    elif not math.isnan(one.stability):
        speaks_for.append(f"comes back in part (stability {number(one.stability)})")
    if getattr(one, "idea", "clouds") in ("classes", "shapes", "nested"):
        told = speaks_for if one.score > 0 else against
        told.append(f"score {number(one.score)}, on the scale of its own idea of a group")
    elif one.score > 0:
        speaks_for.append(f"describes the rows better than one cloud (score {number(one.score)})")
    else:
        against.append(f"describes the rows worse than one cloud (score {number(one.score)})")
    if features:
        speaks_for.append(f"told apart by {', '.join(features)}")
    if math.isnan(one.p_value):
        against.append("not yet compared with chance")
    elif one.p_value > SIGNIFICANCE_LEVEL:
        against.append(
            f"tables without groups give as clear a grouping (p {compared(one.p_value)})"
        )
    else:
        against.append("what the views leave of it is too little")
    if one.missing_redundancy > 0.5:
        against.append(f"explained by missing cells ({share(one.missing_redundancy)})")
    return Unclaimed(place, title, count(one.n_clusters, "cluster"), speaks_for, against)


def _sure(view: View, is_honest: bool) -> str:
    if math.isnan(view.p_value):
        return "not yet compared with chance"
    if not is_honest:
        return "no better than chance"
    if math.isnan(view.stability):
        return "not chance; samples were not tried yet"
    if view.stability >= STABLE:
        return "sure: not chance, and it comes back on samples"
    if view.stability >= 0.5:
        return "fairly sure: not chance, but its borders move on samples"
    return "unsure: not chance, but samples give it back poorly"


def _size_bar(view: View, width: float = 100.0) -> list[tuple[float, float, int]]:
    """Shares of the clusters side by side: begin, width and number."""
    sizes = np.asarray(view.clustering.sizes, dtype=np.float64)
    total = max(sizes.sum(), view.clustering.n_rows, 1e-12)
    ends = np.cumsum(sizes) / total * width
    begins = ends - sizes / total * width
    return [(float(b), float(e - b), k) for k, (b, e) in enumerate(zip(begins, ends, strict=True))]


# -- the table of clusters ------------------------------------------------------------------------


def _cluster(view: View, k: int, n_rows: int, is_honest: bool) -> ClusterRow:
    own = [fact for fact in view.facts[k] if fact.is_own]
    # Of wide tables not all facts are kept.
    n_own = max(len(own), int(own_features(view.clustering)[k].sum()))
    lines = [_line(fact) for fact in own[:MOST_FEATURES]]
    size = round(float(view.clustering.sizes[k]))
    return ClusterRow(
        number=k,
        size=size,
        share=size / max(n_rows, 1),
        stability=float(view.cluster_stability[k]),
        p_value=float(view.cluster_p_values[k]),
        features=lines[:FIRST_FEATURES],
        more=lines[FIRST_FEATURES:],
        n_hidden=max(0, n_own - MOST_FEATURES),
        description=view.descriptions[k],
        against=not_claimed(view, k) if is_honest else "",
        name=view.names[k] if view.names else "",
        p_interval=view.cluster_interval(k),
    )


def _line(fact: FeatureFact) -> FeatureLine:
    imputed = f"{share(fact.imputed)} filled in" if fact.imputed >= MANY_IMPUTED else ""
    if fact.level is not None:
        inside, elsewhere = 100 * (fact.share or 0.0), 100 * (fact.elsewhere or 0.0)
        text = f"{fact.level} {share(fact.share)}, others {share(fact.elsewhere)}"
        return FeatureLine(fact.feature, text, "", 0.0, inside, 0.0, elsewhere, True, imputed)
    ends = (fact.low, fact.high, fact.overall_low, fact.overall_high)
    if any(end is None or not math.isfinite(end) for end in ends):
        return FeatureLine(fact.feature, "unknown", "", 0.0, 0.0, 0.0, 100.0, False, imputed)
    low, high, all_low, all_high = (float(end) for end in ends if end is not None)
    bottom, top = min(low, all_low), max(high, all_high)
    width = max(top - bottom, 1e-300)

    def place(value: float) -> float:
        return 100 * (value - bottom) / width

    text = interval_text(low, high)
    if fact.floor is not None and fact.above is not None:
        text = f"above {fact.floor:.3g}: {share(fact.above)}, others {share(fact.above_elsewhere)}"
        if fact.median_above is not None and not fact.is_absent:
            text += f"; there about {fact.median_above:.3g}"
    return FeatureLine(
        fact.feature,
        text,
        number(fact.effect, 1, sign=True),
        place(low),
        place(high),
        place(all_low),
        place(all_high),
        False,
        imputed,
        _bars(fact),
        "" if fact.bars_low is None else interval_text(fact.bars_low, fact.bars_high or 0.0),
        _doubt(fact),
        fact.is_absent,
    )


def _bars(fact: FeatureFact) -> tuple[tuple[float, float, float, float], ...]:
    """The histogram: where each bar begins, its width, and its heights (all rows, the cluster)."""
    if not fact.bars or not sum(fact.bars):
        return ()
    width = 100 / len(fact.bars)
    tallest = [max(max(bars), 1) for bars in (fact.overall_bars, fact.bars)]
    return tuple(
        (width * i, width, 24 * every / tallest[0], 24 * own / tallest[1])
        for i, (every, own) in enumerate(zip(fact.overall_bars, fact.bars, strict=True))
    )


def _doubt(fact: FeatureFact) -> str:
    """How sure a feature is, for whoever points at it."""
    parts = []
    if fact.effect_low is not None and fact.effect_high is not None:
        ends = (number(end, 1, sign=True) for end in (fact.effect_low, fact.effect_high))
        parts.append(f"95 % interval {' to '.join(ends)}")
    if fact.q_value is not None:
        sure = "named with" if fact.is_sure else "not sure:"
        parts.append(f"{sure} a false discovery rate of {share(fact.q_value)}")
    return "; ".join(parts)


# -- pictures -------------------------------------------------------------------------------------


def information(study: Study, view: View) -> FloatArray:
    """Nats per row that each feature of the table tells about each cluster."""
    place = {name: j for j, name in enumerate(study.feature_names)}
    told = np.zeros((view.n_clusters, len(place)))
    for k, listed in enumerate(view.facts):
        for fact in listed:
            if fact.feature in place and math.isfinite(fact.information):
                told[k, place[fact.feature]] = max(fact.information, 0.0)
    return told


def _relevance(study: Study, view: View, told: FloatArray) -> Grid:
    """Features x clusters: the stronger, the more the feature tells about the cluster."""
    best = told.max(axis=0, initial=0.0)
    order = [int(j) for j in np.argsort(-best, kind="stable")[:TELLING_FEATURES]]
    n_clusters = min(view.n_clusters, MOST_CLUSTERS)
    step, height = (34.0 if n_clusters <= 10 else 340.0 / n_clusters), 18.0
    top = max(float(best.max(initial=0.0)), 1e-12)
    own = [{fact.feature for fact in listed if fact.is_own} for listed in view.facts]
    cells, marks = [], []
    for i, j in enumerate(order):
        name = study.feature_names[j]
        for k in range(n_clusters):
            strength = float(told[k, j]) / top
            if strength > 0.01:
                cells.append(Cell(k * step, i * height, step, height, k, strength, name))
            if name in own[k]:
                marks.append((k * step + step / 2, i * height + height / 2, k))
    names = [(i * height + height / 2, study.feature_names[j]) for i, j in enumerate(order)]
    left_out = len(study.feature_names) - len(order)
    return Grid(step * n_clusters, height * len(order), names, cells, marks, len(order), left_out)


def _cells(study: Study, view: View, told: FloatArray, height: float = 300.0) -> Grid:
    """Rows, ordered by cluster, x features: each cluster colours its own features."""
    columns = np.arange(len(study.feature_names))
    if len(columns) > CELL_FEATURES:
        best = np.argsort(-told.max(axis=0, initial=0.0), kind="stable")
        columns = np.sort(best[:CELL_FEATURES])
    relevance = np.asarray(view.clustering.subspaces.relevance, dtype=np.float64)[:, columns]
    if view.clustering.kind != "axis":
        largest = relevance.max(axis=1, keepdims=True, initial=0.0)
        relevance = relevance / np.where(largest > 0, largest, 1.0)
    segments = _segments(study, view)
    n_shown = max(sum(size for size, _ in segments), 1)
    width = 420.0
    step = width / max(len(columns), 1)
    cells, marks = [], []
    pale = pale_clusters(study, view)
    y = 0.0
    for size, clusters in segments:
        tall = height * size / n_shown
        for k in clusters:
            for i in np.flatnonzero(relevance[k] > 0.05):
                strength = float(min(relevance[k, i], 1.0)) / len(clusters) ** 0.5
                strength *= 0.35 if k in pale else 1.0
                name = study.feature_names[columns[i]]
                cells.append(Cell(i * step, y, step, tall, k, strength, name))
        if len(clusters) == 1 and tall >= 11:
            marks.append((-8.0, y + tall / 2, clusters[0]))
        y += tall
    names = [(i * step + step / 2, study.feature_names[j]) for i, j in enumerate(columns)]
    left_out = len(study.feature_names) - len(columns)
    return Grid(width, height, names, cells, marks, len(columns), left_out)


def _segments(study: Study, view: View) -> list[tuple[int, tuple[int, ...]]]:
    """Shown rows in the order of the picture: how many in a row are in just these clusters."""
    shown = np.zeros(study.shape[0], dtype=bool)
    shown[np.asarray(study.shown_rows)[shown_rows(study)]] = True
    order = row_order(view.clustering)
    order = order[shown[order]]
    members = view.clustering.memberships[:, order].astype(bool).tocsc()
    kinds: list[tuple[int, ...]] = [
        tuple(sorted(members.indices[members.indptr[i] : members.indptr[i + 1]].tolist()))
        for i in range(len(order))
    ]
    segments = _runs(kinds)
    if len(segments) > MOST_SEGMENTS:
        labels = view.labels[order]
        ordered: Any = np.sort(np.where(labels < 0, view.n_clusters, labels))
        segments = _runs([(int(k),) if k < view.n_clusters else () for k in ordered])
    return segments


def _runs(kinds: list[tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
    segments: list[tuple[int, tuple[int, ...]]] = []
    for kind in kinds:
        if segments and segments[-1][1] == kind:
            segments[-1] = (segments[-1][0] + 1, kind)
        else:
            segments.append((1, kind))
    return segments
