"""What is written into AnnData, entry by entry, of made-up studies."""

from __future__ import annotations

from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from subscape.core.errors import ShapeMismatchError
from subscape.exploration.annotation import annotate, marker_table

NAMES = ("a", "b", "c", "d", "e")
GENES = ("g0", "g1", "g2")


def fact(feature, effect=1.0, p=0.01, q=0.02):
    return SimpleNamespace(feature=feature, effect=effect, p_value=p, q_value=q)


FACTS = (
    (fact("g2", 3.0, 1e-3, 2e-3), fact("g0", -1.0, 0.5, None)),
    (fact("g1", 2.0, None, 0.25), fact("g2", None), fact("g0", 0.5), fact("nowhere", 9.0)),
)
RELEVANCE = np.array([[0.5, 0.0, 1.0], [0.0, 0.75, 0.25]])


def made_view(number=1, labels=(0, 1, 0, -1, 1), **more):
    labels = np.array(labels)
    members = sparse.csr_array(np.array([labels == 0, labels == 1]).astype(float))
    known = {
        "number": number, "labels": labels, "facts": FACTS, "names": ("", "big"), "n_clusters": 2,
        "row_confidence": np.array([0.9, 0.8, 0.7, 0.6, 0.5]), "p_value": 0.01, "stability": 0.3,
        "replication": 0.4, "score": 0.6, "finders": ("KMeans",), "descriptions": ("one", "two"),
        "cluster_stability": (0.1, 0.2), "cluster_p_values": (0.03, 0.04),
        "clustering": SimpleNamespace(
            memberships=members, subspaces=SimpleNamespace(relevance=RELEVANCE)
        ),
    }  # fmt: skip
    return SimpleNamespace(**(known | more))


def made_study(*views, **more):
    known = {
        "views": views or (made_view(),), "row_names": NAMES, "feature_names": GENES,
        "shape": (5, 3), "LEVEL": 0.01, "verdict": "some", "is_provisional": False, "notes": (),
        "settings": {"effort": "quick", "time": None},
    }  # fmt: skip
    return SimpleNamespace(**(known | more))


COUNTS = np.array([[0, 4, 9], [2, 0, 1], [0, 8, 3], [6, 6, 6], [4, 2, 5]], dtype=float)


def made_object(X=COUNTS, names=NAMES, genes=GENES):
    obs, var = pd.DataFrame(index=list(names)), pd.DataFrame(index=list(genes))
    if X is None:
        return anndata.AnnData(None, obs=obs, var=var)
    return anndata.AnnData(X, obs=obs, var=var)


def test_markers_of_each_cluster_in_its_own_order():
    adata = made_object()
    annotate(made_study(), adata, "s")
    told = adata.uns["s_view1_markers"]
    # Two of each: the first cluster has no more; what has no effect or is elsewhere is left out.
    assert told["names"].dtype.names == ("0", "big")
    assert told["names"]["0"].tolist() == ["g2", "g0"]
    assert told["names"]["big"].tolist() == ["g1", "g0"]
    np.testing.assert_array_equal(told["scores"]["0"], np.array([3, -1], np.float32))
    np.testing.assert_array_equal(told["scores"]["big"], np.array([2, 0.5], np.float32))
    np.testing.assert_array_equal(told["pvals"]["0"], [1e-3, 0.5])
    np.testing.assert_array_equal(told["pvals"]["big"], [np.nan, 0.01])
    np.testing.assert_array_equal(told["pvals_adj"]["0"], [2e-3, np.nan])
    np.testing.assert_array_equal(told["pvals_adj"]["big"], [0.25, 0.02])
    assert told["scores"]["0"].dtype == told["logfoldchanges"]["0"].dtype == np.float32
    assert told["pvals"]["0"].dtype == told["pvals_adj"]["0"].dtype == np.float64
    assert told["params"] == {
        "groupby": "s_view1", "reference": "rest", "method": "subscape feature_tests",
        "use_raw": False, "corr_method": "benjamini-hochberg",
    }  # fmt: skip
    assert "rank_genes_groups" in adata.uns


@pytest.mark.parametrize("packed", [False, True])
def test_means_are_compared_as_they_were_counted(packed):
    own, two = np.array([0, 2]), np.array([1, 4])
    for X, back in ((COUNTS, COUNTS), (np.log1p(COUNTS / COUNTS.sum(1, keepdims=True)), None)):
        adata = made_object(sparse.csr_array(X) if packed else X)
        annotate(made_study(), adata, "s")
        found = adata.uns["s_view1_markers"]["logfoldchanges"]

        def mean(rows, X=X, back=back):
            return X[rows].mean(axis=0) if back is not None else np.expm1(X[rows].mean(axis=0))

        for name, rows, genes in (("0", own, [2, 0]), ("big", two, [1, 0])):
            rest = np.setdiff1d(np.arange(5), rows)
            known = np.log2((mean(rows) + 1e-9) / (mean(rest) + 1e-9))
            np.testing.assert_allclose(found[name], known[genes], rtol=1e-5)


@pytest.mark.parametrize(
    "X", [None, COUNTS - 1, (COUNTS - COUNTS.mean(axis=0)) / COUNTS.std(axis=0)]
)
def test_ratios_mean_nothing_below_zero(X):
    adata = made_object(X)
    annotate(made_study(), adata, "s")
    found = adata.uns["s_view1_markers"]["logfoldchanges"]
    assert np.isnan(found["0"]).all() and np.isnan(found["big"]).all()


