# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of density.py: neighbours are looked up in cells, until enough are found."""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc

cdef double HALF = 0.5 * (1.0 + 1e-9)  # cells are a little wider than half the radius
cdef enum:
    REACH = 2  # cells in each direction that may hold neighbours


cdef struct Points:
    # Rows sorted by cell; cells are strips across the widest column, cut along the second widest.
    const double* values  # (r, d)
    const int32_t* cell_start
    const int32_t* across  # strip of each row
    const int32_t* along
    Py_ssize_t n_across
    Py_ssize_t n_along
    bint fine  # no side of a cell is longer than half the radius (and a rounding error)
    Py_ssize_t d
    int kind  # 1, 2 or 0 for the maximum


cdef struct Span:
    Py_ssize_t first
    Py_ssize_t end


cdef inline bint near(const Points* p, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    cdef const double* a = p.values + i * p.d
    cdef const double* b = p.values + j * p.d
    cdef double total = 0, apart
    cdef Py_ssize_t k
    if p.kind == 2:
        for k in range(p.d):
            apart = a[k] - b[k]
            total += apart * apart
            if total > 1.0:
                return False
    elif p.kind == 1:
        for k in range(p.d):
            total += fabs(a[k] - b[k])
            if total > 1.0:
                return False
    else:
        for k in range(p.d):
            if fabs(a[k] - b[k]) > 1.0:
                return False
    return True


cdef inline Span reach(const Points* p, Py_ssize_t i, int step) noexcept nogil:
    """Rows of the strip ``step`` beside that of row ``i`` that may be near it."""
    cdef Span span
    cdef Py_ssize_t strip = p.across[i] + step
    cdef Py_ssize_t low = p.along[i] - REACH if p.along[i] > REACH else 0
    cdef Py_ssize_t high = p.along[i] + REACH if p.along[i] + REACH < p.n_along else p.n_along - 1
    if strip < 0 or strip >= p.n_across:
        span.first = span.end = 0
    else:
        span.first = p.cell_start[strip * p.n_along + low]
        span.end = p.cell_start[strip * p.n_along + high + 1]
    return span


cdef bint is_core(const Points* p, Py_ssize_t i, Py_ssize_t min_samples) noexcept nogil:
    cdef Py_ssize_t j, cell, found = 0, possible = 0
    cdef int step
    cdef Span span
    if p.d <= 2 and p.kind != 1:
        # Any two points of a cell with sides of half the radius are neighbours.
        cell = p.across[i] * p.n_along + p.along[i]
        if p.fine and p.cell_start[cell + 1] - p.cell_start[cell] >= min_samples:
            return True
    for step in range(-REACH, REACH + 1):
        span = reach(p, i, step)
        possible += span.end - span.first
    if possible < min_samples:
        return False
    for step in range(2 * REACH + 1):
        # The own strip first, then to both sides: 0, -1, 1, -2, 2.
        span = reach(p, i, (step + 1) // 2 * (1 - 2 * (step & 1)))
        for j in range(span.first, span.end):
            if near(p, i, j):
                found += 1
                if found >= min_samples:
                    return True
            else:
                possible -= 1
                if possible < min_samples:
                    return False
    return False


cdef inline Py_ssize_t next_open(int32_t* following, Py_ssize_t i) noexcept nogil:
    """First row at or after ``i`` that is not taken, halving the path on the way."""
    while following[i] != i:
        following[i] = following[following[i]]
        i = following[i]
    return i


cdef void spread(
    const Points* p, Py_ssize_t seed, int32_t group, int32_t* groups, int32_t* following,
    int32_t* queue
) noexcept nogil:
    """Give all core rows that are connected with ``seed`` its group."""
    cdef Py_ssize_t head = 0, tail = 1, i, j
    cdef int step
    cdef Span span
    queue[0] = <int32_t>seed
    groups[seed] = group
    following[seed] = <int32_t>(seed + 1)
    while head < tail:
        i = queue[head]
        head += 1
        for step in range(-REACH, REACH + 1):
            span = reach(p, i, step)
            if span.first == span.end:
                continue
            j = next_open(following, span.first)
            while j < span.end:
                if near(p, i, j):
                    groups[j] = group
                    following[j] = <int32_t>(j + 1)
                    queue[tail] = <int32_t>j
                    tail += 1
                j = next_open(following, j + 1)


cdef Py_ssize_t border(
    const Points* p, Py_ssize_t i, const uint8_t* core, const int32_t* n_cores_before,
    const int32_t* groups, int32_t* seen, int32_t* out
) noexcept nogil:
    """Write the groups that have a core row near row ``i``; return how many there are."""
    cdef Py_ssize_t j, found = 0
    cdef int step
    cdef Span span
    for step in range(-REACH, REACH + 1):
        span = reach(p, i, step)
        if n_cores_before[span.first] == n_cores_before[span.end]:
            continue
        for j in range(span.first, span.end):
            if core[j] and seen[groups[j]] != i and near(p, i, j):
                seen[groups[j]] = <int32_t>i
                out[found] = groups[j]
                found += 1
    return found


def density_clusters(
    const double[:, ::1] columns,
    const int32_t[::1] rows,
    const int32_t[::1] dims,
    const uint8_t[::1] may_be_core,
    Py_ssize_t min_samples,
    double order,
):
    from subscape.finders.axis.subclu.density import DensityClusters

    cdef Py_ssize_t r = rows.shape[0], d = dims.shape[0], i, j, k, first = -1, second = -1
    cdef Py_ssize_t n_across, n_along, n_border = 0, room = 0, found
    cdef int32_t n_groups = 0, cell
    cdef double value, low, high, spread_1 = -1, spread_2 = -1, low_1 = 0, low_2 = 0
    cdef double width_1, width_2
    cdef Points p
    cdef int32_t* border_row = NULL
    cdef int32_t* border_group = NULL
    cdef void* moved
    nothing = DensityClusters(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, bool))
    if r == 0 or r < min_samples:
        return nothing

    with nogil:
        for k in range(d):
            low = high = columns[dims[k], rows[0]]
            for i in range(1, r):
                value = columns[dims[k], rows[i]]
                if value < low:
                    low = value
                elif value > high:
                    high = value
            if high - low > spread_1:
                second, spread_2, low_2 = first, spread_1, low_1
                first, spread_1, low_1 = k, high - low, low
            elif high - low > spread_2:
                second, spread_2, low_2 = k, high - low, low
    # Not many more cells than rows: at most r strips, and the cells left over along them.
    width_1 = HALF * max(1.0, 2.0 * spread_1 / r)
    n_across = <Py_ssize_t>(spread_1 / width_1) + 1
    width_2, n_along = HALF, 1
    if second >= 0:
        width_2 = HALF * max(1.0, spread_2 * n_across / (2.0 * r))
        n_along = <Py_ssize_t>(spread_2 / width_2) + 1

    start_array = np.zeros(n_across * n_along + 2, dtype=np.int32)
    cell_array = np.empty(r, dtype=np.int32)
    across_array, along_array = np.empty(r, dtype=np.int32), np.empty(r, dtype=np.int32)
    place_array = np.empty(r, dtype=np.int32)
    values_array = np.empty((r, d))
    core_array = np.zeros(r, dtype=np.uint8)
    groups_array = np.full(r, -1, dtype=np.int32)
    following_array = np.arange(r + 1, dtype=np.int32)
    queue_array = np.empty(r, dtype=np.int32)
    cdef int32_t[::1] start = start_array, cell_of = cell_array, place = place_array
    cdef int32_t[::1] across = across_array, along = along_array
    cdef int32_t[::1] groups = groups_array, following = following_array, queue = queue_array
    cdef double[:, ::1] values = values_array
    cdef uint8_t[::1] core = core_array
    with nogil:
        for i in range(r):
            cell = <int32_t>((columns[dims[first], rows[i]] - low_1) / width_1)
            cell_of[i] = cell * <int32_t>n_along
            if second >= 0:
                cell_of[i] += <int32_t>((columns[dims[second], rows[i]] - low_2) / width_2)
            start[cell_of[i] + 2] += 1
        for i in range(2, n_across * n_along + 2):
            start[i] += start[i - 1]
        # start[c + 1] runs through the places of cell c and ends where those of c + 1 begin.
        for i in range(r):
            cell = cell_of[i]
            j = start[cell + 1]
            start[cell + 1] += 1
            place[i] = <int32_t>j
            across[j] = cell // <int32_t>n_along
            along[j] = cell % <int32_t>n_along
        for k in range(d):
            for i in range(r):
                values[place[i], k] = columns[dims[k], rows[i]]
        p.values, p.cell_start = &values[0, 0], &start[0]
        p.across, p.along = &across[0], &along[0]
        p.n_across, p.n_along, p.d = n_across, n_along, d
        p.fine = width_1 == HALF and width_2 == HALF
        p.kind = 2 if order == 2 else 1 if order == 1 else 0
        for i in range(r):
            j = place[i]
            core[j] = may_be_core[rows[i]] and is_core(&p, j, min_samples)
        for j in range(r):
            if not core[j]:
                following[j] = <int32_t>(j + 1)
        for i in range(r):  # in the order of the rows, which numbers the clusters
            j = place[i]
            if core[j] and groups[j] < 0:
                spread(&p, j, n_groups, &groups[0], &following[0], &queue[0])
                n_groups += 1
    if n_groups == 0:
        return nothing

    cdef int32_t[::1] seen = np.full(n_groups, -1, dtype=np.int32)
    cdef bint no_memory = False
    # Rows in row order, so that the rows of every cluster come out ascending. The queue is free
    # again and has room for all groups near one row.
    before_array = np.concatenate([[0], np.cumsum(core_array, dtype=np.int32)]).astype(np.int32)
    cdef int32_t[::1] before = before_array
    size_array = np.zeros(n_groups + 1, dtype=np.int64)
    cdef int64_t[::1] size = size_array
    with nogil:
        for i in range(r):
            j = place[i]
            if core[j]:
                size[groups[j] + 1] += 1
                continue
            found = border(&p, j, &core[0], &before[0], &groups[0], &seen[0], &queue[0])
            if n_border + found > room:
                room = 2 * (n_border + found) + 64
                moved = realloc(border_row, room * sizeof(int32_t))
                if moved == NULL:
                    no_memory = True
                    break
                border_row = <int32_t*>moved
                moved = realloc(border_group, room * sizeof(int32_t))
                if moved == NULL:
                    no_memory = True
                    break
                border_group = <int32_t*>moved
            for k in range(found):
                border_row[n_border] = <int32_t>i
                border_group[n_border] = queue[k]
                size[queue[k] + 1] += 1
                n_border += 1
    if no_memory:
        free(border_row)
        free(border_group)
        raise MemoryError("no memory for the border rows")
    starts = np.cumsum(size_array)
    members_array = np.empty(int(starts[n_groups]), dtype=np.int32)
    is_core_array = np.empty(int(starts[n_groups]), dtype=np.uint8)
    filled_array = starts.copy()
    cdef int32_t[::1] members = members_array
    cdef uint8_t[::1] is_core_row = is_core_array
    cdef int64_t[::1] filled = filled_array
    cdef int32_t g
    with nogil:
        k = 0
        for i in range(r):
            j = place[i]
            if core[j]:
                g = groups[j]
                members[filled[g]] = rows[i]
                is_core_row[filled[g]] = True
                filled[g] += 1
            while k < n_border and border_row[k] == i:
                g = border_group[k]
                members[filled[g]] = rows[i]
                is_core_row[filled[g]] = False
                filled[g] += 1
                k += 1
    free(border_row)
    free(border_group)
    return DensityClusters(starts, members_array, is_core_array.view(bool))
