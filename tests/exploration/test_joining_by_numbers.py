"""Known groupings and new rows, joined to a table: limits, and which of two things counts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from subscape.core import SubspaceClustering
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.exploration import known_groupings as known_module
from subscape.exploration.known_groupings import agreement, known_groupings, leiden_groupings
from subscape.exploration.new_rows import (
    _numbers,
    matched,
    new_rows,
    read_as_explored,
)
from subscape.exploration.preparation import Recipe
from subscape.tables import Table

# -- known groupings ------------------------------------------------------------------------------


def test_how_known_groupings_are_named():
    a, b = [0, 0, 1], [0, 1, 1]

    def named(known, what="truth"):
        return {k: v.tolist() for k, v in known_groupings(known, 3, what).items()}

    assert named(None) == {}
    assert named({5: a}) == {"5": a}
    assert named([a, b]) == named((a, b)) == {"truth 1": a, "truth 2": b}
    assert named([a, b], "given") == {"given 1": a, "given 2": b}
    assert named(np.array([a, b]).T) == {"truth 1": a, "truth 2": b}
    assert named(a) == named(np.array(a)) == {"truth": a}
    assert named(["x", "x", "y"]) == {"truth": a}
    with pytest.raises(ShapeMismatchError, match="truth has 0 rows, the table 3"):
        named([])


def test_what_is_refused_of_known_groupings():
    with pytest.raises(ShapeMismatchError, match="given has 2 rows, the table 3"):
        known_groupings([0, 1], 3, "given")
    with pytest.raises(ShapeMismatchError, match="truth has 1 row, the table 3"):
        known_groupings([0], 3, "truth")
    for one in ([1, 1, 1], [-1, 2, -1], [-1, -1, -1]):
        with pytest.raises(SubscapeError, match="given has fewer than two groups"):
            known_groupings(one, 3, "given")
        assert len(known_groupings(one, 3, "truth")) == 1
    assert known_groupings([0, 1, -1], 3, "given")["given"].tolist() == [0, 1, -1]
    with pytest.raises(ShapeMismatchError, match=r"one vector, got shape \(2, 2, 2\)"):
        known_groupings(np.zeros((2, 2, 2)), 2, "truth")


def test_which_labels_are_in_no_group():
    def labels(given):
        return known_groupings({"k": given}, len(given), "truth")["k"].tolist()

    assert labels(np.array([3, 0, -1], np.int8)) == [1, 0, -1]
    assert labels(np.array([3, 0, 7], np.uint8)) == [1, 0, 2]
    assert labels([0.0, -0.5, -1.0]) == [1, 0, -1]
    assert labels([0.0, -2.0, -1.0]) == [0, -1, -1]
    assert labels([np.nan, np.nan]) == [-1, -1]
    assert labels(["", "nan", "-1", "a"]) == [-1, -1, -1, 0]
    assert labels(["-3", "0", "2"]) == [-1, 0, 1] and labels(["-3", "0.5", "2"]) == [0, 1, 2]
    assert labels(["-3", "0", ""]) == [-1, 0, -1]
    assert labels(np.array([None, -3, "b"], dtype=object)) == [-1, -1, 0]
    assert labels(np.array([None, 0, "b"], dtype=object)) == [-1, 0, 1]
    assert labels([True, False]) == [1, 0]


def test_names_count_where_both_have_them():
    index = pd.Series([0, 1, 1], index=["c", "b", "a"])
    joined = known_groupings(index, 3, "truth", ["a", "b", "c"])["truth"]
    assert joined.tolist() == [1, 1, 0]
    # Numbers that are no running number are names.
    numbered = pd.Series([0, 1, 1], index=[12, 11, 10])
    assert known_groupings(numbered, 3, "truth", ["10", "11", "12"])["truth"].tolist() == [1, 1, 0]
    running = pd.Series([0, 1, 1])
    assert known_groupings(running, 3, "truth", ["a", "b", "c"])["truth"].tolist() == [0, 1, 1]
    with pytest.raises(
        ShapeMismatchError,
        match=r"truth has no row for 2 of the table's 3 rows, such as 'x'; its rows have names "
        "such as 'c'",
    ):
        known_groupings(index, 3, "truth", ["a", "x", "y"])
    fitted = SimpleNamespace(
        clustering_=SubspaceClustering.from_labels([0, 1, 1], row_names=("c", "b", "a"))
    )
    assert known_groupings(fitted, 3, "truth", ["a", "b", "c"])["truth"].tolist() == [1, 1, 0]


def test_agreement_over_rows_whose_group_is_known():
    truth = np.array([0, 0, 1, 1, -1, 1, 0])
    labels = np.array([0, 0, 1, -1, 5, 1, 1])
    rows = truth >= 0
    found = agreement(truth, labels)
    assert found["ari"] == pytest.approx(adjusted_rand_score(truth[rows], labels[rows]))
    assert found["nmi"] == pytest.approx(normalized_mutual_info_score(truth[rows], labels[rows]))
    assert agreement(np.full(3, -1), np.arange(3)) == {"ari": 0.0, "nmi": 0.0}


def test_leidens_groupings_by_numbers(monkeypatch):
    fits, moves = [], []

    class Fake:
        def __init__(self, max_iter, random_state):
            assert max_iter == 1
            fits.append(random_state)

        def fit(self, X):
            fits.append(X)
            self.graph_ = "graph"
            return self

    def communities(graph, resolution, seed):
        moves.append((graph, resolution, seed))
        return np.arange(len(fits[1])) % 3

    monkeypatch.setattr(known_module, "Leiden", Fake)
    monkeypatch.setattr(known_module, "communities", communities)
    X = np.random.default_rng(0).normal(size=(5001, 2))
    X = np.column_stack([X, np.ones(5001)])
    found = leiden_groupings(X[:5000])
    assert list(found) == [f"Leiden, resolution {r}" for r in ("0.5", "1", "2")]
    assert [each.tolist() for each in found.values()] == [(np.arange(5000) % 3).tolist()] * 3
    np.testing.assert_array_equal(fits[1], X[:5000, :2])
    drawing, fitting, *moving = np.random.SeedSequence(0).spawn(5)
    assert fits[0].spawn_key == fitting.spawn_key and fits[0].entropy == 0
    assert [m[:2] for m in moves] == [("graph", 0.5), ("graph", 1.0), ("graph", 2.0)]
    assert [m[2].spawn_key for m in moves] == [seed.spawn_key for seed in moving]
    fits.clear()
    one = leiden_groupings(X, (1.25,))["Leiden, resolution 1.25"]
    rows = np.sort(np.random.default_rng(drawing).choice(5001, 5000, replace=False))
    assert one[rows].tolist() == (np.arange(5000) % 3).tolist()
    assert one[np.setdiff1d(np.arange(5001), rows)].tolist() == [-1]
    np.testing.assert_array_equal(fits[1], X[rows][:, :2])
    fits.clear()
    assert leiden_groupings(X[:1]) == {} and leiden_groupings(np.ones((5, 2))) == {}
    X[3, 1] = np.nan
    assert leiden_groupings(X[:9]) == {} and fits == []
    assert len(leiden_groupings(X[:2])) == 3


# -- new rows -------------------------------------------------------------------------------------


def test_which_text_is_which_level():
    assert matched(["a", "b"], ["a"]) == {"a": "a"}
    # Text, number, truth, single precision: what comes first counts.
    assert matched(["1"], ["1", "1.0"]) == {"1": "1"}
    assert matched(["1.00"], ["1", "1.0"]) == {}  # two numbers alike
    assert matched(["TRUE", "False"], ["true", "x"]) == {"TRUE": "true"}
    assert matched(["1"], ["true", "x"]) == {} and matched(["1"], ["true", "false"]) == {
        "1": "true"
    }
    assert matched(["0.0"], ["True", "False"]) == {"0.0": "False"}
    assert matched(["true"], ["1", "0"]) == {"true": "1"} and matched(["true"], ["1", "2"]) == {}
    single = str(float(np.float32(0.1)))
    assert matched([single], ["0.1"]) == {single: "0.1"} and matched(["0.1"], [single]) == {
        "0.1": single
    }
    assert matched(["0.1000001"], ["0.1"]) == {}
    # Whole numbers are what they are in any precision.
    big = str(2**24 + 1)
    assert matched([big], [str(2**24)]) == {} and matched([f"{2**24}.5"], [str(2**24)]) == {}
    assert matched(["NaN", "inf"], ["nan", "Infinity"]) == {"inf": "Infinity"}
    assert matched(["-0"], ["0"]) == {"-0": "0"} and matched([], ["a"]) == {}
    assert matched(["0.1234567890123456"], ["0.123456789012346"]) == {
        "0.1234567890123456": "0.123456789012346"
    }


def frame_of(kinds, x=None):
    x = np.arange(float(len(kinds))) if x is None else x
    return pd.DataFrame({"x": x, "kind": kinds})


RECIPES = (
    Recipe("x", centre=1.0, scale=2.0),
    Recipe("kind", levels=("a",)),
    Recipe("kind", levels=("b", "c")),
)


def test_new_rows_in_columns_and_levels_of_before():
    kinds = ["a", "b", "c", "z", None, "z", "y", "x", "w"]
    table = Table.read(frame_of(kinds), roles={"kind": "nominal"})
    X, notes = new_rows(RECIPES, table)
    np.testing.assert_allclose(X[:, 0], (np.arange(9.0) - 1) / 2)
    np.testing.assert_array_equal(X[:, 1], [1, 0, 0, 0, np.nan, 0, 0, 0, 0])
    np.testing.assert_array_equal(X[:, 2], [0, 1, 1, 0, np.nan, 0, 0, 0, 0])
    assert notes == (
        "column 'kind': 5 of 8 values match no level of the study "
        "('z', 'w', 'x' and 1 more; it has 'a', 'b', 'c')",
    )
    one = Table.read(frame_of(["a", "q", "a"]), roles={"kind": "nominal"})
    assert new_rows(RECIPES, one).notes == (
        "column 'kind': 1 of 3 values matches no level of the study ('q'; it has 'a', 'b', 'c')",
    )
    with pytest.raises(
        ShapeMismatchError, match=r"^1 column of the table.* not in this one: 'kind'"
    ):
        new_rows(RECIPES, table.select(["x"]))
    with pytest.raises(ShapeMismatchError, match=r"^2 columns of .*: 'x', 'kind'"):
        new_rows(RECIPES, Table.from_array(np.zeros((2, 1)), feature_names=["other"]))


def test_truth_as_numbers():
    table = Table.read(
        pd.DataFrame({"t": ["True", "false", None, "TRUE"], "u": ["1", "2", "3", "x"]})
    )
    np.testing.assert_array_equal(
        _numbers(table.with_roles({"t": "nominal"}), "t"), [1, 0, np.nan, 1]
    )


def test_columns_are_read_in_the_roles_of_before():
    schema = [{"name": "x", "role": "numeric"}, {"name": "kind", "role": "nominal"}]
    frame = frame_of([1, 2, 1])
    table = read_as_explored(frame, schema)
    assert table.roles["kind"] == "nominal" and table.roles["x"] == "numeric"
    assert read_as_explored(frame, schema[:1]).roles["kind"] == Table.read(frame).roles["kind"]
    # A role that does not fit what is there now is left alone.
    text = frame_of(["u", "v", "w"], x=["p", "q", "p"])
    assert read_as_explored(text, schema).roles["x"] != "numeric"
    named = pd.DataFrame({"n": [3, 1, 2], "x": [0.5, 1.5, 2.5]})
    ids = [{"name": "n", "role": "id"}, {"name": "x", "role": "numeric"}]
    assert read_as_explored(named, ids).row_names == ("3", "1", "2")
    assert read_as_explored(named, [*ids[:1], {"name": "x", "role": "id"}]).row_names is None
    assert read_as_explored(named, ids[1:]).row_names is None
    said = read_as_explored(named, [{"name": "n", "role": "nominal"}], id="n")
    assert said.row_names == ("3", "1", "2")
