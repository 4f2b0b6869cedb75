"""Damaged, lying and misplaced files of results, and what is done about them."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from subscape import explore
from subscape.core import SubspaceClustering
from subscape.core.errors import FileFormatError
from subscape.datasets import planted_axes
from subscape.exploration.journal import Journal
from subscape.exploration.study import load_study, save_study
from subscape.files import atomic, elki, formats, load, read_clusterings, save
from subscape.files.atomic import write_atomically, write_text_atomically
from subscape.finders import PROCLUS
from subscape.runs import RunStore, Task, run_all
from subscape.tables.readers.boundary import Limits
from subscape.testing.studies import planted_study


@pytest.fixture
def clustering():
    return SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([3, 4], [2])], shape=(6, 3))


def rewrite(path, edit):
    """Change the manifest of a ``.subscape`` file."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts["manifest.json"])
    edit(manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("stated", [{"n_features": 10**9}, {"n_rows": 10**12}, {"n_rows": -1}])
def test_sizes_that_a_result_states_are_not_believed(tmp_path, clustering, stated):
    path = save(tmp_path / "c.subscape", clustering)
    rewrite(path, lambda m: m["clusterings"][0].update(stated))
    with pytest.raises(FileFormatError, match=r"c\.subscape"):
        load(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.true", "DIM=3;ROWS=999999999999;\n1 1 0 2 0 1\n"),
        ("c.true", "DIM=3;\n1 1 0 2 0 999999999999\n"),
        ("c.elki", "# Table: 999999999999 rows, 3 features\n# Cluster: a\nID=1\n"),
        ("c.elki", "# Cluster: a\n# Subspace: Dimensions: [1, 99999999999999]\nID=1\n"),
        ("c.elki", "# Cluster: a\n# x\n# 1.0 * x_1 + 2.0 * x_99999999999 = 3\nID=1\n"),
        ("c.csv", "label\n99999999999999999999999999\n1\n"),
    ],
)
def test_sizes_that_texts_state_are_not_believed(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"c\.\w+"):
        read_clusterings(tmp_path / name)


def test_a_result_that_unpacks_to_too_much(tmp_path, clustering):
    path = save(tmp_path / "c.subscape", clustering)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.npy", b"\0" * (80 << 20))
    with pytest.raises(FileFormatError, match="times its size"):
        load(path)
    assert load(path, limits=Limits.lifted()) == clustering


def test_a_deep_manifest(tmp_path, clustering):
    path = save(tmp_path / "c.subscape", clustering)
    deep = []
    for _ in range(200):
        deep = [deep]
    rewrite(path, lambda m: m.update(metadata=deep))
    with pytest.raises(FileFormatError, match=r"manifest of c\.subscape is nested"):
        load(path)


def flipped(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def test_a_damaged_run_is_named_and_done_again(tmp_path):
    X, _ = planted_axes(60, 6, n_clusters=2, dims=3, random_state=0)
    tasks = [Task(PROCLUS(n_clusters=2), X, seed=s) for s in range(2)]
    before = run_all(tasks, tmp_path)
    path = RunStore(tmp_path).path(before[0].id)
    whole = path.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 7).astype(int):
        path.write_bytes(whole)
        flipped(path, place)
        try:
            damaged = RunStore(tmp_path).read(before[0].id) is None
        except FileFormatError as error:
            assert path.name in str(error)
            damaged = True
        if not damaged:
            continue  # a byte that nobody reads, such as a date
        with pytest.warns(UserWarning, match=f"is done again: .*{path.name}"):
            after = run_all(tasks, tmp_path)
        assert [run.is_restored for run in after] == [False, True]
        assert after[0].clustering == before[0].clustering
        assert RunStore(tmp_path).read(before[0].id).clustering == before[0].clustering


