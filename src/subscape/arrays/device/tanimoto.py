"""Scalar products and Tanimoto similarities of clusters, multiplied where their arrays lie.

The result lies there too, in the precision of the arrays.
"""

from __future__ import annotations

from typing import Any

from .array_api import device_of, in_smaller_blocks, shared_namespace, slices

#: Values of a foreign array that are converted at a time (1 GB in float32), and the least.
MOST_VALUES, LEAST_COLUMNS = 2**28, 64

#: Whole numbers below this are exact in float32, and so are sums of as many zeros and ones.
EXACT = 2**24


def cross_products_on_device(a: Any, b: Any) -> Any:
    """``a @ b.T`` in the precision of the arrays; counts of zeros and ones are exact."""
    xp = shared_namespace(a=a, b=b)
    real = [xp.isdtype(side.dtype, "real floating") for side in (a, b)]
    if all(real):
        return xp.matmul(a, b.T) if a.dtype == b.dtype else _product_in(xp, xp.float64, a, b)
    hard = all(xp.isdtype(side.dtype, "bool") for side in (a, b)) and a.shape[1] <= EXACT
    narrow, n = xp.float32 if hard else xp.float64, a.shape[1]

    def work(columns: int) -> Any:
        total = xp.zeros((a.shape[0], b.shape[0]), dtype=xp.float64, device=device_of(a))
        for part in slices(n, columns):
            left = a[:, part]
            total += xp.astype(
                _product_in(xp, narrow, left, left if b is a else b[:, part]), xp.float64
            )
        return total

    columns = max(LEAST_COLUMNS, MOST_VALUES // max(a.shape[0], b.shape[0], 1))
    return in_smaller_blocks(work, columns, LEAST_COLUMNS, "the product of the memberships")


def products_on_device(memberships: Any) -> Any:
    """:func:`subscape.arrays.tanimoto.products` where the array lies."""
    return cross_products_on_device(memberships, memberships)


def _product_in(xp: Any, dtype: Any, a: Any, b: Any) -> Any:
    left = xp.astype(a, dtype)
    right = left if b is a else xp.astype(b, dtype)
    return xp.matmul(left, right.T)


def tanimoto_on_device(shared: Any, norms_a: Any, norms_b: Any) -> Any:
    """:func:`subscape.arrays.tanimoto.tanimoto` where the arrays lie."""
    xp = shared_namespace(shared=shared, norms_a=norms_a, norms_b=norms_b)
    # Rows one block after another: no second array of the size of the result.
    rows = max(1, MOST_VALUES // (8 * max(shared.shape[1], 1)))
    for part in slices(shared.shape[0], rows):
        block = shared[part, :]
        joined = norms_a[part, None] + norms_b[None, :] - block
        some = joined > 0
        ratio = xp.where(some, block, 0.0) / xp.where(some, joined, 1.0)
        shared[part, :] = xp.clip(ratio, 0.0, 1.0)
    return shared


def projective_similarities_on_device(memberships: Any, weights: Any, how: str = "tanimoto") -> Any:
    """:func:`subscape.arrays.tanimoto.projective_similarities` where the arrays lie."""
    xp = shared_namespace(memberships=memberships, weights=weights)
    similarity = products_on_device(memberships)
    if weights is not None and how != "fast":
        features = products_on_device(weights)
        # In place, in the wider of the two precisions.
        if xp.result_type(similarity, features) != similarity.dtype:
            similarity, features = features, similarity
        similarity *= xp.astype(features, similarity.dtype)
        del features
    norms = xp.linalg.diagonal(similarity) + 0.0
    similarity = tanimoto_on_device(similarity, norms, norms)
    if weights is not None and how == "fast":
        similarity = 0.5 * (similarity + projective_similarities_on_device(weights, None, how))
    places = xp.arange(similarity.shape[0], device=device_of(similarity))
    return xp.where(places[:, None] == places[None, :], 1.0, similarity)


def intersections_on_device(memberships: Any, masks: Any) -> Any:
    """:func:`subscape.arrays.tanimoto.intersections` where the arrays lie."""
    shared_namespace(memberships=memberships, masks=masks)
    return products_on_device(memberships) * products_on_device(masks)
