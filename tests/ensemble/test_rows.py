from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import any_clustering, seeds

from subscape import SubspaceClustering
from subscape.core.errors import ShapeMismatchError
from subscape.ensemble import consensus_rows
from subscape.ensemble.rows import mean_rand
from subscape.measures import adjusted_rand_score
from subscape.measures.stacked_clusters import stack


def test_flipped_copies_of_a_truth_give_it_back(flipped):
    copies, truth = flipped
    found = consensus_rows(copies, 5, random_state=0)
    assert adjusted_rand_score(found.labels, truth) > 0.99
    assert 0.8 < found.agreement < 0.95


def test_the_number_of_clusters_is_found(flipped):
    copies, truth = flipped
    merged = [np.where(c == 4, 3, c) for c in copies[:4]]  # some members see fewer
    split = [np.where((c == 0) & (np.arange(200) % 2 == 0), 5, c) for c in copies[:4]]
    found = consensus_rows(copies + merged + split, random_state=0)
    assert found.n_clusters == 5
    assert set(found.fits) == {2, 3, 4, 5, 6}
    assert max(found.fits, key=found.fits.get) == 5
    assert adjusted_rand_score(found.labels, truth) > 0.99


@given(seeds)
@settings(deadline=None, max_examples=30)
def test_any_kinds_and_what_the_numbers_mean(seed):
    rng = np.random.default_rng(seed)
    members = [any_clustering(rng, (12, int(rng.integers(2, 5)))) for _ in range(5)]
    total = sum(member.n_clusters for member in members)
    found = consensus_rows(members, min(3, total), random_state=0)
    labels, clustered = found.labels, np.flatnonzero(found.labels >= 0)
    assert found.votes.shape == (found.n_clusters, 12)
    assert (found.votes >= 0).all() and (found.votes.sum(axis=0) <= 1 + 1e-6).all()
    np.testing.assert_array_equal(np.unique(labels[clustered]), np.arange(found.n_clusters))
    np.testing.assert_allclose(
        found.row_agreement[clustered], found.votes[labels[clustered], clustered]
    )
    for k in range(found.n_clusters):
        assert found.cluster_agreement[k] == pytest.approx(found.row_agreement[labels == k].mean())
    np.testing.assert_array_equal(found.clustering.labels(), labels)
    absent = np.mean([member.members.clusters_per_row() == 0 for member in members], axis=0)
    np.testing.assert_array_equal(labels < 0, absent > 0.5)
    np.testing.assert_allclose(found.row_agreement[labels < 0], absent[labels < 0])


def test_the_same_seed_gives_the_same_and_names_of_labels_don_t_count(flipped):
    copies, _ = flipped
    rng = np.random.default_rng(1)
    renamed = [rng.permutation(5)[c] for c in copies]
    first = consensus_rows(copies, 5, random_state=0)
    np.testing.assert_array_equal(first.labels, consensus_rows(copies, 5, random_state=0).labels)
    np.testing.assert_array_equal(first.labels, consensus_rows(renamed, 5, random_state=3).labels)


def test_noise_by_majority_or_only_if_all_say_so():
    members = [[0, 0, 1, 1, -1, -1], [0, 0, 1, 1, -1, -1], [0, 0, 1, 1, 1, -1]]
    found = consensus_rows(members, 2, random_state=0)
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 1, -1, -1])
    np.testing.assert_allclose(found.row_agreement[4:], [2 / 3, 1])
    found = consensus_rows(members, 2, noise="abstain", random_state=0)
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 1, 1, -1])
    assert found.row_agreement[4] == 1  # the only vote cast


def test_everything_may_be_noise():
    found = consensus_rows([[0, -1, -1], [-1, 0, -1], [-1, -1, 0]], random_state=0)
    np.testing.assert_array_equal(found.labels, -1)
    assert found.n_clusters == found.clustering.n_clusters == 0
    np.testing.assert_allclose(found.row_agreement, 2 / 3)


def test_members_of_noise_alone_count_as_noise_only():
    members = [[0, 0, 1, 1], [0, 0, 1, -1], [-1] * 4]
    found = consensus_rows(members, 2, random_state=0)
    np.testing.assert_array_equal(found.labels, [0, 0, 1, -1])
    np.testing.assert_allclose(found.row_agreement, [1, 1, 1, 2 / 3])
    with pytest.raises(ValueError, match="no member has a cluster"):
        consensus_rows([[-1, -1], [-1, -1]])


def test_weights_decide():
    a, b = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
    assert consensus_rows([a, b], 2, weights=[3, 1], random_state=0).labels[2] == 0
    assert consensus_rows([a, b], 2, weights=[1, 3], random_state=0).labels[2] == 1


def test_features_don_t_matter():
    a = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=3)
    b = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    grid = SubspaceClustering.from_coclustering([0, 0, 1, 1], [0, 1, 1])
    found = consensus_rows([a, b, grid], random_state=0)
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 1])
    assert found.agreement == 1
    named = a.with_names(feature_names="xyz", row_names="abcd")
    kept = consensus_rows([named, named], 2, random_state=0).clustering
    assert kept.feature_names == ("x", "y", "z") and kept.row_names == tuple("abcd")


def test_mean_rand_is_the_mean_adjusted_rand_index():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 40)
    members = [np.where(rng.random(40) < 0.1, -1, rng.integers(0, 4, 40)) for _ in range(5)]
    clusters = stack([SubspaceClustering.from_labels(m) for m in members], features=False)
    expected = [adjusted_rand_score(labels[m >= 0], m[m >= 0]) for m in members]
    assert mean_rand(labels, clusters) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([],), "ensemble is empty"),
        (([[0, 1], [0, 1, 1]],), "member 1 is over 3 rows"),
        (([[0, 1], [0, 1]], 5), "between 1 and the 4 clusters"),
        (([[0, 1], [0, 1]], 0), "between 1"),
    ],
)
def test_bad_input(arguments, text):
    with pytest.raises(ValueError, match=text):
        consensus_rows(*arguments)


def test_bad_options():
    with pytest.raises(ValueError, match="noise must be"):
        consensus_rows([[0, 1]], noise="drop")
    for weights in ([1.0], [1.0, 0.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="positive numbers"):
            consensus_rows([[0, 1], [0, 1]], weights=weights)
    with pytest.raises(ShapeMismatchError, match="names its rows"):
        consensus_rows([
            SubspaceClustering.from_labels([0, 1], row_names=names) for names in ("ab", "cd")
        ])  # fmt: skip
