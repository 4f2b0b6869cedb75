"""HARP: savings and cuts against brute force, planted clusters, invariances."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from scipy.special import comb
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from subscape.core import SubspaceClustering
from subscape.core.errors import ConstantFeatureWarning, FewDistinctRowsWarning
from subscape.datasets import planted_axes, structureless, thesis_6_1, thesis_6_2
from subscape.finders.axis.harp.agglomeration import agglomerate
from subscape.finders.axis.harp.flat_clustering import (
    LEAST_VARIANCE,
    actions,
    best_subtrees,
    description,
    level,
    log_odds,
    moments,
    place,
    reassign,
    refine,
    relevant_features,
    resolution,
    savings,
    tree,
)
from subscape.finders.axis.harp.harp import HARP, linkage, renumbered, scales
from subscape.measures import clustering_error


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


# -- pieces -------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(1, 40))
def test_no_choice_of_features_saves_more(seed, p, size):
    variances = np.random.default_rng(seed).uniform(1e-6, 1.5, p)
    n_rows, finest = 50, np.full(p, LEAST_VARIANCE)
    each = (size - 1) / 2 * -np.log(np.maximum(variances, finest)) - np.log(n_rows)
    subsets = chain.from_iterable(combinations(range(p), k) for k in range(p + 1))
    best = max(each[list(s)].sum() - np.log(comb(p, len(s)) * (p + 1)) for s in subsets)
    expected = best - size * np.log(n_rows / size)
    assert savings(np.int64(size), variances, n_rows, finest) == pytest.approx(expected)


def test_moments_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(40, 3)), rng.integers(-1, 4, 40)
    labels[:4] = [0, 1, 2, 3]
    labels[labels == 3] = [3] + [2] * (np.count_nonzero(labels == 3) - 1)
    found = moments(Z, labels)
    for k in range(4):
        rows = Z[labels == k]
        assert found.sizes[k] == len(rows)
        np.testing.assert_allclose(found.means[k], rows.mean(axis=0))
        spread = rows.var(axis=0, ddof=1) if len(rows) > 1 else 0
        np.testing.assert_allclose(found.variances[k], spread, atol=1e-12)


def test_nothing_has_no_moments():
    found = moments(np.ones((3, 2)), np.full(3, -1))
    assert found.sizes.shape == (0,) and found.variances.shape == (0, 2)


def test_log_odds_are_those_of_normal_distributions():
    rng = np.random.default_rng(1)
    Z, labels = rng.normal(size=(60, 4)), np.repeat([0, 1, -1], 20)
    Z[:20, :2] = 1 + 0.1 * rng.normal(size=(20, 2))
    found, finest = moments(Z, labels), np.full(4, LEAST_VARIANCE)
    masks = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)
    odds = log_odds(Z, found, masks, finest)
    for k in range(2):
        sd = np.sqrt(found.variances[k, masks[k]] * 21 / 20 * 19 / 17)
        here = norm.logpdf(Z[:, masks[k]], found.means[k, masks[k]], sd)
        expected = (here - norm.logpdf(Z[:, masks[k]])).sum(axis=1)
        np.testing.assert_allclose(odds[:, k], expected, atol=1e-8)


def test_a_row_is_noise_only_at_long_odds():
    odds = np.log([[0.5, 0.02], [0.009, 0.001], [3.0, 5.0]])
    np.testing.assert_array_equal(place(odds), [0, -1, 1])


def antichains(children, n, node):
    """All sets of disjoint subtrees below a node."""
    yield ()
    yield (node,)
    if node >= n:
        a, b = children[node - n]
        for left in antichains(children, n, a):
            for right in antichains(children, n, b):
                if left or right:
                    yield left + right


@given(st.integers(0, 1000), st.integers(2, 6))
def test_no_set_of_subtrees_saves_more(seed, n):
    rng = np.random.default_rng(seed)
    Z = standard(rng.normal(size=(n, 2)))
    nodes = tree(Z, agglomerate(Z), np.full(2, LEAST_VARIANCE), n)
    nodes = nodes._replace(savings=rng.normal(size=2 * n - 1))
    every = set(antichains(nodes.children.tolist(), n, 2 * n - 2))
    for n_clusters in (None, *range(1, n + 1)):
        chosen = [s for s in every if n_clusters is None or len(s) == n_clusters]
        best = max(chosen, key=lambda s: nodes.savings[list(s)].sum())
        expected = np.full(n, -1)
        for k, node in enumerate(best):
            below = [node]
            while below:
                v = below.pop()
                if v < n:
                    expected[v] = k
                else:
                    below += nodes.children[v - n].tolist()
        found = best_subtrees(nodes, n_clusters)
        np.testing.assert_array_equal(renumbered(found), renumbered(expected))


def test_tree_weighs_the_rows_below_each_node():
    X, _ = planted_axes(60, 5, n_clusters=2, dims=3, random_state=0)
    Z = standard(X)
    merges = agglomerate(Z)
    finest = resolution(Z)
    nodes = tree(Z, merges, finest, 60)
    rows_of = [
        c.rows for c in map(SubspaceClustering.from_linkage(linkage(merges, 60)).cluster, range(59))
    ]
    for m in (0, 17, 40, 58):
        variances = Z[rows_of[m]].var(axis=0, ddof=1)
        expected = savings(np.int64(len(rows_of[m])), variances, 60, finest)
        assert nodes.sizes[60 + m] == len(rows_of[m])
        assert nodes.savings[60 + m] == pytest.approx(expected)


def test_columns_of_few_values_have_a_coarse_resolution():
    rng = np.random.default_rng(2)
    grades = rng.integers(1, 6, 300).astype(float)
    noisy = grades + rng.uniform(-1e-13, 1e-13, 300)
    finest = resolution(np.column_stack([grades, noisy, rng.normal(size=300)]))
    np.testing.assert_allclose(finest, [1 / 12, 1 / 12, LEAST_VARIANCE], rtol=1e-6)


def test_small_clusters_need_more_to_call_a_feature_relevant():
    Z = np.random.default_rng(3).normal(size=(200, 50))
    few = moments(Z, np.where(np.arange(200) < 5, 0, -1))
    assert (1 - few.variances >= 0.5).sum() > 5  # by chance
    masks = relevant_features(few, 200, np.full(50, LEAST_VARIANCE), 0.5)
    assert masks.sum() <= 2


def test_actions_change_the_description_as_they_say():
    rng = np.random.default_rng(5)
    Z, labels = standard(rng.normal(size=(90, 4))), np.repeat(np.arange(6), 15)
    Z[labels < 4, 0] = 0.05 * rng.normal(size=60)
    finest = np.full(4, LEAST_VARIANCE)
    before = description(Z, labels, finest)
    done = actions(moments(Z, labels), 90, finest)
    assert [action.change for action in done] == sorted((a.change for a in done), reverse=True)
    assert {len(action.clusters) for action in done} >= {1, 2, 4}
    # Four pieces of one cluster: joining all of them saves more than any pair.
    assert done[0].clusters == (0, 1, 2, 3)
    for change, clusters in done:
        name = clusters[0] if len(clusters) > 1 else -1
        after = renumbered(np.where(np.isin(labels, clusters), name, labels))
        assert description(Z, after, finest) - before == pytest.approx(change)
    for a in range(6):
        pairs = [
            action.change for action in done if len(action.clusters) == 2 and a in action.clusters
        ]
        best = max(
            description(Z, renumbered(np.where(labels == a, b, labels)), finest) - before
            for b in range(6)
            if b != a
        )
        assert max(pairs) == pytest.approx(best)


def test_refining_never_describes_worse():
    X, _ = planted_axes(200, 10, dims=4, n_clusters=4, noise=0.1, random_state=1)
    Z = standard(X)
    finest = resolution(Z)
    labels = best_subtrees(tree(Z, agglomerate(Z), finest, 200))
    better = refine(Z, labels, finest, 0.5)
    assert description(Z, better, finest) > description(Z, labels, finest)
    assert better.max() < labels.max()


def test_reassignment_keeps_the_number_of_clusters_asked_for():
    Z = standard(np.random.default_rng(4).normal(size=(30, 3)))
    labels = np.repeat([0, 1, 2], 10)
    finest = np.full(3, LEAST_VARIANCE)
    assert reassign(Z, labels, finest, 0.5, at_least=3).max() == 2


# -- planted clusters ---------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [4, 6, 10, 18])
def test_finds_the_clusters_of_the_thesis_and_their_number(dims):
    for draw in range(3):
        X, truth = thesis_6_1(dims, random_state=draw)
        assert HARP().fit(X).clustering_ == truth


def test_paper_cut_at_four_dims_is_mended_by_reassignment():
    plain, mended = [], []
    for draw in range(9):
        X, truth = thesis_6_1(4, random_state=draw)
        for reassigned, errors in ((False, plain), (True, mended)):
            finder = HARP(5, cut="level", n_steps=None, refine=reassigned).fit(X)
            assert finder.clustering_.n_clusters == 5
            errors.append(clustering_error(truth, finder.clustering_))
    assert np.median(mended) == 0
    assert 0.05 < np.median(plain) < 0.7


def test_paper_cut_finds_six_dims_and_more():
    for dims in (6, 12):
        X, truth = thesis_6_1(dims, random_state=0)
        finder = HARP(5, cut="level", n_steps=None, refine=False).fit(X)
        rows = clustering_error(truth.rows_only(), finder.clustering_.rows_only())
        assert rows <= 0.05


def test_finds_clusters_in_a_wide_table():
    X, truth = thesis_6_2(random_state=0)
    assert HARP().fit(X).clustering_ == truth


def test_noise_is_left_out_or_taken_in():
    X, truth = planted_axes(400, 20, dims=5, noise=0.3, random_state=0)
    finder = HARP().fit(X)
    assert finder.clustering_ == truth
    taken = HARP(noise=False).fit(X)
    assert taken.clustering_.is_partition
    members = truth.labels() >= 0
    np.testing.assert_array_equal(taken.labels_[members], finder.labels_[members])
    np.testing.assert_array_equal(
        taken.clustering_.subspaces.masks, finder.clustering_.subspaces.masks
    )


def test_looks_again_at_the_rows_left_over():
    # One cluster of few features beside large ones: the first dendrogram tears it apart.
    X, truth = planted_axes(500, 20, n_clusters=10, dims=(3, 12), random_state=0)
    assert clustering_error(truth, HARP(n_steps=None).fit(X).clustering_) <= 0.01


@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
def test_finds_nothing_in_nothing(kind):
    X = structureless(kind, 200, 10, correlation=0.0, random_state=0)
    finder = HARP().fit(X)
    assert finder.clustering_.n_clusters == 0 and (finder.labels_ == -1).all()
    assert finder.relevance_.shape == (0, 10)
    np.testing.assert_array_equal(finder.predict(X), -1)
    whole = HARP(noise=False).fit(X)
    assert whole.clustering_.is_partition and whole.clustering_.n_clusters == 1


def test_columns_of_few_values():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 6)).astype(float)
    X[:150, :3] = 1
    X[150:300, 2:5] = 2
    found = HARP().fit(X).clustering_
    np.testing.assert_array_equal(found.subspaces.masks, [[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 0]])
    assert (found.labels()[:150] == 0).all() and (found.labels()[150:300] == 1).all()


@pytest.mark.parametrize("n_clusters", [1, 3, 5, 7, 40])
@pytest.mark.parametrize("cut", ["savings", "level"])
@pytest.mark.parametrize("reassigned", [True, False])
def test_gives_as_many_clusters_as_asked_for(n_clusters, cut, reassigned):
    X, _ = planted_axes(120, 8, dims=4, noise=0.1, random_state=0)
    finder = HARP(n_clusters, cut=cut, refine=reassigned).fit(X)
    assert finder.clustering_.n_clusters == n_clusters
    assert finder.clustering_.subspaces.masks.any(axis=1).all()
    assert finder.relevance_.shape == (n_clusters, 8)


def test_more_columns_than_rows():
    X, truth = planted_axes(60, 3000, n_clusters=2, dims=400, random_state=0)
    finder = HARP().fit(X)
    np.testing.assert_array_equal(finder.labels_, renumbered(truth.labels()))
    error = clustering_error(truth, finder.clustering_)
    assert error < 0.1


# -- dendrogram ---------------------------------------------------------------------------------


def test_dendrogram_is_a_linkage_whose_levels_are_the_paper_s_clusters():
    X, _ = planted_axes(80, 6, n_clusters=3, dims=4, random_state=0)
    finder = HARP().fit(X)
    assert is_valid_linkage(finder.linkage_) and finder.linkage_.shape == (79, 4)
    assert finder.linkage_[-1, 3] == 80
    for n_clusters in (1, 2, 5, 30, 80):
        by_scipy = fcluster(finder.linkage_, n_clusters, "maxclust")
        ours = level(finder.merges_, 80, n_clusters)
        np.testing.assert_array_equal(renumbered(ours), renumbered(by_scipy - 1))
    assert SubspaceClustering.from_linkage(finder.linkage_, n_features=6).n_clusters == 79
    assert len(finder.merges_.score) == 79 and len(finder.thresholds_.n_dims) == 5


def test_large_tables_are_sampled():
    X, truth = planted_axes(1500, 10, dims=5, noise=0.1, random_state=0)
    finder = HARP(search_rows=300, random_state=0).fit(X)
    assert finder.linkage_.shape == (299, 4) and len(finder.sample_) == 300
    assert finder.clustering_ == truth
    again = HARP(search_rows=300, random_state=0).fit(X)
    np.testing.assert_array_equal(finder.sample_, again.sample_)
    plain = HARP(search_rows=300, refine=False, random_state=0).fit(X)
    assert plain.clustering_.coverage > 0.8


def test_many_rows_do_not_split_clusters():
    X, truth = planted_axes(20_000, 20, n_clusters=8, dims=6, noise=0.1, random_state=0)
    assert HARP(search_rows=2000).fit(X).clustering_ == truth


def test_stops_in_time():
    X, _ = planted_axes(600, 30, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = HARP(5, max_time=1e-9).fit(X)
    assert is_valid_linkage(finder.linkage_) and len(finder.merges_.left) == 0
    assert finder.clustering_.n_clusters == 5


def test_reports_progress():
    seen = []
    HARP(progress=seen.append).fit(planted_axes(200, 6, dims=3, random_state=0).X)
    assert {step.algorithm for step in seen} == {"HARP"}
    assert max(step.done for step in seen) > 100 and seen[0].total == 199


# -- invariances and new rows -------------------------------------------------------------------


def test_rescaling_columns_changes_nothing():
    X, _ = planted_axes(200, 8, dims=4, noise=0.1, random_state=0)
    scale = np.array([1e-90, 1e-3, 1, 7, 1e4, 1e90, 2, 1e-5])
    a, b = HARP().fit(X), HARP().fit(scale * X + 3 * scale)
    assert a.clustering_ == b.clustering_
    np.testing.assert_array_equal(a.linkage_, b.linkage_)


def test_order_of_rows_and_columns_changes_nothing():
    X, _ = planted_axes(200, 8, dims=4, noise=0.1, random_state=1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(200), rng.permutation(8)
    a, b = HARP().fit(X), HARP().fit(X[np.ix_(rows, columns)])
    np.testing.assert_array_equal(renumbered(a.labels_[rows]), b.labels_)
    order = [int(a.labels_[rows][b.labels_ == k][0]) for k in range(b.clustering_.n_clusters)]
    np.testing.assert_array_equal(
        a.clustering_.subspaces.masks[order][:, columns], b.clustering_.subspaces.masks
    )


def test_scales_survive_tiny_and_huge_columns():
    X = np.array([[1e-200, 1e200], [-1e-200, -1e200]])
    np.testing.assert_allclose(scales(X) / np.abs(X[0]), np.sqrt(2))


def test_predict_repeats_the_labels_and_places_new_rows():
    X, truth = planted_axes(300, 10, dims=5, noise=0.1, random_state=2)
    finder = HARP().fit(X)
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)
    new = X[truth.labels() == 0][:5].copy()
    irrelevant = ~finder.clustering_.subspaces.masks[finder.labels_[truth.labels() == 0][0]]
    new[:, irrelevant] = 0.5
    assert len(set(finder.predict(new))) == 1 and finder.predict(new)[0] >= 0
    assert (HARP(noise=False).fit(X).predict(X) >= 0).all()
    with pytest.raises(ValueError, match="features"):
        finder.predict(X[:, :3])


# -- odd input ----------------------------------------------------------------------------------


def test_constant_columns_stay_irrelevant():
    X, truth = planted_axes(150, 6, n_clusters=3, dims=3, random_state=0)
    wide = np.insert(X, 2, 7.0, axis=1)
    with pytest.warns(ConstantFeatureWarning):
        finder = HARP().fit(wide)
    assert finder.clustering_ == truth.embed(features=[0, 1, 3, 4, 5, 6], shape=(150, 7))
    assert finder.relevance_.shape == (3, 7) and (finder.relevance_[:, 2] == 0).all()
    np.testing.assert_array_equal(finder.predict(wide), finder.labels_)


def test_identical_rows_are_one_cluster():
    with pytest.warns(FewDistinctRowsWarning):
        finder = HARP().fit(np.ones((5, 3)))
    assert finder.clustering_.n_clusters == 1 and is_valid_linkage(finder.linkage_)
    np.testing.assert_array_equal(finder.predict(np.zeros((2, 3))), 0)


def test_repeated_rows():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 25, axis=0)
    finder = HARP().fit(X)
    np.testing.assert_array_equal(finder.labels_, np.repeat([0, 1, 2, 3], 25))
    assert finder.clustering_.subspaces.masks.all()
    with pytest.warns(FewDistinctRowsWarning, match="finding 4"):
        assert HARP(9).fit(X).clustering_.n_clusters == 4


def test_every_row_its_own_cluster():
    X = np.random.default_rng(0).normal(size=(6, 3))
    found = HARP(6).fit(X).clustering_
    assert found.n_clusters == 6 and found.subspaces.masks.all()


def test_one_column():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.1, 40), rng.normal(9, 0.1, 40)])[:, None]
    np.testing.assert_array_equal(HARP().fit(X).labels_, np.repeat([0, 1], 40))


def test_parameters_that_do_not_fit_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match='cut="level" needs n_clusters'):
        HARP(cut="level").fit(X)
    with pytest.raises(ValueError, match="search_rows=5"):
        HARP(6, search_rows=5).fit(X)
    with pytest.raises(ValueError, match="n_steps"):
        HARP(n_steps=1).fit(X)
