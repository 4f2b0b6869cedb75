"""SRE, encode and decode: against plain principal components, and what must not change them."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from subscape import OrientedSubspaces, SubspaceClustering, Table
from subscape.core.errors import EmptyClusteringError, ShapeMismatchError
from subscape.datasets import planted_axes, planted_oriented
from subscape.measures import decode, encode, feature_losses, loss_by_dim, sre
from subscape.measures.flats import fitting as fitted_flats
from subscape.measures.flats import fitting as part_sums

seeds = st.integers(0, 10_000)


def random_rotation(p, rng):
    return np.linalg.qr(rng.normal(size=(p, p)))[0]


def random_case(seed):
    """A table with scales and offsets of its own, an oriented clustering with noise."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 40)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p) * 20
    codes = np.unique(rng.integers(-1, 4, n), return_inverse=True)[1] - 1
    bases = [random_rotation(p, rng)[:, : rng.integers(0, p + 1)] for _ in range(codes.max() + 1)]
    spaces = OrientedSubspaces(bases, complement=bool(rng.integers(2)), n_features=p)
    return X, SubspaceClustering.from_labels(codes, bases=spaces), rng


def pca_loss(rows, dim):
    """Mean squared distance per row and feature to the best flat, straight from an SVD."""
    centred = rows - rows.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=True)[2][:dim]
    return np.mean(np.square(centred - centred @ directions.T @ directions))


def by_hand(X, clustering, alpha, beta):
    p = clustering.n_features
    dims = list(p - clustering.subspaces.dims)
    losses = [
        pca_loss(X[clustering.members.rows(k)], int(dims[k])) for k in range(clustering.n_clusters)
    ]
    loss, middle = sum(losses), np.median(dims) if dims else 0
    noise = X[clustering.members.clusters_per_row() == 0]
    share = len(noise) / len(X)
    if len(noise):
        losses.append(pca_loss(noise, 0))
        dims.append(0)
        loss += share * losses[-1]
    if share == 1:
        return np.inf, losses, dims
    price = loss + alpha * middle + beta * clustering.n_clusters
    return price / (1 - share), losses, dims


class TestAgainstPrincipalComponents:
    @given(seeds)
    def test_total_losses_and_dims(self, seed):
        X, clustering, _ = random_case(seed)
        total, losses, dims = by_hand(X, clustering, 0.3, 0.7)
        score = sre(X, clustering, alpha=0.3, beta=0.7)
        assert score.total == pytest.approx(total, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(score.cluster_losses, losses, rtol=1e-9, atol=1e-9)
        assert score.flat_dims.tolist() == dims
        assert score.n_clusters == clustering.n_clusters
        assert score.flat_dim == (np.median(dims[: score.n_clusters]) if score.n_clusters else 0)
        assert score.noise_share == pytest.approx(1 - clustering.coverage)

    @given(seeds)
    def test_decoded_rows_have_that_loss(self, seed):
        X, clustering, _ = random_case(seed)
        encoded = encode(X, clustering)
        back = decode(encoded)
        losses = [np.mean(np.square(X - back)[part.rows]) for part in encoded.clusters]
        np.testing.assert_allclose(losses, sre(X, clustering).cluster_losses, atol=1e-8)
        features = [np.mean(np.square(X - back)[part.rows], axis=0) for part in encoded.clusters]
        np.testing.assert_allclose(features, feature_losses(X, clustering), atol=1e-8)
        for part in encoded.clusters:
            if part.basis is not None:
                gram = part.basis @ part.basis.T
                np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-9)

    @given(seeds)
    def test_loss_by_dim(self, seed):
        X, clustering, _ = random_case(seed)
        curve = loss_by_dim(X, clustering)
        one_by_one = [sre(X, clustering, flat_dims=d).loss for d in range(X.shape[1] + 1)]
        np.testing.assert_allclose(curve, one_by_one, atol=1e-8)
        assert (np.diff(curve) <= 1e-12).all()

    def test_given_dims_for_all_or_for_each(self):
        X, truth = planted_oriented(5, ((1, 40), (3, 50)), noise=0, random_state=0)
        rows = [X[truth.members.rows(k)] for k in range(2)]
        one = sre(X, truth, flat_dims=2)
        assert one.cluster_losses == pytest.approx([pca_loss(part, 2) for part in rows])
        each = sre(X, truth, flat_dims=[3, 1])
        assert each.cluster_losses == pytest.approx([pca_loss(rows[0], 3), pca_loss(rows[1], 1)])
        assert each.flat_dims.tolist() == [3, 1]

    def test_median_and_mean_of_the_dims(self):
        X, truth = planted_oriented(4, ((1, 20), (1, 20), (3, 20)), noise=0, random_state=0)
        assert sre(X, truth).flat_dim == 1
        assert sre(X, truth, summary="mean").flat_dim == pytest.approx(5 / 3)

    def test_both_prices_zero_leave_the_loss(self):
        X, truth = planted_oriented(noise=0, random_state=0)
        score = sre(X, truth, alpha=0, beta=0)
        assert score.total == score.loss == pytest.approx(score.cluster_losses.sum())


