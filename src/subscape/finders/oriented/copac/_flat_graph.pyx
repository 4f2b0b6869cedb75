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


cdef inline double share(
    const double* direction, const double* frame, Py_ssize_t m, Py_ssize_t p
) noexcept nogil:
    """How much of a direction, squared, lies in the span of others."""
    cdef double total = 0.0, cosine
    cdef Py_ssize_t j, k
    for k in range(m):
        cosine = 0.0
        for j in range(p):
            cosine += direction[j] * frame[k * p + j]
        total += cosine * cosine
    return total


cdef struct Flats:
    const double* rows
    const double* across
    const double* along
    Py_ssize_t p
    Py_ssize_t c
    Py_ssize_t d
    double limit
    double most


cdef inline bint turned(Flats* of, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Whether a direction of row i's flat leaves that of row j by too much."""
    cdef Py_ssize_t k, p = of.p
    cdef const double* direction = of.along + i * of.d * p
    cdef double outside
    for k in range(of.d):
        # By whichever side of the flat has fewer directions.
        if of.c < of.d:
            outside = share(direction + k * p, of.across + j * of.c * p, of.c, p)
        else:
            outside = 1.0 - share(direction + k * p, of.along + j * of.d * p, of.d, p)
        if outside > of.most:
            return True
    return False


cdef inline bint mutual(Flats* of, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t p = of.p, frame = of.c * of.p
    if not near_flat(of.rows + i * p, of.rows + j * p, of.across + i * frame, of.c, p, of.limit):
        return False
    if not near_flat(of.rows + j * p, of.rows + i * p, of.across + j * frame, of.c, p, of.limit):
        return False
    if of.most >= 1.0 or of.d == 0:
        return True
    return not turned(of, i, j) and not turned(of, j, i)


cdef Flats flats_of(
    const double[:, ::1] X, const double[:, :, ::1] across, const double[:, :, ::1] along,
    double radius, double turn,
):
    cdef Flats of
    of.rows = &X[0, 0] if X.size else NULL
    of.across = &across[0, 0, 0] if across.size else NULL
    of.along = &along[0, 0, 0] if along.size else NULL
    of.p, of.c, of.d = X.shape[1], across.shape[1], along.shape[1]
    of.limit, of.most = radius * radius, turn
    return of


def count_mutual(
    const double[:, ::1] X,
    const double[:, :, ::1] across,
    const double[:, :, ::1] along,
    const Py_ssize_t[::1] rows,
    const Py_ssize_t[::1] order,
    double radius,
    double turn,
    Py_ssize_t enough,
):
    cdef Py_ssize_t n = X.shape[0], m = rows.shape[0], i, t, found
    cdef Flats of = flats_of(X, across, along, radius, turn)
    result = np.zeros(m, dtype=np.intp)
    cdef Py_ssize_t[::1] out = result
    with nogil:
        for i in range(m):
            found = 0
            for t in range(n):
                if found >= enough:
                    break
                if mutual(&of, rows[i], order[t]):
                    found += 1
            out[i] = found
    return result


def grow_mutual(
    const double[:, ::1] X, const double[:, :, ::1] across, const double[:, :, ::1] along, core,
    double radius, double turn,
):
    cdef Py_ssize_t n = X.shape[0], i, t, kept, group = 0, head, tail, here
    cdef Flats of = flats_of(X, across, along, radius, turn)
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
                    if mutual(&of, here, i):
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
                if mutual(&of, here, cores[i]):
                    labels[here] = labels[cores[i]]
                    break
    free(waiting)
    return result
