"""What the box finders share: fitting a box, judging it, merging, and the cells still free."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.arrays.bitsets import unpack
from subscape.finders.axis.boxes.free_cells import FreeCells
from subscape.finders.axis.boxes.refinement import (
    Box,
    concentrated_features,
    feature_scales,
    hold,
    quantiles,
    refine_box,
    spread_box,
)
from subscape.finders.axis.boxes.selection import beats_chance, irredundant, with_dims
from subscape.finders.axis.mineclus import drop_weak, merge_to


def a_box(low, high, features):
    return Box(np.array(features), np.array(low, float), np.array(high, float))


def planted(n=1000, p=10, size=200, features=(1, 4, 7), seed=0, deviation=0.012):
    """One normal cluster around 0.5 in an even background; its rows come first."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    X[:size, list(features)] = 0.5 + deviation * rng.normal(size=(size, len(features)))
    return X


# -- scales and rows ------------------------------------------------------------------------------


def test_scales_are_ranges_that_outliers_do_not_stretch():
    X = np.random.default_rng(0).uniform(2, 5, size=(1000, 3))
    X[:20, 1] = 1e6
    np.testing.assert_allclose(feature_scales(X), 3, rtol=0.05)


def test_scales_of_mostly_equal_and_of_missing_values():
    X = np.zeros((100, 2))
    X[0, 0] = 4.0
    X[:, 1] = np.arange(100)
    X[::2, 1] = np.nan
    np.testing.assert_allclose(feature_scales(X), [4.0, 98.0])


@given(st.integers(1, 30), st.floats(0, 0.5), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_quantiles_leave_missing_values_out(n, level, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 3))
    values[rng.random((n, 3)) < 0.3] = np.nan
    values[0, :2] = 1.0
    values[:, 2] = np.nan
    low, high = quantiles(values, level)
    expected = np.nanquantile(values[:, :2], [level, 1 - level], axis=0)
    np.testing.assert_allclose([low[:2], high[:2]], expected)
    assert np.isnan(low[2]) and np.isnan(high[2])


def test_rows_of_a_box():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [1.0, np.nan], [1.0, 6.1]])
    assert hold(X, a_box([0, 5], [1, 6], [0, 1])).tolist() == [True, True, False, False, False]
    assert hold(X, a_box([], [], np.zeros(0, int))).all()


# -- fitting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [0.01, 0.02, 0.05, 0.2])
def test_the_width_of_the_window_does_not_matter(half):
    X = planted()
    start = a_box([0.5 - half] * 3, [0.5 + half] * 3, [1, 4, 7])
    box = refine_box(X, np.ones(1000, bool), start, feature_scales(X), 10)
    assert box.features.tolist() == [1, 4, 7]
    reach = 4 * 0.012
    ideal = hold(X, a_box([0.5 - reach] * 3, [0.5 + reach] * 3, [1, 4, 7]))
    assert (hold(X, box) ^ ideal).sum() <= 1


def test_features_are_found_and_chance_features_dropped():
    X = planted(features=(1, 4, 7, 8))
    # Feature 8 is missing, and feature 2 only cuts: a tenth of the cluster is inside.
    start = a_box([0.45, 0.2, 0.45, 0.45], [0.55, 0.3, 0.55, 0.55], [1, 2, 4, 7])
    box = refine_box(X, np.ones(1000, bool), start, feature_scales(X), 5)
    assert box.features.tolist() == [1, 4, 7, 8]
    assert hold(X, box)[:200].sum() >= 197 and hold(X, box)[200:].sum() == 0


def test_a_nested_cluster_keeps_its_feature():
    X = planted(size=300)
    X[:150, 9] = 0.3 + 0.012 * np.random.default_rng(1).normal(size=150)
    start = a_box([0.45, 0.45, 0.45, 0.25], [0.55, 0.55, 0.55, 0.35], [1, 4, 7, 9])
    box = refine_box(X, np.ones(1000, bool), start, feature_scales(X), 10)
    assert box.features.tolist() == [1, 4, 7, 9]
    # Some 15 of the other 150 rows are inside by chance: no box can tell them apart.
    assert hold(X, box)[:150].sum() >= 147 and hold(X, box)[150:].sum() <= 20


def test_only_eligible_rows_are_fitted():
    X = planted()
    X[100:200, [1, 4, 7]] += 0.06
    start = a_box([0.48] * 3, [0.52] * 3, [1, 4, 7])
    eligible = np.ones(1000, bool)
    eligible[100:200] = False
    box = refine_box(X, eligible, start, feature_scales(X), 10)
    assert (box.high < 0.57).all()
    assert hold(X, box)[:100].sum() >= 98 and hold(X, box)[100:200].sum() <= 3


def test_a_box_spreads_over_all_its_rows():
    X = planted()
    X[100:200, [1, 4, 7]] += 0.04
    box = spread_box(X, a_box([0.46] * 3, [0.54] * 3, [1, 4, 7]), feature_scales(X))
    assert hold(X, box)[:200].all() and hold(X, box)[200:].mean() < 0.01


def test_a_box_that_falls_apart_stays_as_it_was():
    X = np.random.default_rng(0).uniform(size=(200, 4))
    start = a_box([0.1], [0.9], [2])
    assert refine_box(X, np.ones(200, bool), start, feature_scales(X), 190) is start


