"""The quick search, slices, and the choice of views: every step with numbers made up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

import subscape
from subscape.core.clustering import SubspaceClustering
from subscape.exploration import clouds, select, separation, slices
from subscape.exploration.clouds import Clouds, CloudSearch
from subscape.exploration.information import canonical
from subscape.exploration.select import Chosen, _Search, choose_views
from subscape.exploration.separation import (
    SLICED,
    GroupingScorer,
    Separation,
    project_out,
    separations,
)

LOG2 = float(np.log(2))

# -- the quick search -----------------------------------------------------------------------------


def test_the_ladder_of_numbers():
    whole = [2, 3, 4, 5, 6, 8, 11, 15, 21, 29, 40]
    assert clouds.ladder(10_000) == clouds.ladder(320) == whole == clouds.ladder(10_000, 99)
    assert clouds.ladder(319) == whole[:-1] == clouds.ladder(10_000, 39)
    assert clouds.ladder(10_000, 15) == whole[:8]
    assert clouds.ladder(24) == [2, 3] and clouds.ladder(23) == [2] == clouds.ladder(4)


@pytest.fixture
def kmeans(monkeypatch):
    """What k-means was asked for."""
    asked = []
    original = clouds.kmeans_labels

    def run(Z, sizes, chances, rounds):
        asked.append((Z, sizes.tolist(), chances, rounds))
        return original(Z, sizes, chances, rounds)

    along = clouds.labels_along

    def run_along(lines, sizes, chances, rounds):
        asked.extend(
            (column[:, None], sizes.tolist(), each, rounds)
            for column, each in zip(lines.T, chances, strict=True)
        )
        return along(lines, sizes, chances, rounds)

    monkeypatch.setattr(clouds, "kmeans_labels", run)
    monkeypatch.setattr(clouds, "labels_along", run_along)
    return asked


def test_starts_of_the_quick_search(kmeans, monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 3)) * [1.0, 2.0, 3.0]
    scorer = GroupingScorer(Z)
    climbed, merged = [], []

    def uphill(scorer, labels):
        climbed.append(labels)
        told = separations(scorer.Y, labels, int(labels.max()) + 1)
        return labels, told.score, told.normal_score

    def without(scorer, labels):
        merged.append(labels)
        return np.minimum(labels, 1)

    monkeypatch.setattr(clouds, "uphill", uphill)
    monkeypatch.setattr(clouds, "_without_slices", without)
    found = clouds.search_clouds(Z, [2, 5], scorer, np.random.default_rng(4))
    first = kmeans[0]
    assert first[1] == [2] * 3 + [5] * 3 and first[3] == 15
    np.testing.assert_array_equal(first[2], np.random.default_rng(4).random((6, 5)))
    # All that was tried is handed on: 6 starts, 6 lines of 4 numbers, 2 middles, climbed, merged.
    assert len(found.labellings) == 6 + 6 * 4 + 2 + len(climbed[0]) + len(merged)
    scores = [scorer(each).score for each in found.labellings]
    normals = [scorer(each).normal_score for each in found.labellings]
    # (The scorer leaves out groups that are too small; here there are none.)
    assert found.score == pytest.approx(max(scores))
    assert found.normal_score == pytest.approx(max(normals))
    assert scores[0] == pytest.approx(max(scores))
    # The best of each number of clusters, by both scores, is climbed from.
    known = set()
    tried = found.labellings
    told = separations(scorer.Y, tried, 6)
    for values in (told.score, told.normal_score):
        for k in (2, 3, 4, 5):
            own = [i for i, each in enumerate(tried) if each.max() + 1 == k]
            known.add(tried[max(own, key=lambda i: values[i])].tobytes())
    given = {each.tobytes() for each in climbed[0]}
    assert len(known & given) >= len(known) - 1
    # Merged are the best of all, and the two best over one normal distribution.
    told = separations(scorer.Y, climbed[0], 6)
    best = {int(told.score.argmax()), *np.argsort(-told.normal_score)[:2].tolist()}
    assert [each.tobytes() for each in merged] == [climbed[0][i].tobytes() for i in sorted(best)]


def test_lines_along_which_is_looked(kmeans):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(80, 9)) * np.arange(1, 10) + 3
    Z[:, 4] = np.sign(Z[:, 4] - 3) * 2 + 0.1 * rng.normal(size=80)  # flat tails
    labels, sizes = clouds._along_lines(Z, np.random.default_rng(2))
    assert labels.shape == (12 * 4, 80) and sizes.tolist() == [2, 3, 4, 5] * 12
    assert all(asked[1] == [2, 3, 4, 5] and asked[3] == 15 for asked in kmeans)
    scaled = Z / Z.std(axis=0)
    weight = ((scaled - scaled.mean(axis=0)) ** 4).mean(axis=0)
    order = np.argsort(weight)[:6]
    assert order[0] == 4
    for (column, *_), j in zip(kmeans[:6], order, strict=True):
        np.testing.assert_allclose(column[:, 0], scaled[:, j])
    centred = Z - Z.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:6].T
    turned = Z @ axes
    turned = turned / turned.std(axis=0)
    weight = ((turned - turned.mean(axis=0)) ** 4).mean(axis=0)
    for (column, *_), j in zip(kmeans[6:], np.argsort(weight), strict=True):
        assert abs(np.corrcoef(column[:, 0], turned[:, j])[0, 1]) == pytest.approx(1)
        assert column.std() == pytest.approx(1)
    drawn = np.random.default_rng(2)
    for _, _, chances, _ in kmeans:
        np.testing.assert_array_equal(chances, drawn.random((4, 5)))
    # One column is one line; few rows are tried in fewer groups.
    kmeans.clear()
    clouds._along_lines(Z[:31, :1], np.random.default_rng(2))
    assert [asked[1] for asked in kmeans] == [[2, 3]]
    kmeans.clear()
    clouds._along_lines(Z[:32, :2], np.random.default_rng(2))
    assert [asked[1] for asked in kmeans] == [[2, 3, 4]] * 4
    kmeans.clear()
    clouds._along_lines(Z[:9, :1], np.random.default_rng(2))
    assert [asked[1] for asked in kmeans] == [[2]]


def test_columns_in_which_no_rows_differ_are_not_looked_along():
    columns = np.array([[1.0, 5.0, 0.0, 1e6], [3.0, 5.0, 0.0, 1e6 + 1e-7]])
    assert clouds._in_spreads(columns).tolist() == [[1.0], [3.0]]
    assert clouds._in_spreads(10 * columns).tolist() == [[1.0], [3.0]]
    just = np.array([[1.0 - 1.5e-12], [1.0 + 1.5e-12]])
    assert np.ptp(clouds._in_spreads(just)) == pytest.approx(2)
    # If none is left, the columns are what there is.
    alike = np.array([[1.0 - 0.9e-12], [1.0 + 0.9e-12]])
    assert clouds._in_spreads(alike) is alike
    # Beside a wide column a narrow one may be rounding: from a thousand millionth on.
    for narrow, kept in ((1.5e-9, 2), (0.5e-9, 1)):
        assert clouds._in_spreads(columns[:, [0, 0]] * [1.0, narrow] - 2).shape[1] == kept


def test_what_was_taken_out_of_a_table_is_not_searched(kmeans):
    rng = np.random.default_rng(0)
    Z = project_out(rng.normal(size=(80, 4)), np.eye(4)[:, [1]])
    assert 0 < np.abs(Z[:, 1]).max() < 1e-12
    labels, _ = clouds._along_lines(Z, np.random.default_rng(2))
    assert len(kmeans) == 6 and len(labels) == 6 * 4
    # A dense middle is one of the other columns, too.
    size = np.square(np.delete(Z, 1, axis=1) / np.delete(Z, 1, axis=1).std(axis=0)).sum(axis=1)
    for middle, share in zip(clouds._middles(Z), clouds.MIDDLES, strict=True):
        assert middle.tolist() == (size > np.quantile(size, share)).astype(int).tolist()


def test_starts_that_end_in_the_same_groups_are_one(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 2))
    ends = [rng.integers(3, size=60) for _ in range(3)]
    # The first, then the same with its groups numbered otherwise, and two others.
    climbed = np.array([ends[0], 2 - ends[0], ends[1], ends[2]])
    merged = []

    def without(scorer, labels):
        merged.append(labels)
        return labels

    scores = np.array([1.0, 1.0 + 1e-15, 0.0, 0.5])
    monkeypatch.setattr(clouds, "uphill", lambda scorer, labels: (climbed, scores, scores))
    monkeypatch.setattr(clouds, "_without_slices", without)
    clouds.search_clouds(Z, [2, 3], GroupingScorer(Z), np.random.default_rng(0))
    assert [canonical(each).tolist() for each in merged] == [
        canonical(ends[0]).tolist(), canonical(ends[2]).tolist(),
    ]  # fmt: skip


def test_the_signs_of_eigenvectors_change_nothing(monkeypatch):
    """They are a matter of rounding; scores take rows in blocks from one end."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(55, 7)) + np.repeat([[0.0], [2.0]], [30, 25], axis=0)

    def searched():
        scorer = GroupingScorer(wide)
        assert not scorer.has_columns
        Z = clouds.table_searched(wide, scorer)
        found = clouds.search_clouds(Z, [2, 3], scorer, np.random.default_rng(1))
        return found.score, found.normal_score, canonical(found.labellings[0]).tolist()

    def turned(eigenvectors):
        def run(*args, **options):
            values, vectors = eigenvectors(*args, **options)
            if vectors.ndim > 2:  # directions of many groupings, which separations() turns itself
                return values, vectors
            return values, vectors * np.where(np.arange(vectors.shape[1]) % 2, 1, -1)

        return run

    before = searched()
    monkeypatch.setattr(separation, "eigh", turned(separation.eigh))
    monkeypatch.setattr(np.linalg, "eigh", turned(np.linalg.eigh))
    after = searched()
    assert after[:2] == pytest.approx(before[:2], rel=1e-9) and after[2] == before[2]


