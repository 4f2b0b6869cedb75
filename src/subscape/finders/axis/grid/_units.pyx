# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of units.py: intersections are counted without being stored."""

import time

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

cdef enum:
    BLOCK = 256  # words of each item that are worked on at a time, to stay in cache
    CLOCK_EVERY = 1 << 22  # words intersected between two looks at the clock


cdef inline uint64_t bits(uint64_t word) noexcept nogil:
    word = word - ((word >> 1) & <uint64_t>0x5555555555555555)
    word = (word & <uint64_t>0x3333333333333333) + ((word >> 2) & <uint64_t>0x3333333333333333)
    word = (word + (word >> 4)) & <uint64_t>0x0F0F0F0F0F0F0F0F
    return (word * <uint64_t>0x0101010101010101) >> 56


cdef inline int64_t shared_count(
    const uint64_t* a, const uint64_t* b, Py_ssize_t n_words
) noexcept nogil:
    cdef Py_ssize_t w
    cdef uint64_t total = 0
    for w in range(n_words):
        total += bits(a[w] & b[w])
    return <int64_t>total


def pack_items(
    const uint16_t[:, ::1] bins,
    const int32_t[::1] rows,
    const int32_t[::1] column,
    const int32_t[::1] value,
):
    cdef Py_ssize_t m = column.shape[0], n_rows = rows.shape[0], i, j, r, n_values = 1
    cdef int32_t item
    packed = np.zeros((m, (n_rows + 63) // 64), dtype=np.uint64)
    if m == 0 or n_rows == 0:
        return packed
    cdef uint64_t[:, ::1] out = packed
    cdef int32_t[::1] order = np.argsort(column, kind="stable").astype(np.int32)
    # A bin that is no item is looked up too, so the table spans all 16-bit values.
    cdef int32_t[::1] item_of = np.full(1 << 16, -1, dtype=np.int32)
    with nogil:
        i = 0
        while i < m:
            j = column[order[i]]
            n_values = i
            while i < m and column[order[i]] == j:
                item_of[value[order[i]]] = order[i]
                i += 1
            for r in range(n_rows):
                item = item_of[bins[j, rows[r]]]
                if item >= 0:
                    out[item, r >> 6] |= <uint64_t>1 << (r & 63)
            for r in range(n_values, i):
                item_of[value[order[r]]] = -1
    return packed


def refine_units(
    const uint16_t[::1] bins,
    const int32_t[::1] rows,
    const int32_t[::1] unit,
    const int64_t[::1] unit_least,
    const int64_t[::1] bin_least,
):
    from subscape.finders.axis.grid.units import Refined

    cdef Py_ssize_t n_rows = rows.shape[0], n_units = unit_least.shape[0]
    cdef Py_ssize_t n_bins = bin_least.shape[0], u, b, r, n_dense = 0, n_kept = 0
    cdef int64_t key, least
    cdef int32_t new
    counts_array = np.zeros(n_units * n_bins, dtype=np.int64)
    number_array = np.full(n_units * n_bins, -1, dtype=np.int32)
    parent_array = np.empty(n_units * n_bins, dtype=np.int32)
    value_array = np.empty(n_units * n_bins, dtype=np.int32)
    cdef int64_t[::1] counts = counts_array
    cdef int32_t[::1] number = number_array, parent = parent_array, value = value_array
    with nogil:
        for r in range(n_rows):
            counts[unit[r] * n_bins + bins[rows[r]]] += 1
        for u in range(n_units):
            for b in range(n_bins):
                key = u * n_bins + b
                least = unit_least[u] if unit_least[u] > bin_least[b] else bin_least[b]
                if counts[key] >= least:
                    n_kept += counts[key]
                    number[key] = <int32_t>n_dense
                    parent[n_dense] = <int32_t>u
                    value[n_dense] = <int32_t>b
                    counts[n_dense] = counts[key]  # never ahead of the entry being read
                    n_dense += 1
    kept_rows = np.empty(n_kept, dtype=np.int32)
    kept_unit = np.empty(n_kept, dtype=np.int32)
    cdef int32_t[::1] rows_out = kept_rows, unit_out = kept_unit
    n_kept = 0
    with nogil:
        for r in range(n_rows):
            new = number[unit[r] * n_bins + bins[rows[r]]]
            if new >= 0:
                rows_out[n_kept] = rows[r]
                unit_out[n_kept] = new
                n_kept += 1
    return Refined(
        kept_rows,
        kept_unit,
        parent_array[:n_dense].copy(),
        value_array[:n_dense].copy(),
        counts_array[:n_dense].copy(),
    )


def count_units(const uint64_t[:, ::1] items, const int32_t[:, ::1] units):
    cdef Py_ssize_t n_units = units.shape[0], size = units.shape[1], n_words = items.shape[1]
    cdef Py_ssize_t u, k, w, first, length, same
    cdef const uint64_t* item
    cdef uint64_t* above
    cdef uint64_t* below
    counts = np.zeros(n_units, dtype=np.int64)
    cdef int64_t[::1] out = counts
    if n_units == 0 or size == 0 or n_words == 0:
        return counts
    # prefix[k] holds the rows in the first k + 1 items of the unit before.
    cdef uint64_t* prefix = <uint64_t*>malloc(size * BLOCK * sizeof(uint64_t))
    if prefix == NULL:
        raise MemoryError("no memory to count the units")
    with nogil:
        for first in range(0, n_words, 256):
            length = BLOCK if first + BLOCK < n_words else n_words - first
            for u in range(n_units):
                same = 0
                if u > 0:
                    while same < size - 1 and units[u, same] == units[u - 1, same]:
                        same += 1
                for k in range(same, size - 1):
                    item = &items[units[u, k], first]
                    above = prefix + k * BLOCK
                    if k == 0:
                        memcpy(above, item, length * sizeof(uint64_t))
                    else:
                        below = prefix + (k - 1) * BLOCK
                        for w in range(length):
                            above[w] = below[w] & item[w]
                item = &items[units[u, size - 1], first]
                if size == 1:
                    out[u] += shared_count(item, item, length)
                else:
                    out[u] += shared_count(prefix + (size - 2) * BLOCK, item, length)
    free(prefix)
    return counts


cdef struct Search:
    const uint64_t* items
    const int64_t* least
    Py_ssize_t n_words
    int64_t root
    int64_t minimum
    int64_t max_counted
    int64_t n_counted
    int64_t until_clock
    double deadline
    bint complete
    bint no_memory
    # what was found, in arrays that grow
    int32_t* found_items
    int64_t n_items
    int64_t room_items
    int64_t* found_counts
    int64_t* found_ends
    uint8_t* found_maximal
    int64_t n_units
    int64_t room_units


cdef bint out_of_time(Search* s, Py_ssize_t n_others) noexcept nogil:
    s.until_clock -= (n_others + 1) * s.n_words
    if s.until_clock > 0:
        return False
    s.until_clock = CLOCK_EVERY
    with gil:
        return time.monotonic() > s.deadline


cdef bint make_room(Search* s, Py_ssize_t n_items) noexcept nogil:
    cdef int64_t room
    cdef void* moved
    if s.n_items + n_items > s.room_items:
        room = 2 * (s.n_items + n_items) + 1024
        moved = realloc(s.found_items, room * sizeof(int32_t))
        if moved == NULL:
            return False
        s.found_items = <int32_t*>moved
        s.room_items = room
    if s.n_units == s.room_units:
        room = 2 * s.n_units + 256
        moved = realloc(s.found_counts, room * sizeof(int64_t))
        if moved == NULL:
            return False
        s.found_counts = <int64_t*>moved
        moved = realloc(s.found_ends, room * sizeof(int64_t))
        if moved == NULL:
            return False
        s.found_ends = <int64_t*>moved
        moved = realloc(s.found_maximal, room)
        if moved == NULL:
            return False
        s.found_maximal = <uint8_t*>moved
        s.room_units = room
    return True


cdef void report(
    Search* s, const int32_t* unit, Py_ssize_t n_unit, int64_t size, bint maximal
) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef int32_t item
    cdef int32_t* out
    if not make_room(s, n_unit):
        s.no_memory = True
        return
    out = s.found_items + s.n_items
    for i in range(n_unit):  # insertion sort: all but a few items are in order
        item = unit[i]
        j = i
        while j > 0 and out[j - 1] > item:
            out[j] = out[j - 1]
            j -= 1
        out[j] = item
    s.n_items += n_unit
    s.found_counts[s.n_units] = size
    s.found_ends[s.n_units] = s.n_items
    s.found_maximal[s.n_units] = maximal
    s.n_units += 1


cdef void visit(
    Search* s, const int32_t* unit, Py_ssize_t n_unit, const uint64_t* rows, int64_t size,
    int64_t last, const int32_t* others, Py_ssize_t n_others
) noexcept nogil:
    cdef Py_ssize_t i, j, w, n_closed = n_unit, n_remaining = 0, n_passed
    cdef int64_t shared, asked
    cdef int32_t item
    cdef bint hidden = False
    if s.n_counted + n_others > s.max_counted or out_of_time(s, n_others):
        s.complete = False
        return
    s.n_counted += n_others
    cdef int32_t* closed = <int32_t*>malloc((n_unit + n_others + 1) * sizeof(int32_t))
    cdef int32_t* remaining = <int32_t*>malloc((n_others + 1) * sizeof(int32_t))
    cdef int32_t* passed = <int32_t*>malloc((n_others + 1) * sizeof(int32_t))
    cdef uint64_t* narrower = <uint64_t*>malloc((s.n_words + 1) * sizeof(uint64_t))
    if closed == NULL or remaining == NULL or passed == NULL or narrower == NULL:
        s.no_memory = True
        n_others = 0
    else:
        memcpy(closed, unit, n_unit * sizeof(int32_t))
    for i in range(n_others):
        item = others[i]
        asked = s.least[item] if s.least[item] > s.minimum else s.minimum
        if asked > size:
            continue
        shared = shared_count(s.items + item * s.n_words, rows, s.n_words)
        if shared < asked:
            continue
        if shared == size:
            if item > last:
                closed[n_closed] = item
                n_closed += 1
                continue
            if s.least[item] <= s.minimum:  # met in the branch of that item
                free(closed)
                free(remaining)
                free(passed)
                free(narrower)
                return
            hidden = True
        remaining[n_remaining] = item
        n_remaining += 1
    if not s.no_memory and not hidden:
        report(s, closed, n_closed, size, n_remaining == 0)
    for i in range(n_remaining):
        item = remaining[i]
        if item <= last or s.no_memory:
            continue
        for w in range(s.n_words):
            narrower[w] = rows[w] & s.items[item * s.n_words + w]
        n_passed = 0
        for j in range(n_remaining):
            if j != i:
                passed[n_passed] = remaining[j]
                n_passed += 1
        closed[n_closed] = item
        visit(
            s, closed, n_closed + 1, narrower, shared_count(narrower, narrower, s.n_words), item,
            passed, n_passed
        )
    free(closed)
    free(remaining)
    free(passed)
    free(narrower)


def closed_units(
    const uint64_t[:, ::1] items,
    const int64_t[::1] least,
    Py_ssize_t root,
    int64_t max_counted,
    double seconds,
):
    from subscape.finders.axis.grid.units import ClosedUnits

    cdef Py_ssize_t m = items.shape[0], k
    cdef int64_t i, size
    cdef int32_t first = <int32_t>root
    cdef Search s
    s.n_words = items.shape[1]
    s.root, s.minimum = root, least[root]
    s.max_counted, s.n_counted, s.until_clock = max_counted, 0, 0
    s.deadline = time.monotonic() + seconds
    s.complete, s.no_memory = True, False
    s.found_items, s.found_counts, s.found_ends, s.found_maximal = NULL, NULL, NULL, NULL
    s.n_items = s.room_items = s.n_units = s.room_units = 0
    others_array = np.delete(np.arange(m, dtype=np.int32), root)
    cdef int32_t[::1] others = others_array
    if s.n_words:
        s.items = &items[0, 0]
        s.least = &least[0]
        with nogil:
            size = shared_count(&items[root, 0], &items[root, 0], s.n_words)
            if size >= s.minimum:
                visit(
                    &s, &first, 1, &items[root, 0], size, root, &others[0] if m > 1 else NULL,
                    m - 1
                )
    starts = np.zeros(s.n_units + 1, dtype=np.int64)
    units = np.empty(s.n_items, dtype=np.int32)
    counts = np.empty(s.n_units, dtype=np.int64)
    maximal = np.empty(s.n_units, dtype=bool)
    cdef int64_t[::1] starts_view = starts
    cdef int32_t[::1] units_view = units
    cdef int64_t[::1] counts_view = counts
    cdef uint8_t[::1] maximal_view = maximal.view(np.uint8)
    for i in range(s.n_units):
        starts_view[i + 1] = s.found_ends[i]
        counts_view[i] = s.found_counts[i]
        maximal_view[i] = s.found_maximal[i]
    for i in range(s.n_items):
        units_view[i] = s.found_items[i]
    free(s.found_items)
    free(s.found_counts)
    free(s.found_ends)
    free(s.found_maximal)
    if s.no_memory:
        raise MemoryError("no memory for the dense units; raise the density threshold")
    return ClosedUnits(starts, units, counts, maximal, s.n_counted, bool(s.complete))


cdef inline uint64_t mixed(uint64_t h) noexcept nogil:
    h = (h ^ (h >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    h = (h ^ (h >> 27)) * <uint64_t>0x94D049BB133111EB
    return h ^ (h >> 31)


cdef inline int32_t root_of(int32_t* parent, int32_t u) noexcept nogil:
    while parent[u] != u:
        parent[u] = parent[parent[u]]
        u = parent[u]
    return u


def face_components(const int32_t[:, ::1] units):
    cdef Py_ssize_t m = units.shape[0], d = units.shape[1], u, v, j, i, n_slots = 16, slot
    cdef int32_t a, b, n_groups = 0
    cdef uint64_t key
    cdef bint equal
    labels = np.empty(m, dtype=np.int32)
    cdef int32_t[::1] out = labels
    while n_slots < 2 * m:
        n_slots *= 2
    # A unit's key is the sum of one number per column and bin, so a step changes one summand.
    cdef uint64_t* keys = <uint64_t*>malloc((m + 1) * sizeof(uint64_t))
    cdef int32_t* table = <int32_t*>malloc(n_slots * sizeof(int32_t))
    cdef int32_t* parent = <int32_t*>malloc((m + 1) * sizeof(int32_t))
    if keys == NULL or table == NULL or parent == NULL:
        free(keys)
        free(table)
        free(parent)
        raise MemoryError("no memory to join the units")
    with nogil:
        for slot in range(n_slots):
            table[slot] = -1
        for u in range(m):
            parent[u] = <int32_t>u
            key = 0
            for j in range(d):
                key += mixed((<uint64_t>j << 32) + <uint64_t>units[u, j])
            keys[u] = key
            slot = <Py_ssize_t>(mixed(key) & <uint64_t>(n_slots - 1))
            while table[slot] >= 0:
                slot = (slot + 1) & (n_slots - 1)
            table[slot] = <int32_t>u
        for u in range(m):
            for j in range(d):
                key = keys[u] - mixed((<uint64_t>j << 32) + <uint64_t>units[u, j])
                key += mixed((<uint64_t>j << 32) + <uint64_t>(units[u, j] + 1))
                slot = <Py_ssize_t>(mixed(key) & <uint64_t>(n_slots - 1))
                while table[slot] >= 0:
                    v = table[slot]
                    if keys[v] == key:
                        equal = True
                        for i in range(d):
                            if units[v, i] != units[u, i] + (1 if i == j else 0):
                                equal = False
                                break
                        if equal:
                            a = root_of(parent, <int32_t>u)
                            b = root_of(parent, <int32_t>v)
                            if a < b:
                                parent[b] = a
                            else:
                                parent[a] = b
                            break
                    slot = (slot + 1) & (n_slots - 1)
        for u in range(m):
            a = root_of(parent, <int32_t>u)
            if a == u:
                out[u] = n_groups
                n_groups += 1
            else:
                out[u] = out[a]
    free(keys)
    free(table)
    free(parent)
    return labels
