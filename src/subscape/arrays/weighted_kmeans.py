"""One pass of a weighted k-means: nearest centres and what is needed to move them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.core.types import FloatArray, IndexArray

from .backend import compiled

__all__ = ["WeightedPass", "nearest_weighted", "weighted_costs"]


class WeightedPass(NamedTuple):
    """Rows by their nearest centre, with sums over each group of the differences to it."""

    labels: IndexArray
    """(n,) nearest centre of each row."""
    costs: FloatArray
    """(n,) weighted squared distance to it, without the offset."""
    counts: IndexArray
    """(k,) rows per centre."""
    sums: FloatArray
    """(k, p) sums of ``x - centre``."""
    squares: FloatArray
    """(k, p) sums of ``(x - centre) ** 2``."""


@compiled("_weighted")
def nearest_weighted(
    X: FloatArray,
    centres: FloatArray,
    weights: FloatArray,
    offsets: FloatArray,
) -> WeightedPass:
    """Find for every row the centre with the least weighted squared distance plus offset.

    Differences are summed around the centres given: near convergence these are the means, so that
    variances computed from the sums lose no digits.

    Parameters
    ----------
    X : (n, p) array
    centres, weights : (k, p) array
    offsets : (k,) array
        Added to the distances of each centre. Ties go to the first centre.

    Returns
    -------
    WeightedPass

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.weighted_kmeans import nearest_weighted
    >>> X = np.array([[0.0, 9.0], [1.0, 4.0], [7.0, 5.0]])
    >>> centres, weights = np.array([[0.0, 5.0], [7.0, 7.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> found = nearest_weighted(X, centres, weights, np.zeros(2))
    >>> found.labels, found.costs, found.sums.tolist()
    (array([0, 0, 1]), array([0., 1., 2.]), [[1.0, 3.0], [0.0, -2.0]])
    """
    costs = weighted_costs(X, centres, weights)
    labels = (costs + offsets).argmin(axis=1)
    k = len(centres)
    sums, squares = np.zeros(centres.shape), np.zeros(centres.shape)
    for i in range(k):
        away = X[labels == i] - centres[i]
        sums[i], squares[i] = away.sum(axis=0), np.square(away).sum(axis=0)
    own = costs[np.arange(len(X)), labels]
    return WeightedPass(labels, own, np.bincount(labels, minlength=k), sums, squares)


@compiled("_weighted")
def weighted_costs(X: FloatArray, centres: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted squared distance of every row to every centre.

    Parameters
    ----------
    X : (n, p) array
    centres, weights : (k, p) array

    Returns
    -------
    (n, k) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.weighted_kmeans import weighted_costs
    >>> weighted_costs(np.array([[0.0, 2.0]]), np.array([[1.0, 0.0]]), np.array([[0.5, 0.25]]))
    array([[1.5]])
    """
    costs = np.empty((len(X), len(centres)))
    for i, (centre, weight) in enumerate(zip(centres, weights, strict=True)):
        costs[:, i] = np.square(X - centre) @ weight
    return costs