def test_the_best_of_each_number():
    scores = np.array([1.0, 5.0, 3.0, 4.0, 2.0, 0.0, 9.0, -1.0, 8.0, 3.5])
    sizes = np.array([2, 3, 3, 2, 4, 5, 6, 7, 8, 9])
    assert clouds._best_of_each(scores, sizes) == [6, 8, 1, 3, 9, 4]
    assert clouds._best_of_each(np.zeros(4), np.array([2, 2, 3, 3])) == [0, 2]


def steps(monkeypatch, outcomes, n=100, shares=None):
    """Uphill where each step has made-up scores; and how many steps were taken."""
    taken = []

    def told(Y, labels, n_groups):
        score, normal = outcomes[len(taken)]
        place = len(taken)
        taken.append((labels.copy(), n_groups))
        sizes = np.array([[0.5, 0.5]] * len(labels)) if shares is None else shares[place]
        return SimpleNamespace(
            score=np.array(score), normal_score=np.array(normal), shares=np.array(sizes),
            likeliest=lambda: np.full(labels.shape, place + 1),
        )  # fmt: skip

    monkeypatch.setattr(clouds, "separations", told)
    labels = np.array([np.arange(n) % 2, np.arange(n) % 3])
    best, scores, normals = clouds.uphill(SimpleNamespace(Y="Y"), labels)
    return best[:, 0].tolist(), scores.tolist(), normals.tolist(), taken, labels


