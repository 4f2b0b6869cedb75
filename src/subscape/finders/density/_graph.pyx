# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of graph.py: rows joined one link after the other."""

import numpy as np
from libc.math cimport INFINITY


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
