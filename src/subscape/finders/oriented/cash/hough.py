"""Hyperplanes in angles: between which offsets a row's hyperplanes lie, for a box of angles.

A hyperplane of t dimensions is {x : <x, n(a)> = offset} with t − 1 angles in [0, pi] and the normal
n_i = sin a_1 ... sin a_{i-1} cos a_i, where the last one has no cosine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray

__all__ = ["Window", "fullest_window", "offset_ranges"]


class Window(NamedTuple):
    """The position of a window of offsets that meets most of the ranges."""

    start: float
    count: int  # type: ignore[assignment]  # a tuple has a method of this name


@compiled("_hough")
def offset_ranges(X: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Smallest and largest offset of the hyperplanes through each row, over a box of angles.

    Exact: the sines are not negative, so the extremes of the inner terms give those of the outer
    ones; each angle in turn, from the last to the first, is a single wave.

    Parameters
    ----------
    X : (n, t) array
    low, high : (t - 1,) array
        The box of angles, within [0, pi].

    Returns
    -------
    (2, n) array
        Smallest and largest values of <x, n(a)>.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.cash.hough import offset_ranges
    >>> offset_ranges(np.array([[3.0, 4.0]]), np.zeros(1), np.array([np.pi])).round(6)
    array([[-3.],
           [ 5.]])
    """
    smallest, largest = X[:, -1].copy(), X[:, -1].copy()
    for i in range(X.shape[1] - 2, -1, -1):
        x, left, right = X[:, i], low[i], high[i]
        at_left, at_right = x * np.cos(left), x * np.cos(right)
        top = np.arctan2(largest, x)
        ends = np.maximum(at_left + largest * np.sin(left), at_right + largest * np.sin(right))
        largest, before = (
            np.where((left <= top) & (top <= right), np.hypot(x, largest), ends),
            smallest,
        )
        bottom = np.arctan2(before, x) + np.pi
        ends = np.minimum(at_left + before * np.sin(left), at_right + before * np.sin(right))
        smallest = np.where((left <= bottom) & (bottom <= right), -np.hypot(x, before), ends)
    return np.stack([smallest, largest])


@compiled("_hough")
def fullest_window(ranges: FloatArray, width: float) -> Window:
    """Find where a window of the given width meets most of the ranges.

    Parameters
    ----------
    ranges : (2, n) array
        Lower and upper ends.
    width : float

    Returns
    -------
    Window
        The first of the best positions.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.cash.hough import fullest_window
    >>> fullest_window(np.array([[0.0, 2.0, 2.5], [1.0, 2.2, 3.0]]), 0.5)
    Window(start=2.0, count=2)
    """
    # A window that starts at s meets [a, b] if a - width <= s <= b: the best s is some a - width.
    starts = np.sort(ranges[0] - width)
    ends = np.sort(ranges[1])
    met = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, "left")
    best = int(met.argmax())
    return Window(float(starts[best]), int(met[best]))
