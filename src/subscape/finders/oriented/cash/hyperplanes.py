"""Search of hyperplanes that hold many rows: boxes of angles, the fullest first."""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from subscape.core.types import FloatArray, IndexArray
from subscape.parallel.progress import Watch

from .hough import fullest_window, offset_ranges

#: With more angles than this, best-first search can't get deep; "auto" descends greedily at once.
MOST_ANGLES = 4


class Effort(NamedTuple):
    """How finely and how long to look."""

    width: float
    """Width of the window of offsets."""
    max_level: int
    """How often every angle is halved."""
    max_boxes: int
    """Boxes looked at for each hyperplane."""
    search: str
    """"best", "greedy" or "auto": best-first, then greedily."""


class AngleBox(NamedTuple):
    """A box of angles in the queue; the order of the fields is that of the search."""

    order: int
    """Minus the most rows that one hyperplane of the box can hold."""
    minus_depth: int
    number: int
    version: int
    """How often rows had been removed when it was counted."""
    low: FloatArray
    high: FloatArray


class Hyperplane(NamedTuple):
    """Rows near a hyperplane (as far as the box tells), and its normal."""

    rows: IndexArray
    normal: FloatArray


class HyperplaneSearch:
    """Hyperplanes of a table, the fullest first; rows may be removed in between.

    The number of rows that meet a box of angles, within a window of offsets anywhere, bounds that
    of all boxes inside it. Boxes are therefore halved in the order of their numbers, and the first
    that is small enough holds the most rows of all. Numbers counted before rows were removed are
    still bounds, and are counted again when their turn comes.
    """

    def __init__(self, X: FloatArray, min_samples: int, effort: Effort, watch: Watch) -> None:
        self.rows = np.arange(len(X))
        self.complete = True
        self._all = np.ascontiguousarray(X)
        self._left = self._all
        self._min_samples = min_samples
        self._effort = effort
        self._watch = watch
        self._angles = X.shape[1] - 1
        self._full_depth = effort.max_level * self._angles
        self._heap: list[AngleBox] = []
        self._number = self._version = self._looked = 0
        self._push(np.zeros(self._angles), np.full(self._angles, math.pi), 0)

    def remove(self, rows: IndexArray) -> None:
        """Leave these rows out from now on."""
        self.rows = np.setdiff1d(self.rows, rows, assume_unique=True)
        self._left = np.ascontiguousarray(self._all[self.rows])
        self._version += 1

    def next(self) -> Hyperplane | None:
        """The hyperplane with most rows, None if no further one has enough or effort ends."""
        if len(self.rows) < self._min_samples:
            return None
        search, most = self._effort.search, self._effort.max_boxes
        self._looked = 0
        greedy = search == "greedy" or (search == "auto" and self._angles > MOST_ANGLES)
        self.complete &= not greedy
        while self._heap:
            if self._watch.out_of_time():
                self.complete = False
                return None
            if self._looked > most:
                self.complete = False
                if greedy or search == "best":
                    return None
                greedy, self._looked = True, 0
            box = heapq.heappop(self._heap)
            if box.version != self._version:
                self._push(box.low, box.high, -box.minus_depth)
                continue
            found = self._descend(box) if greedy else self._halve(box)
            if found is not None:
                return found
        return None

    def _count(self, low: FloatArray, high: FloatArray) -> int:
        self._looked += 1
        return fullest_window(offset_ranges(self._left, low, high), self._effort.width).count

    def _push(
        self, low: FloatArray, high: FloatArray, depth: int, count: int | None = None
    ) -> None:
        if count is None:
            count = self._count(low, high)
        if count >= self._min_samples:
            self._number += 1
            box = AngleBox(-count, -depth, self._number, self._version, low, high)
            heapq.heappush(self._heap, box)

    def _halves(self, low: FloatArray, high: FloatArray, depth: int) -> tuple[FloatArray, ...]:
        axis = depth % self._angles
        middle = (low[axis] + high[axis]) / 2
        below, above = high.copy(), low.copy()
        below[axis] = above[axis] = middle
        return low, below, above, high

    def _halve(self, box: AngleBox) -> Hyperplane | None:
        depth = -box.minus_depth
        if depth == self._full_depth:
            return self._hyperplane(box.low, box.high)
        low, below, above, high = self._halves(box.low, box.high, depth)
        self._push(low, below, depth + 1)
        self._push(above, high, depth + 1)
        return None

    def _descend(self, box: AngleBox) -> Hyperplane | None:
        """Always into the fuller half; the other waits in the queue."""
        low, high = box.low, box.high
        for depth in range(-box.minus_depth, self._full_depth):
            low, below, above, high = self._halves(low, high, depth)
            first, second = self._count(low, below), self._count(above, high)
            if max(first, second) < self._min_samples:
                return None
            if first >= second:
                self._push(above, high, depth + 1, second)
                high = below
            else:
                self._push(low, below, depth + 1, first)
                low = above
        return self._hyperplane(low, high)

    def _hyperplane(self, low: FloatArray, high: FloatArray) -> Hyperplane:
        smallest, largest = ranges = offset_ranges(self._left, low, high)
        start = fullest_window(ranges, self._effort.width).start
        met = (smallest - self._effort.width <= start) & (largest >= start)
        return Hyperplane(self.rows[met], normal_of((low + high) / 2))


def normal_of(angles: FloatArray) -> FloatArray:
    """The unit vector with these angles.

    >>> import numpy as np
    >>> normal_of(np.array([np.pi / 2, np.pi / 2])).round(6) + 0.0
    array([0., 0., 1.])
    """
    sines = np.append(1.0, np.cumprod(np.sin(angles)))
    return sines * np.append(np.cos(angles), 1.0)


def across(normal: FloatArray) -> FloatArray:
    """Orthonormal basis (t, t - 1) of the directions within a hyperplane."""
    return np.ascontiguousarray(np.linalg.qr(normal[:, None], mode="complete")[0][:, 1:])
