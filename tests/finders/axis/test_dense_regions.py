"""CLIQUE, MAFIA and SUBCLU on planted clusters: rows and features."""

import numpy as np
import pytest

from subscape.datasets import thesis_6_1
from subscape.finders import CLIQUE, MAFIA, SUBCLU
from subscape.measures import cell_scores, clustering_error


@pytest.mark.parametrize(
    ("finder", "most"), [(CLIQUE(), 0.25), (MAFIA(), 0.3), (SUBCLU(), 0.1)], ids=str
)
@pytest.mark.parametrize(("dims", "seed"), [(4, 0), (6, 1), (10, 2)])
def test_planted_clusters_are_found_in_their_features(finder, most, dims, seed):
    X, truth = thesis_6_1(dims, random_state=seed)
    found = finder.fit(X).clustering_
    assert clustering_error(found, truth) <= most
    assert cell_scores(found, truth).precision > 0.8


@pytest.mark.parametrize("finder", [CLIQUE(), MAFIA(), SUBCLU()], ids=str)
def test_permuting_columns_permutes_the_features(finder):
    X, _ = thesis_6_1(6, random_state=1)
    order = np.random.default_rng(0).permutation(X.shape[1])
    straight = finder.fit(X).clustering_
    turned = finder.fit(X[:, order]).clustering_
    assert turned == straight.restrict(features=order)
