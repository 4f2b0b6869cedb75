"""For a view that doesn't come back on samples of the rows, a version of it that does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from subscape.validation.criteria import DISSOLVED, STABLE

from .assembly import AssessedView
from .assess import NullMaxima, ViewStability
from .information import novelty
from .select import LEAST_NOVELTY
from .study import Study
from .views import Consensus

#: A version of a view tells at most this share of its information beyond it.
MOST_NEW = 0.6
#: Versions of one view that are tried.
MOST_TRIED = 8


def replace_unstable_views(
    outcome: Sequence[AssessedView],
    found: Sequence[Consensus],
    chance: NullMaxima,
    again: Callable[[list[Consensus]], list[ViewStability]],
) -> list[AssessedView]:
    """Put the clearest steady version of a view beside it if it is in doubt, or in its place.

    In its place only if the version, too, is better than chance.

    Parameters
    ----------
    outcome : sequence of AssessedView
        The views of the study.
    found : sequence of Consensus
        All groupings that there are.
    chance : NullMaxima
    again : callable
        How groupings come back on samples.
    """
    doubtful = [one for one in outcome if _is_doubtful(one)]
    if not doubtful:
        return list(outcome)
    options = {id(one): _versions(one.view, outcome, found) for one in doubtful}
    tried = list({id(view): view for views in options.values() for view in views}.values())
    returned = dict(zip(map(id, tried), again(tried) if tried else [], strict=True))
    made: list[AssessedView] = []
    used: set[int] = set()
    for one in outcome:
        steady = [
            view
            for view in options.get(id(one), ())
            if returned[id(view)].stability >= STABLE and id(view) not in used
        ]
        if not steady:
            made.append(one)
            continue
        used.add(id(steady[0]))
        version = AssessedView(steady[0], chance, returned[id(steady[0])])
        made += [version] if version.p_value <= Study.LEVEL else [one, version]
    return made


def _is_doubtful(one: AssessedView) -> bool:
    return one.p_value <= Study.LEVEL and one.again is not None and one.again.stability < DISSOLVED


def _versions(
    view: Consensus, outcome: Sequence[AssessedView], found: Sequence[Consensus]
) -> list[Consensus]:
    """Groupings that could stand for a view, the clearest first."""
    others = [one.view.labels for one in outcome if one.view is not view]
    near = [
        version
        for version in found
        if version.score > 0
        and version.places != view.places
        and novelty(version.labels, view.labels) <= MOST_NEW
        and all(novelty(version.labels, other) >= LEAST_NOVELTY for other in others)
    ]
    return sorted(near, key=lambda version: -version.score)[:MOST_TRIED]
