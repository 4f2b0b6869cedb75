# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of pursuit.py."""

import numpy as np

from libc.math cimport sqrt

#: As in pursuit.py.
cdef double DEPENDENT = 1e-9


cdef double beside(
    const double[:, :] U, Py_ssize_t row, const double[:, ::1] basis, Py_ssize_t step,
    double* fresh, double* part, double* inside,
) noexcept nogil:
    """What is left of a row beside a basis, what is not, and the length of the first."""
    cdef Py_ssize_t p = U.shape[1], j, s
    cdef int again
    cdef double total
    cdef const double* before
    for j in range(p):
        fresh[j] = U[row, j]
    for s in range(step):
        inside[s] = 0.0
    for again in range(2 if step else 0):
        # As the twin: all parts first, and then they are taken off.
        for s in range(step):
            before = &basis[s, 0]
            total = 0.0
            for j in range(p):
                total += before[j] * fresh[j]
            part[s] = total
        for s in range(step):
            before = &basis[s, 0]
            inside[s] += part[s]
            for j in range(p):
                fresh[j] -= part[s] * before[j]
    total = 0.0
    for j in range(p):
        total += fresh[j] * fresh[j]
    return sqrt(total)


def take_atoms(
    const double[:, :] U, const Py_ssize_t[:] todo, const Py_ssize_t[:] best, Py_ssize_t step,
    double tol, Py_ssize_t[:, ::1] chosen, double[:, :, ::1] basis, double[:, :, ::1] triangle,
    double[:, ::1] along, double[:, ::1] left,
):
    cdef Py_ssize_t p = U.shape[1], number = todo.shape[0], kept = 0, t, row, j, s
    cdef double part, length, rest
    cdef double* own
    more = np.empty(number, np.intp)
    cdef Py_ssize_t[::1] out = more
    cdef double[::1] fresh = np.empty(p), parts = np.empty(step + 1), inside = np.empty(step + 1)
    with nogil:
        for t in range(number):
            row = todo[t]
            length = beside(U, best[t], basis[row], step, &fresh[0], &parts[0], &inside[0])
            if length <= DEPENDENT:
                continue
            for s in range(step):
                triangle[row, s, step] = inside[s]
            triangle[row, step, step] = length
            chosen[row, step] = best[t]
            own = &left[row, 0]
            part = 0.0
            for j in range(p):
                fresh[j] /= length
                basis[row, step, j] = fresh[j]
                part += fresh[j] * own[j]
            along[row, step] = part
            rest = 0.0
            for j in range(p):
                own[j] -= part * fresh[j]
                rest += own[j] * own[j]
            if rest > tol:
                out[kept] = row
                kept += 1
    return more[:kept]


def bases_of_rows(
    const double[:, :] U, const Py_ssize_t[:, :] places, const Py_ssize_t[:] number,
):
    cdef Py_ssize_t p = U.shape[1], b = places.shape[0], most = places.shape[1], row, step, j
    cdef double length
    found = np.zeros((b, most, p))
    cdef double[:, :, ::1] bases = found
    cdef double[::1] fresh = np.empty(p), parts = np.empty(most + 1), inside = np.empty(most + 1)
    with nogil:
        for row in range(b):
            for step in range(number[row]):
                length = beside(
                    U, places[row, step], bases[row], step, &fresh[0], &parts[0], &inside[0]
                )
                if length > DEPENDENT:
                    for j in range(p):
                        bases[row, step, j] = fresh[j] / length
    return found


def coefficients_of(const double[:, :, ::1] triangle, const double[:, ::1] along):
    cdef Py_ssize_t b = along.shape[0], most = along.shape[1], row, i, j
    cdef double left
    found = np.empty((b, most))
    cdef double[:, ::1] out = found
    with nogil:
        for row in range(b):
            for i in range(most - 1, -1, -1):
                left = along[row, i]
                for j in range(i + 1, most):
                    left -= triangle[row, i, j] * out[row, j]
                out[row, i] = left / triangle[row, i, i]
    return found
