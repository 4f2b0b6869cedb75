"""k-means on what is left when known clusters are taken off."""

import numpy as np
import pytest

from subscape.datasets import planted_views
from subscape.finders import ResidualKMeans
from subscape.measures import normalized_mutual_info_score


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_the_hidden_view(n_clusters):
    for seed in range(5):
        X, (known, hidden) = planted_views(400, 6, n_clusters=(n_clusters,) * 2, random_state=seed)
        finder = ResidualKMeans(random_state=0).fit(X, given=known)
        assert normalized_mutual_info_score(hidden, finder.labels_) > 0.9
        assert normalized_mutual_info_score(known, finder.labels_) < 0.1
        assert 0 < finder.explained_[0] < 1


def test_each_alternative_is_known_to_the_next():
    X, views = planted_views(400, 8, n_clusters=(2, 2, 2), random_state=3)
    finder = ResidualKMeans(n_alternatives=2, random_state=0).fit(X, given=views[0])
    scores = np.array(
        [[normalized_mutual_info_score(v, each) for v in views] for each in finder.label_matrix_.T]
    )
    assert sorted(scores.argmax(axis=1)) == [1, 2]
    assert scores.max(axis=1).min() > 0.9
    assert finder.explained_[1] > finder.explained_[0]


def test_it_is_kmeans_of_the_residuals():
    rng = np.random.default_rng(0)
    known = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 3)) + 5 * known[:, None]
    finder = ResidualKMeans(n_clusters=3, random_state=0).fit(X, given=known)
    left = np.concatenate([X[known == c] - X[known == c].mean(axis=0) for c in (0, 1)])
    means = [left[finder.labels_ == c].mean(axis=0) for c in range(3)]
    own = left - np.array(means)[finder.labels_]
    assert finder.residual_inertia_[0] == pytest.approx(np.square(own).sum())


def test_the_same_bits_for_any_n_jobs():
    X, (known, _) = planted_views(200, 6, n_clusters=(3, 3), random_state=0)
    one, two = (ResidualKMeans(random_state=1, n_jobs=n).fit(X, given=known) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
