"""How ``subscape compare`` shows its result: as text, or as JSON."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from .comparison import is_full
from .tables import columns, short

if TYPE_CHECKING:
    from subscape.core import SubspaceClustering
    from subscape.core.formats import Source
    from subscape.measures.registry import Measure

    from .comparison import Match, Score

#: Matched clusters shown; --json has all.
MOST_MATCHES = 20


def range_of(measure: Measure) -> str:
    """Between which values a measure lies."""
    return f"{measure.low:g} to {measure.high:g}" if measure.high < 1e300 else "0 and up"


def direction_of(measure: Measure) -> str:
    """Which value means agreement."""
    if not measure.is_distance:
        return f"{measure.high:g} = best"
    return "0 = identical" if "positive" in measure.properties else "0 = no difference"


def as_text(
    sources: list[Source],
    pair: list[SubspaceClustering],
    scores: list[Score],
    left_out: dict[str, str],
    matches: list[Match] | None,
) -> list[str]:
    """The lines for people."""
    facts = [repr(s.clustering).partition("(")[2].removesuffix(")") for s in sources]
    if pair[0].n_features == 1:
        facts = [fact.replace(" x 1 feature", "") for fact in facts]
    lines = columns(
        [(side, short(s.name), fact) for side, s, fact in zip("AB", sources, facts, strict=True)]
    )
    lines += ["", *_scored(scores), *_left_out(left_out)]
    if is_full(pair[0]) != is_full(pair[1]):
        side = "A" if is_full(pair[0]) else "B"
        lines.append(f"{side} has all features in every cluster; --rows-only compares rows alone.")
    return lines if matches is None else lines + _matched(sources, pair, matches)


def _scored(scores: list[Score]) -> list[str]:
    """The table of measures, with what each says if the terminal is wide enough."""
    head = ["measure", "value", "p-value", "range", "direction", "what it says"]
    rows = [
        [
            s.measure.name,
            f"{s.value:.4f}" if abs(s.value) < 1000 else f"{s.value:.6g}",
            f"{s.p.value:.3g}" if s.p else "",
            range_of(s.measure),
            direction_of(s.measure),
            s.measure.sentence,
        ]
        for s in scores
    ]
    table, aligned = [head, *rows], "lrr"
    if all(s.p is None for s in scores):
        table, aligned = [[*row[:2], *row[3:]] for row in table], "lr"
    lines = columns(table, aligned)
    if max(map(len, lines)) > shutil.get_terminal_size((140, 24)).columns:
        lines = columns([row[:-1] for row in table], aligned)
    return lines


def _left_out(left_out: dict[str, str]) -> list[str]:
    """A line for each reason that keeps measures from scoring the pair."""
    reasons: dict[str, list[str]] = {}
    for name, text in left_out.items():
        reason = text.removeprefix(f"{name} ").split(";")[0].split(": ")[0]
        reasons.setdefault(reason, []).append(name)
    return [f"Left out: {', '.join(names)} ({reason})" for reason, names in reasons.items()]


def _matched(
    sources: list[Source], pair: list[SubspaceClustering], matches: list[Match]
) -> list[str]:
    names = [_cluster_names(s, c) for s, c in zip(sources, pair, strict=True)]
    dims = [[f"{d:.3g}" for d in c.subspaces.dims] for c in pair]
    whole = [
        s.clustering if s.clustering.n_clusters == len(n) else c
        for s, c, n in zip(sources, pair, names, strict=True)
    ]
    sizes = [[f"{size:.6g}" for size in c.sizes] for c in whole]
    shown: list[tuple[str, ...]] = [("A", "rows", "dims", "B", "rows", "dims", "of A", "of B")]
    for m in matches[:MOST_MATCHES]:
        left = (short(names[0][m.a], 24), sizes[0][m.a], dims[0][m.a])
        right = (short(names[1][m.b], 24), sizes[1][m.b], dims[1][m.b])
        shown.append((*left, *right, f"{m.of_a:.0%}", f"{m.of_b:.0%}"))
    aligned = "lrrlrrrr"
    if all(map(is_full, pair)):
        shown, aligned = [(*row[:2], *row[3:5], *row[6:]) for row in shown], "lrlrrr"
    lines = ["", "Clusters that correspond, and the share of each that the other has too:"]
    lines += columns(shown, aligned)
    if len(matches) > MOST_MATCHES:
        lines.append(f"… and {len(matches) - MOST_MATCHES} more pairs (--json has all)")
    for side, known in ((0, {m.a for m in matches}), (1, {m.b for m in matches})):
        alone = [names[side][i] for i in range(pair[side].n_clusters) if i not in known]
        if alone:
            more = f" and {len(alone) - 12} more" if len(alone) > 12 else ""
            lines.append(f"Only in {'AB'[side]}: {', '.join(alone[:12])}{more}")
    return lines


def _cluster_names(source: Source, clustering: SubspaceClustering) -> tuple[str, ...]:
    # --rows-only and --columns-only melt the blocks of a co-clustering into fewer clusters.
    if len(source.cluster_names) == clustering.n_clusters:
        return source.cluster_names
    return tuple(map(str, range(clustering.n_clusters)))


def as_json(
    sources: list[Source],
    pair: list[SubspaceClustering],
    scores: list[Score],
    left_out: dict[str, str],
    matches: list[Match] | None,
) -> dict[str, Any]:
    """The result for machines."""
    names = [_cluster_names(s, c) for s, c in zip(sources, pair, strict=True)]
    return {
        **{
            side: {
                "name": source.name,
                "kind": clustering.kind,
                "n_rows": clustering.n_rows,
                "n_features": clustering.n_features,
                "clusters": list(named),
            }
            for side, source, clustering, named in zip("ab", sources, pair, names, strict=True)
        },
        "measures": [
            {
                "name": s.measure.name,
                "value": s.value,
                "low": s.measure.low,
                "high": s.measure.high if s.measure.high < 1e300 else None,
                "is_distance": s.measure.is_distance,
            }
            | ({"p_value": s.p.value, "p_standard_error": s.p.standard_error} if s.p else {})
            for s in scores
        ],
        "left_out": left_out,
        "matches": None
        if matches is None
        else [
            {"a": names[0][m.a], "b": names[1][m.b], "of_a": m.of_a, "of_b": m.of_b}
            for m in matches
        ],
    }
