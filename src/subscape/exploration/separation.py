"""How clearly a grouping of the rows stands out, whatever found it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from subscape.arrays.backend import compiled
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray
from subscape.validation.criteria import SMALLEST_SHARE, smallest_cluster
from subscape.validation.hump_likelihood import NORMAL, hump_log_likelihood, rows_per_block
from subscape.validation.unimodality import dithered

#: Labels, and memberships (clusters x rows) where a row may be in several clusters.
Grouping = tuple[NDArray[Any], BoolArray | None]

#: Groupings are scored in at most so many principal directions, and at most one per ten rows.
MOST_DIRECTIONS = 100
ROWS_PER_DIRECTION = 10
#: Of tables with more columns than that only the directions with so much of the variance are
#: scored: each direction is a choice that has to be paid for, and curves and pictures have few.
MOST_VARIANCE = 0.95
#: Directions narrower than this share of the mean variance count as so wide.
RIDGE = 0.005
#: … but not where the directions themselves are asked for, down to this share of that.
UNDONE = 0.1
#: Spreads are floored at this share of a direction's own.
SMALLEST_SPREAD = 0.02
#: What a grouping in two halves tells; less does not raise the score of a grouping.
LEAST_ENTROPY = float(np.log(2))
#: Nats per row that are lost if one even stretch is told as several normal clouds (the halves of a
#: normal cloud lose 0.19). A grouping is better than no grouping as far as it loses less.
SLICED = 0.5 * float(np.log(2 * np.pi * np.e / 12))
#: What groupings leave of a table is held, because it is asked for again: so many of these tables,
#: with so many numbers in all.
MOST_RESTS = 64
MOST_HELD = 4_000_000


@dataclass(frozen=True, eq=False)
class Separation:
    """How clearly a grouping stands out.

    Attributes
    ----------
    gain : float
        Nats per row by which the clusters describe the rows, each row by its own, better than the
        best density with one hump in each direction that tells them apart, less the cost of their
        parameters, and compared with what slices of one cloud would give.
    entropy : float
        Nats per row that the cluster's number itself tells.
    basis : array of shape (n_features, d)
        Directions that tell the clusters apart, the most telling first.
    ratios : array of shape (d,)
        Spread between clusters to spread within them in these directions.
    over_normal : float
        The gain over one normal distribution in the place of one hump.
    sliced : float
        What of the gain comes from the comparison with slices.
    """

    gain: float
    entropy: float
    basis: FloatArray
    ratios: FloatArray
    over_normal: float = -np.inf
    sliced: float = SLICED

    @property
    def score(self) -> float:
        """Gain per nat told: does not reward a product of two groupings over either."""
        return float(per_nat(self.gain, self.entropy, self.sliced))

    @property
    def normal_score(self) -> float:
        """The same of the gain over one normal distribution."""
        return float(per_nat(self.over_normal, self.entropy))


def per_nat(gain: Any, entropy: Any, sliced: float = SLICED) -> Any:
    """Gain, not compared with slices, per nat that labels tell; 0 is what two slices have.

    >>> round(float(per_nat(0.0, LEAST_ENTROPY)), 6)
    0.0
    """
    return (gain - sliced) / np.maximum(entropy, LEAST_ENTROPY) + sliced / LEAST_ENTROPY


class Separations(NamedTuple):
    """Result of :func:`separations`, for each of many labellings of one table.

    Attributes
    ----------
    gain, over_normal, entropy : arrays of shape (m,)
        See :class:`Separation`.
    dims : int array of shape (m,)
        Directions that tell the groups apart.
    vectors : array of shape (m, d, most dims)
        These directions, 0 beyond ``dims``.
    ratios : array of shape (m, most dims)
    seen : array of shape (m, n, most dims)
        The rows along these directions.
    centres, spreads : arrays of shape (m, K, most dims)
        Of the groups; spreads are variances.
    shares : array of shape (m, K)
        Of the rows.
    """

    gain: FloatArray
    over_normal: FloatArray
    entropy: FloatArray
    dims: IndexArray
    vectors: FloatArray
    ratios: FloatArray
    seen: FloatArray
    centres: FloatArray
    spreads: FloatArray
    shares: FloatArray

    @property
    def score(self) -> FloatArray:
        """Gain per nat told."""
        return np.asarray(per_nat(self.gain, self.entropy))

    @property
    def normal_score(self) -> FloatArray:
        """Gain over one normal distribution per nat told."""
        return np.asarray(per_nat(self.over_normal, self.entropy))

    def likeliest(self) -> IntArray:
        """For every labelling and row, the group under which the row is likeliest."""
        return likeliest_groups(self.seen, self.centres, self.spreads, self.shares, self.dims)


def separations(Y: FloatArray, labels: IntArray, n_groups: int) -> Separations:
    """Separation of many labellings of one table, in closed form from the groups' moments.

    Parameters
    ----------
    Y : array of shape (n, d)
        White: of mean 0, with the identity as covariance. The directions that tell groups apart
        are then those in which their means spread most.
    labels : int array of shape (m, n)
        From 0 on.
    n_groups : int
        More than the largest label.
    """
    n, d = Y.shape
    labels = np.ascontiguousarray(labels, dtype=np.int64)
    counts, means, vectors, ratios, dims = _told_apart(Y, labels, n_groups)
    seen = Y @ vectors
    over_normal, entropy, overall, centres, spreads = cloud_gains(
        seen, labels, counts, means @ vectors, dims, d
    )
    # Of a single group nothing is told.
    humped = np.where(entropy > 0, over_normal - _hump_gain(seen, overall, dims), 0.0)
    return Separations(
        humped, over_normal, entropy, dims, vectors, ratios, seen, centres, spreads, counts / n
    )


def seen_apart(Y: FloatArray, labels: IntArray) -> FloatArray:
    """The rows of a white table along the directions that tell groups apart.

    >>> Y, _ = whitened(np.repeat([[0.0, 1.0], [0.0, -1.0]], 5, axis=0))
    >>> seen_apart(Y, np.repeat([0, 1], 5)).shape
    (10, 1)
    """
    labels = np.ascontiguousarray(labels, dtype=np.int64)[None]
    return np.asarray(Y @ _told_apart(Y, labels, int(labels.max()) + 1)[2][0])


def _told_apart(
    Y: FloatArray, labels: IntArray, n_groups: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IndexArray]:
    """Rows and means of the groups, and the directions that tell them apart."""
    n, d = Y.shape
    counts, means = group_means(Y, labels, n_groups)
    weighted = np.sqrt(counts / n)[..., None] * means
    turned = weighted.transpose(0, 2, 1)
    few = n_groups <= d
    explained, vectors = np.linalg.eigh(weighted @ turned if few else turned @ weighted)
    # Of a product of the smaller side the vectors are those of the larger one, once it is met.
    vectors = turned @ vectors if few else vectors
    return counts, means, *telling_directions(explained, vectors, counts, n)


@compiled("_separation")
def group_means(Y: FloatArray, labels: IntArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
    """Rows and means of the groups of many labellings, of shapes (m, K) and (m, K, d).

    >>> counts, means = group_means(np.array([[1.0], [3.0], [8.0]]), np.array([[0, 0, 2]]), 3)
    >>> counts.tolist(), means[..., 0].tolist()
    ([[2.0, 0.0, 1.0]], [[2.0, 0.0, 8.0]])
    """
    member = (labels[:, None, :] == np.arange(n_groups)[:, None]).astype(np.float64)
    counts = member.sum(axis=2)
    sums = (member.reshape(-1, len(Y)) @ Y).reshape(len(labels), n_groups, Y.shape[1])
    return counts, sums / np.maximum(counts, 1.0)[..., None]


@compiled("_separation")
def telling_directions(
    explained: FloatArray, vectors: FloatArray, counts: FloatArray, n_rows: int
) -> tuple[FloatArray, FloatArray, IndexArray]:
    """Directions that tell groups apart, the best first, with their ratios and how many they are.

    Parameters
    ----------
    explained : array of shape (m, q)
        Shares of a direction's variance that lie between the groups, rising.
    vectors : array of shape (m, d, q)
        The directions, of any length.
    counts : array of shape (m, K)
        Rows of the groups.
    n_rows : int

    Returns
    -------
    vectors : array of shape (m, d, most dims)
        Of length 1, with the largest component positive; 0 beyond ``dims``.
    ratios : array of shape (m, most dims)
        Spread between the groups to spread within them.
    dims : int array of shape (m,)
    """
    explained = np.clip(explained[:, ::-1], 0.0, 1 - 1e-6)
    ratios = explained / (1 - explained)
    dims = telling(ratios, n_rows, vectors.shape[1], (counts > 0).sum(axis=1))
    most = int(dims.max(initial=1))
    used = np.arange(most) < dims[:, None]
    kept = vectors[..., ::-1][..., :most]
    kept = kept / np.maximum(np.linalg.norm(kept, axis=1), 1e-300)[:, None, :]
    largest = np.take_along_axis(kept, np.abs(kept).argmax(axis=1)[:, None, :], axis=1)
    kept = np.where(largest < 0, -kept, kept) * used[:, None, :]
    return kept, ratios[:, :most], dims


@compiled("_separation")
def cloud_gains(
    seen: FloatArray,
    labels: IntArray,
    counts: FloatArray,
    centres: FloatArray,
    dims: IndexArray,
    n_columns: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """What normal clouds gain over one normal distribution, in the directions that tell them apart.

    Groups are told apart by where they lie, not by how wide they are: the spread within them is
    one for all. (With spreads of their own, one cloud whose noise grows would be several.)

    Parameters
    ----------
    seen : array of shape (m, n, q)
        The rows along the directions.
    labels : int64 array of shape (m, n)
    counts : array of shape (m, K)
    centres : array of shape (m, K, q)
        Means of the groups along the directions.
    dims : int array of shape (m,)
        Directions that are used.
    n_columns : int
        Columns among which the directions were chosen.

    Returns
    -------
    gain, entropy : arrays of shape (m,)
    overall : array of shape (m, q)
        Variances of the rows along the directions; 1 where a direction isn't used.
    centres, spreads : arrays of shape (m, K, q)
        Means and variances of the groups.
    """
    _, n, most = seen.shape
    used = np.arange(most) < dims[:, None]
    shares = counts / n
    present = (counts > 0).sum(axis=1)
    squares = np.square(seen)
    overall = np.where(used, np.maximum(squares.mean(axis=1), 1e-300), 1.0)
    member = (labels[:, None, :] == np.arange(counts.shape[1])[:, None]).astype(np.float64)
    spreads = (member @ squares) / np.maximum(counts, 1.0)[..., None] - np.square(centres)
    floor = SMALLEST_SPREAD**2 * overall
    within = np.maximum((shares[..., None] * spreads).sum(axis=1), floor)
    spreads = np.where(used[:, None, :], np.maximum(spreads, floor[:, None, :]), 1.0)
    # Each row by its own group: groups that run into each other gain less, though they may fit
    # the density as well.
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    gain = -entropy - 0.5 * np.where(used, np.log(within) + 1.0, 0.0).sum(axis=1)
    gain += 0.5 * np.log(overall).sum(axis=1) + 0.5 * dims
    # Means and shares of all groups but one, and the choice of the directions.
    parameters = (present - 1) * (dims + 1) + dims * (n_columns - dims)
    gain += SLICED - 0.5 * parameters * np.log(n) / n
    return np.where(present > 1, gain, 0.0), entropy, overall, centres, spreads


@compiled("_separation")
def likeliest_groups(
    seen: FloatArray, centres: FloatArray, spreads: FloatArray, shares: FloatArray, dims: IndexArray
) -> IntArray:
    """For every labelling and row, the normal cloud under which the row is likeliest.

    Parameters
    ----------
    seen : array of shape (m, n, q)
        The rows along the directions.
    centres, spreads : arrays of shape (m, K, q)
        Means and variances of the clouds.
    shares : array of shape (m, K)
        Of the rows; no row goes to a cloud without any.
    dims : int array of shape (m,)
        Directions that are used.

    Returns
    -------
    int64 array of shape (m, n)
    """
    weights = np.where(np.arange(seen.shape[2]) < dims[:, None], 1.0, 0.0)[:, None] / spreads
    # (x - c)^2 / v, summed over directions, as products.
    away = np.square(seen) @ weights.transpose(0, 2, 1)
    away -= 2 * (seen @ (weights * centres).transpose(0, 2, 1))
    away += (weights * np.square(centres)).sum(axis=2)[:, None, :]
    away -= np.log(np.where(weights > 0, weights, 1.0)).sum(axis=2)[:, None, :]
    away -= 2 * np.log(np.where(shares > 0, shares, 1.0))[:, None, :]
    away += np.where(shares > 0, 0.0, np.inf)[:, None, :]
    return np.asarray(away.argmin(axis=2), dtype=np.int64)


def _hump_gain(seen: FloatArray, overall: FloatArray, dims: IndexArray) -> FloatArray:
    """Nats per row by which one hump in each direction describes rows better than one normal."""
    samples = along_directions(seen, overall, dims)
    samples.sort(axis=1)
    n = seen.shape[1]
    told = hump_log_likelihood(samples, rows_per_block(n), SMALLEST_SPREAD, 0.5 * math.log(n))
    return summed_gains(told, dims)


@compiled("_separation")
def summed_gains(told: FloatArray, dims: IndexArray) -> FloatArray:
    """What the directions of each labelling tell more than a normal distribution, added up.

    >>> summed_gains(np.array([-NORMAL, 1 - NORMAL, -2.0]), np.array([2, 1]))
    array([1., 0.])
    """
    ends = np.cumsum(dims)
    return np.asarray(np.add.reduceat(np.maximum(told + NORMAL, 0.0), ends - dims))


@compiled("_separation")
def along_directions(seen: FloatArray, overall: FloatArray, dims: IndexArray) -> FloatArray:
    """The rows along each direction that is used, in spreads; one line per direction.

    >>> seen = np.array([[[2.0, 0.0], [4.0, 0.0]]])
    >>> along_directions(seen, np.array([[4.0, 1.0]]), np.array([1]))
    array([[1., 2.]])
    """
    used = np.arange(seen.shape[2]) < dims[:, None]
    return np.asarray(seen.transpose(0, 2, 1)[used] / np.sqrt(overall[used])[:, None])


class GroupingScorer:
    """Scores many groupings of one table.

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
    all_directions : bool, default=False
        Whether directions of little variance are kept: they were left out before.
    """

    def __init__(
        self, X: FloatArray, few_valued: IndexArray | None = None, *, all_directions: bool = False
    ) -> None:
        centred = X - X.mean(axis=0)
        if few_valued is not None and len(few_valued):
            centred[:, few_valued] = _blurred(centred[:, few_valued])
        if not all_directions:
            rounded = np.setdiff1d(np.arange(X.shape[1]), [] if few_valued is None else few_valued)
            centred[:, rounded] = dithered(centred[:, rounded])
        n_rows, n_columns = X.shape
        most = max(1, min(n_columns, MOST_DIRECTIONS, n_rows // ROWS_PER_DIRECTION))
        #: Whether the columns scored are those of the table.
        self.has_columns = most == n_columns
        if self.has_columns:
            self.directions = np.eye(n_columns)
        else:
            self.directions = principal_directions(centred, most)
        self.Z = centred @ self.directions
        if not self.has_columns and not all_directions:
            self._keep_telling(float(np.square(centred).sum()))
        self.Y, self._white = whitened(self.Z)
        self._known: dict[bytes, Separation] = {}
        self._on_rows: tuple[str | bytes, GroupingScorer] | None = None
        #: What groupings leave of the table: the same rests are asked for again and again.
        self._rests: dict[tuple[bytes, ...], GroupingScorer] = {}
        #: Pairs of groupings, by name, and whether the first one slices clusters of the second.
        self.sliced: dict[tuple[bytes, bytes], bool] = {}
        #: Groupings by name, and what is left of them when slices are merged.
        self.merged: dict[bytes, IntArray] = {}
        #: Groupings without clusters that are too small, how many are left, and their names.
        self.earnest: dict[bytes, tuple[IntArray, int, bytes]] = {}

    def _keep_telling(self, total: float) -> None:
        """Leave the last principal directions out, which together hold little of the variance."""
        held = np.cumsum(np.square(self.Z).sum(axis=0))
        kept = int(np.searchsorted(held, MOST_VARIANCE * min(total, float(held[-1])))) + 1
        self.directions = self.directions[:, :kept]
        self.Z = np.ascontiguousarray(self.Z[:, :kept])

    def on_rows(self, rows: slice | IndexArray) -> GroupingScorer:
        """A scorer of this kind for some rows of the directions; the last one is kept."""
        name = repr(rows) if isinstance(rows, slice) else rows.tobytes()
        if self._on_rows is None or self._on_rows[0] != name:
            self._on_rows = name, self.like(self.Z[rows])
        return self._on_rows[1]

    def like(self, Z: FloatArray) -> GroupingScorer:
        """A scorer of this kind for another table."""
        return GroupingScorer(Z, all_directions=True)

    def rest(self, groupings: Sequence[Grouping]) -> GroupingScorer:
        """A scorer of what groupings leave of the table."""
        key = tuple(np.ascontiguousarray(labels).tobytes() for labels, _ in groupings)
        known = self._rests
        if key not in known:
            while known and len(known) >= min(MOST_RESTS, MOST_HELD // max(self.Z.size, 1)):
                known.pop(next(iter(known)))
            bases = (self.directions.T @ self(*grouping).basis for grouping in groupings)
            known[key] = GroupingScorer(project_out(self.Z, *bases), all_directions=True)
        return known[key]

    def __call__(self, labels: NDArray[Any], memberships: BoolArray | None = None) -> Separation:
        """Separation of the clusters that these labels name; -1 is noise.

        ``memberships`` count only where a scorer can do with rows in several clusters.
        """
        key = np.ascontiguousarray(labels).tobytes()
        if key not in self._known:
            self._known[key] = self._separation(labels)
        return self._known[key]

    def _separation(self, labels: NDArray[Any]) -> Separation:
        groups, n_clusters = in_earnest(labels)
        if n_clusters == 0 or (n_clusters == 1 and (groups == 0).all()):
            return Separation(0.0, 0.0, np.zeros((len(self.directions), 0)), np.zeros(0), 0.0)
        found = separations(self.Y, groups[None], int(groups.max()) + 1)
        return self.separation_of(found, 0)

    def separation_of(self, found: Separations, place: int) -> Separation:
        """One of many separations, with its directions in the columns of the table."""
        dims = int(found.dims[place])
        vectors = self._white @ found.vectors[place][:, :dims]
        basis, _ = np.linalg.qr(self.directions @ vectors)
        return Separation(
            float(found.gain[place]),
            float(found.entropy[place]),
            basis,
            found.ratios[place][:dims],
            float(found.over_normal[place]),
        )


def in_earnest(labels: NDArray[Any]) -> tuple[IntArray, int]:
    """Labels from 0 on with noise and clusters that are too small as a last group, and how many.

    >>> groups, n_clusters = in_earnest(np.array([7] * 5 + [2] * 4 + [-1, 5]))
    >>> groups.tolist(), n_clusters
    ([1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2], 2)
    """
    labels = np.asarray(labels)
    high = int(labels.max()) if labels.dtype.kind == "i" and len(labels) else len(labels)
    if high < len(labels) and labels.min() >= -1:
        # By counting, which is quicker than sorting.
        inverse = labels + 1
        sizes = np.bincount(inverse, minlength=high + 2)
        numbers = np.arange(-1, high + 1)
    else:
        numbers, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    kept = np.flatnonzero((numbers >= 0) & (sizes >= smallest_cluster(len(labels))))
    place = np.full(len(numbers), len(kept))
    place[kept] = np.arange(len(kept))
    return place[inverse.ravel()], len(kept)


def whitened(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centred columns turned and scaled to unit covariance; and back, directions that tell.

    Narrow directions are widened a little, so that they don't take part by chance. The second
    matrix takes directions among the white columns to those of the given ones in which groups are
    told apart (Fisher's), with that undone.
    """
    products = Z.T @ Z / len(Z)
    values, vectors = np.linalg.eigh(products)
    values, vectors = np.maximum(values, 0.0), pointing(vectors)
    wide = values + max(RIDGE * float(values.mean()), 1e-300)
    told = np.maximum(values, UNDONE * (wide - values))
    return Z @ (vectors / np.sqrt(wide)), vectors * (np.sqrt(wide) / told)


