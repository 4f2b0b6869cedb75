"""One sweep of the sequential information bottleneck with a known grouping factored out."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IntArray

__all__ = ["bottleneck_sweep", "information"]

#: A move must gain more than this share of a row's mass, so that rounding never moves a row.
LEAST_GAIN = 1e-9


def information(sums: FloatArray) -> FloatArray:
    """Return Σ s log s - (Σ s) log (Σ s) over the last axis of some profiles.

    Summed over the clusters it is their information on the features, up to what is the same for all
    clusterings.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.alternatives.cib.bottleneck import information
    >>> information(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([-0.6931,  0.    ])
    """
    total = sums.sum(axis=-1)
    return np.asarray(xlogy(sums, sums).sum(axis=-1) - xlogy(total, total))


@compiled("_bottleneck")
def bottleneck_sweep(
    indptr: IntArray,
    indices: IntArray,
    values: FloatArray,
    groups: IntArray,
    order: IntArray,
    coordination: float,
    labels: IntArray,
    sizes: IntArray,
    local_sizes: IntArray,
    local: FloatArray,
    overall: FloatArray,
) -> int:
    """Take each row out of its cluster and put it where the least information is lost.

    What is kept is the information of the clusters on the features within each known group, plus
    ``coordination`` times that over all rows. Ties, up to rounding, leave a row where it is, or go
    to the lowest cluster. The last row of a cluster stays.

    Parameters
    ----------
    indptr, indices, values : arrays
        Rows over the features as in a CSR matrix; every row has the same positive sum.
    groups : (n,) int array
        Known group of each row, from 0.
    order : (m,) int array
        The rows to move, in this order.
    coordination : float
        Weight of the information over all rows.
    labels : (n,) int array
        Cluster of each row. Written to.
    sizes : (k,) int array
        Rows of each cluster. Written to.
    local_sizes : (n_groups, k) int array
        Rows of each cluster within each group. Written to.
    local : (n_groups, k, p) array
        Sums of the rows of each cluster within each group. Written to.
    overall : (k, p) array
        Sums of the rows of each cluster. Written to.

    Returns
    -------
    int
        Number of rows moved.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.alternatives.cib.bottleneck import bottleneck_sweep
    >>> labels, sizes = np.array([0, 0, 1, 1, 1]), np.array([2, 3])
    >>> rows = np.eye(2)[[0, 0, 0, 1, 1]] / 5
    >>> sums = np.array([rows[:2].sum(axis=0), rows[2:].sum(axis=0)])
    >>> bottleneck_sweep(np.arange(6), np.array([0, 0, 0, 1, 1]), np.full(5, 0.2), np.zeros(5, int),
    ...                  np.arange(5), 0.0, labels, sizes, sizes[None].copy(), sums[None].copy(),
    ...                  sums)
    1
    >>> labels
    array([0, 0, 0, 1, 1])
    """
    moved = 0
    for x in order:
        old, group = int(labels[x]), int(groups[x])
        if sizes[old] == 1:
            continue
        at, v = indices[indptr[x] : indptr[x + 1]], values[indptr[x] : indptr[x + 1]]
        mass = float(v.sum())
        inside, counts = local[group], local_sizes[group]
        for sums in (inside, overall):
            sums[old, at] = np.maximum(sums[old, at] - v, 0.0)
        sizes[old] -= 1
        counts[old] -= 1
        gain = _gain(inside[:, at], counts, v, mass)
        if coordination > 0:
            gain = gain + coordination * _gain(overall[:, at], sizes, v, mass)
        best = int(gain.argmax())
        if gain[best] <= gain[old] + LEAST_GAIN * mass:
            best = old
        inside[best, at] += v
        overall[best, at] += v
        sizes[best] += 1
        counts[best] += 1
        labels[x] = best
        moved += best != old
    return moved


def _gain(before: FloatArray, sizes: IntArray, v: FloatArray, mass: float) -> FloatArray:
    """What :func:`information` of each profile rises by when a row joins it."""
    after, total = before + v, sizes * mass
    return np.asarray(
        (xlogy(after, after) - xlogy(before, before)).sum(axis=1)
        - xlogy(total + mass, total + mass)
        + xlogy(total, total)
    )
