"""Which rows belong to which cluster, and how much: a sparse (clusters, rows) matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from subscape.core.types import IndexArray, IntArray

from .errors import SubscapeError, count


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return ``array`` (a copy if somebody else may still write into it) as read-only."""
    if array.flags.writeable or not array.flags.owndata:
        array = np.array(array, order="K", copy=True)
        array.flags.writeable = False
    return array


class DistantCodes(ABC):
    """Cluster numbers, one per row and negative for noise, that lie on other machines."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """``(n_rows,)``."""

    @abstractmethod
    def sizes(self, n_clusters: int) -> NDArray[Any]:
        """Rows of each cluster."""

    @abstractmethod
    def renumbered(self, numbers: NDArray[Any]) -> DistantCodes:
        """The same rows with cluster ``i`` as ``numbers[i]``."""

    @abstractmethod
    def to_numpy(self) -> NDArray[Any]:
        """All of them, here."""

    @abstractmethod
    def to_dask(self, dtype: Any = None) -> Any:
        """All of them as a Dask array, where they are."""


class Memberships:
    """Rows of each cluster in compressed form; hard memberships store no values.

    Parameters
    ----------
    indptr : array of shape (n_clusters + 1,)
        Cluster ``k`` owns ``indices[indptr[k]:indptr[k + 1]]``.
    indices : array
        Row positions, ascending within a cluster.
    values : array of float32 or None
        Memberships in (0, 1]; None where all of them are 1.
    n_rows : int
        Number of rows of the table.
    """

    __slots__ = ("indices", "indptr", "n_rows", "values")

    indptr: IntArray
    indices: NDArray[np.int32]
    values: NDArray[np.float32] | None
    n_rows: int

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any] | None,
        n_rows: int,
    ) -> None:
        if n_rows >= 2**31:
            raise SubscapeError(f"{n_rows} rows are more than the 2**31 - 1 that are supported")
        if values is not None:
            values = np.minimum(np.asarray(values, dtype=np.float32), np.float32(1))
            if bool(np.all(values == 1)):
                values = None
        put = object.__setattr__
        put(self, "indptr", frozen(np.asarray(indptr, dtype=np.int64)))
        put(self, "indices", frozen(np.asarray(indices, dtype=np.int32)))
        put(
            self,
            "values",
            None if values is None else frozen(np.asarray(values, dtype=np.float32)),
        )
        put(self, "n_rows", int(n_rows))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("memberships are read-only; build a new clustering instead")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.indptr, self.indices, self.values, self.n_rows)

    # -- building -------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any) -> Memberships:
        """Read memberships from a dense or sparse (n_clusters, n_rows) matrix."""
        if isinstance(given, Memberships):
            return given
        if sparse.issparse(given):
            matrix = sparse.csr_array(given)
            if not matrix.has_canonical_format:
                matrix = matrix.copy()
                matrix.sum_duplicates()
            _check_values(matrix.data)
            keep = matrix.data != 0
            if not keep.all():
                matrix = matrix.copy()
                matrix.eliminate_zeros()
            hard = matrix.data.dtype.kind == "b"
            return cls(
                matrix.indptr, matrix.indices, None if hard else matrix.data, matrix.shape[1]
            )
        dense = np.asarray(given)
        if dense.ndim != 2:
            raise SubscapeError(
                f"memberships must be a (n_clusters, n_rows) matrix, got {dense.ndim} dimension(s);"
                " for a label vector use SubspaceClustering.from_labels"
            )
        if dense.dtype.kind not in "buif":
            raise TypeError(f"memberships must be numbers or booleans, got dtype {dense.dtype}")
        _check_values(dense)
        clusters, rows = np.nonzero(dense)
        indptr = np.searchsorted(clusters, np.arange(dense.shape[0] + 1))
        values = None if dense.dtype.kind == "b" else dense[clusters, rows]
        return cls(indptr, rows, values, dense.shape[1])

    @classmethod
    def from_codes(cls, codes: NDArray[Any], n_clusters: int) -> Memberships:
        """Read memberships from cluster numbers per row; negative numbers are noise."""
        codes = np.asarray(codes)
        if n_clusters < 2**15:
            codes = codes.astype(np.int16)  # NumPy sorts 16-bit integers by radix, in linear time
        sizes = np.bincount(codes[codes >= 0], minlength=n_clusters)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        order = np.argsort(codes, kind="stable")
        return cls(indptr, order[len(codes) - indptr[-1] :], None, len(codes))

    @classmethod
    def from_rows(cls, rows: Iterable[ArrayLike], n_rows: int) -> Memberships:
        """Read hard memberships from one collection of row positions (or a mask) per cluster."""
        sets = [row_positions(part, n_rows) for part in rows]
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in sets], dtype=np.int64)])
        indices = np.concatenate(sets) if sets else np.empty(0, np.int32)
        return cls(indptr, indices, None, n_rows)

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        return len(self.indptr) - 1

    @property
    def is_hard(self) -> bool:
        return self.values is None

    def rows(self, k: int) -> NDArray[np.int32]:
        """Row positions of cluster ``k``."""
        return self.indices[self.indptr[k] : self.indptr[k + 1]]

    def weights(self, k: int) -> NDArray[np.float32]:
        """Memberships of the rows of cluster ``k``."""
        if self.values is None:
            return np.ones(int(self.indptr[k + 1] - self.indptr[k]), np.float32)
        return self.values[self.indptr[k] : self.indptr[k + 1]]

    def sizes(self) -> NDArray[Any]:
        """Total membership per cluster: row counts when hard."""
        if self.values is None:
            return np.diff(self.indptr)
        running = np.concatenate([[0.0], np.cumsum(self.values, dtype=np.float64)])
        return running[self.indptr[1:]] - running[self.indptr[:-1]]

    def clusters_per_row(self) -> IntArray:
        """In how many clusters each row is."""
        return np.bincount(self.indices, minlength=self.n_rows)

    def clusters(self) -> NDArray[np.int32]:
        """Cluster of each stored entry, parallel to ``indices``."""
        return np.repeat(np.arange(self.n_clusters, dtype=np.int32), np.diff(self.indptr))

    def codes(self) -> NDArray[np.int32]:
        """Cluster of the largest membership per row, ties to the lowest index, -1 for noise."""
        codes = np.full(self.n_rows, -1, np.int32)
        if self.values is None:
            # Written from the last cluster to the first, so the lowest index is the one that stays.
            codes[self.indices[::-1]] = self.clusters()[::-1]
            return codes
        best = np.zeros(self.n_rows, np.float32)
        for k in range(self.n_clusters):
            rows, weights = self.rows(k), self.weights(k)
            larger = weights > best[rows]
            best[rows[larger]] = weights[larger]
            codes[rows[larger]] = k
        return codes

    def to_scipy(self, dtype: Any = None) -> sparse.csr_array:
        """Return a (n_clusters, n_rows) CSR matrix that shares the stored indices."""
        if self.values is None:
            data: NDArray[Any] = np.ones(len(self.indices), dtype=dtype or bool)
        else:
            data = self.values if dtype is None else self.values.astype(dtype)
        matrix = sparse.csr_array(
            (data, self.indices, self.indptr), shape=(self.n_clusters, self.n_rows)
        )
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    # -- changing -------------------------------------------------------------------------------

    def select(self, clusters: Sequence[int] | NDArray[Any]) -> Memberships:
        """Keep these clusters, in this order."""
        clusters = np.asarray(clusters, dtype=np.intp)
        lengths = np.diff(self.indptr)[clusters]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        parts = [np.arange(self.indptr[k], self.indptr[k + 1]) for k in clusters]
        take = np.concatenate(parts) if parts else np.empty(0, np.intp)
        values = None if self.values is None else self.values[take]
        return Memberships(indptr, self.indices[take], values, self.n_rows)

    def restrict(self, rows: IndexArray) -> Memberships:
        """Keep these rows, in this order; clusters may become empty."""
        if len(np.unique(rows)) != len(rows):
            raise SubscapeError("rows to keep must be distinct")
        target = np.full(self.n_rows, -1, np.int64)
        target[rows] = np.arange(len(rows))
        return self._renumber(target, len(rows))

    def embed(self, rows: IndexArray, n_rows: int) -> Memberships:
        """Put row ``i`` at position ``rows[i]`` of a table with ``n_rows`` rows."""
        return self._renumber(np.asarray(rows, dtype=np.int64), n_rows)

    def _renumber(self, target: IntArray, n_rows: int) -> Memberships:
        moved = target[self.indices]
        keep = moved >= 0
        clusters = self.clusters()[keep]
        moved = moved[keep]
        order = np.lexsort((moved, clusters))
        indptr = np.searchsorted(clusters, np.arange(self.n_clusters + 1))
        values = None if self.values is None else self.values[keep][order]
        return Memberships(indptr, moved[order], values, n_rows)


class DistantMemberships(Memberships):
    """Hard memberships whose cluster numbers lie on other machines, and come when asked for.

    Parameters
    ----------
    distant : DistantCodes
        Clusters ``0 .. n_clusters - 1``.
    sizes : array
        Rows of each cluster.
    """

    __slots__ = ("_brought", "distant")

    distant: DistantCodes
    _brought: NDArray[np.int32] | None

    def __init__(self, distant: DistantCodes, sizes: NDArray[Any]) -> None:
        n_rows = int(distant.shape[0])
        if n_rows >= 2**31:
            raise SubscapeError(f"{n_rows} rows are more than the 2**31 - 1 that are supported")
        put = object.__setattr__
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        put(self, "distant", distant)
        put(self, "indptr", frozen(np.asarray(indptr, dtype=np.int64)))
        put(self, "values", None)
        put(self, "n_rows", n_rows)
        put(self, "_brought", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Memberships, (self.indptr, self.indices, None, self.n_rows)

    @property
    def indices(self) -> NDArray[np.int32]:  # type: ignore[override]
        """Row positions, cluster by cluster; brought here when first asked for."""
        if self._brought is not None:
            return self._brought
        here = Memberships.from_codes(self.distant.to_numpy(), self.n_clusters).indices
        object.__setattr__(self, "_brought", here)
        return here

    def codes(self) -> NDArray[np.int32]:
        return self.distant.to_numpy().astype(np.int32, copy=False)

    def clusters_per_row(self) -> IntArray:
        if self.indptr[-1] == self.n_rows:
            return np.ones(self.n_rows, np.int64)
        return (self.codes() >= 0).astype(np.int64)

    def select(self, clusters: Sequence[int] | NDArray[Any]) -> Memberships:
        chosen = np.asarray(clusters, dtype=np.intp)
        if len(np.unique(chosen)) < len(chosen):
            return super().select(chosen)
        numbers = np.full(self.n_clusters, -1, np.int32)
        numbers[chosen] = np.arange(len(chosen))
        return DistantMemberships(self.distant.renumbered(numbers), self.sizes()[chosen])

    def embed(self, rows: IndexArray, n_rows: int) -> Memberships:
        if n_rows == self.n_rows and np.array_equal(rows, np.arange(n_rows)):
            return self
        return super().embed(rows, n_rows)


def row_positions(rows: ArrayLike, n_rows: int) -> NDArray[np.int32]:
    """Sorted distinct row positions from a collection of positions or a boolean mask."""
    array = np.asarray(rows)
    if array.dtype == bool:
        if array.shape != (n_rows,):
            raise SubscapeError(f"a row mask has {array.size} entries, the table {n_rows} rows")
        return np.flatnonzero(array).astype(np.int32)
    if array.size == 0:
        return np.empty(0, np.int32)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise TypeError("the rows of a cluster are given as integer positions or a boolean mask")
    distinct = np.unique(array)
    if distinct[0] < 0 or distinct[-1] >= n_rows:
        bad = distinct[(distinct < 0) | (distinct >= n_rows)]
        raise SubscapeError(f"row position {bad[0]} lies outside a table of {n_rows} rows")
    return distinct.astype(np.int32)


def _check_values(values: NDArray[Any]) -> None:
    if values.dtype.kind == "b" or values.size == 0:
        return
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise SubscapeError(
            f"memberships contain {count(int(np.isnan(values).sum()), 'NaN')}; "
            "a row in no cluster has membership 0"
        )
    low, high = values.min(), values.max()
    if low < 0:
        raise SubscapeError(
            f"memberships must lie in [0, 1]; {count(int((values < 0).sum()), 'entry', 'entries')}"
            f" negative, smallest {low:g}"
        )
    if high > 1 + 1e-6:
        raise SubscapeError(
            f"memberships must lie in [0, 1]; largest {high:g}. Divide by the row sums if they are"
            " weights"
        )
