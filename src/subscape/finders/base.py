"""What all finders share: input checks, constant columns, seeds, time, the fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from subscape.arrays.blocks import Blocks, as_blocks, check_blocks, column_means, is_source
from subscape.arrays.device.array_api import beside
from subscape.arrays.row_values import first_rows
from subscape.core.checks import check_table, constant_columns
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import (
    ConstantFeatureWarning,
    FewDistinctRowsWarning,
    SubscapeError,
    count,
    listing,
)
from subscape.core.memberships import DistantMemberships
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import BoolArray, FloatArray, IndexArray, is_device_array
from subscape.parallel.progress import Step, Watch, best_few_of, best_of
from subscape.parallel.seeds import seed_sequence
from subscape.tables.table import Table

from .published import Published
from .refinement import changes_by_refinement

__all__ = ["Found", "Step", "SubspaceFinder", "Watch", "best_few_of", "best_of"]


class Found(NamedTuple):
    """What a search hands to ``fit``."""

    clustering: SubspaceClustering
    n_iter: int = 1
    attributes: dict[str, Any] = {}  # noqa: RUF012 - never written to
    #: Further clusterings of the same table, of finders that find several.
    others: tuple[SubspaceClustering, ...] = ()
    #: The clusters as they were before they were refined; None if they were not.
    unrefined: SubspaceClustering | None = None


class SubspaceFinder(Published, ClusterMixin, BaseEstimator):
    """Base of the estimators that find one subspace clustering.

    A subclass lists its parameters in ``__init__`` and ``_parameter_constraints`` and implements
    :meth:`_find`; ``fit`` does the rest.

    See Also
    --------
    subscape.finders.catalogue : All finders, and what each can do.
    subscape.finders.views.base.MultiClusteringFinder : Base of those that find several clusterings.
    subscape.finders.alternatives.base.AlternativeFinder : Base of those that find alternatives.
    subscape.ensemble.base.ConsensusMethod : Base of those that merge many clusterings.
    subscape.describe : What was found, in words.
    subscape.testing.check_finder : Checks that every finder passes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    #: Kind of the subspaces found: "axis", "weighted" or "oriented".
    _kind: ClassVar[str] = "axis"
    #: Column means are subtracted (in float64) before the search; False where the origin matters.
    _centred: ClassVar[bool] = True
    #: Constant columns are set aside before the search and come back as irrelevant.
    _drops_constant: ClassVar[bool] = True
    #: Sparse input is passed on as CSR instead of being refused.
    _accepts_sparse: ClassVar[bool] = False
    #: Missing values are passed on as NaN instead of being refused.
    _accepts_missing: ClassVar[bool] = False
    #: A table in files or chunks is passed on as Blocks instead of being read into memory.
    _streams: ClassVar[bool] = False
    #: A tensor on a device is passed on as Blocks too, instead of being copied into memory.
    _streams_devices: ClassVar[bool] = True
    #: Two rows, each of them repeated, are two clusters without a search.
    _tells_two_rows: ClassVar[bool] = False
    #: Fitted attributes that lie beside the table where that is a tensor.
    _beside: ClassVar[tuple[str, ...]] = ()
    #: Fitted attributes that are set before the search.
    _known_before: ClassVar[tuple[str, ...]] = ()

    def fit(self, X: ArrayLike, y: Any = None) -> SubspaceFinder:
        """Find the clusters of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Also a memmap, the path of a Parquet file or folder, a Dask array, or a tensor of
            torch or cupy (extra ``gpu``).
        y : ignored

        Returns
        -------
        self
        """
        self._fit_to(self._checked(X))
        self._put_beside(X)
        return self

    def _put_beside(self, X: Any) -> None:
        """Fitted attributes go where the table lies."""
        for name in self._beside:
            setattr(self, name, beside(getattr(self, name), X))

    def _fit_to(self, table: Any) -> None:
        """Search a checked table and keep what was found."""
        watch = Watch(
            type(self).__name__, getattr(self, "progress", None), getattr(self, "max_time", None)
        )
        forget(self, (*READ, *self._known_before))
        self._keep(self._search(table, watch))
        watch.close()

    def _checked(self, X: Any) -> Any:
        """The table, after all that can be refused without a search has been refused."""
        self._validate_params()
        table, names = self._read(X)
        named = not is_source(X) and not isinstance(X, Table)
        validate_data(self, X if named else table, skip_check_array=True)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        n_rows, n_features = table.shape
        lowest = table.ranges.low if isinstance(table, Blocks) else table
        if not hasattr(table, "tocsr") and np.isnan(lowest[0]).all() and np.isnan(lowest).all():
            raise SubscapeError(
                f"no cell of the {n_rows} x {n_features} table holds a value: all are missing, so "
                "there is nothing to group"
            )
        n_clusters = self._most_clusters()
        if n_clusters is not None and n_clusters > n_rows:
            raise SubscapeError(
                f"n_clusters={n_clusters} is more than the {count(n_rows, 'row')} of the table "
                f"(n_samples={n_rows})"
            )
        self.check_parameters(n_rows, n_features)
        return table

    def _read(self, X: Any, missing: bool | None = None) -> tuple[Any, Sequence[str] | None]:
        """The table as finite numbers, in memory or in blocks, and the names of a source."""
        who, names = type(self).__name__, None
        missing = self._accepts_missing if missing is None else missing
        if is_source(X):
            blocks = as_blocks(X)
            if self._streams and (self._streams_devices or not is_device_array(X)):
                check_blocks(blocks, who, missing=missing)
                return blocks, blocks.names
            X, names = X if isinstance(X, np.memmap) else blocks.to_numpy(), blocks.names
        elif isinstance(X, Table):
            X, names = X.to_numpy(), X.feature_names
        table = check_table(X, who, sparse=self._accepts_sparse, missing=missing)
        return table, names

    def _read_again(self, X: Any, missing: bool | None = None) -> Any:
        """A table with the columns of the one that was fitted, for ``predict``."""
        table, names = self._read(X, missing)
        if not is_source(X) and not isinstance(X, Table):
            validate_data(self, X, reset=False, skip_check_array=True)
            return table
        if table.shape[1] != self.n_features_in_:
            raise SubscapeError(
                f"X has {table.shape[1]} features, but {type(self).__name__} was fitted with "
                f"{self.n_features_in_}"
            )
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and list(names) != list(fitted):
            raise SubscapeError(
                "the columns are not those of the table that was fitted: "
                f"{listing(names, 3)} instead of {listing(fitted, 3)}"
            )
        return table

    def _keep(self, found: Found) -> None:
        """Set the fitted attributes."""
        self.clustering_ = self._named(found.clustering)
        self.labels_ = labels_where_they_are(self.clustering_)
        self.n_iter_ = found.n_iter
        for name, value in found.attributes.items():
            setattr(self, name, value)
        if found.unrefined is not None:
            self.unrefined_clustering_ = self._named(found.unrefined)

    def describe_refinement(self) -> str:
        """What refinement changed: ``unrefined_clustering_`` against ``clustering_``.

        Returns
        -------
        str

        Examples
        --------
        >>> from subscape.finders import MineClus
        >>> from subscape.datasets import planted_axes
        >>> X, _ = planted_axes(300, 12, n_clusters=3, dims=5, noise=0.1, random_state=0)
        >>> print(MineClus(random_state=0).fit(X).describe_refinement())
        3 clusters became 3
        rows in no cluster: 30 before, 30 after
        0 rows joined or left the clusters
        dimensions of the subspaces: 5, 5, 5 before, 5, 5, 5 after
        """
        check_is_fitted(self, "clustering_")
        before = getattr(self, "unrefined_clustering_", None)
        if before is None:
            return f"{type(self).__name__} has not refined its clusters"
        return changes_by_refinement(before, self.clustering_)

    def _named(self, clustering: SubspaceClustering) -> SubspaceClustering:
        """The clustering with the names of the features and what made it."""
        return clustering.with_names(
            feature_names=getattr(self, "feature_names_in_", None),
            provenance={"algorithm": type(self).__name__, "parameters": self._plain_parameters()},
        )

    def _most_clusters(self) -> int | None:
        """Number of clusters asked for (of the clustering with most), None if not asked for."""
        wanted = getattr(self, "n_clusters", None)
        return int(wanted) if isinstance(wanted, (int, np.integer)) else None

    def _search(self, table: Any, watch: Watch) -> Found:
        seed = seed_sequence(getattr(self, "random_state", None))
        if self._tells_two_rows and (two := self._two_rows(table)) is not None:
            return two
        n_features = table.shape[1]
        if not self._drops_constant:
            return self._find(self._prepared(table), seed, watch)
        constant = self._constant(table)
        if constant.all():
            return self._one_cluster(table)
        if constant.any():
            names = getattr(self, "feature_names_in_", np.arange(n_features))
            warnings.warn(
                f"{count(int(constant.sum()), 'constant column')} can't tell clusters apart and "
                f"will not be reported as relevant: {listing(names[constant])}",
                ConstantFeatureWarning,
                stacklevel=3,
            )
            blocks = isinstance(table, Blocks)
            table = table.select(~constant) if blocks else table[:, ~constant]
        self._n_distinct = self._warn_if_few_rows(table)
        found = self._find(self._prepared(table), seed, watch)
        if constant.any():
            kept = np.flatnonzero(~constant)
            shape = (table.shape[0], n_features)
            wide = [
                each.embed(features=kept, shape=shape) for each in (found.clustering, *found.others)
            ]
            found = found._replace(clustering=wide[0], others=tuple(wide[1:]))
            if found.unrefined is not None:
                before = found.unrefined.embed(features=kept, shape=shape)
                found = found._replace(unrefined=before)
        return found

    @staticmethod
    def _constant(table: Any) -> BoolArray:
        return table.constant if isinstance(table, Blocks) else constant_columns(table)

    def _prepared(self, table: Any) -> Any:
        """The table as C-contiguous float64, centred, read-only."""
        if hasattr(table, "tocsr"):
            return table
        if isinstance(table, Blocks):
            if not self._centred:
                return table.map(lambda block: block)
            return table.recentred(table.ranges.low, table.means)
        prepared = np.array(table, dtype=np.float64, order="C")
        if self._centred:
            # First a value of the column, exactly, so that an offset leaves no trace of rounding.
            prepared -= np.nanmin(prepared, axis=0)
            prepared -= column_means(prepared)
        prepared.flags.writeable = False
        return prepared

    def _one_cluster(self, table: Any) -> Found:
        warnings.warn(
            "all rows are identical: they form one cluster over all features",
            FewDistinctRowsWarning,
            stacklevel=4,
        )
        n_rows, n_features = table.shape
        labels = np.zeros(n_rows, np.int64)
        if self._kind == "oriented":
            # A point: nothing is left out, so the complement has no directions.
            point = OrientedSubspaces([np.zeros((n_features, 0))], complement=True)
            found = SubspaceClustering.from_labels(labels, bases=point)
            return Found(found, attributes={"flat_dims_": np.zeros(1, np.int64)})
        found = SubspaceClustering.from_labels(labels, n_features=n_features)
        return Found(found.as_weighted() if self._kind == "weighted" else found)

    def _two_rows(self, table: Any) -> Found | None:
        """One cluster for each of two rows that make up the whole table; None if there are more."""
        if isinstance(table, Blocks) or hasattr(table, "tocsr") or (self._most_clusters() or 2) < 2:
            return None
        unlike = ((table != table[0]) & ~(np.isnan(table) & np.isnan(table[0]))).any(axis=1)
        n_unlike = int(unlike.sum())
        if not 2 <= n_unlike <= len(table) - 2:
            return None
        other = table[np.flatnonzero(unlike)[0]]
        rest = table[unlike]
        if not ((rest == other) | (np.isnan(rest) & np.isnan(other))).all():
            return None
        warnings.warn(
            "the table has 2 distinct rows: each of them is a cluster over all features that vary",
            FewDistinctRowsWarning,
            stacklevel=4,
        )
        labels = unlike.astype(np.int64)
        n_features = table.shape[1]
        if self._kind == "oriented":
            point = OrientedSubspaces([np.zeros((n_features, 0))] * 2, complement=True)
            found = SubspaceClustering.from_labels(labels, bases=point)
            return Found(found, attributes={"flat_dims_": np.zeros(2, np.int64)})
        varies = ~self._constant(table) if self._drops_constant else np.ones(n_features, bool)
        found = SubspaceClustering.from_labels(labels, masks=[varies, varies])
        return Found(found.as_weighted() if self._kind == "weighted" else found)

    def _warn_if_few_rows(self, table: Any) -> int | None:
        """Number of distinct rows if there are fewer of them than clusters asked for."""
        wanted = self._most_clusters()
        if wanted is None or hasattr(table, "tocsr"):
            return None
        seen: set[bytes] = set()
        for _, block in as_blocks(table):
            for row in block:
                seen.add((row + 0.0).tobytes())  # -0 is 0
                if len(seen) >= wanted:
                    return None
        warnings.warn(
            f"the table has {count(len(seen), 'distinct row')}, fewer than n_clusters={wanted}; "
            f"finding {len(seen)}",
            FewDistinctRowsWarning,
            stacklevel=4,
        )
        return len(seen)

    def _k(self) -> int:
        """Number of clusters to look for: ``n_clusters``, or the distinct rows if fewer."""
        distinct = getattr(self, "_n_distinct", None)
        wanted = int(self.n_clusters)
        return wanted if distinct is None else min(wanted, distinct)

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        """Refuse parameters that don't fit a table of this shape; called before any work."""

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        """Search ``X`` (finite float64, C-contiguous, read-only, no constant columns)."""
        raise NotImplementedError(f"{type(self).__name__} must implement _find")

    def _plain_parameters(self) -> dict[str, Any]:
        """Parameters that a file can hold; others by their description."""
        plain: dict[str, Any] = {}
        for name, value in self.get_params(deep=False).items():
            if name in ("progress", "n_jobs"):
                continue
            if isinstance(value, np.generic):
                value = value.item()
            simple = value is None or isinstance(value, (bool, int, float, str))
            plain[name] = value if simple else repr(value)[:200]
        return plain

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_missing
        return tags


