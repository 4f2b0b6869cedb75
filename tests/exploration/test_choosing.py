"""Which groupings are reported together."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.datasets import planted_views, structureless
from subscape.exploration.information import joint_labels
from subscape.exploration.select import choose_views
from subscape.exploration.separation import GroupingScorer, project_out, telling


def table(numbers, seed, n_rows=600, n_columns=12):
    X, truths = planted_views(n_rows, n_columns, n_clusters=numbers, random_state=seed)
    return (X - X.mean(0)) / X.std(0), [truth.labels() for truth in truths]


def places(chosen):
    return sorted(one.place for one in chosen)


@pytest.mark.parametrize("seed", range(20, 26))
def test_products_and_mixtures_give_way_to_the_groupings_they_are_made_of(seed):
    X, (first, second, third) = table((4, 3, 2), seed)
    rng = np.random.default_rng(seed)
    made = [
        joint_labels(first, second),
        joint_labels(second, third),
        joint_labels(joint_labels(first, second), third),
        joint_labels(first % 2, third),
        np.where(second == 0, 3 + third, second),
        np.where(rng.random(len(X)) < 0.1, rng.integers(0, 4, len(X)), first),
    ]
    found = choose_views(GroupingScorer(X), [*made, first, second, third])
    assert places(found) == [6, 7, 8]
    assert (np.diff([one.score for one in found]) <= 0).all()


@pytest.mark.parametrize("seed", range(30, 34))
def test_merged_and_split_clusters_give_way_to_the_clusters(seed):
    X, (first, second) = table((4, 3), seed)
    split = np.where(first == 0, np.where(X[:, 0] > np.median(X[:, 0]), 4, 0), first)
    merged = np.minimum(first, 2)
    made = [merged, split, np.minimum(second, 1)]
    assert places(choose_views(GroupingScorer(X), [*made, first, second])) == [3, 4]


@pytest.mark.parametrize("seed", range(40, 44))
def test_a_product_that_also_tells_less_clear_details_gives_way_to_the_two_clear_groupings(seed):
    rng = np.random.default_rng(seed)
    first, second, detail = (rng.integers(0, 3, 900) for _ in range(3))
    X = rng.normal(size=(900, 6))
    corners = np.array([[1.0, 0.0], [-0.5, 0.87], [-0.5, -0.87]])
    X[:, :2] += 30 * corners[first]
    X[:, 2:4] += 30 * corners[second]
    X[:, 4:] += 8 * corners[detail]
    X = (X - X.mean(0)) / X.std(0)
    product = joint_labels(joint_labels(first, second), detail)
    assert places(choose_views(GroupingScorer(X), [product, first, second])) == [1, 2]
    # It tells more than both do together, so that it is what would be chosen of it and one of them.
    assert places(choose_views(GroupingScorer(X), [product, first])) == [0]


def test_what_is_known_is_not_reported_and_hides_nothing_else():
    X, (first, second) = table((4, 3), 3)
    assert places(
        choose_views(GroupingScorer(X), [first, second, joint_labels(first, second)], [first])
    ) == [1]
    assert choose_views(GroupingScorer(X), [first], [first]) == []
    assert choose_views(GroupingScorer(X), []) == []


def test_nothing_is_chosen_where_nothing_stands_out():
    X = structureless("gaussian", 400, 6, random_state=0)
    halves = [(X[:, j] > np.median(X[:, j])).astype(np.int64) for j in range(6)]
    assert choose_views(GroupingScorer(X), halves) == []


def test_many_rows_are_thinned_out_without_another_answer():
    X, (first, second) = table((3, 2), 5, n_rows=9000)
    assert places(
        choose_views(GroupingScorer(X), [joint_labels(first, second), first, second])
    ) == [1, 2]


def test_groups_in_a_plane_are_told_by_two_directions():
    X, (first, _) = table((5, 2), 7)
    found = GroupingScorer(X)(first)
    assert found.basis.shape[1] == len(found.ratios) == 2
    assert telling(np.array([0.0, 0.0]), 100, 5, 3) == 1
    assert telling(np.array([9.0, 8.0]), 100, 5, 3) == 2


def test_means_are_equal_in_what_is_left():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 50)
    mixing = rng.normal(size=(6, 6))
    X = (rng.normal(size=(150, 6)) + 5 * np.eye(6)[labels]) @ mixing + 7
    rest = project_out(X, GroupingScorer(X)(labels).basis)
    means = np.array([rest[labels == k].mean(0) for k in range(3)])
    assert np.abs(means).max() < 0.05 * rest.std()
    # An orthogonal projection leaves much of it, where the features go together.
    basis = GroupingScorer(X)(labels).basis
    projected = (X - X.mean(0)) @ (np.eye(6) - basis @ basis.T)
    assert np.abs([projected[labels == k].mean(0) for k in range(3)]).max() > 0.2 * rest.std()


@pytest.mark.parametrize("seed", range(3))
def test_groupings_that_chance_makes_go_together_a_little_are_two_and_not_their_product(seed):
    # 1,000 rows in cells of 268 and 232: chance goes so far once in fifty times (chi2 of 5.2).
    cells = np.repeat([0, 1, 2, 3], [268, 232, 232, 268])
    a, b = cells // 2, cells % 2
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 8))
    X[:, 0] += 6.5 * a
    X[:, 1] += 6.5 * b
    chosen = choose_views(GroupingScorer(X - X.mean(axis=0)), [a, b, cells])
    assert sorted(one.place for one in chosen) == [0, 1]
