"""Files and chunks that are no table: every finder that streams says what is wrong."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.table_sources import write_parquet

from subscape.core.errors import SubscapeError
from subscape.finders.catalogue import of_role
from subscape.testing.finders import brief

WANTED = {"n_clusters": 3, "random_state": 0, "search_rows": 100}


def wanted(finder):
    """The finder with those of the parameters that it has."""
    return finder.set_params(**{k: v for k, v in WANTED.items() if k in finder.get_params()})


FINDERS = [
    wanted(brief(entry.make()))
    for entry in of_role("finder", "views", "alternative").values()
    if entry.load()._streams
]

#: The table's groups are round clouds: finders of flats say that some lie on one.
clouds_are_no_flats = pytest.mark.filterwarnings("ignore::subscape.core.SharedFlatWarning")
every_finder = pytest.mark.parametrize(
    "finder", FINDERS, ids=[type(finder).__name__ for finder in FINDERS]
)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(400, 4)) + 20.0 * (np.arange(400) % 3)[:, None]).astype(np.float32)


@every_finder
def test_changed_columns(finder, table, tmp_path):
    write_parquet(table[:200], tmp_path / "a.parquet", 50, ["w", "x", "y", "z"])
    write_parquet(table[200:], tmp_path / "b.parquet", 50, ["w", "x", "y", "other"])
    with pytest.raises(
        SubscapeError, match=r"only a\.parquet has .*z.*only b\.parquet has .*other"
    ):
        finder.fit(tmp_path)


@every_finder
def test_changed_types(finder, table, tmp_path):
    write_parquet(table[:200], tmp_path / "a.parquet", 50)
    write_parquet(table[200:].astype(np.float64), tmp_path / "b.parquet", 50)
    with pytest.raises(
        SubscapeError, match=r"'c0' is float in a\.parquet and double in b\.parquet"
    ):
        finder.fit(tmp_path)


@every_finder
@pytest.mark.parametrize("statistics", [True, False])
def test_nulls_in_one_row_group(finder, table, statistics, tmp_path):
    columns = {f"c{j}": pa.array(table[:, j].tolist(), pa.float32()) for j in range(4)}
    gap = [None if row == 130 else float(value) for row, value in enumerate(table[:, 2])]
    columns["c2"] = pa.array(gap, pa.float32())
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=50, write_statistics=statistics)
    with pytest.raises(
        SubscapeError, match=r"row group 2 of t\.parquet .*null.* 'c2'.*fill or drop"
    ):
        finder.fit(path)


@every_finder
@clouds_are_no_flats
def test_unknown_chunk_sizes(finder, table):
    array = da.from_array(table, chunks=(100, 4))
    unknown = array[array[:, 0] > -1e9]
    with pytest.raises(SubscapeError, match=r"unknown size.*compute_chunk_sizes"):
        finder.fit(unknown)
    expected = finder.fit_predict(table)
    np.testing.assert_array_equal(finder.fit_predict(unknown.compute_chunk_sizes()), expected)


@every_finder
@clouds_are_no_flats
def test_a_read_only_memmap_is_read_and_not_written(finder, table, tmp_path):
    np.save(tmp_path / "X.npy", table)
    before = (tmp_path / "X.npy").read_bytes()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(finder.fit_predict(mapped), finder.fit_predict(table))
    assert (tmp_path / "X.npy").read_bytes() == before


@every_finder
def test_missing_and_text_columns(finder, tmp_path):
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        finder.fit(tmp_path / "absent.parquet")
    pq.write_table(pa.table({"x": [1.0] * 9, "name": ["a"] * 9}), tmp_path / "t.parquet")
    with pytest.raises(TypeError, match=r"1 column of t\.parquet holds something else: .*name"):
        finder.fit(tmp_path / "t.parquet")
