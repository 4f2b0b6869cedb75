"""MAXIMUS from end to end."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subscape.core import ConstantFeatureWarning
from subscape.datasets import planted_views
from subscape.finders import MAXIMUS
from subscape.finders.alternatives.maximus.plans import SimilarityPlan
from subscape.finders.alternatives.residual_kmeans import unexplained
from subscape.measures import (
    DensityProfile,
    adco_similarity,
    adjusted_rand_score,
    normalized_mutual_info_score,
)


def xor(seed, n=400):
    """Two independent binary factors, each in two of four attributes."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 2, (2, n))
    X = rng.normal(size=(n, 4))
    X[:, :2] += 6 * first[:, None]
    X[:, 2:] += 6 * second[:, None]
    return X, first, second


@pytest.mark.parametrize("realise", ["rows", "regions"])
def test_the_hidden_factor_of_xor_data(realise):
    found = []
    for seed in range(10):
        X, first, second = xor(seed)
        finder = MAXIMUS(realise=realise, random_state=0).fit(X, given=first)
        found.append(normalized_mutual_info_score(second, finder.labels_))
        assert normalized_mutual_info_score(first, finder.labels_) < 0.05
    assert sum(score > 0.9 for score in found) >= 9


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_certificate_program_and_labels_on_two_views(n_clusters):
    """Where a view is much longer than the other, no clustering keeps both limits.

    The hidden one then exceeds 1.3 itself, and is all that can be asked for.
    """
    found = []
    for seed in range(10):
        X, (known, hidden) = planted_views(400, 6, n_clusters=(n_clusters,) * 2, random_state=seed)
        finder = MAXIMUS(random_state=0).fit(X, given=known)
        (least,), (planned,), (labels,) = (
            finder.certificate_, finder.target_similarity_, finder.similarity_,
        )  # fmt: skip
        assert least * (1 - 1e-12) <= planned <= 1.1 * least
        assert finder.plan_distance_[0] <= 0.01
        assert least * (1 - 1e-12) <= labels <= 1.1 * least
        free = KMeans(n_clusters, n_init=10, random_state=0).fit(X).inertia_
        means = np.array([X[hidden.labels() == c].mean(axis=0) for c in range(n_clusters)])
        itself = np.square(X - means[hidden.labels()]).sum()
        # Where the hidden view itself is that compact, the alternative must be.
        assert finder.inertia_[0] <= (1.3 * free if itself <= 1.3 * free else 1.02 * itself)
        found.append(normalized_mutual_info_score(hidden, finder.labels_))
    assert min(found) > 0.7
    assert sum(score > 0.9 for score in found) >= 9


