"""From columns as read to a table: what each column is for, and its values as numbers or codes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError, count
from subscape.core.types import FloatArray

from .columns import (
    Column,
    check_known,
    check_unique,
    parse_dates,
    parse_numbers,
    sorted_levels,
    through_levels,
)
from .table import Table

#: Texts that mean "no value"; "-" is one too where all other texts are numbers.
MARKERS = frozenset(["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?"])

_KEY = re.compile(r"(?i:(?:.*[_\s-])?(?:id|uuid|guid|key)|row[_\s]?names?)|.*[a-z]I[dD]")
_COUNTER = re.compile(r"index|idx|rows?|nr|no|number|obs|unnamed: 0", re.IGNORECASE)
_NAME = re.compile(r"(?:row|sample|case|object)?[_\s]?names?|sample|case|gene", re.IGNORECASE)
_LABEL = re.compile(r"(?:class(?:es)?|labels?|targets?|truth)(?:[_\s]?\d+)?", re.IGNORECASE)

#: Up to this many different texts are levels, however few rows there are.
FEW = 10


class Wishes(NamedTuple):
    """What the user said about the columns."""

    roles: Mapping[str, str]
    id: str | None = None
    label: tuple[str, ...] = ()

    def by_column(self) -> dict[str, str]:
        """Role by column, ``id`` and ``label`` included."""
        said = dict(self.roles)
        for name in self.label:
            if said.setdefault(name, "label") != "label":
                raise SubscapeError(f"column {name!r} is both {said[name]} and label; choose one")
        if self.id is not None and said.setdefault(self.id, "id") != "id":
            raise SubscapeError(f"column {self.id!r} is both {said[self.id]} and id; choose one")
        return said

    @property
    def literal(self) -> frozenset[str]:
        """Columns whose values are to be kept letter by letter, even if they look like numbers."""
        return frozenset(n for n, role in self.by_column().items() if role in ("nominal", "id"))


class TypedColumn(NamedTuple):
    """A column whose role is known. Values: an arrow array if numeric, else a NumPy array."""

    column: Column
    values: Any


class Habits(NamedTuple):
    """How texts are to be understood.

    ``markers``: whether ``MARKERS`` mean missing in every text column; ``decimal``: the decimal
    sign of numbers that are still text; ``guess_labels``: whether a name may tell a label column.
    """

    markers: bool = False
    decimal: str = "."
    guess_labels: bool = True


def table_from_arrow(
    names: Sequence[str],
    arrays: list[Any],
    wanted: Wishes,
    *,
    markers: bool = False,
    decimal: str = ".",
    **parts: Any,
) -> Table:
    """A table of arrow arrays; the list is emptied, so that memory is given back on the way.

    Parameters
    ----------
    names : sequence of str
    arrays : list of pyarrow.ChunkedArray
        One per name.
    wanted : Wishes
    markers, decimal
        See ``Habits``.
    **parts
        ``index``, ``source`` and ``reading_notes`` of the table.
    """
    if not names:
        raise SubscapeError("the table has no columns")
    check_unique(names)
    roles = wanted.by_column()
    check_known(roles, names)
    n_rows = len(arrays[0])
    if n_rows == 0:
        raise SubscapeError(f"the table has {count(len(names), 'column')} but no rows")
    habits = Habits(markers, decimal, "label" not in roles.values())
    schema: list[Column] = []
    others: dict[str, NDArray[Any]] = {}
    left_out: list[str] = []
    literal = wanted.literal
    for j, name in enumerate(names):
        cells, arrays[j] = arrays[j], None
        found = type_column(name, cells, habits, literal=name in literal)
        if found is None:
            left_out.append(f"{name!r} ({cells.type})")
            continue
        column = found.column
        if column.role == "id" and wanted.id not in (None, name):
            column = replace(column, role="ignore", note="every row has another value")
        schema.append(column)
        if column.role == "numeric":
            arrays[j] = found.values
        else:
            others[name] = found.values
    if not schema:
        raise SubscapeError(f"no column holds numbers, text or dates: {', '.join(left_out[:5])}")
    if left_out:
        said = f"left out, because neither number, text nor date: {', '.join(left_out[:5])}"
        parts["reading_notes"] = (*parts.get("reading_notes", ()), said)
    parts["source"] = {**parts.get("source", {}), "rows": n_rows}
    table = Table(tuple(schema), _matrix(arrays, n_rows), others, **parts)
    return table.with_roles(roles)


def _matrix(arrays: list[Any], n_rows: int) -> FloatArray:
    """The arrow columns side by side, filled chunk by chunk, each chunk freed when done."""
    import pyarrow as pa

    numeric = [cells for cells in arrays if cells is not None]
    arrays.clear()
    X = np.empty((n_rows, len(numeric)))
    if not numeric:
        return X
    names = [str(j) for j in range(len(numeric))]
    batches = pa.Table.from_arrays(numeric, names=names).to_batches()
    del numeric
    batches.reverse()
    start = 0
    while batches:
        batch = batches.pop()
        stop = start + batch.num_rows
        for j in range(batch.num_columns):
            X[start:stop, j] = as_float(batch.column(j))
        start = stop
        del batch
        if len(batches) % 16 == 0:
            # Freed chunks stay with arrow otherwise, and the table would be in memory twice.
            pa.default_memory_pool().release_unused()
    return X


def as_float(cells: Any) -> FloatArray:
    """An arrow array of numbers as float64, NaN where null."""
    import pyarrow as pa

    if cells.type != pa.float64():
        cells = cells.cast(pa.float64(), safe=False)
    # A ChunkedArray has no zero_copy_only before pyarrow 16; NumPy asks in the right way.
    return np.asarray(cells, dtype=np.float64)


def type_column(
    name: str, cells: Any, habits: Habits, *, literal: bool = False
) -> TypedColumn | None:
    """Role and values of one column, or None where it is neither number, text nor date."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds, kind = pa.types, cells.type
    if kinds.is_dictionary(kind):
        return _settle_levels(name, *_coded(cells), habits, declared=True)
    if kinds.is_boolean(kind):
        codes = np.asarray(pc.fill_null(cells.cast(pa.int32()), -1), dtype=np.int32)
        return _settle_levels(name, codes, ["False", "True"], habits, declared=True)
    if kinds.is_integer(kind) and not literal:
        ends = pc.min_max(cells).as_py()
        literal = max(abs(ends["min"] or 0), abs(ends["max"] or 0)) > 2**53
    if literal and kinds.is_integer(kind):
        cells = cells.cast(pa.string())
    elif literal and kinds.is_floating(kind):
        texts = [None if np.isnan(x) else f"{x:.15g}" for x in as_float(cells).tolist()]
        cells = pa.chunked_array([pa.array(texts, type=pa.string())])
    kind = cells.type
    if str(kind) in ("string", "large_string", "string_view"):
        return _settle_text(name, cells, habits, literal)
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        stamps = cells.cast(pa.timestamp("ms", tz=getattr(kind, "tz", None)), safe=False)
        return _settle_days(name, as_float(stamps.cast(pa.int64())) / 86_400_000)
    if kinds.is_duration(kind):
        seconds = as_float(cells.cast(pa.duration("ns")).cast(pa.int64())) / 1e9
        return _settle_number(name, _arrow(seconds), habits, "durations, in seconds")
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        return _settle_number(name, cells, habits)
    return _empty(name, len(cells)) if kinds.is_null(kind) else None


