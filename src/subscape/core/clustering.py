"""The value every finder returns and every measure takes: clusters that live in subspaces."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from subscape.core.types import BoolArray, FloatArray, IndexArray, IntArray

from . import clustering as display
from .convert import coclustering_blocks, encode_labels, linkage_clusters
from .errors import (
    DroppedClusterWarning,
    ShapeMismatchError,
    SubscapeError,
    UnsupportedKindError,
    count,
)
from .indexing import checked_names, places, positions, taken
from .markup import MOST_LINES, card
from .memberships import DistantCodes, DistantMemberships, Memberships, row_positions
from .oriented import OrientedSubspaces, squared_cosines
from .plain_values import plain_values
from .subspaces import AxisSubspaces, Subspaces, WeightedSubspaces
from .types import off_device


class Cluster(NamedTuple):
    """One cluster, spelled out.

    ``features`` lists the relevant features of axis-aligned clusters and those with more than
    average relevance of the others.

    See Also
    --------
    SubspaceClustering : All clusters of a table.
    """

    rows: NDArray[np.int32]
    memberships: NDArray[np.float32]
    features: IndexArray
    relevance: FloatArray
    dims: float
    basis: FloatArray | None


class SubspaceClustering:
    """Clusters, each a set of rows in a subspace of its own.

    A frozen value; everything that changes it returns a new one. A row in no cluster is noise, a
    row in several overlaps, fractional memberships are soft.

    Parameters
    ----------
    memberships : array or sparse matrix of shape (n_clusters, n_rows)
        Booleans, or numbers in [0, 1]. Stored sparse; hard memberships store no values, soft ones
        are kept as float32.
    subspaces : AxisSubspaces, WeightedSubspaces or OrientedSubspaces
        One subspace per cluster. A boolean matrix is read as masks.
    feature_names, row_names : sequence of str, optional
    provenance : mapping, optional
        Where the clustering comes from (algorithm, parameters, seed); values that JSON can hold.
        Ignored by ``==``.

    See Also
    --------
    describe : Where the clusters lie, in words and numbers.
    subscape.measures.clustering_error : How far two clusterings are apart.
    subscape.save : Write clusterings to a file.
    subscape.plots.CellsDisplay : The clusters as a picture.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> c = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([2, 3], [2])], shape=(5, 3))
    >>> c
    SubspaceClustering(2 axis-aligned clusters, 5 rows x 3 features, 1 noise row, overlapping rows)
    >>> c.labels()
    array([ 0,  0,  0,  1, -1])
    >>> c.is_disjoint, c.is_partition
    (True, False)
    """

    __slots__ = ("_feature_names", "_memberships", "_provenance", "_row_names", "_subspaces")

    _memberships: Memberships
    _subspaces: Subspaces
    _feature_names: tuple[str, ...] | None
    _row_names: tuple[str, ...] | None
    _provenance: dict[str, Any]

    def __init__(
        self,
        memberships: Any,
        subspaces: Subspaces | ArrayLike,
        *,
        feature_names: Sequence[Any] | None = None,
        row_names: Sequence[Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        members = Memberships.of(memberships)
        spaces = subspaces if isinstance(subspaces, Subspaces) else AxisSubspaces(subspaces)
        if members.n_clusters != spaces.n_clusters:
            raise ShapeMismatchError(
                f"memberships speak of {count(members.n_clusters, 'cluster')}, subspaces of "
                f"{spaces.n_clusters}"
            )
        if members.n_rows < 1 or spaces.n_features < 1:
            raise SubscapeError("a clustering needs at least one row and one feature")
        refuse_empty_clusters(members, spaces)
        put = object.__setattr__
        put(self, "_memberships", members)
        put(self, "_subspaces", spaces)
        put(self, "_feature_names", checked_names(feature_names, spaces.n_features, "feature"))
        put(self, "_row_names", checked_names(row_names, members.n_rows, "row"))
        put(self, "_provenance", plain_values(provenance, "provenance"))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a clustering is read-only; its methods return changed copies")

    def __reduce__(self) -> tuple[Any, ...]:
        state = (
            self._memberships,
            self._subspaces,
            self._feature_names,
            self._row_names,
            self._provenance,
        )
        return _rebuild, state

    # -- building -------------------------------------------------------------------------------

    @classmethod
    def from_labels(
        cls,
        labels: ArrayLike | DistantCodes,
        *,
        masks: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        bases: Sequence[ArrayLike] | OrientedSubspaces | None = None,
        n_features: int | None = None,
        feature_names: Sequence[Any] | None = None,
        row_names: Sequence[Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> SubspaceClustering:
        """Build from one label per row; -1 (or any negative number) is noise.

        At most one of ``masks``, ``weights`` and ``bases`` says in which subspace cluster 0, 1, …
        lies; clusters without rows are dropped. Without any of them every cluster has all
        ``n_features`` features (1 if that isn't given either).

        Returns
        -------
        SubspaceClustering
            One cluster per label, in the order of the labels.

        Examples
        --------
        >>> from subscape import SubspaceClustering
        >>> SubspaceClustering.from_labels([0, 0, 1, -1], masks=[[1, 0], [1, 1]]).subspaces.dims
        array([1., 2.])
        """
        given = [
            name
            for name, part in (("masks", masks), ("weights", weights), ("bases", bases))
            if part is not None
        ]
        if len(given) > 1:
            raise SubscapeError(f"give one of {' and '.join(given)}, not {len(given)}")
        spaces: Subspaces | None = None
        if masks is not None:
            spaces = AxisSubspaces(masks)
        elif weights is not None:
            spaces = WeightedSubspaces(weights)
        elif isinstance(bases, OrientedSubspaces):
            spaces = bases
        elif bases is not None:
            spaces = OrientedSubspaces(bases, n_features=n_features)
        if isinstance(labels, DistantCodes):
            return _from_distant(
                labels,
                spaces,
                n_features=n_features,
                feature_names=feature_names,
                row_names=row_names,
                provenance=provenance,
            )
        coded = encode_labels(off_device(labels), None if spaces is None else spaces.n_clusters)
        if spaces is None:
            width = n_features or (len(feature_names) if feature_names is not None else 1)
            spaces = AxisSubspaces(np.ones((len(coded.names), width), bool))
        elif n_features is not None and n_features != spaces.n_features:
            raise ShapeMismatchError(
                f"n_features={n_features}, but the {given[0]} span {spaces.n_features}"
            )
        members = Memberships.from_codes(coded.codes, spaces.n_clusters)
        used = np.flatnonzero(members.sizes())
        if len(used) < spaces.n_clusters:
            members, spaces = members.select(used), spaces.select(used)
        return cls(
            members, spaces, feature_names=feature_names, row_names=row_names, provenance=provenance
        )

    @classmethod
    def from_clusters(
        cls,
        clusters: Iterable[tuple[ArrayLike, ArrayLike]],
        shape: tuple[int, int],
        *,
        feature_names: Sequence[Any] | None = None,
        row_names: Sequence[Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> SubspaceClustering:
        """Build from (rows, features) pairs, which may overlap.

        Rows are positions or a mask, features positions, names or a mask.

        Returns
        -------
        SubspaceClustering
            One cluster per pair, in the same order.
        """
        n_rows, n_features = (int(side) for side in shape)
        pairs = list(clusters)
        names = checked_names(feature_names, n_features, "feature")
        masks = np.zeros((len(pairs), n_features), bool)
        for k, (_, features) in enumerate(pairs):
            masks[k, positions(features, n_features, names, "feature")] = True
        members = Memberships.from_rows([row_positions(rows, n_rows) for rows, _ in pairs], n_rows)
        return cls(
            members,
            AxisSubspaces(masks),
            feature_names=names,
            row_names=row_names,
            provenance=provenance,
        )

    @classmethod
    def from_coclustering(
        cls, row_labels: ArrayLike, column_labels: ArrayLike, **names: Any
    ) -> SubspaceClustering:
        """Build from a partition of the rows and one of the columns: every block is a cluster.

        Returns
        -------
        SubspaceClustering
            One cluster per block: those of the first row group come first.

        Examples
        --------
        >>> from subscape import SubspaceClustering
        >>> c = SubspaceClustering.from_coclustering([0, 0, 1], [0, 1, 1, 1])
        >>> c.n_clusters, c.labels()
        (4, array([0, 0, 1]))
        """
        blocks = coclustering_blocks(row_labels, column_labels)
        return cls(blocks.memberships, AxisSubspaces(blocks.masks), **names)

    @classmethod
    def from_linkage(
        cls, linkage: ArrayLike, *, n_features: int = 1, **names: Any
    ) -> SubspaceClustering:
        """Build from a dendrogram: every merge is a cluster of the rows below it.

        Returns
        -------
        SubspaceClustering
            One cluster per merge, in the order of the merges; they overlap.
        """
        rows = linkage_clusters(linkage)
        masks = np.ones((len(rows), n_features), bool)
        return cls(Memberships.from_rows(rows, len(rows) + 1), AxisSubspaces(masks), **names)

    # -- reading --------------------------------------------------------------------------------

    @property
    def memberships(self) -> sparse.csr_array:
        """(n_clusters, n_rows) sparse matrix: bool if hard, float32 if soft."""
        return self._memberships.to_scipy()

    @property
    def members(self) -> Memberships:
        """The stored memberships, for code that works cluster by cluster."""
        return self._memberships

    @property
    def subspaces(self) -> Subspaces:
        return self._subspaces

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self._feature_names

    @property
    def row_names(self) -> tuple[str, ...] | None:
        return self._row_names

    @property
    def provenance(self) -> dict[str, Any]:
        return json.loads(json.dumps(self._provenance))

    @property
    def n_clusters(self) -> int:
        return self._memberships.n_clusters

    @property
    def n_rows(self) -> int:
        return self._memberships.n_rows

    @property
    def n_features(self) -> int:
        return self._subspaces.n_features

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features) of the table."""
        return self.n_rows, self.n_features

    @property
    def kind(self) -> str:
        """ "axis", "weighted" or "oriented"."""
        return self._subspaces.kind

    @property
    def sizes(self) -> NDArray[Any]:
        """Rows per cluster, or their summed memberships."""
        return self._memberships.sizes()

    @property
    def coverage(self) -> float:
        """Share of the rows that are in at least one cluster."""
        return float(np.count_nonzero(self._memberships.clusters_per_row()) / self.n_rows)

    @property
    def is_hard(self) -> bool:
        """No fractional memberships."""
        return self._memberships.is_hard

    @property
    def is_partition(self) -> bool:
        """Hard, and every row is in exactly one cluster."""
        return self.is_hard and bool((self._memberships.clusters_per_row() == 1).all())

    @property
    def is_row_disjoint(self) -> bool:
        """Hard, and no row is in two clusters."""
        per_row = self._memberships.clusters_per_row()
        return self.is_hard and bool((per_row <= 1).all())

    @property
    def is_disjoint(self) -> bool:
        """No two clusters share a cell: where they share rows, their subspaces are orthogonal."""
        return share_no_cell(self._memberships, self._subspaces)

    @property
    def is_coclustering(self) -> bool:
        """The clusters are every combination of disjoint row groups and disjoint column groups."""
        return row_groups(self._memberships, self._subspaces) is not None

    def labels(self) -> IntArray:
        """One label per row: the largest membership, ties to the lowest index, -1 for noise.

        Co-clusterings give the number of the row group.

        Returns
        -------
        array of shape (n_rows,)
        """
        codes = self._memberships.codes()
        group = row_groups(self._memberships, self._subspaces)
        if group is None:
            return codes.astype(np.int64)
        return np.where(codes < 0, -1, group[codes]).astype(np.int64)

    def cluster(self, i: int) -> Cluster:
        """Rows, features and subspace of cluster ``i``.

        Returns
        -------
        Cluster
            With ``rows``, ``features``, ``relevance`` and ``dims``.
        """
        if not -self.n_clusters <= i < self.n_clusters:
            raise IndexError(f"cluster {i} of {self.n_clusters}")
        i %= self.n_clusters
        spaces = self._subspaces.select(np.array([i]))
        relevance = spaces.relevance[0]
        if isinstance(spaces, AxisSubspaces):
            features = np.flatnonzero(spaces.masks[0])
        else:
            features = np.flatnonzero(relevance > relevance.mean())
        return Cluster(
            rows=self._memberships.rows(i),
            memberships=self._memberships.weights(i),
            features=features,
            relevance=relevance,
            dims=float(spaces.dims[0]),
            basis=spaces.bases[0] if isinstance(spaces, OrientedSubspaces) else None,
        )

    def __len__(self) -> int:
        return self.n_clusters

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)

    # -- changing -------------------------------------------------------------------------------

    def _with(
        self, memberships: Memberships | None = None, subspaces: Subspaces | None = None
    ) -> SubspaceClustering:
        members = self._memberships if memberships is None else memberships
        spaces = self._subspaces if subspaces is None else subspaces
        return SubspaceClustering(
            members,
            spaces,
            feature_names=self._feature_names if spaces.n_features == self.n_features else None,
            row_names=self._row_names if members.n_rows == self.n_rows else None,
            provenance=self._provenance,
        )

    def with_names(
        self,
        feature_names: Sequence[Any] | None = None,
        row_names: Sequence[Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> SubspaceClustering:
        """The same clusters with names or provenance attached; what is None stays as it is.

        Returns
        -------
        SubspaceClustering
            A copy; this one stays as it is.
        """
        return SubspaceClustering(
            self._memberships,
            self._subspaces,
            feature_names=self._feature_names if feature_names is None else feature_names,
            row_names=self._row_names if row_names is None else row_names,
            provenance=self._provenance if provenance is None else provenance,
        )

    def rows_only(self) -> SubspaceClustering:
        """Forget the subspaces: every cluster gets all features.

        A co-clustering becomes its partition of the rows.

        Returns
        -------
        SubspaceClustering
            Over the same table, axis-aligned.
        """
        members, group = self._memberships, row_groups(self._memberships, self._subspaces)
        if group is not None:
            members = members.select(np.unique(group, return_index=True)[1])
        return self._with(members, AxisSubspaces(np.ones((members.n_clusters, self.n_features))))

    def columns_only(self) -> SubspaceClustering:
        """Forget the rows: the subspaces alone, as clusters of a table with a single row.

        A co-clustering becomes its partition of the columns.

        Returns
        -------
        SubspaceClustering
            Over one row and the same features.
        """
        spaces, group = self._subspaces, row_groups(self._memberships, self._subspaces)
        if group is not None:
            spaces = spaces.select(np.flatnonzero(group == 0))
        return self._with(Memberships.of(np.ones((spaces.n_clusters, 1), bool)), spaces)

    def as_weighted(self) -> SubspaceClustering:
        """Masks and bases as feature weights: their relevance, scaled to sum 1.

        Returns
        -------
        SubspaceClustering
            Of kind "weighted", with the same rows.
        """
        if isinstance(self._subspaces, WeightedSubspaces):
            return self
        relevance = self._subspaces.relevance
        weights = relevance / relevance.sum(axis=1, keepdims=True)
        return self._with(subspaces=WeightedSubspaces(weights))

    def as_oriented(self) -> SubspaceClustering:
        """Masks as bases of unit vectors.

        Returns
        -------
        SubspaceClustering
            Of kind "oriented", with the same rows.
        """
        if isinstance(self._subspaces, OrientedSubspaces):
            return self
        if not isinstance(self._subspaces, AxisSubspaces):
            raise UnsupportedKindError(
                "weights have no basis: a weighted subspace is not a linear subspace. Compare it"
                ' with mass="unit", or threshold the weights into masks'
            )
        unit = np.eye(self.n_features)
        bases = [unit[:, mask] for mask in self._subspaces.masks]
        return self._with(subspaces=OrientedSubspaces(bases, n_features=self.n_features))

    def select(self, clusters: Any) -> SubspaceClustering:
        """Keep these clusters (positions or a mask), in this order.

        Returns
        -------
        SubspaceClustering
            Over the same table.
        """
        keep = positions(clusters, self.n_clusters, None, "cluster")
        return self._with(self._memberships.select(keep), self._subspaces.select(keep))

    def complement(self) -> SubspaceClustering:
        """The same rows in what each subspace leaves out: the flats the clusters spread along.

        Clusters whose subspace is the whole space have an empty complement and are kept only if
        oriented (a flat of dimension 0 is a point).

        Returns
        -------
        SubspaceClustering
            Over the same table.
        """
        return self._with(subspaces=self._subspaces.complement())

    def restrict(self, rows: Any = None, features: Any = None) -> SubspaceClustering:
        """Keep these rows and features (positions, masks or names), in this order.

        Weights are renormalised, bases projected and orthonormalised again. Clusters that lose
        all rows or their whole subspace are dropped with a warning.

        Returns
        -------
        SubspaceClustering
            Over the rows and features kept.
        """
        keep_rows = positions(rows, self.n_rows, self._row_names, "row")
        keep_features = positions(features, self.n_features, self._feature_names, "feature")
        if not len(keep_rows) or not len(keep_features):
            raise SubscapeError("nothing is left: keep at least one row and one feature")
        members = self._memberships if rows is None else self._memberships.restrict(keep_rows)
        spaces, alive = self._subspaces, np.arange(self.n_clusters)
        if features is not None:
            spaces, alive = spaces.restrict(keep_features)
        members = members.select(alive)
        inhabited = np.flatnonzero(np.diff(members.indptr))
        if len(inhabited) < self.n_clusters:
            lost = np.setdiff1d(np.arange(self.n_clusters), alive[inhabited])
            warnings.warn(
                f"restricting dropped {count(len(lost), 'cluster')} without rows or features left: "
                f"{', '.join(map(str, lost[:10]))}{' …' if len(lost) > 10 else ''}",
                DroppedClusterWarning,
                stacklevel=2,
            )
        return SubspaceClustering(
            members.select(inhabited),
            spaces.select(inhabited),
            feature_names=taken(self._feature_names, keep_features),
            row_names=taken(self._row_names, keep_rows),
            provenance=self._provenance,
        )

    def embed(
        self, rows: Any = None, features: Any = None, *, shape: tuple[int, int] | None = None
    ) -> SubspaceClustering:
        """Put the clustering into a larger table; what is new there is in no cluster.

        Parameters
        ----------
        rows, features : positions of this table's rows and features in the larger one, or the
            *names* of all rows and features of the larger table (this one's are looked up).
            None: this table's come first.
        shape : (n_rows, n_features) of the larger table; needed unless names say it.

        Returns
        -------
        SubspaceClustering
            The same clusters over the larger table.
        """
        row_at, n_rows, row_names = places(
            rows, self.n_rows, self._row_names, shape[0] if shape else None, "row"
        )
        feature_at, n_features, feature_names = places(
            features, self.n_features, self._feature_names, shape[1] if shape else None, "feature"
        )
        return SubspaceClustering(
            self._memberships.embed(row_at, n_rows),
            self._subspaces.embed(feature_at, n_features),
            feature_names=feature_names,
            row_names=row_names,
            provenance=self._provenance,
        )

    # -- comparing ------------------------------------------------------------------------------

    def _contents(self) -> list[bytes]:
        return contents(self._memberships, self._subspaces)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubspaceClustering):
            return NotImplemented
        return (
            self.shape == other.shape
            and self.kind == other.kind
            and self.n_clusters == other.n_clusters
            and self._feature_names == other._feature_names
            and self._row_names == other._row_names
            and self._contents() == other._contents()
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.kind, tuple(self._contents())))

    def isclose(self, other: SubspaceClustering, atol: float = 1e-8) -> bool:
        """Equal up to rounding, cluster order and the choice of bases; names are ignored.

        Returns
        -------
        bool
        """
        if self.shape != other.shape or self.kind != other.kind:
            return False
        if self.n_clusters != other.n_clusters:
            return False
        mine, theirs = (c._memberships for c in (self, other))
        return close_clusters((mine, self._subspaces), (theirs, other._subspaces), atol)


