"""Which columns of a table the last step of a pipeline sees, and its clusters over them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.feature_selection import SelectorMixin

from subscape.core import SubspaceClustering

IntArray = NDArray[np.int64]


def is_pipeline(finder: Any) -> bool:
    """Whether an estimator is a chain of steps, whose last finds the clusters."""
    return hasattr(finder, "steps") and len(finder.steps) > 0


def in_table_columns(
    found: Sequence[SubspaceClustering], finder: Any, n_features: int
) -> tuple[SubspaceClustering, ...]:
    """What the last step of a fitted pipeline found, over the columns of the pipeline's table.

    Columns that the steps select, scale or put into another order are put back. Where the last step
    sees others (mixtures of columns, a column twice, or what a function has made that doesn't say
    ``feature_names_out``), only the rows of the clusters are kept, over all features.

    Parameters
    ----------
    found : sequence of SubspaceClustering
        Over the columns that the last step has seen.
    finder : fitted pipeline
    n_features : int
        Of the table that the pipeline was fitted to.

    Examples
    --------
    >>> from sklearn.compose import ColumnTransformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from subscape.algorithms import PROCLUS
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(100, 8, n_clusters=2, dims=4, random_state=0)
    >>> turned = ColumnTransformer([("turned", "passthrough", list(range(8))[::-1])])
    >>> pipeline = make_pipeline(turned, PROCLUS(2, avg_dims=4, random_state=0)).fit(X)
    >>> (inside,) = in_table_columns([pipeline[-1].clustering_], pipeline, 8)
    >>> bool((inside.subspaces.masks == pipeline[-1].clustering_.subspaces.masks[:, ::-1]).all())
    True
    """
    columns = seen_columns([step for _, step in finder.steps[:-1]], n_features)
    return tuple(_put_back(clustering, columns, n_features) for clustering in found)


def _put_back(
    clustering: SubspaceClustering, columns: IntArray | None, n_features: int
) -> SubspaceClustering:
    if columns is not None and clustering.n_features == len(columns):
        if np.array_equal(columns, np.arange(n_features)):
            return clustering
        if columns.min() >= 0 and len(np.unique(columns)) == len(columns):
            return clustering.embed(features=columns, shape=(clustering.n_rows, n_features))
    return SubspaceClustering.from_labels(clustering.labels(), n_features=n_features)


def seen_columns(steps: Sequence[Any], n_features: int) -> IntArray | None:
    """The column of the table that each column behind some fitted transformers comes from.

    -1 where one comes from no column alone; None where nothing is known.

    >>> from sklearn.feature_selection import VarianceThreshold
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 5.0]])
    >>> seen_columns([VarianceThreshold().fit(X), StandardScaler().fit(X[:, 1:])], 3)
    array([1, 2])
    """
    columns = np.arange(n_features)
    for step in steps:
        kept = _kept(step, len(columns))
        if kept is None or (len(kept) and kept.max() >= len(columns)):
            return None
        columns = np.where(kept < 0, -1, columns[kept])
    return columns


def _kept(step: Any, n_features: int) -> IntArray | None:
    if step is None or isinstance(step, str):  # "passthrough"
        return np.arange(n_features)
    if hasattr(step, "steps"):
        return seen_columns([inner for _, inner in step.steps], n_features)
    if hasattr(step, "output_indices_"):
        return _kept_by_parts(step)
    if isinstance(step, SelectorMixin):
        return np.asarray(step.get_support(indices=True), np.int64)
    if isinstance(step, OneToOneFeatureMixin):
        return np.arange(n_features)
    return _kept_by_name(step, n_features)


def _kept_by_parts(step: Any) -> IntArray | None:
    """Of a ColumnTransformer, which hands parts of the columns to other transformers."""
    given = getattr(step, "_transformer_to_input_indices", None)
    if given is None:
        return None
    total = max((part.stop for part in step.output_indices_.values()), default=0)
    kept = np.full(total, -1, np.int64)
    for name, inner, _ in step.transformers_:
        part = step.output_indices_[name]
        if part.stop <= part.start:
            continue
        columns = np.asarray(given[name], np.int64)
        inside = _kept(inner, len(columns))
        if inside is not None and len(inside) == part.stop - part.start:
            kept[part] = np.where(inside < 0, -1, columns[inside])
    return kept


def _kept_by_name(step: Any, n_features: int) -> IntArray | None:
    """Of any other transformer, by the names that it gives to what it hands on."""
    function = getattr(step, "func", step)  # of a FunctionTransformer
    if function is None or (isinstance(function, np.ufunc) and function.nin == 1):
        return np.arange(n_features)
    # Names that no transformer makes up, as "pca0" is; the copy has forgotten the table's own.
    names = {f"\0column {j}\0": j for j in range(n_features)}
    stranger = copy.copy(step)
    vars(stranger).pop("feature_names_in_", None)
    try:
        handed_on = stranger.get_feature_names_out(np.array(list(names), dtype=object))
    except Exception:  # whatever a transformer of others raises, it doesn't say what it hands on
        return None
    return np.array([names.get(str(name), -1) for name in handed_on], np.int64)
