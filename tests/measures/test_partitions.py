"""Measures on partitions, against brute force over pairs, scikit-learn and worked examples."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from subscape.core.clustering import SubspaceClustering
from subscape.measures.labels import matching as label_matching
from subscape.measures.labels import partitions
from subscape.measures.labels.counting import label_table
from subscape.measures.labels.information import expected_mutual_information
from subscape.measures.labels.partitions import (
    PairCounts,
    adjusted_mutual_info_score,
    adjusted_rand_score,
    completeness_score,
    confusion_table,
    fowlkes_mallows_score,
    homogeneity_completeness_v_measure,
    homogeneity_score,
    hubert_gamma_score,
    label_error,
    label_jaccard_score,
    label_rand_distance,
    label_rand_score,
    label_vi,
    mirkin_distance,
    mutual_info_score,
    normalized_mutual_info_score,
    pair_counts,
    partition_report,
    v_measure_score,
    wallace_scores,
)

NOISE = ["singletons", "cluster", "drop"]
DISTANCES = [label_error, label_rand_distance, mirkin_distance, label_vi]
SCORES = [
    adjusted_mutual_info_score,
    adjusted_rand_score,
    completeness_score,
    fowlkes_mallows_score,
    homogeneity_score,
    hubert_gamma_score,
    label_jaccard_score,
    label_rand_score,
    normalized_mutual_info_score,
    v_measure_score,
]
SYMMETRIC = [
    *DISTANCES,
    *(score for score in SCORES if score not in (completeness_score, homogeneity_score)),
    mutual_info_score,
]
quick = settings(deadline=None, max_examples=30)


def labellings(how_many, max_rows=9, lowest=-1, highest=3):
    """Tuples of label vectors of one length."""
    return st.integers(1, max_rows).flatmap(
        lambda n: st.tuples(
            *[st.lists(st.integers(lowest, highest), min_size=n, max_size=n)] * how_many
        )
    )


# -- oracles ------------------------------------------------------------------------------------


def plain(a, b, noise):
    """Labels in which noise has been turned into ordinary clusters, or dropped."""
    rows = range(len(a))
    if noise == "drop":
        rows = [r for r in rows if a[r] >= 0 and b[r] >= 0]
    fill = (lambda r: ("row", r)) if noise == "singletons" else (lambda r: "noise")
    return tuple([x[r] if x[r] >= 0 else fill(r) for r in rows] for x in (a, b))


def numbered(labels):
    names = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return [names[label] for label in labels]


def count_pairs_one_by_one(a, b):
    seen = Counter(
        (a[r] == a[s], b[r] == b[s]) for r, s in itertools.combinations(range(len(a)), 2)
    )
    return PairCounts(*(seen[k] for k in itertools.product((True, False), repeat=2)))


def error_over_all_matchings(a, b):
    if len(set(a)) > len(set(b)):
        a, b = b, a
    shared = Counter(zip(a, b, strict=True))
    clusters = sorted(set(a), key=str)
    best = max(
        sum(shared[pair] for pair in zip(clusters, partners, strict=True))
        for partners in itertools.permutations(set(b), len(clusters))
    )
    return (len(a) - best) / len(a)


def entropy(labels):
    return -sum(m / len(labels) * math.log(m / len(labels)) for m in Counter(labels).values())


def quietly(score, a, b, **keywords):
    """Call scikit-learn, which warns where more than half of the labels are unique."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return score(numbered(a), numbered(b), **keywords)


def kept(a, b, noise):
    return noise != "drop" or any(x >= 0 and y >= 0 for x, y in zip(a, b, strict=True))


# -- worked examples ----------------------------------------------------------------------------


