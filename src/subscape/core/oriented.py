"""Arbitrarily oriented subspaces: one orthonormal basis per cluster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.types import FloatArray, IndexArray, IntArray

from .errors import NotOrthonormalError, SubscapeError
from .memberships import frozen
from .subspaces import Kept, Subspaces

#: How far from orthonormal a given basis may be before it is refused.
ORTHONORMAL_TOLERANCE = 1e-6


class OrientedSubspaces(Subspaces):
    """Each cluster has an arbitrarily oriented subspace, given by an orthonormal basis.

    Parameters
    ----------
    bases : sequence of float arrays of shape (n_features, d_k)
        One orthonormal basis per cluster; ``d_k`` may differ and may be 0.
    complement : bool, default=False
        If true, the bases span what is *left out*: a line in 20,000 dimensions is then a single
        vector, and no (p, p) array is ever made.
    orthonormalize : bool, default=False
        Mend bases that are not orthonormal; directions that depend on others are dropped.
    n_features : int, optional
        Needed only where there are no clusters.

    See Also
    --------
    AxisSubspaces : Features that count or don't.
    WeightedSubspaces : Features with weights.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape import OrientedSubspaces
    >>> diagonal = np.array([[1.0], [1.0], [0.0]]) / np.sqrt(2)
    >>> OrientedSubspaces([diagonal]).relevance.round(3)
    array([[0.5, 0.5, 0. ]])
    >>> OrientedSubspaces([diagonal], complement=True).dims
    array([2.])
    """

    kind = "oriented"
    __slots__ = ("is_complement", "offsets", "stack")

    stack: FloatArray
    offsets: IntArray
    is_complement: bool

    def __init__(
        self,
        bases: Sequence[ArrayLike] | NDArray[Any],
        complement: bool = False,
        orthonormalize: bool = False,
        *,
        n_features: int | None = None,
    ) -> None:
        arrays = [_basis(basis, k) for k, basis in enumerate(bases)]
        heights = {array.shape[0] for array in arrays}
        if n_features is not None:
            heights.add(int(n_features))
        if not heights:
            raise SubscapeError("no bases given: pass n_features to say how wide the table is")
        if len(heights) > 1:
            raise SubscapeError(f"bases span different numbers of features: {sorted(heights)}")
        if orthonormalize:
            arrays = [orthonormal(array) for array in arrays]
        p = heights.pop()
        widths = [array.shape[1] for array in arrays]
        stack = np.concatenate([np.zeros((p, 0)), *arrays], axis=1)
        put = object.__setattr__
        put(self, "offsets", frozen(np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])))
        put(self, "stack", frozen(stack))
        put(self, "is_complement", bool(complement))
        for k, basis in enumerate(self.bases):
            _check_orthonormal(basis, k)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies, because a pickled view would carry the whole stack along.
        bases = [np.array(basis) for basis in self.bases]
        return _rebuild_oriented, (bases, self.is_complement, self.n_features)

    @property
    def bases(self) -> list[FloatArray]:
        """One (p, d_k) orthonormal array per cluster, spanning the subspace or its complement."""
        return [self.stack[:, a:b] for a, b in pairwise(self.offsets)]

    @property
    def n_clusters(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_features(self) -> int:
        return int(self.stack.shape[0])

    @property
    def widths(self) -> IntArray:
        """Number of stored directions per cluster."""
        return np.diff(self.offsets)

    @property
    def mass(self) -> FloatArray:
        stored = self.widths.astype(np.float64)
        return self.n_features - stored if self.is_complement else stored

    @property
    def dims(self) -> FloatArray:
        return self.mass

    @property
    def relevance(self) -> FloatArray:
        diagonals = np.array([np.einsum("ij,ij->i", b, b) for b in self.bases])
        diagonals = np.clip(diagonals.reshape(self.n_clusters, self.n_features), 0.0, 1.0)
        return 1.0 - diagonals if self.is_complement else diagonals

    def select(self, clusters: IndexArray) -> OrientedSubspaces:
        bases = self.bases
        return OrientedSubspaces(
            [bases[k] for k in clusters], self.is_complement, n_features=self.n_features
        )

    def restrict(self, features: IndexArray) -> Kept:
        if not self.is_complement:
            bases = [orthonormal(basis[features]) for basis in self.bases]
            alive = np.array([k for k, b in enumerate(bases) if b.shape[1]], np.intp)
            return Kept(
                OrientedSubspaces([bases[k] for k in alive], n_features=len(features)), alive
            )
        # The projection of a subspace onto the kept features is orthogonal, there, to those
        # directions left out that live on the kept features alone.
        lost = np.setdiff1d(np.arange(self.n_features), features)
        bases = [orthonormal(basis[features] @ null_space(basis[lost])) for basis in self.bases]
        alive = np.array([k for k, b in enumerate(bases) if b.shape[1] < len(features)], np.intp)
        return Kept(
            OrientedSubspaces([bases[k] for k in alive], True, n_features=len(features)), alive
        )

    def embed(self, features: IndexArray, n_features: int) -> OrientedSubspaces:
        # What is new is left out, so a complement gains a direction for each new feature.
        everywhere = np.arange(n_features if self.is_complement else 0)
        extra = np.setdiff1d(everywhere, features)
        units = np.zeros((n_features, len(extra)))
        units[extra, np.arange(len(extra))] = 1.0
        bases = []
        for basis in self.bases:
            wide = np.zeros((n_features, basis.shape[1]))
            wide[features] = basis
            bases.append(np.concatenate([wide, units], axis=1))
        return OrientedSubspaces(bases, self.is_complement, n_features=n_features)

    def complement(self) -> OrientedSubspaces:
        return OrientedSubspaces(self.bases, not self.is_complement, n_features=self.n_features)

    def spanning(self) -> OrientedSubspaces:
        """The same subspaces with bases that span them rather than what is left out.

        Returns
        -------
        OrientedSubspaces
        """
        if not self.is_complement:
            return self
        bases = []
        for basis in self.bases:
            full, _ = np.linalg.qr(basis, mode="complete")
            bases.append(full[:, basis.shape[1] :])
        return OrientedSubspaces(bases, n_features=self.n_features)

    def content(self, k: int) -> bytes:
        basis = self.bases[k]
        return bytes([self.is_complement]) + np.ascontiguousarray(basis.T).tobytes()

    def operator(self, k: int) -> FloatArray:
        basis = self.bases[k]
        projector = basis @ basis.T
        return np.eye(self.n_features) - projector if self.is_complement else projector


def orthonormal(vectors: ArrayLike) -> FloatArray:
    """Orthonormal basis of the span of the columns; dependent directions are dropped."""
    array = np.asarray(vectors, dtype=np.float64)
    if array.size == 0:
        return np.zeros((array.shape[0], 0))
    left, singular, _ = np.linalg.svd(array, full_matrices=False)
    tolerance = singular.max(initial=0.0) * max(array.shape) * np.finfo(float).eps * 8
    return np.ascontiguousarray(left[:, singular > max(tolerance, 1e-12)])


def null_space(matrix: FloatArray) -> FloatArray:
    """Orthonormal basis of the vectors y with ``matrix @ y = 0``."""
    gram = matrix.T @ matrix
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, values < 1e-12])


def _rebuild_oriented(
    bases: list[FloatArray], complement: bool, n_features: int
) -> OrientedSubspaces:
    return OrientedSubspaces(bases, complement, n_features=n_features)


def _basis(given: ArrayLike, k: int) -> FloatArray:
    array = np.asarray(given, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise SubscapeError(f"the basis of cluster {k} must be a (n_features, d) array")
    if not np.isfinite(array).all():
        raise SubscapeError(f"the basis of cluster {k} contains NaN or infinite values")
    return array


def _check_orthonormal(basis: FloatArray, k: int) -> None:
    if basis.shape[1] > basis.shape[0]:
        raise NotOrthonormalError(
            f"the basis of cluster {k} has {basis.shape[1]} vectors in {basis.shape[0]} features; "
            "orthonormalize=True drops the dependent ones"
        )
    off = np.abs(basis.T @ basis - np.eye(basis.shape[1])).max(initial=0.0)
    if off > ORTHONORMAL_TOLERANCE:
        raise NotOrthonormalError(
            f"the basis of cluster {k} is not orthonormal: its Gram matrix is off by {off:.2g} "
            f"(at most {ORTHONORMAL_TOLERANCE:g}). Pass orthonormalize=True to mend it"
        )


# -- how much two oriented subspaces share, through their principal angles -------------------------


#: 1 − σ² below this is rounding: subspaces this close count as equal (an angle of 1e-7).
ROUNDING = 1e-14


def squared_cosines(a: OrientedSubspaces, b: OrientedSubspaces) -> FloatArray:
    """tr(P_i Q_j) for every pair of clusters: the thesis' Σσ², as (n_clusters_a, n_clusters_b).

    >>> import numpy as np
    >>> line = lambda t: np.array([[np.cos(t)], [np.sin(t)]])
    >>> a, b = OrientedSubspaces([line(0.0)]), OrientedSubspaces([line(np.pi / 3)])
    >>> squared_cosines(a, b).round(6)
    array([[0.25]])
    """
    product = a.stack.T @ b.stack
    shared = _block_sums(np.square(product, out=product), a.offsets, b.offsets)
    width_a, width_b = a.widths[:, None], b.widths[None, :]
    if a.is_complement and b.is_complement:
        return a.n_features - width_a - width_b + shared
    if a.is_complement:
        return width_b - shared
    if b.is_complement:
        return width_a - shared
    return shared


def trace_overlaps(a: OrientedSubspaces, b: OrientedSubspaces) -> FloatArray:
    """(tr P + tr Q − ‖P − Q‖_*) / 2 for every pair of clusters: Σ(1 − sin θ) for two subspaces.

    >>> import numpy as np
    >>> line = lambda t: np.array([[np.cos(t)], [np.sin(t)]])
    >>> a, b = OrientedSubspaces([line(0.0)]), OrientedSubspaces([line(np.pi / 6)])
    >>> trace_overlaps(a, b).round(6)
    array([[0.5]])
    """
    mixed = a.is_complement != b.is_complement
    product = a.stack.T @ b.stack
    sums = np.zeros((a.n_clusters, b.n_clusters))
    for width_a in np.unique(a.widths):
        rows = np.flatnonzero(a.widths == width_a)
        for width_b in np.unique(b.widths):
            columns = np.flatnonzero(b.widths == width_b)
            if width_a == 0 or width_b == 0:
                continue
            take_a = (a.offsets[rows][:, None] + np.arange(width_a)).ravel()
            take_b = (b.offsets[columns][:, None] + np.arange(width_b)).ravel()
            blocks = product[np.ix_(take_a, take_b)]
            blocks = blocks.reshape(len(rows), width_a, len(columns), width_b).swapaxes(1, 2)
            cosines = np.linalg.svd(blocks, compute_uv=False)
            if mixed:
                angles = cosines
            else:
                squared_sines = 1.0 - np.square(cosines)
                angles = np.sqrt(np.where(squared_sines > ROUNDING, squared_sines, 0.0))
            sums[np.ix_(rows, columns)] = angles.sum(axis=-1)
    width_a, width_b = a.widths[:, None], b.widths[None, :]
    if mixed:
        return (width_b if a.is_complement else width_a) - sums
    if a.is_complement:
        return a.n_features - np.maximum(width_a, width_b) - sums
    return np.minimum(width_a, width_b) - sums


def _block_sums(matrix: FloatArray, row_offsets: IntArray, column_offsets: IntArray) -> FloatArray:
    """Sums over the blocks that the offsets cut; blocks may be empty."""
    rows = _segment_sums(matrix, row_offsets)
    return _segment_sums(rows.T, column_offsets).T


def _segment_sums(matrix: FloatArray, offsets: IntArray) -> FloatArray:
    sums = np.zeros((len(offsets) - 1, matrix.shape[1]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(matrix, offsets[filled], axis=0)
    return sums
