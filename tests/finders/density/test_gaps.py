"""Groups that gaps part: one gap after the other."""

import numpy as np
import pytest
from scipy.stats import binom

from subscape.finders.density import gaps
from subscape.finders.density.gaps import gap_groups, surprise, widest_gap

TWO = float(np.log(2))


def lines(hole):
    """Two parallel lines, eight steps apart; one has a hole of so many steps in its middle."""
    along = np.arange(150.0)
    broken = np.where(along < 75, along, along - 1 + hole)
    return np.r_[np.c_[along, 0 * along], np.c_[broken, 0 * broken + 8]]


def test_a_long_group_is_not_cut_where_it_is_thin():
    points = lines(hole=5)
    assert widest_gap(points).labels.max() == 2  # three groups at once
    one = widest_gap(points, most_nats=TWO)
    assert np.bincount(one.labels).tolist() == [150, 150]
    assert one.width > widest_gap(points).width
    assert np.bincount(gap_groups(points, one.width).labels).tolist() == [150, 150]


def test_groups_within_groups_are_parted_by_gaps_as_wide():
    groups = gap_groups(lines(hole=16), least=0.5)
    assert np.bincount(groups.labels).tolist() == [150, 75, 75]


def test_width_and_nats_of_a_gap():
    gap = widest_gap(lines(hole=1), most_nats=TWO)
    np.testing.assert_allclose(gap.entropy, TWO)
    np.testing.assert_allclose(gap.score, gap.width * TWO)
    # Links within are as long as the way to the fifth neighbour, three steps on either side; those
    # between are eight steps long.
    np.testing.assert_allclose(gap.width, np.log(8 / 3), atol=0.01)


def unlikely(inside, beside):
    """By parts of the way on either side: whole, half, a quarter, an eighth of it."""
    shares = (1 / 3, 1 / 2, 2 / 3, 4 / 5)
    told = [-binom.logcdf(inside, inside + m, q) for m, q in zip(beside, shares, strict=True)]
    return max(0.0, max(told) - np.log(4))


