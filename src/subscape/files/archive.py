"""The ``.subscape`` file: one or more clusterings in a ZIP of a manifest and plain arrays.

Nothing in it is ever unpickled, its sizes are checked before anything is read, and the same
clusterings always give the same bytes. Writing is atomic: beside the target, synced, renamed.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import FileFormatError, SubscapeError
from subscape.core.memberships import Memberships
from subscape.core.oriented import OrientedSubspaces
from subscape.core.plain_values import plain_values
from subscape.core.prototypes import Prototypes
from subscape.core.subspaces import AxisSubspaces, Subspaces, WeightedSubspaces
from subscape.tables.readers.boundary import DEFAULT, Limits, guarded, parsed_json

from .atomic import write_atomically

FORMAT = "subscape/1"

#: A file whose contents would be larger than this is refused unless ``max_bytes`` is raised.
MAX_BYTES = 4 * 2**30
#: Letters of what a file holds that are repeated in a message.
MOST_SAID = 200

#: What is kept of prototypes beside the clustering itself.
PROTOTYPE_ARRAYS = (
    "sizes", "centre", "spread", "low", "high", "effect", "residual", "background_centre",
    "background_spread",
)  # fmt: skip

_FIXED_DATE = (2000, 1, 1, 0, 0, 0)


class Contents(NamedTuple):
    """What a file holds."""

    clusterings: list[SubspaceClustering]
    manifest: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    entries: list[dict[str, Any]]


def save(
    path: str | os.PathLike[str],
    clusterings: SubspaceClustering | Sequence[SubspaceClustering],
    *,
    names: Sequence[str] | None = None,
    prototypes: Prototypes | Sequence[Prototypes | None] | None = None,
    metadata: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Write one or several clusterings to a ``.subscape`` file.

    Parameters
    ----------
    path : path
        An existing file is refused unless ``force``.
    clusterings : SubspaceClustering or sequence of them
    names : sequence of str, optional
        A name for each clustering.
    prototypes : Prototypes or sequence of them, optional
        Where the clusters lie (:func:`describe`), so that new rows can be assigned later without
        the table; see :func:`load_prototypes`.
    metadata : mapping, optional
        Anything JSON can hold.
    force : bool, default=False
        Replace an existing file.

    Returns
    -------
    Path

    See Also
    --------
    load : Reads the file.
    subscape.files.write_clusterings : Other formats.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from subscape import SubspaceClustering, load, save
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> c = SubspaceClustering.from_labels([0, 0, 1], n_features=2)
    >>> load(save(folder / "result.subscape", c)) == c
    True
    """
    single = isinstance(clusterings, SubspaceClustering)
    members = [clusterings] if isinstance(clusterings, SubspaceClustering) else list(clusterings)
    for i, member in enumerate(members):
        if not isinstance(member, SubspaceClustering):
            raise TypeError(f"entry {i} is a {type(member).__name__}, not a SubspaceClustering")
    if names is not None and len(names) != len(members):
        raise SubscapeError(f"{len(names)} names were given for {len(members)} clusterings")
    details = plain_values(metadata, "metadata")
    described = [prototypes] if isinstance(prototypes, Prototypes) else list(prototypes or [])
    if described and len(described) != len(members):
        raise SubscapeError(f"{len(described)} prototypes for {len(members)} clusterings")
    entries: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for i, member in enumerate(members):
        entry, parts = _pack(member, f"clustering{i}", described[i] if described else None)
        entries.append(entry | ({"name": str(names[i])} if names is not None else {}))
        arrays.update(parts)
    from subscape.version import __version__

    manifest = {
        "format": FORMAT,
        "version": __version__,
        "single": single,
        "clusterings": entries,
        "arrays": {name: {"dtype": a.dtype.str, "shape": a.shape} for name, a in arrays.items()},
        "metadata": details,
    }

    def write(stream: BinaryIO) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            _put(archive, "manifest.json", json.dumps(manifest, indent=1).encode())
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
                _put(archive, f"{name}.npy", buffer.getvalue())

    return write_atomically(path, write, force=force)


def load(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, limits: Limits = DEFAULT
) -> Any:
    """Read a ``.subscape`` file: a clustering, or a list of them if a list was saved.

    Parameters
    ----------
    path : path
    max_bytes : int
        Files that would unpack to more are refused.
    limits : Limits
        What else a file may hold before it is refused; ``Limits.lifted()`` for one you trust.

    Returns
    -------
    SubspaceClustering, or list of them
        Whatever was saved.

    See Also
    --------
    save : Writes the file.
    subscape.files.load_all : Always a list.
    subscape.files.read_clusterings : Any format.
    """
    clusterings, manifest = read_archive(path, max_bytes=max_bytes, limits=limits)
    return clusterings[0] if manifest.get("single") and len(clusterings) == 1 else clusterings


