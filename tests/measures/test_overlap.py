"""The overlap table against its definition: dense row operators and their nuclear norms."""

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
    EmptyClusteringError,
    OrientedSubspaces,
    ShapeMismatchError,
    SubscapeError,
    SubspaceClustering,
    UnsupportedKindError,
)
from subscape.measures import clustering_error, overlap_of, rnia


def operators(c, mass, column_weights=None):
    """The (p, p) operator of every cluster."""
    result = []
    for k in range(c.n_clusters):
        operator = c.subspaces.operator(k)
        if mass == "unit":
            operator = operator / np.trace(operator)
        if column_weights is not None:
            operator = operator * column_weights[:, None]
        result.append(operator)
    return np.array(result)


def norm(operator):
    return np.linalg.svd(operator, compute_uv=False).sum()


def brute_force(a, b, mass, row_weights=None, column_weights=None):
    """Sizes, T, |I| and |U| straight from the definition."""
    rows = np.ones(a.n_rows) if row_weights is None else row_weights
    ops_a, ops_b = (operators(c, mass, column_weights) for c in (a, b))
    mem_a, mem_b = a.memberships.toarray().astype(float), b.memberships.toarray().astype(float)
    table = np.zeros((a.n_clusters, b.n_clusters))
    for i in range(a.n_clusters):
        for j in range(b.n_clusters):
            for r in range(a.n_rows):
                left, right = mem_a[i, r] * ops_a[i], mem_b[j, r] * ops_b[j]
                shared = (np.trace(left) + np.trace(right) - norm(left - right)) / 2
                table[i, j] += rows[r] * shared
    left = np.einsum("kr,kpq->rpq", mem_a, ops_a)
    right = np.einsum("kr,kpq->rpq", mem_b, ops_b)
    distance = sum(w * norm(p - q) for w, p, q in zip(rows, left, right, strict=True))
    sizes_a = (mem_a * rows).sum(1) * np.trace(ops_a, axis1=1, axis2=2)
    sizes_b = (mem_b * rows).sum(1) * np.trace(ops_b, axis1=1, axis2=2)
    total = sizes_a.sum() + sizes_b.sum()
    return sizes_a, sizes_b, table, (total - distance) / 2, (total + distance) / 2


def assert_same(found, expected, tolerance=2e-6):
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, atol=tolerance, rtol=0)


@given(seeds, shapes, st.sampled_from(["cells", "unit"]))
def test_every_kind_with_every_kind(seed, shape, mass):
    rng = np.random.default_rng(seed)
    a, b = any_clustering(rng, shape), any_clustering(rng, shape)
    found = overlap_of(a, b, mass=mass, overlap="trace")
    assert_same(found, brute_force(a, b, mass))


@given(seeds, shapes, st.booleans(), st.booleans())
def test_axis_and_soft_are_exact(seed, shape, disjoint, soft):
    rng = np.random.default_rng(seed)
    if soft:
        a, b = (random_weighted(rng, shape, soft=True) for _ in range(2))
    else:
        a, b = (random_axis(rng, shape, disjoint=disjoint) for _ in range(2))
    assert_same(overlap_of(a, b), brute_force(a, b, "cells"), 1e-9)


@given(seeds, shapes)
def test_row_and_column_weights(seed, shape):
    rng = np.random.default_rng(seed)
    rows, columns = rng.random(shape[0]), rng.random(shape[1])
    pairs = [
        [random_axis(rng, shape, disjoint=bool(rng.integers(2))) for _ in range(2)],
        [random_weighted(rng, shape, soft=bool(rng.integers(2))) for _ in range(2)],
    ]
    for a, b in pairs:
        found = overlap_of(a, b, row_weights=rows, column_weights=columns)
        assert_same(found, brute_force(a, b, "cells", rows, columns), 1e-6)
    a, b = random_oriented(rng, shape), random_oriented(rng, shape, row_disjoint=False)
    found = overlap_of(a, b, row_weights=rows, overlap="trace")
    assert_same(found, brute_force(a, b, "cells", rows))


