"""subscape.tl and subscape.pl: an AnnData object in, entries and pictures out."""

from __future__ import annotations

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import subscape
from subscape.core.errors import SubscapeError
from subscape.datasets import planted_views

X, (TRUTH,) = planted_views(150, 4, n_clusters=(3,), separation=9, random_state=0)


@pytest.fixture(scope="module")
def explored():
    adata = anndata.AnnData(X.copy())
    adata.var_names = ["CD4", "CD8", "CD19", "CD56"]
    adata.obsm["X_pca"] = X[:, :2].copy()
    adata.layers["twice"] = 2 * X
    assert subscape.tl.explore(adata, effort="quick", random_state=0) is None
    return adata


def test_what_was_found_stands_in_the_object(explored):
    found = explored.obs["subscape_view1"]
    assert adjusted_rand_score(found, TRUTH.labels()) > 0.95
    assert explored.obsm["subscape_view1"].shape == (150, 3)
    assert explored.varm["subscape_view1"].shape == (4, 3)
    study = subscape.explore(anndata.AnnData(X), effort="quick", random_state=0)
    assert np.array_equal(found.cat.codes, study[1].labels)


def test_a_copy_leaves_the_object_alone(explored):
    plain = anndata.AnnData(X, layers={"twice": 2 * X})
    made = subscape.tl.explore(
        plain, layer="twice", key_added="mine", copy=True, effort="quick", random_state=0
    )
    assert list(plain.obs) == []
    assert made.obs["mine_view1"].nunique() == 3


def test_the_views_are_drawn(explored):
    shown = subscape.pl.views(explored)
    assert shown.names == ["subscape_view1"]
    assert shown.axes_.shape == (1, 1)
    assert np.array_equal(shown.labels[:, 0], explored.obs["subscape_view1"].cat.codes)
    for basis in ("X_pca", "pca"):
        assert len(subscape.pl.views(explored, basis=basis).feature_names) == 2
    plt.close("all")


def test_sparse_objects_are_drawn_too(explored):
    thin = explored.copy()
    thin.X = sparse.csr_matrix(thin.X)
    assert subscape.pl.views(thin).names == ["subscape_view1"]
    plt.close("all")


def test_showing_returns_nothing(explored, monkeypatch):
    calls = []
    monkeypatch.setattr(plt, "show", lambda: calls.append(1))
    assert subscape.pl.views(explored, show=True) is None
    assert calls == [1]
    plt.close("all")


def test_what_is_missing_is_named(explored):
    with pytest.raises(SubscapeError, match=r"holds no views under 'other': subscape\.tl\.explore"):
        subscape.pl.views(explored, key="other")
    with pytest.raises(SubscapeError, match="obsm has no 'umap'; it has 'X_pca'"):
        subscape.pl.views(explored, basis="umap")
    for tool in (subscape.tl.explore, subscape.pl.views):
        with pytest.raises(TypeError, match="takes an AnnData object, not ndarray"):
            tool(X)
