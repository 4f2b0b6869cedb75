"""The likeliest density with one hump: both kernels, and all densities that a child could try."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscape.validation.hump_likelihood import (
    _next_to,
    _parted,
    description_length,
    hump_log_likelihood,
    merged_groups,
)


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


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 5), st.integers(1, 3))
def test_both_kernels_merge_the_same_groups(seed, n_groups, d, n_centres):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(n_centres, d))
    labels = np.r_[np.arange(n_groups), rng.integers(0, n_groups, 20 * n_groups)]
    values = centres[labels % n_centres] + rng.normal(size=(len(labels), d))
    fast = merged_groups(values, labels, 3, 0.02)
    np.testing.assert_array_equal(fast, merged_groups.reference(values, labels, 3, 0.02))
    # No group is torn, and two are left.
    assert len(set(zip(labels.tolist(), fast.tolist(), strict=True))) == n_groups
    assert 2 <= fast.max() + 1 <= n_groups


def test_every_merger_makes_the_rows_cheaper():
    rng = np.random.default_rng(3)
    clouds = rng.normal(size=(240, 2)) + np.repeat([[0.0, 0], [9, 0], [0, 9]], 80, axis=0)
    sliced = 2 * np.repeat([0, 1, 2], 80) + (clouds[:, 1] > np.repeat([0, 0, 9], 80))
    labels = np.unique(sliced, return_inverse=True)[1]
    merged = merged_groups(clouds, labels, 4, 0.02)
    assert len(np.unique(labels)) > 3
    assert len(set(zip(merged.tolist(), np.repeat([0, 1, 2], 80).tolist(), strict=True))) == 3

    def nats(groups):
        sizes = np.bincount(groups)
        parts = [description_length(clouds[groups == k], 0.02) for k in range(len(sizes))]
        shares = -(sizes * np.log(sizes / len(groups))).sum()
        return sum(parts) + shares + 0.5 * (len(sizes) - 1) * np.log(len(groups))

    assert nats(merged) < nats(labels)


def test_the_first_of_merged_groups_gives_the_place():
    rows = np.r_[np.linspace(50, 51, 40), np.linspace(0, 1, 40), np.linspace(51, 52, 40)][:, None]
    assert (
        merged_groups(rows, np.repeat([0, 1, 2], 40), 2, 0.02).tolist()
        == [0] * 40 + [1] * 40 + [0] * 40
    )


def test_nats_of_two_numbers_in_the_place_of_one():
    known = -(30 * np.log(0.3) + 70 * np.log(0.7)) + 0.5 * np.log(500)
    assert _parted(30, 70, 500) == pytest.approx(known)


@pytest.mark.parametrize("kernel", [merged_groups, merged_groups.reference])
@pytest.mark.parametrize("seed", range(12))
def test_groups_are_merged_if_one_density_is_cheaper(kernel, seed):
    """Two groups as near as the price of the second one, beside a third far away."""
    rng = np.random.default_rng(seed)
    gap = np.linspace(0.5, 8.5, 12)[seed]
    rows = rng.normal(size=(90, 1)) + np.repeat([[0.0], [gap], [50.0]], 30, axis=0)
    labels = np.repeat([0, 1, 2], 30)
    parts = [description_length(rows[labels == k], 0.02) for k in (0, 1)]
    saved = sum(parts) + 60 * np.log(2) + 0.5 * np.log(90) - description_length(rows[:60], 0.02)
    merged = kernel(rows, labels, 1, 0.02)
    assert merged.tolist() == ([0] * 60 + [1] * 30 if saved > 0 else labels.tolist())
    assert abs(saved) > 1e-6


def test_both_sides_of_the_price_were_seen():
    n_merged = 0
    for seed, gap in enumerate(np.linspace(0.5, 8.5, 12)):
        rows = np.random.default_rng(seed).normal(size=(90, 1))
        rows += np.repeat([[0.0], [gap], [50.0]], 30, axis=0)
        n_merged += merged_groups(rows, np.repeat([0, 1, 2], 30), 1, 0.02).max() == 1
    assert 0 < n_merged < 12


def test_neighbours_are_near_in_their_own_spreads():
    # Six clusters on a line: four nearest of each; distances in units of both spreads.
    rng = np.random.default_rng(0)
    places = [0.0, 2.0, 5.0, 9.0, 14.0, 20.0]
    spreads = [1.0, 1.0, 1.0, 1.0, 1.0, 9.0]
    pairs = zip(places, spreads, strict=True)
    seen = np.concatenate([place + spread * rng.normal(size=(40, 1)) for place, spread in pairs])
    parts = {10 + k: np.arange(40 * k, 40 * k + 40) for k in range(6)}
    known = set()
    for i, a in parts.items():
        away = {}
        for j, b in parts.items():
            if i != j:
                gap = seen[a].mean() - seen[b].mean()
                away[j] = gap**2 / (seen[a].var() + seen[b].var() + 0.02**2)
        known |= {tuple(sorted((i, j))) for j in sorted(away, key=away.get)[:4]}
    assert _next_to(seen, parts, 4, 0.02) == sorted(known)
    assert len(_next_to(seen, {k: parts[k] for k in (10, 11, 12)}, 4, 0.02)) == 3
