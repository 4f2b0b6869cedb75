"""Rows moved to another origin and scale: the first thing that is done to every block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subscape.kernels.backend import compiled

__all__ = ["recentre"]

Floats = NDArray[np.float64]


@compiled("_recentring")
def recentre(
    X: NDArray[np.floating],
    low: Floats,
    means: Floats,
    factor: Floats,
    out: NDArray[np.floating],
) -> None:
    """Write ``(X - low - means) * factor``, computed in float64, into ``out``.

    Parameters
    ----------
    X : (n, p) array of float32 or float64
    low : (p,) array
        A value of each column: subtracted first, and exactly, so that an offset of the column
        leaves no trace of rounding.
    means : (p,) array
        Means of what is left.
    factor : (p,) array
    out : (n, p) array of float32 or float64

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.kernels.recentring import recentre
    >>> out = np.empty((2, 1))
    >>> recentre(np.array([[7.0], [9.0]]), np.array([7.0]), np.ones(1), np.array([0.5]), out)
    >>> out.ravel()
    array([-0.5,  0.5])
    """
    moved = out if out.dtype == np.float64 else np.empty(X.shape)
    np.subtract(X, low, out=moved)
    moved -= means
    moved *= factor
    if moved is not out:
        out[:] = moved
