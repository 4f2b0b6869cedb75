"""Tables without valleys like a given one: clouds with its columns, and bent curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.special import logsumexp

from subscape.core.types import FloatArray
from subscape.finders.density.graph import density_graph
from subscape.finders.density.subspaces import density_views, standardised
from subscape.parallel.seeds import seed_sequence
from subscape.validation.max_statistic import gumbel_p_value
from subscape.validation.nulls import NullModel
from subscape.validation.unimodality import unimodal_column

__all__ = ["CurveNull", "ValleyTest", "latent_trait", "valley_test"]


#: Bandwidths tried, as shares of the rows' range of ranks; spreads are smoothed by twice that.
BANDWIDTHS = (0.02, 0.04, 0.08, 0.16)
#: Points at which curves are held.
GRID = 101
#: Rows with which a curve is learnt.
MOST_ROWS = 1000
#: Tables of each kind that a test draws.
N_NULL = 39

#: Parts of a curve whose means are compared with a line, and what they may leave of its rest.
BEND_BINS = 12
BENT = 0.5


#: Spreads are at least this share of a column's own, and correlations that are kept.
LEAST_SPREAD = 0.05
KEPT_CORRELATION = 0.98


class CurveNull:
    """Draws tables whose rows lie about one bent curve, like those of a table.

    The rows get a coordinate along the curve: the length of the way from one end through
    neighbouring rows [1]_, or the angle around the centre for a closed curve. Every column is a
    smooth function of it (local lines), with a spread that changes smoothly (or not, for a closed
    curve). New rows take coordinates from the nearest distribution with one hump (or evenly along
    a closed curve), and what is left of the columns is drawn with its correlations and one hump
    per column. So the curve, its bends, and unequal noise along it stay; valleys don't.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Without missing values.
    basis : array-like of shape (n_columns, d), optional
        Where the curve is seen: what standardised columns are multiplied by. By default all.
    closed : bool, default=False
        Whether the curve is a ring.

    See Also
    --------
    NullModel : Tables with one hump per column.

    References
    ----------
    .. [1] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework for
       nonlinear dimensionality reduction", Science 290 (2000), doi:10.1126/science.290.5500.2319;
       curves: T. Hastie, W. Stuetzle, "Principal curves", Journal of the American Statistical
       Association 84 (1989), doi:10.1080/01621459.1989.10478797.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 300)
    >>> X = np.column_stack([t, t**2]) + rng.normal(0, 0.05, (300, 2))
    >>> drawn = CurveNull(X).draw(0)
    >>> bool(np.abs(drawn[:, 1] - drawn[:, 0] ** 2).std() < 0.15)
    True
    """

    def __init__(
        self, X: ArrayLike, basis: ArrayLike | None = None, *, closed: bool = False
    ) -> None:
        table = np.asarray(X, dtype=np.float64)
        self.shape = table.shape
        if len(table) > MOST_ROWS:
            table = table[np.random.default_rng(0).choice(len(table), MOST_ROWS, replace=False)]
        self._centre = table.mean(axis=0)
        self._scale = np.where(table.std(axis=0) > 0, table.std(axis=0), 1.0)
        Z = (table - self._centre) / self._scale
        view = np.eye(Z.shape[1]) if basis is None else np.asarray(basis, dtype=np.float64)
        self.closed = closed
        trait = around(Z @ view) if closed else latent_trait(Z @ view)
        self._learn(Z, trait, view)

    def _learn(self, Z: FloatArray, trait: FloatArray, basis: FloatArray) -> None:
        n = len(Z)
        order = np.argsort(trait, kind="stable")
        place = np.empty(n)
        place[order] = (np.arange(n) + 0.5) / n
        best = np.inf
        for width in BANDWIDTHS:
            smooth = _smoother(place, place, width, self.closed)
            fitted = smooth @ Z
            free = 1 - np.trace(smooth) / n
            error = float(np.square(Z - fitted).sum()) / max(free, 1e-3) ** 2
            if error < best:
                best, self._width, middle = error, width, fitted
        left = Z - middle
        spread = self._spread(place, place, left)
        self._grid = np.linspace(0, 1, GRID)
        self._curve = _smoother(self._grid, place, self._width, self.closed) @ Z
        self._spreads = self._spread(self._grid, place, left)
        self._residuals = left / spread
        ranks = (np.arange(n) + 0.5) / n
        if self.closed:
            # Evenly along the curve: else its bends and narrow places would be hills.
            steps = np.linalg.norm(np.diff(self._curve @ basis, axis=0), axis=1)
            along = np.concatenate([[0.0], np.cumsum(steps)])
            self._places = np.interp(ranks * along[-1], along, self._grid)
        else:
            # From one hump back to ranks among the rows that were seen.
            self._places = np.interp(
                np.sort(unimodal_column(np.sort(trait))), np.sort(trait), ranks
            )

    @cached_property
    def _left(self) -> NullModel:
        """What is left of the columns beside the curve; only tables that are drawn need it."""
        return NullModel(self._residuals, "unimodal")

    def _spread(self, at: FloatArray, place: FloatArray, left: FloatArray) -> FloatArray:
        if self.closed:
            return np.sqrt(np.maximum(np.square(left).mean(axis=0), 1e-6)) + np.zeros((len(at), 1))
        smooth = _smoother(at, place, 2 * self._width, self.closed, lines=False)
        return np.sqrt(np.maximum(smooth @ np.square(left), 1e-6))

    def log_density(self, X: ArrayLike) -> FloatArray:
        """Log density of rows under the curve: many clouds along it, with its spreads.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        float array of shape (n_rows,)
            In the units of the standardised table.
        """
        rows = (np.asarray(X, dtype=np.float64) - self._centre) / self._scale
        ranks = (np.arange(len(self._places)) + 0.5) / len(self._places)
        passed = np.interp(self._grid, np.sort(self._places), ranks)
        edges = np.concatenate([[0.0], 0.5 * (passed[1:] + passed[:-1]), [1.0]])
        return clouds_log_density(
            rows,
            np.maximum(np.diff(edges), 1e-6),
            self._curve,
            np.maximum(self._spreads, LEAST_SPREAD),
            self._residuals,
        )

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
        n, p = self.shape
        left = [self._left.draw(rng) for _ in range(-(-n // len(self._places)))]
        noise = np.concatenate(left)[:n]
        quantiles = np.linspace(0, 1, len(self._places))
        place = np.interp(rng.random(n), quantiles, self._places)
        drawn = np.empty((n, p))
        for j in range(p):
            spread = np.interp(place, self._grid, self._spreads[:, j])
            drawn[:, j] = np.interp(place, self._grid, self._curve[:, j]) + spread * noise[:, j]
        return np.asarray(drawn * self._scale + self._centre)


def clouds_log_density(
    X: FloatArray,
    weights: FloatArray,
    centres: FloatArray,
    spreads: FloatArray,
    residuals: FloatArray,
) -> FloatArray:
    """Log density of rows under clouds that share the correlations within them.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    weights : array of shape (n_clouds,)
    centres, spreads : arrays of shape (n_clouds, n_columns)
    residuals : array of shape (m, n_columns)
        Rows less their clouds' centres, in spreads: what the correlations are taken from.

    Returns
    -------
    float array of shape (n_rows,)
        Up to a constant that only the number of columns decides.
    """
    scaled = residuals / np.maximum(residuals.std(axis=0), 1e-300)
    products = KEPT_CORRELATION * (scaled.T @ scaled) / len(scaled)
    np.fill_diagonal(products, 1.0)
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values, 1 - KEPT_CORRELATION)
    white = vectors / np.sqrt(values)
    told = np.empty((len(X), len(centres)))
    for k, (centre, spread) in enumerate(zip(centres, spreads, strict=True)):
        away = np.square(((X - centre) / spread) @ white).sum(axis=1)
        told[:, k] = np.log(weights[k]) - 0.5 * away - np.log(spread).sum()
    return np.asarray(logsumexp(told, axis=1) - 0.5 * np.log(values).sum())


def latent_trait(points: FloatArray) -> FloatArray:
    """How far along the longest way through neighbouring rows each row is.

    >>> import numpy as np
    >>> t = np.linspace(0, 3, 50)
    >>> way = latent_trait(np.column_stack([np.cos(t), np.sin(t)]))
    >>> bool(abs(np.corrcoef(way, t)[0, 1]) > 0.99)
    True
    """
    graph = density_graph(points)
    n = graph.n_rows
    first, second = graph.links.T
    ways = csr_matrix((graph.lengths, (first, second)), shape=(n, n))
    start = 0
    for _ in range(2):
        away = dijkstra(ways, directed=False, indices=start)
        start = int(np.argmax(away))
    return np.asarray(dijkstra(ways, directed=False, indices=start))


def around(points: FloatArray) -> FloatArray:
    """Angles around the centre, in the plane of largest spread."""
    centred = points - points.mean(axis=0)
    if centred.shape[1] == 1:
        return np.asarray(np.linspace(-np.pi, np.pi, len(points))[np.argsort(centred[:, 0])])
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ axes[:2].T
    return np.asarray(np.arctan2(plane[:, 1], plane[:, 0]))


def _smoother(
    at: FloatArray, place: FloatArray, width: float, closed: bool, *, lines: bool = True
) -> FloatArray:
    """Weights that make local lines (or means) at some places from values at others."""
    apart = place - at[:, None]
    if closed:
        apart -= np.round(apart)
    weights = np.exp(-0.5 * np.square(apart / width))
    if lines:
        first = (weights * apart).sum(axis=1, keepdims=True)
        second = (weights * np.square(apart)).sum(axis=1, keepdims=True)
        weights = weights * (second - apart * first)
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(np.abs(total) > 1e-300, total, 1.0))


class ValleyTest(NamedTuple):
    """Result of :func:`valley_test`.

    Attributes
    ----------
    p_value : float
        The largest over the kinds of tables without valleys.
    gain : float
        Of the table, or of the grouping given.
    maxima : dict of str to tuple of float
        By kind, the largest gain found on each table drawn.

    See Also
    --------
    valley_test : Makes it.
    """

    p_value: float
    gain: float
    maxima: dict[str, tuple[float, ...]]


def valley_test(
    X: ArrayLike,
    gain: float | None = None,
    basis: ArrayLike | None = None,
    *,
    n_null: int = N_NULL,
    kinds: Sequence[str] = ("unimodal", "curve"),
    alpha: float | None = None,
    random_state: Any = None,
) -> ValleyTest:
    """Whether the valleys of a table are deeper than those that chance makes in tables without.

    Every table drawn is searched like the table itself (:func:`density_views`),
    so that the choice of columns, directions and scales is paid for.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
    gain : float, optional
        Of the grouping to judge; by default the best found.
    basis : array-like of shape (n_columns, d), optional
        Where that grouping was seen, for curves.
    n_null : int, default=39
        Tables of each kind. Tails are read from the distribution of maxima.
    kinds : sequence of {"unimodal", "curve", "ring"}
        One hump per column with the table's correlations; a bent curve; a closed one. The last is
        not among the default: a thick ring about several clouds keeps some of their valleys.
    alpha : float, optional
        Stop as soon as so many tables reach the gain that the p-value must be larger; it is then
        that of the tables drawn so far.
    random_state : int or None

    Returns
    -------
    ValleyTest

    See Also
    --------
    subscape.finders.DensityTree : Finds groups between valleys.
    split_test : Along a line.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> moons, _ = make_moons(200, noise=0.06, random_state=0)
    >>> valley_test(moons, n_null=9, random_state=0).p_value < 0.05
    True
    """
    table = np.asarray(X, dtype=np.float64)
    if gain is None:
        views = density_views(table)
        if not views:
            return ValleyTest(1.0, 0.0, {})
        gain, basis = views[0].valleys.gain, views[0].place.basis
    seeds = iter(seed_sequence(random_state).spawn(n_null * len(kinds)))
    drawers = {kind: _drawer(table, kind, basis) for kind in kinds}
    maxima: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(n_null):  # in turn, so that a kind that explains the valleys ends it soon
        for kind, draw in drawers.items():
            views = density_views(draw(next(seeds)))
            maxima[kind].append(views[0].valleys.gain if views else 0.0)
        reached = max(sum(value >= gain for value in found) for found in maxima.values())
        if alpha is not None and reached and (1 + reached) / (1 + n_null) > alpha:
            break
    p_value = max(gumbel_p_value(gain, found) for found in maxima.values())
    return ValleyTest(p_value, gain, {kind: tuple(found) for kind, found in maxima.items()})


def _drawer(table: FloatArray, kind: str, basis: ArrayLike | None) -> Callable[[Any], FloatArray]:
    if kind in ("curve", "ring"):
        return CurveNull(table, basis, closed=kind == "ring").draw
    return NullModel(standardised(table), kind).draw


def is_bent(X: ArrayLike) -> bool:
    """Whether a curve through the rows leaves at most half of the variance that a line leaves.

    Only then is a curve a description without groups that the other kinds of tables don't cover.
    (On generated tables the share is at most 0.15 for parabolas with noise and at least 0.9 for
    normal, heavy-tailed, log-normal, autocorrelated and uniform tables and two or three clouds.)

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> along = rng.uniform(-1, 1, 300)
    >>> is_bent(np.c_[along, along**2] + rng.normal(0, 0.05, (300, 2)))
    True
    >>> is_bent(rng.normal(size=(300, 2)))
    False
    """
    table = standardised(np.asarray(X, dtype=np.float64))
    n = len(table)
    if n < 3 * BEND_BINS or table.shape[1] < 2:
        return False
    place = np.empty(n, dtype=np.intp)
    place[np.argsort(latent_trait(table), kind="stable")] = np.arange(n) * BEND_BINS // n
    means = np.array([table[place == k].mean(axis=0) for k in range(BEND_BINS)])
    # As many means as bins were taken from the rows.
    left = np.square(table - means[place]).sum() * (n - 1) / (n - BEND_BINS)
    total = np.square(table).sum()
    line = total - np.linalg.svd(table, compute_uv=False)[0] ** 2
    return bool(left <= BENT * line)
