"""The measures of other evaluators against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import any_clustering, random_axis, seeds, shapes

from subscape.core import (
    AxisSubspaces,
    EmptyClusteringError,
    ShapeMismatchError,
    SubscapeError,
    SubspaceClustering,
)
from subscape.measures import (
    e4sc_score,
    intersection_table,
    object_accuracy_score,
    object_coverage_score,
    object_entropy_score,
    object_f1_score,
    overlap_of,
)


def row_sets(c):
    return [set(c.members.rows(k).tolist()) for k in range(c.n_clusters)]


def f1_by_definition(found, truth):
    truth = sorted(truth, key=sorted)
    claimed = [set() for _ in truth]
    for cluster in found:
        strength = [len(cluster & true) ** 2 / len(true) for true in truth]
        if max(strength) > 0:
            claimed[strength.index(max(strength))] |= cluster
    return np.mean(
        [2 * len(c & t) / (len(c) + len(t)) for c, t in zip(claimed, truth, strict=True)]
    )


@given(seeds, shapes)
def test_object_f1(seed, shape):
    rng = np.random.default_rng(seed)
    found, truth = any_clustering(rng, shape), any_clustering(rng, shape)
    expected = f1_by_definition(row_sets(found), row_sets(truth))
    assert object_f1_score(found, truth) == pytest.approx(expected)


class TestObjectF1:
    def test_clusters_that_speak_for_the_same_class_are_united(self):
        assert object_f1_score([0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]) == 1
        assert object_f1_score([0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]) == pytest.approx(5 / 9)

    def test_a_class_that_nobody_speaks_for_scores_zero(self):
        assert object_f1_score([0, 0, -1, -1], [0, 0, 1, 1]) == 0.5

    def test_a_cluster_of_noise_speaks_for_nobody(self):
        assert object_f1_score([0, 0, 1, 1], [0, 0, -1, -1]) == 1

    def test_a_tie_goes_to_the_class_whose_rows_come_first(self):
        found = [0, 1, 0, -1]
        for truth in ([0, 0, 1, 1], [1, 1, 0, 0]):
            assert object_f1_score(found, truth) == pytest.approx(0.8 / 2)
        for truth in ([0, 1, 0, 1], [1, 0, 1, 0]):
            assert object_f1_score([0, -1, -1, 0], truth) == pytest.approx(0.5 / 2)


@given(seeds, shapes)
def test_object_entropy(seed, shape):
    rng = np.random.default_rng(seed)
    found, truth = any_clustering(rng, shape), random_axis(rng, shape)
    classes = truth.labels()
    n_classes = len(np.unique(classes))
    total, rows = 0.0, 0
    for cluster in row_sets(found):
        shares = np.unique(classes[list(cluster)], return_counts=True)[1] / len(cluster)
        total -= len(cluster) * sum(share * math.log(share) for share in shares)
        rows += len(cluster)
    expected = 1 - total / rows / math.log(n_classes) if n_classes > 1 else 1.0
    assert object_entropy_score(found, truth) == pytest.approx(expected)


def test_rows_in_several_true_clusters_are_a_class_of_their_own():
    truth = SubspaceClustering(
        [[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]], AxisSubspaces(np.ones((2, 1), bool))
    )
    assert object_entropy_score([0, 0, 1, 1, 2, 2], truth) == 1
    assert object_entropy_score([0, 0, 0, 0, 1, 1], truth) == pytest.approx(
        1 - 4 / 6 * math.log(2) / math.log(3)
    )
    assert object_entropy_score([0, 0, 0, 0, 1, 1], truth.select([1, 0])) == pytest.approx(
        object_entropy_score([0, 0, 0, 0, 1, 1], truth)
    )


def test_entropy_counts_clustered_noise():
    assert object_entropy_score([0, 0, 0, 0], [0, 0, 0, 0]) == 1
    assert object_entropy_score([0, 0, 0, 0], [0, 0, -1, -1]) == 0


class TestAccuracy:
    labels = np.repeat([0, 1, 2], 12)

    def test_clusters_that_are_the_classes_predict_them(self):
        assert object_accuracy_score(self.labels, self.labels) == 1

    def test_finer_clusters_predict_them_too(self):
        assert object_accuracy_score(np.repeat(np.arange(6), 6), self.labels) == 1

    def test_one_cluster_predicts_the_majority(self):
        truth = np.repeat([0, 1], [30, 10])
        assert object_accuracy_score(np.zeros(40, int), truth) == 0.75

    def test_overlapping_clusters_combine(self):
        """Four classes, told apart by whether a row is in each of two clusters."""
        truth = np.repeat([0, 1, 2, 3], 10)
        members = np.array([truth % 2 == 1, truth >= 2])
        found = SubspaceClustering(members, AxisSubspaces(np.ones((2, 1), bool)))
        assert object_accuracy_score(found, truth) == 1
        assert object_accuracy_score(found.select([0]), truth) == 0.5

    def test_few_rows(self):
        assert object_accuracy_score([0], [0]) == 1
        assert 0 <= object_accuracy_score([0, 0, 1], [0, 1, 1]) <= 1

    def test_folds(self):
        with pytest.raises(SubscapeError, match="n_folds must be at least 2, got 1"):
            object_accuracy_score(self.labels, self.labels, n_folds=1)
        assert object_accuracy_score(self.labels, self.labels, n_folds=3) == 1


class TestCoverage:
    def test_share_of_rows(self):
        assert object_coverage_score([0, 0, 1, -1]) == 0.75
        assert object_coverage_score([0, 0, 1, -1], [0, 0, 0, 0]) == 0.75

    def test_overlaps_count_once(self):
        both = SubspaceClustering(np.ones((2, 3), bool), AxisSubspaces(np.ones((2, 1), bool)))
        assert object_coverage_score(both) == 1

    def test_nothing_covers_nothing(self):
        assert object_coverage_score([-1, -1]) == 0

    def test_rows_must_be_the_same(self):
        with pytest.raises(ShapeMismatchError):
            object_coverage_score([0, 1], [0, 1, 1])


@given(seeds, shapes, st.sampled_from(["cells", "unit"]))
def test_e4sc_by_definition(seed, shape, mass):
    rng = np.random.default_rng(seed)
    found, truth = any_clustering(rng, shape), any_clustering(rng, shape)
    options = {"mass": mass, "overlap": "trace"}
    shared = intersection_table(found, truth, **options)
    table = overlap_of(found, truth, **options)
    best_found, best_true = np.zeros(found.n_clusters), np.zeros(truth.n_clusters)
    for i, size in enumerate(table.sizes_a):
        for j, other in enumerate(table.sizes_b):
            precision, recall = shared[i, j] / size, shared[i, j] / other
            f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0
            best_found[i], best_true[j] = max(best_found[i], f1), max(best_true[j], f1)
    precision, recall = best_found.mean(), best_true.mean()
    expected = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    assert e4sc_score(found, truth, **options) == pytest.approx(expected, abs=1e-9)


class TestE4SC:
    truth = SubspaceClustering.from_clusters([([0, 1, 2, 3], [0, 1]), ([4, 5], [2])], (6, 4))

    def test_identical(self):
        assert e4sc_score(self.truth, self.truth) == 1

    def test_wrong_subspaces_score_zero_whatever_the_rows(self):
        wrong = SubspaceClustering.from_clusters([([0, 1, 2, 3], [2, 3]), ([4, 5], [0])], (6, 4))
        assert e4sc_score(wrong, self.truth) == 0

    def test_redundant_clusters_lower_precision_only(self):
        """Found cluster {0..3} x {0} has F1 2·4/(4+8) with the first true one, the second 1."""
        found = SubspaceClustering.from_clusters(
            [([0, 1, 2, 3], [0, 1]), ([4, 5], [2]), ([0, 1, 2, 3], [0])], (6, 4)
        )
        precision = (1 + 1 + 2 / 3) / 3
        assert e4sc_score(found, self.truth) == pytest.approx(2 * precision / (precision + 1))

    def test_clusters_without_weight(self):
        assert e4sc_score(self.truth, self.truth, column_weights=[1, 1, 0, 0]) == 0.5


EVERY = (
    object_f1_score,
    object_entropy_score,
    object_accuracy_score,
    object_coverage_score,
    e4sc_score,
)


@pytest.mark.parametrize("measure", EVERY)
def test_bad_input(measure):
    with pytest.raises(EmptyClusteringError, match="first clustering is empty"):
        measure([-1, -1], [0, 1])
    with pytest.raises(ShapeMismatchError, match=r"different rows|2 entries"):
        measure([0, 1, 1], [0, 1])
