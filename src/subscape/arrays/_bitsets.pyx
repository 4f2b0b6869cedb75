# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of bitsets.py: intersections are counted without being stored."""

import numpy as np

from libc.stdint cimport uint64_t


cdef inline uint64_t bits(uint64_t word) noexcept nogil:
    # Shifts and masks rather than a compiler builtin: without a popcount instruction in the
    # baseline the builtin is a library call, and this form is vectorised.
    word = word - ((word >> 1) & <uint64_t>0x5555555555555555)
    word = (word & <uint64_t>0x3333333333333333) + ((word >> 2) & <uint64_t>0x3333333333333333)
    word = (word + (word >> 4)) & <uint64_t>0x0F0F0F0F0F0F0F0F
    return (word * <uint64_t>0x0101010101010101) >> 56


def intersection_counts(const uint64_t[:, ::1] sets, const uint64_t[::1] other):
    cdef Py_ssize_t m = sets.shape[0], n_words = sets.shape[1], i, w
    cdef uint64_t total
    if other.shape[0] != n_words:
        raise ValueError(f"sets of {n_words} words against one of {other.shape[0]} words")
    sizes = np.zeros(m, dtype=np.int64)
    cdef long long[::1] out = sizes
    with nogil:
        for i in range(m):
            total = 0
            for w in range(n_words):
                total += bits(sets[i, w] & other[w])
            out[i] = <long long>total
    return sizes
