"""The quick rotation between two steps on a device is that of the steps in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import seeds

from subscape.finders.views.nrkmeans import rotation
from subscape.finders.views.nrkmeans.rotation import GramRotation, scoring, summed_up, turn


def views(seed, noise, sizes):
    """Orthonormal bases, and sums and counts of clusters around a common mean."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(max(*sizes, len(sizes)), 25))
    turned = np.linalg.qr(rng.normal(size=(p, p)))[0]
    cuts = np.sort(rng.choice(np.arange(1, p), len(sizes) - 1, replace=False))
    bases = np.split(turned, cuts, axis=1)
    if noise:
        bases = [basis[:, : max(1, basis.shape[1] // 2)] for basis in bases]
    counts = [rng.integers(5, 100, size=size) for size in sizes]
    centres = [rng.normal(size=(size, p)) * np.exp(rng.normal(size=p)) for size in sizes]
    centres = [c - (n @ c) / n.sum() for c, n in zip(centres, counts, strict=True)]
    sums = [c * n[:, None] for c, n in zip(centres, counts, strict=True)]
    return tuple(bases), tuple(centres), sums, counts


def same_spaces(found, expected):
    assert [each.shape for each in found] == [each.shape for each in expected]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=1e-8)
        np.testing.assert_allclose(mine.T @ mine, np.eye(mine.shape[1]), atol=1e-9)


@given(seeds, st.booleans(), st.lists(st.integers(2, 6), min_size=1, max_size=4))
@settings(deadline=None, max_examples=50)
def test_the_same_directions_and_scores(seed, noise, sizes):
    bases, centres, sums, counts = views(seed, noise, sizes)
    groups = summed_up(sums, counts)
    least = 1e-10 * sum(np.square(factor).sum() for factor in groups.factors)
    quick = GramRotation(bases, centres, noise, least)
    quick.update(sums, counts)
    expected = turn(bases, groups.factors, noise, least)
    same_spaces(quick.bases, expected)
    weights, offsets = scoring(expected, groups.centres)
    np.testing.assert_allclose(quick.scoring()[0], weights, atol=1e-8)
    np.testing.assert_allclose(quick.scoring()[1], offsets, atol=1e-8)


def test_directions_that_hardly_differ_keep_their_digits():
    """Scalar products square the ratio of the largest to the smallest direction."""
    bases, centres, sums, counts = views(5, True, [3, 2])
    p = len(bases[0])
    scales = np.ones(p)
    scales[1:] = 1e-4
    sums = [each * scales for each in sums]
    groups = summed_up(sums, counts)
    least = 1e-14 * sum(np.square(factor).sum() for factor in groups.factors)
    quick = GramRotation(bases, centres, True, least)
    quick.update(sums, counts)
    same_spaces(quick.bases, turn(bases, groups.factors, True, least))


@pytest.mark.parametrize("turning", [True, False])
def test_more_centres_than_features(turning, monkeypatch):
    rng = np.random.default_rng(0)
    sums, counts = rng.normal(size=(7, 3)), rng.integers(1, 9, 7)
    sums -= counts[:, None] * sums.sum(axis=0) / counts.sum()
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0][:, :2]
    views = GramRotation((basis,), (sums,), True, 1e-9, turning)
    monkeypatch.setattr(rotation, "dsyevd", None)
    views.update([sums], [counts])
    groups = summed_up([sums], [counts])
    expected = turn((basis,), groups.factors, True, 1e-9) if turning else (basis,)
    np.testing.assert_array_equal(views.bases[0], expected[0])
    np.testing.assert_array_equal(views.scoring()[0], scoring(expected, groups.centres)[0])


def test_views_that_stay():
    bases, centres, sums, counts = views(1, True, [3, 2])
    still = GramRotation(bases, centres, True, 1e-9, turning=False)
    np.testing.assert_array_equal(still.scoring()[0], scoring(bases, centres)[0])
    still.update(sums, counts)
    same_spaces(still.bases, bases)
    weights, offsets = scoring(bases, summed_up(sums, counts).centres)
    np.testing.assert_allclose(still.scoring()[0], weights, atol=1e-10)
    np.testing.assert_allclose(still.scoring()[1], offsets, atol=1e-10)
