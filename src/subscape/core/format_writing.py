"""Clusterings into files of any format, and what a format cannot hold."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .atomic import write_text_atomically
from .clustering import SubspaceClustering
from .errors import SubscapeError, UnsupportedKindError, count
from .files import save
from .format_elki import write_elki
from .format_labels import write_labels
from .format_opensubspace import write_opensubspace
from .oriented import OrientedSubspaces
from .subspaces import AxisSubspaces, WeightedSubspaces

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

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from subscape import SubspaceClustering
    >>> from subscape.core.formats import read_clusterings, write_clusterings
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


def _masks(clustering: SubspaceClustering) -> NDArray[np.bool_]:
    """Relevant features; of weights and bases those of at least average relevance."""
    if isinstance(clustering.subspaces, AxisSubspaces):
        return clustering.subspaces.masks
    relevance = clustering.subspaces.relevance
    return relevance >= relevance.mean(axis=1, keepdims=True) - 1e-12
