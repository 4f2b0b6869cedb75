# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of nearest_flat.py: everything but the products in one pass over the rows."""

import numpy as np

from libc.math cimport INFINITY


cdef inline double length(const double* x, Py_ssize_t p) noexcept nogil:
    # Four sums at once: a single one would wait for its own previous addition.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t j, whole = p - p % 4
    for j in range(0, whole, 4):
        a += x[j] * x[j]
        b += x[j + 1] * x[j + 1]
        c += x[j + 2] * x[j + 2]
        d += x[j + 3] * x[j + 3]
    for j in range(whole, p):
        a += x[j] * x[j]
    return (a + b) + (c + d)


def nearest_by_products(
    const double[:, ::1] X,
    const double[:, ::1] products,
    const double[::1] squares,
    const double[::1] along,
    const Py_ssize_t[::1] starts,
):
    from subscape.finders.oriented.kflats.nearest_flat import NearestFlat

    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], k = squares.shape[0], r, i, j, best
    cdef double whole, value, part, smallest
    cdef const double* row
    labels_ = np.empty(n, dtype=np.int32)
    distances_ = np.empty(n)
    cdef int[::1] labels = labels_
    cdef double[::1] distances = distances_
    with nogil:
        for r in range(n):
            whole = length(&X[r, 0], p)
            row = &products[r, 0]
            best = 0
            smallest = INFINITY
            for i in range(k):
                value = whole - 2.0 * row[i] + squares[i]
                for j in range(starts[i], starts[i + 1]):
                    part = row[j] - along[j]
                    value -= part * part
                if value < smallest:
                    smallest = value
                    best = i
            labels[r] = <int> best
            distances[r] = smallest if smallest > 0.0 else 0.0
    return NearestFlat(labels_, distances_)
