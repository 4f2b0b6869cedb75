"""Random clusterings for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from subscape.core import AxisSubspaces, OrientedSubspaces, SubspaceClustering, WeightedSubspaces

seeds = st.integers(0, 2**32 - 1)


def labels(rng: np.random.Generator, n_rows: int, most: int = 4, noise: float = 0.2) -> np.ndarray:
    """A random label vector with some noise and at least one row in cluster 0."""
    drawn = rng.integers(0, rng.integers(1, most + 1), n_rows)
    drawn[rng.random(n_rows) < noise] = -1
    drawn[rng.integers(n_rows)] = 0
    return np.unique(drawn, return_inverse=True)[1] - int((drawn < 0).any())


def random_axis(
    rng: np.random.Generator, shape: tuple[int, int], *, disjoint: bool = True
) -> SubspaceClustering:
    n_rows, n_features = shape
    if disjoint:
        drawn = labels(rng, n_rows)
        masks = random_masks(rng, drawn.max() + 1, n_features)
        return SubspaceClustering.from_labels(drawn, masks=masks)
    n_clusters = int(rng.integers(1, 5))
    members = rng.random((n_clusters, n_rows)) < 0.5
    members[:, rng.integers(n_rows)] = True
    return SubspaceClustering(members, AxisSubspaces(random_masks(rng, n_clusters, n_features)))


def random_masks(rng: np.random.Generator, n_clusters: int, n_features: int) -> np.ndarray:
    masks = rng.random((n_clusters, n_features)) < 0.6
    masks[np.arange(n_clusters), rng.integers(0, n_features, n_clusters)] = True
    return masks


def random_weighted(
    rng: np.random.Generator, shape: tuple[int, int], *, soft: bool = False
) -> SubspaceClustering:
    n_rows, n_features = shape
    if soft:
        n_clusters = int(rng.integers(1, 4))
        members = rng.random((n_clusters, n_rows)) * (rng.random((n_clusters, n_rows)) < 0.8)
        members[:, rng.integers(n_rows)] = 0.5
    else:
        drawn = labels(rng, n_rows)
        n_clusters = int(drawn.max() + 1)
        members = drawn == np.arange(n_clusters)[:, None]
    weights = rng.dirichlet(np.ones(n_features), n_clusters)
    weights[rng.random(weights.shape) < 0.3] = 0.0
    weights[np.arange(n_clusters), rng.integers(0, n_features, n_clusters)] += 0.1
    weights /= weights.sum(axis=1, keepdims=True)
    return SubspaceClustering(members, WeightedSubspaces(weights))


def random_bases(
    rng: np.random.Generator, n_clusters: int, n_features: int, most: int | None = None
) -> list[np.ndarray]:
    top = n_features if most is None else most
    return [
        np.linalg.qr(rng.normal(size=(n_features, int(rng.integers(1, top + 1)))))[0]
        for _ in range(n_clusters)
    ]


def random_oriented(
    rng: np.random.Generator,
    shape: tuple[int, int],
    *,
    row_disjoint: bool = True,
    complement: bool | None = None,
) -> SubspaceClustering:
    n_rows, n_features = shape
    if complement is None:
        complement = bool(rng.integers(2))
    if row_disjoint:
        drawn = labels(rng, n_rows)
        n_clusters = int(drawn.max() + 1)
        members = drawn == np.arange(n_clusters)[:, None]
    else:
        n_clusters = int(rng.integers(1, 4))
        members = rng.random((n_clusters, n_rows)) < 0.6
        members[:, rng.integers(n_rows)] = True
    bases = random_bases(rng, n_clusters, n_features, max(1, n_features - 1))
    return SubspaceClustering(members, OrientedSubspaces(bases, complement))


shapes = st.tuples(st.integers(2, 9), st.integers(2, 6))


def any_clustering(rng: np.random.Generator, shape: tuple[int, int]) -> SubspaceClustering:
    """One of every kind."""
    makers = [
        lambda: random_axis(rng, shape),
        lambda: random_axis(rng, shape, disjoint=False),
        lambda: random_weighted(rng, shape),
        lambda: random_weighted(rng, shape, soft=True),
        lambda: random_oriented(rng, shape),
        lambda: random_oriented(rng, shape, row_disjoint=False),
    ]
    return makers[int(rng.integers(len(makers)))]()
