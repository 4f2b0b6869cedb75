# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of written_flats.py."""

import numpy as np

from libc.math cimport log
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

#: As in written_flats.py.
cdef enum:
    LEVELS = 27


cdef inline Py_ssize_t level_of(double far) noexcept nogil:
    """The power of two under a number from 2**-1022 to 1, the exponent of its bits."""
    cdef uint64_t bits
    memcpy(&bits, &far, sizeof(double))
    cdef Py_ssize_t level = 1022 - <Py_ssize_t>(bits >> 52)
    return 0 if level < 0 else LEVELS if level > LEVELS else level


cdef void one_flat(
    const double[:, ::1] places, const unsigned char[::1] own, const unsigned char[::1] free,
    Py_ssize_t p, double least, double* rows, double* sums, double* left,
    const double* logs, double[::1] gains, long long[::1] levels,
) noexcept nogil:
    """Gains of the flats of one row, of all dimensions."""
    cdef Py_ssize_t n = places.shape[0], s = places.shape[1], i, d, level, weight, best_at
    cdef double far, typical, near, squares, total, which, gain, best, logarithm
    for i in range(n):
        left[i] = 1.0
    for d in range(s):
        for level in range(LEVELS + 1):
            rows[level] = 0.0
            sums[level] = 0.0
        typical = 0.0
        weight = 0
        for i in range(n):
            left[i] = left[i] - places[i, d] * places[i, d]
            if own[i]:
                continue
            far = left[i] if left[i] > least else least
            typical += far
            weight += 1
            if free[i]:
                level = level_of(far)
                rows[level] += 1.0
                sums[level] += far
        typical /= weight if weight else 1
        if typical < 1e-300:
            typical = 1e-300
        total = 0.0
        for level in range(LEVELS + 1):
            total += rows[level]
        logarithm = log(typical)
        near = 0.0
        squares = 0.0
        best_at = LEVELS
        best = 0.0
        for level in range(LEVELS, -1, -1):
            if rows[level] > 0.0 or level == LEVELS:
                near += rows[level]
                squares += sums[level]
                gain = 0.0
                which = 0.0
                if total > 0.0:
                    which = near * logs[<Py_ssize_t>near]
                    which += (total - near) * logs[<Py_ssize_t>(total - near)]
                    which -= total * logs[<Py_ssize_t>total]
                if near > 0.0:
                    gain = (p - d - 1) * near * (logarithm - log(squares / near))
                gain += 2.0 * which
            # The same rows again have the same gain; the first level that has it counts.
            if level == LEVELS or gain >= best:
                best = gain
                best_at = level
        gains[d] = best
        levels[d] = best_at


def gains_of_flats(
    const double[:, :, ::1] places, const unsigned char[:, ::1] own,
    const unsigned char[::1] free, Py_ssize_t p,
):
    cdef Py_ssize_t c = places.shape[0], n = places.shape[1], s = places.shape[2], k
    cdef double[:, ::1] gains = np.empty((c, s))
    cdef long long[:, ::1] levels = np.empty((c, s), np.int64)
    cdef double[::1] rows = np.empty(LEVELS + 1), sums = np.empty(LEVELS + 1)
    cdef double[::1] left = np.empty(n)
    # Of all numbers of rows.
    cdef const double[::1] logs = np.log(np.maximum(np.arange(n + 1.0), 1.0))
    cdef double least = 2.0 ** -LEVELS
    if n:
        with nogil:
            for k in range(c):
                one_flat(
                    places[k], own[k], free, p, least, &rows[0], &sums[0], &left[0],
                    &logs[0], gains[k], levels[k],
                )
    return np.asarray(gains), np.asarray(levels)