# -- what a fit leaves behind ----------------------------------------------------------------------


#: Attributes that are set while the table is read.
READ = ("n_features_in_", "feature_names_in_")


def forget(estimator: Any, keep: Collection[str] = READ) -> None:
    """Drop the attributes of an earlier fit: the next one may have fewer.

    >>> from sklearn.base import BaseEstimator
    >>> estimator = BaseEstimator()
    >>> estimator.labels_, estimator.n_features_in_ = [0, 1], 3
    >>> forget(estimator)
    >>> vars(estimator)
    {'n_features_in_': 3}
    """
    for name in [name for name in vars(estimator) if name.endswith("_") and name not in keep]:
        if not name.startswith("_"):
            delattr(estimator, name)


# -- in which order clusters are numbered ----------------------------------------------------------


def labels_where_they_are(clustering: SubspaceClustering) -> Any:
    """The labels as an array, or as a Dask array where they lie on a cluster."""
    members = clustering.members
    if isinstance(members, DistantMemberships):
        return members.distant.to_dask(np.int64)
    return clustering.labels()


def codes_of(clustering: SubspaceClustering) -> Any:
    """Row values with the cluster of each row, -1 for noise, where they are."""
    members = clustering.members
    return members.distant if isinstance(members, DistantMemberships) else members.codes()


def by_first_row(labels: Any, k: int | None = None) -> IndexArray:
    """Order the clusters by their first rows; every cluster must have one.

    Restarts that end in the same clusters, numbered differently, then give the same labels, and
    rounding that picks another of them goes unnoticed.

    Parameters
    ----------
    labels : (n,) array or row values
        Clusters ``0 .. k-1``, -1 for noise.
    k : int, optional
        Their number, where it is known.

    Returns
    -------
    (k,) array
        The old number of each new cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.finders.base import by_first_row
    >>> by_first_row(np.array([-1, 2, 2, 0, 1, 0]))
    array([2, 0, 1])
    """
    number = int(labels.max(initial=-1)) + 1 if k is None else k
    return np.argsort(first_rows(labels, number), kind="stable")
