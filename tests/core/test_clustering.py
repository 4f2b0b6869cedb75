import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from tests.strategies import any_clustering, seeds, shapes

from subscape.core import (
    AxisSubspaces,
    DroppedClusterWarning,
    OrientedSubspaces,
    ShapeMismatchError,
    SubscapeError,
    SubspaceClustering,
    UnsupportedKindError,
    WeightedSubspaces,
    as_clustering,
    label_matrix,
)
from subscape.core.oriented import orthonormal


def two_clusters(**names):
    return SubspaceClustering.from_clusters(
        [([0, 1, 2], [0, 1]), ([2, 3], [2])], shape=(5, 3), **names
    )


class TestReading:
    def test_facts(self):
        c = two_clusters()
        assert (c.n_clusters, c.n_rows, c.n_features, c.kind) == (2, 5, 3, "axis")
        assert c.sizes.tolist() == [3, 2]
        assert c.coverage == 0.8
        assert c.labels().tolist() == [0, 0, 0, 1, -1]
        assert c.is_hard and c.is_disjoint
        assert not c.is_partition and not c.is_row_disjoint and not c.is_coclustering

    def test_hard_memberships_store_no_values(self):
        c = SubspaceClustering(np.array([[1.0, 0.0, 1.0]]), AxisSubspaces([[True]]))
        assert c.members.values is None
        assert c.memberships.dtype == bool

    def test_soft_memberships_are_float32(self):
        c = SubspaceClustering(np.array([[1.0, 0.25]]), AxisSubspaces([[True]]))
        assert c.memberships.dtype == np.float32
        assert c.sizes.tolist() == [1.25]
        assert not c.is_hard

    def test_soft_labels_take_the_largest_and_the_lowest_at_ties(self):
        m = np.array([[0.5, 0.2, 0.0], [0.5, 0.8, 0.0]])
        c = SubspaceClustering(m, AxisSubspaces(np.ones((2, 1), bool)))
        assert c.labels().tolist() == [0, 1, -1]

    def test_cluster(self):
        c = two_clusters().cluster(1)
        assert c.rows.tolist() == [2, 3]
        assert c.features.tolist() == [2]
        assert c.dims == 1

    def test_cluster_out_of_range(self):
        with pytest.raises(IndexError, match="cluster 2 of 2"):
            two_clusters().cluster(2)

    def test_overlapping_cells_are_not_disjoint(self):
        c = SubspaceClustering.from_clusters([([0, 1], [0, 1]), ([1], [1])], (2, 2))
        assert not c.is_disjoint

    def test_orthogonal_bases_on_shared_rows_are_disjoint(self):
        eye = np.eye(3)
        c = SubspaceClustering(np.ones((2, 4), bool), OrientedSubspaces([eye[:, :1], eye[:, 1:]]))
        assert c.is_disjoint
        tilted = np.array([[1.0], [1.0], [0.0]]) / np.sqrt(2)
        c = SubspaceClustering(np.ones((2, 4), bool), OrientedSubspaces([eye[:, :1], tilted]))
        assert not c.is_disjoint

    def test_empty_clustering_shows_itself(self):
        c = SubspaceClustering.from_labels([-1, -1], n_features=3)
        assert c.n_clusters == 0
        assert c.labels().tolist() == [-1, -1]
        assert "0 axis-aligned clusters" in repr(c)
        assert "2 noise rows" in c._repr_html_()

    def test_html_escapes_names(self):
        c = two_clusters(feature_names=["<script>", "b", "c"])
        assert "<script>" not in c._repr_html_()
        assert "&lt;script&gt;" in c._repr_html_()

    def test_arrays_are_read_only_also_after_pickling(self):
        for c in (
            two_clusters(),
            SubspaceClustering.from_labels([0, 1], weights=[[0.5, 0.5], [1, 0]]),
            SubspaceClustering.from_labels([0, 1], bases=[np.eye(2)[:, :1], np.eye(2)]),
        ):
            for value in (c, pickle.loads(pickle.dumps(c))):
                assert value == c
                for array in (value.members.indices, value.members.indptr):
                    assert not array.flags.writeable
                store = value.subspaces
                part = {"axis": "masks", "weighted": "weights", "oriented": "stack"}[value.kind]
                assert not getattr(store, part).flags.writeable
        with pytest.raises(AttributeError, match="read-only"):
            two_clusters().n_clusters = 3

    def test_the_given_arrays_stay_the_callers(self):
        masks = np.array([[True, False]])
        c = SubspaceClustering.from_labels([0, 0], masks=masks)
        masks[0, 0] = False
        assert c.subspaces.masks.tolist() == [[True, False]]


