"""Tables in parts are explored as the same tables in memory are, here and on a cluster."""

from __future__ import annotations

import json

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.remote import cluster
from tests.table_sources import write_folder, write_parquet

import subscape
from subscape.arrays import row_blocks
from subscape.arrays.remote.blocks import RemoteBlocks
from subscape.cli.main import cli
from subscape.core.errors import FileFormatError, SubscapeError
from subscape.datasets import planted_views
from subscape.exploration import assembly, parted_tables
from subscape.exploration.parted_tables import PartedTable, is_parted
from subscape.exploration.study import _as_plain, _json
from subscape.tables.table import Table

NAMES = ["c0", "c1", "c2", "c3", "c4"]
WANTED = {"effort": "quick", "search_rows": 300, "progress": False}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for module in (assembly, parted_tables):
        monkeypatch.setattr(module, "BLOCK", 190)
    monkeypatch.setattr(row_blocks, "CELLS", 700)


@pytest.fixture(scope="module")
def X():
    table, _ = planted_views(1203, 5, n_clusters=(3, 2), random_state=0)
    return table


@pytest.fixture(scope="module")
def expected(X):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "BLOCK", 190)
        return subscape.explore(Table.from_array(X, feature_names=NAMES), **WANTED)


def told(study) -> str:
    """All that a study says, but for where its table was."""
    plain = _as_plain(study)
    plain.pop("part_lengths", None)
    return _json(plain | {"settings": plain["settings"] | {"source": ""}})


def check_same(found, expected):
    assert told(found) == told(expected)
    assert len(expected) > 0
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        np.testing.assert_array_equal(ours.row_confidence, theirs.row_confidence)
        assert ours.clustering == theirs.clustering


def test_folder_here(X, expected, tmp_path):
    folder = write_folder(X, tmp_path / "parts", [100, 101, 700])
    home = tmp_path / "study"
    found = subscape.explore(folder, folder=home, **WANTED)
    check_same(found, expected)
    parts = sorted((home / "labels").iterdir())
    assert [each.name for each in parts] == [f"part-{i:05}.parquet" for i in range(4)]
    tables = [pq.read_table(each) for each in parts]
    assert [len(each) for each in tables] == [100, 1, 599, 503]
    whole = pa.concat_tables(tables)
    assert whole.column("row").to_pylist() == list(range(1, 1204))
    labels = np.asarray(whole.column("view_1"))
    np.testing.assert_array_equal(np.where(labels > 0, labels - 1, -1), expected[1].labels)
    np.testing.assert_array_equal(whole.column("view_1_confidence"), expected[1].row_confidence)
    assert not (home / "labels.csv").exists()
    again = subscape.load_study(home)
    check_same(again, expected)
    assert again.part_lengths == (100, 1, 599, 503)


def test_on_a_cluster(X, expected, tmp_path, monkeypatch):
    """The same study, and the table never comes here."""

    def refuse(table):
        raise AssertionError("the whole table came")

    monkeypatch.setattr(RemoteBlocks, "to_numpy", refuse)
    folder = write_folder(X, tmp_path / "parts", [100, 101, 700])
    with cluster(2):
        home = tmp_path / "study"
        found = subscape.explore(folder, folder=home, **WANTED)
        check_same(found, expected)
        placed = found.predict(folder)
        assert isinstance(placed, da.Array)
        np.testing.assert_array_equal(placed.compute(), expected.predict(X))
        # Somebody stopped it after the search: what is left to do is done again.
        before = {each.name: each.read_bytes() for each in (home / "labels").iterdir()}
        for name in ("study.json", "labels/part-00002.parquet"):
            (home / name).unlink()
        runs = {each: each.stat().st_mtime_ns for each in (home / "runs").rglob("*.subscape")}
        check_same(subscape.explore(folder, folder=home, resume=True, **WANTED), expected)
        assert runs
        assert runs == {each: each.stat().st_mtime_ns for each in runs}
        assert before == {each.name: each.read_bytes() for each in (home / "labels").iterdir()}


def test_part_that_becomes_unreadable(X, expected, tmp_path):
    """It is named, what was found is kept, and with the part in order the work goes on."""
    folder, home = write_folder(X, tmp_path / "parts", [100, 500, 700]), tmp_path / "study"
    part = folder / "part-02.parquet"
    whole = part.read_bytes()

    def damage(study):
        part.write_bytes(whole[:60] + b"\xff" * 900 + whole[960:])

    with cluster(2):
        with pytest.raises(FileFormatError, match=r"part-02\.parquet is no readable Parquet"):
            subscape.explore(folder, folder=home, on_update=damage, **WANTED)
        with pytest.raises(FileFormatError, match=r"part-02\.parquet is no readable Parquet"):
            subscape.explore(folder, folder=home, resume=True, **WANTED)
        part.write_bytes(whole)
        runs = {each: each.stat().st_mtime_ns for each in (home / "runs").rglob("*.subscape")}
        assert len(runs) > 5
        check_same(subscape.explore(folder, folder=home, resume=True, **WANTED), expected)
        assert runs == {each: each.stat().st_mtime_ns for each in runs}


