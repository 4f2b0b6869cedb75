"""Comparing dendrograms: as clusterings that contain each other, and by their heights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import cophenet, is_valid_linkage

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.core.types import FloatArray, IntArray
from subscape.measures.cells.distances import clustering_error, rnia

MEASURES = {"clustering_error": clustering_error, "rnia": rnia}


def dendrogram_distance(
    a: ArrayLike, b: ArrayLike, *, measure: str = "clustering_error", clusters: str = "merges"
) -> float:
    """Distance between two dendrograms of the same rows, read as overlapping clusterings.

    Heights don't matter, but for the order of the merges with ``clusters="partitions"``.

    Parameters
    ----------
    a, b : arrays of shape (n - 1, 4)
        Linkage matrices of :func:`scipy.cluster.hierarchy.linkage`.
    measure : {"clustering_error", "rnia"}
    clusters : {"merges", "partitions"}, default="merges"
        "merges": every merge is a cluster of the rows below it, once. "partitions": the dendrogram
        is its n partitions into n, n - 1, ..., 1 clusters, all at once, so that a cluster counts as
        often as it is there; n² / 2 clusters, for some hundred rows. Every row is then in n
        clusters of either dendrogram, and only "clustering_error" tells them apart.

    See Also
    --------
    dendrogram_layers : Layer by layer.
    cophenetic_similarity : By heights.

    References
    ----------
    A. Patrikainen, *Methods for comparing subspace clusterings*, 2005, chapter 7.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.cluster.hierarchy import linkage
    >>> from subscape.measures import dendrogram_distance
    >>> points = np.array([[0.0], [1.0], [5.0], [7.0]])
    >>> dendrogram_distance(linkage(points), linkage(points[[0, 2, 1, 3]]))
    0.25
    """
    if measure not in MEASURES:
        raise SubscapeError(f"measure must be one of {sorted(MEASURES)}, got {measure!r}")
    if clusters not in ("merges", "partitions"):
        raise SubscapeError(f"clusters must be 'merges' or 'partitions', got {clusters!r}")
    trees = _same_rows(a, b)
    if clusters == "merges":
        left, right = (SubspaceClustering.from_linkage(tree) for tree in trees)
    elif measure == "rnia":
        raise SubscapeError(
            "every row is in n clusters of both dendrograms, so that RNIA is always 0; use "
            "measure='clustering_error' or clusters='merges'"
        )
    else:
        left, right = (_all_partitions(tree) for tree in trees)
    return MEASURES[measure](left, right)


def cophenetic_similarity(a: ArrayLike, b: ArrayLike) -> float:
    """Correlation of the heights at which two dendrograms join each pair of rows.

    Parameters
    ----------
    a, b : arrays of shape (n - 1, 4)
        Linkage matrices.

    Returns
    -------
    float in [-1, 1]; 1 where both join all pairs in proportion. If one of them joins all pairs at
    the same height there is nothing to correlate: 1 if both do, else 0.

    See Also
    --------
    hop_similarity : By edges instead of heights.
    dendrogram_distance : As overlapping clusterings.

    Notes
    -----
    R. R. Sokal and F. J. Rohlf, Taxon 11 (1962), doi:10.2307/1217208. Needs O(n²) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.cluster.hierarchy import linkage
    >>> from subscape.measures import cophenetic_similarity
    >>> points = np.array([[0.0], [1.0], [5.0], [7.0]])
    >>> round(cophenetic_similarity(linkage(points), linkage(2 * points, "average")), 3)
    0.996
    """
    left, right = (cophenet(tree) for tree in _same_rows(a, b))
    flat = [bool(np.ptp(heights) == 0) for heights in (left, right)]
    if any(flat):
        return float(all(flat))
    return float(np.corrcoef(left, right)[0, 1])


def dendrogram_layers(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Compare two dendrograms layer by layer: B_k of Fowlkes and Mallows.

    Both are cut into k clusters; B_k is the number of pairs of rows that both have together, over
    the geometric mean of the numbers that each has together.

    Parameters
    ----------
    a, b : arrays of shape (n - 1, 4)
        Linkage matrices. Merges count in their order.

    Returns
    -------
    array of shape (n - 2,)
        B_k for k = 2, ..., n - 1; 1 for equal layers. Empty for fewer than three rows.

    See Also
    --------
    dendrogram_distance : In one number.
    fowlkes_mallows_score : The measure of each layer.

    References
    ----------
    E. B. Fowlkes and C. L. Mallows, *A method for comparing two hierarchical clusterings*, Journal
    of the American Statistical Association 78 (1983), doi:10.1080/01621459.1983.10478008.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.cluster.hierarchy import linkage
    >>> from subscape.measures import dendrogram_layers
    >>> points = np.array([[0.0], [1.0], [5.0], [7.0]])
    >>> dendrogram_layers(linkage(points), linkage(points[[0, 2, 1, 3]]))
    array([0., 0.])
    """
    left, right = (_layers(tree) for tree in _same_rows(a, b))
    n = left.shape[1]
    scores = np.ones(max(n - 2, 0))
    for k in range(2, n):
        # Layer m is what is left after m merges.
        one, other = left[n - k], right[n - k]
        together = np.bincount(one * n + other, minlength=n * n).astype(np.float64)
        both = np.square(together).sum() - n
        alone = [np.square(np.bincount(each).astype(np.float64)).sum() - n for each in (one, other)]
        scores[k - 2] = both / np.sqrt(alone[0] * alone[1])
    return scores


