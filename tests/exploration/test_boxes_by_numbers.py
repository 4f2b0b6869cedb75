"""Boxes: cells of rows, features of their own, prices and scores, by brute force."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from subscape.exploration import boxes
from subscape.exploration.boxes import BoxCode, BoxScorer, _cells, _choices, _holders, _in_earnest
from subscape.exploration.separation import GroupingScorer


def members(*rows, n=40):
    found = np.zeros((len(rows), n), bool)
    for each, own in zip(found, rows, strict=True):
        each[list(own)] = True
    return found


def test_ways_to_choose():
    found = _choices(9, np.array([0, 1, 4, 9]))
    np.testing.assert_allclose(found, np.log([comb(9, k) for k in (0, 1, 4, 9)]), atol=1e-12)


@pytest.mark.parametrize("many", [False, True])
def test_sets_of_clusters_that_rows_are_in(many, monkeypatch):
    if many:
        monkeypatch.setattr(boxes, "MOST_BITS", 2)
    inside = members(range(10), range(5, 20), (3, 30))
    cells, home = _cells(inside)
    np.testing.assert_array_equal(cells[home], inside.T)
    assert len(cells) == len(np.unique(inside.T, axis=0)) == 6
    known = np.unique(inside, axis=1)
    np.testing.assert_array_equal(cells, known.T)


def test_as_many_clusters_as_a_number_has_bits():
    for k in (62, 63, 70):
        inside = np.eye(k, 2 * k, dtype=bool) | np.eye(k, 2 * k, 1, dtype=bool)
        cells, home = _cells(inside)
        np.testing.assert_array_equal(cells[home], inside.T)
    assert boxes.MOST_BITS == 62


def test_few_rows_are_no_cluster_and_no_meeting_of_two():
    # Three rows are a cluster, two are none.
    inside = members(range(10), range(7, 20), range(30, 33), range(35, 37), range(19, 30))
    found = _in_earnest(inside, 3)
    assert found[3].sum() == 0 and found[2].sum() == 3
    assert found[0].sum() == 10 and found[1].sum() == 13  # three meet
    # A single row is in two: it stays in the first.
    assert found[4].tolist() == members(range(20, 30))[0].tolist() and found[1][19]
    assert inside[4][19] and inside[3].sum() == 2  # what was given stays
    assert _in_earnest(members(range(10), range(10, 12)), 3)[0].sum() == 10


def test_the_narrowest_cluster_says_where_a_row_is():
    cells = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], bool)
    own = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], bool)
    widths = np.array([[0.3, 0.1, 0.1, 0.1], [0.2, 0.01, 0.4, 0.1]])
    found = _holders(cells, own, widths)
    assert found.tolist() == [[-1, -1, -1, -1], [0, 0, -1, -1], [1, -1, 1, -1], [1, 0, 1, -1]]
    none = _holders(np.zeros((1, 0), bool), np.zeros((0, 4), bool), np.zeros((0, 4)))
    assert none.tolist() == [[-1] * 4]


def table(n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:60, 0] = 1.0 + 0.1 * rng.normal(size=60)
    X[50:120, 1] = -1.0 + 0.2 * rng.normal(size=70)
    X[50:120, 0] += 0.0
    return X


def test_moments_of_clusters():
    code = BoxCode(table())
    inside = members(range(60), range(50, 120), (), n=200)
    centres, spread = code._moments(inside)
    for k in range(2):
        own = code.scores[inside[k]]
        np.testing.assert_allclose(centres[k], own.mean(axis=0))
        np.testing.assert_allclose(spread[k], np.maximum(own.var(axis=0), 0.02**2), rtol=1e-6)
    assert centres[2].tolist() == [0.0] * 4 and spread[2].tolist() == [0.02**2] * 4
    # Scores have variance 1, and equal values one that jitter makes.
    np.testing.assert_allclose(np.square(code.scores).mean(axis=0), 1)
    np.testing.assert_allclose(code.squares, code.scores**2)


def own_by_hand(code, inside, fewest):
    n, p = code.scores.shape
    alone = inside & (inside.sum(axis=0) == 1)
    found = np.zeros((len(inside), p), bool)
    for k in range(len(inside)):
        enough = alone[k].sum() >= max(0.2 * inside[k].sum(), fewest)
        rows = alone[k] if enough else inside[k]
        seen = code.scores[rows]
        narrow = np.maximum(seen.var(axis=0), 0.02**2)
        gained = 0.5 * len(seen) * (seen.mean(axis=0) ** 2 + narrow - 1 - np.log(narrow))
        found[k] = (gained > np.log(n) + np.log(p)) & (narrow < 0.5)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_features_of_their_own(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 5))
    inside = np.zeros((3, 120), bool)
    for k in range(3):
        start, size = rng.integers(0, 70), rng.integers(4, 50)
        inside[k, start : start + size] = True
        X[start : start + size, k] *= rng.uniform(0.3, 0.9)
        X[start : start + size, 4] *= rng.uniform(0.1, 0.9)
    code = BoxCode(X)
    own, widths = code._own(inside, 3)
    np.testing.assert_array_equal(own, own_by_hand(code, inside, 3))
    np.testing.assert_allclose(widths, code._moments(inside)[1])


def test_a_cluster_is_seen_by_rows_of_its_own_if_these_are_a_fifth():
    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(n, 2))
    X[:100, 0] = 0.05 * rng.normal(size=100)
    for alone in (19, 20, 21):
        # The first cluster has so many rows of its own, which are wide in the first column.
        X[100 - alone : 100, 0] = rng.normal(size=alone)
        inside = members(range(100), range(100 - alone), n=n)
        code = BoxCode(X)
        own, _ = code._own(inside, 4)
        np.testing.assert_array_equal(own, own_by_hand(code, inside, 4))
        assert own[0, 0] == (alone < 20)


def test_a_feature_is_own_with_less_than_half_of_the_variance():
    found = set()
    for scale in np.linspace(0.5, 0.9, 60):
        X = np.random.default_rng(0).normal(size=(300, 2))
        X[:100, 0] *= scale
        inside = members(range(100), n=300)
        code = BoxCode(X)
        own, _ = code._own(inside, 3)
        np.testing.assert_array_equal(own, own_by_hand(code, inside, 3))
        found.add(bool(own[0, 0]))
    assert found == {True, False}


def test_a_column_without_spread_is_never_own():
    X = table()
    X[:, 2] = 5.0
    code = BoxCode(X)
    told = code.told(members(range(60), range(60, 120), n=200))
    assert not told.own[:, 2].any() and code.varies.tolist() == [True, True, False, True]
    assert (code.scores[:, 2] == 0).all() and np.isfinite(told.gain)


def test_equal_values_are_told_apart_by_next_to_nothing():
    X = np.repeat([[0.0], [1.0]], 50, axis=0) * [[1.0, 1e9]]
    code = BoxCode(X)
    noise = np.random.default_rng(0).normal(size=X.shape)
    for j in range(2):
        order = np.lexsort((noise[:, j], X[:, j]))
        assert (np.argsort(code.scores[:, j]) == order).all()
    near = np.column_stack([np.arange(100.0), np.arange(100.0)])
    near[1, 0] = 1e-7  # beyond a billionth of the spread, the order of the values stays
    scores = BoxCode(near).scores[:, 0]
    assert (np.diff(scores) > 0).all()


def test_boxes_that_hold_rows_in_a_feature():
    code = BoxCode(table())
    inside = members(range(60), range(50, 120), n=200)
    told = code.told(inside)
    assert told.own[:, :2].tolist() == [[True, False], [False, True]]
    for k, j in ((0, 0), (1, 1)):
        seen = code.scores[inside[k], j]
        assert told.centres[k, j] == pytest.approx(seen.mean())
        assert told.variances[k, j] == pytest.approx(seen.var(), rel=1e-6)
    # Four sets of rows: both, either, none.
    shares = np.array([10, 50, 60, 80]) / 200
    assert told.entropy == pytest.approx(-(shares * np.log(shares)).sum())
    # A box in one feature is told by its spread there, and by nothing else.
    gained = 0.0
    for k, j in ((0, 0), (1, 1)):
        seen = code.scores[inside[k], j]
        gained += 0.5 * (np.square(seen).sum() - len(seen) - len(seen) * np.log(seen.var()))
    both = code.scores[50:60][:, :2]
    one = 0.5 * np.square(both).sum()
    matrix = code.correlations[:2, :2]
    together = 0.5 * np.einsum("ij,jk,ik->", both, np.linalg.inv(matrix), both)
    gained += together - one + 5 * np.log(np.linalg.det(matrix))
    price = 0.5 * np.log(200) * (2 * 2 + 3) + 2 * np.log(4) + 2 * np.log(5) + np.log(2)
    known = (gained - price) / 200 - told.entropy
    assert told.gain == pytest.approx(known, abs=1e-6)


def test_no_cluster_gains_nothing_and_costs_nothing():
    code = BoxCode(table())
    for inside in (np.zeros((0, 200), bool), members((), n=200), members((1, 2), n=200)):
        told = code.told(inside)
        assert told.entropy == 0.0
        price = len(inside) * np.log(5) / 200
        assert told.gain == pytest.approx(-price)


# -- scores ---------------------------------------------------------------------------------------


def test_a_scorer_of_boxes():
    X = table()
    like = GroupingScorer(X)
    scorer = BoxScorer(like)
    assert scorer.has_columns and scorer.Z is like.Z and scorer.directions is like.directions
    labels = np.where(np.arange(200) < 60, 3, np.where(np.arange(200) < 120, 7, -1))
    inside = np.array([labels == 3, labels == 7])
    told = scorer.boxes(labels)
    assert told is scorer.boxes(labels) is scorer.boxes(labels, inside)
    assert told.gain == BoxCode(like.Z).told(inside).gain
    found = scorer(labels)
    assert (found.gain, found.entropy, found.sliced) == (told.gain, told.entropy, 0.0)
    assert found.over_normal == -np.inf and len(found.ratios) == 0
    assert found.score == pytest.approx(told.gain / max(told.entropy, np.log(2)))
    np.testing.assert_array_equal(found.basis, like(labels).basis)
    # Other clusters with the same bits are other boxes.
    wide = np.zeros((4, 10), bool)
    tall = np.zeros((2, 20), bool)
    assert np.packbits(wide).tobytes() == np.packbits(tall).tobytes()
    other = np.array([labels == 3, labels == 7, labels == 99])
    assert scorer.boxes(labels, other).gain < told.gain
    overlapping = np.array([np.arange(200) < 70, (np.arange(200) >= 50) & (np.arange(200) < 120)])
    assert scorer(labels, overlapping).gain == BoxCode(like.Z).told(overlapping).gain


def test_scorers_of_other_tables_and_of_what_is_left():
    X = table()
    scorer = BoxScorer(GroupingScorer(X))
    other = scorer.like(X[:100])
    assert isinstance(other, BoxScorer) and len(other.Z) == 100
    np.testing.assert_allclose(other.Z, X[:100] - X[:100].mean(axis=0))
    labels = np.where(np.arange(200) < 60, 0, -1)
    second = np.array([(np.arange(200) >= 50) & (np.arange(200) < 120)])
    one = scorer.code.project_out(np.array([labels == 0]))
    first = BoxScorer(GroupingScorer(one))
    rest = scorer.rest([(labels, None)])
    np.testing.assert_allclose(rest.Z, first.Z)
    both = scorer.rest([(labels, None), (labels, second)])
    known = BoxScorer(GroupingScorer(first.code.project_out(second)))
    np.testing.assert_allclose(both.Z, known.Z)
    assert scorer.rest([]) is scorer


def test_memberships_of_labels():
    found = boxes._memberships(np.array([4, -1, 2, 4]))
    assert found.tolist() == [[False, False, True, False], [True, False, False, True]]
    assert boxes._memberships(np.array([-1, -1])).shape == (0, 2)