#: What measures and plots accept as a clustering.
ClusteringLike: TypeAlias = "SubspaceClustering | ArrayLike"


def as_clustering(given: Any, like: SubspaceClustering | None = None) -> SubspaceClustering:
    """Return ``given`` as a clustering; a label vector takes the features of ``like``, all of them.

    Returns
    -------
    SubspaceClustering

    See Also
    --------
    SubspaceClustering : What it returns.
    label_matrix : Several clusterings as columns of labels.

    Examples
    --------
    >>> as_clustering([0, 0, 1])
    SubspaceClustering(2 axis-aligned clusters, 3 rows x 1 feature, partition)
    """
    if isinstance(given, SubspaceClustering):
        return given
    if hasattr(given, "clustering_"):
        return as_clustering(given.clustering_)
    given = off_device(given)
    if sparse.issparse(given) or np.ndim(given) != 1:
        raise TypeError(
            "expected a SubspaceClustering or a label vector, got "
            f"{type(given).__name__} of {np.ndim(given)} dimensions"
        )
    if like is None:
        return SubspaceClustering.from_labels(given)
    if len(given) != like.n_rows:
        raise ShapeMismatchError(
            f"the label vector has {len(given)} entries, the other clustering {like.n_rows} rows"
        )
    return SubspaceClustering.from_labels(
        given,
        n_features=like.n_features,
        feature_names=like.feature_names,
        row_names=like.row_names,
    )


