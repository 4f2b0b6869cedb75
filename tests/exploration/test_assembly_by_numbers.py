"""From views to a study, with every part of the exploration set by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.exploration import assembly
from subscape.exploration.assembly import (
    AssessedView,
    _all_rows,
    _cluster_p_values,
    _everything,
    _large_enough,
    _left_to_do,
    _loadings,
    _map,
    _near_misses,
    _rows_of_parts,
    _telling_first,
    _told_by_missing,
    _two_directions,
    assemble,
    rows_shown,
)
from subscape.exploration.assess import NullMaxima, ViewStability
from subscape.exploration.boxes import BoxScorer
from subscape.exploration.candidates import Candidate
from subscape.exploration.ideas import IdeaView
from subscape.exploration.information import redundancy
from subscape.exploration.parted_tables import PartedTable
from subscape.exploration.plan import Plan
from subscape.exploration.preparation import prepare
from subscape.exploration.separation import GroupingScorer
from subscape.exploration.views import Consensus
from subscape.tables.table import Table
from subscape.validation.fitted_tails import Interval
from subscape.validation.max_statistic import gumbel_p_value, tail_interval

N = 60
FIRST, SECOND, THIRD = np.arange(N) % 2, np.arange(N) // 20, (np.arange(N) // 5) % 2
MAXIMA = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06)


def numbers():
    """Two groupings: in the columns 0 and 1, and, of three groups, in 2 and 3."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    X[:, :2] += 6.0 * FIRST[:, None]
    X[:, 2:4] += 7.0 * SECOND[:, None]
    return X


def run_of(name, finder="LAC", title=None, **fields):
    note = {} if title is None else {"title": title}
    return SimpleNamespace(
        id=name, provenance={"finder": f"subscape.finders.{finder}"}, note=note, seconds=2.5,
        ok=True, error=None, **fields,
    )  # fmt: skip


def candidate(job, name, labels, score=None, place=0, finder="LAC", title=None):
    labels = np.asarray(labels)
    told = job.scorer(labels)
    found = SubspaceClustering.from_labels(labels, n_features=job.X.shape[1])
    score = told.score if score is None else score
    run = run_of(name, finder, title)
    return Candidate(run, place, found, labels, score, told.gain, told.basis)


def consensus(*members, labels=None):
    labels = members[0].labels if labels is None else labels
    inside = np.array([labels == k for k in range(labels.max() + 1)])
    best = members[0]
    return Consensus(
        members=list(members), places=list(range(len(members))), memberships=inside,
        labels=labels, row_confidence=np.linspace(0.5, 1.0, len(labels)), score=best.score,
        gain=best.gain, entropy=1.0, basis=best.basis,
    )  # fmt: skip


def small_job(X=None, rows=None, **changes):
    table = Table.from_array(numbers() if X is None else X)
    rows = np.arange(table.n_rows) if rows is None else rows
    searched = table.take(rows)
    ready = prepare(searched)
    scorer = GroupingScorer(ready.X)
    fields = {
        "table": table, "searched": searched, "rows": rows, "ready": ready, "X": ready.X,
        "plan": Plan("quick", 7, (0, 0), (), 1, 19), "folder": None,
        "scorer": scorer, "runs": [], "candidates": [], "truth": {}, "ideas": (), "seed": 7,
        "chance": NullMaxima(MAXIMA, MAXIMA), "time": 12.5, "to_come": (),
        "left_out": [],
        "scorers": SimpleNamespace(boxes=None), "jobs": None, "compared_pairs": {},
        "journal": SimpleNamespace(decide=lambda what, how: True),
        "compared": scorer, "_in_time": lambda share=1.0: True,
        "_again": lambda views: [
            ViewStability(0.25 + i, np.ones(2), 0.5) for i in range(len(views))
        ],
    }  # fmt: skip
    return SimpleNamespace(**(fields | changes))


@pytest.fixture
def job():
    return small_job()


def idea_view(**changes):
    fields = {
        "idea": "shapes", "labels": FIRST, "score": 1.0, "p_value": 0.002, "maxima": (0.1,) * 9,
        "columns": np.arange(2), "basis": np.eye(5)[:, :2], "finders": ("Valleys",), "note": "why",
        "again": lambda rows: FIRST[rows], "gain": lambda labels: 1.0, "n_tables": 19,
        "interval": Interval(0.001, 0.004),
    }  # fmt: skip
    return IdeaView(**(fields | changes))


# -- p-values -------------------------------------------------------------------------------------


