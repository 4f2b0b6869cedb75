# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of views.py: labels and sums of several clusterings in one pass."""

import numpy as np

from cython cimport floating


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
