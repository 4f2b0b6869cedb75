from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.strategies import random_bases

from subscape import SubspaceClustering, load, save
from subscape.cli.consensus import METHODS
from subscape.datasets import planted_axes
from subscape.ensemble import EMPCE

LABELS = [[0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, -1]]
MASKS = [[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[1, 0], [0, 1]]]


@pytest.fixture
def three(run):
    """Three clusterings in two files, with subspaces."""
    found = [SubspaceClustering.from_labels(labels, masks=masks)
             for labels, masks in zip(LABELS, MASKS, strict=True)]  # fmt: skip
    save("one.subscape", found[0])
    save("two.subscape", found[1:])
    rng = np.random.default_rng(0)
    rows = rng.random((8, 2)) + np.repeat([[0, 0], [3, 0]], 4, axis=0)
    Path("table.csv").write_text("a,b\n" + "\n".join(f"{a:.3f},{b:.3f}" for a, b in rows) + "\n")


def test_rows_and_subspaces_of_the_majority(run, three):
    result = run("consensus", "one.subscape", "two.subscape", "-k", 2, "-o", "out.subscape")
    assert result.exit_code == 0, result.output
    found = load("out.subscape")
    np.testing.assert_array_equal(found.labels(), [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(found.subspaces.weights, [[1, 0], [0, 1]])
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ClusterBasedPCE of 3 clusterings: SubspaceClustering(2 weighted")
    assert lines[1] == "3 members agree on 96% of their votes"
    assert lines[2] == "cluster 1: 4 rows, agreement 0.92, found by 100% of the members"
    assert lines[-1] == "Written: out.subscape"


@pytest.mark.parametrize("method", METHODS)
def test_every_method(run, three, method):
    result = run("consensus", "one.subscape", "two.subscape", "-k", 2, "--method", method,
                 "--table", "table.csv", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["method"] == method and found["members"] == 3
    assert found["labels"] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert len(found["row_agreement"]) == 8
    assert [c["rows"] for c in found["clusters"]] == [4, 4]


def test_as_published(run, refused, three, monkeypatch):
    made = []
    fit = EMPCE.fit
    monkeypatch.setattr(EMPCE, "fit", lambda self, *a: (made.append(self), fit(self, *a))[1])
    call = ("consensus", "one.subscape", "two.subscape", "-k", 2, "--method", "em")
    assert run(*call, "--as-published").exit_code == 0
    assert made[0].get_params() == EMPCE.as_published(n_clusters=2, random_state=0).get_params()
    assert run(*call).exit_code == 0
    assert made[1].get_params() == EMPCE(2, random_state=0).get_params()
    said = refused(*call, "--as-published", "--noise", "abstain")
    assert "EMPCE as published has no parameter 'noise'" in said


def test_how_sure_each_row_is(run, three):
    run("consensus", "one.subscape", "two.subscape", "--agreement", "rows.csv")
    with Path("rows.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[-1]["row"] == "3" and float(rows[-1]["agreement"]) == pytest.approx(2 / 3, abs=1e-5)
    assert len(rows) == 8


def test_labels_from_text_files(run):
    Path("labels.csv").write_text("x,y,z\n" + "\n".join(f"{a},{b},{c}" for a, b, c in
                                  zip(*LABELS, strict=True)) + "\n")  # fmt: skip
    found = json.loads(run("consensus", "labels.csv", "-k", 2, "--json").stdout)
    assert found["members"] == 3


def test_files_of_noise_alone_are_left_out(run, three):
    save("noise.subscape", SubspaceClustering.from_labels([-1] * 8, n_features=2))
    result = run("consensus", "one.subscape", "noise.subscape", "two.subscape", "-k", 2)
    assert result.exit_code == 0
    assert "left out, every row is noise: noise" in result.stderr
    assert "of 3 clusterings" in result.stdout


def test_bad_input_is_one_line(refused, three):
    assert "-k 7 is more than the 6 clusters" in refused(
        "consensus", "one.subscape", "two.subscape", "-k", 7
    )
    assert "--table FILE" in refused("consensus", "one.subscape", "--method", "wspa")
    assert "no such file" in refused("consensus", "nothing.subscape").lower()
    bases = random_bases(np.random.default_rng(0), 2, 2, 1)
    save("bent.subscape", SubspaceClustering.from_labels([0, 0, 0, 0, 1, 1, 1, 1], bases=bases))
    unknown = refused("consensus", "one.subscape", "bent.subscape")
    assert "oriented subspaces" in unknown and "--table FILE" in unknown
    same = refused("consensus", "one.subscape", "-o", "same.csv", "--agreement", "same.csv")
    assert "the same file" in same
    save("short.subscape", SubspaceClustering.from_labels([0, 1], n_features=2))
    assert "rows" in refused("consensus", "one.subscape", "short.subscape")


def test_existing_files_are_kept(run, refused, three):
    Path("out.csv").write_text("mine")
    assert "--force" in refused("consensus", "one.subscape", "-o", "out.csv")
    assert "--force" in refused("consensus", "one.subscape", "--agreement", "out.csv")
    assert run("consensus", "one.subscape", "--agreement", "out.csv", "--force").exit_code == 0
    assert Path("out.csv").read_text().startswith("row,cluster")


def test_a_missing_extra_is_one_line(refused, three, monkeypatch):
    monkeypatch.setitem(sys.modules, "moocore", None)
    assert "pip install 'subscape[pareto]'" in refused(
        "consensus", "one.subscape", "--method", "moea"
    )


class TestTablesInAnotherOrder:
    """Weights that are estimated from a table belong to the columns and rows of their names."""

    @pytest.fixture
    def weights(self, run):
        X, truth = planted_axes(60, 4, n_clusters=2, dims=2, random_state=0)
        features, ids = ["a", "b", "c", "d"], [f"r{i}" for i in range(60)]
        bases = random_bases(np.random.default_rng(0), 2, 4, 2)
        save("bent.subscape", SubspaceClustering.from_labels(
            truth.labels(), bases=bases, feature_names=features, row_names=ids))  # fmt: skip

        def call(columns, rows):
            lines = [",".join(["id", *(features[j] for j in columns)])]
            lines += [",".join([ids[i], *map(str, X[i, columns])]) for i in rows]
            Path("table.csv").write_text("\n".join(lines) + "\n")
            result = run("consensus", "bent.subscape", "-k", 2, "--table", "table.csv", "--id",
                         "id", "-o", "out.subscape", "--force")  # fmt: skip
            assert result.exit_code == 0, result.stderr
            return load("out.subscape").subspaces.weights

        return call

    def test_columns_and_rows_are_found_by_name(self, weights):
        plain = weights([0, 1, 2, 3], range(60))
        assert plain.max(axis=1).min() > 0.3
        np.testing.assert_allclose(weights([2, 0, 3, 1], range(60)), plain)
        shuffled = np.random.default_rng(1).permutation(60)
        np.testing.assert_allclose(weights([0, 1, 2, 3], shuffled), plain)

    def test_other_columns_and_rows_are_refused(self, weights, refused):
        weights([0, 1, 2, 3], range(60))
        text = Path("table.csv").read_text()
        Path("table.csv").write_text(text.replace("id,a,", "id,z,"))
        call = ("consensus", "bent.subscape", "-k", 2, "--table", "table.csv", "--id", "id")
        assert "has no column 'a'" in refused(*call)
        Path("table.csv").write_text(text.replace("r7,", "x7,"))
        assert "has the row 'x7'" in refused(*call)