def load_all(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> list[Any]:
    """Read all clusterings of a ``.subscape`` file as a list.

    Returns
    -------
    list of SubspaceClustering
        A list of one where a single clustering was saved.

    See Also
    --------
    load : One clustering by itself.
    subscape.files.read_clusterings : Any format.
    """
    return read_archive(path, max_bytes=max_bytes)[0]


def load_prototypes(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES
) -> list[Prototypes | None]:
    """Read where the clusters lie: one entry per clustering, None where it was not saved.

    Returns
    -------
    list of Prototypes or None
        In the order of the clusterings of the file.

    See Also
    --------
    load : The clusterings of the same file.
    subscape.describe : Makes prototypes.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from subscape import SubspaceClustering, assign, describe, save
    >>> from subscape.files import load_prototypes
    >>> X = [[0.0, 1.0], [0.1, 1.2], [5.0, 1.1], [5.2, 0.9]]
    >>> c = SubspaceClustering.from_labels([0, 0, 1, 1], n_features=2)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "c.subscape"
    >>> [found] = load_prototypes(save(path, c, prototypes=describe(X, c)))
    >>> assign([[0.05, 1.0], [5.1, 1.0]], found)
    array([0, 1])
    """
    clusterings, _, arrays, entries = _read(path, max_bytes)
    found: list[Prototypes | None] = []
    for clustering, entry in zip(clusterings, entries, strict=True):
        if "noise_share" not in entry:
            found.append(None)
            continue
        prefix = entry["prefix"]
        parts = {name: arrays[f"{prefix}_prototype_{name}"] for name in PROTOTYPE_ARRAYS}
        found.append(
            Prototypes(
                **parts,
                relevance=clustering.subspaces.relevance,
                subspaces=clustering.subspaces,
                feature_names=clustering.feature_names,
                noise_share=float(entry["noise_share"]),
            )
        )
    return found


def read_archive(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, limits: Limits = DEFAULT
) -> tuple[list[SubspaceClustering], dict[str, Any]]:
    """Clusterings and manifest of a ``.subscape`` file; refuses whatever is not sound."""
    clusterings, manifest, _, _ = _read(path, max_bytes, limits)
    return clusterings, manifest


def _read(path: str | os.PathLike[str], max_bytes: int, limits: Limits = DEFAULT) -> Contents:
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"no such file: {source}")
    if source.is_dir():
        raise FileFormatError(f"{source} is a folder, not a .subscape file")
    with source.open("rb") as stream:
        head = stream.read(8)
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        raise FileFormatError(f"{source.name} is a pickle, which is never read; save it anew")
    if not head.startswith(b"PK"):
        raise FileFormatError(f"{source.name} is not a .subscape file (no ZIP archive)")
    with sound(source.name), zipfile.ZipFile(source) as archive:
        return _unpack(archive, source.name, max_bytes, limits)


@contextmanager
def sound(name: str) -> Iterator[None]:
    """Whatever an archive raises, as one sentence that says it is damaged."""
    try:
        with guarded(name):
            yield
    except FileFormatError as error:
        if error.__cause__ is None:
            raise
        raise FileFormatError(
            f"{name} is damaged or truncated: {repr(error.__cause__)[:MOST_SAID]}; make it anew"
        ) from error.__cause__


# -- packing --------------------------------------------------------------------------------------


def _pack(
    clustering: SubspaceClustering, prefix: str, prototypes: Prototypes | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members, subspaces = clustering.members, clustering.subspaces
    arrays: dict[str, NDArray[Any]] = {
        f"{prefix}_indptr": members.indptr,
        f"{prefix}_indices": members.indices,
    }
    if members.values is not None:
        arrays[f"{prefix}_values"] = members.values
    entry: dict[str, Any] = {
        "prefix": prefix,
        "kind": clustering.kind,
        "n_rows": clustering.n_rows,
        "n_features": clustering.n_features,
        "n_clusters": clustering.n_clusters,
        "feature_names": clustering.feature_names,
        "row_names": clustering.row_names,
        "provenance": clustering.provenance,
    }
    if isinstance(subspaces, AxisSubspaces):
        arrays[f"{prefix}_masks"] = np.packbits(subspaces.masks, axis=1)
    elif isinstance(subspaces, WeightedSubspaces):
        arrays[f"{prefix}_weights"] = subspaces.weights
    elif isinstance(subspaces, OrientedSubspaces):
        arrays[f"{prefix}_bases"] = np.ascontiguousarray(subspaces.stack)
        arrays[f"{prefix}_offsets"] = subspaces.offsets
        entry["complement"] = subspaces.is_complement
    if prototypes is not None:
        if prototypes.relevance.shape != subspaces.relevance.shape:
            raise SubscapeError("the prototypes describe another clustering")
        entry["noise_share"] = prototypes.noise_share
        for name in PROTOTYPE_ARRAYS:
            arrays[f"{prefix}_prototype_{name}"] = np.asarray(getattr(prototypes, name))
    return entry, arrays


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _FIXED_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


def check_archive(archive: zipfile.ZipFile, name: str, limits: Limits, max_bytes: int) -> None:
    """Refuse an archive that would unpack to more than it may."""
    total = sum(info.file_size for info in archive.infolist())
    packed = sum(info.compress_size for info in archive.infolist())
    if total > max_bytes:
        raise FileFormatError(
            f"{name} would unpack to {total:,} bytes, more than max_bytes={max_bytes:,}"
        )
    limits.check_ratio(total, packed, name)


def read_arrays(
    path: Path, name: str, *, max_bytes: int = MAX_BYTES, limits: Limits = DEFAULT
) -> dict[str, NDArray[Any]]:
    """The arrays of an NPZ file, or a ``FileFormatError`` that names it."""
    if not path.exists():
        raise FileFormatError(f"{name} is missing")
    with sound(name):
        with zipfile.ZipFile(path) as archive:
            check_archive(archive, name, limits, max_bytes)
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}


