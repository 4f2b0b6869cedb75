"""Somebody's first day with a file: it is read as its writer meant, and the answer is there."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
from tests.tables.business import business_export, german
from tests.tables.test_dialects import FILES, content
from tests.tables.test_dialects import N as N_ROWS

from subscape.exploration.progress import Progress, QuietLine, is_watched
from subscape.exploration.study import load_study
from subscape.measures import adjusted_rand_score
from subscape.parallel.progress import Step
from subscape.tables import Table

RNG = np.random.default_rng(3)
N = 90
GROUPS = np.arange(N) % 3
AMOUNT = (np.array([1500.0, 42_000, 3_750_000])[GROUPS] * (1 + 0.05 * RNG.normal(size=N))).round()
SHARE = (np.array([3.0, 21, 55])[GROUPS] + RNG.normal(size=N)).round(1)
DEBT = (np.array([-900.0, 40, 800])[GROUPS] + 9 * RNG.normal(size=N)).round(2)


def rare(cells, mark):
    """Every 30th cell has no value."""
    return [mark if i % 30 == 7 else cell for i, cell in enumerate(cells)]


#: Kind of dirt -> the amounts, shares and debts as it writes them, and the delimiter.
DIRT = {
    "thousands": ([f'"{x:,.0f}"' for x in AMOUNT], SHARE, DEBT, ","),
    "thousands by apostrophes": ([f"{x:,.0f}".replace(",", "'") for x in AMOUNT], SHARE, DEBT, ","),
    "thousands by blanks": ([f"{x:,.0f}".replace(",", " ") for x in AMOUNT], SHARE, DEBT, ","),
    "per cent": (AMOUNT, [f"{x}%" for x in SHARE], DEBT, ","),
    "per cent apart": (AMOUNT, [f"{x} %" for x in SHARE], DEBT, ","),
    "euros in front": ([f'"€ {x:,.2f}"' for x in AMOUNT], SHARE, DEBT, ","),
    "dollars": ([f'"${x:,.0f}"' for x in AMOUNT], SHARE, DEBT, ","),
    "units": (AMOUNT, [f"{x}kg" for x in SHARE], [f"{x} cm" for x in DEBT], ","),
    "brackets": (AMOUNT, SHARE, [f"({-x:.2f})" if x < 0 else f"{x:.2f}" for x in DEBT], ","),
    "minus behind": (AMOUNT, SHARE, [f"{-x:.2f}-" if x < 0 else f"{x:.2f}" for x in DEBT], ","),
    "decimal commas": (AMOUNT, [f"{x}".replace(".", ",") for x in SHARE], map(german, DEBT), ";"),
    "tabs": (AMOUNT, SHARE, DEBT, "\t"),
    "pipes": (AMOUNT, SHARE, DEBT, "|"),
    **{
        f"missing as {mark}": (rare(AMOUNT, mark), rare(SHARE, mark), DEBT, ",")
        for mark in ("none", "n/a", "-", "?", "#N/A", "NULL", "")
    },
}


@pytest.mark.parametrize("kind", DIRT)
def test_each_kind_of_dirt_alone_leaves_the_numbers_as_they_are(tmp_path, kind):
    amount, share, debt, delimiter = DIRT[kind]
    lines = [delimiter.join(map(str, cells)) for cells in zip(amount, share, debt, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([delimiter.join(["amount", "share", "debt"]), *lines, ""]), "utf-8")
    table = Table.read(path)
    assert table.roles == {"amount": "numeric", "share": "numeric", "debt": "numeric"}
    gone = np.arange(N) % 30 == 7 if kind.startswith("missing") else np.zeros(N, bool)
    np.testing.assert_allclose(table.values("amount"), np.where(gone, np.nan, AMOUNT))
    np.testing.assert_allclose(table.values("share"), np.where(gone, np.nan, SHARE))
    np.testing.assert_allclose(table.values("debt"), DEBT)


def test_a_business_export_with_no_option_at_all(run, tmp_path):
    export = business_export(120)
    (tmp_path / "kunden.csv").write_bytes(export.content)
    done = run("explore", "kunden.csv")
    assert done.exit_code == 0, done.output
    study = load_study(tmp_path / "kunden-study")
    best = max(adjusted_rand_score(export.groups, v.labels) for v in study.significant_views)
    assert best >= 0.95
    # What looks like numbers and is not used stands above the answer.
    assert done.stdout.index("Not used: column 'Paket'") < done.stdout.index(study.verdict[:40])
    assert (tmp_path / "kunden-study" / "report.html").exists()


@pytest.mark.parametrize("dialect", FILES)
def test_a_file_of_any_dialect_needs_no_option(run, tmp_path, dialect):
    (tmp_path / "t.csv").write_bytes(content(dialect))
    done = run("explore", "t.csv", "--check", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["rows"] == N_ROWS and told["written"] == []
    roles = {column["name"]: column["role"] for column in told["columns"]}
    meant = {"city": "nominal", "amount": "numeric", "count": "numeric"}
    assert {name: roles.get(name) for name in meant} == meant
    assert {roles[name] for name in roles if name not in meant} <= {"id", "ignore"}


def test_labels_in_the_table_are_compared_with_and_never_searched(run, tmp_path):
    X = np.column_stack([GROUPS * 9 + RNG.normal(size=N), RNG.normal(size=N)])
    lines = [f"{a:.4f},{b:.4f},{'xyz'[k]}" for (a, b), k in zip(X, GROUPS, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,class", *lines, ""]))
    done = run("explore", "t.csv", "--effort", "quick", "--jobs", "1", "--json", "--quiet")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    (truth,) = told["truth"]
    assert truth["name"] == "class" and truth["views"][0]["ari"] > 0.95
    assert told["features"] == 2


def test_a_million_columns_are_answered_by_a_sentence(run, tmp_path):
    row = ",".join(["1"] * 1_000_000)
    (tmp_path / "t.csv").write_text(f"{row}\n{row}\n")
    refused = run("explore", "t.csv", "--check")
    assert refused.exit_code == 2
    assert "1,000,000 columns, more than 200,000" in refused.stderr
    assert "rows and columns exchanged" in refused.stderr and "--trusted" in refused.stderr


def test_progress_shows_itself_where_somebody_watches(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    assert not is_watched() and Progress(None, None).report is None
    stream.isatty = lambda: True
    assert is_watched()
    line = Progress(None, None).report
    assert isinstance(line, QuietLine)
    line(Step("explore", "views: LAC", 1, 5, 2.0))
    line(Step("explore", "views: KFlats", 2, 5, 2.1))
    assert stream.getvalue() == "\r2 s  views: LAC (1/5)"
    del line
    assert stream.getvalue().endswith("\r")
    assert Progress(False, None).report is None
