"""A study written into AnnData: clusters, memberships, relevance and provenance."""

import anndata
import numpy as np
import pandas as pd
import pytest

from subscape.core.errors import ShapeMismatchError, SubscapeError
from subscape.testing.studies import empty_study, planted_study


@pytest.fixture(scope="module")
def study():
    names = tuple(f"cell{i}" for i in range(120))
    return planted_study(120, n_clusters=(3, 2), row_names=names, untidy=True)


def object_for(study, names, variables=None):
    obs = pd.DataFrame({"batch": "a"}, index=list(names))
    var = pd.DataFrame(index=list(variables or study.feature_names))
    return anndata.AnnData(np.zeros((len(obs), len(var)), dtype=np.float32), obs=obs, var=var)


def test_everything_is_where_scverse_looks_for_it(study, tmp_path):
    adata = object_for(study, study.row_names)
    study.write_anndata(adata)
    adata.write_h5ad(tmp_path / "a.h5ad")
    adata = anndata.read_h5ad(tmp_path / "a.h5ad")
    for view in study.views:
        name = f"subscape_view{view.number}"
        groups = adata.obs[name]
        assert isinstance(groups.dtype, pd.CategoricalDtype)
        assert list(groups.cat.categories) == [str(k) for k in range(view.n_clusters)]
        assert np.array_equal(groups.cat.codes, view.labels)
        assert np.array_equal(adata.obs[f"{name}_confidence"], view.row_confidence)
        assert np.array_equal(adata.obsm[name], view.clustering.memberships.toarray().T)
        assert np.array_equal(adata.varm[name], view.clustering.subspaces.relevance.T)
        about = adata.uns["subscape"]["views"][str(view.number)]
        assert about["p_value"] == view.p_value
        assert tuple(about["descriptions"]) == view.descriptions
    assert adata.uns["subscape"]["verdict"] == study.verdict
    assert (study.label_matrix() == -1).any()  # otherwise rows in no cluster went unseen
    assert adata.obs["batch"].eq("a").all()


def test_rows_and_variables_are_found_by_name(study):
    order = [5, 3, 100]
    names = [*(study.row_names[i] for i in order), "stranger"]
    variables = [study.feature_names[2], "unknown", study.feature_names[0]]
    adata = object_for(study, names, variables)
    study.write_anndata(adata, key_added="sub")
    view = study[1]
    assert np.array_equal(adata.obs["sub_view1"].cat.codes, [*view.labels[order], -1])
    assert np.isnan(adata.obs["sub_view1_confidence"].iloc[-1])
    members = view.clustering.memberships.toarray().T[order]
    assert np.array_equal(adata.obsm["sub_view1"], [*members, np.zeros(view.n_clusters)])
    relevance = view.clustering.subspaces.relevance.T
    expected = [relevance[2], np.zeros(view.n_clusters), relevance[0]]
    assert np.array_equal(adata.varm["sub_view1"], expected)


def test_an_object_without_these_names_is_joined_by_order(study):
    adata = object_for(study, [f"other{i}" for i in range(study.shape[0])])
    study.write_anndata(adata)
    assert np.array_equal(adata.obs["subscape_view2"].cat.codes, study[2].labels)
    with pytest.raises(ShapeMismatchError, match="has 7 rows, the study 120"):
        study.write_anndata(object_for(study, [f"other{i}" for i in range(7)]))


def test_features_that_are_no_variables_have_their_relevance_in_uns(study, tmp_path):
    adata = object_for(study, study.row_names, ["g1", "g2"])
    study.write_anndata(adata)
    assert not adata.varm
    about = adata.uns["subscape"]
    relevance = study[1].clustering.subspaces.relevance.T
    assert np.array_equal(about["views"]["1"]["relevance"], relevance)
    assert tuple(about["features"]) == study.feature_names
    adata.write_h5ad(tmp_path / "a.h5ad")


def test_a_later_study_leaves_nothing_of_an_earlier_one(study, tmp_path):
    adata = object_for(study, study.row_names)
    before = [*adata.obs], [*adata.obsm], [*adata.varm]
    study.write_anndata(adata)
    assert len(adata.obs.columns) == 1 + 2 * len(study)
    empty_study(120).write_anndata(adata)
    assert ([*adata.obs], [*adata.obsm], [*adata.varm]) == before
    assert adata.uns["subscape"]["verdict"].startswith("No grouping better than chance")
    adata.write_h5ad(tmp_path / "a.h5ad")


def test_what_is_no_anndata_and_what_is_no_key(study):
    with pytest.raises(TypeError, match="needs an AnnData object, not ndarray"):
        study.write_anndata(np.zeros((120, 3)))
    with pytest.raises(SubscapeError, match="without '/'"):
        study.write_anndata(object_for(study, study.row_names), key_added="a/b")


def test_markers_of_others_are_left_alone(study):
    adata = object_for(study, study.row_names)
    study.write_anndata(adata)
    ours = adata.uns["rank_genes_groups"]["params"]["method"]
    assert ours == "subscape feature_tests"
    study.write_anndata(adata)  # what we wrote may be written again
    assert adata.uns["rank_genes_groups"]["params"]["method"] == ours
    theirs = {"params": {"method": "wilcoxon"}}
    adata = object_for(study, study.row_names)
    adata.uns["rank_genes_groups"] = theirs
    study.write_anndata(adata)
    assert adata.uns["rank_genes_groups"] == theirs
