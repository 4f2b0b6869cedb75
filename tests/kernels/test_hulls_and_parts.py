"""Hulls of distribution functions and parts of graphs: both kernels, and by definition."""

import numpy as np
import pytest

from subscape.finders.density.graph import connected_parts, highest_levels
from subscape.validation.unimodality import convex_minorant


@pytest.mark.parametrize("seed", range(8))
def test_hulls_agree_and_are_the_largest_convex_function_below(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(size=40))
    y = np.cumsum(rng.random(40)) if seed % 2 else rng.normal(size=40)
    hull = convex_minorant(x, y)
    np.testing.assert_allclose(hull, convex_minorant.reference(x, y), atol=1e-12)
    # The lowest chord over each place, of all pairs of points.
    lowest = [
        min(
            np.interp(place, [x[a], x[b]], [y[a], y[b]])
            for a in range(i + 1)
            for b in range(i, len(x))
        )
        for i, place in enumerate(x)
    ]
    np.testing.assert_allclose(hull, lowest, atol=1e-12)


def test_points_on_a_line_and_two_points():
    x = np.arange(5.0)
    for kernel in (convex_minorant, convex_minorant.reference):
        np.testing.assert_allclose(kernel(x, 2 * x), 2 * x)
        np.testing.assert_allclose(kernel(x[:2], np.array([3.0, 1.0])), [3.0, 1.0])


@pytest.mark.parametrize("seed", range(8))
def test_parts_agree_and_are_those_of_a_walk(seed):
    rng = np.random.default_rng(seed)
    links = rng.integers(0, 30, (18, 2)).astype(np.intp)
    number, part = connected_parts(links, 30)
    slow_number, slow = connected_parts.reference(links, 30)
    assert number == slow_number == part.max() + 1
    np.testing.assert_array_equal(part, slow)
    reached = np.eye(30, dtype=bool)
    reached[links[:, 0], links[:, 1]] = reached[links[:, 1], links[:, 0]] = True
    for _ in range(5):
        reached = (reached.astype(int) @ reached.astype(int)) > 0
    np.testing.assert_array_equal(part[:, None] == part, reached)


def test_no_link_leaves_every_row_alone():
    number, part = connected_parts(np.empty((0, 2), dtype=np.intp), 3)
    assert number == 3
    assert part.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(8))
def test_highest_levels_agree_and_are_those_of_each_row(seed):
    rng = np.random.default_rng(seed)
    links = rng.integers(0, 20, (30, 2)).astype(np.intp)
    border = rng.choice(30, 9, replace=False)
    levels = rng.normal(size=30).round(1)
    found = highest_levels(links, border, levels, 20)
    slow = [
        max(levels[link] for link in border if row in links[link])
        for row in range(20)
        if row in links[border]
    ]
    assert found.tolist() == highest_levels.reference(links, border, levels, 20).tolist() == slow


def test_a_border_without_links_has_no_levels():
    links, border = np.zeros((1, 2), dtype=np.intp), np.zeros(0, dtype=np.intp)
    for kernel in (highest_levels, highest_levels.reference):
        assert kernel(links, border, np.zeros(1), 3).tolist() == []
