"""Which of several results describes the rows most briefly, for finders that choose settings."""

from __future__ import annotations

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.types import FloatArray, IntArray

__all__ = ["evenly_spaced", "nats_saved"]

#: Variances below this share of the table's are not told apart.
SMALLEST = 1e-9


def nats_saved(table: FloatArray, clustering: SubspaceClustering) -> float:
    """Nats that clusters save: their features vary less than in the table, but rows are named.

    Parameters
    ----------
    table : (n, p) array
    clustering : SubspaceClustering
        Axis-aligned.

    Returns
    -------
    float
        0 for no clusters; negative where naming rows and features costs more than it saves.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape import SubspaceClustering
    >>> table = np.r_[np.zeros(50), np.linspace(-1, 1, 50)][:, None]
    >>> first = SubspaceClustering.from_clusters([(range(50), [0])], table.shape)
    >>> last = SubspaceClustering.from_clusters([(range(50, 100), [0])], table.shape)
    >>> nats_saved(table, first) > 0 > nats_saved(table, last)
    True
    """
    spread, n = table.var(axis=0), len(table)
    saved = 0.0
    for k in range(clustering.n_clusters):
        cluster = clustering.cluster(k)
        size, usual = len(cluster.rows), spread[cluster.features]
        here = table[np.ix_(cluster.rows, cluster.features)].var(axis=0)
        narrower = np.log(usual / np.maximum(here, SMALLEST * usual))
        saved += size * (0.5 * np.maximum(narrower, 0.0).sum() - np.log(n / size))
        saved -= len(cluster.features) * np.log(size)
    return float(saved)


def evenly_spaced(n: int, most: int) -> IntArray:
    """At most so many of ``n`` places.

    Examples
    --------
    >>> from subscape.finders.axis.brevity import evenly_spaced
    >>> evenly_spaced(9, 3), evenly_spaced(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
