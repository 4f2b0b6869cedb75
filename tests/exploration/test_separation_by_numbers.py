"""Scores of groupings and what is cheap or costly in them, computed a second time by hand."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.exploration import slices
from subscape.exploration.information import canonical, joint_labels, redundancy
from subscape.exploration.select import Chosen, _Search, choose_views, is_less_clear, over_normal
from subscape.exploration.separation import (
    LEAST_ENTROPY,
    MOST_DIRECTIONS,
    RIDGE,
    ROWS_PER_DIRECTION,
    SLICED,
    UNDONE,
    GroupingScorer,
    Separation,
    _blurred,
    in_earnest,
    largest_step,
    per_nat,
    pointing,
    principal_directions,
    project_out,
    separations,
    telling,
    telling_directions,
    whitened,
)
from subscape.exploration.slices import (
    _length,
    _rough_length,
    is_sliced,
    merged_slices,
)

LOG2 = np.log(2)


def test_what_slices_of_one_cloud_lose():
    # An even stretch as normal clouds: log of the spread of a normal and of a uniform density.
    assert pytest.approx(0.5 * np.log(2 * np.pi * np.e) - np.log(np.sqrt(12))) == SLICED
    assert pytest.approx(LOG2) == LEAST_ENTROPY


def test_gain_per_nat():
    for gain, entropy, told in ((1.0, 2 * LOG2, 2 * LOG2), (1.0, 0.1, LOG2), (-0.5, 1.0, 1.0)):
        known = (gain - SLICED) / told + SLICED / LOG2
        assert per_nat(gain, entropy) == pytest.approx(known)
        assert per_nat(gain, entropy, 0.0) == pytest.approx(gain / told)
    one = Separation(1.0, 2.0, np.eye(1), np.ones(1), 3.0, sliced=0.25)
    assert one.score == pytest.approx(0.75 / 2 + 0.25 / LOG2)
    assert one.normal_score == pytest.approx((3.0 - SLICED) / 2 + SLICED / LOG2)
    plain = Separation(1.0, 2.0, np.eye(1), np.ones(1))
    assert plain.over_normal == -np.inf and plain.sliced == SLICED


def test_two_clouds_on_a_line_gain_what_the_formula_says():
    """By hand: rows at -1 and 1, blurred by a known spread, along one white direction."""
    x = np.concatenate([-1 + np.linspace(-0.3, 0.3, 40), 1 + np.linspace(-0.3, 0.3, 60)])
    x = (x - x.mean()) / x.std()
    labels = np.repeat([0, 1], [40, 60])
    found = separations(x[:, None], labels[None], 2)
    shares = np.array([0.4, 0.6])
    entropy = -(shares * np.log(shares)).sum()
    within = sum(
        share * x[labels == k].var() for k, share in enumerate(shares)
    )  # one spread for all groups
    # One mean and one share more than without groups; no choice of a direction among one.
    known = -entropy - 0.5 * np.log(within) + SLICED - 0.5 * 2 * np.log(100) / 100
    assert found.over_normal[0] == pytest.approx(known, abs=1e-9)
    assert found.entropy[0] == pytest.approx(entropy)
    assert found.ratios[0, 0] == pytest.approx((1 - within) / within, rel=1e-6)
    assert found.dims.tolist() == [1]
    assert 0 <= found.over_normal[0] - found.gain[0] < 2
    np.testing.assert_allclose(found.shares[0], shares)
    np.testing.assert_allclose(found.centres[0, :, 0], [x[:40].mean(), x[40:].mean()])
    np.testing.assert_allclose(found.spreads[0, :, 0], [x[:40].var(), x[40:].var()])


def test_each_direction_among_others_is_paid_for():
    """The same groups among two columns of noise that are exactly uncorrelated with all."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 50)
    side = np.where(labels == 0, -1.0, 1.0)
    raw = np.column_stack([side + 0.2 * rng.normal(size=100), rng.normal(size=(100, 2))])
    raw -= raw.mean(axis=0)
    told, _ = np.linalg.qr(np.column_stack([np.ones(100), side, raw[:, 0]]))
    raw[:, 1:] -= told @ (told.T @ raw[:, 1:])
    basis, _ = np.linalg.qr(raw)
    Y = basis * 10
    alone = separations(Y[:, :1], labels[None], 2)
    among = separations(Y, labels[None], 2)
    paid = 0.5 * (3 - 1) * np.log(100) / 100
    assert alone.over_normal[0] - among.over_normal[0] == pytest.approx(paid, abs=1e-6)


