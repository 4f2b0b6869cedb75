"""One column of a table: its name, its role, and how its values are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError, count, listing
from subscape.core.types import FloatArray, IntArray

from .dates import read_dates
from .numbers import LONG_INTEGER, is_number, read_numbers

__all__ = ["Column", "is_number", "parse_dates", "parse_numbers"]

Role = Literal["numeric", "nominal", "date", "id", "label", "ignore"]
Kind = Literal["number", "text", "date"]

#: What a column can be used for; only numeric and nominal columns are features.
ROLES: tuple[str, ...] = get_args(Role)

#: What is said of a column of such cells; notes with these words stand above every answer.
NOT_AS_NUMBERS = "looks like numbers and is not used as such"

#: What may be done to the numbers of a column before they are used.
TRANSFORMS: tuple[str, ...] = ("log", "log1p", "sqrt", "square", "negate")


@dataclass(frozen=True, slots=True)
class Column:
    """Name, role and levels of one column.

    Attributes
    ----------
    name : str
    role : {"numeric", "nominal", "date", "id", "label", "ignore"}
        What it is used for. Numeric and nominal columns are features.
    kind : {"number", "text", "date"}
        How its values are kept: as float64, as codes into ``levels``, as days since 1970-01-01.
    levels : tuple of str or None
        The different texts of a text column.
    note : str
        Why it has this role, where that is not plain.
    unit : str
        What its numbers are measured in, where the cells say so.
    order : tuple of str
        For numbers that were made of levels: the levels of 1, 2, …
    transform : str
        What was done to its numbers: one of ``TRANSFORMS``.
    unused : str
        Why a column that looks like numbers is not used as such.

    See Also
    --------
    subscape.Table : All columns.

    Examples
    --------
    >>> Column("colour", "nominal", "text", ("blue", "red")).is_feature
    True
    """

    name: str
    role: str = "numeric"
    kind: str = "number"
    levels: tuple[str, ...] | None = None
    note: str = ""
    unit: str = ""
    order: tuple[str, ...] = ()
    transform: str = ""
    unused: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise SubscapeError(
                f"column {self.name!r}: there is no role {self.role!r}, choose one of "
                f"{listing(ROLES, len(ROLES))}"
            )
        if (self.kind == "text") != (self.levels is not None):
            raise SubscapeError(f"column {self.name!r}: text has levels, and only text has them")
        if (self.role == "nominal" and self.kind != "text") or (
            self.role == "numeric" and self.kind == "text"
        ):
            raise SubscapeError(
                f"column {self.name!r} is kept as {self.kind} and cannot be {self.role}"
            )

    @property
    def is_feature(self) -> bool:
        """Whether clusters may be sought in it."""
        return self.role in ("numeric", "nominal")


class WithSchema:
    """What tables tell by their columns, wherever the rows are."""

    schema: tuple[Column, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features, that is, of numeric and nominal columns."""
        return self.n_rows, len(self.feature_names)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the numeric and nominal columns, in order."""
        return tuple(c.name for c in self.schema if c.is_feature)

    @cached_property
    def numeric_names(self) -> tuple[str, ...]:
        """Names of the numeric columns, in order."""
        return tuple(c.name for c in self.schema if c.role == "numeric")

    @property
    def roles(self) -> dict[str, str]:
        """The role of each column, by name."""
        return {c.name: c.role for c in self.schema}


def check_unique(names: Iterable[str]) -> None:
    """Refuse names that occur twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise SubscapeError(
            f"{count(len(twice), 'column name')} more than once: {listing(twice)}; "
            "rename them, so that every column has its own name"
        )


def check_known(asked: Iterable[str], names: Collection[str]) -> None:
    """Refuse names that the table does not have, and offer what was perhaps meant."""
    known = names if isinstance(names, dict) else set(names)
    unknown = [name for name in asked if name not in known]
    if unknown:
        near = get_close_matches(str(unknown[0]), list(names), n=3)
        hint = f"did you mean {listing(near)}?" if near else f"it has {listing(names, 8)}"
        raise SubscapeError(f"the table has no column {listing(unknown)}; {hint}")


