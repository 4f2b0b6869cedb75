"""Tables and radii that break finders of flats: an answer or a sentence, never NaN."""

import tracemalloc

import numpy as np
import pytest

from subscape.datasets import planted_oriented
from subscape.finders import CASH, COPAC, LMCLUS, ORCLUS, ERiC, FourC, KFlats

CORRELATION = [FourC(), COPAC(), ERiC(), LMCLUS(random_state=0), CASH()]
EVERY = [*CORRELATION, ORCLUS(2, random_state=0, n_init=2), KFlats(2, random_state=0, n_init=2)]


def name(value):
    return type(value).__name__


def check(finder, X):
    """A whole result without a NaN; the flats are those of the labels."""
    found = finder.clustering_
    assert found.shape == X.shape
    assert finder.labels_.shape == (len(X),)
    assert found.n_clusters == len(finder.flat_dims_)
    np.testing.assert_allclose(found.subspaces.dims, X.shape[1] - finder.flat_dims_)
    for k, basis in enumerate(found.complement().subspaces.bases):
        assert np.isfinite(basis).all()
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-8)
        rows = X[finder.labels_ == k] - X[finder.labels_ == k].mean(axis=0)
        assert np.isfinite(rows - rows @ basis @ basis.T).all()


@pytest.mark.parametrize("finder", EVERY, ids=name)
def test_a_line_in_20_000_dimensions(finder):
    """No array of features by features, which would take 3.2 GB."""
    rng = np.random.default_rng(0)
    p = 20_000
    direction = rng.normal(size=p)
    direction /= np.linalg.norm(direction)
    X = rng.uniform(-5, 5, (60, 1)) * direction + 1e-4 * rng.normal(size=(60, p))
    finder = finder.__class__(**finder.get_params())
    if "n_clusters" in finder.get_params():
        finder.set_params(n_clusters=1)
    tracemalloc.start()
    finder.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e8
    labels = finder.labels_
    assert np.mean(labels == np.bincount(labels[labels >= 0]).argmax()) > 0.9
    flats = finder.clustering_.complement().subspaces
    assert max(np.linalg.norm(direction @ basis) for basis in flats.bases) > 0.999


@pytest.mark.parametrize("finder", EVERY, ids=name)
def test_clusters_with_fewer_rows_than_dimensions(finder):
    X, _ = planted_oriented(40, ((1, 15), (1, 15)), noise=0, random_state=0)
    check(finder.fit(X), X)


@pytest.mark.parametrize("finder", EVERY, ids=name)
def test_many_copies_of_few_rows(finder):
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 4)), 20, axis=0)
    finder.fit(X)
    check(finder, X)
    for copies in np.split(finder.labels_, 5):
        assert len(set(copies)) == 1


@pytest.mark.parametrize("finder", CORRELATION, ids=name)
def test_copies_among_other_rows(finder):
    X, truth = planted_oriented(3, ((1, 100), (2, 150)), noise=0.1, random_state=0)
    finder.fit(np.repeat(X, 2, axis=0))
    check(finder, np.repeat(X, 2, axis=0))
    np.testing.assert_array_equal(finder.labels_[::2], finder.labels_[1::2])
    assert sorted(finder.flat_dims_.tolist()) == [1, 2]
    assert truth.n_clusters == 2


@pytest.mark.parametrize("finder", CORRELATION, ids=name)
def test_points_and_blobs(finder):
    """Clusters that are tight in all directions, and rows that fill the space."""
    X, _ = planted_oriented(3, ((0, 100), (0, 100)), noise=0.1, random_state=0)
    check(finder.fit(X), X)
    full = np.random.default_rng(0).normal(size=(150, 3))
    check(finder.fit(full), full)


@pytest.mark.parametrize("finder", CORRELATION, ids=name)
def test_two_features(finder):
    X, _ = planted_oriented(2, ((1, 100), (1, 100)), noise=0.1, random_state=3)
    check(finder.fit(X), X)
    assert finder.flat_dims_.tolist() == [1, 1]


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize(
    ("tiny", "huge"),
    [
        (FourC(1e-12, 5), FourC(1e6, 5)),
        (COPAC(20, 1e-12, 10), COPAC(20, 1e6, 10)),
        (ERiC(20, 1e-12, 10), ERiC(20, 1e6, 10)),
        (CASH(60, 1e-12), CASH(60, 1e6)),
    ],
    ids=["FourC", "COPAC", "ERiC", "CASH"],
)
def test_a_radius_too_small_and_one_too_large(tiny, huge, refine):
    X, _ = planted_oriented(3, ((1, 100), (2, 100)), noise=0.1, random_state=0)
    tiny.set_params(refine=refine).fit(X)
    check(tiny, X)
    # Boxes of angles have a width of their own: CASH finds what is thinner than they are.
    if not isinstance(tiny, CASH):
        assert (tiny.labels_ == -1).all()
        assert tiny.clustering_.n_clusters == 0
    huge.set_params(refine=refine).fit(X)
    check(huge, X)
    if not refine and not isinstance(huge, COPAC):
        assert huge.clustering_.n_clusters <= 1


@pytest.mark.parametrize("finder", [FourC(0.5, 300), COPAC(20, 0.5, 300)], ids=name)
def test_cores_that_need_more_rows_than_there_are(finder):
    X, _ = planted_oriented(3, ((1, 100), (2, 100)), noise=0.1, random_state=0)
    finder.fit(X)
    assert (finder.labels_ == -1).all()


def test_more_pairs_than_memory_are_a_sentence(monkeypatch):
    monkeypatch.setattr("subscape.finders.oriented.neighbours.search.MOST_PAIRS", 1_000_000)
    X = np.random.default_rng(0).normal(size=(2000, 2))
    with pytest.raises(ValueError, match="smaller eps"):
        FourC(100.0, 5).fit(X)


def test_directions_beyond_memory_are_a_sentence(monkeypatch):
    monkeypatch.setattr("subscape.finders.oriented.copac.copac.MOST_NUMBERS", 1000)
    X = np.random.default_rng(0).normal(size=(100, 5))
    with pytest.raises(ValueError, match="reduce the features"):
        COPAC().fit(X)
