"""The score of clouds against its definition, and the search that climbs it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from subscape.exploration.clouds import CloudSearch, climb, ladder, search_clouds, uphill
from subscape.exploration.separation import (
    SLICED,
    SMALLEST_SPREAD,
    GroupingScorer,
    rows_per_block,
    separations,
)
from subscape.validation.hump_likelihood import hump_log_likelihood


def three_clouds(seed=0, n=150):
    X, truth = make_blobs(n, 4, centers=3, cluster_std=1.0, center_box=(-6, 6), random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), truth


def gain_by_rows(Y, labels, dims, vectors):
    """The gain as it is defined: every row by its own group, and by one density for all."""
    n, d = Y.shape
    seen = Y @ vectors[:, :dims]
    overall = np.square(seen).mean(axis=0)
    groups = np.unique(labels)
    left = seen - np.array([seen[labels == k].mean(axis=0) for k in labels])
    within = np.maximum(np.square(left).mean(axis=0), SMALLEST_SPREAD**2 * overall)
    told = 0.0
    for row, k in zip(left, labels, strict=True):
        away = np.square(row) / within + np.log(2 * np.pi * within)
        told += np.log((labels == k).mean()) - 0.5 * away.sum()
    alone = -0.5 * (np.square(seen) / overall + np.log(2 * np.pi * overall)).sum()
    parameters = (len(groups) - 1) * (dims + 1) + dims * (d - dims)
    gain = (told - alone) / n + SLICED - 0.5 * parameters * np.log(n) / n
    humps = np.sort((seen / np.sqrt(overall)).T, axis=1)
    one = hump_log_likelihood(humps, rows_per_block(n), SMALLEST_SPREAD, 0.5 * np.log(n))
    normal = -0.5 * np.log(2 * np.pi * np.e)
    return gain, gain - np.maximum(one - normal, 0.0).sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_closed_form_is_the_sum_over_rows(seed):
    X, truth = three_clouds(seed)
    scorer = GroupingScorer(X)
    rng = np.random.default_rng(seed)
    for labels in (truth, rng.integers(0, 4, len(X)), truth % 2):
        found = separations(scorer.Y, labels[None], 4)
        vectors, dims = found.vectors[0], int(found.dims[0])
        over_normal, gain = gain_by_rows(scorer.Y, labels, dims, vectors)
        assert found.over_normal[0] == pytest.approx(over_normal, abs=1e-9)
        assert found.gain[0] == pytest.approx(gain, abs=1e-9)
        told = scorer(labels)
        assert (told.gain, told.over_normal) == pytest.approx((gain, over_normal), abs=1e-9)


def test_many_labellings_are_scored_as_each_alone():
    X, truth = three_clouds(2)
    scorer = GroupingScorer(X)
    labels = np.array([truth, truth % 2, np.arange(150) % 5])
    together = separations(scorer.Y, labels, 5)
    for place, each in enumerate(labels):
        alone = separations(scorer.Y, each[None], int(each.max()) + 1)
        assert together.score[place] == pytest.approx(float(alone.score[0]), abs=1e-9)
        assert together.entropy[place] == pytest.approx(float(alone.entropy[0]))


def test_slices_of_one_cloud_gain_nothing_and_clouds_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    for parts in (2, 4):
        cut = np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, parts) / parts))
        assert GroupingScorer(X)(cut).gain < 0.05
    uniform = rng.random((2000, 3))
    assert GroupingScorer(uniform)((uniform[:, 0] > 0.5).astype(int)).gain < 0.05
    heavy = rng.standard_t(2, size=(2000, 3))
    middle = (np.abs(heavy[:, 0]) > 1).astype(int)
    # Long tails are no groups, and a part that is wider is none either.
    assert GroupingScorer(heavy)(middle).gain < 0
    wider = rng.normal(size=(2000, 3)) * np.where(np.arange(2000) < 1000, 1.0, 5.0)[:, None]
    assert GroupingScorer(wider)((np.arange(2000) < 1000).astype(int)).gain < 0.05
    X[:, 0] += 6 * (np.arange(2000) % 2)
    assert GroupingScorer(X)(np.arange(2000) % 2).gain > 0.3


def test_climbing_never_falls_and_finds_the_clouds():
    X, truth = three_clouds(1)
    scorer = GroupingScorer(X)
    rng = np.random.default_rng(0)
    dirty = np.where(rng.random(150) < 0.25, rng.integers(0, 3, 150), truth)
    labels, scores, _ = uphill(scorer, dirty[None])
    assert scores[0] > scorer(dirty).score
    assert adjusted_rand_score(labels[0], truth) > 0.95
    found, moved = climb(X, dirty, scorer)
    assert found.score == pytest.approx(scores[0]) and adjusted_rand_score(moved, truth) > 0.95
    # Where nothing is better, everything stays.
    same, stayed = climb(X, moved, scorer)
    assert (stayed == moved).all() and same.score == found.score


def test_the_search_finds_clouds_and_says_what_it_reached():
    X, truth = three_clouds(3)
    scorer = GroupingScorer(X)
    found = search_clouds(X, ladder(150, 8), scorer, np.random.default_rng(0))
    assert adjusted_rand_score(found.labellings[0], truth) > 0.95
    scores = [scorer(labels).score for labels in found.labellings]
    assert found.score == pytest.approx(max(scores)) and scores[0] == pytest.approx(max(scores))
    assert found.normal_score == pytest.approx(
        max(scorer(labels).normal_score for labels in found.labellings)
    )


def test_as_a_run_it_gives_its_best_groupings_and_keeps_its_seed():
    X = load_iris().data
    first, second, other = (CloudSearch(most=6, random_state=s).fit(X) for s in (0, 0, 1))
    labels = [each.labels().tolist() for each in first.clusterings_]
    assert labels == [each.labels().tolist() for each in second.clusterings_]
    assert labels != [each.labels().tolist() for each in other.clusterings_]
    assert 2 <= len(labels) <= 10 and len(labels) == len({str(each) for each in labels})