def parse_numbers(texts: Iterable[str], decimal: str = ".") -> FloatArray | None:
    """Texts as plain numbers ("-" is missing), or None where one of them is no number.

    >>> parse_numbers(["1.5", "-2e3", "-"])
    array([ 1.5e+00, -2.0e+03,      nan])
    >>> parse_numbers(["1.5", "many"]) is None
    True
    """
    numbers = []
    for text in texts:
        plain = text if decimal == "." else text.replace(decimal, ".")
        if plain == "-":
            numbers.append(np.nan)
        elif is_number(plain):
            numbers.append(float(plain))
        else:
            return None
    values = np.array(numbers, dtype=np.float64)
    return None if np.isnan(values).all() else values


def parse_dates(texts: Iterable[str]) -> FloatArray | None:
    """Dates and times as days since 1970-01-01, or None where one of them is no date.

    >>> parse_dates(["1970-01-02", "1970-01-01T12:00:00Z"])
    array([1. , 0.5])
    """
    levels = list(texts)
    found = read_dates(levels, np.ones(len(levels), dtype=np.int64)) if levels else None
    return None if found is None or not found.good.all() else found.values


def as_dates(days: FloatArray) -> NDArray[np.datetime64]:
    """Days since 1970-01-01 as datetime64, NaT where missing."""
    milliseconds = np.rint(days * 86_400_000)
    dates = np.full(len(days), np.datetime64("NaT", "ms"))
    present = ~np.isnan(days)
    dates[present] = milliseconds[present].astype(np.int64).astype("datetime64[ms]")
    return dates


def through_levels(codes: NDArray[Any], values: FloatArray) -> FloatArray:
    """The value of each cell's level; NaN where the cell is missing."""
    return np.append(values, np.nan)[codes]


def as_texts(column: Column, data: NDArray[Any]) -> list[str | None]:
    """The cells of a column as texts, None where missing."""
    if column.levels is not None:
        levels = np.array([*column.levels, None], dtype=object)
        return levels[data].tolist()
    if column.kind == "date":
        dates = as_dates(data)
        whole = bool(np.all(np.isnan(data) | (data == np.floor(data))))
        texts = np.datetime_as_string(dates, unit="D" if whole else "s").tolist()
        return [None if np.isnat(date) else t for date, t in zip(dates, texts, strict=True)]
    return [None if np.isnan(x) else f"{x:.15g}" for x in data.tolist()]


def as_values(column: Column, data: NDArray[Any]) -> NDArray[Any]:
    """The cells of a column as it was read: float64, datetime64, or text and None."""
    if column.levels is not None:
        return np.array(as_texts(column, data), dtype=object)
    return as_dates(data) if column.kind == "date" else data


def as_names(column: Column, data: NDArray[Any]) -> list[str]:
    """The cells of a column as names of the rows."""
    return [f"row {i}" if text is None else text for i, text in enumerate(as_texts(column, data))]


def in_levels(column: Column, data: NDArray[Any]) -> tuple[Column, NDArray[np.int32]]:
    """A column of numbers or dates as text: one level per value, in increasing order."""
    present = ~np.isnan(data)
    values, inverse = np.unique(data[present], return_inverse=True)
    codes = np.full(len(data), -1, dtype=np.int32)
    codes[present] = inverse
    levels = tuple(str(t) for t in as_texts(column, values))
    return replace(column, role="ignore", kind="text", levels=levels), codes


