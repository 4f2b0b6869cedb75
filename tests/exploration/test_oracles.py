"""Parts of an exploration against answers that are known by other means."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import gamma, gumbel_r
from sklearn.metrics import adjusted_rand_score
from sklearn.naive_bayes import GaussianNB

from subscape.core.clustering import SubspaceClustering
from subscape.core.prototypes import assign, describe
from subscape.exploration import assess, exploration, load_study
from subscape.exploration.assess import CAME_BACK, NullScores, came_back, null_score, view_stability
from subscape.exploration.clouds import Clouds, ladder
from subscape.exploration.exploration import Exploration
from subscape.exploration.plan import MOST_CLUSTERS
from subscape.exploration.rule import learn, learn_neighbours
from subscape.exploration.select import _Search
from subscape.exploration.separation import GroupingScorer
from subscape.exploration.study import as_table
from subscape.exploration.views import Consensus, consensus_of
from subscape.testing.studies import planted_study
from subscape.validation.classes import gamma_interval, gamma_p_value
from subscape.validation.fitted_tails import (
    gumbel_holds,
    gumbel_interval,
    gumbel_tail,
    heap_p_value,
    pearson_holds,
    pearson_interval,
    standard_pearson,
)
from subscape.validation.max_statistic import (
    NullMaxima,
    gumbel_p_value,
    tail_interval,
)

# -- p-values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 10, 40])
def test_beyond_the_maxima_a_p_value_is_how_often_one_more_gets_so_far(n):
    # By brute force: n maxima and one more, of a law whose place and scale play no part.
    drawn = np.random.default_rng(n).gumbel(-7.0, 3.0, (200_000, n + 1))
    away = (drawn[:, 0] - drawn[:, 1:].mean(axis=1)) / drawn[:, 1:].std(axis=1, ddof=1)
    maxima = np.random.default_rng(1).gumbel(2.0, 0.5, n)
    for known in (0.01, 0.002):
        score = maxima.mean() + np.quantile(away, 1 - known) * maxima.std(ddof=1)
        assert gumbel_p_value(score, maxima) == pytest.approx(known, rel=0.1)


def test_p_values_of_tables_without_groups_are_what_they_say():
    rng = np.random.default_rng(8)
    for n in (10, 20):
        found = [gumbel_p_value(x[0], x[1:]) for x in rng.gumbel(1.0, 2.0, (20_000, n + 1))]
        for level in (0.05, 0.01, 0.002):
            # A tail that is refused is counted, which makes a p-value larger, never smaller.
            share = np.mean(np.array(found) <= level)
            assert 0.5 * level < share < level + 3 * np.sqrt(level / 20_000)


def test_above_a_heap_a_p_value_is_the_share_times_how_often_one_more_gets_so_far():
    rng = np.random.default_rng(4)
    above = rng.exponential(2.0, 6)
    drawn = rng.exponential(1.0, (200_000, 7))
    away = np.quantile(drawn[:, 0] / drawn[:, 1:].sum(axis=1), 0.98)
    values = np.concatenate([np.zeros(14), above])
    score = above.sum() * away
    assert heap_p_value(score, values) == pytest.approx(7 / 21 * 0.02, rel=0.05)


def test_within_the_maxima_it_is_their_share():
    maxima = [1.0, 2.0, 3.0, 4.0]
    for score, known in ((0.5, 1.0), (1.0, 1.0), (2.5, 3 / 5), (4.0, 2 / 5)):
        assert gumbel_p_value(score, maxima) == pytest.approx(known)
    assert gumbel_p_value(9.0, [1.0, 2.0]) == pytest.approx(1 / 3)  # two tell no spread
    assert gumbel_p_value(9.0, [-np.inf, np.nan]) == 1.0


@pytest.mark.parametrize(("n", "level"), [(10, 0.01), (20, 0.01), (20, 0.001)])
def test_p_values_of_maxima_hold_their_level(n, level):
    rng = np.random.default_rng(n)
    values = [
        gumbel_p_value(table[0], table[1:]) for table in rng.gumbel(3.0, 0.5, size=(4000, n + 1))
    ]
    # Without the correction of the spread it is about twice the level, without both more.
    assert np.mean(np.array(values) <= level) <= 1.6 * level + 0.001


def test_views_and_clusters_must_beat_the_maxima_of_their_own_kind():
    low, high, cluster, bent = (tuple(c + np.linspace(0, 1, 10)) for c in (0.0, 5.0, 9.0, 14.0))
    chance = NullMaxima(low, cluster, high, bent)
    assert chance.p_value(4.0) == gumbel_p_value(4.0, high) == 1.0
    assert NullMaxima(low, cluster).p_value(4.0) == gumbel_p_value(4.0, low) < 0.01
    assert NullMaxima(low, cluster).cluster_p_value(8.0) == 1.0
    # A cluster is held against tables with one hump alone: the view has beaten curves.
    assert chance.cluster_p_value(12.0) == gumbel_p_value(12.0, cluster) < 0.01
    assert chance.cluster_interval(12.0) == tail_interval(12.0, cluster)
    assert NullMaxima(low, ()).cluster_interval(12.0) == (1.0, 1.0)


@pytest.mark.parametrize(("first", "second"), [((1.0, 2.0), (3.0, 1.5)), ((3.0, 1.5), (1.0, 2.0))])
def test_chance_has_a_second_search_too(monkeypatch, first, second):
    outcomes = iter([first, second])
    tables = []

    def search(table, *others):
        tables.append(table)
        labels = np.repeat([0, 1], 30) if len(tables) == 1 else np.tile([0, 1], 30)
        return Clouds(labels[None], *next(outcomes))

    monkeypatch.setattr(assess, "search_clouds", search)
    X = np.random.default_rng(0).normal(size=(60, 4))
    found = null_score(X, 0, numbers=[2])
    assert (found.score, found.normal) == (3.0, 2.0)
    assert np.linalg.matrix_rank(tables[0]) == 4
    assert np.linalg.matrix_rank(tables[1]) == 3  # what was found is taken out


def test_no_view_is_compared_by_more_than_the_search_of_chance_reached(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 4))
    job = Exploration(as_table(X), effort="quick", progress=False)
    asked = []

    def reached(table, *others, **options):
        asked.append((table, options))
        return NullScores(1.0, 0.0, 2.0)

    monkeypatch.setattr(exploration, "best_scores", reached)
    nothing = np.zeros(0)
    view = Consensus([], [], nothing, nothing, nothing, 5.0, 1.0, 1.0, nothing, 6.0)
    held = job._as_chance_searches(view)
    assert (held.score, held.normal_score) == (1.0, 2.0)
    lower = replace(view, score=0.5, normal_score=0.25)
    held = job._as_chance_searches(lower)
    assert (held.score, held.normal_score) == (0.5, 0.25)
    # The table is searched once, just as tables without groups are.
    ((table, options),) = asked
    np.testing.assert_array_equal(table, job.X)
    assert options["numbers"] == ladder(60, MOST_CLUSTERS["quick"])


def test_of_two_scores_twice_the_smaller_probability_counts():
    low, high = (tuple(c + np.linspace(0, 1, 10)) for c in (0.0, 5.0))
    chance = NullMaxima(low, low, normal_maxima=high)
    assert chance.p_value(4.0) == gumbel_p_value(4.0, low)
    assert chance.p_value(4.0, 0.0) == 2 * gumbel_p_value(4.0, low)
    assert chance.p_value(0.5, 9.0) == 2 * gumbel_p_value(9.0, high)
    assert chance.p_value(0.0, 0.0) == 1.0
    # Bent curves have to be beaten by the same score.
    bent = NullMaxima(low, low, high, low, low, high)
    assert bent.p_value(4.0, 4.0) == 1.0
    assert not chance.is_clear(2.5, 0.0) and 1e-3 < chance.p_value(2.5, 0.0) < 0.05
    assert chance.is_clear(9.0, 0.0) and chance.p_value(9.0, 0.0) < 1e-3
    assert chance.is_clear(0.0, 0.0)


# -- the fitted tail: does it hold, and how sure is it? -------------------------------------------


def test_a_tail_that_holds_is_refused_once_in_a_hundred_and_a_heavy_one_mostly():
    rng = np.random.default_rng(3)
    for n in (10, 20, 40):
        right = np.mean([not gumbel_holds(v) for v in rng.gumbel(-3.0, 7.0, (3000, n))])
        assert 0.004 < right < 0.018
        light = np.mean([not gumbel_holds(v) for v in rng.normal(size=(1000, n))])
        assert light <= 0.004
    heavy = np.mean([not gumbel_holds(v) for v in rng.pareto(1.5, size=(500, 40))])
    assert heavy > 0.9


def test_where_the_tail_is_refused_tables_are_counted():
    heavy = np.random.default_rng(0).pareto(1.0, size=40)
    score = 3 * heavy.max()
    assert not gumbel_holds(heavy)
    assert gumbel_p_value(score, heavy) == pytest.approx(1 / 41)
    assert tail_interval(score, heavy) == pytest.approx((1 / 41, 1 / 41))


def test_refusing_tails_makes_claims_by_heavy_tails_rarer():
    rng = np.random.default_rng(1)
    tables = np.exp(rng.normal(size=(4000, 41)))
    told = np.mean([gumbel_p_value(t[0], t[1:]) <= 0.01 for t in tables])
    blind = np.mean([old_p_value(t[0], t[1:]) <= 0.01 for t in tables])
    assert told < 0.012 < 0.015 < blind


@pytest.mark.parametrize("law", ["gumbel", "normal", "heaped", "pareto", "equal"])
def test_no_p_value_is_smaller_than_without_the_test(law):
    rng = np.random.default_rng(5)
    for n in (3, 10, 20, 40):
        for _ in range(50):
            values = {
                "gumbel": lambda n=n: rng.gumbel(size=n),
                "normal": lambda n=n: rng.normal(size=n),
                "heaped": lambda n=n: np.where(rng.random(n) < 0.2, rng.exponential(size=n), 0.0),
                "pareto": lambda n=n: rng.pareto(1.5, size=n),
                "equal": lambda n=n: np.zeros(n),
            }[law]()
            for score in (0.0, 0.02, 1.0, 5.0, 50.0):
                assert gumbel_p_value(score, values) >= old_p_value(score, values)


def old_p_value(score, values):
    """Gumbel's tail without a test."""
    n = len(values)
    counted = (1 + (values >= score).sum()) / (n + 1)
    if counted > 1 / (n + 1):
        return counted
    return min(counted, gumbel_tail(score, values, max(values.std(ddof=1), 0.01)))


