"""Versions of views that come back where the views themselves don't."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.exploration.assembly import AssessedView
from subscape.exploration.assess import NullMaxima, ViewStability
from subscape.exploration.steadiness import MOST_TRIED, replace_unstable_views
from subscape.exploration.views import Consensus

#: Scores from about 0.3 on are better than chance.
CHANCE = NullMaxima(tuple(np.linspace(0.0, 0.1, 20)), (0.0,))
FINE = np.tile(np.repeat(np.arange(4), 10), 3)
COARSE = FINE // 2
OTHER = np.repeat(np.arange(3), 40)


def grouping(labels, score, place):
    members = labels == np.arange(labels.max() + 1)[:, None]
    return Consensus(
        members=[], places=[place], memberships=members, labels=labels,
        row_confidence=np.ones(len(labels)), score=score, gain=score, entropy=1.0,
        basis=np.eye(2),
    )  # fmt: skip


def returned(stability):
    return ViewStability(stability, np.array([]), stability)


class Samples:
    """Stands in for the searches on samples: a stability for every place."""

    def __init__(self, stabilities):
        self.stabilities, self.asked = stabilities, []

    def __call__(self, views):
        self.asked += [view.places[0] for view in views]
        return [returned(self.stabilities[view.places[0]]) for view in views]


def outcome(*pairs):
    return [AssessedView(view, CHANCE, returned(stability)) for view, stability in pairs]


def places(result):
    return [one.view.places[0] for one in result]


fine, coarse, other = (
    grouping(labels, score, place)
    for place, (labels, score) in enumerate([(FINE, 0.9), (COARSE, 0.6), (OTHER, 0.8)])
)


def test_a_steady_version_that_is_better_than_chance_takes_the_place():
    again = Samples({1: 0.95})
    result = replace_unstable_views(
        outcome((fine, 0.3), (other, 1.0)), [fine, coarse, other], CHANCE, again
    )
    assert places(result) == [1, 2]
    assert result[0].again.stability == 0.95 and again.asked == [1]


def test_one_that_is_not_is_put_beside_it():
    faint = grouping(COARSE, 0.12, 1)
    assert CHANCE.p_value(faint.score) > 0.01 > CHANCE.p_value(fine.score)
    result = replace_unstable_views(outcome((fine, 0.3)), [fine, faint], CHANCE, Samples({1: 0.95}))
    assert places(result) == [0, 1]


def test_a_version_that_does_not_come_back_either_helps_nothing():
    result = replace_unstable_views(outcome((fine, 0.3)), [fine, coarse], CHANCE, Samples({1: 0.7}))
    assert places(result) == [0]


@pytest.mark.parametrize("stability, score", [(0.6, 0.9), (0.2, 0.05)])
def test_only_claimed_views_in_doubt_are_looked_at(stability, score):
    again = Samples({1: 1.0})
    view = grouping(FINE, score, 0)
    assert places(
        replace_unstable_views(outcome((view, stability)), [view, coarse], CHANCE, again)
    ) == [0]
    assert again.asked == []


def test_other_views_and_their_likes_are_no_versions():
    like_other = grouping(np.where(OTHER == 2, 1, OTHER), 0.7, 3)
    unrelated = grouping(np.random.default_rng(0).integers(0, 2, 120), 0.7, 4)
    again = Samples({})
    shown = outcome((fine, 0.3), (other, 1.0))
    result = replace_unstable_views(shown, [fine, other, like_other, unrelated], CHANCE, again)
    assert places(result) == [0, 2] and again.asked == []


def test_the_clearest_steady_version_is_taken_and_few_are_tried():
    many = [grouping(COARSE, 0.5 + 0.01 * i, 10 + i) for i in range(MOST_TRIED + 4)]
    again = Samples({view.places[0]: 0.9 if view.score < 0.6 else 0.1 for view in many})
    result = replace_unstable_views(outcome((fine, 0.3)), [fine, *many], CHANCE, again)
    assert len(again.asked) == MOST_TRIED
    assert places(result) == [19]