@pytest.mark.parametrize("kernel", [telling_directions, telling_directions.reference])
def test_directions_are_of_length_one_and_the_best_is_first(kernel):
    explained = np.array([[-0.1, 0.2, 0.8]])
    vectors = np.array([[[1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, -5.0]]])
    kept, ratios, dims = kernel(explained, vectors, np.array([[50.0, 50.0, 50.0]]), 150)
    assert dims.tolist() == [2]
    np.testing.assert_allclose(kept[0], [[0, 0], [0, 1], [1, 0]], atol=1e-12)
    np.testing.assert_allclose(ratios[0], [4.0, 0.25])
    # Beyond the directions that tell groups apart there is nothing.
    both = np.repeat(explained, 2, axis=0)
    both[1, 1] = 0.0
    kept, _, dims = kernel(both, np.repeat(vectors, 2, axis=0), np.full((2, 3), 50.0), 150)
    assert dims.tolist() == [2, 1] and not kept[1, :, 1].any() and kept[1, 2, 0] == 1
    # A share of 1 is no endless ratio.
    _, ratios, _ = kernel(np.array([[1.0]]), np.ones((1, 1, 1)), np.array([[5.0, 5.0]]), 10)
    assert ratios[0, 0] == pytest.approx(1e6, rel=1e-3)


def test_a_direction_tells_if_it_is_worth_its_parameters():
    n, log = 100, np.log(100)
    for columns, groups in ((3, 2), (6, 4), (2, 5)):
        # Of the first direction, as many as columns and groups, less two.
        just = np.expm1((columns + groups - 2) * log / n)
        second = np.expm1((columns + groups - 4) * log / n)
        more = min(groups - 1, columns) > 1
        assert telling(np.array([2 * just, second * 1.001]), n, columns, groups) == 1 + more
        assert telling(np.array([2 * just, second * 0.999]), n, columns, groups) == 1
        # The first one is kept in any case, but those after one that is not worth it are not.
        assert telling(np.array([just * 0.5, 9.0]), n, columns, groups) == 1
    many = np.full(8, 50.0)
    assert telling(many, n, 8, 4) == 3  # groups less one
    assert telling(many, n, 2, 9) == 2  # columns
    both = telling(np.array([many, many]), n, 8, np.array([2, 6]))
    assert both.tolist() == [1, 5]


def test_rows_go_where_they_are_likeliest():
    rng = np.random.default_rng(0)
    Y = GroupingScorer(rng.normal(size=(90, 3)) * [1, 2, 3]).Y
    labels = rng.integers(0, 3, (2, 90))
    labels[0] = np.digitize(Y[:, 0], [-0.5, 0.9])
    labels[1] = np.where(labels[1] == 2, 0, labels[1])  # one group without rows
    found = separations(Y, labels, 3)
    best = found.likeliest()
    for m in range(2):
        dims = int(found.dims[m])
        density = np.full((3, 90), -np.inf)
        for k in range(3):
            if found.shares[m, k] > 0:
                away = np.square(found.seen[m, :, :dims] - found.centres[m, k, :dims])
                spread = found.spreads[m, k, :dims]
                density[k] = np.log(found.shares[m, k])
                density[k] -= 0.5 * (away / spread + np.log(2 * np.pi * spread)).sum(axis=1)
        np.testing.assert_array_equal(best[m], density.argmax(axis=0))


