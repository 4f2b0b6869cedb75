import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from subscape.core.errors import SubscapeError
from subscape.validation.unimodality import (
    dip_statistic,
    dithered,
    is_multimodal,
    unimodal_column,
    unimodal_table,
    valley_statistic,
)


def nearest_with_top_at(x, below, above, top):
    """Smallest distance of a distribution function with its top at point ``top``: a linear program.

    Unknowns: its values at the points (two at the top, where it may jump), and the distance.
    """
    n = len(x)
    places = [*range(top + 1), *range(top, n)]  # the point of each unknown
    unknowns = len(places) + 1
    rows, limits = [], []

    def at_most(terms, limit):
        row = np.zeros(unknowns)
        for place, factor in terms:
            row[place] += factor
        rows.append(row)
        limits.append(limit)

    far = unknowns - 1
    for u, i in enumerate(places):
        low = below[i] if u == top else above[i]
        high = above[i] if u == top + 1 else below[i]
        at_most([(u, 1), (far, -1)], high)
        at_most([(u, -1), (far, -1)], -low)
    for u in range(unknowns - 2):
        at_most([(u, 1), (u + 1, -1)], 0.0)
    for first in range(unknowns - 3):
        a, b, c = first, first + 1, first + 2
        if c <= top:
            sign = 1.0
        elif a > top:
            sign = -1.0
        else:
            continue
        one, two = x[places[b]] - x[places[a]], x[places[c]] - x[places[b]]
        # (U_b - U_a) / one <= (U_c - U_b) / two where it is convex.
        at_most([(a, -sign / one), (b, sign / one + sign / two), (c, -sign / two)], 0.0)
    goal = np.zeros(unknowns)
    goal[far] = 1
    found = linprog(goal, np.array(rows), np.array(limits), bounds=[(0, 1)] * unknowns)
    return found.fun


def dip_by_programs(column):
    values, counts = np.unique(column, return_counts=True)
    above = np.cumsum(counts) / len(column)
    below = above - counts / len(column)
    return min(nearest_with_top_at(values, below, above, top) for top in range(len(values)))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 60), min_size=4, max_size=14, unique=True))
@example([0, 23, 24, 28, 33, 34, 38, 41])  # the widest gap is level over four points
def test_the_dip_is_that_of_the_nearest_hump(numbers):
    column = np.array(sorted(numbers), dtype=float)
    assert dip_statistic(column) == pytest.approx(dip_by_programs(column), abs=1e-6)


def test_two_far_heaps_have_almost_the_largest_dip():
    rng = np.random.default_rng(0)
    column = np.concatenate([rng.normal(0, 1e-3, 500), rng.normal(1, 1e-3, 500)])
    assert 0.24 < dip_statistic(column) <= 0.25


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(-50, 50), st.floats(0.01, 100))
def test_scale_place_and_direction_don_t_matter(seed, place, scale):
    column = np.random.default_rng(seed).normal(size=60)
    assert dip_statistic(place + scale * column) == pytest.approx(dip_statistic(column), abs=1e-9)
    assert dip_statistic(-column) == pytest.approx(dip_statistic(column), abs=1e-9)


@pytest.mark.parametrize("n", [60, 400])
def test_uniform_columns_seldom_seem_to_have_humps(n):
    rng = np.random.default_rng(n)
    flagged = [is_multimodal(rng.random(n)) for _ in range(1000)]
    assert sum(flagged) <= 5


def test_skewed_heavy_and_rounded_columns_have_one_hump():
    rng = np.random.default_rng(1)
    for column in (
        rng.lognormal(size=1000),
        rng.standard_cauchy(1000),
        np.round(rng.normal(size=1000), 1),
        rng.poisson(2.0, 1000).astype(float),
        np.where(rng.random(1000) < 0.4, 0.0, rng.exponential(size=1000)),
        np.full(30, 3.0),
    ):
        assert not is_multimodal(column)


@pytest.mark.parametrize("decimals", [1, 12])
def test_a_column_loses_its_humps_and_nothing_else(decimals):
    rng = np.random.default_rng(2)
    column = np.round(np.concatenate([rng.normal(0, 1, 120), rng.normal(8, 1.5, 80)]), decimals)
    moved = unimodal_column(column)
    assert is_multimodal(column) and not is_multimodal(moved)
    assert moved.mean() == pytest.approx(column.mean())
    assert moved.std() == pytest.approx(column.std())
    # The same order, and what was tied stays tied.
    order = np.argsort(column, kind="stable")
    assert (np.diff(moved[order]) >= -1e-12).all()
    assert len(np.unique(moved.round(9))) <= len(np.unique(column))