def test_rows_are_moved_while_the_score_grows(monkeypatch):
    rising = [([float(i), 0.0], [i + 0.5, 0.5]) for i in range(9)]
    best, scores, normals, taken, labels = steps(monkeypatch, rising)
    assert len(taken) == 7 and taken[0][1] == 3  # six steps
    assert (best, scores, normals) == ([6, 0], [6.0, 0.0], [6.5, 0.5])
    np.testing.assert_array_equal(taken[0][0], labels)
    # No better by 1e-9: the end.
    flat = [([1.0, 1.0], [1.0, 1.0]), ([1.0 + 0.9e-9, 1.0], [2.0, 2.0]), ([5.0, 5.0], [5, 5])]
    best, scores, normals, taken, _ = steps(monkeypatch, flat)
    assert (len(taken), scores, normals) == (2, [1.0, 1.0], [1.0, 1.0])
    # Steps after one that was worse begin where that one ended.
    more = [([1.0, 1.0], [1.0, 1.0]), ([2.0, 0.5], [2.0, 9.0]), ([1.5, 3.0], [7.0, 3.0]),
            ([1.0, 1.0], [1.0, 1.0])]  # fmt: skip
    best, scores, normals, taken, _ = steps(monkeypatch, more)
    assert (best, scores, normals) == ([1, 2], [2.0, 3.0], [2.0, 3.0]) and len(taken) == 4


@pytest.mark.parametrize(
    ("shares", "n", "counts"),
    [([0.97, 0.03], 100, True), ([0.98, 0.02], 100, False), ([1.0, 0.0], 100, True),
     ([0.99, 0.01], 1000, True), ([0.991, 0.009], 1000, False)],
)  # fmt: skip
def test_groups_must_stay_large_enough(monkeypatch, shares, n, counts):
    told = [([1.0, 1.0], [1.0, 1.0]), ([2.0, 1.0], [2.0, 1.0]), ([0.0, 0.0], [0.0, 0.0])]
    sizes = [[[0.5, 0.5]] * 2, [shares, [0.5, 0.5]], [[0.5, 0.5]] * 2]
    best, *_ = steps(monkeypatch, told, n, sizes)
    assert best[0] == (1 if counts else 0)


