"""Rounds of settings: rows left as noise are searched again, and flat clusters come first."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from subscape.datasets import planted_oriented
from subscape.finders.oriented.attempts import Attempt
from subscape.finders.oriented.description import Description
from subscape.finders.oriented.peeling import peeled
from subscape.parallel.progress import Watch


def table(p=6, flats=((1, 150), (2, 150), (2, 150)), noise=0.1, seed=0):
    X, truth = planted_oriented(p, flats, noise=noise, random_state=seed)
    return X - X.mean(axis=0), truth.labels()


class Finder:
    """Tells the planted clusters that a setting names, among the rows it is given."""

    def __init__(self, X, labels, settings):
        self.X, self.labels, self.settings = X, labels, settings
        self.calls = []

    def __call__(self, rows):
        self.calls.append(len(rows))
        where = self._places(rows)
        for groups in self.settings:
            labels = np.full(len(rows), -1, np.intp)
            for number, group in enumerate(groups):
                labels[np.isin(self.labels[where], group)] = number
            used = np.unique(labels[labels >= 0])
            labels = np.where(labels >= 0, np.searchsorted(used, labels), -1)
            yield Attempt(groups, labels, np.ones(len(used), np.intp), 5)

    def _places(self, rows):
        """Rows come centred: a shift that puts the first onto the table puts all others there."""
        tree = cKDTree(self.X)
        for row in self.X:
            apart, where = tree.query(rows + (row - rows[0]))
            if apart.max() < 1e-9:
                return where
        raise AssertionError("these are no rows of the table")


def found(X, *finders, **how):
    return peeled(X, finders, Watch(), **how)


def groups_of(labels):
    return {frozenset(np.flatnonzero(labels == k)) for k in range(labels.max() + 1)}


def test_clusters_that_no_setting_finds_together():
    X, labels = table()
    finder = Finder(X, labels, [[[0]], [[1]], [[2]]])
    chosen = found(X, finder)
    assert groups_of(chosen.refined.labels) == groups_of(labels)
    assert sorted(chosen.refined.dims.tolist()) == [1, 2, 2]
    # Every round looks at the rows still without a cluster.
    assert finder.calls == sorted(finder.calls, reverse=True)
    assert finder.calls[0] == len(X)
    assert finder.calls[-1] == np.sum(labels < 0)


def test_the_next_ladder_finds_what_the_first_leaves():
    X, labels = table()
    first, second = Finder(X, labels, [[[0]]]), Finder(X, labels, [[[1], [2]]])
    chosen = found(X, first, second)
    assert groups_of(chosen.refined.labels) == groups_of(labels)
    assert chosen.attempt.setting == [[0]]


def test_a_cluster_of_many_dimensions_waits_for_flatter_ones():
    """All rows together lie in five of six dimensions, and describe so better than as noise."""
    X, labels = table(noise=0.0)
    X[:, 5] *= 0.01
    X -= X.mean(axis=0)
    together, apart = Finder(X, labels, [[[0, 1, 2]]]), Finder(X, labels, [[[0], [1], [2]]])
    assert found(X, together).refined.dims.max() > 3
    chosen = found(X, together, apart)
    assert groups_of(chosen.refined.labels) == groups_of(labels)
    assert chosen.refined.nats < found(X, together).refined.nats


def test_no_cluster_at_all():
    X = np.random.default_rng(0).uniform(size=(80, 3))
    X -= X.mean(axis=0)
    finder = Finder(X, np.full(80, -1), [[], []])
    chosen = found(X, finder)
    assert (chosen.refined.labels == -1).all()
    assert len(chosen.refined.dims) == 0
    assert chosen.tried == 2
    assert chosen.attempt.setting == []


@pytest.mark.parametrize("seed", range(3))
def test_rounds_never_lengthen_the_description(seed):
    X, labels = table(seed=seed)
    describe = Description(X)
    rng = np.random.default_rng(seed)
    shuffled = Finder(X, rng.permutation(labels), [[[0]], [[1]], [[0, 1]]])
    nothing = describe.total(X, np.full(len(X), -1))
    assert found(X, shuffled).refined.nats <= nothing
    some = found(X, Finder(X, labels, [[[1]]])).refined.nats
    more = found(X, Finder(X, labels, [[[1]]]), Finder(X, labels, [[[0]]])).refined.nats
    assert more < some < nothing


def test_time_is_up_after_the_first_attempt():
    X, labels = table()
    finder = Finder(X, labels, [[[0]], [[1]]])
    chosen = peeled(X, [finder], Watch(max_time=1e-9))
    assert chosen.tried == 1
    assert chosen.attempt.setting == [[0]]
    assert groups_of(chosen.refined.labels) == {frozenset(np.flatnonzero(labels == 0))}
