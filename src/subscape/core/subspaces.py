"""Subspaces of all clusters, stacked: what the kinds share, masks and weights.

Behind all of them stands one idea: a cluster's subspace is a positive semidefinite operator M on
the feature space: diag(mask), diag(weights) or a projector. ``mass`` is its trace, ``relevance``
its diagonal. *Subspace* always means the one in which the points of a cluster are alike; what they
spread along is the complement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.types import BoolArray, FloatArray, IndexArray

from .errors import SubscapeError, UnsupportedKindError, count
from .memberships import frozen


class Kept(NamedTuple):
    """Subspaces restricted to some features, and which clusters still have a subspace."""

    subspaces: Subspaces
    clusters: IndexArray


class Subspaces(ABC):
    """What the three kinds have in common.

    See Also
    --------
    AxisSubspaces : Features that count or don't.
    WeightedSubspaces : Features with weights.
    OrientedSubspaces : Any directions.
    """

    kind: ClassVar[str]
    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("subspaces are read-only; build new ones instead")

    def __len__(self) -> int:
        return self.n_clusters

    def __repr__(self) -> str:
        return f"{type(self).__name__}({count(self.n_clusters, 'cluster')}, p={self.n_features})"

    @property
    @abstractmethod
    def n_clusters(self) -> int: ...

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @property
    @abstractmethod
    def mass(self) -> FloatArray:
        """Trace of each operator: dims for masks and bases, 1 for weights."""

    @property
    @abstractmethod
    def dims(self) -> FloatArray:
        """Dimensions of each subspace; for weights the exponential of their entropy (display)."""

    @property
    @abstractmethod
    def relevance(self) -> FloatArray:
        """Diagonal of each operator, (n_clusters, n_features): how much a feature counts."""

    @abstractmethod
    def select(self, clusters: IndexArray) -> Subspaces:
        """Keep these clusters.

        Returns
        -------
        Subspaces
            Of the same kind, in the order asked for.
        """

    @abstractmethod
    def restrict(self, features: IndexArray) -> Kept:
        """Keep these features; clusters that lose their whole subspace are dropped.

        Returns
        -------
        Kept
            The subspaces, and which clusters still have one.
        """

    @abstractmethod
    def embed(self, features: IndexArray, n_features: int) -> Subspaces:
        """Put feature ``j`` at position ``features[j]`` of a wider table.

        Returns
        -------
        Subspaces
            Of the same kind, over ``n_features`` features.
        """

    @abstractmethod
    def complement(self) -> Subspaces:
        """The subspaces of what is left out.

        Returns
        -------
        Subspaces
            Of the same kind.
        """

    @abstractmethod
    def content(self, k: int) -> bytes:
        """Bytes that two clusters share exactly when their subspaces are stored alike.

        Returns
        -------
        bytes
        """

    def operator(self, k: int) -> FloatArray:
        """The (p, p) operator of cluster ``k``, for small p and for tests.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        return np.diag(self.relevance[k])


class AxisSubspaces(Subspaces):
    """Each cluster has a set of relevant features.

    Parameters
    ----------
    masks : bool array of shape (n_clusters, n_features)

    See Also
    --------
    WeightedSubspaces : Features with weights instead.
    OrientedSubspaces : Subspaces in any direction.

    Examples
    --------
    >>> from subscape import AxisSubspaces
    >>> AxisSubspaces([[True, True, False], [False, False, True]]).dims
    array([2., 1.])
    """

    kind = "axis"
    __slots__ = ("masks",)

    masks: BoolArray

    def __init__(self, masks: ArrayLike) -> None:
        array = _matrix(masks, "masks")
        if array.dtype != bool:
            if not np.isin(array, (0, 1)).all():
                raise SubscapeError(
                    "masks must be True or False; for feature weights use WeightedSubspaces"
                )
            array = array.astype(bool)
        object.__setattr__(self, "masks", frozen(array))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.masks,)

    @property
    def n_clusters(self) -> int:
        return int(self.masks.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.masks.shape[1])

    @property
    def mass(self) -> FloatArray:
        return self.masks.sum(axis=1).astype(np.float64)

    @property
    def dims(self) -> FloatArray:
        return self.mass

    @property
    def relevance(self) -> FloatArray:
        return self.masks.astype(np.float64)

    def select(self, clusters: IndexArray) -> AxisSubspaces:
        return AxisSubspaces(self.masks[clusters])

    def restrict(self, features: IndexArray) -> Kept:
        masks = self.masks[:, features]
        alive = np.flatnonzero(masks.any(axis=1))
        return Kept(AxisSubspaces(masks[alive]), alive)

    def embed(self, features: IndexArray, n_features: int) -> AxisSubspaces:
        masks = np.zeros((self.n_clusters, n_features), bool)
        masks[:, features] = self.masks
        return AxisSubspaces(masks)

    def complement(self) -> AxisSubspaces:
        return AxisSubspaces(~self.masks)

    def content(self, k: int) -> bytes:
        return self.masks[k].tobytes()


