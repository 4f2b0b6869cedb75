"""Scalar products and Tanimoto similarities of many clusters at once.

The projective matrix of a cluster, memberships times feature weights, has rank one. Its scalar
product with another is therefore the product of two short ones, and no (rows, features) matrix is
ever made.

Arrays of torch or cupy are multiplied where they lie, and the result lies there too, in the
precision of the arrays; see :mod:`subscape.arrays.device.array_api`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from subscape.core.types import FloatArray
from subscape.parallel.threads import one_blas_thread

from .device.array_api import device_of, in_smaller_blocks, shared_namespace, slices, tensor_twin

#: Rows that are spelled out at a time: 2,000 clusters take 16 MB.
BLOCK = 1024

#: Memberships that take no more bytes are spelled out as a whole, which is faster.
MOST_BYTES = 256 * 2**20

#: Below this share of entries the sparse product is the faster one.
SPARSE_BELOW = 0.01

#: Values of a foreign array that are converted at a time (1 GB in float32), and the least.
MOST_VALUES, LEAST_COLUMNS = 2**28, 64

#: Whole numbers below this are exact in float32, and so are sums of as many zeros and ones.
EXACT = 2**24

__all__ = [
    "cross_products",
    "intersections",
    "products",
    "projective_similarities",
    "tanimoto",
]


# -- arrays of other libraries ---------------------------------------------------------------------


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
    """:func:`products` where the array lies."""
    return cross_products_on_device(memberships, memberships)


def _product_in(xp: Any, dtype: Any, a: Any, b: Any) -> Any:
    left = xp.astype(a, dtype)
    right = left if b is a else xp.astype(b, dtype)
    return xp.matmul(left, right.T)


def tanimoto_on_device(shared: Any, norms_a: Any, norms_b: Any) -> Any:
    """:func:`tanimoto` where the arrays lie."""
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
    """:func:`projective_similarities` where the arrays lie."""
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
    """:func:`intersections` where the arrays lie."""
    shared_namespace(memberships=memberships, masks=masks)
    return products_on_device(memberships) * products_on_device(masks)


# -- arrays of NumPy and SciPy ---------------------------------------------------------------------


@tensor_twin(products_on_device)
def products(memberships: Any) -> FloatArray:
    """Scalar products of all pairs of rows of a (clusters, rows) matrix, in float64.

    Sums run over blocks of columns in a fixed order on one thread, so the bits don't depend on
    the machine's cores; memory is that of the result, one block and at most 256 MB.

    Parameters
    ----------
    memberships : array or sparse array of shape (c, n)

    Returns
    -------
    (c, c) array

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.tanimoto import products
    >>> products(np.array([[1.0, 1.0, 0.0], [0.0, 0.5, 0.5]]))
    array([[2. , 0.5],
           [0.5, 0.5]])
    """
    if not sparse.issparse(memberships):
        dense = np.asarray(memberships, np.float64)
        with one_blas_thread():
            return dense @ dense.T
    count, n = memberships.shape
    if memberships.nnz < SPARSE_BELOW * count * n:
        wide = memberships.astype(np.float64)
        return np.asarray((wide @ wide.T).toarray())
    if count * n * memberships.dtype.itemsize <= MOST_BYTES:
        whole = memberships.toarray()
        blocks = (whole[:, i : i + BLOCK].astype(np.float64) for i in range(0, n, BLOCK))
    else:
        by_row = sparse.csr_array(memberships.T)
        blocks = (by_row[i : i + BLOCK].astype(np.float64).toarray().T for i in range(0, n, BLOCK))
    total = np.zeros((count, count))
    with one_blas_thread():
        for block in blocks:
            # Of a product with its own transpose BLAS computes one half only.
            total += block @ block.T
    return total


@tensor_twin(cross_products_on_device)
def cross_products(a: Any, b: Any) -> FloatArray:
    """Scalar products of the rows of ``a`` with the rows of ``b``, in float64.

    >>> import numpy as np
    >>> from subscape.arrays.tanimoto import cross_products
    >>> cross_products(np.eye(2), np.array([[0.5, 0.25]]))
    array([[0.5 ],
           [0.25]])
    """
    if sparse.issparse(a) or sparse.issparse(b):
        a, b = (sparse.csr_array(side).astype(np.float64, copy=False) for side in (a, b))
        # The transposed side is sorted anew: that of fewer entries.
        shared = a @ b.T if b.nnz <= a.nnz else (b @ a.T).T
        return np.asarray(shared.toarray())
    return np.asarray(np.asarray(a, np.float64) @ np.asarray(b, np.float64).T)


@tensor_twin(tanimoto_on_device)
def tanimoto(shared: FloatArray, norms_a: FloatArray, norms_b: FloatArray) -> FloatArray:
    """Tanimoto similarities out of scalar products and squared norms.

    Two zero vectors have similarity 0.

    Parameters
    ----------
    shared : (a, b) array
        Scalar products; overwritten with the result.
    norms_a, norms_b : (a,) and (b,) arrays
        Squared norms.

    Returns
    -------
    (a, b) array in [0, 1]

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.tanimoto import tanimoto
    >>> tanimoto(np.array([[1.0, 0.0]]), np.array([1.0]), np.array([2.0, 3.0]))
    array([[0.5, 0. ]])
    """
    joined = np.add.outer(norms_a, norms_b)
    joined -= shared
    np.divide(shared, joined, out=shared, where=joined > 0)
    return np.clip(shared, 0.0, 1.0, out=shared)


@tensor_twin(projective_similarities_on_device)
def projective_similarities(memberships: Any, weights: Any, how: str = "tanimoto") -> FloatArray:
    """Similarity of every pair of clusters in rows and features.

    Parameters
    ----------
    memberships : array or sparse array of shape (c, n)
    weights : (c, p) array or None
        Feature weights; None compares rows only.
    how : {"tanimoto", "fast"}
        Tanimoto of the (n, p) matrices ``memberships[i] ⊗ weights[i]``, exactly, or the mean of
        the Tanimoto similarities of memberships and of weights.

    Returns
    -------
    (c, c) array in [0, 1], 1 on the diagonal

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.tanimoto import projective_similarities
    >>> G, L = np.array([[1, 1, 0], [0, 1, 1]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    >>> projective_similarities(G, L)[0, 1].round(4)
    np.float64(0.2)
    >>> exact = np.einsum("cn,cp->cnp", G, L).reshape(2, -1)
    >>> shared = exact[0] @ exact[1]
    >>> (shared / (np.square(exact).sum() - shared)).round(4)
    np.float64(0.2)
    """
    rows = products(memberships)
    if weights is None:
        similarity = tanimoto(rows, rows.diagonal().copy(), rows.diagonal().copy())
    elif how == "fast":
        features = products(weights)
        similarity = tanimoto(rows, rows.diagonal().copy(), rows.diagonal().copy())
        similarity += tanimoto(features, features.diagonal().copy(), features.diagonal().copy())
        similarity *= 0.5
    else:
        rows *= products(weights)
        norms = rows.diagonal().copy()
        similarity = tanimoto(rows, norms, norms)
    np.fill_diagonal(similarity, 1.0)
    return similarity


@tensor_twin(intersections_on_device)
def intersections(memberships: Any, masks: Any) -> FloatArray:
    """Cells, (row, feature) pairs, that every two of the clusters share.

    Parameters
    ----------
    memberships : array or sparse array of shape (c, n)
        1 for the rows of the cluster, 0 for others.
    masks : (c, p) array
        1 for the features of the cluster, 0 for others.

    Returns
    -------
    (c, c) array
        The sizes of the clusters on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.arrays.tanimoto import intersections
    >>> intersections(np.array([[1, 1, 1, 0], [0, 1, 1, 1]]), np.array([[1, 1, 0], [0, 1, 1]]))
    array([[6., 2.],
           [2., 6.]])
    """
    return products(memberships) * products(masks)