def _from_distant(
    codes: DistantCodes, spaces: Subspaces | None, n_features: int | None, **names: Any
) -> SubspaceClustering:
    """A clustering whose cluster numbers lie on other machines; what is empty is dropped."""
    if len(codes.shape) != 1:
        raise SubscapeError(f"labels must be 1-D, got shape {codes.shape}")
    sizes = codes.sizes(1 if spaces is None else spaces.n_clusters)
    if spaces is None:
        given = names["feature_names"]
        width = n_features or (len(given) if given is not None else 1)
        spaces = AxisSubspaces(np.ones((len(sizes), width), bool))
    elif len(sizes) > spaces.n_clusters:
        raise ShapeMismatchError(
            f"the largest label is {len(sizes) - 1}, but there are {spaces.n_clusters} subspaces"
        )
    elif n_features is not None and n_features != spaces.n_features:
        raise ShapeMismatchError(
            f"n_features={n_features}, but the subspaces span {spaces.n_features}"
        )
    members: Memberships = DistantMemberships(codes, sizes)
    used = np.flatnonzero(sizes)
    if len(used) < spaces.n_clusters:
        members, spaces = members.select(used), spaces.select(used)
    return SubspaceClustering(members, spaces, **names)


def _rebuild(
    memberships: Memberships,
    subspaces: Subspaces,
    feature_names: tuple[str, ...] | None,
    row_names: tuple[str, ...] | None,
    provenance: dict[str, Any],
) -> SubspaceClustering:
    return SubspaceClustering(
        memberships,
        subspaces,
        feature_names=feature_names,
        row_names=row_names,
        provenance=provenance,
    )


