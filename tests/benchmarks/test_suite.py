from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import ratios
import suite
from goals import TARGETS
from pages import Page
from ratios import Goal, Ratio, Side, record

FOLDER = Path(suite.__file__).parent

SPEED = """# Speed

| finder | table | CE | seconds | ELKI CE | ELKI seconds | ratio |
|---|---|---|---|---|---|---|
| PROCLUS | 10000 x 50 | 0.000 | 0.08 | 0.430 | 1.30 | 16.8x |
| CLIQUE | 10000 x 50 | 0.310 | 0.5 | 0.1 | 5.04 | not comparable: error 0.31 and 0.1 |
| DOC | 10000 x 50 | 0.000 | 2.00 |  | not finished after 240 s |  |
| P3C | 10000 x 50 | 0.000 | 2.00 |  | not finished after 60 s |  |
"""


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(ratios, "RESULTS", tmp_path)
    return tmp_path


def target(key):
    return next(t for t in TARGETS if t.key == key)


def test_goals_are_sound():
    names = {benchmark.name for benchmark in suite.BENCHMARKS}
    assert len({(t.benchmark, t.key) for t in TARGETS}) == len(TARGETS)
    for goal in TARGETS:
        assert Goal.of(goal.goal)
        assert goal.benchmark in names
    for name in names:
        assert (FOLDER / f"{name}.py").exists()


def test_numbers_are_read_in_pages(results):
    (results / "finders_speed.md").write_text(SPEED)
    found = {key: suite.measured(target(key), results) for key in ("proclus_10", "doc", "p3c")}
    assert found["proclus_10"].value == 16.8
    assert found["doc"].value == 120.0
    assert found["p3c"].value is None
    assert suite.measured(target("clique"), results).note == "not in its page"
    assert suite.measured(target("sre"), results).note == "not measured"


def test_a_full_record_comes_before_a_page_and_a_small_one_after(results):
    record("finders_speed", "proclus_10", 3.0, quick=True)
    assert suite.measured(target("proclus_10"), results).value == 3.0
    (results / "finders_speed.md").write_text(SPEED)
    assert suite.measured(target("proclus_10"), results).value == 16.8
    record("finders_speed", "proclus_10", 4.0)
    assert suite.measured(target("proclus_10"), results).value == 4.0


def test_the_page_says_what_is_met_missed_refused_and_missing(results):
    work = {"rows": 10}
    record("compare", "label_ce", 0.5)
    record("compare", "rnia_memory", 2.0, quick=True)
    record("compare", "distance_matrix", 2.0)
    record("compare", "oriented_t", Ratio(Side("a", 1, work), Side("b", 1, {"rows": 9})))
    page = suite.results_page(results, {"compare": suite.Outcome(3.0, "done")})
    assert f"1 of {len(TARGETS)} goals met, 1 missed, {len(TARGETS) - 2} without a number" in page
    assert "**no**" in page
    rows = {row["what"]: row for row in Page(page).rows if "what" in row}
    assert len(rows) == len(TARGETS)
    assert rows[target("label_ce").what]["met"] == "yes"
    assert rows[target("label_ce").what]["command"] == "`compare.py`"
    missed = rows[target("distance_matrix").what]
    assert (missed["met"], missed["measured"]) == ("no", "2")
    # At small sizes nothing is proved.
    small = rows[target("rnia_memory").what]
    assert (small["met"], small["measured"]) == ("yes, small", "2")
    assert "small sizes" in small["when"]
    refused = rows[target("oriented_t").what]
    assert refused["measured"] == "not comparable: rows 10 and 9"
    assert refused["met"] == "–"
    assert rows[target("sre").what]["measured"] == "not measured"
    assert "scikit-learn" in page and "cores" in page and "Peers:" in page
    assert "| compare | 3 | done |" in page


def test_records_of_small_runs_are_taken_over(results, tmp_path):
    record("compare", "label_ce", 0.5)
    there = tmp_path / "there"
    there.mkdir()
    entry = json.loads((results / "compare.json").read_text())["label_ce"] | {"quick": True}
    small = {"label_ce": entry | {"value": 9.0}, "sre": entry | {"value": 1.5}}
    (there / "compare.json").write_text(json.dumps(small))
    suite.keep_small(there, results)
    known = json.loads((results / "compare.json").read_text())
    assert known["label_ce"]["value"] == 0.5
    assert known["sre"]["value"] == 1.5


def test_a_benchmark_that_fails_or_lacks_something_ends_nothing(tmp_path, monkeypatch, capfd):
    (tmp_path / "bad.py").write_text("raise SystemExit('no luck')")
    # What it starts holds on to its error stream, and must end with it.
    (tmp_path / "slow.py").write_text(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    )
    (tmp_path / "good.py").write_text("import sys; print(*sys.argv[1:])")
    monkeypatch.delenv("SUBSCAPE_DATA", raising=False)
    monkeypatch.setattr(suite, "QUICK_SECONDS", 1.0)
    assert suite.run(suite.Benchmark("bad"), tmp_path, True).note == "failed: no luck"
    began = time.monotonic()
    assert suite.run(suite.Benchmark("slow"), tmp_path, False).note == "stopped after 1 s"
    assert time.monotonic() - began < 30
    monkeypatch.setattr(suite, "QUICK_SECONDS", 60.0)
    assert suite.run(suite.Benchmark("good"), tmp_path, False).note == "done"
    assert "--quick" in capfd.readouterr().out
    needy = suite.Benchmark("good", needs_data=True)
    assert "SUBSCAPE_DATA" in suite.run(needy, tmp_path, False).note
    needy = suite.Benchmark("good", modules=("no_such_module",))
    assert "no_such_module is missing" in suite.run(needy, tmp_path, False).note


def test_an_unknown_benchmark_is_refused():
    call = [sys.executable, str(FOLDER / "suite.py"), "nothing"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no benchmark is called 'nothing'; there are compare" in done.stderr


def test_tables_and_text_of_a_page():
    page = Page("# One\n\n| a b | c |\n|---|---:|\n| x | **1,5** |\n\n## Two\n\n| a b | c |\n"
                "| --- | --- |\n| x | 7 |\n| y | > 13x |\n\nRight: 9 of 10.\n")  # fmt: skip
    assert page.number("c", a_b="x") == 15.0
    assert page.number("c", a_b="x", title="Two") == 7.0
    assert page.numbers("c") == [15.0, 7.0, 13.0]
    assert page.number("c", a_b="z") is None
    assert page.text(r"Right: (\d+)") == 9.0
    assert page.text(r"Left: (\d+)") is None