def test_climbing_from_a_grouping(monkeypatch):
    def scorer(labels):
        return SimpleNamespace(score=1.0, labels=labels)

    moved = np.array([[0, 1, 2, 1, 0, 2, 2, 2]])
    labels = np.array([5, 5, 5, 8, 8, 8, -1, -1])
    asked = []

    def uphill(scorer, groups):
        asked.append(groups.tolist())
        return moved, np.array([reached]), None

    monkeypatch.setattr(clouds, "uphill", uphill)
    reached = 1.0
    found, same = clouds.climb(None, labels, scorer)
    assert found.score == 1.0 and same.tolist() == labels.tolist()
    reached = 1.1
    found, better = clouds.climb(None, labels, scorer)
    # The last group is noise.
    assert better.tolist() == [0, 1, -1, 1, 0, -1, -1, -1] and found.labels is better
    assert asked == [[[0, 0, 0, 1, 1, 1, 2, 2]]] * 2
    given = SimpleNamespace(score=2.0)
    assert clouds.climb(None, labels, scorer, given)[0] is given


def test_what_is_searched_of_a_table():
    X = np.random.default_rng(0).normal(size=(40, 5)) + 3
    centred = X - X.mean(axis=0)

    def searched(k):
        return clouds.table_searched(X, SimpleNamespace(Z=np.zeros((40, k))))

    np.testing.assert_allclose(searched(5), centred)
    np.testing.assert_allclose(searched(6), centred)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:3].T
    assert searched(3).shape == (40, 3)
    np.testing.assert_allclose(np.abs(searched(3)), np.abs(centred @ axes))


