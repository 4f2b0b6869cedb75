"""Arrays of numbers, checked and made read-only before they become a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import SubscapeError, count, listing


def as_numbers(X: Any, names: list[str] | None = None) -> Any:
    """A 2-D float64 array or CSR matrix of its own, or an error that says what is wrong."""
    if sparse.issparse(X):
        if X.dtype.kind == "c":
            raise SubscapeError("X holds complex numbers; split it into real columns")
        array: Any = sparse.csr_array(X, dtype=np.float64, copy=True)
    else:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        array = np.asanyarray(X)
        if array.ndim != 2:
            raise SubscapeError(
                f"a table has rows and columns, but the array has shape {array.shape}; "
                "X.reshape(-1, 1) makes a single column"
            )
        array = _as_float(array, names)
    if array.shape[0] == 0:
        raise SubscapeError(f"the array has no rows (shape {array.shape})")
    if array.shape[1] == 0:
        raise SubscapeError(f"the array has no columns (shape {array.shape})")
    return array


def _as_float(array: NDArray[Any], names: list[str] | None) -> NDArray[np.float64]:
    if array.dtype.names is not None or array.dtype.kind in "mMV":
        raise TypeError(f"an array of {array.dtype} is no table of numbers; give a data frame")
    if array.dtype.kind == "c" or (
        array.dtype == object
        and any(isinstance(x, complex | np.complexfloating) for x in array.flat)
    ):
        raise SubscapeError("the array holds complex numbers; split it into real columns")
    if array.dtype.kind in "OUS":
        text = [j for j in range(array.shape[1]) if _is_text(array[:, j])]
        if text:
            labels = [names[j] if names and j < len(names) else f"column {j}" for j in text]
            raise TypeError(
                f"{count(len(text), 'column')} of the array hold text: {listing(labels)}; "
                "drop them, or give a data frame to Table.read, which keeps text as nominal"
            )
    if array.dtype == np.float64 and not array.flags.writeable:
        return array
    return np.array(array, dtype=np.float64, order="C")


def _is_text(column: NDArray[Any]) -> bool:
    if column.dtype.kind in "US":
        return True
    return any(isinstance(x, str | bytes) for x in column) or not _converts(column)


def _converts(column: NDArray[Any]) -> bool:
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def frozen(data: Any) -> Any:
    """The same data, read-only; the array given stays as writable as it was."""
    if sparse.issparse(data):
        rows = sparse.csr_array(data)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        parts = tuple(frozen(part) for part in (rows.data, rows.indices, rows.indptr))
        return sparse.csr_array(parts, shape=rows.shape)
    data = np.asarray(data).view()
    data.flags.writeable = False
    return data


def same(a: Any, b: Any) -> bool:
    """Whether two arrays or sparse matrices hold the same numbers; NaN equals NaN."""
    if sparse.issparse(a) or sparse.issparse(b):
        if not (sparse.issparse(a) and sparse.issparse(b)) or a.shape != b.shape:
            return False
        parts = zip(sparse.find(a), sparse.find(b), strict=True)
        return all(same(one, other) for one, other in parts)
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
