"""The commands as one piece: the same options by the same names, JSON from each, typos answered."""

from __future__ import annotations

import csv
import importlib
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from subscape.cli.main import COMMANDS
from subscape.exploration.study import load_study

#: Commands that read a table, and so say alike how.
READ_TABLES = ("explore", "fit", "choose", "validate", "alternatives", "consensus", "predict")
READING = (
    "--id", "--columns", "--delimiter", "--encoding", "--decimal", "--header", "--na",
    "--ragged", "--sheet", "--layer", "--use-rep", "--normalize", "--hvg", "--trusted",
)  # fmt: skip


def options_of(name):
    module, _, function = COMMANDS[name].place.partition(":")
    command = getattr(importlib.import_module(module), function)
    return {option for parameter in command.params for option in parameter.opts}


# These two print text for a shell and a pager, and nothing else.
@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"completion", "man"}))
def test_every_command_can_print_json(name):
    assert "--json" in options_of(name)


@pytest.mark.parametrize("name", READ_TABLES)
def test_tables_are_read_by_the_same_options_everywhere(name):
    assert set(READING) <= options_of(name)


@pytest.mark.parametrize("name", [n for n in READ_TABLES if n not in ("predict",)])
def test_columns_can_be_left_out_everywhere(name):
    assert "--label" in options_of(name)


@pytest.mark.parametrize("name", ["explore", "fit", "choose", "validate", "alternatives",
                                  "consensus"])  # fmt: skip
def test_a_number_of_clusters_has_one_name_everywhere(name):
    assert {"-k", "--clusters"} <= options_of(name)


def test_k_is_short_for_the_parameter(run, monkeypatch, folder):
    monkeypatch.chdir(folder)
    short = told(run("fit", "LAC", "people.csv", "-k", "3", "--json"))
    long = told(run("fit", "LAC", "people.csv", "-p", "n_clusters=3", "--json"))
    assert short["clusterings"] == long["clusterings"]
    assert short["clusterings"][0]["n_clusters"] == 3
    chosen = told(run("choose", "LAC", "people.csv", "-k", "2:3", "--samples", "2", "--json"))
    assert {row["n_clusters"] for row in chosen["settings"]} == {2, 3}
    twice = run("choose", "LAC", "people.csv", "-k", "2:3", "--grid", "n_clusters=2:3")
    assert twice.exit_code == 2 and "'n_clusters' is given twice" in twice.stderr
    none = run("fit", "HARP", "people.csv", "-k", "many")
    assert none.exit_code == 2 and "n_clusters" in none.stderr
    others = told(run("alternatives", "people.csv", "-k", "3", "--json"))["clusterings"]
    assert others[0]["n_clusters"] == 3


def test_the_folder_of_a_study_gives_its_views(run, monkeypatch, folder):
    monkeypatch.chdir(folder)
    study = load_study("study")
    told_of = told(run("compare", "study#view_1", "study/views/view_1.subscape", "--json"))
    assert {m["name"]: m["value"] for m in told_of["measures"]}["adjusted_rand_score"] == 1.0
    matrix = told(run("matrix", "study", "truth.csv", "--json"))
    assert len(matrix["names"]) == len(study.views) + 1
    Path("empty").mkdir()
    refused = run("compare", "empty", "truth.csv")
    assert refused.exit_code == 2
    assert "holds neither a study nor a result of ELKI" in refused.stderr


