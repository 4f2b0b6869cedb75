"""Where clusters lie, in numbers and words, and which of them new rows belong to."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import any_clustering, seeds, shapes

from subscape.core import (
    OrientedSubspaces,
    ShapeMismatchError,
    SubscapeError,
    SubspaceClustering,
    WeightedSubspaces,
    assign,
    describe,
)
from subscape.core.prototypes import interval_text
from subscape.datasets import planted_axes, planted_oriented
from subscape.tables import Table


def weighted_mean(values, weights):
    return (weights * values).sum() / weights.sum()


@given(seeds, shapes)
def test_figures_by_definition(seed, shape):
    rng = np.random.default_rng(seed)
    c = any_clustering(rng, shape)
    X = rng.normal(size=shape) * 10 + 1000
    found = describe(X, c)
    members = c.memberships.toarray().astype(float)
    np.testing.assert_allclose(found.background_centre, X.mean(axis=0))
    np.testing.assert_allclose(found.background_spread, X.std(axis=0), atol=1e-9)
    assert found.noise_share == pytest.approx((members.sum(axis=0) == 0).mean())
    np.testing.assert_allclose(found.relevance, c.subspaces.relevance)
    for k, weights in enumerate(members):
        for j, column in enumerate(X.T):
            centre = weighted_mean(column, weights)
            spread = math.sqrt(weighted_mean((column - centre) ** 2, weights))
            assert found.centre[k, j] == pytest.approx(centre, abs=1e-6)
            assert found.spread[k, j] == pytest.approx(spread, abs=1e-6)
            assert column.min() - 1e-9 <= found.low[k, j] <= found.high[k, j] <= column.max() + 1e-9
        difference = X - found.centre[k]
        within = np.einsum("ri,ij,rj->r", difference, c.subspaces.operator(k), difference)
        expected = weighted_mean(within, weights) / c.subspaces.mass[k]
        assert found.residual[k] == pytest.approx(expected, abs=1e-6)


@given(seeds, shapes)
def test_effect_is_cohens_d_against_all_other_rows(seed, shape):
    rng = np.random.default_rng(seed)
    labels = np.arange(shape[0]) % 2
    X = rng.normal(size=shape) + labels[:, None]
    found = describe(X, labels)
    for k in (0, 1):
        inside, outside = X[labels == k], X[labels != k]
        n, m = len(inside), len(outside)
        pooled = np.sqrt((n * inside.var(axis=0) + m * outside.var(axis=0)) / (n + m))
        difference = inside.mean(axis=0) - outside.mean(axis=0)
        known = pooled > 1e-9
        expected = difference[known] / pooled[known]
        np.testing.assert_allclose(found.effect[k][known], expected, atol=1e-6)


def test_quantiles_of_hard_clusters_are_numpys():
    X = np.random.default_rng(0).normal(size=(40, 3))
    labels = np.repeat([0, 1], 20)
    found = describe(X, labels)
    for k in (0, 1):
        np.testing.assert_allclose(
            [found.low[k], found.high[k]], np.quantile(X[labels == k], (0.05, 0.95), axis=0)
        )


def test_missing_values_do_not_change_how_quantiles_are_taken():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[3, 0] = np.nan
    found = describe(X, np.zeros(40, int))
    expected = np.nanquantile(X, (0.05, 0.95), axis=0)
    np.testing.assert_allclose([found.low[0], found.high[0]], expected)


def test_soft_quantiles_follow_the_weight():
    """Row 1 holds 90 % of the weight, so both ends of the interval lie there."""
    members = [[0.04, 0.9, 0.04]]
    c = SubspaceClustering(members, WeightedSubspaces([[1.0]]))
    found = describe([[0.0], [5.0], [9.0]], c)
    assert found.low[0, 0] == found.high[0, 0] == 5.0
    even = SubspaceClustering([[0.5, 0.25, 0.25]], WeightedSubspaces([[1.0]]))
    found = describe([[0.0], [5.0], [9.0]], even)
    assert (found.low[0, 0], found.high[0, 0]) == (0.0, 9.0)
    assert found.centre[0, 0] == pytest.approx(0.25 * 5 + 0.25 * 9)


class TestMissing:
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 4.0], [9.0, 6.0]])
    labels = (0, 0, 1, 1)

    def test_are_left_out_of_every_figure(self):
        found = describe(self.X, self.labels)
        assert found.centre[:, 0].tolist() == [2.0, 9.0]
        assert found.spread[:, 0].tolist() == [1.0, 0.0]
        assert found.background_centre == pytest.approx([13 / 3, 5.0])

    def test_a_cluster_without_values_has_no_figures(self):
        found = describe(self.X, self.labels)
        for figures in (found.centre, found.spread, found.low, found.high):
            assert np.isnan(figures[0, 1]) and not np.isnan(figures[1, 1])
        assert found.effect[0, 1] == 0
        assert found.sentence(0) == "cluster 1: 2 rows; x0 in [1.1, 2.9], x1 unknown"

    def test_a_row_without_values_goes_to_the_larger_cluster(self):
        found = describe([[0.0], [0.1], [0.2], [5.0]], [0, 0, 0, 1])
        assert assign([[np.nan], [5.1]], found).tolist() == [0, 1]

    def test_what_a_cluster_does_not_know_does_not_count(self):
        found = describe(self.X, self.labels)
        assert assign([[2.0, 5.0], [9.0, 5.0]], found).tolist() == [0, 1]

    def test_oriented(self):
        rng = np.random.default_rng(0)
        labels = np.repeat([0, 1], 30)
        X = rng.normal(size=(60, 3)) * [0.1, 0.1, 5] + labels[:, None] * [4, 4, 0]
        bases = [np.eye(3)[:, :2]] * 2
        X[0, 1] = X[31, 2] = np.nan
        found = describe(X, SubspaceClustering.from_labels(labels, bases=bases))
        assert (assign(X, found) == labels).all()

    def test_a_column_without_values(self):
        X = np.column_stack([[0.0, 0.1, 5.0, 5.1], np.full(4, np.nan)])
        found = describe(X, self.labels)
        assert np.isnan(found.centre[:, 1]).all()
        assert assign(X, found).tolist() == [0, 0, 1, 1]


class TestSentences:
    X = np.array([[31.2, 2.1], [43.9, 2.5], [35.0, 9.0], [36.0, 7.0]])

    def test_axis(self):
        c = SubspaceClustering.from_labels(
            [0, 0, 1, 1], masks=[[1, 1], [1, 0]], feature_names=["age", "income"]
        )
        assert describe(self.X, c).sentences() == [
            "cluster 1: 2 rows; income in [2.12, 2.48], age in [32, 43]",
            "cluster 2: 2 rows; age in [35.05, 35.95]",
        ]

    def test_tight_features_come_first_and_the_rest_is_counted(self):
        X = np.random.default_rng(0).normal(size=(50, 9)) * np.arange(9, 0, -1)
        X[:5] = X.mean(axis=0) + np.arange(-2, 3)[:, None] * np.arange(1, 10) * 1e-3
        c = SubspaceClustering.from_clusters([(range(5), range(9))], (50, 9))
        text = describe(X, c).sentence(0, most=2)
        assert text.startswith("cluster 1: 5 rows; x0 in [")
        assert text.endswith("and 7 more features") and text.count(" in [") == 2

    def test_weighted(self):
        c = SubspaceClustering.from_labels(
            [0, 0, 1, 1], weights=[[0.9, 0.1], [0.5, 0.5]], feature_names=["age", "income"]
        )
        assert describe(self.X, c).sentences() == [
            "cluster 1: 2 rows; age in [32, 43]",
            "cluster 2: 2 rows; all features alike",
        ]

    def test_equal_weights_are_alike_whatever_rounding_says(self):
        c = SubspaceClustering.from_labels([0, 0], weights=np.full((1, 7), 1 / 7))
        assert describe(np.eye(7)[:2], c).sentence(0) == "cluster 1: 2 rows; all features alike"

    def test_oriented(self):
        diagonal = np.array([[1.0], [-1.0]]) / np.sqrt(2)
        spaces = OrientedSubspaces([diagonal, np.eye(2)])
        c = SubspaceClustering.from_labels([0, 0, 1, 1], bases=spaces, feature_names=["a", "b"])
        assert describe(self.X, c).sentences() == [
            "cluster 1: 2 rows; alike in 0.71 a - 0.71 b",
            "cluster 2: 2 rows; alike in 1.00 a and 1.00 b",
        ]

    def test_oriented_by_what_is_left_out(self):
        spaces = OrientedSubspaces([np.array([[0.6], [0.8]]), np.zeros((2, 0))], complement=True)
        c = SubspaceClustering.from_labels([0, 0, 1, 1], bases=spaces)
        assert describe(self.X, c).sentences() == [
            "cluster 1: 2 rows; spread along 0.80 x1 + 0.60 x0",
            "cluster 2: 2 rows; all in one point",
        ]

    def test_directions_that_mix_many_features(self):
        even = np.full((100, 1), 0.1)
        c = SubspaceClustering.from_labels([0, 0], bases=[even])
        text = describe(np.eye(100)[:2], c).sentence(0)
        assert text == "cluster 1: 2 rows; alike in 0.10 x0 + …"
        many = SubspaceClustering.from_labels([0, 0], bases=[np.eye(100)[:, :5]])
        assert describe(np.eye(100)[:2], many).sentence(0).endswith("and 2 more directions")

    def test_no_direction_at_all(self):
        c = SubspaceClustering.from_labels([0, 0], bases=[np.zeros((2, 0))])
        assert describe(self.X[:2], c).sentence(0) == "cluster 1: 2 rows; alike in no direction"

    def test_soft_sizes(self):
        c = SubspaceClustering([[0.5, 0.75, 0, 0]], WeightedSubspaces([[1.0, 0.0]]))
        assert describe(self.X, c).sentence(0).startswith("cluster 1: 1.2 rows; x0 in ")

    def test_one_row(self):
        assert describe([[2.5]], [0]).sentence(0) == "cluster 1: 1 row; x0 in [2.5, 2.5]"

    def test_nothing_but_noise(self):
        found = describe(self.X, [-1] * 4)
        assert found.n_clusters == 0 and found.noise_share == 1
        assert repr(found) == "no clusters: every row is noise"
        assert "no clusters: every row is noise" in found._repr_html_()
        assert found.to_records() == []

    def test_html_is_escaped(self):
        c = SubspaceClustering.from_labels([0] * 4, feature_names=["<script>", "a&b"])
        html = describe(self.X, c)._repr_html_()
        assert "<script>" not in html and "&lt;script&gt; in [" in html and "a&amp;b" in html
        assert "<li>cluster 1: 4 rows;" in html


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (31.2, 43.9, "[31, 44]"),
        (2.1, 2.4, "[2.1, 2.4]"),
        (0.0, 0.0, "[0, 0]"),
        (-1e-9, 12.0, "[0, 12]"),
        (1000.0, 2270.0, "[1000, 2270]"),
        (5.0, 5.0, "[5, 5]"),
        (1e9, 3e9, "[1e+09, 3e+09]"),
        (1.23456789e-14, 5e-14, "[1.23e-14, 5e-14]"),
        (-0.31, -0.27, "[-0.31, -0.27]"),
    ],
)
def test_intervals_have_the_digits_that_tell_their_ends_apart(low, high, text):
    assert interval_text(low, high) == text


def test_records_make_a_data_frame():
    found = describe([[1.0, 5.0], [2.0, 6.0]], [0, 0])
    frame = pd.DataFrame(found.to_records())
    assert frame["feature"].tolist() == ["x0", "x1"] and frame["rows"].tolist() == [2.0, 2.0]
    assert frame["centre"].tolist() == [1.5, 5.5]


class TestAssign:
    def agreement(self, X, truth, **options):
        return float((assign(X, describe(X, truth), **options) == truth.labels()).mean())

    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize("noise", [0.0, 0.15])
    def test_planted_axes(self, seed, noise):
        X, truth = planted_axes(400, 15, n_clusters=4, dims=6, noise=noise, random_state=seed)
        assert self.agreement(X, truth) == 1
        assert self.agreement(X, truth.as_weighted()) == 1

    @pytest.mark.parametrize("seed", [0, 1])
    def test_planted_flats(self, seed):
        X, truth = planted_oriented(8, ((1, 150), (2, 150), (5, 200)), random_state=seed)
        assert self.agreement(X, truth) == 1

    @pytest.mark.parametrize("seed", [0, 1])
    def test_lines_and_planes_that_cross(self, seed):
        X, truth = planted_oriented(3, ((1, 200), (1, 200), (2, 300)), random_state=seed)
        assert self.agreement(X, truth) > 0.98

    def test_both_ways_to_store_a_flat(self):
        X, truth = planted_oriented(5, ((1, 100), (2, 100)), noise=0, random_state=0)
        spanned = SubspaceClustering(truth.memberships, truth.subspaces.spanning())
        assert self.agreement(X, truth) == self.agreement(X, spanned) == 1

    def test_rows_that_were_not_there(self):
        X, truth = planted_axes(600, 10, n_clusters=3, dims=5, noise=0.1, random_state=3)
        known, new = np.arange(0, 600, 2), np.arange(1, 600, 2)
        found = describe(X[known], truth.restrict(rows=known))
        assert (assign(X[new], found) == truth.labels()[new]).all()

    def test_noise_only_if_there_was_some_or_asked_for(self):
        X, truth = planted_axes(300, 10, n_clusters=3, dims=5, random_state=0)
        found, far = describe(X, truth), np.full((1, 10), 30.0)
        assert assign(far, found)[0] >= 0
        assert assign(far, found, noise=True)[0] == -1
        X, truth = planted_axes(300, 10, n_clusters=3, dims=5, noise=0.2, random_state=0)
        assert assign(far, describe(X, truth))[0] == -1
        assert assign(X, describe(X, truth), noise=False).min() >= 0

    def test_a_cluster_of_identical_rows_does_not_swallow_the_rest(self):
        X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.1], [1.1, 0.9], [0.9, 1.0]])
        labels = [0, 0, 1, 1, 1]
        assert assign(X, describe(X, labels)).tolist() == labels

    def test_constant_columns_say_nothing(self):
        X = np.array([[7.0, 0.0], [7.0, 0.1], [7.0, 5.0], [7.0, 5.1]])
        c = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 1], [0, 1]])
        found = describe(X, c)
        assert assign(X, found).tolist() == [0, 0, 1, 1]
        assert assign([[8.0, 0.05], [8.0, 5.05]], found).tolist() == [0, 1]

    def test_nothing_but_constant_columns(self):
        X = np.ones((4, 2))
        oriented = SubspaceClustering.from_labels([0, 0, 0, 1], bases=[np.eye(2)] * 2)
        for c in ([0, 0, 0, 1], oriented):
            assert assign(X, describe(X, c)).tolist() == [0, 0, 0, 0]

    def test_no_clusters(self):
        assert assign([[1.0], [2.0]], describe([[1.0], [2.0]], [-1, -1])).tolist() == [-1, -1]


class TestNames:
    frame = pd.DataFrame({"age": [1.0, 2.0, 9.0], "dose": [5.0, 5.1, 0.0]})

    def test_of_a_data_frame(self):
        found = describe(self.frame, [0, 0, 1])
        assert found.feature_names == ("age", "dose")
        assert found.sentence(1) == "cluster 2: 1 row; age in [9, 9], dose in [0, 0]"

    def test_those_of_the_clustering_must_be_the_same(self):
        c = SubspaceClustering.from_labels([0, 0, 1], feature_names=["a", "b"])
        with pytest.raises(ValueError, match="columns of the table are not those"):
            describe(self.frame, c)
        assert describe(self.frame.to_numpy(), c).feature_names == ("a", "b")

    def test_of_a_table(self):
        table = Table.from_array(self.frame.to_numpy(), feature_names=["age", "dose"])
        found = describe(table, [0, 0, 1])
        assert found.feature_names == ("age", "dose")
        assert assign(table, found).tolist() == [0, 0, 1]

    def test_other_columns_or_another_order_are_refused(self):
        found = describe(self.frame, [0, 0, 1])
        with pytest.raises(ShapeMismatchError, match="the same in another order"):
            assign(self.frame[["dose", "age"]], found)
        with pytest.raises(ShapeMismatchError, match="not in both: 'age', 'weight'"):
            assign(self.frame.rename(columns={"age": "weight"}), found)
        assert assign(self.frame.to_numpy(), found).tolist() == [0, 0, 1]


class TestBadInput:
    def test_another_table(self):
        c = SubspaceClustering.from_labels([0, 1], n_features=2)
        with pytest.raises(ShapeMismatchError, match="3 rows x 2 features, the clustering 2 x 2"):
            describe(np.zeros((3, 2)), c)
        with pytest.raises(ShapeMismatchError, match="2 rows x 3 features, the clustering 2 x 2"):
            describe(np.zeros((2, 3)), c)
        with pytest.raises(ShapeMismatchError, match="3 rows x 2 features, the clustering 2 x 2"):
            describe(np.zeros((3, 2)), [0, 1])

    def test_a_finder_of_another_table_is_no_label_vector(self):
        class Fitted:
            clustering_ = SubspaceClustering.from_labels([0, 1], n_features=3)

        assert describe(np.eye(2, 3), Fitted()).n_features == 3
        with pytest.raises(ShapeMismatchError, match="2 rows x 2 features, the clustering 2 x 3"):
            describe(np.eye(2), Fitted())

    def test_assign_other_features(self):
        found = describe(np.eye(2), [0, 1])
        with pytest.raises(ShapeMismatchError, match="rows have 3 features, the prototypes 2"):
            assign(np.zeros((1, 3)), found)

    def test_infinity(self):
        with pytest.raises(SubscapeError, match="contains infinity"):
            describe([[np.inf], [1.0]], [0, 1])
        with pytest.raises(SubscapeError, match="contains infinity"):
            assign([[np.inf]], describe([[0.0], [1.0]], [0, 1]))


@given(seeds, st.sampled_from([1e4, 1e6]))
def test_large_offsets_cost_no_digits(seed, offset):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    labels = np.arange(12) % 3
    plain, moved = describe(X, labels), describe(X + offset, labels)
    np.testing.assert_allclose(moved.spread, plain.spread, rtol=1e-6)
    np.testing.assert_allclose(moved.effect, plain.effect, rtol=1e-6, atol=1e-6)
    assert (assign(X, plain) == assign(X + offset, moved)).all()


def test_columns_in_another_order_are_refused():
    X = np.arange(12.0).reshape(4, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = SubspaceClustering.from_labels(
        [0, 0, 1, 1], n_features=3, feature_names=["a", "b", "c"]
    )
    describe(frame, found)
    with pytest.raises(ValueError, match="another order"):
        describe(frame[["c", "a", "b"]], found)


@pytest.mark.parametrize(("share", "is_noise"), [(0.0, False), (0.5, False), (1.0, False)])
def test_a_row_in_the_middle_of_a_cluster_is_no_noise_however_much_there_is(share, is_noise):
    """Ten digits more likely in the cluster than in the table: odds of 999 to 1 don't matter."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(50, 3)) * 1e-6, rng.normal(size=(50, 3)) * 10 + 100]
    found = replace(describe(X, np.repeat([0, -1], 50)), noise_share=share)
    assert (assign(X[:1], found, noise=True) == -1).tolist() == [is_noise]
    assert assign(np.full((1, 3), 500.0), found, noise=True).tolist() == [-1]
    assert assign(np.full((1, 3), 500.0), found, noise=False).tolist() == [0]
