# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of the kernels of mixture.py: a few columns of many rows, without copies of them."""

import numpy as np
from libc.math cimport sqrt


def squared_distances(
    const double[:, :] scaled, const long long[:] features, const double[:] mean,
    const double[:] variance, double reach
):
    cdef Py_ssize_t n = scaled.shape[0], d = features.shape[0], i, j
    cdef double away, total, infinity = np.inf
    found = np.empty(n)
    cdef double[::1] out = found
    cdef double[::1] spread = np.empty(d)
    with nogil:
        for j in range(d):
            spread[j] = sqrt(variance[j])
        for i in range(n):
            total = 0.0
            for j in range(d):
                away = (scaled[i, features[j]] - mean[j]) / spread[j]
                total += away * away
                # Most rows are far away in one of the first features already.
                if total > reach:
                    total = infinity
                    break
            out[i] = total
    return found


def weighted_sums(
    const double[:, :] block, const double[:] weights, const long long[:] features,
    const double[:] mean, int power
):
    cdef Py_ssize_t n = block.shape[0], d = features.shape[0], i, j
    cdef double away
    found = np.zeros(d)
    cdef double[::1] out = found
    with nogil:
        for i in range(n):
            # Most rows lie outside of most clusters.
            if weights[i] == 0.0:
                continue
            for j in range(d):
                away = block[i, features[j]] - mean[j]
                out[j] += weights[i] * (away * away if power == 2 else away)
    return found
