"""Worked examples and theorems of Patrikainen (2005), as corrected.

A. Patrikainen, *Methods for Comparing Subspace Clusterings*, licentiate's thesis, Helsinki
University of Technology, 2005; with M. Meila in IEEE TKDE 18 (2006), doi:10.1109/TKDE.2006.106.
Where a test says "printed", the thesis has another number or formula there, which can't be right.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import random_axis, random_bases, random_weighted, seeds, shapes

from subscape.core import (
    AxisSubspaces,
    OrientedSubspaces,
    SubspaceClustering,
    UnsupportedKindError,
    WeightedSubspaces,
)
from subscape.core.oriented import squared_cosines, trace_overlaps
from subscape.measures import (
    cell_pair_counts,
    cell_scores,
    clustering_error,
    hubert_gamma_score,
    intersection_table,
    label_error,
    match_clusters,
    overlap_of,
    pair_counts,
    rand_distance,
    rnia,
    variation_of_information,
    wallace_scores,
)

LOG2 = math.log(2)


# -- chapter 4: axis-aligned clusterings ----------------------------------------------------------


class TestFigure41:
    """Two clusterings of three clusters each, with 8, 4, 9 and 4, 4, 8 cells."""

    s = SubspaceClustering.from_clusters(
        [([0, 1], [0, 1, 2, 3]), ([3, 4], [0, 1]), ([3, 4, 5], [4, 5, 6])], (7, 7)
    )
    t = SubspaceClustering.from_clusters(
        [([0, 1], [0, 1]), ([0, 1], [2, 3]), ([4, 6], [0, 1, 4, 5])], (7, 7)
    )

    def test_sizes_and_intersections(self):
        table = overlap_of(self.s, self.t)
        assert table.sizes_a.tolist() == [8, 4, 9] and table.sizes_b.tolist() == [4, 4, 8]
        assert intersection_table(self.s, self.t).tolist() == [[4, 4, 0], [0, 0, 2], [0, 0, 2]]
        assert (table.union, table.intersection) == (25, 12)

    def test_clustering_error(self):
        assert clustering_error(self.s, self.t) == 19 / 25
        assert match_clusters(self.s, self.t).total == 6

    def test_rnia_is_13_of_25(self):
        """Printed in §4.3.4: 19/25, which is CE."""
        assert rnia(self.s, self.t) == 13 / 25

    def test_variation_of_information(self):
        assert variation_of_information(self.s, self.t) == pytest.approx(1.678, abs=5e-4)

    def test_pairs_of_cells(self):
        """Printed after §3.1.2: the sums for N10 and N01 with swapped ranges."""
        assert cell_pair_counts(self.s, self.t) == (14, 56, 26, 204)
        assert cell_pair_counts(self.t, self.s) == (14, 26, 56, 204)
        assert rand_distance(self.s, self.t) == 82 / 300

    def test_f_measure_is_the_harmonic_mean(self):
        """§4.3.4 takes the geometric mean of precision 12/21 and recall 12/16."""
        scores = cell_scores(self.s, self.t)
        assert (scores.precision, scores.recall) == (12 / 21, 12 / 16)
        assert scores.f1 == pytest.approx(2 * 12 / (21 + 16))
        assert scores.geometric == pytest.approx(12 / math.sqrt(21 * 16))


def test_n10_are_the_pairs_that_the_first_clustering_joins():
    a, b = [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]
    m = np.array([[2, 1], [0, 2]])
    n10 = sum(row[j] * row[k] for row in m for j in range(2) for k in range(j + 1, 2))
    assert pair_counts(a, b).n10 == n10 == 2
    assert pair_counts(a, b).n01 == pair_counts(b, a).n10 == 2
    assert wallace_scores(a, [0, 0, 0, 1, 2]).first == 3 / 4


def test_hubert_gamma_takes_the_pairs_joined_by_the_second_clustering():
    """Printed in eq. 3.14: N2 = N01 + N00."""
    a, b = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]
    rows, columns = np.triu_indices(6, 1)
    joined = [np.equal.outer(labels, labels)[rows, columns] for labels in (a, b)]
    correlation = np.corrcoef(*joined)[0, 1]
    n11, n10, n01, n00 = pair_counts(a, b)
    n, n1, n2 = n11 + n10 + n01 + n00, n11 + n10, n11 + n01
    formula = (n * n11 - n1 * n2) / math.sqrt(n1 * n2 * (n - n1) * (n - n2))
    assert hubert_gamma_score(a, b) == pytest.approx(correlation)
    assert hubert_gamma_score(a, b) == pytest.approx(formula)


class TestExamples1To4:
    """Appendix A.1.2 and A.1.3: a tiny cluster on one side brings VI and 1 - Rand down."""

    a = SubspaceClustering.from_clusters([([0, 1], [0, 1, 2, 3])], (3, 6))
    b = SubspaceClustering.from_clusters([([1, 2], [0, 1, 2, 3])], (3, 6))
    c = SubspaceClustering.from_clusters([([0, 1], [0, 1, 2, 3]), ([0, 1], [5])], (3, 6))

    def test_variation_of_information(self):
        ab, ac, bc = self.distances(variation_of_information)
        assert [ab, ac, bc] == pytest.approx([8 / 3 * LOG2, 1 / 5 * LOG2, 17 / 7 * LOG2])
        assert [ab, ac, bc] == pytest.approx([1.848, 0.139, 1.683], abs=5e-4)
        assert ac + bc < ab, "no triangle inequality"
        assert bc < ab, "no penalty for the cells that only C covers"
        assert ac / math.log(10) + bc / math.log(14) < ab / math.log(12), "nor if scaled by log |U|"

    def test_rand_distance(self):
        ab, ac, bc = self.distances(rand_distance)
        assert (ab, ac, bc) == (44 / 66, 1 / 45, 45 / 91)
        assert ac + bc < ab and bc < ab

    def test_clustering_error_and_rnia_are_not_fooled(self):
        for measure in (clustering_error, rnia):
            ab, ac, bc = self.distances(measure)
            assert ac + bc >= ab and bc > ab

    def distances(self, measure):
        return [measure(*pair) for pair in ((self.a, self.b), (self.a, self.c), (self.b, self.c))]


def test_area_is_penalised_only_below_distance_one():
    """Theorems 4 and 5 say ≥; "penalty" means > and ends where nothing is shared."""
    near, far = [0, 0, 0, 0, -1], [0, 0, -1, -1, -1]
    apart = [-1, -1, -1, 0, 0]
    for measure in (clustering_error, rnia):
        assert measure(near, far) < measure([0, 0, 0, 0, 0], far)
        assert measure(far, apart) == measure([0, 0, 0, -1, -1], [-1, -1, -1, 0, 0]) == 1


@given(st.integers(2, 6), st.integers(2, 5), st.integers(1, 4))
def test_multiple_cluster_coverage(parts, each, dims):
    """Theorems 11 to 14. Printed for CE: (K - 1) / K · |U|, but CE is normalised."""
    labels = np.repeat(np.arange(parts), each)
    one = SubspaceClustering.from_labels(np.zeros_like(labels), n_features=dims)
    several = SubspaceClustering.from_labels(labels, n_features=dims)
    cells = parts * each * dims
    assert clustering_error(one, several) == pytest.approx((parts - 1) / parts)
    assert rnia(one, several) == 0
    assert variation_of_information(one, several) == pytest.approx(math.log(parts))
    expected = cells * (parts - 1) / (parts * (cells - 1))
    assert rand_distance(one, several) == pytest.approx(expected)


@given(seeds, shapes, st.integers(2, 3))
def test_scaling_adds_the_log_of_the_scale_divided_by_the_union(seed, shape, times):
    """Example 5; printed without the division by |U|. Areas grow by times²."""
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    table = overlap_of(a, b)
    alone = table.total_a + table.total_b - 2 * table.table.sum()
    larger = [
        SubspaceClustering(
            np.repeat(c.memberships.toarray(), times, axis=1),
            AxisSubspaces(np.repeat(c.subspaces.masks, times, axis=1)),
        )
        for c in (a, b)
    ]
    expected = variation_of_information(a, b) + math.log(times**2) * alone / table.union
    assert variation_of_information(*larger) == pytest.approx(expected, abs=1e-9)


def test_one_cell_clusters_equal_the_singletons_that_fill_gaps():
    """Table 4.1 calls VI and 1 - Rand positive; they are if clusters have two cells or more."""
    a, b = [0, -1], [-1, 0]
    assert variation_of_information(a, b) == rand_distance(a, b) == 0
    assert clustering_error(a, b) == rnia(a, b) == 1
    assert variation_of_information([0, 0, -1], [-1, 0, 0]) > 0


@given(seeds, shapes)
def test_bounds_of_table_41(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    union = overlap_of(a, b).union
    assert 0 <= variation_of_information(a, b) <= math.log(union) + 1e-9
    assert 0 <= rnia(a, b) <= clustering_error(a, b) <= 1, "and Proposition 1"
    assert 0 <= rand_distance(a, b) <= 1


@given(seeds, shapes)
def test_overlapping_clusterings_duplicate_cells(seed, shape):
    """§4.4, eqs. 4.3 and 4.4."""
    rng = np.random.default_rng(seed)
    a, b = (random_axis(rng, shape, disjoint=False) for _ in range(2))
    times = [c.memberships.toarray().T.astype(int) @ c.subspaces.masks.astype(int) for c in (a, b)]
    table = overlap_of(a, b)
    assert table.union == np.maximum(*times).sum()
    assert table.intersection == np.minimum(*times).sum()


def test_vi_of_overlapping_clusterings_would_be_negative():
    """Eq. A.1 needs disjoint clusters: the same m cells twice would give VI(S, S) = -2 ln m."""
    twice = SubspaceClustering(np.ones((2, 3), bool), AxisSubspaces(np.ones((2, 2), bool)))
    table = overlap_of(twice, twice)
    entropy = sum(m * math.log(m) for m in (*table.sizes_a, *table.sizes_b))
    entropy -= 2 * sum(m * math.log(m) for m in table.table.flat)
    assert entropy / table.union == pytest.approx(-2 * math.log(6))
    for measure in (variation_of_information, rand_distance):
        with pytest.raises(UnsupportedKindError, match="disjoint"):
            measure(twice, twice)


# -- section 5.1: oriented clusterings ------------------------------------------------------------


def unit(*vectors):
    return np.array([np.array(v) / np.linalg.norm(v) for v in vectors], float).T


def oriented(clusters, n_rows):
    members = np.zeros((len(clusters), n_rows), bool)
    for k, (rows, _) in enumerate(clusters):
        members[k, np.array(rows) - 1] = True
    return SubspaceClustering(members, OrientedSubspaces([basis for _, basis in clusters]))


class TestSection513:
    """Printed: intersections 1.90, 1.63, 5.31, RNIA 0.48, CE 0.58, which sum σ, not σ²."""

    s = oriented(
        [
            ([1, 2, 3], unit([1, 1, 0, 0])),
            ([5, 6, 7], unit([0, 0, 1, 0], [0, 1, 0, 1], [1, -2, 0, 2])),
        ],
        7,
    )
    t = oriented(
        [
            ([2, 3, 4, 5], unit([2, 0, 0, 1], [0, 1, 0, 0])),
            ([5, 6, 7], unit([0, 0, 1, 0], [-1, 0, 0, 2])),
        ],
        7,
    )

    def test_intersections(self):
        table = overlap_of(self.s, self.t)
        np.testing.assert_allclose(table.table, [[1.8, 0.0], [1.4, 4.8]], atol=1e-12)
        assert table.sizes_a.tolist() == [3, 9] and table.sizes_b.tolist() == [8, 6]
        assert table.union == pytest.approx(18)

    def test_distances(self):
        found = [rnia(self.s, self.t), clustering_error(self.s, self.t)]
        assert found == pytest.approx([10 / 18, 11.4 / 18])
        assert found == pytest.approx([0.5556, 0.6333], abs=5e-5)

    def test_the_printed_numbers_sum_the_cosines_themselves(self):
        cosines = [
            [np.linalg.svd(b.T @ c, compute_uv=False).sum() for c in self.t.subspaces.bases]
            for b in self.s.subspaces.bases
        ]
        shared = np.array([[2, 0], [1, 3]]) * cosines
        np.testing.assert_allclose(shared, [[1.90, 0], [1.63, 5.32]], atol=6e-3)


@given(seeds, st.integers(3, 7), st.data())
def test_squared_cosines_never_share_more_than_there_is(seed, p, data):
    """Theorem 1: Σσ² against orthogonal subspaces is at most the dimension, and it is if they
    fill the space. Summing σ itself (or the angles) would break this."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(p, p)))[0]
    cuts = np.sort(rng.choice(np.arange(1, p), 2, replace=False))
    parts = OrientedSubspaces(np.split(basis, cuts, axis=1))
    flat = OrientedSubspaces(random_bases(rng, 1, p, p - 1))
    shares = squared_cosines(flat, parts)[0]
    assert shares.sum() == pytest.approx(flat.dims[0])
    assert shares[:-1].sum() <= flat.dims[0] + 1e-12
    diagonal, axes = OrientedSubspaces([unit([1] * p)]), OrientedSubspaces(list(np.eye(p)))
    assert squared_cosines(diagonal, axes).sum() == pytest.approx(1)
    assert np.sqrt(squared_cosines(diagonal, axes)).sum() > 1


