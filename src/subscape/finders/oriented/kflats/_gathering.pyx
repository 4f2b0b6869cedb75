# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of gathering.py: rows put in their places by counting, in one pass."""

import numpy as np


def gather(
    const double[:, ::1] X,
    const int[::1] labels,
    const double[:, ::1] centres,
    double[:, ::1] room,
):
    from subscape.finders.oriented.kflats.gathering import Gathered

    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], n_groups = centres.shape[0], r, j, k
    counts_ = np.zeros(n_groups, dtype=np.intp)
    places_ = np.zeros(n_groups, dtype=np.intp)
    sums_ = np.zeros((n_groups, p))
    cdef Py_ssize_t[::1] counts = counts_, places = places_
    cdef double[:, ::1] sums = sums_
    cdef const double* x
    cdef const double* centre
    cdef double* away
    cdef double* total
    with nogil:
        for r in range(n):
            if labels[r] >= 0:
                counts[labels[r]] += 1
        for k in range(1, n_groups):
            places[k] = places[k - 1] + counts[k - 1]
        for r in range(n):
            k = labels[r]
            if k < 0 or p == 0:
                continue
            x, centre = &X[r, 0], &centres[k, 0]
            away, total = &room[places[k], 0], &sums[k, 0]
            places[k] += 1
            for j in range(p):
                away[j] = x[j] - centre[j]
                total[j] += away[j]
    return Gathered(np.asarray(room)[: counts_.sum()], counts_, sums_)
