"""D = Σ_r ‖P_r − Q_r‖_*: how far apart the summed operators of the rows are.

Rows with the same pair of cluster sets have the same share, so the work is per distinct
*signature*, not per cell, and no (n_rows, n_features) array is ever made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.core import OrientedSubspaces, SubspaceClustering
from subscape.core.errors import SubscapeError

if TYPE_CHECKING:
    from .overlap import Side

FloatArray = NDArray[np.float64]

#: Cells worked on at a time; 4 million doubles are 32 MB.
BLOCK_CELLS = 2**22

#: Widest table for which projectors and weights may be mixed, since that needs (p, p) arrays.
WIDEST_MIXED = 3000


class Signatures(NamedTuple):
    """Distinct rows of stacked memberships: (n_signatures, n_clusters) and their weights."""

    members: sparse.csr_array
    weights: FloatArray


def nuclear_distance(a: Side, b: Side) -> float:
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


def _distinct_rows(by_row: sparse.csr_array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
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


def _same_clusters(by_row: sparse.csr_array, other: NDArray[np.intp]) -> bool:
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


def _oriented_distance(a: Side, b: Side, signatures: Signatures) -> float:
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


def soft_pair_overlaps(a: Side, b: Side) -> FloatArray:
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


def operator_overlap(a: Side, b: Side) -> FloatArray:
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
    def of(cls, side: Side, k: int) -> _Operator:
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
