"""Distance matrices against the loop over all pairs."""

from __future__ import annotations

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

from subscape import measures
from subscape.core import (
    EmptyClusteringError,
    ShapeMismatchError,
    SubscapeError,
    SubspaceClustering,
    UnsupportedKindError,
)
from subscape.measures import clustering_error, medoid_index, pairwise_distances, rnia
from subscape.measures.registry import MEASURES

FROM_TABLE = ["clustering_error", "rnia", "variation_of_information"]


def looped(clusterings, measure, **options):
    return np.array([[measure(a, b, **options) if a is not b else 0.0 for b in clusterings]
                     for a in clusterings])  # fmt: skip


def made(kind, rng, shape):
    return {
        "axis": lambda: random_axis(rng, shape),
        "overlapping": lambda: random_axis(rng, shape, disjoint=False),
        "weighted": lambda: random_weighted(rng, shape),
        "soft": lambda: random_weighted(rng, shape, soft=True),
        "oriented": lambda: random_oriented(rng, shape),
        "oriented overlapping": lambda: random_oriented(rng, shape, row_disjoint=False),
    }[kind]()


@given(
    seeds,
    shapes,
    st.sampled_from(["axis", "weighted", "oriented"]),
    st.sampled_from([None, "cells", "unit"]),
    st.sampled_from(FROM_TABLE),
)
def test_disjoint_clusterings(seed, shape, kind, mass, metric):
    rng = np.random.default_rng(seed)
    members = [made(kind, rng, shape) for _ in range(4)]
    found = pairwise_distances(members, metric, mass=mass)
    expected = looped(members, getattr(measures, metric), mass=mass)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert (np.diag(found) == 0).all() and (found == found.T).all()


@given(
    seeds,
    shapes,
    st.sampled_from(["overlapping", "soft", "oriented", "oriented overlapping"]),
    st.sampled_from(["cells", "unit"]),
    st.sampled_from([clustering_error, rnia]),
)
def test_clusterings_that_may_share_cells(seed, shape, kind, mass, measure):
    rng = np.random.default_rng(seed)
    members = [made(kind, rng, shape) for _ in range(3)]
    found = pairwise_distances(members, measure.__name__, mass=mass, overlap="trace")
    expected = looped(members, measure, mass=mass, overlap="trace")
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(seeds, shapes)
def test_mixed_kinds_take_one_choice_for_all(seed, shape):
    rng = np.random.default_rng(seed)
    members = [made(kind, rng, shape) for kind in ("axis", "weighted", "oriented overlapping")]
    members += [any_clustering(rng, shape)]
    found = pairwise_distances(members, "rnia", mass="unit")
    np.testing.assert_allclose(
        found, looped(members, rnia, mass="unit", overlap="trace"), atol=1e-9
    )


def test_one_overlapping_member_brings_trace_to_all_pairs():
    rng = np.random.default_rng(0)
    members = [made("oriented", rng, (8, 4)) for _ in range(2)]
    assert pairwise_distances(members)[0, 1] == clustering_error(*members, overlap="cos2")
    members.append(SubspaceClustering(np.ones((2, 8), bool), members[0].subspaces.select([0, 0])))
    assert pairwise_distances(members)[0, 1] == clustering_error(*members[:2], overlap="trace")


@given(seeds, st.sampled_from([m.name for m in MEASURES.values() if m.is_distance]))
def test_every_distance_by_name(seed, name):
    rng = np.random.default_rng(seed)
    members = [random_axis(rng, (6, 3)) for _ in range(3)]
    found = pairwise_distances(members, name)
    np.testing.assert_allclose(found, looped(members, getattr(measures, name)), atol=1e-12)


def test_the_batch_path_equals_the_pair_by_pair_path():
    rng = np.random.default_rng(1)
    members = [random_axis(rng, (40, 12)) for _ in range(12)]
    members.append(SubspaceClustering.from_coclustering(rng.integers(0, 3, 40), [0, 1] * 6))
    for metric in FROM_TABLE:
        batch = pairwise_distances(members, metric)
        slow = pairwise_distances(members, getattr(measures, metric))
        np.testing.assert_allclose(batch, slow, atol=1e-12)


