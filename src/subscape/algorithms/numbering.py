"""In which order clusters are numbered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def by_first_row(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Order the clusters by their first rows; every cluster must have one.

    Restarts that end in the same clusters, numbered differently, then give the same labels, and
    rounding that picks another of them goes unnoticed.

    Parameters
    ----------
    labels : (n,) array
        Clusters ``0 .. k-1``, -1 for noise.

    Returns
    -------
    (k,) array
        The old number of each new cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.algorithms.numbering import by_first_row
    >>> by_first_row(np.array([-1, 2, 2, 0, 1, 0]))
    array([2, 0, 1])
    """
    first = [int(np.argmax(labels == i)) for i in range(int(labels.max(initial=-1)) + 1)]
    return np.argsort(first, kind="stable")
