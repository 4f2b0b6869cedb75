"""What a numeric table must be before any search or score looks at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy import sparse as sp

from subscape.core.types import BoolArray, FloatArray

from .errors import SubscapeError, count, listing

#: Squares and sums of squares of values between these bounds stay finite and above zero.
SMALLEST_SPREAD, LARGEST_VALUE = 1e-100, 1e100
#: What compiled code and files can hold.
LARGEST_INTEGER = 2**63 - 1
#: From it on not every integer is a float64 of its own.
EXACT_INTEGER = 2**53
#: More jobs than this are a slip of the pen.
MOST_JOBS = 2**15


def check_integers(parameters: Mapping[str, Any], who: str) -> None:
    """Refuse parameters with integers that compiled code can't hold.

    Parameters
    ----------
    parameters : mapping
        Values by name; others than integers, and lists of them, are left to other checks.
    who : str

    Examples
    --------
    >>> check_integers({"n_clusters": [3, 10**30]}, "NrKMeans")
    Traceback (most recent call last):
    ...
    subscape.core.errors.SubscapeError: NrKMeans: n_clusters has the number \
1000000000000000000000000000000, which is too large; it must be at most 2**63 - 1
    """
    for name, value in parameters.items():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, int) and abs(each) > LARGEST_INTEGER:
                sign, end = ("large", "at most 2**63 - 1") if each > 0 else ("small", "positive")
                raise SubscapeError(
                    f"{who}: {name} has the number {each}, which is too {sign}; it must be {end}"
                )


def check_n_jobs(n_jobs: int | None) -> None:
    """Refuse a number of jobs that says nothing.

    >>> check_n_jobs(0)
    Traceback (most recent call last):
    ...
    subscape.core.errors.SubscapeError: n_jobs=0 says nothing; give a number of jobs from 1 on, \
-1 for one per core, -2 for one less, or None for one
    """
    if n_jobs is not None and (n_jobs == 0 or abs(n_jobs) > MOST_JOBS):
        why = "says nothing" if n_jobs == 0 else f"is out of range (at most {MOST_JOBS})"
        raise SubscapeError(
            f"n_jobs={n_jobs} {why}; give a number of jobs from 1 on, -1 for one per core, -2 for "
            "one less, or None for one"
        )


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
        if X.dtype.kind == "c":
            raise _complex_error(who)
        table: Any = sp.csr_array(X).astype(np.float64)
        _check_shape(table.shape, who)
        check_finite(table.data, None, who, missing)
        check_magnitude(table.data, who)
        return table
    names = column_names(X)
    if names is not None and len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SubscapeError(f"column names must be unique, these are not: {listing(twice)}")
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    array = np.asarray(X)
    if array.dtype.kind == "c" or (
        array.dtype == object
        and any(isinstance(item, (complex, np.complexfloating)) for item in array.flat)
    ):
        raise _complex_error(who)
    if array.ndim != 2:
        raise SubscapeError(
            f"Expected 2D array, got {array.ndim}D array of shape {array.shape}. Reshape your data "
            "with X.reshape(-1, 1) if it is a single feature or X.reshape(1, -1) if a single row"
        )
    _check_shape(array.shape, who)
    array = _floats(array, names)
    check_finite(array, names, who, missing)
    check_magnitude(array, who)
    return array


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a data frame or table, None for an array."""
    # The columns of an Arrow table are its data; of a Table only the features count.
    for attribute in ("feature_names", "column_names", "columns"):
        names = getattr(X, attribute, None)
        if names is not None and not callable(names):
            return [str(name) for name in names]
    return None


def check_names(X: Any, features: Sequence[str] | None, rows: Sequence[str] | None = None) -> None:
    """Refuse a table whose columns or rows are named otherwise than those of a clustering.

    Parameters
    ----------
    X : data frame, Table or array
        Names that are no text, such as the numbers of a data frame made of an array, don't count;
        the index of a pandas data frame names its rows.
    features, rows : sequence of str or None
        Names that the clustering has.
    """
    labels = getattr(X, "column_names", getattr(X, "columns", ()))
    named = callable(labels) or all(isinstance(label, str) for label in labels)
    theirs = {"columns": column_names(X) if named else None, "rows": _row_names(X)}
    for what, ours in (("columns", features), ("rows", rows)):
        found = theirs[what]
        if ours is None or found is None or list(found) == list(ours):
            continue
        if sorted(found) == sorted(ours):
            raise SubscapeError(
                f"the {what} of the table are in another order than in the clustering: "
                f"{listing(found, 3)} instead of {listing(ours, 3)}"
            )
        raise SubscapeError(
            f"the {what} of the table are not those of the clustering: {listing(found, 3)} instead "
            f"of {listing(ours, 3)}"
        )


