"""People count from 1: no command prints a cluster, a view or a clustering 0."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from subscape.cli.main import COMMANDS
from subscape.core import SubspaceClustering
from subscape.core.prototypes import describe
from subscape.datasets import planted_axes
from subscape.ensemble import Ensemble, agreement
from subscape.files import save
from subscape.validation import cluster_stability

FINDER = ("PROCLUS", "t.csv", "-p", "n_clusters=2")
#: A call of every command that prints something of clusters.
CALLS = {
    "alternatives": ("t.csv", "-n", "2", "--given", "labels.csv"),
    "choose": (*FINDER[:2], "--grid", "n_clusters=2:3", "--samples", "2", "--quiet"),
    "compare": ("a.subscape", "b.subscape"),
    "consensus": ("a.subscape", "b.subscape"),
    "convert": ("a.subscape", "c.true", "--lossy"),
    "explore": ("people.csv", "--effort", "quick", "--jobs", "1", "--quiet", "-o", "s"),
    "figures": ("study", "--format", "svg"),
    "fit": FINDER,
    "matrix": ("several.npy", "a.subscape"),
    "predict": ("study", "people.csv"),
    "rename": ("study", "1.1=the first"),
    "validate": ("a.subscape", "t.csv", "--samples", "2", "--nulls", "2", "--quiet"),
}
#: What counting from 0 looks like: in words, as the first cell of a line, or as part of a file.
FROM_ZERO = re.compile(
    r"\b(?:cluster|view|clustering|group|alternative|member)s?[ _]0\b|^ *0  |#0\b|trusted.*: 0\b",
    re.IGNORECASE | re.MULTILINE,
)


@pytest.fixture
def desk(run, explored):
    X, truth = planted_axes(60, 5, n_clusters=2, dims=3, random_state=0)
    lines = [",".join(f"{x:.5g}" for x in row) for row in X]
    Path("t.csv").write_text("\n".join(["a,b,c,d,e", *lines, ""]))
    labels = np.maximum(truth.labels(), 0)
    Path("labels.csv").write_text("\n".join(map(str, labels.tolist())) + "\n")
    np.save("several.npy", np.column_stack([labels, 1 - labels, labels]))
    assert run("fit", *FINDER, "-o", "a.subscape").exit_code == 0
    save("b.subscape", truth)
    folder, _, _ = explored
    shutil.copytree(folder / "study", "study")
    shutil.copy(folder / "people.csv", "people.csv")
    return run


def test_every_command_is_tried():
    # These print shell code and a manual; the demo prints by the function of explore.
    assert set(CALLS) == set(COMMANDS) - {"completion", "man", "demo"}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_nothing_printed_counts_from_zero(name, desk):
    result = desk(name, *CALLS[name])
    assert result.exit_code == 0, result.output
    found = FROM_ZERO.search(result.output)
    assert found is None, result.output


@pytest.mark.parametrize(
    "text",
    ["cluster 0: 3 rows", "most like view 0", "      0    48     5", "a.csv#0", "0  one  0.000",
     "1 of 2 clusters can be trusted (p of at most 0.01): 0."],
)  # fmt: skip
def test_counting_from_zero_would_be_seen(text):
    assert FROM_ZERO.search(text)


def test_first_and_last_number_of_what_is_printed(desk):
    told = desk("validate", *CALLS["validate"]).stdout
    assert re.findall(r"^ +(\d+) +\d+ ", told, re.MULTILINE) == ["1", "2"]
    told = desk("fit", *CALLS["fit"]).stdout
    assert re.findall(r"^  cluster (\d+): ", told, re.MULTILINE) == ["1", "2"]
    told = desk("compare", *CALLS["compare"]).stdout
    pairs = re.findall(r"^(\d+) +\d+ +\d+ +(\d+) +\d+ ", told, re.MULTILINE)
    assert sorted(a for a, _ in pairs) == sorted(b for _, b in pairs) == ["1", "2"]
    told = desk("matrix", *CALLS["matrix"]).stdout
    assert re.findall(r"^(\d) (\S+)  ", told, re.MULTILINE) == [
        ("1", "several#1"), ("2", "several#2"), ("3", "several#3"), ("4", "a")
    ]  # fmt: skip


def test_trusted_clusters_go_by_the_numbers_of_the_table():
    from subscape.cli.validate import _verdict

    clusters = [{"cluster": k, "stability": s, "p_value": 0.001} for k, s in enumerate((0.1, 0.9))]
    told = _verdict({"clusters": clusters, "whole_stability": 0.5, "p_value": 0.001})
    assert told.startswith("1 of 2 clusters can be trusted") and told.endswith(": 2.")


def test_what_machines_read_begins_at_zero(desk):
    told = json.loads(desk("compare", *CALLS["compare"], "--json").stdout)
    assert told["a"]["clusters"] == ["0", "1"]
    told = json.loads(desk("validate", *CALLS["validate"], "--json").stdout)
    assert [one["cluster"] for one in told["clusters"]] == [0, 1]
    told = json.loads(desk("consensus", *CALLS["consensus"], "--json").stdout)
    assert [one["cluster"] for one in told["clusters"]] == [0, 1]
    assert set(told["labels"]) <= {-1, 0, 1}


def test_clusters_with_names_keep_them(desk):
    Path("x.csv").write_text("0\n" * 30 + "7\n" * 30)
    told = desk("compare", "x.csv", "x.csv").stdout
    assert re.findall(r"^(\d) +30 ", told, re.MULTILINE) == ["0", "7"]


def test_results_of_python_show_themselves_counted_from_one():
    X = np.arange(12.0).reshape(6, 2)
    labels = np.array([0, 0, 0, 1, 1, 1])
    clustering = SubspaceClustering.from_labels(labels, n_features=2)
    agreed = agreement(labels, [labels, labels])
    stable = cluster_stability(labels, [labels, labels])
    for text in (repr(describe(X, clustering)), repr(agreed), repr(stable)):
        assert re.findall(r"cluster (\d+)", text) == ["1", "2"]
    for shown in (clustering, agreed, stable, Ensemble.of([labels, labels])):
        first = re.findall(r"<tr>\s*<td[^>]*>([^<]*)<", shown._repr_html_())
        assert first == ["1", "2"], shown._repr_html_()
    # Records are Python's: they can be used as indices.
    assert [one["cluster"] for one in stable.to_records()] == [0, 1]
