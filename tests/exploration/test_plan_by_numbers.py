"""What is tried on a table of a given shape, written out."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from subscape.core.errors import FileFormatError, SubscapeError
from subscape.exploration.clouds import CloudSearch
from subscape.exploration.followups import factors, rest_entries, together_entries
from subscape.exploration.journal import Journal
from subscape.exploration.parted_tables import PartedTable
from subscape.exploration.plan import (
    Entry,
    Plan,
    Rung,
    check_plan,
    fingerprint_of,
    make_plan,
    seed_of,
    several_views,
    tried_entries,
)
from subscape.exploration.rows import check_rows, searched_rows
from subscape.tables.table import Table

QUICK = [(2, 2), (3, 3), (4, 3), (3, 3, 3)]
NORMAL = [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4), (3, 3, 3), (4, 3, 2), (5, 4, 3)]
THOROUGH = [
    (2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (4, 4), (5, 3), (5, 4), (6, 4), (2, 2, 2), (3, 2, 2),
    (3, 3, 2), (3, 3, 3), (4, 3, 2), (4, 4, 3), (5, 4, 3), (6, 4, 3), (4, 4, 3, 2),
]  # fmt: skip


def tried(plan, finder, name="n_clusters"):
    return [
        entry.parameters[name]
        for rung in plan.rungs
        for entry in rung.entries
        if entry.finder == finder
    ]


@pytest.mark.parametrize(
    ("effort", "views", "numbers", "searches", "most", "rounds", "n_null"),
    [
        ("quick", QUICK, [2, 3, 4, 5, 6], 1, 15, 3, 20),
        ("normal", NORMAL, [2, 3, 4, 5, 6, 8], 2, 29, 3, 40),
        ("thorough", THOROUGH, list(range(2, 13)), 4, 40, 4, 99),
    ],
)
def test_the_plan_of_a_table(effort, views, numbers, searches, most, rounds, n_null):
    plan = make_plan(500, 12, 12, effort=effort, seed=6)
    assert tried(plan, "NrKMeans") == [[*each, 1] for each in views]
    assert tried(plan, "LAC") == numbers
    assert tried(plan, "CloudSearch", "most") == [most] * searches
    assert (plan.effort, plan.seed, plan.shape) == (effort, 6, (500, 12))
    assert (plan.rounds, plan.n_null) == (rounds, n_null)
    names = ["clouds", "views", "axis-aligned", "boxes", "oriented"]
    assert [rung.name for rung in plan.rungs] == names[: 5 if effort == "thorough" else 4]
    assert [rung.name for rung in plan.rungs if rung.only_boxes] == ["boxes"]
    entries = [entry for rung in plan.rungs for entry in rung.entries]
    assert [entry.seed for entry in entries] == [seed_of(6, i) for i in range(len(entries))]
    assert plan.n_runs == len(entries)
    assert entries[0].finder == "CloudSearch" and entries[0].columns == "all"
    assert all(e.columns == "directions" for e in entries if e.finder == "NrKMeans")


def test_finders_that_a_table_does_not_suit_are_named_with_the_reason():
    assert make_plan(3000, 100, 100).not_run == ()
    assert make_plan(3001, 100, 100, effort="quick").not_run == ()  # quick has no HDBSCAN anyway
    squared = "for 3,000 rows at most, because its time grows with their square"
    plan = make_plan(3001, 100, 100)
    assert plan.not_run == (("HDBSCAN", squared),)
    assert plan.not_run_in_words() == f"HDBSCAN ({squared})"
    assert "HDBSCAN" not in {entry.finder for rung in plan.rungs for entry in rung.entries}
    wide = make_plan(3001, 101, 101)
    narrow = "for 2 to 100 columns"
    assert dict(wide.not_run)["P3C"] == dict(wide.not_run)["DOC"] == narrow
    assert len(wide.not_run) == 7 and "LAC" not in dict(wide.not_run)  # LAC has a trial for these
    assert "LAC" in dict(make_plan(3001, 101, 101, effort="quick").not_run)
    run = {entry.finder for rung in wide.rungs for entry in rung.entries}
    assert not run & set(dict(wide.not_run))
    assert wide.not_run_in_words().count("; ") == 6


def test_small_tables_are_asked_for_fewer_clusters():
    # Five rows for each cluster.
    assert tried(make_plan(29, 12, 12, effort="quick"), "LAC") == [2, 3, 4, 5]
    assert tried(make_plan(30, 12, 12, effort="quick"), "LAC") == [2, 3, 4, 5, 6]
    assert tried(make_plan(11, 12, 12, effort="quick"), "LAC") == [2]
    assert tried(make_plan(5, 12, 12, effort="quick"), "LAC") == [2]
    assert tried(make_plan(19, 12, 12, effort="quick"), "NrKMeans") == [[2, 2, 1], [3, 3, 1],
                                                                        [3, 3, 3, 1]]  # fmt: skip
    assert [4, 3, 1] in tried(make_plan(20, 12, 12, effort="quick"), "NrKMeans")
    # A column more than views.
    assert tried(make_plan(500, 3, 3, effort="quick"), "NrKMeans") == [[2, 2, 1], [3, 3, 1],
                                                                       [4, 3, 1]]  # fmt: skip
    assert [3, 3, 3, 1] in tried(make_plan(500, 4, 4, effort="quick"), "NrKMeans")
    assert make_plan(100, 5, 5).effort == "normal" and make_plan(100, 5, 5).seed == 0
    with pytest.raises(SubscapeError, match="effort is one of quick, normal, thorough, not 'fast'"):
        make_plan(100, 5, 5, effort="fast")


def test_finders_of_flats_see_only_numbers():
    def flats(n_numeric):
        plan = make_plan(500, 12, n_numeric, effort="thorough")
        return [e for rung in plan.rungs for e in rung.entries if e.columns == "numeric"]

    assert flats(12) and not flats(1)
    asked = tried_entries("oriented", [2, 3], (500, 12, 12), effort="thorough")
    assert {entry.columns for entry in asked} == {"numeric"}
    assert tried_entries("oriented", [2, 3], (500, 12, 12), effort="quick") == []
    # By default with normal effort, and no views.
    assert tried_entries("views", [2, 3], (500, 12, 12)) == tried_entries(
        "views", [2, 3], (500, 12, 12), effort="normal", views=()
    )
    assert len(tried_entries("clouds", [2], (500, 12, 12))) > len(
        tried_entries("clouds", [2], (500, 12, 12), effort="quick")
    )


def test_seeds_are_those_of_places():
    known = int(np.random.SeedSequence([5, 2, 7]).generate_state(1)[0]) // 2
    assert seed_of(5, 2, 7) == known and 0 <= known < 2**31
    assert len({seed_of(0, i) for i in range(50)}) == 50


def test_entries_make_what_they_name():
    entry = Entry("CloudSearch", {"most": 7, "few_valued": [1, 2]})
    made = entry.make()
    assert isinstance(made, CloudSearch) and (made.most, made.few_valued) == (7, (1, 2))
    assert Entry("KMeans", {"n_clusters": 3}).make().n_clusters == 3
    assert Entry("KMeans", {"n_clusters": 3, "init": "random"}).title() == (
        "KMeans(n_clusters=3, init='random')"
    )
    assert (Entry("KMeans").seed, Entry("KMeans").columns, Entry("KMeans").parameters) == (
        0, "all", {},
    )  # fmt: skip
    assert not Rung("views", ()).only_boxes
    views = several_views([3, 2])
    assert views.finder == "NrKMeans" and views.parameters["n_clusters"] == [3, 2, 1]
    assert views.columns == "directions"


# -- what follows the plan ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effort", "n", "most"), [("quick", 1, 15), ("normal", 2, 29), ("thorough", 4, 40)]
)
def test_searches_of_what_is_left(effort, n, most):
    entries = rest_entries(3, 1, 2, effort)
    assert [(e.finder, e.parameters, e.seed) for e in entries] == [
        ("CloudSearch", {"most": most}, seed_of(3, 5, 1, 2, again)) for again in range(n)
    ]


def together(sizes, shape):
    return [tuple(e.parameters["n_clusters"][:-1]) for e in together_entries(sizes, 2, 1, shape)]


def test_what_was_asked_before_is_not_asked_again():
    entries = together_entries([4], 2, 1, (300, 9), {(4, 3), (9, 9)})
    assert [e.parameters["n_clusters"] for e in entries] == [[4, 2, 1], [2, 2, 1]]


def test_searches_of_several_views_at_once():
    assert together([4], (300, 9)) == [(4, 2), (4, 3), (2, 2)]
    # One more cluster in one view, and one view that is two.
    assert together([6, 2], (300, 9)) == [
        (6, 2), (6, 3), (3, 2), (6, 2, 2), (6, 2, 3), (7, 2), (3, 2, 2),
    ]  # fmt: skip
    entries = together_entries([6, 2], 2, 1, (300, 9))
    assert [e.seed for e in entries] == [
        seed_of(2, 9, 1, *e.parameters["n_clusters"][:-1]) for e in entries
    ]
    # Ten rows for each cluster, and 24 of them.
    assert together([4], (60, 9)) == [(4, 2), (2, 2)]
    assert together([4], (59, 9)) == [(2, 2)]
    assert together([4], (70, 9)) == [(4, 2), (4, 3), (2, 2)]
    assert together([22], (9000, 9)) == [(22, 2), (11, 2)]
    assert together([21], (9000, 9)) == [(21, 2), (21, 3), (7, 3)]
    # Fewer views than directions, and never more than four.
    assert together([2, 2], (900, 3)) == [(2, 2), (2, 3), (3, 2)]
    assert together([2, 2], (900, 2)) == []
    found = together([2, 2, 2], (900, 99))
    assert (2, 2, 2, 2) in found and (2, 2, 2, 3) in found and max(map(len, found)) == 4
    assert max(map(len, together([2, 2, 2, 2], (900, 99)))) == 4
    assert (2, 2, 2, 2) not in together([2, 2, 2], (900, 4))
    assert together([], (900, 9)) == []


def test_products_of_two():
    assert factors(4) == [(2, 2)] and factors(6) == [(3, 2)] and factors(9) == [(3, 3)]
    assert factors(24) == [(12, 2), (8, 3), (6, 4)]
    assert factors(2) == factors(3) == factors(7) == []


# -- rows that are searched -----------------------------------------------------------------------


def test_rows_that_are_searched():
    assert searched_rows((20, 3), 20, 0).tolist() == list(range(20))
    found = searched_rows((21, 3), 20, 4)
    known = np.sort(np.random.default_rng([4, 1]).choice(21, 20, replace=False))
    assert found.tolist() == known.tolist()
    # A million cells, but two thousand rows in any case.
    assert len(searched_rows((30_000, 100), 20_000, 0)) == 10_000
    assert len(searched_rows((30_000, 51), 20_000, 0)) == 19_607
    assert len(searched_rows((30_000, 50), 20_000, 0)) == 20_000
    assert len(searched_rows((30_000, 500), 20_000, 0)) == 2000
    assert len(searched_rows((30_000, 501), 20_000, 0)) == 2000
    assert len(searched_rows((30_000, 5000), 20_000, 0)) == 2000
    assert len(searched_rows((30_000, 0), 20_000, 0)) == 20_000
    assert len(searched_rows((30_000, 5000), 1500, 0)) == 1500


def test_ten_rows_are_needed():
    check_rows(Table.from_array(np.arange(10.0)[:, None]))
    with pytest.raises(SubscapeError, match=r"the table has 9 rows; .* at least 10\. Are rows"):
        check_rows(Table.from_array(np.arange(9.0)[:, None]))


# -- decisions ------------------------------------------------------------------------------------


def test_decisions_are_made_once_and_read_again(tmp_path):
    path = tmp_path / "decisions.jsonl"
    journal = Journal(path)
    assert "a" not in journal
    assert journal.decide("a", lambda: (1, {2: None})) == [1, {"2": None}]
    assert "a" in journal and journal.decide("a", lambda: 1 / 0) == [1, {"2": None}]
    journal.decide("b", lambda: 0.1)
    assert path.read_text() == (
        '{"decision": "a", "outcome": [1, {"2": null}]}\n{"decision": "b", "outcome": 0.1}\n'
    )
    again = Journal(str(path))
    assert again.decide("a", lambda: 1 / 0) == [1, {"2": None}]
    assert again.decide("b", lambda: 1 / 0) == 0.1 and "c" not in again
    # What was being written when the power went is cut off.
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"decision": "c", "out')
    again = Journal(path)
    assert "c" not in again and path.read_bytes() == whole
    again.decide("c", lambda: 3)
    assert path.read_bytes() == whole + b'{"decision": "c", "outcome": 3}\n'
    path.write_bytes(b"half a line")
    assert "half" not in Journal(path) and path.read_bytes() == b""


@pytest.mark.parametrize("line", ["[1]", "{}", "no", '{"decision": "a"}', '{"decision": [], '])
def test_a_line_that_is_no_decision_is_named(tmp_path, line):
    path = tmp_path / "decisions.jsonl"
    path.write_text('{"decision": "a", "outcome": 1}\n' + line + "\n")
    with pytest.raises(FileFormatError, match=r"line 2 of .*decisions.jsonl is no decision"):
        Journal(path)


def test_a_journal_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("")
    path = tmp_path / "decisions.jsonl"
    os.symlink(tmp_path / "other", path)
    with pytest.raises(FileFormatError, match="is a link to another file"):
        Journal(path)
    path.unlink()
    journal = Journal(path)
    os.symlink(tmp_path / "other", path)
    with pytest.raises(FileFormatError, match="is a link to another file"):
        journal.decide("a", lambda: 1)
    assert (tmp_path / "other").read_text() == ""


# -- the plan in the folder -----------------------------------------------------------------------


def table(**more):
    return Table.from_array(np.arange(24.0).reshape(12, 2), **more)


def small_plan(seed=0):
    rung = Rung("clouds", (Entry("KMeans", {"n_clusters": 2}, 5),))
    return Plan("quick", seed, (12, 2), (rung,), 1, 3)


def test_a_plan_as_text():
    told = json.loads(small_plan().to_json())
    assert told["n_null"] == 3 and told["rounds"] == 1 and told["shape"] == [12, 2]
    assert told["rungs"] == [
        {
            "name": "clouds",
            "only_boxes": False,
            "entries": [
                {"finder": "KMeans", "parameters": {"n_clusters": 2}, "seed": 5, "columns": "all"}
            ],
        }
    ]
    text = small_plan().to_json()
    assert text.startswith('{\n "effort": "quick",\n') and text.endswith("}\n")
    assert list(told) == sorted(told)


def test_the_folder_of_a_plan(tmp_path):
    folder = tmp_path / "deep" / "study"
    given = {"known": np.arange(12) % 2}
    check_plan(folder, small_plan(), table(), given, 12, False)
    path = folder / "plan.json"
    text = path.read_text()
    told = json.loads(text)
    assert told["rows"] == 12 and set(told["given"]) == {"known"}
    assert told["plan"]["n_null"] == 3 and list(told) == sorted(told) and text.endswith("}\n")
    assert {"table", "version", "kernels"} <= set(told) and text.startswith('{\n "given"')
    check_plan(folder, small_plan(), table(), given, 12, True)
    assert path.read_text() == text
    with pytest.raises(SubscapeError, match="holds a study already; resume it"):
        check_plan(folder, small_plan(), table(), given, 12, False)
    other = table().take(np.arange(11))
    for args, words in (
        ((small_plan(), other, given, 12), "the table has changed"),
        ((small_plan(), table(), {}, 12), "the given groupings have changed"),
        ((small_plan(), table(), {"known": np.zeros(12, int)}, 12), "the given groupings have"),
        ((small_plan(1), table(), given, 12), "effort, seed or shape have changed"),
        ((small_plan(), table(), given, 11), "another number of rows is searched"),
        ((small_plan(1), table(), given, 11), "have changed, and another number of rows is"),
    ):
        with pytest.raises(SubscapeError, match=words):
            check_plan(folder, *args, True)
    for part, words in (("version", "by another version"), ("kernels", "with other kernels")):
        path.write_text(json.dumps(told | {part: "x"}))
        with pytest.raises(SubscapeError, match=words):
            check_plan(folder, small_plan(), table(), given, 12, True)
    for damaged in ("no json", "{}", "[]"):
        path.write_text(damaged)
        with pytest.raises(FileFormatError, match=r"plan.json is not the plan of a study"):
            check_plan(folder, small_plan(), table(), given, 12, True)


def test_a_folder_with_other_files_is_not_mixed_up(tmp_path):
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "columns.csv").write_text("")
    check_plan(tmp_path, small_plan(), table(), {}, 12, False)
    (tmp_path / "plan.json").unlink()
    for name in "dcba":
        (tmp_path / name).write_text("")
    with pytest.raises(SubscapeError, match=r"is not empty \(a, b, c\); choose"):
        check_plan(tmp_path, small_plan(), table(), {}, 12, False)
    assert not (tmp_path / "plan.json").exists()
    check_plan(tmp_path, small_plan(), table(), {}, 12, True)
    assert (tmp_path / "plan.json").exists()


def test_the_fingerprint_of_a_table_is_of_all_its_contents():
    import pandas as pd

    frame = pd.DataFrame({"x": np.arange(12.0), "colour": ["red", "blue"] * 6})
    first = fingerprint_of(Table.read(frame))
    assert len(first) == 24 and first == fingerprint_of(Table.read(frame.copy()))
    others = [
        frame.assign(x=frame["x"] + 1),
        frame.assign(colour=["red", "green"] * 6),
        frame.assign(colour=["blue", "red"] * 6),
        frame.rename(columns={"x": "y"}),
        frame.rename(columns={"colour": "color"}),
        frame.set_index(pd.Index([f"r{i}" for i in range(12)])),
    ]
    found = {fingerprint_of(Table.read(each)) for each in others}
    assert len(found) == 6 and first not in found
    from scipy import sparse

    X = np.eye(12)
    sparse_table = Table.from_array(sparse.csr_array(X))
    assert fingerprint_of(sparse_table) == fingerprint_of(Table.from_array(X))


def test_the_fingerprint_of_a_table_in_parts_is_its_own():
    import dask.array as da

    parted = PartedTable.of(da.ones((30, 2), chunks=(20, 2)))
    assert fingerprint_of(parted) == parted.fingerprint