def test_every_measure_on_an_example_worked_by_hand():
    # Confusion table [[2, 1, 0], [0, 1, 2]]; 15 pairs, 6 together in a, 3 in b, 2 in both.
    a, b = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]
    log2, log3 = math.log(2), math.log(3)
    expected = {
        "n_rows": 6,
        "n11": 2,
        "n10": 4,
        "n01": 1,
        "n00": 8,
        "label_error": 2 / 6,
        "label_rand_distance": 5 / 15,
        "mirkin_distance": 10,
        "label_vi": log3 - log2 / 3,
        "label_rand_score": 10 / 15,
        "adjusted_rand_score": (2 - 6 * 3 / 15) / ((6 + 3) / 2 - 6 * 3 / 15),
        "label_jaccard_score": 2 / 7,
        "wallace_first": 2 / 6,
        "wallace_second": 2 / 3,
        "fowlkes_mallows_score": math.sqrt(2) / 3,
        "hubert_gamma_score": (15 * 2 - 6 * 3) / math.sqrt(6 * 3 * 9 * 12),
        "mutual_info_score": 2 / 3 * log2,
        "normalized_mutual_info_score": 2 / 3 * log2 / ((log2 + log3) / 2),
        "homogeneity_score": 2 / 3,
        "completeness_score": 2 / 3 * log2 / log3,
        "v_measure_score": 2 / 3 * log2 / ((log2 + log3) / 2),
    }
    # A cluster of b has 2, 1 or 0 of its rows in the first of a with chances 1/5, 3/5, 1/5; of
    # two rows both share the logarithm 6 * 2 / (3 * 2), of one it is that of 1.
    chance = 3 * 2 * (1 / 5) * (2 / 6) * log2
    mean = (log2 + log3) / 2
    expected["adjusted_mutual_info_score"] = (2 / 3 * log2 - chance) / (mean - chance)
    report = partition_report(a, b)
    assert report.keys() == expected.keys()
    assert report == pytest.approx(expected, abs=1e-14)


def thesis_figure():
    """The cells of Fig. 4.1 as rows: three clusters on each side, gaps as noise."""
    table = {(0, 0): 4, (0, 1): 4, (1, 2): 2, (2, 2): 2, (1, -1): 2, (2, -1): 7, (-1, 2): 4}
    pairs = [pair for pair, times in table.items() for _ in range(times)]
    return [x for x, _ in pairs], [y for _, y in pairs]


def test_figure_of_the_thesis_with_its_gaps_as_singletons():
    a, b = thesis_figure()
    assert pair_counts(a, b) == (14, 56, 26, 204)
    assert label_rand_distance(a, b) == 82 / 300
    assert mirkin_distance(a, b) == 164
    assert label_vi(a, b) == pytest.approx(1.678, abs=5e-4)


def test_noise_rows_take_part_in_the_matching():
    # Of the 25 rows 4 + 2 are matched among the clusters, and one cluster with a gap row.
    assert label_error(*thesis_figure()) == 18 / 25


def test_pair_counts_have_the_sides_the_right_way_round():
    assert pair_counts([0, 0, 0], [0, 1, 2]) == (0, 3, 0, 0)
    assert pair_counts([0, 1, 2], [0, 0, 0]) == (0, 0, 3, 0)


def test_pair_counts_are_exact_integers():
    n = 300_000
    counts = pair_counts(np.zeros(n, int), np.arange(n) % 2)
    half = n // 2
    assert counts == (half * (half - 1), half * half, 0, 0)
    assert all(type(value) is int for value in counts)


def test_hubert_gamma_is_the_correlation_of_the_pair_matrices():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, 30), rng.integers(0, 4, 30)
    upper = np.triu_indices(30, 1)
    x, y = ((labels[:, None] == labels)[upper].astype(float) for labels in (a, b))
    assert hubert_gamma_score(a, b) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-13)


# -- brute force and scikit-learn ---------------------------------------------------------------


@pytest.mark.parametrize("noise", NOISE)
@quick
@given(labellings(2, max_rows=8))
def test_pairs_error_and_entropies_by_brute_force(noise, pair):
    a, b = pair
    if not kept(a, b, noise):
        with pytest.raises(ValueError, match="leaves nothing to compare"):
            partition_report(a, b, noise=noise)
        return
    x, y = plain(a, b, noise)
    n11, n10, n01, n00 = count_pairs_one_by_one(x, y)
    together_a, together_b, all_pairs = n11 + n10, n11 + n01, n11 + n10 + n01 + n00
    report = partition_report(a, b, noise=noise)
    assert report["n_rows"] == len(x)
    assert pair_counts(a, b, noise=noise) == (n11, n10, n01, n00)
    assert report["label_error"] == error_over_all_matchings(x, y)
    assert report["mirkin_distance"] == 2 * (n10 + n01)
    joint = entropy(list(zip(x, y, strict=True)))
    assert report["label_vi"] == pytest.approx(2 * joint - entropy(x) - entropy(y), abs=1e-12)
    assert report["mutual_info_score"] == pytest.approx(entropy(x) + entropy(y) - joint, abs=1e-12)
    if together_a:
        assert report["wallace_first"] == n11 / together_a
    if together_b:
        assert report["wallace_second"] == n11 / together_b
    if all_pairs:
        assert report["label_rand_score"] == (n11 + n00) / all_pairs
    if n11 + n10 + n01:
        assert report["label_jaccard_score"] == n11 / (n11 + n10 + n01)
    variance = together_a * together_b * (all_pairs - together_a) * (all_pairs - together_b)
    if variance:
        gamma = (all_pairs * n11 - together_a * together_b) / math.sqrt(variance)
        assert report["hubert_gamma_score"] == pytest.approx(gamma, abs=1e-14)


