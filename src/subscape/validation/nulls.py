"""Tables like a given one, but without clusters: what a finder finds there is chance."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import chdtri, gammaln, ndtri, stdtrit
from scipy.stats import rankdata

from subscape.core.checks import check_table
from subscape.core.errors import SubscapeError
from subscape.core.types import BoolArray, FloatArray
from subscape.parallel.seeds import seed_sequence
from subscape.tables.table import Table

from .unimodality import unimodal_table

#: Columns that depend on others more closely than this leave no room for mending.
SMALLEST_PIVOT = 0.1

#: Degrees of freedom of the t copula that are tried, and the probability with which a normal copula
#: may be taken for one.
DEGREES = (3, 4, 6, 8, 12, 20, 40)
MISTAKEN = 0.001
#: It is asked for with so many rows per column, of columns no value of which has more of the rows.
ROWS_PER_COLUMN = 5
MOST_TIED = 0.1
#: Correlations are smaller than 1 by at least this share.
RIDGE = 1e-3
#: What it gains is compared with that of so many tables with a normal copula, and must be so many
#: of their standard deviations (of one nat at least) above their mean.
COMPARED = 8
FAR = 4.0
#: A column that has less than this share of its length to itself is given by those before it: far
#: more than rounding leaves, and far less than a column of its own has.
DEPENDENT = 1e-10

NULLS = ("copula", "unimodal", "permuted", "gaussian", "uniform", "aligned")
#: Those in which every feature keeps its values, or values in their order, and its correlations.
BY_RANK = ("copula", "unimodal")


class NullModel:
    """Draws tables that keep some of a table's properties and have no clusters.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Missing values stay where they are in every table drawn.
    kind : {"copula", "unimodal", "permuted", "gaussian", "uniform", "aligned"}
        See :func:`null_table`.
    shrinkage : float or "ledoit_wolf", default=0
        Share of the correlations that is given up; see :func:`null_table`.
    exclusive : bool, default=True
        Whether indicators of the levels of one column, next to each other, stay so: one of them
        holds in each row ("copula" and "unimodal"). Without that, rows with no level, and with
        two, would make such tables unlike any table of levels.

    See Also
    --------
    null_table : One such table.
    significance : Tests against them.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.validation import NullModel
    >>> model = NullModel(np.arange(12.0).reshape(6, 2))
    >>> model.draw(0).shape
    (6, 2)
    """

    def __init__(
        self,
        X: ArrayLike,
        kind: str = "copula",
        *,
        shrinkage: float | str = 0.0,
        exclusive: bool = True,
    ) -> None:
        if kind not in NULLS:
            raise SubscapeError(f"the null must be one of {', '.join(NULLS)}; got {kind!r}")
        named = shrinkage == "ledoit_wolf"
        if not named and (isinstance(shrinkage, str) or not 0 <= shrinkage <= 1):
            raise SubscapeError(
                f"shrinkage must be a number from 0 to 1 or 'ledoit_wolf', got {shrinkage!r}"
            )
        self.kind = kind
        values = X.to_numpy() if isinstance(X, Table) else X
        self.table = np.array(check_table(values, "null_table", missing=True), np.float64)
        self.present = ~np.isnan(self.table)
        self.shrinkage = 0.0
        self._levels = indicator_blocks(self.table) if exclusive and kind in BY_RANK else []
        #: The values that tables drawn "copula", "unimodal" or "permuted" have, by column.
        self.values = unimodal_table(self.table) if kind == "unimodal" else self.table
        #: Of the t copula whose rows are farther out than normal ones would be; else infinite.
        self.degrees = np.inf
        if kind in (*BY_RANK, "gaussian"):
            self._learn(shrinkage)
        if kind == "unimodal":
            self.degrees = self._common_tails()
        if kind == "aligned":
            self._align()

    def _learn(self, shrinkage: float | str) -> None:
        """Columns of mean 0 and variance 1 whose correlations are those to keep."""
        n, p = self.table.shape
        scores = normal_scores(self.table) if self.kind in BY_RANK else self.table
        centre, spread = np.zeros(p), np.zeros(p)
        for j in range(p):
            column = scores[self.present[:, j], j]
            if len(column):
                varies = column.min() < column.max()
                centre[j], spread[j] = (column.mean(), column.std()) if varies else (column[0], 0)
        scores = np.where(self.present & (spread > 0), scores - centre, 0.0)
        scores /= np.where(spread > 0, spread, 1.0)
        # What is missing counts as the mean; without this its column would vary too little.
        scores *= np.sqrt(n / np.maximum(self.present.sum(axis=0), 1))
        self._centre, self._spread = centre, spread
        if shrinkage == "ledoit_wolf":
            shrinkage = ledoit_wolf(scores)
        self.shrinkage = float(shrinkage)
        self._sorted_scores = np.sort(scores, axis=0)
        # Rows enter through their products only. With more rows than features a triangular
        # factor has all of them; else the scores are at most as large as any factor.
        self._factor = _triangle(scores).factor if n > p else scores
        if self.kind in BY_RANK and 1 < n <= p:
            self._factor = self._boosted(scores)

    def _align(self) -> None:
        """Coordinates along the principal axes; at most as many as there are rows."""
        if not self.present.all():
            raise SubscapeError(
                "the box along principal axes needs a table without missing values; impute them "
                "first, or use null='uniform'"
            )
        self._centre = self.table.mean(axis=0)
        frame, lengths, self._axes = np.linalg.svd(self.table - self._centre, full_matrices=False)
        self._factor = frame * lengths

    @cached_property
    def _sorted_values(self) -> list[FloatArray]:
        """The values of each column, rising."""
        return [
            np.sort(values[there])
            for values, there in zip(self.values.T, self.present.T, strict=True)
        ]

    def _common_tails(self) -> float:
        """Degrees of freedom of a t copula if it is surely better than a normal one; or infinite.

        It must gain far more than on tables drawn from the normal copula: ranks of columns that go
        together closely make some rows lie far out by themselves.
        """
        found = common_tails(self.table)
        if not 2 * found.gain > chdtri(1, MISTAKEN):
            return np.inf
        rng = np.random.default_rng(0)
        drawn = [
            common_tails(self._with_own_values(self._correlated(rng))).gain for _ in range(COMPARED)
        ]
        surely = float(np.mean(drawn)) + FAR * max(float(np.std(drawn, ddof=1)), 1.0)
        return found.degrees if found.gain > surely else np.inf

    def draw(self, random_state: Any = None) -> FloatArray:
        """A new table.

        Parameters
        ----------
        random_state : int, SeedSequence, Generator or None

        Returns
        -------
        array
            Of the shape of the table.
        """
        rng = np.random.default_rng(seed_sequence(random_state))
        if self.kind == "permuted":
            return self._with_own_values(rng.random(self.table.shape))
        if self.kind == "uniform":
            return np.where(self.present, _in_box(self.table, rng), np.nan)
        if self.kind == "aligned":
            return np.asarray(self._centre + _in_box(self._factor, rng) @ self._axes)
        drawn = self._correlated(rng)
        if self.degrees < np.inf:
            drawn *= np.sqrt(self.degrees / rng.chisquare(self.degrees, len(drawn)))[:, None]
        if self.kind in BY_RANK:
            return self._with_own_values(drawn)
        drawn = self._centre + self._spread * drawn
        return np.where(self.present, drawn, np.nan)

    def _correlated(self, rng: np.random.Generator) -> FloatArray:
        """Normal columns with the correlations of the sample, exactly, but for the shrinkage.

        Given its means and covariances, a normal sample is uniform over all rotations of its rows
        that leave the means alone. Drawing from those makes the test of normal data exact; tables
        drawn from the covariances themselves would have noisier correlations than the sample.
        """
        n, p = self.table.shape
        columns = min(n - 1, p)
        if columns == 0:
            return np.zeros((n, p))
        random = rng.standard_normal((n, columns))
        frame = _triangle(random - random.mean(axis=0)).frame
        if n > p:
            drawn = frame @ self._factor
            if self.kind in BY_RANK:
                drawn = self._mended(drawn)
        else:
            drawn = frame @ (_contrasts(n).T @ self._factor)
        if self.shrinkage > 0:
            drawn *= np.sqrt(1 - self.shrinkage)
            drawn += np.sqrt(self.shrinkage) * rng.standard_normal((n, p))
        return np.asarray(drawn)

    def _boosted(self, scores: FloatArray) -> FloatArray:
        """Scores more correlated by as much as ranks lose, where there are few rows.

        If ranks keep a share a of every correlation, C = a C' + (1 - a) I has the solution C'
        with the eigenvalues below, which are those of products of rows, too.
        """
        n, p = scores.shape
        rng = np.random.default_rng(0)
        products = scores @ scores.T / n
        whole = float(np.square(products).sum()) - p
        kept = [
            float(np.square(self._in_order(self._correlated(rng)) @ scores.T / n).sum()) - p
            for _ in range(2)
        ]
        share = float(np.clip(np.mean(kept) / whole, 0.5, 1.0)) if whole > 0 else 1.0
        values, frame = np.linalg.eigh(products)
        boosted = np.maximum(values - (1 - share), 0.0) / share
        factors = np.sqrt(boosted / np.where(values > 1e-9 * values[-1], values, np.inf))
        return np.asarray((frame * factors) @ (frame.T @ scores))

    def _in_order(self, drawn: FloatArray) -> FloatArray:
        """The scores, column by column, in the order of what was drawn."""
        scores = np.empty_like(drawn)
        np.put_along_axis(scores, np.argsort(drawn, axis=0), self._sorted_scores, axis=0)
        return scores

    def _mended(self, drawn: FloatArray) -> FloatArray:
        """Scores that keep their correlations when only their ranks are used.

        Ranks of correlated columns are a bit less correlated, and much less where values are tied.
        The linear map that would undo the loss is applied in advance; cf. Iman and Conover.
        """
        lost = _triangle(self._in_order(drawn)).factor
        pivots = np.diag(lost)
        if pivots.min() < SMALLEST_PIVOT * pivots.max():
            return drawn
        return np.asarray(drawn @ solve_triangular(lost, self._factor))

    def _with_own_values(self, ranking: FloatArray) -> FloatArray:
        """The table's own values, column by column, in the order of ``ranking``."""
        drawn = np.full(self.table.shape, np.nan)
        for j, values in enumerate(self._sorted_values):
            if len(values) == len(drawn):
                drawn[np.argsort(ranking[:, j], kind="stable"), j] = values
            else:
                rows = np.flatnonzero(self.present[:, j])
                drawn[rows[np.argsort(ranking[rows, j], kind="stable")], j] = values
        for block in self._levels:
            drawn[:, block] = self._one_level_each(ranking[:, block], block)
        return drawn

    def _one_level_each(self, ranking: FloatArray, block: slice) -> FloatArray:
        """Indicators of levels, as many rows for each as in the table: the rows ranked highest.

        The first level takes its rows, the next one of those that are left, and so on.
        """
        columns = self.table[:, block]
        drawn = np.full(columns.shape, np.nan)
        drawn[self.present[:, block]] = np.broadcast_to(np.nanmin(columns, axis=0), columns.shape)[
            self.present[:, block]
        ]
        free: BoolArray = np.asarray(self.present[:, block].all(axis=1))
        for j, column in enumerate(columns.T):
            high = np.nanmax(column)
            rows = np.flatnonzero(free)
            wanted = int((column == high).sum())
            taken = rows[np.argsort(-ranking[rows, j], kind="stable")[:wanted]]
            drawn[taken, j] = high
            free[taken] = False
        return drawn


