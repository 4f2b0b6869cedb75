"""Where the rows of a big table come from: arrays, memory-mapped files, Parquet, Dask."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import FileFormatError, SubscapeError, count, listing
from subscape.core.types import IndexArray

__all__ = ["ArraySource", "DaskSource", "ParquetSource", "Source", "parquet_files", "source_of"]


class Source(Protocol):
    """A table that can be read from the first row to the last, as often as needed."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: tuple[str, ...] | None

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        """All rows in order, cut anyhow; ``size`` is how many at a time would be welcome."""

    def take(self, rows: IndexArray) -> NDArray[Any] | None:
        """These rows, or None where that takes a pass over the table."""


def source_of(X: Any) -> Source | None:
    """The source behind a path, an array or a Dask array; None for anything else."""
    if isinstance(X, (str, os.PathLike)):
        return ParquetSource(X)
    if type(X).__module__.split(".")[0] == "dask" and hasattr(X, "chunks"):
        return DaskSource(X)
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
        return ArraySource(X)
    return None


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 for float32, float64 for all other numbers; text and dates are refused."""
    if dtype.kind not in "biuf":
        raise TypeError(f"numbers are needed, but the table holds {dtype}")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def check_two_dims(shape: tuple[Any, ...]) -> None:
    """Refuse what is no table with at least one row and column."""
    if len(shape) != 2:
        raise SubscapeError(f"Expected 2D array, got {len(shape)}D array of shape {shape}")
    for number, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if number == 0:
            raise SubscapeError(f"Found array with 0 {what} (shape={shape}); at least 1 is needed")


class ArraySource:
    """An array in memory or mapped from a file, also a read-only one."""

    names: tuple[str, ...] | None = None

    def __init__(self, array: NDArray[Any]) -> None:
        check_two_dims(array.shape)
        self.dtype = float_type(array.dtype)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        # As a plain array: the slices of a memmap carry its whole machinery along.
        self._array = array.view(np.ndarray)

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        for start in range(0, len(self._array), size):
            yield self._array[start : start + size]

    def take(self, rows: IndexArray) -> NDArray[Any]:
        return np.asarray(self._array[rows])


class RowGroup(NamedTuple):
    """Neighbouring rows of a row group of a Parquet file, to be read wherever they are needed."""

    file: Path
    group: int
    first: int
    stop: int
    names: tuple[str, ...]
    dtype: np.dtype[Any]
    nulls: bool = False
    """Whether missing values are NaN instead of being refused."""

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        """The rows, ``size`` at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            opened = pq.ParquetFile(self.file, memory_map=True)
        except (OSError, ValueError) as error:
            raise _unreadable(self.file, error) from None
        with opened:
            if self.group >= opened.num_row_groups:
                return  # the file has been changed, which is told by whoever counts the rows
            at = 0
            batches = opened.iter_batches(size, row_groups=[self.group], use_threads=False)
            while at < self.stop:
                try:
                    batch = next(batches, None)
                except (OSError, pa.ArrowException) as error:
                    raise _unreadable(self.file, error) from None
                if batch is None:
                    return
                first, stop = max(self.first - at, 0), self.stop - at
                at += batch.num_rows
                if at > self.first:
                    yield self._rows(batch)[first:stop]

    def _rows(self, batch: Any) -> NDArray[Any]:
        block = np.empty((batch.num_rows, len(self.names)), self.dtype)
        for j, name in enumerate(self.names):
            column = batch.column(name)
            if column.null_count and not self.nulls:
                raise _null_error(self.file, self.group, [name])
            if column.null_count and str(column.type) == "bool":
                column = column.cast("uint8")
            block[:, j] = column.to_numpy(zero_copy_only=False)
        return block


def _unreadable(file: Path, error: Exception) -> FileFormatError:
    return FileFormatError(f"{file.name} is no readable Parquet file: {error}")


