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
from scipy import sparse

from subscape.arrays.contingency import count_pairs
from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import (
    EmptyClusteringError,
    ShapeMismatchError,
    SubscapeError,
    UnsupportedKindError,
    listing,
)
from subscape.core.oriented import OrientedSubspaces, squared_cosines, trace_overlaps
from subscape.core.types import FloatArray, IndexArray


class Overlap(NamedTuple):
    """Sizes, intersections and union of two clusterings, in cells (or in unit masses).

    See Also
    --------
    overlap_of : Makes it.
    """

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


class PreparedClustering:
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

    Returns
    -------
    Overlap

    See Also
    --------
    clustering_error : A distance made of it.
    intersection_table : The shared masses alone.

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
    return overlap_of_sides(
        PreparedClustering(a, mass, *weights), PreparedClustering(b, mass, *weights), overlap
    )


def overlap_of_sides(
    a: PreparedClustering, b: PreparedClustering, overlap: str | None = None
) -> Overlap:
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


def _oriented(a: PreparedClustering, b: PreparedClustering, overlap: str | None) -> Overlap:
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


def _shared_directions(a: PreparedClustering, b: PreparedClustering, overlap: str) -> FloatArray:
    """What two subspaces share, for every pair of clusters."""
    if "weighted" in (a.kind, b.kind) or (overlap == "trace" and a.mass == "unit"):
        return operator_overlap(a, b)
    left, right = _as_oriented(a), _as_oriented(b)
    if overlap == "trace":
        return trace_overlaps(left, right)
    # Two unit-mass operators share no more than the one spread over more dimensions has.
    return squared_cosines(left, right) * np.minimum(a.scale[:, None], b.scale[None, :])


def _as_oriented(side: PreparedClustering) -> OrientedSubspaces:
    subspaces = side.clustering.as_oriented().subspaces
    if not isinstance(subspaces, OrientedSubspaces):
        raise UnsupportedKindError(f"a {side.kind} clustering has no bases")
    return subspaces


def shared_rows(a: PreparedClustering, b: PreparedClustering) -> FloatArray:
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


def _shared_cells(a: PreparedClustering, b: PreparedClustering) -> FloatArray:
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


def _from_intersection(
    a: PreparedClustering, b: PreparedClustering, table: FloatArray, intersection: float
) -> Overlap:
    union = float(a.sizes.sum() + b.sizes.sum() - intersection)
    return Overlap(a.sizes, b.sizes, table, intersection, union)


def _from_distance(
    a: PreparedClustering, b: PreparedClustering, table: FloatArray, distance: float
) -> Overlap:
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


# -- T_ij of soft clusterings: Σ_r Σ_f min(a_r w_f, b_r v_f), by sorting ratios --------------------


def soft_overlaps(
    a: SubspaceClustering,
    cells_a: FloatArray,
    b: SubspaceClustering,
    cells_b: FloatArray,
    row_weights: FloatArray | None = None,
) -> FloatArray:
    """Sum of cell minima for every pair of clusters, O((n + p) log p) per pair.

    ``cells_a`` and ``cells_b`` are the (n_clusters, n_features) masses of the features.
    """
    table = np.zeros((a.n_clusters, b.n_clusters))
    dense = np.zeros(a.n_rows)
    for i in range(a.n_clusters):
        dense[a.members.rows(i)] = a.members.weights(i)
        for j in range(b.n_clusters):
            rows = b.members.rows(j)
            mine, theirs = dense[rows], b.members.weights(j).astype(np.float64)
            both = mine > 0
            counts = None if row_weights is None else row_weights[rows[both]]
            table[i, j] = minima(mine[both], cells_a[i], theirs[both], cells_b[j], counts)
        dense[a.members.rows(i)] = 0.0
    return table


def minima(
    a: FloatArray, w: FloatArray, b: FloatArray, v: FloatArray, counts: FloatArray | None = None
) -> float:
    """Σ_r Σ_f counts_r · min(a_r w_f, b_r v_f) for positive a, b.

    The first term is the smaller one just where w_f / v_f ≤ b_r / a_r: with the features sorted by
    that ratio, every row needs one binary search and two prefix sums.

    >>> import numpy as np
    >>> minima(np.array([1.0]), np.array([0.5, 0.5]), np.array([0.5]), np.array([0.2, 0.8]))
    0.5
    """
    shared = (w > 0) & (v > 0)
    w, v = w[shared], v[shared]
    ratio = w / v
    order = np.argsort(ratio, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(w[order])])
    above = np.concatenate([np.cumsum(v[order][::-1])[::-1], [0.0]])
    place = np.searchsorted(ratio[order], b / a, side="right")
    shares = a * below[place] + b * above[place]
    return float(shares.sum() if counts is None else shares @ counts)


