# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Compiled twin of bin_counts.py: one pass over the table, without an array of bins."""

import numpy as np

from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t, int64_t

cdef double EPSILON = 2.220446049250313e-16

ctypedef fused real:
    float
    double


def column_ranges(const real[:, ::1] X):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], r, j
    low = np.full(p, np.inf)
    high = np.full(p, -np.inf)
    marks = np.zeros(p)
    cdef double[::1] least = low, most = high, mark = marks
    cdef double value
    with nogil:
        for r in range(n):
            for j in range(p):
                value = X[r, j]
                least[j] = value if value < least[j] else least[j]
                most[j] = value if value > most[j] else most[j]
                # Stays 0 unless a value is NaN or infinite, which makes it NaN for good.
                mark[j] += value * 0.0
    nothing = low > high
    low[nothing] = high[nothing] = np.nan
    return low, high, bool(np.isfinite(marks).all())


def count_in_bins(
    const real[:, ::1] X,
    const double[::1] limits,
    const int64_t[::1] starts,
    const int64_t[::1] row_starts,
    const int32_t[::1] clusters,
    const int64_t[::1] weights,
    Py_ssize_t n_clusters,
    bint missing_bin,
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1]
    cdef Py_ssize_t total = limits.shape[0] + p + (p if missing_bin else 0)
    counts = np.zeros((n_clusters, total), dtype=np.int64)
    if n == 0 or p == 0 or n_clusters == 0 or clusters.shape[0] == 0:
        return counts
    cdef int64_t[:, ::1] table = counts
    # Each column's limits between two NaN, at which every search ends.
    column = np.repeat(np.arange(p), np.diff(starts))
    fenced = np.full(limits.shape[0] + 2 * p, np.nan)
    fenced[np.arange(limits.shape[0]) + 2 * column + 1] = limits
    cdef const double[::1] limit = fenced
    cdef const int64_t[::1] begin = np.asarray(starts)[:p] + 2 * np.arange(p) + 1
    # Bins of equal width are counted off from ``origin`` at ``scale`` a step, unless a value is too
    # near to a limit to be ``sure``.
    cdef double[::1] origin = np.zeros(p), scale = np.zeros(p), sure = np.full(p, 0.5)
    cdef double[::1] top = np.zeros(p)
    # The columns that are cut unevenly. Their limits, filled up with NaN to one less than a power of
    # two, can be searched without a branch: no value reaches NaN.
    cdef int64_t[::1] uneven = np.zeros(p, dtype=np.int64), tree = np.zeros(p, dtype=np.int64)
    cdef int64_t[::1] half = np.zeros(p, dtype=np.int64), offset = np.zeros(p, dtype=np.int64)
    cdef const double[::1] node
    cdef int64_t step, at, width, tree_end = 0
    cdef int32_t[::1] bins = np.zeros(p, dtype=np.int32)
    cdef Py_ssize_t r, j, e, c, n_uneven = 0
    cdef int64_t m, weight
    cdef int32_t bin_, doubtful
    cdef double value, place
    cdef bint weighted = weights.shape[0] > 0, absent
    cdef int64_t *row
    for j in range(p):
        m = starts[j + 1] - starts[j]
        offset[j] = starts[j] + j + (j if missing_bin else 0)
        top[j] = m + 0.5
        if not _evenly_cut(&limit[begin[j]], m, &origin[j], &scale[j], &sure[j]):
            uneven[n_uneven] = j
            n_uneven += 1
    nodes = []
    for c in range(n_uneven):
        j = uneven[c]
        m = starts[j + 1] - starts[j]
        half[c] = 1
        while 2 * half[c] <= m:
            half[c] *= 2
        width = 2 * half[c] - 1
        tree[c] = tree_end
        tree_end += width
        filled = np.full(width, np.nan)
        filled[:m] = fenced[begin[j] : begin[j] + m]
        nodes.append(filled)
    node = np.concatenate([*nodes, [np.nan]])
    with nogil:
        for r in range(n):
            if row_starts[r] == row_starts[r + 1]:
                continue
            doubtful = 0
            absent = False
            for j in range(p):
                value = X[r, j]
                place = (value - origin[j]) * scale[j]
                # Written so that NaN stays NaN, and is in doubt.
                place = 0.5 if place < 0.5 else place
                place = top[j] if place > top[j] else place
                bin_ = <int32_t>place
                doubtful |= not (fabs(place - <double>bin_ - 0.5) <= sure[j])
                bins[j] = bin_
            for c in range(n_uneven):
                j = uneven[c]
                value = X[r, j]
                at = 0
                step = half[c]
                while step > 0:
                    at += step * (value >= node[tree[c] + at + step - 1])
                    step >>= 1
                bins[j] = <int32_t>at
            if doubtful:
                for j in range(p):
                    value = X[r, j]
                    m = starts[j + 1] - starts[j]
                    if value == value:
                        bins[j] = _settled(&limit[begin[j]], value, bins[j])
                    else:
                        bins[j] = <int32_t>(m + 1) if missing_bin else -1
                        absent = not missing_bin or absent
            for e in range(row_starts[r], row_starts[r + 1]):
                row = &table[clusters[e], 0]
                weight = weights[e] if weighted else 1
                if not absent:
                    for j in range(p):
                        row[offset[j] + bins[j]] += weight
                else:
                    for j in range(p):
                        if bins[j] >= 0:
                            row[offset[j] + bins[j]] += weight
    return counts


cdef inline int32_t _settled(const double *limit, double value, int32_t bin_) noexcept nogil:
    """The bin of a value, looked for around a guess; the limits lie between two NaN."""
    # A single step, without a branch, is nearly always enough.
    bin_ += value >= limit[bin_]
    bin_ -= value < limit[bin_ - 1]
    while value >= limit[bin_]:
        bin_ += 1
    while value < limit[bin_ - 1]:
        bin_ -= 1
    return bin_


cdef bint _evenly_cut(
    const double *limit, int64_t m, double *origin, double *scale, double *sure
) noexcept nogil:
    """Whether bins can be counted off, and from where; values near a limit are left in doubt."""
    cdef double span, width, off
    cdef int64_t k
    if m == 0:
        return True
    span = limit[m - 1] - limit[0]
    width = span / (m - 1) if m > 1 else 0.0
    if not (width > 0 and isfinite(span) and isfinite(1.0 / width)):
        return False
    off = fabs(limit[0]) if fabs(limit[0]) > fabs(limit[m - 1]) else fabs(limit[m - 1])
    off = 16.0 * EPSILON * (off + span)
    if 2.0 * off / width > 0.01:
        return False
    for k in range(1, m):
        if fabs(limit[k] - (limit[0] + k * width)) > off:
            return False
    origin[0] = limit[0] - width
    scale[0] = 1.0 / width
    sure[0] = 0.5 - (2.0 * off / width + 1e-12)
    return True
