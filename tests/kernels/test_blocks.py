"""Tables by blocks: the same rows and the same bits from every source, and clear refusals."""

from __future__ import annotations

import threading
from pathlib import Path

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table_sources import sources, write_parquet
from threadpoolctl import threadpool_info

from subscape.arrays import row_blocks as blocks_module
from subscape.arrays.blocks import (
    Blocks,
    as_blocks,
    check_blocks,
    column_means,
    fold,
    is_source,
    one_blas_thread,
    rows_per_block,
)
from subscape.core.errors import FileFormatError, SubscapeError


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks_module, "CELLS", 300)


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(1e3, 1.0, (1003, 3)).astype(np.float32)


def statistics(block, rows):
    return block.sum(axis=0), block.T @ block, len(block), rows.start * 1.0


class TestSources:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
    def test_same_rows_and_bits(self, dtype, tmp_path, small_blocks, table):
        X = (table * 10).astype(dtype)
        expected = fold(statistics, X)
        for source in sources(X, tmp_path):
            read = as_blocks(source)
            assert read.shape == X.shape
            assert read.dtype == (np.float32 if dtype is np.float32 else np.float64)
            assert [len(block) for _, block in read] == [100] * 10 + [3]
            np.testing.assert_array_equal(read.to_numpy(), X)
            for _ in range(2):  # several passes over one object
                for ours, theirs in zip(fold(statistics, read), expected, strict=True):
                    assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()

    def test_read_only(self, tmp_path, table):
        np.save(tmp_path / "X.npy", table)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        assert is_source(mapped) and not mapped.flags.writeable
        np.testing.assert_array_equal(
            as_blocks(mapped).map(lambda b: b + 1).to_numpy()[0], table[0] + 1.0
        )

    def test_take_and_column(self, tmp_path, small_blocks, table):
        rows = np.array([512, 0, 99, 1002, 100, 512])
        for source in sources(table, tmp_path):
            np.testing.assert_array_equal(as_blocks(source).take(rows), table[rows])
            np.testing.assert_array_equal(as_blocks(source).column(1), table[:, 1])

    def test_selected_columns_are_cut_anew(self, tmp_path, small_blocks, table):
        for source in sources(table, tmp_path):
            chosen = as_blocks(source).select(np.array([True, False, True]))
            assert chosen.block_rows == 150
            np.testing.assert_array_equal(chosen.to_numpy(), table[:, [0, 2]])
        with pytest.raises(TypeError, match="before blocks are changed"):
            as_blocks(table).map(np.abs).select([0])

    def test_names(self, tmp_path, table):
        path = write_parquet(table, tmp_path / "t.parquet", 50, ["a", "b", "c"])
        assert as_blocks(path).names == ("a", "b", "c")
        assert as_blocks(path).select([2, 0]).names == ("c", "a")

    def test_columns_in_another_order_are_read_by_name(self, tmp_path, table):
        (tmp_path / "parts").mkdir()
        write_parquet(table[:9], tmp_path / "parts/0.parquet", 5, ["a", "b", "c"])
        turned = table[9:, ::-1]
        write_parquet(turned, tmp_path / "parts/1.parquet", 500, ["c", "b", "a"])
        np.testing.assert_array_equal(as_blocks(tmp_path / "parts").to_numpy(), table)

    def test_what_is_a_source(self, table):
        assert not is_source(table) and not is_source([[1.0]])
        assert is_source("x.parquet") and is_source(Path("x")) and is_source(as_blocks(table))
        assert is_source(da.from_array(table))


