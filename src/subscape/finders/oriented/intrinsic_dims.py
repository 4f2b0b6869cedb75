"""How many directions a group of rows spreads along: what its eigenvalues say."""

from __future__ import annotations

import numpy as np

from subscape.core.types import FloatArray, IntArray

#: Variances are told apart down to this share of the largest one.
SMALLEST_SHARE = 1e-8


def scree_dim(values: FloatArray, threshold: float = 0.2) -> int:
    """The number of eigenvalues before the scree, by Cattell's test.

    The last fall from one eigenvalue to the next that is at least ``threshold`` times the largest
    fall ends the directions of the flat.

    Parameters
    ----------
    values : (r,) array
        Eigenvalues, descending.
    threshold : float

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.intrinsic_dims import scree_dim
    >>> scree_dim(np.array([9.0, 7.0, 0.6, 0.5, 0.4]))
    2
    """
    falls = -np.diff(values)
    if not len(falls) or falls.max() <= 0:
        return min(1, len(falls))
    return int(np.flatnonzero(falls >= threshold * falls.max())[-1]) + 1


def bic_scores(values: FloatArray, n: float, p: int, most: int | None = None) -> FloatArray:
    """BIC, smaller is better, of a normal distribution around a flat of dimension 0, 1, 2, ...

    The distribution is spread freely along the flat and equally in all directions across it.

    Parameters
    ----------
    values : (r,) array
        Eigenvalues of the covariance, descending; those beyond the r-th are 0.
    n : float
        Rows.
    p : int
        Features.
    most : int, optional
        No larger dimension; by default half of the rows, and fewer than all features.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.intrinsic_dims import bic_scores
    >>> int(bic_scores(np.array([9.0, 7.0, 0.6, 0.5, 0.4]), 100, 5).argmin())
    2
    """
    allowed = int(_allowed(len(values), np.array([n]), p, most)[0])
    return many_bic_scores(values[None], np.array([n]), p, most)[0, : allowed + 1]


def many_bic_scores(
    values: FloatArray, n: FloatArray, p: int, most: int | IntArray | None = None
) -> FloatArray:
    """:func:`bic_scores` of many groups, (g, d); infinite where a dimension is too large.

    >>> import numpy as np
    >>> from subscape.finders.oriented.intrinsic_dims import many_bic_scores
    >>> found = many_bic_scores(np.array([[9.0, 7.0, 0.6], [9.0, 0.2, 0.1]]), np.array([90, 3]), 3)
    >>> found.argmin(axis=1).tolist(), np.isinf(found).sum(axis=1).tolist()
    ([2, 1], [0, 1])
    """
    allowed = _allowed(values.shape[1], n, p, most)
    dims = np.arange(int(allowed.max(initial=0)) + 1)
    top = values.max(axis=1, initial=0.0)[:, None]
    floor = np.maximum(SMALLEST_SHARE * top, np.finfo(float).tiny)
    number, wide = dims.size, values.shape[1]
    # Of the first 0, 1, 2, ... eigenvalues.
    along, sums = np.zeros((2, len(values), wide + 1))
    np.cumsum(np.log(np.maximum(values, floor)), axis=1, out=along[:, 1:])
    np.cumsum(values, axis=1, out=sums[:, 1:])
    across = np.maximum((sums[:, -1:] - sums[:, :number]) / (p - dims), floor)
    parameters = dims * (p - (dims + 1) / 2) + dims + 1
    nats = n[:, None] * (along[:, :number] + (p - dims) * np.log(across))
    scores = nats + parameters * np.log(np.maximum(n, 2.0))[:, None]
    scores[dims > allowed[:, None]] = np.inf
    return np.asarray(np.where(top > 0, scores, np.where(dims > 0, np.inf, 0.0)))


def _allowed(n_values: int, n: FloatArray, p: int, most: int | IntArray | None) -> IntArray:
    """The largest dimension of each group."""
    largest = np.minimum(p - 1 if most is None else np.minimum(most, p - 1), n_values)
    return np.maximum(np.minimum(largest, (n - 1) // 2), 0).astype(np.int64)
