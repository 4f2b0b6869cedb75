"""The answer of a study in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from subscape.core.errors import count
from subscape.validation.criteria import STABLE

if TYPE_CHECKING:
    from .protocols import RankedView as View
    from .protocols import RankedViews as Study

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

#: The ideas of a group in words.
IDEAS = {
    "clouds": "clouds",
    "boxes": "boxes",
    "classes": "classes in levels",
    "shapes": "groups of any shape",
    "nested": "groups within groups",
}


def verdict(study: Study) -> str:
    """How many groupings there are, how different they are, and how sure that is."""
    return " ".join(paragraphs(study))


def paragraphs(study: Study) -> tuple[str, ...]:
    """The same in two parts, the answer first; the second is left out where it says nothing."""
    honest = study.significant_views
    if study.is_provisional and not honest:
        found = count(len(study.views), "grouping")
        when = "A first look" if study.settings.get("to_come") else "Stopped early"
        return (f"{when}: {found} found so far, not yet held against chance.",)
    if not honest:
        parts = (_no_time(study), searched(study), _power(study), _but_stable(study))
        more = [part for part in parts if part]
        return (_nothing(study), *([" ".join(more)] if more else []))
    number = NUMBERS[len(honest)] if len(honest) < len(NUMBERS) else str(len(honest))
    ways = "way" if len(honest) == 1 else "ways"
    sizes = [str(view.n_clusters) for view in honest]
    alike = len(sizes) > 1 and len(set(sizes)) == 1
    into = f"each into {sizes[0]}" if alike else f"into {joined(sizes)}"
    noun = "cluster" if set(sizes) == {"1"} else "clusters"
    text = f"{number.capitalize()} {ways} to group the rows, {into} {noun}{_of_which(honest)}"
    if len(honest) > 1:
        text += f"; {_how_different(study, [view.number - 1 for view in honest])}"
    less = " ".join(part for part in (_no_time(study), _not_claimed(honest)) if part)
    return (f"{text}. {_how_sure(study)}", *([less] if less else []))


def probability(
    p_value: float,
    n_tables: int = 0,
    n_ideas: int = 1,
    interval: tuple[float, float] | None = None,
) -> str:
    """A p-value in words; so far out in a tail its digits mean nothing.

    Smaller than counting ``n_tables`` tables without groups can give, it is read from a tail that
    was fitted to them, and that is said. It is multiplied by the number of ideas tried, and so is
    the counted bound.

    >>> probability(0.0123), probability(3e-40)
    ('p = 0.012', 'p < 0.001')
    >>> probability(3e-40, n_tables=40)
    'p < 0.001 (fitted tail; none of 40 tables without groups came as far)'
    >>> probability(3e-4, n_tables=40, interval=(2e-9, 0.0021))
    'p < 0.001 (fitted tail, 95 % interval up to 0.0021; none of 40 tables without groups came as \
far)'
    """
    text = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
    how = fitted_tail(p_value, n_tables, n_ideas, interval)
    return f"{text} ({how})" if how else text


def fitted_tail(
    p_value: float,
    n_tables: int,
    n_ideas: int = 1,
    interval: tuple[float, float] | None = None,
    *,
    in_percent: bool = False,
) -> str:
    """How a p-value smaller than counting can give was got, with its interval; else nothing.

    >>> fitted_tail(1e-5, 20, interval=(0.0, 3e-6)), fitted_tail(0.2, 20)
    ('fitted tail, 95 % interval up to 3e-06; none of 20 tables without groups came as far', '')
    >>> fitted_tail(1e-3, 20, interval=(0.0, 0.016), in_percent=True)[:39]
    'fitted tail, 95 % interval up to 1.6 %;'
    """
    bound = counted_bound(p_value, n_tables, n_ideas)
    if not bound:
        return ""
    words = _percent_words if in_percent else interval_words
    within = "" if interval is None else f", 95 % interval {words(interval)}"
    return f"fitted tail{within}; {bound}"


def interval_words(interval: tuple[float, float]) -> str:
    """An interval of a probability; ends below one in a million are not told apart.

    >>> interval_words((0.0012, 0.034)), interval_words((1e-9, 0.034)), interval_words((0, 1e-9))
    ('0.0012 to 0.034', 'up to 0.034', 'below 1e-6')
    """
    low, high = interval
    if high < 1e-6:
        return "below 1e-6"
    return f"up to {high:.2g}" if low < 1e-6 else f"{low:.2g} to {high:.2g}"


def _percent_words(interval: tuple[float, float]) -> str:
    low, high = (100 * end for end in interval)
    if high < 1e-4:
        return "below 0.0001 %"
    return f"up to {high:.2g} %" if low < 1e-4 else f"{low:.2g} to {high:.2g} %"


def counted_bound(p_value: float, n_tables: int, n_ideas: int = 1) -> str:
    """What counting alone says, where a p-value is smaller than that; else nothing.

    >>> counted_bound(1e-5, 20, 2), counted_bound(0.2, 20, 2)
    ('none of 20 tables without groups came as far', '')
    """
    if not n_tables or not p_value < n_ideas / (n_tables + 1) - 1e-12:
        return ""
    return f"none of {count(n_tables, 'table')} without groups came as far"


def _no_time(study: Study) -> str:
    """What was left out because the time was over, as a sentence; nothing where that is not so."""
    left = study.settings.get("left_out")
    return f"The time was over before all was done: without {left}." if left else ""


def searched(study: Study) -> str:
    """What was tried, as a sentence; nothing where that is not known."""
    finders = {result.finder for result in study.results}
    ideas = [IDEAS.get(idea, idea) for idea in ideas_tried(study)]
    runs = study.settings.get("runs")
    parts = []
    if runs:
        runs_of = f" of {count(len(finders), 'finder')}" if finders else ""
        parts.append(f"{count(int(runs), 'run')}{runs_of} gave "
                     f"{count(len(study.results), 'different grouping')}")  # fmt: skip
    elif study.results:
        parts.append(f"{count(len(study.results), 'grouping')} of {count(len(finders), 'finder')}")
    if ideas:
        parts.append(f"looked for: {joined(ideas)}")
    n_tables = len(study.chance) + len(study.curve_chance)
    if n_tables:
        parts.append(f"compared with {count(n_tables, 'table')} without groups")
    return f"What was searched: {'; '.join(parts)}." if parts else ""


def ideas_tried(study: Study) -> list[str]:
    """The ideas of a group that were looked for."""
    return [idea for idea in str(study.settings.get("ideas", "")).split(", ") if idea]


def joined(words: list[str]) -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _nothing(study: Study) -> str:
    text = "No grouping better than chance"
    if not study.chance and all(math.isnan(view.p_value) for view in study.views):
        return f"{text} is known: nothing was held against tables without groups."
    if study.results and not study.views and max(r.score for r in study.results) <= 0:
        return (
            f"{text}: every grouping that the search found describes the rows worse than one cloud "
            "does, and tables like this one that have no groups give as much."
        )
    return (
        f"{text}: what the search found here it also finds in tables like this one that have no "
        "groups."
    )


def _power(study: Study) -> str:
    return "" if study.power is None else study.power.words()


def _but_stable(study: Study) -> str:
    """A word on a grouping that can't be claimed and yet comes back."""
    stable = [view for view in study.views if view.stability >= STABLE]
    if not stable:
        return ""
    best = stable[0]
    return (
        f"View {best.number}, into {count(best.n_clusters, 'cluster')}, does come back on samples "
        "of the rows: those tables keep how the columns go together, so a mere gradient, or the "
        "levels of a few columns, is not told from chance. Look at its features."
    )


