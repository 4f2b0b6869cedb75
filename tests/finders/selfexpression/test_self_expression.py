"""SSC, EnSC, LSR and TSC: coefficients against plain loops, planted flats, odd tables."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import eigh
from sklearn.datasets import load_digits
from sklearn.linear_model import ElasticNet

from subscape import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, SharedFlatWarning, SubscapeError
from subscape.finders import LSR, SSC, TSC, EnSC
from subscape.finders.oriented.flats import fitted_flat
from subscape.finders.selfexpression import affinity as graphs
from subscape.finders.selfexpression.base import Spread, Spreads, in_their_span
from subscape.finders.selfexpression.ensc import active_set
from subscape.finders.selfexpression.lsr import regression, ridge_coefficients
from subscape.finders.selfexpression.ssc import Room, pursuit
from subscape.finders.selfexpression.tsc import likeness
from subscape.measures import adjusted_rand_score, clustering_error
from subscape.parallel.progress import Watch

ALL = [SSC, EnSC, LSR, TSC]


def union(n_features=30, dims=(5, 5, 5), size=50, seed=0, shift=0.0, noise=0.0):
    """Rows on flats through the origin (or, shifted, through other points) in random order."""
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.normal(size=(n_features, d)))[0] for d in dims]
    rows = [
        rng.normal(size=(size, d)) @ basis.T + shift * rng.normal(size=n_features)
        for d, basis in zip(dims, bases, strict=True)
    ]
    labels = np.repeat(np.arange(len(dims)), size)
    order = rng.permutation(len(labels))
    X = np.vstack(rows)[order]
    X += noise * rng.normal(size=X.shape)
    # In the order of the first rows, as finders number their clusters.
    labels = labels[order]
    first = np.argsort([np.argmax(labels == k) for k in range(len(dims))])
    truth = SubspaceClustering.from_labels(
        np.argsort(first)[labels], bases=[bases[k] for k in first]
    ).complement()
    return X, truth


def unit_rows(n, p, seed):
    U = np.random.default_rng(seed).normal(size=(n, p))
    return U / np.linalg.norm(U, axis=1, keepdims=True)


def dense(block, shape):
    rows, columns, values = block
    return sparse.csr_array((values, (rows, columns)), shape=shape).toarray()


# -- coefficients ---------------------------------------------------------------------------------


def pursuit_by_hand(U, i, most, tol):
    """One row after the other, with least squares each time."""
    chosen, left, found = [], U[i], np.zeros(len(U))
    while len(chosen) < min(most, len(U) - 1) and left @ left > tol:
        like = np.abs(U @ left)
        like[[i, *chosen]] = -1
        chosen.append(int(like.argmax()))
        c = np.linalg.lstsq(U[chosen].T, U[i], rcond=None)[0]
        left = U[i] - c @ U[chosen]
        found[:] = 0
        found[chosen] = c
    return found


@given(st.integers(2, 25), st.integers(3, 8), st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_pursuit_is_the_plain_one(n, p, most, seed):
    U = unit_rows(n, p, seed)
    most = min(most, p)
    found = dense(pursuit(U, np.arange(n), most, 1e-12), (n, n))
    expected = np.array([pursuit_by_hand(U, i, most, 1e-12) for i in range(n)])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_one_room_serves_several_blocks():
    """Rows of blocks of several sizes come out as if each had a room of its own."""
    U = np.random.default_rng(0).normal(size=(30, 5))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    room = Room(U)
    for own in (np.arange(4), np.arange(4, 20), np.arange(20, 30)):
        for one, other in zip(pursuit(U, own, 3, 0.0, room), pursuit(U, own, 3, 0.0), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [5, 40])
def test_rows_in_coordinates_of_their_span(n):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 12))
    found = in_their_span(rows)
    assert found.shape[1] == min(n, 3) if n > 12 else found.shape[1] <= n
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, atol=1e-9)


def test_rows_that_fill_the_table_stay_as_they_are():
    """Also if a direction is nearly empty."""
    rows = np.random.default_rng(0).normal(size=(40, 6)) * np.array([1, 1, 1, 1, 1, 1e-7])
    assert in_their_span(rows) is rows


@pytest.mark.parametrize("n", [4, 30])
@pytest.mark.parametrize("dim", [0, 1, 3])
def test_a_spread_gives_the_closest_flats(n, dim):
    rows = 2.0 + np.random.default_rng(0).normal(size=(n, 6)) * np.arange(6, 0, -1)
    found, expected = Spread(rows, affine=True).flat(dim), fitted_flat(rows, dim)
    np.testing.assert_allclose(found.centre, expected.centre)
    np.testing.assert_allclose(found.basis @ found.basis.T, expected.basis @ expected.basis.T)
    linear = Spread(rows, affine=False).flat(dim)
    basis = np.linalg.svd(rows)[2][:dim].T
    np.testing.assert_allclose(linear.basis @ linear.basis.T, basis @ basis.T, atol=1e-9)
    assert not linear.centre.any()


@pytest.mark.parametrize("p", [3, 12])
@pytest.mark.parametrize("affine", [False, True])
def test_many_spreads_have_the_scores_of_each(p, affine):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(n, p)) for n in (1, 2, 7, 12, 40)]
    for rows, each in zip(groups, Spread.many(groups, affine), strict=True):
        alone = Spread(rows, affine)
        np.testing.assert_array_equal(each.dim_scores, alone.dim_scores)
        np.testing.assert_array_equal(each.flat(2).basis, alone.flat(2).basis)


def test_spreads_are_those_of_the_labels_asked_for():
    """Whatever was asked before, also if the array was changed since."""
    rows, labels = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
    spreads = Spreads(rows, False)
    for _ in range(3):
        for k, each in enumerate(spreads.of(labels)):
            own = Spread(rows[labels == k], False)
            np.testing.assert_array_equal(each.dim_scores, own.dim_scores)
            assert each.size == own.size
        labels[:4] = 1 - labels[:4]


@pytest.mark.parametrize("n", [40, 4000])
def test_groups_of_places_by_either_k_means(n):
    """Few places and many are grouped by different programs."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n)
    places = np.eye(3)[truth] + 0.05 * rng.normal(size=(n, 3))
    assert graphs.same_parts(graphs.parts(places, 3, 10, rng, Watch()), truth)


