"""A box found with windows of fixed width is fitted to the rows it holds: its features, its ends.

The width of the search window is a guess, and the row in the middle of it is not the middle of the
cluster. Both are corrected here by four questions, asked in turn until the answers stay the same:

* In which features are the rows of the box concentrated, compared with the other rows?
* Where does the cluster end in each of them? As a truncated normal distribution on a uniform
  background, whose reach balances the members lost against the strangers let in.
* Would the cluster be much larger without one of the features? Then that one only cuts it.
* Which rows are inside now?
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, rel_entr

from subscape.core.types import BoolArray, FloatArray, IntArray

__all__ = ["Box", "feature_scales", "hold", "quantiles", "refine_box", "spread_box"]


#: A feature is relevant if the cluster's rows are this many times as dense in it as the others.
CONCENTRATION = 2.0
#: Share of the cluster's rows left aside at either end when its density is measured.
TRIM = 0.05
#: Log of how unlikely by chance a feature has to be.
UNLIKELY = 3.0
#: Weight, in rows, of the assumption that the other rows are spread evenly.
EVEN_ROWS = 5.0
#: Share of the cluster that every feature has to keep.
LEAST_KEPT = 1 / 3
#: A feature that keeps less of the cluster has to be more than a coincidence.
MOSTLY_KEPT = 0.9
#: How far a cluster may reach, in standard deviations.
REACH = np.array([2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0])
#: Rounds of refinement; nearly all boxes settle in three or four.
MAX_ROUNDS = 12


class Box(NamedTuple):
    """Intervals in some of the features."""

    features: IntArray
    """The features, ascending."""
    low: FloatArray
    """Where the interval of each of them begins."""
    high: FloatArray
    """Where it ends; both ends are inside."""


class IntervalFit(NamedTuple):
    """Where a cluster ends in its features."""

    low: FloatArray
    high: FloatArray
    reach: float
    """Half the length of the intervals in standard deviations."""
    strangers: float
    """Estimated share of the rows inside that are there by chance."""


def feature_scales(X: FloatArray) -> FloatArray:
    """Measure the range of every feature so that a few outliers don't matter.

    The distance from the 5th to the 95th percentile, over 0.9: for evenly spread values the whole
    range. Where most values are equal, the range itself. Missing values are left out.

    Parameters
    ----------
    X : (n, p) array of float
        The table; no feature is constant.

    Returns
    -------
    (p,) array of float
        Positive.
    """
    low, high = quantiles(X, 0.05)
    scales = (high - low) / 0.9
    whole = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    return np.where(scales > 0, scales, whole)


def hold(X: FloatArray, box: Box) -> BoolArray:
    """Say which rows lie in a box.

    Parameters
    ----------
    X : (n, p) array of float
        The table.
    box : Box
        The box.

    Returns
    -------
    (n,) array of bool
        A row with a missing value in one of the features never does.
    """
    inside = np.zeros(len(X), dtype=bool)
    left = np.arange(len(X))
    # One feature after another: few rows are left to look at after the first two.
    for j, low, high in zip(box.features, box.low, box.high, strict=True):
        values = X[left, j]
        left = left[(values >= low) & (values <= high)]
    inside[left] = True
    return inside


def refine_box(
    X: FloatArray, eligible: BoolArray, box: Box, scales: FloatArray, min_rows: int
) -> Box:
    """Fit a box to the cluster that it has hit.

    Parameters
    ----------
    X : (n, p) array of float
        The table.
    eligible : (n,) array of bool
        The rows that may be members; the others only show how the table is spread.
    box : Box
        The box to start from.
    scales : (p,) array of float
        The ranges of the features.
    min_rows : int
        A box that comes out with fewer rows is not taken.

    Returns
    -------
    Box
        The fitted box, or the given one if it falls apart.
    """
    given, fit, features = box, None, box.features
    members = eligible & hold(X, box)
    for turn in range(MAX_ROUNDS):
        # At first the features that were found: the box may be a small part of the cluster, whose
        # other rows are then as dense where it matters.
        if turn > 0:
            features = concentrated_features(X, members, scales, features)
        features, members, fit = _without_cutting(X, eligible, members, features, fit, scales)
        if fit is None:
            return given
        fitted = Box(features, fit.low, fit.high)
        inside = eligible & hold(X, fitted)
        if inside.sum() < min_rows:
            return given
        settled = np.array_equal(features, box.features) and np.array_equal(inside, members)
        box, members = fitted, inside
        if settled:
            break
    return box


def spread_box(X: FloatArray, box: Box, scales: FloatArray) -> Box:
    """Fit the ends of a box to all the rows it holds, whatever clusters they are in already.

    Parameters
    ----------
    X : (n, p) array of float
        The table.
    box : Box
        The box to start from.
    scales : (p,) array of float
        The ranges of the features.

    Returns
    -------
    Box
        With the same features.
    """
    everyone = np.ones(len(X), dtype=bool)
    members, fit = hold(X, box), None
    for _ in range(MAX_ROUNDS):
        fit = fit_intervals(X, everyone, members, box.features, fit, scales)
        box = Box(box.features, fit.low, fit.high)
        inside = hold(X, box)
        if np.array_equal(inside, members) or inside.sum() < 2:
            break
        members = inside
    return box


def concentrated_features(
    X: FloatArray, members: BoolArray, scales: FloatArray, known: IntArray
) -> IntArray:
    """Find the features in which some rows are denser than all the others.

    Parameters
    ----------
    X : (n, p) array of float
        The table.
    members : (n,) array of bool
        The rows in question.
    scales : (p,) array of float
        The ranges of the features.
    known : array of int
        Features found before; new ones also have to be unlikely by chance, since among many
        features a few rows are close together in some.

    Returns
    -------
    array of int
        Ascending.
    """
    low, high = quantiles(X[members], TRIM)
    inside = _inside(X, low, high)
    kept = inside[members].mean(axis=0)
    even = EVEN_ROWS * np.minimum((high - low) / scales, 1.0)
    others = inside[~members]
    share = (others.sum(axis=0) + even) / (len(others) + EVEN_ROWS)
    denser = kept >= CONCENTRATION * share
    certain = _unlikely(kept, np.minimum(share, 1.0), int(members.sum()), X.shape[1])
    certain[known] = True
    return np.flatnonzero(denser & certain)


def fit_intervals(
    X: FloatArray,
    eligible: BoolArray,
    members: BoolArray,
    features: IntArray,
    last: IntervalFit | None,
    scales: FloatArray,
) -> IntervalFit:
    """Find where a cluster ends: members lost and strangers let in are fewest.

    Parameters
    ----------
    X : (n, p) array of float
        The table.
    eligible : (n,) array of bool
        The rows that may be members.
    members : (n,) array of bool
        The rows that are at the moment.
    features : array of int
        The features of the box.
    last : IntervalFit or None
        The fit that the members come from; its truncation is allowed for.
    scales : (p,) array of float
        The ranges of the features.

    Returns
    -------
    Fit
    """
    level = ndtr(-1.0) if last is None else _level_of_one_deviation(last.reach, last.strangers)
    values = X[:, features]
    left, right = quantiles(values[members], level)
    middle, deviation = (left + right) / 2, (right - left) / 2
    deviation = np.maximum(deviation, 1e-9 * scales[features])
    distances = np.abs(values[~members] - middle) / deviation
    strangers = _strangers(distances, eligible[~members])
    lost = members.sum() * len(features) * 2 * ndtr(-REACH)
    best = int(np.argmin(lost + strangers))
    reach = float(REACH[best])
    share = min(strangers[best] / members.sum(), 0.5)
    return IntervalFit(middle - reach * deviation, middle + reach * deviation, reach, share)


def _level_of_one_deviation(reach: float, strangers: float) -> float:
    """Quantile level of minus one deviation, for a normal cut at ``reach`` with a flat background.

    Without it the fit would follow its own cut and shrink round by round.
    """
    normal = (ndtr(-1.0) - ndtr(-reach)) / (1 - 2 * ndtr(-reach))
    return float((1 - strangers) * normal + strangers * (reach - 1) / (2 * reach))


def _strangers(distances: FloatArray, eligible: BoolArray) -> FloatArray:
    """Estimate for every reach how many rows of no cluster would be inside.

    Two estimates, the larger counts: features are independent; or, what nested clusters break,
    rows that miss the box in one feature only, and by far, go on evenly into it.
    """
    counts = np.zeros(len(REACH))
    n_others, n_features = distances.shape
    candidates = distances[eligible]
    if n_others == 0 or len(candidates) == 0:
        return counts
    for i, reach in enumerate(REACH):
        share = ((distances <= reach).sum(axis=0) + 1) / (n_others + 2)
        counts[i] = len(candidates) * np.prod(share)
        if n_features > 1:
            outside = ~(candidates <= reach)
            near = candidates[outside.sum(axis=1) == 1]
            far = (near > 2 * reach).sum(axis=0)
            share_far = 1 - ((distances <= 2 * reach).sum(axis=0) + 1) / (n_others + 2)
            counts[i] = max(counts[i], float((far * share / share_far).max()))
    return counts


def _without_cutting(
    X: FloatArray,
    eligible: BoolArray,
    members: BoolArray,
    features: IntArray,
    fit: IntervalFit | None,
    scales: FloatArray,
) -> tuple[IntArray, BoolArray, IntervalFit | None]:
    """Drop the features that only cut the cluster: most rows of the box without them are outside.

    A chance coincidence of some rows looks like a relevant feature when those rows are all there
    is to see; the rows that match in every other feature tell the difference.
    """
    if len(features) == 0 or members.sum() == 0:
        return features, members, None
    while True:
        fit = fit_intervals(X, eligible, members, features, fit, scales)
        if len(features) == 1:
            return features, members, fit
        values = X[:, features]
        inside = _inside(values, fit.low, fit.high)
        cutting = _cutting(values, eligible, inside, fit, X.shape[1])
        if len(cutting) == 0:
            return features, members, fit
        # The worst quarter at a time: the others may be fine once those are gone.
        worst = cutting[: -(-len(cutting) // 4)]
        staying = np.setdiff1d(np.arange(len(features)), worst)
        if len(staying) == 0:
            return features, members, fit
        features, fit = features[staying], None
        members = eligible & inside[:, staying].all(axis=1)
        if members.sum() == 0:
            return features, members, None


def _cutting(
    values: FloatArray, eligible: BoolArray, inside: BoolArray, fit: IntervalFit, p: int
) -> IntArray:
    """Find the features of a box that only cut it, the worst first.

    For each feature: of the rows that match in all others, how many are inside? The others are
    counted generously, for the deviations may come from few rows, and less those that independent
    features would put there. A feature goes if it keeps too small a share of the cluster, or if it
    cuts and the rows inside it may well be a coincidence.
    """
    slack = (REACH[-1] / fit.reach - 1) * (fit.high - fit.low) / 2
    near = _inside(values, fit.low - slack, fit.high + slack)
    members = inside.all(axis=1) & eligible
    misses = (~near[eligible]).sum(axis=1, keepdims=True)
    elsewhere = ((misses - ~near[eligible] == 0) & ~inside[eligible]).sum(axis=0)
    outsiders = near[~members]
    share = (outsiders.sum(axis=0) + 1) / (len(outsiders) + 2)
    by_chance = (eligible & ~members).sum() * np.exp(np.log(share).sum() - np.log(share))
    size = members.sum()
    kept = size / np.maximum(size + np.maximum(elsewhere - by_chance, 0), 1)
    narrow = (inside[~members].sum(axis=0) + 1) / (len(outsiders) + 2)
    coincidence = ~_unlikely(size / np.maximum(size + elsewhere, 1), narrow, size + elsewhere, p)
    cutting = np.flatnonzero((kept < LEAST_KEPT) | ((kept < MOSTLY_KEPT) & coincidence))
    return cutting[np.argsort(kept[cutting], kind="stable")]


def _unlikely(found: FloatArray, share: FloatArray, n_rows: Any, n_features: int) -> BoolArray:
    """Say where a share of some rows inside an interval is no coincidence.

    The bound on the binomial tail allows for the choice of the feature and of the interval's ends.
    """
    n_rows = np.maximum(n_rows, 2)
    evidence = n_rows * (rel_entr(found, share) + rel_entr(1 - found, 1 - share))
    return (found > share) & (evidence > np.log(n_features) + 2 * np.log(n_rows) + UNLIKELY)


def _inside(values: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    return (values >= low) & (values <= high)


def quantiles(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper quantile of every column, missing values left out."""
    missing = np.isnan(values)
    if not missing.any():
        low, high = np.quantile(values, [level, 1 - level], axis=0)
        return low, high
    # numpy.nanquantile warns about columns without a value; here they simply have no quantile.
    ordered = np.sort(values, axis=0)
    last = np.maximum(len(values) - missing.sum(axis=0) - 1, 0)
    ends = []
    for place in (level * last, (1 - level) * last):
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, last)
        first, second = (np.take_along_axis(ordered, i[None], axis=0)[0] for i in (below, above))
        ends.append(first + (place - below) * (second - first))
    return ends[0], ends[1]
