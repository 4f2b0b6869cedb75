# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of residues.py: all deletions in one go, on a copy of the block."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t


def delete_nodes(
    const double[:, ::1] X, const int64_t[::1] rows, const int64_t[::1] columns, double level
):
    from subscape.finders.cocluster.cheng_church.residues import Deletion  # that module is the one importing this one

    cdef Py_ssize_t n = rows.shape[0], p = columns.shape[0], i, j, step = 0, worst_i, worst_j
    cdef double value, total, squares, mean, residue, worst_row, worst_column
    cdef int64_t count
    block_ = np.ascontiguousarray(np.asarray(X)[np.ix_(rows, columns)])
    kept_rows, kept_columns = np.array(rows), np.array(columns)
    trace = np.empty((n + p, 3))
    cdef double[:, ::1] block = block_, path = trace
    cdef int64_t[::1] left_rows = kept_rows, left_columns = kept_columns
    cdef double[::1] row_means = np.empty(n), column_means = np.empty(p)
    cdef double[::1] row_residues = np.empty(n), column_residues = np.empty(p)
    cdef int64_t[::1] column_counts = np.empty(p, dtype=np.int64)
    cdef int64_t[::1] row_counts = np.empty(n, dtype=np.int64)
    with nogil:
        while True:
            for j in range(p):
                column_means[j] = 0.0
                column_residues[j] = 0.0
                column_counts[j] = 0
            mean, count = 0.0, 0
            for i in range(n):
                total = 0.0
                row_counts[i] = 0
                for j in range(p):
                    value = block[i, j]
                    if value == value:
                        total += value
                        row_counts[i] += 1
                        column_means[j] += value
                        column_counts[j] += 1
                row_means[i] = total / row_counts[i] if row_counts[i] else 0.0
                mean += total
                count += row_counts[i]
            for j in range(p):
                if column_counts[j]:
                    column_means[j] /= column_counts[j]
            if count:
                mean /= count
            residue = 0.0
            for i in range(n):
                squares = 0.0
                for j in range(p):
                    value = block[i, j]
                    if value == value:
                        value = value - row_means[i] - column_means[j] + mean
                        value *= value
                        squares += value
                        column_residues[j] += value
                residue += squares
                row_residues[i] = squares / row_counts[i] if row_counts[i] else INFINITY
            if count:
                residue /= count
            else:
                residue = INFINITY
            path[step, 0], path[step, 1], path[step, 2] = residue, n, p
            step += 1
            worst_row = worst_column = -1.0
            worst_i = worst_j = 0
            if n > 2:
                for i in range(n):
                    if row_residues[i] > worst_row:
                        worst_row, worst_i = row_residues[i], i
            if p > 2:
                for j in range(p):
                    value = (
                        column_residues[j] / column_counts[j] if column_counts[j] else INFINITY
                    )
                    if value > worst_column:
                        worst_column, worst_j = value, j
            if residue <= level or (worst_row < 0 and worst_column < 0):
                break
            if worst_row >= worst_column:
                n -= 1
                for i in range(worst_i, n):
                    left_rows[i] = left_rows[i + 1]
                    for j in range(p):
                        block[i, j] = block[i + 1, j]
            else:
                p -= 1
                for j in range(worst_j, p):
                    left_columns[j] = left_columns[j + 1]
                for i in range(n):
                    for j in range(worst_j, p):
                        block[i, j] = block[i, j + 1]
    return Deletion(kept_rows[:n].copy(), kept_columns[:p].copy(), trace[:step].copy())
