"""LMCLUS: separations of sampled flats, how many are sampled, and planted lines and planes."""

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from subscape.datasets import planted_oriented
from subscape.finders import LMCLUS
from subscape.finders.oriented.flats import squared_residuals
from subscape.finders.oriented.lmclus.separation import (
    Criterion,
    best_sampled,
    best_separation,
    candidate_flats,
    neighbourhood_flats,
    rank_flats,
    sampled_flats,
)
from subscape.measures import clustering_error

JUDGED = Criterion(n_bins=100, squared=True, min_size=20)


def line_and_noise(p=4, seed=0):
    rng = np.random.default_rng(seed)
    direction = np.full(p, 1 / math.sqrt(p))
    line = rng.uniform(-1, 1, (200, 1)) * direction + 0.01 * rng.normal(size=(200, p))
    return np.concatenate([line, rng.uniform(-1, 1, (100, p))]), direction


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_sampled_flats_go_through_rows(dim):
    X = np.random.default_rng(0).normal(size=(60, 5))
    centres, bases = sampled_flats(X, dim, 25, np.random.default_rng(1))
    # Draws with the same row twice span no flat of this dimension and are left out.
    assert 15 <= len(centres) <= 25
    assert bases.shape == (len(centres), 5, dim)
    gram = bases.transpose(0, 2, 1) @ bases
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(dim), gram.shape), atol=1e-9)
    for centre, basis in zip(centres, bases, strict=True):
        away = X - centre
        off = np.square(away - away @ basis @ basis.T).sum(axis=1)
        assert np.sum(off < 1e-16) >= dim + 1


@pytest.mark.parametrize(("p", "size"), [(5, 12), (5, 4), (30, 12)])
def test_flats_fitted_to_neighbourhoods(p, size):
    """Among rows of two lines far apart every neighbourhood is of one line."""
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(p, 2)))[0].T
    X = np.concatenate([np.linspace(-1, 1, 60)[:, None] * line for line in directions])
    X[60:] += 50
    centres, bases = neighbourhood_flats(X, 1, 40, size, np.random.default_rng(1))
    assert centres.shape == (40, p)
    assert bases.shape == (40, p, 1)
    for centre, basis in zip(centres, bases, strict=True):
        away = X - centre
        off = np.square(away - away @ basis @ basis.T).sum(axis=1)
        assert np.sum(off < 1e-16) == 60


def test_neighbourhoods_of_copies_span_no_flat():
    X = np.repeat(np.eye(3), 40, axis=0)
    centres, _ = neighbourhood_flats(X, 1, 20, 8, np.random.default_rng(0))
    assert len(centres) == 0


def test_half_of_the_candidates_are_fitted():
    X = np.random.default_rng(0).normal(size=(200, 6))
    centres, bases = candidate_flats(X, 2, 80, np.random.default_rng(0))
    through = np.isclose(centres[:, None], X).all(axis=2).any(axis=1)
    assert 30 <= through.sum() <= 40
    assert (~through).sum() == 40
    gram = bases.transpose(0, 2, 1) @ bases
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(2), gram.shape), atol=1e-9)


def test_a_line_separates_its_rows():
    X, direction = line_and_noise()
    cut = best_separation(X, 1, 200, JUDGED, np.random.default_rng(0))
    assert abs(direction @ cut.flat.basis[:, 0]) > 0.999
    near = squared_residuals(X, [cut.flat])[:, 0] < cut.threshold**2
    assert near[:200].mean() > 0.95
    assert near[200:].mean() < 0.1
    assert cut.goodness > 3


def test_as_published_flats_go_through_rows_anywhere():
    """No neighbours, no fits: the best of flats through random rows, by a loop over all rows."""
    X, _ = line_and_noise()
    cut = best_sampled(X, 2, 60, JUDGED, np.random.default_rng(3))
    centres, bases = sampled_flats(X, 2, 60, np.random.default_rng(3), local=False)
    goodness, reach = rank_flats(X, centres, bases, JUDGED)
    best = int(goodness.argmax())
    assert cut.goodness == goodness[best] and cut.threshold == reach[best]
    np.testing.assert_array_equal(cut.flat.centre, centres[best])
    np.testing.assert_array_equal(cut.flat.basis, bases[best])
    # Rows far away are drawn as often as near ones: each flat's first two rows, over all flats.
    wide = np.random.default_rng(0).normal(size=(500, 3))
    some = np.random.default_rng(5).integers(500, size=(400, 2))
    centres, bases = sampled_flats(wide, 1, 400, np.random.default_rng(5), local=False)
    steps = wide[some[:, 1]] - wide[some[:, 0]]
    kept = np.abs(steps).max(axis=1) > 0
    lengths = np.linalg.norm(steps[kept], axis=1)
    np.testing.assert_array_equal(centres, wide[some[kept, 0]])
    along = np.abs(np.einsum("mp,mp->m", steps[kept], bases[:, :, 0]))
    np.testing.assert_allclose(along, lengths)


