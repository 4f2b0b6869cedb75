"""How well the flats of the clusters reconstruct the table: SRE, a score that needs no truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import EmptyClusteringError, SubscapeError
from subscape.core.markup import fields_card
from subscape.core.types import FloatArray, IntArray

from .fitting import (
    AnyPart,
    FittedFlat,
    Numbers,
    PassPlan,
    WholePart,
    clustering_of,
    fit_flats,
    moments_of,
    noise_part,
    parts_of,
    planned_flats,
    refuse_bad_sums,
    spectrum_of,
    streamed,
)

FlatDims = int | Sequence[int] | NDArray[Any] | None


class ReconstructionScore(NamedTuple):
    """What :func:`sre` returns; small is good.

    Attributes
    ----------
    total : float
        The score: ``loss + alpha * flat_dim + beta * n_clusters``, divided by the share of the rows
        in clusters if noise counts.
    loss : float
        Sum of the clusters' losses; that of the noise, if it counts, times its share of the rows.
    cluster_losses : array of shape (n_clusters,) or (n_clusters + 1,)
        Mean squared residual per row and feature of each cluster; last, if there is noise and it
        counts, that of the noise.
    flat_dims : array of the same shape
        Dimension of each cluster's flat; 0 for the noise.
    flat_dim : float
        Median or mean of the clusters' (l).
    n_clusters : int
        Number of clusters; noise is none.
    noise_share : float
        Share of the rows in no cluster.

    See Also
    --------
    sre : Makes it.
    """

    total: float
    loss: float
    cluster_losses: FloatArray
    flat_dims: IntArray
    flat_dim: float
    n_clusters: int
    noise_share: float

    def _repr_html_(self) -> str:
        return fields_card(self)


def sre(
    X: ArrayLike,
    clustering: Any,
    alpha: float = 0.5,
    beta: float = 0.5,
    flat_dims: FlatDims = None,
    summary: str = "median",
    units: str = "data",
    noise: str = "share",
) -> ReconstructionScore:
    """Sum of subspace reconstruction errors, an internal score of subspace clusterings [1]_.

    Every cluster is replaced by its projection onto a flat: through its mean, along its first
    principal directions, as many as its points spread along. The score adds up what the flats lose
    and what they cost: the mean squared residual per row and feature of each cluster, ``alpha``
    times the dimension of the flats and ``beta`` times the number of clusters.

    *Subspace* means the directions in which the points of a cluster are alike, so its flat has
    l = p − dims dimensions and is the complement of the subspace.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The table that was clustered; also a memmap, the path of a Parquet file or folder, or a
        Dask array, which are read in blocks. ``X`` may be a torch or cupy tensor: the sums over its
        rows are taken on its device.
    clustering : SubspaceClustering, fitted finder or label vector
        Soft memberships weight the rows. The flats of axis-aligned clusters are spanned by their
        irrelevant features; of feature weights the heaviest features count as relevant, as many as
        the weights have dims, rounded. A label vector says that all features are relevant: its
        flats are points, unless ``flat_dims`` is given.
    alpha, beta : float, default=0.5
        Price of a dimension (α) and of a cluster (β), both at least 0. With both 0 the total is
        the pure loss, where no row is noise.
    flat_dims : int or sequence of int, optional
        Dimension of the flats (l), one for all clusters or one each; then principal directions are
        taken, whatever the kind. Default: p − dims of each cluster.
    summary : {"median", "mean"}, default="median"
        How flats of different dimensions count in ``alpha * l``.
    units : {"data", "variance"}, default="data"
        "data": losses are in squared units of the table, so that rescaling the table changes what
        ``alpha`` and ``beta`` mean. "variance": losses are divided by the mean variance of the
        columns, for comparing tables.
    noise : {"share", "cluster", "ignore"}, default="share"
        "share": rows in no cluster are reconstructed by their mean, like a cluster of dimension
        0 whose loss counts by its share of the rows, and the total is divided by the share of the
        rows in clusters: what part of the table is told at this price. The score of all noise is
        infinite. "cluster": they are one more cluster of dimension 0, like any other. "ignore":
        noise costs nothing, and leaving out much makes good scores.

    Returns
    -------
    ReconstructionScore

    See Also
    --------
    description_length : Bits instead of errors; numbers of clusters compete.
    loss_by_dim : The errors for every dimension of the flats.

    Notes
    -----
    The score doesn't change when all rows or (with the same flats) all features are doubled, rows
    or clusters are reordered, or the table is rotated with its oriented clusters. The paper says
    nothing about noise. As one more cluster of full weight, a tenth of the rows would lose as much
    as all of them, and calling everything noise would beat the truth wherever there is noise; that
    is why its share counts. The paper calls the score scale invariant, which holds for rows and
    features but not for units. Its experiments use the tables as they are, without any scaling.

    References
    ----------
    .. [1] D. Kazempour, A. Beer, P. Kröger, T. Seidl, "I fold you so! An internal evaluation
       measure for arbitrary oriented subspace clustering", LMU Munich, 2019.

    Examples
    --------
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import sre
    >>> X, truth = planted_oriented(3, ((1, 100), (1, 100)), noise=0, random_state=0)
    >>> score = sre(X, truth)
    >>> score.flat_dims, round(score.loss, 5), round(score.total, 3)
    (array([1, 1]), 3e-05, 1.5)
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine().data
    >>> round(sre(wine, [0] * 178, flat_dims=8).loss, 5)
    0.01917
    """
    _check_prices(alpha, beta)
    _check_choice("summary", summary, ("median", "mean"))
    _check_choice("units", units, ("data", "variance"))
    _check_choice("noise", noise, ("share", "cluster", "ignore"))
    table = streamed(X, "sre")
    given = clustering_of(clustering, table, X)
    plan = planned_flats(given, flat_dims)
    _, flats, n_lonely = _fitted(table, given, plan)
    refuse_bad_sums(X, "sre", [flat.moments for flat in flats])
    noise_share = n_lonely / len(table)
    weights, dims = np.ones(len(plan.dims)), plan.dims
    as_cluster = bool(n_lonely) and noise == "cluster"
    if n_lonely and noise != "ignore":
        weights = np.append(weights, 1.0 if as_cluster else noise_share)
        dims = np.append(dims, 0)
    residuals = [flat.residual for flat in flats[: len(dims)]]
    if not residuals:
        raise EmptyClusteringError(
            "the clustering has no cluster to score: every row is noise and noise='ignore'; "
            "with noise='share' its total is infinite"
        )
    losses = np.array(residuals) / table.shape[1]
    if units == "variance":
        losses = losses / _mean_variance(table)
    n_clusters = len(plan.dims)
    middle = np.median if summary == "median" else np.mean
    counted = dims if as_cluster else plan.dims
    flat_dim = float(middle(counted)) if len(counted) else 0.0
    loss = float(losses @ weights)
    price = loss + alpha * flat_dim + beta * len(counted)
    covered = 1 - noise_share if noise == "share" else 1.0
    return ReconstructionScore(
        total=price / covered if covered > 0 else float("inf"),
        loss=loss,
        cluster_losses=losses,
        flat_dims=dims,
        flat_dim=flat_dim,
        n_clusters=n_clusters,
        noise_share=noise_share,
    )


def feature_losses(X: ArrayLike, clustering: Any, flat_dims: FlatDims = None) -> FloatArray:
    """Mean squared residual of every feature in every cluster.

    Parameters
    ----------
    X, clustering, flat_dims
        As in :func:`sre`.

    Returns
    -------
    array of shape (n_clusters, n_features)
        One row more, the last, where there is noise: it is reconstructed by its mean. The mean of
        a row is the cluster's loss in :func:`sre`.

    See Also
    --------
    sre : Their sum.
    subscape.plots.ReconstructionErrorDisplay : As a picture.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.measures import feature_losses
    >>> X = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, -0.1], [3.0, 0.0]])
    >>> feature_losses(X, [0, 0, 0, 0], flat_dims=1).round(3)
    array([[0.   , 0.004]])
    """
    table = streamed(X, "feature_losses")
    flats = [flat for _, flat in fitted_parts(X, table, clustering, flat_dims, "feature_losses")]
    return np.array([flat.feature_losses() for flat in flats])


def loss_by_dim(X: ArrayLike, clustering: Any) -> FloatArray:
    """Loss of the same clusters with flats of dimension 0, 1, …, p.

    Parameters
    ----------
    X, clustering
        As in :func:`sre`. Only the rows of the clusters matter, not their subspaces.

    Returns
    -------
    array of shape (n_features + 1,)
        Entry l is ``sre(X, clustering, flat_dims=l).loss``; it never increases, and where there is
        no noise it ends with 0.

    See Also
    --------
    sre : With given dimensions.
    subscape.plots.LossCurveDisplay : As a picture.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.measures import loss_by_dim
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [5.0, 5.0]])
    >>> loss_by_dim(X, [0, 0, 0, 1]).round(3)
    array([0.667, 0.   , 0.   ])
    """
    table = streamed(X, "loss_by_dim")
    given = clustering_of(clustering, table, X)
    p = table.shape[1]
    losses, moments = np.zeros(p + 1), []
    for part in parts_of(given):
        spread, values = spectrum_of(table, part)
        moments.append(spread)
        # Summed from the smallest: the tail beyond l is what l directions leave.
        tails = np.cumsum(values[::-1])[::-1]
        losses[: len(tails)] += tails
    lonely = noise_part(given)
    if lonely.n_rows:
        moments.append(moments_of(table, lonely))
        losses += moments[-1].variances.sum() * lonely.n_rows / len(table)
    refuse_bad_sums(X, "loss_by_dim", moments)
    return losses / p


def fitted_parts(
    X: Any, table: Numbers, clustering: Any, flat_dims: FlatDims, who: str
) -> list[tuple[AnyPart, FittedFlat]]:
    """Rows and flat of every cluster and, last, of the noise if there is any."""
    given = clustering_of(clustering, table, X)
    parts, flats, _ = _fitted(table, given, planned_flats(given, flat_dims))
    refuse_bad_sums(X, who, [flat.moments for flat in flats])
    return list(zip(parts, flats, strict=True))


def _fitted(
    table: Numbers, given: SubspaceClustering, plan: PassPlan
) -> tuple[list[AnyPart], list[FittedFlat], int]:
    """Rows and flats of the clusters and, last, of the noise; and the rows of the noise."""
    parts, lonely = parts_of(given), noise_part(given)
    dims, masks = plan.dims, plan.masks
    if lonely.n_rows:
        parts, dims = [*parts, lonely], np.append(dims, 0)
        if masks is not None:
            # A point at the mean: every feature counts.
            masks = np.vstack([masks, np.ones((1, table.shape[1]), bool)])
    return parts, fit_flats(table, parts, dims, masks), lonely.n_rows


def _mean_variance(table: Numbers) -> float:
    every = WholePart(len(table))
    # Nothing is lost where nothing varies, whatever it is divided by.
    return float(moments_of(table, every).variances.mean()) or 1.0


def _check_prices(alpha: float, beta: float) -> None:
    for name, price in (("alpha", alpha), ("beta", beta)):
        if not np.isfinite(price) or price < 0:
            raise SubscapeError(f"{name} must be a number of at least 0, got {price!r}")


def _check_choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise SubscapeError(f"{name} must be one of {', '.join(choices)}; got {given!r}")
