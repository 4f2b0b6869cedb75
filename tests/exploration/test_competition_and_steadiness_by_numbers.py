"""Which of several views is shown, and which stands for another, case by case."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from subscape.exploration import competition, steadiness
from subscape.exploration.assembly import AssessedView
from subscape.exploration.assess import NullMaxima, ViewStability
from subscape.exploration.competition import are_pieces, merged_ideas
from subscape.exploration.steadiness import replace_unstable_views
from subscape.exploration.views import Consensus

FOUR = np.repeat([0, 1, 2, 3], 15)
TWO = FOUR // 2
#: Crosses them all.
CROSSED = np.tile([0, 1, 2], 20)


@dataclass(eq=False)
class Shown:
    """What the competition asks of a view that was assessed."""

    labels: np.ndarray
    p: float
    kind: str | None = None
    stability: float | None = 0.9
    note: str = ""
    are_pieces: bool = False
    name: str = field(default="", compare=False)

    @property
    def p_value(self):
        return 1.0 if self.are_pieces else self.p

    @property
    def view(self):
        numbers = np.unique(self.labels[self.labels >= 0])
        members = self.labels == numbers[:, None]
        return SimpleNamespace(labels=self.labels, memberships=members, name=self.name)

    @property
    def idea(self):
        if self.kind is None:
            return None
        return SimpleNamespace(idea=self.kind, n_groups=len(self.view.memberships))

    @property
    def again(self):
        return None if self.stability is None else SimpleNamespace(stability=self.stability)


@pytest.fixture(autouse=True)
def pieces(monkeypatch):
    """Clouds are pieces if this says so."""
    said = SimpleNamespace(pieces=False, asked=[])

    def asked(view, n_groups, X):
        said.asked.append((view.name, n_groups, X))
        return said.pieces

    monkeypatch.setattr(competition, "are_pieces", asked)
    return said


def clouds(labels, p=1e-4, name="clouds", **more):
    return Shown(labels, p, name=name, **more)


def shape(labels, p=1e-3, kind="shapes", name="new", **more):
    return Shown(labels, p, kind, name=name, **more)


def merged(outcome, new, few_valued=0.0):
    return merged_ideas(outcome, new, "X", few_valued)


def names(found):
    return [one.name for one in found]


def test_what_is_not_better_than_chance_stands_at_the_end():
    first = clouds(FOUR, name="first")
    assert names(merged([first], shape(CROSSED, 0.0101))) == ["first", "new"]
    assert names(merged([first], shape(CROSSED, float("nan")))) == ["first", "new"]
    # Not if it is listed already, however it is numbered and whoever tells whom.
    for labels in (FOUR, TWO, 3 - FOUR):
        assert names(merged([clouds(CROSSED, name="other"), first], shape(labels, 0.5))) == [
            "other", "first",
        ]  # fmt: skip
    # One that follows no other idea is none.
    assert merged([first], clouds(CROSSED)) == [first]


def test_a_view_beside_others_stands_where_its_p_value_puts_it():
    a, b, c = (
        clouds(FOUR, 1e-5, "a"),
        clouds(CROSSED, 1e-3, "b"),
        clouds(np.arange(60) % 7, 0.5, "c"),
    )
    other = np.arange(60) % 5 // 3 + 2 * (np.arange(60) // 30)
    found = merged([a, b, c], shape(other, 1e-4, "classes"))
    assert names(found) == ["a", "new", "b", "c"]
    assert names(merged([a, b, c], shape(other, 1e-5, "classes"))) == ["a", "new", "b", "c"]
    # Below .001 p-values don't say which is surer: what lies apart goes first.
    assert names(merged([a, b, c], shape(other, 0.99e-3))) == ["new", "a", "b", "c"]
    assert names(merged([a, b, c], shape(other, 1e-3))) == ["a", "b", "new", "c"]
    assert names(merged([a, b, c], shape(other, 0.01))) == ["a", "b", "new", "c"]
    assert names(merged([a, b, c], shape(other, 1e-7))) == ["new", "a", "b", "c"]
    # Classes come first where half of the columns hold levels.
    assert names(merged([a, b, c], shape(other, 0.01, "classes"), 0.5))[0] == "new"
    assert names(merged([a, b, c], shape(other, 0.01, "classes"), 0.49))[2] == "new"
    assert names(merged([a, b, c], shape(other, 0.01), 0.9))[2] == "new"
    assert found[1].note == ""


def test_of_two_ideas_that_tell_the_same_the_surer_one_is_shown():
    a, b = clouds(CROSSED, name="a"), shape(FOUR, 1e-3, "nested", "b")
    assert names(merged([a, b], shape(FOUR, 1e-4))) == ["a", "new"]
    assert names(merged([a, b], shape(FOUR, 1e-3))) == ["a", "b"]
    assert names(merged([a, b], shape(FOUR, 2e-3))) == ["a", "b"]
    beside = np.arange(60) % 2
    assert names(merged([b], shape(beside, 2e-3))) == ["b", "new"]


def test_a_view_takes_the_place_of_all_its_versions():
    kinds = zip((CROSSED, FOUR, TWO, FOUR), "abcd", strict=True)
    a, b, c, d = (clouds(each, 0.5, name) for each, name in kinds)
    found = merged([a, b, c, d], shape(FOUR, name="new"))
    assert names(found) == ["a", "new"]
    assert found[1].note == (
        "; as clouds they would be 4 clusters, no clearer than chance makes them"
    )
    # The sure one of them is told about.
    c = clouds(np.where(TWO, 1, -1), 0.01, "c", stability=0.1)
    found = merged([b, c], shape(FOUR, name="new"))
    assert names(found) == ["new"] and found[0].note == "; as clouds they would be 1 cluster"


def test_classes_or_clouds():
    sure, unsure = clouds(FOUR, 0.01), clouds(FOUR, 0.011)
    classes = shape(FOUR, kind="classes")
    assert names(merged([sure], classes, 0.49)) == ["clouds"]
    assert names(merged([sure], classes, 0.5)) == ["new"]
    assert names(merged([unsure], classes, 0.0)) == ["new"]


@pytest.mark.parametrize(
    ("new", "one", "known"),
    [
        (0.9, 0.9, "new"), (0.9, 0.91, "clouds"), (0.75, 0.1, "new"), (0.74, 0.1, "clouds"),
        (None, 0.1, "clouds"), (0.9, None, "clouds"),
    ],
)  # fmt: skip
def test_of_sure_versions_with_as_many_groups_the_steadier_one_is_shown(new, one, known):
    found = merged([clouds(FOUR, stability=one)], shape(FOUR, stability=new))
    assert names(found) == [known]
    assert names(merged([clouds(FOUR, 0.5, stability=one)], shape(FOUR, stability=new))) == ["new"]
    # More groups than clouds are the same case.
    found = merged([clouds(TWO, stability=one)], shape(FOUR, stability=new))
    assert names(found) == [known]


def test_fewer_groups_that_clouds_do_not_tell_are_the_same_case(pieces):
    # Clouds that tell less of the groups than the groups of them.
    groups, finer = FOUR, np.where(np.arange(60) < 45, 0, np.arange(60) % 4 + 1)
    from subscape.exploration.information import novelty

    pieces.pieces = True
    assert novelty(finer, groups) > 0.35 >= novelty(groups, groups)
    labels = np.where(FOUR == 3, np.arange(60) % 2 + 3, 0)
    other = np.where(FOUR == 3, 1, 0)
    assert novelty(other, labels) <= 0.35
    assert names(merged([clouds(labels)], shape(other))) == ["new", "clouds"]
    assert pieces.asked == [("clouds", 2, "X")]


def test_clouds_within_groups_of_any_shape(pieces):
    eight = np.arange(60) // 8
    new = shape(TWO)
    assert merged([clouds(eight)], new)[0].note == (
        "clouds; as groups of any shape they would be 2"
    )
    assert names(merged([clouds(eight, 0.5)], new)) == ["new"]
    # Groups that don't come back say nothing about others.
    for stability, known in ((0.75, ["clouds"]), (0.74, ["new", "clouds"]), (None, ["clouds"])):
        outcome = [clouds(eight, 1e-3)]
        assert names(merged(outcome, shape(TWO, 1e-4, stability=stability))) == known
    pieces.pieces = True
    (first, last) = merged([clouds(eight)], new)
    assert (first.name, last.name, last.are_pieces) == ("new", "clouds", True)
    assert last.note == "pieces of the 2 groups of any shape, parted by no valley"
    assert first.note == "; as clouds they would be 8 clusters"
    # Of what is replaced by "other" the rest stays as it is.
    pieces.pieces = False
    found = merged([clouds(CROSSED, name="a"), clouds(eight), clouds(FOUR, name="c")], new)
    assert names(found) == ["a", "clouds", "c"]


# -- pieces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_clouds", "n_groups", "n_merged", "known"),
    [
        (3, 3, 1, False), (3, 2, 2, True), (3, 2, 3, False), (4, 2, 2, True), (5, 2, 3, False),
        (6, 2, 3, True), (6, 2, 4, False), (6, 4, 4, True), (6, 1, 3, True), (8, 3, 4, True),
        (2, 1, 1, True), (2, 2, 1, False), (7, 2, 3, True), (7, 2, 4, False), (4, 3, 3, True),
        (2, 0, 1, True), (3, 1, 1, True), (3, 2, 1, True),
    ],
)  # fmt: skip
def test_clouds_are_pieces_if_most_have_no_valley_between_them(
    monkeypatch, n_clouds, n_groups, n_merged, known
):
    asked = []

    def merge(X, labels):
        asked.append((X, labels))
        merged = np.minimum(np.arange(20), n_merged - 1)
        merged[-1] = -1
        return SimpleNamespace(labels=merged)

    monkeypatch.setattr(competition, "merge_without_valley", merge)
    X = np.random.default_rng(0).normal(size=(20, 7))
    basis = np.eye(7)[:, 1:]
    view = SimpleNamespace(memberships=[None] * n_clouds, labels="labels", basis=basis)
    assert are_pieces(view, n_groups, X) is known
    if asked:
        # In the four clearest directions.
        np.testing.assert_array_equal(asked[0][0], X[:, 1:5])
        assert asked[0][1] == "labels"
    else:
        assert n_clouds <= n_groups


# -- versions that come back ----------------------------------------------------------------------

CHANCE = NullMaxima(tuple(np.linspace(0.0, 0.1, 20)), (0.0,))
FINE = np.tile(np.repeat(np.arange(4), 10), 3)
COARSE = FINE // 2


def grouping(labels, score, place):
    members = labels == np.arange(labels.max() + 1)[:, None]
    return Consensus(
        [], [place], members, labels, np.ones(len(labels)), score, score, 1.0, np.eye(2)
    )


def returned(stability):
    return ViewStability(stability, np.array([]), stability)


def steady(outcome, found, stabilities):
    asked = []

    def again(views):
        asked.append([view.places[0] for view in views])
        return [returned(stabilities.get(view.places[0], 0.0)) for view in views]

    made = replace_unstable_views(
        [AssessedView(view, CHANCE, None if s is None else returned(s)) for view, s in outcome],
        found, CHANCE, again,
    )  # fmt: skip
    return [one.view.places[0] for one in made], asked


@pytest.mark.parametrize(
    ("stability", "looked_at"), [(0.49, True), (0.5, False), (0.6, False), (None, False)]
)
def test_a_view_is_in_doubt_if_it_dissolves(stability, looked_at):
    fine, coarse = grouping(FINE, 0.9, 0), grouping(COARSE, 0.6, 1)
    found, asked = steady([(fine, stability)], [fine, coarse], {1: 0.75})
    assert found == ([1] if looked_at else [0])
    assert asked == ([[1]] if looked_at else [])


def test_a_version_must_come_back_in_three_of_four():
    fine, coarse = grouping(FINE, 0.9, 0), grouping(COARSE, 0.6, 1)
    assert steady([(fine, 0.1)], [fine, coarse], {1: 0.74})[0] == [0]
    # One that gains nothing is none, nor one from the same places.
    assert steady([(fine, 0.1)], [fine, grouping(COARSE, 0.0, 1)], {1: 1.0}) == ([0], [])
    assert steady([(fine, 0.1)], [fine, grouping(COARSE, 1e-9, 1)], {1: 0.1})[1] == [[1]]
    assert steady([(fine, 0.1)], [fine, grouping(COARSE, 0.6, 0)], {0: 1.0}) == ([0], [])


def test_a_version_tells_at_most_three_fifths_beyond_the_view():
    from subscape.exploration.information import novelty

    view = grouping(COARSE, 0.9, 0)
    rng = np.random.default_rng(0)

    def blurred(share):
        return np.where(rng.random(120) < share, rng.integers(0, 2, 120), COARSE)

    made = [blurred(share) for share in np.linspace(0.05, 0.95, 40)]
    tried = 0
    for labels in made:
        new = novelty(labels, COARSE)
        _, asked = steady([(view, 0.1)], [view, grouping(labels, 0.5, 1)], {})
        assert (asked == [[1]]) is bool(new <= 0.6)
        tried += new <= 0.6
    assert 5 < tried < 35
    near = [novelty(labels, COARSE) for labels in made]
    assert any(0.5 < new <= 0.6 for new in near) and any(0.6 < new < 0.7 for new in near)


def test_a_version_tells_something_beyond_all_other_views():
    from subscape.exploration.information import novelty

    fine, rng = grouping(FINE, 0.9, 0), np.random.default_rng(1)
    for share in np.linspace(0.0, 1.0, 30):
        other = np.where(rng.random(120) < share, rng.integers(0, 2, 120), COARSE)
        new = novelty(COARSE, other)
        _, asked = steady(
            [(fine, 0.1), (grouping(other, 0.8, 2), 1.0)], [grouping(COARSE, 0.5, 1)], {}
        )
        assert (asked == [[1]]) is bool(new >= 0.4)


def test_eight_versions_are_tried_the_clearest_first_and_each_is_used_once():
    fine = grouping(FINE, 0.9, 0)
    many = [grouping(COARSE, 0.3 + 0.01 * i, 10 + i) for i in range(12)]
    found, asked = steady([(fine, 0.1)], many, {12: 1.0, 15: 0.8, 14: 1.0})
    assert asked == [[21, 20, 19, 18, 17, 16, 15, 14]] and found == [15]
    # Two views in doubt share their versions; the second one takes the next.
    twin = grouping(np.roll(FINE, 3) * 0 + FINE, 0.8, 1)
    two = [grouping(COARSE, 0.5, 2), grouping(COARSE, 0.4, 3)]
    outcome = [(fine, 0.1), (twin, 0.1)]
    found, asked = steady(outcome, two, {2: 1.0, 3: 1.0})
    assert asked == [] or len(asked[0]) == len(set(asked[0]))
    # A view that is not in doubt stays where it is, and the order, too.
    other = grouping(np.arange(120) % 7, 0.8, 5)
    found, _ = steady([(other, 1.0), (fine, 0.1)], [grouping(COARSE, 0.6, 1)], {1: 1.0})
    assert found == [5, 1]


def test_each_version_is_used_once():
    """Two views that cross each other, and a version that lies between them."""
    a, b = np.repeat([0, 1], 60), np.tile([0, 1], 60)
    version = grouping(2 * a + b, 0.5, 2)
    first, second = grouping(a, 0.9, 0), grouping(b, 0.8, 1)
    found, asked = steady([(first, 0.1), (second, 0.1)], [version], {2: 1.0})
    assert asked == [[2]] and found == [2, 1]
    assert steady([(first, 0.1), (second, 0.6)], [version], {2: 1.0}) == ([2, 1], [[2]])


def test_one_that_is_no_better_than_chance_stands_beside():
    fine = grouping(FINE, 0.9, 0)
    low = grouping(COARSE, 0.11, 1)
    assert CHANCE.p_value(0.11) > 0.01
    assert steady([(fine, 0.1)], [low], {1: 1.0})[0] == [0, 1]
    # Beyond the tables' maxima, just sure enough.
    score = next(s for s in np.linspace(0.1, 0.4, 3000) if CHANCE.p_value(float(s)) <= 0.01)
    assert steady([(fine, 0.1)], [grouping(COARSE, float(score), 1)], {1: 1.0})[0] == [1]
    assert steady([(fine, 0.1)], [grouping(COARSE, float(score) - 2e-4, 1)], {1: 1.0})[0] == [0, 1]
    # A view that is no better than chance itself is not in doubt.
    faint = grouping(FINE, float(score) - 2e-4, 0)
    assert steady([(faint, 0.1)], [grouping(COARSE, 0.6, 1)], {1: 1.0}) == ([0], [])
    assert steady([(grouping(FINE, float(score), 0), 0.1)], [], {})[0] == [0]


def at_the_limit(monkeypatch, p_view=0.001, p_version=0.001, new=0.1, beyond=0.9):
    """Whether a version is tried, and where it stands, with all numbers given."""
    told = SimpleNamespace(
        maxima=(0.0,), curve_maxima=(),
        p_value=lambda score, normal: p_view if score == 0.9 else p_version,
    )  # fmt: skip
    a, version, other = (
        grouping(FINE, 0.9, 0),
        grouping(COARSE, 0.5, 1),
        grouping(FINE.copy(), 0.7, 2),
    )
    novelties = {(1, 0): new, (1, 2): beyond}
    names = {id(a.labels): 0, id(version.labels): 1, id(other.labels): 2}
    monkeypatch.setattr(
        steadiness, "novelty",
        lambda one, two: novelties.get((names[id(one)], names[id(two)]), float("nan")),
    )  # fmt: skip
    made = replace_unstable_views(
        [AssessedView(a, told, returned(0.1)), AssessedView(other, told, returned(1.0))],
        [version], told, lambda views: [returned(1.0) for _ in views],
    )  # fmt: skip
    return [one.view.places[0] for one in made]


def test_limits_are_met_exactly(monkeypatch):
    assert at_the_limit(monkeypatch) == [1, 2]
    assert at_the_limit(monkeypatch, p_view=0.01) == [1, 2]
    assert at_the_limit(monkeypatch, p_view=0.0101) == [0, 2]
    assert at_the_limit(monkeypatch, p_version=0.01) == [1, 2]
    assert at_the_limit(monkeypatch, p_version=0.0101) == [0, 1, 2]
    assert at_the_limit(monkeypatch, new=0.6) == [1, 2]
    assert at_the_limit(monkeypatch, new=0.601) == [0, 2]
    assert at_the_limit(monkeypatch, beyond=0.4) == [1, 2]
    assert at_the_limit(monkeypatch, beyond=0.399) == [0, 2]