def test_the_p_value_of_a_view_counts_all_ideas(job):
    view = replace(consensus(candidate(job, "a", FIRST)), score=0.08, normal_score=0.3)
    chance = NullMaxima(MAXIMA, (), (0.02, 0.05, 0.03), (), (0.1, 0.2, 0.25, 0.22))
    known = chance.p_value(0.08, 0.3)
    assert 0 < known < 0.2 and known != chance.p_value(0.08)
    assert AssessedView(view, chance).p_value == known
    assert AssessedView(view, chance, n_ideas=3).p_value == pytest.approx(3 * known)
    assert AssessedView(view, chance, n_ideas=10**9).p_value == 1.0
    assert np.isnan(AssessedView(view).p_value)
    assert AssessedView(view, chance, are_pieces=True).p_value == 1.0
    idea = AssessedView(view, chance, idea=idea_view(), n_ideas=3)
    assert idea.p_value == pytest.approx(0.006)
    assert AssessedView(view, chance, idea=idea_view(p_value=0.6), n_ideas=3).p_value == 1.0
    assert AssessedView(view).n_ideas == 1 and AssessedView(view).note == ""


def test_behind_a_p_value_stand_the_tables_of_the_kind_of_which_there_are_fewest(job):
    view = consensus(candidate(job, "a", FIRST))
    assert AssessedView(view).n_tables == 0
    assert AssessedView(view, NullMaxima(MAXIMA, ())).n_tables == 6
    assert AssessedView(view, NullMaxima(MAXIMA, (), (0.1, 0.2))).n_tables == 2
    assert AssessedView(view, NullMaxima((0.1,), (), (0.1, 0.2))).n_tables == 1
    assert AssessedView(view, NullMaxima((), ())).n_tables == 0
    assert AssessedView(view, NullMaxima(MAXIMA, ()), idea=idea_view()).n_tables == 19


def test_only_p_values_of_a_fitted_tail_have_an_interval(job):
    view = replace(consensus(candidate(job, "a", FIRST)), score=0.3)
    chance = NullMaxima(MAXIMA, ())
    one = AssessedView(view, chance)
    assert one.p_value < 1 / 7
    assert one.interval == chance.interval(0.3)
    assert AssessedView(view, chance, n_ideas=2).interval == chance.interval(0.3).times(2)
    counted = AssessedView(replace(view, score=0.055), chance)
    assert counted.p_value == pytest.approx(2 / 7) and counted.interval is None
    assert AssessedView(view, chance, are_pieces=True).interval is None
    assert AssessedView(view).interval is None
    # Of 19 tables, one in twenty is what can be counted.
    for p, known in ((0.05, None), (0.05 - 1e-9, Interval(0.002, 0.008))):
        assert AssessedView(view, chance, idea=idea_view(p_value=p), n_ideas=2).interval == known
    assert AssessedView(view, idea=idea_view(interval=None)).interval is None


# -- the whole study ------------------------------------------------------------------------------


def whole(job, *, provisional=False):
    """Two views, one better than chance, a candidate in none, and one that is a version."""
    first = candidate(job, "r1", FIRST, title="LAC(2)")
    again = candidate(job, "r2", FIRST, place=1, finder="KMeans")
    second = candidate(job, "r3", SECOND, title="EM(3)", finder="GaussianMixtures")
    other = candidate(job, "r4", THIRD, score=0.02, title="LAC(9)")
    version = candidate(job, "r5", np.where(np.arange(N) == 25, 0, SECOND), score=9.0)
    job.candidates = [first, again, second, other, version]
    job.runs = [one.run for one in job.candidates]
    for one in job.candidates:
        one.run.in_table = lambda one=one: (
            [SubspaceClustering.from_labels(np.full(N, -1) , n_features=5)] * one.place
            + [one.clustering]
        )  # fmt: skip
    failed = run_of("r6", title="CLIQUE()", in_table=list)
    failed.ok, failed.error = False, "too large"
    unnamed = run_of("r7", in_table=list)
    unnamed.ok, unnamed.error = False, ValueError("why")
    job.runs += [failed, unnamed]
    chance = NullMaxima(MAXIMA, MAXIMA)
    unclear = AssessedView(replace(consensus(first, again), score=0.03), chance)
    steady = ViewStability(0.875, np.array([0.1, 0.2, 0.3]), 0.625)
    clear = AssessedView(consensus(second), chance, again=steady, note="a note")
    return assemble(job, [unclear, clear], provisional=provisional)