def test_among_many_features_a_few_rows_are_close_by_chance():
    X = np.random.default_rng(0).uniform(size=(100, 2000))
    members = np.arange(100) < 8
    nothing = np.zeros(0, dtype=np.int64)
    assert len(concentrated_features(X, members, np.ones(2000), nothing)) == 0
    close = np.argsort(np.ptp(X[:8], axis=0))[:3]
    found = concentrated_features(X, members, np.ones(2000), close)
    assert found.tolist() == sorted(close)


# -- judging --------------------------------------------------------------------------------------


def test_a_cluster_beats_chance_and_chance_does_not():
    X = planted()
    box = a_box([0.45] * 3, [0.55] * 3, [1, 4, 7])
    scales = feature_scales(X)
    assert beats_chance(X, box, int(hold(X, box).sum()), 1000, scales)
    elsewhere = a_box([0.1] * 3, [0.2] * 3, [1, 4, 7])
    assert not beats_chance(X, elsewhere, int(hold(X, elsewhere).sum()), 1000, scales)
    assert not beats_chance(X, elsewhere, 0, 1000, scales)


def test_one_of_a_few_values_is_no_discovery():
    X = np.random.default_rng(0).integers(0, 5, size=(1000, 3)).astype(float)
    box = a_box([2.0], [2.0], [1])
    assert not beats_chance(X, box, int(hold(X, box).sum()), 1000, feature_scales(X))


def test_the_overlap_of_two_clusters_is_redundant_only_with_both():
    X = np.random.default_rng(0).uniform(size=(400, 4))
    one, other = a_box([0, 0], [0.5, 0.5], [0, 1]), a_box([0, 0], [0.5, 0.5], [2, 3])
    overlap = a_box([0] * 4, [0.5] * 4, [0, 1, 2, 3])
    assert irredundant(X, [overlap, one]) == [0, 1]
    assert irredundant(X, [overlap, one, other]) == [1, 2]


def test_of_two_equal_boxes_the_later_one_goes():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    box = a_box([0.2], [0.6], [1])
    assert irredundant(X, [box, box]) == [0]
    assert irredundant(X, [box, a_box([2.0], [3.0], [0])]) == [0]  # an empty one


def test_features_are_taken_and_left_to_meet_a_number():
    X = planted(n=600, p=5, size=300, features=(0, 2))
    X[:300, 3] = np.random.default_rng(1).uniform(0.2, 0.8, size=300)
    X[300:, 1] = np.random.default_rng(2).uniform(0.45, 0.5, size=300)
    boxes = [a_box([0.45, 0.45], [0.55, 0.55], [0, 2]), a_box([0.45], [0.5], [1])]
    more = with_dims(X, boxes, 4)
    assert [box.features.tolist() for box in more] == [[0, 2, 3], [1]]
    rows = hold(X, boxes[0])
    np.testing.assert_array_equal(hold(X, more[0]), rows)
    assert more[0].low[2] == X[rows, 3].min() and more[0].high[2] == X[rows, 3].max()
    fewer = with_dims(X, boxes, 2)
    assert [len(box.features) for box in fewer] == [1, 1]
    assert set(fewer[0].features) < {0, 2} and fewer[0].low[0] == 0.45
    assert [len(box.features) for box in with_dims(X, boxes, 100)] == [5, 5]
    assert with_dims(X, [], 3) == []


# -- merging --------------------------------------------------------------------------------------


def test_weak_boxes_go_if_enough_stay():
    quality = np.array([10.0, 9.5, 3.0, 9.0, 2.5])
    assert drop_weak(quality, 2) == [0, 1, 3]
    assert drop_weak(quality, 4) == [0, 1, 2, 3, 4]
    assert drop_weak(quality, 7) == [0, 1, 2, 3, 4]


def test_the_closest_boxes_are_merged():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 4))
    X[:100, :2] = rng.uniform(0.2, 0.3, size=(100, 2))
    X[100:200, 2:] = rng.uniform(0.7, 0.8, size=(100, 2))
    halves = a_box([0.2, 0.2], [0.25, 0.3], [0, 1]), a_box([0.25, 0.2], [0.3, 0.3], [0, 1])
    other = a_box([0.7, 0.7], [0.8, 0.8], [2, 3])
    boxes, origins = merge_to(X, [halves[0], other, halves[1]], 2, np.log(4))
    assert origins == [0, 1]
    assert boxes[0].features.tolist() == [0, 1]
    np.testing.assert_allclose([boxes[0].low, boxes[0].high], [[0.2, 0.2], [0.3, 0.3]])
    # Without a common feature there is nothing to merge.
    assert len(merge_to(X, list(boxes), 1, np.log(4))[0]) == 2


# -- cells ----------------------------------------------------------------------------------------


@given(st.integers(1, 80), st.integers(1, 80), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_used_cells_are_not_free(n, p, seed):
    rng = np.random.default_rng(seed)
    cells, plain = FreeCells(n, p), np.ones((n, p), dtype=bool)
    for _ in range(3):
        rows, features = rng.random(n) < 0.5, np.flatnonzero(rng.random(p) < 0.5)
        cells.use(rows, features)
        plain[np.ix_(rows, features)] = False
        np.testing.assert_array_equal(unpack(cells.by_row, p), plain)
        np.testing.assert_array_equal(unpack(cells.by_feature, n), plain.T)
        np.testing.assert_array_equal(cells.rows(), np.flatnonzero(plain.any(axis=1)))
        np.testing.assert_array_equal(cells.per_row(), plain.sum(axis=1))
        asked = np.flatnonzero(rng.random(p) < 0.3)
        np.testing.assert_array_equal(cells.rows_free_in(asked), plain[:, asked].all(axis=1))
