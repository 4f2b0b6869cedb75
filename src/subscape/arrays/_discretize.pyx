# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of discretize.py: binary search without a temporary column."""

import numpy as np

from libc.stdint cimport int64_t, uint16_t



def count_limits_below(
    const double[:, ::1] X, const double[::1] limits, const int64_t[::1] starts
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], j, r, first, last
    cdef int64_t low, high, middle
    cdef double value
    reached = np.empty((p, n), dtype=np.uint16)
    cdef uint16_t[:, ::1] out = reached
    with nogil:
        # In blocks of rows, so that the table is read once although the answer is by column.
        for first in range(0, n, 512):
            last = first + 512 if first + 512 < n else n
            for j in range(p):
                for r in range(first, last):
                    value = X[r, j]
                    low = starts[j]
                    high = starts[j + 1]
                    while low < high:
                        middle = (low + high) >> 1
                        if limits[middle] <= value:
                            low = middle + 1
                        else:
                            high = middle
                    out[j, r] = <uint16_t>(low - starts[j])
    return reached