def test_partitions_that_are_not_alike(X):
    """What the frame says of its partitions is wrong of one of them."""
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3)
    odd = frame.map_partitions(
        lambda part: part.astype({"c2": str}) if part.index[0] > 500 else part, meta=frame._meta
    )
    with pytest.raises(SubscapeError, match=r"partition 2 .* 'c2' as .*, the frame says float64"):
        subscape.explore(odd, **WANTED)
    some = da.from_array(X, chunks=(97, 5))
    with pytest.raises(SubscapeError, match=r"unknown size.*compute_chunk_sizes"):
        subscape.explore(some[some[:, 0] > 1], **WANTED)


def test_other_rows_are_another_study(X, tmp_path):
    folder = write_folder(X, tmp_path / "parts", [100])
    home = tmp_path / "study"
    job = {**WANTED, "time": 1e-9}
    subscape.explore(folder, folder=home, **job)
    changed = X[100:].copy()
    changed[-1, 3] += 1e-9
    write_parquet(changed, folder / "part-01.parquet", 70)
    with pytest.raises(SubscapeError, match="can't be resumed"):
        subscape.explore(folder, folder=home, resume=True, **job)


def test_roles_profile_and_notes_are_those_in_memory(X, tmp_path):
    rng = np.random.default_rng(1)
    columns = {name: X[:, j].copy() for j, name in enumerate(NAMES)}
    columns["c1"][::7] = np.nan
    columns["c2"][5] = np.inf
    columns |= {
        "again": columns["c3"],
        "nearly": columns["c0"] * 2 + 5,
        "same": np.full(len(X), 4.0),
        "none": np.full(len(X), np.nan),
        "row_id": np.arange(len(X)) + 7.0,
        "class": rng.integers(3, size=len(X)).astype(float),
        "target": rng.normal(size=len(X)),
    }
    frame = pd.DataFrame(columns)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, part in enumerate(np.split(np.arange(len(X)), [31, 400])):
        pq.write_table(
            pa.Table.from_pandas(frame.iloc[part], preserve_index=False), folder / f"{i}.parquet"
        )
    here = Table.read(frame)
    there = PartedTable.of(folder)
    assert there.schema == here.schema
    assert {"id", "label", "ignore"} <= set(there.roles.values())
    for ours, theirs in zip(there.profile, here.profile, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert there.notes[:-1] == here.notes
    assert "numbered" in there.notes[-1]
    rows = [1200, 3, 500]
    assert there.take(rows) == here.take(rows)
    np.testing.assert_array_equal(there.labels("class"), here.labels("class"))
    other = {"class": "numeric", "c4": "ignore"}
    assert there.with_roles(other).take(rows) == here.with_roles(other).take(rows)
    assert there.with_roles(other).fingerprint != there.fingerprint


def test_missing_values_and_yes_and_no(tmp_path):
    (tmp_path / "parts").mkdir()
    table = pa.table({"a": [1, None, 3], "b": [True, None, False], "c": [0.5, 1.5, None]})
    pq.write_table(table, tmp_path / "parts" / "0.parquet")
    found = PartedTable.of(tmp_path / "parts").take([0, 1, 2]).X
    np.testing.assert_array_equal(found, [[1, 1, 0.5], [np.nan, np.nan, 1.5], [3, 0, np.nan]])


def test_which_tables_are_in_parts(X, tmp_path):
    frame = pd.DataFrame(X, columns=NAMES)
    folder = write_folder(X, tmp_path / "parts", [40])
    for source in (folder, str(folder), da.from_array(X), dd.from_pandas(frame, npartitions=3)):
        assert is_parted(source)
        assert PartedTable.of(source).shape == X.shape
    one = write_parquet(X, tmp_path / "one.parquet", 100)
    for source in (one, str(one), tmp_path / "nothing", tmp_path, X, frame):
        assert is_parted(source) == (source is tmp_path)
    assert PartedTable.of(dd.from_pandas(frame, npartitions=3)).part_lengths == (401, 401, 401)


def test_refusals(X, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1.0], "b": ["x"]}), folder / "0.parquet")
    with pytest.raises(TypeError, match="numbers are needed"):
        subscape.explore(folder)
    with pytest.raises(SubscapeError, match="'x0' of a table in parts can't be nominal"):
        subscape.explore(da.from_array(X), roles={"x0": "nominal"})
    write_parquet(X, folder / "0.parquet", 100)
    (folder / "1.parquet").write_bytes(b"no table")
    with pytest.raises(FileFormatError, match=r"1\.parquet is no readable Parquet file"):
        subscape.explore(folder)


def test_command(X, tmp_path):
    folder, home = write_folder(X, tmp_path / "parts", [100]), tmp_path / "study"

    def run(*arguments):
        return CliRunner().invoke(cli, ["explore", str(folder), *arguments], prog_name="subscape")

    checked = run("--check", "--search-rows", "300")
    assert checked.exit_code == 0, checked.output
    assert "numeric" in checked.output
    options = ["--effort", "quick", "--search-rows", "300", "-o", str(home), "--json", "--quiet"]
    found = run(*options)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["views"]
    assert len(list((home / "labels").iterdir())) == 2
    refused = run("--transpose")
    assert refused.exit_code
    assert "is in parts" in refused.output


def test_tables_in_parts_hold_numbers_alone():
    table = PartedTable.of(da.ones((30, 2), chunks=(20, 2)))
    assert table.nominal == {} and table.row_names is None and table.unused_numeric_notes == ()
    assert [column.role for column in table.schema] == ["numeric", "numeric"]
