"""Clusterings from files of any format: ours, ELKI's, OpenSubspace's, labels.

The formats themselves are in ``files.py`` and ``format_*.py``; writing is in ``format_writing.py``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .clustering import SubspaceClustering
from .delimited import decode, detect_encoding, open_bytes
from .drafts import Draft
from .errors import FileFormatError, ShapeMismatchError, SubscapeError, count
from .files import MAX_BYTES, read_archive
from .format_elki import is_elki, parse_elki
from .format_labels import parse_label_array, parse_labels
from .format_opensubspace import is_opensubspace, parse_opensubspace
from .format_writing import FORMATS, write_clusterings

__all__ = [
    "FORMATS",
    "Source",
    "read_clusterings",
    "read_drafts",
    "read_together",
    "write_clusterings",
]

Paths = str | os.PathLike[str]


class Source(NamedTuple):
    """A clustering of a file, and what it and its clusters are called there."""

    name: str
    clustering: SubspaceClustering
    cluster_names: tuple[str, ...]


def read_clusterings(
    path: Paths,
    *,
    shape: tuple[int | None, int | None] | None = None,
    feature_names: Sequence[str] | None = None,
    format: str | None = None,
) -> list[SubspaceClustering]:
    """Read all clusterings of a file; what it is shows in its content.

    Parameters
    ----------
    path : path
        A ``.subscape`` file, labels as text or NPY (one column for each clustering, perhaps after
        one of row names), an ELKI result (its folder, or all in one text), an OpenSubspace
        ``.true`` or ``.clu`` file. Text may be gzipped.
    shape : (n_rows, n_features), optional
        Size of the table, where the file does not tell; either may be None. Labels know no
        features (without a shape there is one, which every cluster has), cluster lists no rows
        after the last clustered one.
    feature_names : sequence of str, optional
        Names of the features, where the file has none.
    format : {"subscape", "labels", "elki", "opensubspace"}, optional
        What the file is, if that shall not be found out.

    Returns
    -------
    list of SubspaceClustering

    See Also
    --------
    read_together : several files about one table, each filling the gaps of the others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from subscape.core.formats import read_clusterings
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "found.true"
    >>> _ = path.write_text("DIM=3;\\n1 1 0 2 0 1\\n0 0 1 2 2 4\\n")
    >>> read_clusterings(path, shape=(6, 3))
    [SubspaceClustering(2 axis-aligned clusters, 6 rows x 3 features, 2 noise rows)]
    """
    n_rows, n_features = shape if shape is not None else (None, None)
    if feature_names is not None and n_features is None:
        n_features = len(feature_names)
    drafts = read_drafts(path, n_features=n_features, format=format)
    if feature_names is not None:
        drafts = [draft.named(feature_names) for draft in drafts]
    return [draft.build(n_rows, n_features) for draft in drafts]


def read_together(
    paths: Sequence[Paths], *, shape: tuple[int | None, int | None] | None = None
) -> list[list[Source]]:
    """Read the clusterings of several files about one table.

    What one file leaves open, the others tell: labels take the features of the rest, cluster lists
    the number of rows. Rows or features that are named alike in another order are brought into the
    order of the first file that names them.

    Parameters
    ----------
    paths : sequence of paths
        As in :func:`read_clusterings`.
    shape : (n_rows, n_features), optional
        Size of the table, where no file tells.

    Returns
    -------
    list of list of Source
        For each file its clusterings: name, clustering, names of the clusters. The name is that of
        the file, with a ``#`` and the name within the file where it holds several.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from subscape.core.formats import read_together
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "found.true").write_text("DIM=3;\\n1 1 0 2 0 1\\n")
    >>> _ = (folder / "classes.csv").write_text("class\\nbird\\nbird\\nfish\\nbird\\n")
    >>> for (source,) in read_together([folder / "found.true", folder / "classes.csv"]):
    ...     print(source.name, source.clustering.shape, source.cluster_names)
    found (4, 3) ('0',)
    classes (4, 3) ('bird', 'fish')
    """
    n_rows, n_features = shape if shape is not None else (None, None)
    files = [read_drafts(path, n_features=n_features) for path in paths]
    drafts = [draft for file in files for draft in file]
    n_rows = n_rows or _agreed([(d.source, d.n_rows, d.rows_known) for d in drafts], "row")
    n_features = n_features or _agreed(
        [(d.source, d.n_features, d.features_known) for d in drafts], "feature"
    )
    built = [[draft.build(n_rows, n_features) for draft in file] for file in files]
    every = [clustering for file in built for clustering in file]
    row_order = next((c.row_names for c in every if c.row_names is not None), None)
    feature_order = next((c.feature_names for c in every if c.feature_names is not None), None)
    return [
        [
            Source(
                name,
                _reordered(clustering, row_order, feature_order),
                draft.cluster_names or tuple(map(str, range(clustering.n_clusters))),
            )
            for name, draft, clustering in zip(_names_within(stem, file), file, made, strict=True)
        ]
        for stem, file, made in zip(_distinct(paths), files, built, strict=True)
    ]


def _agreed(sizes: Sequence[tuple[str, int, bool]], what: str) -> int:
    known = {size: source for source, size, sure in reversed(sizes) if sure}
    if len(known) > 1:
        (size_a, source_a), (size_b, source_b) = sorted(known.items())[:2]
        # Data frames without a name for their column write 0 above it, which looks like a label.
        hint = f" Is the first line of {source_b} a header?" if size_b == size_a + 1 else ""
        raise ShapeMismatchError(
            f"{source_a} is about {count(size_a, what)}, {source_b} about {size_b}: they can't be "
            "compared. Are they from the same table? restrict() and embed() bring clusterings to "
            f"one table.{hint if what == 'row' else ''}"
        )
    return next(iter(known), max(size for _, size, _ in sizes))


def _reordered(
    clustering: SubspaceClustering,
    row_order: tuple[str, ...] | None,
    feature_order: tuple[str, ...] | None,
) -> SubspaceClustering:
    orders = [
        order if names not in (None, order) and set(names or ()) == set(order or ()) else None
        for names, order in (
            (clustering.row_names, row_order),
            (clustering.feature_names, feature_order),
        )
    ]
    return clustering if orders == [None, None] else clustering.restrict(*orders)


def _distinct(paths: Sequence[Paths]) -> list[str]:
    """The shortest names that tell files apart: stem, file name, path."""
    files = [Path(path) for path in paths]
    for short in ([f.stem.removesuffix(".csv") for f in files], [f.name for f in files]):
        if len(set(short)) == len(files):
            return short
    return [str(file) for file in files]


def _names_within(stem: str, drafts: Sequence[Draft]) -> list[str]:
    if len(drafts) == 1:
        return [stem]
    return [f"{stem}#{draft.name or i}" for i, draft in enumerate(drafts)]


def read_drafts(
    path: Paths, *, n_features: int | None = None, format: str | None = None
) -> list[Draft]:
    """What a file says about its clusterings."""
    source = Path(path)
    if format is not None and format not in FORMATS:
        raise SubscapeError(f"there is no format {format!r}; known are {', '.join(FORMATS)}")
    if not source.exists():
        raise FileNotFoundError(f"no such file: {source}")
    try:
        if source.is_dir():
            return _read_folder(source)
        return _read_file(source, n_features, format)
    except EOFError as error:  # gzip's word for a cut file
        raise FileFormatError(f"{source.name} is damaged or truncated: {error}") from None


def _read_folder(folder: Path) -> list[Draft]:
    files = sorted(
        (f for f in folder.iterdir() if re.search(r"\.txt(\.gz)?$", f.name)), key=_natural
    )
    # Many people's folders are called "out": the one above says more.
    source = str(Path(*folder.parts[-2:]))
    texts = [(f"{folder.name}/{f.name}", _text(f)) for f in files]
    if not any(is_elki(text) for _, text in texts):
        raise FileFormatError(f"the folder {folder} holds no result of ELKI; give a file")
    return parse_elki(texts, source)


def _natural(path: Path) -> list[tuple[int, str]]:
    """A key that sorts cluster_10 after cluster_9."""
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _read_file(source: Path, n_features: int | None, format: str | None) -> list[Draft]:
    with source.open("rb") as stream:
        magic = stream.read(8)
    archive = magic.startswith(b"PK") or source.suffix == ".subscape"
    if format == "subscape" or (format is None and archive) or magic[:1] == b"\x80":
        clusterings, manifest = read_archive(source)
        entries = zip(clusterings, manifest["clusterings"], strict=True)
        return [Draft.of(c, source.name, str(entry.get("name", ""))) for c, entry in entries]
    if magic.startswith(b"\x93NUMPY"):
        return parse_label_array(_npy(source), source.name)
    text = _text(source)
    if not text.strip():
        raise FileFormatError(f"{source.name} is empty")
    if format == "elki" or (format is None and is_elki(text)):
        return parse_elki([(source.name, text)], source.name)
    listed = is_opensubspace(text) or {".true", ".clu"} & set(source.suffixes)
    if format == "opensubspace" or (format is None and listed):
        return parse_opensubspace(text, source.name, n_features)
    return parse_labels(text, source.name)


def _text(path: Path) -> str:
    try:
        with open_bytes(path) as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileFormatError(f"{path.name} can't be read: {error}") from None
    if len(content) > MAX_BYTES:
        raise FileFormatError(f"{path.name} holds more than {MAX_BYTES:,} bytes of text")
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError(
            f"{path.name} is not a clustering: neither .subscape, labels (text or NPY), nor a "
            "result of ELKI or OpenSubspace"
        )
    return decode(content, detect_encoding(content, None, path.name), path.name)


def _npy(path: Path) -> NDArray[np.generic]:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        reason = "pickled objects, which are never read" if "pickle" in str(error) else str(error)
        raise FileFormatError(f"{path.name} is not a readable label array: {reason}") from None
