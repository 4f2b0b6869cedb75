from __future__ import annotations

import numpy as np
import pytest

from subscape.core import SubspaceClustering
from subscape.datasets import planted_views
from subscape.finders import COALA
from subscape.measures import dq_measure, generalized_dunn, label_jaccard_score


@pytest.fixture(scope="module")
def views():
    return planted_views(90, 4, n_clusters=(3, 3), random_state=0)


def test_it_is_the_harmonic_mean_of_its_parts(views):
    X, (known, hidden) = views
    score = dq_measure(X, known, hidden, separation="centroid", diameter="average")
    index = generalized_dunn(X, hidden.labels(), separation="centroid", diameter="average")
    assert score.dissimilarity == pytest.approx(1 - label_jaccard_score(known, hidden))
    assert score.quality == pytest.approx(index / (1 + index))
    assert 1 / score.dq == pytest.approx((1 / score.dissimilarity + 1 / score.quality) / 2)


def test_what_is_known_has_no_dq(views):
    X, (known, _) = views
    assert dq_measure(X, known, known)[::2] == (0.0, 0.0)


def test_labels_clusterings_and_finders_alike(views):
    X, (known, _) = views
    finder = COALA().fit(X, given=known)
    expected = dq_measure(X, known, finder)
    assert dq_measure(X, known.labels(), finder.labels_) == expected
    assert dq_measure(X, known.labels().tolist(), finder.labels_) == expected


def test_several_known_ones_are_averaged(views):
    X, (known, hidden) = views
    labels = np.arange(90) % 3
    parts = [dq_measure(X, each, labels).dissimilarity for each in (known, hidden)]
    assert dq_measure(X, [known, hidden], labels).dissimilarity == pytest.approx(np.mean(parts))


def test_one_cluster_or_none_has_no_quality(views):
    X, (known, _) = views
    for labels in (np.zeros(90, int), np.where(np.arange(90) < 5, 0, -1)):
        assert dq_measure(X, known, labels)[1:] == (0.0, 0.0)


def test_points_have_the_best_quality():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    apart = SubspaceClustering.from_labels(np.repeat([0, 1, 2], 4), n_features=1)
    assert dq_measure(X, np.arange(12) % 2, apart).quality == 1.0
    # Clusters in one point and of no width: neither apart nor wide.
    assert dq_measure(np.zeros((4, 1)), [0, 0, 1, 1], [0, 1, 0, 1]).quality == 0.0


def test_all_clusterings_of_a_finder_are_known():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30, 3)), rng.integers(0, 2, (3, 30))

    class Fitted:
        clusterings_ = tuple(SubspaceClustering.from_labels(one) for one in labels[:2])
        clustering_ = clusterings_[0]

    assert dq_measure(X, Fitted(), labels[2]) == dq_measure(X, list(labels[:2]), labels[2])
