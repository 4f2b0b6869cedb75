"""A rule that puts rows into the clusters of a view: those not searched, and new ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subscape.core.prototypes import describe, log_likelihood
from subscape.core.types import FloatArray, IntArray

from .separation import SMALLEST_SPREAD, GroupingScorer

#: Rows handled at a time.
BLOCK = 16384
#: Rows that a rule of neighbours keeps.
MOST_KNOWN = 1500


@dataclass(frozen=True, eq=False)
class Rule:
    """Normal distributions of the clusters in the directions that tell them apart.

    What :func:`~subscape.core.prototypes.assign` does there, with noise as a cluster like the
    others: as all of them are seen in the same directions, the table at large has no say.

    Attributes
    ----------
    basis : array of shape (n_columns, d)
        Directions, in the prepared columns.
    centres, spreads : arrays of shape (n_groups, d)
    shares : array of shape (n_groups,)
    numbers : int array of shape (n_groups,)
        The label each group stands for; -1 is noise.
    agreement : float
        Share of the rows it was learned from that it puts where they are.
    """

    basis: FloatArray
    centres: FloatArray
    spreads: FloatArray
    shares: FloatArray
    numbers: IntArray
    agreement: float = 1.0

    def __call__(self, X: FloatArray) -> tuple[IntArray, FloatArray]:
        """Label of each row, and how sure it is (probability); missing values count as average."""
        labels = np.empty(len(X), dtype=np.int64)
        sure = np.empty(len(X))
        step = max(64, BLOCK * 8 // max(len(self.numbers), 8))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            labels[part], sure[part] = self._block(np.nan_to_num(X[part]) @ self.basis)
        return labels, sure

    def _block(self, seen: FloatArray) -> tuple[IntArray, FloatArray]:
        logs = np.empty((len(self.numbers), len(seen)))
        for k in range(len(self.numbers)):
            own = log_likelihood(seen, self.centres[k], self.spreads[k])
            logs[k] = np.log(self.shares[k]) + own.sum(axis=1)
        logs -= logs.max(axis=0)
        odds = np.exp(logs)
        labels = self.numbers[odds.argmax(axis=0)]
        own = np.where(self.numbers[:, None] == labels, odds, 0.0).sum(axis=0)
        return labels, own / odds.sum(axis=0)


def learn(X: FloatArray, labels: NDArray[Any], scorer: GroupingScorer | None = None) -> Rule:
    """Rule of a labelled table (-1 is noise).

    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> rule = learn(X, np.array([0, 0, 0, 1, 1, 1]))
    >>> rule(np.array([[0.3], [4.0]]))[0]
    array([0, 1])
    """
    scorer = GroupingScorer(X) if scorer is None else scorer
    basis = scorer(labels).basis
    if basis.shape[1] == 0:
        basis = scorer.directions[:, :1]
    seen = X @ basis
    numbers, inverse = np.unique(labels, return_inverse=True)
    found = describe(seen, inverse)
    overall = np.maximum(found.background_spread, 1e-300)
    rule = Rule(
        basis=basis,
        centres=found.centre,
        spreads=np.maximum(found.spread, SMALLEST_SPREAD * overall),
        shares=found.sizes / len(labels),
        numbers=numbers,
    )
    return replace(rule, agreement=float((rule(X)[0] == labels).mean()))


def learn_neighbours(X: FloatArray, labels: NDArray[Any], basis: FloatArray, seed: int = 0) -> Rule:
    """Rule that puts a row with the nearest of those that are known, for groups of any shape.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    labels : array of shape (n_rows,)
    basis : array of shape (n_columns, d)
        Where rows are near to each other.
    seed : int
        Of many rows a sample is kept.

    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> rule = learn_neighbours(X, np.array([0, 0, 1, 1]), np.eye(1))
    >>> rule(np.array([[0.3], [4.0]]))[0]
    array([0, 1])
    """
    rows = np.arange(len(X))
    if len(rows) > MOST_KNOWN:
        rows = np.sort(np.random.default_rng(seed).choice(len(X), MOST_KNOWN, replace=False))
    seen = X[rows] @ basis
    apart, _ = cKDTree(seen).query(seen, k=min(2, len(seen)))
    apart = np.asarray(apart).reshape(len(seen), -1)[:, -1]
    width = max(float(np.median(apart)), 1e-9 * float(np.abs(seen).max(initial=1.0)), 1e-300)
    rule = Rule(
        basis=basis,
        centres=seen,
        spreads=np.full(seen.shape, width),
        shares=np.full(len(seen), 1 / len(seen)),
        numbers=np.asarray(labels[rows], dtype=np.int64),
    )
    agreement = float((rule(X)[0] == labels).mean())
    return replace(rule, agreement=agreement)
