# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of views.py: labels and sums of several clusterings in one pass."""

import numpy as np

from cython cimport floating
from libc.math cimport sqrt


def nearest_in_views(const floating[:, ::1] scores, const Py_ssize_t[::1] starts):
    cdef Py_ssize_t n = scores.shape[0], n_views = starts.shape[0] - 1, r, s, i, best
    cdef floating smallest
    labels_ = np.empty((n, n_views), dtype=np.int32)
    cdef int[:, ::1] labels = labels_
    with nogil:
        for r in range(n):
            for s in range(n_views):
                best = starts[s]
                smallest = scores[r, best]
                for i in range(best + 1, starts[s + 1]):
                    if scores[r, i] < smallest:
                        smallest = scores[r, i]
                        best = i
                labels[r, s] = <int> (best - starts[s])
    return labels_


def cell_sums(const floating[:, ::1] X, const int[:, ::1] labels, const Py_ssize_t[::1] sizes):
    from subscape.finders.views.nrkmeans.kernel import CellSums

    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], n_views = sizes.shape[0]
    cdef Py_ssize_t r, s, j, cell, n_cells = 1
    for s in range(n_views):
        n_cells *= sizes[s]
    sums_ = np.zeros((n_cells, p))
    counts_ = np.zeros(n_cells, dtype=np.int64)
    cdef double[:, ::1] sums = sums_
    cdef long long[::1] counts = counts_
    cdef const floating* x
    cdef double* total
    with nogil:
        for r in range(n):
            cell = 0
            for s in range(n_views):
                if labels[r, s] < 0:
                    cell = -1
                    break
                cell = cell * sizes[s] + labels[r, s]
            if cell < 0:
                continue
            counts[cell] += 1
            x = &X[r, 0]
            total = &sums[cell, 0]
            for j in range(p):
                total[j] += x[j]
    return CellSums(sums_, counts_)


def far_rows(
    const double[:, :] inside, Py_ssize_t k, Py_ssize_t first, const double[:, :] chances
):
    cdef Py_ssize_t n = inside.shape[0], d = inside.shape[1], n_tried = chances.shape[1]
    cdef Py_ssize_t i, j, c, t, low, high, middle, best, n_found = 1
    cdef double total, wanted, least, apart, length
    found = np.zeros(max(k, 1), dtype=np.int64)
    cdef long long[::1] rows = found
    cdef const double[:, ::1] columns = np.ascontiguousarray(np.asarray(inside).T)
    cdef double[::1] lengths = np.zeros(n)
    cdef double[::1] places = np.empty(n)
    cdef double[::1] closest = np.empty(n)
    cdef double[:, ::1] reached = np.empty((n_tried, n))
    cdef Py_ssize_t[::1] tried = np.empty(n_tried, dtype=np.intp)
    with nogil:
        rows[0] = first
        for j in range(d):
            for i in range(n):
                lengths[i] += columns[j, i] * columns[j, i]
        _distances(columns, lengths, first, closest)
        for c in range(1, k):
            total = 0.0
            for i in range(n):
                total += closest[i]
                places[i] = total
            if not total > 0:
                break
            best = 0
            least = 0.0
            for t in range(n_tried):
                wanted = chances[c - 1, t] * total
                low = 0
                high = n
                while low < high:
                    middle = (low + high) // 2
                    if places[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
                tried[t] = min(low, n - 1)
                _distances(columns, lengths, tried[t], reached[t])
                total = 0.0
                for i in range(n):
                    if closest[i] < reached[t, i]:
                        reached[t, i] = closest[i]
                    total += reached[t, i]
                if t == 0 or total < least:
                    least = total
                    best = t
                total = places[n - 1]
            rows[c] = tried[best]
            closest[:] = reached[best]
            n_found += 1
    return found[:n_found]


cdef void _distances(
    const double[:, ::1] columns, const double[::1] lengths, Py_ssize_t row, double[::1] out
) noexcept nogil:
    """Squared distances of all rows from one of them."""
    cdef Py_ssize_t n = columns.shape[1], i, j
    cdef double at
    for i in range(n):
        out[i] = 0.0
    for j in range(columns.shape[0]):
        at = columns[j, row]
        for i in range(n):
            out[i] += columns[j, i] * at
    for i in range(n):
        at = lengths[i] - 2 * out[i] + lengths[row]
        out[i] = at if at > 0.0 else 0.0


def settle(const double[:, ::1] inside, const double[:, :, :] centres, Py_ssize_t max_iter):
    from subscape.finders.views.nrkmeans.kernel import Settled

    cdef Py_ssize_t n = inside.shape[0], d = inside.shape[1]
    cdef Py_ssize_t n_starts = centres.shape[0], k = centres.shape[1]
    cdef Py_ssize_t s, t, i, j, c, best, n_changed
    cdef double x, least, root
    cdef double* score
    labels_ = np.full((n_starts, n), -1, dtype=np.int32)
    factors_ = np.zeros((n_starts, k, d))
    emptied_ = np.zeros(n_starts, dtype=bool)
    cdef int[:, ::1] labels = labels_
    cdef double[:, :, ::1] factors = factors_
    cdef unsigned char[::1] emptied = emptied_.view(np.uint8)
    # Of the clusters side by side: what a row is multiplied by, and what is added.
    cdef double[:, ::1] weights = np.empty((d, k))
    cdef double[::1] offsets = np.empty(k)
    cdef double[::1] scores = np.empty(k)
    cdef long long[::1] counts = np.empty(k, dtype=np.int64)
    score = &scores[0]
    with nogil:
        for s in range(n_starts):
            for c in range(k):
                offsets[c] = 0.0
                for j in range(d):
                    x = centres[s, c, j]
                    weights[j, c] = -2.0 * x
                    offsets[c] += x * x
            for t in range(max_iter):
                n_changed = 0
                for i in range(n):
                    for c in range(k):
                        score[c] = 0.0
                    for j in range(d):
                        x = inside[i, j]
                        for c in range(k):
                            score[c] += x * weights[j, c]
                    best = 0
                    least = score[0] + offsets[0]
                    for c in range(1, k):
                        x = score[c] + offsets[c]
                        if x < least:
                            least = x
                            best = c
                    if labels[s, i] != best:
                        labels[s, i] = <int> best
                        n_changed += 1
                if n_changed == 0:
                    break
                counts[:] = 0
                factors[s] = 0.0
                for i in range(n):
                    c = labels[s, i]
                    counts[c] += 1
                    for j in range(d):
                        factors[s, c, j] += inside[i, j]
                for c in range(k):
                    if counts[c] == 0:
                        emptied[s] = 1
                if emptied[s]:
                    break
                for c in range(k):
                    root = sqrt(<double> counts[c])
                    offsets[c] = 0.0
                    for j in range(d):
                        factors[s, c, j] /= root
                        x = factors[s, c, j] / root
                        weights[j, c] = -2.0 * x
                        offsets[c] += x * x
    return Settled(labels_, factors_, emptied_)