def _arrow(values: FloatArray) -> Any:
    import pyarrow as pa

    return pa.chunked_array([pa.array(values)])


def _empty(name: str, n_rows: int) -> TypedColumn:
    return TypedColumn(Column(name, "ignore", note="has no values"), np.full(n_rows, np.nan))


def _coded(cells: Any) -> tuple[NDArray[np.int32], list[str | None]]:
    """Codes (-1 = null) and levels of an arrow column of text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if str(cells.type) == "string_view":
        cells = cells.cast(pa.large_string())
    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.unify_dictionaries().combine_chunks()
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.chunk(0)
    codes = np.asarray(pc.fill_null(cells.indices.cast(pa.int32()), -1), dtype=np.int32)
    return codes, [None if level is None else str(level) for level in cells.dictionary.to_pylist()]


def _cleaned(
    codes: NDArray[np.int32], levels: Sequence[str | None], markers: frozenset[str]
) -> tuple[NDArray[np.int32], list[str]]:
    """Levels without surrounding blanks and without the markers of missing cells."""
    place: dict[str, int] = {}
    renumber = np.full(len(levels) + 1, -1, dtype=np.int32)
    for old, level in enumerate(levels):
        text = None if level is None else level.strip()
        if text and text not in markers:
            renumber[old] = place.setdefault(text, len(place))
    return renumber[codes], list(place)


def _settle_text(name: str, cells: Any, habits: Habits, literal: bool) -> TypedColumn:
    markers = MARKERS if habits.markers else frozenset[str]()
    codes, levels = _cleaned(*_coded(cells), markers)
    if not levels:
        return _empty(name, len(codes))
    if not literal:
        plain = ["nan" if text in MARKERS else text for text in levels]
        numbers = parse_numbers(plain, habits.decimal)
        if numbers is not None:
            return _settle_number(name, _arrow(through_levels(codes, numbers)), habits)
        days = parse_dates(levels)
        if days is not None:
            return _settle_days(name, through_levels(codes, days))
    return _settle_levels(name, codes, levels, habits)


def _settle_levels(
    name: str,
    codes: NDArray[np.int32],
    levels: Sequence[str | None],
    habits: Habits,
    *,
    declared: bool = False,
) -> TypedColumn:
    if declared:
        levels = ["" if level is None else level for level in levels]
    present = int((codes >= 0).sum())
    if present == 0:
        return _empty(name, len(codes))
    used = len(np.unique(codes[codes >= 0]))
    all_differ = used == len(codes) > 1
    telling = any(pattern.fullmatch(name) for pattern in (_KEY, _COUNTER, _NAME))
    role, note = "nominal", ""
    if all_differ and (len(codes) >= FEW or telling):
        role = "id"
    elif habits.guess_labels and _LABEL.fullmatch(name):
        role, note = "label", "taken as a label because of its name, not used as a feature"
    elif used > FEW and used > present / 2:
        # On average a level is then in fewer than two rows, so grouping by it says nothing.
        role, note = "ignore", f"text with {used} different values in {present} rows"
    column = Column(name, role, "text", tuple(str(level) for level in levels), note)
    if declared or role in ("id", "ignore"):
        return TypedColumn(column, codes)
    return TypedColumn(*sorted_levels(column, codes))


def _settle_days(name: str, days: FloatArray) -> TypedColumn:
    if np.isnan(days).all():
        return _empty(name, len(days))
    return TypedColumn(Column(name, "date", "date"), days)


def _settle_number(name: str, cells: Any, habits: Habits, note: str = "") -> TypedColumn:
    import pyarrow.compute as pc

    n_rows = len(cells)
    if cells.null_count == n_rows or pc.all(pc.is_null(cells, nan_is_null=True)).as_py():
        return _empty(name, n_rows)
    key, counter = _KEY.fullmatch(name), _COUNTER.fullmatch(name)
    label = habits.guess_labels and _LABEL.fullmatch(name)
    if key or counter or label:
        values = as_float(cells)
        present = values[~np.isnan(values)]
        different = np.unique(present)
        whole = bool(np.all(different == np.floor(different)))
        if whole and n_rows > 1 and len(different) == n_rows:
            running = different[0] in (0, 1) and different[-1] - different[0] == n_rows - 1
            if key or (counter and running):
                return TypedColumn(Column(name, "id"), values)
        if whole and label and len(different) <= min(100, len(present) / 2):
            said = "taken as a label because of its name, not used as a feature"
            return TypedColumn(Column(name, "label", note=said), values)
    return TypedColumn(Column(name, note=note), cells)
