"""Classes, shapes and lines as views, groups within groups, and levels, with made-up searches."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from subscape.core.errors import SubscapeError
from subscape.exploration import ideas, levels, nested
from subscape.exploration.levels import Merge, labels_at, merge_tree, recommended_level
from subscape.exploration.nested import Split, Within
from subscape.exploration.preparation import prepare
from subscape.exploration.separation import Separation
from subscape.exploration.shapes import Shapes
from subscape.exploration.study import as_table
from subscape.validation.fitted_tails import Interval

# -- columns of levels ----------------------------------------------------------------------------


def ready_of(X, **more):
    """What ideas ask of a prepared table."""
    X = np.asarray(X, dtype=float)
    p = X.shape[1]
    known = {
        "X": X, "searched": np.ones(p, bool), "origin": np.arange(p), "numeric": np.arange(p),
        "few_valued": np.zeros(0, int), "absent": np.zeros(X.shape, bool),
        "in_normal_scores": lambda: 10 * X,
    }  # fmt: skip
    return SimpleNamespace(**known | more)


def test_levels_and_numbers_of_a_table():
    n = 60
    rng = np.random.default_rng(0)
    colour = np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, n)]
    colour[4] = None
    frame = pd.DataFrame(
        {"size": rng.normal(size=n), "colour": colour, "grade": rng.integers(1, 6, n) + 0.0}
    )
    frame.loc[7, "size"] = np.nan
    table = as_table(frame)
    ready = prepare(table)
    values, levelled = ideas.as_levels(table, ready)
    assert levelled.tolist() == [False, True, True] and values.shape == (60, 3)
    place = int(np.flatnonzero(ready.origin == 0)[0])
    known = ready.in_normal_scores()[:, place].copy()
    known[7] = np.nan
    np.testing.assert_array_equal(values[:, 0], known)
    codes = table.nominal["colour"].astype(float)
    np.testing.assert_array_equal(values[:, 1], np.where(codes < 0, np.nan, codes))
    assert np.isnan(values[4, 1]) and np.isnan(values).sum() == 2
    assert len(np.unique(values[:, 2])) == 5
    # Features that are not searched are left out, and those after them keep their places.
    part = SimpleNamespace(
        X=ready.X, searched=np.array([False, True, True]), origin=ready.origin,
        absent=ready.absent, in_normal_scores=ready.in_normal_scores,
    )  # fmt: skip
    fewer, mask = ideas.as_levels(table, part)
    np.testing.assert_array_equal(fewer, values[:, 1:])
    assert mask.tolist() == [True, True]


@pytest.mark.parametrize(
    ("n_rows", "n_levelled", "n_columns", "known"),
    [
        (20, 3, 3, True), (19, 3, 3, False), (20, 2, 2, False), (20, 3, 12, True),
        (20, 3, 13, False), (20, 4, 16, True), (20, 4, 17, False), (20, 300, 300, True),
        (20, 301, 301, False), (20, 75, 300, True),
    ],
)  # fmt: skip
def test_when_classes_are_looked_for(monkeypatch, n_rows, n_levelled, n_columns, known):
    values, mask = np.zeros((n_rows, n_columns)), np.arange(n_columns) < n_levelled
    monkeypatch.setattr(ideas, "as_levels", lambda table, ready: (values, mask))
    assert ideas.can_have_classes(None, None) is known


@pytest.mark.parametrize(
    ("n_rows", "n_numbers", "n_few", "known"),
    [(20, 2, 0, True), (19, 2, 0, False), (20, 1, 0, False), (20, 2, 1, False), (20, 3, 1, True),
     (20, 200, 0, True), (20, 201, 0, False), (20, 201, 1, True)],
)  # fmt: skip
def test_when_shapes_are_looked_for(n_rows, n_numbers, n_few, known):
    X = np.repeat(np.arange(float(n_rows))[:, None], n_numbers, axis=1)
    ready = ready_of(X, few_valued=np.arange(n_few))
    assert ideas.can_have_shapes(ready) is known
    # Of five values a column has no shape, of six it has.
    assert not ideas.can_have_shapes(ready_of(X % 5, few_valued=np.arange(n_few)))
    assert ideas.can_have_shapes(ready_of(X % 6, few_valued=np.arange(n_few))) is known
    assert ideas.numbers_of(ready).tolist() == list(range(n_few, n_numbers))


def classes(monkeypatch, n_rows=40, n_groups=2, without="tree", seed=6, n_tables=9):
    asked = SimpleNamespace(tests=[], searches=[], likeliest=[])
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    values = np.random.default_rng(1).integers(0, 3, (n_rows, 3)).astype(float)
    monkeypatch.setattr(ideas, "as_levels", lambda table, ready: (values, np.ones(3, bool)))

    def test(given, levelled, *, n_tables, random_state):
        asked.tests.append((given, levelled.tolist(), n_tables, random_state))
        return SimpleNamespace(
            labels=np.arange(len(given), dtype=np.int32) % n_groups + 3, evidence=0.5,
            maxima={"a": np.array([1.0, 2.0]), "b": np.array([3.0])}, p_value=lambda: 0.25,
            interval=lambda: Interval(0.1, 0.4), found=SimpleNamespace(without=without),
        )  # fmt: skip

    def best(scorer, rng):
        asked.searches.append((scorer.table, rng.random()))
        return SimpleNamespace(labels=np.array([4, 5], dtype=np.int32))

    class Scorer:
        def __init__(self, table, like=None):
            self.table, self.like = table, like

        def __call__(self, given):
            return SimpleNamespace(gain=3.5 + len(given))

    class Table:
        of = staticmethod(lambda values, levelled: Table())

        def rows(self, sample):
            return ("part", sample.tolist())

    monkeypatch.setattr(ideas, "class_test", test)
    monkeypatch.setattr(ideas, "best_classes", best)
    monkeypatch.setattr(ideas, "ClassScorer", Scorer)
    monkeypatch.setattr(ideas, "LevelTable", Table)

    def likeliest(table, rows, labels):
        asked.likeliest.append((table, rows, labels))
        return np.full(n_rows, 5)

    monkeypatch.setattr(ideas, "likeliest_classes", likeliest)
    found = ideas.find_classes(None, ready_of(X), n_tables=n_tables, seed=seed)
    return found, asked, X, values


def test_classes_as_a_view(monkeypatch):
    found, asked, _, values = classes(monkeypatch)
    ((given, levelled, n_tables, seed),) = asked.tests
    np.testing.assert_array_equal(given, values)
    assert (levelled, n_tables, seed) == ([True] * 3, 9, 6)
    assert found.labels.tolist() == [0, 1] * 20 and found.n_groups == 2
    assert (found.idea, found.score, found.p_value) == ("classes", 0.5, 0.25)
    assert found.maxima == (1.0, 2.0, 3.0) and found.n_tables == 1
    assert found.columns.tolist() == [0, 1, 2] and found.basis.tolist() == np.eye(3).tolist()
    assert found.finders == ("LatentClasses",) and found.interval == Interval(0.1, 0.4)
    assert found.note == (
        "2 classes: within each, the columns say nothing more about each other; held against what "
        "pairs of columns tell without classes"
    )
    assert found.gain(np.zeros(4)) == 7.5
    assert found.again(np.array([7, 9])).tolist() == [4, 5]
    ((table, first),) = asked.searches
    assert table == ("part", [7, 9])
    assert first == np.random.default_rng([6, 37, 2, 7]).random()
    for without, words in (("traits", "what one or two traits tell"), ("", "what columns by them")):
        assert words in classes(monkeypatch, without=without)[0].note
    assert classes(monkeypatch, n_groups=1)[0] is None


def test_classes_of_many_rows(monkeypatch):
    found, asked, _, values = classes(monkeypatch, 1000)
    assert len(asked.tests[0][0]) == 1000 and len(found.labels) == 1000 and not asked.likeliest
    found, asked, _, values = classes(monkeypatch, 1001, n_groups=3)
    rows = np.sort(np.random.default_rng([6, 31]).choice(1001, 1000, replace=False))
    np.testing.assert_array_equal(asked.tests[0][0], values[rows])
    # The row that is left goes to its likeliest class, by those that are known.
    ((table, given, known),) = asked.likeliest
    assert table.rows(rows[:1]) == ("part", [rows[0]])
    np.testing.assert_array_equal(given, rows)
    np.testing.assert_array_equal(known, np.arange(1000) % 3 + 3)
    told = np.full(1001, 2)
    told[rows] = np.arange(1000) % 3
    assert adjusted_rand_score(found.labels, told) == 1.0


# -- shapes and lines -----------------------------------------------------------------------------


def shapes_view(monkeypatch, by="valleys", columns=(1,), labels=None):
    monkeypatch.setattr(ideas, "shape_columns", ideas.numbers_of)
    X = np.random.default_rng(0).normal(size=(30, 4)) * [1, 2, 3, 0]
    ready = ready_of(X, few_valued=np.array([0]))
    labels = np.repeat([4, 2], 15) if labels is None else labels
    basis = np.array([[1.0, 0.5], [0.0, 2.0], [0.5, 0.0]])
    found = Shapes(labels, by, basis, columns, 1.5, 0.02, {"a": (1.0, 2.0), "b": (3.0,)})
    asked = []

    def find(given, **options):
        asked.append((given, options))
        return found

    monkeypatch.setattr(ideas, "find_shapes", find)
    view = ideas.shapes_view(ready, n_tables=8, seed=5, tell="tell", is_known="known")
    np.testing.assert_array_equal(asked[0][0], X[:, 1:])
    assert asked[0][1] == {"n_tables": 8, "seed": 5, "tell": "tell", "is_known": "known"}
    return view, found, X


def test_shapes_as_a_view(monkeypatch):
    view, found, X = shapes_view(monkeypatch)
    assert (view.idea, view.score, view.p_value, view.n_tables) == ("shapes", 1.5, 0.02, 1)
    assert view.labels.tolist() == [0] * 15 + [1] * 15 and view.maxima == (1.0, 2.0, 3.0)
    assert view.columns.tolist() == [2] and view.finders == ("DensityTree",)
    assert view.note == "5 groups of any shape, parted by valleys of low density"
    assert view.interval == found.interval()
    spread = np.append(X[:, 1:3].std(axis=0), 1e-300)
    np.testing.assert_array_equal(view.basis[0], [0, 0])
    np.testing.assert_allclose(view.basis[1:], found.basis / spread[:, None])
    asked = []

    def again(table, shape):
        asked.append((table, shape))
        return "again"

    monkeypatch.setattr(ideas, "shapes_again", again)
    rows = np.arange(4, 20)
    assert view.again(rows) == "again" and asked[0][1] is found
    part = X[rows][:, 1:]
    wide = np.where(part.std(axis=0) > 0, part.std(axis=0), 1)
    np.testing.assert_allclose(asked[0][0], (part - part.mean(axis=0)) / wide)

    def score(points, labels):
        asked.append((points, labels))
        return SimpleNamespace(gain=np.float64(2.5))

    monkeypatch.setattr(ideas, "valley_score", score)
    assert view.gain("labels") == 2.5 and asked[1][1] == "labels"
    whole = X[:, 1:] - X[:, 1:].mean(axis=0)
    wide = np.where(whole.std(axis=0) > 0, whole.std(axis=0), 1)
    np.testing.assert_allclose(asked[1][0], whole / wide @ found.basis)
    view, *_ = shapes_view(monkeypatch, "gaps", ())
    assert view.columns.tolist() == [1, 2, 3] and view.finders == ("single linkage",)
    assert view.note == "5 groups of any shape, parted by gaps without rows"
    assert shapes_view(monkeypatch, labels=np.zeros(30, int))[0] is None
    assert shapes_view(monkeypatch, labels=np.arange(30) % 2)[0] is not None


def line(monkeypatch, p_values=(0.03, 0.01), labels=None, n=30, numeric=(1, 2)):
    X = np.random.default_rng(0).normal(size=(n, 3))
    ready = ready_of(X, numeric=np.array(numeric, dtype=int))
    labels = np.arange(n) % 2 if labels is None else labels
    asked = []

    def test(look, seed):
        asked.append((look, seed))
        which = len(asked) - 1
        return SimpleNamespace(
            p_value=p_values[which % 2], labels=labels[: len(look)],
            direction=np.array([1.0, 2.0]) * (1 + which),
        )  # fmt: skip

    monkeypatch.setattr(ideas, "split_test", test)
    monkeypatch.setattr(ideas, "sides", lambda X, labels: (X, labels))
    return ideas.line_view(ready, seed=7), asked, X


def test_a_line_as_a_view(monkeypatch):
    view, asked, X = line(monkeypatch)
    assert [seed for _, seed in asked] == [7, 7]
    np.testing.assert_array_equal(asked[0][0], X[:, 1:])
    np.testing.assert_array_equal(asked[1][0], 10 * X[:, 1:])
    assert (view.idea, view.p_value, view.maxima, view.n_tables) == ("shapes", 0.02, (), 0)
    assert view.score == pytest.approx(-np.log(0.02) / 30)
    np.testing.assert_array_equal(view.basis, [[0.0], [2.0], [4.0]])
    assert view.columns.tolist() == [1, 2] and view.finders == ("split test",)
    np.testing.assert_array_equal(view.labels[0], 10 * X[:, 1:])
    rows = np.arange(5, 20)
    seen, labels = view.again(rows)
    np.testing.assert_array_equal(seen, 10 * X[rows][:, 1:])
    assert asked[2][1] == 7 and len(labels) == 15
    told = []

    def score(points, labels):
        told.append(points)
        return SimpleNamespace(gain=1.25)

    monkeypatch.setattr(ideas, "valley_score", score)
    assert view.gain(None) == 1.25
    np.testing.assert_allclose(told[0][:, 0], 10 * X[:, 1:] @ [2.0, 4.0])
    assert told[0].shape == (30, 1)
    # The surer look counts, twice; no more than 1, and no less than a log can take.
    view, *_ = line(monkeypatch, (0.01, 0.03))
    np.testing.assert_array_equal(view.labels[0], X[:, 1:])
    assert line(monkeypatch, (0.6, 0.9))[0].p_value == 1.0
    assert line(monkeypatch, (0.6, 0.9))[0].score == 0.0
    assert line(monkeypatch, (0.0, 0.9))[0].score == pytest.approx(300 * np.log(10) / 30)


def test_where_no_line_is_looked_for(monkeypatch):
    assert line(monkeypatch, n=20)[0] is not None
    assert line(monkeypatch, n=19)[0] is None
    assert line(monkeypatch, numeric=())[0] is None
    assert line(monkeypatch, labels=np.zeros(30, int))[0] is None


def test_rows_go_to_the_side_that_describes_them_best(monkeypatch):
    assert ideas.sides(np.zeros((4, 1)), np.array([7, 7, 7, 7])).tolist() == [0] * 4
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) + 8 * np.repeat([[0.0, 0.0], [1.0, 0.0]], 40, axis=0)
    labels = np.repeat([1, 0], 40)
    labels[:3] = 0
    assert ideas.sides(X, labels).tolist() == [0] * 40 + [1] * 40


# -- what comes back ------------------------------------------------------------------------------


def test_how_an_idea_comes_back():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 60)
    X = np.column_stack([rng.normal(size=60), 5.0 * a + rng.normal(size=60) * 0.1])
    samples = [np.arange(30), np.arange(30, 60), np.arange(0, 40), np.arange(15, 60)]
    answers = {0: a[:30], 30: a[30:], 15: a[15:]}
    off = a[:40].copy()
    off[:5] = 1 - off[:5]

    def again(rows):
        return off if len(rows) == 40 else answers[int(rows[0])]

    view = SimpleNamespace(
        labels=np.where(np.arange(60) < 3, -1, a), n_groups=2, again=again, basis=np.eye(2)[:, 1:]
    )
    found = ideas.returned(view, X, samples)
    known = [
        adjusted_rand_score(view.labels[:40], off), adjusted_rand_score(view.labels[15:], a[15:]),
    ]  # fmt: skip
    assert found.stability == pytest.approx(np.mean(known))
    overlap = [
        [
            max(((own == j) & ours).sum() / ((own == j) | ours).sum() for j in (0, 1))
            for ours in (view.labels[rows] == 0, view.labels[rows] == 1)
        ]
        for rows, own in ((samples[2], off), (samples[3], a[15:]))
    ]
    np.testing.assert_allclose(found.clusters, np.mean(overlap, axis=0))
    assert found.replication == 1.0
    assert [rows.tolist() for rows, _ in found.samples] == [s.tolist() for s in samples[2:]]
    assert [rows.tolist() for rows, _ in found.halves] == [s.tolist() for s in samples[:2]]
    assert found.halves[1][1].tolist() == a[30:].tolist()
    # Where nothing foretells it, by the nearest row of the first half.
    view.basis = np.eye(2)[:, :1]
    near = np.abs(X[30:, :1] - X[:30, 0]).argmin(axis=1)
    replication = ideas.returned(view, X, samples[:2])
    assert replication.replication == pytest.approx(adjusted_rand_score(a[:30][near], a[30:]))
    assert np.isnan(replication.stability) and np.isnan(replication.clusters).all()
    assert replication.clusters.shape == (2,)


def test_versions_tell_a_third_beyond_each_other_at_most(monkeypatch):
    told = {}
    monkeypatch.setattr(ideas, "novelty", lambda a, b: told[a, b])
    for ab, ba, known in ((0.35, 0.9, True), (0.9, 0.35, True), (0.36, 0.9, False),
                          (0.9, 0.36, False)):  # fmt: skip
        told.update({("a", "b"): ab, ("b", "a"): ba})
        assert ideas.is_version("a", "b") is known


# -- groups within groups -------------------------------------------------------------------------


def told(gain, entropy=1.0, basis=None, normal=None):
    normal = gain if normal is None else normal
    basis = np.eye(2)[:, :1] if basis is None else basis
    return Separation(gain, entropy, basis, np.ones(1), normal)


@pytest.fixture
def split(monkeypatch):
    """Every cluster holds two halves; what is asked, and how clear they are."""
    said = SimpleNamespace(
        clearest=[], chance=[], best=[], p=1e-4, reached=(5.0, 5.0), none=[], groups=2,
    )  # fmt: skip

    def clearest(X, few, seed, n_groups=0):
        said.clearest.append((X, few.tolist(), seed))
        if len(said.clearest) in said.none:
            return None
        labels = np.arange(len(X)) % said.groups
        return Within(labels, told(9.0 + len(X) / 1000, basis=np.eye(X.shape[1])[:, :1]))

    def reached(X, seed, few, *, numbers):
        said.best.append((X, seed, few.tolist(), numbers))
        return SimpleNamespace(score=said.reached[0], normal=said.reached[1])

    def chance(part, few, numbers, scores, seen, name):
        said.chance.append((part, few.tolist(), numbers, scores, seen, name))
        return SimpleNamespace(
            p_value=lambda score, normal: said.p,
            interval=lambda score, normal: Interval(score / 100, normal / 100),
        )

    monkeypatch.setattr(nested, "clearest", clearest)
    monkeypatch.setattr(nested, "best_scores", reached)
    said.chance_of = chance
    return said


def table(sizes, p=2):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return np.random.default_rng(0).normal(size=(len(labels), p)), labels


def test_clusters_are_split_the_largest_first(split):
    X, labels = table([40, 90, 60])
    split.none = [2, 3, 4]
    found, splits = nested.find_splits(X, labels, np.array([1]), "quick", 8, split.chance_of)
    assert [len(part) for part, *_ in split.clearest] == [90, 60, 45, 45]
    assert split.clearest[0][1:] == ([1], 8)
    np.testing.assert_array_equal(split.clearest[0][0], X[40:130])
    ((rows, n_groups, p, basis, interval),) = [
        (s.rows, s.n_groups, s.p_value, s.basis, s.interval) for s in splits
    ]
    assert rows.tolist() == list(range(40, 130)) and n_groups == 2
    assert p == pytest.approx(4e-4)  # of four clusters that may be searched
    assert interval == pytest.approx((0.2, 0.2))
    np.testing.assert_array_equal(basis, [[1.0], [0.0]])
    known = labels.copy()
    known[41:130:2] = 3
    assert found.tolist() == known.tolist()
    # No more is compared than the quick search reaches.
    (part, few, numbers, scores, seen, name) = split.chance[0]
    assert few == [1] and numbers == [2, 3, 4, 5, 6] and scores == (5.0, 5.0)
    np.testing.assert_array_equal(seen, [[1.0], [0.0]])
    assert name == "within 0" and part.shape == (90, 2)
    assert split.best[0][1:] == (8, [1], [2, 3, 4, 5, 6])
    split.chance.clear()
    split.reached = (99.0, 99.0)
    split.clearest.clear()
    nested.find_splits(X, labels, np.array([1]), "quick", 8, split.chance_of)
    inner = told(9.09)
    assert split.chance[0][3] == pytest.approx((inner.score, inner.normal_score))


@pytest.mark.parametrize(("effort", "most"), [("quick", 4), ("normal", 10), ("thorough", 20)])
def test_so_many_clusters_are_searched(split, effort, most):
    X, labels = table([40] * 25)
    split.none = range(1, 99)
    _, splits = nested.find_splits(X, labels, np.zeros(0, int), effort, 0, split.chance_of)
    assert len(split.clearest) == most and splits == []
    # Of equal ones the first come first.
    np.testing.assert_array_equal(split.clearest[1][0], X[40:80])
    split.none = []
    split.clearest.clear()
    split.p = 0.01 / most
    _, splits = nested.find_splits(X, labels, np.zeros(0, int), effort, 0, split.chance_of)
    assert len(splits) == most and splits[0].p_value == pytest.approx(0.01)
    split.p = 0.0101 / most
    assert nested.find_splits(X, labels, np.zeros(0, int), effort, 0, split.chance_of)[1] == []
    split.p = 0.9
    names = [name for *_, name in split.chance[-most:]]
    assert names == [f"within {i}" for i in range(most)]


def test_forty_rows_are_needed(split):
    X, labels = table([40, 39])
    split.none = range(1, 9)
    nested.find_splits(X, labels, np.zeros(0, int), "quick", 0, split.chance_of)
    assert len(split.clearest) == 1
    split.clearest.clear()
    X, labels = table([39, 39])
    found, _ = nested.find_splits(X, labels, np.zeros(0, int), "quick", 0, split.chance_of)
    assert not split.clearest and found.tolist() == labels.tolist()


def test_columns_without_spread_in_a_cluster_are_left_out(split):
    X, labels = table([50, 50], 3)
    X[:50] = 1.0
    X[50:, 1] = 2.0
    split.none = [2, 3]
    _, splits = nested.find_splits(X, labels, np.array([2]), "quick", 0, split.chance_of)
    assert len(split.clearest) == 1 and split.clearest[0][1] == [1]
    np.testing.assert_array_equal(split.clearest[0][0], X[50:][:, [0, 2]])
    np.testing.assert_array_equal(splits[0].basis, [[1.0], [0.0], [0.0]])


def test_within_groups_of_any_shape_valleys_must_part_what_is_split(split):
    X, labels = table([50, 300], 3)
    X[50:, 1] = 2.0
    where = np.array([[0.0, 1.0], [5.0, 5.0], [2.0, 0.0]])
    split.none = [2, 3, 4]
    _, splits = nested.find_splits(X, labels, np.array([2]), "quick", 0, split.chance_of, where)
    # No valley parts the two pieces: nothing is asked of chance.
    assert splits == [] and not split.chance
    X[51::2, 0] += 30
    split.clearest.clear()
    _, splits = nested.find_splits(X, labels, np.array([2]), "quick", 0, split.chance_of, where)
    assert [each.n_groups for each in splits] == [2]
    np.testing.assert_allclose(split.chance[0][4], np.linalg.qr(where[[0, 2]])[0])


def test_noise_stays_noise_and_numbers_have_no_gaps(split):
    X, labels = table([50, 45])
    labels = np.where(labels == 1, 7, labels)
    labels[::10] = -1
    split.none = [2, 3, 4]
    split.groups = 3
    found, splits = nested.find_splits(X, labels, np.zeros(0, int), "quick", 0, split.chance_of)
    assert splits[0].n_groups == 3
    assert (found[::10] == -1).all() and sorted(set(found.tolist())) == [-1, 0, 1, 2, 3]
    assert (found[labels == 7] == 1).all()
    none = nested.find_splits(X, labels % 2, np.zeros(0, int), "quick", 0, split.chance_of)[0]
    assert none.min() == 0


def test_the_grouping_of_a_table_that_is_reported_first(monkeypatch):
    made = [np.repeat([0, 1], 20), np.arange(40) % 3, np.arange(40) % 2, np.zeros(40, int)]
    gains = {0: 1.0, 1: 2.0, 2: 0.0, 3: 5.0}
    asked = SimpleNamespace(search=[], chosen=[])

    class Search:
        def __init__(self, *given):
            asked.search.append(given)
            self.clusterings_ = [SimpleNamespace(labels=lambda x=x: x) for x in made]

        def fit(self, X):
            return self

    class Scorer:
        def __init__(self, X, few):
            asked.search.append((X, few))

        def __call__(self, labels):
            which = next(i for i, each in enumerate(made) if each is labels)
            return SimpleNamespace(gain=gains[which], which=which)

    def choose(scorer, options):
        asked.chosen.append([scorer(each).which for each in options])
        return [SimpleNamespace(place=len(options) - 1)] if options else []

    monkeypatch.setattr(nested, "CloudSearch", Search)
    monkeypatch.setattr(nested, "GroupingScorer", Scorer)
    monkeypatch.setattr(nested, "choose_views", choose)
    monkeypatch.setattr(nested, "is_sliced", lambda scorer, one, options: one is made[3])
    X, few = np.zeros((40, 2)), np.array([1])
    found = nested.clearest(X, few, 5)
    assert asked.search[0] == (6, (1,), 5)
    assert asked.search[1][0] is X and asked.search[1][1] is few
    # What gains nothing, and slices, are left out.
    assert asked.chosen == [[0, 1]] and found.labels is made[1] and found.told.which == 1
    assert nested.clearest(X, few, 5, 2).labels is made[0]
    assert nested.clearest(X, few, 5, 3).labels is made[1]
    assert nested.clearest(X, few, 5, 1) is None  # one group is no grouping
    assert nested.clearest(X, few, 5, 4).labels is made[1]
    gains.update({0: -1.0, 1: 0.0})
    assert nested.clearest(X, few, 5) is None
    gains[1] = 1e-9
    assert nested.clearest(X, few, 5).labels is made[1]


def test_the_part_of_a_sample_that_is_several(monkeypatch):
    asked = []

    def clearest(X, few, seed, n_groups):
        asked.append((X, few.tolist(), seed, n_groups))
        return None if answers is None else Within(answers[: len(X)], None)

    monkeypatch.setattr(nested, "clearest", clearest)
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:, 1] = 3.0
    rows = np.arange(0, 40, 2)
    found = np.array([0] * 8 + [1] * 10 + [-1] * 2)
    split = Split(np.arange(12, 40), 2, 0.0, np.eye(3))
    answers = np.array([0, 1, 2] * 4)
    again = nested.split_again(X, rows, found, [split], np.array([2]), 6)
    ((part, few, seed, n_groups),) = asked
    np.testing.assert_array_equal(part, X[16:36:2][:, [0, 2]])
    assert (few, seed, n_groups) == ([1], 6, 2)
    assert again[:8].tolist() == [0] * 8 and again[18:].tolist() == [-1, -1]
    assert again[8:18].tolist() == [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]
    assert found[8:18].tolist() == [1] * 10  # what was given stays
    # Nothing of the cluster is in the sample, or all of that is noise.
    asked.clear()
    for rows_of, labels in ((np.array([1, 3]), found), (np.array([36, 38]), found)):
        other = Split(rows_of, 2, 0.0, np.eye(3))
        assert nested.split_again(X, rows, labels, [other], np.zeros(0, int), 6).tolist() == (
            labels.tolist()
        )
    assert not asked
    # Two rows for each group.
    for n_groups, calls in ((5, 1), (6, 0)):
        asked.clear()
        wide = Split(np.arange(12, 40), n_groups, 0.0, np.eye(3))
        nested.split_again(X, rows, found, [wide], np.zeros(0, int), 6)
        assert len(asked) == calls
    asked.clear()
    flat = np.ones((40, 3))
    nested.split_again(flat, rows, found, [split], np.zeros(0, int), 6)
    assert not asked
    answers = None
    assert nested.split_again(X, rows, found, [split], np.zeros(0, int), 6).tolist() == (
        found.tolist()
    )
    # One split after the other, with numbers of their own.
    answers = np.array([0, 1] * 10)
    first = Split(np.arange(0, 16), 2, 0.0, np.eye(3))
    again = nested.split_again(X, rows, found, [first, split], np.zeros(0, int), 6)
    assert again[:8].tolist() == [0, 2] * 4 and again[8:18].tolist() == [1, 3] * 5


# -- levels ---------------------------------------------------------------------------------------


def test_merging_by_what_is_lost():
    seen = np.repeat([[0.0], [1.0], [4.0], [9.0]], 10, axis=0)
    labels = np.repeat([5, 2, 7, 3], 10)

    def gain(current):
        numbers = np.unique(current).tolist()
        if len(numbers) == 4:
            return 10.0
        if len(numbers) == 3:
            return {(2, 3, 7): 8.0, (2, 3, 5): 9.0, (2, 5, 7): 9.5, (3, 5, 7): 1.0}[tuple(numbers)]
        return {(2, 5): 6.0, (2, 7): 5.0, (5, 7): 4.0, (2, 3): 3.5}[tuple(numbers)]

    asked = []

    def p_value(current):
        asked.append(current.copy())
        left = len(np.unique(current))
        return 0.1 * left, (0.0, 0.5) if left == 3 else None

    rows = np.arange(0, 40, 2)
    # In the sample, the two that are merged last have one number.
    other = np.repeat([0, 1, 1, 2], 5)
    merges = merge_tree(labels, seen, gain, p_value, [(rows, other)])
    # Of three, most is gained by 2, 5 and 7; of two, by 2 and 5, whichever 7 goes to.
    assert [(m.first, m.second, m.n_clusters) for m in merges] == [(2, 3, 3), (2, 7, 2)]
    assert merges[0].lost == pytest.approx(10.0 - 9.5)
    assert [m.p_value for m in merges] == pytest.approx([0.3, 0.2])
    assert [m.p_interval for m in merges] == [(0.0, 0.5), None]
    assert len(asked) == 2
    for m, current in zip(merges, asked, strict=True):
        assert m.second not in current and m.first in current
    own = levels._as_clusters(labels[rows], other)
    for merge, current in zip(merges, asked, strict=True):
        own = np.where(own == merge.second, merge.first, own)
        assert merge.stability == pytest.approx(adjusted_rand_score(current[rows], own))


def test_of_equal_losses_the_first_pair_is_merged():
    seen = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    labels = np.repeat([0, 1, 2], 4)
    (merge,) = merge_tree(labels, seen, lambda current: 1.0)
    assert (merge.first, merge.second, merge.lost) == (0, 1, 0.0)
    assert np.isnan(merge.p_value) and np.isnan(merge.stability)
    (merge,) = merge_tree(labels, seen, lambda current: float((current == 1).sum()))
    assert (merge.first, merge.second, merge.lost) == (1, 2, -4.0)


def test_trees_of_three_to_forty_clusters():
    for k, known in ((2, 0), (3, 1), (40, 38), (41, 0)):
        labels = np.append(np.repeat(np.arange(k), 2), [-1])
        seen = np.append(np.repeat(np.arange(k) ** 1.1, 2), 0.0)[:, None]
        tree = merge_tree(labels, seen, lambda current: 0.0, by_centres=True)
        assert len(tree) == known
        if tree:
            assert tree[-1].n_clusters == 2


def test_clouds_are_merged_where_the_spread_grows_least():
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 5.0]])
    sizes = np.array([10, 30, 60])
    assert levels._ward(centres, sizes, 0, 1) == pytest.approx(10 * 30 / 40 * 9)
    assert levels._ward(centres, sizes, 1, 2) == pytest.approx(30 * 60 / 90 * 34)
    # Small clusters cost less, and so the farther ones are merged.
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [4, 4, 200])
    seen = rng.normal(size=(208, 1)) * 0.01 + np.array([0.0, 4.0, 1.9])[labels][:, None]
    (merge,) = merge_tree(labels, seen, lambda current: 0.0, by_centres=True)
    grow = {pair: levels._ward(np.array([[0.0], [4.0], [1.9]]), np.array([4, 4, 200]), *pair)
            for pair in ((0, 1), (0, 2), (1, 2))}  # fmt: skip
    assert (merge.first, merge.second) == min(grow, key=grow.get)


def test_distances_are_in_units_of_the_spread_within():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 2, 3], 30)
    seen = rng.normal(size=(90, 3)) * [1.0, 10.0, 0.0]
    seen += 7 * labels[:, None] * [1.0, 1.0, 0.0]
    found = levels._in_spreads(seen, labels, [0, 2, 3])
    left = np.concatenate([seen[labels == k] - seen[labels == k].mean(axis=0) for k in (0, 2, 3)])
    np.testing.assert_allclose(found[:, :2], seen[:, :2] / left.std(axis=0)[:2])
    np.testing.assert_array_equal(found[:, 2], 0)
    # The wide direction counts less than the narrow one.
    labels = np.repeat([0, 1, 2], 40)
    seen = rng.normal(size=(120, 2)) * [1.0, 20.0]
    seen += np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 40.0]])[labels]
    (merge,) = merge_tree(labels, seen, lambda current: 0.0, by_centres=True)
    assert (merge.first, merge.second) == (0, 2)


def test_other_labels_under_the_numbers_they_share_most_with():
    labels = np.array([3, 3, 3, 5, 5, -1, -1, -1])
    other = np.array([0, 0, 1, 1, 1, 1, 2, -1])
    assert levels._as_clusters(labels, other).tolist() == [3, 3, 5, 5, 5, 5, -1, -1]


def test_labels_at_a_level():
    labels = np.array([0, 0, 1, 1, 1, 2, -1, 3, 3, 3, 3])
    merges = [Merge(0, 2, 0.1, 3), Merge(1, 3, 0.2, 2)]
    assert labels_at(labels, merges, 4).tolist() == [2, 2, 1, 1, 1, 3, -1, 0, 0, 0, 0]
    # As large as another one: in the order of their numbers.
    assert labels_at(labels, merges, 3).tolist() == [1, 1, 2, 2, 2, 1, -1, 0, 0, 0, 0]
    assert labels_at(labels, merges, 2).tolist() == [1, 1, 0, 0, 0, 1, -1, 0, 0, 0, 0]
    assert labels.tolist()[7] == 3
    for number in (1, 5):
        with pytest.raises(SubscapeError, match=f"4 clusters, its tree goes down to 2: there is no "
                                                f"level of {number}"):  # fmt: skip
            labels_at(labels, merges, number)


def test_the_level_that_is_recommended():
    merges = [Merge(0, 1, 0.1, 3, 0.01, 0.75), Merge(0, 2, 0.1, 2, 0.001, 1.0)]
    assert recommended_level(4, 0.01, 0.75, merges) == 4
    assert recommended_level(4, 0.0101, 0.75, merges) == 3
    assert recommended_level(4, 0.01, 0.74, merges) == 3
    # What was not tested is not against it.
    assert recommended_level(4, float("nan"), 0.8, merges) == 4
    assert recommended_level(4, 0.5, 0.5, [Merge(0, 1, 0.1, 3, 0.02, 0.9), merges[1]]) == 2
    assert recommended_level(4, 0.5, 0.5, [Merge(0, 1, 0.1, 3, 0.02, 0.9)]) == 4
    assert recommended_level(4, 0.5, 0.5, [Merge(0, 1, 0.1, 3)]) == 4
    assert Merge(0, 1, 0.1, 3).p_value != Merge(0, 1, 0.1, 3).p_value
