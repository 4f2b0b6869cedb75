"""Offsets of hyperplanes over boxes of angles: the twins agree, bounds are exact."""

import numpy as np
import pytest

from subscape.finders.oriented.cash.hough import fullest_window, offset_ranges
from subscape.finders.oriented.cash.hyperplanes import across, normal_of


def random_box(seed):
    rng = np.random.default_rng(seed)
    n, t = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, t)) * rng.choice([0.01, 1.0, 100.0])
    if seed % 4 == 0:
        X = np.round(X)  # zeros and ties
    sides = np.sort(rng.uniform(0, np.pi, (2, t - 1)), axis=0)
    if seed % 5 == 0:
        sides = np.array([np.zeros(t - 1), np.full(t - 1, np.pi)])
    return X, sides[0].copy(), sides[1].copy(), rng


@pytest.mark.parametrize("seed", range(40))
def test_twins_agree(seed):
    X, low, high, rng = random_box(seed)
    ranges = offset_ranges(X, low, high)
    scale = np.abs(X).max() or 1.0
    np.testing.assert_allclose(
        ranges, offset_ranges.reference(X, low, high), rtol=1e-12, atol=1e-12 * scale
    )
    width = float(rng.uniform(0, 2)) * scale
    assert fullest_window(ranges, width) == fullest_window.reference(ranges, width)


@pytest.mark.parametrize("seed", range(30))
def test_extremes_are_bounds_and_are_reached(seed):
    X, low, high, rng = random_box(seed)
    smallest, largest = offset_ranges(X, low, high)
    if len(low) <= 1:
        angles = np.linspace(low, high, 4000)
    else:
        angles = rng.uniform(low, high, (4000, len(low)))
    offsets = X @ np.array([normal_of(a) for a in angles]).T
    slack = 1e-9 * (1 + np.abs(X).max())
    assert (offsets >= smallest[:, None] - slack).all()
    assert (offsets <= largest[:, None] + slack).all()
    if len(low) <= 1:
        length = 1e-3 * (1 + np.abs(X).max())
        np.testing.assert_allclose(offsets.min(axis=1), smallest, atol=length)
        np.testing.assert_allclose(offsets.max(axis=1), largest, atol=length)


@pytest.mark.parametrize("seed", range(20))
def test_halves_of_a_box_stay_within_it(seed):
    X, low, high, _ = random_box(seed)
    if not len(low):
        return
    smallest, largest = offset_ranges(X, low, high)
    middle = (low + high) / 2
    parts = [offset_ranges(X, low, np.r_[middle[:1], high[1:]])]
    parts.append(offset_ranges(X, np.r_[middle[:1], low[1:]], high))
    slack = 1e-12 * (1 + np.abs(X).max())
    np.testing.assert_allclose(np.min([a for a, _ in parts], axis=0), smallest, atol=slack)
    np.testing.assert_allclose(np.max([b for _, b in parts], axis=0), largest, atol=slack)


def test_all_normals_of_the_half_sphere():
    """Over all angles the extremes are those the lengths of the rows allow."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    smallest, largest = offset_ranges(X, np.zeros(3), np.full(3, np.pi))
    length, without_last = np.linalg.norm(X, axis=1), np.linalg.norm(X[:, :-1], axis=1)
    np.testing.assert_allclose(largest, np.where(X[:, -1] >= 0, length, without_last))
    np.testing.assert_allclose(smallest, -np.where(X[:, -1] <= 0, length, without_last))


@pytest.mark.parametrize("seed", range(30))
def test_the_fullest_window_against_all_starts(seed):
    rng = np.random.default_rng(seed)
    ranges = np.sort(rng.integers(0, 20, (2, int(rng.integers(1, 25)))), axis=0).astype(float)
    width = float(rng.integers(0, 6))
    starts = np.arange(-10, 30, 0.5)
    met = [np.sum((ranges[0] - width <= s) & (ranges[1] >= s)) for s in starts]
    found = fullest_window(ranges, width)
    assert found.count == max(met)
    assert np.sum((ranges[0] - width <= found.start) & (ranges[1] >= found.start)) == found.count


@pytest.mark.parametrize("t", [2, 3, 6])
def test_directions_within_a_hyperplane(t):
    normal = normal_of(np.random.default_rng(t).uniform(0, np.pi, t - 1))
    basis = across(normal)
    assert np.linalg.norm(normal) == pytest.approx(1)
    np.testing.assert_allclose(basis.T @ basis, np.eye(t - 1), atol=1e-12)
    np.testing.assert_allclose(normal @ basis, 0, atol=1e-12)
