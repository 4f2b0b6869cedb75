"""From columns as read to the parts of a table: what each is for, and its values as numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError, count, listing
from subscape.core.types import FloatArray

from .columns import (
    Column,
    check_known,
    check_unique,
    is_number,
    sorted_levels,
    through_levels,
    transformed,
)
from .dates import compact_days
from .numbers import ALMOST_ALL, examples, has_more_than_a_number, is_two_numbers
from .parts import ColumnOptions, Parts, Wishes
from .texts import MARKERS, truth_words, understand

_KEY = re.compile(r"(?i:(?:.*[_\s-])?(?:id|uuid|guid|key)|row[_\s]?names?)|.*[a-z]I[dD]")
_COUNTER = re.compile(
    r"index|idx|rows?|(?:lfd\.? ?|sr?\.? ?)?(?:nr|no)\.?|number|obs|#|№|n[°º]\.?|"
    r"unnamed: \d+(?:\.\d+)*",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:row|sample|case|object)?[_\s]?names?|sample|case|gene", re.IGNORECASE)
_LABEL = re.compile(r"(?:class(?:es)?|labels?|targets?|truth)(?:[_\s]?\d+)?", re.IGNORECASE)

#: Up to this many different texts are levels, however few rows there are.
FEW = 10


def may_be_aside(name: str) -> bool:
    """Whether a column of numbers with this name may be no feature, which its values decide.

    >>> may_be_aside("customer_id"), may_be_aside("class"), may_be_aside("height")
    (True, True, False)
    """
    return any(pattern.fullmatch(name) for pattern in (_KEY, _COUNTER, _LABEL))


class TypedColumn(NamedTuple):
    """A column whose role is known. Values: an arrow array if numeric, else a NumPy array."""

    column: Column
    values: Any


class Habits(NamedTuple):
    """How texts are to be understood.

    ``markers``: whether ``MARKERS`` mean missing in every text column; ``decimal``: the decimal
    sign of numbers that are still text, and ``is_sure`` whether it was said; ``guess_labels``:
    whether a name may tell a label column; ``missing``: further texts that mean no value;
    ``is_mixed``: whether the file has decimal points and decimal commas; ``line_of``: where in the
    file a row stands, in words.
    """

    markers: bool = False
    decimal: str = "."
    is_sure: bool = False
    guess_labels: bool = True
    missing: tuple[str, ...] = ()
    is_mixed: bool = False
    line_of: Callable[[int], str] = lambda row: f"row {row + 1}"


def parts_from_arrow(
    names: Sequence[str],
    arrays: list[Any],
    wanted: Wishes,
    habits: Habits = Habits(),  # noqa: B008
    *,
    row_names: str | None = None,
    index: tuple[str, ...] | None = None,
    source: dict[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Parts:
    """The parts of a table of arrow arrays; the list is emptied, so that memory is given back.

    Parameters
    ----------
    names : sequence of str
    arrays : list of pyarrow.ChunkedArray
        One per name.
    wanted : Wishes
    habits : Habits
    row_names : str, optional
        A column that names the rows by its place, whatever its values.
    index, source, notes
        As in ``Parts``.
    """
    if not names:
        raise SubscapeError("the table has no columns")
    check_unique(names)
    roles = wanted.by_column()
    check_known(wanted.named, names)
    n_rows = len(arrays[0])
    if n_rows == 0:
        raise SubscapeError(f"the table has {count(len(names), 'column')} but no rows")
    habits = habits._replace(
        guess_labels="label" not in roles.values(), missing=(*habits.missing, *wanted.missing)
    )
    schema: list[Column] = []
    others: dict[str, NDArray[Any]] = {}
    left_out: list[str] = []
    literal = wanted.literal
    for j, name in enumerate(names):
        cells, arrays[j] = arrays[j], None
        asked = wanted.about(name) if name in roles or name in wanted.columns else ColumnOptions()
        found = type_column(name, cells, habits, asked, literal=name in literal)
        if found is None:
            left_out.append(f"{name!r} ({cells.type})")
            continue
        if name == row_names and not asked.role:
            found = _settle_row_names(found)
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
        notes = (*notes, said)
    about = {**(source or {}), "rows": n_rows}
    return Parts(tuple(schema), _matrix(arrays, n_rows), others, index, about, tuple(notes))


def _settle_row_names(found: TypedColumn) -> TypedColumn:
    """A first column without a name: the row names of R and the index of pandas."""
    column, values = found
    if column.role == "numeric":
        values = as_float(values)
    present = values >= 0 if column.levels is not None else ~np.isnan(values)
    if not present.any():
        return _empty(column.name, len(values))
    if len(np.unique(values[present])) == len(values):
        note = "the first column has no name and names the rows"
        return TypedColumn(replace(column, role="id", note=note, unused=""), values)
    note = "the first column has no name and repeats values: the index of a data frame"
    return TypedColumn(replace(column, role="ignore", note=note, unused=""), values)


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
    name: str,
    cells: Any,
    habits: Habits,
    asked: ColumnOptions = ColumnOptions(),  # noqa: B008
    *,
    literal: bool = False,
) -> TypedColumn | None:
    """Role and values of one column, or None where it is neither number, text nor date."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds, kind = pa.types, cells.type
    missing = (*habits.missing, *asked.missing)
    if kinds.is_dictionary(kind) and not asked.order:
        return _settle_levels(name, *_coded(cells), habits, declared=True)
    if kinds.is_dictionary(kind):
        cells = cells.cast(pa.string())
    if kinds.is_boolean(kind):
        codes = np.asarray(pc.fill_null(cells.cast(pa.int32()), -1), dtype=np.int32)
        return _settle_levels(name, codes, ["False", "True"], habits, declared=True)
    unused = ""
    if kinds.is_integer(kind) and not literal:
        ends = pc.min_max(cells).as_py()
        literal = max(abs(ends["min"] or 0), abs(ends["max"] or 0)) > 2**53
        unused = LONG * literal
    if literal and kinds.is_integer(kind):
        cells = cells.cast(pa.string())
    elif literal and kinds.is_floating(kind):
        texts = [None if np.isnan(x) else f"{x:.15g}" for x in as_float(cells).tolist()]
        cells = pa.chunked_array([pa.array(texts, type=pa.string())])
    kind = cells.type
    if str(kind) in ("string", "large_string", "string_view"):
        found = _settle_text(name, cells, habits, asked, literal)
        if unused and found.column.kind == "text":
            found = found._replace(column=replace(found.column, unused=unused))
        return found
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        stamps = cells.cast(pa.timestamp("ms", tz=getattr(kind, "tz", None)), safe=False)
        return _settle_days(name, as_float(stamps.cast(pa.int64())) / 86_400_000)
    if kinds.is_time(kind):
        unit = getattr(kind, "unit", "s")
        per_hour = 3600 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        whole = cells.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        hours = _arrow(as_float(whole) / per_hour)
        return _settle_number(name, hours, habits, asked, "times, in hours")
    if kinds.is_duration(kind):
        seconds = as_float(cells.cast(pa.duration("ns")).cast(pa.int64())) / 1e9
        return _settle_number(name, _arrow(seconds), habits, asked, "durations, in seconds")
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        cells = _without(cells, missing)
        if asked.transform:
            cells = _arrow(transformed(as_float(cells), asked.transform, name))
        found = _settle_number(name, cells, habits, asked)
        if found.column.kind == "date":
            return found
        extra = replace(found.column, unit=asked.unit, transform=asked.transform)
        return found._replace(column=extra)
    return _empty(name, len(cells)) if kinds.is_null(kind) else None


