# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of the kernels of separation.py: many small labellings without temporary arrays."""

import numpy as np
from libc.math cimport fabs, log, log1p, sqrt

#: As in separation.py.
cdef double FLOOR = 0.02 * 0.02
cdef double LARGEST = 1 - 1e-6
cdef double NORMAL = 0.5 * float(np.log(2 * np.pi * np.e))
cdef double SLICED = 0.5 * np.log(2 * np.pi * np.e / 12)


def group_means(const double[:, :] Y, const long long[:, ::1] labels, Py_ssize_t n_groups):
    cdef Py_ssize_t n = Y.shape[0], d = Y.shape[1], m = labels.shape[0]
    cdef Py_ssize_t a, i, j, k
    sizes = np.zeros((m, n_groups))
    middles = np.zeros((m, n_groups, d))
    cdef double[:, ::1] counts = sizes
    cdef double[:, :, ::1] means = middles
    with nogil:
        for a in range(m):
            for i in range(n):
                k = labels[a, i]
                counts[a, k] += 1
                for j in range(d):
                    means[a, k, j] += Y[i, j]
            for k in range(n_groups):
                if counts[a, k] > 1:
                    for j in range(d):
                        means[a, k, j] /= counts[a, k]
    return sizes, middles


def telling_directions(
    const double[:, :] explained, const double[:, :, :] vectors, const double[:, :] counts,
    Py_ssize_t n_rows
):
    cdef Py_ssize_t m = explained.shape[0], q = explained.shape[1], d = vectors.shape[1]
    cdef Py_ssize_t n_groups = counts.shape[1]
    cdef Py_ssize_t a, j, k, place, present, most = 1, last
    cdef double share, length, largest, price, per = log(<double> n_rows)
    number = np.ones(m, dtype=np.intp)
    cdef Py_ssize_t[::1] dims = number
    with nogil:
        for a in range(m):
            present = 0
            for k in range(n_groups):
                present += counts[a, k] > 0
            last = min(present - 1, d, q)
            for place in range(last):
                share = _share(explained[a, q - 1 - place])
                price = (d + present - 2 - 2 * place) * per
                if not n_rows * log1p(share / (1 - share)) > price:
                    break
                dims[a] = place + 1
            most = max(most, dims[a])
    kept = np.zeros((m, d, most))
    told = np.empty((m, most))
    cdef double[:, :, ::1] out = kept
    cdef double[:, ::1] ratios = told
    with nogil:
        for a in range(m):
            for place in range(most):
                share = _share(explained[a, q - 1 - place])
                ratios[a, place] = share / (1 - share)
            for place in range(dims[a]):
                length = 0.0
                largest = 0.0
                for j in range(d):
                    share = vectors[a, j, q - 1 - place]
                    length += share * share
                    if fabs(share) > fabs(largest):
                        largest = share
                length = max(sqrt(length), 1e-300)
                if largest < 0:
                    length = -length
                for j in range(d):
                    out[a, j, place] = vectors[a, j, q - 1 - place] / length
    return kept, told, number


cdef double _share(double explained) noexcept nogil:
    return max(0.0, min(explained, LARGEST))


