"""Four ways to represent a projective clustering: rows hard or soft, features weighted or equal."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from subscape.arrays.weighted_kmeans import weighted_costs
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError, UnsupportedKindError
from subscape.core.subspaces import AxisSubspaces, WeightedSubspaces
from subscape.core.types import BoolArray, FloatArray
from subscape.measures.projective import lac_weights

#: Rows hard or soft, features with weights or as a set: E1 to E4 of Gullo et al. (2011).
REPRESENTATIONS = ("hard-weighted", "hard-equal", "soft-weighted", "soft-equal")

#: Soft memberships below this are taken for none.
LEAST_MEMBERSHIP = 1e-4


def represent(
    X: FloatArray, clustering: SubspaceClustering, representation: str
) -> SubspaceClustering:
    """A clustering in one of the four representations.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The table that was clustered.
    clustering : SubspaceClustering
        Axis-aligned or weighted.
    representation : {"hard-weighted", "hard-equal", "soft-weighted", "soft-equal"}
        "hard" puts a row into the cluster of its largest membership. "soft" keeps soft memberships
        and softens hard ones by the weighted distances to the centres; noise stays noise.
        "weighted" keeps weights and gives those of LAC to clusters with masks; "equal" keeps masks
        and makes one of the weights above average.

    Returns
    -------
    SubspaceClustering

    Examples
    --------
    >>> import numpy as np
    >>> from subscape import SubspaceClustering
    >>> from subscape.ensemble.representations import represent
    >>> X = np.array([[0.0, 3.0], [0.2, 9.0], [5.0, 5.0], [9.0, 5.1]])
    >>> given = SubspaceClustering.from_labels([0, 0, 1, 1], weights=[[0.9, 0.1], [0.2, 0.8]])
    >>> found = represent(X, given, "soft-equal")
    >>> found.kind, found.is_hard, found.subspaces.masks.tolist()
    ('axis', False, [[True, False], [False, True]])
    """
    if representation not in REPRESENTATIONS:
        raise SubscapeError(
            f"unknown representation {representation!r}; known are {', '.join(REPRESENTATIONS)}"
        )
    if clustering.kind == "oriented":
        raise UnsupportedKindError(
            "oriented subspaces are no feature weights, so they have no representations; pass "
            "representations=None to keep the clusterings as they were found"
        )
    rows, features = representation.split("-")
    members = clustering.members
    if rows == "hard" and not clustering.is_hard:
        # Clusters that are nobody's first choice keep their rows: none vanishes.
        labels = clustering.labels()
        chosen = labels == np.arange(clustering.n_clusters)[:, None]
        bare = np.flatnonzero(~chosen.any(axis=1))
        for k in bare.tolist():
            chosen[k, members.rows(k)[np.argmax(members.weights(k))]] = True
        memberships: object = chosen
    elif rows == "soft" and clustering.is_hard:
        memberships = softened(X, clustering)
    else:
        memberships = members
    if features == "weighted":
        weights = (
            clustering.subspaces.relevance
            if clustering.kind == "weighted"
            else lac_weights(X, clustering, scale="std")
        )
        spaces: AxisSubspaces | WeightedSubspaces = WeightedSubspaces(weights)
    else:
        spaces = AxisSubspaces(relevant(clustering))
    return SubspaceClustering(
        memberships,
        spaces,
        feature_names=clustering.feature_names,
        row_names=clustering.row_names,
        provenance=clustering.provenance | {"representation": representation},
    )


def relevant(clustering: SubspaceClustering) -> BoolArray:
    """Masks, or the features whose weight is above average, the largest at least."""
    if isinstance(clustering.subspaces, AxisSubspaces):
        return clustering.subspaces.masks
    weights = clustering.subspaces.relevance
    masks = weights > weights.mean(axis=1, keepdims=True)
    masks[np.arange(len(masks)), weights.argmax(axis=1)] = True
    return masks


def softened(X: FloatArray, clustering: SubspaceClustering) -> FloatArray:
    """Soft memberships by the weighted distances to the centres, as LAC's; noise stays noise."""
    table = X - X.mean(axis=0)
    spread = np.sqrt(np.square(table).mean(axis=0))
    table /= np.where(spread > 0, spread, 1.0)
    members = clustering.members.to_scipy(np.float64)
    centres = (members @ table) / np.asarray(members.sum(axis=1)).reshape(-1, 1)
    weights = clustering.as_weighted().subspaces.relevance
    costs = weighted_costs(
        np.ascontiguousarray(table), np.ascontiguousarray(centres), np.ascontiguousarray(weights)
    )
    labels = clustering.labels()
    clustered = labels >= 0
    typical = float(costs[clustered, labels[clustered]].mean())
    if typical <= 0:
        return members.toarray()
    memberships = softmax(-costs / (2 * typical), axis=1)
    # Its own rows keep a cluster from vanishing however small the memberships.
    own = members.toarray().T > 0
    memberships[(memberships < LEAST_MEMBERSHIP) & ~own] = 0.0
    memberships[~clustered] = 0.0
    memberships /= np.where(clustered, memberships.sum(axis=1), 1.0)[:, None]
    return memberships.T