class ParquetSource:
    """A Parquet file, or the files of a folder in the order of their names.

    Parameters
    ----------
    path : path
    nulls : bool, default=False
        Whether missing values are NaN instead of being refused.
    """

    #: Row groups that a worker of a cluster reads in one call, block by block: about 64 of them.
    cells_together = 2**25

    def __init__(self, path: str | os.PathLike[str], nulls: bool = False) -> None:
        import pyarrow.parquet as pq

        self._files = _parquet_files(Path(path).absolute())
        self.part_lengths: list[int] = []
        self._groups: list[RowGroup] = []
        n_rows = 0
        for position, file in enumerate(self._files):
            try:
                with pq.ParquetFile(file) as opened:
                    schema, metadata = opened.schema_arrow, opened.metadata
            except (OSError, ValueError) as error:
                raise _unreadable(file, error) from None
            if position == 0:
                self._schema = schema
                self._names = tuple(str(name) for name in schema.names)
                self.dtype = _column_type(schema, file)
            else:
                _refuse_other_schema(self._schema, schema, self._files[0], file)
            if not nulls:
                _refuse_counted_nulls(metadata, file)
            for group in range(metadata.num_row_groups):
                length = metadata.row_group(group).num_rows
                self._groups.append(
                    RowGroup(file, group, 0, length, self._names, self.dtype, nulls)
                )
            self.part_lengths.append(metadata.num_rows)
            n_rows += metadata.num_rows
        self.names: tuple[str, ...] | None = self._names
        self.shape = (n_rows, len(self._names))
        check_two_dims(self.shape)

    @property
    def lengths(self) -> list[int]:
        """Rows of each row group."""
        return [each.stop for each in self._groups]

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        for each in self._groups:
            yield from each.chunks(size)

    def take(self, rows: IndexArray) -> None:
        return None

    def graph(self) -> dict[Any, Any]:
        return {}

    def piece(self, piece: Any, last: bool) -> tuple[RowGroup, dict[Any, Any]]:
        there = self._groups[piece.chunk]
        return there._replace(first=piece.first, stop=piece.stop), {}


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder and those in it, in the order of their names."""
    # Writers put markers such as _SUCCESS and hidden files beside the parts.
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in (".parquet", ".pq") and file.name[0] not in "._"
    )


def _parquet_files(path: Path) -> list[Path]:
    if path.is_dir():
        files = parquet_files(path)
        if not files:
            raise FileFormatError(f"the folder {path.name} holds no .parquet file")
        return files
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}")
    return [path]


def _column_type(schema: Any, file: Path) -> np.dtype[Any]:
    import pyarrow as pa

    def is_number(kind: Any) -> bool:
        return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)

    wrong = [field.name for field in schema if not is_number(field.type)]
    if wrong:
        raise TypeError(
            f"numbers are needed, but {count(len(wrong), 'column')} of {file.name} "
            f"{'holds' if len(wrong) == 1 else 'hold'} something else: {listing(wrong)}. Write the "
            "table without them, or read it with Table.read"
        )
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise SubscapeError(f"column names must be unique, these are not: {listing(twice)}")
    single = all(field.type == pa.float32() for field in schema)
    return np.dtype(np.float32 if single else np.float64)


def _refuse_other_schema(first: Any, other: Any, first_file: Path, file: Path) -> None:
    """Columns may stand in another order, but must be the same ones, of the same types."""
    parts = []
    for one, two, name in ((first, other, first_file.name), (other, first, file.name)):
        only = [each for each in one.names if each not in two.names]
        if only:
            parts.append(f"only {name} has {listing(only, 3)}")
    if not parts:
        parts = [
            f"column {each.name!r} is {each.type} in {first_file.name} and "
            f"{other.field(each.name).type} in {file.name}"
            for each in first
            if other.field(each.name).type != each.type
        ][:3]
    if parts:
        raise SubscapeError(
            f"the Parquet files have different columns: {'; '.join(parts)}. Write all files with "
            "one schema"
        )


def _refuse_counted_nulls(metadata: Any, file: Path) -> None:
    """Missing values that the file's own statistics tell of, before any pass."""
    for group in range(metadata.num_row_groups):
        columns = [metadata.row_group(group).column(j) for j in range(metadata.num_columns)]
        absent = [
            each.path_in_schema
            for each in columns
            if each.statistics is not None
            and each.statistics.has_null_count
            and each.statistics.null_count
        ]
        if absent:
            raise _null_error(file, group, absent)


def _null_error(file: Path, group: int, names: list[str]) -> SubscapeError:
    return SubscapeError(
        f"row group {group} of {file.name} has missing values (null) in {listing(names, 3)}; "
        "fill or drop them before the file is written"
    )


class DaskSource:
    """A Dask array: its row chunks come one after the other, or stay where they are."""

    cells_together = 0

    def __init__(self, array: Any, names: Sequence[str] | None = None) -> None:
        if any(np.isnan(number) for number in array.shape):
            raise SubscapeError(
                "the Dask array has chunks of unknown size, so its rows can't be numbered; call "
                "X.compute_chunk_sizes() first, or make it with lengths=True"
            )
        check_two_dims(array.shape)
        self.dtype = float_type(np.dtype(array.dtype))
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.names = None if names is None else tuple(names)
        self._array = array if array.numblocks[1] == 1 else array.rechunk({1: -1})

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each chunk."""
        return self._array.chunks[0]

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        for i in range(self._array.numblocks[0]):
            chunk = np.asarray(self._array.blocks[i].compute())
            yield checked_chunk(chunk, self.dtype, self.shape[1], f"chunk {i}")

    def take(self, rows: IndexArray) -> NDArray[Any] | None:
        return None

    def graph(self) -> dict[Any, Any]:
        return dict(self._array.__dask_graph__())

    def piece(self, piece: Any, last: bool) -> tuple[Any, dict[Any, Any]]:
        key = self._array.__dask_keys__()[piece.chunk][0]
        if (piece.first, piece.stop) == (0, self.lengths[piece.chunk]):
            return key, {}
        cut = (_cut_rows, key, piece.first, piece.stop)
        if not last:
            return cut, {}
        # A task of its own, which is done where the chunk is: only the rows travel.
        name = (f"subscape-cut-{key[0]}", piece.chunk, piece.first, piece.stop)
        return name, {name: cut}


def _cut_rows(chunk: NDArray[Any], first: int, stop: int) -> NDArray[Any]:
    return np.asarray(chunk[first:stop])


def checked_chunk(
    chunk: Any, dtype: np.dtype[Any], width: int, name: str = "one chunk"
) -> NDArray[Any]:
    """A chunk, unless it is not what the table says of it."""
    array = np.asarray(chunk)
    if array.ndim != 2 or array.shape[1] != width:
        raise SubscapeError(
            f"{name} has shape {array.shape}, but the table has {count(width, 'column')}"
        )
    if array.dtype.kind not in "biuf" or (dtype == np.float32 and array.dtype != np.float32):
        raise SubscapeError(
            f"{name} holds {array.dtype}, but the table says that all hold {dtype}; make all parts "
            "of one type, with astype"
        )
    return array
