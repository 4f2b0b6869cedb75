"""Description length of a clustering once every row is where it costs least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core import SubspaceClustering, assign, describe
from subscape.measures import description_length

from .transfer import carried_over

#: Rounds of moving rows and fitting clusters anew; most are settled after two or three.
ROUNDS = 5


def settled_bits(X: Any, clustering: SubspaceClustering, rounds: int = ROUNDS) -> float:
    """The fewest bits of the clustering as it is and after rows were moved to where they fit.

    A tight cluster that holds a single stray row has a large variance, and the bits for that hide
    what the clusters tell: more clusters then win only because they happen to have room for the
    strays. So rows are assigned anew, to the clusters or to the noise, subspaces staying as they
    are.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    clustering : SubspaceClustering

    Examples
    --------
    >>> from subscape.datasets import planted_axes
    >>> from subscape.measures import description_length
    >>> from subscape.validation.settling import settled_bits
    >>> X, truth = planted_axes(120, 6, n_clusters=2, dims=3, noise=0.1, random_state=0)
    >>> labels = truth.labels()
    >>> labels[np.flatnonzero(labels < 0)[:2]] = 0
    >>> strays = SubspaceClustering.from_labels(labels, masks=truth.subspaces.masks)
    >>> description_length(X, strays).total - description_length(X, truth).total > 100
    True
    >>> abs(settled_bits(X, strays) - settled_bits(X, truth)) < 1
    True
    """
    best = description_length(X, clustering).total
    for _ in range(rounds):
        if clustering.n_clusters == 0:
            break
        moved = carried_over(X, clustering, X, _or_noise)
        if moved == clustering:
            break
        clustering = moved
        best = min(best, description_length(X, clustering).total)
    return best


def _or_noise(X: Any, clustering: SubspaceClustering, new: Any) -> NDArray[np.int64]:
    return assign(new, describe(X, clustering), noise=True)