@quick
@given(labellings(2, max_rows=8))
def test_sparse_matching_by_brute_force(pair):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_matching, "SMALL", 0)
        assert label_error(*pair) == error_over_all_matchings(*plain(*pair, "singletons"))


@quick
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0.1, 1))
def test_sparse_and_dense_matching_agree(n_a, n_b, seed, filled):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, (n_a, n_b)) * (rng.random((n_a, n_b)) < filled)
    counts[0, 0] += 1
    a, b = (np.repeat(index, counts[counts > 0]) for index in np.nonzero(counts))
    best = counts[linear_sum_assignment(counts, maximize=True)].sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_matching, "SMALL", 0)
        assert label_error(a, b) == (len(a) - best) / len(a)


@pytest.mark.parametrize("noise", NOISE)
@quick
@given(labellings(2, max_rows=30, highest=5))
def test_values_of_scikit_learn(noise, pair):
    a, b = pair
    if not kept(a, b, noise):
        return
    x, y = plain(a, b, noise)
    report = partition_report(a, b, noise=noise)
    identical = report["n10"] == report["n01"] == 0
    for name in (
        "adjusted_rand_score",
        "mutual_info_score",
        "normalized_mutual_info_score",
        "homogeneity_score",
        "completeness_score",
        "v_measure_score",
    ):
        theirs = quietly(getattr(sklearn.metrics, name), x, y)
        assert report[name] == pytest.approx(theirs, abs=1e-11), name
    assert report["label_rand_score"] == pytest.approx(quietly(sklearn.metrics.rand_score, x, y))
    ordered = [[2 * report["n00"], 2 * report["n01"]], [2 * report["n10"], 2 * report["n11"]]]
    assert quietly(pair_confusion_matrix, x, y).tolist() == ordered
    if not identical:
        # scikit-learn has 0 for two partitions into single rows, and rounding noise over
        # rounding noise for the adjusted mutual information of equal ones.
        theirs = quietly(sklearn.metrics.fowlkes_mallows_score, x, y)
        assert report["fowlkes_mallows_score"] == pytest.approx(theirs, abs=1e-12)
        theirs = quietly(sklearn.metrics.adjusted_mutual_info_score, x, y)
        assert report["adjusted_mutual_info_score"] == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("method", ["arithmetic", "geometric", "min", "max"])
def test_means_of_entropies_as_in_scikit_learn(method):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 60)
    b = np.where(rng.random(60) < 0.6, a, rng.integers(0, 7, 60))
    for ours, theirs in (
        (normalized_mutual_info_score, sklearn.metrics.normalized_mutual_info_score),
        (adjusted_mutual_info_score, sklearn.metrics.adjusted_mutual_info_score),
    ):
        expected = theirs(a, b, average_method=method)
        assert ours(a, b, average_method=method) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0, 4.0])
def test_weighted_v_measure_as_in_scikit_learn(beta):
    a, b = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1]
    expected = sklearn.metrics.homogeneity_completeness_v_measure(a, b, beta=beta)
    ours = homogeneity_completeness_v_measure(a, b, beta=beta)
    assert ours == pytest.approx(expected, abs=1e-14)
    assert v_measure_score(a, b, beta=beta) == ours.v_measure