class TestBuilding:
    def test_from_labels_drops_unused_subspaces(self):
        c = SubspaceClustering.from_labels([0, 2, -1], masks=np.eye(3, dtype=bool))
        assert c.n_clusters == 2
        assert c.subspaces.masks.tolist() == [[True, False, False], [False, False, True]]

    def test_from_labels_compacts_plain_labels(self):
        assert SubspaceClustering.from_labels([7, 3, -1, 7]).labels().tolist() == [1, 0, -1, 1]

    def test_from_labels_text(self):
        assert SubspaceClustering.from_labels(["b", "a", "b"]).labels().tolist() == [1, 0, 1]

    def test_label_above_the_given_subspaces(self):
        with pytest.raises(ShapeMismatchError, match="labels go up to 2"):
            SubspaceClustering.from_labels([0, 2], masks=[[1, 1], [1, 0]])

    def test_two_kinds_at_once(self):
        with pytest.raises(SubscapeError, match="one of masks and weights"):
            SubspaceClustering.from_labels([0], masks=[[1]], weights=[[1.0]])

    def test_coclustering(self):
        c = SubspaceClustering.from_coclustering([0, 0, 1, -1], [1, 0, 1, 0, 2])
        assert c.n_clusters == 6
        assert c.is_coclustering and c.is_disjoint
        assert c.labels().tolist() == [0, 0, 1, -1]
        assert c.rows_only().n_clusters == 2
        columns = c.columns_only()
        assert columns.subspaces.masks.astype(int).tolist() == [
            [0, 1, 0, 1, 0],
            [1, 0, 1, 0, 0],
            [0, 0, 0, 0, 1],
        ]

    def test_linkage(self):
        points = np.array([[0.0], [1.0], [5.0], [7.0]])
        c = SubspaceClustering.from_linkage(linkage(points))
        assert [c.cluster(k).rows.tolist() for k in range(3)] == [[0, 1], [2, 3], [0, 1, 2, 3]]

    def test_sparse_memberships(self):
        m = sparse.csr_array(np.array([[0.0, 0.5], [1.0, 0.0]]))
        c = SubspaceClustering(m, AxisSubspaces(np.ones((2, 1), bool)))
        assert c.memberships.toarray().tolist() == m.toarray().tolist()

    def test_provenance_is_plain_and_ignored_by_equality(self):
        a = two_clusters(provenance={"seed": np.int64(3)})
        assert a.provenance == {"seed": 3}
        assert a == two_clusters()
        with pytest.raises(SubscapeError, match="JSON"):
            two_clusters(provenance={"x": object()})


class TestBadInput:
    @pytest.mark.parametrize(
        ("memberships", "message"),
        [
            ([[0.5, -0.1]], "negative"),
            ([[0.5, np.nan]], "1 NaN"),
            ([[2.0, 1.0]], "largest 2"),
            ([[0.0, 0.0]], "cluster 0 has no rows"),
            ([1.0, 0.0], "from_labels"),
        ],
    )
    def test_memberships(self, memberships, message):
        with pytest.raises(SubscapeError, match=message):
            SubspaceClustering(np.array(memberships), AxisSubspaces([[True]]))

    def test_labels_with_nan_or_fractions(self):
        with pytest.raises(SubscapeError, match="2 entries NaN, infinite or fractional"):
            SubspaceClustering.from_labels([0.0, np.nan, 0.5])

    def test_duplicate_and_miscounted_names(self):
        with pytest.raises(SubscapeError, match="repeated: 'a'"):
            two_clusters(feature_names=["a", "b", "a"])
        with pytest.raises(ShapeMismatchError, match="2 row names were given for 5 rows"):
            two_clusters(row_names=["a", "b"])

    def test_weights_that_do_not_sum_to_one(self):
        with pytest.raises(SubscapeError, match=r"cluster 1 sums to 0\.9"):
            WeightedSubspaces([[0.5, 0.5], [0.5, 0.4]])
        with pytest.raises(SubscapeError, match="at least 0"):
            WeightedSubspaces([[1.5, -0.5]])

    def test_bases_that_are_not_orthonormal(self):
        bent = np.array([[1.0, 0.4], [0.0, 1.0], [0.0, 0.0]])
        with pytest.raises(SubscapeError, match=r"off by 0\.4.*orthonormalize=True"):
            OrientedSubspaces([bent])
        mended = OrientedSubspaces([bent], orthonormalize=True)
        assert mended.dims.tolist() == [2]
        np.testing.assert_allclose(mended.relevance, [[1, 1, 0]], atol=1e-12)

    def test_cluster_without_features(self):
        with pytest.raises(SubscapeError, match="cluster 0 has no features"):
            SubspaceClustering.from_labels([0], masks=[[False, False]])

    def test_rows_outside_the_table(self):
        with pytest.raises(SubscapeError, match="row position 5 lies outside"):
            SubspaceClustering.from_clusters([([5], [0])], (5, 1))

    def test_as_clustering_of_a_matrix(self):
        with pytest.raises(TypeError, match="label vector"):
            as_clustering(np.zeros((2, 2)))

    def test_label_vector_of_the_wrong_length(self):
        with pytest.raises(ShapeMismatchError, match="3 entries, the other clustering 5 rows"):
            as_clustering([0, 0, 1], like=two_clusters())


