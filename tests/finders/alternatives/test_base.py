"""Finders of several clusterings: what they keep, and the clusterings they are given."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from subscape.core import ConstantFeatureWarning, SubspaceClustering
from subscape.finders.views.base import (
    MultiClusteringFinder,
    found_several,
    kmeans_clustering,
    known_clusterings,
)


class Halves(MultiClusteringFinder):
    """Splits the rows at the median of each feature: one clustering per feature."""

    def _find(self, X, seed, watch):
        masks = np.eye(X.shape[1], dtype=bool)
        found = [
            SubspaceClustering.from_labels(
                (column > np.median(column)).astype(int), masks=masks[[j, j]]
            )
            for j, column in enumerate(X.T)
        ]
        self.reference = self._references(X, 2, seed)[0].labels()
        return found_several(found, 3, medians_=np.median(X, axis=0))


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(40, 3))


def test_all_clusterings_are_kept_and_the_first_stands_for_them(table):
    finder = Halves().fit(table)
    assert len(finder.clusterings_) == 3
    assert finder.label_matrix_.shape == (40, 3)
    assert finder.clustering_ is finder.clusterings_[0]
    np.testing.assert_array_equal(finder.labels_, finder.label_matrix_[:, 0])
    np.testing.assert_array_equal(finder.label_matrix_[:, 2], table[:, 2] > np.median(table[:, 2]))
    assert finder.n_iter_ == 3 and finder.medians_.shape == (3,)
    assert all(c.provenance["algorithm"] == "Halves" for c in finder.clusterings_)


def test_constant_columns_come_back_in_every_clustering(table):
    wide = np.insert(table, 1, 7.0, axis=1)
    with pytest.warns(ConstantFeatureWarning):
        finder = Halves().fit(wide)
    masks = [c.subspaces.masks[0] for c in finder.clusterings_]
    np.testing.assert_array_equal(masks, np.eye(4, dtype=bool)[[0, 2, 3]])


def test_names_are_in_every_clustering(table):
    pandas = pytest.importorskip("pandas")
    finder = Halves().fit(pandas.DataFrame(table, columns=list("abc")))
    assert {c.feature_names for c in finder.clusterings_} == {tuple("abc")}


def test_without_given_k_means_is_the_reference():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 20 * truth[:, None]
    finder = Halves().fit(X)
    assert len(finder.given_) == 1
    assert len({tuple(pair) for pair in np.column_stack([finder.reference, truth])}) == 2


def test_given_is_used_as_it_is(table):
    labels = np.arange(40) % 3
    finder = Halves().fit(table, given=labels)
    np.testing.assert_array_equal(finder.reference, labels)
    np.testing.assert_array_equal(finder.given_[0].labels(), labels)
    assert finder.given_[0].n_features == 3


def test_every_form_of_given(table):
    a, b = np.arange(40) % 2, np.arange(40) % 3
    both = [a.tolist(), b.tolist()]

    def labels(given):
        return [c.labels().tolist() for c in known_clusterings(given, 40)]

    assert labels(a) == labels(a.tolist()) == labels([a]) == both[:1]
    assert labels(SubspaceClustering.from_labels(a)) == both[:1]
    assert labels(np.column_stack([a, b])) == labels([a, b]) == labels((a, both[1])) == both
    assert labels([SubspaceClustering.from_labels(a), b]) == both
    assert labels(Halves().fit(table)) == Halves().fit(table).label_matrix_.T.tolist()
    model = KMeans(3, n_init=1, random_state=0).fit(table)
    assert labels(model) == labels(model.labels_)
    assert labels([None if i == 0 else "xy"[i % 2] for i in range(40)])[0][0] == -1
    assert known_clusterings(None, 40) == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.arange(39) % 2, "39 rows, the table 40"),
        (np.zeros(40, int), "has 1 cluster: an alternative needs at least 2"),
        (np.full(40, -1), "has 0 clusters"),
        ([np.arange(40) % 2, np.zeros(40, int)], "given clustering 1 has 1 cluster"),
        ([], "given is empty"),
        ([0, [1, 2]], "mixes single labels and whole clusterings"),
        (np.full(40, np.nan), "whole numbers"),
    ],
)
def test_what_can_not_be_a_reference(table, given, message):
    with pytest.raises(ValueError, match=message):
        Halves().fit(table, given=given)


def test_the_reference_has_the_same_bits_for_the_same_seed(table):
    one, two = (kmeans_clustering(table, 3, np.random.SeedSequence(5)) for _ in range(2))
    assert one.n_clusters == 3
    np.testing.assert_array_equal(one.labels(), two.labels())
