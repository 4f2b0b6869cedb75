"""Where the clusters lie, in numbers and in words, and which of them a new row belongs to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.types import FloatArray, IntArray

from .checks import check_names, check_table, column_names
from .clustering import SubspaceClustering, as_clustering
from .errors import ShapeMismatchError, count, listing
from .markup import card
from .oriented import OrientedSubspaces
from .subspaces import AxisSubspaces, Subspaces

#: Spreads are floored at this share of the column's own, so that one odd value can't rule.
SMALLEST_SPREAD = 1e-3

#: Between these quantiles lie the middle 90 % of the rows.
ENDS = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Position of every cluster, feature by feature; arrays are (n_clusters, n_features).

    Attributes
    ----------
    sizes : array of shape (n_clusters,)
    centre, spread : arrays
        Mean and standard deviation of the cluster's rows (weighted by soft memberships); NaN where
        all of them miss the feature.
    low, high : arrays
        The interval of the middle 90 % of the rows (5th to 95th percentile).
    relevance : array
        How much the feature counts in the cluster's subspace.
    effect : array
        Difference to the mean of all other rows, in pooled standard deviations (Cohen's d).
    residual : array of shape (n_clusters,)
        Mean squared distance to the centre within the subspace, per dimension.
    background_centre, background_spread : arrays of shape (n_features,)
        Mean and standard deviation of the whole table.
    subspaces : AxisSubspaces, WeightedSubspaces or OrientedSubspaces
    feature_names : tuple of str or None
    noise_share : float
        Share of the rows in no cluster.

    See Also
    --------
    describe : Makes them.
    assign : New rows in the clusters described.
    """

    sizes: NDArray[Any]
    centre: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray
    relevance: FloatArray
    effect: FloatArray
    residual: FloatArray
    background_centre: FloatArray
    background_spread: FloatArray
    subspaces: Subspaces
    feature_names: tuple[str, ...] | None
    noise_share: float

    @property
    def n_clusters(self) -> int:
        return len(self.sizes)

    @property
    def n_features(self) -> int:
        return len(self.background_centre)

    def sentence(self, k: int, most: int = 6) -> str:
        """Cluster ``k`` in words, naming at most ``most`` features.

        Returns
        -------
        str
            Such as ``cluster 3: 214 rows; age in [31, 44]``; people count from 1, so this is
            ``k=2``.
        """
        return cluster_sentence(self, k, most)

    def sentences(self, most: int = 6) -> list[str]:
        """Every cluster in words.

        Returns
        -------
        list of str
            One per cluster.
        """
        return [self.sentence(k, most) for k in range(self.n_clusters)]

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary per cluster and feature, ready for ``pandas.DataFrame``.

        Returns
        -------
        list of dict
            Of cluster (from 0), feature, rows, centre, spread, low, high, relevance and effect.
        """
        names = self.feature_names or tuple(f"x{j}" for j in range(self.n_features))
        columns = ("centre", "spread", "low", "high", "relevance", "effect")
        return [
            {"cluster": k, "feature": names[j], "rows": float(self.sizes[k])}
            | {name: float(getattr(self, name)[k, j]) for name in columns}
            for k in range(self.n_clusters)
            for j in range(self.n_features)
        ]

    def __repr__(self) -> str:
        return "\n".join(self.sentences()) or "no clusters: every row is noise"

    def _repr_html_(self) -> str:
        clusters = self.sentences()
        empty = "" if clusters else "no clusters: every row is noise"
        return card("Prototypes", empty, notes=clusters)


def describe(X: ArrayLike, clustering: Any) -> Prototypes:
    """Say where the clusters of a table lie.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The table that was clustered; missing values are left out of every figure. The columns of
        a data frame give the features their names if the clustering has none.
    clustering : SubspaceClustering, fitted finder or label vector

    Returns
    -------
    Prototypes

    See Also
    --------
    assign : New rows in the clusters that were described.
    subscape.plots.ClusterMapDisplay : The clusters as a picture.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape import SubspaceClustering, describe
    >>> X = np.array([[1.0, 5.0], [1.2, -3.0], [1.1, 9.0], [7.0, 0.0], [8.0, 0.1], [9.0, 0.2]])
    >>> found = SubspaceClustering.from_labels(
    ...     [0, 0, 0, 1, 1, 1], masks=[[1, 0], [0, 1]], feature_names=["age", "dose"])
    >>> print(describe(X, found))
    cluster 1: 3 rows; age in [1.01, 1.19]
    cluster 2: 3 rows; dose in [0.01, 0.19]
    """
    table = np.asarray(check_table(X, "describe", missing=True), dtype=np.float64)
    given = as_clustering(clustering)
    if not isinstance(getattr(clustering, "clustering_", clustering), SubspaceClustering):
        given = SubspaceClustering.from_labels(given.labels(), n_features=table.shape[1])
    if given.shape != table.shape:
        raise ShapeMismatchError(
            f"the table has {table.shape[0]} rows x {table.shape[1]} features, the clustering "
            f"{given.n_rows} x {given.n_features}; describe the table that was clustered"
        )
    check_names(X, given.feature_names, given.row_names)
    names = given.feature_names or column_names(X)
    count, total, _ = _moments(table, np.ones(len(table)))
    background = total / np.maximum(count, 1)
    # Everything below works on centred data: sums of squares then lose no digits.
    table = table - background
    count, total, squares = _moments(table, np.ones(len(table)))
    shape = (given.n_clusters, given.n_features)
    centre, spread, low, high, effect = (np.zeros(shape) for _ in range(5))
    residual = np.zeros(given.n_clusters)
    for k in range(given.n_clusters):
        rows, weights = given.members.rows(k), given.members.weights(k).astype(np.float64)
        part = table[rows]
        inside = _moments(part, weights)
        centre[k], variance = _mean_and_variance(*inside)
        spread[k] = np.sqrt(variance)
        low[k], high[k] = _quantiles(part, weights)
        outside = (count - inside[0], total - inside[1], squares - inside[2])
        effect[k] = _cohens_d(inside, outside)
        residual[k] = _residual(part - centre[k], weights, given.subspaces, k)
        unknown = inside[0] == 0
        centre[k, unknown] = spread[k, unknown] = np.nan
    _, variance = _mean_and_variance(count, total, squares)
    return Prototypes(
        sizes=given.sizes,
        centre=centre + background,
        spread=spread,
        low=low + background,
        high=high + background,
        relevance=given.subspaces.relevance,
        effect=effect,
        residual=residual,
        background_centre=background,
        background_spread=np.sqrt(variance),
        subspaces=given.subspaces,
        feature_names=None if names is None else tuple(names),
        noise_share=1.0 - given.coverage,
    )


def assign(X: ArrayLike, prototypes: Prototypes, *, noise: bool | None = None) -> IntArray:
    """Put rows into the clusters that explain them best.

    A row goes to the cluster under which its values in the cluster's subspace are most likely,
    compared with the table at large (Gaussian spreads, cluster sizes as prior). Where no cluster
    beats the table at large the row is noise.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    prototypes : Prototypes
    noise : bool, optional
        Whether rows may stay in no cluster. Default: if the clustering had noise.

    Returns
    -------
    array of shape (n_rows,)
        Cluster numbers, -1 for noise.

    See Also
    --------
    describe : Makes the prototypes.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape import assign, describe
    >>> X = np.array([[1.0, 5.0], [1.2, 4.0], [7.0, 0.0], [8.0, 0.1]])
    >>> assign([[1.1, 4.4], [7.7, 0.2]], describe(X, [0, 0, 1, 1]))
    array([0, 1])
    """
    table = np.asarray(check_table(X, "assign", missing=True), dtype=np.float64)
    if table.shape[1] != prototypes.n_features:
        raise ShapeMismatchError(
            f"the rows have {table.shape[1]} features, the prototypes {prototypes.n_features}; "
            "give the columns of the table that was described"
        )
    names = column_names(X)
    if names and prototypes.feature_names and tuple(names) != prototypes.feature_names:
        other = sorted(set(names) ^ set(prototypes.feature_names))
        detail = f"not in both: {listing(other)}" if other else "the same in another order"
        raise ShapeMismatchError(
            f"the columns are not those of the prototypes ({detail}); select and order them by "
            "prototypes.feature_names"
        )
    if noise is None:
        noise = prototypes.noise_share > 0
    if prototypes.n_clusters == 0:
        return np.full(len(table), -1)
    scores = np.empty((prototypes.n_clusters, len(table)))
    for k in range(prototypes.n_clusters):
        scores[k] = _log_likelihood_gain(table, prototypes, k)
    shares = np.maximum(np.asarray(prototypes.sizes, float), 1e-12)
    scores += np.log(shares / shares.sum())[:, None]
    labels = scores.argmax(axis=0)
    if noise:
        share = min(max(prototypes.noise_share, 1e-3), 1 - 1e-3)
        labels[scores.max(axis=0) + np.log((1 - share) / share) < 0] = -1
    return labels


def _log_likelihood_gain(table: FloatArray, prototypes: Prototypes, k: int) -> FloatArray:
    """Log likelihood of the rows in cluster ``k``'s subspace, minus that of the whole table."""
    wide = prototypes.background_spread
    if isinstance(prototypes.subspaces, OrientedSubspaces):
        return _oriented_gain(table, prototypes, k, wide)
    relevance = prototypes.relevance[k]
    if prototypes.subspaces.kind == "weighted":
        relevance = relevance * float(prototypes.subspaces.dims[k])
    # A constant column says nothing about where a row belongs.
    used = np.flatnonzero((relevance > 0) & (wide > 0))
    narrow = np.maximum(prototypes.spread[k], SMALLEST_SPREAD * wide)
    part = table[:, used]
    gain = log_likelihood(part, prototypes.centre[k, used], narrow[used])
    gain -= log_likelihood(part, prototypes.background_centre[used], wide[used])
    return np.where(np.isnan(gain), 0.0, gain) @ relevance[used]


