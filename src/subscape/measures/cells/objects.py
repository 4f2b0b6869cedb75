"""Measures of the field's other evaluators: what OpenSubspace reports, and E4SC.

The object measures look at rows only and take the truth as classes (a label vector) or as true
clusters, which may overlap. E. Müller, S. Günnemann, I. Assent and T. Seidl, *Evaluating Clustering
in Subspace Projections of High Dimensional Data*, PVLDB 2 (2009), doi:10.14778/1687627.1687770;
S. Günnemann, I. Färber, E. Müller, I. Assent and T. Seidl, *External Evaluation Measures for
Subspace Clustering*, CIKM 2011, doi:10.1145/2063576.2063774.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import SubscapeError
from subscape.core.types import IndexArray

from .overlap import matching_pair, overlap_of


def object_f1_score(found: Any, truth: Any) -> float:
    """Mean over the true clusters of the F1 of the rows that found clusters give them.

    Every found cluster speaks for the true cluster with the largest |found ∩ true|² / |true| (in a
    tie for the one whose rows come first, so that the order of the clusters doesn't count), or for
    none if it holds nothing but noise. A true cluster is then compared with all the rows of the
    clusters that speak for it; one that nobody speaks for scores 0.

    Parameters
    ----------
    found, truth : SubspaceClustering or label vector

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    e4sc_score : Sees the subspaces, too.
    object_accuracy_score : By a classifier.

    Examples
    --------
    >>> from subscape.measures import object_f1_score
    >>> round(object_f1_score([0, 0, 1, 1, 2], [0, 0, 0, 1, 1]), 4)
    0.8
    """
    found, truth = matching_pair(found, truth)
    rows_found, rows_true = _row_sets(found), _row_sets(truth)
    shared = (rows_found @ rows_true.T).toarray()
    true_sizes = np.asarray(rows_true.sum(axis=1), np.float64)
    strength = np.square(shared) / true_sizes
    by_rows = np.array(
        sorted(range(truth.n_clusters), key=lambda j: truth.members.rows(j).tolist())
    )
    speaks_for = by_rows[np.argmax(strength[:, by_rows], axis=1)]
    speaks_for[strength.max(axis=1) == 0] = -1
    scores = np.zeros(truth.n_clusters)
    for j in range(truth.n_clusters):
        speakers = np.flatnonzero(speaks_for == j)
        if len(speakers):
            claimed = np.asarray(rows_found[speakers].sum(axis=0)).ravel() > 0
            hit = float(claimed[truth.members.rows(j)].sum())
            scores[j] = 2 * hit / (claimed.sum() + true_sizes[j])
    return float(scores.mean())


def object_entropy_score(found: Any, truth: Any) -> float:
    """1 − the mean class entropy of the found clusters, in units of the largest possible.

    Clusters weigh by their rows. Noise is a class of its own, so clustered noise costs; so is every
    set of true clusters that share rows. A single class gives 1.

    Parameters
    ----------
    found, truth : SubspaceClustering or label vector

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    object_f1_score : By true clusters.

    Examples
    --------
    >>> from subscape.measures import object_entropy_score
    >>> object_entropy_score([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    found, truth = matching_pair(found, truth)
    classes = _classes(truth)
    n_classes = int(classes.max()) + 1
    if n_classes == 1:
        return 1.0
    entropies = np.empty(found.n_clusters)
    for k in range(found.n_clusters):
        shares = np.bincount(classes[found.members.rows(k)], minlength=n_classes)
        shares = shares / shares.sum()
        entropies[k] = -xlogy(shares, shares).sum() / np.log(n_classes)
    return float(1.0 - np.average(entropies, weights=np.diff(found.members.indptr)))


def object_accuracy_score(found: Any, truth: Any, *, n_folds: int = 10) -> float:
    """How well the found clusters predict the class: cross-validated accuracy of a decision tree.

    The tree sees only which clusters a row is in. Where a class has fewer rows than there are folds
    the folds are not stratified; noise is a class of its own, and so is every set of true clusters
    that share rows. OpenSubspace uses Weka's C4.5, here it is scikit-learn's tree with entropy
    splits, so the last digits differ. The folds are drawn by row number: with few rows another
    order of the rows gives another value.

    Parameters
    ----------
    found, truth : SubspaceClustering or label vector
    n_folds : int, default=10
        At least 2; no more than there are rows are used.

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    object_f1_score : By clusters.
    e4sc_score : Sees the subspaces, too.

    Examples
    --------
    >>> from subscape.measures import object_accuracy_score
    >>> object_accuracy_score([0] * 10 + [1] * 10, ["a"] * 10 + ["b"] * 10)
    1.0
    """
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    if n_folds < 2:
        raise SubscapeError(f"n_folds must be at least 2, got {n_folds}")
    found, truth = matching_pair(found, truth)
    if found.n_rows < 2:
        return 1.0
    classes = _classes(truth)
    # Sorted columns: the order in which the clusters were found must not decide between splits.
    features = np.unique(found.memberships.toarray().astype(np.float64), axis=0).T
    folds = min(n_folds, len(classes))
    splitter: Any = KFold(folds, shuffle=True, random_state=0)
    if np.bincount(classes).min() >= folds:
        splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
    hits = 0
    for train, test in splitter.split(features, classes):
        tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
        hits += int((tree.fit(features[train], classes[train]).predict(features[test])
                     == classes[test]).sum())  # fmt: skip
    return hits / len(classes)


def object_coverage_score(found: Any, truth: Any = None) -> float:
    """Share of the rows that are in some found cluster; the truth is not looked at.

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    object_accuracy_score : Whether the clusters are right, too.

    Examples
    --------
    >>> from subscape.measures import object_coverage_score
    >>> object_coverage_score([0, 0, 1, -1])
    0.75
    """
    if truth is None:
        return as_clustering(found).coverage
    return matching_pair(found, truth)[0].coverage


def e4sc_score(found: Any, truth: Any, **options: Any) -> float:
    """E4SC: how well found and true subspace clusters explain each other, on cells.

    The harmonic mean of recall (the best cell-F1 that each true cluster has with any found one,
    averaged) and precision (the same for each found cluster). Clusters need no one-to-one matching,
    so splitting a cluster costs less than under CE.

    Parameters
    ----------
    found, truth : SubspaceClustering or label vector
    **options
        As in :func:`clustering_error`.

    Returns
    -------
    float in [0, 1]

    See Also
    --------
    cell_scores : Without clusters.
    clustering_error : With the best matching.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.measures import e4sc_score
    >>> truth = SubspaceClustering.from_clusters([([0, 1, 2, 3], [0, 1])], (6, 4))
    >>> found = SubspaceClustering.from_clusters([([0, 1], [0, 1]), ([2, 3], [0, 1])], (6, 4))
    >>> round(e4sc_score(found, truth), 4)
    0.6667
    """
    table = overlap_of(found, truth, **options)
    both = table.sizes_a[:, None] + table.sizes_b[None, :]
    f1 = np.divide(2 * table.table, both, out=np.zeros_like(both), where=both > 0)
    precision, recall = f1.max(axis=1).mean(), f1.max(axis=0).mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def _row_sets(clustering: SubspaceClustering) -> Any:
    """0/1 matrix of the rows of each cluster, soft memberships counting as in."""
    rows = clustering.members.to_scipy(np.float64)
    rows.data = np.ones_like(rows.data)
    return rows


def _classes(truth: SubspaceClustering) -> IndexArray:
    """One class per row, numbered as they appear: rows with the same largest memberships."""
    labels = truth.labels()
    if not truth.is_row_disjoint:
        # Rows in several clusters would otherwise go to whichever happens to be listed first.
        values = truth.memberships.toarray().astype(np.float32)
        largest = np.packbits((values == values.max(axis=0)) & (values > 0), axis=0)
        labels = np.unique(largest, axis=1, return_inverse=True)[1].ravel()
    _, first, classes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[classes]
