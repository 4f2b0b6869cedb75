# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of kmeans_starts.py."""

import numpy as np
from libc.math cimport INFINITY

#: Rows that are measured side by side: their distances stay in the cache.
cdef enum:
    STRETCH = 512


def seed_rows(const double[:, :] Z, const long long[:] sizes, const double[:, :] chances):
    cdef Py_ssize_t start, most = 1
    for start in range(sizes.shape[0]):
        most = max(most, sizes[start])
    found = np.zeros((sizes.shape[0], most), dtype=np.int64)
    cdef long long[:, ::1] out = found
    # Column by column, so that the rows of a stretch are measured side by side.
    cdef const double[:, ::1] columns = np.ascontiguousarray(np.asarray(Z).T)
    cdef double[::1] near = np.empty(Z.shape[0])
    cdef double[::1] away = np.empty(STRETCH)
    with nogil:
        _seed(columns, sizes, chances, near, &away[0], out)
    return found


cdef void _seed(
    const double[:, ::1] columns, const long long[:] sizes, const double[:, :] chances,
    double[::1] near, double* far, long long[:, ::1] out
) noexcept nogil:
    cdef Py_ssize_t n = columns.shape[1], d = columns.shape[0]
    cdef Py_ssize_t start, i, j, c, best, last, part, first, height
    cdef double total, z, at
    cdef const double* column
    for start in range(sizes.shape[0]):
        last = min(<Py_ssize_t>(chances[start, 0] * n), n - 1)
        out[start, 0] = last
        for i in range(n):
            near[i] = INFINITY
        for c in range(1, sizes[start]):
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


def move_rows(
    const double[:, :] block, const double[:, ::1] products, const double[:, ::1] centres,
    const long long[:] ends, const Py_ssize_t[:] starts, Py_ssize_t first,
    long long[:, ::1] labels, long long[:, ::1] counts, double[:, :, ::1] sums
):
    cdef Py_ssize_t h = block.shape[0], d = block.shape[1], a = starts.shape[0]
    cdef Py_ssize_t i, j, c, place, part, low, height, start, begin, best, old
    changed = np.zeros(a, dtype=bool)
    # Half of the squared lengths of the centres.
    cdef double[::1] half = np.zeros(centres.shape[0])
    cdef double[:, ::1] space = np.empty((2, STRETCH))
    cdef double* least = &space[0, 0]
    cdef double* nearest = &space[1, 0]
    cdef unsigned char[::1] moved = changed.view(np.uint8)
    with nogil:
        for c in range(centres.shape[0]):
            for j in range(d):
                half[c] += 0.5 * centres[c, j] * centres[c, j]
        for part in range((h + STRETCH - 1) // STRETCH):
            low = part * STRETCH
            height = min(STRETCH, h - low)
            begin = 0
            for place in range(a):
                start = starts[place]
                for i in range(height):
                    least[i] = INFINITY
                    nearest[i] = 0.0
                for c in range(begin, ends[place]):
                    _compare(&products[c, low], half[c], c - begin, height, least, nearest)
                begin = ends[place]
                for i in range(height):
                    best = <Py_ssize_t> nearest[i]
                    old = labels[start, first + low + i]
                    if old == best:
                        continue
                    moved[place] = 1
                    labels[start, first + low + i] = best
                    counts[start, best] += 1
                    for j in range(d):
                        sums[start, best, j] += block[low + i, j]
                    if old >= 0:
                        counts[start, old] -= 1
                        for j in range(d):
                            sums[start, old, j] -= block[low + i, j]
    return changed


cdef void _compare(
    const double* products, double half, double number, Py_ssize_t height, double* least,
    double* nearest
) noexcept nogil:
    """One centre beside the nearest before it; without branches, so that rows go side by side."""
    cdef Py_ssize_t i
    cdef double away
    for i in range(height):
        away = half - products[i]
        nearest[i] = number if away < least[i] else nearest[i]
        least[i] = away if away < least[i] else least[i]


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
    labels = np.zeros((sizes.shape[0], column.shape[0]), dtype=np.int64)
    line = np.array(column)
    cdef _Line space = _Line(line[None], sizes)
    cdef long long[:, ::1] out = labels
    with nogil:
        space.part(0, sizes, rows, rounds, out)
    return labels


def labels_along(
    const double[:, :] lines, const long long[:] sizes, const double[:, :, :] chances,
    Py_ssize_t rounds
):
    cdef Py_ssize_t n = lines.shape[0], q = lines.shape[1], m = sizes.shape[0], line, most = 1, i
    for i in range(m):
        most = max(most, sizes[i])
    labels = np.zeros((q * m, n), dtype=np.int64)
    columns = np.array(np.asarray(lines).T, order="C")
    cdef const double[:, ::1] values = columns
    cdef _Line space = _Line(columns, sizes)
    cdef long long[:, ::1] out = labels
    cdef long long[:, ::1] rows = np.zeros((m, most), dtype=np.int64)
    cdef double[::1] near = np.empty(n)
    cdef double[::1] away = np.empty(STRETCH)
    with nogil:
        for line in range(q):
            _seed(values[line:line + 1], sizes, chances[line], near, &away[0], rows)
            space.part(line, sizes, rows, rounds, out[line * m:(line + 1) * m])
    return labels


cdef class _Line:
    """Lines that are parted one after the other: each is sorted once for all starts."""

    cdef const double[:, ::1] columns
    cdef const Py_ssize_t[:, ::1] orders
    cdef double[::1] values, reached, centres
    # Clusters by their centres; where each one begins and ends among the sorted values.
    cdef Py_ssize_t[::1] rising
    cdef Py_ssize_t[:, ::1] ends
    cdef unsigned char[::1] placed

    def __init__(self, columns, const long long[:] sizes):
        cdef Py_ssize_t n = columns.shape[1], start, most = 1
        for start in range(sizes.shape[0]):
            most = max(most, sizes[start])
        self.columns = columns
        self.orders = np.argsort(columns, axis=1, kind="stable").astype(np.intp)
        self.values = np.empty(n)
        self.reached = np.empty(n + 1)
        self.centres = np.empty(most)
        self.rising = np.empty(most, dtype=np.intp)
        self.ends = np.empty((2, most), dtype=np.intp)
        self.placed = np.empty(most, dtype=np.uint8)

    cdef void part(
        self, Py_ssize_t line, const long long[:] sizes, const long long[:, :] rows,
        Py_ssize_t rounds, long long[:, ::1] out
    ) noexcept nogil:
        cdef Py_ssize_t n = self.values.shape[0]
        cdef Py_ssize_t start, k, i, c, t, g, low, high, groups
        cdef bint moved
        cdef double mark
        cdef const double[::1] column = self.columns[line]
        cdef const Py_ssize_t[::1] order = self.orders[line]
        cdef double[::1] values = self.values, reached = self.reached, centres = self.centres
        cdef Py_ssize_t[::1] rising = self.rising
        cdef Py_ssize_t[:, ::1] ends = self.ends
        cdef unsigned char[::1] placed = self.placed
        reached[0] = 0.0
        for i in range(n):
            values[i] = column[order[i]]
            reached[i + 1] = reached[i] + values[i]
        for start in range(sizes.shape[0]):
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


cdef Py_ssize_t _place(
    const double[::1] values, Py_ssize_t low, double mark, bint with_equal
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