def hop_similarity(a: ArrayLike, b: ArrayLike) -> float:
    """Correlation of the numbers of edges between each pair of rows in two dendrograms.

    Heights don't matter. With edges as long as their difference in height, the way between two
    rows is twice the height at which they are joined: :func:`cophenetic_similarity` is that.

    Parameters
    ----------
    a, b : arrays of shape (n - 1, 4)
        Linkage matrices.

    Returns
    -------
    float in [-1, 1]
        1 where all ways are as long in both. If all ways of one are equally long: 1 if those of
        both are, else 0.

    See Also
    --------
    cophenetic_similarity : By heights.

    Notes
    -----
    Needs O(n²) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.cluster.hierarchy import linkage
    >>> from subscape.measures import hop_similarity
    >>> points = np.array([[0.0], [1.0], [5.0], [7.0]])
    >>> round(hop_similarity(linkage(points), linkage(points**2)), 3)
    0.686
    """
    left, right = (_hops(tree) for tree in _same_rows(a, b))
    flat = [bool(np.ptp(hops) == 0) for hops in (left, right)]
    if any(flat):
        return float(all(flat))
    return float(np.corrcoef(left, right)[0, 1])


def _layers(tree: FloatArray) -> IntArray:
    """Labels after 0, 1, ..., n - 1 merges, (n, n); a cluster is named by its first row."""
    n = len(tree) + 1
    labels = np.empty((n, n), np.int64)
    labels[0] = np.arange(n)
    name = list(range(n))
    for m, (i, j) in enumerate(tree[:, :2].astype(np.int64)):
        first, second = sorted((name[i], name[j]))
        labels[m + 1] = np.where(labels[m] == second, first, labels[m])
        name.append(first)
    return labels


def _all_partitions(tree: FloatArray) -> SubspaceClustering:
    """All clusters of all layers, over one feature."""
    layers = _layers(tree)
    clusters = [
        (np.flatnonzero(labels == name), np.array([0]))
        for labels in layers
        for name in np.unique(labels)
    ]
    return SubspaceClustering.from_clusters(clusters, (len(layers), 1))


def _hops(tree: FloatArray) -> FloatArray:
    """Edges between each pair of rows, pairs with i < j."""
    n = len(tree) + 1
    between = np.zeros((n, n))
    below: list[tuple[IntArray, IntArray]] = [
        (np.array([i]), np.zeros(1, np.int64)) for i in range(n)
    ]
    for i, j in tree[:, :2].astype(np.int64):
        (rows, depth), (others, deep) = below[i], below[j]
        ways = depth[:, None] + deep[None, :] + 2
        between[np.ix_(rows, others)] = ways
        between[np.ix_(others, rows)] = ways.T
        below.append((np.append(rows, others), np.append(depth, deep) + 1))
    return between[np.triu_indices(n, 1)]


def _same_rows(a: ArrayLike, b: ArrayLike) -> list[FloatArray]:
    trees = [np.asarray(tree, np.float64) for tree in (a, b)]
    for name, tree in zip(("first", "second"), trees, strict=True):
        if not is_valid_linkage(tree):
            raise SubscapeError(
                f"the {name} dendrogram is not a linkage matrix: expected the (n - 1, 4) array of "
                "scipy.cluster.hierarchy.linkage"
            )
    if len(trees[0]) != len(trees[1]):
        raise ShapeMismatchError(
            f"the dendrograms are over {len(trees[0]) + 1} and {len(trees[1]) + 1} rows; compare "
            "dendrograms of the same rows"
        )
    return trees