class CommonTails(NamedTuple):
    """Nats that a t copula gains over a normal one, and its degrees of freedom."""

    gain: float
    degrees: float


def common_tails(table: FloatArray) -> CommonTails:
    """How much better a t copula describes a table than a normal copula, and which one does.

    Each column's values may be anything; beyond these, rows may be far out in several directions at
    once: where noise is larger for some rows than for others, say counts with small totals on a
    log scale. In tables with a normal copula such rows are missing, and look like a small group.

    Parameters
    ----------
    table : array of shape (n_rows, n_features)
        NaN where a value is missing; rows with one are left out.

    Returns
    -------
    CommonTails
        Nothing is gained where there are fewer than five rows for every column, or less than two
        columns without many ties.

    References
    ----------
    S. Demarta, A. J. McNeil, "The t copula and related copulas", International Statistical Review
    73 (2005), doi:10.1111/j.1751-5823.2005.tb00254.x.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> normal = rng.normal(size=(400, 4))
    >>> bool(common_tails(np.exp(normal)).gain < 5)
    True
    >>> found = common_tails(normal * rng.lognormal(size=(400, 1)))
    >>> bool(found.gain > 50), found.degrees
    (True, 3.0)
    """
    rows = table[~np.isnan(table).any(axis=1)]
    n = len(rows)
    kept = [j for j, column in enumerate(rows.T) if _largest_tie(column) <= max(1, MOST_TIED * n)]
    p = len(kept)
    if p < 2 or n < ROWS_PER_COLUMN * p:
        return CommonTails(0.0, np.inf)
    # Tied ranks end in one half: quantiles are looked up at twice the rank.
    places = np.asarray(2 * rankdata(rows[:, kept], axis=0), dtype=np.intp) - 1
    normal = _quantiles(n, np.inf)[places]
    factor = np.linalg.cholesky((1 - RIDGE) * np.corrcoef(normal.T) + RIDGE * np.eye(p))
    volume = 2 * float(np.log(np.diag(factor)).sum())

    def size(values: FloatArray) -> FloatArray:
        """Squared distances from the middle in the metric of the correlations."""
        return np.square(solve_triangular(factor, values.T, lower=True)).sum(axis=0)

    without = 0.5 * float(np.square(normal).sum() - size(normal).sum() - n * volume)
    gains = []
    for degrees in DEGREES:
        values = _quantiles(n, degrees)[places]
        joint = _t_log_density(size(values), degrees, p) - 0.5 * volume
        alone = _t_log_density(np.square(_quantiles(n, degrees)), degrees, 1)[places]
        gains.append(float(joint.sum() - alone.sum()) - without)
    best = int(np.argmax(gains))
    return CommonTails(gains[best], float(DEGREES[best]))


