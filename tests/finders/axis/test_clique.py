"""CLIQUE against full enumeration, its descriptions, its pruning, and planted clusters."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from subscape.core import ConstantFeatureWarning
from subscape.datasets import planted_axes
from subscape.finders import CLIQUE
from subscape.finders.axis.candidates import candidates, n_joins
from subscape.finders.axis.grid.finder import minimal_boxes
from subscape.finders.axis.grid.search import mdl_cut, only_largest
from subscape.measures import clustering_error


def boxes_in_noise(n_rows=2000, n_columns=20, n_clusters=5, dims=5, noise=0.1, seed=0):
    """Clusters that are uniform in boxes of width 10, the rest uniform in [0, 100]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 100, size=(n_rows, n_columns))
    X[0], X[1] = 0, 100  # the range does not depend on the draw
    rows = np.array_split(2 + rng.permutation(n_rows - 2)[: int(n_rows * (1 - noise))], n_clusters)
    truth = []
    for members in rows:
        columns = np.sort(rng.choice(n_columns, dims, replace=False))
        corner = 10 * rng.integers(0, 10, dims)
        X[np.ix_(members, columns)] = corner + rng.uniform(0, 10, size=(len(members), dims))
        truth.append((set(members.tolist()), tuple(columns.tolist())))
    return X, truth


def units_of(finder):
    """The reported units of every cluster: columns, bins and count."""
    return {
        (tuple(finder.clustering_.cluster(k).features), tuple(unit), count)
        for k, (units, counts) in enumerate(zip(finder.units_, finder.unit_counts_, strict=True))
        for unit, count in zip(units.tolist(), counts.tolist(), strict=True)
    }


def dense_units(X, n_bins, threshold):
    """All dense units in all subspaces, by counting everything."""
    low, high = X.min(axis=0), X.max(axis=0)
    edges = np.linspace(low, high, n_bins + 1)
    bins = np.array(
        [np.searchsorted(edges[1:-1, j], X[:, j], side="right") for j in range(X.shape[1])]
    )
    found = set()
    for d in range(1, X.shape[1] + 1):
        for columns in combinations(range(X.shape[1]), d):
            for unit in product(range(n_bins), repeat=d):
                count = int((bins[list(columns)] == np.array(unit)[:, None]).all(axis=0).sum())
                if count > threshold * len(X):
                    found.add((columns, unit, count))
    return found


small_tables = st.tuples(
    st.integers(0, 10_000), st.integers(10, 60), st.integers(1, 4), st.integers(2, 4)
)


def small_table(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    X[: n_rows // 3] = rng.uniform(size=n_columns) + 0.05 * rng.normal(
        size=(n_rows // 3, n_columns)
    )
    return X


@settings(deadline=None, max_examples=30)
@given(small_tables, st.floats(0.02, 0.3))
def test_all_dense_units_are_found(table, threshold):
    seed, n_rows, n_columns, n_bins = table
    X = small_table(seed, n_rows, n_columns)
    finder = CLIQUE(n_bins, threshold, min_rows=1, report="all").fit(X)
    assert units_of(finder) == dense_units(X, n_bins, threshold)


@settings(deadline=None, max_examples=30)
@given(small_tables, st.floats(0.02, 0.3))
def test_maximal_subspaces_are_those_without_denser_supersets(table, threshold):
    seed, n_rows, n_columns, n_bins = table
    X = small_table(seed, n_rows, n_columns)
    finder = CLIQUE(n_bins, threshold, min_rows=1, report="maximal").fit(X)
    dense = dense_units(X, n_bins, threshold)
    subspaces = {set_of for set_of, _, _ in dense}
    largest = {s for s in subspaces if not any(set(s) < set(other) for other in subspaces)}
    assert units_of(finder) == {unit for unit in dense if unit[0] in largest}


@settings(deadline=None, max_examples=30)
@given(small_tables, st.floats(0.05, 0.3))
def test_clusters_are_connected_and_apart(table, threshold):
    seed, n_rows, n_columns, n_bins = table
    finder = CLIQUE(n_bins, threshold, min_rows=1, report="all")
    finder.fit(small_table(seed, n_rows, n_columns))
    seen = {}
    for k, units in enumerate(finder.units_):
        reached, waiting = {tuple(units[0])}, [tuple(units[0])]
        members = set(map(tuple, units.tolist()))
        while waiting:
            unit = waiting.pop()
            for j, step in product(range(len(unit)), (-1, 1)):
                near = (*unit[:j], unit[j] + step, *unit[j + 1 :])
                if near in members and near not in reached:
                    reached.add(near)
                    waiting.append(near)
        assert reached == members
        columns = tuple(finder.clustering_.cluster(k).features)
        for unit in members:
            for j, step in product(range(len(unit)), (-1, 1)):
                near = (columns, (*unit[:j], unit[j] + step, *unit[j + 1 :]))
                assert seen.get(near, k) == k
            seen[columns, unit] = k


@pytest.mark.parametrize("report", ["nonredundant", "maximal", "all"])
def test_supports_and_boxes_equal_a_direct_count(report):
    X, _ = boxes_in_noise(600, 6, 3, 3)
    finder = CLIQUE(8, 0.02, report=report).fit(X)
    assert finder.clustering_.n_clusters > 2
    for k, boxes in enumerate(finder.boxes_):
        cluster = finder.clustering_.cluster(k)
        values = X[:, cluster.features]
        inside = ((values[:, None] >= boxes[:, :, 0]) & (values[:, None] < boxes[:, :, 1])).all(-1)
        np.testing.assert_array_equal(np.flatnonzero(inside.any(axis=1)), cluster.rows)
        assert finder.unit_counts_[k].sum() == len(cluster.rows)


def test_the_l_of_the_paper_has_two_overlapping_boxes():
    boxes = minimal_boxes(np.array([[2, 1], [2, 2], [2, 3], [3, 1], [4, 1]]))
    assert sorted(boxes.tolist()) == [[[2, 3], [1, 4]], [[2, 5], [1, 2]]]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 30))
