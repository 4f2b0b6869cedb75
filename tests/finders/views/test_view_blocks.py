"""NrKMeans on long tables, block by block: the bits of the same table in memory."""

from __future__ import annotations

import tracemalloc

import dask.array as da
import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning
from tests.table_sources import sources, write_parquet

from subscape.arrays import row_blocks as blocks_module
from subscape.arrays.blocks import as_blocks
from subscape.core.errors import ConstantFeatureWarning, FewDistinctRowsWarning, SubscapeError
from subscape.datasets import planted_views
from subscape.finders import AutoNR, NrKMeans
from subscape.finders.views.nrkmeans.finish import mark_outliers
from subscape.finders.views.nrkmeans.request import known_directions
from subscape.finders.views.nrkmeans.rows import ArrayRows, BlockRows
from subscape.finders.views.nrkmeans.steps import iterate
from subscape.measures import adjusted_rand_score

BRIEF = {"n_init": 3, "n_escapes": 0, "search_rows": 200, "random_state": 0}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks_module, "CELLS", 1500)


@pytest.fixture(scope="module")
def views():
    X, truths = planted_views(1500, 8, n_clusters=(4, 3), random_state=0)
    return X + 5.0, truths


def fitted(finder) -> dict[str, list[bytes]]:
    """What was fitted, to the last bit."""
    numbers = {}
    for name, value in vars(finder).items():
        if name.endswith("_") and not name.startswith(("clustering", "given", "feature_names")):
            parts = value if isinstance(value, tuple) else [value]
            numbers[name] = [np.asarray(part).tobytes() for part in parts]
    return numbers