@pytest.mark.parametrize("metric", ["rnia", "rand_distance", clustering_error])
def test_the_same_bits_for_any_number_of_workers(metric):
    rng = np.random.default_rng(2)
    members = [random_axis(rng, (12, 5), disjoint=metric != "rnia") for _ in range(6)]
    alone = pairwise_distances(members, metric)
    assert (pairwise_distances(members, metric, n_jobs=2) == alone).all()


def test_label_vectors_take_the_features_of_the_others():
    truth = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=5)
    found = pairwise_distances([[0, 0, 1, 1], truth, ["a", "b", "b", "b"]])
    np.testing.assert_allclose(found, [[0, 0, 0.25], [0, 0, 0.25], [0.25, 0.25, 0]])


def test_a_single_clustering():
    assert pairwise_distances([[0, 0, 1]]).tolist() == [[0]]


class TestMedian:
    clusterings = ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1], [0, 1, 2, 0, 1, 2])

    def test_smallest_summed_distance(self):
        sums = looped(self.clusterings, clustering_error).sum(axis=1)
        assert medoid_index(self.clusterings) == np.argmin(sums) == 1

    def weighted(self, share):
        return SubspaceClustering.from_labels([0, 0], weights=[[share, 1 - share]])

    def test_ties_go_to_the_first(self):
        assert medoid_index([[0, 1, 1], [0, 0, 1]]) == 0

    def test_other_metrics_and_options(self):
        sums = looped(self.clusterings, measures.label_vi).sum(axis=1)
        assert medoid_index(self.clusterings, "label_vi") == np.argmin(sums) == 2
        weighted = [self.weighted(share) for share in (0.9, 0.5, 0.4)]
        assert medoid_index(weighted, "rnia", mass="unit") == 1
        assert type(medoid_index(self.clusterings)) is int


class TestBadInput:
    def test_nothing(self):
        with pytest.raises(SubscapeError, match="no clusterings given"):
            pairwise_distances([])

    def test_an_empty_clustering_is_named(self):
        with pytest.raises(EmptyClusteringError, match="clustering 1 is empty"):
            pairwise_distances([[0, 1], [-1, -1]])

    def test_different_tables(self):
        with pytest.raises(ShapeMismatchError, match="different rows: 2 and 3"):
            pairwise_distances([[0, 1], [0, 1, 1]])

    def test_a_similarity_and_an_unknown_name(self):
        with pytest.raises(ValueError, match="adjusted_rand_score is a similarity"):
            pairwise_distances([[0, 1], [0, 0]], "adjusted_rand_score")
        with pytest.raises(ValueError, match="unknown measure 'ce'; known are"):
            pairwise_distances([[0, 1], [0, 0]], "ce")

    def test_mixed_masses(self):
        a = SubspaceClustering.from_labels([0, 1], n_features=2)
        with pytest.raises(UnsupportedKindError, match="for the whole matrix"):
            pairwise_distances([a, a.as_weighted()])
        with pytest.raises(UnsupportedKindError, match="for the whole matrix"):
            pairwise_distances([a.as_oriented(), a.as_weighted()])

    def test_vi_of_what_it_is_not_defined_for(self):
        a = SubspaceClustering.from_labels([0, 1], n_features=2)
        overlapping = SubspaceClustering(np.ones((2, 2), bool), a.subspaces)
        with pytest.raises(UnsupportedKindError, match="some of number 2 share cells"):
            pairwise_distances([a, a, overlapping], "variation_of_information")
        with pytest.raises(UnsupportedKindError, match="one kind, got axis and oriented"):
            pairwise_distances([a, a.as_oriented()], "variation_of_information")

    @pytest.mark.parametrize("option", [{"mass": "one"}, {"overlap": "cosine"}])
    def test_unknown_words(self, option):
        with pytest.raises(SubscapeError, match="must be"):
            pairwise_distances([[0, 1], [0, 0]], **option)

    @pytest.mark.parametrize("metric", ["rand_distance", clustering_error])
    def test_options_are_never_ignored(self, metric):
        with pytest.raises(SubscapeError, match="mass and overlap belong to clustering_error"):
            pairwise_distances([[0, 1], [0, 0]], metric, mass="unit")
