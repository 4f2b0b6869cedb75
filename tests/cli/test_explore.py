"""``subscape explore`` and ``subscape predict``, from a file to a page."""

import csv
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from tests.exploration.conftest import small_job

from subscape.cli.explore import LiveLine, busy, round_time
from subscape.cli.main import cli
from subscape.exploration import load_study
from subscape.parallel.progress import Step
from subscape.tables import Table

from .conftest import write_table


def test_the_answer_stands_on_the_screen_and_on_the_page(explored):
    folder, output, _ = explored
    assert "One way to group the rows, into 2 clusters" in output
    assert "most like view 1 (adjusted Rand 1.00)" in output
    page = (folder / "study" / "report.html").read_text()
    assert "One way to group the rows" in page and "people.csv" in page
    for name in ("plan.json", "decisions.jsonl", "labels.csv", "clusters.csv", "study.json"):
        assert (folder / "study" / name).stat().st_size > 0
    assert list((folder / "study" / "runs").glob("*.subscape"))


def test_new_rows_are_put_into_the_clusters(explored, tmp_path):
    folder, _, truth = explored
    out = tmp_path / "labels.csv"
    result = CliRunner().invoke(
        cli, ["predict", str(folder / "study"), str(folder / "people.csv"), "-o", str(out)]
    )
    assert result.exit_code == 0, result.output
    lines = list(csv.DictReader(out.read_text().splitlines()))
    assert [line["row"] for line in lines[:2]] == ["p0", "p1"]
    found = np.array([int(line["view_1"]) for line in lines])
    assert len(np.unique(found * 2 + truth)) == 2
    refused = CliRunner().invoke(cli, ["predict", str(folder / "study"), str(folder / "truth.csv")])
    assert refused.exit_code == 2 and "not in this one" in refused.output


def test_new_rows_get_the_names_of_their_clusters(explored, run, tmp_path):
    folder, _, _ = explored
    shutil.copytree(folder / "study", tmp_path / "named")
    assert run("rename", "named", "1.2=old").exit_code == 0
    told = run("predict", "named", str(folder / "people.csv"))
    assert told.stderr == ""
    lines = list(csv.DictReader(told.stdout.splitlines()))
    assert {(line["view_1"], line["view_1_name"]) for line in lines} == {("1", ""), ("2", "old")}


def test_new_rows_in_a_view_that_is_not_claimed(explored, run):
    folder, _, _ = explored
    study = load_study(folder / "study")
    replace(study, views=tuple(replace(view, p_value=0.31) for view in study.views)).save("chance")
    told = run("predict", "chance", str(folder / "people.csv"))
    assert told.stderr == "note: view 1 is not claimed: p = 0.31\n"
    assert told.exit_code == 0 and told.stdout.startswith("row,view_1,")