@quick
@given(labellings(2, max_rows=6))
def test_expected_mutual_information_is_the_mean_over_all_shufflings(pair):
    a, b = pair
    x, y = plain(a, b, "singletons")
    values = []
    for shuffled in itertools.permutations(y):
        joint = entropy(list(zip(x, shuffled, strict=True)))
        values.append(entropy(x) + entropy(y) - joint)
    expected = sum(values) / len(values)
    found = expected_mutual_information(label_table(a, b, "singletons"))
    assert found == pytest.approx(expected, abs=1e-12)


def test_expected_mutual_information_of_large_clusters_as_in_scikit_learn():
    # Large enough that only a window of each hypergeometric distribution is summed.
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 3, 20_000), rng.choice(4, 20_000, p=[0.7, 0.2, 0.09, 0.01])
    theirs = sklearn.metrics.cluster.expected_mutual_information(contingency_matrix(a, b), 20_000)
    ours = expected_mutual_information(label_table(a, b, "cluster"))
    assert ours == pytest.approx(theirs, rel=1e-6)


# -- identities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", NOISE)
@quick
@given(labellings(2, max_rows=20))
def test_identities_between_the_measures(noise, pair):
    a, b = pair
    if not kept(a, b, noise):
        return
    report = partition_report(a, b, noise=noise)
    n = report["n_rows"]
    assert report["mirkin_distance"] == pytest.approx(
        n * (n - 1) * (1 - report["label_rand_score"])
    )
    assert report["label_rand_distance"] == pytest.approx(1 - report["label_rand_score"])
    wallace = report["wallace_first"] * report["wallace_second"]
    assert report["fowlkes_mallows_score"] == pytest.approx(math.sqrt(wallace))
    assert report["label_jaccard_score"] <= report["label_rand_score"]
    x, y = plain(a, b, noise)
    conditional = [entropy(list(zip(x, y, strict=True))) - entropy(known) for known in (x, y)]
    assert report["label_vi"] == pytest.approx(sum(conditional), abs=1e-12)
    assert report["v_measure_score"] == pytest.approx(
        report["normalized_mutual_info_score"], abs=1e-12
    )


def test_report_and_functions_agree():
    a, b = thesis_figure()
    for noise in NOISE:
        report = partition_report(a, b, noise=noise)
        for measure in [*DISTANCES, *SCORES, mutual_info_score]:
            assert report[measure.__name__] == measure(a, b, noise=noise)
        wallace = wallace_scores(a, b, noise=noise)
        assert wallace == (report["wallace_first"], report["wallace_second"])


@pytest.mark.parametrize("noise", NOISE)
@quick
@given(labellings(2, max_rows=12), st.permutations(range(4)), st.randoms(use_true_random=False))
def test_symmetry_and_indifference_to_names_and_order(noise, pair, renaming, random):
    a, b = pair
    if not kept(a, b, noise):
        return
    report = partition_report(a, b, noise=noise)
    order = list(range(len(a)))
    random.shuffle(order)
    renamed = [renaming[label] * 10 if label >= 0 else -7 for label in b]
    again = partition_report([a[r] for r in order], [renamed[r] for r in order], noise=noise)
    assert again == pytest.approx(report, abs=1e-12)
    for measure in SYMMETRIC:
        swapped = measure(b, a, noise=noise)
        assert swapped == pytest.approx(report[measure.__name__], abs=1e-12)
    assert wallace_scores(b, a, noise=noise) == wallace_scores(a, b, noise=noise)[::-1]
    there, back = (homogeneity_completeness_v_measure(*p, noise=noise) for p in ((a, b), (b, a)))
    assert (there.homogeneity, there.completeness) == pytest.approx(
        (back.completeness, back.homogeneity), abs=1e-12
    )


def distance_of(score):
    return lambda a, b, noise: 1 - score(a, b, noise=noise)


@pytest.mark.parametrize("noise", ["singletons", "cluster"])
@pytest.mark.parametrize(
    "distance",
    [*DISTANCES, distance_of(label_jaccard_score)],
    ids=[*(d.__name__ for d in DISTANCES), "1 - jaccard"],
)
@quick
@given(labellings(3, max_rows=8))
def test_triangle_inequality(distance, noise, three):
    a, b, c = three
    way = distance(a, b, noise=noise) + distance(b, c, noise=noise)
    assert distance(a, c, noise=noise) <= way + 1e-12