def cloud_gains(
    const double[:, :, ::1] seen, const long long[:, ::1] labels, const double[:, :] counts,
    centres, const Py_ssize_t[:] dims, Py_ssize_t n_columns
):
    cdef Py_ssize_t m = seen.shape[0], n = seen.shape[1], most = seen.shape[2]
    cdef Py_ssize_t n_groups = counts.shape[1]
    cdef Py_ssize_t a, i, j, k, present
    cdef double total, within, floor, share, value, per = log(<double> n) / n
    cdef const double[:, :, :] middles = centres
    gained = np.empty(m)
    told = np.empty(m)
    wide = np.ones((m, most))
    spread = np.zeros((m, n_groups, most))
    cdef double[::1] gain = gained
    cdef double[::1] entropy = told
    cdef double[:, ::1] overall = wide
    cdef double[:, :, ::1] spreads = spread
    with nogil:
        for a in range(m):
            for i in range(n):
                k = labels[a, i]
                for j in range(dims[a]):
                    value = seen[a, i, j]
                    spreads[a, k, j] += value * value
            present = 0
            entropy[a] = 0.0
            for k in range(n_groups):
                if counts[a, k] > 0:
                    present += 1
                    share = counts[a, k] / n
                    entropy[a] -= share * log(share)
            gain[a] = SLICED - entropy[a] + 0.5 * dims[a]
            for j in range(dims[a]):
                total = 0.0
                for k in range(n_groups):
                    total += spreads[a, k, j]
                overall[a, j] = max(total / n, 1e-300)
                floor = FLOOR * overall[a, j]
                within = 0.0
                for k in range(n_groups):
                    value = spreads[a, k, j] / max(counts[a, k], 1.0)
                    value -= middles[a, k, j] * middles[a, k, j]
                    within += counts[a, k] / n * value
                    spreads[a, k, j] = max(value, floor)
                within = max(within, floor)
                gain[a] += 0.5 * (log(overall[a, j]) - log(within) - 1.0)
            for j in range(dims[a], most):
                for k in range(n_groups):
                    spreads[a, k, j] = 1.0
            gain[a] -= 0.5 * per * (
                (present - 1) * (dims[a] + 1) + dims[a] * (n_columns - dims[a])
            )
            if present < 2:
                gain[a] = 0.0
    return gained, told, wide, centres, spread


def likeliest_groups(
    const double[:, :, ::1] seen, const double[:, :, :] centres, const double[:, :, :] spreads,
    const double[:, :] shares, const Py_ssize_t[:] dims
):
    cdef Py_ssize_t m = seen.shape[0], n = seen.shape[1], n_groups = centres.shape[1]
    cdef Py_ssize_t a, i, j, k, c, present, best
    cdef double x, least
    # Of the groups that have rows: a constant, then what each direction and its square weigh.
    cdef double[:, ::1] weights = np.empty((2 * seen.shape[2] + 1, n_groups))
    cdef double[::1] away = np.empty(n_groups)
    cdef long long[::1] number = np.empty(n_groups, dtype=np.int64)
    found = np.zeros((m, n), dtype=np.int64)
    cdef long long[:, ::1] labels = found
    with nogil:
        for a in range(m):
            present = 0
            for k in range(n_groups):
                if shares[a, k] > 0:
                    weights[0, present] = -2 * log(shares[a, k])
                    for j in range(dims[a]):
                        x = 1.0 / spreads[a, k, j]
                        weights[2 * j + 1, present] = -2 * x * centres[a, k, j]
                        weights[2 * j + 2, present] = x
                        weights[0, present] += (
                            x * centres[a, k, j] * centres[a, k, j] + log(spreads[a, k, j])
                        )
                    number[present] = k
                    present += 1
            for i in range(n):
                for c in range(present):
                    away[c] = weights[0, c]
                for j in range(dims[a]):
                    x = seen[a, i, j]
                    for c in range(present):
                        away[c] += x * (weights[2 * j + 1, c] + x * weights[2 * j + 2, c])
                best = 0
                least = away[0]
                for c in range(1, present):
                    if away[c] < least:
                        least = away[c]
                        best = c
                labels[a, i] = number[best]
    return found


def along_directions(
    const double[:, :, ::1] seen, const double[:, :] overall, const Py_ssize_t[:] dims
):
    cdef Py_ssize_t m = seen.shape[0], n = seen.shape[1], a, i, j, line = 0
    cdef double spread
    samples = np.empty((np.sum(dims), n))
    cdef double[:, ::1] out = samples
    with nogil:
        for a in range(m):
            for j in range(dims[a]):
                spread = sqrt(overall[a, j])
                for i in range(n):
                    out[line, i] = seen[a, i, j] / spread
                line += 1
    return samples


def summed_gains(const double[:] told, const Py_ssize_t[:] dims):
    cdef Py_ssize_t a, j, line = 0
    gained = np.zeros(dims.shape[0])
    cdef double[::1] gain = gained
    for a in range(dims.shape[0]):
        for j in range(dims[a]):
            gain[a] += max(told[line] + NORMAL, 0.0)
            line += 1
    return gained
