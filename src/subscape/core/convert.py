"""Other ways to write a clustering down: label matrices, co-clusterings, dendrograms."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subscape.core.types import BoolArray, IndexArray, IntArray

from .errors import ShapeMismatchError, SubscapeError, count
from .memberships import Memberships
from .missing import is_missing


class Coded(NamedTuple):
    """Labels as cluster numbers: -1 is noise, ``names[c]`` is the label of cluster ``c``."""

    codes: IntArray
    names: tuple[Any, ...]


def encode_labels(labels: ArrayLike, n_clusters: int | None = None) -> Coded:
    """Number the clusters of a label vector.

    Integer labels are the numbers themselves: negative ones are noise and, where ``n_clusters`` is
    given, numbers without rows stay as empty clusters. Other labels (text, objects) are numbered
    in sorted order and none of them is noise, except missing ones (None, NaN) and negative numbers.

    >>> encode_labels([1, 1, -1, 0]).codes
    array([ 1,  1, -1,  0])
    >>> encode_labels(["b", "a", None, "b"])
    Coded(codes=array([ 1,  0, -1,  1]), names=('a', 'b'))
    """
    if isinstance(labels, np.ma.MaskedArray):
        values = np.array(labels.data, dtype=object)
        values[np.ma.getmaskarray(labels)] = None
        labels = values
    array = np.asarray(labels)
    if array.ndim != 1:
        raise SubscapeError(f"labels must be 1-D, got shape {array.shape}")
    if array.size == 0:
        raise SubscapeError("labels are empty: at least one row is needed")
    if array.dtype.kind == "f":
        bad = int((~np.isfinite(array) | (array != np.floor(array))).sum())
        if bad:
            raise SubscapeError(
                f"labels must be whole numbers (-1 is noise), {count(bad, 'entry', 'entries')} "
                "NaN, infinite or fractional"
            )
        _refuse_huge(array)
        array = array.astype(np.int64)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind in "iu":
        _refuse_huge(array)
        return _encode_integers(array, n_clusters)
    if array.dtype.kind not in "OUS":
        raise TypeError(f"labels of dtype {array.dtype} can't be read; use integers or text")
    return _encode_objects(array, n_clusters)


def _refuse_huge(array: NDArray[Any]) -> None:
    largest = int(array.max(initial=0))
    if largest >= 2**63:
        raise SubscapeError(f"labels go up to {largest}; number the clusters from 0 on")


def _encode_integers(array: NDArray[Any], n_clusters: int | None) -> Coded:
    codes = array.astype(np.int64)
    top = int(codes.max())
    if n_clusters is not None:
        if top >= n_clusters:
            raise ShapeMismatchError(
                f"labels go up to {top}, but only {count(n_clusters, 'subspace')} (0 to "
                f"{n_clusters - 1}) were given"
            )
        return Coded(np.maximum(codes, -1), tuple(range(n_clusters)))
    if top < 0:
        return Coded(np.full(len(codes), -1), ())
    if top < 2 * len(codes) + 64:
        used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=top + 1))
        if len(used) == top + 1:
            return Coded(np.maximum(codes, -1), tuple(range(top + 1)))
    else:
        used = np.unique(codes[codes >= 0])
    numbered = np.searchsorted(used, np.maximum(codes, 0))
    return Coded(np.where(codes < 0, -1, numbered), tuple(used.tolist()))


def _encode_objects(array: NDArray[Any], n_clusters: int | None) -> Coded:
    items = array.tolist()
    missing = np.array([is_missing(item) for item in items])
    numbers = np.array([isinstance(item, Integral) for item in items])
    if numbers.any() and (numbers | missing).all():
        whole = [-1 if gone else int(item) for item, gone in zip(items, missing, strict=True)]
        return _encode_integers(np.array(whole), n_clusters)
    missing |= [isinstance(item, Integral) and item < 0 for item in items]
    try:
        names = sorted(set(array[~missing].tolist()))
    except TypeError:
        names = sorted(set(array[~missing].tolist()), key=lambda item: (str(type(item)), str(item)))
    place = {name: i for i, name in enumerate(names)}
    codes = np.array([place.get(item, -1) for item in array.tolist()], np.int64)
    codes[missing] = -1
    return Coded(codes, tuple(names))


class BlockTable(NamedTuple):
    """Clusters as (rows, features) blocks of a table."""

    memberships: Memberships
    masks: BoolArray


def coclustering_blocks(row_labels: ArrayLike, column_labels: ArrayLike) -> BlockTable:
    """Every row group with every column group, row group by row group."""
    rows, columns = encode_labels(row_labels), encode_labels(column_labels)
    n_row_groups, n_column_groups = len(rows.names), len(columns.names)
    by_group = Memberships.from_codes(rows.codes, n_row_groups)
    memberships = by_group.select(np.repeat(np.arange(n_row_groups), n_column_groups))
    masks = columns.codes[None, :] == np.arange(n_column_groups)[:, None]
    return BlockTable(memberships, np.tile(masks, (n_row_groups, 1)))


def linkage_clusters(linkage: ArrayLike) -> list[IndexArray]:
    """Rows below every merge of a SciPy linkage matrix, the clusters of a dendrogram."""
    from scipy.cluster.hierarchy import is_valid_linkage

    merges = np.asarray(linkage, dtype=np.float64)
    if not is_valid_linkage(merges):
        raise SubscapeError(
            "not a linkage matrix: expected the (n - 1, 4) array of scipy.cluster.hierarchy.linkage"
        )
    n_rows = len(merges) + 1
    below: list[IndexArray] = [np.array([row]) for row in range(n_rows)]
    for left, right in merges[:, :2].astype(int):
        below.append(np.concatenate([below[left], below[right]]))
    return below[n_rows:]


def label_matrix(clusterings: Any, dtype: Any = np.int64) -> NDArray[Any]:
    """Labels of several clusterings of the same rows, one column each, as integers of ``dtype``.

    Returns
    -------
    int array of shape (n_rows, n_clusterings)

    See Also
    --------
    as_clustering : One clustering of whatever is given.

    Examples
    --------
    >>> label_matrix([[0, 0, 1], [0, 1, 1]])
    array([[0, 0],
           [0, 1],
           [1, 1]])
    """
    columns = [
        (c.labels() if hasattr(c, "labels") else encode_labels(c).codes).astype(dtype, copy=False)
        for c in clusterings
    ]
    if not columns:
        raise SubscapeError("no clusterings given")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ShapeMismatchError(
            f"the clusterings have different numbers of rows: {sorted(lengths)}"
        )
    return np.column_stack(columns)