@pytest.mark.parametrize("n", [40, 4000])
def test_many_starts_of_k_means_end_with_the_time(n):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n)
    places = np.eye(3)[truth] + 0.05 * rng.normal(size=(n, 3))
    watch = Watch(max_time=1e-9)
    assert graphs.same_parts(graphs.parts(places, 3, 10**9, rng, watch), truth)
    assert watch.was_cut


def test_starts_are_counted_and_the_best_of_all_is_kept():
    asked, spreads = [], iter([3.0, 1.0, 1.0, 2.0])

    def some(number, done):
        asked.append((number, done))
        return next(spreads), np.array([done])

    n = graphs.STARTS_AT_ONCE
    best = graphs._best_start(some, 3 * n + 1, Watch())
    assert asked == [(n, 0), (n, n), (n, 2 * n), (1, 3 * n)]
    assert best.tolist() == [n]


def test_parts_are_the_same_only_if_all_rows_agree():
    one = np.array([0, 0, 1, 1, 2])
    assert graphs.same_parts(one, np.array([5, 5, 0, 0, 1]))
    assert not graphs.same_parts(one, np.array([0, 0, 1, 1, 1]))
    assert not graphs.same_parts(one, np.array([0, 1, 1, 1, 2]))


@pytest.mark.parametrize("l1_ratio", [1.0, 0.8, 0.3])
@pytest.mark.parametrize("active", [3, 10, 100])
def test_elastic_nets_of_active_sets_are_those_over_all_rows(l1_ratio, active):
    U, alpha = unit_rows(40, 12, 1), 20.0
    own = np.arange(0, 40, 5)
    columns, values = active_set(
        U, own, l1_ratio, alpha, active=active, precision=1e-12, sweeps=5000
    )
    for i, where, found in zip(own, columns, values, strict=True):
        others = np.delete(np.arange(40), i)
        l1 = np.abs(U[others] @ U[i]).max() / alpha
        l2 = l1 * (1 - l1_ratio) / l1_ratio
        # scikit-learn divides the squared error by the number of entries.
        share = (l1 + l2) / 12
        model = ElasticNet(
            alpha=share, l1_ratio=l1 / (l1 + l2), fit_intercept=False, tol=1e-14, max_iter=10**6
        )
        expected = np.zeros(40)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a tolerance that cannot be reached
            expected[others] = model.fit(U[others].T, U[i]).coef_
        row = np.zeros(40)
        np.add.at(row, where, found)
        # What the oracle lets pass is at most a thousandth of the price.
        np.testing.assert_allclose(row, expected, atol=5e-3)
        assert row[i] == 0


