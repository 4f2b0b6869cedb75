"""The answer in words, word by word, and how strong a grouping would have had to be."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from subscape.exploration import power, verdict
from subscape.exploration.power import Power
from subscape.validation.max_statistic import NullMaxima


def view(number, n_clusters=3, p_value=1e-4, stability=0.9, claimed=None, **more):
    known = {
        "number": number, "n_clusters": n_clusters, "p_value": p_value, "stability": stability,
        "claimed_clusters": np.ones(n_clusters, bool) if claimed is None else np.array(claimed),
        "n_tables": 0, "n_ideas": 1, "p_interval": None, "chance": f"chance {number}",
    }  # fmt: skip
    return SimpleNamespace(**known | more)


def study(*views, between=None, **more):
    honest = [v for v in views if v.p_value <= 0.01]
    known = {
        "views": views, "significant_views": honest, "is_provisional": False, "settings": {},
        "results": (), "chance": (0.1,) * 20, "curve_chance": (), "power": None, "LEVEL": 0.01,
        "between_views": np.zeros((len(views),) * 2) if between is None else np.array(between),
    }  # fmt: skip
    return SimpleNamespace(**known | more)


SAID = "Chance alone would give as clear a grouping with probability "
NOTHING = (
    "No grouping better than chance: what the search found here it also finds in tables like this "
    "one that have no groups."
)


def test_one_way():
    found = verdict.paragraphs(study(view(1)))
    assert found == (
        "One way to group the rows, into 3 clusters. "
        f"{SAID}less than 0.1 %; it comes back on samples of the rows.",
    )
    assert verdict.verdict(study(view(1))) == found[0]
    assert "into 1 cluster. " in verdict.paragraphs(study(view(1, 1)))[0]
    two = verdict.paragraphs(study(view(1, 1), view(2, 1), view(3, 1)))[0]
    assert two.startswith("Three ways to group the rows, each into 1 cluster; ")
    mixed = verdict.paragraphs(study(view(1, 1), view(2, 2)))[0]
    assert mixed.startswith("Two ways to group the rows, into 1 and 2 clusters; ")


def test_many_ways_are_numbers():
    ten = verdict.paragraphs(study(*(view(i) for i in range(1, 11))))[0]
    assert ten.startswith("Ten ways to group the rows, each into 3 clusters; ")
    more = verdict.paragraphs(study(*(view(i) for i in range(1, 12))))[0]
    assert more.startswith("11 ways to group")
    assert verdict.NUMBERS == (
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        ((0.0999, 0.0, 0.0), "they have next to nothing in common"),
        ((0.1, 0.0, 0.0),
         "two of them share up to 10 % of their information, the least alike 0 %"),
        ((0.501, 0.6, 0.9), "they are variants of each other"),
        ((0.5, 0.6, 0.904),
         "two of them share up to 90 % of their information, the least alike 50 %"),
    ],
)  # fmt: skip
def test_how_different_views_are(shared, words):
    a, b, c = shared
    between = [[1, a, b, 0.97], [a, 1, c, 0.97], [b, c, 1, 0.97], [0.97, 0.97, 0.97, 1]]
    # The last one is not claimed, and what it shares with others is not told.
    views = [view(1), view(2), view(3), view(4, p_value=0.5)]
    text = verdict.paragraphs(study(*views, between=between))[0]
    assert text.startswith(f"Three ways to group the rows, each into 3 clusters; {words}. Chance")


def test_views_are_looked_up_by_their_number():
    between = np.eye(3)
    between[0, 2] = between[2, 0] = 0.3
    between[0, 1] = between[1, 0] = 0.8
    views = [view(1), view(2, p_value=0.5), view(3)]
    text = verdict.paragraphs(study(*views, between=between))[0]
    assert "share up to 30 % of their information, the least alike 30 %" in text


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.00099, "less than 0.1 %;"),
        (0.001, "at most 0.1 %;"),
        (0.0011, "at most 0.2 %;"),
        (0.01, "at most 1.0 %;"),
        (0.0091, "at most 1.0 %;"),
        (0.0031, "at most 0.4 %;"),
    ],
)
def test_the_worst_probability_is_told_rounded_upwards(p, words):
    text = verdict.paragraphs(study(view(1, p_value=1e-5), view(2, p_value=p)))[0]
    assert f"{SAID}{words} all of them come back on samples of the rows." in text


def test_a_fitted_tail_is_told():
    worst = view(2, p_value=2e-4, n_tables=40, n_ideas=2, p_interval=(1e-9, 0.0012))
    text = verdict.paragraphs(study(view(1, p_value=1e-5), worst))[0]
    assert (
        f"{SAID}about 0.1 % (fitted tail, 95 % interval up to 0.12 %; none of 40 tables "
        "without groups came as far); all of them" in text
    )


@pytest.mark.parametrize(
    ("p", "interval", "words"),
    [
        (2e-4, (1e-9, 9e-4), "less than 0.1 % (fitted tail, 95 % interval up to 0.09 %; none"),
        (2e-4, (0.0, 5e-7), "less than 0.1 % (fitted tail, 95 % interval below 0.0001 %; none"),
        (0.0019, (1e-9, 0.0164), "about 0.2 % (fitted tail, 95 % interval up to 1.6 %; none"),
        (0.0019, (1e-3, 2e-3), "at most 0.2 % (fitted tail, 95 % interval 0.1 to 0.2 %; none"),
    ],
)
def test_what_is_read_from_a_tail_is_no_bound_where_its_interval_goes_on(p, interval, words):
    worst = view(1, p_value=p, n_tables=40, n_ideas=2, p_interval=interval)
    assert f"{SAID}{words}" in verdict.paragraphs(study(worst))[0]


def test_how_many_clusters_can_be_claimed_stands_in_the_headline():
    some, all_, none = (
        view(1, claimed=[True, False, False]), view(2), view(3, 2, claimed=[False, False])
    )  # fmt: skip
    said = [verdict.paragraphs(study(*views))[0] for views in ([some], [some, all_], [none])]
    assert "into 3 clusters, of which 1 can be claimed. " in said[0]
    total = 3 + all_.n_clusters
    assert f", of which {total - 2} of the {total} can be claimed; " in said[1]
    assert "into 2 clusters, of which none can be claimed. " in said[2]
    assert "of which" not in verdict.paragraphs(study(all_))[0]


def test_probabilities_in_words():
    assert verdict.probability(0.001) == "p = 0.001" and verdict.probability(0.00099) == "p < 0.001"
    assert verdict.probability(0.5) == "p = 0.5" and verdict.probability(0.1234) == "p = 0.12"
    # Counting 9 tables gives a tenth at least, times the ideas.
    assert verdict.counted_bound(0.0999, 9) == "none of 9 tables without groups came as far"
    assert verdict.counted_bound(0.1, 9) == "" == verdict.counted_bound(0.1 - 1e-13, 9)
    assert verdict.counted_bound(0.25, 9, 3) != "" == verdict.counted_bound(0.3, 9, 3)
    assert verdict.counted_bound(1e-9, 0) == "" and verdict.counted_bound(float("nan"), 9) == ""
    assert verdict.counted_bound(0.4, 1) == "none of 1 table without groups came as far"
    assert verdict.fitted_tail(0.25, 9, 3).startswith("fitted tail; none of 9")
    assert verdict.fitted_tail(0.3, 9, 3) == ""
    # By default for one idea.
    assert verdict.counted_bound(0.15, 9) == verdict.fitted_tail(0.15, 9) == ""
    assert verdict.probability(0.15, 9) == "p = 0.15"
    assert verdict.probability(0.05) == "p = 0.05"
    assert verdict.probability(0.25, 9, 3) == (
        "p = 0.25 (fitted tail; none of 9 tables without groups came as far)"
    )
    assert verdict.interval_words((1e-6, 0.5)) == "1e-06 to 0.5"
    assert verdict.interval_words((9.9e-7, 1e-6)) == "up to 1e-06"
    assert verdict.interval_words((0.0, 9.9e-7)) == "below 1e-6"
    assert verdict.interval_words((0.012345, 0.23456)) == "0.012 to 0.23"


def test_views_that_do_not_come_back():
    # .75 is enough.
    assert "; it comes back on samples of the rows." in verdict.verdict(
        study(view(1, stability=0.75))
    )
    text = verdict.verdict(study(view(1, stability=0.74)))
    assert text.endswith("less than 0.1 %; but it does not come back reliably on samples of the "
                         "rows.")  # fmt: skip
    both = study(view(1, stability=0.7), view(2, stability=0.7))
    assert verdict.verdict(both).endswith("; but none of them comes back reliably on samples of "
                                          "the rows.")  # fmt: skip
    some = [view(1, stability=0.7), view(2), view(3)]
    assert verdict.verdict(study(*some)).endswith("; 2 of them come back on samples.")
    steady = [view(4, 2, p_value=0.011, stability=0.75), view(5, p_value=0.2)]
    added = " View 4, into 2 clusters, does come back, but chance could give it, too (chance 4)."
    assert verdict.verdict(study(*some, *steady)).endswith(
        f"; 2 of them come back on samples.{added}"
    )
    assert verdict.verdict(study(some[0], *steady)).endswith(f" on samples of the rows.{added}")
    # Not one that is claimed itself, nor one that doesn't come back.
    just = [view(1, stability=0.7), view(2, p_value=0.01)]
    assert verdict.verdict(study(*just)).endswith("; 1 of them comes back on samples.")
    unsteady = view(4, p_value=0.5, stability=0.74)
    assert verdict.verdict(study(*some, unsteady)).endswith("; 2 of them come back on samples.")


def test_clusters_that_are_not_claimed():
    views = [
        view(1, claimed=[True, False, False]),
        view(2),
        view(3, 4, claimed=[True, True, True, False]),
        view(4, 2, claimed=[False, False]),
        view(5, 2, claimed=[False, False]),
    ]
    assert verdict.paragraphs(study(*views))[1] == (
        "Clusters that are not claimed: 2 of the 3 of view 1 and 1 of the 4 of view 3. No single "
        "cluster of views 4 and 5 can be claimed, only that there are groups."
    )
    assert verdict.paragraphs(study(views[3]))[1] == (
        "No single cluster of view 4 can be claimed, only that there are groups."
    )
    assert verdict.paragraphs(study(views[0]))[1] == (
        "Clusters that are not claimed: 2 of the 3 of view 1."
    )
    assert len(verdict.paragraphs(study(views[1]))) == 1


def test_a_first_look():
    early = study(view(1, p_value=float("nan")), is_provisional=True, settings={"to_come": "more"})
    assert verdict.paragraphs(early) == (
        "A first look: 1 grouping found so far, not yet held against chance.",
    )
    early.settings = {}
    assert verdict.verdict(early) == (
        "Stopped early: 1 grouping found so far, not yet held against chance."
    )
    # What is claimed already is told.
    assert verdict.verdict(study(view(1), is_provisional=True)).startswith("One way")


def result(finder, score):
    return SimpleNamespace(finder=finder, score=score)


def test_nothing_found():
    assert verdict.paragraphs(study()) == (
        NOTHING, "What was searched: compared with 20 tables without groups.",
    )  # fmt: skip
    none = study(view(1, p_value=float("nan"), stability=0.1), chance=())
    assert verdict.paragraphs(none) == (
        "No grouping better than chance is known: nothing was held against tables without groups.",
    )
    # Another idea was held against its own tables.
    mixed = study(view(1, p_value=float("nan")), view(2, p_value=0.5, stability=0.1), chance=())
    assert verdict.paragraphs(mixed)[0] == NOTHING
    assert verdict.paragraphs(study(view(1, p_value=0.5, stability=0.1), chance=())) == (NOTHING,)
    assert verdict.paragraphs(study(view(1, p_value=0.5, stability=0.1)))[0] == NOTHING
    bad = study(results=(result("A", -0.1), result("B", 0.0)))
    assert verdict.paragraphs(bad)[0].startswith(
        "No grouping better than chance: every grouping that the search found describes the rows "
        "worse than one cloud does, and tables like this one"
    )
    assert verdict.paragraphs(study(results=(result("A", -0.1), result("B", 0.1))))[0] == NOTHING
    some = study(view(1, p_value=0.5, stability=0.1), results=(result("A", -0.1),))
    assert verdict.paragraphs(some)[0] == NOTHING


def test_what_more_is_said_where_nothing_is_found():
    found = study(
        view(1, p_value=0.5, stability=0.74),
        view(2, 4, p_value=0.5, stability=0.75),
        view(3, p_value=0.5, stability=0.9),
        results=(result("A", 1.0),),
        power=SimpleNamespace(words=lambda: "So strong."),
    )
    assert verdict.paragraphs(found) == (
        NOTHING,
        "What was searched: 1 grouping of 1 finder; compared with 20 tables without groups. So "
        "strong. View 2, into 4 clusters, does come back on samples of the rows: those tables keep "
        "how the columns go together, so a mere gradient, or the levels of a few columns, is not "
        "told from chance. Look at its features.",
    )


def test_what_was_searched():
    found = study(
        results=(result("A", 1.0), result("B", 1.0), result("A", 1.0)),
        settings={"runs": 12, "ideas": "clouds, boxes, classes, shapes, nested, others"},
        curve_chance=(0.0,) * 5,
    )
    assert verdict.searched(found) == (
        "What was searched: 12 runs of 2 finders gave 3 different groupings; looked for: clouds, "
        "boxes, classes in levels, groups of any shape, groups within groups and others; compared "
        "with 25 tables without groups."
    )
    assert verdict.searched(study(settings={"runs": "1"}, chance=())) == (
        "What was searched: 1 run gave 0 different groupings."
    )
    assert verdict.searched(study(settings={"ideas": "clouds"}, chance=())) == (
        "What was searched: looked for: clouds."
    )
    assert verdict.searched(study(chance=())) == ""
    assert verdict.ideas_tried(study(settings={"ideas": "a, b"})) == ["a", "b"]
    assert verdict.ideas_tried(study()) == []
    assert verdict.joined(["a"]) == "a" and verdict.joined(["a", "b", "c"]) == "a, b and c"


# -- how strong it would have had to be -----------------------------------------------------------


@pytest.mark.parametrize(
    ("two", "three", "words"),
    [
        (3.0, 3.0, "Two or three equal groups would have been seen here from 3 standard deviations "
                   "between their middles on."),
        (None, None, "Even two or three equal groups 6 standard deviations apart would not have "
                     "been seen here."),
        (3.0, 4.0, "Two equal groups would have been seen here from 3 standard deviations between "
                   "their middles on, three from 4 on."),
        (3.0, None, "Two equal groups would have been seen here from 3 standard deviations between "
                    "their middles on, three not even at 6."),
        (None, 4.0, "Two equal groups would not have been seen here even at 6 standard deviations "
                    "between their middles, three from 4 on."),
    ],
)  # fmt: skip
def test_power_in_words(two, three, words):
    assert Power(two, three, 10, 2).words() == words


def test_planted_groups_by_numbers():
    rng = np.random.default_rng(3)
    Z, labels = power.planted(7, 2, 3, 4.0, np.random.default_rng(3))
    assert labels.tolist() == [0, 1, 2, 0, 1, 2, 0]
    raw = rng.normal(size=(7, 2))
    raw += np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 4.0 * np.sqrt(0.75)]])[labels]
    np.testing.assert_allclose(Z, (raw - raw.mean(axis=0)) / raw.std(axis=0))
    Z, labels = power.planted(9, 4, 3, 2.0, np.random.default_rng(3))
    raw = np.random.default_rng(3).normal(size=(9, 4))
    raw[:, :2] += np.array([[0.0, 0.0], [2.0, 0.0], [1.0, np.sqrt(3)]])[labels]
    np.testing.assert_allclose(Z, (raw - raw.mean(axis=0)) / raw.std(axis=0))
    # Along one line the third one is at the end.
    for n_groups, p in ((3, 1), (2, 3)):
        Z, labels = power.planted(9, p, n_groups, 4.0, np.random.default_rng(3))
        raw = np.random.default_rng(3).normal(size=(9, p))
        raw[:, 0] += 4.0 * (np.arange(9) % n_groups)
        np.testing.assert_allclose(Z, (raw - raw.mean(axis=0)) / raw.std(axis=0))


CHANCE = NullMaxima(tuple(np.random.default_rng(0).gumbel(0.0, 0.03, 30)), (0.0,) * 30)


def tried(monkeypatch, seen, n_rows=150, n_directions=4, chance=CHANCE, **options):
    """What is planted; a grouping is seen as far apart, and in such draws, as ``seen`` says."""
    drawn = []

    def planted(rows, columns, n_groups, separation, rng):
        draw = sum(each[:2] == (n_groups, separation) for each in drawn)
        drawn.append((n_groups, separation, rows, columns, rng.random()))
        return (n_groups, separation, draw), None

    class Scorer:
        def __init__(self, Z):
            self.Z, self.kinds = Z, 1

        def __call__(self, labels):
            return SimpleNamespace(score=9.0 if seen(*self.Z) else -9.0)

    monkeypatch.setattr(power, "planted", planted)
    monkeypatch.setattr(power, "GroupingScorer", Scorer)
    monkeypatch.setattr(power, "BoxScorer", lambda scorer: Scorer(("boxes", *scorer.Z)))
    return power.detectable(n_rows, n_directions, chance, **options), drawn


def test_the_smallest_distance_that_is_seen_mostly(monkeypatch):
    def seen(n_groups, separation, draw):
        return separation >= (4 if n_groups == 2 else 3)

    found, drawn = tried(monkeypatch, seen, seed=8)
    assert found == Power(4.0, 3.0, 150, 4)
    # Three draws of a kind are enough to know.
    known = [(2, s, i) for s in (2.0, 3.0, 4.0) for i in range(3)]
    known += [(3, s, i) for s in (2.0, 3.0) for i in range(3)]
    assert [each[:2] for each in drawn] == [each[:2] for each in known]
    assert [each[4] for each in drawn] == [
        np.random.default_rng([8, 41, k, int(10 * s), i]).random() for k, s, i in known
    ]
    assert {each[2:4] for each in drawn} == {(150, 4)}


def test_more_than_half_of_five_draws_must_be_seen(monkeypatch):
    found, drawn = tried(monkeypatch, lambda k, s, i: i in (0, 1) or s == 6.0)
    assert found.two == found.three == 6.0
    assert [each[1] for each in drawn[:8]] == [2.0] * 5 + [3.0] * 3
    found, drawn = tried(monkeypatch, lambda k, s, i: i in (0, 1, 4))
    assert found.two == 2.0 and len(drawn) == 10
    found, drawn = tried(monkeypatch, lambda k, s, i: False)
    assert (found.two, found.three) == (None, None)
    assert [each[1] for each in drawn[::3]] == [2.0, 3.0, 4.0, 5.0, 6.0] * 2


@pytest.mark.parametrize(
    ("n_rows", "n_directions", "boxes", "rows"),
    [
        (150, 4, False, 150), (3000, 4, False, 2000), (3000, 100, False, 2000),
        (3000, 101, False, 1980), (3000, 4000, False, 100), (60, 4000, False, 60),
        (3000, 10, True, 2000), (3000, 11, True, 1818), (3000, 400, True, 100),
    ],
)  # fmt: skip
def test_how_large_planted_tables_are(monkeypatch, n_rows, n_directions, boxes, rows):
    found, drawn = tried(
        monkeypatch, lambda *given: (given[0] == "boxes") is boxes, n_rows, n_directions,
        boxes=boxes,
    )  # fmt: skip
    assert found == Power(2.0, 2.0, rows, n_directions)
    assert drawn[0][2:4] == (rows, n_directions)


def test_nothing_is_planted_without_anything_to_hold_it_against(monkeypatch):
    for chance, p in ((NullMaxima((-np.inf,), (0.0,)), 4), (NullMaxima((), ()), 4), (CHANCE, 0)):
        found, drawn = tried(monkeypatch, lambda *given: True, 150, p, chance)
        assert found is None and drawn == []
    found, _ = tried(monkeypatch, lambda *given: True, 150, 1)
    assert found == Power(2.0, 2.0, 150, 1)


def test_ideas_cost_power(monkeypatch):
    def detected(p, *n_ideas):
        chance = SimpleNamespace(maxima=(0.0,), p_value=lambda score: p)
        more = {"n_ideas": n_ideas[0]} if n_ideas else {}
        return tried(monkeypatch, lambda *given: True, chance=chance, **more)[0].two

    assert detected(0.01) == 2.0

    assert detected(0.01, 1) == 2.0 and detected(0.0101, 1) is None
    assert detected(0.005, 2) == 2.0 and detected(0.00501, 2) is None