# -- how a clustering shows itself, as one line of text and as a small table in notebooks ----------


KIND_NAMES = {"axis": "axis-aligned", "weighted": "weighted", "oriented": "oriented"}

#: Features named in a notebook for each cluster.
MOST_FEATURES = 8


def text(clustering: SubspaceClustering) -> str:
    """One line: how many clusters of which kind, over which table."""
    return f"SubspaceClustering({', '.join(_facts(clustering))})"


def _facts(clustering: SubspaceClustering) -> list[str]:
    kind = KIND_NAMES[clustering.kind]
    facts = [
        f"{clustering.n_clusters} {kind} cluster{'s' * (clustering.n_clusters != 1)}",
        f"{count(clustering.n_rows, 'row')} x {count(clustering.n_features, 'feature')}",
    ]
    per_row = clustering.members.clusters_per_row()
    noise = int((per_row == 0).sum())
    if noise:
        facts.append(count(noise, "noise row"))
    if not clustering.is_hard:
        facts.append("soft")
    elif (per_row > 1).any():
        facts.append("co-clustering" if clustering.is_coclustering else "overlapping rows")
    elif not noise:
        facts.append("partition")
    return facts


def feature_label(clustering: SubspaceClustering, feature: int) -> str:
    """Name of a feature, or its position."""
    names = clustering.feature_names
    return names[feature] if names else f"x{feature}"


