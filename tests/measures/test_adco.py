"""ADCO and its distance: matching, bounds, the metric D', sizes, and what can't be compared."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscape import SubspaceClustering
from subscape.core import AxisSubspaces
from subscape.core.errors import EmptyClusteringError, ShapeMismatchError
from subscape.measures import (
    Bins,
    DensityProfile,
    adco_distance,
    adco_matrix,
    adco_similarity,
    match_profiles,
)
from subscape.measures.registry import EVERY_KIND, Measure
from subscape.testing.measures import MEASURE_CHECKS


def profile(*rows, names=("x",)):
    counts = np.array(rows)
    width = counts.shape[1] // len(names)
    bins = Bins(names, [np.arange(width + 1.0)] * len(names))
    return DensityProfile(counts, bins, counts[:, :width].sum(axis=1), int(counts.max(initial=0)))


def brute_similarity(a, b):
    one, other = a.counts.astype(float), b.counts.astype(float)
    if len(one) > len(other):
        one, other = other, one
    return max(
        sum(float(one[k] @ other[chosen[k]]) for k in range(len(one)))
        for chosen in permutations(range(len(other)), len(one))
    )


profiles = st.integers(1, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=k, max_size=k
    ).filter(lambda rows: any(any(row) for row in rows))
)


@settings(deadline=None, max_examples=50)
@given(profiles, profiles)
def test_definition_symmetry_and_bounds(left, right):
    a, b = profile(*left), profile(*right)
    most = max(a.square, b.square)
    similarity = adco_similarity(a, b)
    assert similarity == pytest.approx(brute_similarity(a, b) / most, abs=1e-12)
    assert similarity == adco_similarity(b, a)
    assert 0 <= similarity <= 1
    cosine = adco_similarity(a, b, variant="cosine")
    assert similarity - 1e-12 <= cosine <= 1
    assert adco_similarity(a, profile(*left[::-1])) == 1.0


@settings(deadline=None, max_examples=50)
@given(profiles, profiles, profiles)
def test_the_distance_is_a_metric(one, two, three):
    a, b, c = profile(*one), profile(*two), profile(*three)
    ab, bc, ac = adco_distance(a, b), adco_distance(b, c), adco_distance(a, c)
    assert ab == adco_distance(b, a)
    assert ac <= ab + bc

    def content(rows):
        return sorted(tuple(row) for row in rows if any(row))

    assert (ab == 0) == (content(one) == content(two))
    assert ab == 0 or 1 <= ab <= 2
    assert adco_distance(a, a) == 0


def test_without_the_constant_the_triangle_inequality_fails():
    a, b, c = profile([0, 3]), profile([2, 1]), profile([1, 2])

    def plain(x, y):
        return 1 - adco_similarity(x, y)

    assert plain(a, b) > plain(a, c) + plain(c, b)
    assert adco_distance(a, b) <= adco_distance(a, c) + adco_distance(c, b)
    # The counterexample in print is none.
    a, b, c = profile([3, 0, 0, 4]), profile([3, 3, 0, 1]), profile([1, 0, 2, 4])
    for x, y, z in permutations([a, b, c]):
        assert plain(x, y) <= plain(x, z) + plain(z, y)


@pytest.mark.parametrize("seed", range(5))
def test_many_clusters_that_differ_in_a_single_point(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 10**6, (150, 40))
    a, b = profile(*counts), profile(*counts[rng.permutation(150)])
    assert adco_distance(a, b) == 0.0
    assert adco_similarity(a, b) == 1.0
    moved = counts.copy()
    moved[rng.integers(150), rng.integers(40)] += 1
    c = profile(*moved)
    assert 1.0 <= adco_distance(a, c) < 1.0 + 1e-6
    assert adco_distance(a, c) == adco_distance(c, a)


def test_counts_beyond_the_exact_range_of_floats():
    huge = 2**40
    a, b = profile([huge, 1], [1, huge]), profile([1, huge], [huge, 1])
    assert adco_similarity(a, b) == 1.0
    assert adco_distance(a, b) == 0.0
    # One point more in 2**40: the similarity can't show it, the distance still does.
    c = profile([huge + 1, 1], [1, huge])
    assert adco_distance(a, c) >= 1.0


def test_minus_zero_is_zero():
    a, b = profile([0.0, 2.5]), profile([-0.0, 2.5])
    assert adco_distance(a, b) == 0.0
    assert adco_similarity(a, b) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_large_and_fractional_counts_keep_symmetry_and_identity_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    a, b = (profile(*rng.uniform(0, 10.0**9, (int(rng.integers(2, 60)), 37))) for _ in range(2))
    turned = profile(*a.counts[rng.permutation(a.n_clusters)])
    for options in ({}, {"variant": "cosine"}, {"kernel": "rbf"}, {"kernel": "polynomial"}):
        assert adco_similarity(a, b, **options) == adco_similarity(b, a, **options)
        assert adco_similarity(a, turned, **options) == 1.0
    assert adco_distance(a, turned) == 0.0
    assert adco_distance(a, b) == adco_distance(b, a)
    assert adco_similarity(a, b) == pytest.approx(adco_similarity(turned, b), rel=1e-14)


def test_as_many_points_as_can_be_counted():
    most = profile([2**53, 0], [0, 2**53 - 1])
    assert adco_similarity(most, most) == 1.0
    assert adco_distance(most, most.select([1, 0])) == 0.0
    assert adco_distance(most, profile([2**53, 0], [0, 2**53 - 2])) >= 1.0
    with pytest.raises(ValueError, match=r"2\*\*53"):
        profile([2**53 + 2, 0])


def test_products_match_an_exact_sum():
    rng = np.random.default_rng(7)
    counts = [rng.integers(0, 10**9, (6, 50)) for _ in range(2)]
    a, b = (profile(*part) for part in counts)
    found = match_profiles(a, b)
    exact = sum(
        int(x) * int(y)
        for i, j in found.pairs.tolist()
        for x, y in zip(counts[0][i].tolist(), counts[1][j].tolist(), strict=True)
    )
    assert found.similarity == pytest.approx(exact, rel=1e-14)


def test_different_numbers_of_clusters():
    a, b = profile([4, 0], [0, 4]), profile([2, 0], [2, 0], [0, 4])
    # Half of the cluster that was split is left without a partner.
    assert adco_similarity(a, b) == (4 * 2 + 16) / 32
    assert match_profiles(a, b).pairs.tolist() == [[0, 0], [1, 2]]
    merged = match_profiles(a, b, matching="merged")
    assert merged.pairs.tolist() == [[0, 0], [0, 1], [1, 2]]
    assert adco_similarity(a, b, matching="merged") == 1.0
    assert adco_similarity(b, a, matching="merged") == 1.0
    turned = match_profiles(b, a, matching="merged")
    assert turned.pairs.tolist() == [[0, 0], [1, 0], [2, 1]]
    assert (turned.square_a, turned.square_b) == (merged.square_b, merged.square_a)


def test_all_pairs_weighted():
    a, b = profile([3, 1], [1, 3]), profile([3, 1], [1, 3])
    # Products 10 and 6: weights 5/8 and 3/8 keep their proportion.
    found = match_profiles(a, b, matching="weighted")
    np.testing.assert_allclose(found.weights, [[5 / 8, 3 / 8], [3 / 8, 5 / 8]])
    assert adco_similarity(a, b, matching="weighted") == pytest.approx(
        2 * (10 * 5 / 8 + 6 * 3 / 8) / 20
    )
    assert found.pairs.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    # A cluster cut in two counts with both pieces; the other clusters have a third less to share.
    apart, pieces = profile([4, 0], [0, 4]), profile([2, 0], [2, 0], [0, 4])
    assert adco_similarity(apart, pieces, matching="weighted") == pytest.approx(
        (8 * 2 / 2 + 16 * 2 / 3) / 32
    )
    assert adco_similarity(apart, apart, matching="weighted") == 1.0


@settings(deadline=None, max_examples=60)
@given(profiles, profiles)
def test_weights_of_all_pairs_are_shares(left, right):
    a, b = profile(*left), profile(*right)
    found = match_profiles(a, b, matching="weighted")
    assert (found.weights >= 0).all()
    for axis in (0, 1):
        assert (found.weights.sum(axis=axis) <= 1 + 1e-9).all()
    assert found.similarity <= match_profiles(a, b).similarity * (1 + 1e-9)
    value = adco_similarity(a, b, matching="weighted")
    assert 0 <= value <= 1
    assert value == pytest.approx(adco_similarity(b, a, matching="weighted"), rel=1e-9)
    turned = b.select(list(range(len(right)))[::-1])
    assert value == pytest.approx(adco_similarity(a, turned, matching="weighted"), rel=1e-6)


def test_an_empty_cluster_changes_nothing():
    a, b = profile([4, 1], [0, 4]), profile([4, 1], [0, 0], [0, 4])
    assert adco_similarity(a, b) == 1.0
    weighted = [adco_similarity(a, each, matching="weighted") for each in (a, b)]
    assert weighted[0] == weighted[1]
    assert adco_distance(a, b) == 0.0


def test_unequal_sizes():
    a, b = profile([1, 1]), profile([100, 100])
    assert adco_similarity(a, b) == pytest.approx(0.01)
    for options in ({"variant": "cosine"}, {"sizes": "scaled"}):
        assert adco_similarity(a, b, **options) == pytest.approx(1)
        assert adco_similarity(b, a, **options) == pytest.approx(1)
    rng = np.random.default_rng(0)
    small = DensityProfile.of(rng.normal(size=(200, 3)), np.arange(200) % 2)
    large = DensityProfile.of(rng.normal(size=(4000, 3)), np.arange(4000) % 2, bins=small)
    low = adco_similarity(small, large)
    drawn = [adco_similarity(small, large, sizes="sampled", random_state=i) for i in range(20)]
    assert low < 0.1 < 0.8 < min(drawn) <= 1
    again = adco_similarity(large, small, sizes="sampled", random_state=3)
    assert again == drawn[3]
    assert adco_similarity(small, large, sizes="scaled") == pytest.approx(np.mean(drawn), abs=0.05)


@settings(deadline=None, max_examples=30)
@given(profiles, profiles)
def test_kernels_keep_the_bounds_and_the_best_value(left, right):
    a, b = profile(*left), profile(*right)
    for kernel in ("polynomial", "rbf"):
        value = adco_similarity(a, b, kernel=kernel)
        assert 0 <= value <= 1
        assert adco_similarity(a, a, kernel=kernel) == 1.0
        assert value == adco_similarity(b, a, kernel=kernel)
    expected = ((brute_similarity(a, b) + 1) / (max(a.square, b.square) + 1)) ** 2
    assert adco_similarity(a, b, kernel="polynomial") == pytest.approx(expected)


def test_matrix_of_windows():
    rng = np.random.default_rng(0)
    bins = Bins(["x0", "x1"], [np.linspace(-4, 9, 11)] * 2)
    windows = [
        DensityProfile.of(rng.normal(shift, 1, (300, 2)), np.arange(300) % 2, bins=bins)
        for shift in (0, 0.1, 5)
    ]
    matrix = adco_matrix(windows)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1)
    assert matrix[0, 1] > 0.9 > 0.3 > matrix[0, 2]
    with pytest.raises(ValueError, match="no profiles"):
        adco_matrix([])


def test_what_cannot_be_compared():
    a = profile([1, 2])
    with pytest.raises(TypeError, match=r"DensityProfile\.of"):
        adco_similarity(a, [0, 1])
    with pytest.raises(ValueError, match=r"'x' into different bins.*Bins\.common"):
        adco_similarity(a, DensityProfile(np.array([[1, 2]]), Bins("x", [[0, 5, 6]]), [3], 3))
    with pytest.raises(ShapeMismatchError, match="only the first profile has 'x'"):
        adco_distance(a, profile([1, 2], names=("y",)))
    nominal = DensityProfile(np.array([[1, 1]]), Bins("x", [None], [("u", "v")]), [2], 2)
    with pytest.raises(ValueError, match="numeric in one"):
        adco_similarity(a, nominal)
    for empty in (profile([0, 0]), DensityProfile(np.empty((0, 2)), a.bins, np.empty(0), 4)):
        for pair in ((a, empty), (empty, a), (empty, empty)):
            with pytest.raises(EmptyClusteringError, match="empty"):
                adco_similarity(*pair)
        with pytest.raises(EmptyClusteringError, match="empty"):
            adco_distance(a, empty)
    for option in ("variant", "sizes", "matching", "kernel"):
        with pytest.raises(ValueError, match=option):
            adco_similarity(a, a, **{option: "other"})


def test_soft_clusterings_do_not_jump_for_rounding():
    rng = np.random.default_rng(5)
    X, members = rng.normal(size=(500, 3)), rng.uniform(0.01, 1, (4, 500))
    spaces = AxisSubspaces(np.ones((4, 3), bool))
    order, turn = rng.permutation(500), rng.permutation(4)
    a = DensityProfile.of(X, SubspaceClustering(members, spaces))
    b = DensityProfile.of(X[order], SubspaceClustering(members[turn][:, order], spaces))
    assert adco_distance(a, b) == 0.0


def rows_table(n_rows):
    """A table in which every row lies in bins of its own."""
    return np.arange(n_rows, dtype=float)[:, None]


def of_clusterings(function):
    """The measure on clusterings of a table with one row per bin."""

    def measure(a, b):
        X = rows_table(getattr(a, "n_rows", None) or len(a))
        return function(*(DensityProfile.of(X, side, bins=max(len(X), 1)) for side in (a, b)))

    return measure


@pytest.mark.parametrize(
    ("function", "distance", "low", "high"),
    [(adco_similarity, False, 0, 1), (adco_distance, True, 0, 2)],
)
def test_passes_the_checks_of_measures(function, distance, low, high):
    promises = {"positive", "symmetric", "label permutation invariant"}
    entry = Measure(
        function.__name__, of_clusterings(function), "rows", distance, low, high, EVERY_KIND,
        frozenset(promises), "points of clusters in the same bins",
    )  # fmt: skip
    for name, check in MEASURE_CHECKS.items():
        # Profiles may come from different rows: that is what they are for.
        if name != "different_rows":
            check(entry)
