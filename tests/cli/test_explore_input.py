"""``subscape explore``: what can't be explored is refused in one line, before any work."""

import csv
import errno
import json
import os
import sys

import anndata
import numpy as np
import pandas as pd
import pytest

from subscape.exploration.study import load_study
from subscape.tables import Table
from subscape.tables.readers import sources as readers

from .conftest import write_table


def table(path, rows=30, columns=3, delimiter=",", names="abcdefgh", encoding="utf-8"):
    X = np.random.default_rng(0).normal(size=(rows, columns)).round(2)
    head = delimiter.join(names[:columns])
    lines = [delimiter.join(map(str, row)) for row in X]
    path.write_bytes("\n".join([head, *lines, ""]).encode(encoding))
    return path


@pytest.fixture
def refusal(run, tmp_path):
    """Run a command that must end in one line of error; nothing but the table may be there then."""

    def call(*arguments):
        result = run("explore", *arguments)
        assert result.exit_code == 2, result.output
        last = result.stderr.splitlines()[-1]
        assert last.startswith("Error: ")
        assert not list(tmp_path.rglob("study.json"))
        return last

    return call


def test_free_text_only(refusal, tmp_path):
    lines = [f"remark {i} of {i * i},word{i}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["remark,word", *lines]))
    said = refusal("t.csv")
    assert "no numeric or nominal column" in said
    assert "'remark (id)', 'word (id)'" in said and "--columns" in said


@pytest.mark.parametrize("rows", [1, 9])
def test_too_few_rows(refusal, tmp_path, rows):
    table(tmp_path / "t.csv", rows=rows)
    said = refusal("t.csv")
    assert f"has {rows} row" in said and "at least 10" in said and "transpose" in said
    assert f"has {rows} row" in refusal("t.csv", "--check")


def test_all_rows_equal(refusal, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n" * 30)
    assert "no column varies" in refusal("t.csv")


def test_a_delimiter_that_is_not_recognised(run, refusal, tmp_path):
    table(tmp_path / "t.csv", delimiter=" ")
    told = run("explore", "t.csv", "--check")
    assert told.exit_code == 0 and "3 columns, blank-delimited, utf-8" in told.stderr
    (tmp_path / "t.csv").write_text("red apple\ngreen pear\n")
    assert "each row holds 1 blank; say --delimiter ' '" in refusal("t.csv")
    table(tmp_path / "t.csv", delimiter="/")
    told = run("explore", "t.csv", "--check")
    assert "1 column, comma-delimited, utf-8; if there are more" in told.stderr
    (tmp_path / "columns.csv").unlink(missing_ok=True)
    told = run("explore", "t.csv", "--check", "--delimiter", "/")
    assert "3 columns, '/'-delimited" in told.stderr


def test_what_was_detected_is_said(run, refusal, tmp_path):
    table(tmp_path / "t.csv", delimiter=";", names="größe", columns=5, encoding="latin-1")
    told = run("explore", "t.csv", "--check")
    assert "5 columns, semicolon-delimited, cp1252" in told.stderr
    assert "not UTF-8; it was read as cp1252" in told.output
    said = refusal("t.csv", "--encoding", "utf-8")
    assert "is not utf-8" in said and "say --encoding" in said
    assert "no encoding 'utf-99'" in refusal("t.csv", "--encoding", "utf-99")


def test_rows_of_unequal_length(refusal, tmp_path):
    path = table(tmp_path / "t.csv")
    path.write_text(path.read_text() + "1,2\n")
    said = refusal("t.csv")
    assert "line 32: 2 cells where the first row has 3" in said and "--delimiter" in said


def test_a_file_that_changes_while_it_is_read(refusal, tmp_path, monkeypatch):
    path = table(tmp_path / "t.csv")
    whole = readers.read_delimited

    def read_delimited(*arguments):
        found = whole(*arguments)
        with path.open("a") as stream:
            stream.write("1,2,3\n")
        return found

    monkeypatch.setattr(readers, "read_delimited", read_delimited)
    assert "t.csv changed while it was read" in refusal("t.csv")


def test_a_full_disk(refusal, tmp_path, monkeypatch):
    table(tmp_path / "t.csv")

    def fsync(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    said = refusal("t.csv", "-o", "s")
    assert "no space left for s" in said and "--resume" in said
    assert list((tmp_path / "s").iterdir()) == []


def test_edited_roles_are_kept_and_honoured(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    write_table(tmp_path / "t.csv", X, names=["=a", "b", "c"])
    first = run("explore", "t.csv", "--check", "-o", "s")
    assert first.exit_code == 0, first.output
    roles = tmp_path / "s" / "columns.csv"
    assert "--columns s/columns.csv" in first.stdout
    edited = roles.read_text().replace("b,numeric", "b,ignore").replace("c,numeric", "c,nominal")
    roles.write_text(edited)
    refused = run("explore", "t.csv", "--check", "-o", "s")
    assert refused.exit_code == 2 and "other roles" in refused.stderr
    assert roles.read_text() == edited
    again = run("explore", "t.csv", "--check", "-o", "s", "--columns", "s/columns.csv")
    assert again.exit_code == 0, again.output
    shown = {line.split()[0]: line.split()[1] for line in again.stdout.splitlines() if line.split()}
    assert [shown[name] for name in ("=a", "b", "c")] == ["numeric", "ignore", "nominal"]
    assert roles.read_text() == edited
    strange = edited.replace("b,ignore", "b,colour")
    roles.write_text(strange)
    refused = run("explore", "t.csv", "--columns", "s/columns.csv", "-o", "s2")
    assert refused.exit_code == 2 and "'colour'" in refused.stderr


def test_h5ad_in_and_out(run, refusal, tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + 12 * group[:, None] * np.array([1, 1, 0, 0])
    obs = pd.DataFrame({"batch": ["a"] * 60}, index=[f"cell{i}" for i in range(60)])
    var = pd.DataFrame(index=["g0", "g1", "g2", "g3"])
    anndata.AnnData(X, obs=obs, var=var).write_h5ad(tmp_path / "cells.h5ad")
    table(tmp_path / "t.csv")
    assert "t.csv is none" in refusal("t.csv", "--h5ad", "out.h5ad")
    assert "t.csv exists" in refusal("cells.h5ad", "--h5ad", "t.csv")
    assert "does not exist" in refusal("cells.h5ad", "--h5ad", "no/out.h5ad")
    (tmp_path / "columns.csv").write_text("column,role\ng3,ignore\n")
    done = run("explore", "cells.h5ad", "--effort", "quick", "--jobs", "1", "--h5ad", "out.h5ad",
               "--columns", "columns.csv", "-o", "s")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "The table with its clusters: out.h5ad" in done.stdout
    # Beside the views stand Leiden's communities, which the search never saw.
    compared = {known["name"]: known["views"] for known in load_study(tmp_path / "s").truth}
    assert list(compared) == [f"Leiden, resolution {r}" for r in ("0.5", "1", "2")]
    assert compared["Leiden, resolution 0.5"][0]["ari"] > 0.9
    assert "Leiden, resolution 0.5: most like view 1 (adjusted Rand" in done.stdout
    assert "and with Leiden" in (tmp_path / "s" / "report.html").read_text()
    found = anndata.read_h5ad(tmp_path / "out.h5ad")
    codes = found.obs["subscape_view1"].cat.codes.to_numpy()
    assert len(np.unique(codes * 2 + group)) == 2
    relevance = found.varm["subscape_view1"]
    assert (relevance[:2] > 0).all() and (relevance[2:] == 0).all()
    assert Table.read(tmp_path / "out.h5ad").roles["subscape_view1"] == "label"


def test_h5ad_without_anndata(refusal, tmp_path, monkeypatch):
    (tmp_path / "cells.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setitem(sys.modules, "anndata", None)
    assert "pip install 'subscape[anndata]'" in refusal("cells.h5ad")


def test_what_a_note_proposes_for_two_conventions_repairs_the_column(run, tmp_path):
    lines = [f"{i}.5,{i % 7}" if i % 2 else f'"{i},25",{i % 7}' for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    told = run("explore", "t.csv", "--check", "-o", "s").stdout
    assert "give it the role numeric and its decimal sign (--columns)" in told
    roles = tmp_path / "s" / "columns.csv"
    with roles.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert "(--columns)" in rows[0]["note"]
    rows[0] |= {"role": "numeric", "decimal": "."}
    with roles.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    repaired = run("explore", "t.csv", "--check", "--json", "--columns", "s/columns.csv")
    column = json.loads(repaired.stdout)["columns"][0]
    assert (column["role"], column["missing"]) == ("numeric", 20)
