from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from subscape.datasets import planted_views
from subscape.finders import CondEns
from subscape.measures import adjusted_rand_score, normalized_mutual_info_score


@pytest.mark.parametrize(
    "parameters", [{}, {"consensus": "ib", "n_init": 5}, {"extension": "plain"}]
)
def test_the_hidden_view_is_found(parameters):
    scores = []
    for seed in range(10):
        X, (known, hidden) = planted_views(300, 6, n_clusters=(3, 3), random_state=seed)
        finder = CondEns(random_state=0, **parameters).fit(X, given=known)
        scores.append(normalized_mutual_info_score(hidden, finder.labels_))
    assert min(scores) > 0.9


def shifted(seed):
    """A known factor moves the mean along the direction in which the hidden one splits."""
    rng = np.random.default_rng(seed)
    known, hidden = rng.integers(0, 2, (2, 200))
    X = rng.normal(size=(200, 2))
    X[:, 0] += 30 * known + 6 * hidden
    return X, known, hidden


def test_the_extension_looks_from_the_mean_of_the_known_cluster():
    X, known, hidden = shifted(0)
    centred = CondEns(random_state=0).fit(X, given=known)
    plain = CondEns(extension="plain", random_state=0).fit(X, given=known)
    assert adjusted_rand_score(hidden, centred.labels_) > 0.95
    assert adjusted_rand_score(hidden, plain.labels_) < 0.6


def test_agreement_of_the_local_clusterings():
    X, known, _ = shifted(1)
    agreement = CondEns(n_repeats=3, random_state=0).fit(X, given=known).agreement_[0]
    assert agreement.shape == (6, 6)
    np.testing.assert_allclose(np.diag(agreement), 1)
    np.testing.assert_array_equal(agreement, agreement.T)
    assert agreement.min() > 0.8


def test_known_clusters_of_one_row():
    X = np.random.default_rng(0).normal(size=(30, 3))
    labels = CondEns(n_clusters=3, random_state=0).fit(X, given=np.arange(30)).labels_
    assert len(set(labels)) == 3
    mixed = np.maximum(np.arange(30) - 20, 0)
    assert len(set(CondEns(n_clusters=3, random_state=0).fit(X, given=mixed).labels_)) == 3


def test_one_local_cluster_is_refused():
    with pytest.raises(ValueError, match="n_local_clusters=1"):
        CondEns(n_local_clusters=1).fit(np.random.default_rng(0).normal(size=(30, 3)))


def test_out_of_time_keeps_one_per_known_cluster():
    X, known, _ = shifted(2)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = CondEns(max_time=1e-9, random_state=0).fit(X, given=known)
    assert finder.n_iter_ == 2
