"""Pictures and cards of tiny studies, every number worked out by hand."""

from __future__ import annotations

import base64
import dataclasses

import numpy as np
import pytest

from subscape.core import SubspaceClustering
from subscape.core.prototypes import interval_text
from subscape.exploration.explain import FeatureFact
from subscape.exploration.levels import Merge
from subscape.exploration.study import NearMiss, Result
from subscape.report import cards, drawings, figures, palette, template_context, wording
from subscape.report.methods import methods
from subscape.report.page import render, write_report
from subscape.testing.studies import planted_study

NAMES = ("age", "rent", "books")


def told(*values):
    """Facts of one cluster: feature, nats, whether its own."""
    return tuple(FeatureFact(*value) for value in values)


@pytest.fixture
def tiny():
    """Eight rows, three features: clusters of four and two rows, one row in both, three in none."""
    study = planted_study(8, n_clusters=(2,), feature_names=(*NAMES, "x", "y"), n_results=3)
    (view,) = study.views
    clustering = SubspaceClustering.from_clusters(
        [([0, 1, 2, 3], [0, 1]), ([3, 4], [2])], shape=(8, 3), feature_names=NAMES
    )
    view = dataclasses.replace(
        view,
        clustering=clustering,
        facts=(
            told(("age", 2.0, True), ("rent", 0.5, True), ("books", 0.005, False)),
            told(("books", 1.0, True), ("age", -0.5, False), ("rent", np.nan, False)),
        ),
        row_confidence=np.array([1.0, 0.5, np.nan, 0.254, 0.0, 1.0, 1.0, 1.0]),
        coordinates=np.array([[float(i), -float(i)] for i in range(8)]),
        loadings=np.array([[0.9, 0.0], [-0.3, 0.6], [0.01, -0.015]]),
        cluster_stability=np.array([0.9, 0.3]),
        cluster_p_values=np.array([0.001, 0.2]),
        descriptions=("first", "second"),
        titles=tuple(f"run {i}" for i in range(31)),
        p_value=0.004,
        stability=0.8,
    )
    results = (
        Result("a", "KMeans", "KMeans(2)", 2, 0.5, 0.1, 1, 0.0, 0.0),
        Result("b", "LAC", "LAC(2)", 2, 2.0, 0.1, 1, 4.0, 0.0),
        Result("c", "LAC", "LAC(3)", 3, -1.0, 0.1, 0, 2.0, 1.0),
    )
    distances = np.array([[0.0, 0.25, 1.0], [0.25, 0.0, 0.5], [1.0, 0.5, 0.0]])
    return dataclasses.replace(
        study, views=(view,), feature_names=NAMES, shape=(8, 3), shown_rows=np.arange(8),
        searched_rows=np.arange(8), results=results, distances=distances,
        between_views=np.ones((1, 1)), chance=(0.0, 0.4, 0.4), row_names=tuple("abcdefgh"),
    )  # fmt: skip


def with_view(study, **changes):
    return dataclasses.replace(study, views=(dataclasses.replace(study.views[0], **changes),))


# -- the map of all results -----------------------------------------------------------------------


def test_places_and_sizes_on_the_map(tiny):
    drawn = drawings.results_map(tiny, width=460, height=270)
    # 400 wide for a reach of 4, 200 high for a reach of 1: the narrower one counts.
    where = {dot.result.name: (dot.x, dot.y, dot.radius) for dot in drawn.dots}
    assert where == {
        "a": (30.0, 193.0, pytest.approx(3 + 6 * 0.5)),
        "b": (430.0, 193.0, pytest.approx(9.0)),
        "c": (230.0, 93.0, pytest.approx(3.0)),
    }
    assert [dot.result.name for dot in drawn.dots] == ["b", "a", "c"]
    # In the middle of its dots, 11 above the highest: 193 - 9 - 11.
    assert drawn.badges == [(230.0, pytest.approx(173.0), 1)]
    flat = drawings.results_map(tiny, width=460, height=72)
    assert {dot.y for dot in flat.dots} == {45.0, 43.0} and flat.badges[0].y == 25.0
    low = drawings.results_map(tiny, width=460, height=40)
    assert low.badges[0].y == 10.0


def test_one_place_for_all(tiny):
    alike = tuple(dataclasses.replace(r, x=1.0, y=2.0, score=np.nan) for r in tiny.results)
    drawn = drawings.results_map(dataclasses.replace(tiny, results=alike), 100, 80)
    assert {(dot.x, dot.y, dot.radius) for dot in drawn.dots} == {(50.0, 48.0, 3.0)}


# -- the tree of all results ----------------------------------------------------------------------


def test_the_tree_of_three_results(tiny, monkeypatch):
    drawn = drawings.tree(tiny, reach=100.0)
    # a and b join at 0.25, c at the mean of 1 and 0.5.
    assert [r.name for r in drawn.results] == ["c", "a", "b"]
    assert drawn.paths == ["M100.0 1.5H66.7V2.5H100.0", "M100.0 0.5H0.0V2.0H66.7"]
    np.testing.assert_array_equal(drawn.matrix, [255, 128, 64])
    assert drawn.same == round(100 * (1 - drawings.SAME / 0.75), 1)
    assert (drawn.reach, drawn.n_left_out) == (100.0, 0)
    monkeypatch.setattr(drawings, "MOST_LEAVES", 2)
    clearest = drawings.tree(tiny)
    assert sorted(r.name for r in clearest.results) == ["a", "b"] and clearest.n_left_out == 1
    monkeypatch.setattr(drawings, "MOST_LEAVES", 1)
    assert drawings.tree(tiny) is None


# -- scores beside those of chance ----------------------------------------------------------------


def test_scores_on_one_line(tiny):
    miss = NearMiss("n", "LAC", "LAC(2)", 2, 0.2, 0.5, 0.5, (), 0.0)
    study = with_view(dataclasses.replace(tiny, near_misses=(miss,)), score=1.0)
    strip = drawings.chance_strip(study, width=144, height=150)
    # From 0 at 20 to 1.04 at 124; dots in columns of 7, stacked by 6.5.
    assert strip.ground == 126.0
    assert strip.dots == [(17.5, 121.0), (59.5, 121.0), (59.5, 114.5)]
    assert strip.marks == [(pytest.approx(120.0), 12.0, 1)]
    assert strip.misses == [pytest.approx(40.0)] and strip.elsewhere == []
    assert [text for _, text in strip.ticks] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert [x for x, _ in strip.ticks] == pytest.approx([20, 40, 60, 80, 100, 120])


def test_badges_of_near_scores_stand_one_above_the_other(tiny):
    (view,) = tiny.views
    views = tuple(
        dataclasses.replace(view, number=i + 1, score=score)
        for i, score in enumerate((1.0, 0.99, 0.5))
    )
    study = dataclasses.replace(tiny, views=views, chance=(-0.1, np.nan))
    strip = drawings.chance_strip(study, width=154, height=150)
    assert [mark.y for mark in strip.marks] == [12.0, 32.0, 12.0]
    assert strip.dots == [(17.5, 121.0)]
    assert strip.ticks[0][1] == "0"
    shaped = dataclasses.replace(study, views=(dataclasses.replace(view, idea="shapes"),))
    assert drawings.chance_strip(shaped).elsewhere == [1]
    assert drawings.chance_strip(dataclasses.replace(tiny, chance=(), curve_chance=())) is None


# -- the card of a view ---------------------------------------------------------------------------


def test_the_card(tiny):
    (card,) = cards.cards(tiny)
    assert (card.is_honest, card.n_outside, card.n_shared, card.kind) == (True, 3, 1, "axis")
    assert card.sizes == [(0.0, 50.0, 0), (50.0, 25.0, 1)]
    assert (card.n_hidden, card.n_more_runs, card.runs[-1]) == (0, 1, "run 29")
    assert card.is_signed and card.pale == [1]
    assert card.sure == "sure: not chance, and it comes back on samples"
    first, second = card.clusters
    assert (first.size, first.share, first.stability, first.p_value) == (4, 0.5, 0.9, 0.001)
    assert [line.name for line in first.features] == ["age", "rent"] and first.more == []
    assert first.against == ""
    assert second.against == (
        "not claimed: tables without groups have clusters as clear and it dissolves on samples"
    )


