"""On how many pairs of rows two labellings agree: the measures of partitions that count pairs.

Part of :mod:`subscape.measures.labels.partitions`, which explains the arguments.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .counting import Labels, LabelTable, Noise, PairCounts, label_table


class WallaceScores(NamedTuple):
    """Both Wallace indices.

    Attributes
    ----------
    first : float
        Share of the pairs together in ``a`` that are together in ``b`` (eq. 3.1).
    second : float
        Share of the pairs together in ``b`` that are together in ``a`` (eq. 3.2).

    See Also
    --------
    wallace_scores : Makes them.
    """

    first: float
    second: float


def pair_counts(a: Labels, b: Labels, *, noise: Noise = "singletons") -> PairCounts:
    """Count the pairs of rows that are together or apart in each of two partitions.

    The printed sums for N10 and N01 have their ranges swapped; here N10 counts the pairs together
    in ``a`` and apart in ``b``, as the thesis' text and its Fig. 4.1 have it.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    PairCounts
        ``n11``, ``n10``, ``n01`` and ``n00``, exact.

    See Also
    --------
    label_rand_score : A score made of them.
    cell_pair_counts : Pairs of cells.

    Examples
    --------
    >>> from subscape.measures import pair_counts
    >>> pair_counts([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
    PairCounts(n11=2, n10=4, n01=1, n00=8)
    """
    return label_table(a, b, noise).pairs


def wallace_scores(a: Labels, b: Labels, *, noise: Noise = "singletons") -> WallaceScores:
    """Return both Wallace indices (eqs. 3.1 and 3.2; https://doi.org/10.1080/01621459.1983.10478009).

    In [0, 1]. ``first`` is 1 exactly if every cluster of ``a`` lies within one of ``b``, also
    where ``a`` has no pair together at all; ``second`` is the converse.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    WallaceScores
        ``first`` and ``second``; exchanging ``a`` and ``b`` exchanges them.

    See Also
    --------
    fowlkes_mallows_score : Their mean.

    Examples
    --------
    >>> from subscape.measures import wallace_scores
    >>> wallace_scores([0, 0, 0, 0], [0, 0, 1, 1]).second
    1.0
    """
    return wallace_of(label_table(a, b, noise))


def fowlkes_mallows_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the Fowlkes-Mallows index: the geometric mean of the Wallace indices (eq. 3.3).

    In [0, 1], symmetric (https://doi.org/10.1080/01621459.1983.10478008). Two equal partitions
    into single rows score 1, where scikit-learn says 0.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        1 if and only if the partitions are the same.

    See Also
    --------
    wallace_scores : The two whose mean it is.
    adjusted_rand_score : Corrected for chance.

    Examples
    --------
    >>> from subscape.measures import fowlkes_mallows_score
    >>> round(fowlkes_mallows_score([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]), 4)
    0.4714
    """
    return fowlkes_mallows_of(label_table(a, b, noise))


def label_rand_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the Rand index: the share of pairs of rows on which both agree (eq. 3.4).

    In [0, 1], symmetric (https://doi.org/10.2307/2284239). With many clusters nearly all pairs are
    apart in both, and everything scores close to 1; a single row scores 1.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        1 if and only if the partitions are the same.

    See Also
    --------
    adjusted_rand_score : Corrected for chance.
    label_rand_distance : As a distance.

    Examples
    --------
    >>> from subscape.measures import label_rand_score
    >>> label_rand_score([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    return rand_of(label_table(a, b, noise))


def label_rand_distance(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return 1 - Rand: the share of pairs of rows on which the partitions differ. A metric.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        In [0, 1]; 0 if and only if the partitions are the same.

    See Also
    --------
    label_rand_score : As a score.
    rand_distance : Sees the subspaces, too.

    Examples
    --------
    >>> from subscape.measures import label_rand_distance
    >>> label_rand_distance([0, 0, 1, 1], [0, 1, 2, 3], noise="drop")
    0.3333333333333333
    """
    return rand_distance_of(label_table(a, b, noise))


def mirkin_distance(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the Mirkin metric 2 (N01 + N10) = n (n - 1) (1 - Rand) (eq. 3.5).

    The squared distance of the two n by n tables "together or not". It grows with the number of
    rows; :func:`label_rand_distance` does not.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        From 0 (if and only if the partitions are the same) to n (n - 1).

    See Also
    --------
    label_rand_distance : As a share of all pairs.

    Examples
    --------
    >>> from subscape.measures import mirkin_distance
    >>> mirkin_distance([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
    10.0
    """
    return mirkin_of(label_table(a, b, noise))


def label_jaccard_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the Jaccard index: the Rand index without the pairs apart in both (eq. 3.6).

    In [0, 1], symmetric, never above the Rand index. 1 - Jaccard is a metric, the Jaccard
    distance of the two sets of pairs. Two equal partitions into single rows score 1.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        1 if and only if the partitions are the same.

    See Also
    --------
    label_rand_score : With the pairs apart in both.

    Examples
    --------
    >>> from subscape.measures import label_jaccard_score
    >>> label_jaccard_score([0, 0, 1, 1], [0, 0, 1, 2])
    0.5
    """
    return jaccard_of(label_table(a, b, noise))


def hubert_gamma_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return Hubert's normalised Γ: the correlation of "together in a" and "together in b".

    Eq. 3.14 of the thesis, with N2 = N11 + N01, the pairs together in ``b`` (the thesis prints
    N01 + N00). In [-1, 1], symmetric, near 0 for unrelated partitions. Where one of the two is a
    single cluster or nothing but single rows, there is no correlation: 1 if the partitions are
    the same, otherwise 0.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        1 if and only if the partitions are the same.

    See Also
    --------
    adjusted_rand_score : Another correction of the Rand index.

    Examples
    --------
    >>> from subscape.measures import hubert_gamma_score
    >>> round(hubert_gamma_score([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]), 4)
    0.2722
    """
    return hubert_gamma_of(label_table(a, b, noise))


def adjusted_rand_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the Rand index corrected for chance (https://doi.org/10.1007/BF01908075).

    At most 1, 0 on average for unrelated partitions with these cluster sizes, not below -0.5.
    scikit-learn's function of this name with a rule for noise.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        1 if and only if the partitions are the same.

    See Also
    --------
    label_rand_score : Not corrected for chance.
    adjusted_mutual_info_score : By information.
    clustering_error : Sees the subspaces, too.

    Examples
    --------
    DBSCAN found one of two clusters and called the other one noise:

    >>> from subscape.measures import adjusted_rand_score
    >>> truth, found = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, -1, -1, -1, -1]
    >>> round(adjusted_rand_score(truth, found), 3)
    0.533
    >>> adjusted_rand_score(truth, found, noise="cluster")
    1.0
    """
    return adjusted_rand_of(label_table(a, b, noise))


def wallace_of(table: LabelTable) -> WallaceScores:
    """Return both Wallace indices of a counted table."""
    n11, n10, n01, _ = table.pairs
    return WallaceScores(_share(n11, n11 + n10), _share(n11, n11 + n01))


def fowlkes_mallows_of(table: LabelTable) -> float:
    """Return the Fowlkes-Mallows index of a counted table."""
    first, second = wallace_of(table)
    return math.sqrt(first * second)


def rand_of(table: LabelTable) -> float:
    """Return the Rand index of a counted table."""
    n11, n10, n01, n00 = table.pairs
    return _share(n11 + n00, n11 + n10 + n01 + n00)


def rand_distance_of(table: LabelTable) -> float:
    """Return 1 - Rand of a counted table."""
    if table.identical:
        return 0.0
    return (table.pairs.n10 + table.pairs.n01) / sum(table.pairs)


def mirkin_of(table: LabelTable) -> float:
    """Return the Mirkin metric of a counted table."""
    return float(2 * (table.pairs.n10 + table.pairs.n01))


def jaccard_of(table: LabelTable) -> float:
    """Return the Jaccard index of a counted table."""
    n11, n10, n01, _ = table.pairs
    return _share(n11, n11 + n10 + n01)


def hubert_gamma_of(table: LabelTable) -> float:
    """Return Hubert's normalised Γ of a counted table."""
    if table.identical:
        return 1.0
    n11, n10, n01, n00 = table.pairs
    # Numerator and variances in exact integers: N * N11 - N1 * N2 = N11 * N00 - N10 * N01.
    spread_a = (n11 + n10) * (n01 + n00)
    spread_b = (n11 + n01) * (n10 + n00)
    if spread_a == 0 or spread_b == 0:
        return 0.0
    return (n11 * n00 - n10 * n01) / (math.sqrt(spread_a) * math.sqrt(spread_b))


def adjusted_rand_of(table: LabelTable) -> float:
    """Return the adjusted Rand index of a counted table."""
    if table.identical:
        return 1.0
    n11, n10, n01, n00 = table.pairs
    by_chance = (n11 + n10) * (n10 + n00) + (n11 + n01) * (n01 + n00)
    return 2 * (n11 * n00 - n10 * n01) / by_chance


def _share(part: int, whole: int) -> float:
    """Of no pairs at all, none is contradicted: 1."""
    return part / whole if whole else 1.0
