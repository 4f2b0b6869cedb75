"""DOC and FastDOC: against the exact search, their samples, planted clusters, limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from subscape.arrays.bitsets import unpack
from subscape.datasets import planted_axes, thesis_6_1
from subscape.finders.axis.boxes.finder import Space
from subscape.finders.axis.boxes.free_cells import FreeCells
from subscape.finders.axis.doc import DOC, FastDOC, Surroundings, n_samples_for, sample_length
from subscape.finders.axis.mineclus import MineClus
from subscape.measures import clustering_error


def a_box(seed):
    """A fifth of 1000 rows lie in a box of width 0.1 in 8 of 20 features."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(1000, 20))
    X[:200, 3:11] = rng.uniform(0.2, 0.8, size=8) + rng.uniform(0, 0.1, size=(200, 8))
    return X


PLAIN = {"width": np.full(20, 0.1), "alpha": 0.1, "beta": 0.1, "refine": False}


# -- the search -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("finder", [DOC, FastDOC])
def test_the_box_is_found_and_no_better_than_the_best(finder, seed):
    X = a_box(seed)
    found = finder(1, **PLAIN, random_state=0).fit(X)
    assert np.flatnonzero(found.clustering_.subspaces.masks[0]).tolist() == list(range(3, 11))
    assert (found.labels_[:200] == 0).all() and (found.labels_[200:] == 0).sum() <= 1
    exact = MineClus(1, **PLAIN, n_seeds=1000, random_state=0).fit(X)
    assert found.quality_[0] <= exact.quality_[0] + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_sampling_is_never_better_than_mining(seed):
    X = np.random.default_rng(seed).uniform(size=(40, 6))
    plain = {"width": np.full(6, 0.2), "alpha": 0.1, "beta": 0.2, "refine": False, "n_seeds": 40}
    exact = MineClus(1, **plain, random_state=0).fit(X).quality_[0]
    many = DOC(1, **plain, random_state=0).fit(X).quality_[0]
    few = FastDOC(1, **plain, max_samples=20, random_state=0).fit(X)
    assert many <= exact + 1e-9
    assert many == pytest.approx(exact)  # thousands of samples of 40 rows miss nothing
    assert few.clustering_.n_clusters == 0 or few.quality_[0] <= exact + 1e-9


