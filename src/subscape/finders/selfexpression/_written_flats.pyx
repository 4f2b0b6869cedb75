# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of written_flats.py."""

import numpy as np

from libc.math cimport log, sqrt
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

#: As in written_flats.py.
cdef enum:
    LEVELS = 27

#: Histograms that are filled side by side.
cdef enum:
    SIDE_BY_SIDE = 8


cdef inline Py_ssize_t level_of(double far) noexcept nogil:
    """The power of two under a number from 2**-1022 to 1, the exponent of its bits."""
    cdef uint64_t bits
    memcpy(&bits, &far, sizeof(double))
    cdef Py_ssize_t level = 1022 - <Py_ssize_t>(bits >> 52)
    return 0 if level < 0 else LEVELS if level > LEVELS else level


cdef void counted(
    const double[:, :, :] places, const unsigned char[:, ::1] own,
    const unsigned char[::1] free, Py_ssize_t first, Py_ssize_t together, double least,
    double* rows, double* sums, double* typical, Py_ssize_t* weights,
) noexcept nogil:
    """How many rows there are at each level, and how far they are, of some flats side by side.

    What is added to one number would wait for the addition before; beside others it does not.
    """
    cdef Py_ssize_t n = places.shape[1], s = places.shape[2], i, k, d, at
    cdef double left, far, place
    for at in range(together * s):
        typical[at] = 0.0
    for at in range(together * s * (LEVELS + 1)):
        rows[at] = 0.0
        sums[at] = 0.0
    for k in range(together):
        weights[k] = 0
    for i in range(n):
        for k in range(together):
            if own[first + k, i]:
                continue
            weights[k] += 1
            left = 1.0
            for d in range(s):
                place = places[first + k, i, d]
                left = left - place * place
                far = left if left > least else least
                typical[k * s + d] += far
                if free[i]:
                    at = (k * s + d) * (LEVELS + 1) + level_of(far)
                    rows[at] += 1.0
                    sums[at] += far


cdef double best_gain(
    const double* rows, const double* sums, double typical, Py_ssize_t across,
    const double* logs, long long* best_level,
) noexcept nogil:
    """The gain of a flat with so many directions across it, and the level that has it."""
    cdef double total = 0.0, near = 0.0, squares = 0.0, best = 0.0, gain = 0.0, which, logarithm
    cdef Py_ssize_t level
    if typical < 1e-300:
        typical = 1e-300
    for level in range(LEVELS + 1):
        total += rows[level]
    logarithm = log(typical)
    best_level[0] = LEVELS
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
                gain = across * near * (logarithm - log(squares / near))
            gain += 2.0 * which
        # The same rows again have the same gain; the first level that has it counts.
        if level == LEVELS or gain >= best:
            best = gain
            best_level[0] = level
    return best


def gains_of_flats(
    const double[:, :, :] places, const unsigned char[:, ::1] own,
    const unsigned char[::1] free, Py_ssize_t p,
):
    cdef Py_ssize_t c = places.shape[0], n = places.shape[1], s = places.shape[2]
    cdef Py_ssize_t k, d, at, part, first, together = max(1, SIDE_BY_SIDE // max(s, 1)), some
    gains_, levels_ = np.empty((c, s)), np.empty((c, s), np.int64)
    cdef double[:, ::1] gains = gains_
    cdef long long[:, ::1] levels = levels_
    if not n or not s or not c:
        return gains_, levels_
    cdef double[::1] rows = np.empty(together * s * (LEVELS + 1))
    cdef double[::1] sums = np.empty(together * s * (LEVELS + 1)), typical = np.empty(together * s)
    cdef Py_ssize_t[::1] weights = np.empty(together, np.intp)
    # Of all numbers of rows.
    cdef const double[::1] logs = np.log(np.maximum(np.arange(n + 1.0), 1.0))
    cdef double least = 2.0 ** -LEVELS
    with nogil:
        for part in range((c + together - 1) // together):
            first = part * together
            some = min(together, c - first)
            counted(
                places, own, free, first, some, least,
                &rows[0], &sums[0], &typical[0], &weights[0],
            )
            for k in range(some):
                for d in range(s):
                    at = k * s + d
                    gains[first + k, d] = best_gain(
                        &rows[at * (LEVELS + 1)], &sums[at * (LEVELS + 1)],
                        typical[at] / (weights[k] if weights[k] else 1), p - d - 1,
                        &logs[0], &levels[first + k, d],
                    )
    return gains_, levels_


def folded(const double[:, :, :] places, Py_ssize_t dim):
    cdef Py_ssize_t c = places.shape[0], n = places.shape[1], k, i, d
    cdef double length
    found = np.empty((c, n, 1))
    cdef double[:, :, ::1] out = found
    with nogil:
        for k in range(c):
            for i in range(n):
                length = 0.0
                for d in range(dim):
                    length += places[k, i, d] * places[k, i, d]
                out[k, i, 0] = sqrt(length) if length < 1.0 else 1.0
    return found
