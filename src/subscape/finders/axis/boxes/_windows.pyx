# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of windows.py: a run is the difference of two stored sets and a few bits."""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

cdef Py_ssize_t STEP = 64


def run_sets(
    const int64_t[:, ::1] order,
    const uint64_t[:, :, ::1] prefixes,
    const int64_t[::1] first,
    const int64_t[::1] last,
):
    cdef Py_ssize_t p = order.shape[0], n_words = prefixes.shape[2], j, w, i, low, high
    cdef int64_t row
    sets = np.empty((p, n_words), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = sets
    with nogil:
        for j in range(p):
            low, high = first[j] // STEP, last[j] // STEP
            for w in range(n_words):
                out[j, w] = prefixes[j, high, w] ^ prefixes[j, low, w]
            for i in range(high * STEP, last[j]):
                row = order[j, i]
                out[j, row >> 6] ^= <uint64_t>1 << (row & 63)
            for i in range(low * STEP, first[j]):
                row = order[j, i]
                out[j, row >> 6] ^= <uint64_t>1 << (row & 63)
    return sets
