# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of written_flats.py."""

import numpy as np

from libc.math cimport frexp, log

#: As in written_flats.py.
cdef enum:
    LEVELS = 27


cdef void one_flat(
    const double[:, ::1] places, const unsigned char[::1] own, const unsigned char[::1] free,
    Py_ssize_t p, double least, double* rows, double* sums, double* left,
    double[::1] gains, long long[::1] levels,
) noexcept nogil:
    """Gains of the flats of one row, of all dimensions."""
    cdef Py_ssize_t n = places.shape[0], s = places.shape[1], i, d, level, weight, best_at
    cdef double far, typical, near, squares, total, share, which, gain, best
    cdef int power
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
                frexp(far, &power)
                level = -power if power < 0 else 0
                if level > LEVELS:
                    level = LEVELS
                rows[level] += 1.0
                sums[level] += far
        typical /= weight if weight else 1
        if typical < 1e-300:
            typical = 1e-300
        total = 0.0
        for level in range(LEVELS + 1):
            total += rows[level]
        near = 0.0
        squares = 0.0
        best_at = LEVELS
        best = 0.0
        for level in range(LEVELS, -1, -1):
            if rows[level] > 0.0 or level == LEVELS:
                near += rows[level]
                squares += sums[level]
                gain = 0.0
                share = near / total if total > 1.0 else near
                which = 0.0
                if share > 0.0:
                    which = share * log(share)
                if share < 1.0:
                    which += (1.0 - share) * log(1.0 - share)
                if near > 0.0:
                    gain = (p - d - 1) * near * (log(typical) - log(squares / near))
                gain += 2.0 * total * which
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
    cdef double least = 2.0 ** -LEVELS
    if n:
        with nogil:
            for k in range(c):
                one_flat(
                    places[k], own[k], free, p, least, &rows[0], &sums[0], &left[0],
                    gains[k], levels[k],
                )
    return np.asarray(gains), np.asarray(levels)
