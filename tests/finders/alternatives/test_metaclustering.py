from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, rand_score

from subscape.datasets import planted_views
from subscape.finders import MetaClustering
from subscape.finders.alternatives.metaclustering import clustering_differences, weighted_kmeans

LABELS = arrays(np.int64, (4, 12), elements=st.integers(0, 3))


@given(LABELS)
@settings(deadline=None, max_examples=50)
def test_differences_are_those_of_scikit_learn_and_a_metric(labellings):
    labellings = [np.unique(each, return_inverse=True)[1] for each in labellings]
    rand, ari = (clustering_differences(labellings, kind) for kind in ("rand", "ari"))
    for i, a in enumerate(labellings):
        for j, b in enumerate(labellings):
            assert rand[i, j] == pytest.approx(1 - rand_score(a, b), abs=1e-12)
            assert ari[i, j] == pytest.approx(1 - adjusted_rand_score(a, b), abs=1e-12)
            for k in range(4):
                assert rand[i, j] <= rand[i, k] + rand[k, j] + 1e-12
    assert (rand == rand.T).all() and (np.diag(rand) == 0).all()


def test_the_same_clustering_again_and_again_is_one_group():
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 20, axis=0)
    X += 0.01 * np.random.default_rng(0).normal(size=X.shape)
    finder = MetaClustering(n_clusters=3, zipf_max=0.0, n_base=60, random_state=0)
    finder.fit(X, given=np.arange(60) % 2)
    assert finder.group_sizes_.sum() == len(finder.distances_) < 60
    assert finder.representatives_.shape == (60, len(finder.group_sizes_))
    assert (np.diff(finder.compactness_) >= 0).all()
    # The most compact representative is the three points.
    assert adjusted_rand_score(np.repeat([0, 1, 2], 20), finder.representatives_[:, 0]) == 1


def test_a_hidden_view_is_often_found():
    scores = []
    for seed in range(8):
        X, (known, hidden) = planted_views(200, 6, n_clusters=(3, 3), random_state=seed)
        finder = MetaClustering(n_base=100, random_state=0).fit(X, given=known)
        scores.append(adjusted_rand_score(hidden.labels(), finder.labels_))
        assert adjusted_rand_score(known.labels(), finder.labels_) < 0.7
    assert sum(score > 0.8 for score in scores) >= 4


def test_alternatives_are_far_from_each_other():
    X, (known, _) = planted_views(150, 6, random_state=1)
    finder = MetaClustering(n_alternatives=3, n_base=60, random_state=0).fit(X, given=known)
    apart = clustering_differences([known.labels(), *finder.label_matrix_.T])
    assert apart[np.triu_indices(4, 1)].min() > 0.2


def test_a_range_of_cluster_numbers():
    X, _ = planted_views(100, 4, random_state=0)
    finder = MetaClustering(n_clusters=(2, 5), n_base=40, random_state=0).fit(X)
    counts = {len(np.unique(labels)) for labels in finder.representatives_.T}
    assert len(counts) > 1 and counts <= {2, 3, 4, 5}
    for wrong in ((3, 2), (0, 2), (2, 3, 4), (2, 300), (2.5, 3)):
        with pytest.raises(ValueError, match="n_clusters"):
            MetaClustering(n_clusters=wrong).fit(X)


def test_principal_components_can_be_weighted_instead():
    X, (known, _) = planted_views(100, 6, random_state=0)
    finder = MetaClustering(pca_variance=0.9, n_base=30, random_state=0).fit(X, given=known)
    assert finder.clustering_.n_clusters == 3


def test_weights_favour_few_features():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 2)) + 8 * rng.integers(0, 2, (200, 2))
    found = [weighted_kmeans(Z, (2, 2), 40.0, seed) for seed in np.random.SeedSequence(0).spawn(20)]
    sides = [max(abs(np.corrcoef(labels, Z[:, j])[0, 1]) for j in range(2)) for labels in found]
    assert np.mean(np.array(sides) > 0.9) > 0.7


def test_out_of_time():
    X, (known, _) = planted_views(100, 6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = MetaClustering(n_alternatives=2, max_time=1e-9, random_state=0).fit(X, given=known)
    assert finder.n_iter_ == 2


def test_more_alternatives_than_base_clusterings_are_refused():
    with pytest.raises(ValueError, match="n_base=2"):
        MetaClustering(n_alternatives=3, n_base=2).fit(np.eye(5))