def _blurred(columns: FloatArray) -> FloatArray:
    """Centred columns of few values with noise as large as their steps, as wide as before."""
    noise = np.random.default_rng(0).normal(size=columns.shape)
    # Two levels are apart by their height in each of two columns.
    steps = np.array([largest_step(column) for column in columns.T])
    blurred = columns + steps / np.sqrt(2) * noise
    blurred -= blurred.mean(axis=0)
    return np.asarray(blurred * (columns.std(axis=0) / np.maximum(blurred.std(axis=0), 1e-300)))


def largest_step(column: FloatArray) -> float:
    """The largest distance between neighbours among the values that a column has often.

    >>> largest_step(np.repeat([0.0, 1.0, 3.0], 10)), largest_step(np.array([0.0, 0.3, 1.0]))
    (2.0, 0.7)
    """
    values, counts = np.unique(column, return_counts=True)
    # What was filled in for missing cells lies anywhere between.
    often = values[counts > SMALLEST_SHARE * len(column)]
    return float(np.diff(often).max(initial=0.0)) or float(np.ptp(column))


def telling(
    ratios: FloatArray, n_rows: int, n_columns: int, n_groups: IndexArray | int
) -> IndexArray:
    """How many discriminating directions tell groups apart by more than chance; at least one.

    Each further one must raise the likelihood by more than its parameters cost (BIC). Groups whose
    means lie in a plane need two directions, however many they are; a third one would be noise, or
    a bit of another grouping.

    Parameters
    ----------
    ratios : array of shape (..., d)
        Spread between groups to spread within, per direction, falling.
    n_rows, n_columns : int
    n_groups : int or int array
        For each set of ratios.

    >>> int(telling(np.array([9.0, 4.0, 0.02]), 300, 10, 4))
    2
    """
    place = np.arange(ratios.shape[-1])
    groups = np.asarray(n_groups)[..., None]
    price = (n_columns + groups - 2 - 2 * place) * np.log(n_rows)
    worth = (n_rows * np.log1p(ratios) > price) & (place < np.minimum(groups - 1, n_columns))
    return np.maximum(np.cumprod(worth, axis=-1).sum(axis=-1), 1)


#: Components of this share of the largest one count as alike, of which the first is taken.
AS_LARGE = 0.99


def principal_directions(centred: FloatArray, most: int) -> FloatArray:
    """The ``most`` directions of largest spread; no square of the wider side is made."""
    n_rows, n_columns = centred.shape
    if n_columns <= n_rows:
        _, vectors = eigh(centred.T @ centred, subset_by_index=[n_columns - most, n_columns - 1])
        vectors = vectors[:, ::-1]
    else:
        _, left = eigh(centred @ centred.T, subset_by_index=[n_rows - most, n_rows - 1])
        vectors = centred.T @ left[:, ::-1]
        vectors /= np.maximum(np.linalg.norm(vectors, axis=0), 1e-300)
    return pointing(vectors)


def pointing(vectors: FloatArray) -> FloatArray:
    """Directions, turned round where their largest component is negative.

    Eigenvectors come with a sign that rounding chooses.

    >>> pointing(np.array([[0.6, -0.8], [0.8, 0.6]])).tolist()
    [[0.6, 0.8], [0.8, -0.6]]
    """
    sizes = np.abs(vectors)
    largest = (sizes >= AS_LARGE * sizes.max(axis=0)).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -vectors, vectors)


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
