"""Parts of an exploration held against numbers that are known, or counted by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.exploration import exploration
from subscape.exploration.assembly import _two_directions
from subscape.exploration.assess import view_stability
from subscape.exploration.boxes import RIDGE, BoxCode
from subscape.exploration.clouds import MIDDLES, _middles
from subscape.exploration.explain import _middle, feature_evidence, shown_values
from subscape.exploration.exploration import Exploration, explore
from subscape.exploration.followups import together_entries
from subscape.exploration.ideas import (
    FEWEST_LEVELLED,
    FEWEST_ROWS,
    LEAST_LEVELLED,
    MOST_CLASS_COLUMNS,
    can_have_classes,
)
from subscape.exploration.levels import _near
from subscape.exploration.nested import Split, split_again
from subscape.exploration.plan import MOST_CLUSTERS, VIEWS
from subscape.exploration.preparation import POOLED, prepare
from subscape.exploration.separation import GroupingScorer
from subscape.exploration.shapes import MOST_TOGETHER, _places
from subscape.exploration.study import as_table
from subscape.exploration.verdict import _how_sure, paragraphs
from subscape.tables.table import Table
from subscape.testing.studies import planted_study
from subscape.validation.features import feature_tests
from subscape.validation.unimodality import dithered


def test_arrays_take_the_names_that_fit():
    X = np.arange(6.0).reshape(3, 2)
    assert as_table(X, ("a", "b")).feature_names == ("a", "b")
    assert as_table(X.tolist(), ("a", "b")).feature_names == ("a", "b")
    assert as_table(X, ("a", "b", "c")).feature_names == as_table(X).feature_names != ("a", "b")


def test_levels_of_a_nominal_feature_count_by_the_most_telling_one():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 60)
    # In the first group nearly all are red; green and blue differ by chance.
    red = np.where(groups == 0, rng.random(120) < 0.9, rng.random(120) < 0.1)
    colour = np.where(red, "red", np.where(rng.random(120) < 0.5, "green", "blue"))
    frame = pd.DataFrame({"x": 4 * groups + rng.normal(size=120), "colour": colour})
    ready = prepare(as_table(frame))
    told = feature_evidence(ready, groups, np.ones((2, ready.n_features)))
    tested = feature_tests(ready.X, groups, origin=ready.origin)
    for row, k in enumerate(tested.clusters.tolist()):
        for feature in range(ready.n_features):
            own = np.flatnonzero(ready.origin == feature)
            best = own[np.argmin(tested.p_value[row, own])]
            assert told.p_value[k, feature] == tested.p_value[row, best]
            assert told.q_value[k, feature] == min(1.0, tested.q_value[row, best])
            assert told.low[k, feature] == tested.low[row, best]
            assert told.high[k, feature] == tested.high[row, best]
    assert np.bincount(ready.origin).tolist() == [1, 3]
    assert told.p_value[:, 1].max() < 1e-3 and len(np.unique(tested.p_value[0, 1:])) > 1


def test_samples_and_halves_are_kept_apart():
    a = np.arange(80) % 2
    X = 6.0 * np.column_stack([a, a[::-1]]) + np.random.default_rng(0).normal(size=(80, 2))
    view = SimpleNamespace(labels=a, memberships=np.array([a == 0, a == 1]))

    def runs(rows):
        found = SubspaceClustering.from_labels(a[rows], n_features=2)
        return [SimpleNamespace(rows=rows, clusterings=(found,))]

    parts = [np.arange(40), np.arange(40, 80), np.arange(0, 60), np.arange(20, 80)]
    found = view_stability(view, [runs(rows) for rows in parts], X)
    for kept, known in ((found.halves, parts[:2]), (found.samples, parts[2:])):
        assert [rows.tolist() for rows, _ in kept] == [rows.tolist() for rows in known]
        assert all((labels == a[rows]).all() for rows, labels in kept)


def test_directions_are_filled_up_by_the_widest_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1.0, 2.0, 9.0, 3.0]
    X -= X.mean(axis=0)
    first = np.eye(4)[:, [2]]
    two = _two_directions(-first, X)
    np.testing.assert_allclose(two[:, 0], first[:, 0])  # the strongest loading is positive
    rest = X[:, [0, 1, 3]]
    known = np.linalg.svd(rest)[2][0]
    assert abs(two[[0, 1, 3], 1] @ known) == pytest.approx(1.0)
    assert two[:, 1][np.abs(two[:, 1]).argmax()] > 0 and two[2, 1] == pytest.approx(0.0)
    alone = _two_directions(np.ones((1, 1)), X[:, :1])
    assert alone.tolist() == [[1.0, 0.0]]
    np.testing.assert_array_equal(_two_directions(np.eye(4)[:, :3], X), np.eye(4)[:, :2])


def test_more_effort_looks_for_all_that_less_does():
    quick, normal, thorough = (VIEWS[effort] for effort in ("quick", "normal", "thorough"))
    assert set(quick) < set(normal) < set(thorough)
    for sizes in thorough:
        assert 2 <= len(sizes) <= 4 and min(sizes) >= 2 and max(sizes) <= 6
        # The largest first, and none much larger than the next.
        assert all(0 <= one - other <= 2 for one, other in pairwise(sizes))
    assert len(set(thorough)) == len(thorough)
    assert MOST_CLUSTERS["quick"] < MOST_CLUSTERS["normal"] < MOST_CLUSTERS["thorough"]


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
def test_values_behind_pictures_have_the_digits_of_single_precision(unit):
    X = np.random.default_rng(0).normal(size=(30, 3))
    table = Table.from_array(X * unit, feature_names=("a", "b", "c"))
    facts = [SimpleNamespace(feature=name, is_own=True, level=None) for name in ("c", "a")]
    names, values = shown_values(table, [[facts]], np.array([3, 1]))
    assert names == ("a", "c")
    np.testing.assert_allclose(values, X[[3, 1]][:, [0, 2]] * unit, rtol=2**-24)
    if unit == 1.0:
        np.testing.assert_array_equal(values, values.astype(np.float32))


def test_a_cluster_may_be_merged_with_its_four_nearest():
    places = np.array([0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0])
    known = set()
    for i, place in enumerate(places):
        others = sorted((abs(place - other), j) for j, other in enumerate(places) if j != i)
        known |= {tuple(sorted((i, j))) for _, j in others[:4]}
    assert {tuple(sorted(pair)) for pair in _near(places[:, None])} == known
    assert (0, 6) not in known and (0, 5) not in known


def has_classes_to_look_for(n_rows, n_levelled, n_numbers):
    rng = np.random.default_rng(0)
    frame = {f"q{j}": rng.choice(["no", "yes"], n_rows) for j in range(n_levelled)}
    frame |= {f"x{j}": rng.normal(size=n_rows) for j in range(n_numbers)}
    table = as_table(pd.DataFrame(frame))
    return can_have_classes(table, prepare(table))


def test_classes_are_looked_for_in_enough_columns_of_levels():
    few = FEWEST_LEVELLED
    assert has_classes_to_look_for(100, few, 0)
    assert not has_classes_to_look_for(100, few - 1, 0)
    assert has_classes_to_look_for(FEWEST_ROWS, few, 0)
    assert not has_classes_to_look_for(FEWEST_ROWS - 1, few, 0)
    assert has_classes_to_look_for(100, few, round(few / LEAST_LEVELLED) - few)
    assert not has_classes_to_look_for(100, few, round(few / LEAST_LEVELLED) - few + 1)
    assert has_classes_to_look_for(100, MOST_CLASS_COLUMNS, 0)
    assert not has_classes_to_look_for(100, MOST_CLASS_COLUMNS + 1, 0)


def test_what_is_one_group_or_none_separates_nothing():
    X = np.random.default_rng(0).normal(size=(40, 3))
    scorer = GroupingScorer(X)
    halves = np.arange(40) % 2
    for labels in (np.full(40, -1), np.zeros(40, int)):
        found = scorer(labels)
        assert (found.gain, found.basis.shape[1]) == (0.0, 0)
    # One group beside noise, whose number is 0, is told from it; two groups are told apart.
    alone = scorer(np.where(halves == 0, 0, -1))
    np.testing.assert_allclose(alone.gain, scorer(halves).gain)
    assert alone.gain != 0


def test_the_middle_of_columns_with_and_without_gaps():
    X = np.arange(1.0, 64.0).reshape(21, 3) ** 2
    X[4:9, 1], X[:, 2] = np.nan, np.nan
    low, high = _middle(X)
    for found, share in ((low, 0.05), (high, 0.95)):
        assert found[0] == pytest.approx(np.quantile(X[:, 0], share))
        assert found[1] == pytest.approx(np.quantile(X[~np.isnan(X[:, 1]), 1], share))
        assert np.isnan(found[2])


def test_correlations_of_normal_scores_are_one_with_themselves():
    X = np.random.default_rng(0).normal(size=(25, 4))
    X[:, 3] = 2.0
    code = BoxCode(X)
    known = np.corrcoef(code.scores[:, :3].T) * (1 - RIDGE) + RIDGE * np.eye(3)
    np.testing.assert_allclose(code.correlations[:3, :3], known, atol=1e-12)
    np.testing.assert_allclose(np.diag(code.correlations), [1, 1, 1, RIDGE])
    np.testing.assert_allclose(np.square(code.scores[:, :3]).mean(axis=0), 1.0)


def test_pooled_levels_get_a_name_that_is_free():
    colour = ["red"] * 60 + [POOLED] * 58 + ["blue", "green"]
    frame = pd.DataFrame({"x": np.linspace(0, 1, 120), "colour": colour})
    ready = prepare(as_table(frame))
    assert f"colour={POOLED}…" in ready.names and f"colour={POOLED}" in ready.names


def test_only_names_are_pooled():
    """Labels keep their rare levels."""
    kind = ["a"] * 70 + ["b"] * 48 + ["c", "d"]
    frame = pd.DataFrame({"x": np.linspace(0, 1, 120), "kind": kind, "colour": kind})
    table = Table.read(frame, roles={"kind": "label", "colour": "nominal"})
    ready = prepare(table)
    (said,) = [note for note in ready.notes if "pooled" in note]
    assert "'colour'" in said and "'kind'" not in said


def test_a_generator_gives_a_seed_that_files_can_hold():
    X = Table.from_array(np.random.default_rng(0).normal(size=(30, 2)))
    seeds = [Exploration(X, random_state=np.random.default_rng(s)).seed for s in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2] and min(seeds) >= 0 and max(seeds) < 2**31
    many = [Exploration(X, random_state=np.random.default_rng(s)).seed for s in range(20)]
    assert max(many) >= 2**30  # all of the range is used
    assert Exploration(X, random_state=np.int64(7)).seed == 7


def test_middles_are_the_rows_beyond_a_share_of_the_sizes():
    Z = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]) - 3.0
    size = np.square(Z[:, 0] / Z.std())
    for labels, share in zip(_middles(Z), MIDDLES, strict=True):
        assert labels.tolist() == [int(each > np.quantile(size, share)) for each in size]
    # A row right on the border belongs to the middle.
    equal = np.ones((8, 1)) * np.array([1.0, -1.0] * 4)[:, None]
    assert not any(labels.any() for labels in _middles(equal))


def test_two_values_are_spread_and_one_is_not():
    columns = np.column_stack([np.repeat([0.0, 1.0], 50), np.full(100, 3.0), np.arange(100.0)])
    spread = dithered(columns)
    assert len(np.unique(spread[:, 0])) == 100 and np.ptp(spread[:, 0]) > 1.5
    assert spread[:50, 0].max() < spread[50:, 0].min()
    np.testing.assert_allclose(spread[:, 1:], columns[:, 1:] - columns[:, 1:].mean(axis=0))


@pytest.mark.parametrize(
    ("p_value", "labels", "in_pieces", "known"),
    [
        (0.001, [0, 0, 1, 1], False, True),  # sure clouds say the same
        (0.009, [0, 0, 1, 1], False, False),  # clouds that are not sure enough
        (0.001, [0, 1, 0, 1], False, False),  # others
        (0.001, [0, 0, 1, 1], True, False),  # pieces of the groups
    ],
)
def test_shapes_that_sure_clouds_tell_are_no_news(monkeypatch, p_value, labels, in_pieces, known):
    monkeypatch.setattr(exploration, "are_pieces", lambda *given: in_pieces)
    groups = np.repeat([0, 0, 1, 1], 20)
    view = SimpleNamespace(labels=np.repeat(labels, 20))
    job = SimpleNamespace(X=None)
    one = SimpleNamespace(p_value=p_value, view=view)
    assert Exploration._is_told(job, groups, [one]) is known
    assert Exploration._is_told(job, np.zeros(80, int), [])
    assert not Exploration._is_told(job, groups, [])


def test_a_folder_is_not_taken_up_again_unless_asked(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    explore(X, effort="quick", folder=tmp_path / "s")
    with pytest.raises(SubscapeError, match="holds a study already"):
        explore(X, effort="quick", folder=tmp_path / "s")
    again = explore(X, effort="quick", folder=tmp_path / "s", resume=True)
    assert all(run.is_restored for run in again.results if hasattr(run, "is_restored"))


def test_boxes_taken_out_of_a_table_are_as_wide_as_the_rest():
    """Both boxes, also the first one, have mean 0 and variance 1 in their features then."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(120, 3))
    X[:40, 0] = 2 + 0.1 * rng.normal(size=40)
    X[40:80, 1] = -2 + 0.1 * rng.normal(size=40)
    members = np.zeros((2, 120), bool)
    members[0, :40] = members[1, 40:80] = True
    code = BoxCode(X)
    told = code.told(members)
    assert told.own.tolist() == [[True, False, False], [False, True, False]]
    rest = code.project_out(members)
    for k, j in ((0, 0), (1, 1)):
        inside = code.scores[members[k], j]
        assert told.centres[k, j] == pytest.approx(inside.mean())
        assert told.variances[k, j] == pytest.approx(inside.var(), rel=1e-6)
        assert rest[members[k], j].mean() == pytest.approx(0.0, abs=1e-9)
        assert rest[members[k], j].std() == pytest.approx(1.0)
    np.testing.assert_array_equal(rest[:, 2], code.scores[:, 2])


