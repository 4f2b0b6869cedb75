"""OpenSubspace's cluster lists: ``.true`` and ``.clu`` files, and the text of its results.

A line is a cluster: a 0 or 1 for every feature, the number of rows, the rows counted from 0. A
header may say how many features there are (``DIM=20;``); without one that is found from the lines.
Result texts list clusters as ``SC_0: [1 0 1 ] #2 {4 7 }``, the exported ones as ``true false true 4
7``. The files say nothing about rows in no cluster; those written here do, in a part of the header
that OpenSubspace skips (``ROWS=1500;``).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, FileFormatError, count
from subscape.core.memberships import Memberships
from subscape.core.subspaces import AxisSubspaces
from subscape.core.types import BoolArray, IntArray
from subscape.tables.readers.boundary import DEFAULT, Limits

from .drafts import Draft

_HEADER = re.compile(r"DIM=(\d+)\s*(?:;|$)")
_ROWS = re.compile(r";ROWS=(\d+)\s*(?:;|$)")
_RESULT = re.compile(r"SC_\d+:\s*\[([01\s]*)\]\s*#(\d+)\s*\{([\d\s]*)(\}?)")
_NUMBERS = re.compile(r"[\d\s]+")
_EXPORTED = re.compile(r"(?:(?:true|false)\s+)+[\d\s]*")


class _Line(NamedTuple):
    number: int
    text: str


class _Cluster(NamedTuple):
    number: int
    mask: BoolArray
    rows: IntArray


def is_opensubspace(text: str) -> bool:
    """Whether a text begins like one of OpenSubspace's, whatever its name.

    >>> is_opensubspace("DIM=3;FILE=a.bin"), is_opensubspace("1,2")
    (True, False)
    """
    return bool(_HEADER.match(text) or re.search(r"^SC_\d+:\s*\[", text, re.MULTILINE))


def parse_opensubspace(
    text: str, source: str, n_features: int | None = None, limits: Limits = DEFAULT
) -> list[Draft]:
    """The clustering in a text; ``n_features`` helps where no header says it."""
    lines = [_Line(i, line.strip()) for i, line in enumerate(text.splitlines(), 1)]
    lines = [line for line in lines if line.text]
    if not lines:
        raise FileFormatError(f"{source} is empty")
    first = lines[0].text
    stated, stated_rows = _HEADER.match(first), _ROWS.search(first)
    if stated:
        n_features = int(stated[1])
    if any(_RESULT.match(line.text) for line in lines):
        clusters = list(_results(lines, source))
    else:
        header = not (_NUMBERS.fullmatch(first) or _EXPORTED.fullmatch(first))
        clusters = list(_listed(lines[1:] if header else lines, source, n_features))
    widths = {len(cluster.mask) for cluster in clusters}
    if n_features is not None:
        widths.add(n_features)
    if not widths:
        raise FileFormatError(f"{source} holds no cluster, nor how many features there are (DIM=)")
    if len(widths) > 1:
        raise FileFormatError(
            f"{source} has clusters over different numbers of features: {sorted(widths)}; is it "
            "two files?"
        )
    rows = int(stated_rows[1]) if stated_rows else None
    return [_draft(_inhabited(clusters, source), widths.pop(), rows, source, limits)]


def _draft(
    clusters: list[_Cluster], n_features: int, n_rows: int | None, source: str, limits: Limits
) -> Draft:
    least = max((int(cluster.rows.max()) + 1 for cluster in clusters), default=1)
    if n_rows is not None and n_rows < least:
        raise FileFormatError(
            f"{source} speaks of row {least - 1} (counted from 0), but its header of ROWS={n_rows}"
        )
    limits.check_shape(n_rows or least, n_features, len(clusters), source)
    masks = np.array([c.mask for c in clusters], bool).reshape(len(clusters), n_features)
    return Draft(
        source,
        "",
        Memberships.from_rows([cluster.rows for cluster in clusters], n_rows or least),
        AxisSubspaces(masks),
        rows_known=n_rows is not None,
        features_known=True,
        provenance={"file": source, "format": "opensubspace"},
    )


def _inhabited(clusters: list[_Cluster], source: str) -> list[_Cluster]:
    kept = [cluster for cluster in clusters if len(cluster.rows) and cluster.mask.any()]
    if len(kept) < len(clusters):
        lost = [c.number for c in clusters if not (len(c.rows) and c.mask.any())]
        warnings.warn(
            f"{source}: {count(len(lost), 'cluster')} without rows or features left out (line "
            f"{lost[0]}{', …' if len(lost) > 1 else ''})",
            DroppedClusterWarning,
            stacklevel=6,
        )
    return kept


def _results(lines: list[_Line], source: str) -> Iterator[_Cluster]:
    """Clusters of a result text, which says much else."""
    for line in lines:
        found = _RESULT.match(line.text)
        if not found and line.text.startswith("SC_"):
            raise FileFormatError(f"{source}, line {line.number}: this cluster is cut short")
        if found:
            mask, rows = np.array(found[1].split(), int) == 1, np.array(found[3].split(), int)
            if len(rows) != int(found[2]) or not found[4]:
                raise _cut(source, line.number, int(found[2]), len(rows))
            yield _Cluster(line.number, mask, rows)


def _listed(lines: list[_Line], source: str, n_features: int | None) -> Iterator[_Cluster]:
    """Clusters of a list, one a line."""
    numbers = []
    for line in lines:
        if _EXPORTED.fullmatch(line.text):
            words = line.text.split()
            width = sum(word in ("true", "false") for word in words)
            mask = np.array([word == "true" for word in words[:width]])
            yield _Cluster(line.number, mask, np.array(words[width:], np.int64))
        elif _NUMBERS.fullmatch(line.text):
            numbers.append((line.number, np.array(line.text.split(), np.int64)))
        else:
            raise FileFormatError(
                f"{source}, line {line.number}: expected a line of whole numbers (0 or 1 for every "
                f"feature, the number of rows, the rows), found {line.text[:30]!r}"
            )
    width_of_all = n_features or (_width(numbers, source) if numbers else 0)
    for number, values in numbers:
        yield _cluster(values, width_of_all, source, number)


def _cluster(values: IntArray, n_features: int, source: str, number: int) -> _Cluster:
    mask, rest = values[:n_features], values[n_features:]
    if mask.max(initial=0) > 1 or not len(rest):
        raise FileFormatError(
            f"{source}, line {number}: the first {count(n_features, 'number')} must be 0 or 1, one "
            "for every feature, and the number of rows must follow"
        )
    size, rows = int(rest[0]), rest[1:]
    if len(rows) != size:
        raise _cut(source, number, size, len(rows))
    return _Cluster(number, mask == 1, rows)


def _cut(source: str, number: int, stated: int, found: int) -> FileFormatError:
    return FileFormatError(
        f"{source}, line {number}: {count(stated, 'row')} announced, {found} there; is the file "
        "cut short?"
    )


def _width(numbers: list[tuple[int, IntArray]], source: str) -> int:
    """The number of features that makes every line say how many rows follow."""
    fits: set[int] | None = None
    for number, values in numbers:
        bits = len(values) if values.max() <= 1 else int(np.argmax(values > 1))
        counts = values[1 : bits + 1]
        left = len(values) - 1 - np.arange(1, len(counts) + 1)
        here = set((np.flatnonzero(counts == left) + 1).tolist())
        fits = here if fits is None else fits & here
        if not fits:
            raise FileFormatError(
                f"{source}, line {number}: for no number of features does it say how many rows "
                "follow; is the file cut short, or no cluster list?"
            )
    if not fits or len(fits) > 1:
        raise FileFormatError(
            f"{source} could be over {' or '.join(map(str, sorted(fits or ())))} features, and no "
            "header (DIM=) tells; say it by shape=(n_rows, n_features) (--shape)"
        )
    return fits.pop()


def write_opensubspace(clustering: SubspaceClustering, masks: BoolArray) -> Sequence[str]:
    """The lines of a ``.true`` file."""
    lines = [f"DIM={clustering.n_features};ROWS={clustering.n_rows};FILE=subscape"]
    for k in range(clustering.n_clusters):
        rows = clustering.members.rows(k)
        values = [*masks[k].astype(int).tolist(), len(rows), *rows.tolist()]
        lines.append(" ".join(map(str, values)))
    return lines