def test_views_that_are_claimed_come_first(job):
    study = whole(job)
    first, second = study.views
    assert (first.number, second.number) == (1, 2)
    assert first.p_value < 0.01 < second.p_value
    assert first.labels.tolist() == SECOND.tolist() and second.labels.tolist() == FIRST.tolist()
    assert first.finders == ("GaussianMixtures",) and second.finders == ("LAC", "KMeans")
    assert second.run_ids == ("r1", "r2") and second.titles == ("LAC(2)", "KMeans")
    assert (first.stability, first.replication, first.idea_note) == (0.875, 0.625, "a note")
    assert first.cluster_stability.tolist() == [0.1, 0.2, 0.3]
    assert np.isnan(second.stability) and np.isnan(second.replication)
    assert np.isnan(second.cluster_stability).all() and len(second.cluster_stability) == 2
    assert (first.idea, first.n_tables, first.n_ideas) == ("clouds", 6, 1)
    assert second.p_interval is None and first.p_interval is not None
    assert len(first.merges) == 1 and second.merges == ()
    assert first.row_confidence.tolist() == np.linspace(0.5, 1.0, N).tolist()
    assert first.score == job.candidates[2].score and second.score == 0.03
    np.testing.assert_allclose(
        study.between_views, [[1.0, redundancy(FIRST, SECOND)], [redundancy(FIRST, SECOND), 1.0]]
    )
    assert second.missing_redundancy == 0.0
    assert second.descriptions[0].startswith("cluster 1: 30 rows (50%); ")
    assert first.coordinates.shape == (N, 2)


def test_what_is_written_of_the_exploration(job):
    job.truth = {"known": THIRD, "same": FIRST}
    study = whole(job)
    assert study.failures == (("CLIQUE()", "too large"), ("r7", "why"))
    assert [(t["name"], [round(v["ari"], 6) for v in t["views"]][1]) for t in study.truth] == [
        ("known", round(study.truth[0]["views"][1]["ari"], 6)), ("same", 1.0),
    ]  # fmt: skip
    assert study.truth[0]["views"][0]["ari"] < 0.1
    assert study.table_schema[0] == {"name": "x0", "role": "numeric", "kind": "number", "note": ""}
    assert study.shape == (N, 5) and study.row_names is None and study.folder is None
    assert study.chance == MAXIMA and study.curve_chance == () and not study.is_provisional
    assert study.searched_rows.tolist() == study.shown_rows.tolist() == list(range(N))
    assert study.notes == (*job.table.notes, *job.ready.notes)
    assert study.recipes is job.ready.recipes and study.part_lengths == ()
    assert study.power is not None and study.power.n_rows == N
    known = {
        "effort": "quick", "seed": 7, "time": 12.5, "searched_rows": N, "runs": 7,
        "null_tables": 6, "ideas": "clouds", "source": "",
    }  # fmt: skip
    assert {name: study.settings[name] for name in known} == known
    assert not {"to_come", "left_out", "library_size", "not_run"} & set(study.settings)
    job.plan = replace(job.plan, not_run=(("P3C", "for few columns"), ("DOC", "for fewer")))
    assert whole(job).settings["not_run"] == "P3C (for few columns); DOC (for fewer)"
    names, values = study.value_features, study.values
    np.testing.assert_allclose(values, job.table.X[:, [int(n[1]) for n in names]], rtol=1e-6)


def test_a_study_that_was_stopped(job):
    job.chance, job.to_come, job.ideas = None, ("samples",), {"shapes": 1, "classes": 2}
    job.left_out = ["a", "b"]
    job.scorers, job.folder = SimpleNamespace(boxes=1), "a/b"
    job.table = replace(job.table, source={"library_size": 3.0, "path": "x.csv"})
    study = whole(job, provisional=True)
    assert study.is_provisional and study.chance == () and study.power is None
    known = {
        "null_tables": 19, "ideas": "clouds, boxes, shapes, classes", "to_come": ("samples",),
        "left_out": "a and b",
        "library_size": 3.0, "source": "x.csv",
    }  # fmt: skip
    assert {name: study.settings[name] for name in known} == known
    assert study.folder == "a/b"
    # Nothing is tested, and no p-value asked for, before it is known.
    assert all(fact.q_value is None for view in study.views for k in view.facts for fact in k)
    assert all(np.isnan(miss.p_value) for miss in study.near_misses)
    whole_study = whole(small_job())
    assert all(fact.q_value is not None for v in whole_study.views for k in v.facts for fact in k)


def test_results_are_placed_with_their_views(job):
    study = whole(job)
    assert [result.name for result in study.results] == ["r1#0", "r3#0", "r4#0", "r5#0"]
    by_name = {result.name: result for result in study.results}
    assert by_name["r3#0"].view == 1 and by_name["r1#0"].view == 2 and by_name["r4#0"].view == 0
    assert by_name["r3#0"].n_clusters == 3 and by_name["r4#0"].title == "LAC(9)"
    assert by_name["r4#0"].score == 0.02 and by_name["r4#0"].seconds == 2.5
    places = np.array([[result.x, result.y] for result in study.results])
    np.testing.assert_allclose(places, _map(study.distances))


