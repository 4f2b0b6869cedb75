"""Cut a column where its classes change, as far as the description length pays for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.types import FloatArray, IndexArray, IntArray

__all__ = ["mdl_cuts"]


#: Beyond so many classes 3^k - 2 leaves the range of float64, and its 2 no longer matters.
MANY_CLASSES = 600


def mdl_cuts(
    values: ArrayLike, labels: ArrayLike, *, min_samples: int = 1, max_bins: int | None = None
) -> FloatArray:
    """Cut points of a column by entropy and description length [1]_, [2]_.

    The column is cut where the entropy of the classes drops most, and both parts are cut again,
    as long as the information gained is worth the bits that the cut costs. Best cuts lie between
    neighbouring values of different classes, so only these are tried.

    Parameters
    ----------
    values : (n,) array
        The column; NaN is left out.
    labels : (n,) array of int
        The class of every value, from 0; negative ones are left out.
    min_samples : int, default=1
        Fewest values on each side of a cut.
    max_bins : int, optional
        Most bins; the cuts that gain most (in bits, for all their values together) are kept.

    Returns
    -------
    (m,) array
        Cuts in ascending order, none where no cut pays. A value at a cut belongs above it.

    References
    ----------
    .. [1] U. M. Fayyad, K. B. Irani, "On the handling of continuous-valued attributes in decision
       tree generation", Machine Learning 8, 1992, doi:10.1007/BF00994007.
    .. [2] U. M. Fayyad, K. B. Irani, "Multi-interval discretization of continuous-valued
       attributes for classification learning", IJCAI 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.measures.density.mdl_cuts import mdl_cuts
    >>> mdl_cuts(np.arange(20.0), np.repeat([0, 1], 10))
    array([9.5])
    >>> mdl_cuts(np.arange(20.0), np.tile([0, 1], 10))
    array([], dtype=float64)
    """
    numbers, classes = np.asarray(values, dtype=np.float64), np.asarray(labels)
    known = ~np.isnan(numbers) & (classes >= 0)
    numbers, classes = numbers[known], classes[known]
    if len(numbers) < 2 or (max_bins is not None and max_bins < 2):
        return np.empty(0)
    distinct, group = np.unique(numbers, return_inverse=True)
    present, code = np.unique(classes, return_inverse=True)
    table = np.zeros((len(distinct), len(present)), dtype=np.int64)
    np.add.at(table, (group, code), 1)
    # Row i: how many of each class lie below the i-th distinct value.
    below = np.concatenate([np.zeros((1, len(present)), np.int64), np.cumsum(table, axis=0)])
    boundary = _boundaries(table)
    accepted: list[tuple[float, int]] = []
    waiting = [(0, len(distinct))]
    while waiting:
        first, last = waiting.pop()
        inside = boundary[(boundary > first) & (boundary < last)]
        found = _best_cut(below, first, last, inside, min_samples)
        if found is not None:
            accepted.append(found)
            waiting += [(first, found[1]), (found[1], last)]
    if max_bins is not None:
        accepted = sorted(accepted, key=lambda each: (-each[0], each[1]))[: max_bins - 1]
    places = np.array(sorted(place for _, place in accepted), dtype=np.intp)
    lower, upper = distinct[places - 1], distinct[places]
    middle = lower + (upper - lower) / 2
    # Between neighbouring floating-point numbers there is no middle.
    return np.where((middle > lower) & (middle <= upper), middle, upper)


def _boundaries(table: IntArray) -> IndexArray:
    """Distinct values before which a cut can be best: not between two of one and the same class."""
    pure = (table > 0).sum(axis=1) == 1
    which = table.argmax(axis=1)
    same = pure[:-1] & pure[1:] & (which[:-1] == which[1:])
    return np.flatnonzero(~same) + 1


def _best_cut(
    below: IntArray,
    first: int,
    last: int,
    candidates: IndexArray,
    min_samples: int,
) -> tuple[float, int] | None:
    """Bits gained by the best cut of a range of distinct values, and its place; None if it loses.

    Ties go to the lowest place.
    """
    whole = below[last] - below[first]
    n = int(whole.sum())
    if len(candidates) == 0 or np.count_nonzero(whole) < 2:
        return None
    left = below[candidates] - below[first]
    right = whole - left
    n_left = left.sum(axis=1)
    roomy = (n_left >= min_samples) & (n - n_left >= min_samples)
    if not roomy.any():
        return None
    bits_left, bits_right = _bits(left), _bits(right)
    remaining = np.where(roomy, bits_left + bits_right, np.inf)
    # Rounding must not decide between cuts that are equally good.
    best = int(np.flatnonzero(remaining <= remaining.min() * (1 + 1e-12))[0])
    bits = float(_bits(whole[None])[0])
    gain = bits - float(remaining[best])
    k, k_left, k_right = (int(np.count_nonzero(part)) for part in (whole, left[best], right[best]))
    change = (
        k * bits / n
        - k_left * float(bits_left[best]) / int(n_left[best])
        - k_right * float(bits_right[best]) / (n - int(n_left[best]))
    )
    cost = np.log2(n - 1) + _log2_of_labellings(k) - change
    return (gain, int(candidates[best])) if gain > cost else None


def _bits(counts: IntArray) -> FloatArray:
    """Number of values times the entropy of their classes, for each row of counts."""
    total = counts.sum(axis=1, keepdims=True)
    share = np.where(counts > 0, counts, 1) / np.where(counts > 0, total, 1)
    return np.maximum(-(counts * np.log2(share)).sum(axis=1), 0.0)


def _log2_of_labellings(k: int) -> float:
    return float(k * np.log2(3.0)) if k >= MANY_CLASSES else float(np.log2(3.0**k - 2.0))