def log_likelihood(rows: FloatArray, centre: FloatArray, spread: FloatArray) -> FloatArray:
    """Log likelihood of every value under a normal distribution per column, but for a constant.

    >>> log_likelihood(np.array([[1.0, 4.0]]), np.array([0.0, 0.0]), np.array([1.0, 2.0])).round(3)
    array([[-0.5  , -2.693]])
    """
    return -0.5 * np.square((rows - centre) / spread) - np.log(spread)


def _oriented_gain(
    table: FloatArray, prototypes: Prototypes, k: int, wide: FloatArray
) -> FloatArray:
    subspaces = prototypes.subspaces
    dims = float(subspaces.dims[k])
    broad = float(prototypes.relevance[k] @ np.square(wide)) / max(dims, 1.0)
    if broad == 0:
        return np.zeros(len(table))
    tight = max(float(prototypes.residual[k]), SMALLEST_SPREAD**2 * broad)
    filled = np.where(np.isnan(table), prototypes.background_centre, table)
    centre = np.where(
        np.isnan(prototypes.centre[k]), prototypes.background_centre, prototypes.centre[k]
    )
    near = _within(filled - centre, subspaces, k)
    far = _within(filled - prototypes.background_centre, subspaces, k)
    return 0.5 * (dims * np.log(broad / tight) + far / broad - near / tight)


