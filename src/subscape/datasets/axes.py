"""Tables with axis-aligned subspace clusters."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from subscape.core.clustering import SubspaceClustering
from subscape.core.subspaces import AxisSubspaces
from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray

from .planted import (
    SIZE_JITTER,
    Planted,
    RandomState,
    generator,
    given_sizes,
    interval,
    memberships_of,
    real,
    shuffled_labels,
    varied_sizes,
    whole,
)


def planted_axes(
    n_rows: int = 500,
    n_features: int = 20,
    *,
    n_clusters: int = 5,
    dims: int | Sequence[int] = 6,
    sizes: Sequence[int] | Sequence[float] | None = None,
    overlap: float = 0.0,
    shared_dims: int | None = None,
    noise: float = 0.0,
    spread: float | tuple[float, float] = (0.03, 0.05),
    background: Literal["uniform", "normal"] = "uniform",
    random_state: RandomState = None,
) -> Planted:
    """Make a table in which groups of rows are alike in some of the features.

    In a relevant feature the rows of a cluster are normal around its centre; everything else is
    background. The standard deviation of a cluster in a relevant feature is a share of that of
    the whole column, as in section 6.1.1 of Patrikainen's thesis [1]_, and the share is met
    exactly, not just in expectation (clusters of one row, which have no spread, excepted).

    Parameters
    ----------
    n_rows, n_features : int
        Shape of the table.
    n_clusters : int, default=5
        Number of clusters.
    dims : int, pair or sequence of int, default=6
        Relevant features per cluster: one number for all, one number per cluster, or a pair
        ``(low, high)`` to draw from. With two clusters a pair means one number per cluster.
    sizes : sequence, optional
        Rows per cluster, before overlap: integers are counts, floats are shares of the clustered
        rows. By default drawn between 0.75 and 1.25 of an equal share.
    overlap : float, default=0
        Share of all rows (at most 0.5) that are in a second cluster too, a neighbour in the order
        of the clusters. Such a row obeys both clusters in all their relevant features.
    shared_dims : int, optional
        How many relevant features each cluster shares with the next one. By default left to
        chance, or, with overlap, as few as possible: clusters that share rows *and* a feature can
        only agree in it, so they get one common centre there (and their shares of the column's
        spread hold only up to sampling error).
    noise : float, default=0
        Share of all rows that are in no cluster.
    spread : float or (low, high), default=(0.03, 0.05)
        Standard deviation of a cluster in a relevant feature, as share of the column's; drawn
        for every cluster and feature.
    background : {"uniform", "normal"}, default="uniform"
        Distribution of everything else: uniform on [0, 1] or standard normal. Centres are drawn
        from its middle 80 %.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Planted
        Unpacks as ``X, truth``.

    See Also
    --------
    planted_oriented : Clusters on flats of any orientation.
    planted_views : Several clusterings at once.
    structureless : Tables without clusters.

    References
    ----------
    .. [1] A. Patrikainen, M. Meila, "Comparing subspace clusterings", IEEE TKDE 18(7), 2006,
       doi:10.1109/TKDE.2006.106 (the thesis of the same name, 2005, describes the data).

    Examples
    --------
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(200, 10, n_clusters=3, dims=4, noise=0.1, random_state=0)
    >>> X.shape, truth.n_clusters, truth.subspaces.dims.tolist()
    ((200, 10), 3, [4.0, 4.0, 4.0])
    >>> int((truth.labels() == -1).sum())
    20
    """
    rng = generator(random_state)
    n = whole(n_rows, "n_rows", 1)
    p = whole(n_features, "n_features", 1)
    k = whole(n_clusters, "n_clusters", 1)
    low, high = interval(spread, "spread", 0.0, 1.0, below=True)
    if background not in ("uniform", "normal"):
        raise ValueError(f"background must be 'uniform' or 'normal', got {background!r}")
    clustered = n - round(real(noise, "noise", 0.0, 1.0, below=True) * n)
    if clustered < k:
        raise ValueError(
            f"{k} clusters need at least {k} rows, but only {clustered} of n_rows={n} are not "
            f"noise (noise={noise})"
        )
    doubled = round(real(overlap, "overlap", 0.0, 0.5) * n)
    if doubled and k == 1:
        raise ValueError("overlap needs at least two clusters, got n_clusters=1")
    if doubled > clustered:
        raise ValueError(
            f"overlap asks for {doubled} rows in two clusters, but only {clustered} rows are in "
            "one: lower overlap or noise"
        )

    widths = _dims_per_cluster(dims, k, p, rng)
    shared = _shared_per_cluster(shared_dims, widths, p, fewest=doubled > 0)
    counts = (
        varied_sizes(clustered, k, SIZE_JITTER, rng)
        if sizes is None
        else given_sizes(sizes, clustered, k)
    )
    masks = _relevant_features(widths, shared, p, rng)
    labels = shuffled_labels(counts, n, rng)
    members = memberships_of(labels, k)
    if doubled:
        members = members + _second_memberships(labels, doubled, k, rng)
    X = rng.uniform(size=(n, p)) if background == "uniform" else rng.normal(size=(n, p))
    centers = np.full((k, p), np.nan)
    for j, groups in enumerate(_groups(members, masks, doubled > 0)):
        quantiles = rng.uniform(0.1, 0.9, len(groups))
        lies = quantiles if background == "uniform" else ndtri(quantiles)
        ratios = rng.uniform(low, high, len(groups))
        rows = [np.unique(members[group].indices) for group in groups]
        X[:, j] = _narrowed(X[:, j], rows, lies, ratios, rng)
        for group, center in zip(groups, lies, strict=True):
            centers[group, j] = center
    return Planted(X, SubspaceClustering(members, AxisSubspaces(masks)), centers)


def thesis_6_1(dims: int = 6, random_state: RandomState = None) -> Planted:
    """Make a table like those of section 6.1 of Patrikainen's thesis (external validation).

    500 rows, 20 features, five clusters that partition the rows, of 15 to 25 % of the rows each;
    no noise; standard deviation in a relevant feature 3 to 5 % of the column's. The paper that
    followed is doi:10.1109/TKDE.2006.106.

    Parameters
    ----------
    dims : int, default=6
        Relevant features per cluster; the thesis has 4, 6, ..., 18.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Planted

    See Also
    --------
    thesis_6_2 : The table of the next section.
    planted_axes : Tables of any kind.

    Examples
    --------
    >>> from subscape.datasets import thesis_6_1
    >>> thesis_6_1(4, random_state=0)
    Planted(500 x 20, 5 axis clusters)
    """
    return planted_axes(500, 20, n_clusters=5, dims=dims, random_state=random_state)


def thesis_6_2(random_state: RandomState = None) -> Planted:
    """Make a table like that of section 6.2 of Patrikainen's thesis (internal validation).

    1000 rows, 100 features, five clusters that partition the rows, of about 200 rows (190 to 210)
    and 10 relevant features each; no noise; standard deviation 3 to 5 % of the column's. The
    paper that followed is doi:10.1109/TKDE.2006.106.

    Parameters
    ----------
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Planted

    See Also
    --------
    thesis_6_1 : The tables of the section before.
    planted_axes : Tables of any kind.

    Examples
    --------
    >>> from subscape.datasets import thesis_6_2
    >>> thesis_6_2(random_state=0)
    Planted(1000 x 100, 5 axis clusters)
    """
    rng = generator(random_state)
    sizes = varied_sizes(1000, 5, 0.05, rng).tolist()
    return planted_axes(1000, 100, n_clusters=5, dims=10, sizes=sizes, random_state=rng)


def _dims_per_cluster(dims: Any, k: int, p: int, rng: np.random.Generator) -> IntArray:
    why = f"n_features is {p}"
    if isinstance(dims, Integral):
        return np.full(k, whole(dims, "dims", 1, p, why))
    if np.ndim(dims) != 1 or len(dims) not in (2, k):
        raise ValueError(
            f"dims must be a number, a pair (low, high) or {k} numbers, one per cluster, got "
            f"{dims!r}"
        )
    values = [whole(value, "dims", 1, p, why) for value in dims]
    if len(values) == k:
        return np.array(values)
    if values[0] > values[1]:
        raise ValueError(f"dims must be a pair (low, high) with low <= high, got {dims!r}")
    return rng.integers(values[0], values[1], k, endpoint=True)


def _shared_per_cluster(
    shared_dims: int | None, widths: IntArray, p: int, *, fewest: bool
) -> IntArray | None:
    """How many features cluster i + 1 takes over from cluster i; None leaves it to chance."""
    least = np.maximum(widths[1:] + widths[:-1] - p, 0)
    if shared_dims is None:
        return least if fewest else None
    most = np.minimum(widths[1:], widths[:-1])
    if len(widths) == 1:
        raise ValueError("shared_dims needs at least two clusters, got n_clusters=1")
    value = whole(shared_dims, "shared_dims", 0)
    if value < least.max() or value > most.min():
        raise ValueError(
            f"shared_dims must be between {least.max()} and {most.min()} for clusters of "
            f"{widths.tolist()} dims among {p} features, got {value}"
        )
    return np.full(len(least), value)


def _relevant_features(
    widths: IntArray, shared: IntArray | None, p: int, rng: np.random.Generator
) -> BoolArray:
    masks = np.zeros((len(widths), p), dtype=bool)
    for i, width in enumerate(widths):
        order = rng.permutation(p)
        if shared is None or i == 0:
            masks[i, order[:width]] = True
            continue
        before = masks[i - 1, order]
        # Features that the cluster before has already shared come last, which keeps runs of
        # clusters with a feature in common short.
        used = masks[i - 2, order] if i > 1 else np.zeros(p, dtype=bool)
        candidates = np.concatenate([order[before & ~used], order[before & used]])
        masks[i, candidates[: shared[i - 1]]] = True
        masks[i, order[~before][: width - shared[i - 1]]] = True
    return masks


def _second_memberships(
    labels: IntArray, doubled: int, k: int, rng: np.random.Generator
) -> sparse.csr_array:
    rows = rng.choice(np.flatnonzero(labels >= 0), doubled, replace=False)
    own = labels[rows]
    step = np.where(rng.random(doubled) < 0.5, -1, 1)
    step[own == 0] = 1
    step[own == k - 1] = -1
    second = np.full(len(labels), -1, dtype=np.int64)
    second[rows] = own + step
    return memberships_of(second, k)


def _groups(
    members: sparse.csr_array, masks: BoolArray, overlapping: bool
) -> list[list[IndexArray]]:
    """Per feature, the clusters it is relevant to, those together that have rows in common."""
    if not overlapping:
        return [[np.array([i]) for i in np.flatnonzero(column)] for column in masks.T]
    counts = members.astype(np.int64)
    touching = (counts @ counts.T).toarray() > 0
    grouped = []
    for column in masks.T:
        relevant = np.flatnonzero(column)
        graph = sparse.csr_array(touching[np.ix_(relevant, relevant)])
        n_groups, which = connected_components(graph, directed=False) if len(relevant) else (0, [])
        grouped.append([relevant[which == g] for g in range(n_groups)])
    return grouped


def _narrowed(
    column: FloatArray,
    groups: list[IndexArray],
    centers: FloatArray,
    ratios: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Put each group at its centre, with ``ratio`` times the final spread of the whole column."""
    column = column.copy()
    residuals = []
    for rows, center in zip(groups, centers, strict=True):
        column[rows] = center
        z = rng.normal(size=len(rows))
        z -= z.mean()
        residuals.append(z / z.std() if len(rows) > 1 else z)
    if any(len(rows) == len(column) for rows in groups):
        raise ValueError(
            "a feature is relevant to all rows at one centre, so no cluster can be narrower than "
            "its column there: add noise rows or clusters, or (with overlap) lower dims or "
            "shared_dims"
        )
    # Residuals have mean 0 and variance 1, so the column's variance V solves
    # V = V(centres and background) + sum of shares * ratios^2 * V.
    within = sum(len(z) * z.var() * r**2 for z, r in zip(residuals, ratios, strict=True))
    scale = column.std() / np.sqrt(1 - within / len(column))
    for rows, z, ratio in zip(groups, residuals, ratios, strict=True):
        column[rows] += ratio * scale * z
    return column
