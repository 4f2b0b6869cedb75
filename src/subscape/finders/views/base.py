"""What finders of several clusterings share: their results and the clusterings already known."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subscape.core.checks import check_names
from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.convert import label_matrix
from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.core.memberships import DistantMemberships
from subscape.core.types import FloatArray
from subscape.finders.base import Found, SubspaceFinder, Watch, codes_of
from subscape.parallel.threads import one_thread

__all__ = ["Found", "MultiClusteringFinder", "Watch", "found_several"]

#: Starts of the k-means reference that is made where none is given.
REFERENCE_STARTS = 10


def found_several(
    clusterings: list[SubspaceClustering], n_iter: int = 1, **attributes: Any
) -> Found:
    """What ``_find`` returns for clusterings in their order; there must be at least one."""
    return Found(clusterings[0], n_iter, attributes, tuple(clusterings[1:]))


class MultiClusteringFinder(SubspaceFinder):
    """Base of the estimators that find several clusterings of one table.

    A subclass implements ``_find`` as for :class:`subscape.finders.base.SubspaceFinder` and
    returns :func:`found_several`. After ``fit`` there are ``clusterings_`` (a tuple, at least one,
    without a noise space), ``label_matrix_`` (one column per clustering), and the first of them as
    ``clustering_`` and ``labels_``.

    Clusterings that shall *not* be found again are passed to ``fit`` as ``given``; ``_find`` reads
    them from :meth:`_references`, which makes one by k-means where nothing was given.

    See Also
    --------
    subscape.finders.base.SubspaceFinder : Base of the finders of one clustering.
    subscape.finders.alternatives.base.AlternativeFinder : One alternative after the other.
    """

    _known_before = ("given_",)

    def fit(self, X: ArrayLike, y: Any = None, *, given: Any = None) -> Self:
        """Find clusterings of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : ignored
        given : label vector, SubspaceClustering, fitted finder, or a list of them, optional
            Clusterings already known: what is found shall differ from them. Rows labelled −1 are
            in no cluster.

        Returns
        -------
        self
        """
        table = self._checked(X)
        self.given_ = known_clusterings(given, *table.shape)
        for clustering in self.given_:
            check_names(X, None, clustering.row_names)
        self._fit_to(table)
        self._put_beside(X)
        return self

    def _keep(self, found: Found) -> None:
        super()._keep(found)
        # One that was made here has not seen the constant columns.
        self.given_ = tuple(
            each
            if each.n_features == self.n_features_in_
            else SubspaceClustering.from_labels(each.labels(), n_features=self.n_features_in_)
            for each in self.given_
        )
        self.clusterings_ = (self.clustering_, *(self._named(each) for each in found.others))
        self.label_matrix_ = matrix_where_it_is(self.clusterings_)

    def _references(
        self, X: FloatArray, n_clusters: int, seed: np.random.SeedSequence
    ) -> tuple[SubspaceClustering, ...]:
        """What was given to ``fit``; one k-means clustering of ``X`` if nothing was.

        The result is kept as ``given_``.
        """
        if not self.given_:
            self.given_ = (kmeans_clustering(X, n_clusters, seed),)
        return self.given_


def matrix_where_it_is(clusterings: tuple[SubspaceClustering, ...]) -> Any:
    """(n, number of clusterings) labels, as a Dask array where they lie on a cluster."""
    if not isinstance(clusterings[0].members, DistantMemberships):
        return label_matrix(clusterings, np.int32)
    import dask.array as da

    return da.stack([codes_of(each).to_dask(np.int32) for each in clusterings], axis=1)


def kmeans_clustering(
    X: FloatArray, n_clusters: int, seed: np.random.SeedSequence
) -> SubspaceClustering:
    """k-means over all features, from several starts; the same bits for the same seed."""
    start = np.random.RandomState(seed.generate_state(4))
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few distinct rows: said before
        model = KMeans(n_clusters, n_init=REFERENCE_STARTS, random_state=start).fit(X)
    _, labels = np.unique(model.labels_, return_inverse=True)
    return SubspaceClustering.from_labels(labels, n_features=X.shape[1])


def known_clusterings(
    given: Any, n_rows: int, n_features: int = 1
) -> tuple[SubspaceClustering, ...]:
    """The clusterings of ``given`` (see ``fit``), checked; none for None.

    >>> [c.n_clusters for c in known_clusterings([[0, 1, 1], ["a", "b", "c"]], 3)]
    [2, 3]
    >>> [c.n_clusters for c in known_clusterings([0, 1, 1], 3)]
    [2]
    """
    if given is None:
        return ()
    clusterings = tuple(_clustering(item, n_features) for item in _items(given))
    for place, clustering in enumerate(clusterings):
        name = f"given clustering {place}" if len(clusterings) > 1 else "the given clustering"
        if clustering.n_rows != n_rows:
            raise ShapeMismatchError(
                f"{name} has {count(clustering.n_rows, 'row')}, the table {n_rows}"
            )
        if clustering.n_clusters < 2:
            raise SubscapeError(
                f"{name} has {count(clustering.n_clusters, 'cluster')}: an alternative needs at "
                "least 2 to differ from; leave given=None to start from k-means"
            )
    return clusterings


def _clustering(item: Any, n_features: int) -> SubspaceClustering:
    if isinstance(item, SubspaceClustering) or hasattr(item, "clustering_"):
        return as_clustering(item)
    return SubspaceClustering.from_labels(getattr(item, "labels_", item), n_features=n_features)


def _items(given: Any) -> list[Any]:
    """The single clusterings in whatever was given."""
    if isinstance(given, SubspaceClustering):
        return [given]
    if hasattr(given, "clusterings_"):
        return list(given.clusterings_)
    if hasattr(given, "clustering_") or hasattr(given, "labels_"):
        return [given]
    if isinstance(given, np.ndarray) or hasattr(given, "to_numpy"):
        array = np.asarray(given)
        # An array with two axes is a label matrix, (n_rows, clusterings).
        return [array] if array.ndim != 2 else list(array.T)
    items = list(given)
    if not items:
        raise SubscapeError("given is empty: leave it None if no clustering is known")
    # Numbers and texts are the labels of one clustering; whatever is more is a clustering itself.
    single = [item is None or np.isscalar(item) for item in items]
    if any(single) != all(single):
        raise SubscapeError(
            "given mixes single labels and whole clusterings: pass one or the other"
        )
    return [np.asarray(items)] if all(single) else items
