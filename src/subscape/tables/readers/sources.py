"""Where tables come from: files by their content, data frames, AnnData objects, arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from subscape.core.errors import FileFormatError, SubscapeError, listing
from subscape.core.missing import is_missing
from subscape.tables.columns import check_known, check_unique
from subscape.tables.roles import Habits, Wishes, table_from_arrow, type_column
from subscape.tables.table import Table

from .arff import is_arff, parse_arff
from .delimited import TextOptions, decode, detect_encoding, open_bytes, read_delimited

#: NPY files above this size are mapped instead of read, so that only what is used is in memory.
MAPPED_BYTES = 1 << 28

_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive (XLSX and NPZ are too); save the table as CSV, Parquet or NPY",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"%PDF": "a PDF document",
    b"\x80\x04\x95": "a pickle, which is never opened; save the table as CSV, Parquet or NPY",
    b"\x80\x05\x95": "a pickle, which is never opened; save the table as CSV, Parquet or NPY",
    b"BZh": "packed by bzip2; unpack it, or pack it by gzip",
    b"\xfd7zXZ": "packed by xz; unpack it, or pack it by gzip",
    b"\x28\xb5\x2f\xfd": "packed by zstd; unpack it, or pack it by gzip",
}


def read(
    source: Any,
    *,
    text: TextOptions | None = None,
    roles: Mapping[str, str] | None = None,
    id: str | None = None,
    label: str | Sequence[str] | None = None,
    layer: str | None = None,
    use_rep: str | None = None,
) -> Table:
    """Read anything that holds a table; see ``Table.read`` for the parameters."""
    labels = (label,) if isinstance(label, str) else tuple(label or ())
    wanted = Wishes(dict(roles or {}), id, labels)
    text = text or TextOptions()
    if isinstance(source, str | PathLike):
        return _read_path(Path(source), text, wanted, layer, use_rep)
    if any(option is not None for option in text):
        raise SubscapeError("delimiter, decimal, header and encoding are for text files only")
    if _is_anndata(source):
        return _read_anndata(source, wanted, layer, use_rep)
    _refuse_anndata_options(layer, use_rep)
    if isinstance(source, Table):
        return source.with_roles(wanted.by_column())
    if isinstance(source, np.ndarray | list | tuple) or sparse.issparse(source):
        return Table.from_array(source).with_roles(wanted.by_column())
    return _read_frame(source, wanted)


def _refuse_anndata_options(layer: str | None, use_rep: str | None) -> None:
    if layer is not None or use_rep is not None:
        raise SubscapeError("layer and use_rep are for AnnData only")


# --- files ---


def _read_path(
    path: Path, text: TextOptions, wanted: Wishes, layer: str | None, use_rep: str | None
) -> Table:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if not path.is_file():
        raise SubscapeError(f"{str(path)!r} is a folder; give one file")
    before = path.stat()
    table = _read_content(path, text, wanted, layer, use_rep)
    after = path.stat()
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise FileFormatError(f"{path.name} changed while it was read; read it again")
    source = {"path": path.name, **table.source, "rows": table.n_rows}
    return replace(table, source=source)


def _read_content(
    path: Path, text: TextOptions, wanted: Wishes, layer: str | None, use_rep: str | None
) -> Table:
    with path.open("rb") as file:
        magic = file.read(8)
    if not magic:
        raise FileFormatError(f"{path.name} is empty")
    for start, what in _FOREIGN.items():
        if magic.startswith(start):
            raise FileFormatError(f"{path.name} is {what}")
    if magic.startswith(b"\x89HDF"):
        return _read_h5ad(path, wanted, layer, use_rep)
    _refuse_anndata_options(layer, use_rep)
    if magic.startswith(b"PAR1") or magic.startswith(b"\x93NUMPY"):
        if any(option is not None for option in text):
            raise SubscapeError(f"{path.name} is no text file: delimiter, encoding … do not apply")
        return _read_npy(path, wanted) if magic[0] == 0x93 else _read_parquet(path, wanted)
    try:
        return _read_text(path, text, wanted)
    except (EOFError, OSError) as error:
        # gzip reports a cut or damaged file in this way.
        raise FileFormatError(f"{path.name} cannot be unpacked: {error}") from None


def _read_text(path: Path, options: TextOptions, wanted: Wishes) -> Table:
    with open_bytes(path) as file:
        start = file.read(1 << 16)
    if not start:
        raise FileFormatError(f"{path.name} is empty")
    encoding = detect_encoding(start, options.encoding, path.name)
    if is_arff(decode(start, encoding, path.name)) or ".arff" in path.suffixes:
        return _read_arff(path, options, wanted)
    found, arrays = read_delimited(path, options, wanted.literal)
    source = {"delimiter": found.delimiter, "decimal": found.decimal, "encoding": found.encoding}
    notes = list(found.notes)
    if found.encoding in ("cp1252", "latin-1") and options.encoding is None:
        notes.append(f"the file is not UTF-8; it was read as {found.encoding}")
    return table_from_arrow(
        found.names,
        arrays,
        wanted,
        markers=True,
        decimal=found.decimal,
        source={"format": "delimited", **source},
        reading_notes=notes,
    )


def _read_arff(path: Path, options: TextOptions, wanted: Wishes) -> Table:
    if options.delimiter is not None or options.decimal is not None or options.header is not None:
        raise SubscapeError(f"{path.name} is ARFF: delimiter, decimal and header do not apply")
    with open_bytes(path) as file:
        content = file.read()
    encoding = detect_encoding(content, options.encoding, path.name)
    found = parse_arff(decode(content, encoding, path.name), path.name)
    source = {"format": "arff", "relation": found.relation, "encoding": encoding}
    return table_from_arrow(
        found.names, found.arrays, wanted, source=source, reading_notes=found.notes
    )


def _read_parquet(path: Path, wanted: Wishes) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        table = file.read()
    except (pa.ArrowInvalid, OSError) as error:
        raise FileFormatError(f"{path.name} is not a readable Parquet file: {error}") from None
    names, arrays = list(table.column_names), list(table.columns)
    # pandas stores its index as a column and says so in the metadata.
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    parts: dict[str, Any] = {}
    if len(stored) == 1 and stored[0] in names:
        j = names.index(stored[0])
        parts = _index_parts(arrays.pop(j).to_pylist())
        names.pop(j)
    del table
    return table_from_arrow(names, arrays, wanted, source={"format": "parquet"}, **parts)


def _read_npy(path: Path, wanted: Wishes) -> Table:
    large = path.stat().st_size > MAPPED_BYTES
    try:
        array = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
    except ValueError as error:
        if "pickle" in str(error):
            raise FileFormatError(
                f"{path.name} holds pickled objects, which are never opened; save a numeric array"
            ) from None
        raise FileFormatError(f"{path.name} is not a readable NPY file: {error}") from None
    except EOFError as error:
        raise FileFormatError(f"{path.name} is not a readable NPY file: {error}") from None
    if not large:
        array.flags.writeable = False  # Nobody else has it, so the table need not copy it.
    table = Table.from_array(array).with_roles(wanted.by_column())
    return replace(table, source={"format": "npy"})


# --- data frames ---


def _read_frame(source: Any, wanted: Wishes) -> Table:
    import narwhals as nw

    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas allows repeated names
        check_unique(_joined(name) for name in source.columns)
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise TypeError(
            f"a table is read from a path, a data frame, AnnData or a 2-D array, not from "
            f"{type(source).__module__}.{type(source).__name__}"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    columns = list(frame.iter_columns())
    names = [_joined(name) for name in frame.columns]
    index = nw.maybe_get_index(frame)
    # A running number says nothing; only an index that somebody chose names the rows.
    chosen = index is not None and type(index).__name__ != "RangeIndex"
    parts = _index_parts(index) if chosen else {}
    arrays = [_arrow(name, column) for name, column in zip(names, columns, strict=True)]
    module = type(source).__module__.split(".")[0]
    return table_from_arrow(names, arrays, wanted, source={"format": module}, **parts)


def _index_parts(index: Any) -> dict[str, Any]:
    """The index of a frame as row names, unless it repeats itself."""
    names = tuple(_joined(name) for name in index)
    if len(set(names)) == len(names):
        return {"index": names}
    return {"reading_notes": ("the index of the frame repeats values, so the rows have no names",)}


def _joined(name: Any) -> str:
    return "/".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _arrow(name: str, column: Any) -> Any:
    """A narwhals series as an arrow array; mixed objects become text."""
    import pyarrow as pa

    try:
        array = column.to_arrow()
    except (pa.ArrowException, TypeError):
        values = column.to_list()
        if any(isinstance(value, complex | np.complexfloating) for value in values):
            raise SubscapeError(
                f"column {name!r} holds complex numbers; split it into real columns"
            ) from None
        texts = [None if is_missing(value) else str(value) for value in values]
        array = pa.array(texts, type=pa.string())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


# --- AnnData ---


def _is_anndata(source: Any) -> bool:
    # By name, so that anndata need not be imported to find out that it is not needed.
    return type(source).__module__.split(".")[0] == "anndata" and hasattr(source, "obs_names")


def _read_h5ad(path: Path, wanted: Wishes, layer: str | None, use_rep: str | None) -> Table:
    try:
        import anndata
    except ImportError:
        raise ImportError(
            f"{path.name} is an HDF5 file; reading h5ad needs anndata: "
            "pip install 'subscape[anndata]'"
        ) from None
    return _read_anndata(anndata.read_h5ad(path), wanted, layer, use_rep)


def _read_anndata(adata: Any, wanted: Wishes, layer: str | None, use_rep: str | None) -> Table:
    if layer is not None and use_rep is not None:
        raise SubscapeError("give layer or use_rep, not both")
    if getattr(adata, "isbacked", False):
        adata = adata.to_memory()
    names = [str(name) for name in adata.var_names]
    if use_rep is not None:
        _check_entry(use_rep, adata.obsm, "obsm")
        X = adata.obsm[use_rep]
        given = getattr(X, "columns", None)
        names = [f"{use_rep}_{j}" for j in range(X.shape[1])] if given is None else list(given)
        X = X.to_numpy() if given is not None else X
    elif layer is not None:
        _check_entry(layer, adata.layers, "layers")
        X = adata.layers[layer]
    else:
        X = adata.X
        if X is None:
            have = [*adata.layers, *adata.obsm]
            raise SubscapeError(f"the AnnData has no X; give layer or use_rep: {listing(have)}")
    try:
        check_unique(names)
    except SubscapeError as error:
        raise SubscapeError(f"{error} (adata.var_names_make_unique() does)") from None
    parts = _index_parts(adata.obs_names)
    table = replace(Table.from_array(X, feature_names=names), **parts)
    return _with_observations(table, adata.obs, wanted, layer or use_rep or "X")


def _check_entry(name: str, mapping: Any, where: str) -> None:
    if name not in mapping:
        raise SubscapeError(
            f"{where} has no {name!r}; it has {listing(list(mapping)) or 'nothing'}"
        )


def _with_observations(table: Table, obs: Any, wanted: Wishes, used: str) -> Table:
    """The annotations of the rows as further columns: groups as labels, all else kept aside."""
    import narwhals as nw

    schema, others, notes = list(table.schema), {}, list(table.reading_notes)
    for series in nw.from_native(obs).iter_columns() if len(obs.columns) else []:
        name = str(series.name)
        if name in table.roles:
            name = f"obs/{name}"
        found = type_column(name, _arrow(name, series), Habits(guess_labels=False))
        if found is None:
            notes.append(f"left out of obs, because neither number, text nor date: {name!r}")
            continue
        column, values = found
        if column.role == "numeric":
            values = np.asarray(values, dtype=np.float64)
        role = {"nominal": "label", "date": "date"}.get(column.role, "ignore")
        schema.append(replace(column, role=role, note=""))
        others[name] = values
    source = {"format": "anndata", "used": used, "rows": table.n_rows}
    table = Table(tuple(schema), table.X, others, table.index, source, tuple(notes))
    check_known(wanted.by_column(), [c.name for c in schema])
    return table.with_roles(wanted.by_column())
