"""Clusters in counts and expression are explained by what they have, not by what they lack."""

from __future__ import annotations

from dataclasses import replace

import anndata
import numpy as np
import pandas as pd
import pytest

import subscape
from subscape.exploration.explain import (
    FeatureFact,
    facts,
    feature_evidence,
    has_floor,
    in_table_columns,
    sentence,
)
from subscape.exploration.preparation import prepare
from subscape.measures import adjusted_rand_score
from subscape.tables import Table
from subscape.testing.studies import planted_study

GROUPS, MARKERS = 3, 3


def planted_counts(seed, n_rows=300, n_genes=150, fold=8.0):
    """Counts of cells with library sizes of their own, in groups with three genes each."""
    rng = np.random.default_rng(seed)
    base = rng.gamma(0.6, 1.5, n_genes) + 0.05
    groups = np.sort(rng.integers(0, GROUPS, n_rows))
    means = np.tile(base, (GROUPS, 1))
    own = rng.choice(n_genes, (GROUPS, MARKERS), replace=False)
    for k in range(GROUPS):
        means[k, own[k]] = np.maximum(base[own[k]], 0.3) * fold
    size = rng.lognormal(0, 0.5, n_rows)
    expected = means[groups] * size[:, None]
    # Cells of one kind differ more than by chance of counting.
    return rng.poisson(expected * rng.gamma(5, 0.2, expected.shape)).astype(float), groups, own


def cells(X):
    adata = anndata.AnnData(X)
    adata.obs_names = [f"c{i}" for i in range(X.shape[0])]
    adata.var_names = [f"g{j}" for j in range(X.shape[1])]
    return adata


def explained(table, groups):
    """The facts about given groups."""
    ready = prepare(table)
    members = np.array([groups == k for k in range(groups.max() + 1)])
    clustering, information = in_table_columns(table, ready, members, members)
    told = feature_evidence(ready, groups, information)
    return facts(table, ready, clustering, information, members, told)


@pytest.mark.parametrize("colours", [("red", "blue"), ("red", "green", "blue")])
def test_the_interval_is_that_of_the_level_that_is_shown(colours):
    # Of two levels one tells as much as the other; of three the second group lacks red most of all.
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 60)
    others = rng.integers(1, len(colours), 120)
    codes = np.where(rng.random(120) < np.where(groups == 0, 0.9, 0.1), 0, others)
    frame = pd.DataFrame({"x": 4 * groups + rng.normal(size=120), "y": np.array(colours)[codes]})
    shown = [
        next(fact for fact in listed if fact.feature == "y")
        for listed in explained(Table.read(frame), groups)
    ]
    assert shown[0].level == "red" != shown[1].level
    for fact in shown:
        assert fact.share > fact.elsewhere
        assert 0 < fact.effect_low <= fact.effect_high


@pytest.mark.parametrize("seed", range(10))
def test_planted_markers_come_first(seed):
    X, groups, own = planted_counts(seed)
    listed = explained(Table.read(cells(X), normalize="auto"), groups)
    right = [
        {fact.feature for fact in listed[k][:MARKERS]} == {f"g{j}" for j in own[k]}
        for k in range(GROUPS)
    ]
    assert all(right)


def test_planted_markers_come_first_through_the_whole_job():
    right = 0
    for seed in range(10):
        X, groups, own = planted_counts(seed, n_rows=150, n_genes=60, fold=10)
        study = subscape.explore(cells(X), effort="quick", progress=False)
        view = max(study.views, key=lambda one: adjusted_rand_score(groups, one.labels))
        kinds = [np.bincount(groups[view.labels == k]).argmax() for k in range(view.n_clusters)]
        first = [{fact.feature for fact in listed[:MARKERS]} for listed in view.facts]
        planted = [{f"g{j}" for j in own[kind]} for kind in kinds]
        right += first == planted and sorted(kinds) == list(range(GROUPS))
    assert right >= 9


def test_what_a_group_plainly_has_comes_before_what_it_surely_lacks():
    X, groups, _ = planted_counts(2, n_rows=150, n_genes=60, fold=10)
    listed = explained(Table.read(cells(X), normalize="auto"), groups)
    for k in range(GROUPS):
        has = [not fact.is_absent and (fact.effect or 0) > 0 for fact in listed[k]]
        sure_or_plain = [
            fact.is_sure or ((fact.effect or 0) >= 0.8 and fact.effect_low > 0)
            for fact in listed[k]
        ]
        n = sum(a and b for a, b in zip(has, sure_or_plain, strict=True))
        assert n >= MARKERS and all(has[:n]) and all(sure_or_plain[:n])


