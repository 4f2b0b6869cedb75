"""Profiles of pairs of attributes: what is counted, and what they see that single ones do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape import SubspaceClustering
from subscape.core import AxisSubspaces
from subscape.measures import Bins, DensityProfile, adco_similarity, pair_profile


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_counts_are_joint_and_sum_to_the_single_ones(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(25, 3)), 1)
    labels = rng.integers(0, 2, 25)
    labels[:2] = 0, 1
    number = int(rng.integers(1, 5))
    single = DensityProfile.of(X, labels, bins=number)
    pairs = pair_profile(X, labels, bins=number)
    assert pairs.bins.names == ("x0 & x1", "x0 & x2", "x1 & x2")
    for name, (i, j) in zip(pairs.bins.names, ((0, 1), (0, 2), (1, 2)), strict=True):
        shape = (single.n_clusters, *single.bins.sizes[[i, j]])
        grid = pairs.attribute(name).reshape(shape)
        np.testing.assert_array_equal(grid.sum(axis=2), single.attribute(i))
        np.testing.assert_array_equal(grid.sum(axis=1), single.attribute(j))
        for k in range(2):
            edges = single.bins.edges[i][1:-1], single.bins.edges[j][1:-1]
            for a in range(shape[1]):
                for b in range(shape[2]):
                    inside = (np.searchsorted(edges[0], X[:, i], "right") == a) & (
                        np.searchsorted(edges[1], X[:, j], "right") == b
                    )
                    assert grid[k, a, b] == (inside & (labels == k)).sum()


def test_opposite_corners_are_seen_only_by_pairs():
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (400, 2))
    X = corner + rng.uniform(-0.2, 0.2, (400, 2))
    crossed = corner[:, 0] ^ corner[:, 1]
    halves = np.arange(400) % 2
    single = [DensityProfile.of(X, labels, bins=2) for labels in (crossed, halves)]
    pairs = [pair_profile(X, labels, bins=2) for labels in (crossed, halves)]
    assert adco_similarity(*single) > 0.95
    assert adco_similarity(*pairs) < 0.6


def test_missing_nominal_soft_and_common_bins():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0]])
    left = pair_profile(X, [0, 0, 0], bins=2, missing="ignore")
    assert left.counts.tolist() == [[0, 0, 1, 1]]
    kept = pair_profile(X, [0, 0, 0], bins=2, missing="bin")
    assert kept.counts.sum() == 3
    assert kept.bins.total == 9
    with pytest.raises(ValueError, match="NaN"):
        pair_profile(X, [0, 0, 0])
    words = pair_profile([["a", "u"], ["b", "v"], ["a", "v"]], [0, 0, 1])
    assert words.bins.labels[0] == "x0 & x1 = a & u"
    assert words.counts.tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    soft = SubspaceClustering(np.array([[0.5, 0.25]]), AxisSubspaces(np.ones((1, 2), bool)))
    assert pair_profile([[0, 0], [1, 1]], soft, bins=2).counts.tolist() == [[0.5, 0, 0, 0.25]]
    one, other = np.random.default_rng(0).normal(size=(2, 40, 3))
    bins = Bins.common([one, other], 3)
    a, b = (pair_profile(part, np.zeros(40, int), bins=bins) for part in (one, other))
    assert a.bins == b.bins
    assert (
        pair_profile(one, np.zeros(40, int), bins=DensityProfile.of(one, [0] * 40, bins=bins)) == a
    )
    assert 0 < adco_similarity(a, b) < 1
    with pytest.raises(ValueError, match="infinity"):
        pair_profile(np.full((40, 3), np.inf), np.zeros(40, int), bins=bins)


def test_one_attribute_has_no_pairs():
    with pytest.raises(ValueError, match="at least 2 attributes"):
        pair_profile([[1.0], [2.0]], [0, 1])