class TestKinds:
    def test_flats_of_masks_are_their_irrelevant_features(self):
        X, truth = planted_axes(200, 6, n_clusters=2, dims=3, noise=0, random_state=0)
        score = sre(X, truth)
        for k, mask in enumerate(truth.subspaces.masks):
            expected = X[truth.members.rows(k)].var(axis=0)[mask].sum() / 6
            assert score.cluster_losses[k] == pytest.approx(expected)
            assert score.flat_dims[k] == 6 - mask.sum()
        back = decode(encode(X, truth))
        for k, mask in enumerate(truth.subspaces.masks):
            rows = truth.members.rows(k)
            np.testing.assert_allclose(back[np.ix_(rows, ~mask)], X[np.ix_(rows, ~mask)])
            means = np.tile(X[rows][:, mask].mean(axis=0), (len(rows), 1))
            np.testing.assert_allclose(back[np.ix_(rows, mask)], means)

    def test_a_label_vector_has_points_for_flats(self):
        X = np.random.default_rng(0).normal(size=(30, 3))
        labels = np.arange(30) % 2
        score = sre(X, labels)
        assert score.flat_dims.tolist() == [0, 0]
        assert score.loss == pytest.approx(sum(X[labels == k].var(axis=0).mean() for k in (0, 1)))

    def test_even_weights_are_a_mask(self):
        X = np.random.default_rng(1).normal(size=(20, 4))
        labels = np.arange(20) % 2
        masks = np.array([[1, 1, 0, 0], [0, 1, 1, 1]], bool)
        weights = masks / masks.sum(axis=1, keepdims=True)
        even = SubspaceClustering.from_labels(labels, weights=weights)
        same = sre(X, SubspaceClustering.from_labels(labels, masks=masks))
        np.testing.assert_array_equal(sre(X, even).cluster_losses, same.cluster_losses)
        heavy = SubspaceClustering.from_labels(labels, weights=[[0.5, 0.45, 0.05, 0], [0, 0, 0, 1]])
        assert sre(X, heavy).flat_dims.tolist() == [2, 3]

    def test_memberships_count_like_copies_of_rows(self):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(12, 3))
        soft = SubspaceClustering([[1.0] * 6 + [0.5] * 6], OrientedSubspaces([np.eye(3)[:, :2]]))
        copies = np.concatenate([X[:6], X])
        assert sre(X, soft).loss == pytest.approx(sre(copies, [0] * 18, flat_dims=1).loss)

    def test_rows_of_two_clusters_come_back_as_the_mean(self):
        X = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
        both = SubspaceClustering([[1, 1, 0], [0, 1, 1]], np.ones((2, 2)))
        back = decode(encode(X, both))
        np.testing.assert_allclose(back, [[1, 0], [1.5, 0.5], [2, 1]])
        third = SubspaceClustering([[1, 0.5, 0], [0, 0.25, 1]], np.ones((2, 2)))
        origins = [part.origin for part in encode(X, third).clusters]
        expected = (2 * origins[0] + origins[1]) / 3
        np.testing.assert_allclose(decode(encode(X, third))[1], expected)

    def test_a_fitted_finder_and_a_table(self):
        X, truth = planted_oriented(random_state=0)

        class Fitted:
            clustering_ = truth

        assert sre(Table.from_array(X), Fitted()).total == sre(X, truth).total


