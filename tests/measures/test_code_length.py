"""Description length: what must not change it, and what it must choose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from subscape import OrientedSubspaces, SubspaceClustering
from subscape.datasets import planted_axes, planted_oriented, structureless
from subscape.finders.oriented.kflats.kflats import KFlats
from subscape.measures import description_length
from subscape.measures.flats.description_length import STEPS

seeds = st.integers(0, 10_000)


def small_case(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 6))
    flats = [(int(rng.integers(0, p)), int(rng.integers(5, 40))) for _ in range(3)]
    X, truth = planted_oriented(p, flats, noise=0.2 * rng.integers(2), random_state=seed)
    return X, truth, rng


class TestInvariance:
    @given(seeds)
    def test_rotated_shifted_and_scaled_tables(self, seed):
        X, truth, rng = small_case(seed)
        turn = np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0]
        bases = [turn.T @ basis for basis in truth.subspaces.bases]
        turned = SubspaceClustering(truth.members, OrientedSubspaces(bases, complement=True))
        moved = 17 * (X @ turn) + rng.normal(size=X.shape[1])
        before, after = description_length(X, truth), description_length(moved, turned)
        assert after.total == pytest.approx(before.total, rel=1e-9)
        assert after.null == pytest.approx(before.null, rel=1e-9)
        np.testing.assert_allclose(after.cluster_bits, before.cluster_bits, rtol=1e-8)

    @given(seeds)
    def test_order_of_rows_and_clusters(self, seed):
        X, truth, rng = small_case(seed)
        order = rng.permutation(len(X))
        mixed = truth.select([2, 0, 1]).restrict(rows=order)
        bits = description_length(X[order], mixed)
        assert bits.total == pytest.approx(description_length(X, truth).total, rel=1e-10)

    @settings(max_examples=20)
    @given(seeds)
    def test_scales_of_features_for_masks(self, seed):
        rng = np.random.default_rng(seed)
        X, truth = planted_axes(100, 6, n_clusters=2, dims=3, random_state=seed)
        other = X * rng.uniform(0.01, 100, 6) + rng.normal(size=6)
        before, after = description_length(X, truth), description_length(other, truth)
        assert after.total == pytest.approx(before.total, rel=1e-9)

    @pytest.mark.parametrize("kind", ["oriented", "axis"])
    def test_the_step_changes_all_totals_alike(self, kind):
        X, truth = planted_oriented(4, random_state=0)
        options = [truth, truth.select([0, 2]), truth.select([1])]
        if kind == "axis":
            X, truth = planted_axes(300, 5, n_clusters=3, dims=2, random_state=0)
            options = [truth, truth.select([0, 2]), truth.labels()]
        coarse, fine = (
            np.array([description_length(X, option, precision=step).total for option in options])
            for step in (1e-4, 1e-7)
        )
        values = X.size * np.log2(1000)
        # The prior of variances knows the step; that is a bit or so for each of them.
        np.testing.assert_allclose(fine - coarse, values, atol=20)
        assert description_length(X, truth, precision=1e-4).precision == pytest.approx(1e-4)


class TestParts:
    @given(seeds)
    def test_they_add_up(self, seed):
        X, truth, _ = small_case(seed)
        bits = description_length(X, truth)
        assert bits.total == pytest.approx(bits.data + bits.model + bits.assignment)
        background = bits.data + bits.model - bits.cluster_bits.sum() - bits.noise_bits
        assert background == pytest.approx((X.shape[1] + 1) / 2 * np.log2(len(X)))
        assert bits.saved == pytest.approx(1 - bits.total / bits.null)
        np.testing.assert_array_equal(bits.flat_dims, X.shape[1] - truth.subspaces.dims)
        assert (bits.cluster_bits > 0).all() and bits.noise_bits >= 0 and bits.assignment >= 0

    @pytest.mark.parametrize("flat_dims", [None, 0])
    def test_all_noise_is_the_null(self, flat_dims):
        X, truth = planted_oriented(noise=0.1, random_state=0)
        bits = description_length(X, np.full(len(X), -1), flat_dims)
        assert bits.total == pytest.approx(bits.null)
        assert bits.total == pytest.approx(bits.noise_bits + bits.model)
        if flat_dims == 0:
            assert bits.null == pytest.approx(description_length(X, truth).null)

    def test_a_normal_value_costs_its_entropy(self):
        X = np.random.default_rng(0).normal(size=(5000, 2))
        bits = description_length(X, np.full(5000, -1), 0, precision=0.01)
        entropy = 0.5 * np.log2(2 * np.pi * np.e / 0.01**2)
        assert bits.noise_bits == pytest.approx(10_000 * entropy, rel=0.01)

    def test_exact_flats_cost_no_less_than_rounding(self):
        along = np.linspace(0, 1, 50)
        X = along[:, None] * [1.0, 2.0, 3.0]
        bits = description_length(X, [0] * 50, flat_dims=1)
        assert np.isfinite(bits.total)
        rounding = 50 * 2 * 0.5 * np.log2(2 * np.pi * np.e / 12)
        assert bits.data > rounding > 0
        assert bits.total < bits.null
        assert bits.precision == pytest.approx(np.sqrt(X.var(axis=0).mean()) / STEPS)

    def test_bits_of_the_assignment(self):
        X = np.random.default_rng(0).normal(size=(10, 2))
        labels = [0] * 5 + [1] * 3 + [-1] * 2
        ways = gammaln(11) - gammaln(6) - gammaln(4) - gammaln(3)
        sizes = np.log2(12 * 11 / 2)
        expected = ways / np.log(2) + sizes
        assert description_length(X, labels, 0).assignment == pytest.approx(expected)

    def test_full_memberships_are_hard_ones(self):
        X, truth, _ = small_case(0)
        soft = np.full(truth.memberships.shape, 1e-7)
        soft[truth.memberships.toarray()] = 1.0
        soft[:, truth.labels() < 0] = 0.0
        given = SubspaceClustering(soft, truth.subspaces)
        hard = description_length(X, truth).total
        assert description_length(X, given).total == pytest.approx(hard, rel=1e-4)

    def test_a_cluster_given_twice_costs_its_parameters_only(self):
        """Bits back: which of two equal clusters sends a row carries no information."""
        X, truth = planted_oriented(3, ((1, 4000),), noise=0, random_state=0)
        once = description_length(X, truth)
        bases = truth.subspaces.bases * 2
        both = SubspaceClustering(np.ones((2, 4000), bool), OrientedSubspaces(bases, True))
        twice = description_length(X, both)
        assert twice.data == pytest.approx(once.data)
        assert 0 < twice.total - once.total < 150 < 4000


class TestChoices:
    def test_number_and_dims_of_planted_flats(self):
        """The planted number of flats and their dimension against one more and one fewer."""
        right = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            p, k = int(rng.integers(3, 9)), int(rng.integers(2, 5))
            dim = int(rng.integers(1, min(p - 1, 4)))
            noise, spread = 0.1 * rng.integers(2), float(rng.choice([0.005, 0.02]))
            X, _ = planted_oriented(
                p, [(dim, 100)] * k, noise=noise, spread=spread, random_state=seed
            )
            tried = [(k, dim), (k - 1, dim), (k + 1, dim), (k, dim - 1), (k, dim + 1)]
            bits = []
            for number, flat_dim in tried:
                finder = KFlats(
                    number, flat_dim=flat_dim, noise=noise, n_init=4, n_swaps=3, random_state=0
                )
                bits.append(description_length(X, finder.fit(X).clustering_).total)
            right += int(np.argmin(bits)) == 0
        assert right >= 18

    @pytest.mark.parametrize("seed", range(10))
    def test_dims_of_each_cluster(self, seed):
        dims = np.array([1, 2, 3])
        X, truth = planted_oriented(
            6, [(d, 80) for d in dims], noise=0.1, spread=0.03, random_state=seed
        )
        best = description_length(X, truth)
        assert best.total < best.null
        assert best.flat_dims.tolist() == dims.tolist()
        for change in np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)]):
            assert description_length(X, truth, dims + change).total > best.total

    def test_features_of_each_cluster(self):
        """One relevant feature less, or an irrelevant one more, is no better description."""
        better = 0
        for seed in range(10):
            X, truth = planted_axes(400, 12, n_clusters=4, dims=5, noise=0.1, random_state=seed)
            best = description_length(X, truth).total
            for k, j in np.ndindex(4, 12):
                masks = truth.subspaces.masks.copy()
                masks[k, j] ^= True
                other = SubspaceClustering(truth.members, masks)
                better += description_length(X, other).total < best
        assert better <= 5  # of 480

    def test_two_segments_of_a_line_are_one_cluster(self):
        rng = np.random.default_rng(0)
        along = np.concatenate([rng.uniform(0, 1, 50), rng.uniform(2, 3, 50)])
        X = along[:, None] * [1.0, 2.0, 1.0] + 0.01 * rng.normal(size=(100, 3))
        one = description_length(X, [0] * 100, flat_dims=1).total
        two = description_length(X, np.repeat([0, 1], 50), flat_dims=1).total
        assert one < two

    @pytest.mark.parametrize("size", [1, 2, 3, 5])
    def test_clusters_of_a_few_rows_never_pay(self, size):
        for p in (2, 5, 20):
            X = np.random.default_rng(size).normal(size=(60, p))
            labels = np.arange(60) // size
            for dim in range(min(size, p)):
                bits = description_length(X, labels, flat_dims=dim)
                assert bits.total > bits.null

    def test_a_table_without_structure_has_no_clusters(self):
        X = structureless("uniform", 300, 5, random_state=0)
        for k in (2, 5):
            for dim in (0, 1, 3):
                finder = KFlats(k, flat_dim=dim, n_init=3, n_swaps=2, random_state=0).fit(X)
                bits = description_length(X, finder.clustering_)
                assert bits.saved < 0.01

    def test_wide_tables(self):
        rng = np.random.default_rng(0)
        line = rng.normal(size=(5000, 1))
        line /= np.linalg.norm(line)
        X = 30 * rng.normal(size=(40, 1)) @ line.T + 0.1 * rng.normal(size=(40, 5000))
        bits = [description_length(X, [0] * 40, flat_dims=d).total for d in (0, 1, 2)]
        assert np.argmin(bits) == 1


class TestInput:
    def test_constant_tables_and_features(self):
        bits = description_length(np.ones((5, 2)), [0] * 5)
        assert np.isfinite(bits.total) and bits.total > bits.null
        X = np.random.default_rng(0).normal(size=(50, 3))
        X[:, 1] = 4.0
        for dims in (None, 0, 2, 3):
            assert np.isfinite(description_length(X, np.arange(50) % 2, dims).total)

    def test_one_row(self):
        assert np.isfinite(description_length([[1.0, 2.0]], [0]).total)

    @pytest.mark.parametrize("precision", [0, -1, np.nan, np.inf])
    def test_bad_precision(self, precision):
        with pytest.raises(ValueError, match="precision must be a number above 0"):
            description_length(np.eye(3), [0, 0, 0], precision=precision)

    def test_missing_values(self):
        with pytest.raises(ValueError, match="NaN"):
            description_length([[1.0, np.nan], [0.0, 1.0]], [0, 0])
