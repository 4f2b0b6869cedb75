"""Cuts of histograms: the twins agree, cuts lie between two heaps, and single heaps are not cut."""

import numpy as np
import pytest

from subscape.finders.oriented.lmclus.valleys import minimum_error_cuts


def random_histograms(seed):
    rng = np.random.default_rng(seed)
    m, bins = int(rng.integers(1, 12)), int(rng.integers(5, 60))
    histograms = rng.integers(0, 30, (m, bins))
    histograms[rng.random((m, bins)) < 0.4] = 0
    histograms[:, 0] += 1
    return np.ascontiguousarray(histograms, dtype=np.intp)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_twins_agree(seed, squared):
    histograms, least = random_histograms(seed), seed % 7
    fast = minimum_error_cuts(histograms, squared, least)
    slow = minimum_error_cuts.reference(histograms, squared, least)
    np.testing.assert_array_equal(fast.bins, slow.bins)
    np.testing.assert_allclose(fast.goodness, slow.goodness, rtol=1e-10)


def criterion(histogram, t):
    """Kittler and Illingworth's, with the variance of an even spread within a bin."""
    places = np.arange(len(histogram))
    total = 1.0
    for side in (places <= t, places > t):
        weights = histogram[side] / histogram.sum()
        share = weights.sum()
        mean = weights @ places[side] / share
        spread = weights @ np.square(places[side] - mean) / share + 1 / 12
        total += share * (np.log(spread) - 2 * np.log(share))
    return total


@pytest.mark.parametrize("seed", range(10))
def test_the_cut_is_the_deepest_place_between_two_heaps(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(15, 3, 400), rng.normal(45, 5, 800)
    values = np.clip(np.concatenate([first, second]), 0, 59.9).astype(int)
    histogram = np.bincount(values, minlength=60)
    cut = minimum_error_cuts(histogram[None].astype(np.intp), True, 1)
    occupied = np.flatnonzero(histogram)
    inner = range(occupied[0], occupied[-1])
    best = min(inner, key=lambda t: criterion(histogram, t))
    # The bottom may be level over empty bins, then the cut is in its middle.
    assert criterion(histogram, int(cut.bins[0])) == pytest.approx(criterion(histogram, best))
    assert 20 < cut.bins[0] < 35
    assert cut.goodness[0] > 10


def test_goodness_with_the_root_of_the_discriminability():
    histogram = np.array([[0, 3, 9, 3, 0, 0, 0, 1, 5, 8, 5, 1]], dtype=np.intp)
    cut = minimum_error_cuts(histogram, True, 1)
    root = minimum_error_cuts(histogram, False, 1)
    places, counts = np.arange(12), histogram[0]
    means, spreads = [], []
    for side in (places <= cut.bins[0], places > cut.bins[0]):
        means.append(np.average(places[side], weights=counts[side]))
        spreads.append(np.cov(places[side], fweights=counts[side], ddof=0) + 1 / 12)
    apart = (means[0] - means[1]) ** 2 / sum(spreads)
    assert cut.goodness[0] == pytest.approx(root.goodness[0] * np.sqrt(apart))


def test_an_even_spread_has_no_clear_cut():
    rng = np.random.default_rng(0)
    even = np.stack([np.bincount(rng.integers(0, 50, 2000), minlength=50) for _ in range(20)])
    assert minimum_error_cuts(even.astype(np.intp), True, 1).goodness.max() < 1


def test_lower_sides_with_too_few_rows_are_left_out():
    histogram = np.array([[5, 0, 0, 0, 0, 0, 0, 20, 40, 20]], dtype=np.intp)
    assert minimum_error_cuts(histogram, True, 5).goodness[0] > 1
    assert minimum_error_cuts(histogram, True, 6).goodness[0] < 1e-9


def test_everything_in_one_bin():
    histogram = np.zeros((1, 10), np.intp)
    histogram[0, 3] = 50
    for cut in (minimum_error_cuts, minimum_error_cuts.reference):
        found = cut(histogram, True, 1)
        assert not found.goodness[0] > 0
