# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of kmeans_starts.py."""

import numpy as np

#: Rows that are measured side by side: their distances stay in the cache.
cdef enum:
    STRETCH = 512


def seed_rows(const double[:, :] Z, const long long[:] sizes, const double[:, :] chances):
    cdef Py_ssize_t n = Z.shape[0], d = Z.shape[1], m = sizes.shape[0]
    cdef Py_ssize_t start, k, i, j, c, best, last, part, first, height, most = 1
    cdef double total, z, at
    cdef double infinity = np.inf
    for start in range(m):
        most = max(most, sizes[start])
    found = np.zeros((m, most), dtype=np.int64)
    cdef long long[:, ::1] out = found
    # Column by column, so that the rows of a stretch are measured side by side.
    cdef const double[:, ::1] columns = np.ascontiguousarray(np.asarray(Z).T)
    cdef double[::1] near = np.empty(n)
    cdef double[::1] away = np.empty(STRETCH)
    cdef double* far = &away[0]
    cdef const double* column
    with nogil:
        for start in range(m):
            k = sizes[start]
            last = min(<Py_ssize_t>(chances[start, 0] * n), n - 1)
            out[start, 0] = last
            for i in range(n):
                near[i] = infinity
            for c in range(1, k):
                total = 0.0
                for part in range((n + STRETCH - 1) // STRETCH):
                    first = part * STRETCH
                    height = min(STRETCH, n - first)
                    for i in range(height):
                        far[i] = 0.0
                    for j in range(d):
                        column = &columns[j, first]
                        at = columns[j, last]
                        for i in range(height):
                            z = column[i] - at
                            far[i] += z * z
                    for i in range(height):
                        if far[i] < near[first + i]:
                            near[first + i] = far[i]
                        total += near[first + i]
                total *= chances[start, c]
                z = 0.0
                best = n - 1
                for i in range(n):
                    z += near[i]
                    if z >= total:
                        best = i
                        break
                last = best
                out[start, c] = last
    return found


def move_rows(
    const double[:, :] block, const double[:, ::1] products, const double[:, ::1] centres,
    const long long[:] ends, const Py_ssize_t[:] starts, Py_ssize_t first,
    long long[:, ::1] labels, long long[:, ::1] counts, double[:, :, ::1] sums
):
    cdef Py_ssize_t h = block.shape[0], d = block.shape[1], a = starts.shape[0]
    cdef Py_ssize_t i, j, c, place, start, begin, best, old
    cdef double away, least
    changed = np.zeros(a, dtype=bool)
    # Half of the squared lengths of the centres.
    cdef double[::1] half = np.zeros(centres.shape[0])
    cdef unsigned char[::1] moved = changed.view(np.uint8)
    with nogil:
        for c in range(centres.shape[0]):
            for j in range(d):
                half[c] += 0.5 * centres[c, j] * centres[c, j]
        for i in range(h):
            begin = 0
            for place in range(a):
                start = starts[place]
                best = begin
                least = half[begin] - products[i, begin]
                for c in range(begin + 1, ends[place]):
                    away = half[c] - products[i, c]
                    if away < least:
                        least = away
                        best = c
                best -= begin
                begin = ends[place]
                old = labels[start, first + i]
                if old == best:
                    continue
                moved[place] = 1
                labels[start, first + i] = best
                counts[start, best] += 1
                for j in range(d):
                    sums[start, best, j] += block[i, j]
                if old >= 0:
                    counts[start, old] -= 1
                    for j in range(d):
                        sums[start, old, j] -= block[i, j]
    return changed


def move_centres(
    double[:, ::1] centres, const long long[:] sizes, const Py_ssize_t[:] starts,
    const long long[:, ::1] counts, const double[:, :, ::1] sums
):
    cdef Py_ssize_t d = centres.shape[1], a = starts.shape[0], begin = 0
    cdef Py_ssize_t place, start, c, j
    with nogil:
        for place in range(a):
            start = starts[place]
            for c in range(sizes[place]):
                if counts[start, c] > 0:
                    for j in range(d):
                        centres[begin + c, j] = sums[start, c, j] / counts[start, c]
            begin += sizes[place]


def labels_on_line(
    const double[:] column, const long long[:] sizes, const long long[:, :] rows,
    Py_ssize_t rounds
):
    cdef Py_ssize_t n = column.shape[0], m = sizes.shape[0], most = 1
    cdef Py_ssize_t start, k, i, c, t, g, low, high, groups
    cdef bint moved
    cdef double mark
    for start in range(m):
        most = max(most, sizes[start])
    sorting = np.argsort(column, kind="stable").astype(np.int64)
    labels = np.zeros((m, n), dtype=np.int64)
    cdef const long long[::1] order = sorting
    cdef double[::1] values = np.asarray(column)[sorting]
    cdef double[::1] reached = np.concatenate([[0.0], np.cumsum(values)])
    cdef long long[:, ::1] out = labels
    cdef double[::1] centres = np.empty(most)
    # Clusters by their centres; where each one begins and ends among the sorted values.
    cdef Py_ssize_t[::1] rising = np.empty(most, dtype=np.intp)
    cdef Py_ssize_t[:, ::1] ends = np.empty((2, most), dtype=np.intp)
    cdef unsigned char[::1] placed = np.empty(most, dtype=np.uint8)
    with nogil:
        for start in range(m):
            k = sizes[start]
            for c in range(k):
                centres[c] = column[rows[start, c]]
                ends[0, c] = ends[1, c] = -1
            for t in range(rounds):
                groups = 0
                for c in range(k):  # by insertion; of equal centres the first takes all rows
                    g = groups
                    while g > 0 and centres[rising[g - 1]] > centres[c]:
                        g -= 1
                    if g > 0 and centres[rising[g - 1]] == centres[c]:
                        continue
                    for i in range(groups, g, -1):
                        rising[i] = rising[i - 1]
                    rising[g] = c
                    groups += 1
                moved = False
                low = 0
                for c in range(k):
                    placed[c] = 0
                for g in range(groups):
                    c = rising[g]
                    high = n
                    if g + 1 < groups:
                        mark = 0.5 * (centres[c] + centres[rising[g + 1]])
                        # A value in the middle goes to the cluster of the lower number.
                        high = _place(values, low, mark, c < rising[g + 1])
                    if ends[0, c] != low or ends[1, c] != high:
                        moved = True
                    ends[0, c] = low
                    ends[1, c] = high
                    placed[c] = 1
                    low = high
                for c in range(k):
                    if not placed[c]:
                        if ends[0, c] != 0 or ends[1, c] != 0:
                            moved = True
                        ends[0, c] = ends[1, c] = 0
                if not moved:
                    break
                for c in range(k):
                    if ends[1, c] > ends[0, c]:
                        centres[c] = (
                            (reached[ends[1, c]] - reached[ends[0, c]])
                            / (ends[1, c] - ends[0, c])
                        )
            for c in range(k):
                for i in range(ends[0, c], ends[1, c]):
                    out[start, order[i]] = c
    return labels


cdef Py_ssize_t _place(
    double[::1] values, Py_ssize_t low, double mark, bint with_equal
) noexcept nogil:
    """How many of the sorted values lie below the mark, or on it too; at least ``low``."""
    cdef Py_ssize_t high = values.shape[0], middle
    while low < high:
        middle = (low + high) // 2
        if values[middle] < mark or (with_equal and values[middle] == mark):
            low = middle + 1
        else:
            high = middle
    return low
