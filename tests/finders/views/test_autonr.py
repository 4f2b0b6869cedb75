"""AutoNR: the description length, the changes it drives, and the numbers it ends with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape.core import ConstantFeatureWarning
from subscape.datasets import planted_views
from subscape.finders import AutoNR, NrKMeans
from subscape.finders.base import Watch
from subscape.finders.views.autonr.code import ViewCode, rounding
from subscape.finders.views.autonr.growth import Growth, GrowthState, merged_pair
from subscape.finders.views.nrkmeans.rows import group
from subscape.finders.views.nrkmeans.steps import Solution
from subscape.measures import adjusted_rand_score


def centred(X):
    return X - X.mean(axis=0)


def solution_of(X, labels, bases):
    """A solution with these labels, as the steps would leave it."""
    labels = np.ascontiguousarray(labels, dtype=np.int32)
    groups = group(X, labels, tuple(labels.max(axis=0) + 1))
    return Solution(labels, tuple(bases), groups, 0.0, 1, True)


def planted(n_clusters=(4, 3), n_rows=400, n_features=7, seed=0, **more):
    X, truths = planted_views(n_rows, n_features, n_clusters=n_clusters, random_state=seed, **more)
    labels = np.column_stack([t.labels() for t in truths])
    return centred(X), labels, [t.subspaces.bases[0] for t in truths]


# -- the code --------------------------------------------------------------------------------------


def test_total_length_by_its_definition():
    X, labels, bases = planted()
    n, p = X.shape
    code = ViewCode(X)
    floor = 0.01 * np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1]
    bits, taken = 0.0, 0
    for j, basis in enumerate(bases):
        inside = X @ basis
        m, k = basis.shape[1], labels[:, j].max() + 1
        within = np.zeros((m, m))
        for i in range(k):
            members = inside[labels[:, j] == i]
            away = members - members.mean(axis=0)
            within += away.T @ away / n
            bits -= len(members) * np.log2(len(members) / n)
        bits += n / 2 * np.log2(np.linalg.det(within + floor * np.eye(m)))
        bits += np.log2(n) / 2 * (m * (k - 1) + m * (p - taken - m) + k)
        taken += m
    rest = np.linalg.qr(np.concatenate(bases, axis=1), mode="complete")[0][:, taken:]
    noise = np.cov((X @ rest).T, bias=True) + floor * np.eye(p - taken)
    bits += n / 2 * np.log2(np.linalg.det(noise))
    assert code.total(solution_of(X, labels, bases)) == pytest.approx(bits, abs=1e-3)


def test_gain_of_a_view_alone_is_what_it_saves_in_a_space_of_its_own():
    X, labels, bases = planted(n_clusters=(4,), n_features=2, noise_dims=0)
    code = ViewCode(X)
    saved = code.plain - code.total(solution_of(X, labels, bases))
    assert code.gain(bases[0], labels[:, 0], 4) == pytest.approx(saved)


def test_the_truth_is_shorter_than_anything_beside_it():
    X, labels, bases = planted()
    code = ViewCode(X)
    truth = code.total(solution_of(X, labels, bases))
    assert truth < code.plain
    assert truth < code.total(solution_of(X, labels[:, :1], bases[:1]))
    assert truth < code.total(solution_of(X, labels[:, ::-1], bases))
    united = labels.copy()
    united[united == 3] = 2
    assert truth < code.total(solution_of(X, united, bases))
    halved = labels.copy()
    halved[: len(X) // 2, 1] = np.where(labels[: len(X) // 2, 1] == 2, 3, halved[: len(X) // 2, 1])
    assert truth < code.total(solution_of(X, halved, bases))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_savings_do_not_depend_on_rotation_and_scale(seed, scale):
    X, labels, bases = planted(n_rows=120, n_features=5, n_clusters=(3, 2), seed=seed)
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0]
    code, other = ViewCode(X), ViewCode(scale * X @ turned)
    saved = code.plain - code.total(solution_of(X, labels, bases))
    moved = solution_of(scale * X @ turned, labels, [turned.T @ basis for basis in bases])
    assert other.plain - other.total(moved) == pytest.approx(saved, abs=1e-3)


def test_nothing_is_written_more_exactly_than_it_was_rounded():
    # A yes-or-no column: with unlimited precision its two values would be perfect clusters.
    X = np.column_stack([np.arange(200) % 2, np.random.default_rng(0).normal(size=200)])
    labels, first = (np.arange(200) % 2), np.eye(2)[:, [0]]
    assert ViewCode(centred(X)).gain(first, labels, 2) > 200
    assert ViewCode(centred(X), np.diag(rounding(X))).gain(first, labels, 2) < 0


def test_rounding_of_odd_columns():
    X = np.array([[1.0, 5.0, 0.0], [1.0, 5.5, 1e9], [1.0, 7.0, 2e9]])
    np.testing.assert_allclose(rounding(X) * 12, [0.0, 0.25, 1e18])


# -- the changes -----------------------------------------------------------------------------------


def test_the_cheapest_pair_is_united():
    sums, counts = np.array([[0.0, 0.0], [10.0, 0.0], [11.0, 50.0]]), np.ones(3)
    flat = np.eye(2)[:, [0]]  # seen in the first column only, the last two are neighbours
    new_sums, new_counts = merged_pair(sums, counts, flat)
    np.testing.assert_array_equal(new_counts, [1, 2])
    np.testing.assert_array_equal(new_sums, [[0, 0], [21, 50]])


def test_every_change_repairs_what_it_is_for():
    X, labels, bases = planted(n_clusters=(4, 3), seed=3)
    growth = Growth(X, ViewCode(X), 7, 20, 4, 1)
    rng = np.random.default_rng(0)

    def state(labels, bases):
        solution = solution_of(X, labels, bases)
        return GrowthState(solution, growth.code.total(solution))

    truth = state(labels, bases)

    def repaired(start):
        found = growth.evaluated(start)
        return found is not None and found.bits <= truth.bits * (1 + 1e-3 * np.sign(truth.bits))

    united = labels.copy()
    united[united[:, 0] == 3, 0] = 2
    assert repaired(growth.divided(state(united, bases), 0))
    halves = labels.copy()
    side = X @ bases[1][:, 0] > np.median((X @ bases[1][:, 0])[labels[:, 1] == 2])
    halves[(labels[:, 1] == 2) & side, 1] = 3
    assert repaired(growth.united(state(halves, bases), 1))
    both = (labels[:, 0] * 3 + labels[:, 1])[:, None]
    product = state(both, [np.concatenate(bases, axis=1)])
    assert product.sizes == (12,)
    splits = list(growth.separations(product, 0, rng))
    assert splits and any(repaired(each.start) for each in splits)
    alone = state(labels[:, :1], bases[:1])
    assert any(repaired(each.start) for each in growth.additions(alone, rng))
    spare = np.linalg.qr(np.concatenate(bases, axis=1), mode="complete")[0][:, [4]]
    junk = np.column_stack([labels, (X @ spare)[:, 0] > 0])
    last = list(growth.proposals(state(junk, [*bases, spare]), rng))[-1]
    assert last.change == "view dropped" and repaired(last.start)


def test_two_halves_of_a_view_are_joined():
    # Three clusters in a triangle, told as two views of two clusters in one dimension each.
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    X = centred(np.array([[0, 0], [9, 0], [9, 9]])[labels] + rng.normal(size=(300, 2)))
    halves = np.column_stack([labels > 0, labels > 1])
    growth = Growth(X, ViewCode(X), 2, 20, 4, 1)
    before = GrowthState(solution_of(X, halves, [np.eye(2)[:, [0]], np.eye(2)[:, [1]]]), np.inf)
    after = growth.evaluated(growth.joined(before, 0, 1))
    assert after.sizes == (3,)
    assert adjusted_rand_score(after.solution.labels[:, 0], labels) > 0.95


def test_every_step_saves_bits():
    X, _, _ = planted(n_clusters=(4, 3), seed=5)
    code = ViewCode(X)
    state, steps = Growth(X, code, 7, 20, 4, 1).run(np.random.SeedSequence(0), Watch(), None)
    bits = [code.plain, *(step.bits for step in steps)]
    assert (np.diff(bits) < 0).all()
    assert state.bits == bits[-1] and steps[-1].n_clusters == state.sizes


# -- the estimator ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [(4, 3), (3, 3), (5, 3), (3, 2), (4,)])
def test_numbers_views_and_subspaces_are_found(n_clusters):
    X, truths = planted_views(500, 8, n_clusters=n_clusters, random_state=11)
    finder = AutoNR(random_state=0).fit(X)
    assert sorted(finder.n_clusters_) == sorted((*n_clusters, 1))
    assert finder.n_views_ == len(n_clusters) == len(finder.clusterings_)
    assert finder.saved_bits_ > 0
    for truth in truths:
        match = max(finder.clusterings_, key=lambda c, t=truth: adjusted_rand_score(t, c))
        assert adjusted_rand_score(truth, match) > 0.95
        cosines = np.linalg.svd(match.subspaces.bases[0].T @ truth.subspaces.bases[0])[1]
        assert match.subspaces.bases[0].shape == truth.subspaces.bases[0].shape
        assert cosines.min() > 0.97


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("draw", ["normal", "uniform"])
def test_no_clusters_no_views(draw, seed):
    X = getattr(np.random.default_rng(seed), draw)(size=(300, 6)) * np.arange(1, 7)
    finder = AutoNR(random_state=0).fit(X)
    assert finder.n_views_ == 0 and finder.n_clusters_ == (1,) and finder.saved_bits_ == 0
    assert set(finder.labels_) == {0} and finder.label_matrix_.shape == (300, 1)
    assert finder.dims_.tolist() == [0, 6]
    assert set(finder.predict(X)) == {0}


def test_the_numbers_found_are_what_nrkmeans_takes():
    X, _ = planted_views(400, 6, n_clusters=(4, 3), random_state=1)
    auto = AutoNR(random_state=0).fit(X)
    assert [c.n_clusters for c in auto.clusterings_] == list(auto.n_clusters_[:-1])
    told = NrKMeans(auto.n_clusters_, random_state=0).fit(X)
    for a, b in zip(auto.clusterings_, told.clusterings_, strict=True):
        assert adjusted_rand_score(a, b) > 0.98


def test_limits_are_kept():
    X, _ = planted_views(400, 8, n_clusters=(5, 4), random_state=2)
    assert AutoNR(max_views=1, random_state=0).fit(X).n_views_ == 1
    assert max(AutoNR(max_clusters=3, random_state=0).fit(X).n_clusters_) <= 3
    with pytest.raises(ValueError, match="max_clusters"):
        AutoNR(max_clusters=1).fit(X)


def test_given_clusterings_are_set_aside():
    X, truths = planted_views(400, 7, n_clusters=(4, 3), random_state=3)
    finder = AutoNR(random_state=0).fit(X, given=truths[0])
    assert finder.n_clusters_ == (3, 1)
    assert adjusted_rand_score(truths[1], finder.labels_) > 0.95


def test_large_and_wide_tables():
    X, _ = planted_views(5000, 8, n_clusters=(4, 3), random_state=4)
    finder = AutoNR(random_state=0).fit(X)
    assert sorted(finder.n_clusters_) == [1, 3, 4]
    np.testing.assert_array_equal(finder.predict(X, view="all"), finder.label_matrix_)
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(80, 300))
    wide[::2, :40] += 6
    finder = AutoNR(random_state=0).fit(wide)
    assert finder.n_clusters_ == (2, 1)
    assert adjusted_rand_score(finder.labels_, np.arange(80) % 2) == 1.0
    assert finder.components_[0].shape[0] == 300


def test_yes_or_no_columns_are_no_views():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 6)).astype(float)
    assert AutoNR(random_state=0).fit(X).n_views_ == 0


def test_constant_columns_stay_out():
    X, _ = planted_views(300, 5, n_clusters=(3,), random_state=6)
    with pytest.warns(ConstantFeatureWarning):
        finder = AutoNR(random_state=0).fit(np.insert(X, 2, 1.0, axis=1))
    assert finder.n_clusters_ == (3, 1)
    assert not finder.components_[0][2].any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_same_bits_for_any_number_of_jobs(n_jobs):
    X, _ = planted_views(300, 6, n_clusters=(3, 3), random_state=7)
    one = AutoNR(random_state=0).fit(X)
    two = AutoNR(random_state=0, n_jobs=n_jobs).fit(X)
    np.testing.assert_array_equal(one.label_matrix_, two.label_matrix_)
    np.testing.assert_array_equal(one.rotation_, two.rotation_)


def test_where_no_step_helps_views_of_these_sizes_are_searched_once():
    X = np.ascontiguousarray(planted_views(120, 4, n_clusters=(3, 2), random_state=0).X)
    growth, asked = Growth(X, ViewCode(X), 2, 20, 4, 1), []
    growth.searched = lambda state, *rest: asked.append(state.sizes)
    state, taken = growth.run(np.random.SeedSequence(0), Watch(), 1)
    assert taken and asked == [state.sizes]
