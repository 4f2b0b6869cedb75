"""Figure of Merit against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from tests.validation.finders import Halves

from subscape.core.errors import SubscapeError
from subscape.datasets import planted_axes
from subscape.finders import P3C
from subscape.validation import figure_of_merit


def by_hand(X, n_clusters=2):
    """With Halves, which cuts the first column that it sees into equal parts."""
    n, p = X.shape
    merits = []
    for j in range(p):
        rest = np.delete(X, j, axis=1)
        labels = np.argsort(np.argsort(rest[:, 0])) * n_clusters // n
        squares = sum(
            np.square(X[labels == k, j] - X[labels == k, j].mean()).sum() for k in range(n_clusters)
        )
        merits.append(np.sqrt(squares / n))
    return np.array(merits)


def test_definition():
    X = np.random.default_rng(0).normal(size=(20, 4))
    plain = figure_of_merit(Halves(), X, adjusted=False)
    np.testing.assert_allclose(plain.by_feature, by_hand(X))
    assert plain.aggregate == pytest.approx(by_hand(X).sum())
    assert plain.mean == pytest.approx(by_hand(X).mean())
    adjusted = figure_of_merit(Halves(), X)
    np.testing.assert_allclose(adjusted.by_feature, by_hand(X) / np.sqrt(18 / 20))
    assert "4 features" in repr(plain)


def test_mean_squares_as_the_thesis_prints_them():
    X = np.random.default_rng(0).normal(size=(20, 4))
    plain = figure_of_merit(Halves(), X, adjusted=False, squared=True)
    np.testing.assert_allclose(plain.by_feature, np.square(by_hand(X)))
    adjusted = figure_of_merit(Halves(), X, squared=True)
    np.testing.assert_allclose(adjusted.by_feature, np.square(by_hand(X)) * 20 / 18)


def test_features_count_where_they_are_relevant():
    X, truth = planted_axes(200, 6, n_clusters=2, dims=3, random_state=0)
    inside = figure_of_merit(P3C(), X, space="subspace")
    outside = figure_of_merit(P3C(), X)
    clusters = truth.subspaces.masks.sum(axis=0)
    assert np.isnan(inside.by_feature[clusters == 0]).all()
    np.testing.assert_allclose(inside.by_feature[clusters == 2], outside.by_feature[clusters == 2])
    one = clusters == 1
    assert one.any() and (inside.by_feature[one] < 0.1 * outside.by_feature[one]).all()


def test_failures_and_bad_arguments():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(SubscapeError, match="needs at least two"):
        figure_of_merit(Halves(), X[:, :1])
    with pytest.raises(SubscapeError, match="space"):
        figure_of_merit(Halves(), X, space="outer")
    with pytest.raises(SubscapeError, match="fails on the table"):
        figure_of_merit(KMeans(11), X)
    lonely = figure_of_merit(Halves(n_clusters=10), X)
    assert np.isnan(lonely.by_feature).all() and np.isnan(lonely.mean)
