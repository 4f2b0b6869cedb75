"""Manhattan segmental distances: the mean absolute difference over a cluster's own features.

Clusters are numbered ``0 .. k-1``; ``points`` is a (k, p) array with one point per cluster and
``masks`` a (k, p) array of bool with its features. A label of -1 is a row in no cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IndexArray

__all__ = [
    "Nearest",
    "ball_deviations",
    "centroids",
    "city_block",
    "cluster_deviations",
    "nearest_point",
    "own_distances",
]


class Nearest(NamedTuple):
    """Which point is nearest to each row, and how far it is."""

    labels: IndexArray
    distances: FloatArray


@compiled("_segmental")
def city_block(X: FloatArray, point: FloatArray) -> FloatArray:
    """Sum the absolute differences between every row and one point.

    Parameters
    ----------
    X : (n, p) array
    point : (p,) array

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.proclus.segmental import city_block
    >>> city_block(np.array([[0.0, 1.0], [2.0, -3.0]]), np.array([0.0, 0.0]))
    array([1., 5.])
    """
    return np.abs(X - point).sum(axis=1)


@compiled("_segmental")
def ball_deviations(
    X: FloatArray,
    point: FloatArray,
    distances: FloatArray,
    radius: float,
) -> FloatArray:
    """Average, feature by feature, how far the rows within a radius are from a point.

    Parameters
    ----------
    X : (n, p) array
    point : (p,) array
    distances : (n,) array
        Distance of each row to the point, in any metric.
    radius : float
        Rows up to this distance count; at least one must.

    Returns
    -------
    (p,) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.proclus.segmental import ball_deviations
    >>> X = np.array([[0.0, 0.0], [2.0, 1.0], [9.0, 9.0]])
    >>> ball_deviations(X, X[0], np.array([0.0, 3.0, 18.0]), 3.0)
    array([1. , 0.5])
    """
    return np.abs(X[distances <= radius] - point).mean(axis=0)


@compiled("_segmental")
def cluster_deviations(X: FloatArray, labels: IndexArray, points: FloatArray) -> FloatArray:
    """Average, feature by feature, how far the rows of each cluster are from its point.

    Parameters
    ----------
    X : (n, p) array
    labels : (n,) array of intp
    points : (k, p) array

    Returns
    -------
    (k, p) array
        Zero for clusters without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.proclus.segmental import cluster_deviations
    >>> X = np.array([[0.0, 0.0], [2.0, 1.0], [9.0, 9.0]])
    >>> cluster_deviations(X, np.array([0, 0, 1]), X[[0, 2]])
    array([[1. , 0.5],
           [0. , 0. ]])
    """
    deviations = np.zeros(points.shape)
    for i, point in enumerate(points):
        members = X[labels == i]
        if len(members):
            deviations[i] = np.abs(members - point).mean(axis=0)
    return deviations


@compiled("_segmental")
def nearest_point(X: FloatArray, points: FloatArray, masks: BoolArray) -> Nearest:
    """Find for every row the point with the smallest segmental distance; ties to the first.

    Parameters
    ----------
    X : (n, p) array
    points : (k, p) array
    masks : (k, p) array of bool
        At least one feature per point.

    Returns
    -------
    Nearest

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.proclus.segmental import nearest_point
    >>> X = np.array([[0.0, 5.0], [3.0, 9.0]])
    >>> points = np.array([[0.0, 0.0], [9.0, 9.0]])
    >>> nearest_point(X, points, np.array([[True, False], [False, True]]))
    Nearest(labels=array([0, 1]), distances=array([0., 0.]))
    """
    labels = np.zeros(len(X), np.intp)
    distances = np.full(len(X), np.inf)
    for i, (point, mask) in enumerate(zip(points, masks, strict=True)):
        features = np.flatnonzero(mask)
        away = np.abs(X[:, features] - point[features]).mean(axis=1)
        nearer = away < distances
        labels[nearer] = i
        distances[nearer] = away[nearer]
    return Nearest(labels, distances)


@compiled("_segmental")
def centroids(X: FloatArray, labels: IndexArray, masks: BoolArray) -> FloatArray:
    """Average the rows of each cluster over the features of its mask.

    Parameters
    ----------
    X : (n, p) array
    labels : (n,) array of intp
    masks : (k, p) array of bool

    Returns
    -------
    (k, p) array
        Zero outside the masks and for clusters without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.proclus.segmental import centroids
    >>> X = np.array([[1.0, 7.0], [3.0, 9.0], [5.0, 5.0]])
    >>> centroids(X, np.array([0, 0, -1]), np.array([[True, False]]))
    array([[2., 0.]])
    """
    means = np.zeros(masks.shape)
    for i, mask in enumerate(masks):
        members = X[labels == i]
        if len(members):
            means[i, mask] = members[:, mask].mean(axis=0)
    return means


@compiled("_segmental")
def own_distances(
    X: FloatArray,
    labels: IndexArray,
    points: FloatArray,
    masks: BoolArray,
) -> FloatArray:
    """Segmental distance of every row to the point of its own cluster.

    Parameters
    ----------
    X : (n, p) array
    labels : (n,) array of intp
    points : (k, p) array
    masks : (k, p) array of bool
        At least one feature per point.

    Returns
    -------
    (n,) array
        Zero for rows in no cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.axis.proclus.segmental import own_distances
    >>> X = np.array([[1.0, 7.0], [3.0, 9.0], [5.0, 5.0]])
    >>> own_distances(X, np.array([0, 0, -1]), np.array([[0.0, 8.0]]), np.array([[True, True]]))
    array([1., 2., 0.])
    """
    distances = np.zeros(len(X))
    for i, (point, mask) in enumerate(zip(points, masks, strict=True)):
        rows = np.flatnonzero(labels == i)
        features = np.flatnonzero(mask)
        distances[rows] = np.abs(X[np.ix_(rows, features)] - point[features]).mean(axis=1)
    return distances
