"""A disk that is full at some moment: nothing is lost, nothing is half there."""

import errno
import os

import pytest

from .conftest import small_job

KEPT = ("study.json", "labels.csv", "clusters.csv", "decisions.jsonl", "plan.json")


@pytest.fixture
def full_after(monkeypatch):
    """Let the system sync so many files, and no more; None for as many as one likes."""
    sync = os.fsync
    state = {"left": None}

    def fsync(handle):
        if state["left"] is not None:
            if state["left"] == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            state["left"] -= 1
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)

    def limit(number):
        state["left"] = number

    return limit


def test_nothing_is_lost_when_the_disk_is_full(study_folder, planted, tmp_path, full_after):
    X, truths = planted
    from subscape.tables import Table

    table = Table.from_array(X, row_names=[f"=r{i}" for i in range(len(X))])
    truth = {"first": truths[0].labels(), "second": truths[1].labels()}
    folder = tmp_path / "s"
    moments = 0
    # From the plan itself, over runs and decisions, to the files of the finished study.
    for number in (0, 1, 2, 5, 11, 20, 30, 3, 2, 1, 4):
        full_after(number)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        try:
            small_job(table, folder=folder, truth=truth, resume=moments > 0).run()
        except OSError as error:
            assert error.errno == errno.ENOSPC
        else:
            break
        moments += 1
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert not [path for path in after if path.name.startswith(".")]
        for path, content in before.items():
            assert after[path].startswith(content) or path.suffix in (".json", ".csv", ".npz")
    assert moments > 7
    full_after(None)
    small_job(table, folder=folder, truth=truth, resume=True).run()
    for name in KEPT:
        assert (folder / name).read_bytes() == (study_folder / name).read_bytes(), name
