"""4C: as DBSCAN where it should be, by its definition elsewhere, and on planted flats."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from subscape.datasets import planted_oriented
from subscape.finders import FourC
from subscape.finders.oriented.fourc import LARGEST_STEP, without_gaps
from subscape.measures import clustering_error


def random_table(seed, n=120, p=3):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n // 2, p)), rng.uniform(-3, 3, (n - n // 2, p))])


def two_lines(seed=0):
    rng = np.random.default_rng(seed)
    parts = []
    for centre in ([0.0, 0.0, 0.0], [2.0, 1.0, 0.0]):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        along = rng.uniform(-5, 5, (300, 1)) * direction
        parts.append(centre + along + 0.03 * rng.normal(size=(300, 3)))
    X = np.concatenate([*parts, rng.uniform(-5, 5, (100, 3))])
    return X, np.repeat([0, 1, -1], [300, 300, 100])


def by_definition(X, eps, min_samples, max_dim, delta, kappa):
    """Labels and local dimensions with one row at a time, as the paper defines them."""
    n = len(X)
    radius = eps * (1 + 1e-9)
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    dims, near = np.zeros(n, int), np.zeros((n, n), bool)
    for i in range(n):
        ball = X[apart[i] <= radius]
        values, axes = np.linalg.eigh(np.cov(ball.T, ddof=0)) if len(ball) > 1 else (None, None)
        if values is None or values[-1] <= 0:
            weighted = kappa * np.square(X - X[i]).sum(axis=1)
        else:
            strong = values > delta * values[-1]
            dims[i] = strong.sum()
            steps = (X - X[i]) @ axes
            weighted = np.square(steps) @ np.where(strong, 1.0, kappa)
        near[i] = weighted <= radius**2
    near &= near.T
    flat = dims <= max_dim
    core = flat & (near.sum(axis=1) >= min_samples)
    labels, k = np.full(n, -1), 0
    for i in np.flatnonzero(core):
        if labels[i] >= 0:
            continue
        queue = [i]
        while queue:
            j = queue.pop()
            if labels[j] < 0:
                labels[j] = k
                queue += np.flatnonzero(near[j] & core & (labels < 0)).tolist()
        k += 1
    for i in np.flatnonzero(flat & ~core):
        hosts = np.flatnonzero(near[i] & core)
        labels[i] = labels[hosts[0]] if len(hosts) else -1
    return labels, dims


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("delta", "kappa"), [(0.1, 50.0), (0.3, 10.0)])
def test_the_definition_row_by_row(seed, delta, kappa):
    X = two_lines(seed)[0][::5] if seed % 2 else random_table(seed)
    X = X - X.mean(axis=0)
    finder = FourC(1.0, 4, max_dim=2, delta=delta, kappa=kappa, refine=False).fit(X)
    labels, dims = by_definition(X, 1.0, 4, 2, delta, kappa)
    np.testing.assert_array_equal(finder.local_dims_, dims)
    assert adjusted_rand_score(finder.labels_, labels) == 1
    np.testing.assert_array_equal(finder.labels_ < 0, labels < 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("same", [{"kappa": 1.0}, {"delta": 0.0}])
def test_without_weights_it_is_dbscan(seed, same):
    X = random_table(seed)
    finder = FourC(1.2, 8, max_dim=3, refine=False, **same).fit(X)
    theirs = DBSCAN(eps=1.2, min_samples=8).fit(X)
    core = theirs.core_sample_indices_
    np.testing.assert_array_equal(finder.labels_ < 0, theirs.labels_ < 0)
    assert adjusted_rand_score(finder.labels_[core], theirs.labels_[core]) == 1


def test_two_lines_in_noise_as_the_paper_would():
    X, truth = two_lines()
    finder = FourC(0.8, 8, max_dim=1, refine=False).fit(X)
    assert finder.clustering_.n_clusters == 2
    assert finder.flat_dims_.tolist() == [1, 1]
    assert adjusted_rand_score(finder.labels_, truth) > 0.9
    assert (finder.local_dims_[finder.labels_ >= 0] <= 1).all()


@pytest.mark.parametrize("seed", range(4))
def test_defaults_find_rows_and_flats(seed):
    X, truth = planted_oriented(
        4, ((1, 150), (1, 150), (2, 250)), noise=0.1, random_state=100 + seed
    )
    finder = FourC().fit(X)
    assert sorted(finder.flat_dims_.tolist()) == [1, 1, 2]
    assert clustering_error(finder.clustering_, truth) < 0.05
    assert clustering_error(finder.clustering_.complement(), truth.complement()) < 0.1


def test_labels_move_and_turn_with_the_table():
    X = random_table(3) @ np.diag([1.0, 0.1, 0.1])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    plain = FourC(0.5, 5, refine=False).fit(X)
    turned = FourC(0.5, 5, refine=False).fit(X @ rotation + 7)
    larger = FourC(1.5, 5, refine=False).fit(3 * X)
    assert plain.clustering_.n_clusters > 0
    np.testing.assert_array_equal(turned.labels_, plain.labels_)
    np.testing.assert_array_equal(larger.labels_, plain.labels_)
    np.testing.assert_array_equal(turned.local_dims_, plain.local_dims_)


def test_absolute_variances():
    X, _ = two_lines()
    share = FourC(0.8, 8, refine=False).fit(X)
    plain = FourC(0.8, 8, delta=0.01, absolute=True, refine=False).fit(X)
    assert np.median(plain.local_dims_[plain.labels_ >= 0]) == 1
    assert adjusted_rand_score(share.labels_, plain.labels_) > 0.8
    with pytest.raises(ValueError, match="absolute=True"):
        FourC(delta=2.0).fit(X)


def test_row_by_row_gives_what_all_at_once_gives(monkeypatch):
    X, _ = planted_oriented(6, ((1, 80), (2, 80)), noise=0.1, random_state=3)
    at_once = FourC(0.15, 6, refine=False).fit(X)
    monkeypatch.setattr("subscape.finders.oriented.fourc.MOST_NUMBERS", 0)
    rows = FourC(0.15, 6, refine=False).fit(X)
    np.testing.assert_array_equal(rows.labels_, at_once.labels_)
    np.testing.assert_array_equal(rows.local_dims_, at_once.local_dims_)
    assert at_once.clustering_.n_clusters > 1


@pytest.mark.parametrize("seed", range(3))
def test_flats_of_different_density(seed):
    """No single radius shows a dense line and a sparse flat of four dimensions."""
    X, truth = planted_oriented(
        10, ((1, 400), (2, 400), (4, 400)), noise=0.1, spread=0.02, random_state=300 + seed
    )
    finder = FourC().fit(X)
    assert sorted(finder.flat_dims_.tolist()) == [1, 2, 4]
    assert clustering_error(finder.clustering_, truth) < 0.01
    assert finder.local_dims_.shape == (len(X),)
    assert finder.local_dims_.min() >= 0


def test_more_rows_than_are_searched():
    X, truth = planted_oriented(6, ((1, 700), (2, 700), (3, 700)), noise=0.1, random_state=7)
    finder = FourC(search_rows=800).fit(X)
    assert np.sum(finder.local_dims_ >= 0) == 800
    assert sorted(finder.flat_dims_.tolist()) == [1, 2, 3]
    assert clustering_error(finder.clustering_, truth) < 0.01


def test_radii_without_gaps():
    radii = np.array([0.1, 0.15, 1.2, 1.3])
    steps = without_gaps(radii)
    assert np.isin(radii, steps).all()
    assert (np.diff(steps) > 0).all()
    assert (steps[1:] / steps[:-1] <= LARGEST_STEP * (1 + 1e-12)).all()
    # A jump of eight is three steps of two: two radii more.
    assert len(steps) == len(radii) + 2
    np.testing.assert_array_equal(without_gaps(radii[:1]), radii[:1])
    assert len(without_gaps(radii[:0])) == 0


def test_mostly_copies():
    """Nearly all rows have enough copies, so nearly all radii are 0."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat(rng.normal(size=(3, 4)), 60, axis=0), rng.normal(size=(6, 4))])
    finder = FourC().fit(X)
    assert finder.eps_ > 0
    for copies in np.split(finder.labels_[:180], 3):
        assert len(set(copies)) == 1
