"""From cores to clusters: a mixture of clusters that are normal in their own features only.

In all other features a cluster is spread evenly, like the background, which is one more component.
A row may belong to a cluster only if it lies within the ellipsoid that holds all but a fraction
``alpha`` of it, so that strangers can't widen a cluster step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

from subscape.arrays.backend import compiled
from subscape.arrays.bitsets import count
from subscape.arrays.blocks import Blocks, as_blocks
from subscape.arrays.row_bits import rows_where
from subscape.arrays.row_values import each_row
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.base import Watch

__all__ = ["Mixture", "fit_mixture", "irredundant"]


#: Least variance, on the scale of 0 to 1: a cluster may be a single value.
LEAST_VARIANCE = 1e-8
#: Least share of the rows that the background is taken to have.
LEAST_BACKGROUND = 1e-3
#: A cluster is redundant if each of its features is covered to this share by other clusters.
COVERED = 0.65
#: Rows at this power of alpha count as covered: a row in two clusters may be at the rim of one.
AT_THE_RIM = 3


class Mixture(NamedTuple):
    """Clusters in their own features, and an even background."""

    features: list[IntArray]
    """Per cluster the features in which it is normal."""
    means: list[FloatArray]
    variances: list[FloatArray]
    posterior: Any = None
    """Row values: the probability of each cluster, and last of the background."""

    @property
    def plain(self) -> Mixture:
        """The clusters alone, to be sent to where rows are."""
        return self._replace(posterior=None)

    def inside(self, scaled: FloatArray, alpha: float) -> BoolArray:
        """(n_clusters, n): rows in the ellipsoid that leaves out a fraction alpha of a cluster."""
        inside = np.empty((len(self.features), len(scaled)), dtype=bool)
        for k, features in enumerate(self.features):
            reach = float(chdtri(len(features), alpha))
            away = squared_distances(scaled, features, self.means[k], self.variances[k], reach)
            inside[k] = away <= reach
        return inside

    def select(self, kept: list[int]) -> Mixture:
        """The mixture of some of the clusters, to be fitted again."""
        lines = [*kept, len(self.features)]
        return Mixture(
            [self.features[k] for k in kept],
            [self.means[k] for k in kept],
            [self.variances[k] for k in kept],
            each_row(
                lambda rows, own: own[:, lines], self.posterior, dtype=float, width=(len(lines),)
            ),
        )


@compiled("_mixture")
def squared_distances(
    scaled: FloatArray, features: IntArray, mean: FloatArray, variance: FloatArray, reach: float
) -> FloatArray:
    """Squared distances of all rows from a mean, in its features and in its spreads.

    Infinite beyond ``reach``.

    >>> rows = np.array([[1.0, 9.0, 4.0], [1.0, 9.0, 5.0]])
    >>> squared_distances(rows, np.array([0, 2]), np.zeros(2), np.full(2, 4.0), 5.0)
    array([4.25,  inf])
    """
    away = np.square((scaled[:, features] - mean) / np.sqrt(variance)).sum(axis=1)
    return np.where(away <= reach, away, np.inf)


@compiled("_mixture")
def weighted_sums(
    block: FloatArray, weights: FloatArray, features: IntArray, mean: FloatArray, power: int
) -> FloatArray:
    """Sum of the differences from a mean, or of their squares, over rows with weights.

    >>> rows = np.array([[1.0, 9.0], [3.0, 9.0]])
    >>> weighted_sums(rows, np.array([1.0, 0.5]), np.array([0]), np.array([1.0]), 2)
    array([2.])
    """
    return np.asarray(weights @ (block[:, features] - mean) ** power)


def fit_mixture(
    scaled: FloatArray | Blocks,
    features: list[IntArray],
    start: Any,
    alpha: float,
    max_iter: int,
    tol: float,
    watch: Watch | None = None,
) -> Mixture:
    """Fit the clusters by expectation maximisation with trimmed memberships.

    Two passes over the table are one step: one for the variances, one for the memberships and the
    means of the next step.

    Parameters
    ----------
    scaled : (n, p) array or Blocks
        The table, on a scale where the background has density 1.
    features : list of arrays
        Per cluster the features in which it is normal.
    start : row values of n_clusters numbers
        Memberships to begin with.
    alpha : float
        Fraction of a cluster that may be cut off.
    max_iter : int
    tol : float
        The fit ends when memberships change by less than this per row.
    watch : Watch or None
        ... or when its time is over, after one step at least.

    Returns
    -------
    Mixture
    """
    table = as_blocks(scaled)
    n_rows, n_clusters = len(table), len(features)
    weights, posterior = start, table.row_values(np.float64, 0.0, (n_clusters + 1,))
    sums = table.fold(
        lambda block, rows, own: _sums(block, _by_cluster(own, n_clusters), features),
        reads=(start,),
    )
    means: list[FloatArray] = []
    variances: list[FloatArray] = []
    for step in range(max_iter):
        sizes, totals = sums
        divisors = [max(float(size), np.finfo(float).tiny) for size in sizes]
        means = [total / size for total, size in zip(totals, divisors, strict=True)]
        squares = table.fold(_Squares(features, means), reads=(weights,))
        variances = [
            np.maximum(square / size, LEAST_VARIANCE)
            for square, size in zip(squares, divisors, strict=True)
        ]
        plain = Mixture(features, means, variances)
        change, sums = table.fold(_Expectation(plain, sizes, n_rows, alpha), writes=(posterior,))
        weights = posterior
        if step and change < tol * n_rows:
            break
        if watch is not None and watch.out_of_time():
            break
    return Mixture(features, means, variances, posterior)


def _by_cluster(own: FloatArray, n_clusters: int) -> FloatArray:
    """Memberships of some rows, a line per cluster."""
    return np.ascontiguousarray(own[:, :n_clusters].T)


def _sums(
    block: FloatArray, weights: FloatArray, features: list[IntArray]
) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Sizes of the clusters, and the sums of their rows."""
    totals = [
        weighted_sums(block, weights[k], own, np.zeros(len(own)), 1)
        for k, own in enumerate(features)
    ]
    return weights.sum(axis=1), tuple(totals)