def _within(differences: FloatArray, subspaces: Subspaces, k: int) -> FloatArray:
    """Squared length of the rows within subspace ``k``."""
    if not isinstance(subspaces, OrientedSubspaces):
        return np.asarray(np.square(differences) @ subspaces.relevance[k])
    stored = np.square(differences @ subspaces.bases[k]).sum(axis=1)
    if not subspaces.is_complement:
        return np.asarray(stored)
    return np.maximum(np.square(differences).sum(axis=1) - stored, 0.0)


def _residual(part: FloatArray, weights: FloatArray, subspaces: Subspaces, k: int) -> float:
    filled = np.where(np.isnan(part), 0.0, part)
    mass = float(subspaces.mass[k])
    if mass == 0 or weights.sum() == 0:
        return 0.0
    return float(weights @ _within(filled, subspaces, k) / weights.sum() / mass)


def _moments(part: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted count, sum and sum of squares per column, missing values left out."""
    absent = np.isnan(part)
    if not absent.any():
        return np.full(part.shape[1], weights.sum()), weights @ part, weights @ np.square(part)
    filled = np.where(absent, 0.0, part)
    return weights @ ~absent, weights @ filled, weights @ np.square(filled)


def _mean_and_variance(
    count: FloatArray, total: FloatArray, squares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    # What is left of a column whose rows are all elsewhere is rounding, not a sum.
    known = count > 1e-9
    mean = np.divide(total, count, out=np.zeros_like(total), where=known)
    mean_square = np.divide(squares, count, out=np.zeros_like(squares), where=known)
    return mean, np.maximum(mean_square - np.square(mean), 0.0)


def _cohens_d(inside: tuple[FloatArray, ...], outside: tuple[FloatArray, ...]) -> FloatArray:
    (mean_in, var_in), (mean_out, var_out) = (_mean_and_variance(*m) for m in (inside, outside))
    n_in, n_out = inside[0], outside[0]
    pooled = np.sqrt((n_in * var_in + n_out * var_out) / np.maximum(n_in + n_out, 1))
    known = (n_in > 0) & (n_out > 1e-9) & (pooled > 0)
    return np.where(known, (mean_in - mean_out) / np.where(pooled > 0, pooled, 1.0), 0.0)


def _quantiles(part: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """5th and 95th percentile per column; NaN where a column has no value at all."""
    present = ~np.isnan(part)
    equal = bool((weights == weights[0]).all())
    if equal and present.all():
        low, high = np.quantile(part, ENDS, axis=0)
        return low, high
    bounds = np.full((2, part.shape[1]), np.nan)
    for j in np.flatnonzero(present.any(axis=0)):
        values, shares = part[present[:, j], j], weights[present[:, j]]
        bounds[:, j] = np.quantile(values, ENDS) if equal else _weighted_quantiles(values, shares)
    return bounds[0], bounds[1]


def _weighted_quantiles(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The smallest values up to which the ends' shares of the weight lie."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, np.multiply(ENDS, reached[-1]))
    return values[order[np.minimum(places, len(values) - 1)]]


# -- clusters in words -----------------------------------------------------------------------------


def cluster_sentence(prototypes: Prototypes, k: int, most: int = 6) -> str:
    """``cluster 3: 214 rows; age in [31, 44], income in [2.1, 2.4]``."""
    size = prototypes.sizes[k]
    rows = count(int(size), "row") if float(size).is_integer() else f"{size:.1f} rows"
    parts = (
        _direction_parts(prototypes, k, most)
        if isinstance(prototypes.subspaces, OrientedSubspaces)
        else _interval_parts(prototypes, k, most)
    )
    head = f"cluster {k + 1}: {rows}"  # people count from 1
    return f"{head}; {', '.join(parts)}" if parts else head


def interval_text(low: float, high: float) -> str:
    """An interval with just the digits that tell its ends apart.

    >>> interval_text(31.2, 43.9), interval_text(2.1, 2.4), interval_text(0.00012, 0.00034)
    ('[31, 44]', '[2.1, 2.4]', '[0.00012, 0.00034]')
    """
    width = high - low
    scale = width if width > 0 else abs(low)
    if scale == 0:
        return f"[{low:g}, {high:g}]"
    digits = 1 - math.floor(math.log10(scale))
    if digits > 12 or digits < -6:
        return f"[{low:.3g}, {high:.3g}]"
    places = max(digits, 0)
    return f"[{_trim(low, places)}, {_trim(high, places)}]"


def _trim(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _name(prototypes: Prototypes, feature: int) -> str:
    names = prototypes.feature_names
    return names[feature] if names else f"x{feature}"


def _interval_parts(prototypes: Prototypes, k: int, most: int) -> list[str]:
    relevance = prototypes.relevance[k]
    if isinstance(prototypes.subspaces, AxisSubspaces):
        features = np.flatnonzero(relevance)
    else:
        features = np.flatnonzero(relevance > relevance.mean() * (1 + 1e-9))
        if not len(features):
            return ["all features alike"]
    wide = np.maximum(prototypes.background_spread[features], 1e-300)
    tightness = prototypes.spread[k, features] / wide
    # The features that set the cluster apart come first: relevant, tight, far from the rest.
    order = np.lexsort((tightness, -relevance[features]))
    shown = [_interval(prototypes, k, f) for f in features[order[:most]]]
    hidden = len(features) - len(shown)
    return [*shown, f"and {count(hidden, 'more feature')}"] if hidden else shown


def _interval(prototypes: Prototypes, k: int, feature: int) -> str:
    name, low = _name(prototypes, feature), prototypes.low[k, feature]
    if math.isnan(low):
        return f"{name} unknown"
    return f"{name} in {interval_text(low, prototypes.high[k, feature])}"


def _direction_parts(prototypes: Prototypes, k: int, most: int) -> list[str]:
    subspaces = prototypes.subspaces
    basis = subspaces.bases[k]  # type: ignore[attr-defined]
    directions = [_combination(prototypes, basis[:, j]) for j in range(min(basis.shape[1], 3))]
    more = basis.shape[1] - len(directions)
    if more > 0:
        directions.append(f"{count(more, 'more direction')}")
    if subspaces.is_complement:  # type: ignore[attr-defined]
        if not directions:
            return ["all in one point"]
        return [f"spread along {' and '.join(directions)}"]
    if not directions:
        return ["alike in no direction"]
    return [f"alike in {' and '.join(directions)}"]


def _combination(prototypes: Prototypes, vector: np.ndarray) -> str:
    """The largest loadings of a direction, as ``0.71 a - 0.71 b``."""
    order = np.argsort(-np.abs(vector), kind="stable")
    strong = [int(j) for j in order[:4] if abs(vector[j]) >= 0.15] or [int(order[0])]
    sign = -1.0 if vector[strong[0]] < 0 else 1.0
    text = ""
    for j in strong:
        loading = sign * vector[j]
        joint = (" - " if loading < 0 else " + ") if text else ("-" if loading < 0 else "")
        text += f"{joint}{abs(loading):.2f} {_name(prototypes, j)}"
    return text + (" + …" if np.square(vector[strong]).sum() < 0.9 else "")
