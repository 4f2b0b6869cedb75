"""What is left of a table when a grouping is taken out of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def without(X: FloatArray, basis: FloatArray) -> FloatArray:
    """The rows without their component in the span of ``basis`` (orthonormal columns).

    Groups that are told apart in those directions alone can't be seen any more; others can.

    >>> import numpy as np
    >>> without(np.array([[1.0, 2.0]]), np.array([[1.0], [0.0]]))
    array([[0., 2.]])
    """
    return X - (X @ basis) @ basis.T
