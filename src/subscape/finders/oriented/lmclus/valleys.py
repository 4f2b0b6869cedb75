"""Where to cut histograms in two: the minimum error criterion of Kittler and Illingworth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.arrays.backend import compiled
from subscape.core.types import FloatArray, IndexArray

__all__ = ["Cut", "minimum_error_cuts"]

LEVEL = 1e-12
"""Values of the criterion closer than this are equal."""


class Cut(NamedTuple):
    """Where each histogram is best cut, and how clearly its sides are apart."""

    bins: IndexArray
    """(m,) last bin of the lower side."""
    goodness: FloatArray
    """(m,) depth of the valley times discriminability; -inf without a valley."""


@compiled("_valleys")
def minimum_error_cuts(histograms: IndexArray, squared: bool, least: int) -> Cut:
    """Cut histograms where two normal distributions, one on each side, describe them best.

    With P, s² the weight and variance of a side, the criterion is 1 + Σ P (log s² − 2 log P). A
    valley of it is as deep as the lower of the next peaks to both sides is higher than it (at the
    first occupied bin, the next peak above); its sides are discriminated by
    (difference of means)² / (sum of variances). The valley with the largest product wins, the
    first in a tie; a level bottom is cut in its middle.

    Parameters
    ----------
    histograms : (m, b) array of int
        Counts per bin.
    squared : bool
        False takes the root of the discriminability.
    least : int
        Lower sides with a smaller count are left out.

    Returns
    -------
    Cut

    Notes
    -----
    J. Kittler and J. Illingworth, *Minimum error thresholding*, Pattern Recognition 19 (1986),
    doi:10.1016/0031-3203(86)90030-0. Variances are in bins and include that within a bin, 1/12, so
    that a side in a single bin has one.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.oriented.lmclus.valleys import minimum_error_cuts
    >>> minimum_error_cuts(np.array([[0, 3, 9, 3, 0, 0, 0, 1, 5, 8, 5, 1]]), True, 1).bins
    array([4])
    """
    m, n_bins = histograms.shape
    totals = np.maximum(histograms.sum(axis=1, keepdims=True), 1)
    shares = histograms / totals
    places = np.arange(n_bins)
    below = np.cumsum(histograms, axis=1)
    defined = (below > 0) & (below < totals)
    low = np.where(defined, below / totals, 0.5)
    high = 1.0 - low
    sums, squares = np.cumsum(shares * places, axis=1), np.cumsum(shares * places**2, axis=1)
    low_mean, high_mean = sums / low, (sums[:, -1:] - sums) / high
    low_spread = np.maximum(squares / low - low_mean**2, 0.0) + 1 / 12
    high_spread = np.maximum((squares[:, -1:] - squares) / high - high_mean**2, 0.0) + 1 / 12
    criterion = 1.0 + low * (np.log(low_spread) - 2 * np.log(low))
    criterion += high * (np.log(high_spread) - 2 * np.log(high))
    # Beyond the first occupied bin it is uphill: a lower side may be as narrow as one bin. Beyond
    # the last one there is nothing to climb to.
    criterion = np.where(defined, criterion, np.where(below > 0, -1e300, 1e300))
    left, right = _peaks(criterion, 1e300), _peaks(criterion[:, ::-1], -1e300)[:, ::-1]
    depth = np.minimum(left, right) - criterion
    apart = np.square(low_mean - high_mean) / (low_spread + high_spread)
    apart = apart if squared else np.sqrt(apart)
    goodness = np.where(defined & (below >= least), depth * apart, 0.0)
    bins, best = np.zeros(m, np.intp), np.full(m, -np.inf)
    for i in range(m):
        first = int(goodness[i].argmax())
        if goodness[i, first] <= LEVEL:
            continue
        last = first
        while last + 1 < n_bins and criterion[i, last + 1] <= criterion[i, first] + LEVEL:
            last += 1
        bins[i], best[i] = (first + last) // 2, goodness[i, first]
    return Cut(bins, best)


def _peaks(criterion: FloatArray, beyond: float) -> FloatArray:
    """Value of the peak one gets to by climbing to the left; of the bin itself if it falls."""
    peaks = np.maximum(criterion, beyond)
    for t in range(1, criterion.shape[1]):
        climbs = criterion[:, t - 1] >= criterion[:, t] - LEVEL
        peaks[:, t] = np.where(climbs, peaks[:, t - 1], criterion[:, t])
    return peaks