@pytest.mark.parametrize("finder", [DOC, FastDOC])
def test_the_box_is_as_wide_as_it_may_be(finder):
    X, _ = planted_axes(300, 10, n_clusters=3, dims=4, random_state=0)
    half = np.linspace(0.04, 0.1, 10)
    found = finder(3, width=half, refine=False, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 3
    taken = np.zeros(300, dtype=bool)
    for k, seed in enumerate(found.seeds_):
        features = found.clustering_.subspaces.masks[k]
        np.testing.assert_array_equal(found.low_[k, features], (X[seed] - half)[features])
        np.testing.assert_array_equal(found.high_[k, features], (X[seed] + half)[features])
        near = (X[seed] - half <= X) & (X[seed] + half >= X)
        inside = near[:, features].all(axis=1)
        assert inside[seed]
        np.testing.assert_array_equal(found.labels_ == k, inside & ~taken)
        taken |= inside


# -- samples --------------------------------------------------------------------------------------


def test_how_long_and_how_many_samples_are():
    # log(2 p) / log(1 / (2 beta)), rounded up; others take beta / 2 and get 2 instead of 9.
    assert sample_length(200, 0.25) == 9
    assert [sample_length(p, 0.1) for p in (1, 12, 13, 62, 63)] == [1, 2, 3, 3, 4]
    assert sample_length(20, 0.25) == 6
    assert n_samples_for(3, 0.1) == 11_091
    assert n_samples_for(6, 0.1) == pytest.approx(8.9e7, rel=0.01)


def test_useless_samples_are_left_out_in_the_right_proportion():
    rng = np.random.default_rng(0)
    table = rng.uniform(size=(9, 6))
    half = np.full(6, 0.3)
    space = Space(
        table, np.ascontiguousarray(table.T), np.ones(6), half, FreeCells(9, 6), 1, np.log(4)
    )
    around = Surroundings(space, 0)
    near = (np.abs(table - table[0]) <= half)[1:]
    np.testing.assert_array_equal(unpack(around.near, 6), near)
    for least in (1, 2, 3):
        shared = [near[list(pair)].all(axis=0) for pair in product(range(8), repeat=2)]
        chance = np.mean([features.sum() >= least for features in shared])
        drawn = sum(len(sets) for sets in around.draw(2, 20_000, least, rng))
        assert 0 < chance < 1
        assert abs(drawn - 20_000 * chance) < 4 * np.sqrt(20_000 * chance * (1 - chance))


def test_the_features_that_could_beat_a_box():
    table = np.random.default_rng(0).uniform(size=(100, 6))
    space = Space(
        table, np.ascontiguousarray(table.T), np.ones(6), np.ones(6), FreeCells(100, 6), 1, 2.0
    )
    around = Surroundings(space, 0)
    for floor in np.linspace(-3, 15, 40):
        least = around.features_to_beat(floor)
        assert least == 1 or np.log(100) + (least - 1) * 2.0 <= floor + 1e-6
        assert np.log(100) + least * 2.0 > floor
    assert around.features_to_beat(-np.inf) == 1


# -- planted clusters -----------------------------------------------------------------------------


@pytest.mark.parametrize("dims", range(4, 20, 2))
def test_doc_on_the_tables_of_the_thesis(dims):
    X, truth = thesis_6_1(dims=dims, random_state=dims)
    found = DOC(n_clusters=5, alpha=0.05, random_state=0).fit(X).clustering_
    assert clustering_error(truth, found) <= 0.01


@pytest.mark.parametrize("dims, thesis", [(4, 0.80), (10, 0.85), (18, 0.88)])
def test_fastdoc_on_the_tables_of_the_thesis(dims, thesis):
    errors = []
    for draw in range(3):
        X, truth = thesis_6_1(dims=dims, random_state=draw)
        errors.append(
            clustering_error(truth, FastDOC(n_clusters=5, random_state=0).fit(X).clustering_)
        )
    assert np.median(errors) <= 0.02 and max(errors) < thesis / 2


@pytest.mark.parametrize("finder", [DOC, FastDOC])
def test_clusters_and_their_number_are_found(finder):
    X, truth = planted_axes(500, 15, n_clusters=4, dims=6, noise=0.2, random_state=2)
    assert finder(random_state=0).fit(X).clustering_ == truth
    noise = np.random.default_rng(0).uniform(size=(300, 10))
    assert finder(random_state=0).fit(noise).clustering_.n_clusters == 0


def test_clusters_that_share_rows():
    X, truth = planted_axes(600, 15, n_clusters=3, dims=5, overlap=0.2, random_state=0)
    assert DOC(alpha=0.05, overlap=True, random_state=0).fit(X).clustering_ == truth
    assert DOC(alpha=0.05, random_state=0).fit(X).clustering_.is_row_disjoint


def test_a_large_table_is_searched_in_a_sample():
    X, truth = planted_axes(4000, 12, n_clusters=4, dims=5, noise=0.1, random_state=0)
    finder = DOC(search_rows=600, random_state=0).fit(X)
    assert clustering_error(truth, finder.clustering_) <= 0.01
    np.testing.assert_array_equal(finder.predict(X), finder.labels_)


# -- parameters and limits ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return planted_axes(300, 12, n_clusters=3, dims=5, noise=0.1, random_state=3)


@pytest.mark.parametrize("finder", [DOC, FastDOC])
def test_the_same_bits_for_any_number_of_workers(table, finder):
    first = finder(random_state=5).fit(table.X)
    for n_jobs in (1, 2):
        again = finder(random_state=5, n_jobs=n_jobs).fit(table.X)
        for name in ("labels_", "low_", "high_", "quality_", "seeds_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(first, name))


def test_fastdoc_stops_at_enough_features(table):
    X, _ = table
    plain = {"refine": False, "n_seeds": 64, "random_state": 0}
    most = FastDOC(1, **plain).fit(X).clustering_.subspaces.dims[0]
    soon = FastDOC(1, enough_dims=2, **plain).fit(X).clustering_.subspaces.dims[0]
    assert 2 <= soon <= most
    with pytest.raises(ValueError, match="enough_dims=13 is more than the 12 features"):
        FastDOC(enough_dims=13).fit(X)


def test_strictly_the_most_features_win_even_if_too_few_rows_share_them():
    X = a_box(0)
    X[200:260, 11:] = X[200:260, :3] = 0.5  # alike in twelve features, but too few to be a cluster
    plain = PLAIN | {"n_seeds": 1000, "random_state": 0}
    assert FastDOC(1, **plain).fit(X).clustering_.subspaces.dims.tolist() == [8]
    assert FastDOC(1, strict=True, **plain).fit(X).clustering_.n_clusters == 0


def test_too_few_samples_are_pointed_out(table):
    with pytest.warns(ConvergenceWarning, match=r"5 samples of 2 rows are too few.*raise max_sam"):
        DOC(3, max_samples=5, random_state=0).fit(table.X)
    FastDOC(3, max_samples=5, random_state=0).fit(table.X)


def test_samples_without_limit():
    X = a_box(0)
    as_in_the_paper, enough = (
        DOC(1, **PLAIN, n_seeds=4, max_samples=most, random_state=0).fit(X)
        for most in (None, n_samples_for(sample_length(20, 0.1), 0.1))
    )
    assert as_in_the_paper.clustering_.n_clusters == 1
    assert as_in_the_paper.clustering_ == enough.clustering_


@pytest.mark.parametrize("finder", [DOC, FastDOC])
def test_beta_is_below_one_half(table, finder):
    with pytest.raises(ValueError, match="'beta' parameter"):
        finder(beta=0.5).fit(table.X)


def test_time_is_limited(table):
    with pytest.warns(ConvergenceWarning, match="max_time"):
        finder = DOC(max_time=1e-9, random_state=0).fit(table.X)
    assert finder.clustering_.n_clusters <= 1
