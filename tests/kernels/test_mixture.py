"""Distances and weighted sums in a few columns: both kernels, and the formula."""

import numpy as np
import pytest

from subscape.finders.axis.p3c.mixture import squared_distances, weighted_sums


def table(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.normal(size=(50, 7)), np.array([5, 0, 3])
    return rows, columns, rng.normal(size=3), rng.uniform(0.1, 2, 3), rng.random(50).round(1)


@pytest.mark.parametrize("seed", range(4))
def test_distances(seed):
    rows, columns, mean, variance, _ = table(seed)
    expected = (np.square(rows[:, columns] - mean) / variance).sum(axis=1)
    for run in (squared_distances, squared_distances.reference):
        found = run(rows, columns, mean, variance, np.inf)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        reach = float(np.median(expected))
        found = run(rows, columns, mean, variance, reach)
        near = expected <= reach
        assert 0 < near.sum() < len(near)
        np.testing.assert_allclose(found[near], expected[near], rtol=1e-12)
        assert np.isposinf(found[~near]).all()


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_sums(seed, power):
    rows, columns, mean, _, weights = table(seed)
    weights[::2] = 0.0
    expected = sum(w * (row[columns] - mean) ** power for w, row in zip(weights, rows, strict=True))
    for run in (weighted_sums, weighted_sums.reference):
        found = run(rows, weights, columns, mean, power)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