@dataclass(frozen=True, eq=False)
class _Squares:
    """Sums of squares around the means."""

    features: list[IntArray]
    means: list[FloatArray]

    def __call__(self, block: FloatArray, rows: slice, own: FloatArray) -> tuple[FloatArray, ...]:
        weights = _by_cluster(own, len(self.features))
        return tuple(
            weighted_sums(block, weights[k], columns, mean, 2)
            for k, (columns, mean) in enumerate(zip(self.features, self.means, strict=True))
        )


@dataclass(frozen=True, eq=False)
class _Expectation:
    """New memberships; how much they change, and the sums of the next step."""

    clusters: Mixture
    sizes: FloatArray
    n_rows: int
    alpha: float

    def __call__(self, block: FloatArray, rows: slice, own: FloatArray) -> Any:
        features, means, variances, _ = self.clusters
        logs = np.full((len(features) + 1, len(block)), -np.inf)
        logs[-1] = np.log(max(1.0 - self.sizes.sum() / self.n_rows, LEAST_BACKGROUND))
        for k, columns in enumerate(features):
            # What is left of a cluster that faded away has no logarithm.
            if self.sizes[k] <= self.n_rows * np.finfo(float).tiny:
                continue
            reach = float(chdtri(len(columns), self.alpha))
            away = squared_distances(block, columns, means[k], variances[k], reach)
            near = away <= reach
            share = np.log(self.sizes[k] / self.n_rows)
            height = share - 0.5 * np.log(2 * np.pi * variances[k]).sum()
            logs[k, near] = height - 0.5 * away[near]
        logs -= logs.max(axis=0)
        posterior = np.exp(logs)
        posterior /= posterior.sum(axis=0)
        change = float(np.abs(posterior - own.T).sum())
        own[:] = posterior.T
        return change, _sums(block, posterior[:-1], features)


def irredundant(mixture: Mixture, scaled: FloatArray | Blocks, alpha: float) -> list[int]:
    """Leave out clusters that others explain, such as the rows that two clusters share.

    Parameters
    ----------
    mixture : Mixture
    scaled : (n, p) array or Blocks
    alpha : float

    Returns
    -------
    list of int
        Clusters that stay. One goes if in each of its features most of its rows are in another
        cluster with that feature; clusters with few cells are looked at first.
    """
    plain, n_clusters = mixture.plain, len(mixture.features)
    packed = rows_where(
        as_blocks(scaled),
        lambda block: np.vstack(
            [plain.inside(block, alpha), plain.inside(block, alpha**AT_THE_RIM)]
        ),
        2 * n_clusters,
    )
    own, wide = packed[:n_clusters], packed[n_clusters:]
    sizes = count(own)
    cells = [int(size) * len(f) for size, f in zip(sizes, mixture.features, strict=True)]
    # How many clusters have a row in a feature, in binary: of thousands of clusters each is looked
    # at against all others at once.
    sharing: dict[int, list[int]] = {}
    for k in range(n_clusters):
        for feature in mixture.features[k].tolist():
            sharing.setdefault(feature, []).append(k)
    having = {}
    for feature, clusters in sharing.items():
        planes = np.zeros((len(clusters).bit_length(), wide.shape[1]), wide.dtype)
        for k in clusters:
            _count_up(planes, wide[k])
        having[feature] = planes
    staying = set(range(n_clusters))
    for k in sorted(staying, key=lambda k: (cells[k], -k)):
        others = {}
        for feature in mixture.features[k].tolist():
            others[feature] = _counted_down(having[feature], wide[k])
            covered = np.bitwise_or.reduce(others[feature], axis=0)
            if sizes[k] and count(own[k] & covered) / sizes[k] < COVERED:
                break
        else:
            staying.remove(k)
            having |= others
    return sorted(staying)


def _count_up(planes: BitArray, rows: BitArray) -> None:
    """Add one to the numbers of some rows; a plane has a binary digit of all, the ones first."""
    for plane in planes:
        before = plane.copy()
        plane ^= rows
        rows = before & rows


def _counted_down(planes: BitArray, rows: BitArray) -> BitArray:
    """The same numbers, less one for some rows that have one at least."""
    left = planes.copy()
    for plane in left:
        plane ^= rows
        rows = rows & plane
    return left
