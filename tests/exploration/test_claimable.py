"""Of several versions of a grouping, one that chance doesn't give is shown first."""

from types import SimpleNamespace

import numpy as np
import pytest

from subscape.exploration import exploration
from subscape.exploration.exploration import Exploration, _clearest
from subscape.exploration.study import as_table
from subscape.exploration.views import Consensus
from subscape.validation.max_statistic import NullMaxima

#: Chance that scores above about 1.4 are beyond, for two ideas of a group.
CHANCE = NullMaxima(tuple(np.linspace(0.0, 0.5, 40)), ())


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    halves = np.repeat([0, 1], 60)
    other = np.tile([0, 1], 60)
    X = rng.normal(size=(120, 4))
    X[:, 0] += 9 * halves
    X[:, 2] += 9 * other
    return X, halves, other


def a_view(job, labels, score, normal=-np.inf):
    told = job.scorer(labels)
    return Consensus(
        members=[], places=[], memberships=np.array([labels == k for k in np.unique(labels)]),
        labels=labels, row_confidence=np.ones(len(labels)), score=score, gain=told.gain,
        entropy=told.entropy, basis=told.basis, normal_score=normal,
    )  # fmt: skip


@pytest.fixture
def job(table, monkeypatch):
    job = Exploration(as_table(table[0]), effort="quick", progress=False)
    # Scores are what the tests say, and the ranking keeps them.
    monkeypatch.setattr(job, "_as_compared", lambda view: view)
    monkeypatch.setattr(exploration, "ranked", lambda views, scorer, known: list(views))
    return job


def test_the_version_that_is_sure_takes_the_place_of_the_one_that_is_not(job, table):
    X, halves, _ = table
    sliced = np.where((halves == 1) & (X[:, 1] > 0), 2, halves)
    fine, coarse = a_view(job, sliced, 0.6), a_view(job, halves, 3.0)
    assert job._claimable_first([fine], [fine, coarse], CHANCE) == [coarse]


def test_what_is_something_else_stays_behind_it(job, table):
    X, halves, other = table
    sliced = np.where((halves == 1) & (X[:, 1] > 0), 2, halves)
    fine, coarse, unsure = (
        a_view(job, labels, score) for labels, score in ((sliced, 0.6), (halves, 3.0), (other, 0.7))
    )
    found = [unsure, fine, coarse]
    assert job._claimable_first([unsure, fine], found, CHANCE) == [coarse, unsure]


def test_views_that_are_sure_or_all_unsure_stay_as_they_are(job, table):
    _, halves, other = table
    sure, surer, unsure = (
        a_view(job, labels, score) for labels, score in ((halves, 3.0), (other, 9.0), (other, 0.6))
    )
    views = [sure]
    assert job._claimable_first(views, [sure, surer], CHANCE) is views
    assert job._claimable_first([unsure], [unsure], CHANCE) == [unsure]


def test_sure_means_for_all_ideas_that_are_tried(job, table):
    _, halves, other = table
    scores = np.linspace(0.6, 3.0, 400)
    alone = [CHANCE.p_value(score) for score in scores]
    # Clouds and groups of any shape are looked for in four columns of numbers.
    assert job._n_ideas == 2
    between = scores[np.flatnonzero((np.array(alone) > 0.005) & (np.array(alone) < 0.01))[0]]
    beyond = scores[np.flatnonzero(np.array(alone) < 0.005)[0]]
    unsure = a_view(job, other, 0.6)
    one, two = a_view(job, halves, between), a_view(job, halves, beyond)
    assert job._claimable_first([unsure], [unsure, one], CHANCE) == [unsure]
    assert job._claimable_first([unsure], [unsure, two], CHANCE) == [two, unsure]


def test_not_along_a_curve_for_which_no_tables_were_drawn(job, table, monkeypatch):
    _, halves, other = table
    unsure, sure = a_view(job, other, 0.6), a_view(job, halves, 3.0)
    asked = []

    def seen_curve(X, basis, numbers, seed):
        asked.append((X.shape[0], basis.shape[1]))
        return "ring in the view"

    monkeypatch.setattr(exploration, "seen_curve", seen_curve)
    assert job._claimable_first([unsure], [unsure, sure], CHANCE) == [unsure]
    assert asked == [(120, sure.basis.shape[1])]
    # Where such tables were drawn, the p-value holds for them, too.
    low = tuple(np.linspace(0.0, 0.5, 40))
    bent = NullMaxima(low, (), low)
    job.journal = SimpleNamespace(decide=None)
    assert job._claimable_first([unsure], [unsure, sure], bent) == [sure, unsure]


def test_the_clearest_groupings_are_what_chance_is_asked_about(job, table):
    _, halves, other = table
    first, second = a_view(job, halves, 3.0, 1.0), a_view(job, other, 2.0, 5.0)
    third = a_view(job, other, 1.0, 0.5)
    assert _clearest([third, first, second]) == [first, second]
    assert _clearest([third, a_view(job, halves, 0.5, 0.1)]) == [third]
    assert _clearest([]) == []


def test_chance_is_asked_about_the_clearest_grouping_as_well(table, monkeypatch):
    X, halves, other = table
    job = Exploration(as_table(X), effort="quick", progress=False)
    told = {}

    def chance_maxima(*args, **options):
        told.update(options)
        raise InterruptedError

    monkeypatch.setattr(exploration, "chance_maxima", chance_maxima)
    views = [a_view(job, halves, 0.4, 0.3)]
    job._known = (job.candidates, [views[0], a_view(job, other, 0.6, 0.2)], views)
    with pytest.raises(InterruptedError):
        job.tested(views)
    assert told["scores"] == [(0.4, 0.3), (0.6, 0.2), (0.4, 0.3)]
    assert told["n_ideas"] == 2