def test_what_is_left_to_do():
    job = small_job(rows=np.arange(50))
    assert _left_to_do(job, True) == [
        "stopped before the 10 rows that were not searched were put into clusters"
    ]
    assert _left_to_do(job, False) == []
    assert _left_to_do(small_job(), True) == []


def test_boxes_are_said():
    job = small_job()
    job.scorer = BoxScorer(job.scorer)
    assert assembly._how_judged(job) == [
        "groups that are each narrow in features of their own describe this table best, and all "
        "groupings are judged as such"
    ]
    assert assembly._how_judged(small_job()) == []
    view = AssessedView(consensus(candidate(small_job(), "a", FIRST)))
    assert assembly._idea(job, view) == "boxes" and assembly._idea(small_job(), view) == "clouds"
    assert assembly._idea(job, replace(view, idea=idea_view())) == "shapes"


def test_rows_in_pictures():
    def shown(n, seed):
        return rows_shown(SimpleNamespace(rows=np.arange(n) * 2, seed=seed))

    assert shown(5000, 3).tolist() == list(range(5000))
    known = np.random.default_rng([3, 2]).choice(5001, 5000, replace=False)
    assert shown(5001, 3).tolist() == sorted(known.tolist())


# -- groupings that are no views ------------------------------------------------------------------


def test_everything_that_was_found(job):
    whole(job)
    known = job.candidates
    assert _everything(job, True) is known
    job.candidates = known[2:3]
    found = _everything(job, False)
    # The same grouping again is none more, and those known stay what they are.
    assert [one.name for one in found] == ["r1#0", "r3#0", "r4#0", "r5#0"]
    assert found[1] is known[2]
    told = job.scorer(THIRD)
    assert (found[2].score, found[2].gain) == (told.score, told.gain)
    assert found[2].labels.tolist() == THIRD.tolist()
    job.candidates = []
    assert [one.name for one in _everything(job, True)] == ["r1#0", "r3#0", "r4#0", "r5#0"]


def misses(job, everything, outcome=(), provisional=False, distances=None):
    if distances is None:
        distances = 1.0 - np.eye(len(everything))
    return _near_misses(job, everything, outcome, distances, provisional)


def halves(seed):
    return np.random.default_rng(seed).permutation(N) % 2


def test_the_three_clearest_groupings_that_are_no_views(job):
    job.ideas = ("shapes",)
    scores = (0.02, 0.05, 0.05, -0.3, 0.04, 0.001)
    found = [
        candidate(job, f"m{i}", halves(i), score, i, title=f"LAC({i})")
        for i, score in enumerate(scores)
    ]
    told = misses(job, found)
    assert [(miss.name, miss.title, miss.finder) for miss in told] == [
        ("m1#1", "LAC(1)", "LAC"), ("m2#2", "LAC(2)", "LAC"), ("m4#4", "LAC(4)", "LAC"),
    ]  # fmt: skip
    assert [miss.stability for miss in told] == [0.25, 1.25, 2.25]
    assert [miss.score for miss in told] == [0.05, 0.05, 0.04]
    assert [miss.n_clusters for miss in told] == [2, 2, 2]
    known = [min(1.0, 2 * gumbel_p_value(score, MAXIMA)) for score in (0.05, 0.05, 0.04)]
    assert [miss.p_value for miss in told] == pytest.approx(known) and known[0] < 1
    assert all(len(miss.features) == 4 for miss in told)
    assert told[0].missing_redundancy == 0.0


def test_versions_of_views_and_of_each_other_are_no_near_misses(job):
    found = [candidate(job, f"m{i}", halves(i), 1.0 - i / 10) for i in range(5)]
    distances = 1.0 - np.eye(5)
    distances[0, 1] = distances[1, 0] = 0.1  # as far as versions are not
    distances[0, 2] = distances[2, 0] = 0.0999
    told = misses(job, found, distances=distances)
    assert [miss.name for miss in told] == ["m0#0", "m1#0", "m3#0"]
    chance = NullMaxima(MAXIMA, MAXIMA)
    view = AssessedView(replace(consensus(found[0]), score=0.01), chance)
    like = candidate(job, "like", np.where(np.arange(N) == 0, 1 - halves(0), halves(0)), 5.0)
    told = misses(job, [*found, like], [view])
    assert [miss.name for miss in told] == ["m1#0", "m2#0", "m3#0"]
    assert misses(job, []) == ()


