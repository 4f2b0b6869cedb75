"""Steps of matching pursuit: both versions, and against least squares."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.finders.selfexpression.pursuit import bases_of_rows, coefficients_of, take_atoms


def begun(seed, b, most, p):
    """Rows of length 1, some of them copies, and what is known before the first step."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(3 * b, p))
    U[-1] = U[0]
    U[-2] = U[1] + U[2]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    triangle = np.tile(np.eye(most), (b, 1, 1))
    chosen = np.zeros((b, most), np.intp)
    return rng, U, [chosen, np.zeros((b, most, p)), triangle, np.zeros((b, most)), U[:b].copy()]


def run(take, seed, b, most, p, tol):
    rng, U, known = begun(seed, b, most, p)
    todo, order = np.arange(b), []
    for step in range(most):
        best = rng.integers(b, len(U), size=b)[todo]
        order.append((todo.tolist(), best.tolist()))
        todo = take(U, todo, best, step, tol, *known)
    return U, known, todo, order


CASES = [(7, 3, 9), (5, 4, 4), (4, 6, 3), (1, 1, 2)]


@pytest.mark.parametrize(("b", "most", "p"), CASES)
@pytest.mark.parametrize("tol", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_twins_take_the_same(b, most, p, tol, seed):
    _, known, todo, order = run(take_atoms, seed, b, most, p, tol)
    _, other, ended, also = run(take_atoms.reference, seed, b, most, p, tol)
    assert order == also
    np.testing.assert_array_equal(todo, ended)
    np.testing.assert_array_equal(known[0], other[0])
    for each, same in zip(known[1:], other[1:], strict=True):
        np.testing.assert_allclose(each, same, rtol=0, atol=1e-12)
    found = coefficients_of(known[2], known[3])
    np.testing.assert_allclose(found, coefficients_of.reference(*known[2:4]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("take", [take_atoms, take_atoms.reference])
def test_what_is_left_is_that_of_least_squares(take):
    U, (chosen, _, triangle, along, left), _, _ = run(take, 0, 7, 3, 9, 0.0)
    values = coefficients_of(triangle, along)
    for row in range(7):
        atoms = U[chosen[row][along[row] != 0]]
        best = np.linalg.lstsq(atoms.T, U[row], rcond=None)[0]
        np.testing.assert_allclose(values[row][along[row] != 0], best, atol=1e-9)
        np.testing.assert_allclose(left[row], U[row] - best @ atoms, atol=1e-9)


@pytest.mark.parametrize("take", [take_atoms, take_atoms.reference])
def test_a_row_that_depends_is_not_taken(take):
    U = np.array([[0.6, 0.8], [1.0, 0.0], [-1.0, 0.0]])
    known = [np.zeros((1, 2), np.intp), np.zeros((1, 2, 2)), np.eye(2)[None].copy(),
             np.zeros((1, 2)), U[:1].copy()]  # fmt: skip
    todo = take(U, np.array([0]), np.array([1]), 0, 0.0, *known)
    assert todo.tolist() == [0]
    assert take(U, todo, np.array([2]), 1, 0.0, *known).tolist() == []
    np.testing.assert_array_equal(known[2][0], np.eye(2))
    np.testing.assert_allclose(coefficients_of(known[2], known[3]), [[0.6, 0.0]])


@pytest.mark.parametrize("seed", range(4))
def test_directions_are_those_of_what_the_rows_span(seed):
    rng, U, _ = begun(seed, 6, 1, 5)
    places, number = rng.integers(len(U), size=(6, 4)), np.array([4, 4, 3, 4, 2, 4])
    places[5] = 3  # the same row again and again
    found = bases_of_rows(U, places, number)
    other = bases_of_rows.reference(U, places, number)
    np.testing.assert_allclose(found, other, rtol=0, atol=1e-12)
    for rows, many, basis in zip(places, number, found, strict=True):
        inside = U[rows[:many]] @ basis.T
        np.testing.assert_allclose(np.square(inside).sum(axis=1), 1.0, atol=1e-12)
        assert not basis[many:].any()
    np.testing.assert_allclose(np.square(found[5]).sum(axis=1), [1, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("bases_of", [bases_of_rows, bases_of_rows.reference])
def test_directions_of_rows_nearly_alike_are_at_right_angles(bases_of):
    rng = np.random.default_rng(0)
    U = rng.normal(size=(1, 6)) + 1e-7 * rng.normal(size=(4, 6))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    [basis] = bases_of(U, np.arange(4)[None], np.array([4]))
    np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-12)