def test_check_says_roles_and_plan_and_writes_columns(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    table = write_table(tmp_path / "t.csv", X, names=["=a", "b", "c"])
    result = CliRunner().invoke(cli, ["explore", str(table), "--check", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "standardised" in result.output and "axis-aligned: " in result.output
    columns = tmp_path / "columns.csv"
    assert "'=a,numeric" in columns.read_text()
    columns.write_text(columns.read_text().replace("b,numeric", "b,ignore"))
    again = CliRunner().invoke(
        cli, ["explore", str(table), "--check", "-o", str(tmp_path), "--columns", str(columns)]
    )
    assert again.exit_code == 0, again.output
    assert "ignore" in again.output


def test_check_alone_writes_nothing_and_says_how_long_it_takes(run, tmp_path):
    write_table(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(40, 3)))
    result = run("explore", "t.csv", "--check")
    assert result.exit_code == 0, result.output
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    assert "takes about " in result.output and "--check -o FOLDER" in result.output


def test_check_says_which_finders_a_table_does_not_suit(run, tmp_path):
    write_table(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(40, 101)))
    result = run("explore", "t.csv", "--check", "--effort", "quick")
    said = "not run on this table: MineClus (for 2 to 100 columns); P3C (for 2 to 100 columns)"
    assert said in result.output
    as_json = json.loads(run("explore", "t.csv", "--check", "--json").stdout)
    assert as_json["plan"]["not_run"]["P3C"] == "for 2 to 100 columns"
    write_table(tmp_path / "u.csv", np.random.default_rng(0).normal(size=(40, 3)))
    assert "not run" not in run("explore", "u.csv", "--check").output


def test_groups_that_are_asked_for_and_levels(explored, tmp_path):
    folder, _, _ = explored
    shutil.copytree(folder / "study", tmp_path / "s")
    result = CliRunner().invoke(
        cli,
        ["explore", str(folder / "people.csv"), "-o", str(tmp_path / "s"), "--resume", "--jobs",
         "1", "--effort", "quick", "--truth", str(folder / "truth.csv"), "-k", "5", "--levels"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Asked for, not claimed: 5 groups" in result.output
    study = load_study(tmp_path / "s")
    assert study.asked.n_clusters == 5
    lines = list(csv.DictReader((tmp_path / "s" / "labels.csv").read_text().splitlines()))
    np.testing.assert_array_equal([int(line["asked_5"]) for line in lines], study.asked.labels + 1)
    np.testing.assert_array_equal([int(line["view_1"]) for line in lines], study[1].labels + 1)
    expected = {f"view_{v.number}_at_{k}" for v in study.views for k in v.levels[1:]}
    assert {name for name in lines[0] if "_at_" in name} == expected
    assert "asked for so many" in (tmp_path / "s" / "report.html").read_text()


def test_where_nobody_sees_a_line_move_there_is_a_heartbeat(capsys):
    live = LiveLine(heartbeat=0.04)
    live(Step("explore", "views: NrKMeans, 2 groupings so far", 3, 10, 1.0))
    time.sleep(0.3)
    live.clear()
    said = capsys.readouterr().err
    assert "still views: NrKMeans, 2 groupings so far (3/10)" in said
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_the_heart_goes_on_beating_after_the_first_look(run, tmp_path, monkeypatch):
    # The package has the command under the module's name.
    module = importlib.import_module("subscape.cli.explore")
    monkeypatch.setattr(module, "LiveLine", partial(LiveLine, heartbeat=0.02))
    X = np.random.default_rng(0).normal(size=(60, 3))
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c", comments="")
    told = run("explore", "t.csv", "--effort", "quick", "--jobs", "1", "-o", "s").stderr
    assert " s  still " in told[told.index("A first look") :]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n3,4\n", "at least 10"),
        ("name\n" + "\n".join(f"n{i}x" for i in range(30)) + "\n", "no numeric or nominal column"),
        ("a,b\n" + "1,2\n" * 30, "no column varies"),
        ("a,b\n" + "1,inf\n2,3\n" * 15, "infinite"),
    ],
)
def test_tables_that_cannot_be_explored(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_text(content)
    result = CliRunner().invoke(cli, ["explore", str(path), "-o", str(tmp_path / "s")])
    assert result.exit_code == 2
    assert words in result.output


def test_killed_at_any_moment_it_resumes_to_the_same_study(explored, tmp_path):
    folder, _, _ = explored
    command = [
        sys.executable, "-W", "error", "-m", "subscape", "explore", str(folder / "people.csv"),
        "-o", str(tmp_path / "s"), "--effort", "quick", "--jobs", "1",
        "--truth", str(folder / "truth.csv"),
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    for attempt in range(2):
        process = subprocess.Popen(
            command + (["--resume"] if attempt else []),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        runs = tmp_path / "s" / "runs"
        # Let it get somewhere, then kill it in the middle of whatever it does.
        wanted, deadline = int(rng.integers(3, 25)) * (attempt + 1), time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if runs.is_dir() and len(list(runs.iterdir())) >= wanted:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for name in ("study.json", "labels.csv", "clusters.csv", "decisions.jsonl", "plan.json"):
        assert (tmp_path / "s" / name).read_bytes() == (folder / "study" / name).read_bytes(), name


def test_new_rows_have_the_levels_of_the_study(tmp_path):
    """Rows whose levels look like numbers, in a file of their own, get the same clusters."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 120)
    levels = np.array(["01", "02", "A3"])[np.where(rng.random(120) < 0.05, (group + 1) % 3, group)]
    X = rng.normal(size=(120, 2)) + 3 * np.column_stack([group, -group])
    lines = [f"{a:.6g},{b:.6g},{level}" for (a, b), level in zip(X, levels, strict=True)]

    def write(name, chosen):
        (tmp_path / name).write_text("\n".join(["a,b,code", *chosen]) + "\n")
        return str(tmp_path / name)

    def call(*arguments):
        result = CliRunner().invoke(cli, list(arguments))
        assert result.exit_code == 0, result.output
        return result

    study = str(tmp_path / "study")
    whole = write("all.csv", lines)
    small_job(Table.read(whole), folder=study).run()
    before = call("predict", study, whole).stdout.splitlines()[1:]
    codes = np.flatnonzero(levels != "A3")
    result = call("predict", study, write("some.csv", [lines[i] for i in codes]))
    after = result.stdout.splitlines()[1:]
    assert [line.split(",")[1:] for line in after] == [before[i].split(",")[1:] for i in codes]
    assert result.stderr == ""
    again = load_study(study).predict(tmp_path / "some.csv")
    assert [str(label + 1) for label in again] == [line.split(",")[1] for line in after]
    strange = [lines[0].rpartition(",")[0] + ",77", *lines[1:10]]
    said = call("predict", study, write("new.csv", strange)).stderr
    assert said.startswith("note: column 'code': 1 of 10 values matches no level of the study")
    assert "'77'" in said and "'01', '02', 'A3'" in said


def test_the_time_that_is_left_is_what_was_expected_less_what_is_gone():
    live = LiveLine(heartbeat=60, began=time.perf_counter() - 200)
    assert live._left() == ""
    live.expect(1000.0)
    assert live.expected == pytest.approx(1200, abs=5)
    live._began -= 400
    assert live._left() == f", about {round_time(600)} left" != f", about {round_time(400)} left"
    live._began -= 601
    assert live._left() == ", longer than guessed"
    live.clear()


def test_all_lines_count_seconds_from_the_same_moment(capsys):
    live = LiveLine(heartbeat=0.02, began=time.perf_counter() - 70)
    time.sleep(0.1)
    live(Step("explore", "views: LAC, 0 groupings so far", 1, 10, 1.0))
    live.clear()
    lines = capsys.readouterr().err.splitlines()
    assert {line.split()[0] for line in lines} <= {"70", "71", "72"}
    assert "still reading the table" in lines[0] and "views: LAC" in lines[-1]


def test_a_busy_machine_takes_longer(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    for load, times in ((0.5, 1.0), (4.0, 1.0), (10.0, 2.5)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert busy() == times
    monkeypatch.delattr(os, "getloadavg")
    assert busy() == 1.0


def test_spans_of_time_are_rounded_to_what_a_guess_deserves():
    told = {1: "10 s", 14: "10 s", 16: "20 s", 89.9: "90 s", 90: "2 min", 5399: "90 min"}
    assert {seconds: round_time(seconds) for seconds in told} == told
    assert (round_time(5400), round_time(9001)) == ("2 h", "3 h")
