"""A study written into the AnnData object that was explored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.core.types import IndexArray
from subscape.tables.expression import kind_of

if TYPE_CHECKING:
    from .protocols import RankedView as View
    from .protocols import RankedViews as Study


def annotate(study: Study, adata: Any, key: str = "subscape") -> None:
    """Write the views of a study into an AnnData object; see :meth:`Study.write_anndata`."""
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "varm", "uns", "obs_names")):
        raise TypeError(f"write_anndata needs an AnnData object, not {type(adata).__name__}")
    if not key or "/" in key:
        raise SubscapeError(
            f"key_added={key!r} can't be used: keys of AnnData are texts without '/'"
        )
    rows = _places_of_rows(study, adata)
    features = _places_of_features(study, adata)
    _forget(adata, key)
    for view in study.views:
        name = f"{key}_view{view.number}"
        adata.obs[name] = _categories(view, rows)
        adata.obs[f"{name}_confidence"] = _spread(view.row_confidence, rows, np.nan)
        members = view.clustering.memberships.toarray().T.astype(np.float32)
        adata.obsm[name] = _spread(members, rows, 0.0)
        if features is not None:
            relevance = np.asarray(view.clustering.subspaces.relevance, dtype=np.float64).T
            adata.varm[name] = _spread(relevance, features, 0.0)
            markers = marker_table(view, adata, name)
            if markers is not None:
                adata.uns[f"{name}_markers"] = markers
                if _is_ours(adata.uns.get(RANKED)) and view is study.views[0]:
                    adata.uns[RANKED] = markers
    adata.uns[key] = _provenance(study, with_relevance=features is None)


def _forget(adata: Any, key: str) -> None:
    """Take away what an earlier study left, which may have had more views than this one."""
    if key not in adata.uns:
        return
    for number in adata.uns[key].get("views", {}):
        name = f"{key}_view{number}"
        for column in (name, f"{name}_confidence"):
            if column in adata.obs:
                del adata.obs[column]
        for store in (adata.obsm, adata.varm):
            if name in store:
                del store[name]
        if f"{name}_markers" in adata.uns:
            del adata.uns[f"{name}_markers"]
    if RANKED in adata.uns and _is_ours(adata.uns[RANKED]):
        del adata.uns[RANKED]
    del adata.uns[key]


#: Where scanpy looks for the markers of groups.
RANKED = "rank_genes_groups"
#: What such a table of ours says of itself.
METHOD = "subscape feature_tests"


def _is_ours(table: Any) -> bool:
    """Whether a table of markers may be replaced: there is none, or Subscape wrote it."""
    return table is None or table.get("params", {}).get("method") == METHOD


def marker_table(view: View, adata: Any, groupby: str) -> dict[str, Any] | None:
    """The features of every cluster in the layout of scanpy's ``rank_genes_groups``.

    Arrays with a field per cluster, the features of each in its own order: names, scores (the
    difference to the other rows in standard deviations), p-values, false discovery rates, and the
    logarithm to base 2 of the ratio of means. None where features are no variables of the object.
    """
    known = {str(name): j for j, name in enumerate(adata.var_names)}
    told = [
        [f for f in listed if f.feature in known and f.effect is not None] for listed in view.facts
    ]
    length = min(map(len, told), default=0)
    if length == 0:
        return None
    groups = _levels(view)
    means = _means(adata, view, groupby, groups)
    columns: dict[str, list[NDArray[Any]]] = {}
    for k, listed in enumerate(told):
        places = [known[fact.feature] for fact in listed[:length]]
        for field, values in {
            "names": np.array([fact.feature for fact in listed[:length]], dtype=object),
            "scores": _numbers([fact.effect for fact in listed[:length]], np.float32),
            "logfoldchanges": means[k][places].astype(np.float32),
            "pvals": _numbers([fact.p_value for fact in listed[:length]], np.float64),
            "pvals_adj": _numbers([fact.q_value for fact in listed[:length]], np.float64),
        }.items():
            columns.setdefault(field, []).append(values)
    params = {
        "groupby": groupby, "reference": "rest", "method": METHOD, "use_raw": False,
        "corr_method": "benjamini-hochberg",
    }  # fmt: skip
    return {
        "params": params,
        **{
            field: np.rec.fromarrays(values, dtype=[(g, values[0].dtype) for g in groups])
            for field, values in columns.items()
        },
    }


def _numbers(values: list[float | None], kind: Any) -> NDArray[Any]:
    return np.array([np.nan if value is None else value for value in values], dtype=kind)


def _means(adata: Any, view: View, groupby: str, groups: list[str]) -> NDArray[Any]:
    """Logarithms to base 2 of the mean of each cluster over that of the other rows.

    Logarithms are taken back first. Where there are numbers below 0, ratios mean nothing.
    """
    X, labels = adata.X, np.asarray(adata.obs[groupby].cat.codes)
    shape = (len(groups), adata.n_vars)
    if X is None:
        return np.full(shape, np.nan)
    kind = kind_of(X)
    if kind == "scaled" or float(X.min()) < 0:
        return np.full(shape, np.nan)

    def mean(rows: NDArray[Any]) -> NDArray[Any]:
        if not rows.any():
            return np.full(adata.n_vars, np.nan)
        found = np.asarray(X[rows].mean(axis=0), dtype=np.float64).ravel()
        return np.expm1(found) if kind == "logs" else found

    small = 1e-9
    return np.array(
        [
            np.log2((mean(labels == k) + small) / (mean(labels != k) + small))
            for k in range(len(groups))
        ]
    )


def _places_of_rows(study: Study, adata: Any) -> IndexArray:
    """For each row of the object, its place in the study; -1 for rows that were not explored."""
    names = [str(name) for name in adata.obs_names]
    if study.row_names is not None and len(set(names)) == len(names):
        place = {name: i for i, name in enumerate(study.row_names)}
        places = np.array([place.get(name, -1) for name in names], dtype=np.intp)
        if (places >= 0).any():
            return places
    if len(names) != study.shape[0]:
        raise ShapeMismatchError(
            f"the object has {count(len(names), 'row')}, the study {study.shape[0]}, and they have "
            "no names in common; give the object that was explored"
        )
    return np.arange(study.shape[0])


def _places_of_features(study: Study, adata: Any) -> IndexArray | None:
    """For each variable of the object, its place in the study; None if none was explored."""
    place = {name: j for j, name in enumerate(study.feature_names)}
    places = np.array([place.get(str(name), -1) for name in adata.var_names], dtype=np.intp)
    return places if (places >= 0).any() else None


def _spread(values: NDArray[Any], places: IndexArray, elsewhere: float) -> NDArray[Any]:
    """Values in the order of the object."""
    out = np.full((len(places), *values.shape[1:]), elsewhere, dtype=values.dtype)
    known = places >= 0
    out[known] = values[places[known]]
    return out


def _categories(view: View, rows: IndexArray) -> Any:
    """Clusters as categories "0", "1", … or by their names; missing for rows in none of them."""
    import pandas as pd

    codes = np.where(rows >= 0, view.labels[rows], -1)
    return pd.Categorical.from_codes(codes, categories=_levels(view))


def _levels(view: View) -> list[str]:
    names = view.names or ("",) * view.n_clusters
    return [name or str(k) for k, name in enumerate(names)]


def _provenance(study: Study, with_relevance: bool) -> dict[str, Any]:
    """What stands in ``uns``: only texts, numbers and arrays, which h5ad can hold."""
    views = {}
    for view in study.views:
        about: dict[str, Any] = {
            "p_value": view.p_value,
            "is_better_than_chance": bool(view.p_value <= study.LEVEL),
            "stability": view.stability,
            "replication": view.replication,
            "score": view.score,
            "finders": _texts(view.finders),
            "descriptions": _texts(view.descriptions),
            "cluster_stability": np.asarray(view.cluster_stability),
            "cluster_p_values": np.asarray(view.cluster_p_values),
        }
        if with_relevance:
            about["relevance"] = np.asarray(view.clustering.subspaces.relevance).T
        views[str(view.number)] = about
    kept = {
        "verdict": study.verdict,
        "is_provisional": study.is_provisional,
        "notes": _texts(study.notes),
        "settings": {name: value for name, value in study.settings.items() if value is not None},
        "views": views,
    }
    if with_relevance:
        kept["features"] = _texts(study.feature_names)
    return kept


def _texts(values: Any) -> NDArray[Any]:
    return np.array(list(values), dtype=object) if len(values) else np.array([], dtype="U1")
