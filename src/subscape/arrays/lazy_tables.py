"""Tables of other libraries that are read when they are needed: Dask, polars, pyarrow, fsspec.

One adapter each makes them :class:`subscape.arrays.sources.Source`: they are read in blocks here,
or by the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import FileFormatError, SubscapeError, count, listing
from subscape.core.types import IndexArray

from .sources import DaskSource, ParquetSource, Source, check_two_dims

__all__ = ["is_lazy_table", "lazy_source"]


def is_lazy_table(X: Any) -> bool:
    """Whether this is a Dask data frame, a lazy frame of polars, or a data set of pyarrow."""
    return _kind(X) is not None


def lazy_source(X: Any) -> Source | None:
    """The source behind such a table, or behind a URL that fsspec reads; None for anything else."""
    if isinstance(X, str) and "://" in X:
        return dataset_of_url(X)
    match _kind(X):
        case "dask":
            return frame_source(X)
        case "polars":
            return PolarsSource(X)
        case "pyarrow":
            return DatasetSource(X)
    return None


def _kind(X: Any) -> str | None:
    library = type(X).__module__.split(".")[0]
    marks = {"dask": "map_partitions", "polars": "collect_schema", "pyarrow": "get_fragments"}
    if library not in marks or not hasattr(X, marks[library]):
        return None
    # A frame of polars that is in memory is as good as any other.
    return None if library == "polars" and hasattr(X, "to_numpy") else library


def check_unique_names(names: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise SubscapeError(f"column names must be unique, these are not: {listing(twice)}")


def refuse_other_columns(wrong: Sequence[str]) -> None:
    """Refuse columns that hold no numbers."""
    if wrong:
        raise TypeError(
            f"numbers are needed, but {count(len(wrong), 'column')} of the table "
            f"{'holds' if len(wrong) == 1 else 'hold'} something else: {listing(wrong)}. Leave "
            "them out, or read the table with Table.read"
        )


def refuse_nulls(names: Sequence[str], where: str) -> None:
    """Refuse missing values; NaN are looked for later."""
    if names:
        raise SubscapeError(
            f"{where} has missing values (null) in {listing(names, 3)}; fill or drop them first"
        )


# -- data frames of Dask ---------------------------------------------------------------------------


def frame_source(frame: Any) -> DaskSource:
    """A Dask data frame, whose partitions are chunks; their lengths are counted by the workers."""
    import dask.array as da
    from dask.base import compute
    from dask.delayed import delayed

    names = [str(name) for name in frame.columns]
    check_unique_names(names)
    kinds = dict(zip(names, frame.dtypes, strict=True))
    refuse_other_columns(
        [name for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "biuf"]
    )
    single = all(str(kind).lower() == "float32" for kind in kinds.values())
    dtype = np.dtype(np.float32 if single else np.float64)
    parts = frame.to_delayed()
    lengths = compute(*(delayed(len)(part) for part in parts))
    expected = tuple((name, str(kind)) for name, kind in kinds.items())
    chunks = [
        da.from_delayed(
            delayed(_frame_numbers)(part, i, expected, dtype), (length, len(names)), dtype=dtype
        )
        for i, (part, length) in enumerate(zip(parts, lengths, strict=True))
        if length
    ]
    if not chunks:
        raise SubscapeError("Found array with 0 sample(s): all partitions are empty")
    return DaskSource(da.concatenate(chunks) if len(chunks) > 1 else chunks[0], names)


def _frame_numbers(
    part: Any, number: int, expected: tuple[tuple[str, str], ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """The numbers of a partition, missing ones as NaN."""
    found = {str(name): str(kind) for name, kind in zip(part.columns, part.dtypes, strict=True)}
    for name, kind in expected:
        if found.get(name) != kind:
            raise SubscapeError(
                f"partition {number} of the data frame has column {name!r} as "
                f"{found.get(name, 'none')}, the frame says {kind}; make all partitions alike, "
                "with astype"
            )
    block = np.empty((len(part), len(expected)), dtype)
    for j, (name, _) in enumerate(expected):
        block[:, j] = part[name].to_numpy(dtype, na_value=np.nan)
    return block


# -- data sets of pyarrow, also of remote file systems ---------------------------------------------


class FragmentRows(NamedTuple):
    """Neighbouring rows of a fragment of a data set, to be read wherever they are needed."""

    fragment: Any
    schema: Any
    dtype: np.dtype[Any]
    first: int
    stop: int

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        """The rows, ``size`` at a time."""
        import pyarrow as pa

        name = getattr(self.fragment, "path", "a fragment").rsplit("/", 1)[-1]
        at = 0
        try:
            for batch in self.fragment.to_batches(
                schema=self.schema, batch_size=size, use_threads=False
            ):
                first, stop = max(self.first - at, 0), self.stop - at
                at += batch.num_rows
                if at > self.first and stop > 0:
                    yield self._rows(batch, name)[first:stop]
                if at >= self.stop:
                    return
        except (OSError, pa.ArrowException) as error:
            raise FileFormatError(f"{name} can't be read: {error}") from None

    def _rows(self, batch: Any, name: str) -> NDArray[Any]:
        block = np.empty((batch.num_rows, len(self.schema.names)), self.dtype)
        for j, column in enumerate(self.schema.names):
            values = batch.column(column)
            if values.null_count:
                refuse_nulls([column], name)
            block[:, j] = values.to_numpy(zero_copy_only=False)
        return block


class _SourceOfParts:
    """Parts that are read one after the other, wherever the work is done."""

    cells_together = ParquetSource.cells_together
    _parts: Sequence[Any]

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        for part in self._parts:
            yield from part.chunks(size)

    def take(self, rows: IndexArray) -> None:
        return None

    def graph(self) -> dict[Any, Any]:
        return {}


class DatasetSource(_SourceOfParts):
    """A data set of pyarrow: files in any folders and formats that it reads, in its order.

    The folders of a partitioned data set (``year=2024/``) are columns, if they are numbers.
    """

    def __init__(self, dataset: Any) -> None:
        import pyarrow as pa

        schema = dataset.schema
        check_unique_names(schema.names)
        numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
        refuse_other_columns(
            [each.name for each in schema if not any(is_one(each.type) for is_one in numbers)]
        )
        single = all(field.type == pa.float32() for field in schema)
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        self.names: tuple[str, ...] | None = tuple(schema.names)
        self._parts = [
            FragmentRows(part, schema, self.dtype, 0, length)
            for fragment in dataset.get_fragments()
            for part, length in _row_groups(fragment)
            if length
        ]
        self.shape = (sum(part.stop for part in self._parts), len(schema.names))
        check_two_dims(self.shape)

    @property
    def lengths(self) -> list[int]:
        """Rows of each row group, or of each file without such."""
        return [part.stop for part in self._parts]

    def piece(self, piece: Any, last: bool) -> tuple[FragmentRows, dict[Any, Any]]:
        return self._parts[piece.chunk]._replace(first=piece.first, stop=piece.stop), {}


def _row_groups(fragment: Any) -> Iterator[tuple[Any, int]]:
    if not hasattr(type(fragment), "row_groups"):
        yield fragment, fragment.count_rows()
        return
    try:
        groups = fragment.row_groups
    except (OSError, ValueError) as error:
        name = fragment.path.rsplit("/", 1)[-1]
        raise FileFormatError(f"{name} is no readable Parquet file: {error}") from None
    for group in groups:
        yield fragment.subset(row_group_ids=[group.id]), group.num_rows


def dataset_of_url(url: str) -> DatasetSource:
    """Parquet files that fsspec reads: ``"s3://bucket/folder"``, ``"file:///folder"``, …"""
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise SubscapeError(f"{url!r} takes the package fsspec: pip install fsspec") from None
    import pyarrow.dataset as ds

    try:
        system, path = fsspec.core.url_to_fs(url)
        found = ds.dataset(path, filesystem=system, format="parquet", partitioning="hive")
    except (OSError, ValueError, ImportError) as error:
        raise FileFormatError(f"{url!r} can't be read: {error}") from None
    return DatasetSource(found)


# -- lazy frames of polars -------------------------------------------------------------------------


class LazyRows(NamedTuple):
    """Neighbouring rows of a lazy frame."""

    frame: Any
    names: tuple[str, ...]
    dtype: np.dtype[Any]
    first: int
    stop: int

    def chunks(self, size: int) -> Iterator[NDArray[Any]]:
        """The rows, all at once."""
        rows = self.frame.slice(self.first, self.stop - self.first).collect()
        refuse_nulls([name for name in self.names if rows[name].null_count()], "the lazy frame")
        block = np.empty((len(rows), len(self.names)), self.dtype)
        for j, name in enumerate(self.names):
            block[:, j] = rows[name].to_numpy()
        yield block


class PolarsSource(_SourceOfParts):
    """A lazy frame of polars, collected in slices."""

    #: A slice lies in memory as a whole.
    cells_together = 2**23

    def __init__(self, frame: Any) -> None:
        import polars as pl

        schema = frame.collect_schema()
        names = tuple(schema.names())
        kinds = [schema[name] for name in names]
        refuse_other_columns(
            [
                name
                for name, kind in zip(names, kinds, strict=True)
                if not kind.is_numeric() and kind != pl.Boolean
            ]
        )
        single = all(kind == pl.Float32 for kind in kinds)
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        self.names: tuple[str, ...] | None = names
        n_rows = int(frame.select(pl.len()).collect().item())
        self.shape = (n_rows, len(names))
        check_two_dims(self.shape)
        step = max(self.cells_together // len(names), 1)
        self._parts = [
            LazyRows(frame, names, self.dtype, start, min(start + step, n_rows))
            for start in range(0, n_rows, step)
        ]

    @property
    def lengths(self) -> list[int]:
        """Rows of each slice."""
        return [part.stop - part.first for part in self._parts]

    def piece(self, piece: Any, last: bool) -> tuple[LazyRows, dict[Any, Any]]:
        part = self._parts[piece.chunk]
        return part._replace(first=part.first + piece.first, stop=part.first + piece.stop), {}
