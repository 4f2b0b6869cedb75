"""One pass of a weighted k-means over a table on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.arrays.weighted_kmeans import WeightedPass
from subscape.core.types import FloatArray

from .array_api import from_numpy, shared_namespace, to_numpy
from .blocks import DeviceBlocks, fold_on_device
from .sums import one_hot, row_product

__all__ = ["nearest_weighted_on_device"]


def nearest_weighted_on_device(
    X: DeviceBlocks, centres: FloatArray, weights: FloatArray, offsets: FloatArray
) -> WeightedPass:
    """:func:`subscape.arrays.weighted_kmeans.nearest_weighted` where the table lies.

    Distances come from products with the values and with their squares, so the rows should be
    centred. ``labels`` and ``costs`` stay on the device, the sums are NumPy arrays.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np
    >>> from subscape.arrays.blocks import as_blocks
    >>> from subscape.arrays.device.weighted_kmeans import nearest_weighted_on_device
    >>> X = as_blocks(xp.asarray([[0.0, 9.0], [1.0, 4.0], [7.0, 5.0]]))
    >>> centres, weights = np.array([[0.0, 5.0], [7.0, 7.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> found = nearest_weighted_on_device(X, centres, weights, np.zeros(2))
    >>> found.labels, found.sums.tolist()
    (Array([0, 0, 1], dtype=array_api_strict.int32), [[1.0, 3.0], [0.0, -2.0]])
    """
    xp = shared_namespace(X=X.values)
    k, p = centres.shape
    constants = np.einsum("kj,kj->k", weights, np.square(centres))
    like = X.sample
    by_square = from_numpy(weights.T, like, like.dtype)
    by_value = from_numpy(-2.0 * (weights * centres).T, like, like.dtype)
    added = from_numpy(constants + offsets, like, like.dtype)
    own_offset = from_numpy(offsets, like, like.dtype)
    labels: list[Any] = []
    costs: list[Any] = []

    def sums(block: Any, rows: slice) -> tuple[Any, Any, Any]:
        if rows.start == 0:  # once more after a block that was too large
            labels.clear()
            costs.clear()
        squared = block * block
        scores = xp.matmul(squared, by_square) + xp.matmul(block, by_value) + added
        nearest = xp.argmin(scores, axis=1)
        costs.append(xp.min(scores, axis=1) - xp.take(own_offset, nearest, axis=0))
        labels.append(xp.astype(nearest, xp.int32))
        members = one_hot(nearest, k)
        shares = xp.astype(members, block.dtype)
        return (
            xp.count_nonzero(members, axis=0),
            row_product(shares, block),
            row_product(shares, squared),
        )

    what = "a pass over weighted distances"
    counts, first, second = map(to_numpy, fold_on_device(sums, X, 3 * p + 5 * k, what))
    many = counts[:, None]
    return WeightedPass(
        xp.concat(labels),
        xp.clip(xp.concat(costs), 0.0),
        counts.astype(np.intp),
        first - many * centres,
        np.maximum(second - 2 * centres * first + many * np.square(centres), 0.0),
    )