def html(clustering: SubspaceClustering) -> str:
    """A table with one line per cluster, counted from 1."""
    lines: list[list[Any]] = []
    for k in range(min(clustering.n_clusters, MOST_LINES)):
        cluster = clustering.cluster(k)
        order = cluster.features[np.argsort(-cluster.relevance[cluster.features], kind="stable")]
        shown = ", ".join(feature_label(clustering, int(f)) for f in order[:MOST_FEATURES])
        rest = f" and {len(order) - MOST_FEATURES} more" if len(order) > MOST_FEATURES else ""
        lines.append([k + 1, float(clustering.sizes[k]), float(cluster.dims), shown + rest])
    head = ["cluster", "rows", "dims", "features"]
    text = ", ".join(_facts(clustering))
    more = clustering.n_clusters - len(lines)
    return card("SubspaceClustering", text, head, lines, more=more, noun="cluster")


# -- what the clusters of a clustering look like together: empty, orthogonal, a grid, equal --------


def refuse_empty_clusters(members: Memberships, subspaces: Subspaces) -> None:
    """A cluster has at least one row, and a mask at least one feature."""
    empty = np.flatnonzero(np.diff(members.indptr) == 0)
    if len(empty):
        raise SubscapeError(f"cluster {empty[0]} has no rows{_and_more(empty)}; leave it out")
    if isinstance(subspaces, AxisSubspaces):
        bare = np.flatnonzero(~subspaces.masks.any(axis=1))
        if len(bare):
            raise SubscapeError(
                f"cluster {bare[0]} has no features{_and_more(bare)}; leave it out or give it one"
            )