def lines(*angles):
    return [oriented([([1], unit([np.cos(t), np.sin(t)]))], 1) for t in angles]


def test_the_triangle_inequality_fails_for_squared_cosines():
    a, b, c = lines(0.0, 0.1, 0.2)
    for measure in (rnia, clustering_error):
        assert measure(a, c) == pytest.approx(0.0759, abs=5e-5)
        assert [measure(a, b), measure(b, c)] == pytest.approx([0.0197, 0.0197], abs=5e-5)


@given(st.floats(0, np.pi / 2), st.floats(0, np.pi / 2))
def test_and_holds_for_the_trace(first, second):
    a, b, c = lines(0.0, first, first + second)
    for measure in (rnia, clustering_error):
        ac, ab, bc = (measure(*pair, overlap="trace") for pair in ((a, c), (a, b), (b, c)))
        assert ac <= ab + bc + 1e-6, "angles below 1e-7 count as none"
    sine = math.sin(first)
    assert rnia(a, b, overlap="trace") == pytest.approx(2 * 2 * sine / (2 + 2 * sine), abs=1e-6)


@given(seeds, st.integers(2, 6))
def test_trace_overlap_of_two_subspaces_is_one_minus_the_sines(seed, p):
    rng = np.random.default_rng(seed)
    a, b = (OrientedSubspaces(random_bases(rng, 1, p)) for _ in range(2))
    cosines = np.linalg.svd(a.bases[0].T @ b.bases[0], compute_uv=False)
    expected = (1 - np.sqrt(np.clip(1 - cosines**2, 0, None))).sum()
    assert trace_overlaps(a, b)[0, 0] == pytest.approx(expected, abs=1e-6)


