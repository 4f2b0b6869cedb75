# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Compiled twin of bottleneck.py."""

from libc.math cimport log
from libc.stdlib cimport free, malloc

cdef double LEAST_GAIN = 1e-9


cdef inline double xlogx(double x) noexcept nogil:
    return x * log(x) if x > 0 else 0.0


cdef void gains(
    const double *sums, const long long *counts, Py_ssize_t k, Py_ssize_t p, const long long *at,
    const double *v, Py_ssize_t m, double mass, double weight, double *out,
) noexcept nogil:
    cdef Py_ssize_t c, t
    cdef double gain, total, before
    for c in range(k):
        gain = 0.0
        total = counts[c] * mass
        for t in range(m):
            before = sums[c * p + at[t]]
            gain += xlogx(before + v[t]) - xlogx(before)
        out[c] += weight * (gain - xlogx(total + mass) + xlogx(total))


cdef inline void add(
    double *row, const long long *at, const double *v, Py_ssize_t m, double sign
) noexcept nogil:
    cdef Py_ssize_t t
    for t in range(m):
        row[at[t]] += sign * v[t]
        if row[at[t]] < 0:
            row[at[t]] = 0.0


def bottleneck_sweep(
    const long long[::1] indptr,
    const long long[::1] indices,
    const double[::1] values,
    const long long[::1] groups,
    const long long[::1] order,
    double coordination,
    long long[::1] labels,
    long long[::1] sizes,
    long long[:, ::1] local_sizes,
    double[:, :, ::1] local,
    double[:, ::1] overall,
):
    cdef Py_ssize_t k = overall.shape[0], p = overall.shape[1], m, t, c
    cdef long long x, old, best, start
    cdef long long moved = 0
    cdef double mass
    cdef double *inside
    cdef long long *counts
    cdef double *every = &overall[0, 0]
    cdef const long long *at
    cdef const double *v
    cdef double *gain = <double *> malloc(k * sizeof(double))
    if gain == NULL:
        raise MemoryError
    with nogil:
        for t in range(order.shape[0]):
            x = order[t]
            old = labels[x]
            if sizes[old] == 1:
                continue
            start = indptr[x]
            m = indptr[x + 1] - start
            at = &indices[start]
            v = &values[start]
            mass = 0.0
            for c in range(m):
                mass += v[c]
            inside = &local[groups[x], 0, 0]
            add(inside + old * p, at, v, m, -1.0)
            add(every + old * p, at, v, m, -1.0)
            counts = &local_sizes[groups[x], 0]
            counts[old] -= 1
            sizes[old] -= 1
            for c in range(k):
                gain[c] = 0.0
            gains(inside, counts, k, p, at, v, m, mass, 1.0, gain)
            if coordination > 0:
                gains(every, &sizes[0], k, p, at, v, m, mass, coordination, gain)
            best = 0
            for c in range(1, k):
                if gain[c] > gain[best]:
                    best = c
            if gain[best] <= gain[old] + LEAST_GAIN * mass:
                best = old
            add(inside + best * p, at, v, m, 1.0)
            add(every + best * p, at, v, m, 1.0)
            counts[best] += 1
            sizes[best] += 1
            labels[x] = best
            moved += best != old
    free(gain)
    return moved