def test_from_counts_to_markers():
    X, groups, own = planted_counts(0, n_rows=150, n_genes=40, fold=10)
    adata = cells(X)
    study = subscape.explore(adata, effort="quick")
    view = study[1]
    assert adjusted_rand_score(groups, view.labels) > 0.8
    assert any("X holds counts" in note for note in study.notes)
    for k in range(view.n_clusters):
        kind = np.bincount(groups[view.labels == k]).argmax()
        assert {f.feature for f in view.facts[k][:MARKERS]} == {f"g{j}" for j in own[kind]}
    # New cells are brought to the library size of those that were explored.
    assert study.settings["library_size"] == np.median(X.sum(axis=1))
    some = np.flatnonzero(view.labels == 0)[:20]
    assert (study.predict(adata[some]) == 0).mean() > 0.8
    study.write_anndata(adata)
    markers = adata.uns["rank_genes_groups"]
    assert markers["params"]["groupby"] == "subscape_view1"
    assert markers["names"].dtype.names == ("0", "1", "2")
    for k in range(3):
        first = markers["names"][str(k)][:MARKERS]
        assert list(first) == [fact.feature for fact in view.facts[k][:MARKERS]]
        assert (markers["logfoldchanges"][str(k)][:MARKERS] > 1).all()
        assert (markers["pvals_adj"][str(k)][:MARKERS] <= 0.05).all()


def test_views_are_named_by_what_is_sure():
    """A gene that hardly anybody has is the same in all rows of a group: many nats, no marker."""
    view = planted_study()[1]
    rare, marker = (
        FeatureFact("rare", 6.4, True, 0.0, 0.0, 0.0, 0.0, -0.1, q_value=1.0),
        FeatureFact("marker", 1.6, True, 2.0, 3.0, 0.0, 3.0, 8.0, q_value=1e-9),
    )
    of_all = replace(view, facts=((rare, marker),) * view.n_clusters)
    assert of_all.telling_features() == ["marker"]
    unsure = replace(view, facts=((rare,),) * view.n_clusters)
    assert unsure.telling_features() == ["rare"]


def test_a_floor_is_a_frequent_smallest_value():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=50),
            np.maximum(rng.normal(size=50), 0),  # half of them 0
            np.maximum(rng.normal(size=50), -0.3),  # scaled: the floor is not 0
            rng.integers(0, 2, 50),  # two levels
            rng.integers(0, 60, 50),  # whole numbers that hardly repeat
        ]
    )
    assert has_floor(X, np.ones(X.shape, bool)).tolist() == [False, True, True, False, False]
    gaps = X.copy()
    gaps[:10] = np.nan
    assert has_floor(gaps, ~np.isnan(gaps)).tolist() == [False, True, True, False, False]


def test_what_a_group_has_comes_before_what_it_lacks():
    """A gene that is absent from a group is the same in all its rows, and tells little for that."""
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1], 100)
    has = np.where(groups == 0, rng.gamma(4, 0.6, 200), np.where(rng.random(200) < 0.05, 0.4, 0.0))
    rare = np.where((groups == 1) & (rng.random(200) < 0.3), rng.gamma(2, 0.5, 200), 0.0)
    noise = np.maximum(rng.normal(size=(200, 4)), 0)
    names = ["has", "rare", "n0", "n1", "n2", "n3"]
    table = Table.from_array(np.column_stack([has, rare, noise]), names)
    first, second = explained(table, groups)
    assert first[0].feature == "has" and not first[0].is_absent
    assert first[0].above == 1.0 and first[0].above_elsewhere == pytest.approx(0.05, abs=0.05)
    assert first[0].median_above == pytest.approx(np.median(has[:100]))
    (lacks,) = [fact for fact in first if fact.feature == "rare"]
    assert lacks.is_absent and lacks.above == 0.0
    assert lacks.information < first[0].information / 3
    (less,) = [fact for fact in second if fact.feature == "has"]
    assert less.is_absent
    words = sentence(0, 100, 200, first)
    assert "has above 0 in 100% (others" in words and "there about" in words
    assert "less has: above 0 in" in sentence(1, 100, 200, second)


def test_histograms_count_every_value():
    rng = np.random.default_rng(2)
    groups = np.repeat([0, 1], [40, 60])
    X = np.column_stack([groups * 6 + rng.normal(size=100), rng.normal(size=100)])
    X[3, 0] = np.nan
    first, second = explained(Table.from_array(X, ["tells", "noise"]), groups)
    for listed, size in ((first, 40), (second, 60)):
        for fact in listed:
            gone = fact.feature == "tells" and size == 40
            assert sum(fact.bars) == size - gone
            assert sum(fact.overall_bars) == 100 - (fact.feature == "tells")
            assert len(fact.bars) == len(fact.overall_bars) == 16
            assert fact.bars_low < fact.bars_high


def test_old_facts_have_no_floor_and_no_bars():
    fact = FeatureFact("x", 1.0, True, 0.0, 1.0, 0.0, 2.0, 0.5)
    assert fact.words() == "x in [0, 1]" and not fact.is_absent and fact.bars == ()
