"""Which idea of a group a view follows where several tell of the same grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from subscape.core.errors import count
from subscape.core.types import FloatArray
from subscape.finders.density.valleys import merge_without_valley
from subscape.validation.criteria import SIGNIFICANCE_LEVEL, STABLE

from .assembly import AssessedView
from .assess import pieces_p_value
from .ideas import VERSION, is_version
from .information import novelty

#: Clouds beyond the groups of a shape from which they may be its pieces.
CUT_UP = 2
#: Directions in which valleys between clouds are looked for: density is blurred in more.
MOST_DIRECTIONS = 4


def merged_ideas(
    outcome: Sequence[AssessedView],
    new: AssessedView,
    X: FloatArray,
    few_valued: float,
    seed: int = 0,
) -> list[AssessedView]:
    """The views with one of another idea among them.

    One that is better than chance takes the place of versions of it that fit less, or stands beside
    what it has nothing to do with; one that isn't stands at the end, unless it is listed already.

    Parameters
    ----------
    outcome : sequence of AssessedView
    new : AssessedView
        Of another idea.
    X : array
        The prepared table.
    few_valued : float
        Share of its columns that hold levels.
    """
    if new.idea is None:
        return list(outcome)
    labels = new.view.labels
    if not new.p_value <= SIGNIFICANCE_LEVEL:
        known = any(is_version(labels, one.view.labels) for one in outcome)
        return list(outcome) if known else [*outcome, new]
    kept: list[AssessedView] = []
    replaced: list[AssessedView] = []
    pieces: list[AssessedView] = []
    place = None
    for at, one in enumerate(outcome):
        choice, better = "both", one
        if one.idea is None:
            choice, better = _preferred(new, one, X, few_valued, seed)
        elif is_version(labels, one.view.labels):
            choice = "idea" if new.p_value < one.p_value else "other"
        if choice == "other":
            return [*outcome[:at], better, *outcome[at + 1 :]]
        if choice == "idea":
            place = len(kept) if place is None else place
            replaced.append(one)
            if better.p_within is not None:
                pieces.append(better)
        else:
            kept.append(one)
    sure = [one for one in replaced if one.p_value <= SIGNIFICANCE_LEVEL]
    if sure:
        n_clusters = len(np.unique(sure[0].view.labels[sure[0].view.labels >= 0]))
        new = replace(
            new, note=f"{new.note}; as clouds they would be {count(n_clusters, 'cluster')}"
        )
    if place is None:
        assert new.idea is not None
        first = few_valued >= 0.5 and new.idea.idea == "classes"
        place = 0 if first else sum(one.p_value <= SIGNIFICANCE_LEVEL for one in kept)
    return [*kept[:place], new, *kept[place:], *pieces]


def _preferred(
    new: AssessedView, one: AssessedView, X: FloatArray, few_valued: float, seed: int
) -> tuple[str, AssessedView]:
    """Which of two versions of a grouping is shown: "idea", "other", or "both"; and the other.

    Clouds within groups of any shape are shown if they stand out there: the groups are their
    coarser level.
    """
    assert new.idea is not None
    labels, other = new.view.labels, one.view.labels
    if not is_version(labels, other):
        return "both", one
    sure = one.p_value <= SIGNIFICANCE_LEVEL
    if new.idea.idea == "classes":
        return "idea" if few_valued >= 0.5 or not sure else "other", one
    if new.idea.n_groups >= len(one.view.memberships) or novelty(labels, other) > VERSION:
        return "idea" if not sure or _comes_back_better(new, one) else "other", one
    # In the columns where the groups are seen: elsewhere there may be nothing but noise.
    place = X @ new.idea.basis
    within = 1.0 if _is_cut_up(new, one, X) else pieces_p_value(place, labels, other, seed)
    if within > SIGNIFICANCE_LEVEL:
        finer = f"pieces of the {new.idea.n_groups} groups of any shape, no clearer than any cut"
        return "idea", replace(one, note=finer, p_within=within)
    note = f"clouds; as groups of any shape they would be {new.idea.n_groups}"
    p_within = None if sure else min(1.0, max(new.p_value, within))
    return "other", replace(one, note=note, p_within=p_within)


def _comes_back_better(new: AssessedView, one: AssessedView) -> bool:
    if new.again is None or one.again is None:
        return False
    return new.again.stability >= max(STABLE, one.again.stability)


def _is_cut_up(new: AssessedView, one: AssessedView, X: FloatArray) -> bool:
    """Whether clouds are mere pieces of a shape: several more than its groups, without valleys.

    A hollow ball, say, is described better by a few clouds than by one, and yet is no group of
    groups: however it is cut, no valley lies between the pieces.
    """
    assert new.idea is not None
    n_pieces = len(one.view.memberships)
    if n_pieces < new.idea.n_groups + CUT_UP:
        return False
    seen = X @ one.view.basis[:, :MOST_DIRECTIONS]
    merged = merge_without_valley(seen, one.view.labels).labels
    n_merged = len(np.unique(merged[merged >= 0]))
    return n_merged <= max(new.idea.n_groups, n_pieces // 2)
