from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from subscape.cli.choose import parsed_grid
from subscape.datasets import planted_axes
from subscape.files import load

KNOWN = {"n_clusters": 5, "avg_dims": 5, "width": 0.1, "how": "a"}


@pytest.fixture
def data(run):
    """A table with three planted clusters, as ``data.csv``."""
    X, truth = planted_axes(120, 6, n_clusters=3, dims=4, random_state=3)
    head = ",".join(f"f{j}" for j in range(6))
    np.savetxt("data.csv", X, delimiter=",", header=head, comments="")
    return truth


@pytest.mark.parametrize(
    "text, values",
    [
        ("n_clusters=2:5", [2, 3, 4, 5]),
        ("n_clusters=2:7:2", [2, 4, 6]),
        ("n_clusters=4", [4]),
        ("n_clusters=2,5,9", [2, 5, 9]),
        ("width=0.1:0.3:0.1", [0.1, 0.2, 0.3]),
        ("width=0.5:2.5", [0.5, 1.5, 2.5]),
        ("how=a, b,None", ["a", "b", None]),
    ],
)
def test_ranges_and_lists(text, values):
    assert list(parsed_grid([text], KNOWN).values()) == [values]


@pytest.mark.parametrize(
    "given, cause",
    [
        ([], "--grid"),
        (["n_clusters"], "NAME=RANGE"),
        (["n_clusters="], "NAME=RANGE"),
        (["k=2:5"], "no parameter 'k'"),
        (["n_clusters=5:2"], "empty"),
        (["n_clusters=2:5:0"], "empty"),
        (["n_clusters=a:b"], "not a range"),
        (["n_clusters=1:2:3:4"], "not a range"),
        (["n_clusters=1:1000000"], "never finished"),
        (["n_clusters=2", "n_clusters=3"], "twice"),
    ],
)
def test_what_is_no_range_is_refused(given, cause):
    with pytest.raises(ValueError, match=cause):
        parsed_grid(given, KNOWN)


def test_the_issues_own_example_and_all_outputs(run, data):
    result = run(
        "choose", "PROCLUS", "data.csv", "--grid", "n_clusters=2:4", "avg_dims=3:4", "--samples",
        3, "--by", "description_length", "-p", "n_init=2", "-o", "best.subscape",
        "--table-output", "table.csv", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "description_length chooses n_clusters=3, avg_dims=4" in result.output
    [found] = load("best.subscape")
    assert found.n_clusters == 3
    assert found.feature_names == tuple(f"f{j}" for j in range(6))
    assert found.provenance["parameters"]["avg_dims"] == 4
    with open("table.csv", newline="") as stream:
        records = list(csv.DictReader(stream))
    assert len(records) == 6
    assert [records[0][name] for name in ("rank", "n_clusters", "avg_dims")] == ["1", "3", "4"]


def test_stability_with_a_picture_as_json_from_a_store(run, data):
    options = ("choose", "proclus", "data.csv", "--grid", "n_clusters=2:3", "-p", "n_init=2", "-p",
               "avg_dims=4", "--samples", 3, "--json", "--store", "kept")  # fmt: skip
    result = run(*options, "--plot", "curve.png")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["chosen"] == {"n_clusters": 3}
    assert {"sure", "rule", "sentence"} <= set(report)
    assert Path("curve.png").read_bytes()[:4] == b"\x89PNG"
    assert len(list(Path("kept/runs").iterdir())) == 8
    again = run(*options)
    assert json.loads(again.stdout) == report


def test_bad_input(refused, data):
    assert "Did you mean PROCLUS" in refused("choose", "PROCLU", "data.csv", "--grid", "a=1")
    assert "--grid n_clusters=2:10" in refused("choose", "PROCLUS", "data.csv")
    assert "such as n_clusters=2:10" in refused("choose", "PROCLUS", "data.csv", "--grid", "-k")
    assert "nothing.csv" in refused("choose", "PROCLUS", "nothing.csv", "--grid", "n_clusters=2:3")
    assert "--by stability" in refused(
        "choose",
        "PROCLUS",
        "data.csv",
        "--grid",
        "n_clusters=2:3",
        "--by",
        "sre",
        "--plot",
        "a.png",
    )
    assert "--force" in refused(
        "choose", "PROCLUS", "data.csv", "--grid", "n_clusters=2:3", "-o", "data.csv"
    )
    assert "failed in every one" in refused(
        "choose", "PROCLUS", "data.csv", "--grid", "n_clusters=500", "--quiet"
    )
