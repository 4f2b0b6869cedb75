"""Which idea of a group a view follows where several tell of the same grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from subscape.core.errors import count
from subscape.core.types import FloatArray
from subscape.finders.density.valleys import merge_without_valley
from subscape.validation.criteria import SIGNIFICANCE_LEVEL, STABLE
from subscape.validation.max_statistic import SURE

from .assembly import AssessedView
from .ideas import VERSION, is_version
from .information import novelty
from .views import Consensus

#: Directions in which valleys between clouds are looked for: density is blurred in more.
MOST_DIRECTIONS = 4


def merged_ideas(
    outcome: Sequence[AssessedView],
    new: AssessedView,
    X: FloatArray,
    few_valued: float,
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
            choice, better = _preferred(new, one, X, few_valued)
        elif is_version(labels, one.view.labels):
            choice = "idea" if new.p_value < one.p_value else "other"
        if choice == "other":
            return [*outcome[:at], better, *outcome[at + 1 :]]
        if choice == "idea":
            place = len(kept) if place is None else place
            replaced.append(one)
            if better.are_pieces:
                pieces.append(better)
        else:
            kept.append(one)
    sure = [one for one in replaced if one.p_value <= SIGNIFICANCE_LEVEL]
    if replaced:
        labels = (sure or replaced)[0].view.labels
        told = f"as clouds they would be {count(len(np.unique(labels[labels >= 0])), 'cluster')}"
        told += "" if sure else ", no clearer than chance makes them"
        new = replace(new, note=f"{new.note}; {told}")
    if place is None:
        assert new.idea is not None
        first = few_valued >= 0.5 and new.idea.idea == "classes"
        # Below SURE no more tables are drawn, and p-values don't say any more which is surer: then
        # groups that lie apart are shown before clouds that cut through them.
        apart = new.idea.idea == "shapes" and new.p_value < SURE
        surer = [not apart and one.p_value <= new.p_value for one in kept]
        place = 0 if first else sum(surer)
    return [*kept[:place], new, *kept[place:], *pieces]


def _preferred(
    new: AssessedView, one: AssessedView, X: FloatArray, few_valued: float
) -> tuple[str, AssessedView]:
    """Which of two versions of a grouping is shown: "idea", "other", or "both"; and the other.

    Clouds within groups of any shape are shown if valleys part them: the groups are their coarser
    level.
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
    if not _comes_back(new):
        return "both", one
    if are_pieces(one.view, new.idea.n_groups, X):
        finer = f"pieces of the {new.idea.n_groups} groups of any shape, parted by no valley"
        return "idea", replace(one, note=finer, are_pieces=True)
    if not sure:
        return "idea", one
    return "other", replace(
        one, note=f"clouds; as groups of any shape they would be {new.idea.n_groups}"
    )


def _comes_back(new: AssessedView) -> bool:
    """Whether a view is found again on samples; one that isn't says nothing about others."""
    return new.again is None or new.again.stability >= STABLE


def _comes_back_better(new: AssessedView, one: AssessedView) -> bool:
    if new.again is None or one.again is None:
        return False
    return new.again.stability >= max(STABLE, one.again.stability)


def are_pieces(clouds: Consensus, n_groups: int, X: FloatArray) -> bool:
    """Whether clouds are mere pieces of a few groups: most have no valley between them.

    A bent group, say, is described better by a few clouds than by one, and yet is no group of
    groups: however it is cut, no valley lies between the pieces.
    """
    n_clouds = len(clouds.memberships)
    if n_clouds <= n_groups:
        return False
    seen = X @ clouds.basis[:, :MOST_DIRECTIONS]
    merged = merge_without_valley(seen, clouds.labels).labels
    n_merged = len(np.unique(merged[merged >= 0]))
    return n_merged <= n_groups or (n_clouds >= n_groups + 2 and n_merged <= n_clouds // 2)