def test_ridge_coefficients_are_those_of_a_regression_on_the_others():
    U, ridge = unit_rows(15, 6, 2), 0.3
    found = ridge_coefficients(U, regression(U, ridge), np.arange(15))
    for i in range(15):
        others = np.delete(np.arange(15), i)
        A = U[others]
        expected = np.linalg.solve(A @ A.T + ridge * np.eye(14), A @ U[i])
        np.testing.assert_allclose(found[i, others], expected, rtol=1e-9, atol=1e-12)
        assert found[i, i] == 0


def test_likeness_falls_with_the_angle():
    U = unit_rows(8, 3, 3)
    found = likeness(U, np.arange(8))
    for i in range(8):
        for j in range(8):
            angle = np.arccos(min(1.0, abs(U[i] @ U[j])))
            assert found[i, j] == pytest.approx(0.0 if i == j else np.exp(-2 * angle))


# -- the graph ------------------------------------------------------------------------------------


@pytest.mark.parametrize("regularization", [0.0, 0.1, 1.0])
def test_the_spectrum_is_that_of_the_spelled_out_graph(regularization):
    rng = np.random.default_rng(0)
    n = graphs.EXACT_UP_TO + 50  # by iteration
    W = sparse.random_array((n, n), density=0.03, rng=rng).tocsr()
    W = sparse.csr_array(W + W.T)
    found = graphs.spectrum(W, 5, regularization, np.random.default_rng(1))
    full = W.toarray() + regularization * W.sum() / n / n
    scale = 1 / np.sqrt(full.sum(axis=1))
    values, _ = eigh(full * np.outer(scale, scale))
    np.testing.assert_allclose(found.values, values[::-1][:5], atol=1e-6)
    product = (full * np.outer(scale, scale)) @ found.vectors
    np.testing.assert_allclose(product, found.vectors * found.values, atol=1e-5)


def test_few_rows_by_themselves_are_no_cluster():
    """Three blocks, and a pair that hangs together by itself."""
    blocks = sparse.block_diag([sparse.coo_array(np.ones((n, n))) for n in (30, 30, 30, 2)])
    rng = np.random.default_rng(0)
    found = graphs.spectrum(sparse.csr_array(blocks), 3, 0.1, rng)
    labels = graphs.parts(found.vectors, 3, 10, rng, Watch())
    assert len({tuple(labels[s : s + 30]) for s in (0, 30, 60)}) == 3
    assert all(len(set(labels[s : s + 30])) == 1 for s in (0, 30, 60))


@pytest.mark.parametrize("finder", [EnSC, LSR])
def test_outliers_are_left_out(finder):
    X, _ = union(30, (4, 4), 60, seed=1)
    rng = np.random.default_rng(0)
    X = np.vstack([X, rng.normal(size=(8, 30))])
    found = finder(2, noise=8 / 128, random_state=0).fit(X)
    assert set(np.flatnonzero(found.labels_ < 0)) == set(range(120, 128))


