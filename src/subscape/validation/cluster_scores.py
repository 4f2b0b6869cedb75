"""How much narrower clusters are, in their subspaces, than the table: a figure per cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from subscape.core.checks import check_table
from subscape.core.clustering import SubspaceClustering
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.measures.flats.fitting import clustering_of
from subscape.tables.table import Table

from .nulls import normal_scores
from .unimodality import unimodal_columns, unimodal_table

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
    shape of a feature's distribution doesn't matter and outliers don't rule. Only several humps do,
    if a feature surely has them: its scores are those that its values have in a distribution with
    one hump near its own, so that a gap between two groups stays a gap. Oriented clusters are
    scored on the values themselves, by the mean variance within the subspace. What a score is worth
    says only a comparison with clusters that the same finder finds in tables without clusters:
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
    array([42.1, 39.1])
    >>> score_clusters(X, truth.complement()).largest < 5
    True
    """
    values = X.to_numpy() if isinstance(X, Table) else X
    table = np.asarray(check_table(values, "score_clusters", missing=True), np.float64)
    found = clustering_of(clustering, table, X)
    humped = humped_columns(table, unimodal_table(table))
    return scored_clusters(table, found, column_scores(table, humped))


def scored_clusters(
    table: FloatArray, found: SubspaceClustering, scores: Sequence[FloatArray]
) -> ClusterScores:
    """:func:`score_clusters` of a table that is checked, by the scores of its columns."""
    if isinstance(found.subspaces, OrientedSubspaces):
        gains = _oriented_gains(table, found, found.subspaces)
    else:
        gains = _aligned_gains(scores, found)
    sizes = np.asarray(found.sizes, np.float64)
    total = float(gains @ _shares(found))
    return ClusterScores(gains, gains / np.sqrt(np.maximum(sizes, 1e-300)), total)


def column_scores(table: FloatArray, humped: Iterable[int]) -> list[FloatArray]:
    """The columns on a scale on which those of null tables are standard normal.

    By rank, so that nothing of a column's distribution is left. Values of a column with several
    humps are told by where they lie in one with a single hump: the humps stay, and with them the
    groups that this column alone shows. That can be done in two ways, as one hump or another is
    kept as it is; then there is a table for each.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
    humped : iterable of int
        Columns with several humps.

    Examples
    --------
    >>> two = np.r_[np.linspace(-1, 1, 50), np.linspace(9, 11, 50)][:, None]
    >>> ways = [normal_scores(two), *column_scores(two, [0])]
    >>> [[round(float(half.std()), 1) for half in np.split(one, 2)] for one in ways]
    [[0.6, 0.6], [0.7, 0.1], [0.1, 0.7]]
    """
    scores = [normal_scores(table)]
    for j in humped:
        rows = np.flatnonzero(~np.isnan(table[:, j]))
        ways = unimodal_columns(table[rows, j])
        scores += [scores[0].copy() for _ in range(len(ways) - len(scores))]
        for place, one in enumerate(scores):
            values, counts = np.unique(ways[min(place, len(ways) - 1)], return_counts=True)
            middles = (np.cumsum(counts) - 0.5 * counts) / len(rows)
            one[rows, j] = ndtri(np.interp(table[rows, j], values, middles))
    return scores


def humped_columns(table: FloatArray, moved: FloatArray) -> IndexArray:
    """Columns whose values were moved, for null tables, to make one hump."""
    if moved is table:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(((moved != table) & ~np.isnan(table)).any(axis=0))


def _aligned_gains(tables: Sequence[FloatArray], found: SubspaceClustering) -> FloatArray:
    """Of every cluster, by each feature in that of the tables in which it is narrowest."""
    sides = [_centred(table) for table in tables]
    weighted = found.subspaces.kind == "weighted"
    gains = np.zeros(found.n_clusters)
    for k in range(found.n_clusters):
        relevance = np.asarray(found.subspaces.relevance[k], np.float64)
        if weighted:
            relevance = relevance * float(found.subspaces.dims[k])
        # A constant feature says nothing about any row.
        used = np.flatnonzero((relevance > 0) & (sides[0].wide > 0))
        rows, weights = found.members.rows(k), found.members.weights(k).astype(np.float64)
        known = weights @ sides[0].present[np.ix_(rows, used)]
        told = [_narrowness(side, rows, weights, used, known) for side in sides]
        gains[k] = 0.5 * float(relevance[used] * known @ np.maximum.reduce(told))
    return gains


class _Centred(NamedTuple):
    """A table with columns of mean 0, what is missing filled with that; and their variances."""

    present: BoolArray
    filled: FloatArray
    wide: FloatArray


def _centred(table: FloatArray) -> _Centred:
    present = ~np.isnan(table)
    filled = np.where(present, table, 0.0)
    counts = np.maximum(present.sum(axis=0), 1)
    filled -= np.where(present, filled.sum(axis=0) / counts, 0.0)
    return _Centred(present, filled, np.square(filled).sum(axis=0) / counts)


def _narrowness(
    side: _Centred,
    rows: NDArray[np.signedinteger],
    weights: FloatArray,
    used: IndexArray,
    known: FloatArray,
) -> FloatArray:
    """Logarithm of the table's variance over that of the rows, in each feature used."""
    part, wide = side.filled[np.ix_(rows, used)], side.wide[used]
    squares = weights @ np.square(part) - np.square(weights @ part) / np.maximum(known, 1e-300)
    narrow = (np.maximum(squares, 0.0) + PRIOR_ROWS * wide) / (known + PRIOR_ROWS)
    return np.asarray(np.log(wide / narrow))


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
