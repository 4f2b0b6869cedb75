# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of flat_graph.py: pairs are dropped at the first direction that parts them."""

import numpy as np

from libc.stdlib cimport free, malloc


cdef inline bint near_flat(
    const double* x, const double* y, const double* across, Py_ssize_t c, Py_ssize_t p,
    double limit,
) noexcept nogil:
    """Whether y is within reach of the flat through x."""
    cdef double total = 0.0, height
    cdef Py_ssize_t j, k
    for k in range(c):
        height = 0.0
        for j in range(p):
            height += across[k * p + j] * (y[j] - x[j])
        total += height * height
        if total > limit:
            return False
    return True


cdef inline bint mutual(
    const double[:, ::1] X, const double* across, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j,
    double limit,
) noexcept nogil:
    cdef Py_ssize_t p = X.shape[1]
    return near_flat(&X[i, 0], &X[j, 0], across + i * c * p, c, p, limit) and near_flat(
        &X[j, 0], &X[i, 0], across + j * c * p, c, p, limit
    )


def count_mutual(
    const double[:, ::1] X,
    const double[:, :, ::1] across,
    const Py_ssize_t[::1] rows,
    const Py_ssize_t[::1] order,
    double radius,
    Py_ssize_t enough,
):
    cdef Py_ssize_t n = X.shape[0], c = across.shape[1], m = rows.shape[0], i, t, found
    cdef double limit = radius * radius
    cdef const double* frames = &across[0, 0, 0] if across.size else NULL
    result = np.zeros(m, dtype=np.intp)
    cdef Py_ssize_t[::1] out = result
    with nogil:
        for i in range(m):
            found = 0
            for t in range(n):
                if found >= enough:
                    break
                if mutual(X, frames, c, rows[i], order[t], limit):
                    found += 1
            out[i] = found
    return result


def grow_mutual(
    const double[:, ::1] X, const double[:, :, ::1] across, core, double radius
):
    cdef Py_ssize_t n = X.shape[0], c = across.shape[1], i, t, kept, group = 0, head, tail, here
    cdef double limit = radius * radius
    cdef const double* frames = &across[0, 0, 0] if across.size else NULL
    cores_ = np.flatnonzero(core)
    others_ = np.flatnonzero(~np.asarray(core))
    cdef const Py_ssize_t[::1] cores = cores_, others = others_
    result = np.full(n, -1, dtype=np.intp)
    cdef Py_ssize_t[::1] labels = result
    cdef Py_ssize_t m = cores.shape[0], left = m
    cdef Py_ssize_t* waiting = <Py_ssize_t*> malloc((2 * m + 1) * sizeof(Py_ssize_t))
    if waiting == NULL:
        raise MemoryError()
    cdef Py_ssize_t* queue = waiting + m
    with nogil:
        for t in range(m):
            waiting[t] = cores[t]
        while left > 0:
            # The first core row without a group starts one; then all that it reaches, and so on.
            queue[0] = waiting[0]
            labels[waiting[0]] = group
            left -= 1
            for t in range(left):
                waiting[t] = waiting[t + 1]
            head, tail = 0, 1
            while head < tail and left > 0:
                here = queue[head]
                head += 1
                kept = 0
                for t in range(left):
                    i = waiting[t]
                    if mutual(X, frames, c, here, i, limit):
                        labels[i] = group
                        queue[tail] = i
                        tail += 1
                    else:
                        waiting[kept] = i
                        kept += 1
                left = kept
            group += 1
        for t in range(n - m):
            here = others[t]
            for i in range(m):
                if mutual(X, frames, c, here, cores[i], limit):
                    labels[here] = labels[cores[i]]
                    break
    free(waiting)
    return result