def _unpack(archive: zipfile.ZipFile, name: str, max_bytes: int, limits: Limits) -> Contents:
    infos = {info.filename: info for info in archive.infolist()}
    check_archive(archive, name, limits, max_bytes)
    if "manifest.json" not in infos:
        raise FileFormatError(f"{name} has no manifest.json: not a .subscape file")
    manifest = parsed_json(archive.read("manifest.json"), f"the manifest of {name}", limits)
    _check_manifest(manifest, name)
    arrays = {
        key: _array(archive, infos, key, declared, name)
        for key, declared in manifest["arrays"].items()
    }
    try:
        clusterings = [
            _clustering(entry, arrays, name, limits) for entry in manifest["clusterings"]
        ]
    except FileFormatError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FileFormatError(f"{name} is damaged: {str(error)[:MOST_SAID]}") from None
    return Contents(clusterings, manifest, arrays, manifest["clusterings"])


def _check_manifest(manifest: Any, name: str) -> None:
    stated = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(stated, str) or not stated.startswith("subscape/"):
        said = repr(stated)[:MOST_SAID]
        raise FileFormatError(f"{name} is not a .subscape file: its format is {said}")
    if stated != FORMAT:
        raise FileFormatError(
            f"{name} has format {stated[:MOST_SAID]}, this version reads {FORMAT}; update subscape"
        )
    for key, kind in (("arrays", dict), ("clusterings", list)):
        if not isinstance(manifest.get(key), kind):
            raise FileFormatError(f"{name} is damaged: its manifest has no {key}")


def _array(
    archive: zipfile.ZipFile,
    infos: dict[str, zipfile.ZipInfo],
    key: str,
    declared: dict[str, Any],
    name: str,
) -> NDArray[Any]:
    info = infos.get(f"{key}.npy")
    if info is None:
        raise FileFormatError(f"{name} is damaged: array {key} is missing")
    dtype = np.dtype(declared["dtype"])
    if dtype.hasobject:
        raise FileFormatError(f"{name} holds pickled objects, which are never read")
    expected = int(np.prod(declared["shape"], dtype=np.int64)) * dtype.itemsize
    if not expected <= info.file_size <= expected + 4096:
        raise FileFormatError(
            f"{name} is damaged: array {key} takes {info.file_size} bytes, its shape {expected}"
        )
    try:
        array = np.lib.format.read_array(io.BytesIO(archive.read(info)), allow_pickle=False)
    except ValueError as error:
        raise FileFormatError(f"{name}: array {key} can't be read: {error}") from None
    if list(array.shape) != list(declared["shape"]) or array.dtype != dtype:
        raise FileFormatError(f"{name} is damaged: array {key} is not what the manifest says")
    return np.asarray(array)


def _clustering(
    entry: dict[str, Any], arrays: dict[str, NDArray[Any]], name: str, limits: Limits
) -> SubspaceClustering:
    prefix, n_features = entry["prefix"], int(entry["n_features"])
    indptr, indices = arrays[f"{prefix}_indptr"], arrays[f"{prefix}_indices"]
    n_rows, n_clusters = int(entry["n_rows"]), int(entry["n_clusters"])
    limits.check_shape(n_rows, n_features, n_clusters, name)
    sound = (
        len(indptr) == n_clusters + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices)
        and bool((np.diff(indptr) >= 0).all())
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < n_rows))
    )
    if not sound:
        raise ValueError("memberships don't fit the stated numbers of rows and clusters")
    members = Memberships(indptr, indices, arrays.get(f"{prefix}_values"), n_rows)
    subspaces: Subspaces
    if entry["kind"] == "axis":
        packed = arrays[f"{prefix}_masks"]
        if packed.ndim != 2 or packed.shape[1] != -(-n_features // 8):
            raise ValueError(f"{n_features:,} features are stated, the masks have others")
        subspaces = AxisSubspaces(np.unpackbits(packed, axis=1, count=n_features).astype(bool))
    elif entry["kind"] == "weighted":
        subspaces = WeightedSubspaces(arrays[f"{prefix}_weights"])
    elif entry["kind"] == "oriented":
        stack, offsets = arrays[f"{prefix}_bases"], arrays[f"{prefix}_offsets"]
        bases = [stack[:, a:b] for a, b in pairwise(offsets)]
        subspaces = OrientedSubspaces(bases, bool(entry["complement"]), n_features=n_features)
    else:
        raise ValueError(f"unknown kind {entry['kind']!r}")
    return SubspaceClustering(
        members,
        subspaces,
        feature_names=entry["feature_names"],
        row_names=entry["row_names"],
        provenance=entry["provenance"],
    )
