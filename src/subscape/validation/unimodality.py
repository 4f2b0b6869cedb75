"""Columns whose values pile up in several places, and the same columns with one hump."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray

#: A uniform sample of n values has a dip above this over the root of n once in a thousand times.
SURE = 0.72
#: Places tried for the top of the one hump.
TOPS = 41
#: Fewer different values than this have no humps.
FEWEST_VALUES = 3


def dip_statistic(column: ArrayLike) -> float:
    """How far a sample is from any distribution with one hump, by Hartigan and Hartigan [1]_.

    The largest difference between its distribution function and the nearest one that is convex up
    to some point and concave from there on: at most 1/4. A uniform sample of n values exceeds 0.61
    over the root of n about once in a hundred times, most others less often.

    Parameters
    ----------
    column : array-like of shape (n,)
        Without missing values.

    Returns
    -------
    float

    See Also
    --------
    split_test : Along any line of a table.

    References
    ----------
    .. [1] J. A. Hartigan, P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13
       (1985), doi:10.1214/aos/1176346577.

    Examples
    --------
    >>> from subscape.validation import dip_statistic
    >>> columns = [1.0, 1.1, 1.2, 5.0, 5.1, 5.2], [1.0, 2.0, 3.0, 4.0]
    >>> tuple(round(dip_statistic(column), 3) for column in columns)
    (0.237, 0.125)
    """
    sample = np.asarray(column, dtype=np.float64)
    if sample.ndim != 1 or not len(sample) or not np.isfinite(sample).all():
        raise SubscapeError("a dip is that of one column of finite numbers")
    values, below, above = _distribution(sample)
    off = 1.0 / len(sample)
    first, last = 0, len(values) - 1
    while first < last:
        part = slice(first, last + 1)
        under = _hull(values[part], below[part], convex=True)
        over = _hull(values[part], above[part], convex=False)
        width = over - under
        widest = int(width.argmax())
        if width[widest] <= off:
            break
        # The top of the hump lies between the points around the widest gap that carry the hulls.
        carries = np.flatnonzero(under >= below[part] - 1e-12)
        start = int(carries[carries <= widest].max(initial=0))
        carries = np.flatnonzero(over <= above[part] + 1e-12)
        stop = int(carries[carries >= widest].min(initial=last - first))
        rising = (above[part] - under)[: start + 1] if start else np.zeros(1)
        falling = (over - below[part])[stop:] if stop < last - first else np.zeros(1)
        off = max(off, float(rising.max()), float(falling.max()))
        if (start, stop) == (0, last - first):
            break
        first, last = first + start, first + stop
    return off / 2


def is_multimodal(column: FloatArray) -> bool:
    """Whether a column surely has more than one hump.

    Values on a grid (whole numbers, one decimal) are spread over its cells first: steps of a scale
    are no humps.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> two = np.r_[rng.normal(size=99), rng.normal(9, 1, 99)]
    >>> is_multimodal(rng.normal(size=200)), is_multimodal(two)
    (False, True)
    >>> is_multimodal(np.repeat([0.0, 1.0], 500))
    False
    """
    values = np.unique(column)
    if len(values) < FEWEST_VALUES:
        return False
    if len(values) < len(column):
        step = float(np.diff(values).min())
        noise = np.random.default_rng(0).random(len(column)) - 0.5
        column = column + step * noise
    return bool(dip_statistic(column) > SURE / np.sqrt(len(column)))


def unimodal_column(column: FloatArray) -> FloatArray:
    """The column with its values moved, in the same order, so that they make one hump.

    Mean and spread stay. Of the distribution functions with one hump that are hulls of the
    column's own on either side of some value, the nearest one is taken.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> column = np.concatenate([rng.normal(size=99), rng.normal(9, 1, 99)])
    >>> moved = unimodal_column(column)
    >>> is_multimodal(moved), bool((np.argsort(moved) == np.argsort(column)).all())
    (False, True)
    """
    return unimodal_columns(column)[0]


def unimodal_columns(column: FloatArray) -> list[FloatArray]:
    """:func:`unimodal_column`, and the same with another hump kept, if there is one.

    The nearest distribution with one hump keeps one of the humps and spreads out the others. The
    second one is the nearest of those whose top lies beyond the place where the first is farthest
    from the column's own.
    """
    values, below, above = _distribution(column)
    middle = (below + above) / 2
    tops = np.unique(np.linspace(0, len(values) - 1, TOPS).astype(int))
    humps = []
    for top in tops:
        rising = _hull(values[: top + 1], middle[: top + 1], convex=True)
        falling = _hull(values[top:], middle[top:], convex=False)
        humps.append(np.concatenate([rising, falling[1:]]))
    away = np.abs(np.array(humps) - middle)
    nearest = int(away.max(axis=1).argmin())
    farthest = int(away[nearest].argmax())
    beyond = tops > farthest if tops[nearest] <= farthest else tops < farthest
    chosen = [nearest]
    if beyond.any():
        chosen.append(int(np.where(beyond, away.max(axis=1), np.inf).argmin()))
    return [_moved(column, values, middle, humps[k]) for k in chosen]


def _moved(
    column: FloatArray, values: FloatArray, middle: FloatArray, hump: FloatArray
) -> FloatArray:
    """The column with the distribution ``hump`` on its different ``values``."""
    moved = np.interp(middle, hump, values)[np.searchsorted(values, column)]
    spread = float(moved.std())
    if spread == 0:
        return column
    return np.asarray((moved - moved.mean()) * (column.std() / spread) + column.mean())


def unimodal_table(table: FloatArray) -> FloatArray:
    """The table with one hump in every column; missing values stay where they are."""
    smooth = table
    for j, column in enumerate(table.T):
        rows = np.flatnonzero(~np.isnan(column))
        if len(rows) and is_multimodal(column[rows]):
            if smooth is table:
                smooth = table.copy()
            smooth[rows, j] = unimodal_column(column[rows])
    return smooth


class _Distribution(NamedTuple):
    """Different values, and the distribution function before and after its step at each."""

    values: FloatArray
    below: FloatArray
    above: FloatArray


def _distribution(column: FloatArray) -> _Distribution:
    values, counts = np.unique(column, return_counts=True)
    above = np.cumsum(counts) / len(column)
    return _Distribution(values, above - counts / len(column), above)


def _hull(x: FloatArray, y: FloatArray, convex: bool) -> FloatArray:
    """The largest convex function below the points, or the smallest concave one above them."""
    gaps = np.diff(x)
    if not len(gaps):
        return y
    slopes = isotonic_regression(np.diff(y) / gaps, sample_weight=gaps, increasing=convex)
    return np.concatenate([y[:1], y[0] + np.cumsum(slopes * gaps)])