#: What is said of a feature that is called like a key.
KEY_AGAIN = (
    "called like a key, but its values repeat, so it is used as a feature; if it only names "
    "things, give it the role ignore (columns=…)"
)
#: Why a column of whole numbers is not used as numbers.
LONG = (
    "whole numbers beyond 2^53 are kept as text, because neighbours would become equal as numbers"
)


def _without(cells: Any, missing: Sequence[str]) -> Any:
    """Numbers without those that were said to mean no value."""
    codes = [float(text) for text in missing if is_number(text)]
    if not codes:
        return cells
    values = as_float(cells).copy()
    values[np.isin(values, codes)] = np.nan
    return _arrow(values)


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


def _settle_text(
    name: str, cells: Any, habits: Habits, asked: ColumnOptions, literal: bool
) -> TypedColumn:
    gone = frozenset((*habits.missing, *asked.missing))
    codes, levels = _cleaned(*_coded(cells), (MARKERS if habits.markers else frozenset()) | gone)
    if not levels:
        return _empty(name, len(codes))
    if asked.order:
        return _settle_ordered(name, codes, levels, asked)
    if literal:
        return _settle_levels(name, codes, levels, habits)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    found = understand(
        levels,
        counts,
        decimal=habits.decimal,
        is_sure=habits.is_sure,
        is_mixed=habits.is_mixed,
        asked=asked,
    )
    if found.culprit:
        place = habits.line_of(int(np.argmax(codes == levels.index(found.culprit))))
        said = f" ({found.culprit[:30]!r} in {place})"
        found = found._replace(
            note=found.note and found.note + said, unused=found.unused and found.unused + said
        )
    if found.kind == "date":
        return _settle_days(name, through_levels(codes, found.values), found.note)
    if found.kind == "number":
        values = transformed(through_levels(codes, found.values), asked.transform, name)
        settled = _settle_number(name, _arrow(values), habits, asked, found.note)
        if settled.column.kind == "date":
            return settled
        column = replace(settled.column, unit=asked.unit or found.unit, transform=asked.transform)
        return settled._replace(column=column)
    words = truth_words(levels, counts)
    if words is not None:
        kept = list(dict.fromkeys(words))
        codes = np.append([kept.index(word) for word in words], -1).astype(np.int32)[codes]
        settled = _settle_levels(name, codes, kept, habits)
        note = settled.column.note or f"{len(words)} spellings of yes and no taken as two levels"
        return settled._replace(column=replace(settled.column, note=note))
    settled = _settle_levels(name, codes, levels, habits)
    if found.note or settled.column.role == "nominal":
        remarks = [found.note, settled.column.note]
        if settled.column.role == "nominal":
            remarks += [_of_figures(levels, counts, found.unused), _alike(levels)]
            remarks += [_of_choices(levels), KEY_AGAIN * bool(_KEY.fullmatch(name))]
        told = "; ".join(filter(None, remarks))
        settled = settled._replace(column=replace(settled.column, note=told))
    if not found.unused and settled.column.note and settled.column.role in ("ignore", "id"):
        found = found._replace(unused=_two_numbers(levels, counts))
    if found.unused and not _KEY.fullmatch(name):
        column = replace(settled.column, unused=found.unused)
        if found.culprit and column.role == "id" and not _NAME.fullmatch(name):
            # Numbers that differ in every row are no names because some of them are badly written.
            column = replace(column, role="ignore", note="")
        settled = settled._replace(column=column)
    return settled


