# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Compiled twin of recentring.py: one loop over the cells, bit for bit the same."""

ctypedef fused given:
    float
    double

ctypedef fused made:
    float
    double


def recentre(
    const given[:, ::1] X,
    const double[::1] low,
    const double[::1] means,
    const double[::1] factor,
    made[:, ::1] out,
):
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], r, j
    cdef const given* x
    cdef made* y
    cdef const double* a
    cdef const double* b
    cdef const double* f
    if n == 0 or p == 0:
        return
    a, b, f = &low[0], &means[0], &factor[0]
    with nogil:
        for r in range(n):
            x, y = &X[r, 0], &out[r, 0]
            for j in range(p):
                y[j] = <made> (((<double> x[j]) - a[j] - b[j]) * f[j])
