"""Where tables come from: files by their content, data frames, AnnData objects, arrays."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from subscape.core.errors import FileFormatError, SubscapeError, count, listing
from subscape.tables.expression import Normalize, with_expression
from subscape.tables.parts import Parts, Wishes, parts_of_array
from subscape.tables.roles import Habits, parts_from_arrow
from subscape.tables.texts import MARKERS

from .arff import is_arff, parse_arff
from .arrays import check_npy
from .boundary import DEFAULT, Limits, OtherContentError, guarded, printable, probed
from .compression import members_of, open_bytes, packing_of
from .delimited import LineNumbers, read_delimited
from .dialect import decode, detect_encoding
from .frames import index_parts, is_anndata, read_anndata, read_frame
from .layout import TextOptions, is_remark
from .workbook import read_sheet

#: How a last row begins that adds up the others, and of how many rows it may be the last.
TOTAL = re.compile(
    r"(?:grand |overall )?totals?|sums?|summe|gesamt(?:summe)?|insgesamt|somme|totaux|suma|totale|"
    r"totaal|summa|итого|всего|合计",
    re.IGNORECASE,
)
#: What further rows below the last one may begin with.
SUMMARY = re.compile(
    rf"{TOTAL.pattern}|means?|averages?|avg|medians?|mittelwert|mittel|durchschnitt|moyenne|"
    r"promedio|media|gemiddelde|count|anzahl|nombre|min(?:imum)?|max(?:imum)?|std|"
    r"sub-?totals?|zwischensumme|sous-total",
    re.IGNORECASE,
)
#: Words of rows that add up others, wherever these are.
_PART = (
    r"(?:sub-?total|grand total|total|zwischensumme|summe|gesamt|insgesamt|ergebnis|sous-total|"
    r"gesamtsumme|gesamtergebnis|итого|всего|合计)"
)
MOST_SEARCHED_FOR_TOTALS = 20
FEWEST_ABOVE_A_TOTAL = 3

#: Files of a folder among which one with nearly the name of a missing one is looked for.
MOST_BESIDE = 10_000

#: NPY files above this size are mapped instead of read, so that only what is used is in memory.
MAPPED_BYTES = 1 << 28

#: HDF5 files up to this size are read as a whole by the child process that looks through them.
LOOKED_THROUGH = 1 << 26

_FOREIGN = {
    b"%PDF": "a PDF document",
    b"\x80\x04\x95": "a pickle, which is never opened; save the table as CSV, Parquet or NPY",
    b"\x80\x05\x95": "a pickle, which is never opened; save the table as CSV, Parquet or NPY",
    b"$FL2": "an SPSS file, which is not read; save it as CSV there",
    b"$FL3": "an SPSS file, which is not read; save it as CSV there",
    b"<stata_d": "a Stata file, which is not read; save it as CSV there (export delimited)",
    b"SQLite f": "an SQLite database; export the table as CSV",
    b"\x1fLZ": "packed by lzop; unpack it, or pack it by gzip",
    b"RDX3": "an R workspace; write the table by write.csv()",
    b"RDX2": "an R workspace; write the table by write.csv()",
}


def read(
    source: Any,
    wanted: Wishes,
    text: TextOptions = TextOptions(),  # noqa: B008
    *,
    sheet: str | None = None,
    layer: str | None = None,
    use_rep: str | None = None,
    normalize: Normalize = "none",
    hvg: int | None = None,
    limits: Limits = DEFAULT,
) -> Parts:
    """The parts of a table in a file, a frame or an AnnData; see ``Table.read``."""
    parts = _read(source, wanted, text, sheet, layer, use_rep, limits)
    return with_expression(parts, normalize, hvg, parts.source.get("used"))


def _read(
    source: Any,
    wanted: Wishes,
    text: TextOptions,
    sheet: str | None,
    layer: str | None,
    use_rep: str | None,
    limits: Limits,
) -> Parts:
    if isinstance(source, str | PathLike):
        return _read_path(Path(source), text, wanted, sheet, layer, use_rep, limits)
    if any(option is not None for option in text):
        raise SubscapeError("delimiter, decimal, header and encoding are for text files only")
    if sheet is not None:
        raise SubscapeError("sheet is for workbooks only")
    if is_anndata(source):
        return read_anndata(source, wanted, layer, use_rep)
    _refuse_anndata_options(layer, use_rep)
    if isinstance(source, np.ndarray | list | tuple) or sparse.issparse(source):
        return parts_of_array(source)
    return read_frame(source, wanted)


#: How texts begin that are no delimited tables, and what to do with them.
_NO_TABLES = {
    r"\s*<(?:!doctype|\?xml|html|head|body|meta|style|table)\b": "an HTML or XML page, whatever "
    "its name says; open it in a spreadsheet and save it as .xlsx or CSV",
    r'\s*(?:\[\s*[\[{]|\{\s*")': "JSON; pandas.read_json reads "
    "tables of it (with lines=True where each line is one row), to_csv writes them",
}


def _refuse_anndata_options(layer: str | None, use_rep: str | None) -> None:
    if layer is not None or use_rep is not None:
        raise SubscapeError("layer and use_rep are for AnnData only")


# --- files ---


def _read_path(
    path: Path,
    text: TextOptions,
    wanted: Wishes,
    sheet: str | None,
    layer: str | None,
    use_rep: str | None,
    limits: Limits,
) -> Parts:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}{_did_you_mean(path)}")
    if not path.is_file():
        raise SubscapeError(f"{str(path)!r} is a folder; give one file")
    before = path.stat()
    with guarded(path.name):
        parts = _read_content(path, text, wanted, sheet, layer, use_rep, limits)
    after = path.stat()
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise FileFormatError(f"{path.name} changed while it was read; read it again")
    source = {"path": path.name, **parts.source, "rows": int(parts.X.shape[0])}
    return parts._replace(source=source)


def _did_you_mean(path: Path) -> str:
    """A file beside the one that is not there, whose name is nearly the same."""
    try:
        beside = [one.name for one in itertools.islice(path.parent.iterdir(), MOST_BESIDE)]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, beside, 1, 0.8)
    return f"; did you mean {str(path.with_name(near[0]))!r}?" if near else ""


def _read_content(
    path: Path,
    text: TextOptions,
    wanted: Wishes,
    sheet: str | None,
    layer: str | None,
    use_rep: str | None,
    limits: Limits,
) -> Parts:
    with path.open("rb") as file:
        magic = file.read(8)
    if not magic:
        raise FileFormatError(f"{path.name} is empty")
    for start, what in _FOREIGN.items():
        if magic.startswith(start):
            raise FileFormatError(f"{path.name} is {what}")
    if magic.startswith(b"\x89HDF"):
        return _read_h5ad(path, wanted, layer, use_rep, limits)
    _refuse_anndata_options(layer, use_rep)
    if magic.startswith(b"\xd0\xcf\x11\xe0") or _is_workbook(path):
        return _read_workbook(path, text, wanted, sheet, limits)
    if sheet is not None:
        raise SubscapeError(f"{path.name} is no workbook: sheet does not apply")
    binary = {
        b"PAR1": _read_parquet,
        b"ARROW1": _read_feather,
        b"FEA1": _read_feather,
        b"\x93NUMPY": _read_npy,
    }
    for start, reader in binary.items():
        if magic.startswith(start):
            if any(option is not None for option in text):
                raise SubscapeError(
                    f"{path.name} is no text file: delimiter, encoding … do not apply"
                )
            return reader(path, wanted, limits)
    return _read_text(path, text, wanted, limits)


def _is_workbook(path: Path) -> bool:
    """Whether a ZIP archive is a workbook; an error where it is something else that is known."""
    if packing_of(path) != "zip":
        return False
    names = members_of(path)
    if "manifest.json" in names:
        raise FileFormatError(f"{path.name} holds clusterings (.subscape), not a table")
    if names and all(name.endswith(".npy") for name in names):
        raise FileFormatError(
            f"{path.name} is a ZIP archive of arrays (NPZ); save one of them by numpy.save"
        )
    return "[Content_Types].xml" in names or "content.xml" in names


def _read_workbook(
    path: Path, text: TextOptions, wanted: Wishes, sheet: str | None, limits: Limits
) -> Parts:
    if any(option is not None for option in text._replace(header=None)):
        raise SubscapeError(f"{path.name} is a workbook: delimiter, encoding … do not apply")
    found = read_sheet(path, sheet, text.header, limits)
    notes = list(found.notes)
    arrays = without_total(without_remarks(found.arrays, notes), notes, found.names, found.line_of)
    if gaps := found.gaps(min(map(len, arrays), default=0)):
        notes.append(gaps)
    return parts_from_arrow(
        found.names,
        arrays,
        wanted,
        Habits(markers=True, line_of=found.line_of),
        row_names=found.names[0] if found.row_names else None,
        source={"format": "workbook", "sheet": found.name},
        notes=notes,
    )


def _read_text(path: Path, options: TextOptions, wanted: Wishes, limits: Limits) -> Parts:
    with open_bytes(path, limits) as file:
        start = file.read(1 << 16)
    if not start:
        raise FileFormatError(f"{path.name} is empty")
    encoding = detect_encoding(start, options.encoding, path.name)
    text = decode(start, encoding, path.name)
    if is_arff(text) or ".arff" in path.suffixes:
        return _read_arff(path, options, wanted, limits)
    for pattern, what in _NO_TABLES.items():
        if re.match(pattern, text, re.IGNORECASE):
            raise FileFormatError(f"{path.name} is {what}")
    found, arrays = read_delimited(path, options, wanted.literal, limits)
    source = {"delimiter": found.delimiter, "decimal": found.decimal, "encoding": found.encoding}
    notes = list(found.notes)
    if found.encoding in ("cp1252", "latin-1") and options.encoding is None:
        notes.append(
            f"the file is not UTF-8; it was read as {found.encoding} (where letters look wrong, "
            "say encoding=…)"
        )
    line_of = LineNumbers(path, found, limits)
    return parts_from_arrow(
        found.names,
        without_total(without_remarks(arrays, notes), notes, found.names, line_of),
        wanted,
        Habits(
            markers=True,
            decimal=found.decimal,
            is_sure=found.is_sure,
            is_mixed=found.is_mixed,
            line_of=line_of,
        ),
        row_names=found.names[0] if found.row_names else None,
        source={"format": "delimited", **source},
        notes=notes,
    )


def without_remarks(arrays: Sequence[Any], notes: list[str]) -> list[Any]:
    """Columns without their last rows if these hold one sentence each, such as a source.

    >>> import pyarrow as pa
    >>> notes = []
    >>> names = pa.chunked_array([["Oslo", "Rome", "Bern", "Source: the city"]])
    >>> numbers = pa.chunked_array([[1, 2, 3, None]])
    >>> [column.to_pylist() for column in without_remarks([names, numbers, numbers], notes)]
    [['Oslo', 'Rome', 'Bern'], [1, 2, 3], [1, 2, 3]]
    >>> notes
    ["1 row below the table left out: 'Source: the city'"]
    """
    size = end = min((len(array) for array in arrays), default=0)
    remarks: list[str] = []
    while len(arrays) > 2 and end > FEWEST_ABOVE_A_TOTAL:
        row = [array[end - 1].as_py() for array in arrays]
        filled = [cell for cell in row if cell is not None and str(cell).strip()]
        if len(filled) != 1 or not isinstance(filled[0], str) or not is_remark(filled[0]):
            break
        remarks.insert(0, filled[0])
        end -= 1
    if not remarks:
        return list(arrays)
    told = printable("; ".join(remarks))[:80]
    notes.append(f"{count(len(remarks), 'row')} below the table left out: {told!r}")
    return [array.slice(0, end) if end < size else array for array in arrays]


def without_total(
    arrays: Sequence[Any],
    notes: list[str],
    names: Sequence[str] = (),
    line_of: Callable[[int], str] = lambda row: f"row {row + 1}",
) -> list[Any]:
    """Columns without their last rows if these add up the others, as their first word says.

    Of such rows elsewhere it is only said where they are: a row may be called so.

    >>> import pyarrow as pa
    >>> notes = []
    >>> columns = [pa.chunked_array([["Oslo", "Rome", "Total"]]), pa.chunked_array([[1, 2, 3]])]
    >>> [column.to_pylist() for column in without_total(columns, notes)], notes[0][:40]
    ([['Oslo', 'Rome'], [1, 2]], "the last row, which begins with 'Total',")
    """
    size = end = min((len(array) for array in arrays), default=0)
    words: list[str] = []
    while end >= FEWEST_ABOVE_A_TOTAL:
        last = [array[end - 1].as_py() for array in arrays]
        filled = [j for j, cell in enumerate(last) if cell is not None and str(cell).strip()]
        word = last[filled[0]] if len(filled) > 1 else None
        if not isinstance(word, str) or not SUMMARY.fullmatch(word.strip().rstrip(":")):
            break
        if word in arrays[filled[0]].slice(0, end - 1).to_pylist():
            break
        words.insert(0, word)
        end -= 1
    if words and not any(TOTAL.fullmatch(word.strip().rstrip(":")) for word in words):
        words, end = [], size  # a mean alone may be the name of a row
    if len(words) == 1:
        notes.append(
            f"the last row, which begins with {printable(words[0])!r}, was left out; if it is one "
            "like the others, write another name there"
        )
    elif words:
        begins = printable(listing(words, 3))
        notes.append(
            f"the last {len(words)} rows, which begin with {begins}, were left out; if they are "
            "like the others, write other names there"
        )
    kept = [array.slice(0, end) if end < size else array for array in arrays]
    notes += [*_told_totals(kept, names, line_of), *_told_last_row(kept, names, line_of)]
    return kept


def _told_last_row(
    arrays: Sequence[Any], names: Sequence[str], line_of: Callable[[int], str]
) -> list[str]:
    """What is said of a last row that alone has nothing in a column of texts, as sums have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = min((len(array) for array in arrays), default=0)
    texts = [j for j, array in enumerate(arrays[: len(names)]) if array.type == pa.string()]
    for j in texts[:MOST_SEARCHED_FOR_TOTALS] if size > FEWEST_ABOVE_A_TOTAL else ():
        bare = pc.fill_null(pc.utf8_trim_whitespace(arrays[j].slice(0, size)), "")
        empty = pc.indices_nonzero(pc.is_in(bare, value_set=pa.array(sorted(MARKERS)))).to_pylist()
        if empty == [size - 1]:
            return [
                f"the last row ({line_of(size - 1)}) is the only one without a value in "
                f"{names[j]!r}, and was kept; if it adds up the others, take it out"
            ]
    return []


