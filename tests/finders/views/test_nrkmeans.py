"""NrKMeans: the steps, the search, what it finds and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from subscape.core import DroppedClusterWarning, FewDistinctRowsWarning
from subscape.datasets import planted_views
from subscape.finders import NrKMeans
from subscape.finders.base import Watch
from subscape.finders.views import independence
from subscape.finders.views.independence import independent_components
from subscape.finders.views.nrkmeans.finish import beyond_chance, in_order
from subscape.finders.views.nrkmeans.request import asked_sizes
from subscape.finders.views.nrkmeans.rotation import Rotation, explained_scatter, share, turn
from subscape.finders.views.nrkmeans.rows import ArrayRows, group
from subscape.finders.views.nrkmeans.search import ViewSearch, escape, halving, random_start, search
from subscape.finders.views.nrkmeans.steps import iterate
from subscape.measures import adjusted_rand_score


def brute_force_cost(X, labels, bases, noise):
    """The definition: squared distances to the centres, view by view, in rotated coordinates."""
    cost = 0.0
    for j, basis in enumerate(bases):
        inside = X @ basis
        for i in np.unique(labels[:, j]):
            members = inside[labels[:, j] == i]
            cost += np.square(members - members.mean(axis=0)).sum()
    if noise:
        every = np.concatenate(bases, axis=1)
        rest = X - X @ every @ every.T
        cost += np.square(rest - rest.mean(axis=0)).sum()
    return cost


def random_table(seed, n=60, p=6):
    X = np.random.default_rng(seed).normal(size=(n, p)) ** 3
    return X - X.mean(axis=0)


# -- the steps -------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([(2, 2), (3, 2), (4, 3, 2), (3,)]), st.booleans())
def test_no_step_raises_the_cost(seed, sizes, noise):
    X = random_table(seed)
    task = ViewSearch.of(X, sizes, noise)
    start = random_start(task, np.random.default_rng(seed))
    bases, centres, rows = start.bases, start.centres, ArrayRows(X)
    scatter = np.square(X).sum()
    costs = []
    for _ in range(6):
        views = Rotation(bases, centres, noise, task.least)
        labels = rows.assign(views, sizes, rows.no_labels(sizes)).labels
        groups = group(X, labels, sizes)
        costs.append(brute_force_cost(X, labels, bases, noise))
        assert costs[-1] == pytest.approx(
            scatter - explained_scatter(bases, groups.factors), rel=1e-9
        )
        if any((counts == 0).any() for counts in groups.counts):
            break
        bases = turn(bases, groups.factors, noise, task.least)
        if any(basis.shape[1] == 0 for basis in bases):
            break
        costs.append(brute_force_cost(X, labels, bases, noise))
        every = np.concatenate(bases, axis=1)
        np.testing.assert_allclose(every.T @ every, np.eye(every.shape[1]), atol=1e-10)
        if noise:
            assert all(b.shape[1] <= k - 1 for b, k in zip(bases, sizes, strict=True))
        else:
            assert every.shape[1] == X.shape[1]
        centres = groups.centres
    assert (np.diff(costs) <= 1e-9 * scatter).all()


def test_two_views_share_their_directions_in_the_best_way():
    rng = np.random.default_rng(0)
    both = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    a, b = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    basis_a, basis_b = share(both[:, :2], both[:, 2:], a, b)
    reached = explained_scatter((basis_a, basis_b), (a, b))
    # Every direction of the joint space goes to the view that has more scatter along it.
    values = np.linalg.eigvalsh(a.T @ a - b.T @ b)
    assert reached == pytest.approx(np.trace(b.T @ b) + values[values > 0].sum())
    assert basis_a.shape[1] == (values > 0).sum()


def test_the_worked_example_of_the_supplement_with_its_errors_corrected():
    # d = 6; view 1 has the columns 1, 4, 2, view 2 column 5, view 3 columns 3 and 6 of V. The
    # eigenvectors of the 4 x 4 matrix of views 1 and 2 fill a 6 x 6 rotation by the pattern below
    # (letters are primes here); two negative eigenvalues: view 1 keeps two columns.
    a, b, c, d, e, f, g, h, i, j, k, m, n, o, q, r = np.array(
        [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53], dtype=float
    )
    vectors = np.array([[a, e, i, n], [b, f, j, o], [c, g, k, q], [d, h, m, r]])
    combined = np.array([1, 4, 2, 5]) - 1
    full = np.eye(6)
    full[np.ix_(combined, combined)] = vectors
    expected = np.array(
        [
            [a, i, 0, e, n, 0],
            [c, k, 0, g, q, 0],
            [0, 0, 1, 0, 0, 0],
            [b, j, 0, f, o, 0],
            [d, m, 0, h, r, 0],
            [0, 0, 0, 0, 0, 1],
        ]
    )
    np.testing.assert_array_equal(full, expected)

    # The same step by ``share``: the rotation multiplies V from the right, view 3 stays, view 1
    # gets columns 1 and 4 of the product, view 2 columns 5 and 2 (the largest eigenvalue first).
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    x, y = rng.normal(size=(2, 6)), rng.normal(size=(2, 6))
    start_1, start_2 = V[:, [0, 3, 1]], V[:, [4]]
    c_columns = V[:, combined]
    values, W = np.linalg.eigh(c_columns.T @ (y.T @ y - x.T @ x) @ c_columns)
    turned = np.eye(6)
    turned[np.ix_(combined, combined)] = W
    product = V @ turned
    new_1, new_2 = share(start_1, start_2, x, y)
    assert (values < -1e-12).sum() == new_1.shape[1] == 2
    np.testing.assert_allclose(np.abs(new_1.T @ product[:, [0, 3]]), np.eye(2), atol=1e-10)
    np.testing.assert_allclose(np.abs(new_2.T @ product[:, [4, 1]]), np.eye(2), atol=1e-10)
    np.testing.assert_array_equal(product[:, [2, 5]], V[:, [2, 5]])
    # The printed left product moves the third view as well.
    assert np.abs((turned @ V)[:, [2, 5]] - V[:, [2, 5]]).max() > 0.1


def test_one_view_without_noise_is_k_means():
    X, _ = planted_views(300, 4, n_clusters=(4,), random_state=0)
    ours = NrKMeans(n_clusters=(4,), random_state=0).fit(X)
    theirs = KMeans(4, n_init=20, random_state=0).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert ours.inertia_ == pytest.approx(theirs.inertia_)


def test_more_combinations_than_cells_are_summed_view_by_view():
    X = random_table(5, n=200)
    sizes = (40, 30)
    rng = np.random.default_rng(0)
    labels = np.column_stack([rng.integers(0, k, 200) for k in sizes]).astype(np.int32)
    groups = group(X, labels, sizes)
    for j, k in enumerate(sizes):
        for i in range(k):
            rows = labels[:, j] == i
            assert groups.counts[j][i] == rows.sum()
            if rows.any():
                np.testing.assert_allclose(groups.centres[j][i], X[rows].mean(axis=0), atol=1e-12)


def test_empty_clusters_get_the_farthest_rows():
    X = np.array([[0.0], [0.1], [10.0], [10.1], [50.0]])
    X = X - X.mean()
    centres = (np.array([[-15.0], [1000.0]]),)
    found = iterate(X, (np.eye(1),), centres, False, 0.0, 50)
    assert found.converged and sorted(found.groups.counts[0].tolist()) == [1, 4]


# -- the search ------------------------------------------------------------------------------------


def test_independent_components_lie_inside_the_views():
    X, truths = planted_views(1000, 10, n_clusters=(5, 4, 3), random_state=3)
    found = independent_components(X - X.mean(axis=0))
    clearest = np.argsort(-found.shape)[:6]
    shares = [
        np.square(t.subspaces.bases[0].T @ found.directions[:, clearest]).sum(axis=0)
        for t in truths
    ]
    assert (np.max(shares, axis=0) > 0.95).all()
    assert np.bincount(np.argmax(shares, axis=0)).tolist() == [2, 2, 2]


def test_escapes_only_ever_improve():
    X, _ = planted_views(300, 8, n_clusters=(4, 3), random_state=1)
    task = ViewSearch.of(X - X.mean(axis=0), (4, 3), True)
    poor = task.run(random_start(task, np.random.default_rng(11)))
    better = escape(task, poor, 2, np.random.default_rng(0), Watch())
    assert better.explained >= poor.explained
    assert halving(task, 8, np.random.SeedSequence(0), Watch(), None).converged


def test_the_search_finds_what_the_truth_leads_to():
    hits = 0
    for seed in range(6):
        X, truths = planted_views(400, 10, n_clusters=(5, 4, 3), random_state=40 + seed)
        X = X - X.mean(axis=0)
        task = ViewSearch.of(X, (5, 4, 3), True)
        labels = np.column_stack([t.labels() for t in truths]).astype(np.int32)
        bases = tuple(t.subspaces.bases[0] for t in truths)
        centres = group(X, labels, task.sizes).centres
        best = iterate(X, bases, centres, True, task.least, 300).explained
        found = search(task, X, 16, 2, np.random.SeedSequence(seed), Watch())
        hits += found.explained >= best * (1 - 1e-6)
    assert hits >= 5


@pytest.mark.parametrize(
    ("n_features", "n_clusters"), [(10, (3, 3)), (30, (4, 3)), (10, (5, 4, 3))]
)
def test_planted_views_and_their_subspaces_are_found(n_features, n_clusters):
    X, truths = planted_views(600, n_features, n_clusters=n_clusters, random_state=8)
    finder = NrKMeans((*n_clusters, 1), random_state=0).fit(X)
    for truth in truths:
        match = max(finder.clusterings_, key=lambda c, t=truth: adjusted_rand_score(t, c))
        assert adjusted_rand_score(truth, match) > 0.95
        angles = subspace_angles(match.subspaces.bases[0], truth.subspaces.bases[0])
        assert match.subspaces.bases[0].shape == truth.subspaces.bases[0].shape
        assert np.rad2deg(angles.max()) < 12
    assert finder.dims_.tolist() == [2] * len(n_clusters) + [n_features - 2 * len(n_clusters)]


# -- the estimator ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, truths = planted_views(400, 8, n_clusters=(4, 3), random_state=2)
    return X, truths, NrKMeans((4, 3, 1), random_state=0).fit(X)


def test_what_is_kept(fitted):
    X, _, finder = fitted
    assert [c.n_clusters for c in finder.clusterings_] == [4, 3]
    assert finder.label_matrix_.shape == (400, 2)
    assert all(c.kind == "oriented" for c in finder.clusterings_)
    V = finder.rotation_
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-10)
    np.testing.assert_array_equal(V, finder.V_)
    centred = X - X.mean(axis=0)
    cost = brute_force_cost(centred, finder.label_matrix_, finder.components_, True)
    assert finder.inertia_ == pytest.approx(cost)
    for j, clustering in enumerate(finder.clusterings_):
        for basis in clustering.subspaces.bases:
            np.testing.assert_array_equal(basis, finder.components_[j])
        importances = finder.importances_[j]
        assert (np.diff(importances) <= 0).all()
        inside = centred @ finder.components_[j]
        labels = finder.label_matrix_[:, j]
        between = sum(
            (labels == i).mean() * np.square(inside[labels == i].mean(axis=0))
            for i in range(clustering.n_clusters)
        )
        np.testing.assert_allclose(importances, between)
        assert list(dict.fromkeys(labels)) == sorted(set(labels))  # numbered by first rows


def test_predict_and_transform(fitted):
    X, _, finder = fitted
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)
    np.testing.assert_array_equal(finder.predict(X, view=1), finder.label_matrix_[:, 1])
    np.testing.assert_array_equal(finder.predict(X, view="all"), finder.label_matrix_)
    np.testing.assert_allclose(finder.transform(X, view=1), X @ finder.components_[1])
    assert finder.transform(X, view="noise").shape == (400, finder.dims_[-1])
    assert finder.transform(X).shape == (400, finder.dims_[:-1].sum())
    everything = np.hstack([finder.transform(X), finder.transform(X, view="noise")])
    np.testing.assert_allclose(np.linalg.norm(everything, axis=1), np.linalg.norm(X, axis=1))
    with pytest.raises(ValueError, match="none of the 2 views"):
        finder.predict(X, view=2)
    with pytest.raises(ValueError, match="view='first'"):
        finder.transform(X, view="first")


def test_an_int_is_one_view_and_a_noise_space():
    X, truths = planted_views(300, 6, n_clusters=(4,), random_state=0)
    finder = NrKMeans(4, random_state=0).fit(X)
    assert len(finder.clusterings_) == 1 and len(finder.dims_) == 2
    assert adjusted_rand_score(truths[0], finder.labels_) > 0.95


def test_without_a_noise_space_all_directions_belong_to_views():
    X, truths = planted_views(400, None, n_clusters=(3, 3), noise_dims=0, random_state=0)
    finder = NrKMeans((3, 3), random_state=0).fit(X)
    assert finder.dims_.sum() == 4 and len(finder.dims_) == 2
    found = [max(adjusted_rand_score(t, c) for c in finder.clusterings_) for t in truths]
    assert min(found) > 0.95


def test_with_the_rank_rule_views_have_at_most_k_minus_1_dimensions():
    X, _ = planted_views(300, 12, n_clusters=(5, 3), random_state=0)
    finder = NrKMeans((5, 3, 1), noise_space="rank", random_state=0).fit(X)
    assert finder.dims_.tolist() == [4, 2, 6]


def test_chance_directions_go_to_the_noise_space():
    X, truths = planted_views(400, 12, n_clusters=(5,), random_state=0)
    X = X - X.mean(axis=0)
    task = ViewSearch.of(X, (5,), True)
    labels = truths[0].labels().astype(np.int32)[:, None]
    start = group(X, labels, (5,))
    wide = in_order(iterate(X, (np.eye(12),), start.centres, True, task.least, 100))
    assert wide.bases[0].shape[1] == 4
    narrow = beyond_chance(X, wide)
    assert narrow[0].shape[1] == 2
    settled = iterate(X, narrow, wide.groups.centres, True, 0.0, 100, turning=False)
    np.testing.assert_array_equal(settled.bases[0], narrow[0])
    assert settled.converged
    assert adjusted_rand_score(labels[:, 0], settled.labels[:, 0]) > 0.95


def test_outliers_are_left_out_of_a_view():
    X, _ = planted_views(400, 6, n_clusters=(3, 3), random_state=0)
    rng = np.random.default_rng(0)
    far = rng.choice(400, 8, replace=False)
    X[far] += rng.normal(scale=60, size=(8, 6))
    finder = NrKMeans((3, 3, 1), noise=True, random_state=0).fit(X)
    marked = (finder.label_matrix_ < 0).any(axis=1)
    assert marked[far].sum() >= 6
    assert marked.sum() <= 12
    plain = NrKMeans((3, 3, 1), random_state=0).fit(X)
    assert (plain.label_matrix_ >= 0).all()


def test_a_given_start_is_the_only_one(fitted):
    X, _, finder = fitted
    init = (finder.components_, finder.cluster_centers_)
    again = NrKMeans((4, 3, 1), init=init).fit(X)
    np.testing.assert_array_equal(again.label_matrix_, finder.label_matrix_)


def test_given_clusterings_are_not_found_again(fitted):
    X, truths, _ = fitted
    other = NrKMeans(3, random_state=0).fit(X, given=truths[0])
    assert adjusted_rand_score(truths[1], other.labels_) > 0.95
    assert np.abs(other.components_[0].T @ truths[0].subspaces.bases[0]).max() < 0.2
    both = NrKMeans(3, random_state=0).fit(X, given=[t.labels() for t in truths])
    assert max(adjusted_rand_score(t, both.labels_) for t in truths) < 0.1


def test_float32_gives_the_same_clusters(fitted):
    X, _, finder = fitted
    single = NrKMeans((4, 3, 1), random_state=0).fit(X.astype(np.float32))
    np.testing.assert_array_equal(single.label_matrix_, finder.label_matrix_)


def test_large_tables_are_searched_on_a_sample():
    X, truths = planted_views(6000, 8, n_clusters=(4, 3), random_state=5)
    finder = NrKMeans((4, 3, 1), random_state=0).fit(X)
    assert adjusted_rand_score(truths[0], finder.clusterings_[0]) > 0.95
    assert adjusted_rand_score(truths[1], finder.clusterings_[1]) > 0.95
    np.testing.assert_array_equal(finder.predict(X, view="all"), finder.label_matrix_)


def test_float32_of_large_tables():
    X, _ = planted_views(5000, 8, n_clusters=(4, 3), random_state=5)
    single = NrKMeans((4, 3, 1), n_escapes=1, random_state=0).fit((X + 1000).astype(np.float32))
    double = NrKMeans((4, 3, 1), n_escapes=1, random_state=0).fit(X)
    for a, b in zip(single.clusterings_, double.clusterings_, strict=True):
        assert adjusted_rand_score(a, b) > 0.999


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_same_bits_for_any_number_of_jobs(fitted, n_jobs):
    X, _, finder = fitted
    again = NrKMeans((4, 3, 1), random_state=0, n_jobs=n_jobs).fit(X)
    np.testing.assert_array_equal(again.label_matrix_, finder.label_matrix_)
    for one, two in zip(again.components_, finder.components_, strict=True):
        np.testing.assert_array_equal(one, two)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6))
def test_a_rotation_of_the_table_rotates_the_views(seed):
    X, _ = planted_views(150, 6, n_clusters=(3, 2), separation=9, random_state=seed)
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    one = NrKMeans((3, 2, 1), n_escapes=2, random_state=0).fit(X)
    two = NrKMeans((3, 2, 1), n_escapes=2, random_state=0).fit(X @ turned)
    for a, b in zip(one.clusterings_, two.clusterings_, strict=True):
        assert adjusted_rand_score(a, b) == 1.0
    assert one.inertia_ == pytest.approx(two.inertia_)


# -- odd tables and wrong parameters ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        ((3, 0, 1), "at least one cluster"),
        ((3, 1, 2), "noise space; there is at most one, and it comes last"),
        ((1, 1), "at most one"),
        ((2.5, 2), "whole numbers"),
        ((), "whole numbers"),
        ((31, 2), "n_clusters=31 is more than the 30 rows"),
        ((2,) * 7, "7 views.*6 columns"),
    ],
)
def test_impossible_numbers_of_clusters(n_clusters, message):
    with pytest.raises(ValueError, match=message):
        NrKMeans(n_clusters).fit(np.random.default_rng(0).normal(size=(30, 6)))


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (([np.eye(6)[:, :1]],), "bases, centres"),
        (([np.eye(6)[:, :2]], [np.zeros((3, 6))]), "centres of view 0 must have shape"),
        (([np.eye(5)[:, :2]], [np.zeros((2, 6))]), "basis of view 0"),
        (([2 * np.eye(6)[:, :2]], [np.zeros((2, 6))]), "orthonormal"),
    ],
)
def test_impossible_starts(init, message):
    with pytest.raises(ValueError, match=message):
        NrKMeans(2, init=init).fit(np.random.default_rng(0).normal(size=(30, 6)))


def test_a_start_must_share_out_all_dimensions_without_a_noise_space():
    init = ([np.eye(6)[:, :2], np.eye(6)[:, 2:4]], [np.zeros((2, 6)), np.zeros((2, 6))])
    with pytest.raises(ValueError, match="all 6 dimensions, got 4"):
        NrKMeans((2, 2), init=init).fit(np.random.default_rng(0).normal(size=(30, 6)))


def test_one_cluster_is_one_cluster():
    X = np.random.default_rng(0).normal(size=(20, 3))
    finder = NrKMeans(1).fit(X)
    assert set(finder.labels_) == {0} and len(finder.clusterings_) == 1
    assert asked_sizes(1) == (1,)


def test_rows_along_one_line_hold_one_view():
    X = np.outer(np.repeat([0.0, 1.0, 2.0], 10), [1.0, 2.0, 3.0])
    with pytest.warns(DroppedClusterWarning, match="no direction of its own"):
        finder = NrKMeans((3, 2, 1), random_state=0).fit(X)
    assert len(finder.clusterings_) == 1


def test_few_distinct_rows_make_few_clusters():
    X = np.repeat(np.random.default_rng(0).normal(size=(2, 4)), 10, axis=0)
    with pytest.warns(FewDistinctRowsWarning, match="2 distinct rows"):
        finder = NrKMeans(5, random_state=0).fit(X)
    assert finder.clustering_.n_clusters == 2


def test_too_few_steps_are_told():
    X, _ = planted_views(300, 8, n_clusters=(4, 3), random_state=2)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        NrKMeans((4, 3, 1), n_init=1, n_escapes=0, max_iter=1, random_state=0).fit(X)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 300))
    X[::2, :30] += 8
    finder = NrKMeans((2, 1), random_state=0).fit(X)
    assert adjusted_rand_score(finder.labels_, np.arange(40) % 2) == 1.0
    V = finder.rotation_
    assert V.shape == (300, 300)
    np.testing.assert_allclose(V.T @ V, np.eye(300), atol=1e-10)


def test_searches_of_a_large_table_share_its_components(monkeypatch):
    asked = []

    def noted(table, *args):
        asked.append(len(table))
        return components(table, *args)

    components = independence._components
    monkeypatch.setattr(independence, "_components", noted)
    X, truths = planted_views(2600, 5, n_clusters=(3, 2), random_state=0)
    brief = {"n_init": 4, "n_escapes": 0}
    finders = [NrKMeans((3, 2, 1), random_state=seed, **brief).fit(X) for seed in (1, 2)]
    assert asked == [2000]  # one depth, for both seeds
    for finder in finders:
        assert adjusted_rand_score(truths[0], finder.clusterings_[0]) > 0.9