@pytest.mark.parametrize(
    ("stabilities", "words"),
    [
        ([0.9], "; it comes back on samples"),
        ([0.9, 0.9], "; all of them come back on samples"),
        ([0.1], "; but it does not come back reliably"),
        ([0.1, 0.1], "; but none of them comes back reliably"),
        ([0.9, 0.1], "; 1 of them comes back on samples"),
        ([0.9, 0.9, 0.1], "; 2 of them come back on samples"),
    ],
)
def test_how_many_views_come_back(stabilities, words):
    study = planted_study(60, n_clusters=(2,) * len(stabilities), n_results=4)
    views = tuple(
        replace(view, p_value=1e-5, stability=stability)
        for view, stability in zip(study.views, stabilities, strict=True)
    )
    assert words in _how_sure(replace(study, views=views))


def test_what_is_asked_for_after_two_views():
    asked = [e.parameters["n_clusters"] for e in together_entries([4, 3], 0, 0, (300, 9))]
    # Those of the first view alone, then of both: one view more, one cluster more, two factors.
    assert asked == [
        [4, 2, 1], [4, 3, 1], [2, 2, 1], [4, 3, 2, 1], [4, 3, 3, 1], [5, 3, 1], [2, 2, 3, 1],
        [4, 4, 1],
    ]  # fmt: skip


