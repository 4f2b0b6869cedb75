"""The regions of a table: each attribute cut into bins, empty ones left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from subscape.arrays.discretize import count_limits_below
from subscape.core.types import FloatArray, IntArray
from subscape.measures.density.bins import Bins

__all__ = ["Regions"]


@dataclass(frozen=True, eq=False)
class Regions:
    """In which region of each attribute every row lies.

    Attributes
    ----------
    codes : (n, n_attributes) int array
        Regions are numbered through all attributes; each holds at least one row.
    attribute : (n_regions,) int array
        The attribute of each region, ascending.
    """

    codes: IntArray
    attribute: IntArray

    @classmethod
    def of(cls, X: FloatArray, bins: Any, binning: str, labels: IntArray) -> Regions:
        """Cut the attributes of a table; ``labels`` are the classes for "mdl".

        >>> regions = Regions.of(np.array([[0.0, 1], [1, 2], [9, 1]]), 3, "uniform", np.arange(3))
        >>> regions.codes
        array([[0, 2],
               [0, 3],
               [1, 2]])
        """
        made = Bins.of(X, bins, binning=binning, labels=labels)
        places = count_limits_below(np.ascontiguousarray(X), *made.limits).T + made.offsets[:-1]
        used, codes = np.unique(places, return_inverse=True)
        attribute = np.asarray(np.searchsorted(made.offsets, used, side="right") - 1, np.int64)
        return cls(codes.reshape(places.shape).astype(np.int64), attribute)

    @property
    def n_regions(self) -> int:
        return len(self.attribute)

    @property
    def n_attributes(self) -> int:
        return self.codes.shape[1]

    @cached_property
    def counts(self) -> FloatArray:
        """Rows in each region (dens)."""
        return np.bincount(self.codes.ravel(), minlength=self.n_regions).astype(np.float64)

    def profile(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """Rows of each cluster in each region; rows labelled −1 count nowhere."""
        inside = labels >= 0
        cells = labels[inside, None] * self.n_regions + self.codes[inside]
        counted = np.bincount(cells.ravel(), minlength=n_clusters * self.n_regions)
        return counted.reshape(n_clusters, self.n_regions).astype(np.float64)