def test_as_published_with_many_samples():
    X, truth = planted_oriented(5, ((1, 200), (1, 200), (2, 300)), noise=0.12, random_state=7)
    finder = LMCLUS.as_published(
        max_dim=2, sensitivity=3.0, max_samples=2000, n_clusters_hint=4, random_state=0
    ).fit(X)
    assert finder.sampling == "rows"
    assert adjusted_rand_score(finder.labels_, truth.labels()) > 0.6
    with pytest.raises(ValueError, match="sampling='neighbours'"):
        LMCLUS.as_published(sampling="neighbours")


def test_rows_that_fill_the_space_are_not_separated():
    X = np.random.default_rng(0).uniform(size=(500, 3))
    cut = best_separation(X, 1, 200, JUDGED, np.random.default_rng(0))
    assert cut is None or cut.goodness < 1.5
    finder = LMCLUS(random_state=0).fit(X)
    assert finder.clustering_.n_clusters == 0


def test_rows_on_a_flat_are_not_cut_by_rounding():
    X, _ = planted_oriented(4, ((1, 100),), noise=0, spread=0, random_state=0)
    centres, bases = sampled_flats(X, 1, 5, np.random.default_rng(0))
    goodness, _ = rank_flats(X, centres, bases, JUDGED)
    assert (goodness == -np.inf).all()


def test_copies_of_one_row_span_no_flat():
    X = np.ones((40, 3))
    centres, _ = sampled_flats(X, 1, 10, np.random.default_rng(0))
    assert len(centres) == 0
    assert best_separation(X, 1, 10, JUDGED, np.random.default_rng(0)) is None


@pytest.mark.parametrize(("hint", "dim"), [(3, 1), (3, 3), (10, 1), (1, 2)])
def test_enough_flats_are_sampled(hint, dim):
    """All samples miss an average cluster no more often than allowed."""
    finder = LMCLUS(n_clusters_hint=hint, sampling_error=0.01, max_samples=10**6)
    samples, hit = finder._n_samples(dim), hint**-dim
    assert (1 - hit) ** samples <= 0.01
    assert samples == 1 or (1 - hit) ** (samples - 1) > 0.01
    assert LMCLUS(max_samples=50)._n_samples(3) == 50


@pytest.mark.parametrize("goodness", ["squared", "sqrt"])
@pytest.mark.parametrize("noise", [0.0, 0.12])
def test_two_lines_and_a_plane_in_five_dimensions(goodness, noise):
    X, truth = planted_oriented(
        5, ((1, 200), (1, 200), (2, 300)), noise=noise, spread=0.01, random_state=7
    )
    finder = LMCLUS(goodness=goodness, n_clusters_hint=3, random_state=0).fit(X)
    assert sorted(finder.flat_dims_.tolist()) == [1, 1, 2]
    assert clustering_error(finder.clustering_, truth) < 0.03


def test_the_search_alone_comes_close():
    X, truth = planted_oriented(5, ((1, 200), (1, 200), (2, 300)), noise=0.12, random_state=7)
    finder = LMCLUS(sensitivity=3.0, refine=False, random_state=0).fit(X)
    assert adjusted_rand_score(finder.labels_, truth.labels()) > 0.8
    assert clustering_error(finder.clustering_, truth) < 0.3
    assert finder.sensitivity_ == 3.0


def test_going_on_to_higher_dimensions():
    X, _ = planted_oriented(4, ((1, 150), (2, 200)), noise=0.1, random_state=1)
    finder = LMCLUS(sensitivity=3.0, stop_at_first=False, refine=False, random_state=0).fit(X)
    assert finder.clustering_.n_clusters > 0
    assert (finder.flat_dims_ >= 1).all()
    assert (finder.clustering_.sizes >= 20).all()


def test_max_dim_is_kept():
    X, _ = planted_oriented(5, ((1, 150), (3, 200)), noise=0.1, random_state=1)
    finder = LMCLUS(max_dim=1, refine=False, random_state=0).fit(X)
    assert set(finder.flat_dims_.tolist()) <= {0, 1}
    with pytest.raises(ValueError, match="max_dim=5"):
        LMCLUS(max_dim=5).fit(X)


@pytest.mark.parametrize("seed", range(2))
def test_many_lines_that_a_strict_search_leaves(seed):
    """Ten lines in three dimensions: few stand out among all rows, the others after them."""
    X, truth = planted_oriented(
        3, ((1, 120),) * 10, noise=0.1, spread=0.003, random_state=400 + seed
    )
    finder = LMCLUS(random_state=0).fit(X)
    assert finder.flat_dims_.tolist() == [1] * 10
    assert clustering_error(finder.clustering_, truth) < 0.03


def test_flats_of_four_dimensions():
    X, truth = planted_oriented(10, ((4, 300),) * 3, noise=0.1, spread=0.01, random_state=5)
    finder = LMCLUS(random_state=0).fit(X)
    assert finder.flat_dims_.tolist() == [4, 4, 4]
    assert clustering_error(finder.clustering_, truth) < 0.01


def test_same_seed_same_labels():
    X, _ = planted_oriented(3, ((1, 100), (2, 150)), random_state=0)
    first, second = (LMCLUS(random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.clustering_ == second.clustering_


def test_few_distinct_rows_end_the_search():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 30, axis=0)
    finder = LMCLUS(random_state=0).fit(X)
    assert np.isfinite(finder.clustering_.subspaces.relevance).all()
    for rows in np.split(finder.labels_, 4):
        assert len(set(rows)) == 1
