from __future__ import annotations

import json
from itertools import combinations

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import fowlkes_mallows_score
from tests.validation.finders import Halves

from subscape import SubspaceClustering, assign, describe
from subscape.datasets import planted_axes, planted_oriented
from subscape.finders import PROCLUS, SSPC, KFlats
from subscape.measures import clustering_error, label_error
from subscape.validation import (
    clest,
    lange_stability,
    levine_domany,
    model_explorer,
    prediction_strength,
)
from subscape.validation.stability.lange import strength
from subscape.validation.stability.model_explorer import _last_agreeing, _local_maxima, merit
from subscape.validation.stability.transfer import RULES

BLOBS = make_blobs(120, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)[0]
SQUARE = np.random.default_rng(3).random((120, 2))
GRID = {"n_clusters": [2, 3, 4, 5]}
FINDER = KMeans(n_init=4)
X, TRUTH = planted_axes(160, 8, n_clusters=3, dims=4, random_state=1)

METHODS = {
    "lange": (lange_stability, dict(n_splits=5)),
    "clest": (clest, dict(n_splits=5, n_nulls=5)),
    "strength": (prediction_strength, dict(n_splits=5)),
    "explorer": (model_explorer, dict(n_pairs=5)),
    "levine": (levine_domany, dict(n_samples=5)),
}


@pytest.mark.parametrize("name", METHODS)
def test_three_blobs_are_three(name):
    method, options = METHODS[name]
    curve = method(FINDER, BLOBS, GRID, **options)
    assert curve.best == {"n_clusters": 3}
    assert curve.n_clusters.tolist() == [2, 3, 4, 5]
    assert curve.replicates.shape == (4, 5)
    exported = curve.to_frame()
    assert list(exported["n_clusters"]) == [2, 3, 4, 5]
    json.dumps(curve.to_dict(), allow_nan=False)
    # The same to the last bit, whoever does the work.
    with joblib.parallel_config(backend="loky" if name == "explorer" else "threading"):
        assert method(FINDER, BLOBS, GRID, n_jobs=2, **options).to_dict() == curve.to_dict()


@pytest.mark.parametrize("name", METHODS)
def test_planted_subspaces_are_found_by_the_number_of_clusters(name):
    method, options = METHODS[name]
    small = {option: 3 for option in options}
    curve = method(PROCLUS(avg_dims=4, n_init=2), X, {"n_clusters": [2, 3, 4]}, **small)
    good = curve.values[1]
    assert good == (min if curve.better == "low" else max)(curve.values)
    if name != "levine":  # its neighbours are those of the full space
        assert curve.best == {"n_clusters": 3}


def test_a_uniform_square_is_one():
    grid = {"n_clusters": [1, 2, 3]}
    assert prediction_strength(FINDER, SQUARE, grid, n_splits=6).values[0] == 1
    assert clest(FINDER, SQUARE, {"n_clusters": [2, 3]}, n_splits=6, n_nulls=10).chosen is None
    blobs = prediction_strength(FINDER, BLOBS, {"n_clusters": [1, 5]}, n_splits=4)
    assert blobs.best == {"n_clusters": 1}


# -- halves -------------------------------------------------------------------------------------


def test_lange_is_the_papers_index_with_row_labels():
    curve = lange_stability(
        FINDER, BLOBS, GRID, n_splits=4, measure="label_error", baseline="uniform"
    )
    for g, row in enumerate(curve.runs):
        found = []
        for i in range(4):
            learned, test = row[2 * i], row[2 * i + 1]
            rule = describe(BLOBS[learned.rows], learned.clustering)
            predicted = assign(BLOBS[test.rows], rule)
            found.append(label_error(predicted, test.clustering.labels()))
        assert curve.details["distance"][g] == pytest.approx(np.mean(found))
        # Random labels agree on 1/k after the best matching, and by luck on more.
        k = GRID["n_clusters"][g]
        assert 1 - 1 / k - 0.15 < curve.details["baseline"][g] <= 1 - 1 / k
    level = curve.details["baseline"]
    assert curve.values == pytest.approx(curve.details["distance"] / level)


