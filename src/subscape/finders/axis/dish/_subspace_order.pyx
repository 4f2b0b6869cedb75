# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of subspace_order.py: distances are computed only where d1 leaves a tie."""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t


cdef inline int64_t bits(uint64_t word) noexcept nogil:
    word = word - ((word >> 1) & <uint64_t>0x5555555555555555)
    word = (word & <uint64_t>0x3333333333333333) + ((word >> 2) & <uint64_t>0x3333333333333333)
    word = (word + (word >> 4)) & <uint64_t>0x0F0F0F0F0F0F0F0F
    return <int64_t>((word * <uint64_t>0x0101010101010101) >> 56)


cdef double squares(
    const double* a, const double* b, const int64_t* features, Py_ssize_t size
) noexcept nogil:
    """Squared distance in some features; three sums at a time, which need not wait for another."""
    cdef double first = 0.0, second = 0.0, third = 0.0, step
    cdef Py_ssize_t k = 0
    while k + 3 <= size:
        step = a[features[k]] - b[features[k]]
        first += step * step
        step = a[features[k + 1]] - b[features[k + 1]]
        second += step * step
        step = a[features[k + 2]] - b[features[k + 2]]
        third += step * step
        k += 3
    while k < size:
        step = a[features[k]] - b[features[k]]
        first += step * step
        k += 1
    return first + second + third


cdef Py_ssize_t split(
    int64_t* common, int64_t* others, const uint64_t* first, const uint64_t* second, Py_ssize_t p
) noexcept nogil:
    """List the features in both sets, and all others; returns how many are in both."""
    cdef Py_ssize_t j, size = 0
    for j in range(p):
        if ((first[j >> 6] & second[j >> 6]) >> (j & 63)) & 1:
            common[size] = j
            size += 1
        else:
            others[j - size] = j
    return size


cdef double select_rank(double* values, Py_ssize_t n, Py_ssize_t rank) noexcept nogil:
    """The value of this rank (from 0) by quickselect; reorders the values."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef double pivot, swap
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                swap = values[i]
                values[i] = values[j]
                values[j] = swap
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            return values[rank]
    return values[rank]


def walk_on(
    const double[:, ::1] X,
    const uint64_t[:, ::1] distinct,
    const int64_t[::1] which,
    double reach,
    Py_ssize_t min_samples,
    walk,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], n_words = distinct.shape[1]
    cdef Py_ssize_t m = distinct.shape[0], step, here, q, w, u, own, tied, below, shared = 0
    cdef int64_t core1, d1, built
    cdef double core2, d2, limit = reach * reach
    cdef int64_t[::1] out = walk.order, come_from = walk.predecessor, best1 = walk.dims
    cdef double[::1] best2 = walk.distance, scratch = np.empty(n), outside = np.empty(n)
    cdef int64_t[::1] common = np.empty(p, dtype=np.int64), others = np.empty(p, dtype=np.int64)
    cdef unsigned char[::1] left = np.ones(n, dtype=np.uint8), nested = np.empty(m, dtype=np.uint8)
    cdef int64_t[::1] sizes = np.zeros(m, dtype=np.int64), base = np.empty(m, dtype=np.int64)
    cdef int64_t[::1] pair_dims = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] tally = np.empty(p + 3, dtype=np.int64)
    with nogil:
        for u in range(m):
            for w in range(n_words):
                sizes[u] += bits(distinct[u, w])
        for step in range(start):
            left[out[step]] = 0
        for step in range(start, stop):
            here = 0
            if step:
                here = -1
                for q in range(n):
                    if left[q] and (
                        here < 0
                        or best1[q] < best1[here]
                        or (best1[q] == best1[here] and best2[q] < best2[here])
                    ):
                        here = q
            left[here] = 0
            out[step] = here
            own = which[here]
            for u in range(m):
                base[u] = 0
                for w in range(n_words):
                    base[u] += bits(distinct[own, w] & distinct[u, w])
                nested[u] = base[u] == sizes[own] or base[u] == sizes[u]
                base[u] = p - base[u]
            for d1 in range(p + 3):
                tally[d1] = 0
            built = -1
            for q in range(n):
                u = which[q]
                d1 = base[u]
                if nested[u]:
                    if built != u:
                        built = u
                        shared = split(
                            &common[0], &others[0], &distinct[own, 0], &distinct[u, 0], p
                        )
                    if squares(&X[here, 0], &X[q, 0], &common[0], shared) > limit:
                        d1 += 1
                pair_dims[q] = d1
                tally[d1] += 1
            # d1 of the min_samples-th nearest row, then d2 among the rows that share it.
            core1, below = 0, 0
            while below + tally[core1] < min_samples:
                below += tally[core1]
                core1 += 1
            tied = 0
            for q in range(n):
                if pair_dims[q] != core1:
                    continue
                if built != which[q]:
                    built = which[q]
                    shared = split(
                        &common[0], &others[0], &distinct[own, 0], &distinct[built, 0], p
                    )
                outside[q] = sqrt(squares(&X[here, 0], &X[q, 0], &others[0], p - shared))
                scratch[tied] = outside[q]
                tied += 1
            core2 = select_rank(&scratch[0], tied, min_samples - 1 - below)
            for q in range(n):
                d1 = pair_dims[q]
                if not left[q] or d1 > best1[q] or core1 > best1[q]:
                    continue
                if d1 < core1:
                    d1, d2 = core1, core2
                elif d1 == core1:
                    d2 = outside[q] if outside[q] > core2 else core2
                else:
                    if built != which[q]:
                        built = which[q]
                        shared = split(
                            &common[0], &others[0], &distinct[own, 0], &distinct[built, 0], p
                        )
                    d2 = sqrt(squares(&X[here, 0], &X[q, 0], &others[0], p - shared))
                if d1 == best1[q] and d2 >= best2[q]:
                    continue
                best1[q], best2[q] = d1, d2
                come_from[q] = here
