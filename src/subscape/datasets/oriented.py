"""Tables with clusters on lines, planes and other flats of any orientation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.oriented import OrientedSubspaces

from .planted import Planted, RandomState, generator, memberships_of, random_directions, real, whole


def planted_oriented(
    n_features: int = 3,
    flats: Sequence[tuple[int, int]] = ((1, 300), (1, 300), (2, 400)),
    *,
    noise: float = 0.1,
    spread: float = 0.005,
    box: tuple[float, float] = (0.0, 1.0),
    random_state: RandomState = None,
) -> Planted:
    """Make a table in which groups of rows lie near flats of any orientation.

    A flat goes through a random point in the middle of a cube (each coordinate within 35 to 65 %
    of its side) with a random orientation. Its rows are spread evenly over a patch of it, a cube
    of the flat's dimension with the box's side, and off it by normal deviations. Such data are
    what finders of arbitrarily oriented clusters, ORCLUS [1]_ being the first, are tested with.

    The true *subspace* of a cluster is where its rows are alike: the directions across the flat.
    The flat itself is ``truth.complement()``.

    Parameters
    ----------
    n_features : int, default=3
        Number of features.
    flats : sequence of (int, int), default=((1, 300), (1, 300), (2, 400))
        Dimension of the flat (0 a point, 1 a line, 2 a plane, ..., at most n_features - 1) and
        number of rows of each cluster.
    noise : float, default=0.1
        Share of all rows that are in no cluster. They are uniform in the bounding box of the
        others and come on top of the rows named in ``flats``.
    spread : float, default=0.005
        Standard deviation in every direction across the flat, as share of the box's side.
    box : (low, high), default=(0, 1)
        The cube, the same in every feature. Patches of flats may stick out of it.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Planted
        Unpacks as ``X, truth``; ``centers`` are the points the flats go through.

    See Also
    --------
    planted_axes : Clusters in some of the features.
    structureless : Tables without clusters.

    References
    ----------
    .. [1] C. C. Aggarwal, P. S. Yu, "Finding generalized projected clusters in high dimensional
       spaces", SIGMOD 2000, doi:10.1145/342009.335383.

    Examples
    --------
    >>> from subscape.datasets import planted_oriented
    >>> X, truth = planted_oriented(3, ((1, 90), (2, 90)), noise=0.1, random_state=0)
    >>> X.shape, truth.kind, truth.subspaces.dims.tolist()
    ((200, 3), 'oriented', [2.0, 1.0])
    >>> truth.complement().subspaces.dims.tolist()
    [1.0, 2.0]
    """
    rng = generator(random_state)
    p = whole(n_features, "n_features", 1)
    if len(flats) == 0:
        raise ValueError("flats must name at least one (dimension, number of rows)")
    parsed = []
    for i, flat in enumerate(flats):
        if np.ndim(flat) != 1 or len(flat) != 2:
            raise ValueError(
                f"flats must be pairs (dimension, number of rows), number {i} is {flat!r}"
            )
        why = f"n_features is {p}; a flat of that dimension would be the whole space"
        parsed.append(
            (
                whole(flat[0], f"dimension of flat {i}", 0, p - 1, why),
                whole(flat[1], f"number of rows of flat {i}", 1),
            )
        )
    share = real(noise, "noise", 0.0, 1.0, below=True)
    if np.ndim(box) != 1 or len(box) != 2 or not box[0] < box[1]:
        raise ValueError(f"box must be a pair (low, high) with low < high, got {box!r}")
    low, high = (real(end, "box", -np.inf) for end in box)
    side = high - low
    sd = real(spread, "spread", 0.0) * side

    parts, bases, centers = [], [], []
    for dim, size in parsed:
        basis = random_directions(p, dim, rng)
        center = low + side * rng.uniform(0.35, 0.65, p)
        along = side * rng.uniform(-0.5, 0.5, (size, dim))
        across = sd * rng.normal(size=(size, p))
        across -= (across @ basis) @ basis.T
        parts.append(center + along @ basis.T + across)
        bases.append(basis)
        centers.append(center)
    X = np.concatenate(parts)
    n_noise = round(share / (1 - share) * len(X))
    labels = np.concatenate(
        [np.repeat(np.arange(len(parsed)), [size for _, size in parsed]), np.full(n_noise, -1)]
    )
    X = np.concatenate([X, rng.uniform(X.min(axis=0), X.max(axis=0), (n_noise, p))])
    order = rng.permutation(len(X))
    truth = SubspaceClustering(
        memberships_of(labels[order], len(parsed)), OrientedSubspaces(bases, complement=True)
    )
    return Planted(X[order], truth, np.array(centers))
