"""A clustering carried over from some rows of a table to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

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


RULES: dict[str, Rule] = {"prototype": to_prototypes, "neighbour": to_neighbour}


def rule_of(given: str | Rule) -> Rule:
    """A rule by name, or itself."""
    if callable(given):
        return given
    if given not in RULES:
        raise SubscapeError(f"transfer must be one of {', '.join(RULES)} or a function; {given!r}")
    return RULES[given]


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
