# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of graph.py: rows joined one link after the other."""

import numpy as np
from libc.math cimport INFINITY, sqrt


def distinct_links(
    const Py_ssize_t[:, :] neighbours, const double[:, :] distances, Py_ssize_t n_near
):
    cdef Py_ssize_t n = neighbours.shape[0], number = n * n_near, i, j, a, b, place, kept = 0
    # Sorted by the higher row, then by the lower one, each time by counting.
    cdef Py_ssize_t[:, ::1] counts = np.zeros((2, n + 1), dtype=np.intp)
    cdef Py_ssize_t[:, ::1] order = np.empty((2, number), dtype=np.intp)
    pairs = np.empty((number, 2), dtype=np.intp)
    sizes = np.empty(number)
    cdef Py_ssize_t[:, ::1] links = pairs
    cdef double[::1] lengths = sizes
    with nogil:
        for i in range(n):
            for j in range(n_near):
                a = neighbours[i, j]
                counts[0, max(i, a) + 1] += 1
                counts[1, min(i, a) + 1] += 1
        for i in range(n):
            counts[0, i + 1] += counts[0, i]
            counts[1, i + 1] += counts[1, i]
        for i in range(n):
            for j in range(n_near):
                b = max(i, neighbours[i, j])
                order[0, counts[0, b]] = i * n_near + j
                counts[0, b] += 1
        for place in range(number):
            i = order[0, place] // n_near
            a = min(i, neighbours[i, order[0, place] % n_near])
            order[1, counts[1, a]] = order[0, place]
            counts[1, a] += 1
        for place in range(number):
            i = order[1, place] // n_near
            j = order[1, place] % n_near
            a = min(i, neighbours[i, j])
            b = max(i, neighbours[i, j])
            if kept and links[kept - 1, 0] == a and links[kept - 1, 1] == b:
                continue
            links[kept, 0] = a
            links[kept, 1] = b
            lengths[kept] = distances[i, j]
            kept += 1
    return pairs[:kept], sizes[:kept]


def hills_climbed(const Py_ssize_t[:, :] links, const double[:] values):
    cdef Py_ssize_t n = values.shape[0], i, a, b, number = 0
    cdef Py_ssize_t[::1] up = np.arange(n)
    parts = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] part = parts
    tops = np.empty(n, dtype=np.intp)
    cdef Py_ssize_t[::1] top = tops
    with nogil:
        for i in range(links.shape[0]):
            a = links[i, 0]
            b = links[i, 1]
            if _is_higher(values, b, up[a]):
                up[a] = b
            if _is_higher(values, a, up[b]):
                up[b] = a
        for i in range(n):
            if up[i] == i:
                top[number] = i
                part[i] = number
                number += 1
        for i in range(n):
            part[i] = part[_root(up, i)]
    return tops[:number], parts


