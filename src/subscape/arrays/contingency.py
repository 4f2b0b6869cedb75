"""Count how often two labellings put a row into each pair of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subscape.core.types import IntArray

from .backend import compiled

__all__ = ["count_pairs"]


@compiled("_contingency")
def count_pairs(a: NDArray[np.integer], b: NDArray[np.integer], n_a: int, n_b: int) -> IntArray:
    """Count the rows in every pair of clusters of two labellings.

    Parameters
    ----------
    a, b : (n,) array of int32 or int64
        The cluster of each row, below ``n_a`` and ``n_b``; a negative number is noise. Rows that
        are noise in either labelling are left out.
    n_a, n_b : int
        The numbers of clusters.

    Returns
    -------
    (n_a, n_b) array of int64
        Rows in cluster ``i`` of ``a`` and cluster ``j`` of ``b``.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.contingency import count_pairs
    >>> count_pairs(np.array([0, 0, 1, 1, -1]), np.array([0, 1, 1, 1, 1]), 2, 2)
    array([[1, 1],
           [0, 2]])
    """
    if len(a) != len(b):
        raise ValueError(f"the two labellings have {len(a)} and {len(b)} rows; they need the same")
    if len(a) and (a.max() >= n_a or b.max() >= n_b):
        raise ValueError(
            f"labels go up to {a.max()} and {b.max()}, but there are {n_a} and {n_b} clusters"
        )
    kept = (a >= 0) & (b >= 0)
    cells = a[kept].astype(np.int64) * n_b + b[kept]
    return np.bincount(cells, minlength=n_a * n_b).reshape(n_a, n_b).astype(np.int64, copy=False)
