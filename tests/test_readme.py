"""The README's examples run as they are written."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import anndata
import numpy as np
import pytest
from click.testing import CliRunner

from subscape import save
from subscape.cli.main import cli
from subscape.datasets import planted_axes
from subscape.finders import PROCLUS

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.M)
PYTHON = [code for language, code in BLOCKS if language == "python"]
#: Command lines; what follows two blanks is a remark.
SHELL = [
    re.split(r"\s{2,}", line)[0]
    for language, code in BLOCKS
    if not language
    for line in code.splitlines()
    if line.startswith("subscape ")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that the command lines name."""
    home = tmp_path_factory.mktemp("readme")
    X, truth = planted_axes(80, 5, n_clusters=5, dims=3, random_state=0)
    head = ",".join(f"x{j}" for j in range(5))
    np.savetxt(home / "data.csv", X, delimiter=",", header=head, comments="", fmt="%.5f")
    np.savetxt(home / "new.csv", X[:10], delimiter=",", header=head, comments="", fmt="%.5f")
    for name in ("labels", "truth"):
        lines = "\n".join(map(str, truth.labels()))
        (home / f"{name}.csv").write_text(f"label\n{lines}\n")
    for seed in (1, 2):
        found = PROCLUS(5, random_state=seed).fit(X).clustering_
        save(home / f"run{seed}.subscape", found)
    cells = anndata.AnnData(X)
    cells.var_names = head.split(",")
    cells.write_h5ad(home / "cells.h5ad")
    return home


def test_there_are_examples_of_both_kinds():
    assert len(PYTHON) >= 2
    assert len(SHELL) >= 12


def test_every_other_line_names_what_is_there():
    """Installation and targets of make, which ``.ci/run`` runs, and no line of a third kind."""
    others = [
        re.split(r"\s{2,}", line)[0]
        for language, code in BLOCKS
        if not language
        for line in code.splitlines()
        if line.strip() and not line.startswith("subscape ")
    ]
    home = README.parent
    project = tomllib.loads((home / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    targets = re.findall(r"^([a-z-]+):", (home / "Makefile").read_text(), re.MULTILINE)
    run = (home / ".ci" / "run").read_text()
    assert len(others) >= 5
    for line in others:
        program, *words = shlex.split(line)
        if program == "make":
            assert words[0] in targets
            assert f"make {words[0]}" in run or f"subscape {words[0]}" in run
        else:
            assert (program, words[0]) == ("pip", "install")
            assert words[1] == "." or words[1] in {f".[{name}]" for name in extras}


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(README), "exec"), {"__name__": "__readme__"})


@pytest.mark.stranger
def test_command_lines(folder, monkeypatch):
    # One test, because some lines read what others wrote.
    monkeypatch.chdir(folder)
    inputs = {path: path.read_bytes() for path in Path().glob("*.csv")}
    for line in dict.fromkeys(SHELL):
        shutil.rmtree("data-study", ignore_errors=True)
        for output in re.findall(r"-o (\S+)", line):
            shutil.rmtree(output, ignore_errors=True)
            Path(output).unlink(missing_ok=True)
        done = CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)
        assert done.exit_code == 0, f"{line}\n{done.output}"
        for output in re.findall(r"-o (\S+\.\S+)", line):
            assert Path(output).stat().st_size > 0
        for path, content in inputs.items():
            path.write_bytes(content)
