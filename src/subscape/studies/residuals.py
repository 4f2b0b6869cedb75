"""What is left of a table when a grouping is taken out of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Directions in which the rows hardly differ, compared with the widest, are none.
SMALLEST = 1e-9


def without(X: FloatArray, *bases: FloatArray) -> FloatArray:
    """What of the rows can't be told from their place in the span of the bases.

    Where a row lies in those directions also foretells its values in others that go with them, and
    that is taken out too: the means of groups that are told apart there become equal in every
    direction. The columns of the result are centred.

    >>> import numpy as np
    >>> rows = np.array([[0.0, 2.0], [1.0, -4.0], [2.0, 2.0]])
    >>> without(rows, np.array([[1.0], [0.0]])).round(6) + 0.0
    array([[ 0.,  2.],
           [ 0., -4.],
           [ 0.,  2.]])
    """
    X = X - X.mean(axis=0)
    if not sum(basis.shape[1] for basis in bases):
        return X
    seen = X @ np.hstack(bases)
    basis, sizes, _ = np.linalg.svd(seen, full_matrices=False)
    basis = basis[:, sizes > SMALLEST * sizes[0]]
    return X - basis @ (basis.T @ X)