def _and_more(found: IndexArray) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""


def share_no_cell(members: Memberships, subspaces: Subspaces) -> bool:
    """Whether clusters that share rows have orthogonal subspaces."""
    if members.n_clusters < 2 or (members.clusters_per_row() <= 1).all():
        return True
    rows = members.to_scipy(np.float32)
    shared = (rows @ rows.T).toarray() > 0
    np.fill_diagonal(shared, False)
    return not bool((shared & ~_orthogonal(subspaces)).any())


def _orthogonal(subspaces: Subspaces) -> BoolArray:
    """Which pairs of subspaces share nothing, as a (n_clusters, n_clusters) matrix."""
    if isinstance(subspaces, OrientedSubspaces):
        return squared_cosines(subspaces, subspaces) <= 1e-9
    return (subspaces.relevance @ subspaces.relevance.T) == 0


def row_groups(members: Memberships, subspaces: Subspaces) -> IndexArray | None:
    """Row group of each cluster if they form a co-clustering with several column groups.

    They do if the masks are disjoint, the row sets are disjoint, and every row set occurs with
    every mask just once.
    """
    if not isinstance(subspaces, AxisSubspaces) or not members.is_hard or not members.n_clusters:
        return None
    if isinstance(members, DistantMemberships):
        return None  # their rows are disjoint, so no row set occurs twice
    if (subspaces.masks == subspaces.masks[:1]).all():
        return None  # mostly, and quicker seen than how many masks there are
    columns, of_column = np.unique(subspaces.masks, axis=0, return_inverse=True)
    if len(columns) < 2 or members.n_clusters % len(columns) or columns.sum(axis=0).max() > 1:
        return None
    seen: dict[bytes, int] = {}
    group = np.array(
        [seen.setdefault(members.rows(k).tobytes(), len(seen)) for k in range(members.n_clusters)]
    )
    pairs = set(zip(group.tolist(), of_column.ravel().tolist(), strict=True))
    if not len(pairs) == members.n_clusters == len(seen) * len(columns):
        return None
    first = np.unique(group, return_index=True)[1]
    return group if (members.select(first).clusters_per_row() <= 1).all() else None