def sorted_levels(column: Column, codes: NDArray[Any]) -> tuple[Column, NDArray[np.int32]]:
    """The same text column with its levels in alphabetical order; numbers by their size."""
    levels = column.levels or ()
    numbers = parse_numbers(levels)
    by_size = numbers is not None and not np.isnan(numbers).any()
    keys: Any = numbers.tolist() if numbers is not None and by_size else levels
    order = sorted(range(len(levels)), key=lambda j: (keys[j], levels[j]))
    rank = np.empty(len(levels) + 1, dtype=np.int32)
    rank[order] = np.arange(len(levels))
    rank[-1] = -1
    return replace(column, levels=tuple(levels[j] for j in order)), rank[codes]


def recast(column: Column, data: NDArray[Any], role: str) -> tuple[Column, NDArray[Any]]:
    """The column in another role, its values converted where the role needs it."""
    unordered = column.levels is not None and column.role in ("id", "ignore")
    note = ""
    if role == "numeric" and column.levels is not None:
        numbers, unit, note = _numbers_of(column)
        column, data = Column(column.name, unit=unit), through_levels(data, numbers)
    elif role == "nominal" and column.levels is None:
        column, data = in_levels(column, data)
    elif role == "date" and column.kind != "date":
        days = None if column.levels is None else parse_dates(column.levels)
        if days is None:
            raise TypeError(
                f"column {column.name!r} cannot be a date: its values are not like 2024-12-31"
            )
        column, data = Column(column.name, "date", "date"), through_levels(data, days)
    if role in ("nominal", "label") and unordered:
        column, data = sorted_levels(column, data)
    return replace(column, role=role, note=note, unused=""), data


def _numbers_of(column: Column) -> tuple[FloatArray, str, str]:
    """The number of each level, their unit, and what was lost; an error where one is none."""
    levels = [level for level in column.levels or () if level != "-"]
    found = read_numbers(levels, np.ones(len(levels), dtype=np.int64))
    long = [LONG_INTEGER.fullmatch(level) is not None for level in levels]
    values = np.where(long, [float(t) if is_long else 0.0 for t, is_long in
                             zip(levels, long, strict=True)], found.values)  # fmt: skip
    odd = [t for t, good, is_long in zip(levels, found.good, long, strict=True)
           if not good and not is_long]  # fmt: skip
    if odd or not levels:
        said = "is no number" if len(odd) == 1 else "are no numbers"
        raise TypeError(
            f"column {column.name!r} cannot be numeric: {listing(odd)} {said}; make it "
            "nominal or ignore it"
        )
    merged = len(levels) - len(np.unique(values))
    note = f"{count(merged, 'different value')} became equal as numbers" if merged and any(
        long) else ""  # fmt: skip
    by_level = dict(zip(levels, values.tolist(), strict=True))
    whole = np.array([by_level.get(level, np.nan) for level in column.levels or ()])
    return whole, found.unit, note


def transformed(values: FloatArray, how: str, name: str) -> FloatArray:
    """The numbers of a column after a transform; an error where one has no such value.

    >>> transformed(np.array([1.0, np.e, np.nan]), "log", "x")
    array([ 0.,  1., nan])
    """
    if not how:
        return values
    floor = {"log": 0.0, "log1p": -1.0}.get(how)
    lowest = np.nanmin(values) if not np.isnan(values).all() else np.nan
    if (floor is not None and lowest <= floor) or (how == "sqrt" and lowest < 0):
        raise SubscapeError(
            f"column {name!r} has the value {lowest:.15g}, of which there is no {how}; choose "
            "another transform"
        )
    if how == "negate":
        return -values
    functions = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "square": np.square}
    return np.asarray(functions[how](values), dtype=np.float64)


def as_labels(column: Column, data: NDArray[Any]) -> IntArray:
    """Groups of equal values, numbered 0 … K-1; -1 where missing or where an integer is -1."""
    present = data >= 0 if column.levels is not None else ~np.isnan(data)
    if column.kind == "number" and np.all(data[present] == np.floor(data[present])):
        present &= data != -1
    labels = np.full(len(data), -1, dtype=np.int64)
    labels[present] = np.unique(data[present], return_inverse=True)[1]
    return labels