def test_squared_cosines_have_no_meaning_for_overlapping_clusters():
    """One row, lines at 0 and π/2 against lines at 0.1 and π/2 - 0.1: CE would fall below RNIA."""
    a, b = (
        oriented([([1], unit([np.cos(t), np.sin(t)])) for t in angles], 1)
        for angles in ((0.0, np.pi / 2), (0.1, np.pi / 2 - 0.1))
    )
    squared = squared_cosines(a.subspaces, b.subspaces)
    matched = squared[0, 0] + squared[1, 1]
    union = overlap_of(a, b).union
    distance = rnia(a, b)
    assert distance == pytest.approx(2 * 2 * math.sin(0.2) / (4 + 2 * math.sin(0.2)))
    assert (union - matched) / union < distance <= clustering_error(a, b)
    with pytest.raises(UnsupportedKindError, match='overlap="trace"'):
        rnia(a, b, overlap="cos2")


# -- section 5.2: weighted clusterings ------------------------------------------------------------


@given(seeds, shapes)
def test_shared_weights_are_cell_minima(seed, shape):
    """Eq. 5.6, 1 - ½Σ|b - b'|, is Σ min(b, b'): one definition for weights, masks and soft rows."""
    rng = np.random.default_rng(seed)
    a, b = random_weighted(rng, shape), random_weighted(rng, shape)
    rows = (a.memberships.astype(float) @ b.memberships.astype(float).T).toarray()
    gaps = np.abs(a.subspaces.weights[:, None] - b.subspaces.weights[None]).sum(axis=2)
    np.testing.assert_allclose(intersection_table(a, b), rows * (1 - gaps / 2), atol=1e-12)


