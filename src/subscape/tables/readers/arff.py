"""ARFF, the text format of Weka: typed attributes, then dense or sparse rows.

The format is described at https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from subscape.core.errors import FileFormatError, count, listing
from subscape.tables.columns import check_unique

_QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_END = r"\s*(,|(?<=\s)%.*$|$)"
_CELL = re.compile(rf"""\s*(?:{_QUOTED}|(?!['"])([^,]*?)){_END}""")
_PAIR = re.compile(rf"""\s*(\d+)\s+(?:{_QUOTED}|(?!['"])([^,]*?)){_END}""")
_BLANK_SEPARATED = re.compile(rf"""\s*,?\s*(?:{_QUOTED}|([^\s,'"]+))(?=[\s,]|$)""")
_ATTRIBUTE = re.compile(rf"""@attribute\s+(?:{_QUOTED}|([^\s{{'"]+))\s*(.*)$""", re.I | re.S)
_WEIGHT = re.compile(r",?\s*\{\s*[\d.eE+-]+\s*\}\s*$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_JAVA = re.compile(r"'([^']*)'|y+|M+|d+|H+|m+|s+|S+|[A-Za-z]|.", re.S)
_STRPTIME = {"y": "%Y", "yy": "%y", "yyyy": "%Y", "MMM": "%b", "MMMM": "%B", "M": "%m", "MM": "%m"}
_STRPTIME |= {"d": "%d", "dd": "%d", "H": "%H", "HH": "%H", "m": "%M", "mm": "%M"}
_STRPTIME |= {"s": "%S", "ss": "%S", "S": "%f", "SS": "%f", "SSS": "%f"}
_NUMERIC = ("numeric", "real", "integer")


class Attribute(NamedTuple):
    """One declared column: its kind, the levels of a nominal one, the format of a date."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    format: str = ""


class Arff(NamedTuple):
    """A parsed file: its name for itself, the column names, and the columns as arrow arrays."""

    relation: str
    names: list[str]
    arrays: list[Any]
    notes: list[str]


def is_arff(text: str) -> bool:
    """Whether a text begins like an ARFF file."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("%"):
            return line.lstrip()[:9].lower() == "@relation"
    return False


def parse_arff(text: str, file_name: str) -> Arff:
    """Read the text of an ARFF file.

    Parameters
    ----------
    text : str
    file_name : str
        For the messages.

    Returns
    -------
    Arff
        In sparse rows, what is not written is 0, or the first level of a nominal attribute.

    Examples
    --------
    >>> text = "@relation r\\n@attribute a real\\n@attribute b {x, y}\\n@data\\n1,y\\n"
    >>> found = parse_arff(text, "r.arff")
    >>> found.names, [array.to_pylist() for array in found.arrays]
    (['a', 'b'], [[1.0], ['y']])
    """
    lines = enumerate(text.splitlines(), start=1)
    try:
        return _parse(lines)
    except FileFormatError as error:
        raise FileFormatError(f"{file_name}, {error}") from None


def _parse(lines: Iterator[tuple[int, str]]) -> Arff:
    relation, attributes = _parse_header(lines)
    check_unique(attribute.name for attribute in attributes)
    readers = [_reader(attribute) for attribute in attributes]
    columns: list[list[Any]] = [[] for _ in attributes]
    weighted = 0
    for number, line in lines:
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("{"):
            cells, has_weight = _sparse_row(line, number, attributes)
        else:
            cells, has_weight = _dense_row(line, number, len(attributes))
        weighted += has_weight
        for j, cell in enumerate(cells):
            try:
                columns[j].append(None if cell is None else readers[j](cell))
            except (KeyError, ValueError):
                raise _bad_cell(number, attributes[j], cell) from None
    notes = [f"the weights of {count(weighted, 'row')} were not read"] if weighted else []
    arrays = [_arrow(a, column) for a, column in zip(attributes, columns, strict=True)]
    return Arff(relation, [a.name for a in attributes], arrays, notes)


def _parse_header(lines: Iterator[tuple[int, str]]) -> tuple[str, list[Attribute]]:
    relation, attributes = "", []
    for number, line in lines:
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@relation":
            relation = _plain(line[len(keyword) :].strip())
        elif keyword == "@attribute":
            while line.count("{") and "}" not in line:
                try:
                    line += " " + next(lines)[1].strip()
                except StopIteration:
                    raise FileFormatError(f"line {number}: the levels have no closing }}") from None
            attributes.append(_parse_attribute(line, number))
        elif keyword == "@data":
            if not attributes:
                raise FileFormatError(f"line {number}: @data comes before any @attribute")
            return relation, attributes
        else:
            raise FileFormatError(f"line {number}: {line[:40]!r} is none of @attribute, @data")
    raise FileFormatError("line 1 to the end: there is no @data line")


def _parse_attribute(line: str, number: int) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if not match:
        raise FileFormatError(f"line {number}: {line[:60]!r} names no attribute")
    name, rest = _group(match, 1), match[4].strip()
    if rest.startswith("{"):
        cells = _split(rest[1 : rest.rindex("}")], _CELL)
        if cells is None:
            raise FileFormatError(f"line {number}: the levels of {name!r} cannot be read")
        return Attribute(name, "nominal", tuple(dict.fromkeys(str(c or "?") for c in cells)))
    kind, _, detail = rest.partition(" ")
    kind = kind.lower()
    if kind in _NUMERIC:
        return Attribute(name, "numeric")
    if kind == "date":
        java = _plain(detail.strip()) or "yyyy-MM-dd'T'HH:mm:ss"
        format_ = _strptime_format(java)
        return Attribute(name, "date", (), format_) if format_ else Attribute(name, "string")
    if kind == "string":
        return Attribute(name, "string")
    raise FileFormatError(
        f"line {number}: attribute {name!r} has the type {rest[:30]!r}; known are numeric, real, "
        "integer, string, date and {levels}"
    )


def _plain(text: str) -> str:
    """A text without its quotes and escapes."""
    match = _CELL.fullmatch(text)
    return _group(match, 1) if match else text


def _group(match: re.Match[str], first: int) -> str:
    """The quoted or bare text of a match, whose groups for it begin at ``first``."""
    for quoted in (match[first], match[first + 1]):
        if quoted is not None:
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted)
    return str(match[first + 2])


def _split(text: str, pattern: re.Pattern[str]) -> list[str | None] | None:
    """Cells of a row; a bare ? is missing. None where the text does not follow the pattern."""
    if not text.strip():
        return []
    cells: list[str | None] = []
    position = 0
    while True:
        match = pattern.match(text, position)
        if not match or match.end() == position:
            return None
        first = 1 if pattern is not _PAIR else 2
        bare = match[first + 2]
        if bare == "":
            return None
        cells.append(None if bare == "?" else _group(match, first))
        if pattern is _PAIR:
            cells[-1:] = [match[1], cells[-1]]
        position = match.end()
        if pattern is _BLANK_SEPARATED:
            if not text[position:].strip():
                return cells
        elif match[match.lastindex or 0] != ",":
            return cells


def _dense_row(line: str, number: int, width: int) -> tuple[list[str | None], bool]:
    plain = not any(mark in line for mark in "'\"{%")
    if plain:
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == width and "" not in parts:
            return [None if part == "?" else part for part in parts], False
    unweighted = _WEIGHT.sub("", line)
    # Weka also takes blanks between cells; commas are tried first, so that cells may hold blanks.
    for text in dict.fromkeys((line, unweighted)):
        for pattern in (_CELL, _BLANK_SEPARATED):
            cells = _split(text, pattern)
            if cells is not None and len(cells) == width:
                return cells, text != line
    cells = _split(unweighted, _CELL)
    found = "empty or badly quoted cells" if cells is None else count(len(cells), "cell")
    raise FileFormatError(f"line {number}: {found}, where {count(width, 'attribute')} are declared")


def _sparse_row(
    line: str, number: int, attributes: list[Attribute]
) -> tuple[list[str | None], bool]:
    bare = re.sub(r"(?<=\})\s*,\s*\{\s*[\d.eE+-]+\s*\}\s*$", "", line)
    cells: list[str | None] = []
    for attribute in attributes:
        first = attribute.levels[0] if attribute.levels else None
        cells.append("0" if attribute.kind == "numeric" else first)
    if "}" not in bare:
        raise FileFormatError(f"line {number}: the sparse row has no closing }}")
    pairs = _split(bare[1 : bare.rindex("}")], _PAIR)
    if pairs is None:
        raise FileFormatError(f"line {number}: a sparse row is {{index value, index value, …}}")
    seen: set[int] = set()
    for at, value in zip(pairs[::2], pairs[1::2], strict=True):
        j = int(at or 0)
        if j >= len(attributes) or j in seen:
            what = "occurs twice" if j in seen else f"is beyond the last, {len(attributes) - 1}"
            raise FileFormatError(f"line {number}: index {j} {what}")
        seen.add(j)
        cells[j] = value
    return cells, bare != line


def _reader(attribute: Attribute) -> Callable[[str], Any]:
    """What turns a cell into a number, a code, a text or milliseconds since 1970."""
    if attribute.kind == "numeric":
        return _number
    if attribute.kind == "nominal":
        return {level: code for code, level in enumerate(attribute.levels)}.__getitem__
    if attribute.kind == "date":
        return lambda cell: _milliseconds(cell, attribute.format)
    return str


def _number(cell: str) -> float:
    if "_" in cell:
        raise ValueError(cell)
    return float(cell)


def _milliseconds(cell: str, format_: str) -> int:
    moment = datetime.strptime(cell, format_).replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def _strptime_format(java: str) -> str | None:
    """A Java date pattern as Python writes it, or None where it has letters not known here."""
    out = ""
    for match in _JAVA.finditer(java):
        token = match[0]
        if match[1] is not None:
            out += match[1].replace("%", "%%") or "'"
        elif token in _STRPTIME:
            out += _STRPTIME[token]
        elif token.isalpha():
            return None
        else:
            out += token.replace("%", "%%")
    return out


def _bad_cell(number: int, attribute: Attribute, cell: str | None) -> FileFormatError:
    if attribute.kind == "nominal":
        why = f"is none of the levels {listing(attribute.levels)}"
    else:
        why = (
            "is no number" if attribute.kind == "numeric" else f"is no date like {attribute.format}"
        )
    return FileFormatError(f"line {number}: {cell!r} of attribute {attribute.name!r} {why}")


def _arrow(attribute: Attribute, column: list[Any]) -> Any:
    import pyarrow as pa

    if attribute.kind == "numeric":
        numbers = np.array([np.nan if x is None else x for x in column], dtype=np.float64)
        return pa.chunked_array([pa.array(numbers)])
    if attribute.kind == "nominal":
        codes = pa.array(column, type=pa.int32())
        array = pa.DictionaryArray.from_arrays(codes, pa.array(attribute.levels, pa.string()))
    elif attribute.kind == "date":
        array = pa.array(column, type=pa.int64()).cast(pa.timestamp("ms"))
    else:
        array = pa.array(column, type=pa.string()).dictionary_encode()
    return pa.chunked_array([array])