def test_descriptions_are_exact_maximal_and_minimal(seed, d, n_units):
    rng = np.random.default_rng(seed)
    units = {tuple(unit) for unit in rng.integers(0, 4, size=(n_units, d)).tolist()}
    boxes = minimal_boxes(np.array(sorted(units)))
    parts = [set(product(*(range(first, end) for first, end in box))) for box in boxes.tolist()]
    assert set.union(*parts) == units
    for k, box in enumerate(boxes):
        others = set().union(*(part for i, part in enumerate(parts) if i != k))
        assert not parts[k] <= others
        for j, (first, end) in enumerate(box.tolist()):
            for position in (first - 1, end):
                slab = [range(a, b) for a, b in box.tolist()]
                slab[j] = range(position, position + 1)
                assert not set(product(*slab)) <= units


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=25))
def test_pruning_minimises_the_code_length(coverage):
    ordered = sorted(coverage, reverse=True)

    def length(part):
        mean = int(np.ceil(sum(part) / len(part)))
        return np.log2(mean) + sum(np.log2(max(abs(x - mean), 1)) for x in part)

    def total(kept):
        return length(ordered[:kept]) + (length(ordered[kept:]) if kept < len(ordered) else 0)

    cuts = [
        k for k in range(1, len(ordered) + 1) if ordered[k - 1 : k + 1].count(ordered[k - 1]) < 2
    ]
    best = min(total(k) for k in cuts)
    kept = sum(x >= mdl_cut(np.array(coverage)) for x in coverage)
    assert kept in cuts
    assert total(kept) == pytest.approx(best)


def test_pruning_drops_the_subspaces_with_low_coverage():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 100, size=(2000, 9))
    X[:2] = [[0.0], [100.0]]
    X[2:950, 0:3] = rng.uniform(20, 30, size=(948, 3))
    X[950:1850, 3:6] = rng.uniform(50, 60, size=(900, 3))
    X[1850:2000, 6:9] = rng.uniform(70, 80, size=(150, 3))
    everything = CLIQUE(10, 0.06, report="all").fit(X)
    pruned = CLIQUE(10, 0.06, report="all", prune=True).fit(X)
    assert units_of(pruned) < units_of(everything)
    triples = [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    assert {columns for columns, _, _ in units_of(everything)} >= set(triples)
    kept = {columns for columns, _, _ in units_of(pruned) if len(columns) > 1}
    assert kept >= set(triples[:2])
    assert not any(set(columns) & {6, 7, 8} for columns in kept)


@pytest.mark.parametrize("seed", range(3))
def test_embedded_clusters_are_recovered(seed):
    X, truth = boxes_in_noise(seed=seed)
    found = CLIQUE().fit(X).clustering_
    assert {tuple(found.cluster(k).features) for k in range(len(found))} == {c for _, c in truth}
    for k in range(len(found)):
        cluster = found.cluster(k)
        members = next(rows for rows, columns in truth if columns == tuple(cluster.features))
        assert members <= set(cluster.rows.tolist())
        assert len(cluster.rows) <= 1.02 * len(members)


@pytest.mark.parametrize("dims", [3, 4, 6])
def test_defaults_find_planted_subspaces(dims):
    X, truth = planted_axes(500, 20, n_clusters=5, dims=dims, random_state=1)
    found = CLIQUE().fit(X).clustering_
    assert found.n_clusters == 5
    assert clustering_error(found, truth) < 0.25
    masks, planted = found.subspaces.masks, truth.subspaces.masks
    assert all((planted & ~mask).sum(axis=1).min() <= dims - 1 for mask in masks)
    assert all(any((mask <= true).all() for true in planted) for mask in masks)


def test_many_dimensions_do_not_explode():
    """All 2^16 parts of a subspace would be searched otherwise."""
    X, _ = planted_axes(300, 18, n_clusters=2, dims=16, spread=0.01, random_state=0)
    found = CLIQUE(density_threshold=0.02).fit(X).clustering_
    assert found.subspaces.masks.sum(axis=1).max() > 10


def test_columns_rows_and_units_of_measurement_do_not_matter():
    X, _ = boxes_in_noise(800, 8, 3, 3, seed=4)
    plain = CLIQUE().fit(X).clustering_
    columns = np.random.default_rng(0).permutation(8)
    moved = CLIQUE().fit(X[:, columns]).clustering_
    assert moved.embed(features=columns, shape=X.shape) == plain
    rows = np.random.default_rng(1).permutation(800)
    shuffled = CLIQUE().fit(X[rows]).clustering_
    assert shuffled.embed(rows=rows, shape=X.shape) == plain
    assert CLIQUE().fit(X * 2.0 ** np.arange(8)).clustering_ == plain


def test_fitting_twice_gives_the_same():
    X, _ = boxes_in_noise(500, 6, 3, 3)
    first, second = CLIQUE().fit(X), CLIQUE().fit(X)
    assert first.clustering_ == second.clustering_
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.interest_, second.interest_)