@pytest.mark.parametrize("n", [10, 40])
def test_the_interval_holds_the_probability_in_95_of_100(n):
    rng = np.random.default_rng(n)
    score = 3.0 + 2.0 * 7.0
    known = gumbel_r.sf(score, loc=3.0, scale=2.0)
    found = [
        gumbel_interval(score, v, float(v.std(ddof=1))) for v in rng.gumbel(3.0, 2.0, (3000, n))
    ]
    low, high = np.array(found).T
    assert np.mean(known < low) == pytest.approx(0.025, abs=0.01)
    assert np.mean(known > high) == pytest.approx(0.025, abs=0.01)


@pytest.mark.parametrize("shape", [1.0, 9.0, 100.0])
def test_so_do_intervals_and_test_of_the_gamma_law(shape):
    rng = np.random.default_rng(7)
    tables = 5.0 + 2.0 * standard_pearson(rng, shape, (600, 40))
    score = 5.0 + 2.0 * 4.5
    known = gamma.sf(shape + 4.5 * np.sqrt(shape), shape)
    found = np.array([pearson_interval(score, v, float(v.std(ddof=1)), shape) for v in tables])
    held = np.mean((found[:, 0] <= known) & (known <= found[:, 1]))
    assert held == pytest.approx(0.95, abs=0.03)
    assert np.mean([not pearson_holds(v) for v in tables]) < 0.03
    heavy = rng.pareto(1.0, (200, 40))
    assert np.mean([not pearson_holds(v) for v in heavy]) > 0.8
    refused = next(v for v in heavy if not pearson_holds(v))
    assert gamma_p_value(9 * refused.max(), refused) == pytest.approx(1 / 41)


