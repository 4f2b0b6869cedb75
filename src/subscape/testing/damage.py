"""Damaged files: small valid ones of every format that is read, and what may happen to them."""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subscape.core.clustering import SubspaceClustering

#: Ways to damage a file.
KINDS = ("flip", "cut", "splice", "repeat", "zero")


class Specimen(NamedTuple):
    """A valid file, and what reads it."""

    name: str
    content: bytes
    read: Callable[[Path], Any]


def damaged(content: bytes, kind: str, place: float, other: float, value: int = 255) -> bytes:
    """A file with one fault.

    Parameters
    ----------
    content : bytes
    kind : {"flip", "cut", "splice", "repeat", "zero"}
        A byte changed, the end missing, a piece missing, a piece twice, a piece zeroed.
    place, other : float in [0, 1]
        Where it begins and ends, as shares of the file.
    value : int
        What a flipped byte is combined with.

    Examples
    --------
    >>> damaged(b"abcdef", "cut", 0.5, 0), damaged(b"abcdef", "splice", 0.2, 0.7)
    (b'abc', b'aef')
    """
    a, b = sorted((int(place * len(content)), int(other * len(content))))
    if kind == "cut":
        return content[: int(place * len(content))]
    if kind == "splice":
        return content[:a] + content[b:]
    if kind == "repeat":
        return content[:b] + content[a:]
    if kind == "zero":
        return content[:a] + bytes(min(b - a, 64)) + content[a + min(b - a, 64) :]
    at = min(int(place * len(content)), len(content) - 1)
    return content[:at] + bytes([content[at] ^ (value or 255)]) + content[at + 1 :]


def specimens(formats: Sequence[str] | None = None) -> list[Specimen]:
    """A small valid file of each format that tables and clusterings are read from."""
    made = {**_tables(), **_clusterings()}
    return [made[name] for name in formats or made]


def outcome(specimen: Specimen, content: bytes, folder: str | Path) -> str:
    """What reading damaged bytes ends in: "read", or "refused" by an error of ours.

    Any other error is raised.
    """
    path = Path(folder) / specimen.name
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            specimen.read(path)
        except (ValueError, TypeError) as error:
            if not type(error).__module__.startswith("subscape."):
                raise
            return "refused"
    return "read"


def _tables() -> dict[str, Specimen]:
    import pyarrow as pa
    from pyarrow import feather, parquet

    from subscape.tables.table import Table

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)).round(2)
    city = ["Oslo", "Rome", "Zürich"] * 4
    rows = "".join(f"{a},{b},{c},{t}\n" for (a, b, c), t in zip(X, city, strict=True))
    text = ("a,b,c,city\n" + rows).encode()
    frame = pa.table({"a": X[:, 0], "b": X[:, 1], "city": city})
    sinks = {name: io.BytesIO() for name in ("npy", "parquet", "feather", "zip")}
    np.save(sinks["npy"], X)
    parquet.write_table(frame, sinks["parquet"])
    feather.write_feather(frame, sinks["feather"], compression="zstd")
    with zipfile.ZipFile(sinks["zip"], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", text)
    arff = b"@relation r\n@attribute a real\n@attribute b {x, y}\n@data\n1,y\n2,x\n{0 3}\n"
    files = {
        "csv": text,
        "semicolons": text.replace(b",", b";").replace(b".", b","),
        "utf16": text.decode().encode("utf-16"),
        "gz": gzip.compress(text, mtime=0),
        "zst": pa.Codec("zstd").compress(text, asbytes=True),
        "arff": arff,
        **{name: sink.getvalue() for name, sink in sinks.items()},
    }
    found = {name: Specimen(f"t.{name}", content, Table.read) for name, content in files.items()}
    found["h5ad"] = Specimen("t.h5ad", _h5ad(X), Table.read)
    return found


def _h5ad(X: Any) -> bytes:
    try:
        import anndata
    except ImportError:
        return b"\x89HDF\r\n\x1a\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.h5ad"
        anndata.AnnData(X).write_h5ad(path)
        return path.read_bytes()


def _clusterings() -> dict[str, Specimen]:
    from subscape.files.archive import load_all, save
    from subscape.files.formats import read_clusterings, write_clusterings

    clustering = SubspaceClustering.from_clusters(
        [([0, 1, 2], [0, 1]), ([3, 4], [2])], shape=(6, 3), feature_names=["a", "b", "c"]
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("subscape", "true", "elki", "csv"):
            path = Path(folder) / f"c.{name}"
            if name == "subscape":
                save(path, clustering)
            else:
                write_clusterings(path, clustering)
            key = "labels" if name == "csv" else name
            read = load_all if name == "subscape" else read_clusterings
            found[key] = Specimen(path.name, path.read_bytes(), read)
    return found
