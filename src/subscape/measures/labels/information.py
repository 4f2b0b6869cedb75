"""How much one labelling tells about another: the measures of partitions built on entropy.

Part of ``partitions``, which explains the arguments. Logarithms are natural.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from subscape.core.types import FloatArray, IntArray

from .counting import Labels, LabelTable, Noise, label_table

Average: TypeAlias = Literal["arithmetic", "geometric", "min", "max"]


class HomogeneityCompleteness(NamedTuple):
    """Homogeneity, completeness and their harmonic mean.

    Attributes
    ----------
    homogeneity : float
        1 if no cluster of ``b`` mixes clusters of ``a``.
    completeness : float
        1 if no cluster of ``a`` is split by ``b``.
    v_measure : float
        The weighted harmonic mean of the two.

    See Also
    --------
    homogeneity_completeness_v_measure : Makes it.
    """

    homogeneity: float
    completeness: float
    v_measure: float


def label_vi(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the variation of information H(a | b) + H(b | a), in nats (eqs. 3.9 and 3.12).

    A metric (https://doi.org/10.1016/j.jmva.2006.11.013) from 0 to log n.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        0 if and only if the partitions are the same.

    See Also
    --------
    variation_of_information : Sees the subspaces, too.
    mutual_info_score : What is shared.

    Examples
    --------
    >>> from subscape.measures import label_vi
    >>> round(label_vi([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]), 4)
    0.8676
    """
    return vi_of(label_table(a, b, noise))


def mutual_info_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the mutual information of two partitions, in nats.

    From 0 to the smaller of the two entropies; it grows with the number of clusters, so the
    normalised and adjusted forms are better for judging. scikit-learn's function of this name with
    a rule for noise.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        0 if one partition tells nothing about the other.

    See Also
    --------
    normalized_mutual_info_score : Between 0 and 1.
    adjusted_mutual_info_score : Corrected for chance.

    Examples
    --------
    >>> from subscape.measures import mutual_info_score
    >>> round(mutual_info_score([0, 0, 1, 1], [1, 1, 0, 0]), 4)
    0.6931
    """
    return mutual_information(label_table(a, b, noise))


def normalized_mutual_info_score(
    a: Labels,
    b: Labels,
    *,
    average_method: Average = "arithmetic",
    noise: Noise = "singletons",
) -> float:
    """Return the mutual information divided by a mean of the two entropies.

    In [0, 1], symmetric. scikit-learn's function of this name with a rule for noise.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    average_method : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        The mean of the entropies.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        1 for the same partition; 0 if one tells nothing about the other.

    See Also
    --------
    adjusted_mutual_info_score : Corrected for chance.
    mutual_info_score : In nats.

    Examples
    --------
    >>> from subscape.measures import normalized_mutual_info_score
    >>> round(normalized_mutual_info_score([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]), 4)
    0.5158
    """
    return normalized_mutual_info_of(label_table(a, b, noise), average_method)


def adjusted_mutual_info_score(
    a: Labels,
    b: Labels,
    *,
    average_method: Average = "arithmetic",
    noise: Noise = "singletons",
) -> float:
    """Return the normalised mutual information corrected for chance.

    At most 1, 0 on average for unrelated partitions with these cluster sizes (Vinh, Epps, Bailey,
    JMLR 11, 2010). scikit-learn's function of this name with a rule for noise; where chance leaves
    nothing to explain, different partitions score 0.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings.
    average_method : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        The mean of the entropies.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        1 for the same partition.

    See Also
    --------
    normalized_mutual_info_score : Not corrected for chance.
    corrected : Corrects any measure.

    Examples
    --------
    >>> from subscape.measures import adjusted_mutual_info_score
    >>> round(adjusted_mutual_info_score([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]), 4)
    0.2988
    """
    return adjusted_mutual_info_of(label_table(a, b, noise), average_method)


def homogeneity_completeness_v_measure(
    a: Labels, b: Labels, *, beta: float = 1.0, noise: Noise = "singletons"
) -> HomogeneityCompleteness:
    """Return homogeneity, completeness and their harmonic mean (the V-measure).

    Rosenberg, Hirschberg, EMNLP-CoNLL 2007, https://aclanthology.org/D07-1043. All in [0, 1].
    Exchanging ``a`` and ``b`` exchanges the first two.

    Parameters
    ----------
    a : array-like of shape (n_rows,) or SubspaceClustering
        The labelling taken as true.
    b : array-like of shape (n_rows,) or SubspaceClustering
        The labelling to be judged.
    beta : float, default=1.0
        Above 1 completeness weighs more in the mean, below 1 homogeneity.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    HomogeneityCompleteness
        ``homogeneity``, ``completeness`` and ``v_measure``.

    See Also
    --------
    v_measure_score : The mean alone.
    partition_report : All measures of labels.

    Examples
    --------
    >>> from subscape.measures import homogeneity_completeness_v_measure
    >>> homogeneity_completeness_v_measure([0, 0, 1, 1], [0, 1, 2, 2]).homogeneity
    1.0
    """
    return homogeneity_of(label_table(a, b, noise), beta)


def homogeneity_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return 1 - H(a | b) / H(a): 1 if no cluster of ``b`` mixes clusters of the truth ``a``.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labelling taken as true, and the one to be judged.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        In [0, 1]; 1 also where ``a`` is a single cluster.

    See Also
    --------
    completeness_score : The other half.
    v_measure_score : Both.

    Examples
    --------
    >>> from subscape.measures import homogeneity_score
    >>> homogeneity_score([0, 0, 1, 1], [0, 0, 0, 0])
    0.0
    """
    return homogeneity_of(label_table(a, b, noise)).homogeneity


