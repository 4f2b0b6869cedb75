# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of hough.py: sines of a box are taken once, arc tangents not at all."""

import numpy as np

from libc.math cimport cos, sin, sqrt


def offset_ranges(const double[:, ::1] X, const double[::1] low, const double[::1] high):
    cdef Py_ssize_t n = X.shape[0], t = X.shape[1], r, i
    cdef double x, least, most, a, b, value
    result = np.empty((2, n))
    cdef double[:, ::1] out = result
    waves_ = np.empty((max(t - 1, 1), 4))
    cdef double[:, ::1] waves = waves_
    with nogil:
        for i in range(t - 1):
            waves[i, 0], waves[i, 1] = cos(low[i]), sin(low[i])
            waves[i, 2], waves[i, 3] = cos(high[i]), sin(high[i])
        for r in range(n):
            least = most = X[r, t - 1]
            for i in range(t - 2, -1, -1):
                x = X[r, i]
                # x cos a + g sin a peaks inside [l, h] where it rises at l and falls at h. Boxes
                # are at most pi wide, so it has at most one peak and one dip in them.
                a = x * waves[i, 0] + most * waves[i, 1]
                b = x * waves[i, 2] + most * waves[i, 3]
                if (
                    most * waves[i, 0] - x * waves[i, 1] >= 0
                    and most * waves[i, 2] - x * waves[i, 3] <= 0
                ):
                    value = sqrt(x * x + most * most)
                else:
                    value = a if a > b else b
                most = value
                a = x * waves[i, 0] + least * waves[i, 1]
                b = x * waves[i, 2] + least * waves[i, 3]
                if (
                    least * waves[i, 0] - x * waves[i, 1] <= 0
                    and least * waves[i, 2] - x * waves[i, 3] >= 0
                ):
                    value = -sqrt(x * x + least * least)
                else:
                    value = a if a < b else b
                least = value
            out[0, r] = least
            out[1, r] = most
    return result


def fullest_window(ranges, double width):
    from subscape.finders.oriented.cash.hough import Window

    starts_, ends_ = np.sort(ranges[0] - width), np.sort(ranges[1])
    cdef const double[::1] starts = starts_, ends = ends_
    cdef Py_ssize_t n = starts.shape[0], i, passed = 0, best = 0, place = 0
    with nogil:
        for i in range(n):
            while passed < n and ends[passed] < starts[i]:
                passed += 1
            if i + 1 - passed > best:
                best = i + 1 - passed
                place = i
    return Window(float(starts[place]), int(best))
