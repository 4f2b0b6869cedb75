"""Indices of compactness and separation: clusterings scored by distances between rows alone.

Each index can be taken in the full space, where it is the textbook's, or in the clusters' own
subspaces (``space="subspace"``). There,

- rows of one cluster are compared in its subspace, and squared distances are divided by its mass:
  the number of its dimensions (for weights, which sum to 1, nothing is divided). They are then
  squared distances *per dimension*, so that clusters of 3 and of 30 dimensions can be compared;
- rows of two clusters, and their centroids, are compared in the subspaces of both: the squared
  distance is the mean of the two.

Features should have comparable units. Where every subspace is the full space, both agree. Rows in
no cluster are left out; indices that compare clusters refuse a single one. No index holds more than
a few million distances at a time.

==============================  ===========================================  ==========
index                           what it says                                 good
==============================  ===========================================  ==========
:func:`silhouette_score`        own cluster nearer than the next             large, ≤ 1
:func:`calinski_harabasz_score` variance between over variance within        large
:func:`davies_bouldin_index`    width over distance of the worst neighbour   small
:func:`dunn_index`              smallest distance over largest diameter      large
:func:`generalized_dunn`        the same with averages                       large
:func:`modified_hubert_gamma`   correlation of distances and centroids'      large, ≤ 1
:func:`c_index`                 distances within, between best and worst     small, ≥ 0
:func:`goodman_kruskal_gamma`   distances within smaller than between        large, ≤ 1
==============================  ===========================================  ==========
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray

from .dunn import dunn_index, generalized_dunn
from .groups import (
    PointGroups,
    clusters_within,
    distance_blocks,
    distances_to_centroid,
    point_groups,
)
from .pair_order import c_index, goodman_kruskal_gamma, modified_hubert_gamma

__all__ = [
    "INDICES",
    "c_index",
    "calinski_harabasz_score",
    "compactness_report",
    "davies_bouldin_index",
    "dunn_index",
    "generalized_dunn",
    "goodman_kruskal_gamma",
    "modified_hubert_gamma",
    "silhouette_samples",
    "silhouette_score",
]


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
        clusters, per dimension; see :mod:`subscape.measures.compactness.indices`.

    Returns
    -------
    array of shape (n_rows,)
        From -1 to 1, large is good; NaN for noise.

    See Also
    --------
    silhouette_score : Their mean.

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

    See Also
    --------
    silhouette_samples : Of every row.
    compactness_report : All such indices at once.

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


def davies_bouldin_index(
    X: ArrayLike, clustering: Any, *, r: float = 1, norm: float = 2, space: str = "full"
) -> float:
    """Davies and Bouldin's index: how wide clusters are for their distance; small is good [1]_.

    The mean over clusters i of max over j of (s_i + s_j) / d_ij, where d_ij is the distance of the
    centroids and s_i the r-th root of the mean r-th power of the distances to the centroid.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    clustering : SubspaceClustering, fitted finder or label vector
        Each row in at most one cluster; noise is left out.
    r : float, default=1
        Power of the distances to the centroid: 1 for their mean, as in scikit-learn, 2 for the
        standard deviation.
    norm : float, default=2
        Order of the norm behind all distances: 2 is Euclidean, 1 city block. The thesis' index for
        a given r has ``norm=r``. Only 2 in subspaces.
    space : {"full", "subspace"}, default="full"
        See :mod:`subscape.measures.compactness.indices`.

    Returns
    -------
    float
        At least 0; infinite if two centroids coincide.

    See Also
    --------
    compactness_report : All such indices at once.
    calinski_harabasz_score : Another one.

    References
    ----------
    .. [1] D. L. Davies, D. W. Bouldin, "A cluster separation measure", IEEE Transactions on Pattern
       Analysis and Machine Intelligence 1 (1979), doi:10.1109/TPAMI.1979.4766909.

    Examples
    --------
    >>> from subscape.measures import davies_bouldin_index
    >>> davies_bouldin_index([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    0.1
    """
    for name, value in (("r", r), ("norm", norm)):
        if not value > 0 or (name == "norm" and value < 1):
            raise SubscapeError(f"{name} must be a number of at least 1, got {value!r}")
    if norm != 2 and space != "full":
        raise SubscapeError("norm is known in the full space only; use norm=2 in subspaces")
    groups = point_groups(X, clustering, space, "davies_bouldin_index")
    centroids = groups.centroids()
    if norm == 2:
        apart = groups.centroid_distances()
        spreads = [distances_to_centroid(groups, k, centroids[k]) for k in range(groups.n_clusters)]
    else:
        apart = _norms(centroids[:, None] - centroids, norm)
        spreads = [_norms(groups.of(k) - centroids[k], norm) for k in range(groups.n_clusters)]
    widths = np.array([_power_mean(values, r) for values in spreads])
    np.fill_diagonal(apart, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(apart == 0, np.inf, np.add.outer(widths, widths) / apart)
    return float(np.nanmax(ratios, axis=1).mean())


def calinski_harabasz_score(X: ArrayLike, clustering: Any, *, space: str = "full") -> float:
    """Calinski and Harabasz' variance ratio: between clusters over within; large is good [1]_.

    Parameters
    ----------
    X, clustering
        As in :func:`davies_bouldin_index`.
    space : {"full", "subspace"}, default="full"
        "subspace": deviations of the rows from their centroid, and of the centroid from the mean of
        all rows in clusters, are both taken in the cluster's own subspace, per dimension.

    Returns
    -------
    float
        At least 0; infinite if clusters have no width (NaN if they moreover coincide).

    See Also
    --------
    compactness_report : All such indices at once.
    davies_bouldin_index : Another one.

    References
    ----------
    .. [1] T. Calinski, J. Harabasz, "A dendrite method for cluster analysis", Communications in
       Statistics 3 (1974), doi:10.1080/03610927408827101.

    Examples
    --------
    >>> from subscape.measures import calinski_harabasz_score
    >>> calinski_harabasz_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    200.0
    """
    groups = point_groups(X, clustering, space, "calinski_harabasz_score")
    between, within = _scatter(groups)
    n, number = len(groups.points), groups.n_clusters
    if within == 0 or n == number:
        return float("inf") if between > 0 else float("nan")
    return float(between * (n - number) / (within * (number - 1)))


def _scatter(groups: PointGroups) -> tuple[float, float]:
    """Sums of squares between and within clusters."""
    centroids, middle = groups.centroids(), groups.points.mean(axis=0)
    between = within = 0.0
    for k in range(groups.n_clusters):
        away = groups.seen(centroids[[k]] - middle, k, k)
        between += float(groups.sizes[k]) * float(np.square(away).sum())
        within += float(np.square(distances_to_centroid(groups, k, centroids[k])).sum())
    return between, within


def _norms(vectors: FloatArray, order: float) -> FloatArray:
    return np.asarray(np.linalg.norm(vectors, ord=order, axis=-1))


def _power_mean(values: FloatArray, r: float) -> float:
    top = float(values.max(initial=0.0))
    if top == 0:
        return 0.0
    if np.isinf(r):
        return top
    # Powers of at most 1 can't overflow.
    return top * float(np.mean((values / top) ** r) ** (1 / r))


#: The indices of a report: name, function, whether large is good.
INDICES: tuple[tuple[str, Callable[..., float], bool], ...] = (
    ("silhouette_score", silhouette_score, True),
    ("calinski_harabasz_score", calinski_harabasz_score, True),
    ("davies_bouldin_index", davies_bouldin_index, False),
    ("dunn_index", dunn_index, True),
    ("generalized_dunn", generalized_dunn, True),
    ("modified_hubert_gamma", modified_hubert_gamma, True),
    ("c_index", c_index, False),
    ("goodman_kruskal_gamma", goodman_kruskal_gamma, True),
)


def compactness_report(X: ArrayLike, clustering: Any) -> list[dict[str, Any]]:
    """All indices of a clustering, in the full space and in the clusters' subspaces.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    clustering : SubspaceClustering, fitted finder or label vector
        At least two clusters that share no rows.

    Returns
    -------
    list of dict
        One per index, with its ``full`` and ``subspace`` values and which values are ``good``;
        ready for ``pandas.DataFrame``.

    See Also
    --------
    silhouette_score : One of them.
    sre : Reconstruction errors.
    subscape.validation.significance : Whether chance does as well.

    Examples
    --------
    >>> from subscape.datasets import planted_axes
    >>> from subscape.measures import compactness_report
    >>> X, truth = planted_axes(100, 10, n_clusters=3, dims=3, random_state=0)
    >>> compactness_report(X, truth)[0]["good"]
    'large'
    """
    return [
        {
            "index": name,
            "full": function(X, clustering, space="full"),
            "subspace": function(X, clustering, space="subspace"),
            "good": "large" if large else "small",
        }
        for name, function, large in INDICES
    ]
