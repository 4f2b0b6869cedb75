from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import elki
import finders_speed
import goals
import pytest
import ratios
import suite
from goals import TARGETS
from pages import Page, Sections
from ratios import Goal, Ratio, Side, finder_work, peer_work, record

from subscape.finders import CASH, CLIQUE, PROCLUS, FourC

FOLDER = Path(suite.__file__).parent

STOPPED = "not finished after 120 s, {} s of the processor"
SPEED = f"""# Speed

| finder | variant | table | CE | seconds | ELKI CE | ELKI seconds | ratio |
|---|---|---|---|---|---|---|---|
| PROCLUS | default | 10000 x 50 | 0.000 | 0.01 | 0.430 | 1.30 | not comparable: variant default |
| PROCLUS | as published, same settings | 10000 x 50 | 0.000 | 0.08 | 0.430 | 1.30 | 16.8x |
| CLIQUE | as published, same settings | 10000 x 50 | 0.3 | 0.5 | 0.1 | 5 | not comparable: rows |
| SUBCLU | as published, same settings | 10000 x 50 | 0.000 | 2.00 |  | {STOPPED.format(60)} |  |
| P3C | as published, same settings | 10000 x 50 | 0.000 | 2.00 |  | {STOPPED.format(19)} |  |
| DiSH | as published, same settings | 10000 x 50 | 1.000 | cut short | 0.9 | 20.0 |  |
"""
SHORT = "not finished after 9 s of the processor"
#: What ELKI does not end on many rows it may end on few.
FEWER = f"""
| finder | variant | table | CE | seconds | ELKI CE | ELKI seconds | ratio |
|---|---|---|---|---|---|---|---|
| DOC | as published, same settings | 10000 x 50 | 0.0 | 2.00 |  | {STOPPED.format(60)} |  |
| DOC | default | 1000 x 50 | 0.0 | 0.01 | 0.1 | 7.00 | not comparable: variant |
| DOC | as published, same settings | 1000 x 50 | 0.0 | 0.50 | 0.1 | 7.00 | 14.0x |
| P3C | as published, same settings | 10000 x 50 | 0.0 | 2.00 |  | {SHORT} |  |
| P3C | as published, same settings | 1000 x 50 | 0.0 | 1.00 |  | {SHORT} |  |
| DiSH | as published, same settings | 10000 x 50 | 0.0 | 2.00 | 0.1 | 6.00 | 3.0x |
| DiSH | as published, same settings | 1000 x 50 | 0.0 | 0.50 | 0.1 | 7.00 | 14.0x |
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
        # Which variant, with which settings?
        assert goal.settings
        assert (
            goal.benchmark not in ("finders_speed", "oriented")
            or goal.topic == 4
            or any(word in goal.settings for word in ("as published", "default"))
        )
    for name in names:
        assert (FOLDER / f"{name}.py").exists()


def test_unequal_work_gives_no_ratio(results):
    """Defaults against a peer, other settings, other rows, nothing found: no number anywhere."""
    told, shape = {"n_clusters": 10, "avg_dims": 8}, (10_000, 50)
    published = PROCLUS.as_published(**told)
    theirs = Side("ELKI", 2.0, peer_work(shape, told), 0.4)
    same = Ratio(Side("ours", 0.1, finder_work(published, shape, told), 0.0), theirs)
    assert same.value == pytest.approx(20)
    unequal = {
        "variant": finder_work(PROCLUS(**told), shape, told),
        "rows searched": finder_work(PROCLUS(**told), shape, told),
        "avg_dims": finder_work(PROCLUS.as_published(n_clusters=10, avg_dims=5), shape, told),
        "table": finder_work(published, (5_000, 50), told),
        "runs": finder_work(published, shape, told, runs=3),
    }
    for cause, work in unequal.items():
        record("finders_speed", "proclus_10", Ratio(Side("ours", 0.1, work, 0.0), theirs))
        page = suite.results_page(results, {})
        (row,) = (r for r in Page(page).rows if r.get("what") == target("proclus_10").what)
        assert row["measured"].startswith("not comparable: ") and cause in row["measured"]
        assert row["met"] == "–"
    nothing = Ratio(Side("ours", 0.1, finder_work(published, shape, told), 1.0),
                    Side("ELKI", 2.0, peer_work(shape, told), 1.0))  # fmt: skip
    assert str(nothing) == "not comparable: neither side found anything"


def test_rows_searched_and_variants():
    for finder, rows, name in (
        (PROCLUS(10), 2000, "default"),
        (PROCLUS(20), 4000, "default"),
        (PROCLUS.as_published(n_clusters=10), 10_000, "as published"),
        (CLIQUE.as_published(n_bins=7), 10_000, "as published"),
        (CLIQUE.as_published().set_params(n_bins=None), 10_000, "default"),
        (FourC.as_published(eps=0.1, min_samples=5), 10_000, "as published"),
        (FourC.as_published(eps=0.1), 2000, "as published"),
        (FourC(eps=0.1, min_samples=5), 2000, "default"),
        (CASH.as_published(min_samples=80, jitter=0.1), 10_000, "as published"),
        (CASH(min_samples=80, jitter=0.1), 2000, "default"),
    ):
        assert (ratios.rows_searched(finder, 10_000), ratios.variant(finder)) == (rows, name)


def test_flags_of_elki_have_our_names():
    assert elki.settings("PROCLUS", {"projectedclustering.l": 8, "proclus.seed": 1}) == {
        "avg_dims": 8
    }
    for name, (make, flags, _) in finders_speed.PAIRS.items():
        known = make().get_params()
        assert set(elki.settings(name, flags)) <= set(known), name


def test_numbers_are_read_in_pages(results):
    (results / "finders_speed.md").write_text(SPEED)
    found = {key: suite.measured(target(key), results) for key in ("proclus_10", "subclu", "p3c")}
    assert found["proclus_10"].value == 16.8
    # The result of a run that did not end is not known to be as good, or worse.
    for key, least, seconds in (("subclu", "30.0", 60), ("p3c", "9.5", 19)):
        assert found[key].value is None
        assert found[key].note == (
            f"at least {least}, its result is not known: {STOPPED.format(seconds)}"
        )
    assert suite.measured(target("clique"), results).note == "not comparable: rows"
    assert suite.measured(target("dish"), results).note == "ours did not end: cut short"
    assert suite.measured(target("default_ce"), results).value == pytest.approx(-0.43)
    assert suite.measured(target("proclus_50"), results).note == "not in its page"
    # Work that can't be equal has no ratio, whatever the page says.
    assert suite.measured(target("doc"), results).note.startswith("never the same work: ")
    assert suite.measured(target("sre"), results).note == "not measured"


def test_fewer_rows_count_where_elki_does_not_end_on_many(results):
    (results / "finders_speed.md").write_text(FEWER)
    assert goals.beside_elki("DOC", "10000 x 50", "1000 x 50")(Page(FEWER)) == 14.0
    # On the first table that it ends.
    assert suite.measured(target("dish"), results).value == 3.0
    assert suite.measured(target("p3c"), results).note.startswith("at least 4.5, its result is not")


def test_what_is_printed_below_the_bound_was_cut_off():
    """Clusters that share no rows can't be better than the bound; .1545 may stand as .154."""
    page = """
| set | finder | variant | CE | OpenSubspace CE |
|---|---|---|---|---|
| one | MineClus | default | {} | 0.154 |
| other | MineClus | default | 0.100 | 0.120 |

| set | bound of disjoint rows |
|---|---|
| one | 0.1545 |
| other | 0.0900 |
"""
    assert goals.worse_than_mineclus(Page(page.format("0.155"))) == 0
    assert goals.worse_than_mineclus(Page(page.format("0.156"))) == pytest.approx(0.002)


