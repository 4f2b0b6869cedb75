"""Comparing dendrograms: as clusterings that contain each other, and by their heights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import cophenet, is_valid_linkage

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.core.types import FloatArray
from subscape.measures.cells.distances import clustering_error, rnia

MEASURES = {"clustering_error": clustering_error, "rnia": rnia}


def dendrogram_distance(a: ArrayLike, b: ArrayLike, *, measure: str = "clustering_error") -> float:
    """Distance between two dendrograms of the same rows, read as overlapping clusterings.

    Every merge is a cluster of the rows below it; heights don't matter.

    Parameters
    ----------
    a, b : arrays of shape (n - 1, 4)
        Linkage matrices of :func:`scipy.cluster.hierarchy.linkage`.
    measure : {"clustering_error", "rnia"}

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
    left, right = (SubspaceClustering.from_linkage(tree) for tree in _same_rows(a, b))
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
