"""Kazempour, Beer, Kröger, Seidl: I fold you so! (SRE). Its figures, where they can be had."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from subscape.measures import decode, encode, loss_by_dim, sre


@pytest.fixture(scope="module")
def folded():
    """Eight clusters as in Fig. 2: a plane, a line, two pairs of crossing lines, a split line."""
    rng = np.random.default_rng(0)
    lines = [
        ((20, 20, 60), (1, 0, 0)),
        ((50, 80, 70), (1, 1, 0)),
        ((50, 80, 70), (1, -1, 0)),
        ((20, 60, 40), (0, 1, 1)),
        ((20, 60, 40), (0, 1, -1)),
        ((90, 20, 30), (0, 0.2, 1)),
        ((90, 30, 80), (0, 0.2, 1)),
    ]
    X = [np.column_stack([rng.uniform(0, 100, (80, 2)), np.zeros(80)])]
    for origin, direction in lines:
        X.append(origin + rng.uniform(-10, 10, (60, 1)) * direction)
    truth = np.repeat(np.arange(8), [80] + [60] * 7)
    return np.concatenate(X), truth


def merged(truth, *groups):
    labels = truth.copy()
    for first, second in groups:
        labels[truth == second] = first
    return np.unique(labels, return_inverse=True)[1]


def fragmented(X, truth, labels, number):
    """The plane, cluster 0, cut into strips."""
    strips = np.minimum((X[:, 0] * number / 100).astype(int), number - 1)
    cut = np.where((truth == 0) & (strips > 0), labels.max() + strips, labels)
    return np.unique(cut, return_inverse=True)[1]


def test_experiment_1(folded):
    """SRE 4.0 of CASH, 6.0, 3.5 and 6.5 of three runs of ORCLUS, with losses of 0."""
    X, truth = folded
    one_line = merged(truth, (6, 7))
    cash = sre(X, one_line, flat_dims=[2] + [1] * 6)
    first = sre(X, fragmented(X, truth, one_line, 4), flat_dims=2)
    second = sre(X, merged(truth, (6, 7), (2, 3), (4, 5)), flat_dims=2)
    third = sre(X, fragmented(X, truth, one_line, 5), flat_dims=2)
    scores = [cash, first, second, third]
    assert [score.n_clusters for score in scores] == [7, 10, 5, 11]
    assert [score.flat_dim for score in scores] == [1, 2, 2, 2]
    assert [score.loss for score in scores] == pytest.approx([0] * 4, abs=1e-9)
    assert [score.total for score in scores] == pytest.approx([4.0, 6.0, 3.5, 6.5], abs=1e-9)


def test_the_truth_pays_for_the_split_line(folded):
    X, truth = folded
    dims = [2] + [1] * 7
    assert sre(X, truth, flat_dims=dims).total == pytest.approx(4.5)


def test_crossing_lines_are_as_good_as_their_plane(folded):
    """One plane, or two lines: with equal prices a dimension is worth a cluster."""
    X, truth = folded
    rows = np.isin(truth, (2, 3))
    lines = sre(X[rows], truth[rows], flat_dims=1)
    plane = sre(X[rows], np.zeros(rows.sum(), int), flat_dims=2)
    assert lines.total == pytest.approx(1.5)
    assert plane.total == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("load", "dim", "paper", "ours"),
    [
        (load_iris, 3, 0.005, 0.00592),  # LMCLUS; the paper cuts off rather than rounds
        (load_wine, 8, 0.019, 0.01917),  # LMCLUS
        (load_breast_cancer, 8, 0.010, 0.00956),  # LMCLUS
        (load_breast_cancer, 2, 26.747, 26.74794),  # COPAC
        (load_digits, 7, 6.809, 6.80915),  # LMCLUS; the paper prints 11 dims beside it
    ],
)
def test_table_1_with_a_single_cluster(load, dim, paper, ours):
    """Entries of Table I with one cluster: tables as they are, covariance with 1 / n."""
    X = load().data
    score = sre(X, np.zeros(len(X), int), alpha=0, beta=0, flat_dims=dim)
    assert score.total == pytest.approx(ours, abs=5e-6)
    assert score.total == pytest.approx(paper, abs=1e-3)
    back = decode(encode(X, np.zeros(len(X), int), dim))
    assert np.mean(np.square(X - back)) == pytest.approx(score.loss)


def test_a_cluster_for_every_row_has_no_loss():
    """4C's answer on Wine in Table I: why dimensions and clusters must cost something."""
    X = load_wine().data
    assert sre(X, np.arange(178), flat_dims=12).loss == 0
    assert sre(X, np.arange(178), flat_dims=12).total == 0.5 * 12 + 0.5 * 178


def test_loss_falls_with_the_dims_on_wine():
    """Fig. 5: the linear autoencoder, the floor of any single flat."""
    curve = loss_by_dim(load_wine().data, np.zeros(178, int))
    assert (np.diff(curve) < 0).all()
    assert curve[12] == pytest.approx(0.0006, abs=5e-5)