def test_the_halves_of_lange_carry_their_subspaces():
    curve = lange_stability(PROCLUS(3, avg_dims=4, n_init=2), X, n_splits=2)
    (row,) = curve.runs
    found = []
    for learned, test in (row[:2], row[2:]):
        labels = assign(X[test.rows], describe(X[learned.rows], learned.clustering))
        carried = SubspaceClustering.from_labels(labels, masks=learned.clustering.subspaces.masks)
        found.append(clustering_error(carried, test.clustering))
    assert curve.details["distance"][0] == pytest.approx(np.mean(found))


def test_other_rules_of_transfer_and_other_kinds():
    near = lange_stability(FINDER, BLOBS, {"n_clusters": [2, 3]}, n_splits=2, transfer="neighbour")
    assert near.best == {"n_clusters": 3}
    first = lange_stability(
        FINDER, BLOBS, {"n_clusters": [3]}, n_splits=2,
        transfer=lambda X, clustering, new: np.zeros(len(new), int),
    )  # fmt: skip
    assert first.details["distance"][0] > 0.5
    table, _ = planted_oriented(3, ((1, 50), (1, 50)), noise=0, random_state=0)
    flats = lange_stability(KFlats(flat_dim=1), table, {"n_clusters": [2, 3]}, n_splits=2)
    assert flats.values[0] < flats.values[1]
    both = lange_stability(Halves(), X, n_splits=2, sampling="both")
    assert {len(run.columns) for run in both.runs[0]} == {6}


def test_of_several_rules_of_transfer_the_best_is_kept():
    grid, rules = {"n_clusters": [2, 3, 4]}, ["prototype", "neighbour", "discriminant", "tree"]
    alone = [lange_stability(FINDER, BLOBS, grid, n_splits=3, transfer=rule) for rule in rules]
    values = np.array([curve.values for curve in alone])
    for transfer in ("best", rules):
        together = lange_stability(FINDER, BLOBS, grid, n_splits=3, transfer=transfer)
        np.testing.assert_array_equal(together.values, values.min(axis=0))
        kept = [rules.index(name) for name in together.details["transfer"]]
        np.testing.assert_array_equal(values[kept, range(3)], together.values)
        for name in ("distance", "baseline"):
            own = np.array([curve.details[name] for curve in alone])[kept, range(3)]
            np.testing.assert_array_equal(together.details[name], own)
    assert together.to_records()[0]["transfer"] in rules
    assert json.dumps(together.to_dict())
    # A rule that knows nothing is not kept.
    blind = lange_stability(
        FINDER,
        BLOBS,
        grid,
        n_splits=3,
        transfer=[lambda X, c, new: np.zeros(len(new), int), "tree"],
    )
    assert set(blind.details["transfer"]) == {"tree"}
    np.testing.assert_array_equal(blind.values, values[3])


@pytest.mark.parametrize("rule", ["neighbour", "discriminant", "tree"])
def test_rules_of_transfer_know_the_rows_they_learned_from(rule):
    labels = KMeans(3, n_init=2, random_state=0).fit_predict(BLOBS)
    labels[::20] = -1
    far = BLOBS + 50 * (labels < 0)[:, None]
    clustering = SubspaceClustering.from_labels(labels)
    np.testing.assert_array_equal(RULES[rule](far, clustering, far), labels)


def test_prediction_strength_that_sees_subspaces():
    table, _ = planted_axes(160, 8, n_clusters=3, dims=4, random_state=0)
    rows, cells = (
        prediction_strength(SSPC(n_init=2), table, {"n_clusters": [2, 3]}, n_splits=3, measure=m)
        for m in ("rows", "cells")
    )
    assert (cells.values <= rows.values).all()
    assert cells.values[1] > 0.9
    # The same rows, in features that a half chooses by itself.
    wandering = prediction_strength(Wandering(), table, n_splits=4, measure="rows")
    seen = prediction_strength(Wandering(), table, n_splits=4, measure="cells")
    assert wandering.values[0] == 1 and seen.values[0] < 0.5
    # Oriented ones, too.
    flats, _ = planted_oriented(3, ((1, 60), (1, 60)), noise=0, random_state=0)
    curve = prediction_strength(KFlats(2, flat_dim=1), flats, n_splits=2, measure="cells")
    assert 0.9 < curve.values[0] <= 1