@given(seeds, shapes)
def test_squared_cosines_are_the_trace_of_the_product(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = random_oriented(rng, shape), random_oriented(rng, shape)
    table = overlap_of(a, b, overlap="cos2").table
    ops_a, ops_b = operators(a, "cells"), operators(b, "cells")
    rows = (a.memberships.astype(float) @ b.memberships.astype(float).T).toarray()
    expected = rows * np.einsum("ipq,jqp->ij", ops_a, ops_b)
    np.testing.assert_allclose(table, expected, atol=1e-9)


@given(seeds, shapes)
def test_a_mask_is_a_basis_of_unit_vectors(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = random_axis(rng, shape), random_axis(rng, shape)
    plain = overlap_of(a, b)
    for overlap in ("cos2", "trace"):
        assert_same(overlap_of(a.as_oriented(), b, overlap=overlap), plain, 1e-7)


@given(seeds, shapes)
def test_symmetric_and_zero_for_itself(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = any_clustering(rng, shape), any_clustering(rng, shape)
    for measure in (clustering_error, rnia):
        forth, back = (measure(*pair, mass="unit") for pair in ((a, b), (b, a)))
        assert forth == pytest.approx(back, abs=1e-7)
        assert measure(a, a) == pytest.approx(0, abs=1e-6)
        assert 0 <= forth <= 1


def test_identical_oriented_clusterings_have_distance_exactly_zero():
    rng = np.random.default_rng(0)
    a = random_oriented(rng, (30, 12), complement=False)
    for overlap in ("cos2", "trace"):
        assert clustering_error(a, a, overlap=overlap) < 1e-12


def test_many_overlapping_rows_never_make_a_dense_table():
    rng = np.random.default_rng(1)
    members = rng.random((20, 3000)) < 0.1
    members[:, 0] = True
    a = SubspaceClustering(members, AxisSubspaces(rng.random((20, 40)) < 0.3))
    b = SubspaceClustering(members[::-1], AxisSubspaces(rng.random((20, 40)) < 0.3))
    cells = [np.einsum("kr,kf->rf", c.memberships.toarray().astype(int),
                       c.subspaces.masks.astype(int)) for c in (a, b)]  # fmt: skip
    found = overlap_of(a, b)
    assert found.intersection == np.minimum(*cells).sum()
    assert found.union == np.maximum(*cells).sum()


class TestBadInput:
    def test_different_rows_and_features(self):
        a = SubspaceClustering.from_labels([0, 0, 1], n_features=2)
        with pytest.raises(
            ShapeMismatchError, match=r"different rows: 3 and 2\. .*restrict.*embed"
        ):
            rnia(a, SubspaceClustering.from_labels([0, 1], n_features=2))
        with pytest.raises(ShapeMismatchError, match="different features: 2 and 3"):
            rnia(a, SubspaceClustering.from_labels([0, 1, 1], n_features=3))

    def test_different_names(self):
        a = SubspaceClustering.from_labels([0, 1], feature_names=["a", "b"])
        b = SubspaceClustering.from_labels([0, 1], feature_names=["a", "c"])
        with pytest.raises(ShapeMismatchError, match="not in both: 'b', 'c'"):
            rnia(a, b)
        c = SubspaceClustering.from_labels([0, 1], feature_names=["b", "a"])
        with pytest.raises(ShapeMismatchError, match="another order"):
            rnia(a, c)

    def test_empty(self):
        empty = SubspaceClustering.from_labels([-1, -1], n_features=1)
        with pytest.raises(EmptyClusteringError, match="first clustering is empty"):
            clustering_error(empty, [0, 1])
        with pytest.raises(EmptyClusteringError, match="second clustering is empty"):
            clustering_error([0, 1], empty)

    def test_mixed_kinds_need_mass(self):
        a = SubspaceClustering.from_labels([0, 1], n_features=2)
        with pytest.raises(UnsupportedKindError, match='mass="unit"'):
            clustering_error(a, a.as_weighted())
        assert clustering_error(a, a.as_weighted(), mass="unit") == 0
        assert clustering_error(a, a.as_weighted(), mass="cells") == 0.5

    def test_cos2_where_it_is_not_defined(self):
        rng = np.random.default_rng(0)
        basis = np.linalg.qr(rng.normal(size=(3, 2)))[0]
        a = SubspaceClustering(
            np.ones((2, 4), bool), OrientedSubspaces([basis[:, :1], np.eye(3)[:, :1]])
        )
        with pytest.raises(UnsupportedKindError, match='use overlap="trace"'):
            rnia(a, a, overlap="cos2")
        with pytest.raises(UnsupportedKindError, match="cell minima"):
            w = a.rows_only().as_weighted()
            rnia(w, w, overlap="cos2")

    def test_unknown_words(self):
        with pytest.raises(SubscapeError, match='"cos2" or "trace"'):
            rnia([0, 1], [0, 1], overlap="cos")
        with pytest.raises(SubscapeError, match='"cells" or "unit"'):
            rnia([0, 1], [0, 1], mass="one")

    def test_weights_of_rows_and_columns(self):
        with pytest.raises(ShapeMismatchError, match="3 row weights were given for 2 rows"):
            rnia([0, 1], [0, 1], row_weights=[1, 2, 3])
        with pytest.raises(SubscapeError, match="at least 0"):
            rnia([0, 1], [0, 1], row_weights=[1, -2])
        a = SubspaceClustering.from_labels([0, 1], bases=[np.eye(2), np.eye(2)])
        with pytest.raises(UnsupportedKindError, match="mix columns"):
            rnia(a, a, column_weights=[1, 1])

    def test_a_label_vector_takes_the_other_sides_features(self):
        a = SubspaceClustering.from_labels([0, 0, 1], n_features=4)
        assert clustering_error(a, [1, 1, 0]) == 0
        assert clustering_error(["x", "x", "y"], a) == 0
        with pytest.raises(ShapeMismatchError, match="2 entries, the other clustering 3 rows"):
            clustering_error(a, [0, 1])