@pytest.mark.parametrize("sign", [":", "^", "\x01"])
def test_a_rare_delimiter_is_proposed_as_it_can_be_typed(run, sign):
    rows = "".join(sign.join((f"{i}.5", f"{i % 7}", f"{i % 5}")) + "\n" for i in range(30))
    Path("t.csv").write_text(sign.join("abc") + "\n" + rows)
    refused = run("explore", "t.csv", "--check")
    assert refused.exit_code == 2
    (option,) = re.findall(r"say (--delimiter '.*')", refused.stderr)
    checked = run("explore", "t.csv", "--check", *shlex.split(option))
    assert checked.exit_code == 0 and "3 columns" in checked.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("exlpore", "t.csv"), "No such command 'exlpore'. Did you mean 'explore'?"),
        (("COMPARE",), "Did you mean 'compare'?"),
        (("fit", "PROCLSU", "t.csv"), "Did you mean PROCLUS?"),
        (("fit", "PROCLUS", "t.csv", "-p", "n_cluster=3"), "Did you mean 'n_clusters'?"),
        (("fit", "PROCLUS", "t.csv", "-p", "k=3"), "Did you mean 'n_clusters'?"),
        (("fit", "PROCLUS", "t.csv", "-p", "outliers=far"), "Did you mean 'noise'?"),
        (("choose", "PROCLUS", "t.csv", "--grid", "k=2:4"), "Did you mean 'n_clusters'?"),
        (("choose", "PROCLUS", "t.csv", "--grid", "avgdims=2:4"), "Did you mean 'avg_dims'?"),
        (("compare", "t.csv#a", "t.csv#b", "--measure", "aro"), "Did you mean 'ari'?"),
    ],
)
def test_typos_are_answered_with_what_was_meant(run, arguments, said):
    Path("t.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(30)))
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_options_that_were_meant_are_listed(run):
    refused = run("explore", "t.csv", "--efort", "quick")
    assert refused.exit_code == 2
    # "(Possible options: --effort, …)" or "(Did you mean one of: '--effort', …?)", as click has it.
    listed = refused.stderr.partition("--efort")[2].partition(":")[2]
    assert re.match(r" '?--effort'?,", listed), refused.stderr


@pytest.fixture
def folder(explored, tmp_path, monkeypatch):
    """A copy of a study and its table."""
    shutil.copytree(explored[0], tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path / "w"


def told(result):
    """What a command printed, which must be JSON and nothing else."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_json_of_predict_figures_and_explore_check(folder, run, monkeypatch):
    monkeypatch.chdir(folder)
    study = load_study("study")
    rows = told(run("predict", "study", "people.csv", "--view", "1", "--json"))["rows"]
    assert [row["view_1"] - 1 for row in rows] == study.predict(folder / "people.csv").tolist()
    assert rows[0]["row"] == "p0"
    files = told(run("figures", "study", "--format", "svg", "-o", "pictures", "--json"))["written"]
    assert files and all(Path(file).is_file() for file in files)
    plan = told(run("explore", "people.csv", "--check", "--json"))
    assert plan["rows"] == 90 and plan["columns"][0]["role"] == "id"
    assert plan["plan"]["runs"] > 0 and not Path("people-study").exists()


def test_json_of_fit_alternatives_and_convert(folder, run, monkeypatch):
    monkeypatch.chdir(folder)
    fitted = told(
        run("fit", "PROCLUS", "people.csv", "-p", "n_clusters=2", "-o", "f.subscape", "--json")
    )
    (one,) = fitted["clusterings"]
    assert one["n_rows"] == 90 and one["n_clusters"] == len(one["clusters"]) == len(one["words"])
    assert sum(c["rows"] for c in one["clusters"]) + one["n_noise"] == 90
    assert fitted["written"] == ["f.subscape"] and Path("f.subscape").exists()
    others = told(run("alternatives", "people.csv", "-n", "2", "-o", "a.csv", "--json"))
    assert len(others["clusterings"]) == 2 and 0 <= others["clusterings"][0]["dissimilarity"] <= 1
    converted = told(run("convert", "f.subscape", "f.csv", "--lossy", "--json"))
    assert converted["written"] == ["f.csv"]
    names = [entry["name"] for entry in told(run("fit", "--list", "--json"))]
    assert "PROCLUS" in names and "NrKMeans" in names


def test_a_study_as_json_and_anew(folder, run, monkeypatch):
    monkeypatch.chdir(folder)
    refused = run("explore", "people.csv", "-o", "study", "--effort", "quick")
    assert refused.exit_code == 2 and "holds a study already" in refused.stderr
    Path("study", "mine.txt").write_text("keep")
    strange = run("explore", "people.csv", "-o", "study", "--force")
    assert strange.exit_code == 2 and "holds more than a study (mine.txt)" in strange.stderr
    assert Path("study", "study.json").exists()
    Path("study", "mine.txt").unlink()
    said = told(
        run(
            "explore",
            "people.csv",
            "-o",
            "study",
            "--effort",
            "quick",
            "--jobs",
            "1",
            "--force",
            "--json",
            "--label",
            "f3",
        )
    )
    study = load_study("study")
    assert said["verdict"] == study.verdict
    assert [v["n_clusters"] for v in said["views"]] == [v.n_clusters for v in study.views]
    assert said["views"][0]["clusters"][0]["cluster"] == 1
    assert "f3" not in study.feature_names and Path(said["page"]).is_file()
    both = run("explore", "people.csv", "-o", "study", "--force", "--resume")
    assert both.exit_code == 2 and "give one of them" in both.stderr


def test_clusters_get_names_that_stay(folder, run, monkeypatch):
    monkeypatch.chdir(folder)
    before = load_study("study")
    result = run("rename", "study", "1.1=young & rich", "1.2==SUM(A1)")
    assert result.exit_code == 0, result.output
    study = load_study("study")
    assert study[1].names == ("young & rich", "=SUM(A1)")
    assert study[1].descriptions[0].startswith("cluster 1 (young & rich): ")
    with open("study/labels.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    # What a spreadsheet would take for a formula is made harmless.
    harmless = {0: "young & rich", 1: "'=SUM(A1)"}
    assert [row["view_1_name"] for row in rows] == [harmless[k] for k in study[1].labels]
    page = Path("study/report.html").read_text("utf-8")
    assert "young &amp; rich" in page
    assert study.to_records()[0]["name"] == "young & rich"
    listed = told(run("rename", "study", "1.1=", "1.2=", "--json"))["names"]
    assert listed == []
    again = load_study("study")
    assert again[1].descriptions == before[1].descriptions and again[1].names == ()
    assert "view_1_name" not in Path("study/labels.csv").read_text()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["1.9=a"], "there is no 9"),
        (["9.1=a"], "there is no view 9"),
        (["1=a"], "is not VIEW.CLUSTER=NAME"),
        (["1.1=a", "1.2=a"], "two clusters of view 1 would be called 'a'"),
        (["1.1=a", "1.1=b"], "named twice"),
    ],
)
def test_names_that_cannot_be(folder, run, monkeypatch, names, said):
    monkeypatch.chdir(folder)
    before = Path("study/study.json").read_bytes()
    result = run("rename", "study", *names)
    assert result.exit_code == 2 and said in result.stderr
    assert Path("study/study.json").read_bytes() == before


def test_the_demo_ends_with_a_command_that_runs_as_printed(run, monkeypatch):
    from subscape.cli import demo

    small = demo.planted_table(0)
    few = np.arange(80)
    truth = {name: labels[few] for name, labels in small[1].items()}
    monkeypatch.setattr(demo, "planted_table", lambda seed: (small[0].take(few), truth))
    result = run("demo", "--jobs", "1")
    assert result.exit_code == 0, result.output
    command = result.stdout.splitlines()[-1].strip()
    *program, name, file = command.split()
    assert name == "explore" and Path(file).is_file()
    assert shutil.which(program[0]) or Path(program[0]).is_file()
    checked = run("explore", file, "--check")
    assert checked.exit_code == 0 and "planned" in checked.stdout


def test_a_program_that_is_not_on_the_path_is_called_by_its_place(tmp_path, monkeypatch):
    from subscape.cli.demo import this_command

    program = tmp_path / "venv" / "bin" / "subscape"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "")
    assert this_command() == "venv/bin/subscape"
    monkeypatch.setenv("PATH", str(program.parent))
    assert this_command() == "subscape"
