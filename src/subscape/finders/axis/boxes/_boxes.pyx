# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Compiled twin of boxes.py: matches are packed as they are made, the search runs on an own stack."""

import numpy as np

from libc.math cimport INFINITY, log
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort

cdef double TIE = 1e-9
cdef int64_t FEW_CELLS = 1 << 15


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


def match_columns(const double[:, ::1] columns, const double[::1] low, const double[::1] high):
    cdef Py_ssize_t p = columns.shape[0], n = columns.shape[1], j, i, w, first, last
    cdef uint64_t word
    cdef double bottom, top
    matches = np.zeros((p, (n + 63) // 64), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = matches
    with nogil:
        for j in range(p):
            bottom, top = low[j], high[j]
            for w in range((n + 63) // 64):
                first = w * 64
                last = first + 64 if first + 64 < n else n
                word = 0
                for i in range(first, last):
                    word |= (
                        <uint64_t>((columns[j, i] >= bottom) & (columns[j, i] <= top))
                    ) << (i - first)
                out[j, w] = word
    return matches


def match_rows(const double[:, ::1] rows, const double[::1] low, const double[::1] high):
    cdef Py_ssize_t m = rows.shape[0], p = rows.shape[1], j, i, w, first, last
    cdef uint64_t word
    matches = np.zeros((m, (p + 63) // 64), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = matches
    with nogil:
        for i in range(m):
            for w in range((p + 63) // 64):
                first = w * 64
                last = first + 64 if first + 64 < p else p
                word = 0
                for j in range(first, last):
                    word |= (
                        <uint64_t>((rows[i, j] >= low[j]) & (rows[i, j] <= high[j]))
                    ) << (j - first)
                out[i, w] = word
    return matches


def shared_features(const uint64_t[:, ::1] matches, const int64_t[:, ::1] samples, int64_t least):
    cdef Py_ssize_t s = samples.shape[0], r = samples.shape[1], n_words = matches.shape[1]
    cdef Py_ssize_t i, k, w, kept = 0
    cdef int64_t size
    shared = np.empty((s, n_words), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = shared
    with nogil:
        for i in range(s):
            for w in range(n_words):
                out[kept, w] = matches[samples[i, 0], w]
            size = shared_count(&out[kept, 0], &out[kept, 0], n_words)
            for k in range(1, r):
                # Most samples are lost at the second row: look before going on.
                if size < least:
                    break
                size = 0
                for w in range(n_words):
                    out[kept, w] &= matches[samples[i, k], w]
                    size += <int64_t>bits(out[kept, w])
            if size >= least:
                kept += 1
    return shared[:kept].copy()


cdef struct Level:
    uint64_t* rows
    int64_t* items
    int64_t* counts
    int64_t* with_items
    Py_ssize_t n_items
    Py_ssize_t next
    Py_ssize_t n_chosen


cdef struct Keyed:
    int64_t count
    int64_t position
    int64_t item


cdef int by_falling_count(const void* a, const void* b) noexcept nogil:
    cdef const Keyed* x = <const Keyed*>a
    cdef const Keyed* y = <const Keyed*>b
    if x.count != y.count:
        return 1 if x.count < y.count else -1
    return 1 if x.position > y.position else -1


cdef void release(Level* level) noexcept nogil:
    free(level.rows)
    free(level.items)
    free(level.counts)
    free(level.with_items)


cdef class Search:
    """The state of one branch and bound: the stack, the features chosen, the best so far."""

    cdef const uint64_t[:, ::1] matches
    cdef Py_ssize_t n_words, depth, n_chosen, n_best
    cdef int64_t min_support, best_support, nodes
    cdef double gain, best_value
    cdef Level* stack
    cdef Keyed* keyed
    cdef int64_t* chosen
    cdef int64_t* best
    cdef int64_t* per_row

    def __cinit__(self, const uint64_t[:, ::1] matches, int64_t min_support, double gain, double floor):
        cdef Py_ssize_t p = matches.shape[0]
        self.matches = matches
        self.n_words = matches.shape[1]
        self.min_support, self.gain, self.best_value = min_support, gain, floor
        self.depth = self.n_chosen = self.n_best = 0
        self.best_support = self.nodes = 0
        self.stack = <Level*>calloc(p + 1, sizeof(Level))
        self.keyed = <Keyed*>malloc((p + 1) * sizeof(Keyed))
        self.chosen = <int64_t*>malloc((p + 1) * sizeof(int64_t))
        self.best = <int64_t*>malloc((p + 1) * sizeof(int64_t))
        self.per_row = <int64_t*>malloc((64 * self.n_words + 1) * sizeof(int64_t))
        if not (self.stack and self.keyed and self.chosen and self.best and self.per_row):
            raise MemoryError

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.stack:
            for i in range(self.depth):
                release(&self.stack[i])
        free(self.stack)
        free(self.keyed)
        free(self.chosen)
        free(self.best)
        free(self.per_row)

    cdef int enter(
        self, uint64_t* rows, int64_t support, const int64_t* items, Py_ssize_t n_items
    ) except -1 nogil:
        """Take the free features, note the box, and push the ways to go on; owns ``rows``."""
        cdef Py_ssize_t t, kept = 0
        cdef int64_t shared
        cdef double value
        cdef Level* level
        self.nodes += 1
        for t in range(n_items):
            shared = shared_count(&self.matches[items[t], 0], rows, self.n_words)
            if shared == support:
                self.chosen[self.n_chosen] = items[t]
                self.n_chosen += 1
            elif shared >= self.min_support:
                self.keyed[kept].count = shared
                self.keyed[kept].position = kept
                self.keyed[kept].item = items[t]
                kept += 1
        value = log(<double>support) + self.n_chosen * self.gain
        if self.n_chosen and value > self.best_value + TIE:
            self.best_value, self.best_support = value, support
            self.n_best = self.n_chosen
            for t in range(self.n_chosen):
                self.best[t] = self.chosen[t]
        if kept == 0:
            free(rows)
            return 0
        qsort(self.keyed, kept, sizeof(Keyed), by_falling_count)
        level = &self.stack[self.depth]
        level.rows = rows
        level.items = <int64_t*>malloc(kept * sizeof(int64_t))
        level.counts = <int64_t*>malloc(kept * sizeof(int64_t))
        level.with_items = <int64_t*>calloc(kept + 2, sizeof(int64_t))
        self.depth += 1
        if not (level.items and level.counts and level.with_items):
            with gil:
                raise MemoryError
        level.n_items, level.next, level.n_chosen = kept, 0, self.n_chosen
        for t in range(kept):
            level.items[t] = self.keyed[t].item
            level.counts[t] = self.keyed[t].count
        self.count_rows_with_items(level, support)
        return 0

    cdef void count_rows_with_items(self, Level* level, int64_t support) noexcept nogil:
        """For every h: the rows of the level that have at least h of its items."""
        cdef Py_ssize_t t, w, m = level.n_items
        cdef uint64_t word
        if support * m > FEW_CELLS:
            for t in range(m + 1):
                level.with_items[t] = support
            return
        for w in range(self.n_words):
            word = level.rows[w]
            while word:
                self.per_row[64 * w + bits((word & (~word + 1)) - 1)] = 0
                word &= word - 1
        for t in range(m):
            for w in range(self.n_words):
                word = level.rows[w] & self.matches[level.items[t], w]
                while word:
                    self.per_row[64 * w + bits((word & (~word + 1)) - 1)] += 1
                    word &= word - 1
        for w in range(self.n_words):
            word = level.rows[w]
            while word:
                level.with_items[self.per_row[64 * w + bits((word & (~word + 1)) - 1)]] += 1
                word &= word - 1
        for t in range(m - 1, -1, -1):
            level.with_items[t] += level.with_items[t + 1]

    cdef double bound(self, Level* level, Py_ssize_t t) noexcept nogil:
        cdef Py_ssize_t h
        cdef int64_t most
        cdef double value, best = -INFINITY
        for h in range(1, level.n_items - t + 1):
            most = level.counts[t + h - 1]
            if level.with_items[h] < most:
                most = level.with_items[h]
            if most < self.min_support:
                break
            value = log(<double>most) + (level.n_chosen + h) * self.gain
            if value > best:
                best = value
        return best

    cdef int run(self, const uint64_t[::1] start, int64_t max_nodes) except -1 nogil:
        """Search to the end (1) or to ``max_nodes`` (0)."""
        cdef Py_ssize_t p = self.matches.shape[0], t, w
        cdef int64_t support = shared_count(&start[0], &start[0], self.n_words)
        cdef int64_t* items
        cdef int64_t item
        cdef uint64_t* rows
        cdef Level* level
        if support < self.min_support or support < 1:
            return 1
        rows = <uint64_t*>malloc(self.n_words * sizeof(uint64_t))
        items = <int64_t*>malloc((p + 1) * sizeof(int64_t))
        if not (rows and items):
            free(rows)
            free(items)
            with gil:
                raise MemoryError
        for w in range(self.n_words):
            rows[w] = start[w]
        for t in range(p):
            items[t] = t
        self.enter(rows, support, items, p)
        free(items)
        while self.depth:
            level = &self.stack[self.depth - 1]
            t = level.next
            if t == level.n_items or self.bound(level, t) <= self.best_value + TIE:
                self.depth -= 1
                release(level)
                continue
            if self.nodes >= max_nodes:
                return 0
            level.next += 1
            item = level.items[t]
            rows = <uint64_t*>malloc(self.n_words * sizeof(uint64_t))
            if not rows:
                with gil:
                    raise MemoryError
            for w in range(self.n_words):
                rows[w] = level.rows[w] & self.matches[item, w]
            self.n_chosen = level.n_chosen
            self.chosen[self.n_chosen] = item
            self.n_chosen += 1
            self.enter(rows, level.counts[t], &level.items[t + 1], level.n_items - t - 1)
        return 1


def best_box(
    const uint64_t[:, ::1] matches,
    const uint64_t[::1] rows,
    int64_t min_support,
    double gain,
    double floor,
    int64_t max_nodes,
):
    from subscape.finders.axis.boxes.windows import BestBox  # that module is the one importing this one

    if rows.shape[0] != matches.shape[1]:
        raise ValueError(f"sets of {matches.shape[1]} words against one of {rows.shape[0]} words")
    cdef Search search = Search(matches, min_support, gain, floor)
    cdef Py_ssize_t t
    cdef bint complete
    with nogil:
        complete = search.run(rows, max_nodes)
    features = np.empty(search.n_best, dtype=np.int64)
    cdef int64_t[::1] out = features
    for t in range(search.n_best):
        out[t] = search.best[t]
    features.sort()
    return BestBox(features, int(search.best_support), int(search.nodes), bool(complete))
