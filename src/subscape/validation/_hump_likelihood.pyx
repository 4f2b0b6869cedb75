# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of hump_likelihood.py: pools of adjacent violators, without temporary arrays."""

import numpy as np
from libc.math cimport M_E, M_PI, fabs, log, nearbyint, sqrt


def hump_log_likelihood(const double[:, :] values, Py_ssize_t n_block, double least_width,
                        double price=0.0):
    cdef Py_ssize_t m = values.shape[0], n = values.shape[1]
    cdef Py_ssize_t n_blocks = n // n_block if n_block > 0 else n
    cdef Py_ssize_t i
    if n_block < 1:
        n_block = 1
    if n_blocks < 1:
        n_blocks = 1
    found = np.empty(m)
    space = np.empty((6, n_blocks + 1))
    cdef double[::1] out = found
    cdef double[:, ::1] w = space
    with nogil:
        for i in range(m):
            out[i] = _one_hump(&values[i, 0], values.strides[1] // sizeof(double), n, n_block,
                               n_blocks, least_width, price, w)
    return found


cdef double _one_hump(
    const double* sample, Py_ssize_t step, Py_ssize_t n, Py_ssize_t n_block, Py_ssize_t n_blocks,
    double least_width, double price, double[:, ::1] w
) noexcept nogil:
    # Rows of the space: counts, widths, pooled counts, pooled widths, pooled sums, rising sums.
    cdef Py_ssize_t b, s, e, top = 0
    cdef double width, best, both
    for b in range(n_blocks):
        s = b * n_block
        e = n - 1 if b == n_blocks - 1 else (b + 1) * n_block
        if e > n - 1:
            e = n - 1
        width = sample[e * step] - sample[s * step]
        w[1, b] = width if width > least_width else least_width
        w[0, b] = n - n_block * (n_blocks - 1) if b == n_blocks - 1 else n_block
    w[5, 0] = 0.0
    for b in range(n_blocks):
        top = _push(w, top, w[0, b], w[1, b], n, price)
        w[5, b + 1] = w[4, top - 1]
    best = w[5, n_blocks]
    top = 0
    for b in range(n_blocks - 1, -1, -1):
        top = _push(w, top, w[0, b], w[1, b], n, price)
        both = w[4, top - 1] + w[5, b]
        if both > best:
            best = both
    return best / n


cdef Py_ssize_t _push(
    double[:, ::1] w, Py_ssize_t top, double count, double width, Py_ssize_t n,
    double price
) noexcept nogil:
    cdef double before
    while top > 0 and w[2, top - 1] * width > count * w[3, top - 1]:
        top -= 1
        count += w[2, top]
        width += w[3, top]
    before = w[4, top - 1] if top > 0 else 0.0
    w[2, top] = count
    w[3, top] = width
    w[4, top] = before + count * log(count / (n * width)) - price
    return top + 1


