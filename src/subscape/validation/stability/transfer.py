"""A clustering carried over from some rows of a table to others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.memberships import Memberships
from subscape.core.prototypes import assign, describe
from subscape.core.types import IntArray

#: ``rule(X, clustering, X_new)`` returns a cluster number, or -1, for each new row.
Rule = Callable[[Any, SubspaceClustering, Any], Any]


def to_prototypes(X: Any, clustering: SubspaceClustering, new: Any) -> IntArray:
    """The cluster that explains a row best, within the cluster's own subspace."""
    return assign(new, describe(X, clustering))


def to_neighbour(X: Any, clustering: SubspaceClustering, new: Any) -> IntArray:
    """The cluster of the nearest row in the full space."""
    nearest = KNeighborsClassifier(n_neighbors=1).fit(X, clustering.labels())
    return np.asarray(nearest.predict(new), dtype=np.int64)


def by_discriminant(X: Any, clustering: SubspaceClustering, new: Any) -> IntArray:
    """The nearest mean, features in units of their deviation within clusters.

    The diagonal linear discriminant of Dudoit and Fridlyand; noise is a class like the others.

    >>> X = np.array([[0.0, 0.0], [0.2, 9.0], [1.0, 1.0], [1.2, 8.0]])
    >>> two = SubspaceClustering.from_labels([0, 0, 1, 1])
    >>> by_discriminant(X, two, np.array([[0.3, 9.0], [0.9, 0.0]]))
    array([0, 1])
    """
    table, rows = np.asarray(X, dtype=np.float64), np.asarray(new, dtype=np.float64)
    labels, codes = np.unique(clustering.labels(), return_inverse=True)
    means = np.stack([table[codes == c].mean(axis=0) for c in range(len(labels))])
    within = np.square(table - means[codes]).mean(axis=0)
    # A feature without any deviation within clusters decides alone, and not by dividing by zero.
    scale = np.sqrt(np.maximum(within, 1e-12 * np.maximum(table.var(axis=0), np.finfo(float).tiny)))
    squares = [np.square((rows - mean) / scale).sum(axis=1) for mean in means]
    return np.asarray(labels[np.argmin(squares, axis=0)], dtype=np.int64)


def by_tree(X: Any, clustering: SubspaceClustering, new: Any) -> IntArray:
    """A decision tree, which cuts along features as boxes do; noise is a class like the others."""
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    return np.asarray(tree.fit(X, clustering.labels()).predict(new), dtype=np.int64)


RULES: dict[str, Rule] = {
    "prototype": to_prototypes,
    "neighbour": to_neighbour,
    "discriminant": by_discriminant,
    "tree": by_tree,
}
#: All of them, for methods that keep the best.
BEST = "best"


def rule_of(given: str | Rule) -> Rule:
    """A rule by name, or itself."""
    if callable(given):
        return given
    if not isinstance(given, str) or given not in RULES:
        raise SubscapeError(f"transfer must be one of {', '.join(RULES)} or a function; {given!r}")
    return RULES[given]


def rules_of(given: str | Rule | Sequence[str | Rule]) -> dict[str, Rule]:
    """One or several rules, by name; "best" is all that have one.

    >>> list(rules_of(["neighbour", "tree"])), len(rules_of("best"))
    (['neighbour', 'tree'], 4)
    """
    if isinstance(given, str) and given == BEST:
        return dict(RULES)
    if callable(given) or isinstance(given, str):
        given = [given]
    if not len(given):
        raise SubscapeError("transfer names no rule")
    return {_name_of(each): rule_of(each) for each in given}


def _name_of(rule: str | Rule) -> str:
    return rule if isinstance(rule, str) else getattr(rule, "__name__", repr(rule))


def carried_over(
    X: Any, clustering: SubspaceClustering, new: Any, rule: Rule
) -> SubspaceClustering:
    """The clustering's subspaces, with the new rows that the rule puts into each cluster.

    >>> X = np.array([[0.0, 5.0], [0.1, 9.0], [7.0, 0.0], [7.2, 0.1]])
    >>> first = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    >>> new = np.array([[8.0, 0.05], [9.0, 0.0], [0.05, 7.0]])
    >>> there = carried_over(X, first, new, to_prototypes)
    >>> there.labels(), there.subspaces.masks.tolist()
    (array([1, 1, 0]), [[True, False], [False, True]])
    """
    labels = np.asarray(rule(X, clustering, new), dtype=np.int64)
    members = Memberships.from_codes(labels, clustering.n_clusters)
    used = np.flatnonzero(members.sizes())
    return SubspaceClustering(
        members.select(used),
        clustering.subspaces.select(used),
        feature_names=clustering.feature_names,
    )