@pytest.mark.parametrize("distance", DISTANCES)
def test_dropping_noise_loses_the_triangle_inequality(distance):
    # Only the first three rows are compared on the way, where nobody disagrees.
    a, b, c = [0, 0, 1, 2, 2, 2], [0, 0, 1, -1, -1, -1], [0, 0, 1, 2, 3, 4]
    assert distance(a, b, noise="drop") == distance(b, c, noise="drop") == 0
    assert distance(a, c, noise="drop") > 0


@pytest.mark.parametrize(
    ("score", "a", "between", "b"),
    [
        (fowlkes_mallows_score, [0, 0, 1], [0, 0, 0], [0, 1, 0]),
        (normalized_mutual_info_score, [0, 0, 1], [0, 1, 2], [0, 1, 0]),
        (v_measure_score, [0, 0, 1], [0, 1, 2], [0, 1, 0]),
        (adjusted_rand_score, [0, 0, 1, 2], [0, 0, 1, 1], [0, 1, 2, 2]),
        (adjusted_mutual_info_score, [0, 0, 1, 2], [0, 0, 1, 1], [0, 1, 2, 2]),
        (hubert_gamma_score, [0, 0, 1, 2], [0, 0, 1, 1], [0, 1, 2, 2]),
    ],
)
def test_one_minus_these_scores_is_no_metric(score, a, between, b):
    way = (1 - score(a, between)) + (1 - score(between, b))
    assert 1 - score(a, b) > way + 0.1


@pytest.mark.parametrize("noise", ["singletons", "cluster"])
@quick
@given(labellings(2, max_rows=8))
def test_zero_distance_and_perfect_score_exactly_for_the_same_partition(noise, pair):
    a, b = pair
    x, y = plain(a, b, noise)
    same = numbered(x) == numbered(y)
    for distance in DISTANCES:
        value = distance(a, b, noise=noise)
        assert (value == 0) if same else value > 1e-3
    for score in SCORES:
        value = score(a, b, noise=noise)
        if same:
            assert value == 1
        elif score not in (homogeneity_score, completeness_score):
            assert value < 1 - 1e-3


# -- ranges and degenerate cases ----------------------------------------------------------------


@pytest.mark.parametrize("noise", NOISE)
@quick
@given(labellings(2, max_rows=10))
def test_ranges(noise, pair):
    a, b = pair
    if not kept(a, b, noise):
        return
    report = partition_report(a, b, noise=noise)
    n = report["n_rows"]
    assert all(math.isfinite(value) for value in report.values())
    for name in (
        "label_rand_score",
        "label_rand_distance",
        "label_jaccard_score",
        "wallace_first",
        "wallace_second",
        "fowlkes_mallows_score",
        "normalized_mutual_info_score",
        "homogeneity_score",
        "completeness_score",
        "v_measure_score",
    ):
        assert 0 <= report[name] <= 1, name
    assert 0 <= report["label_error"] <= 1 - 1 / n
    assert 0 <= report["label_vi"] <= math.log(n) + 1e-12
    assert 0 <= report["mirkin_distance"] <= n * (n - 1)
    assert -1 <= report["hubert_gamma_score"] <= 1
    assert -0.5 <= report["adjusted_rand_score"] <= 1
    assert report["adjusted_mutual_info_score"] <= 1


