"""What label vectors tell, alone and beyond others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import IntArray
from subscape.measures.labels.partitions import homogeneity_score, normalized_mutual_info_score


def canonical(labels: NDArray[Any]) -> IntArray:
    """Labels renumbered by first appearance, noise kept: equal for equal groupings."""
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
    _, first = np.unique(a, return_inverse=True)
    _, second = np.unique(b, return_inverse=True)
    cells = first.astype(np.int64) * (second.max(initial=0) + 1) + second
    return np.unique(cells, return_inverse=True)[1]


def novelty(labels: NDArray[Any], known: NDArray[Any]) -> float:
    """Share of what labels tell that other labels don't (0 … 1).

    >>> novelty(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]))
    0.0
    >>> novelty(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    1.0
    """
    # Rows in no cluster are a group here, too.
    return float(np.clip(1.0 - homogeneity_score(labels, known, noise="cluster"), 0.0, 1.0))