def test_small_clusters_are_noise_and_any_numbers_will_do():
    labels = np.array([4] * 30 + [9] * 30 + [6] * 2 + [-1] * 3)
    groups, n_clusters = in_earnest(labels)
    assert n_clusters == 2
    assert groups.tolist() == [0] * 30 + [1] * 30 + [2] * 5
    for other in (labels.astype(float), labels * 1000, labels.astype(np.int8)):
        again, n = in_earnest(np.where(other < 0, -1, other))
        assert (again.tolist(), n) == (groups.tolist(), 2)
    assert in_earnest(np.array([-5, -5, -5, -5]))[1] == 0


def test_white_columns_are_uncorrelated_and_back_tells_fishers_direction():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 3)) @ np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.4]])
    Z -= Z.mean(axis=0)
    Y, back = whitened(Z)
    values = np.linalg.eigvalsh(np.cov(Z.T, ddof=0))
    wide = values + RIDGE * values.mean()
    np.testing.assert_allclose(np.cov(Y.T, ddof=0), np.diag(values / wide), atol=1e-9)
    # A direction w among white columns is cov^-1 times the difference that it shows.
    shift = np.array([0.3, -1.0, 2.0])
    white = shift @ np.linalg.lstsq(Z, Y)[0]
    known = np.linalg.solve(np.cov(Z.T, ddof=0), shift)
    np.testing.assert_allclose(back @ white, known, rtol=1e-9)
    # A direction without any spread counts as a tenth of the ridge.
    flat = np.column_stack([Z[:, 0], np.zeros(500)])
    _, back = whitened(flat)
    ridge = RIDGE * flat[:, 0].var() / 2
    assert np.abs(back).max() == pytest.approx(np.sqrt(ridge) / (UNDONE * ridge))


def test_levels_are_blurred_by_their_step():
    column = np.repeat([0.0, 1.0], [300, 100])
    other = np.repeat([0.0, 2.0, 3.0], [150, 150, 100])
    columns = np.column_stack([column - column.mean(), other - other.mean()])
    found = _blurred(columns)
    np.testing.assert_allclose(found.std(axis=0), columns.std(axis=0))
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    noise = np.random.default_rng(0).normal(size=columns.shape)
    for j, step in ((0, 1.0), (1, 2.0)):
        raw = columns[:, j] + step / np.sqrt(2) * noise[:, j]
        raw -= raw.mean()
        np.testing.assert_allclose(found[:, j], raw * columns[:, j].std() / raw.std())


def test_the_largest_step_is_among_frequent_values():
    n = 1000
    column = np.concatenate(
        [np.zeros(500), np.ones(300), np.full(190, 3.0), np.linspace(9, 99, 10)]
    )
    assert largest_step(column) == 2.0  # 3 to 9 is a step to a value that one row has
    assert largest_step(np.arange(n, dtype=float)) == n - 1  # none is frequent: the whole range
    # Exactly so many rows are not more.
    from subscape.validation.criteria import SMALLEST_SHARE

    least = round(SMALLEST_SHARE * n)
    edge = np.concatenate([np.zeros(500), np.ones(500 - least), np.full(least, 5.0)])
    assert largest_step(edge) == 1.0


def test_principal_directions_of_tall_and_wide_tables():
    rng = np.random.default_rng(0)
    for shape in ((40, 6), (6, 40), (10, 10)):
        X = rng.normal(size=shape) * np.arange(1, shape[1] + 1)
        X -= X.mean(axis=0)
        known = np.linalg.svd(X, full_matrices=False)[2][:4].T
        found = principal_directions(X, 4)
        assert found.shape == (shape[1], 4)
        np.testing.assert_allclose(np.abs((found * known).sum(axis=0)), 1, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1)
        assert (found[np.abs(found).argmax(axis=0), np.arange(4)] > 0).all()


