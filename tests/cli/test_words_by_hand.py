"""What the commands say, of studies and reports made by hand."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from subscape import SubspaceClustering, Table
from subscape.cli import explore as command
from subscape.cli import finder_inputs, output, validate
from subscape.cli.explore import (
    LISTED,
    LiveLine,
    clear_study,
    expected_seconds,
    in_words,
    listed,
    reading,
    rough_seconds,
    round_time,
    study_json,
    tell,
    transposed,
)
from subscape.cli.output import Heartbeat, columns, facts_of, number, short, write_records
from subscape.testing.studies import empty_study, planted_study


@pytest.fixture(scope="module")
def study():
    return planted_study(200, n_clusters=(3, 2))


# -- the answer -----------------------------------------------------------------------------------


def test_the_answer_in_words(study, capsys):
    tell(study)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == study.verdict
    first = lines.index("View 1: p < 0.001, stability 0.94, found by NrKMeans, LAC, KMeans")
    assert lines[first - 1] == ""
    told = [line.strip().removesuffix(" (not claimed)") for line in lines[first + 1 : first + 4]]
    assert told == list(study[1].descriptions)
    second = lines.index("View 2: p < 0.001, stability 0.89, found by NrKMeans, MineClus")
    assert second == first + 5 and len(lines) == second + 3


def test_clusters_that_are_not_claimed_are_marked(study, capsys):
    view = SimpleNamespace(
        descriptions=tuple(f"cluster {k}" for k in range(1, 11)), labels=np.array([0, -1, -1]),
        claimed_clusters=[True, False] * 5, number=1, finders=("A",), n_clusters=10,
    )  # fmt: skip
    command._say_clusters(view, is_claimed=True)
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["  cluster 1", "  cluster 2 (not claimed)", "  cluster 3"]
    assert "  cluster 9" not in said and "  cluster 8 (not claimed)" in said
    assert any("2" in line and "more" in line for line in said[8:])
    assert said[-1] == "  in none of them: 2 rows"
    command._say_clusters(view, is_claimed=False)
    assert not any("not claimed" in line for line in capsys.readouterr().out.splitlines())


def test_how_sure_a_view_is(study):
    view = study[1]
    assert command._trust(study, view) == "p < 0.001, stability 0.94, "
    doubtful = replace(view, p_value=0.31)
    assert command._trust(study, doubtful) == ("p = 0.31 (no better than chance), stability 0.94, ")
    level = replace(view, p_value=study.LEVEL)
    assert "no better" not in command._trust(study, level)
    assert command._trust(study, replace(view, p_value=math.nan)) == ""


def test_one_doubtful_view_is_shown_all_the_same(capsys):
    plain = planted_study(120, n_clusters=(2, 2))
    views = tuple(replace(view, p_value=0.4) for view in plain.views)
    tell(replace(plain, views=views))
    said = capsys.readouterr().out
    assert "View 1: p = 0.4 (no better than chance)" in said and "View 2" not in said
    assert "not claimed)" not in said.replace("no better", "")
    tell(empty_study())
    assert capsys.readouterr().out.startswith("No grouping better than chance")


def test_what_is_known_is_compared(capsys):
    plain = planted_study(120, n_clusters=(2, 2))
    known = (
        {"name": "class", "views": [{"ari": 0.25}, {"ari": 0.5}]},
        {"name": "batch", "views": [{"ari": 0.125}, {"ari": -0.5}]},
    )
    tell(replace(plain, truth=known))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "", "class: most like view 2 (adjusted Rand 0.50)",
        "batch: most like view 1 (adjusted Rand 0.12)",
    ]  # fmt: skip
    tell(replace(empty_study(), truth=({"name": "class", "views": []},)))
    assert "class" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "a"), (4, "a, b, c, d"), (5, "a, b, c, d and 1 more"), (6, "a, b, c, d and 2 more")],
)
def test_finders_are_listed(number, said):
    assert listed("abcdef"[:number]) == said


def test_the_answer_for_machines(study):
    told = study_json(study)
    json.dumps(told)
    assert (told["verdict"], told["rows"], told["features"]) == (study.verdict, 200, 7)
    assert told["asked"] is None and told["near_misses"] == 0 and told["null_tables"] == 40
    assert told["notes"] == ["numeric columns are standardised"] and told["truth"] == []
    assert [view["view"] for view in told["views"]] == [1, 2]
    for view, own in zip(told["views"], study.views, strict=True):
        assert (view["n_clusters"], view["p_value"], view["stability"]) == (
            own.n_clusters, own.p_value, own.stability,
        )  # fmt: skip
        assert view["is_better_than_chance"] is True and view["n_outside"] == 0
        assert view["finders"] == list(own.finders) and view["p_value_interval"] is None
        assert len(view["clusters"]) == own.n_clusters
        assert all(not key.startswith("view") for record in view["clusters"] for key in record)
        assert sum(record["rows"] for record in view["clusters"]) == 200
    untidy = study_json(planted_study(200, n_clusters=(2, 2), untidy=True))["views"][1]
    assert untidy["is_better_than_chance"] is False and untidy["n_outside"] > 0


# -- folders --------------------------------------------------------------------------------------


def test_a_study_is_taken_out_of_its_folder(tmp_path):
    def filled(*names):
        for name in names:
            path = tmp_path / name
            if "." in name or name == "labels":
                path.write_text("x")
            else:
                path.mkdir()
                (path / "inner").write_text("x")

    def there():
        return sorted(path.name for path in tmp_path.iterdir())

    filled("notes.txt")
    clear_study(tmp_path)  # no study: nothing is touched
    assert there() == ["notes.txt"]
    filled("study.json", "views")
    with pytest.raises(FileExistsError, match=r"holds more than a study \(notes\.txt\)"):
        clear_study(tmp_path)
    assert there() == ["notes.txt", "study.json", "views"]
    (tmp_path / "notes.txt").unlink()
    filled("plan.json", "runs", "columns.csv", "labels.csv", ".hidden.x")
    (tmp_path / "report.html").symlink_to(tmp_path / "columns.csv")
    clear_study(tmp_path)
    assert there() == [".hidden.x", "columns.csv"]


# -- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "round_", "words"),
    [
        (1, "10 s", "5 s to 1 min"), (14, "10 s", "5 s to 1 min"), (16, "20 s", "10 s to 1 min"),
        (89, "90 s", "45 s to 3 min"), (90, "2 min", "1 to 3 min"),
        (5399, "90 min", "45 to 180 min"), (5400, "2 h", "1 to 3 h"),
        (36_000, "10 h", "5 to 20 h"),
    ],
)  # fmt: skip
def test_spans_of_time_are_rough(seconds, round_, words):
    assert (round_time(seconds), in_words(seconds)) == (round_, words)


def test_guesses_grow_with_the_table():
    base = rough_seconds(40, 30, 1000, 10)
    assert base == pytest.approx((40 * 0.0006 + 30 * 0.0004) * 1000**0.65 * 10**0.4)
    assert rough_seconds(80, 60, 1000, 10) == pytest.approx(2 * base)
    assert rough_seconds(40, 30, 1000, 320) == pytest.approx(base * 32**0.4)
    # Null tables have 2,000 rows at most.
    runs = [rough_seconds(40, 0, n, 10) for n in (2000, 4000)]
    nulls = [rough_seconds(0, 30, n, 10) for n in (1000, 2000, 4000)]
    assert runs[1] == pytest.approx(runs[0] * 2**0.65)
    assert nulls[1] == pytest.approx(nulls[0] * 2**0.65) and nulls[2] == nulls[1]


def test_more_jobs_and_a_limit_shorten_a_guess(monkeypatch):
    monkeypatch.setattr(command, "busy", lambda: 1.5)
    job = SimpleNamespace(
        plan=SimpleNamespace(n_runs=4000, n_null=3000), time=None, rows=np.arange(1000),
        ready=SimpleNamespace(X=np.zeros((1000, 10))),
    )  # fmt: skip
    alone = 1.5 * rough_seconds(4000, 3000, 1000, 10)
    assert expected_seconds(job, 1) == pytest.approx(alone)
    assert expected_seconds(job, 2) == pytest.approx(alone / 2)
    assert expected_seconds(job, 8) == expected_seconds(job, 9) == pytest.approx(alone / 8)
    cores = min(os.cpu_count() or 1, 8)
    assert expected_seconds(job, -1) == pytest.approx(alone / cores)
    job.time = 3
    assert expected_seconds(job, 1) == 3.0
    job.time = 1e9
    assert expected_seconds(job, 1) == pytest.approx(alone)


@pytest.mark.parametrize(
    ("asked", "cores", "jobs"), [(3, 2, 3), (1, 2, 1), (-1, 6, 6), (0, 6, 6), (-1, None, 1)]
)
def test_jobs_that_are_not_said_are_all_cores(monkeypatch, asked, cores, jobs):
    monkeypatch.setattr(command, "os", SimpleNamespace(cpu_count=lambda: cores))
    assert command._parallel_jobs(asked) == jobs


@pytest.mark.parametrize(
    ("load", "cores", "factor"), [(0.5, 2, 1), (2, 2, 1), (6, 2, 3), (3, 0, 3)]
)
def test_a_busy_machine(monkeypatch, load, cores, factor):
    system = SimpleNamespace(getloadavg=lambda: (load, 9, 9), cpu_count=lambda: cores)
    monkeypatch.setattr(command, "os", system)
    assert command.busy() == factor

    def unknown():
        raise OSError

    monkeypatch.setattr(command, "os", SimpleNamespace(getloadavg=unknown))
    assert command.busy() == 1


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=50.0)
    monkeypatch.setattr(command, "time", SimpleNamespace(perf_counter=lambda: now.time))
    return now


def step(message, done=1, total=None, seconds=0.0, algorithm="A"):
    return SimpleNamespace(
        message=message, done=done, total=total, seconds=seconds, algorithm=algorithm
    )


def test_a_line_per_phase_where_nobody_looks(clock, capsys):
    line = LiveLine(heartbeat=1e6, began=40.0)
    line(step("search: LAC", 1, 7))
    clock.time = 51.0
    line(step("search: KFlats", 2, 7))
    line.expect(30)
    clock.time = 53.0
    line(step("null tables"))
    clock.time = 90.0
    line(step("page"))
    line.clear()
    assert capsys.readouterr().err.splitlines() == [
        "   10 s  search: LAC (1/7)",
        "   13 s  null tables (1), about 30 s left",
        "   50 s  page (1), longer than guessed",
    ]


def test_one_line_that_moves_on_a_terminal(clock, capsys, monkeypatch):
    monkeypatch.setattr(command.sys, "stderr", SimpleNamespace(isatty=lambda: True))
    line = LiveLine()
    monkeypatch.undo()
    monkeypatch.setattr(command, "time", SimpleNamespace(perf_counter=lambda: 57.0))
    line(step("x" * 200, 1, 7))
    line.clear()
    said = capsys.readouterr().err
    # What clears the line is left out where this is no terminal.
    assert said.replace("\033[K", "") == f"\r{('    7 s  ' + 'x' * 200)[:110]}\r"


def test_a_heartbeat_is_rare(capsys):
    beat = Heartbeat(every=20.0)
    beat(step("", 0, 10, 1.0))
    beat(step("", 2, 10, 20.9))
    beat(step("", 4, 10, 21.0))
    beat(step("", 5, None, 30.0, "B"))
    beat(step("", 0, 10, 55.0, "B"))
    beat(step("", 1, 100, 75.0, "B"))
    assert capsys.readouterr().err.splitlines() == [
        "    1 s  A: 0 of 10",
        "   21 s  A: 4 of 10, about 32 s left",
        "   30 s  B: 5",
        "   55 s  B: 0 of 10",
        "   75 s  B: 1 of 100, about 124 min left",
    ]
    assert (output._span(89.4), output._span(90), output._span(149)) == ("89 s", "2 min", "2 min")


# -- tables ---------------------------------------------------------------------------------------


def test_what_was_read():
    table = Table.from_array(np.zeros((3, 2)))
    source = {"path": "a.csv", "format": "delimited", "delimiter": ";", "decimal": ",",
              "encoding": "utf-8"}  # fmt: skip
    assert reading(replace(table, source=source)) == (
        "a.csv: 3 rows, 2 columns, semicolon-delimited, decimal comma, utf-8"
    )
    assert reading(replace(table, source=source | {"delimiter": "~", "decimal": "."})) == (
        "a.csv: 3 rows, 2 columns, '~'-delimited, utf-8"
    )
    assert reading(replace(table, source={"format": "workbook", "sheet": "s"})) == (
        "table: 3 rows, 2 columns, sheet 's' of a workbook"
    )
    assert reading(replace(table, source={"format": "npy"})).endswith("2 columns, npy")
    assert reading(replace(table, source={})) == "table: 3 rows, 2 columns"
    one = replace(Table.from_array(np.zeros((1, 1))), source=source)
    assert reading(one).startswith("a.csv: 1 row, 1 column, ")
    assert reading(one).endswith("; if there are more columns than one, say --delimiter")


def test_a_table_turned_around():
    X = np.arange(6.0).reshape(2, 3)
    turned = transposed(replace(Table.from_array(X, feature_names="abc"), source={"path": "p"}))
    assert turned.feature_names == ("row 0", "row 1") and turned.row_names == ("a", "b", "c")
    np.testing.assert_array_equal(turned.to_numpy(), X.T)
    assert turned.source == {"path": "p"}
    assert LISTED == 40


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (math.nan, ""), (3.0, "3"), (0.123456, "0.1235"), (9999.5, "1e+04"),
     (10_000.4, "10000"), (-10_000.4, "-10000"), (12.3456, "12.35")],
)  # fmt: skip
def test_numbers_in_tables(value, text):
    assert number(value) == text
    assert number(0.123456, 2) == "0.12"


def test_cells_under_each_other():
    assert columns([("a", "bb", "c"), ("aaa", "b", "")], right="lr") == ["a    bb  c", "aaa   b"]
    assert columns([("a", "b")], gap="|") == ["a|b"]


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [("abcdefgh", 8, "abcdefgh"), ("abcdefghi", 8, "abcd…ghi"), ("abcdefghi", 7, "abc…ghi")],
)
def test_long_texts_are_cut_in_the_middle(text, most, cut):
    assert short(text, most) == cut and len(short("x" * 99)) == 40


def test_facts_count_clusters_from_one():
    given = SubspaceClustering.from_labels([0, 0, -1, 1], masks=[[1, 1, 0], [0, 0, 1]])
    assert facts_of(given) == {
        "kind": "axis", "n_rows": 4, "n_features": 3, "n_clusters": 2, "n_noise": 1,
        "clusters": [{"cluster": 1, "rows": 2.0, "dims": 2.0},
                     {"cluster": 2, "rows": 1.0, "dims": 1.0}],
    }  # fmt: skip
    assert facts_of(SubspaceClustering.from_labels([-1, -1]))["n_noise"] is None


def test_records_as_csv(tmp_path):
    records = [{"=name": "=1+1", "value": math.nan}, {"=name": "b", "value": 0.5}]
    write_records(str(tmp_path / "r.csv"), records)
    head, first, second = (tmp_path / "r.csv").read_text().splitlines()
    assert not head.startswith("=") and head.endswith("=name,value")
    assert not first.startswith("=") and first.endswith("=1+1,") and second == "b,0.5"
    with pytest.raises(FileExistsError):
        write_records(str(tmp_path / "r.csv"), [])
    write_records(str(tmp_path / "r.csv"), [], force=True)
    assert (tmp_path / "r.csv").read_text() == ""
    assert [output._blank(value) for value in (None, math.nan, 0, 0.5)] == ["", "", 0, 0.5]


# -- validate -------------------------------------------------------------------------------------


def report(**changes):
    clusters = [
        {"cluster": 0, "rows": 60.0, "dims": 2.0, "stability": 0.912, "recovered": 0.95,
         "p_value": 0.001},
        {"cluster": 1, "rows": 40.0, "dims": 2.5, "stability": math.nan, "recovered": math.nan,
         "p_value": math.nan},
    ]  # fmt: skip
    return {
        "result": "a result", "saved": 0.125, "whole_stability": 0.9876, "failed": 0,
        "samples": 20, "between_samples": 0.25, "by_rows": False, "p_value": 0.0123, "nulls": 99,
        "clusters": clusters, "stability": None,
    } | changes  # fmt: skip


def test_a_report_in_words():
    lines = validate._as_text(report())
    assert lines[:5] == [
        "a result", "description length: saves 12.5% of the bits",
        "stability: 0.988 (1 is perfect) over 20 samples; between samples 0.75",
        "significance: p = 0.0123 against 99 tables without clusters", "",
    ]  # fmt: skip
    assert lines[5].split() == ["cluster", "rows", "dims", "stability", "comes", "back", "in", "p"]
    assert lines[6].split() == ["1", "60", "2", "0.912", "95%", "0.001"]
    assert lines[7].split() == ["2", "40", "2.5"]
    lines = validate._as_text(report(failed=3, by_rows=True, p_value_of_all=0.5))
    assert lines[2].endswith("20 samples, 3 failed; between samples 0.75; by rows alone, for lack "
                             "of subspaces")  # fmt: skip
    assert lines[3].endswith("without clusters; of all clusterings together 0.5")
    lines = validate._as_text(report(whole_stability=None, p_value=None))
    assert lines[2] == "" and lines[3].startswith("cluster")


def test_several_reports_are_named(capsys):
    validate.tell([report(), report()], ["one", "two"], False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "one:" and lines[1] == "a result"
    second = lines.index("two:")
    assert lines[second - 1] == "" and lines[second + 1] == "a result"
    validate.tell([report()], ["one"], False)
    assert capsys.readouterr().out.startswith("a result")
    validate.tell([report()], ["one"], True)
    told = json.loads(capsys.readouterr().out)
    assert told["saved"] == 0.125 and "stability" not in told and "name" not in told
    assert told["clusters"][1]["p_value"] is None
    validate.tell([report(), report(saved=0.5)], ["one", "two"], True)
    told = json.loads(capsys.readouterr().out)["clusterings"]
    assert [(each["name"], each["saved"]) for each in told] == [("one", 0.125), ("two", 0.5)]


def test_records_of_several_say_of_which():
    assert validate.records([report()], ["one"]) == report()["clusters"]
    found = validate.records([report(), report()], ["one", "two"])
    assert [record["clustering"] for record in found] == ["one", "one", "two", "two"]
    assert [record["rows"] for record in found] == [60, 40, 60, 40]


def test_what_is_planned_for_machines(capsys, tmp_path, monkeypatch):
    guessed = []
    monkeypatch.setattr(command, "rough_seconds", lambda *given: guessed.append(given) or 7.0)
    path = tmp_path / "t.csv"
    cells = ["1.5", "2.5", "a", "b"] * 10
    lines = "".join(f"{i}.5,{cell},{i % 4}\n" for i, cell in enumerate(cells))
    path.write_text("x,half,k\n" + lines.replace("3.5,", ",", 1))
    table = Table.read(path)
    options = {"columns": None, "search_rows": 30, "effort": "quick", "seed": 0}
    command.say_plan_as_json(table, None, options)
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == 40 and told["written"] == []
    columns = {each["name"]: each for each in told["columns"]}
    assert list(columns) == ["x", "half", "k"]
    assert [each["missing"] for each in columns.values()] == [1, 0, 0]
    for column in table.schema:
        # Why it is not used as numbers, or else what is to be known of it.
        expected = column.unused or column.note
        assert columns[column.name]["note"] == command.as_options(expected)
        assert columns[column.name]["role"] == column.role
    assert columns["half"]["note"] != "" == columns["x"]["note"]
    plan = told["plan"]
    assert plan["effort"] == "quick" and plan["runs"] > 0 and plan["null_tables"] > 0
    assert plan["seconds_on_one_core"] == 7.0
    (given,) = guessed
    assert given[:3] == (plan["runs"], plan["null_tables"], 30) and given[3] >= 2
    written = tmp_path / "s"
    written.mkdir()
    command.say_plan_as_json(table, written, options)
    (path,) = json.loads(capsys.readouterr().out)["written"]
    assert path.endswith("columns.csv") and "half" in (written / "columns.csv").read_text("utf-8")


def test_names_of_finders_are_completed_whatever_their_case():
    assert finder_inputs.complete_finder(None, None, "pro") == ["PROCLUS"]
    assert finder_inputs.complete_finder(None, None, "PROC") == ["PROCLUS"]
    assert finder_inputs.complete_finder(None, None, "zzz") == []
    every = finder_inputs.complete_finder(None, None, "")
    assert {"LAC", "NrKMeans", "COALA"} <= set(every) and "ClusterBasedPCE" not in every
    assert finder_inputs.with_clusters_asked(("a=1",), 3) == ("a=1", "n_clusters=3")


class TestMatrix:
    """A table beside a clustering: columns and rows by name where both have names."""

    NAMES = ("r", "s", "t")

    def matrix(self, rows=NAMES, kept=(0, 1, 2)):
        kept = np.array(kept)
        X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])[kept]
        return finder_inputs.Matrix(X, ("a", "b"), rows, kept, 3, {})

    def clustering(self, rows=NAMES, columns=None, labels=(0, 1, 1)):
        n = len(labels) if rows is None else len(rows)
        return SubspaceClustering.from_labels(
            list(labels)[:n], masks=np.eye(2, 2 if columns is None else len(columns), dtype=bool),
            row_names=rows, feature_names=columns,
        )  # fmt: skip

    def test_the_same_names_stay_as_they_are(self):
        matrix, given = self.matrix(), self.clustering()
        found, clusters = matrix.like(given, "t.csv")
        assert found.X is matrix.X and clusters is given
        with pytest.raises(ValueError, match=r"t\.csv has rows of the same name"):
            self.matrix(("r", "r", "t")).like(given, "t.csv")

    def test_rows_and_columns_in_another_order(self):
        given = self.clustering(("t", "r", "s"), ("b", "a"))
        found, clusters = self.matrix().like(given, "t.csv")
        assert found.X.tolist() == [[6.0, 5.0], [2.0, 1.0], [4.0, 3.0]] and clusters is given
        assert found.feature_names == ("b", "a") and found.kept.tolist() == [2, 0, 1]
        one = SubspaceClustering.from_labels([0, 1, 1], masks=np.ones((2, 1)), feature_names=["b"])
        assert self.matrix().like(one, "t.csv")[0].X.tolist() == [[2.0], [4.0], [6.0]]

    def test_rows_that_were_left_out_are_left_out_of_the_clustering(self):
        found, clusters = self.matrix(kept=(0, 2)).like(self.clustering(("t", "s", "r")), "t.csv")
        assert found.X.tolist() == [[5.0, 6.0], [1.0, 2.0]] and clusters.row_names == ("t", "r")
        # Without names by their place.
        found, clusters = self.matrix(None, (0, 2)).like(self.clustering(None), "t.csv")
        assert found.X.tolist() == [[1.0, 2.0], [5.0, 6.0]] and clusters.labels().tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("rows", "columns", "said"),
        [
            (("r", "s"), None, "has the row 't', which the clustering doesn't know"),
            (NAMES, ("a", "c"), "has no column 'c', which the clustering speaks of"),
            (None, None, "gives 3 rows x 2 features, the clustering speaks of 2 x 2"),
        ],
    )
    def test_what_does_not_fit(self, rows, columns, said):
        labels = (0, 1) if rows is None else (0, 1, 1)
        with pytest.raises(ValueError, match=rf"t\.csv {said}"):
            self.matrix().like(self.clustering(rows, columns, labels), "t.csv")
