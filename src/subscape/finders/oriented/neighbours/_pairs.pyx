# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of pairs.py: single passes over the pairs, no copies of rows."""

import numpy as np

from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy


cdef inline bint within(
    const double* x, const double* y, Py_ssize_t p, double limit
) noexcept nogil:
    cdef double total = 0.0, a, b, c
    cdef Py_ssize_t j = 0
    # Three columns at a time: a test after each would cost more than it saves.
    while j + 3 <= p:
        a, b, c = x[j] - y[j], x[j + 1] - y[j + 1], x[j + 2] - y[j + 2]
        total += a * a + b * b + c * c
        if total > limit:
            return False
        j += 3
    while j < p:
        a = x[j] - y[j]
        total += a * a
        j += 1
    return total <= limit


def close_pairs(
    const double[:, ::1] X,
    const Py_ssize_t[:, ::1] starts,
    const Py_ssize_t[:, ::1] stops,
    double radius,
    Py_ssize_t most,
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], n_ranges = starts.shape[1]
    cdef Py_ssize_t i, j, r, found = 0, room = 4096
    cdef double limit = radius * radius
    cdef int32_t* buffer = <int32_t*> malloc(2 * room * sizeof(int32_t))
    cdef int32_t* larger
    cdef bint failed = buffer == NULL
    with nogil:
        for i in range(n):
            if failed or found > most:
                break
            for r in range(n_ranges):
                for j in range(max(starts[i, r], i + 1), stops[i, r]):
                    if within(&X[i, 0], &X[j, 0], p, limit):
                        if found == room:
                            room *= 2
                            larger = <int32_t*> realloc(buffer, 2 * room * sizeof(int32_t))
                            if larger == NULL:
                                failed = True
                                break
                            buffer = larger
                        buffer[2 * found] = <int32_t> i
                        buffer[2 * found + 1] = <int32_t> j
                        found += 1
                if failed:
                    break
    if failed:
        free(buffer)
        raise MemoryError("no memory for the pairs of close rows; use a smaller radius")
    found = min(found, most + 1)
    result = np.empty((found, 2), dtype=np.int32)
    cdef int32_t[:, ::1] out = result
    if found > 0:
        memcpy(&out[0, 0], buffer, 2 * found * sizeof(int32_t))
    free(buffer)
    return result


def pair_covariances(const double[:, ::1] X, const int32_t[:, ::1] pairs):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], n_pairs = pairs.shape[0], t, i, j, a, b
    cdef double value, share
    cdef const double* here
    cdef const double* there
    cdef double* at_i
    cdef double* at_j
    result = np.zeros((n, p, p))
    sums_, counts_ = np.zeros((n, p)), np.ones(n)
    cdef double[:, :, ::1] out = result
    cdef double[:, ::1] sums = sums_
    cdef double[::1] counts = counts_
    cdef double* away = <double*> malloc(p * sizeof(double))
    if away == NULL:
        raise MemoryError()
    with nogil:
        for t in range(n_pairs):
            i, j = pairs[t, 0], pairs[t, 1]
            here, there = &X[i, 0], &X[j, 0]
            counts[i] += 1.0
            counts[j] += 1.0
            for a in range(p):
                away[a] = there[a] - here[a]
                sums[i, a] += away[a]
                sums[j, a] -= away[a]
            for a in range(p):
                value = away[a]
                at_i, at_j = &out[i, a, 0], &out[j, a, 0]
                for b in range(a + 1):
                    at_i[b] += value * away[b]
                    at_j[b] += value * away[b]
        for i in range(n):
            share = 1.0 / counts[i]
            for a in range(p):
                for b in range(a + 1):
                    value = share * out[i, a, b] - (share * sums[i, a]) * (share * sums[i, b])
                    out[i, a, b] = value
                    out[i, b, a] = value
    free(away)
    return result


