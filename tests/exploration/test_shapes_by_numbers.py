"""Groups of any shape: what is taken, how sure it is, and what is asked on the way."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from subscape.exploration import shapes
from subscape.exploration.shapes import Shapes, ShapeScores
from subscape.finders.density.subspaces import screened_pairs
from subscape.validation.max_statistic import gumbel_p_value, tail_interval

LOG = {each: float(np.log(each)) for each in (1.2, 1.5, 2.0)}


def gap(width, score=None, labels=None):
    return SimpleNamespace(width=width, score=width if score is None else score, labels=labels)


def place(kind="columns", d=2, columns=(0, 1)):
    return SimpleNamespace(basis=np.eye(3)[:, :d], columns=columns, kind=kind)


def view(gain=1.0, labels=None, **more):
    labels = np.repeat([0, 1], 30) if labels is None else labels
    return SimpleNamespace(place=place(**more), labels=labels, valleys=SimpleNamespace(gain=gain))


# -- one table ------------------------------------------------------------------------------------


def test_a_gap_must_be_a_fifth_wider(monkeypatch):
    seen = []

    def widest(points, **more):
        seen.append(more)
        return gap(width, 7.0)

    monkeypatch.setattr(shapes, "widest_gap", widest)
    width = LOG[1.2]
    assert shapes._gap_score(None) == 7.0
    width -= 1e-9
    assert shapes._gap_score(None) == 0.0
    assert seen == [{}] * 2


@pytest.mark.parametrize(
    ("width", "least"),
    [(0.0, LOG[1.2]), (0.18, LOG[1.2]), (0.2, 0.2), (0.4, 0.4), (0.41, LOG[1.5]), (9, LOG[1.5])],
)
def test_groups_are_parted_further_by_links_half_as_long_again(monkeypatch, width, least):
    asked = []

    def widest(points, most_nats):
        asked.append((points, most_nats))
        return gap(width)

    monkeypatch.setattr(shapes, "widest_gap", widest)
    monkeypatch.setattr(
        shapes, "gap_groups", lambda points, least: SimpleNamespace(labels=(points, least))
    )
    assert shapes._by_gaps("points") == ("points", pytest.approx(least))
    assert asked == [("points", pytest.approx(LOG[2.0]))]


def test_the_widest_gap_of_all_places_and_the_clearest_valleys(monkeypatch):
    table = np.random.default_rng(0).normal(size=(60, 3))
    monkeypatch.setattr(shapes, "_places", lambda table, view: [np.eye(3) * k for k in (1, 2, 3)])
    monkeypatch.setattr(shapes, "_gap_score", lambda points: scores[round((points / table)[0, 0])])
    asked = []

    def views(table, most):
        asked.append(most)
        return found

    monkeypatch.setattr(shapes, "density_views", views)
    found, scores = [view(0.5), view(0.9)], {1: 0.1, 2: 0.7, 3: 0.2}
    best = shapes.search_shapes(table)
    assert (best.valley, best.gap, best.view) == (0.5, 0.7, found[0])
    np.testing.assert_array_equal(best.place, 2 * np.eye(3))
    found = []
    best = shapes.search_shapes(table)
    assert (best.valley, best.view) == (0.0, None) and asked == [1, 1]
    monkeypatch.setattr(shapes, "_places", lambda table, view: [])
    best = shapes.search_shapes(table)
    assert (best.gap, best.place) == (0.0, None)


def test_places_in_which_gaps_are_looked_for():
    rng = np.random.default_rng(0)
    pair = view(columns=(1, 2))
    for p, eye, principal in ((2, True, False), (3, True, False), (4, True, True),
                              (10, True, True), (11, False, True)):  # fmt: skip
        table = rng.normal(size=(60, p)) * np.arange(1, p + 1) + 5
        found = shapes._places(table, None)
        screened = p > 4  # of fewer columns all pairs are looked at for valleys
        assert len(found) == eye + principal + screened
        if screened:
            columns = list(screened_pairs(table)[0])
            np.testing.assert_array_equal(found.pop(), np.eye(p)[:, columns])
        if eye:
            np.testing.assert_array_equal(found[0], np.eye(p))
        if principal:
            centred = table - table.mean(axis=0)
            known = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :3]
            assert found[-1].shape == (p, 3)
            np.testing.assert_allclose(np.abs((found[-1] * known).sum(axis=0)), 1, atol=1e-6)
        assert shapes._places(table, pair)[eye + principal] is pair.place.basis
        assert len(shapes._places(table, view(kind="principal"))) == eye + principal + screened
        assert len(shapes._places(table, view(kind="all"))) == eye + principal + screened
        if screened:
            both = view(columns=tuple(columns))
            assert shapes._places(table, both)[eye + principal :] == [both.place.basis]


# -- what chance gives ----------------------------------------------------------------------------

LOW = [list(np.linspace(0.0, 0.1, 20)), list(np.linspace(0.0, 0.2, 20))]
HIGH = [list(np.linspace(0.3, 0.4, 20)), list(np.linspace(0.5, 0.7, 20))]


def scores(valley, gap, view=None, where=None):
    return ShapeScores(valley, gap, view, where)


def test_every_kind_of_table_has_to_be_beaten():
    maxima = {"unimodal": LOW, "curve": HIGH}
    best = scores(0.45, 0.9)
    assert shapes._p_values(best, maxima) == (
        gumbel_p_value(0.45, HIGH[0]), gumbel_p_value(0.9, HIGH[1]),
    )  # fmt: skip
    assert shapes._p_values(best, {"unimodal": LOW}) == (
        gumbel_p_value(0.45, LOW[0]), gumbel_p_value(0.9, LOW[1]),
    )  # fmt: skip
    assert shapes._p_values(best, {}) == (1.0, 1.0)
    assert shapes._p_values(scores(0.0, 0.9), {"unimodal": LOW})[0] == 1.0
    assert shapes._p_values(scores(0.45, 0.0), {"unimodal": LOW})[1] == 1.0
    assert shapes._p_values(scores(1e-9, 0.9), {"unimodal": [[-1.0] * 9, [0.0] * 9]})[0] < 1


def test_tables_are_drawn_until_it_is_clear():
    def clear(valley, gap, n, *, low=LOW):
        own = {"unimodal": [each[:n] for each in low]}
        return shapes._is_clear(scores(valley, gap), own, n)

    # Four tables reach both.
    assert shapes._is_clear(scores(0.5, 0.5), {"a": [[0.5] * 4, [0.5] * 4]}, 4)
    assert not shapes._is_clear(scores(0.5, 0.5), {"a": [[0.5] * 3, [0.5] * 4]}, 4)
    assert not shapes._is_clear(scores(0.5, 0.5), {"a": [[0.5] * 4, [0.5] * 3]}, 4)
    assert not shapes._is_clear(scores(0.5, 0.5), {"a": [[0.49] * 4, [0.5] * 4]}, 4)
    # Of one kind is enough.
    two = {"a": [[0.5] * 4, [0.5] * 4], "b": [[0.1] * 4, [0.1] * 4]}
    assert shapes._is_clear(scores(0.5, 0.5), two, 4)
    # Ten are drawn before anything is sure.
    assert clear(9.0, 0.0, 10) and not clear(9.0, 0.0, 9)
    assert clear(0.0, 9.0, 10) and clear(9.0, 9.0, 10)
    assert not clear(0.13, 0.0, 10)
    p = gumbel_p_value(9.0, LOW[0][:10])
    assert p < 1e-4


def drawn(monkeypatch, best, n_tables=12, *, bent=True, found=None):
    """What is drawn, from which models, where it is searched."""
    made, seen, told = [], [], []

    class Model:
        def __init__(self, *given):
            made.append(given)
            self.place = len(made)

        def draw(self, seed):
            seen.append((self.place, tuple(seed.entropy)))
            return np.random.default_rng(seed).normal(size=(60, 3)) * 7 + 3

    searched = []

    def search(table):
        searched.append(table)
        return scores(*(found or (0.1, 0.2)))

    monkeypatch.setattr(shapes, "NullModel", Model)
    monkeypatch.setattr(shapes, "CurveNull", Model)
    monkeypatch.setattr(shapes, "search_shapes", search)
    asked = []

    def is_bent(points):
        asked.append(points)
        return bent

    monkeypatch.setattr(shapes, "is_bent", is_bent)
    table = np.random.default_rng(0).normal(size=(60, 3))
    maxima = shapes._null_scores(table, best, n_tables, 5, lambda *step: told.append(step))
    return SimpleNamespace(
        maxima=maxima, made=made, seen=seen, told=told, asked=asked, table=table, searched=searched
    )


def test_tables_without_groups_of_both_kinds(monkeypatch):
    best = scores(0.15, 0.25, view(d=2), np.eye(3))
    run = drawn(monkeypatch, best)
    assert {kind: (len(a), len(b)) for kind, (a, b) in run.maxima.items()} == {
        "unimodal": (12, 12), "curve": (12, 12),
    }  # fmt: skip
    assert run.maxima["curve"] == ([0.1] * 12, [0.2] * 12)
    assert run.made[0][0] is run.table and run.made[0][1] == "unimodal"
    assert run.made[1][0] is run.table and run.made[1][1] is best.view.place.basis
    np.testing.assert_allclose(run.asked[0], run.table[:, :2])
    assert run.seen == [(k + 1, (5, 29, i, k)) for i in range(12) for k in (0, 1)]
    assert run.told == [(i, 12) for i in range(1, 13)]
    np.testing.assert_allclose(run.searched[0].std(axis=0), 1)
    np.testing.assert_allclose(run.searched[0].mean(axis=0), 0, atol=1e-12)


def test_no_curve_where_the_rows_are_not_bent(monkeypatch):
    best = scores(0.15, 0.25, view(d=2), np.eye(3))
    run = drawn(monkeypatch, best, bent=False)
    assert list(run.maxima) == ["unimodal"] and len(run.made) == 1
    # Along one line, or nowhere in particular, that can't be seen.
    one = drawn(monkeypatch, scores(0.15, 0.25, view(d=1), np.eye(3)), bent=False)
    assert list(one.maxima) == ["unimodal", "curve"] and one.asked == []
    none = drawn(monkeypatch, scores(0.15, 0.25), bent=False)
    assert list(none.maxima) == ["unimodal", "curve"] and none.made[1][1] is None
    # Without valleys the place of the gap counts.
    where = np.eye(3)[:, 1:]
    gaps = drawn(monkeypatch, scores(0.0, 0.25, None, where))
    assert gaps.made[1][1] is where
    np.testing.assert_allclose(gaps.asked[0], gaps.table[:, 1:])


def test_nothing_is_drawn_where_nothing_was_found(monkeypatch):
    assert drawn(monkeypatch, scores(0.0, 0.0)).maxima == {}
    assert drawn(monkeypatch, scores(-1.0, 0.0)).made == []
    assert drawn(monkeypatch, scores(1e-9, 0.0)).made != []
    assert drawn(monkeypatch, scores(0.0, 1e-9)).made != []


def test_drawing_ends_when_it_is_clear(monkeypatch):
    run = drawn(monkeypatch, scores(0.05, 0.05, view(), np.eye(3)), 40)
    assert len(run.maxima["unimodal"][0]) == 4  # all reach it
    run = drawn(monkeypatch, scores(90.0, 0.25, view(), np.eye(3)), 40)
    assert len(run.maxima["curve"][0]) == 10


# -- what is taken --------------------------------------------------------------------------------


def shape(by="valleys", n_groups=2, score=1.0, p_value=0.5, maxima=None):
    labels = np.arange(60) % n_groups
    return Shapes(labels, by, np.eye(3), (0,), score, p_value, maxima or {})


def test_groups_are_counted_and_p_values_have_intervals():
    assert shape(n_groups=3).n_groups == 3
    assert Shapes(np.zeros(0, int), "gaps", np.eye(1), (), 0.0, 1.0).n_groups == 1
    rng = np.random.default_rng(0)
    one, two = (tuple(c + 0.1 * rng.gumbel(size=20)) for c in (0.0, 0.2))
    p = 2 * gumbel_p_value(1.0, two)
    found = shape(p_value=p, maxima={"unimodal": one, "curve": two, "ring": ()}).interval()
    wide = np.max([tail_interval(1.0, one), tail_interval(1.0, two)], axis=0)
    assert tuple(found) == pytest.approx(tuple(2 * wide))
    assert tuple(shape(p_value=0.3).interval()) == (0.3, 0.3)
    assert tuple(shape(p_value=0.3, score=0.0, maxima={"unimodal": one}).interval()) == (0.3, 0.3)
    assert tuple(shape(p_value=0.3, maxima={"unimodal": ()}).interval()) == (0.3, 0.3)


def test_small_groups_are_with_the_largest():
    labels = np.repeat([0, 1, 2, 3, -1], [50, 60, 2, 3, 5])
    found = shapes._large(labels, 120)
    # Three rows are enough; those in no group are with the largest, too.
    assert found.tolist() == [0] * 50 + [1] * 60 + [1] * 2 + [2] * 3 + [1] * 5
    labels = np.repeat([0, 1, 2], [2000, 19, 20])
    assert shapes._large(labels, 2000).tolist() == [0] * 2019 + [1] * 20
    assert shapes._large(np.array([0, 1, 0, 1]), 4).tolist() == [0] * 4
    assert shapes._large(np.full(5, -1), 5).tolist() == [0] * 5
    # The largest is not the first.
    labels = np.repeat([0, 1, 2], [2, 10, 30])
    assert shapes._large(labels, 42).tolist() == [1] * 2 + [0] * 10 + [1] * 30


def chosen(monkeypatch, p_valley, p_gap, *, valley=1.0, gap=1.0, by_valleys=None, by_gaps=None,
           returns=None, more=True, with_view=True, with_place=True):  # fmt: skip
    two = np.repeat([0, 1], 30)
    table = np.random.default_rng(0).normal(size=(60, 3))
    monkeypatch.setattr(shapes, "_by_gaps", lambda points: two if by_gaps is None else by_gaps)
    monkeypatch.setattr(
        shapes, "_returns", lambda table, one, rng: (returns or {"valleys": 1, "gaps": 1})[one.by]
    )
    asked = []

    def gains_more(points, coarse, fine, chance):
        asked.append((points.tolist(), coarse.by, fine.by, chance))
        return more

    monkeypatch.setattr(shapes, "_gains_more", gains_more)
    seen = view(labels=two if by_valleys is None else by_valleys) if with_view else None
    where = np.eye(3)[:, [0, 2]] if with_place else None
    best = scores(valley, gap, seen, where)
    p_values = {"valleys": p_valley, "gaps": p_gap}
    options = shapes._options(table, best)
    assert [one.p_value for one in options] == [1.0] * len(options)
    options = [replace(one, p_value=min(1.0, 2 * p_values[one.by])) for one in options]
    found = shapes._chosen(table, options, None, "chance")
    if asked:
        assert asked == [(table[:, :2].tolist(), "gaps", "valleys", "chance")]
    return found


def test_valleys_or_gaps(monkeypatch):
    found = chosen(monkeypatch, 1e-3, 0.3)
    assert (found.by, found.p_value, found.score, found.columns) == ("valleys", 2e-3, 1.0, (0, 1))
    found = chosen(monkeypatch, 0.3, 1e-3, gap=2.0)
    assert (found.by, found.p_value, found.score, found.columns) == ("gaps", 2e-3, 2.0, (0, 2))
    assert chosen(monkeypatch, 0.3, 0.2).by == "gaps" and chosen(monkeypatch, 0.2, 0.3).by == (
        "valleys"
    )
    assert chosen(monkeypatch, 0.6, 0.9).p_value == 1.0
    assert chosen(monkeypatch, 0.6, 0.9).by == chosen(monkeypatch, 0.9, 0.6).by == "valleys"
    assert chosen(monkeypatch, 0.6, 0.9, with_view=False).p_value == 1.0
    assert chosen(monkeypatch, 0.9, 0.6).p_value == 1.0
    # One of the two only.
    assert chosen(monkeypatch, 0.9, 0.1, with_place=False).by == "valleys"
    assert chosen(monkeypatch, 0.9, 0.1, gap=0.0).by == "valleys"
    assert chosen(monkeypatch, 0.1, 0.9, with_view=False).by == "gaps"
    # A sure one of one group is none.
    one = np.zeros(60, int)
    assert chosen(monkeypatch, 1e-4, 1e-3, by_valleys=one).by == "gaps"
    nothing = chosen(monkeypatch, 1.0, 0.9, with_view=False, with_place=False)
    assert (nothing.by, nothing.score, nothing.p_value) == ("valleys", 0.0, 1.0)
    assert nothing.labels.tolist() == [0] * 60 and nothing.columns == ()
    np.testing.assert_array_equal(nothing.basis, np.eye(3)[:, :2])


@pytest.mark.parametrize(
    ("p_valley", "p_gap", "by"),
    [(0.005, 0.005, "gaps"), (0.005, 0.00501, "valleys"), (0.00501, 0.005, "gaps"),
     (0.004, 0.00501, "valleys")],
)  # fmt: skip
def test_of_two_that_are_sure_the_one_that_comes_back_better(monkeypatch, p_valley, p_gap, by):
    other = np.arange(60) % 2
    returns = {"valleys": 0.5, "gaps": 0.9}
    assert chosen(monkeypatch, p_valley, p_gap, by_valleys=other, returns=returns).by == by


@pytest.mark.parametrize(
    ("p_valley", "p_gap", "by"), [(1e-3, 2e-3, "valleys"), (2e-3, 1e-3, "gaps")]
)
def test_of_the_same_groups_the_surer_without_samples(monkeypatch, p_valley, p_gap, by):
    back = {"valleys": 0.1, "gaps": 0.9} if by == "valleys" else {"valleys": 0.9, "gaps": 0.1}
    same = np.repeat([1, 0], 30)
    assert chosen(monkeypatch, p_valley, p_gap, by_valleys=same, returns=back).by == by
    same[0] = 0
    assert chosen(monkeypatch, p_valley, p_gap, by_valleys=same, returns=back).by != by


def test_as_steady_to_one_digit_more_groups_count(monkeypatch):
    three = np.arange(60) % 3
    known = {"by_gaps": three, "returns": {"valleys": 0.94, "gaps": 0.86}}
    assert chosen(monkeypatch, 1e-3, 1e-3, **known).by == "gaps"
    known["returns"] = {"valleys": 0.96, "gaps": 0.94}
    assert chosen(monkeypatch, 1e-3, 1e-3, **known).by == "valleys"


def test_valleys_that_part_groups_of_gaps_once_more(monkeypatch):
    three = np.repeat([0, 1, 2], [30, 15, 15])
    back = {"valleys": 0.1, "gaps": 0.9}

    def by(**more):
        return chosen(monkeypatch, 1e-3, 1e-3, returns=back, **more).by

    other = np.repeat([0, 1], [29, 31])

    assert by(by_valleys=three) == "valleys"
    assert by(by_valleys=three, more=False) == "gaps"
    assert by(by_valleys=other) == "gaps"  # as many groups
    # They must tell nine tenths of what those by gaps do.
    from sklearn.metrics import homogeneity_score

    two = np.repeat([0, 1], 30)
    shares = set()
    for wrong in range(1, 8):
        labels = three.copy()
        labels[:wrong] = 1
        share = homogeneity_score(two, labels)
        assert by(by_valleys=labels) == ("valleys" if share >= 0.9 else "gaps")
        shares.add(share >= 0.9)
    assert shares == {True, False}
    for share, known in ((0.9, "valleys"), (0.8999, "gaps")):
        monkeypatch.setattr(shapes, "homogeneity_score", lambda a, b, share=share: share)
        assert by(by_valleys=three) == known


def test_agreement_with_samples(monkeypatch):
    table = np.random.default_rng(0).normal(size=(50, 3)) + 4
    found = shape("gaps")
    found = Shapes(np.arange(50) % 2, "gaps", np.eye(3), (0,), 1.0, 0.5)
    seen, given = [], np.random.default_rng(1).integers(0, 2, (4, 35))
    answers = iter(given)

    def again(sample, shape):
        seen.append(sample)
        assert shape is found
        return next(answers)

    monkeypatch.setattr(shapes, "shapes_again", again)
    told = shapes._returns(table, found, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    drawn = [np.sort(rng.choice(50, 35, replace=False)) for _ in range(4)]
    assert len(seen) == 4
    for sample, rows in zip(seen, drawn, strict=True):
        part = table[rows]
        np.testing.assert_allclose(sample, (part - part.mean(axis=0)) / part.std(axis=0))
    known = [adjusted_rand_score(rows % 2, each) for rows, each in zip(drawn, given, strict=True)]
    assert told == pytest.approx(np.mean(known))


def test_the_same_search_again(monkeypatch):
    table = np.random.default_rng(0).normal(size=(20, 3))
    monkeypatch.setattr(shapes, "_by_gaps", lambda points: points)
    asked = []

    def views(table, most):
        asked.append(most)
        return found

    monkeypatch.setattr(shapes, "density_views", views)
    basis = np.eye(3)[:, 1:]
    gaps = Shapes(np.zeros(60, int), "gaps", basis, (), 0.0, 1.0)
    np.testing.assert_array_equal(shapes.shapes_again(table, gaps), table[:, 1:])
    valleys = Shapes(np.zeros(60, int), "valleys", basis, (), 0.0, 1.0)
    found = [view(labels=np.arange(20) % 3), view()]
    assert shapes.shapes_again(table, valleys).tolist() == (np.arange(20) % 3).tolist()
    found = []
    assert shapes.shapes_again(table, valleys).tolist() == [0] * 20 and asked == [1, 1]


def test_rows_that_are_searched_and_those_that_are_not():
    rng = np.random.default_rng(0)
    assert shapes._some(1000, rng).tolist() == list(range(1000))
    found = shapes._some(1001, np.random.default_rng(5))
    known = np.sort(np.random.default_rng(5).choice(1001, 1000, replace=False))
    assert found.tolist() == known.tolist()
    table = np.column_stack([np.arange(10.0), 100 * rng.normal(size=10)])
    rows = np.array([1, 4, 8])
    labels = np.array([5, 6, 7])
    given = shapes._for_all(table, rows, labels, np.eye(2)[:, :1])
    assert given[[0, 1, 2, 3, 4, 5, 7, 8, 9]].tolist() == [5, 5, 5, 6, 6, 6, 7, 7, 7]
    assert shapes._for_all(table, np.arange(10), np.arange(10), np.eye(2)).tolist() == list(
        range(10)
    )
    # Rows that were searched keep their labels, even beside an equal one.
    table = np.zeros((4, 1))
    found = shapes._for_all(table, np.array([1, 3]), np.array([2, 9]), np.eye(1))
    assert found[[1, 3]].tolist() == [2, 9]


def test_what_is_told_already_is_not_tested(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 5, 9]
    best = scores(1.0, 2.0, view(labels=np.repeat([0, 1], 30)), np.eye(3))
    monkeypatch.setattr(shapes, "_by_gaps", lambda points: np.repeat([0, 1, 2], 20))
    searched = []

    def search(table):
        searched.append(table)
        return best

    monkeypatch.setattr(shapes, "search_shapes", search)
    calls = []

    def chosen(table, options, rng, chance=()):
        calls.append(([(one.by, one.p_value) for one in options], chance))
        return Shapes(np.arange(60) % 3, "gaps", np.eye(3), (0, 1), 4.0, 0.25)

    monkeypatch.setattr(shapes, "_chosen", chosen)
    maxima = {"unimodal": ([0.1, 0.2], [0.3, 0.4]), "curve": ([0.5], [0.6])}
    asked = []

    def null(*given):
        asked.append(given)
        return maxima

    monkeypatch.setattr(shapes, "_null_scores", null)
    monkeypatch.setattr(shapes, "_p_values", lambda best, maxima: (0.2, 0.6))
    known = []

    def is_known(labels):
        known.append(int(labels.max()) + 1)
        return answers[len(known) - 1]

    answers = [True, True]
    found = shapes.find_shapes(X, seed=3, is_known=is_known)
    assert (found.p_value, found.score, found.n_groups, found.columns) == (1.0, 0.0, 1, ())
    assert found.by == "valleys" and found.labels.tolist() == [0] * 60 and not asked
    assert known == [2, 3] and not calls
    np.testing.assert_allclose(searched[0], (X - X.mean(axis=0)) / X.std(axis=0))
    for first in (False, True):
        answers = [first, not first]
        known.clear()
        calls.clear()
        asked.clear()
        found = shapes.find_shapes(X, n_tables=7, seed=3, tell="tell", is_known=is_known)
        assert (found.by, found.p_value, found.score) == ("gaps", 0.25, 4.0)
        assert found.maxima == {"unimodal": (0.3, 0.4), "curve": (0.6,)}
        assert calls == [([("valleys", 0.4), ("gaps", 1.0)], [[0.1, 0.2], [0.5]])]
        np.testing.assert_allclose(asked[0][0], searched[0])
        assert asked[0][1:] == (best, 7, 3, "tell")
    shapes.find_shapes(X)
    assert asked[-1][2:] == (40, 0, None)
    options = shapes._options(X, best)
    monkeypatch.setattr(shapes, "_chosen", lambda table, options, *given: options[0])
    assert options[0].by == "valleys"
    assert shapes.find_shapes(X).maxima == {"unimodal": (0.1, 0.2), "curve": (0.5,)}


def test_of_many_rows_a_sample_is_searched(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1500, 2))
    monkeypatch.setattr(shapes, "search_shapes", lambda table: scores(0.0, 0.0))
    asked = []

    def chosen(table, *given):
        asked.append(table)
        return Shapes(np.arange(1000) % 2, "gaps", np.eye(2), (), 0.0, 1.0)

    monkeypatch.setattr(shapes, "_chosen", chosen)
    found = shapes.find_shapes(X, seed=4)
    rng = np.random.default_rng([4, 23])
    rows = np.sort(rng.choice(1500, 1000, replace=False))
    np.testing.assert_allclose(asked[0], ((X - X.mean(axis=0)) / X.std(axis=0))[rows])
    assert len(found.labels) == 1500 and found.labels[rows].tolist() == [0, 1] * 500


def test_what_finer_valleys_gain_is_told_by_tables_of_every_kind(monkeypatch):
    asked = []

    def score(points, labels):
        asked.append((points, labels))
        return SimpleNamespace(gain=0.25)

    monkeypatch.setattr(shapes, "valley_score", score)
    told = {"a": 0.01, "b": 0.0101}
    gains = []

    def p_value(gain, kind):
        gains.append(gain)
        return told[kind]

    monkeypatch.setattr(shapes, "gumbel_p_value", p_value)
    coarse, fine = shape(), shape(score=1.0)
    assert shapes._gains_more("points", coarse, fine, ["a"])
    assert not shapes._gains_more("points", coarse, fine, ["a", "b"])
    assert shapes._gains_more("points", coarse, fine, [])
    assert asked[0] == ("points", coarse.labels) and set(gains) == {0.75}


def test_less_than_one_in_a_thousand_is_sure(monkeypatch):
    for p, known in ((1e-3, False), (0.99e-3, True)):
        monkeypatch.setattr(shapes, "_p_values", lambda best, maxima, p=p: (0.5, p))
        assert shapes._is_clear(scores(9.0, 9.0), {"a": LOW}, 10) is known


def test_sure_groups_are_drawn_by_more_rows_than_were_held_against_chance(monkeypatch):
    rng = np.random.default_rng(0)
    truth = np.arange(3000) % 3
    X = np.c_[rng.uniform(0, 4, 3000), rng.uniform(0, 1, 3000) + np.array([0, 1.3, 4])[truth]]
    chance = {"unimodal": (list(np.linspace(0, 0.05, 10)), list(np.linspace(0, 0.05, 10)))}
    monkeypatch.setattr(shapes, "_null_scores", lambda *args: chance)
    found = shapes.find_shapes(X)
    assert found.by == "valleys" and found.p_value < 0.01
    assert adjusted_rand_score(found.labels, truth) > 0.99
    # A thousand rows don't show the narrower valley.
    searched = shapes.standardised(X)[shapes._some(3000, np.random.default_rng([0, 23]))]
    assert int(shapes.search_shapes(searched).view.labels.max()) == 1
    # What is not sure is not drawn again, and of very many rows a few thousand are.
    asked = []

    def drawn(table, basis, rng):
        asked.append(len(table))
        return np.arange(len(table)), np.zeros(len(table), dtype=np.int64)

    monkeypatch.setattr(shapes, "_drawn", drawn)
    shapes.find_shapes(X)
    monkeypatch.setattr(shapes, "_p_values", lambda best, maxima: (0.2, 0.2))
    shapes.find_shapes(X)
    assert asked == [3000]
    monkeypatch.undo()
    rows, labels = shapes._drawn(np.repeat(X, 2, axis=0), np.eye(2), rng)
    assert len(rows) == len(labels) == shapes.MOST_DRAWN and (np.diff(rows) > 0).all()


@pytest.mark.parametrize(
    ("n_rows", "p_values", "looks", "known"),
    [
        (1000, (0.01,), 1, 0.02),  # all rows were seen
        (
            1500,
            (0.0005,),
            1,
            0.002,
        ),  # sure at once: times two for valleys and gaps, and for two looks
        (1500, (0.1,), 1, 0.4),  # hopeless
        (1500, (0.01, 0.0005), 2, 0.002),
        (1500, (0.01, 0.2), 2, 0.04),
        (5000, (0.002, 0.2), 2, 0.008),  # sure enough, and not lost by the second look
    ],
)
def test_what_is_undecided_is_looked_at_again_in_more_rows(
    monkeypatch, n_rows, p_values, looks, known
):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    halves = [np.r_[np.zeros(500, int), np.ones(most - 500, int)] for most in (1000, 2000)]
    asked = []

    def search(table):
        asked.append(len(table))
        labels = halves[len(asked) - 1][: len(table)]
        return scores(1.0, 0.0, view(labels=labels), None)

    monkeypatch.setattr(shapes, "search_shapes", search)
    monkeypatch.setattr(
        shapes, "_null_scores", lambda *args: {"unimodal": ([0.1 * len(asked)], [0.0])}
    )
    monkeypatch.setattr(shapes, "_p_values", lambda best, maxima: (p_values[len(asked) - 1], 1.0))
    monkeypatch.setattr(
        shapes, "_drawn", lambda table, basis, rng: (np.arange(len(table)), np.zeros(len(table)))
    )
    monkeypatch.setattr(shapes, "_for_all", lambda table, rows, labels, basis: rows)
    found = shapes.find_shapes(X, seed=4)
    assert asked == [min(n_rows, most) for most in (1000, 2000)][:looks]
    assert found.p_value == pytest.approx(known)
    assert found.times == (2 if n_rows == 1000 else 4)
    which = int(np.argmin(p_values))
    assert found.maxima == {"unimodal": (0.1 * (which + 1),)}
    if known > 0.01 and n_rows > 1000:
        assert len(found.labels) == asked[which]  # else groups were drawn by more rows
    wide = replace(found, score=5.0, maxima={"unimodal": (0.1, 0.2, 0.3, 0.15)}).interval()
    assert wide.high >= found.times * tail_interval(5.0, (0.1, 0.2, 0.3, 0.15)).high


def test_groups_drawn_by_more_rows_are_drawn_so_again(monkeypatch):
    table = np.random.default_rng(0).normal(size=(1200, 3))
    asked = []

    def drawn(table, basis, rng):
        asked.append((len(table), basis.shape))
        rows = np.arange(0, len(table), 2)
        return rows, (table[rows] @ basis[:, 0] > 0).astype(np.int64)

    monkeypatch.setattr(shapes, "_drawn", drawn)
    monkeypatch.setattr(shapes, "density_views", lambda table, most: [])
    found = Shapes(np.zeros(2, int), "valleys", np.eye(3)[:, :1], (0,), 1.0, 0.01)
    labels = shapes.shapes_again(table, found)
    assert len(labels) == 1200 and (labels == (table[:, 0] > 0)).mean() > 0.99
    assert asked == [(1200, (3, 1))]
    # Not of few rows, nor if it isn't sure.
    assert not shapes.shapes_again(table[:1000], found).any()
    assert not shapes.shapes_again(table, replace(found, p_value=0.02)).any()
    assert len(asked) == 1


@pytest.mark.parametrize("draw", [3, 5, 11, 16, 34])
def test_arms_of_spirals_among_noise_are_found_and_not_broken(draw):
    """Draws in which valleys did not show the pair of columns, or gaps broke an arm."""
    rng = np.random.default_rng([501, draw, 8])
    along = np.sqrt(rng.uniform(0.1, 1, 500)) * 3 * np.pi
    truth = np.arange(500) % 2
    spirals = np.column_stack([np.cos(along + np.pi * truth), np.sin(along + np.pi * truth)])
    spirals = spirals * along[:, None] / 3 + rng.normal(0, 0.1, (500, 2))
    X = np.c_[spirals, rng.normal(spirals.mean(), spirals.std(), (500, 8))]
    table = shapes.standardised(X)
    found = shapes.search_shapes(table)
    assert found.gap > 0.2
    np.testing.assert_array_equal(found.place, np.eye(10)[:, :2])
    assert adjusted_rand_score(shapes._by_gaps(table @ found.place), truth) > 0.99