def test_intervals_of_several_kinds_go_the_way_of_their_p_values():
    rng = np.random.default_rng(2)
    plain, bent, normal = (tuple(c + 0.1 * rng.gumbel(size=40)) for c in (0.0, 0.3, 0.1))
    chance = NullMaxima(plain, plain, bent, bent, normal, bent)
    for score, other in ((1.4, -np.inf), (1.4, 1.6), (1.6, 1.4), (0.2, 0.2)):
        low, high = chance.interval(score, other)
        assert low <= chance.p_value(score, other) <= high
    both = np.array([tail_interval(1.4, plain), tail_interval(1.4, bent)])
    assert chance.interval(1.4) == tuple(both.max(axis=0))
    alone = NullMaxima(plain, plain, normal_maxima=normal)
    other = np.array([tail_interval(1.4, plain), tail_interval(1.6, normal)])
    assert alone.interval(1.4, 1.6) == pytest.approx(tuple(2 * other.min(axis=0)))


# -- stability and replication --------------------------------------------------------------------


def runs(rows, *found):
    return [
        SimpleNamespace(
            rows=rows, clusterings=(SubspaceClustering.from_labels(each, n_features=2),)
        )
        for each in found
    ]


@pytest.fixture
def crossed():
    """Two groupings of 80 rows, one in each column, and a view that is the first of them."""
    rng = np.random.default_rng(0)
    a, b = np.arange(80) % 2, np.arange(80) // 2 % 2
    X = 6.0 * np.column_stack([a, b]) + 0.3 * rng.normal(size=(80, 2))
    view = SimpleNamespace(labels=a, memberships=np.array([a == 0, a == 1]))
    return X - X.mean(axis=0), a, b, view