def contents(members: Memberships, subspaces: Subspaces) -> list[bytes]:
    """A digest per cluster, sorted: equal lists mean equal clusters in whatever order."""
    digests = []
    for k in range(members.n_clusters):
        digest = hashlib.blake2b(members.rows(k).tobytes(), digest_size=16)
        digest.update(members.weights(k).tobytes())
        digest.update(subspaces.content(k))
        digests.append(digest.digest())
    return sorted(digests)


def close_clusters(
    a: tuple[Memberships, Subspaces], b: tuple[Memberships, Subspaces], atol: float
) -> bool:
    """Whether the clusters are the same up to rounding, order and the choice of bases."""
    free = list(range(b[0].n_clusters))
    for k in range(a[0].n_clusters):
        match = next(
            (j for j in free if _close_rows(a[0], k, b[0], j, atol)
             and _close_subspaces(a[1], k, b[1], j, atol)),
            None,
        )  # fmt: skip
        if match is None:
            return False
        free.remove(match)
    return not free


def _close_rows(a: Memberships, k: int, b: Memberships, j: int, atol: float) -> bool:
    return np.array_equal(a.rows(k), b.rows(j)) and np.allclose(
        a.weights(k), b.weights(j), rtol=0, atol=max(atol, 1e-6)
    )


def _close_subspaces(a: Subspaces, k: int, b: Subspaces, j: int, atol: float) -> bool:
    if not (isinstance(a, OrientedSubspaces) and isinstance(b, OrientedSubspaces)):
        return np.allclose(a.relevance[k], b.relevance[j], rtol=0, atol=atol)
    if a.dims[k] != b.dims[j]:
        return False
    left, right = a.bases[k], b.bases[j]
    if a.is_complement == b.is_complement:
        residual = right - left @ (left.T @ right)
    else:
        residual = left.T @ right
    return bool(np.abs(residual).max(initial=0.0) <= atol)
