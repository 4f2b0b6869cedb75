"""Indices of compactness against definitions written out, scikit-learn and genieclust."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.datasets import load_iris, load_wine
from tests.measures.test_dunn import clusterings_of_all_kinds, distance, operator

from subscape import SubspaceClustering
from subscape.core import OrientedSubspaces
from subscape.core.errors import SubscapeError, UnsupportedKindError
from subscape.measures import (
    c_index,
    calinski_harabasz_score,
    compactness_report,
    davies_bouldin_index,
    goodman_kruskal_gamma,
    modified_hubert_gamma,
    silhouette_samples,
    silhouette_score,
)
from subscape.measures.compactness import groups as point_groups
from subscape.measures.compactness import pair_order
from subscape.measures.compactness.indices import INDICES

KINDS = ("axis", "weighted", "oriented", "complement")
BY_NAME = {name: function for name, function, _ in INDICES}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(11)
    return rng.normal(size=(24, 4)) * [1, 2, 0.5, 3] - 7


# -- definitions ----------------------------------------------------------------------------------


def pairs_of(X, clustering, full):
    """(distance, same cluster?, centroid distance) of every pair of clustered rows."""
    labels = clustering.labels()
    eye = np.eye(X.shape[1])
    operators = [eye if full else operator(clustering, k) for k in range(clustering.n_clusters)]
    centres = [X[labels == k].mean(axis=0) for k in range(clustering.n_clusters)]
    rows = np.flatnonzero(labels >= 0)
    found = []
    for i, j in itertools.combinations(rows, 2):
        s, t = labels[i], labels[j]
        matrix = (operators[s] + operators[t]) / 2
        apart = distance(centres[s], centres[t], matrix)
        found.append((distance(X[i], X[j], matrix), s == t, apart))
    return (
        np.array([f[0] for f in found]),
        np.array([f[1] for f in found]),
        np.array([f[2] for f in found]),
    )


def brute_silhouettes(X, clustering, full):
    labels = clustering.labels()
    eye = np.eye(X.shape[1])
    operators = [eye if full else operator(clustering, k) for k in range(clustering.n_clusters)]
    values = np.full(len(X), np.nan)
    for i in np.flatnonzero(labels >= 0):
        means = []
        for t in range(clustering.n_clusters):
            matrix = (operators[labels[i]] + operators[t]) / 2
            rows = [j for j in np.flatnonzero(labels == t) if j != i]
            means.append(np.mean([distance(X[i], X[j], matrix) for j in rows]) if rows else None)
        own = means[labels[i]]
        if own is None:
            values[i] = 0.0
            continue
        other = min(m for t, m in enumerate(means) if t != labels[i])
        values[i] = (other - own) / max(own, other)
    return values


def brute_index(name, X, clustering, full):
    labels = clustering.labels()
    number = clustering.n_clusters
    eye = np.eye(X.shape[1])
    operators = [eye if full else operator(clustering, k) for k in range(number)]
    groups = [X[labels == k] for k in range(number)]
    centres = [g.mean(axis=0) for g in groups]
    d, same, q = pairs_of(X, clustering, full)
    if name == "modified_hubert_gamma":
        return np.corrcoef(d, q)[0, 1]
    if name == "c_index":
        ordered = np.sort(d)
        low, high = ordered[: same.sum()].sum(), ordered[-same.sum() :].sum()
        return (d[same].sum() - low) / (high - low)
    if name == "goodman_kruskal_gamma":
        plus = sum((w < b) for w in d[same] for b in d[~same])
        minus = sum((w > b) for w in d[same] for b in d[~same])
        return (plus - minus) / (plus + minus)
    if name == "davies_bouldin_index":
        widths = [
            np.mean([distance(x, centres[k], operators[k]) for x in groups[k]])
            for k in range(number)
        ]
        worst = [
            max(
                (widths[s] + widths[t])
                / distance(centres[s], centres[t], (operators[s] + operators[t]) / 2)
                for t in range(number)
                if t != s
            )
            for s in range(number)
        ]
        return np.mean(worst)
    assert name == "calinski_harabasz_score"
    middle = X[labels >= 0].mean(axis=0)
    between = sum(
        len(groups[k]) * distance(centres[k], middle, operators[k]) ** 2 for k in range(number)
    )
    within = sum(
        distance(x, centres[k], operators[k]) ** 2 for k in range(number) for x in groups[k]
    )
    n = int((labels >= 0).sum())
    return (between / (number - 1)) / (within / (n - number))


INDICES_WITH_DEFINITION = (
    "modified_hubert_gamma",
    "c_index",
    "goodman_kruskal_gamma",
    "davies_bouldin_index",
    "calinski_harabasz_score",
)


@pytest.mark.parametrize("name", INDICES_WITH_DEFINITION)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", ["full", "subspace"])
def test_definition(table, name, kind, space):
    clustering = clusterings_of_all_kinds()[kind]
    expected = brute_index(name, table, clustering, space == "full")
    assert BY_NAME[name](table, clustering, space=space) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", ["full", "subspace"])
def test_silhouettes_are_the_definition(table, kind, space):
    clustering = clusterings_of_all_kinds()[kind]
    expected = brute_silhouettes(table, clustering, space == "full")
    got = silhouette_samples(table, clustering, space=space)
    np.testing.assert_allclose(got, expected, atol=1e-8)
    assert silhouette_score(table, clustering, space=space) == pytest.approx(np.nanmean(expected))


@pytest.mark.parametrize("name", list(BY_NAME))
@pytest.mark.parametrize("space", ["full", "subspace"])
def test_blocks_and_passes_change_nothing(table, name, space, monkeypatch):
    clustering = clusterings_of_all_kinds()["axis"]
    whole = BY_NAME[name](table, clustering, space=space)
    monkeypatch.setattr(point_groups, "BLOCK_PAIRS", 40)
    monkeypatch.setattr(pair_order, "MOST_HELD", 3)
    assert BY_NAME[name](table, clustering, space=space) == pytest.approx(whole, rel=1e-9)


def test_counting_comes_close_to_sorting(table, monkeypatch):
    labels = np.arange(24) % 3
    exact = goodman_kruskal_gamma(table, labels)
    monkeypatch.setattr(pair_order, "MOST_SORTED", 0)
    assert goodman_kruskal_gamma(table, labels) == pytest.approx(exact, abs=1e-4)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_tied_distances(seed, held):
    """Small whole numbers: many distances are equal."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(14, 2)).astype(float)
    clustering = SubspaceClustering.from_labels(np.arange(14) % 3, n_features=2)
    with pytest.MonkeyPatch.context() as patch:
        if not held:
            patch.setattr(pair_order, "MOST_HELD", 0)
        for name in ("c_index", "goodman_kruskal_gamma"):
            expected = brute_index(name, X, clustering, True)
            assert BY_NAME[name](X, clustering) == pytest.approx(expected, abs=1e-9)


