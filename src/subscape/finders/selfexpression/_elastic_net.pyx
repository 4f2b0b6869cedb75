# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of elastic_net.py."""

import numpy as np

from libc.math cimport fabs


cdef inline double dot(const double* a, const double* b, Py_ssize_t p) noexcept nogil:
    # Four sums at once: a single one would wait for its own previous addition.
    cdef double s = 0.0, t = 0.0, u = 0.0, v = 0.0
    cdef Py_ssize_t j, whole = p - p % 4
    for j in range(0, whole, 4):
        s += a[j] * b[j]
        t += a[j + 1] * b[j + 1]
        u += a[j + 2] * b[j + 2]
        v += a[j + 3] * b[j + 3]
    for j in range(whole, p):
        s += a[j] * b[j]
    return (s + t) + (u + v)


cdef double sweep(
    const double[:, ::1] U, const Py_ssize_t* columns, double* c, double* r,
    const Py_ssize_t* turns, Py_ssize_t n_turns, double l1, double l2, double* top,
) noexcept nogil:
    cdef Py_ssize_t i, j, d, p = U.shape[1]
    cdef double old, fit, new, change, largest = 0.0
    cdef const double* atom
    for i in range(n_turns):
        j = turns[i]
        atom = &U[columns[j], 0]
        old = c[j]
        fit = dot(atom, r, p) + old
        if fit > l1:
            new = (fit - l1) / (1.0 + l2)
        elif fit < -l1:
            new = (fit + l1) / (1.0 + l2)
        else:
            new = 0.0
        if new != old:
            change = new - old
            for d in range(p):
                r[d] -= change * atom[d]
            c[j] = new
            if fabs(change) > largest:
                largest = fabs(change)
    top[0] = 0.0
    for i in range(n_turns):
        if fabs(c[turns[i]]) > top[0]:
            top[0] = fabs(c[turns[i]])
    return largest


def elastic_net(
    const double[:, ::1] U,
    const double[:, ::1] Y,
    const Py_ssize_t[:, ::1] columns,
    const double[:, ::1] values,
    const double[::1] l1,
    const double[::1] l2,
    Py_ssize_t sweeps,
    double precision,
):
    cdef Py_ssize_t b = Y.shape[0], p = Y.shape[1], s = columns.shape[1]
    cdef Py_ssize_t row, j, d, n_inside, outer, inner
    cdef double change, top
    coefficients_, left_ = np.array(values), np.array(Y)
    cdef double[:, ::1] coefficients = coefficients_, left = left_
    cdef Py_ssize_t[::1] every = np.arange(s, dtype=np.intp)
    cdef Py_ssize_t[::1] inside = np.empty(s, dtype=np.intp)
    cdef double* c
    cdef double* r
    if not s or not p:
        return coefficients_, left_
    with nogil:
        for row in range(b):
            c, r = &coefficients[row, 0], &left[row, 0]
            for j in range(s):
                if c[j] != 0.0:
                    for d in range(p):
                        r[d] -= c[j] * U[columns[row, j], d]
            for outer in range(sweeps):
                change = sweep(
                    U, &columns[row, 0], c, r, &every[0], s, l1[row], l2[row], &top
                )
                if change <= precision * top:
                    break
                n_inside = 0
                for j in range(s):
                    if c[j] != 0.0:
                        inside[n_inside] = j
                        n_inside += 1
                for inner in range(sweeps):
                    change = sweep(
                        U, &columns[row, 0], c, r, &inside[0], n_inside, l1[row], l2[row], &top
                    )
                    if change <= precision * top:
                        break
    return coefficients_, left_