SAME = {
    "one row": ([5], ["x"]),
    "one noise row": ([-1], [-2]),
    "one cluster": ([0] * 5, [3] * 5),
    "single rows": ([0, 1, 2, 3], [3, 2, 1, 0]),
    "all noise": ([-1] * 4, [-1] * 4),
    "noise and single rows": ([-1, -1, 0, 0], [4, 5, 6, 6]),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_degenerate_partitions_that_are_the_same(pair):
    for distance in DISTANCES:
        assert distance(*pair) == 0
    for score in SCORES:
        assert score(*pair) == 1
    assert wallace_scores(*pair) == (1, 1)


def test_one_cluster_against_single_rows():
    report = partition_report([0, 0, 0, 0], [0, 1, 2, 3])
    expected = {
        "label_error": 0.75,
        "label_rand_distance": 1,
        "mirkin_distance": 12,
        "label_vi": math.log(4),
        "label_rand_score": 0,
        "adjusted_rand_score": 0,
        "label_jaccard_score": 0,
        "wallace_first": 0,
        "wallace_second": 1,
        "fowlkes_mallows_score": 0,
        "hubert_gamma_score": 0,
        "mutual_info_score": 0,
        "normalized_mutual_info_score": 0,
        "adjusted_mutual_info_score": 0,
        "homogeneity_score": 1,
        "completeness_score": 0,
        "v_measure_score": 0,
    }
    assert {name: report[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("method", ["arithmetic", "geometric", "min", "max"])
@pytest.mark.parametrize("a", [[0, 0, 1, 1], [0, 0, 0, 0]])
def test_scores_that_divide_by_an_entropy_of_zero(a, method):
    b = [0, 1, 2, 3]
    assert adjusted_mutual_info_score(a, b, average_method=method) == pytest.approx(0, abs=1e-12)
    assert 0 <= normalized_mutual_info_score(a, b, average_method=method) <= 1


@pytest.mark.parametrize("noise", ["singletons", "cluster"])
def test_everything_noise_against_something(noise):
    report = partition_report([-1] * 6, [0, 0, 0, 1, 1, 1], noise=noise)
    assert report["adjusted_rand_score"] == report["hubert_gamma_score"] == 0
    assert report["label_error"] == (4 / 6 if noise == "singletons" else 3 / 6)


# -- noise --------------------------------------------------------------------------------------


def test_the_rules_agree_without_noise():
    a, b = [0, 0, 1, 1, 2], [0, 1, 1, 2, 2]
    reports = [partition_report(a, b, noise=noise) for noise in NOISE]
    assert reports[0] == reports[1] == reports[2]


def test_calling_a_cluster_noise_costs_only_with_singletons():
    truth, found = [0, 0, 0, 1, 1, 1], [0, 0, 0, -1, -1, -1]
    scores = {noise: adjusted_rand_score(truth, found, noise=noise) for noise in NOISE}
    assert scores["cluster"] == scores["drop"] == 1
    assert scores["singletons"] == pytest.approx((3 - 6 * 3 / 15) / (4.5 - 6 * 3 / 15))


def test_all_negative_numbers_are_noise():
    a, b = [0, 0, 1, -1, -2, -2], [0, 0, 1, 1, -5, -1]
    for noise in NOISE:
        merged = [max(label, -1) for label in a], [max(label, -1) for label in b]
        assert partition_report(a, b, noise=noise) == partition_report(*merged, noise=noise)


def test_unknown_rule():
    with pytest.raises(ValueError, match=r"noise='ignore'.*'singletons', 'cluster' or 'drop'"):
        label_vi([0], [0], noise="ignore")


# -- confusion table and labels -----------------------------------------------------------------


def test_confusion_table_names_its_rows_and_columns():
    table = confusion_table([7, 7, 3, -2, 3], ["u", "v", "v", "v", "v"])
    assert table.a_labels == [-1, 3, 7]
    assert table.b_labels == ["u", "v"]
    assert table.counts.tolist() == [[0, 1], [0, 2], [1, 1]]


@quick
@given(labellings(2, max_rows=30, lowest=0, highest=6))
def test_confusion_table_of_scikit_learn(pair):
    table = confusion_table(*pair)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert table.counts.tolist() == contingency_matrix(*pair).tolist()
    assert (table.a_labels, table.b_labels) == tuple(sorted(set(labels)) for labels in pair)


def test_confusion_table_that_is_too_large(monkeypatch):
    monkeypatch.setattr(partitions, "MOST_CELLS", 5)
    with pytest.raises(ValueError, match="3 by 2 labels is too large"):
        confusion_table([0, 1, 2], [0, 1, 1])


A = [0, 0, 1, -1, 2, 2]
B = [1, 1, 0, 0, 2, -1]
FORMS = {
    "list": A,
    "tuple": tuple(A),
    "int8": np.array(A, np.int8),
    "float": np.array(A, float),
    "float32": np.array(A, np.float32),
    "object": np.array(A, object),
    "spread": np.array([0, 0, 10**12, -1, 2**62, 2**62]),
    "shifted": np.array([100, 100, 101, -1, 103, 103], np.int16),
    "huge": [0, 0, 10**30, -1, 2, 2],
    "fractions": [Fraction(label) for label in A],
    "texts and noise": ["x", "x", "y", -1, "z", "z"],
    "mixed objects": np.array(["x", "x", (1, 2), -1, None, None], object)[[0, 1, 2, 3, 0, 0]],
    "pandas": pd.Series(A, index=list("uvwxyz")),
    "pandas nullable": pd.Series(A, dtype="Int64"),
    "polars": pl.Series(A),
    "read-only": np.array(A),
    "strided": np.repeat(A, 3)[::3],
    "clustering": SubspaceClustering.from_labels(A, masks=np.eye(3, dtype=bool)),
}
FORMS["mixed objects"][4:] = "z"
FORMS["read-only"].flags.writeable = False


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_labels(form):
    for noise in NOISE:
        assert partition_report(form, B, noise=noise) == partition_report(A, B, noise=noise)
        assert partition_report(B, form, noise=noise) == partition_report(B, A, noise=noise)


@pytest.mark.parametrize(
    "form",
    [
        np.array([False, False, True, True]),
        np.array([2**64 - 1, 2**64 - 1, 0, 0], np.uint64),
        np.array([2**64 - 1, 2**64 - 1, 2**64 - 2, 2**64 - 2], np.uint64),
        np.array([200, 200, 3, 3], np.uint8),
        np.array(["b", "b", "a", "a"]),
        np.array([b"b", b"b", b"a", b"a"]),
        pd.Series(["b", "b", "a", "a"], dtype="category"),
        pd.Series(["b", "b", "a", "a"]),
        pl.Series(["b", "b", "a", "a"]),
    ],
)
def test_forms_of_labels_without_noise(form):
    assert pair_counts(form, [0, 0, 0, 1]) == (1, 1, 2, 2)


def test_text_that_looks_like_noise_is_a_cluster():
    assert pair_counts(["-1", "-1", "0"], [0, 0, 0]).n11 == 1


def test_input_is_left_alone():
    a = np.array(A)
    partition_report(a, B)
    assert a.tolist() == A


def test_many_clusters_take_the_same_way_as_few():
    # 1500 x 1400 clusters of a few rows: pairs are sorted and matched without a dense table.
    rng = np.random.default_rng(1)
    a = rng.integers(0, 1500, 4000)
    b = np.where(rng.random(4000) < 0.7, a % 1400, rng.integers(0, 1400, 4000))
    assert len(np.unique(a)) * len(np.unique(b)) > 2**20
    dense = contingency_matrix(a, b)
    best = dense[linear_sum_assignment(dense, maximize=True)].sum()
    assert label_error(a, b) == label_error(b, a) == (4000 - best) / 4000
    table = confusion_table(a, b)
    assert (table.counts == dense).all()
    assert adjusted_rand_score(a, b) == pytest.approx(sklearn.metrics.adjusted_rand_score(a, b))


def test_many_clusters_and_noise_match_as_single_rows_do():
    rng = np.random.default_rng(2)
    a = rng.integers(-300, 1200, 3000)
    b = np.where(rng.random(3000) < 0.7, a, rng.integers(-300, 1200, 3000))
    x, y = (np.where(labels < 0, 2000 + np.arange(3000), labels) for labels in (a, b))
    assert label_error(a, b) == label_error(x, y)


def test_a_million_rows_half_of_them_noise():
    rng = np.random.default_rng(4)
    a = rng.integers(0, 50, 1_000_000)
    b = np.where(rng.random(len(a)) < 0.8, a, rng.integers(0, 50, len(a)))
    a[rng.random(len(a)) < 0.5] = -1
    b[rng.random(len(a)) < 0.5] = -1
    # Noise rows are counted, not laid out.
    assert len(label_table(a, b, "singletons").cells.rows) <= 51 * 51
    report = partition_report(a, b)
    assert sum(report[name] for name in ("n11", "n10", "n01", "n00")) == 999_999 * 500_000
    assert 0 < report["adjusted_mutual_info_score"] < report["normalized_mutual_info_score"] < 1


# -- clusterings --------------------------------------------------------------------------------


def test_subspaces_do_not_count():
    one = SubspaceClustering.from_labels(A, masks=np.eye(3, 4, dtype=bool))
    other = SubspaceClustering.from_labels(A, masks=np.ones((3, 4), dtype=bool))
    assert label_error(one, other) == 0


def test_coclustering_is_compared_by_its_row_groups():
    rows = [0, 0, 1, 1, 1]
    clustering = SubspaceClustering.from_coclustering(rows, [0, 1, 1])
    assert label_error(clustering, rows) == 0


def test_fitted_finder_is_compared_by_its_clustering():
    class Fitted:
        clustering_ = SubspaceClustering.from_labels(A)

    assert label_error(Fitted(), A) == 0


def test_overlapping_rows_are_refused():
    overlapping = SubspaceClustering.from_clusters([([0, 1, 2], [0]), ([1, 2, 3], [0])], (4, 2))
    with pytest.raises(
        TypeError, match=r"b has 2 rows in more than one .*clustering_error or rnia"
    ):
        label_error([0, 0, 1, 1], overlapping)
    assert label_error([0, 0, 0, 1], overlapping.labels()) == 0


def test_soft_memberships_are_refused():
    soft = SubspaceClustering([[0.9, 0.2], [0.1, 0.8]], np.ones((2, 3), dtype=bool))
    with pytest.raises(TypeError, match=r"a has soft memberships.*a\.labels\(\)"):
        label_vi(soft, [0, 1])


def test_clusterings_of_differently_named_rows_are_refused():
    one = SubspaceClustering.from_labels([0, 1], row_names=["r", "s"])
    other = SubspaceClustering.from_labels([0, 1], row_names=["r", "t"])
    with pytest.raises(ValueError, match=r"row 1 is 's' in a and 't' in b.*restrict"):
        label_vi(one, other)
    assert label_vi(one, one) == 0


# -- bad input ----------------------------------------------------------------------------------

BAD = {
    "lengths": ([0, 1], [0, 1, 1], ValueError, "a labels 2 rows and b 3 rows"),
    "empty": ([], [], ValueError, "a is empty"),
    "NaN": ([0, 1], [0, float("nan")], ValueError, "b has 1 label that is NaN"),
    "None": ([0, None], [0, 1], ValueError, r"a has 1 missing label .*row 1"),
    "None in texts": (["x", None], [0, 1], ValueError, r"a has 1 missing label .*row 1"),
    "NA": (pd.Series([0, pd.NA], dtype="Int64"), [0, 1], ValueError, "a has 1 label that is NaN"),
    "NA object": (np.array([0, pd.NA], object), [0, 1], ValueError, "a has 1 missing label "),
    "2-D": ([[0, 1], [1, 0]], [0, 1], ValueError, r"a has 2 dimensions \(shape \(2, 2\)\)"),
    "ragged": ([[0], [1, 2]], [0, 1], ValueError, "a is no flat sequence of labels"),
    "one number": (3, [0], ValueError, "a has 0 dimensions"),
    "one text": ("abc", [0, 1, 2], ValueError, "a has 0 dimensions"),
    "fractions": ([0, 1, 2], [0, 0.5, 1.5], ValueError, "b has 2 labels .*first 0.5 in row 1"),
    "infinite": ([0.0, np.inf], [0, 1], ValueError, "a has 1 label that is not a whole number"),
    "complex": (np.array([1j, 0]), [0, 1], TypeError, "a has labels of type complex128"),
    "dates": (np.array(["2020", "2021"], "M8[Y]"), [0, 1], TypeError, "type datetime64"),
    "unhashable": (np.array([{}, []], object), [0, 1], TypeError, "type dict in row 0"),
}


@pytest.mark.parametrize(("a", "b", "error", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("call", [confusion_table, pair_counts, label_error, partition_report])
def test_bad_labels(call, a, b, error, message):
    with pytest.raises(error, match=message):
        call(a, b)


def test_bad_options():
    with pytest.raises(ValueError, match="average_method='mean'"):
        normalized_mutual_info_score([0, 1], [0, 1], average_method="mean")
    with pytest.raises(ValueError, match="average_method='mean'"):
        adjusted_mutual_info_score([0, 1], [0, 1], average_method="mean")
    with pytest.raises(ValueError, match="beta=-1"):
        v_measure_score([0, 1], [0, 1], beta=-1)


def test_everything_public_is_listed():
    assert sorted(partitions.__all__) == partitions.__all__
    assert all(hasattr(partitions, name) for name in partitions.__all__)
