"""Every command that the README, the guides and the help texts show is run."""

from __future__ import annotations

import glob
import importlib
import itertools
import re
import shlex
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from subscape.cli.main import COMMANDS, cli
from subscape.core import SubspaceClustering
from subscape.datasets import planted_axes, planted_views
from subscape.files import save
from subscape.files.formats import write_clusterings
from subscape.finders import PROCLUS

HOME = Path(__file__).parents[2]
ROWS, FEATURES = 45, 20
#: Options after which a command writes.
WRITES = ("-o", "--output", "--agreement", "--h5ad", "--plot", "--table-output")
#: The same search with less of it, where an example would take long.
LESS = {
    "explore": ["--effort", "quick", "--jobs", "1", "--quiet", "--time", "2"],
    "demo": ["--jobs", "1"],
    "choose": ["--samples", "2", "--nulls", "2", "--quiet"],
    "validate": ["--samples", "2", "--nulls", "3", "--quiet"],
}


def of_help():
    for command in COMMANDS.values():
        module, _, function = command.place.partition(":")
        text = getattr(importlib.import_module(module), function).epilog or ""
        # Indented, or behind "Example:": a sentence may begin with the name of the program, too.
        yield from re.findall(r"(?:^  |Example:  )(subscape \S.*)$", text, re.MULTILINE)


def of_pages():
    for page in (HOME / "README.md", *sorted((HOME / "docs").rglob("*.md"))):
        for block in re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            yield from re.findall(r"^(?:\$ )?(subscape [a-z].*)$", block, re.MULTILINE)


def command_of(line):
    """The command of a line, without the words behind it that say what it is for."""
    return re.split(r"\s{2,}|\s+# ", line.strip())[0]


EVERY = {command_of(line) for line in (*of_help(), *of_pages())}
#: But for those that write into the system, or need a pager or a shell of their own.
EXAMPLES = sorted(line for line in EVERY if not line.startswith("subscape man "))


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with every file that the examples speak of."""
    folder = tmp_path_factory.mktemp("desk")
    X, truth = planted_axes(ROWS, FEATURES, n_clusters=5, dims=6, random_state=0)
    views, planted = planted_views(ROWS, FEATURES, n_clusters=(3, 2), separation=9, random_state=0)
    X = X / X.std(axis=0) + views / views.std(axis=0)
    names = [f"f{j}" for j in range(FEATURES)]
    labels = np.maximum(truth.labels(), 0)
    head = ",".join(["id", *names, "class"])
    lines = [
        ",".join([f"p{i}", *(f"{x:.5g}" for x in X[i]), "abcde"[labels[i]]]) for i in range(ROWS)
    ]
    for name in ("data.csv", "new.csv"):
        (folder / name).write_text("\n".join([head, *lines, ""]))
    named = [f"p{i},{k}" for i, k in enumerate(planted[0].labels())]
    for name in ("labels.csv", "truth.csv"):
        (folder / name).write_text("\n".join(["id,group", *named, ""]))
    plain = "\n".join(map(str, labels.tolist())) + "\n"
    for name in ("a.csv", "b.csv", "c.csv", "classes.csv"):
        (folder / name).write_text(plain)
    both = [f"{a},{b}" for a, b in zip(labels, planted[1].labels(), strict=True)]
    for name in ("results.csv", "runs.csv"):
        (folder / name).write_text("\n".join(["run1,run2", *both, ""]))
    ids = tuple(f"p{i}" for i in range(ROWS))
    found = [
        PROCLUS(n_clusters=5, random_state=seed)
        .fit(X)
        .clustering_.with_names(feature_names=names, row_names=ids)
        for seed in range(3)
    ]
    (folder / "runs").mkdir()
    for number, one in enumerate(found, 1):
        save(folder / f"run{number}.subscape", one)
        save(folder / "runs" / f"run{number}.subscape", one)
    save(folder / "found.subscape", found[0])
    write_clusterings(folder / "results.subscape", found, names=["1", "2", "3"])
    bare = SubspaceClustering(found[0].memberships, found[0].subspaces)
    # As OpenSubspace writes it: features as 0 and 1, the number of rows, the rows.
    members = [np.flatnonzero(row) for row in bare.memberships.toarray()]
    masks = bare.subspaces.masks.astype(int)
    told = [[*mask, len(rows), *rows] for mask, rows in zip(masks, members, strict=True)]
    text = "\n".join(" ".join(map(str, line)) for line in told)
    (folder / "truth.true").write_text(f"DIM={FEATURES};\n{text}\n")
    write_clusterings(folder / "found.elki", bare)
    (folder / "elki-output").mkdir()
    shutil.copy(folder / "found.elki", folder / "elki-output" / "clusters.txt")
    import anndata

    adata = anndata.AnnData(np.round(np.exp(X - X.mean(axis=0))))
    adata.obs_names, adata.var_names = list(ids), names
    adata.write_h5ad(folder / "cells.h5ad")
    return folder


@pytest.fixture(scope="module")
def made(desk, tmp_path_factory):
    """What examples make that others use: a study, and results of finders."""
    folder = tmp_path_factory.mktemp("made") / "desk"
    shutil.copytree(desk, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "subscape explore data.csv -o study",
            "subscape fit PROCLUS data.csv -p n_clusters=5 -o result.subscape",
            'subscape fit NrKMeans data.csv -p "n_clusters=(4, 3, 1)" -o views.subscape',
        ):
            result = invoke(line)
            assert result.exit_code == 0, (line, result.output)
        # What was found is compared and validated with the same table.
        shutil.copy("result.subscape", "found.subscape")
    return folder


def invoke(line):
    """Run a line as a shell would, with less effort, and with its outputs out of the way."""
    _, name, *rest = shlex.split(line)
    arguments = [
        path for part in rest for path in (sorted(glob.glob(part)) if "*" in part else [part])
    ]
    targets = [after for option, after in itertools.pairwise(rest) if option in WRITES]
    targets += [rest[1]] if name == "convert" else []
    for target in map(Path, targets):
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
    wanted = [] if "--check" in rest else LESS.get(name, [])
    wanted = wanted + (["--samples", "19"] if name == "compare" and "--p-value" in rest else [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # people read them, and nothing ends for it
        return CliRunner().invoke(cli, [name, *arguments, *wanted], prog_name="subscape")


def test_there_are_examples_of_every_command():
    shown = {line.split()[1] for line in EXAMPLES}
    assert shown >= set(COMMANDS) - {"demo", "completion", "man"}
    assert len(EXAMPLES) >= 40


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_runs_as_it_is_printed(line, made, tmp_path, monkeypatch):
    choose = importlib.import_module("subscape.cli.choose")
    every = choose.parsed_grid
    monkeypatch.setattr(  # the first two values of each range
        choose, "parsed_grid", lambda *given: {k: v[:2] for k, v in every(*given).items()}
    )
    folder = tmp_path / "desk"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    result = invoke(line)
    assert result.exit_code == 0, result.output