def test_only_columns_with_humps_change():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(200, 3))
    assert unimodal_table(table) is table
    table[:100, 1] += 9
    table[::7, 1] = np.nan
    smooth = unimodal_table(table)
    np.testing.assert_array_equal(smooth[:, [0, 2]], table[:, [0, 2]])
    np.testing.assert_array_equal(np.isnan(smooth), np.isnan(table))
    assert not is_multimodal(smooth[~np.isnan(smooth[:, 1]), 1])


@pytest.mark.parametrize("column", [[], [[1.0, 2.0]], [1.0, float("nan")]])
def test_what_is_no_column_is_refused(column):
    with pytest.raises(SubscapeError, match="one column of finite numbers"):
        dip_statistic(column)


def spelled_out(column):
    """The valley statistic stretch by stretch."""
    x = np.sort(column)
    n, least = len(x), x.std()
    lengths, inside = [], 3.0
    while round(inside) <= n - 2:
        lengths.append(round(inside))
        inside *= 1.25
    falls, rises = [], []
    for m in lengths:
        chance = np.sqrt(2 * np.log(np.e * (n + 1) / (m + 1)))
        for start in range(n - m - 1):
            stop = start + m + 1
            width = x[stop] - x[start]
            if width >= least:
                within = (x[start + 1 : stop] - x[start]) / width
                lean = np.sqrt(3 / m) * (2 * within - 1).sum()
                falls.append((stop, -lean - chance))
                rises.append((start, lean - chance))
    return max(
        (min(a, b) for stop, a in falls for start, b in rises if stop <= start), default=-np.inf
    )


@pytest.mark.parametrize("seed", range(5))
def test_valleys_are_those_of_all_stretches(seed):
    rng = np.random.default_rng(seed)
    column = np.r_[rng.normal(size=18), rng.normal(seed, 1, 7)]
    np.testing.assert_allclose(valley_statistic(column), spelled_out(column), atol=1e-9)
    np.testing.assert_allclose(
        valley_statistic(1e3 - 7 * column), valley_statistic(column), atol=1e-6
    )


def test_samples_with_one_hump_rarely_have_a_valley():
    rng = np.random.default_rng(0)
    kinds = (rng.random, rng.normal, rng.exponential, lambda size: rng.standard_t(3, size))
    for draw in kinds:
        reached = [valley_statistic(draw(size=n)) for n in (40, 200) for _ in range(150)]
        assert np.mean(np.array(reached) > 0.6) <= 0.03  # one in a hundred, of 300
        assert np.mean(np.array(reached) > 0.9) <= 0.01


def test_a_small_group_far_from_all_others_is_a_hump_of_its_own():
    rng = np.random.default_rng(0)
    few = np.r_[rng.normal(size=270), rng.normal(7, 1, 30)]
    assert dip_statistic(few) < 0.72 / np.sqrt(300)  # the dip is blind to it
    assert is_multimodal(few)
    assert not is_multimodal(unimodal_column(few))


def test_short_and_constant_columns_have_no_valley():
    assert valley_statistic([1.0, 2.0, 3.0, 9.0]) == -np.inf
    assert valley_statistic(np.ones(50)) == -np.inf
    with pytest.raises(SubscapeError, match="one column of finite numbers"):
        valley_statistic([1.0, np.nan, 2.0])


def test_rounded_values_are_spread_over_what_they_were_rounded_from():
    values = np.array([0.0, 1.0, 4.0])
    column = np.repeat(values, [20, 20, 20])
    spread = dithered(column[:, None] - column.mean())[:, 0]
    places = np.random.default_rng(0).random((60, 1))[:, 0]
    low, high = np.array([-0.5, 0.5, 2.5]), np.array([0.5, 2.5, 5.5])
    which = np.repeat([0, 1, 2], 20)
    known = low[which] + (high - low)[which] * places
    np.testing.assert_allclose(spread, known - known.mean(), atol=1e-12)
    # Half as many values as rows are few, more are not.
    half = np.repeat(np.arange(30.0), 2)[:, None]
    assert len(np.unique(dithered(half))) == 60
    more = np.append(np.repeat(np.arange(29.0), 2), [40.0, 41.0, 42.0])[:, None]
    assert dithered(more) is more
