"""Directions in which the centres of clusters differ."""

from __future__ import annotations

import numpy as np

from subscape.core.types import FloatArray


def leading_directions(factor: FloatArray, least: float = 0.0) -> FloatArray:
    """Directions in which centres differ, the strongest first.

    Parameters
    ----------
    factor : (k, p) array
        Centres, as differences to their common mean, times the root of their counts: the scatter
        between them is ``factor.T @ factor``, of rank k − 1 at most.
    least : float
        Scatter along a direction that counts as none.

    Returns
    -------
    (p, m) array
        Orthonormal columns, m < k.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.centre_directions import leading_directions
    >>> np.abs(leading_directions(np.array([[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0]]))).tolist()
    [[1.0], [0.0], [0.0]]
    """
    _, singular, right = np.linalg.svd(factor, full_matrices=False)
    strong = np.square(singular) > least
    strong[len(factor) - 1 :] = False
    return np.ascontiguousarray(right[strong].T)
