"""Counts and expression, such as of genes in cells: recognised, brought to one scale, chosen from.

A cell of which twice as many molecules were read has twice the counts in every gene, and is no
other cell for that. So counts are divided by their sum over the row (its library size), and
logarithms are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from scipy import sparse

from subscape.core.errors import SubscapeError, count
from subscape.core.types import FloatArray, IndexArray

from .parts import Parts

Kind = Literal["counts", "shares", "logs", "scaled", "numbers"]
Normalize = Literal["auto", "log", "none"] | float

#: Columns from which a table of counts may be one of genes or words.
LIKE_GENES = 50
#: Columns from which a table is called wide enough to choose the most variable ones.
WIDE = 5_000
#: Overdispersion of counts between cells of one kind (Lause, Berens and Kobak 2021).
OVERDISPERSION = 100.0
#: Columns of one mean, among which spreads are compared, where there are no counts.
BINS = 20
#: Cells of a table that are looked at at a time.
BLOCK = 4_000_000

WORDS = {
    "counts": "counts",
    "shares": "counts of one library size",
    "logs": "logarithms of counts of one library size",
    "scaled": "columns scaled to mean 0 and spread 1",
    "numbers": "numbers",
}


def kind_of(X: Any) -> Kind:
    """What a matrix of expression holds.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns)

    Returns
    -------
    {"counts", "shares", "logs", "scaled", "numbers"}
        Whole numbers from 0; numbers of which every row has the same sum; logarithms of such;
        columns with mean 0 and standard deviation 1 (some may be cut off at a limit); anything
        else.

    Examples
    --------
    >>> kind_of(np.array([[0, 3, 1], [2, 0, 7.0]]))
    'counts'
    >>> kind_of(np.log1p([[2.0, 8.0], [5.0, 5.0]]))
    'logs'
    """
    values = X.data if sparse.issparse(X) else np.asarray(X)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return "numbers"
    if finite.min() >= 0:
        if finite.max() > 1 and bool((finite == np.floor(finite)).all()):
            return "counts"
        if _is_one_sum(X):
            return "shares"
        if finite.max() < 30 and _is_one_sum(_expm1(X)):
            return "logs"
        return "numbers"
    if sparse.issparse(X) or X.shape[0] < 3:
        return "numbers"
    with np.errstate(invalid="ignore"):
        mean, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    is_scaled = (np.abs(mean) < 0.2) & ((np.abs(spread - 1) < 0.3) | (spread == 0))
    return "scaled" if bool(is_scaled.mean() > 0.9) else "numbers"


def _is_one_sum(X: Any) -> bool:
    """Whether the rows have the same sum, but for a few empty ones."""
    sums = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    sums = sums[sums > 0]
    return len(sums) > 1 and X.shape[1] > 1 and bool(np.ptp(sums) <= 1e-3 * sums.max())


def _expm1(X: Any) -> Any:
    return X.expm1() if sparse.issparse(X) else np.expm1(X)


def usual_size(X: Any) -> float:
    """The median sum of the rows that are not empty.

    >>> usual_size(np.array([[1.0, 1.0], [10.0, 10.0], [0.0, 0.0], [2.0, 2.0]]))
    4.0
    """
    sums = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    return float(np.median(sums[sums > 0])) if (sums > 0).any() else 1.0


def normalised(X: Any, library_size: float) -> Any:
    """Logarithms of counts of one library size: log(1 + size x / sum of the row).

    Rows without any count stay 0.

    >>> normalised(np.array([[1.0, 1.0], [10.0, 10.0]]), 2).round(2).tolist()
    [[0.69, 0.69], [0.69, 0.69]]
    """
    sums = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    factor = np.divide(library_size, sums, out=np.zeros_like(sums), where=sums > 0)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(factor) @ X).log1p()
    return np.log1p(np.asarray(X) * factor[:, None])


def highly_variable(X: Any, number: int, kind: Kind) -> IndexArray:
    """The columns that differ most between the rows, in the order of the table.

    Counts are compared with what a row's sum and a column's sum let expect: the variance of the
    Pearson residuals under a negative binomial distribution. Other numbers are compared with
    columns of about the same mean: the ratio of the variance to their median.

    Parameters
    ----------
    X : array or sparse matrix
    number : int
    kind : as of :func:`kind_of`

    References
    ----------
    .. [1] Lause, Berens, Kobak: Analytic Pearson residuals for normalization of single-cell
       RNA-seq UMI data. Genome Biology 22, 2021. https://doi.org/10.1186/s13059-021-02451-7

    Examples
    --------
    >>> counts = np.array([[5, 9, 1], [6, 0, 1], [5, 9, 1], [6, 0, 1.0]])
    >>> highly_variable(counts, 1, "counts").tolist()
    [1]
    """
    if number >= X.shape[1]:
        return np.arange(X.shape[1])
    spread = _residual_variance(X) if kind == "counts" else _relative_variance(X)
    return np.sort(np.argsort(-spread, kind="stable")[:number])


def _residual_variance(X: Any) -> FloatArray:
    rows = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    columns = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    limit = np.sqrt(X.shape[0])
    found = np.zeros(X.shape[1])
    for part, block in _blocks(X):
        expected = np.outer(rows, columns[part]) / max(rows.sum(), 1e-300)
        spread = np.sqrt(expected + np.square(expected) / OVERDISPERSION)
        residual = np.divide(block - expected, spread, out=np.zeros_like(block), where=spread > 0)
        found[part] = np.clip(residual, -limit, limit).var(axis=0)
    return found


def _relative_variance(X: Any) -> FloatArray:
    mean, variance = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for part, block in _blocks(X):
        present = np.isfinite(block)
        counts = np.maximum(present.sum(axis=0), 1)
        mean[part] = np.where(present, block, 0.0).sum(axis=0) / counts
        off = np.where(present, block - mean[part], 0.0)
        variance[part] = np.square(off).sum(axis=0) / counts
    order = np.argsort(mean, kind="stable")
    usual = np.zeros(len(mean))
    for columns in np.array_split(order, min(BINS, max(1, len(order) // 10))):
        alive = variance[columns][variance[columns] > 0]
        usual[columns] = np.median(alive) if len(alive) else 1.0
    return variance / np.maximum(usual, 1e-300)


def _blocks(X: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Some columns at a time, dense."""
    step = max(1, BLOCK // max(X.shape[0], 1))
    by_column = sparse.csc_array(X) if sparse.issparse(X) else None
    for start in range(0, X.shape[1], step):
        part = slice(start, min(start + step, X.shape[1]))
        if by_column is None:
            yield part, np.asarray(X[:, part], dtype=np.float64)
        else:
            yield part, np.asarray(by_column[:, part].toarray(), dtype=np.float64)


def with_expression(
    parts: Parts, normalize: Normalize, hvg: int | None, used: str | None = None
) -> Parts:
    """The numbers of a table as logarithms of one library size, and the most variable of them.

    Parameters
    ----------
    parts : Parts
    normalize : {"auto", "log", "none"} or float
        "auto" takes the counts of an AnnData object, and nothing else, to logarithms; "log" takes
        all numbers from 0. A number is the library size, where an earlier table had another.
    hvg : int or None
        How many columns to keep.
    used : str or None
        What of the AnnData object was taken; None for tables from elsewhere.
    """
    size = None if isinstance(normalize, str) else float(normalize)
    if not (normalize in ("auto", "log", "none") or (size is not None and 0 < size < np.inf)):
        raise SubscapeError(
            f"normalize must be 'auto', 'log', 'none' or a library size, not {normalize!r}"
        )
    if hvg is not None and hvg < 1:
        raise SubscapeError(f"hvg must be at least 1, got {hvg}")
    how = "log" if size is not None else str(normalize)
    how = "none" if how == "auto" and used is None else how
    if used is not None and used.startswith("obsm/"):
        if how == "log" or hvg is not None:
            raise SubscapeError(
                f"{used} is no table of counts: leave out normalize and hvg, or use_rep"
            )
        return parts
    if (how == "none" and hvg is None and parts.X.shape[1] < LIKE_GENES) or not parts.X.shape[1]:
        return parts
    X, notes = parts.X, list(parts.notes)
    kind = kind_of(X)
    if how == "none" and hvg is None:
        if used is None and normalize == "auto" and kind == "counts" and _share_of_zeros(X) > 0.2:
            notes.append(
                "the table holds nothing but counts; if a row's sum means nothing, as of genes or "
                "words, normalize='log' takes logarithms of one library size"
            )
        return parts._replace(notes=tuple(notes))
    what = f"{used or 'the table'} holds {WORDS[kind]}"
    kept = np.arange(X.shape[1])
    if hvg is not None:
        if kind == "scaled":
            raise SubscapeError(
                f"{what}: all vary alike, so none are the most variable; give a layer with counts "
                "or logarithms (layer=…)"
            )
        kept = highly_variable(X, hvg, kind)
    if how == "log" and kind in ("logs", "scaled"):
        notes.append(f"{what} already, and was left as it is")
    elif how == "log" and _smallest(X) < 0:
        raise SubscapeError(
            "normalize='log' is for counts, and there are numbers below 0; leave it out"
        )
    elif how == "log" or (how == "auto" and kind == "counts"):
        empty = int((np.asarray(X.sum(axis=1)).ravel() == 0).sum())
        size = usual_size(X) if size is None else size
        X = normalised(X, size)
        notes.append(
            f"{what}: taken as logarithms of 1 + counts per {size:,.6g} of the row, the usual "
            "library size (normalize='none' leaves them)"
            + (f"; {count(empty, 'row')} without any count stay 0" if empty else "")
        )
    elif how == "auto" and kind != "numbers":
        notes.append(what)
    if used is not None and hvg is None and X.shape[1] > WIDE:
        notes.append(
            f"{X.shape[1]:,} variables take long; hvg=2000 keeps those that differ most between "
            "the rows"
        )
    if hvg is not None and len(kept) < X.shape[1]:
        notes.append(f"the {len(kept):,} most variable of {X.shape[1]:,} columns are kept (hvg)")
        X = X[:, kept]
    numeric = [j for j, column in enumerate(parts.schema) if column.role == "numeric"]
    gone = {numeric[j] for j in set(range(len(numeric))) - set(kept.tolist())}
    schema = tuple(column for j, column in enumerate(parts.schema) if j not in gone)
    source = {**parts.source, "holds": kind}
    if X is not parts.X and how != "none" and size is not None:
        source["library_size"] = size
    return parts._replace(schema=schema, X=X, notes=tuple(notes), source=source)


def _share_of_zeros(X: Any) -> float:
    filled = X.count_nonzero() if sparse.issparse(X) else int(np.count_nonzero(X))
    return 1.0 - float(filled) / max(X.shape[0] * X.shape[1], 1)


def _smallest(X: Any) -> float:
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return float(np.nanmin(values, initial=0.0))
