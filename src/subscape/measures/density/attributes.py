"""A table as attributes: columns of numbers, and nominal columns as numbers of their levels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subscape.arrays.blocks import Blocks, as_blocks, is_source
from subscape.core.checks import check_table, column_names
from subscape.core.errors import SubscapeError, listing
from subscape.core.missing import is_missing
from subscape.core.types import FloatArray
from subscape.tables.columns import Column, check_known, check_unique, in_levels
from subscape.tables.table import Table

Levels = tuple[str, ...]


class Attributes(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    values : (n_rows, n_attributes) C-contiguous array of float32 or float64, or Blocks
        Numbers, or positions in ``levels``; NaN is missing. Blocks where the table is not in
        memory.
    names : tuple of str
    levels : tuple with a tuple of str for each nominal column, None for each numeric one
    """

    values: NDArray[Any] | Blocks
    names: tuple[str, ...]
    levels: tuple[Levels | None, ...]

    def column(self, j: int) -> NDArray[Any]:
        """The values of one attribute."""
        if isinstance(self.values, Blocks):
            return self.values.column(j)
        return np.asarray(self.values[:, j])


def attributes_of(X: Any, nominal: Iterable[Any] | None, who: str) -> Attributes:
    """Read a table; columns of text, and those named or numbered by ``nominal``, are nominal."""
    if sparse.issparse(X):
        raise TypeError(f"{who} does not take sparse input; pass X.toarray()")
    if is_source(X):
        found = _of_blocks(as_blocks(X))
    elif isinstance(X, Table):
        found = _of_table(X)
    else:
        array = np.asarray(X)
        plain = array.ndim == 2 and array.size > 0 and array.dtype.kind in "biuf"
        if plain and not isinstance(X, np.ma.MaskedArray):
            names = _names(X, array.shape[1])
            single = array.dtype == np.float32
            values = np.ascontiguousarray(array, None if single else np.float64)
            found = Attributes(values, names, (None,) * len(names))
        elif array.ndim == 2 and array.size > 0 and array.dtype.kind in "OUS":
            found = _of_objects(array, _names(X, array.shape[1]), who)
        else:
            checked = check_table(X, who, missing=True)
            names = _names(X, checked.shape[1])
            found = Attributes(np.ascontiguousarray(checked), names, (None,) * len(names))
    chosen = _chosen(nominal, found.names)
    return _with_levels(found, chosen) if chosen else found


def in_memory(values: NDArray[Any] | Blocks) -> FloatArray:
    """Values of attributes as an array of their own."""
    whole = values.to_numpy() if isinstance(values, Blocks) else values
    return whole.astype(np.float64)


def _names(X: Any, number: int) -> tuple[str, ...]:
    names = column_names(X)
    if names is None:
        return tuple(f"x{j}" for j in range(number))
    check_unique(names)
    return tuple(names)


def _of_table(table: Table) -> Attributes:
    names = table.feature_names
    levels = tuple(table.column(name).levels for name in names)
    values = np.ascontiguousarray(table.to_numpy(nominal="codes"))
    return Attributes(values, names, levels)


def _of_blocks(blocks: Blocks) -> Attributes:
    names = blocks.names or tuple(f"x{j}" for j in range(blocks.shape[1]))
    return Attributes(blocks, names, (None,) * len(names))


def _of_objects(array: NDArray[Any], names: tuple[str, ...], who: str) -> Attributes:
    values = np.empty(array.shape)
    levels: list[Levels | None] = []
    numeric = []
    for j in range(array.shape[1]):
        items = array[:, j].tolist()
        if array.dtype != object or any(isinstance(item, str | bytes) for item in items):
            known = sorted({_text(item) for item in items if not is_missing(item)})
            place = {level: float(i) for i, level in enumerate(known)}
            values[:, j] = [np.nan if is_missing(i) else place[_text(i)] for i in items]
            levels.append(tuple(known))
        else:
            numeric.append(j)
            levels.append(None)
    if numeric:
        values[:, numeric] = check_table(array[:, numeric], who, missing=True)
    return Attributes(values, names, tuple(levels))


def _text(item: Any) -> str:
    return item.decode(errors="replace") if isinstance(item, bytes) else str(item)


def _chosen(nominal: Iterable[Any] | None, names: tuple[str, ...]) -> list[int]:
    """Positions of the columns that are to be nominal, given by name, position or mask."""
    if nominal is None:
        return []
    given = list([nominal] if isinstance(nominal, str | int) else nominal)
    if given and all(isinstance(each, bool | np.bool_) for each in given):
        if len(given) != len(names):
            raise SubscapeError(f"nominal has {len(given)} entries for {len(names)} columns")
        return [j for j, flag in enumerate(given) if flag]
    if all(isinstance(each, str) for each in given):
        check_known(given, names)
        return [names.index(each) for each in given]
    wrong = [
        each
        for each in given
        if not isinstance(each, int | np.integer) or not -len(names) <= each < len(names)
    ]
    if wrong:
        raise SubscapeError(
            f"nominal lists columns by name or by position below {len(names)}, or is a mask; "
            f"these are neither: {listing(wrong)}"
        )
    return sorted({int(each) % len(names) for each in given})


def _with_levels(found: Attributes, chosen: list[int]) -> Attributes:
    """The same columns, the chosen ones nominal: every value is a level."""
    if isinstance(found.values, Blocks):
        raise TypeError(
            "nominal columns need the table in memory; read it with Table.read, or leave out "
            f"{listing([found.names[j] for j in chosen], 3)}"
        )
    values, levels = found.values.astype(np.float64), list(found.levels)
    for j in chosen:
        if levels[j] is None:
            column, codes = in_levels(Column(found.names[j]), values[:, j])
            values[:, j] = np.where(codes < 0, np.nan, codes)
            levels[j] = column.levels
    return Attributes(values, found.names, tuple(levels))
