"""Columns whose values pile up in several places, and the same columns with one hump."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from subscape.arrays.backend import compiled
from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray

#: A uniform sample of n values has a dip above this over the root of n once in a thousand times.
SURE = 0.72
#: The same of the valley statistic, from 30 to 3,000 values; of samples with one hump, uniform ones
#: reach most.
SURE_VALLEY = 0.9
#: Rows in the shortest stretch of a valley's slope, and how much longer the next one is.
FEWEST_IN_SLOPE, STRETCH = 3, 1.25
#: Slopes are at least so many standard deviations wide: what is narrower are steps of a scale.
LEAST_SLOPE = 1.0
#: Places tried for the top of the one hump.
TOPS = 41
#: Fewer different values than this have no humps.
FEWEST_VALUES = 3
#: Columns with fewer different values than this share of the rows are rounded.
MOST_DISTINCT = 0.5


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
    valley_statistic : Sees small groups, too.

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
        carries_under = under >= below[part] - 1e-12
        carries_over = over <= above[part] + 1e-12
        # Between points that carry a hull the gap is a line: where it is level, an end counts.
        width = np.where(carries_under | carries_over, over - under, -1.0)
        widest = int(width.argmax())
        if width[widest] <= off:
            break
        # The top of the hump lies between the points around the widest gap that carry the hulls.
        carries = np.flatnonzero(carries_under)
        start = int(carries[carries <= widest].max(initial=0))
        carries = np.flatnonzero(carries_over)
        stop = int(carries[carries >= widest].min(initial=last - first))
        rising = (above[part] - under)[: start + 1] if start else np.zeros(1)
        falling = (over - below[part])[stop:] if stop < last - first else np.zeros(1)
        off = max(off, float(rising.max()), float(falling.max()))
        if (start, stop) == (0, last - first):
            break
        first, last = first + start, first + stop
    return off / 2


def valley_statistic(column: ArrayLike) -> float:
    """How surely a sample's density falls somewhere and rises again after that.

    On every stretch of the sorted values, how far they lean to either end, compared with even ones,
    and less what the most leaning of all stretches of that length has by chance (Dümbgen and
    Walther [1]_). The statistic is that of the surest fall and rise, one after the other,
    whichever is less sure. A small group far from all others, to which the dip is blind, is seen
    here: a fifth of 300 rows, five standard deviations apart.

    Parameters
    ----------
    column : array-like of shape (n,)
        Without missing values.

    Returns
    -------
    float
        Above 0.6 about once in a hundred uniform samples, above 0.9 once in a thousand; minus
        infinity for fewer than five values, and where all are equal.

    See Also
    --------
    dip_statistic : The distance from all distributions with one hump.

    References
    ----------
    .. [1] L. Dümbgen, G. Walther, "Multiscale inference about a density", Annals of Statistics 36
       (2008), doi:10.1214/07-AOS521.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.validation import valley_statistic
    >>> rng = np.random.default_rng(0)
    >>> few = np.r_[rng.normal(size=240), rng.normal(6, 1, 60)]
    >>> valley_statistic(rng.random(300)) < 0.9 < valley_statistic(few)
    True
    """
    sample = np.sort(np.asarray(column, dtype=np.float64))
    if sample.ndim != 1 or not np.isfinite(sample).all():
        raise SubscapeError("a valley is that of one column of finite numbers")
    n = len(sample)
    least = LEAST_SLOPE * float(sample.std())
    if n < FEWEST_IN_SLOPE + 2 or not least > 0:
        return -np.inf
    reached = np.concatenate([[0.0], np.cumsum(sample - sample[0])])
    falls, rises = np.full(n, -np.inf), np.full(n, -np.inf)
    inside = float(FEWEST_IN_SLOPE)
    while round(inside) <= n - 2:
        m = round(inside)
        start, stop = np.arange(n - m - 1), np.arange(m + 1, n)
        width = sample[stop] - sample[start]
        wide = width >= least
        middle = (reached[stop] - reached[start + 1]) - m * (sample[start] - sample[0])
        lean = np.sqrt(3 / m) * (2 * middle / np.where(wide, width, 1.0) - m)
        chance = np.sqrt(2 * np.log(np.e * (n + 1) / (m + 1)))
        falls[stop] = np.maximum(falls[stop], np.where(wide, -lean - chance, -np.inf))
        rises[start] = np.maximum(rises[start], np.where(wide, lean - chance, -np.inf))
        inside *= STRETCH
    before = np.maximum.accumulate(falls)
    after = np.maximum.accumulate(rises[::-1])[::-1]
    return float(np.minimum(before, after).max())


def is_multimodal(column: FloatArray) -> bool:
    """Whether a column surely has more than one hump, by its dip or by a valley.

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
    if dip_statistic(column) > SURE / np.sqrt(len(column)):
        return True
    return valley_statistic(column) > SURE_VALLEY


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


def dithered(columns: FloatArray) -> FloatArray:
    """Centred columns with rounded values spread over what they were rounded from.

    A number that was rounded lies anywhere between the middles of the gaps to the next values.
    Rows of one value are no group because they share it.

    >>> spread = dithered(np.repeat([-1.0, 0.0, 1.0], 50)[:, None])
    >>> len(np.unique(spread)), np.round(np.ptp(spread) / 3, 1)
    (150, np.float64(1.0))
    """
    places: FloatArray | None = None
    spread = columns
    for j in range(columns.shape[1]):
        ordered = np.sort(columns[:, j])
        if not 1 < 1 + int((ordered[1:] > ordered[:-1]).sum()) <= MOST_DISTINCT * len(columns):
            continue  # mostly, and known for less than which values there are
        values, which = np.unique(columns[:, j], return_inverse=True)
        if places is None:
            places = np.random.default_rng(0).random(columns.shape)
            spread = columns.copy()
        middles = 0.5 * (values[1:] + values[:-1])
        # The outermost are as far out as in.
        low = np.concatenate([[2 * values[0] - middles[0]], middles])
        high = np.concatenate([middles, [2 * values[-1] - middles[-1]]])
        spread[:, j] = low[which] + (high - low)[which] * places[:, j]
    return spread - spread.mean(axis=0) if places is not None else spread


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
    if len(x) < 2:
        return y
    return convex_minorant(x, y) if convex else -convex_minorant(x, -y)


@compiled("_unimodality")
def convex_minorant(x: FloatArray, y: FloatArray) -> FloatArray:
    """The largest convex function below points, at their places.

    Slopes between the points, weighted by the steps, are pooled until they rise [1]_.

    Parameters
    ----------
    x : array of shape (n,)
        Rising.
    y : array of shape (n,)

    References
    ----------
    .. [1] M. Ayer et al., "An empirical distribution function for sampling with incomplete
       information", Annals of Mathematical Statistics 26 (1955), doi:10.1214/aoms/1177728423.

    >>> convex_minorant(np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 5.0, 4.0, 4.0])).tolist()
    [0.0, 1.0, 2.0, 4.0]
    """
    gaps = np.diff(x)
    slopes = isotonic_regression(np.diff(y) / gaps, sample_weight=gaps)
    return np.concatenate([y[:1], y[0] + np.cumsum(slopes * gaps)])
