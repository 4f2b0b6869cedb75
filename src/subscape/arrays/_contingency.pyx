# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of contingency.py: one pass over the labels, no temporary arrays."""

import numpy as np

# Two fused types, so that the two labellings may differ in width.
ctypedef fused label_a:
    int
    long long

ctypedef fused label_b:
    int
    long long


def count_pairs(const label_a[:] a, const label_b[:] b, Py_ssize_t n_a, Py_ssize_t n_b):
    cdef Py_ssize_t n = a.shape[0], r
    cdef long long i, j
    cdef bint too_large = False
    if b.shape[0] != n:
        raise ValueError(f"the two labellings have {n} and {b.shape[0]} rows; they need the same")
    table = np.zeros((n_a, n_b), dtype=np.int64)
    cdef long long[:, ::1] counts = table
    with nogil:
        for r in range(n):
            i = a[r]
            j = b[r]
            if i >= n_a or j >= n_b:
                too_large = True
                break
            if i >= 0 and j >= 0:
                counts[i, j] += 1
    if too_large:
        raise ValueError(
            f"labels go up to {np.max(a)} and {np.max(b)}, but there are {n_a} and {n_b} clusters"
        )
    return table
