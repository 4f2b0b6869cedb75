"""What ``subscape explore`` does before and after the search, with a search made up."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from subscape.cli import explore as command
from subscape.exploration import exploration, requested_groups
from subscape.report import page
from subscape.testing.studies import planted_study

STUDY = planted_study(60, n_clusters=(3, 2))


@pytest.fixture
def explored(run, tmp_path, monkeypatch):
    """Run the command on ``t.csv``; what the search and the page are given is kept."""
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i}.5,{i % 7}.25\n" for i in range(30)))
    kept = SimpleNamespace(given=None, pages=[], protected=False, looks=1, interrupted=False)
    kept.study, kept.calls = STUDY, []

    class Exploration:
        plan, time, rows = SimpleNamespace(n_runs=10, n_null=5), None, range(30)
        ready = SimpleNamespace(X=SimpleNamespace(shape=(30, 2)))

        def __init__(self, data, **options):
            kept.given = options | {"data": data}

        def complete(self):
            for _ in range(kept.looks):
                kept.given["on_update"](kept.study)
            if kept.interrupted:
                raise KeyboardInterrupt
            return kept.study

        def provisional(self):
            return replace(STUDY, is_provisional=True)

    def written(study, path, embed_ids):
        if kept.protected and path.name == "report.html":
            raise PermissionError(13, "no")
        kept.pages.append((study.is_provisional, path.name, embed_ids))
        return path

    class Copy:
        def __init__(self, *given):
            kept.calls.append(given)

        def write(self, study):
            kept.calls.append(study.is_provisional)
            return "out.h5ad"

    monkeypatch.setattr(exploration, "Exploration", Exploration)
    monkeypatch.setattr(page, "write_report", written)
    monkeypatch.setattr(command, "AnnotatedCopy", Copy)

    def explored(*arguments):
        (tmp_path / "s").mkdir(exist_ok=True)
        kept.done = run("explore", "t.csv", "-o", "s", *arguments)
        return kept

    explored.kept = kept
    return explored


def test_what_the_search_is_given(explored):
    kept = explored("--effort", "quick", "--time", "120", "--search-rows", "20", "--jobs", "2",
                    "--seed", "5")  # fmt: skip
    given = kept.given
    assert kept.done.exit_code == 0
    assert (given["effort"], given["time"], given["search_rows"]) == ("quick", 120.0, 20)
    assert (given["n_jobs"], given["random_state"], given["resume"]) == (2, 5, False)
    assert str(given["folder"]) == "s" and given["data"].shape == (30, 2)
    assert not given["given"] and not given["truth"]
    assert isinstance(given["progress"], command.LiveLine)
    assert explored("--quiet", "--resume").given["progress"] is False
    assert explored.kept.given["resume"] is True and explored.kept.given["time"] is None


def test_the_first_look_is_told_once(explored):
    explored.kept.looks = 3
    kept = explored()
    said = kept.done.stderr.splitlines()
    (told,) = (line for line in said if line.startswith(STUDY.verdict))
    assert told.endswith("report.html shows it, and renews)")
    # A page for every look, and the last one.
    assert kept.pages == [(False, "report.html", False)] * 4
    for quietly in ("--quiet", "--json"):
        assert "renews" not in explored(quietly).done.stderr


def test_the_answer_ends_with_the_page(explored):
    done = explored("--embed-ids").done
    assert done.stdout.startswith(STUDY.verdict)
    assert done.stdout.rstrip().splitlines()[-1].endswith("s. The page: s/report.html")
    assert "The table with its clusters" not in done.stdout and "--resume" not in done.stderr
    assert explored.kept.pages[-1] == (False, "report.html", True)


def test_a_page_that_cannot_be_replaced(explored):
    explored.kept.protected, explored.kept.looks = True, 0
    done = explored().done
    assert "note: report.html can't be replaced; the page is s/report-new.html" in done.stderr
    assert "The page: s/report-new.html" in done.stdout


def test_the_answer_for_machines(explored):
    told = json.loads(explored("--json").done.stdout)
    assert (told["folder"], told["page"], told["not_used"]) == ("s", "s/report.html", [])
    assert told["verdict"] == STUDY.verdict and "h5ad" not in told
    assert isinstance(told["seconds"], float) and 0 <= told["seconds"] < 60


def test_the_table_is_written_again_if_the_search_is_complete(explored):
    kept = explored("--h5ad", "out.h5ad", "--json")
    assert json.loads(kept.done.stdout)["h5ad"] == "out.h5ad"
    assert kept.calls == [("t.csv", "out.h5ad", False), False]
    kept = explored("--h5ad", "out.h5ad", "--transpose")
    assert kept.calls[2:] == [("t.csv", "out.h5ad", True), False]
    assert "The table with its clusters: out.h5ad" in kept.done.stdout
    kept.calls.clear()
    kept.study = replace(STUDY, is_provisional=True)
    for words in ((), ("--json",)):
        kept = explored("--h5ad", "out.h5ad", *words)
        assert kept.calls == [("t.csv", "out.h5ad", False)] and "h5ad" not in kept.done.stdout
        kept.calls.clear()
    assert "the same command with --resume goes on" in explored().done.stderr


def test_ctrl_c_shows_what_there_is(explored, monkeypatch):
    def leave():
        raise SystemExit(130)

    monkeypatch.setattr(command, "leave", leave)
    explored.kept.interrupted = True
    kept = explored()
    assert kept.done.exit_code == 130
    assert kept.pages[-1] == (True, "report.html", False)
    assert "stopped; the same command with --resume goes on" in kept.done.stderr
    assert "The page: s/report.html" in kept.done.stdout


def test_levels_are_written_if_asked_for(explored, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        type(STUDY), "write_labels",
        lambda study, path, levels=False: asked.append((path.name, levels)),
    )  # fmt: skip
    explored()
    assert asked == []
    explored("--levels")
    assert asked == [("labels.csv", True)]


def test_a_number_of_clusters_is_looked_up_behind_the_search(explored, monkeypatch):
    saved, checked = [], []
    found = replace(STUDY, views=STUDY.views[:1])
    monkeypatch.setattr(requested_groups, "check_asked", lambda *given: checked.append(given))
    monkeypatch.setattr(requested_groups, "with_asked", lambda job, study, n: found)
    monkeypatch.setattr(type(STUDY), "save", lambda study, folder: saved.append(str(folder)))
    done = explored("-k", "4", "--search-rows", "20").done
    # Of 30 rows 20 are searched.
    assert checked == [(4, 20)] and saved == ["s"]
    assert done.stdout.startswith(found.verdict) and found.verdict != STUDY.verdict
    explored("-k", "4")
    assert checked[1] == (4, 30)


def test_what_contradicts_itself(explored):
    assert "give one of them" in explored("--force", "--resume").done.stderr
    assert explored.kept.given is None