def test_the_day_is_the_one_that_the_page_says(results):
    page = results / "finders_speed.md"
    page.write_text(f"{SPEED}\nMeasured 2020-02-03 04:05 UTC, somewhere.\n")
    assert suite.measured(target("proclus_10"), results).source.endswith(", 2020-02-03")
    page.write_text(page.read_text() + "\n- DOC: Measured on 2020-01-09.\n")
    source = suite.measured(target("proclus_10"), results).source
    assert source.endswith(", 2020-01-09 to 2020-02-03")


def test_the_slowest_pass_also_counts_against_the_cheaper_product(results):
    (results / "scale.md").write_text(
        "| job | rows | X·B (s) | Xᵀ·X (s) | slowest pass to Xᵀ·X |\n"
        "| --- | --- | --- | --- | --- |\n| LAC | 10,000,000 | 0.5 | 1.5 | 1.2 |\n"
        "| sre | 10,000,000 | 0.5 | 1.0 | 1.5 |\n| sre | 1,000,000 | 0.1 | 1.0 | 9.0 |\n"
    )
    assert suite.measured(target("slowest"), results).value == 1.5
    assert suite.measured(target("slowest_thin"), results).value == pytest.approx(3.6)


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


def test_sections_that_are_not_measured_anew_stay(tmp_path):
    path = tmp_path / "page.md"
    page = Sections(path, ["# Page", "", "About."], ["One", "Two"])
    page.measure("Two", ["| a |", "|---|", "| 1 |"], "Then.")
    page.measure("One", iter(["first", "", "### Part", "", "more"]))
    first = "# Page\n\nAbout.\n\n## One\n\nfirst\n\n### Part\n\nmore\n"
    assert path.read_text() == first + "\n## Two\n\nThen.\n\n| a |\n|---|\n| 1 |\n"
    again = Sections(path, ["# Page", "", "About it."], ["One", "Two", "Three"])
    again.measure("Two", ["| a |", "|---|", "| 2 |"], "Now.")
    assert path.read_text() == first.replace("About.", "About it.") + (
        "\n## Two\n\nNow.\n\n| a |\n|---|\n| 2 |\n"
    )
    # What the script knows no more goes.
    Sections(path, ["# Page"], ["Two"]).measure("Two", ["x"])
    assert path.read_text() == "# Page\n\n## Two\n\nx\n"
    Sections(None, ["# Page"], ["Two"]).measure("Two", ["x"])


def test_pages_of_parts_have_the_sections_that_their_scripts_write():
    """Otherwise a part that is run anew would throw the others away."""
    for name in ("finders_speed", "oriented", "thesis_ch6"):
        script = (FOLDER / f"{name}.py").read_text()
        text = (FOLDER / "results" / f"{name}.md").read_text()
        titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
        assert len(titles) >= 3
        for title in titles:
            assert f'"{title.partition(", ")[0]}' in script, title
