"""Tables with a planted co-clustering: blocks of row groups and column groups."""

from __future__ import annotations

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.types import FloatArray

from .planted import Planted, RandomState, generator, real, share_of_rows, shuffled_labels, whole

#: Sets of block means tried; the one whose most similar pair of groups differs most is taken.
CANDIDATES = 20


def planted_cocluster(
    shape: tuple[int, int] = (60, 40),
    n_row_clusters: int = 3,
    n_column_clusters: int = 4,
    *,
    contrast: float = 2.0,
    noise: float = 1.0,
    counts: bool = False,
    random_state: RandomState = None,
) -> Planted:
    """Make a table whose rows and columns fall into groups, with one level per block.

    Groups are of equal size up to one row or column, in random order. Every block, a row group
    crossed with a column group, is one cluster of the truth.

    Parameters
    ----------
    shape : (int, int), default=(60, 40)
        Rows and columns.
    n_row_clusters, n_column_clusters : int
        Number of row groups and of column groups.
    contrast : float, default=2
        How much the two most similar groups differ: the root mean square difference of the block
        means of two row groups (over the column groups) or of two column groups (over the row
        groups), the smallest of all pairs, in standard deviations of the noise.
    noise : float, default=1
        Standard deviation within a block; if 0, ``contrast`` is meant in the table's units.
    counts : bool, default=False
        Make Poisson counts for co-clustering of contingency tables (ITCC [1]_). ``contrast`` is
        then meant on the scale 2·sqrt(count), on which counts have standard deviation 1, the
        smallest block rate is 1, and groups differ in shape only, not in their totals on that
        scale, as a co-clustering of a joint distribution needs it. There must be two groups on
        either side at least, and ``noise`` must be 1.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Planted
        Unpacks as ``X, truth``; ``centers`` holds the mean of each block in its columns and NaN
        elsewhere.

    See Also
    --------
    planted_axes : Clusters of rows in some features each.

    References
    ----------
    .. [1] I. S. Dhillon, S. Mallela, D. S. Modha, "Information-theoretic co-clustering", KDD 2003,
       doi:10.1145/956750.956764.

    Examples
    --------
    >>> from subscape.datasets import planted_cocluster
    >>> X, truth = planted_cocluster((30, 20), 2, 3, random_state=0)
    >>> X.shape, truth.n_clusters, truth.is_coclustering
    ((30, 20), 6, True)
    """
    rng = generator(random_state)
    if np.ndim(shape) != 1 or len(shape) != 2:
        raise ValueError(f"shape must be a pair (rows, columns), got {shape!r}")
    n, p = whole(shape[0], "shape[0]", 1), whole(shape[1], "shape[1]", 1)
    rows = whole(n_row_clusters, "n_row_clusters", 1, n, f"the table has {n} rows")
    columns = whole(n_column_clusters, "n_column_clusters", 1, p, f"the table has {p} columns")
    contrast = real(contrast, "contrast", 0.0)
    noise = real(noise, "noise", 0.0)
    if counts and min(rows, columns) < 2:
        raise ValueError(
            "with counts=True there must be at least 2 row and 2 column clusters, because groups "
            f"that differ only in their totals are one group to ITCC; got {rows} and {columns}"
        )
    if counts and noise != 1.0:
        raise ValueError("noise cannot be chosen with counts=True: Poisson counts bring their own")

    row_labels = shuffled_labels(share_of_rows(n, np.full(rows, 1 / rows)), n, rng)
    column_labels = shuffled_labels(share_of_rows(p, np.full(columns, 1 / columns)), p, rng)
    means = contrast * _distinct_means(rows, columns, counts, rng)
    if counts:
        means = ((means - means.min() + 2.0) / 2.0) ** 2
        X = rng.poisson(means[np.ix_(row_labels, column_labels)]).astype(np.float64)
    else:
        means = noise * means if noise else means
        X = means[np.ix_(row_labels, column_labels)] + noise * rng.normal(size=(n, p))
    truth = SubspaceClustering.from_coclustering(row_labels, column_labels)
    centers = np.full((truth.n_clusters, p), np.nan)
    for i in range(truth.n_clusters):
        block = truth.cluster(i)
        centers[i, block.features] = means[row_labels[block.rows[0]], column_labels[block.features]]
    return Planted(X, truth, centers)


def _distinct_means(rows: int, columns: int, counts: bool, rng: np.random.Generator) -> FloatArray:
    """Draw block means whose two most similar row or column groups differ by 1 (rms)."""
    best, most = np.zeros((rows, columns)), 0.0
    if rows == columns == 1:
        return best
    for _ in range(CANDIDATES):
        means = rng.normal(size=(rows, columns))
        if counts:
            means -= means.mean(axis=0)
            means -= means.mean(axis=1, keepdims=True)
        means /= means.std()
        least = min(_least_difference(means), _least_difference(means.T))
        if least > most:
            best, most = means, least
    return best / most


def _least_difference(profiles: FloatArray) -> float:
    pairs = np.triu_indices(len(profiles), 1)
    differences = np.sqrt(np.mean((profiles[:, None] - profiles) ** 2, axis=2))[pairs]
    return float(differences.min(initial=np.inf))