def _not_claimed(honest: Sequence[View]) -> str:
    """Which clusters of the views can't be claimed."""
    some, every = [], []
    for view in honest:
        left = int((~view.claimed_clusters).sum())
        if left == view.n_clusters:
            every.append(str(view.number))
        elif left:
            some.append(f"{left} of the {view.n_clusters} of view {view.number}")
    parts = [f"Clusters that are not claimed: {joined(some)}."] if some else []
    if every:
        of_views = f"view{'s' * (len(every) > 1)} {joined(every)}"
        parts.append(f"No single cluster of {of_views} can be claimed, only that there are groups.")
    return " ".join(parts)


def _of_which(honest: Sequence[View]) -> str:
    """How many of the clusters can be claimed, where not all can."""
    claimed = sum(int(view.claimed_clusters.sum()) for view in honest)
    total = sum(view.n_clusters for view in honest)
    if claimed == total:
        return ""
    of_all = f" of the {total}" if len(honest) > 1 else ""
    return f", of which {claimed or 'none'}{of_all} can be claimed"


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
    worst = max(honest, key=lambda view: view.p_value)
    upwards = np.ceil(1000 * worst.p_value - 1e-9) / 10
    chance = "less than 0.1 %" if worst.p_value < 0.001 else f"at most {upwards:.1f} %"
    interval = worst.p_interval
    how = fitted_tail(worst.p_value, worst.n_tables, worst.n_ideas, interval, in_percent=True)
    fitted = f" ({how})" if how else ""
    if how and interval is not None and 100 * interval[1] > max(upwards, 0.1):
        # What is read from a tail is no bound: the interval goes beyond it.
        chance = f"about {max(upwards, 0.1):.1f} %"
    text = f"Chance alone would give as clear a grouping with probability {chance}{fitted}"
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
        f"chance could give it, too ({best.chance})."
    )