# -- peers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_equals_scikit_learn(load):
    X, labels = load(return_X_y=True)
    assert silhouette_score(X, labels) == pytest.approx(metrics.silhouette_score(X, labels))
    np.testing.assert_allclose(
        silhouette_samples(X, labels), metrics.silhouette_samples(X, labels), atol=1e-9
    )
    assert davies_bouldin_index(X, labels) == pytest.approx(metrics.davies_bouldin_score(X, labels))
    assert calinski_harabasz_score(X, labels) == pytest.approx(
        metrics.calinski_harabasz_score(X, labels)
    )


def test_equals_genieclust():
    """silhouette_index, negated_davies_bouldin_index and calinski_harabasz_index of 1.3.0."""
    X, labels = load_wine(return_X_y=True)
    assert silhouette_score(X, labels) == pytest.approx(0.20008297882823037, rel=1e-9)
    assert davies_bouldin_index(X, labels) == pytest.approx(1.5154862521642116, rel=1e-9)
    assert calinski_harabasz_score(X, labels) == pytest.approx(206.67811644828873, rel=1e-9)


# -- properties -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(BY_NAME)))
def test_full_subspaces_are_the_full_space(seed, name):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(18, 3))
    labels = np.concatenate([np.arange(3), rng.integers(-1, 3, 15)])
    labels[3:6] = [0, 1, 2]
    index = BY_NAME[name]
    full = index(X, labels)
    everything = SubspaceClustering.from_labels(labels, n_features=3)
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotated = SubspaceClustering.from_labels(labels, bases=OrientedSubspaces([turned] * 3))
    assert index(X, everything, space="subspace") == pytest.approx(full, rel=1e-6)
    assert index(X, everything.as_weighted(), space="subspace") == pytest.approx(full, rel=1e-6)
    assert index(X, rotated, space="subspace") == pytest.approx(full, rel=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(BY_NAME)))
def test_units_and_order_do_not_matter(seed, name):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(16, 3))
    labels = np.concatenate([[0, 0, 1, 1, 2, 2], rng.integers(-1, 3, 10)])
    masks = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0]], bool)
    order = rng.permutation(16)
    index = BY_NAME[name]
    value = index(X, SubspaceClustering.from_labels(labels, masks=masks), space="subspace")
    moved = index(
        3.0 * X[order] + 5.0,
        SubspaceClustering.from_labels(labels[order], masks=masks),
        space="subspace",
    )
    assert moved == pytest.approx(value, rel=1e-7)


