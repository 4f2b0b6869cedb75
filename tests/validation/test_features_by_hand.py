"""Effects of clusters and their intervals, against derivatives taken by small changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from subscape.validation.features import _effects


def effect(x, tau, weights, height=None):
    """Gap of the means inside and outside a cluster, in units of the spread within or of height."""
    n = weights.sum()
    share = (weights * tau).sum() / n
    inside = (weights * tau * x).sum() / n / share
    outside = (weights * (1 - tau) * x).sum() / n / (1 - share)
    variance = (weights * np.square(x)).sum() / n - np.square((weights * x).sum() / n)
    within = variance - share * (1 - share) * np.square(inside - outside)
    return (inside - outside) / (np.sqrt(within) if height is None else height)


def derivatives(x, tau, height):
    """How the effect changes with the weight of each row, times the number of rows."""
    found = []
    for i in range(len(x)):
        sides = []
        for step in (1e-5, -1e-5):
            weights = np.ones(len(x))
            weights[i] += step
            sides.append(effect(x, tau, weights, height))
        found.append((sides[0] - sides[1]) / 2e-5 * len(x))
    return np.array(found)


@pytest.mark.parametrize("is_share", [False, True])
@pytest.mark.parametrize("gone", [0, 6])
@pytest.mark.parametrize("is_sure", [True, False])
def test_effects_and_intervals_by_the_influence_of_each_row(is_share, gone, is_sure):
    rng = np.random.default_rng(4)
    n = 40
    labels = np.arange(n) % 5 // 3  # 24 rows and 16
    sure = np.eye(2)[labels]
    if not is_sure:
        sure = 0.7 * sure + 0.3 * rng.dirichlet([1, 1], n)
    values = 3.0 + np.column_stack([rng.normal(size=n) + 1.5 * labels, rng.normal(size=n)])
    present = np.ones((n, 2), dtype=bool)
    present[:gone, 0] = False
    values[~present] = values[present[:, 0], 0].min()
    found, low, high = _effects(values, present, sure, np.array([is_share, False]), 0.9)
    for k in range(2):
        for j in range(2):
            here = present[:, j]
            x, tau, m = values[here, j], sure[here, k], here.sum()
            height = np.ptp(values[:, j]) if is_share and j == 0 else None
            expected = effect(x, tau, np.ones(m), height)
            assert found[k, j] == pytest.approx(expected)
            influence = derivatives(x, tau, height)
            share = tau.mean()
            few = min(share, 1 - share) * m
            error = np.sqrt(np.square(influence).sum()) / m * np.sqrt(few / (few - 1))
            # All the wider where memberships are unsure, the more the column tells of them.
            known = np.square(tau - share).mean() / (share * (1 - share))
            between = share * (1 - share) * np.square(effect(x, tau, np.ones(m), 1.0))
            error /= max(known, 0.1) ** (1 + 4 * between / x.var())
            half = student(m - 2).ppf(0.95) * error
            assert high[k, j] - found[k, j] == pytest.approx(half, rel=1e-5)
            assert found[k, j] - low[k, j] == pytest.approx(half, rel=1e-5)


def test_columns_and_clusters_that_tell_nothing_have_no_interval():
    values = np.column_stack([np.arange(6.0), np.full(6, 2.0)])
    sure = np.eye(3)[[0, 0, 0, 1, 1, 1]]
    found, low, high = _effects(values, np.ones((6, 2), bool), sure, np.zeros(2, bool), 0.95)
    assert found[0, 0] < 0 < found[1, 0] and found[0, 0] == -found[1, 0]
    assert np.isfinite(low[:2, 0]).all() and np.isfinite(high[:2, 0]).all()
    # A column with one value, and a cluster without rows.
    assert found[:, 1].tolist() == [0.0] * 3 and found[2].tolist() == [0.0] * 2
    assert np.isnan(low[:, 1]).all() and np.isnan(high[2]).all()
    everybody = _effects(values, np.ones((6, 2), bool), np.ones((6, 1)), np.zeros(2, bool), 0.95)
    assert everybody[0].tolist() == [[0.0, 0.0]] and np.isnan(everybody[1]).all()