def test_a_limit_that_binds_takes_seconds():
    """5,000 x 40 in 8 clusters with one factor only: anything but the known ones is far off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 1)) @ rng.normal(size=(1, 40)) + 0.3 * rng.normal(size=(5000, 40))
    known = KMeans(8, n_init=1, random_state=0).fit(X).labels_
    start = time.process_time()
    finder = MAXIMUS(slack=0.05, random_state=0).fit(X, given=known)
    assert time.process_time() - start < 10
    assert finder.similarity_[0] / finder.certificate_[0] <= 1.02
    assert finder.plan_distance_[0] <= 0.01


@pytest.mark.parametrize("n_clusters", [3, 5])
def test_the_program_is_near_the_certificate_for_more_clusters(n_clusters):
    X, (known, _) = planted_views(300, 6, n_clusters=(n_clusters,) * 2, random_state=0)
    finder = MAXIMUS(realise="regions", random_state=0).fit(X, given=known)
    assert 1 - 1e-12 <= finder.target_similarity_[0] / finder.certificate_[0] <= 1.005


def test_adco_is_that_of_the_measure():
    X, (known, _) = planted_views(200, 5, random_state=4)
    finder = MAXIMUS(n_bins=7, random_state=0).fit(X, given=known)
    centred = X - X.min(axis=0)
    centred -= centred.mean(axis=0)
    profiles = [DensityProfile.of(centred, each, bins=7) for each in (known, finder.labels_)]
    assert finder.adco_[0] == pytest.approx(adco_similarity(*profiles), abs=1e-12)


def test_slack_trades_similarity_for_inertia():
    X, (known, _) = planted_views(300, 6, n_clusters=(3, 3), random_state=1)
    strict, usual, loose = (
        MAXIMUS(slack=slack, random_state=0).fit(X, given=known) for slack in (0.0, 0.05, 1.0)
    )
    similarity = [f.similarity_[0] / f.certificate_[0] for f in (strict, usual, loose)]
    assert similarity[0] <= 1.01 and similarity[1] <= 1.05
    assert similarity == sorted(similarity)
    inertias = [f.inertia_[0] for f in (strict, usual, loose)]
    assert inertias == sorted(inertias, reverse=True)


def test_three_views_one_after_the_other():
    X, views = planted_views(400, 8, n_clusters=(2, 2, 2), random_state=3)
    finder = MAXIMUS(n_alternatives=2, random_state=0).fit(X, given=views[0])
    scores = np.array(
        [[normalized_mutual_info_score(v, labels) for v in views] for labels in
         finder.label_matrix_.T]
    )  # fmt: skip
    assert scores[:, 0].max() < 0.1
    assert sorted(scores[:, 1:].argmax(axis=1)) == [0, 1]
    assert scores[:, 1:].max(axis=1).min() > 0.8
    assert finder.certificate_[1] == pytest.approx(2 * finder.certificate_[0])
    assert (finder.similarity_ <= 1.1 * finder.certificate_).all()


def test_cycles_keep_the_limits_and_never_cost_inertia():
    X, views = planted_views(300, 8, n_clusters=(3, 3, 3), random_state=5)
    plain = MAXIMUS(n_alternatives=2, random_state=0).fit(X, given=views[0])
    again = MAXIMUS(n_alternatives=2, cycles=2, random_state=0).fit(X, given=views[0])
    assert (again.similarity_ <= 1.1 * again.certificate_).all()
    assert again.inertia_.sum() <= plain.inertia_.sum() * (1 + 1e-9)


@pytest.mark.parametrize("binning", ["quantile", "mdl"])
def test_other_bins(binning):
    X, first, second = xor(0)
    finder = MAXIMUS(binning=binning, random_state=0).fit(X, given=first)
    assert normalized_mutual_info_score(second, finder.labels_) > 0.9


def test_one_bin_knows_nothing():
    X, first, _ = xor(1, 100)
    finder = MAXIMUS(n_bins=1, random_state=0).fit(X, given=first)
    assert finder.clustering_.n_clusters == 2
    # All that a single bin sees are sizes.
    assert finder.target_similarity_[0] / finder.certificate_[0] < 1.005


def test_names_of_the_known_clusters_do_not_matter():
    X, (known, _) = planted_views(200, 6, n_clusters=(3, 3), random_state=2)
    labels = known.labels()
    first = MAXIMUS(random_state=0).fit(X, given=labels)
    again = MAXIMUS(random_state=0).fit(X, given=2 - labels)
    assert adjusted_rand_score(first.labels_, again.labels_) > 0.9
    assert again.certificate_[0] == pytest.approx(first.certificate_[0])


def test_empty_bins_and_constant_attributes():
    X, first, second = xor(2)
    X[0, 0] = 60.0  # most bins of the attribute are empty now, and the last holds one row
    X = np.column_stack([X, np.full(len(X), 3.0)])
    with pytest.warns(ConstantFeatureWarning, match="1 constant column"):
        finder = MAXIMUS(random_state=0).fit(X, given=first)
    assert normalized_mutual_info_score(second, finder.labels_) > 0.9
    assert finder.clustering_.subspaces.masks.sum(axis=1).tolist() == [4, 4]


def test_out_of_time_is_flagged():
    X, (known, _) = planted_views(600, 10, n_clusters=(4, 4), random_state=0)
    with pytest.warns(ConvergenceWarning):
        finder = MAXIMUS(max_time=1e-9, slack=0.0, random_state=0).fit(X, given=known)
    assert finder.clustering_.n_clusters == 4


def test_whole_numbers_by_the_solver():
    X, first, second = xor(3, 200)
    finder = MAXIMUS(integer="milp", realise="regions", random_state=0).fit(X, given=first)
    assert finder.target_similarity_[0] <= 1.005 * finder.certificate_[0]
    assert normalized_mutual_info_score(second, finder.labels_) > 0.9


def test_random_centres_per_region_do_where_the_plan_tells_the_clusters_apart():
    X, first, second = xor(4)
    finder = MAXIMUS(realise="regions", init="random", random_state=0).fit(X, given=first)
    assert normalized_mutual_info_score(second, finder.labels_) > 0.9


def test_the_same_bits_for_any_n_jobs():
    X, first, _ = xor(5)
    one = MAXIMUS(n_alternatives=2, random_state=3, n_jobs=1).fit(X, given=first)
    two = MAXIMUS(n_alternatives=2, random_state=3, n_jobs=2).fit(X, given=first)
    np.testing.assert_array_equal(one.label_matrix_, two.label_matrix_)
    np.testing.assert_array_equal(one.plans_[1], two.plans_[1])


def test_more_new_clusters_than_known_ones():
    X, first, _ = xor(6)
    finder = MAXIMUS(n_clusters=4, slack=0.0, random_state=0).fit(X, given=first)
    assert finder.clustering_.n_clusters == 4
    assert 1 - 1e-12 <= finder.target_similarity_[0] / finder.certificate_[0] <= 1.01


def test_what_the_known_clusterings_explain_is_taken_off():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 60))
    effects = 3.0 * a[:, None] * [1, 2] + 5.0 * b[:, None] * [1, -1]
    np.testing.assert_allclose(unexplained(effects, [a, b]), 0, atol=1e-12)


# -- the plan decides ------------------------------------------------------------------------------


@pytest.mark.parametrize("slack", [0.0, 0.1, 1 / 3])
def test_the_labels_have_the_planned_profile(slack):
    for seed in range(3):
        X, (known, _) = planted_views(300, 6, n_clusters=(3, 3), random_state=seed)
        finder = MAXIMUS(slack=slack, random_state=0).fit(X, given=known)
        centred = X - X.min(axis=0)
        centred -= centred.mean(axis=0)
        counts = DensityProfile.of(centred, finder.labels_, bins=10).counts
        counts = counts[:, counts.sum(axis=0) > 0]
        # Clusters are numbered by their first rows after the plan was realised.
        apart = np.abs(counts[:, None] - finder.plans_[0][None]).sum(axis=2)
        away = apart[linear_sum_assignment(apart)].sum() / (2 * X.size)
        assert away == pytest.approx(finder.plan_distance_[0], abs=1e-12)
        assert away <= 0.01


def test_another_plan_gives_other_labels(monkeypatch):
    X, (known, _) = planted_views(300, 6, n_clusters=(3, 3), random_state=0)
    usual = MAXIMUS(random_state=0).fit(X, given=known)
    labels = known.labels()
    assert adjusted_rand_score(labels, usual.labels_) < 0.1

    def replaced(self, rows, regions, centres, known, limits, watch):
        return SimilarityPlan(regions.profile(labels, 3).astype(np.int64), (0.0,)), 0.0

    monkeypatch.setattr(MAXIMUS, "_plan", replaced)
    finder = MAXIMUS(random_state=0).fit(X, given=known)
    assert adjusted_rand_score(labels, finder.labels_) > 0.9
    assert finder.plan_distance_[0] <= 0.01


def test_where_rows_are_too_similar_the_next_plan_leaves_them_room(monkeypatch):
    X, (known, _) = planted_views(300, 6, n_clusters=(3, 3), random_state=0)
    limits, planned = [], MAXIMUS._plan

    def watched(self, rows, regions, centres, known, given, watch):
        limits.append(given.most[0])
        plan, over = planned(self, rows, regions, centres, known, given, watch)
        if len(limits) == 1:
            # The labels of this one are the known clustering.
            plan = SimilarityPlan(known[0].profile.astype(np.int64), plan.similarities)
        return plan, over

    monkeypatch.setattr(MAXIMUS, "_plan", watched)
    finder = MAXIMUS(random_state=0).fit(X, given=known)
    assert len(limits) == 2 and limits[1] < limits[0]
    assert finder.similarity_[0] <= limits[0]
    assert adjusted_rand_score(known.labels(), finder.labels_) < 0.1


def test_a_plan_that_no_rows_can_have_is_flagged(monkeypatch):
    X, (known, _) = planted_views(300, 6, n_clusters=(3, 3), random_state=0)

    def impossible(self, rows, regions, centres, known, limits, watch):
        # The first cluster has the lower bins of one attribute and the upper ones of the next.
        counts = np.zeros((3, regions.n_regions), np.int64)
        for attribute in range(regions.n_attributes):
            inside = np.flatnonzero(regions.attribute == attribute)
            taken = inside[::-1] if attribute % 2 else inside
            counts[np.arange(len(taken)) * 3 // len(taken), taken] = regions.counts[taken]
        return SimilarityPlan(counts, (0.0,)), 0.0

    monkeypatch.setattr(MAXIMUS, "_plan", impossible)
    with pytest.warns(ConvergenceWarning, match=r"\d+\.\d% of the rows, .* elsewhere than planned"):
        finder = MAXIMUS(random_state=0).fit(X, given=known)
    assert finder.plan_distance_[0] > 0.01
    assert finder.clustering_.n_clusters == 3