def _told_totals(
    arrays: Sequence[Any], names: Sequence[str], line_of: Callable[[int], str]
) -> list[str]:
    """Where cells say that their row adds up others, which are rows like all others here."""
    import pyarrow as pa
    import pyarrow.compute as pc

    notes = []
    texts = [j for j, array in enumerate(arrays[: len(names)]) if array.type == pa.string()]
    for j in texts[:MOST_SEARCHED_FOR_TOTALS]:
        bare = pc.utf8_trim_whitespace(arrays[j])
        such = pc.match_substring_regex(
            bare, f"^(?:{_PART}|.{{1,40}} {_PART}):?$", ignore_case=True
        )
        where = pc.indices_nonzero(pc.fill_null(such, False)).to_pylist()
        if where:
            word = printable(str(arrays[j][where[0]].as_py()).strip())
            notes.append(
                f"column {names[j]!r} has {count(len(where), 'cell')} such as {word!r} (the first "
                f"in {line_of(where[0])}); if such rows add up others, take them out: they are "
                "used like all"
            )
    return notes


def _read_arff(path: Path, options: TextOptions, wanted: Wishes, limits: Limits) -> Parts:
    if any(option is not None for option in options._replace(encoding=None)):
        raise SubscapeError(f"{path.name} is ARFF: delimiter, decimal and header do not apply")
    with open_bytes(path, limits) as file:
        content = file.read()
    encoding = detect_encoding(content, options.encoding, path.name)
    with guarded(path.name, "ARFF file"):
        found = parse_arff(decode(content, encoding, path.name), path.name)
    source = {"format": "arff", "relation": found.relation, "encoding": encoding}
    return parts_from_arrow(
        found.names, found.arrays, wanted, source=source, notes=tuple(found.notes)
    )


