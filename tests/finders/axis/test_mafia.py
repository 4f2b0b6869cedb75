"""MAFIA against full enumeration with fitted bins, and planted boxes off any grid."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from subscape.arrays.discretize import adaptive_edges, assign_bins
from subscape.datasets import planted_axes
from subscape.finders import MAFIA
from subscape.finders.axis.mafia import fitted_units, mafia
from subscape.measures import clustering_error


def one_box(n_rows, n_columns=10, side=0.13, share=0.3, columns=(1, 4, 5, 8), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    corner = rng.uniform(0, 1 - side, size=len(columns))
    members = np.sort(rng.choice(n_rows, int(share * n_rows), replace=False))
    X[np.ix_(members, columns)] = corner + side * rng.uniform(size=(len(members), len(columns)))
    return X, members, corner


def units_of(finder):
    return {
        (tuple(finder.clustering_.cluster(k).features), tuple(unit), count)
        for k, (units, counts) in enumerate(zip(finder.units_, finder.unit_counts_, strict=True))
        for unit, count in zip(units.tolist(), counts.tolist(), strict=True)
    }


def dense_units(X, finder):
    """All dense units in all subspaces, by counting everything."""
    n_rows, n_columns = X.shape
    fitted = [
        adaptive_edges(
            column,
            n_fine=finder.n_fine_bins,
            n_windows=finder.n_windows,
            tolerance=finder.beta,
            n_flat=finder.n_flat_bins,
        )
        for column in X.T
    ]
    bins = assign_bins(X, [column.edges for column in fitted])
    asked = []
    for column in fitted:
        alpha = finder.alpha * (1.5 if column.flat else 1.0)
        # A third of 51 rows is 17, and not a little less because of the widths' last bits.
        asked.append(np.round(alpha * n_rows * np.diff(column.edges) / np.ptp(column.edges), 9))
    found = {}
    for d in range(1, n_columns + 1):
        for columns in combinations(range(n_columns), d):
            for unit in product(*(range(len(asked[j])) for j in columns)):
                count = int((bins[list(columns)] == np.array(unit)[:, None]).all(axis=0).sum())
                if count > max(asked[j][b] for j, b in zip(columns, unit, strict=True)):
                    found[columns, unit] = count
    return found


small = st.tuples(st.integers(0, 10_000), st.integers(20, 80), st.integers(1, 3))


def small_case(case, **parameters):
    seed, n_rows, n_columns = case
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    X[: n_rows // 2] = 0.3 + 0.1 * rng.uniform(size=(n_rows // 2, n_columns))
    finder = MAFIA(beta=0.6, n_fine_bins=12, n_windows=6, n_flat_bins=3, min_rows=1, **parameters)
    return X, finder


@settings(deadline=None, max_examples=30)
@given(small, st.floats(0.3, 2.0))
def test_all_dense_units_are_found(case, alpha):
    X, finder = small_case(case, alpha=alpha, report="all")
    expected = dense_units(X, finder)
    assert units_of(finder.fit(X)) == {(*unit, count) for unit, count in expected.items()}


@settings(deadline=None, max_examples=30)
@example((9086, 68, 2), 0.5)  # a unit has just as many rows as are asked for
@given(small, st.floats(0.3, 2.0))
def test_terminal_units_are_in_no_larger_dense_unit(case, alpha):
    X, finder = small_case(case, alpha=alpha, report="maximal")
    dense = dense_units(X, finder)
    items = {unit: set(zip(*unit, strict=True)) for unit in dense}
    terminal = {
        (*unit, count)
        for unit, count in dense.items()
        if not any(items[unit] < other for other in items.values())
    }
    assert units_of(finder.fit(X)) == terminal


@pytest.mark.parametrize("n_rows", [2000, 10_000, 50_000])
def test_the_only_terminal_subspace_is_the_planted_one(n_rows):
    X, members, corner = one_box(n_rows)
    finder = MAFIA(1.5, 0.35, n_fine_bins=200, n_windows=40, report="maximal").fit(X)
    found = finder.clustering_
    assert np.unique(found.subspaces.masks, axis=0).shape[0] == 1
    assert np.flatnonzero(found.subspaces.masks[0]).tolist() == [1, 4, 5, 8]
    boxes = np.concatenate(finder.boxes_)
    assert np.abs(boxes[:, :, 0].min(axis=0) - corner).max() < 0.03
    assert np.abs(boxes[:, :, 1].max(axis=0) - corner - 0.13).max() < 0.03
    rows = np.flatnonzero(found.labels() >= 0)
    assert np.isin(members, rows).mean() > 0.95
    assert np.isin(rows, members).mean() > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_defaults_find_a_planted_box(seed):
    X, members, _ = one_box(2000, seed=seed)
    found = MAFIA().fit(X).clustering_
    assert np.flatnonzero(found.subspaces.masks[0]).tolist() == [1, 4, 5, 8]
    assert found.n_clusters == 1
    assert np.isin(members, found.cluster(0).rows).mean() > 0.9


def test_uniform_columns_have_no_dense_units():
    X = np.random.default_rng(0).uniform(size=(10_000, 6))
    finder = MAFIA(alpha=1.5, report="all").fit(X)
    assert finder.clustering_.n_clusters == 0
    assert MAFIA().fit(X).clustering_.n_clusters == 0


def test_supports_and_boxes_equal_a_direct_count():
    X, _ = planted_axes(600, 6, n_clusters=3, dims=3, random_state=0)
    finder = MAFIA(report="all").fit(X)
    assert finder.clustering_.n_clusters > 3
    for k, boxes in enumerate(finder.boxes_):
        cluster = finder.clustering_.cluster(k)
        values = X[:, cluster.features]
        inside = ((values[:, None] >= boxes[:, :, 0]) & (values[:, None] < boxes[:, :, 1])).all(-1)
        np.testing.assert_array_equal(np.flatnonzero(inside.any(axis=1)), cluster.rows)
        assert finder.unit_counts_[k].sum() == len(cluster.rows)


def test_planted_clusters_are_found_with_their_features():
    errors, exact = [], 0
    for seed in range(8):
        X, truth = planted_axes(1000, 12, n_clusters=3, dims=4, random_state=seed)
        found = MAFIA().fit(X).clustering_
        errors.append(clustering_error(found, truth))
        masks = {tuple(mask) for mask in found.subspaces.masks}
        exact += masks == {tuple(mask) for mask in truth.subspaces.masks}
    assert np.median(errors) < 0.1
    assert exact >= 6


def test_columns_and_units_of_measurement_do_not_matter():
    X, _, _ = one_box(1000, 8, columns=(1, 4, 5))
    plain = MAFIA().fit(X).clustering_
    columns = np.random.default_rng(0).permutation(8)
    moved = MAFIA().fit(X[:, columns]).clustering_
    assert moved.embed(features=columns, shape=X.shape) == plain
    assert MAFIA().fit(X * 2.0 ** np.arange(8)).clustering_ == plain
    np.testing.assert_array_equal(MAFIA().fit(X).labels_, MAFIA().fit(X).labels_)


@pytest.mark.parametrize("report", ["nonredundant", "maximal", "all"])
def test_too_many_candidates_end_the_search_with_a_warning(report):
    X, _ = planted_axes(400, 15, n_clusters=2, dims=12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_candidates"):
        finder = MAFIA(report=report, n_windows=30, max_candidates=5000).fit(X)
    assert finder.clustering_.shape == X.shape


def test_more_windows_than_bars_are_refused():
    with pytest.raises(ValueError, match="n_windows=30"):
        MAFIA(n_windows=30, n_fine_bins=20).fit(np.random.default_rng(0).uniform(size=(50, 2)))


def masks_of(clustering):
    return {tuple(mask) for mask in clustering.subspaces.masks.tolist()}


@pytest.mark.parametrize("dims", [4, 8, 12, 18])
def test_defaults_find_all_features_where_clusters_meet_in_columns(dims):
    X, truth = planted_axes(500, 20, n_clusters=5, dims=dims, random_state=400 + dims)
    found = MAFIA().fit(X).clustering_
    assert found.columns_only() == truth.columns_only()
    assert clustering_error(found, truth) < 0.02
    plain = MAFIA(refine=False).fit(X).clustering_
    assert clustering_error(plain, truth) > clustering_error(found, truth)


@pytest.mark.parametrize(("noise", "overlap"), [(0.5, 0.0), (0.1, 0.2)])
def test_defaults_find_clusters_in_noise_and_overlapping_ones(noise, overlap):
    X, truth = planted_axes(
        2000, 20, n_clusters=8, dims=6, noise=noise, overlap=overlap, random_state=410
    )
    found = MAFIA().fit(X).clustering_
    assert masks_of(found) == masks_of(truth)
    assert clustering_error(found, truth) < 0.02


def test_a_cluster_inside_another_one():
    X, members, _ = one_box(1500, columns=(1, 4, 5), share=0.3, seed=3)
    inner = members[: len(members) // 2]
    X[np.ix_(inner, [0, 8])] = 0.2 + 0.1 * np.random.default_rng(4).uniform(size=(len(inner), 2))
    found = MAFIA().fit(X).clustering_
    by_dims = {len(found.cluster(k).features): found.cluster(k) for k in range(found.n_clusters)}
    assert sorted(by_dims) == [3, 5]
    assert by_dims[3].features.tolist() == [1, 4, 5]
    assert by_dims[5].features.tolist() == [0, 1, 4, 5, 8]
    assert np.isin(members, by_dims[3].rows).mean() > 0.95
    assert np.isin(by_dims[5].rows, inner).mean() > 0.95
    assert np.isin(inner, by_dims[5].rows).mean() > 0.95


def test_refined_boxes_hold_the_rows_of_all_the_table(monkeypatch):
    X, truth = planted_axes(3000, 15, n_clusters=4, dims=5, noise=0.2, random_state=411)
    whole = MAFIA().fit(X).clustering_
    monkeypatch.setattr(mafia, "FIT_ROWS", 1000)
    finder = MAFIA().fit(X)
    found = finder.clustering_
    assert masks_of(found) == masks_of(truth) == masks_of(whole)
    assert clustering_error(found, truth) < 0.02
    for k, boxes in enumerate(finder.boxes_):
        cluster = found.cluster(k)
        assert boxes.shape == (1, len(cluster.features), 2)
        values = X[:, cluster.features]
        inside = ((values >= boxes[0, :, 0]) & (values < boxes[0, :, 1])).all(axis=1)
        np.testing.assert_array_equal(np.flatnonzero(inside), cluster.rows)
        assert finder.unit_counts_[k].tolist() == [len(cluster.rows)]
        assert finder.units_[k].shape == (1, len(cluster.features))
    assert (np.diff(finder.interest_) <= 0).all()


def test_bounds_on_refined_clusters():
    X, truth = planted_axes(1000, 12, n_clusters=4, dims=5, random_state=412)
    everything = MAFIA().fit(X)
    two = MAFIA(max_clusters=2).fit(X)
    assert two.clustering_ == everything.clustering_.select([0, 1])
    narrow = MAFIA(max_dims=3).fit(X).clustering_
    assert narrow.subspaces.dims.tolist() == [3.0] * narrow.n_clusters
    assert masks_of(truth) >= masks_of(everything.clustering_)
    for k in range(narrow.n_clusters):
        part = narrow.subspaces.masks[k]
        assert any((part <= mask).all() for mask in truth.subspaces.masks)


def test_without_refinement_the_defaults_are_those_of_wide_bins():
    X, _ = planted_axes(600, 8, n_clusters=3, dims=4, random_state=0)
    plain = MAFIA(refine=False).fit(X)
    named = MAFIA(0.4, 0.65, n_windows=10, refine=False).fit(X)
    assert plain.clustering_ == named.clustering_
    for report in ("maximal", "all"):
        either = [
            MAFIA(1.0, 0.5, report=report, refine=r).fit(X).clustering_ for r in (True, False)
        ]
        assert either[0] == either[1]


def test_features_are_found_outside_the_columns_of_the_seeds(monkeypatch):
    X, truth = planted_axes(800, 30, n_clusters=3, dims=6, random_state=413)
    monkeypatch.setattr(fitted_units, "MOST_COLUMNS", 10)
    found = MAFIA().fit(X).clustering_
    assert masks_of(found) <= masks_of(truth)
    assert found.n_clusters >= 2


@pytest.mark.parametrize("seed", range(3))
def test_one_hump_per_column_is_no_cluster(seed):
    X = np.random.default_rng(seed).normal(size=(1000, 8))
    assert MAFIA().fit(X).clustering_.n_clusters == 0


def test_windows_are_merged_unless_chance_is_ruled_out():
    values = np.r_[np.linspace(0, 1, 1000), np.linspace(0.4, 0.5, 100)]
    fitted = adaptive_edges(values, n_fine=100, n_windows=20, tolerance=None, n_flat=5)
    np.testing.assert_allclose(fitted.edges, [0, 0.4, 0.5, 1], atol=1e-9)
    assert fitted.counts.sum() == 1100 and not fitted.flat
    few = adaptive_edges(values[::20], n_fine=100, n_windows=20, tolerance=None, n_flat=5)
    assert few.flat and len(few.edges) == 6
