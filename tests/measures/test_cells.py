"""Distances in cells against loops over the cells themselves."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import (
    any_clustering,
    random_axis,
    random_oriented,
    random_weighted,
    seeds,
    shapes,
)

from subscape.core import (
    AxisSubspaces,
    OrientedSubspaces,
    SubscapeError,
    SubspaceClustering,
    UnsupportedKindError,
)
from subscape.measures import (
    cell_pair_counts,
    cell_scores,
    clustering_error,
    four_class_rand_distance,
    intersection_table,
    label_error,
    label_rand_distance,
    label_vi,
    match_clusters,
    overlap_of,
    pair_counts,
    rand_distance,
    rnia,
    variation_of_information,
    vi_with_area,
)


def cell_labels(c):
    """Cluster of every cell of a disjoint axis-aligned clustering, (n_rows, n_features)."""
    labels = np.full(c.shape, -1)
    for k in range(c.n_clusters):
        labels[np.ix_(c.members.rows(k), np.flatnonzero(c.subspaces.masks[k]))] = k
    return labels.ravel()


def filled(a, b):
    """Labels of the cells of the union, gaps filled with clusters of their own."""
    a, b = cell_labels(a), cell_labels(b)
    union = (a >= 0) | (b >= 0)
    singles = 1000 + np.arange(len(a))
    return np.where(a < 0, singles, a)[union], np.where(b < 0, singles, b)[union]


@given(seeds, shapes)
def test_clustering_error_tries_every_matching(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = any_clustering(rng, shape), any_clustering(rng, shape)
    table = overlap_of(a, b, mass="unit", overlap="trace")
    wide = np.zeros((max(table.table.shape),) * 2)
    wide[: table.table.shape[0], : table.table.shape[1]] = table.table
    orders = permutations(range(len(wide)))
    best = max(wide[np.arange(len(wide)), order].sum() for order in orders)
    expected = (table.union - best) / table.union
    assert clustering_error(a, b, mass="unit", overlap="trace") == pytest.approx(expected, abs=1e-9)
    matching = match_clusters(a, b, mass="unit", overlap="trace")
    assert matching.total == pytest.approx(best, abs=1e-9)
    assert len(set(matching.a)) == len(matching.a) and len(set(matching.b)) == len(matching.b)
    np.testing.assert_array_equal(matching.shared, table.table[matching.a, matching.b])


@given(seeds, shapes)
def test_rnia_compares_covered_cells(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    left, right = cell_labels(a) >= 0, cell_labels(b) >= 0
    assert rnia(a, b) == (left ^ right).sum() / (left | right).sum()
    scores = cell_scores(a, b)
    assert scores.precision == (left & right).sum() / left.sum()
    assert scores.recall == (left & right).sum() / right.sum()
    expected = 2 * (left & right).sum() / (left.sum() + right.sum())
    assert scores.f1 == pytest.approx(expected)
    assert scores.geometric == pytest.approx(math.sqrt(scores.precision * scores.recall))


@given(seeds, shapes)
def test_measures_that_fill_gaps_are_label_measures_of_the_filled_cells(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    cells = filled(a, b)
    assert variation_of_information(a, b) == pytest.approx(label_vi(*cells), abs=1e-9)
    assert rand_distance(a, b) == label_rand_distance(*cells)
    assert tuple(cell_pair_counts(a, b)) == tuple(pair_counts(*cells))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=9))
def test_ordinary_clusterings_get_ordinary_distances(pairs):
    a, b = zip(*pairs, strict=True)
    assert clustering_error(a, b) == pytest.approx(label_error(a, b))
    assert variation_of_information(a, b) == pytest.approx(label_vi(a, b), abs=1e-9)
    assert vi_with_area(a, b) == pytest.approx(label_vi(a, b), abs=1e-9)
    assert rand_distance(a, b) == label_rand_distance(a, b)
    assert four_class_rand_distance(a, b) == pytest.approx(label_rand_distance(a, b))


@given(seeds, shapes, st.floats(0, 3))
def test_vi_with_area_is_vi_of_the_shared_cells_and_a_price_for_the_others(seed, shape, penalty):
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    left, right = cell_labels(a), cell_labels(b)
    shared, union = (left >= 0) & (right >= 0), (left >= 0) | (right >= 0)
    inside = label_vi(left[shared], right[shared]) * shared.sum() if shared.any() else 0.0
    expected = (inside + penalty * (union & ~shared).sum()) / union.sum()
    assert vi_with_area(a, b, penalty=penalty) == pytest.approx(expected, abs=1e-9)


def pair_class(labels, i, j):
    if labels[i] < 0 or labels[j] < 0:
        return "background" if labels[i] < 0 and labels[j] < 0 else "half"
    return "together" if labels[i] == labels[j] else "apart"


@given(seeds, st.tuples(st.integers(2, 5), st.integers(1, 3)), st.booleans())
def test_four_classes_of_pairs(seed, shape, background):
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    left, right = cell_labels(a), cell_labels(b)
    counted = np.flatnonzero(background | (left >= 0) | (right >= 0)).tolist()
    pairs = list(combinations(counted, 2))
    different = sum(pair_class(left, *pair) != pair_class(right, *pair) for pair in pairs)
    expected = different / len(pairs) if pairs else 0.0
    assert four_class_rand_distance(a, b, background=background) == pytest.approx(expected)


@given(seeds, shapes)
def test_four_classes_of_all_pairs_of_the_table_make_a_metric(seed, shape):
    rng = np.random.default_rng(seed)
    a, b, c = (random_axis(rng, shape) for _ in range(3))
    ab, bc, ac = (
        four_class_rand_distance(*pair, background=True) for pair in ((a, b), (b, c), (a, c))
    )
    assert ac <= ab + bc + 1e-12


# -- weights of rows and columns ------------------------------------------------------------------


@given(seeds, shapes)
def test_whole_weights_are_repetitions(seed, shape):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 4, shape[0]), rng.integers(1, 4, shape[1])
    a, b = random_axis(rng, shape), random_axis(rng, shape, disjoint=bool(rng.integers(2)))
    larger = [
        SubspaceClustering(
            np.repeat(c.memberships.toarray(), rows, axis=1),
            AxisSubspaces(np.repeat(c.subspaces.masks, columns, axis=1)),
        )
        for c in (a, b)
    ]
    for measure in (clustering_error, rnia):
        weighted = measure(a, b, row_weights=rows, column_weights=columns)
        assert weighted == pytest.approx(measure(*larger), abs=1e-12)
    assert cell_scores(a, b, row_weights=rows, column_weights=columns) == pytest.approx(
        cell_scores(*larger)
    )


@given(seeds, shapes)
def test_weighted_vi_weighs_singletons_as_their_cells(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    rows, columns = rng.random(shape[0]) + 0.01, rng.random(shape[1]) + 0.01
    weights = np.outer(rows, columns).ravel()
    union = (cell_labels(a) >= 0) | (cell_labels(b) >= 0)
    left, right = filled(a, b)
    weights = weights[union]

    def entropy(*labels):
        groups = {}
        for key, weight in zip(zip(*labels, strict=True), weights, strict=True):
            groups[key] = groups.get(key, 0.0) + weight / weights.sum()
        return -sum(share * math.log(share) for share in groups.values())

    expected = 2 * entropy(left, right) - entropy(left) - entropy(right)
    found = variation_of_information(a, b, row_weights=rows, column_weights=columns)
    assert found == pytest.approx(expected, abs=1e-9)


@given(seeds, shapes, st.floats(0.01, 100), st.sampled_from(["axis", "weighted", "oriented"]))
def test_equal_weights_change_nothing(seed, shape, weight, kind):
    rng = np.random.default_rng(seed)
    maker = {"axis": random_axis, "weighted": random_weighted, "oriented": random_oriented}[kind]
    a, b = maker(rng, shape), maker(rng, shape)
    options = {"row_weights": np.full(shape[0], weight)}
    if kind != "oriented":
        options["column_weights"] = np.full(shape[1], 1 / weight**2)
    for measure in (clustering_error, rnia, variation_of_information):
        assert measure(a, b, **options) == pytest.approx(measure(a, b), abs=1e-7)


def test_weights_that_leave_nothing_to_compare():
    a = SubspaceClustering.from_clusters([([0, 1], [0])], (3, 2))
    b = SubspaceClustering.from_clusters([([0], [0])], (3, 2))
    for measure in (clustering_error, rnia, variation_of_information):
        assert measure(a, b, row_weights=[0, 0, 1]) == 0
        assert measure(a, b, row_weights=[1, 0, 0]) == 0


# -- masses ---------------------------------------------------------------------------------------


def test_a_subspace_of_no_dimension_has_no_mass():
    nothing, everything = np.zeros((2, 0)), np.eye(2)
    a = SubspaceClustering.from_labels([0, 0, 1], bases=[nothing, everything])
    b = SubspaceClustering.from_labels([0, 0, 1], bases=[everything, everything])
    for mass, expected in (("unit", 2 / 3), ("cells", 4 / 6)):
        for measure in (clustering_error, rnia):
            assert measure(a, b, mass=mass) == pytest.approx(expected)
            assert measure(a, a, mass=mass) == 0


def test_unit_mass_forgets_how_many_features_there_are():
    a = SubspaceClustering.from_clusters([([0, 1], [0, 1, 2, 3]), ([2, 3], [0])], (4, 4))
    b = SubspaceClustering.from_clusters([([0, 1], [0, 1, 2, 3]), ([2, 3], [1])], (4, 4))
    assert clustering_error(a, b) == pytest.approx(4 / 12)
    assert clustering_error(a, b, mass="unit") == pytest.approx(4 / 6)


# -- what can't be compared -----------------------------------------------------------------------


def one_of(kind):
    rng = np.random.default_rng(3)
    return {
        "overlapping": lambda: random_axis(rng, (6, 4), disjoint=False),
        "soft": lambda: random_weighted(rng, (6, 4), soft=True),
        "weighted": lambda: random_weighted(rng, (6, 4)),
        "oriented": lambda: random_oriented(rng, (6, 4)),
        "oriented overlapping": lambda: SubspaceClustering(
            np.ones((2, 6), bool), OrientedSubspaces([np.eye(4)[:, :2], np.eye(4)[:, 1:3]])
        ),
    }[kind]()


DISJOINT_ONLY = [variation_of_information, vi_with_area, rand_distance, four_class_rand_distance]


@pytest.mark.parametrize("measure", DISJOINT_ONLY)
@pytest.mark.parametrize("kind", ["overlapping", "soft", "oriented overlapping"])
def test_refused_with_a_reason_and_a_way_out(measure, kind):
    c = one_of(kind)
    with pytest.raises(TypeError, match=r"clustering_error"):
        measure(c, c)


@pytest.mark.parametrize("measure", [rand_distance, four_class_rand_distance, cell_pair_counts])
@pytest.mark.parametrize("kind", ["weighted", "oriented"])
def test_pairs_of_cells_need_whole_cells(measure, kind):
    c = one_of(kind)
    with pytest.raises(UnsupportedKindError, match=f"whole cells.*{kind}"):
        measure(c, c)


@pytest.mark.parametrize("measure", [variation_of_information, vi_with_area])
def test_information_needs_one_kind(measure):
    axis = random_axis(np.random.default_rng(0), (6, 4))
    for other in (one_of("weighted"), one_of("oriented")):
        with pytest.raises(UnsupportedKindError, match="one kind, got axis and"):
            measure(axis, other)


def test_which_side_is_to_blame():
    disjoint, overlapping = random_axis(np.random.default_rng(0), (6, 4)), one_of("overlapping")
    with pytest.raises(UnsupportedKindError, match="some of the second one share cells"):
        variation_of_information(disjoint, overlapping)
    with pytest.raises(UnsupportedKindError, match="the first one is soft"):
        variation_of_information(one_of("soft"), disjoint)


@pytest.mark.parametrize("penalty", [-1, float("nan")])
def test_penalty_out_of_range(penalty):
    with pytest.raises(SubscapeError, match="penalty must be at least 0"):
        vi_with_area([0, 1], [0, 1], penalty=penalty)


def test_names_that_agree_are_no_obstacle():
    a = SubspaceClustering.from_labels([0, 0, 1], feature_names=["x", "y"])
    b = SubspaceClustering.from_labels([0, 1, 1], n_features=2)
    np.testing.assert_array_equal(intersection_table(a, b), [[2, 2], [0, 2]])
