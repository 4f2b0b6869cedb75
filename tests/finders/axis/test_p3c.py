"""P3C: intervals, cores and clusters, each against its definition and on planted tables."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, poisson
from sklearn.exceptions import ConvergenceWarning

from subscape.arrays.bitsets import count, pack, unpack
from subscape.arrays.blocks import as_blocks
from subscape.core import ConstantFeatureWarning
from subscape.datasets import planted_axes, thesis_6_1
from subscape.finders import P3C
from subscape.finders.axis.p3c import p3c
from subscape.finders.axis.p3c.cores import Evidence, exact_cores, greedy_cores
from subscape.finders.axis.p3c.intervals import (
    Intervals,
    cluster_bins,
    concentrated_features,
    even_scale,
    histograms,
    marked_bins,
    relevant_intervals,
)
from subscape.finders.axis.p3c.mixture import fit_mixture, irredundant
from subscape.finders.base import Watch
from subscape.measures import clustering_error

# -- intervals ------------------------------------------------------------------------------------


def plainly_marked(counts, alpha):
    unmarked = list(range(len(counts)))
    while len(unmarked) > 1:
        values = counts[unmarked].astype(float)
        mean = values.mean()
        if mean == 0 or chi2.sf(((values - mean) ** 2 / mean).sum(), len(values) - 1) >= alpha:
            break
        unmarked.remove(unmarked[int(values.argmax())])
    return np.isin(np.arange(len(counts)), unmarked, invert=True)


@given(
    st.lists(st.lists(st.integers(0, 200), min_size=6, max_size=6), min_size=1, max_size=5),
    st.sampled_from([0.001, 0.05]),
)
@settings(deadline=None, max_examples=50)
def test_bins_are_marked_one_by_one(counts, alpha):
    counts = np.array(counts)
    marked = marked_bins(counts, alpha)
    for line, expected in zip(marked, counts, strict=True):
        np.testing.assert_array_equal(line, plainly_marked(expected, alpha))


def test_uniform_features_have_no_intervals():
    X = np.random.default_rng(0).uniform(size=(1000, 2000))
    counts = np.array([np.histogram(x, bins=20, range=(0, 1))[0] for x in X.T])
    assert marked_bins(counts, 0.001).any(axis=1).mean() < 0.01


def test_an_interval_reaches_one_bin_beyond_the_marked_ones():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    X[:400, 1] = rng.uniform(0.41, 0.49, size=400)
    found = relevant_intervals(X, 0.001, 10)
    assert found.features.tolist() == [1]
    np.testing.assert_allclose([found.low[0], found.high[0]], [0.3, 0.6])
    inside = (X[:, 1] >= 0.3) & (X[:, 1] < 0.6)
    np.testing.assert_array_equal(unpack(found.rows[0], 2000), inside)
    assert found.support.tolist() == [inside.sum()]


def test_intervals_side_by_side_stay_apart():
    counts = [5, 80, 5, 90, 5, 5, 5, 5, 5, 5]
    values = np.repeat(np.arange(10) / 10 + 0.05, counts)[:, None]
    values = np.vstack([values, [[0.0], [1.0]]])
    found = relevant_intervals(values, 0.001, 10)
    np.testing.assert_allclose(found.low, [0.0, 0.2])
    np.testing.assert_allclose(found.high, [0.3, 0.5])


def test_the_background_is_recognised():
    for background in ("uniform", "normal"):
        X, _ = planted_axes(
            800, 12, n_clusters=4, dims=5, noise=0.1, background=background, random_state=0
        )
        table = as_blocks(X)
        expected = even_scale(table, background, 0.001, None)(X)
        np.testing.assert_array_equal(even_scale(table, "auto", 0.001, None)(X), expected)
        assert expected.min() == 0
        assert expected.max() == 1


def test_two_clumps_are_no_concentration():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 3))
    X[:, 1] = np.where(rng.random(300) < 0.5, 0.1, 0.9)
    X[:, 2] = 0.4 + 0.01 * rng.normal(size=300)
    counts = histograms(X, cluster_bins(300))
    assert concentrated_features(counts, 0.001, 0.6).tolist() == [False, False, True]


# -- cores ----------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(1, 80), st.floats(0.01, 0.9))
@settings(deadline=None, max_examples=50)
def test_evidence_is_a_poisson_tail_and_an_effect(kept, rows, width):
    kept = min(kept, rows)
    holds = Evidence(1e-3, 0.2).holds(np.array([kept]), np.array([rows]), np.array([width]))
    expected = rows * width
    tail = poisson.sf(kept - 1, expected)
    effect = kept - expected >= 0.2 * (rows - expected)
    assert holds.tolist() == [bool(kept > 0 and tail < 1e-3 and effect)]


def random_intervals(seed):
    """Five features with one or two intervals each, some of which share rows."""
    rng = np.random.default_rng(seed)
    features = np.sort(rng.choice(5, size=7))
    width = rng.uniform(0.1, 0.4, size=7)
    inside = rng.random((7, 120)) < width[:, None]
    for _ in range(3):
        rows = rng.choice(120, size=30, replace=False)
        inside[np.ix_(rng.choice(7, size=4, replace=False), rows)] = True
    packed = pack(inside)
    return Intervals(features, np.zeros(7), width, packed, count(packed)), inside


def all_cores(found, inside, evidence):
    """By definition: every part is supported by every other interval; nothing can be added."""

    def support(intervals):
        return int(inside[list(intervals)].all(axis=0).sum()) if intervals else inside.shape[1]

    def solid(intervals):
        if len(set(found.features[list(intervals)].tolist())) < len(intervals):
            return False
        parts = chain.from_iterable(
            combinations(intervals, size) for size in range(1, len(intervals))
        )
        return all(
            evidence.holds(
                np.array([support((*part, extra))]),
                np.array([support(part)]),
                found.width[[extra]],
            )[0]
            for part in parts
            for extra in set(intervals) - set(part)
        )

    every = [
        combination
        for size in range(2, 6)
        for combination in combinations(range(len(found.features)), size)
        if solid(combination)
    ]
    return {c for c in every if not any(set(c) < set(other) for other in every)}, every


@pytest.mark.parametrize("seed", range(12))
def test_exact_cores_by_definition(seed):
    found, inside = random_intervals(seed)
    evidence = Evidence(1e-3, 0.1)
    expected, _ = all_cores(found, inside, evidence)
    cores = exact_cores(found, evidence, 10_000, Watch())
    assert {core.intervals for core in cores} == expected
    assert len(cores) == len(expected)
    for core in cores:
        np.testing.assert_array_equal(
            unpack(core.rows, 120), inside[list(core.intervals)].all(axis=0)
        )


@pytest.mark.parametrize("seed", range(12))
def test_greedy_cores_are_solid_and_maximal_and_contain_every_solid_pair(seed):
    found, inside = random_intervals(seed)
    evidence = Evidence(1e-3, 0.1)
    cores = greedy_cores(found, evidence, 10_000, Watch())

    def held(intervals):
        """Whether each interval is supported by the others together."""
        rows = inside[intervals].all(axis=0).sum()
        others = [np.delete(intervals, k) for k in range(len(intervals))]
        alone = np.array([inside[other].all(axis=0).sum() for other in others])
        return evidence.holds(np.full(len(alone), rows), alone, found.width[intervals]).all()

    for core in cores:
        intervals = np.array(core.intervals)
        rows = inside[intervals].all(axis=0)
        np.testing.assert_array_equal(unpack(core.rows, 120), rows)
        assert held(intervals)
    _, solid = all_cores(found, inside, evidence)
    covered = {pair for core in cores for pair in combinations(core.intervals, 2)}
    assert {pair for pair in solid if len(pair) == 2} <= covered


def test_random_intervals_are_worth_testing():
    sizes = [
        len(core) for seed in range(12)
        for core in all_cores(*random_intervals(seed), Evidence(1e-3, 0.1))[0]
    ]  # fmt: skip
    assert max(sizes) >= 3
    assert len(sizes) > 20


@pytest.mark.parametrize("search", ["greedy", "exact"])
@pytest.mark.parametrize("seed", range(3))
def test_cores_are_the_planted_feature_sets(search, seed):
    X, truth = planted_axes(
        2000, 30, n_clusters=4, dims=5, noise=0.1, spread=0.07, random_state=seed
    )
    finder = P3C(search=search, poisson_threshold=1e-20).fit(X)
    cores = {tuple(core.features.tolist()) for core in finder.cores_}
    planted = {tuple(np.flatnonzero(mask).tolist()) for mask in truth.subspaces.masks}
    assert cores == planted
    assert len(finder.cores_) == 4


# -- the mixture ----------------------------------------------------------------------------------


def test_strangers_cannot_widen_a_cluster():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 3))
    X[:200, :2] = [0.3, 0.6] + 0.02 * rng.normal(size=(200, 2))
    start = np.zeros((1, 1000))
    start[0, :100] = 1
    fitted = fit_mixture(X, [np.array([0, 1])], start.T, 0.001, 50, 1e-4)
    np.testing.assert_allclose(fitted.means[0], [0.3, 0.6], atol=0.005)
    np.testing.assert_allclose(np.sqrt(fitted.variances[0]), 0.02, rtol=0.15)
    np.testing.assert_allclose(fitted.posterior.sum(axis=1), 1)
    inside = fitted.inside(X, 0.001)[0]
    assert inside[:200].mean() > 0.985
    assert inside[200:].mean() < 0.03
    assert (fitted.posterior[~inside, 0] == 0).all()


def test_the_rows_two_clusters_share_are_no_third():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 6))
    X[:300, :3] = 0.3 + 0.01 * rng.normal(size=(300, 3))
    X[200:500, 3:] = 0.7 + 0.01 * rng.normal(size=(300, 3))
    features = [np.arange(3), np.arange(3, 6), np.arange(6)]
    start = np.zeros((3, 900))
    start[0, :200] = start[1, 300:500] = start[2, 200:300] = 1
    fitted = fit_mixture(X, features, start.T, 0.001, 50, 1e-4)
    assert fitted.posterior[200:300, 2].min() > 0.9
    assert irredundant(fitted, X, 0.001) == [0, 1]


# -- clusters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [4, 8, 12, 18])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_tables_of_the_thesis(dims, seed):
    X, truth = thesis_6_1(dims, random_state=seed)
    found = P3C().fit(X).clustering_
    assert found.columns_only() == truth.columns_only()
    assert clustering_error(found, truth) <= 0.01


@pytest.mark.parametrize(
    "table",
    [
        {"n_rows": 2000, "n_features": 30, "n_clusters": 20, "dims": 6},
        {"n_rows": 1000, "n_features": 100, "n_clusters": 5, "dims": 10},
        {"n_rows": 3000, "n_features": 20, "n_clusters": 10, "dims": 5, "noise": 0.7},
        {"n_rows": 150, "n_features": 300, "n_clusters": 3, "dims": 30},
        {"n_rows": 100, "n_features": 10, "n_clusters": 3, "dims": 4},
        {"n_rows": 1000, "n_features": 20, "n_clusters": 5, "dims": 6, "spread": 0.15},
        {"n_rows": 1000, "n_features": 20, "n_clusters": 5, "dims": 6, "background": "normal"},
    ],
    ids=["many clusters", "wide", "noisy", "d > n", "small", "spread", "normal"],
)
def test_planted_clusters_are_found_with_their_features(table):
    X, truth = planted_axes(random_state=0, **table)
    found = P3C().fit(X).clustering_
    assert found.columns_only() == truth.columns_only()
    assert clustering_error(found, truth) <= 0.02


def test_rows_in_two_clusters():
    X, truth = planted_axes(1500, 20, n_clusters=6, dims=6, overlap=0.15, noise=0.1, random_state=0)
    overlapping = P3C(overlap=True).fit(X).clustering_
    assert clustering_error(overlapping, truth) < 0.01
    assert not overlapping.is_row_disjoint
    disjoint = P3C().fit(X).clustering_
    assert disjoint.is_row_disjoint
    assert disjoint.columns_only() == truth.columns_only()


def test_a_cluster_around_another_is_found_in_a_later_round():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1200, 10))
    X[:300, :3] = 0.4 + 0.01 * rng.normal(size=(300, 3))
    X[:150, 3:7] = 0.6 + 0.01 * rng.normal(size=(150, 4))
    finder = P3C(overlap=True).fit(X)
    found = {tuple(finder.clustering_.cluster(k).features.tolist()): k for k in range(2)}
    assert set(found) == {(0, 1, 2), (0, 1, 2, 3, 4, 5, 6)}
    assert finder.n_iter_ > 1
    outer = finder.clustering_.cluster(found[0, 1, 2]).rows
    assert np.isin(np.arange(300), outer).mean() > 0.99
    assert P3C(max_rounds=1).fit(X).clustering_.n_clusters == 1


def test_single_features_only_on_request():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 4))
    X[:200, 2] = 0.5 + 0.01 * rng.normal(size=200)
    assert P3C().fit(X).clustering_.n_clusters == 0
    found = P3C(min_dims=1).fit(X).clustering_
    assert found.n_clusters == 1
    assert found.cluster(0).features.tolist() == [2]
    assert np.isin(np.arange(200), found.cluster(0).rows).mean() > 0.98


def test_nothing_to_find():
    X = np.random.default_rng(0).uniform(size=(500, 20))
    finder = P3C().fit(X)
    assert (finder.labels_ == -1).all()
    assert finder.clustering_.n_clusters == 0
    assert finder.cores_ == []
    assert finder.low_.shape == (0, 20)


def test_the_order_of_rows_and_columns_and_the_units_do_not_matter():
    X, _ = planted_axes(600, 12, n_clusters=4, dims=5, noise=0.1, random_state=3)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(600), rng.permutation(12)
    units = rng.uniform(0.01, 100, size=12)
    plain = P3C().fit(X).clustering_
    moved = P3C().fit((X * units - 7)[np.ix_(rows, columns)]).clustering_
    assert moved == plain.restrict(rows, columns)
    assert plain.n_clusters == 4


def test_boxes_and_cores_are_in_the_units_of_the_table():
    X, _ = planted_axes(500, 8, n_clusters=2, dims=4, noise=0.2, random_state=0)
    X = np.insert(1000 + 50 * X, 3, 42.0, axis=1)
    with pytest.warns(ConstantFeatureWarning):
        finder = P3C().fit(X)
    assert finder.clustering_.n_clusters == 2
    for k in range(2):
        cluster = finder.clustering_.cluster(k)
        values = X[np.ix_(cluster.rows, cluster.features)]
        np.testing.assert_array_equal(finder.low_[k, cluster.features], values.min(axis=0))
        np.testing.assert_array_equal(finder.high_[k, cluster.features], values.max(axis=0))
        assert np.isinf(np.delete(finder.low_[k], cluster.features)).all()
        core = finder.cores_[k]
        np.testing.assert_array_equal(core.features, cluster.features)
        assert 3 not in core.features
        np.testing.assert_array_equal(core.low, X[np.ix_(core.rows, core.features)].min(axis=0))
        assert np.isin(core.rows, cluster.rows).mean() > 0.9


@pytest.mark.parametrize("search", ["greedy", "exact"])
def test_a_search_that_is_cut_short_says_so(search):
    X, _ = planted_axes(500, 12, n_clusters=3, dims=5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_candidates=1 "):
        finder = P3C(search=search, max_candidates=1, max_rounds=1).fit(X)
    assert finder.clustering_.n_clusters == 1


def test_parameters_that_do_not_fit_the_table():
    with pytest.raises(ValueError, match="min_dims=9 is more than the n_features=4"):
        P3C(min_dims=9).fit(np.random.default_rng(0).random((30, 4)))
    with pytest.raises(ValueError, match="poisson_threshold"):
        P3C(poisson_threshold=0.0).fit(np.eye(4))


# -- thousands of cores ---------------------------------------------------------------------------


def plainly_irredundant(mixture, scaled, alpha, covered_share, rim):
    """Every other cluster covers its cells of the table; what is covered enough goes."""
    own, wide = mixture.inside(scaled, alpha), mixture.inside(scaled, alpha**rim)
    cells = [rows.sum() * len(f) for rows, f in zip(own, mixture.features, strict=True)]
    staying = set(range(len(cells)))
    for k in sorted(staying, key=lambda k: (cells[k], -k)):
        covered = np.zeros(scaled.shape, dtype=bool)
        for other in staying - {k}:
            covered[np.ix_(wide[other], mixture.features[other])] = True
        shares = covered[np.ix_(own[k], mixture.features[k])].mean(axis=0) if own[k].any() else 1.0
        if np.min(shares) >= covered_share:
            staying.remove(k)
    return sorted(staying)


@pytest.mark.parametrize("seed", range(12))
def test_redundant_clusters_by_their_cells(seed):
    rng = np.random.default_rng(seed)
    scaled = rng.random((40, 6))
    features = [np.sort(rng.choice(6, rng.integers(1, 4), replace=False)) for _ in range(8)]
    start = rng.dirichlet(np.full(9, 0.3), 40).T[:-1]
    start[7] = 0.0 if seed % 3 == 0 else start[7]
    mixture = fit_mixture(scaled, features, start.T, 0.05, 3, 0.0)
    found = irredundant(mixture, scaled, 0.05)
    assert found == plainly_irredundant(mixture, scaled, 0.05, 0.65, 3)
    assert len(found) < 8


def test_the_mixture_stops_when_the_time_is_over():
    X, _ = planted_axes(300, 8, n_clusters=3, dims=4, random_state=0)
    scaled = even_scale(as_blocks(X), "uniform", 0.001, None)(X)
    features, start = [np.arange(4)], np.linspace(0, 1, 300)[None]
    once = fit_mixture(scaled, features, start.T, 0.001, 1, 0.0)
    watch = Watch(max_time=1e-9)
    cut = fit_mixture(scaled, features, start.T, 0.001, 50, 0.0, watch)
    np.testing.assert_array_equal(cut.posterior, once.posterior)
    assert watch.was_cut
    more = fit_mixture(scaled, features, start.T, 0.001, 50, 0.0, Watch(max_time=1e9))
    assert not np.array_equal(more.posterior, once.posterior)


def test_a_fit_that_is_cut_short_has_no_cluster_without_rows(monkeypatch):
    """The last fit before the time is over can take all rows of a cluster away."""
    X, _ = planted_axes(300, 8, n_clusters=3, dims=4, random_state=0)
    fitted = []

    def emptied(*args):
        mixture = fit_mixture(*args)
        fitted.append(len(mixture.features))
        if len(fitted) == 2:
            mixture.posterior[:, 0] = 0
        return mixture

    monkeypatch.setattr(p3c, "fit_mixture", emptied)
    monkeypatch.setattr(p3c, "irredundant", lambda m, *_: list(range(1, len(m.features))))
    monkeypatch.setattr(Watch, "out_of_time", lambda self: len(fitted) >= 2)
    found = P3C.as_published(poisson_threshold=1e-4).fit(X).clustering_
    assert fitted[1] == fitted[0] - 1
    assert found.n_clusters == fitted[1] - 1
