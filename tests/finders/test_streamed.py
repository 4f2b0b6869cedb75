"""Finders on tables in files and chunks: the bits of the same table in memory."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from tests.remote import fitted
from tests.table_sources import sources, write_parquet

from subscape.arrays import row_blocks as blocks_module
from subscape.arrays.bitsets import pack
from subscape.arrays.blocks import as_blocks
from subscape.arrays.row_bits import rows_where
from subscape.core.errors import ConstantFeatureWarning, FewDistinctRowsWarning, SubscapeError
from subscape.datasets import planted_axes, planted_oriented, planted_views
from subscape.finders import (
    CLIQUE,
    DOC,
    HARP,
    LAC,
    MAFIA,
    ORCLUS,
    P3C,
    PROCLUS,
    FastDOC,
    KFlats,
    MineClus,
    SubKMeans,
)
from subscape.finders.axis.boxes.refinement import Box
from subscape.finders.oriented.kflats import descent as flat_descent
from subscape.measures import adjusted_rand_score


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks_module, "CELLS", 1500)


def boxes(n_rows=1500):
    X, truth = planted_axes(n_rows, 6, n_clusters=3, dims=3, noise=0.05, random_state=2)
    return (X + 5.0).astype(np.float32), truth


def planes():
    X, truth = planted_oriented(5, ((2, 600), (1, 500), (2, 400)), noise=0.0, random_state=1)
    return X.astype(np.float32), truth


def blobs():
    X, truths = planted_views(1500, 6, n_clusters=(3,), random_state=0)
    return (X + 5.0).astype(np.float32), truths[0]


BRIEF = {"random_state": 0, "search_rows": 400, "n_init": 4, "n_swaps": 3}

FINDERS = {
    "LAC": (LAC(3, random_state=0, search_rows=400), boxes),
    "LAC, paper": (
        LAC(3, random_state=0, search_rows=400, objective="lac", scale=None, max_iter=15), boxes,
    ),
    "LAC, soft": (LAC(3, random_state=0, search_rows=400, assignment="soft"), boxes),
    "LAC, all rows": (LAC(3, random_state=0, search_rows=None, n_init=3), boxes),
    "LAC, many clusters": (LAC(30, random_state=1, search_rows=40, n_init=1, max_iter=9), boxes),
    "KFlats": (KFlats(3, flat_dim=[2, 1, 2], **BRIEF), planes),
    "KFlats, noise": (KFlats(3, flat_dim=2, noise=0.1, **BRIEF), planes),
    "KFlats, points": (KFlats(3, flat_dim=0, **BRIEF), planes),
    "KFlats, all rows": (KFlats(3, random_state=0, search_rows=None, n_init=2), planes),
    "PROCLUS": (PROCLUS(3, random_state=0, search_rows=400), boxes),
    "PROCLUS, paper": (
        PROCLUS(3, avg_dims=3, random_state=0, search_rows=400, noise="spheres", refine=False),
        boxes,
    ),
    "PROCLUS, all rows": (PROCLUS(3, avg_dims=3, random_state=0, search_rows=None), boxes),
    "SubKMeans": (SubKMeans(3, random_state=0, search_rows=300, n_init=3), blobs),
    "SubKMeans, many clusters": (
        SubKMeans(25, random_state=1, search_rows=40, n_init=1, max_iter=5), blobs,
    ),
    "ORCLUS": (ORCLUS(3, subspace_dim=3, random_state=0, search_rows=400, n_init=1), planes),
    "ORCLUS, noise": (
        ORCLUS(3, subspace_dim=2, random_state=0, search_rows=200, n_init=1, noise=True), boxes,
    ),
    "DOC": (DOC(3, random_state=0, search_rows=400, max_samples=400), boxes),
    "DOC, paper": (
        DOC(3, random_state=0, search_rows=300, max_samples=200, refine=False, alpha=0.1), boxes,
    ),
    "FastDOC": (FastDOC(3, avg_dims=3, random_state=0, search_rows=400), boxes),
    "MineClus": (MineClus(3, random_state=0, search_rows=400), boxes),
    "MineClus, overlap": (MineClus(3, overlap=True, random_state=0, search_rows=400), boxes),
    "MineClus, all rows": (MineClus(3, random_state=0, search_rows=None), boxes),
    "CLIQUE": (CLIQUE(density_threshold=0.05), boxes),
    "CLIQUE, all": (CLIQUE(density_threshold=0.1, report="all", max_dims=3), boxes),
    "CLIQUE, pruned": (CLIQUE(density_threshold=0.05, report="maximal", prune=True), boxes),
    "MAFIA": (MAFIA(), boxes),
    "MAFIA, narrow": (MAFIA(max_dims=2, max_clusters=2), boxes),
    "MAFIA, paper": (MAFIA(report="maximal", alpha=1.5), boxes),
    "MAFIA, units": (MAFIA(refine=False), boxes),
    "P3C": (P3C(max_rounds=2, max_iter=8), boxes),
    "P3C, normal": (P3C(background="normal", max_rounds=1, max_iter=3, min_dims=1), boxes),
    "P3C, overlap": (P3C(overlap=True, background="uniform", max_iter=8), boxes),
    "HARP, in memory": (HARP(3, random_state=0), lambda: boxes(150)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("finder, planted", FINDERS.values(), ids=FINDERS)
def test_same_bits(finder, planted, tmp_path):
    X, _ = planted()
    expected = fitted(finder.fit(X))
    assert "labels_" in expected
    assert finder.clustering_.n_clusters
    memberships = finder.clustering_.memberships.toarray()
    for source in sources(X, tmp_path):
        assert fitted(finder.fit(source)) == expected
        np.testing.assert_array_equal(finder.clustering_.memberships.toarray(), memberships)


PREDICTING = ["LAC", "KFlats", "PROCLUS", "SubKMeans", "ORCLUS", "FastDOC", "MineClus"]


@pytest.mark.parametrize("name", PREDICTING)
def test_finds_and_predicts(name, tmp_path):
    finder, planted = FINDERS[name]
    X, truth = planted()
    path = write_parquet(X, tmp_path / "t.parquet", 100)
    finder.fit(path)
    inside = truth.labels() >= 0
    assert adjusted_rand_score(truth.labels()[inside], finder.labels_[inside]) > 0.9
    assert finder.clustering_.feature_names == tuple(f"c{j}" for j in range(X.shape[1]))
    if name == "ORCLUS":
        return  # it has no rule for new rows
    np.testing.assert_array_equal(finder.predict(path), finder.labels_)
    np.testing.assert_array_equal(finder.predict(da.from_array(X)), finder.labels_)


@pytest.mark.parametrize(
    "name", ["LAC", "KFlats", "PROCLUS", "SubKMeans", "MineClus", "CLIQUE", "MAFIA", "P3C"]
)
def test_constant_columns(name, tmp_path):
    finder, planted = FINDERS[name]
    X, _ = planted()
    X[:, 2] = 4.0
    with pytest.warns(ConstantFeatureWarning, match="1 constant column"):
        expected = fitted(finder.fit(X))
    for source in sources(X, tmp_path):
        with pytest.warns(ConstantFeatureWarning, match="1 constant column"):
            assert fitted(finder.fit(source)) == expected


def test_all_rows_identical(tmp_path):
    path = write_parquet(np.ones((900, 3)), tmp_path / "t.parquet", 100)
    one = (
        LAC(2),
        KFlats(2),
        PROCLUS(2),
        SubKMeans(2),
        ORCLUS(2),
        MineClus(2),
        CLIQUE(),
        MAFIA(),
        P3C(),
    )
    for finder in one:
        with pytest.warns(FewDistinctRowsWarning, match="all rows are identical"):
            finder.fit(path)
        assert finder.clustering_.n_clusters == 1


def test_few_distinct_rows(tmp_path):
    X = np.repeat([[0.0, 1.0], [5.0, 2.0]], 500, axis=0)
    path = write_parquet(X, tmp_path / "t.parquet", 100)
    with pytest.warns(FewDistinctRowsWarning, match="2 distinct rows"):
        labels = LAC(3, random_state=0).fit_predict(path)
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 500))


class TestBoxes:
    def test_units_are_those_of_the_table_in_memory(self):
        """Of bins that are not dense nothing is known, and nothing is needed."""
        X = np.random.default_rng(5).normal(size=(1500, 6))
        finder = CLIQUE(n_bins=7, density_threshold=0.02, report="all", max_dims=3)
        here, there = clone(finder).fit(X), clone(finder).fit(da.from_array(X, chunks=(97, 6)))
        assert len(here.units_) > 20
        assert len(here.units_) == len(there.units_)
        for ours, theirs in zip(there.units_, here.units_, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_missing_values_are_welcome(self, tmp_path):
        X, _ = boxes()
        X[::7, 4] = np.nan
        finder = MineClus(3, random_state=0, search_rows=400)
        expected = fitted(finder.fit(X))
        for source in sources(X, tmp_path):
            assert fitted(finder.fit(source)) == expected

    def test_boxes_with_few_rows_leave_theirs_to_later_ones(self, monkeypatch):
        """A box that is given up frees its rows, which may be enough for the next."""
        table = as_blocks(np.arange(100.0)[:, None])
        own = np.array([0])
        ends = [(0.0, 9.0), (5.0, 11.0), (6.0, 13.0), (50.0, 99.0)]
        asked = [Box(own, np.array([low]), np.array([high])) for low, high in ends]
        finder = MineClus(alpha=0.04)
        # The second has two rows of its own, and without it the third has four.
        assert finder._staying(table, asked) == [0, 2, 3]
        labels = finder._filled(table, [asked[i] for i in (0, 2, 3)]).labels()
        np.testing.assert_array_equal(np.flatnonzero(labels == 1), [10, 11, 12, 13])
        assert MineClus(alpha=0.04, overlap=True)._staying(table, asked) == [0, 1, 2, 3]

    def test_rows_of_any_number_of_bits(self):
        X = np.random.default_rng(0).normal(size=(1003, 3))
        there = as_blocks(da.from_array(X, chunks=(97, 3)))
        found = rows_where(there, lambda block: block.T > 0.3, 3)
        np.testing.assert_array_equal(found, pack(X.T > 0.3))
        assert rows_where(there, lambda block: block.T[:0] > 0, 0).shape == (0, 16)


class TestSettling:
    def test_cost_is_no_higher_than_from_the_sample(self):
        X, _ = planes()
        whole = KFlats(3, flat_dim=[2, 1, 2], random_state=0, search_rows=None).fit(X)
        sampled = KFlats(3, flat_dim=[2, 1, 2], random_state=0, search_rows=200).fit(X)
        np.testing.assert_allclose(sampled.inertia_, whole.inertia_, rtol=1e-6)
        for ours, theirs in zip(
            sampled.clustering_.subspaces.bases, whole.clustering_.subspaces.bases, strict=True
        ):
            # The same subspaces: the sines of the angles between them vanish.
            assert np.linalg.norm(ours - theirs @ (theirs.T @ ours)) < 1e-6

    def test_wide_tables_keep_the_flats_of_the_sample(self, monkeypatch):
        X, truth = planes()
        monkeypatch.setattr(flat_descent, "WIDEST_SETTLED", 3)
        finder = KFlats(3, flat_dim=[2, 1, 2], random_state=0, search_rows=400).fit(X)
        assert adjusted_rand_score(truth.labels(), finder.labels_) > 0.9

    def test_empty_flat_starts_anew(self):
        X = np.vstack([np.zeros((700, 2)), np.full((700, 2), 9.0)]) + np.random.default_rng(
            0
        ).normal(0, 0.1, (1400, 2))
        X -= X.mean(axis=0)
        far = flat_descent.Flat(np.full(2, 1e3), np.zeros((2, 0)))
        near = flat_descent.Flat(X[0], np.zeros((2, 0)))
        start = flat_descent.FlatsFit([near, far], np.zeros(0, np.int64), 0.0, 1)
        watch = flat_descent.Watch()
        fit = flat_descent.finish_on_all_rows(X, X[::7], start, [0, 0], 0, 50, watch)
        np.testing.assert_array_equal(np.bincount(fit.labels), [700, 700])

    @pytest.mark.parametrize("seed", range(3))
    def test_flats_are_those_of_all_rows(self, seed):
        """Many rows change in every pass: sums of changes are as good as sums of all rows."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 5)) ** 3
        X -= X.mean(axis=0)
        dims = [2, 1, 2]
        flats = [flat_descent.seed_flat(X, dim, rng) for dim in dims]
        start = flat_descent.FlatsFit(flats, np.zeros(0, np.int64), 0.0, 0)
        fit = flat_descent.finish_on_all_rows(X, X[::3], start, dims, 0, 50, flat_descent.Watch())
        whole = flat_descent.descend(flat_descent.HeldFlatRows(X, dims, 0), flats, 50)
        assert fit.n_iter > 3
        np.testing.assert_array_equal(fit.labels, whole.labels)
        for ours, theirs in zip(fit.flats, whole.flats, strict=True):
            np.testing.assert_allclose(ours.centre, theirs.centre, atol=1e-9)
            np.testing.assert_allclose(
                ours.basis @ ours.basis.T, theirs.basis @ theirs.basis.T, atol=1e-8
            )

    def test_k_means_on_all_rows_is_that_from_the_sample_centres(self):
        X, _ = blobs()
        sampled = SubKMeans(3, random_state=0, search_rows=200).fit(X)
        whole = SubKMeans(3, random_state=0, search_rows=None).fit(X)
        np.testing.assert_array_equal(sampled.labels_, whole.labels_)
        assert sampled.inertia_ == pytest.approx(whole.inertia_, rel=1e-9)
        np.testing.assert_allclose(sampled.cluster_centers_, whole.cluster_centers_, rtol=1e-6)
        projectors = [each.components_ @ each.components_.T for each in (sampled, whole)]
        np.testing.assert_allclose(*projectors, atol=1e-6)

    def test_orclus_on_all_rows_fits_them(self):
        X, truth = planted_oriented(5, ((2, 600), (2, 500), (2, 400)), noise=0.0, random_state=1)
        options = {"subspace_dim": 3, "random_state": 0}
        sampled = ORCLUS(3, search_rows=300, **options).fit(X)
        whole = ORCLUS(3, search_rows=None, **options).fit(X)
        assert adjusted_rand_score(truth.labels(), sampled.labels_) > 0.98
        # A row where two planes meet may go either way.
        assert (sampled.labels_ != whole.labels_).sum() <= 2
        for name in ("energy_", "sparsity_coefficient_"):
            assert getattr(sampled, name) == pytest.approx(getattr(whole, name), rel=1e-3)
        for ours, theirs in zip(
            sampled.clustering_.subspaces.bases, whole.clustering_.subspaces.bases, strict=True
        ):
            np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-3)


class TestRefusals:
    @pytest.mark.parametrize(
        "finder", [LAC(3), KFlats(3), PROCLUS(3), SubKMeans(3), ORCLUS(3), MAFIA(), CLIQUE(), P3C()]
    )
    def test_bad_values(self, finder, tmp_path):
        X, _ = boxes()
        X[1200, 4] = np.nan
        for source in sources(X, tmp_path):
            with pytest.raises(SubscapeError, match=r"NaN .* in '(c4|column 4)'"):
                finder.fit(source)

    def test_predict_of_other_columns(self, tmp_path):
        X, _ = boxes()
        finder = LAC(3, random_state=0).fit(write_parquet(X, tmp_path / "t.parquet", 100))
        with pytest.raises(SubscapeError, match="5 features, but LAC was fitted with 6"):
            finder.predict(da.from_array(X[:, :5]))
        other = write_parquet(X, tmp_path / "u.parquet", 100, list("abcdef"))
        with pytest.raises(SubscapeError, match="columns are not those"):
            finder.predict(other)

    def test_more_clusters_than_rows(self):
        with pytest.raises(SubscapeError, match="more than the 4 rows"):
            LAC(5).fit(da.zeros((4, 2)))
