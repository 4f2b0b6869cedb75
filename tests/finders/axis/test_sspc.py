"""SSPC: objective and seeds against brute force, planted clusters, labelled rows and features."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from subscape.core.errors import (
    ConstantFeatureWarning,
    DroppedClusterWarning,
    FewDistinctRowsWarning,
    SubscapeError,
)
from subscape.datasets import planted_axes, thesis_6_1, thesis_6_2
from subscape.finders.axis.sspc.hints import NOTHING, Hints, matching
from subscape.finders.axis.sspc.seeds import (
    Threshold,
    column_medians,
    feature_scores,
    n_bins,
    peak,
    seed_groups,
)
from subscape.finders.axis.sspc.sspc import SSPC, Search, best_gain
from subscape.measures import clustering_error

UNKNOWN = Hints(NOTHING, NOTHING)


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def phi(X, clustering, share):
    """The objective of the paper, computed from the rows."""
    total = 0.0
    for k in range(clustering.n_clusters):
        rows, features = X[clustering.cluster(k).rows], clustering.cluster(k).features
        off = rows.mean(axis=0) - np.median(rows, axis=0)
        spread = rows.var(axis=0, ddof=1) + off**2
        limit = share * X.var(axis=0, ddof=1)
        total += ((len(rows) - 1) * (1 - spread / limit))[features].sum()
    return total / X.size


# -- pieces -------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(2, 12), st.integers(1, 6))
def test_no_choice_of_features_scores_more(seed, n, p):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) * rng.uniform(0.1, 1.5, p)
    for threshold in (Threshold(0.5, None), Threshold(None, 0.05)):
        limit = threshold.at(n)
        scores = []
        for j in range(p):
            off = rows[:, j].mean() - np.median(rows[:, j])
            scores.append((n - 1) * (1 - (rows[:, j].var(ddof=1) + off**2) / limit))
        found = feature_scores(rows, threshold)
        np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9)
        subsets = chain.from_iterable(combinations(scores, k) for k in range(p + 1))
        assert found[found > 0].sum() == pytest.approx(max(map(sum, subsets)), abs=1e-9)


def test_chance_of_an_irrelevant_feature_is_p():
    rng = np.random.default_rng(0)
    for n in (5, 20, 60):
        limit = Threshold(None, 0.05).at(n)
        assert limit == pytest.approx(chi2.ppf(0.05, n - 1) / (n - 1))
        rate = (rng.normal(size=(n, 20_000)).var(axis=0, ddof=1) < limit).mean()
        assert rate == pytest.approx(0.05, rel=0.2)
    assert Threshold(None, 0.05).at(1) == 0


def test_the_lower_threshold_counts():
    both = Threshold(0.5, 0.01)
    assert both.at(10) == Threshold(None, 0.01).at(10) < 0.5
    assert both.at(200) == 0.5 < Threshold(None, 0.01).at(200)
    # Many irrelevant features and few rows: a fixed share takes some of them in.
    X, truth = planted_axes(60, 200, n_clusters=3, dims=20, background="normal", random_state=0)
    fixed = SSPC(3, chance=None, n_init=3, random_state=0).fit(X)
    assert fixed.clustering_.subspaces.dims.sum() > 60
    assert SSPC(3, n_init=3, random_state=0).fit(X).clustering_ == truth


def test_one_row_selects_nothing():
    np.testing.assert_array_equal(feature_scores(np.ones((1, 3)), Threshold(0.5, None)), 0)
    np.testing.assert_array_equal(feature_scores(np.ones((0, 3)), Threshold(None, 0.5)), 0)


@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 100))
def test_median_is_numpys(n, p, seed):
    rows = np.random.default_rng(seed).integers(0, 5, (n, p)).astype(float)
    np.testing.assert_array_equal(column_medians(rows), np.median(rows, axis=0))


def test_rows_go_where_they_add_most():
    rng = np.random.default_rng(0)
    Z, centres = rng.normal(size=(50, 4)), rng.normal(size=(3, 4))
    dims = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]], bool)
    limits = np.array([0.5, 0.8, 0.5])
    found = best_gain(Z, centres, dims, limits)
    for x, label in zip(Z, found, strict=True):
        gains = [
            (1 - (x - c)[d] ** 2 / t).sum() if d.any() else -np.inf
            for c, d, t in zip(centres, dims, limits, strict=True)
        ]
        assert label == (int(np.argmax(gains)) if max(gains) > 0 else -1)
    assert set(found) == {-1, 0, 1}


def test_climbing_ends_where_no_neighbour_is_fuller():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 20, (6, 5, 4))
    for start in np.ndindex(counts.shape):
        top = peak(counts, start)
        assert counts[top] >= counts[start]
        for axis in range(3):
            for by in (-1, 1):
                near = list(top)
                near[axis] += by
                if 0 <= near[axis] < counts.shape[axis]:
                    assert counts[tuple(near)] <= counts[top]


def test_small_tables_have_few_bins():
    assert [n_bins(n) for n in (2, 30, 150, 500, 10**6)] == [4, 4, 5, 8, 10]


def test_seed_groups_cover_different_clusters():
    X, truth = planted_axes(500, 30, n_clusters=5, dims=6, random_state=0)
    private, public = seed_groups(standard(X), [UNKNOWN] * 5, 10, 3, 20, np.random.default_rng(0))
    assert private == {} and len(public) == 10
    labels, masks = truth.labels(), np.asarray(truth.subspaces.masks)
    covered = set()
    for group in public[:5]:
        k = np.bincount(labels[group.rows]).argmax()
        assert (labels[group.rows] == k).mean() > 0.9
        np.testing.assert_array_equal(group.dims, masks[k])
        covered.add(int(k))
    assert covered == set(range(5))


def test_a_feature_of_the_grid_may_be_irrelevant():
    # Three features, three per grid, but the clusters have one and two of them.
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(600, 3))
    X[:300, 0] = rng.normal(0.3, 0.01, 300)
    X[300:, 1:] = rng.normal(0.6, 0.01, (300, 2))
    finder = SSPC(2, random_state=0).fit(X)
    # Some rows of the first cluster happen to lie in the second one, too.
    assert (finder.labels_ == np.repeat([0, 1], 300)).mean() > 0.95
    np.testing.assert_array_equal(finder.clustering_.subspaces.masks, [[1, 0, 0], [0, 1, 1]])


def test_known_rows_and_features_lead_to_their_cluster():
    X, truth = planted_axes(150, 1000, n_clusters=5, dims=10, random_state=0)
    cluster = truth.cluster(3)
    for hint in (Hints(cluster.rows[:4].astype(int), NOTHING), Hints(NOTHING, cluster.features)):
        private, public = seed_groups(
            standard(X), [UNKNOWN, hint], 0, 3, 20, np.random.default_rng(0)
        )
        assert list(private) == [1] and public == []
        best = private[1][0]
        assert np.isin(best.rows, cluster.rows).mean() > 0.8
        assert set(cluster.features) <= set(np.flatnonzero(best.dims))


class Recording(Search):
    """Remembers the objective of every state."""

    def describe(self, labels, before=None):
        state = super().describe(labels, before)
        np.testing.assert_allclose(state.scores, super().describe(labels).scores)
        self.seen = [*getattr(self, "seen", []), state.total]
        return state


def test_the_best_state_wins_and_is_never_lost():
    X, _ = planted_axes(200, 15, n_clusters=6, dims=3, noise=0.2, random_state=1)
    Z = standard(X)
    rng = np.random.default_rng(0)
    search = Recording(Z, [UNKNOWN] * 6, Threshold(0.5, None), False)
    result = search.run(*seed_groups(Z, [UNKNOWN] * 6, 12, 3, 20, rng), 15, rng)
    assert -result.objective * Z.size == pytest.approx(max(search.seen))
    assert result.n_iter == len(search.seen) > 15
    last = search.seen.index(max(search.seen))
    assert len(search.seen) - last - 1 >= 15


# -- planted clusters ---------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [4, 10, 18])
@pytest.mark.parametrize("scheme", [{}, {"chance": None}, {"max_variance": None}])
def test_finds_the_clusters_of_the_thesis(dims, scheme):
    X, truth = thesis_6_1(dims, random_state=0)
    finder = SSPC(5, **scheme, n_init=5, random_state=0).fit(X)
    assert finder.clustering_ == truth


def test_objective_is_that_of_the_paper():
    X, _ = planted_axes(200, 12, n_clusters=3, dims=4, noise=0.2, random_state=0)
    finder = SSPC(3, max_variance=0.3, n_init=2, random_state=0).fit(X)
    assert finder.objective_ == pytest.approx(phi(X, finder.clustering_, 0.3))
    assert finder.scores_.sum() / X.size == pytest.approx(finder.objective_)
    np.testing.assert_array_equal(finder.scores_ > 0, finder.clustering_.subspaces.masks)


def test_is_stable_over_samples_and_thresholds():
    X, truth = thesis_6_2(random_state=0)
    rng = np.random.default_rng(0)
    for share in (0.1, 0.5):
        rows = np.sort(rng.choice(1000, 900, replace=False))
        columns = np.sort(rng.choice(100, 90, replace=False))
        finder = SSPC(5, max_variance=share, n_init=3, random_state=0)
        finder.fit(X[np.ix_(rows, columns)])
        assert finder.clustering_ == truth.restrict(rows, columns)


def test_rows_far_from_all_clusters_are_noise():
    X, truth = planted_axes(400, 20, n_clusters=4, dims=8, noise=0.2, random_state=0)
    finder = SSPC(4, n_init=3, random_state=0).fit(X)
    noise = truth.labels() == -1
    assert (finder.labels_[noise] == -1).mean() > 0.9
    assert (finder.labels_[~noise] >= 0).all()
    narrow = SSPC(4, max_variance=0.1, n_init=3, random_state=0).fit(X)
    assert narrow.clustering_ == truth


# -- labelled rows and features -----------------------------------------------------------------


@pytest.fixture(scope="module")
def low():
    """Wide clusters of 1 % of the features: hopeless without help."""
    return planted_axes(
        150, 3000, n_clusters=5, dims=30, background="normal", spread=(0.2, 0.3), random_state=2
    )


def test_labelled_rows_find_what_nothing_else_does(low):
    X, truth = low
    alone = SSPC(5, n_init=2, random_state=0).fit(X)
    assert adjusted_rand_score(truth.labels(), alone.labels_) < 0.5
    known = {k: truth.cluster(k).rows[:5] for k in range(5)}
    helped = SSPC(5, labelled_rows=known, n_init=3, random_state=0).fit(X)
    np.testing.assert_array_equal(helped.labels_, truth.labels())
    assert clustering_error(truth, helped.clustering_) < 0.02


def test_labelled_features_do_so_too(low):
    X, truth = low
    known = [truth.cluster(k).features[:5].tolist() for k in range(5)]
    helped = SSPC(5, labelled_dims=known, n_init=3, random_state=0).fit(X)
    np.testing.assert_array_equal(helped.labels_, truth.labels())
    assert clustering_error(truth, helped.clustering_) < 0.02


def test_finds_small_clusters_of_few_features_alone():
    X, truth = planted_axes(150, 1000, n_clusters=5, dims=10, random_state=0)
    assert SSPC(5, n_init=3, random_state=0).fit(X).clustering_ == truth


def test_clusters_take_the_numbers_that_labels_ask_for():
    hints = [
        Hints(np.array([0, 1, 2]), NOTHING),
        Hints(NOTHING, np.array([3])),
        UNKNOWN,
        Hints(np.array([5]), NOTHING),
    ]
    labels = np.array([2, 2, 0, -1, 3, 3])
    masks = np.zeros((4, 4), bool)
    masks[0, 3] = True
    np.testing.assert_array_equal(matching(hints, labels, masks), [1, 2, 0, 3])
    np.testing.assert_array_equal(matching([UNKNOWN] * 3, labels, masks), [0, 1, 2])


def test_help_for_some_clusters_leaves_the_others_free():
    X, truth = thesis_6_1(6, random_state=1)
    known = {3: truth.cluster(0).rows[:3], 1: truth.cluster(2).rows[:3]}
    dims = {3: truth.cluster(0).features[:2], 0: truth.cluster(4).features}
    finder = SSPC(5, labelled_rows=known, labelled_dims=dims, n_init=3, random_state=0).fit(X)
    assert finder.clustering_ == truth
    for ours, theirs in ((3, 0), (1, 2), (0, 4)):
        np.testing.assert_array_equal(finder.labels_ == ours, truth.labels() == theirs)


def test_labels_may_be_a_vector():
    X, truth = thesis_6_1(6, random_state=1)
    labels = np.full(500, -1)
    for k in range(5):
        labels[truth.cluster(k).rows[:2]] = k
    as_dict = {k: np.flatnonzero(labels == k) for k in range(5)}
    a = SSPC(5, labelled_rows=labels, n_init=2, random_state=0).fit(X)
    b = SSPC(5, labelled_rows=as_dict, n_init=2, random_state=0).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.labels_, truth.labels())


def test_pinned_rows_stay_and_others_may_go():
    X, truth = thesis_6_1(6, random_state=2)
    wrong = int(truth.cluster(1).rows[0])
    known = {0: [*truth.cluster(0).rows[:4].tolist(), wrong]}
    free = SSPC(5, labelled_rows=known, n_init=3, random_state=0).fit(X)
    assert free.labels_[wrong] != 0 and free.clustering_ == truth
    pinned = SSPC(5, labelled_rows=known, pin_labels=True, n_init=3, random_state=0).fit(X)
    assert (pinned.labels_[known[0]] == 0).all()
    same = np.arange(500) != wrong
    np.testing.assert_array_equal(pinned.labels_[same] == 0, truth.labels()[same] == 0)


def test_contradicting_labels_are_noticed():
    X, truth = thesis_6_1(6, random_state=2)
    mixed = {0: [int(truth.cluster(k).rows[0]) for k in range(5)]}
    with pytest.warns(UserWarning, match="the data contradict them"):
        SSPC(5, labelled_rows=mixed, n_init=2, random_state=0).fit(X)


def test_features_by_name_and_beside_constant_columns():
    X, truth = thesis_6_1(6, random_state=3)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(20)])
    frame.insert(0, "same", 1.0)
    dims = {0: [f"f{j}" for j in truth.cluster(0).features], 1: ["same"]}
    with pytest.warns(ConstantFeatureWarning):
        finder = SSPC(5, labelled_dims=dims, n_init=3, random_state=0).fit(frame)
    np.testing.assert_array_equal(finder.labels_ == 0, truth.labels() == 0)
    assert finder.clustering_.n_features == 21 and finder.scores_.shape == (5, 21)
    assert not finder.clustering_.subspaces.masks[:, 0].any()
    np.testing.assert_array_equal(finder.predict(frame), finder.labels_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_variance": None, "chance": None}, "give max_variance, chance or both"),
        ({"labelled_rows": {5: [0]}}, "labelled_rows names cluster 5"),
        ({"labelled_rows": {"a": [0]}}, "labelled_rows names cluster 'a'"),
        ({"labelled_rows": {0: [0], 1: [0, 3]}}, "puts 1 row into two clusters: '0'"),
        ({"labelled_rows": {0: [40]}}, "between 0 and 29"),
        ({"labelled_rows": {0: [0.5]}}, "between 0 and 29"),
        ({"labelled_rows": [0, 1]}, "30 whole numbers"),
        ({"labelled_rows": np.full(30, 7)}, "names cluster 7"),
        ({"labelled_dims": [[0], [1]]}, "n_clusters=3 lists, got 2"),
        ({"labelled_dims": {0: [9]}}, "feature 9 lies outside 0..3"),
        ({"labelled_dims": {4: [0]}}, "labelled_dims names cluster 4"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(SubscapeError, match=message):
        SSPC(3, **parameters).fit(X)


# -- the rest -----------------------------------------------------------------------------------


def test_same_seed_same_bits_for_any_number_of_jobs():
    X, _ = planted_axes(300, 15, n_clusters=6, dims=3, noise=0.2, random_state=0)
    a = SSPC(6, n_init=4, random_state=7, n_jobs=1).fit(X)
    b = SSPC(6, n_init=4, random_state=7, n_jobs=2).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.scores_, b.scores_)
    assert a.objective_ == b.objective_ and a.n_iter_ == b.n_iter_


def test_more_starts_are_never_worse():
    X, _ = planted_axes(300, 15, n_clusters=8, dims=3, noise=0.2, random_state=0)
    few = SSPC(8, n_init=1, random_state=0).fit(X).objective_
    assert SSPC(8, n_init=6, random_state=0).fit(X).objective_ >= few


def test_rescaling_columns_changes_nothing():
    X, _ = planted_axes(200, 8, n_clusters=3, dims=4, noise=0.1, random_state=0)
    scale = np.array([1e-90, 1e-3, 1, 7, 1e4, 1e90, 2, 1e-5])
    a = SSPC(3, n_init=2, random_state=0).fit(X)
    b = SSPC(3, n_init=2, random_state=0).fit(scale * (X + 3))
    assert a.clustering_ == b.clustering_
    assert a.objective_ == pytest.approx(b.objective_)


def test_clusters_are_numbered_by_their_first_rows():
    X, _ = thesis_6_1(6, random_state=0)
    labels = SSPC(5, n_init=2, random_state=0).fit(X).labels_
    first = [int(np.flatnonzero(labels == k)[0]) for k in range(5)]
    assert first == sorted(first)


def test_predict_repeats_the_labels_and_knows_noise():
    X, truth = planted_axes(300, 10, n_clusters=3, dims=5, random_state=0)
    finder = SSPC(3, n_init=2, random_state=0).fit(X)
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)
    np.testing.assert_array_equal(finder.predict(X[:2] + 50), -1)
    with pytest.raises(ValueError, match="features"):
        finder.predict(X[:, :3])
    assert finder.clustering_ == truth


def test_clusters_without_features_are_dropped():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    with pytest.warns(DroppedClusterWarning, match="are left"):
        finder = SSPC(30, max_variance=0.001, n_init=1, random_state=0).fit(X)
    n_left = finder.clustering_.n_clusters
    assert n_left < 30 and len(finder.scores_) == n_left
    assert set(finder.labels_) == set(range(-1, n_left))


def test_identical_rows_and_few_distinct_ones():
    with pytest.warns(FewDistinctRowsWarning):
        finder = SSPC(2).fit(np.ones((5, 3)))
    np.testing.assert_array_equal(finder.predict(np.ones((2, 3))), 0)
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 20, axis=0)
    with pytest.warns(FewDistinctRowsWarning, match="finding 3"):
        finder = SSPC(5, random_state=0).fit(X)
    np.testing.assert_array_equal(finder.labels_, np.repeat([0, 1, 2], 20))


def test_stops_in_time_and_reports_progress():
    X, _ = thesis_6_1(6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = SSPC(5, max_time=1e-9, random_state=0).fit(X)
    assert finder.clustering_.n_clusters >= 1
    seen = []
    SSPC(5, n_init=3, random_state=0, progress=seen.append).fit(X)
    assert [step.done for step in seen] == [1, 2, 3]


def test_error_of_the_clustering_against_truth_is_small_with_many_clusters():
    X, truth = planted_axes(1500, 20, n_clusters=15, dims=5, random_state=0)
    finder = SSPC(15, n_init=3, random_state=0).fit(X)
    assert clustering_error(truth, finder.clustering_) <= 0.01


def test_a_row_on_the_threshold_adds_to_no_cluster():
    Z = np.array([[0.5, 9.0], [1.0, 0.0], [2.0, 0.0]])
    dims = np.array([[True, False], [False, False]])
    labels = best_gain(Z, np.zeros((2, 2)), dims, np.ones(2))
    assert labels.tolist() == [0, -1, -1]
