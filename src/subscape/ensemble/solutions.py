"""Candidates of MOEA-PCE: how they are made from members, crossed, mutated and judged."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from subscape.kernels.tanimoto import tanimoto
from subscape.measures.projective import psi_of
from subscape.measures.stacked import Stack

Floats = NDArray[np.float64]

#: Memberships of the ensemble are spelled out if they take no more bytes than this.
MOST_BYTES = 512 * 2**20


class Solution(NamedTuple):
    """A projective clustering that may become the consensus."""

    memberships: NDArray[np.float32]
    """(K, n), columns summing to 1."""
    weights: Floats
    """(K, p), rows summing to 1."""


class Judge:
    """Distances of solutions from an ensemble, in rows and in features (eq. 3), per member."""

    def __init__(self, memberships: sparse.csr_array, clusters: Stack) -> None:
        self.starts = clusters.starts
        self.weights = clusters.weights
        small = memberships.shape[0] * memberships.shape[1] * 4 <= MOST_BYTES
        self.columns: Any = memberships.toarray().T if small else sparse.csc_array(memberships.T)
        self.row_norms = np.asarray(memberships.astype(np.float64).power(2).sum(axis=1)).ravel()
        self.weight_norms = np.square(self.weights).sum(axis=1)

    def __call__(self, solutions: list[Solution]) -> Floats:
        """(number, 2) array of mean distances in [0, 1]."""
        if not solutions:
            return np.empty((0, 2))
        k = len(solutions[0].weights)
        rows = np.concatenate([solution.memberships for solution in solutions])
        weights = np.concatenate([solution.weights for solution in solutions])
        in_rows = tanimoto(
            np.asarray(rows @ self.columns, np.float64),
            np.einsum("ij,ij->i", rows, rows, dtype=np.float64),
            self.row_norms,
        )
        in_features = tanimoto(
            weights @ self.weights.T, np.square(weights).sum(axis=1), self.weight_norms
        )
        return np.array([
            [psi_of(table[i : i + k], self.starts).mean() for table in (in_rows, in_features)]
            for i in range(0, len(rows), k)
        ])  # fmt: skip


def from_member(memberships: Any, weights: Floats, k: int, rng: np.random.Generator) -> Solution:
    """A member with exactly k clusters: the most similar are merged, the largest split.

    Parameters
    ----------
    memberships : (K', n) sparse array
    weights : (K', p) array
    k : int
    rng : Generator
        Splits clusters.
    """
    rows = memberships.toarray().astype(np.float32)
    while len(rows) > k:
        shared = np.asarray(rows @ rows.T, np.float64) * (weights @ weights.T)
        norms = shared.diagonal().copy()
        similar = tanimoto(shared, norms, norms)
        np.fill_diagonal(similar, -1.0)
        a, b = sorted(np.unravel_index(similar.argmax(), similar.shape))
        sizes = rows[[a, b]].sum(axis=1, dtype=np.float64)
        weights = weights.copy()
        weights[a] = sizes @ weights[[a, b]] / sizes.sum()
        rows[a] += rows[b]
        rows, weights = np.delete(rows, b, axis=0), np.delete(weights, b, axis=0)
    while len(rows) < k:
        largest = int(rows.sum(axis=1).argmax())
        half = rng.random(rows.shape[1]) < 0.5
        rows = np.concatenate([rows, rows[largest : largest + 1] * half])
        rows[largest] *= ~half
        weights = np.concatenate([weights, weights[largest : largest + 1]])
    return normalised(rows, weights)


def random_solution(k: int, n: int, p: int, rng: np.random.Generator) -> Solution:
    """Memberships and weights drawn evenly from all that are allowed."""
    return Solution(rng.dirichlet(np.ones(k), n).T.astype(np.float32), rng.dirichlet(np.ones(p), k))


def crossed(a: Solution, b: Solution, couple: bool, rng: np.random.Generator) -> Solution:
    """A child that takes each cluster from either parent, the parents' clusters being matched.

    With ``couple`` memberships and weights of a cluster stay together.
    """
    shared = np.asarray(a.memberships @ b.memberships.T, np.float64)
    norms = [np.einsum("ij,ij->i", s.memberships, s.memberships, dtype=np.float64) for s in (a, b)]
    match = linear_sum_assignment(-tanimoto(shared, *norms))[1]
    from_a = rng.random(len(match)) < 0.5
    weights_from_a = from_a if couple else rng.random(len(match)) < 0.5
    return normalised(
        np.where(from_a[:, None], a.memberships, b.memberships[match]),
        np.where(weights_from_a[:, None], a.weights, b.weights[match]),
    )


def mutated(given: Solution, rate: float, scale: float, rng: np.random.Generator) -> Solution:
    """Gaussian noise on the memberships and weights of some clusters."""
    struck = np.flatnonzero(rng.random(len(given.weights)) < rate)
    if not len(struck):
        return given
    rows, weights = given.memberships.copy(), given.weights.copy()
    rows[struck] += scale * rng.standard_normal((len(struck), rows.shape[1]), dtype=np.float32)
    weights[struck] += scale * rng.standard_normal((len(struck), weights.shape[1]))
    return normalised(np.maximum(rows, 0), np.maximum(weights, 0))


def normalised(rows: NDArray[np.float32], weights: Floats) -> Solution:
    """Columns of memberships and rows of weights scaled to sum 1; zeros become even shares."""
    per_row, per_cluster = rows.sum(axis=0), weights.sum(axis=1, keepdims=True)
    even_row, even_cluster = np.float32(1 / len(rows)), 1 / weights.shape[1]
    return Solution(
        np.where(per_row > 0, rows / np.where(per_row > 0, per_row, 1), even_row),
        np.where(
            per_cluster > 0, weights / np.where(per_cluster > 0, per_cluster, 1.0), even_cluster
        ),
    )