OPTIONS = {
    "plain": {},
    "in float64": {},
    "noise": {"noise": True},
    "all dimensions": {"noise_space": "rank"},
    "no noise space": {"n_clusters": (4, 3)},
    "one view": {"n_clusters": 4},
    "one cluster": {"n_clusters": 1},
    "all rows in memory": {"search_rows": None},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_same_bits(views, name, tmp_path):
    X = views[0].astype(np.float64 if name == "in float64" else np.float32)
    finder = NrKMeans(**({"n_clusters": (4, 3, 1)} | BRIEF | OPTIONS[name]))
    expected = fitted(finder.fit(X))
    assert {"label_matrix_", "components_", "cluster_centers_", "inertia_"} <= expected.keys()
    for source in sources(X, tmp_path):
        assert fitted(finder.fit(source)) == expected


def test_same_bits_with_given_clusterings(views, tmp_path):
    X, truths = views
    finder = NrKMeans((3, 1), **BRIEF)
    expected = fitted(finder.fit(X, given=truths[0]))
    assert adjusted_rand_score(truths[1], finder.labels_) > 0.95
    for source in sources(X, tmp_path):
        assert fitted(finder.fit(source, given=truths[0])) == expected


def test_same_bits_for_any_number_of_jobs(views, tmp_path):
    path = write_parquet(views[0], tmp_path / "t.parquet", 100)
    one, two = (NrKMeans((4, 3, 1), n_jobs=jobs, **BRIEF).fit(path) for jobs in (1, 2))
    assert fitted(one) == fitted(two)


def test_the_views_that_the_whole_table_in_memory_has(views, tmp_path):
    X, truths = views
    whole = NrKMeans((4, 3, 1), random_state=0, search_rows=None).fit(X)
    found = NrKMeans((4, 3, 1), random_state=0, search_rows=400).fit(
        write_parquet(X, tmp_path / "t.parquet", 100)
    )
    np.testing.assert_array_equal(found.label_matrix_, whole.label_matrix_)
    assert found.label_matrix_.dtype == np.int32
    np.testing.assert_array_equal(found.dims_, whole.dims_)
    # The steps end with the labels, a little before the directions stand still.
    assert found.inertia_ == pytest.approx(whole.inertia_, rel=1e-3)
    for j, truth in enumerate(truths):
        assert adjusted_rand_score(truth, found.clusterings_[j]) > 0.95
        angles = subspace_angles(found.components_[j], whole.components_[j])
        assert angles.max() < 0.1
        np.testing.assert_allclose(found.cluster_centers_[j], whole.cluster_centers_[j], rtol=1e-9)
        np.testing.assert_allclose(found.importances_[j], whole.importances_[j], rtol=0.05)


def test_new_rows_from_every_source(views, tmp_path):
    X, _ = views
    finder = NrKMeans((4, 3, 1), **BRIEF).fit(X)
    np.testing.assert_array_equal(finder.predict(X, "all"), finder.label_matrix_)
    for source in sources(X, tmp_path):
        np.testing.assert_array_equal(finder.predict(source, "all"), finder.label_matrix_)
        for view in (1, "noise", None):
            expected = finder.transform(X, view)
            np.testing.assert_allclose(finder.transform(source, view), expected, atol=1e-12)


def test_an_offset_costs_no_precision(views):
    X = np.round(views[0] * 2**8) / 2**8
    finder = NrKMeans((4, 3, 1), **BRIEF)
    near, far = (finder.fit(X + offset).label_matrix_ for offset in (0.0, 2.0**20))
    np.testing.assert_array_equal(near, far)
    single = finder.fit((X + 2.0**14).astype(np.float32)).label_matrix_
    assert (single == near).mean() > 0.999


def test_constant_columns(views, tmp_path):
    X = np.insert(views[0], 3, 4.0, axis=1)
    finder = NrKMeans((4, 3, 1), **BRIEF)
    with pytest.warns(ConstantFeatureWarning, match="1 constant column"):
        expected = fitted(finder.fit(X))
    assert all((basis[3] == 0).all() for basis in finder.components_)
    np.testing.assert_allclose(finder.cluster_centers_[0][:, 3], 4.0)
    for source in sources(X, tmp_path):
        with pytest.warns(ConstantFeatureWarning, match="1 constant column"):
            assert fitted(finder.fit(source)) == expected


def test_few_distinct_rows(tmp_path):
    rows = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 7.0]])
    X = rows[np.arange(3000) % 3]
    path = write_parquet(X, tmp_path / "t.parquet", 100)
    with pytest.warns(FewDistinctRowsWarning, match="3 distinct rows"):
        finder = NrKMeans((5, 1), **BRIEF).fit(path)
    np.testing.assert_array_equal(finder.labels_, np.arange(3000) % 3)
    with pytest.warns(FewDistinctRowsWarning, match="all rows are identical"):
        NrKMeans((2, 1)).fit(write_parquet(np.ones((3000, 2)), tmp_path / "u.parquet", 100))


def test_time_limit(views):
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = NrKMeans((4, 3, 1), **BRIEF, max_time=1e-9).fit(da.from_array(views[0]))
    assert finder.label_matrix_.shape == (1500, 2) and (finder.label_matrix_ >= 0).all()


def test_more_columns_than_rows_are_read_into_memory(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 80))
    X[:30, :5] += 9.0
    path = write_parquet(X, tmp_path / "t.parquet", 10)
    finder = NrKMeans((2, 1), n_init=2, n_escapes=0, search_rows=20, random_state=0).fit(path)
    np.testing.assert_array_equal(finder.labels_, np.repeat([0, 1], 30))


def test_autonr_reads_sources_into_memory(views, tmp_path):
    X, truths = views
    finder = AutoNR(random_state=0).fit(write_parquet(X, tmp_path / "t.parquet", 100))
    assert adjusted_rand_score(truths[0], finder.clusterings_[0]) > 0.9


def test_memory_is_that_of_blocks_and_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_module, "CELLS", 2**15)
    X, _ = planted_views(60_000, 40, n_clusters=(3, 2), random_state=0)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    tracemalloc.start()
    finder = NrKMeans((3, 2, 1), n_init=2, n_escapes=0, random_state=0).fit(mapped)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert finder.label_matrix_.shape == (60_000, 2)
    # The file has 9.6 MB, a float64 copy would have 19; labels and memberships take the most.
    assert peak < 7e6


