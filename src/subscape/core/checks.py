"""What a numeric table must be before any search or score looks at it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from .errors import SubscapeError, count, listing

#: Squares and sums of squares of values between these bounds stay finite and above zero.
SMALLEST_SPREAD, LARGEST_VALUE = 1e-100, 1e100


def check_table(X: Any, who: str, *, sparse: bool = False, missing: bool = False) -> Any:
    """Return ``X`` as a 2-D float array (float32 stays) or CSR matrix, or say what is wrong.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix
    who : str
        Who asks, for the message.
    sparse, missing : bool
        Whether sparse matrices and NaN are taken.
    """
    if sp.issparse(X):
        if not sparse:
            raise TypeError(
                f"{who} does not take sparse input; pass X.toarray(), or select features first if "
                "the dense table would not fit"
            )
        table: Any = sp.csr_array(X)
        if table.data.dtype.kind == "c":
            raise SubscapeError(f"Complex data not supported by {who}: split into real columns")
        table = table.astype(np.float64)
        _check_shape(table.shape, who)
        _check_finite(table.data, None, table.shape, who, missing)
        return table
    names = _column_names(X)
    _refuse_text(X, names)
    array = np.asarray(X)
    if array.dtype.kind == "c" or (array.dtype == object and _has_complex(array)):
        raise SubscapeError(f"Complex data not supported by {who}: split it into real columns")
    if array.ndim != 2:
        raise SubscapeError(
            f"Expected 2D array, got {array.ndim}D array of shape {array.shape}. Reshape your data "
            "with X.reshape(-1, 1) if it is a single feature or X.reshape(1, -1) if a single row"
        )
    _check_shape(array.shape, who)
    if array.dtype.kind not in "f" or array.dtype == np.float16:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            text = [j for j in range(array.shape[1]) if _is_text(array[:, j])]
            if text:
                raise _text_error(text, names) from None
            raise TypeError(f"{who} needs numbers: {error}") from None
    _check_finite(array, names, array.shape, who, missing)
    check_magnitude(array, who)
    return array


def check_magnitude(array: NDArray[Any], who: str) -> None:
    """Refuse values whose squares leave the range of float64."""
    largest = float(np.nanmax(np.abs(array), initial=0.0))
    if largest > LARGEST_VALUE:
        raise SubscapeError(
            f"values up to {largest:.0e} are too large to square in float64; rescale the table, "
            "e.g. with sklearn.preprocessing.StandardScaler"
        )
    if 0 < largest < SMALLEST_SPREAD:
        raise SubscapeError(
            f"values no larger than {largest:.0e} are too small to square in float64; rescale the "
            "table, e.g. with sklearn.preprocessing.StandardScaler"
        )


def constant_columns(table: Any) -> NDArray[np.bool_]:
    """Which columns hold a single value (NaN aside)."""
    if sp.issparse(table):
        high, low = table.max(axis=0).toarray().ravel(), table.min(axis=0).toarray().ravel()
        return np.asarray(high == low)
    first = table[0]
    if np.isnan(first).any():
        return np.asarray(np.nanmax(table, axis=0) == np.nanmin(table, axis=0))
    return np.asarray((table == first).all(axis=0))


def _check_shape(shape: tuple[int, ...], who: str) -> None:
    if shape[0] == 0:
        raise SubscapeError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required by "
            f"{who}"
        )
    if shape[1] == 0:
        raise SubscapeError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required by "
            f"{who}"
        )


def _check_finite(
    values: NDArray[Any], names: list[str] | None, shape: tuple[int, ...], who: str, missing: bool
) -> None:
    if np.isfinite(values.sum(dtype=np.float64)) if values.size else True:
        return
    infinite = np.isinf(values)
    if infinite.any():
        raise SubscapeError(
            f"Input X contains infinity ({count(int(infinite.sum()), 'value')}"
            f"{_where(infinite, names)}); replace inf by NaN or a large number"
        )
    absent = np.isnan(values)
    if absent.any() and not missing:
        raise SubscapeError(
            f"Input X contains NaN ({count(int(absent.sum()), 'value')}{_where(absent, names)}) "
            f"and {who} does not take missing values; impute them first, e.g. with "
            "sklearn.impute.SimpleImputer"
        )


def _where(mask: NDArray[np.bool_], names: list[str] | None) -> str:
    if mask.ndim != 2:
        return ""
    columns = np.flatnonzero(mask.any(axis=0))
    labels = [names[j] if names else f"column {j}" for j in columns]
    return f" in {listing(labels, 3)}"


def _column_names(X: Any) -> list[str] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def _refuse_text(X: Any, names: list[str] | None) -> None:
    """Data frames: name the text columns before the conversion to an array hides them."""
    if names is None or not hasattr(X, "dtypes"):
        return
    dtypes = list(X.dtypes)
    kinds = [str(dtype).lower() for dtype in dtypes]
    suspicious = ("object", "str", "string", "category", "categorical", "enum", "utf8")
    text = [
        j
        for j, kind in enumerate(kinds)
        if kind.startswith(suspicious) and _is_text(np.asarray(X[names[j]]))
    ]
    if text:
        raise _text_error(text, names)


def _text_error(columns: list[int], names: list[str] | None) -> Exception:
    labels = [names[j] if names else f"column {j}" for j in columns]
    # The wording of the first sentence is what scikit-learn's own checks look for.
    return TypeError(
        "argument must be a string or a number: numbers are needed, but "
        f"{count(len(labels), 'column')} hold text: {listing(labels)}. Drop them, or encode them, "
        "e.g. Table.read(...).to_numpy(nominal='onehot')"
    )


def _is_text(column: NDArray[Any]) -> bool:
    if column.dtype.kind in "US":
        return True
    if column.dtype != object:
        return False
    for item in column.tolist():
        if item is None or isinstance(item, (int, float, bool, np.number)):
            continue
        try:
            float(item)
        except (TypeError, ValueError):
            return True
        if isinstance(item, (str, bytes)):
            return True
    return False


def _has_complex(array: NDArray[Any]) -> bool:
    return any(isinstance(item, complex) for item in array.flat)
