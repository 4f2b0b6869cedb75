"""The passes of Nr-Kmeans over arrays of other libraries: nearest centres and sums in one go.

The rows stay on their device; only the sums, a few numbers per cluster, come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from subscape.arrays.blocks import as_blocks
from subscape.arrays.device.array_api import (
    device_of,
    from_numpy,
    in_smaller_blocks,
    shared_namespace,
    slices,
    to_numpy,
)
from subscape.arrays.device.blocks import DeviceBlocks
from subscape.arrays.device.sums import RUN, one_hot, row_product
from subscape.core.types import FloatArray, IndexArray, IntArray

from .fused_kernel import PackedTable, packed_halves
from .rotation import GramRotation, Rotation
from .rows import Inside, Labels, Rows, RowsStep, Sizes, transfer

__all__ = ["DeviceRows", "ViewStep", "no_labels", "product_step", "view_step"]

#: Rows whose scores exist at the same time.
MOST_ROWS = 2**21
#: Labels of more clusters than this don't fit into a byte.
MOST_IN_BYTE = 127


class ViewStep(NamedTuple):
    """Where the rows went, and what they add up to."""

    labels: Any
    """(S, n) cluster of each row in each view, on the device."""
    sums: FloatArray
    """(K, p) sum of the rows of each cluster, the clusters of all views under each other."""
    counts: IntArray
    """(K,) rows of each cluster."""
    n_changed: int
    """Labels that differ from the old ones."""


class DeviceRows(Rows):
    """A table that stays on its device while the views are looked for; see ``rows.Rows``.

    What the rotation needs of the rows are the centres, so only these come back in every step.

    Parameters
    ----------
    values : (n, p) foreign array
        Centred, most values about 1.
    """

    rotation = GramRotation

    def __init__(self, values: Any) -> None:
        self.values, self.dtype = values, values.dtype
        self.shape = (int(values.shape[0]), int(values.shape[1]))
        self._packed: tuple[Sequence[int], PackedTable | None] = (), None

    @classmethod
    def scaled(cls, X: DeviceBlocks, unit: float) -> DeviceRows:
        """The rows of a centred table, divided by ``unit``."""
        n, p = X.shape
        values = X.scaled(np.full(p, 1.0 / unit)).held
        if values is None:
            raise MemoryError(
                f"NrKMeans works on a centred copy of the table, and {n} x {p} more values don't "
                "fit into the device's memory; free other arrays there, or pass a NumPy array"
            )
        rows = cls(values)
        rows.square = X.square / unit**2
        return rows

    def packed(self, sizes: Sequence[int]) -> PackedTable | None:
        """The rows as the fused kernel takes them, for views of so many clusters."""
        if self._packed[0] != tuple(sizes):
            self._packed = (), None
            self._packed = tuple(sizes), packed_halves(self.values, sizes)
        return self._packed[1]

    def take(self, rows: IndexArray) -> FloatArray:
        """Some rows in memory."""
        xp = shared_namespace(X=self.values)
        chosen = xp.take(self.values, from_numpy(rows, self.values), axis=0)
        return to_numpy(chosen).astype(np.float64)

    @cached_property
    def square(self) -> float:
        return float(as_blocks(self.values).column_squares().sum())

    def no_labels(self, sizes: Sizes) -> Any:
        return no_labels(self.values, sizes)

    def assign(self, views: Rotation, sizes: Sizes, old: Any) -> RowsStep:
        labels, sums, counts, n_changed = view_step(self, *views.scoring(), sizes, old)
        parts = [slice(*ends) for ends in pairwise(np.cumsum([0, *sizes]).tolist())]
        return RowsStep(labels, [sums[p] for p in parts], [counts[p] for p in parts], n_changed)

    def along(self, basis: FloatArray) -> Inside:
        xp = shared_namespace(X=self.values)
        inside = xp.matmul(self.values, from_numpy(basis, self.values, self.values.dtype))
        return [(slice(0, self.shape[0]), to_numpy(inside).astype(np.float64))]

    def of_view(self, labels: Any, view: int) -> IndexArray:
        return to_numpy(labels[view, :]).astype(np.intp)

    def move(self, step: RowsStep, view: int, row: int, cluster: int) -> RowsStep:
        xp = shared_namespace(X=self.values)
        values = to_numpy(self.values[row, :]).astype(np.float64)
        transfer(step, view, int(step.labels[view, row]), cluster, values)
        # The fused kernel writes to the memory of labels again.
        labels = step.labels + xp.zeros((), dtype=step.labels.dtype, device=device_of(self.values))
        labels[view, row] = cluster
        return step._replace(labels=labels)

    def in_memory(self, labels: Any) -> Labels:
        return to_numpy(labels).T.astype(np.int32, order="C")


def no_labels(X: Any, sizes: Sequence[int]) -> Any:
    """Labels before the first step: −1 everywhere, in the smallest type that will do."""
    xp = shared_namespace(X=X)
    dtype = xp.int8 if max(sizes) <= MOST_IN_BYTE else xp.int32
    return xp.full((len(sizes), X.shape[0]), -1, dtype=dtype, device=device_of(X))


def view_step(
    rows: DeviceRows, weights: FloatArray, offsets: FloatArray, sizes: Sequence[int], old: Any
) -> ViewStep:
    """Assign every row in every view and sum the rows of each cluster.

    Parameters
    ----------
    rows : DeviceRows
    weights : (p, K) NumPy array
        A row times these, plus the offsets, are its scores; the least in each view wins, ties go
        to the first.
    offsets : (K,) NumPy array
    sizes : sequence of int
        Clusters of each view; they sum to K.
    old : (S, n) foreign array
        Labels of the step before, see :func:`no_labels`.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.finders.views.nrkmeans.device_rows import DeviceRows, no_labels, view_step
    >>> X = xp.asarray([[1.0], [2.0], [5.0]])
    >>> weights, offsets = np.array([[-2.0, -10.0]]), np.array([1.0, 25.0])
    >>> step = view_step(DeviceRows(X), weights, offsets, [2], no_labels(X, [2]))
    >>> step.sums.ravel(), step.counts, step.n_changed
    (array([3., 5.]), array([2, 1]), 3)
    """
    packed = rows.packed(sizes)
    if packed is not None:
        return ViewStep(*packed.step(weights, offsets, old))
    return product_step(rows.values, weights, offsets, sizes, old)


def product_step(
    X: Any, weights: FloatArray, offsets: FloatArray, sizes: Sequence[int], old: Any
) -> ViewStep:
    """:func:`view_step` by matrix products, on any device and in any precision."""
    xp = shared_namespace(X=X, old=old)
    there = from_numpy(weights, X, X.dtype), from_numpy(offsets, X, X.dtype)
    ends = np.cumsum([0, *sizes]).tolist()

    def work(rows: int) -> ViewStep:
        labels = xp.empty(old.shape, dtype=old.dtype, device=device_of(X))
        totals = _Totals(xp, X, ends[-1])
        changed = xp.zeros((), dtype=xp.int64, device=device_of(X))
        for part in slices(X.shape[0], rows):
            block = X[part, :]
            scores = xp.matmul(block, there[0]) + there[1]
            found = [xp.argmin(scores[:, start:end], axis=1) for start, end in pairwise(ends)]
            new = xp.astype(xp.stack(found), old.dtype)
            changed = changed + xp.count_nonzero(new != old[:, part])
            labels[:, part] = new
            members = [one_hot(each, size) for each, size in zip(found, sizes, strict=True)]
            totals.add(block, xp.concat(members, axis=1))
        return ViewStep(labels, *totals.result(), int(changed))

    return in_smaller_blocks(work, MOST_ROWS, RUN, "one step over the views")


class _Totals:
    """Sums of rows by cluster, run by run."""

    def __init__(self, xp: Any, X: Any, size: int) -> None:
        self.xp = xp
        self.sums = xp.zeros((size, X.shape[1]), dtype=xp.float64, device=device_of(X))
        self.counts = xp.zeros((size,), dtype=xp.int64, device=device_of(X))

    def add(self, block: Any, members: Any) -> None:
        xp = self.xp
        self.counts = self.counts + xp.count_nonzero(members, axis=0)
        self.sums = self.sums + row_product(xp.astype(members, block.dtype), block)

    def result(self) -> tuple[FloatArray, IntArray]:
        return to_numpy(self.sums), to_numpy(self.counts)