def test_a_cluster_that_has_no_row_in_the_object_has_no_ratio():
    adata = made_object(COUNTS[:1], NAMES[:1])
    annotate(made_study(), adata, "s")
    found = adata.uns["s_view1_markers"]["logfoldchanges"]
    assert np.isnan(found["0"]).all() and np.isnan(found["big"]).all()


def test_no_markers_without_facts_that_are_variables():
    adata = made_object(genes=("g0", "x", "y"))
    adata.obs["s"] = pd.Categorical.from_codes([0, 1, 0, -1, 1], ["0", "big"])
    one = (FACTS[0], (fact("g0", None), fact("elsewhere")))
    assert marker_table(made_view(facts=one), adata, "s") is None
    assert marker_table(made_view(facts=()), adata, "s") is None
    told = marker_table(made_view(), adata, "s")
    assert told["names"]["0"].tolist() == ["g0"] == told["names"]["big"].tolist()


def test_the_first_view_is_the_one_that_scanpy_shows():
    one, two = made_view(1), made_view(2, labels=(1, 1, 0, 0, -1))
    adata = made_object()
    annotate(made_study(one, two), adata, "s")
    assert adata.uns["rank_genes_groups"]["params"]["groupby"] == "s_view1"
    assert adata.uns["s_view2_markers"]["params"]["groupby"] == "s_view2"
    # Written again with one view less, nothing of the second is left.
    annotate(made_study(one), adata, "s")
    assert list(adata.obs) == ["s_view1", "s_view1_confidence"]
    assert list(adata.obsm) == list(adata.varm) == ["s_view1"]
    assert sorted(adata.uns) == ["rank_genes_groups", "s", "s_view1_markers"]
    # What another key has written stays, and so does the table of others.
    adata.uns["rank_genes_groups"] = {"params": {"method": "t-test"}}
    annotate(made_study(two), adata, "other")
    assert {"s_view1", "other_view2"} <= set(adata.obs)
    assert adata.uns["rank_genes_groups"] == {"params": {"method": "t-test"}}
    # Without markers, those of an earlier study are not shown any more.
    adata = made_object()
    annotate(made_study(one), adata, "s")
    annotate(made_study(made_view(1, facts=((), ()))), adata, "s")
    assert "rank_genes_groups" not in adata.uns and "s_view1_markers" not in adata.uns


def test_rows_are_found_by_name_if_all_names_differ():
    shuffled = ("c", "zz", "a", "e")
    adata = made_object(COUNTS[:4], shuffled)
    annotate(made_study(), adata, "s")
    assert adata.obs["s_view1"].cat.codes.tolist() == [0, -1, 0, 1]
    assert list(adata.obs["s_view1"].cat.categories) == ["0", "big"]
    np.testing.assert_array_equal(adata.obs["s_view1_confidence"], [0.7, np.nan, 0.9, 0.5])
    np.testing.assert_array_equal(adata.obsm["s_view1"], [[1, 0], [0, 0], [1, 0], [0, 1]])
    assert adata.obsm["s_view1"].dtype == np.float32
    # The first row alone is enough to know them by name.
    adata = made_object(COUNTS, ("a", "v", "w", "x", "y"))
    annotate(made_study(), adata, "s")
    assert adata.obs["s_view1"].cat.codes.tolist() == [0, -1, -1, -1, -1]
    for names, rows in ((("a", "a", "b", "c", "d"), NAMES), (NAMES, None)):
        adata = made_object(COUNTS, ("a", "v", "w", "x", "y"))
        adata.obs_names = list(names)
        annotate(made_study(row_names=rows), adata, "s")
        assert adata.obs["s_view1"].cat.codes.tolist() == [0, 1, 0, -1, 1]
    with pytest.raises(ShapeMismatchError, match="has 4 rows, the study 5"):
        annotate(made_study(row_names=None), made_object(COUNTS[:4], NAMES[:4]), "s")


def test_features_are_found_by_name():
    adata = made_object(genes=("x", "g0", "y"))  # the first feature alone
    annotate(made_study(), adata, "s")
    np.testing.assert_array_equal(adata.varm["s_view1"], [[0, 0], [0.5, 0], [0, 0]])
    assert "features" not in adata.uns["s"] and "relevance" not in adata.uns["s"]["views"]["1"]


def test_what_the_object_says_of_the_study():
    adata = made_object(genes=("x", "y", "z"))
    doubtful = made_view(2, p_value=0.011, finders=(), descriptions=("p", "q"))
    annotate(made_study(made_view(), doubtful, notes=("n",)), adata, "s")
    told = adata.uns["s"]
    assert told["verdict"] == "some" and told["is_provisional"] is False
    assert told["notes"].tolist() == ["n"] and told["settings"] == {"effort": "quick"}
    assert told["features"].tolist() == list(GENES) and list(told["views"]) == ["1", "2"]
    first, second = told["views"].values()
    assert (first["is_better_than_chance"], second["is_better_than_chance"]) == (True, False)
    assert [first[n] for n in ("p_value", "stability", "replication", "score")] == [
        0.01, 0.3, 0.4, 0.6
    ]  # fmt: skip
    assert first["finders"].tolist() == ["KMeans"] and first["descriptions"].tolist() == [
        "one", "two"
    ]  # fmt: skip
    assert second["finders"].tolist() == [] and second["finders"].dtype == "U1"
    np.testing.assert_array_equal(first["cluster_stability"], [0.1, 0.2])
    np.testing.assert_array_equal(first["cluster_p_values"], [0.03, 0.04])
    np.testing.assert_array_equal(first["relevance"], RELEVANCE.T)
    assert not adata.varm
