"""The likeliest density with one hump: both kernels, and all densities that a child could try."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscape.validation.hump_likelihood import description_length, hump_log_likelihood


@given(st.integers(0, 10**6), st.integers(5, 80), st.integers(1, 9), st.floats(0, 3))
def test_twins_agree(seed, n, n_block, price):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=(3, n)).round(rng.integers(0, 4)), axis=1)
    fast = hump_log_likelihood(values, n_block, 0.01, price)
    slow = hump_log_likelihood.reference(values, n_block, 0.01, price)
    np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_no_density_with_one_hump_is_likelier(seed):
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.random(12) ** rng.choice([0.5, 1, 3]))
    widths = np.diff(sample[[0, 3, 6, 9, 11]])
    counts = np.full(4, 3.0)
    best = -np.inf
    # Heights on a grid, scaled to a density.
    for heights in product(np.arange(1, 25), repeat=4):
        top = int(np.argmax(heights))
        rises = all(np.diff(heights[: top + 1]) >= 0)
        if rises and all(np.diff(heights[top:]) <= 0):
            density = np.array(heights) / (np.array(heights) @ widths)
            best = max(best, float(counts @ np.log(density)) / 12)
    found = hump_log_likelihood(sample[None], 3, 1e-9)[0]
    assert found >= best - 1e-12
    assert found <= best + 0.02


def test_two_hills_are_told_worse_than_one():
    one = np.linspace(-1, 1, 200)
    two = np.r_[np.linspace(-1, -0.8, 100), np.linspace(0.8, 1, 100)]
    told = hump_log_likelihood(np.array([one, two]), 7, 1e-6)
    # The best hump over two hills fills the valley between them: half is lost of log 5.
    assert told[0] == pytest.approx(-np.log(2), abs=0.02)
    assert told[1] < -np.log(2) + np.log(5) / 2


def test_every_step_costs():
    values = np.sort(np.random.default_rng(0).normal(size=(1, 100)), axis=1)
    free, dear = (hump_log_likelihood(values, 5, 1e-6, price)[0] for price in (0.0, 1e6))
    flat = -np.log(np.ptp(values))
    assert free > flat
    # Steps are not chosen by their price: at least one is paid for.
    assert dear <= flat - 1e6 / 100 + 1e-9
    assert hump_log_likelihood(np.linspace(0, 1, 101)[None], 101, 1e-9, 5.0)[0] == pytest.approx(
        -5.0 / 101
    )


@given(st.integers(0, 10**6), st.integers(3, 200), st.integers(1, 7), st.integers(0, 3))
def test_lengths_of_both_kernels_agree(seed, n, d, digits):
    rng = np.random.default_rng(seed)
    turned = rng.normal(size=(d, d)) * np.exp(rng.normal(size=d))
    values = (rng.normal(size=(n, d)) @ turned).round(digits)
    fast, slow = description_length(values, 0.02), description_length.reference(values, 0.02)
    np.testing.assert_allclose(fast, slow, rtol=1e-6, atol=1e-6)


def test_a_group_along_a_line_is_cheaper_along_its_own_directions():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 2)) * [1.0, 0.1]
    angle = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    straight, turned = (description_length(rows, 0.02) for rows in (values, values @ angle))
    # One angle more has to be paid for, and the directions are known only nearly.
    assert turned == pytest.approx(straight + 0.5 * np.log(300), abs=2.0)


def test_two_far_groups_cost_more_as_one():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 9
    apart = description_length(one, 0.02) + description_length(two, 0.02) + 200 * np.log(2)
    assert description_length(np.r_[one, two], 0.02) > apart + 50