# -- D = Σ_r ‖P_r − Q_r‖_*: how far apart the summed operators of the rows are ---------------------


#: Cells worked on at a time; 4 million doubles are 32 MB.
BLOCK_CELLS = 2**22

#: Widest table for which projectors and weights may be mixed, since that needs (p, p) arrays.
WIDEST_MIXED = 3000


class Signatures(NamedTuple):
    """Distinct rows of stacked memberships: (n_signatures, n_clusters) and their weights."""

    members: sparse.csr_array
    weights: FloatArray


def nuclear_distance(a: PreparedClustering, b: PreparedClustering) -> float:
    """Σ_r weight_r · ‖P_r − Q_r‖_* of two prepared sides."""
    signatures = signatures_of([a.clustering, b.clustering], a.row_weights)
    if "oriented" in (a.kind, b.kind):
        return _oriented_distance(a, b, signatures)
    operators = np.concatenate([a.cells, -b.cells])
    # Features that look alike to every cluster have the same share: keep one and its number.
    columns, repeats = np.unique(operators, axis=1, return_counts=True)
    step = max(1, BLOCK_CELLS // columns.shape[1])
    total = 0.0
    for start in range(0, signatures.members.shape[0], step):
        stop = start + step
        sums = signatures.members[start:stop].astype(np.float64) @ columns
        np.abs(sums, out=sums)
        total += float(signatures.weights[start:stop] @ (sums @ repeats))
    return total


def signatures_of(
    clusterings: list[SubspaceClustering], row_weights: FloatArray | None = None
) -> Signatures:
    """Group the rows by the clusters they are in, on all sides."""
    hard = all(c.is_hard for c in clusterings)
    # Hard memberships need no values: a byte each keeps a million rows small.
    dtype = np.int8 if hard else np.float64
    by_row = sparse.vstack([c.members.to_scipy(dtype) for c in clusterings], format="csr")
    by_row = by_row.T.tocsr()
    by_row.sort_indices()
    weights = np.ones(by_row.shape[0]) if row_weights is None else row_weights
    if not hard:
        return Signatures(by_row, weights)
    first, group = _distinct_rows(by_row)
    summed = np.bincount(group, weights, len(first)).astype(np.float64)
    return Signatures(by_row[first], summed)


def _distinct_rows(by_row: sparse.csr_array) -> tuple[IndexArray, IndexArray]:
    """Representatives of equal rows of a 0/1 matrix, and the group of every row."""
    n_rows, n_clusters = by_row.shape
    keys = np.random.default_rng(0).integers(0, 2**63, n_clusters, dtype=np.uint64)
    running = keys[by_row.indices]
    np.cumsum(running, out=running)
    ends = np.zeros(n_rows + 1, np.uint64)
    filled = by_row.indptr > 0
    ends[filled] = running[by_row.indptr[filled] - 1]
    del running
    _, first, group = np.unique(np.diff(ends), return_index=True, return_inverse=True)
    if len(first) == n_rows or _same_clusters(by_row, first[group]):
        return first, group
    return np.arange(n_rows), np.arange(n_rows)


def _same_clusters(by_row: sparse.csr_array, other: IndexArray) -> bool:
    """Whether every row has just the clusters of the row ``other`` names: hashes may collide."""
    starts, lengths = by_row.indptr[:-1], np.diff(by_row.indptr)
    if (lengths != lengths[other]).any():
        return False
    for begin in range(0, len(other), 2**17):
        block = slice(begin, begin + 2**17)
        entries = slice(by_row.indptr[begin], by_row.indptr[min(begin + 2**17, len(other))])
        shift = np.repeat(starts[other[block]] - starts[block], lengths[block])
        at = np.arange(entries.start, entries.stop) + shift
        if (by_row.indices[entries] != by_row.indices[at]).any():
            return False
    return True


# -- operators that are not all diagonal ----------------------------------------------------------


def _oriented_distance(
    a: PreparedClustering, b: PreparedClustering, signatures: Signatures
) -> float:
    parts = [_Operator.of(side, k) for side in (a, b) for k in range(side.clustering.n_clusters)]
    signs = np.repeat([1.0, -1.0], [a.clustering.n_clusters, b.clustering.n_clusters])
    members = signatures.members
    total = 0.0
    for row, weight in enumerate(signatures.weights):
        entries = slice(members.indptr[row], members.indptr[row + 1])
        chosen = members.indices[entries]
        factors = members.data[entries] * signs[chosen]
        total += float(weight) * nuclear_norm([parts[k] for k in chosen], factors)
    return total


def soft_pair_overlaps(a: PreparedClustering, b: PreparedClustering) -> FloatArray:
    """T_ij = Σ_r (m tr M_i + m' tr M_j − ‖m M_i − m' M_j‖_*) / 2 over the rows of both clusters."""
    left = a.clustering.members.to_scipy(np.float64)
    right = b.clustering.members.to_scipy(np.float64)
    table = np.zeros((left.shape[0], right.shape[0]))
    for i in range(left.shape[0]):
        mine = left[[i]].toarray().ravel()
        for j in range(right.shape[0]):
            theirs = right[[j]].toarray().ravel()
            both = np.flatnonzero((mine > 0) & (theirs > 0))
            pairs, inverse = np.unique(
                np.column_stack([mine[both], theirs[both]]), axis=0, return_inverse=True
            )
            row_weights = None if a.row_weights is None else a.row_weights[both]
            counts = np.bincount(inverse.ravel(), row_weights, len(pairs))
            one, other = _Operator.of(a, i), _Operator.of(b, j)
            for (x, y), number in zip(pairs, counts, strict=True):
                norm = nuclear_norm([one, other], np.array([x, -y]))
                table[i, j] += number * (x * one.trace + y * other.trace - norm) / 2
    return table


def operator_overlap(a: PreparedClustering, b: PreparedClustering) -> FloatArray:
    """(tr M_i + tr M_j − ‖M_i − M_j‖_*) / 2 for every pair of operators of two sides."""
    left = [_Operator.of(a, i) for i in range(a.clustering.n_clusters)]
    right = [_Operator.of(b, j) for j in range(b.clustering.n_clusters)]
    signs = np.array([1.0, -1.0])
    shared = [
        [(one.trace + other.trace - nuclear_norm([one, other], signs)) / 2 for other in right]
        for one in left
    ]
    return np.array(shared)


class _Operator(NamedTuple):
    """scale·(diag(diagonal) + identity·1 + sign·basis basisᵀ), without making it."""

    diagonal: FloatArray | None
    basis: FloatArray
    identity: float
    sign: float
    trace: float

    @classmethod
    def of(cls, side: PreparedClustering, k: int) -> _Operator:
        subspaces = side.clustering.subspaces
        if not isinstance(subspaces, OrientedSubspaces):
            empty = np.zeros((subspaces.n_features, 0))
            return cls(side.cells[k], empty, 0.0, 0.0, float(side.cells[k].sum()))
        scale = float(side.scale[k])
        trace = scale * float(subspaces.mass[k])
        if subspaces.is_complement:
            return cls(None, subspaces.bases[k], scale, -scale, trace)
        return cls(None, subspaces.bases[k], 0.0, scale, trace)


def nuclear_norm(operators: list[_Operator], factors: FloatArray) -> float:
    """‖Σ factor·operator‖_*; low-rank parts stay low-rank unless a diagonal is among them."""
    if not operators:
        return 0.0
    n_features = len(operators[0].basis)
    identity = float(sum(f * o.identity for f, o in zip(factors, operators, strict=True)))
    basis = np.concatenate([o.basis for o in operators], axis=1)
    signs = np.concatenate(
        [np.full(o.basis.shape[1], f * o.sign) for f, o in zip(factors, operators, strict=True)]
    )
    diagonals: list[Any] = [
        f * o.diagonal for f, o in zip(factors, operators, strict=True) if o.diagonal is not None
    ]
    if diagonals and not basis.shape[1]:
        return float(np.abs(np.sum(diagonals, axis=0) + identity).sum())
    if diagonals:
        if n_features > WIDEST_MIXED:
            raise SubscapeError(
                f"comparing oriented with axis-aligned or weighted overlapping clusters needs "
                f"({n_features}, {n_features}) arrays; restrict the features to at most "
                f"{WIDEST_MIXED}, or compare as_oriented() clusterings"
            )
        dense = (basis * signs) @ basis.T
        dense[np.diag_indices(n_features)] += np.sum(diagonals, axis=0) + identity
        return float(np.abs(np.linalg.eigvalsh(dense)).sum())
    if not basis.shape[1]:
        return abs(identity) * n_features
    triangle = np.asarray(np.linalg.qr(basis, mode="r"))
    small = (triangle * signs) @ triangle.T
    values = np.linalg.eigvalsh((small + small.T) / 2)
    return float(np.abs(values + identity).sum() + abs(identity) * (n_features - len(values)))