cdef bint _is_higher(const double[:] values, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    # Of equal rows the last one is the higher.
    return values[a] > values[b] or (values[a] == values[b] and a > b)


def highest_levels(
    const Py_ssize_t[:, :] links, const Py_ssize_t[:] border, const double[:] levels,
    Py_ssize_t n_rows
):
    cdef Py_ssize_t i, j, row, link, number = 0
    highest = np.full(n_rows, -np.inf)
    cdef double[::1] found = highest
    with nogil:
        for i in range(border.shape[0]):
            link = border[i]
            for j in range(2):
                row = links[link, j]
                if levels[link] > found[row]:
                    found[row] = levels[link]
        for row in range(n_rows):
            if found[row] > -INFINITY:
                found[number] = found[row]
                number += 1
    return highest[:number]


def connected_parts(const Py_ssize_t[:, :] links, Py_ssize_t n_rows):
    cdef Py_ssize_t i, a, b, number = 0
    cdef Py_ssize_t[::1] root = np.arange(n_rows)
    parts = np.empty(n_rows, dtype=np.intp)
    cdef Py_ssize_t[::1] part = parts
    with nogil:
        for i in range(links.shape[0]):
            a = _root(root, links[i, 0])
            b = _root(root, links[i, 1])
            # The first row of a part stays its root.
            if a < b:
                root[b] = a
            else:
                root[a] = b
        for i in range(n_rows):
            a = _root(root, i)
            if a == i:
                part[i] = number
                number += 1
            else:
                part[i] = part[a]
    return number, parts


cdef Py_ssize_t _root(Py_ssize_t[::1] root, Py_ssize_t i) noexcept nogil:
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


def shortest_tree(const double[:, :] apart, const double[:] core):
    cdef Py_ssize_t n = apart.shape[0], step, i, here = 0, next_
    cdef double reach, least
    pairs = np.empty((n - 1, 2), dtype=np.intp)
    sizes = np.empty(n - 1)
    cdef Py_ssize_t[:, ::1] ends = pairs
    cdef double[::1] lengths = sizes
    cdef double[::1] near = np.full(n, np.inf)
    cdef Py_ssize_t[::1] to = np.zeros(n, dtype=np.intp)
    cdef unsigned char[::1] out = np.ones(n, dtype=np.uint8)
    with nogil:
        for step in range(n - 1):
            out[here] = 0
            next_ = -1
            least = INFINITY
            for i in range(n):
                if not out[i]:
                    continue
                reach = max(max(apart[here, i], core[i]), core[here])
                if reach < near[i]:
                    near[i] = reach
                    to[i] = here
                if near[i] < least:
                    least = near[i]
                    next_ = i
            here = next_
            ends[step, 0] = to[here]
            ends[step, 1] = here
            lengths[step] = near[here]
    return pairs, sizes


def highest_hill(
    const Py_ssize_t[:, :] links, const double[:] levels, const Py_ssize_t[:] order,
    const Py_ssize_t[:] parts, const double[:] values, Py_ssize_t n_parts, double error
):
    cdef Py_ssize_t i, a, b
    cdef double ground, one, other, best = 0.0
    cdef Py_ssize_t[::1] root = np.arange(n_parts)
    cdef Py_ssize_t[::1] sizes = np.zeros(n_parts, dtype=np.intp)
    cdef double[::1] sums = np.zeros(n_parts)
    with nogil:
        for i in range(parts.shape[0]):
            sizes[parts[i]] += 1
            sums[parts[i]] += values[i]
        for i in range(order.shape[0]):
            a = parts[links[order[i], 0]]
            b = parts[links[order[i], 1]]
            if a == b:
                continue
            if a > b:
                a, b = b, a
            a = _root(root, a)
            b = _root(root, b)
            if a == b:
                continue
            ground = levels[order[i]] + error
            one = sums[a] - sizes[a] * ground
            other = sums[b] - sizes[b] * ground
            best = max(best, min(one, other))
            root[b] = a
            sizes[a] += sizes[b]
            sums[a] += sums[b]
    return best


def ties_spread(const double[:] column, const double[:] ordered, const double[:] places):
    cdef Py_ssize_t n = column.shape[0], i, low, high, middle, last, number = 1
    cdef double down, up, half
    steps = np.empty(n)
    values = np.empty(n)
    count = np.ones(n, dtype=np.intp)
    cdef double[::1] gaps = steps
    cdef double[::1] value = values
    cdef Py_ssize_t[::1] counts = count
    spread = np.empty(n)
    cdef double[::1] out = spread
    value[0] = ordered[0]
    for i in range(1, n):
        if ordered[i] == value[number - 1]:
            counts[number - 1] += 1
        else:
            value[number] = ordered[i]
            gaps[number - 1] = ordered[i] - value[number - 1]
            number += 1
    # The median of the gaps: the middle one, or the mean of the two in the middle.
    last = number - 1
    sorted_ = np.sort(steps[:last])
    half = sorted_[last // 2] if last % 2 else (sorted_[last // 2 - 1] + sorted_[last // 2]) / 2
    with nogil:
        for i in range(last):
            gaps[i] = (gaps[i] if gaps[i] < half else half) / 2
        for i in range(n):
            low = 0
            high = last
            while low < high:
                middle = (low + high) // 2
                if value[middle] < column[i]:
                    low = middle + 1
                else:
                    high = middle
            if counts[low] > 1:
                down = gaps[low - 1] if low > 0 else gaps[0]
                up = gaps[low] if low < last else gaps[last - 1]
                out[i] = column[i] + (places[i] * (down + up) - down)
            else:
                out[i] = column[i]
    return spread


def nearest_of_few(const double[:, :] table, Py_ssize_t most):
    cdef Py_ssize_t n = table.shape[0], d = table.shape[1], i, j, c, place, held
    cdef double z, at
    sizes = np.empty((n, most))
    rows = np.empty((n, most), dtype=np.intp)
    cdef double[:, ::1] distances = sizes
    cdef Py_ssize_t[:, ::1] places = rows
    # Column by column, so that the rows are measured side by side.
    cdef const double[:, ::1] columns = np.ascontiguousarray(np.asarray(table).T)
    cdef double[::1] apart = np.empty(n)
    cdef double* away = &apart[0]
    cdef const double* column
    cdef double* near
    cdef Py_ssize_t* row
    with nogil:
        for i in range(n):
            for j in range(n):
                away[j] = 0.0
            for c in range(d):
                column = &columns[c, 0]
                at = columns[c, i]
                for j in range(n):
                    z = column[j] - at
                    away[j] += z * z
            near = &distances[i, 0]
            row = &places[i, 0]
            held = 0
            for j in range(n):
                if j == i or (held == most and away[j] >= near[most - 1]):
                    continue
                place = held if held < most else most - 1
                while place > 0 and near[place - 1] > away[j]:
                    near[place] = near[place - 1]
                    row[place] = row[place - 1]
                    place -= 1
                near[place] = away[j]
                row[place] = j
                if held < most:
                    held += 1
            for place in range(most):
                near[place] = sqrt(near[place])
    return sizes, rows
