"""The check suite for measures: ours pass it, and broken ones don't."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from subscape.measures import clustering_error, label_vi, rnia
from subscape.measures.registry import KINDS, MEASURES, Measure, find
from subscape.testing import MEASURE_CHECKS, check_measure
from subscape.testing.measures import example_pair


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_measures_of_the_registry(name):
    check_measure(name)


def test_own_functions():
    def halved(a, b):
        return clustering_error(a, b) / 2

    with pytest.raises(AssertionError, match=r"halved fails the check 'values'.*'mass'"):
        check_measure(halved)

    def of_rows(a, b, *, mass=None):
        return rnia(a, b, mass=mass) ** 2

    check_measure(of_rows)
    promises = dataclasses.replace(find(of_rows), properties=frozenset({"symmetric", "positive"}))
    check_measure(promises)


def broken(function, **changes):
    """A measure that claims to be like CE."""
    entry = MEASURES["clustering_error"]
    return dataclasses.replace(entry, function=function, **changes)


def first_only(a, b, **options):
    return clustering_error(a, a, **options)


def one_sided(a, b, **options):
    return clustering_error(a, b, **options) * (0.5 if np.size(a) > np.size(b) else 1)


@pytest.mark.parametrize(
    ("entry", "check"),
    [
        (broken(clustering_error, low=1, high=0), "entry"),
        (broken(clustering_error, kinds=frozenset({"round"})), "entry"),
        (broken(clustering_error, properties=frozenset({"fast"}), caveats={}), "entry"),
        (broken(lambda a, b, **k: np.float64(clustering_error(a, b, **k))), "values"),
        (broken(lambda a, b, **k: 2.0), "values"),
        (broken(lambda a, b, **k: float("nan")), "values"),
        (broken(clustering_error, kinds=frozenset({"axis"})), "kinds_it_cannot_score"),
        (broken(first_only), "identical_clusterings"),
        (broken(lambda a, b, **k: 1 - clustering_error(a, b, **k)), "identical_clusterings"),
        (broken(lambda a, b, **k: first_only(a, b) + len(b.sizes) / 9), "symmetry"),
        (broken(lambda a, b, **k: float(a.sizes[0] + b.sizes[0]) / 99), "order_of_clusters"),
        (broken(lambda a, b, **k: 1 / a.n_rows), "background"),
        (broken(clustering_error, expected=lambda a, b: 7.0), "expectation"),
        (broken(lambda a, b, **k: 0.5 * (len(np.unique(a)) > 1)), "label_vectors"),
        (broken(lambda a, b, **k: 1.0 / (len(a) - 1)), "one_row_one_cluster"),
        (broken(lambda a, b: clustering_error(a, np.append(b, [0])[: len(a)])), "different_rows"),
        (broken(lambda a, b, **k: 0.25), "unknown_options"),
        (broken(lambda a, b, **k: 0.25), "empty_clusterings"),
        (broken(lambda a, b, **k: 0.25), "what_is_no_clustering"),
    ],
)
def test_what_is_broken_is_found(entry, check):
    with pytest.raises((AssertionError, ArithmeticError, ValueError, TypeError, AttributeError)):
        MEASURE_CHECKS[check](entry)
    with pytest.raises(AssertionError, match=r"clustering_error fails the check"):
        check_measure(entry)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kinds": frozenset({"axis", "round"})}, "unknown kinds: {'round'}"),
        ({"properties": frozenset({"fast"}), "caveats": {}}, "unknown properties: .*'fast'"),
        ({"properties": frozenset(), "caveats": {"symmetric": "why"}},
         "a caveat for a property it does not have"),
        ({"low": 1.0, "high": 1.0}, "an empty range: 1.0 to 1.0"),
        ({"kinds": frozenset({"soft"})}, "every measure scores hard disjoint axis-aligned"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_entry(changes, said):
    with pytest.raises(AssertionError, match=said):
        MEASURE_CHECKS["entry"](broken(clustering_error, **changes))


def test_input_that_is_changed_is_found():
    def greedy(a, b, **options):
        a[0] = 0
        return 0.0

    with pytest.raises(ValueError, match="read-only"):
        MEASURE_CHECKS["input_is_left_alone"](broken(greedy))


def test_different_features_are_found():
    entry = broken(lambda a, b, **k: label_vi(a, b))
    with pytest.raises(AssertionError, match="no error was raised"):
        MEASURE_CHECKS["different_features"](entry)


def test_chance_is_found():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="after"):
        MEASURE_CHECKS["repeated_and_in_threads"](broken(lambda a, b, **k: rng.random()))


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_of_their_kind(kind):
    a, b = example_pair(kind)
    assert a.shape == b.shape == (12, 5) and a != b
    assert (a.kind != b.kind) == (kind == "mixed")
    assert (a.kind == "oriented") == kind.startswith("oriented")
    overlapping = kind in ("overlapping", "oriented overlapping", "soft")
    assert a.is_disjoint == b.is_disjoint == (not overlapping)
    assert a.is_hard == b.is_hard == (kind != "soft")


def test_a_measure_can_be_declared():
    entry = Measure(
        "row_rnia", lambda a, b: rnia(a, b), "cells", True, 0, 1, frozenset({"axis"}),
        frozenset({"symmetric"}), "an example",
    )  # fmt: skip
    with pytest.raises(AssertionError, match="'kinds_it_cannot_score': no error was raised"):
        check_measure(entry)
