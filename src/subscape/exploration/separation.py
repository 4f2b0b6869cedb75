"""How clearly a grouping of the rows stands out, whatever found it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.validation.criteria import SMALLEST_SHARE, smallest_cluster

#: Labels, and memberships (clusters x rows) where a row may be in several clusters.
Grouping = tuple[NDArray[Any], BoolArray | None]

#: Groupings are scored in at most so many principal directions, and at most one per ten rows.
MOST_DIRECTIONS = 100
ROWS_PER_DIRECTION = 10
#: Within-cluster scatter is shrunk towards a ball by this share.
RIDGE = 0.01
TINY = 1e-9
#: Spreads are floored at this share of a direction's own.
SMALLEST_SPREAD = 0.02
#: What a grouping in two halves tells; less does not raise the score of a grouping.
LEAST_ENTROPY = float(np.log(2))
#: Clusters with a smaller share of the rows, or fewer rows, count as noise.


@dataclass(frozen=True, eq=False)
class Separation:
    """Result of :func:`separation`.

    Attributes
    ----------
    gain : float
        Nats per row by which the clusters describe the rows, each row by its own, better than one
        normal distribution, in the directions that tell them apart, less the cost of their
        parameters.
    entropy : float
        Nats per row that the cluster's number itself tells.
    basis : array of shape (n_features, d)
        Directions that tell the clusters apart, the most telling first.
    ratios : array of shape (d,)
        Spread between clusters to spread within them in these directions.
    """

    gain: float
    entropy: float
    basis: FloatArray
    ratios: FloatArray

    @property
    def score(self) -> float:
        """Gain per nat told: does not reward a product of two groupings over either."""
        return self.gain / max(self.entropy, LEAST_ENTROPY)


class GroupingScorer:
    """GroupingScorers many groupings of one table.

    The levels of a nominal column make its indicators pile up in points, and so do the values of a
    number that has few of them, which would stand out however little they mean. So much noise is
    added to such columns that the levels of one column don't make modes of their own (two normal
    distributions of equal size do so from two standard deviations on): a grouping counts as far as
    several columns show it.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_columns)
        Scaled, without missing values.
    few_valued : int array
        Those of the columns that take few values: indicators of levels, and numbers with few.
    """

    def __init__(self, X: FloatArray, few_valued: IndexArray | None = None) -> None:
        centred = X - X.mean(axis=0)
        if few_valued is not None and len(few_valued):
            noise = np.random.default_rng(0).normal(size=(len(X), len(few_valued)))
            # Two levels are apart by their height in each of two columns.
            steps = np.array([largest_step(X[:, j]) for j in few_valued])
            centred[:, few_valued] += steps / np.sqrt(2) * noise
            centred -= centred.mean(axis=0)
        n_rows, n_columns = X.shape
        most = max(1, min(n_columns, MOST_DIRECTIONS, n_rows // ROWS_PER_DIRECTION))
        #: Whether the columns scored are those of the table.
        self.has_columns = most == n_columns
        if self.has_columns:
            self.directions = np.eye(n_columns)
        else:
            self.directions = principal_directions(centred, most)
        self.Z = centred @ self.directions
        self._known: dict[bytes, Separation] = {}

    def like(self, Z: FloatArray) -> GroupingScorer:
        """A scorer of this kind for another table."""
        return GroupingScorer(Z)

    def rest(self, groupings: Sequence[Grouping]) -> GroupingScorer:
        """A scorer of what groupings leave of the table."""
        return GroupingScorer(
            project_out(self.Z, *(self(*grouping).basis for grouping in groupings))
        )

    def __call__(self, labels: NDArray[Any], memberships: BoolArray | None = None) -> Separation:
        """Separation of the clusters that these labels name; -1 is noise.

        ``memberships`` count only where a scorer can do with rows in several clusters.
        """
        key = np.ascontiguousarray(labels).tobytes()
        if key not in self._known:
            self._known[key] = self._separation(labels)
        return self._known[key]

    def _separation(self, labels: NDArray[Any]) -> Separation:
        numbers, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        fewest = smallest_cluster(len(labels))
        kept = np.flatnonzero((numbers >= 0) & (sizes >= fewest))
        if len(kept) == 0 or (len(kept) == 1 and (labels >= 0).all()):
            return Separation(0.0, 0.0, np.zeros((len(self.directions), 0)), np.zeros(0))
        place = np.full(len(numbers), len(kept))
        place[kept] = np.arange(len(kept))
        groups = place[inverse]  # the last one, if there, is the background
        has_noise = bool((groups == len(kept)).any())
        return self._scored(self.Z, groups, len(kept), has_noise)

    def _scored(
        self, Z: FloatArray, groups: IndexArray, n_clusters: int, has_noise: bool
    ) -> Separation:
        n_rows = len(Z)
        n_groups = n_clusters + has_noise
        member = np.zeros((n_groups, n_rows))
        member[groups, np.arange(n_rows)] = 1.0
        sizes = member.sum(axis=1)
        means = (member @ Z) / sizes[:, None]
        total = Z.T @ Z
        between = (means.T * sizes) @ means
        within = total - between
        ball = RIDGE * np.trace(within) / len(within)
        if not ball > TINY * np.trace(total):
            # All rows of a cluster in one point, or nothing left to see.
            ball = max(TINY * np.trace(total), TINY)
        within += ball * np.eye(len(within))
        dims = min(n_groups - 1, Z.shape[1])
        ratios, vectors = eigh(between, within, subset_by_index=[Z.shape[1] - dims, Z.shape[1] - 1])
        ratios = np.maximum(ratios[::-1], 0.0)
        dims = telling(ratios, n_rows, Z.shape[1], n_groups)
        vectors = vectors[:, ::-1][:, :dims]
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-300)
        seen = Z @ vectors
        overall = np.maximum(seen.var(axis=0), 1e-300)
        centres = means @ vectors
        logs = np.empty((n_groups, n_rows))
        shares = sizes / n_rows
        for k in range(n_groups):
            spread = np.square(seen[groups == k] - centres[k]).mean(axis=0)
            spread = np.maximum(spread, SMALLEST_SPREAD**2 * overall)
            away = np.square(seen - centres[k]) / spread
            logs[k] = np.log(shares[k]) - 0.5 * (away.sum(axis=1) + np.log(spread).sum())
        alone = -0.5 * (np.square(seen) / overall).sum(axis=1) - 0.5 * np.log(overall).sum()
        # Each row by its own cluster: clusters that run into each other gain less, though they may
        # fit the density as well.
        gain = float((logs[groups, np.arange(n_rows)] - alone).mean())
        # Means, spreads and shares of all groups but one, and the choice of the directions.
        parameters = (n_groups - 1) * (2 * dims + 1) + dims * (Z.shape[1] - dims)
        gain -= 0.5 * parameters * np.log(n_rows) / n_rows
        entropy = float(-(shares * np.log(shares)).sum())
        basis, _ = np.linalg.qr(self.directions @ vectors)
        return Separation(gain, entropy, basis, ratios[:dims])


def largest_step(column: FloatArray) -> float:
    """The largest distance between neighbours among the values that a column has often.

    >>> largest_step(np.repeat([0.0, 1.0, 3.0], 10)), largest_step(np.array([0.0, 0.3, 1.0]))
    (2.0, 0.7)
    """
    values, counts = np.unique(column, return_counts=True)
    # What was filled in for missing cells lies anywhere between.
    often = values[counts > SMALLEST_SHARE * len(column)]
    return float(np.diff(often).max(initial=0.0)) or float(np.ptp(column))


def telling(ratios: FloatArray, n_rows: int, n_columns: int, n_groups: int) -> int:
    """How many discriminating directions tell the groups apart by more than chance; at least one.

    Each further one must raise the likelihood by more than its parameters cost (BIC). Groups whose
    means lie in a plane need two directions, however many they are; a third one would be noise, or
    a bit of another grouping.

    Parameters
    ----------
    ratios : array
        Spread between groups to spread within, per direction, falling.

    >>> telling(np.array([9.0, 4.0, 0.02]), 300, 10, 4)
    2
    """
    place = np.arange(len(ratios))
    price = (n_columns + n_groups - 2 - 2 * place) * np.log(n_rows)
    worth = n_rows * np.log1p(ratios) > price
    return max(1, int(np.argmin(worth)) if not worth.all() else len(worth))


def principal_directions(centred: FloatArray, most: int) -> FloatArray:
    """The ``most`` directions of largest spread; no square of the wider side is made."""
    n_rows, n_columns = centred.shape
    if n_columns <= n_rows:
        _, vectors = eigh(centred.T @ centred, subset_by_index=[n_columns - most, n_columns - 1])
        return vectors[:, ::-1]
    _, left = eigh(centred @ centred.T, subset_by_index=[n_rows - most, n_rows - 1])
    vectors = centred.T @ left[:, ::-1]
    return vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-300)


# -- what is left of a table when a grouping is taken out of it ------------------------------------


#: Directions in which the rows hardly differ, compared with the widest, are none.
SMALLEST = 1e-9


def project_out(X: FloatArray, *bases: FloatArray) -> FloatArray:
    """What of the rows can't be told from their place in the span of the bases.

    Where a row lies in those directions also foretells its values in others that go with them, and
    that is taken out too: the means of groups that are told apart there become equal in every
    direction. The columns of the result are centred.

    >>> import numpy as np
    >>> rows = np.array([[0.0, 2.0], [1.0, -4.0], [2.0, 2.0]])
    >>> project_out(rows, np.array([[1.0], [0.0]])).round(6) + 0.0
    array([[ 0.,  2.],
           [ 0., -4.],
           [ 0.,  2.]])
    """
    X = X - X.mean(axis=0)
    if not sum(basis.shape[1] for basis in bases):
        return X
    seen = X @ np.hstack(bases)
    basis, sizes, _ = np.linalg.svd(seen, full_matrices=False)
    basis = basis[:, sizes > SMALLEST * sizes[0]]
    return X - basis @ (basis.T @ X)
