"""Other ideas of a group: a valley along a line, and classes among numbers with long tails."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.metrics import adjusted_rand_score

from subscape.exploration import ideas, shapes
from subscape.exploration.competition import merged_ideas
from subscape.exploration.exploration import Exploration, explore
from subscape.exploration.ideas import (
    as_levels,
    can_have_shapes,
    find_classes,
    line_view,
    shape_columns,
)
from subscape.exploration.preparation import prepare
from subscape.exploration.study import as_table


def two_grades(rng, n=600, p=8):
    """Grades from 1 to 10: one group near the floor, one spread over all of them."""
    truth = (rng.random(n) < 0.35).astype(int)
    severity = np.where(truth, rng.normal(6.5, 0.8, n), rng.normal(1.5, 0.4, n))
    noise = rng.normal(size=(n, p)) * np.where(truth, 1.8, 0.8)[:, None]
    return np.clip(np.round(severity[:, None] + noise), 1, 10), truth


def test_normal_scores_keep_the_order_and_undo_the_tails():
    rng = np.random.default_rng(0)
    values = np.exp(3 * rng.normal(size=(301, 2)))
    values[:, 1] *= -1
    ready = prepare(as_table(values))
    scores = ready.in_normal_scores()
    for j in range(2):
        assert (np.argsort(scores[:, j]) == np.argsort(ready.X[:, j])).all()
        expected = ndtri((np.arange(301) + 0.5) / 301)
        np.testing.assert_allclose(
            np.sort(scores[:, j]), expected * ready.X[:, j].std() / expected.std(), rtol=1e-9
        )


def test_equal_values_get_scores_in_no_order_that_another_column_tells():
    rng = np.random.default_rng(1)
    ready = prepare(as_table(np.column_stack([np.repeat(np.arange(10.0), 40), rng.random(400)])))
    scores = ready.in_normal_scores()
    assert len(np.unique(scores[:, 0])) == 400
    for value in range(10):
        rows = slice(40 * value, 40 * value + 40)
        assert abs(np.corrcoef(np.arange(40), scores[rows, 0])[0, 1]) < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_valley_among_grades_is_seen(seed):
    X, truth = two_grades(np.random.default_rng(seed))
    found = line_view(prepare(as_table(X)), seed=0)
    assert found.p_value < 1e-3
    assert adjusted_rand_score(truth, found.labels) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_no_valley_where_there_is_one_severity_with_growing_noise(seed):
    rng = np.random.default_rng(seed)
    severity = rng.exponential(size=(400, 1))
    X = severity + rng.normal(size=(400, 6)) * (0.2 + 0.5 * severity)
    assert line_view(prepare(as_table(X)), seed=0).p_value > 0.01


def test_the_p_value_pays_for_both_looks():
    X, _ = two_grades(np.random.default_rng(4))
    ready = prepare(as_table(X))
    from subscape.validation import split_test

    alone = [split_test(look, 0).p_value for look in (ready.X, ready.in_normal_scores())]
    assert line_view(ready, seed=0).p_value == pytest.approx(2 * min(alone))


def test_numbers_beside_levels_are_normal_scores_and_grades_stay_levels():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(2 * rng.normal(size=200)), rng.integers(1, 8, 200)])
    table = as_table(X)
    values, levelled = as_levels(table, prepare(table))
    assert levelled.tolist() == [False, True]
    assert (
        abs(np.mean(values[:, 0] ** 3))
        < 0.05
        < np.mean(((X[:, 0] - X[:, 0].mean()) / X[:, 0].std()) ** 3)
    )
    assert len(np.unique(values[:, 1])) == 7


def test_one_column_that_dwarfs_all_others_is_no_common_unit():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.2, size=(300, 12)).astype(float)
    counts[:, 3] *= 500 * rng.random(300)
    ready = prepare(as_table(counts))
    assert not any("one unit" in note for note in ready.notes)
    assert any(
        "one unit" in note for note in prepare(as_table(rng.poisson(0.2, (300, 12)) + 0.0)).notes
    )


def by_both(monkeypatch, by_valleys, by_gaps, p_valley=1e-6, p_gap=1e-6):
    """What is chosen of groups by valleys and by gaps."""
    monkeypatch.setattr(shapes, "_by_gaps", lambda points: by_gaps)
    place = SimpleNamespace(basis=np.eye(2), columns=(0, 1))
    view = SimpleNamespace(place=place, labels=by_valleys)
    table = np.random.default_rng(0).normal(size=(90, 2))
    options = shapes._options(table, shapes.ShapeScores(1.0, 1.0, view, np.eye(2)))
    assert [(one.by, one.p_value) for one in options] == [("valleys", 1.0), ("gaps", 1.0)]
    options = [replace(one, p_value=p) for one, p in zip(options, (p_valley, p_gap), strict=True)]
    return shapes._chosen(table, options, np.random.default_rng(0)).by


def test_sure_valleys_may_part_what_sure_gaps_leave_together(monkeypatch):
    three, two = np.repeat([0, 1, 2], 30), np.repeat([0, 1], [60, 30])
    crossed = np.tile([0, 1, 2], 30)
    monkeypatch.setattr(shapes, "_returns", lambda table, one, rng: float(one.by == "gaps"))
    assert by_both(monkeypatch, three, two) == "valleys"
    assert by_both(monkeypatch, crossed, two) == "gaps"
    assert by_both(monkeypatch, two[::-1], two) == "gaps"
    # What is not sure parts nothing.
    assert by_both(monkeypatch, three, two, p_valley=0.2) == "gaps"


def test_the_same_groups_by_valleys_and_gaps_are_not_asked_on_samples(monkeypatch):
    two = np.repeat([0, 1], [60, 30])
    monkeypatch.setattr(shapes, "_returns", None)
    assert by_both(monkeypatch, 1 - two, two, 1e-5, 1e-4) == "valleys"
    assert by_both(monkeypatch, 1 - two, two, 1e-4, 1e-5) == "gaps"


def test_halves_of_a_shell_are_not_parted_by_valleys():
    rng = np.random.default_rng(0)
    way = rng.normal(size=(400, 3))
    shell = way / np.linalg.norm(way, axis=1)[:, None] * rng.uniform(38, 42, (400, 1))
    table = np.vstack([shell, 5 * rng.normal(size=(400, 3))])
    found = shapes.find_shapes(table, n_tables=10, seed=0)
    assert adjusted_rand_score(np.repeat([0, 1], 400), found.labels) == 1.0


def test_what_finer_valleys_gain_is_held_against_chance():
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(c, 0.5, (60, 2)) for c in (0, 6, 30)])
    three, two = np.repeat([0, 1, 2], 60), np.repeat([0, 1], [120, 60])
    fine, coarse = (
        shapes.Shapes(
            each, "valleys", np.eye(2), (0, 1), float(shapes.valley_score(points, each).gain), 0.0
        )
        for each in (three, two)
    )
    low, high = rng.uniform(0, 0.01, 20).tolist(), (5 + rng.random(20)).tolist()
    assert shapes._gains_more(points, coarse, fine, [low])
    assert not shapes._gains_more(points, coarse, fine, [low, high])
    assert not shapes._gains_more(points, fine, fine, [low])


# -- classes of many rows -------------------------------------------------------------------------


def test_of_many_rows_some_are_searched_and_all_are_in_the_likeliest_class(monkeypatch):
    monkeypatch.setattr(ideas, "MOST_CLASS_ROWS", 150)
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 900)
    usual = rng.integers(0, 2, (3, 20))
    answers = np.where(rng.random((900, 20)) < 0.8, usual[truth], 1 - usual[truth])
    table = as_table(answers.astype(float))
    found = find_classes(table, prepare(table), n_tables=10, seed=0)
    assert found.n_groups == 3
    # By the shares that are known, no rule does better than this.
    right = np.where(answers[:, None] == usual, np.log(0.8), np.log(0.2)).sum(axis=2)
    best = adjusted_rand_score(right.argmax(axis=1), truth)
    assert adjusted_rand_score(found.labels, truth) > 0.97 * best


# -- which of two sure views goes first -----------------------------------------------------------


def sure_view(labels, p_value, idea=None):
    memberships = np.array([labels == k for k in np.unique(labels)])
    view = SimpleNamespace(labels=labels, memberships=memberships, basis=np.eye(2))
    told = None if idea is None else SimpleNamespace(idea=idea, n_groups=2, p_value=p_value)
    return AssessedViewOf(view, told, p_value)


@dataclass(frozen=True)
class AssessedViewOf:
    view: SimpleNamespace
    idea: SimpleNamespace | None
    p_value: float
    again: None = None
    note: str = ""


@pytest.mark.parametrize(
    ("idea", "p_new", "p_clouds", "first"),
    [
        ("shapes", 2e-4, 1e-6, "shapes"),  # below .001 no p-value is surer than another
        ("shapes", 9e-4, 2e-3, "shapes"),
        ("shapes", 2e-3, 3e-3, "shapes"),
        ("shapes", 3e-3, 2e-3, "clouds"),
        ("shapes", 1.1e-3, 1e-4, "clouds"),
        ("shapes", 2e-4, 0.2, "shapes"),
        ("classes", 2e-4, 1e-6, "clouds"),
        ("classes", 1e-6, 2e-4, "classes"),
    ],
)
def test_groups_that_lie_apart_go_before_clouds_that_cut_them(idea, p_new, p_clouds, first):
    rows = np.arange(200)
    new = sure_view(rows % 2, p_new, idea)
    clouds = sure_view(rows // 100, p_clouds)
    order = merged_ideas([clouds], new, np.zeros((200, 2)), 0.0)
    assert len(order) == 2
    assert ("clouds" if order[0].idea is None else idea) == first


def test_of_valleys_and_gaps_that_come_back_alike_the_surer_ones_count(monkeypatch):
    two = np.repeat([0, 1], [60, 30])
    monkeypatch.setattr(shapes, "_returns", lambda *args: 1.0)
    assert by_both(monkeypatch, two[::-1], two, 1e-3, 1e-6) == "gaps"
    assert by_both(monkeypatch, two[::-1], two, 1e-6, 1e-3) == "valleys"


def test_a_feature_of_many_levels_is_one_column_that_holds_levels():
    # Four numbers beside one column of twelve names: clouds are shown, not classes.
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 50)
    numbers = rng.normal(size=(150, 4)) + 6 * truth[:, None]
    names = np.array(list("abcdefghijkl"))[rng.integers(0, 12, 150)]
    frame = pd.DataFrame(numbers).add_prefix("x").assign(name=names, other=names[::-1])
    job = Exploration(as_table(frame), effort="quick", progress=False)
    assert len(job.ready.few_valued) == 24 and job.X.shape[1] == 28
    assert job._share_of_levels() == pytest.approx(2 / 6)
    alone = Exploration(as_table(pd.DataFrame(numbers)), effort="quick", progress=False)
    assert alone._share_of_levels() == 0.0


def test_yes_and_no_in_one_unit_have_no_shape():
    """Ten columns of 0 and 1 are taken for one unit; any two of them lie on four points."""
    X = (np.random.default_rng([79, 9, 69]).random((200, 10)) < 0.5).astype(float)
    assert not can_have_shapes(prepare(as_table(X)))
    assert not explore(X, effort="quick", random_state=69, progress=False).significant_views
    X[:, 3:5] = np.random.default_rng(0).normal(0.5, 0.3, (200, 2)).clip(0)
    assert shape_columns(prepare(as_table(X))).tolist() == [3, 4]
