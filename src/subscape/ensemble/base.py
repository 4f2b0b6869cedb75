"""What all consensus methods share: checks, the number of clusters, subspaces, the result."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.checks import check_names, check_table, column_names
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import (
    DroppedClusterWarning,
    ShapeMismatchError,
    SubscapeError,
    UnsupportedKindError,
    count,
)
from subscape.core.subspaces import WeightedSubspaces
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.base import Found, by_first_row, forget
from subscape.finders.published import Published
from subscape.measures.projective import lac_weights
from subscape.measures.stacked_clusters import Stack, stack
from subscape.parallel.progress import Watch
from subscape.parallel.seeds import seed_sequence
from subscape.tables.table import Table

from .members import Ensemble

#: Constraints of the parameters that most methods have.
COMMON: dict[str, list[Any]] = {
    "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
    "noise": [StrOptions({"majority", "abstain"})],
    "random_state": [object],
    "n_jobs": [Integral, None],
    "progress": [callable, "boolean", None],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
}


class ConsensusMethod(Published, ClusterMixin, BaseEstimator):
    """Base of the estimators that merge an ensemble into one clustering.

    A subclass lists its parameters in ``__init__`` and ``_parameter_constraints`` and implements
    :meth:`_combine`; ``fit`` does the rest.

    See Also
    --------
    subscape.ensemble.generate : Makes an ensemble.
    subscape.finders.base.SubspaceFinder : Base of the finders of one clustering.
    subscape.testing.check_consensus : Checks that every consensus method passes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    #: The method votes on feature weights, so oriented members need the table.
    _votes_on_features: ClassVar[bool] = True
    #: The method can't do without the table.
    _needs_table: ClassVar[bool] = False
    #: The consensus may have more clusters than all members together.
    _makes_clusters: ClassVar[bool] = False

    def fit(self, ensemble: Any, X: Any = None) -> ConsensusMethod:
        """Merge the members of an ensemble.

        Parameters
        ----------
        ensemble : Ensemble or sequence of clusterings
            Of any finders; label vectors are members over all features.
        X : array-like of shape (n_rows, n_features), optional
            The table. Needed where members are oriented: these vote on rows only, and the feature
            weights of the consensus are then estimated from the table.

        Returns
        -------
        self
        """
        self._validate_params()
        members = Ensemble.of(ensemble)
        if X is not None:
            members, X = self._read(members, X)
        table = self._table(members, X)
        forget(self, ())
        watch = Watch(
            type(self).__name__, getattr(self, "progress", None), getattr(self, "max_time", None)
        )
        seed = seed_sequence(getattr(self, "random_state", None))
        if getattr(self, "noise", None) == "majority" and _all_noise(members):
            self._k(members)
            found = _nothing(members, self._without_clusters(members))
        else:
            found = self._combine(members, table, seed, watch)
        self.clustering_ = found.clustering.with_names(
            **members.names,
            provenance={"algorithm": type(self).__name__, "members": len(members)},
        )
        self.labels_ = self.clustering_.labels()
        self.n_iter_ = found.n_iter
        self.n_features_in_ = members.n_features
        for name, value in found.attributes.items():
            setattr(self, name, value)
        watch.close()
        return self

    def fit_predict(self, ensemble: Any, X: Any = None) -> IntArray:
        """Merge the members and return one label per row, -1 for noise.

        Parameters
        ----------
        ensemble, X
            As in :meth:`fit`.

        Returns
        -------
        array of shape (n_rows,)
            ``labels_`` of the fitted method.
        """
        return self.fit(ensemble, X).labels_

    def _combine(
        self, ensemble: Ensemble, X: FloatArray | None, seed: np.random.SeedSequence, watch: Watch
    ) -> Found:
        raise NotImplementedError(f"{type(self).__name__} must implement _combine")

    def _without_clusters(self, ensemble: Ensemble) -> dict[str, Any]:
        """The fitted attributes of the method where every row is noise."""
        return {}

    def _read(self, members: Ensemble, X: Any) -> tuple[Ensemble, Any]:
        """The table as numbers; members that are plain labels take its features."""
        names = members.names
        table = check_table(X.to_numpy() if isinstance(X, Table) else X, type(self).__name__)
        if table.shape[1] == members.n_features:
            check_names(X, names["feature_names"], names["row_names"])
        return _widened(members, table.shape[1], column_names(X)), table

    def _table(self, ensemble: Ensemble, X: Any) -> FloatArray | None:
        who = type(self).__name__
        if X is None:
            if self._needs_table:
                raise SubscapeError(f"{who} measures distances: pass the table, fit(ensemble, X)")
            if self._votes_on_features and ensemble.is_oriented:
                number = sum(member.kind == "oriented" for member in ensemble)
                raise UnsupportedKindError(
                    f"{number} of {count(len(ensemble), 'member')} "
                    f"{'has' if number == 1 else 'have'} oriented subspaces, which vote on rows "
                    "only: pass the table, fit(ensemble, X), so that feature weights can be "
                    "estimated from it"
                )
            return None
        if X.shape != (ensemble.n_rows, ensemble.n_features):
            raise ShapeMismatchError(
                f"the table has {X.shape[0]} rows x {X.shape[1]} features, the members "
                f"{ensemble.n_rows} x {ensemble.n_features}; pass the table they were found in"
            )
        return np.asarray(X, np.float64)

    def _k(self, ensemble: Ensemble) -> int:
        """Clusters to make: ``n_clusters``, or the median number of the members."""
        wanted = getattr(self, "n_clusters", None)
        if wanted is None:
            return int(np.median([member.n_clusters for member in ensemble]))
        if wanted > ensemble.n_rows:
            raise SubscapeError(
                f"n_clusters={wanted} is more than the {count(ensemble.n_rows, 'row')} of the table"
            )
        if wanted > ensemble.total_clusters and not self._makes_clusters:
            raise SubscapeError(
                f"n_clusters={wanted} is more than the "
                f"{count(ensemble.total_clusters, 'cluster')} of all members together"
            )
        return int(wanted)


