"""Neighbourhoods and weighted distances against plain loops; twins against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.finders.axis.predecon import preferences
from subscape.finders.axis.predecon.preferences import (
    mutual_distances,
    neighbour_blocks,
    squared_deviations,
)

CASES = st.tuples(st.integers(1, 60), st.integers(1, 8), st.integers(0, 2**32 - 1))


def random_case(n, p, seed, digits=6):
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n, p)), digits)
    X = X[np.lexsort(X.T[::-1])] - 0.5
    return np.ascontiguousarray(X), rng.random((n, p)) < 0.4, float(rng.random()) * np.sqrt(p)


def near_pairs(X, radius):
    squares = np.zeros((len(X), len(X)))
    for j in range(X.shape[1]):
        squares += np.square(X[:, None, j] - X[None, :, j])
    return squares <= radius * radius


@pytest.mark.parametrize("block", [1, 50, 4_000_000])
@given(CASES, st.sampled_from([1, 6]))
@settings(deadline=None, max_examples=25)
def test_neighbours_are_those_within_the_radius(block, case, digits):
    # One digit: many distances equal the radius up to rounding, and the plain sum decides.
    X, _, radius = random_case(*case, digits=digits)
    radius = round(radius, digits) or 0.3
    expected = near_pairs(X, radius)
    found = np.zeros_like(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preferences, "BLOCK", block)
        start = 0
        for part in neighbour_blocks(X, radius, 0):
            assert part.start == start
            for i in range(len(part.counts)):
                near = part.indices[part.indptr[i] : part.indptr[i + 1]]
                assert (np.diff(near) > 0).all()
                found[start + i, near] = True
            start += len(part.counts)
    assert start == len(X)
    np.testing.assert_array_equal(found, expected)


@given(CASES, st.sampled_from([1.0, 3.0, 100.0]))
@settings(deadline=None, max_examples=40)
def test_twins_agree_with_the_definition(case, weight):
    X, preferred, radius = random_case(*case)
    X.flags.writeable = preferred.flags.writeable = False
    weights = np.where(preferred, weight, 1.0)
    for part in neighbour_blocks(X, radius, 0):
        args = (X, part.start, part.indptr, part.indices)
        sums = squared_deviations(*args)
        np.testing.assert_allclose(sums, squared_deviations.reference(*args), rtol=1e-12)
        args = (X, preferred, weight, radius, part.start, part.indptr, part.indices)
        away = mutual_distances(*args)
        np.testing.assert_array_equal(away, mutual_distances.reference(*args))
        for i in range(len(part.counts)):
            row = part.start + i
            near = part.indices[part.indptr[i] : part.indptr[i + 1]]
            squares = np.square(X[near] - X[row])
            np.testing.assert_allclose(sums[i], squares.sum(axis=0), rtol=1e-12, atol=1e-15)
            both = np.maximum(squares @ weights[row], (squares * weights[near]).sum(axis=1))
            measured = away[part.indptr[i] : part.indptr[i + 1]]
            inside = np.isfinite(measured)
            np.testing.assert_allclose(measured[inside], both[inside], rtol=1e-12)
            assert (both[~inside] > radius**2 * (1 - 1e-12)).all()


@given(CASES)
@settings(deadline=None, max_examples=20)
def test_mutual_distances_are_symmetric(case):
    X, preferred, radius = random_case(*case)
    (part,) = neighbour_blocks(X, radius, 0)
    away = np.full((len(X), len(X)), np.inf)
    owner = np.repeat(np.arange(len(X)), part.counts)
    args = (X, preferred, 20.0, radius, 0, part.indptr, part.indices)
    away[owner, part.indices] = mutual_distances(*args)
    np.testing.assert_array_equal(away, away.T)
    assert (np.diag(away) == 0).all()
