# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of segmental.py: one pass over the rows, and only over the features in the masks."""

import numpy as np

from libc.math cimport INFINITY, fabs


def _feature_lists(masks):
    """Features of all masks in one array, and where each mask's part of it begins."""
    masks = np.asarray(masks)
    first = np.zeros(len(masks) + 1, dtype=np.intp)
    np.cumsum(masks.sum(axis=1), out=first[1:])
    return first, np.ascontiguousarray(np.nonzero(masks)[1], dtype=np.intp)


def city_block(const double[:, ::1] X, const double[::1] point):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], whole = p - p % 4, r, j
    cdef double a, b, c, d
    sums = np.empty(n)
    cdef double[::1] out = sums
    with nogil:
        for r in range(n):
            # Four sums at once: a single one would wait for its own previous addition.
            a = b = c = d = 0.0
            for j in range(0, whole, 4):
                a += fabs(X[r, j] - point[j])
                b += fabs(X[r, j + 1] - point[j + 1])
                c += fabs(X[r, j + 2] - point[j + 2])
                d += fabs(X[r, j + 3] - point[j + 3])
            for j in range(whole, p):
                a += fabs(X[r, j] - point[j])
            out[r] = (a + b) + (c + d)
    return sums


def ball_deviations(
    const double[:, ::1] X, const double[::1] point, const double[::1] distances, double radius
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], r, j, inside = 0
    means = np.zeros(p)
    cdef double[::1] out = means
    with nogil:
        for r in range(n):
            if distances[r] <= radius:
                inside += 1
                for j in range(p):
                    out[j] += fabs(X[r, j] - point[j])
        for j in range(p):
            out[j] /= inside
    return means


def cluster_deviations(
    const double[:, ::1] X, const Py_ssize_t[::1] labels, const double[:, ::1] points
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], k = points.shape[0], r, j, i
    means = np.zeros((k, p))
    counts = np.zeros(k, dtype=np.intp)
    cdef double[:, ::1] out = means
    cdef Py_ssize_t[::1] size = counts
    with nogil:
        for r in range(n):
            i = labels[r]
            if i < 0:
                continue
            size[i] += 1
            for j in range(p):
                out[i, j] += fabs(X[r, j] - points[i, j])
        for i in range(k):
            if size[i] > 0:
                for j in range(p):
                    out[i, j] /= size[i]
    return means


def nearest_point(const double[:, ::1] X, const double[:, ::1] points, masks):
    from subscape.finders.axis.proclus.segmental import Nearest

    cdef Py_ssize_t n = X.shape[0], k = points.shape[0], r, i, t, best
    cdef double total, smallest
    first_, features_ = _feature_lists(masks)
    cdef const Py_ssize_t[::1] first = first_, features = features_
    # The points' values in the order of the feature lists: read one after the other.
    cdef const double[::1] value = np.ascontiguousarray(np.asarray(points)[np.asarray(masks)])
    labels_ = np.zeros(n, dtype=np.intp)
    distances_ = np.empty(n)
    cdef Py_ssize_t[::1] labels = labels_
    cdef double[::1] distances = distances_
    with nogil:
        for r in range(n):
            best = 0
            smallest = INFINITY
            for i in range(k):
                total = 0.0
                for t in range(first[i], first[i + 1]):
                    total += fabs(X[r, features[t]] - value[t])
                total /= first[i + 1] - first[i]
                if total < smallest:
                    smallest = total
                    best = i
            labels[r] = best
            distances[r] = smallest
    return Nearest(labels_, distances_)


def centroids(const double[:, ::1] X, const Py_ssize_t[::1] labels, masks):
    cdef Py_ssize_t n = X.shape[0], k, r, i, t
    first_, features_ = _feature_lists(masks)
    cdef const Py_ssize_t[::1] first = first_, features = features_
    sums_ = np.zeros(len(features_))
    k = len(first_) - 1
    counts = np.zeros(k, dtype=np.intp)
    cdef double[::1] sums = sums_
    cdef Py_ssize_t[::1] size = counts
    with nogil:
        for r in range(n):
            i = labels[r]
            if i < 0:
                continue
            size[i] += 1
            for t in range(first[i], first[i + 1]):
                sums[t] += X[r, features[t]]
        for i in range(k):
            if size[i] > 0:
                for t in range(first[i], first[i + 1]):
                    sums[t] /= size[i]
    means = np.zeros(np.shape(masks))
    means[np.asarray(masks)] = sums_
    return means


def own_distances(
    const double[:, ::1] X, const Py_ssize_t[::1] labels, const double[:, ::1] points, masks
):
    cdef Py_ssize_t n = X.shape[0], r, i, t
    cdef double total
    first_, features_ = _feature_lists(masks)
    cdef const Py_ssize_t[::1] first = first_, features = features_
    cdef const double[::1] value = np.ascontiguousarray(np.asarray(points)[np.asarray(masks)])
    distances_ = np.zeros(n)
    cdef double[::1] distances = distances_
    with nogil:
        for r in range(n):
            i = labels[r]
            if i < 0:
                continue
            total = 0.0
            for t in range(first[i], first[i + 1]):
                total += fabs(X[r, features[t]] - value[t])
            distances[r] = total / (first[i + 1] - first[i])
    return distances_
