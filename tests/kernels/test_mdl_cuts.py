"""Fayyad and Irani's cuts against an exhaustive search, and where they must and must not be."""

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.measures.density.mdl_cuts import _log2_of_labellings, mdl_cuts


def entropy(labels):
    _, counts = np.unique(labels, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def exhaustive(values, labels):
    """Every cut between distinct values, straight from the definition."""
    order = np.argsort(values, kind="stable")
    values, labels = values[order], labels[order]
    n, k = len(values), len(set(labels.tolist()))
    if n < 2 or k < 2:
        return []
    best = None
    for i in range(1, n):
        if values[i] > values[i - 1]:
            left, right = labels[:i], labels[i:]
            rest = (i * entropy(left) + (n - i) * entropy(right)) / n
            if best is None or rest < best[0] - 1e-12:
                best = (rest, i)
    if best is None:
        return []
    rest, i = best
    left, right = labels[:i], labels[i:]
    sides = [(len(set(side.tolist())), entropy(side)) for side in (left, right)]
    delta = log2(3**k - 2) - (k * entropy(labels) - sum(c * e for c, e in sides))
    if entropy(labels) - rest <= (log2(n - 1) + delta) / n:
        return []
    cut = (values[i - 1] + values[i]) / 2
    return [*exhaustive(values[:i], left), cut, *exhaustive(values[i:], right)]


@pytest.mark.parametrize("seed", range(60))
def test_equals_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 51)), int(rng.integers(1, 5))
    labels = rng.integers(0, k, n)
    values = np.round(rng.normal(size=n) + labels * rng.choice([0.0, 2.0, 5.0]), 1)
    np.testing.assert_allclose(mdl_cuts(values, labels), exhaustive(values, labels), atol=1e-12)


def test_two_separated_classes_need_one_cut():
    assert mdl_cuts(np.arange(20.0), np.repeat([3, 7], 10)).tolist() == [9.5]


def test_single_class_and_single_value():
    assert len(mdl_cuts(np.arange(9.0), np.zeros(9, int))) == 0
    assert len(mdl_cuts(np.ones(9), np.arange(9) % 2)) == 0
    assert len(mdl_cuts([1.0], [0])) == 0
    assert len(mdl_cuts([], [])) == 0


def test_random_labels_are_seldom_cut():
    rng = np.random.default_rng(5)
    cut = [len(mdl_cuts(rng.normal(size=100), rng.integers(0, 2, 100))) > 0 for _ in range(100)]
    assert sum(cut) < 5


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6))
def test_order_and_names_of_classes_do_not_matter_and_ties_stay_together(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 40)
    values = np.round(rng.normal(size=40) + 3 * labels)
    cuts = mdl_cuts(values, labels)
    order = rng.permutation(40)
    np.testing.assert_array_equal(cuts, mdl_cuts(values[order], labels[order]))
    np.testing.assert_array_equal(cuts, mdl_cuts(values, np.array([5, 1, 9])[labels]))
    assert (np.diff(cuts) > 0).all()
    assert not np.isin(cuts, values).any()


def test_neighbouring_floats_are_still_separated():
    low = 1.0
    high = np.nextafter(low, 2)
    [cut] = mdl_cuts(np.repeat([low, high], 20), np.repeat([0, 1], 20))
    assert low < cut <= high


def test_missing_values_and_noise_are_left_out():
    values, labels = np.arange(20.0), np.repeat([0, 1], 10)
    more = np.concatenate([values, [np.nan, 4.0]])
    assert mdl_cuts(more, np.concatenate([labels, [1, -1]])).tolist() == [9.5]


def test_limits_on_bins_and_samples():
    values, labels = np.arange(90.0), np.repeat([0, 1, 2], 30)
    assert mdl_cuts(values, labels).tolist() == [29.5, 59.5]
    assert len(mdl_cuts(values, labels, max_bins=2)) == 1
    assert len(mdl_cuts(values, labels, max_bins=1)) == 0
    few = np.concatenate([np.zeros(3, int), np.ones(60, int)])
    assert mdl_cuts(np.arange(63.0), few).tolist() == [2.5]
    assert (mdl_cuts(np.arange(63.0), few, min_samples=5) >= 4.5).all()


def test_many_classes_do_not_overflow():
    labels = np.repeat(np.arange(700), 2)
    cuts = mdl_cuts(labels.astype(float), labels)
    assert np.isfinite(cuts).all()


@pytest.mark.parametrize("k", [1, 2, 3, 30, 599, 600, 601, 2000])
def test_bits_of_labellings_by_whole_numbers(k):
    exact = 3**k - 2
    # As many bits as whole numbers say, of which the first sixty are enough.
    shift = max(exact.bit_length() - 60, 0)
    assert _log2_of_labellings(k) == pytest.approx(log2(exact >> shift) + shift, abs=1e-9)
