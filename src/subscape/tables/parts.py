"""What readers hand over: the parts of a table, and what was asked of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from subscape.core.checks import as_numbers
from subscape.core.errors import SubscapeError, listing

from .columns import ROLES, TRANSFORMS, Column

#: The orders in which day, month and year may stand.
DATE_ORDERS = ("ymd", "dmy", "mdy")


class Parts(NamedTuple):
    """The parts of a table before it is one; see ``Table`` for their meaning."""

    schema: tuple[Column, ...]
    X: Any
    others: Mapping[str, NDArray[Any]]
    index: tuple[str, ...] | None = None  # type: ignore[assignment]
    source: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()


def parts_of_array(
    X: Any,
    names: Sequence[str] | None = None,
    index: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Parts:
    """The parts of a table of numbers; its columns are called x0, x1, … unless they are named."""
    data = as_numbers(X, None if names is None else list(names))
    if names is None:
        names = [f"x{j}" for j in range(data.shape[1])]
    if len(names) != data.shape[1]:
        raise SubscapeError(f"{len(names)} feature names for {data.shape[1]} columns")
    return Parts(tuple(Column(name) for name in names), data, {}, index, {}, notes)


class ColumnOptions(NamedTuple):
    """What the user said about one column; empty means: find out.

    Attributes
    ----------
    role : str
        One of ``ROLES``.
    unit : str
        What its numbers are measured in; cells in another unit are missing then.
    order : tuple of str
        Its levels, lowest first. Of a numeric column they are the numbers 1, 2, …
    transform : str
        One of ``TRANSFORMS``, applied to its numbers.
    decimal : {"", ".", ","}
    dates : {"", "ymd", "dmy", "mdy"}
    missing : tuple of str
        Cells that mean no value, beside the usual ones.
    """

    role: str = ""
    unit: str = ""
    order: tuple[str, ...] = ()
    transform: str = ""
    decimal: str = ""
    dates: str = ""
    missing: tuple[str, ...] = ()


def column_options(said: Mapping[str, Any] | str | ColumnOptions, name: str) -> ColumnOptions:
    """What was said about a column, checked.

    >>> column_options({"role": "numeric", "order": "low|mid|high"}, "size").order
    ('low', 'mid', 'high')
    >>> column_options("nominal", "size").role
    'nominal'
    """
    if isinstance(said, ColumnOptions):
        return said
    given: dict[str, Any] = {"role": said} if isinstance(said, str) else dict(said)
    given = {key: value for key, value in given.items() if value not in (None, "", ())}
    strange = [key for key in given if key not in ColumnOptions._fields]
    if strange:
        raise SubscapeError(
            f"column {name!r}: nothing called {listing(strange)} can be said of a column; known "
            f"are {', '.join(ColumnOptions._fields)}"
        )
    for key in ("order", "missing"):
        if key in given:
            given[key] = _texts(given[key])
    checked: dict[str, Any] = {
        key: value if isinstance(value, tuple) else str(value) for key, value in given.items()
    }
    options = ColumnOptions(**checked)
    _one_of(name, "role", options.role, ROLES)
    _one_of(name, "transform", options.transform, TRANSFORMS)
    _one_of(name, "decimal sign", options.decimal, (".", ","))
    _one_of(name, "order of dates", options.dates, DATE_ORDERS)
    if len(set(options.order)) < len(options.order):
        raise SubscapeError(f"column {name!r}: a level stands twice in its order")
    return options


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split("|")
    elif not isinstance(value, Sequence):
        value = [value]
    return tuple(str(item).strip() for item in value)


def _one_of(name: str, what: str, value: str, known: Sequence[str]) -> None:
    if value and value not in known:
        raise SubscapeError(
            f"column {name!r}: there is no {what} {value!r}, choose one of "
            f"{listing(known, len(known))}"
        )


class Wishes(NamedTuple):
    """What the user said about the columns."""

    roles: Mapping[str, str]
    id: str | None = None
    label: tuple[str, ...] = ()
    columns: Mapping[str, ColumnOptions] = {}
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        roles: Mapping[str, str] | None = None,
        id: str | None = None,
        label: str | Sequence[str] | None = None,
        columns: Mapping[str, Any] | None = None,
        missing: Any = None,
    ) -> Wishes:
        """Wishes as ``Table.read`` takes them."""
        labels = (label,) if isinstance(label, str) else tuple(label or ())
        said = {str(n): column_options(given, str(n)) for n, given in (columns or {}).items()}
        gone = () if missing is None else _texts(missing)
        return cls(dict(roles or {}), id, labels, said, gone)

    def by_column(self) -> dict[str, str]:
        """Role by column, ``id`` and ``label`` included."""
        said = dict(self.roles)
        for name, options in self.columns.items():
            if options.role and said.setdefault(name, options.role) != options.role:
                raise SubscapeError(
                    f"column {name!r} is both {said[name]} and {options.role}; choose one"
                )
        for name in self.label:
            if said.setdefault(name, "label") != "label":
                raise SubscapeError(f"column {name!r} is both {said[name]} and label; choose one")
        if self.id is not None and said.setdefault(self.id, "id") != "id":
            raise SubscapeError(f"column {self.id!r} is both {said[self.id]} and id; choose one")
        return said

    def about(self, name: str) -> ColumnOptions:
        """What was said about one column, its role included."""
        options = self.columns.get(name, ColumnOptions())
        return options._replace(role=self.by_column().get(name, ""))

    @property
    def named(self) -> list[str]:
        """Columns of which something was said."""
        return list(dict.fromkeys([*self.by_column(), *self.columns]))

    @property
    def literal(self) -> frozenset[str]:
        """Columns whose values are to be kept letter by letter, even if they look like numbers."""
        kept = {name for name, role in self.by_column().items() if role in ("nominal", "id")}
        ordered = {name for name, options in self.columns.items() if options.order}
        return frozenset(kept | ordered)