@pytest.mark.parametrize(
    ("p_value", "stability", "words"),
    [
        (np.nan, 0.9, "not yet compared with chance"),
        (0.011, 0.9, "no better than chance"),
        (0.01, np.nan, "not chance; samples were not tried yet"),
        (0.01, 0.75, "sure: not chance, and it comes back on samples"),
        (0.01, 0.74, "fairly sure: not chance, but its borders move on samples"),
        (0.01, 0.5, "fairly sure: not chance, but its borders move on samples"),
        (0.01, 0.49, "unsure: not chance, but samples give it back poorly"),
    ],
)
def test_how_sure(tiny, p_value, stability, words):
    (card,) = cards.cards(with_view(tiny, p_value=p_value, stability=stability))
    assert card.sure == words
    assert card.is_honest == (p_value <= 0.01)
    assert [bool(row.against) for row in card.clusters] == [False, card.is_honest]
    assert card.pale == ([1] if card.is_honest else [])


@pytest.mark.parametrize(
    ("stability", "good", "bad"),
    [
        (0.75, "comes back on samples (stability 0.75)", None),
        (0.74, "comes back in part (stability 0.74)", None),
        (0.5, "comes back in part (stability 0.50)", None),
        (0.49, None, "does not come back on samples (stability 0.49)"),
        (np.nan, None, None),
    ],
)
def test_what_speaks_for_a_view_that_is_not_claimed(tiny, stability, good, bad):
    study = with_view(tiny, p_value=0.011, stability=stability, score=0.25, missing_redundancy=0.51)
    (one,) = cards.unclaimed(study)
    assert (one.number, one.title, one.what) == (1, "NrKMeans, LAC", "2 clusters")
    said = ["describes the rows better than one cloud (score 0.25)"]
    assert one.speaks_for[: len(said) + bool(good)] == [*([good] if good else []), *said]
    assert one.against == [
        *([bad] if bad else []),
        "tables without groups give as clear a grouping (p = 0.011)",
        "explained by missing cells (51 %)",
    ]
    less = with_view(tiny, p_value=np.nan, stability=stability, score=0.0, missing_redundancy=0.5)
    assert cards.unclaimed(less)[0].against[-2:] == [
        "describes the rows worse than one cloud (score 0.00)", "not yet compared with chance",
    ]  # fmt: skip
    assert cards.unclaimed(with_view(tiny, p_value=0.01)) == []


def test_lists_end_somewhere(tiny, monkeypatch):
    for name, most in (("FIRST_FEATURES", 1), ("MOST_FEATURES", 1), ("MOST_CLUSTERS", 1)):
        monkeypatch.setattr(cards, name, most)
    (card,) = cards.cards(tiny)
    assert (len(card.clusters), card.n_hidden) == (1, 1)
    (row,) = card.clusters
    assert ([line.name for line in row.features], row.more, row.n_hidden) == (["age"], [], 1)
    monkeypatch.setattr(cards, "MOST_FEATURES", 2)
    (row,) = cards.cards(tiny)[0].clusters
    assert ([line.name for line in row.more], row.n_hidden) == (["rent"], 0)


def test_how_much_a_card_lists(tiny):
    many = told(*((f"x{i}", 1.0, True) for i in range(30)))
    (card,) = cards.cards(with_view(tiny, facts=(many, ())))
    row = card.clusters[0]
    assert (len(row.features), len(row.more), row.n_hidden) == (5, 20, 5)


def test_the_bar_of_a_feature():
    fact = FeatureFact("age", 1.0, True, 20.0, 30.0, 10.0, 50.0, -1.25, imputed=0.05)
    line = cards._line(fact)
    assert (line.begin, line.end, line.all_begin, line.all_end) == (25.0, 50.0, 0.0, 100.0)
    assert (line.effect, line.imputed, line.is_level) == ("−1.2", "5 % filled in", False)
    wide = cards._line(dataclasses.replace(fact, low=0.0, high=100.0, imputed=0.049))
    assert (wide.begin, wide.end, wide.all_begin, wide.all_end) == (0.0, 100.0, 10.0, 50.0)
    assert wide.imputed == ""
    level = cards._line(FeatureFact("city", 1.0, True, level="Oslo", share=0.8, elsewhere=0.15))
    assert (level.text, level.begin, level.end, level.all_begin, level.all_end, level.is_level) == (
        "Oslo 80 %, others 15 %", 0.0, 80.0, 0.0, 15.0, True,
    )  # fmt: skip
    unknown = cards._line(FeatureFact("x", 0.0, True, np.nan, 1.0, 0.0, 1.0))
    assert (unknown.text, unknown.begin, unknown.end, unknown.all_end) == ("unknown", 0, 0, 100)
    single = cards._line(FeatureFact("x", 0.0, True, 5.0, 5.0, 5.0, 5.0, 0.0))
    assert (single.begin, single.end) == (0.0, 0.0)


def test_features_with_a_floor_and_a_histogram():
    fact = FeatureFact("gene", 1.0, True, 0.0, 30.0, 0.0, 50.0, 1.25, floor=0.0, above=0.8,
                       above_elsewhere=0.1, median_above=12.5, bars=(0, 1, 4),
                       overall_bars=(8, 2, 4), bars_low=0.0, bars_high=60.0)  # fmt: skip
    line = cards._line(fact)
    assert line.text == "above 0: 80 %, others 10 %; there about 12.5"
    third = 100 / 3
    expected = ((0, third, 24, 0), (third, third, 6, 6), (2 * third, third, 12, 24))
    assert line.bars == tuple(pytest.approx(bar) for bar in expected)
    assert not line.is_absent
    rare = cards._line(dataclasses.replace(fact, above=0.05))
    assert (rare.text, rare.is_absent) == ("above 0: 5 %, others 10 %", True)
    unknown = cards._line(dataclasses.replace(fact, median_above=None, bars=(0, 0, 0)))
    assert (unknown.text, unknown.bars) == ("above 0: 80 %, others 10 %", ())
    plain = cards._line(dataclasses.replace(fact, floor=None))
    assert "above" not in plain.text
    nowhere = cards._line(dataclasses.replace(fact, overall_bars=(0, 0, 0), bars=(0, 0, 1)))
    assert [bar[2:] for bar in nowhere.bars] == [(0.0, 0.0), (0.0, 0.0), (0.0, 24.0)]


def test_how_sure_a_feature_is():
    fact = FeatureFact("age", 1.0, True)
    assert cards._doubt(fact) == ""
    between = dataclasses.replace(fact, effect_low=-0.25, effect_high=1.5)
    assert cards._doubt(between) == "95 % interval −0.2 to +1.5"
    assert cards._doubt(dataclasses.replace(fact, effect_low=0.5)) == ""
    sure = cards._doubt(dataclasses.replace(between, q_value=0.01))
    assert sure == "95 % interval −0.2 to +1.5; named with a false discovery rate of 1 %"
    unsure = cards._doubt(dataclasses.replace(fact, q_value=0.6))
    assert unsure == "not sure: a false discovery rate of 60 %"


def test_what_features_tell(tiny, monkeypatch):
    (card,) = cards.cards(tiny)
    grid = card.relevance
    # Strongest first: age 2, books 1, rent .5; nothing below a hundredth of the strongest.
    assert [name for _, name in grid.names] == ["age", "books", "rent"]
    assert [y for y, _ in grid.names] == [9.0, 27.0, 45.0]
    assert (grid.width, grid.height, grid.n_left_out) == (68.0, 54.0, 0)
    assert [(c.x, c.y, c.cluster, c.strength, c.feature) for c in grid.cells] == [
        (0.0, 0.0, 0, 1.0, "age"), (34.0, 18.0, 1, 0.5, "books"), (0.0, 36.0, 0, 0.25, "rent"),
    ]  # fmt: skip
    assert grid.marks == [(17.0, 9.0, 0), (51.0, 27.0, 1), (17.0, 45.0, 0)]
    monkeypatch.setattr(cards, "TELLING_FEATURES", 1)
    (card,) = cards.cards(tiny)
    assert (card.relevance.n_features, card.relevance.n_left_out) == (1, 2)