def test_noise_alone_has_no_clusters():
    X = np.random.default_rng(0).uniform(size=(1000, 10))
    finder = CLIQUE().fit(X)
    assert finder.clustering_.n_clusters == 0
    assert (finder.labels_ == -1).all()
    assert finder.boxes_ == []


def test_no_dense_bin_at_all():
    finder = CLIQUE(10, 0.9).fit(np.random.default_rng(0).uniform(size=(50, 3)))
    assert finder.clustering_.n_clusters == 0


def test_a_single_column_can_hold_a_cluster():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0, 100, 300), rng.uniform(40, 50, 300)])[:, None]
    X[:2, 0] = 0, 100
    finder = CLIQUE(density_threshold=0.2).fit(X)
    assert finder.clustering_.n_clusters == 1
    np.testing.assert_allclose(finder.boxes_[0], [[[40, 50]]])


def test_most_interesting_clusters_come_first():
    X, _ = boxes_in_noise(800, 8, 3, 3)
    every = CLIQUE().fit(X)
    assert (np.diff(every.interest_) <= 0).all()
    two = CLIQUE(max_clusters=2).fit(X)
    assert two.clustering_ == every.clustering_.select([0, 1])


def test_max_dims_is_kept():
    X, _ = boxes_in_noise(800, 8, 3, 4)
    found = CLIQUE(max_dims=2).fit(X).clustering_
    assert found.subspaces.masks.sum(axis=1).max() == 2


@pytest.mark.parametrize("report", ["nonredundant", "maximal", "all"])
def test_too_many_candidates_end_the_search_with_a_warning(report):
    X, _ = boxes_in_noise(400, 12, 2, 6)
    with pytest.warns(ConvergenceWarning, match="max_candidates"):
        finder = CLIQUE(report=report, max_candidates=3000).fit(X)
    assert finder.clustering_.n_clusters > 0


@pytest.mark.parametrize("report", ["nonredundant", "all"])
def test_time_ends_the_search_with_a_warning(report):
    X, _ = boxes_in_noise(2000, 30, 5, 5)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = CLIQUE(density_threshold=0.005, report=report, max_time=0.05).fit(X)
    assert finder.clustering_.shape == X.shape


def test_descriptions_name_the_features():
    pd = pytest.importorskip("pandas")
    X, _ = boxes_in_noise(600, 4, 1, 2, seed=2)
    table = pd.DataFrame(X, columns=list("abcd"))
    table.insert(0, "always", 1.0)
    with pytest.warns(ConstantFeatureWarning):
        finder = CLIQUE().fit(table)
    features = finder.clustering_.cluster(0).features
    assert 0 not in features
    names = [table.columns[f] for f in features]
    sides = finder.describe(0).split(" and ")
    assert [side.split()[2] for side in sides] == names


def test_progress_is_reported():
    steps = []
    CLIQUE(progress=steps.append).fit(boxes_in_noise(300, 5, 2, 2)[0])
    assert {step.message for step in steps} >= {"dense units", "choosing clusters"}


@pytest.mark.parametrize(
    "wrong", [{"n_bins": 1}, {"density_threshold": 1.0}, {"report": "some"}, {"max_clusters": 0}]
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CLIQUE(**wrong).fit(np.random.default_rng(0).uniform(size=(20, 2)))


def test_candidates_have_only_qualified_subsets():
    rng = np.random.default_rng(0)
    for _ in range(20):
        size = int(rng.integers(1, 4))
        every = np.array(list(combinations(range(7), size)), dtype=np.int32)
        sets = every[rng.random(len(every)) < 0.7]
        known = set(map(tuple, sets.tolist()))
        expected = [
            c
            for c in combinations(range(7), size + 1)
            if all(part in known for part in combinations(c, size))
        ]
        assert list(map(tuple, candidates(sets).tolist())) == expected
        assert n_joins(sets) >= len(expected)


def test_only_the_largest_subspaces_are_kept():
    subspaces = [(0,), (0, 1), (0, 1, 2), (1, 3), (2,), (3,)]
    assert only_largest(subspaces) == [(0, 1, 2), (1, 3)]
