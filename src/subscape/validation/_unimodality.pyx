# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of unimodality.py: corners of the hull on a stack, lines between them."""

import numpy as np


def convex_minorant(const double[:] x, const double[:] y):
    cdef Py_ssize_t n = x.shape[0], i, j, a, b, top = 0
    cdef double slope
    hull = np.empty(n)
    cdef double[::1] out = hull
    cdef Py_ssize_t[::1] corner = np.empty(max(n, 1), dtype=np.intp)
    with nogil:
        for i in range(n):
            # A corner on or above the line from the one before it to this point is none.
            while top > 1:
                a = corner[top - 2]
                b = corner[top - 1]
                if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                    break
                top -= 1
            corner[top] = i
            top += 1
        for j in range(top - 1):
            a = corner[j]
            b = corner[j + 1]
            slope = (y[b] - y[a]) / (x[b] - x[a])
            for i in range(a, b):
                out[i] = y[a] + slope * (x[i] - x[a])
        if n > 0:
            out[n - 1] = y[n - 1]
    return hull
