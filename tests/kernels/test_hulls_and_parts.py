"""Hulls of distribution functions and parts of graphs: both kernels, and by definition."""

import numpy as np
import pytest

from subscape.finders.density import graph
from subscape.finders.density.graph import (
    connected_parts,
    distinct_links,
    highest_hill,
    highest_levels,
    hills_climbed,
    nearest_of_few,
    shortest_tree,
    ties_spread,
)
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


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_the_shortest(seed):
    from scipy.sparse.csgraph import minimum_spanning_tree

    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 2))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    core = np.sort(apart, axis=1)[:, 3]
    ends, lengths = shortest_tree(apart, core)
    slow = shortest_tree.reference(apart, core)
    np.testing.assert_array_equal(ends, slow[0])
    np.testing.assert_array_equal(lengths, slow[1])
    mutual = np.maximum(apart, np.maximum(core[:, None], core))
    np.fill_diagonal(mutual, 0.0)
    assert lengths.sum() == pytest.approx(minimum_spanning_tree(mutual).sum())
    np.testing.assert_array_equal(mutual[ends[:, 0], ends[:, 1]], lengths)
    assert sorted({0, *ends[:, 1].tolist()}) == list(range(30))


def hill_of(links, levels, parts, values, error):
    """The definition: components of what lies above each pass, and what rises there."""
    best = 0.0
    for i in np.argsort(-levels, kind="stable"):
        above = np.array([n for n, level in enumerate(levels) if level > levels[i]], dtype=int)
        pairs = [(parts[a], parts[b]) for a, b in links[above]]
        group = {c: {c} for c in set(parts.tolist())}
        for a, b in pairs:
            if group[a] is not group[b]:
                whole = group[a] | group[b]
                for c in whole:
                    group[c] = whole
        a, b = (group[parts[row]] for row in links[i])
        if a is not b:
            stands = [
                sum(values[r] - levels[i] - error for r in range(len(parts)) if parts[r] in each)
                for each in (a, b)
            ]
            best = max(best, min(stands))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_hill_that_stands_out_most(seed):
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, 5, 25)
    parts[:5] = np.arange(5)
    values = rng.normal(3, 1, 25)
    links = np.array([rng.choice(25, 2, replace=False) for _ in range(40)])
    levels = np.minimum(values[links[:, 0]], values[links[:, 1]]) - rng.random(40)
    order = np.argsort(-levels, kind="stable")
    expected = hill_of(links, levels, parts, values, 0.3)
    for run in (highest_hill, highest_hill.reference):
        found = run(links, levels, order, parts, values, 5, 0.3)
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_ties_are_spread_over_their_step(seed):
    rng = np.random.default_rng(seed)
    column = np.round(rng.gamma(2.0, size=40), seed % 3)
    column[:2] = 1.0, 50.0
    places = rng.random(40)
    spread = ties_spread(column, np.sort(column), places)
    np.testing.assert_array_equal(spread, ties_spread.reference(column, np.sort(column), places))
    # In order still, nowhere farther than half way to the next value; what is alone stays.
    values, counts = np.unique(column, return_counts=True)
    for value, number in zip(values, counts, strict=True):
        moved = spread[column == value]
        others = np.abs(values[values != value] - value).min()
        edge = value in values[[0, -1]]
        assert (moved == value).all() if number == 1 else np.ptp(moved) > 0
        assert edge or np.abs(moved - value).max() <= max(np.diff(values).max() / 2, others / 2)


@pytest.mark.parametrize("seed", range(6))
def test_links_are_those_of_either_row_each_once(seed):
    rng = np.random.default_rng(seed)
    n, n_near = int(rng.integers(4, 40)), 3
    near = np.array([rng.permutation(np.delete(np.arange(n), i))[:n_near] for i in range(n)])
    apart = rng.random((n, n))
    apart = apart + apart.T
    distances = np.take_along_axis(apart, near, axis=1)
    known = sorted({(min(i, j), max(i, j)) for i in range(n) for j in near[i].tolist()})
    for run in (distinct_links, distinct_links.reference):
        links, lengths = run(near, distances, n_near)
        assert [tuple(each) for each in links.tolist()] == known
        np.testing.assert_array_equal(lengths, apart[links[:, 0], links[:, 1]])


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_rows_climb_to_the_top_that_steps_lead_to(digits):
    rng = np.random.default_rng(digits)
    n = 60
    links = np.unique(np.sort(rng.integers(0, n, (150, 2)), axis=1), axis=0)
    links = links[links[:, 0] < links[:, 1]]
    values = rng.normal(size=n).round(digits)
    linked = {i: [i] for i in range(n)}
    for a, b in links.tolist():
        linked[a].append(b)
        linked[b].append(a)

    def top(i):
        highest = max(linked[i], key=lambda j: (values[j], j))
        return i if highest == i else top(highest)

    known = [top(i) for i in range(n)]
    for run in (hills_climbed, hills_climbed.reference):
        tops, parts = run(links, values)
        assert tops.tolist() == sorted(set(known))
        assert tops[parts].tolist() == known


@pytest.mark.parametrize(("n", "d", "most"), [(2, 1, 1), (40, 1, 39), (90, 3, 12), (80, 6, 5)])
def test_the_nearest_of_few_rows(n, d, most):
    rng = np.random.default_rng(n)
    table = rng.normal(size=(n, d))
    apart = np.linalg.norm(table[:, None] - table, axis=2)
    np.fill_diagonal(apart, np.inf)
    for find in (nearest_of_few, nearest_of_few.reference):
        distances, places = find(table, most)
        np.testing.assert_array_equal(places, np.argsort(apart, axis=1)[:, :most])
        np.testing.assert_allclose(distances, np.sort(apart, axis=1)[:, :most])


def test_the_nearest_of_equal_rows_are_others():
    for find in (nearest_of_few, nearest_of_few.reference):
        distances, places = find(np.zeros((5, 2)), 4)
        assert not distances.any()
        assert not (places == np.arange(5)[:, None]).any()
        assert all(len(set(row)) == 4 for row in places.tolist())


@pytest.mark.parametrize("most", [1, 3, 5])
@pytest.mark.parametrize("block", [1, 13, 10**6])
def test_the_nearest_by_products_and_by_a_tree(monkeypatch, most, block):
    monkeypatch.setattr(graph, "BLOCK", block)
    table = np.random.default_rng(1).normal(size=(6, 4))
    apart = np.linalg.norm(table[:, None] - table, axis=2)
    expected = np.argsort(apart, axis=1)[:, 1 : most + 1]
    for find in (graph._by_products, graph._by_tree):
        distances, places = find(table, most)
        assert places.tolist() == expected.tolist()
        np.testing.assert_allclose(distances, np.take_along_axis(apart, expected, axis=1))
