"""CASH: the fullest hyperplane is found, clusters lie on theirs, and planted flats come out."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from subscape.datasets import planted_oriented
from subscape.finders import CASH
from subscape.finders.oriented.cash.hough import fullest_window, offset_ranges
from subscape.finders.oriented.cash.hyperplanes import Effort, HyperplaneSearch, normal_of
from subscape.measures import clustering_error
from subscape.parallel.progress import Watch


def crossing_lines(seed=0, n=200, noise=0.27):
    rng = np.random.default_rng(seed)
    along = rng.uniform(-1, 1, (2, n))
    first = np.stack([along[0], 0.6 * along[0]], axis=1)
    second = np.stack([0.3 * along[1], -along[1]], axis=1)
    n_noise = round(2 * n * noise / (1 - noise))
    X = np.concatenate([first, second, rng.uniform(-1, 1, (n_noise, 2))])
    X[: 2 * n] += 0.008 * rng.normal(size=(2 * n, 2))
    return X, np.repeat([0, 1, -1], [n, n, n_noise])


def search(X, width, *, least=2, level=5, most=10**6, kind="best"):
    return HyperplaneSearch(X, least, Effort(width, level, most, kind), Watch(None, None))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("t", [2, 3])
def test_best_first_finds_the_fullest_of_all_boxes(seed, t):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.uniform(-1, 1, (30, t)), rng.normal(size=(15, t)) * 0.02])
    level = 4 if t == 2 else 3
    found = search(X, 0.1, level=level).next()
    edges = np.linspace(0, np.pi, 2**level + 1)
    most = max(
        fullest_window(offset_ranges(X, edges[list(i)], edges[[j + 1 for j in i]]), 0.1).count
        for i in np.ndindex(*(2**level,) * (t - 1))
    )
    assert len(found.rows) == most


def test_rows_of_a_hyperplane_are_near_it():
    X, _ = crossing_lines()
    X = X - X.mean(axis=0)
    hyperplanes = search(X, 0.05, level=6, least=20)
    total = 0
    while (found := hyperplanes.next()) is not None:
        offsets = X[found.rows] @ found.normal
        # A box of angles is pi / 2^6 wide: the normal in its middle is off by half of that.
        slack = np.pi / 2**6 * np.linalg.norm(X[found.rows], axis=1).max()
        assert np.ptp(offsets) <= 0.05 + slack + 1e-9
        hyperplanes.remove(found.rows)
        total += len(found.rows)
        assert not np.isin(hyperplanes.rows, found.rows).any()
    assert hyperplanes.complete
    assert total >= 400


def test_greedy_is_never_better_than_best_first():
    for seed in range(5):
        X = np.random.default_rng(seed).uniform(-1, 1, (60, 3))
        best, greedy = (search(X, 0.1, kind=kind).next() for kind in ("best", "greedy"))
        assert len(greedy.rows) <= len(best.rows)


@pytest.mark.parametrize("seed", range(3))
def test_crossing_lines_in_much_noise(seed):
    X, truth = crossing_lines(seed)
    finder = CASH().fit(X)
    assert finder.clustering_.n_clusters == 2
    assert finder.flat_dims_.tolist() == [1, 1]
    assert adjusted_rand_score(finder.labels_, truth) > 0.85
    lines = [basis[:, 0] for basis in finder.clustering_.complement().subspaces.bases]
    for direction in ([1.0, 0.6], [0.3, -1.0]):
        unit = np.array(direction) / np.linalg.norm(direction)
        assert max(abs(unit @ line) for line in lines) > 0.999


def test_the_search_alone_finds_crossing_lines():
    X, truth = crossing_lines()
    finder = CASH(100, 0.05, max_level=6, refine=False).fit(X)
    assert finder.flat_dims_.tolist() == [1, 1]
    assert adjusted_rand_score(finder.labels_, truth) > 0.8


@pytest.mark.parametrize("seed", range(4))
def test_a_plane_and_lines_in_three_dimensions(seed):
    X, truth = planted_oriented(3, ((1, 200), (2, 300)), noise=0.1, random_state=100 + seed)
    finder = CASH().fit(X)
    assert sorted(finder.flat_dims_.tolist()) == [1, 2]
    assert clustering_error(finder.clustering_, truth) < 0.06


def test_flats_below_min_dim_are_not_looked_for():
    X, _ = planted_oriented(3, ((1, 200), (2, 300)), noise=0.1, random_state=100)
    finder = CASH(50, 0.05, min_dim=2, refine=False).fit(X)
    assert finder.clustering_.n_clusters > 0
    assert set(finder.flat_dims_.tolist()) == {2}
    with pytest.raises(ValueError, match="min_dim=3"):
        CASH(min_dim=3).fit(X)


def test_the_orientation_of_the_table_does_not_matter():
    X, _ = crossing_lines(1)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    np.testing.assert_array_equal(CASH().fit(X @ rotation + 4).labels_, CASH().fit(X).labels_)


def test_too_few_boxes_are_pointed_out():
    X, _ = planted_oriented(4, ((2, 100),), noise=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_boxes=5"):
        CASH(20, 0.05, search="best", max_boxes=5).fit(X)


def test_normals_have_length_one():
    for seed in range(5):
        angles = np.random.default_rng(seed).uniform(0, np.pi, seed)
        assert np.linalg.norm(normal_of(angles)) == pytest.approx(1)
