"""What a file says about a clustering before the size of its table is settled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.core.indexing import checked_names
from subscape.core.memberships import Memberships
from subscape.core.subspaces import AxisSubspaces, Subspaces


@dataclass(frozen=True)
class Draft:
    """A clustering as a file tells it.

    Few formats say how many rows and features the table has: a label file knows nothing of
    features, a list of row numbers ends with the last clustered row. Such a draft takes what is
    missing from elsewhere when it is built.

    Attributes
    ----------
    source : str
        Name of the file, for messages.
    name : str
        Name of the clustering within the file; empty if it has none.
    members : Memberships
        Over the rows that the file speaks of.
    subspaces : Subspaces or None
        Over the features that the file speaks of; None if every cluster has all of them.
    rows_known, features_known : bool
        Whether the table has exactly so many rows and features, or at least so many.
    cluster_names : tuple of str or None
        What the file calls its clusters.
    """

    source: str
    name: str
    members: Memberships
    subspaces: Subspaces | None
    rows_known: bool = False
    features_known: bool = False
    row_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    cluster_names: tuple[str, ...] | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, clustering: SubspaceClustering, source: str, name: str = "") -> Draft:
        """A clustering of which everything is known."""
        return cls(
            source,
            name,
            clustering.members,
            clustering.subspaces,
            rows_known=True,
            features_known=True,
            row_names=clustering.row_names,
            feature_names=clustering.feature_names,
            provenance=clustering.provenance,
        )

    @property
    def n_rows(self) -> int:
        """Rows of the table, or the fewest it can have."""
        return self.members.n_rows

    @property
    def n_features(self) -> int:
        """Features of the table, or the fewest it can have."""
        return 1 if self.subspaces is None else self.subspaces.n_features

    def named(self, feature_names: Any) -> Draft:
        """The same draft over features of these names, which say how many there are."""
        given = tuple(str(name) for name in feature_names)
        names = checked_names(given, len(given), "feature")
        if self.feature_names not in (None, names):
            raise ShapeMismatchError(
                f"{self.source} names its features otherwise than feature_names; leave "
                "feature_names out, or bring the clustering into that order with restrict()"
            )
        return replace(self, feature_names=names)

    def build(self, n_rows: int | None = None, n_features: int | None = None) -> SubspaceClustering:
        """The clustering over a table of so many rows and features."""
        if n_features is None and self.feature_names is not None:
            n_features = len(self.feature_names)
        rows = self._settled(n_rows, self.n_rows, self.rows_known, "row")
        features = self._settled(n_features, self.n_features, self.features_known, "feature")
        members, subspaces = self.members, self.subspaces
        if rows > members.n_rows:
            members = members.embed(np.arange(members.n_rows), rows)
        if subspaces is None:
            subspaces = AxisSubspaces(np.ones((members.n_clusters, features), bool))
        elif features > subspaces.n_features:
            subspaces = subspaces.embed(np.arange(subspaces.n_features), features)
        return SubspaceClustering(
            members,
            subspaces,
            feature_names=self.feature_names,
            row_names=self.row_names,
            provenance=self.provenance,
        )

    def _settled(self, wanted: int | None, stated: int, known: bool, what: str) -> int:
        if wanted is None or wanted == stated:
            return stated
        if wanted < 1:
            raise SubscapeError(f"a table has at least one {what}, not {wanted}")
        if known:
            raise ShapeMismatchError(
                f"{self.source} is about {count(stated, what)}, not {wanted}; restrict() and "
                "embed() bring a clustering to another table"
            )
        if wanted < stated:
            raise ShapeMismatchError(
                f"{self.source} speaks of {what} {stated - 1} (counted from 0), but the table is "
                f"said to have {count(wanted, what)}"
            )
        return wanted