def test_replication_foretells_the_second_half_from_the_first(crossed):
    X, a, b, view = crossed
    halves = np.arange(40), np.arange(40, 80)
    same = view_stability(view, [runs(half, a[half]) for half in halves], X)
    assert same.replication == pytest.approx(1.0)
    for first, second in ((a, b), (b, a)):
        found = [runs(halves[0], first[halves[0]]), runs(halves[1], second[halves[1]])]
        assert abs(view_stability(view, found, X).replication) < 0.1
    nothing = [runs(halves[0], a[halves[0]]), runs(halves[1], np.full(40, -1))]
    assert view_stability(view, nothing, X).replication == 0.0


def test_replication_is_the_agreement_of_rule_and_half(crossed):
    X, a, _, view = crossed
    halves = np.arange(40), np.arange(40, 80)
    off = a[halves[1]].copy()
    off[:6] = 1 - off[:6]
    found = view_stability(view, [runs(halves[0], a[halves[0]]), runs(halves[1], off)], X)
    assert found.replication == pytest.approx(adjusted_rand_score(a[halves[1]], off))


def test_a_view_came_back_if_one_of_the_results_is_nearly_it(crossed):
    _, a, b, view = crossed
    rows = np.arange(10, 66)
    # Whatever the clusters are called; noise is a group like others.
    assert came_back(view, runs(rows, b[rows], 1 - a[rows]))
    assert came_back(view, runs(rows, np.where(a[rows] == 0, -1, 0)))
    assert not came_back(view, runs(rows, b[rows]))
    assert not came_back(view, runs(rows, np.full(len(rows), -1)))
    assert not came_back(view, [])


def test_a_view_came_back_by_the_agreement_with_the_rows_of_the_sample(crossed):
    _, a, _, view = crossed
    rows = np.arange(1, 80)
    agreements = []
    for wrong in range(4):
        off = a[rows].copy()
        off[:wrong] = 1 - off[:wrong]
        agreements.append(adjusted_rand_score(a[rows], off))
        assert came_back(view, runs(rows, off)) == (agreements[-1] >= CAME_BACK)
    assert agreements[1] > 0.94 and agreements[3] < 0.9 < CAME_BACK < 1


def test_stability_is_the_mean_agreement_with_the_samples(crossed):
    X, a, b, view = crossed
    halves = [runs(np.arange(40), a[:40]), runs(np.arange(40, 80), a[40:])]
    rows = np.arange(10, 66)
    off = a[rows].copy()
    off[:4] = 1 - off[:4]
    # Of each sample the result that is most like the view counts.
    samples = [*halves, runs(rows, b[rows], a[rows]), runs(rows, off), runs(rows, b[rows])]
    found = view_stability(view, samples, X)
    known = [1.0, adjusted_rand_score(a[rows], off), adjusted_rand_score(a[rows], b[rows])]
    assert found.stability == pytest.approx(np.mean(known))
    overlap = [
        [
            max(np.mean(((labels == j) & ours) / np.mean((labels == j) | ours)) for j in (0, 1))
            for ours in (a[rows] == 0, a[rows] == 1)
        ]
        for labels in (a[rows], off, b[rows])
    ]
    np.testing.assert_allclose(found.clusters, np.mean(overlap, axis=0))


# -- votes ----------------------------------------------------------------------------------------


def voted(*scores):
    """What three candidates agree on; the second and third differ from the first in one row."""
    labels = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]]
    candidates = [
        SimpleNamespace(
            score=score,
            labels=np.array(each),
            clustering=SubspaceClustering.from_labels(each, n_features=2),
        )
        for score, each in zip(scores, labels, strict=True)
    ]
    clear = SimpleNamespace(normal_score=0.0, score=1e9, gain=1.0, entropy=1.0, basis=np.eye(2))
    return consensus_of(candidates, [0, 1, 2], lambda *_: clear)


