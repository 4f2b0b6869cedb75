from __future__ import annotations

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from subscape.cli.main import cli
from subscape.core import SubspaceClustering
from subscape.datasets import planted_views
from subscape.files import save


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments):
        return CliRunner().invoke(cli, [str(part) for part in arguments], prog_name="subscape")

    return call


@pytest.fixture
def refused(run):
    """Run a command that must end in one line of error and change nothing in the folder."""

    def call(*arguments):
        before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        assert {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()} == before
        return result.stderr

    return call


@pytest.fixture
def pair(run, tmp_path):
    """Two small clusterings whose distances are known by hand, as ``a.subscape`` and ``b.true``."""
    a = SubspaceClustering.from_clusters([([0, 1, 2, 3], [0, 1]), ([4, 5], [2])], shape=(8, 3))
    save(tmp_path / "a.subscape", a)
    (tmp_path / "b.true").write_text("DIM=3;\n1 1 0 2 0 1\n0 0 1 3 4 5 6\n1 0 0 1 3\n")
    # Union 8 + 2 + 1 cells, matched 4 + 2, shared 4 + 2 + 1.
    return {"clustering_error": 1 - 6 / 11, "rnia": 1 - 7 / 11}


def write_table(path, X, names=None, ids=None):
    names = names or [f"f{j}" for j in range(X.shape[1])]
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*(["id"] if ids else []), *names])
        for i, row in enumerate(X):
            writer.writerow([*([ids[i]] if ids else []), *(f"{x:.6g}" for x in row)])
    return path


@pytest.fixture(scope="session")
def explored(tmp_path_factory):
    """A study made by the command line, and what it said."""
    folder = tmp_path_factory.mktemp("explore")
    X, truths = planted_views(90, 4, n_clusters=(2,), separation=12, random_state=0)
    ids = [f"p{i}" for i in range(90)]
    table = write_table(folder / "people.csv", X, ids=ids)
    with open(folder / "truth.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "group"])
        # In another order: the lines are joined by id.
        for i in range(89, -1, -1):
            writer.writerow([ids[i], "ab"[truths[0].labels()[i]]])
    result = CliRunner().invoke(
        cli,
        ["explore", str(table), "-o", str(folder / "study"), "--effort", "quick", "--jobs", "1",
         "--truth", str(folder / "truth.csv")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder, result.output, truths[0].labels()