def test_a_run_keeps_ten_groupings(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    made = [np.arange(60) // (k + 2) % 4 for k in range(20)]
    asked = []

    def search(Z, numbers, scorer, rng):
        asked.append((Z, numbers, scorer, rng.random()))
        return Clouds(np.array([made[0], 9 - made[0], 7 + made[0], *made]), 1.0, 1.0)

    monkeypatch.setattr(clouds, "search_clouds", search)
    given = []

    def without(scorer, labels):
        given.append(labels)
        return np.zeros(60, int) if len(given) == 3 else labels

    monkeypatch.setattr(clouds, "_without_slices", without)
    found = CloudSearch().fit(X)
    assert (found.most, found.few_valued, found.random_state) == (40, (), 0)
    labels = [each.labels() for each in found.clusterings_]
    assert len(labels) == 10 and found.clusterings_[0].n_features == 3
    # The same labels once (under other numbers they are others), and no single cluster.
    assert given[0].tolist() == made[0].tolist() and given[1].tolist() == (3 - made[0]).tolist()
    assert [each.tolist() for each in given[2:4]] == [made[1].tolist(), made[2].tolist()]
    assert len(given) == 11
    table, numbers, _, first = asked[0]
    np.testing.assert_allclose(table, X - X.mean(axis=0))
    assert numbers == [2, 3, 4, 5, 6] and first == np.random.default_rng(0).random()
    CloudSearch(3, (1,), 8).fit(X)
    assert asked[1][1] == [2, 3] and asked[1][3] == np.random.default_rng(8).random()
    few = GroupingScorer(X, np.array([1]))
    np.testing.assert_array_equal(asked[1][2].Z, few.Z)
    assert isinstance(found.clusterings_[0], SubspaceClustering)


# -- slices ---------------------------------------------------------------------------------------


def is_sliced(monkeypatch, rough, exact, *, n=30):
    """Whether a coarser grouping is cheaper: rough and exact nats, beside 100 of its own."""
    monkeypatch.setattr(slices, "_rough_length", lambda seen, labels: rough)
    asked = []

    def length(seen, labels):
        asked.append(len(np.unique(labels)))
        return 100.0 if len(np.unique(labels)) == 3 else exact

    monkeypatch.setattr(slices, "_length", length)
    X = np.random.default_rng(0).normal(size=(n, 2))
    fine, coarse = np.arange(n) % 3, np.arange(n) % 2
    return slices.is_sliced(GroupingScorer(X), fine, [coarse]), asked


def test_a_slice_costs_more_in_its_own_directions(monkeypatch):
    assert is_sliced(monkeypatch, 100.0, 100.0) == (True, [3, 2])
    assert is_sliced(monkeypatch, 100.0, 100.1) == (False, [3, 2])
    # Half a nat per row is saved at most by other densities.
    assert is_sliced(monkeypatch, 115.0, 99.0) == (True, [3, 2])
    assert is_sliced(monkeypatch, 115.1, 99.0) == (False, [3])


def test_what_is_compared_once_is_known(monkeypatch):
    calls = []

    def length(seen, labels):
        calls.append(labels)
        return 1.0 if len(np.unique(labels)) == 2 else 2.0

    monkeypatch.setattr(slices, "_length", length)
    monkeypatch.setattr(slices, "_rough_length", lambda seen, labels: 0.0)
    X = np.random.default_rng(0).normal(size=(40, 2))
    scorer = GroupingScorer(X)
    four, two, other = np.arange(40) % 4, np.arange(40) % 2, np.arange(40) // 20
    assert slices.is_sliced(scorer, four, [two, other]) and len(calls) == 2  # one is enough
    assert slices.is_sliced(scorer, four, [two]) and len(calls) == 2
    assert slices.is_sliced(scorer, four, [other, two]) and len(calls) == 2
    assert not slices.is_sliced(scorer, two, [four, other, np.zeros(40, int)]) and len(calls) == 2
    assert slices.is_sliced(scorer, four, [other]) and len(calls) == 4
    # Noise is a group in these.
    noisy = np.where(np.arange(40) < 10, -1, two)
    assert slices.is_sliced(scorer, four, [noisy]) and len(calls) == 6
    assert len(np.unique(calls[-1])) == 3


def in_three_columns(seed):
    rng = np.random.default_rng(seed)
    group = np.arange(90) % 3
    centres = np.array([[12.0, -8, 120], [48, 0.5, 260], [92, 9, 420]])
    return centres[group] + [2, 0.7, 9] * rng.normal(size=(90, 3)), group


def test_a_group_that_is_called_noise_makes_no_coarser_grouping():
    X, three = in_three_columns(0)
    scorer = GroupingScorer((X - X.mean(axis=0)) / X.std(axis=0))
    noisy = np.where(three == 1, -1, three // 2)
    assert not slices.is_sliced(scorer, three, [noisy])
    # Noise that is spread over the clusters, or too little of one, leaves a coarser one.
    assert slices._is_a_cluster(noisy == -1, three, 3)
    assert slices._is_a_cluster((noisy == -1) & (np.arange(90) > 40), three, 3)
    for other in (np.arange(90) % 4 == 0, (noisy == -1) & (np.arange(90) > 45), three > 3):
        assert not slices._is_a_cluster(other, three, 3)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_of_groupings_that_part_the_rows_alike_the_one_with_less_noise_is_chosen(order):
    X, three = in_three_columns(1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    both = [three, np.where(three == 1, -1, three // 2)]
    (chosen,) = choose_views(GroupingScorer(Z), [both[i] for i in order])
    assert order[chosen.place] == 0


@pytest.mark.parametrize("seed", range(3))
def test_three_clear_groups_along_a_line_are_three_clusters(seed):
    X, three = in_three_columns(seed)
    study = subscape.explore(X, effort="quick", progress=False, n_jobs=1)
    np.testing.assert_array_equal(
        [len(np.unique(three[study[1].labels == k])) for k in range(3)], [1, 1, 1]
    )
    assert study[1].n_clusters == 3 and (study[1].labels >= 0).all()


@pytest.mark.parametrize("sizes", [[2, 5, 5, 6, 9], [6, 9], [2, 5]])
@pytest.mark.parametrize("d", [2, 7])
def test_scores_of_few_clusters_and_of_many_are_those_of_all_together(sizes, d):
    rng = np.random.default_rng(d)
    scorer = GroupingScorer(rng.normal(size=(90, d)))
    labels = np.array([rng.integers(0, k, 90) for k in sizes])
    whole = separations(scorer.Y, labels, 9)
    score, normal = clouds._scores(scorer, labels, np.array(sizes))
    np.testing.assert_allclose(score, whole.score, atol=1e-12)
    np.testing.assert_allclose(normal, whole.normal_score, atol=1e-12)


def test_merging_is_of_what_is_seen_and_names_nothing_anew_for_nothing(monkeypatch):
    seen = np.arange(40.0)[:, None]
    asked = []
    monkeypatch.setattr(slices, "seen_apart", lambda Y, labels: seen)

    def merged(values, labels, n_neighbours, least_spread):
        asked.append((n_neighbours, least_spread))
        assert np.array_equal(values, seen)
        return numbered

    monkeypatch.setattr(slices, "merged_groups", merged)
    scorer = SimpleNamespace(Y=None)
    three = np.arange(40) % 3
    numbered = np.minimum(three, 1)
    assert slices._merged_once(scorer, three) is numbered
    numbered = 2 - three  # as many groups: none was merged
    assert slices._merged_once(scorer, three) is three
    assert asked == [(4, 0.02)] * 2
    two = np.arange(40) % 2
    assert slices._merged_once(scorer, two) is two and len(asked) == 2


# -- the choice of views --------------------------------------------------------------------------


def told(gain, entropy=1.0, normal=None, n_ratios=1):
    normal = {} if normal is None else {"over_normal": normal}
    return Separation(gain, entropy, np.eye(1), np.full(n_ratios, 3.0), **normal)


def chooser(**attributes):
    search = object.__new__(_Search)
    known = {
        "known": np.zeros(40, int), "given": [], "cost": 0.0, "places": [], "labels": [],
        "told": [], "whole": [], "groupings": [], "_fresh": {}, "_seen": {}, "_rest": None,
        "_gains": {}, "_joint": None, "_is_finer": {},
    }  # fmt: skip
    for name, value in (known | attributes).items():
        setattr(search, name, value)
    return search


def test_what_the_choice_begins_with():
    n = 130
    # Each parts the rows in its own way: by the digits of its number.
    bits = np.minimum((np.arange(40) + 2) // 3 - 1, 8)
    made = [np.where((bits >= 0) & ((i >> bits) & 1 > 0), 200, i) for i in range(n)]
    assert all(labels[0] == i for i, labels in enumerate(made))
    gains = np.linspace(-0.1, 1.0, n)
    asked = []

    class Scorer:
        Z = np.zeros((40, 2))

        def __call__(self, labels, memberships):
            asked.append(memberships)
            return told(1.0, 1.0, gains[labels[0]] + SLICED)

    given = [np.arange(40) % 2, np.arange(40) // 20]
    search = _Search(Scorer(), [(labels, "m") for labels in made], given)
    # The 120 clearest that gain anything, the clearest first.
    order = [i for i in np.argsort(-gains)[:120].tolist() if gains[i] > 0]
    assert len(order) < 120
    assert search.places == order
    assert search.cost == pytest.approx(0.15 * 1.0) and asked == ["m"] * n
    assert len(np.unique(search.known)) == 4 and search.given[1][1] is None
    gains = np.linspace(0.5, 1.0, n)
    assert len(_Search(Scorer(), [(labels, None) for labels in made], []).places) == 120
    gains = np.full(n, -1.0)
    assert _Search(Scorer(), [(made[0], None)], []).cost == 0.0


def test_a_finer_grouping_that_adds_little_is_overdone(monkeypatch):
    four = np.arange(40) % 4
    labels = [four % 2, four, np.arange(40) // 20]
    known = {"novelty": 0.0}
    monkeypatch.setattr(select, "novelty", lambda a, b: known["novelty"])

    def overdone(fine, coarse, normal=1.0):
        whole = [told(*coarse), told(*fine)]
        search = chooser(
            labels=labels, whole=whole, told=[told(1.0, 1.0, 1.0), told(1.0, 1.0, normal)],
            places=[0],
        )  # fmt: skip
        return search.is_overdone(1)

    # Per nat more, half of what the coarser one gains.
    assert overdone((1.49, 2.0), (1.0, 1.0)) and not overdone((1.5, 2.0), (1.0, 1.0))
    # Not more than the coarser one tells: no finer version.
    assert not overdone((1.0, 1.0), (1.0, 1.0)) and not overdone((0.5, 0.9), (1.0, 1.0))
    assert overdone((1.0, 1.1), (1.0, 1.0))
    assert not overdone((1.49, 2.0), (1.0, 1.0), -np.inf)  # boxes
    for new, is_known in ((0.2, True), (0.21, False)):
        known["novelty"] = new
        assert overdone((1.49, 2.0), (1.0, 1.0)) is is_known


def test_gains_in_what_others_leave():
    whole = [told(2.0), told(3.0, n_ratios=3), told(1.0, n_ratios=2)]
    over = [told(2.5, n_ratios=2), None, None]
    search = chooser(told=over, whole=whole)
    fresh = {"value": 0.9}
    search.fresh = lambda place, others: fresh["value"]
    left = told(0.5, 1.0, 1.2 + SLICED)
    search.scored = lambda place, others: left
    # The other two together take out five directions of 40 rows.
    parts = chi2.isf(0.01, 5) / 40
    blurred = 0.5 * np.log1p(3 * parts)
    assert search.gain(0, [1, 2]) == pytest.approx(1.2 + blurred)
    assert search.gain(0, [1, 2], over_hump=True) == pytest.approx(0.5 + 2 * blurred)
    assert search.gain(0, []) == pytest.approx(1.2)
    # What is known is not computed again.
    fresh["value"] = 0.8999
    assert search.gain(0, [1, 2]) == pytest.approx(1.2 + blurred)
    search._gains.clear()
    assert search.gain(0, [1, 2]) == pytest.approx(1.2)
    assert search.gain(0, [1, 2], over_hump=True) == pytest.approx(0.5)
    left = told(9.0, 1.0, 9.0)
    search._gains.clear()
    assert search.gain(0, [1, 2]) == 2.0 and search.gain(0, [1, 2], over_hump=True) == 2.5
    fresh["value"] = 0.95
    search._gains.clear()
    assert search.gain(0, [1, 2]) == 2.0 and search.gain(0, [1, 2], over_hump=True) == 2.5
    # Per nat, and the price of a view.
    left = told(9.0, 1.0, 1.2 + SLICED)
    fresh["value"] = 0.5
    search._gains.clear()
    assert search.score(0, [1]) == pytest.approx(told(1.2).score)
    search.cost = 0.25
    search.whole[0] = told(2.0, 0.8)
    assert search.worth(0, [1]) == pytest.approx(1.2 - 0.2)
    search.score = lambda place, others: 3.0
    assert search.clarity(0, [1]) == 1.5
    assert search._shown(0, [1]) == pytest.approx(told(2.5).score)


def worths(values, fresh=None, coarser=None):
    """A choice where each grouping is worth so much, whatever the others."""
    search = chooser(places=list(range(len(values))))
    search.worth = lambda place, others: values[place]
    search.fresh = lambda place, others: 1.0 if fresh is None else fresh[place]
    search.coarser = lambda place, chosen: (coarser or {}).get(place, [])
    search.clarity = lambda place, others: values[place]
    return search


def test_what_could_be_added():
    search = worths([1.0, 0.0011, 0.001, 1.0, 1.0, 1.0], [1, 1, 1, 0.4, 0.399, 1], {5: [0]})
    assert search.candidates((0,)) == [1, 3] and search.candidates(()) == [0, 1, 3]
    assert worths([1.0] * 20).candidates(tuple(range(11))) == list(range(11, 20))
    assert worths([1.0] * 20).candidates(tuple(range(12))) == []
    labels = [np.arange(40) % 4, np.arange(40) % 2, np.arange(40) // 20]
    search = chooser(labels=labels)
    assert search.coarser(0, (0, 1, 2)) == [1] and search.coarser(1, (0, 1, 2)) == []


def test_finer_versions_tell_a_fifth_less_at_most(monkeypatch):
    search = chooser(labels=["a", "b"])
    told = {}
    monkeypatch.setattr(select, "novelty", lambda one, two: told[one, two])
    for new, known in ((0.2, [1]), (0.2001, [])):
        search._is_finer.clear()
        told.update({("b", "a"): new, ("a", "b"): 9.0})
        assert search.coarser(0, (1,)) == known


def test_the_choice_grows_by_the_clearest():
    search = worths([1.0, 3.0, 2.0, 0.0])
    assert search.extended(()) == (1, 2, 0) and search.extended((0,)) == (0, 1, 2)
    assert search.extended((), barred=1) == (2, 0)
    assert search.value([0, 1]) == 4.0
    # It must tell more by a thousandth of a nat.
    for gained, known in ((0.0009, (0,)), (0.0011, (0, 1))):
        search = worths([3.0, 2.0])
        search.value = lambda chosen, gained=gained: [0.0, 5.0, 5.0 + gained][len(chosen)]
        assert search.extended(()) == known


def test_changes_of_a_choice():
    search = worths([5.0, 4.0, 3.0, 2.0], coarser={3: [0, 1], 2: [0]})
    extended = []

    def extend(chosen, barred=-1):
        extended.append((chosen, barred))
        return (*chosen, "more")

    search.extended = extend
    search.candidates = lambda chosen: [i for i in range(3) if i not in chosen]
    near = search.changes((0, 1))
    assert near == [
        (1,), (1, "more"), (1, 2), (0,), (0, "more"), (0, 2), (3,),
    ]  # fmt: skip
    assert extended == [((1,), 0), ((0,), 1)]
    # Six of those that are worth most are tried.
    search = worths([float(i) for i in range(12)])
    search.extended = lambda chosen, barred: ()
    near = search.changes((0,))
    assert near == [(), (), *((i,) for i in (11, 10, 9, 8, 7, 6))]
    # One that is chosen takes the place of nothing.
    search = worths([1.0, 1.0, 1.0], coarser={0: [1, 2]})
    search.extended = lambda chosen, barred: ()
    search.candidates = lambda chosen: []
    assert search.changes((0, 1, 2)).count((0,)) == 0
    assert search.changes((1, 2))[-1] == (0,)


def test_exchanges_of_two():
    search = worths([0.0, 0.0, 3.0, 2.0, 1.0])
    search.candidates = lambda chosen: [i for i in (2, 3, 4) if i not in chosen]
    near = search.changes_of_two((0, 1))
    assert near == [(2, 3), (3, 2), (4, 2)]
    search.candidates = lambda chosen: [2] if 2 not in chosen else []
    assert search.changes_of_two((0, 1)) == []
    # Pairs among the first five, and six of the clearest.
    search = worths([float(i) for i in range(20)])
    pairs = []

    def candidates(chosen):
        pairs.append(chosen)
        return [10 + i for i in range(8)] if len(chosen) == 4 else [99]

    search.candidates = candidates
    search.worth = search.clarity = lambda place, others: place
    near = search.changes_of_two(tuple(range(6)))
    assert len(near) == 10 * 6
    assert near[:6] == [(2, 3, 4, 5, i, 99) for i in (17, 16, 15, 14, 13, 12)]
    # Each by its own measure: first by clarity, then by worth.
    search = worths([0.0, 0.0, 3.0, 2.0, 1.0])
    search.worth = lambda place, others: -place
    search.candidates = lambda chosen: [i for i in (2, 3, 4) if i not in chosen]
    assert search.changes_of_two((0, 1)) == [(2, 3), (3, 2), (4, 2)]


def test_a_choice_is_changed_as_long_as_it_tells_more():
    search = chooser()
    values = {(): 0.0, (1,): 1.0, (2,): 1.0011, (3,): 1.002, (4,): 2.0}
    search.value = lambda chosen: values[chosen]
    near = {(1,): ([(2,)], []), (2,): ([(3,)], [(4,)]), (4,): ([], []), (): ([], [])}
    search.changes = lambda chosen: near[chosen][0]
    search.changes_of_two = lambda chosen: near[chosen][1]
    assert search.improved((1,)) == (4,)
    values[(4,)] = 1.0021
    assert search.improved((1,)) == (2,)
    assert search.improved(()) == ()
    # Thirty changes at most.
    search.value = lambda chosen: float(len(chosen))
    search.changes = lambda chosen: [(*chosen, 0)]
    search.changes_of_two = lambda chosen: []
    assert len(search.improved(())) == 30


def test_the_choice_is_ordered_by_what_each_shows_without_those_before():
    search = chooser()
    shown = {(0, ()): 1.0, (1, ()): 3.0, (2, ()): 2.0, (0, (1,)): 1.0, (2, (1,)): 0.5,
             (2, (1, 0)): 0.25}  # fmt: skip
    search._shown = lambda place, others: shown[place, tuple(others)]
    assert search.ordered((0, 1, 2)) == [Chosen(1, 3.0), Chosen(0, 1.0), Chosen(2, 0.25)]
    assert search.ordered(()) == []


def test_of_many_rows_some_are_looked_at(monkeypatch):
    made = []

    class Search:
        def __init__(self, scorer, groupings, known):
            made.append((scorer, groupings, known))

        def extended(self, chosen):
            return ("extended", chosen)

        def improved(self, chosen):
            return ("improved", chosen)

        def ordered(self, chosen):
            return chosen

    monkeypatch.setattr(select, "_Search", Search)
    for n in (4000, 4001, 9000):
        Z = np.arange(float(n))[:, None]
        scorer = SimpleNamespace(Z=Z, on_rows=lambda rows, Z=Z: Z[rows])
        labels, known = np.arange(n) % 3, np.arange(n) % 5
        members = np.array([labels == 0, labels == 1])
        found = select.choose_views(scorer, [labels], [known], [members])
        assert found == ("improved", ("extended", ()))
        seen, groupings, given = made.pop()
        rows = np.arange(n) if n == 4000 else np.linspace(0, n - 1, 4000).astype(int)
        np.testing.assert_array_equal(seen[:, 0], rows)
        np.testing.assert_array_equal(groupings[0][0], labels[rows])
        np.testing.assert_array_equal(groupings[0][1], members[:, rows])
        np.testing.assert_array_equal(given[0], known[rows])
        select.choose_views(scorer, [labels])
        assert made.pop()[1][0][1] is None


def test_scores_in_the_rest_are_kept():
    asked = []

    class Scorer:
        Z = np.zeros((40, 2))

        def rest(self, groupings):
            asked.append(groupings)
            return lambda labels, memberships: (labels, memberships, len(asked))

    search = chooser(
        scorer=Scorer(), groupings=[("a", 1), ("b", 2), ("c", 3)], given=[("known", None)]
    )
    assert search.scored(0, [2, 1]) == ("a", 1, 1)
    assert asked == [[("known", None), ("b", 2), ("c", 3)]]
    assert search.scored(0, (1, 2)) == ("a", 1, 1) and len(asked) == 1
    assert search.scored(1, [2]) == ("b", 2, 2)
    assert search.scored(0, [2]) == ("a", 1, 2) and len(asked) == 2  # the same rest
    assert search.scored(0, [1]) == ("a", 1, 3)


def test_what_is_fresh_beyond_others_and_what_is_known():
    a, b = np.arange(40) % 2, np.arange(40) // 20
    four = 2 * a + b
    search = chooser(labels=[a, b, four], known=a * 0)
    assert search.fresh(2, []) == 1.0 and search.fresh(2, [0]) == pytest.approx(0.5)
    assert search.fresh(2, [0, 1]) == 0.0 and search.fresh(0, [1]) == pytest.approx(1.0)
    search = chooser(labels=[a, b, four], known=b)
    assert search.fresh(2, []) == pytest.approx(0.5) and search.fresh(2, [0]) == 0.0
    search._fresh[2, frozenset([0])] = 7.0
    assert search.fresh(2, [0]) == 7.0
