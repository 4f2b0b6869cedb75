"""The features of a table as numbers only: nominal columns become codes or indicators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.core.errors import SubscapeError, count, listing
from subscape.core.types import FloatArray, IndexArray

from .columns import Column


class Features(Protocol):
    """The columns of a table that are features; see :class:`subscape.Table`."""

    @property
    def X(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def numeric_names(self) -> tuple[str, ...]: ...
    @property
    def nominal(self) -> Mapping[str, NDArray[np.int32]]: ...
    def column(self, name: str) -> Column: ...


class Encoded(NamedTuple):
    """The features of a table as numbers only.

    Attributes
    ----------
    X : (n_rows, q) float64 array; sparse where the table is sparse
        The numbers; a missing cell is NaN.
    feature_names : tuple of str
        Their names; an indicator column is called ``"column=level"``.
    origin : (q,) int array
        For each of the q columns, the index of the table's feature it comes from.

    See Also
    --------
    subscape.Table : Makes it.
    """

    X: Any
    feature_names: tuple[str, ...]
    origin: IndexArray


def indicators(codes: NDArray[np.int32], used: NDArray[Any]) -> FloatArray:
    """One column per used level, scaled so that their variances add up to 1.

    The variances of unscaled indicators with frequencies f add up to 1 - sum f². A column with a
    single level has no variance to scale and stays as it is.
    """
    block = (codes[:, None] == used).astype(np.float64)
    frequencies = block.sum(axis=0) / max(block.sum(), 1.0)
    spread = 1.0 - float(np.square(frequencies).sum())
    if len(used) > 1:
        block /= np.sqrt(spread)
    block[codes < 0] = np.nan
    return block


def encode(table: Features, nominal: str | None) -> Encoded:
    """The features of a table as numbers; see ``Table.encode``."""
    if nominal not in (None, "drop", "codes", "onehot"):
        raise SubscapeError(f"nominal is 'drop', 'codes', 'onehot' or None, not {nominal!r}")
    codes = table.nominal
    if nominal is None and codes:
        raise TypeError(
            f"{count(len(codes), 'column')} hold text, not numbers: {listing(codes)}; "
            "choose nominal='drop', 'codes' or 'onehot', or give them another role"
        )
    position = {name: j for j, name in enumerate(table.numeric_names)}
    blocks: list[Any] = []
    names: list[str] = []
    origin: list[int] = []
    for j, name in enumerate(table.feature_names):
        if name in position:
            blocks.append(position[name])
            new = [name]
        elif nominal == "codes":
            blocks.append(np.where(codes[name] < 0, np.nan, codes[name])[:, None])
            new = [name]
        elif nominal == "onehot":
            used = np.unique(codes[name][codes[name] >= 0])
            blocks.append(indicators(codes[name], used))
            levels = table.column(name).levels or ()
            new = [f"{name}={levels[code]}" for code in used]
        else:
            continue
        names += new
        origin += [j] * len(new)
    X = _stacked(table.X, blocks) if codes and nominal != "drop" else table.X
    return Encoded(X, tuple(_distinct(names)), np.array(origin, dtype=np.intp))


def _stacked(X: Any, blocks: list[Any]) -> Any:
    """Blocks side by side; an integer stands for that column of X."""
    if sparse.issparse(X):
        columns = [
            X[:, [block]] if isinstance(block, int) else sparse.csr_array(block) for block in blocks
        ]
        return sparse.hstack(columns, format="csr")
    widths = [1 if isinstance(block, int) else block.shape[1] for block in blocks]
    out = np.empty((X.shape[0], sum(widths)))
    start = 0
    for block, width in zip(blocks, widths, strict=True):
        out[:, start : start + width] = X[:, [block]] if isinstance(block, int) else block
        start += width
    return out


def _distinct(names: list[str]) -> list[str]:
    """The names, numbered where an indicator is called like another column."""
    seen: set[str] = set()
    out = []
    for name in names:
        new, k = name, 2
        while new in seen:
            new, k = f"{name} ({k})", k + 1
        seen.add(new)
        out.append(new)
    return out


def missing_mask(table: Features) -> Any:
    """Bool (n_rows, n_features): which cells of the features are missing."""
    position = {name: j for j, name in enumerate(table.feature_names)}
    numeric = [position[name] for name in table.numeric_names]
    if sparse.issparse(table.X):
        rows, columns, values = sparse.find(table.X)
        gone = np.isnan(values)
        rows, columns = [rows[gone]], [np.array(numeric, dtype=np.intp)[columns[gone]]]
        for name, codes in table.nominal.items():
            rows.append(np.flatnonzero(codes < 0))
            columns.append(np.full(len(rows[-1]), position[name]))
        at = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array((np.ones(len(at[0]), dtype=bool), at), shape=table.shape)
    mask = np.empty(table.shape, dtype=bool)
    mask[:, numeric] = np.isnan(table.X)
    for name, codes in table.nominal.items():
        mask[:, position[name]] = codes < 0
    mask.flags.writeable = False
    return mask