def _two_numbers(levels: Sequence[str], counts: NDArray[Any]) -> str:
    """Why texts of two numbers each, or of one and more, are not used; empty if they are none."""
    for what, belongs, way in (
        ("two numbers", is_two_numbers, "in a column for each they are used"),
        ("a number and more", has_more_than_a_number, "in a column of its own it is used"),
    ):
        such = np.array([belongs(text) for text in levels])
        n_cells = int(counts[such].sum())
        if n_cells >= ALMOST_ALL * counts.sum():
            shown = examples(list(levels), such, counts)
            return f"{count(n_cells, 'cell')} hold {what}: {shown}; {way}"
    return ""


def _of_figures(levels: Sequence[str], counts: NDArray[Any], unused: str) -> str:
    """What is said of levels that begin with figures, such as 20-29: they may have an order."""
    such = np.array([re.match(r"\W{0,2}\d", text) is not None for text in levels])
    if unused or len(levels) < 3 or counts[such].sum() < ALMOST_ALL * counts.sum():
        return ""
    shown = examples(list(levels), such, counts)
    return f"levels such as {shown} have no order; one can be said (columns=…)"


def _of_choices(levels: Sequence[str]) -> str:
    """What is said of levels that are several choices each, as of surveys; they come in many."""
    for sign in (", ", "; ", ";", "|"):
        parts = [[part.strip() for part in level.split(sign) if part.strip()] for level in levels]
        times = Counter(part for level in parts for part in set(level))
        # Places such as "Lyon, France" share what stands behind, and not what stands in front;
        # names in two parts have two of them always.
        if (
            2 < len(times) <= len(levels)
            and min(times.values()) > 1
            and len({len(level) for level in parts}) > 1
        ):
            shown = listing([text for text, level in zip(levels, parts, strict=True)
                             if len(level) > 1], 2)  # fmt: skip
            return f"levels that seem to be several choices each ({shown}) are one level each"
    return ""


