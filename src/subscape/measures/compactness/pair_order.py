"""Indices over all pairs of rows: correlation with the centroids, C, Goodman and Kruskal's γ."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IntArray

from .groups import (
    PointGroups,
    clusters_within,
    distance_blocks,
    farthest,
    pair_values,
    point_groups,
)

#: Up to so many distances Goodman and Kruskal's γ sorts; beyond, it counts them in so many steps.
MOST_SORTED = 20_000_000
STEPS = 2**20
#: Digits of this many bits, and how many of them, that distances are cut into when the smallest of
#: them are looked for, ...
DIGIT, DEPTH = 16, 3
#: ... and so many of one step are held and sorted.
MOST_HELD = 1_000_000


def modified_hubert_gamma(
    X: ArrayLike, clustering: Any, *, normalized: bool = True, space: str = "full"
) -> float:
    """Hubert's modified Γ: do centroids lie apart like the rows do [1]_?

    The correlation, over all pairs of rows, of their distance with that of their clusters'
    centroids.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    clustering : SubspaceClustering, fitted finder or label vector
        Each row in at most one cluster; noise is left out.
    normalized : bool, default=True
        False: the mean product of the two distances, which grows with the units.
    space : {"full", "subspace"}, default="full"
        See :mod:`subscape.measures.compactness.indices`.

    Returns
    -------
    float
        From -1 to 1 if normalised, large is good; NaN where all distances are the same.

    See Also
    --------
    compactness_report : All such indices at once.
    hubert_gamma_score : Of two partitions.

    References
    ----------
    .. [1] M. Halkidi, Y. Batistakis, M. Vazirgiannis, "On clustering validation techniques",
       Journal of Intelligent Information Systems 17 (2001), doi:10.1023/A:1012801612483.

    Examples
    --------
    >>> from subscape.measures import modified_hubert_gamma
    >>> round(modified_hubert_gamma([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.991
    """
    groups = point_groups(X, clustering, space, "modified_hubert_gamma")
    number = groups.n_clusters
    sums, squares = np.zeros((number, number)), 0.0
    for rows, columns, block in distance_blocks(groups):
        left, left_starts = clusters_within(groups, rows)
        right, right_starts = clusters_within(groups, columns)
        by_column = np.add.reduceat(block, right_starts, axis=1)
        sums[np.ix_(left, right)] += np.add.reduceat(by_column, left_starts, axis=0)
        squares += float(np.vdot(block, block))
    centroids = groups.centroid_distances()
    sizes = groups.sizes.astype(np.float64)
    pairs = np.multiply.outer(sizes, sizes) - np.diag(sizes)
    total = pairs.sum()
    product = float((sums * centroids).sum()) / total
    if not normalized:
        return product
    mean_d, mean_q = float(sums.sum()) / total, float((pairs * centroids).sum()) / total
    var_d = squares / total - mean_d**2
    var_q = float((pairs * np.square(centroids)).sum()) / total - mean_q**2
    if var_d <= 1e-12 * mean_d**2 or var_q <= 1e-12 * mean_q**2:
        return float("nan")
    return float(np.clip((product - mean_d * mean_q) / np.sqrt(var_d * var_q), -1.0, 1.0))


def c_index(X: ArrayLike, clustering: Any, *, space: str = "full") -> float:
    """C index: where the distances within clusters lie between best and worst [1]_.

    (S - S_min) / (S_max - S_min), where S is the sum of the distances of the pairs of rows of the
    same cluster, and S_min and S_max that of as many smallest and largest distances.

    Parameters
    ----------
    X, clustering, space
        As in :func:`modified_hubert_gamma`.

    Returns
    -------
    float
        From 0 to 1; small is good. NaN where all distances are the same.

    See Also
    --------
    compactness_report : All such indices at once.
    silhouette_score : Another one.

    Notes
    -----
    The sums over the smallest distances are found in a few passes over all pairs, by the leading
    digits, so that the distances are neither held nor sorted.

    References
    ----------
    .. [1] L. J. Hubert, J. R. Levin, "A general statistical framework for assessing categorical
       clustering in free recall", Psychological Bulletin 83 (1976),
       doi:10.1037/0033-2909.83.6.1072.

    Examples
    --------
    >>> from subscape.measures import c_index
    >>> c_index([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    0.0
    """
    groups = point_groups(X, clustering, space, "c_index")
    n_within = int((groups.sizes * (groups.sizes - 1) // 2).sum())
    if n_within == 0:
        raise SubscapeError(
            "c_index looks at pairs of rows within clusters, and every cluster has one row only"
        )
    unit = 2.0 ** (DIGIT * DEPTH) / farthest(groups)
    counts, sums = np.zeros(2**DIGIT), np.zeros(2**DIGIT)
    within = 0.0
    for is_within, values in pair_values(groups):
        digits = (values * unit).astype(np.int64) >> (DIGIT * (DEPTH - 1))
        counts += np.bincount(digits, minlength=2**DIGIT)
        sums += np.bincount(digits, values, minlength=2**DIGIT)
        within += float(values.sum()) if is_within else 0.0
    total, n_pairs = float(sums.sum()), int(counts.sum())
    searches = [_Search(n_within), _Search(n_pairs - n_within)]
    for search in searches:
        search.narrow(counts, sums)
    smallest, rest = _sums_of_smallest(groups, searches, unit)
    largest = total - rest
    if largest - smallest <= 1e-12 * total:
        return float("nan")
    return float(np.clip((within - smallest) / (largest - smallest), 0.0, 1.0))


def goodman_kruskal_gamma(X: ArrayLike, clustering: Any, *, space: str = "full") -> float:
    """Goodman and Kruskal's γ: are distances within clusters smaller than between [1]_?

    (concordant - discordant) / (concordant + discordant) over all pairs of a distance within a
    cluster and one between clusters; concordant if the former is smaller. Equal ones don't count.

    Parameters
    ----------
    X, clustering, space
        As in :func:`modified_hubert_gamma`.

    Returns
    -------
    float
        From -1 to 1; large is good. NaN where all distances are the same.

    See Also
    --------
    c_index : Another look at the same pairs.
    compactness_report : All such indices at once.

    Notes
    -----
    Exact for up to 20 million pairs of rows (6,300 rows). Beyond, distances count as equal where
    they agree to a millionth of the largest, which changes the value by about as much.

    References
    ----------
    .. [1] F. B. Baker, L. J. Hubert, "Measuring the power of hierarchical cluster analysis",
       Journal of the American Statistical Association 70 (1975),
       doi:10.1080/01621459.1975.10480256.

    Examples
    --------
    >>> from subscape.measures import goodman_kruskal_gamma
    >>> goodman_kruskal_gamma([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    1.0
    """
    groups = point_groups(X, clustering, space, "goodman_kruskal_gamma")
    n = len(groups.points)
    if int((groups.sizes * (groups.sizes - 1)).sum()) == 0:
        raise SubscapeError(
            "goodman_kruskal_gamma looks at pairs of rows within clusters, and every cluster has "
            "one row only"
        )
    small = n * (n - 1) // 2 <= MOST_SORTED
    order = _by_sorting(groups) if small else _by_counting(groups)
    if order.concordant + order.discordant == 0:
        return float("nan")
    return (order.concordant - order.discordant) / (order.concordant + order.discordant)


class _Order(NamedTuple):
    concordant: float
    discordant: float


def _by_sorting(groups: PointGroups) -> _Order:
    parts: dict[bool, list[FloatArray]] = {True: [], False: []}
    for is_within, values in pair_values(groups, exact=True):
        parts[is_within].append(values)
    within, between = (np.concatenate(parts[side]) for side in (True, False))
    between.sort()
    smaller = np.searchsorted(between, within, side="left").sum(dtype=np.float64)
    up_to = np.searchsorted(between, within, side="right").sum(dtype=np.float64)
    return _Order(float(len(within)) * len(between) - float(up_to), float(smaller))


def _by_counting(groups: PointGroups) -> _Order:
    unit = STEPS / farthest(groups)
    counts = {True: np.zeros(STEPS), False: np.zeros(STEPS)}
    for is_within, values in pair_values(groups, exact=True):
        counts[is_within] += np.bincount((values * unit).astype(np.intp), minlength=STEPS)
    within, between = counts[True], counts[False]
    below = np.cumsum(between) - between
    above = between.sum() - below - between
    return _Order(float(within @ above), float(within @ below))


class _Search:
    """The sum of the ``rank`` smallest distances, one digit of the threshold per pass."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.prefix, self.depth = 0, 0  # leading digits of the threshold, and how many
        self.count, self.sum = 0, 0.0  # of the distances known to be below
        self.inside = 0  # how many share the leading digits
        self.done = rank == 0

    def begin(self) -> None:
        self.holds = self.inside <= MOST_HELD
        self.kept: list[FloatArray] = []
        self.counts, self.sums = np.zeros(2**DIGIT), np.zeros(2**DIGIT)

    def look(self, values: FloatArray, keys: IntArray) -> None:
        shift = DIGIT * (DEPTH - self.depth)
        mine = np.flatnonzero((keys >> shift) == self.prefix)
        if self.holds:
            self.kept.append(values[mine])
            return
        digits = (keys[mine] >> (shift - DIGIT)) & (2**DIGIT - 1)
        self.counts += np.bincount(digits, minlength=2**DIGIT)
        self.sums += np.bincount(digits, values[mine], minlength=2**DIGIT)

    def end(self) -> None:
        if not self.holds:
            self.narrow(self.counts, self.sums)
            return
        held = np.sort(np.concatenate(self.kept))
        self.sum += float(held[: self.rank - self.count].sum())
        self.done = True

    def narrow(self, counts: FloatArray, sums: FloatArray) -> None:
        """Learn one digit more from the numbers and sums of the distances by digit."""
        if self.done:
            return
        up_to = np.cumsum(counts)
        digit = int(np.searchsorted(up_to, self.rank - self.count))
        self.count += int(up_to[digit] - counts[digit])
        self.sum += float(sums[:digit].sum())
        self.prefix = (self.prefix << DIGIT) | digit
        self.depth += 1
        self.inside = int(counts[digit])
        left = self.rank - self.count
        if left == self.inside or self.depth == DEPTH:
            # All of them, or all that are left are the same to 48 bits.
            self.sum += float(sums[digit]) * left / self.inside
            self.done = True


def _sums_of_smallest(groups: PointGroups, searches: list[_Search], unit: float) -> list[float]:
    while waiting := [search for search in searches if not search.done]:
        for search in waiting:
            search.begin()
        for _, values in pair_values(groups):
            keys = (values * unit).astype(np.int64)
            for search in waiting:
                search.look(values, keys)
        for search in waiting:
            search.end()
    return [search.sum for search in searches]