def _all_noise(ensemble: Ensemble) -> bool:
    """Whether more than half of the members leave out each row."""
    absent = np.zeros(ensemble.n_rows, np.intp)
    for member in ensemble:
        absent += member.members.clusters_per_row() == 0
    return bool((2 * absent > len(ensemble)).all())


def _nothing(ensemble: Ensemble, attributes: dict[str, Any]) -> Found:
    warnings.warn(
        "every row is left out as noise by more than half of the members, so the consensus has no "
        'clusters; pass noise="abstain" to let the others decide',
        DroppedClusterWarning,
        stacklevel=3,
    )
    shape = ensemble.n_rows, ensemble.n_features
    return Found(SubspaceClustering.from_clusters([], shape), attributes=attributes)


def knows_features(ensemble: Ensemble) -> bool:
    """Whether the members can vote on features: none is oriented, some have not all features."""
    return not ensemble.is_oriented and any(
        member.kind != "axis" or not member.subspaces.relevance.all() for member in ensemble
    )


def _widened(ensemble: Ensemble, n_features: int, names: list[str] | None) -> Ensemble:
    """An ensemble of plain labels, over the features of the table instead of a single one."""
    plain = not ensemble.is_oriented and not knows_features(ensemble)
    if ensemble.n_features > 1 or n_features == 1 or not plain:
        return ensemble
    return Ensemble([
        SubspaceClustering(m.members, np.ones((m.n_clusters, n_features), bool),
                           row_names=m.row_names, feature_names=names)
        for m in ensemble
    ])  # fmt: skip


def stacked_weights(ensemble: Ensemble, X: FloatArray | None) -> Stack:
    """All clusters with feature weights; those of oriented members by LAC's rule in the table."""
    members = [
        member
        if member.kind != "oriented"
        else SubspaceClustering(
            member.members,
            WeightedSubspaces(lac_weights(X, member, scale="std")),  # type: ignore[arg-type]
        )
        for member in ensemble
    ]
    return stack(members)


def by_first_choice(memberships: NDArray[Any]) -> IndexArray:
    """Clusters by their first rows; those that are nobody's first choice come last.

    >>> by_first_choice(np.array([[0.1, 0.2], [0.5, 0.7], [0.4, 0.1]]))
    array([1, 0, 2])
    """
    used, compact = np.unique(memberships.argmax(axis=0), return_inverse=True)
    others = np.setdiff1d(np.arange(len(memberships)), used)
    return np.concatenate([used[by_first_row(compact)], others])


def assembled(
    memberships: Any, weights: FloatArray | None, X: FloatArray | None, n_features: int, k: int
) -> SubspaceClustering:
    """A consensus out of memberships and weights; clusters nobody is in are dropped.

    Parameters
    ----------
    memberships : (K, n) array
    weights : (K, p) array or None
        None: estimated from ``X`` by the rule of LAC, or all features if there is no table.
    X : array or None
    n_features : int
    k : int
        Clusters that were asked for.
    """
    kept = np.flatnonzero(np.asarray(memberships).sum(axis=1) > 0)
    if len(kept) < k:
        warnings.warn(
            f"the consensus has {count(len(kept), 'cluster')}, {k} were asked for: the members "
            "don't tell more apart",
            DroppedClusterWarning,
            stacklevel=4,
        )
    chosen = memberships[kept]
    masks = np.ones((len(kept), n_features), bool)
    if weights is None and X is None:
        return SubspaceClustering(chosen, masks)
    if weights is None:
        weights = lac_weights(X, SubspaceClustering(chosen, masks), scale="std")  # type: ignore[arg-type]
    else:
        weights = weights[kept]
    return SubspaceClustering(chosen, WeightedSubspaces(weights))
