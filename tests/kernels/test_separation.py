"""Separations of many labellings: both kernels of each step."""

import numpy as np
import pytest

from subscape.exploration.separation import (
    GroupingScorer,
    along_directions,
    cloud_gains,
    group_means,
    likeliest_groups,
    seen_apart,
    separations,
    summed_gains,
    telling_directions,
)


def labellings(seed, n=120, d=5, groups=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3 * rng.integers(0, groups, (n, 1))
    labels = rng.integers(0, groups, (6, n))
    labels[1] = np.argsort(np.argsort(X[:, 0])) * groups // n
    labels[2] = np.where(labels[1] == 1, 0, labels[1])  # a group without rows
    labels[3] = labels[1] // 2
    return GroupingScorer(X).Y, labels.astype(np.int64)


@pytest.mark.parametrize(("seed", "d"), [(0, 5), (1, 5), (2, 2), (3, 1), (4, 12)])
def test_twins_agree(seed, d):
    Y, labels = labellings(seed, d=d)
    n = len(Y)
    counts, means = group_means(Y, labels, 4)
    for fast, slow in zip((counts, means), group_means.reference(Y, labels, 4), strict=True):
        np.testing.assert_allclose(fast, slow, atol=1e-12)
    weighted = np.sqrt(counts / n)[..., None] * means
    explained, vectors = np.linalg.eigh(weighted.transpose(0, 2, 1) @ weighted)
    found = telling_directions(explained, 3 * vectors, counts, n)
    slow = telling_directions.reference(explained, 3 * vectors, counts, n)
    for one, other in zip(found, slow, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    kept, _, dims = found
    seen = Y @ kept
    gains = cloud_gains(seen, labels, counts, means @ kept, dims, d)
    slow_gains = cloud_gains.reference(seen, labels, counts, means @ kept, dims, d)
    for one, other in zip(gains, slow_gains, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_gains_of_directions_are_added_up(seed):
    rng = np.random.default_rng(seed)
    dims = rng.integers(1, 5, 7)
    told = rng.normal(size=dims.sum()) - 1.5
    fast = summed_gains(told, dims)
    np.testing.assert_allclose(fast, summed_gains.reference(told, dims), atol=1e-12)
    parts = np.split(told + 0.5 * np.log(2 * np.pi * np.e), np.cumsum(dims)[:-1])
    np.testing.assert_allclose(fast, [part[part > 0].sum() for part in parts], atol=1e-12)


@pytest.mark.parametrize("d", [1, 3, 12])
def test_rows_are_seen_where_groups_are_told_apart(d):
    Y, labels = labellings(0, d=d)
    for each in labels:
        whole = separations(Y, each[None], 4)
        assert whole.seen.shape[2] == whole.dims[0]
        np.testing.assert_allclose(seen_apart(Y, each), whole.seen[0], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rows_go_to_the_likeliest_cloud(seed):
    Y, labels = labellings(seed)
    found = separations(Y, labels, 4)
    clouds = found.seen, found.centres, found.spreads, found.shares, found.dims
    fast = likeliest_groups(*clouds)
    np.testing.assert_array_equal(fast, likeliest_groups.reference(*clouds))
    np.testing.assert_array_equal(fast, found.likeliest())
    assert 1 not in fast[2]  # it has no rows
    for a, q in enumerate(found.dims):
        for i in (0, 50, 119):
            logs = [
                np.log(share) - 0.5 * (np.square(found.seen[a, i, :q] - c) / v + np.log(v)).sum()
                if share
                else -np.inf
                for share, c, v in zip(
                    found.shares[a],
                    found.centres[a, :, :q],
                    found.spreads[a, :, :q],
                    strict=True,
                )
            ]
            assert fast[a, i] == np.argmax(logs)


def test_rows_along_the_directions_that_are_used():
    rng = np.random.default_rng(0)
    seen, overall = rng.normal(size=(3, 20, 4)), rng.uniform(1, 4, (3, 4))
    dims = np.array([2, 4, 1])
    lines = along_directions(seen, overall, dims)
    np.testing.assert_allclose(lines, along_directions.reference(seen, overall, dims), rtol=1e-15)
    assert lines.shape == (7, 20)
    np.testing.assert_allclose(lines[6], seen[2, :, 0] / np.sqrt(overall[2, 0]))


def test_labellings_are_judged_alone_as_together():
    Y, labels = labellings(5)
    together = separations(Y, labels, 4)
    for place, one in enumerate(labels):
        alone = separations(Y, one[None], 4)
        np.testing.assert_allclose(alone.gain[0], together.gain[place], atol=1e-12)
        np.testing.assert_allclose(alone.entropy[0], together.entropy[place], atol=1e-12)
        assert alone.dims[0] == together.dims[place]


def test_one_group_gains_nothing():
    Y, labels = labellings(6)
    found = separations(Y, np.zeros_like(labels[:1]), 2)
    assert found.gain[0] == found.over_normal[0] == found.entropy[0] == 0