def description_length(const double[:, :] values, double least_spread):
    cdef Py_ssize_t n = values.shape[0], d = values.shape[1]
    cdef Py_ssize_t n_block = <Py_ssize_t> nearbyint(sqrt(<double> n) / 2)
    cdef Py_ssize_t i, j, k, n_blocks
    cdef bint turns = d > 1 and n > d
    cdef double mean, largest, share, along, turned
    if n_block < 2:
        n_block = 2
    n_blocks = n // n_block
    if n_blocks < 1:
        n_blocks = 1
    # Direction by direction, because each is sorted: the columns, then the principal directions.
    lines = np.empty(((2 if turns else 1) * d, n))
    cdef double[:, ::1] rows = lines
    cdef double[::1] spreads = np.empty(len(lines))
    cdef double[::1] normal = np.empty(len(lines))
    cdef double[:, ::1] w = np.empty((6, n_blocks + 1))
    cdef double[:, ::1] products, axes
    with nogil:
        for j in range(d):
            mean = 0.0
            for i in range(n):
                mean += values[i, j]
            mean /= n
            for i in range(n):
                rows[j, i] = values[i, j] - mean
    if turns:
        products = lines[:d] @ lines[:d].T
        axes = np.eye(d)
        with nogil:
            _turn(products, axes)
            for k in range(d):
                largest = 0.0
                for j in range(d):
                    if fabs(axes[j, k]) > fabs(largest):
                        largest = axes[j, k]
                for i in range(n):
                    rows[d + k, i] = 0.0
                for j in range(d):
                    share = axes[j, k] if largest >= 0 else -axes[j, k]
                    for i in range(n):
                        rows[d + k, i] += share * rows[j, i]
    with nogil:
        for j in range(rows.shape[0]):
            spreads[j] = _scale(&rows[j, 0], n, least_spread, &normal[j])
    lines.sort(axis=1)
    with nogil:
        along = _told(rows[:d], n_block, n_blocks, least_spread, spreads[:d], normal[:d], w)
        along += _price(n) * 2 * d
        if turns:
            turned = _told(rows[d:], n_block, n_blocks, least_spread, spreads[d:], normal[d:], w)
            turned += _price(n) * (2 * d + d * (d - 1) // 2)
            if turned < along:
                along = turned
    return along


cdef double _price(Py_ssize_t n) noexcept nogil:
    return 0.5 * log(<double> (n if n > 2 else 2))


cdef double _scale(
    double* column, Py_ssize_t n, double least_spread, double* normal
) noexcept nogil:
    """Divide a column by its spread, which is returned; nats of it under a normal density."""
    cdef Py_ssize_t i
    cdef double mean = 0.0, own = 0.0, spread
    for i in range(n):
        mean += column[i]
    mean /= n
    for i in range(n):
        own += (column[i] - mean) * (column[i] - mean)
    own = sqrt(own / n)
    spread = own if own > least_spread else least_spread
    normal[0] = n * (log(spread) + 0.5 * (own / spread) * (own / spread)
                     + 0.5 * log(2 * M_PI * M_E) - 0.5)
    for i in range(n):
        column[i] /= spread
    return spread


cdef double _told(
    double[:, ::1] lines, Py_ssize_t n_block, Py_ssize_t n_blocks, double least_spread,
    double[::1] spreads, double[::1] normal, double[:, ::1] w
) noexcept nogil:
    """Nats of sorted columns, each by a normal density or another one with one hump."""
    cdef Py_ssize_t n = lines.shape[1], j
    cdef double hump, total = 0.0
    for j in range(lines.shape[0]):
        hump = n * (log(spreads[j]) - _one_hump(&lines[j, 0], 1, n, n_block, n_blocks,
                                                least_spread, _price(n), w))
        total += normal[j] if normal[j] < hump else hump
    return total


cdef void _turn(double[:, ::1] a, double[:, ::1] axes) noexcept nogil:
    """Eigenvectors of a symmetric matrix by Jacobi's rotations; the matrix is overwritten."""
    cdef Py_ssize_t d = a.shape[0], sweep, p, q, i
    cdef double off, size, theta, t, c, s, x, y
    for sweep in range(30):
        off = 0.0
        size = 0.0
        for p in range(d):
            size += a[p, p] * a[p, p]
            for q in range(p):
                off += a[p, q] * a[p, q]
        if off <= 1e-28 * size:
            return
        for p in range(d - 1):
            for q in range(p + 1, d):
                if a[p, q] == 0.0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                t = 1 / (fabs(theta) + sqrt(theta * theta + 1))
                if theta < 0:
                    t = -t
                c = 1 / sqrt(t * t + 1)
                s = t * c
                for i in range(d):
                    x = a[i, p]
                    y = a[i, q]
                    a[i, p] = c * x - s * y
                    a[i, q] = s * x + c * y
                for i in range(d):
                    x = a[p, i]
                    y = a[q, i]
                    a[p, i] = c * x - s * y
                    a[q, i] = s * x + c * y
                for i in range(d):
                    x = axes[i, p]
                    y = axes[i, q]
                    axes[i, p] = c * x - s * y
                    axes[i, q] = s * x + c * y
