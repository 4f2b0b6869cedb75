from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from subscape.core import SubspaceClustering
from subscape.files import save
from subscape.measures import p_value
from subscape.measures.registry import MEASURES


def scores(result):
    return {entry["name"]: entry for entry in json.loads(result.stdout)["measures"]}


def test_values(run, pair):
    result = run("compare", "a.subscape", "b.true", "--json")
    assert result.exit_code == 0
    found = scores(result)
    # What most people know comes first.
    assert list(found) == ["adjusted_rand_score", *pair]
    for name, value in pair.items():
        assert found[name]["value"] == pytest.approx(value)
        assert found[name]["is_distance"] is True
        assert (found[name]["low"], found[name]["high"]) == (0, 1)


def test_the_table_for_people(run, pair):
    lines = run("compare", "a.subscape", "b.true").stdout.splitlines()
    assert lines[0].split(None, 2) == [
        "A", "a.subscape", "2 axis-aligned clusters, 8 rows x 3 features, 2 noise rows",
    ]  # fmt: skip
    # The list did not say how many rows there are; the other file did.
    assert lines[1].endswith("3 axis-aligned clusters, 8 rows x 3 features, 2 noise rows")
    (error,) = [line for line in lines if line.startswith("clustering_error")]
    assert error.split()[1] == f"{pair['clustering_error']:.4f}"
    assert "0 to 1" in error and "0 = identical" in error and "share of cells" in error
    start = lines.index("A  rows  dims  B  rows  dims  of A  of B")
    assert [line.split() for line in lines[start + 1 :]] == [
        ["2", "2", "1", "2", "3", "1", "100%", "67%"],
        ["1", "4", "2", "1", "2", "2", "50%", "100%"],
        ["Only", "in", "B:", "3"],
    ]