def test_the_walk_leaves_outliers():
    X, _ = union(30, (4, 4), 60, seed=1)
    X = np.vstack([X, np.random.default_rng(0).normal(size=(8, 30))])
    seen = graphs.visits(LSR(2, random_state=0).fit(X).coefficients_)
    assert set(np.argsort(seen)[:8]) == set(range(120, 128))


# -- planted flats --------------------------------------------------------------------------------


@pytest.mark.parametrize("finder", ALL)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_flats_and_their_directions_are_found(finder, noise):
    X, truth = union(noise=noise)
    found = finder(3, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_) == 1
    assert found.flat_dims_.tolist() == [5, 5, 5]
    assert clustering_error(found.clustering_, truth) < 0.01
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert found.predict(7.5 * X).tolist() == found.labels_.tolist()


@pytest.mark.parametrize("finder", ALL)
def test_flats_that_avoid_the_origin(finder):
    X, truth = union(25, (4, 4, 4), 60, seed=2, shift=1.0)
    found = finder(3, affine=True, random_state=0).fit(X + 100.0)
    assert adjusted_rand_score(truth, found.labels_) == 1
    assert found.flat_dims_.tolist() == [4, 4, 4]
    np.testing.assert_array_equal(found.predict(X + 100.0), found.labels_)