def test_directions_point_to_their_largest_component():
    root = np.sqrt(0.5)
    # Of two that are alike up to rounding the first decides.
    for rounding in (-1e-15, 1e-15):
        vectors = np.array([[-root, root], [root + rounding, -(root + rounding)], [0.0, 0.0]])
        assert pointing(vectors)[:2].round(3).tolist() == [[0.707, 0.707], [-0.707, -0.707]]
    just = np.array([[-0.98, -0.991], [1.0, 1.0]])
    assert pointing(just).tolist() == [[-0.98, 0.991], [1.0, -1.0]]
    assert np.array_equal(pointing(-just), pointing(just))


def test_as_many_directions_as_rows_and_variance_allow():
    rng = np.random.default_rng(0)
    exact = GroupingScorer(rng.normal(size=(10 * 4, 4)))
    assert exact.has_columns and exact.directions.tolist() == np.eye(4).tolist()
    assert ROWS_PER_DIRECTION == 10 and MOST_DIRECTIONS == 100
    fewer = GroupingScorer(rng.normal(size=(39, 4)))
    assert not fewer.has_columns and fewer.Z.shape[1] <= 3
    # Of 39 rows three directions, of which those are kept that hold 95 % of their variance.
    scales = np.array([10.0, 5.0, 1.0, 0.1])
    X = np.linalg.qr(rng.normal(size=(39, 5)) - 0.0)[0][:, :4]
    X -= X.mean(axis=0)
    X = np.linalg.svd(X, full_matrices=False)[0] * scales
    held = np.cumsum(scales**2)
    n_kept = int(np.searchsorted(held, 0.95 * held[2])) + 1
    assert GroupingScorer(X).Z.shape[1] == n_kept == 2
    assert GroupingScorer(X, all_directions=True).Z.shape[1] == 3
    two = X * np.array([1.0, 0.1, 1.0, 1.0])
    assert GroupingScorer(two).Z.shape[1] == 1
    np.testing.assert_allclose(np.abs(GroupingScorer(X).directions), np.eye(4)[:, :2], atol=1e-6)


def test_noise_beside_two_clusters_is_a_group():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 6 * np.repeat([[0.0, 0], [1, 0], [0, 1]], 20, axis=0)
    labels = np.repeat([0, 1, -1], 20)
    scorer = GroupingScorer(X)
    known = scorer(np.repeat([0, 1, 2], 20))
    found = scorer(labels)
    assert found.gain == pytest.approx(known.gain) and found.basis.shape == (2, 2)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(2), atol=1e-12)
    assert scorer(labels) is found  # known by now
    # Fisher's direction of two groups.
    two = np.repeat([0, 1], 30)
    direction = scorer(two).basis[:, 0]
    means = X[30:].mean(axis=0) - X[:30].mean(axis=0)
    within = sum(np.cov(X[two == k].T, ddof=0) for k in (0, 1))
    fisher = np.linalg.solve(within, means)
    assert abs(direction @ fisher) / np.linalg.norm(fisher) == pytest.approx(1, abs=1e-3)


def test_what_is_left_has_nothing_of_what_was_taken_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    first, second = np.eye(4)[:, :1], np.ones((4, 1))
    left = project_out(X, first, second)
    centred = X - X.mean(axis=0)
    seen = centred @ np.hstack([first, second])
    known = centred - seen @ np.linalg.lstsq(seen, centred, rcond=None)[0]
    np.testing.assert_allclose(left, known, atol=1e-9)
    np.testing.assert_allclose(project_out(X, np.zeros((4, 0))), centred)
    # A direction without spread takes nothing with it.
    X[:, 0] = 3.0
    left = project_out(X, second, first)
    seen = (X - X.mean(axis=0)) @ second
    centred = X - X.mean(axis=0)
    known = centred - seen @ np.linalg.lstsq(seen, centred, rcond=None)[0]
    np.testing.assert_allclose(left, known, atol=1e-9)


# -- slices ---------------------------------------------------------------------------------------