class Wandering(BaseEstimator):
    """One cluster of all rows, in two features that depend on the rows."""

    def fit(self, X, y=None):
        first = int(np.abs(X).sum() * 1e6) % (X.shape[1] - 1)
        mask = np.isin(np.arange(X.shape[1]), (first, first + 1))
        self.clustering_ = SubspaceClustering.from_labels(np.zeros(len(X), int), masks=[mask])
        return self


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=2, max_size=14))
def test_strength_in_subspaces_by_brute_force(pairs):
    a, b = np.array(pairs).T
    rng = np.random.default_rng(len(pairs))
    masks = [rng.random((3, 4)) < 0.6 for _ in range(2)]
    for mask in masks:
        mask[~mask.any(axis=1), 0] = True
    names = [sorted(set(side[side >= 0].tolist())) for side in (a, b)]
    worst = []
    for j in range(3):
        rows = np.flatnonzero((b == j) & (a >= 0))
        shares = []
        for r, s in combinations(rows, 2):
            one, other = masks[0][a[r]], masks[1][j]
            shared = (one & other).sum() / (one | other).sum()
            shares.append(shared if a[r] == a[s] else 0.0)
        if shares:
            worst.append(np.mean(shares))
    sides = (
        SubspaceClustering.from_labels(np.where(side < 0, -1, np.searchsorted(name, side)),
                                       masks=mask[name])
        for side, mask, name in zip((a, b), masks, names, strict=True)
        if name
    )  # fmt: skip
    if all(names):
        found = strength(*sides, cells=True)
        assert np.isnan(found) if not worst else found == pytest.approx(min(worst))


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=2, max_size=14))
def test_strength_by_brute_force(pairs):
    a, b = np.array(pairs).T
    worst = []
    for j in range(3):
        rows = np.flatnonzero((b == j) & (a >= 0))
        together = [a[r] == a[s] for r, s in combinations(rows, 2)]
        if together:
            worst.append(np.mean(together))
    found = strength(*(SubspaceClustering.from_labels(labels) for labels in (a, b)))
    assert np.isnan(found) if not worst else found == pytest.approx(min(worst))


def test_clest_reports_what_it_compares():
    curve = clest(FINDER, BLOBS, {"n_clusters": [2, 3]}, n_splits=3, n_nulls=4,
                  measure="fowlkes_mallows_score")  # fmt: skip
    (learned, test) = curve.runs[1][:2]
    labels = assign(BLOBS[test.rows], describe(BLOBS[learned.rows], learned.clustering))
    assert curve.replicates[1, 0] == pytest.approx(
        fowlkes_mallows_score(labels, test.clustering.labels())
    )
    assert len(learned.rows) == 80 and len(test.rows) == 40
    details = curve.details
    assert curve.values == pytest.approx(details["similarity"] - details["null_similarity"])
    assert set(details["p_value"] * 4) <= {0, 1, 2, 3, 4}


# -- overlapping samples ------------------------------------------------------------------------


def test_model_explorer_compares_on_what_two_samples_share():
    curve = model_explorer(FINDER, BLOBS, {"n_clusters": [4]}, n_pairs=3,
                           measure="fowlkes_mallows_score")  # fmt: skip
    for i in range(3):
        a, b = curve.runs[0][2 * i : 2 * i + 2]
        rows = np.intersect1d(a.rows, b.rows)
        labels = [run.clustering.labels()[np.searchsorted(run.rows, rows)] for run in (a, b)]
        assert curve.replicates[0, i] == pytest.approx(fowlkes_mallows_score(*labels))


def test_the_rule_of_model_explorer():
    assert _last_agreeing(np.array([1.0, 0.95, 0.2]), np.array([1.0, 0.97, 0.6])) == 1
    assert _last_agreeing(np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.88, 0.5])) == 1
    assert _last_agreeing(np.array([0.5]), np.array([0.8])) == 0
    assert _last_agreeing(np.array([np.nan]), np.array([np.nan])) is None


@given(st.integers(0, 10_000))
def test_merit_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    whole = SubspaceClustering(rng.random((2, 9)) < 0.5, np.ones((2, 1), bool)) if seed % 2 else (
        SubspaceClustering.from_labels(rng.integers(-1, 3, 9))
    )  # fmt: skip
    rows = np.sort(rng.choice(9, 6, replace=False))
    part = SubspaceClustering.from_labels(rng.integers(-1, 3, 6))
    pairs = np.array(list(combinations(range(9), 2)))
    agree = []
    for r, s in pairs:
        if r in rows and s in rows:
            members = whole.memberships.toarray()
            together = bool((members[:, r] * members[:, s]).any())
            labels = part.labels()
            a, b = labels[np.searchsorted(rows, [r, s])]
            agree.append(together == (a == b and a >= 0))
    assert merit(whole, part, rows, pairs) == pytest.approx(np.mean(agree))