def test_near_misses_are_looked_at_on_samples_only_where_nothing_is_claimed(job):
    found = [candidate(job, "m0", THIRD, 0.02)]
    chance = NullMaxima(MAXIMA, MAXIMA)
    claimed = AssessedView(consensus(candidate(job, "a", SECOND)), chance)
    assert claimed.p_value <= 0.01
    assert np.isnan(misses(job, found, [claimed])[0].stability)
    unclear = AssessedView(replace(claimed.view, score=0.02), chance)
    assert misses(job, found, [unclear])[0].stability == 0.25
    asked = []
    job.journal = SimpleNamespace(decide=lambda what, how: asked.append((what, how)) or False)
    assert np.isnan(misses(job, found)[0].stability)
    assert asked == [("samples of candidates", job._in_time)]
    misses(job, [])
    job.chance = None
    told = misses(job, found)[0]
    assert np.isnan(told.stability) and np.isnan(told.p_value) and len(asked) == 1
    job.chance = chance
    assert np.isnan(misses(job, found, provisional=True)[0].p_value)


def test_features_of_a_near_miss_are_those_that_tell_most(job, monkeypatch):
    found = [candidate(job, "m0", np.where(np.arange(N) < 45, 0, 1), 0.02)]
    told = np.array([[0.1, 0.0, 0.3, -0.5, 0.2], [0.5, 0.0, 0.1, 1.0, 0.0]])
    clustering = SimpleNamespace(sizes=np.array([45, 15]))
    monkeypatch.setattr(assembly, "in_table_columns", lambda *_: (clustering, told))
    # 45 and 15 rows: 12, 0, 15, 15, 9.
    assert misses(job, found)[0].features == ("x2", "x3", "x0", "x4")
    told[0] = [0.1, 0.2, 0.3, -0.5, 0.4]
    assert misses(job, found)[0].features == ("x4", "x2", "x3", "x0")
    told[:] = 0.0
    assert misses(job, found)[0].features == ()


# -- rows of a view -------------------------------------------------------------------------------


def test_clusters_too_small_to_be_seen_are_noise():
    def order(sizes, n_rows):
        inside = np.zeros((len(sizes), max(sizes)), dtype=bool)
        for k, size in enumerate(sizes):
            inside[k, :size] = True
        return _large_enough(SimpleNamespace(memberships=inside), n_rows).tolist()

    assert order([2, 9, 3], 100) == [1, 2]
    assert order([10, 20, 9], 1000) == [1, 0]
    assert order([1, 2], 100) == [1, 0]  # where all are small, all stay


def rule_of(labels, sure):
    calls = []

    def rule(X):
        calls.append(X)
        n = sum(len(each) for each in calls[:-1])
        return labels[n : n + len(X)], sure[n : n + len(X)]

    return rule, calls