class TestChanging:
    def test_restrict_by_names(self):
        c = two_clusters(feature_names=list("abc"), row_names=list("vwxyz"))
        kept = c.restrict(["x", "v"], ["c", "a"])
        assert kept.feature_names == ("c", "a")
        assert kept.row_names == ("x", "v")
        assert kept.cluster(0).rows.tolist() == [0, 1]
        assert kept.cluster(0).features.tolist() == [1]
        assert kept.cluster(1).rows.tolist() == [0]
        assert kept.cluster(1).features.tolist() == [0]

    def test_restrict_warns_about_lost_clusters(self):
        with pytest.warns(DroppedClusterWarning, match="dropped 1 cluster .*: 1"):
            assert two_clusters().restrict(rows=[0, 1]).n_clusters == 1
        with pytest.warns(DroppedClusterWarning, match="dropped 1 cluster .*: 0"):
            assert two_clusters().restrict(features=[2]).n_clusters == 1

    def test_restrict_to_nothing(self):
        with pytest.raises(SubscapeError, match="nothing is left"):
            two_clusters().restrict(rows=[])

    def test_restrict_renormalises_weights(self):
        c = SubspaceClustering.from_labels([0, 0], weights=[[0.5, 0.3, 0.2]])
        np.testing.assert_allclose(c.restrict(features=[1, 2]).subspaces.weights, [[0.6, 0.4]])

    def test_restrict_projects_bases(self):
        rng = np.random.default_rng(0)
        basis = np.linalg.qr(rng.normal(size=(5, 2)))[0]
        keep = [0, 2, 3]
        spans = SubspaceClustering.from_labels([0, 0], bases=[basis]).restrict(features=keep)
        rest = np.linalg.qr(basis, mode="complete")[0][:, 2:]
        left_out = OrientedSubspaces([rest], complement=True)
        other = SubspaceClustering.from_labels([0, 0], bases=left_out).restrict(features=keep)
        assert spans.isclose(other)
        expected = np.linalg.qr(basis[keep])[0]
        np.testing.assert_allclose(spans.subspaces.operator(0), expected @ expected.T, atol=1e-12)

    def test_embed_then_restrict_comes_back(self):
        c = two_clusters(feature_names=list("abc"))
        wide = c.embed(features=["z", "c", "b", "a"])
        assert wide.n_features == 4
        assert wide.restrict(features=["a", "b", "c"]) == c

    def test_embed_needs_the_shape(self):
        with pytest.raises(SubscapeError, match="pass shape="):
            two_clusters().embed(rows=[0, 1, 2, 3, 4])
        with pytest.raises(ShapeMismatchError, match="the larger table has 2 rows"):
            two_clusters().embed(shape=(2, 3))

    @given(seeds, shapes)
    def test_embed_keeps_operators_and_restrict_undoes_it(self, seed, shape):
        rng = np.random.default_rng(seed)
        c = any_clustering(rng, shape)
        rows = rng.permutation(shape[0] + 2)[: shape[0]]
        features = rng.permutation(shape[1] + 2)[: shape[1]]
        wide = c.embed(rows, features, shape=(shape[0] + 2, shape[1] + 2))
        for k in range(c.n_clusters):
            operator = np.zeros((shape[1] + 2,) * 2)
            operator[np.ix_(features, features)] = c.subspaces.operator(k)
            np.testing.assert_allclose(wide.subspaces.operator(k), operator, atol=1e-12)
        assert wide.restrict(rows, features).isclose(c)

    @given(seeds, shapes)
    def test_one_idea_behind_all_kinds(self, seed, shape):
        c = any_clustering(np.random.default_rng(seed), shape)
        for k in range(c.n_clusters):
            operator = c.subspaces.operator(k)
            np.testing.assert_allclose(np.diag(operator), c.subspaces.relevance[k], atol=1e-12)
            np.testing.assert_allclose(np.trace(operator), c.subspaces.mass[k], atol=1e-9)
            assert np.linalg.eigvalsh(operator).min() > -1e-9

    @given(seeds, shapes)
    def test_equality_ignores_order_and_isclose_bases(self, seed, shape):
        rng = np.random.default_rng(seed)
        c = any_clustering(rng, shape)
        shuffled = c.select(rng.permutation(c.n_clusters))
        assert shuffled == c and hash(shuffled) == hash(c)
        if c.kind == "oriented":
            turned = [
                b @ np.linalg.qr(rng.normal(size=(b.shape[1],) * 2))[0] for b in c.subspaces.bases
            ]
            spaces = OrientedSubspaces(turned, c.subspaces.is_complement)
            assert SubspaceClustering(c.members, spaces).isclose(c)
            assert SubspaceClustering(c.members, c.subspaces.spanning()).isclose(c)

    def test_different_clusterings_differ(self):
        c = two_clusters()
        assert c != c.select([0])
        assert c != c.rows_only()
        assert not c.isclose(c.rows_only())
        assert c != two_clusters(feature_names=list("abc"))

    def test_complement(self):
        masks = two_clusters().complement().subspaces.masks
        assert masks.astype(int).tolist() == [[0, 0, 1], [1, 1, 0]]
        line = np.eye(3)[:, :1]
        c = SubspaceClustering.from_labels([0], bases=[line])
        assert c.complement().subspaces.dims.tolist() == [2]
        assert c.complement().complement() == c
        with pytest.raises(UnsupportedKindError, match="no complement"):
            c.as_weighted().complement()

    def test_conversions(self):
        c = two_clusters()
        np.testing.assert_allclose(c.as_weighted().subspaces.weights, [[0.5, 0.5, 0], [0, 0, 1]])
        assert c.as_oriented().subspaces.dims.tolist() == [2, 1]
        with pytest.raises(UnsupportedKindError, match="no basis"):
            c.as_weighted().as_oriented()

    def test_a_line_in_many_dimensions_stays_small(self):
        vector = np.zeros((20_000, 1))
        vector[3] = 1.0
        spaces = OrientedSubspaces([vector], complement=True)
        c = SubspaceClustering.from_labels([0, 0], bases=spaces)
        assert c.subspaces.dims.tolist() == [19_999]
        assert c.subspaces.stack.nbytes == 160_000
        assert c.restrict(features=np.arange(10)).subspaces.dims.tolist() == [9]

    def test_label_matrix(self):
        assert label_matrix([two_clusters(), [0, 0, 0, 0, 1]]).tolist() == [
            [0, 0], [0, 0], [0, 0], [1, 0], [-1, 1],
        ]  # fmt: skip