def test_votes_weigh_as_the_square_of_the_scores():
    alike = voted(10.0, 9.0, 9.0)  # 1 against 2 x 0.81
    assert alike.labels.tolist() == [0, 0, 1, 1, 1, 1]
    assert alike.row_confidence[2] == pytest.approx(1.62 / 2.62)
    unlike = voted(10.0, 6.0, 6.0)  # 1 against 2 x 0.36
    assert unlike.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert unlike.row_confidence[2] == pytest.approx(1 / 1.72)


# -- the rule for new rows ------------------------------------------------------------------------


def test_the_rule_is_that_of_the_textbook():
    rng = np.random.default_rng(0)
    labels = rng.choice(3, 300, p=[0.6, 0.3, 0.1])
    X = 2.5 * np.eye(4)[labels] + rng.normal(size=(300, 4)) * [0.5, 1.0, 1.5, 0.7]
    X -= X.mean(axis=0)
    rule = learn(X, labels)
    textbook = GaussianNB(var_smoothing=0.0).fit(X @ rule.basis, labels)
    new = rng.normal(size=(500, 4)) * 2
    found, sure = rule(new)
    np.testing.assert_array_equal(found, textbook.predict(new @ rule.basis))
    odds = textbook.predict_proba(new @ rule.basis)
    np.testing.assert_allclose(sure, odds.max(axis=1), rtol=1e-6)
    own = textbook.predict(X @ rule.basis)
    assert rule.agreement == pytest.approx(np.mean(own == labels))
    missing = new[:3].copy()
    missing[:, 1] = np.nan
    zeroed = np.nan_to_num(missing)
    np.testing.assert_array_equal(rule(missing)[1], rule(zeroed)[1])


def test_the_rule_assigns_in_the_directions_of_the_view():
    rng = np.random.default_rng(1)
    labels = rng.choice([-1, 0, 1, 2], 400, p=[0.1, 0.5, 0.3, 0.1])
    X = 3.0 * np.eye(5)[labels] + rng.normal(size=(400, 5))
    rule = learn(X, labels)
    numbers, clusters = np.unique(labels, return_inverse=True)
    placed = assign(X @ rule.basis, describe(X @ rule.basis, clusters), noise=False)
    np.testing.assert_array_equal(rule(X)[0], numbers[placed])


def test_the_rule_of_neighbours_takes_the_nearest():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(100, 3)), rng.normal(size=(50, 3))
    labels = rng.integers(0, 4, 100)
    rule = learn_neighbours(X, labels, np.eye(3)[:, :2])
    apart = np.square(new[:, None, :2] - X[None, :, :2]).sum(axis=2)
    nearest = labels[apart.argmin(axis=1)]
    assert np.mean(rule(new)[0] == nearest) > 0.9  # several that are almost as near have a say
    assert rule.agreement == np.mean(rule(X)[0] == labels)


# -- files ----------------------------------------------------------------------------------------


def test_every_number_of_a_view_comes_back_under_its_own_name(tmp_path):
    study = planted_study(120, n_clusters=(3, 2))
    numbers = ("score", "p_value", "stability", "replication", "missing_redundancy")
    views = tuple(
        replace(view, **{name: (i + 1) / 16 + v / 128 for i, name in enumerate(numbers)})
        for v, view in enumerate(study.views)
    )
    study = replace(study, views=views)
    again = load_study(study.save(tmp_path / "study"))
    for before, after in zip(study.views, again.views, strict=True):
        assert [getattr(after, name) for name in numbers] == [
            getattr(before, name) for name in numbers
        ]
        for name in ("cluster_stability", "cluster_p_values", "row_confidence", "loadings"):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
        for name in ("number", "finders", "run_ids", "titles", "descriptions", "idea", "facts"):
            assert getattr(after, name) == getattr(before, name)
    assert again.recipes == study.recipes


def test_a_view_must_gain_a_seventh_of_what_the_best_does():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3))
    X[:, 0] += 6 * labels
    search = _Search(GroupingScorer(X - X.mean(axis=0)), [(labels, None)], [])
    assert search.cost == pytest.approx(0.15 * search.whole[0].score)