def test_a_damaged_study_names_the_file(tmp_path):
    save_study(planted_study(60, n_clusters=(3, 2)), tmp_path)
    assert load_study(tmp_path).views
    for name in ("views/arrays.npz", "study.json", "timings.json", "views/view_1.subscape"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(FileFormatError, match=name.rpartition("/")[2].replace(".", r"\.")):
            load_study(tmp_path)
        (tmp_path / name).write_bytes(whole)
    arrays = tmp_path / "views" / "arrays.npz"
    flipped(arrays, arrays.stat().st_size // 2)
    with pytest.raises(FileFormatError, match=r"arrays\.npz is damaged or truncated"):
        load_study(tmp_path)
    arrays.unlink()
    with pytest.raises(FileFormatError, match=r"arrays\.npz is missing"):
        load_study(tmp_path)


def test_a_journal_is_not_written_through_a_link(tmp_path):
    other = tmp_path / "precious.txt"
    other.write_text("mine")
    link = tmp_path / "decisions.jsonl"
    link.symlink_to(other)
    with pytest.raises(FileFormatError, match=r"decisions\.jsonl is a link to another file"):
        Journal(link)
    link.unlink()
    journal = Journal(link)
    link.symlink_to(other)  # between the opening and the first decision
    with pytest.raises(FileFormatError, match="is a link"):
        journal.decide("go", lambda: 1)
    assert other.read_text() == "mine"


def test_new_files_have_the_rights_of_new_files(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask belongs to all threads"))
    path = write_text_atomically(tmp_path / "a", "text")
    (tmp_path / "b").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


def test_a_free_name_is_looked_for_a_hundred_times(tmp_path, monkeypatch):
    asked, real = [], os.open

    def taken(path, flags, mode):
        asked.append((str(path), flags, mode))
        if len(asked) < 100:
            raise FileExistsError
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", taken)
    handle, beside = atomic._open_beside(tmp_path / ("n" * 300))
    os.close(handle)
    # Beside the file, hidden, with a short name of its own each time; nothing is written over.
    names = {path for path, _, _ in asked}
    assert len(asked) == len(names) == 100 and beside == asked[-1][0]
    assert beside.startswith(f"{tmp_path / ('.' + 'n' * 200)}.{os.getpid()}-")
    for _, flags, mode in asked:
        assert flags & os.O_CREAT and flags & os.O_EXCL and flags & os.O_WRONLY and mode == 0o666
    asked.clear()

    def never(*given):
        asked.append(given)
        raise FileExistsError

    monkeypatch.setattr(os, "open", never)
    with pytest.raises(FileExistsError, match="no name is free beside"):
        atomic._open_beside(tmp_path / "n")
    assert len(asked) == 100


def test_the_folder_is_synced_after_the_file(tmp_path, monkeypatch):
    synced, real = [], os.fsync

    def fsync(handle):
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomically(tmp_path / "a", lambda stream: stream.write(b"x"))
    assert synced == [False, True]


def test_stated_dimensions_are_not_believed(tmp_path):
    path = tmp_path / "t.elki"
    path.write_text("# Cluster: a\n# Subspace: Dimensions: [600000000]\nID=1\n")
    with pytest.raises(FileFormatError, match=r"t\.elki states 600,000,000 features"):
        read_clusterings(path)
    small = Limits(table=50)
    path.write_text("# Cluster: a\n# Subspace: Dimensions: [60]\nID=1\n")
    assert read_clusterings(path)[0].n_features == 60
    with pytest.raises(FileFormatError, match="states 60 features"):
        read_clusterings(path, limits=small)
    path = path.with_suffix(".true")
    path.write_text("DIM=60;\n" + "1 " + "0 " * 59 + "2 0 1\n")
    assert read_clusterings(path)[0].n_features == 60
    with pytest.raises(FileFormatError, match="states 60 features"):
        read_clusterings(path, limits=small)


def test_label_texts_are_read_piece_by_piece(tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    path.write_text("label\n" + "0\n1\n" * 2000)
    monkeypatch.setattr(formats, "PIECE", 7)
    assert read_clusterings(path)[0].n_rows == 4000
    monkeypatch.setattr(formats, "MAX_BYTES", 8006)
    assert read_clusterings(path)[0].n_rows == 4000
    monkeypatch.setattr(formats, "MAX_BYTES", 8005)
    with pytest.raises(FileFormatError, match="more than 8,005 bytes of text"):
        read_clusterings(path)


@pytest.mark.parametrize("manifest", [
    {"format": "x" * 10**5}, {"format": "subscape/" + "x" * 10**5},
    {"format": "subscape/1", "arrays": {"a": {"dtype": "x" * 10**5}}, "clusterings": []},
    {"format": "subscape/1", "arrays": {}, "clusterings": [{"prefix": "x" * 10**5,
                                                            "n_features": 1}]},
])  # fmt: skip
def test_messages_do_not_repeat_all_of_a_file(tmp_path, manifest):
    path = tmp_path / "t.subscape"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("a.npy", b"")
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert len(str(caught.value)) < 400


def test_a_damaged_plan_says_what_to_do(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    explore(X, effort="quick", folder=tmp_path / "s", random_state=0)
    plan = tmp_path / "s" / "plan.json"
    plan.write_text(plan.read_text()[:-20])
    with pytest.raises(FileFormatError, match=r"plan\.json .* it is damaged; remove it and resume"):
        explore(X, effort="quick", folder=tmp_path / "s", resume=True, random_state=0)
    plan.unlink()
    explore(X, effort="quick", folder=tmp_path / "s", resume=True, random_state=0)
    assert plan.exists()


def test_arrays_are_written_in_the_oldest_version_of_their_format(tmp_path, clustering):
    path = tmp_path / "c.subscape"
    save(path, clustering)
    with zipfile.ZipFile(path) as archive:
        starts = {archive.read(name)[:8] for name in archive.namelist() if name.endswith(".npy")}
    assert starts == {b"\x93NUMPY\x01\x00"}


def test_features_that_equations_state_are_not_believed():
    block = SimpleNamespace(equations=[{0: 1.0, 2: -1.0}, {1: 2.0}], source="t.elki")
    normals = elki._normals(block, 3, Limits())
    assert normals.tolist() == [[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]
    # Eight bytes for each number: 3 features, 2 equations.
    elki._normals(block, 3, Limits(table=48))
    with pytest.raises(FileFormatError, match=r"t\.elki states 3 features"):
        elki._normals(block, 3, Limits(table=47))
