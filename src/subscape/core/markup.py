"""How results show themselves in notebooks: a title, a sentence and a small table.

Everything that is put in is text and is escaped here, once. There are no scripts, and no colours:
the table takes those of the notebook, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from numbers import Integral, Real
from typing import Any

from .errors import count
from .plain_values import frame_of

#: Lines of a table before the rest is only counted, and letters of a cell.
MOST_LINES, MOST_LETTERS = 20, 200

_LEFT = " style='text-align:left'"


def card(
    title: str,
    text: str = "",
    head: Sequence[str] = (),
    lines: Iterable[Sequence[Any]] = (),
    *,
    notes: Sequence[str] = (),
    most: int = MOST_LINES,
    more: int = 0,
    noun: str = "line",
) -> str:
    """A small piece of HTML.

    Parameters
    ----------
    title : str
        What it is.
    text : str
        The result in a sentence.
    head : sequence of str
        Names of the columns of a table; none if empty.
    lines : iterable of sequences
        Cells of the table: numbers are rounded and stand to the right.
    notes : sequence of str
        Further sentences below.
    most : int
        Lines that are shown.
    more : int
        Lines there are beyond those given.
    noun : str
        What a line is, for those that are only counted.

    Returns
    -------
    str

    Examples
    --------
    >>> card("Choice", "3 <of> 5")
    '<div><b>Choice</b>: 3 &lt;of&gt; 5</div>'
    >>> "<td>0.1235</td>" in card("Choice", "", ["value"], [[0.123456]])
    True
    """
    cells = [list(line) for line in lines]
    parts = [f"<div><b>{escape(title)}</b>{': ' if text else ''}{escape(text)}"]
    if head:
        words = [any(isinstance(line[j], str) for line in cells) for j in range(len(head))]
        ways = [_LEFT if word else "" for word in words]
        names = "".join(f"<th{way}>{_cell(n)}</th>" for way, n in zip(ways, head, strict=True))
        body = "".join(_line(line, ways) for line in cells[:most])
        parts.append(f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>")
        hidden = more + max(len(cells) - most, 0)
        if hidden:
            parts.append(f"<p>… and {escape(count(hidden, f'more {noun}'))}</p>")
    if notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>")
    return "".join([*parts, "</div>"])


def _line(cells: Sequence[Any], ways: Sequence[str]) -> str:
    inner = "".join(f"<td{way}>{_cell(plain(c))}</td>" for way, c in zip(ways, cells, strict=True))
    return f"<tr>{inner}</tr>"


def _cell(text: str) -> str:
    short = text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
    return escape(short)


def plain(value: Any) -> str:
    """A value as few letters will do.

    >>> [plain(x) for x in (3, 0.123456, float("nan"), None, True, "name")]
    ['3', '0.1235', '–', '–', 'yes', 'name']
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if str(type(value).__name__) in ("bool", "bool_"):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return f"{float(value):.4g}" if math.isfinite(value) else _beyond(float(value))
    return str(value)


def _beyond(value: float) -> str:
    return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")


def records_card(
    title: str, text: str, records: Sequence[Mapping[str, Any]], *, noun: str = "line"
) -> str:
    """The same with a table of records, as ``to_records`` gives them; clusters from 1 on.

    >>> "<td>1</td>" in records_card("Stability", "", [{"cluster": 0, "stability": 0.9}])
    True
    """
    records = [
        {**one, "cluster": one["cluster"] + 1} if "cluster" in one else one for one in records
    ]
    head = list(records[0]) if records else []
    return card(title, text, head, [list(record.values()) for record in records], noun=noun)


class ShownAsTable:
    """For results with ``to_records()``: the first line of their text, and the records below."""

    def to_frame(self, library: str = "pandas") -> Any:
        """The records as a data frame of pandas, "polars" or "pyarrow".

        Returns
        -------
        data frame
            Of the library asked for.
        """
        return frame_of(self.to_records(), library)  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        records = self.to_records()  # type: ignore[attr-defined]
        return records_card(type(self).__name__, repr(self).partition("\n")[0], records)


class ShownAsText:
    """For results whose text says all."""

    def _repr_html_(self) -> str:
        first, *others = repr(self).splitlines() or [""]
        return card(type(self).__name__, first, notes=[line.strip() for line in others])


def fields_card(result: Any) -> str:
    """A named tuple of a few numbers: fields that hold arrays are told by their shapes."""
    lines = []
    for name, value in zip(result._fields, result, strict=True):
        shape = getattr(value, "shape", ())
        told = f"array of {' x '.join(map(str, shape))}" if shape else value
        lines.append([name, plain(told)])
    return card(type(result).__name__, "", ["field", "value"], lines)
