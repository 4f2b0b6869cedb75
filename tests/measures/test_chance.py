"""Chance correction and p-values, against all permutations where there are few."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import any_clustering, random_axis, seeds, shapes

from subscape.core import (
    EmptyClusteringError,
    ShapeMismatchError,
    SubscapeError,
    SubspaceClustering,
    UnsupportedKindError,
)
from subscape.measures import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    clustering_error,
    corrected,
    expected,
    p_value,
    rnia,
)
from subscape.measures.chance import NULL_MODELS, randomised
from subscape.measures.registry import MEASURES, find

ANALYTIC = [entry.name for entry in MEASURES.values() if entry.expected is not None]

label_pairs = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=2, max_size=5)
label_pairs = label_pairs.map(lambda pairs: [list(side) for side in zip(*pairs, strict=True)])
label_pairs = label_pairs.filter(lambda pair: min(max(side) for side in pair) >= 0)


def over_all_permutations(measure, a, b, **options):
    """Mean of a measure over all orders of the rows of b."""
    orders = [list(order) for order in permutations(range(len(b)))]
    return np.mean([measure(a, [b[i] for i in order], **options) for order in orders])


# -- the null models ------------------------------------------------------------------------------


@given(seeds, shapes, st.sampled_from(NULL_MODELS))
def test_null_models_keep_what_a_clustering_looks_like(seed, shape, null):
    rng = np.random.default_rng(seed)
    c = any_clustering(rng, shape)
    drawn = randomised(c, null, rng)
    assert drawn.kind == c.kind and drawn.shape == c.shape
    for k in range(c.n_clusters):
        assert sorted(drawn.members.weights(k)) == sorted(c.members.weights(k))
    np.testing.assert_allclose(drawn.subspaces.mass, c.subspaces.mass)
    np.testing.assert_allclose(
        np.sort(drawn.subspaces.relevance, axis=1), np.sort(c.subspaces.relevance, axis=1),
        atol=1e-12,
    )  # fmt: skip
    if null == "random subspaces":
        assert (drawn.memberships != c.memberships).nnz == 0
    if null == "random labels":
        np.testing.assert_array_equal(drawn.subspaces.relevance, c.subspaces.relevance)
        together = drawn.members.clusters_per_row(), c.members.clusters_per_row()
        assert sorted(together[0]) == sorted(together[1]), "rows move with all their clusters"


def test_random_labels_reach_every_arrangement_alike():
    c = SubspaceClustering.from_labels([0, 0, 1])
    rng = np.random.default_rng(0)
    drawn = [tuple(randomised(c, "random labels", rng).labels()) for _ in range(900)]
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 3 and counts.min() > 250


def test_random_subspaces_are_drawn_for_every_cluster_anew():
    c = SubspaceClustering.from_labels([0, 1], masks=[[1, 0, 0, 0], [1, 0, 0, 0]])
    rng = np.random.default_rng(0)
    masks = [randomised(c, "random subspaces", rng).subspaces.masks for _ in range(60)]
    assert any((m[0] != m[1]).any() for m in masks) and any((m[0] == m[1]).all() for m in masks)


def test_names_survive():
    c = SubspaceClustering.from_labels([0, 1], feature_names=["x", "y"], row_names=["a", "b"])
    drawn = randomised(c, "both", np.random.default_rng(0))
    assert drawn.feature_names == ("x", "y") and drawn.row_names == ("a", "b")


# -- expectations ---------------------------------------------------------------------------------


@settings(max_examples=15)
@given(label_pairs, st.sampled_from(ANALYTIC))
def test_analytic_expectations_are_means_over_all_permutations(pair, name):
    a, b = pair
    found = expected(name, a, b)
    assert found.standard_error == 0 and len(found.samples) == 0
    assert found.mean == pytest.approx(over_all_permutations(find(name).function, a, b), abs=1e-9)


@pytest.mark.parametrize("name", ANALYTIC)
def test_options_that_the_formula_does_not_know_are_sampled(name):
    a, b = [0, 0, 1, -1, -1], [0, 1, 1, 0, -1]
    found = expected(name, a, b, noise="cluster", n_samples=400, random_state=0)
    exact = over_all_permutations(find(name).function, a, b, noise="cluster")
    assert len(found.samples) == 400
    assert abs(found.mean - exact) < 4 * found.standard_error


@pytest.mark.parametrize("measure", [clustering_error, rnia, "e4sc_score"])
def test_sampled_expectations_approach_the_mean_over_all_permutations(measure):
    masks = [[1, 1, 0], [0, 1, 1]]
    a = SubspaceClustering.from_labels([0, 0, 1, 1, -1], masks=masks)
    b = SubspaceClustering.from_labels([0, 0, 0, 1, 1], masks=masks)
    function = find(measure).function
    every = [
        function(a, SubspaceClustering.from_labels([b.labels()[i] for i in order], masks=masks))
        for order in permutations(range(5))
    ]
    assert len(every) == factorial(5)
    found = expected(measure, a, b, n_samples=500, random_state=1)
    assert abs(found.mean - np.mean(every)) < 4 * found.standard_error
    assert found.standard_error == pytest.approx(np.std(every) / np.sqrt(500), rel=0.2)
    assert set(found.samples.round(9)) <= set(np.round(every, 9))


def test_one_sample_has_no_standard_error():
    assert expected("rnia", [0, 0, -1], [0, 1, 1], n_samples=1).standard_error == np.inf


# -- corrected measures ----------------------------------------------------------------------------


@given(label_pairs)
def test_the_corrected_rand_index_is_the_adjusted_one(pair):
    for name in ("label_rand_score", "label_rand_distance", "mirkin_distance"):
        assert corrected(name, *pair).value == pytest.approx(adjusted_rand_score(*pair), abs=1e-9)


@given(label_pairs)
def test_the_corrected_variation_of_information_is_adjusted_mutual_information(pair):
    found = corrected("label_vi", *pair)
    if found.expected > 1e-9:
        assert found.value == pytest.approx(adjusted_mutual_info_score(*pair), abs=1e-7)


def test_equation_3_15():
    a, b = [0, 0, 0, 1, 1, -1], [0, 0, 1, 1, 1, 1]
    distance = corrected("clustering_error", a, b, random_state=3)
    assert distance.value == pytest.approx(1 - distance.raw / distance.expected)
    score = corrected("e4sc_score", a, b, random_state=3)
    assert score.value == pytest.approx((score.raw - score.expected) / (1 - score.expected))
    assert distance.raw == clustering_error(a, b)


def test_identical_clusterings_score_one():
    rng = np.random.default_rng(0)
    c = random_axis(rng, (12, 4))
    for null in NULL_MODELS:
        found = corrected("clustering_error", c, c, null=null, n_samples=20, random_state=0)
        assert found.value == 1 and found.standard_error == 0


def test_unrelated_clusterings_score_about_zero():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    found = corrected("clustering_error", a, b, random_state=0)
    assert abs(found.value) < 0.05


def test_standard_error_is_that_of_the_value():
    """Repeated with other seeds, the values spread as the standard error says."""
    a, b = [0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2, 2, 2]
    runs = [
        corrected("clustering_error", a, b, n_samples=30, random_state=seed) for seed in range(60)
    ]
    spread = np.std([run.value for run in runs])
    assert np.mean([run.standard_error for run in runs]) == pytest.approx(spread, rel=0.3)


def test_where_chance_agrees_perfectly():
    """Partitions of the same rows always have RNIA 0, whatever the rows."""
    found = corrected("rnia", [0, 0, 1], [0, 1, 1], n_samples=5)
    assert found == (1.0, 0.0, 0.0, 0.0)


def test_own_functions_count_as_distances():
    def flipped(a, b):
        return 1 - adjusted_rand_score(a, b)

    a, b = [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 2]
    found = corrected(flipped, a, b, n_samples=50, random_state=0)
    assert found.value == pytest.approx(1 - flipped(a, b) / found.expected)


# -- p-values --------------------------------------------------------------------------------------


def test_p_value_counts_draws_that_agree_at_least_as_well():
    a, b = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
    for name in ("clustering_error", "adjusted_rand_score"):
        entry = find(name)
        found = p_value(name, a, b, n_samples=99, random_state=0)
        sign = 1 if entry.is_distance else -1
        alike = (sign * found.samples <= sign * found.raw + 1e-12).sum()
        assert found.value == (1 + alike) / 100
        assert found.raw == entry.function(a, b) and len(found.samples) == 99


def test_exact_p_value_of_a_small_case():
    """Of the 6!/(3! 3!) = 20 arrangements of b, two are the partition a."""
    a = [0, 0, 0, 1, 1, 1]
    found = p_value("label_error", a, a, n_samples=2000, random_state=0)
    assert abs(found.value - 0.1) < 4 * found.standard_error
    assert found.standard_error == pytest.approx(np.sqrt(0.1 * 0.9 / 2001), rel=0.1)


def test_p_values_are_uniform_under_the_null():
    rng = np.random.default_rng(5)
    values = []
    for _ in range(120):
        a, b = (np.repeat([0, 1, 2], 20)[rng.permutation(60)] for _ in range(2))
        values.append(p_value("label_vi", a, b, n_samples=39, random_state=rng).value)
    shares = np.array([np.mean(np.array(values) <= level) for level in (0.1, 0.25, 0.5, 0.75)])
    np.testing.assert_allclose(shares, (0.1, 0.25, 0.5, 0.75), atol=0.1)


def test_p_values_find_agreement_in_rows_and_in_subspaces_alone():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 80)
    masks = np.eye(4, 12, dtype=bool) | np.eye(4, 12, 4, dtype=bool)
    truth = SubspaceClustering.from_labels(labels, masks=masks)
    rows = SubspaceClustering.from_labels(labels, masks=np.roll(masks, 1, axis=1) | masks)
    options = {"n_samples": 99, "random_state": 1}
    assert p_value("clustering_error", truth, rows, null="random labels", **options).value == 0.01
    assert p_value("clustering_error", truth, rows, null="random subspaces", **options).value < 0.05
    assert p_value("clustering_error", truth, rows, null="both", **options).value == 0.01
    others = SubspaceClustering.from_labels(rng.permutation(labels), masks=masks)
    assert p_value("clustering_error", truth, others, null="random labels", **options).value > 0.05


def test_never_zero():
    labels = np.repeat([0, 1], 30)
    assert p_value("clustering_error", labels, labels, n_samples=9, random_state=0).value == 0.1


# -- seeds and workers ----------------------------------------------------------------------------


@pytest.mark.parametrize("null", NULL_MODELS)
def test_the_same_bits_for_any_number_of_workers(null):
    rng = np.random.default_rng(0)
    a, b = random_axis(rng, (15, 4)), random_axis(rng, (15, 4))
    options = {"null": null, "n_samples": 7, "random_state": 4}
    alone = p_value("rnia", a, b, **options)
    both = p_value("rnia", a, b, n_jobs=2, **options)
    assert (alone.samples == both.samples).all() and alone[:3] == both[:3]
    assert corrected("rnia", a, b, **options) == corrected("rnia", a, b, n_jobs=2, **options)


def test_more_workers_than_samples():
    found = p_value("rnia", [0, 0, -1], [0, 1, 1], n_samples=1, n_jobs=2, random_state=0)
    assert len(found.samples) == 1


def test_seeds():
    a, b = [0, 0, 0, 1, 1, 1, -1], [0, 1, 0, 1, 1, 1, -1]

    def drawn(seed):
        return p_value("clustering_error", a, b, n_samples=20, random_state=seed).samples.tolist()

    assert drawn(1) == drawn(1) != drawn(2)
    assert drawn(np.random.default_rng(1)) == drawn(np.random.default_rng(1))
    generator = np.random.default_rng(1)
    assert drawn(generator) != drawn(generator), "a generator moves on"
    assert drawn(None) != drawn(None)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [corrected, expected, p_value])
class TestBadInput:
    def test_null(self, function):
        with pytest.raises(SubscapeError, match=r"null must be one of .*, got 'rows'"):
            function("rnia", [0, 1], [0, 1], null="rows")

    @pytest.mark.parametrize("number", [0, -3, 2.5, None])
    def test_n_samples(self, function, number):
        with pytest.raises(SubscapeError, match="n_samples must be a whole number of at least 1"):
            function("rnia", [0, 1], [0, 1], n_samples=number)

    def test_measure(self, function):
        with pytest.raises(ValueError, match="unknown measure 'ce'; known are"):
            function("ce", [0, 1], [0, 1])

    def test_clusterings(self, function):
        with pytest.raises(ShapeMismatchError, match="3 entries, the other clustering 2"):
            function("rnia", [0, 1], [0, 1, 1])
        with pytest.raises(EmptyClusteringError, match="second clustering is empty"):
            function("rnia", [0, 1], [-1, -1])

    def test_seed(self, function):
        with pytest.raises(ValueError, match="random_state"):
            function("rnia", [0, 1], [0, 1], random_state="one")

    def test_draws_that_can_not_be_scored(self, function):
        a = SubspaceClustering.from_coclustering([0, 0, 1, 1], [0, 1, 1])
        with pytest.raises(UnsupportedKindError, match="a draw of the null model 'both' can't be"):
            function("variation_of_information", a, a, null="both", random_state=0)
        with pytest.raises(UnsupportedKindError, match=r"^rand_distance counts pairs"):
            function("rand_distance", a.as_oriented(), a.as_oriented(), random_state=0)
