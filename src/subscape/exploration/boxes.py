"""How well a grouping describes a table if each cluster is narrow in features of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaln

from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.validation.criteria import smallest_cluster
from subscape.validation.nulls import normal_scores

from .separation import Grouping, GroupingScorer, Separation

#: Clusters whose sets are numbered by the bits of one integer.
MOST_BITS = 62
#: A feature is a cluster's own if its rows have at most this share of the table's variance there.
NARROW = 0.5
#: … and spreads are floored at this share of the column's.
SMALLEST_SPREAD = 0.02
#: A cluster is seen by the rows that are in no other one, if these are at least this share of it.
ENOUGH_ALONE = 0.2
#: Correlations are shrunk by this share, so that copies of a column do no harm.
RIDGE = 1e-6
#: Equal values are told apart by noise of this share of a column's spread.
JITTER = 1e-9


class Boxes(NamedTuple):
    """Result of :meth:`BoxCode.told`.

    Attributes
    ----------
    gain : float
        Nats per row by which the boxes describe the rows better than their columns' values and
        correlations do, less the cost of their parameters.
    entropy : float
        Nats per row that it takes to say in which clusters a row is.
    own : bool array of shape (n_clusters, n_columns)
        The features in which each cluster is narrow.
    widths : array of shape (n_clusters, n_columns)
        Variances of the clusters; where a row is in several, the narrowest counts.
    centres, variances : arrays of shape (n_clusters, n_columns)
        Of the normal scores of the rows for which the cluster counts.
    """

    gain: float
    entropy: float
    own: BoolArray
    widths: FloatArray
    centres: FloatArray
    variances: FloatArray


class BoxCode:
    """Describes the rows of a table by boxes.

    Columns are turned into normal scores, so that the values of a column alone, whatever their
    distribution, are nothing that a grouping could explain. Without groups the rows are normal
    with the correlations of the table. The rows of a cluster are normal and independent in the
    features of its own, and in all others what the table says about rows with these values; so
    columns that go together are not counted twice. Rows in several clusters are narrow in the
    features of each. The code has two parts: in which clusters a row is, and where it lies.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)

    Examples
    --------
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(300, 6, n_clusters=3, dims=3, random_state=0)
    >>> told = BoxCode(X).told(truth.memberships.toarray())
    >>> told.gain > 1, bool((told.own == truth.subspaces.masks).all())
    (True, True)
    """

    def __init__(self, X: FloatArray) -> None:
        spread = X.std(axis=0)
        noise = np.random.default_rng(0).normal(size=X.shape)
        self.scores = normal_scores(X + JITTER * spread * noise)
        self.varies = spread > 0
        self.scores[:, ~self.varies] = 0.0
        n_rows, n_columns = X.shape
        products = self.scores.T @ self.scores / n_rows
        size = np.sqrt(np.where(self.varies, np.diag(products), 1.0))
        products /= size * size[:, None]
        self.correlations = (1 - RIDGE) * products + RIDGE * np.eye(n_columns)
        self.scores /= size
        self.squares = np.square(self.scores)

    def told(self, memberships: BoolArray) -> Boxes:
        """How well clusters (rows of ``memberships``) describe the table, each as a box."""
        n_rows, n_columns = self.scores.shape
        fewest = smallest_cluster(n_rows)
        memberships = _in_earnest(memberships, fewest)
        own, widths = self._own(memberships, fewest)
        cells, home = _cells(memberships)
        sizes = np.bincount(home, minlength=len(cells))
        holder = _holders(cells, own, widths)
        centres, variances = self._fitted(holder, home, len(own))
        shares = sizes / n_rows
        entropy = float(-(shares * np.log(shares)).sum())
        gain = -entropy
        for place, held in enumerate(holder):
            columns = np.flatnonzero(held >= 0)
            if len(columns):
                box = centres[held[columns], columns], variances[held[columns], columns]
                rows = self.scores[np.ix_(home == place, columns)]
                gain += shares[place] * self._gained(rows, columns, *box)
        dims = own.sum(axis=1)
        # Centres and spreads, shares of the cells, which features, and which clusters meet.
        price = 0.5 * np.log(n_rows) * (2 * dims.sum() + len(sizes) - 1)
        price += (_choices(n_columns, dims) + np.log(n_columns + 1)).sum()
        price += np.log(max(len(own), 1)) * np.maximum(cells.sum(axis=1) - 1, 0).sum()
        gain -= price / n_rows
        return Boxes(float(gain), entropy, own, widths, centres, variances)

    def project_out(self, memberships: BoolArray) -> FloatArray:
        """The normal scores of a table in which these boxes are as wide as all the rest."""
        found = self.told(memberships)
        fewest = smallest_cluster(len(self.scores))
        cells, home = _cells(_in_earnest(memberships, fewest))
        held = _holders(cells, found.own, found.widths)[home]
        rows, columns = np.nonzero(held >= 0)
        which = held[rows, columns]
        rest = self.scores.copy()
        rest[rows, columns] -= found.centres[which, columns]
        rest[rows, columns] /= np.sqrt(found.variances[which, columns])
        return rest

    def _own(self, memberships: BoolArray, fewest: float) -> tuple[BoolArray, FloatArray]:
        """Features in which clusters are narrow, and how narrow (variances)."""
        n_rows, n_columns = self.scores.shape
        alone = memberships & (memberships.sum(axis=0) == 1)
        enough = alone.sum(axis=1) >= np.maximum(ENOUGH_ALONE * memberships.sum(axis=1), fewest)
        # Rows that are in another box too are narrow where that one is.
        seen = np.where(enough[:, None], alone, memberships)
        centres, narrow = self._moments(seen)
        gained = np.square(centres) + narrow - 1 - np.log(narrow)
        gained *= 0.5 * seen.sum(axis=1)[:, None]
        own = (gained > np.log(n_rows) + np.log(n_columns)) & (narrow < NARROW) & self.varies
        return own, self._moments(memberships)[1]

    def _fitted(
        self, holder: IndexArray, home: IndexArray, n_clusters: int
    ) -> tuple[FloatArray, FloatArray]:
        """Centres and variances of the clusters, each by the rows that it holds in a feature."""
        in_cell = home == np.arange(len(holder))[:, None]
        counts = in_cell.sum(axis=1)[:, None]
        sums = in_cell @ self.scores, in_cell @ self.squares
        held = holder == np.arange(n_clusters)[:, None, None]
        sizes = np.maximum((held * counts).sum(axis=1), 1)
        first, second = ((held * each).sum(axis=1) / sizes for each in sums)
        return first, np.maximum(second - np.square(first), SMALLEST_SPREAD**2)

    def _moments(self, memberships: BoolArray) -> tuple[FloatArray, FloatArray]:
        inside = memberships.astype(np.float64)
        sizes = np.maximum(inside.sum(axis=1), 1.0)[:, None]
        centres = inside @ self.scores / sizes
        spread = inside @ self.squares / sizes - np.square(centres)
        return centres, np.maximum(spread, SMALLEST_SPREAD**2)

    def _gained(
        self,
        rows: FloatArray,
        columns: IndexArray,
        centre: FloatArray,
        variance: FloatArray,
    ) -> float:
        """Nats per row by which a box describes rows better than the table does."""
        factor = cho_factor(self.correlations[np.ix_(columns, columns)], lower=True)
        second = rows.T @ rows / len(rows)
        usual = np.trace(cho_solve(factor, second)) + 2 * np.log(np.diag(factor[0])).sum()
        away = np.square(rows - centre).mean(axis=0) / variance
        return float(0.5 * (usual - (away + np.log(variance)).sum()))


def _in_earnest(memberships: BoolArray, fewest: float) -> BoolArray:
    """Without clusters of few rows; where few rows share clusters, each is in the first only."""
    memberships = memberships & (memberships.sum(axis=1) >= fewest)[:, None]
    cells, home = _cells(memberships)
    rare = (np.bincount(home, minlength=len(cells)) < fewest) & (cells.sum(axis=1) > 1)
    rows = np.flatnonzero(rare[home])
    first = memberships[:, rows].argmax(axis=0) if len(rows) else rows
    memberships[:, rows] = False
    memberships[first, rows] = True
    return memberships


def _cells(memberships: BoolArray) -> tuple[BoolArray, IndexArray]:
    """The sets of clusters that rows are in, and which of them each row has."""
    if len(memberships) > MOST_BITS:
        cells, home = np.unique(memberships, axis=1, return_inverse=True)
        return cells.T, home.ravel()
    # Each set as the bits of one number, the first cluster's the largest.
    bits = np.left_shift(np.int64(1), np.arange(len(memberships))[::-1])
    _, first, home = np.unique(
        bits @ memberships.astype(np.int64), return_index=True, return_inverse=True
    )
    return memberships[:, first].T, home.ravel()


def _holders(cells: BoolArray, own: BoolArray, widths: FloatArray) -> IndexArray:
    """Which cluster says where the rows of a cell are in a feature: the narrowest; -1 for none."""
    width = np.where(cells[:, :, None] & own, widths, np.inf)
    if not width.shape[1]:
        return np.full((len(cells), own.shape[1]), -1)
    return np.where(np.isfinite(width).any(axis=1), width.argmin(axis=1), -1)


def _choices(n: int, k: IndexArray) -> FloatArray:
    """Logarithm of the ways to choose k of n."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