def completeness_score(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return 1 - H(b | a) / H(b): 1 if no cluster of the truth ``a`` is split by ``b``.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labelling taken as true, and the one to be judged.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        In [0, 1]; 1 also where ``b`` is a single cluster.

    See Also
    --------
    homogeneity_score : The other half.
    v_measure_score : Both.

    Examples
    --------
    >>> from subscape.measures import completeness_score
    >>> completeness_score([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    return homogeneity_of(label_table(a, b, noise)).completeness


def v_measure_score(
    a: Labels, b: Labels, *, beta: float = 1.0, noise: Noise = "singletons"
) -> float:
    """Return the harmonic mean of homogeneity and completeness.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labelling taken as true, and the one to be judged.
    beta : float, default=1.0
        Above 1 completeness weighs more, below 1 homogeneity; 1 makes the score symmetric.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    float
        In [0, 1]; 1 if and only if the partitions are the same (for a beta above 0).

    See Also
    --------
    homogeneity_completeness_v_measure : With its two parts.
    normalized_mutual_info_score : The same, if its mean is the arithmetic one.

    Examples
    --------
    >>> from subscape.measures import v_measure_score
    >>> round(v_measure_score([0, 0, 1, 1], [0, 1, 2, 2]), 4)
    0.8
    """
    return homogeneity_of(label_table(a, b, noise), beta).v_measure


def vi_of(table: LabelTable) -> float:
    """Return the variation of information of a counted table."""
    left = entropies(table)
    return left.a_given_b + left.b_given_a


def normalized_mutual_info_of(table: LabelTable, method: Average = "arithmetic") -> float:
    """Return the normalised mutual information of a counted table."""
    known = entropies(table)
    scale = average(known.a, known.b, method)
    if table.identical:
        return 1.0
    return min(1.0, mutual_information(table) / scale) if scale > 0 else 0.0


def adjusted_mutual_info_of(table: LabelTable, method: Average = "arithmetic") -> float:
    """Return the adjusted mutual information of a counted table."""
    known = entropies(table)
    scale = average(known.a, known.b, method)
    if table.identical:
        return 1.0
    if known.a == 0 or known.b == 0:
        return 0.0
    chance = expected_mutual_information(table)
    if scale - chance <= 1e-12 * scale:
        return 0.0
    return (mutual_information(table) - chance) / (scale - chance)


def homogeneity_of(table: LabelTable, beta: float = 1.0) -> HomogeneityCompleteness:
    """Return homogeneity, completeness and V-measure of a counted table."""
    if not 0 <= beta < math.inf:
        raise ValueError(f"beta={beta!r} must be a finite number, 0 or above")
    known = entropies(table)
    pure = 1.0 - known.a_given_b / known.a if known.a > 0 else 1.0
    whole = 1.0 - known.b_given_a / known.b if known.b > 0 else 1.0
    pure, whole = max(0.0, pure), max(0.0, whole)
    mean = (1 + beta) * pure * whole / (beta * pure + whole) if pure * whole > 0 else 0.0
    return HomogeneityCompleteness(pure, whole, mean)


def average(x: float, y: float, method: Average) -> float:
    """Return the mean of two entropies that normalises a mutual information."""
    if method == "arithmetic":
        return (x + y) / 2
    if method == "geometric":
        return math.sqrt(x * y)
    if method == "min":
        return min(x, y)
    if method == "max":
        return max(x, y)
    raise ValueError(
        f"average_method={method!r} is not known; choose 'arithmetic', 'geometric', 'min' or 'max'"
    )


# -- entropies and mutual information of two labellings that have been counted, in nats ------------


# Hoeffding: a hypergeometric count lies further than REACH * sqrt(draws) from its mean with
# probability below 2 * exp(-2 * REACH**2) = 1e-26, too little to show in a float64 sum.
REACH = 5.5


class Entropies(NamedTuple):
    """Entropy of each labelling, and what is left of each when the other is known."""

    a: float
    b: float
    a_given_b: float
    b_given_a: float


def entropies(table: LabelTable) -> Entropies:
    """Return the entropies of both labellings (eqs. 3.7 and 3.8 of the thesis)."""
    n, cells = table.n_rows, table.cells
    shares = cells.times * cells.rows / n
    # Every term is at least 0 and exactly 0 where the clusters agree, so nothing cancels.
    return Entropies(
        _entropy(table.sizes_a, table.singletons_a, n),
        _entropy(table.sizes_b, table.singletons_b, n),
        float(np.sum(shares * np.log(cells.size_b / cells.rows))),
        float(np.sum(shares * np.log(cells.size_a / cells.rows))),
    )


def mutual_information(table: LabelTable) -> float:
    """Return the mutual information of the two labellings."""
    n, cells = table.n_rows, table.cells
    ratios = n * cells.rows / (cells.size_a * cells.size_b)
    return max(0.0, float(np.sum(cells.times * cells.rows / n * np.log(ratios))))


def expected_mutual_information(table: LabelTable) -> float:
    """Return the mean mutual information over all shufflings of one labelling.

    Only the sizes of the clusters matter, so clusters of equal size (all the noise rows, for
    one) are computed once.
    """
    n = table.n_rows
    sizes_a, times_a = _distinct(table.sizes_a, table.singletons_a)
    sizes_b, times_b = _distinct(table.sizes_b, table.singletons_b)
    if len(sizes_a) > len(sizes_b):
        sizes_a, times_a, sizes_b, times_b = sizes_b, times_b, sizes_a, times_a
    return float(
        sum(
            times * np.sum(times_b * _expected_terms(int(size), sizes_b, n))
            for size, times in zip(sizes_a, times_a, strict=True)
        )
    )


def _entropy(sizes: IntArray, singletons: int, n: int) -> float:
    sizes = sizes[sizes > 0]
    return float(np.sum(sizes / n * np.log(n / sizes))) + singletons / n * math.log(n)


def _distinct(sizes: IntArray, singletons: int) -> tuple[IntArray, IntArray]:
    """Cluster sizes without repetition, and how often each occurs."""
    found, times = np.unique(sizes[sizes > 0], return_counts=True)
    return np.append(found, 1), np.append(times, singletons)


def _expected_terms(x: int, sizes: IntArray, n: int) -> FloatArray:
    """Expected share of the mutual information of one cluster of x rows with one of each size.

    The number of rows they have in common, k, is hypergeometric. Its probabilities follow from
    the ratio of neighbours and the sum 1, within a window around the mean.
    """
    mean = x * sizes / n
    reach = np.ceil(REACH * np.sqrt(np.minimum(x, sizes))) + 1
    first = np.maximum(np.maximum(0, x + sizes - n), np.floor(mean - reach).astype(np.int64))
    last = np.minimum(np.minimum(x, sizes), np.ceil(mean + reach).astype(np.int64))
    k = (first[:, None] + np.arange((last - first).max() + 1)).astype(np.float64)
    y = sizes[:, None].astype(np.float64)
    inside = k <= last[:, None]
    steps = np.zeros_like(k)
    before, after, real = k[:, :-1], k[:, 1:], inside[:, 1:]
    np.divide(
        (x - before) * (y - before), after * (n - x - y + after), out=steps[:, 1:], where=real
    )
    np.log(steps, out=steps, where=steps > 0)
    log_weights = np.where(inside, np.cumsum(steps, axis=1), -np.inf)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    gains = np.zeros_like(k)
    np.log(n * k / (x * y), out=gains, where=inside & (k > 0))
    terms: FloatArray = np.sum(weights * k / n * gains, axis=1)
    return terms