def test_subspaces_show_what_the_full_space_hides():
    rng = np.random.default_rng(0)
    X = rng.random((200, 30))
    labels = np.repeat([0, 1], 100)
    X[:100, 0] = 0.1 + 0.02 * rng.random(100)
    X[100:, 1] = 0.9 + 0.02 * rng.random(100)
    masks = np.zeros((2, 30), bool)
    masks[[0, 1], [0, 1]] = True
    truth = SubspaceClustering.from_labels(labels, masks=masks)
    assert silhouette_score(X, truth) < 0.1 < 0.7 < silhouette_score(X, truth, space="subspace")
    wrong = SubspaceClustering.from_labels(labels, masks=np.roll(masks, 7, axis=1))
    assert silhouette_score(X, wrong, space="subspace") < 0.1


def test_davies_bouldin_by_any_power(table):
    labels = np.arange(24) % 3
    groups = [table[labels == k] for k in range(3)]
    centres = np.array([g.mean(axis=0) for g in groups])
    for r, norm in ((1, 2), (2, 2), (3, 3), (1, 1), (2, np.inf)):
        widths = [
            np.mean(np.linalg.norm(g - c, ord=norm, axis=1) ** r) ** (1 / r)
            for g, c in zip(groups, centres, strict=True)
        ]
        expected = np.mean([
            max((widths[i] + widths[j]) / np.linalg.norm(centres[i] - centres[j], ord=norm)
                for j in range(3) if j != i)
            for i in range(3)
        ])  # fmt: skip
        assert davies_bouldin_index(table, labels, r=r, norm=norm) == pytest.approx(expected)
    with pytest.raises(SubscapeError, match="full space only"):
        davies_bouldin_index(table, labels, norm=1, space="subspace")
    with pytest.raises(SubscapeError, match="r must be"):
        davies_bouldin_index(table, labels, r=0)


def test_hubert_unnormalized(table):
    clustering = SubspaceClustering.from_labels(np.arange(24) % 3, n_features=4)
    d, _, q = pairs_of(table, clustering, True)
    assert modified_hubert_gamma(table, clustering, normalized=False) == pytest.approx(
        np.mean(d * q)
    )


# -- what is odd ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_one_cluster_is_refused_by_name(table, name):
    with pytest.raises(SubscapeError, match="at least 2 clusters, got 1"):
        BY_NAME[name](table, np.zeros(24, int))
    with pytest.raises(SubscapeError, match="got 0"):
        BY_NAME[name](table, np.full(24, -1))


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_shared_rows_and_bad_tables_are_refused(table, name):
    shared = SubspaceClustering.from_clusters([([0, 1, 2], [0]), ([2, 3], [1])], (24, 4))
    with pytest.raises(UnsupportedKindError, match="share rows"):
        BY_NAME[name](table, shared)
    with pytest.raises(SubscapeError, match="NaN"):
        BY_NAME[name](np.where(table > -7, np.nan, table), np.arange(24) % 2)


def test_nothing_to_tell_apart():
    same = np.ones((6, 2))
    labels = [0, 0, 0, 1, 1, 1]
    assert np.isnan(c_index(same, labels))
    assert np.isnan(goodman_kruskal_gamma(same, labels))
    assert np.isnan(modified_hubert_gamma(same, labels))
    assert np.isnan(calinski_harabasz_score(same, labels))
    assert davies_bouldin_index(same, labels) == np.inf
    assert silhouette_score(same, labels) == 0
    with pytest.raises(SubscapeError, match="one row only"):
        c_index([[0.0], [1.0]], [0, 1])
    with pytest.raises(SubscapeError, match="one row only"):
        goodman_kruskal_gamma([[0.0], [1.0]], [0, 1])


def test_a_subspace_without_dimensions_is_refused():
    point = OrientedSubspaces([np.eye(2), np.eye(2)[:, :1]], complement=True)
    clustering = SubspaceClustering.from_labels([0, 0, 1, 1], bases=point)
    with pytest.raises(SubscapeError, match="cluster 0 has no dimension"):
        silhouette_score(np.eye(4)[:, :2], clustering, space="subspace")


def test_report_has_every_index(table):
    report = compactness_report(table, clusterings_of_all_kinds()["axis"])
    assert [line["index"] for line in report] == list(BY_NAME)
    clustering = clusterings_of_all_kinds()["axis"]
    for line in report:
        assert line["subspace"] == BY_NAME[line["index"]](table, clustering, space="subspace")
        assert line["full"] == BY_NAME[line["index"]](table, clustering)


def test_no_matrix_of_all_distances():
    """3,000 rows have 72 MB of distances; blocks of 8 MB are enough."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(3000, 3)), rng.integers(0, 4, 3000)
    for index in (silhouette_score, c_index, modified_hubert_gamma):
        tracemalloc.start()
        index(X, labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6, index.__name__