class TestSteps:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("noise", [True, False])
    def test_those_of_the_whole_table(self, seed, noise):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 6)) ** 3
        X -= X.mean(axis=0)
        turned = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        bases = (turned[:, :3], turned[:, 3:])
        centres = tuple(rng.normal(size=(size, 6)) for size in (4, 3))
        centres[0][0] = 100.0  # nobody's nearest: refilled in the first step
        expected = iterate(X, bases, centres, noise, 1e-9, 12)
        found = iterate(BlockRows(as_blocks(X)), bases, centres, noise, 1e-9, 12)
        np.testing.assert_array_equal(found.labels, expected.labels)
        assert found.labels.dtype == np.int8
        assert (found.n_iter, found.converged) == (expected.n_iter, expected.converged)
        assert found.explained == pytest.approx(expected.explained, rel=1e-9)

    def test_a_cluster_that_runs_empty_again_and_again_ends_the_steps(self):
        # Two kinds of rows, three clusters: the third is refilled with the same row every time.
        X = np.repeat([[-1.0, 0.0], [1.0, 0.0]], 300, axis=0)
        X[0] = [-1.0, 1e-3]
        X -= X.mean(axis=0)
        start = (np.eye(2),), (np.array([[-1.0, 0.0], [1.0, 0.0], [50.0, 0.0]]),)
        expected = iterate(X, *start, False, 0.0, 30)
        found = iterate(BlockRows(as_blocks(X)), *start, False, 0.0, 30)
        np.testing.assert_array_equal(found.labels, expected.labels)
        assert found.converged and found.n_iter == expected.n_iter

    def test_what_else_takes_passes(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(700, 5))
        X[:350] += 6.0
        X[9] = 500.0
        X -= X.mean(axis=0)
        table = BlockRows(as_blocks(X))
        bases = (np.eye(5)[:, :2], np.eye(5)[:, 2:3])
        centres = X[[0, 400]], X[[1, 500]]
        solution = iterate(X, bases, centres, True, 1e-9, 20)
        both = table.squares_along(bases), ArrayRows(X).squares_along(bases)
        for ours, theirs in zip(*both, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        marked = mark_outliers(X, solution)
        assert (marked[9] == -1).any() and (marked >= 0).mean() > 0.99
        np.testing.assert_array_equal(mark_outliers(table, solution), marked)
        assert table.square == pytest.approx(np.square(X).sum(), rel=1e-12)
        labels = np.repeat([0, 1], 350)
        labels[9] = -1
        known = known_directions(table, labels)
        assert known.shape == (5, 1)
        assert subspace_angles(known, np.ones((5, 1)))[0] < 0.1


class TestRefusals:
    def test_bad_values(self, views, tmp_path):
        X = views[0].copy()
        X[1200, 4] = np.nan
        for source in sources(X, tmp_path):
            with pytest.raises(SubscapeError, match=r"NaN .* in '(c4|column 4)'"):
                NrKMeans((4, 3, 1)).fit(source)

    def test_other_columns(self, views, tmp_path):
        X, _ = views
        finder = NrKMeans((4, 3, 1), **BRIEF).fit(write_parquet(X, tmp_path / "t.parquet", 100))
        with pytest.raises(SubscapeError, match="5 features, but NrKMeans was fitted with 8"):
            finder.predict(da.from_array(X[:, :5]))
        other = write_parquet(X, tmp_path / "u.parquet", 100, list("abcdefgh"))
        with pytest.raises(SubscapeError, match="columns are not those"):
            finder.transform(other)

    def test_more_clusters_than_rows(self):
        with pytest.raises(SubscapeError, match="more than the 4 rows"):
            NrKMeans((5, 1)).fit(da.zeros((4, 2)))