@pytest.mark.parametrize("finder", ALL)
def test_the_number_of_clusters_by_the_eigengap(finder):
    X, truth = union(30, (5, 5, 5, 5), 80, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is doubtful
        found = finder("eigengap", random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_) == 1
    assert (np.diff(found.eigenvalues_) <= 1e-9).all()


def test_doubts_about_the_number_are_stated():
    with pytest.warns(UserWarning, match="says 2 clusters, but 4 is nearly as likely"):
        assert LSR()._by_gap(np.array([1.0, 0.95, 0.6, 0.55, 0.3])) == 2
    assert LSR()._by_gap(np.array([1.0, 0.95, 0.3, 0.25, 0.2])) == 2


@pytest.mark.parametrize("finder", ALL)
def test_the_weak_links_are_no_gap(finder):
    # Without them the graph has just as many parts as there are flats, or nearly.
    X, truth = union(50, (5, 5, 5), 60, seed=2)
    found = finder("eigengap", refine=False, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 3
    assert adjusted_rand_score(truth, found.labels_) == 1


def test_one_cluster_by_the_eigengap_is_not_silent():
    X, _ = union(15, (3,), 150, noise=0.1, seed=0)
    with pytest.warns(UserWarning, match="all rows are 1 cluster; if they are not"):
        found = SSC("eigengap", random_state=0).fit(X)
    assert found.clustering_.n_clusters == 1


def test_refinement_helps_where_flats_cross():
    X, truth = union(9, (6,) * 5, 100, seed=0)
    with pytest.warns(SharedFlatWarning):
        plain = SSC(5, refine=False, random_state=0).fit(X)
    fine = SSC(5, random_state=0).fit(X)
    assert adjusted_rand_score(truth, plain.labels_) < 0.9
    assert adjusted_rand_score(truth, fine.labels_) > 0.97
    assert fine.unrefined_clustering_.labels().tolist() == plain.labels_.tolist()


@pytest.mark.parametrize("finder", [EnSC, LSR, TSC])
def test_refinement_does_no_harm_where_flats_fit_badly(finder):
    """Pictures of digits are no flats; large ones of few rows must not swallow the others."""
    X, truth = load_digits(return_X_y=True)
    X = X[:600, np.ptp(X[:600], axis=0) > 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SharedFlatWarning)
        found = finder(10, random_state=0).fit(X)
    before = adjusted_rand_score(truth[:600], found.unrefined_clustering_)
    assert adjusted_rand_score(truth[:600], found.labels_) > before - 0.02


@pytest.mark.parametrize("finder", ALL)
def test_rows_that_were_not_searched_go_to_the_closest_flat(finder, tmp_path):
    X, truth = union(15, (4, 5), 600, seed=4)
    settings = {"search_rows": 150, "random_state": 0}
    found = finder(2, **settings).fit(X)
    assert adjusted_rand_score(truth, found.labels_) == 1
    assert found.coefficients_.shape == (150, 150)
    np.save(tmp_path / "X.npy", X)
    streamed = finder(2, **settings).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert streamed.clustering_ == found.clustering_
    noisy = finder(2, noise=0.1, **settings).fit(X)
    assert (noisy.labels_ < 0).sum() == pytest.approx(120, abs=2)


# -- odd tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("finder", ALL)
def test_copies_do_not_hide_the_flats(finder):
    X, truth = union(20, (3, 3), 30, seed=5)
    found = finder(2, random_state=0).fit(np.repeat(X, 3, axis=0))
    assert adjusted_rand_score(np.repeat(truth.labels(), 3), found.labels_) == 1
    assert found.coefficients_.shape == (60, 60)
    assert found.expressed_rows_.tolist() == list(range(0, 180, 3))


@pytest.mark.parametrize("finder", ALL)
def test_rows_of_zeros_go_where_most_rows_are(finder):
    X, _ = union(20, (2, 2), 30, seed=6)
    X = np.vstack([np.zeros((2, 20)), X, X[:1] * 2])
    found = finder(2, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 2
    largest = np.bincount(found.labels_[2:]).argmax()
    assert found.labels_[:2].tolist() == [largest, largest]


@pytest.mark.parametrize("finder", ALL)
def test_fewer_rows_than_a_flat_has_dimensions(finder):
    X = np.random.default_rng(0).normal(size=(4, 12))
    found = finder(2, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 2
    with pytest.warns(UserWarning, match="too few rows for a flat of dimension flat_dim=5"):
        told = finder(2, flat_dim=5, random_state=0).fit(X)
    assert told.flat_dims_.tolist() == [5, 5]


@pytest.mark.parametrize("finder", ALL)
def test_more_clusters_than_the_graph_has_parts(finder):
    X, truth = union(30, (5, 5), 60, seed=7)
    with pytest.warns(SharedFlatWarning, match="lie on one flat: . and .*try fewer clusters"):
        found = finder(4, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 4
    # Flats are cut; none of the parts mixes rows of two.
    for k in range(4):
        assert len(set(truth.labels()[found.labels_ == k])) == 1


@pytest.mark.parametrize("finder", ALL)
def test_one_column(finder):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(20, 1)), 9 + rng.normal(size=(20, 1))])
    with pytest.warns(SharedFlatWarning, match="one column that varies.*affine=True"):
        found = finder(2, random_state=0).fit(X)
    assert found.labels_.shape == (40,)
    told = finder(2, affine=True, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 20), told.labels_) == 1.0


@pytest.mark.parametrize("finder", ALL)
def test_rows_at_right_angles_say_nothing_of_each_other(finder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedClusterWarning)
        found = finder(3, random_state=0).fit(np.eye(6) * np.arange(1, 7))
    assert found.labels_.shape == (6,)


def test_a_flat_that_fills_the_table_is_refused():
    with pytest.raises(SubscapeError, match="flat_dim=6 fills a table of 5 features"):
        SSC(2, flat_dim=6).fit(np.random.default_rng(0).normal(size=(20, 5)))


# -- cells that are wrong -------------------------------------------------------------------------


def with_wrong_cells(seed, share=0.3, cells=1, size=3.0, p=40, shift=0.0):
    """Rows on four flats of dimension 3, some with cells that are off, and what is off."""
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.normal(size=(p, 3)))[0] for _ in range(4)]
    X = np.vstack([rng.normal(size=(40, 3)) @ basis.T + shift * k for k, basis in enumerate(bases)])
    off = np.zeros_like(X)
    for row in np.flatnonzero(rng.random(len(X)) < share):
        at = rng.choice(p, cells, replace=False)
        off[row, at] = size * rng.choice([-1, 1], cells) * np.linalg.norm(X[row])
    return X + off, np.repeat(np.arange(4), 40), off


