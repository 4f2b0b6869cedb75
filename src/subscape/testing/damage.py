"""Damaged files: small valid ones of every format that is read, and what may happen to them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
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
    """A small valid file of each format: tables, clusterings, and the parts of a study."""
    made = {**_tables(), **_clusterings(), **_study()}
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
    sinks = {name: io.BytesIO() for name in ("npy", "parquet", "feather", "zip", "xlsx", "ods")}
    np.save(sinks["npy"], X)
    parquet.write_table(frame, sinks["parquet"])
    feather.write_feather(frame, sinks["feather"], compression="zstd")
    with zipfile.ZipFile(sinks["zip"], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", text)
    for name, parts in _workbooks(X).items():
        with zipfile.ZipFile(sinks[name], "w", zipfile.ZIP_DEFLATED) as archive:
            for part, content in parts.items():
                archive.writestr(part, content)
    arff = b"@relation r\n@attribute a real\n@attribute b {x, y}\n@data\n1,y\n2,x\n{0 3}\n"
    files = {
        "csv": text,
        "semicolons": text.replace(b",", b";").replace(b".", b","),
        "utf16": text.decode().encode("utf-16"),
        "gz": gzip.compress(text, mtime=0),
        "bz2": bz2.compress(text),
        "xz": lzma.compress(text),
        "zst": pa.Codec("zstd").compress(text, asbytes=True),
        "arff": arff,
        **{name: sink.getvalue() for name, sink in sinks.items()},
    }
    found = {name: Specimen(f"t.{name}", content, Table.read) for name, content in files.items()}
    found["h5ad"] = Specimen("t.h5ad", _h5ad(X), Table.read)
    return found


def _workbooks(X: Any) -> dict[str, dict[str, str]]:
    """The parts of the least workbooks that can be read."""
    cells = [["a", "b", "c"], *X.tolist()]
    office = "http://schemas.openxmlformats.org"
    lines = "".join(
        "<row>" + "".join(
            f'<c t="inlineStr"><is><t>{v}</t></is></c>'
            if isinstance(v, str)
            else f"<c><v>{v}</v></c>"
            for v in row
        ) + "</row>" for row in cells
    )  # fmt: skip
    relation = (
        f'<Relationships xmlns="{office}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument/2006/relationships/%s" Target="%s"/></Relationships>'
    )
    main = f'xmlns="{office}/spreadsheetml/2006/main"'
    xlsx = {
        "[Content_Types].xml": f'<Types xmlns="{office}/package/2006/content-types"/>',
        "_rels/.rels": relation % ("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": relation % ("worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{office}/officeDocument/2006/relationships">'
        '<sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{lines}</sheetData></worksheet>",
    }
    open_names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    rows = "".join(
        "<table:table-row>" + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{v}</text:p></table:table-cell>'
            if isinstance(v, str)
            else f'<table:table-cell office:value-type="float" office:value="{v}"/>'
            for v in row
        ) + "</table:table-row>" for row in cells
    )  # fmt: skip
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    ods = {
        "mimetype": kind,
        "META-INF/manifest.xml": '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:'
        f'opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{kind}"/></manifest:manifest>',
        "content.xml": f"<office:document-content {open_names}><office:body><office:spreadsheet>"
        f'<table:table table:name="s">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>",
    }
    return {"xlsx": xlsx, "ods": ods}


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


def _study() -> dict[str, Specimen]:
    """The files of a study that are read again; each is damaged among others that are whole."""
    from subscape.exploration.study import load_study, save_study

    from .studies import planted_study

    with tempfile.TemporaryDirectory() as folder:
        save_study(planted_study(40, n_clusters=(2,), n_results=4), folder)
        home = Path(folder)
        whole = {
            path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()
        }

    def read_among(place: Path) -> Callable[[Path], Any]:
        def read(path: Path) -> Any:
            with tempfile.TemporaryDirectory() as folder:
                for name, content in whole.items():
                    target = Path(folder) / name
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(path.read_bytes() if name == place else content)
                return load_study(folder)

        return read

    places = {
        "study": "study.json", "timings": "timings.json", "arrays": "views/arrays.npz",
        "view": "views/view_1.subscape",
    }  # fmt: skip
    return {
        key: Specimen(f"s.{key}", whole[Path(place)], read_among(Path(place)))
        for key, place in places.items()
    }


def crafted() -> list[Specimen]:
    """Files that lie on purpose: sizes that are not there, depth, bombs, endless lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     {outcome(file, file.content, folder) for file in crafted() if "deep" in file.name}
    {'refused'}
    """
    from subscape.files.archive import load_all
    from subscape.files.formats import read_clusterings
    from subscape.tables.table import Table

    tables = {
        "deep.json": b"[" * 100_000 + b"]" * 100_000,
        "line.csv": b"a,b\n" + b"1" * 4_000_000 + b",2\n",
        "no_line.csv": b"1," * 2_000_000,
        "wide.csv": ",".join(f"c{j}" for j in range(60_000)).encode() + b"\n",
        "quotes.csv": b"a,b\n" + b'"' * 500_001 + b"\n1,2\n",
        "nulls.csv": b"a,b\n1,2\n" + b"\0" * 1_000_000,
        "sparse.arff": b"@relation r\n@attribute a real\n@data\n{999999999999 1}\n",
        "many.arff": b"@relation r\n" + b"@attribute a real\n" * 50_000 + b"@data\n",
        "bomb.gz": gzip.compress(b"1,2\n" * 25_000_000, 9, mtime=0),
        "bomb.bz2": bz2.compress(b"0" * 100_000_000),
        "bomb.xz": lzma.compress(b"0" * 100_000_000),
        "size.npy": _npy((10**6, 10**6)),
        "minus.npy": _npy((-1, 3)),
        "overflow.npy": _npy((2**40, 2**40)),
        "object.npy": _npy((2, 2), "|O"),
        # Packed as tightly as can be: as large as is allowed by the file, and tables beyond it.
        "rows.gz": _gzipped(b"1,2\n", 1000),
        "blanks.gz": _gzipped(b"1 2\n", 1000),
        "zeros.gz": _gzipped(b"\0", 1000),
        "letters.gz": _gzipped(b"x", 1000),
        "commas.gz": _gzipped(b",", 1000),
        "lines.gz": _gzipped(b"\n", 1000),
        "quote.gz": gzip.compress(b'a,b\n"', mtime=0) + _gzipped(b"x", 1000),
        "rows.arff": gzip.compress(b"@relation r\n@attribute a real\n@data\n", mtime=0)
        + _gzipped(b"1\n", 1000),
        "zeros.parquet": _zeros("parquet"),
        "zeros.feather": _zeros("feather"),
        "locked.zip": _restated(_zipped({"t.csv": b"a,b\n1,2\n3,4\n"}), 6, 1),
        "packing.zip": _restated(_zipped({"t.csv": b"a,b\n1,2\n3,4\n"}), 8, 97),
    }
    deep = "[" * 100_000 + "]" * 100_000
    clusterings = {
        "deep.subscape": _zipped({"manifest.json": deep.encode()}),
        "bomb.subscape": _zipped({"manifest.json": b"{}" + b" " * 100_000_000}),
        "up.subscape": _zipped({"../manifest.json": b"{}"}),
        "huge.true": b"DIM=3;ROWS=999999999999;\n1 1 0 2 0 1\n",
        "huge.elki": b"# Cluster: a\n# Subspace: Dimensions: [1, 99999999999999]\nID=1\n",
        "labels.csv": b"label\n" + b"9" * 1000 + b"\n1\n",
        "wide.true": b"DIM=3;\n" + b"1 " * 2_000_000 + b"\n",
        "features.elki": b"# Cluster: a\n# Subspace: Dimensions: [1000000000]\nID=1\n",
        "labels.gz": gzip.compress(b"label\n", mtime=0) + _gzipped(b"1\n", 1000),
        "clusters.gz": gzip.compress(b"DIM=3;\n", mtime=0) + _gzipped(b"1 0 1 1 0 \n", 1000),
        "zeros.csv": _gzipped(b"\0", 1000),
        "locked.subscape": _restated(_zipped({"manifest.json": b"{}"}), 6, 1),
        "packing.subscape": _restated(_zipped({"manifest.json": b"{}"}), 8, 97),
        "text.subscape": _zipped({"manifest.json": b'{"format": "' + b"x" * 10**6 + b'"}'}),
        "digits.subscape": _zipped({"manifest.json": b"[" + b"9" * 10**6 + b"]"}),
    }
    found = [Specimen(name, content, Table.read) for name, content in tables.items()]
    for name, content in clusterings.items():
        read = load_all if name.endswith("subscape") else read_clusterings
        found.append(Specimen(name, content, read))
    return found


def _npy(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    """An array file that states a shape and holds next to nothing."""
    head = str({"descr": kind, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(64)


def _zipped(parts: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return sink.getvalue()


def _gzipped(unit: bytes, megabytes: int) -> bytes:
    """A text of so many megabytes: gzip files behind each other are one."""
    return gzip.compress((unit * 10**6)[: 10**6], 9, mtime=0) * megabytes


def _zeros(kind: str) -> bytes:
    """A gigabyte of zeros in a file of arrow."""
    import pyarrow as pa
    from pyarrow import parquet

    sink, piece = io.BytesIO(), pa.table({"a": np.zeros(5_000_000)})
    if kind == "parquet":
        with parquet.ParquetWriter(sink, piece.schema, compression="zstd") as file:
            for _ in range(25):
                file.write_table(piece)
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(sink, piece.schema, options=options) as file:
            for _ in range(25):
                file.write_table(piece)
    return sink.getvalue()


def _restated(content: bytes, place: int, value: int) -> bytes:
    """A ZIP archive of one file whose headers say something else: flags (6) or packing (8)."""
    found = bytearray(content)
    for start, shift in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
        at = found.find(start) + place + shift
        found[at : at + 2] = value.to_bytes(2, "little")
    return bytes(found)