def test_lengths_of_clouds():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [20, 30, 50])
    seen = rng.normal(size=(100, 2)) * [1.0, 3.0] + 8 * labels[:, None]
    shares = np.array([0.2, 0.3, 0.5])
    numbers = -(100 * shares * np.log(shares)).sum()
    rough = numbers
    for k in range(3):
        own = seen[labels == k]
        rough += len(own) * (np.log(own.std(axis=0)) + 0.5 * np.log(2 * np.pi * np.e)).sum()
    assert _rough_length(seen, labels) == pytest.approx(rough)
    # Spreads have a floor, and a number that no row has costs nothing.
    flat = np.zeros((10, 1))
    floored = 10 * (np.log(0.02) + 0.5 * np.log(2 * np.pi * np.e))
    assert _rough_length(flat, np.zeros(10, int)) == pytest.approx(floored)
    # With parameters: of the shares, and of the clouds themselves.
    whole = sum(slices._cost(seen, np.flatnonzero(labels == k)) for k in range(3))
    assert _length(seen, labels) == pytest.approx(numbers + np.log(100) + whole)


def test_slices_are_merged_and_clouds_are_not():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 2)) + 12 * np.repeat([[0.0, 0.0], [1, 0], [0, 1], [1, 1]], 50, axis=0)
    four = np.repeat([0, 1, 2, 3], 50)
    scorer = GroupingScorer(Z)
    assert merged_slices(scorer, four) is four
    cut = np.where((four == 2) & (Z[:, 0] > 0), 4, four)
    cut = np.where((four == 1) & (Z[:, 1] > 0), 5, cut)
    merged = merged_slices(scorer, cut)
    assert canonical(merged).tolist() == four.tolist()
    assert is_sliced(scorer, cut, [four]) and not is_sliced(scorer, four, [cut])
    # Two clusters stay two, and one of them is no coarser grouping.
    two = np.repeat([0, 1], 100)
    assert merged_slices(scorer, two) is two
    assert not is_sliced(scorer, four, [np.zeros(200, int)])
    assert not is_sliced(scorer, two, [two])
    # What was compared is not compared again, and one that slices it is enough.
    assert is_sliced(scorer, cut, [two, four]) and is_sliced(scorer, cut, [four, two])


# -- which groupings are reported -----------------------------------------------------------------


def separation(gain, entropy, normal=None):
    more = {} if normal is None else {"over_normal": normal}
    return Separation(gain, entropy, np.zeros((1, 0)), np.zeros(0), **more)


def test_gains_over_one_normal_count_where_they_are_known():
    boxes = separation(0.7, 1.0)
    assert over_normal(boxes) is boxes
    found = over_normal(separation(0.7, 1.0, 2.0))
    assert (found.gain, found.sliced) == (pytest.approx(2.0 - SLICED), 0.0)


def test_a_finer_grouping_must_gain_half_as_much_per_nat():
    coarse = separation(1.0, 2.0)
    assert is_less_clear(0.2499, 1.0, coarse) and not is_less_clear(0.2501, 1.0, coarse)
    assert not is_less_clear(0.25, 1.0, coarse)
    # What a grouping in two halves tells counts at least.
    uneven = separation(1.0, 0.1)
    least = 0.5 / LOG2
    assert is_less_clear(least - 1e-6, 1.0, uneven)
    assert not is_less_clear(least + 1e-6, 1.0, uneven)


@pytest.fixture
def crossed():
    """Two crossed groupings in columns of their own, and noise."""
    rng = np.random.default_rng(0)
    a, b = np.repeat([0, 1], 80), np.tile([0, 1], 80)
    X = rng.normal(size=(160, 4))
    X[:, 0] += 7 * a
    X[:, 1] += 6 * b
    return X - X.mean(axis=0), a, b


