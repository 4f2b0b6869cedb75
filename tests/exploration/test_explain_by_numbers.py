"""What is said of clusters, feature by feature, computed a second time by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.core.subspaces import AxisSubspaces, WeightedSubspaces
from subscape.exploration import explain
from subscape.exploration.explain import (
    FeatureFact,
    _above_floor,
    _information,
    _kind_of_fact,
    _level_terms,
    _middle,
    _moments,
    _most_telling,
    _normal_terms,
    _or_none,
    _typical_level,
    drawn_features,
    facts,
    feature_evidence,
    has_floor,
    histogram,
    in_table_columns,
    own_features,
    sentence,
    shown_values,
)
from subscape.exploration.preparation import prepare
from subscape.exploration.study import as_table
from subscape.tables.table import Table


def fact(**fields):
    return FeatureFact(**({"feature": "x", "information": 1.0, "is_own": True} | fields))


# -- one fact -------------------------------------------------------------------------------------


def test_what_is_absent():
    assert not fact(effect=-3.0).is_absent  # without a floor nothing can be absent
    assert not fact(floor=0.0, above=0.1).is_absent
    assert not fact(floor=0.0, above_elsewhere=0.1).is_absent
    assert not fact(above=0.1, above_elsewhere=0.2).is_absent
    for above, elsewhere, effect, known in (
        (0.1, 0.2, 1.0, True), (0.2, 0.1, -1.0, False), (0.2, 0.2, -1.0, True),
        (0.2, 0.2, 0.0, False), (0.2, 0.2, 1.0, False), (0.2, 0.2, None, False),
        (0.0, 0.2, 1.0, True), (0.2, 0.2, float("nan"), True),
    ):  # fmt: skip
        one = fact(floor=0.0, above=above, above_elsewhere=elsewhere, effect=effect)
        assert one.is_absent is known


def test_what_is_sure():
    assert [fact(q_value=q).is_sure for q in (None, 0.0, 0.05, 0.0501, 0.09)] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_facts_in_words():
    assert fact(level="red", share=0.8, elsewhere=0.125).words() == "x = red (80%, others 12%)"
    assert fact().words() == fact(low=1.0).words() == fact(high=1.0).words() == "x unknown"
    assert fact(low=np.nan, high=np.nan).words() == "x unknown"
    assert fact(low=31.0, high=44.0).words() == "x in [31, 44]"
    floor = {"low": 0.0, "high": 9.0, "floor": 0.0, "above_elsewhere": 0.25}
    assert fact(**floor).words() == "x in [0, 9]"
    assert fact(**floor, above=0.5).words() == "x above 0 in 50% (others 25%)"
    assert fact(**floor, above=0.5, median_above=2.3456).words() == (
        "x above 0 in 50% (others 25%), there about 2.35"
    )
    less = fact(**(floor | {"floor": 1.23456}), above=0.1, median_above=2.0)
    assert less.words() == "less x: above 1.23 in 10% (others 25%)"
    assert fact(low=0.0, high=9.0, above=0.5, above_elsewhere=0.1).words() == "x in [0, 9]"


# -- how much features tell -----------------------------------------------------------------------


def divergence(inside, every):
    """From the normal distribution of some values to that of all."""
    ratio = max(inside.std(), 0.001 * every.std()) / every.std()
    shift = (inside.mean() - every.mean()) / every.std()
    return -np.log(ratio) + (ratio**2 + shift**2 - 1) / 2


def test_divergence_of_normal_distributions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) * [1, 2, 3, 4]
    X[:10, 1] = 7.0  # no spread of its own
    X[:, 3] = 5.0
    present = rng.random(X.shape) < 0.8
    rows = np.arange(40) < 10
    found = _normal_terms(_moments(X[rows], present[rows]), _moments(X, present))
    for j in range(3):
        known = divergence(X[rows & present[:, j], j], X[present[:, j], j])
        assert found[j] == pytest.approx(known)
    assert found[3] == 0.0  # constant columns tell nothing
    empty = _moments(X[:3], np.zeros((3, 4), dtype=bool))
    assert empty[0].tolist() == empty[1].tolist() == [0.0] * 4


def test_columns_with_a_floor():
    def found(column, gaps=0):
        X = np.array(column, dtype=float)[:, None]
        present = np.ones(X.shape, dtype=bool)
        present[len(X) - gaps :] = False
        return bool(has_floor(X, present)[0])

    assert found([0] * 20 + list(range(1, 81)))  # a fifth
    assert not found([0] * 19 + list(range(1, 82)))
    assert found([0, 0, 1, 2, 3, 4, 5]) and not found([0, 0, 1, 2, 3, 4])
    assert not found([0, 1, 2, 3, 4]) and not found([0, 1, 2, 3, 4, 5])  # two at least
    assert found([0, 0, 1, 2, 3, 4, 5, -1], gaps=1)
    assert not found([0, 0, 1, 2, 3, 4, 5, -1])
    assert not found([0, 0, 1, 2, 3, 4, 5, 0, 0], gaps=8)
    assert not found([1.0] * 9, gaps=9)
    # Only those present count: 2 of 10, and 2 of 11.
    assert found([0, 0, *range(1, 9), 0, 0], gaps=2) and not found([0, 0, *range(1, 10)], gaps=0)


def level_table(kinds):
    return as_table(pd.DataFrame({"x": np.arange(float(len(kinds))), "kind": kinds}))


def test_levels_tell_by_their_shares():
    kinds = ["a"] * 6 + ["b"] * 10 + [None, None] + ["c"] * 6
    ready = prepare(level_table(kinds))
    rows = np.zeros(24, dtype=bool)
    rows[[0, 1, 2, 3, 6, 17]] = True  # four a, one b, one unknown
    present = ~ready.absent[:, ready.origin]
    terms = _level_terms(ready, ready.X, present, rows)
    by_name = dict(zip(ready.names, terms, strict=True))
    assert by_name["kind=a"] == pytest.approx(0.8 * np.log(0.8 / (6 / 22)))
    assert by_name["kind=b"] == pytest.approx(0.2 * np.log(0.2 / (10 / 22)))
    assert by_name["kind=c"] == 0.0
    told = _information(ready, np.array([rows, ~rows]))
    assert told.shape == (2, 2)
    assert told[0, 1] == pytest.approx(by_name["kind=a"] + by_name["kind=b"])
    x = np.arange(24.0)
    assert told[0, 0] == pytest.approx(divergence(x[rows], x))
    assert told[1, 0] == pytest.approx(divergence(x[~rows], x))
    # Of rows without any known level nothing is told.
    nobody = np.zeros(24, dtype=bool)
    nobody[[16, 17]] = True
    assert _information(ready, nobody[None])[0, 1] == 0.0


def floor_table(n_inside_above):
    rng = np.random.default_rng(0)
    column = np.zeros(40)
    column[10:30] = rng.uniform(1, 3, 20)  # 20 of 40 above
    column[:n_inside_above] = rng.uniform(4, 5, n_inside_above)
    noise = rng.normal(size=40)
    table = Table.from_array(np.column_stack([column, noise]))
    rows = np.arange(40) < 10
    return column, rows, prepare(table)


@pytest.mark.parametrize("inside", [0, 1, 2, 3, 6])
def test_of_a_column_with_a_floor_first_whether_and_then_where(inside):
    column, rows, ready = floor_table(inside)
    told = _information(ready, rows[None])[0, 0]
    X = ready.X[:, 0]
    above = column > 0
    p, q = (inside + 0.5) / 11, (above.sum() + 0.5) / 41
    known = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    if inside > 2:
        known += p * divergence(X[rows & above], X[above])
    assert told == pytest.approx(known)


def test_what_is_imputed_tells_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:20, 1] += 4
    X[5:15, 1] = np.nan
    ready = prepare(Table.from_array(X))
    rows = np.arange(60) < 20
    told = _information(ready, rows[None])[0]
    known = ~np.isnan(X[:, 1])
    assert told[1] == pytest.approx(divergence(X[rows & known, 1], X[known, 1]))


# -- subspaces in the columns of the table --------------------------------------------------------


@pytest.fixture
def plain(monkeypatch):
    """A table of three features, and clusters whose information is set by hand."""
    table = Table.from_array(np.random.default_rng(0).normal(size=(12, 3)))
    ready = prepare(table)
    members = np.array([np.arange(12) < 6, np.arange(12) >= 6])

    def clustering(information, own=None):
        monkeypatch.setattr(explain, "_information", lambda *_: np.array(information))
        found, told = in_table_columns(table, ready, members, members, own)
        assert told.tolist() == np.array(information).tolist()
        return found

    return clustering


def test_features_that_tell_are_a_clusters_own(plain):
    found = plain([[1.4, 0.3, 0.299], [2.0, 0.4, 0.39]])
    assert found.kind == "axis"
    assert found.subspaces.relevance.tolist() == [[1, 1, 0], [1, 1, 0]]
    # A fifth of the best, if that is more.
    found = plain([[10.0, 2.0, 1.99], [0.5, 0.31, 0.29]])
    assert found.subspaces.relevance.tolist() == [[1, 1, 0], [1, 1, 0]]
    assert found.feature_names == ("x0", "x1", "x2")


def test_half_of_the_clusters_must_have_features_that_tell(plain):
    found = plain([[0.1, 0.2, 0.1], [0.3, 0.1, 0.0]])
    assert found.kind == "axis"
    assert found.subspaces.relevance.tolist() == [[0, 1, 0], [1, 0, 0]]  # the best, at least
    found = plain([[0.1, 0.3 - 1e-9, 0.2], [-0.1, 0.1, 0.1]])
    assert found.kind != "axis"
    weights = np.array([[0.1, 0.3, 0.2], [0.0, 0.1, 0.1]])
    known = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.subspaces.relevance, known, atol=1e-8)


def test_where_a_cluster_has_columns_of_its_own_they_count(plain):
    found = plain([[0.1, 0.0, 0.2], [0.1, 0.2, 0.0]], np.array([[1, 1, 0], [0, 0, 0]], dtype=bool))
    assert found.kind == "axis"
    assert found.subspaces.relevance.tolist() == [[1, 1, 0], [0, 1, 0]]


def test_clusters_without_any_feature_share_them_alike(plain):
    found = plain([[0.0, 0.0, 0.0], [-1.0, -2.0, 0.0]])
    np.testing.assert_allclose(found.subspaces.relevance, np.full((2, 3), 1 / 3))


# -- evidence -------------------------------------------------------------------------------------


def test_only_features_that_tell_are_tested():
    information = np.zeros((2, 1200))
    information[0] = np.arange(1200)[::-1]
    information[1] = np.arange(1200)
    found = _most_telling(information)
    assert found.tolist() == [*range(500), *range(700, 1200)]
    assert _most_telling(np.zeros((1, 800))).tolist() == list(range(500))


def test_a_feature_counts_by_its_most_telling_column(monkeypatch):
    kinds = np.resize(["a", "b", "c"], 30)
    frame = pd.DataFrame(
        {"x": np.arange(30.0), "kind": kinds, "y": np.random.default_rng(0).normal(size=30)}
    )
    ready = prepare(as_table(frame))
    assert ready.origin.tolist() == [0, 1, 2, 2, 2] or ready.origin.tolist() == [0, 1, 1, 1, 2]
    place = {name: j for j, name in enumerate(ready.names)}
    features = {name: int(ready.origin[j]) for name, j in place.items()}
    labels = np.repeat([0, 1, -1], 10)
    p = np.array([[0.5, 0.04, 0.03, 0.02, 0.9], [0.1, 0.2, 0.01, 0.3, 0.8]])
    asked = []

    def tested(X, labels, origin):
        asked.append((X.shape, labels.tolist(), origin.tolist()))
        return SimpleNamespace(
            clusters=np.array([0, 1]), p_value=p, q_value=2 * p, low=p - 5, high=p + 5
        )

    monkeypatch.setattr(explain, "feature_tests", tested)
    told = feature_evidence(ready, labels, np.ones((3, 3)))
    assert asked == [((30, 5), labels.tolist(), ready.origin.tolist())]
    for k in range(2):
        for feature in range(3):
            own = np.flatnonzero(ready.origin == feature)
            best = own[np.argmin(p[k, own])]
            assert told.p_value[k, feature] == p[k, best]
            assert told.q_value[k, feature] == min(1.0, 2 * p[k, best])
            assert told.low[k, feature] == p[k, best] - 5
            assert told.high[k, feature] == p[k, best] + 5
    assert told.p_value[2].tolist() == told.q_value[2].tolist() == [1.0] * 3
    assert np.isnan(told.low[2]).all() and np.isnan(told.high[2]).all()
    # Of what is not tested, rates tell the less: two of three features, two of five columns.
    monkeypatch.setattr(explain, "MOST_TESTED", 1)
    x, y = features["x"], features["y"]
    information = np.zeros((2, 3))
    information[0, x], information[1, y] = 1.0, 1.0
    p = np.array([[0.1, 0.3], [0.45, 0.01]])
    told = feature_evidence(ready, labels, information)
    assert told.q_value[0, x] == pytest.approx(0.2 / (2 / 5))
    assert told.q_value[1, x] == 1.0 and told.q_value[0, features["kind=a"]] == 1.0


def test_what_was_imputed_is_not_tested(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[3, 1] = np.nan
    ready = prepare(Table.from_array(X))
    seen = []
    monkeypatch.setattr(
        explain, "feature_tests", lambda X, *_, **__: seen.append(X) or _none_tested()
    )
    feature_evidence(ready, np.repeat([0, 1], 10), np.ones((2, 2)))
    assert np.argwhere(np.isnan(seen[0])).tolist() == [[3, 1]]


def _none_tested():
    return SimpleNamespace(clusters=np.array([], dtype=int))


@pytest.mark.parametrize(
    ("labels", "number"),
    [([0] * 10, 0), ([0] * 8 + [-1] * 2, 0), ([0] * 9 + [1], 0), ([0] * 8 + [1] * 2, 1)],
)
def test_clusters_too_small_are_not_tested(monkeypatch, labels, number):
    ready = prepare(Table.from_array(np.random.default_rng(0).normal(size=(10, 2))))
    seen = []
    monkeypatch.setattr(explain, "feature_tests", lambda *_, **__: seen.append(1) or _none_tested())
    told = feature_evidence(ready, np.array(labels), np.ones((2, 2)))
    assert len(seen) == number
    assert told.p_value.tolist() == told.q_value.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert np.isnan(told.low).all() and np.isnan(told.high).all()


def test_numbers_or_none():
    assert _or_none(0.5) == 0.5 and _or_none(np.nan) is None and _or_none(np.inf) is None


# -- facts ----------------------------------------------------------------------------------------


def told_table():
    rng = np.random.default_rng(1)
    n = 50
    frame = pd.DataFrame(
        {
            "size": rng.normal(10, 2, n),
            "kind": np.where(np.arange(n) < 20, "a", np.resize(["b", "c"], n)),
            "count": np.maximum(rng.normal(0.5, 2, n), 0.0),
            "always": 1.0,
        }
    )
    frame.loc[:9, "size"] = rng.normal(20, 1, 10)
    frame.loc[[3, 4, 30], "size"] = np.nan
    frame.loc[:9, "count"] = 0.0
    return frame, np.array([np.arange(n) < 10, np.arange(n) >= 10])


def facts_of(frame, members, told=None, information=None):
    table = as_table(frame)
    ready = prepare(table)
    clustering, known = in_table_columns(table, ready, members, members)
    information = known if information is None else information
    return facts(table, ready, clustering, information, members, told), clustering, information


def test_facts_by_hand():
    frame, members = told_table()
    listed, clustering, information = facts_of(frame, members)
    table = as_table(frame)
    place = {name: j for j, name in enumerate(table.feature_names)}
    own = own_features(clustering)
    for k, told in enumerate(listed):
        assert {one.feature for one in told} == {"size", "kind", "count"}
        assert [one.information for one in told if not one.is_absent] == sorted(
            (one.information for one in told if not one.is_absent), reverse=True
        )
        rows = members[k]
        for one in told:
            j = place[one.feature]
            assert one.information == information[k, j] and one.is_own == own[k, j]
            assert one.q_value is None and one.p_value is None
            if one.feature == "kind":
                assert one.imputed == 0.0 and one.low is None and one.bars == ()
                continue
            column = frame[one.feature].to_numpy(dtype=float)
            inside, outside = column[rows], column[~rows]
            inside, outside = inside[~np.isnan(inside)], outside[~np.isnan(outside)]
            assert one.imputed == np.isnan(column[rows]).mean()
            low, high = np.quantile(inside, (0.05, 0.95))
            assert (one.low, one.high) == pytest.approx((low, high))
            known = np.nanquantile(column, (0.05, 0.95))
            assert (one.overall_low, one.overall_high) == pytest.approx(tuple(known))
            pooled = np.sqrt(
                (len(inside) * inside.var() + len(outside) * outside.var())
                / (len(inside) + len(outside))
            )
            known = (inside.mean() - outside.mean()) / pooled if pooled else 0.0
            assert one.effect == pytest.approx(known, rel=0.1)
            assert sum(one.bars) == len(inside)
            assert sum(one.overall_bars) == len(inside) + len(outside)
            if one.feature == "count":
                assert one.floor == 0.0 and one.above == (inside > 0).mean()
                assert one.above_elsewhere == (outside > 0).mean()
            else:
                assert one.floor is one.above is one.above_elsewhere is one.median_above is None
    first = {one.feature: one for one in listed[0]}
    assert first["kind"].level == "a" and first["kind"].share == 1.0
    assert first["kind"].elsewhere == 0.25 and first["count"].above == 0.0
    assert first["count"].median_above is None and first["size"].imputed == 0.2
    assert "always" not in first


def test_evidence_goes_with_its_feature():
    frame, members = told_table()
    shape = (2, 4)
    numbers = np.arange(8.0).reshape(shape) / 100
    names = as_table(frame).feature_names
    # Of a nominal feature the interval is that of the level that is shown.
    levels = {level: place for place, level in enumerate(sorted(set(map(str, frame["kind"]))))}
    kind = names.index("kind")
    of_levels = {
        (k, kind, level): (-9.0 - levels[level], 9.0 + k) for k in (0, 1) for level in levels
    }
    told = explain.FeatureEvidence(numbers, numbers + 0.01, numbers - 3, numbers + 3, of_levels)
    told.low[0, 0], told.high[1, 0] = np.nan, np.inf
    listed, _, _ = facts_of(frame, members, told)
    for k in range(2):
        for one in listed[k]:
            j = names.index(one.feature)
            assert (one.p_value, one.q_value) == (numbers[k, j], numbers[k, j] + 0.01)
            if j == kind:
                assert (one.effect_low, one.effect_high) == (-9.0 - levels[one.level], 9.0 + k)
                continue
            assert one.effect_low == (None if (k, j) == (0, 0) else numbers[k, j] - 3)
            assert one.effect_high == (None if (k, j) == (1, 0) else numbers[k, j] + 3)


def test_facts_of_very_large_numbers():
    frame, members = told_table()
    information = np.ones((2, 4))
    far = frame.assign(size=frame["size"] * 2.0**300, count=frame["count"] * 2.0**-300)
    near, far = (facts_of(each, members, information=information)[0] for each in (frame, far))
    for here, there in zip(near[0] + near[1], far[0] + far[1], strict=True):
        assert here.feature == there.feature
        unit = {"size": 2.0**300, "count": 2.0**-300}.get(here.feature, 1.0)
        names = ("low", "high", "overall_low", "overall_high", "bars_low", "bars_high",
                 "median_above", "floor")  # fmt: skip
        for name in names:
            one, other = getattr(here, name), getattr(there, name)
            assert (one is None) == (other is None)
            assert one is None or one * unit == pytest.approx(other)
        assert here.bars == there.bars and here.above == there.above
    assert near[0] != near[1]


def test_the_most_telling_facts_have_histograms():
    X = np.random.default_rng(0).normal(size=(30, 34))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(34)])
    members = np.array([np.arange(30) < 15, np.arange(30) >= 15])
    information = np.tile(np.arange(34.0), (2, 1))
    listed, _, _ = facts_of(frame, members, information=information)
    assert [one.feature for one in listed[0]] == [f"c{j}" for j in range(33, -1, -1)]
    assert [bool(one.bars) for one in listed[0]] == [True] * 30 + [False] * 4


def test_a_thousand_facts_at_most(monkeypatch):
    assert explain.MOST_FACTS == 1000
    frame, members = told_table()
    monkeypatch.setattr(explain, "MOST_FACTS", 2)
    information = np.array([[1.0, 2.0, 3.0, 9.0], [3.0, 2.0, 1.0, 9.0]])
    names = as_table(frame).feature_names
    assert names[3] == "always" or "always" in names
    listed, _, _ = facts_of(frame, members, information=information)
    for k in range(2):
        searched = [j for j, name in enumerate(names) if name != "always"]
        best = sorted(searched, key=lambda j: -information[k, j])[:2]
        assert {one.feature for one in listed[k]} == {names[j] for j in best}


def test_what_kind_of_fact_comes_first():
    sure, unsure = {"q_value": 0.01}, {"q_value": 0.2}
    absent = {"floor": 0.0, "above": 0.1, "above_elsewhere": 0.5}
    assert _kind_of_fact(fact(**sure), True) == 0
    assert _kind_of_fact(fact(**unsure), False) == 3
    assert _kind_of_fact(fact(**sure, **absent), False) == 2
    # Lower is as absent, if most columns have a floor and this one has none.
    assert _kind_of_fact(fact(**sure, effect=-1.0), True) == 2
    assert _kind_of_fact(fact(**sure, effect=-1.0), False) == 0
    assert _kind_of_fact(fact(**sure, effect=0.0), True) == 0
    assert _kind_of_fact(fact(**sure, effect=1.0), True) == 0
    more = absent | {"above": 0.9}
    assert _kind_of_fact(fact(**sure, **more, effect=-1.0), True) == 0
    # What is plainly there stands between what is surely there and what is surely not.
    plain = {"effect": 0.8, "effect_low": 0.1}
    assert _kind_of_fact(fact(**unsure, **more, **plain), False) == 1
    assert _kind_of_fact(fact(**unsure, **plain), True) == 1
    assert _kind_of_fact(fact(**unsure, **plain), False) == 3
    assert _kind_of_fact(fact(**unsure, **absent, **plain), True) == 3
    assert _kind_of_fact(fact(**unsure, **more, effect=0.79, effect_low=0.1), True) == 3
    assert _kind_of_fact(fact(**unsure, **more, effect=0.8, effect_low=0.0), True) == 3


@pytest.mark.parametrize(("floored", "first"), [(1, "down"), (2, "up")])
def test_in_tables_of_floors_what_is_lower_comes_last(floored, first):
    rng = np.random.default_rng(0)
    n = 60
    frame = {"up": rng.normal(size=n), "down": rng.normal(size=n)}
    frame["up"][:20] += 3
    frame["down"][:20] -= 6
    floors = {f"f{j}": np.maximum(rng.normal(size=n), 0) for j in range(floored + 1)}
    members = np.array([np.arange(n) < 20, np.arange(n) >= 20])
    listed, _, _ = facts_of(pd.DataFrame(frame | floors), members)
    # Two of four columns are not most; three of five are.
    assert listed[0][0].feature == first


def test_how_much_is_above_a_floor():
    column = np.array([0.0, 1.0, 3.0, np.nan, 0.0, 8.0, 0.0, np.nan])
    rows = np.arange(8) < 4
    assert _above_floor(column, rows, 0.0, 1) == {
        "floor": 0.0, "above": 2 / 3, "above_elsewhere": 1 / 3, "median_above": 4.0,
    }  # fmt: skip
    assert _above_floor(column, rows, 1.0, 2) == {
        "floor": 4.0, "above": 1 / 3, "above_elsewhere": 1 / 3, "median_above": 12.0,
    }  # fmt: skip
    missing = np.isnan(column)
    assert _above_floor(column, missing, 0.0, 0)["above"] == 0.0
    assert _above_floor(column, ~missing, 0.0, 0)["above_elsewhere"] == 0.0
    assert _above_floor(column, missing, 0.0, 0)["median_above"] is None
    assert _above_floor(column, missing, 0.0, 0)["above_elsewhere"] == 0.5


def test_bars_by_hand():
    column = np.r_[np.arange(101.0), np.nan]
    rows = np.arange(102) < 30
    found = histogram(column, rows, 3)
    assert (found["bars_low"], found["bars_high"]) == (8.0, 8 * 99.0)
    # 16 bars from 1 to 99; what lies beyond is in the last ones.
    edges = np.linspace(1, 99, 17)
    known = [
        sum(edges[i] <= min(max(v, 1), 99) and (min(max(v, 1), 99) < edges[i + 1] or i == 15)
            for v in range(101))
        for i in range(16)
    ]  # fmt: skip
    assert found["overall_bars"] == tuple(known) and sum(found["bars"]) == 30
    assert found["bars"][:4] == tuple(known[:4]) and len(found["bars"]) == 16
    assert histogram(column, rows) | {"bars_low": 8.0, "bars_high": 8 * 99.0} == found


def test_bars_of_what_hardly_varies():
    assert histogram(np.full(5, np.nan), np.ones(5, dtype=bool)) == {}
    assert histogram(np.full(5, 2.0), np.ones(5, dtype=bool)) == {}
    column = np.r_[np.zeros(300), 5.0]
    found = histogram(column, np.arange(301) >= 299)
    assert (found["bars_low"], found["bars_high"]) == (0.0, 5.0)
    assert found["bars"] == (1, *[0] * 14, 1) and found["overall_bars"] == (300, *[0] * 14, 1)


def test_the_middle_of_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[3, 1] = np.nan
    X[:, 2] = np.nan
    found = _middle(X)
    for j in (0, 1, 3):
        column = X[~np.isnan(X[:, j]), j]
        np.testing.assert_allclose(found[:, j], np.quantile(column, (0.05, 0.95)))
    assert np.isnan(found[:, 2]).all() and found.shape == (2, 4)


def test_which_features_are_a_clusters_own():
    members = np.eye(2, dtype=bool)
    axis = SubspaceClustering(members, AxisSubspaces(np.array([[True, False], [True, True]])))
    assert own_features(axis).tolist() == [[True, False], [True, True]]
    weights = np.array([[0.8, 0.2], [1 / 1.19, 0.19 / 1.19]])
    weighted = SubspaceClustering(members, WeightedSubspaces(weights))
    assert own_features(weighted).tolist() == [[True, True], [True, False]]


def test_the_typical_level_surprises_most():
    # a: 4 of 8 against 6 of 12; b: 3 of 8 against 1 of 12; c: 1 against 5.
    inside = ["a"] * 4 + ["b"] * 3 + ["c"]
    outside = ["a"] * 6 + ["b"] + ["c"] * 5
    table = level_table([*inside, None, *outside, None])
    rows = np.arange(22) < 9
    assert _typical_level(table, "kind", rows) == {
        "level": "b", "share": 3 / 8, "elsewhere": 1 / 12
    }  # fmt: skip
    nobody = np.zeros(22, dtype=bool)
    assert _typical_level(table, "kind", nobody) == {
        "level": "a",
        "share": 0.0,
        "elsewhere": 0.3 + 0.2,
    }
    everyone = _typical_level(table, "kind", ~nobody)
    assert everyone["elsewhere"] == 0.0 and everyone["level"] == "a" and everyone["share"] == 0.5


def test_levels_that_nobody_else_has_are_held_against_a_thousandth():
    # d: a fifth of the cluster and nobody else; a: the others against hardly anybody.
    inside = ["d"] * 4 + ["a"] * 16
    outside = ["a"] * 1 + ["b"] * 499
    table = level_table(inside + outside)
    rows = np.arange(520) < 20
    known = {"d": 0.2 * np.log(0.2 / 0.001), "a": 0.8 * np.log(0.8 / 0.002)}
    assert known["a"] > known["d"]
    assert _typical_level(table, "kind", rows)["level"] == "a"
    for number in range(2, 30):
        inside = ["d"] * number + ["a"] * (40 - number)
        outside = ["a"] * 4 + ["b"] * 496
        p = number / 40
        other = (1 - p) * np.log((1 - p) / 0.008)
        assert (p * np.log(p / 0.001) > other) == (
            _typical_level(level_table(inside + outside), "kind", np.arange(540) < 40)["level"]
            == "d"
        )


def test_of_one_row_a_level_has_all_or_nothing():
    kinds = ["a", None, "b", "b", "a", "b", "a", "b"]
    table = level_table(kinds)
    rows = np.arange(8) < 2
    assert _typical_level(table, "kind", rows) == {"level": "a", "share": 1.0, "elsewhere": 2 / 6}
    assert _typical_level(table, "kind", ~rows)["elsewhere"] == 0.0
    two = level_table(["a", "a", "b"])
    found = _typical_level(two, "kind", np.arange(3) < 2)
    assert (found["share"], found["elsewhere"]) == (1.0, 0.0)
    ready = prepare(table)
    terms = _level_terms(ready, ready.X, ~ready.absent[:, ready.origin], rows)
    assert terms[ready.names.index("kind=a")] == pytest.approx(np.log(7 / 3))


def test_a_floor_is_the_smallest_value_of_its_own_column():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"low": rng.normal(-50, 1, 40), "count": 3.0 + np.maximum(rng.normal(size=40), 0)}
    )
    members = np.array([np.arange(40) < 15, np.arange(40) >= 15])
    listed, _, _ = facts_of(frame, members)
    floors = {one.feature: one.floor for one in listed[0]}
    assert floors == {"low": None, "count": 3.0}


def test_weights_of_a_fifth_of_the_largest_are_much():
    weights = np.array([[0.625, 0.125, 0.25]])
    assert 0.2 * 0.625 == 0.125
    found = SubspaceClustering(np.ones((1, 1), dtype=bool), WeightedSubspaces(weights))
    assert own_features(found).tolist() == [[True, True, True]]


def test_features_not_searched_have_no_weight(monkeypatch):
    X = np.random.default_rng(0).normal(size=(12, 3))
    X[:, 1] = 5.0
    table = Table.from_array(X)
    ready = prepare(table)
    members = np.array([np.arange(12) < 6, np.arange(12) >= 6])
    monkeypatch.setattr(explain, "_information", lambda *_: np.zeros((2, 3)))
    found, _ = in_table_columns(table, ready, members, members)
    assert found.subspaces.relevance.tolist() == [[0.5, 0.0, 0.5]] * 2


# -- sentences ------------------------------------------------------------------------------------


def test_sentences():
    numbers = {"low": 0.0, "high": 1.0}
    listed = tuple(fact(feature=f"f{j}", **numbers) for j in range(7))
    told = [f"f{j} in [0, 1]" for j in range(7)]
    assert sentence(1, 21, 100, listed) == (
        f"cluster 2: 21 rows (21%); {', '.join(told[:5])}, and 2 more features"
    )
    assert sentence(0, 1, 0, listed[:5]) == f"cluster 1: 1 row (100%); {', '.join(told[:5])}"
    assert sentence(0, 1, 4, listed[:2], 3) == (
        "cluster 1: 1 row (25%); f0 in [0, 1], f1 in [0, 1], and 1 more feature"
    )
    assert sentence(0, 1, 4, listed[:2], 2) == "cluster 1: 1 row (25%); f0 in [0, 1], f1 in [0, 1]"
    assert sentence(0, 1, 4, ()) == "cluster 1: 1 row (25%)"
    others = (fact(is_own=False, **numbers), *listed[:1])
    assert sentence(0, 1, 4, others) == "cluster 1: 1 row (25%); f0 in [0, 1]"
    unsure = tuple(fact(feature=f"u{j}", q_value=0.5, **numbers) for j in range(3))
    assert sentence(0, 1, 4, unsure) == (
        "cluster 1: 1 row (25%); perhaps u0 in [0, 1], and 2 more features"
    )
    assert sentence(0, 1, 4, (*unsure, listed[0])) == (
        "cluster 1: 1 row (25%); f0 in [0, 1], and 3 more features"
    )


# -- pictures -------------------------------------------------------------------------------------


def test_which_features_are_drawn():
    def told(prefix, number, **fields):
        return [fact(feature=f"{prefix}{j}", **fields) for j in range(number)]

    assert drawn_features([]) == []
    assert drawn_features([told("a", 30)]) == [f"a{j}" for j in range(24)]
    two = drawn_features([told("a", 30), told("b", 30)])
    assert two == [f"a{j}" for j in range(12)] + [f"b{j}" for j in range(12)]
    # Three of each at least, and 24 in all.
    ten = drawn_features([told(f"c{k}_", 5) for k in range(10)])
    assert ten == [f"c{k}_{j}" for k in range(8) for j in range(3)]
    mixed = [*told("a", 1), fact(feature="level", level="red"), fact(feature="o", is_own=False),
             *told("b", 1)]  # fmt: skip
    assert drawn_features([mixed, mixed]) == ["a0", "b0"]


def test_shown_values_of_sparse_tables():
    X = np.random.default_rng(0).normal(size=(6, 3)).round(1)
    table = Table.from_array(sparse.csr_array(X))
    names, values = shown_values(table, [[[fact(feature="x2")]]], np.array([4, 0]))
    assert names == ("x2",)
    np.testing.assert_allclose(values, X[[4, 0]][:, [2]], rtol=1e-7)
