"""Compare two partitions of the same rows: label vectors, or clusterings by their rows alone.

The measures of section 3.1 of Patrikainen (2005) and those of scikit-learn, all computed from
one confusion table. ``a`` and ``b`` are label vectors (integers, texts or other hashable values),
clusterings whose rows are in one cluster at most, or fitted finders. Subspaces do not count here;
the measures in :mod:`subscape.measures.cells.distances` see them.

A negative integer is noise: the row is in no cluster. ``noise`` says what that means.

``"singletons"`` (the default)
    Every noise row is a cluster of its own. This is how the thesis fills the gaps of clusterings
    that leave something out (section 4.3.2); two noise rows are not called alike, a true cluster
    that was declared noise costs something, and the metrics stay metrics.
``"cluster"``
    All noise rows of a labelling form one more cluster. scikit-learn reads -1 so, and with this
    rule the functions of the same name return the same numbers (but for the Fowlkes-Mallows index
    of two equal partitions into single rows).
``"drop"``
    Rows that are noise in either labelling are left out. Other rows are compared for every pair
    of labellings, so the triangle inequality is lost, and much noise makes a good score.

Without noise the three agree.

References
----------
A. Patrikainen, Methods for Comparing Subspace Clusterings, licentiate thesis, Helsinki University
of Technology, 2005. A. Patrikainen, M. Meila, Comparing Subspace Clusterings, IEEE TKDE 18(7),
2006, https://doi.org/10.1109/TKDE.2006.106
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from subscape.core.errors import SubscapeError
from subscape.core.types import IntArray

from .counting import Labels, LabelTable, Noise, PairCounts, cross, label_table
from .information import (
    HomogeneityCompleteness,
    adjusted_mutual_info_of,
    adjusted_mutual_info_score,
    completeness_score,
    homogeneity_completeness_v_measure,
    homogeneity_of,
    homogeneity_score,
    label_vi,
    mutual_info_score,
    mutual_information,
    normalized_mutual_info_of,
    normalized_mutual_info_score,
    v_measure_score,
    vi_of,
)
from .matching import matched_rows
from .pairs import (
    WallaceScores,
    adjusted_rand_of,
    adjusted_rand_score,
    fowlkes_mallows_of,
    fowlkes_mallows_score,
    hubert_gamma_of,
    hubert_gamma_score,
    jaccard_of,
    label_jaccard_score,
    label_rand_distance,
    label_rand_score,
    mirkin_distance,
    mirkin_of,
    pair_counts,
    rand_distance_of,
    rand_of,
    wallace_of,
    wallace_scores,
)

__all__ = [
    "ConfusionTable",
    "HomogeneityCompleteness",
    "PairCounts",
    "WallaceScores",
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "completeness_score",
    "confusion_table",
    "fowlkes_mallows_score",
    "homogeneity_completeness_v_measure",
    "homogeneity_score",
    "hubert_gamma_score",
    "label_error",
    "label_jaccard_score",
    "label_rand_distance",
    "label_rand_score",
    "label_vi",
    "mirkin_distance",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "pair_counts",
    "partition_report",
    "v_measure_score",
    "wallace_scores",
]

MOST_CELLS = 2**27  # of a dense table: one gigabyte


class ConfusionTable(NamedTuple):
    """Rows counted by their label in ``a`` and in ``b``.

    Attributes
    ----------
    counts : array of shape (len(a_labels), len(b_labels))
        Rows with label ``a_labels[i]`` in ``a`` and ``b_labels[j]`` in ``b``.
    a_labels, b_labels : list
        The labels; -1 comes first if there is noise.

    See Also
    --------
    confusion_table : Makes it.
    """

    counts: IntArray
    a_labels: list[Any]
    b_labels: list[Any]


def confusion_table(a: Labels, b: Labels) -> ConfusionTable:
    """Count the rows that each cluster of ``a`` shares with each cluster of ``b``.

    Noise is counted under the label -1, whatever negative numbers stood for it.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings (the thesis' C and C').

    Returns
    -------
    ConfusionTable
        ``counts`` (the thesis' M), ``a_labels`` and ``b_labels``.

    See Also
    --------
    intersection_table : Cells instead of rows.
    pair_counts : Pairs of rows.

    Examples
    --------
    >>> from subscape.measures import confusion_table
    >>> table = confusion_table(["x", "x", "y", "y"], [0, 0, 0, -1])
    >>> table.counts
    array([[0, 2],
           [1, 1]])
    >>> table.a_labels, table.b_labels
    (['x', 'y'], [-1, 0])
    """
    crossing = cross(a, b)
    hidden_a, hidden_b = int(crossing.row.min() > 0), int(crossing.col.min() > 0)
    a_labels = [-1, *crossing.a_values][hidden_a:]
    b_labels = [-1, *crossing.b_values][hidden_b:]
    if len(a_labels) * len(b_labels) > MOST_CELLS:
        raise SubscapeError(
            f"a table of {len(a_labels)} by {len(b_labels)} labels is too large to lay out; "
            "pair_counts and the other measures need no such table"
        )
    counts = np.zeros((len(a_labels), len(b_labels)), np.int64)
    counts[crossing.row - hidden_a, crossing.col - hidden_b] = crossing.counts
    return ConfusionTable(counts, a_labels, b_labels)


def label_error(a: Labels, b: Labels, *, noise: Noise = "singletons") -> float:
    """Return the clustering error of two partitions: the share of rows labelled differently.

    The clusters are matched one to one so that as many rows as possible agree (section 3.1.1 of
    the thesis). A metric, in [0, 1). With noise it differs from
    :func:`~subscape.measures.clustering_error`, which matches nothing with a gap.

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
    clustering_error : Sees the subspaces, too.
    adjusted_rand_score : By pairs of rows.

    Examples
    --------
    >>> from subscape.measures import label_error
    >>> label_error([0, 0, 0, 1], ["x", "x", "y", "z"])
    0.25
    """
    return _error(label_table(a, b, noise))


def partition_report(a: Labels, b: Labels, *, noise: Noise = "singletons") -> dict[str, float]:
    """Compute every measure of this module from one pass over the labels.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,) or SubspaceClustering
        The labellings; for homogeneity and completeness ``a`` is the truth.
    noise : {"singletons", "cluster", "drop"}, default="singletons"
        What negative labels mean; see :mod:`subscape.measures.labels.partitions`.

    Returns
    -------
    dict
        Values under the names of the functions, the Wallace indices as ``wallace_first`` and
        ``wallace_second``, the pair counts as ``n11`` … ``n00``, and ``n_rows``, the rows compared.

    See Also
    --------
    adjusted_rand_score : One of them.
    clustering_error : Sees the subspaces, too.

    Examples
    --------
    >>> from subscape.measures import partition_report
    >>> report = partition_report([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
    >>> report["n11"], round(report["label_error"], 4), round(report["adjusted_rand_score"], 4)
    (2, 0.3333, 0.2424)
    """
    table = label_table(a, b, noise)
    wallace, homogeneity = wallace_of(table), homogeneity_of(table)
    return {
        "n_rows": table.n_rows,
        **table.pairs._asdict(),
        "label_error": _error(table),
        "label_rand_distance": rand_distance_of(table),
        "mirkin_distance": mirkin_of(table),
        "label_vi": vi_of(table),
        "label_rand_score": rand_of(table),
        "adjusted_rand_score": adjusted_rand_of(table),
        "label_jaccard_score": jaccard_of(table),
        "wallace_first": wallace.first,
        "wallace_second": wallace.second,
        "fowlkes_mallows_score": fowlkes_mallows_of(table),
        "hubert_gamma_score": hubert_gamma_of(table),
        "mutual_info_score": mutual_information(table),
        "normalized_mutual_info_score": normalized_mutual_info_of(table),
        "adjusted_mutual_info_score": adjusted_mutual_info_of(table),
        "homogeneity_score": homogeneity.homogeneity,
        "completeness_score": homogeneity.completeness,
        "v_measure_score": homogeneity.v_measure,
    }


def _error(table: LabelTable) -> float:
    return (table.n_rows - matched_rows(table)) / table.n_rows