class TestRecentred:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_same_bits_from_every_source(self, dtype, tmp_path, small_blocks, table):
        low, factor = table.min(axis=0).astype(float), np.array([0.5, 3.0, 0.1])
        means = column_means(table, low)
        expected = ((table.astype(float) - low - means) * factor).astype(dtype)
        for source in sources(table, tmp_path):
            read = as_blocks(source)
            np.testing.assert_array_equal(read.means, means)
            moved = read.recentred(low, means).scaled(factor, dtype)
            assert moved.dtype == dtype
            np.testing.assert_array_equal(moved.to_numpy(), expected)
            np.testing.assert_array_equal(moved.take([700, 3]), expected[[700, 3]])
            direct = read.recentred(low, means, factor, dtype)
            np.testing.assert_array_equal(direct.to_numpy(), expected)

    def test_changes_come_after(self, table):
        read = as_blocks(table)
        moved = read.recentred(np.full(3, 2.0)).map(lambda block: block + 1)
        np.testing.assert_array_equal(moved.to_numpy(), table - 1.0)
        for once in (moved, read.recentred(np.zeros(3))):
            with pytest.raises(TypeError, match="recentred once"):
                once.recentred(np.zeros(3))
        for never in (moved, read, read.recentred(np.zeros(3)).scaled(np.full(3, 2.0))):
            with pytest.raises(TypeError, match="scaled once"):
                never.scaled(np.ones(3))

    def test_of_some_columns(self, small_blocks, table):
        chosen = as_blocks(table).select([2, 0])
        moved = chosen.recentred(np.array([5.0, 7.0]))
        np.testing.assert_array_equal(moved.to_numpy(), table[:, [2, 0]] - np.array([5.0, 7.0]))


class TestFold:
    def test_blocks_as_they_are(self, table):
        seen = fold(lambda block, rows: int(block.dtype == np.float32), table, dtype=None)
        assert seen == 1

    @settings(deadline=None, max_examples=40)
    @given(st.integers(1, 900), st.integers(1, 7), st.integers(0, 2**32 - 1))
    def test_sums(self, n, p, seed):
        X = np.random.default_rng(seed).integers(-9, 9, (n, p)).astype(float)
        total, products = fold(lambda block, rows: (block.sum(axis=0), block.T @ block), X)
        np.testing.assert_array_equal(total, X.sum(axis=0))
        np.testing.assert_array_equal(products, X.T @ X)

    def test_float32_is_summed_in_float64(self, small_blocks):
        X = np.full((1000, 3), 2.0**24 + 2, np.float32)
        total = fold(lambda block, rows: block.sum(axis=0), X)
        np.testing.assert_array_equal(total, np.full(3, 1000 * (2.0**24 + 2)))

    def test_order_of_the_blocks(self, small_blocks):
        # Large and small terms: any other order gives other bits.
        X = (
            np.random.default_rng(3).normal(size=(1500, 3))
            * 10.0 ** np.arange(-15, 15).repeat(50)[:, None]
        )
        expected = np.zeros(3)
        for start in range(0, 1500, 100):
            expected = expected + X[start : start + 100].sum(axis=0)
        assert fold(lambda block, rows: block.sum(axis=0), X).tobytes() == expected.tobytes()
        backwards = fold(lambda block, rows: block.sum(axis=0), X[::-1])
        assert backwards.tobytes() != expected.tobytes()

    def test_block_size_follows_from_columns(self):
        assert [rows_per_block(p) for p in (1, 50, 10**7)] == [2**19, 10485, 16]

    def test_means(self, small_blocks, table):
        X = table.astype(float)
        X[5, 1] = np.nan
        np.testing.assert_allclose(column_means(X), np.nanmean(X, axis=0), rtol=1e-14)
        low = X.min(axis=0)
        low[1] = 3.0
        np.testing.assert_allclose(column_means(X, low), np.nanmean(X - low, axis=0), rtol=1e-13)

    def test_one_blas_thread(self):
        def threads():
            return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

        before = threads()
        entered, leave = threading.Event(), threading.Event()

        def hold():
            with one_blas_thread():
                entered.set()
                leave.wait(10)

        other = threading.Thread(target=hold)
        with one_blas_thread():
            other.start()
            entered.wait(10)
            assert threads() == {1}
        # The other thread is still inside.
        assert threads() == {1}
        leave.set()
        other.join()
        # Not every thread can raise the number again; the main one can.
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == before


