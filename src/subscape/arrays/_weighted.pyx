# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of weighted.py: distances, labels and sums in one pass over the rows."""

import numpy as np

from libc.math cimport INFINITY


cdef inline double cost(
    const double* x, const double* centre, const double* weight, Py_ssize_t p
) noexcept nogil:
    # Four sums at once: a single one would wait for its own previous addition.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0, away
    cdef Py_ssize_t j, whole = p - p % 4
    for j in range(0, whole, 4):
        away = x[j] - centre[j]
        a += weight[j] * away * away
        away = x[j + 1] - centre[j + 1]
        b += weight[j + 1] * away * away
        away = x[j + 2] - centre[j + 2]
        c += weight[j + 2] * away * away
        away = x[j + 3] - centre[j + 3]
        d += weight[j + 3] * away * away
    for j in range(whole, p):
        away = x[j] - centre[j]
        a += weight[j] * away * away
    return (a + b) + (c + d)


cdef inline double cost_below(
    const double* x, const double* centre, const double* weight, Py_ssize_t p, double offset,
    double limit
) noexcept nogil:
    # The same sum, given up as soon as it can no longer end below the limit: sums of squares never
    # fall, not even rounded ones.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0, away
    cdef Py_ssize_t j, stop = 0, whole = p - p % 4
    while stop < whole:
        j = stop
        stop = min(stop + 32, whole)
        while j < stop:
            away = x[j] - centre[j]
            a += weight[j] * away * away
            away = x[j + 1] - centre[j + 1]
            b += weight[j + 1] * away * away
            away = x[j + 2] - centre[j + 2]
            c += weight[j + 2] * away * away
            away = x[j + 3] - centre[j + 3]
            d += weight[j + 3] * away * away
            j += 4
        if ((a + b) + (c + d)) + offset >= limit:
            return INFINITY
    for j in range(whole, p):
        away = x[j] - centre[j]
        a += weight[j] * away * away
    return (a + b) + (c + d)


def nearest_weighted(
    const double[:, ::1] X,
    const double[:, ::1] centres,
    const double[:, ::1] weights,
    const double[::1] offsets,
):
    from subscape.arrays.weighted_kmeans import WeightedPass

    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], k = centres.shape[0], r, i, j, best
    cdef double value, smallest, total, away
    labels_ = np.empty(n, dtype=np.intp)
    costs_ = np.empty(n)
    counts_ = np.zeros(k, dtype=np.intp)
    sums_, squares_ = np.zeros((k, p)), np.zeros((k, p))
    cdef Py_ssize_t[::1] labels = labels_, counts = counts_
    cdef double[::1] costs = costs_
    cdef double[:, ::1] sums = sums_, squares = squares_
    with nogil:
        for r in range(n):
            best = 0
            smallest = INFINITY
            total = 0.0
            for i in range(k):
                value = cost_below(
                    &X[r, 0], &centres[i, 0], &weights[i, 0], p, offsets[i], smallest
                )
                if value + offsets[i] < smallest:
                    smallest = value + offsets[i]
                    total = value
                    best = i
            labels[r] = best
            costs[r] = total
            counts[best] += 1
            for j in range(p):
                away = X[r, j] - centres[best, j]
                sums[best, j] += away
                squares[best, j] += away * away
    return WeightedPass(labels_, costs_, counts_, sums_, squares_)


def weighted_costs(
    const double[:, ::1] X, const double[:, ::1] centres, const double[:, ::1] weights
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], k = centres.shape[0], r, i
    costs_ = np.empty((n, k))
    cdef double[:, ::1] costs = costs_
    with nogil:
        for r in range(n):
            for i in range(k):
                costs[r, i] = cost(&X[r, 0], &centres[i, 0], &weights[i, 0], p)
    return costs_
