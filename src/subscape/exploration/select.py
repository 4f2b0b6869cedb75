"""Which groupings to report: those that together tell most about the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import chdtri

from subscape.core.types import BoolArray, IndexArray, IntArray
from subscape.validation.criteria import SIGNIFICANCE_LEVEL

from .information import joint_labels, novelty
from .separation import (
    LEAST_ENTROPY,
    SLICED,
    Grouping,
    GroupingScorer,
    Separation,
    in_earnest,
)

#: A grouping must gain, per nat that it tells, this share of what the best one gains.
LEAST_RATE = 0.15
#: What a finer grouping adds to a coarser one must gain this share of the coarser one's rate: with
#: groups 16 standard deviations apart, each of groups 5 apart, it is .57 (the ratio of the logs).
LEAST_SHARE = 0.5
#: A view must tell at least this share of its information beyond the others.
LEAST_NOVELTY = 0.4
#: Share of its information that an independent grouping has in common with others by chance.
CHANCE = 0.1
#: Information that a finer grouping may lack of a coarser one.
SLACK = 0.2
#: At most so many groupings are looked at, and rows of the table, and views reported.
MOST_LOOKED_AT = 120
MOST_ROWS = 4000
MOST_VIEWS = 12
#: Groupings that are tried in the place of one, and those of which pairs are exchanged.
MOST_SWAPS = 6
MOST_PAIRED = 5
#: Nats per row by which a change must be better.
LEAST_CHANGE = 1e-3
MOST_CHANGES = 30


@dataclass(frozen=True)
class Chosen:
    """A grouping that is reported.

    Attributes
    ----------
    place : int
        Among those given.
    score : float
        The smaller of two: in the table, and in what the better ones leave of it.
    """

    place: int
    score: float


def choose_views(
    scorer: GroupingScorer,
    labels: Sequence[IntArray],
    known: Sequence[IntArray] = (),
    memberships: Sequence[BoolArray] | None = None,
) -> list[Chosen]:
    """Choose groupings that together describe the table best, the clearest first.

    Each is scored in what is left of the table without the directions of all the others. So a
    product of two groupings is worth less than the two (it needs more clusters for the same), a
    mixture or a coarser version less than the grouping itself, and a repetition nothing. The
    choice begins with the clearest, goes on with the clearest in what is left, and is then changed
    (one dropped, exchanged, or replaced by several) as long as that describes more.

    Parameters
    ----------
    scorer : GroupingScorer
        Of the table.
    labels : sequence of label vectors
        The groupings to choose from.
    known : sequence of label vectors
        Groupings that shall not be reported again.
    memberships : sequence of bool arrays of shape (n_clusters, n_rows), optional
        Of the groupings, where rows may be in several clusters.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.repeat([0, 1], 60), np.tile([0, 1], 60)
    >>> noise = np.random.default_rng(0).normal(size=(120, 3))
    >>> Z = noise + 6 * np.column_stack([a, b, 0 * a])
    >>> sorted(chosen.place for chosen in choose_views(GroupingScorer(Z), [a, b, 2 * a + b]))
    [0, 1]
    """
    if not len(labels):
        return []
    rows: slice | IndexArray = slice(None)
    if len(scorer.Z) > MOST_ROWS:
        rows = np.linspace(0, len(scorer.Z) - 1, MOST_ROWS).astype(np.intp)
    members = [None] * len(labels) if memberships is None else [m[:, rows] for m in memberships]
    groupings = list(zip([each[rows] for each in labels], members, strict=True))
    search = _Search(scorer.on_rows(rows), groupings, [each[rows] for each in known])
    return search.ordered(search.improved(search.extended(())))


class _Search:
    def __init__(
        self, scorer: GroupingScorer, groupings: Sequence[Grouping], known: Sequence[IntArray]
    ) -> None:
        self.scorer = scorer
        self.given: list[Grouping] = [(labels, None) for labels in known]
        self.known = np.zeros(len(scorer.Z), dtype=np.int64)
        for given in known:
            self.known = joint_labels(self.known, given)
        self._fresh: dict[tuple[int, frozenset[int]], float] = {}
        self._seen: dict[tuple[int, frozenset[int]], Separation] = {}
        self._gains: dict[tuple[int, frozenset[int]], float] = {}
        #: The last one is kept: many groupings in a row are scored in the same rest.
        self._rest: tuple[frozenset[int], GroupingScorer] | None = None
        #: The same for what others tell, and pairs of which one is a finer version of the other.
        self._joint: tuple[frozenset[int], IntArray] | None = None
        self._is_finer: dict[tuple[int, int], bool] = {}
        self.groupings = groupings
        self.labels = [labels for labels, _ in groupings]
        self.told = [scorer(*each) for each in groupings]
        self.whole = [over_normal(each) for each in self.told]
        scores = np.array([found.score for found in self.whole])
        order = np.argsort(-scores, kind="stable")[:MOST_LOOKED_AT]
        self.places = [int(i) for i in order if scores[i] > 0]
        self.places = self.without_repetitions()
        self.places = [i for i in self.places if not self.is_overdone(i)]
        self.cost = LEAST_RATE * float(scores.max(initial=0.0))

    def without_repetitions(self) -> list[int]:
        """Places of groupings that part the rows in different ways.

        Among clouds noise is a group like the others. Where one finder calls a whole group noise
        and another a cluster, both tell the same, and the one with fewer rows in none is kept.
        """
        kept: dict[bytes | int, int] = {}
        for place in self.places:
            key: bytes | int = place
            if self.told[place].over_normal > -np.inf:  # boxes may overlap
                groups, _ = in_earnest(self.labels[place])
                _, first, group = np.unique(groups, return_index=True, return_inverse=True)
                key = np.argsort(np.argsort(first))[group].tobytes()
            other = kept.setdefault(key, place)
            if (self.labels[place] < 0).sum() < (self.labels[other] < 0).sum():
                kept[key] = place
        places = set(kept.values())
        return [place for place in self.places if place in places]

    def is_overdone(self, place: int) -> bool:
        """Whether coarser groupings are far clearer than what this one adds to them.

        Of several coarser ones those count together that have nothing to do with each other: a
        product of two clear groupings, with faint details within, is not one grouping.
        """
        if not self.told[place].over_normal > -np.inf:
            return False  # boxes may overlap
        apart: list[int] = []
        for other in self.coarser(place, self.places):  # the clearest first
            if self.adds_little(place, [other]):
                return True
            if self.fresh(other, apart) >= 1 - CHANCE:
                apart.append(other)
                if self.adds_little(place, apart):
                    return True
        return False

    def adds_little(self, place: int, others: Sequence[int]) -> bool:
        """Whether a grouping gains, per nat told beyond independent others, far less than they."""
        fine, coarser = self.whole[place], [self.whole[i] for i in others]
        gain, entropy = sum(each.gain for each in coarser), sum(each.entropy for each in coarser)
        coarse = replace(coarser[0], gain=gain, entropy=entropy)
        more = fine.entropy - entropy
        return more > 0 and is_less_clear(fine.gain - gain, more, coarse)

    def scored(self, place: int, others: Iterable[int]) -> Separation:
        """A grouping in what others leave of the table."""
        others = frozenset(others)
        key = (place, others)
        if key not in self._seen:
            if self._rest is None or self._rest[0] != others:
                taken_out = [*self.given, *(self.groupings[i] for i in sorted(others))]
                self._rest = others, self.scorer.rest(taken_out)
            self._seen[key] = self._rest[1](*self.groupings[place])
        return self._seen[key]

    def gain(self, place: int, others: Iterable[int], *, over_hump: bool = False) -> float:
        """Nats per row that a grouping gains in what others leave of the table.

        Groupings that have nothing to do with each other are a little correlated by chance: with
        each direction taken out, about one part in n of the spread between the clusters becomes
        spread within them. As much as chance may blur a grouping, at the level of all claims, is
        made up for, if by its labels it is as good as independent of the others.
        """
        others = frozenset(others)
        if over_hump:
            return self._gain(place, others, over_hump=True)
        key = (place, others)
        if key not in self._gains:
            self._gains[key] = self._gain(place, others, over_hump=False)
        return self._gains[key]

    def _gain(self, place: int, others: frozenset[int], *, over_hump: bool) -> float:
        found, whole = self.scored(place, others), self.told[place]
        if not over_hump:
            found, whole = over_normal(found), self.whole[place]
        if self.fresh(place, others) < 1 - CHANCE:
            return min(whole.gain, found.gain)
        taken_out = sum(len(self.whole[i].ratios) for i in others)
        parts = chdtri(taken_out, SIGNIFICANCE_LEVEL) / len(self.known) if taken_out else 0.0
        blurred = 0.5 * np.log1p(parts * whole.ratios).sum()
        return float(min(whole.gain, found.gain + blurred))

    def score(self, place: int, others: Iterable[int]) -> float:
        """The same per nat that it tells."""
        return replace(self.whole[place], gain=self.gain(place, others)).score

    def worth(self, place: int, others: Iterable[int]) -> float:
        """Nats per row that a grouping adds to others, less what it must gain at least."""
        return self.gain(place, others) - self.cost * self.whole[place].entropy

    def value(self, chosen: Sequence[int]) -> float:
        """Nats per row that a choice tells."""
        return sum(self.worth(i, set(chosen) - {i}) for i in chosen)

    def fresh(self, place: int, others: Iterable[int]) -> float:
        """Share of what a grouping tells that others, and what is known, don't."""
        others = frozenset(others)
        key = (place, others)
        if key not in self._fresh:
            if self._joint is None or self._joint[0] != others:
                joint = self.known
                for other in sorted(others):
                    joint = joint_labels(joint, self.labels[other])
                self._joint = others, joint
            self._fresh[key] = novelty(self.labels[place], self._joint[1])
        return self._fresh[key]

    def candidates(self, chosen: Sequence[int]) -> list[int]:
        """What could be added to a choice."""
        if len(chosen) >= MOST_VIEWS:
            return []
        return [
            i
            for i in self.places
            if i not in chosen
            and self.worth(i, chosen) > LEAST_CHANGE
            and self.fresh(i, chosen) >= LEAST_NOVELTY
            and not self.coarser(i, chosen)
        ]

    def coarser(self, place: int, chosen: Iterable[int]) -> list[int]:
        """Those chosen of which a grouping is a finer version: groups within groups are one view.

        Its coarser levels are shown with it.
        """
        return [j for j in chosen if j != place and self.is_finer(place, j)]

    def is_finer(self, place: int, other: int) -> bool:
        """Whether a grouping tells nearly all that another one does."""
        key = (place, other)
        if key not in self._is_finer:
            self._is_finer[key] = novelty(self.labels[other], self.labels[place]) <= SLACK
        return self._is_finer[key]

    def clarity(self, place: int, others: Sequence[int]) -> float:
        """How clearly a grouping stands out, in the table and without others, and how new it is."""
        return self.score(place, others) * self.fresh(place, others)

    def extended(self, chosen: tuple[int, ...], barred: int = -1) -> tuple[int, ...]:
        """A choice with the clearest of the rest added, and so on."""
        while True:
            able = [i for i in self.candidates(chosen) if i != barred]
            if not able:
                return chosen
            longer = (*chosen, max(able, key=lambda i: self.clarity(i, chosen)))
            if self.value(longer) <= self.value(chosen) + LEAST_CHANGE:
                return chosen
            chosen = longer

    def improved(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """Change a choice as long as it tells more."""
        for _ in range(MOST_CHANGES):
            for near in (self.changes, self.changes_of_two):
                best = max(near(chosen), key=self.value, default=chosen)
                if self.value(best) > self.value(chosen) + LEAST_CHANGE:
                    chosen = best
                    break
            else:
                break
        return chosen

    def changes(self, chosen: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Choices with one grouping dropped or exchanged, or several merged into one."""
        near = []
        for place in chosen:
            less = tuple(i for i in chosen if i != place)
            near += [less, self.extended(less, barred=place)]
            able = sorted(self.candidates(less), key=lambda i: -self.worth(i, less))
            near += [(*less, i) for i in able[:MOST_SWAPS] if i != place]
        for i in self.places:
            # Clusters of two that are reported may be merged clusters of one.
            told = self.coarser(i, chosen)
            if len(told) > 1 and i not in chosen:
                near.append((*(j for j in chosen if j not in told), i))
        return near

    def changes_of_two(self, chosen: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Choices with two groupings exchanged: each may have had a part of the other."""
        near = []
        for pair in combinations(chosen[:MOST_PAIRED], 2):
            less = tuple(i for i in chosen if i not in pair)
            able = sorted(self.candidates(less), key=lambda i: -self.clarity(i, less))
            for first in able[:MOST_SWAPS]:
                one = (*less, first)
                rest = self.candidates(one)
                if rest:
                    near.append((*one, max(rest, key=lambda i: self.worth(i, one))))
        return near

    def ordered(self, chosen: Sequence[int]) -> list[Chosen]:
        """The choice from the clearest to the least clear, each without those before."""
        left = list(chosen)
        done: list[Chosen] = []
        while left:
            before = [one.place for one in done]
            scores = [self._shown(i, before) for i in left]
            first = int(np.argmax(scores))
            done.append(Chosen(left.pop(first), scores[first]))
        return done

    def _shown(self, place: int, others: Sequence[int]) -> float:
        """The score that is told: over one hump, in what others leave of the table."""
        gain = self.gain(place, others, over_hump=True)
        return float(replace(self.told[place], gain=gain).score)


def is_less_clear(gain: float, entropy: float, coarse: Separation) -> bool:
    """Whether a finer grouping gains, per nat that it tells more, far less than a coarser one."""
    return gain / entropy < LEAST_SHARE * coarse.gain / max(coarse.entropy, LEAST_ENTROPY)


def over_normal(found: Separation) -> Separation:
    """A separation by its gain over one normal distribution, where it has that.

    Which of several groupings to report is decided by this: it is the same however the directions
    are turned, so that a product of groupings gains what these do.
    """
    if not found.over_normal > -np.inf:
        return found
    return replace(found, gain=found.over_normal - SLICED, sliced=0.0)