def local_covariances(const double[:, ::1] X, const Py_ssize_t[:, ::1] neighbours):
    cdef Py_ssize_t m = neighbours.shape[0], k = neighbours.shape[1], p = X.shape[1], i, t, a, b
    cdef const double* here
    cdef const double* there
    cdef double value, share = 1.0 / k
    result = np.zeros((m, p, p))
    cdef double[:, :, ::1] out = result
    cdef double* mean = <double*> malloc(2 * p * sizeof(double))
    if mean == NULL:
        raise MemoryError()
    cdef double* away = mean + p
    with nogil:
        for i in range(m):
            here = &X[neighbours[i, 0], 0]
            for a in range(p):
                mean[a] = 0.0
            for t in range(k):
                there = &X[neighbours[i, t], 0]
                for a in range(p):
                    mean[a] += there[a] - here[a]
            for a in range(p):
                mean[a] *= share
            for t in range(k):
                there = &X[neighbours[i, t], 0]
                for a in range(p):
                    away[a] = (there[a] - here[a]) - mean[a]
                for a in range(p):
                    value = away[a]
                    for b in range(a + 1):
                        out[i, a, b] += value * away[b]
            for a in range(p):
                for b in range(a + 1):
                    out[i, a, b] *= share
                    out[i, b, a] = out[i, a, b]
    free(mean)
    return result


cdef inline double dot(const double* x, const double* y, Py_ssize_t p) noexcept nogil:
    # Two sums at once: a single one would wait for its own previous addition.
    cdef double a = 0.0, b = 0.0
    cdef Py_ssize_t j, even = p - p % 2
    for j in range(0, even, 2):
        a += x[j] * y[j]
        b += x[j + 1] * y[j + 1]
    if even < p:
        a += x[even] * y[even]
    return a + b


cdef inline double stretched(
    const double* away, double length, const double* axes, Py_ssize_t p, Py_ssize_t strong,
    double kappa,
) noexcept nogil:
    """|v|² + (kappa − 1) |across(v)|², by whichever side of the flat has fewer directions."""
    cdef Py_ssize_t k
    cdef double part = 0.0, step
    if 2 * strong <= p:
        for k in range(p - strong, p):
            step = dot(away, axes + k * p, p)
            part += step * step
        part = max(length - part, 0.0)
    else:
        for k in range(p - strong):
            step = dot(away, axes + k * p, p)
            part += step * step
    return length + (kappa - 1.0) * part


def pairs_on_flats(
    const double[:, ::1] X,
    const int32_t[:, ::1] pairs,
    const double[:, :, ::1] axes,
    const Py_ssize_t[::1] strong,
    double kappa,
    double radius,
):
    cdef Py_ssize_t n_pairs = pairs.shape[0], p = X.shape[1], t, i, j, a
    cdef double length, limit = radius * radius
    result = np.zeros(n_pairs, dtype=np.uint8)
    cdef unsigned char[::1] out = result
    cdef double* away = <double*> malloc(p * sizeof(double))
    if away == NULL:
        raise MemoryError()
    with nogil:
        for t in range(n_pairs):
            i, j = pairs[t, 0], pairs[t, 1]
            length = 0.0
            for a in range(p):
                away[a] = X[j, a] - X[i, a]
                length += away[a] * away[a]
            if stretched(away, length, &axes[i, 0, 0], p, strong[i], kappa) <= limit:
                out[t] = (
                    stretched(away, length, &axes[j, 0, 0], p, strong[j], kappa) <= limit
                )
    free(away)
    return result.view(bool)


cdef inline Py_ssize_t root(Py_ssize_t* parent, Py_ssize_t i) noexcept nogil:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def connect_pairs(const int32_t[:, ::1] pairs, core):
    cdef const unsigned char[::1] inner = np.ascontiguousarray(core).view(np.uint8)
    cdef Py_ssize_t n = inner.shape[0], n_pairs = pairs.shape[0], t, i, j, groups = 0
    result = np.full(n, -1, dtype=np.intp)
    cdef Py_ssize_t[::1] labels = result
    cdef Py_ssize_t* parent = <Py_ssize_t*> malloc((2 * n + 1) * sizeof(Py_ssize_t))
    if parent == NULL:
        raise MemoryError()
    cdef Py_ssize_t* host = parent + n
    with nogil:
        for i in range(n):
            parent[i] = i
            host[i] = n
        for t in range(n_pairs):
            i, j = pairs[t, 0], pairs[t, 1]
            if inner[i] and inner[j]:
                i, j = root(parent, i), root(parent, j)
                # The smaller row is the root, so that roots come in the order of first rows.
                if i < j:
                    parent[j] = i
                elif j < i:
                    parent[i] = j
            elif inner[i]:
                host[j] = min(host[j], i)
            elif inner[j]:
                host[i] = min(host[i], j)
        for i in range(n):
            if inner[i]:
                j = root(parent, i)
                if j == i:
                    labels[i] = groups
                    groups += 1
                else:
                    labels[i] = labels[j]
        for i in range(n):
            if host[i] < n:
                labels[i] = labels[host[i]]
    free(parent)
    return result
