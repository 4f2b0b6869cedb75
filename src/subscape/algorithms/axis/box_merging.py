"""MineClus' way from many boxes to a given number: drop the weak ones, merge the close ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from subscape.algorithms.axis.box_refinement import Box, hold

__all__ = ["drop_weak", "merge_to"]


def drop_weak(quality: NDArray[np.float64], n_clusters: int) -> list[int]:
    """Leave out the boxes below the largest gap in quality, if enough remain.

    Parameters
    ----------
    quality : (m,) array of float
        The quality of every box.
    n_clusters : int
        How many have to stay.

    Returns
    -------
    list of int
        The boxes that stay, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.algorithms.axis.box_merging import drop_weak
    >>> drop_weak(np.array([9.0, 2.0, 8.5, 8.0]), 2), drop_weak(np.array([9.0, 2.0, 8.5, 8.0]), 4)
    ([0, 2, 3], [0, 1, 2, 3])
    """
    if len(quality) <= n_clusters:
        return list(range(len(quality)))
    ordered = np.sort(quality)
    weak = int(np.argmax(np.diff(ordered))) + 1
    if len(quality) - weak < n_clusters:
        return list(range(len(quality)))
    return np.flatnonzero(quality >= ordered[weak]).tolist()


def merge_to(
    table: NDArray[np.float64], boxes: list[Box], n_clusters: int, gain: float
) -> tuple[list[Box], list[int]]:
    """Merge the pair that is best by compactness and quality until ``n_clusters`` are left.

    Pairs are ranked by the mean distance to the centroid in their common features, averaged over
    the features, and by the quality of the merged box; the least sum of ranks is merged.

    Parameters
    ----------
    table : (n, p) array of float
        The table.
    boxes : list of Box
        The boxes to merge.
    n_clusters : int
        How many are wanted; more stay if they have no feature in common.
    gain : float
        The worth of a feature, log(1 / beta).

    Returns
    -------
    boxes : list of Box
        A merged box reaches over both in their common features.
    origins : list of int
        For each box the first of those it was made of.
    """
    boxes, origins = list(boxes), list(range(len(boxes)))
    while len(boxes) > n_clusters:
        pairs = [(i, j) for j in range(len(boxes)) for i in range(j)]
        merged = {pair: _merge(boxes[pair[0]], boxes[pair[1]]) for pair in pairs}
        pairs = [pair for pair in pairs if len(merged[pair].features)]
        if not pairs:
            break
        spread, quality = np.empty(len(pairs)), np.empty(len(pairs))
        for place, (i, j) in enumerate(pairs):
            rows = hold(table, boxes[i]) | hold(table, boxes[j])
            values = table[np.ix_(rows, merged[i, j].features)]
            spread[place] = np.abs(values - values.mean(axis=0)).mean()
            quality[place] = np.log(rows.sum()) + values.shape[1] * gain
        i, j = pairs[int(np.argmin(rankdata(spread) + rankdata(-quality)))]
        boxes[i] = merged[i, j]
        del boxes[j], origins[j]
    return boxes, origins


def _merge(a: Box, b: Box) -> Box:
    common, in_a, in_b = np.intersect1d(a.features, b.features, return_indices=True)
    low = np.minimum(a.low[in_a], b.low[in_b])
    return Box(common, low, np.maximum(a.high[in_a], b.high[in_b]))