class WeightedSubspaces(Subspaces):
    """Each cluster weights the features; the weights are at least 0 and sum to 1.

    Parameters
    ----------
    weights : float array of shape (n_clusters, n_features)

    See Also
    --------
    AxisSubspaces : Features that count or don't.
    OrientedSubspaces : Subspaces in any direction.

    Examples
    --------
    >>> from subscape import WeightedSubspaces
    >>> WeightedSubspaces([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).dims.round(2)
    array([2., 1.])
    """

    kind = "weighted"
    __slots__ = ("weights",)

    weights: FloatArray

    def __init__(self, weights: ArrayLike) -> None:
        array = _matrix(weights, "weights").astype(np.float64)
        if np.isnan(array).any():
            raise SubscapeError(f"weights contain {count(int(np.isnan(array).sum()), 'NaN')}")
        if array.size and array.min() < 0:
            raise SubscapeError(f"weights must be at least 0, smallest is {array.min():g}")
        sums = array.sum(axis=1)
        off = np.flatnonzero(np.abs(sums - 1) > 1e-6)
        if len(off):
            raise SubscapeError(
                f"the weights of a cluster must sum to 1; cluster {off[0]} sums to "
                f"{sums[off[0]]:g}"
                + (f" (and {len(off) - 1} more are off)" if len(off) > 1 else "")
                + ". Divide each row by its sum"
            )
        object.__setattr__(self, "weights", frozen(array))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.weights,)

    @property
    def n_clusters(self) -> int:
        return int(self.weights.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.weights.shape[1])

    @property
    def mass(self) -> FloatArray:
        return np.ones(self.n_clusters)

    @property
    def dims(self) -> FloatArray:
        from scipy.special import xlogy

        return np.exp(-xlogy(self.weights, self.weights).sum(axis=1))

    @property
    def relevance(self) -> FloatArray:
        return self.weights

    def select(self, clusters: IndexArray) -> WeightedSubspaces:
        return WeightedSubspaces(self.weights[clusters])

    def restrict(self, features: IndexArray) -> Kept:
        weights = self.weights[:, features]
        sums = weights.sum(axis=1)
        alive = np.flatnonzero(sums > 0)
        return Kept(WeightedSubspaces(weights[alive] / sums[alive, None]), alive)

    def embed(self, features: IndexArray, n_features: int) -> WeightedSubspaces:
        weights = np.zeros((self.n_clusters, n_features))
        weights[:, features] = self.weights
        return WeightedSubspaces(weights)

    def complement(self) -> WeightedSubspaces:
        raise UnsupportedKindError(
            "weights have no complement: what a feature does not weigh is not a weight elsewhere. "
            "Threshold the weights into masks first"
        )

    def content(self, k: int) -> bytes:
        return self.weights[k].tobytes()


def _matrix(given: ArrayLike, what: str) -> NDArray[Any]:
    array = np.asarray(given)
    if array.ndim != 2:
        raise SubscapeError(
            f"{what} must be a (n_clusters, n_features) matrix, got {array.ndim} dimension(s)"
        )
    if array.dtype.kind not in "buif":
        raise TypeError(f"{what} must be numbers or booleans, got dtype {array.dtype}")
    return array