class TestInvariance:
    @given(seeds)
    def test_doubled_rows(self, seed):
        X, clustering, _ = random_case(seed)
        labels = np.tile(clustering.labels(), 2)
        twice = SubspaceClustering.from_labels(labels, bases=clustering.subspaces)
        score, doubled = sre(X, clustering), sre(np.concatenate([X, X]), twice)
        assert doubled.total == pytest.approx(score.total, abs=1e-9)

    @given(seeds)
    def test_doubled_features(self, seed):
        X, clustering, _ = random_case(seed)
        dims = clustering.n_features - clustering.subspaces.dims.astype(int)
        wide = SubspaceClustering.from_labels(clustering.labels(), n_features=2 * X.shape[1])
        doubled = sre(np.concatenate([X, X], axis=1), wide, flat_dims=dims)
        assert doubled.total == pytest.approx(sre(X, clustering).total, abs=1e-9)

    @given(seeds)
    def test_order_of_rows_and_clusters(self, seed):
        X, clustering, rng = random_case(seed)
        order = rng.permutation(len(X))
        names = rng.permutation(clustering.n_clusters)
        mixed = clustering.select(names).restrict(rows=order)
        score = sre(X[order], mixed)
        assert score.total == pytest.approx(sre(X, clustering).total, abs=1e-9)
        expected = sre(X, clustering).cluster_losses[: len(names)][names]
        np.testing.assert_allclose(score.cluster_losses[: len(names)], expected, atol=1e-9)

    @given(seeds)
    def test_rotated_and_shifted_tables(self, seed):
        X, clustering, rng = random_case(seed)
        p = X.shape[1]
        turn = random_rotation(p, rng)
        spaces = clustering.subspaces
        bases = OrientedSubspaces(
            [turn.T @ basis for basis in spaces.bases],
            complement=spaces.is_complement,
            orthonormalize=True,
            n_features=p,
        )
        turned = SubspaceClustering(clustering.members, bases)
        moved = X @ turn + rng.normal(size=p)
        assert sre(moved, turned).total == pytest.approx(sre(X, clustering).total, abs=1e-8)

    def test_two_collinear_segments_are_one_line(self):
        rng = np.random.default_rng(0)
        along = np.concatenate([rng.uniform(0, 1, 50), rng.uniform(30, 31, 50)])
        X = along[:, None] * [1.0, 2.0, -1.0] + [3.0, 0.0, 5.0]
        apart = sre(X, np.repeat([0, 1], 50), flat_dims=1)
        one = sre(X, np.zeros(100, int), flat_dims=1)
        assert one.loss == pytest.approx(0, abs=1e-12)
        assert one.total == pytest.approx(apart.total - 0.5)

    def test_variance_units(self):
        X, truth = planted_oriented(random_state=0)
        score = sre(X, truth, units="variance")
        assert score.loss == pytest.approx(sre(X, truth).loss / X.var(axis=0).mean())
        assert sre(X * 1000 + 5, truth, units="variance").total == pytest.approx(score.total)
        assert sre(X * 1000, truth).loss == pytest.approx(1e6 * sre(X, truth).loss)

    def test_small_blocks(self, monkeypatch):
        X, truth = planted_oriented(4, random_state=3)
        before = sre(X, truth), feature_losses(X, truth)
        monkeypatch.setattr(part_sums, "BLOCK_CELLS", 300)
        after = sre(X, truth), feature_losses(X, truth)
        assert after[0].total == pytest.approx(before[0].total, rel=1e-12)
        np.testing.assert_allclose(after[1], before[1], rtol=1e-6, atol=1e-15)


