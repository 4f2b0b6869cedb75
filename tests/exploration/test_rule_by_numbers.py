"""Rules for new rows, computed a second time by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from subscape.exploration import rule as rules
from subscape.exploration.rule import Rule, learn, learn_neighbours
from subscape.exploration.separation import GroupingScorer


def by_hand(rule, X):
    """Label and probability of each row, by Bayes."""
    seen = np.where(np.isnan(X), 0.0, X) @ rule.basis
    labels, sure = [], []
    for row in seen:
        density = np.array(
            [
                share * norm.pdf(row, centre, spread).prod()
                for share, centre, spread in zip(
                    rule.shares, rule.centres, rule.spreads, strict=True
                )
            ]
        )
        label = rule.numbers[density.argmax()]
        labels.append(label)
        sure.append(density[rule.numbers == label].sum() / density.sum())
    return labels, sure


@pytest.fixture
def rule():
    rng = np.random.default_rng(0)
    return Rule(
        basis=rng.normal(size=(3, 2)),
        centres=rng.normal(size=(5, 2)),
        spreads=rng.uniform(0.5, 1.5, size=(5, 2)),
        shares=np.array([0.1, 0.4, 0.2, 0.2, 0.1]),
        numbers=np.array([-1, 0, 1, 1, 2]),
    )


def test_rows_go_where_they_are_likeliest(rule):
    X = np.random.default_rng(1).normal(size=(40, 3))
    X[3, 1] = np.nan
    labels, sure = rule(X)
    known = by_hand(rule, X)
    assert labels.tolist() == known[0] and len(set(known[0])) == 3
    np.testing.assert_allclose(sure, known[1])
    assert rule.agreement == 1.0 and labels.dtype == np.int64
    assert [len(each) for each in rule(np.empty((0, 3)))] == [0, 0]


@pytest.mark.parametrize(
    ("number", "step"), [(2, 16384), (8, 16384), (9, 131072 // 9), (2048, 64), (3000, 64)]
)
def test_rows_are_handled_in_blocks(number, step, monkeypatch):
    seen = []
    monkeypatch.setattr(
        Rule, "_block", lambda self, X: seen.append(len(X)) or (np.ones(len(X)), np.ones(len(X)))
    )
    many = Rule(
        np.eye(1), np.zeros((number, 1)), np.ones((number, 1)), np.ones(number), np.arange(number)
    )
    many(np.zeros((step + 1, 1)))
    assert seen == [step, 1]


def test_a_rule_is_learned_from_means_and_spreads():
    rng = np.random.default_rng(0)
    labels = np.repeat([-1, 0, 1], [10, 20, 30])
    X = rng.normal(size=(60, 3)) + np.array([0, 2, -2])[labels + 1][:, None] * [1, 0, 0]
    X -= X.mean(axis=0)
    rule = learn(X, labels)
    scorer = GroupingScorer(X)
    np.testing.assert_allclose(rule.basis, scorer(labels).basis)
    seen = X @ rule.basis
    assert rule.numbers.tolist() == [-1, 0, 1] and rule.shares.tolist() == [10 / 60, 20 / 60, 0.5]
    for row, k in enumerate((-1, 0, 1)):
        np.testing.assert_allclose(rule.centres[row], seen[labels == k].mean(axis=0))
        np.testing.assert_allclose(rule.spreads[row], seen[labels == k].std(axis=0))
    assert rule.agreement == (np.array(by_hand(rule, X)[0]) == labels).mean() < 1.0


def test_spreads_have_a_floor():
    X = np.array([-5.0] * 5 + [5.0, 5.1, 5.2, 5.3])[:, None]
    X -= X.mean()
    rule = learn(X, np.repeat([0, 1], [5, 4]))
    seen = X @ rule.basis
    floor = seen.std()
    assert rule.spreads[0, 0] == pytest.approx(0.001 * floor, rel=1e-6) or (
        rule.spreads[0, 0] == pytest.approx(rules.SMALLEST_SPREAD * floor, rel=1e-6)
    )
    assert rule.spreads[1, 0] == pytest.approx(seen[5:, 0].std())


def test_labels_that_nothing_tells_are_learned_in_the_first_direction():
    X = np.random.default_rng(0).normal(size=(20, 3))
    scorer = GroupingScorer(X)
    everything = np.zeros(20, dtype=int)
    assert scorer(everything).basis.shape[1] == 0
    rule = learn(X, everything, scorer)
    np.testing.assert_array_equal(rule.basis, scorer.directions[:, :1])
    assert rule.agreement == 1.0


def test_neighbours_are_as_wide_as_they_are_apart():
    X = np.array([[0.0, 9.0], [0.5, 7.0], [2.0, 0.0], [10.0, 0.0], [11.0, 1.0]])
    labels = np.array([0, 0, 1, 1, -1])
    rule = learn_neighbours(X, labels, np.eye(2)[:, :1])
    # The nearest other one: .5, .5, 1.5, 1, 1 away.
    assert rule.spreads.tolist() == [[1.0]] * 5 and rule.centres.tolist() == X[:, :1].tolist()
    assert rule.numbers.tolist() == labels.tolist() and rule.agreement == 1.0
    assert len(set(rule.shares)) == 1
    new = np.array([[1.2, 0.0], [1.3, 0.0], [20.0, 0.0]])
    assert rule(new)[0].tolist() == [0, 1, -1] or rule(new)[0].tolist() == by_hand(rule, new)[0]


def test_neighbours_in_one_place():
    rule = learn_neighbours(np.full((4, 1), 3.0), np.array([0, 0, 0, 1]), np.eye(1))
    assert rule.spreads[0, 0] == pytest.approx(3e-9) and rule.agreement == 0.75
    rule = learn_neighbours(np.full((4, 1), 0.5), np.zeros(4, dtype=int), np.eye(1))
    assert rule.spreads[0, 0] == pytest.approx(1e-9)  # of 1, at least
    rule = learn_neighbours(np.array([[2.0]]), np.array([0]), np.eye(1))
    assert rule.spreads[0, 0] == pytest.approx(2e-9) and rule.agreement == 1.0


def test_of_many_rows_a_sample_is_known():
    rng = np.random.default_rng(5)
    X, labels = rng.normal(size=(1501, 2)), rng.integers(0, 3, 1501)
    for n, rows in (
        (1500, np.arange(1500)),
        (1501, np.sort(np.random.default_rng(4).choice(1501, 1500, replace=False))),
    ):
        rule = learn_neighbours(X[:n], labels[:n], np.eye(2), seed=4)
        np.testing.assert_array_equal(rule.centres, X[rows])
        np.testing.assert_array_equal(rule.numbers, labels[rows])
    default = learn_neighbours(X, labels, np.eye(2))
    rows = np.sort(np.random.default_rng(0).choice(1501, 1500, replace=False))
    np.testing.assert_array_equal(default.centres, X[rows])
    assert default.agreement == (default(X)[0] == labels).mean() < 1


def test_rows_far_from_all_groups_go_to_the_nearest():
    """Densities of nothing are compared by their logarithms."""
    rule = Rule(
        np.eye(1), np.array([[0.0], [10.0]]), np.ones((2, 1)), np.array([0.5, 0.5]), np.arange(2)
    )
    labels, sure = rule(np.array([[1e3], [-1e3], [1e5]]))
    assert labels.tolist() == [1, 0, 1] and sure.tolist() == [1.0, 1.0, 1.0]