@lru_cache(maxsize=64)
def _quantiles(n: int, degrees: float) -> FloatArray:
    """Of a t distribution at all half ranks among ``n``."""
    shares = np.arange(1, 2 * n + 1) / (2 * n + 2)
    return np.asarray(ndtri(shares) if degrees == np.inf else stdtrit(degrees, shares))


def _t_log_density(squares: FloatArray, degrees: float, p: int) -> FloatArray:
    """Of a t distribution in ``p`` dimensions, its correlations apart, by squared distances."""
    constant = gammaln((degrees + p) / 2) - gammaln(degrees / 2) - 0.5 * p * np.log(degrees * np.pi)
    return np.asarray(constant - 0.5 * (degrees + p) * np.log1p(squares / degrees))


def _largest_tie(column: FloatArray) -> int:
    """Rows that have the most frequent value."""
    return int(np.unique(column, return_counts=True)[1].max(initial=0))


def indicator_blocks(table: FloatArray) -> list[slice]:
    """Columns next to each other that are the indicators of one column's levels.

    Each has two values, and in every row exactly one has its larger value; where one is missing,
    all are.

    >>> levels = np.eye(3)[[0, 1, 2, 1]]
    >>> indicator_blocks(np.c_[[5.0, 1, 2, 3], levels, [0.0, 1, 1, 0]])
    [slice(1, 4, None)]
    """
    n, p = table.shape
    present = ~np.isnan(table)
    low = np.where(present, table, np.inf).min(axis=0, initial=np.inf)
    high = np.where(present, table, -np.inf).max(axis=0, initial=-np.inf)
    two = ((table == low) | (table == high) | ~present).all(axis=0) & (low < high)
    holds = table == high
    blocks, start = [], 0
    while start < p:
        stop, together = start, np.zeros(n, dtype=np.intp)
        here = present[:, start]
        while stop < p and two[stop] and (present[:, stop] == here).all():
            together = together + holds[:, stop]
            stop += 1
            if together.max(initial=0) > 1 or (together[here] == 1).all():
                break
        if stop - start > 1 and (together[here] == 1).all():
            blocks.append(slice(start, stop))
            start = stop
        else:
            start += 1
    return blocks


