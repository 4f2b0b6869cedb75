"""A rule that puts rows into the clusters of a view: those not searched, and new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import FloatArray, IntArray

from .separation import SMALLEST_SPREAD, GroupingScorer

#: Rows handled at a time.
BLOCK = 16384


@dataclass(frozen=True, eq=False)
class Rule:
    """Normal distributions of the clusters in the directions that tell them apart.

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
        for start in range(0, len(X), BLOCK):
            part = slice(start, start + BLOCK)
            labels[part], sure[part] = self._block(np.nan_to_num(X[part]) @ self.basis)
        return labels, sure

    def _block(self, seen: FloatArray) -> tuple[IntArray, FloatArray]:
        logs = np.empty((len(self.numbers), len(seen)))
        for k in range(len(self.numbers)):
            away = np.square((seen - self.centres[k]) / self.spreads[k]).sum(axis=1)
            logs[k] = np.log(self.shares[k]) - 0.5 * away - np.log(self.spreads[k]).sum()
        logs -= logs.max(axis=0)
        odds = np.exp(logs)
        best = odds.argmax(axis=0)
        return self.numbers[best], odds[best, np.arange(len(seen))] / odds.sum(axis=0)


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
    overall = np.maximum(seen.std(axis=0), 1e-300)
    numbers, inverse = np.unique(labels, return_inverse=True)
    centres = np.empty((len(numbers), basis.shape[1]))
    spreads = np.empty_like(centres)
    for k in range(len(numbers)):
        rows = seen[inverse == k]
        centres[k] = rows.mean(axis=0)
        spreads[k] = np.maximum(rows.std(axis=0), SMALLEST_SPREAD * overall)
    shares = np.bincount(inverse) / len(labels)
    rule = Rule(basis, centres, spreads, shares, numbers)
    agreement = float((rule(X)[0] == labels).mean())
    return Rule(basis, centres, spreads, shares, numbers, agreement)
