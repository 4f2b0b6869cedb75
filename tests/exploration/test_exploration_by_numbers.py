"""The phases of an exploration one by one, with everything that they ask made up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from subscape.core.errors import SubscapeError
from subscape.exploration import exploration
from subscape.exploration.assembly import AssessedView
from subscape.exploration.assess import NullScores, ViewStability
from subscape.exploration.boxes import BoxScorer
from subscape.exploration.clouds import CloudSearch
from subscape.exploration.exploration import Exploration, Interrupted, explore
from subscape.exploration.ideas import IdeaView
from subscape.exploration.journal import Journal
from subscape.exploration.nested import Split
from subscape.exploration.plan import Entry, Plan, Rung, seed_of
from subscape.exploration.separation import GroupingScorer
from subscape.exploration.study import as_table
from subscape.exploration.views import Consensus
from subscape.validation.fitted_tails import Interval
from subscape.validation.max_statistic import NullMaxima

X = np.random.default_rng(0).normal(size=(60, 4))


def bare(**attributes):
    """An exploration of which only what is asked for is there."""
    job = object.__new__(Exploration)
    known = {
        "time": None, "began": 0.0, "n_jobs": 2, "given": {}, "truth": {}, "seed": 3,
        "rows": np.arange(60), "X": X, "Z": X, "runs": [], "tasks": {}, "candidates": [],
        "_known": (None, [], []), "_agreed": {}, "compared_pairs": {},
        "chance": None, "_comparing": None,
        "_reached": None,
        "ideas": [], "left_out": [], "_asked": 0, "_on_update": None, "to_come": "",
        "folder": None, "store": None,
        "journal": Journal(None), "plan": Plan("quick", 3, (60, 4), (), 2, 20),
        "ready": SimpleNamespace(
            few_valued=np.zeros(0, int), numeric=np.arange(4), X=X, origin=np.arange(4)
        ),
        "progress": SimpleNamespace(tell=lambda *step: None, views=0, rung=lambda name: name),
        "scorers": SimpleNamespace(directions="directions", boxes="boxes"), "scorer": "directions",
    }  # fmt: skip
    for name, value in (known | attributes).items():
        setattr(job, name, value)
    return job


def view(labels=None, score=1.0, normal=2.0, basis=None, **more):
    labels = np.arange(60) % 2 if labels is None else labels
    members = labels == np.arange(labels.max() + 1)[:, None]
    basis = np.eye(4)[:, :1] if basis is None else basis
    return Consensus(
        more.get("members", []), [0], members, labels, np.ones(60), score, 1.5, 0.5, basis, normal
    )


LOW = tuple(np.linspace(0.0, 0.1, 20))
CHANCE = NullMaxima(LOW, LOW, normal_maxima=LOW)


def assessed(p_sure=True, **more):
    return AssessedView(view(score=9.0 if p_sure else 0.0, normal=9.0 if p_sure else 0.0), CHANCE,
                        **more)  # fmt: skip


# -- how it begins --------------------------------------------------------------------------------


def test_what_explore_hands_on(monkeypatch):
    made = []

    class Job:
        def __init__(self, table, **options):
            made.append((table, options))

        def run(self):
            return "study"

    monkeypatch.setattr(exploration, "Exploration", Job)
    assert explore(X) == "study"
    table, options = made[0]
    assert table.shape == (60, 4)
    assert options == {
        "effort": "normal", "time": None, "given": None, "truth": None, "search_rows": 20_000,
        "folder": None, "resume": False, "n_jobs": None, "random_state": 0, "progress": None,
        "on_update": None,
    }  # fmt: skip
    given = {
        "effort": "quick", "time": 3.0, "given": "g", "truth": "t", "search_rows": 10,
        "folder": "f", "resume": True, "n_jobs": 2, "random_state": 7, "progress": False,
        "on_update": print,
    }  # fmt: skip
    explore(X, roles={"x1": "ignore"}, **given)
    assert made[1][1] == given
    assert made[1][0].roles["x1"] == "ignore" and made[0][0].roles["x1"] != "ignore"
    for wrong in ({"search_rows": 9}, {"n_jobs": 0}, {"random_state": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            explore(X, **wrong)
    assert len(made) == 2


def tiny(n_rows, n_columns, n_numeric, *, effort, seed):
    return Plan(effort, seed, (n_rows, n_columns), (), n_numeric, 20)


def test_what_an_exploration_begins_with():
    rng = np.random.default_rng(0)
    given = np.arange(90) % 3
    job = Exploration(
        as_table(rng.normal(size=(90, 4))), effort="quick", time=5.0, search_rows=40,
        given=given, truth={"t": given}, random_state=6, n_jobs=2, plan=tiny,
    )  # fmt: skip
    assert (job.time, job.n_jobs, job.seed, len(job.rows)) == (5.0, 2, 6, 40)
    assert job.plan == Plan("quick", 6, (40, 4), (), 4, 20)
    assert job.X.shape == (40, 4) and job.searched.n_rows == 40 and job.table.n_rows == 90
    assert not job.X.flags.writeable and job.X.flags.c_contiguous
    assert job.Z is job.X and job.scorer is job.scorers.directions
    assert list(job.truth) == ["t"] and len(job.given) == 1
    (known,) = job.given.values()
    assert known.tolist() == given.tolist()
    assert job.progress.time == 5.0 and job.store is None and job.folder is None
    assert (job.chance, job.ideas, job.to_come, job.runs) == (None, [], "", [])
    whole = Exploration(as_table(rng.normal(size=(40, 4))), plan=tiny)
    assert whole.searched is whole.table and whole.plan.effort == "normal" and whole.seed == 0
    # Of wide tables the principal directions are searched.
    wide = Exploration(as_table(rng.normal(size=(50, 30))), plan=tiny)
    assert wide.Z is wide.scorer.Z and wide.Z.shape[1] <= 5 and not wide.Z.flags.writeable


# -- how it runs ----------------------------------------------------------------------------------


def test_from_search_to_study(monkeypatch):
    done = []

    def assemble(job, outcome, *, provisional):
        done.append(("assemble", outcome, provisional))
        return "study"

    monkeypatch.setattr(exploration, "assemble", assemble)
    monkeypatch.setattr(
        exploration, "climbed", lambda candidates, scorer, most: [(candidates, scorer, most)]
    )
    job = bare(
        search=lambda: done.append("search"), views=lambda: ["v"], tested=lambda views: [*views, 1],
        _update=lambda words: done.append(words), _keep=lambda study: done.append(("keep", study)),
        candidates=["c"],
    )  # fmt: skip
    assert job.run() == "study"
    words = "tables without groups, samples of the rows"
    assert done == ["search", words, ("assemble", ["v", 1], False), ("keep", "study")]
    assert job.candidates == [(["c"], "directions", 12)]
    # Boxes are not climbed.
    job.scorer, job.candidates = "boxes", ["c"]
    job.run()
    assert job.candidates == ["c"]

    def stop():
        raise KeyboardInterrupt

    done.clear()
    monkeypatch.setattr(exploration, "AssessedView", lambda view: ("assessed", view))
    job.search = stop
    with pytest.raises(Interrupted) as stopped:
        job.run()
    assert stopped.value.study == "study"
    assert done == [("assemble", [("assessed", "v")], True), ("keep", "study")]
    with pytest.raises(KeyboardInterrupt):
        job.complete()


def test_updates_tell_what_is_to_come(monkeypatch):
    seen = []

    def assemble(job, outcome, *, provisional):
        return job.to_come, outcome, provisional

    monkeypatch.setattr(exploration, "assemble", assemble)
    monkeypatch.setattr(exploration, "AssessedView", lambda view: ("assessed", view))
    job = bare(views=lambda: ["v"])
    job._update("more")  # nobody listens
    job._on_update = seen.append
    job._update("more")
    job._update("less", ["known"])
    job._update("less", [])
    assert seen == [
        ("more", [("assessed", "v")], True), ("less", ["known"], True), ("less", [], True),
    ]  # fmt: skip
    assert job.to_come == ""

    def fail(study):
        raise RuntimeError

    job._on_update = fail
    with pytest.raises(RuntimeError):
        job._update("more")
    assert job.to_come == ""


def searching(found, *, rounds=2, stop_at=None, scorer="directions"):
    """A search; ``found`` are the views after each step. What was performed, and in which order."""
    done = []
    steps = iter(found)
    current = [next(steps)]

    def perform(name, tasks):
        done.append((name, tasks))
        current[0] = next(steps, current[0])

    def views():
        return [SimpleNamespace(members=[SimpleNamespace(name=name)]) for name in current[0]]

    rungs = (
        Rung("clouds", ("a", "b")), Rung("boxes", ("c",), only_boxes=True), Rung("views", ("d",)),
    )  # fmt: skip
    job = bare(
        plan=Plan("quick", 3, (60, 4), rungs, rounds, 20), scorer=scorer, views=views,
        _perform=perform, _task=lambda entry: f"task {entry}",
        _admitted=lambda name: stop_at not in (name, "all"),
        _update=lambda words: done.append(("update", words)),
        _roots=lambda taken: sorted(set(current[0]) - taken),
        _rest_tasks=lambda roots, number: [(root, number) for root in roots],
        _together=lambda number: [("together", number)],
    )  # fmt: skip
    job.search()
    return done, job


UPDATE = ("update", "further searches, tables without groups, samples of the rows")


def test_rungs_and_rounds():
    done, job = searching([[], ["a"], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c"]])
    assert done == [
        ("clouds", ["task a", "task b"]), UPDATE, ("views", ["task d"]),
        ("rest 1", [("a", 0)]), ("together 1", [("together", 0)]),
        ("rest 2", [("b", 1), ("c", 1)]), ("together 2", [("together", 1)]),
    ]  # fmt: skip
    assert job.journal.decide("roots of rest 1", None) == ["a"]
    assert job.journal.decide("end after rest 1", None) is False
    assert job.journal.decide("end after rest 2", None) is True
    # Nothing new: no further round.
    done, _ = searching([[], ["a"], ["a"], ["a"], ["a"]], rounds=3)
    assert [name for name, _ in done][-2:] == ["rest 1", "together 1"]
    # Nothing to take out.
    done, _ = searching([[], [], []])
    assert [name for name, _ in done] == ["clouds", "update", "views"]
    # Boxes only where these describe the table best.
    done, _ = searching([[], [], []], scorer="boxes")
    assert [name for name, _ in done] == ["clouds", "update", "boxes", "views"]


@pytest.mark.parametrize(
    ("stop", "names"),
    [
        ("views", ["clouds", "update"]), ("all", ["clouds", "update"]),
        ("rest 1", ["clouds", "update", "views"]),
        ("rest 2", ["clouds", "update", "views", "rest 1", "together 1"]),
    ],
)  # fmt: skip
def test_where_the_time_is_over(stop, names):
    done, job = searching([[], ["a"], ["a"], ["a", "b"], ["a", "b", "c"]], stop_at=stop)
    assert [name for name, _ in done] == names
    assert job.left_out == ["further searches"]


def test_half_of_the_time_is_for_searching(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(exploration.clock, "monotonic", lambda: now[0])
    job = bare(time=10.0, began=100.0)
    now[0] = 104.999
    assert job._admitted("a") is True
    now[0] = 105.0
    assert job._admitted("b") is False and job._admitted("a") is True
    assert job._in_time() is True and job._in_time(0.5) is False
    now[0] = 109.999
    assert job._in_time() is True
    now[0] = 110.0
    assert job._in_time() is False
    assert bare(time=None)._in_time() is True and bare()._admitted("c") is True
    assert job.journal.decide("admit b", None) is False


@pytest.mark.parametrize(("seconds", "expected"), [(4.9, 11), (5.0, 8), (None, 11)])
def test_runs_stop_when_their_share_of_the_time_is_over(monkeypatch, seconds, expected):
    now, portions = [0.0], []

    def run_all(tasks, store, n_jobs, progress):
        portions.append(list(tasks))
        now[0] += 0.0 if seconds is None else seconds / 2
        return [f"run {task}" for task in tasks]

    monkeypatch.setattr(exploration, "run_all", run_all)
    monkeypatch.setattr(exploration.clock, "monotonic", lambda: now[0])
    job = bare(time=None if seconds is None else 10.0)
    runs = job._run("a", range(11), 0.5)
    assert runs == [f"run {task}" for task in range(expected)]
    assert [len(each) for each in portions] == (
        [11] if seconds is None else [4, 4, 3][: len(portions)]
    )
    if seconds is not None:
        assert job.left_out == (["further searches"] if expected < 11 else [])
        # Resumed, what was decided holds, whatever the clock says.
        now[0], job._asked = 99.0, 0
        assert job._run("a", range(11), 0.5) == runs


def test_samples_that_there_was_no_time_for_do_not_count(monkeypatch):
    asked = []
    repeated = [[f"{s}{finder}" for finder in "ab"] for s in range(6)]
    monkeypatch.setattr(exploration, "resampling_tasks", lambda *given: repeated)
    monkeypatch.setattr(exploration, "view_stability", lambda view, samples, Z: samples)
    monkeypatch.setattr(exploration, "came_back", lambda view, runs: False)
    job = bare(
        time=10.0, _in_time=lambda share: False,
        _best_tasks=lambda views: [("a", views), ("b", views)],
        _run=lambda name, tasks: asked.append(tasks) or [f"run {task}" for task in tasks[:4]],
    )  # fmt: skip
    assert job._again(["view"]) == [[["run 0a"], ["run 1a"], ["run 2a"], ["run 3a"]]]
    assert asked == [[f"{s}a" for s in range(6)]]
    assert job.left_out == ["samples of the rows"]


@pytest.mark.parametrize(
    ("n_jobs", "cells", "seconds", "expected"),
    [(-1, 240, 1.9, 1), (-1, 240, 2.0, -1), (-1, 300_000, 0.0, -1), (2, 240, 0.0, 2),
     (None, 240, 0.0, None), (-2, 240, 0.0, 1)],
)  # fmt: skip
def test_small_tables_need_no_processes_at_first(monkeypatch, n_jobs, cells, seconds, expected):
    monkeypatch.setattr(exploration.clock, "monotonic", lambda: 7.0 + seconds)
    job = bare(n_jobs=n_jobs, X=np.zeros(cells), began=7.0)
    assert job.jobs == expected
    # A cluster that somebody connected is used.
    monkeypatch.setattr(exploration, "active_client", lambda: "client")
    assert job.jobs == n_jobs


# -- views ----------------------------------------------------------------------------------------


def test_views_are_made_once_of_the_candidates(monkeypatch):
    asked = []
    a, b, c = (SimpleNamespace(labels=np.arange(60) % k) for k in (2, 3, 4))
    made = {0: a, 1: b, 2: c}
    monkeypatch.setattr(exploration, "row_distances", lambda found, _: ("far", found))
    monkeypatch.setattr(
        exploration, "group", lambda candidates, far: asked.append(far) or [[0], [1], [2]]
    )
    monkeypatch.setattr(
        exploration, "is_sliced",
        lambda scorer, labels, others: len(others) == 3 and labels is b.labels,
    )  # fmt: skip

    def ranked(found, scorer, known):
        asked.append((found, scorer, known))
        return found[::-1]

    monkeypatch.setattr(exploration, "ranked", ranked)
    job = bare(
        candidates=["x"], given={"g": np.arange(100)}, rows=np.array([4, 7]),
        _consensus=lambda places: made[places[0]],
    )  # fmt: skip
    assert job.views() == [c, a] == job.views()
    assert len(asked) == 2 and asked[0] == ("far", ["x"])
    assert asked[1][:2] == ([a, c], "directions")
    assert [known.tolist() for known in asked[1][2]] == [[4, 7]]
    assert job._known == (job.candidates, [a, c], [c, a])
    # Boxes slice nothing.
    job.scorer, job.candidates = "boxes", ["y"]
    assert job.views() == [c, b, a]


def test_candidates_are_scored_again_after_every_step(monkeypatch):
    monkeypatch.setattr(exploration, "groupings", lambda runs: ("found", list(runs)))
    monkeypatch.setattr(exploration, "fitting_scorer", lambda found, scorers: (found, scorers))
    monkeypatch.setattr(exploration, "scored", lambda found, scorer: [(found, scorer)])
    asked = []

    def run(name, tasks, share):
        assert share == 0.5
        asked.append((name, tasks))
        return [SimpleNamespace(id=f"run {task[0]}") for task in tasks]

    job = bare(_run=run, _known=(None, [], [1, 2, 3]))
    job._perform("views", ["a1", "b1"])
    job._perform("boxes", ["b2", "c2"])
    assert [one.id for one in job.runs] == ["run a", "run b", "run b", "run c"]
    assert job.tasks == {"run a": "a1", "run b": "b1", "run c": "c2"}
    assert job.scorer == (("found", job.runs), job.scorers)
    assert job.candidates == [(job.scorer[0], job.scorer)]
    assert job.progress.views == 3 and asked[0] == ("views", ["a1", "b1"])
    called = []

    def all_of(tasks, *given):
        called.append((tasks, *given))
        return [f"run of {task}" for task in tasks]

    monkeypatch.setattr(exploration, "run_all", all_of)
    for jobs, order in ((2, ["u", "t"]), (-1, ["u", "t"]), (1, ["t", "u"]), (None, ["t", "u"])):
        job = bare(store="store", n_jobs=jobs, began=-9.0)
        assert job._run("name", ["t", "u"]) == ["run of t", "run of u"]
        assert called.pop() == (order, "store", jobs, "name")


def test_tasks_see_the_columns_that_they_can_do_with():
    Z = X @ np.eye(4)[:, :2]
    numeric = np.array([0, 2])

    def task(entry, few=()):
        ready = SimpleNamespace(few_valued=np.array(few, dtype=int), numeric=numeric)
        return bare(Z=Z, ready=ready)._task(entry)

    found = task(Entry("KMeans", {"n_clusters": 2}, 8))
    assert found.X is X and found.columns is None and found.seed == 8
    assert found.note == {"title": "KMeans(n_clusters=2)"}
    assert task(Entry("KMeans", columns="directions")).X is Z
    found = task(Entry("KMeans", columns="numeric"))
    assert found.X is X and found.columns is numeric
    found = task(Entry("CloudSearch", {"most": 5}))
    assert found.X is Z and found.finder.few_valued == ()
    found = task(Entry("CloudSearch", {"most": 5}), [1, 3])
    assert found.X is X and found.finder.few_valued == (1, 3)
    assert isinstance(found.finder, CloudSearch)


def test_with_little_time_no_run_takes_more_than_a_twelfth_of_it():
    ready = SimpleNamespace(few_valued=np.zeros(0, int))
    boxes, means = Entry("MineClus", {"max_candidates": 2000}, 8), Entry("KMeans")
    job = bare(Z=X, ready=ready, time=30.0)
    assert job._task(boxes).finder.max_time == 2.5
    assert job._task(boxes).note == bare(Z=X, ready=ready)._task(boxes).note
    assert not hasattr(job._task(means).finder, "max_time")
    unhurried = bare(Z=X, ready=ready)._task(boxes).finder
    assert unhurried.max_time == boxes.make().max_time


# -- what is left ---------------------------------------------------------------------------------


def test_three_at_a_time_are_taken_out():
    names = ["a", "b", "c", "d"]
    job = bare(
        given={"g": 1, "h": 2},
        views=lambda: [SimpleNamespace(members=[SimpleNamespace(name=n)]) for n in names],
    )
    assert job._roots(set()) == ["given g", "given h", "a"]
    assert job._roots({"given g", "given h", "a"}) == ["b", "c", "d"]
    assert job._roots({"given g", "b"}) == ["given h", "a", "c"]
    assert job._roots({"given g", "given h", *names}) == []


def test_searches_in_what_is_left():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(4, 1)))[0]
    other = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    known = np.arange(90) % 3
    asked = []

    def scorer(labels):
        asked.append(labels)
        return SimpleNamespace(basis=other)

    found = [
        SimpleNamespace(name="a", basis=basis, title="A()"),
        SimpleNamespace(name="b", basis=np.eye(4), title="B()"),
    ]
    job = bare(
        scorer=scorer, candidates=found, given={"g": known}, rows=np.arange(60) + 10,
        plan=Plan("normal", 3, (60, 4), (), 2, 20), seed=5,
    )  # fmt: skip
    tasks = job._rest_tasks(["a", "b", "given g"], 1)
    # Where all directions tell nothing is left.
    assert [task.note["title"] for task in tasks] == [
        "CloudSearch(most=29) without A()", "CloudSearch(most=29) without A()",
        "CloudSearch(most=29) without given g", "CloudSearch(most=29) without given g",
    ]  # fmt: skip
    assert [task.seed for task in tasks] == [
        seed_of(5, 5, 1, place, again) for place in (0, 2) for again in (0, 1)
    ]
    assert asked[0].tolist() == known[10:70].tolist()
    centred = X - X.mean(axis=0)
    for task, taken in ((tasks[0], basis), (tasks[2], other)):
        seen = centred @ taken
        left = centred - seen @ np.linalg.lstsq(seen, centred, rcond=None)[0]
        np.testing.assert_allclose(task.X, left, atol=1e-9)
        assert not task.X.flags.writeable
    # Of wide tables the directions are those of the table searched.
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0][:, :3]

    class Turned:
        directions = turn

        def __call__(self, labels):
            return SimpleNamespace(basis=other)

    job = bare(scorer=Turned(), candidates=found, Z=X @ turn)
    (task,) = job._rest_tasks(["a"], 0)
    seen = (centred @ turn) @ (turn.T @ basis)
    left = centred @ turn - seen @ np.linalg.lstsq(seen, centred @ turn, rcond=None)[0]
    np.testing.assert_allclose(task.X, left, atol=1e-9)


def test_several_views_at_once_have_the_sizes_found():
    sizes = [4, 3, 2, 5]
    job = bare(
        views=lambda: [SimpleNamespace(memberships=[0] * k) for k in sizes],
        _task=lambda entry: entry, Z=np.zeros((600, 7)),
    )  # fmt: skip
    from subscape.exploration.followups import together_entries

    assert job._together(1) == together_entries([4, 3, 2], 3, 1, (600, 7))
    assert job.journal.decide("sizes for together 2", None) == [4, 3, 2]
    # What was asked for before is not asked for again.
    asked = job._together(1)[0]
    job.tasks = {
        "cloud": SimpleNamespace(finder=SimpleNamespace(n_clusters=4)),
        "views": SimpleNamespace(finder=asked.make()),
    }
    assert job._together(1) == together_entries([4, 3, 2], 3, 1, (600, 7))[1:]


# -- chance ---------------------------------------------------------------------------------------


def held(monkeypatch, few=(), scorer=None, turned=False):
    asked, updates = [], []

    def chance_maxima(*given, **more):
        asked.append((given, more))
        return CHANCE

    monkeypatch.setattr(exploration, "chance_maxima", chance_maxima)

    def unstable(outcome, found, chance, again):
        asked.append((outcome, found, chance, again))
        return outcome

    monkeypatch.setattr(exploration, "replace_unstable_views", unstable)
    monkeypatch.setattr(Exploration, "_n_ideas", 2)
    one = view(score=8.0)
    steady = ViewStability(0.9, np.ones(2), 0.8)
    job = bare(
        ready=SimpleNamespace(few_valued=np.array(few, dtype=int)),
        Z=X[:, :2] if turned else X,
        scorer=scorer or "directions",
        _on_compared_rows=lambda one: (one, "compared"),
        _as_chance_searches=lambda one: view(score=one[0].score / 2, normal=3.0),
        _where_seen=lambda views: ("seen", len(views)),
        _update=lambda words, outcome: updates.append((words, outcome)),
        _again=lambda views: [steady for _ in views],
        _with_ideas=lambda outcome, chance: [*outcome, chance],
        _with_nested=lambda outcome: ["nested", *outcome],
        _known=(None, [one], []), _in_time=lambda share: ("in time", share),
        _claimable_first=lambda views, found, chance: asked.append((views, found)) or views,
    )  # fmt: skip
    given = [view(score=4.0), view(score=2.0)]
    outcome = job.tested(given)
    (table, *rest), more = asked[0]
    assert rest[4]() == ("in time", 0.75)
    del rest[4]
    assert rest == [job.plan, job.journal, job.progress, 2, job.ready.few_valued]
    # The views, and what is clearest of all that was found.
    assert more["scores"] == [(2.0, 3.0), (1.0, 3.0), (4.0, 3.0)] and more["basis"] == ("seen", 2)
    assert set(more) == {"boxes", "scores", "basis", "n_ideas"} and more["n_ideas"] == 2
    views, found = asked.pop(1)
    assert [each.score for each in views] == [2.0, 1.0] and [each.score for each in found] == [4.0]
    first, second, *others = outcome[1:]
    assert outcome[0] == "nested" and others == [CHANCE] and job.chance is CHANCE
    assert (first.view.score, second.view.score) == (2.0, 1.0)
    assert first.chance is CHANCE and first.again is steady is second.again
    ((words, told),) = updates
    assert words == "samples of the rows, other ideas of a group"
    assert [one.again for one in told] == [None, None] and told[0].chance is CHANCE
    assert asked[1] == ([first, second], [one], CHANCE, job._again)
    return table, more["boxes"], job


def test_views_are_held_against_chance_and_samples(monkeypatch):
    table, boxes, job = held(monkeypatch)
    assert table is job.Z and boxes is False
    table, boxes, job = held(monkeypatch, turned=True)
    assert table is job.Z
    table, boxes, job = held(monkeypatch, few=[1], turned=True)
    assert table is job.X
    _, boxes, _ = held(monkeypatch, scorer="boxes")
    assert boxes is True


def test_where_the_clearest_view_is_seen():
    one, other = view(basis=np.eye(4)[:, 1:3]), view()
    assert bare()._where_seen([one, other]) is one.basis
    assert bare()._where_seen([]) is None
    assert bare(scorer="boxes")._where_seen([one]) is None
    # In the directions that are searched, if these are others.
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0][:, :3]
    directions = SimpleNamespace(directions=turn)
    scorers = SimpleNamespace(directions=directions, boxes=None)
    job = bare(Z=X @ turn, scorer=directions, scorers=scorers)
    np.testing.assert_allclose(job._where_seen([one]), np.linalg.qr(turn.T @ one.basis)[0])
    job.ready = SimpleNamespace(few_valued=np.array([1]))
    assert job._where_seen([one]) is one.basis


def test_what_the_search_of_chance_reaches_in_the_table(monkeypatch):
    asked = []

    def best(table, seed, few, *, numbers):
        asked.append((table, seed, few, numbers))
        return NullScores(1.0, 0.0, 2.0)

    monkeypatch.setattr(exploration, "best_scores", best)
    rows = np.arange(0, 60, 2)
    Z = X[:, :2].copy()
    monkeypatch.setattr(Exploration, "compared_rows", rows)
    job = bare(Z=Z)
    held = job._as_chance_searches(view(score=5.0, normal=1.5))
    assert (held.score, held.normal_score) == (1.0, 1.5)
    held = job._as_chance_searches(view(score=0.5, normal=6.0))
    assert (held.score, held.normal_score) == (0.5, 2.0)
    ((table, seed, _, numbers),) = asked
    np.testing.assert_array_equal(table, Z[rows])
    assert seed == seed_of(3, 17) and numbers == [2, 3]
    job = bare(Z=Z, ready=SimpleNamespace(few_valued=np.array([0])))
    job._as_chance_searches(view())
    np.testing.assert_array_equal(asked[1][0], X[rows])
    assert asked[1][2].tolist() == [0]
    untouched = view(score=5.0)
    assert bare(scorer="boxes")._as_chance_searches(untouched) is untouched


def test_scores_on_the_rows_that_are_compared(monkeypatch):
    whole = view(score=5.0)
    assert bare()._on_compared_rows(whole) is whole
    rows = np.arange(0, 60, 2)
    monkeypatch.setattr(Exploration, "compared_rows", rows)
    asked = []

    def compared(labels, memberships):
        asked.append((labels, memberships))
        return SimpleNamespace(score=3.0, normal_score=4.0)

    job = bare(compared=compared)
    held = job._on_compared_rows(view(score=5.0, normal=2.0))
    assert (held.score, held.normal_score) == (3.0, 2.0)
    held = job._on_compared_rows(whole := view(score=1.0, normal=9.0))
    assert (held.score, held.normal_score) == (1.0, 4.0)
    assert asked[1][0] is whole.labels and asked[1][1] is whole.memberships


def test_the_scorer_of_compared_rows(monkeypatch):
    labels = np.repeat([0, 1], 30)
    members = np.array([labels == 0, labels == 1])
    scorer = GroupingScorer(X)
    boxes = BoxScorer(scorer)
    scorers = SimpleNamespace(directions=scorer, boxes=boxes)
    job = bare(scorer=scorer, scorers=scorers)
    assert job.compared(labels) is scorer(labels)
    rows = np.arange(0, 60, 2)
    monkeypatch.setattr(Exploration, "compared_rows", rows)
    known = GroupingScorer(X[rows])
    found = job.compared(labels)
    assert found.score == pytest.approx(known(labels[rows]).score)
    first = job._comparing
    job.compared(labels, members)
    assert job._comparing is first  # made once
    job.scorer = boxes
    found = job.compared(labels, members)
    assert isinstance(job._comparing, BoxScorer)
    assert found.score == pytest.approx(BoxScorer(known)(labels[rows], members[:, rows]).score)
    overlapping = np.array([labels == 0, np.ones(60, bool)])
    assert job.compared(labels, overlapping).score == pytest.approx(
        BoxScorer(known)(labels[rows], overlapping[:, rows]).score
    )
    job.scorer = scorer
    job.compared(labels)
    assert not isinstance(job._comparing, BoxScorer)
    few = bare(scorer=scorer, scorers=scorers, ready=SimpleNamespace(few_valued=np.array([0])))
    told = GroupingScorer(X[rows], np.array([0]))(labels[rows]).score
    assert few.compared(labels).score == pytest.approx(told)


def test_so_many_rows_are_compared():
    job = bare(X=np.zeros((1200, 2)))
    assert len(job.compared_rows) == 1000
    job.plan = Plan("normal", 3, (60, 4), (), 2, 20)
    assert len(job.compared_rows) == 1200
    job.scorer = "boxes"
    assert len(job.compared_rows) == 1000


# -- other ideas ----------------------------------------------------------------------------------


def idea(labels=None, p_value=1e-5, kind="shapes", **more):
    labels = np.arange(60) % 3 if labels is None else labels
    known = {
        "idea": kind, "labels": labels, "score": 0.7, "p_value": p_value, "maxima": (),
        "columns": np.arange(4), "basis": np.eye(4)[:, :2] * 5, "finders": ("F",), "note": "note",
        "again": lambda rows: labels[rows], "gain": lambda labels: 0.0, "n_tables": 30,
    }  # fmt: skip
    return IdeaView(**known | more)


def with_ideas(monkeypatch, outcome, found, few=(), **more):
    asked = []

    def merged(outcome, new, X, few_valued):
        asked.append((list(outcome), new, few_valued))
        return [*outcome, new]

    monkeypatch.setattr(exploration, "merged_ideas", merged)
    monkeypatch.setattr(exploration, "returned", lambda idea, X, samples: ("back", len(samples)))
    lines = []
    job = bare(
        ready=SimpleNamespace(few_valued=np.array(few, dtype=int), origin=np.arange(4)),
        _ideas=lambda outcome: list(found),
        _by_line=lambda outcome, found: lines.append((list(outcome), list(found))),
        **more,
    )
    return job._with_ideas(outcome, CHANCE), asked, lines


def test_other_ideas_join_the_views(monkeypatch):
    outcome = [assessed(), assessed(False)]
    one = idea()
    made, asked, lines = with_ideas(monkeypatch, outcome, [None, one], few=[0])
    assert lines == [(outcome, [None, one])]
    ((before, new, few_valued),) = asked
    assert few_valued == 0.25 and [each.n_ideas for each in before] == [3, 3]
    assert [each.view for each in before] == [each.view for each in outcome]
    assert (new.idea, new.n_ideas, new.note, new.chance) == (one, 3, "note", CHANCE)
    assert new.again == ("back", 5)
    told = new.view
    assert told.memberships.tolist() == [(one.labels == k).tolist() for k in range(3)]
    assert told.labels is one.labels and (told.score, told.gain) == (0.7, 0.7)
    assert np.isnan(told.entropy) and told.row_confidence.tolist() == [1.0] * 60
    np.testing.assert_allclose(np.abs(told.basis), np.eye(4)[:, :2])
    assert len(made) == 3
    # One after the other.
    made, asked, _ = with_ideas(monkeypatch, outcome, [one, one])
    assert [len(before) for before, *_ in asked] == [2, 3] and made[0].n_ideas == 3


def test_when_no_other_ideas_are_tried(monkeypatch):
    outcome = [assessed(), assessed(False)]
    assert with_ideas(monkeypatch, outcome, [idea()], _in_time=lambda share: False)[0] is outcome
    # Sure boxes make valleys of their own.
    assert with_ideas(monkeypatch, outcome, [idea()], scorer="boxes")[0] is outcome
    unsure = [assessed(False)]
    assert len(with_ideas(monkeypatch, unsure, [idea()], scorer="boxes")[0]) == 2


def test_which_ideas_a_table_allows(monkeypatch):
    told, asked = [], []
    ready = SimpleNamespace(few_valued=np.zeros(0, int))
    for name in ("find_classes", "shapes_view"):

        def find(*given, name=name, **more):
            asked.append((name, given, more))
            return name

        monkeypatch.setattr(exploration, name, find)
    job = bare(
        ready=ready, searched="table", ideas=["old"], _is_told=lambda *given: given,
        progress=SimpleNamespace(tell=lambda *step: told.append(step)),
    )  # fmt: skip
    allowed = {}
    monkeypatch.setattr(
        exploration,
        "can_have_classes",
        lambda *given: allowed["classes"] and given == ("table", ready),
    )
    monkeypatch.setattr(
        exploration, "can_have_shapes", lambda given: allowed["shapes"] and given is ready
    )
    for classes, shapes, known in ((True, True, ["classes", "shapes"]), (True, False, ["classes"]),
                                   (False, True, ["shapes"]), (False, False, [])):  # fmt: skip
        allowed.update(classes=classes, shapes=shapes)
        asked.clear()
        found = job._ideas("outcome")
        assert job.ideas == known and len(found) == len(known) == len(asked)
        if classes:
            assert asked[0] == ("find_classes", ("table", ready), {"n_tables": 20, "seed": 3})
        if shapes:
            name, given, more = asked[-1]
            assert (name, given, more["n_tables"], more["seed"]) == ("shapes_view", (ready,), 20, 3)
            more["tell"](4, 9)
            assert told[-1] == ("groups of any shape", "chance", 4, 9)
            assert more["is_known"]("labels") == ("labels", "outcome")
    assert told[0] == ("classes in levels", "chance", 0, 20)


def by_line(monkeypatch, outcome, found, chance=None, seen=None, bent=False):
    monkeypatch.setattr(exploration, "line_view", lambda ready, *, seed: ("line", seed))
    monkeypatch.setattr(exploration, "is_bent", lambda given: given is X and bent)
    job = bare(chance=chance, ideas=[])
    if seen is not None:
        job.journal.decide("curve", lambda: seen)
    found = list(found)
    job._by_line(outcome, found)
    assert job.ideas == (["a valley along a line"] if found and found[-1] == ("line", 3) else [])
    return ("line", 3) in found


def test_a_line_is_looked_for_where_nothing_is_sure(monkeypatch):
    sure, unsure = assessed(), assessed(False)
    assert by_line(monkeypatch, [unsure], []) and by_line(monkeypatch, [], [None])
    assert not by_line(monkeypatch, [unsure, sure], [None])
    # Ideas count all that were tried.
    for p_value, known in ((0.005, False), (0.00501, True)):
        assert by_line(monkeypatch, [], [idea(p_value=p_value)]) is known
    for p_value, known in ((0.01 / 3, False), (0.00334, True)):
        assert by_line(monkeypatch, [], [None, idea(p_value=p_value)]) is known
    # Not where rows lie along a ring or a bent curve.
    curved = NullMaxima(LOW, LOW, LOW, LOW)
    assert by_line(monkeypatch, [unsure], [], curved, "curve in the table")
    assert by_line(monkeypatch, [unsure], [], CHANCE, "ring in the table", True)
    assert not by_line(monkeypatch, [unsure], [], curved, "ring in the table")
    assert not by_line(monkeypatch, [unsure], [], curved, "curve in the table", True)
    assert not by_line(monkeypatch, [unsure], [], curved, None, True)


@pytest.mark.parametrize(
    ("p", "known"), [(0.01 / 3, True), (0.00334, False), (float("nan"), False)]
)
def test_shapes_are_told_by_clouds_that_are_three_times_as_sure(monkeypatch, p, known):
    monkeypatch.setattr(exploration, "are_pieces", lambda view, n_groups, X: n_groups != 2)
    labels = np.arange(60) % 2
    one = SimpleNamespace(p_value=p, view=SimpleNamespace(labels=labels))
    job = bare()
    assert job._is_told(labels, [one]) is known
    assert job._is_told(np.where(np.arange(60) < 4, -1, labels), [one]) is known
    assert job._is_told(np.where(labels, 0, -1), [one]) is True  # one group
    assert job._is_told(np.arange(60) // 2 % 2, [one]) is False
    three = np.where(np.arange(60) == 0, 2, labels)
    assert job._is_told(three, [one]) is False  # pieces of three groups


@pytest.mark.parametrize(("classes", "shapes"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_ideas_are_counted_if_a_table_can_have_them(monkeypatch, classes, shapes):
    monkeypatch.setattr(exploration, "can_have_classes", lambda table, ready: bool(classes))
    monkeypatch.setattr(exploration, "can_have_shapes", lambda ready: bool(shapes))
    assert bare(searched=None)._n_ideas == 1 + classes + shapes


# -- groups within groups -------------------------------------------------------------------------


def nested(job, outcome, finer):
    asked = []

    def find(one, others, name):
        asked.append((one, others, name))
        return finer.get(id(one))

    job._nested = find
    job._clearer = lambda finer, outcome: finer
    return job._with_nested(outcome), asked


@pytest.mark.parametrize(("effort", "most"), [("quick", 1), ("normal", 3), ("thorough", 12)])
def test_within_so_many_views_groups_are_looked_for(effort, most):
    outcome = [assessed() for _ in range(14)]
    job = bare(plan=Plan(effort, 3, (60, 4), (), 2, 20))
    made, asked = nested(job, outcome, {})
    assert made == outcome and [one for one, *_ in asked] == outcome[:most]
    assert [name for *_, name in asked] == [f"view {i + 1}" for i in range(most)]


def test_what_other_views_tell_is_left_out():
    bases = [np.eye(4)[:, [i]] for i in range(3)]
    outcome = [AssessedView(view(score=9.0, normal=9.0, basis=each), CHANCE) for each in bases]
    outcome.insert(1, assessed(False))

    def directions(labels):
        return SimpleNamespace(basis=("of", labels.tolist()))

    job = bare(
        plan=Plan("normal", 3, (60, 4), (), 2, 20), scorer=directions, given={"g": np.arange(90)},
        scorers=SimpleNamespace(directions=directions, boxes=None), rows=np.array([5, 7]),
    )  # fmt: skip
    _, asked = nested(job, outcome, {})
    assert [one for one, *_ in asked] == [outcome[i] for i in (0, 2, 3)]
    assert all(a is b for a, b in zip(asked[1][1][:2], (bases[0], bases[2]), strict=True))
    assert asked[1][1][2:] == [("of", [5, 7])]
    # Boxes and classes hold none; and no time is left.
    job.scorer = "boxes"
    assert nested(job, outcome, {}) == (outcome, [])
    job.scorer = directions
    classes = AssessedView(view(), CHANCE, idea=idea(kind="classes"))
    _, asked = nested(job, [classes, *outcome], {})
    assert [one for one, *_ in asked] == [outcome[i] for i in (0, 2)]
    assert [name for *_, name in asked] == ["view 2", "view 3"]
    job.journal = Journal(None)
    job._in_time = lambda share: False
    assert job.left_out == [] and nested(job, outcome, {})[1] == []
    assert job.left_out == ["groups within groups"]


def test_a_finer_view_takes_the_place_and_unsure_versions_go():
    four = np.arange(60) % 4
    outcome = [
        AssessedView(view(four % 2, 9.0, 9.0), CHANCE), AssessedView(view(four, 0.0, 0.0), CHANCE),
        AssessedView(view(np.arange(60) // 4 % 3, 0.0, 0.0), CHANCE),
        AssessedView(view(four, 9.0, 9.0), CHANCE),
    ]  # fmt: skip
    finer = AssessedView(view(four), CHANCE)
    made, _ = nested(bare(), outcome, {id(outcome[0]): finer})
    assert made == [finer, outcome[2], outcome[3]]
    made, _ = nested(bare(), outcome[1:], {})
    assert made == outcome[1:]


def test_clouds_that_describe_the_rows_better_than_finer_groups():
    gains = {}

    def scorer(labels):
        return SimpleNamespace(over_normal=gains[int(labels.max()) + 1])

    two, three = np.arange(60) % 2, np.arange(60) % 3
    finer = AssessedView(view(two), CHANCE, note="groups within groups")
    pieces = AssessedView(view(three, 9.0, 9.0), CHANCE, are_pieces=True)
    gains.update({2: 1.0, 3: 1.5})
    job = bare(scorer=scorer)
    found = job._clearer(finer, [pieces])
    assert found.view is pieces.view and not found.are_pieces
    assert found.note == "clouds; groups within groups"
    gains[3] = 1.0
    assert job._clearer(finer, [pieces]) is finer
    gains[3] = 1.5
    plain = AssessedView(view(three, 9.0, 9.0), CHANCE)
    unsure = AssessedView(view(three, 0.0, 0.0), CHANCE, are_pieces=True)
    assert job._clearer(finer, [plain, unsure]) is finer
    assert job._clearer(finer, [unsure, pieces]).view is pieces.view


def within(monkeypatch, one, others=(), splits=None, *, turn=None, few=()):
    """What is looked for within a view, and what is made of it."""
    asked = []
    labels = np.arange(60) % 4
    if splits is None:
        splits = [
            Split(np.arange(30), 2, 0.0004, np.eye(4)[:, 1:2], Interval(1e-4, 0.002)),
            Split(np.arange(25), 3, 0.0123, np.eye(4)[:, 2:3]),
        ]

    def find(*given):
        asked.append(given)
        return labels, splits

    monkeypatch.setattr(exploration, "find_splits", find)
    monkeypatch.setattr(exploration, "returned", lambda idea, X, samples: ("back", len(samples)))
    directions = np.eye(4) if turn is None else turn

    class Scorer:
        def __call__(self, labels):
            return SimpleNamespace(gain=("gain", labels))

    Scorer.directions = directions
    scorer = Scorer()
    job = bare(
        scorer=scorer, scorers=SimpleNamespace(directions=scorer, boxes=None),
        Z=X if turn is None else X @ turn,
        ready=SimpleNamespace(few_valued=np.array(few, dtype=int)),
    )  # fmt: skip
    return job._nested(one, list(others), "view 1"), asked, labels, job


def test_a_view_of_groups_within_groups(monkeypatch):
    one = AssessedView(view(score=9.0, normal=9.0), CHANCE, n_ideas=2)
    found, asked, labels, job = within(monkeypatch, one)
    table, before, few, effort, seed, chance, where = asked[0]
    assert table is job.Z and before is one.view.labels and few is job.ready.few_valued
    assert (effort, seed, where) == ("quick", seed_of(3, 19), None)
    assert found.idea.idea == "nested" and found.n_ideas == 2 and found.chance is CHANCE
    words = (
        "groups within groups: the group of 30 rows is 2 (p < 0.001); the group of 25 rows is 3 "
        "(p = 0.012)"
    )
    assert found.idea.note == found.note == words
    assert found.idea.p_value == pytest.approx(0.0123 / 2) and found.p_value == pytest.approx(
        0.0123
    )
    assert found.idea.finders == ("CloudSearch",) and found.idea.n_tables == one.n_tables == 20
    assert found.again == ("back", 5) and found.idea.columns.tolist() == [0, 1, 2, 3]
    assert found.view.memberships.tolist() == [(labels == k).tolist() for k in range(4)]
    assert found.view.labels is labels and found.view.score == 9.0
    assert found.view.row_confidence.tolist() == [1.0] * 60 and found.idea.score == 9.0
    np.testing.assert_allclose(np.abs(found.idea.basis), np.eye(4)[:, :3], atol=1e-12)
    assert found.view.basis is found.idea.basis
    assert found.idea.gain("labels") == ("gain", "labels")
    # The interval is that of the worst, by ideas as the p-value.
    known = one.interval
    assert found.idea.interval == pytest.approx(
        (max(1e-4, known.low) / 2, max(0.002, known.high) / 2)
    )
    made = []
    monkeypatch.setattr(
        exploration, "chance_maxima", lambda *given, **more: made.append((given, more))
    )
    chance("part", "few", "numbers", "scores", "seen", "within 0")
    (given, more) = made[0]
    assert given[:5] == ("part", job.plan, job.journal, job.progress, 2) and given[6] == "few"
    assert (given[5].func, given[5].args) == (job._in_time, (0.9,))
    assert more == {
        "scores": ["scores"], "numbers": "numbers", "basis": "seen", "where": "view 1 within 0",
    }  # fmt: skip
    assert within(monkeypatch, one, splits=[])[0] is None


def test_splits_that_dissolve_are_undone(monkeypatch):
    one = AssessedView(view(), CHANCE, SimpleNamespace(halves=(), samples=()))
    given = []

    def last(*each):
        given.append(each)
        return each[0][1:]

    monkeypatch.setattr(exploration, "steady_splits", last)
    found, _, labels, _ = within(monkeypatch, one)
    ((splits, seen, before, after),) = given
    assert len(splits) == 2 and seen is labels and before is one.again and after == ("back", 5)
    known = labels.copy()
    known[:30] = 0
    assert found.view.labels.tolist() == known.tolist()
    assert found.note == "groups within groups: the group of 25 rows is 3 (p = 0.012)"
    monkeypatch.setattr(exploration, "steady_splits", lambda *each: [])
    assert within(monkeypatch, one)[0] is None


def test_a_view_that_was_less_sure_stays_so(monkeypatch):
    split = [Split(np.arange(30), 2, 1e-6, np.eye(4)[:, 1:2])]
    one = AssessedView(view(), CHANCE, idea=idea(p_value=0.004, finders=("A",)), n_ideas=2)
    found, *_ = within(monkeypatch, one, splits=split)
    assert found.idea.p_value == pytest.approx(0.004) and found.p_value == pytest.approx(0.008)
    assert found.idea.finders == ("A", "CloudSearch")
    assert found.idea.interval is None
    edge = [Split(np.arange(30), 2, 0.001, np.eye(4)[:, 1:2])]
    assert "(p = 0.001)" in within(monkeypatch, one, splits=edge)[0].note


def test_where_a_shape_is_seen(monkeypatch):
    flat = AssessedView(view(basis=np.eye(4)[:, :2]), CHANCE, idea=idea())
    assert within(monkeypatch, flat)[1][0][6] is flat.view.basis
    line = AssessedView(view(basis=np.eye(4)[:, :1]), CHANCE, idea=idea())
    assert within(monkeypatch, line)[1][0][6] is None
    classes = AssessedView(view(basis=np.eye(4)[:, :2]), CHANCE, idea=idea(kind="nested"))
    assert within(monkeypatch, classes)[1][0][6] is None
    clouds = AssessedView(view(basis=np.eye(4)[:, :2]), CHANCE)
    assert within(monkeypatch, clouds)[1][0][6] is None
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0][:, :3]
    split = [Split(np.arange(30), 2, 1e-6, np.eye(3)[:, 1:2])]
    assert within(monkeypatch, flat, turn=turn, splits=split)[1][0][6] is None


def test_what_others_tell_is_taken_out_of_the_table(monkeypatch):
    one = AssessedView(view(), CHANCE)
    rng = np.random.default_rng(0)
    others = [np.linalg.qr(rng.normal(size=(4, 1)))[0] for _ in range(2)]
    centred = X - X.mean(axis=0)

    def left(table, taken):
        seen = table @ taken
        return table - seen @ np.linalg.lstsq(seen, table, rcond=None)[0]

    _, asked, _, _ = within(monkeypatch, one, others)
    np.testing.assert_allclose(asked[0][0], left(centred, np.hstack(others)), atol=1e-9)
    # Nothing is left where all directions are taken.
    found, asked, *_ = within(monkeypatch, one, [np.eye(4)[:, :2], np.eye(4)[:, 2:]])
    assert found is None and not asked
    assert within(monkeypatch, one, [np.eye(4)[:, :3]])[0] is not None
    # In the directions that are searched.
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0][:, :3]
    split = [Split(np.arange(30), 2, 1e-6, np.eye(3)[:, 1:2])]
    found, asked, *_ = within(monkeypatch, one, others, turn=turn, splits=split)
    taken = turn.T @ np.hstack(others)
    np.testing.assert_allclose(asked[0][0], left(centred @ turn, taken), atol=1e-9)
    both = np.column_stack([one.view.basis, turn @ np.eye(3)[:, 1:2]])
    np.testing.assert_allclose(found.idea.basis, np.linalg.qr(both)[0])
    # Levels are searched as they are.
    _, asked, *_ = within(monkeypatch, one, others, turn=turn, few=[1], splits=[])
    np.testing.assert_allclose(asked[0][0], left(centred, np.hstack(others)), atol=1e-9)


def test_what_is_known_of_samples_is_split_again(monkeypatch):
    half, sample = np.arange(30), np.arange(10, 50)
    steady = ViewStability(
        0.9, np.ones(2), 0.9, samples=((sample, np.arange(40) % 2),),
        halves=((half, np.arange(30) % 3),),
    )  # fmt: skip
    one = AssessedView(view(), CHANCE, steady)
    monkeypatch.setattr(exploration, "steady_splits", lambda splits, *rest: list(splits))
    found, _, _, job = within(monkeypatch, one)
    given = []
    monkeypatch.setattr(exploration, "split_again", lambda *each: given.append(each))
    for rows in (half, sample, half.astype(np.int32), np.arange(5)):
        found.idea.again(rows)
    assert [each[2].tolist() for each in given] == [
        (np.arange(30) % 3).tolist(), (np.arange(40) % 2).tolist(), (np.arange(30) % 3).tolist(),
        [0] * 5,
    ]  # fmt: skip
    table, rows, _, splits, few, seed = given[0]
    assert table is job.Z and rows is half and len(splits) == 2
    assert few is job.ready.few_valued and seed == seed_of(3, 19)


# -- samples --------------------------------------------------------------------------------------


def member(finder, run, score=1.0):
    return SimpleNamespace(finder=finder, run=SimpleNamespace(id=run), score=score)


def test_of_runs_as_clear_the_quick_search_is_repeated_then_the_one_planned_first():
    runs = [SimpleNamespace(id=i) for i in (4, 3, 2, 1)]
    job = bare(tasks={i: f"task {i}" for i in range(9)}, runs=runs)
    last_bit = 1.0 + 1e-15
    one = SimpleNamespace(members=[
        member("A", 1, last_bit), member("B", 2, last_bit), member("B", 3), member("CloudSearch", 4)
    ])  # fmt: skip
    assert job._best_tasks([one]) == [("task 4", [one]), ("task 3", [one])]
    one.members[0].score = 1.1
    assert job._best_tasks([one]) == [("task 1", [one]), ("task 4", [one])]


def test_of_each_view_the_best_run_and_the_best_of_another_finder_are_repeated():
    one = SimpleNamespace(
        members=[member("A", 1), member("A", 2), member("B", 3), member("C", 4), member("B", 5)]
    )
    other = SimpleNamespace(members=[member("B", 3), member("D", 6), member("E", 7)])
    job = bare(tasks={i: f"task {i}" for i in range(9)})
    # The best of every view first; a run may stand for several views.
    assert job._best_tasks([one, other]) == [
        ("task 1", [one]), ("task 3", [other, one]), ("task 6", [other])
    ]  # fmt: skip
    assert job._best_tasks([]) == []


def test_other_finders_are_asked_on_the_samples_on_which_a_view_did_not_come_back(monkeypatch):
    asked, done = [], []

    def repeated(*given):
        asked.append(given)
        return [["a", "b", "c"], ["d", "e", "f"]]

    def run(name, tasks):
        done.append((name, list(tasks)))
        return list(tasks)

    monkeypatch.setattr(exploration, "resampling_tasks", repeated)
    monkeypatch.setattr(exploration, "view_stability", lambda view, samples, Z: (view, samples, Z))
    back = []  # a view, and one of the runs of a sample on which it came back
    monkeypatch.setattr(
        exploration, "came_back", lambda view, runs: any((view, run) in back for run in runs)
    )
    best = [("first of v", ["v"]), ("first of w", ["w"]), ("second of v, w", ["v", "w"])]
    job = bare(_best_tasks=lambda views: best, Z="Z", _run=run)
    everything = [["a", "b", "c"], ["d", "e", "f"]]
    assert job._again(["v", "w"]) == [("v", everything, "Z"), ("w", everything, "Z")]
    tasks = ["first of v", "first of w", "second of v, w"]
    assert asked == [(tasks, 60, "quick", 3)]
    assert done == [("samples", ["a", "d"]), ("samples", ["b", "e"]), ("samples", ["c", "f"])]
    # On the first sample both views came back, on the second w only, and by the run for v.
    back += [("v", "a"), ("w", "b"), ("w", "d")]
    done.clear()
    samples = [["a", "b"], ["d", "f"]]
    assert job._again(["v", "w"]) == [("v", samples, "Z"), ("w", samples, "Z")]
    assert done == [("samples", ["a", "d"]), ("samples", ["b"]), ("samples", ["f"])]
    back += [("v", "d"), ("w", "a")]
    done.clear()
    assert job._again(["v"])[0][1] == [["a"], ["d"]]
    assert done == [("samples", ["a", "d"])]


def test_a_study_is_kept_where_there_is_a_folder():
    kept = []
    study = SimpleNamespace(save=kept.append)
    bare()._keep(study)
    bare(folder="folder")._keep(study)
    assert kept == ["folder"]


def test_search_rows_need_ten():
    with pytest.raises(SubscapeError, match="search_rows must be at least 10, got 9"):
        explore(X, search_rows=9)


def test_what_is_kept_in_the_folder(tmp_path, monkeypatch):
    removed = []
    monkeypatch.setattr(exploration, "remove_leftovers", removed.append)
    folder = tmp_path / "study"
    job = Exploration(as_table(X), effort="quick", folder=str(folder), plan=tiny)
    assert job.folder == folder and removed == [folder] and (folder / "plan.json").exists()
    assert job.journal.path == folder / "decisions.jsonl" and job.store is not None
    with pytest.raises(SubscapeError, match="holds a study already"):
        Exploration(as_table(X), effort="quick", folder=folder, plan=tiny)
    again = Exploration(as_table(X), effort="quick", folder=folder, plan=tiny, resume=True)
    assert again.plan == job.plan
    with pytest.raises(SubscapeError, match="the given groupings have changed"):
        Exploration(
            as_table(X), effort="quick", folder=folder, plan=tiny, resume=True,
            given=np.arange(60) % 2,
        )  # fmt: skip
    assert Exploration(as_table(X), plan=tiny).journal.path is None
