import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from subscape.files.leftovers import _is_left, remove_leftovers

WRITE = """
import sys, time
from subscape.files.atomic import write_atomically
def write(stream):
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(600)
write_atomically(sys.argv[1], write)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes can't be asked")
def test_what_a_killed_process_was_writing_is_removed(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "kept.npz").write_text("whole")
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE, tmp_path / "runs" / "a.npz"], stdout=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        assert remove_leftovers(tmp_path) == []  # it is still at it
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    (gone,) = remove_leftovers(tmp_path)
    assert gone.name.startswith(".a.npz.")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["kept.npz"]


def test_other_files_stay(tmp_path):
    old = time.time() - 7200
    names = [".hidden", "a.npz", ".a.npz.swp", ".a.npz.abcd123_", ".b.npz.abcd123_"]
    for name in names:
        (tmp_path / name).touch()
    os.utime(tmp_path / ".b.npz.abcd123_", (old, old))
    os.utime(tmp_path / ".hidden", (old, old))
    for pid in (2**31, 2**31 - 1):  # more than a number of a process can be, and the largest one
        (tmp_path / f".c.npz.{pid}-abcd123_").touch()
    (gone,) = remove_leftovers(tmp_path / "none") or [None]
    assert gone is None
    assert [path.name for path in remove_leftovers(tmp_path) if ".c." in path.name] == [
        f".c.npz.{2**31 - 1}-abcd123_"
    ]
    assert (tmp_path / f".c.npz.{2**31}-abcd123_").exists()
    (tmp_path / ".b.npz.abcd123_").touch()
    os.utime(tmp_path / ".b.npz.abcd123_", (old, old))
    assert [path.name for path in remove_leftovers(tmp_path)] == [".b.npz.abcd123_"]


def test_what_somebody_else_removed_is_not_left(tmp_path):
    assert not _is_left(tmp_path / ".a.npz.abcd123_", None)


def test_who_is_asked_whether_a_file_is_left(tmp_path, monkeypatch):
    path, asked = tmp_path / "f", []
    path.touch()
    now = path.stat().st_mtime

    def kill(pid, number):
        asked.append((pid, number))
        if pid == 1:
            raise ProcessLookupError
        if pid == 2:
            raise PermissionError

    clock, system = SimpleNamespace(time=lambda: now + 3600), SimpleNamespace(platform="linux")
    monkeypatch.setattr("subscape.files.leftovers.os", SimpleNamespace(kill=kill))
    monkeypatch.setattr("subscape.files.leftovers.time", clock)
    monkeypatch.setattr("subscape.files.leftovers.sys", system)
    assert _is_left(path, "1") is True and asked == [(1, 0)]
    # Of a process that lives, or can't be asked, an hour old ones are no longer written.
    for pid in ("2", "3", None, str(2**31)):
        assert _is_left(path, pid) is False
    assert [pid for pid, _ in asked] == [1, 2, 3]
    clock.time = lambda: now + 3601
    for pid in ("2", "3", None, str(2**31)):
        assert _is_left(path, pid) is True
    assert _is_left(tmp_path / "gone", None) is False
    system.platform = "win32"
    asked.clear()
    assert _is_left(path, "1") is True and asked == []


def test_links_are_left_alone(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    old = time.time() - 7200
    for place in (inside, outside):
        target = place / ".a.npz.abcd123_"
        target.touch()
        os.utime(target, (old, old))
    (inside / ".b.npz.abcd123_").symlink_to(outside / ".a.npz.abcd123_")
    (inside / "folder").symlink_to(outside)
    assert [path.name for path in remove_leftovers(inside)] == [".a.npz.abcd123_"]
    assert (outside / ".a.npz.abcd123_").exists() and (inside / ".b.npz.abcd123_").is_symlink()