def test_tables_of_a_kind_that_is_surely_beaten_are_not_drawn_any_more():
    few = tuple(np.random.default_rng(0).gumbel(size=10))
    beaten = [[x, x, x] for x in few]
    found = {"unimodal": beaten, "curve": [[x + 6, x, x] for x in few]}
    assert list(assess._undecided(found, [(90.0, 90.0)])) == []
    assert list(assess._undecided(found, [(9.0, 1.0)])) == ["unimodal", "curve"]
    assert list(assess._undecided(found, [(18.0, 1.0)])) == ["curve"]
    # Of two scores one is enough, but each view counts.
    assert list(assess._undecided(found, [(1.0, 90.0)])) == []
    assert list(assess._undecided(found, [(90.0, 90.0), (1.0, 1.0)])) == ["unimodal", "curve"]
    # Nothing was drawn yet, or there is nothing to be decided.
    assert list(assess._undecided({"unimodal": [], "ring": []}, [(90.0, 90.0)])) == [
        "unimodal",
        "ring",
    ]
    assert list(assess._undecided(found, [])) == ["unimodal", "curve"]


def test_halves_of_a_ring_among_noise_are_held_against_a_ring():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 250)
    radius = 1 + 0.1 * rng.normal(size=250)
    ring = rng.normal(size=(250, 5))
    ring[:, 0], ring[:, 2] = 1.4 * radius * np.cos(angle), 1.4 * radius * np.sin(angle)
    first = np.eye(5)[:, :1]
    numbers = (2, 3, 4, 5, 6, 8)
    seen = assess.seen_curve(ring, first, numbers, 0)
    assert seen == "ring in a plane through the view"
    plane = assess.plane_of(ring, first)
    np.testing.assert_array_equal(plane[:, 0], first[:, 0])
    assert abs(plane[2, 1]) > 0.98
    # Two clouds are no ring, however near they are.
    for apart in (3.0, 5.0):
        clouds = rng.normal(size=(250, 4)) + apart * np.outer(rng.integers(0, 2, 250), np.eye(4)[0])
        assert assess.seen_curve(clouds, np.eye(4)[:, :1], numbers, 0) is None


def test_an_open_curve_is_not_taken_for_a_ring():
    # Tables along a ring are as dense everywhere, and make no clouds where the curve ends.
    kinds = []
    for seed in range(6):
        rng = np.random.default_rng([2026, 4, seed])
        along = rng.uniform(-1, 1, 200)
        bent = np.column_stack([along, along**2, along**3]) + rng.normal(0, 0.08, (200, 3))
        kinds.append(assess.follows_curve(bent, (2, 3, 4, 5, 6, 8), 0))
    assert kinds == ["curve"] * 6
    angle = rng.uniform(0, 2 * np.pi, 250)
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.1, (250, 2))
    assert assess.follows_curve(circle, (2, 3, 4, 5, 6, 8), 0) == "ring"


def test_maxima_that_are_all_alike_have_the_least_spread():
    """Five tables without groups gave 2: with a spread of a half, 9 is fourteen spreads away."""
    alike = np.full(5, 2.0)
    found = gamma_p_value(9.0, alike, 0.5)
    told = gamma_interval(9.0, alike, 0.5)
    assert 0 < found < 1 / 6 and told.low <= found <= told.high
    wider = gamma_interval(9.0, alike, 2.0)
    assert gamma_p_value(9.0, alike, 2.0) > found and wider.high > told.high
    assert gamma_interval(1.0, alike, 0.5) == (1.0, 1.0)


def test_a_gradient_with_unequal_noise_is_mostly_a_curve_and_clouds_in_a_row_are_none():
    numbers, gradients, rows = (2, 3, 4, 5, 6, 8), [], []
    for seed in range(8):
        rng = np.random.default_rng([2026, 19, seed])
        along = rng.uniform(0, 1, (200, 1))
        funnel = np.c_[along, along + (0.05 + 0.4 * along) * rng.normal(size=(200, 3))]
        X = (funnel - funnel.mean(axis=0)) / funnel.std(axis=0)
        gradients.append(assess.follows_curve(X, numbers, 0))
        clouds = rng.normal(size=(240, 4)) + 5.0 * np.outer(np.arange(240) % 3, np.eye(4)[0])
        rows.append(assess.follows_curve(clouds / clouds.std(axis=0), numbers, 0))
    assert gradients.count("curve") >= 5 and "ring" not in gradients
    assert rows == [None] * 8