class BoxScorer(GroupingScorer):
    """Scores groupings by boxes: each cluster narrow in features of its own.

    Parameters
    ----------
    like : GroupingScorer
        Of the same table, by directions that tell clusters apart. It still says what these are.
    """

    def __init__(self, like: GroupingScorer) -> None:
        self.has_columns = like.has_columns
        self.directions = like.directions
        self.Z = like.Z
        self.Y, self._white = like.Y, like._white
        self._known = like._known
        self._on_rows = None
        self.code = BoxCode(self.Z)
        self._boxes: dict[bytes, Boxes] = {}

    def like(self, Z: FloatArray) -> GroupingScorer:
        """A scorer of this kind for another table."""
        return BoxScorer(GroupingScorer(Z))

    def rest(self, groupings: Sequence[Grouping]) -> GroupingScorer:
        """A scorer of the table with the boxes of groupings as wide as all the rest."""
        scorer = self
        for labels, memberships in groupings:
            inside = _memberships(labels) if memberships is None else memberships
            scorer = BoxScorer(GroupingScorer(scorer.code.project_out(inside)))
        return scorer

    def boxes(self, labels: NDArray[Any], memberships: BoolArray | None = None) -> Boxes:
        """The boxes of the clusters; -1 is noise."""
        inside = _memberships(labels) if memberships is None else memberships
        key = np.packbits(inside).tobytes() + len(inside).to_bytes(8, "little")
        if key not in self._boxes:
            self._boxes[key] = self.code.told(inside)
        return self._boxes[key]

    def __call__(self, labels: NDArray[Any], memberships: BoolArray | None = None) -> Separation:
        """How well boxes describe the rows, and the directions that tell the clusters apart."""
        told = self.boxes(labels, memberships)
        basis = super().__call__(labels).basis
        return Separation(told.gain, told.entropy, basis, np.zeros(0), sliced=0.0)


def _memberships(labels: NDArray[Any]) -> BoolArray:
    numbers = np.unique(labels[labels >= 0])
    return np.asarray(labels == numbers[:, None])