def test_of_a_sample_the_cluster_that_is_most_of_a_split_one_is_split():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    X[:40, 0] -= 30.0
    X[80:, 1] += 12.0  # rows from 40 on are one cluster that is two
    found = np.repeat([0, 1], [50, 70])  # in the sample ten of them went to the other one
    split = Split(rows=np.arange(40, 120), n_groups=2, p_value=0.0, basis=np.eye(2))
    again = split_again(X, np.arange(120), found, [split], np.zeros(0, np.intp), 0)
    assert (again[:50] == 0).all()
    assert len(set(again[50:80])) == 1 and len(set(again[80:])) == 1 and again[60] != again[90]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((3,), "One way to group the rows, into 3 clusters"),
        ((3, 3), "Two ways to group the rows, each into 3 clusters"),
        ((3, 2), "Two ways to group the rows, into 3 and 2 clusters"),
        ((2, 2, 2), "Three ways to group the rows, each into 2 clusters"),
    ],
)
def test_the_answer_counts_ways_and_clusters(sizes, words):
    study = planted_study(90, n_clusters=sizes, n_results=4)
    views = tuple(replace(view, p_value=1e-5, stability=0.9) for view in study.views)
    assert paragraphs(replace(study, views=views))[0].startswith(words)


def test_the_rows_that_are_foretold_are_those_of_the_second_half():
    """The halves differ in which of their rows are of which group."""
    a = np.random.default_rng(3).integers(0, 2, 80)
    X = 6.0 * a[:, None] + 0.3 * np.random.default_rng(4).normal(size=(80, 2))
    view = SimpleNamespace(labels=a, memberships=np.array([a == 0, a == 1]))

    def runs(rows):
        found = SubspaceClustering.from_labels(a[rows], n_features=2)
        return [SimpleNamespace(rows=rows, clusterings=(found,))]

    halves = np.arange(40), np.arange(40, 80)
    assert (a[:40] != a[40:]).sum() > 15
    found = view_stability(view, [runs(half) for half in halves], X - X.mean(axis=0))
    assert found.replication == pytest.approx(1.0)


def test_shapes_are_looked_for_in_all_columns_together_if_they_are_few():
    for p, together in ((MOST_TOGETHER, True), (MOST_TOGETHER + 1, False)):
        X = np.random.default_rng(0).normal(size=(60, p))
        whole = [place for place in _places(X, None) if place.shape == (p, p)]
        assert any(np.array_equal(place, np.eye(p)) for place in whole) is together
