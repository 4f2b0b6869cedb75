"""The density family: hills, valleys between given groups, places, tables without valleys."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from subscape.finders.density.density_tree import DensityTree, best_scale, hills
from subscape.finders.density.graph import density_graph, nearest, scales, spread_ties
from subscape.finders.density.subspaces import density_views, screened_pairs, stands_out
from subscape.finders.density.valleys import merge_without_valley, valley_score
from subscape.validation.valleys import CurveNull, latent_trait, valley_test


def blobs(seed, n=600, sep=4.0, dims=2):
    rng = np.random.default_rng(seed)
    centres = np.zeros((3, dims))
    centres[:, :2] = sep * np.array([[0, 0], [1, 0], [0.5, 3**0.5 / 2]])
    y = np.arange(n) % 3
    return centres[y] + rng.normal(size=(n, dims)), y


def parabola(seed, n=500):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    return np.column_stack([t, t**2]) + rng.normal(0, 0.06, (n, 2))


class TestGraph:
    @pytest.mark.parametrize("dims", [1, 2, 5, 20])
    @pytest.mark.parametrize("n", [30, 900])
    def test_nearest_rows_are_those_of_all_distances(self, dims, n):
        X = np.random.default_rng(0).normal(size=(n, dims))
        apart = np.linalg.norm(X[:, None] - X, axis=-1)
        np.fill_diagonal(apart, np.inf)
        distances, places = nearest(X, 7)
        assert np.allclose(distances, np.sort(apart, axis=1)[:, :7])
        assert np.allclose(np.take_along_axis(apart, places, axis=1), distances)

    def test_equal_rows(self):
        X = np.repeat(np.arange(4.0), 50)[:, None]
        assert np.isfinite(density_graph(X).field(5).values).all()
        assert best_scale(density_graph(X)).labels.max() == 0

    def test_log_densities_scatter_as_they_should_along_curves_and_in_clouds(self):
        rng = np.random.default_rng(0)
        t = rng.random(4000)
        curve = np.column_stack([np.cos(6.28 * t), np.sin(6.28 * t)])
        for X, inner in ((curve, slice(None)), (rng.random((4000, 2)), None)):
            values = density_graph(X).field(20).values
            if inner is None:
                values = values[(np.abs(X - 0.5) < 0.4).all(axis=1)]
            assert abs(values.std() * np.sqrt(20) - 1) < 0.25

    def test_all_is_linked(self):
        X = np.concatenate([np.random.default_rng(0).normal(9 * c, 1, (40, 2)) for c in range(6)])
        graph = density_graph(X)
        assert graph.n_bridges >= 5
        assert len(hills(graph, graph.field(5)).tree) >= 6

    def test_gaps_of_a_column_with_ties_stay(self):
        column = np.r_[np.repeat(np.arange(10.0), 5), np.repeat(np.arange(90.0, 100.0), 5)]
        spread = spread_ties(column[:, None]).ravel()
        assert spread[:50].max() < 10 and spread[50:].min() > 89

    def test_scales(self):
        for n in (3, 10, 150, 5000):
            assert all(a < b for a, b in zip(scales(n), scales(n)[1:], strict=False))
            assert scales(n)[-1] < n


class TestTree:
    def test_shapes(self):
        for seed in range(3):
            for X, y in (
                make_moons(500, noise=0.06, random_state=seed),
                make_circles(500, factor=0.5, noise=0.05, random_state=seed),
            ):
                tree = DensityTree().fit(X)
                assert adjusted_rand_score(y, tree.labels_) > 0.95

    def test_clouds(self):
        X, y = blobs(0, sep=5)
        tree = DensityTree().fit(X)
        assert tree.labels_.max() == 2 and adjusted_rand_score(y, tree.labels_) > 0.9
        assert tree.valleys_.parted

    @pytest.mark.parametrize("dims", [1, 2, 5, 10])
    def test_one_cloud(self, dims):
        X = np.random.default_rng(1).normal(size=(400, dims))
        assert DensityTree().fit(X).labels_.max() == 0

    def test_tree_has_each_hill_once_and_ends_at_the_highest(self):
        X, _ = make_moons(300, noise=0.06, random_state=0)
        tree = DensityTree().fit(X).tree_
        tops = [hill.top for hill in tree]
        assert len(set(tops)) == len(tops)
        assert tree[-1].into == -1 and tree[-1].peak == max(hill.peak for hill in tree)
        assert all(hill.peak >= hill.saddle for hill in tree)
        saddles = [hill.saddle for hill in tree]
        assert saddles == sorted(saddles, reverse=True)

    def test_scale_and_order_of_rows_do_not_matter(self):
        X, _ = make_moons(300, noise=0.06, random_state=1)
        order = np.random.default_rng(0).permutation(300)
        labels = DensityTree().fit(X).labels_
        assert adjusted_rand_score(DensityTree().fit(7 + 1e3 * X).labels_, labels) == 1
        assert adjusted_rand_score(DensityTree().fit(X[order]).labels_, labels[order]) == 1

    def test_noise_and_prediction(self):
        X, _ = blobs(0, sep=5)
        tree = DensityTree(noise=True).fit(X)
        assert set(np.unique(tree.labels_)) == {-1, 0, 1, 2}
        tree = DensityTree().fit(X)
        assert (tree.predict(X) == tree.labels_).all()

    @pytest.mark.parametrize("n", [2, 3, 4, 7])
    def test_few_rows(self, n):
        X = np.random.default_rng(0).normal(size=(n, 2))
        assert DensityTree().fit(X).labels_.shape == (n,)


class TestValleys:
    def test_true_groups_gain_and_cuts_do_not(self):
        X, y = make_moons(500, noise=0.06, random_state=0)
        cut = (X[:, 0] > 0.5).astype(int)
        assert valley_score(X, y).gain > 5 * valley_score(X, cut).gain
        assert valley_score(X, y).parted and not valley_score(X, cut).parted

    def test_no_group_and_one_group(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        assert valley_score(X, np.zeros(50, int)).gain == 0
        assert valley_score(X, np.full(50, -1)).gain == 0

    def test_few_strays_and_noise_change_little(self):
        X, y = make_moons(500, noise=0.06, random_state=0)
        rng = np.random.default_rng(0)
        whole = valley_score(X, y).gain
        strays = y.copy()
        strays[rng.choice(500, 5, replace=False)] ^= 1
        noisy = np.where(rng.random(500) < 0.1, -1, y)
        assert valley_score(X, strays).gain > whole / 2
        assert valley_score(X, noisy).gain > whole / 2

    def test_in_columns_and_directions(self):
        X, y = make_moons(400, noise=0.06, random_state=0)
        wide = np.c_[np.random.default_rng(0).normal(size=(400, 6)), X]
        seen = valley_score(wide, y, columns=[6, 7])
        along = valley_score(wide, y, directions=np.eye(8)[:, 6:])
        assert seen.gain == along.gain > valley_score(wide, y).gain

    @pytest.mark.parametrize("seed", range(3))
    def test_pieces_of_a_curve_become_one(self, seed):
        X = parabola(seed)
        pieces = GaussianMixture(6, random_state=seed).fit_predict(X)
        merged = merge_without_valley(X, pieces)
        assert merged.labels.max() == 0 and len(merged.order) == 5

    @pytest.mark.parametrize("seed", range(3))
    def test_pieces_of_two_moons_become_two(self, seed):
        X, y = make_moons(500, noise=0.06, random_state=seed)
        pieces = 3 * y + np.digitize(X[:, 0], [-0.3, 0.5, 1.2]).clip(0, 2)
        merged = merge_without_valley(X, pieces)
        assert adjusted_rand_score(y, merged.labels) == 1

    @pytest.mark.parametrize("seed", range(3))
    def test_clouds_that_touch_stay(self, seed):
        X, _ = blobs(seed)
        labels = KMeans(3, n_init=3, random_state=0).fit_predict(X)
        assert merge_without_valley(X, labels).labels.max() == 2

    def test_noise_stays(self):
        X, y = blobs(0, sep=8)
        y[:20] = -1
        merged = merge_without_valley(X, y)
        assert (merged.labels[:20] == -1).all() and merged.labels.max() == 2


class TestPlaces:
    @pytest.mark.parametrize("shape", ["moons", "circles"])
    def test_among_columns_of_noise(self, shape):
        make = {"moons": make_moons, "circles": make_circles}[shape]
        kept = {"moons": {}, "circles": {"factor": 0.5}}[shape]
        X, y = make(500, noise=0.05, random_state=0, **kept)
        noise = np.random.default_rng(0).normal(size=(500, 8))
        (view,) = density_views(np.c_[noise, X / X.std(axis=0)])
        assert view.place.columns == (8, 9)
        assert adjusted_rand_score(y, view.labels) > 0.95

    def test_many_columns(self):
        X, _ = make_circles(400, factor=0.5, noise=0.05, random_state=0)
        rng = np.random.default_rng(0)
        wide = np.c_[rng.normal(size=(400, 38)) + rng.normal(size=(400, 1)), X]
        assert (38, 39) in screened_pairs(wide)[:3]

    def test_one_column(self):
        rng = np.random.default_rng(0)
        X = np.r_[rng.normal(size=150), rng.normal(7, 1, 150)][:, None]
        assert density_views(X)[0].labels.max() == 1

    def test_constant_column(self):
        X = np.c_[blobs(0, sep=7)[0], np.ones(600)]
        assert density_views(X)[0].labels.max() == 2


class TestNulls:
    def test_curve_keeps_shape_spread_and_correlations(self):
        X = parabola(0)
        drawn = CurveNull(X).draw(1)
        assert drawn.shape == X.shape
        assert np.allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.1)
        assert np.allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.2)
        off = np.abs(drawn[:, 1] - drawn[:, 0] ** 2)
        assert np.quantile(off, 0.9) < 0.25

    def test_curve_through_two_moons_has_no_deep_valley(self):
        X, y = make_moons(500, noise=0.06, random_state=0)
        null, gain = CurveNull(X), valley_score(X, y).gain
        for seed in range(3):
            assert best_scale(density_graph(null.draw(seed))).valleys.gain < gain / 3

    def test_ring(self):
        rng = np.random.default_rng(0)
        angle = rng.uniform(0, 2 * np.pi, 400)
        X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.05, (400, 2))
        drawn = CurveNull(X, closed=True).draw(0)
        assert np.linalg.norm(drawn, axis=1).std() < 0.15

    def test_trait_runs_along_a_spiral(self):
        t = np.linspace(1, 8, 400)
        spiral = np.column_stack([t * np.cos(t), t * np.sin(t)])
        rank = np.argsort(np.argsort(latent_trait(spiral)))
        assert abs(np.corrcoef(rank, np.arange(400))[0, 1]) > 0.999

    def test_same_seed_same_table(self):
        null = CurveNull(parabola(0))
        assert (null.draw(3) == null.draw(3)).all() and (null.draw(3) != null.draw(4)).any()

    def test_groups_are_significant_and_a_cloud_is_not(self):
        X, _ = make_moons(300, noise=0.06, random_state=0)
        assert valley_test(X, n_null=39, random_state=0).p_value < 0.01
        cloud = np.random.default_rng(0).normal(size=(300, 3))
        assert valley_test(cloud, n_null=19, alpha=0.01, random_state=0).p_value > 0.01


class TestFirstImpression:
    def test_the_deeper_the_valley_the_more_a_hill_stands_out(self):
        rng = np.random.default_rng(0)
        cloud = rng.normal(size=(150, 2))
        apart = [stands_out(np.r_[cloud, cloud + np.array([gap, 0])]) for gap in (0, 3, 5, 8)]
        assert apart == sorted(apart) and apart[3] > apart[1] + 0.1
        # The smaller hill counts by its rows: a tenth of them stands out less than a half.
        few = stands_out(np.r_[cloud, cloud[:15] + np.array([8, 0])])
        assert apart[0] < few < apart[3]

    def test_neither_scale_nor_order_matters(self):
        X, _ = blobs(1, n=120)
        known = stands_out(X)
        assert stands_out(4 * X + 3) == pytest.approx(known, abs=1e-9)
        assert stands_out(X[::-1]) == pytest.approx(known, abs=1e-9)

    def test_close_groups_are_seen_at_the_finer_scale(self):
        """A group of nine rows is a hill among eight neighbours, and none among forty."""
        rng = np.random.default_rng(3)
        small = rng.normal(size=(9, 2)) * 0.05 + np.array([20, 0])
        alone = rng.normal(size=(400, 2))
        assert stands_out(np.r_[alone, small]) > 0 == stands_out(alone)

    @pytest.mark.parametrize("n", [4, 5, 8, 9])
    def test_a_few_rows_have_fewer_neighbours(self, n):
        points = np.column_stack([np.arange(float(n)) ** 2, np.zeros(n)])
        assert np.isfinite(stands_out(points)) and stands_out(points) >= 0
