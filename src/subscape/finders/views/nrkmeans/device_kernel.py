"""One step of Nr-Kmeans over arrays of other libraries: nearest centres and sums in one go.

The rows stay on their device; only the sums, a few numbers per cluster, come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from subscape.arrays.device.array_api import (
    device_of,
    from_numpy,
    in_smaller_blocks,
    shared_namespace,
    slices,
    to_numpy,
)
from subscape.arrays.device.sums import RUN, one_hot, row_product
from subscape.core.types import FloatArray, IntArray

from .fused_kernel import packed_halves

__all__ = ["DeviceTable", "ViewStep", "group_sums", "no_labels", "product_step", "view_step"]


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


class DeviceTable:
    """A table that stays on its device while the views are looked for.

    Parameters
    ----------
    values : (n, p) foreign array
        Centred, most values about 1.
    sizes : sequence of int
        Clusters of each view.
    """

    def __init__(self, values: Any, sizes: Sequence[int]) -> None:
        self.values = values
        self.packed = packed_halves(values, sizes)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def coordinates(self, basis: FloatArray) -> FloatArray:
        """Where the rows lie in a view, as a NumPy array."""
        xp = shared_namespace(X=self.values)
        inside = xp.matmul(self.values, from_numpy(basis, self.values, self.values.dtype))
        return to_numpy(inside).astype(np.float64)


def no_labels(X: Any, sizes: Sequence[int]) -> Any:
    """Labels before the first step: −1 everywhere, in the smallest type that will do."""
    xp = shared_namespace(X=X)
    dtype = xp.int8 if max(sizes) <= MOST_IN_BYTE else xp.int32
    return xp.full((len(sizes), X.shape[0]), -1, dtype=dtype, device=device_of(X))


def view_step(
    table: DeviceTable, weights: FloatArray, offsets: FloatArray, sizes: Sequence[int], old: Any
) -> ViewStep:
    """Assign every row in every view and sum the rows of each cluster.

    Parameters
    ----------
    table : DeviceTable
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
    >>> from subscape.finders.views.nrkmeans.device_kernel import DeviceTable, no_labels, view_step
    >>> X = xp.asarray([[1.0], [2.0], [5.0]])
    >>> weights, offsets = np.array([[-2.0, -10.0]]), np.array([1.0, 25.0])
    >>> step = view_step(DeviceTable(X, [2]), weights, offsets, [2], no_labels(X, [2]))
    >>> step.sums.ravel(), step.counts, step.n_changed
    (array([3., 5.]), array([2, 1]), 3)
    """
    if table.packed is not None:
        return ViewStep(*table.packed.step(weights, offsets, old))
    return product_step(table.values, weights, offsets, sizes, old)


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


def group_sums(X: Any, labels: Any, size: int) -> tuple[FloatArray, IntArray]:
    """Sums and counts of the rows with each label; −1 is left out.

    >>> import array_api_strict as xp
    >>> from subscape.finders.views.nrkmeans.device_kernel import group_sums
    >>> group_sums(xp.asarray([[1.0], [2.0], [5.0]]), xp.asarray([0, 0, -1]), 1)
    (array([[3.]]), array([2]))
    """
    xp = shared_namespace(X=X, labels=labels)

    def work(rows: int) -> tuple[FloatArray, IntArray]:
        totals = _Totals(xp, X, size)
        for part in slices(X.shape[0], rows):
            totals.add(X[part, :], one_hot(labels[part], size))
        return totals.result()

    return in_smaller_blocks(work, MOST_ROWS, RUN, "the sum over clusters")


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
