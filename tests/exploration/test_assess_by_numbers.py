"""What chance and samples say of views, with made-up searches and numbers worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from subscape.core.clustering import SubspaceClustering
from subscape.exploration import assess
from subscape.exploration.assess import NullScores
from subscape.exploration.clouds import Clouds
from subscape.exploration.journal import Journal
from subscape.exploration.plan import Entry, Plan, seed_of
from subscape.exploration.separation import GroupingScorer, Separation, separations
from subscape.runs.store import Task

# -- tables without groups and the rows compared --------------------------------------------------


def test_finders_of_boxes_for_tables_without_groups():
    titles = [entry.title() for entry in assess.box_entries([2, 3], 5)]
    assert titles == [
        "KMeans(n_clusters=2, n_init=3)", "KMeans(n_clusters=3, n_init=3)",
        "LAC(n_clusters=2, n_init=2)", "LAC(n_clusters=3, n_init=2)",
        "MineClus(max_candidates=2000)", "P3C()",
    ]  # fmt: skip
    assert assess.box_entries([4], 2) == assess.box_entries([4])


@pytest.fixture
def models(monkeypatch):
    """Models of tables that are not learned, and what was asked for."""
    made = []

    def unimodal(X, kind, **options):
        made.append((X.shape, kind, options))
        return len(made)

    def curve(X, basis, **options):
        made.append((X.shape, None if basis is None else basis.tolist(), options))
        return len(made)

    monkeypatch.setattr(assess, "NullModel", unimodal)
    monkeypatch.setattr(assess, "CurveNull", curve)
    monkeypatch.setattr(assess, "_MODELS", {})
    return made


def test_models_are_learned_once_and_the_last_eight_kept(models):
    X = np.arange(6.0).reshape(3, 2)
    assert assess.null_model(X, "unimodal") == 1 == assess.null_model(X.copy(), "unimodal")
    assert models == [((3, 2), "unimodal", {"exclusive": False})]
    assert assess.null_model(X, "curve") == 2
    assert assess.null_model(X, "ring") == 3
    assert models[1:] == [((3, 2), None, {"closed": False}), ((3, 2), None, {"closed": True})]
    assert assess.null_model(X, "curve", np.eye(2)) == 4
    assert assess.null_model(X, "curve", 2 * np.eye(2)) == 5
    assert assess.null_model(X.reshape(2, 3), "unimodal") == 6
    assert assess.null_model(X + 1, "unimodal") == 7
    assert assess.null_model(X + 2, "unimodal") == 8
    assert assess.null_model(X, "unimodal") == 1  # eight are kept
    assert assess.null_model(X + 3, "unimodal") == 9
    assert len(assess._MODELS) == 8
    assert assess.null_model(X, "ring") == 3
    assert assess.null_model(X, "unimodal") == 10  # the oldest one is gone


@pytest.mark.parametrize(
    ("effort", "boxes", "most"),
    [
        ("quick", False, 1000), ("normal", False, 1500), ("thorough", False, 2000),
        ("quick", True, 1000), ("normal", True, 1000), ("thorough", True, 1000),
    ],
)  # fmt: skip
def test_rows_that_are_compared(effort, boxes, most):
    np.testing.assert_array_equal(assess.compared_rows(most, effort, boxes), np.arange(most))
    found = assess.compared_rows(most + 1, effort, boxes)
    drawn = np.random.default_rng(most + 1).choice(most + 1, most, replace=False)
    np.testing.assert_array_equal(found, np.sort(drawn))
    if not boxes:
        assert len(assess.compared_rows(5000, effort)) == most


def test_a_table_without_groups_is_drawn_from_its_model_and_searched(monkeypatch):
    asked = []

    def model(*given):
        asked.append(given)
        return SimpleNamespace(draw=lambda seed: ("table", seed.entropy))

    monkeypatch.setattr(assess, "null_model", model)
    monkeypatch.setattr(assess, "best_scores", lambda *given, **more: (given, more))
    found = assess.null_score("X", 5, "few", kind="ring", numbers=(2,), boxes=("e",), basis="b")
    assert asked == [("X", "ring", "b")]
    assert found == ((("table", 5), 5, "few"), {"numbers": (2,), "boxes": ("e",)})
    assess.null_score("X", 5)
    assert asked[1] == ("X", "unimodal", None)
    passed = assess._null_score("X", 6, "few", "curve", (3,), ("f",), "c")
    assert asked[2] == ("X", "curve", "c")
    assert passed == ((("table", 6), 6, "few"), {"numbers": (3,), "boxes": ("f",)})


# -- the best of a search -------------------------------------------------------------------------


def searches(monkeypatch, outcomes):
    """Made-up searches, each with its labels and scores; and what was searched with which seed."""
    seen = []
    given = iter(outcomes)

    def search(table, numbers, scorer, rng):
        labels, score, clusters, normal = next(given)
        seen.append((table, tuple(numbers), rng.random()))

        def told(own, by):
            assert own.tolist() == labels.tolist() and by is scorer
            return clusters

        monkeypatch.setattr(assess, "cluster_scores", told)
        return Clouds(labels[None], score, normal)

    monkeypatch.setattr(assess, "search_clouds", search)
    return seen


def test_the_best_of_two_searches_counts_score_by_score(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    a, b = np.repeat([0, 1], 30), np.tile([0, 1], 30)
    seen = searches(monkeypatch, [(a, 1.0, [4.0, 7.0], 3.0), (b, 2.0, [5.0, 6.0], 2.5)])
    assert assess.best_scores(X, 9, numbers=(2, 3)) == (2.0, 7.0, 3.0)
    assert [numbers for _, numbers, _ in seen] == [(2, 3), (2, 3)]
    assert [first for *_, first in seen] == [np.random.default_rng([9, i]).random() for i in (0, 1)]
    # The direction that tells the first grouping is gone.
    basis = GroupingScorer(X)(a).basis
    assert np.abs((seen[0][0] @ basis).std(axis=0)) == pytest.approx(
        (X @ basis).std(axis=0), rel=1e-9
    )
    np.testing.assert_allclose(seen[1][0] @ basis, 0, atol=1e-9)


def test_nothing_is_left_to_search_where_all_directions_tell(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 1))
    a = np.repeat([0, 1], 30)
    seen = searches(monkeypatch, [(a, 1.0, [4.0, 3.0], 3.0)])
    assert assess.best_scores(X, 0, numbers=(2,)) == (1.0, 4.0, 3.0)
    assert len(seen) == 1


class Finder:
    """Finds what it was told to."""

    def __init__(self, outcome, seeds=None):
        self.outcome = outcome
        if seeds is not None:
            self.seeds, self.random_state = seeds, None

    def set_params(self, random_state):
        self.seeds.append(random_state)

    def fit_predict(self, table):
        if self.outcome is None:
            raise ValueError("not this table")
        return self.outcome


def best_box(monkeypatch, outcomes, scores):
    seeds = []
    finders = [Finder(each, seeds if place else None) for place, each in enumerate(outcomes)]
    entries = [SimpleNamespace(make=lambda finder=finder: finder) for finder in finders]
    monkeypatch.setattr(
        assess, "cluster_scores", lambda labels, scorer: [scorer(labels).score + 1, -5.0]
    )
    found = assess._best_box(
        np.zeros((10, 2)),
        entries,
        lambda labels: SimpleNamespace(score=scores[labels.tobytes()]),
        11,
    )
    return found, seeds


def test_the_best_boxes_of_finders_that_can_do_with_a_table(monkeypatch):
    one, two, none = np.repeat([0, 1], 5), np.tile([0, 1], 5), np.full(10, -1)
    scores = {one.tobytes(): 1.0, two.tobytes(): 3.0, none.tobytes(): 9.0}
    found, seeds = best_box(monkeypatch, [one, None, none, two, one], scores)
    assert found == (3.0, 4.0, -np.inf)
    assert seeds == [seed_of(11, place) for place in (1, 2, 3, 4)]
    found, _ = best_box(monkeypatch, [None, none], scores)
    assert found == (-np.inf, -np.inf, -np.inf)
    # With boxes, these are looked for, and nothing else.
    monkeypatch.setattr(assess, "search_clouds", None)
    monkeypatch.setattr(assess, "_best_box", lambda table, boxes, scorer, seed: (boxes, seed))
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert assess.best_scores(X, 4, boxes=("entry",)) == (("entry",), 4)


# -- how clearly clusters stand out ---------------------------------------------------------------


def test_a_cluster_is_scored_against_the_one_next_to_it():
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [9.0, 0.0], [4.0, 12.0]])
    labels = np.repeat([0, 2, 3], [40, 30, 20])  # no row has the number 1
    X = rng.normal(size=(90, 2)) * [1.0, 2.0] + middles[np.repeat([0, 1, 2], [40, 30, 20])]
    labels = np.append(labels, [-1] * 10)
    X = np.vstack([X, rng.normal(size=(10, 2)) * 3])
    scorer = GroupingScorer(X)
    found = assess.cluster_scores(labels, scorer)
    assert len(found) == 4 and found[1] == -np.inf
    seen = scorer.Z @ scorer(labels).basis
    centres = {k: seen[labels == k].mean(axis=0) for k in (0, 2, 3)}
    left = np.concatenate([seen[labels == k] - centres[k] for k in (0, 2, 3)])
    within = left.T @ left / 90
    inverse = np.linalg.inv(within + 0.02**2 * np.trace(within) * np.eye(2))
    for k in (0, 2, 3):
        apart = {j: centres[k] - centres[j] for j in centres if j != k}
        nearest = min(apart, key=lambda j: apart[j] @ inverse @ apart[j])
        both = (labels == k) | (labels == nearest)
        along = seen[both] @ inverse @ apart[nearest]
        along = (along - along.mean()) / along.std()
        two = (labels[both] == k).astype(int)
        known = separations(along[:, None], two[None], 2).score[0]
        assert found[k] == pytest.approx(known, rel=1e-9)
    assert len({round(each, 3) for each in found}) > 2


def test_the_nearest_is_near_in_units_of_the_spread_within():
    """Along the wide column the one that is farther is the nearer one."""
    rng = np.random.default_rng(1)
    middles = np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 15.0]])
    labels = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 2)) * [12.0, 1.0] + middles[labels]
    scorer = GroupingScorer(X)
    found = assess.cluster_scores(labels, scorer)
    pair = labels < 2
    along = X[pair] @ np.linalg.solve(np.cov((X - np.array(middles)[labels]).T), [60.0, 0.0])
    along = ((along - along.mean()) / along.std())[:, None]
    known = separations(along, (labels[pair] == 0).astype(int)[None], 2).score[0]
    assert found[0] == pytest.approx(known, abs=0.05)
    assert found[2] > found[0] + 0.2


def test_of_a_single_cluster_the_whole_is_told():
    labels = np.array([0, 0, 1, -1])
    whole = Separation(2.0, np.log(2), np.eye(1), np.ones(1))

    def scorer(given):
        return whole

    assert assess.cluster_scores(np.array([1, 1, 1, -1]), scorer) == [whole.score] * 2
    assert assess.cluster_scores(np.full(4, -1), scorer) == []
    with pytest.raises(AttributeError):
        assess.cluster_scores(labels, scorer)  # two are told apart by the scorer's directions


def test_rows_without_spread_within_their_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], 20, axis=0)
    X[:, 1] += np.tile([-1e-3, 1e-3], 30)
    labels = np.repeat([0, 1, 2], 20)
    assert np.isfinite(assess.cluster_scores(labels, GroupingScorer(X))).all()


# -- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("effort", "n_samples"), [("quick", 3), ("normal", 6), ("thorough", 12)])
def test_samples_of_the_rows(effort, n_samples):
    samples = assess.row_samples(50, effort, 4)
    assert [len(rows) for rows in samples] == [25, 25] + [35] * n_samples
    assert np.concatenate(samples[:2]).tolist() != list(range(50))
    assert sorted(np.concatenate(samples[:2])) == list(range(50))
    for rows in samples:
        assert (np.diff(rows) > 0).all()
    from subscape.validation.stability.resampling import halves_and_samples

    drawing = np.random.SeedSequence([4, 11])
    known = halves_and_samples(50, n_samples, share=0.7, random_state=drawing)
    assert all((a == b).all() for a, b in zip(samples, known, strict=True))


def test_all_searches_are_repeated_on_each_sample():
    X = np.zeros((50, 2))
    tasks = [Task(None, X, seed=1), Task(None, X, seed=2)]
    repeated = assess.resampling_tasks(tasks, 50, "quick", 4)
    samples = assess.row_samples(50, "quick", 4)
    assert [len(each) for each in repeated] == [2] * 5
    for s, each in enumerate(repeated):
        for place, task in enumerate(each):
            assert task.seed == seed_of(4, 7, s, place)
            np.testing.assert_array_equal(task.rows, samples[s])


def runs(rows, *found):
    return [
        SimpleNamespace(
            rows=rows, clusterings=(SubspaceClustering.from_labels(each, n_features=2),)
        )
        for each in found
    ]


def test_a_sample_in_which_nothing_was_found_counts_as_nothing():
    a = np.arange(80) % 2
    X = 6.0 * a[:, None] + np.random.default_rng(0).normal(size=(80, 2))
    view = SimpleNamespace(labels=a, memberships=np.array([a == 0, a == 1]))
    halves = [runs(np.arange(40), a[:40]), runs(np.arange(40, 80), a[40:])]
    rows = np.arange(20, 70)
    empty = [SimpleNamespace(rows=rows, clusterings=())]
    found = assess.view_stability(view, [*halves, runs(rows, a[rows]), empty], X - X.mean(axis=0))
    assert found.stability == pytest.approx(0.5)
    np.testing.assert_allclose(found.clusters, [0.5, 0.5])
    assert len(found.samples) == 1 and len(found.halves) == 2
    # Without samples, and with one half without groups.
    none = [SimpleNamespace(rows=np.arange(40), clusterings=())]
    found = assess.view_stability(view, [none, halves[1]], X - X.mean(axis=0))
    assert (found.stability, found.replication) == (0.0, 0.0)
    assert found.clusters.tolist() == [0.0, 0.0] and len(found.halves) == 1
    found = assess.view_stability(view, [halves[0], none], X - X.mean(axis=0))
    assert found.replication == 0.0


def test_noise_should_come_back_as_well():
    a, b = np.array([0, 0, 1, 1, -1, -1]), np.array([0, 0, 1, 1, 0, 1])
    assert assess._agreement(a, a) == 1.0
    assert assess._agreement(a, np.array([5, 5, 3, 3, -1, -1])) == 1.0
    from sklearn.metrics import adjusted_rand_score

    assert assess._agreement(a, b) == pytest.approx(adjusted_rand_score(a, b))
    assert assess._agreement(b, a) == pytest.approx(adjusted_rand_score(b, a))


# -- drawing tables until it is clear -------------------------------------------------------------


def plan(n_null, effort="quick"):
    return Plan(effort, 3, (60, 2), (), 1, n_null)


class Told:
    """What was told of the progress."""

    def __init__(self):
        self.steps = []

    def tell(self, *step):
        self.steps.append(step)


@pytest.fixture
def drawn(monkeypatch):
    """Made-up scores of tables without groups, and the calls for them."""
    calls = []
    outcomes = {"unimodal": 0.0, "curve": 0.0, "ring": 0.0}

    def in_order(function, given, n_jobs, *, what):
        assert function is assess._null_score and what == "table without groups"
        for call in given:
            calls.append((*call, n_jobs))
            score = outcomes[call[3]] + 0.01 * len(calls)
            yield NullScores(score, score + 0.5, score - 0.25)

    monkeypatch.setattr(assess, "in_order", in_order)
    monkeypatch.setattr(assess, "seen_curve", lambda X, basis, numbers, seed: None)
    return SimpleNamespace(calls=calls, outcomes=outcomes)


def chance(X, n_null=20, *, effort="quick", in_time=lambda: True, few=None, **more):
    told, journal = Told(), Journal(None)
    found = assess.chance_maxima(X, plan(n_null, effort), journal, told, None, in_time, few, **more)
    return found, told.steps, journal


def test_tables_are_drawn_in_tens_with_seeds_of_their_own(drawn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    found, steps, journal = chance(X)
    assert len(found.maxima) == len(found.cluster_maxima) == len(found.normal_maxima) == 20
    np.testing.assert_allclose(found.maxima, 0.01 * np.arange(1, 21))
    np.testing.assert_allclose(found.cluster_maxima, 0.01 * np.arange(1, 21) + 0.5)
    np.testing.assert_allclose(found.normal_maxima, 0.01 * np.arange(1, 21) - 0.25)
    assert found.curve_maxima == ()
    assert [call[1] for call in drawn.calls] == [seed_of(3, 13, i) for i in range(20)]
    np.testing.assert_array_equal(drawn.calls[0][0].value, X)
    # Numbers of clusters as the plan tries them, where eight rows are left for each.
    assert all(call[2:7] == (None, "unimodal", (2, 3, 4, 5, 6), (), None) for call in drawn.calls)
    assert steps == [("tables without groups", "chance", i, 20) for i in range(1, 21)]
    assert "null 0" in journal and "null 19" in journal and "null 20" not in journal
    assert "null tables from 10" in journal and "null tables from 0" not in journal


def test_numbers_that_are_asked_for_are_tried(drawn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    chance(X, 10, numbers=[2, 9])
    assert {call[4] for call in drawn.calls} == {(2, 9)}


def test_what_is_known_is_not_drawn_again(drawn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    journal, told = Journal(None), Told()
    for place in range(7):
        journal.decide(f"null {place}", lambda: [1.0, 2.0, 0.5])
    journal.decide("null 7", lambda: None)  # no finder worked there
    found = assess.chance_maxima(X, plan(10), journal, told, None, lambda: True)
    assert [call[1] for call in drawn.calls] == [seed_of(3, 13, i) for i in (8, 9)]
    assert len(found.maxima) == 9 and found.maxima[:7] == (1.0,) * 7
    assert [step[2] for step in told.steps] == [1, 2]


def test_time_may_end_it_after_the_first_ten(drawn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    found, steps, _ = chance(X, 40, in_time=lambda: False)
    assert len(found.maxima) == 10
    assert steps[-1] == ("tables without groups", "chance", 10, 40)


def test_tables_on_which_no_finder_worked_say_nothing(drawn):
    drawn.outcomes["unimodal"] = -np.inf
    found, *_ = chance(np.random.default_rng(0).normal(size=(60, 2)))
    assert found.maxima == () and len(drawn.calls) == 20


def test_clear_scores_need_no_more_tables(drawn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    found, *_ = chance(X, 40, scores=[(50.0, 50.0)])
    assert len(found.maxima) == 10  # surely beyond all of them
    found, *_ = chance(X, 40, scores=[(-1.0, -1.0)])
    assert len(found.maxima) == 10  # surely among them
    # One that is in doubt is enough to go on.
    drawn.calls.clear()
    found, *_ = chance(X, 40, scores=[(50.0, 50.0), (0.095, -0.155)])
    assert len(found.maxima) > 10


@pytest.mark.parametrize(("effort", "most"), [("quick", 40), ("normal", 40), ("thorough", 60)])
def test_close_p_values_are_worth_more_tables(drawn, monkeypatch, effort, most):
    X = np.random.default_rng(0).normal(size=(60, 2))
    for name in ("is_clear", "is_beaten"):
        monkeypatch.setattr(assess.NullMaxima, name, lambda *given: False)
    monkeypatch.setattr(assess, "_is_close", lambda p: True)
    found, steps, _ = chance(X, 20, effort=effort, scores=[(0.2, -0.05)])
    assert len(found.maxima) == most
    assert [step[3] for step in steps] == [max(20, -(-(i + 1) // 10) * 10) for i in range(most)]
    monkeypatch.setattr(assess, "_is_close", lambda p: False)
    found, *_ = chance(X, 20, effort=effort, scores=[(0.2, -0.05)])
    assert len(found.maxima) == 20
    found, *_ = chance(X, 20, effort=effort)
    assert len(found.maxima) == 20


def test_a_p_value_is_close_within_a_factor_of_five():
    assert assess._is_close(0.0021) and assess._is_close(0.01) and assess._is_close(0.0499)
    assert not assess._is_close(0.002) and not assess._is_close(0.05)
    assert not assess._is_close(0.0019) and not assess._is_close(0.0501)


def test_within_a_cluster_tables_are_drawn_in_fives_and_have_its_name(drawn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    found, _, journal = chance(X, 20, scores=[(50.0, 50.0)], where="view 1 within 0")
    assert len(found.maxima) == 5
    assert "view 1 within 0 null 4" in journal and "view 1 within 0 null 5" not in journal
    assert "view 1 within 0 curve" in journal
    found, _, journal = chance(X, 10, where="here")
    assert "here null tables from 5" in journal


def test_boxes_are_held_against_boxes(drawn):
    X = np.random.default_rng(0).normal(size=(22, 3))
    _, _, journal = chance(X, 10, boxes=True)
    assert "curve" not in journal
    call = drawn.calls[0]
    assert call[4] == ()
    assert call[5] == tuple(assess.box_entries([2, 3, 4], 3))
    drawn.calls.clear()
    chance(np.random.default_rng(0).normal(size=(60, 3)), 10, boxes=True)
    assert drawn.calls[0][5] == tuple(assess.box_entries([2, 3, 4, 5, 6], 3))
    drawn.calls.clear()
    chance(np.random.default_rng(0).normal(size=(9, 3)), 10, boxes=True)
    assert drawn.calls[0][5] == tuple(assess.box_entries([2], 3))


def test_no_curve_is_looked_for_among_levels(drawn):
    X = np.random.default_rng(0).normal(size=(60, 2))
    _, _, journal = chance(X, 10, few=np.array([1]))
    assert "curve" not in journal
    np.testing.assert_array_equal(drawn.calls[0][2], [1])
    _, _, journal = chance(X, 10, few=np.zeros(0, int))
    assert "curve" in journal


def test_many_rows_are_compared_on_fewer(drawn):
    X = np.random.default_rng(0).normal(size=(1200, 2))
    chance(X, 10)
    rows = np.sort(np.random.default_rng(1200).choice(1200, 1000, replace=False))
    np.testing.assert_array_equal(drawn.calls[0][0].value, X[rows])


@pytest.mark.parametrize(
    ("seen", "kind", "where"),
    [
        ("curve in the table", "curve", "nowhere"),
        ("ring in the table", "ring", "nowhere"),
        ("curve in the view", "curve", "view"),
        ("ring in a plane through the view", "ring", "plane"),
    ],
)
def test_tables_along_a_curve_are_drawn_where_one_is_seen(drawn, monkeypatch, seen, kind, where):
    X = np.random.default_rng(0).normal(size=(60, 4)) * [1, 2, 3, 4]
    basis = np.eye(4)[:, 1:2]
    asked = []

    def look(*given):
        asked.append(given)
        return seen

    monkeypatch.setattr(assess, "seen_curve", look)
    drawn.outcomes[kind] = 7.0
    found, *_ = chance(X, 10, basis=basis, numbers=[2, 3])
    assert asked[0][1] is basis and asked[0][2:] == ([2, 3], 3)
    assert [call[3] for call in drawn.calls] == ["unimodal"] * 10 + [kind] * 10
    assert [call[1] for call in drawn.calls[10:]] == [seed_of(3, 13, i) for i in range(10)]
    assert len(found.maxima) == len(found.curve_maxima) == len(found.curve_normal_maxima) == 10
    assert min(found.curve_maxima) > 7 > max(found.maxima)
    given = drawn.calls[0][6]
    if where == "nowhere":
        assert given is None
    else:
        known = basis if where == "view" else assess.plane_of(X, basis)
        np.testing.assert_allclose(given, assess._in_units(X, known))
        assert given.shape[1] == known.shape[1]


# -- curves ---------------------------------------------------------------------------------------


def looks(monkeypatch, answers):
    """Made-up answers to whether rows follow a curve, and the tables that were looked at."""
    asked = []
    given = iter(answers)

    def look(X, numbers, seed):
        asked.append((X, numbers, seed))
        return next(given)

    monkeypatch.setattr(assess, "follows_curve", look)
    return asked


def test_where_a_curve_is_looked_for(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3))
    two, one = np.eye(3)[:, :2], np.eye(3)[:, :1]
    asked = looks(monkeypatch, ["ring"])
    assert assess.seen_curve(X, two, (2, 3), 7) == "ring in the table"
    assert len(asked) == 1 and asked[0][0] is X and asked[0][1:] == ((2, 3), 7)
    asked = looks(monkeypatch, [None, "curve"])
    assert assess.seen_curve(X, two, (2, 3), 7) == "curve in the view"
    np.testing.assert_array_equal(asked[1][0], X[:, :2])
    assert asked[1][1:] == ((2, 3), 7)
    asked = looks(monkeypatch, [None, None])
    assert assess.seen_curve(X, two, (2,), 7) is None
    assert assess.seen_curve(X[:, :1], None, (2,), 7) is None
    asked = looks(monkeypatch, [None, "ring"])
    assert assess.seen_curve(X, one, (2, 3), 7) == "ring in a plane through the view"
    np.testing.assert_allclose(asked[1][0], X @ assess.plane_of(X, one))
    assert asked[1][1:] == ((2, 3), 7)
    looks(monkeypatch, [None, None])
    assert assess.seen_curve(X, one, (2,), 7) is None
    # A view in all directions is the table; one line of two columns lies in no other plane.
    looks(monkeypatch, [None])
    assert assess.seen_curve(X, np.eye(3), (2,), 7) is None
    looks(monkeypatch, [None])
    assert assess.seen_curve(X[:, :2], np.eye(2)[:, :1], (2,), 7) is None
    looks(monkeypatch, [None])
    assert assess.seen_curve(X, None, (2,), 7) is None
    # One column alone is not looked at, but a view of it may be.
    asked = looks(monkeypatch, [])
    assert assess.seen_curve(X[:, :1], np.eye(1), (2,), 7) is None


def test_the_plane_of_a_line_by_hand():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) + 5
    basis = np.linalg.qr(rng.normal(size=(4, 1)))[0]
    found = assess.plane_of(X, basis)
    np.testing.assert_array_equal(found[:, 0], basis[:, 0])
    assert np.linalg.norm(found[:, 1]) == pytest.approx(1)
    centred = X - X.mean(axis=0)
    t = centred @ basis[:, 0]
    t = t / t.std()
    # Among all directions of the rest, of spread 1, its squares go least with those along the line.
    rest = centred - np.outer(t, t @ centred / 200)
    _, sizes, axes = np.linalg.svd(rest, full_matrices=False)
    white = axes[:3].T / sizes[:3] * np.sqrt(200)
    squares = (rest @ white).T @ np.diag(t**2 - 1) @ (rest @ white)
    least = white @ np.linalg.eigh(squares)[1][:, 0]
    least /= np.linalg.norm(least)
    assert abs(least @ found[:, 1]) == pytest.approx(1, abs=1e-9)
    # A table that is flat but for the line has no plane.
    flat = np.zeros((20, 3))
    flat[:, 0] = np.arange(20)
    found = assess.plane_of(flat, np.eye(3)[:, :1])
    assert found.shape == (3, 2) and np.isfinite(found).all()


def test_directions_among_standardised_columns():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 10.0, 0.0]
    basis = np.array([[1.0, 0.5], [2.0, 0.1], [0.0, 4.0]])
    found = assess._in_units(X, basis)
    spread = np.array([X[:, 0].std(), X[:, 1].std(), 1.0])
    np.testing.assert_allclose(found, basis * spread[:, None] / (X @ basis).std(axis=0))
    standard = (X - X.mean(axis=0)) / spread
    np.testing.assert_allclose((standard @ found).std(axis=0), [1.0, 1.0])
    assert np.isfinite(assess._in_units(np.zeros((4, 2)), np.eye(2))).all()
    assert assess._spread_of(X)[2] == 1.0


def test_a_gain_must_be_three_standard_errors_from_nothing():
    gains = np.tile([0.0, 1.0], 50)  # mean and spread .5: three errors are .15
    assert assess._is_better(gains, 0.49) and not assess._is_better(gains, 0.5)
    wide = np.tile([-1.7, 2.2], 50)  # mean .25, spread 1.95: three errors are .585
    assert not assess._is_better(wide, 0.05)
    assert assess._is_better(np.tile([-1.7, 2.2], 300), 0.05)  # three errors are .239
    assert not assess._is_better(np.tile([-1.7, 2.2], 270), 0.05)  # .2517
    # One row counts five nats at most.
    assert assess._is_better(np.append(np.full(999, -0.01), 1e6), 0.0) is False
    assert assess._is_better(np.append(np.full(99, 0.1), -1e6), 0.0) is False
    assert assess._is_better(np.full(10, 99.0), 4.99) and not assess._is_better(
        np.full(10, 99.0), 5.0
    )
    assert not assess._is_better(np.full(10, -99.0), -5.0)


def test_clouds_are_described_by_spreads_of_their_own_and_common_correlations():
    rng = np.random.default_rng(0)
    labels = np.repeat([3, 5], [60, 40])
    Z = rng.normal(size=(100, 2)) * np.where(labels == 3, 1.0, 2.0)[:, None]
    Z[:, 1] += 0.5 * Z[:, 0]
    Z += 9.0 * (labels == 5)[:, None]
    new = rng.normal(size=(7, 2))
    told, density = assess._described(Z, labels, new)
    from subscape.validation.valleys import clouds_log_density

    centres = np.array([Z[labels == k].mean(axis=0) for k in (3, 5)])
    spreads = np.array([Z[labels == k].std(axis=0) for k in (3, 5)])
    which = (labels == 5).astype(int)
    left = (Z - centres[which]) / spreads[which]
    weights = np.array([0.6, 0.4])
    np.testing.assert_allclose(density, clouds_log_density(new, weights, centres, spreads, left))
    own = clouds_log_density(Z, weights, centres, spreads, left).sum()
    assert told == pytest.approx(own - 0.5 * 2 * (2 * 2 + 1) * np.log(100))
    # A cloud without spread is as wide as a twentieth.
    flat = np.zeros((40, 1))
    _, density = assess._described(flat, np.zeros(40, int), np.array([[0.0], [0.05]]))
    assert density[0] - density[1] == pytest.approx(0.5)


def curve_by(monkeypatch, open_, closed, clouds, *, bent=False, one=0.7, numbers=(2, 3)):
    """Whether there is a curve, with the nats per row of each description of new rows given."""
    asked = SimpleNamespace(searches=[], described=[])

    class Curve:
        def __init__(self, X, closed=False):
            self.closed = closed

        def log_density(self, X):
            return np.full(len(X), one + (closed if self.closed else open_))

    def described(Z, labels, new):
        asked.described.append((len(Z), len(np.unique(labels)), len(new)))
        if len(np.unique(labels)) == 1:
            return 0.0, np.full(len(new), one)
        return labels[0], np.full(len(new), one + clouds[int(labels[0])])

    def search(Z, sizes, scorer, rng):
        asked.searches.append((Z, list(sizes), rng.random()))
        many = [np.append(k, np.arange(len(Z) - 1) % 2 + 20) for k in range(len(clouds))]
        return SimpleNamespace(labellings=np.array(many))

    monkeypatch.setattr(assess, "CurveNull", Curve)
    monkeypatch.setattr(assess, "_described", described)
    monkeypatch.setattr(assess, "search_clouds", search)
    monkeypatch.setattr(assess, "is_bent", lambda X: bent)
    X = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 7.0]
    return assess.follows_curve(X, numbers, 5), asked, X


@pytest.mark.parametrize(
    ("open_", "closed", "clouds", "bent", "known"),
    [
        (1.0, 1.0, 0.9, False, "curve"),  # better than one cloud, and than several
        (1.0, 1.0, 1.0, False, "curve"),  # clouds are as good
        (1.0, 1.0, 1.01, False, None),  # clouds are better
        (0.04, 0.0, -9.0, False, None),  # not better than one cloud
        (0.06, 0.0, -9.0, False, "curve"),
        (1.0, 1.04, 0.9, False, "curve"),  # hardly better closed
        (1.0, 1.06, 0.9, False, "ring"),
        (1.0, 0.0, 1.29, True, "curve"),  # bent beyond doubt: clouds must be much better
        (1.0, 0.0, 1.31, True, None),
        (0.0, 1.0, 1.29, False, "ring"),
        (0.0, 1.0, 1.31, False, None),
    ],
)
def test_a_curve_is_held_against_clouds(monkeypatch, open_, closed, clouds, bent, known):
    found, *_ = curve_by(monkeypatch, open_, closed, [clouds], bent=bent)
    assert found == known


def test_each_half_is_described_by_the_other(monkeypatch):
    found, asked, X = curve_by(monkeypatch, 1.0, 0.0, [0.9, 0.5, 0.2], numbers=(2, 3, 4))
    assert found is None or found == "curve"
    order = np.random.default_rng([5, 23]).permutation(60)
    halves = order[:30], order[30:]
    for (Z, sizes, first), used in zip(asked.searches, halves, strict=True):
        known = (X[used] - X[used].mean(axis=0)) / X[used].std(axis=0)
        np.testing.assert_allclose(Z, known)
        assert sizes == [2, 3]  # eight rows for each
        assert first == np.random.default_rng(5).random()
    # Each half: all as one, then what was found there.
    assert asked.described == [(30, 1, 30)] * 2 + [(30, 3, 30)] * 6
    # The best of the clouds by their own rows counts: the last one here.
    found, _, _ = curve_by(monkeypatch, 1.0, 0.0, [2.0, 2.0, 0.2])
    assert found == "curve"
    found, _, _ = curve_by(monkeypatch, 1.0, 0.0, [0.2, 0.2, 2.0])
    assert found is None
    # Ten of them are described, and where there are few rows two are tried.
    _, asked, _ = curve_by(monkeypatch, 1.0, 0.0, [0.2] * 14)
    assert len(asked.described) == 2 + 2 * 10
    _, asked, _ = curve_by(monkeypatch, 1.0, 0.0, [0.2], numbers=(4, 5))
    assert [sizes for _, sizes, _ in asked.searches] == [[2], [2]]


def test_forty_rows_are_enough_for_a_curve(monkeypatch):
    monkeypatch.setattr(
        assess, "CurveNull",
        lambda X, closed: SimpleNamespace(log_density=lambda new: np.zeros(len(new))),
    )  # fmt: skip
    calls = []

    def described(Z, labels, new):
        calls.append(len(Z))
        return 0.0, np.zeros(len(new))

    monkeypatch.setattr(assess, "_described", described)
    rng = np.random.default_rng(0)
    assert assess.follows_curve(rng.normal(size=(39, 2)), (2,), 0) is None and not calls
    assert assess.follows_curve(rng.normal(size=(40, 2)), (2,), 0) is None and calls == [20, 20]


def test_scores_by_kind_of_table():
    found = {
        "unimodal": [[1.0, 2.0, 3.0], [4.0, 5.0, -np.inf]],
        "ring": [[6.0, 7.0, 8.0], [9.0, 10.0, -np.inf]],
    }
    known = assess._as_maxima(found)
    assert (known.maxima, known.cluster_maxima, known.normal_maxima) == ((1, 4), (2, 5), (3,))
    assert known.curve_maxima == (6, 9) and known.curve_cluster_maxima == (7, 10)
    assert known.curve_normal_maxima == (8,)
    assert assess._as_maxima({"unimodal": [], "curve": [[1.0, 2.0, 3.0]]}).curve_maxima == (1,)


def test_a_plan_of_boxes_has_no_other_entries():
    assert all(isinstance(entry, Entry) for entry in assess.box_entries([2]))


def test_a_p_value_is_close_with_the_ideas_it_will_be_multiplied_by(drawn, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    for name in ("is_clear", "is_beaten"):
        monkeypatch.setattr(assess.NullMaxima, name, lambda *given: False)
    monkeypatch.setattr(assess.NullMaxima, "p_value", lambda *given: 0.002)
    asked = []
    monkeypatch.setattr(assess, "_is_close", lambda p: bool(asked.append(p)))
    chance(X, 20, scores=[(0.2, -0.05)])
    chance(X, 20, scores=[(0.2, -0.05)], n_ideas=4)
    assert asked == [0.002, 0.008]
