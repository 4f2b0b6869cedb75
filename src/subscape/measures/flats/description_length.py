"""Bits it takes to send a table by means of a clustering: a score with no price to choose."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.markup import fields_card
from subscape.core.memberships import DistantMemberships
from subscape.core.types import BoolArray, FloatArray, IntArray

from .fitting import (
    AnyPart,
    FittedFlat,
    Part,
    PartMoments,
    WholePart,
    clustering_of,
    fit_flats,
    moments_of,
    noise_part,
    parts_of,
    planned_flats,
    refuse_bad_sums,
    streamed,
)
from .reconstruction import FlatDims

#: Steps per standard deviation of the table to which values are sent unless told otherwise.
STEPS = 1024


class DescriptionLength(NamedTuple):
    """What :func:`description_length` returns, in bits; small is good.

    Attributes
    ----------
    total : float
        ``data + model + assignment``.
    data : float
        The rows: off the flats as deviations from them, along the flats and in the noise as
        deviations from the table's mean.
    model : float
        Flats, offsets and variances of the clusters; mean and variance of the table.
    assignment : float
        Which row is in which cluster or in none.
    null : float
        The total without any cluster, every row being noise.
    cluster_bits : array of shape (n_clusters,)
        Data and model of each cluster.
    noise_bits : float
        Data of the rows in no cluster.
    flat_dims : array of shape (n_clusters,)
        Dimension of each cluster's flat.
    precision : float or array of shape (n_features,)
        Step to which values are sent.

    See Also
    --------
    description_length : Makes it.
    """

    total: float
    data: float
    model: float
    assignment: float
    null: float
    cluster_bits: FloatArray
    noise_bits: float
    flat_dims: IntArray
    precision: float | FloatArray

    @property
    def saved(self) -> float:
        """Share of ``null`` that the clusters save; negative where they cost more than they tell.

        >>> from subscape.measures import description_length
        >>> bool(description_length([[0.0], [0.1], [5.0], [5.1]] * 9, [0, 0, 1, 1] * 9).saved > 0)
        True
        """
        return 1.0 - self.total / self.null

    def _repr_html_(self) -> str:
        return fields_card(self)


def description_length(
    X: ArrayLike, clustering: Any, flat_dims: FlatDims = None, precision: float | None = None
) -> DescriptionLength:
    """Bits to send a table with the help of a clustering: number and dims of clusters compete.

    The kin of :func:`sre` in which reconstruction errors, dimensions and clusters are all counted
    in bits, so that no price has to be chosen. It is what [1]_ names as future work; the code is
    ours. The clustering with the fewest bits is the best description of the table.

    - A row of a cluster is sent as its deviation from the flat (normal, with the cluster's own
      variance) and its place along the flat (normal about the table's mean, with a variance that
      all clusters and the noise share). A cluster thus says where its rows are alike, and nothing
      else: two segments of one line are one cluster.
    - A row in no cluster is sent like a place along a flat. That is what all rows cost without
      clusters, so "all noise" is the null that a clustering must beat.
    - Parameters are sent as precisely as the rows warrant [2]_ and for no less than ½ log2 n_k
      bits: a flat that fits tightly needs its offset and its directions more exactly, so that
      clusters of a few rows never pay.
    - Which row is where costs the logarithm of the number of such partitions; for soft memberships
      and rows in several clusters less the entropy of the row's memberships (bits back).

    Oriented flats have one variance for all directions off the flat, and one for all along it: bits
    don't change when the table is shifted, rotated or multiplied by a number. Axis-aligned and
    weighted clusterings have a variance per feature, and a mean per feature for what is in no
    cluster: bits don't change when a feature is shifted or rescaled.

    Parameters
    ----------
    X, clustering, flat_dims
        As in :func:`sre`; with ``flat_dims`` the flats are oriented, whatever the kind.
    precision : float, optional
        Step to which all values are sent, e.g. 0.1 for a table with one decimal. Default: 1/1024 of
        the table's standard deviation, for axis-aligned clusterings of each feature's. It changes
        all totals alike, unless clusters are as tight as a step. Bits with the same step can be
        compared also between axis-aligned and oriented clusterings.

    Returns
    -------
    DescriptionLength

    See Also
    --------
    sre : Reconstruction errors instead of bits.
    encode : The bits themselves, which can be read again.

    References
    ----------
    .. [1] D. Kazempour, A. Beer, P. Kröger, T. Seidl, "I fold you so! An internal evaluation
       measure for arbitrary oriented subspace clustering", LMU Munich, 2019.
    .. [2] C. S. Wallace, P. R. Freeman, "Estimation and inference by compact coding", Journal of
       the Royal Statistical Society B 49 (1987), doi:10.1111/j.2517-6161.1987.tb01695.x.

    Examples
    --------
    Two lines in space, as lines, as one plane and as two points:

    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import description_length
    >>> X, truth = planted_oriented(3, ((1, 100), (1, 100)), noise=0, random_state=0)
    >>> lines = description_length(X, truth)
    >>> plane = description_length(X, [0] * 200, flat_dims=2)
    >>> points = description_length(X, truth, flat_dims=0)
    >>> lines.total < plane.total < points.total
    True
    >>> round(lines.saved, 2)
    0.22
    """
    table = streamed(X, "description_length")
    given = clustering_of(clustering, table, X)
    plan = planned_flats(given, flat_dims)
    everything = moments_of(table, WholePart(len(table)))
    refuse_bad_sums(X, "description_length", [everything])
    parts = _shared(parts_of(given), given)
    flats = fit_flats(table, parts, plan.dims, plan.masks)
    noise = moments_of(table, noise_part(given))
    step = _step(everything, precision, by_feature=plan.masks is not None)
    if plan.masks is None:
        code = oriented_code(flats, noise, everything, float(step[0]))
        null = oriented_code([], everything, everything, float(step[0]))
    else:
        code = aligned_code(flats, plan.masks, noise, everything, step)
        null = aligned_code([], plan.masks[:0], everything, everything, step)
    data = float(code.data.sum() + code.noise)
    model = float(code.model.sum() + code.background)
    assignment = _assignment_bits(given, parts, noise.weight)
    return DescriptionLength(
        total=data + model + assignment,
        data=data,
        model=model,
        assignment=assignment,
        null=null.noise + null.background,
        cluster_bits=code.data + code.model,
        noise_bits=code.noise,
        flat_dims=plan.dims,
        precision=step if plan.masks is not None else float(step[0]),
    )


def _step(table: PartMoments, precision: float | None, by_feature: bool) -> FloatArray:
    """To which step the values of each feature are sent."""
    p = len(table.mean)
    if precision is not None:
        if not np.isfinite(precision) or precision <= 0:
            raise SubscapeError(f"precision must be a number above 0, got {precision!r}")
        return np.full(p, float(precision))
    spread = table.variances if by_feature else np.full(p, table.variances.mean())
    # A constant feature has no scale; any step sends it for next to nothing.
    return np.where(spread > 0, np.sqrt(spread) / STEPS, 1.0)


def _shared(parts: list[AnyPart], clustering: SubspaceClustering) -> list[AnyPart]:
    """Memberships that add up to 1 for every row that is in any cluster."""
    if isinstance(clustering.members, DistantMemberships) or clustering.is_row_disjoint:
        return parts
    members = clustering.members
    totals = np.bincount(members.indices, members.values, minlength=members.n_rows)
    return [
        Part(
            part.rows,
            (1.0 if part.memberships is None else part.memberships) / totals[part.rows],
        )
        for part in parts
    ]


def _assignment_bits(clustering: SubspaceClustering, parts: list[AnyPart], noise: float) -> float:
    """Sizes of the clusters, and which of the partitions with these sizes it is."""
    n, number = clustering.n_rows, len(parts)
    sizes = np.array([*(part.weight for part in parts), noise])
    partitions = gammaln(n + 1) - gammaln(sizes + 1).sum()
    bits = NAT * float(partitions) + log_choose(n + number, number)
    for part in parts:
        if part.memberships is not None:
            bits += float(part.memberships @ np.log2(part.memberships))
    return bits


# -- bits of rows and parameters of flats: the two codes behind the description length -------------


#: Bits of a nat.
NAT = float(np.log2(math.e))


class CodedClusters(NamedTuple):
    """Bits for the rows and for the parameters of each cluster, for the noise and background."""

    data: FloatArray
    model: FloatArray
    noise: float
    background: float


def oriented_code(
    flats: list[FittedFlat], noise: PartMoments, table: PartMoments, step: float
) -> CodedClusters:
    """One variance off each flat and one background for all directions: rotations change nothing.

    Parameters
    ----------
    flats : list of FittedFlat
    noise, table : PartMoments
        Of the rows in no cluster, and of all rows.
    step : float
    """
    p = len(table.mean)
    rounding = step**2 / 12
    wide = float(table.variances.mean()) + rounding
    cells, squares, data, model = (np.zeros(len(flats) + 1) for _ in range(4))
    for k, flat in enumerate(flats):
        weight, off = flat.moments.weight, p - flat.dim
        away = flat.moments.mean - table.mean
        if flat.features is None:
            along = float(np.square(flat.basis.T @ away).sum())
            inside = float(flat.values.sum())
        else:  # the flat is the whole space
            along, inside = float(away @ away), float(flat.moments.variances.sum())
        cells[k] = weight * flat.dim
        squares[k] = weight * (inside + along + flat.dim * rounding)
        model[k] = np.log2(p + 1)
        if off:
            tight = flat.residual / off + rounding
            across = max(float(away @ away) - along, 0.0) / off
            data[k] = weight * off * 0.5 * np.log2(2 * np.pi * math.e * tight / step**2)
            model[k] += _log_variance_bits(weight, wide / rounding)
            model[k] += off * _offset_bits(weight, across, tight, wide)
            model[k] += off * float(_angle_bits(weight, flat.values, tight, p, flat.dim).sum())
    away = noise.mean - table.mean
    cells[-1] = noise.weight * p
    squares[-1] = noise.weight * (noise.variances.sum() + away @ away + p * rounding)
    back = squares.sum() / cells.sum() if cells.any() else wide
    data += 0.5 * (cells * np.log2(2 * np.pi * back / step**2) + NAT * squares / back)
    return CodedClusters(data[:-1], model[:-1], float(data[-1]), (p + 1) * _half_log(table.weight))


def aligned_code(
    flats: list[FittedFlat],
    masks: BoolArray,
    noise: PartMoments,
    table: PartMoments,
    step: FloatArray,
) -> CodedClusters:
    """A variance per feature, in each cluster and in the background: scales change nothing.

    Parameters
    ----------
    flats : list of FittedFlat
    masks : bool array of shape (n_clusters, n_features)
        Relevant features.
    noise, table : PartMoments
        Of the rows in no cluster, and of all rows.
    step : array of shape (n_features,)
    """
    p = len(table.mean)
    rounding = np.square(step) / 12
    wide = table.variances + rounding
    groups = [*(flat.moments for flat in flats), noise]
    weights = np.array([group.weight for group in groups])[:, None]
    away = np.array([group.mean for group in groups]) - table.mean
    tight = np.array([group.variances for group in groups]) + rounding
    relevant = np.concatenate([masks, np.zeros((1, p), bool)])

    cells = weights * ~relevant
    total = cells.sum(axis=0)
    used = np.where(total > 0, total, 1.0)
    shift = (cells * away).sum(axis=0) / used
    squares = cells * (tight + np.square(away - shift))
    back = np.where(total > 0, squares.sum(axis=0) / used, wide)
    bits = cells * np.log2(2 * np.pi * back / rounding / 12) + NAT * squares / back
    own = weights * relevant * np.log2(2 * np.pi * math.e * tight / rounding / 12)
    data = 0.5 * (bits + own).sum(axis=1)

    model = np.array([np.log2(p + 1) + log_choose(p, int(mask.sum())) for mask in masks])
    for k, mask in enumerate(masks):
        weight = float(weights[k, 0])
        offsets = _offset_bits(weight, np.square(away[k, mask]), tight[k, mask], wide[mask])
        model[k] += float((offsets + _log_variance_bits(weight, (wide / rounding)[mask])).sum())
    return CodedClusters(data[:-1], model, float(data[-1]), 2 * p * _half_log(table.weight))


def log_choose(n: int, k: int) -> float:
    """Bits to name k of n things."""
    return NAT * float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


# -- parameters ---------------------------------------------------------------------------------
# A parameter is sent in cells of width sqrt(12 / information), which lengthens the data by half a
# nat. It costs the logarithm of its range over that width, and never less than half log n.


def _half_log(weight: float) -> float:
    return 0.5 * float(np.log2(max(weight, 1.0)))


def _offset_bits(
    weight: float, away: FloatArray | float, tight: FloatArray | float, wide: FloatArray | float
) -> FloatArray:
    """Where a flat is across one direction, in a table of variance ``wide``; information n / v."""
    extra = np.log2(2 * np.pi * wide / (12 * tight)) + NAT * (1 + away / wide)
    return np.asarray(_half_log(weight) + 0.5 * np.maximum(extra, 0.0))


def _log_variance_bits(weight: float, ratio: FloatArray | float) -> FloatArray:
    """A variance between that of rounding and the table's, on a log scale; information n / 2."""
    extra = np.log2(np.maximum(np.log(ratio), 1.0)) - 0.5 * np.log2(24) + 0.5 * NAT
    return np.asarray(_half_log(weight) + np.maximum(extra, 0.0))


def _angle_bits(weight: float, along: FloatArray, tight: float, p: int, dim: int) -> FloatArray:
    """The angles of each direction of a flat against one direction off it.

    A turn by t moves rows off the flat by t times their spread along it: information n λ / v. The
    range is the volume of all flats, O(p) / (O(l) × O(p − l)), shared among its l (p − l) angles.
    """
    if not len(along):
        return np.zeros(0)
    volume = _log_rotations(p) - _log_rotations(dim) - _log_rotations(p - dim)
    extra = 0.5 * np.log2(np.maximum(along / (12 * tight), 1e-300))
    extra += NAT * (0.5 + volume / (dim * (p - dim)))
    return np.asarray(_half_log(weight) + np.maximum(extra, 0.0))


def _log_rotations(p: int) -> float:
    """Log volume of the orthogonal group, a product of spheres."""
    i = np.arange(1, p + 1)
    return float((np.log(2) + i / 2 * np.log(np.pi) - gammaln(i / 2)).sum())