def test_cells_of_the_table(tiny, monkeypatch):
    (card,) = cards.cards(tiny)
    grid = card.cells
    assert (grid.width, grid.height, grid.n_left_out) == (420.0, 300.0, 0)
    assert grid.names == [(70.0, "age"), (210.0, "rent"), (350.0, "books")]
    cells = [(c.x, round(c.y, 6), c.width, c.height, c.cluster, round(c.strength, 6), c.feature)
             for c in grid.cells]  # fmt: skip
    # Rows by cluster: three in the first alone, one in both, one in the second, three in none.
    half = round(0.5**0.5, 6)
    pale = 0.35
    assert cells == [
        (0.0, 0.0, 140.0, 112.5, 0, 1.0, "age"),
        (140.0, 0.0, 140.0, 112.5, 0, 1.0, "rent"),
        (0.0, 112.5, 140.0, 37.5, 0, half, "age"),
        (140.0, 112.5, 140.0, 37.5, 0, half, "rent"),
        (280.0, 112.5, 140.0, 37.5, 1, round(pale * 0.5**0.5, 6), "books"),
        (280.0, 150.0, 140.0, 37.5, 1, pale, "books"),
    ]
    assert grid.marks == [(-8.0, 56.25, 0), (-8.0, 168.75, 1)]
    low = cards._cells(tiny, tiny.views[0], np.zeros((2, 3)), height=80.0)
    assert [k for _, _, k in low.marks] == [0]  # ten high is too low for a number
    monkeypatch.setattr(cards, "CELL_FEATURES", 2)
    (card,) = cards.cards(tiny)
    assert [name for _, name in card.cells.names] == ["age", "books"]
    assert card.cells.n_left_out == 1


def test_cells_of_weights(tiny):
    weights = np.array([[0.6, 0.3, 0.1], [0.02, 0.18, 0.8]])
    labels = np.array([0, 0, 0, 0, 1, 1, -1, -1])
    weighted = SubspaceClustering.from_labels(labels, weights=weights, feature_names=NAMES)
    (card,) = cards.cards(with_view(tiny, clustering=weighted, cluster_p_values=np.zeros(2),
                                    cluster_stability=np.ones(2)))  # fmt: skip
    assert card.pale == []
    # As parts of the largest weight; what is below a twentieth of it stays white.
    strengths = [(c.cluster, c.feature, round(c.strength, 6)) for c in card.cells.cells]
    assert strengths == [
        (0, "age", 1.0), (0, "rent", 0.5), (0, "books", round(1 / 6, 6)),
        (1, "rent", 0.225), (1, "books", 1.0),
    ]  # fmt: skip


def test_many_kinds_of_rows_become_one_line_for_each_cluster(tiny, monkeypatch):
    view = tiny.views[0]
    assert cards._segments(tiny, view) == [(3, (0,)), (1, (0, 1)), (1, (1,)), (3, ())]
    monkeypatch.setattr(cards, "MOST_SEGMENTS", 4)
    assert len(cards._segments(tiny, view)) == 4
    monkeypatch.setattr(cards, "MOST_SEGMENTS", 3)
    labels = view.labels
    expected = [(int((labels == k).sum()), (k,)) for k in (0, 1)] + [(int((labels < 0).sum()), ())]
    assert cards._segments(tiny, view) == expected
    some = dataclasses.replace(tiny, shown_rows=np.array([0, 3, 7]))
    monkeypatch.setattr(cards, "MOST_SEGMENTS", 60)
    assert cards._segments(some, view) == [(1, (0,)), (1, (0, 1)), (1, ())]


def test_loadings(tiny):
    (card,) = cards.cards(tiny)
    assert [each.feature for each in card.loadings] == ["age", "rent"]
    assert [tuple(each[1:]) for each in card.loadings] == [
        pytest.approx((1.0, 0.0)), pytest.approx((-1 / 3, 2 / 3)),
    ]  # fmt: skip
    assert drawings.strongest(NAMES, np.array([[1.0, 0], [0.021, 0], [0.02, 0]]), 3)[1:] == [
        ("rent", 0.021, 0.0)
    ]
    assert drawings.strongest(NAMES, np.zeros((3, 2)), 3) == []
    assert card.axes[1] == [("+", "1.00", "rent")]


# -- what the page's scripts get ------------------------------------------------------------------


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), kind).tolist()


def test_the_numbers_of_the_scripts(tiny):
    packed = drawings.payload(tiny, embed_ids=True)
    (view,) = packed["views"]
    assert unpacked(view["labels"], "<u2") == (tiny.views[0].labels + 1).tolist()
    assert unpacked(view["sure"], "u1") == [100, 50, 0, 25, 0, 100, 100, 100]
    assert unpacked(view["x"], "<u2") == [round(i / 7 * 65535) for i in range(8)]
    assert unpacked(view["y"], "<u2") == [round((7 - i) / 7 * 65535) for i in range(8)]
    assert view["several"] == [[3, [0, 1]]] and view["pale"] == [1]
    assert (packed["total"], packed["rows"], packed["ids"]) == (8, list(range(8)), list("abcdefgh"))
    assert packed["results"] == [["LAC(3)", 0, 3], ["KMeans(2)", 1, 2], ["LAC(2)", 1, 2]]
    assert unpacked(packed["matrix"], "u1") == [255, 128, 64]
    assert drawings.payload(tiny)["ids"] is None
    lost = drawings._steps(np.array([0.0, np.nan, 4.0, np.inf]))
    assert lost.tolist() == [0.0, np.rint(65535 / 2), 65535.0, np.rint(65535 / 2)]
    assert drawings._steps(np.array([3.0, 3.0])).tolist() == [32767.0] * 2
    assert drawings._steps(np.array([np.nan])).tolist() == [32767.0]


def test_the_picture_of_the_values(tiny, monkeypatch):
    values = np.column_stack([np.arange(8.0), np.full(8, 7.0), [np.nan] * 7 + [2.0]])
    study = dataclasses.replace(tiny, values=values, value_features=("books", "rent", "age"))
    (view,) = drawings.payload(study)["views"]
    heat = view["heat"]
    # The first cluster's own features, then the second's; ends at 2 % and 98 %.
    assert heat["names"] == ["age", "rent", "books"]
    assert heat["ends"] == [[2.0, 2.0], [7.0, 7.0], [0.14, 6.86]]
    assert heat["rows"] == list(range(8))
    steps = np.array(unpacked(heat["steps"], "u1")).reshape(3, 8)
    assert steps[0].tolist() == [0] * 7 + [1] and steps[1].tolist() == [1] * 8
    inner = [round(1 + 254 * (i - 0.14) / 6.72) for i in range(1, 7)]
    assert steps[2].tolist() == [1, *inner, 255]
    monkeypatch.setattr(drawings, "MOST_HEATED", 3)
    assert drawings.payload(study)["views"][0]["heat"]["rows"] == [0, 3, 7]
    other = dataclasses.replace(study, value_features=("x", "y", "z"))
    assert drawings.payload(other)["views"][0]["heat"] is None
    cut = dataclasses.replace(study, values=values[:3])
    assert drawings.payload(cut)["views"][0]["heat"] is None


def test_rows_that_two_views_share(tiny):
    (view,) = tiny.views
    labels = np.array([0, 1, 1, 1, 1, 0, -1, 0])
    other = SubspaceClustering.from_labels(labels, masks=np.ones((2, 3), bool))
    both = dataclasses.replace(
        tiny, views=(view, dataclasses.replace(view, number=2, clustering=other))
    )
    assert drawings._pairs(both) == {"1-2": [[1, 3, 0], [0, 2, 0], [2, 0, 1]]}


def test_only_some_rows_are_sent(tiny, monkeypatch):
    assert drawings.shown_rows(tiny).tolist() == list(range(8))
    monkeypatch.setattr(drawings, "MOST_ROWS", 8)
    assert drawings.shown_rows(tiny).tolist() == list(range(8))
    monkeypatch.setattr(drawings, "MOST_ROWS", 3)
    assert drawings.shown_rows(tiny).tolist() == [0, 3, 7]


# -- the first screen -----------------------------------------------------------------------------


def test_tiles(tiny):
    context = template_context.template_context(tiny)
    assert [(tile.figure, tile.label) for tile in context["tiles"]] == [
        ("1", "grouping"), ("p = 0.004", "against chance"), ("0.80", "stability"), ("8", "rows"),
    ]  # fmt: skip
    assert context["tiles"][-1].remark == "3 features"
    assert [r.name for r in context["results"]] == ["b", "a", "c"]
    assert (context["n_shown"], context["all_shown"], context["n_tables"]) == (8, True, 3)
    assert (context["fewest"], context["smallest"]) == (3, 3)
    assert context["first_pair"] is None and context["first_number"] == 1