class TestNoise:
    @given(seeds)
    def test_noise_loses_as_a_cluster_of_dimension_0_by_its_share(self, seed):
        X, clustering, _ = random_case(seed)
        labels = clustering.labels()
        if (labels >= 0).all() or (labels < 0).all():
            return
        dims = [*(clustering.n_features - clustering.subspaces.dims.astype(int)), 0]
        named = np.where(labels < 0, clustering.n_clusters, labels)
        score, free = sre(X, clustering), sre(X, clustering, noise="ignore")
        lost = sre(X, named, flat_dims=dims).cluster_losses[-1]
        assert score.loss == pytest.approx(free.loss + score.noise_share * lost)
        price = free.total + score.noise_share * lost
        assert score.total == pytest.approx(price / (1 - score.noise_share))

    @pytest.mark.parametrize("units", ["data", "variance"])
    @pytest.mark.parametrize("side", [1, 10, 1000])
    @pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
    def test_all_noise_never_wins(self, noise, side, units):
        for seed, (p, flats) in enumerate(
            [
                (3, ((1, 150), (1, 150), (2, 200))),
                (4, ((1, 60), (3, 90))),
                (10, ((2, 50), (2, 50), (4, 100), (1, 50))),
            ]
        ):
            X, truth = planted_oriented(p, flats, noise=noise, box=(0, side), random_state=seed)
            nothing = sre(X, np.full(len(X), -1), units=units)
            assert nothing.noise_share == 1 and nothing.n_clusters == 0
            assert sre(X, truth, units=units).total < nothing.total
            assert sre(X, np.zeros(len(X), int), units=units).total < nothing.total

    @pytest.mark.parametrize("side", [1, 10, 100])
    @pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
    @pytest.mark.parametrize("seed", range(4))
    def test_leaving_out_rows_of_clusters_does_not_pay(self, seed, noise, side):
        """Half of the rows, a whole cluster, or all but ten rows of one."""
        p, flats = [(3, ((1, 200), (1, 200), (2, 300))), (8, ((2, 100), (1, 100)))][seed % 2]
        X, truth = planted_oriented(p, flats, noise=noise, box=(0, side), random_state=seed)
        best = sre(X, truth).total
        for lost in self.with_more_noise(truth, np.random.default_rng(seed)):
            assert best < sre(X, lost).total

    @staticmethod
    def with_more_noise(truth, rng):
        labels = truth.labels()
        few = np.full(len(labels), -1)
        few[np.flatnonzero(labels == 0)[:10]] = 0
        last = truth.n_clusters - 1
        every = np.where(rng.random(len(labels)) < 0.5, -1, labels)
        for clusters, left in [
            (range(last + 1), every),
            (range(last), np.where(labels == last, -1, labels)),
            ([0], few),
        ]:
            bases = truth.select(list(clusters)).subspaces
            yield SubspaceClustering.from_labels(left, bases=bases)

    def test_a_few_noise_rows_cost_little(self):
        X, truth = planted_oriented(noise=0, box=(0, 10), random_state=0)
        rows = np.concatenate([X, X[:1] + 50.0])
        labels = np.append(truth.labels(), -1)
        lonely = SubspaceClustering.from_labels(labels, bases=truth.subspaces)
        assert sre(rows, lonely).total == pytest.approx(sre(X, truth).total, rel=2e-3)

    def test_ignored_noise_costs_nothing(self):
        X, truth = planted_oriented(noise=0.2, random_state=0)
        free = sre(X, truth, noise="ignore")
        assert free.n_clusters == 3 and free.flat_dims.tolist() == [1, 1, 2]
        np.testing.assert_array_equal(free.cluster_losses, sre(X, truth).cluster_losses[:3])
        assert free.noise_share == pytest.approx(0.2, abs=0.01)

    def test_nothing_to_score(self):
        with pytest.raises(EmptyClusteringError, match="noise='ignore'"):
            sre(np.eye(3), [-1, -1, -1], noise="ignore")


