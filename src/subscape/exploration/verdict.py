"""The answer of a study in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from subscape.core.errors import count
from subscape.validation.criteria import STABLE

if TYPE_CHECKING:
    from .protocols import RankedViews as Study

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def verdict(study: Study) -> str:
    """How many groupings there are, how different they are, and how sure that is."""
    honest = study.significant_views
    if study.is_provisional and not honest:
        found = count(len(study.views), "grouping")
        return f"Stopped early: {found} found so far, not yet held against chance."
    if not honest:
        return (
            "No grouping better than chance: what the search found here it also finds in tables "
            "like this one that have no groups." + _but_stable(study)
        )
    number = NUMBERS[len(honest)] if len(honest) < len(NUMBERS) else str(len(honest))
    ways = "way" if len(honest) == 1 else "ways"
    sizes = [str(view.n_clusters) for view in honest]
    alike = len(sizes) > 1 and len(set(sizes)) == 1
    into = f"each into {sizes[0]}" if alike else f"into {_joined(sizes)}"
    noun = "cluster" if set(sizes) == {"1"} else "clusters"
    text = f"{number.capitalize()} {ways} to group the rows, {into} {noun}"
    if len(honest) > 1:
        text += f"; {_how_different(study, [view.number - 1 for view in honest])}"
    return f"{text}. {_how_sure(study)}"


def probability(p_value: float) -> str:
    """A p-value in words; so far out in a tail its digits mean nothing.

    >>> probability(0.0123), probability(3e-40)
    ('p = 0.012', 'p < 1e-6')
    """
    return "p < 1e-6" if p_value < 1e-6 else f"p = {p_value:.2g}"


def _but_stable(study: Study) -> str:
    """A word on a grouping that can't be claimed and yet comes back."""
    stable = [view for view in study.views if view.stability >= STABLE]
    if not stable:
        return ""
    best = stable[0]
    return (
        f" View {best.number}, into {count(best.n_clusters, 'cluster')}, does come back on samples "
        "of the rows: those tables keep how the columns go together, so a mere gradient, or the "
        "levels of a few columns, is not told from chance. Look at its features."
    )


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _how_different(study: Study, places: list[int]) -> str:
    part = study.between_views[np.ix_(places, places)]
    shared = part[np.triu_indices(len(places), 1)]
    if shared.max() < 0.1:
        return "they have next to nothing in common"
    if shared.min() > 0.5:
        return "they are variants of each other"
    return (
        f"two of them share up to {100 * shared.max():.0f} % of their information, the least "
        f"alike {100 * shared.min():.0f} %"
    )


def _how_sure(study: Study) -> str:
    honest = study.significant_views
    stable = [view for view in honest if view.stability >= STABLE]
    least = max(view.p_value for view in honest)
    upwards = np.ceil(1000 * least - 1e-9) / 10
    chance = "less than 0.1 %" if least < 0.001 else f"at most {upwards:.1f} %"
    text = f"Chance alone would give as clear a grouping with probability {chance}"
    if len(stable) == len(honest):
        again = "it comes" if len(honest) == 1 else "all of them come"
        return f"{text}; {again} back on samples of the rows."
    steadier = _steadier(study)
    if not stable:
        again = "it does not come" if len(honest) == 1 else "none of them comes"
        return f"{text}; but {again} back reliably on samples of the rows.{steadier}"
    come = count(len(stable), "of them comes", "of them come")
    return f"{text}; {come} back on samples.{steadier}"


def _steadier(study: Study) -> str:
    """A word on views that come back, but are no better than chance."""
    steady = [v for v in study.views if v.stability >= STABLE and v.p_value > study.LEVEL]
    if not steady:
        return ""
    best = steady[0]
    return (
        f" View {best.number}, into {count(best.n_clusters, 'cluster')}, does come back, but "
        f"chance could give it, too ({probability(best.p_value)})."
    )