def test_rows_that_were_not_searched_are_put_in_by_the_rule(monkeypatch):
    rows = np.arange(0, N, 2)
    job = small_job(rows=rows)
    memberships = np.array([np.arange(30) < 10, (np.arange(30) >= 10) & (np.arange(30) < 25)])
    confidence = np.linspace(0.1, 0.9, 30)
    labels = np.arange(N) % 3 - 1
    sure = np.linspace(1, 2, N)
    monkeypatch.setattr(assembly, "BLOCK", 25)
    rule, calls = rule_of(labels, sure)
    inside, found = _all_rows(job, memberships, confidence, rule)
    assert [len(X) for X in calls] == [25, 25, 10]
    np.testing.assert_allclose(calls[0][rows[:12]], job.X[:12], atol=1e-9)
    for i in range(N):
        if i % 2 == 0:
            assert inside[:, i].tolist() == memberships[:, i // 2].tolist()
            assert found[i] == confidence[i // 2]
        else:
            assert inside[:, i].tolist() == [labels[i] == 0, labels[i] == 1]
            assert found[i] == sure[i]
    inside, found = _all_rows(job, memberships, confidence, None)
    assert not inside[:, 1::2].any() and not found[1::2].any()
    np.testing.assert_array_equal(inside[:, ::2], memberships)
    all_searched = small_job()
    assert _all_rows(all_searched, memberships, confidence, rule)[0] is memberships


def test_rows_of_parts_are_put_in_where_they_are():
    rows = np.array([1, 4, 5])
    memberships = np.array([[True, False, True], [False, True, True]])
    confidence = np.array([0.25, 0.5, 0.75])
    labels, sure = np.array([0, 1, 1, -1, 0, 0, 0, 1], np.int32), np.linspace(1, 2, 8)
    here = SimpleNamespace(here=lambda: (labels.copy(), sure.copy()))
    asked = []
    table = SimpleNamespace(n_rows=8, assigned=lambda *given: asked.append(given) or here)
    job = SimpleNamespace(rows=rows, ready=SimpleNamespace(recipes="recipes"))
    found, confident = _rows_of_parts(job, table, memberships, confidence, "rule")
    assert asked == [("recipes", "rule")]
    assert found.toarray().astype(int).tolist() == [
        [1, 1, 0, 0, 0, 1, 1, 0],
        [0, 0, 1, 0, 1, 1, 0, 1],
    ]
    assert (np.diff(found.indices[: found.indptr[1]]) > 0).all() and found.dtype == bool
    assert confident[rows].tolist() == confidence.tolist() and confident[0] == 1.0
    found, confident = _rows_of_parts(job, table, memberships, confidence, None)
    assert found.toarray().astype(int).tolist() == [
        [0, 1, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 1, 0, 0],
    ]
    assert confident.tolist() == [0, 0.25, 0, 0, 0.5, 0.75, 0, 0] and len(asked) == 1
    assert isinstance(found, sparse.csr_array)
    assert PartedTable is assembly.PartedTable


def test_p_values_of_clusters(job, monkeypatch):
    view = consensus(candidate(job, "a", SECOND))
    chance = NullMaxima((0.5, 0.6), MAXIMA)
    monkeypatch.setattr(assembly, "cluster_scores", lambda labels, scorer: [0.3, 0.045])
    found = _cluster_p_values(job, AssessedView(view, chance, n_ideas=2), SECOND, 3)
    known = [
        2 * gumbel_p_value(0.3, MAXIMA),
        2 * gumbel_p_value(0.045, MAXIMA),
        1.0,
    ]
    assert [p for p, _ in found] == pytest.approx(known) and known[1] < 1
    # The first is beyond all tables, so that its tail was fitted; the others were counted.
    within = tail_interval(0.3, MAXIMA)
    assert found[0][1] == pytest.approx((2 * within.low, 2 * within.high))
    assert found[0][1][0] < found[0][0] < found[0][1][1]
    assert [interval for _, interval in found[1:]] == [None, None]
    one = AssessedView(view, idea=idea_view(interval=Interval(0.0005, 0.004), n_tables=99))
    assert _cluster_p_values(job, one, SECOND, 3) == [(0.002, (0.0005, 0.004))] * 3
    unknown = _cluster_p_values(job, AssessedView(view), SECOND, 3)
    assert np.isnan([p for p, _ in unknown]).all() and unknown[0][1] is None


def test_what_a_tree_is_made_of(job, monkeypatch):
    asked = []
    monkeypatch.setattr(
        assembly, "merge_tree",
        lambda labels, seen, gain, p_value, samples, by_centres: asked.append(
            (labels, seen, gain, p_value, samples, by_centres)
        ) or ("tree",),
    )  # fmt: skip
    chance = NullMaxima(MAXIMA, MAXIMA)
    view = consensus(candidate(job, "a", SECOND))
    order = np.array([2, 0, 1])
    steady = ViewStability(0.9, np.ones(3), 0.5, samples=(("rows", "labels"),))
    make = assembly._merges
    assert make(job, AssessedView(view, chance), SECOND, order) == () and asked == []
    one = AssessedView(view, chance, again=steady, n_ideas=2)
    assert make(job, one, SECOND, order) == ("tree",)
    labels, seen, gain, p_value, samples, by_centres = asked.pop()
    assert labels is SECOND and samples == steady.samples and by_centres is True
    np.testing.assert_allclose(seen, job.X @ view.basis)
    assert gain(FIRST) == job.scorer(FIRST).gain
    job.compared = lambda labels: SimpleNamespace(score=0.07)
    p, within = p_value(FIRST)
    assert p == pytest.approx(2 * gumbel_p_value(0.07, MAXIMA)) and p < 1
    assert within == tail_interval(0.07, MAXIMA).times(2)
    job.compared = lambda labels: SimpleNamespace(score=0.0)
    assert p_value(FIRST) == (1.0, None)
    make(job, replace(one, chance=None), SECOND, order)
    untested = asked.pop()[3](FIRST)
    assert np.isnan(untested[0]) and untested[1] is None
    told = []
    for idea in ("nested", "shapes"):
        other = idea_view(idea=idea, gain=lambda given: told.append(given.tolist()) or 0.5)
        assert make(job, replace(one, idea=other), SECOND, order) == ("tree",)
        labels, seen, gain, p_value, samples, by_centres = asked.pop()
        assert by_centres == (idea == "nested") and p_value is None and samples == steady.samples
        np.testing.assert_allclose(seen, job.X[:, :2])
        # Labels of the view count from its largest cluster on; the idea knows its own.
        assert gain(np.array([0, 1, 2, -1])) == 0.5 and told.pop() == [2, 0, 1, -1]
    job.scorer = BoxScorer(job.scorer)
    make(job, one, SECOND, order)
    assert asked.pop()[5] is True


def test_views_of_other_ideas_and_small_clusters(job):
    labels = np.where(np.arange(N) < 2, 0, np.where(np.arange(N) < 20, 1, 2))
    view = consensus(candidate(job, "a", labels))
    shown = np.arange(N)
    make = assembly.make_view
    one = make(job, 4, AssessedView(view), shown, False)
    assert one.number == 4 and np.bincount(one.labels + 1).tolist() == [2, 40, 18]
    everyone = make(job, 4, AssessedView(view), shown, False, everyone=True)
    assert np.bincount(everyone.labels).tolist() == [40, 18, 2]
    shapes = make(job, 1, AssessedView(view, idea=idea_view(), note="so"), shown, False)
    assert shapes.finders == ("Valleys",) and (shapes.idea, shapes.idea_note) == ("shapes", "so")
    assert shapes.rule.basis.shape == (5, 2) and len(shapes.rule.centres) == N


# -- directions -----------------------------------------------------------------------------------


def test_directions_of_one_column_and_of_none():
    X = np.arange(6.0)[:, None]
    assert _two_directions(np.zeros((1, 0)), X - 2.5).tolist() == [[0.0, 0.0]]
    # Of one row there is one more direction at most.
    two = _two_directions(np.zeros((3, 0)), np.ones((1, 3)))
    assert two.shape == (3, 2) and (two[:, 1] == 0).all()
    basis = -np.eye(3)
    np.testing.assert_array_equal(_two_directions(basis, np.ones((4, 3))), np.eye(3)[:, :2])


def test_loadings_by_hand():
    ready = prepare(
        Table.read(
            __import__("pandas").DataFrame(
                {"x": np.arange(20.0), "kind": ["a", "b"] * 10, "y": np.arange(20.0) ** 2 % 7}
            )
        )
    )
    assert ready.X.shape[1] == 4
    basis = np.array([[0.5, -0.1], [-0.3, 0.2], [-0.4, 0.1], [0.0, -0.7]])
    order = {feature: np.flatnonzero(ready.origin == feature) for feature in range(3)}
    found = _loadings(SimpleNamespace(ready=ready), basis)
    for feature, own in order.items():
        size = np.sqrt(np.square(basis[own]).sum(axis=0))
        if len(own) == 1:  # numbers keep their sign
            size = np.where(basis[own[0]] < 0, -size, size)
        np.testing.assert_allclose(found[feature], size)


def test_what_gaps_tell_about_labels():
    def told(absent, labels=FIRST):
        return _told_by_missing(
            SimpleNamespace(ready=SimpleNamespace(absent=absent)), np.asarray(labels)
        )

    absent = np.zeros((N, 4), dtype=bool)
    assert told(absent) == 0.0
    absent[:, 1] = THIRD == 1
    absent[::3, 2] = True
    known = [redundancy(FIRST, absent[:, j]) for j in (1, 2)]
    known.append(redundancy(FIRST, absent.sum(axis=1)))
    assert told(absent) == pytest.approx(max(known))
    # The number of gaps tells what no single one does.
    both = np.zeros((4, 2), dtype=bool)
    both[1, 0] = both[2, 1] = both[3] = True
    assert told(both, [0, 1, 1, 2]) == pytest.approx(1.0)
    one = np.zeros((4, 2), dtype=bool)
    one[:2, 1] = one[[0, 2], 0] = True
    assert told(one, [0, 0, 1, 1]) == pytest.approx(1.0)


def test_places_whose_distances_are_the_given_ones():
    places = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [5.0, 2.0]])
    distances = np.sqrt(np.square(places[:, None] - places[None]).sum(axis=2))
    found = _map(distances)
    again = np.sqrt(np.square(found[:, None] - found[None]).sum(axis=2))
    np.testing.assert_allclose(again, distances, atol=1e-9)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
    assert np.square(found[:, 0]).sum() > np.square(found[:, 1]).sum()
    for j in (0, 1):
        assert found[np.abs(found[:, j]).argmax(), j] > 0
    line = _map(np.array([[0.0, 2.0], [2.0, 0.0]]))
    np.testing.assert_allclose(np.abs(line[:, 0]), [1.0, 1.0])
    assert line[:, 1].tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    assert _map(np.zeros((1, 1))).tolist() == [[0.0, 0.0]] and _map(np.zeros((0, 0))).shape == (
        0,
        2,
    )
    assert not _map(np.zeros((3, 3))).any()


