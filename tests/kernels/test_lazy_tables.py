"""Tables of Dask, polars and pyarrow that are read when they are needed."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.remote import cluster

from subscape.arrays import row_blocks
from subscape.arrays.blocks import as_blocks, is_source
from subscape.arrays.lazy_tables import PolarsSource
from subscape.arrays.remote.blocks import RemoteBlocks
from subscape.arrays.sources import DaskSource, RowGroup
from subscape.core.errors import FileFormatError, SubscapeError
from subscape.finders import LAC


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(row_blocks, "CELLS", 500)
    monkeypatch.setattr(PolarsSource, "cells_together", 900)


@pytest.fixture
def frame():
    X = np.random.default_rng(0).normal(size=(997, 4)).astype(np.float32)
    return pd.DataFrame(X, columns=list("abcd"))


def given_as(frame, folder):
    """The frame in every lazy way, all of them in its order."""
    table = pa.Table.from_pandas(frame)
    (folder / "parts").mkdir()
    for i, start in enumerate(range(0, len(frame), 400)):
        part = table.slice(start, 400)
        pq.write_table(part, folder / "parts" / f"{i}.parquet", row_group_size=170)
    yield dd.from_pandas(frame, npartitions=3)
    yield pl.from_pandas(frame).lazy()
    yield pl.scan_parquet(folder / "parts" / "*.parquet")
    yield ds.dataset(folder / "parts", format="parquet")
    yield f"file://{folder / 'parts'}"


def test_rows_and_names(frame, tmp_path):
    for source in given_as(frame, tmp_path):
        assert is_source(source)
        blocks = as_blocks(source)
        assert (blocks.names, blocks.dtype) == (("a", "b", "c", "d"), np.float32)
        np.testing.assert_array_equal(blocks.to_numpy(), frame.to_numpy())


def test_on_a_cluster(frame, tmp_path):
    expected = LAC(3, random_state=0, search_rows=100).fit(frame.to_numpy())
    sources = list(given_as(frame, tmp_path))
    with cluster(2):
        for source in sources:
            blocks = as_blocks(source)
            assert isinstance(blocks, RemoteBlocks)
            np.testing.assert_array_equal(blocks.to_numpy(), frame.to_numpy())
        found = LAC(3, random_state=0, search_rows=100).fit(sources[0])
        assert isinstance(found.labels_, da.Array)
        np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)
        assert list(found.feature_names_in_) == ["a", "b", "c", "d"]


def test_partitioned_folders_are_columns(frame, tmp_path):
    table = pa.Table.from_pandas(frame).append_column(
        "year", pa.array(np.repeat([2020, 2021], [500, 497]), pa.int32())
    )
    by_year = ds.partitioning(pa.schema([("year", pa.int32())]), flavor="hive")
    ds.write_dataset(table, tmp_path / "years", format="parquet", partitioning=by_year)
    blocks = as_blocks(ds.dataset(tmp_path / "years", format="parquet", partitioning="hive"))
    assert blocks.names == ("a", "b", "c", "d", "year")
    np.testing.assert_array_equal(blocks.column(4), np.repeat([2020.0, 2021.0], [500, 497]))


def test_missing_values_of_a_data_frame_are_nan(frame):
    frame["a"] = frame["a"].astype("Float64")
    frame.loc[3, "a"] = pd.NA
    read = as_blocks(dd.from_pandas(frame, npartitions=2)).to_numpy()
    assert np.isnan(read[3, 0])
    assert np.isnan(read).sum() == 1


@pytest.mark.parametrize("how", ["dask", "polars", "pyarrow"])
def test_columns_of_text_are_named(frame, how, tmp_path):
    frame["city"] = "Ulm"
    table = {
        "dask": lambda: dd.from_pandas(frame, npartitions=2),
        "polars": lambda: pl.from_pandas(frame).lazy(),
        "pyarrow": lambda: ds.dataset(pa.Table.from_pandas(frame)),
    }[how]()
    with pytest.raises(TypeError, match="1 column of the table holds something else: 'city'"):
        as_blocks(table)


def test_null_is_refused_with_its_column(frame, tmp_path):
    table = pl.from_pandas(frame).with_columns(b=pl.lit(None, pl.Float32))
    with pytest.raises(SubscapeError, match=r"missing values \(null\) in 'b'"):
        as_blocks(table.lazy()).to_numpy()
    pq.write_table(table.to_arrow(), tmp_path / "odd.parquet")
    with pytest.raises(SubscapeError, match=r"odd\.parquet has missing values \(null\) in 'b'"):
        as_blocks(ds.dataset(tmp_path / "odd.parquet")).to_numpy()


def test_partitions_of_several_types(frame):
    def odd(part, partition_info=None):
        late = partition_info is not None and partition_info["number"] == 1
        return part.astype({"c": "float64"}) if late else part

    mixed = dd.from_pandas(frame, npartitions=3).map_partitions(odd, meta=frame.iloc[:0])
    with pytest.raises(SubscapeError, match=r"partition 1 .* column 'c' as float64.* float32"):
        as_blocks(mixed).to_numpy()


def test_unreadable_part_is_named(frame, tmp_path):
    (tmp_path / "good.parquet").write_bytes(b"")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "good.parquet")
    (tmp_path / "odd.parquet").write_bytes(b"PAR1 and no more PAR1")
    with pytest.raises(FileFormatError, match=r"odd\.parquet is no readable Parquet file"):
        as_blocks(ds.dataset(tmp_path, format="parquet"))


def test_addresses_that_lead_nowhere():
    with pytest.raises(FileFormatError, match="can't be read"):
        as_blocks("file:///no/such/folder")
    with pytest.raises(FileFormatError, match="can't be read"):
        as_blocks("oddfs://bucket/folder")


class TestRowsOfARowGroup:
    @pytest.fixture
    def path(self, tmp_path):
        values = np.arange(20.0).reshape(10, 2)
        table = pa.table({"a": values[:, 0], "b": values[:, 1], "c": np.zeros(10)})
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=6)
        return tmp_path / "t.parquet"

    def of(self, path, group, first, stop, names=("b", "a"), dtype=np.float32, nulls=False):
        return RowGroup(path, group, first, stop, names, np.dtype(dtype), nulls)

    @pytest.mark.parametrize("size", [1, 2, 4, 6, 100])
    @pytest.mark.parametrize(
        ("group", "first", "stop"),
        [(0, 0, 6), (0, 1, 5), (0, 3, 4), (1, 0, 4), (1, 2, 4), (0, 2, 2)],
    )
    def test_the_rows_it_names_so_many_at_a_time(self, path, size, group, first, stop):
        chunks = list(self.of(path, group, first, stop).chunks(size))
        begin = 6 * group
        expected = np.arange(20.0).reshape(10, 2)[begin + first : begin + stop, ::-1]
        assert all(chunk.dtype == np.float32 and len(chunk) <= size for chunk in chunks)
        found = np.vstack([np.empty((0, 2)), *chunks])
        assert found.tolist() == expected.tolist()

    def test_a_file_that_has_changed(self, path):
        assert list(self.of(path, 2, 0, 6).chunks(4)) == []
        # Fewer rows than it should have: whoever counts them says so.
        assert sum(len(chunk) for chunk in self.of(path, 1, 0, 6).chunks(4)) == 4
        path.write_bytes(b"PAR1 no more")
        with pytest.raises(SubscapeError, match=r"t\.parquet"):
            list(self.of(path, 0, 0, 6).chunks(4))

    def test_missing_values_are_refused_or_nan(self, tmp_path):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"a": [1.0, None], "b": [True, None]}), path)
        with pytest.raises(SubscapeError, match=r"missing values"):
            list(self.of(path, 0, 0, 2).chunks(2))
        (found,) = self.of(path, 0, 0, 2, nulls=True).chunks(2)
        assert found[0].tolist() == [1.0, 1.0] and np.isnan(found[1]).all()


def test_chunks_of_a_dask_array_are_whole_rows():
    X = np.arange(21.0).reshape(7, 3)
    for chunks in ((3, 2), (3, 3), (7, 1)):
        source = DaskSource(da.from_array(X, chunks=chunks), ["a", "b", "c"])
        # What a worker holds of some rows is one piece.
        assert source._array.numblocks[1] == 1
        assert source.lengths == da.from_array(X, chunks=chunks).chunks[0]
        assert np.vstack(list(source.chunks(2))).tolist() == X.tolist()
        assert (source.shape, source.names) == ((7, 3), ("a", "b", "c"))