@pytest.mark.parametrize(("cells", "size", "without"), [(1, 3.0, 0.75), (3, 1.0, 1.0)])
@pytest.mark.parametrize("seed", range(3))
def test_wrong_cells_are_found_and_set_right(cells, size, without, seed):
    X, truth, off = with_wrong_cells(seed, cells=cells, size=size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SharedFlatWarning)
        plain = SSC(4, tol=1e-6, random_state=0).fit(X)
    found = SSC(4, tol=1e-6, wrong_cells=cells, random_state=0).fit(X)
    assert adjusted_rand_score(truth, plain.labels_) < without
    assert adjusted_rand_score(truth, found.labels_) > 0.95
    assert found.wrong_.shape == X.shape
    assert np.diff(found.wrong_.indptr).max() <= cells
    assert np.abs(found.wrong_.toarray() - off).sum() < 0.15 * np.abs(off).sum()
    assert found.flat_dims_.min() == 3


def test_wrong_cells_away_from_the_origin_and_in_copies():
    X, truth, off = with_wrong_cells(1, shift=0.4)
    X = np.vstack([X, X[:7]])
    found = SSC(4, wrong_cells=1, affine=True, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_[:160]) > 0.9
    np.testing.assert_array_equal(found.labels_[160:], found.labels_[:7])
    assert np.abs(found.wrong_.toarray() - off).sum() < 0.2 * np.abs(off).sum()


def test_without_wrong_cells_nothing_is_taken_away():
    X, *_ = with_wrong_cells(2, share=0.0)
    plain, found = SSC(4, random_state=0).fit(X), SSC(4, wrong_cells=1, random_state=0).fit(X)
    assert adjusted_rand_score(plain.labels_, found.labels_) == 1.0
    assert np.abs(found.wrong_.toarray()).sum() < 0.05 * np.abs(X).sum()
    assert not hasattr(plain, "wrong_")


@pytest.mark.parametrize("cells", [0, 1, 2])
def test_pursuit_with_cells_is_the_plain_one(cells):
    X, *_ = with_wrong_cells(3, p=9)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    atoms = np.vstack([U, np.eye(9)])
    rows, columns, values = pursuit(atoms, np.arange(160), 4, 0.2, None, 160, cells)
    for row in range(0, 160, 3):
        left, chosen, taken = U[row].copy(), [], 0
        while len(chosen) < 4 + cells:
            like = np.abs(atoms @ left)
            like[row] = -1
            like[160:] = np.where(taken == cells, -1, like[160:])
            like[:160] = np.where(len(chosen) - taken == 4, -1, like[:160])
            chosen.append(int(like.argmax()))
            taken += chosen[-1] >= 160
            best = np.linalg.lstsq(atoms[chosen].T, U[row], rcond=None)[0]
            left = U[row] - best @ atoms[chosen]
            cleared = [c - 160 for c in chosen if c >= 160]
            if left @ left <= 0.2 * (1 - np.square(U[row, cleared]).sum()):
                break
        own = rows == row
        assert columns[own].tolist() == chosen
        np.testing.assert_allclose(values[own], best, atol=1e-9)


def test_no_row_may_be_wrong_altogether():
    with pytest.raises(SubscapeError, match=r"wrong_cells=3.*at most 2"):
        SSC(2, wrong_cells=3).fit(np.random.default_rng(0).normal(size=(20, 3)))


@pytest.mark.parametrize("sign", [1, -1])
def test_of_two_rows_each_is_written_by_the_other(sign):
    """Its coefficient is what they have in common, less the price, here a tenth of that."""
    U = np.array([[1.0, 0.0], [0.8 * sign, 0.6]])
    columns, values = active_set(U, np.array([0, 1]), 1.0, 10.0)
    assert columns.tolist() == [[1], [0]]
    np.testing.assert_allclose(values, [[0.72 * sign]] * 2, atol=1e-6)
    columns, values = active_set(U[:1], np.array([0]), 1.0, 10.0)
    assert values.tolist() == [[0.0]]