def test_both_of_two_crossed_groupings_are_chosen_the_clearer_first(crossed):
    X, a, b = crossed
    scorer = GroupingScorer(X)
    both = 2 * a + b
    chosen = choose_views(scorer, [both, b, a, 1 - a])
    assert [one.place for one in chosen] == [2, 1]
    assert chosen[0].score > chosen[1].score > 0
    assert chosen[0] == Chosen(2, pytest.approx(scorer(a).score, rel=1e-6))
    # What is known is not reported again.
    assert [one.place for one in choose_views(scorer, [both, b, a], [a])] == [1]
    assert choose_views(scorer, []) == []
    random = np.random.default_rng(1).integers(0, 2, 160)
    assert choose_views(scorer, [random]) == []


def test_parts_of_the_choice(crossed):
    X, a, b = crossed
    both = 2 * a + b
    search = _Search(GroupingScorer(X), [(a, None), (b, None), (both, None)], [])
    assert search.known.tolist() == [0] * 160
    assert search.cost == pytest.approx(0.15 * max(one.score for one in search.whole))
    # A product tells its factors, not the other way round.
    assert search.coarser(2, (0, 1)) == [0, 1] and search.coarser(0, (0, 1, 2)) == []
    assert search.fresh(0, [1]) == pytest.approx(1.0, abs=0.01)
    assert search.fresh(2, [0, 1]) == pytest.approx(0.0, abs=0.01)
    assert search.fresh(2, [0]) == pytest.approx(0.5, abs=0.01)
    assert search.gain(0, []) == pytest.approx(search.whole[0].gain)
    assert search.gain(0, [], over_hump=True) == pytest.approx(search.told[0].gain)
    assert search.worth(0, []) == pytest.approx(
        search.whole[0].gain - search.cost * search.whole[0].entropy
    )
    assert search.value([0, 1]) == pytest.approx(search.worth(0, {1}) + search.worth(1, {0}))
    assert search.clarity(0, [1]) == search.score(0, [1]) * search.fresh(0, [1])
    # An independent one may have been blurred by chance, which is made up for.
    rest = over_normal(search.scored(0, [1])).gain
    parts = (1 + 2 * np.sqrt(2)) / 160
    made_up = 0.5 * np.log1p(parts * search.whole[0].ratios).sum()
    assert search.gain(0, [1]) == pytest.approx(min(search.whole[0].gain, rest + made_up))
    # One that others tell is not.
    assert search.gain(2, [0]) == pytest.approx(
        min(search.whole[2].gain, over_normal(search.scored(2, [0])).gain)
    )
    assert set(search.extended(())) == {0, 1}
    assert search.extended((), barred=0)[0] != 0
    assert search.candidates((0, 1)) == [] and 2 not in search.candidates((0,))
    changed = search.changes((0, 1))
    assert (0,) in changed and (1,) in changed  # one dropped
    assert (2,) in changed  # both merged into one
    assert all(len(set(each)) == len(each) for each in changed)


def test_joint_labels_number_every_pair():
    a, b = np.array([0, 0, 1, 1, -1, -1]), np.array([0, 1, 0, 1, 0, -1])
    joint = joint_labels(a, b)
    assert len(np.unique(joint)) == 6
    assert len(np.unique(joint_labels(a, a))) == 3
    big = joint_labels(np.array([0, 3, 3]), np.array([5, 0, 5]))
    assert len(np.unique(big)) == 3


def test_labels_without_signs():
    labels = np.array([7, 3, 3, 3, 7, 7], np.uint8)
    assert canonical(labels).tolist() == [0, 1, 1, 1, 0, 0]
    assert joint_labels(labels, labels).tolist() == [1, 0, 0, 0, 1, 1]
    assert redundancy(labels, labels.astype(int)) == pytest.approx(1.0)
    groups, n_clusters = in_earnest(np.array([1, 1, 1, 0, 0, 0], np.uint8))
    assert (groups.tolist(), n_clusters) == ([1, 1, 1, 0, 0, 0], 2)
    assert in_earnest(np.array([], np.int64))[1] == 0