def _alike(levels: Sequence[str]) -> str:
    """What is said of levels that differ in capitals and blanks only."""
    by_letters: dict[str, list[str]] = {}
    for level in levels:
        by_letters.setdefault(" ".join(level.split()).casefold(), []).append(level)
    alike = next((same for same in by_letters.values() if len(same) > 1), None)
    if alike is None:
        return ""
    return f"levels that differ in capitals or blanks only are kept apart: {listing(alike, 3)}"


def _settle_ordered(
    name: str, codes: NDArray[np.int32], levels: Sequence[str], asked: ColumnOptions
) -> TypedColumn:
    """Levels in the order that was said; the numbers 1, 2, … where the role is numeric."""
    place = {level: i for i, level in enumerate(asked.order)}
    ranks = np.array([*(place.get(level, -1) for level in levels), -1], dtype=np.int32)[codes]
    strange = [level for level in levels if level not in place]
    lost = int(((ranks < 0) & (codes >= 0)).sum())
    note = ""
    if lost:
        note = (
            f"{count(lost, 'cell')} not in the order that was said, taken as missing: "
            f"{listing(strange, 3)}"
        )
    if asked.role in ("", "numeric"):
        values = np.where(ranks < 0, np.nan, ranks + 1.0)
        values = transformed(values, asked.transform, name)
        column = Column(name, note=note, order=asked.order, transform=asked.transform)
        return TypedColumn(column, _arrow(values))
    return TypedColumn(Column(name, "nominal", "text", asked.order, note), ranks)


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
        role, note = "id", "" if telling else "text that differs in every row"
    elif habits.guess_labels and _LABEL.fullmatch(name):
        role, note = "label", "taken as a label because of its name, not used as a feature"
    elif used > FEW and used > present / 2:
        # On average a level is then in fewer than two rows, so grouping by it says nothing.
        longest = max(len(str(level).split()) for level in levels)
        what = "free text" if longest > 4 else "text"
        role, note = "ignore", f"{what} with {used} different values in {present} rows"
    column = Column(name, role, "text", tuple(str(level) for level in levels), note)
    if declared or role in ("id", "ignore"):
        return TypedColumn(column, codes)
    return TypedColumn(*sorted_levels(column, codes))


def _settle_days(name: str, days: FloatArray, note: str = "") -> TypedColumn:
    if np.isnan(days).all():
        return _empty(name, len(days))
    return TypedColumn(Column(name, "date", "date", note=note), days)


def _settle_number(
    name: str, cells: Any, habits: Habits, asked: ColumnOptions, note: str = ""
) -> TypedColumn:
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
        if whole and key and 1 < len(different) == len(present) >= ALMOST_ALL * n_rows:
            said = "keys that differ in every row but those that have none"
            return TypedColumn(Column(name, "ignore", note=said), values)
        if whole and key and not note:
            note = KEY_AGAIN
        if whole and label and len(different) <= min(100, len(present) / 2):
            said = "taken as a label because of its name, not used as a feature"
            return TypedColumn(Column(name, "label", note=said), values)
    if asked.role in ("", "date") and not (asked.unit or asked.transform):
        first = as_float(cells.slice(0, 100))  # most columns are told apart by a few cells
        may_be_days = not (first < 19000101).any() and not (first > 20991231).any()
        days = compact_days(as_float(cells)) if may_be_days else None
        if days is not None:
            return _settle_days(name, days, "figures such as 20241231 read as dates")
    return TypedColumn(Column(name, note=note), cells)
