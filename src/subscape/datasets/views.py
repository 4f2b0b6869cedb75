"""Tables with several independent clusterings, each in a subspace of its own."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.oriented import OrientedSubspaces
from subscape.core.subspaces import AxisSubspaces, Subspaces
from subscape.core.types import FloatArray, IntArray

from .planted import (
    PlantedViews,
    RandomState,
    generator,
    given_sizes,
    memberships_of,
    random_directions,
    real,
    share_of_rows,
    shuffled_labels,
    whole,
)

#: Places tried for each new centre; the one farthest from the other centres is taken.
CANDIDATES = 20


def planted_views(
    n_rows: int = 1000,
    n_features: int | None = 10,
    *,
    n_clusters: int | Sequence[int] = (3, 3),
    dims: int | Sequence[int] | None = None,
    separation: float = 6.0,
    noise_dims: int | None = None,
    noise_sd: float = 1.0,
    rotate: bool = True,
    sizes: Sequence[Any] | None = None,
    missing: float = 0.0,
    missing_at_random: bool = True,
    random_state: RandomState = None,
) -> PlantedViews:
    """Make a table that can be grouped in several independent ways.

    Each view is a clustering of all rows into round normal clusters of standard deviation 1 in
    its own subspace; the labels of different views are independent. Normal noise dimensions are
    added and everything is rotated at random, as for the data of Nr-Kmeans [1]_.

    Parameters
    ----------
    n_rows : int, default=1000
        Number of rows.
    n_features : int or None, default=10
        Number of features; None: as many as the views and ``noise_dims`` need.
    n_clusters : int or sequence of int, default=(3, 3)
        Number of clusters of each view.
    dims : int, sequence of int or None
        Dimensions of each view. By default 2, and 1 for a view of two clusters.
    separation : float, default=6
        Distance of the two nearest centres of a view in standard deviations of a cluster.
    noise_dims : int, optional
        Number of noise dimensions. By default what the views leave of ``n_features``.
    noise_sd : float, default=1
        Standard deviation in the noise dimensions.
    rotate : bool, default=True
        If false, the views are sets of features: the first columns are the first view's, the next
        ones the second's, the last ones are noise.
    sizes : sequence, optional
        One entry per view: counts (integers), shares (floats) or None for equal sizes.
    missing : float, default=0
        Share of the values that are missing (NaN).
    missing_at_random : bool, default=True
        If true every value is equally likely to be missing; if false a value is the likelier to be
        missing the larger it is: one standard deviation of its column makes it e² times likelier
        (as long as few values are missing).
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    PlantedViews
        Unpacks as ``X, truths``, one clustering per view. Its ``rotation`` undoes the rotation.

    See Also
    --------
    planted_axes : One clustering.
    structureless : Tables without clusters.

    References
    ----------
    .. [1] D. Mautz, W. Ye, C. Plant, C. Boehm, "Discovering non-redundant k-means clusterings in
       optimal subspaces", KDD 2018, doi:10.1145/3219819.3219945.

    Examples
    --------
    >>> from subscape.datasets import planted_views
    >>> X, truths = planted_views(300, 8, n_clusters=(4, 3), random_state=0)
    >>> X.shape, [truth.n_clusters for truth in truths]
    ((300, 8), [4, 3])
    >>> truths[0].kind, truths[0].subspaces.dims.tolist()
    ('oriented', [2.0, 2.0, 2.0, 2.0])
    """
    rng = generator(random_state)
    n = whole(n_rows, "n_rows", 1)
    ks = _per_view(n_clusters, "n_clusters", None, 2, "a view of one cluster is a noise dimension")
    if max(ks) > n:
        raise ValueError(f"n_clusters={max(ks)} clusters need as many rows, got n_rows={n}")
    widths = [min(2, k - 1) for k in ks] if dims is None else _per_view(dims, "dims", len(ks), 1)
    p = _n_features(n_features, noise_dims, sum(widths))
    gap = real(separation, "separation", 0.0)
    scale = real(noise_sd, "noise_sd", 0.0)
    share = real(missing, "missing", 0.0, 1.0, below=True)
    if sizes is None:
        sizes = [None] * len(ks)
    if len(sizes) != len(ks):
        raise ValueError(f"sizes must hold one entry per view, {len(ks)}, got {len(sizes)}")

    table = np.empty((n, p))
    all_labels, all_centers = [], []
    start = 0
    for v, (k, width) in enumerate(zip(ks, widths, strict=True)):
        counts = (
            share_of_rows(n, np.full(k, 1 / k))
            if sizes[v] is None
            else given_sizes(sizes[v], n, k, f"sizes of view {v}")
        )
        labels = shuffled_labels(counts, n, rng)
        centers = np.zeros((k, p))
        centers[:, start : start + width] = _spread_centers(k, width, gap, rng)
        table[:, start : start + width] = rng.normal(size=(n, width))
        table[:, start : start + width] += centers[labels, start : start + width]
        all_labels.append(labels)
        all_centers.append(centers)
        start += width
    table[:, start:] = scale * rng.normal(size=(n, p - start))

    rotation = random_directions(p, p, rng) if rotate else np.eye(p)
    X = table @ rotation.T if rotate else table
    if share:
        X[_missing_cells(X, share, missing_at_random, rng)] = np.nan
    truths = _truths(all_labels, ks, widths, rotation, rotate)
    return PlantedViews(X, truths, rotation, tuple(c @ rotation.T for c in all_centers))


def _per_view(value: Any, name: str, n_views: int | None, low: int, why: str = "") -> list[int]:
    if isinstance(value, Integral):
        value = [value] * (n_views or 1)
    if np.ndim(value) != 1 or len(value) == 0:
        raise ValueError(f"{name} must be a number or a sequence of one per view, got {value!r}")
    if n_views is not None and len(value) != n_views:
        raise ValueError(f"{name} must hold one number per view, {n_views}, got {len(value)}")
    return [whole(each, name, low, None, why) for each in value]


def _n_features(n_features: int | None, noise_dims: int | None, used: int) -> int:
    if noise_dims is not None:
        whole(noise_dims, "noise_dims", 0)
    if n_features is None:
        return used + (noise_dims or 0)
    p = whole(n_features, "n_features", 1)
    if used > p:
        raise ValueError(
            f"the views need {used} dimensions, but n_features is {p}: lower dims or raise "
            "n_features"
        )
    if noise_dims is not None and used + noise_dims != p:
        raise ValueError(
            f"the views ({used} dimensions) and noise_dims={noise_dims} do not add up to "
            f"n_features={p}: give one of the two, with n_features=None for the other way"
        )
    return p


def _spread_centers(k: int, width: int, gap: float, rng: np.random.Generator) -> FloatArray:
    """Place ``k`` centres apart from each other, the nearest two exactly ``gap`` apart."""
    centers = rng.uniform(size=(1, width))
    while len(centers) < k:
        tried = rng.uniform(size=(CANDIDATES, width))
        nearest = np.linalg.norm(tried[:, None] - centers, axis=2).min(axis=1)
        centers = np.vstack([centers, tried[nearest.argmax()]])
    distances = np.linalg.norm(centers[:, None] - centers, axis=2)
    centers -= centers.mean(axis=0)
    return centers * (gap / distances[np.triu_indices(k, 1)].min())


def _missing_cells(
    X: FloatArray, share: float, at_random: bool, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Draw cells without replacement; perturbing log weights by Gumbel noise does just that."""
    first = X.size - round(share * X.size)
    keys = rng.gumbel(size=X.shape)
    if not at_random:
        spread = X.std(axis=0)
        keys += 2 * (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    chosen = np.argpartition(keys, min(first, X.size - 1), axis=None)[first:]
    return np.unravel_index(chosen, X.shape)


def _truths(
    all_labels: list[IntArray],
    ks: list[int],
    widths: list[int],
    rotation: FloatArray,
    rotate: bool,
) -> tuple[SubspaceClustering, ...]:
    truths = []
    ends = np.cumsum(widths)
    for labels, k, width, end in zip(all_labels, ks, widths, ends, strict=True):
        columns = np.arange(end - width, end)
        subspaces: Subspaces
        if rotate:
            subspaces = OrientedSubspaces([rotation[:, columns]] * k)
        else:
            subspaces = AxisSubspaces(np.tile(np.isin(np.arange(len(rotation)), columns), (k, 1)))
        truths.append(SubspaceClustering(memberships_of(labels, k), subspaces))
    return tuple(truths)