# -- limits that are met exactly ------------------------------------------------------------------


def test_a_view_at_the_level_is_claimed(job):
    half = np.arange(N) // 30
    first, second, third = (
        candidate(job, f"r{i}", labels) for i, labels in enumerate((FIRST, SECOND, half))
    )
    job.candidates = [first, second, third, candidate(job, "r4", THIRD)]
    job.runs = [one.run for one in job.candidates]
    for one in job.candidates:
        one.run.in_table = lambda one=one: [one.clustering]
    chance = NullMaxima(MAXIMA, MAXIMA)
    outcome = [
        AssessedView(replace(consensus(first), score=0.03), chance),
        AssessedView(consensus(second), chance, idea=idea_view(p_value=0.01, labels=SECOND)),
        AssessedView(replace(consensus(third), score=0.02), chance),
    ]
    assert outcome[1].p_value == 0.01
    job.truth = {"part": np.where(np.arange(N) < 30, FIRST, -1)}
    study = assemble(job, outcome, provisional=False)
    assert [view.p_value == 0.01 for view in study.views] == [True, False, False]
    labels = [SECOND, FIRST, half]
    known = [[1.0 if a is b else redundancy(a, b) for a in labels] for b in labels]
    np.testing.assert_allclose(study.between_views, known, atol=1e-12)
    assert known[0][2] > 0.3
    # What is known of half of the rows is compared there.
    assert [round(view["ari"], 6) for view in study.truth[0]["views"]][1] == 1.0
    assert study.views[0].p_interval is not None
    # Nobody waits for samples of what is no view.
    assert study.near_misses and all(np.isnan(miss.stability) for miss in study.near_misses)


