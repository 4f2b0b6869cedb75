"""Many clusterings of one table, to be merged into one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, overload

from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import ShapeMismatchError, SubscapeError, count, listing
from subscape.core.markup import card
from subscape.files.archive import read_archive, save


class Ensemble(Sequence[SubspaceClustering]):
    """A sequence of clusterings of one table, of any finders.

    Members may have different numbers of clusters, kinds of subspaces, noise and overlaps. They
    must speak of the same rows and features, by number and, where both have them, by name.

    Parameters
    ----------
    clusterings : iterable of SubspaceClustering, fitted finders or label vectors
        A label vector takes the features of the first clustering that has some.
    metadata : mapping, optional
        How the ensemble was made; kept in its file.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the table.
    total_clusters : int
        Clusters of all members together.
    is_oriented : bool
        Whether some member's subspaces are oriented.

    See Also
    --------
    generate : Makes one.
    agreement : How far its members agree.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> from subscape.ensemble import Ensemble
    >>> first = SubspaceClustering.from_labels([0, 0, 1, 1], masks=[[1, 0], [0, 1]])
    >>> ensemble = Ensemble([first, [0, 1, 1, -1]])
    >>> ensemble.append(first)
    >>> ensemble
    Ensemble(3 members, 6 clusters, 4 rows x 2 features)
    """

    def __init__(
        self, clusterings: Iterable[Any] = (), *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        self._members: list[SubspaceClustering] = []
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.extend(clusterings)

    @classmethod
    def of(cls, given: Any) -> Ensemble:
        """An ensemble as it is, or one of the clusterings of a list; at least one member.

        Returns
        -------
        Ensemble

        Examples
        --------
        >>> len(Ensemble.of([[0, 0, 1], [0, 1, 1]]))
        2
        """
        ensemble = given if isinstance(given, Ensemble) else cls(listed(given))
        if not len(ensemble):
            raise SubscapeError("the ensemble is empty: it needs at least one clustering")
        return ensemble

    def append(self, clustering: Any) -> None:
        """Add one member."""
        self.extend([clustering])

    def extend(self, clusterings: Iterable[Any]) -> None:
        """Add members; none is added if one of them doesn't fit."""
        given = list(clusterings)
        like = next((c for c in [*self._members, *map(_fitted, given)] if _is_clustering(c)), None)
        added = [as_clustering(_fitted(member), like=like) for member in given]
        number = len(self._members)
        for i, member in enumerate(added):
            check_member(([*self._members, *added])[0], member, number + i)
        self._members += added

    @overload
    def __getitem__(self, index: int) -> SubspaceClustering: ...

    @overload
    def __getitem__(self, index: slice) -> Ensemble: ...

    def __getitem__(self, index: int | slice) -> SubspaceClustering | Ensemble:
        if isinstance(index, slice):
            return Ensemble(self._members[index], metadata=self.metadata)
        return self._members[index]

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[SubspaceClustering]:
        return iter(self._members)

    def __add__(self, other: Iterable[Any]) -> Ensemble:
        return Ensemble([*self._members, *other], metadata=self.metadata)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ensemble) and self._members == other._members

    __hash__ = None  # type: ignore[assignment]  # it can grow

    @property
    def n_rows(self) -> int:
        return self._first().n_rows

    @property
    def n_features(self) -> int:
        return self._first().n_features

    @property
    def total_clusters(self) -> int:
        return sum(member.n_clusters for member in self._members)

    @property
    def is_oriented(self) -> bool:
        return any(member.kind == "oriented" for member in self._members)

    @property
    def names(self) -> dict[str, tuple[str, ...] | None]:
        """Names of rows and features that some member knows, as keywords for a clustering."""
        return {
            kind: next((n for m in self._members if (n := getattr(m, kind)) is not None), None)
            for kind in ("feature_names", "row_names")
        }

    def _first(self) -> SubspaceClustering:
        if not self._members:
            raise SubscapeError("the ensemble is empty: it needs at least one clustering")
        return self._members[0]

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write all members and the metadata to a ``.subscape`` file.

        Returns
        -------
        Path
            Where it was written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from subscape.ensemble import Ensemble
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "members.subscape"
        >>> ensemble = Ensemble([[0, 0, 1], [0, 1, 1]])
        >>> Ensemble.load(ensemble.save(path)) == ensemble
        True
        """
        return save(path, self._members, metadata=self.metadata, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ensemble:
        """Read the clusterings of a ``.subscape`` file, whoever wrote it.

        Returns
        -------
        Ensemble
        """
        clusterings, manifest = read_archive(path)
        return cls(clusterings, metadata=manifest.get("metadata"))

    def _repr_html_(self) -> str:
        lines = [
            [i, m.kind, m.n_clusters, float(m.coverage), float(m.subspaces.dims.mean())]
            for i, m in enumerate(self._members, 1)
        ]
        head = ["member", "kind", "clusters", "share of rows", "dims, mean"]
        text = repr(self).removeprefix("Ensemble(").removesuffix(")")
        return card("Ensemble", text, head, lines, noun="member")

    def __repr__(self) -> str:
        if not self._members:
            return "Ensemble(0 members)"
        return (
            f"Ensemble({count(len(self), 'member')}, {count(self.total_clusters, 'cluster')}, "
            f"{count(self.n_rows, 'row')} x {count(self.n_features, 'feature')})"
        )


def listed(given: Any) -> list[Any]:
    """The members of what is given as an ensemble; a single clustering is one of one member."""
    if isinstance(given, SubspaceClustering) or hasattr(given, "clustering_"):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise TypeError(f"an ensemble is a list of clusterings or label vectors, got {given!r}")
    members = list(given)
    if members and all(isinstance(one, Integral) for one in members):
        raise TypeError(
            "an ensemble is a list of clusterings or label vectors, got a single label vector; "
            "put it into a list"
        )
    return members


def check_member(
    first: SubspaceClustering, member: SubspaceClustering, i: int, *, features: bool = True
) -> None:
    """Refuse a member without clusters, or over other rows or features than the first."""
    if member.n_clusters == 0:
        raise SubscapeError(
            f"member {i} has no clusters (all {member.n_rows} rows are noise), so it can't vote; "
            "leave it out"
        )
    check_same_table(first, member, f"member {i}", features=features)


def check_same_table(
    first: SubspaceClustering, member: SubspaceClustering, who: str, *, features: bool = True
) -> None:
    """Refuse a clustering over other rows or features than the first member."""
    for what in ("rows", "features") if features else ("rows",):
        ours, theirs = getattr(first, f"n_{what}"), getattr(member, f"n_{what}")
        if ours != theirs:
            raise ShapeMismatchError(
                f"{who} is over {theirs} {what}, the first member over {ours}; bring them together "
                "with restrict(rows, features) or embed(rows, features, shape=...)"
            )
        named = [getattr(c, f"{what[:-1]}_names") for c in (first, member)]
        if None not in named and named[0] != named[1]:
            only = sorted(set(named[0]) ^ set(named[1]))
            raise ShapeMismatchError(
                f"{who} names its {what} differently from the first member ("
                + (f"not in both: {listing(only)}" if only else "the same names in another order")
                + "); bring it into the first's order with restrict(rows, features)"
            )


def _fitted(given: Any) -> Any:
    return getattr(given, "clustering_", given)


def _is_clustering(given: Any) -> bool:
    return isinstance(given, SubspaceClustering)