class TestWideTables:
    def test_a_line_in_20000_dimensions(self):
        rng = np.random.default_rng(0)
        p = 20_000
        line = rng.normal(size=(p, 1)) / np.sqrt(p)
        line /= np.linalg.norm(line)
        X = 100 * rng.normal(size=(40, 1)) @ line.T + 0.01 * rng.normal(size=(40, p)) + 5
        one = SubspaceClustering(np.ones((1, 40), bool), OrientedSubspaces([line], complement=True))
        tracemalloc.start()
        score = sre(X, one)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6 < p * p
        assert score.flat_dims.tolist() == [1]
        assert score.loss == pytest.approx(1e-4, rel=0.1)
        basis = encode(X, one).clusters[0].basis
        assert abs(basis[0] @ line[:, 0]) == pytest.approx(1, abs=1e-3)

    def test_few_relevant_features_among_20000(self):
        X = np.random.default_rng(0).normal(size=(10, 20_000))
        masks = np.zeros((1, 20_000), bool)
        masks[0, :3] = True
        one = SubspaceClustering.from_labels([0] * 10, masks=masks)
        assert sre(X, one).loss == pytest.approx(X[:, :3].var(axis=0).sum() / 20_000)
        back = decode(encode(X, one))
        np.testing.assert_allclose(back[:, 3:], X[:, 3:])

    def test_long_and_wide(self, monkeypatch):
        """Few directions of a table that is both come from Lanczos, and are the same."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 90)) * np.linspace(10, 0.1, 90) + 7
        labels = np.arange(200) % 2
        dense = sre(X, labels, flat_dims=4), decode(encode(X, labels, flat_dims=4))
        monkeypatch.setattr(fitted_flats, "WIDEST_DENSE", 50)
        thin = sre(X, labels, flat_dims=4), decode(encode(X, labels, flat_dims=4))
        assert thin[0].loss == pytest.approx(dense[0].loss, rel=1e-9)
        np.testing.assert_allclose(thin[1], dense[1], atol=1e-4)
        monkeypatch.setattr(fitted_flats, "WIDEST_DENSE", 1)
        assert sre(np.ones((30, 25)), [0] * 30, flat_dims=1).loss == 0

    @pytest.mark.parametrize("m", [1, 2, 3, 5])
    def test_fewer_rows_than_dims(self, m):
        X = np.random.default_rng(m).normal(size=(m, 8))
        for dim in range(9):
            score = sre(X, [0] * m, flat_dims=dim)
            assert score.loss == pytest.approx(pca_loss(X, dim), abs=1e-12)
            assert score.flat_dims.tolist() == [dim]
            np.testing.assert_allclose(decode(encode(X, [0] * m, flat_dims=dim)).shape, X.shape)
        np.testing.assert_allclose(decode(encode(X, [0] * m, flat_dims=m)), X, atol=1e-9)

    def test_flats_of_dimension_0_and_p(self):
        X = np.random.default_rng(0).normal(size=(20, 3))
        point = SubspaceClustering(np.ones((1, 20), bool), OrientedSubspaces([np.eye(3)]))
        assert sre(X, point).loss == pytest.approx(X.var(axis=0).mean())
        assert sre(X, point).flat_dims.tolist() == [0]
        whole = point.complement()
        assert sre(X, whole).loss == 0
        assert sre(X, whole).flat_dims.tolist() == [3]
        np.testing.assert_allclose(decode(encode(X, whole)), X)

    def test_duplicate_rows(self):
        X = np.ones((6, 3)) * 1e6
        score = sre(X, [0, 0, 0, 1, 1, -1], flat_dims=1, units="variance")
        assert score.loss == 0 and score.total == pytest.approx((0.5 * 1 + 0.5 * 2) / (5 / 6))


class TestInput:
    @pytest.mark.parametrize(
        "change",
        [
            np.asfortranarray,
            lambda X: np.repeat(X, 2, axis=1)[:, ::2],
            lambda X: X.astype(object),
            lambda X: X.tolist(),
        ],
    )
    def test_layouts(self, change):
        X, truth = planted_oriented(random_state=0)
        assert sre(change(X), truth).total == pytest.approx(sre(X, truth).total, rel=1e-12)

    def test_read_only_memory_maps_stay_as_they_are(self, tmp_path):
        X, truth = planted_oriented(random_state=0)
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        assert sre(mapped, truth).total == sre(X, truth).total
        frozen = X.copy()
        frozen.flags.writeable = False
        encode(frozen, truth), description(frozen, truth)
        np.testing.assert_array_equal(frozen, X)

    def test_a_large_offset_in_single_precision(self):
        X, truth = planted_oriented(spread=0.05, random_state=0)
        shifted = (X + 1000).astype(np.float32)
        expected = sre(shifted.astype(np.float64) - 1000, truth)
        assert sre(shifted, truth).loss == pytest.approx(expected.loss, rel=1e-9)

    def test_integers_and_booleans(self):
        X = np.random.default_rng(0).integers(0, 2, (20, 3))
        expected = sre(X.astype(float), [0] * 20, flat_dims=1).loss
        assert sre(X, [0] * 20, flat_dims=1).loss == expected
        assert sre(X.astype(bool), [0] * 20, flat_dims=1).loss == expected

    @pytest.mark.parametrize("function", [sre, encode, feature_losses, loss_by_dim])
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (np.nan, "NaN .1 value in 'column 1'"),
            (np.inf, "infinity .1 value in 'column 1'"),
            (1e200, "too large"),
        ],
    )
    @pytest.mark.parametrize("row", [0, 7])
    def test_bad_values(self, function, bad, message, row):
        X = np.random.default_rng(0).normal(size=(8, 3))
        X[row, 1] = bad
        truth = SubspaceClustering([[True] * 7 + [False]], OrientedSubspaces([np.eye(3)[:, :2]]))
        with pytest.raises(ValueError, match=message):
            function(X, truth)

    def test_bad_tables(self):
        with pytest.raises(ValueError, match="too small"):
            sre(np.random.default_rng(0).normal(size=(8, 3)) * 1e-200, [0] * 8)
        with pytest.raises(ValueError, match="2D"):
            sre(np.zeros(4), [0] * 4)
        with pytest.raises(ValueError, match="0 sample"):
            sre(np.zeros((0, 4)), [0])
        with pytest.raises(TypeError, match="sparse"):
            sre(sparse.eye_array(4), [0] * 4)
        with pytest.raises(ValueError, match="Complex"):
            sre(np.eye(4) * 1j, [0] * 4)
        with pytest.raises(ShapeMismatchError, match="4 rows x 4 features, the clustering 3 x 4"):
            sre(np.eye(4), [0, 0, 1])
        with pytest.raises(ShapeMismatchError, match="2 features, the clustering 4 x 3"):
            sre(np.ones((4, 2)), SubspaceClustering.from_labels([0] * 4, n_features=3))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha": -1}, "alpha"),
            ({"beta": np.nan}, "beta"),
            ({"summary": "mode"}, "median, mean"),
            ({"units": "sd"}, "data, variance"),
            ({"noise": "drop"}, "cluster, ignore"),
            ({"flat_dims": 5}, "between 0 .a point. and the 4 features"),
            ({"flat_dims": -1}, "between 0"),
            ({"flat_dims": 1.5}, "whole number"),
            ({"flat_dims": [1, 2, 3]}, "3 entries for 2 clusters"),
            ({"flat_dims": "one"}, "whole number"),
        ],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            sre(np.eye(4), [0, 0, 1, 1], **options)


def description(X, clustering):
    from subscape.measures import description_length

    return description_length(X, clustering)


@settings(max_examples=20)
@given(seeds)
def test_compression_ratio(seed):
    X, clustering, _ = random_case(seed)
    encoded = encode(X, clustering)
    kept = len(X)
    for part in encoded.clusters:
        arrays = (part.origin, part.coordinates, part.basis, part.features)
        kept += sum(array.size for array in arrays if array is not None)
    assert encoded.n_numbers == kept
    assert encoded.ratio == kept / X.size


def test_noise_as_one_more_cluster_is_like_any_cluster():
    X, truth = planted_oriented(3, ((1, 60), (2, 60)), noise=0.2, random_state=0)
    labels = truth.labels()
    as_cluster = np.where(labels < 0, 2, labels)
    dims = [1, 2]
    noisy = sre(X, labels, flat_dims=dims, noise="cluster")
    full = sre(X, as_cluster, flat_dims=[*dims, 0])
    assert noisy.total == pytest.approx(full.total)
    assert noisy.loss == pytest.approx(full.loss)
    assert (noisy.n_clusters, full.n_clusters) == (2, 3)
    # By their share, the same rows lose less.
    assert sre(X, labels, flat_dims=dims).loss < noisy.loss
    assert np.isfinite(sre(X, np.full(len(X), -1), noise="cluster").total)