def _read_parquet(path: Path, wanted: Wishes, limits: Limits) -> Parts:
    from pyarrow import parquet

    with guarded(path.name, "Parquet file"):
        file = parquet.ParquetFile(path)
        stated = file.metadata
        rows, width = stated.num_rows, stated.num_columns
        limits.check_columns(width, path.name)
        what = f"{rows:,} rows of {width:,} columns"
        limits.check_memory(8 * rows * width, what, path.name)
        limits.check_cells(rows * width, path.stat().st_size, path.name)
        table = file.read()
    return _parts_of_arrow_table(table, wanted, "parquet")


def _read_feather(path: Path, wanted: Wishes, limits: Limits) -> Parts:
    from pyarrow import feather

    with guarded(path.name, "Feather file"):
        _check_batches(path, limits)
        table = feather.read_table(path, memory_map=False)
        limits.check_columns(table.num_columns, path.name)
        table.validate(full=True)
    return _parts_of_arrow_table(table, wanted, "feather")


def _check_batches(path: Path, limits: Limits) -> None:
    """Unpack a file of arrow piece by piece, as far as its cells are no more than honest."""
    import pyarrow as pa

    with path.open("rb") as file:
        if not file.read(6).startswith(b"ARROW1"):
            return  # the first version of the format, whose columns may not be packed
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as batches:
        cells = 0
        for i in range(batches.num_record_batches):
            cells += batches.get_batch(i).num_rows * max(len(batches.schema), 1)
            limits.check_cells(cells, path.stat().st_size, path.name)


