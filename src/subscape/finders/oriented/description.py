"""How long it takes to describe rows that lie near flats: what chooses dimensions and settings.

A cluster is described by a normal distribution that is spread freely along a flat and equally in
all directions across it, its rows by where they lie in it; noise rows by where they lie in a cube
as wide as the table is in its widest direction. All lengths are in nats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from subscape.core.types import BoolArray, FloatArray, IndexArray

#: Variances are told apart down to this share of the largest one of the table.
SMALLEST_VARIANCE = 1e-8
#: Nats per parameter in units of log(rows). Three times the usual half: patches of flats have
#: edges, which normal distributions fit a little better in pieces than as a whole.
PARAMETER_COST = 1.5
#: Rows are alike if their variance across the flat is below this share of the table's.
TIGHT = 0.25
#: Added to the length of clusters that are no such thing.
PROHIBITIVE = 1e15
#: Added to the length of flats that somebody has ruled out: more than any other.
FORBIDDEN = 1e18
#: A flat of dimension q is fitted to more than so many times q rows.
ROWS_PER_DIMENSION = 3


class Moments(NamedTuple):
    """Rows, sums and sums of products of groups of rows; they add up when groups merge."""

    counts: FloatArray
    sums: FloatArray
    products: FloatArray

    @classmethod
    def of(cls, X: FloatArray, labels: IndexArray) -> Moments:
        """Moments of clusters 0, 1, ... of a table with means (close to) 0."""
        k, p = int(labels.max(initial=-1)) + 1, X.shape[1]
        moments = cls(np.zeros(k), np.zeros((k, p)), np.zeros((k, p, p)))
        for i in range(k):
            rows = X[labels == i]
            moments.counts[i] = len(rows)
            moments.sums[i] = rows.sum(axis=0)
            moments.products[i] = rows.T @ rows
        return moments

    def joined(self, i: IndexArray, j: IndexArray) -> Moments:
        """Moments of the unions of groups ``i`` and ``j``."""
        return Moments(*(part[i] + part[j] for part in self))

    def means(self) -> FloatArray:
        return self.sums / self.counts[:, None]

    def covariances(self) -> FloatArray:
        """Covariance of each group, with 1 / n."""
        means = self.means()
        return self.products / self.counts[:, None, None] - means[:, :, None] * means[:, None, :]


class Lengths(NamedTuple):
    """Shortest description of each cluster, and the dimension of the flat that gives it."""

    nats: FloatArray
    dims: IndexArray


class FlatDims(NamedTuple):
    """The dimensions that flats may have; clusters that fit no such flat are noise."""

    least: int = 0
    most: int | None = None

    def refuse(self, dims: IndexArray) -> BoolArray:
        """Which of some dimensions are not allowed."""
        too_many = np.zeros(len(dims), bool) if self.most is None else dims > self.most
        return too_many | (dims < self.least)


#: All of them.
ANY_DIM = FlatDims()


class Description:
    """Lengths of descriptions of the rows of one table.

    Parameters
    ----------
    X : (n, p) array
        The table, centred.
    allowed : FlatDims
        Dimensions of flats that clusters may be described by.
    """

    def __init__(self, X: FloatArray, allowed: FlatDims = ANY_DIM) -> None:
        self.allowed = allowed
        self.n_rows, self.n_features = X.shape
        variances = np.linalg.eigvalsh(X.T @ X / len(X))
        widest = float(variances[-1])
        self.smallest = max(SMALLEST_VARIANCE * widest, np.finfo(float).tiny)
        #: Largest variance across a flat, in every direction on average.
        self.largest = max(TIGHT * float(variances.mean()), self.smallest)
        #: Nats per row of noise, its label aside.
        self.noise = 0.5 * self.n_features * np.log(12.0 * max(widest, self.smallest))

    def clusters(self, moments: Moments, cost: float = PARAMETER_COST) -> Lengths:
        """Length of each cluster with the best dimension of its flat, parameters and labels in."""
        p, counts = self.n_features, moments.counts[:, None]
        values = np.linalg.eigvalsh(moments.covariances())[:, ::-1]
        values = np.maximum(values, self.smallest)
        dims = np.arange(p)
        along = np.cumsum(np.log(values), axis=1) - np.log(values)
        across = np.cumsum(values[:, ::-1], axis=1)[:, ::-1] / (p - dims)
        nats = 0.5 * counts * (along + (p - dims) * np.log(across) + p * np.log(2 * np.pi * np.e))
        # Centre, orientation, spreads along the flat, spread across it.
        parameters = p + dims * (2 * p - dims - 1) / 2 + dims + 1
        nats += cost * parameters * np.log(self.n_rows)
        nats[(dims > 0) & (ROWS_PER_DIMENSION * dims >= counts)] += PROHIBITIVE
        nats[across > self.largest] += PROHIBITIVE
        nats[:, self.allowed.refuse(dims)] += FORBIDDEN
        best = nats.argmin(axis=1)
        shortest = nats[np.arange(len(nats)), best]
        return Lengths(shortest + self.labels(moments.counts), best)

    def labels(self, counts: FloatArray) -> FloatArray:
        """Nats to say which rows are in groups of these sizes."""
        return -xlogy(counts, counts / self.n_rows)

    def total(self, X: FloatArray, labels: IndexArray) -> float:
        """Length of the description of all rows by these clusters and noise (-1)."""
        n_noise = float(np.count_nonzero(labels < 0))
        nats = n_noise * self.noise + float(self.labels(np.array(n_noise)))
        if labels.max(initial=-1) >= 0:
            nats += float(self.clusters(Moments.of(X, labels)).nats.sum())
        return nats