def null_table(
    X: ArrayLike,
    kind: str = "copula",
    random_state: Any = None,
    *,
    shrinkage: float | str = 0.0,
) -> FloatArray:
    """Make a table like ``X`` without clusters.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    kind : {"copula", "unimodal", "permuted", "gaussian", "uniform", "aligned"}, default="copula"
        "copula": each feature keeps its values, and the features their correlations (of normal
        scores); beyond that rows are random. Only clusters are lost; but those that a single
        feature shows, because its values pile up in several places, are kept. "unimodal": the same,
        but values of such a feature are moved until they make one hump (see :func:`dip`), and where
        a t copula surely describes the rows better than a normal one, some rows are far out in all
        directions, as in the table (see :func:`common_tails`).
        "permuted": each feature keeps its values, but features become independent, so that every
        correlated table looks clustered. "gaussian": normal with the means and covariances of
        ``X``, so that every skewed table looks clustered. "uniform": uniform in the box that ``X``
        fills. "aligned": uniform in the box along the principal axes.
    random_state : int, Generator or None
        Seed.
    shrinkage : float or "ledoit_wolf", default=0
        Share of the correlations that is given up ("copula" and "gaussian"), from 0 to 1, or by the
        rule of Ledoit and Wolf [1]_. Null tables that are less correlated than the table make
        correlations look like clusters, and nothing is gained: rotations need no shrinkage, however
        many features there are.

    Returns
    -------
    float64 array of the shape of ``X``

    See Also
    --------
    NullModel : Many tables from one model.
    subscape.datasets.structureless : Tables of a given shape.

    Notes
    -----
    Correlations are those of the sample, not just on average: tables are random rotations of the
    rows of the (normal scores of the) table, which the copula then replaces by the table's own
    values in the same order. What ranks lose of the correlations is made up for in advance. No
    array of features by features is made where there are more features than rows.

    References
    ----------
    .. [1] O. Ledoit, M. Wolf, "A well-conditioned estimator for large-dimensional covariance
       matrices", Journal of Multivariate Analysis 88 (2004), doi:10.1016/S0047-259X(03)00096-4.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.datasets import structureless
    >>> from subscape.validation import null_table
    >>> X = structureless("lognormal", 200, 3, random_state=0)
    >>> Y = null_table(X, random_state=1)
    >>> bool((np.sort(Y, axis=0) == np.sort(X, axis=0)).all())
    True
    """
    return NullModel(X, kind, shrinkage=shrinkage).draw(random_state)


