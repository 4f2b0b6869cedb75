# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of valleys.py: one histogram at a time, without arrays of intermediate values."""

import numpy as np

from libc.math cimport INFINITY, log, sqrt
from libc.stdlib cimport free, malloc

cdef double LEVEL = 1e-12


def minimum_error_cuts(
    const Py_ssize_t[:, ::1] histograms, bint squared, Py_ssize_t least
):
    from subscape.finders.oriented.lmclus.valleys import Cut

    cdef Py_ssize_t m = histograms.shape[0], b = histograms.shape[1], i, t, first, last, below, total
    cdef double all_sum, all_squares, low, high, low_sum, low_squares, share
    cdef double low_mean, high_mean, low_spread, high_spread, peak, depth, best, value
    bins_ = np.zeros(m, dtype=np.intp)
    goodness_ = np.full(m, -np.inf)
    cdef Py_ssize_t[::1] bins = bins_
    cdef double[::1] goodness = goodness_
    cdef double* criterion = <double*> malloc(3 * b * sizeof(double))
    if criterion == NULL:
        raise MemoryError()
    cdef double* apart = criterion + b
    cdef double* left = apart + b
    with nogil:
        for i in range(m):
            total = 0
            all_sum = all_squares = 0.0
            for t in range(b):
                total += histograms[i, t]
            if total == 0:
                continue
            for t in range(b):
                share = <double> histograms[i, t] / total
                all_sum += share * t
                all_squares += share * (t * t)
            below = 0
            low_sum = low_squares = 0.0
            for t in range(b):
                below += histograms[i, t]
                share = <double> histograms[i, t] / total
                low_sum += share * t
                low_squares += share * (t * t)
                if below == 0 or below == total:
                    criterion[t] = 1e300 if below == 0 else -1e300
                    apart[t] = 0.0
                    continue
                low = <double> below / total
                high = 1.0 - low
                low_mean = low_sum / low
                high_mean = (all_sum - low_sum) / high
                low_spread = max(low_squares / low - low_mean * low_mean, 0.0) + 1.0 / 12
                high_spread = (
                    max((all_squares - low_squares) / high - high_mean * high_mean, 0.0) + 1.0 / 12
                )
                criterion[t] = 1.0 + low * (log(low_spread) - 2 * log(low))
                criterion[t] += high * (log(high_spread) - 2 * log(high))
                apart[t] = (low_mean - high_mean) ** 2 / (low_spread + high_spread)
                if not squared:
                    apart[t] = sqrt(apart[t])
                if below < least:
                    apart[t] = 0.0
            left[0] = 1e300
            for t in range(1, b):
                if criterion[t - 1] >= criterion[t] - LEVEL:
                    left[t] = left[t - 1]
                else:
                    left[t] = criterion[t]
            peak = criterion[b - 1]
            best = LEVEL
            first = -1
            for t in range(b - 1, -1, -1):
                if t < b - 1 and not criterion[t + 1] >= criterion[t] - LEVEL:
                    peak = criterion[t]
                elif t == b - 1:
                    peak = criterion[t]
                depth = min(left[t], peak) - criterion[t]
                value = depth * apart[t]
                # Going down, the first of equals is the last one seen.
                if value > LEVEL and value >= best:
                    best = value
                    first = t
            if first < 0:
                continue
            last = first
            while last + 1 < b and criterion[last + 1] <= criterion[first] + LEVEL:
                last += 1
            bins[i] = (first + last) // 2
            goodness[i] = best
    free(criterion)
    return Cut(bins_, goodness_)
