# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Compiled twin of merging.py: a pair is given up as soon as it can beat neither side's best."""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef enum:
    BLOCK = 16


cdef inline bint beats(
    long long t, double s, long long v, long long whom,
    long long t0, double s0, long long v0, long long whom0,
) noexcept nogil:
    if t != t0:
        return t < t0
    if s != s0:
        return s > s0
    if v != v0:
        return v > v0
    return whom < whom0


cdef long long first_allowed(
    const double *aways, Py_ssize_t p, double scale, int *counts, int n_steps,
    const long long[:] n_dims,
) noexcept nogil:
    """The first step at which enough features are allowed, ``n_steps`` if there is none."""
    cdef Py_ssize_t j
    cdef int k, count = 0
    cdef double at
    memset(counts, 0, (n_steps + 1) * sizeof(int))
    for j in range(p):
        at = aways[j] * scale
        if at >= n_steps:
            k = n_steps
        else:
            k = <int>at
            k += at > k
        counts[k] += 1
    for k in range(n_steps):
        count += counts[k]
        if count >= n_dims[k]:
            return k
    return n_steps


def meet(
    const double[:, ::1] means,
    const double[:, ::1] variances,
    Py_ssize_t slot,
    const long long[:] others,
    long long n_steps,
    const long long[:] first_step,
    const long long[:] n_dims,
    long long current,
    long long[:] partner,
    long long[:] step,
    double[:] score,
    long long[:] selected,
):
    cdef Py_ssize_t p = means.shape[1], m = others.shape[0], r, j, x, stop
    cdef long long limit, spare, t, v
    cdef int missed, missed_before, last = <int>n_steps
    cdef double gap, much, bound, scale = <double>(n_steps - 1)
    cdef const double *mean_a = &means[slot, 0]
    cdef const double *mean_b
    cdef const double *var_a = &variances[slot, 0]
    cdef const double *var_b
    cdef double *aways = <double *>malloc(p * sizeof(double))
    cdef int *counts = <int *>malloc((n_steps + 1) * sizeof(int))
    if aways == NULL or counts == NULL:
        free(aways)
        free(counts)
        raise MemoryError()
    with nogil:
        for r in range(m):
            x = others[r]
            if x == slot:
                continue
            mean_b = &means[x, 0]
            var_b = &variances[x, 0]
            limit = max(step[slot], step[x])
            bound = <double>limit
            spare = p - n_dims[limit] if limit < n_steps else p
            missed = 0
            missed_before = 0
            j = 0
            # Blocks without a way out are what the compiler can vectorise.
            while j < p and missed <= spare:
                stop = min(j + BLOCK, p)
                while j < stop:
                    gap = mean_b[j] - mean_a[j]
                    aways[j] = 0.5 * (var_b[j] + var_a[j]) + gap * gap
                    missed += aways[j] * scale > bound
                    missed_before += aways[j] * scale > bound - 1
                    j += 1
            if missed > spare:
                continue
            if current <= limit < n_steps and (
                limit == 0 or missed_before > p - n_dims[limit - 1]
            ):
                t = limit
            else:
                t = first_allowed(aways, p, scale, counts, last, n_dims)
                if t < current:
                    t = current
            bound = <double>t if t < n_steps else INFINITY
            much = 0.0
            v = 0
            for j in range(p):
                much += 1 - aways[j] if aways[j] * scale <= bound else 0.0
                v += aways[j] * scale <= bound
            if t >= n_steps:
                v = 0
            if beats(t, much, v, x, step[slot], score[slot], selected[slot], partner[slot]):
                partner[slot], step[slot], score[slot], selected[slot] = x, t, much, v
            if beats(t, much, v, slot, step[x], score[x], selected[x], partner[x]):
                partner[x], step[x], score[x], selected[x] = slot, t, much, v
    free(aways)
    free(counts)
