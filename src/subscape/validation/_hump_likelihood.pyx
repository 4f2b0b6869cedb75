# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of hump_likelihood.py: pools of adjacent violators, without temporary arrays."""

import numpy as np
from libc.math cimport log


def hump_log_likelihood(const double[:, :] values, Py_ssize_t n_block, double least_width,
                        double price=0.0):
    cdef Py_ssize_t m = values.shape[0], n = values.shape[1]
    cdef Py_ssize_t n_blocks = n // n_block if n_block > 0 else n
    cdef Py_ssize_t i, b, s, e, top
    cdef double count, width, best, both
    if n_block < 1:
        n_block = 1
    if n_blocks < 1:
        n_blocks = 1
    found = np.empty(m)
    space = np.empty((6, n_blocks + 1))
    cdef double[::1] out = found
    cdef double[:, ::1] w = space
    # Rows of the space: counts, widths, pooled counts, pooled widths, pooled sums, rising sums.
    with nogil:
        for i in range(m):
            for b in range(n_blocks):
                s = b * n_block
                e = n - 1 if b == n_blocks - 1 else (b + 1) * n_block
                if e > n - 1:
                    e = n - 1
                width = values[i, e] - values[i, s]
                w[1, b] = width if width > least_width else least_width
                w[0, b] = n - n_block * (n_blocks - 1) if b == n_blocks - 1 else n_block
            top = 0
            w[5, 0] = 0.0
            for b in range(n_blocks):
                top = _push(w, top, w[0, b], w[1, b], n, price)
                w[5, b + 1] = w[4, top - 1]
            best = w[5, n_blocks]
            top = 0
            for b in range(n_blocks - 1, -1, -1):
                top = _push(w, top, w[0, b], w[1, b], n, price)
                both = w[4, top - 1] + w[5, b]
                if both > best:
                    best = both
            out[i] = best / n
    return found


cdef Py_ssize_t _push(
    double[:, ::1] w, Py_ssize_t top, double count, double width, Py_ssize_t n,
    double price
) noexcept nogil:
    cdef double before
    while top > 0 and w[2, top - 1] * width > count * w[3, top - 1]:
        top -= 1
        count += w[2, top]
        width += w[3, top]
    before = w[4, top - 1] if top > 0 else 0.0
    w[2, top] = count
    w[3, top] = width
    w[4, top] = before + count * log(count / (n * width)) - price
    return top + 1
