# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of kmeans_starts.py: centres lie column by column, so that all are met at once."""

import numpy as np


def kmeans_labels(
    const double[:, ::1] Z, const long long[:] sizes, const double[:, :] chances, Py_ssize_t rounds
):
    cdef Py_ssize_t n = Z.shape[0], d = Z.shape[1], m = sizes.shape[0]
    cdef Py_ssize_t start, k, i, j, c, t, best, most = 1
    cdef bint moved
    cdef double total, far, z
    for start in range(m):
        most = max(most, sizes[start])
    labels = np.zeros((m, n), dtype=np.int64)
    cdef long long[:, ::1] out = labels
    cdef double[:, ::1] centres = np.empty((d, most))
    cdef double[:, ::1] sums = np.empty((most, d))
    cdef double[::1] near = np.empty(n)
    cdef double[::1] away = np.empty(most)
    cdef long long[::1] counts = np.empty(most, dtype=np.int64)
    cdef double infinity = np.inf
    with nogil:
        for start in range(m):
            k = sizes[start]
            i = <Py_ssize_t>(chances[start, 0] * n)
            i = min(i, n - 1)
            for j in range(d):
                centres[j, 0] = Z[i, j]
            for i in range(n):
                near[i] = infinity
            for c in range(1, k):
                total = 0.0
                for i in range(n):
                    far = 0.0
                    for j in range(d):
                        z = Z[i, j] - centres[j, c - 1]
                        far += z * z
                    if far < near[i]:
                        near[i] = far
                    total += near[i]
                total *= chances[start, c]
                far = 0.0
                best = n - 1
                for i in range(n):
                    far += near[i]
                    if far >= total:
                        best = i
                        break
                for j in range(d):
                    centres[j, c] = Z[best, j]
            for i in range(n):
                out[start, i] = -1
            for t in range(rounds):
                moved = False
                for c in range(k):
                    counts[c] = 0
                    for j in range(d):
                        sums[c, j] = 0.0
                for i in range(n):
                    for c in range(k):
                        away[c] = 0.0
                    for j in range(d):
                        z = Z[i, j]
                        for c in range(k):
                            away[c] += (z - centres[j, c]) * (z - centres[j, c])
                    best = 0
                    for c in range(1, k):
                        if away[c] < away[best]:
                            best = c
                    if out[start, i] != best:
                        moved = True
                        out[start, i] = best
                    counts[best] += 1
                    for j in range(d):
                        sums[best, j] += Z[i, j]
                if not moved:
                    break
                for c in range(k):
                    if counts[c] > 0:
                        for j in range(d):
                            centres[j, c] = sums[c, j] / counts[c]
    return labels
