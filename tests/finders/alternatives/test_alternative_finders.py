"""What all finders of alternatives share: what ``given`` may be."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.core import FewDistinctRowsWarning, SubspaceClustering
from subscape.datasets import planted_views
from subscape.finders.catalogue import of_role
from subscape.measures import adjusted_rand_score
from subscape.testing.finders import brief

METHODS = of_role("alternative")


def small(name, **parameters):
    if METHODS[name].random:
        parameters["random_state"] = 0
    return brief(METHODS[name].make()).set_params(**parameters)


@pytest.mark.parametrize("name", METHODS)
def test_the_catalogue_says_whether_seeds_matter(name):
    known = METHODS[name].make().get_params()
    assert METHODS[name].random is ("n_init" in known or "n_base" in known)


# -- what is given --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_views():
    X, (known, hidden) = planted_views(150, 6, n_clusters=(3, 3), random_state=7)
    return X, known.labels(), hidden.labels()


@pytest.mark.parametrize("name", METHODS)
def test_names_and_order_of_the_given_clusters_do_not_matter(name, two_views):
    X, known, _ = two_views
    finder = small(name)
    first = finder.fit(X, given=known).labels_
    renamed = np.array(["c", "a", "b"])[known]
    again = finder.fit(X, given=SubspaceClustering.from_labels(renamed, n_features=6)).labels_
    assert adjusted_rand_score(first, again) > (0.9 if METHODS[name].names_matter else 0.999)


@pytest.mark.parametrize("name", METHODS)
def test_rows_of_no_known_cluster(name, two_views):
    X, known, _ = two_views
    partly = known.copy()
    partly[::5] = -1
    finder = small(name).fit(X, given=partly)
    assert (finder.labels_ >= 0).all()
    assert finder.clustering_.n_clusters == 3
    assert adjusted_rand_score(finder.labels_, known) < 0.3


@pytest.mark.parametrize("name", METHODS)
def test_several_known_and_several_found(name, two_views):
    X, known, hidden = two_views
    finder = small(name, n_alternatives=2).fit(X, given=[known, hidden])
    assert finder.label_matrix_.shape == (150, 2)
    assert [each.n_clusters for each in finder.clusterings_] == [3, 3]
    assert finder.clusterings_[0].subspaces.masks.all()
    for labels in finder.label_matrix_.T:
        for before in (known, hidden):
            assert adjusted_rand_score(labels, before) < 0.6
    assert adjusted_rand_score(*finder.label_matrix_.T) < 0.6


@pytest.mark.parametrize("name", METHODS)
def test_one_known_cluster_is_refused(name, two_views):
    with pytest.raises(ValueError, match="1 cluster"):
        small(name).fit(two_views[0], given=np.zeros(150, int))


@pytest.mark.parametrize("name", METHODS)
def test_a_given_clustering_of_other_rows_is_refused(name, two_views):
    with pytest.raises(ValueError, match="149 rows"):
        small(name).fit(two_views[0], given=two_views[1][:-1])


@pytest.mark.parametrize("name", METHODS)
def test_without_a_given_one_it_differs_from_k_means(name, two_views):
    X = two_views[0]
    finder = small(name).fit(X)
    (reference,) = finder.given_
    assert reference.n_clusters == finder.clustering_.n_clusters == 3
    assert adjusted_rand_score(reference.labels(), finder.labels_) < 0.7


@pytest.mark.parametrize("name", METHODS)
def test_as_many_kinds_of_rows_as_clusters(name):
    X = np.repeat(np.eye(3), 10, axis=0)
    with pytest.warns(FewDistinctRowsWarning, match="no alternative"):
        finder = small(name).fit(X, given=np.arange(30) % 3)
    np.testing.assert_array_equal(finder.labels_, np.repeat([0, 1, 2], 10))


@pytest.mark.parametrize("name", METHODS)
def test_more_given_clusters_than_new_ones(name, two_views):
    X, known, _ = two_views
    finder = small(name, n_clusters=2).fit(X, given=known)
    assert finder.clustering_.n_clusters == 2
