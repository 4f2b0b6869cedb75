"""How much narrower clusters are, in their subspaces, than the table: a figure per cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.checks import check_table
from subscape.core.clustering import SubspaceClustering
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray
from subscape.measures.flats.fitting import clustering_of
from subscape.tables.table import Table

from .nulls import normal_scores

#: Rows of the table's own spread that are mixed into every cluster: two rows that happen to
#: coincide are then no evidence.
PRIOR_ROWS = 1.0


class ClusterScores(NamedTuple):
    """What :func:`score_clusters` returns; large is good.

    Attributes
    ----------
    gain : array of shape (n_clusters,)
        Log likelihood (nats) that the rows gain when each cluster has, in its subspace, a centre
        and a spread of its own instead of the table's.
    statistic : array of shape (n_clusters,)
        ``gain / sqrt(size)``: the mean gain of a row, times the root of the number of rows. Small
        and large clusters that chance finds have about the same.
    total : float
        Sum of the gains; rows of several clusters count for each in part.

    See Also
    --------
    score_clusters : Makes them.
    """

    gain: FloatArray
    statistic: FloatArray
    total: float

    @property
    def largest(self) -> float:
        """The largest statistic of a cluster, 0 if there is none."""
        return float(self.statistic.max(initial=0.0))


def score_clusters(X: ArrayLike, clustering: Any) -> ClusterScores:
    """Score each cluster by how much narrower it is than the table, in its own subspace.

    Axis-aligned and weighted clusters are scored on normal scores, feature by feature, so that the
    shape of a feature's distribution doesn't matter and outliers don't rule; oriented clusters on
    the values themselves, by the mean variance within the subspace. What a score is worth says only
    a comparison with clusters that the same finder finds in tables without clusters:
    :func:`significance`.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Missing values are left out.
    clustering : SubspaceClustering, fitted finder or label vector

    Returns
    -------
    ClusterScores

    See Also
    --------
    significance : Whether chance gives such scores.
    feature_tests : Column by column.

    Examples
    --------
    >>> from subscape.datasets import planted_axes
    >>> from subscape.validation import score_clusters
    >>> X, truth = planted_axes(200, 10, n_clusters=2, dims=3, random_state=0)
    >>> score_clusters(X, truth).statistic.round(1)
    array([22.6, 22.6])
    >>> score_clusters(X, truth.complement()).largest < 5
    True
    """
    values = X.to_numpy() if isinstance(X, Table) else X
    table = np.asarray(check_table(values, "score_clusters", missing=True), np.float64)
    found = clustering_of(clustering, table, X)
    if isinstance(found.subspaces, OrientedSubspaces):
        gains = _oriented_gains(table, found, found.subspaces)
    else:
        gains = _aligned_gains(normal_scores(table), found)
    sizes = np.asarray(found.sizes, np.float64)
    total = float(gains @ _shares(found))
    return ClusterScores(gains, gains / np.sqrt(np.maximum(sizes, 1e-300)), total)


def _aligned_gains(table: FloatArray, found: SubspaceClustering) -> FloatArray:
    present = ~np.isnan(table)
    filled = np.where(present, table, 0.0)
    counts = np.maximum(present.sum(axis=0), 1)
    filled -= np.where(present, filled.sum(axis=0) / counts, 0.0)
    wide = np.square(filled).sum(axis=0) / counts
    weighted = found.subspaces.kind == "weighted"
    gains = np.zeros(found.n_clusters)
    for k in range(found.n_clusters):
        relevance = np.asarray(found.subspaces.relevance[k], np.float64)
        if weighted:
            relevance = relevance * float(found.subspaces.dims[k])
        # A constant feature says nothing about any row.
        used = np.flatnonzero((relevance > 0) & (wide > 0))
        rows, weights = found.members.rows(k), found.members.weights(k).astype(np.float64)
        part = filled[np.ix_(rows, used)]
        known = weights @ present[np.ix_(rows, used)]
        squares = weights @ np.square(part) - np.square(weights @ part) / np.maximum(known, 1e-300)
        narrow = (np.maximum(squares, 0.0) + PRIOR_ROWS * wide[used]) / (known + PRIOR_ROWS)
        gains[k] = 0.5 * float(relevance[used] * known @ np.log(wide[used] / narrow))
    return gains


def _oriented_gains(
    table: FloatArray, found: SubspaceClustering, subspaces: OrientedSubspaces
) -> FloatArray:
    present = ~np.isnan(table)
    centre = np.where(present, table, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    table = np.where(present, table - centre, 0.0)
    gains = np.zeros(found.n_clusters)
    every = np.ones(len(table))
    for k in range(found.n_clusters):
        dims = float(subspaces.dims[k])
        broad = _squares(table, every, subspaces, k) / len(table)
        if dims == 0 or broad <= 0:
            continue
        rows, weights = found.members.rows(k), found.members.weights(k).astype(np.float64)
        size = float(weights.sum())
        part = table[rows] - weights @ table[rows] / size
        tight = _squares(part, weights, subspaces, k) + PRIOR_ROWS * broad
        gains[k] = 0.5 * size * dims * float(np.log(broad * (size + PRIOR_ROWS) / tight))
    return gains


def _squares(rows: FloatArray, weights: FloatArray, subspaces: OrientedSubspaces, k: int) -> float:
    """Squared lengths within subspace ``k``, summed."""
    stored = float(weights @ np.square(rows @ subspaces.bases[k]).sum(axis=1))
    if not subspaces.is_complement:
        return stored
    return max(float(weights @ np.square(rows).sum(axis=1)) - stored, 0.0)


def _shares(found: SubspaceClustering) -> FloatArray:
    """Part of each cluster's gain that counts in the total."""
    if found.n_clusters == 0 or found.is_row_disjoint:
        return np.ones(found.n_clusters)
    members = found.members
    covered = np.bincount(members.indices, members.values, minlength=members.n_rows)
    sizes = np.asarray(found.sizes, np.float64)
    parts = [
        float(members.weights(k) @ (1 / np.maximum(covered[members.rows(k)], 1.0)))
        for k in range(found.n_clusters)
    ]
    return np.array(parts) / sizes