class TestRefusals:
    def test_changed_schema(self, tmp_path, table):
        folder = tmp_path / "parts"
        folder.mkdir()
        write_parquet(table, folder / "a.parquet", 50, ["a", "b", "c"])
        write_parquet(table, folder / "b.parquet", 50, ["a", "b", "d"])
        with pytest.raises(
            SubscapeError, match=r"only a\.parquet has .*c.*only b\.parquet has .*d"
        ):
            as_blocks(folder)

    def test_changed_type(self, tmp_path, table):
        folder = tmp_path / "parts"
        folder.mkdir()
        write_parquet(table, folder / "a.parquet", 50)
        write_parquet(table.astype(np.int64), folder / "b.parquet", 50)
        with pytest.raises(SubscapeError, match=r"'c0' is float in a\.parquet and int64 in b"):
            as_blocks(folder)

    @pytest.mark.parametrize("statistics", [True, False])
    def test_nulls_in_one_row_group(self, tmp_path, table, statistics):
        values = table[:, 0].tolist()
        values[130] = None
        data = pa.table({"full": table[:, 1], "gap": pa.array(values, pa.float32())})
        path = tmp_path / "t.parquet"
        pq.write_table(data, path, row_group_size=50, write_statistics=statistics)
        with pytest.raises(SubscapeError, match=r"row group 2 of t\.parquet .*null.* 'gap'"):
            as_blocks(path).to_numpy()

    def test_text_column(self, tmp_path):
        pq.write_table(pa.table({"x": [1.0], "name": ["a"]}), tmp_path / "t.parquet")
        with pytest.raises(TypeError, match=r"1 column of t\.parquet holds something else: .*name"):
            as_blocks(tmp_path / "t.parquet")

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no file or folder"):
            as_blocks(tmp_path / "absent.parquet")
        with pytest.raises(FileFormatError, match=r"holds no \.parquet file"):
            as_blocks(tmp_path)
        (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
        with pytest.raises(FileFormatError, match=r"bad\.parquet is no readable Parquet"):
            as_blocks(tmp_path / "bad.parquet")

    def test_empty_file(self, tmp_path):
        write_parquet(np.empty((0, 2)), tmp_path / "t.parquet", 5)
        with pytest.raises(SubscapeError, match="0 sample"):
            as_blocks(tmp_path / "t.parquet")

    def test_without_a_cluster_blocks_are_read_here(self, table):
        assert type(as_blocks(da.from_array(table))) is Blocks

    def test_unknown_chunks(self, table):
        array = da.from_array(table, chunks=(100, 3))
        with pytest.raises(SubscapeError, match=r"unknown size.*compute_chunk_sizes"):
            as_blocks(array[array[:, 0] > 1e3])

    @pytest.mark.parametrize("array", [da.zeros(5), np.zeros((2, 2, 2))])
    def test_not_two_dims(self, array):
        with pytest.raises(SubscapeError, match="Expected 2D array"):
            as_blocks(array)

    def test_not_numbers(self):
        with pytest.raises(TypeError, match="numbers are needed"):
            as_blocks(np.array([["a"]]))

    def test_table_that_shrinks_meanwhile(self, tmp_path, table):
        path = write_parquet(table, tmp_path / "t.parquet", 50)
        read = as_blocks(path)
        write_parquet(table[:100], path, 50)
        with pytest.raises(SubscapeError, match="had 1003 rows and now has 100"):
            read.to_numpy()

    @pytest.mark.parametrize("bad, message", [(np.inf, "infinity"), (np.nan, "NaN")])
    def test_bad_values(self, tmp_path, small_blocks, table, bad, message):
        table[530, 2] = bad
        for source in sources(table, tmp_path):
            match = rf"{message} \(1 value in '(c2|column 2)'\)"
            with pytest.raises(SubscapeError, match=match) as caught:
                check_blocks(as_blocks(source), "somebody")
            if bad is np.nan:
                assert "somebody (see rows 500 to 599)" in str(caught.value)
        check_blocks(as_blocks(np.where(np.isinf(table), np.nan, table)), "x", missing=True)

    def test_magnitude(self, small_blocks):
        X = np.zeros((500, 2))
        X[400, 0] = 1e200
        with pytest.raises(SubscapeError, match="too large to square"):
            check_blocks(as_blocks(X), "somebody")
        X[400, 0] = 1e-200
        with pytest.raises(SubscapeError, match="too small to square"):
            check_blocks(as_blocks(X), "somebody")


def test_constant_columns_and_ranges(small_blocks):
    X = np.arange(999.0).reshape(-1, 3)
    X[:, 1] = 7.0
    read = as_blocks(X)
    np.testing.assert_array_equal(read.constant, [False, True, False])
    np.testing.assert_array_equal(read.ranges.high, X.max(axis=0))
    np.testing.assert_array_equal(read.select([2]).ranges.low, [2.0])
