"""Blocks have the stated means, contrast and noise."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.datasets import planted_cocluster


def block_means(made):
    """Row labels, column labels and the (row groups, column groups) means, read off the truth."""
    truth = made.clustering
    columns = np.unique(truth.subspaces.masks, axis=0)
    column_labels = columns.argmax(axis=0)
    row_labels = truth.labels()
    means = np.full((row_labels.max() + 1, len(columns)), np.nan)
    for k in range(truth.n_clusters):
        block = truth.cluster(k)
        i, j = row_labels[block.rows[0]], column_labels[block.features[0]]
        assert (row_labels[block.rows] == i).all()
        assert (column_labels[block.features] == j).all()
        means[i, j] = made.centers[k, block.features[0]]
        assert (made.centers[k, block.features] == means[i, j]).all()
        assert np.isnan(np.delete(made.centers[k], block.features)).all()
    assert not np.isnan(means).any()
    return row_labels, column_labels, means


def least_difference(means):
    """Smallest root mean square difference of two rows or two columns."""
    found = [
        np.sqrt(np.mean((side[i] - side[j]) ** 2))
        for side in (means, means.T)
        for i in range(len(side))
        for j in range(i)
    ]
    return min(found)


@pytest.mark.parametrize("groups", [(3, 4), (2, 2), (1, 3), (5, 1), (6, 6)])
@pytest.mark.parametrize("noise", [1.0, 0.1])
def test_blocks(groups, noise):
    made = planted_cocluster((120, 90), *groups, contrast=2.5, noise=noise, random_state=0)
    rows, columns, means = block_means(made)
    assert made.X.shape == made.clustering.shape == (120, 90)
    assert made.clustering.kind == "axis"
    assert made.clustering.n_clusters == groups[0] * groups[1]
    assert means.shape == groups
    assert np.ptp(np.bincount(rows)) <= 1 and np.ptp(np.bincount(columns)) <= 1
    assert least_difference(means) == pytest.approx(2.5 * noise)
    residuals = made.X - means[np.ix_(rows, columns)]
    assert residuals.std() == pytest.approx(noise, rel=0.03)
    assert abs(residuals.mean()) < 0.05 * noise


def test_without_noise_blocks_are_constant():
    made = planted_cocluster(noise=0.0, contrast=2.0, random_state=0)
    rows, columns, means = block_means(made)
    np.testing.assert_array_equal(made.X, means[np.ix_(rows, columns)])
    assert least_difference(means) == pytest.approx(2.0)


def test_one_block():
    made = planted_cocluster((10, 5), 1, 1, random_state=0)
    assert made.clustering.n_clusters == 1
    assert abs(made.X.mean()) < 0.5


@pytest.mark.parametrize("groups", [(3, 4), (2, 2), (5, 2)])
def test_counts(groups):
    made = planted_cocluster((150, 200), *groups, counts=True, contrast=1.0, random_state=1)
    rows, columns, rates = block_means(made)
    assert made.X.min() >= 0
    np.testing.assert_array_equal(made.X, np.round(made.X))
    assert made.X.dtype == np.float64
    assert rates.min() == pytest.approx(1.0)
    roots = 2 * np.sqrt(rates)
    assert least_difference(roots) == pytest.approx(1.0)
    # Groups differ in shape, not in level.
    np.testing.assert_allclose(roots.mean(axis=1), roots.mean())
    np.testing.assert_allclose(roots.mean(axis=0), roots.mean())
    for i in range(groups[0]):
        for j in range(groups[1]):
            block = made.X[np.ix_(rows == i, columns == j)]
            assert block.mean() == pytest.approx(rates[i, j], rel=0.08)
            assert block.var() == pytest.approx(rates[i, j], rel=0.15)


def test_seeds_and_order():
    a, b, c = (planted_cocluster(random_state=seed) for seed in (1, 1, 2))
    assert (a.X == b.X).all()
    assert a.clustering == b.clustering
    assert a.clustering != c.clustering
    assert np.count_nonzero(np.diff(a.clustering.labels())) > 10
    assert repr(a) == "Planted(60 x 40, 12 axis clusters)"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(n_row_clusters=61), "n_row_clusters must be between 1 and 60 .the table has 60"),
        (dict(n_column_clusters=41), "n_column_clusters must be between 1 and 40"),
        (dict(n_row_clusters=0), "n_row_clusters must be"),
        (dict(shape=(3, 4, 5)), "pair"),
        (dict(shape=(0, 4)), r"shape\[0\] must be at least 1"),
        (dict(contrast=-1), "contrast must be"),
        (dict(noise=-1), "noise must be"),
        (dict(counts=True, noise=0.5), "noise cannot be chosen"),
        (dict(counts=True, n_row_clusters=1), "at least 2 row and 2 column clusters"),
    ],
)
def test_bad_values_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        planted_cocluster(**parameters)
