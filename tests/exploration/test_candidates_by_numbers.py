"""From runs to candidates, scorers and views; information; progress; groups that are asked for."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from subscape.arrays.numbering import are_few, from_zero
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.exploration import candidates, progress, requested_groups, scorers, views
from subscape.exploration.candidates import Candidate, Grouped
from subscape.exploration.information import (
    canonical,
    joint_labels,
    novelty,
    redundancy,
)
from subscape.exploration.plan import seed_of
from subscape.exploration.separation import SLICED
from subscape.measures import pairwise_distances
from subscape.parallel.progress import Step

# -- what groups the rows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "noise", "known"),
    [
        ((15, 15), 70, True), ((15, 14), 71, False), ((97, 3), 0, True), ((98, 2), 0, False),
        ((30,), 70, True), ((29,), 71, False), ((), 100, False), ((97,), 3, True),
        ((98,), 2, False),
    ],
)  # fmt: skip
def test_groupings_have_three_tenths_of_the_rows_and_no_cluster_nearly_all(sizes, noise, known):
    labels = np.repeat([*range(len(sizes)), -1], [*sizes, noise])
    assert candidates.groups_rows(labels) is known


def run(*clusterings, name="r", **more):
    return SimpleNamespace(
        id=name, in_table=lambda: clusterings, provenance={"finder": "a.b.Finder"}, note={}, **more
    )


def clustering(labels, **more):
    return SubspaceClustering.from_labels(labels, n_features=3, **more)


HALVES = np.repeat([0, 1], 10)
CROSSED = np.tile([0, 1], 10)


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ([0.5, 0.5 + 1e-13, 0.7], [2, 0, 1]),
        ([0.5 + 1e-13, 0.5, 0.5 + 2e-13], [0, 1, 2]),
        ([0.5, 0.5 + 1e-6], [1, 0]),
        ([], []),
    ],
)
def test_of_equal_scores_the_first_found_goes_first_whatever_their_last_bits(scores, order):
    found = [SimpleNamespace(score=score) for score in scores]
    assert candidates.best_first(found) == order


def test_groupings_of_runs_are_taken_once():
    halves, crossed = clustering(HALVES), clustering(CROSSED)
    renamed = clustering(1 - HALVES)
    nothing, all_in_one = clustering(np.full(20, -1)), clustering(np.zeros(20, int))
    first = run(nothing, halves, all_in_one, crossed)
    second = run(renamed, clustering(np.arange(20) % 4), name="s")
    found = candidates.groupings([first, second])
    assert [(each.run.id, each.place) for each in found] == [("r", 1), ("r", 3), ("s", 1)]
    assert found[0].clustering is halves and found[0].labels.tolist() == HALVES.tolist()
    # The same rows in other subspaces: another kind of result.
    axis = SimpleNamespace(
        n_clusters=2, labels=lambda: HALVES, kind="other", is_hard=True, is_row_disjoint=True
    )
    assert axis.kind != halves.kind
    assert len(candidates.groupings([run(halves, axis)])) == 2
    # Rows in several clusters.
    members = np.array([HALVES == 0, HALVES == 1])
    members[1, 2] = members[1, 3] = True
    twice = members.copy()
    twice[1, 4] = True
    from scipy import sparse

    from subscape.core.subspaces import AxisSubspaces

    def overlapping(inside):
        return SubspaceClustering(sparse.csr_array(inside), AxisSubspaces(np.ones((2, 3), bool)))

    one, other = overlapping(members), overlapping(twice)
    assert np.array_equal(one.labels(), other.labels())
    assert len(candidates.groupings([run(one, other, one)])) == 2


def test_candidates_gain_something_and_have_names():
    told = {"a": 1.0, "b": 0.0, "c": -1.0, "d": 1e-9}
    made = [Grouped(run(name=each), i, clustering(HALVES), each) for i, each in enumerate("abcd")]

    def scorer(labels, memberships):
        assert memberships is None
        return SimpleNamespace(gain=told[labels], score=5 + told[labels], basis=f"basis {labels}")

    found = candidates.scored(made, scorer)
    assert [each.name for each in found] == ["a#0", "d#3"]
    first = found[0]
    assert (first.score, first.gain, first.basis, first.labels) == (6.0, 1.0, "basis a", "a")
    assert first.finder == "Finder" and first.title == "Finder"
    first.run.note["title"] = "Finder(k=3)"
    assert first.title == "Finder(k=3)" and first.clustering is made[0].clustering


def candidate(labels, score, place=0, name="r"):
    return Candidate(run(name=name), place, clustering(labels), labels, score, score, None)


def test_the_clearest_candidates_are_climbed(monkeypatch):
    asked = []
    moved = {1.0: CROSSED + 5, 2.0: np.zeros(20, int), 3.0: HALVES, 4.0: CROSSED}

    def climb(Z, labels, scorer):
        score = next(each.score for each in made if each.labels is labels)
        asked.append((Z, score, scorer))
        better = score if score == 3.0 else score + 10
        return SimpleNamespace(score=better, gain=better + 1, basis="new"), moved[score]

    monkeypatch.setattr(candidates, "climb", climb)
    made = [candidate(HALVES.copy(), score) for score in (1.0, 3.0, 0.5, 4.0, 2.0)]
    scorer = SimpleNamespace(Z="Z")
    found = candidates.climbed(made, scorer, 4)
    assert [score for _, score, _ in asked] == [4.0, 3.0, 2.0, 1.0]
    assert all(Z == "Z" and by is scorer for Z, _, by in asked)
    # Not better, not climbed, no grouping any more: they stay.
    assert [one is other for one, other in zip(found, made, strict=True)] == [
        False, True, True, False, True,
    ]  # fmt: skip
    assert (found[0].score, found[0].gain, found[0].basis) == (11.0, 12.0, "new")
    assert found[0].labels.tolist() == CROSSED.tolist() and found[0].run is made[0].run
    assert found[0].clustering.n_features == 3
    # Of equal scores the first ones are.
    asked.clear()
    made = [candidate(HALVES.copy(), 1.0) for _ in range(3)]
    candidates.climbed(made[:2], scorer, 1)
    assert len(asked) == 1


def test_distances_are_between_groupings_of_rows():
    off = HALVES.copy()
    off[:2] = 1
    made = [candidate(each, 1.0) for each in (HALVES, 1 - HALVES, off)]
    found = candidates.row_distances(made)
    np.testing.assert_allclose(found, [[0, 0, 0.1], [0, 0, 0.1], [0.1, 0.1, 0]], atol=1e-12)
    assert candidates.row_distances(made[:1]).tolist() == [[0.0]]
    assert candidates.row_distances([]).shape == (0, 0)
    # Whatever features they are in.
    axis = Candidate(run(), 0, clustering(HALVES, masks=np.eye(2, 3, dtype=bool)), HALVES, 1, 1, 0)
    assert candidates.row_distances([made[0], axis])[0, 1] == pytest.approx(0.0)


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_clustering_errors_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    labels = [rng.integers(-1, k, 40) for k in (2, 3, 5)]
    made = [candidate(each, 1.0) for each in labels]
    # Rows in two clusters, and rows that belong to one in part.
    inside = rng.random((3, 40)) < 0.5
    shares = rng.random((2, 40)) * 0.5
    for members in (inside, shares):
        of_rows = SubspaceClustering(
            members, np.ones((3, 2) if members is inside else (2, 2), bool)
        )
        made.append(Candidate(run(), 0, of_rows, of_rows.labels(), 1, 1, 0))
    found = candidates.row_distances(made)
    one_column = [
        SubspaceClustering(
            each.clustering.memberships, np.ones((each.clustering.n_clusters, 1), dtype=bool)
        )
        for each in made
    ]
    np.testing.assert_allclose(found, pairwise_distances(one_column), atol=1e-12)


def test_what_was_compared_is_not_compared_again(monkeypatch):
    made = [candidate(each, 1.0) for each in (HALVES, CROSSED)]
    known = {}
    first = candidates.row_distances(made, known)
    monkeypatch.setattr(candidates, "_error_of_codes", lambda one, other: 0.25)
    more = [*made, candidate(HALVES.copy(), 1.0)]
    again = candidates.row_distances(more, known)
    assert again[0, 1] == first[0, 1] > 0.25
    assert again[0, 2] == again[2, 1] == 0.25
    # What is held lives: its number is nobody else's.
    assert known[id(made[0].clustering), id(made[1].clustering)][0] is made[0].clustering


# -- views ----------------------------------------------------------------------------------------


def test_candidates_closer_than_a_tenth_on_average_are_one_view():
    made = [candidate(HALVES, score) for score in (1.0, 3.0, 2.0, 3.0)]
    apart = np.array([
        [0.0, 0.5, 0.1, 0.6], [0.5, 0.0, 0.7, 0.05], [0.1, 0.7, 0.0, 0.8], [0.6, 0.05, 0.8, 0.0],
    ])  # fmt: skip
    assert views.group(made, apart) == [[1, 3], [2, 0]]
    apart[0, 2] = apart[2, 0] = 0.1001
    assert views.group(made, apart) == [[1, 3], [2], [0]]
    # Two that are near to a third one, but far from each other: the average counts.
    made = made[:3]
    apart = np.array([[0, 0.08, 0.13], [0.08, 0, 0.08], [0.13, 0.08, 0]])
    assert views.group(made, apart) == [[1, 0], [2]]
    apart = np.array([[0, 0.08, 0.11], [0.08, 0, 0.08], [0.11, 0.08, 0]])
    assert views.group(made, apart) == [[1, 2, 0]]
    assert views.group([], apart) == [] and views.group(made[:1], apart[:1, :1]) == [[0]]


def verdict(score, **more):
    known = {"gain": 1.5, "entropy": 0.5, "basis": "basis", "normal_score": 7.0}
    return SimpleNamespace(score=score, **known | more)


def test_the_best_candidate_stands_where_the_vote_is_less_clear():
    off = HALVES.copy()
    off[:4] = 1
    made = [candidate(HALVES, 4.0), candidate(off, 3.9), candidate(off, 3.8)]
    asked = []

    def scorer(labels, memberships):
        asked.append((labels.tolist(), memberships.tolist()))
        return verdict(voted if labels.tolist() == off.tolist() else 4.0, gain=len(asked))

    voted = 4.0
    found = views.consensus_of(made, [0, 1, 2], scorer)
    assert found.labels.tolist() == off.tolist() and found.members == made
    assert (found.score, found.gain, found.entropy, found.basis, found.normal_score) == (
        4.0, 1, 0.5, "basis", 7.0,
    )  # fmt: skip
    share = (0.975**2 + 0.95**2) / (1 + 0.975**2 + 0.95**2)
    np.testing.assert_allclose(found.row_confidence, [share] * 4 + [1.0] * 16)
    voted = 3.99
    asked.clear()
    found = views.consensus_of(made, [0, 1, 2], scorer)
    assert found.labels.tolist() == HALVES.tolist() and found.places == [0, 1, 2]
    assert found.memberships.tolist() == [(HALVES == 0).tolist(), (HALVES == 1).tolist()]
    assert asked[1] == (HALVES.tolist(), found.memberships.tolist()) and found.gain == 2
    np.testing.assert_allclose(found.row_confidence, [1 - share] * 4 + [1.0] * 16)


def test_a_vote_of_next_to_nothing_still_counts_a_little():
    made = [candidate(HALVES, 1.0), candidate(CROSSED, 1e-9)]
    found = views.consensus_of(made, [0, 1], lambda labels, memberships: verdict(9.0))
    share = 1 / (1 + 1e-6)
    assert found.row_confidence.min() == pytest.approx(share, abs=1e-9)
    assert found.row_confidence.min() < 1 - 5e-7


def test_a_vote_that_leaves_one_cluster_is_not_taken(monkeypatch):
    made = [candidate(HALVES, 1.0)]
    one = SimpleNamespace(
        memberships=np.ones((1, 20), bool), labels=np.zeros(20, int), votes=np.ones((1, 20))
    )
    monkeypatch.setattr(
        views, "weighted_vote", lambda *given, **more: (one.memberships, one.labels, one.votes)
    )
    found = views.consensus_of(made, [0], lambda labels, memberships: verdict(9.0))
    assert found.memberships.shape == (2, 20) and found.labels.tolist() == HALVES.tolist()
    assert found.row_confidence.tolist() == [1.0] * 20


def test_scores_of_views_in_what_better_ones_leave(monkeypatch):
    def view(score, normal=3.0):
        return views.Consensus(
            [], [], np.ones((2, 4), bool), np.arange(4), np.ones(4), score, 1.0, 1.0, np.eye(1),
            normal,
        )  # fmt: skip

    asked = []

    def choose(*given):
        asked.append(given)
        return [SimpleNamespace(place=1, score=2.0), SimpleNamespace(place=0, score=0.5)]

    monkeypatch.setattr(views, "choose_views", choose)
    first, second = view(1.0), view(2.0)
    found = views.ranked([first, second], "scorer", ["known"])
    assert [(one.score, one.normal_score) for one in found] == [(2.0, 3.0), (0.5, -np.inf)]
    scorer, labels, known, members = asked[0]
    assert (scorer, known) == ("scorer", ["known"])
    assert all(a is b for a, b in zip(labels, (first.labels, second.labels), strict=True))
    assert all(
        a is b for a, b in zip(members, (first.memberships, second.memberships), strict=True)
    )
    # The order of sums makes no difference.
    assert views._with_score(view(1.0), 1 - 0.9e-9).normal_score == 3.0
    assert views._with_score(view(1.0), 1 - 1.1e-9).normal_score == -np.inf
    assert views._with_score(view(1.0), 1.5).normal_score == 3.0
    members = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]], bool)
    assert views.in_order(SimpleNamespace(memberships=members)).tolist() == [3, 1, 0, 2]


# -- directions or boxes --------------------------------------------------------------------------


def fitting(monkeypatch, gains, normals, *, own=True, has_columns=True, p=3):
    """Which scorer fits, where boxes gain ``gains`` and directions ``normals`` beyond slices."""
    asked = []

    class Scores:
        def __init__(self, X):
            asked.append(("table", X))

        def __call__(self, labels):
            asked.append(("normal", labels))
            return SimpleNamespace(over_normal=normals[labels] + SLICED)

    class Boxes:
        code = SimpleNamespace(scores="scores")

        def __init__(self, directions):
            self.directions = directions

        def boxes(self, labels, memberships):
            assert memberships is None
            return SimpleNamespace(gain=gains[labels])

    class Directions:
        Z = np.zeros((5, p))

        def __call__(self, labels):
            return SimpleNamespace(gain=[0.5, 2.0, 1.0][labels])

    Directions.has_columns = has_columns
    monkeypatch.setattr(scorers, "BoxScorer", Boxes)
    monkeypatch.setattr(scorers, "GroupingScorer", Scores)
    masks = np.array([[1, 0, 0], [0, 1, 1]] if own else [[1, 1, 1]] * 2, bool)
    found = [(i, clustering(HALVES, masks=masks)) for i in range(len(gains))]
    directions = Directions()
    both = scorers.GroupingScorers(directions)
    fits = both.fitting(found)
    assert fits in (directions, both.boxes)
    if both.boxes is not None:
        assert asked[0] == ("table", "scores") and both.boxes.directions is directions
    return "directions" if fits is directions else "boxes", [w for k, w in asked if k == "normal"]


def test_by_boxes_if_some_box_gains_most(monkeypatch):
    assert fitting(monkeypatch, [0.1, 0.9, 0.3], [0.2, 0.1, 0.89]) == ("boxes", [1, 2, 0])
    # One that gains as much is enough, the clearest asked first.
    assert fitting(monkeypatch, [0.1, 0.9, 0.3], [0.2, 0.1, 0.9001]) == ("directions", [1, 2])
    assert fitting(monkeypatch, [0.1, 0.9, 0.3], [0.2, 5.0, 0.9]) == ("directions", [1])
    assert fitting(monkeypatch, [0.0, -1.0, 0.0], [-9.0] * 3) == ("directions", [])
    assert fitting(monkeypatch, [0.0, 1e-6, 0.0], [-9.0] * 3) == ("boxes", [1, 2, 0])
    assert fitting(monkeypatch, [], []) == ("directions", [])
    # Where no finder of boxes found them, by half a nat more.
    assert fitting(monkeypatch, [0.1, 0.9, 0.3], [0.0, 0.0, 0.39], own=False)[0] == "boxes"
    assert fitting(monkeypatch, [0.1, 0.9, 0.3], [0.0, 0.0, 0.41], own=False)[0] == "directions"
    assert fitting(monkeypatch, [0.5, 0.5, 0.5], [-9.0] * 3, own=False)[0] == "directions"
    # Not in wide tables, nor in one column.
    assert fitting(monkeypatch, [0.9], [0.0], has_columns=False)[0] == "directions"
    assert fitting(monkeypatch, [0.9], [0.0], p=1)[0] == "directions"
    assert fitting(monkeypatch, [0.9], [0.0], p=2)[0] == "boxes"


def test_clusters_in_some_of_the_features():
    full = np.ones((2, 3), bool)
    assert not scorers._has_own_features(clustering(HALVES, masks=full))
    one_less = full.copy()
    one_less[1, 2] = False
    assert scorers._has_own_features(clustering(HALVES, masks=one_less))
    assert not scorers._has_own_features(SimpleNamespace(subspaces=None))
    assert scorers.members(clustering(HALVES)) is None
    made = SimpleNamespace(is_hard=True, is_row_disjoint=False)
    from scipy import sparse

    made.memberships = sparse.csr_array(np.array([[1.0, 0.5, 0.0]]))
    assert scorers.members(made).tolist() == [[True, True, False]]
    made.is_hard = False
    assert scorers.members(made) is None


# -- information ----------------------------------------------------------------------------------


def test_labels_by_first_appearance():
    for labels, known in (
        ([7, 3, -1, 7], [0, 1, -1, 0]), ([2, 0, -1, 2], [0, 1, -1, 0]), ([-1, -1], [-1, -1]),
        ([0.5, -3.0, 0.5, 0.0], [0, -1, 0, 1]), ([3, 1, 2, 0], [0, 1, 2, 3]), ([], []),
        ([-5, 4, -1, 4], [-1, 0, -1, 0]),
    ):  # fmt: skip
        assert canonical(np.array(labels)).tolist() == known


def test_labels_that_can_be_counted():
    assert are_few(np.array([0, 3, -1, 2])) and are_few(np.array([], int))
    assert not are_few(np.array([0, 4, -1, 2])) and not are_few(np.array([0, 1, -2]))
    assert not are_few(np.array([0.0, 1.0]))
    for labels, known in (
        ([3, 1, 1, 3], [1, 0, 0, 1]), ([-1, 2, 0, -1], [0, 2, 1, 0]), ([9, 5, 5], [1, 0, 0]),
        ([0.5, -7.0], [1, 0]), ([], []), ([2, 2, 2], [0, 0, 0]),
    ):  # fmt: skip
        assert from_zero(np.array(labels, dtype=float if 0.5 in labels else int)).tolist() == known


@pytest.mark.parametrize("most", [4096, 15, 16])
def test_what_labels_tell_beyond_others_by_entropies(monkeypatch, most):
    """By a count of all cells, or as for any labels where there are too many of them."""
    from subscape.exploration import information

    monkeypatch.setattr(information, "MOST_CELLS", most)
    rng = np.random.default_rng(0)
    for size, n_labels, n_known in ((40, 3, 3), (30, 3, 2), (9, 2, 5), (25, 1, 4)):
        labels, known = rng.integers(-1, n_labels, size), rng.integers(-1, n_known, size)

        def entropy(*columns):
            _, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
            return -(counts / counts.sum() * np.log(counts / counts.sum())).sum()

        beyond = (entropy(labels, known) - entropy(known)) / entropy(labels)
        assert novelty(labels, known) == pytest.approx(beyond, rel=1e-9)
        assert novelty(labels + 0.0, known) == pytest.approx(beyond, rel=1e-9)
    # A single group tells nothing, whatever is known.
    assert (
        novelty(np.full(6, 2), np.arange(6) % 3) == 0.0 == novelty(np.full(6, -1), np.zeros(6, int))
    )


def test_shares_of_information():
    a, b = np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    # Of the larger entropy, two of two bits, one is shared.
    assert redundancy(a, b) == pytest.approx(0.5) == redundancy(b, a)
    assert redundancy(a, a + 3) == 1.0 and redundancy(a * 0, a * 0) == 1.0
    assert redundancy(a * 0, a) == 0.0 == redundancy(a, a * 0)
    # Rows in no cluster are a group.
    assert redundancy(a - 1, a) == pytest.approx(1.0)
    assert novelty(b, a) == pytest.approx(0.5) and novelty(a, b) == 0.0
    assert novelty(a - 1, a) == pytest.approx(0.0, abs=1e-12)
    assert novelty(a - 1, a * 0) == pytest.approx(1.0)
    assert joint_labels(a, np.array([1, 0, 1, 0, 1, 0, 1, 0])).tolist() == [1, 0, 1, 0, 3, 2, 3, 2]
    assert joint_labels(np.array([], int), np.array([], int)).tolist() == []


# -- what is told while it runs -------------------------------------------------------------------


def test_steps_with_views_and_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.clock, "monotonic", lambda: now[0])
    told = []
    watched = progress.Progress(told.append, 30.0)
    watched.views = 1
    now[0] = 112.0
    watched.tell("views", "KMeans", 3, 7)
    assert told == [Step("explore", "views: KMeans, 1 grouping so far, 18 s left", 3, 7, 12.0)]
    watched.views = 2
    now[0] = 135.0
    watched.rung("boxes")(Step("run", "LAC", 4, None, 1.0))
    assert told[1] == Step("explore", "boxes: LAC, 2 groupings so far, 0 s left", 4, None, 35.0)
    quiet = progress.Progress(told.append, None)
    quiet.tell("a", "b", 0, 1)
    assert told[2].message == "a: b, 0 groupings so far"
    silent = progress.Progress(False, None)
    assert silent.report is None and silent.rung("x") is None
    silent.tell("a", "b", 0, 1)
    assert len(told) == 3


def test_a_quiet_line_only_where_somebody_watches(monkeypatch):
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    assert isinstance(progress.Progress(None, None).report, progress.QuietLine)
    monkeypatch.setattr(progress, "is_watched", lambda: False)
    assert progress.Progress(None, None).report is None
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    for tty in (True, False):
        monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda tty=tty: tty))
        assert progress.is_watched() is tty
    monkeypatch.setattr(sys, "stderr", None)
    assert progress.is_watched() is False

    class ZMQInteractiveShell:
        pass

    for shell, known in ((ZMQInteractiveShell(), True), (object(), False)):
        monkeypatch.setitem(
            sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell)
        )
        assert progress.is_watched() is known


def test_the_line_is_written_over(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress.clock, "monotonic", lambda: now[0])
    line = progress.QuietLine()
    line(Step("explore", "a long message", 3, 7, 12.4))
    assert capsys.readouterr().err == "\r12 s  a long message (3/7)"
    now[0] = 100.49
    line(Step("explore", "x", 3, 7, 1.0))
    assert capsys.readouterr().err == ""
    now[0] = 100.5
    line(Step("explore", "x", 3, None, 1.0))
    assert capsys.readouterr().err == "\r1 s  x (3)".ljust(27)
    now[0] = 102.0
    line(Step("explore", "x" * 200, 3, None, 1.0))
    assert len(capsys.readouterr().err) == 101
    line.__del__()
    assert capsys.readouterr().err == "\r" + " " * 100 + "\r"
    line._width = 0
    line.__del__()
    assert capsys.readouterr().err == ""
    assert progress.QuietLine(2.0).every == 2.0 and line.every == 0.5
    # The first one comes at once only if enough time has gone by since the machine was started.
    now[0] = 0.5
    progress.QuietLine()(Step("explore", "x", 3, None, 1.0))
    assert capsys.readouterr().err != ""


def test_a_bar(monkeypatch):
    made = []

    class Bar:
        def __init__(self, **options):
            made.append((self, options))

        def set_postfix_str(self, text):
            self.text = text

    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    watched = progress.Progress(True, None)
    watched.tell("a", "b", 2, 5)
    watched.tell("a", "c", 3, 5)
    ((bar, options),) = made
    assert options == {"desc": "explore", "leave": False}
    assert (bar.total, bar.n, bar.text) == (5, 3, "a: c, 0 groupings so far")


# -- groups that are asked for --------------------------------------------------------------------


def test_two_rows_for_each_group():
    requested_groups.check_asked(2, 4)
    requested_groups.check_asked(5, 11)
    for k, n in ((1, 10), (6, 11), (2, 3)):
        with pytest.raises(SubscapeError, match=f"can't be had; ask for 2 to {n // 2}"):
            requested_groups.check_asked(k, n)


def test_the_first_view_at_a_level():
    first = SimpleNamespace(levels=(4, 3), n_clusters=4, number=1, at=lambda k: np.arange(10) % k)
    second = SimpleNamespace(levels=(7,), n_clusters=7, number=2)
    job, study = SimpleNamespace(rows=np.array([0, 3, 7])), SimpleNamespace(views=(first, second))
    labels, note = requested_groups._cut(job, study, 3)
    assert labels.tolist() == [0, 0, 1] and note == "view 1, merged until 3 are left"
    labels, note = requested_groups._cut(job, study, 4)
    assert labels.tolist() == [0, 3, 3] and note == "view 1, as it is"
    assert requested_groups._cut(job, study, 7) == (None, "")
    assert requested_groups._cut(job, SimpleNamespace(views=()), 3) == (None, "")


class Finder:
    def __init__(self, outcome, seeds):
        self.outcome, self.seeds = outcome, seeds
        if seeds is not None:
            self.random_state = None

    def set_params(self, random_state):
        self.seeds.append(random_state)

    def fit_predict(self, Z):
        if self.outcome is None:
            raise ValueError("no")
        return self.outcome


def asked_for(monkeypatch, outcomes, scores, k=2):
    seeds, given = [], []
    entries = [
        SimpleNamespace(
            make=lambda each=each, i=i: Finder(each, seeds if i else None), finder=f"F{i}",
            title=lambda i=i: f"title {i}",
        )
        for i, each in enumerate(outcomes)
    ]  # fmt: skip

    def tried(*arguments):
        given.append(arguments)
        return entries

    monkeypatch.setattr(requested_groups, "tried_entries", tried)
    job = SimpleNamespace(
        Z=np.zeros((20, 4)), seed=9,
        scorer=lambda labels: SimpleNamespace(score=scores[labels.tobytes()]),
    )  # fmt: skip
    labels, finder, title = requested_groups._found(job, k)
    assert given == [("asked", [k], (20, 4, 0))]
    assert seeds == [seed_of(9, 43, i) for i in range(1, len(outcomes))]
    assert title == finder.replace("F", "title ")
    return labels.tolist(), finder


def test_the_clearest_of_what_finders_give(monkeypatch):
    three = np.arange(20) % 3
    off = HALVES.copy()
    off[0] = 1
    scores = {canonical(each).tobytes(): s for each, s in ((HALVES, 1.0), (CROSSED, 2.0),
                                                          (three, 9.0), (off, 0.5))}  # fmt: skip
    found = asked_for(monkeypatch, [HALVES + 4, None, three, CROSSED, off], scores)
    assert found == (CROSSED.tolist(), "F3")
    assert asked_for(monkeypatch, [CROSSED, HALVES], scores)[1] == "F0"
    assert asked_for(monkeypatch, [three, HALVES], scores, 3) == (three.tolist(), "F0")
    # Of equal ones the first; nearly all rows in one cluster only if there is nothing else.
    scores[canonical(HALVES).tobytes()] = 2.0
    assert asked_for(monkeypatch, [HALVES, CROSSED], scores)[1] == "F0"
    noisy = np.where(np.arange(20) < 4, np.arange(20) % 2, -1)
    scores[canonical(noisy).tobytes()] = 99.0
    assert asked_for(monkeypatch, [noisy, off], scores)[1] == "F1"
    assert asked_for(monkeypatch, [noisy], scores) == (noisy.tolist(), "F0")
    with pytest.raises(SubscapeError, match="no finder gives 5 groups of this table"):
        asked_for(monkeypatch, [HALVES, None], scores, 5)


def test_what_was_asked_for_is_shown_beside_the_views(monkeypatch):
    made = []

    def make_view(job, number, assessed, shown, provisional, *, everyone):
        made.append((number, assessed, shown, provisional, everyone))
        return SimpleNamespace(made=number)

    monkeypatch.setattr(requested_groups, "make_view", make_view)
    monkeypatch.setattr(requested_groups, "rows_shown", lambda job: "shown")
    monkeypatch.setattr(
        requested_groups, "replace", lambda what, **changes: SimpleNamespace(of=what, **changes)
    )
    monkeypatch.setattr(requested_groups, "_found", lambda job, k: (CROSSED, "KMeans", "KMeans(2)"))
    told = SimpleNamespace(score=1.0, gain=2.0, entropy=3.0, basis="basis")
    job = SimpleNamespace(rows=np.arange(20), scorer=lambda labels: told, chance=None, ideas=["a"])
    study = SimpleNamespace(views=(), is_provisional=False)
    found = requested_groups.with_asked(job, study, 2)
    number, assessed, shown, provisional, everyone = made[0]
    assert (number, shown, provisional, everyone) == (1, "shown", False, True)
    assert assessed.note == "the clearest that could be found with 2 clusters, by KMeans"
    assert assessed.n_ideas == 2 and assessed.chance is None
    view = assessed.view
    assert (view.score, view.gain, view.entropy, view.basis) == (1.0, 2.0, 3.0, "basis")
    assert view.memberships.tolist() == [(CROSSED == 0).tolist(), (CROSSED == 1).tolist()]
    assert view.row_confidence.tolist() == [1.0] * 20 and view.labels is CROSSED
    assert (found.asked.finders, found.asked.titles) == (("KMeans",), ("KMeans(2)",))
    cut = SimpleNamespace(levels=(2,), n_clusters=2, number=1, at=lambda k: HALVES)
    study = SimpleNamespace(views=(cut, cut), is_provisional=True)
    found = requested_groups.with_asked(job, study, 2)
    assert made[1][0] == 3 and made[1][3] is True and found.asked.finders == ()
    assert found.asked.titles == () and made[1][1].note == "view 1, as it is"
    with pytest.raises(SubscapeError, match="ask for 2 to 10"):
        requested_groups.with_asked(job, study, 11)


def test_of_the_gain_over_one_normal_nothing_is_known_at_first():
    nothing = np.zeros(0)
    view = views.Consensus([], [], nothing, nothing, nothing, 5.0, 1.0, 1.0, nothing)
    assert view.normal_score == -np.inf
