"""Label files: one column of labels, or several, with or without row names and a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.clustering import SubspaceClustering
from subscape.core.convert import encode_labels
from subscape.core.errors import FileFormatError, SubscapeError, count, listing
from subscape.core.memberships import Memberships
from subscape.core.types import IndexArray
from subscape.tables.readers.dialect import find_delimiter, split

from .drafts import Draft

#: Letters of a file that its delimiter is found from.
SAMPLE = 1 << 20

#: Cells that put a row into no cluster, in any case of letters.
NOISE = frozenset({"", "nan", "na", "noise"})

_WHOLE = re.compile(r"[-+]?\d+(?:\.0*)?")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_LABELS = re.compile(r"(?:true_|predicted_)?(?:label|cluster|class|target|truth)", re.IGNORECASE)
_ROWS = re.compile(r"|index|id|names?|sample|object|rows?[ _]?(?:id|names?)?", re.IGNORECASE)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Columns(NamedTuple):
    names: list[str]
    cells: list[list[str]]
    headed: bool


def parse_labels(text: str, source: str) -> list[Draft]:
    """The clusterings in a label file, one for each column of labels.

    Columns whose names begin with label, cluster, class, target or truth are the labels if there
    are such; otherwise all are, save a first one that names the rows, and what studies write beside
    a column of labels: ``view_1_name`` and ``view_1_confidence``. Without names, columns of labels
    are numbered from 1.
    """
    found = _columns(text, source)
    rows, names, cells = _row_column(found, source)
    is_study = found.headed and bool(beside_labels(names))
    if not found.headed:
        names = [str(j) for j in range(1, len(cells) + 1)]
    if found.headed and any(_LABELS.match(name) for name in names):
        chosen = [j for j, name in enumerate(names) if _LABELS.match(name)]
        names, cells = [names[j] for j in chosen], [cells[j] for j in chosen]
    elif found.headed:
        beside = beside_labels(names)
        chosen = [j for j, name in enumerate(names) if name not in beside]
        names, cells = [names[j] for j in chosen], [cells[j] for j in chosen]
    order, row_names = _rows(rows, len(cells[0]))
    drafts = []
    for name, column in zip(names, cells, strict=True):
        labels = _labels(column, name, source)[order]
        called = name if len(names) > 1 or is_study else ""
        drafts.append(labels_draft(labels, source, called, row_names))
    return drafts


def beside_labels(names: Iterable[str]) -> set[str]:
    """What studies write beside a column of labels, which are no labels themselves.

    >>> sorted(beside_labels(["view_1", "view_1_confidence", "confidence"]))
    ['view_1_confidence']
    """
    known = set(names)
    return known & {f"{name}_{what}" for name in known for what in ("name", "confidence")}


def labels_draft(
    labels: NDArray[np.generic],
    source: str,
    name: str = "",
    row_names: tuple[str, ...] | None = None,
) -> Draft:
    """The clustering of a label vector, in all the features there may be."""
    coded = encode_labels(labels)
    return Draft(
        source,
        name,
        Memberships.from_codes(coded.codes, len(coded.names)),
        None,
        rows_known=True,
        row_names=row_names,
        cluster_names=tuple(map(str, coded.names)),
        provenance={"file": source, "format": "labels"} | ({"column": name} if name else {}),
    )


def _columns(text: str, source: str) -> _Columns:
    text = text.strip("\r\n")
    if not text.strip():
        raise FileFormatError(f"{source} is empty")
    columns: list[list[str]] = []
    for number, row in _table(text):
        columns = columns or [[] for _ in row]
        if len(row) != len(columns):
            raise FileFormatError(
                f"{source}, line {number}: {count(len(row), 'cell')} where the first line has "
                f"{len(columns)}; is it a label file, and whole?"
            )
        for column, cell in zip(columns, row, strict=True):
            column.append(_bare(cell))
    headed = _headed(columns)
    names = [column.pop(0) for column in columns] if headed else list(map(str, range(len(columns))))
    if not columns[0]:
        raise FileFormatError(f"{source} has a header, but no rows")
    return _Columns(names, columns, headed)


def _table(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row."""
    sample = text[:SAMPLE]
    delimiter = find_delimiter(sample, complete=len(sample) == len(text))
    if delimiter != " " and delimiter in sample:
        yield from split(io.StringIO(text, newline=""), delimiter)
        return
    last = text.rpartition("\n")[2].strip()
    blanks = re.fullmatch(r"[-+.\d]+(?:\s+[-+.\d]+)+", last)
    for number, line in enumerate(text.splitlines(), 1):
        if not blanks:
            # A blank line is an empty cell here: a row without a label.
            yield number, [line.strip().strip('"')]
        elif line.strip():
            yield number, line.split()


