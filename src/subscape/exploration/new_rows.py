"""New rows in the columns, kinds and levels of the table that was explored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import ShapeMismatchError, count, listing
from subscape.core.types import FloatArray
from subscape.tables.columns import is_number
from subscape.tables.table import Table

if TYPE_CHECKING:
    from .preparation import Recipe

#: What two spellings of one value have in common; None where there is no such thing.
Key = Callable[[str], str | None]

#: What has to be known of a column, beside its role, to read it again as it was read.
READ_AGAIN = ("unit", "order", "transform")

_TRUTH = {"true": 1.0, "false": 0.0}


class NewRows(NamedTuple):
    """New rows in the searched columns, NaN where missing, and what is strange about them."""

    X: FloatArray
    notes: tuple[str, ...]


def read_as_explored(X: Any, schema: Sequence[Mapping[str, Any]], **options: Any) -> Table:
    """Read a table so that its columns are what they were in the table that was explored.

    A few new rows may look otherwise: levels such as 01 and 02 like numbers, levels that all
    differ like names of the rows.

    Parameters
    ----------
    X : path, data frame or anything else that ``Table.read`` takes
    schema : sequence of mappings
        Name and role of each column that was explored (``Study.table_schema``).
    **options
        As in ``Table.read``; an ``id`` that is said there is kept.
    """
    again = {
        str(column["name"]): {key: column[key] for key in READ_AGAIN if column.get(key)}
        for column in schema
    }
    again = {name: said for name, said in again.items() if said}
    table = Table.read(X, **options)
    again = {name: said for name, said in again.items() if name in table.roles}
    if again:
        options = options | {"columns": again}
        table = Table.read(X, **options)
    before = {str(column["name"]): str(column["role"]) for column in schema}
    said = options.get("id")
    roles, ids = {}, []
    for column in table.schema:
        role = before.get(column.name, "")
        if role == "id":
            ids.append(column.name)
        fits = role == "nominal" or (role == "numeric" and column.kind == "number")
        if fits and role != column.role and column.name != said:
            roles[column.name] = role
    if said is None and len(ids) == 1:
        options = options | {"id": ids[0]}
    elif not roles:
        return table
    # From the source again, because 01 can't be had back from the number 1.
    return Table.read(X, **options, roles=roles)


def like_before(recipes: Sequence[Recipe], table: Table) -> FloatArray:
    """The columns of an earlier preparation, for the rows of another table; NaN where missing."""
    return new_rows(recipes, table).X


def new_rows(recipes: Sequence[Recipe], table: Table) -> NewRows:
    """The same, with a sentence for each column whose values match no level that was explored."""
    known = set(table.roles)
    gone = list(dict.fromkeys(r.feature for r in recipes if r.feature not in known))
    if gone:
        raise ShapeMismatchError(
            f"{count(len(gone), 'column')} of the table that was explored not in this one: "
            f"{listing(gone)}"
        )
    levels: dict[str, list[str]] = {}
    for recipe in recipes:
        levels.setdefault(recipe.feature, []).extend(recipe.levels or ())
    X = np.empty((table.n_rows, len(recipes)))
    values: dict[str, NDArray[Any]] = {}
    notes: list[str] = []
    for j, recipe in enumerate(recipes):
        name = recipe.feature
        if name not in values and recipe.levels is None:
            values[name] = _numbers(table, name)
        elif name not in values:
            values[name] = _texts(table, name, levels[name], notes)
        X[:, j] = recipe.apply(values[name])
    return NewRows(X, tuple(notes))


def _numbers(table: Table, name: str) -> NDArray[Any]:
    """A column as numbers; true and false are 1 and 0."""
    column = table.column(name)
    if column.levels and all(level.lower() in _TRUTH for level in column.levels):
        numbers = {level: _TRUTH[level.lower()] for level in column.levels}
        return np.array([numbers.get(text, np.nan) for text in table.values(name)])
    if column.kind != "number":
        table = table.with_roles({name: "numeric"})
    return table.values(name)


def _texts(table: Table, name: str, levels: Sequence[str], notes: list[str]) -> NDArray[Any]:
    """A column in the levels that were explored; texts that match none of them stay."""
    if table.column(name).levels is None:
        table = table.with_roles({name: "nominal"})
    values = table.values(name)
    times = Counter(text for text in values.tolist() if text is not None)
    match = matched(times, levels)
    strange = {text: times[text] for text in times if text not in match}
    if strange:
        found = sum(strange.values())
        notes.append(
            f"column {name!r}: {found} of {count(sum(times.values()), 'value')} "
            f"{'matches' if found == 1 else 'match'} no level of the study "
            f"({listing(sorted(strange, key=lambda text: (-strange[text], text)), 3)}; it has "
            f"{listing(levels, 5)})"
        )
    if all(text == level for text, level in match.items()):
        return values
    return np.array([match.get(text, text) for text in values.tolist()], dtype=object)


# -- which text is which level --------------------------------------------------------------------


def matched(texts: Iterable[str], levels: Sequence[str]) -> dict[str, str]:
    """The level that each text is a spelling of; texts without one, or with several, are left out.

    The same text is the same level; else the same number, the same truth value, or the same
    number in single precision.

    >>> matched(["1", "2.0", "A3", "x"], ["01", "02", "A3"])
    {'1': '01', '2.0': '02', 'A3': 'A3'}
    >>> matched(["1", "0", "TRUE"], ["False", "True"])
    {'1': 'True', '0': 'False', 'TRUE': 'True'}
    >>> matched(["1", "1.0"], ["01", "1"])
    {'1': '1'}
    """
    keys: list[tuple[Key, Key]] = [(str, str), (_number, _number), (_truth_word, _truth_word)]
    # Only if one side comes from single precision: other numbers that are near are others.
    keys += [(_number, _single), (_single, _number)]
    if all(_truth(level) is not None for level in levels):
        keys.append((_truth, _truth))
    steps: list[tuple[Key, dict[str, list[str]]]] = []
    for of_text, of_level in keys:
        place: dict[str, list[str]] = {}
        for level in levels:
            if (key := of_level(level)) is not None:
                place.setdefault(key, []).append(level)
        steps.append((of_text, place))
    found = {}
    for text in texts:
        alike = next((p[key] for f, p in steps if (key := f(text)) is not None and key in p), [])
        if len(alike) == 1:
            found[text] = alike[0]
    return found


def _number(text: str) -> str | None:
    """A number in as many digits as levels that were numbers are written."""
    return f"{float(text) + 0.0:.15g}" if is_number(text) and text.lower() != "nan" else None


def _truth_word(text: str) -> str | None:
    return text.lower() if text.lower() in _TRUTH else None


def _truth(text: str) -> str | None:
    return _truth_word(text) or {"0": "false", "1": "true"}.get(_number(text) or "")


def _single(text: str) -> str | None:
    """A fraction as it is in single precision."""
    number = _number(text)
    if number is None or not np.isfinite(float(number)) or float(number).is_integer():
        return None
    single = float(np.float32(number))
    return None if single.is_integer() else f"{single:.15g}"
