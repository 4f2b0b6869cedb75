"""Clusterings from files of any format: ours, ELKI's, OpenSubspace's, labels.

The formats themselves are in ``files.py`` and ``format_*.py``; writing is in ``format_writing.py``.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import (
    FileFormatError,
    ShapeMismatchError,
    SubscapeError,
    UnsupportedKindError,
    count,
)
from subscape.core.oriented import OrientedSubspaces
from subscape.core.subspaces import AxisSubspaces, WeightedSubspaces
from subscape.core.types import BoolArray
from subscape.tables.readers.arrays import check_npy
from subscape.tables.readers.boundary import DEFAULT, Limits, guarded
from subscape.tables.readers.compression import PIECE, open_bytes
from subscape.tables.readers.dialect import decode, detect_encoding

from .archive import MAX_BYTES, read_archive, save
from .atomic import write_text_atomically
from .drafts import Draft
from .elki import is_elki, parse_elki, write_elki
from .labels import parse_label_array, parse_labels, write_labels
from .opensubspace import is_opensubspace, parse_opensubspace, write_opensubspace

__all__ = [
    "FORMATS",
    "FileSource",
    "read_clusterings",
    "read_drafts",
    "read_together",
    "write_clusterings",
]

Paths = str | os.PathLike[str]


class FileSource(NamedTuple):
    """A clustering of a file, and what it and its clusters are called there."""

    name: str
    clustering: SubspaceClustering
    cluster_names: tuple[str, ...]
    #: Whether the file names its clusters; if not, their names are their numbers from 0.
    names_given: bool = True


def read_clusterings(
    path: Paths,
    *,
    shape: tuple[int | None, int | None] | None = None,
    feature_names: Sequence[str] | None = None,
    format: str | None = None,
    limits: Limits = DEFAULT,
) -> list[SubspaceClustering]:
    """Read all clusterings of a file; what it is shows in its content.

    Parameters
    ----------
    path : path
        A ``.subscape`` file, the folder of a study (its views), labels as text or NPY (one column
        for each clustering, perhaps after one of row names), an ELKI result (its folder, or all in
        one text), an OpenSubspace ``.true`` or ``.clu`` file. Text may be gzipped.
    shape : (n_rows, n_features), optional
        Size of the table, where the file does not tell; either may be None. Labels know no
        features (without a shape there is one, which every cluster has), cluster lists no rows
        after the last clustered one.
    feature_names : sequence of str, optional
        Names of the features, where the file has none.
    format : {"subscape", "labels", "elki", "opensubspace"}, optional
        What the file is, if that shall not be found out.
    limits : Limits
        What a file may hold before it is refused; ``Limits.lifted()`` for one you trust.

    Returns
    -------
    list of SubspaceClustering

    See Also
    --------
    subscape.files.read_together : Several files about one table; each fills gaps of the others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from subscape.files.formats import read_clusterings
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "found.true"
    >>> _ = path.write_text("DIM=3;\\n1 1 0 2 0 1\\n0 0 1 2 2 4\\n")
    >>> read_clusterings(path, shape=(6, 3))
    [SubspaceClustering(2 axis-aligned clusters, 6 rows x 3 features, 2 noise rows)]
    """
    n_rows, n_features = shape if shape is not None else (None, None)
    if feature_names is not None and n_features is None:
        n_features = len(feature_names)
    drafts = read_drafts(path, n_features=n_features, format=format, limits=limits)
    if feature_names is not None:
        drafts = [draft.named(feature_names) for draft in drafts]
    return [draft.build(n_rows, n_features) for draft in drafts]


def read_together(
    paths: Sequence[Paths], *, shape: tuple[int | None, int | None] | None = None
) -> list[list[FileSource]]:
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
        For each file its clusterings: name, clustering, names of the clusters (their numbers from 0
        where the file has none). The name is that of the file, with a ``#`` and the name within the
        file (else the number, from 1) where it holds several.

    See Also
    --------
    subscape.files.read_clusterings : One file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from subscape.files.formats import read_together
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
            FileSource(
                name,
                _reordered(clustering, row_order, feature_order),
                draft.cluster_names or tuple(map(str, range(clustering.n_clusters))),
                bool(draft.cluster_names),
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
    return [f"{stem}#{draft.name or i}" for i, draft in enumerate(drafts, 1)]


def read_drafts(
    path: Paths,
    *,
    n_features: int | None = None,
    format: str | None = None,
    limits: Limits = DEFAULT,
) -> list[Draft]:
    """What a file says about its clusterings."""
    source = Path(path)
    if format is not None and format not in FORMATS:
        raise SubscapeError(f"there is no format {format!r}; known are {', '.join(FORMATS)}")
    if not source.exists():
        raise FileNotFoundError(f"no such file: {source}")
    with guarded(source.name, "clustering"):
        if source.is_dir():
            return _read_folder(source, limits)
        return _read_file(source, n_features, format, limits)


def _read_folder(folder: Path, limits: Limits) -> list[Draft]:
    if (folder / "study.json").exists():
        return _read_study(folder, limits)
    files = sorted(
        (f for f in folder.iterdir() if re.search(r"\.txt(\.gz)?$", f.name)), key=_natural
    )
    # Many people's folders are called "out": the one above says more.
    source = str(Path(*folder.parts[-2:]))
    texts = [(f"{folder.name}/{f.name}", _text(f, limits)) for f in files]
    if not any(is_elki(text) for _, text in texts):
        raise FileFormatError(
            f"the folder {folder} holds neither a study nor a result of ELKI; give a file"
        )
    return parse_elki(texts, source, limits)


def _read_study(folder: Path, limits: Limits) -> list[Draft]:
    """The views of a study, by their numbers; the last may be one that was asked for."""
    files = sorted((folder / "views").glob("view_*.subscape"), key=_natural)
    if not files:
        raise FileFormatError(f"the study in {folder} has no view: there is nothing to compare")
    return [
        # Also of a single view; as a column of labels it is called like that, too.
        replace(draft, name=file.stem, provenance=draft.provenance | {"column": file.stem})
        for file in files
        for draft in _read_file(file, None, "subscape", limits)
    ]


def _natural(path: Path) -> list[tuple[int, str]]:
    """A key that sorts cluster_10 after cluster_9."""
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _read_file(
    source: Path, n_features: int | None, format: str | None, limits: Limits
) -> list[Draft]:
    with source.open("rb") as stream:
        magic = stream.read(8)
    archive = magic.startswith(b"PK") or source.suffix == ".subscape"
    if format == "subscape" or (format is None and archive) or magic[:1] == b"\x80":
        clusterings, manifest = read_archive(source, limits=limits)
        entries = zip(clusterings, manifest["clusterings"], strict=True)
        return [Draft.of(c, source.name, str(entry.get("name", ""))) for c, entry in entries]
    if magic.startswith(b"\x93NUMPY"):
        return parse_label_array(_npy(source), source.name)
    text = _text(source, limits)
    if not text.strip():
        raise FileFormatError(f"{source.name} is empty")
    if format == "elki" or (format is None and is_elki(text)):
        return parse_elki([(source.name, text)], source.name, limits)
    listed = is_opensubspace(text) or {".true", ".clu"} & set(source.suffixes)
    if format == "opensubspace" or (format is None and listed):
        return parse_opensubspace(text, source.name, n_features, limits)
    return parse_labels(text, source.name)


def _text(path: Path, limits: Limits) -> str:
    # Piece by piece: a read of all that is allowed would ask for as many addresses at once.
    pieces = bytearray()
    with open_bytes(path, limits) as stream:
        while piece := stream.read(PIECE):
            pieces += piece
            if len(pieces) > MAX_BYTES:
                raise FileFormatError(f"{path.name} holds more than {MAX_BYTES:,} bytes of text")
    content = bytes(pieces)
    del pieces
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError(
            f"{path.name} is not a clustering: neither .subscape, labels (text or NPY), nor a "
            "result of ELKI or OpenSubspace"
        )
    return decode(content, detect_encoding(content, None, path.name), path.name)


def _npy(path: Path) -> NDArray[np.generic]:
    with guarded(path.name, "label array"):
        check_npy(path)
        return np.load(path, allow_pickle=False)


# -- clusterings into files of any format, and what a format cannot hold ---------------------------


#: Name of a format -> the suffixes that stand for it when writing.
FORMATS = {
    "subscape": (".subscape",),
    "labels": (".csv", ".tsv"),
    "elki": (".elki",),
    "opensubspace": (".true", ".clu"),
}

_TITLES = {"elki": "ELKI", "opensubspace": "OpenSubspace"}


def write_clusterings(
    path: str | os.PathLike[str],
    clusterings: SubspaceClustering | Sequence[SubspaceClustering],
    *,
    format: str | None = None,
    names: Sequence[str] | None = None,
    force: bool = False,
    lossy: bool = False,
) -> Path:
    """Write clusterings in the format that the suffix of the file names, or ``format``.

    Only ``.subscape`` holds everything. Names of features, and provenance, are in no other format.
    Labels drop subspaces with a warning. What would change the clusters is refused: soft
    memberships and overlaps as labels, weights in an ELKI or OpenSubspace file, bases in the
    latter.

    Parameters
    ----------
    path : path
        ``.subscape``; ``.csv`` or ``.tsv`` for labels; ``.elki`` for an ELKI result text; ``.true``
        or ``.clu`` for OpenSubspace. An existing file is refused unless ``force``.
    clusterings : SubspaceClustering or sequence of them
        Several go into a ``.subscape`` or a label file only.
    format : {"subscape", "labels", "elki", "opensubspace"}, optional
        Where the suffix does not tell.
    names : sequence of str, optional
        Names of the clusterings.
    force : bool, default=False
        Replace an existing file.
    lossy : bool, default=False
        Write what the format can hold: the largest membership of a soft or overlapping row,
        features of more than average relevance for weights and bases.

    Returns
    -------
    Path

    See Also
    --------
    subscape.files.read_clusterings : Reads what it wrote.
    save : The format that keeps everything.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from subscape import SubspaceClustering
    >>> from subscape.files.formats import read_clusterings, write_clusterings
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> c = SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([2, 3], [2])], shape=(5, 3))
    >>> read_clusterings(write_clusterings(folder / "c.true", c)) == [c]
    True
    >>> print(write_clusterings(folder / "c.csv", c, lossy=True).read_text())
    row,label
    0,0
    1,0
    2,0
    3,1
    4,-1
    <BLANKLINE>
    """
    target = Path(path)
    chosen = format_for(target, format)
    if target.is_dir():
        raise FileExistsError(f"{target} is a folder; name a file")
    single = isinstance(clusterings, SubspaceClustering)
    members = [clusterings] if isinstance(clusterings, SubspaceClustering) else list(clusterings)
    if not members:
        raise SubscapeError("no clusterings given")
    if names is not None and (len(names) != len(members) or len(set(names)) < len(names)):
        raise SubscapeError(f"{count(len(members), 'clustering')} need as many distinct names")
    if chosen == "subscape":
        return save(target, members[0] if single else members, names=names, force=force)
    if chosen == "labels":
        text = _as_labels(members, names, "\t" if target.suffix == ".tsv" else ",", lossy)
    elif len(members) > 1:
        raise SubscapeError(
            f"an {_TITLES[chosen]} file holds one clustering, not {len(members)}; write .subscape, "
            "or one file for each"
        )
    elif chosen == "elki":
        text = _joined(write_elki(_holdable(members[0], "elki", lossy)))
    else:
        held = _holdable(members[0], "opensubspace", lossy)
        text = _joined(write_opensubspace(held, _masks(held)))
    return write_text_atomically(target, text, force=force)


def format_for(path: Path, format: str | None = None) -> str:
    """The format to write a file in.

    >>> format_for(Path("labels.csv"))
    'labels'
    """
    by_suffix = next((name for name, ends in FORMATS.items() if path.suffix in ends), None)
    if format is None:
        if by_suffix is None:
            endings = ", ".join(end for ends in FORMATS.values() for end in ends)
            raise SubscapeError(
                f"the suffix of {path.name} names no format; end it in one of {endings}, or say "
                f"format (--format): {', '.join(FORMATS)}"
            )
        return by_suffix
    if format not in FORMATS:
        raise SubscapeError(f"there is no format {format!r}; known are {', '.join(FORMATS)}")
    if "subscape" in (by_suffix, format) and by_suffix != format:
        raise SubscapeError(
            f"{path.name} can't be of format {format!r}: .subscape files, and only they, end in "
            ".subscape"
        )
    return format


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _as_labels(
    members: Sequence[SubspaceClustering],
    names: Sequence[str] | None,
    delimiter: str,
    lossy: bool,
) -> str:
    for clustering in members:
        overlapping = not (clustering.is_row_disjoint or clustering.is_coclustering)
        if overlapping and not lossy:
            what = "rows in several clusters" if clustering.is_hard else "soft memberships"
            raise UnsupportedKindError(
                f"labels can't hold {what}; write .subscape"
                + (" or .true" if clustering.is_hard and clustering.kind == "axis" else "")
                + ", or say lossy=True (--lossy) to keep the largest membership of each row"
            )
    if not lossy and any(not _full(clustering) for clustering in members):
        warnings.warn(
            "labels hold no subspaces, only the rows of each cluster; .subscape keeps both",
            UserWarning,
            stacklevel=3,
        )
    if names is None:
        names = ["label"] if len(members) == 1 else [f"label_{i}" for i in range(len(members))]
    return write_labels(members, names, delimiter)


def _full(clustering: SubspaceClustering) -> bool:
    """Whether every cluster has all features."""
    return clustering.kind == "axis" and bool((clustering.subspaces.relevance == 1).all())


def _holdable(clustering: SubspaceClustering, format: str, lossy: bool) -> SubspaceClustering:
    """The clustering as ELKI or OpenSubspace can hold it."""
    title, losses = _TITLES[format], []
    subspaces = clustering.subspaces
    if not clustering.is_hard:
        losses.append("soft memberships")
    if isinstance(subspaces, WeightedSubspaces):
        losses.append("feature weights")
    if isinstance(subspaces, OrientedSubspaces):
        if format == "opensubspace":
            losses.append("oriented bases")
        elif (subspaces.dims == 0).any():
            raise UnsupportedKindError(
                "ELKI takes clusters of 0 dimensions for noise; write .subscape"
            )
    if losses and not lossy:
        raise UnsupportedKindError(
            f"an {title} file can't hold {' and '.join(losses)}; write .subscape"
            + (" or .elki" if losses == ["oriented bases"] else "")
            + ", or say lossy=True (--lossy) to write what it can hold"
        )
    if not clustering.is_hard:
        codes = clustering.members.codes()
        kept = np.unique(codes[codes >= 0]).astype(np.intp)
        clustering = SubspaceClustering(codes == kept[:, None], subspaces.select(kept))
    if format == "elki" and clustering.kind == "oriented":
        return clustering
    return SubspaceClustering(clustering.members, AxisSubspaces(_masks(clustering)))


def _masks(clustering: SubspaceClustering) -> BoolArray:
    """Relevant features; of weights and bases those of at least average relevance."""
    if isinstance(clustering.subspaces, AxisSubspaces):
        return clustering.subspaces.masks
    relevance = clustering.subspaces.relevance
    return relevance >= relevance.mean(axis=1, keepdims=True) - 1e-12