def test_power_is_asked_for_all_ideas(job, monkeypatch):
    asked = []
    monkeypatch.setattr(assembly, "detectable", lambda *given, **more: asked.append((given, more)))
    job.ideas = ("shapes", "classes")
    chance = NullMaxima(MAXIMA, MAXIMA)
    assembly._power(job, chance)
    job.scorer = BoxScorer(job.scorer)
    assembly._power(job, chance)
    for (given, more), boxes in zip(asked, (False, True), strict=True):
        assert given == (N, job.scorer.Z.shape[1], chance)
        assert more == {"n_ideas": 3, "boxes": boxes, "seed": 7}


def test_columns_of_boxes_are_the_clusters_own(job):
    job.scorer = BoxScorer(job.scorer)
    inside = np.array([SECOND == 0, SECOND == 1, SECOND == 2])
    view = consensus(candidate(small_job(), "a", SECOND))
    found = assembly.make_view(job, 1, AssessedView(view), np.arange(N), False)
    known = job.scorer.boxes(SECOND, inside).own
    own = found.clustering.subspaces.relevance > 0
    assert found.idea == "boxes"
    np.testing.assert_array_equal(own[known.any(axis=1)], known[known.any(axis=1)])
    other = assembly.make_view(
        job, 1, AssessedView(view, idea=idea_view(labels=SECOND)), np.arange(N), False
    )
    assert other.idea == "shapes"


def test_the_second_of_two_columns_fills_up():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [4.0, -1.0]])
    two = _two_directions(np.array([[-1.0], [0.0]]), X)
    np.testing.assert_allclose(two, np.eye(2), atol=1e-12)
    # The widest of the others, wherever the rows lie.
    far = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 5.0, 1.0] + [0.0, 0.0, 50.0]
    two = _two_directions(np.eye(3)[:, :1], far)
    assert abs(two[1, 1]) > 0.9


def test_directions_of_the_map_have_a_sign():
    for seed in range(12):
        places = np.random.default_rng(seed).exponential(size=(6, 2))
        found = _map(np.sqrt(np.square(places[:, None] - places[None]).sum(axis=2)))
        for j in (0, 1):
            assert found[np.abs(found[:, j]).argmax(), j] > 0


def test_classes_are_drawn_along_what_tells_them_apart_and_not_along_the_first_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    labels = np.arange(90) % 3
    X[:, 4] += 9 * (labels == 1)
    X[:, 5] += 7 * (labels == 2)
    labels[:4] = -1
    X[:4] = 1e3  # rows that are in no cluster have no say
    two = _telling_first(np.eye(6), X, labels)
    assert two.shape == (6, 2)
    np.testing.assert_allclose(two.T @ two, np.eye(2), atol=1e-12)
    assert (np.linalg.norm(two[4:], axis=0) > 0.95).all()
    # Two classes lie apart along one direction; the other is filled up.
    one = _telling_first(np.eye(6), X, np.where(labels == 2, 0, labels))
    assert one.shape == (6, 1) and abs(one[4, 0]) > 0.9
    # A basis with an order of its own stays, and so does what has one cluster.
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    assert _telling_first(basis, X, labels) is basis
    assert _telling_first(np.eye(6), X, np.zeros(90, int)).shape == (6, 6)
    assert _telling_first(np.eye(2), X[:, :2], labels).shape == (2, 2)