def normal_scores(table: FloatArray) -> FloatArray:
    """Each column on the scale of a standard normal, by rank; missing values stay missing.

    >>> normal_scores(np.array([[3.0], [100.0], [4.0]])).round(2).ravel()
    array([-0.97,  0.97,  0.  ])
    """
    ranks = rankdata(table, axis=0, nan_policy="omit")
    present = (~np.isnan(table)).sum(axis=0)
    return np.asarray(ndtri((ranks - 0.5) / np.maximum(present, 1)))


def ledoit_wolf(scores: FloatArray) -> float:
    """Shrinkage of the covariances of centred columns, through products of rows only.

    >>> from subscape.datasets import structureless
    >>> 0.9 < ledoit_wolf(structureless("gaussian", 50, 100, correlation=0, random_state=0)) <= 1
    True
    """
    n, p = scores.shape
    products = scores @ scores.T
    lengths = np.diag(products)
    squared = float(np.square(products).sum()) / n**2
    mean = float(lengths.sum()) / (n * p)
    distance = squared / p - mean**2
    if distance <= 0:
        return 1.0
    error = (float(np.square(lengths).sum()) / n - squared) / (n * p)
    return float(np.clip(error / distance, 0.0, 1.0))


def _in_box(table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Uniform in the box that a table fills."""
    low, high = np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)
    return np.asarray(low + (high - low) * rng.random(table.shape))


class _Triangle(NamedTuple):
    """Columns as a frame times a triangular factor with no negative diagonal.

    The frame is orthonormal, but for columns of zeros where those before a column give it.
    """

    frame: FloatArray
    factor: FloatArray


def _triangle(columns: FloatArray) -> _Triangle:
    frame, factor = np.linalg.qr(columns)
    own = np.abs(np.diag(factor)) > DEPENDENT * np.linalg.norm(factor, axis=0)
    if not own.all():
        # Rounding chose the directions of the others (indicators of all levels of a column sum to
        # one), and shared out what later columns have along them.
        frame = np.zeros_like(frame)
        frame[:, own] = np.linalg.qr(columns[:, own])[0]
        factor = np.triu(frame.T @ columns)
    signs = np.where(np.diag(factor) < 0, -1.0, 1.0)
    return _Triangle(frame * signs, factor * signs[:, None])


def _contrasts(n: int) -> FloatArray:
    """An orthonormal basis of the vectors of ``n`` numbers that sum to 0 (Helmert's)."""
    steps = np.arange(n - 1)
    basis = np.where(np.arange(n)[:, None] > steps, -1.0, 0.0)
    basis[steps, steps] = n - 1 - steps
    return np.asarray(basis / np.linalg.norm(basis, axis=0))
