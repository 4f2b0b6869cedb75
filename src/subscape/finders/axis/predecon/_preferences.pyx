# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of preferences.py: no copies of rows, and sums end where they exceed the radius."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t


def squared_deviations(
    const double[:, ::1] X,
    Py_ssize_t start,
    const int64_t[::1] indptr,
    const int64_t[::1] indices,
):
    cdef Py_ssize_t m = indptr.shape[0] - 1, p = X.shape[1], i, t, j
    cdef const double* here
    cdef const double* there
    cdef double step
    sums = np.zeros((m, p))
    cdef double[:, ::1] out = sums
    with nogil:
        for i in range(m):
            here = &X[start + i, 0]
            for t in range(indptr[i], indptr[i + 1]):
                there = &X[indices[t], 0]
                for j in range(p):
                    step = there[j] - here[j]
                    out[i, j] += step * step
    return sums


def mutual_distances(
    const double[:, ::1] X,
    preferred,
    double weight,
    double radius,
    Py_ssize_t start,
    const int64_t[::1] indptr,
    const int64_t[::1] indices,
):
    cdef Py_ssize_t m = indptr.shape[0] - 1, p = X.shape[1], i, t, j
    cdef const unsigned char[:, ::1] flags = np.ascontiguousarray(preferred).view(np.uint8)
    cdef const double* here
    cdef const double* there
    cdef const unsigned char* own
    cdef const unsigned char* other
    cdef double step, mine, yours, limit = radius * radius
    cdef double[2] weights
    weights[0], weights[1] = 1.0, weight
    result = np.empty(indices.shape[0])
    cdef double[::1] out = result
    with nogil:
        for i in range(m):
            here, own = &X[start + i, 0], &flags[start + i, 0]
            for t in range(indptr[i], indptr[i + 1]):
                there, other = &X[indices[t], 0], &flags[indices[t], 0]
                mine = yours = 0.0
                for j in range(p):
                    step = here[j] - there[j]
                    step *= step
                    mine += weights[own[j]] * step
                    yours += weights[other[j]] * step
                    if mine > limit or yours > limit:
                        break
                if mine > limit or yours > limit:
                    out[t] = INFINITY
                else:
                    out[t] = mine if mine > yours else yours
    return result