def test_a_narrow_terminal_gets_a_narrow_table(run, pair, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("compare", "a.subscape", "b.true").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "share of cells" not in "".join(lines)


def test_matches_by_the_names_of_the_classes(run):
    Path("found.csv").write_text("0\n0\n1\n1\n1\n")
    Path("truth.csv").write_text("species\ncat\ncat\ndog\ndog\nNA\n")
    result = json.loads(run("compare", "found.csv", "truth.csv", "--json").stdout)
    assert result["matches"] == [
        {"a": "0", "b": "cat", "of_a": 1.0, "of_b": 1.0},
        {"a": "1", "b": "dog", "of_a": pytest.approx(2 / 3), "of_b": 1.0},
    ]
    assert [entry["name"] for entry in result["measures"]] == [
        "adjusted_rand_score",
        "clustering_error",
        "normalized_mutual_info_score",
    ]


def test_measures_by_short_names_and_hyphens(run, pair):
    asked = ("ce", "RNIA", "e4sc-score", "clustering_error")
    options = [part for name in asked for part in ("--measure", name)]
    found = scores(run("compare", "a.subscape", "b.true", "--json", *options))
    assert list(found) == ["clustering_error", "rnia", "e4sc_score"]


def test_all_measures_of_a_pair_that_all_can_score(run):
    Path("a.csv").write_text("0\n0\n1\n1\n")
    Path("b.csv").write_text("0\n0\n1\n0\n")
    result = run("compare", "a.csv", "b.csv", "--measure", "all", "--json")
    assert set(scores(result)) == set(MEASURES)
    assert json.loads(result.stdout)["left_out"] == {}
    assert scores(result)["label_vi"]["high"] is None


def test_all_says_which_cannot_and_why(run, pair):
    save("c.subscape", SubspaceClustering.from_clusters([(range(5), [0]), (range(3), [0])], (8, 3)))
    result = run("compare", "c.subscape", "b.true", "--measure", "all")
    assert result.exit_code == 0
    (shared, crowded) = [
        line for line in result.stdout.splitlines() if line.startswith("Left out: ")
    ]
    assert "rand_distance" in shared and "share cells" in shared
    assert "adjusted_rand_score" in crowded and "3 rows in more than one cluster" in crowded
    refusals = json.loads(
        run("compare", "c.subscape", "b.true", "--measure", "all", "--json").stdout
    )
    listed = {name for line in (shared, crowded) for name in refusals["left_out"] if name in line}
    assert listed == set(refusals["left_out"])


def test_rows_only(run, pair):
    found = scores(run("compare", "a.subscape", "b.true", "--rows-only", "--json"))
    # Rows {0,1,2,3}, {4,5} against {0,1}, {4,5,6}, {3}: union 4 + 3 rows, matched 2 + 2.
    assert found["clustering_error"]["value"] == pytest.approx(3 / 7)


def test_rows_of_different_tables(run, refused, pair):
    """Only the rows are compared: how many features there are, and what they are, is no matter."""
    rows = [f"r{i}" for i in range(8)]
    clusters = [([0, 1], [0, 3]), ([4, 5, 6], [4]), ([3], [1])]
    wide = SubspaceClustering.from_clusters(clusters, shape=(8, 5), row_names=rows)
    save("wide.subscape", wide)
    assert "5" in refused("compare", "a.subscape", "wide.subscape")
    result = run("compare", "a.subscape", "wide.subscape", "--rows-only", "--json")
    assert result.exit_code == 0, result.output
    assert scores(result)["clustering_error"]["value"] == pytest.approx(3 / 7)
    text = run("compare", "a.subscape", "wide.subscape", "--rows-only").stdout
    assert "8 rows x 3 features" in text and "8 rows x 5 features" in text
    # Rows are still found by name, other names of features are no matter, and b.true learns from
    # the others how many rows there are.
    other = wide.restrict(rows=[7, 6, 5, 4, 3, 2, 1, 0]).with_names(feature_names="stuvw")
    save("other.subscape", other)
    save("named.subscape", wide.with_names(feature_names="abcde"))
    for b in ("other.subscape", "wide.subscape", "b.true"):
        found = scores(run("compare", "named.subscape", b, "--rows-only", "--json"))
        assert found["clustering_error"]["value"] == pytest.approx(0)
    Path("seven.csv").write_text("0\n" * 7)
    assert "about 7 rows, not 8" in refused("compare", "a.subscape", "seven.csv", "--rows-only")


def test_features_of_different_tables(run, refused, pair):
    clusters = [([0, 9], [0, 1]), ([4], [2]), ([7], [0])]
    save("long.subscape", SubspaceClustering.from_clusters(clusters, shape=(12, 3)))
    assert "12" in refused("compare", "a.subscape", "long.subscape")
    found = scores(run("compare", "a.subscape", "long.subscape", "--columns-only", "--json"))
    assert found["clustering_error"]["value"] == pytest.approx(1 / 4)


def test_columns_only(run, pair):
    found = scores(run("compare", "a.subscape", "b.true", "--columns-only", "--json"))
    # Features {0,1}, {2} against {0,1}, {2}, {0}: one cell more, covered twice.
    assert found["clustering_error"]["value"] == pytest.approx(1 / 4)


def test_p_value(run):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 10)
    np.save("a.npy", labels)
    np.save("b.npy", np.where(rng.random(30) < 0.2, rng.integers(0, 3, 30), labels))
    np.save("c.npy", rng.permutation(labels))
    options = ("--p-value", "--samples", 99, "--seed", 3, "--measure", "ce", "--json")
    near = scores(run("compare", "a.npy", "b.npy", *options))["clustering_error"]
    far = scores(run("compare", "a.npy", "c.npy", *options))["clustering_error"]
    assert near["p_value"] == 0.01
    assert far["p_value"] > 0.05
    known = p_value("clustering_error", labels, np.load("c.npy"), n_samples=99, random_state=3)
    assert far["p_value"] == known.value
    assert far["p_standard_error"] == known.standard_error
    shown = run("compare", "a.npy", "b.npy", *options[:-1]).stdout
    assert "p-value" in shown