class TestUnusualLabels:
    @pytest.mark.parametrize("labels", [
        np.array([0, 0, -1, 1], object),
        np.array([0, 0, None, 1], object),
        np.ma.masked_array([0, 0, 7, 1], mask=[0, 0, 1, 0]),
        pd.Series(["a", "a", pd.NA, "b"], dtype="string"),
        pd.Series([False, False, pd.NA, True], dtype="boolean"),
        np.array(["a", "a", -1, "b"], object),
    ])  # fmt: skip
    def test_noise(self, labels):
        assert SubspaceClustering.from_labels(labels).labels().tolist() == [0, 0, -1, 1]

    @pytest.mark.parametrize("labels", [[0.0, np.inf], [0.0, 1e300], np.array([0, 2**64 - 1])])
    def test_what_is_no_number_of_a_cluster(self, labels):
        with pytest.raises(ValueError, match="labels"):
            SubspaceClustering.from_labels(labels)

    def test_numbers_in_objects_count_as_numbers(self):
        labels = np.array([1, 1, -1], object)
        found = SubspaceClustering.from_labels(labels, masks=[[1, 0], [0, 1]])
        assert found.subspaces.masks.tolist() == [[False, True]]


def test_directions_that_are_next_to_nothing_are_dropped():
    assert orthonormal([[1.5e-12], [0.0]]).shape == (2, 1)
    assert orthonormal([[0.5e-12], [0.0]]).shape == (2, 0)
    assert orthonormal([[1.0, 1.0], [1.0, 1.0 + 1e-15]]).shape == (2, 1)
    assert orthonormal([[1.0, 1.0], [1.0, 1.001]]).shape == (2, 2)
    assert orthonormal(np.zeros((3, 0))).shape == (3, 0)


def test_how_many_clusters_are_bare_is_said():
    masks = np.array([[1, 0], [0, 0], [0, 0], [0, 0]], dtype=bool)
    with pytest.raises(SubscapeError, match=r"cluster 1 has no features \(and 2 more\); leave"):
        SubspaceClustering.from_labels([0, 1, 2, 3], masks=masks)
    masks[1:3] = True
    with pytest.raises(SubscapeError, match="cluster 3 has no features; leave"):
        SubspaceClustering.from_labels([0, 1, 2, 3], masks=masks)