def test_local_maxima_along_a_grid():
    assert _local_maxima(np.array([0.1, 0.5, 0.5, 0.2, 0.9])).tolist() == [2, 4]
    assert _local_maxima(np.array([np.nan, 0.5, np.nan])).tolist() == [1]
    assert _local_maxima(np.array([np.nan])).tolist() == []


def test_levine_and_domany_with_pairs_that_are_together():
    curve = levine_domany(FINDER, BLOBS, GRID, n_samples=4, pairs="together")
    assert curve.best == {"n_clusters": 3}
    assert curve.values[1] == 1
    columns = levine_domany(Halves(), X, n_samples=3, sampling="columns")
    assert columns.replicates.shape == (1, 3)
    missing = np.where(X > 0.99, np.nan, X)
    with pytest.raises(ValueError, match="together"):
        levine_domany(Halves(), missing)


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["raise", "nothing"])
@pytest.mark.parametrize("name", METHODS)
def test_a_finder_that_fails_or_finds_nothing_in_one_sample(name, fault):
    method, options = METHODS[name]
    seeds = [run.provenance["seed"] for run in method(Halves(), BLOBS, **options).runs[0]]
    curve = method(Halves(fault=fault, where=seeds[0]), BLOBS, **options)
    assert curve.n_failed.tolist() == [int(fault == "raise")]
    assert curve.n_empty.tolist() == [int(fault == "nothing")]
    assert np.isfinite(curve.values).all()
    if fault == "raise":
        assert np.isnan(curve.replicates[0, 0])
        assert not np.isnan(curve.replicates[0, 1:]).any()
    json.dumps(curve.to_dict(), allow_nan=False)


@pytest.mark.parametrize("name", METHODS)
def test_fewer_rows_than_clusters_in_every_part_is_an_error(name):
    method, options = METHODS[name]
    with pytest.raises(ValueError, match="failed in every one"):
        method(FINDER, BLOBS[:9], {"n_clusters": [10]}, **options)


@pytest.mark.parametrize("name", METHODS)
def test_one_cluster_only(name):
    method, options = METHODS[name]
    curve = method(KMeans(1, n_init=1), BLOBS, **options)
    assert curve.n_clusters.tolist() == [1]
    if name == "lange":
        assert curve.chosen is None
    if name == "strength":
        assert curve.values.tolist() == [1]


@pytest.mark.parametrize(
    "method, options, cause",
    [
        (lange_stability, dict(baseline="none"), "baseline"),
        (lange_stability, dict(transfer="magic"), "transfer"),
        (lange_stability, dict(sampling="columns"), "resampling_stability"),
        (lange_stability, dict(n_splits=0), "n_splits"),
        (clest, dict(n_nulls=0), "n_nulls"),
        (clest, dict(null="none"), "null"),
        (clest, dict(measure="label_vi"), "between 0 and 1"),
        (model_explorer, dict(measure="label_vi"), "between 0 and 1"),
        (model_explorer, dict(n_pairs=0), "n_pairs"),
        (levine_domany, dict(pairs="all"), "pairs"),
        (levine_domany, dict(n_neighbors=0), "n_neighbors"),
        (prediction_strength, dict(grid={"a": [1]}), "parameter"),
        (prediction_strength, dict(measure="columns"), "measure"),
        (prediction_strength, dict(transfer="best"), "transfer"),
        (lange_stability, dict(transfer=[]), "no rule"),
        (lange_stability, dict(transfer=["tree", "magic"]), "transfer"),
    ],
)
def test_bad_options_are_refused_before_any_run(method, options, cause):
    with pytest.raises(ValueError, match=cause):
        method(Halves(fault="interrupt", where=0, random_state=0), BLOBS, **options)


def test_a_single_row_can_t_be_split():
    with pytest.raises(ValueError, match="1 row"):
        lange_stability(Halves(), BLOBS[:1])
    with pytest.raises(ValueError, match="one row"):
        levine_domany(Halves(), BLOBS[:1])
