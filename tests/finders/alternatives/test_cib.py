from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import sparse

from subscape.datasets import planted_views
from subscape.finders import CIB
from subscape.finders.alternatives.cib.cib import (
    kept_information,
    match_groups,
    run_sweeps,
    sums_of,
)
from subscape.finders.base import Watch
from subscape.measures import adjusted_rand_score, normalized_mutual_info_score


def entropy_information(P, groups, labels):
    """I(C; Y | Z) from the definition."""
    value = 0.0
    for z in np.unique(groups):
        inside = P[groups == z]
        pz, y = inside.sum(), inside.sum(axis=0) / inside.sum()
        for c in np.unique(labels[groups == z]):
            cell = P[(groups == z) & (labels == c)]
            yc = cell.sum(axis=0) / cell.sum()
            there = yc > 0
            value += cell.sum() * (yc[there] * np.log(yc[there] / y[there])).sum()
        assert pz > 0
    return value


def table(seed, n=8, p=4):
    P = np.random.default_rng(seed).dirichlet(np.full(p, 0.5), n)
    return P / n


def test_the_objective_is_the_conditional_information():
    P, groups = table(0, 20), np.arange(20) % 3
    labels = np.random.default_rng(1).integers(0, 2, 20)
    sums = sums_of(sparse.csr_array(P), groups, labels, 2)
    expected = entropy_information(P, groups, labels)
    assert kept_information(sums, 0.0) == pytest.approx(expected, abs=1e-12)
    plain = entropy_information(P, np.zeros(20, int), labels)
    assert kept_information(sums, 0.7) == pytest.approx(expected + 0.7 * plain, abs=1e-12)


@pytest.mark.parametrize("coordination", [0.0, 0.5])
def test_the_best_of_many_starts_is_the_optimum_of_eight_rows(coordination):
    for seed in range(5):
        P, groups = table(seed), np.arange(8) % 2
        rows = sparse.csr_array(P)
        best = max(
            kept_information(sums_of(rows, groups, np.array(labels), 2), coordination)
            for labels in product((0, 1), repeat=8)
            if len(set(labels)) == 2
        )
        found = max(
            run_sweeps(rows, groups, 2, coordination, 30, child, Watch()).objective
            for child in np.random.SeedSequence(0).spawn(40)
        )
        assert found == pytest.approx(best, abs=1e-9)


def test_matching_groups_keeps_one_information_and_raises_the_other():
    P, groups = table(3, 30), np.arange(30) % 3
    rows = sparse.csr_array(P)
    labels = np.random.default_rng(0).permutation(np.arange(30) % 3)
    sums = sums_of(rows, groups, labels, 3)
    after = sums_of(rows, groups, match_groups(sums, groups, labels), 3)
    assert kept_information(after, 0) == pytest.approx(kept_information(sums, 0), abs=1e-12)
    assert kept_information(after, 1) >= kept_information(sums, 1) - 1e-12
    # No exchange of names within one group helps any more.
    matched = match_groups(sums, groups, labels)
    for group, names in product(range(3), permutations(range(3))):
        other = np.where(groups == group, np.array(names)[matched], matched)
        value = kept_information(sums_of(rows, groups, other, 3), 1)
        assert value <= kept_information(after, 1) + 1e-9


def test_a_large_coordination_ignores_what_is_known():
    X, (known, _) = planted_views(120, 4, n_clusters=(2, 2), rotate=False, random_state=3)
    strong = CIB(coordination=1e6, random_state=0).fit(X, given=known).labels_
    other = np.random.default_rng(0).permutation(known.labels())
    again = CIB(coordination=1e6, random_state=0).fit(X, given=other).labels_
    assert adjusted_rand_score(strong, again) > 0.95


def test_the_second_of_two_nominal_factors():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, (2, 200))
    counts = np.column_stack([np.eye(2)[first] * 4, np.eye(2)[second] * 4, np.eye(2)[second] * 3])
    counts += rng.integers(0, 2, counts.shape)
    finder = CIB(features="counts", random_state=0).fit(counts, given=first)
    assert normalized_mutual_info_score(second, finder.labels_) > 0.9
    assert finder.mi_with_reference_[0] < 0.05


@pytest.mark.parametrize("coordination", [0.0, 0.1])
def test_the_hidden_view_is_found(coordination):
    scores = []
    for seed in range(10):
        X, (known, hidden) = planted_views(300, 6, n_clusters=(3, 3), random_state=seed)
        finder = CIB(coordination=coordination, n_init=5, random_state=0).fit(X, given=known)
        scores.append(normalized_mutual_info_score(hidden, finder.labels_))
    assert min(scores) > 0.9


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_bins(binning):
    X, (known, hidden) = planted_views(600, 10, n_clusters=(3, 3), random_state=1)
    finder = CIB(features="bins", binning=binning, random_state=0).fit(X, given=known)
    assert normalized_mutual_info_score(hidden, finder.labels_) > 0.9


def test_bins_fitted_to_what_is_known():
    X, (known, _) = planted_views(300, 6, n_clusters=(3, 3), random_state=1)
    finder = CIB(features="bins", binning="mdl", random_state=0).fit(X, given=known)
    assert finder.clustering_.n_clusters == 3
    assert normalized_mutual_info_score(known, finder.labels_) < 0.1


def test_negative_or_empty_counts_are_refused():
    X = np.random.default_rng(0).integers(0, 5, (30, 4)).astype(float)
    X[2] = 0.0
    with pytest.raises(ValueError, match="1 row"):
        CIB(features="counts").fit(X)
    X[2] = -1.0
    with pytest.raises(ValueError, match="4 values"):
        CIB(features="counts").fit(X)
