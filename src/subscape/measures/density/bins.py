"""The bins that the values of each attribute are counted in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.arrays.blocks import Blocks
from subscape.core.checks import frozen
from subscape.core.errors import ShapeMismatchError, SubscapeError, count, listing
from subscape.core.types import FloatArray, IntArray
from subscape.tables.columns import check_unique

from .attributes import Attributes, Levels, attributes_of, in_memory
from .binning import edges_of


@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """How the values of each attribute of a table are cut into bins; a frozen value.

    Use :meth:`of` to make them from a table and :meth:`common` for several tables. They can be
    kept and used for other tables with the same attributes. A numeric value belongs to the bin
    whose lower limit it reaches; values beyond the outer limits count in the first or last bin. A
    nominal attribute has one bin per level.

    Parameters
    ----------
    names : sequence of str
        The attributes.
    edges : sequence
        For each numeric attribute the limits of its bins in ascending order, one more than bins;
        None for a nominal one.
    levels : sequence, optional
        For each nominal attribute its levels; None for a numeric one.
    missing_bin : bool, default=False
        Whether each attribute has one more bin, its last, for missing values.

    Attributes
    ----------
    sizes : array of shape (n_attributes,)
        Number of bins of each attribute (Q).
    offsets : array of shape (n_attributes + 1,)
        Attribute i owns the bins from ``offsets[i]`` up to ``offsets[i + 1]``.
    total : int
        Bins of all attributes.

    See Also
    --------
    DensityProfile : Counts in bins.
    adco_similarity : Compares clusterings by them.

    Examples
    --------
    >>> from subscape.measures import Bins
    >>> bins = Bins(["age", "sex"], [[0, 30, 60, 100], None], [None, ("f", "m")])
    >>> bins
    Bins(2 attributes, 5 bins)
    >>> bins.labels[:4]
    ('age [0, 30)', 'age [30, 60)', 'age [60, 100]', 'sex = f')
    """

    names: tuple[str, ...]
    edges: tuple[FloatArray | None, ...]
    levels: tuple[Levels | None, ...] = ()
    missing_bin: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        names = tuple(str(name) for name in self.names)
        if not names:
            raise SubscapeError("bins need at least one attribute")
        check_unique(names)
        levels = tuple(self.levels) or (None,) * len(names)
        if len(self.edges) != len(names) or len(levels) != len(names):
            raise SubscapeError(
                f"{count(len(names), 'attribute')}, but {len(self.edges)} entries of edges and "
                f"{len(levels)} of levels; give one for each"
            )
        both = zip(names, self.edges, levels, strict=True)
        sides = [_checked_sides(name, edge, level) for name, edge, level in both]
        put(self, "names", names)
        put(self, "edges", tuple(edge for edge, _ in sides))
        put(self, "levels", tuple(level for _, level in sides))
        put(self, "missing_bin", bool(self.missing_bin))

    # -- making them ----------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        X: Any,
        bins: Any = 10,
        *,
        binning: str = "uniform",
        labels: ArrayLike | None = None,
        nominal: Iterable[Any] | None = None,
        missing: str = "error",
    ) -> Bins:
        """Cut the attributes of a table.

        Parameters
        ----------
        X : array-like, data frame or Table of shape (n_rows, n_attributes)
            Columns of text are nominal.
        bins : int, Bins or sequence of arrays, default=10
            Number of bins of each numeric attribute (Q; with "mdl" no limit), or the limits of
            each attribute.
        binning : {"uniform", "quantile", "mdl"}, default="uniform"
            Bins of equal width; of about equally many values (equal values stay together, so
            that there may be fewer bins); or bins in which ``labels`` are as pure as their
            description length pays for (Fayyad and Irani), any number of them.
        labels : array of shape (n_rows,), optional
            The classes for "mdl"; -1 is left out.
        nominal : iterable, optional
            Names or positions of numeric columns that are nominal, or a mask.
        missing : {"error", "bin", "ignore"}, default="error"
            What becomes of missing values: refused, in a bin of their own, or left out.

        Returns
        -------
        Bins

        Examples
        --------
        >>> import numpy as np
        >>> from subscape.measures import Bins
        >>> Bins.of(np.array([[0.0], [1.0], [4.0]]), 2).edges
        (array([0., 2., 4.]),)
        >>> X = np.array([[1.0], [2.0], [3.0], [40.0]])
        >>> Bins.of(X, 2, binning="quantile").edges
        (array([ 1.,  3., 40.]),)
        """
        found = attributes_of(X, nominal, "Bins")
        return bins_of(found, bins, binning, labels, missing)

    @classmethod
    def common(
        cls,
        tables: Sequence[Any],
        bins: int = 10,
        *,
        binning: str = "uniform",
        labels: Sequence[ArrayLike] | None = None,
        nominal: Iterable[Any] | None = None,
        missing: str = "error",
    ) -> Bins:
        """Cut the attributes of several tables alike, so that their profiles can be compared.

        Parameters
        ----------
        tables : sequence of tables with the same attributes
        bins, binning, nominal, missing
            As in :meth:`of`, for all rows of all tables together.
        labels : sequence of arrays, optional
            The classes for "mdl", for each table.

        Returns
        -------
        Bins

        Examples
        --------
        >>> import numpy as np
        >>> from subscape.measures import Bins
        >>> Bins.common([np.array([[0.0], [1.0]]), np.array([[6.0]])], 2).edges
        (array([0., 3., 6.]),)
        """
        if len(tables) == 0:
            raise SubscapeError("no tables given")
        nominal = None if nominal is None else list(nominal)
        found = [attributes_of(table, nominal, "Bins") for table in tables]
        classes = None
        if labels is not None:
            classes = np.concatenate([np.asarray(each) for each in labels])
        return bins_of(_stacked(found), bins, binning, classes, missing)

    # -- reading them ---------------------------------------------------------------------------

    @property
    def n_attributes(self) -> int:
        return len(self.names)

    @cached_property
    def sizes(self) -> IntArray:
        sides = zip(self.edges, self.levels, strict=True)
        sizes = [len(level or ()) if edge is None else len(edge) - 1 for edge, level in sides]
        return np.asarray(frozen(np.array(sizes, dtype=np.int64) + self.missing_bin))

    @cached_property
    def offsets(self) -> IntArray:
        return np.asarray(frozen(np.concatenate([[0], np.cumsum(self.sizes)])))

    @property
    def total(self) -> int:
        return int(self.offsets[-1])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for every bin."""
        texts: list[str] = []
        for name, edge, level in zip(self.names, self.edges, self.levels, strict=True):
            if edge is None:
                texts += [f"{name} = {each}" for each in level or ()]
            else:
                closing = [")"] * (len(edge) - 2) + ["]"]
                ends = zip(pairwise(edge), closing, strict=True)
                texts += [f"{name} [{low:g}, {high:g}{end}" for (low, high), end in ends]
            texts += [f"{name} missing"] * self.missing_bin
        return tuple(texts)

    def block(self, attribute: int | str) -> slice:
        """The bins of one attribute, given by position or name.

        Returns
        -------
        slice
            Their places among the bins of all attributes.

        Examples
        --------
        >>> Bins(["a", "b"], [[0, 1, 2], [0, 3]]).block("b")
        slice(2, 3, None)
        """
        if isinstance(attribute, str):
            if attribute not in self.names:
                raise SubscapeError(
                    f"there is no attribute {attribute!r}, there are {listing(self.names)}"
                )
            attribute = self.names.index(attribute)
        place = range(self.n_attributes)[attribute]
        return slice(int(self.offsets[place]), int(self.offsets[place + 1]))

    @cached_property
    def limits(self) -> tuple[FloatArray, IntArray]:
        """Inner limits of all attributes in a row, and where each attribute's begin."""
        inner = [
            np.arange(1.0, len(level or ())) if edge is None else edge[1:-1]
            for edge, level in zip(self.edges, self.levels, strict=True)
        ]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in inner])]).astype(np.int64)
        return np.concatenate(inner), starts

    def place(self, found: Attributes) -> tuple[Bins, NDArray[Any] | Blocks]:
        """These bins, with any new levels of a table's nominal attributes, and its values in them.

        Codes of levels are turned into the positions that these bins give them.

        Returns
        -------
        tuple of Bins and array or blocks
            The bins, and of every value the place of its bin or level.
        """
        if found.names != self.names:
            refuse_attributes(self.names, found.names, "the bins", "the table")
        values, levels = found.values, list(self.levels)
        for j, (own, theirs) in enumerate(zip(self.levels, found.levels, strict=True)):
            if (own is None) != (theirs is None):
                kinds = ("numeric", "nominal") if own is None else ("nominal", "numeric")
                raise SubscapeError(
                    f"attribute {self.names[j]!r} is {kinds[0]} in the bins, but {kinds[1]} in "
                    "the table; use nominal= to say which attributes are nominal"
                )
            if own is not None and theirs is not None and own != theirs:
                united = united_levels(own, theirs)
                position = {level: float(i) for i, level in enumerate(united)}
                # Attributes with levels are in memory.
                values = np.asarray(values)
                if values is found.values:
                    values = values.astype(np.float64)
                moved = np.array([position[level] for level in theirs])
                absent = np.isnan(values[:, j])
                values[~absent, j] = moved[values[~absent, j].astype(np.intp)]
                levels[j] = united
        if tuple(levels) == self.levels:
            return self, values
        return Bins(self.names, self.edges, tuple(levels), self.missing_bin), values

    # -- keeping them ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; see :meth:`from_dict`.

        Returns
        -------
        dict
        """
        # JSON has no infinite numbers; as text they are read back all the same.
        edges = [
            None if edge is None else [e if isfinite(e) else str(e) for e in edge.tolist()]
            for edge in self.edges
        ]
        levels = [None if level is None else list(level) for level in self.levels]
        return {
            "names": list(self.names),
            "edges": edges,
            "levels": levels,
            "missing_bin": self.missing_bin,
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Bins:
        """The bins that :meth:`to_dict` wrote down.

        Returns
        -------
        Bins

        Examples
        --------
        >>> bins = Bins(["a"], [[0.0, 0.1, 1.0]])
        >>> Bins.from_dict(bins.to_dict()) == bins
        True
        """
        try:
            parts = (kept["names"], kept["edges"], kept["levels"], kept["missing_bin"])
        except (KeyError, TypeError) as error:
            raise SubscapeError(f"these are no bins written by to_dict: {error!r}") from None
        return cls(*parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names, self.edges, self.levels, self.missing_bin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bins):
            return NotImplemented
        return (
            self.names == other.names
            and self.levels == other.levels
            and self.missing_bin == other.missing_bin
            and self.same_edges(other)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.levels, self.missing_bin, self.total))

    def same_edges(self, other: Bins) -> bool:
        """Whether the numeric attributes are cut alike.

        Returns
        -------
        bool
        """
        pairs = zip(self.edges, other.edges, strict=True)
        return len(self.edges) == len(other.edges) and all(
            (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))
            for a, b in pairs
        )

    def __repr__(self) -> str:
        attributes = count(self.n_attributes, "attribute")
        return f"Bins({attributes}, {count(self.total, 'bin')})"


def refuse_attributes(ours: tuple[str, ...], theirs: tuple[str, ...], one: str, other: str) -> None:
    """Say in which attributes two sides differ."""
    only_one = [name for name in ours if name not in theirs]
    only_other = [name for name in theirs if name not in ours]
    if only_one or only_other:
        parts = [
            f"only {side} has {listing(names, 3)}"
            for side, names in ((one, only_one), (other, only_other))
            if names
        ]
        why = "; ".join(parts)
    else:
        why = "their order differs"
    raise ShapeMismatchError(
        f"{one} and {other} have different attributes ({len(ours)} and {len(theirs)}): {why}; "
        "use tables with the same columns in the same order"
    )


def united_levels(ours: Levels, theirs: Levels) -> Levels:
    """Levels of both sides: ours as they are, then those that are new."""
    known = set(ours)
    return (*ours, *(level for level in theirs if level not in known))


def _checked_sides(
    name: str, edge: Any, level: Iterable[Any] | None
) -> tuple[FloatArray | None, Levels | None]:
    if (edge is None) == (level is None):
        raise SubscapeError(f"attribute {name!r} needs either edges (numeric) or levels (nominal)")
    if level is not None:
        levels = tuple(str(each) for each in level)
        if len(set(levels)) < len(levels):
            raise SubscapeError(f"attribute {name!r} has the same level twice")
        return None, levels
    try:
        edges = np.array(edge, dtype=np.float64)
    except (TypeError, ValueError):
        raise SubscapeError(f"the edges of attribute {name!r} are no numbers") from None
    if edges.ndim != 1 or len(edges) < 2 or np.isnan(edges).any() or (np.diff(edges) < 0).any():
        raise SubscapeError(
            f"attribute {name!r} needs at least 2 edges in ascending order, got {edge!r}"
        )
    edges.flags.writeable = False
    return edges, None


def _stacked(found: Sequence[Attributes]) -> Attributes:
    """The rows of several tables below each other."""
    first = found[0]
    united = Bins(
        first.names,
        tuple(np.zeros(2) if level is None else None for level in first.levels),
        first.levels,
    )
    for each in found[1:]:
        united, _ = united.place(each)
    values = [in_memory(united.place(each)[1]) for each in found]
    return Attributes(np.vstack(values), first.names, united.levels)


def bins_of(
    found: Attributes, bins: Any, binning: str, labels: ArrayLike | None, missing: str
) -> Bins:
    """The bins of a table that was read; see :meth:`Bins.of`."""
    if isinstance(bins, Bins):
        return bins
    edges = edges_of(found, bins, binning, labels, missing)
    return Bins(found.names, edges, found.levels, missing == "bin")