def _row_names(X: Any) -> Sequence[str] | None:
    names = getattr(X, "row_names", getattr(X, "index", None))
    if names is None or callable(names):
        return None
    if not hasattr(names, "dtype"):
        return list(names)
    # The numbers of an index that nobody has made are not looked at one by one.
    is_text = names.dtype.kind not in "iufbMm" and all(isinstance(name, str) for name in names)
    return list(names) if is_text else None


def check_magnitude(array: NDArray[Any], who: str) -> None:
    """Refuse values whose squares leave the range of float64."""
    if not array.size:
        return
    # Without a copy of the table; fmax and fmin leave NaN aside.
    high, low = np.fmax.reduce(array, axis=None), np.fmin.reduce(array, axis=None)
    largest = float(np.fmax(np.fmax(high, -low), 0.0))
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


def constant_columns(table: Any) -> BoolArray:
    """Which columns hold a single value, or none at all (NaN aside)."""
    if sp.issparse(table):
        high, low = (
            extreme.toarray().ravel() for extreme in (table.nanmax(axis=0), table.nanmin(axis=0))
        )
    else:
        high, low = np.fmax.reduce(table, axis=0), np.fmin.reduce(table, axis=0)
    return np.asarray((high == low) | np.isnan(high))


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


def check_finite(values: NDArray[Any], names: list[str] | None, who: str, missing: bool) -> None:
    """Refuse infinite values and, unless they are welcome, missing ones, by column."""
    with np.errstate(over="ignore", invalid="ignore"):
        # One pass: a sum is finite only if every term is (but for an overflow, found below).
        if np.isfinite(values.sum(dtype=np.float64)):
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


def _where(mask: BoolArray, names: list[str] | None) -> str:
    if mask.ndim != 2:
        return ""
    return f" in {listing(_labels(np.flatnonzero(mask.any(axis=0)), names), 3)}"


def _labels(columns: Iterable[int], names: list[str] | None) -> list[str]:
    return [names[j] if names else f"column {j}" for j in columns]


def _floats(array: NDArray[Any], names: list[str] | None) -> NDArray[Any]:
    """Numbers of any type as float64 (float32 stays); text and dates are refused by name."""
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "biuf":
        return _exactly(array, names)
    columns = [_column(array[:, j]) for j in range(array.shape[1])]
    wrong = [j for j, column in enumerate(columns) if column is None]
    if array.dtype != object and not wrong:
        # NumPy would read dates, and text that looks like numbers, but nobody has asked it to.
        wrong = list(range(array.shape[1]))
    if wrong:
        labels = _labels(wrong, names)
        # The wording of the first words is what scikit-learn's own checks look for.
        raise TypeError(
            "argument must be a string or a number: numbers are needed, but "
            f"{count(len(labels), 'column')} {'holds' if len(labels) == 1 else 'hold'} text or "
            f"dates: {listing(labels)}. Drop them, or encode them, e.g. "
            "Table.read(...).to_numpy(nominal='onehot')"
        )
    return np.array(columns).T


def _exactly(array: NDArray[Any], names: list[str] | None) -> FloatArray:
    """Integers as float64, unless different ones would become the same."""
    floats = array.astype(np.float64)
    if array.dtype.kind not in "iu" or np.abs(floats).max(initial=0.0) < EXACT_INTEGER:
        return floats
    collapsed = [
        j for j in range(array.shape[1])
        if np.abs(floats[:, j]).max() >= EXACT_INTEGER
        and len(np.unique(floats[:, j])) < len(np.unique(array[:, j]))
    ]  # fmt: skip
    if collapsed:
        raise SubscapeError(
            f"integers beyond 2**53 in {listing(_labels(collapsed, names))} can't be told apart as "
            "float64; subtract the smallest from each column first"
        )
    return floats


def _column(column: NDArray[Any]) -> list[float] | None:
    """The numbers of a column of objects; None if it holds something else."""
    items = column.tolist()
    if column.dtype == object and any(isinstance(item, (str, bytes)) for item in items):
        return None
    try:
        return [_number(item) for item in items]
    except (TypeError, ValueError):
        return None


def _number(item: Any) -> float:
    if item is None or type(item).__name__ == "NAType":  # pandas' missing value
        return np.nan
    try:
        return float(item)
    except OverflowError:
        return np.inf


def _complex_error(who: str) -> SubscapeError:
    return SubscapeError(f"Complex data not supported by {who}: split it into real columns")


# -- arrays of numbers, checked and made read-only before they become a table ----------------------


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


def _as_float(array: NDArray[Any], names: list[str] | None) -> FloatArray:
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
    return np.array(_exactly(array, names), dtype=np.float64, order="C")


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
