from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from subscape.cli.output import Heartbeat
from subscape.core import SubspaceClustering
from subscape.datasets import planted_axes, planted_views, structureless
from subscape.files import load, save
from subscape.finders import PROCLUS
from subscape.parallel.progress import Step

NAMES = [f"f{j}" for j in range(6)]


def write_table(path, X, names=NAMES):
    np.savetxt(path, X, delimiter=",", header=",".join(names), comments="")


@pytest.fixture
def data(run):
    """A table with three planted clusters and what PROCLUS finds in it."""
    X, _ = planted_axes(120, 6, n_clusters=3, dims=4, random_state=3)
    write_table("data.csv", X)
    made = run("fit", "PROCLUS", "data.csv", "-p", "n_clusters=3", "-p", "avg_dims=4", "-p",
               "n_init=2", "-o", "result.subscape")  # fmt: skip
    assert made.exit_code == 0, made.output
    return X


def test_planted_clusters_can_be_trusted(run, data):
    result = run(
        "validate", "result.subscape", "data.csv", "--samples", 4, "--nulls", 99, "--quiet",
        "-o", "clusters.csv", "--plot", "bars.png",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "All clusters can be trusted (stability of at least 0.75 and p" in result.output
    assert "p = 0.01 against 99 tables" in result.output
    with open("clusters.csv", newline="") as stream:
        records = list(csv.DictReader(stream))
    assert [record["cluster"] for record in records] == ["0", "1", "2"]
    assert all(float(record["stability"]) > 0.75 for record in records)
    assert all(float(record["p_value"]) == 0.01 for record in records)
    assert Path("bars.png").read_bytes()[:4] == b"\x89PNG"


def test_groups_that_one_column_shows_can_be_trusted(run):
    """As `explore` says of them."""
    X = np.random.default_rng(3).normal(size=(150, 4))
    X[:75, 0] += 6
    write_table("one.csv", X, NAMES[:4])
    assert run("fit", "LAC", "one.csv", "-p", "n_clusters=2", "-o", "two.subscape").exit_code == 0
    told = run("validate", "two.subscape", "one.csv", "--samples", 4, "--quiet")
    assert "p = 0.01 against 99 tables" in told.output
    assert "All clusters can be trusted (stability of at least 0.75" in told.output


def test_the_columns_may_be_in_another_order_among_others(run, data):
    order = [3, 0, 5, 1, 4, 2]
    wide = np.column_stack([data[:, order], np.arange(120) % 7])
    write_table("other.csv", wide, [*(NAMES[j] for j in order), "more"])
    options = ("--samples", 3, "--nulls", 0, "--json")
    first = run("validate", "result.subscape", "data.csv", *options)
    second = run("validate", "result.subscape", "other.csv", *options)
    assert json.loads(first.stdout) == json.loads(second.stdout)


def test_what_chance_gives_is_not_to_be_trusted(run):
    write_table("noise.csv", structureless("gaussian", 120, 6, random_state=4))
    run("fit", "PROCLUS", "noise.csv", "-p", "n_clusters=3", "-p", "n_init=2", "-o", "r.subscape")
    result = run(
        "validate", "r.subscape", "noise.csv", "--samples", 0, "--nulls", 19, "--quiet"
    )  # fmt: skip
    assert "no cluster should be trusted" in result.output
    assert "stability:" not in result.output


def test_too_few_tables_leave_it_open(run, data):
    few = run("validate", "result.subscape", "data.csv", "--samples", 0, "--nulls", 9, "--quiet")
    assert "p = 0.1 against 9 tables" in few.output
    assert "9 tables without clusters give no p below 0.1; --nulls 99 give 0.01" in few.output
    assert "should be trusted" not in few.output


def test_lines_instead_of_a_bar_where_nobody_watches(run, data):
    told = run("validate", "result.subscape", "data.csv", "--samples", 3, "--nulls", 9).stderr
    assert "runs: 1 of 3\n" in told and "significance: 1 of 10\n" in told
    assert "\r" not in told and "%|" not in told


def test_heartbeats_are_few_and_say_what_is_left(capsys):
    beat = Heartbeat(every=20)
    for done in range(1, 11):
        beat(Step("runs", "", done, 10, 9.0 * done))
    assert capsys.readouterr().err.splitlines() == [
        "    9 s  runs: 1 of 10",
        "   36 s  runs: 4 of 10, about 54 s left",
        "   63 s  runs: 7 of 10, about 27 s left",
        "   90 s  runs: 10 of 10, about 0 s left",
    ]


def test_clusters_that_are_not_the_finders_own(run, data):
    found = PROCLUS(3, avg_dims=4, n_init=2, random_state=0).fit(data).clustering_
    clusters = [(found.cluster(k).rows, found.cluster(k).features) for k in range(3)]
    random = (np.arange(0, 120, 4), [0, 1, 2])
    mixed = SubspaceClustering.from_clusters([*clusters, random], (120, 6))
    save("mixed.subscape", mixed)
    result = run(
        "validate", "mixed.subscape", "data.csv", "--finder", "PROCLUS", "-p", "n_clusters=3",
        "-p", "avg_dims=4", "-p", "n_init=2", "--samples", 4, "--nulls", 19, "--quiet", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert [record["p_value"] <= 0.05 for record in report["clusters"]] == [True] * 3 + [False]
    assert [record["stability"] > 0.75 for record in report["clusters"]] == [True] * 3 + [False]


def test_labels_without_a_finder_have_indices_only(run, data, refused):
    Path("labels.csv").write_text("label\n" + "\n".join(str(i % 3) for i in range(120)) + "\n")
    assert "--finder" in refused("validate", "labels.csv", "data.csv")
    result = run("validate", "labels.csv", "data.csv", "--samples", 0, "--nulls", 0)
    assert result.exit_code == 0, result.output
    assert "description length" in result.output


def test_bad_input(refused, data):
    write_table("short.csv", data[:50])
    assert "50 rows x 6 features, the clustering speaks of 120" in refused(
        "validate", "result.subscape", "short.csv"
    )
    assert "n_foo=3" in refused("validate", "result.subscape", "data.csv", "-p", "n_foo=3")
    assert "--force" in refused("validate", "result.subscape", "data.csv", "-o", "data.csv")
    nothing = SubspaceClustering.from_labels([-1] * 120, n_features=6)
    save("nothing.subscape", nothing)
    assert "holds no clusters" in refused("validate", "nothing.subscape", "data.csv")
    write_table("narrow.csv", data[:, :4], NAMES[:4])
    assert "no column 'f4'" in refused("validate", "result.subscape", "narrow.csv")


def test_the_table_is_read_as_for_the_result(run, data):
    run("fit", "PROCLUS", "data.csv", "-p", "n_clusters=3", "--scale", "none", "-o", "raw.subscape")
    options = ("--samples", 3, "--nulls", 0, "--quiet")
    command = ("validate", "raw.subscape", "data.csv", *options)
    assert run(*command).output == run(*command, "--scale", "none").output
    other = run(*command, "--scale", "minmax")
    assert "note: the result was made with --scale none" in other.output


def test_labels_are_held_against_a_finder_by_rows(run, data):
    run("convert", "result.subscape", "labels.csv", "--lossy")
    result = run(
        "validate", "labels.csv", "data.csv", "--finder", "LAC", "-p", "n_clusters=3",
        "--samples", 3, "--nulls", 0, "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "by rows alone" in result.output


def test_a_consensus_has_no_finder_to_repeat(run, refused, data):
    run("consensus", "result.subscape", "result.subscape", "-k", 3, "-o", "one.subscape")
    assert "--finder" in refused("validate", "one.subscape", "data.csv", "--quiet")
    alone = run("validate", "one.subscape", "data.csv", "--samples", 0, "--nulls", 0)
    assert alone.exit_code == 0, alone.output


def test_rows_are_found_by_name(run, data):
    names = [f"r{i}" for i in range(len(data))]
    order = np.random.default_rng(0).permutation(len(data))
    for path, rows in (("named.csv", range(len(data))), ("shuffled.csv", order)):
        lines = [f"{names[i]}," + ",".join(map(str, data[i])) for i in rows]
        header = ",".join(["id", *(f"f{j}" for j in range(data.shape[1]))])
        Path(path).write_text("\n".join([header, *lines]) + "\n")
    run("fit", "LAC", "named.csv", "-p", "n_clusters=3", "--id", "id",
        "-o", "named.subscape")  # fmt: skip
    command = ("validate", "named.subscape", "--id", "id", "--samples", 0, "--nulls", 0, "--json")
    plain, shuffled = (run(*command[:2], path, *command[2:]) for path in
                       ("named.csv", "shuffled.csv"))  # fmt: skip
    assert plain.exit_code == 0, plain.output
    assert json.loads(plain.stdout)["saved"] == pytest.approx(json.loads(shuffled.stdout)["saved"])


# -- results with several clusterings -------------------------------------------------------------


@pytest.fixture
def views(run):
    """A table with two views, the labels of the first, and what NrKMeans finds."""
    X, (known, _) = planted_views(150, 6, n_clusters=(3, 2), random_state=0)
    write_table("views.csv", X)
    Path("known.csv").write_text("label\n" + "\n".join(map(str, known.labels())) + "\n")
    made = run("fit", "NrKMeans", "views.csv", "-p", "n_clusters=(3, 2, 1)", "-p", "n_init=2",
               "-p", "n_escapes=0", "-o", "views.subscape")  # fmt: skip
    assert made.exit_code == 0, made.output


def test_each_view_is_tested(run, refused, views):
    options = ("--samples", 3, "--nulls", 9, "--quiet")
    told = run("validate", "views.subscape", "views.csv", *options, "-o", "clusters.csv")
    assert told.exit_code == 0, told.output
    assert [line for line in told.stdout.splitlines() if line.startswith("view_")] == [
        "view_1:", "view_2:"
    ]  # fmt: skip
    assert told.stdout.count("of all clusterings together 0.1") == 2
    with open("clusters.csv", newline="") as stream:
        records = list(csv.DictReader(stream))
    assert [record["clustering"] for record in records] == ["view_1"] * 3 + ["view_2"] * 2
    assert all(float(record["stability"]) > 0.9 for record in records)
    both = json.loads(run("validate", "views.subscape", "views.csv", *options, "--json").stdout)
    one = run("validate", "views.subscape#view_2", "views.csv", *options, "--json")
    assert both["clusterings"][1] == {"name": "view_2", **json.loads(one.stdout)}
    assert "say which, such as views.subscape#view_1" in refused(
        "validate", "views.subscape", "views.csv", "--plot", "bars.png"
    )


def test_an_alternative_is_repeated_beside_what_was_known(run, refused, views):
    made = run("fit", "MAXIMUS", "views.csv", "--given", "known.csv", "-p", "n_clusters=2",
               "-o", "other.subscape")  # fmt: skip
    assert made.exit_code == 0, made.output
    options = ("--samples", 3, "--nulls", 3, "--json")
    told = run("validate", "other.subscape", "views.csv", *options)
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["whole_stability"] > 0.9
    Path("known.csv").rename("moved.csv")
    assert "--given" in refused("validate", "other.subscape", "views.csv", "--quiet")
    again = run("validate", "other.subscape", "views.csv", *options, "--given", "moved.csv")
    assert json.loads(again.stdout) == json.loads(told.stdout)


def test_several_alternatives_of_their_own_command(run, views):
    run("alternatives", "views.csv", "--given", "known.csv", "-n", 2, "--method", "COALA",
        "-o", "two.subscape")  # fmt: skip
    told = run("validate", "two.subscape", "views.csv", "--samples", 2, "--nulls", 0, "--quiet")
    assert told.exit_code == 0, told.output
    assert "alternative_1:" in told.stdout and "alternative_2:" in told.stdout


def test_clusterings_of_different_finders_are_told_apart(run, refused, data):
    run("fit", "LAC", "data.csv", "-p", "n_clusters=3", "-o", "lac.subscape")
    save("both.subscape", [load("result.subscape")[0], load("lac.subscape")[0]])
    said = refused("validate", "both.subscape", "data.csv", "--quiet")
    assert "different ways (by LAC, PROCLUS)" in said and "both.subscape#" in said


def test_what_cannot_use_given_clusterings_says_so(refused, data):
    Path("known.csv").write_text("label\n" + "\n".join(str(i % 3) for i in range(120)) + "\n")
    said = refused("validate", "result.subscape", "data.csv", "--given", "known.csv", "--quiet")
    assert "PROCLUS can't make use of --given" in said
