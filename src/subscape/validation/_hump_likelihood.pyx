# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of hump_likelihood.py: pools of adjacent violators, without temporary arrays."""

import numpy as np
from libc.math cimport INFINITY, M_E, M_PI, NAN, fabs, log, nearbyint, sqrt

#: Products of more are those of BLAS, and more values are sorted by NumPy: fewer take less time
#: than to ask for it.
cdef enum:
    MUCH = 20_000
    FEW = 32


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


cdef class _Space:
    """Where the description of a group is worked out: made once for the groups of a table."""

    cdef double[:, ::1] told, pools, products, axes

    def __init__(self, Py_ssize_t n, Py_ssize_t d):
        self.told = np.empty((2, 2 * d))
        self.pools = np.empty((6, n // 2 + 2))
        self.products = np.empty((d, d))
        self.axes = np.empty((d, d))


def description_length(const double[:, :] values, double least_spread):
    cdef Py_ssize_t n = values.shape[0], d = values.shape[1], i, j
    lines = np.empty(((2 if d > 1 and n > d else 1) * d, n))
    cdef double[:, ::1] rows = lines
    for j in range(d):
        for i in range(n):
            rows[j, i] = values[i, j]
    return _length(lines, rows, d, least_spread, _Space(n, d))


cdef double _length(
    lines, double[:, ::1] rows, Py_ssize_t d, double least_spread, _Space space
) except? -1:
    """Nats of one group, whose columns are the first lines; all are overwritten."""
    # Direction by direction, because each is sorted: the columns, then the principal directions.
    cdef Py_ssize_t n = rows.shape[1], m = rows.shape[0]
    cdef Py_ssize_t n_block = <Py_ssize_t> nearbyint(sqrt(<double> n) / 2)
    cdef Py_ssize_t i, j, k, n_blocks
    cdef double mean, along, turned
    cdef const double[:, ::1] multiplied
    if n_block < 2:
        n_block = 2
    n_blocks = n // n_block
    if n_blocks < 1:
        n_blocks = 1
    cdef double[::1] spreads = space.told[0]
    cdef double[::1] normal = space.told[1]
    with nogil:
        for j in range(d):
            mean = 0.0
            for i in range(n):
                mean += rows[j, i]
            mean /= n
            for i in range(n):
                rows[j, i] -= mean
    if m > d:
        if n * d * d > MUCH:
            multiplied = lines[:d] @ lines[:d].T
            space.products[:, :] = multiplied
        else:
            _multiply(rows, space.products)
        with nogil:
            _turn(space.products, space.axes)
            _along_axes(rows, space.axes)
    with nogil:
        for j in range(m):
            spreads[j] = _scale(&rows[j, 0], n, least_spread, &normal[j])
        if n <= FEW:
            for j in range(m):
                _sort(&rows[j, 0], n)
    if n > FEW:
        lines.sort(axis=1)
    with nogil:
        along = _told(rows[:d], n_block, n_blocks, least_spread, spreads[:d], normal[:d],
                      space.pools)
        along += _price(n) * 2 * d
        if m > d:
            turned = _told(rows[d:], n_block, n_blocks, least_spread, spreads[d:], normal[d:],
                           space.pools)
            turned += _price(n) * (2 * d + d * (d - 1) // 2)
            if turned < along:
                along = turned
    return along


cdef void _multiply(double[:, ::1] rows, double[:, ::1] products) noexcept nogil:
    """Products of the first lines with each other."""
    cdef Py_ssize_t n = rows.shape[1], i, j, k
    cdef double total
    for j in range(products.shape[0]):
        for k in range(j + 1):
            total = 0.0
            for i in range(n):
                total += rows[j, i] * rows[k, i]
            products[j, k] = products[k, j] = total


cdef void _along_axes(double[:, ::1] rows, double[:, ::1] axes) noexcept nogil:
    """The first lines along the axes, which point where their largest part is positive."""
    cdef Py_ssize_t n = rows.shape[1], d = axes.shape[0], i, j, k
    cdef double largest, share
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


cdef void _sort(double* values, Py_ssize_t n) noexcept nogil:
    """Sort a few values, by insertion."""
    cdef Py_ssize_t i, j
    cdef double value
    for i in range(1, n):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


def merged_groups(
    const double[:, ::1] values, const long long[::1] labels, Py_ssize_t n_neighbours,
    double least_spread
):
    cdef Py_ssize_t n = values.shape[0], d = values.shape[1], n_groups = 0
    cdef Py_ssize_t i, j, k, row, best, other, n_left, number = 0
    cdef double away, largest, most
    for row in range(n):
        if labels[row] >= n_groups:
            n_groups = labels[row] + 1
    # The rows of a group are a chain; those of two are one after the other.
    cdef Py_ssize_t[:, ::1] chains = np.full((3, n_groups), -1, dtype=np.intp)
    cdef Py_ssize_t[::1] first = chains[0], last = chains[1], size = chains[2]
    cdef Py_ssize_t[::1] following = np.full(n, -1, dtype=np.intp)
    cdef double[:, ::1] centres = np.zeros((n_groups, d)), spreads = np.zeros((n_groups, d))
    cdef double[::1] cost = np.empty(n_groups), reach = np.empty(n_groups)
    cdef double[:, ::1] saved = np.full((n_groups, n_groups), np.nan)
    cdef double[:, ::1] together = np.empty((n_groups, n_groups))
    cdef _Space space = _Space(n, d)
    size[:] = 0
    for row in range(n):
        k = labels[row]
        if size[k] == 0:
            first[k] = row
        else:
            following[last[k]] = row
        last[k] = row
        size[k] += 1
    n_left = n_groups
    for k in range(n_groups):
        if size[k] == 0:
            n_left -= 1
            continue
        cost[k] = _joint_length(values, following, first[k], -1, size[k], 0, least_spread,
                                space)
        _moments(values, following, first[k], size[k], centres[k], spreads[k])
    while n_left > 2:
        for i in range(n_groups):
            if size[i] == 0:
                continue
            for j in range(n_groups):
                reach[j] = INFINITY
                if size[j] == 0 or i == j:
                    continue
                away = 0.0
                for k in range(d):
                    largest = centres[i, k] - centres[j, k]
                    away += largest * largest / (
                        spreads[i, k] + spreads[j, k] + least_spread * least_spread
                    )
                reach[j] = away
            for _ in range(min(n_neighbours, n_left - 1)):
                best = -1
                for j in range(n_groups):
                    if j != i and size[j] > 0 and reach[j] < INFINITY and (
                        best < 0 or reach[j] < reach[best]
                    ):
                        best = j
                if best < 0:
                    break
                reach[best] = INFINITY
                k, other = min(i, best), max(i, best)
                if saved[k, other] != saved[k, other]:
                    together[k, other] = _joint_length(
                        values, following, first[k], first[other], size[k], size[other],
                        least_spread, space,
                    )
                    saved[k, other] = (
                        cost[k] + cost[other] + _parted(size[k], size[other], n)
                        - together[k, other]
                    )
        # Of what saves as much, the last pair.
        best = other = -1
        most = 0.0
        for i in range(n_groups):
            for j in range(i + 1, n_groups):
                if saved[i, j] > 0 and saved[i, j] >= most:
                    most, best, other = saved[i, j], i, j
        if best < 0:
            break
        following[last[best]] = first[other]
        last[best] = last[other]
        size[best] += size[other]
        size[other] = 0
        cost[best] = together[best, other]
        _moments(values, following, first[best], size[best], centres[best], spreads[best])
        for k in range(n_groups):
            for i in (best, other):
                saved[min(i, k), max(i, k)] = NAN
        n_left -= 1
    merged = np.empty(n, dtype=np.int64)
    cdef long long[::1] out = merged
    for k in range(n_groups):
        if size[k] > 0:
            row = first[k]
            while row >= 0:
                out[row] = number
                row = following[row]
            number += 1
    return merged


cdef double _joint_length(
    const double[:, ::1] values, const Py_ssize_t[::1] following, Py_ssize_t one,
    Py_ssize_t other, Py_ssize_t n_one, Py_ssize_t n_other, double least_spread, _Space space
) except? -1:
    """Nats of the rows of one chain or of two."""
    cdef Py_ssize_t d = values.shape[1], n = n_one + n_other, i = 0, j, row = one
    lines = np.empty(((2 if d > 1 and n > d else 1) * d, n))
    cdef double[:, ::1] rows = lines
    for i in range(n):
        if i == n_one:
            row = other
        for j in range(d):
            rows[j, i] = values[row, j]
        row = following[row]
    return _length(lines, rows, d, least_spread, space)


cdef void _moments(
    const double[:, ::1] values, const Py_ssize_t[::1] following, Py_ssize_t first,
    Py_ssize_t n, double[::1] centre, double[::1] spread
) noexcept nogil:
    cdef Py_ssize_t d = values.shape[1], j, row
    cdef double value
    for j in range(d):
        centre[j] = 0.0
        spread[j] = 0.0
    row = first
    while row >= 0:
        for j in range(d):
            centre[j] += values[row, j]
        row = following[row]
    for j in range(d):
        centre[j] /= n
    row = first
    while row >= 0:
        for j in range(d):
            value = values[row, j] - centre[j]
            spread[j] += value * value
        row = following[row]
    for j in range(d):
        spread[j] /= n


cdef double _parted(Py_ssize_t one, Py_ssize_t other, Py_ssize_t n) noexcept nogil:
    """Nats that two numbers in the place of one cost, with that of their shares."""
    cdef double whole = one + other
    return -one * log(one / whole) - other * log(other / whole) + 0.5 * log(<double> n)


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
    for p in range(d):
        for q in range(d):
            axes[p, q] = 1.0 if p == q else 0.0
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