@pytest.mark.parametrize(
    ("shared", "figure", "words"),
    [(0.099, "10 %", "independent"), (0.1, "10 %", "related"), (0.499, "50 %", "related"),
     (0.5, "50 %", "variants")],
)  # fmt: skip
def test_how_much_two_views_share(tiny, shared, figure, words):
    (view,) = tiny.views
    second = dataclasses.replace(view, number=2, p_value=0.01, stability=0.76)
    third = dataclasses.replace(view, number=3, p_value=0.5)
    between = np.array([[1.0, shared, 0.9], [shared, 1.0, 0.2], [0.9, 0.2, 1.0]])
    study = dataclasses.replace(tiny, views=(view, second, third), between_views=between)
    context = template_context.template_context(study)
    tiles = context["tiles"]
    assert (tiles[0].figure, tiles[0].label, tiles[0].remark) == (
        "2", "groupings", "1 more no better than chance",
    )  # fmt: skip
    assert tiles[1] == (figure, "shared at most", f"{words}, two by two")
    assert (tiles[2].figure, tiles[3].figure, tiles[3].label) == (
        "p = 0.010", "0.76", "stability at least",
    )  # fmt: skip
    assert context["first_pair"] == (1, 3)
    two = dataclasses.replace(study, views=study.views[:2], between_views=between[:2, :2])
    assert template_context.template_context(two)["first_pair"] == (1, 2)
    assert len(context["honest"]) == 2 and len(context["doubtful"]) == 1


def test_who_found_it(tiny):
    (origin,) = template_context.origins(tiny)
    assert (origin.plain, origin.subspace) == (("KMeans",), ("LAC",))
    # The clearest result of the view is b; the only baseline is a.
    assert (origin.closest.name, origin.distance) == ("a", 0.25)
    # Of two that are equally clear the first one speaks for the view: the baseline itself.
    level = tuple(dataclasses.replace(result, score=1.0) for result in tiny.results)
    (origin,) = template_context.origins(dataclasses.replace(tiny, results=level))
    assert (origin.closest.name, origin.distance) == ("a", 0.0)


def test_the_words_of_the_methods(tiny):
    text = methods(tiny).paragraph
    assert "A table of 8 rows and 3 features was explored" in text
    assert "3 clusterings came from LAC" in text and "and as baselines KMeans" in text
    assert "Better than chance: view 1 (2 clusters, p = 0.004, stability 0.80)." in text
    assert "drawn at random" not in text
    none = methods(with_view(tiny, p_value=0.5)).paragraph
    assert "No grouping was better than chance." in none


# -- figures --------------------------------------------------------------------------------------


def test_the_scatter(tiny):
    figure = figures.scatter(tiny, tiny.views[0])
    (ax,) = figure.axes
    none, first, second = ax.collections
    labels = tiny.views[0].labels
    for dots, k in ((none, -1), (first, 0), (second, 1)):
        np.testing.assert_array_equal(dots.get_offsets()[:, 0], np.flatnonzero(labels == k))
        assert dots.get_sizes().tolist() == [12]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["none", "1", "2"]
    assert ax.get_xlabel() == "0.95 age − 0.32 rent" and ax.get_ylabel() == "1.00 rent"
    assert not ax.spines["top"].get_visible() and ax.spines["left"].get_visible()


