"""A study written into the AnnData object that was explored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import ShapeMismatchError, SubscapeError, count
from subscape.core.types import IndexArray

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
    del adata.uns[key]


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
    """Clusters as categories "0", "1", …; missing for rows in none of them."""
    import pandas as pd

    codes = np.where(rows >= 0, view.labels[rows], -1)
    levels = [str(k) for k in range(view.n_clusters)]
    return pd.Categorical.from_codes(codes, categories=levels)


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