def _parts_of_arrow_table(table: Any, wanted: Wishes, format: str) -> Parts:
    names, arrays = list(table.column_names), list(table.columns)
    # pandas stores its index as a column and says so in the metadata.
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    parts: dict[str, Any] = {}
    if len(stored) == 1 and isinstance(stored[0], str) and stored[0] in names:
        j = names.index(stored[0])
        parts = index_parts(arrays.pop(j).to_pylist())
        names.pop(j)
    del table
    return parts_from_arrow(names, arrays, wanted, source={"format": format}, **parts)


def _read_npy(path: Path, wanted: Wishes, limits: Limits) -> Parts:
    size = path.stat().st_size
    large = size > MAPPED_BYTES
    with guarded(path.name, "NPY file"):
        check_npy(path)
        array = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
    if not large:
        array.flags.writeable = False  # Nobody else has it, so the table need not copy it.
    try:
        return parts_of_array(array)._replace(source={"format": "npy"})
    except TypeError as error:
        raise OtherContentError(f"{path.name}: {error}") from None


# --- h5ad ---


_LOOK_THROUGH = """
import os
import h5py
ratio, most, whole = float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
size = os.path.getsize(sys.argv[1])
def look(name, item):
    dict(item.attrs)
    if isinstance(item, h5py.Dataset):
        stated = item.size * item.dtype.itemsize if item.shape is not None else 0
        if stated > max(most, ratio * size):
            sys.exit(f"{name} states {stated} bytes in a file of {size}")
        if size <= whole and item.shape is not None:
            item[()]
with h5py.File(sys.argv[1], "r") as file:
    file.visititems(look)
"""


def _read_h5ad(
    path: Path, wanted: Wishes, layer: str | None, use_rep: str | None, limits: Limits
) -> Parts:
    try:
        import anndata
    except ImportError:
        raise ImportError(
            f"{path.name} is an HDF5 file; reading h5ad needs anndata: "
            "pip install 'subscape[anndata]'"
        ) from None
    # HDF5 may loop for ever, or crash, on a damaged file.
    bounds = [str(limits.ratio), str(limits.unpacked), str(LOOKED_THROUGH)]
    probed(_LOOK_THROUGH, path, "h5ad file", bounds)
    with guarded(path.name, "h5ad file"):
        adata = anndata.read_h5ad(path)
    return read_anndata(adata, wanted, layer, use_rep)
