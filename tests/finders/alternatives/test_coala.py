from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.exceptions import ConvergenceWarning

from subscape.datasets import planted_views
from subscape.finders import COALA
from subscape.measures import adjusted_rand_score, normalized_mutual_info_score


@pytest.mark.parametrize(("omega", "worst", "good"), [(0.4, 0.5, 8), (0.3, 0.85, 10)])
def test_the_hidden_view_is_found(omega, worst, good):
    scores = []
    for seed in range(10):
        X, (known, hidden) = planted_views(300, 6, n_clusters=(3, 3), random_state=seed)
        labels = COALA(omega=omega).fit(X, given=known).labels_
        scores.append(normalized_mutual_info_score(hidden, labels))
    assert min(scores) > worst
    assert sum(score > 0.9 for score in scores) >= good


def test_a_large_omega_is_average_linkage():
    X, (known, _) = planted_views(120, 5, random_state=1)
    finder = COALA(n_clusters=4, omega=1e9).fit(X, given=known)
    expected = fcluster(linkage(X, "average"), 4, "maxclust")
    assert adjusted_rand_score(finder.labels_, expected) == 1
    assert finder.n_quality_merges_[0] == 116


def test_units_do_not_matter_but_to_the_heights():
    X, (known, _) = planted_views(80, 4, random_state=2)
    small, large = (COALA().fit(X * unit, given=known) for unit in (1.0, 1024.0))
    np.testing.assert_array_equal(small.labels_, large.labels_)
    np.testing.assert_allclose(large.merges_[0].height, 1024 * small.merges_[0].height)
    np.testing.assert_allclose(
        small.merges_[0].height[0],
        np.linalg.norm(X[small.merges_[0].left[0]] - X[small.merges_[0].right[0]]),
    )


def test_ties_do_not_depend_on_rounding():
    """Rows of nominal columns: very many distances are equal, but for their last bits."""
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(3)[rng.integers(0, 3, 250)] / np.sqrt(0.3) for _ in range(6)])
    known = rng.integers(0, 2, 250)
    first = COALA().fit(X, given=known)
    for other in (X + 1e3, X / 7, X[:, ::-1], -X):
        again = COALA().fit(other, given=known)
        np.testing.assert_array_equal(again.labels_, first.labels_)
        np.testing.assert_array_equal(again.merges_[0].left, first.merges_[0].left)


def test_labels_are_numbered_by_their_first_rows():
    X, (known, _) = planted_views(80, 4, random_state=2)
    labels = COALA(n_clusters=5).fit(X, given=known).labels_
    first = [np.argmax(labels == k) for k in range(5)]
    assert first == sorted(first)


def test_too_many_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="max_rows is 40"):
        COALA(max_rows=40).fit(X)


def test_a_metric_that_is_not_defined():
    X = np.array([[1.0, 0.5], [-1.0, -0.5], [0.5, 1.0], [-0.5, -1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="'cosine' is not defined"):
        COALA(metric="cosine").fit(X, given=[0, 0, 1, 1, 1])


def test_out_of_time_still_gives_k_clusters():
    X, (known, _) = planted_views(400, 4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = COALA(max_time=1e-9).fit(X, given=known)
    assert finder.clustering_.n_clusters == 3
