"""The one table behind every comparison of two subspace clusterings.

With the rows' operators P_r = Σ_k membership·M_k (masks, weights or projectors as operators) and
D = Σ_r ‖P_r − Q_r‖_*, the two clusterings share |I| = (|S| + |S'| − D) / 2 and cover
|U| = (|S| + |S'| + D) / 2; T_ij is the same for a single pair of clusters. On masks, overlapping or
not, that is the thesis' cell count; on weights and soft memberships the sum of cell minima; on
oriented subspaces ``overlap="trace"``. ``overlap="cos2"`` is the thesis' Σσ².
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core import OrientedSubspaces, SubspaceClustering, as_clustering
from subscape.core.angles import squared_cosines, trace_overlaps
from subscape.core.errors import (
    EmptyClusteringError,
    ShapeMismatchError,
    SubscapeError,
    UnsupportedKindError,
    listing,
)
from subscape.kernels.contingency import count_pairs

from .row_operators import nuclear_distance, operator_overlap, soft_pair_overlaps
from .soft_overlap import soft_overlaps

FloatArray = NDArray[np.float64]


class Overlap(NamedTuple):
    """Sizes, intersections and union of two clusterings, in cells (or in unit masses)."""

    sizes_a: FloatArray
    sizes_b: FloatArray
    table: FloatArray
    intersection: float
    union: float

    @property
    def total_a(self) -> float:
        return float(self.sizes_a.sum())

    @property
    def total_b(self) -> float:
        return float(self.sizes_b.sum())


class Side:
    """One clustering, with what several comparisons of it share."""

    def __init__(
        self,
        clustering: SubspaceClustering,
        mass: str | None = None,
        row_weights: FloatArray | None = None,
        column_weights: FloatArray | None = None,
    ) -> None:
        self.clustering = clustering
        self.mass = mass
        self.row_weights = row_weights
        self.column_weights = column_weights

    @property
    def kind(self) -> str:
        return self.clustering.kind

    @cached_property
    def row_disjoint(self) -> bool:
        return self.clustering.is_row_disjoint

    @cached_property
    def disjoint(self) -> bool:
        return self.row_disjoint or (self.clustering.is_hard and self.clustering.is_disjoint)

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        return self.clustering.members.codes()

    @cached_property
    def scale(self) -> FloatArray:
        """What each operator is multiplied by: 1, or 1 / trace for unit masses."""
        scale = np.ones(self.clustering.n_clusters)
        if self.mass == "unit":
            mass = self.clustering.subspaces.mass
            # A subspace of no dimension has no mass under either convention.
            np.divide(1.0, mass, out=scale, where=mass > 0)
        return scale

    @cached_property
    def cells(self) -> FloatArray:
        """Diagonal operators of masks and weights, scaled, (n_clusters, n_features)."""
        cells = self.clustering.subspaces.relevance * self.scale[:, None]
        return cells if self.column_weights is None else cells * self.column_weights

    @cached_property
    def row_mass(self) -> FloatArray:
        """Summed memberships per cluster, weighted."""
        if self.row_weights is None:
            return np.asarray(self.clustering.sizes, np.float64)
        return self.clustering.members.to_scipy(np.float64) @ self.row_weights

    @cached_property
    def sizes(self) -> FloatArray:
        if self.kind == "oriented":
            return self.row_mass * self.clustering.subspaces.mass * self.scale
        return self.row_mass * self.cells.sum(axis=1)


def overlap_of(
    a: Any,
    b: Any,
    *,
    overlap: str | None = None,
    mass: str | None = None,
    row_weights: ArrayLike | None = None,
    column_weights: ArrayLike | None = None,
) -> Overlap:
    """Compare two clusterings of the same rows and features.

    Parameters
    ----------
    a, b : SubspaceClustering or label vector
    overlap : {"cos2", "trace"}, optional
        How oriented subspaces share mass. Default: "cos2" where it is defined (both sides hard and
        disjoint, oriented or axis-aligned), else "trace". Masks and weights have only one way.
    mass : {"cells", "unit"}, optional
        "unit" scales every subspace to mass 1, "cells" leaves dims (1 for weights). Needed only
        where weighted clusterings meet other kinds.
    row_weights, column_weights : array-like, optional
        Importance of each row and feature, at least 0; a cell weighs their product.

    Examples
    --------
    >>> from subscape import SubspaceClustering
    >>> a = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1])], (4, 3))
    >>> b = SubspaceClustering.from_clusters([([1, 2, 3], [1, 2])], (4, 3))
    >>> table = overlap_of(a, b)
    >>> table.intersection, table.union
    (2.0, 10.0)
    """
    a, b = matching_pair(a, b)
    mass = checked_mass(a, b, mass)
    weights = (
        checked_weights(row_weights, a.n_rows, "row"),
        checked_weights(column_weights, a.n_features, "column"),
    )
    return overlap_of_sides(Side(a, mass, *weights), Side(b, mass, *weights), overlap)


def overlap_of_sides(a: Side, b: Side, overlap: str | None = None) -> Overlap:
    """Compare two prepared sides; see :func:`overlap_of`."""
    if "oriented" in (a.kind, b.kind):
        return _oriented(a, b, overlap)
    if overlap == "cos2" and "weighted" in (a.kind, b.kind):
        raise UnsupportedKindError(
            'overlap="cos2" is defined for oriented and axis-aligned clusterings; weighted ones '
            "share the sum of cell minima (leave overlap out)"
        )
    if overlap not in (None, "cos2", "trace"):
        raise SubscapeError(f'overlap must be "cos2" or "trace", got {overlap!r}')
    if a.clustering.is_hard and b.clustering.is_hard:
        table = shared_rows(a, b) * _shared_cells(a, b)
    else:
        table = soft_overlaps(a.clustering, a.cells, b.clustering, b.cells, a.row_weights)
    if a.disjoint and b.disjoint:
        # No cell is counted twice on either side, so the clusters' shares simply add up.
        return _from_intersection(a, b, table, float(table.sum()))
    return _from_distance(a, b, table, nuclear_distance(a, b))


def _oriented(a: Side, b: Side, overlap: str | None) -> Overlap:
    if a.column_weights is not None:
        raise UnsupportedKindError(
            "column weights have no meaning for oriented subspaces, whose directions mix columns; "
            "scale the columns of the table before clustering instead"
        )
    weighted = "weighted" in (a.kind, b.kind)
    squared_defined = a.disjoint and b.disjoint and not weighted
    if overlap is None:
        overlap = "cos2" if squared_defined else "trace"
    if overlap not in ("cos2", "trace"):
        raise SubscapeError(f'overlap must be "cos2" or "trace", got {overlap!r}')
    if overlap == "cos2" and not squared_defined:
        raise UnsupportedKindError(
            'overlap="cos2" has no consistent meaning for overlapping, soft or weighted clusterings'
            ' beside oriented ones; use overlap="trace"'
        )
    if not (a.clustering.is_hard and b.clustering.is_hard):
        table = soft_pair_overlaps(a, b)
    else:
        table = shared_rows(a, b) * _shared_directions(a, b, overlap)
    if overlap == "cos2" or (a.row_disjoint and b.row_disjoint):
        return _from_intersection(a, b, table, float(table.sum()))
    return _from_distance(a, b, table, nuclear_distance(a, b))


def _shared_directions(a: Side, b: Side, overlap: str) -> FloatArray:
    """What two subspaces share, for every pair of clusters."""
    if "weighted" in (a.kind, b.kind) or (overlap == "trace" and a.mass == "unit"):
        return operator_overlap(a, b)
    left, right = _as_oriented(a), _as_oriented(b)
    if overlap == "trace":
        return trace_overlaps(left, right)
    # Two unit-mass operators share no more than the one spread over more dimensions has.
    return squared_cosines(left, right) * np.minimum(a.scale[:, None], b.scale[None, :])


def _as_oriented(side: Side) -> OrientedSubspaces:
    subspaces = side.clustering.as_oriented().subspaces
    if not isinstance(subspaces, OrientedSubspaces):
        raise UnsupportedKindError(f"a {side.kind} clustering has no bases")
    return subspaces


def shared_rows(a: Side, b: Side) -> FloatArray:
    """Weighted number of rows in both clusters, for every pair of hard clusters."""
    if a.row_disjoint and b.row_disjoint:
        if a.row_weights is None:
            counts = count_pairs(a.codes, b.codes, a.clustering.n_clusters, b.clustering.n_clusters)
            return counts.astype(np.float64)
        both = (a.codes >= 0) & (b.codes >= 0)
        width = b.clustering.n_clusters
        flat = a.codes[both].astype(np.int64) * width + b.codes[both]
        sums = np.bincount(flat, a.row_weights[both], a.clustering.n_clusters * width)
        return sums.astype(np.float64).reshape(-1, width)
    left = a.clustering.members.to_scipy(np.int32 if a.row_weights is None else np.float64)
    right = b.clustering.members.to_scipy(left.dtype)
    if a.row_weights is not None:
        left = left.multiply(a.row_weights[None, :]).tocsr()
    return (left @ right.T).toarray().astype(np.float64)


def _shared_cells(a: Side, b: Side) -> FloatArray:
    """Σ_f min(w_if, w'_jf) for every pair of clusters."""
    if a.kind == b.kind == "axis":
        weights = a.column_weights
        left = a.clustering.subspaces.relevance
        left = left if weights is None else left * weights
        shared = left @ b.clustering.subspaces.relevance.T
        return shared * np.minimum(a.scale[:, None], b.scale[None, :])
    weights = np.ones(a.clustering.n_features) if a.column_weights is None else a.column_weights
    left, right = (side.clustering.subspaces.relevance * side.scale[:, None] for side in (a, b))
    shared = np.empty((len(left), len(right)))
    for i, cells in enumerate(left):
        shared[i] = np.minimum(cells, right) @ weights
    return shared


def _from_intersection(a: Side, b: Side, table: FloatArray, intersection: float) -> Overlap:
    union = float(a.sizes.sum() + b.sizes.sum() - intersection)
    return Overlap(a.sizes, b.sizes, table, intersection, union)


def _from_distance(a: Side, b: Side, table: FloatArray, distance: float) -> Overlap:
    total = float(a.sizes.sum() + b.sizes.sum())
    return Overlap(a.sizes, b.sizes, table, (total - distance) / 2, (total + distance) / 2)


# -- checks ---------------------------------------------------------------------------------------


def matching_pair(a: Any, b: Any) -> tuple[SubspaceClustering, SubspaceClustering]:
    """Both sides as clusterings of the same rows and features, neither of them empty."""
    if not hasattr(a, "labels") and hasattr(b, "labels"):
        b = as_clustering(b)
        a = as_clustering(a, like=b)
    else:
        a = as_clustering(a)
        b = as_clustering(b, like=a)
    _same_table(a, b)
    for name, side in (("first", a), ("second", b)):
        if side.n_clusters == 0:
            raise EmptyClusteringError(
                f"the {name} clustering is empty (all {side.n_rows} rows are noise), so there is "
                "nothing to compare; leave it out, or count its distance to any other as 1"
            )
    return a, b


def _same_table(a: SubspaceClustering, b: SubspaceClustering) -> None:
    for what, size_a, size_b, names_a, names_b in (
        ("rows", a.n_rows, b.n_rows, a.row_names, b.row_names),
        ("features", a.n_features, b.n_features, a.feature_names, b.feature_names),
    ):
        if size_a != size_b:
            raise ShapeMismatchError(
                f"the clusterings are over different {what}: {size_a} and {size_b}. Compare them "
                "on what they share with restrict(rows, features), or over the union with "
                "embed(rows, features, shape=...)"
            )
        if names_a is not None and names_b is not None and names_a != names_b:
            only = sorted(set(names_a) ^ set(names_b))
            detail = f"not in both: {listing(only)}" if only else "the same names in another order"
            raise ShapeMismatchError(
                f"the clusterings name their {what} differently ({detail}). Bring one into the "
                "order of the other with restrict(rows, features)"
            )


def checked_mass(a: SubspaceClustering, b: SubspaceClustering, mass: str | None) -> str | None:
    """The mass convention, which a weighted clustering beside another kind can't do without."""
    if mass not in (None, "cells", "unit"):
        raise SubscapeError(f'mass must be "cells" or "unit", got {mass!r}')
    if mass is None and a.kind != b.kind and "weighted" in (a.kind, b.kind):
        raise UnsupportedKindError(
            f"{a.kind} and {b.kind} clusterings have different masses (dims against 1). Say "
            'mass="unit" to scale every subspace to mass 1, or mass="cells" to leave them as '
            "they are"
        )
    return mass


def checked_weights(given: ArrayLike | None, length: int, what: str) -> FloatArray | None:
    """Row or column weights as a float array, or None."""
    if given is None:
        return None
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (length,):
        raise ShapeMismatchError(f"{weights.size} {what} weights were given for {length} {what}s")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise SubscapeError(f"{what} weights must be finite, at least 0, and not all 0")
    return weights
