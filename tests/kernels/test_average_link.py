"""Constrained average link: against sets of rows, against scanning all pairs, against SciPy."""

from __future__ import annotations

from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist, squareform

from subscape.finders.alternatives.coala import average_link
from subscape.finders.alternatives.coala.average_link import (
    agglomerate_apart,
    agglomerate_apart_by_scanning,
    merge_apart,
)
from subscape.finders.alternatives.coala.coala import known_bits, labels_after
from subscape.measures import adjusted_rand_score


def by_sets(X, known, n_clusters, omega):
    """Literally: clusters are sets of rows, and every mean distance is taken anew."""
    D = squareform(pdist(X))
    clusters = {i: [i] for i in range(len(X))}
    done = []
    while len(clusters) > n_clusters:
        pairs = [
            (D[np.ix_(clusters[a], clusters[b])].mean(), a, b)
            for a, b in combinations(sorted(clusters), 2)
        ]
        apart = [
            pair
            for pair in pairs
            if not {known[i] for i in clusters[pair[1]] if known[i] >= 0}
            & {known[i] for i in clusters[pair[2]] if known[i] >= 0}
        ]
        best, other = min(pairs), min(apart, default=None)
        near = other is None or best[0] < omega * other[0]
        taken = best if near else other
        done.append((taken[1], taken[2], not near))
        clusters[taken[1]] += clusters.pop(taken[2])
    return done


@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([0.2, 0.6, 0.9, 1.5]))
@settings(deadline=None, max_examples=50)
def test_merges_are_those_of_sets_of_rows(seed, n, omega):
    rng = np.random.default_rng(seed)
    X, known = rng.normal(size=(n, 2)), rng.integers(-1, 3, n)
    merges = agglomerate_apart(pdist(X), known_bits([known]), 1, omega)
    assert list(zip(merges.left, merges.right, merges.apart, strict=True)) == by_sets(
        X, known, 1, omega
    )


@given(
    st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 5),
    st.sampled_from([0.1, 0.6, 1.0, np.inf]), st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=50)
def test_remembering_partners_changes_nothing(seed, n, k, omega, ties):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float) if ties else rng.normal(size=(n, 3))
    many = rng.integers(-1, 70, n)
    many[0] = 69
    bits = known_bits([many, rng.integers(0, 2, n)])
    assert bits.shape[1] == 2  # words
    expected = agglomerate_apart_by_scanning(pdist(X), bits, k, omega)
    for version in (merge_apart, merge_apart.reference):
        with mock.patch.object(average_link, "merge_apart", version):
            found = agglomerate_apart(pdist(X), bits.copy(), k, omega)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_only_distances_is_scipys_average_linkage():
    X = np.random.default_rng(0).normal(size=(60, 3))
    bits = known_bits([np.arange(60) % 2])
    merges = agglomerate_apart(pdist(X), bits, 4, np.inf)
    tree = linkage(X, "average")
    labels = labels_after(merges, 60)
    assert adjusted_rand_score(labels, cut_tree(tree, 4).ravel()) == 1
    np.testing.assert_allclose(np.sort(merges.height), tree[:56, 2])
    assert not merges.apart.any()


def test_a_small_omega_joins_across_while_it_can():
    rng = np.random.default_rng(1)
    known = np.repeat([0, 1], 20)
    merges = agglomerate_apart(pdist(rng.normal(size=(40, 2))), known_bits([known]), 2, 1e-9)
    # Two known clusters of 20: 20 merges pair their rows up, then nothing is left apart.
    np.testing.assert_array_equal(merges.apart, np.arange(38) < 20)


def test_it_can_be_stopped():
    asked = []
    merges = agglomerate_apart(
        pdist(np.random.default_rng(0).normal(size=(200, 2))),
        known_bits([np.arange(200) % 2]), 1, 0.6,
        keep_going=lambda done: asked.append(done) or done < 100,
    )  # fmt: skip
    assert asked == [0, 64, 128]
    assert len(merges.left) == 128


@pytest.mark.parametrize("n", [1, 2])
def test_tiny(n):
    merges = agglomerate_apart(pdist(np.arange(n)[:, None] * 1.0), known_bits([np.arange(n)]), 1, 1)
    assert len(merges.left) == n - 1
