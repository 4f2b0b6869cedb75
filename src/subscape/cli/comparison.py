"""Two clusterings compared: scores by many measures, and which clusters correspond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .inputs import measure_name

if TYPE_CHECKING:
    from subscape.core import SubspaceClustering
    from subscape.measures import PValue
    from subscape.measures.registry import Measure


class Score(NamedTuple):
    """A measure and what it says about the pair."""

    measure: Measure
    value: float
    p: PValue | None


class Match(NamedTuple):
    """Two clusters that correspond, and the share of each that the other has too."""

    a: int
    b: int
    of_a: float
    of_b: float


def score(
    pair: list[SubspaceClustering],
    names: tuple[str, ...],
    options: dict[str, Any],
    chance: dict[str, Any] | None,
) -> tuple[list[Score], dict[str, str]]:
    """Scores by the measures asked for; of all measures those that can, and why others can't."""
    from subscape.measures import p_value
    from subscape.measures.registry import MEASURES

    everything = "all" in names
    chosen = list(MEASURES) if everything else [measure_name(n) for n in names or _usual(pair)]
    a, b = pair
    scores: list[Score] = []
    left_out: dict[str, str] = {}
    for name in dict.fromkeys(chosen):
        measure = MEASURES[name]
        try:
            usable = _usable(measure, options, strict=not everything)
            value = float(measure.function(a, b, **usable))
            p = None if chance is None else p_value(name, a, b, **chance, **usable)
        except (TypeError, ValueError) as error:
            if not everything:
                raise
            left_out[name] = str(error)
        else:
            scores.append(Score(measure, value, p))
    if not scores:
        name, reason = next(iter(left_out.items()))
        raise ValueError(f"no measure can compare these; {name}: {reason}")
    return scores, left_out


def of_rows(pair: list[SubspaceClustering]) -> list[SubspaceClustering]:
    """Clusterings without subspaces; if they are of different features, as if of a single one."""
    from subscape.core import AxisSubspaces, SubspaceClustering

    a, b = pair
    named = a.feature_names is not None and b.feature_names is not None
    if a.n_features == b.n_features and not (named and a.feature_names != b.feature_names):
        return pair
    return [
        SubspaceClustering(
            c.memberships, AxisSubspaces([[True]] * c.n_clusters), row_names=c.row_names
        )
        for c in pair
    ]


def _usual(pair: list[SubspaceClustering]) -> tuple[str, ...]:
    """Measures for those who don't say which: of cells, or of labels if there are no subspaces."""
    labels = all(is_full(c) and c.is_row_disjoint for c in pair)
    return ("ce", "ari", "nmi") if labels else ("ce", "rnia")


def is_full(clustering: SubspaceClustering) -> bool:
    """Whether every cluster has all features, so that only the rows tell clusters apart."""
    return clustering.kind == "axis" and bool((clustering.subspaces.relevance == 1).all())


def _usable(measure: Measure, options: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    from inspect import signature

    known = signature(measure.function).parameters
    unknown = [name for name in options if name not in known]
    if unknown and strict:
        raise ValueError(f"{measure.name} knows no --{unknown[0]}")
    return {name: value for name, value in options.items() if name in known}


def match(pair: list[SubspaceClustering], options: dict[str, Any]) -> list[Match] | None:
    """Clusters that correspond, the largest share first; None if the pair shares no measure."""
    from subscape.measures import overlap_of
    from subscape.measures.cells import best_matching

    try:
        table = overlap_of(*pair, **options)
    except TypeError:
        return None
    found = best_matching(table.table)
    matches = [
        Match(int(i), int(j), shared / table.sizes_a[i], shared / table.sizes_b[j])
        for i, j, shared in zip(found.a, found.b, found.shared.tolist(), strict=True)
    ]
    return sorted(matches, key=lambda m: (-min(m.of_a, m.of_b), m.a))
