"""How similar a clustering is to known ones: the best matching of their density profiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from subscape.core.types import FloatArray, IntArray

from .regions import Regions

__all__ = ["Known", "best_matching", "known_profiles"]


class Known(NamedTuple):
    """A known clustering, seen through the regions of the table.

    Attributes
    ----------
    profile : (n_known, n_regions) array
        Rows of each known cluster in each region.
    weights : (n_rows, n_known) array
        What a row adds to the overlap of its new cluster with each known one: the known cluster's
        rows in all of the row's regions.
    certificate : float
        No clustering can be less similar than this: the mean over all matchings, which is the same
        for all clusterings.
    """

    profile: FloatArray
    weights: FloatArray
    certificate: float

    @property
    def n_clusters(self) -> int:
        return len(self.profile)

    def overlaps(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """Overlap of every known cluster with every cluster of a partition."""
        sums = np.zeros((n_clusters, self.n_clusters))
        np.add.at(sums, labels, self.weights)
        return sums.T

    def similarity(self, labels: IntArray, n_clusters: int) -> float:
        """Similarity of a partition: the overlaps of the best matching of its clusters."""
        return best_matching(self.overlaps(labels, n_clusters))


def known_profiles(regions: Regions, known: list[IntArray], n_clusters: int) -> list[Known]:
    """What the search has to know about each known labelling (−1: in no cluster)."""
    made = []
    for labels in known:
        profile = regions.profile(labels, int(labels.max(initial=-1)) + 1)
        weights = np.zeros((len(labels), len(profile)))
        for codes in regions.codes.T:
            weights += profile[:, codes].T
        mean = float(regions.counts @ profile.sum(axis=0)) / max(n_clusters, len(profile))
        made.append(Known(profile, weights, mean))
    return made


def best_matching(overlaps: FloatArray) -> float:
    """The largest sum of entries, one in each row and column of the shorter side.

    >>> best_matching(np.array([[3.0, 2.0], [2.0, 0.0]]))
    4.0
    """
    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    return float(overlaps[rows, columns].sum())
