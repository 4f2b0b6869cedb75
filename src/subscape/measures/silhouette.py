"""Silhouettes: how much nearer rows are to their own cluster than to the next one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .point_groups import (
    FloatArray,
    PointGroups,
    clusters_within,
    distance_blocks,
    point_groups,
)


def silhouette_samples(X: ArrayLike, clustering: Any, *, space: str = "full") -> FloatArray:
    """Silhouette of every row [1]_.

    (b - a) / max(a, b), where a is the mean distance to the other rows of the row's own cluster and
    b the smallest mean distance to the rows of another one; 0 for a cluster of one row.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    clustering : SubspaceClustering, fitted finder or label vector
        Each row in at most one cluster; of soft memberships the largest counts.
    space : {"full", "subspace"}, default="full"
        "subspace": distances to rows of another cluster are taken in the subspaces of both
        clusters, per dimension; see :mod:`subscape.measures.compactness`.

    Returns
    -------
    array of shape (n_rows,)
        From -1 to 1, large is good; NaN for noise.

    References
    ----------
    .. [1] P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of
       cluster analysis", Journal of Computational and Applied Mathematics 20 (1987),
       doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> from subscape.measures import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0], [5.0]], [0, 0, 1, 1, -1]).round(2)
    array([0.9 , 0.89, 0.89, 0.9 ,  nan])
    """
    groups = point_groups(X, clustering, space, "silhouette_samples")
    values = np.full(groups.n_rows, np.nan)
    values[groups.order] = _silhouettes(groups)
    return values


def silhouette_score(X: ArrayLike, clustering: Any, *, space: str = "full") -> float:
    """Mean silhouette of the rows in clusters.

    Parameters
    ----------
    X, clustering, space
        As in :func:`silhouette_samples`.

    Returns
    -------
    float
        From -1 to 1; large is good.

    Examples
    --------
    Clusters that show in two of twenty features:

    >>> from subscape.datasets import planted_axes
    >>> from subscape.measures import silhouette_score
    >>> X, truth = planted_axes(200, 20, n_clusters=4, dims=2, random_state=0)
    >>> full, own = (silhouette_score(X, truth, space=s) for s in ("full", "subspace"))
    >>> round(full, 2), round(own, 2)
    (0.01, 0.95)
    """
    return float(_silhouettes(point_groups(X, clustering, space, "silhouette_score")).mean())


def _silhouettes(groups: PointGroups) -> FloatArray:
    sums = np.zeros((len(groups.points), groups.n_clusters))
    for rows, columns, block in distance_blocks(groups):
        clusters, starts = clusters_within(groups, columns)
        sums[rows, clusters[0] : clusters[-1] + 1] = np.add.reduceat(block, starts, axis=1)
    codes, sizes = groups.codes, groups.sizes
    places = np.arange(len(codes))
    own = sums[places, codes] / np.maximum(sizes[codes] - 1, 1)
    means = sums / sizes
    means[places, codes] = np.inf
    other = means.min(axis=1)
    larger = np.maximum(own, other)
    alone = sizes[codes] == 1
    return np.where(alone | (larger == 0), 0.0, (other - own) / np.where(larger > 0, larger, 1.0))