def test_how_unlikely_a_gap_is():
    along = np.arange(100.0)
    line = np.c_[along, 0 * along]
    # One ball, and on either side as many rows as the gap is steps long, none of them in it.
    for steps in (2, 5, 20):
        known = unlikely(0, [2 * (steps // part) for part in (1, 2, 4, 8)])
        np.testing.assert_allclose(surprise(line[:40], line[39 + steps :]), known)
    # Beside another line there are many balls, each as wide as the gap and with rows on both sides.
    assert surprise(line, line + np.array([0, 4])) > 20 * surprise(line[:40], line[43:])
    # It does not matter in what order the rows are, nor which group is the first.
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(60, 3)), rng.normal([7, 0, 0], 1, (40, 3))
    known = surprise(first, second)
    np.testing.assert_allclose(surprise(second, first), known)
    np.testing.assert_allclose(surprise(rng.permutation(first), second), known)


def test_two_small_groups_far_apart_are_close_by_themselves():
    first = np.c_[np.arange(8.0), np.zeros(8)]
    # Seven others of either lie within an eighth of the way, and no row in it.
    np.testing.assert_allclose(
        surprise(first, first + np.array([107, 0])), -np.log(4 * (1 / 5) ** 14)
    )


def test_strays_make_a_gap_likelier():
    along = np.arange(100.0)
    line = np.c_[along, 0 * along]
    first, second = line[:44], line[59:]  # sixteen steps
    assert surprise(first, second) == surprise(first, second, line[:0])
    strays = np.array([[52.0, 30.0], [43.0, 9.0]]), line[50:51], line[50:54]
    found = [surprise(first, second, each) for each in strays]
    np.testing.assert_allclose(found, [unlikely(k, [32, 16, 8, 4]) for k in (0, 1, 4)])


def test_far_places_of_a_gap_count_for_nothing():
    along = np.arange(30.0)
    first = np.c_[along, 0 * along]
    near = np.c_[along, 4 + 0.05 * along]  # opens slowly: all of it is within half more
    far = np.c_[along, 4 + 4 * along]
    assert surprise(first, near) > 4 * surprise(first, far)


def broken_line(rng, hole, height=0.0):
    """150 rows at random places along a line, none in a stretch where ``hole`` are expected."""
    along = np.sort(rng.uniform(0, 150, 150))
    along = np.where(along < 75, along, along + hole)
    return np.c_[along, rng.normal(height, 0.05, 150)]


def test_a_thin_line_that_chance_breaks_is_one_group():
    once = twice = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for hole in (3.0, 25.0):
            line = broken_line(rng, hole)
            found = gap_groups(np.r_[line, broken_line(rng, 0, 30)], 0.3).labels
            n_groups = int(found.max()) + 1
            assert len(np.unique(found[150:])) == 1
            once += hole == 3.0 and n_groups == 2
            twice += hole == 25.0 and n_groups == 3
    assert once == 20 and twice == 20


def test_groups_that_chance_parts_are_joined_the_least_sure_first(monkeypatch):
    # Four stretches of a line: between the first two a row or two would be missing, and so on.
    along = np.concatenate([np.arange(50.0) + start for start in (0, 52, 110, 200)])
    points, labels = np.c_[along, 0 * along], np.repeat(np.arange(4), 50)
    asked = []

    def judged(first, second, strays):
        asked.append((len(first), len(second), len(strays)))
        return surprise(first, second, strays)

    monkeypatch.setattr(gaps, "surprise", judged)
    members = np.ones(200, dtype=bool)
    # Gaps of 3, 9 and 41 steps: 1.1, 5.9 and 32 nats. It takes log(200 / .01) or 9.9.
    mended = gaps._mended(points, labels, members)
    assert mended.tolist() == [0] * 150 + [1] * 50
    assert asked[:6] == [(50, 50, 0)] * 6
    assert (100, 50, 0) in asked and asked[-1] == (150, 50, 0)
    # Rows that are in no group are no ends of a gap.
    asked.clear()
    members[[49, 50]] = False
    gaps._mended(points, labels, members)
    assert asked[0] == (49, 49, 2)
    # Of a group that has no row that is surely its own all rows are asked.
    asked.clear()
    members[:50] = False
    assert gaps._mended(points, labels, members).tolist() == mended.tolist()
    assert asked[0] == (50, 49, 1)


def test_a_group_of_rows_that_all_lie_at_the_rim_is_no_error():
    # Rows on each other, and a few far apart: of such groups no row is near the others.
    points = np.r_[np.zeros((60, 2)), 3.0 + np.arange(14.0).reshape(7, 2), np.full((30, 2), 40.0)]
    labels = np.r_[np.zeros(60), np.ones(7), np.full(30, 2)].astype(int)
    members = labels != 1
    assert gaps._mended(points, labels, members).tolist() == labels.tolist()


def test_only_rows_that_are_surely_far_out_are_no_ends_of_a_gap():
    along = np.arange(60.0)
    line = np.c_[along, 0 * along]
    points = np.r_[line, line + np.array([0, 100]), [[30.0, 9.0], [30.0, 109.0]]]
    labels = np.r_[np.zeros(60), np.ones(60), 0, 1].astype(int)
    assert np.flatnonzero(gaps._at_the_rim(points, labels)).tolist() == [120, 121]


@pytest.mark.parametrize("between", [0, 3])
def test_a_few_rows_in_the_gap_are_no_bridge(between):
    rng = np.random.default_rng(1)
    clouds = [rng.normal(size=(150, 2)), rng.normal([14, 0], 1, (150, 2))]
    strays = np.c_[np.linspace(5, 9, between), np.zeros(between)]
    found = gap_groups(np.r_[clouds[0], clouds[1], strays], 0.2)
    assert found.labels[:300].tolist() == [found.labels[0]] * 150 + [found.labels[150]] * 150
    assert found.labels[0] != found.labels[150]