def test_what_chance_shuffles(run, pair):
    # Shuffled rows change nothing here: both clusters have all of them.
    save("f.subscape", SubspaceClustering.from_clusters([(range(8), [0, 1])], (8, 4)))
    options = ("--p-value", "--samples", 199, "--json", "--measure", "ce")
    by_rows = scores(run("compare", "f.subscape", "f.subscape", *options))
    by_features = scores(
        run("compare", "f.subscape", "f.subscape", "--null", "subspaces", *options)
    )
    columns = scores(run("compare", "f.subscape", "f.subscape", "--columns-only", *options))
    assert by_rows["clustering_error"]["p_value"] == 1
    # One of the six pairs of features is the right one.
    assert by_features["clustering_error"]["p_value"] == pytest.approx(1 / 6, abs=0.1)
    assert columns["clustering_error"]["p_value"] == pytest.approx(1 / 6, abs=0.1)


def test_one_of_several_clusterings_in_a_file(run, refused):
    Path("runs.csv").write_text("row,one,two\n0,0,1\n1,0,1\n2,1,1\n3,1,0\n")
    assert scores(run("compare", "runs.csv#one", "runs.csv#2", "--measure", "ce", "--json"))[
        "clustering_error"
    ]["value"] == pytest.approx(0.25)
    assert "holds 2 clusterings (one, two); say which" in refused(
        "compare", "runs.csv", "runs.csv#one"
    )
    # Numbers count from 1: there is no clustering 0, and no third.
    for wrong in ("0", "3"):
        assert f"holds no clustering '{wrong}'; it has one, two" in refused(
            "compare", f"runs.csv#{wrong}", "runs.csv#one"
        )
    assert "holds no clustering 'six'; it has one, two" in refused(
        "compare", "runs.csv#six", "runs.csv#one"
    )


def test_labels_beside_subspaces_bring_a_hint(run, pair):
    Path("l.csv").write_text("0\n0\n0\n0\n1\n1\n-1\n-1\n")
    shown = run("compare", "a.subscape", "l.csv").stdout
    assert "B has all features in every cluster; --rows-only compares rows alone." in shown
    assert "--rows-only" not in run("compare", "a.subscape", "l.csv", "--rows-only").stdout


def test_mass_for_mixed_kinds(run, refused, pair):
    weights = [[0.5, 0.5, 0.0]]
    save("w.subscape", SubspaceClustering.from_labels([0] * 4 + [-1] * 4, weights=weights))
    assert "--mass unit" in refused("compare", "a.subscape", "w.subscape")
    found = scores(run("compare", "a.subscape", "w.subscape", "--mass", "unit", "--json"))
    assert found["clustering_error"]["value"] == pytest.approx(2 / 6)


def test_list_of_measures(run):
    result = run("compare", "--list")
    assert result.exit_code == 0
    for name in MEASURES:
        assert f"{name} " in result.stdout


def test_bad_input(refused, pair):
    Path("seven.csv").write_text("0\n" * 7)
    Path("noise.csv").write_text("-1\n" * 8)
    Path("cut.true").write_text("DIM=3;\n1 1 0 5 0 1\n")
    Path("cut.subscape").write_bytes(Path("a.subscape").read_bytes()[:200])
    for arguments, message in (
        (("a.subscape", "nope.csv"), "no such file: nope.csv"),
        (("a.subscape", "seven.csv"), "seven.csv is about 7 rows, a.subscape about 8"),
        (("a.subscape", "noise.csv"), "noise.csv holds no clusters: all 8 rows are noise"),
        (("a.subscape", "cut.true"), "cut.true, line 2: 5 rows announced, 2 there"),
        (("a.subscape", "cut.subscape"), "damaged or truncated"),
        (("a.subscape", "b.true", "--measure", "rnai"), "Did you mean 'rnia'?"),
        (("a.subscape", "b.true", "--measure", "rand", "--mass", "unit"), "knows no --mass"),
        (("a.subscape", "b.true", "--rows-only", "--columns-only"), "leave nothing"),
        (("a.subscape", "b.true", "--rows-only", "--null", "both"), "no subspaces for --null"),
        (("b.true", "b.true", "--shape", "4,3"), "b.true speaks of row 6"),
    ):
        assert message in refused("compare", *arguments), arguments


def test_bad_options(run, pair):
    result = run("compare", "a.subscape", "b.true", "--shape", "many")
    assert result.exit_code == 2
    assert "'many' is not rows,features, such as 1500,20" in result.stderr
