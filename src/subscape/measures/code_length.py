"""Bits it takes to send a table by means of a clustering: a score with no price to choose."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from subscape.core import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.markup import fields_card

from .fitted_flats import (
    FloatArray,
    Moments,
    Part,
    clustering_of,
    fit_flats,
    moments_of,
    noise_part,
    parts_of,
    planned_flats,
    refuse_bad_sums,
    streamed,
)
from .flat_codes import NAT, aligned_code, log_choose, oriented_code
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
    """

    total: float
    data: float
    model: float
    assignment: float
    null: float
    cluster_bits: FloatArray
    noise_bits: float
    flat_dims: NDArray[np.int64]
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
    everything = moments_of(table, Part(np.arange(len(table), dtype=np.int32), None))
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


def _step(table: Moments, precision: float | None, by_feature: bool) -> FloatArray:
    """To which step the values of each feature are sent."""
    p = len(table.mean)
    if precision is not None:
        if not np.isfinite(precision) or precision <= 0:
            raise SubscapeError(f"precision must be a number above 0, got {precision!r}")
        return np.full(p, float(precision))
    spread = table.variances if by_feature else np.full(p, table.variances.mean())
    # A constant feature has no scale; any step sends it for next to nothing.
    return np.where(spread > 0, np.sqrt(spread) / STEPS, 1.0)


def _shared(parts: list[Part], clustering: SubspaceClustering) -> list[Part]:
    """Memberships that add up to 1 for every row that is in any cluster."""
    if clustering.is_row_disjoint:
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


def _assignment_bits(clustering: SubspaceClustering, parts: list[Part], noise: float) -> float:
    """Sizes of the clusters, and which of the partitions with these sizes it is."""
    n, number = clustering.n_rows, len(parts)
    sizes = np.array([*(part.weight for part in parts), noise])
    partitions = gammaln(n + 1) - gammaln(sizes + 1).sum()
    bits = NAT * float(partitions) + log_choose(n + number, number)
    for part in parts:
        if part.memberships is not None:
            bits += float(part.memberships @ np.log2(part.memberships))
    return bits
