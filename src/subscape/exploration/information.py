"""What label vectors tell, alone and beyond others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.numbering import are_few, from_zero
from subscape.core.types import IntArray
from subscape.measures.labels.partitions import homogeneity_score, normalized_mutual_info_score

#: Cells of a table of two groupings that are counted without looking for those that are taken.
MOST_CELLS = 1 << 16


def canonical(labels: NDArray[Any]) -> IntArray:
    """Labels renumbered by first appearance, noise kept: equal for equal groupings.

    >>> canonical(np.array([7, 3, -1, 7])).tolist(), canonical(np.array([2, 0, -1, 2])).tolist()
    ([0, 1, -1, 0], [0, 1, -1, 0])
    """
    labels = np.asarray(labels)
    if are_few(labels):
        # By counting: of values put in one place the last stays, so that rows go from the last on.
        n = len(labels)
        seen = np.full(int(labels.max(initial=-1)) + 1, n)
        inside = np.flatnonzero(labels >= 0)[::-1]
        seen[labels[inside]] = inside
        rank = np.empty(len(seen) + 1, dtype=np.int64)
        rank[np.argsort(seen, kind="stable")] = np.arange(len(seen))
        rank[-1] = -1
        return rank[labels]
    numbers, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(numbers), dtype=np.int64)
    order = [i for i in np.argsort(first) if numbers[i] >= 0]
    rank[order] = np.arange(len(order))
    rank[numbers < 0] = -1
    return rank[inverse]


def redundancy(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Share of the larger entropy that two label vectors have in common (0 … 1).

    >>> import numpy as np
    >>> round(redundancy(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3])), 6)
    1.0
    >>> round(redundancy(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])), 6)
    0.0
    """
    if len(np.unique(a)) == 1 and len(np.unique(b)) == 1:
        return 1.0
    # Rows in no cluster are a group here, so the labels are shifted away from -1.
    shared = normalized_mutual_info_score(canonical(a) + 1, canonical(b) + 1, average_method="max")
    return float(min(max(shared, 0.0), 1.0))


def joint_labels(a: NDArray[Any], b: NDArray[Any]) -> IntArray:
    """Labels of the cells that two groupings make together.

    >>> joint_labels(np.array([0, 0, 1]), np.array([5, 7, 5])).tolist()
    [0, 1, 2]
    """
    first, second = from_zero(a), from_zero(b)
    return from_zero(first.astype(np.int64) * (second.max(initial=0) + 1) + second)


def novelty(labels: NDArray[Any], known: NDArray[Any]) -> float:
    """Share of what labels tell that other labels don't (0 … 1).

    >>> novelty(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]))
    0.0
    >>> novelty(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    1.0
    """
    # Rows in no cluster are a group here, too.
    labels, known = np.asarray(labels), np.asarray(known)
    if are_few(labels) and are_few(known):
        pure = _purity(labels, known)
    else:
        pure = homogeneity_score(labels, known, noise="cluster")
    return min(max(1.0 - pure, 0.0), 1.0)


def _purity(labels: IntArray, known: IntArray) -> float:
    """:func:`homogeneity_score` of whole numbers from -1 on, which need not be looked through."""
    n = len(labels)
    width = int(known.max(initial=-1)) + 2
    if (int(labels.max(initial=-1)) + 2) * width > MOST_CELLS:
        return homogeneity_score(labels, known, noise="cluster")
    table = np.bincount((labels + 1) * width + (known + 1)).astype(np.float64)
    table = np.append(table, np.zeros(-len(table) % width)).reshape(-1, width)
    own = table.sum(axis=1)
    own = own[own > 0]
    whole = float((own / n * np.log(n / own)).sum())
    if not whole > 0:
        return 1.0
    rows = table[table > 0]
    among = np.broadcast_to(table.sum(axis=0), table.shape)[table > 0]
    return max(0.0, 1.0 - float((rows / n * np.log(among / rows)).sum()) / whole)
