"""Finders on tables in files and chunks: the bits of the same table in memory."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from tests.table_sources import sources, write_parquet

from subscape.arrays import row_blocks as blocks_module
from subscape.core.errors import ConstantFeatureWarning, FewDistinctRowsWarning, SubscapeError
from subscape.datasets import planted_axes, planted_oriented, planted_views
from subscape.finders import LAC, MAFIA, ORCLUS, PROCLUS, KFlats, SubKMeans
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
        PROCLUS(3, avg_dims=3, random_state=0, search_rows=400, outliers="spheres", refine=False),
        boxes,
    ),
    "PROCLUS, all rows": (PROCLUS(3, avg_dims=3, random_state=0, search_rows=None), boxes),
    "SubKMeans": (SubKMeans(3, random_state=0, search_rows=300, n_init=3), blobs),
    "SubKMeans, many clusters": (
        SubKMeans(25, random_state=1, search_rows=40, n_init=1, max_iter=5), blobs,
    ),
    "ORCLUS": (ORCLUS(3, subspace_dim=3, random_state=0, search_rows=400, n_init=1), planes),
    "ORCLUS, outliers": (
        ORCLUS(3, subspace_dim=2, random_state=0, search_rows=200, n_init=1, outliers=True), boxes,
    ),
    "MAFIA, in memory": (MAFIA(), boxes),
}  # fmt: skip


def fitted(finder) -> dict[str, bytes]:
    """What was fitted, to the last bit."""
    numbers = {
        name: np.asarray(value).tobytes()
        for name, value in vars(finder).items()
        if name.endswith("_") and isinstance(value, (np.ndarray, float, int, list))
    }
    numbers.pop("feature_names_in_", None)
    return numbers


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("finder, planted", FINDERS.values(), ids=FINDERS)
def test_same_bits(finder, planted, tmp_path):
    X, _ = planted()
    expected = fitted(finder.fit(X))
    assert "labels_" in expected
    memberships = finder.clustering_.memberships.toarray()
    for source in sources(X, tmp_path):
        assert fitted(finder.fit(source)) == expected
        np.testing.assert_array_equal(finder.clustering_.memberships.toarray(), memberships)


@pytest.mark.parametrize("name", ["LAC", "KFlats", "PROCLUS", "SubKMeans", "ORCLUS"])
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


@pytest.mark.parametrize("name", ["LAC", "KFlats", "PROCLUS", "SubKMeans"])
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
    for finder in (LAC(2), KFlats(2), PROCLUS(2), SubKMeans(2), ORCLUS(2)):
        with pytest.warns(FewDistinctRowsWarning, match="all rows are identical"):
            finder.fit(path)
        assert finder.clustering_.n_clusters == 1


def test_few_distinct_rows(tmp_path):
    X = np.repeat([[0.0, 1.0], [5.0, 2.0]], 500, axis=0)
    path = write_parquet(X, tmp_path / "t.parquet", 100)
    with pytest.warns(FewDistinctRowsWarning, match="2 distinct rows"):
        labels = LAC(3, random_state=0).fit_predict(path)
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 500))


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
        start = flat_descent.Fit([near, far], np.zeros(0, np.int64), 0.0, 1)
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
        start = flat_descent.Fit(flats, np.zeros(0, np.int64), 0.0, 0)
        fit = flat_descent.finish_on_all_rows(X, X[::3], start, dims, 0, 50, flat_descent.Watch())
        whole = flat_descent.descend(X, flats, dims, 0, 50)
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
        "finder", [LAC(3), KFlats(3), PROCLUS(3), SubKMeans(3), ORCLUS(3), MAFIA()]
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