def test_the_map_and_the_features_as_figures(tiny):
    (ax,) = figures.results_map(tiny).axes
    view, outside = ax.collections
    assert view.get_offsets().tolist() == [[0.0, 0.0], [4.0, 0.0]]
    assert view.get_sizes().tolist() == [12 + 90 * 0.25, 102.0]
    assert outside.get_sizes().tolist() == [12.0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["view 1", "no view"]
    beside = ax.get_legend().get_bbox_to_anchor().transformed(ax.transAxes.inverted())
    assert (beside.x0, beside.y0) == pytest.approx((1.0, 1.0))
    assert ax.get_aspect() == 1.0 and len(ax.get_xticks()) == len(ax.get_yticks()) == 0
    ax = figures.features(tiny, tiny.views[0]).axes[0]
    (image,) = ax.images
    assert image.get_array().tolist() == [[2.0, 0.0], [0.005, 1.0], [0.5, 0.0]]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["age", "books", "rent"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2"]


def test_dots_per_inch(tiny, tmp_path):
    paths = figures.write_figures(with_view(tiny), tmp_path, "png")
    sizes = {path.stem: np.frombuffer(path.read_bytes()[16:24], ">u4").tolist() for path in paths}
    assert sizes["view-1-scatter"] == [960, 840] and sizes["map"] == [1040, 840]
    assert sizes["view-1-features"] == [2 * 340, round(200 * (1.2 + 0.22 * 3))]


# -- limits ---------------------------------------------------------------------------------------


def test_badges_fill_the_height_and_begin_again(tiny):
    (view,) = tiny.views
    scores = (1.0, 0.999, 0.998, 0.997, 0.996, 0.995)
    views = tuple(
        dataclasses.replace(view, number=i + 1, score=score) for i, score in enumerate(scores)
    )
    strip = drawings.chance_strip(dataclasses.replace(tiny, views=views), width=144, height=150)
    # The ground is at 126, and 20 above it is free for the dots.
    assert [mark.y for mark in strip.marks] == [12.0, 32.0, 52.0, 72.0, 92.0, 12.0]


@pytest.fixture(scope="module")
def wide():
    """A view of two clusters that 60 features tell, less and less."""
    names = tuple(f"f{j:02d}" for j in range(60))
    study = planted_study(40, n_clusters=(2,), n_results=2)
    (view,) = study.views
    clustering = SubspaceClustering.from_clusters(
        [(range(20), range(60)), (range(20, 40), range(60))], shape=(40, 60), feature_names=names
    )
    facts = told(*((name, 3.0 - 0.05 * j, True) for j, name in enumerate(names)))
    loadings = np.linspace(0.9, 0.1, 60)[:, None] * [1.0, 0.5]
    view = dataclasses.replace(
        view, clustering=clustering, facts=(facts, facts), loadings=loadings,
        titles=tuple(f"run {i}" for i in range(35)),
    )  # fmt: skip
    return dataclasses.replace(study, views=(view,), feature_names=names, shape=(40, 60))


def test_of_many_features_the_most_telling_ones_are_shown(wide):
    (card,) = cards.cards(wide)
    names = list(wide.feature_names)
    assert [name for _, name in card.relevance.names] == names[:24]
    assert [name for _, name in card.cells.names] == names[:48]
    assert [each.feature for each in card.loadings] == names[:12]
    for row in card.clusters:
        assert [line.name for line in row.features] == names[:5]
        assert [line.name for line in row.more] == names[5:25]
        assert row.n_hidden == 35
    assert card.runs == [f"run {i}" for i in range(30)] and card.n_more_runs == 5


def test_what_is_unknown_of_a_feature_fills_the_line(tiny):
    line = cards._line(FeatureFact("age", 1.0, True, low=1.0, high=np.nan))
    assert (line.text, line.is_level, line.effect, line.imputed) == ("unknown", False, "", "")
    assert (line.begin, line.end, line.all_begin, line.all_end) == (0.0, 0.0, 0.0, 100.0)


def test_intervals_are_said_from_low_to_high():
    line = cards._line(FeatureFact("age", 1.0, True, 2.0, 5.0, 0.0, 10.0))
    assert line.text == interval_text(2.0, 5.0) != interval_text(5.0, 2.0)
    assert (line.begin, line.end, line.all_begin, line.all_end) == (20.0, 50.0, 0.0, 100.0)


def test_features_of_little_weight_are_no_part_of_a_direction():
    names = ("a", "b", "c")
    weights = np.array([np.sqrt(1 - 0.16**2 - 0.14**2), -0.16, 0.14])
    assert [part[0::2] for part in drawings.direction(names, weights)] == [("+", "a"), ("−", "b")]
    # Of many alike all count that have half of the largest weight.
    many = drawings.direction([f"x{j}" for j in range(100)], np.r_[np.ones(99), 0.4], most=100)
    assert [name for *_, name in many] == [f"x{j}" for j in range(99)]


def test_badges_beside_each_other_stand_on_one_line(tiny):
    (view,) = tiny.views
    for apart, known in ((0.25, [12.0, 12.0]), (0.15, [12.0, 32.0])):
        views = tuple(
            dataclasses.replace(view, number=i + 1, score=1.0 - i * apart) for i in range(2)
        )
        strip = drawings.chance_strip(dataclasses.replace(tiny, views=views), width=144)
        # A hundredth of the score takes one of the width; badges are 20 wide.
        assert strip.marks[0].x - strip.marks[1].x == pytest.approx(100 * apart)
        assert [mark.y for mark in strip.marks] == known


def test_a_tall_map_is_scaled_by_its_height(tiny):
    (a, b, *_) = tiny.results
    tall = (dataclasses.replace(a, x=0.0, y=0.0), dataclasses.replace(b, x=1.0, y=10.0))
    drawn = drawings.results_map(dataclasses.replace(tiny, results=tall), width=560, height=400)
    spots = {dot.result.name: (dot.x, dot.y) for dot in drawn.dots}
    (x0, y0), (x1, y1) = spots[a.name], spots[b.name]
    # 330 of the height for a span of 10; up is up.
    assert (x1 - x0, y1 - y0) == pytest.approx((33.0, -330.0))


def test_views_that_were_found_are_not_marked_as_asked_for(tiny):
    (card,) = cards.cards(tiny)
    assert not card.is_asked and cards.asked_card(tiny) is None
    asked = cards.asked_card(dataclasses.replace(tiny, asked=tiny.views[0]))
    assert asked.is_asked and not asked.is_honest


def test_clusters_are_pale_only_where_others_of_the_view_are_claimed(tiny):
    sure = with_view(tiny, p_value=1e-5)
    (view,) = sure.views
    unclaimed = [int(k) for k in np.flatnonzero(~view.claimed_clusters)]
    assert drawings.pale_clusters(sure, view) == unclaimed
    assert drawings.pale_clusters(dataclasses.replace(sure, asked=view), view) == []
    doubtful = dataclasses.replace(view, p_value=0.5, cluster_p_values=np.ones(2))
    assert drawings.pale_clusters(sure, doubtful) == []
    none = dataclasses.replace(view, cluster_p_values=np.array([1e-5, 1.0]))
    assert drawings.pale_clusters(sure, none) == [1]


# -- numbers in words -----------------------------------------------------------------------------


def test_probabilities_in_words():
    known = {
        0.0: "< 0.001", 0.000999: "< 0.001", 0.001: "0.001", 0.01: "0.010", 0.0994: "0.099",
        0.09999: "0.100", 0.1: "0.10", 0.5: "0.50", 1.0: "1.00",
    }  # fmt: skip
    assert {p: wording.chance(p) for p in known} == known
    assert wording.chance(None) == wording.chance(np.nan) == "–"
    assert wording.compared(0.000999) == "< 0.001" and wording.compared(0.001) == "= 0.001"
    assert wording.compared(None) == wording.compared(np.nan) == "unknown"


def test_shares_numbers_and_names_in_words():
    shares = {0.0: "0 %", 1e-9: "< 1 %", 0.00499: "< 1 %", 0.0051: "1 %", 0.756: "76 %", 1: "100 %"}
    assert {value: wording.share(value) for value in shares} == shares
    assert wording.share(None) == wording.share(np.nan) == "–"
    assert [wording.number(v) for v in (None, np.nan, np.inf, -0.001, -1.5, 2, 0.005)] == [
        "–", "–", "–", "0.00", "−1.50", "2.00", "0.01",
    ]  # fmt: skip
    assert [wording.number(v, 1, sign=True) for v in (0.04, -0.04, 0.06, -2)] == [
        "0.0", "0.0", "+0.1", "−2.0",
    ]  # fmt: skip
    assert wording.grouped(1234567) == "1\u202f234\u202f567" and wording.grouped(12) == "12"
    assert [wording.coordinate(v) for v in (1.04, 10.0, 0.0, 0.25, -0.5)] == [
        "1", "10", "0", "0.2", "-0.5",
    ]  # fmt: skip
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert wording.short(letters[:24]) == letters[:24]
    assert wording.short(letters[:25]) == "abcdefghijklmno…rstuvwxy"
    assert wording.short(letters, 9) == "abcde…xyz" and wording.short(" a \n b ") == "a b"
    assert wording.short("  ") == "(no name)"


def test_colours_on_a_dark_page():
    assert palette.luminance("#000000") == 0.0 and palette.luminance("#ffffff") == pytest.approx(1)
    for place, weight in (("#ff0000", 0.2126), ("#00ff00", 0.7152), ("#0000ff", 0.0722)):
        assert palette.luminance(place) == pytest.approx(weight)
    # 10 of 255 are on the straight part, 11 are not.
    assert palette.luminance("#0a0a0a") == pytest.approx(10 / 255 / 12.92)
    assert palette.luminance("#0b0b0b") == pytest.approx(((11 / 255 + 0.055) / 1.055) ** 2.4)
    for hue in ("#332288", "#000000", "#ffffff", "#8a8a8a", "#898989", "#102030"):
        rgb = [int(hue[i : i + 2], 16) for i in (1, 3, 5)]
        for white in range(20):
            known = "#" + "".join(f"{round(c + (255 - c) * white / 20):02x}" for c in rgb)
            if palette.luminance(known) >= 0.24:
                break
        assert palette.lightened(hue) == known
    css = palette.palette_css()
    k, v = len(palette.HUES), len(palette.VIEW_HUES)
    by_day, classes, by_night = (
        css.partition("}")[0],
        css.count("{--c:var("),
        css.split("dark]{")[1],
    )
    assert by_day.startswith(f":root{{--k0:{palette.HUES[0]};") and classes == k + v
    assert f"--v{v - 1}:{palette.VIEW_HUES[-1]};" in by_day and f".v{v - 1}{{" in css
    assert by_night.startswith(f"--k0:{palette.lightened(palette.HUES[0])};")


# -- cards ----------------------------------------------------------------------------------------


def test_cards_of_views_without_signs_and_with_an_asked_grouping(tiny):
    (card,) = cards.cards(with_view(tiny, loadings=np.array([[0.9, 0.0], [0.3, 0.6], [0, 0]])))
    assert not card.is_signed and not card.is_asked
    line = cards._line(FeatureFact("city", 1.0, True, level="Oslo", share=0.8, elsewhere=0.15))
    assert not line.is_absent and line.bars == () and line.span == line.doubt == ""
    asked = cards.asked_card(dataclasses.replace(tiny, asked=tiny.views[0]))
    assert asked.sure == "not claimed: 2 groups because somebody asked for so many"
    assert [row.against for row in asked.clusters] == ["", ""]


def test_which_idea_a_view_follows_and_why_not_another(tiny):
    study = dataclasses.replace(tiny, settings={"ideas": "clouds, shapes, nested"})
    cloud = "A group is a cloud here: rows around a middle, told apart in a few directions."
    assert cards.idea_words(study, study.views[0]) == (
        f"{cloud} Looked for as well, and nothing here fits better: groups of any shape and "
        "groups within groups."
    )
    noted = dataclasses.replace(study.views[0], idea_note="  as clouds they are worse. ")
    assert cards.idea_words(study, noted) == f"{cloud} As clouds they are worse."
    alone = dataclasses.replace(study, settings={"ideas": "clouds"})
    assert cards.idea_words(alone, study.views[0]) == cloud
    other = dataclasses.replace(study.views[0], idea="unheard of")
    assert (
        cards.idea_words(alone, other)
        == "Looked for as well, and nothing here fits better: clouds."
    )


def test_why_a_cluster_is_not_claimed_at_the_limits(tiny):
    view = dataclasses.replace(
        tiny.views[0],
        cluster_p_values=np.array([0.01, 0.0101, 0.01, 0.02]),
        cluster_stability=np.array([0.5, 0.5, 0.499, 0.1]),
    )
    chance, dissolves = "tables without groups have clusters as clear", "it dissolves on samples"
    assert [cards.not_claimed(view, k) for k in range(4)] == [
        "", f"not claimed: {chance}", f"not claimed: {dissolves}",
        f"not claimed: {chance} and {dissolves}",
    ]  # fmt: skip


def test_what_speaks_for_a_candidate(tiny):
    miss = NearMiss("m", "LAC", "LAC(4)", 4, -0.25, 0.01, 0.75, ("age", "rent"), 0.5)
    (one,) = cards.unclaimed(dataclasses.replace(tiny, near_misses=(miss,)))
    assert one == (
        None, "LAC(4)", "4 clusters",
        ["comes back on samples (stability 0.75)", "told apart by age, rent"],
        ["describes the rows worse than one cloud (score −0.25)",
         "what the views leave of it is too little"],
    )  # fmt: skip
    worse = dataclasses.replace(miss, p_value=0.0101, missing_redundancy=0.501, features=())
    (one,) = cards.unclaimed(dataclasses.replace(tiny, near_misses=(worse,)))
    assert one.speaks_for == ["comes back on samples (stability 0.75)"]
    assert one.against[1:] == [
        "tables without groups give as clear a grouping (p = 0.010)",
        "explained by missing cells (50 %)",
    ]
    for idea in ("classes", "shapes", "nested"):
        for score, side in ((0.5, "speaks_for"), (0.0, "against")):
            study = with_view(tiny, p_value=0.5, idea=idea, score=score)
            said = getattr(cards.unclaimed(study)[0], side)
            assert f"score {score:.2f}, on the scale of its own idea of a group" in said
    boxes = cards.unclaimed(with_view(tiny, p_value=0.5, idea="boxes", score=0.5))[0]
    assert "describes the rows better than one cloud (score 0.50)" in boxes.speaks_for
    many = with_view(tiny, p_value=0.5, finders=("A", "B", "C"))
    assert cards.unclaimed(many)[0].title == "A, B"


def test_bars_of_sizes_and_shares(tiny):
    # Six rows are in clusters or in both, of eight.
    assert cards._size_bar(tiny.views[0], 10.0) == [(0.0, 5.0, 0), (5.0, 2.5, 1)]
    every = SubspaceClustering.from_clusters(
        [(range(8), [0]), (range(8), [1])], shape=(8, 3), feature_names=NAMES
    )
    both = dataclasses.replace(tiny.views[0], clustering=every)
    assert cards._size_bar(both) == [(0.0, 50.0, 0), (50.0, 50.0, 1)]
    row = cards._cluster(tiny.views[0], 1, 0, True)
    assert (row.size, row.share, row.name, row.description) == (2, 2.0, "", "second")
    named = dataclasses.replace(tiny.views[0], names=("a", "b"))
    assert cards._cluster(named, 1, 8, False).name == "b"
    assert cards._cluster(named, 1, 8, False).against == ""


def test_many_clusters_are_narrow_in_the_picture(tiny):
    def grid(n):
        clustering = SubspaceClustering.from_labels(np.arange(n), n_features=3)
        view = dataclasses.replace(tiny.views[0], clustering=clustering, facts=((),) * n)
        told = np.full((n, 3), 0.01)
        told[0, 0] = 1.0
        return cards._relevance(tiny, view, told)

    assert grid(10).width == 340.0 and grid(10).cells[0].width == 34.0
    assert grid(11).width == pytest.approx(340.0) and grid(11).cells[0].width == 340 / 11
    assert grid(41).cells[0].width == 340 / 40
    assert len(grid(10).cells) == 1  # a hundredth of the strongest is nothing
    nothing = cards._relevance(tiny, tiny.views[0], np.zeros((2, 3)))
    assert nothing.cells == [] and len(nothing.marks) == 3


def test_hardly_any_weight_is_no_cell(tiny):
    weights = np.array([[0.8, 0.16, 0.04], [0.05 / 1.05, 1 / 1.05, 0.0]])
    labels = np.array([0, 0, 0, 0, 1, 1, -1, -1])
    weighted = SubspaceClustering.from_labels(labels, weights=weights, feature_names=NAMES)
    view = dataclasses.replace(
        tiny.views[0], clustering=weighted, cluster_p_values=np.zeros(2),
        cluster_stability=np.ones(2),
    )  # fmt: skip
    grid = cards._cells(tiny, view, np.zeros((2, 3)))
    found = [(cell.cluster, cell.feature, round(cell.strength, 6)) for cell in grid.cells]
    assert found[:2] == [(0, "age", 1.0), (0, "rent", 0.2)]
    assert (1, "rent", 1.0) in found and len(found) <= 4
    # Two clusters of four and two of eight rows: eleven high is enough for a number.
    for height, marks in ((44.0, [0, 1]), (43.9, [0]), (22.0, [0]), (21.9, [])):
        assert [k for *_, k in cards._cells(tiny, view, np.zeros((2, 3)), height).marks] == marks


# -- pictures -------------------------------------------------------------------------------------


def test_steps_of_an_axis():
    known = {
        0.1: 0.1,
        0.11: 0.2,
        0.2: 0.2,
        0.21: 0.5,
        0.5: 0.5,
        0.51: 1.0,
        1.0: 1.0,
        3.0: 5.0,
        70.0: 100.0,
    }
    assert {rough: drawings._step(rough) for rough in known} == pytest.approx(known)


def merged_view(view, losses, n=4):
    clustering = SubspaceClustering.from_labels(
        np.repeat(np.arange(n), [4, 3, 2, 1][:n]), n_features=3
    )
    merges = tuple(
        Merge(first, second, lost, left, 0.001 * left, 0.8)
        for (first, second), lost, left in zip(
            ((1, 3), (0, 2), (0, 1)), losses, (3, 2, 1), strict=False
        )
    )
    return dataclasses.replace(view, clustering=clustering, merges=merges, facts=((),) * n)


def test_the_tree_of_a_view_by_hand(tiny):
    view = merged_view(tiny.views[0], (1.0, 3.0))
    drawn = drawings.view_tree(view, width=46.0, step=10.0)
    # 1 of 4.6 is at 10, 4 of 4.6 at 40; leaves from 5 on, those that merge beside each other.
    assert drawn.leaves == [(5.0, 0), (15.0, 2), (25.0, 1), (35.0, 3)]
    assert drawn.paths == [
        "M0.0 25.0H10.0V35.0H0.0", "M0.0 5.0H40.0V15.0H0.0", "M40.0 10.0H46.0", "M10.0 30.0H46.0",
    ]  # fmt: skip
    assert [(round(x, 9), round(w, 9), k) for x, w, k in drawn.bands] == [
        (0.0, 10.0, 4), (10.0, 30.0, 3), (40.0, 6.0, 2),
    ]  # fmt: skip
    assert (drawn.width, drawn.height) == (46.0, 40.0)
    assert [level.merged for level in drawn.levels] == ["", "2 and 4", "1 and 3"]
    assert [level.is_own for level in drawn.levels] == [True, False, False]
    # What is gained by merging takes no place.
    gained = drawings.view_tree(merged_view(tiny.views[0], (-1.0, 3.0)), width=46.0)
    assert [round(x, 9) for x, _, _ in gained.bands] == [0.0, 0.0, 40.0]
    flat = drawings.view_tree(merged_view(tiny.views[0], (0.0, 0.0)))
    assert [x for x, _, _ in flat.bands] == [0.0, 0.0, 0.0] and flat.bands[-1][1] == 300.0
    assert flat.height == 80.0


def test_which_level_is_recommended_at_the_limits(tiny):
    view = tiny.views[0]
    for p, stability, known in (
        (0.01, 0.75, 2), (0.0101, 0.75, None), (0.01, 0.749, None), (np.nan, 0.75, 2),
    ):  # fmt: skip
        one = dataclasses.replace(view, p_value=p, stability=stability, merges=())
        assert one.recommended == 2 and drawings._recommended(one) == known


def test_numbers_of_merged_clusters_count_by_size(tiny):
    view = merged_view(tiny.views[0], (1.0, 3.0))
    assert drawings.cluster_numbers(view, 4) == ([0, 1, 2, 3], [0, 1, 2, 3])
    # 1 and 3 have four rows together, as cluster 0 has.
    assert drawings.cluster_numbers(view, 3) == ([0, 1, 2, 1], [0, 1, 2])
    assert drawings.cluster_numbers(view, 2) == ([0, 1, 0, 1], [0, 1])
    turned = dataclasses.replace(
        view, merges=(dataclasses.replace(view.merges[0], first=2, second=3),)
    )
    assert drawings.cluster_numbers(turned, 3) == ([0, 1, 2, 2], [0, 1, 2])
    larger = dataclasses.replace(
        view, merges=(dataclasses.replace(view.merges[0], first=1, second=2),)
    )
    assert drawings.cluster_numbers(larger, 3) == ([1, 0, 0, 2], [1, 0, 3])


def test_the_strip_of_chance_at_its_edges(tiny):
    (view,) = tiny.views
    low = NearMiss("n", "LAC", "LAC(2)", 2, -1.0, 0.5, 0.5, (), 0.0)
    lost = dataclasses.replace(low, score=np.nan)
    study = dataclasses.replace(
        with_view(tiny, score=np.nan),
        near_misses=(low, lost),
        chance=(np.nan, 1.0),
        curve_chance=(0.5,),
    )
    strip = drawings.chance_strip(study, width=244, height=100)
    # From -1 at 20 to 1.04 at 224: a hundred for one.
    assert strip.misses == [pytest.approx(20.0)] and strip.marks == []
    assert strip.dots == [(pytest.approx(171.5), 71.0), (pytest.approx(220.5), 71.0)]
    assert [text for _, text in strip.ticks] == ["-1", "-0.5", "0", "0.5", "1"]
    assert strip.ground == 76.0 and (strip.width, strip.height) == (244, 100)
    tall = dataclasses.replace(tiny, chance=(0.5,) * 15, curve_chance=())
    heights = [y for _, y in drawings.chance_strip(tall).dots]
    assert heights == [pytest.approx(126 - 5 - 6.5 * min(i, 12)) for i in range(15)]
    assert drawings.chance_strip(tall).width == 640
    nested = dataclasses.replace(tiny, views=tuple(
        dataclasses.replace(view, number=i + 1, idea=idea)
        for i, idea in enumerate(("clouds", "boxes", "shapes", "classes"))
    ))  # fmt: skip
    strip = drawings.chance_strip(nested)
    assert [mark.number for mark in strip.marks] == [1, 2] and strip.elsewhere == [3, 4]


def test_an_empty_map_and_a_tree_of_one(tiny):
    empty = dataclasses.replace(tiny, results=(), distances=np.zeros((0, 0)))
    assert drawings.results_map(empty) == (560, 400, [], []) and drawings.tree(empty) is None
    assert drawings.payload(empty)["matrix"] is None and drawings.payload(empty)["results"] == []
    assert drawings.tree(tiny).reach == 160.0
    near = dataclasses.replace(tiny, distances=tiny.distances / 100)
    # All merge below where results are the same: that is where the tree begins.
    assert drawings.tree(near).same == 0.0
    assert drawings.tree(near).paths[0] == "M160.0 1.5H156.0V2.5H160.0"


def test_numbers_are_packed_within_their_kind():
    values = np.array([-1.0, 0.0, 255.0, 256.0, 7.0])
    assert unpacked(drawings._packed(values, np.uint8), "u1") == [0, 0, 255, 255, 7]
    assert unpacked(drawings._packed(values, np.uint16), "<u2") == [0, 0, 255, 256, 7]
    assert drawings.script_json({"b": "<&>", "a": 1}) == '{"a":1,"b":"\\u003c\\u0026\\u003e"}'
    assert drawings.direction(NAMES, np.zeros(3)) == []
    three = drawings.direction(("a", "b", "c", "d"), np.array([4.0, -3.0, 2.0, 1.9]))
    assert [part[2] for part in three] == ["a", "b", "c"] and three[1][0] == "−"
    assert three[0][1] == f"{4 / np.sqrt(16 + 9 + 4 + 3.61):.2f}"


def test_which_folder_and_which_rows_are_told(tiny):
    assert drawings.payload(tiny)["folder"] == "STUDY"
    inside = dataclasses.replace(tiny, folder="/home/somebody/mine", shown_rows=np.array([1, 6]))
    told = drawings.payload(
        dataclasses.replace(inside, row_names=tuple("=bcdef-h")), embed_ids=True
    )
    assert (told["folder"], told["rows"], told["ids"]) == ("mine", [1, 6], ["b", "-"])
    assert told["cells"] == ["b", "'-"]
    nameless = dataclasses.replace(tiny, row_names=None)
    assert drawings.payload(nameless, embed_ids=True)["ids"] is None


# -- the first screen and the methods -------------------------------------------------------------


def test_tiles_where_nothing_was_found(tiny):
    tiles = template_context.template_context(with_view(tiny, p_value=0.5))["tiles"]
    assert tiles == [
        ("0", "groupings better than chance", "1 more no better than chance"),
        ("3", "clusterings looked at", ""),
        ("3", "tables without groups", "to compare with"),
    ]
    unknown = with_view(tiny, p_value=np.nan)
    assert template_context._the_others(unknown) == "1 not yet judged"
    (view,) = tiny.views
    others = [
        dataclasses.replace(view, number=i + 2, p_value=p) for i, p in enumerate((0.5, np.nan, 0.2))
    ]
    mixed = dataclasses.replace(tiny, views=(view, *others))
    assert template_context._the_others(mixed) == "2 more no better than chance, 1 not yet judged"
    assert template_context._the_others(tiny) == ""


def test_tiles_of_sizes_and_fitted_tails(tiny):
    one = dataclasses.replace(with_view(tiny, n_tables=0), shape=(1234, 1))
    tiles = template_context._tiles(one)
    assert tiles[-1] == ("1\u202f234", "rows", "1 feature")
    assert tiles[1] == ("p = 0.004", "against chance", "3 tables without groups")
    fitted = template_context._tiles(with_view(tiny, n_tables=20, p_value=0.0001))
    assert fitted[1].figure == "p < 0.001" and fitted[1].remark.startswith("fitted tail")
    (view,) = tiny.views
    two = (
        dataclasses.replace(view, stability=np.nan),
        dataclasses.replace(view, number=2, p_value=0.009),
    )
    both = dataclasses.replace(tiny, views=two, between_views=np.array([[1.0, 0.3], [0.3, 1.0]]))
    tiles = template_context._tiles(both)
    assert tiles[2].figure == "p = 0.009" and tiles[3][:2] == ("–", "stability at least")
    # The tail that is spoken of is that of the largest p-value.
    for tables, said in (((20, 200), "3 tables"), ((200, 20), "fitted tail")):
        views = (
            dataclasses.replace(view, p_value=0.001, n_tables=tables[0]),
            dataclasses.replace(view, number=2, p_value=0.009, n_tables=tables[1]),
        )
        assert template_context._tiles(dataclasses.replace(both, views=views))[2].remark.startswith(
            said
        )


def test_what_is_listed_and_counted(tiny):
    columns = tuple({"name": f"c{j}", "role": role} for j, role in enumerate(
        ["numeric"] * 149 + ["nominal"] * 2 + [""]
    ))  # fmt: skip
    many = tuple(dataclasses.replace(tiny.results[0], name=f"n{i}", score=-i) for i in range(401))
    study = dataclasses.replace(
        tiny, table_schema=columns, failures=(("a", "b"),) * 61,
        settings={"source": "x/y.csv", "seed": 3},
        truth=({"name": "Leiden, resolution 1", "views": [{"ari": 0.1}, {"ari": 0.7}]},
               {"name": "none", "views": []}),
    )  # fmt: skip
    told = template_context.template_context(study)
    assert (len(told["columns"]), told["n_more_columns"]) == (150, 2)
    assert told["roles"] == ["149 numeric columns", "2 nominal columns"]
    assert (len(told["failures"]), told["n_more_failures"]) == (60, 1)
    assert told["title"] == "y.csv" and told["settings"] == [("seed", 3)]
    assert told["beside_leiden"] and [t["best"] for t in told["truths"]] == [1, None]
    results = dataclasses.replace(tiny, results=many, distances=np.ones((401, 401)) - np.eye(401))
    told = template_context.template_context(results)
    assert [r.name for r in told["results"]] == [f"n{i}" for i in range(400)]
    assert told["n_more_results"] == 1 and told["tree"].n_left_out == 101
    plain = template_context.template_context(tiny)
    assert plain["n_more_results"] == plain["n_more_failures"] == plain["n_more_columns"] == 0
    assert not plain["beside_leiden"]
    nameless = dataclasses.replace(tiny, settings={})
    assert template_context.template_context(nameless)["title"] == "a table"
    half = dataclasses.replace(tiny, searched_rows=np.arange(4), shape=(9, 3))
    told = template_context.template_context(half)
    # Three of four rows, so seven of nine.
    assert (told["fewest"], told["smallest"], told["all_shown"]) == (3, 7, False)


def test_what_subspaces_added(tiny):
    answer = template_context.answer
    (view,) = tiny.views
    kmeans, lac, other = tiny.results
    assert answer(tiny) == (
        "Nothing that plain clustering had not seen: k-means, in all features at once, found this "
        "grouping too. What the other finders add here is which features make the clusters."
    )
    assert answer(with_view(tiny, p_value=0.5)) == (
        "Neither plain clustering (k-means) nor any other finder found more here than chance would "
        "give."
    )
    hidden = dataclasses.replace(tiny, results=(dataclasses.replace(kmeans, view=0), lac, other))
    assert answer(hidden) == (
        "In all features at once, k-means found none of them; view 1 was found only by finders "
        "that look for subspaces."
    )
    shaped = with_view(hidden, idea="shapes")
    assert answer(shaped) == (
        "In all features at once, k-means found none of them; view 1 was found by following "
        "another idea of a group."
    )
    second, third = (dataclasses.replace(view, number=i, finders=("LAC",)) for i in (2, 3))
    three = dataclasses.replace(tiny, views=(view, second, third), between_views=np.eye(3))
    assert answer(three) == (
        "In all features at once, k-means found 1 of the 3 groupings; views 2 and 3 were found "
        "only by finders that look for subspaces."
    )
    plain = next(name for name in template_context.BASELINES if name != "KMeans")
    ward = dataclasses.replace(other, finder=plain)
    spoken = template_context.BASELINES[plain].spoken or plain
    missed = answer(dataclasses.replace(tiny, results=(kmeans, lac, ward)))
    assert f"found this grouping too ({spoken} did not)." in missed
    both = dataclasses.replace(
        tiny, views=(view, second), between_views=np.eye(2),
        results=(kmeans, lac, dataclasses.replace(ward, view=2)),
    )  # fmt: skip
    assert "one or another of " in answer(both) and "found each of the groupings too." in answer(
        both
    )


def test_methods_of_samples_failures_and_tails(tiny):
    study = dataclasses.replace(
        tiny, searched_rows=np.arange(5), failures=(("a", "b"),) * 2,
        settings={"version": "9.9", "effort": "quick", "seed": 0}, notes=("a note.", "Another"),
    )  # fmt: skip
    text = methods(study).paragraph
    assert text.startswith(
        "A table of 8 rows and 3 features was explored with Subscape 9.9 (effort quick, seed 0); "
        "the search saw 5 rows drawn at random, and the others were assigned to the clusters "
        "found. A note. Another. 3 clusterings came from LAC"
    )
    assert "; 2 runs failed." in text and "p-values are multiplied" not in text
    assert "Gumbel" not in methods(with_view(tiny, n_tables=0)).paragraph
    assert "from p ≤ 0.01." in text and "on each of 3 tables drawn" in text
    bare = dataclasses.replace(tiny, settings={}, searched_rows=np.arange(0), chance=(), notes=())
    text = methods(bare).paragraph
    assert "drawn at random" not in text and "copula" not in text and " (effort" not in text
    fitted = with_view(tiny, n_tables=20, n_ideas=3, p_value=0.001, p_interval=(0.0005, 0.004))
    text = methods(fitted).paragraph
    assert "p-values are multiplied by 3, the number" in text
    assert "Where none of the 20 tables reached a score" in text
    assert "Counted, p is at most 3 in 21." in text
    assert "p = 0.001 by the fitted tail, 95 % interval 0.0005 to 0.004, stability 0.80)." in text
    without = methods(with_view(fitted, p_interval=None)).paragraph
    assert "p = 0.001 by the fitted tail, stability" in without
    (view,) = tiny.views
    three = tuple(dataclasses.replace(view, number=i) for i in (1, 2, 3))
    text = methods(dataclasses.replace(tiny, views=three, between_views=np.eye(3))).paragraph
    parts = [f"view {i} (2 clusters, p = 0.004" for i in (1, 2, 3)]
    assert (
        all(part in text for part in parts) and "), view 2 (" in text and ") and view 3 (" in text
    )
    alone = dataclasses.replace(tiny, results=tiny.results[:1], distances=np.zeros((1, 1)))
    assert "1 clustering came from KMeans" in methods(alone).paragraph
    nothing = dataclasses.replace(tiny, results=(), distances=np.zeros((0, 0)))
    assert "came from" not in methods(nothing).paragraph


# -- figures --------------------------------------------------------------------------------------


def test_dots_of_many_rows_are_small_and_many_clusters_have_no_legend(tiny):
    def drawn(n_rows, n_clusters):
        labels = np.arange(n_rows) % n_clusters
        view = dataclasses.replace(
            tiny.views[0], clustering=SubspaceClustering.from_labels(labels, n_features=3),
            coordinates=np.zeros((n_rows, 2)),
        )  # fmt: skip
        study = dataclasses.replace(tiny, shown_rows=np.arange(n_rows), shape=(n_rows, 3))
        (ax,) = figures.scatter(study, view).axes
        return ax

    for n_rows, size in ((2000, 12), (2001, 4)):
        assert drawn(n_rows, 2).collections[0].get_sizes().tolist() == [size]
    assert drawn(26, 12).get_legend() is not None and drawn(26, 13).get_legend() is None
    assert [c.get_alpha() for c in drawn(4, 2).collections] == [0.75, 0.75]


def test_axes_of_features_in_words(tiny):
    positive = np.array([[0.8, 0.0], [0.6, 0.0], [0.0, 0.0]])
    view = dataclasses.replace(tiny.views[0], loadings=positive)
    assert figures._axis_words(tiny, view, 0) == "age 0.80, rent 0.60"
    assert figures._axis_words(tiny, view, 1) == ""
    named = dataclasses.replace(tiny, feature_names=("a$b", "n" * 30, "c"))
    assert figures._axis_words(named, view, 0) == f"a\\$b 0.80, {wording.short('n' * 30, 16)} 0.60"
    signed = dataclasses.replace(view, loadings=-positive)
    assert figures._axis_words(tiny, signed, 0) == "− 0.80 age − 0.60 rent"


def test_which_figures_are_written(tiny, tmp_path):
    def names(study):
        written = figures.write_figures(study, tmp_path, "svg")
        return [path.name for path in written]

    view = [f"view-1-{name}.svg" for name in ("scatter", "cells", "features")]
    assert names(tiny) == [*view, "map.svg", "distances.svg"]
    one = dataclasses.replace(tiny, results=tiny.results[:1], distances=np.zeros((1, 1)))
    assert names(one) == [*view, "map.svg"]
    assert names(dataclasses.replace(one, results=())) == view


def test_texts_and_sizes_of_the_figures(tiny, monkeypatch):
    ax = figures.cells(tiny, tiny.views[0]).axes[0]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["1  (4 rows)", "2  (2 rows)"]
    for n, width in ((2, 3.4), (20, 10.6), (21, 10.6)):
        clustering = SubspaceClustering.from_labels(np.arange(n), n_features=3)
        view = dataclasses.replace(tiny.views[0], clustering=clustering, facts=((),) * n)
        figure = figures.features(tiny, view)
        assert tuple(figure.get_size_inches()) == pytest.approx((width, 1.2 + 0.22 * 3))
        assert figure.axes[0].get_xlabel() == "cluster"
    (image,) = [image for ax in figures.distances(tiny).axes for image in ax.images]
    shown = image.get_array()
    assert sorted(np.unique(np.asarray(shown)).tolist()) == [0.0, 0.25, 0.5, 1.0]
    monkeypatch.setattr(figures, "MOST_LEAVES", 2)
    (image,) = [image for ax in figures.distances(tiny).axes for image in ax.images]
    assert np.asarray(image.get_array()).tolist() == [[0.0, 0.25], [0.25, 0.0]]


@pytest.mark.parametrize(
    ("shares", "pair"),
    [
        ([[1, 0.9, 0.2], [0.9, 1, 0.3], [0.2, 0.3, 1]], (1, 2)),
        ([[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]], (2, 3)),
        ([[1, 0.1, 0.4], [0.1, 1, 0.3], [0.4, 0.3, 1]], (1, 3)),
        # What is not known is nothing; of equal pairs the first.
        ([[1, np.nan, 0.1], [np.nan, 1, np.nan], [0.1, np.nan, 1]], (1, 3)),
        (np.eye(3), (1, 2)), (np.eye(2), (1, 2)), (np.eye(1), None),
    ],
)  # fmt: skip
def test_the_pair_of_views_that_shares_most(tiny, shares, pair):
    several = dataclasses.replace(
        tiny, views=tiny.views * len(shares), between_views=np.asarray(shares, dtype=float)
    )
    assert template_context._first_pair(several) == pair


@pytest.mark.parametrize(("options", "named"), [({}, False), ({"embed_ids": True}, True)])
def test_names_of_rows_stand_in_the_page_only_if_asked_for(tiny, tmp_path, options, named):
    several = dataclasses.replace(tiny, row_names=tuple(f"zeugin{i}" for i in range(8)))
    path = write_report(several, tmp_path / "report.html", **options)
    assert path == tmp_path / "report.html"
    assert ("zeugin" in path.read_text(encoding="utf-8")) is named
    # A page that is there is replaced.
    text = write_report(several, path, **options).read_text(encoding="utf-8")
    assert text == render(several, **options)
