"""From cores to clusters: a mixture of clusters that are normal in their own features only.

In all other features a cluster is spread evenly, like the background, which is one more component.
A row may belong to a cluster only if it lies within the ellipsoid that holds all but a fraction
``alpha`` of it, so that strangers can't widen a cluster step by step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from subscape.core.types import BoolArray, FloatArray, IntArray

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
    posterior: FloatArray
    """(n_clusters + 1, n) probabilities; the last line is the background."""

    def inside(self, scaled: FloatArray, alpha: float) -> BoolArray:
        """(n_clusters, n): rows in the ellipsoid that leaves out a fraction alpha of a cluster."""
        inside = np.empty((len(self.features), len(scaled)), dtype=bool)
        for k, features in enumerate(self.features):
            away = _squared_distances(scaled, features, self.means[k], self.variances[k])
            inside[k] = away <= chdtri(len(features), alpha)
        return inside

    def select(self, kept: list[int]) -> Mixture:
        """The mixture of some of the clusters, to be fitted again."""
        lines = [*kept, len(self.features)]
        return Mixture(
            [self.features[k] for k in kept],
            [self.means[k] for k in kept],
            [self.variances[k] for k in kept],
            self.posterior[lines],
        )


def _squared_distances(
    scaled: FloatArray, features: IntArray, mean: FloatArray, variance: FloatArray
) -> FloatArray:
    return np.square((scaled[:, features] - mean) / np.sqrt(variance)).sum(axis=1)


def fit_mixture(
    scaled: FloatArray,
    features: list[IntArray],
    start: FloatArray,
    alpha: float,
    max_iter: int,
    tol: float,
) -> Mixture:
    """Fit the clusters by expectation maximisation with trimmed memberships.

    Parameters
    ----------
    scaled : (n, p) array
        The table, on a scale where the background has density 1.
    features : list of arrays
        Per cluster the features in which it is normal.
    start : (n_clusters, n) array
        Memberships to begin with.
    alpha : float
        Fraction of a cluster that may be cut off.
    max_iter : int
    tol : float
        The fit ends when memberships change by less than this per row.

    Returns
    -------
    Mixture
    """
    n_rows, n_clusters = len(scaled), len(features)
    weights = start
    posterior = np.empty((n_clusters + 1, n_rows))
    before: FloatArray | None = None
    for _ in range(max_iter):
        means, variances = [], []
        sizes = weights.sum(axis=1)
        logs = np.full((n_clusters + 1, n_rows), -np.inf)
        logs[-1] = np.log(max(1.0 - sizes.sum() / n_rows, LEAST_BACKGROUND))
        for k, own in enumerate(features):
            part = scaled[:, own]
            size = max(float(sizes[k]), np.finfo(float).tiny)
            mean = weights[k] @ part / size
            variance = np.maximum(weights[k] @ np.square(part - mean) / size, LEAST_VARIANCE)
            means.append(mean)
            variances.append(variance)
            # What is left of a cluster that faded away has no logarithm.
            if sizes[k] <= n_rows * np.finfo(float).tiny:
                continue
            away = _squared_distances(scaled, own, mean, variance)
            near = away <= chdtri(len(own), alpha)
            height = np.log(sizes[k] / n_rows) - 0.5 * np.log(2 * np.pi * variance).sum()
            logs[k, near] = height - 0.5 * away[near]
        logs -= logs.max(axis=0)
        np.exp(logs, out=posterior)
        posterior /= posterior.sum(axis=0)
        weights = posterior[:-1]
        if before is not None and np.abs(posterior - before).sum() < tol * n_rows:
            break
        before = posterior.copy()
    return Mixture(features, means, variances, posterior)


def irredundant(mixture: Mixture, scaled: FloatArray, alpha: float) -> list[int]:
    """Leave out clusters that others explain, such as the rows that two clusters share.

    Parameters
    ----------
    mixture : Mixture
    scaled : (n, p) array
    alpha : float

    Returns
    -------
    list of int
        Clusters that stay. One goes if in each of its features most of its rows are in another
        cluster with that feature; clusters with few cells are looked at first.
    """
    own = mixture.inside(scaled, alpha)
    wide = mixture.inside(scaled, alpha**AT_THE_RIM)
    cells = [int(rows.sum()) * len(f) for rows, f in zip(own, mixture.features, strict=True)]
    staying = list(range(len(cells)))
    for k in sorted(staying, key=lambda k: (cells[k], -k)):
        rows = np.flatnonzero(own[k])
        covered = np.zeros((len(rows), scaled.shape[1]), dtype=bool)
        for other in staying:
            if other != k:
                covered[np.ix_(wide[other, rows], mixture.features[other])] = True
        if len(rows) == 0 or covered[:, mixture.features[k]].mean(axis=0).min() >= COVERED:
            staying.remove(k)
    return staying
