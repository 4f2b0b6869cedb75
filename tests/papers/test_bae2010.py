"""What Bae, Bailey and Dong (2010) print about ADCO, and what ERRATA corrects."""

import numpy as np
import pytest

from subscape.measures import (
    Bins,
    DensityProfile,
    adco_distance,
    adco_similarity,
    label_rand_score,
    match_profiles,
)


def profile(rows, n_attributes=1):
    counts = np.array(rows)
    width = counts.shape[1] // n_attributes
    names = [f"x{j}" for j in range(n_attributes)]
    bins = Bins(names, [np.arange(width + 1.0)] * n_attributes)
    return DensityProfile(counts, bins, counts[:, :width].sum(axis=1), int(counts.sum()))


@pytest.fixture
def figure_3():
    """Points in a 2 x 2 grid of bins, as many as Fig. 3 has of each cluster in each bin."""
    cells = {0: [(0, 0)] * 5 + [(0, 1)] * 3, 1: [(1, 0)] * 3 + [(1, 1)] * 3}
    first = [0] * 8 + [1] * 6
    X = np.array(cells[0] + cells[1], float)
    # The second clustering, (5, 2, 2, 5 | 3, 4, 6, 1), drawn over the same points.
    second = [0] * 2 + [1] * 3 + [0] * 3 + [1] * 3 + [0] * 2 + [1]
    return X, first, second


def test_figure_3_from_points(figure_3):
    X, first, second = figure_3
    a, b = (DensityProfile.of(X, labels, bins=2) for labels in (first, second))
    assert a.vector.tolist() == [8, 0, 5, 3, 0, 6, 3, 3]
    assert b.vector.tolist() == [5, 2, 2, 5, 3, 4, 6, 1]
    found = match_profiles(a, b)
    assert found.products.tolist() == [[65, 57], [33, 45]]
    assert found.similarity == 110
    assert found.products[0, 1] + found.products[1, 0] == 90
    assert (found.square_a, found.square_b) == (152, 120)
    assert adco_similarity(a, b) == pytest.approx(110 / 152)
    assert round(adco_similarity(a, b), 4) == 0.7237
    assert adco_distance(a, b) == pytest.approx(2 - 110 / 152)


def test_example_of_names():
    names = [["Bob"], ["Bob"], ["Alice"], ["Alice"]]
    first, second = [0, 1, 0, 1], [1, 0, 0, 1]
    a, b = (DensityProfile.of(names, labels) for labels in (first, second))
    assert adco_similarity(a, b) == 1.0
    assert adco_distance(a, b) == 0.0
    assert label_rand_score(first, second) == pytest.approx(1 / 3)


def test_sizes_example():
    a, b = profile([[1, 1]]), profile([[100, 100]])
    assert adco_similarity(a, b) == pytest.approx(0.01)
    assert adco_similarity(a, b, variant="cosine") == pytest.approx(1)
    assert adco_similarity(a, b, sizes="scaled") == pytest.approx(1)


def test_the_printed_triangle_counterexample_is_none_and_a_real_one_is_repaired():
    printed = [profile([row]) for row in ([3, 0, 0, 4], [3, 3, 0, 1], [1, 0, 2, 4])]
    plain = [1 - adco_similarity(printed[i], printed[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(plain, [0.48, 0.24, 2 / 3], atol=1e-12)
    assert max(plain) <= sum(plain) - max(plain)
    real = [profile([row]) for row in ([0, 0, 0, 7], [0, 0, 1, 6], [0, 0, 2, 5])]
    ends = 1 - adco_similarity(real[0], real[2])
    steps = [1 - adco_similarity(real[i], real[i + 1]) for i in (0, 1)]
    assert round(ends, 4) == 0.2857
    assert [round(step, 4) for step in steps] == [0.1429, 0.1351]
    assert ends > sum(steps)
    pairs = [adco_distance(real[i], real[j]) for i, j in ((0, 2), (0, 1), (1, 2))]
    assert pairs[0] <= pairs[1] + pairs[2]


def test_points_given_to_a_neighbour_leave_clusterings_more_alike_than_points_given_far_away():
    """Fig. 1's situation, on a diagonal; the benchmark has layouts that do not show it."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 10)
    centres = np.array([[0.0, 0.0], [2.5, 2.5], [5.0, 5.0]])
    found = []
    for _ in range(60):
        X = centres[truth] + rng.uniform(-1.6, 1.6, (30, 2))
        order = np.argsort(X[:10].sum(axis=1))
        near, far = truth.copy(), truth.copy()
        near[order[-5:]] = 1
        far[order[:5]] = 2
        assert label_rand_score(truth, near) == label_rand_score(truth, far)
        known, close, distant = (DensityProfile.of(X, labels) for labels in (truth, near, far))
        found.append((adco_similarity(known, close), adco_similarity(known, distant)))
    close, distant = np.array(found).T
    assert round(label_rand_score(truth, near), 2) == 0.83
    assert close.mean() > distant.mean() + 0.02
    assert (close > distant).mean() > 0.7