@given(seeds, shapes)
def test_intersection_and_union_are_sums_of_cell_minima_and_maxima(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = (random_weighted(rng, shape, soft=True) for _ in range(2))
    masses = [c.memberships.toarray().T.astype(float) @ c.subspaces.weights for c in (a, b)]
    table = overlap_of(a, b)
    assert table.intersection == pytest.approx(np.minimum(*masses).sum(), abs=1e-9)
    assert table.union == pytest.approx(np.maximum(*masses).sum(), abs=1e-9)


def test_uniform_weights_are_masks_of_unit_mass():
    masks = np.array([[1, 1, 0, 0], [0, 1, 1, 1]], bool)
    mask = SubspaceClustering.from_labels([0, 0, 1, 1], masks=masks)
    weight = SubspaceClustering([[1, 1, 0, 0], [0, 0, 1, 1]], WeightedSubspaces([[0.5, 0.5, 0, 0],
                                [0, 1 / 3, 1 / 3, 1 / 3]]))  # fmt: skip
    assert clustering_error(mask, weight, mass="unit") == pytest.approx(0)


# -- section 5.3: co-clusterings ------------------------------------------------------------------


class TestSection531:
    rows, other_rows = [0, 0, 0, 0, 1, 1, 1, 2], [0, 0, 1, 0, 2, 1, 1, 2]
    columns, other_columns = [0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 0, 0, 1, 2]
    s = SubspaceClustering.from_coclustering(rows, columns)
    t = SubspaceClustering.from_coclustering(other_rows, other_columns)

    def test_variation_of_information(self):
        by_rows = variation_of_information(self.rows, self.other_rows)
        by_columns = variation_of_information(self.columns, self.other_columns)
        assert by_rows == pytest.approx(0.93, abs=5e-3)
        assert by_columns == pytest.approx(1.41, abs=5e-3)
        assert variation_of_information(self.s, self.t) == pytest.approx(by_rows + by_columns)
        assert variation_of_information(self.s, self.t) == pytest.approx(2.34, abs=5e-3)

    def test_clustering_error(self):
        assert clustering_error(self.rows, self.other_rows) == 2 / 8
        assert clustering_error(self.columns, self.other_columns) == 4 / 8
        assert clustering_error(self.s, self.t) == 40 / 64

    def test_rnia(self):
        assert rnia(self.s, self.t) == rnia(self.rows, self.other_rows) == 0

    def test_row_and_column_clusterings_of_a_coclustering(self):
        assert clustering_error(self.s.rows_only(), self.t.rows_only()) == 2 / 8
        assert clustering_error(self.s.columns_only(), self.t.columns_only()) == 4 / 8


labellings = st.lists(st.integers(0, 2), min_size=4, max_size=4)


@given(labellings, labellings, labellings, labellings)
def test_coclusterings(rows, other_rows, columns, other_columns):
    """Propositions 2 and 4; Proposition 3 only as an upper bound."""
    s = SubspaceClustering.from_coclustering(rows, columns)
    t = SubspaceClustering.from_coclustering(other_rows, other_columns)
    vi = variation_of_information
    together = vi(rows, other_rows) + vi(columns, other_columns)
    assert vi(s, t) == pytest.approx(together, abs=1e-9)
    by_rows, by_columns = label_error(rows, other_rows), label_error(columns, other_columns)
    assert clustering_error(s, t) <= by_rows + by_columns - by_rows * by_columns + 1e-12
    assert rnia(s, t) == 0


def test_the_best_matching_of_blocks_need_not_be_a_product():
    """Printed in Proposition 3 and Theorem 15: equality, which would match 9 cells."""
    rows, other_rows = [0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 1]
    columns, other_columns = [0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 1, 1]
    s = SubspaceClustering.from_coclustering(rows, columns)
    t = SubspaceClustering.from_coclustering(other_rows, other_columns)
    assert intersection_table(rows, other_rows).tolist() == [[1, 1], [2, 2]]
    assert intersection_table(columns, other_columns).tolist() == [[1, 2], [1, 2]]
    assert match_clusters(rows, other_rows).total == 3
    assert match_clusters(columns, other_columns).total == 3
    assert match_clusters(s, t).total == 10
    assert clustering_error(s, t) == 26 / 36
