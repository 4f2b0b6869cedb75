# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Compiled twin of average_link.py."""

from libc.math cimport INFINITY, isinf


cdef inline bint share_a_bit(
    const unsigned long long[:, ::1] masks, Py_ssize_t i, Py_ssize_t j, Py_ssize_t n_words
) noexcept nogil:
    cdef Py_ssize_t w
    for w in range(n_words):
        if masks[i, w] & masks[j, w]:
            return True
    return False


cdef inline Py_ssize_t row_start(Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    return i * n - i * (i + 1) // 2 - i - 1


cdef Py_ssize_t after(const long long *living, Py_ssize_t m, long long i) noexcept nogil:
    """Place of the first living cluster with a number above ``i``."""
    cdef Py_ssize_t low = 0, high = m, middle
    while low < high:
        middle = (low + high) // 2
        if living[middle] <= i:
            low = middle + 1
        else:
            high = middle
    return low


cdef void look(
    int kind, Py_ssize_t i, const long long *living, Py_ssize_t m, Py_ssize_t n,
    const double[::1] distances, const unsigned long long[:, ::1] masks, Py_ssize_t n_words,
    double[:, ::1] bounds, long long[:, ::1] partners,
) noexcept nogil:
    cdef Py_ssize_t t, start = row_start(i, n)
    cdef long long j, best = n
    cdef double near, nearest = INFINITY
    for t in range(after(living, m, i), m):
        j = living[t]
        near = distances[start + j]
        if near < nearest and not (kind == 1 and share_a_bit(masks, i, j, n_words)):
            nearest = near
            best = j
    bounds[kind, i] = nearest
    partners[kind, i] = best


cdef Py_ssize_t nearest_of(
    int kind, const long long *living, Py_ssize_t m, Py_ssize_t n,
    const double[::1] distances, const unsigned long long[:, ::1] masks, Py_ssize_t n_words,
    double[:, ::1] bounds, long long[:, ::1] partners,
) noexcept nogil:
    cdef Py_ssize_t t
    cdef long long i, best
    while True:
        best = living[0]
        for t in range(1, m):
            i = living[t]
            if bounds[kind, i] < bounds[kind, best]:
                best = i
        if partners[kind, best] >= 0:
            return best
        look(kind, best, living, m, n, distances, masks, n_words, bounds, partners)


def merge_apart(
    double[::1] distances,
    unsigned long long[:, ::1] masks,
    double[::1] sizes,
    long long[::1] alive,
    double omega,
    Py_ssize_t start,
    Py_ssize_t stop,
    double[:, ::1] bounds,
    long long[:, ::1] partners,
    long long[::1] left,
    long long[::1] right,
    double[::1] height,
    unsigned char[::1] apart,
):
    cdef Py_ssize_t n = masks.shape[0], n_words = masks.shape[1]
    cdef Py_ssize_t step, m, t, w, at, x
    cdef long long a, b, c, partner
    cdef int kind
    cdef bint split
    cdef double share, near
    cdef long long *living = &alive[0]
    with nogil:
        for step in range(start, stop):
            m = n - step
            a = nearest_of(0, living, m, n, distances, masks, n_words, bounds, partners)
            b = partners[0, a]
            c = nearest_of(1, living, m, n, distances, masks, n_words, bounds, partners)
            split = partners[1, c] < n and not (
                isinf(omega) or bounds[0, a] < omega * bounds[1, c]
            )
            if split:
                a = c
                b = partners[1, c]
            left[step] = a
            right[step] = b
            height[step] = bounds[1 if split else 0, a]
            apart[step] = split
            for t in range(after(living, m, b) - 1, m - 1):
                living[t] = living[t + 1]
            m -= 1
            share = sizes[b] / (sizes[a] + sizes[b])
            sizes[a] += sizes[b]
            for w in range(n_words):
                masks[a, w] |= masks[b, w]
            for t in range(m):
                x = living[t]
                if x == a:
                    continue
                at = row_start(x, n) + a if x < a else row_start(a, n) + x
                near = distances[at]
                near += share * (
                    distances[row_start(x, n) + b if x < b else row_start(b, n) + x] - near
                )
                distances[at] = near
                for kind in range(2):
                    partner = partners[kind, x]
                    if partner == a or partner == b:
                        partners[kind, x] = -1
                        partner = -1
                    if x < a and (
                        near < bounds[kind, x] or (near == bounds[kind, x] and a < partner)
                    ) and not (kind == 1 and share_a_bit(masks, x, a, n_words)):
                        partners[kind, x] = a
                        bounds[kind, x] = near
            for kind in range(2):
                partners[kind, a] = -1
                bounds[kind, a] = -INFINITY