def _headed(columns: list[list[str]]) -> bool:
    """Whether the first line names the columns: no label is unique, a name mostly is."""
    firsts = [column[0] for column in columns]
    unique = [cell not in column[1:] for cell, column in zip(firsts, columns, strict=True)]
    if any(_LABELS.match(cell) and once for cell, once in zip(firsts, unique, strict=True)):
        return True
    if len(columns) > 1 and not firsts[0]:
        return True  # data frames leave the name of their index out
    judged = slice(1, None) if len(columns) > 1 else slice(None)
    words = [not _NUMBER.fullmatch(cell) and cell.lower() not in NOISE for cell in firsts[judged]]
    return all(words) and all(unique[judged])


def _bare(cell: str) -> str:
    """A cell without the mark that keeps spreadsheets from running it."""
    cell = cell.strip()
    return cell[1:] if cell.startswith("'") and cell[1:2] in _FORMULA else cell


def _row_column(
    found: _Columns, source: str
) -> tuple[list[str] | None, list[str], list[list[str]]]:
    """The column that names the rows, and the others."""
    names, cells = found.names, found.cells
    if len(cells) == 1:
        return None, names, cells
    named = found.headed and _ROWS.fullmatch(names[0]) is not None
    distinct = [len(set(column)) == len(column) for column in cells]
    if named and not distinct[0]:
        seen: set[str] = set()
        twice = [cell for cell in cells[0] if cell in seen or seen.add(cell)]  # type: ignore[func-returns-value]
        raise FileFormatError(
            f"{source} names rows twice: {listing(dict.fromkeys(twice))}; clusters that overlap go "
            "into a .subscape, .true or ELKI file"
        )
    if named or (distinct[0] and not all(distinct[1:]) and not _fractions(cells[0])):
        return cells[0], names[1:], cells[1:]
    return None, names, cells


def _rows(named: list[str] | None, n_rows: int) -> tuple[IndexArray, tuple[str, ...] | None]:
    """In which order the lines go into the table, and what its rows are called."""
    if named is None:
        return np.arange(n_rows), None
    if all(cell.isascii() and cell.isdigit() and len(cell) < 16 for cell in named):
        numbers = np.array([int(cell) for cell in named])
        first = int(numbers.min())
        if first in (0, 1) and np.array_equal(np.sort(numbers), first + np.arange(n_rows)):
            return np.argsort(numbers), None
    return np.arange(n_rows), tuple(named)


def _labels(cells: list[str], name: str, source: str) -> NDArray[np.generic]:
    # Every distinct cell is looked at once: there are few of them, and maybe a million rows.
    distinct = set(cells)
    noise = {cell for cell in distinct if cell.lower() in NOISE}
    said = distinct - noise
    meaning: dict[str, Any]
    if all(_WHOLE.fullmatch(cell) for cell in said):
        meaning = {cell: int(cell.partition(".")[0]) for cell in said} | dict.fromkeys(noise, -1)
        return np.array([meaning[cell] for cell in cells], np.int64)
    if fractions := _fractions(said):
        raise FileFormatError(
            f"{source}: column {name!r} holds numbers such as {fractions[0]}, which are no labels; "
            "keep the label column only, or call it 'label'"
        )
    meaning = {cell: cell for cell in said} | dict.fromkeys([*noise, "-1"])
    return np.array([meaning[cell] for cell in cells], object)


def _fractions(cells: Iterable[str]) -> list[str]:
    """The numbers that are not whole, smallest text first."""
    return sorted(c for c in cells if _NUMBER.fullmatch(c) and not _WHOLE.fullmatch(c))


def parse_label_array(array: NDArray[np.generic], source: str) -> list[Draft]:
    """The clusterings in a label vector or a label matrix of one column each."""
    if array.ndim not in (1, 2) or array.size == 0 or array.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{source} holds {array.dtype} of shape {array.shape}; labels are whole numbers, one "
            "column for each clustering"
        )
    if array.ndim == 1:
        return [labels_draft(array, source)]
    several = array.shape[1] > 1
    return [
        labels_draft(column, source, str(j) if several else "")
        for j, column in enumerate(array.T, 1)
    ]


def write_labels(
    clusterings: Sequence[SubspaceClustering], names: Sequence[str], delimiter: str = ","
) -> str:
    """The text of a label file: a column of row names, then one of labels for each clustering."""
    row_names = {c.row_names for c in clusterings if c.row_names is not None}
    if len({c.n_rows for c in clusterings}) > 1 or len(row_names) > 1:
        raise SubscapeError("clusterings over different rows go into different label files")
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["row", *map(harmless, names)])
    rows = row_names.pop() if row_names else range(clusterings[0].n_rows)
    columns = [clustering.labels().tolist() for clustering in clusterings]
    for row, *labels in zip(rows, *columns, strict=True):
        writer.writerow([harmless(str(row)), *labels])
    return buffer.getvalue()


def harmless(cell: str) -> str:
    """A text that no spreadsheet takes for a formula; numbers stay as they are.

    >>> harmless("=1+1"), harmless("-1"), harmless("a=b")
    ("'=1+1", '-1', 'a=b')
    """
    risky = cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if risky else cell
